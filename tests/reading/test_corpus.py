"""Tokens to integers and back to the shape of the input."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sklearn_cvb.reading import corpus as reading


def index_of(types):
    return {token: i for i, token in enumerate(types)}


def test_ragged_sequences_are_flat_tokens_and_offsets():
    sequences = reading.read_ragged([["b", "a"], ("a",), np.array(["c", "a"])])
    assert sequences.tokens == ["b", "a", "a", "c", "a"]
    assert sequences.starts.tolist() == [0, 2, 3, 5]
    assert sequences.width is None
    corpus = reading.encode(sequences, index_of("ab"))
    assert corpus.tokens.tolist() == [1, 0, 0, 2, 0]
    assert corpus.tokens.dtype == np.int32
    assert corpus.starts.dtype == np.int64
    assert corpus.unknown == ["c"]
    assert (corpus.n_sequences, corpus.n_observed) == (3, 5)


def test_unknown_types_are_numbered_in_order_of_appearance():
    sequences = reading.read_ragged([["x", "y", "x"], ["a", "z", "y"]])
    corpus = reading.encode(sequences, index_of("a"))
    assert corpus.unknown == ["x", "y", "z"]
    assert corpus.tokens.tolist() == [1, 2, 1, 0, 3, 2]


@pytest.mark.parametrize(
    "token",
    [None, float("nan"), np.float32("nan"), np.nan, pd.NA, pd.NaT, Decimal("NaN")],
    ids=repr,
)
def test_what_counts_as_missing(token):
    assert reading.is_missing(token)
    corpus = reading.encode(reading.read_ragged([["a", token]]), index_of("a"))
    assert corpus.tokens.tolist() == [0, -1]
    assert corpus.n_observed == 1
    assert corpus.unknown == []


@pytest.mark.parametrize("token", ["", "None", 0, 0.0, False, "nan", (), np.inf, 10**400], ids=repr)
def test_what_does_not_count_as_missing(token):
    assert not reading.is_missing(token)


def test_a_table_loses_its_padding_but_keeps_gaps():
    table = np.array([[1, np.nan, 2], [3, np.nan, np.nan], [4, 5, 6]])
    sequences = reading.read_table(table)
    assert sequences.starts.tolist() == [0, 3, 4, 7]
    assert sequences.width == 3
    corpus = reading.encode(sequences, index_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert corpus.tokens.tolist() == [0, -1, 1, 2, 3, 4, 5]
    assert corpus.n_observed == 6
    texts = np.array([["a", None], ["b", "c"]], dtype=object)
    assert reading.read_table(texts).starts.tolist() == [0, 1, 3]


def test_types_are_sorted_naturally_or_by_their_kind():
    starts = np.array([0, 4])
    assert reading.types_of(["b", None, "a", "b"], starts) == ["a", "b"]
    assert reading.types_of([10, 9, np.nan, 9], starts) == [9, 10]
    assert reading.types_of(["b", 2, (1,), 1], starts) == [1, 2, "b", (1,)]


def test_numbers_keep_their_dtype_and_the_rest_is_object():
    assert reading.as_array([1, 2]).dtype == np.int64
    assert reading.as_array([1.5, 2]).dtype == np.float64
    for types in (["a", 1], [(1, 2), (3, 4)], [True, False], []):
        array = reading.as_array(types)
        assert array.dtype == object
        assert array.tolist() == types


@pytest.mark.parametrize(
    "types", [[10**400, 1], [10**400, 0.5], [2**63 + 1, -1], [2**53 + 1, 0.5], [1, Fraction(1, 2)]]
)
def test_numbers_that_an_array_would_change_stay_objects(types):
    array = reading.as_array(types)
    assert array.dtype == object
    assert array.tolist() == types


def test_values_are_arranged_like_the_input():
    ragged = reading.encode(reading.read_ragged([["a", "b"], ["b", "a"], ["a"]]), index_of("ab"))
    rows = reading.arrange(ragged, np.arange(5), -1)
    assert (rows.dtype, rows.shape) == (np.dtype(object), (3,))
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4]]
    equal = reading.encode(reading.read_ragged([["a", "b"], ["b", "a"]]), index_of("ab"))
    rows = reading.arrange(equal, np.arange(8).reshape(4, 2), -1)
    assert rows.shape == (2,)
    assert rows[1].tolist() == [[4, 5], [6, 7]]
    table = reading.encode(reading.read_table(np.array([[1, np.nan], [1, 1]])), index_of([1.0]))
    assert reading.arrange(table, np.arange(3), -1).tolist() == [[0, -1], [1, 2]]
    filled = reading.arrange(table, np.ones((3, 2)), np.nan)
    assert filled.shape == (2, 2, 2)
    assert np.isnan(filled[0, 1]).all()
    assert np.isnan(filled).sum() == 2
    words = reading.arrange(table, np.array(["x", "y", "z"], dtype=object), None)
    assert words.tolist() == [["x", None], ["y", "z"]]


def test_places_are_named_by_sequence_and_position():
    starts = np.array([0, 2, 3, 7])
    names = [reading.place_text(position, starts) for position in (0, 1, 2, 6)]
    assert names == [
        "sequence 0, position 0",
        "sequence 0, position 1",
        "sequence 1, position 0",
        "sequence 2, position 3",
    ]


def test_infinite_tokens_are_no_symbols():
    with pytest.raises(ValueError, match="infinity is not a symbol: got the token -inf"):
        reading.types_of([1.0, -np.inf], np.array([0, 2]))
    with pytest.raises(ValueError, match=r"infinity is not a symbol: got the token Decimal"):
        reading.types_of([Decimal("Infinity")], np.array([0, 1]))
    assert reading.types_of([10**400, 1.5], np.array([0, 2])) == [1.5, 10**400]
    sequences = reading.read_ragged([[1.0], [2.0, np.inf]])
    with pytest.raises(ValueError, match=r"got the token inf \(sequence 1, position 1\)"):
        reading.encode(sequences, index_of([1.0, 2.0]))


@pytest.mark.parametrize(
    "words", [["b", "a"], [("a", 1), ("b", 2)], [3, 1], [0.5, 1.5], ["a", 1, b"c"]]
)
def test_a_vocabulary_is_stored_once_and_numbered_when_loaded(words):
    before = reading.vocabulary_of(words)
    loaded = pickle.loads(pickle.dumps(before))
    assert loaded.index == before.index == {word: i for i, word in enumerate(words)}
    assert loaded.types.dtype == before.types.dtype
    assert loaded.types.tolist() == words
    narrow = before._replace(types=np.array([3, 1], np.float32))
    assert pickle.loads(pickle.dumps(narrow)).types.dtype == np.float32
