"""Expected counts in observed trees, against all their annotations."""

import numpy as np
import pytest
from annotation_enumeration import (
    CASES,
    arrays_of,
    as_cells,
    as_dict,
    expected,
    means,
    total,
)

from sklearn_cvb.treebank import inference
from sklearn_cvb.treebank.parameters import AnnotatedWeights, unscaled_weights


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def random_weights(case, seed=0):
    rng = np.random.default_rng(seed)
    layout = case.layout
    return layout.rows(rng.standard_exponential(len(layout.row))).mean()


@pytest.mark.parametrize("keeps_shares", [False, True])
def test_likelihoods_and_expected_counts_are_those_of_all_annotations(case, keeps_shares):
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    pairs = [expected(case, i, as_dict(case, weights)) for i in range(len(case.trees))]
    counts, log_z, _ = inference.expectation(
        unscaled_weights(weights, layout), layout, trees, keeps_shares
    )
    np.testing.assert_allclose(log_z, [log for log, _ in pairs], rtol=0, atol=1e-10)
    exact = as_cells(case, total(case, [found for _, found in pairs]))
    np.testing.assert_allclose(counts, exact, rtol=0, atol=1e-10)
    only = inference.log_likelihoods(unscaled_weights(weights, layout), layout, trees)
    assert np.array_equal(only, log_z)


@pytest.mark.parametrize("size", [1e-200, 1e150])
def test_scales_of_rules_are_taken_into_account(case, size):
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    usual = inference.expectation(unscaled_weights(weights, layout), layout, trees)
    log_scale = np.full(len(layout.blocks.first), -np.log(size))
    scaled = inference.expectation(AnnotatedWeights(weights * size, log_scale), layout, trees)
    np.testing.assert_allclose(scaled[0], usual[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(scaled[1], usual[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("keeps_shares", [False, True])
def test_a_tree_that_float64_loses_is_inferred_with_logs(case, keeps_shares):
    """Both children prefer what the rule above them makes a weight of 1e-300."""
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    usual = inference.expectation(unscaled_weights(weights, layout), layout, trees)
    lost = inference.expectation(
        unscaled_weights(weights * 1e-290, layout), layout, trees, keeps_shares
    )
    n_rules = np.diff(trees.starts) + 1
    np.testing.assert_allclose(lost[0], usual[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(lost[1], usual[1] + n_rules * np.log(1e-290), rtol=1e-12)


def test_a_tree_without_weight_adds_nothing(case):
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    rule = case.trees[0][0][0]
    weights[layout.rules.first[rule] : layout.rules.first[rule + 1]] = 0.0
    without = [i for i, tree in enumerate(case.trees) if rule in [node[0] for node in tree]]
    for keeps_shares in (False, True):
        counts, log_z, _ = inference.expectation(
            unscaled_weights(weights, layout), layout, trees, keeps_shares
        )
        assert np.flatnonzero(np.isneginf(log_z)).tolist() == without
        named = as_dict(case, weights)
        rest = [i for i in range(len(case.trees)) if i not in without]
        exact = total(case, [expected(case, i, named)[1] for i in rest])
        np.testing.assert_allclose(counts, as_cells(case, exact), rtol=0, atol=1e-10)


def test_a_frozen_sweep_changes_nothing(case):
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    counts, _, shares = inference.expectation(
        unscaled_weights(weights, layout), layout, trees, True
    )
    before, tally = shares.count.copy(), inference.tally_of(counts, 0.1, layout)
    kept, log_z = inference.leave_out_sweep(trees, layout, tally, shares, True)
    assert np.array_equal(kept.count, before)
    np.testing.assert_allclose(tally.cells, counts, rtol=0, atol=1e-12)
    named = as_dict(case, weights)
    theirs = [expected(case, i, named)[1] for i in range(len(case.trees))]
    for i in range(len(case.trees)):
        others = means(case, total(case, theirs[:i] + theirs[i + 1 :]), 0.1)
        assert abs(expected(case, i, others)[0] - log_z[i]) < 1e-10


@pytest.mark.long
def test_shares_of_half_the_digits_make_little_difference(case, monkeypatch):
    weights, layout, trees = random_weights(case), case.layout, arrays_of(case)
    found = []
    for many in (inference._MANY, 0):
        monkeypatch.setattr(inference, "_MANY", many)
        counts, _, shares = inference.expectation(
            unscaled_weights(weights, layout), layout, trees, True
        )
        tally = inference.tally_of(counts, 0.1, layout)
        shares, log_z = inference.leave_out_sweep(trees, layout, tally, shares, False)
        found.append((shares.count.dtype, inference.sum_shares(shares, layout, trees), log_z))
    assert [dtype for dtype, _, _ in found] == [np.float64, np.float32]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=0, atol=1e-6)
