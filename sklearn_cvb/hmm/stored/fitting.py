"""Fitting a model on a store: the plain fit, whose sweeps go over pieces on the disk."""

import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.containers import shown
from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm.base import LEAST_SHARE, BaseHMM
from sklearn_cvb.hmm.collapsing import HALF_OF_ALL, CollapsedHMM
from sklearn_cvb.hmm.stored.collapsed import InTurn
from sklearn_cvb.hmm.stored.pieces import Pieces, StoredParts
from sklearn_cvb.hmm.stored.reading import survey_of_store
from sklearn_cvb.hmm.streaming import StreamingHMM
from sklearn_cvb.hmm.survey import finish, lay_out
from sklearn_cvb.hmm.tagger import TaggerMixin
from sklearn_cvb.hmm.whole import ShardedHMM, Whole, fit_as
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.store import CorpusStore, StoredTags, write_store
from sklearn_cvb.store.stored_states import StoredStates
from sklearn_cvb.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.hmm.base import BaseHMM as _Model
else:
    _Model = object


def fit_in_bulk(model: BaseHMM, X: Any, y: Any) -> Any:
    """Fit a model on a store, or on what is first encoded into a temporary one."""
    if getattr(model, "supervision", None) == "none":
        y = None
    _refuse(model, y)
    store = X if isinstance(X, CorpusStore) else temporary_store(X)
    if y is not None and not isinstance(y, StoredTags):
        raise TypeError(
            f"y is {shown(y)}: the tags of a store lie beside it; write them with "
            "write_store(..., tagged=True), and pass store.tags"
        )
    if y is not None and (len(y) != len(store) or y.store.n_tokens != store.n_tokens):
        raise ValueError(f"X holds {len(store)} sequences but y {len(y)}: pass the tags of X")
    whole = StoredWhole(model, store, y)
    kind = StoredCollapsedFit if isinstance(model, CollapsedHMM) else StoredBatchFit
    fit_as(kind, model, whole)
    return model


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


def _refuse(model: BaseHMM, y: Any) -> None:
    """Raise on what a fit in pieces cannot do."""
    name = type(model).__name__
    if not isinstance(model, StreamingHMM):
        raise InvalidParameterError(
            f"{name} keeps samples of all tokens in memory: pass list(store), or use EM, VB or CVB"
        )
    if not model._observed.has_vocabulary:
        raise InvalidParameterError(
            f"a store holds symbols, and {name} has emission={model.emission!r}: pass numbers as a "
            "list of arrays"
        )
    if isinstance(model, CollapsedHMM) and model.update == "token":
        raise InvalidParameterError(
            f"on a store {name} leaves out a sequence or a window at a time: use "
            f"update='sequence', got update={model.update!r}; or pass list(store)"
        )
    if y is not None and not isinstance(model, TaggerMixin) and model.supervision == "y":
        raise InvalidParameterError(
            f"on a store {name} does not learn from states in y: use a tagger, or pass list(store)"
        )


class StoredWhole(Whole):
    """A problem in pieces on the disk.

    Parameters
    ----------
    model : BaseHMM
        Gets its vocabulary and states.
    store : CorpusStore
    y : StoredTags or None
    """

    def __init__(self, model: BaseHMM, store: CorpusStore, y: StoredTags | None) -> None:
        self.store = store
        # The tags that a tagger learns from.
        self.tags = y if isinstance(model, TaggerMixin) else None

    def lay_out(self, cells: Cells, digest: Corpus, pieces: Pieces, source: Any) -> None:
        """What the fit learns from, once parameters and pieces are laid out."""
        super().__init__(cells, digest, pieces.facts, source)


class _OnStore(_Model):
    """What fits on a store do otherwise than those on other shards."""

    vocabulary: Any

    def _problem(self, X: Any, y: Any) -> Any:
        """Lay out the parameters from a survey of the words, then all pieces."""
        store, tags = X.store, X.tags
        given = self.vocabulary
        survey = survey_of_store(store, tags, self.handle_unknown == "form")
        if given is None:
            self.vocabulary = store.vocabulary.tolist()
        try:
            laid_out = lay_out(self, survey)
        finally:
            self.vocabulary = given
        pieces = Pieces(laid_out.model, store, tags, not isinstance(self, CollapsedHMM))
        for message, first in pieces.warnings.items():
            warnings.warn(f"from sequence {first} on: {message}", UserWarning, stacklevel=6)
        finish(self, laid_out)
        X.lay_out(self._cells, laid_out.corpus, pieces, self._source_on(pieces))
        return X

    def _source_on(self, pieces: Pieces) -> Any:
        raise NotImplementedError

    def _state_of(self, state: Any, problem: Any, index: int) -> Any:
        """The state of a piece as if it were a corpus of its own."""
        return state

    def _fitted_paths(self, state: Any, problem: Any) -> dict[str, Any]:
        """The states of all tokens, on the disk."""
        pieces, classes = problem.source.pieces, classes_of(self)
        held = np.zeros(len(classes), np.int64)
        index = {begin: i for i, (begin, _) in enumerate(pieces.store.pieces())}

        def path_of(begin: int, end: int) -> np.ndarray:
            one, _ = pieces.load(index[begin])
            path = self._observed.path(self, self._state_of(state, problem, index[begin]), one)
            held[:] += np.bincount(path, minlength=len(held))
            return path

        found = {"labels_": StoredStates(pieces.store, classes, path_of)}
        found |= self._shared_weights(state.hyper, np.zeros(1, np.intp))
        if "n_effective_components_" in found:
            many = held >= LEAST_SHARE * held.sum()
            found["n_effective_components_"] = int(np.count_nonzero(many))
        return found

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        """Checksums of the sequences and of their tags; the cut is free."""
        cells, tags = problem.cells, problem.tags
        steps = cells.indptr, cells.state, cells.n_states, cells.topology
        return (problem.store.identity, None if tags is None else tags.store.identity, *steps)


def classes_of(model: Any) -> np.ndarray:
    """The states of a model, or its tags."""
    if isinstance(model, TaggerMixin):
        return model.classes_
    return np.arange(model._cells.n_emitting)


class StoredBatchFit(_OnStore, ShardedHMM):
    """EM and VB on a store."""

    def _source_on(self, pieces: Pieces) -> StoredParts:
        return StoredParts(pieces, self.n_jobs)


class StoredCollapsedFit(_OnStore, ShardedHMM):
    """Collapsed variational Bayes on a store."""

    def _source_on(self, pieces: Pieces) -> InTurn:
        return InTurn(pieces)

    def _state_of(self, state: Any, problem: Any, index: int) -> Any:
        return problem.source.state_of(state, index)

    def _warn_of_data(self, problem: Any) -> None:
        longest, length = problem.store.longest()
        if self.block_length is None and 2 * length > problem.store.n_tokens:
            warnings.warn(HALF_OF_ALL.format(longest), UserWarning, stacklevel=6)

    def _resumable(self, problem: Any, model: Any) -> Fit | None:
        resume = super()._resumable(problem, model)
        if resume is None:
            return None
        before, _ = self._resume
        if before.source.left_out != self._left_out:
            return None
        if before.source.pieces.facts == problem.facts:
            counts = problem.source.adopt(before.source, resume.state)
            resume = resume._replace(state=resume.state._replace(counts=counts))
        return resume
