"""Stores: what they are written from, what they hold, and what a broken-off write leaves."""

import errno
import shutil
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sklearn_cvb
from sklearn_cvb import open_store, write_store
from sklearn_cvb import store as stored
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.store import StoreError, files, writing

X = [["the", "duck", "swims"], ["a", "duck"], ["they", None, "the", "duck"], ["swims"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["P", None, "D", "N"], ["V"]]


def _tables():
    return pa.table({"words": X, "tags": TAGS, "year": [1, 2, 3, 4]})


def _parquet(folder, table):
    pq.write_table(table, folder / "x.parquet", row_group_size=2)
    return folder / "x.parquet"


def _text(folder):
    path = folder / "x.txt"
    path.write_text("the duck  swims\n\na duck\nthey the duck\nswims", encoding="utf-8")
    return path


SOURCES = {
    "batches": lambda folder: [X[:2], X[2:]],
    "generator": lambda folder: (X[i : i + 1] for i in range(4)),
    "function": lambda folder: lambda: iter([X[:3], X[3:]]),
    "stream of sequences": lambda folder: (sequence for sequence in X),
    "list of sequences": lambda folder: X,
    "Series": lambda folder: pd.Series(X),
    "batches of Series": lambda folder: [pd.Series(X[:2]), pd.Series(X[2:])],
    "Series of Arrow": lambda folder: pd.Series(
        pa.array(X), dtype=pd.ArrowDtype(pa.list_(pa.string()))
    ),
    "Arrow array": lambda folder: pa.array(X),
    "Arrow large lists": lambda folder: pa.array(X, pa.large_list(pa.large_string())),
    "chunks": lambda folder: pa.chunked_array([X[:1], X[1:]]),
    "slice of an array": lambda folder: pa.array([["z"], *X, ["z"]])[1:5],
    "dictionary": lambda folder: pa.array(X, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "table": lambda folder: _tables().select(["words", "year"]),
    "record batches": lambda folder: _tables().select(["words"]).to_batches(2),
    "parquet": lambda folder: _parquet(folder, _tables().select(["words"])),
    "arrays": lambda folder: [[np.array(sequence, dtype=object) for sequence in X]],
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_store_holds_what_reading_in_memory_gives(source, tmp_path):
    store = write_store(SOURCES[source](tmp_path), tmp_path / "store")
    sequences = reading.read_ragged(X)
    types = reading.types_of(sequences.tokens, sequences.starts)
    corpus = reading.encode(sequences, {token: i for i, token in enumerate(types)})
    assert store.vocabulary.tolist() == types
    np.testing.assert_array_equal(store.tokens, corpus.tokens)
    np.testing.assert_array_equal(store.starts, corpus.starts)
    assert list(store) == X
    assert (store.tokens.dtype, store.starts.dtype) == (np.int32, np.int64)


def test_text_is_cut_at_blanks_and_empty_lines_are_none(tmp_path):
    expected = [["the", "duck", "swims"], ["a", "duck"], ["they", "the", "duck"], ["swims"]]
    path = _text(tmp_path)
    assert list(write_store([path, str(path)], tmp_path / "store")) == expected * 2
    tags = write_store(
        path, tmp_path / "read", reader=lambda path: [path.read_text().split("\n")[0].split()]
    )
    assert list(tags) == expected[:1]


@pytest.mark.parametrize("source", ["pairs", "table", "parquet"])
def test_tags_lie_beside_tokens(source, tmp_path):
    if source == "pairs":
        store = write_store([(X[:3], TAGS[:3]), (X[3:], TAGS[3:])], tmp_path / "s", tagged=True)
    else:
        given = _tables() if source == "table" else _parquet(tmp_path, _tables())
        store = write_store(given, tmp_path / "s", column="words", tag_column="tags")
    assert (list(store), list(store.tags)) == (X, TAGS)
    assert store.classes == ["D", "N", "P", "V"]
    assert list(store[1:3].tags) == TAGS[1:3]


def test_words_outside_a_given_vocabulary_are_kept_apart(tmp_path):
    store = write_store([X], tmp_path / "store", vocabulary=["the", "duck", "goose"])
    assert store.vocabulary.tolist() == ["the", "duck", "goose"]
    assert store.unknown == ["swims", "a", "they"]
    assert list(store) == X


def test_integers_are_symbols_too(tmp_path):
    table = np.array([[3, 1], [1, 2**40]])
    store = write_store([table, pa.array([[1, None], [3]])], tmp_path / "store")
    assert store.vocabulary.tolist() == [1, 3, 2**40]
    assert list(store) == [[3, 1], [1, 2**40], [1, None], [3]]


def test_parts_of_a_store_are_stores_on_the_same_files(tmp_path):
    store = write_store([X], tmp_path / "store")
    assert list(store[1:3]) == X[1:3]
    assert list(store[1:][1:]) == X[2:]
    assert store[-1].tolist() == ["swims"]
    assert (len(store), store.n_tokens, len(store[1:3]), store[1:3].n_tokens) == (4, 10, 2, 6)
    with pytest.raises(IndexError):
        store[4]
    with pytest.raises(ValueError, match="holds no sequence"):
        store[3:3]


def test_pieces_hold_about_batch_size_tokens(tmp_path):
    write_store([[["a", "b"]] * 10], tmp_path / "store")
    store = open_store(tmp_path / "store", batch_size=6)
    assert store.pieces() == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert store[5:].pieces() == [(0, 3), (3, 5)]


def test_it_is_public():
    assert sklearn_cvb.write_store is stored.write_store is write_store
    assert stored.CorpusStore is sklearn_cvb.CorpusStore


BAD = {
    "a float": ([[["a", 1.5]]], TypeError, r"token 1.5 \(sequence 0, position 1\) is a float"),
    "later": ([X, [["a"], ["b", True]]], TypeError, r"\(sequence 5, position 1\) is a bool"),
    "floats": (pa.array([[0.5]]), TypeError, "is a float: a store holds strings or integers"),
    "a list": ([[["a", []]]], TypeError, "is not hashable|is a list"),
    "a string": ([[["a"], "b c"]], TypeError, r"batch 0, sequence 1 is the string 'b c'"),
    "empty": ([X, [["a"], []]], ValueError, "batch 1, sequence 1 is empty"),
    "null": (pa.array([["a"], None]), ValueError, "sequence 1 is null"),
    "nothing": (iter([]), ValueError, "the batches hold no sequence"),
    "no file": (["none.txt"], FileNotFoundError, "there is no file 'none.txt'"),
    "columns": (pa.table({"a": [["x"]], "b": [["y"]]}), ValueError, "say with column="),
    "a number": (3, TypeError, "X is 3: pass batches"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_no_store_holds_is_refused_and_nothing_is_left(name, tmp_path):
    source, error, message = BAD[name]
    with pytest.raises(error, match=message):
        write_store(source, tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def test_tags_of_another_length_are_refused(tmp_path):
    with pytest.raises(ValueError, match="batch 0, sequence 1 has 2 tokens but 1 tags"):
        write_store([(X, [TAGS[0], ["D"], *TAGS[2:]])], tmp_path / "store", tagged=True)


def test_a_store_is_replaced_only_on_request(tmp_path):
    write_store([X], tmp_path / "store")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_store([X[:1]], tmp_path / "store")
    assert list(write_store([X[:1]], tmp_path / "store", overwrite=True)) == X[:1]
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_failed_write_keeps_the_store_of_before(tmp_path):
    write_store([X], tmp_path / "store")
    with pytest.raises(TypeError):
        write_store([X, [[1.5]]], tmp_path / "store", overwrite=True)
    assert list(open_store(tmp_path / "store", verify=True)) == X


# What is not ours


def _contents(folder):
    """All that lies below a folder: the bytes of files, None of folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


NO_STORES = {
    "another folder": lambda place: (place / "notes.txt").write_text("mine"),
    "empty": lambda place: None,
    "other tokens": lambda place: (place / "tokens.int32").write_bytes(b"mine"),
    "no JSON": lambda place: (place / "store.json").write_text("mine"),
    "other JSON": lambda place: (place / "store.json").write_text('{"files": {"a": 1}}'),
    "no object": lambda place: (place / "store.json").write_text("[]"),
    "no files": lambda place: (place / "store.json").write_text(
        '{"format": "sklearn_cvb store", "files": 3}'
    ),
    "a folder": lambda place: (place / "store.json").mkdir(),
}


@pytest.mark.parametrize("name", NO_STORES)
def test_what_is_no_store_is_never_replaced(name, tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    NO_STORES[name](place)
    before = _contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"'.*store' has no store\.json that.*delete this"):
        write_store([X], place, overwrite=True)
    assert _contents(tmp_path) == before


def test_files_and_links_are_never_replaced(tmp_path):
    (tmp_path / "file").write_text("mine")
    write_store([X], tmp_path / "store")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    before = _contents(tmp_path)
    for name in ("file", "link", "nowhere"):
        with pytest.raises(FileExistsError, match=f"{name}' is no folder"):
            write_store([X], tmp_path / name, overwrite=True)
    assert _contents(tmp_path) == before


def test_other_files_in_the_folder_of_a_store_stay_when_it_is_replaced(tmp_path):
    place = _tagged_store(tmp_path / "store")
    (place / "fits").mkdir()
    (place / "fits" / "checkpoint.npz").write_bytes(b"mine")
    (place / "notes.txt").write_text("mine")
    (place / "tokens.unsorted").write_text("mine")
    assert list(write_store([X[:1]], place, overwrite=True)) == X[:1]
    assert sorted(_contents(tmp_path)) == [
        "store",
        *("store/fits", "store/fits/checkpoint.npz", "store/notes.txt", "store/starts.int64"),
        *("store/store.json", "store/tokens.int32", "store/tokens.unsorted"),
        "store/vocabulary.json",
    ]


def test_a_file_of_a_name_that_the_new_store_needs_stays(tmp_path):
    place = write_store([X], tmp_path / "store").folder
    (place / "classes.json").write_text("mine")
    before = _contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"holds \['classes\.json'\], not of the store"):
        write_store([(X, TAGS)], place, tagged=True, overwrite=True)
    assert _contents(tmp_path) == before
    assert list(write_store([X[:1]], place, overwrite=True)) == X[:1]
    assert (place / "classes.json").read_text() == "mine"


def test_damaged_stores_and_those_of_another_version_are_replaced(tmp_path, monkeypatch):
    place = _tagged_store(tmp_path / "store")
    (place / "tokens.int32").unlink()
    assert list(write_store([X], place, overwrite=True)) == X
    with monkeypatch.context() as patch:
        patch.setattr(files, "VERSION", 7)
        write_store([X], place, overwrite=True)
    assert list(write_store([X[:1]], place, overwrite=True)) == X[:1]
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_folder_of_a_similar_name_is_not_touched(tmp_path):
    write_store([X], tmp_path / "store")
    similar = tmp_path / "store.replaced"
    similar.mkdir()
    (similar / "notes.txt").write_text("mine")
    write_store([X[:1]], tmp_path / "store", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "store.replaced"]
    assert _contents(similar) == {"notes.txt": b"mine"}


@pytest.mark.parametrize("files_there", [["notes.txt"], ["tokens.int32"], ["writing.lock", "mine"]])
def test_a_folder_where_stores_are_written_first_is_not_emptied_of_what_is_not_ours(
    files_there, tmp_path
):
    aside = tmp_path / "store.unfinished"
    aside.mkdir()
    for name in files_there:
        (aside / name).write_text("mine")
    before = _contents(tmp_path)
    with pytest.raises(FileExistsError, match=rf"unfinished'.*\['{files_there[-1]}'\].*move it"):
        write_store([X], tmp_path / "store")
    assert _contents(tmp_path) == before


def test_what_is_put_into_the_folder_during_a_write_that_fails_stays(tmp_path):
    note = tmp_path / "store.unfinished" / "notes.txt"

    def batches():
        yield X
        note.write_text("mine")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(batches, tmp_path / "store")
    assert _contents(tmp_path) == {"store.unfinished": None, "store.unfinished/notes.txt": b"mine"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_takes_the_place_during_a_write_stays(overwrite, tmp_path):
    place = tmp_path / "store"

    def batches():
        yield X
        place.mkdir()
        (place / "notes.txt").write_text("mine")

    with pytest.raises(FileExistsError):
        write_store(batches, place, overwrite=overwrite)
    assert _contents(tmp_path) == {"store": None, "store/notes.txt": b"mine"}


def test_a_store_that_cannot_be_replaced_is_put_back(tmp_path, monkeypatch):
    place = write_store([X], tmp_path / "store").folder
    rename = Path.rename

    def fails(self, target):
        if self.name.endswith(".unfinished"):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(PermissionError):
        write_store([X[:1]], place, overwrite=True)
    assert list(open_store(place, verify=True)) == X
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_kill_between_the_renames_of_a_replacement_leaves_both_stores_and_says_where(
    tmp_path, monkeypatch
):
    place, killed = tmp_path / "here" / "s[1]", tmp_path / "killed"
    write_store([X], place)
    rename = Path.rename

    def seen(self, target):
        if self.name.endswith(".unfinished"):
            shutil.copytree(self.parent, killed)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", seen)
    write_store([X[:1]], place, overwrite=True)
    with pytest.raises(FileNotFoundError) as error:
        open_store(killed / "s[1]")
    (old,) = killed.glob("*replaced*/*")
    new = killed / "s[1].unfinished"
    assert list(open_store(old, verify=True)) == X
    assert list(open_store(new, verify=True)) == X[:1]
    assert str(error.value) == (
        f"there is no store {str(killed / 's[1]')!r}: a write that was to replace it was killed; "
        f"the store of before is {str(old)!r}, the new one, whole, is {str(new)!r}: move one of "
        "them to this place"
    )


# Faults

FILES = ["tokens.int32", "starts.int64", "vocabulary.json", "tags.int32", "classes.json"]


def _tagged_store(folder):
    return write_store([(X, TAGS)], folder, tagged=True).folder


@pytest.mark.parametrize("name", [*FILES, "store.json"])
@pytest.mark.parametrize("how", ["truncated", "missing", "grown"])
def test_a_damaged_store_is_refused_and_its_file_named(name, how, tmp_path):
    path = _tagged_store(tmp_path / "store") / name
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if how == "truncated" else content + b"\0")
    with pytest.raises(StoreError, match=name.replace(".", r"\.")):
        open_store(tmp_path / "store")


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_is_found_by_checksums(name, tmp_path):
    path = _tagged_store(tmp_path / "store") / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=f"{name}.*checksum"):
        open_store(tmp_path / "store", verify=True)


def test_codes_that_no_kernel_may_see_are_refused_without_checksums(tmp_path):
    folder = _tagged_store(tmp_path / "store")
    codes = np.memmap(folder / "tokens.int32", np.int32, "r+")
    codes[3] = 10**6
    codes.flush()
    store = open_store(folder)
    with pytest.raises(StoreError, match=r"tokens\.int32.*beyond the 5 types"):
        list(store)
    starts = np.memmap(folder / "starts.int64", np.int64, "r+")
    starts[1] = 9
    with pytest.raises(StoreError, match=r"starts\.int64.*do not grow"):
        list(open_store(folder))


def test_another_version_is_refused_by_name(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(files, "VERSION", 7)
        write_store([X], tmp_path / "store")
    with pytest.raises(StoreError, match="has version 7, and this sklearn_cvb reads version 1"):
        open_store(tmp_path / "store")


def test_a_folder_of_something_else_is_no_store(tmp_path):
    with pytest.raises(StoreError, match=r"is no store: it has no store\.json"):
        open_store(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no store"):
        open_store(tmp_path / "nowhere")


@pytest.mark.parametrize("n_writes", range(6))
def test_a_full_disk_names_the_folder_and_leaves_nothing(n_writes, tmp_path, monkeypatch):
    left = [n_writes]
    write = files.ChecksummedFile.write

    def fails(self, data):
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        write(self, data)

    monkeypatch.setattr(files.ChecksummedFile, "write", fails)
    with pytest.raises(OSError, match=r"No space left.*bytes are free.*make room.*store\.unfin"):
        write_store([X[:1], X[1:]], tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


_UNFINISHED = """
import sys
from sklearn_cvb import write_store
def batches():
    for _ in range(100):
        yield [["a", "b", "c"]] * 1000
    print("most is written", flush=True)
    sys.stdin.read()
write_store(batches, sys.argv[1])
"""


@pytest.mark.process
def test_a_write_that_was_killed_is_never_taken_for_a_store(tmp_path):
    command = [sys.executable, "-c", _UNFINISHED, str(tmp_path / "store")]
    child = Popen(command, stdin=PIPE, stdout=PIPE)
    assert child.stdout.readline() == b"most is written\n"
    assert (tmp_path / "store.unfinished" / "tokens.int32").stat().st_size
    with pytest.raises(OSError, match="another process is writing"):
        write_store([X], tmp_path / "store")
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with pytest.raises(FileNotFoundError, match="there is no store"):
        open_store(tmp_path / "store")
    with pytest.raises(StoreError, match="is no store"):
        open_store(tmp_path / "store.unfinished")
    # What the dead process left is in nobody's way.
    assert list(write_store([X], tmp_path / "store")) == X
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_interrupts_leave_nothing(tmp_path):
    def batches():
        yield X
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(batches, tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def test_codes_are_sorted_a_block_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_BLOCK", 3)
    assert list(write_store([X], tmp_path / "store")) == X
    assert not Path(tmp_path / "store" / "tokens.unsorted").exists()


def test_strings_that_no_text_has_are_kept(tmp_path):
    odd = [["\ud800", "\0", "a\nb", "\U0001f986", ""]]
    assert list(write_store([odd], tmp_path / "store")) == odd
