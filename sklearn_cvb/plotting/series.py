"""States of series and sequences: as bands, as rows, as ellipses, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.plotting.axes import WIDTH, axes_or_new, legend_beside, state_colour, state_name
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.validation import as_numbers, check_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_cvb.chain.predictions.forecasting import Forecast

_STYLES = ("-", "--", ":", "-.")


def plot_states(
    series: ArrayLike,
    states: ArrayLike,
    ax: Axes | None = None,
    *,
    labels: Sequence[Any] | Mapping[int, Any] | None = None,
) -> Any:
    """Plot a series over bands in the colours of its states.

    Parameters
    ----------
    series : array-like, Series or DataFrame of shape (length,) or (length, n_columns)
        NaN where missing. Dates of an index are the axis, and names of columns are shown.
    states : array-like of shape (length,), int
        The state of each step, such as ``model.predict([series])[0]``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw, all columns in line styles of their own; None for new axes, one a column.
    labels : sequence or dict, default=None
        The name of each state; None for its number.

    Returns
    -------
    matplotlib.axes.Axes
        State k has the colour ``f"C{k}"``, up to ten states, here and in other pictures. An array
        of them where several columns have axes of their own.

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
    table, path = _columns_of(series), np.asarray(states)
    if path.shape != (len(table),):
        of_several = path.ndim > 1 or path.dtype == object
        raise ValueError(
            f"states has shape {path.shape}, but the series has {len(table)} steps: one state each"
            + ", those of one sequence, such as model.predict(X)[0]" * of_several
        )
    names, steps = _names_of(series, table.shape[1]), _steps_of(series, len(table))
    if ax is None and len(names) > 1:
        import matplotlib.pyplot as plt

        size = (WIDTH, 0.8 + 1.6 * len(names))
        axes = plt.subplots(len(names), sharex=True, figsize=size, layout="constrained")[1]
    else:
        height = max(2.8, 0.4 + 0.22 * len(np.unique(path)))
        axes = [axes_or_new(ax, figsize=(WIDTH, height))]
    for one in axes:
        _draw_bands(one, path, steps, labels)
    for d, values in enumerate(table.T):
        one, style = axes[d % len(axes)], "-" if len(axes) > 1 else _STYLES[d % len(_STYLES)]
        label = names[d] if len(names) > len(axes) else None
        one.plot(steps, values, color="black", lw=1.0, ls=style, label=label)
        if len(names) == len(axes):
            one.set_ylabel(names[d])
    _describe_steps(axes[-1], steps)
    axes[0].set_title("States of a series")
    if len(axes) > 1:
        keys = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(*keys, loc="outside right center", frameon=False)
        return axes
    legend_beside(axes[0])
    return axes[0]


def _draw_bands(ax: Axes, path: np.ndarray, steps: np.ndarray, labels: Any) -> None:
    """Draw the runs of states, each from half a step before it to half a step after."""
    middles = steps[:-1] + (steps[1:] - steps[:-1]) / 2
    half = (steps[1] - steps[0]) / 2 if len(steps) > 1 else (0.5 if steps.dtype.kind == "i" else 0)
    edges = np.concatenate([[steps[0] - half], middles, [steps[-1] + half]])
    ends = np.append(np.flatnonzero(path[1:] != path[:-1]) + 1, len(path))
    begins = np.append(0, ends[:-1])
    for state in np.unique(path):
        label: str | None = state_name(int(state), labels)
        for begin, end in zip(begins, ends, strict=True):
            if path[begin] == state:
                colour = state_colour(int(state))
                ax.axvspan(edges[begin], edges[end], color=colour, alpha=0.35, lw=0, label=label)
                label = None
    ax.set_xlim(edges[0], edges[-1])


def _names_of(series: Any, n_columns: int) -> list[str]:
    """Names of columns: those of a frame or a Series, else numbers where there are several."""
    if hasattr(series, "columns"):
        return [str(name) for name in series.columns]
    if n_columns == 1:
        name = getattr(series, "name", None)
        return ["value" if name is None else str(name)]
    return [f"column {d}" for d in range(n_columns)]


def _steps_of(series: Any, n_steps: int) -> np.ndarray:
    """Dates of the steps where the index has them, else numbers."""
    dates = np.asarray(getattr(series, "index", ())) if hasattr(series, "iloc") else np.empty(0)
    return dates if dates.dtype.kind == "M" else np.arange(n_steps)


def _describe_steps(ax: Axes, steps: np.ndarray) -> None:
    """Name the axis of steps: large numbers are no years, and years are named once."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if steps.dtype.kind == "i":
        ax.set_xlabel("step")
        ax.xaxis.set_major_formatter("{x:,.0f}")
    else:
        locator = AutoDateLocator(minticks=3, maxticks=8)
        ax.xaxis.set(major_locator=locator, major_formatter=ConciseDateFormatter(locator))


def plot_state_sequences(
    states: Any, labels: Sequence[Any] | Mapping[int, Any] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the states of many sequences: a row for each, from its first step, in their colours.

    Parameters
    ----------
    states : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        States from 0 or tags, such as ``model.predict(X)``; None, NaN and what is negative are left
        white.
    labels : sequence or dict, default=None
        The name of each state; None for its number, or its tag.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The first sequence is at the top. Colours are those of `plot_states`.

    Raises
    ------
    ValueError
        If there is no state; if values are none, as those of the sequences themselves.

    See Also
    --------
    plot_states : One series of numbers, with its states.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_state_sequences
    >>> ax = plot_state_sequences([[0, 0, 1], [2, 1]], labels=["look", "choose", "pay"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['look', 'choose', 'pay']
    """
    from matplotlib.patches import Patch

    found: set[Any] = {one for row in states for one in row if np.isscalar(one) and one == one}
    tags = sorted(state for state in found if isinstance(state, str))
    are_names = labels is None or isinstance(labels, Mapping) or not any(map(np.ndim, labels))
    if not are_names or any(state % 1 for state in found - set(tags)):
        raise ValueError(
            "states alone are drawn, and not the sequences that have them: pass model.predict(X); "
            "labels are names of states"
        )
    numbers = {tag: number for number, tag in enumerate(tags)}
    labels = tags if tags and labels is None else labels
    rows = [
        [-1 if is_missing(state) else int(numbers.get(state, state)) for state in row]
        for row in states
    ]
    used = sorted({state for row in rows for state in row if state >= 0})
    if not used:
        raise ValueError("states has none: give a sequence of integers for each sequence")
    cells = np.ones((len(rows), max(map(len, rows)), 4))
    for i, row in enumerate(rows):
        for t, state in enumerate(row):
            if state >= 0:
                cells[i, t] = state_colour(state)
    height = np.clip(1.0 + 0.15 * len(rows), 0.8 + 0.22 * len(used), 6.0)
    ax = axes_or_new(ax, figsize=(WIDTH, float(height)))
    ax.imshow(cells, aspect="auto", interpolation="nearest")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="step", ylabel="sequence", title="States of sequences")
    keys = [Patch(color=state_colour(state), label=state_name(state, labels)) for state in used]
    legend_beside(ax, handles=keys)
    return ax


def plot_forecast(
    series: ArrayLike,
    forecast: Forecast,
    *,
    index: int = 0,
    column: int | str = 0,
    n_last: int = 50,
    ax: Axes | None = None,
) -> Axes:
    """Plot the end of a series and the fan of what may come next.

    Parameters
    ----------
    series : array-like, Series or DataFrame of shape (length,) or (length, n_columns)
        What the forecast goes on from. Dates of an index are the axis.
    forecast : Forecast
        Result of `predict_next`.
    index : int, default=0
        Which sequence of the forecast this series is.
    column : int or str, default=0
        Which column to draw, by its number, or its name in a frame.
    n_last : int, default=50
        How many steps of the series to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The fan has bands that hold 50 % and 80 % of the drawn continuations, and the lines of
        `lower`, `mean` and `upper`; the legend names the level of these.

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
    names = _names_of(series, table.shape[1])
    column = _place_of(column, names)
    ax = axes_or_new(ax, figsize=(WIDTH, 2.8))
    steps = _steps_of(series, len(table))
    # Dates go on at the pace of the last two.
    pace = steps[-1] - steps[-2] if len(steps) > 1 else 1
    begin, n_steps = max(0, len(table) - n_last), forecast.mean.shape[1]
    ahead = steps[-1] + pace * np.arange(1, n_steps + 1)
    ax.plot(steps[begin:], table[begin:, column], color="black", lw=1.2)
    drawn = forecast.samples[index, :, :, column]
    for share, alpha in ((80, 0.25), (50, 0.4)):
        low, high = np.percentile(drawn, [50 - share / 2, 50 + share / 2], axis=0)
        ax.fill_between(ahead, low, high, color="C0", alpha=alpha, lw=0, label=f"{share} %")
    ax.plot(ahead, forecast.mean[index, :, column], color="C0", lw=1.5, label="mean")
    for ends, label in ((forecast.lower, f"{100 * forecast.level:g} %"), (forecast.upper, None)):
        ax.plot(ahead, ends[index, :, column], color="C0", lw=0.8, ls="--", label=label)
    ax.axvline(steps[-1] + pace / 2, color="grey", lw=0.8, ls=":")
    _describe_steps(ax, steps)
    ax.set(title="What comes next", ylabel=names[column])
    legend_beside(ax, title="of what is drawn")
    return ax


def plot_ellipses(
    estimator: Any, X: Any = None, *, columns: Sequence[Any] = (0, 1), ax: Axes | None = None
) -> Axes:
    """Plot the states of a model of normal emissions as ellipses over two columns.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `means_` and `covariances_`.
    X : list of arrays of shape (length, n_columns), default=None
        Sequences whose steps are drawn as points in the colours of their predicted states.
    columns : tuple of int or str, default=(0, 1)
        Which two columns to draw, by their numbers, or their names in a frame.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        Ellipses at one and two standard deviations, with the number of their state. Axes have the
        names of a frame's columns.

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
    n_states, n_columns = estimator.means_.shape
    names = list(getattr(estimator, "feature_names_in_", [f"column {d}" for d in range(n_columns)]))
    if len(columns) != 2:
        raise ValueError(f"columns must be two of the {n_columns} columns, got {columns!r}")
    pair = [_place_of(column, names) for column in columns]
    ax = axes_or_new(ax, figsize=(WIDTH, 4.4))
    if X is not None:
        for sequence, states in zip(X, estimator.predict(X), strict=True):
            points = _columns_of(sequence)[:, pair]
            colours = [state_colour(int(state)) for state in states]
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
            patch.set(fill=False, edgecolor=state_colour(state), linewidth=width)
            ax.add_patch(patch)
        ax.annotate(str(state), middle, ha="center", va="center", weight="bold")
    ax.autoscale_view()
    title = "States at one and two standard deviations"
    ax.set(xlabel=names[pair[0]], ylabel=names[pair[1]], title=title)
    return ax


def _place_of(column: Any, names: list[str]) -> int:
    """The number of a column that is given by its number, or by its name."""
    if column in names:
        return names.index(column)
    if not isinstance(column, Integral) or not 0 <= int(column) < len(names):
        raise ValueError(f"there are columns {names}, and none is {column!r}")
    return int(column)


def _columns_of(series: ArrayLike) -> np.ndarray:
    """A series as (length, n_columns)."""
    if isinstance(series, list | tuple) and any(np.ndim(own) == 2 for own in series):
        raise ValueError(
            f"series must have shape (length, n_columns), got a list of {len(series)} sequences: "
            "pass one of them, such as X[0]"
        )
    table = as_numbers("series", series)
    if table.ndim not in (1, 2) or not len(table):
        raise ValueError(f"series must have shape (length, n_columns), got {table.shape}")
    return table[:, None] if table.ndim == 1 else table
