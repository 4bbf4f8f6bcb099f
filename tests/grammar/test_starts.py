"""Starts: what the first E-step knows, and which one is the default."""

import numpy as np
import pytest
import restatement_pcfg as plain

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar, HastingsPCFG

TEMPLATES = "Verb -> R | R F | P R F"
VERBS = [
    list(prefix + root + suffix)
    for prefix in ("si", "ba", "u")
    for root in ("hamb", "bon", "fund")
    for suffix in ("a", "ile")
]


def grammar_of(verbs):
    return Grammar.from_text(TEMPLATES).with_substrings("PRF", verbs)


def n_pieces(model):
    return np.mean([len(tree) for tree in model.labels_])


def test_all_trees_of_a_sentence_start_alike():
    grammar = grammar_of(VERBS[:2])
    model = EMPCFG(grammar, init="trees", random_state=0)
    read = model._read(VERBS[:2], None)
    rng = np.random.default_rng(0)
    counts = model._algorithm().start(model._model(read), rng).counts
    tables = plain.frequencies(grammar, VERBS[:2])
    assert [len(table) for table in tables] == [1 + 6 + 15, 1 + 8 + 28]
    # 1 % of noise in each of up to four rules.
    assert counts == pytest.approx(sum(table.mean(axis=0) for table in tables), rel=0.05)


def test_terminals_of_several_words_start_from_trees_others_from_uniform_weights():
    histories = {
        init: VBPCFG(grammar_of(VERBS), init=init, max_iter=2, random_state=0).fit(VERBS).history_
        for init in (None, "trees", "uniform")
    }
    assert np.array_equal(histories[None], histories["trees"])
    assert not np.array_equal(histories[None], histories["uniform"])
    sentences = [list("ab"), list("ba"), list("aab")]
    for text in (
        "S -> S S | 'a' | 'b'",
        # There are infinitely many trees.
        "S -> A | 'a' 'b' | 'a' | S S\nA -> S | 'b'",
    ):
        default, uniform = (
            VBPCFG(text, init=init, max_iter=2, random_state=0).fit(sentences).history_
            for init in (None, "uniform")
        )
        assert np.array_equal(default, uniform)


def test_uniform_weights_prefer_whole_words_and_samplers_never_leave_them():
    settings = {"alpha": 1e-5, "random_state": 0}
    grammar = grammar_of(VERBS)
    stuck = HastingsPCFG(grammar, init="uniform", max_iter=100, **settings).fit(VERBS)
    assert n_pieces(stuck) == 1
    for kind in (CVBPCFG, VBPCFG):
        assert n_pieces(kind(grammar, **settings).fit(VERBS)) > 2.5
    free = HastingsPCFG(grammar, max_iter=100, **settings).fit(VERBS)
    assert n_pieces(free) > 2
    # A sample of higher probability was there to be found.
    assert free.objective_ > stuck.objective_ + 20


def test_symbols_that_nothing_uses_keep_weights_that_sum_to_one():
    text = "S -> A 'x' 'y' | B\nA -> 'a' | 'b'\nB -> 'c' | 'd' 'd'"
    model = EMPCFG(text, random_state=0).fit([["a", "x", "y"], ["b", "x", "y"]])
    totals = np.bincount([rule.parent for rule in model.rules_.rules], model.rule_probabilities_)
    assert totals == pytest.approx([1, 1, 1])


def test_restarts_from_trees_differ():
    model = CVBPCFG(grammar_of(VERBS), n_init=3, max_iter=5, random_state=0).fit(VERBS)
    assert len(set(model.restart_objectives_)) == 3
