"""Series of numbers: their states as bands, what comes next, and the states themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.plotting.axes import axes_or_new, legend_beside
from sklearn_cvb.reading.validation import check_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_cvb.chain.forecasting import Forecast

_STYLES = ("-", "--", ":", "-.")


def plot_states(series: ArrayLike, states: ArrayLike, ax: Axes | None = None) -> Any:
    """Plot a series over bands in the colours of its states.

    Parameters
    ----------
    series : array-like, Series or DataFrame of shape (length,) or (length, n_columns)
        NaN where missing. Dates of an index are the axis, and names of columns are shown.
    states : array-like of shape (length,), int
        The state of each step, such as ``model.predict([series])[0]``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw, all columns in line styles of their own; None for new axes, one a column.

    Returns
    -------
    matplotlib.axes.Axes
        An array of them where several columns have axes of their own.

    Raises
    ------
    ValueError
        If there is not one state for each step.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_states
    >>> ax = plot_states([0.1, 0.2, 5.1, 4.9, 5.0], [1, 1, 0, 0, 0])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['state 0', 'state 1']
    """
    table, own = _columns_of(series), np.asarray(states)
    if own.shape != (len(table),):
        raise ValueError(
            f"states has shape {own.shape}, but the series has {len(table)} steps: one state each"
        )
    names, steps = _names_of(series, table.shape[1]), _steps_of(series, len(table))
    if ax is None and len(names) > 1:
        import matplotlib.pyplot as plt

        size = (8.0, 0.8 + 1.8 * len(names))
        axes = plt.subplots(len(names), sharex=True, figsize=size, layout="constrained")[1]
    else:
        axes = [axes_or_new(ax, figsize=(8.0, 2.8))]
    for one in axes:
        _draw_bands(one, own, steps)
    for d, values in enumerate(table.T):
        one, style = axes[d % len(axes)], "-" if len(axes) > 1 else _STYLES[d % len(_STYLES)]
        label = names[d] if len(names) > len(axes) else None
        one.plot(steps, values, color="black", lw=1.0, ls=style, label=label)
        if len(names) == len(axes) and names[d] is not None:
            one.set_ylabel(names[d])
    axes[-1].set_xlabel("step" if steps.dtype.kind == "i" else "")
    axes[0].set_title("States of a series")
    legend_beside(axes[0])
    return axes if len(axes) > 1 else axes[0]


def _draw_bands(ax: Axes, own: np.ndarray, steps: np.ndarray) -> None:
    """Draw the runs of states, each from half a step before it to half a step after."""
    middles = steps[:-1] + (steps[1:] - steps[:-1]) / 2
    half = (steps[1] - steps[0]) / 2 if len(steps) > 1 else (0.5 if steps.dtype.kind == "i" else 0)
    edges = np.concatenate([[steps[0] - half], middles, [steps[-1] + half]])
    ends = np.append(np.flatnonzero(own[1:] != own[:-1]) + 1, len(own))
    begins = np.append(0, ends[:-1])
    for state in np.unique(own):
        label: str | None = f"state {state}"
        for begin, end in zip(begins, ends, strict=True):
            if own[begin] == state:
                colour = _colour(int(state))
                ax.axvspan(edges[begin], edges[end], color=colour, alpha=0.35, lw=0, label=label)
                label = None
    ax.set_xlim(edges[0], edges[-1])


def _names_of(series: Any, n_columns: int) -> list[str | None]:
    """Names of columns: those of a frame or a Series, else numbers where there are several."""
    if hasattr(series, "columns"):
        return [str(name) for name in series.columns]
    if n_columns == 1:
        name = getattr(series, "name", None)
        return [None if name is None else str(name)]
    return [f"column {d}" for d in range(n_columns)]


def _steps_of(series: Any, n_steps: int) -> np.ndarray:
    """Dates of the steps where the index has them, else numbers."""
    dates = np.asarray(getattr(series, "index", ())) if hasattr(series, "iloc") else np.empty(0)
    return dates if dates.dtype.kind == "M" else np.arange(n_steps)


def plot_forecast(
    series: ArrayLike,
    forecast: Forecast,
    *,
    index: int = 0,
    column: int = 0,
    n_last: int = 50,
    ax: Axes | None = None,
) -> Axes:
    """Plot the end of a series and the fan of what may come next.

    Parameters
    ----------
    series : array-like of shape (length,) or (length, n_columns)
        What the forecast goes on from.
    forecast : Forecast
        Result of `predict_next`.
    index : int, default=0
        Which sequence of the forecast this series is.
    column : int, default=0
        Which column to draw.
    n_last : int, default=50
        How many steps of the series to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The fan has bands that hold 50 % and 80 % of the drawn continuations, and the lines of
        `lower`, `mean` and `upper`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.plotting import plot_forecast
    >>> series = [0.1, 0.2, 0.0, 5.1, 4.9, 5.0, 5.2]
    >>> model = VBHMM(2, emission="gaussian", random_state=0).fit([series])
    >>> ax = plot_forecast(series, model.predict_next([series], n_steps=5, random_state=0))
    >>> ax.get_xlabel()
    'step'
    """
    check_counts(n_last=n_last)
    table = _columns_of(series)
    ax = axes_or_new(ax, figsize=(8.0, 2.8))
    begin, n_steps = max(0, len(table) - n_last), forecast.mean.shape[1]
    ax.plot(np.arange(begin, len(table)), table[begin:, column], color="black", lw=1.2)
    ahead = np.arange(len(table), len(table) + n_steps)
    drawn = forecast.samples[index, :, :, column]
    for share, alpha in ((80, 0.25), (50, 0.4)):
        low, high = np.percentile(drawn, [50 - share / 2, 50 + share / 2], axis=0)
        ax.fill_between(ahead, low, high, color="C0", alpha=alpha, lw=0, label=f"{share} %")
    ax.plot(ahead, forecast.mean[index, :, column], color="C0", lw=1.5, label="mean")
    for ends, label in ((forecast.lower, "interval"), (forecast.upper, None)):
        ax.plot(ahead, ends[index, :, column], color="C0", lw=0.8, ls="--", label=label)
    ax.axvline(len(table) - 0.5, color="grey", lw=0.8, ls=":")
    ax.set_xlabel("step")
    ax.set_title("What comes next")
    legend_beside(ax)
    return ax


def plot_ellipses(
    estimator: Any, X: Any = None, *, columns: tuple[int, int] = (0, 1), ax: Axes | None = None
) -> Axes:
    """Plot the states of a model of normal emissions as ellipses over two columns.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `means_` and `covariances_`.
    X : list of arrays of shape (length, n_columns), default=None
        Sequences whose steps are drawn as points in the colours of their predicted states.
    columns : tuple of int, default=(0, 1)
        Which two columns to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        Ellipses at one and two standard deviations, with the number of their state.

    Raises
    ------
    TypeError
        If the states of the model are not normal.
    ValueError
        If it has no such columns.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.plotting import plot_ellipses
    >>> X = [[[0, 1], [0.2, 1.1], [5, 0], [5.1, 0.2], [0.1, 0.9]]]
    >>> ax = plot_ellipses(VBHMM(2, emission="gaussian", random_state=0).fit(X), X)
    >>> len(ax.patches)
    4
    """
    from matplotlib.patches import Ellipse

    check_is_fitted(estimator)
    if not hasattr(estimator, "means_"):
        raise TypeError(
            f"{type(estimator).__name__} has no means_: ellipses are of emission='gaussian'"
        )
    pair = list(columns)
    n_states, n_columns = estimator.means_.shape
    if len(pair) != 2 or not all(0 <= column < n_columns for column in pair):
        raise ValueError(f"columns must be two of the {n_columns} columns, got {columns!r}")
    ax = axes_or_new(ax, figsize=(5.0, 4.0))
    if X is not None:
        for sequence, states in zip(X, estimator.predict(X), strict=True):
            points = _columns_of(sequence)[:, pair]
            colours = [_colour(int(state)) for state in states]
            ax.scatter(points[:, 0], points[:, 1], s=8, c=colours, alpha=0.6, lw=0)
    covariances = estimator.covariances_
    type_ = getattr(estimator.emission, "covariance_type", "full")
    if type_ == "tied":
        covariances = np.broadcast_to(covariances, (n_states, n_columns, n_columns))
    elif type_ != "full":
        variances = covariances[:, None] if type_ == "spherical" else covariances
        variances = np.broadcast_to(variances, (n_states, n_columns))
        covariances = variances[:, :, None] * np.eye(n_columns)
    covariances = covariances[:, pair][:, :, pair]
    for state in range(n_states):
        values, vectors = np.linalg.eigh(covariances[state])
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        middle = estimator.means_[state, pair]
        for deviations, width in ((1, 2.0), (2, 1.0)):
            height, length = 2 * deviations * np.sqrt(values)
            patch = Ellipse(middle, length, height, angle=angle)
            patch.set(fill=False, edgecolor=_colour(state), linewidth=width)
            ax.add_patch(patch)
        ax.annotate(str(state), middle, ha="center", va="center", weight="bold")
    ax.autoscale_view()
    ax.set_xlabel(f"column {pair[0]}")
    ax.set_ylabel(f"column {pair[1]}")
    ax.set_title("States at one and two standard deviations")
    return ax


def _colour(state: int) -> Any:
    """The colour of a state, the same in all pictures."""
    import matplotlib as mpl

    # The first colour is that of lines.
    return mpl.colormaps["tab20"]((2 * state + 2) % 20 + (state + 1) // 10 % 2)


def _columns_of(series: ArrayLike) -> np.ndarray:
    """A series as (length, n_columns)."""
    table = np.asarray(series, dtype=np.float64)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(f"series must have shape (length, n_columns), got {table.shape}")
    return table[:, None] if table.ndim == 1 else table
