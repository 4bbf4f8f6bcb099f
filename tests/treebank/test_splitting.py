"""Splitting and merging subtypes."""

import numpy as np
import pytest
from annotation_enumeration import CASES, Case, arrays_of, as_dict

from sklearn_cvb import EMLatentPCFG
from sklearn_cvb.treebank import inference
from sklearn_cvb.treebank import model as splitting
from sklearn_cvb.treebank.parameters import unscaled_weights

ALL = [*CASES]


def expected_counts(weights, layout, trees):
    return inference.expectation(unscaled_weights(weights, layout), layout, trees)[:2]


def random_weights(layout, seed=0):
    draws = np.random.default_rng(seed).standard_exponential(len(layout.row))
    return layout.rows(draws).mean()


@pytest.mark.parametrize("name", ALL)
def test_splitting_changes_no_likelihood_and_merging_undoes_it(name, monkeypatch):
    case = CASES[name]
    layout, trees, rng = case.layout, arrays_of(case), np.random.default_rng(0)
    weights = random_weights(layout)
    counts, logs = expected_counts(weights, layout, trees)
    monkeypatch.setattr(splitting, "_NOISE", 0.0)
    fine_weights, fine = splitting.split_subtypes(weights, layout, 6, rng)
    assert fine.rules.n_subtypes.tolist() == [2 * n for n in case.n_subtypes]
    fine_counts, fine_logs = expected_counts(fine_weights, fine, trees)
    np.testing.assert_allclose(fine_logs, logs, rtol=0, atol=1e-10)
    _, losses = splitting.merge_losses(fine_weights, fine_counts, fine, trees)
    assert len(losses) == sum(case.n_subtypes)
    np.testing.assert_allclose(losses, 0.0, atol=1e-10)
    back, coarse = splitting.merge_subtypes(fine_weights, fine_counts, fine, trees, 1.0)
    assert coarse.rules.n_subtypes.tolist() == case.n_subtypes
    np.testing.assert_allclose(back, counts, rtol=0, atol=1e-10)


def test_noise_tells_the_halves_apart():
    case = CASES["repeated"]
    rng = np.random.default_rng(0)
    weights = random_weights(case.layout)
    fine_weights, fine = splitting.split_subtypes(weights, case.layout, 4, rng)
    halves = fine_weights[splitting._coarse_cells(fine, fine, np.arange(8) % 4)]
    assert np.array_equal(halves, fine_weights)
    assert len(np.unique(fine_weights)) == len(fine_weights)
    np.testing.assert_allclose(fine.totals(fine_weights), 1.0, rtol=1e-12)


def test_a_symbol_has_no_more_subtypes_than_it_may():
    case = CASES["ragged"]
    _, fine = splitting.split_subtypes(
        random_weights(case.layout), case.layout, 4, np.random.default_rng(0)
    )
    assert fine.rules.n_subtypes.tolist() == [4, 3, 2, 4]


def test_the_loss_of_a_merge_at_a_single_node_is_exact():
    """S -> A B, one tree: averages by p(x) for A's own rule, sums for the rule above."""
    case = Case(
        [1, 2, 2], [0], [(0, 1, 2)], [], [(1, 0), (1, 1), (2, 2)],
        [[(2, -1, -1), (4, -1, -1), (1, 0, 1)]], [0],
    )  # fmt: skip
    layout, trees = case.layout, arrays_of(case)
    weights = random_weights(layout, 3)
    counts, logs = expected_counts(weights, layout, trees)
    rows, losses = splitting.merge_losses(weights, counts, layout, trees)
    assert rows.tolist() == [1, 3]
    named = as_dict(case, weights)
    above = np.array([[named[1, (0, x, y)] for y in range(2)] for x in range(2)])
    a = np.array([named[2, (x,)] for x in range(2)])
    b = np.array([named[4, (y,)] for y in range(2)])
    share = above @ b * a / (a @ above @ b)
    merged = share @ a * (above.sum(axis=0) @ b)
    assert logs[0] == pytest.approx(np.log(a @ above @ b))
    assert losses[0] == pytest.approx(logs[0] - np.log(merged), abs=1e-10)


def test_what_loses_least_is_merged_first():
    """The words below A agree, and X tells of them; roots and B are always the same."""
    trees = ["(S (A a) (X (A a) (B c)))", "(S (A b) (X (A b) (B c)))"] * 10
    settings = {"init": "random", "random_state": 0, "max_iter": 100, "tol": 0}
    model = EMLatentPCFG(rare_threshold=0, **settings).fit(trees)
    assert model.objective_ == pytest.approx(20 * np.log(0.5), abs=1e-6)
    layout, counts = model._learned.layout, model.counts_.cells
    treebank = model._read(trees, None).problem.treebank
    means = model.rule_probabilities_
    found, coarse = splitting.merge_subtypes(means, counts, layout, treebank.trees, 0.5)
    names = [str(symbol) for symbol in treebank.symbols]
    numbers = dict(zip(names, coarse.rules.n_subtypes.tolist(), strict=True))
    assert numbers == {"S": 1, "A": 2, "X": 2, "B": 1}
    logs = inference.log_likelihoods(
        unscaled_weights(coarse.rows(found).mean(), coarse), coarse, treebank.trees
    )
    assert logs.sum() == pytest.approx(20 * np.log(0.5), abs=1e-6)


@pytest.mark.parametrize(
    ("most", "length", "splits", "merges"),
    [
        (1, 20, (), ()),
        (2, 20, (0,), (14,)),
        (5, 2, (0, 2, 4), (1, 3, 5)),
        (4, 10, (0, 10), (7, 17)),
    ],
)
def test_rounds(most, length, splits, merges):
    plan = splitting.split_merge_plan(most, length)
    assert (plan.splits, plan.merges) == (splits, merges)
    alike = 20 if most > 1 else 0
    assert plan.n_warm_up == max(merges, default=0) + alike
    assert splitting.split_merge_plan(most, None) == ((), (), alike)
