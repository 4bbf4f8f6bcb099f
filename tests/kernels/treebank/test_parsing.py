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
    places_of,
    posteriors,
    random_rules,
    trees_of,
    weigh,
)

from sklearn_cvb.kernels.tree.charts import NOTHING
from sklearn_cvb.kernels.treebank.arrays import rows_of, rules_of
from sklearn_cvb.kernels.treebank.chart import outside
from sklearn_cvb.treebank import prediction as parsing

SUBTYPES = ([2, 3, 1, 2, 1], [1, 1, 1, 1, 1], [2, 1, 3, 2, 3])
N_CASES = 60
MOST_TREES = 4000


@cache
def case(seed):
    """A random grammar, 1 to 5 words, their trees (every 20th case has none) and weights."""
    rng = np.random.default_rng(seed)
    while True:
        rules = random_rules(rng, SUBTYPES[seed % 3])
        words = rng.integers(3, size=1 + seed % 5)
        trees = trees_of(rules, words.tolist())
        if len(trees) <= MOST_TREES and bool(trees) == bool(seed % 20):
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


def spans_of(words):
    """Begin and end of each span, in order."""
    return [(i, k) for k in range(1, len(words) + 1) for i in range(k - 1, -1, -1)]


def keys_of(items, words):
    """(symbol, begin, end, is upper) of all items."""
    spans, rows = spans_of(words), (items.symbol, items.span, items.is_upper)
    return {
        (symbol, *spans[span], is_upper)
        for symbol, span, is_upper in zip(*(row.tolist() for row in rows), strict=True)
    }


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


@pytest.mark.many(usual=20)
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
    ends = spans_of(words)
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


@pytest.mark.many(usual=19)
@pytest.mark.parametrize("seed", [seed for seed in range(N_CASES) if seed % 20])
def test_expected_rules_are_those_of_all_trees(seed):
    rules, weights, words, trees, totals = case(seed)
    found, expected = expected_rules(rules, weights, words), posteriors(trees, totals)
    for place, share in found.items():
        assert share == pytest.approx(expected[place], rel=0, abs=1e-10)
    missing = {place for place in expected if place[1] is not None} - set(found)
    assert missing == set()


@pytest.mark.many(usual=20)
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


@pytest.mark.many(usual=19)
@pytest.mark.parametrize("seed", [seed for seed in range(N_CASES) if seed % 20])
def test_items_with_any_posterior_are_those_of_all_trees(seed):
    rules, weights, words, trees, _ = case(seed)
    parser = parsing.parser_for(rules, weights, parsing.coarse_weights(rules, weights))
    kept = parsing.likely_items(parser, words, 1e-300)
    found = keys_of(kept, words)
    places = [place for tree in trees for place in places_of(tree)[1:]]
    is_unary = [r == SAME or rules.begin[2] <= r < rules.begin[3] for r, *_ in places]
    assert found == {(*place[1:4], upper) for place, upper in zip(places, is_unary, strict=True)}
    exact = parsing.infer(parser, words, 0.0).log_z
    assert parsing.infer(parser, words, 1e-300).log_z == pytest.approx(exact, rel=0, abs=1e-12)


@pytest.mark.many(usual=12)
@pytest.mark.parametrize("seed", [seed for seed in range(N_CASES) if seed % 20])
def test_what_is_kept_has_the_coarse_posterior(seed):
    """Its posterior in the enumeration, but for what is left out above it."""
    rules, _, words, trees, _ = case(seed)
    rules = rules_of([1] * 5, *_listed(rules))
    weights = np.random.default_rng(seed).random(len(rules.parent))
    blocks = blocks_of(rules, weights)
    shares = posteriors(trees, [weigh(tree, blocks) for tree in trees])
    items, threshold = {}, 0.05
    for (r, *place, _), share in shares.items():
        if place[0] is not None:
            key = *place, bool(r == SAME or rules.begin[2] <= r < rules.begin[3])
            items[key] = items.get(key, 0.0) + share
    parser = parsing.parser_for(rules, weights, weights)
    kept = parsing.likely_items(parser, words, threshold)
    found = keys_of(kept, words)
    assert {key for key in found if items.get(key, 0.0) < threshold * (1 - 1e-9)} == set()
    assert {key for key, share in items.items() if share > 0.5} <= found
    whole = {key for key in items if key[1:3] == (0, len(words)) and key[3]}
    assert {key for key in whole if items[key] > threshold * (1 + 1e-9)} == found & whole


def _listed(rules):
    """The rules as `rules_of` takes them."""
    rows = np.stack([rules.parent, rules.left, rules.right], axis=1).tolist()
    parts = [rows[begin:end] for begin, end in zip(rules.begin, rules.begin[1:], strict=False)]
    roots, binary, unary, words = parts
    return (
        [row[1] for row in roots],
        [tuple(row) for row in binary],
        [tuple(row[:2]) for row in unary],
        [tuple(row[:2]) for row in words],
    )


@pytest.mark.parametrize("threshold", [1e-3, 0.1, 0.5])
def test_pruning_takes_trees_away(threshold):
    n_lower = 0
    for seed in range(N_CASES):
        rules, weights, words, trees, totals = case(seed)
        if trees:
            coarse = parsing.coarse_weights(rules, weights)
            parser = parsing.parser_for(rules, weights, coarse)
            log_z = parsing.infer(parser, words, threshold).log_z
            assert log_z <= math.log(sum(totals)) + 1e-12
            n_lower += log_z < math.log(sum(totals)) - 1e-9
    assert n_lower > 3


@pytest.mark.parametrize("decoding", ["viterbi", "max-rule"])
def test_a_sentence_that_loses_its_trees_is_parsed_with_all(decoding):
    for seed in range(10):
        rules, weights, words, _, _ = case(seed)
        kwargs = {"decoding": decoding}
        whole = parsing.parse(rules, weights, words, starts_of(words), threshold=0.0, **kwargs)
        no_weight = np.zeros(len(rules.parent))
        for coarse, threshold in ((no_weight, 1e-5), (None, 1.1)):
            kwargs |= {"coarse": coarse, "threshold": threshold}
            found = parsing.parse(rules, weights, words, starts_of(words), **kwargs)
            assert same_parses(found, whole)


def test_several_sentences_and_threads():
    rules, weights, _, _, _ = case(14)
    rng = np.random.default_rng(0)
    sentences = [rng.integers(3, size=n) for n in (3, 0, 5, 1, 7, 2)]
    starts, tokens = np.cumsum([0, *map(len, sentences)]), np.concatenate(sentences)
    for decoding in ("viterbi", "max-rule"):
        one = parsing.parse(rules, weights, tokens, starts, decoding=decoding)
        two = parsing.parse(rules, weights, tokens, starts, decoding=decoding, n_jobs=2)
        assert same_parses(one, two)
        for i, words in enumerate(sentences):
            alone = parsing.parse(rules, weights, words, starts_of(words), decoding=decoding)
            part = slice(one.starts[i], one.starts[i + 1])
            assert all(np.array_equal(a[part], b) for a, b in zip(one[1:], alone[1:], strict=True))
    logs = parsing.log_likelihoods(rules, weights, tokens, starts)
    assert np.array_equal(logs, parsing.log_likelihoods(rules, weights, tokens, starts, n_jobs=2))
    assert logs[1] == -np.inf
    assert np.isfinite(logs).any()
    none = parsing.parse(rules, weights, tokens[:0], np.zeros(1, np.int64))
    assert [len(row) for row in none] == [1, 0, 0, 0]
    assert len(parsing.log_likelihoods(rules, weights, tokens[:0], np.zeros(1, np.int64))) == 0


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_long_sentences_stay_in_range(scale):
    """S -> S S: n words have as many trees as there are Catalan numbers, of the same weight."""
    n = 220
    rules = rules_of([2, 1], [0], [(0, 0, 0)], [], [(0, 0)])
    weights = np.concatenate([[0.5, 0.5], np.full(8, 0.01), np.full(2, 1e-4 * scale)])
    words, starts = np.zeros(n, np.int64), np.array([0, n])
    catalan = math.lgamma(2 * n - 1) - math.lgamma(n) - math.lgamma(n + 1)
    expected = catalan + n * math.log(1e-4 * scale) + (n - 1) * math.log(0.04)
    found = parsing.log_likelihoods(rules, weights, words, starts)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    parses = parsing.parse(rules, weights, words, starts)
    assert parses.starts.tolist() == [0, 2 * n - 1]


def test_weights_without_annotations():
    """A[0] is expected three times as often as A[1], and has other words."""
    rules = rules_of([1, 2], [0], [(0, 1, 1)], [], [(1, 0), (1, 1)])
    block = [0.75 * 0.75, 0.75 * 0.25, 0.25 * 0.75, 0.25 * 0.25]
    weights = np.array([1.0, *block, 0.8, 0.4, 0.2, 0.6])
    coarse = parsing.coarse_weights(rules, weights)
    np.testing.assert_allclose(coarse, [1, 1, 0.7, 0.3], atol=1e-15)


@pytest.mark.many(usual=20)
@pytest.mark.parametrize("seed", range(N_CASES))
def test_weights_without_annotations_sum_to_one(seed):
    rules, weights, _, _, _ = case(seed)
    coarse = parsing.coarse_weights(rules, weights)
    parents = rules.parent
    for parent in set(parents.tolist()):
        assert coarse[parents == parent].sum() == pytest.approx(1, abs=1e-12)
    one = rules_of([1] * 5, *_listed(rules))
    np.testing.assert_array_equal(parsing.coarse_weights(one, coarse), coarse)
