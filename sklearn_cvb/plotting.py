"""Pictures of what a fit did. Needs matplotlib, which is imported when a function is called."""

import numpy as np

_MARKERS = "osD^vP*X"


def plot_accuracy(curves, ax=None):
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
    ax = _axes(ax)
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
    # Beside the axes the legend cannot cover a line.
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return ax


def plot_history(estimator, ax=None):
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

    check_is_fitted(estimator, "history_")
    ax = _axes(ax)
    history = np.asarray(estimator.history_, dtype=float)
    ax.plot(np.arange(1, len(history) + 1), history, linewidth=1.2)
    ax.xaxis.get_major_locator().set_params(integer=True)
    is_total = getattr(estimator, "_history_is_total", True)
    ax.set_xlabel("sweeps")
    ax.set_ylabel("objective (nats)" if is_total else "mean log normaliser (nats per token)")
    ax.set_title(type(estimator).__name__)
    ax.grid(alpha=0.3)
    return ax


def _axes(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


__all__ = ["plot_accuracy", "plot_history"]
