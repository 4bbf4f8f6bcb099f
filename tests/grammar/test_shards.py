"""Grammars learned from sentences in shards: as from the whole, whatever the cut."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from estimators import asked_in_parts
from sklearn.base import clone

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, HastingsPCFG
from sklearn_cvb.scale.grammars.parts import GrammarPartLayout, shard_of
from sklearn_cvb.scale.symbols.vocabulary_pass import read_local_parts, read_part

TEXT = """
S -> NP VP
NP -> D N | NP PP | 'they'
VP -> V NP | VP PP | V
PP -> P NP
D -> 'the' | 'a'
N -> 'dog' | 'saw' | 'man'
V -> 'saw' | 'man' | 'sees'
P -> 'with' | 'by'
"""
SENTENCES = [
    text.split()
    for text in (
        "they saw the dog",
        "the man saw a dog with a saw",
        "they sees",
        "dog the",
        "a dog man the man by the dog with a saw",
        "they saw they",
        "the dog sees a man by a man",
    )
] * 3
COMMON = {"max_iter": 8, "tol": 0, "random_state": 1}
BATCH = {
    "EM": EMPCFG(TEXT, **COMMON),
    "Viterbi training": EMPCFG(TEXT, update="viterbi", **COMMON),
    "EM, smoothed": EMPCFG(TEXT, alpha=0.2, init="uniform", **COMMON),
    "EM without grammar": EMPCFG(n_components=3, **COMMON),
    "VB": VBPCFG(TEXT, **COMMON),
    "VB, learned": VBPCFG(TEXT, alpha="auto", **COMMON),
    "VB, independent": VBPCFG(n_components=3, rules="independent", **COMMON),
}
COLLAPSED = {
    "CVB": CVBPCFG(TEXT, **COMMON),
    "CVB, learned": CVBPCFG(TEXT, alpha="auto", **COMMON),
    "CVB without grammar": CVBPCFG(n_components=3, handle_unknown="rare", **COMMON),
    "CVB, independent": CVBPCFG(n_components=3, rules="independent", **COMMON),
}


def fit_here(model, parts):
    """Fit a model on parts in this process; returns what was read."""
    read = read_local_parts(*asked_in_parts(model), parts)
    model._fit_reading(read, None, None)
    return read


def parts_of(n):
    cuts = np.linspace(0, len(SENTENCES), n + 1).astype(int)
    return [(SENTENCES[a:b], None) for a, b in pairwise(cuts.tolist())]


def both(model, n):
    plain, sharded = clone(model), clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(SENTENCES)
        fit_here(sharded, parts_of(n))
    return plain, sharded


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", BATCH)
def test_shards_do_not_change_em_and_vb(name):
    plain, one = both(BATCH[name], 1)
    assert np.array_equal(one.history_, plain.history_)
    assert np.array_equal(one.counts_.rule, plain.counts_.rule)
    assert np.array_equal(one.unexplained_, plain.unexplained_)
    assert np.array_equal(one.score_samples(SENTENCES), plain.score_samples(SENTENCES))
    plain, several = both(BATCH[name], 4)
    np.testing.assert_allclose(several.history_, plain.history_, rtol=1e-12)
    np.testing.assert_allclose(several.counts_.rule, plain.counts_.rule, rtol=1e-11, atol=1e-12)
    assert np.array_equal(several.unexplained_, plain.unexplained_)


@pytest.mark.parametrize("name", ["EM", "CVB"])
def test_batches_after_a_fit_count_what_was_left_out_by_its_own_length(name):
    """The sentence without a tree is shorter than the mean."""
    for n in (1, 4):
        plain, sharded = both((BATCH | COLLAPSED)[name], n)
        assert len(plain.unexplained_) == 3
        assert sharded._learned.seen_so_far[:3] == plain._learned.seen_so_far[:3]
        assert plain._learned.seen_so_far.n_tokens == sum(map(len, SENTENCES)) - 3 * 2


@pytest.mark.parametrize("name", COLLAPSED)
def test_cvb_in_one_shard_is_plain_and_in_several_comes_near(name):
    plain, one = both(COLLAPSED[name], 1)
    np.testing.assert_allclose(one.history_, plain.history_, rtol=1e-9)
    np.testing.assert_allclose(one.counts_.rule, plain.counts_.rule, rtol=1e-7, atol=1e-9)
    assert one.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    plain, several = both(COLLAPSED[name], 3)
    # Words are emitted once each: the counts of lexical rules sum to the words of what is derived.
    assert several.counts_.rule.sum() == pytest.approx(plain.counts_.rule.sum(), rel=0.02)
    assert several.objective_ == pytest.approx(plain.objective_, abs=0.1)


def test_a_lost_shard_infers_once_and_the_start_symbol_counts_every_sentence():
    model = CVBPCFG(TEXT, **COMMON)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = fit_here(model, parts_of(3))
        whole, observation = read.problem, model._observation(to_fit=True)
        ask, starts = whole.source.ask, []

        def losing(name, *arguments):
            if name == "sweep" and arguments[1].n_sweeps == 4:
                place = whole.source.shards[1].index
                part = read_part(*parts_of(3)[1])
                whole.source.shards[1] = shard_of(
                    GrammarPartLayout(observation, read.words, whole.layout), part, place
                )
            found = ask(name, *arguments)
            if name != "n_tokens_of":
                starts.append(found.counts[0])
            return found

        whole.source.ask, before = losing, model.history_
        model._fit_reading(read, None, None)
    # Each explained sentence uses the only rule of S once.
    assert starts == pytest.approx([len(SENTENCES) - 3] * len(starts), rel=1e-12)
    assert np.array_equal(model.history_[:4], before[:4])
    assert model.history_[4] != before[4]


def test_what_shards_cannot_do_is_refused_by_name():
    with pytest.raises(ValueError, match="HastingsPCFG does not learn in shards"):
        fit_here(HastingsPCFG(TEXT), parts_of(2))
    with pytest.raises(ValueError, match="use update='batch'"):
        fit_here(EMPCFG(TEXT, update="sequence"), parts_of(2))
