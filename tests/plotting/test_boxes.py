"""Pictures can be read: no text leaves its figure, none lies on another, bars begin at 0.

Held to it are all pictures on a case that is hard (twelve states, long names), and the examples of
the gallery that take no long time. Boxes are those that matplotlib has drawn.
"""

import contextlib
import io
import warnings
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from matplotlib.legend import Legend
from matplotlib.text import Text

from sklearn_cvb import VBHMM, plotting
from sklearn_cvb.metrics.simulation import SimulatedCheck
from sklearn_cvb.plotting.axes import WIDTH
from sklearn_cvb.selection import ComponentSelection, Criterion

FOLDER = Path(__file__).resolve().parents[2] / "doc" / "examples"
# More than a second each, or more to compile than other tests have use for.
SLOW = {
    *("alignment_algorithms", "alpha_auto", "chains", "clusters"),
    *("compare_algorithms", "covariance_shapes", "dependency_models", "denoise", "digits"),
    *("durations", "end_state", "five_algorithms", "grid_search", "hdp"),
    *("induce_grammar", "intervals", "known_states", "leave_one_out"),
    *("missing_values", "number_of_states", "one_long_sequence", "partial_labels"),
    *("restarts_and_history", "simulated_check", "topology", "treebank_parser"),
    *("unknown_words", "watch_a_fit", "words_to_check"),
}
# What they show is text and SVG.
WITHOUT_FIGURES = {"dependency_tree", "links", "read_files"}
EXAMPLES = [path for path in sorted(FOLDER.rglob("plot_*.py")) if path.stem[5:] not in SLOW]

RNG = np.random.default_rng(0)
WORDS = ["we", "have", "a", "long", "line", "with", "twelve", "words", "in", "it", "to", "draw"]
NAMES = [f"{word} of the machine" for word in ("idle", "running", *WORDS[2:])]
STATES = np.repeat(np.r_[np.arange(12), RNG.integers(12, size=20)], 8)
TAGS = [NAMES[state] for state in STATES]
GUESSES = [NAMES[state] for state in np.where(RNG.random(256) < 0.8, STATES, 3)]
SERIES = pd.DataFrame(
    RNG.normal(10 * np.column_stack([STATES % 4, STATES // 4, STATES]), 1.0),
    pd.date_range("2025-12-30", periods=256, freq="h"),
    ["temperature (degrees)", "vibration (mm/s)", "power"],
)
TABLE = 0.4 * RNG.dirichlet(np.full(12, 0.3), size=12) + 0.6 * np.eye(12)
MODEL = VBHMM(12, emission="gaussian", n_init=2, max_iter=5, random_state=0)
CRITERIA = [
    Criterion(name, unit, name == "evidence", list(1e4 * RNG.normal(size=12)))
    for name, unit in (
        ("evidence", "lower bound (nats)"),
        ("held-out perplexity", "perplexity per token"),
        *((name, f"{name} (nats)") for name in ("AIC", "BIC", "ICL")),
    )
]
PICTURES = {
    "hinton": lambda: plotting.hinton(TABLE, row_labels=NAMES, column_labels=NAMES),
    "plot_accuracy": lambda: plotting.plot_accuracy({name: ([1, 9], [0.5, 0.9]) for name in NAMES}),
    "plot_components": lambda: plotting.plot_components(
        ComponentSelection(list(range(1, 13)), CRITERIA)
    ),
    "plot_confusion": lambda: plotting.plot_confusion([TAGS], [GUESSES]),
    "plot_ellipses": lambda: plotting.plot_ellipses(_fitted(), [SERIES]),
    "plot_forecast": lambda: plotting.plot_forecast(
        SERIES, _fitted().predict_next([SERIES], 48, random_state=0), column=1
    ),
    "plot_history": lambda: plotting.plot_history(_fitted()),
    "plot_residuals": lambda: plotting.plot_residuals(
        RNG.normal(size=(256, 3)), names=list(SERIES.columns)
    ),
    "plot_restarts": lambda: plotting.plot_restarts(_fitted()),
    "plot_simulated_check": lambda: plotting.plot_simulated_check(
        SimulatedCheck(RNG.normal(size=5), RNG.normal(size=(99, 5)), np.ones(5)), names=NAMES[:5]
    ),
    "plot_state_sequences": lambda: plotting.plot_state_sequences(
        STATES.reshape(8, 32), labels=NAMES
    ),
    "plot_states": lambda: plotting.plot_states(SERIES, STATES, labels=NAMES),
    "plot_tag_accuracies": lambda: plotting.plot_tag_accuracies(
        [TAGS], {"before the words were looked at": [GUESSES], "after that": [TAGS]}
    ),
    "plot_transitions": lambda: plotting.plot_transitions(TABLE, labels=NAMES),
    "plot_transitions of a chain": lambda: plotting.plot_transitions(
        0.8 * np.eye(12) + 0.2 * np.roll(np.eye(12), 1, axis=1), labels=NAMES
    ),
    "plot_transitions of five": lambda: plotting.plot_transitions(
        0.5 * np.eye(5) + 0.1, labels=NAMES[:5]
    ),
}


def _fitted():
    if not hasattr(MODEL, "means_"):
        MODEL.fit([SERIES])
    return MODEL


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("Agg")
    with matplotlib.rc_context():
        yield
        import matplotlib.pyplot as plt

        plt.close("all")


def faults(figure):
    """What cannot be read in a figure, each in words."""
    drawn, draw = {}, Text.draw

    def noted(text, renderer):
        if text.get_visible() and text.get_text().strip():
            drawn[text] = Text.get_window_extent(text, renderer)
        draw(text, renderer)

    figure.draw_without_rendering()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        figure.canvas.draw()
    left, bottom, right, top = figure.bbox.padded(1.0).extents
    found = [
        f"{text.get_text()!r} leaves the figure"
        for text, box in drawn.items()
        if box.x0 < left or box.y0 < bottom or box.x1 > right or box.y1 > top
    ]
    boxes = list(drawn.items())
    for legend in figure.findobj(Legend):
        own = set(legend.findobj(Text))
        found += [
            f"a legend lies on {text.get_text()!r}"
            for text, box in boxes
            if text not in own and _overlap(box, legend.get_window_extent())
        ]
    found += [
        f"{text.get_text()!r} lies on {other.get_text()!r}"
        for (text, box), (other, second) in combinations(boxes, 2)
        if _overlap(box, second)
    ]
    for ax in figure.axes:
        for bars in ax.containers:
            if isinstance(bars, BarContainer):
                low, high = ax.get_ylim() if bars.orientation == "vertical" else ax.get_xlim()
                found += [] if min(low, high) <= 0.0 <= max(low, high) else ["bars lack their 0"]
    if figure.get_figwidth() > WIDTH + 0.01:
        found.append(f"it is {figure.get_figwidth():.1f} inches wide")
    return found


def _overlap(box, other):
    """Whether two boxes share more than a pixel each way."""
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    return wide > 1.0 and min(box.y1, other.y1) - max(box.y0, other.y0) > 1.0


def test_every_picture_is_looked_at():
    assert {name.split()[0] for name in PICTURES} == {*plotting.__all__} - {"algorithm_colours"}
    assert {path.stem[5:] for path in FOLDER.rglob("plot_*.py")} > SLOW


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_much_can_be_read(name):
    import matplotlib.pyplot as plt

    PICTURES[name]()
    (figure,) = map(plt.figure, plt.get_fignums())
    assert faults(figure) == []


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_pictures_of_an_example_can_be_read(path, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"__name__": path.stem})
    figures = list(map(plt.figure, plt.get_fignums()))
    assert bool(figures) != (path.stem[5:] in WITHOUT_FIGURES)
    assert [fault for figure in figures for fault in faults(figure)] == []


def test_faults_are_found():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3))
    ax.bar([0, 1], [90, 95])
    ax.set(ylim=(80, 100), xticks=[])
    ax.text(0.5, 90, "one", ha="center")
    ax.text(0.5, 90.1, "two", ha="center")
    ax.text(1.6, 90, "outside " * 9)
    ax.legend(["one and all"], loc="center")
    found = faults(figure)
    assert "'two' lies on 'one'" in found or "'one' lies on 'two'" in found
    assert any("leaves the figure" in fault for fault in found)
    assert "a legend lies on 'one'" in found
    assert {"bars lack their 0", "it is 7.0 inches wide"} <= set(found)
