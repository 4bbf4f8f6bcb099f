"""Pictures of pseudo-residuals: over time, against the normal distribution, and each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.reading.validation import check_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of a normal distribution 95 % are nearer to 0.
_NEAR = 1.96


def plot_residuals(residuals: ArrayLike, *, n_lags: int = 20, names: Any = None) -> Any:
    """Plot pseudo-residuals of one sequence: over time, their quantiles, their autocorrelation.

    Where the model is right 95 % of them are inside the band, quantiles lie on the line, and
    (of those given the past alone) 95 % of autocorrelations are between the dashed lines.

    Parameters
    ----------
    residuals : array-like of shape (length,) or (length, n_columns)
        Such as ``model.pseudo_residuals([series], given="past")[0]``; NaN is left out.
    n_lags : int, default=20
        Autocorrelations of so many steps.
    names : sequence of str or None, default=None
        Of the columns; None numbers them where there are several.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n_columns, 3)

    Raises
    ------
    ValueError
        If a column has fewer than two residuals.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn_cvb.plotting import plot_residuals
    >>> axes = plot_residuals(np.random.default_rng(0).normal(size=200))
    >>> [ax.get_title() for ax in axes[0]]
    ['Residuals', 'Quantiles', 'Autocorrelation']
    """
    check_counts(n_lags=n_lags)
    table = np.asarray(residuals)
    table = table[:, None] if table.ndim == 1 else table
    is_table = table.ndim == 2 and table.dtype.kind in "fiu"
    if not is_table or (np.isfinite(table).sum(axis=0) < 2).any():
        raise ValueError(
            "residuals must be those of one sequence, two or more in each column: an array of "
            f"shape (length,) or (length, n_columns), got {short_repr(residuals)}"
        )
    import matplotlib.pyplot as plt

    n_columns = table.shape[1]
    if names is None:
        names = [f"column {d}" if n_columns > 1 else "" for d in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(f"names are {len(names)}, but there are {n_columns} columns")
    size = (9.0, 0.6 + 2.3 * n_columns)
    axes = plt.subplots(n_columns, 3, figsize=size, layout="constrained", squeeze=False)[1]
    for row, column, name in zip(axes, table.T, names, strict=True):
        _over_time(row[0], column)
        _quantiles(row[1], column[np.isfinite(column)])
        _autocorrelation(row[2], column, n_lags)
        row[0].set_ylabel(name)
    for ax, title in zip(axes[0], ("Residuals", "Quantiles", "Autocorrelation"), strict=True):
        ax.set_title(title)
    for ax, label in zip(axes[-1], ("step", "normal distribution", "lag (steps)"), strict=True):
        ax.set_xlabel(label)
    return axes


def _over_time(ax: Axes, column: np.ndarray) -> None:
    ax.axhspan(-_NEAR, _NEAR, color="C0", alpha=0.15, lw=0)
    ax.plot(column, "k.", ms=2.5)


def _quantiles(ax: Axes, values: np.ndarray) -> None:
    """Each residual against the quantile that its rank should have."""
    expected = ndtri((np.arange(len(values)) + 0.5) / len(values))
    ends = expected[[0, -1]]
    ax.plot(ends, ends, color="C0", lw=1.0)
    ax.plot(expected, np.sort(values), "k.", ms=2.5)


def _autocorrelation(ax: Axes, column: np.ndarray, n_lags: int) -> None:
    """Of the pairs of steps that are both there."""
    centred = np.where(np.isfinite(column), column - np.nanmean(column), 0.0)
    there = np.isfinite(column).astype(np.float64)
    lags = np.arange(1, min(n_lags, len(column) - 1) + 1)
    pairs = np.array([there[lag:] @ there[:-lag] for lag in lags])
    products = np.array([centred[lag:] @ centred[:-lag] for lag in lags])
    found = products / np.maximum(pairs, 1.0) / np.nanvar(column)
    ax.vlines(lags, 0.0, found, color="k", lw=1.5)
    near = _NEAR / np.sqrt(np.maximum(pairs, 1.0))
    for ends in (near, -near):
        ax.plot(lags, ends, color="C0", ls="--", lw=1.0)
    ax.axhline(0.0, color="grey", lw=0.8)
