"""Forests against the enumeration of all derivations, and against lists of rules."""

import numpy as np
import pytest
import tree_enumeration as enumeration
from scipy.stats import chisquare
from tree_cases import (
    CASES,
    CHAINS,
    LONG_RULES,
    arrays_of,
    best,
    derivations_of,
    drawn,
    problem_of,
    trees_of,
)

from sklearn_cvb.grammar.inference import expectation, heaviest_trees
from sklearn_cvb.kernels.tree.arrays import brackets_of
from sklearn_cvb.kernels.tree.forests import forest_of

WITHOUT_CYCLES = [name for name in CASES if "cycles" not in name]


def forest_for(grammar, sentences, brackets=None):
    """Sentences by a forest."""
    problem = problem_of(grammar, sentences, "forest", brackets)
    forest = problem.forest
    assert len(forest.edge_first) == len(forest.begin) + 1
    assert forest.edge_first[-1] == len(forest.edge)
    return problem


def learn(problem, theta):
    """Expected counts per cell, and log p(words) of each sentence."""
    return expectation(np.asarray(theta), problem)


def lists(grammar, sentences, brackets, theta):
    """The same by lists of rules."""
    return expectation(np.asarray(theta), problem_of(grammar, sentences, brackets=brackets))


@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_equal_to_enumeration(name):
    (grammar, words, _), weights = CASES[name], derivations_of(name)
    cells, log_z = learn(forest_for(grammar, [words]), grammar.theta)
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def test_nodes_and_edges_are_those_that_occur_in_trees():
    grammar, words, depth = CASES["chains"]
    nodes, _ = enumeration.expected_nodes(enumeration.derivations(grammar, words, depth))
    forest = forest_for(grammar, [words, ("z",), words]).forest
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
    grammar, words, _ = CASES[name]
    theta = np.asarray(grammar.theta) * scale
    problem = forest_for(grammar, [words])
    cells, log_z = learn(problem, theta)
    other, log_other = lists(grammar, [words], brackets_of(1), theta)
    assert log_z[0] == pytest.approx(log_other[0], rel=1e-14)
    np.testing.assert_allclose(cells, other, rtol=1e-10, atol=1e-13)
    trees, _ = drawn(grammar._replace(theta=theta), problem, 3)
    assert set(trees_of(trees)) <= set(derivations_of(name))


@pytest.mark.parametrize("seed", range(6))
def test_random_grammars(seed):
    rng = np.random.default_rng(seed)
    grammar = enumeration.random_grammar(rng, 4, 2)
    sentences = [tuple(rng.integers(2, size=n).tolist()) for n in (3, 1, 4, 2, 5)]
    for given in ([], [(1, 3, -1)], [(0, 2, 1), (0, 2, 2)]):
        brackets = brackets_of(5, [2] * len(given), *np.array(given).reshape(-1, 3).T)
        cells, log_z = learn(forest_for(grammar, sentences, brackets), grammar.theta)
        other, log_other = lists(grammar, sentences, brackets, grammar.theta)
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
    cells, log_z = learn(forest_for(grammar, [words], brackets), grammar.theta)
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", WITHOUT_CYCLES)
def test_trees_are_drawn_from_the_posterior_as_by_lists(name):
    grammar, words, depth = CASES[name]
    sentences = [words] * 4000
    trees = trees_of(drawn(grammar, forest_for(grammar, sentences))[0])
    assert trees_of(drawn(grammar, problem_of(grammar, sentences))[0]) == trees
    exact = enumeration.derivations(grammar, words, depth)
    likely = [tree for tree, weight in exact.items() if weight > 0.01 * enumeration.total(exact)]
    counts = [trees.count(tree) for tree in likely]
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
    theta = np.full(len(grammar.theta), 0.5) if ties else np.asarray(grammar.theta)
    expected, _ = best(grammar._replace(theta=theta), problem_of(grammar, sentences))
    trees = heaviest_trees(np.log(theta), forest_for(grammar, sentences))
    assert trees_of(trees) == trees_of(expected)


def test_too_many_edges_are_not_listed():
    grammar, words, _ = CASES["ambiguous"]
    rules, lexicon = arrays_of(grammar, [words * 20])
    assert forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 20_000) is None
    # So are the symbols of all spans of one sentence.
    assert forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 10_000) is None
    forest = forest_of(rules, lexicon, brackets_of(1), len(grammar.theta), 10**7)
    assert len(forest.edge) > 40_000
