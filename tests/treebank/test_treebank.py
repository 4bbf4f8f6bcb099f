"""Trees in and out: what is cleaned, binarised and put back, and what is refused."""

import numpy as np
import pytest
from nltk import Tree

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG
from sklearn_cvb.kernels.treebank.arrays import Parses
from sklearn_cvb.treebank.binarise import Debinarisation, binarise, to_nltk
from sklearn_cvb.treebank.reading import (
    bare_label,
    clean_tree,
    trees_in,
    without_top,
)


def treebank_of(texts, horizontal=0):
    gold = without_top(trees_in(texts, "X"))
    leaves = [leaf for tree in gold.trees for leaf in tree.leaves()]
    index = {leaf: n for n, leaf in enumerate(dict.fromkeys(leaves))}
    treebank = binarise(gold.trees, [index[leaf] for leaf in leaves], gold.top_label, horizontal)
    return treebank, list(index)


def names_of(treebank, words):
    """Rules by name, with how often they are used."""
    names, rules = list(map(str, treebank.symbols)), {}
    kinds = treebank.roots, treebank.binary, treebank.unary, treebank.words
    counts = iter(treebank.counts.tolist())
    for kind, keys in enumerate(kinds):
        for key in keys:
            if kind == 0:
                shown = names[key]
            elif kind == 3:
                shown = f"{names[key[0]]} -> '{words[key[1]]}'"
            else:
                shown = f"{names[key[0]]} -> {' '.join(names[part] for part in key[1:])}"
            rules[shown] = next(counts)
    return rules


def parses_of(treebank):
    """The trees of a treebank as a parser would give them."""
    trees = treebank.trees
    keys = [*treebank.roots, *treebank.binary, *treebank.unary, *treebank.words]
    rows, starts = [], [0]
    for i in range(len(trees.root)):

        def visit(node, begin):
            key = keys[trees.rule[node]]
            place = len(rows)
            rows.append(None)
            children = [c for c in (trees.left[node], trees.right[node]) if c >= 0]
            end = begin + (not children)
            for child in children:
                end = visit(child, end)
            rows[place] = (key[0], begin, end)
            return end

        visit(trees.starts[i + 1] - 1, 0)
        starts.append(len(rows))
    return Parses(np.array(starts), *np.array(rows).T)


BRACKETS = [
    # As it comes, and as it comes back.
    ("( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBD ran) (NP (-NONE- *-1)))) )",
     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))"),
    ("(S (NP (-LRB- -LRB-) (NN dog) (-RRB- -RRB-)) (VP=2 (VBD ran)))",
     "(S (NP (-LRB- -LRB-) (NN dog) (-RRB- -RRB-)) (VP (VBD ran)))"),
    ("(S (A a) (B b) (C c) (D d) (E e))", "(S (A a) (B b) (C c) (D d) (E e))"),
    ("(S (X (X (A a) (B b))))", "(S (X (A a) (B b)))"),
    ("(S (NP (QP (NP (NN dog)))) (VP (VBD ran)))", "(S (NP (QP (NP (NN dog)))) (VP (VBD ran)))"),
    ("(S (NP (QP (NP (A a) (B b)))) (VP (VBD ran)))", "(S (NP (A a) (B b)) (VP (VBD ran)))"),
    ("(FRAG dog)", "(FRAG dog)"),
    ("(FRAG (FRAG (NN dog)))", "(FRAG (NN dog))"),
    ("(NP the (JJ big) dog)", "(NP the (JJ big) dog)"),
    ("(NP (NP the dog) (VP ran))", "(NP (NP the dog) (VP ran))"),
    ("(S (PRT|ADVP up) (B b))", "(S (PRT up) (B b))"),
    ("(S (VP (VP-1 (VB go)) (VP (VB run))))", "(S (VP (VP (VB go)) (VP (VB run))))"),
]  # fmt: skip


@pytest.mark.parametrize("horizontal", [0, 1, 2, None])
def test_trees_come_back_as_they_were(horizontal):
    """Chains each in a treebank of its own, where its path is the most frequent one."""
    for given, expected in BRACKETS:
        treebank, _ = treebank_of([given, "(TOP (A a) (B b))"], horizontal)
        output = Debinarisation(treebank.symbols, treebank.unary_paths, treebank.top_label, "S")
        words = [Tree.fromstring(expected).leaves(), ["a", "b"]]
        tree = to_nltk(output, parses_of(treebank), words)[0]
        assert str(tree).split() == str(Tree.fromstring(expected)).split()


def test_rules_of_a_binarised_treebank():
    treebank, words = treebank_of(
        ["(S (A a) (B b) (C c) (D d))", "(S (X (Y (A a) (B b))))", "(S (X (A a)))"]
    )
    assert names_of(treebank, words) == {
        "S": 3,
        "S -> A @S": 1,
        "@S -> B @S": 1,
        "@S -> C D": 1,
        "Y -> A B": 1,
        "S -> Y": 1,
        "S -> A": 1,
        "A -> 'a'": 3,
        "B -> 'b'": 2,
        "C -> 'c'": 1,
        "D -> 'd'": 1,
    }
    trees = treebank.trees
    assert (np.diff(trees.starts) == [7, 4, 2]).all()
    nodes = np.arange(len(trees.rule))
    assert (trees.left < nodes).all()
    assert (trees.right < nodes).all()


@pytest.mark.parametrize(
    ("horizontal", "helpers"),
    [(0, {"@S"}), (1, {"@S_A", "@S_B", "@S_C"}), (None, {"@S_A", "@S_A_B", "@S_A_B_C"})],
)
def test_helpers_remember_sisters(horizontal, helpers):
    treebank, _ = treebank_of(["(S (A a) (B b) (C c) (D d) (E e))"], horizontal)
    assert {str(s) for s in treebank.symbols if not s.is_label} == helpers


def test_the_most_frequent_path_is_put_back():
    texts = ["(S (X (Q (A a) (B b))))"] + ["(S (Y (Q (A a) (B b))))"] * 2
    texts.append("(S (A a) (B b))")
    treebank, _ = treebank_of(texts)
    output = Debinarisation(treebank.symbols, treebank.unary_paths, treebank.top_label, "S")
    trees = to_nltk(output, parses_of(treebank), [["a", "b"]] * 4)
    assert {str(tree) for tree in trees[:3]} == {"(S (Y (Q (A a) (B b))))"}


def test_a_label_above_all_trees_is_put_back():
    texts = ["(TOP (S (A a) (B b)))", "(TOP (FRAG (A a)))", "(TOP (S (A a) (B (A a))))"]
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=0).fit(texts)
    assert [children for parent, children in model.rules_ if parent is None] == [("S",), ("FRAG",)]
    assert str(model.predict([["a", "b"]])[0]) == texts[0]
    assert model.symbols_.tolist() == ["A", "B", "FRAG", "S", "TOP"]
    # No: a tree has another root; one's has two children; the label is elsewhere, too.
    for other in ("(S (A a))", "(TOP (A a) (B b))", "(TOP (S (TOP (A a)) (B b)))"):
        gold = without_top(trees_in([*texts, other], "X"))
        assert gold.top_label is None
        assert gold.trees[0].label() == "TOP"


def test_a_sentence_without_a_tree_is_flat_and_named():
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=0).fit(["(TOP (S (A a) (B b)))"] * 2)
    with pytest.warns(UserWarning, match=r"no tree derives sentences \[1\] \(1 in all\)"):
        trees = model.predict([["a", "b"], ["b", "b", "a"]])
    assert str(trees[1]) == "(TOP (S b b a))"
    assert model.score_samples([["b", "b", "a"]])[0] == -np.inf


REFUSED = [
    ([["a", "b"]], ["(S (A a) (C c))"], ValueError, r"y\[0\] has the leaf 'c' where sentence 0"),
    ([["a"], ["a"]], ["(S (A a))", "(S (A a) (B b))"], ValueError, r"sentence 1 has 1 tokens but"),
    ([["a"]], ["(S (A a))", "(S (A a))"], ValueError, "X holds 1 sequences but y 2"),
    ([["a"]], ["(S (A a) (B ))"], ValueError, r"y\[0\] has a node 'B' without children"),
    ([["a"]], [Tree("S", [])], ValueError, r"y\[0\] has a node 'S' without children"),
    ([["a"]], ["(S (-NONE- *))"], ValueError, r"y\[0\] has no words but traces"),
    ([["a"]], ["(S (A a)"], ValueError, r"y\[0\] is no tree in brackets"),
    ([["a"]], ["S"], ValueError, r"y\[0\] is no tree in brackets"),
    ([["a"]], [None], TypeError, r"y\[0\] is None: y holds a tree for each sentence"),
    ([["a"]], [["a"]], TypeError, r"y\[0\] is \['a'\]: y holds a tree"),
    ([["a"]], [Tree("S", [None])], ValueError, r"y\[0\] has no word but NaN or None below 'S'"),
    ([["a"]], "(S (A a))", TypeError, r"y is '\(S \(A a\)\)'"),
    (["a"], ["(S (A a))"], TypeError, r"X\[0\] is the string 'a'"),
    ([["a"]], None, ValueError, "requires y to be passed, but the target y is None"),
    (["(S (A a))", "(S ())"], None, ValueError, r"X\[1\] has a node '' without children"),
    (["(S (A a))", "a"], None, ValueError, r"X\[1\] is no tree in brackets"),
    (["(S (A a))", 3], None, TypeError, r"X\[1\] is 3"),
    (["(S (A a))"], ["(S (A a))"], ValueError, "X holds trees, and so does y"),
    ("(S (A a))", None, TypeError, r"X is '\(S \(A a\)\)', a single tree: pass a list of trees"),
    (Tree("S", ["a"]), None, TypeError, r"X is Tree\('S', \['a'\]\), a single tree"),
    ([], [], ValueError, "0 sample"),
    ([[0, 1], [1, None]], ["(S 0 1)", "(S 1 None)"], ValueError, "NaN or None"),
]


@pytest.mark.parametrize(("X", "y", "error", "message"), REFUSED)
def test_what_is_no_treebank_is_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        EMLatentPCFG().fit(X, y)


def test_who_needs_every_token_is_named():
    model = EMLatentPCFG(max_iter=2, random_state=0).fit(["(S (A a) (A b))"])
    with pytest.raises(ValueError, match="a treebank grammar needs every token"):
        model.predict([["a", None]])


def test_all_wrong_trees_are_named_at_once():
    trees = ["(S (A a))", "(S ())", "(S (A a)", "(S (-NONE- *))"]
    with pytest.raises(
        ValueError, match=r"^X\[1\] has a node .*\(3 of 4 trees are wrong: 1, 2, 3\)"
    ):
        EMLatentPCFG().fit(trees)
    y = ["(S (A a))", "(S (A b))", "(S (A a)"]
    with pytest.raises(ValueError, match=r"^y\[1\] has the leaf 'b' .*\(2 of 3 .*wrong: 1, 2\)"):
        EMLatentPCFG().fit([["a"], ["a"], ["a"]], y)


def test_words_are_those_of_the_sentence():
    """Numbers in X are written as text in brackets."""
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=0).fit(
        [[1, 2], [2, 2]], ["(S (A 1) (B 2))", "(S (A 2) (B 2))"]
    )
    assert model.vocabulary_.tolist() == [1, 2]
    assert model.predict([[1, 2]])[0].leaves() == [1, 2]


@pytest.mark.filterwarnings("ignore:sentence 3 holds more than half")
def test_a_tree_may_have_many_words_and_be_deep():
    deep = Tree("S", [Tree("A", ["a"]), Tree("B", ["b"])])
    for _ in range(150):
        deep = Tree("S", [Tree("A", ["a"]), deep])
    flat = Tree("S", [Tree("A", ["a"])] * 2000)
    model = CVBLatentPCFG(random_state=0, max_iter=3, rare_threshold=0).fit([deep] * 3 + [flat])
    assert np.isfinite(model.history_).all()
    assert clean_tree(deep, "X[0]") == deep


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP-SBJ-1", "NP"),
        ("ADVP-PRD-LOC=3", "ADVP"),
        ("ADVP|PRT", "ADVP"),
        ("NP-PN-SBJ", "NP"),
        ("-LRB-", "-LRB-"),
        ("v-fin", "v-fin"),
        ("v-pcp", "v-pcp"),
        ("STA+fcl", "STA+fcl"),
        ("NP|<DT-NN>", "NP|<DT-NN>"),
    ],
)
def test_only_what_penn_treebanks_add_to_a_label_is_taken_off(label, bare):
    assert bare_label(label) == bare


def test_labels_of_other_treebanks_are_kept():
    trees = [f"(S (np (n cat)) (v-{form} runs))" for form in ("fin", "inf", "pcp")]
    symbols = CVBLatentPCFG(1, random_state=0).fit(trees).symbols_.tolist()
    assert {"v-fin", "v-inf", "v-pcp"} <= set(symbols)


def test_the_number_of_subtypes_needs_no_name():
    assert CVBLatentPCFG(3).n_subtypes == 3
    with pytest.raises(TypeError, match="positional"):
        CVBLatentPCFG(3, "fixed")
