"""What a row of the table is, and what measuring it gives."""

from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    title : str
        What is compared.
    measure : callable
        ``measure(settings) -> Measurement``.
    at_least : bool
        Whether more is better.
    must, goal : float or None
        What the ratio must reach, and what it should.
    unit : str
        Follows the ratio: ``x`` or ``%`` or a unit.
    needs : str or None
        The peer it cannot do without.
    """

    title: str
    measure: Callable
    at_least: bool
    must: float | None
    goal: float | None
    unit: str = "x"
    needs: str | None = None


class Measurement(NamedTuple):
    """What a row found.

    Attributes
    ----------
    ours, peer : list of float
        Figures of the two sides, pair by pair, in `unit`; `peer` may be empty.
    ratios : list of float
        One for each pair.
    unit : str
        What the sides are counted in.
    note : str
        What one should know to read them.
    """

    ours: list
    peer: list
    ratios: list
    unit: str
    note: str
