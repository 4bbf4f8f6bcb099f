"""Curves: what is reported sweep by sweep, and criteria by number of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.plotting.axes import axes_or_new, legend_beside, panels
from sklearn_cvb.reading.corpus import short_repr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_cvb.selection import ComponentSelection


_MARKERS = "osD^vP*X"


def plot_accuracy(curves: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Plot accuracy by sweep, one line for each algorithm.

    Parameters
    ----------
    curves : dict of str to tuple (sweeps, accuracies)
        Number of sweeps done (from 1) and accuracy (a share from 0 to 1) after each of them.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes

    See Also
    --------
    plot_history : Objective by sweep of a fitted estimator.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_accuracy
    >>> ax = plot_accuracy({"EM": ([1, 2, 3], [0.7, 0.8, 0.82]), "VB": ([1, 2], [0.6, 0.9])})
    >>> [line.get_label() for line in ax.get_lines()]
    ['EM', 'VB']
    """
    ax = axes_or_new(ax)
    for index, (name, (sweeps, accuracies)) in enumerate(curves.items()):
        ax.plot(
            sweeps,
            100 * np.asarray(accuracies, dtype=float),
            label=name,
            marker=_MARKERS[index % len(_MARKERS)],
            markersize=3.5,
            linewidth=1.2,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("sweeps (logarithmic scale)")
    ax.set_ylabel("token accuracy (%)")
    ax.set_title("Accuracy of the training tags by sweep")
    ax.grid(alpha=0.3)
    legend_beside(ax)
    return ax


def plot_history(estimator: Any, ax: Axes | None = None) -> Axes:
    """Plot what a fit reported after each sweep: its `history_`.

    Parameters
    ----------
    estimator : fitted estimator
        With `history_`: the objective of EM, VB and Gibbs, the monitor of CVB.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes

    See Also
    --------
    plot_accuracy : Accuracy by sweep of several algorithms.
    plot_restarts : The same for every restart.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.plotting import plot_history
    >>> model = VBHMM(random_state=0).fit([["a", "b", "a"], ["b", "a"]])
    >>> ax = plot_history(model)
    >>> len(ax.get_lines()[0].get_ydata()) == model.n_iter_
    True
    """
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator is {short_repr(estimator)}: pass one fitted estimator, each in axes of its "
            "own (ax=...), as what algorithms report differs"
        )
    check_is_fitted(estimator, "history_")
    ax = axes_or_new(ax)
    history = np.asarray(estimator.history_, dtype=float)
    ax.plot(np.arange(1, len(history) + 1), history, linewidth=1.2)
    _describe_sweeps(ax, estimator)
    return ax


def plot_restarts(estimator: Any, ax: Axes | None = None) -> Axes:
    """Plot what every restart of a fit reported after each sweep: its `restart_histories_`.

    Parameters
    ----------
    estimator : fitted estimator
        With `restart_histories_` and `restart_objectives_`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        The kept restart is drawn last, in colour, the others in grey; a dot ends each.

    See Also
    --------
    plot_history : The kept restart alone.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.plotting import plot_restarts
    >>> model = VBHMM(n_init=3, random_state=0).fit([["a", "b", "a"], ["b", "a"]])
    >>> len(plot_restarts(model).get_lines())
    3
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator, "restart_histories_")
    ax = axes_or_new(ax)
    objectives = np.asarray(estimator.restart_objectives_, dtype=float)
    best = 0 if np.isnan(objectives).all() else int(np.nanargmax(objectives))
    others = [index for index in range(len(objectives)) if index != best]
    # The first of the others stands for all of them in the legend.
    labels = dict.fromkeys(others, "_nolegend_") | dict.fromkeys(others[:1], "other restarts")
    labels[best] = f"kept: restart {best}"
    for index in [*others, best]:
        history = np.asarray(estimator.restart_histories_[index], dtype=float)
        ax.plot(
            np.arange(1, len(history) + 1),
            history,
            color="C0" if index == best else "0.6",
            linewidth=1.8 if index == best else 0.9,
            marker="o",
            markersize=4,
            markevery=[len(history) - 1],
            label=labels[index],
        )
    _describe_sweeps(ax, estimator)
    ax.set_title(f"{type(estimator).__name__}: {len(objectives)} restarts")
    legend_beside(ax)
    return ax


def plot_components(selection: ComponentSelection, axes: Any = None) -> np.ndarray:
    """Plot the criteria by which a number of states is chosen, one panel for each.

    Parameters
    ----------
    selection : ComponentSelection
        What `sklearn_cvb.selection.select_components` returns.
    axes : sequence of matplotlib.axes.Axes, default=None
        One for each criterion; None for a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The best value of each criterion is marked by a star.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.plotting import plot_components
    >>> from sklearn_cvb.selection import select_components
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"], ["b", "a", "b", "a"]] * 3
    >>> selection = select_components(VBHMM(random_state=0), X, [1, 2, 3], random_state=0)
    >>> [ax.get_title() for ax in plot_components(selection)]
    ['evidence', 'held-out perplexity', 'AIC', 'BIC', 'ICL']
    """
    shown = [criterion for criterion in selection.criteria if criterion.values is not None]
    axes = panels(axes, len(shown), 2.2)
    for ax, criterion in zip(axes, shown, strict=True):
        best = selection.best(criterion.name)
        position = selection.n_components.index(best)
        ax.plot(selection.n_components, criterion.values, marker="o", markersize=4, linewidth=1.2)
        ax.plot([best], [criterion.values[position]], marker="*", markersize=13, linestyle="none")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(criterion.name)
        ax.set_xlabel("number of states")
        ax.set_ylabel(f"{criterion.unit},\n{'high' if criterion.higher else 'low'} is good", size=9)
        ax.grid(alpha=0.3)
    return axes


def _describe_sweeps(ax: Axes, estimator: Any) -> None:
    ax.xaxis.get_major_locator().set_params(integer=True)
    is_total = estimator._algorithm().is_total
    ax.set_xlabel("sweeps")
    ax.set_ylabel("objective (nats)" if is_total else "mean log normaliser (nats per token)")
    ax.set_title(type(estimator).__name__)
    ax.grid(alpha=0.3)
