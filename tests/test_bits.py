"""Every fit to the last bit, as it was at an earlier commit: for a time only, see `bits`."""

import io
import pickle
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import bits
import pytest

from benchmarks.timing import single_threaded
from sklearn_cvb.learning.compile_cases import EVERY_SITUATION

BEFORE = "96e07ce"
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """All numbers of the earlier commit, and those of today."""
    before = earlier_source()
    folder = tmp_path_factory.mktemp("bits")
    kernels = {"NUMBA_CACHE_DIR": str(before.with_name("compiled"))}
    outs = [folder / "old.pkl", folder / "new.pkl"]
    workers = [begin(before, outs[0], **kernels), begin(ROOT, outs[1])]
    complaints = [worker.communicate()[1] for worker in workers]
    for worker, complaint in zip(workers, complaints, strict=True):
        assert worker.returncode == 0, complaint
    return [pickle.loads(out.read_bytes()) for out in outs]


def begin(root, out, **changes):
    """A process that fits everything with the package in a folder."""
    return subprocess.Popen(
        [sys.executable, bits.__file__, str(out)],
        cwd=root,
        env=single_threaded(PYTHONPATH=str(root), PYTHONHASHSEED="0", **changes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def earlier_source():
    """A folder with the package of the earlier commit; it stays, beside what is compiled for it.

    Numba keeps what it compiles by the paths of the sources.
    """
    place = Path(tempfile.gettempdir()) / f"sklearn_cvb-bits-{BEFORE}"
    command = ["git", "-C", str(ROOT), "archive", BEFORE, "sklearn_cvb"]
    try:
        done = subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"needs git and commit {BEFORE}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place / "source", filter="data")
    return place / "source"


@pytest.mark.parametrize("name", EVERY_SITUATION)
def test_nothing_has_changed_by_a_bit(name, results):
    """Nor has a case gone that is not to go."""
    old, new = results
    lines = bits.compare(old, new, name)
    assert not lines, "\n".join([f"{len(lines)} differences", *lines[:20]])


def test_every_estimator_is_compared(results):
    old, new = results
    assert set(old) == set(new) == set(EVERY_SITUATION)


def test_differences_are_found():
    old = {"a_": bits.plain([1.0, float("nan")]), "b_": bits.plain({"x": None})}
    assert bits.differences(old, old | {"c_": 1}) == []
    assert len(bits.differences(old, old | {"a_": [1.0 + 2**-52, float("nan")]})) == 1
    assert bits.differences(old, {"a_": old["a_"]}) == ["no b_"]
    assert bits.differences(old, {"error": "ValueError: no"}) == [
        "error: none became ValueError: no"
    ]
    near = old | {"a_": [1.0 + 1e-13, float("nan")]}
    assert bits.differences(old, near, "VBHMM", "auto, partial_fit") == []
    assert len(bits.differences(old, near, "VBHMM", "auto")) == 1
    far = old | {"a_": [1.0 + 1e-11, float("nan")]}
    assert len(bits.differences(old, far, "VBHMM", "auto, partial_fit")) == 1
    assert bits.is_dropped("CVBHMMTagger", "order 2, warm")
    assert not bits.is_dropped("EMHMM", "beam")
