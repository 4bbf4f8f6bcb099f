"""Digits in sequences: how they are written, learned from and read."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.published import digits
from benchmarks.published.__main__ import main
from benchmarks.published.digits import KINDS, READERS
from sklearn_cvb import CVBHMM, EMHMM, VBHMM


@pytest.fixture(scope="module")
def results(quick):
    return {"dates": digits.part("dates", quick)}


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    numbers = digits.dates(30, rng)
    return digits.written(numbers, digits.halves(0)[0], rng), numbers


def test_halves_share_no_picture_and_hold_all_digits():
    learned, tested = digits.halves(3)
    assert len(learned.digit) + len(tested.digit) == 1797
    assert set(np.unique(learned.pixels)) == {0.0, 1.0}
    assert np.bincount(learned.digit).min() > 80
    # In black and white some pictures are alike.
    both = {one.tobytes() for one in learned.pixels} & {one.tobytes() for one in tested.pixels}
    assert len(both) < 30


def test_dates_are_those_of_a_century():
    table = digits.all_dates()
    assert table.shape == (36525, 8)
    assert table[0].tolist() == [0, 1, 0, 1, 1, 9, 5, 0]
    assert table[-1].tolist() == [3, 1, 1, 2, 2, 0, 4, 9]


def test_check_digits_are_right():
    found = digits.accounts(500, np.random.default_rng(0))
    assert found.shape == (500, 10)
    assert found.min() == 0
    assert found.max() == 9
    assert (found @ np.arange(10, 0, -1) % 11 == 0).all()


def test_every_digit_gets_a_picture_of_its_own():
    pictures = digits.Pictures(np.eye(10).repeat(2, axis=0)[:, :10], np.arange(20) // 2)
    wide = pictures._replace(pixels=np.pad(pictures.pixels, ((0, 0), (0, 54))))
    numbers = np.array([[3, 1, 4], [1, 5, 9]])
    found = digits.written(numbers, wide, np.random.default_rng(0))
    assert found.shape == (2, 3, 64)
    assert (found.argmax(axis=2) == numbers).all()


def test_the_best_account_number_is_that_of_all_of_them(monkeypatch):
    monkeypatch.setattr(digits, "_FACTORS", np.arange(4, 0, -1))
    logs = np.random.default_rng(0).normal(size=(6, 4, 10))
    valid = np.array([n for n in product(range(10), repeat=4) if n @ np.arange(4, 0, -1) % 11 == 0])
    best = [valid[one[np.arange(4), valid].sum(axis=1).argmax()] for one in logs]
    assert digits.best_valid(logs, "accounts").tolist() == np.array(best).tolist()


def test_the_best_date_is_a_date():
    logs = np.zeros((1, 8, 10))
    # The 31st of February, and then the next best.
    logs[0, range(8), [3, 1, 0, 2, 1, 9, 9, 9]] = 2.0
    logs[0, 3, 3] = 1.9
    assert digits.best_valid(logs, "dates")[0].tolist() == [3, 1, 0, 3, 1, 9, 9, 9]


@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_a_supervised_model_has_the_counts_of_the_labels(labelled, kind):
    pictures, numbers = labelled
    model = digits.supervised(kind, "full", pictures, numbers)
    assert np.concatenate(model.labels_).tolist() == numbers.ravel().tolist()
    pairs = np.zeros((10, 10))
    np.add.at(pairs, (numbers[:, :-1], numbers[:, 1:]), 1)
    np.testing.assert_allclose(model.counts_.transition, pairs, atol=1e-8)
    ones = np.array([pictures[numbers == k].sum(axis=0) for k in range(10)])
    n = np.array([(numbers == k).sum() for k in range(10)])
    expected = (ones + 1) / (n[:, None] + 2)
    np.testing.assert_allclose(model.probabilities_, expected, atol=1e-8)


def test_without_a_chain_a_supervised_model_is_naive_bayes(labelled):
    """But for the prior of digits, which scikit-learn does not smooth."""
    pictures, numbers = labelled
    bayes = digits.NaiveBayes(pictures, numbers)
    model = digits.supervised(EMHMM, "independent", pictures, numbers)
    n = np.bincount(numbers.ravel(), minlength=10)
    smoothed = (n + 1) / (n + 1).sum()
    bayes.model.class_log_prior_ = np.log(smoothed)
    found = np.array(list(model.predict_proba(list(pictures))))
    np.testing.assert_allclose(found, np.exp(bayes.logs(pictures)), atol=1e-6)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_labels_stay_what_they_are_among_unlabelled_sequences(labelled, kind):
    pictures, numbers = labelled
    start = digits.supervised(kind, "full", pictures[:3], numbers[:3])
    assert len(np.unique(numbers[:3])) < 10
    model = digits.semi_supervised(start, pictures[:3], numbers[:3], pictures[3:])
    assert np.concatenate(model.labels_[:3]).tolist() == numbers[:3].ravel().tolist()
    assert model.n_iter_ > 1
    assert np.mean(np.concatenate(model.labels_[3:]) == numbers[3:].ravel()) > 0.4


def test_the_place_is_a_column_that_states_learn(labelled):
    pictures, numbers = labelled
    placed = digits.with_places(pictures)
    assert placed.shape == (30, 8, 65)
    assert placed[4, :, 64].tolist() == list(range(8))
    model = digits.supervised(CVBHMM, "full", placed, numbers, has_places=True)
    pages = np.array([[(numbers[:, t] == k).sum() for k in range(10)] for t in range(8)])
    expected = (pages + 1) / (pages + 1).sum(axis=0)
    np.testing.assert_allclose(model._learned.extra.numeric.point[1], expected, atol=1e-8)


def test_naive_bayes_leaves_digits_it_never_saw_next_to_nothing(labelled):
    pictures, numbers = labelled
    few = numbers == 1
    bayes = digits.NaiveBayes(pictures[few][None], numbers[few][None])
    logs = bayes.logs(pictures)
    assert (logs[..., 1] > -1e-9).all()
    assert (np.delete(logs, 1, axis=2) == -1000).all()


def test_all_readers_read_better_than_chance_and_a_rule_helps(results):
    by_reader = results["dates"]["labelled"]["20"]
    assert set(by_reader) == set(READERS)
    for (run,) in by_reader.values():
        assert 0.6 < run["digits"] <= 1
        assert run["sequences"] < run["digits"]
    assert by_reader["bayes rule"][0]["sequences"] > by_reader["bayes"][0]["sequences"]
    for (run,) in results["dates"]["unlabelled"].values():
        assert 0.4 < run["digits"] < 0.9


def test_tables_and_picture(results, tmp_path):
    tables = digits.tables(results)
    assert len(tables) == 2
    (run,) = results["dates"]["labelled"]["20"]["bayes"]
    figures = [f"{100 * run['digits']:.1f}", f"{100 * run['sequences']:.1f}"]
    assert ["naive Bayes", *figures] in [row[:3] for row in tables["dates"].rows]


def test_the_command_makes_its_table_again_from_figures(results, tmp_path):
    from benchmarks.published.__main__ import save

    save(tmp_path / "digits.json", results)
    place = ["--output", str(tmp_path), "--doc", str(tmp_path)]
    assert main(["digits", "--from", str(tmp_path / "digits.json"), *place]) == 0
    shown = (tmp_path / "published" / "tables" / "digits.rst").read_text()
    assert "Dates: what is read right (%)" in shown


def test_the_page_says_what_its_table_says():
    folder = Path(__file__).resolve().parents[3] / "doc" / "published"
    rows = {}
    for name in KINDS:
        with open(folder / "tables" / f"digits_{name}.csv", encoding="utf-8", newline="") as file:
            rows[name] = {title: cells for title, *cells in csv.reader(file)}
    page = " ".join((folder / "digits.rst").read_text(encoding="utf-8").split())
    cells = {}
    for title in READERS.values():
        cells[title] = [[cell.split()[0] for cell in rows[name][title]] for name in KINDS]
        assert [len(row) for row in cells[title]] == [6, 6]
    bayes, chain = cells["naive Bayes"][0], cells["CVB, chain"][0]
    assert f"it reads {chain[4]} % of digits instead of {bayes[4]}" in page
    assert f"{chain[5]} % of dates instead of {bayes[5]}" in page
    rule = [of[5] for of in cells["naive Bayes, best that obeys the rule"]]
    assert f"has {rule[0]} % of dates right" in page
    assert f"{rule[1]} % of account numbers" in page
