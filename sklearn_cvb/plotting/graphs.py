"""Transition graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.plotting.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# In units of the circle on which the states stand.
_NODE_RADIUS = 0.11
_LOOP_RADIUS = 0.12
_WIDEST_EDGE = 4.0
_LEGEND = (1.0, 0.5, 0.25)


def plot_transitions(
    model: Any, *, threshold: float = 0.1, labels: Sequence | None = None, ax: Axes | None = None
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
    for place, label in zip(places, labels, strict=True):
        _draw_node(ax, place, str(label), radius, font_size=9 if radius == _NODE_RADIUS else 7)
    for probability in _LEGEND:
        ax.plot([], [], color="C0", linewidth=_WIDEST_EDGE * probability, label=f"{probability:g}")
    reach = 1 + radius + 2 * _LOOP_RADIUS
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_axis_off()
    ax.legend(title="probability", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
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


def _draw_node(ax: Axes, place: np.ndarray, label: str, radius: float, font_size: float) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle(place, radius, facecolor="white", edgecolor="black", zorder=2))
    ax.text(*place, label, ha="center", va="center", fontsize=font_size, zorder=3)
