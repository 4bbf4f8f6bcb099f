"""Fits that are saved while they run: what died goes on, to the last bit, as if it never had."""

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import dying_fit
import numpy as np
import pytest
from dying_fit import X, several
from estimators import heeded
from interruption import Interrupt, watched
from learning.test_warm_start import assert_same, sampled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from watching import count_sweeps, watch

import sklearn_cvb
from sklearn_cvb import CVBHMM, EMHMM, Checkpoint, GibbsHMM, HMMClassifier, version
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.learning.model import State
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale import checkpoint_files as checkpoint
from sklearn_cvb.scale.checkpoints import saving_interval
from sklearn_cvb.scale.state_files import PackedTree, pack, unpack

WHOLE, STOP = 9, 5
# Every estimator in every way to sweep; titles that sweep as another does are left out.
ALIKE = ("init", "near zero", "one state", "missing", "ambiguous", "weights", "links", "heads")
ALL = [
    (name, title)
    for name, situations in SITUATIONS.items()
    for title in situations
    if not title.startswith(ALIKE)
]


def settings_of(name, title):
    situation = SITUATIONS[name][title]
    settings = situation.settings | {"tol": 0, "random_state": 0}
    settings["max_iter"] = max(WHOLE, settings["max_iter"])
    settings = heeded(getattr(sklearn_cvb, name), settings | sampled(name, title, burn_in=3))
    return situation, settings


def broken_off(model, at, X, y=None):
    """Fit until Ctrl-C comes after so many sweeps."""
    with pytest.raises(KeyboardInterrupt):
        watched(model, Interrupt(at=at)).fit(X, y)


@pytest.mark.many(usual=8)
@pytest.mark.parametrize(("name", "title"), ALL)
def test_a_fit_that_was_broken_off_ends_as_if_it_had_not_been(name, title, tmp_path):
    situation, settings = settings_of(name, title)
    kind = getattr(sklearn_cvb, name)
    whole = kind(**settings).fit(situation.X, situation.y)
    at = settings["max_iter"] - WHOLE + STOP
    broken_off(kind(**settings, checkpoint=tmp_path), at, situation.X, situation.y)
    again = kind(**settings, checkpoint=tmp_path, warm_start=True)
    swept = count_sweeps(again)
    again.fit(situation.X, situation.y)
    assert len(swept) == WHOLE - STOP
    assert np.array_equal(again.history_, whole.history_)
    assert again.objective_ == whole.objective_
    assert_same(again, whole)
    assert str(getattr(again, "labels_", None)) == str(getattr(whole, "labels_", None))


# Several restarts, real processes


@pytest.mark.process(usual=True)
@pytest.mark.parametrize(
    ("name", "when", "n"),
    [("CVBHMM", "saving", 9), ("GibbsHMM", "between", 7), ("EMHMM", "saving", 40)],
)
def test_restarts_go_on_after_kill_9(name, when, n, tmp_path):
    command = [sys.executable, dying_fit.__file__, name, when, str(n), str(tmp_path)]
    # The package that is tested, not one that is installed: its kernels are compiled.
    place = str(Path(sklearn_cvb.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": place}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    whole = several(name).fit(X)
    again = several(name, checkpoint=tmp_path, warm_start=True)
    swept = count_sweeps(again)
    again.fit(X)
    assert 0 < len(swept) < 3 * 8
    assert np.array_equal(again.restart_objectives_, whole.restart_objectives_)
    assert all(map(np.array_equal, again.restart_histories_, whole.restart_histories_))
    assert_same(again, whole)


def test_random_numbers_without_a_seed_go_on_too(tmp_path):
    model = GibbsHMM(max_iter=9, n_init=2, checkpoint=Checkpoint(tmp_path, every=1))
    broken_off(model, 12, X)
    copy = tmp_path.with_name("copy")
    copy.mkdir()
    for path in tmp_path.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    found = [
        clone(model).set_params(checkpoint=folder, warm_start=True).fit(X)
        for folder in (tmp_path, copy)
    ]
    assert_same(*found)
    assert all(map(np.array_equal, *(model.restart_histories_ for model in found)))


IN_PLACE = [("CVBHMM", "none"), ("CVBHMMTagger", "full"), ("CVBPCFG", "independent")]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize(("name", "title"), [*IN_PLACE, ("GibbsHMM", "poisson")])
@pytest.mark.parametrize("is_real", [True, False])
def test_ctrl_c_in_the_middle_of_a_sweep_changes_no_number(name, title, is_real, tmp_path):
    """A sweep changes arrays in place: it is ended first, or the one that was saved is kept."""
    situation, settings = settings_of(name, title)
    kind = getattr(sklearn_cvb, name)
    whole = kind(**settings).fit(situation.X, situation.y)
    model = kind(**settings, checkpoint=Checkpoint(tmp_path, every="60s" if is_real else 2))
    done = []

    def sweep(sound, *arguments):
        done.append(None)
        if len(done) == STOP and is_real:
            os.kill(os.getpid(), signal.SIGINT)
        result = sound(*arguments)
        if len(done) == STOP and not is_real:
            raise KeyboardInterrupt
        return result

    watch(model, "sweep", sweep)
    with pytest.raises(KeyboardInterrupt):
        model.fit(situation.X, situation.y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = kind(**settings, checkpoint=tmp_path, warm_start=True)
    swept = count_sweeps(again)
    again.fit(situation.X, situation.y)
    assert len(swept) == WHOLE - (STOP if is_real else STOP - 1)
    assert np.array_equal(again.history_, whole.history_)
    assert_same(again, whole)
    assert str(again.labels_) == str(whole.labels_)


# What is in the folder


def test_a_fit_that_is_done_is_not_done_again_but_goes_on_where_more_is_asked(tmp_path):
    whole = EMHMM(max_iter=6, tol=0, random_state=0).fit(X)
    model = EMHMM(max_iter=4, tol=0, random_state=0, checkpoint=tmp_path, warm_start=True)
    four = clone(model).fit(X)
    again = clone(model)
    swept = count_sweeps(again)
    again.fit(X)
    assert swept == []
    assert_same(again, four)
    more = clone(model).set_params(max_iter=6).fit(X)
    assert np.array_equal(more.history_, whole.history_)
    assert_same(more, whole)


def test_an_estimator_that_goes_on_itself_is_saved_as_well(tmp_path):
    """Two fits of 4 sweeps are one of 8, also if the second is broken off."""
    whole = EMHMM(max_iter=8, tol=0, random_state=0).fit(X)
    model = EMHMM(max_iter=4, tol=0, random_state=0, checkpoint=tmp_path, warm_start=True).fit(X)
    kept = pickle.loads(pickle.dumps(model))
    assert_same(kept.fit(X), whole)
    broken_off(model, 2, X)
    fresh = clone(model).fit(X)
    assert np.array_equal(fresh.history_, whole.history_[4:])
    assert_same(fresh, whole)


def test_without_warm_start_a_fit_that_is_done_is_replaced_and_one_broken_off_is_kept(tmp_path):
    model = EMHMM(max_iter=4, random_state=0, checkpoint=tmp_path)
    model.fit(X)
    before = sorted(os.listdir(tmp_path))
    model.fit(X[:3])
    after = sorted(os.listdir(tmp_path))
    assert (len(before), len(after), before == after) == (3, 3, False)
    broken_off(model, 2, X)
    with pytest.raises(
        ValueError, match=r"checkpoint\.npz is of a fit that was broken off.*delete"
    ):
        model.set_callbacks().fit(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 3}, "other parameters: n_components was 2, and is 3"),
        ({"random_state": 1}, "other parameters: random_state was 0, and is 1"),
        ({"alpha": np.float64(0.5)}, r"other parameters: alpha was 0.0, and is 0\.5"),
        ({"max_iter": 20, "tol": 1e-3, "n_jobs": 2, "verbose": 0}, None),
    ],
)
def test_other_parameters_are_refused_by_name(change, message, tmp_path):
    model = EMHMM(max_iter=8, random_state=0, tol=0, checkpoint=tmp_path, warm_start=True)
    broken_off(model, 3, X)
    other = clone(model).set_params(**change)
    if message is None:
        assert np.array_equal(other.fit(X).history_[:3], model.history_)
    else:
        with pytest.raises(ValueError, match=message):
            other.fit(X)


def test_other_sequences_and_estimators_are_refused_by_name(tmp_path):
    model = EMHMM(max_iter=8, random_state=0, checkpoint=tmp_path, warm_start=True)
    broken_off(model, 3, X)
    renamed = [["c" if letter == "a" else letter for letter in letters] for letters in X]
    for other in (X[:4], [*X[:4], ["b", "a"]], renamed):
        with pytest.raises(ValueError, match=r"checkpoint\.npz is of other sequences"):
            clone(model).fit(other)
    with pytest.raises(ValueError, match="of another estimator, EMHMM, this is CVBHMM"):
        CVBHMM(random_state=0, checkpoint=tmp_path, warm_start=True).fit(X)


def test_files_of_fits_that_are_corrupt_or_of_another_version_are_refused(tmp_path, monkeypatch):
    model = EMHMM(max_iter=8, random_state=0, checkpoint=tmp_path, warm_start=True)
    broken_off(model, 3, X)
    for path in sorted(tmp_path.glob("*.npz")):
        sound = path.read_bytes()
        for broken in (sound[: len(sound) // 2], sound[:60] + b"?" + sound[61:]):
            path.write_bytes(broken)
            with pytest.raises(ValueError, match=f"{path.name} is truncated or corrupt"):
                clone(model).fit(X)
        path.write_bytes(sound)
    monkeypatch.setattr(version, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"another version: library .*99\.0"):
        clone(model).fit(X)


@pytest.mark.parametrize("name", ["../../{}", "../outside/{}", "/{}", "{}\n", "{}0", "", None, 3])
def test_a_name_that_leads_out_of_the_folder_is_refused(name, tmp_path):
    """Nothing outside of the folder is read, written over, or deleted."""
    folder, outside = tmp_path / "inside" / "folder", tmp_path / "inside" / "outside"
    model = EMHMM(max_iter=8, tol=0, random_state=0, checkpoint=folder, warm_start=True)
    broken_off(model, 3, X)
    (restart,) = folder.glob("*restart*.npz")
    arrays, metadata = checkpoint.load(folder)
    sound = metadata["fit"]
    for place in (tmp_path, outside):
        place.mkdir(exist_ok=True)
        (place / restart.name).write_bytes(restart.read_bytes())
    crafted = name.format(sound) if isinstance(name, str) else name
    checkpoint.save(folder, arrays, metadata | {"fit": crafted})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.npz")}
    with pytest.raises(ValueError, match=r"checkpoint\.npz cannot be read .*delete the folder"):
        clone(model).fit(X)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.npz")} == before


def _two_broken_off(tmp_path):
    """Two fits of the same kind in folders of their own, each with two restarts."""
    folders = tmp_path / "one", tmp_path / "other"
    for seed, folder in enumerate(folders):
        EMHMM(max_iter=3, tol=0, n_init=2, random_state=seed, checkpoint=folder).fit(X)
    return folders


def _restarts(folder):
    return sorted(folder.glob("*restart*.npz"))


def _goes_on(folder):
    seed = 0 if folder.name == "one" else 1
    EMHMM(max_iter=5, tol=0, n_init=2, random_state=seed, checkpoint=folder, warm_start=True).fit(X)


def test_files_of_restarts_that_were_exchanged_are_refused(tmp_path):
    one, other = _two_broken_off(tmp_path)
    files = [path.read_bytes() for path in _restarts(one)]
    for path, content in zip(_restarts(one), files[::-1], strict=True):
        path.write_bytes(content)
    with pytest.raises(ValueError, match="of another") as error:
        _goes_on(one)
    assert str(error.value) == (
        f"checkpoint {_restarts(one)[0]} is of another restart than its name and this fit say: put "
        "back the file that was there, or delete the folder to fit from the beginning"
    )
    for path, content in zip(_restarts(other), files, strict=True):
        path.write_bytes(content)
    with pytest.raises(ValueError, match="is of another fit than its name"):
        _goes_on(other)


@pytest.mark.parametrize("what", ["estimator", "sequences"])
def test_a_file_of_another_algorithm_or_corpus_is_refused(what, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    EMHMM(max_iter=3, tol=0, n_init=2, random_state=0, checkpoint=one).fit(X)
    kind, sequences = (CVBHMM, X) if what == "estimator" else (EMHMM, X[1:])
    kind(max_iter=3, tol=0, random_state=0, checkpoint=other).fit(sequences)
    _restarts(one)[0].write_bytes(_restarts(other)[0].read_bytes())
    with pytest.raises(ValueError, match=f"is of another {what} than its name"):
        _goes_on(one)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("key", ["fit", "about", "generators", "finished", "parameters", "owner"])
def test_a_file_without_a_key_is_refused_by_name(key, tmp_path):
    one, _ = _two_broken_off(tmp_path)
    name = _restarts(one)[0].stem if key == "owner" else "checkpoint"
    arrays, metadata = checkpoint.load(one, name)
    del (metadata["about"] if key == "parameters" else metadata)[key]
    checkpoint.save(one, arrays, metadata, name)
    with pytest.raises(ValueError, match=f"{name}.npz cannot be read .*does not say '{key}'"):
        _goes_on(one)


def test_a_file_that_holds_no_state_of_a_fit_is_refused(tmp_path):
    one, _ = _two_broken_off(tmp_path)
    name = _restarts(one)[0].stem
    arrays, metadata = checkpoint.load(one, name)
    arrays, tree = pack([1, 2])
    checkpoint.save(one, arrays, metadata | {"fit": tree}, name)
    with pytest.raises(ValueError, match=f"{name}.npz cannot be read .it holds no state of a fit"):
        _goes_on(one)


def test_an_empty_name_is_no_folder():
    with pytest.raises(InvalidParameterError) as error:
        EMHMM(2, checkpoint="").fit(X)
    assert str(error.value) == "checkpoint='' names no folder: give one, or None to save nothing"


def test_the_lock_is_no_program(tmp_path):
    EMHMM(2, max_iter=2, checkpoint=tmp_path).fit(X)
    assert (tmp_path / "lock").stat().st_mode & 0o133 == 0


def test_files_of_others_stay_when_a_fit_replaces_another(tmp_path):
    notes = tmp_path / "my-restart-1.npz"
    notes.write_text("mine")
    EMHMM(max_iter=2, random_state=0, checkpoint=tmp_path).fit(X)
    assert notes.read_text() == "mine"


def test_a_full_disk_is_told_and_the_fit_goes_on(tmp_path, monkeypatch):
    whole = EMHMM(max_iter=8, tol=0, random_state=0).fit(X)
    model = EMHMM(max_iter=8, tol=0, random_state=0, checkpoint=Checkpoint(tmp_path, every=1))
    sound, calls = np.lib.format.write_array, []

    def full(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) > 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return sound(*arguments, **keywords)

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.warns(UserWarning, match="No space left on device; .* the fit goes on"):
        model.fit(X)
    assert_same(model, whole)
    monkeypatch.undo()
    # The last one that was saved is there to go on from.
    again = clone(model).set_params(warm_start=True)
    swept = count_sweeps(again)
    assert_same(again.fit(X), whole)
    assert 0 < len(swept) < 8


def test_a_state_that_cannot_be_saved_is_told_and_the_fit_goes_on(tmp_path, monkeypatch):
    model = EMHMM(max_iter=4, tol=0, random_state=0, checkpoint=tmp_path)
    monkeypatch.setattr(SymbolChain, "compact", lambda _, state: state._replace(prior=object()))
    with pytest.warns(UserWarning, match="object cannot be saved; the fit goes on without"):
        model.fit(X)
    assert_same(model, EMHMM(max_iter=4, tol=0, random_state=0).fit(X))


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(NotADirectoryError, match="file is a file: name a folder"):
        EMHMM(2, checkpoint=file).fit([["a", "b"]])


def test_a_folder_that_cannot_be_made_is_told_before_the_first_sweep(tmp_path):
    (tmp_path / "file").write_text("")
    model = EMHMM(checkpoint=tmp_path / "file" / "folder")
    swept = count_sweeps(model)
    with pytest.raises(OSError, match="could not be saved"):
        model.fit(X)
    assert swept == []


# Parameters


def test_how_often_restarts_are_saved(tmp_path, monkeypatch):
    """A sweep takes 10 seconds by this clock, and a save one; or half a minute."""
    now, names = [0.0], []
    monkeypatch.setattr("sklearn_cvb.scale.checkpoints.time.monotonic", lambda: now[0])
    for every, seconds, n_saved in (
        *((1, 1, 40), (15, 1, 3), ("10s", 1, 21), ("60s", 1, 7), ("1.5 s", 30, 2)),
        *(("400s", 1, 1), ("10000s", 1, 1)),
    ):

        def save(_folder, _arrays, _facts, name="checkpoint", seconds=seconds):
            names.append(name)
            now[0] += seconds * ("restart" in name)

        names.clear()
        monkeypatch.setattr(checkpoint, "save", save)
        model = EMHMM(max_iter=40, tol=0, checkpoint=Checkpoint(tmp_path, every=every))

        def sweep(sound, *arguments):
            now[0] += 10.0
            return sound(*arguments)

        watch(model, "sweep", sweep)
        model.fit(X)
        assert sum("restart" in name for name in names) == n_saved, every
    assert saving_interval("1.5 s").seconds == 1.5
    for wrong in ("often", "60", "-1s", 0, 1.5):
        with pytest.raises(ValueError, match="every"):
            EMHMM(checkpoint=Checkpoint(tmp_path, every=wrong)).fit(X)


def test_searches_and_classifiers_may_have_a_folder(tmp_path):
    model = CVBHMM(max_iter=3, random_state=0, checkpoint=tmp_path)
    assert clone(model).checkpoint == tmp_path
    search = GridSearchCV(model, {"n_components": [2, 3]}, cv=2, error_score="raise").fit(X)
    plain = GridSearchCV(clone(model).set_params(checkpoint=None), search.param_grid, cv=2).fit(X)
    assert search.best_score_ == plain.best_score_
    HMMClassifier(clone(model)).fit(X, [0, 0, 1, 1, 1])


def test_two_fits_do_not_share_a_folder(tmp_path):
    """The second is refused while the first runs, and the first is none the worse."""
    model, refused = EMHMM(max_iter=5, tol=0, random_state=0, checkpoint=tmp_path), []

    def sweep(sound, *arguments):
        with pytest.raises(RuntimeError, match="in use by another fit") as caught:
            CVBHMM(checkpoint=tmp_path).fit(X)
        refused.append(caught)
        return sound(*arguments)

    watch(model, "sweep", sweep)
    model.fit(X)
    assert len(refused) == 5
    assert_same(model, EMHMM(max_iter=5, tol=0, random_state=0).fit(X))


# What is saved of a state


def test_states_are_small_and_nothing_in_them_is_pickled(tmp_path):
    letters = [list("ab" * 500)] * 20
    model = CVBHMM(3, max_iter=2, random_state=0, checkpoint=tmp_path)
    model.fit(letters)
    (path,) = tmp_path.glob("*restart*.npz")
    # Posteriors and the pairs of twenty sequences; neither lattices nor buffers.
    assert path.stat().st_size < 1.02 * 8 * 3 * 20_000
    with np.load(path, allow_pickle=False) as found:
        assert all(found[name].dtype.kind in "fiub" for name in found if name != "facts.json")


def test_what_is_packed_comes_back():
    table = np.arange(2000.0).reshape(40, 50)
    state = {
        "table": table,
        "row": table[3],
        "same": table,
        "by column": table.T,
        "apart": np.arange(4)[::2],
        "fixed": np.frombuffer(b"abcd", np.uint8),
        "numbers": (1, 2.5, np.float64(0.1), None, True, "é", b"\0", 2**70, float("nan")),
        "named": PackedTree({}, [np.int32(3)]),
    }
    packed = pack(state)
    found = unpack(PackedTree(packed.arrays, json.loads(json.dumps(packed.tree))))
    assert found["table"] is found["same"]
    for name in ("table", "row", "by column", "apart", "fixed"):
        assert (found[name] == state[name]).all()
        assert found[name].flags.fnc == state[name].flags.fnc
    found["table"][3] = -1
    assert not found["fixed"].flags.writeable
    assert found["numbers"][:-1] == state["numbers"][:-1]
    assert [type(value) for value in found["numbers"]] == list(map(type, state["numbers"]))
    assert isinstance(found["named"], PackedTree)
    for wrong in (object(), np.array([None]), {1, 2}):
        with pytest.raises(TypeError, match="cannot be saved"):
            pack(wrong)


@pytest.mark.parametrize(
    "node",
    [
        {"named": ["os", "system", {}]},
        {"named": ["sklearn_cvb.estimators.base", "BaseModel", {}]},
        {"named": ["sklearn_cvb.learning.model", "Fit", {"other": 1}]},
        {"named": ["sklearn_cvb.nothing", "Fit", {}]},
        {"array": 3},
        {"unknown": 1},
    ],
)
def test_nothing_but_named_tuples_of_the_package_is_made(node):
    with pytest.raises(ValueError, match=r"no state of a fit|none of this|no named tuple"):
        unpack(PackedTree({}, {"arrays": [], "value": node}))


def test_a_state_of_another_make_is_refused(tmp_path, monkeypatch):
    model = CVBHMM(max_iter=8, random_state=0, checkpoint=tmp_path, warm_start=True)
    broken_off(model, 3, X)
    (path,) = tmp_path.glob("*restart*.npz")
    with zipfile.ZipFile(path) as archive:
        assert b"State" in archive.read("facts.json")
    monkeypatch.setattr("sklearn_cvb.learning.model.State", type("Other", (), {}))
    with pytest.raises(ValueError, match=r"cannot be read .*no named tuple"):
        clone(model).fit(X)
    assert issubclass(State, tuple)
