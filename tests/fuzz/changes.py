"""What is made of sequences: changes that are entered by what kinds of sequences they are for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

try:
    import polars as pl
except ImportError:
    pl = None


class Change(NamedTuple):
    """A change of sequences; whether it is made to each alone, alike in all of them."""

    of: Callable[..., Any]
    is_alone: bool


Changes = dict[str, dict[str, Change]]


def among(where: Changes, *kinds: str) -> Callable[[Any], Any]:
    """Enter a change of all sequences of these kinds."""

    def enter(change: Callable[..., Any]) -> Callable[..., Any]:
        for kind in kinds:
            name = change.__name__.strip("_").replace("_", " ")
            where.setdefault(kind, {})[name] = Change(change, False)
        return change

    return enter


def of_each(where: Changes, *kinds: str) -> Callable[[Any], Any]:
    """Enter a change of each sequence."""

    def enter(change: Callable[..., Any]) -> Callable[..., Any]:
        def of_all(X: Any, rng: np.random.Generator) -> Any:
            seed = int(rng.integers(2**31))
            return [change(one, np.random.default_rng(seed)) for one in X]

        for kind in kinds:
            name = change.__name__.strip("_").replace("_", " ")
            where.setdefault(kind, {})[name] = Change(of_all, True)
        return change

    return enter


def one_of(rng: np.random.Generator, values: Any) -> Any:
    """One of the values."""
    return values[int(rng.integers(len(values)))]
