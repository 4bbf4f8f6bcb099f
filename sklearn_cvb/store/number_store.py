"""Stores of numbers: series on disk as a table of steps, read in parts, and moments of it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.moments import Moments, moments_of_rows
from sklearn_cvb.reading.series import Series
from sklearn_cvb.store.files import COLUMNS, NUMBERS, Header, damage_error, read_json
from sklearn_cvb.store.on_disk import StoredSequences


class NumberStore(StoredSequences):
    """Series of numbers on disk, as `open_store` gives them.

    ``len(store)`` is the number of sequences, ``store[i]`` an array of shape (length, n_columns),
    ``store[a:b]`` a store of some sequences in the same files. `fit` of `EMHMM`, `VBHMM` and
    `CVBHMM` with an `emission` of numbers goes over it in pieces, and so do `predict`, `score` and
    `perplexity`; each sequence has to fit in memory.

    Attributes
    ----------
    folder : Path
    n_columns : int
    names : list or None
        Of the columns, where frames were written.
    dtype : dtype
        How values lie on the disk; they are read as float64.
    n_tokens : int
        Number of steps.
    batch_size : int
        How many steps are laid out in memory at a time.
    scratch : Path
        Where fits keep posteriors.
    starts : ndarray of shape (n_sequences + 1,), int64
        Where sequences begin among all steps of the files.
    """

    holds = "numbers"

    def _read_contents(self, header: Header) -> None:
        content = read_json(self.folder, COLUMNS, header)
        self.n_columns: int = content["n_columns"]
        self.names: list[Any] | None = content["names"]
        (self._file,) = NUMBERS.values() & header.files.keys()
        self.dtype: np.dtype = dtype_of(self._file)
        is_whole = self._span == (0, header.n_sequences)
        self._survey: StoreSurvey | None = survey_from_json(content["survey"]) if is_whole else None

    @property
    def survey(self) -> "StoreSurvey":
        """Moments of the columns, and steps with a value: as written, or of those of a part."""
        if self._survey is None:
            self._survey = survey_rows(self.table, self.n_tokens)
        return self._survey

    @property
    def numbers_file(self) -> str:
        """The name of the file of values."""
        return self._file

    @property
    def offsets(self) -> np.ndarray:
        """Where sequences begin, from the first step of this store on."""
        return self.offsets_of(0, len(self))

    def __repr__(self) -> str:
        return (
            f"NumberStore({str(self.folder)!r}: {len(self):,} sequences, {self.n_tokens:,} steps, "
            f"{self.n_columns:,} columns)"
        )

    def __iter__(self) -> Iterator[np.ndarray]:
        for begin, end in self.pieces():
            series = self.series(begin, end)
            for a, b in pairwise(series.corpus.starts.tolist()):
                yield series.table[a:b]

    def _sequence_at(self, index: int) -> np.ndarray:
        return self.series(index, index + 1).table

    def series(self, begin: int = 0, end: int | None = None) -> Series:
        """The sequences [begin, end), in memory."""
        starts = self.offsets_of(begin, len(self) if end is None else end)
        table = self.table(int(starts[0]), int(starts[-1]))
        tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
        corpus = Corpus(tokens, starts - starts[0], None, [])
        return Series(table, corpus, self.names, False, {})

    def table(self, begin: int, end: int) -> np.ndarray:
        """The steps [begin, end), (n_steps, n_columns).

        Read, not mapped: pages of a map would stay resident.
        """
        path, first = self.folder / self._file, self._first + begin
        return read_rows(path, self.dtype, self.n_columns, (first, first + end - begin))

    def rows(self, steps: np.ndarray) -> np.ndarray:
        """The steps at some places, (n_steps, n_columns); read one by one, in their order."""
        found = np.empty((len(steps), self.n_columns), self.dtype)
        with open(self.folder / self._file, "rb", buffering=0) as handle:
            for place in np.argsort(steps).tolist():
                handle.seek((self._first + int(steps[place])) * found[0].nbytes)
                if handle.readinto(found[place].data.cast("B")) < found[0].nbytes:
                    raise damage_error(self.folder / self._file, "it ends too early")
        return found.astype(np.float64, copy=False)


def dtype_of(name: str) -> np.dtype:
    """How values lie in a file of this name: little-endian."""
    return np.dtype(name.partition(".")[2]).newbyteorder("<")


def read_rows(path: Path, kind: np.dtype, n_columns: int, rows: tuple[int, int]) -> np.ndarray:
    """The rows [begin, end) of a file, as float64."""
    begin, end = rows
    size, offset = (end - begin) * n_columns, begin * n_columns * kind.itemsize
    found = np.fromfile(path, kind, size, offset=offset)
    if len(found) < size:
        raise damage_error(path, "it ends too early")
    return found.reshape(end - begin, n_columns).astype(np.float64, copy=False)


# Moments of all steps


class StoreSurvey(NamedTuple):
    """Moments of the columns, and how many steps have any value."""

    moments: Moments
    n_observed: int


def survey_rows(rows: Callable[[int, int], np.ndarray], n_steps: int) -> StoreSurvey:
    """The survey of all steps, in one pass."""
    n_observed = 0

    def counted(begin: int, end: int) -> np.ndarray:
        nonlocal n_observed
        table = rows(begin, end)
        n_observed += int(np.count_nonzero(~np.isnan(table).all(axis=1)))
        return table

    moments = moments_of_rows(counted, n_steps)
    return StoreSurvey(moments, n_observed)


def survey_to_json(survey: StoreSurvey) -> list[Any]:
    """A survey for JSON, which keeps all digits."""
    return [[table.tolist() for table in survey.moments], survey.n_observed]


def survey_from_json(content: list[Any]) -> StoreSurvey:
    """The survey from what `survey_to_json` has made."""
    tables, n_observed = content
    return StoreSurvey(Moments(*map(np.array, tables)), n_observed)
