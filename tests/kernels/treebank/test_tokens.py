"""Updates of single nodes, against expectations over the subtypes of all other nodes."""

import numpy as np
import pytest
from annotation_enumeration import (
    CASES,
    arrays_of,
    as_cells,
    expected,
    means,
    product_counts,
    token_update,
    total,
)

from sklearn_cvb.treebank import inference

# Other trees of the same rules: v on the left of the same rule above, its sister's rule the same,
# below it the same on both sides.
DEEP = CASES["repeated"]._replace(
    trees=[
        # A(A(A a, A b), A(A b, A a)) below S -> A A with the same rule for three nodes.
        [
            (4, -1, -1), (5, -1, -1), (2, 0, 1),
            (5, -1, -1), (4, -1, -1), (2, 3, 4),
            (2, 2, 5), (4, -1, -1), (1, 6, 7),
        ],
        [
            (4, -1, -1), (5, -1, -1), (2, 0, 1), (5, -1, -1), (2, 2, 3),
            (4, -1, -1), (2, 5, 4), (3, 6, -1),
        ],
    ],
    tree_roots=[0, 0],
)  # fmt: skip
CASES_AND_DEEP = {**CASES, "deep": DEEP}


@pytest.fixture(params=CASES_AND_DEEP)
def case(request):
    return CASES_AND_DEEP[request.param]


def random_q(case, seed=0):
    """By tree and node."""
    rng = np.random.default_rng(seed)
    return [
        [rng.dirichlet(np.ones(case.n_subtypes[case.symbols(rule)[0]])) for rule, _, _ in tree]
        for tree in case.trees
    ]


def as_rows(case, q):
    """The same as kernels take it."""
    flat = [row for tree in q for row in tree]
    table = np.zeros((len(flat) + 1, max(case.n_subtypes)))
    for n, row in enumerate(flat):
        table[n, : len(row)] = row
    table[-1, 0] = 1.0
    return table


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_sweeps_over_nodes_are_the_restatement(case, alpha):
    theirs, layout, trees = random_q(case), case.layout, arrays_of(case)
    ours = as_rows(case, theirs)
    for _ in range(2):
        counts = inference.counts_of_nodes(ours, layout, trees)
        exact = total(case, [product_counts(case, theirs, i) for i in range(len(case.trees))])
        np.testing.assert_allclose(counts, as_cells(case, exact), rtol=0, atol=1e-10)
        tally = inference.tally_of(counts, alpha, layout)
        ours = inference.node_sweep(ours, layout, trees, tally)
        for i, tree in enumerate(case.trees):
            for v in range(len(tree)):
                theirs[i][v] = token_update(case, theirs, i, v, alpha)
        np.testing.assert_allclose(ours, as_rows(case, theirs), rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            tally.cells, inference.counts_of_nodes(ours, layout, trees), rtol=0, atol=1e-10
        )


def test_scores_leave_out_whole_trees(case, monkeypatch):
    q, layout, trees = random_q(case), case.layout, arrays_of(case)
    rows, n_trees = as_rows(case, q), len(case.trees)
    tally = inference.tally_of(inference.counts_of_nodes(rows, layout, trees), 0.1, layout)
    logs = inference.leave_one_out_scores(rows, layout, trees, tally)
    shares = [product_counts(case, q, i) for i in range(n_trees)]
    for i in range(n_trees):
        others = means(case, total(case, shares[:i] + shares[i + 1 :]), 0.1)
        assert abs(expected(case, i, others)[0] - logs[i]) < 1e-10
    monkeypatch.setattr(inference, "_PIECE", 4)
    np.testing.assert_allclose(
        inference.leave_one_out_scores(rows, layout, trees, tally), logs, atol=1e-12
    )


def test_first_nodes_are_posteriors(case):
    rng, layout, trees = np.random.default_rng(0), case.layout, arrays_of(case)
    from sklearn_cvb.treebank.parameters import unscaled_weights

    weights = layout.rows(rng.standard_exponential(len(layout.row))).mean()
    q = inference.first_node_posteriors(unscaled_weights(weights, layout), layout, trees)
    named = dict(zip(case.annotated_rules(), weights.tolist(), strict=True))
    first = 0
    for i, tree in enumerate(case.trees):
        exact = np.zeros((len(tree), q.shape[1]))
        for subtypes in case.annotations(i):
            weight = np.prod([named[cell] for cell in case.used(i, subtypes)])
            exact[np.arange(len(tree)), subtypes] += weight
        exact /= exact.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(q[first : first + len(tree)], exact, rtol=0, atol=1e-10)
        first += len(tree)
