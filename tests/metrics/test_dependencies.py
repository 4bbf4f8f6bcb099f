"""Accuracies of heads against counts by hand."""

import numpy as np
import pytest

from sklearn_cvb import CVBDMV, metrics

GOLD = [[2, 0, 4, 2], [2, 3, 0]]
# Right, its child, right, its head's head; wrong, its child, its child.
FOUND = [[2, 4, 4, 0], [0, 1, 2]]


def test_directed():
    assert metrics.directed_accuracy(GOLD, FOUND) == 2 / 7
    assert metrics.directed_accuracy(GOLD, GOLD) == 1.0


def test_undirected_counts_arcs_that_are_turned_round():
    assert metrics.undirected_accuracy(GOLD, FOUND) == 5 / 7


def test_neutral_counts_the_grandparent_as_well():
    """Token 4 of the first sentence is predicted to be the root, which is its head's head."""
    assert metrics.neutral_accuracy(GOLD, FOUND) == 6 / 7
    assert metrics.neutral_accuracy([[2, 3, 0]], [[3, 3, 0]]) == 1.0
    assert metrics.neutral_accuracy([[2, 3, 0]], [[0, 1, 2]]) == 2 / 3


def test_unknown_heads_are_left_out():
    for unknown in (None, -1, np.nan):
        gold = [[2, unknown, unknown, 2], None]
        assert metrics.directed_accuracy(gold, FOUND) == 0.5
        assert metrics.undirected_accuracy(gold, FOUND) == 0.5
        # The head's head of token 4 is not known.
        assert metrics.neutral_accuracy(gold, FOUND) == 0.5


def test_tables():
    assert metrics.directed_accuracy(np.array([[2, 0], [0, -1]]), np.array([[2, 0], [2, -1]])) == (
        2 / 3
    )


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="y_true holds 2 sentences but y_pred 1"):
        metrics.directed_accuracy(GOLD, FOUND[:1])
    with pytest.raises(ValueError, match="sentence 1 has 3 heads but 2 predicted ones"):
        metrics.undirected_accuracy(GOLD, [FOUND[0], [0, 1]])
    with pytest.raises(ValueError, match="no known head"):
        metrics.neutral_accuracy([[None]], [[0]])


def test_scorers_call_predict():
    X = [["a", "b"], ["b", "a", "b"], ["a", "b", "b"]]
    model = CVBDMV(max_iter=2).fit(X)
    y = [[2, 0], [0, 1, 2], None]
    for name in ("directed", "undirected", "neutral"):
        metric = getattr(metrics, f"{name}_accuracy")
        scorer = getattr(metrics, f"{name}_accuracy_scorer")
        assert scorer(model, X, y) == metric(y, model.predict(X))
