"""Fits on a corpus in shards: as on the whole, whatever the cut."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from estimators import asked_in_parts
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    Symbols,
    TagDictionary,
    Transitions,
    VBHMMTagger,
    Windows,
)
from sklearn_cvb.chain.tags.word_forms import only_beginning
from sklearn_cvb.reading.corpus import encode, read_ragged
from sklearn_cvb.reading.validation import warn
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    merge_surveys,
    read_local_parts,
    read_part,
    type_corpus_of,
    word_counts_of,
)

TAGS = ["A", "B", "C", "D"]


def sentences(n=60, seed=0):
    """Words with capitals where sentences begin, and here and there None."""
    rng = np.random.default_rng(seed)
    words = [f"{'abcd'[i % 4]}w{'xyz'[i % 3]}{i}" for i in range(24)]
    result = []
    for length in rng.integers(1, 9, n):
        sentence = [words[i] for i in rng.integers(24, size=length)]
        sentence[0] = sentence[0].capitalize()
        if rng.random() < 0.2:
            sentence[-1] = None if length > 1 else sentence[-1]
        result.append(sentence)
    return result


def full():
    """Every word, each with one or two tags."""
    words = sorted({w for s in sentences() for w in s if w is not None})
    return {w: [TAGS[i % 4]] + [TAGS[(i * 3 + 1) % 4]] * (i % 2) for i, w in enumerate(words)}


def partial():
    return {word: tags for i, (word, tags) in enumerate(full().items()) if i % 3}


def labels():
    """Tags of every fifth sentence, one of which the dictionary does not have."""
    legal = full()
    return [
        [None if w is None else legal[w][0] for w in s] if i % 5 == 0 else None
        for i, s in enumerate(sentences())
    ]


def fit_here(model, parts):
    """Fit a model on parts in this process; returns what was read."""
    read = read_local_parts(*asked_in_parts(model), parts)
    warn(read.messages)
    model._fit_reading(read, None, None)
    return read


def parts_of(X, y, n):
    """Parts of unequal size."""
    cuts = np.unique(np.concatenate([[0], np.linspace(1, len(X), n + 1)[1:].astype(int)]))
    cuts[1:-1] += n > 2
    return [(X[a:b], None if y is None else y[a:b]) for a, b in pairwise(cuts.tolist())]


COMMON = {"max_iter": 12, "tol": 0, "random_state": 3}
SMALL = {"alpha": 0.3, "beta": 0.2}
BATCH = {
    "EM": (EMHMM(3, **COMMON), None),
    "Viterbi training": (EMHMM(3, update="viterbi", **COMMON), None),
    "EM with restarts": (EMHMM(3, n_init=3, **COMMON), None),
    "EM, smoothed, ends": (
        EMHMM(3, **COMMON, **SMALL, transitions=Transitions(end_state=True)),
        None,
    ),
    "EM, word": (EMHMM(3, init="word", **COMMON), None),
    "EM, token": (EMHMM(3, init="token", **COMMON), None),
    "EM, left-right": (EMHMM(3, transitions="left-right", **COMMON), None),
    "EM, independent": (EMHMM(3, transitions="independent", init="token", **COMMON), None),
    "VB": (VBHMM(3, **COMMON), None),
    "VB, learned": (VBHMM(3, alpha="auto", beta="auto", **COMMON), None),
    "VB, sparse": (VBHMM(3, alpha=1e-3, beta=1e-3, **COMMON), None),
    "VB, hdp": (VBHMM(4, transitions=Transitions(prior="hdp"), n_init=1, **COMMON), None),
    "EM tagger": (EMHMMTagger(full(), **COMMON, **SMALL), None),
    "EM tagger, restarts": (EMHMMTagger(full(), n_init=3, **COMMON, **SMALL), None),
    "VB tagger, restarts, labels": (VBHMMTagger(full(), n_init=3, **COMMON), labels()),
    "EM tagger, unclean": (EMHMMTagger(TagDictionary(full(), denoise="none"), **COMMON), None),
    "EM tagger, unambiguous": (EMHMMTagger(full(), init="unambiguous", **COMMON), None),
    "EM tagger, partial": (EMHMMTagger(partial(), **COMMON, **SMALL), None),
    "EM tagger, smooth": (
        EMHMMTagger(partial(), emission=Symbols(handle_unknown="rare"), **COMMON),
        None,
    ),
    "EM tagger, labels": (EMHMMTagger(partial(), **COMMON, **SMALL), labels()),
    "VB tagger": (VBHMMTagger(full(), **COMMON), None),
    "VB tagger, labels": (
        VBHMMTagger(TagDictionary(partial(), denoise="none"), **COMMON),
        labels(),
    ),
    "VB tagger, ends": (
        VBHMMTagger(partial(), transitions=Transitions(end_state=True), **COMMON),
        labels(),
    ),
}
COLLAPSED = {
    "CVB": (CVBHMM(3, **COMMON), None),
    "CVB, learned": (CVBHMM(3, alpha="auto", beta="auto", **COMMON), None),
    "CVB, windows": (CVBHMM(3, update=Windows(3), **COMMON), None),
    "CVB, word": (CVBHMM(3, init="word", **COMMON), None),
    "CVB tagger": (CVBHMMTagger(full(), **COMMON), None),
    "CVB tagger, restarts": (CVBHMMTagger(full(), n_init=3, **COMMON), None),
    "CVB tagger, learned": (
        CVBHMMTagger(TagDictionary(full(), denoise="none"), alpha="auto", beta="auto", **COMMON),
        None,
    ),
    "CVB tagger, labels": (CVBHMMTagger(partial(), **COMMON), labels()),
}


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y)


def in_shards(model, X, y, n):
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_here(model, parts_of(X, y, n))
    return model


def tables(model):
    emission = model.counts_.emission
    return [
        model.counts_.start,
        model.counts_.transition,
        emission if isinstance(emission, np.ndarray) else emission.toarray(),
    ]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("name", BATCH)
def test_one_shard_is_the_plain_fit_to_the_last_digit(name):
    model, y = BATCH[name]
    plain, sharded = fitted(model, sentences(), y), in_shards(model, sentences(), y, 1)
    assert np.array_equal(plain.history_, sharded.history_)
    for one, other in zip(tables(plain), tables(sharded), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(plain.vocabulary_, sharded.vocabulary_)
    assert np.array_equal(plain.unexplained_, sharded.unexplained_)
    new = [["Awx0", "bwy1", "never"], ["cwz2"]]
    assert np.array_equal(plain.score_samples(new), sharded.score_samples(new))
    assert [p.tolist() for p in plain.predict(new)] == [p.tolist() for p in sharded.predict(new)]


@pytest.mark.many(usual=8)
@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("name", BATCH)
def test_shards_do_not_change_em_and_vb(name, n):
    model, y = BATCH[name]
    plain, sharded = fitted(model, sentences(), y), in_shards(model, sentences(), y, n)
    np.testing.assert_allclose(sharded.history_, plain.history_, rtol=1e-12, atol=1e-12)
    for one, other in zip(tables(plain), tables(sharded), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", COLLAPSED)
def test_one_shard_of_cvb_is_the_plain_fit(name):
    model, y = COLLAPSED[name]
    plain, sharded = fitted(model, sentences(), y), in_shards(model, sentences(), y, 1)
    np.testing.assert_allclose(sharded.history_, plain.history_, rtol=1e-9)
    assert sharded.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert sharded.alpha_ == pytest.approx(plain.alpha_, rel=1e-9)
    for one, other in zip(tables(plain), tables(sharded), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-7, atol=1e-9)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("name", COLLAPSED)
def test_shards_of_cvb_hold_all_tokens_and_come_near(name):
    model, y = COLLAPSED[name]
    plain, sharded = fitted(model, sentences(), y), in_shards(model, sentences(), y, 4)
    n_observed = sum(word is not None for sentence in sentences() for word in sentence)
    assert sharded.counts_.emission.sum() == pytest.approx(n_observed, rel=1e-12)
    assert sharded.counts_.start.sum() == pytest.approx(len(sentences()), rel=1e-12)
    # The first counts are the same: only who learns when of whom is other.
    assert sharded.objective_ == pytest.approx(plain.objective_, abs=0.05)
    assert sharded.alpha_ == pytest.approx(plain.alpha_, rel=0.5)


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
@pytest.mark.parametrize("cut", [6, 3])
def test_what_no_path_explains_counts_no_token_in_shards_either(kind, cut):
    """Changes and scores are divided by the tokens of the other sequences, as by a plain fit."""
    X = [["a", "a", "c"], ["b", "a"], ["a", "b", "b", "c"], ["b", "b", "c", "c"], ["a", "c"], ["c"]]
    dictionary = {"a": ["A"], "b": ["B"], "c": ["A", "B"]}
    never_back = np.array([[True, False], [True, True]])
    settings = {"transitions": never_back, "init": "parameter", "tol": 1e-3, "random_state": 0}
    plain = kind(dictionary, **settings).fit(X)
    model = kind(dictionary, **settings)
    fit_here(model, [(part, None) for part in (X[:cut], X[cut:]) if part])
    assert model.unexplained_.tolist() == plain.unexplained_.tolist() == [2]
    assert model.n_iter_ == plain.n_iter_
    near = 1e-3 if kind is CVBHMMTagger else 1e-12
    assert model.objective_ == pytest.approx(plain.objective_, rel=near)


def test_a_single_sequence_is_left_out_as_a_whole_only_if_it_is_alone():
    X = sentences(2)
    alone = in_shards(CVBHMM(2, **COMMON), X[:1], None, 1)
    plain = fitted(CVBHMM(2, **COMMON), X[:1], None)
    np.testing.assert_allclose(alone.history_, plain.history_, rtol=1e-12)
    both, whole = in_shards(CVBHMM(2, **COMMON), X, None, 2), fitted(CVBHMM(2, **COMMON), X, None)
    assert both.history_[0] == pytest.approx(whole.history_[0], abs=0.2)


def test_a_shard_that_was_lost_infers_once_and_counts_are_whole_again():
    X, rounds = sentences(), []
    model = CVBHMM(3, max_iter=8, tol=0, random_state=0)
    read = fit_here(model, parts_of(X, None, 3))
    whole = read.problem
    n_observed = sum(word is not None for sentence in X for word in sentence)
    ask = whole.source.ask

    def losing(name, *arguments):
        if name == "sweep" and arguments[1].n_sweeps == 4:
            lost = whole.source.shards[1]
            whole.source.shards[1] = type(lost)(lost.model, lost.index)
        found = ask(name, *arguments)
        rounds.append(found.counts.emission.sum())
        return found

    whole.source.ask = losing
    history = model.history_
    model._fit_reading(read, None, None)
    assert rounds == pytest.approx([n_observed] * len(rounds), rel=1e-12)
    assert np.array_equal(model.history_[:4], history[:4])
    assert model.history_[-1] == pytest.approx(history[-1], abs=0.02)
    assert model.history_[4] != history[4]


def test_a_shard_asked_twice_answers_the_same_and_does_not_move():
    X = sentences()
    model = CVBHMM(3, max_iter=6, tol=0, random_state=0)
    read = fit_here(model, parts_of(X, None, 3))
    whole = read.problem
    history, ask = model.history_, whole.source.ask
    whole.source.ask = lambda name, *arguments: [ask(name, *arguments) for _ in range(2)][1]
    model._fit_reading(read, None, None)
    assert np.array_equal(model.history_, history)


def test_unexplained_sequences_have_their_number_in_the_whole():
    X = [["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"], ["a", "a", "b"]]
    y = [[0, 1], [1, 0], [0, 1], [1, 0], [0, 0, 1]]
    model = EMHMM(2, transitions="left-right", supervision="y", max_iter=3, random_state=0)
    plain, sharded = fitted(model, X, y), in_shards(model, X, y, 2)
    assert plain.unexplained_.tolist() == [1, 3]
    assert sharded.unexplained_.tolist() == [1, 3]


@pytest.mark.parametrize("end_state", [False, True])
@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_batches_after_a_fit_count_what_was_left_out_by_its_own_length(kind, end_state):
    """What goes on from shards is what goes on from the plain fit."""
    X = [["a", "b"], ["b", "a"], ["a", "b"], list("baabbabab"), list("aab"), [None, "b"]]
    y = [[0, 1], [1, 0], [0, 1], [1, 0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1], None]
    settings = {"transitions": Transitions("left-right", end_state=end_state), "supervision": "y"}
    model = kind(2, max_iter=3, tol=0, random_state=0, **settings)
    plain, sharded = fitted(model, X, y), in_shards(model, X, y, 1)
    assert plain.unexplained_.tolist() == sharded.unexplained_.tolist() == [1, 3]
    for seen in (one._learned.seen_so_far for one in (plain, sharded, in_shards(model, X, y, 3))):
        assert (seen.n_tokens, seen.n_sequences, seen.mass) == (9, 4, 9.0)
    for one, other in zip(
        tables(plain.partial_fit(X[4:])), tables(sharded.partial_fit(X[4:])), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("with_labels", [False, True])
def test_a_digest_tells_of_words_what_the_corpus_tells(with_labels):
    X, y = sentences(), labels() if with_labels else None
    asked = EMHMMTagger(partial())._part_settings()
    parts = [read_part(*part) for part in parts_of(X, y, 3)]
    survey = merge_surveys(
        merge_surveys(*(word_counts_of(asked, p) for p in parts[:2])),
        word_counts_of(asked, parts[2]),
    )
    sequences, told = type_corpus_of(survey)
    seen = dict.fromkeys(sequences.tokens, 0)
    for word, times in zip(sequences.tokens, sequences.times.tolist(), strict=True):
        seen[word] += times
    index = {word: i for i, word in enumerate(survey.uses)}
    whole, digest = (encode(read, index) for read in (read_ragged(X), sequences))
    begins = only_beginning(whole, list(index))
    assert np.array_equal(begins, only_beginning(digest, list(index)))
    assert 0 < begins.sum() < len(index)
    tokens = [word for sentence in X for word in sentence if word is not None]
    assert {w: n for w, n in seen.items() if n} == {w: tokens.count(w) for w in set(tokens)}
    assert (told is not None) == with_labels


def test_what_shards_cannot_do_is_refused_by_name():
    parts = parts_of(sentences(), None, 2)
    for model, words in (
        (CVBHMM(update="token"), "update='token'"),
        (GibbsHMM(), "GibbsHMM does not learn in shards"),
        (EMHMM(emission="gaussian"), "emission='categorical'"),
        (EMHMM(init=[[[0.5, 0.5]]]), "arrays as `init`"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_here(model, parts)
        assert not hasattr(model, "counts_")
