"""Pocket English beside the journal: counted right, and alike in words and tags."""

from statistics import fmean

import pytest

from benchmarks.published import pocket_english
from benchmarks.published.settings import run_parts
from benchmarks.published.tables import as_text
from sklearn_cvb.demo.text import TaggingText


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(pocket_english.PARTS, quick)


def test_a_small_text_is_described():
    X = [["a", "b", "a"], ["a", "c", "d", "c", "a", "e"]]
    dictionary = {"a": ("X", "Y"), "b": ("X",), "c": ("X",), "d": ("Y",), "e": ("Y",)}
    found = pocket_english.described(TaggingText("small", X, X, dictionary, True))
    assert (found["n_tokens"], found["n_types"], found["once"]) == (9, 5, 3 / 5)
    assert (found["length"], found["length_deviation"]) == (4.5, 1.5)
    assert found["ambiguous"] == pytest.approx(4 / 9)
    assert found["ambiguous_types"] == 1 / 5
    assert found["tags_per_token"] == pytest.approx(13 / 9)
    assert found["slope"] < 0
    assert pocket_english.tag_shares([["X", "Y", "X", "X"]]) == {"X": 0.75, "Y": 0.25}
    assert pocket_english.growth([["a"] * 999 + ["b"], ["c"] * 1000]) == [(1000, 2), (2000, 3)]


def test_the_vocabulary_of_as_many_tokens_is_as_large(results):
    journal, pocket = (dict(points) for points in results["statistics"]["growth"])
    for n_tokens in range(3000, 17_000, 1000):
        assert pocket[n_tokens] == pytest.approx(journal[n_tokens], rel=0.1)


def test_shares_and_slope_are_near(results):
    rows = results["statistics"]["rows"]
    for journal, pocket in zip(rows[::2], rows[1::2], strict=True):
        assert (journal["text"], pocket["text"]) == ("journal", "pocket English")
        assert pocket["once"] == pytest.approx(journal["once"], abs=0.1)
        assert pocket["ambiguous"] == pytest.approx(journal["ambiguous"], abs=0.05)
        assert pocket["ambiguous_types"] == pytest.approx(journal["ambiguous_types"], abs=0.08)
        assert pocket["tags_per_token"] == pytest.approx(journal["tags_per_token"], abs=0.15)
        assert pocket["slope"] == pytest.approx(journal["slope"], abs=0.1)
    journal, pocket = results["statistics"]["tags"]
    for tag, share in journal.items():
        assert pocket.get(tag, 0) == pytest.approx(share, abs=0.05)


def test_every_algorithm_beats_chance_on_both_texts(results):
    for found in (results["accuracies"]["journal"], results["accuracies"]["pocket English"]):
        assert all(0.75 < fmean(accuracies) < 1 for accuracies in found.values())
        assert found.keys() == pocket_english.ALGORITHMS.keys()


def test_the_best_restart_is_no_worse_by_its_objective(results):
    rows = results["restarts"]["rows"]
    assert [row["algorithm"] for row in rows] == ["EM", "VB", "CVB"]
    assert all(row["gain"] >= 0 for row in rows)
    assert all(0.7 < value < 1 for row in rows for value in row["accuracies"])


def test_tables_and_picture(results, tmp_path):
    text = as_text(pocket_english.tables(results))
    assert ',"5,169",' in text
    assert "\n``NN``," in text
    assert "\nCVB sequence," in text
    pocket_english.draw(results, tmp_path)
    assert (tmp_path / "pocket_english_words.png").stat().st_size > 5000
