"""Stores of numbers: what is written is read again, and fits find the numbers of fits in memory."""

import errno
import gc
import os
import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from interruption import Interrupt, watched
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    Checkpoint,
    CVBHMMTagger,
    Durations,
    GibbsHMM,
    HMMParameters,
    NumberStore,
    Transitions,
    Windows,
    open_store,
    write_numbers,
    write_store,
)
from sklearn_cvb.chain.numbers import e_step, leave_out
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
    Gamma,
    Gaussian,
    Poisson,
    Regression,
)
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.numbers import stored_fits
from sklearn_cvb.scale.numbers.stored_fits import StoredObservations
from sklearn_cvb.store import StoredStates, StoreError, number_store, scratch

KINDS = (EMHMM, VBHMM, CVBHMM)


def _series():
    """Series of three numbers, a count and a code, some of them missing, some steps as a whole."""
    rng = np.random.default_rng(0)
    found = []
    for n_steps in rng.integers(5, 60, size=60):
        states = np.cumsum(rng.random(n_steps) < 0.1) % 3
        numbers = rng.normal(states[:, None] * [2.0, -1.0, 3.0], 1.0)
        counts = rng.poisson(1.0 + 4.0 * states)
        codes = np.where(rng.random(n_steps) < 0.8, states, rng.integers(0, 3, n_steps))
        table = np.column_stack([numbers, counts, codes])
        table[rng.random(table.shape) < 0.05] = np.nan
        table[rng.random(n_steps) < 0.03] = np.nan
        found.append(table)
    return found


X = _series()
MIXED = Columns(
    [(Gaussian("diag"), [0, 1]), (Gaussian(), [2]), (Poisson(), [3]), (Categorical(), [4])]
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores") / "store"
    write_numbers([X[:7], X[7:30], X[30:]], folder)
    found = open_store(folder, batch_size=300)
    assert len(found.pieces()) > 3
    return found


@pytest.fixture(autouse=True)
def _many_pieces(monkeypatch):
    """A few hundred steps are many pieces."""
    monkeypatch.setattr(e_step, "_PIECE", 200)
    monkeypatch.setattr(e_step, "_ADDED", 3)
    monkeypatch.setattr(stored_fits, "_PIECE", 100)
    monkeypatch.setattr(leave_out, "_LARGEST_GROUP", 128)


def _fit_twice(model, store, here=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(model).fit(here), clone(model).fit(store)


def _assert_same(here, there):
    """To the last bit."""
    np.testing.assert_array_equal(there.history_, here.history_)
    np.testing.assert_array_equal(there.restart_objectives_, here.restart_objectives_)
    for name in ("startprob_", "transmat_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    for one, other in zip(there.counts_, here.counts_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert isinstance(there.labels_, StoredStates)
    np.testing.assert_array_equal(
        np.concatenate(list(there.labels_)), np.concatenate(list(here.labels_))
    )
    assert there.n_features_in_ == here.n_features_in_


# What is written


def test_what_is_written_is_read_again(store):
    assert isinstance(store, NumberStore)
    assert (len(store), store.n_tokens, store.n_columns) == (60, sum(map(len, X)), 5)
    assert store.names is None
    for i in (0, 29, -1):
        np.testing.assert_array_equal(store[i], X[i])
    for one, other in zip(store, X, strict=True):
        np.testing.assert_array_equal(one, other)
    part = store[5:9]
    assert len(part) == 4
    np.testing.assert_array_equal(part[1], X[6])
    np.testing.assert_array_equal(part.rows(np.array([0, 3])), X[5][[0, 3]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(part))[3], X[8])
    assert "60 sequences" in repr(store)


def test_the_survey_is_that_of_the_table(store):
    table = np.concatenate(X)
    moments, n_observed = store.survey
    np.testing.assert_allclose(moments.means, np.nanmean(table, axis=0), rtol=1e-13)
    np.testing.assert_allclose(moments.deviations, np.nanstd(table, axis=0), rtol=1e-13)
    assert n_observed == np.count_nonzero(~np.isnan(table).all(axis=1)) < len(table)
    of_part = store[3:9].survey
    np.testing.assert_allclose(
        of_part.moments.means, np.nanmean(np.concatenate(X[3:9]), axis=0), rtol=1e-13
    )


def _as_stream():
    yield from X


def _as_batches():
    return [X[:10], X[10:]]


def test_all_that_holds_series_is_taken(tmp_path):
    np.save(tmp_path / "a.npy", X[0])
    np.save(tmp_path / "b.npy", X[1])
    sources = {
        "stream": _as_stream,
        "batches": _as_batches,
        "generator": iter(_as_batches()),
        "files": [tmp_path / "a.npy", tmp_path / "b.npy"],
        "read": [tmp_path / "a.npy"],
        "cube": np.zeros((4, 3, 2)),
        "rows": np.arange(12.0).reshape(4, 3),
        "lists": [[[1, 2, None], [3.5]]],
        "list of series": [[1.0, 2.0], [3.0]],
    }
    sizes = {
        "stream": (60, 5),
        "batches": (60, 5),
        "generator": (60, 5),
        "files": (2, 5),
        "read": (1, 5),
        "cube": (4, 2),
        "rows": (4, 1),
        "lists": (2, 1),
        "list of series": (2, 1),
    }
    for name, source in sources.items():
        reader = np.load if name == "read" else None
        found = write_numbers(source, tmp_path / "store", overwrite=True, reader=reader)
        assert (len(found), found.n_columns) == sizes[name], name
    assert np.isnan(write_numbers([[[1, None]]], tmp_path / "gap")[0]).tolist() == [[False], [True]]


def test_columns_keep_their_names(tmp_path):
    frames = [pd.DataFrame(one[:, :2], columns=["low", "high"]) for one in X]
    found = write_numbers([frames[:5], frames[5:]], tmp_path / "store")
    assert found.names == ["low", "high"]
    emission = Columns([(Gaussian("diag"), ["high"]), (Gaussian("diag"), ["low"])])
    model = EMHMM(2, emission=emission, random_state=0, max_iter=3, tol=0)
    here, there = _fit_twice(model, found, frames)
    _assert_same(here, there)
    assert there.feature_names_in_.tolist() == ["low", "high"]
    np.testing.assert_array_equal(there.predict(frames)[7], here.predict(frames)[7])
    other = write_numbers([[frame[["high", "low"]] for frame in frames]], tmp_path / "other")
    with pytest.raises(ValueError, match=r"X has columns \['high', 'low'\], but was fitted with"):
        there.predict(other)


def test_float32_rounds_what_is_kept(tmp_path):
    found = write_numbers([X], tmp_path / "store", dtype="float32")
    size = (tmp_path / "store" / "numbers.float32").stat().st_size
    assert size == 4 * 5 * found.n_tokens
    rounded = [one.astype(np.float32).astype(np.float64) for one in X]
    np.testing.assert_array_equal(found[3], rounded[3])
    model = VBHMM(3, emission=MIXED, random_state=0, max_iter=4, tol=0)
    _assert_same(*_fit_twice(model, found, rounded))


@pytest.mark.parametrize(
    ("batches", "options", "error", "why"),
    [
        ([], {}, ValueError, "there is nothing to write"),
        ([X[:2], [X[2][:, :2]]], {}, ValueError, "sequence 2 has columns 2, but those before it"),
        (
            [X[:1], [[1.0, np.inf]]],
            {},
            ValueError,
            "batch 1: Input X contains infinity.*sequence 0",
        ),
        ([[np.array([1e200])]], {"dtype": "float32"}, ValueError, "too large for float32"),
        ([[["a", "b"]]], {}, ValueError, "batch 0: X.0. holds 'a'"),
        ([[[1.0]]], {"dtype": "int"}, InvalidParameterError, "dtype must be"),
        (7, {}, TypeError, "pass batches of sequences"),
        (["no.npy"], {}, FileNotFoundError, "there is no file"),
        ([[np.empty((0, 2))]], {}, ValueError, "sequence 0 is empty"),
    ],
)
def test_what_is_no_series_is_refused(batches, options, error, why, tmp_path):
    with pytest.raises(error, match=why):
        write_numbers(batches, tmp_path / "store", **options)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_named(tmp_path):
    found = write_numbers([X], tmp_path / "store")
    path = tmp_path / "store" / "numbers.float64"
    values = np.fromfile(path)
    values[100] += 1.0
    values.tofile(path)
    model = EMHMM(2, emission=MIXED, random_state=0, max_iter=2, tol=0)
    with pytest.raises(StoreError, match=r"numbers.float64' is damaged: its checksum"):
        model.fit(found)
    with pytest.raises(StoreError, match="checksum"):
        open_store(tmp_path / "store", verify=True)
    values[:-5].tofile(path)
    with pytest.raises(StoreError, match="bytes and should have"):
        open_store(tmp_path / "store")


# What is fitted


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("init", [None, "token"])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_find_the_same_to_the_last_bit(kind, init, store):
    model = kind(3, emission=MIXED, init=init, random_state=0, max_iter=6, tol=0)
    here, there = _fit_twice(model, store)
    _assert_same(here, there)
    assert there.score(store) == pytest.approx(here.score(X), abs=1e-13)
    np.testing.assert_allclose(there.score_samples(store), here.score_samples(X), rtol=1e-12)
    assert there.perplexity(store) == pytest.approx(here.perplexity(X), rel=1e-12)
    for decoding in ("viterbi", "marginal"):
        states = there.predict(store, decoding)
        np.testing.assert_array_equal(
            np.concatenate(list(states)), np.concatenate(here.predict(X, decoding))
        )


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("topology", ["full", "independent"])
@pytest.mark.parametrize("emission", [Regression([0]), AutoRegressive(2)], ids=["lines", "lags"])
@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_what_depends_on_other_columns_or_steps(kind, emission, topology, tmp_path):
    """Starts by lines, and steps that look back within pieces that begin in a sequence."""
    own = [table[:, :3] for table in X]
    found = write_numbers([own[:20], own[20:]], tmp_path / "store")
    settings = {"transitions": Transitions(topology), "random_state": 0, "max_iter": 3, "tol": 0}
    model = kind(2, emission=emission, init="kmeans", **settings)
    _assert_same(*_fit_twice(model, found, own))


@pytest.mark.many(usual=2)
@pytest.mark.parametrize(
    "emission",
    [
        Gaussian("full"),
        Gaussian("tied"),
        Gaussian("spherical"),
        Columns([(Gaussian("full"), [0, 1, 2]), (Gamma(), [3]), (Bernoulli(), [4])]),
    ],
    ids=lambda one: f"{type(one).__name__} {getattr(one, 'covariance_type', '')}",
)
@pytest.mark.parametrize("kind", KINDS)
def test_of_every_family(kind, emission, tmp_path):
    own = [np.column_stack([one[:, :3], one[:, 3], one[:, 4] > 0]) for one in X]
    found = write_numbers([own], tmp_path / "store")
    model = kind(2, emission=emission, random_state=1, max_iter=3, tol=0)
    _assert_same(*_fit_twice(model, found, own))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(
    "settings",
    [
        {"transitions": Transitions(end_state=True)},
        {"transitions": Transitions(durations=Durations("poisson", longest=9))},
        {"transitions": "independent"},
        {"transitions": "left-right"},
        {"n_init": 3, "n_jobs": 2},
        {"n_jobs": 2},
        {"init": HMMParameters(transmat=np.full((3, 3), 1 / 3))},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_settings_mean_the_same(kind, settings, store):
    _assert_same(
        *_fit_twice(kind(3, emission=MIXED, random_state=1, max_iter=4, tol=0, **settings), store)
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_learned_priors_are_the_same(kind, store):
    plain = kind(3, emission=MIXED, random_state=1, max_iter=23, tol=0)
    shared = clone(plain).set_params(transitions=Transitions(prior=HDP()))
    here, there = _fit_twice(shared, store)
    _assert_same(here, there)
    np.testing.assert_array_equal(there.state_weights_, here.state_weights_)
    here, there = _fit_twice(plain.set_params(alpha="auto"), store)
    _assert_same(here, there)
    assert there.alpha_ == here.alpha_ != 0.1


def test_windows_of_a_long_series(tmp_path):
    own = [np.concatenate(X), X[0]]
    found = write_numbers([own], tmp_path / "store")
    for update in (None, Windows(30)):
        model = CVBHMM(3, emission=MIXED, update=update, random_state=0, max_iter=3, tol=0)
        _assert_same(*_fit_twice(model, found, own))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_and_a_model_to_start_from(kind, store):
    first = kind(3, emission=MIXED, random_state=0, max_iter=3, tol=0).fit(X[:20])
    model = kind(3, emission=MIXED, init=FrozenEstimator(first), max_iter=3, tol=0)
    _assert_same(*_fit_twice(model, store[10:40], X[10:40]))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_function_of_batches_is_written_first(kind):
    model = kind(3, emission=MIXED, random_state=0, max_iter=3, tol=0)
    _assert_same(*_fit_twice(model, _as_batches))


def test_impossible_values_are_named_by_their_place(tmp_path):
    own = [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0], [2.5]])]
    found = write_numbers([own], tmp_path / "store")
    with pytest.raises(ValueError, match=r"got 2.5 \(sequence 1, position 2, column 0\)"):
        EMHMM(2, emission="poisson").fit(found)


@pytest.mark.parametrize(
    ("model", "of_symbols", "why"),
    [
        (GibbsHMM(2, emission=MIXED), False, "keeps samples of all steps in memory"),
        (EMHMM(2, emission="gaussian"), True, "X is a store of symbols"),
        (EMHMM(2), False, "X is a store of numbers"),
        (CVBHMMTagger({"a": ["A"]}), False, "X is a store of numbers"),
        (EMHMM(2, emission=MIXED, init=[np.ones((9, 2))]), False, "arrays as `init`"),
        (CVBHMM(2, emission=MIXED, update="token"), False, "leaves out one step at a time"),
    ],
)
def test_what_a_store_cannot_do_is_refused(model, of_symbols, why, store, tmp_path):
    symbols = write_store([[["a", "b"]]], tmp_path / "symbols")
    with pytest.raises(InvalidParameterError, match=why):
        model.fit(symbols if of_symbols else store)


def test_predictions_of_another_kind_of_store_are_refused(store, tmp_path):
    symbols = write_store([[["a", "b", "a"]]], tmp_path / "symbols")
    of_numbers = EMHMM(2, emission=MIXED, random_state=0, max_iter=2, tol=0).fit(X)
    of_symbols = EMHMM(2, random_state=0, max_iter=2, tol=0).fit([["a", "b"], ["b", "a"]])
    for model, other in ((of_numbers, symbols), (of_symbols, store)):
        for method in ("predict", "score", "perplexity"):
            with pytest.raises(InvalidParameterError, match="X is a store of"):
                getattr(model, method)(other)
    with pytest.raises(InvalidParameterError, match="X is a store of symbols"):
        of_numbers.predict_proba(symbols)
    pair = of_numbers.predict_proba(store[3:5]), of_numbers.predict_proba(X[3:5])
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)


def test_states_in_y_are_refused(store):
    model = EMHMM(3, emission=MIXED, supervision="y")
    with pytest.raises(InvalidParameterError, match="does not learn from states in y"):
        model.fit(store, [None] * len(store))


@pytest.mark.long
def test_memory_does_not_grow_with_the_store(tmp_path):
    rng = np.random.default_rng(0)
    peaks = {}
    for n in (25, 125):
        found = write_numbers((rng.normal(size=(1000, 4)) for _ in range(n)), tmp_path / str(n))
        for kind in KINDS:
            model = kind(4, emission="gaussian", random_state=0, max_iter=2, tol=0)
            model.fit(found[:5])
            tracemalloc.start()
            model.fit(found)
            peaks[n, kind] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    for kind in KINDS:
        # The larger one has 3.2 MB more; its posteriors alone another 3.2.
        assert peaks[125, kind] < peaks[25, kind] + 1.5e6


# Fits that go on


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_fits_go_on(kind, store):
    model = kind(3, emission=MIXED, random_state=0, max_iter=3, tol=0, warm_start=True)
    here, there = _fit_twice(model, store)
    here.fit(X)
    there.fit(store)
    _assert_same(here, there)
    with pytest.raises(AttributeError, match="keeps no posteriors"):
        there.training_posteriors()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_was_interrupted_goes_on(kind, store, tmp_path):
    model = kind(3, emission=MIXED, random_state=0, max_iter=30, tol=0)
    whole = clone(model).fit(store)
    saved = clone(model).set_params(checkpoint=Checkpoint(tmp_path, every=1), warm_start=True)
    with pytest.raises(RuntimeError, match="killed"):
        watched(clone(saved), Interrupt(7, RuntimeError("killed"))).fit(store)
    with pytest.raises(ValueError, match="is of other sequences"):
        clone(saved).fit(store[:30])
    there = saved.fit(open_store(store.folder))
    assert there.n_iter_ == 30
    if kind is CVBHMM:
        # Posteriors are inferred anew under the counts of all.
        assert there.objective_ == pytest.approx(whole.objective_, abs=0.01)
    else:
        np.testing.assert_array_equal(there.history_, whole.history_)
        np.testing.assert_array_equal(there.transmat_, whole.transmat_)


# What is wrong is seen


def _one_step_off(monkeypatch):
    before = StoredObservations.part

    def part(self, begin, end):
        first = max(0, begin - 1)
        return before(self, first, first + end - begin)

    monkeypatch.setattr(StoredObservations, "part", part)


def _rows_of_others(monkeypatch):
    before = scratch.ScratchTable.__getitem__

    def getitem(self, rows):
        return before(self, slice(0, rows.stop - rows.start))

    monkeypatch.setattr(scratch.ScratchTable, "__getitem__", getitem)


def _gaps_are_zeros(monkeypatch):
    before = number_store.read_rows
    monkeypatch.setattr(number_store, "read_rows", lambda *given: np.nan_to_num(before(*given)))


@pytest.mark.many
@pytest.mark.parametrize("error", [_one_step_off, _rows_of_others, _gaps_are_zeros])
def test_planted_errors_are_seen(error, store, monkeypatch):
    model = CVBHMM(3, emission=MIXED, random_state=0, max_iter=3, tol=0)
    _assert_same(*_fit_twice(model, store))
    error(monkeypatch)
    with pytest.raises(AssertionError):
        _assert_same(*_fit_twice(model, store))


def test_a_full_disk_names_the_folder_and_what_to_do(store, monkeypatch):
    left, write = [9], scratch.Scratch._write

    def fails(self, array, place):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, array, place)

    monkeypatch.setattr(scratch.Scratch, "_write", fails)
    with pytest.raises(OSError, match=r"No space left.*make room.*scratch=.*store") as caught:
        CVBHMM(3, emission=MIXED, max_iter=2).fit(store)
    assert caught.value.filename == str(store.folder)


@pytest.mark.long
def test_tables_of_an_earlier_fit_are_gone(store):
    def n_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    model = CVBHMM(3, emission=MIXED, random_state=0, max_iter=2, tol=0).fit(store)
    before = n_files()
    for _ in range(3):
        model.fit(store)
    assert n_files() == before
    with pytest.raises(TypeError, match="lies in a temporary file and cannot be pickled"):
        pickle.dumps(model.set_params(warm_start=True).fit(store))
    pickle.dumps(EMHMM(3, emission=MIXED, max_iter=2, tol=0, warm_start=True).fit(store))
