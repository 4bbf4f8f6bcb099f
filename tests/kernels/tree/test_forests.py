"""Forests against the enumeration of all derivations, and against lists of rules."""

import numpy as np
import pytest
import tree_enumeration as enumeration
from scipy.stats import chisquare
from tree_cases import CASES, CHAINS, LONG_RULES, arrays_of, cells_of, counts_for, trees_of

from sklearn_cvb.kernels.tree.arrays import TreeWeights, brackets_of
from sklearn_cvb.kernels.tree.decoding import viterbi_trees
from sklearn_cvb.kernels.tree.forest_inference import (
    best_forest_tree,
    expected_forest_counts,
    forest_work_for,
    gather,
    room_for_trees,
    sample_forest_trees,
    trimmed,
)
from sklearn_cvb.kernels.tree.forests import forest_of
from sklearn_cvb.kernels.tree.lists import expected_rule_counts
from sklearn_cvb.kernels.tree.sampling import sample_trees

WITHOUT_CYCLES = [name for name in CASES if "cycles" not in name]


def forest_for(grammar, sentences, brackets=None):
    """The forest of some sentences."""
    rules, _, lexicon = arrays_of(grammar, sentences)
    brackets = brackets_of(len(sentences)) if brackets is None else brackets
    forest = forest_of(rules, lexicon, brackets, len(grammar.theta), 10**6)
    assert len(forest.edge_first) == len(forest.begin) + 1
    assert forest.edge_first[-1] == len(forest.edge)
    return forest


def learn(grammar, forest, theta):
    """Expected counts per cell, and log p(words) of each sentence."""
    counts, log_z = np.empty(len(forest.cell)), np.empty(len(forest.node_first) - 1)
    weights = np.append(theta, 1.0)
    expected_forest_counts(forest, weights, forest_work_for(forest), counts, log_z)
    return np.bincount(forest.cell + 1, counts, len(grammar.theta) + 1)[1:], log_z


def listed(grammar, sentences, brackets, theta):
    """The same by lists of rules."""
    rules, weights, lexicon = arrays_of(grammar, sentences)
    theta = np.append(theta, 1.0)
    weights = TreeWeights(
        theta[rules.binary], theta[rules.unary], weights.closure, theta[lexicon.rule]
    )
    counts, log_z = counts_for(rules, lexicon), np.empty(len(sentences))
    order = np.arange(len(sentences))
    expected_rule_counts(rules, weights, lexicon, brackets, order, counts, log_z)
    return cells_of(grammar, rules, lexicon, counts), log_z


@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_equal_to_enumeration(name):
    grammar, words, depth = CASES[name]
    weights = enumeration.derivations(grammar, words, depth)
    cells, log_z = learn(grammar, forest_for(grammar, [words]), grammar.theta)
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def test_nodes_and_edges_are_those_that_occur_in_trees():
    grammar, words, depth = CASES["chains"]
    nodes, _ = enumeration.expected_nodes(enumeration.derivations(grammar, words, depth))
    forest = forest_for(grammar, [words, ("z",), words])
    fields = (field.tolist() for field in (forest.begin, forest.end, forest.symbol))
    rows = list(zip(*fields, strict=True))
    here = rows[: forest.node_first[1]]
    assert here[0] == (0, len(words), grammar.start)
    assert len(set(here)) == len(here)
    assert set(here) == set(nodes)
    assert forest.node_first[2] == forest.node_first[1]
    assert rows[forest.node_first[2] :] == here
    # Numbers of nodes below are larger than that of the node.
    owner = np.repeat(np.arange(len(rows)), np.diff(forest.edge_first))
    first = np.repeat(forest.node_first[:-1], np.diff(forest.node_first))
    below = forest.edge[:, 1:]
    assert (below[below[:, 0] > 0][:, 0] > (owner - first[owner] + 1)[below[:, 0] > 0]).all()


@pytest.mark.parametrize("scale", [1e-60, 1e-200])
@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_weights_far_below_the_range_of_floats(name, scale):
    # 1e-60 is mended by a power of two per word; 1e-200 needs logs.
    grammar, words, depth = CASES[name]
    theta = np.asarray(grammar.theta) * scale
    forest = forest_for(grammar, [words])
    cells, log_z = learn(grammar, forest, theta)
    other, log_other = listed(grammar, [words], brackets_of(1), theta)
    assert log_z[0] == pytest.approx(log_other[0], rel=1e-14)
    np.testing.assert_allclose(cells, other, rtol=1e-10, atol=1e-13)
    drawn = draw(forest, theta, 3)
    assert set(drawn) <= set(enumeration.derivations(grammar, words, depth))


@pytest.mark.parametrize("seed", range(6))
def test_random_grammars(seed):
    rng = np.random.default_rng(seed)
    grammar = enumeration.random_grammar(rng, 4, 2)
    sentences = [tuple(rng.integers(2, size=n).tolist()) for n in (3, 1, 4, 2, 5)]
    for given in ([], [(1, 3, -1)], [(0, 2, 1), (0, 2, 2)]):
        brackets = brackets_of(5, [2] * len(given), *np.array(given).reshape(-1, 3).T)
        cells, log_z = learn(grammar, forest_for(grammar, sentences, brackets), grammar.theta)
        other, log_other = listed(grammar, sentences, brackets, grammar.theta)
        np.testing.assert_allclose(log_z, log_other, atol=1e-12)
        np.testing.assert_allclose(cells, other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("grammar", "words", "given", "depth"),
    [
        (LONG_RULES, ("a", "b", "a", "b", "a", "a"), [(1, 6, -1)], 0),
        (LONG_RULES, ("a", "b", "a", "b", "a", "a"), [(0, 2, 1)], 0),
        (CHAINS, ("a", "b", "a"), [(1, 3, 2), (0, 1, 1), (0, 1, 2), (0, 1, 3)], 4),
    ],
)
def test_brackets_restrict_the_trees(grammar, words, given, depth):
    weights = enumeration.derivations(grammar, words, depth, enumeration.respects(given))
    brackets = brackets_of(1, np.zeros(len(given)), *np.array(given).T)
    cells, log_z = learn(grammar, forest_for(grammar, [words], brackets), grammar.theta)
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def draw(forest, theta, seed):
    """A tree of each sentence."""
    trees, log_z = room_for_trees(forest), np.empty(len(forest.node_first) - 1)
    rng, work = np.random.default_rng(seed), forest_work_for(forest)
    sample_forest_trees(forest, np.append(theta, 1.0), work, rng, trees, log_z)
    return trees_of(trimmed(trees))


@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_trees_are_drawn_from_the_posterior_as_by_lists(name):
    grammar, words, depth = CASES[name]
    sentences = [words] * 4000
    rules, weights, lexicon = arrays_of(grammar, sentences)
    drawn = draw(forest_for(grammar, sentences), grammar.theta, 0)
    rng, log_z, order = np.random.default_rng(0), np.empty(4000), np.arange(4000)
    free = brackets_of(4000)
    assert trees_of(sample_trees(rules, weights, lexicon, free, order, rng, log_z)) == drawn
    exact = enumeration.derivations(grammar, words, depth)
    likely = [tree for tree, weight in exact.items() if weight > 0.01 * enumeration.total(exact)]
    counts = [drawn.count(tree) for tree in likely]
    shares = np.array([exact[tree] for tree in likely]) / enumeration.total(exact)
    counts, shares = np.append(counts, 4000 - sum(counts)), np.append(shares, 1 - shares.sum())
    kept = shares > 1e-9
    assert counts[~kept].sum() == 0
    if kept.sum() > 1:
        assert chisquare(counts[kept], 4000 * shares[kept] / shares[kept].sum()).pvalue > 1e-3


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_best_trees_are_those_of_the_lists(name, ties):
    grammar, words, _ = CASES[name]
    sentences = [words, ("z",), words[:1]]
    rules, _, lexicon = arrays_of(grammar, sentences)
    theta = np.full(len(grammar.theta), 0.5) if ties else np.asarray(grammar.theta)
    logs, log_p = np.append(np.log(theta), 0.0), np.empty(3)
    weights = TreeWeights(logs[rules.binary], logs[rules.unary], np.empty(0), logs[lexicon.rule])
    best = viterbi_trees(rules, weights, lexicon, brackets_of(3), np.arange(3), log_p)
    forest = forest_for(grammar, sentences)
    trees, work, size = room_for_trees(forest), forest_work_for(forest), 0
    for i in range(3):
        gather(forest, i, logs, work)
        size = best_forest_tree(forest, i, work, trees, size)
        trees.starts[i + 1] = size
    assert trees_of(trimmed(trees)) == trees_of(best)


def test_too_many_edges_are_not_listed():
    grammar, words, _ = CASES["ambiguous"]
    rules, _, lexicon = arrays_of(grammar, [words * 20])
    assert forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 20_000) is None
    # So are the symbols of all spans of one sentence.
    assert forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 10_000) is None
    forest = forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 10**7)
    assert len(forest.edge) > 40_000
