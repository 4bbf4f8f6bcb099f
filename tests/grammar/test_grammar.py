"""Grammars in all their forms, the errors they give, and the trees that come back."""

import re

import nltk
import numpy as np
import pytest

from sklearn_cvb import EMPCFG, VBPCFG, Grammar
from sklearn_cvb.grammar.grammar import TerminalRun, grammar_from

TEXT = "S -> NP VP\nNP -> D N | 'they'\nVP -> V NP | V\nD -> 'the'\nN -> 'duck' | 'saw'\nV -> 'saw'"
X = [["they", "saw", "the", "duck"], ["the", "duck", "saw"], ["they", "saw", "they"]]
TREES = [
    "(S (NP they) (VP (V saw) (NP (D the) (N duck))))",
    "(S (NP (D the) (N duck)) (VP (V saw)))",
    "(S (NP they) (VP (V saw) (NP they)))",
]


def flat(tree):
    return " ".join(str(tree).split())


@pytest.mark.parametrize(
    "grammar",
    [
        TEXT,
        nltk.CFG.fromstring(TEXT),
        Grammar.from_text(TEXT),
        TREES,
        [nltk.Tree.fromstring(t) for t in TREES],
    ],
    ids=["text", "CFG", "Grammar", "bracketed trees", "trees"],
)
def test_all_forms_of_a_grammar_parse_alike(grammar):
    model = EMPCFG(grammar, random_state=0).fit(X)
    assert [flat(tree) for tree in model.predict(X)] == TREES
    assert [flat(tree) for tree in model.labels_] == TREES
    assert sorted(model.symbols_) == ["D", "N", "NP", "S", "V", "VP"]
    assert model.vocabulary_.tolist() == ["duck", "saw", "the", "they"]


def test_probabilities_of_a_treebank_are_relative_frequencies():
    grammar = Grammar.from_trees(TREES)
    probabilities = {str(p): p.prob() for p in grammar.to_nltk().productions()}
    assert probabilities["NP -> 'they' [0.6]"] == pytest.approx(3 / 5)
    assert probabilities["VP -> V [0.333333]"] == pytest.approx(1 / 3)
    assert np.isclose(grammar.probabilities.sum(), len(grammar.symbols))
    # Complete data: maximum likelihood is where the treebank already is.
    model = EMPCFG(TREES, max_iter=1).fit(X)
    np.testing.assert_allclose(model.rule_probabilities_, grammar.probabilities, atol=1e-12)


def test_roots_that_differ_get_a_common_start():
    grammar = Grammar.from_trees(["(S (N a) (V b))", "(N a)", "(N a)"])
    assert grammar.symbols[grammar.start] == "TOP"
    tops = [p for p in grammar.to_nltk().productions() if str(p.lhs()) == "TOP"]
    assert {str(p.rhs()[0]): p.prob() for p in tops} == pytest.approx({"S": 1 / 3, "N": 2 / 3})
    model = EMPCFG(grammar, alpha=1.0).fit([["a", "b"]])
    assert flat(model.predict([["a"]])[0]) == "(TOP (N a))"


def test_nltk_grammars_go_in_and_out():
    text = "S -> A S [0.25] | 'b' [0.75]\nA -> 'a' 'a' [0.5] | 'a' [0.5]"
    pcfg = nltk.PCFG.fromstring(text)
    back = Grammar.from_nltk(pcfg).to_nltk()
    assert sorted(map(str, back.productions())) == sorted(map(str, pcfg.productions()))
    assert back.start() == pcfg.start()
    model = EMPCFG(pcfg, max_iter=3).fit([list("aab"), list("ab")])
    learned = model.grammar_
    assert isinstance(learned, nltk.PCFG)
    parsed = next(nltk.ViterbiParser(learned).parse(list("ab")))
    assert flat(model.predict([list("ab")])[0]) == " ".join(str(parsed).split(" (p=")[0].split())
    assert np.exp(model.score_samples([list("ab")])[0]) == pytest.approx(parsed.prob())


def test_equal_rules_are_merged():
    grammar = Grammar.from_nltk(nltk.PCFG.fromstring("S -> 'a' [0.25] | 'b' [0.5] | 'a' [0.25]"))
    assert len(grammar.rules) == 2
    assert grammar.probabilities.tolist() == [0.5, 0.5]


def test_long_and_mixed_rules_come_back_whole():
    text = "S -> 'if' S 'then' S 'else' S | A A A | A\nA -> 'x' | 'y' 'z'"
    model = VBPCFG(text, random_state=0).fit(
        [["if", "x", "then", "x", "x", "x", "else", "y", "z"], ["x", "y", "z", "x"], ["x"]]
    )
    trees = [flat(tree) for tree in model.labels_]
    assert trees[0] == "(S if (S (A x)) then (S (A x) (A x) (A x)) else (S (A y z)))"
    assert trees[1:] == ["(S (A x) (A y z) (A x))", "(S (A x))"]


def test_full_grammar():
    grammar = Grammar.full(3, ["a", "b"])
    assert grammar.symbols == ("S", "N1", "N2")
    assert len(grammar.rules) == 3 * (9 + 2)
    model = EMPCFG(n_components=3, handle_unknown="error", random_state=0).fit([["a", "b"], ["b"]])
    assert model.rules_.rules == grammar.rules
    assert VBPCFG(n_components=1).fit([["a"], ["a", "a"]]).rules_.symbols == ("S",)


def test_substrings_of_a_corpus():
    words = ["aba", "ab"]
    grammar = Grammar.from_text("W -> P R | R").with_substrings(["P", "R"], words).check()
    pieces = {rule.right[0] for rule in grammar.rules if isinstance(rule.right[0], TerminalRun)}
    assert pieces == set(map(TerminalRun, ["a", "b", "ab", "ba", "aba"]))
    assert len(grammar.rules) == 2 + 2 * 5
    short = Grammar.from_text("W -> R").with_substrings(["R"], words, longest=2)
    assert len(short.rules) == 1 + 4
    with pytest.raises(ValueError, match=re.escape("['Q'] are no symbols of the grammar")):
        grammar.with_substrings(["Q"], words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "S -> A 'b'",
            "symbols ['A'] (1 in all) are used but have no rules; words stand in quotes",
        ),
        ("S -> 'a'\nB -> 'b'\nC -> B", "symbols ['B', 'C'] (2 in all) cannot be reached from the"),
        ("S -> 'a' | ", "symbols ['S'] (1 in all) have an empty rule"),
        ("S -> S S | S A | 'b'\nA -> A S", "symbols ['A'] (1 in all) derive no words"),
        ("%start T\nS -> 'a'", "the start symbol 'T' has no rules"),
    ],
)
def test_useless_grammars_are_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        EMPCFG(text).fit([["a"]])


def test_other_mistakes():
    with pytest.raises(ValueError, match="tree 1 has a node 'N' without children"):
        Grammar.from_trees(["(S a)", "(S (N ) a)"])
    with pytest.raises(TypeError, match="tree 0 is 3 of type int"):
        Grammar.from_trees([3])
    with pytest.raises(ValueError, match="no tree to read"):
        Grammar.from_trees([])
    with pytest.raises(ValueError, match="vocabulary is for a model without grammar"):
        EMPCFG("S -> 'a'", vocabulary=["a"]).fit([["a"]])
    with pytest.raises(ValueError, match="init='grammar' needs a grammar with probabilities"):
        EMPCFG("S -> 'a'", init="grammar").fit([["a"]])
    with pytest.raises(ValueError, match=r"init must hold 2 weights.*shape \(3,\)"):
        EMPCFG("S -> 'a' | 'b'", init=[1, 1, 1]).fit([["a"]])
    with pytest.raises(ValueError, match="init='trees' weighs all trees alike, but a cycle"):
        EMPCFG("S -> A | 'a' 'b'\nA -> S | 'a'", init="trees").fit([["a"]])


def test_trees_and_brackets_restrict_the_chart():
    text = "S -> S S | 'a'"
    sentence = [["a"] * 4]
    free = EMPCFG(text, max_iter=1).fit(sentence)
    theta = free.rule_probabilities_
    each = np.log(theta[0]) * 3 + np.log(theta[1]) * 4
    assert free.history_[0] == pytest.approx(np.log(5) + each)
    for known, n_trees in [
        ("(S (S (S a) (S a)) (S (S a) (S a)))", 1),
        ([(0, 2), (2, 4)], 1),
        ([(1, 3)], 2),
        ([(0, 3, "S")], 2),
        ([], 5),
        (None, 5),
    ]:
        model = EMPCFG(text, max_iter=1).fit(sentence, [known])
        assert model.history_[0] == pytest.approx(np.log(n_trees) + each), known
    blind = EMPCFG(text, max_iter=1, supervision="none").fit(sentence, [[(0, 2), (2, 4)]])
    assert blind.history_[0] == pytest.approx(free.history_[0], abs=1e-12)


def test_labelled_brackets_choose_the_label():
    text = "S -> A A | A B | B A\nA -> 'x' | 'y'\nB -> 'x' | 'y'"
    y = ["(S (B x) (A y))", None]
    model = VBPCFG(text, random_state=0).fit([["x", "y"], ["x", "y"]], y)
    assert flat(model.labels_[0]) == y[0]
    spans = [[(0, 1, "B")], None]
    assert flat(VBPCFG(text, random_state=0).fit([["x", "y"]] * 2, spans).labels_[0]) == y[0]
    # Without a grammar labels mean nothing, only the spans do.
    full = VBPCFG(random_state=0).fit([["x", "y", "x"]], ["(T (Q x y) (Q x))"])
    assert [len(child.leaves()) for child in full.labels_[0]] == [2, 1]


def test_mistakes_in_y():
    fit = EMPCFG("S -> S S | 'a'").fit
    sentences = [["a", "a"], ["a", "a", "a"]]
    with pytest.raises(ValueError, match=r"sentence 1 has 3 tokens but y\[1\] has 2 leaves"):
        fit(sentences, [None, "(S (S a) (S a))"])
    with pytest.raises(ValueError, match=r"y\[0\] has the leaf 'b' where sentence 0 has 'a'"):
        fit(sentences, ["(S (S a) (S b))", None])
    with pytest.raises(ValueError, match="X holds 2 sequences but y 1"):
        fit(sentences, [None])
    with pytest.raises(ValueError, match=r"1 brackets have labels that are no symbols.*'Q'"):
        fit(sentences, [None, [(0, 2, "Q")]])
    with pytest.raises(ValueError, match=r"y\[1\] holds \(2, 4\), but sentence 1 has 3 tokens"):
        fit(sentences, [None, [(2, 4)]])
    with pytest.raises(TypeError, match=r"y\[0\] is 'NP': y holds one nltk.Tree"):
        fit(sentences, ["NP", "NP"])
    with pytest.raises(TypeError, match=r"y\[0\] holds 'NN': y holds one nltk.Tree"):
        fit(sentences, [["NN", "NN"], None])


def test_arrows_and_lines_are_read():
    expected = Grammar.from_text("S -> A B\nA -> 'a'\nB -> 'b' | 'c'")
    for given in ("S → A B\nA → 'a'\nB → 'b' | 'c'", ["S -> A B", "A -> 'a'", "B -> 'b' | 'c'"]):
        found = grammar_from(given)
        assert (found.symbols, found.rules) == (expected.symbols, expected.rules)
