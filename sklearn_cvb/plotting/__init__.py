"""Plots of fits, states, residuals and scores. Matplotlib is imported when one is called."""

from sklearn_cvb.plotting.axes import algorithm_colours
from sklearn_cvb.plotting.curves import plot_accuracy, plot_components, plot_history, plot_restarts
from sklearn_cvb.plotting.matrices import (
    hinton,
    plot_confusion,
    plot_tag_accuracies,
    plot_transitions,
)
from sklearn_cvb.plotting.residuals import plot_residuals, plot_simulated_check
from sklearn_cvb.plotting.series import (
    plot_ellipses,
    plot_forecast,
    plot_state_sequences,
    plot_states,
)

__all__ = [
    "algorithm_colours",
    "hinton",
    "plot_accuracy",
    "plot_components",
    "plot_confusion",
    "plot_ellipses",
    "plot_forecast",
    "plot_history",
    "plot_residuals",
    "plot_restarts",
    "plot_simulated_check",
    "plot_state_sequences",
    "plot_states",
    "plot_tag_accuracies",
    "plot_transitions",
]
