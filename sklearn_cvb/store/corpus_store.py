"""Stores of symbols: memory-mapped codes of tokens, tags and predicted states, read in pieces."""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import Corpus, as_array, object_array
from sklearn_cvb.reading.validation import check_counts
from sklearn_cvb.store.files import (
    CLASSES,
    CODE,
    COLUMNS,
    TAGS,
    TOKENS,
    WORDS,
    Header,
    damage_error,
    read_header,
    read_json,
    verify_checksum,
)
from sklearn_cvb.store.number_store import NumberStore
from sklearn_cvb.store.on_disk import BATCH_SIZE, StoredSequences
from sklearn_cvb.store.scratch import Scratch, ScratchValue, check_scratch


def open_store(
    folder: str | os.PathLike[str],
    *,
    batch_size: int = BATCH_SIZE,
    scratch: str | os.PathLike[str] | None = None,
    verify: bool = False,
) -> "CorpusStore | NumberStore":
    """Open what `write_store` or `write_numbers` has written; what it holds stays on the disk.

    Parameters
    ----------
    folder : path
    batch_size : int, default=1_000_000
        How many tokens a fit, or a prediction, lays out in memory at a time.
    scratch : path or None, default=None
        Where a fit keeps what it lays out and, of collapsed variational Bayes, its posteriors: with
        a dictionary 25 bytes a token, or 90; of numbers CVB keeps 8 for each step and state, and
        what each sequence adds to the counts. None for the folder of the store.
    verify : bool, default=False
        Read all files and compare their checksums. Without, sizes are compared, and the checksums
        of all but tokens, offsets and tags, which are those that a fit compares.

    Returns
    -------
    CorpusStore or NumberStore
        What it holds says which.

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
            verify_checksum(path, name, header)
    if scratch is not None:
        check_scratch(Path(scratch))
    kind = NumberStore if COLUMNS in header.files else CorpusStore
    return kind(path, header, batch_size, None if scratch is None else Path(scratch))


class CorpusStore(StoredSequences):
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

    def _read_contents(self, header: Header) -> None:
        words = read_json(self.folder, WORDS, header)
        self.vocabulary: np.ndarray = as_array(words[: header.n_words])
        self.unknown: list[Any] = words[header.n_words :]
        self.classes: list[Any] = (
            read_json(self.folder, CLASSES, header) if CLASSES in header.files else []
        )

    @property
    def tokens(self) -> np.ndarray:
        """Memory map of the codes."""
        return np.memmap(self.folder / TOKENS, CODE, "r")[self._first : self._last]

    @property
    def tags(self) -> "StoredTags | None":
        """Tags of the tokens."""
        return StoredTags(self) if TAGS in self._header.files else None

    def __repr__(self) -> str:
        return (
            f"CorpusStore({str(self.folder)!r}: {len(self):,} sequences, {self.n_tokens:,} tokens, "
            f"{len(self.vocabulary):,} words)"
        )

    def __iter__(self) -> Iterator[list[Any]]:
        return _in_lists(self, self._types(), lambda begin, end: self.corpus(begin, end).tokens)

    def _types(self) -> list[Any]:
        return [*self.vocabulary.tolist(), *self.unknown, None]

    def _sequence_at(self, index: int) -> np.ndarray:
        types = self._types()
        return as_array([types[code] for code in self.corpus(index, index + 1).tokens.tolist()])

    def corpus(self, begin: int, end: int) -> Corpus:
        """The sequences [begin, end), in memory; StoreError if codes or offsets are impossible."""
        starts = self.offsets_of(begin, end)
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
            raise damage_error(path, "it ends too early")
        if found.min() < -1 or found.max() >= n_types:
            raise damage_error(path, f"it holds codes beyond the {n_types} types")
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
    """The decoded sequences of a store, a list each, read a piece at a time."""
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
    store : CorpusStore or NumberStore
    classes : ndarray
        The states, or tags.
    path_of : callable
        ``path_of(begin, end)`` gives the places in `classes` of the tokens of some sequences.
    """

    def __init__(
        self, store: StoredSequences, classes: np.ndarray, path_of: Callable[[int, int], np.ndarray]
    ) -> None:
        self.classes = classes
        kind = np.uint16 if len(classes) <= np.iinfo(np.uint16).max else np.int32
        scratch = Scratch(store.scratch)
        self._pieces = store.pieces()
        self._values: list[ScratchValue] | None = []
        for begin, end in self._pieces:
            starts = np.array(store.starts[begin : end + 1]) - store.starts[begin]
            states = path_of(begin, end).astype(kind)
            self._values.append(scratch.write_value((starts, states)))

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
        if self._values is None:
            raise RuntimeError(
                "the states of a store lie in a temporary file, which is not pickled with a model: "
                "predict(store) finds them again"
            )
        starts, codes = self._values[index].load()
        return starts, self.classes[codes]

    def __repr__(self) -> str:
        return f"StoredStates of {len(self):,} sequences"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_values": None}
