"""Treebank grammars with latent annotations against what is known exactly."""

import numpy as np
import pytest
from nltk import Nonterminal, Tree, induce_pcfg

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, VBLatentPCFG
from sklearn_cvb.metrics import tree_perplexity

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    "(S (NP (NP (DT the) (NN cat)) (PP (IN by) (NP (DT the) (NN dog)))) (VP (VBD ran)))",
    "(S (NP (DT a) (NN dog)) (VP (VP (VBD saw) (NP (DT a) (NN cat))) (PP (IN by) (NP (NN day)))))",
    "(SQ (VBD ran) (NP (DT the) (NN dog)))",
    "(S (NP (NN day)) (VP (VBD ran) (PP (IN by) (NP (DT a) (NN dog)))))",
]


def test_without_subtypes_probabilities_are_relative_frequencies():
    """NLTK counts the rules of the same trees: of two children, unary above tags, of words."""
    trees = [Tree.fromstring(text) for text in TREES]
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=0).fit(trees)
    productions = [p for tree in trees for p in tree.productions()]
    theirs = {
        (str(p.lhs()), tuple(map(str, p.rhs()))): p.prob()
        for p in induce_pcfg(Nonterminal("S"), productions).productions()
    }
    ours = dict(zip(model.rules_, model.rule_probabilities_.tolist(), strict=True))
    roots = {children[0]: p for (parent, children), p in ours.items() if parent is None}
    assert roots == pytest.approx({"S": 5 / 6, "SQ": 1 / 6}, abs=1e-12)
    rest = {rule: p for rule, p in ours.items() if rule[0] is not None}
    assert rest == pytest.approx(theirs, abs=1e-12)
    assert model.n_iter_ <= 4
    total = -len(TREES) * np.log(
        tree_perplexity(induce_pcfg(Nonterminal("S"), productions), trees, per="sequence")
    )
    assert model.objective_ == pytest.approx(total + 5 * np.log(5 / 6) + np.log(1 / 6), abs=1e-9)


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1.0])
@pytest.mark.parametrize("n_subtypes", [1, 3])
def test_the_bound_never_falls(alpha, n_subtypes):
    for seed in range(3):
        settings = {"alpha": alpha, "random_state": seed, "tol": 0, "max_iter": 60}
        model = VBLatentPCFG(n_subtypes=n_subtypes, init="random", **settings).fit(TREES)
        assert np.diff(model.history_).min() > -1e-9 * abs(model.lower_bound_)
        assert model.lower_bound_ == model.history_[-1]


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_objective_of_em_never_falls(alpha):
    for seed in range(3):
        model = EMLatentPCFG(
            n_subtypes=3, alpha=alpha, init="random", random_state=seed, tol=0, max_iter=60
        ).fit(TREES)
        assert np.diff(model.history_).min() > -1e-9
        assert model.history_[-1] > model.history_[0] + 0.1


@pytest.mark.parametrize("kind", [EMLatentPCFG, VBLatentPCFG, CVBLatentPCFG])
@pytest.mark.parametrize("schedule", ["fixed", "split-merge"])
def test_probabilities_sum_to_1_and_counts_to_nodes(kind, schedule):
    model = kind(n_subtypes=4, schedule=schedule, max_iter=60, random_state=0).fit(TREES)
    layout = model._learned.layout
    np.testing.assert_allclose(layout.totals(model.rule_probabilities_), 1.0, rtol=1e-12)
    n_nodes = sum(len(list(Tree.fromstring(text).subtrees())) for text in TREES)
    assert model.counts_.cells.sum() == pytest.approx(n_nodes + len(TREES), rel=1e-9)


def test_subtypes_explain_what_one_cannot():
    """A tree's two words agree: S -> A A with (a, a) or (b, b) only."""
    trees = ["(S (A a) (A a))", "(S (A b) (A b))"] * 20
    one = EMLatentPCFG(n_subtypes=1, random_state=0).fit(trees)
    two = EMLatentPCFG(n_subtypes=2, init="random", random_state=0, max_iter=200, tol=0).fit(trees)
    assert one.objective_ == pytest.approx(-40 * np.log(4.0))
    assert two.objective_ == pytest.approx(-40 * np.log(2.0), abs=1e-3)
    assert two.score([["a", "a"]]) == pytest.approx(-np.log(2.0) / 2, abs=1e-3)
    assert two.score([["a", "b"]]) < -5


@pytest.mark.parametrize("kind", [EMLatentPCFG, VBLatentPCFG, CVBLatentPCFG])
def test_smallest_concentrations_lose_nothing(kind):
    settings = {"smoothing": 1e-10} if kind is EMLatentPCFG else {"alpha": 1e-10}
    model = kind(n_subtypes=16, random_state=0, max_iter=30, **settings).fit(TREES)
    assert np.isfinite(model.history_).all()
    assert len(model.unexplained_) == 0
    assert np.isfinite(model.score(TREES[:1]))
    assert str(model.predict(TREES[:1])[0]) == TREES[0]


def test_smoothing_changes_predictions_and_nothing_else():
    plain = EMLatentPCFG(random_state=0).fit(TREES)
    smooth = EMLatentPCFG(smoothing=0.5, random_state=0).fit(TREES)
    assert np.array_equal(plain.history_, smooth.history_)
    assert np.array_equal(plain.counts_.cells, smooth.counts_.cells)
    layout, counts = smooth._learned.layout, smooth.counts_.cells + 0.5
    expected = counts / layout.totals(counts)[layout.row]
    np.testing.assert_allclose(smooth.rule_probabilities_, expected, rtol=1e-12)
