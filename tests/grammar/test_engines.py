"""Forests, tables and lists of rules learn the same."""

import numpy as np
import pytest
from estimators import all_sweeps

from sklearn_cvb import (
    CVBPCFG,
    EMPCFG,
    VBPCFG,
    GibbsPCFG,
    Grammar,
    HastingsPCFG,
    MiniBatches,
    Samples,
)

KINDS = [
    (EMPCFG, {}),
    (EMPCFG, {"update": MiniBatches(2), "alpha": 0.1}),
    *((kind, {"alpha": 0.3}) for kind in (VBPCFG, CVBPCFG, HastingsPCFG, GibbsPCFG)),
]
VERBS = [list(verb) for verb in ("ngihamba", "uhamba", "ngifunda", "ufundisa", "ngibona", "ubona")]
TEMPLATES = """
Verb -> Root | Prefix Root | Root Suffix | Prefix Root Suffix | Prefix Prefix Root Suffix
Prefix -> 'u'
Root -> 'a'
Suffix -> 'a'
"""
GRAMMARS = {
    "any piece": (
        Grammar.from_text(TEMPLATES).with_substrings(["Prefix", "Root", "Suffix"], VERBS),
        VERBS,
    ),
    "chains and long rules": (
        "S -> A | B S | 'b' A 'b' | S S S\nA -> B | 'a' | 'a' 'b'\nB -> 'b' | 'a' | A A",
        [list(words) for words in ("abab", "bab", "aabbab", "b", "zz", "abba")],
    ),
}


def learned(kind, grammar, sentences, **keywords):
    """What a fit leaves behind."""
    settings = {"random_state": 0, "init": "parameter", "max_iter": 6} | all_sweeps(kind) | keywords
    if issubclass(kind, HastingsPCFG | GibbsPCFG):
        settings |= {"samples": Samples(2, thin=1)}
    return kind(grammar, **settings).fit(sentences)


def assert_same(one, other, same_labels=True):
    np.testing.assert_allclose(one.history_, other.history_, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.counts_.rule, other.counts_.rule, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(one.unexplained_, other.unexplained_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-11)
    if same_labels:
        assert list(one.labels_) == list(other.labels_)


@pytest.mark.filterwarnings("ignore:.*sentences cannot be derived", "ignore:no tree derives")
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(("kind", "keywords"), KINDS)
def test_forests_and_lists_learn_the_same(kind, keywords, name, monkeypatch):
    grammar, sentences = GRAMMARS[name]
    forest = learned(kind, grammar, sentences, **keywords)
    assert forest._read(sentences, None).problem.forest is not None
    monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", 0)
    assert forest._read(sentences, None).problem.forest is None
    assert_same(forest, learned(kind, grammar, sentences, **keywords))


@pytest.mark.parametrize("name", GRAMMARS)
def test_presence_of_rules_is_the_same(name, monkeypatch):
    grammar, sentences = GRAMMARS[name]
    sentences = [words for words in sentences if words != list("zz")]
    settings = {"alpha": "auto", "max_iter": 23}
    forest = learned(CVBPCFG, grammar, sentences, **settings)
    monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", 0)
    lists = learned(CVBPCFG, grammar, sentences, **settings)
    assert forest.alpha_ == pytest.approx(lists.alpha_, rel=1e-8)
    assert forest.alpha_ != pytest.approx(0.1, rel=1e-3)


def test_known_trees_restrict_forests(monkeypatch):
    grammar, sentences = GRAMMARS["any piece"]
    y = [[(0, 3), (3, 8)], None, [(0, 3, "Prefix")], None, None, [(0, 1), (1, 5)]]
    free = learned(CVBPCFG, grammar, sentences, max_iter=1)
    model = CVBPCFG(grammar, random_state=0, init="parameter", max_iter=1, tol=0)
    restricted = model.fit(sentences, y)
    assert np.abs(restricted.counts_.rule - free.counts_.rule).max() > 0.01
    monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", 0)
    lists = CVBPCFG(grammar, random_state=0, init="parameter", max_iter=1, tol=0)
    assert_same(restricted, lists.fit(sentences, y))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(("kind", "keywords"), KINDS)
def test_tables_and_lists_learn_the_same(kind, keywords, monkeypatch):
    sentences = [list(words) for words in ("abcab", "ba", "c", "abca", "ccab", "abcabcab")]
    y = [None, None, None, [(0, 2)], [(0, 3)], None]
    settings = keywords | {"n_components": 8, "random_state": 0, "max_iter": 4}
    settings |= all_sweeps(kind)
    samples = issubclass(kind, HastingsPCFG | GibbsPCFG)
    if samples:
        settings |= {"samples": Samples(2, thin=1)}
    tables = kind(**settings).fit(sentences, y)
    assert tables._read(sentences, None).problem.dense is not None
    monkeypatch.setattr("sklearn_cvb.grammar.layout.FEWEST_RULES", 10**9)
    for most_edges in (2**23, 0):
        monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", most_edges)
        # The best trees of such grammars tie but for rounding.
        assert_same(tables, kind(**settings).fit(sentences, y), same_labels=samples)
