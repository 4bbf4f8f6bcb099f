"""Allowed states per token, against plain sets."""

import numpy as np
import pytest

from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.chain.paths import lattice as allowed
from sklearn_cvb.chain.tags.knowledge import LegalStates
from sklearn_cvb.reading import dictionary
from sklearn_cvb.reading.corpus import Corpus


def as_rows(rows):
    return [np.array(row, dtype=np.int32) for row in rows]


def corpus_of(tokens, starts, unknown=()):
    return Corpus(np.array(tokens, np.int32), np.array(starts, np.int64), None, list(unknown))


def slots_of(lattice, t):
    """The (state, cell) pairs of token t."""
    slots = slice(lattice.first[t], lattice.first[t] + lattice.count[t])
    return list(zip(lattice.state[slots].tolist(), lattice.cell[slots].tolist(), strict=True))


def test_cells_of_a_full_table():
    cells = allowed.cells_for(None, n_states=3, n_words=2, with_unknown=True)
    assert (cells.n_rows, cells.is_full) == (3, True)
    assert cells.state.tolist() == [0, 1, 2] * 3
    assert cells.unknown == slice(6, 9)
    assert cells.row_totals(np.arange(9.0)).tolist() == [0 + 3 + 6, 1 + 4 + 7, 2 + 5 + 8]


def test_cells_of_a_dictionary():
    cells = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=True)
    assert cells.indptr.tolist() == [0, 1, 3, 6]
    assert cells.state.tolist() == [1, 0, 2, 0, 1, 2]
    assert not cells.is_full
    assert cells.unknown == slice(3, 6)
    without = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=False)
    assert (without.n_rows, without.unknown) == (2, slice(3, 3))


def test_slots_of_words_missing_tokens_and_unknown_types():
    cells = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=True)
    corpus = corpus_of([1, -1, 0, 2, 3, 2], [0, 4, 6], ["x", "y"])
    lattice = allowed.lattice_for(corpus, cells, as_rows([[2], [0, 1]]))
    assert slots_of(lattice, 0) == [(0, 1), (2, 2)]
    assert slots_of(lattice, 1) == [(0, -1), (1, -1), (2, -1)]
    assert slots_of(lattice, 2) == [(1, 0)]
    # Unknown types share the cells of the unknown item, 3 to 5, within their own states.
    assert slots_of(lattice, 3) == slots_of(lattice, 5) == [(2, 5)]
    assert slots_of(lattice, 4) == [(0, 3), (1, 4)]
    assert lattice.count.sum() == 2 + 3 + 1 + 1 + 2 + 1
    assert allowed.entry_states(lattice).tolist() == [0, 2, 0, 1, 2, 1, 2, 0, 1, 2]
    free = allowed.lattice_for(corpus, cells)
    assert slots_of(free, 3) == [(0, 3), (1, 4), (2, 5)]


def test_labels_restrict_and_forbidden_ones_are_reported():
    cells = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=False)
    lattice = allowed.lattice_for(corpus_of([1, 0, 1, 1], [0, 4]), cells)
    labels = np.array([2, -1, -1, 0], np.int32)
    narrow, forbidden = allowed.restrict(lattice, labels)
    assert forbidden.tolist() == []
    assert [slots_of(narrow, t) for t in range(4)] == [
        [(2, 2)],
        [(1, 0)],
        [(0, 1), (2, 2)],
        [(0, 1)],
    ]
    assert slots_of(lattice, 0) == [(0, 1), (2, 2)]
    _, forbidden = allowed.restrict(lattice, np.array([1, 0, 2, -2], np.int32))
    assert forbidden.tolist() == [0, 1]


def test_labels_that_overrule_the_dictionary_get_cells_of_their_own():
    cells = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=True)
    # Words 1, 0, 1 with states 1, 2, 0: the last of these is there.
    more = cells.with_labels(np.array([1, 0, 1]), np.array([1, 2, 0]))
    assert more.indptr.tolist() == [0, 2, 5, 8]
    assert more.state.tolist() == [1, 2, 0, 1, 2, 0, 1, 2]
    assert more.by_label.tolist() == [1, 3]
    assert cells.with_labels(np.array([1]), np.array([0])) is cells
    expecting = allowed.with_expected(cells, [np.ones(1), np.array([0.25, 0.75])], np.array([1, 0]))
    expected = expecting.with_labels(np.array([1, 0]), np.array([1, 2])).tag_prior.expected_counts
    assert expected[[0, 2, 4]].tolist() == [1, 0.25, 0.75]
    assert np.isnan(expected[[1, 3, 5, 6, 7]]).all()
    corpus = corpus_of([1, 0, 2, 1], [0, 4], ["x"])
    lattice = allowed.lattice_for(corpus, more, as_rows([[2]]))
    assert [slots_of(lattice, t) for t in range(4)] == [
        [(0, 2), (2, 4)],
        [(1, 0)],
        [(2, 7)],
        [(0, 2), (2, 4)],
    ]
    labels = np.array([-1, 2, 0, 1], np.int32)
    narrow, forbidden = allowed.restrict(lattice, labels)
    assert forbidden.tolist() == [1, 2, 3]
    told = allowed.overrule(narrow, forbidden, corpus, labels, more)
    slots = [slots_of(told, t) for t in range(4)]
    assert slots == [[(0, 2), (2, 4)], [(2, 1)], [(0, 5)], [(1, 3)]]
    assert [a.dtype for a in told] == [a.dtype for a in lattice]


def test_entries_spread_over_all_states():
    cells = allowed.cells_for(as_rows([[1], [0, 2]]), 3, 2, with_unknown=False)
    lattice = allowed.lattice_for(corpus_of([1, 0], [0, 2]), cells)
    table = allowed.dense_posterior(lattice, np.array([0.3, 0.7, 1.0]), 3)
    assert table.tolist() == [[0.3, 0, 0.7], [0, 1.0, 0]]


def test_words_missing_from_a_dictionary_take_any_tag():
    states = {"N": 0, "V": 1, "X": 2}
    legal = LegalStates({"a": ("V", "N"), "b": "X"}, states, np.arange(3, dtype=np.int32))
    rows = legal.rows(["b", "zebra", "a", "lion"])
    assert [row.tolist() for row in rows] == [[2], [0, 1, 2], [0, 1], [0, 1, 2]]


def test_tags_come_from_dictionary_labels_and_unknown_tags():
    tags = dictionary.tags_in({"a": ["V", "N"], "b": "X"}, ["D", None, "N"], ["U"])
    assert tags == ["D", "N", "U", "V", "X"]
    assert dictionary.tags_in({}, [], []) == []


# tag_dictionary_from


def test_dictionary_of_tagged_sentences_in_two_forms():
    words = [["the", "can"], ["can", "can"]]
    tags = [["D", "N"], ["V", None]]
    pairs = [list(zip(w, t, strict=True)) for w, t in zip(words, tags, strict=True)]
    expected = {"the": ("D",), "can": ("N", "V")}
    plain = [tag_dictionary_from(*given, weights=False) for given in ((words, tags), (pairs,))]
    assert plain == [expected, expected]


def test_rare_words_may_take_any_tag():
    words, tags = [["the", "can"], ["the", "cat"]], [["D", "V"], ["D", "N"]]
    every = ("D", "N", "V")
    assert tag_dictionary_from(words, tags, min_count=2, weights=False) == {
        "the": ("D",),
        "can": every,
        "cat": every,
    }
    raw = [["can", "can", "the"], ["cat"]]
    counted = tag_dictionary_from(words, tags, min_count=2, count_in=raw, weights=False)
    assert counted == {"the": every, "can": ("V",), "cat": every}


def test_words_without_a_known_tag_are_left_out():
    assert tag_dictionary_from([["a", "b"]], [["N", None]]) == {"a": {"N": 1}}


def test_sentence_and_tags_of_different_lengths():
    with pytest.raises(ValueError, match="sentence 1 has 2 words but 1 tags"):
        tag_dictionary_from([["a"], ["b", "c"]], [["N"], ["N"]])


def test_min_share_drops_rare_tags_but_never_all():
    words = [["the"] * 200 + ["saw"] * 4]
    tags = [["DT"] * 199 + ["NN"] + ["NN", "NN", "VB", "VB"]]
    whole = tag_dictionary_from(words, tags, weights=False)
    assert whole == {"the": ("DT", "NN"), "saw": ("NN", "VB")}
    # 1 of 200 is exactly 0.5 %: it stays at that share and goes above it.
    kept = tag_dictionary_from(words, tags, min_share=0.005, weights=False)
    assert kept["the"] == ("DT", "NN")
    pruned = tag_dictionary_from(words, tags, min_share=0.006, weights=False)
    assert pruned == {"the": ("DT",), "saw": ("NN", "VB")}
    assert tag_dictionary_from(words, tags, min_share=0.9)["saw"] == {"NN": 2, "VB": 2}
    for odd in (float("nan"), -0.1, 2):
        with pytest.raises(ValueError, match="min_share must be a number from 0 to 1"):
            tag_dictionary_from(words, tags, min_share=odd)
