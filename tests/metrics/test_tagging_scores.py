"""Accuracy of tags and of states mapped to tags."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import v_measure_score

from sklearn_cvb.metrics import (
    many_to_one_accuracy,
    one_to_one_accuracy,
    tag_confusion,
    token_accuracy,
    v_measure,
)

METRICS = [token_accuracy, many_to_one_accuracy, one_to_one_accuracy, v_measure]
GOLD = [["D", "N", "V"], ["N", "V", "D", "N"], ["N"]]
STATES = [[2, 0, 1], [0, 0, 2, 1], [3]]


def ragged(rows):
    boxed = np.empty(len(rows), dtype=object)
    boxed[:] = [np.array(row) for row in rows]
    return boxed


def test_confusion_by_hand():
    counts, true_labels, predicted_labels = tag_confusion(GOLD, STATES)
    assert (true_labels, predicted_labels) == (["D", "N", "V"], [2, 0, 1, 3])
    assert counts.tolist() == [[2, 0, 0, 0], [0, 2, 1, 1], [0, 1, 1, 0]]


def test_scores_by_hand():
    assert token_accuracy(GOLD, [["D", "N", "N"], ["N", "V", "N", "V"], ["X"]]) == 4 / 8
    assert many_to_one_accuracy(GOLD, STATES) == 6 / 8
    assert one_to_one_accuracy(GOLD, STATES) == 5 / 8


def test_one_to_one_is_the_best_of_all_mappings():
    random = np.random.default_rng(0)
    for n_tags, n_states in [(4, 4), (3, 5), (5, 3)]:
        gold, states = random.integers(n_tags, size=60), random.integers(n_states, size=60)
        wide = max(n_tags, n_states)
        best = max(
            np.mean(gold == np.array(mapping)[states])
            for mapping in itertools.permutations(range(wide), n_states)
        )
        assert one_to_one_accuracy([gold], [states]) == pytest.approx(best)


def test_many_to_one_is_never_below_one_to_one():
    random = np.random.default_rng(1)
    for _ in range(30):
        gold, states = random.integers(5, size=(4, 9)), random.integers(6, size=(4, 9))
        assert many_to_one_accuracy(gold, states) >= one_to_one_accuracy(gold, states)


@pytest.mark.parametrize("n_labels", [2, 40])
@pytest.mark.filterwarnings("error")
def test_v_measure_is_scikit_learns(n_labels):
    random = np.random.default_rng(2)
    gold, states = random.integers(n_labels, size=50), random.integers(n_labels, size=50)
    expected = v_measure_score(gold.astype(str), states)
    found = v_measure([gold[:20].astype(str), gold[20:].astype(str)], [states[:20], states[20:]])
    assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_forms_of_y_agree(metric):
    gold, states = np.array([[0, 1, 2], [1, 1, 0]]), np.array([[0, 2, 2], [1, 0, 0]])
    expected = metric(gold, states)
    assert metric(gold.tolist(), states.tolist()) == expected
    assert metric(ragged(gold), ragged(states)) == expected
    assert metric(pd.Series(gold.tolist()), tuple(map(tuple, states))) == expected
    assert metric(gold.astype(float), states) == expected
    assert isinstance(expected, float)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, float("nan")])
def test_unknown_labels_are_left_out(metric, unknown):
    gold = [["a", unknown, "b"], None, ["b", "a", unknown]]
    found = [["a", "z", "a"], ["a", "a"], ["b", "a", None]]
    assert metric(gold, found) == metric([["a", "b"], ["b", "a"]], [["a", "a"], ["b", "a"]])


@pytest.mark.parametrize("metric", METRICS)
def test_padding_is_left_out(metric):
    gold = np.array([[0, 1, 1], [1, 0, np.nan], [0, np.nan, np.nan]])
    padded = np.array([[0, 1, 0], [1, 0, -1], [1, -1, -1]])
    assert metric(gold, padded) == metric([[0, 1, 1], [1, 0], [0]], [[0, 1, 0], [1, 0], [1]])


def test_a_missing_prediction_is_a_wrong_one():
    assert token_accuracy([["a", "b"]], [["a", None]]) == 0.5
    assert token_accuracy([[0, 1]], np.array([[0, np.nan]])) == 0.5
    assert tag_confusion([["a", "b"]], [[np.nan, None]])[2] == [None]


@pytest.mark.parametrize("metric", [*METRICS, tag_confusion])
def test_lengths_must_agree(metric):
    with pytest.raises(ValueError, match="sequence 1 has 2 labels in y_true but 3 in y_pred"):
        metric([["a"], ["a", "b"]], [["a"], ["a", "b", "b"]])
    with pytest.raises(ValueError, match="y_true holds 2 sequences, y_pred 1"):
        metric([["a"], ["a", "b"]], [["a"]])


@pytest.mark.parametrize("metric", [*METRICS, tag_confusion])
@pytest.mark.parametrize("gold", [[], [[]], [None], [[None, None]]])
def test_nothing_to_score(metric, gold):
    with pytest.raises(ValueError, match="nothing to score"):
        metric(gold, [[0] * len(labels or []) for labels in gold])


@pytest.mark.parametrize("metric", [*METRICS, tag_confusion])
@pytest.mark.parametrize("flat", [["DET", "NOUN"], [0, 1]])
def test_flat_labels_are_refused(metric, flat):
    with pytest.raises(TypeError, match=r"y_true\[0\] is .*\[\[\"DET\", \"NOUN\"\]"):
        metric(flat, [["DET"], ["NOUN"]])
