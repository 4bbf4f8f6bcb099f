"""Expected counts by tables against those by lists of rules, and against enumeration."""

import numpy as np
import pytest
import tree_enumeration as enumeration
from tree_cases import CASES, CYCLES, arrays_of, derivations_of, drawn, problem_of, weighed

from sklearn_cvb.grammar.inference import (
    draw_sweep,
    engine_for,
    expectation,
    expected_rule_counts,
    frozen_tally,
)
from sklearn_cvb.kernels.tree.arrays import brackets_of
from sklearn_cvb.kernels.tree.engines import count_in_logs
from sklearn_cvb.kernels.tree.lists import expected_counts_by_lists
from sklearn_cvb.kernels.tree.tables import dense_rules_of, expected_counts_by_tables, is_full


def learn(grammar, sentences, engine, brackets=None):
    """Expected counts per cell, and log p(words) of each sentence."""
    problem = problem_of(grammar, sentences, engine, brackets)
    return expectation(np.asarray(grammar.theta), problem)


def assert_equal(grammar, sentences, brackets=None):
    """That tables find the same counts and log normalisers as lists."""
    counts, log_z = learn(grammar, sentences, "tables", brackets)
    expected, log_expected = learn(grammar, sentences, "lists", brackets)
    np.testing.assert_allclose(log_z, log_expected, rtol=1e-13)
    np.testing.assert_allclose(counts, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_equal_to_enumeration(name):
    (grammar, words, _), weights = CASES[name], derivations_of(name)
    cells, log_z = learn(grammar, [words], "tables")
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def full_grammar(rng, n_wide, n_narrow, n_words):
    """Symbol 0 above the wide ones, which have all pairs; all symbols but 0 have single words."""
    n = 1 + n_wide + n_narrow
    wide = range(1, 1 + n_wide)
    cells = iter(range(10**6))
    unary = [(0, a, next(cells)) for a in wide]
    binary = [(a, b, c, next(cells)) for a in wide for b in range(1, n) for c in range(1, n)]
    lexical = [(a, (w,), next(cells)) for a in range(1 + n_wide, n) for w in range(n_words)] + [
        (1, (w,), next(cells)) for w in range(n_words)
    ]
    owner = np.array([rule[0] for rule in (*unary, *binary, *lexical)])
    theta = rng.uniform(0.01, 1, len(owner))
    return enumeration.Grammar(
        n, binary, unary, lexical, theta / np.bincount(owner, theta, n)[owner]
    )


@pytest.mark.long
@pytest.mark.parametrize(("n_wide", "n_narrow"), [(5, 9), (9, 0), (1, 1), (12, 30)])
def test_equal_to_lists_on_full_grammars(n_wide, n_narrow):
    rng = np.random.default_rng(n_wide)
    grammar = full_grammar(rng, n_wide, n_narrow, 4)
    lengths = [1, 2, 3, 9, 5, 1, 12, 2, *range(1, 8), 7, 7, 7]
    sentences = [tuple(rng.integers(4, size=n).tolist()) for n in lengths]
    assert is_full(dense_rules_of(*arrays_of(grammar, sentences))) or n_wide == 1
    assert_equal(grammar, sentences)
    given = [(3, 2, 5, -1), (3, 5, 9, -1), (4, 0, 4, 1), (6, 3, 8, 1), (2, 0, 1, 1), (5, 0, 1, 1)]
    assert_equal(grammar, sentences, brackets_of(len(sentences), *np.array(given).T))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_lists_on_random_grammars(seed):
    rng = np.random.default_rng(seed)
    grammar = enumeration.random_grammar(rng, 6, 3, cycles=seed % 2 == 1)
    sentences = [tuple(rng.integers(3, size=n).tolist()) for n in (4, 8, 1, 13, 2, 6)]
    assert_equal(grammar, sentences)


def test_charts_are_those_of_the_lists():
    """Of rules as `n_components` has them, without unary ones: trees are drawn by this kernel."""
    rng = np.random.default_rng(8)
    binary = [(*rule, cell) for cell, rule in enumerate(np.ndindex(4, 9, 9))]
    lexical = [(a, (w,), len(binary) + 3 * a + w) for a in range(9) for w in range(3)]
    theta = rng.uniform(0.01, 0.1, len(binary) + len(lexical))
    grammar = enumeration.Grammar(9, binary, [], lexical, theta)
    sentences = [tuple(rng.integers(3, size=n).tolist()) for n in (3, 9)]
    brackets = brackets_of(2, [1], [2], [5], [-1])
    problem = problem_of(grammar, sentences, "tables", brackets)
    by_lists = weighed(grammar, problem_of(grammar, sentences, brackets=brackets))
    log_z = np.empty(1)
    expected_counts_by_lists(by_lists.lists, by_lists.chart, np.array([1]), log_z, True)
    expected, engine = by_lists.chart, engine_for(problem, True)
    # The last sentence leaves its chart.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_cvb.grammar.inference.engine_for", lambda *_: engine)
        tally = frozen_tally(problem.layout, theta)
        _, found, _ = draw_sweep(problem, tally, np.random.default_rng(0))
    chart = engine.tables.chart
    assert found[1] == pytest.approx(log_z[0])
    np.testing.assert_array_equal(chart.first, expected.first)
    size = chart.first[-1]
    np.testing.assert_array_equal(chart.symbol[:size], expected.symbol[:size])
    np.testing.assert_allclose(chart.inside[:size], expected.inside[:size], rtol=1e-11)
    np.testing.assert_array_equal(chart.exponent, expected.exponent)
    np.testing.assert_array_equal(chart.gate, expected.gate)


@pytest.mark.long
def test_brackets_within_cycles():
    given = [(0, 1, 2, 2), (0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 1, 2)]
    assert_equal(CYCLES, [("b", "a")], brackets_of(1, *np.array(given).T))


@pytest.mark.long
def test_long_sentences_and_underivable_ones():
    rng = np.random.default_rng(5)
    grammar = full_grammar(rng, 3, 4, 2)
    theta = np.array(grammar.theta)
    theta[[cell for *_, cell in grammar.lexical]] *= 1e-30
    sentences = [(0,) * 100, (0, 7, 1), tuple(rng.integers(2, size=60).tolist()), (1, 0)]
    assert_equal(grammar._replace(theta=theta), sentences)


def test_small_grammars_with_few_rules_are_not_full():
    grammar, words, _ = CASES["long rules"]
    assert not is_full(dense_rules_of(*arrays_of(grammar, [words])))


@pytest.mark.long
def test_unlikely_sentences_are_handed_to_lists():
    # The only tree needs items that are dropped beside far heavier ones.
    pairs = np.ndindex(2, 2, 2)
    theta = [1.0, *[0.0] * 7, 1e-300, 1.0]
    grammar = enumeration.Grammar(
        2,
        [(*rule, cell) for cell, rule in enumerate(pairs)],
        [],
        [(0, ("a",), 8), (1, ("a",), 9)],
        theta,
    )
    problem, log_z = problem_of(grammar, [("a", "a")], "tables"), np.empty(1)
    engine = weighed(grammar, problem)
    expected_counts_by_tables(engine.tables, engine.lists, np.zeros(1, np.int64), log_z, True)
    assert np.isnan(log_z[0])
    expected = 2 * np.log(1e-300)
    assert count_in_logs(engine, 0) == pytest.approx(expected)
    np.testing.assert_allclose(expected_rule_counts(engine.lists, 10), [1, *[0] * 7, 2, 0])
    cells, log_z = expectation(np.asarray(theta), problem)
    assert log_z[0] == pytest.approx(expected)
    np.testing.assert_allclose(cells, [1, *[0] * 7, 2, 0])
    trees, log_z = drawn(grammar, problem)
    assert log_z[0] == pytest.approx(expected)
    assert trees.rule.tolist() == [0, 8, 8]
