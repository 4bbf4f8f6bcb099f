"""Whether a model fits: pseudo-residuals, and statistics of the data among simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sklearn_cvb.plotting.axes import WIDTH, panels
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.reading.validation import check_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_cvb.metrics.simulation import SimulatedCheck

# Of a normal distribution 95 % are nearer to 0.
_NEAR = 1.96


def plot_residuals(residuals: ArrayLike, *, n_lags: int = 20, names: Any = None) -> Any:
    """Plot pseudo-residuals of one sequence: over time, their quantiles, their autocorrelation.

    Where the model is right 95 % of them are inside the band, quantiles lie on the line, and
    (of those given the past alone) 95 % of autocorrelations are between the dashed lines.

    Parameters
    ----------
    residuals : array-like or DataFrame of shape (length,) or (length, n_columns)
        Such as ``model.pseudo_residuals([series], given="past")[0]``; NaN is left out.
    n_lags : int, default=20
        Autocorrelations of so many steps.
    names : sequence of str or None, default=None
        Of the columns, such as ``series.columns``; None for those of a frame, else numbers where
        there are several.

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
    if names is None and hasattr(residuals, "columns"):
        names = residuals.columns
    if names is None:
        names = [f"column {d}" if n_columns > 1 else "" for d in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(f"names are {len(names)}, but there are {n_columns} columns")
    size = (WIDTH, 0.6 + 2.0 * n_columns)
    axes = plt.subplots(n_columns, 3, figsize=size, layout="constrained", squeeze=False)[1]
    for row, column, name in zip(axes, table.T, names, strict=True):
        row[0].axhspan(-_NEAR, _NEAR, color="C0", alpha=0.15, lw=0)
        row[0].plot(column, "k.", ms=2.5)
        _quantiles(row[1], column[np.isfinite(column)])
        _autocorrelation(row[2], column, n_lags)
        row[0].set_ylabel(name)
    for ax, title in zip(axes[0], ("Residuals", "Quantiles", "Autocorrelation"), strict=True):
        ax.set_title(title)
    for ax, label in zip(axes[-1], ("step", "normal distribution", "lag (steps)"), strict=True):
        ax.set_xlabel(label)
    return axes


def _quantiles(ax: Axes, values: np.ndarray) -> None:
    """Each residual against the quantile that its rank should have."""
    expected = ndtri((np.arange(len(values)) + 0.5) / len(values))
    ends = expected[[0, -1]]
    ax.plot(ends, ends, color="C0", lw=1.0)
    ax.plot(expected, np.sort(values), "k.", ms=2.5)


def _autocorrelation(ax: Axes, column: np.ndarray, n_lags: int) -> None:
    """Plot the autocorrelation, of pairs of steps that are both there."""
    centred = np.where(np.isfinite(column), column - np.nanmean(column), 0.0)
    there = np.isfinite(column).astype(np.float64)
    lags = np.arange(1, min(n_lags, len(column) - 1) + 1)
    pairs = np.array([there[lag:] @ there[:-lag] for lag in lags])
    products = np.array([centred[lag:] @ centred[:-lag] for lag in lags])
    # Residuals that are all alike have none.
    found = products / np.maximum(pairs, 1.0) / (np.nanvar(column) or np.nan)
    ax.vlines(lags, 0.0, found, color="k", lw=1.5)
    near = _NEAR / np.sqrt(np.maximum(pairs, 1.0))
    for ends in (near, -near):
        ax.plot(lags, ends, color="C0", ls="--", lw=1.0)
    ax.axhline(0.0, color="grey", lw=0.8)


def plot_simulated_check(
    check: SimulatedCheck, *, names: Sequence[str] | None = None, axes: Any = None
) -> np.ndarray:
    """Plot the statistics of simulated data, and where those of the data lie among them.

    Parameters
    ----------
    check : SimulatedCheck
        Result of `sklearn_cvb.metrics.simulated_check`.
    names : sequence of str, default=None
        Of the numbers that the statistic consists of; None numbers them where there are several.
    axes : sequence of matplotlib.axes.Axes, default=None
        One for each number; None for a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        Each has a histogram of the simulations, a line at the data, and the p-value as its title.

    Raises
    ------
    ValueError
        If there is not one name for each number.

    References
    ----------
    Gelman, Meng and Stern (1996), "Posterior predictive assessment of model fitness via realized
    discrepancies", Statistica Sinica 6.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.metrics import simulated_check
    >>> from sklearn_cvb.plotting import plot_simulated_check
    >>> series = np.random.default_rng(0).normal(size=100)
    >>> model = EMHMM(1, emission="gaussian").fit([series])
    >>> check = simulated_check(model, [series], lambda X: X[0].max(), random_state=0)
    >>> (ax,) = plot_simulated_check(check, names=["largest value"])
    >>> ax.get_title()
    'p = 0.139'
    """
    observed, p_values = np.ravel(check.observed), np.ravel(check.p_value)
    if names is None:
        names = [
            f"statistic {i}" if len(observed) > 1 else "statistic" for i in range(len(observed))
        ]
    if len(names) != len(observed):
        raise ValueError(f"names are {len(names)}, but there are {len(observed)} statistics")
    simulated = np.reshape(check.simulated, (len(check.simulated), -1))
    axes = panels(axes, len(observed), 2.6)
    for ax, name, drawn, own, p_value in zip(
        axes, names, simulated.T, observed, p_values, strict=True
    ):
        ax.hist(drawn[np.isfinite(drawn)], 20, color="0.8", label="simulated")
        ax.axvline(own, color="C1", label="observed")
        ax.set(xlabel=name, title=f"p = {p_value:.3f}")
    axes[0].set_ylabel("simulations")
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return axes
