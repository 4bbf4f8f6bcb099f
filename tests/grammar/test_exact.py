"""Fits of grammars against enumeration, and bounds against the exact evidence."""

import numpy as np
import pytest
import restatement_pcfg as plain
from enumerated import enumerated_grammar, learned

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar

# Recursion, several words as one terminal, a long rule with words inside, unary chains.
CASES = {
    "recursive": ("S -> S S | 'a' | 'b'", ["abab", "aab", "ba", "aaaa"], 1),
    "two symbols": (
        "S -> A S | S A | 'a'\nA -> A A | S A | 'a' | 'b'",
        ["aba", "baa", "abba", "aa"],
        1,
    ),
    "long terminals": (
        "S -> P R F | P R\nP -> 'u' | 'k' | 'u' 'k'\nR -> 'k' 'a' | 'a' 'k' 'a' | 'a'\nF -> 'a'",
        ["ukaa", "uka", "ukaka", "uaka", "kaa"],
        1,
    ),
    "long rules": (
        "S -> S 'c' S | 'a' S 'b' S | X 'b' | 'a' 'b'\nX -> 'a' | 'a' 'b' 'a' | S X X",
        ["abcab", "aabbab", "abab", "ababcab"],
        1,
    ),
    "unary chains": (
        "S -> A | B | A B\nA -> B | 'a' | A A\nB -> C | 'b' | 'a'\nC -> 'a' | 'a' B",
        ["ab", "aab", "aaa", "ba"],
        4,
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    text, sentences, depth = CASES[request.param]
    grammar = Grammar.from_text(text)
    sentences = [list(words) for words in sentences]
    tables = plain.frequencies(grammar, sentences, depth)
    draws = np.random.default_rng(3).uniform(0.2, 1, len(grammar.rules))
    assert max(map(len, tables)) > 1
    return grammar, sentences, tables, plain.normalised(grammar, draws)


def fit(kind, case, n_sweeps, **keywords):
    grammar, sentences, _, theta = case
    model = kind(grammar, init=theta, max_iter=n_sweeps, tol=0, handle_unknown="error", **keywords)
    return model.fit(sentences)


@pytest.mark.parametrize("kind", [EMPCFG, VBPCFG, CVBPCFG])
def test_fits_follow_the_enumeration(case, kind):
    grammar, sentences, tables, theta = case
    model = fit(kind, case, 5, alpha=0.4)
    twin = enumerated_grammar(model, sentences, 4)
    state, history = learned(twin, model._algorithm(), theta, 5)
    np.testing.assert_allclose(model.counts_.rule, state.counts, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=0, atol=1e-10)
    if kind is CVBPCFG:
        for table, counts, tree in zip(tables, state.shares, model.labels_, strict=True):
            others = plain.normalised(grammar, state.counts - counts + 0.4)
            best = table[plain.posterior(table, others)[0].argmax()]
            np.testing.assert_array_equal(productions_used(grammar, tree), best)


@pytest.mark.many(usual=2)
def test_the_bound_stays_below_the_evidence(case):
    grammar, _, tables, _ = case
    model = fit(VBPCFG, case, 30, alpha=0.4)
    assert np.diff(model.history_).min() > -1e-10
    _, evidence = plain.joint_posterior(grammar, tables, 0.4)
    # It is exact where all trees of a sentence use the same rules.
    ambiguous = any(np.ptp(table, axis=0).any() for table in tables)
    assert model.lower_bound_ <= evidence - (1e-3 if ambiguous else -1e-10)


def productions_used(grammar, tree):
    """How often a tree uses each rule of a grammar."""
    numbers = {str(production): r for r, production in enumerate(grammar.to_nltk().productions())}
    used = np.zeros(len(grammar.rules))
    for production in tree.productions():
        used[numbers[str(production)]] += 1
    return used


def test_likelihoods_trees_and_spans_equal_enumeration(case):
    grammar, sentences, tables, _ = case
    model = fit(EMPCFG, case, 2, alpha=0.3)
    theta = model.rule_probabilities_
    np.testing.assert_allclose(plain.by_owner(grammar, theta), 1, atol=1e-12)
    log_z = [plain.posterior(table, theta)[1] for table in tables]
    np.testing.assert_allclose(model.score_samples(sentences), log_z, rtol=0, atol=1e-10)
    n_tokens = sum(map(len, sentences))
    assert model.score(sentences) == pytest.approx(sum(log_z) / n_tokens, abs=1e-12)
    assert model.perplexity(sentences, per="sequence") == pytest.approx(np.exp(-np.mean(log_z)))
    for tree, table, words in zip(model.parse(sentences), tables, sentences, strict=True):
        assert tree.leaves() == words
        share, _ = plain.posterior(table, theta)
        scores = np.where(table > 0, table * np.log(theta), 0).sum(axis=1)
        mine = productions_used(grammar, tree) @ np.log(theta)
        assert mine == pytest.approx(scores.max(), abs=1e-10)
    ranked = model.parse(sentences, n_best=3)
    for best, table in zip(ranked, tables, strict=True):
        weights = np.sort(np.where(table > 0, table * np.log(theta), 0).sum(axis=1))[::-1]
        assert [log_p for _, log_p in best] == pytest.approx(weights[:3], abs=1e-10)
        by_hand = [productions_used(grammar, tree) @ np.log(theta) for tree, _ in best]
        assert by_hand == pytest.approx(weights[:3], abs=1e-10)
    for spans, table in zip(model.predict_proba(sentences), tables, strict=True):
        share, _ = plain.posterior(table, theta)
        expected = share @ table
        owner = plain.owners(grammar)
        assert spans.sum(axis=(0, 1)) == pytest.approx(np.bincount(owner, expected), abs=1e-10)
        assert spans[0, -1, grammar.start] >= 1 - 1e-10
        assert spans[np.tril_indices(len(spans), 0)].sum() == 0


def test_collapsed_bounds_are_ordered():
    # VB's bound lies below the exact evidence; CVB's expected counts are nearer to the exact ones.
    text = "S -> S S | 'a' | A\nA -> 'a' | A 'b' | 'b' S"
    grammar = Grammar.from_text(text)
    sentences = [list(words) for words in ("aba", "ab", "aab", "ba")]
    tables = plain.frequencies(grammar, sentences)
    shares, evidence = plain.joint_posterior(grammar, tables, 0.5)
    exact = sum(
        share * sum(table[k] for table, k in zip(tables, choice, strict=True))
        for choice, share in shares.items()
    )
    keywords = {"alpha": 0.5, "max_iter": 200, "tol": 0, "random_state": 0}
    vb = VBPCFG(text, **keywords).fit(sentences)
    cvb = CVBPCFG(text, **keywords).fit(sentences)
    assert vb.lower_bound_ < evidence
    error_vb = np.abs(vb.counts_.rule - exact).sum()
    error_cvb = np.abs(cvb.counts_.rule - exact).sum()
    print(
        f"evidence {evidence:.3f}, bound {vb.lower_bound_:.3f}, L1 {error_vb:.3f} {error_cvb:.3f}"
    )
    assert error_cvb < error_vb


@pytest.mark.parametrize("kind", [EMPCFG, VBPCFG])
def test_tables_and_lists_of_rules_learn_the_same(kind, monkeypatch):
    sentences = [list(words) for words in ("abcab", "ba", "c", "abca", "ccab", "abcabcab")]
    settings = {"n_components": 8, "random_state": 0, "max_iter": 4, "tol": 0}
    tables = kind(**settings).fit(sentences)
    assert tables._read(sentences, None).problem.dense is not None
    monkeypatch.setattr("sklearn_cvb.grammar.layout.FEWEST_RULES", 10**9)
    lists = kind(**settings).fit(sentences)
    np.testing.assert_allclose(tables.history_, lists.history_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(tables.counts_.rule, lists.counts_.rule, rtol=0, atol=1e-9)
