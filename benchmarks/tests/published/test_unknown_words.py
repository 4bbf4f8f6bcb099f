"""The experiment on unknown words: what the small version finds, and its tables."""

import json

import numpy as np
import pytest

from benchmarks.published import unknown_words
from benchmarks.published.settings import Settings, run_parts
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results(data_folder):
    return run_parts(unknown_words.PARTS, Settings(str(data_folder), quick=True))


def accuracy(results, kind, **about):
    about = {key.replace("_", " "): value for key, value in about.items()}
    rows = [
        row
        for part in ("taggers", "peers")
        for row in results[part]["rows"]
        if all(row.get(key) == value for key, value in about.items())
    ]
    (row,) = rows
    return row[kind]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_forms_help_every_tagger_and_way_to_learn(results):
    for name in ("EM", "CVB"):
        for way in ("raw", "raw and tagged", "tagged"):
            found = {
                handled: {
                    kind: accuracy(
                        results, kind, tagger=name, unknown_words=handled, learns_from=way
                    )
                    for kind in ("all", "known", "unknown")
                }
                for handled in unknown_words.HANDLED
            }
            print(name, way, found)
            assert found["form"]["unknown"] > found["rare"]["unknown"] + 0.2
            assert found["form"]["all"] > found["rare"]["all"]
            assert found["form"]["known"] > found["rare"]["known"] - 0.02


def test_raw_text_is_tagged_better_than_by_the_most_frequent_tag(results):
    usual = accuracy(results, "unknown", tagger="most frequent tag")
    cvb = accuracy(results, "unknown", tagger="CVB", unknown_words="form", learns_from="raw")
    assert cvb > 0.7 > 0.4 > usual


def test_accuracies_are_of_listed_and_other_words():
    split = unknown_words.Split([], [], {"a": {"X": 1}}, [["a", "b", "b"]], [["X", "Y", "Y"]])
    found = unknown_words.accuracies(split, [["X", "Y", "X"]])
    assert found["all"] == pytest.approx(2 / 3)
    assert (found["known"], found["unknown"]) == (1.0, 0.5)
    assert found["share unknown"] == pytest.approx(2 / 3)
    assert unknown_words.most_frequent(split) == [["X", "X", "X"]]


def test_tnt_tags_new_words_by_their_ending():
    pytest.importorskip("nltk")
    tagged = [["we", f"{stem}ed"] for stem in ("walk", "talk", "ask", "pack")]
    tagged += [["we", f"{stem}ly"] for stem in ("bad", "sad", "mad", "glad")]
    tags = [["P", "V"]] * 4 + [["P", "R"]] * 4
    found = unknown_words.nltk_tnt(tagged, tags, [["we", "stacked"], ["we", "oddly"]])
    assert found == [["P", "V"], ["P", "R"]]


def test_tables_and_picture(results, tmp_path):
    results = json.loads(json.dumps(results))
    tables = unknown_words.tables(results)
    assert len(tables) == 1
    text = as_text(tables)
    assert "Wall Street Journal" in text
    assert "nltk HMM" in text
    row = next(row for row in results["taggers"]["rows"] if row["tagger"] == "CVB")
    assert np.isfinite(row["all"])
