"""Fits on a store: the numbers of fits in memory, whatever the pieces."""

import errno
import gc
import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interruption import Interrupt, watched
from sklearn.base import clone

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    EMPCFG,
    VBHMM,
    Checkpoint,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    Symbols,
    TagDictionary,
    Transitions,
    VBHMMTagger,
    Windows,
    open_store,
    write_store,
)
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.store import StoredStates, scratch

PIECE = 300


def _text():
    """Sentences over words of several shapes, a dictionary of most of them, and some gold tags."""
    rng = np.random.default_rng(0)
    words = ["The", "the", "Duck", ".", ","] + [f"w{i}" for i in range(60)]
    X = [
        [words[min(64, int(rng.exponential(15)))] for _ in range(rng.integers(1, 12))]
        for _ in range(300)
    ]
    X[7][0] = None
    sizes = rng.integers(1, 4, size=50)
    legal = {
        word: sorted({"ABCD"[k] for k in rng.integers(0, 4, size=size)})
        for word, size in zip(words, sizes, strict=False)
    }
    y = [
        [rng.choice(legal[word]) if word in legal and i % 9 == 0 else None for word in sentence]
        for i, sentence in enumerate(X)
    ]
    return X, legal, y


X, LEGAL, Y = _text()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores") / "store"
    write_store([(X[:100], Y[:100]), (X[100:], Y[100:])], folder, tagged=True)
    found = open_store(folder, batch_size=PIECE)
    assert len(found.pieces()) == 7
    return found


def _fit_twice(estimator, store, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        here = clone(estimator).fit(X, None if y is None else Y)
        there = clone(estimator).fit(store, y)
    return here, there


def _assert_same(here, there, exactly=False):
    tolerance = {"rtol": 0 if exactly else 1e-12, "atol": 0 if exactly else 1e-12}
    for name in ("startprob_", "transmat_", "emissionprob_"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), **tolerance)
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-12)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-12)
    assert there.n_iter_ == here.n_iter_
    assert there.vocabulary_.tolist() == here.vocabulary_.tolist()
    np.testing.assert_array_equal(there.unexplained_, here.unexplained_)
    assert isinstance(there.labels_, StoredStates)
    assert len(there.labels_) == len(here.labels_)
    # Two paths may be as probable as each other to the last digit.
    one, other = np.concatenate(list(there.labels_)), np.concatenate(here.labels_)
    assert np.mean(one == other) > (0.999 if exactly else 0.99)


_TAGGERS = (EMHMMTagger, VBHMMTagger, CVBHMMTagger)
_MODELS = (EMHMM, VBHMM, CVBHMM)
_STARTS = ("token", "parameter", "word", "unambiguous", "context")
# What needs the prior of VB and CVB.
_LEARNED = {"alpha": "auto", "beta": "auto", "max_iter": 30}


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("init", [None, *_STARTS])
@pytest.mark.parametrize("kind", _TAGGERS)
def test_taggers_find_the_same_as_in_memory(kind, init, store):
    estimator = kind(LEGAL, init=init, random_state=0, max_iter=22, tol=0)
    # The sums that a context start counts are added in another order.
    exactly = kind is CVBHMMTagger and init not in (None, "context")
    _assert_same(*_fit_twice(estimator, store), exactly)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("init", ["token", "parameter", "word"])
@pytest.mark.parametrize("kind", _MODELS)
def test_models_without_tags_find_the_same(kind, init, store):
    estimator = kind(3, init=init, random_state=0, max_iter=22, tol=0)
    _assert_same(*_fit_twice(estimator, store), kind is CVBHMM)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", _TAGGERS)
def test_tags_beside_the_tokens_teach(kind, store):
    estimator = kind(LEGAL, random_state=0, max_iter=5, tol=0)
    here, there = _fit_twice(estimator, store, store.tags)
    _assert_same(here, there)
    assert there.score(store, store.tags) == here.score(X, Y)
    ignorant = clone(estimator).set_params(supervision="none").fit(store, store.tags)
    assert np.abs(ignorant.transmat_ - there.transmat_).max() > 1e-3


@pytest.mark.many(usual=3)
@pytest.mark.parametrize(
    "settings",
    [
        {"transitions": Transitions(end_state=True)},
        {"transitions": "independent"},
        {"transitions": "left-right"},
        {"transitions": "constant"},
        {"n_init": 3},
        {"emission": Symbols(vocabulary=["the", "w3", "w4", "w5"], handle_unknown="smooth")},
        {"emission": Symbols(vocabulary=["the", "w3", "w4", "w5"], handle_unknown="rare")},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", _MODELS)
def test_settings_mean_the_same(kind, settings, store):
    _assert_same(*_fit_twice(kind(3, random_state=1, max_iter=6, tol=0, **settings), store))


@pytest.mark.many(usual=2)
@pytest.mark.parametrize(
    "estimator",
    [
        VBHMM(3, **_LEARNED),
        CVBHMM(3, **_LEARNED),
        CVBHMM(3, transitions=Transitions(sticky=1.0, prior="hdp"), max_iter=30),
        VBHMM(3, transitions=Transitions(prior="hdp"), max_iter=30),
        CVBHMM(3, update=Windows(4), max_iter=6),
        CVBHMMTagger(LEGAL, transitions=Transitions(end_state=True), max_iter=6),
        CVBHMMTagger(
            TagDictionary(LEGAL, denoise="none"),
            emission=Symbols(handle_unknown="smooth"),
            alpha="auto",
            max_iter=25,
        ),
        EMHMMTagger(LEGAL, emission=Symbols(vocabulary=sorted(LEGAL)), max_iter=6),
        VBHMMTagger(
            TagDictionary(LEGAL, unknown_tags=["A", "B"]),
            emission=Symbols(handle_unknown="smooth"),
            max_iter=6,
        ),
    ],
    ids=lambda estimator: repr(estimator)[:60],
)
def test_more_settings_mean_the_same(estimator, store):
    here, there = _fit_twice(estimator.set_params(random_state=0, tol=0), store)
    # Learned concentrations come from products over many tokens.
    for name in ("alpha_", "beta_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-9)
    np.testing.assert_allclose(there.transmat_, here.transmat_, rtol=1e-8, atol=1e-10)
    if hasattr(here, "n_effective_components_"):
        assert there.n_effective_components_ == here.n_effective_components_


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_batches_after_a_fit_count_what_was_left_out_by_its_own_length(kind, tmp_path):
    """Nothing goes back from B to A: long sequences have no path."""
    sequences = [list("ab"), list("abbabaabb"), list("aab"), list("ba"), [None, "b"]] * 5
    store = open_store(write_store(sequences, tmp_path / "store").folder, batch_size=20)
    assert len(store.pieces()) > 3
    tagger = kind({"a": ["A"], "b": ["B"]}, transitions="left-right", random_state=0, max_iter=2)
    with pytest.warns(UserWarning, match="cannot be explained"):
        here, there = clone(tagger).fit(sequences), clone(tagger).fit(store)
    assert len(there.unexplained_) == 10
    assert (
        there._learned.seen_so_far[:3]
        == here._learned.seen_so_far[:3]
        == (5 * (2 + 3 + 2), 15, 35.0)
    )


def test_one_sequence_alone_is_inferred_from_the_prior(tmp_path):
    alone = [["a", "b", "a", "b", "c"] * 4]
    store = write_store([alone], tmp_path / "store")
    with pytest.warns(UserWarning, match="more than half of all tokens"):
        here = CVBHMM(2, random_state=0, max_iter=4).fit(alone)
    with pytest.warns(UserWarning, match="more than half of all tokens"):
        there = CVBHMM(2, random_state=0, max_iter=4).fit(store)
    np.testing.assert_allclose(there.transmat_, here.transmat_, rtol=1e-12)
    assert there.loo_score_ == pytest.approx(here.loo_score_, rel=1e-12)


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_prediction_and_scores_go_piece_by_piece(kind, store):
    model = kind(LEGAL, random_state=0, max_iter=5).fit(X[:200])
    for decoding in ("viterbi", "marginal"):
        found = model.predict(store, decoding=decoding)
        assert isinstance(found, StoredStates)
        for one, other in zip(found, model.predict(X, decoding=decoding), strict=True):
            np.testing.assert_array_equal(one, other)
    for per in ("sequence", "token"):
        here, there = model.score_samples(X, per), model.score_samples(store, per)
        np.testing.assert_allclose(there, here, rtol=1e-12)
    assert model.score(store) == pytest.approx(model.score(X), rel=1e-12)
    assert model.perplexity(store) == pytest.approx(model.perplexity(X), rel=1e-12)
    assert model.score(store, store.tags) == model.score(X, Y)


def test_states_of_a_store_are_read_as_those_of_lists(store):
    model = EMHMMTagger(LEGAL, random_state=0, max_iter=2).fit(store)
    found, expected = model.labels_, model.predict(X)
    assert found[-1].tolist() == expected[-1].tolist()
    assert [tags.tolist() for tags in found[99:103]] == [tags.tolist() for tags in expected[99:103]]
    with pytest.raises(IndexError):
        found[300]


def test_a_pickled_model_has_no_labels_and_says_what_to_do(store):
    model = EMHMM(2, random_state=0, max_iter=2).fit(store)
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(RuntimeError, match=r"predict\(store\) finds them again"):
        loaded.labels_[0]
    assert loaded.score(X) == model.score(X)


def test_pickled_stores_map_their_files_anew(store):
    part = pickle.loads(pickle.dumps(store[10:20]))
    assert list(part) == X[10:20]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMM, CVBHMMTagger])
def test_results_do_not_depend_on_threads(kind, store):
    settings = {} if kind is VBHMM else {"tag_dictionary": LEGAL}
    one, two = (
        kind(**settings, random_state=0, max_iter=5, n_jobs=n_jobs).fit(store) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.history_, two.history_)
    np.testing.assert_array_equal(one.transmat_, two.transmat_)


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_the_vocabulary_of_a_store_is_that_of_the_fit(kind, tmp_path):
    known = ["w3", "the", "The", "w9", "w12", "never"]
    store = write_store([X], tmp_path / "store", vocabulary=known)
    store = open_store(store.folder, batch_size=PIECE)
    estimator = kind(LEGAL, random_state=0, max_iter=5, tol=0)
    here, there = (
        clone(estimator).set_params(emission=Symbols(vocabulary=known)).fit(X),
        clone(estimator).fit(store),
    )
    _assert_same(here, there)
    assert (there.vocabulary_.tolist(), there.emission) == (known, "categorical")
    # A part has the words of the whole.
    here = clone(estimator).set_params(emission=Symbols(vocabulary=known)).fit(X[50:200])
    _assert_same(here, clone(estimator).fit(store[50:200]))


# What is read in batches


def _sources(folder):
    full = [[word for word in sentence if word is not None] for sentence in X]
    text, table = folder / "x.txt", folder / "x.parquet"
    text.write_text("\n".join(map(" ".join, full)), encoding="utf-8")
    pq.write_table(pa.table({"words": full}), table)
    return full, {
        "a function": lambda: (full[i : i + 50] for i in range(0, 300, 50)),
        "paths": [text],
        "a path of parquet": table,
    }


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", ["a function", "paths", "a path of parquet"])
@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_other_bulk_is_encoded_once_into_a_temporary_store(name, kind, tmp_path, monkeypatch):
    full, sources = _sources(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    here = kind(2, random_state=0, max_iter=3).fit(full)
    there = kind(2, random_state=0, max_iter=3).fit(sources[name])
    np.testing.assert_allclose(there.transmat_, here.transmat_, rtol=1e-12)
    assert [list(row) for row in there.labels_] == [list(row) for row in here.labels_]
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_long_arrow_columns_go_to_a_store_and_short_ones_do_not(tmp_path, monkeypatch):
    full, _ = _sources(tmp_path)
    column = pa.array(full)
    here = EMHMM(2, random_state=0, max_iter=3).fit(column)
    assert isinstance(here.labels_, np.ndarray)
    monkeypatch.setattr("sklearn_cvb.scale.places._LONG_COLUMN", 10)
    for X in (column, pa.chunked_array([column]), pa.table({"X": column})):
        there = EMHMM(2, random_state=0, max_iter=3).fit(X)
        assert isinstance(there.labels_, StoredStates)
        np.testing.assert_allclose(there.transmat_, here.transmat_, rtol=1e-12)


# Warm starts


@pytest.mark.many
@pytest.mark.parametrize(
    "estimator",
    [EMHMMTagger(LEGAL), CVBHMMTagger(LEGAL), CVBHMM(3, alpha="auto")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_warm_start_goes_on_where_the_fit_ended(estimator, store):
    estimator.set_params(random_state=0, tol=0, warm_start=True, max_iter=12)
    twice = clone(estimator).fit(store).fit(open_store(store.folder, batch_size=PIECE))
    once = clone(estimator).set_params(max_iter=24).fit(store)
    np.testing.assert_allclose(twice.transmat_, once.transmat_, rtol=1e-9)
    np.testing.assert_allclose(twice.history_, once.history_[12:], rtol=1e-9)
    # Another part of the store is another corpus.
    other = clone(estimator).fit(store[:100])
    np.testing.assert_array_equal(other.fit(store).history_, clone(estimator).fit(store).history_)


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_ctrl_c_keeps_the_last_finished_sweep(kind, store):
    stopped = watched(kind(LEGAL, random_state=0, tol=0), Interrupt(at=2))
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(store)
    whole = kind(LEGAL, random_state=0, tol=0, max_iter=2).fit(store)
    assert np.array_equal(stopped.history_, whole.history_)
    assert np.array_equal(stopped.transmat_, whole.transmat_)
    assert [*map(list, stopped.labels_[:9])] == [*map(list, whole.labels_[:9])]


@pytest.mark.long
def test_an_interrupted_fit_goes_on(store, monkeypatch):
    model = CVBHMMTagger(LEGAL, random_state=0, tol=0, warm_start=True, max_iter=8)
    expected = clone(model).fit(store)
    passes = sklearn_cvb.scale.symbols.stored_fits.make_pass
    left = [4 * 7 + 3]

    def interrupted(*arguments):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        passes(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("sklearn_cvb.scale.symbols.stored_fits.make_pass", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(store)
    assert model.n_iter_ >= 1
    model.set_params(max_iter=40).fit(store)
    total = sum(table.sum() for table in model.counts_[:2]) + model.counts_.emission.sum()
    assert total == pytest.approx(
        sum(table.sum() for table in expected.counts_[:2]) + expected.counts_.emission.sum()
    )


# A process that dies as it says that a sweep is over.
_DIES = """
import os, signal, sys
class Output:
    def write(self, text):
        if text.startswith(DIES_AT):
            os.kill(os.getpid(), signal.SIGKILL)
    def flush(self):
        pass
sys.stdout = Output()
"""
_SAVED = """
DIES_AT = "restart 0, sweep 4"
from sklearn_cvb import Checkpoint, open_store
sys.path.append("../helpers")
from test_fits import CVBHMMTagger, EMHMMTagger, LEGAL
kind = {"CVBHMMTagger": CVBHMMTagger, "EMHMMTagger": EMHMMTagger}[sys.argv[3]]
model = kind(LEGAL, max_iter=10**6, tol=0, random_state=0, warm_start=True, verbose=2,
             checkpoint=Checkpoint(sys.argv[2], every=1))
model.fit(open_store(sys.argv[1], batch_size=300))
"""


@pytest.mark.process
@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_a_fit_goes_on_from_its_checkpoint(kind, store, tmp_path):
    given = [store.folder, tmp_path / "saved", kind.__name__]
    command = [sys.executable, "-c", _DIES + _SAVED, *given]
    done = subprocess.run(command, check=False, cwd=Path(__file__).parent)
    assert done.returncode == -signal.SIGKILL
    settings = {"tol": 0, "random_state": 0, "warm_start": True}
    model = kind(LEGAL, max_iter=60, checkpoint=Checkpoint(tmp_path / "saved", every=1), **settings)
    model.fit(open_store(store.folder, batch_size=500))
    # One sweep more, for posteriors that were lost.
    whole = kind(LEGAL, max_iter=60, tol=0, random_state=0).fit(store)
    np.testing.assert_allclose(model.transmat_, whole.transmat_, atol=1e-3)
    n_tokens = sum(word is not None for sentence in X for word in sentence)
    assert model.counts_.emission.sum() == pytest.approx(n_tokens)
    assert model.counts_.start.sum() == pytest.approx(len(X))


# What is refused


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GibbsHMM(2), r"GibbsHMM keeps samples of all tokens in memory: pass list\(store\)"),
        (CVBHMM(2, update="token"), "use update='sequence'"),
        (EMHMM(2, emission="gaussian"), "X is a store of symbols"),
        (EMHMM(2, init=[np.ones((3, 2))]), "give the name of a start, HMMParameters, or"),
        (EMHMM(2, emission=Symbols(vocabulary=["the"], handle_unknown="error")), "unknown word"),
        (EMHMM(2, alpha=-1.0), "alpha"),
    ],
)
def test_what_a_store_cannot_do_is_refused_by_name(estimator, message, store):
    with pytest.raises((InvalidParameterError, ValueError), match=message):
        estimator.fit(store)


def test_tags_must_be_those_of_the_store(store):
    with pytest.raises(TypeError, match=r"pass store\.tags"):
        EMHMMTagger(LEGAL).fit(store, Y)
    with pytest.raises(ValueError, match="X holds 100 sequences but y 300"):
        EMHMMTagger(LEGAL).fit(store[:100], store.tags)
    with pytest.raises(TypeError, match=r"store\.tags"):
        EMHMMTagger(LEGAL, max_iter=1).fit(store).score(store, Y)
    with pytest.raises(InvalidParameterError, match="does not learn from states in y"):
        EMHMM(4, supervision="y").fit(store, store.tags)


def test_a_failed_fit_keeps_the_fit_before(store):
    model = EMHMM(2, random_state=0, max_iter=3).fit(X)
    before = model.transmat_.copy()
    with pytest.raises(ValueError, match="unknown word"):
        model.set_params(emission=Symbols(vocabulary=["the"], handle_unknown="error")).fit(store)
    np.testing.assert_array_equal(model.transmat_, before)


def test_grammars_read_a_store_as_a_list(store):
    grammar = EMPCFG(n_components=2, max_iter=1, random_state=0)
    np.testing.assert_array_equal(
        clone(grammar).fit(store[10:30]).history_, clone(grammar).fit(X[10:30]).history_
    )


# The disk


def _files(store):
    return sorted(path.name for path in store.folder.iterdir())


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_nothing_is_left_beside_the_store(kind, store, monkeypatch):
    before = _files(store)
    kind(LEGAL, max_iter=2).fit(store)
    assert _files(store) == before

    def fails(job, fit):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn_cvb.learning.sweeps._finished", fails)
    with pytest.raises(KeyboardInterrupt):
        kind(LEGAL, max_iter=2).fit(store)
    assert _files(store) == before


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_a_full_disk_names_the_folder_and_what_to_do(kind, store, monkeypatch):
    left = [9]
    write = scratch.Scratch._write

    def fails(self, array, place):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, array, place)

    monkeypatch.setattr(scratch.Scratch, "_write", fails)
    with pytest.raises(OSError, match=r"No space left.*make room.*scratch=.*store") as caught:
        kind(LEGAL, max_iter=2).fit(store)
    assert Path(caught.value.filename) == store.folder


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    store = write_store([X], tmp_path / "store")
    store.folder.chmod(0o500)
    with pytest.raises(OSError, match=r"make the folder writable.*scratch="):
        EMHMM(2).fit(store)
    elsewhere = open_store(store.folder, scratch=tmp_path)
    EMHMM(2, max_iter=1).fit(elsewhere)


_FIT = """
DIES_AT = "restart 0, sweep 1"
from sklearn_cvb import CVBHMM, open_store
model = CVBHMM(3, max_iter=10**6, tol=0, verbose=2)
model.fit(open_store(sys.argv[1], batch_size=300))
"""


@pytest.mark.process
def test_a_killed_fit_leaves_nothing_beside_the_store(store):
    before = _files(store)
    command = [sys.executable, "-c", _DIES + _FIT, str(store.folder)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert _files(store) == before
    assert list(open_store(store.folder, verify=True)) == X


def _mounted(folder):
    """A disk of two megabytes, or a skip where the system gives none."""
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        done = 1
    if done:
        pytest.skip("a small disk cannot be mounted here")
    return folder


@pytest.mark.long
def test_a_disk_that_is_really_full(store, tmp_path):
    disk = _mounted(tmp_path)
    try:
        with pytest.raises(OSError, match=r"No space left.*4 bytes a token"):
            write_store(lambda: iter(lambda: X * 100, None), disk / "store")
        assert list(disk.iterdir()) == []
        long = write_store((X for _ in range(30)), store.folder.parent / "long")
        with pytest.raises(OSError, match=r"No space left.*scratch="):
            CVBHMM(20, max_iter=1).fit(open_store(long.folder, scratch=disk, batch_size=3000))
        assert list(disk.iterdir()) == []
    finally:
        gc.collect()
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.many
@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_batch_size_bounds_memory(kind, tmp_path):
    rng = np.random.default_rng(0)
    words = sorted(LEGAL)
    text = ([[words[k] for k in rng.integers(0, 50, size=20)] for _ in range(500)] for _ in "12345")
    folder = write_store(text, tmp_path / "store").folder
    peaks = []
    for batch_size in (1000, 50_000):
        model = kind(LEGAL, max_iter=2, tol=0, random_state=0)
        store = open_store(folder, batch_size=batch_size)
        model.fit(store[:100])
        tracemalloc.start()
        model.fit(store)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert 5 * peaks[0] < peaks[1]


def test_scratch_may_be_elsewhere(store, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        EMHMM(2).fit(open_store(store.folder, scratch=tmp_path / "nowhere"))
    EMHMM(2, max_iter=1).fit(open_store(store.folder, scratch=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_arrays_of_named_tuples_come_back_to_the_last_byte(tmp_path):
    file = scratch.Scratch(tmp_path)
    rng = np.random.default_rng(0)
    values = [
        (rng.random(size), [rng.random((size, 2)), np.arange(size)], ("a", None, np.empty(0)))
        for size in range(0, 100, 7)
    ]
    kept = [file.write_value(value) for value in values]
    for value, found in zip(values, kept, strict=True):
        numbers, (table, places), (name, none, empty) = found.load()
        np.testing.assert_array_equal(numbers, value[0])
        np.testing.assert_array_equal(table, value[1][0])
        np.testing.assert_array_equal(places, value[1][1])
        assert (name, none, empty.shape) == ("a", None, (0,))
    # Nothing is written behind the last array of a value, or over its end.
    for size in range(1, 40):
        alone = file.write_value((np.full(size, np.pi),))
        file.write_value((np.full(3, np.e),))
        np.testing.assert_array_equal(alone.load()[0], np.pi)
    first = kept[3].load()[0]
    first[:] = 7.0
    del first
    assert (kept[3].load()[0] == 7.0).all()


def test_posteriors_of_a_fit_on_a_store_are_not_in_memory(store):
    model = CVBHMM(2, max_iter=1, warm_start=True, random_state=0).fit(store)
    with pytest.raises(AttributeError, match="keeps no posteriors in memory: use predict_proba"):
        model.training_posteriors()
