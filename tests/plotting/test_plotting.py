"""Pictures: what is drawn, in which units, and that the legend stays off the lines."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy import stats
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, VBHMMTagger
from sklearn_cvb.display import ModelSummary
from sklearn_cvb.metrics.simulation import SimulatedCheck
from sklearn_cvb.plotting import (
    algorithm_colours,
    hinton,
    plot_accuracy,
    plot_components,
    plot_confusion,
    plot_history,
    plot_residuals,
    plot_restarts,
    plot_simulated_check,
    plot_tag_accuracies,
    plot_transitions,
)
from sklearn_cvb.selection import ComponentSelection, Criterion

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


@pytest.mark.parametrize(
    ("model", "title"),
    [
        (EMHMM, "log-likelihood + log prior (nats)"),
        (VBHMM, "lower bound (nats)"),
        (CVBHMM, "leave-one-out score (nats per token)"),
        (GibbsHMM, "log joint probability (nats)"),
    ],
)
def test_history_is_drawn_by_sweep_and_named(model, title):
    model = model(random_state=0, max_iter=7).fit(X)
    assert title in ModelSummary(model)._repr_html_()
    ax = plot_history(model)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 1 + len(model.history_)))
    np.testing.assert_array_equal(line.get_ydata(), model.history_)
    assert ax.get_ylabel() == title
    assert ax.get_title() == type(model).__name__


def test_an_algorithm_has_one_colour_and_its_further_curves_are_lighter_and_darker():
    both = algorithm_colours(["EMHMM", "CVB token", "VB", "CVB sequence", "hmmlearn", "GibbsHMM"])
    assert len({*both}) == 6
    again = algorithm_colours(["GibbsPCFG, 2 chains", "CVB, alpha 1", "CVB, alpha .1", "CVB, .01"])
    assert again[:2] == [both[-1], both[3]]
    light, dark = map(sum, again[2:])
    assert dark < sum(to_rgb(both[3])) < light
    assert algorithm_colours(["first", "second"]) == ["C0", "C1"]
    ax = plot_accuracy({"VB": ([1], [0.5]), "EM": ([1], [0.5])})
    assert [line.get_color() for line in ax.get_lines()] == algorithm_colours(["VB", "EM"])


def test_history_of_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        plot_history(VBHMM())


def test_every_restart_is_drawn_and_the_kept_one_last(axes):
    model = VBHMM(n_init=3, random_state=0, max_iter=9, tol=0).fit(X)
    kept = int(np.argmax(model.restart_objectives_))
    lines = plot_restarts(model, ax=axes).get_lines()
    assert len(lines) == 3
    np.testing.assert_array_equal(lines[-1].get_ydata(), model.history_)
    order = [index for index in range(3) if index != kept] + [kept]
    for line, index in zip(lines, order, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), model.restart_histories_[index])
        assert line.get_markevery() == [8]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["other restarts", f"kept: restart {kept}"]
    assert lines[0].get_color() != lines[-1].get_color()


def test_hinton_squares_have_areas_signs_and_places(axes):
    matrix = np.array([[4.0, -1.0, 0.0], [0.25, 2.0, -4.0]])
    hinton(matrix, row_labels=["x", "y"], column_labels=list("abc"), ax=axes)
    cells = {}
    for square in axes.patches:
        side = square.get_width()
        assert square.get_height() == side
        column, row = (np.add(square.get_xy(), side / 2)).round(9)
        cells[int(row), int(column)] = side**2, square.get_facecolor()
    assert set(cells) == {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)}
    for place, (area, color) in cells.items():
        np.testing.assert_allclose(area, 0.95**2 * abs(matrix[place]) / 4)
        assert color == cells[(0, 0) if matrix[place] > 0 else (0, 1)][1]
    assert cells[0, 0][1] != cells[0, 1][1]
    assert [text.get_text() for text in axes.get_xticklabels()] == list("abc")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["x", "y"]
    # The first row is at the top.
    assert axes.get_ylim() == (1.5, -0.5)


def test_hinton_of_a_vector_with_a_common_scale(axes):
    (small, large) = hinton([1.0, 8.0], largest=4.0, ax=axes).patches
    np.testing.assert_allclose([small.get_width(), large.get_width()], [0.95 / 2, 0.95])


@pytest.mark.parametrize(
    ("matrix", "labels", "message"),
    [([[np.nan]], None, "finite"), ([[1.0, 2.0]], ["a"], "1 column_labels for 2 cells")],
)
def test_hinton_refuses_what_it_cannot_draw(axes, matrix, labels, message):
    with pytest.raises(ValueError, match=message):
        hinton(matrix, column_labels=labels, ax=axes)


def test_transition_graph_has_an_edge_for_each_probable_transition(axes):
    from matplotlib.patches import Circle, FancyArrowPatch

    matrix = np.array([[0.5, 0.5, 0.0], [0.04, 0.01, 0.95], [1.0, 0.0, 0.0]])
    plot_transitions(matrix, labels=["DT", "NN", "VB"], ax=axes)
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    widths = [arrow.get_linewidth() for arrow in arrows]
    np.testing.assert_allclose(widths, [6 * 0.5, 6 * 0.95, 6 * 1.0])
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    # Clockwise from the top.
    half = np.sqrt(3) / 2
    corners = [(0, 1), (half, -0.5), (-half, -0.5)]
    np.testing.assert_allclose([circle.center for circle in circles], corners, atol=1e-6)
    # Of arrows, then in each state what stays, and outside its name.
    assert [text.get_text() for text in axes.texts] == ["50", "95", "100", "50", "DT", "NN", "VB"]
    assert axes.texts[3].get_position() == circles[0].center
    for name, circle in zip(axes.texts[4:], circles, strict=True):
        assert np.hypot(*name.get_position()) > 1 + circle.radius


def test_transitions_of_many_states_are_a_table_with_the_tags_of_a_tagger(axes):
    tags = [f"T{i}" for i in range(6)]
    model = VBHMMTagger(dict(zip("abcdef", tags, strict=True)), alpha=1.0)
    model.fit([list("abcdefabcdef"), list("fedcbafedcba")] * 5)
    matrix = model.transmat_
    plot_transitions(model, threshold=0.06, ax=axes)
    np.testing.assert_allclose(axes.images[0].get_array(), 100 * matrix)
    numbers = {text.get_position(): text.get_text() for text in axes.texts}
    shown = np.argwhere(matrix >= 0.06)
    assert 9 < len(shown) < 36
    assert numbers == {(j, i): f"{100 * matrix[i, j]:.0f}" for i, j in shown.tolist()}
    for axis in (axes.xaxis, axes.yaxis):
        assert [text.get_text() for text in axis.get_ticklabels()] == tags


def test_many_states_that_few_follow_are_a_graph(axes):
    plot_transitions(np.eye(12, k=1) + 0.04, threshold=0.05, ax=axes)
    assert not axes.images
    assert [text.get_text() for text in axes.texts] == ["104"] * 11 + [str(i) for i in range(12)]


@pytest.mark.parametrize(
    ("matrix", "labels", "message"),
    [(np.ones((2, 3)), None, "square"), (np.eye(2), ["a"], "1 labels for 2 states")],
)
def test_transition_graph_refuses_what_it_cannot_draw(axes, matrix, labels, message):
    with pytest.raises(ValueError, match=message):
        plot_transitions(matrix, labels=labels, ax=axes)


def test_confusion_has_partners_on_the_diagonal(axes):
    gold = [["NN"] * 6 + ["DT"] * 3 + ["VB"]]
    predicted = [[2, 2, 2, 2, 0, 1, 0, 0, 0, 1]]
    plot_confusion(gold, predicted, ax=axes)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["NN (6)", "DT (3)", "VB (1)"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["2", "0", "1"]
    np.testing.assert_allclose(
        axes.images[0].get_array(),
        [[100 * 4 / 6, 100 / 6, 100 / 6], [0, 100, 0], [0, 0, 100]],
    )
    drawn = {tuple(text.get_position()): text.get_text() for text in axes.texts}
    assert drawn == {(0, 0): "67", (1, 0): "17", (2, 0): "17", (1, 1): "100", (2, 2): "100"}


def test_confusion_keeps_the_most_frequent_tags(axes):
    gold = [["NN"] * 6 + ["DT"] * 3 + ["VB"]]
    plot_confusion(gold, gold, max_labels=2, ax=axes)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["NN", "DT"]
    assert axes.images[0].get_array().shape == (2, 2)


def test_criteria_are_drawn_with_a_star_at_the_best():
    criteria = [
        Criterion("evidence", "lower bound (nats)", True, [-3.0, -1.0, -2.0]),
        Criterion("held-out perplexity", "perplexity per token", False, [5.0, 4.0, 3.0]),
    ]
    selection = ComponentSelection([2, 4, 8], [*criteria, Criterion("BIC", "", False, None)])
    panels = plot_components(selection)
    assert [ax.get_title() for ax in panels] == ["evidence", "held-out perplexity"]
    for ax, criterion, best in zip(panels, criteria, [(4, -1.0), (8, 3.0)], strict=True):
        curve, star = ax.get_lines()
        np.testing.assert_array_equal(curve.get_xdata(), [2, 4, 8])
        np.testing.assert_array_equal(curve.get_ydata(), criterion.values)
        assert star.get_xydata().tolist() == [list(best)]
        assert criterion.unit in ax.get_ylabel()


def test_residuals_are_drawn_over_time_by_quantile_and_lag():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 2))
    table[:, 1] = np.convolve(table[:, 1], [1.0, 0.8], "same")
    table[::7, 0] = np.nan
    axes = plot_residuals(table, n_lags=5, names=["first", "second"])
    assert axes.shape == (2, 3)
    assert [row[0].get_ylabel() for row in axes] == ["first", "second"]
    for row, column in zip(axes, table.T, strict=True):
        there = column[np.isfinite(column)]
        np.testing.assert_array_equal(row[0].lines[0].get_ydata(), column)
        expected = stats.norm.ppf((np.arange(len(there)) + 0.5) / len(there))
        np.testing.assert_allclose(row[1].lines[1].get_xdata(), expected)
        np.testing.assert_allclose(row[1].lines[1].get_ydata(), np.sort(there))
        stems = np.array([segment[1, 1] for segment in row[2].collections[0].get_segments()])
        off = column - np.nanmean(column)
        plain = [np.nanmean(off[k:] * off[:-k]) / np.nanvar(column) for k in range(1, 6)]
        np.testing.assert_allclose(stems, plain, atol=1e-12)
    assert abs(stems[0] - 0.8 / 1.64) < 0.1
    with pytest.raises(ValueError, match="two or more in each column"):
        plot_residuals([np.nan, 0.3])
    with pytest.raises(ValueError, match="must be those of one sequence"):
        plot_residuals(np.array([table, table[:5]], dtype=object))
    with pytest.raises(ValueError, match="names are 1, but there are 2 columns"):
        plot_residuals(table, names=["one"])
    with pytest.raises(ValueError, match="n_lags"):
        plot_residuals(table, n_lags=0)


@pytest.mark.filterwarnings("error")
def test_residuals_that_are_all_alike_have_no_autocorrelation():
    axes = plot_residuals([0.5, 0.5, np.nan, 0.5], n_lags=2)
    (lines,) = axes[0, 2].collections
    assert not np.array(lines.get_segments()).size


def test_simulated_values_are_a_histogram_and_those_of_the_data_a_line():
    rng = np.random.default_rng(0)
    simulated = rng.normal(size=(50, 3))
    simulated[4, 1] = np.nan
    check = SimulatedCheck(np.array([0.5, -0.1, 2.0]), simulated, np.array([0.6, 1.0, 0.0399]))
    axes = plot_simulated_check(check, names=["mean", "largest", "runs"])
    assert [ax.get_xlabel() for ax in axes] == ["mean", "largest", "runs"]
    assert [ax.get_title() for ax in axes] == ["p = 0.600", "p = 1.000", "p = 0.040"]
    for ax, values, own in zip(axes, simulated.T, check.observed, strict=True):
        heights, edges = np.histogram(values[np.isfinite(values)], 20)
        assert [bar.get_height() for bar in ax.patches] == heights.tolist()
        np.testing.assert_allclose([bar.get_x() for bar in ax.patches], edges[:-1])
        assert ax.get_lines()[0].get_xdata() == [own, own]
    with pytest.raises(ValueError, match="names are 1, but there are 3 statistics"):
        plot_simulated_check(check, names=["mean"])


def test_accuracies_of_tags_are_dots_before_and_after(axes):
    gold = [["NN", "VB", "NN", None], ["DT", "NN", "VB"]]
    before = [["NN", "NN", "VB", "NN"], ["NN", "NN", "NN"]]
    plot_tag_accuracies(gold, {"before": before, "after": gold}, max_tags=2, ax=axes)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["NN (3)", "VB (2)"]
    for line, name, values in zip(
        axes.get_lines(), ["before", "after"], [[200 / 3, 0], [100, 100]], strict=True
    ):
        assert line.get_label() == name
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([values, [0, 1]]))
    joined = [segment[:, 0] for segment in axes.collections[0].get_segments()]
    np.testing.assert_allclose(joined, [[200 / 3, 100], [0, 100]])
