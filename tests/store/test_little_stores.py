"""Stores of few tokens, or of missing ones: the numbers and the errors of lists."""

import os
import re
import signal
import tempfile
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    CVBHMMTagger,
    EMHMMTagger,
    Symbols,
    Transitions,
    VBHMMTagger,
    Windows,
    open_store,
    write_store,
)
from sklearn_cvb.store import StoreError
from sklearn_cvb.store.writing import temporary_store


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
@pytest.mark.parametrize("dictionary", [None, {"can": ["V", "M"]}])
def test_a_tag_that_stands_only_at_a_missing_token_is_a_tag(dictionary, kind, tmp_path):
    X, y = [[None], ["can"]], [["N"], ["V"]]
    store = write_store([(X, y)], tmp_path / "store", tagged=True)
    tagger = kind(dictionary, random_state=0, max_iter=3)
    here, there = clone(tagger).fit(X, y), clone(tagger).fit(store, store.tags)
    assert there.classes_.tolist() == here.classes_.tolist()
    assert there.classes_.tolist() == (["N", "V"] if dictionary is None else ["M", "N", "V"])
    assert there.score(store) == pytest.approx(here.score(X), rel=1e-12)
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-12)


def test_a_store_of_missing_tokens_alone_asks_for_a_vocabulary(tmp_path):
    X = [[None, None], [None]]
    store = write_store(X, tmp_path / "store")
    for given in (X, store):
        with pytest.raises(ValueError, match=r"^X holds no observed token: give a vocabulary$"):
            EMHMM(2, emission=Symbols(handle_unknown="error")).fit(given)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize(
    "estimator",
    [
        CVBHMM(2, random_state=0),
        CVBHMM(2, alpha="auto", beta="auto", random_state=0),
        CVBHMMTagger({"a": ["N"], "b": ["N", "V"]}, random_state=0),
        CVBHMMTagger({c: ["N"] for c in "acdefgh"} | {"b": ["N", "V", "M"]}, random_state=0),
    ],
)
@pytest.mark.parametrize("sequence", [list("ab"), list("aaaaaabaaaaaacdefgh"), list("b") * 9])
@pytest.mark.filterwarnings("ignore:.*more than half of all tokens")
def test_one_sequence_alone_has_the_history_of_a_list(estimator, sequence, tmp_path):
    store = write_store([[sequence]], tmp_path / "store")
    here, there = (clone(estimator).set_params(max_iter=4).fit(X) for X in ([sequence], store))
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-12, atol=1e-15)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)


def _same_fits(estimator, X, y, folder, n_tokens):
    """A fit in memory and one on a store in pieces of so many tokens; their numbers are equal."""
    write_store([X if y is None else (X, y)], folder, tagged=y is not None)
    store = open_store(folder, batch_size=n_tokens)
    here = clone(estimator).fit(X, y)
    there = clone(estimator).fit(store, None if y is None else store.tags)
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-10)
    np.testing.assert_allclose(there.transmat_, here.transmat_, rtol=1e-9)
    np.testing.assert_allclose(there.emissionprob_, here.emissionprob_, rtol=1e-9)
    assert there.unexplained_.tolist() == here.unexplained_.tolist()
    return here


@pytest.mark.parametrize("end_state", [False, True])
@pytest.mark.parametrize("n_tokens", [1, 100])
def test_one_long_series_among_pieces_is_cut_as_in_memory(n_tokens, end_state, tmp_path):
    """What is left out at a time depends on the whole store, not on its last piece."""
    rng = np.random.default_rng(0)
    X = [rng.integers(5, size=600).tolist(), [1, 2], [0, 1, 2]]
    model = CVBHMM(3, transitions=Transitions(end_state=end_state), max_iter=3, random_state=0)
    _same_fits(model, X, None, tmp_path / "store", n_tokens)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
@pytest.mark.parametrize("init", ["token", "word", "parameter", "unambiguous", "context"])
@pytest.mark.filterwarnings("ignore:.*more than half of all tokens", "ignore:.*cannot be explained")
def test_pieces_without_any_path_are_left_out(init, kind, tmp_path):
    """The labels of the first sequence ask for two states where one stays for ever."""
    X, y = [["a", "b"], ["b", "a"], ["a"]], [["V", "N"], ["V", None], ["N"]]
    tagger = kind(transitions="constant", init=init, max_iter=3, random_state=0)
    here = _same_fits(tagger, X, y, tmp_path / "store", 1)
    assert here.unexplained_.tolist() == [0]
    store = write_store([(X[:1], y[:1])], tmp_path / "none", tagged=True)
    with pytest.raises(ValueError, match="leave no sequence any path"):
        clone(tagger).fit(store, store.tags)


@pytest.mark.parametrize("n_tokens", [1, 100])
@pytest.mark.filterwarnings("ignore:.*more than half of all tokens", "ignore:.*cannot be explained")
def test_words_seen_once_are_those_that_are_learned_from(n_tokens, tmp_path):
    """What they tell of unknown words: b, which stands beside a path once more, is among them."""
    X, y = [["a", "b"], ["b", "a"]], [["V", "N"], ["V", None]]
    tagger = EMHMMTagger(
        transitions="constant", emission=Symbols(["a", "b", "c"]), max_iter=3, random_state=0
    )
    _same_fits(tagger, X, y, tmp_path / "store", n_tokens)


@pytest.mark.parametrize("update", ["sequence", Windows(3)])
@pytest.mark.parametrize("n_tokens", [1, 100])
def test_a_piece_of_missing_tokens_counts_none(n_tokens, update, tmp_path):
    X = [["a", "b"], ["b"], [None, None], ["a"]]
    model = CVBHMM(2, update=update, max_iter=3, random_state=0)
    _same_fits(model, X, None, tmp_path / "store", n_tokens)


# What a disk does to a store, and what a process leaves when it is ended


@pytest.mark.parametrize("name", ["tokens.int32", "tags.int32"])
@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_a_flipped_bit_never_changes_a_fit_silently(kind, name, tmp_path):
    X, y = [["can", "we"], ["we", "can"]] * 9, [["V", "P"], ["P", "V"]] * 9
    store = write_store([(X, y)], tmp_path / "store", tagged=True)
    path = store.folder / name
    content = bytearray(path.read_bytes())
    content[8] ^= 1
    path.write_bytes(content)
    tagger = kind({"can": ["V"], "we": ["P"]}, random_state=0, max_iter=2)
    for part in (open_store(store.folder), store[2:5]):
        with pytest.raises(StoreError) as error:
            clone(tagger).fit(part, part.tags)
        assert str(error.value) == (
            f"{str(path)!r} is damaged: its checksum is not that of what was written; write the "
            "store again with write_store, or copy it again"
        )


def test_offsets_that_are_truncated_while_a_store_is_open_are_an_error(tmp_path):
    """Of a map of them the process would end."""
    store = write_store([["a", "b"]] * 3000, tmp_path / "store")
    path = store.folder / "starts.int64"
    path.write_bytes(path.read_bytes()[:16])
    assert sum(map(len, store)) == 6000
    with pytest.raises(StoreError, match=r"starts\.int64' is damaged: its checksum"):
        EMHMM(2, random_state=0).fit(store)
    with pytest.raises(StoreError, match=r"starts\.int64' is damaged: it ends too early"):
        store[10:20]


def test_a_scratch_folder_that_is_missing_is_named(tmp_path):
    store = write_store([["a", "b"]] * 3, tmp_path / "store")
    missing = tmp_path / "missing"
    expected = (
        f"scratch={str(missing)!r} is no folder: make it, or name another with "
        "open_store(..., scratch=...)"
    )
    with pytest.raises(FileNotFoundError, match=re.escape(expected)):
        open_store(store.folder, scratch=missing)
    missing.mkdir()
    store = open_store(store.folder, scratch=missing)
    missing.rmdir()
    with pytest.raises(FileNotFoundError, match=re.escape(expected)):
        EMHMM(2, random_state=0).fit(store)


def test_a_process_that_is_terminated_leaves_no_temporary_store(tmp_path, monkeypatch):
    killed = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "kill", lambda *asked: killed.append(asked))
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        store = temporary_store(partial(write_store, [["a", "b"]] * 3))
        (folder,) = tmp_path.iterdir()
        assert store.folder.parent == folder
        signal.raise_signal(signal.SIGTERM)
        assert list(tmp_path.iterdir()) == []
        assert killed == [(os.getpid(), signal.SIGTERM)]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        del store
        temporary_store(partial(write_store, [["a"]]))
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert list(tmp_path.iterdir()) == []
    finally:
        signal.signal(signal.SIGTERM, before)
