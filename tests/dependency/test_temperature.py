"""Hardened E-steps against all trees: posteriors to a power, Viterbi training, what is watched."""

import math
from collections import Counter

import numpy as np
import pytest
from dependency_enumeration import Tables, weigh_ways

from sklearn_cvb import EMDMV, Valence
from sklearn_cvb.dependency.parameters import cells_from

TAGS = [[0, 1, 2, 1], [1, 2], [2, 0, 1], [0, 1], [1, 2, 0, 1, 0], [1]]
X = [[f"t{tag}" for tag in sentence] for sentence in TAGS]
W, ALPHA = 3, 0.3
FORMS = [(1, None), (2, None), (1, "direction"), (2, "head")]


def model_of(form, temperature, n_sweeps, alpha=ALPHA, alpha_backoff=ALPHA):
    return EMDMV(
        alpha=alpha,
        valence=Valence(form[0] == 2, backoff=form[1], alpha_backoff=alpha_backoff),
        handle_unknown="error",
        temperature=temperature or 1.0,
        update="batch" if temperature else "viterbi",
        max_iter=n_sweeps,
        tol=0,
    )


def hardened(tags, weights, tables, temperature):
    """Value and expected counts: trees to the power 1 / temperature, components as they are.

    0 stands for Viterbi training.
    """
    sums = Counter()
    for tree, _, weight in weigh_ways(tags, weights, tables):
        sums[tree] += weight
    if temperature:
        total = sum(weight ** (1 / temperature) for weight in sums.values())
        share = {tree: weight ** (1 / temperature) / total for tree, weight in sums.items()}
        value = temperature * math.log(total)
    else:
        best = max(sums, key=sums.get)
        share, value = {best: 1.0}, math.log(sums[best])
    counts = np.zeros(len(weights))
    for tree, cells, weight in weigh_ways(tags, weights, tables):
        for cell in cells:
            counts[cell] += share.get(tree, 0.0) * weight / sums[tree]
    return value, counts


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("form", FORMS)
def test_hardened_em_is_its_restatement(form, temperature):
    tables = Tables(W, *form)
    first = model_of(form, temperature, 1).fit(X)
    counts = cells_from(first.counts_)
    for n_sweeps in (2, 3):
        weights = tables.mean(counts + ALPHA)
        results = [hardened(tags, weights, tables, temperature) for tags in TAGS]
        counts = sum(expected for _, expected in results)
        model = model_of(form, temperature, n_sweeps).fit(X)
        np.testing.assert_allclose(cells_from(model.counts_), counts, atol=1e-10)
        value = sum(value for value, _ in results) + ALPHA * np.log(weights).sum()
        assert model.history_[-1] == pytest.approx(value)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("temperature", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [0.0, ALPHA])
def test_what_is_watched_never_falls(form, temperature, alpha):
    rng = np.random.default_rng(0)
    more = [rng.integers(6, size=n).tolist() for n in rng.integers(2, 12, size=40)]
    history = model_of(form, temperature, 25, alpha, alpha_backoff=0.5).fit(more).history_
    assert (np.diff(history) > -1e-9).all()
    assert history[-1] > history[0]


def test_viterbi_training_learns_from_its_own_trees():
    """Its counts are those of the trees that it gives, and it stops when these stay."""
    model = EMDMV(update="viterbi", alpha=1.0, handle_unknown="error").fit(X)
    assert model.converged_
    heads = model.labels_.tolist()
    again = EMDMV(alpha=1.0, handle_unknown="error", max_iter=1).fit(X, heads)
    np.testing.assert_allclose(cells_from(model.counts_), cells_from(again.counts_), atol=1e-12)
    assert np.array_equal(model.counts_.root, np.round(model.counts_.root))


def test_sentences_without_a_tree_are_left_out():
    start = EMDMV(handle_unknown="error", max_iter=1, vocabulary=["a", "b", "c"])
    start.fit([["a", "b"], ["a", "b"], ["c"]], [[2, 0], [2, 0], [0]])
    model = EMDMV(update="viterbi", init=start, handle_unknown="error", max_iter=2)
    with pytest.warns(UserWarning, match="1 sentences have no tree with any weight"):
        model.fit([["a", "b"], ["b", "c", "c"]])
    assert model.unexplained_.tolist() == [1]
    assert model.counts_.root.sum() == 1


@pytest.mark.parametrize("temperature", [-0.1, 0, 1.5, 0.05, "cold"])
def test_bad_temperatures(temperature):
    with pytest.raises(ValueError, match="temperature"):
        EMDMV(temperature=temperature).fit(X)


def test_the_heaviest_trees_have_no_temperature():
    with pytest.raises(ValueError, match=r"temperature must be 1\.0 or more"):
        EMDMV(update="viterbi", temperature=0.5).fit(X)
