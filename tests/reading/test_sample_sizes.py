"""Samples that are too large or too deep: told by number, length and gigabytes, and at once."""

import re

import nltk
import numpy as np
import pytest

from sklearn_cvb import (
    EMDMV,
    EMPCFG,
    CVBAlignmentHMM,
    EMAlignmentHMM,
    EMLatentPCFG,
    GibbsAlignmentHMM,
    VBAlignmentHMM,
)
from sklearn_cvb.reading import sample_sizes

GRAMMAR = "S -> A S | A\nA -> 'a' | 'b'"
TREE = nltk.Tree.fromstring("(S (A a) (B b))")


def _sentences(n):
    return [["a", "b"], ["a"] * n]


def _pairs(n):
    return [(["a"], ["b"]), (["a"] * n, ["b"] * n)]


def _latent():
    return EMLatentPCFG(2, max_iter=1).fit([["a", "b"]] * 3, [TREE] * 3)


# What is done, on so many words, and what is said of the sample and its gigabytes. A span of a
# grammar with two symbols takes 28 bytes a symbol and 24 more.
CASES = {
    "rules": (lambda: EMPCFG(max_iter=1).fit, _sentences, "sentence 1 has 20,000 words", 16.0),
    "grammar": (
        lambda: EMPCFG(GRAMMAR, max_iter=1).fit,
        _sentences,
        "sentence 1 has 20,000 words",
        16.0,
    ),
    "parsing": (
        lambda: EMPCFG.from_parameters("S -> A S [0.5] | A [0.5]\nA -> 'a' [1.0]").predict,
        lambda n: [["a"], ["a"] * n],
        "sentence 1 has 20,000 words",
        16.0,
    ),
    "dependencies": (
        lambda: EMDMV(max_iter=1).fit,
        _sentences,
        "sentence 1 has 20,000 tags",
        54.4,
    ),
    "latent": (lambda: _latent().predict, _sentences, "sentence 1 has 20,000 words", 28.8),
    "alignment": (
        lambda: EMAlignmentHMM(max_iter=1).fit,
        _pairs,
        "pair 1 has 20,000 source and 20,000 target words",
        22.4,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_takes_more_memory_than_there_is_is_refused_at_once(name, monkeypatch):
    make, sample_of, said, gigabytes = CASES[name]
    infer = make()
    monkeypatch.setattr(sample_sizes, "free_memory", lambda: 8e9)
    with pytest.raises(MemoryError) as error:
        infer(sample_of(20_000))
    assert str(error.value) == (
        f"{said}: to infer it takes {gigabytes} GB of memory, more than four fifths of the 8.0 GB "
        "that are free: cut it into shorter ones, or leave it out"
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*more than half of all tokens")
def test_what_takes_minutes_is_warned_of(name, monkeypatch):
    make, sample_of, said, _ = CASES[name]
    infer = make()
    monkeypatch.setattr(sample_sizes, "MANY_STEPS", 100)
    said = said.replace("20,000", "20")
    expected = rf"^{said}: to infer it once takes minutes \(\de\+0\d steps, 0\.0 GB of mem"
    with pytest.warns(UserWarning, match=expected):
        infer(sample_of(20))


def test_a_machine_that_does_not_say_has_room():
    assert sample_sizes.free_memory() > 1e8


@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda tree: EMLatentPCFG(2).fit([["a", "b"], ["a"]], [TREE, tree]), "y[1]"),
        (lambda tree: EMLatentPCFG(2).fit([TREE, tree]), "X[1]"),
        (lambda tree: EMPCFG().fit([["a", "b"], ["a"]], [TREE, tree]), "y[1]"),
    ],
)
def test_trees_of_thousands_of_levels_are_refused_by_name(fit, name):
    tree = nltk.Tree("A", ["a"])
    for _ in range(4999):
        tree = nltk.Tree("S", [tree])
    with pytest.raises(ValueError, match=re.escape(f"{name} has 5,000 levels, and trees are read")):
        fit(tree)


def test_trees_of_hundreds_of_levels_are_read():
    tree = nltk.Tree("A", ["a"])
    for _ in range(300):
        tree = nltk.Tree("S", [tree, nltk.Tree("B", ["b"])])
    words = tree.leaves()
    # Of 300 binary rules of S the last has an A below.
    model = EMLatentPCFG(1, max_iter=2, tol=1e9).fit([words, words], [tree, tree])
    assert model.history_[-1] == pytest.approx(2 * (299 * np.log(299 / 300) - np.log(300)))


PAIRS = [
    (["a", "b", "c", "d"], ["x", "y", "z"]),
    (["b", "a", "c"], ["y", "x", "z", "w"]),
    (["d", "e"], ["w", "v"]),
]


@pytest.mark.parametrize(
    "kind", [EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM, GibbsAlignmentHMM]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_jumps_out_of_all_sentences_cost_nothing_and_tell_nothing(kind):
    far, near = (kind(longest_jump=n, max_iter=6, random_state=0).fit(PAIRS) for n in (10_000, 10))
    assert len(far.jumpprob_) == len(near.jumpprob_) == 21
    np.testing.assert_array_equal(far.history_, near.history_)
    assert far.score(PAIRS) == near.score(PAIRS)
    longer = [*PAIRS, (list("abcdefghijklmnop"), list("xyz"))]
    assert len(kind(longest_jump=10_000, max_iter=1).fit(longer).jumpprob_) == 33


def test_who_draws_nothing_but_what_is_too_long_is_told():
    told = "trees were too long: choose a larger longest, or draw fewer"
    with pytest.raises(ValueError, match=told):
        sample_sizes.drawn_within(lambda: None, 1, 3, "trees were too long", "draw fewer")
    odd = iter([None, "a", None, "b"])
    assert sample_sizes.drawn_within(lambda: next(odd), 2, 3, "trees", "draw fewer") == ["a", "b"]
