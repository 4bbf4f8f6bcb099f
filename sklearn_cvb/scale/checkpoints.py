"""Checkpoints of a running fit: an index of the fit, and the last saved sweep of each restart.

A folder belongs to one fit. ``checkpoint.npz`` says which fit, of which estimator, parameters and
sequences; it is written once a restart is saved, and again when the fit is done. Beside it each
restart has a file of its own, whose name begins with the fit's: restarts are independent, so that
each may be saved after another sweep. It says itself whose it is, so that files that were exchanged
are not taken for one another.
"""

import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from sklearn_cvb.learning.fingerprints import digest_of, repr_or_digest
from sklearn_cvb.learning.learned import FitJob, Reading
from sklearn_cvb.learning.model import Fit, Record, State, Sweep
from sklearn_cvb.learning.resuming import FitSaver, SavedRestarts
from sklearn_cvb.reading.validation import InvalidParameterError, warn
from sklearn_cvb.scale import checkpoint_files as checkpoint
from sklearn_cvb.scale.state_files import PackedTree, pack, unpack
from sklearn_cvb.settings import Checkpoint

# What a fit that goes on may have otherwise.
_FREE = ("max_iter", "tol", "n_jobs", "verbose", "checkpoint", "warm_start")
# What `secrets.token_hex(4)` gives, as a regular expression and as a pattern of files.
_FIT_NAME = "[0-9a-f]" * 8
# Where seconds are counted, so many times what the last save took pass before the next.
_REST = 20


class SavingInterval(NamedTuple):
    """How often a restart is saved: after so many sweeps, or seconds; the other is None."""

    sweeps: int | None
    seconds: float | None


def saving_interval(value: int | str) -> SavingInterval:
    """How often to save, as `Checkpoint` says."""
    if isinstance(value, Integral):
        return SavingInterval(int(value), None)
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*s", str(value))
    if found is None:
        raise InvalidParameterError(
            f"every must be a number of sweeps, such as 10, or of seconds, such as "
            f"'60s', got {value!r}"
        )
    return SavingInterval(None, float(found[1]))


class FitCheckpoint(FitSaver):
    """Saves a fit while it runs, and finds what an earlier one saved.

    Parameters
    ----------
    job : FitJob
        What is fitted.
    where : Checkpoint
    name : str
        `checkpoint`, as messages call it.
    identity : dict
        `identity_of_fit`, which a fit that goes on must share.
    """

    def __init__(
        self, job: FitJob[Any], where: Checkpoint, name: str, identity: dict[str, Any]
    ) -> None:
        if not os.fspath(where.folder):
            raise InvalidParameterError(
                "checkpoint='' names no folder: give one, or None to save nothing"
            )
        self.folder: Path = Path(where.folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(
                f"checkpoint {self.folder} is a file: name a folder, which is made if it is missing"
            )
        self.name = name
        self._interval = saving_interval(where.every)
        self._job = job
        self._fit_name = secrets.token_hex(4)
        self._identity = identity
        self._generators: list[Mapping[str, Any]] = []
        self._has_index = False
        self._index_lock = threading.Lock()
        # By restart: the last sweep and its number; the last one that was saved, and when it is
        # time for the next.
        self._latest: dict[int, tuple[Fit, int]] = {}
        self._saved: dict[int, int] = {}
        self._next: dict[int, float] = {}
        # Restarts in the middle of a sweep.
        self._busy: set[int] = set()

    def begin(self, generators: list[Mapping[str, Any]]) -> None:
        """A fit begins, with random generators in these states."""
        self._generators = generators
        self._saved = dict.fromkeys(range(len(generators)), 0)
        first = time.monotonic() + (self._interval.seconds or 0.0)
        self._next = dict.fromkeys(self._saved, first)

    def restarts(self, *, goes_on: bool, has_fit: bool) -> SavedRestarts | None:
        """What an earlier fit saved in the folder, to go on from.

        Raises
        ------
        ValueError
            If what is there belongs to another fit, or is broken off and would be written over, or
            cannot be read.
        """
        try:
            _, metadata = checkpoint.load(self.folder)
        except FileNotFoundError:
            return None
        path = checkpoint.path_of(self.folder)
        _check_metadata(path, metadata)
        if not goes_on:
            if metadata["finished"]:
                return None
            raise ValueError(
                f"checkpoint {path} is of a fit that was broken off: go on from it with "
                "warm_start=True, or delete the folder to fit from the beginning"
            )
        _refuse_other(path, metadata["about"], self._identity)
        if metadata["finished"] and has_fit:
            return None
        if not re.fullmatch(_FIT_NAME, str(metadata["fit"])):
            # Other names could lead to files outside of the folder.
            raise _unreadable(path, f"a fit has no name {metadata['fit']!r}")
        fits = [
            self._restart(metadata["fit"], index) for index in range(len(metadata["generators"]))
        ]
        self._fit_name, self._has_index = metadata["fit"], True
        self.begin(metadata["generators"])
        self._saved |= {index: len(fit.history) for index, fit in enumerate(fits) if fit}
        return SavedRestarts(metadata["generators"], fits)

    def wrap_sweeps(self, index: int, sweep: Sweep, record: Record) -> tuple[Sweep, Record]:
        """Sweep and record of a restart that do as these, and save it where it is time to."""

        def swept(state: Any) -> tuple[Any, float]:
            # From here on the last state may be changed in place.
            self._busy.add(index)
            return sweep(state)

        def recorded(fit: Fit) -> bool:
            stop, n_sweeps = record(fit), len(fit.history)
            self._latest[index] = fit, n_sweeps
            self._busy.discard(index)
            if self._interval.sweeps is not None:
                is_time = n_sweeps - self._saved[index] >= self._interval.sweeps
            else:
                is_time = time.monotonic() >= self._next[index]
            if is_time:
                self._save(index)
            return stop

        return swept, recorded

    def save_restart(self, index: int) -> None:
        """Save the last sweep of a restart that is over."""
        self._save(index)
        self._latest.pop(index, None)

    def save_latest(self) -> None:
        """Save the last sweep of every restart that is not over, or in the middle of the next."""
        for index in self._latest.keys() - self._busy:
            self._save(index)

    def finish(self) -> None:
        """Mark the fit as finished: all restarts are over."""
        if self._has_index:
            self._try_to_write(lambda: self._write_index(finished=True))

    def _save(self, index: int) -> None:
        if index not in self._latest:
            return
        fit, n_sweeps = self._latest[index]
        if self._saved[index] != n_sweeps:
            begin = time.monotonic()
            model = self._job.algorithm.model_of(self._job.model, fit.state)
            fit = fit._replace(history=fit.history[:n_sweeps], state=model.compact(fit.state))
            self._try_to_write(lambda: self._write(index, fit))
            end = time.monotonic()
            # After an error, too, so that a full disk is not tried at every sweep.
            self._saved[index] = n_sweeps
            self._next[index] = end + max(self._interval.seconds or 0.0, _REST * (end - begin))

    def _write(self, index: int, fit: Fit) -> None:
        arrays, tree = pack(fit)
        metadata = {"fit": tree, "owner": self._owner(self._fit_name, index)}
        checkpoint.save(self.folder, arrays, metadata, _restart_name(self._fit_name, index))
        with self._index_lock:
            if not self._has_index:
                self._write_index(finished=False)
                self._has_index = True

    def _write_index(self, *, finished: bool) -> None:
        """Write the file that names the fit; restarts of other fits are deleted."""
        metadata = {
            "fit": self._fit_name,
            "about": self._identity,
            "generators": self._generators,
            "finished": finished,
        }
        checkpoint.save(self.folder, {}, metadata)
        for path in self.folder.glob(f"{_FIT_NAME}-restart-*.npz*"):
            if not path.name.startswith(f"{self._fit_name}-"):
                with suppress(OSError):
                    path.unlink()

    def _try_to_write(self, write: Callable[[], None]) -> None:
        """Write; warn of what cannot be written, and go on with the fit."""
        try:
            write()
        except OSError as error:
            why = f"{error.strerror or error}; the fit goes on, and the next save tries again"
            warn([why])
        except TypeError as error:
            # An emission from elsewhere may carry what this package cannot make again.
            why = f"no checkpoint in {self.folder}: {error}; the fit goes on without"
            warn([why])

    def _owner(self, fit_name: str, index: int) -> dict[str, Any]:
        """The fit and the restart that a file belongs to."""
        return {
            "estimator": self._identity["estimator"],
            "sequences": self._identity["sequences"],
            "fit": fit_name,
            "restart": index,
        }

    def _restart(self, fit_name: str, index: int) -> Fit | None:
        """A restart as it was saved; None where none was."""
        name = _restart_name(fit_name, index)
        path = checkpoint.path_of(self.folder, name)
        try:
            arrays, metadata = checkpoint.load(self.folder, name)
        except FileNotFoundError:
            return None
        try:
            owner, fit = metadata["owner"], unpack(PackedTree(arrays, metadata["fit"]))
            identity = self._owner(fit_name, index)
            other = [what for what in identity if owner[what] != identity[what]]
        except KeyError as error:
            raise _unreadable(path, f"it does not say {error}") from None
        except (ValueError, TypeError) as error:
            raise _unreadable(path, error) from None
        if other:
            raise ValueError(
                f"checkpoint {path} is of another {other[0]} than its name and this fit say: put "
                "back the file that was there, or delete the folder to fit from the beginning"
            )
        if not isinstance(fit, Fit) or not isinstance(fit.state, State):
            raise _unreadable(path, "it holds no state of a fit")
        return fit


@contextmanager
def open_checkpoint(
    job: FitJob[Any], where: Checkpoint, name: str, identity: dict[str, Any]
) -> Iterator[FitCheckpoint]:
    """A checkpoint that is open while a fit runs; no other fit may use its folder meanwhile."""
    saved = FitCheckpoint(job, where, name, identity)
    with _lock_folder(saved.folder):
        yield saved


def identity_of_fit(
    kind: str, reading: Reading, whole: Any, parameters: dict[str, Any]
) -> dict[str, Any]:
    """What identifies a fit that may go on: its kind of estimator, parameters and sequences.

    `whole` identifies all sequences together.
    """
    words = reading.attributes.get("vocabulary_")
    shown_ones = {
        name: repr_or_digest(one) for name, one in parameters.items() if name not in _FREE
    }
    return {"estimator": kind, "sequences": digest_of((whole, words)), "parameters": shown_ones}


def _refuse_other(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ValueError where a checkpoint is of another estimator, parameters or sequences."""
    advice = "give each fit a folder of its own, or delete this one to fit from the beginning"
    if before["estimator"] != now["estimator"]:
        raise ValueError(
            f"checkpoint {path} is of another estimator, {before['estimator']}, this is "
            f"{now['estimator']}: {advice}"
        )
    for name, value in now["parameters"].items():
        if before["parameters"].get(name) != value:
            raise ValueError(
                f"checkpoint {path} is of other parameters: {name} was "
                f"{before['parameters'].get(name)}, and is {value}: {advice}"
            )
    if before["sequences"] != now["sequences"]:
        raise ValueError(f"checkpoint {path} is of other sequences than these: {advice}")


def _check_metadata(path: Path, metadata: Any) -> None:
    """Raise ValueError where a checkpoint does not say what every one says."""
    kinds = {"fit": object, "about": dict, "generators": list, "finished": bool}
    of_fit = {"estimator": str, "sequences": str, "parameters": dict}
    for said, expected in ((metadata, kinds), (metadata.get("about"), of_fit)):
        for name, kind in expected.items():
            if name not in said:
                raise _unreadable(path, f"it does not say {name!r}")
            if not isinstance(said[name], kind):
                raise _unreadable(path, f"its {name!r} is {said[name]!r}")


def _unreadable(path: Path, why: object) -> ValueError:
    """The error that names a file, and says what to do."""
    return ValueError(
        f"checkpoint {path} cannot be read ({why}): delete the folder to fit from the beginning"
    )


def _restart_name(fit_name: str, index: int) -> str:
    return f"{fit_name}-restart-{index}"


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder against other fits; the lock goes with the process, however it ends."""
    with checkpoint.errors_with_path(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _lock(descriptor):
            raise RuntimeError(
                f"checkpoint folder {folder} is in use by another fit: give each fit a folder of "
                "its own (in a search with n_jobs, leave checkpoint=None)"
            )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """False where another fit holds the lock; some file systems have none to give."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
