"""What may go in, what shape comes out, and what unknown words and missing tokens mean."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    GibbsHMM,
    Samples,
    Symbols,
    VBHMMTagger,
    split_by_lengths,
)

MODELS = [EMHMM, VBHMM, CVBHMM, GibbsHMM]
X = [["a", "b", "c"], ["c", "a", "b"], ["b", "b", "a"], ["c", "c", "b"]]


def quick(kind, **keywords):
    settings = {"max_iter": 6, "random_state": 0} | keywords
    if issubclass(kind, GibbsHMM):
        settings.setdefault("samples", Samples(thin=1))
    return kind(**settings)


def as_object_array(rows):
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


RAGGED_FORMS = {
    "lists": X,
    "tuples": tuple(map(tuple, X)),
    "arrays": [np.array(row) for row in X],
    "object array of lists": as_object_array(X),
    "object array of arrays": as_object_array([np.array(row) for row in X]),
    "Series": pd.Series(X, index=[7, 3, 5, 1]),
    "Series of tuples": pd.Series([tuple(row) for row in X]),
}
TABLE_FORMS = {
    "str array": np.array(X),
    "object array": np.array(X, dtype=object),
    "DataFrame": pd.DataFrame(X, columns=["first", "second", "third"]),
}


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("form", RAGGED_FORMS)
def test_ragged_forms_agree(kind, form):
    reference = quick(kind).fit(X)
    model = quick(kind).fit(RAGGED_FORMS[form])
    assert model.vocabulary_.tolist() == ["a", "b", "c"]
    assert np.array_equal(model.history_, reference.history_)
    for states in (model.labels_, model.predict(RAGGED_FORMS[form])):
        assert states.shape == (4,)
        assert states.dtype == object
    assert [row.tolist() for row in model.predict(RAGGED_FORMS[form])] == [
        row.tolist() for row in reference.predict(X)
    ]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("form", TABLE_FORMS)
def test_tables_give_tables(kind, form):
    reference = quick(kind).fit(X)
    model = quick(kind).fit(TABLE_FORMS[form])
    assert model.n_features_in_ == 3
    assert np.array_equal(model.history_, reference.history_)
    assert model.labels_.shape == model.predict(TABLE_FORMS[form]).shape == (4, 3)
    assert model.labels_.dtype == np.int64
    assert model.predict_proba(TABLE_FORMS[form]).shape == (4, 3, 2)
    assert model.filter_proba(TABLE_FORMS[form]).shape == (4, 3, 2)
    assert np.array_equal(model.predict(TABLE_FORMS[form]), np.array(reference.predict(X).tolist()))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
def test_numbers_are_symbols_whatever_their_dtype(dtype):
    table = np.array([[3, 1, 3], [1, 1, 7]])
    model = quick(VBHMM).fit(table.astype(dtype))
    assert model.vocabulary_.tolist() == [1, 3, 7]
    assert np.array_equal(model.history_, quick(VBHMM).fit(table.tolist()).history_)
    as_read = [row.tolist() for row in model.predict(table.tolist())]
    assert as_read == model.predict(table.astype(dtype)).tolist()


def test_another_width_raises_and_a_list_does_not():
    model = quick(VBHMM).fit(np.array(X))
    with pytest.raises(ValueError, match="X has 2 features, but VBHMM is expecting 3 features"):
        model.predict(np.array(X)[:, :2])
    assert [len(row) for row in model.predict([row[:2] for row in X])] == [2, 2, 2, 2]


def test_arrays_of_several_dtypes_keep_their_tokens():
    model = quick(VBHMM).fit([np.array([1, 2]), np.array(["1", "b"])])
    assert model.vocabulary_.tolist() == [1, 2, "1", "b"]


def test_mixed_hashables_are_symbols():
    sequences = [[1, "a", (2, 3)], [frozenset({4}), "a", 2.5], [(2, 3), 1, b"a"]]
    model = quick(VBHMM).fit(sequences)
    assert set(model.vocabulary_) == {1, "a", (2, 3), frozenset({4}), 2.5, b"a"}
    assert model.emissionprob_.shape == (2, 7)
    assert np.isfinite(model.score_samples(sequences)).all()


# Padding and missing observations.

PADDED = np.array([[0, 1, 0], [1, 0, np.nan], [1, np.nan, np.nan], [0, np.nan, 1]])
TRIMMED = [[0, 1, 0], [1, 0], [1], [0, None, 1]]


@pytest.mark.parametrize("kind", MODELS)
def test_padding_is_no_observation(kind):
    model = quick(kind).fit(PADDED)
    trimmed = quick(kind).fit(TRIMMED)
    assert np.array_equal(model.history_, trimmed.history_)
    assert np.array_equal(model.score_samples(PADDED), trimmed.score_samples(TRIMMED))
    states = model.predict(PADDED)
    padding = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]], bool)
    assert np.array_equal(states == -1, padding)
    assert np.array_equal(model.labels_ == -1, padding)
    for table in (model.predict_proba(PADDED), model.filter_proba(PADDED)):
        assert np.array_equal(np.isnan(table).all(axis=2), padding)
        assert np.array_equal(np.isnan(table).any(axis=2), padding)
    assert [row[row >= 0].tolist() for row in states] == [
        row.tolist() for row in trimmed.predict(TRIMMED)
    ]


def test_padding_of_tags_is_none_unless_tags_are_integers():
    legal = {0: ["N"], 1: ["N", "V"]}
    tags = quick(VBHMMTagger, tag_dictionary=legal).fit(PADDED).predict(PADDED)
    assert tags.dtype == object
    assert tags[1].tolist()[2] is None
    assert tags[2].tolist()[1:] == [None, None]
    assert None not in tags[0].tolist() + tags[3].tolist()
    numbered = quick(VBHMMTagger, tag_dictionary={0: [5], 1: [5, 8]}).fit(PADDED)
    assert numbered.predict(PADDED)[2].tolist()[1:] == [-1, -1]
    assert numbered.classes_.tolist() == [5, 8]


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_missing_tokens_have_a_state_and_no_emission(missing):
    sequences = [["a", missing, "b"], [missing, "b"], ["b", "a"]]
    model = quick(EMHMM, emission=Symbols(handle_unknown="error"), tol=0).fit(sequences)
    assert model.vocabulary_.tolist() == ["a", "b"]
    assert [len(row) for row in model.labels_] == [3, 2, 2]
    counts = model.counts_
    assert counts.emission.sum() == pytest.approx(5)
    assert counts.emission.sum(axis=1) == pytest.approx([2, 3])
    assert counts.transition.sum() == pytest.approx(4)
    assert counts.start.sum() == pytest.approx(3)
    # Averages are over the five observed tokens.
    assert model.score(sequences) == pytest.approx(model.score_samples(sequences).sum() / 5)
    log_p = model.score_samples([["a", missing, "b"]])[0]
    each = model.score_samples([["a", missing, "b"]], per="token")
    assert each == pytest.approx([log_p / 2], rel=1e-12)
    start, transition, emission = model.startprob_, model.transmat_, model.emissionprob_
    by_hand = (start * emission[:, 0]) @ transition @ transition @ emission[:, 1]
    assert log_p == pytest.approx(np.log(by_hand), abs=1e-12)


def test_a_sequence_of_missing_tokens_is_the_prior():
    model = quick(EMHMM).fit(X)
    second = model.startprob_ @ model.transmat_
    for method in (model.predict_proba, model.filter_proba):
        assert method([[None, None]])[0][0] == pytest.approx(model.startprob_, abs=1e-12)
        assert method([[None, None]])[0][1] == pytest.approx(second, abs=1e-12)
    for per in ("sequence", "token"):
        assert model.score_samples([[None, None]], per) == pytest.approx([0.0], abs=1e-12)


# Unknown words.


@pytest.mark.parametrize("kind", MODELS)
def test_unknown_words_as_errors(kind):
    model = quick(kind, emission=Symbols(handle_unknown="error")).fit(X)
    assert model.emissionprob_.shape == (2, 3)
    message = (
        r"unknown word 'z' \(sequence 1, position 2; 2 unknown types\): give vocabulary, or "
        "handle_unknown='smooth' or 'rare'"
    )
    for method in (model.predict, model.predict_proba, model.score, model.transform):
        with pytest.raises(ValueError, match=message):
            method([["a", "b"], ["c", "a", "z", "y"]])


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_smooth_gives_one_cell_its_prior_mass(kind):
    model = quick(kind, emission=Symbols(handle_unknown="smooth"), beta=0.2).fit(X)
    emission = model.counts_.emission
    assert emission.shape == (4, 2)
    assert np.array_equal(emission[3], [0, 0])
    emit = emission.sum(axis=0)
    by_hand = (emission + 0.2) / (emit + 4 * 0.2)
    assert model.emissionprob_ == pytest.approx(by_hand.T, abs=1e-14)
    assert model.emissionprob_[:, 3] == pytest.approx(0.2 / (emit + 0.8), abs=1e-14)
    # Every unknown word is this one symbol.
    one, other = model.score_samples([["a", "z"], ["a", "y"]])
    assert one == other
    known = model.score_samples([["a"]])[0]
    next_token = model.predict_next_proba([["a"]])[0]
    assert one - known == pytest.approx(np.log(next_token[3]), abs=1e-12)


def test_rare_adds_the_mean_count_of_words_seen_once():
    # Fully labelled, so counts are whole: "c" and "d" are seen once, as V and as N.
    sequences = [["a", "b", "c"], ["a", "b", "d"], ["e", "e"]]
    tags = [["N", "V", "V"], ["N", "V", "N"], ["N", "N"]]
    tagger = CVBHMMTagger(emission=Symbols(handle_unknown="rare"), alpha=1.0, beta=0.5).fit(
        sequences, tags
    )
    assert tagger.classes_.tolist() == ["N", "V"]
    # Counts of N: a 2, d 1, e 2; of V: b 2, c 1. One of the two words seen once is N, one is V.
    extra = np.array([0.5, 0.5])
    emit = np.array([5.0, 3.0]) + extra
    for state, counts in enumerate([[2, 0, 0, 1, 2], [0, 2, 1, 0, 0]]):
        row = (np.array([*counts, extra[state]]) + 0.5) / (emit[state] + 6 * 0.5)
        assert tagger.emissionprob_[state] == pytest.approx(row, abs=1e-12)
    assert tagger.emissionprob_.sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    # The counts that were learned stay as they are.
    assert tagger.counts_.emission.sum() == pytest.approx(8)


def test_rare_without_words_seen_once_is_smooth():
    sequences = [["a", "b"], ["b", "a"]]
    fits = [
        quick(VBHMM, emission=Symbols(handle_unknown=handling)).fit(sequences)
        for handling in ("rare", "smooth")
    ]
    assert np.array_equal(fits[0].emissionprob_, fits[1].emissionprob_)


def test_unknown_words_in_training_with_a_vocabulary():
    sequences = [["a", "z"], ["y", "b"], ["a", "b"]]
    model = quick(VBHMM, emission=Symbols(vocabulary=["b", "a", "q"])).fit(sequences)
    assert model.vocabulary_.tolist() == ["b", "a", "q"]
    assert model.counts_.emission.sum(axis=1) == pytest.approx([2, 2, 0, 2])
    with pytest.raises(ValueError, match=r"unknown word 'z' \(sequence 0, position 1; 2 unknown"):
        quick(VBHMM, emission=Symbols(vocabulary=["b", "a", "q"], handle_unknown="error")).fit(
            sequences
        )


def test_vocabulary_keeps_its_order_and_sets_are_sorted():
    model = quick(VBHMM, emission=Symbols(handle_unknown="error")).fit(X)
    for vocabulary in (
        {"c", "a", "b"},
        frozenset("cab"),
        ["a", "b", "c"],
        np.array(["a", "b", "c"]),
    ):
        given = clone(model).set_params(emission__vocabulary=vocabulary).fit(X)
        assert given.vocabulary_.tolist() == ["a", "b", "c"]
        assert np.array_equal(given.emissionprob_, model.emissionprob_)
    doubled = clone(model).set_params(emission__vocabulary=["c", "a", "c", "b"]).fit(X)
    assert doubled.vocabulary_.tolist() == ["c", "a", "b"]


def test_unknown_word_without_mass_is_unobserved_and_impossible():
    model = quick(EMHMM, emission=Symbols(handle_unknown="smooth"), beta=0.0).fit(X)
    assert np.array_equal(model.emissionprob_[:, 3], [0, 0])
    known = [["a", "c"]]
    with_unknown, with_missing = [["a", "z", "c"]], [["a", None, "c"]]
    for method in (model.predict_proba, model.filter_proba, model.predict):
        assert np.array_equal(method(with_unknown)[0], method(with_missing)[0])
    assert model.score_samples(with_unknown + known).tolist()[0] == -np.inf
    assert np.isfinite(model.score_samples(with_unknown + known)[1])
    assert model.score(with_unknown) == -np.inf
    assert model.perplexity(with_unknown) == np.inf


@pytest.mark.parametrize("kind", MODELS)
def test_samples_never_hold_the_unknown_item(kind):
    # A large beta gives the unknown item nearly half of the mass.
    model = quick(kind, emission=Symbols(vocabulary=["a", "b"], handle_unknown="smooth"), beta=1e4)
    model.fit([["a", "b"], ["b", "a"]])
    symbols, states = model.sample(200, length=5, random_state=0)
    assert symbols.shape == states.shape == (200, 5)
    assert set(np.unique(symbols.astype(str))) == {"a", "b"}
    assert set(np.unique(states)) == {0, 1}
    shares = np.mean(symbols == "a")
    assert abs(shares - 0.5) < 0.06


def test_samples_of_several_lengths_follow_the_model():
    model = quick(VBHMM, n_components=2, alpha=0.5).fit([["a", "a", "b"], ["b", "a", "b"]])
    symbols, states = model.sample(3, length=[2, 5, 1], random_state=1)
    assert [len(row) for row in symbols] == [len(row) for row in states] == [2, 5, 1]
    again, _ = model.sample(3, length=[2, 5, 1], random_state=1)
    assert [row.tolist() for row in symbols] == [row.tolist() for row in again]
    _, many = model.sample(20_000, length=2, random_state=2)
    assert np.bincount(many[:, 0]) / 20_000 == pytest.approx(model.startprob_, abs=0.015)
    leave = np.mean(many[many[:, 0] == 0, 1])
    assert leave == pytest.approx(model.transmat_[0, 1], abs=0.02)


def test_hmmlearn_arrays_become_sequences():
    column = np.array([[0], [1], [1], [0], [2]])
    sequences = split_by_lengths(column, [2, 3])
    assert [row.tolist() for row in sequences] == [[0, 1], [1, 0, 2]]
    assert [row.tolist() for row in split_by_lengths(["a", "b", "c"], [1, 2])] == [
        ["a"],
        ["b", "c"],
    ]
    fitted = quick(VBHMM).fit(sequences)
    assert np.array_equal(fitted.history_, quick(VBHMM).fit([[0, 1], [1, 0, 2]]).history_)
