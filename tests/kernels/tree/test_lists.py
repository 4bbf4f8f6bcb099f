"""Tree kernels against the enumeration of all derivations."""

from collections import Counter

import numpy as np
import pytest
import tree_enumeration as enumeration
from scipy.stats import chi2
from tree_cases import (
    AMBIGUOUS,
    CASES,
    CHAINS,
    CYCLES,
    LONG_RULES,
    best,
    derivations_of,
    drawn,
    logs_of,
    problem_of,
    trees_of,
    weighed,
)

from sklearn_cvb.grammar.inference import expectation, expected_rule_counts
from sklearn_cvb.grammar.prediction import span_posteriors
from sklearn_cvb.kernels.tree.arrays import (
    TreeRules,
    brackets_of,
    rules_of,
    terminal_index_of,
    unary_rules_of,
)
from sklearn_cvb.kernels.tree.decoding import k_best_trees
from sklearn_cvb.kernels.tree.engines import count_in_logs
from sklearn_cvb.kernels.tree.lists import expected_counts_by_lists
from sklearn_cvb.kernels.tree.unary_rules import chain_workspace_for, fill_closure


def learn(grammar, sentences, brackets=None):
    """Expected counts per cell, and log p(words) of each sentence."""
    problem = problem_of(grammar, sentences, brackets=brackets)
    return expectation(np.asarray(grammar.theta), problem)


@pytest.fixture(params=CASES)
def case(request):
    """A grammar, a sentence and its derivations with their weights."""
    (grammar, words, _), weights = CASES[request.param], derivations_of(request.param)
    assert len(weights) > 1 or len(words) == 1
    return grammar, words, weights


def test_inside_and_expected_counts_equal_enumeration(case):
    grammar, words, weights = case
    cells, log_z = learn(grammar, [words])
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def test_viterbi_tree_is_the_heaviest(case):
    grammar, words, weights = case
    trees, log_p = best(grammar, problem_of(grammar, [words]))
    ((_, weight),) = enumeration.best(weights)
    assert log_p[0] == pytest.approx(np.log(weight), abs=1e-12)
    assert weights[trees_of(trees)[0]] == pytest.approx(weight, rel=1e-12)


@pytest.mark.many(usual=12)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_k_best_trees_are_the_heaviest(case, k):
    grammar, words, weights = case
    trees, log_p = k_best_trees(logs_of(grammar, problem_of(grammar, [words])), 0, k)
    heaviest = enumeration.best(weights, k)
    np.testing.assert_allclose(log_p, np.log([weight for _, weight in heaviest]), atol=1e-11)
    found = trees_of(trees)
    assert len(set(found)) == len(found)
    np.testing.assert_allclose(log_p, np.log([weights[tree] for tree in found]), atol=1e-11)


def test_span_posteriors_equal_enumeration(case):
    grammar, words, weights = case
    spans, log_z = span_posteriors(weighed(grammar, problem_of(grammar, [words])), 0)
    assert log_z == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    nodes, highest = enumeration.expected_nodes(weights)
    keys = list(zip(*(field.tolist() for field in spans[:3]), strict=True))
    assert set(keys) == set(nodes)
    np.testing.assert_allclose(spans.expected, [nodes[key] for key in keys], rtol=1e-10)
    np.testing.assert_allclose(spans.top, [highest.get(key, 0.0) for key in keys], atol=1e-12)


def sample(grammar, words, brackets, size):
    """How often each tree is drawn."""
    every = brackets if brackets is None else repeated(brackets, size)
    return Counter(trees_of(drawn(grammar, problem_of(grammar, [words] * size, brackets=every))[0]))


def repeated(brackets, size):
    """The same brackets for so many sentences."""
    n = len(brackets.begin)
    fields = (np.tile(field, size) for field in brackets[1:])
    return brackets_of(size, np.repeat(np.arange(size), n), *fields)


def assert_drawn_from(drawn, weights):
    """A chi-square test; trees expected less than 5 times count as one."""
    size, total = sum(drawn.values()), enumeration.total(weights)
    assert set(drawn) <= set(weights)
    expected = {tree: size * weight / total for tree, weight in weights.items()}
    cells = [[drawn[tree], mean] for tree, mean in expected.items() if mean >= 5]
    rest = [[drawn[tree], mean] for tree, mean in expected.items() if mean < 5]
    cells = np.array(cells + ([np.sum(rest, axis=0)] if rest else []))
    cells = cells[cells[:, 1] > 1e-6]
    assert len(cells) > 1 or len(weights) == 1
    statistic = np.sum((cells[:, 0] - cells[:, 1]) ** 2 / cells[:, 1])
    assert statistic <= chi2.ppf(0.999, max(len(cells) - 1, 1))


@pytest.mark.long(usual=True)
def test_sampled_trees_follow_the_exact_distribution(case):
    grammar, words, weights = case
    assert_drawn_from(sample(grammar, words, None, 20_000), weights)


BRACKETED = {
    "unlabelled": (AMBIGUOUS, ("a", "b", "a", "a", "b", "a"), [(1, 4, -1), (2, 4, -1)], 0),
    "labelled": (AMBIGUOUS, ("a", "b", "a", "a", "b", "a"), [(0, 2, 0), (0, 2, 1)], 0),
    "label or any": (AMBIGUOUS, ("a", "b", "a", "a"), [(0, 3, 0), (0, 3, -1)], 0),
    "helpers": (LONG_RULES, ("a", "b", "a", "b", "a", "a"), [(1, 6, -1)], 0),
    "terminal of two words": (LONG_RULES, ("a", "b", "a", "b", "a", "a"), [(0, 2, 1)], 0),
    "chains": (CHAINS, ("a", "b", "a"), [(1, 3, 2), (0, 1, 1), (0, 1, 2), (0, 1, 3)], 4),
    "part of a cycle": (CYCLES, ("b", "a"), [(1, 2, 2), (1, 2, 3), (0, 1, 1), (0, 1, 2)], 17),
}


# Without unary rules trees are drawn by a kernel of their own, which nothing else compiles.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if grammar.unary else pytest.mark.long)
        for name, (grammar, *_) in BRACKETED.items()
    ],
)
def test_brackets_restrict_the_trees(name):
    grammar, words, given, depth = BRACKETED[name]
    weights = enumeration.derivations(grammar, words, depth, enumeration.respects(given))
    everything = enumeration.derivations(grammar, words, depth)
    assert 0 < len(weights) < len(everything)
    brackets = brackets_of(1, np.zeros(len(given)), *np.array(given).T)
    cells, log_z = learn(grammar, [words], brackets)
    assert log_z[0] == pytest.approx(np.log(enumeration.total(weights)), abs=1e-12)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)
    problem = problem_of(grammar, [words], brackets=brackets)
    heaviest = enumeration.best(weights, 5)
    _, log_p = best(grammar, problem)
    assert log_p[0] == pytest.approx(np.log(heaviest[0][1]), abs=1e-12)
    _, log_p = k_best_trees(logs_of(grammar, problem), 0, 5)
    np.testing.assert_allclose(log_p, np.log([weight for _, weight in heaviest]), atol=1e-11)
    assert_drawn_from(sample(grammar, words, brackets, 5000), weights)


@pytest.mark.parametrize("seed", range(6))
def test_random_grammars(seed):
    rng = np.random.default_rng(seed)
    grammar = enumeration.random_grammar(rng, 3, 2)
    sentences = [tuple(rng.integers(2, size=n).tolist()) for n in (3, 1, 4, 2)]
    each = [enumeration.derivations(grammar, words, 3) for words in sentences]
    cells, log_z = learn(grammar, sentences)
    totals = [enumeration.total(weights) for weights in each]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_z, np.log(totals), atol=1e-12)
    expected = sum(enumeration.expected_counts(grammar, weights) for weights in each if weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def test_a_sentence_without_a_tree_adds_nothing():
    known, unknown = ("a", "b"), ("b", "c")
    cells, log_z = learn(CHAINS, [unknown, known, ("z",)])
    alone, log_alone = learn(CHAINS, [known])
    assert log_z.tolist() == [-np.inf, log_alone[0], -np.inf]
    np.testing.assert_array_equal(cells, alone)
    problem = problem_of(CHAINS, [unknown, known])
    trees, log_p = best(CHAINS, problem)
    assert log_p[0] == -np.inf
    assert trees_of(trees)[0] == ()
    trees, log_z = drawn(CHAINS, problem)
    assert log_z[0] == -np.inf
    assert trees_of(trees)[0] == ()
    assert span_posteriors(weighed(CHAINS, problem), 0) == (None, -np.inf)
    assert k_best_trees(logs_of(CHAINS, problem), 0, 3)[1].size == 0


@pytest.mark.parametrize("n", [1, 2, 50, 200])
def test_long_sentences_do_not_underflow(n):
    """S -> S S | w: Catalan(n - 1) trees of one weight; and every tree has n - 1 binary nodes."""
    from scipy.special import gammaln

    tiny = 1e-30
    grammar = enumeration.Grammar(1, [(0, 0, 0, 0)], [], [(0, ("w",), 1)], [0.3, tiny])
    cells, log_z = learn(grammar, [("w",) * n])
    log_catalan = gammaln(2 * n - 1) - gammaln(n) - gammaln(n + 1)
    exact = log_catalan + (n - 1) * np.log(0.3) + n * np.log(tiny)
    assert log_z[0] == pytest.approx(exact, rel=1e-12)
    np.testing.assert_allclose(cells, [n - 1, n], rtol=1e-11)


def test_a_terminal_of_many_words_beside_splits():
    """Weights 1e-700 apart on one span."""
    words = ("w",) * 100
    lexical = [(0, ("w",), 1), (0, words, 2), (0, words[:50], 3)]
    for heavy in (1e-250, 1.0):
        theta = [0.5, 1e-8, heavy, 1e-200]
        grammar = enumeration.Grammar(1, [(0, 0, 0, 0)], [], lexical, theta)
        cells, log_z = learn(grammar, [words])
        assert log_z[0] == pytest.approx(np.log(heavy), rel=1e-12)
        np.testing.assert_allclose(cells, [0, 0, 1, 0], atol=1e-12)


def unequal():
    """Symbols 1 and 2 derive all runs of 'a'; 2 is far heavier, but only 1 goes with the 'b'."""
    binary = [(0, 1, 3, 0), (1, 1, 1, 1), (2, 2, 2, 2), (0, 2, 4, 3)]
    lexical = [(1, ("a",), 4), (2, ("a",), 5), (3, ("b",), 6), (4, ("c",), 7), (5, ("a",), 10)]
    theta = [0.5, 1e-30, 0.5, 0.5, 1e-30, 0.5, 1.0, 1.0, 0.3, 0.2, 1e-30]
    return enumeration.Grammar(6, binary, [(1, 5, 8), (5, 1, 9)], lexical, theta)


def test_trees_of_dropped_items_are_found_in_log_space():
    words = ("a",) * 6 + ("b",)
    grammar = unequal()
    # Every tree has eleven rules of tiny weight: with larger ones all is the same but the total.
    mild = grammar._replace(theta=[w if w > 1e-20 else 1e20 * w for w in grammar.theta])
    cells, log_z = learn(grammar, [words])
    mild_cells, mild_log_z = learn(mild, [words])
    np.testing.assert_allclose(cells, mild_cells, rtol=1e-9, atol=1e-13)
    assert log_z[0] == pytest.approx(mild_log_z[0] - 11 * np.log(1e20), rel=1e-12)
    spans, _ = span_posteriors(weighed(grammar, problem_of(grammar, [words])), 0)
    mild_spans, _ = span_posteriors(weighed(mild, problem_of(mild, [words])), 0)
    np.testing.assert_allclose(spans.expected, mild_spans.expected, rtol=1e-9)
    np.testing.assert_allclose(spans.top, mild_spans.top, rtol=1e-9)


def test_trees_of_dropped_items_are_drawn_in_log_space():
    words, grammar = ("a",) * 6 + ("b",), unequal()
    mild = grammar._replace(theta=[w if w > 1e-20 else 1e20 * w for w in grammar.theta])
    assert sample(grammar, words, None, 200) == sample(mild, words, None, 200)


def in_its_run(name, grammar):
    """A case of log space; without unary rules kernels are compiled for it alone: that waits."""
    return pytest.param(name, marks=() if grammar.unary else pytest.mark.long)


def in_log_space(grammar, words, brackets):
    """Expected counts per cell and log p(words), all in log space."""
    engine = weighed(grammar, problem_of(grammar, [words], brackets=brackets))
    log_z = count_in_logs(engine, 0)
    return expected_rule_counts(engine.lists, len(grammar.theta)), log_z


@pytest.mark.parametrize(
    "case", [in_its_run(name, CASES[name][0]) for name in CASES], indirect=True
)
def test_log_space_equals_enumeration(case):
    grammar, words, weights = case
    cells, log_z = in_log_space(grammar, words, None)
    assert log_z == pytest.approx(np.log(enumeration.total(weights)), abs=1e-11)
    expected = enumeration.expected_counts(grammar, weights)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", [in_its_run(name, BRACKETED[name][0]) for name in BRACKETED])
def test_log_space_keeps_to_brackets(name):
    grammar, words, given, _ = BRACKETED[name]
    brackets = brackets_of(1, np.zeros(len(given)), *np.array(given).T)
    cells, log_z = in_log_space(grammar, words, brackets)
    expected, log_expected = learn(grammar, [words], brackets)
    assert log_z == pytest.approx(log_expected[0], abs=1e-11)
    np.testing.assert_allclose(cells, expected, rtol=1e-10, atol=1e-13)


def test_closure_equals_the_inverse_and_refuses_divergence():
    rng = np.random.default_rng(3)
    unary = [(a, b, 4 * a + b) for a in range(4) for b in range(4)]
    rules = rules_of(4, 0, [], unary)
    weights = rng.uniform(0, 0.24, 16)
    unary = unary_rules_of(rules)
    work = chain_workspace_for(4, unary)
    unary.weight[:] = weights[rules.unary]
    assert fill_closure(unary, work)
    exact = np.linalg.inv(np.eye(4) - weights.reshape(4, 4))
    np.testing.assert_allclose(unary.closure.reshape(4, 4), exact, rtol=1e-12)
    for too_much in (0.25, 0.7):
        unary.weight[:] = too_much
        assert not fill_closure(unary, work)


def test_rules_are_sorted_and_grouped():
    binary = [(0, 2, 1, 0), (1, 0, 2, 1), (0, 0, 2, 2), (2, 2, 1, -1)]
    unary = [(0, 1, 3), (3, 4, 4), (4, 3, 5), (1, 3, 6), (4, 2, 7)]
    rules = rules_of(5, 0, binary, unary)
    assert isinstance(rules, TreeRules)
    rows = list(zip(rules.parent, rules.left, rules.right, rules.binary, strict=True))
    assert rows == [(0, 0, 2, 2), (1, 0, 2, 1), (0, 2, 1, 0), (2, 2, 1, -1)]
    assert rules.left_first.tolist() == [0, 2, 2, 4, 4, 4]
    assert rules.by_parent.tolist() == [0, 2, 1, 3]
    assert rules.parent_first.tolist() == [0, 2, 3, 4, 4, 4]
    # The cycle of 3 and 4 first, what leaves it (4 -> 2) at its head; then 1, then 0.
    assert rules.unary.tolist() == [7, 4, 5, 6, 3]
    assert rules.unary_first.tolist() == [0, 3, 4, 5]
    assert rules.internal_first.tolist() == [1, 4, 5]
    assert rules.member.tolist() == [3, 4]
    assert rules.member_first.tolist() == [0, 2, 2, 2]
    assert rules.block_first.tolist() == [0, 4, 4, 4]


def test_occurrences_are_sorted_by_sentence_and_column():
    lexicon, order = terminal_index_of(
        [2, 3], [1, 0, 1, 1], [1, 0, 0, 2], [3, 1, 3, 3], [5] * 4, range(4)
    )
    assert lexicon.starts.tolist() == [0, 1, 4]
    assert list(zip(lexicon.begin, lexicon.end, strict=True)) == [(0, 1), (2, 3), (1, 3), (0, 3)]
    assert order.tolist() == lexicon.rule.tolist() == [1, 3, 0, 2]


def test_parts_of_a_corpus_add_up():
    sentences = [("a", "b", "a"), ("a",), ("a", "a", "b", "a")]
    whole, log_z = learn(AMBIGUOUS, sentences)
    engine, parts = weighed(AMBIGUOUS, problem_of(AMBIGUOUS, sentences)), np.empty(3)
    for i in range(3):
        expected_counts_by_lists(engine.lists, engine.chart, np.array([i]), parts[i : i + 1], True)
    np.testing.assert_array_equal(parts, log_z)
    np.testing.assert_array_equal(expected_rule_counts(engine.lists, len(AMBIGUOUS.theta)), whole)
    # Weights of other sentences are not read.
    terminals = engine.lists.terminals
    own = slice(*terminals.starts[1:3])
    weights = terminals.weight[own].copy()
    terminals.weight[:] = np.nan
    terminals.weight[own] = weights
    expected_counts_by_lists(engine.lists, engine.chart, np.array([1]), parts[:1], True)
    assert parts[0] == log_z[1]
