"""What a row of the table is, and what measuring it gives."""

from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """A row of the table."""

    title: str  # what is compared
    measure: Callable  # ``measure(settings) -> Measurement``
    at_least: bool  # whether more is better
    must: float | None  # what the ratio must reach, and what it should
    goal: float | None
    unit: str = "x"  # follows the ratio: ``x`` or ``%`` or a unit
    needs: str | None = None  # the peer it cannot do without


class Measurement(NamedTuple):
    """What a row found."""

    ours: list  # figures of the two sides, pair by pair, in `unit`; `peer` may be empty
    peer: list
    ratios: list  # one for each pair
    unit: str  # what the sides are counted in
    note: str  # what one should know to read them
