"""Figures as texts, and texts as reStructuredText."""

import math
from statistics import fmean, stdev
from typing import NamedTuple


class Spread(NamedTuple):
    """Mean and standard deviation (0 of one value) of `n` values."""

    mean: float
    deviation: float
    n: int


def spread(values):
    """Mean and standard deviation of a few values.

    Parameters
    ----------
    values : list of float

    Returns
    -------
    Spread

    Examples
    --------
    >>> from benchmarks.published.tables import spread
    >>> spread([1.0, 3.0])
    Spread(mean=2.0, deviation=1.4142135623730951, n=2)
    """
    values = [float(value) for value in values]
    return Spread(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


def plus_minus(values, digits=1, scale=1.0):
    """Mean of a few values, with their standard deviation in brackets if there are several.

    Parameters
    ----------
    values : list of float
    digits : int, default=1
        Digits after the point; the deviation has one more where the mean has one.
    scale : float, default=1.0
        Factor, 100 for shares in per cent.

    Returns
    -------
    str

    Examples
    --------
    >>> from benchmarks.published.tables import plus_minus
    >>> plus_minus([0.931, 0.933], scale=100)
    '93.2 (0.1)'
    >>> plus_minus([573.4], digits=0)
    '573'
    """
    found = spread(values)
    mean = f"{scale * found.mean:z,.{digits}f}"
    if found.n == 1 or math.isnan(found.mean):
        return mean
    return f"{mean} ({scale * found.deviation:.{digits}f})"


def list_table(header, rows, title=""):
    """A table as reStructuredText has them.

    Parameters
    ----------
    header : list of str
    rows : list of list
        Cells are shown by `str`.
    title : str, default=""
        Caption of the table.

    Returns
    -------
    str
        Ends in a line break.

    Examples
    --------
    >>> from benchmarks.published.tables import list_table
    >>> print(list_table(["d", "EM"], [[1, 89.0]], "Accuracy"))
    .. list-table:: Accuracy
       :header-rows: 1
    <BLANKLINE>
       * - d
         - EM
       * - 1
         - 89.0
    <BLANKLINE>
    """
    lines = [f".. list-table:: {title}".rstrip(), "   :header-rows: 1", ""]
    for row in [header, *rows]:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"
