"""States of the tokens of a store, one for each, on the disk."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import object_array
from sklearn_cvb.store.corpus_store import CorpusStore
from sklearn_cvb.store.scratch import Kept, Scratch


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
