"""Pictures: what is drawn, in which units, and that the legend stays off the lines."""

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, VBHMM
from sklearn_cvb.plotting import plot_accuracy, plot_history

X = [["a", "b", "a", "b"], ["b", "a"], ["a", "b", "b"]]


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


def test_accuracy_is_drawn_in_per_cent_by_sweep(axes):
    curves = {"EM": ([1, 2, 3], [0.5, 0.6, 0.7]), "Gibbs": ([1, 100], [0.2, 0.9])}
    assert plot_accuracy(curves, ax=axes) is axes
    first, second = axes.get_lines()
    np.testing.assert_allclose(first.get_xydata(), [[1, 50], [2, 60], [3, 70]])
    np.testing.assert_allclose(second.get_xydata(), [[1, 20], [100, 90]])
    assert "%" in axes.get_ylabel()
    assert "sweeps" in axes.get_xlabel()
    assert axes.get_xscale() == "log"


def test_legend_names_the_curves_beside_the_axes(axes):
    plot_accuracy({"EM": ([1, 2], [0.5, 0.6]), "VB": ([1, 2], [0.7, 0.8])}, ax=axes)
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["EM", "VB"]
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


@pytest.mark.parametrize(("model", "unit"), [(VBHMM, "(nats)"), (CVBHMM, "nats per token")])
def test_history_is_drawn_by_sweep_with_its_unit(model, unit):
    model = model(random_state=0, max_iter=7, tol=0).fit(X)
    ax = plot_history(model)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 8))
    np.testing.assert_array_equal(line.get_ydata(), model.history_)
    assert unit in ax.get_ylabel()
    assert ax.get_title() == type(model).__name__


def test_history_of_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        plot_history(VBHMM())
