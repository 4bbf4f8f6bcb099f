"""Reading a store to be fitted to: the fit is the plain one, whose sweeps go over its pieces."""

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import shared_weights
from sklearn_cvb.chain.symbols import observed as symbols
from sklearn_cvb.chain.symbols.leave_out import HALF_OF_ALL
from sklearn_cvb.chain.symbols.stored.collapsed import ChainInTurn, InTurn
from sklearn_cvb.chain.symbols.stored.pieces import Pieces, StoredParts
from sklearn_cvb.chain.symbols.stored.prediction import classes_of
from sklearn_cvb.chain.symbols.stored.reading import survey_of_store
from sklearn_cvb.chain.symbols.vocabulary_pass import finished, lay_out
from sklearn_cvb.chain.symbols.whole import Whole
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.corpus import Corpus, shown
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.store import CorpusStore, StoredStates, StoredTags, write_store


def read_in_bulk(hmm: Any, X: Any, y: Any) -> Reading:
    """A store, or what is first encoded into a temporary one, to be fitted to."""
    if getattr(hmm, "supervision", None) == "none":
        y = None
    _refuse(hmm, y)
    store = X if isinstance(X, CorpusStore) else temporary_store(X)
    if y is not None and not isinstance(y, StoredTags):
        raise TypeError(
            f"y is {shown(y)}: the tags of a store lie beside it; write them with "
            "write_store(..., tagged=True), and pass store.tags"
        )
    if y is not None and (len(y) != len(store) or y.store.n_tokens != store.n_tokens):
        raise ValueError(f"X holds {len(store)} sequences but y {len(y)}: pass the tags of X")
    return _read_store(hmm, store, y if hasattr(hmm, "tag_dictionary") else None)


def _read_store(hmm: Any, store: CorpusStore, tags: StoredTags | None) -> Reading:
    """Lay out the parameters from a survey of the words, then all pieces."""
    survey = survey_of_store(store, tags, hmm.handle_unknown == "form")
    laid_out = lay_out(hmm, survey, store.vocabulary.tolist() if hmm.vocabulary is None else None)
    leaves_out = "leave_out" in hmm._algorithm().requires
    pieces = Pieces(laid_out.as_sent, store, tags, with_forms=not leaves_out)
    words, cells = finished(laid_out)
    whole = StoredWhole(cells, laid_out.corpus, pieces, tags)
    whole.source = InTurn(pieces) if leaves_out else StoredParts(pieces, hmm.n_jobs)
    if leaves_out:
        whole.chain = ChainInTurn
    of_pieces = (f"from sequence {i} on: {message}" for message, i in pieces.messages.items())
    messages = (*laid_out.messages, *of_pieces, *_cautions(hmm, store, leaves_out))
    return Reading(whole, words, hmm._attributes_of_words(words), messages)


def _cautions(hmm: Any, store: CorpusStore, leaves_out: bool) -> tuple[str, ...]:
    """What is to be said where leaving out a sequence leaves little to learn from."""
    longest, length = store.longest()
    is_giant = leaves_out and hmm.block_length is None and 2 * length > store.n_tokens
    return (HALF_OF_ALL.format(longest),) if is_giant else ()


def temporary_store(X: Any) -> CorpusStore:
    """A store in the folder for temporary files, which goes with the object that is returned."""
    folder = Path(tempfile.mkdtemp(prefix="sklearn_cvb-"))
    try:
        store = write_store(X, folder / "store")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


def _refuse(hmm: Any, y: Any) -> None:
    """Raise on what a fit in pieces cannot do."""
    name = type(hmm).__name__
    if not hasattr(type(hmm), "partial_fit"):
        raise InvalidParameterError(
            f"{name} keeps samples of all tokens in memory: pass list(store), or use EM, VB or CVB"
        )
    if not hmm._observed.has_vocabulary:
        raise InvalidParameterError(
            f"a store holds symbols, and {name} has emission={hmm.emission!r}: pass numbers as a "
            "list of arrays"
        )
    if getattr(hmm, "update", "") == "token":
        raise InvalidParameterError(
            f"on a store {name} leaves out a sequence or a window at a time: use "
            f"update='sequence', got update={hmm.update!r}; or pass list(store)"
        )
    if y is not None and not hasattr(hmm, "tag_dictionary") and hmm.supervision == "y":
        raise InvalidParameterError(
            f"on a store {name} does not learn from states in y: use a tagger, or pass list(store)"
        )


class StoredWhole(Whole):
    """Chains in pieces on the disk.

    Parameters
    ----------
    cells : Cells
    digest : Corpus
    pieces : Pieces
    tags : StoredTags or None
        Those that a tagger learns from.
    """

    def __init__(
        self, cells: Cells, digest: Corpus, pieces: Pieces, tags: StoredTags | None
    ) -> None:
        super().__init__(cells, digest, pieces.facts, StoredParts(pieces))
        self.pieces, self.tags = pieces, tags

    @property
    def identity(self) -> tuple[Any, ...]:
        """Checksums of the sequences and of their tags; the cut is free."""
        cells, tags = self.cells, self.tags
        steps = cells.indptr, cells.state, cells.n_states, cells.topology
        return (self.pieces.store.identity, None if tags is None else tags.store.identity, *steps)

    def left_paths(self, hmm: Any, state: Any, read: Reading) -> dict[str, Any]:
        """The states of all tokens, on the disk."""
        pieces, classes = self.pieces, classes_of(read.words, self.cells)
        held = np.zeros(len(classes), np.int64)
        index = {begin: i for i, (begin, _) in enumerate(pieces.store.pieces())}

        def path_of(begin: int, end: int) -> np.ndarray:
            one, _ = pieces.load(index[begin])
            own = state
            if isinstance(self.source, InTurn):
                own = self.source.state_of(state, index[begin])
            path = symbols.path(hmm, own, read._replace(problem=one))
            held[:] += np.bincount(path, minlength=len(held))
            return path

        labels = StoredStates(pieces.store, classes, path_of)
        return {"labels_": labels, **shared_weights(state.hyper, held)}
