"""Bracket, segment and tree scores against counts made by hand."""

import math
from itertools import pairwise

import nltk
import numpy as np
import pytest
from nltk import Tree

from sklearn_cvb import EMPCFG, metrics
from sklearn_cvb.metrics import (
    boundary_scores,
    bracket_f1,
    bracket_scores,
    segmentation_f1,
    segmentation_scores,
    tree_perplexity,
)

GOLD = (
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (PRP it)) (PP (IN at) (NN noon))))"
    " (. .)))"
)
GUESS = "(S (NP (DT the) (NN dog)) (VP (VP (VBD saw) (NP (PRP it))) (PP (IN at) (NN noon)) (. .)))"


def test_brackets_by_hand():
    # Gold: S(0,6) NP(0,2) VP(2,6) NP(3,6) NP(3,4) PP(4,6); no full stop, no TOP.
    # Guess: S(0,6) NP(0,2) VP(2,6) VP(2,4) NP(3,4) PP(4,6).
    scores = bracket_scores([GOLD], [GUESS])
    assert scores == (5 / 6, 5 / 6, 5 / 6, 0.0)
    unlabelled = bracket_scores([GOLD], [GUESS], labelled=False)
    assert unlabelled == (5 / 6, 5 / 6, 5 / 6, 0.0)
    # With punctuation the guess's VP reaches one word further.
    kept = bracket_scores([GOLD], [GUESS], ignored_tags=())
    assert kept.precision == pytest.approx(4 / 6)
    with_root = bracket_scores([GOLD], [GUESS], ignored_labels=())
    assert (with_root.precision, with_root.recall) == (5 / 6, 5 / 7)
    inner = bracket_scores([GOLD], [GUESS], trivial=False)
    assert inner.precision == pytest.approx(4 / 5)


def test_repeated_brackets_are_a_multiset():
    one, three = "(S (X (X (A a) (B b))))", "(S (X (X (X (A a) (B b)))))"
    scores = bracket_scores([one], [three])
    assert (scores.precision, scores.recall) == (3 / 4, 1.0)
    other = bracket_scores([one], ["(S (Y (X (A a) (B b))))"])
    assert other.f1 == pytest.approx(2 / 3)
    assert bracket_f1([one], ["(S (Y (X (A a) (B b))))"], labelled=False) == 1.0


def test_corpus_scores_are_sums_and_exact_match_is_per_sentence():
    easy, hard = "(S (A a) (B b))", "(S (X (A a) (B b)) (C c))"
    scores = bracket_scores([easy, hard, None], [easy, "(S (A a) (X (B b) (C c)))", easy])
    assert scores == (2 / 3, 2 / 3, 2 / 3, 0.5)
    trees = [Tree.fromstring(easy), Tree.fromstring(hard)]
    assert bracket_scores(trees, trees) == (1.0, 1.0, 1.0, 1.0)
    assert bracket_scores(["(S a)"], ["(S a)"]).f1 == 1.0


def test_equal_labels():
    gold, guess = ["(S (ADVP (RB off) (RB now)) (V go))"], ["(S (PRT (RB off) (RB now)) (V go))"]
    assert bracket_f1(gold, guess) == 1.0
    assert bracket_scores(gold, guess, equal_labels=()).f1 == 0.5


def test_mistakes():
    with pytest.raises(ValueError, match="tree 0 has 1 words but its prediction 2"):
        bracket_f1(["(S a)"], ["(S a b)"])
    with pytest.raises(ValueError, match="1 gold trees but 2 predicted ones"):
        bracket_f1(["(S a)"], ["(S a)", "(S a)"])
    with pytest.raises(ValueError, match="no gold tree"):
        bracket_f1([None], ["(S a)"])
    with pytest.raises(ValueError, match="segmentation 0 has length 3 but its prediction 2"):
        segmentation_f1([["ab", "c"]], [["ab"]])
    with pytest.raises(ValueError, match="per must be 'token' or 'sequence', got 'tree'"):
        tree_perplexity(nltk.PCFG.fromstring("S -> 'a' [1.0]"), ["(S a)"], per="tree")


def test_segments_and_boundaries_by_hand():
    gold = [["u", "kw", "akh", "a"], ["si", "ya"]]
    guess = [["uk", "w", "akh", "a"], ["si", "ya"]]
    segments, boundaries = segmentation_scores(gold, guess), boundary_scores(gold, guess)
    assert segments == (4 / 6, 4 / 6, 4 / 6, 0.5)
    # Inner boundaries 1 3 6 and 2, against 2 3 6 and 2.
    assert boundaries == (3 / 4, 3 / 4, 3 / 4, 0.5)
    assert boundary_scores([["ab"]], [["ab"]]) == (1.0, 1.0, 1.0, 1.0)
    assert boundary_scores([["ab"]], [["a", "b"]]) == (0.0, 0.0, 0.0, 0.0)


def test_trees_are_segmented_by_their_lowest_nodes():
    trees = [
        Tree.fromstring("(W (P u) (St (R k w a k h) (F a)))"),
        Tree("W", ["a", Tree("R", ["b", "c"])]),
    ]
    assert segmentation_f1([["u", "kwakh", "a"], ["a", "bc"]], trees) == 1.0
    assert segmentation_scores([["ukwakh", "a"], ["a", "bc"]], trees).precision == 3 / 5


def test_tree_perplexity_is_that_of_the_rules_used():
    grammar = nltk.PCFG.fromstring("S -> A A [0.25] | A [0.75]\nA -> 'a' [0.5] | 'b' [0.5]")
    trees = ["(S (A a) (A b))", "(S (A a))"]
    log_p = math.log(0.25 * 0.5 * 0.5) + math.log(0.75 * 0.5)
    assert tree_perplexity(grammar, trees) == pytest.approx(math.exp(-log_p / 3))
    assert tree_perplexity(grammar, trees, per="sequence") == pytest.approx(math.exp(-log_p / 2))
    assert tree_perplexity(grammar, ["(S (B a))"]) == math.inf


def test_scorers_compare_predictions():
    X, y = [list("ab"), list("aab")], ["(S (A a) (S b))", "(S (A a) (S (A a) (S b)))"]
    model = EMPCFG("S -> A S | 'b'\nA -> 'a'", supervision="none").fit(X)
    assert metrics.bracket_f1_scorer(model, X, y) == 1.0
    assert metrics.segmentation_f1_scorer(model, X, [["a", "b"], ["aa", "b"]]) == pytest.approx(
        2 * 3 / (4 + 5)
    )


def test_scores_agree_with_a_slow_count():
    rng = np.random.default_rng(0)

    def random_tree(begin, end):
        if end - begin == 1:
            return Tree("T", [f"w{begin}"])
        cuts = sorted({begin, end, *rng.integers(begin + 1, end, size=2).tolist()})
        return Tree(str(rng.choice(list("XY"))), [random_tree(a, b) for a, b in pairwise(cuts)])

    def slow(tree):
        leaves, found = tree.leaves(), []
        for node in tree.subtrees(lambda node: node.height() > 2):
            begin = leaves.index(node.leaves()[0])
            found.append((node.label(), begin, begin + len(node.leaves())))
        return found

    gold = [random_tree(0, n) for n in (2, 4, 7, 9, 9)]
    guess = [random_tree(0, n) for n in (2, 4, 7, 9, 9)]
    common = n_gold = n_guess = 0
    for one, other in zip(gold, guess, strict=True):
        left, right = slow(one), slow(other)
        n_gold, n_guess = n_gold + len(left), n_guess + len(right)
        for bracket in left:
            if bracket in right:
                right.remove(bracket)
                common += 1
    scores = bracket_scores(gold, guess)
    assert (scores.precision, scores.recall) == (common / n_guess, common / n_gold)


RAW = (
    "(S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBD ran) (NP (-NONE- *-1)) (PP-LOC=2 (IN at) (NN noon))))"
)


def test_perfect_parses_are_perfect_against_raw_gold():
    bare = "(S (NP (DT the) (NN dog)) (VP (VBD ran) (PP (IN at) (NN noon))))"
    assert bracket_f1([RAW], [bare]) == 1.0
    assert bracket_scores([RAW], [bare]) == (1.0, 1.0, 1.0, 1.0)
    without_trace = RAW.replace(" (NP (-NONE- *-1))", "")
    # Of S, NP, VP, PP the two with function tags are others.
    assert bracket_f1([without_trace], [bare], clean=False) == 0.5
    with pytest.raises(ValueError, match="tree 0 has 6 words but its prediction 5"):
        bracket_f1([RAW], [bare], clean=False)


def test_labels_of_other_treebanks_are_whole():
    gold, guess = "(X (v-fin (A a) (B b)) (C c))", "(X (v-inf (A a) (B b)) (C c))"
    assert bracket_f1([gold], [guess]) == 0.5
