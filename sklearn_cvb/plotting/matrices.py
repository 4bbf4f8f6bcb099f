"""Matrices: Hinton diagrams, confusion of predicted and true tags, graphs of transitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.plotting.axes import axes_or_new, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


_POSITIVE, _NEGATIVE = "#1f4e8c", "#c0392b"
# The largest value fills this much of its cell's side.
_LARGEST_SIDE = 0.95
# Shares below half a per cent are left out of the cells.
_SMALLEST_SHARE = 0.005
# In units of the circle on which the states stand.
_NODE_RADIUS = 0.11
_LOOP_RADIUS = 0.12
_WIDEST_EDGE = 4.0
_LEGEND = (1.0, 0.5, 0.25)


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
    _name_cells(ax.xaxis, n_columns, column_labels, "column_labels")
    _name_cells(ax.yaxis, n_rows, row_labels, "row_labels")
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
    ax = axes_or_new(ax, figsize=(1.8 + 0.42 * len(columns), 1.2 + 0.36 * len(rows)))
    image = ax.imshow(100 * shares, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if share >= _SMALLEST_SHARE:
            shade = "white" if share > 0.5 else "black"
            text = f"{100 * share:.0f}"
            ax.text(column, row, text, ha="center", va="center", color=shade, fontsize=8)
    names = [f"{true_labels[row]} ({total:,})" for row, total in zip(rows, totals, strict=True)]
    _name_cells(ax.xaxis, len(columns), [predicted_labels[c] for c in columns], "columns")
    _name_cells(ax.yaxis, len(rows), names, "rows")
    ax.tick_params(axis="x", rotation=90)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true (number of tokens)")
    ax.figure.colorbar(image, ax=ax, label="share of the true tag's tokens (%)")
    return ax


def plot_transitions(
    model: Any,
    *,
    threshold: float = 0.1,
    labels: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the transitions of a model as a graph: states on a circle, edges as wide as probable.

    Parameters
    ----------
    model : fitted estimator or array of shape (n_states, n_states)
        An estimator with `transmat_`, or transition probabilities from row to column; rows need
        not sum to 1, so that part of a matrix can be drawn.
    threshold : float, default=0.1
        Transitions less probable than this are left out.
    labels : sequence of str, default=None
        Names of the states; None for the tags of a tagger, else for numbers from 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        States stand clockwise from the top. A loop outside the circle is a transition to itself.

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
    ['DT', 'NN']
    """
    from matplotlib.patches import Circle

    matrix = np.asarray(getattr(model, "transmat_", model), dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"transition probabilities must form a square, got shape {matrix.shape}")
    if labels is None:
        labels = list(getattr(model, "classes_", range(len(matrix))))
    if len(labels) != len(matrix):
        raise ValueError(f"{len(labels)} labels for {len(matrix)} states")
    ax = axes_or_new(ax)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(matrix)) / len(matrix)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    # Many states get smaller nodes, so that neighbours do not touch.
    radius = min(_NODE_RADIUS, 2.0 / max(1, len(matrix)))
    for source, target in np.argwhere(matrix >= threshold):
        _draw_edge(ax, places[source], places[target], matrix[source, target], radius)
    font_size = 9 if radius == _NODE_RADIUS else 7
    for place, label in zip(places, labels, strict=True):
        ax.add_patch(Circle(place, radius, facecolor="white", edgecolor="black", zorder=2))
        ax.text(*place, str(label), ha="center", va="center", fontsize=font_size, zorder=3)
    for probability in _LEGEND:
        ax.plot([], [], color="C0", linewidth=_WIDEST_EDGE * probability, label=f"{probability:g}")
    reach = 1 + radius + 2 * _LOOP_RADIUS
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_axis_off()
    legend_beside(ax, title="probability")
    return ax


def _draw_edge(
    ax: Axes, source: np.ndarray, target: np.ndarray, probability: float, radius: float
) -> None:
    """An arrow bent to its left, so that the two directions stay apart, or a loop outwards."""
    from matplotlib.patches import Circle, FancyArrowPatch

    style: dict[str, Any] = {"linewidth": _WIDEST_EDGE * probability, "color": "C0", "zorder": 1}
    if (source == target).all():
        centre = source * (1 + (radius + _LOOP_RADIUS) * 0.9)
        ax.add_patch(Circle(centre, _LOOP_RADIUS, fill=False, **style))
        return
    along = (target - source) / np.linalg.norm(target - source)
    ax.add_patch(
        FancyArrowPatch(
            source + radius * along,
            target - radius * along,
            connectionstyle="arc3,rad=0.15",
            arrowstyle="-|>",
            mutation_scale=9 + 6 * probability,
            shrinkA=0,
            shrinkB=0,
            alpha=0.8,
            **style,
        )
    )


def _name_cells(axis: Axis, n: int, labels: Sequence[Any] | None, name: str) -> None:
    if labels is not None and len(labels) != n:
        raise ValueError(f"{len(labels)} {name} for {n} cells")
    axis.set_ticks(
        range(n), labels=[str(label) for label in (range(n) if labels is None else labels)]
    )
