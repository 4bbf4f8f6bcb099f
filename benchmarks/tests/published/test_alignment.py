"""The experiment on word alignment: directions, peers that are not installed, tables."""

import pytest

from benchmarks.published import alignment
from benchmarks.published.alignment import PEERS
from sklearn_cvb import symmetrize


@pytest.fixture(scope="module")
def results(quick):
    return {"hu": alignment.PARTS["hu"](quick) | {"seconds": 1.0}}


def test_collapsed_models_find_more_and_agreement_most(results):
    found = results["hu"]["models"]
    assert list(found) == ["em", "cvb", "agree"]
    assert found["em"]["mean"] + 3 < found["cvb"]["mean"] < found["agree"]["mean"]
    # Of sil-thot's hidden Markov model, and of eflomal.
    assert found["cvb"]["mean"] > 47 + 5
    assert found["agree"]["product"] > 55 + 2
    for one in found.values():
        assert one["product"] > max(one["English first"], one["other first"])


def test_directions_are_turned_once():
    gold = [[(0, 0), (1, 2), (2, 1)]]
    forward = [[(0, 0), (1, 2), (2, 1)]]
    backward = [[(0, 0), (1, 2)]]
    found = alignment.scored(gold, forward, backward, None)
    assert found["English first"] == 100
    assert found["other first"] == pytest.approx(80)
    assert found["mean"] == pytest.approx(90)
    assert found["intersection"] == pytest.approx(80)
    assert found["union"] == 100
    assert "product" not in found
    flipped = [[(b, a) for a, b in backward[0]]]
    assert symmetrize(forward, flipped, "intersection") == backward


def test_a_peer_that_is_not_installed_is_said():
    def missing(X):
        raise ModuleNotFoundError("No module named 'thot'", name="thot")

    found = alignment.peer(missing, [(["a"], ["b"])], [(["b"], ["a"])], [0], [[(0, 0)]])
    assert found == {"skipped": "not run: thot is not installed"}
    title = PEERS["thot-hmm"][0]
    rows = alignment.tables({"es": {"models": {"thot-hmm": found}}})["spanish"].rows
    assert rows[0][0] == f"{title} (not run: thot is not installed)"


def test_tables_and_picture(results, tmp_path):
    (table,) = alignment.tables(results).values()
    rows = {title: cells for title, *cells in table.rows}
    assert "CVB, both agree" in rows
    assert f"{results['hu']['models']['cvb']['mean']:.1f}" in rows["CVB"]
    alignment.draw(results, tmp_path)
    assert (tmp_path / "alignment_f1.png").stat().st_size > 5000
