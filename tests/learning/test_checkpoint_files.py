"""Files that survive: saved whole or not at all, and refused by name where they are not whole."""

import errno
import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import sklearn_cvb
from sklearn_cvb import version
from sklearn_cvb.scale import checkpoint_files as checkpoint

ARRAYS = {
    "counts": np.arange(12.0).reshape(3, 4),
    "by column": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    "nothing": np.empty((0, 3)),
    "one": np.array(2.5),
    "switches": np.array([True, False]),
}
FACTS = {"history": [0.1, -1e300, float("-inf")], "seed": 2**127 + 1, "name": "é"}
# Children that die at a step of their second save.
DYING = """
import json, os, signal, sys, zipfile
import numpy as np
from sklearn_cvb.scale import checkpoint_files as checkpoint

STEPS = {
    "open": (zipfile.ZipFile, "writestr"),
    "write": (np.lib.format, "write_array"),
    "sync": (os, "fsync"),
    "rename": (os, "replace"),
    "after": (checkpoint, "_sync_folder"),
}
for step, (where, name) in STEPS.items():
    folder = os.path.join(sys.argv[1], step)
    child = os.fork()
    if not child:
        checkpoint.save(folder, {"a": np.zeros(1000)}, {"n": 1})
        setattr(where, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        checkpoint.save(folder, {"a": np.ones(1000)}, {"n": 2})
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""


@pytest.fixture
def folder(tmp_path):
    checkpoint.save(tmp_path / "run", ARRAYS, FACTS)
    return tmp_path / "run"


def test_what_was_saved_comes_back(folder):
    arrays, facts = checkpoint.load(folder)
    assert facts == FACTS
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].flags.f_contiguous == array.flags.f_contiguous
        assert arrays[name].flags.writeable


def test_numpy_reads_the_file_and_nothing_in_it_is_pickled(folder):
    with np.load(checkpoint.path_of(folder), allow_pickle=False) as found:
        assert np.array_equal(found["counts"], ARRAYS["counts"])
        assert json.loads(found["facts.json"])["library"] == sklearn_cvb.__version__
    with pytest.raises(ValueError, match="allow_pickle"):
        checkpoint.save(folder, {"a": np.array([object()])}, {})
    assert checkpoint.load(folder)[1] == FACTS


def test_a_folder_holds_several_and_nothing_else(folder):
    checkpoint.save(folder, {}, {"n": 1}, name="other")
    checkpoint.save(folder, {}, {"n": 2}, name="other")
    assert checkpoint.load(folder, "other")[1] == {"n": 2}
    assert checkpoint.load(folder)[1] == FACTS
    assert sorted(os.listdir(folder)) == ["checkpoint.npz", "other.npz"]


def test_where_nothing_was_saved_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"checkpoint\.npz"):
        checkpoint.load(tmp_path)


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_killed_while_saving_the_last_whole_one_is_found(tmp_path):
    command = [sys.executable, "-c", DYING, str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for step in ("open", "write", "sync", "rename", "after"):
        folder, expected = tmp_path / step, 1 if step != "after" else 2
        arrays, facts = checkpoint.load(folder)
        assert facts == {"n": expected}
        assert (arrays["a"] == expected - 1).all()
        # What was left aside is in nobody's way.
        checkpoint.save(folder, {}, {"n": 3})
        assert os.listdir(folder) == ["checkpoint.npz"]


def outcome(folder):
    """What loading gives: the message of a refusal, or whether all is as it was saved."""
    try:
        arrays, facts = checkpoint.load(folder)
    except ValueError as error:
        return str(error)
    same = all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)
    return "sound" if same and facts == FACTS else "changed"


def test_every_flipped_byte_is_found_or_of_no_matter(folder):
    path = checkpoint.path_of(folder)
    sound, n_refused = path.read_bytes(), 0
    for place in range(0, len(sound), 5):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        found = outcome(folder)
        n_refused += "checkpoint.npz" in found
        assert found == "sound" or "is truncated or corrupt" in found or "version" in found
    # The rest are times and permissions of members.
    assert n_refused > 0.14 * len(sound)


def test_a_flipped_bit_in_the_header_of_a_large_array_is_found(folder):
    """Only the first of the bytes of a large member are read before its header is understood."""
    checkpoint.save(folder, {"large": np.arange(4000.0)}, FACTS)
    path = checkpoint.path_of(folder)
    sound, rng = path.read_bytes(), np.random.default_rng(0)
    header = sound.index(b"NUMPY") - 1
    places = np.append(header + np.arange(6, 80), rng.integers(len(sound), size=120))
    for place, bit in zip(places.tolist(), rng.integers(8, size=len(places)), strict=True):
        flipped = bytes([sound[place] ^ (1 << int(bit))])
        path.write_bytes(sound[:place] + flipped + sound[place + 1 :])
        try:
            arrays, facts = checkpoint.load(folder)
        except ValueError as error:
            assert "checkpoint.npz is truncated or corrupt" in str(error)  # noqa: PT017
        else:
            assert np.array_equal(arrays["large"], np.arange(4000.0))
            assert facts == FACTS
            assert place not in places[:74]


def test_a_compressed_file_is_none_of_ours(folder):
    path = checkpoint.path_of(folder)
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as target:
        for name, content in members.items():
            target.writestr(name, content)
    with pytest.raises(ValueError, match=r"checkpoint\.npz is truncated or corrupt .it is compr"):
        checkpoint.load(folder)


def test_a_truncated_file_is_refused(folder):
    path = checkpoint.path_of(folder)
    sound = path.read_bytes()
    for size in range(0, len(sound), 7):
        path.write_bytes(sound[:size])
        with pytest.raises(ValueError, match=r"checkpoint\.npz is truncated or corrupt .*delete"):
            checkpoint.load(folder)


def test_arrays_that_are_missing_or_too_large_for_memory_are_refused(folder):
    path, copy = checkpoint.path_of(folder), folder / "copy.npz"
    shutil.copy(path, copy)
    with zipfile.ZipFile(copy) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist()[:-1]:
            target.writestr(name, source.read(name))
    with pytest.raises(ValueError, match="lacks some arrays"):
        checkpoint.load(folder)
    with zipfile.ZipFile(copy) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"(3, 4)", b"(3,4000000000)"))
    with pytest.raises(ValueError, match="truncated or corrupt"):
        checkpoint.load(folder)


@pytest.mark.parametrize("what", ["format", "library"])
def test_another_version_is_refused_by_name(what, folder, monkeypatch):
    if what == "format":
        monkeypatch.setattr(checkpoint, "FORMAT", 99)
    else:
        monkeypatch.setattr(version, "__version__", "99.0")
    with pytest.raises(ValueError, match=f"another version: {what} .* this is"):
        checkpoint.load(folder)


def test_a_full_disk_leaves_what_was_there(folder, monkeypatch):
    def full(*_arguments, **_settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for where, name in ((np.lib.format, "write_array"), (os, "fsync"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, full)
            with pytest.raises(OSError, match="No space left on device") as caught:
                checkpoint.save(folder, {"counts": np.zeros(9)}, {})
        assert caught.value.errno == errno.ENOSPC
        assert os.listdir(folder) == ["checkpoint.npz"]
        assert checkpoint.load(folder)[1] == FACTS


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match=r"file/checkpoint\.npz could not be saved"):
        checkpoint.save(tmp_path / "file", {}, {})
