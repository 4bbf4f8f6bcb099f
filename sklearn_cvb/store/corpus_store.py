"""A corpus on disk: memory-mapped codes, their tags and their states, read in pieces."""

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import Corpus, as_array, object_array
from sklearn_cvb.reading.validation import check_counts
from sklearn_cvb.store.files import (
    CLASSES,
    CODE,
    OFFSET,
    STARTS,
    TAGS,
    TOKENS,
    WORDS,
    Header,
    check_sum,
    damaged,
    read_header,
    read_json,
)
from sklearn_cvb.store.scratch import Kept, Scratch, check_scratch

# Tokens that a fit holds in memory at a time: some hundred megabytes.
BATCH_SIZE = 1_000_000


def open_store(
    folder: str | os.PathLike[str],
    *,
    batch_size: int = BATCH_SIZE,
    scratch: str | os.PathLike[str] | None = None,
    verify: bool = False,
) -> "CorpusStore":
    """Open a store that `write_store` has written; what it holds stays on the disk.

    Parameters
    ----------
    folder : path
    batch_size : int, default=1_000_000
        How many tokens a fit, or a prediction, lays out in memory at a time.
    scratch : path or None, default=None
        Where a fit keeps what it lays out and, of collapsed variational Bayes, its posteriors: with
        a dictionary 25 bytes a token, or 90. None for the folder of the store.
    verify : bool, default=False
        Read all files and compare their checksums. Without, sizes are compared, and the checksums
        of all but tokens, offsets and tags, which are those that a fit compares.

    Returns
    -------
    CorpusStore

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    StoreError
        If it holds no store, a damaged one, or one of another version; the file is named.
    """
    check_counts(batch_size=batch_size)
    path = Path(folder)
    header = read_header(path)
    if verify:
        for name in header.files:
            check_sum(path, name, header)
    if scratch is not None:
        check_scratch(Path(scratch))
    return CorpusStore(path, header, batch_size, None if scratch is None else Path(scratch))


class CorpusStore:
    """Sequences on disk, as `open_store` gives them.

    ``len(store)`` is the number of sequences, ``store[i]`` an array of tokens, ``store[a:b]`` a
    store of some sequences in the same files, and iterating gives a list of tokens at a time. `fit`
    of hidden Markov models and taggers by EM, VB and CVB goes over it in pieces, and so do their
    `predict`, `score` and `perplexity`.

    Attributes
    ----------
    folder : Path
    vocabulary : ndarray of shape (n_words,)
        The known symbols.
    unknown : list
        The symbols that occur but are not among these.
    tags : StoredTags or None
        Tags of the tokens, to be passed as `y`.
    classes : list
        The tags that occur.
    n_tokens : int
    batch_size : int
        How many tokens are laid out in memory at a time.
    scratch : Path
        Where fits keep posteriors.
    tokens : ndarray of shape (n_tokens,), int32
        Memory map of the codes: places in the vocabulary, -1 where missing, unknown symbols after
        the known ones.
    starts : ndarray of shape (n_sequences + 1,), int64
        Where sequences begin among all tokens of the files.
    """

    is_on_disk = True
    starts: np.ndarray

    def __init__(
        self,
        folder: Path,
        header: Header,
        batch_size: int = BATCH_SIZE,
        scratch: Path | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self._header = header
        self.folder: Path = folder
        self.batch_size: int = batch_size
        self.scratch: Path = folder if scratch is None else scratch
        self._span = span or (0, header.n_sequences)
        words = read_json(folder, WORDS, header)
        self.vocabulary: np.ndarray = as_array(words[: header.n_words])
        self.unknown: list[Any] = words[header.n_words :]
        self.classes: list[Any] = (
            read_json(folder, CLASSES, header) if CLASSES in header.files else []
        )
        self._read_starts()

    def _read_starts(self) -> None:
        # Read, not mapped: a file that is truncated later would end the process.
        begin, end = self._span
        place = begin * OFFSET.itemsize
        self.starts = np.fromfile(self.folder / STARTS, OFFSET, end + 1 - begin, offset=place)
        if len(self.starts) < end + 1 - begin:
            raise damaged(self.folder / STARTS, "it ends too early")
        self._first, self._last = int(self.starts[0]), int(self.starts[-1])
        if not 0 <= self._first < self._last <= self._header.n_tokens:
            raise damaged(self.folder / STARTS, "its offsets are none of this store")

    @property
    def tokens(self) -> np.ndarray:
        """Memory map of the codes."""
        return np.memmap(self.folder / TOKENS, CODE, "r")[self._first : self._last]

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self._last - self._first

    @property
    def tags(self) -> "StoredTags | None":
        """Tags of the tokens."""
        return StoredTags(self) if TAGS in self._header.files else None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return (
            f"CorpusStore({str(self.folder)!r}: {len(self):,} sequences, {self.n_tokens:,} tokens, "
            f"{len(self.vocabulary):,} words)"
        )

    def __iter__(self) -> Iterator[list[Any]]:
        return _in_lists(self, self._types(), lambda begin, end: self.corpus(begin, end).tokens)

    def _types(self) -> list[Any]:
        return [*self.vocabulary.tolist(), *self.unknown, None]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            if step != 1:
                raise ValueError(f"store[{key.start}:{key.stop}:{step}]: only steps of 1 are kept")
            if begin >= end:
                raise ValueError(f"store[{key.start}:{key.stop}] holds no sequence")
            span = self._span[0] + begin, self._span[0] + end
            return CorpusStore(self.folder, self._header, self.batch_size, self.scratch, span)
        index = range(len(self))[key]
        types = self._types()
        return as_array([types[code] for code in self.corpus(index, index + 1).tokens.tolist()])

    def __getstate__(self) -> dict[str, Any]:
        # Another process reads the files itself.
        return {k: v for k, v in vars(self).items() if k != "starts"}

    def __setstate__(self, state: Mapping[Any, Any]) -> None:
        self.__dict__.update(state)
        self._read_starts()

    @property
    def identity(self) -> tuple[int, ...]:
        """What two stores with the same sequences have in common: checksums of all files."""
        files = self._header.files
        return (*self._span, *(files[name]["crc32"] for name in sorted(files)))

    def check(self, *names: str) -> None:
        """Raise StoreError where a file is not what was written; it is read once."""
        for name in names:
            check_sum(self.folder, name, self._header)

    def longest(self) -> tuple[int, int]:
        """The longest sequence, and its length."""
        found = 0, 0
        for begin, end in self.pieces():
            lengths = np.diff(self.starts[begin : end + 1])
            if lengths.max() > found[1]:
                found = begin + int(lengths.argmax()), int(lengths.max())
        return found

    def pieces(self) -> list[tuple[int, int]]:
        """Ranges of sequences of about `batch_size` tokens each, in order."""
        begins = np.arange(self._first + self.batch_size, self._last, self.batch_size)
        cuts = np.unique([0, *np.searchsorted(self.starts, begins), len(self)])
        return list(pairwise(cuts.tolist()))

    def corpus(self, begin: int, end: int) -> Corpus:
        """The sequences [begin, end), in memory; StoreError if codes or offsets are impossible."""
        starts = np.array(self.starts[begin : end + 1], np.int64) - self._first
        if (np.diff(starts) < 1).any() or starts[0] < 0 or starts[-1] > self.n_tokens:
            raise damaged(
                self.folder / STARTS, f"offsets of sequences {begin} to {end} do not grow"
            )
        tokens = self._read(TOKENS, starts, len(self.vocabulary) + len(self.unknown))
        return Corpus(tokens, starts - starts[0], None, self.unknown)

    def _read(self, name: str, starts: np.ndarray, n_types: int) -> np.ndarray:
        """Codes of some sequences, none of which is out of range: kernels trust them.

        Read, not mapped: pages of a map would stay resident.
        """
        n_tokens, offset = int(starts[-1] - starts[0]), self._first + int(starts[0])
        path = self.folder / name
        found = np.fromfile(path, CODE, n_tokens, offset=offset * CODE.itemsize)
        if len(found) < n_tokens:
            raise damaged(path, "it ends too early")
        if found.min() < -1 or found.max() >= n_types:
            raise damaged(path, f"it holds codes beyond the {n_types} types")
        return found.astype(np.int32, copy=False)

    def tag_codes(self, begin: int, end: int) -> np.ndarray:
        """Codes of the tags of the sequences [begin, end): places in `classes`, -1 for none."""
        starts = np.array(self.starts[begin : end + 1], np.int64) - self._first
        return self._read(TAGS, starts, len(self.classes))


class StoredTags:
    """The tags beside the tokens of a store: an iterable of lists, to be passed as `y`.

    Parameters
    ----------
    store : CorpusStore
    """

    def __init__(self, store: CorpusStore) -> None:
        self.store = store

    def __len__(self) -> int:
        return len(self.store)

    def __iter__(self) -> Iterator[list[Any]]:
        return _in_lists(self.store, [*self.store.classes, None], self.store.tag_codes)


def _in_lists(
    store: CorpusStore, types: list[Any], codes_of: Callable[[int, int], np.ndarray]
) -> Iterator[list[Any]]:
    """What the codes of a store stand for, a list a sequence, read a piece at a time."""
    for begin, end in store.pieces():
        values = [types[code] for code in codes_of(begin, end).tolist()]
        starts = np.array(store.starts[begin : end + 1]) - store.starts[begin]
        for a, b in pairwise(starts.tolist()):
            yield values[a:b]


class StoredStates:
    """States (taggers: tags) of the sequences of a store: an array for each, read when asked for.

    ``len(states)`` is the number of sequences, ``states[i]`` the array of one, ``states[a:b]`` an
    object array of several, as `predict` gives it of lists. They lie in a temporary file, two bytes
    a token, which goes with this object; a copy that was pickled has none.

    Parameters
    ----------
    store : CorpusStore
    classes : ndarray
        The states, or tags.
    path_of : callable
        ``path_of(begin, end)`` gives the places in `classes` of the tokens of some sequences.
    """

    def __init__(
        self,
        store: CorpusStore,
        classes: np.ndarray,
        path_of: Callable[[int, int], np.ndarray],
    ) -> None:
        self.classes = classes
        kind = np.uint16 if len(classes) <= np.iinfo(np.uint16).max else np.int32
        scratch = Scratch(store.scratch)
        self._pieces = store.pieces()
        self._kept: list[Kept] | None = []
        for begin, end in self._pieces:
            starts = np.array(store.starts[begin : end + 1]) - store.starts[begin]
            kept = starts, path_of(begin, end).astype(kind)
            self._kept.append(scratch.keep(kept))

    def __len__(self) -> int:
        return self._pieces[-1][1]

    def __iter__(self) -> Iterator[np.ndarray]:
        for starts, states in self.pieces():
            for a, b in pairwise(starts.tolist()):
                yield states[a:b]

    def pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of each piece of the store where its sequences begin, and the states of its tokens."""
        for index in range(len(self._pieces)):
            yield self._piece(index)

    def __getitem__(self, key: Any) -> np.ndarray:
        if isinstance(key, slice):
            return object_array([self[i] for i in range(*key.indices(len(self)))])
        sequence = range(len(self))[key]
        begins = [begin for begin, _ in self._pieces]
        index = int(np.searchsorted(begins, sequence, side="right")) - 1
        starts, states = self._piece(index)
        place = sequence - begins[index]
        return states[starts[place] : starts[place + 1]]

    def _piece(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if self._kept is None:
            raise RuntimeError(
                "the states of a store lie in a temporary file, which is not pickled with a model: "
                "predict(store) finds them again"
            )
        starts, codes = self._kept[index].load()
        return starts, self.classes[codes]

    def __repr__(self) -> str:
        return f"StoredStates of {len(self):,} sequences"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": None}
