"""Tasks of Dask's workers: reading partitions, keeping shards (parts with a model), asking them.

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
from sklearn_cvb.scale.parts import LogsNeeded, PartIndex, add_results
from sklearn_cvb.scale.symbols.vocabulary_pass import add_by_key

_shards: dict[tuple[str, int], Any] = {}
_locks: dict[tuple[str, int], threading.Lock] = {}
_changing = threading.Lock()


class ShardAnswer(NamedTuple):
    """The result of one or more shards, and the time it took, by the name of a worker."""

    result: Any
    seconds: dict[str, float]  # that its shards took, summed, on the wall
    processor_seconds: dict[str, float]  # and of the processor
    n_tokens: dict[str, int]


class PartitionIdentity(NamedTuple):
    """Which partition of X a part was read from, and a digest of what was in it."""

    number: int
    n_sequences: int
    digest: str


def as_task_result(value: Any) -> Any:
    """A value as the result of a task, which Dask makes again where it is lost."""
    return value


def read_partition(number: int, family: str, X: Any, y: Any) -> Any:
    """Read a partition and what is known of its sequences; None if it is empty."""
    X = _as_list(X)
    with errors_in_partition(number):
        return import_module(family).read_part(X, y) if len(X) else None


@contextmanager
def errors_in_partition(number: int) -> Iterator[None]:
    """Let messages about sequences say which partition these are in."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"partition {number} of X: {error}") from None


def _as_list(X: Any) -> Any:
    """A partition that can be counted: Dask may give one that is read but once."""
    return X if hasattr(X, "__len__") else list(X)


def import_package() -> None:
    """Import what messages hold, before the first of them arrives."""
    import_module("sklearn_cvb.emissions")


def survey_partition(number: int, family: str, asked: Any, part: Any) -> Any:
    """The survey of a partition: of its words, or columns; None if it is empty."""
    if part is None:
        return None
    with errors_in_partition(number):
        return import_module(family).survey_of(asked, part)


def merge_surveys(family: str, one: Any, other: Any) -> Any:
    """The survey of two partitions together."""
    if one is None or other is None:
        return other if one is None else one
    return import_module(family).merge_surveys(one, other)


def identify_partition(number: int, part: Any) -> PartitionIdentity:
    """The origin of a part, by which a partition is recognised."""
    if part is None:
        return PartitionIdentity(number, 0, "")
    return PartitionIdentity(number, part.corpus.n_sequences, digest_of(part.content))


def ask_shard(
    family: str,
    layout: Any,
    part: Any,
    place: tuple[PartIndex, PartitionIdentity],
    fit: str,
    question: tuple[Any, ...],
) -> ShardAnswer:
    """Call a method of the shard of a part in the fit of this name, with its arguments."""
    index, known = place
    key = fit, index.number
    with _changing:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        begin = time.perf_counter(), time.thread_time()
        if key not in _shards:
            if identify_partition(known.number, part) != known:
                raise ValueError(
                    f"partition {known.number} of X held other sequences when it was read again, "
                    "as a worker was lost: a fit needs partitions that read the same each time"
                )
            with errors_in_partition(known.number):
                _shards[key] = import_module(family).shard_of(layout, part, index)
        shard = _shards[key]
        name, *arguments = question
        try:
            result = getattr(shard, name)(*arguments)
        except LogsNeeded as need:
            # An answer: Dask would write of a failure.
            result = need
        seconds = time.perf_counter() - begin[0], time.thread_time() - begin[1]
    worker, n_tokens = str(get_worker().name), len(shard.model.problem.corpus.tokens)
    return ShardAnswer(result, {worker: seconds[0]}, {worker: seconds[1]}, {worker: n_tokens})


def add_answers(one: ShardAnswer, other: ShardAnswer) -> ShardAnswer:
    """Two answers as one; LogsNeeded where one of them does."""
    needs = [answer.result for answer in (one, other) if isinstance(answer.result, LogsNeeded)]
    return ShardAnswer(
        needs[0] if needs else add_results(one.result, other.result),
        add_by_key(one.seconds, other.seconds),
        add_by_key(one.processor_seconds, other.processor_seconds),
        add_by_key(one.n_tokens, other.n_tokens),
    )


def drop_shards(fit: str) -> None:
    """Drop the shards of a fit in this process."""
    with _changing:
        for key in [key for key in _shards if key[0] == fit]:
            del _shards[key]
            _locks.pop(key, None)


def predict_partition(predict: Callable[..., Any], X: Any, settings: dict[str, Any]) -> np.ndarray:
    """Predictions of a partition."""
    X = _as_list(X)
    return predict(X, **settings) if len(X) else np.empty(0, object)
