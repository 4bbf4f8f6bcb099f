"""Figure 5: accuracies by sweep, and a clock that leaves scoring out."""

import pytest

from benchmarks.published import figure5, monitor
from benchmarks.published.monitor import curve
from benchmarks.published.settings import run_parts
from benchmarks.published.tables import as_text
from benchmarks.published.taggers import tagger_of
from benchmarks.published.text import first_sentences
from sklearn_cvb import CVBHMM, Symbols


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(figure5.PARTS, quick)


def test_a_curve_is_what_separate_fits_of_so_many_sweeps_reach(results, quick):
    text = first_sentences(quick, 300)
    for n_sweeps in (1, 4):
        tagger = tagger_of(
            "cvb-sequence", text, n_sweeps, emission=Symbols(handle_unknown="error"), random_state=1
        )
        tagger.set_params(**figure5.USUAL).fit(text.X)
        found = results["cvb-sequence"]["curves"][1]
        here = found["sweeps"].index(n_sweeps)
        assert found["accuracy"][here] == figure5.training_accuracy(tagger, None, text.y)


def test_variational_algorithms_arrive_within_twenty_sweeps_cvb_above_em(results):
    last = {name: figure5.mean_curve(found)[2][-1] for name, found in results.items()}
    assert min(last["cvb-token"], last["cvb-sequence"]) > max(last["em"], last["vb"])
    for name in ("em", "vb", "cvb-token", "cvb-sequence"):
        assert figure5.arrival(results[name])[0] <= 15
        first = figure5.mean_curve(results[name])[2][0]
        assert last[name] > first + 1


def test_seconds_grow_and_leave_scoring_out(monkeypatch):
    now = [0.0]

    def clock():
        """A second passes between two looks at it."""
        now[0] += 1
        return now[0]

    def slow(fitted, X, y):
        now[0] += 100
        return float(fitted.n_iter_)

    monkeypatch.setattr(monitor, "thread_time", clock)
    X = [["a", "b", "a"], ["b", "a"]] * 3
    model = CVBHMM(n_components=2, max_iter=6, tol=0, random_state=0)
    found = curve(model, X, [None] * len(X), {"sweeps_done": slow}, due=(2, 3, 6))
    assert found["sweeps"] == [2, 3, 6]
    assert found["sweeps_done"] == [2, 3, 6]
    assert found["seconds"] == [2, 3, 6]


def test_tables_and_picture(results, tmp_path):
    text = as_text(figure5.tables(results))
    assert "\nCVB sequence," in text
    assert ",ms per sweep\n" in text
    figure5.draw(results, tmp_path)
    assert (tmp_path / "figure5_accuracy.png").stat().st_size > 5000
