"""What random calls are made of: a call, values that are seldom right, and forms of sequences."""

from collections import deque
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sklearn_cvb import Samples

# How often something is wrong.
BAD = 0.04
SEED = 2026

ALPHABETS = [
    ["a", "b", "c", "d"],
    ["a", "b"],
    [0, 1, 2],
    [0.5, 1.5, 2.0],
    [("a", 1), ("b", 2), "c"],
    ["a", 1, 2.5, b"x", True],
    [10**400, Decimal("1.5"), frozenset("ab"), 2**63, -1, ""],
]
TEMPERATURES = [None, (2.0, 0.1), (1.0, 1.0), (1e3, 1e-3), (1e300, 1), (1, 1e-300), (1e90, 1e-90)]
EXTREMES = [1e-300, 1e-10, 1.0, 50.0, 1e10, 1e300]
JUNK = [
    None,
    -1,
    0,
    1.5,
    float("nan"),
    float("inf"),
    10**400,
    1e300,
    "word",
    "",
    b"word",
    [],
    (),
    {},
    [None],
    ["a"],
    [["a"], "b"],
    [[]],
    [["a"], []],
    [[["a"]]],
    [3],
    {"a": 1},
    {"a", "b"},
    np.array(2),
    np.zeros((0, 3)),
    np.zeros((2, 0)),
    np.zeros((2, 2, 2)),
    np.array([1.0, np.nan]),
    np.full((2, 2), np.nan),
    pd.DataFrame({"event": list("abab")}),
    [pd.DataFrame({"event": list("abab")})] * 4,
    [["a", float("inf")]],
    [[Decimal("NaN"), Decimal("sNaN")]],
    Ellipsis,
    object,
]


class Draw(NamedTuple):
    """One random call.

    Attributes
    ----------
    name : str
        Class of the estimator.
    settings : dict
    X, y : object
        What `fit` is given.
    reads : list of (str, dict)
        Methods to call then, with their arguments.
    """

    name: str
    settings: dict[str, Any]
    X: Any
    y: Any
    reads: list[tuple[str, dict[str, Any]]]


class Maker:
    """Makes one call; what was drawn first decides what fits it."""

    # Set by what makes the calls of a family.
    name: str
    alphabet: list

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, values: Any) -> Any:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def some(self, values: list, least: int = 0) -> list:
        """Some of the values, in their order."""
        kept = [value for value in values if self.chance(0.6)]
        return kept if len(kept) >= least else list(values)

    def junk(self) -> Any:
        """Something that is seldom right."""
        return self.one(JUNK)

    def formed(self, sequences: list[list]) -> Any:
        """Sequences in one of the forms that X may have."""
        form = self.one([list] * 4 + [tuple, deque, "object", "series", "frame", "table", "arrays"])
        if isinstance(form, type):
            return [form(row) for row in sequences]
        objects = np.empty(len(sequences), dtype=object)
        objects[:] = [tuple(row) for row in sequences]
        if form == "object":
            return objects
        if form == "series":
            return pd.Series(sequences, index=range(3, 3 + len(sequences)))
        if form == "frame":
            return pd.DataFrame({"event": sequences})
        if form == "arrays":
            arrays = [np.empty(len(row), dtype=object) for row in sequences]
            for array, row in zip(arrays, sequences, strict=True):
                array[:] = row
            return arrays
        # Shorter rows are padded.
        table = np.full((len(sequences), max(map(len, sequences))), None, dtype=object)
        for target, row in zip(table, sequences, strict=True):
            target[: len(row)] = row
        numeric = all(isinstance(value, int | float) for value in table.ravel())
        if numeric and 10**400 not in self.alphabet and self.chance(0.5):
            return table.astype(float)
        return pd.DataFrame(table) if self.chance(0.3) else table

    def samples(self) -> Samples:
        """Which samples are kept, some of them annealed."""
        anneals = self.name != "GibbsPCFG" and self.chance(0.5)
        return Samples(
            self.one([None, 0, 1]),
            thin=int(self.rng.integers(1, 3)),
            temperatures=self.one(TEMPERATURES) if anneals else None,
        )

    def concentration(self) -> Any:
        """A number, seldom an extreme one, or "auto"."""
        if self.chance(0.1) and not self.name.startswith("EM"):
            return "auto"
        if self.chance(0.1):
            return self.one(EXTREMES)
        if self.chance(0.1) and self.name.startswith("EM"):
            return 0.0
        return self.one([0.1, 0.5, 1.0])
