"""Expected counts by tables against those by lists of rules, and against enumeration."""

import numpy as np
import pytest
import tree_enumeration as enumeration
from sklearn_cvb.kernels.tree.table_sentences import (
    dense_room_for,
    infer_by_tables,
    sample_trees_by_tables,
)
from tree_cases import CASES, CYCLES, arrays_of, cells_of, counts_for

from sklearn_cvb.kernels.tree.arrays import brackets_of
from sklearn_cvb.kernels.tree.lists import expected_rule_counts, inside
from sklearn_cvb.kernels.tree.spans import chart_for
from sklearn_cvb.kernels.tree.table_products import dense_inside, dense_rule_counts
from sklearn_cvb.kernels.tree.tables import dense_rules_of, is_full, work_for


def dense_counts(arrays, brackets, order):
    """Expected counts and log likelihoods by tables."""
    rules, weights, lexicon = arrays
    dense = dense_rules_of(rules, lexicon)
    work = work_for(dense, int(lexicon.length.max()))
    counts, log_z = counts_for(rules, lexicon), np.empty(len(order))
    dense_rule_counts(dense, weights, lexicon, brackets, order, work, counts, log_z)
    return counts, log_z


def sparse_counts(arrays, brackets, order):
    """The same by lists."""
    rules, weights, lexicon = arrays
    counts, log_z = counts_for(rules, lexicon), np.empty(len(order))
    expected_rule_counts(rules, weights, lexicon, brackets, order, counts, log_z)
    return counts, log_z


def assert_equal(arrays, brackets):
    order = np.arange(len(arrays[2].length))
    counts, log_z = dense_counts(arrays, brackets, order)
    expected, log_expected = sparse_counts(arrays, brackets, order)
    np.testing.assert_allclose(log_z, log_expected, rtol=1e-13)
    for ours, theirs in zip(counts, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_equal_to_enumeration(name):
    grammar, words, depth = CASES[name]
    weights = enumeration.derivations(grammar, words, depth)
    arrays = arrays_of(grammar, [words])
    counts, log_z = dense_counts(arrays, brackets_of(1), np.zeros(1, np.int64))
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    cells = cells_of(grammar, arrays[0], arrays[2], counts)
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


@pytest.mark.parametrize(("n_wide", "n_narrow"), [(5, 9), (9, 0), (1, 1), (12, 30)])
def test_equal_to_lists_on_full_grammars(n_wide, n_narrow):
    rng = np.random.default_rng(n_wide)
    grammar = full_grammar(rng, n_wide, n_narrow, 4)
    lengths = [1, 2, 3, 9, 5, 1, 12, 2, *range(1, 8), 7, 7, 7]
    sentences = [tuple(rng.integers(4, size=n).tolist()) for n in lengths]
    arrays = arrays_of(grammar, sentences)
    assert is_full(dense_rules_of(arrays[0], arrays[2])) or n_wide == 1
    assert_equal(arrays, brackets_of(len(sentences)))
    given = [(3, 2, 5, -1), (3, 5, 9, -1), (4, 0, 4, 1), (6, 3, 8, 1), (2, 0, 1, 1), (5, 0, 1, 1)]
    assert_equal(arrays, brackets_of(len(sentences), *np.array(given).T))


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_lists_on_random_grammars(seed):
    rng = np.random.default_rng(seed)
    grammar = enumeration.random_grammar(rng, 6, 3, cycles=seed % 2 == 1)
    sentences = [tuple(rng.integers(3, size=n).tolist()) for n in (4, 8, 1, 13, 2, 6)]
    assert_equal(arrays_of(grammar, sentences), brackets_of(6))


def test_charts_are_those_of_the_lists():
    rng = np.random.default_rng(8)
    grammar = full_grammar(rng, 4, 5, 3)
    sentences = [tuple(rng.integers(3, size=n).tolist()) for n in (3, 9)]
    rules, weights, lexicon = arrays_of(grammar, sentences)
    brackets = brackets_of(2, [1], [2], [5], [-1])
    dense = dense_rules_of(rules, lexicon)
    work, chart, expected = work_for(dense, 9), chart_for(rules, 9), chart_for(rules, 9)
    log_z = dense_inside(dense, weights, lexicon, brackets, np.array([1]), work, chart)
    assert log_z == pytest.approx(inside(rules, weights, lexicon, brackets, 1, expected))
    np.testing.assert_array_equal(chart.first, expected.first)
    size = chart.first[-1]
    np.testing.assert_array_equal(chart.symbol[:size], expected.symbol[:size])
    np.testing.assert_allclose(chart.inside[:size], expected.inside[:size], rtol=1e-11)
    np.testing.assert_array_equal(chart.exponent, expected.exponent)
    np.testing.assert_array_equal(chart.gate, expected.gate)


def test_brackets_within_cycles():
    given = [(0, 1, 2, 2), (0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 1, 2)]
    assert_equal(arrays_of(CYCLES, [("b", "a")]), brackets_of(1, *np.array(given).T))


def test_long_sentences_and_underivable_ones():
    rng = np.random.default_rng(5)
    grammar = full_grammar(rng, 3, 4, 2)
    theta = np.array(grammar.theta)
    theta[[cell for *_, cell in grammar.lexical]] *= 1e-30
    sentences = [(0,) * 100, (0, 7, 1), tuple(rng.integers(2, size=60).tolist()), (1, 0)]
    assert_equal(arrays_of(grammar._replace(theta=theta), sentences), brackets_of(4))


def test_small_grammars_with_few_rules_are_not_full():
    grammar, words, _ = CASES["long rules"]
    rules, _, lexicon = arrays_of(grammar, [words])
    assert not is_full(dense_rules_of(rules, lexicon))


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
    rules, weights, lexicon = arrays_of(grammar, [("a", "a")])
    room = dense_room_for(dense_rules_of(rules, lexicon), rules, lexicon)
    counts = counts_for(rules, lexicon)
    expected = 2 * np.log(1e-300)
    found = infer_by_tables(rules, weights, lexicon, brackets_of(1), 0, room, counts)
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(cells_of(grammar, rules, lexicon, counts), [1, *[0] * 7, 2, 0])
    assert room.log_z[0] == -np.inf
    log_z = np.empty(1)
    trees = sample_trees_by_tables(
        rules, weights, lexicon, brackets_of(1), room, np.random.default_rng(0), log_z
    )
    assert log_z[0] == pytest.approx(expected)
    assert trees.rule.tolist() == [0, 8, 8]
