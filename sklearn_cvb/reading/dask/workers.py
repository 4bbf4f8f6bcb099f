"""What runs on the workers: parts are read there, and shards answer there.

A shard is kept by the process that it was asked in first, under the name of its fit. It is no
result of a task: Dask may copy results and drop them, and a shard of collapsed variational Bayes
changes. Where a shard is asked and not found, it is made from its part, which Dask reads again if
it was lost as well; without posteriors it then infers them once (see `sklearn_cvb.learning.parts`).
"""

import threading
import time
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.symbols.vocabulary_pass import Part, Survey, merged, read_part, survey_of
from sklearn_cvb.learning.parts import Place, added

_shards: dict[tuple[str, int], Any] = {}
_locks: dict[tuple[str, int], threading.Lock] = {}
_changing = threading.Lock()


def family_of(model: Any) -> ModuleType:
    """The module that lays out, and learns in shards, models of this family."""
    modules = (kind.__module__.split(".") for kind in type(model).__mro__)
    family = next(names[1] for names in modules if names[0] == "sklearn_cvb")
    return import_module(f"sklearn_cvb.{family}.whole")


class Answer(NamedTuple):
    """What shards found, and how long each process took.

    Attributes
    ----------
    found : object
    seconds, processor : dict
        By the name of a worker: the seconds that its shards took, summed, on the wall and of the
        processor.
    tokens : dict
        By the name of a worker: their tokens.
    """

    found: Any
    seconds: dict[str, float]
    processor: dict[str, float]
    tokens: dict[str, int]


def read(X: Any, y: Any) -> Part | None:
    """Read a partition and what is known of its sequences; None if it is empty."""
    X = _collected(X)
    return read_part(X, y) if len(X) else None


def _collected(X: Any) -> Any:
    """A partition that can be counted: Dask may give one that is read but once."""
    return X if hasattr(X, "__len__") else list(X)


def survey(model: Any, part: Part | None) -> Survey:
    """What a partition tells of its words."""
    return Survey({}, {}, set(), False, 0) if part is None else survey_of(model, part)


def merge(one: Survey, other: Survey) -> Survey:
    """What two partitions tell together."""
    return merged(one, other)


def size(part: Part | None) -> int:
    """Number of sequences."""
    return 0 if part is None else part.corpus.n_sequences


def ask(layout: Any, part: Part, place: Place, fit: str, question: tuple) -> Answer:
    """Call a method of the shard of a part.

    Parameters
    ----------
    layout : Layout
    part : Part
    place : Place
    fit : str
        Name of the fit.
    question : tuple
        Name of the method, and its arguments.
    """
    key = fit, place.number
    with _changing:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        begin = time.perf_counter(), time.thread_time()
        if key not in _shards:
            _shards[key] = family_of(layout.estimator).shard_of(layout, part, place)
        shard = _shards[key]
        name, *arguments = question
        found = getattr(shard, name)(*arguments)
        seconds = time.perf_counter() - begin[0], time.thread_time() - begin[1]
    worker, n_tokens = _worker_name(), len(shard.model.problem.corpus.tokens)
    return Answer(found, {worker: seconds[0]}, {worker: seconds[1]}, {worker: n_tokens})


def add(one: Answer, other: Answer) -> Answer:
    """Two answers as one."""
    return Answer(
        added(one.found, other.found),
        _by_worker(one.seconds, other.seconds),
        _by_worker(one.processor, other.processor),
        _by_worker(one.tokens, other.tokens),
    )


def _by_worker(one: dict, other: dict) -> dict:
    """Sums of two tables by worker."""
    return {worker: one.get(worker, 0) + other.get(worker, 0) for worker in {**one, **other}}


def forget(fit: str) -> None:
    """Drop the shards of a fit in this process."""
    with _changing:
        for key in [key for key in _shards if key[0] == fit]:
            del _shards[key]
            _locks.pop(key, None)


def predicted(model: Any, method: str, X: Any, settings: dict[str, Any]) -> np.ndarray:
    """What a fitted model predicts of a partition."""
    X = _collected(X)
    return getattr(model, method)(X, **settings) if len(X) else np.empty(0, object)


def _worker_name() -> str:
    from distributed import get_worker

    return str(get_worker().name)
