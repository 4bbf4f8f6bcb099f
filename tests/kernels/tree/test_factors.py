"""Grammars with independent children by factors, against lists of rules and enumeration."""

import numpy as np
import pytest
import tree_enumeration as enumeration
from tree_cases import drawn, problem_of

from sklearn_cvb.grammar import inference
from sklearn_cvb.grammar.inference import draw_sweep, expectation, frozen_tally
from sklearn_cvb.kernels.tree.arrays import brackets_of
from sklearn_cvb.kernels.tree.engines import count_in_logs as logs


def independent_grammar(rng, n, n_words, scale=1.0):
    """Symbols, their left parts, their right parts; `scale` is how much rules weigh in all.

    As in a layout, the cells of children are the last ones, part by part.
    """
    symbols, words, first = range(n), range(n_words), n + n * n_words
    binary = [(a, n + a, 2 * n + a, a) for a in symbols]
    unary = [(n + part, b, first + part * n + b) for part in range(2 * n) for b in symbols]
    lexical = [(a, (w,), n + a * n_words + w) for a in symbols for w in words]
    theta = np.zeros(first + 2 * n * n)
    for rules in (binary, unary, lexical):
        for rule in rules:
            theta[rule[-1]] = rng.exponential() * scale
    return enumeration.Grammar(3 * n, binary, unary, lexical, theta)


def learn(grammar, sentences, engine, brackets=None):
    """Expected counts per cell, and log p(words) of each sentence."""
    problem = problem_of(grammar, sentences, engine, brackets)
    return expectation(np.asarray(grammar.theta), problem)


@pytest.mark.parametrize("n", [1, 2])
def test_equal_to_enumeration(n):
    grammar = independent_grammar(np.random.default_rng(n), n, 2)
    for words in [(0,), (1, 0), (0, 1, 1), (1, 1, 0, 0), (0, 1, 0, 0, 1)]:
        weights = enumeration.derivations(grammar, words, 1)
        counts, log_z = learn(grammar, [words], "factors")
        assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
        expected = enumeration.expected_counts(grammar, weights)
        np.testing.assert_allclose(counts, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("n", [1, 3, 8, 17])
def test_equal_to_lists(n):
    rng = np.random.default_rng(n)
    grammar = independent_grammar(rng, n, 4)
    # Some rules that cannot be, among them those of whole rows of a table.
    grammar.theta[-n * n : n // 2 - n * n] = 0.0
    # More than are inferred side by side, and of many lengths.
    lengths = [1, 2, 3, 9, 5, 1, 12, 2, *range(1, 8), 7, 7, 7, 30]
    sentences = [tuple(rng.integers(4, size=k).tolist()) for k in lengths]
    given = [(3, 2, 5, -1), (3, 5, 9, -1), (6, 3, 8, -1), (5, 0, 1, -1)]
    for brackets in (None, brackets_of(len(sentences), *np.array(given).T)):
        counts, log_z = learn(grammar, sentences, "factors", brackets)
        expected, log_expected = learn(grammar, sentences, "lists", brackets)
        np.testing.assert_allclose(log_z, log_expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(counts, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_long_sentences_stay_within_float64(scale):
    rng = np.random.default_rng(5)
    grammar = independent_grammar(rng, 4, 3, scale)
    sentences = [tuple(rng.integers(3, size=150).tolist()), (0, 1)]
    counts, log_z = learn(grammar, sentences, "factors")
    assert np.isfinite(counts).all()
    assert np.isfinite(log_z).all()
    # Each word has a rule, and each but one a binary rule with two children.
    lexical = np.array([rule[-1] for rule in grammar.lexical])
    assert counts[lexical].sum() == pytest.approx(152, abs=1e-9)
    assert counts.sum() - counts[lexical].sum() == pytest.approx(3 * 150, abs=1e-9)


def test_what_float64_loses_is_inferred_with_logs(monkeypatch):
    lost = []
    monkeypatch.setattr(
        inference, "count_in_logs", lambda *given: lost.append(given) or logs(*given)
    )
    # Words that need symbols whose weights are 200 decimal orders below those of others.
    grammar = independent_grammar(np.random.default_rng(3), 2, 2)
    for rule in grammar.lexical:
        grammar.theta[rule[-1]] = 1.0 if rule[0] == rule[1][0] else 0.0
    n = 2
    grammar.theta[-2 * n * n :] = [1.0, 1e-200] * (2 * n)
    sentences = [(1, 1, 1), (0, 1, 1, 0, 1), (0, 0)]
    counts, log_z = learn(grammar, sentences, "factors")
    assert lost
    expected, log_expected = learn(grammar, sentences, "lists")
    np.testing.assert_allclose(log_z, log_expected, rtol=1e-12)
    np.testing.assert_allclose(counts, expected, rtol=1e-10, atol=1e-12)
    assert log_z[0] < -900


def test_sentences_without_a_tree_add_nothing():
    grammar = independent_grammar(np.random.default_rng(0), 3, 2)
    grammar.theta[:3] = 0.0
    counts, log_z = learn(grammar, [(0, 1), (1,), (0, 0, 0)], "factors")
    assert np.isneginf(log_z[[0, 2]]).all()
    assert np.isfinite(log_z[1])
    assert counts.sum() == pytest.approx(1.0)


def test_trees_are_drawn_from_their_posterior():
    grammar = independent_grammar(np.random.default_rng(2), 2, 2)
    words = (0, 1, 0)
    weights = enumeration.derivations(grammar, words, 1)
    total, n_draws = enumeration.total(weights), 20_000
    trees, log_z = drawn(grammar, problem_of(grammar, [words] * n_draws, "factors"))
    assert log_z[0] == pytest.approx(np.log(total), abs=1e-12)
    keys = {}
    for a, b in zip(trees.starts[:-1], trees.starts[1:], strict=True):
        key = trees.rule[a:b].tobytes()
        keys[key] = keys.get(key, 0) + 1
    exact = {
        np.array([node[3] for node in tree]).tobytes(): weight / total
        for tree, weight in weights.items()
    }
    assert keys.keys() <= exact.keys()
    distance = 0.5 * sum(abs(keys.get(key, 0) / n_draws - share) for key, share in exact.items())
    assert distance < 0.02


def test_trees_drawn_by_factors_and_by_lists_are_the_same():
    grammar = independent_grammar(np.random.default_rng(4), 9, 3)
    rng = np.random.default_rng(1)
    sentences = [tuple(rng.integers(3, size=n).tolist()) for n in (1, 2, 5, 9)]
    by_factors = drawn(grammar, problem_of(grammar, sentences, "factors"))[0]
    problem = problem_of(grammar, sentences, "lists")
    tally = frozen_tally(problem.layout, np.asarray(grammar.theta))
    by_lists = draw_sweep(problem, tally, np.random.default_rng(0))[0]
    for one, other in zip(by_factors, by_lists, strict=True):
        np.testing.assert_array_equal(one, other)
