"""Which states may follow which: the zeros of the transition table."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

NAMES = ("full", "independent", "constant", "left-right")


class Topology(NamedTuple):
    """What a model rules out beforehand."""

    start: np.ndarray  # (n_states,) Where a sequence may start
    transition: np.ndarray  # (n_states, n_states) Which state (column) may follow which (row)
    # Whether all rows of transitions are the start row: no state depends on the one before.
    tied: bool

    def masked(self, start: np.ndarray, transition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Copies of a start row and of a transition table with zeros where nothing is allowed."""
        return np.where(self.start, start, 0.0), np.where(self.transition, transition, 0.0)


def topology_of(value: str | ArrayLike, n_states: int) -> Topology | None:
    """Read the parameter `topology`."""
    every = np.ones(n_states, bool)
    allowed = np.ones((n_states, n_states), bool)
    if isinstance(value, str):
        if value == "independent":
            return Topology(every, allowed, True)
        if value == "constant":
            allowed = np.eye(n_states, dtype=bool)
        elif value == "left-right":
            allowed = np.triu(allowed)
            every[1:] = False
    else:
        allowed = _checked(value, n_states)
    if allowed.all() and every.all():
        return None
    return Topology(every, allowed, False)


def _checked(value: ArrayLike, n_states: int) -> np.ndarray:
    try:
        table = np.asarray(value)
    except ValueError:  # rows of several lengths
        table = np.empty(0, dtype=object)
    if table.dtype != bool or table.shape != (n_states, n_states):
        raise ValueError(
            f"topology must be one of {', '.join(NAMES)}, or a boolean table of shape "
            f"{(n_states, n_states)} that says which state may follow which, got a table of "
            f"{table.dtype} of shape {table.shape}"
        )
    dead = np.flatnonzero(~table.any(axis=1))
    if len(dead):
        raise ValueError(f"topology lets no state follow states {dead.tolist()[:5]}")
    return table.copy()
