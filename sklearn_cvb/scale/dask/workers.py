"""What runs on the workers: parts are read there, and shards answer there.

A shard is kept by the process that it was asked in first, under the name of its fit. It is no
result of a task: Dask may copy results and drop them, and a shard of collapsed variational Bayes
changes. Where a shard is asked and not found, it is made from its part, which Dask reads again if
it was lost as well; without posteriors it then infers them once (see `sklearn_cvb.scale.parts`).
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker

from sklearn_cvb.learning.fingerprints import digest_of
from sklearn_cvb.scale.parts import NeedsMore, PartIndex, added
from sklearn_cvb.scale.symbols.vocabulary_pass import sums_by_key

_shards: dict[tuple[str, int], Any] = {}
_locks: dict[tuple[str, int], threading.Lock] = {}
_changing = threading.Lock()


class Answer(NamedTuple):
    """What shards found, and how long each process took, by the name of a worker."""

    found: Any
    seconds: dict[str, float]  # that its shards took, summed, on the wall
    processor: dict[str, float]  # and of the processor
    tokens: dict[str, int]


class Origin(NamedTuple):
    """Which partition of X a part was read from, and a digest of what was in it."""

    number: int
    n_sequences: int
    digest: str


def unchanged(value: Any) -> Any:
    """A value as the result of a task, which Dask makes again where it is lost."""
    return value


def read(number: int, family: str, X: Any, y: Any) -> Any:
    """Read a partition and what is known of its sequences; None if it is empty."""
    X = _collected(X)
    with in_partition(number):
        return import_module(family).read_part(X, y) if len(X) else None


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Let messages about sequences say which partition these are in."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"partition {number} of X: {error}") from None


def _collected(X: Any) -> Any:
    """A partition that can be counted: Dask may give one that is read but once."""
    return X if hasattr(X, "__len__") else list(X)


def imported() -> None:
    """Import what messages hold, before the first of them arrives."""
    import_module("sklearn_cvb.emissions")


def survey(number: int, family: str, asked: Any, part: Any) -> Any:
    """What a partition tells beforehand of its words, or columns; None if it is empty."""
    if part is None:
        return None
    with in_partition(number):
        return import_module(family).survey_of(asked, part)


def merged(family: str, one: Any, other: Any) -> Any:
    """What two partitions tell together."""
    if one is None or other is None:
        return other if one is None else one
    return import_module(family).merged(one, other)


def origin(number: int, part: Any) -> Origin:
    """What to know a partition by."""
    if part is None:
        return Origin(number, 0, "")
    return Origin(number, part.corpus.n_sequences, digest_of(part.content))


def ask(
    family: str,
    layout: Any,
    part: Any,
    place: tuple[PartIndex, Origin],
    fit: str,
    question: tuple[Any, ...],
) -> Answer:
    """Call a method of the shard of a part in the fit of this name, with its arguments."""
    index, known = place
    key = fit, index.number
    with _changing:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        begin = time.perf_counter(), time.thread_time()
        if key not in _shards:
            if origin(known.number, part) != known:
                raise ValueError(
                    f"partition {known.number} of X held other sequences when it was read again, "
                    "as a worker was lost: a fit needs partitions that read the same each time"
                )
            with in_partition(known.number):
                _shards[key] = import_module(family).shard_of(layout, part, index)
        shard = _shards[key]
        name, *arguments = question
        try:
            found = getattr(shard, name)(*arguments)
        except NeedsMore as need:
            # An answer: Dask would write of a failure.
            found = need
        seconds = time.perf_counter() - begin[0], time.thread_time() - begin[1]
    worker, n_tokens = str(get_worker().name), len(shard.model.problem.corpus.tokens)
    return Answer(found, {worker: seconds[0]}, {worker: seconds[1]}, {worker: n_tokens})


def add(one: Answer, other: Answer) -> Answer:
    """Two answers as one; where one of them needs more, that it does."""
    needs = [answer.found for answer in (one, other) if isinstance(answer.found, NeedsMore)]
    return Answer(
        needs[0] if needs else added(one.found, other.found),
        sums_by_key(one.seconds, other.seconds),
        sums_by_key(one.processor, other.processor),
        sums_by_key(one.tokens, other.tokens),
    )


def forget(fit: str) -> None:
    """Drop the shards of a fit in this process."""
    with _changing:
        for key in [key for key in _shards if key[0] == fit]:
            del _shards[key]
            _locks.pop(key, None)


def predicted(predict: Callable[..., Any], X: Any, settings: dict[str, Any]) -> np.ndarray:
    """What is predicted of a partition."""
    X = _collected(X)
    return predict(X, **settings) if len(X) else np.empty(0, object)
