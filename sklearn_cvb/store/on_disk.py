"""The base class of stores: sequences on disk, of symbols or of numbers."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from sklearn_cvb.store.files import OFFSET, STARTS, Header, damage_error, verify_checksum

# Tokens, or steps, that a fit holds in memory at a time: some hundred megabytes.
BATCH_SIZE = 1_000_000


class StoredSequences:
    """Sequences in the files of a store, or some of them, whatever they hold."""

    is_on_disk = True
    holds = "symbols"
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
        self._read_starts()
        self._read_contents(header)

    def _read_contents(self, header: Header) -> None:
        """Read what a kind of store holds beside its sequences."""
        raise NotImplementedError

    def _read_starts(self) -> None:
        # Read, not mapped: a file that is truncated later would end the process.
        begin, end = self._span
        place = begin * OFFSET.itemsize
        self.starts = np.fromfile(self.folder / STARTS, OFFSET, end + 1 - begin, offset=place)
        if len(self.starts) < end + 1 - begin:
            raise damage_error(self.folder / STARTS, "it ends too early")
        self._first, self._last = int(self.starts[0]), int(self.starts[-1])
        if not 0 <= self._first < self._last <= self._header.n_tokens:
            raise damage_error(self.folder / STARTS, "its offsets are none of this store")

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self._last - self._first

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            if step != 1:
                raise ValueError(f"store[{key.start}:{key.stop}:{step}]: only steps of 1 are kept")
            if begin >= end:
                raise ValueError(f"store[{key.start}:{key.stop}] holds no sequence")
            span = self._span[0] + begin, self._span[0] + end
            return self._slice(span)
        return self._sequence_at(range(len(self))[key])

    def _slice(self, span: tuple[int, int]) -> Self:
        """A store of some sequences in the same files."""
        return type(self)(self.folder, self._header, self.batch_size, self.scratch, span)

    def _sequence_at(self, index: int) -> np.ndarray:
        """A sequence."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # Another process reads the files itself.
        return {k: v for k, v in vars(self).items() if k != "starts"}

    def __setstate__(self, state: Mapping[Any, Any]) -> None:
        self.__dict__.update(state)
        self._read_starts()

    @property
    def identity(self) -> tuple[int, ...]:
        """Checksums of all files, and the span of sequences: equal for the same data."""
        files = self._header.files
        return (*self._span, *(files[name]["crc32"] for name in sorted(files)))

    def check(self, *names: str) -> None:
        """Raise StoreError where a file is not what was written; it is read once."""
        for name in names:
            verify_checksum(self.folder, name, self._header)

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

    def offsets_of(self, begin: int, end: int) -> np.ndarray:
        """Where the sequences [begin, end) begin, and where they end, from the first token on."""
        starts = np.array(self.starts[begin : end + 1], np.int64) - self._first
        if (np.diff(starts) < 1).any() or starts[0] < 0 or starts[-1] > self.n_tokens:
            raise damage_error(
                self.folder / STARTS, f"offsets of sequences {begin} to {end} do not grow"
            )
        return starts
