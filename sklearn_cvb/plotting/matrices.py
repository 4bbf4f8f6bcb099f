"""Matrices: Hinton diagrams, confusion of predicted and true tags, transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.plotting.axes import (
    WIDTH,
    axes_or_new,
    legend_beside,
    name_cells,
    number_cells,
    state_colour,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POSITIVE, _NEGATIVE = "#1f4e8c", "#c0392b"
# The largest value fills this much of its cell's side.
_LARGEST_SIDE = 0.95
# A graph of more states than these, or of more than these with this many arrows each, cannot be
# read: a table is drawn.
_FEW_STATES, _MOST_STATES, _MOST_ARROWS = 5, 12, 1.5
# In units of the circle on which the states stand, smaller where they are many; widths in points.
_NODE_RADIUS, _NODE_SHARE = 0.16, 1.2
_BEND = 0.15
_WIDEST_EDGE = 6.0


def hinton(
    matrix: ArrayLike,
    *,
    row_labels: Sequence[Any] | None = None,
    column_labels: Sequence[Any] | None = None,
    largest: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a Hinton diagram: a square for each value, its area the size, its colour the sign.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns) or (n_columns,)
        The first row is drawn at the top. Zeros are left empty.
    row_labels, column_labels : sequence of str, default=None
        None numbers rows and columns from 0.
    largest : float, default=None
        The absolute value whose square fills its cell, so that diagrams can be compared; None for
        the largest of the matrix. Larger values are drawn at that size.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        Positive values are blue, negative ones red.

    Raises
    ------
    ValueError
        If values are not finite, or labels do not fit the shape.

    References
    ----------
    Beal (2003), "Variational algorithms for approximate Bayesian inference", PhD thesis,
    University College London: figure 3.3.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import hinton
    >>> ax = hinton([[1.0, -0.25], [0.0, 1.0]])
    >>> [round(float(square.get_width()), 3) for square in ax.patches]
    [0.95, 0.475, 0.95]
    """
    from matplotlib.patches import Rectangle

    values = np.atleast_2d(np.asarray(matrix, dtype=float))
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("matrix must be a vector or a matrix of finite numbers")
    ax = axes_or_new(ax)
    largest = np.abs(values).max(initial=0.0) if largest is None else float(largest)
    for (row, column), value in np.ndenumerate(values):
        if value == 0.0:
            continue
        side = _LARGEST_SIDE * np.sqrt(min(1.0, abs(value) / largest))
        corner = column - side / 2, row - side / 2
        ax.add_patch(
            Rectangle(corner, side, side, color=_POSITIVE if value > 0 else _NEGATIVE, linewidth=0)
        )
    n_rows, n_columns = values.shape
    name_cells(ax.xaxis, n_columns, column_labels, "column_labels")
    name_cells(ax.yaxis, n_rows, row_labels, "row_labels")
    ax.set_xlim(-0.5, n_columns - 0.5)
    ax.set_ylim(n_rows - 0.5, -0.5)
    ax.set_aspect("equal")
    return ax


def plot_confusion(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, max_labels: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw how the tokens of each true tag are predicted, in per cent of the true tag's tokens.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True tags; tokens whose tag is None or NaN are left out.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted tags, or states of any name.
    max_labels : int, default=20
        Rows: the most frequent true tags. Columns: the best one-to-one partners of these, then the
        most frequent of the rest, as many as there are rows.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        Partners stand on the diagonal: what lies beside it is confused. Each row's number of
        tokens stands behind its tag.

    See Also
    --------
    sklearn_cvb.metrics.tag_confusion : The numbers.
    sklearn_cvb.metrics.match_states : The partners.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_confusion
    >>> ax = plot_confusion([["DT", "NN", "NN", "NN"]], [[1, 0, 0, 1]])
    >>> [text.get_text() for text in ax.texts]
    ['67', '33', '100']
    """
    from sklearn_cvb.metrics.tagging import matched_pairs, tag_confusion

    counts, true_labels, predicted_labels = tag_confusion(y_true, y_pred)
    rows = np.argsort(-counts.sum(axis=1), kind="stable")[:max_labels]
    # The partner of each row at the row's place, gaps filled by frequency.
    partner = dict(matched_pairs(counts))
    chosen = [partner.get(row) for row in rows]
    frequent = np.argsort(-counts.sum(axis=0), kind="stable").tolist()
    rest = iter([column for column in frequent if column not in chosen])
    filled = [next(rest, None) if column is None else column for column in chosen]
    columns: list[Any] = [column for column in filled if column is not None]
    totals = counts.sum(axis=1)[rows]
    shares = counts[np.ix_(rows, columns)] / totals[:, None]
    ax = axes_or_new(ax, figsize=(WIDTH, 1.4 + 0.26 * len(rows)))
    names = [f"{true_labels[row]} ({total:,})" for row, total in zip(rows, totals, strict=True)]
    number_cells(ax, shares, names, [predicted_labels[column] for column in columns])
    ax.set_title("Per cent of the true tag's tokens")
    ax.set_xlabel("predicted")
    ax.set_ylabel("true (number of tokens)")
    return ax


def plot_tag_accuracies(
    y_true: Sequence[Any],
    predictions: Mapping[str, Sequence[Any]],
    *,
    max_tags: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw how many tokens of each tag are right before and after a change: a dot for each.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True tags; tokens whose tag is None or NaN are left out.
    predictions : dict of str to predicted tags, of the same form
        Two or more, such as before and after words were corrected, in this order.
    max_tags : int, default=15
        How many rows: the most frequent true tags.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        A grey line joins the dots of a tag. Each row's number of tokens stands behind its tag.

    See Also
    --------
    plot_confusion : What the tokens of a tag are taken for.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_tag_accuracies
    >>> before, after = [["DT", "VB", "VB"]], [["DT", "NN", "VB"]]
    >>> ax = plot_tag_accuracies([["DT", "NN", "NN"]], {"before": before, "after": after})
    >>> [line.get_xdata().tolist() for line in ax.get_lines()]
    [[0.0, 100.0], [50.0, 100.0]]
    """
    from sklearn_cvb.metrics.tagging import tag_confusion

    rows: list[str] = []
    accuracies = []
    for predicted in predictions.values():
        counts, tags, guessed = tag_confusion(y_true, predicted)
        totals = counts.sum(axis=1)
        shown = np.argsort(-totals, kind="stable")[:max_tags]
        rows = [f"{tags[i]} ({totals[i]:,})" for i in shown]
        right = (counts * [[tag == other for other in guessed] for tag in tags]).sum(axis=1)
        accuracies.append(100 * right[shown] / totals[shown])
    ax = axes_or_new(ax, figsize=(WIDTH, 1.2 + 0.26 * len(rows)))
    places = np.arange(len(rows))
    ax.hlines(places, np.min(accuracies, axis=0), np.max(accuracies, axis=0), color="0.7", zorder=1)
    for name, values in zip(predictions, accuracies, strict=True):
        ax.plot(values, places, "o", label=name)
    name_cells(ax.yaxis, len(rows), rows, "tags")
    ax.invert_yaxis()
    ax.set(xlabel="tokens of the tag that are right (%)", ylabel="true tag (number of tokens)")
    ax.grid(axis="x", alpha=0.3)
    legend_beside(ax)
    return ax


def plot_transitions(
    model: Any,
    *,
    threshold: float = 0.05,
    labels: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the transitions of a model in per cent: a graph of few arrows, a table of many.

    Parameters
    ----------
    model : fitted estimator or array of shape (n_states, n_states)
        An estimator with `transmat_`, or transition probabilities from row to column; rows need
        not sum to 1, so that part of a matrix can be drawn.
    threshold : float, default=0.05
        Transitions less probable than this have no arrow, and no number.
    labels : sequence of str, default=None
        Names of the states; None for the tags of a tagger, else for numbers from 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        Up to five states, or twelve where few follow each, stand clockwise from the top: arrows
        are as wide as probable, the number in a state is that of staying. Else states are rows and
        columns of a table.

    Raises
    ------
    ValueError
        If the matrix is not square, or the labels are not as many as the states.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_transitions
    >>> ax = plot_transitions([[0.0, 1.0], [0.95, 0.05]], labels=["DT", "NN"])
    >>> [text.get_text() for text in ax.texts]
    ['100', '95', 'DT', '5', 'NN']
    """
    matrix = np.asarray(getattr(model, "transmat_", model), dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"transition probabilities must form a square, got shape {matrix.shape}")
    if labels is None:
        labels = list(getattr(model, "classes_", range(len(matrix))))
    if len(labels) != len(matrix):
        raise ValueError(f"{len(labels)} labels for {len(matrix)} states")
    n = len(matrix)
    n_arrows = np.count_nonzero((matrix >= threshold) & ~np.eye(n, dtype=bool))
    if n <= _FEW_STATES or (n <= _MOST_STATES and n_arrows <= _MOST_ARROWS * n):
        return _draw_graph(axes_or_new(ax, figsize=(WIDTH, 4.0)), matrix, labels, threshold)
    ax = axes_or_new(ax, figsize=(WIDTH, 1.6 + 0.26 * n))
    number_cells(ax, matrix, labels, labels, threshold)
    ax.set(title="Probability of the next state (%)", xlabel="to", ylabel="from")
    return ax


def _draw_graph(ax: Axes, matrix: np.ndarray, labels: Sequence[Any], threshold: float) -> Axes:
    """States on a circle, names outside it; in each the per cent of staying."""
    from matplotlib.patches import Circle

    angles = np.pi / 2 - 2 * np.pi * np.arange(len(matrix)) / len(matrix)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    radius = min(_NODE_RADIUS, _NODE_SHARE / len(matrix))
    for source, target in np.argwhere(matrix >= threshold):
        if source != target:
            _draw_edge(ax, places[source], places[target], matrix[source, target], radius)
    for state, (x, y) in enumerate(places.round(6)):
        style = {"facecolor": (*state_colour(state)[:3], 0.35), "edgecolor": state_colour(state)}
        ax.add_patch(Circle((x, y), radius, **style))
        if matrix[state, state] >= threshold:
            ax.text(x, y, f"{100 * matrix[state, state]:.0f}", ha="center", va="center")
        side = "center" if x == 0 else ("left" if x > 0 else "right")
        above = "center" if abs(x) > abs(y) else ("bottom" if y > 0 else "top")
        out = 1 + 1.3 * radius
        ax.text(out * x, out * y, fill(str(labels[state]), 14), ha=side, va=above, weight="bold")
    # Names are outside, and that at the top needs room below the title.
    reach = 1 + 1.2 * radius
    low, high = places.min(axis=0) - reach + 1, places.max(axis=0) + reach - 1
    if len(matrix) <= 2:
        low[0], high[0] = -0.6, 0.6
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1] + 0.3), aspect="equal")
    ax.set_title("Per cent that move or (inside) stay")
    ax.set_axis_off()
    return ax


def _draw_edge(
    ax: Axes, source: np.ndarray, target: np.ndarray, probability: float, radius: float
) -> None:
    """An arrow bent to its left, so that the two directions stay apart, and its per cent."""
    from matplotlib.patches import FancyArrowPatch

    step = target - source
    along = step / np.linalg.norm(step)
    begin, end = source + radius * along, target - radius * along
    ax.add_patch(
        FancyArrowPatch(
            begin,
            end,
            connectionstyle=f"arc3,rad={_BEND}",
            arrowstyle="-|>",
            mutation_scale=9 + 6 * probability,
            shrinkA=0,
            shrinkB=0,
            alpha=0.6,
            linewidth=_WIDEST_EDGE * probability,
            color="0.5",
        )
    )
    # Nearer to where it comes from, as many arrows cross in the middle.
    bend = (begin + end) / 2 + _BEND * np.array([1, -1]) * (end - begin)[::-1]
    x, y = 0.49 * begin + 0.42 * bend + 0.09 * end
    text = ax.text(x, y, f"{100 * probability:.0f}", ha="center", va="center", fontsize=9)
    text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
