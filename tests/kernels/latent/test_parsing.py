"""The parser against all trees of short sentences."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from latent_enumeration import (
    SAME,
    blocks_of,
    max_rule_score,
    nodes_of,
    posteriors,
    random_rules,
    trees_of,
    weigh,
)

from sklearn_cvb.kernels.latent.arrays import rows_of
from sklearn_cvb.kernels.latent.chart import outside
from sklearn_cvb.kernels.tree.spans import NOTHING
from sklearn_cvb.latent import parsing

SUBTYPES = ([2, 3, 1, 2, 1], [1, 1, 1, 1, 1], [2, 1, 3, 2, 3])
N_CASES = 60
MOST_TREES = 4000


@cache
def case(seed):
    """A random grammar, a sentence of 1 to 5 words, its trees and their weights."""
    rng = np.random.default_rng(seed)
    while True:
        rules = random_rules(rng, SUBTYPES[seed % 3])
        words = rng.integers(3, size=1 + seed % 5)
        trees = trees_of(rules, words.tolist())
        if len(trees) <= MOST_TREES and (trees or seed % 20 == 0):
            break
    weights = rng.random(rules.first[-1])
    weights /= np.bincount(rows_of(rules), weights)[rows_of(rules)]
    blocks = blocks_of(rules, weights)
    return rules, weights, words, trees, [weigh(tree, blocks) for tree in trees]


def starts_of(words):
    return np.array([0, len(words)])


def nodes_found(parses):
    return list(
        zip(parses.symbol.tolist(), parses.begin.tolist(), parses.end.tolist(), strict=True)
    )


def same_parses(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_tree_weighs_what_its_annotations_weigh():
    """The enumeration itself: all annotations of each tree, one by one."""
    rules, weights, _, trees, totals = case(11)
    blocks = blocks_of(rules, weights)
    n = rules.n_subtypes

    def annotated(node):
        """Subtype of the node and weight, for all annotations."""
        rule, symbol, _, _, children = node
        if rule == SAME:
            yield from annotated(children[0])
            return
        for x in range(n[symbol]):
            for parts in product(*(list(annotated(child)) for child in children)):
                cell = (x, *(part[0] for part in parts))
                yield x, blocks[rule][cell] * math.prod(part[1] for part in parts)

    for tree, total in zip(trees, totals, strict=True):
        one_by_one = [blocks[tree[0]][x] * weight for x, weight in annotated(tree[1])]
        assert sum(one_by_one) == pytest.approx(total, rel=1e-12)
        assert max(one_by_one) == pytest.approx(weigh(tree, blocks, True), rel=1e-12)


@pytest.mark.parametrize("seed", range(N_CASES))
def test_likelihoods_are_those_of_all_trees(seed):
    rules, weights, words, _, totals = case(seed)
    found = parsing.log_likelihoods(rules, weights, words, starts_of(words))
    expected = math.log(sum(totals)) if totals else -math.inf
    assert found[0] == pytest.approx(expected, rel=0, abs=1e-12)


def expected_rules(rules, weights, words):
    """Posteriors of rules at their places from the chart's inside and outside weights."""
    parser, n = parsing.parser_for(rules, weights, np.ones(len(rules.parent))), len(words)
    inferred = parsing.infer(parser, words, 0.0)
    items, cells = inferred.items, inferred.chart
    outside(inferred.grammar, inferred.reach, cells, n, 0.0)
    blocks, sizes, shares = blocks_of(rules, weights), rules.n_subtypes, {}
    layers = {}
    ends = [(i, k) for k in range(1, n + 1) for i in range(k - 1, -1, -1)]
    for item, span in enumerate(items.span):
        if cells.exponent[span] > NOTHING:
            part = slice(items.first[item], items.first[item + 1])
            layers[items.symbol[item], *ends[span], items.is_upper[item]] = (
                cells.inside[part] * 2.0 ** cells.exponent[span],
                cells.outside[part] / 2.0 ** cells.exponent[span],
            )

    def layer(symbol, i, k, is_upper, which):
        nothing = np.zeros((2, sizes[symbol]))
        return layers.get((symbol, i, k, is_upper), nothing)[which]

    for k in range(1, n + 1):
        for i in range(k):
            for r in range(rules.begin[1], rules.begin[4]):
                a, b, c = rules.parent[r], rules.left[r], rules.right[r]
                top = layer(a, i, k, r >= rules.begin[2] and r < rules.begin[3], 1)
                if r < rules.begin[2]:
                    for j in range(i + 1, k):
                        parts = layer(b, i, j, True, 0), layer(c, j, k, True, 0)
                        shares[r, a, i, k, j] = np.einsum("x,xyz,y,z", top, blocks[r], *parts)
                elif r < rules.begin[3]:
                    low = layer(b, i, k, False, 0)
                    shares[r, a, i, k, None] = np.einsum("x,xy,y", top, blocks[r], low)
                elif k == i + 1 and words[i] == b:
                    shares[r, a, i, k, None] = top @ blocks[r]
            for a in range(len(sizes)):
                both = layer(a, i, k, True, 1), layer(a, i, k, False, 0)
                shares[SAME, a, i, k, None] = both[0] @ both[1]
    return shares


@pytest.mark.parametrize("seed", [seed for seed in range(N_CASES) if seed % 20])
def test_expected_rules_are_those_of_all_trees(seed):
    rules, weights, words, trees, totals = case(seed)
    found, expected = expected_rules(rules, weights, words), posteriors(trees, totals)
    for place, share in found.items():
        assert share == pytest.approx(expected[place], rel=0, abs=1e-10)
    missing = {place for place in expected if place[1] is not None} - set(found)
    assert missing == set()


@pytest.mark.parametrize("seed", range(N_CASES))
@pytest.mark.parametrize("decoding", ["viterbi", "max-rule"])
def test_the_tree_is_the_best_of_all(seed, decoding):
    rules, weights, words, trees, totals = case(seed)
    starts = starts_of(words)
    parses = parsing.parse(rules, weights, words, starts, decoding=decoding, threshold=0.0)
    found = nodes_found(parses)
    assert parses.starts.tolist() == [0, len(found)]
    if not trees:
        assert found == []
        return
    if decoding == "viterbi":
        blocks = blocks_of(rules, weights)
        scores = [weigh(tree, blocks, heaviest=True) for tree in trees]
    else:
        shares = posteriors(trees, totals)
        scores = [max_rule_score(tree, shares) for tree in trees]
    score = max(scores)
    best = [
        nodes_of(tree)
        for tree, other in zip(trees, scores, strict=True)
        if other >= score * (1 - 1e-9)
    ]
    assert found in best
