"""Reading a fitted model: heads, their posteriors, likelihoods, samples."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.corpus import Corpus, object_array
from sklearn_cvb.dmv.inference import (
    expectation,
    frozen_tally,
    heaviest,
    log_likelihoods,
    sentences_of,
)
from sklearn_cvb.dmv.layout import Layout
from sklearn_cvb.dmv.parameters import (
    DMVCounts,
    cells_from,
    counts_from,
    layout_of,
    mixed_weights,
    posterior_mean,
)
from sklearn_cvb.dmv.sampling import sample_sentences
from sklearn_cvb.kernels.dependency.arrays import STOP, UNKNOWN_HEAD
from sklearn_cvb.kernels.dependency.chart_log import ALMOST_NOTHING

if TYPE_CHECKING:
    from sklearn_cvb.base import BaseModel as _Model
else:
    _Model = object


class PredictionMixin(_Model):
    """Prediction, scoring and sampling from posterior counts, whichever algorithm left them."""

    @property
    def rootprob_(self) -> np.ndarray:
        """p(tag of the root), shape (n_types,); the unknown tag, if any, is last."""
        return self._probabilities().root

    @property
    def attachprob_(self) -> np.ndarray:
        """p(child | head, side), shape (n_types, 2, n_types): head, side (0 left, 1 right).

        With `extended_valence` p(child | head, side, valence), shape (n_types, 2, 2, n_types). With
        `backoff` mixtures are worked out.
        """
        return self._probabilities().attach

    @property
    def stopprob_(self) -> np.ndarray:
        """p(stop | head, side, valence), shape (n_types, 2, 2); valence 1 means it has a child."""
        return self._probabilities().stop[..., STOP]

    @property
    def mixtureprob_(self) -> np.ndarray:
        """With `backoff`: p(own table), p(coarse table), shape (n_types, 2[, 2], 2)."""
        return self._part("mixture")

    @property
    def ownprob_(self) -> np.ndarray:
        """With `backoff`: p(child | head, side[, valence]) in the own tables alone."""
        return self._part("attach")

    @property
    def coarseprob_(self) -> np.ndarray:
        """With `backoff`: p(child | head, side), or p(child | side), shape (2, n_types)."""
        return self._part("coarse")

    def predict(self, X: Any) -> np.ndarray:
        """The heads in the most probable tree of each sentence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence an array with the position of each token's head, from 1; 0 for the
            root. For a 2-D X an array of the same shape, -1 where a row is padded. A sentence none
            of whose trees has any weight gets one that has least of what was never seen.
        """
        corpus = self._encoded(X)
        heads, logs = heaviest(frozen_tally(self._predicting_weights()), self._read(corpus))
        self._warn_unexplained(corpus, np.flatnonzero(logs < ALMOST_NOTHING / 2))
        return reading.arrange(corpus, heads, UNKNOWN_HEAD)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each head of each token.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence a table of shape (length, length + 1) whose cell [i, h] is the
            probability that the head of token i + 1 is token h, or that it is the root (h = 0);
            stacked for a 2-D X, else in an object array. NaN where a row is padded, or no tree of
            the sentence has any weight.
        """
        corpus = self._encoded(X)
        sentences = self._read(corpus)
        _, log_z, shares = expectation(self._predicting_weights(), sentences, keeps_shares=True)
        tables = []
        for i, n in enumerate(np.diff(corpus.starts).tolist()):
            share = shares.count[shares.first[i] :]
            arcs = share[: n * n].reshape(n, n)
            if sentences.n_valences == 2:
                arcs = arcs + share[n * (n + 8) :][: n * n].reshape(n, n)
            table = np.column_stack([np.diagonal(arcs), arcs.T])
            np.fill_diagonal(table[:, 1:], 0.0)
            tables.append(table if np.isfinite(log_z[i]) else np.full_like(table, np.nan))
        self._warn_unexplained(corpus, np.flatnonzero(np.isneginf(log_z)))
        if corpus.width is None:
            return object_array(tables)
        stacked = np.full((len(tables), corpus.width, corpus.width + 1), np.nan)
        for whole, table in zip(stacked, tables, strict=True):
            whole[: len(table)] = 0.0
            whole[: len(table), : table.shape[1]] = table
        return stacked

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their heads from the model with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Trees of more tokens are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of tags. The unknown one is never drawn.
        heads : ndarray of shape (n_samples,), object
            Arrays of heads, as `predict` gives them.
        """
        tables, rng = self._probabilities(), check_random_state(random_state)
        n = len(self.vocabulary_)
        known = DMVCounts(tables.root[:n], tables.attach[:n, ..., :n], tables.stop[:n])
        tags, heads = sample_sentences(known, n_samples, longest, rng)
        names = self.vocabulary_.tolist()
        return object_array([[names[tag] for tag in row] for row in tags]), object_array(heads)

    # Reading X

    def _encoded(self, X: Any) -> Corpus:
        corpus = super()._encoded(X)
        reading.refuse_missing(corpus)
        return corpus

    def _read(self, corpus: Corpus) -> Any:
        """Sentences without known heads."""
        return sentences_of(corpus, self._layout().mixed)

    # Weights

    def _layout(self) -> Layout:
        """The cells of the fitted model, whatever its parameters say by now."""
        check_is_fitted(self)
        return layout_of(self.counts_)

    def _complete_cells(self) -> np.ndarray:
        """Counts; the unknown tag gets the mean count of tags seen once ("rare")."""
        check_is_fitted(self)
        cells = cells_from(self.counts_)
        return cells if self._rare is None else cells + self._rare

    def _mean_weights(self) -> np.ndarray:
        """Posterior-mean weights."""
        cells, layout = self._complete_cells(), self._layout()
        return posterior_mean(cells, self._prior_cells, self._kept, layout)

    def _mean_mixed(self) -> np.ndarray:
        """The same with mixtures worked out."""
        return mixed_weights(self._mean_weights(), self._layout())

    def _predicting_weights(self) -> np.ndarray:
        """Weights of `predict` and `predict_proba`, with mixtures worked out."""
        cells, layout = self._complete_cells(), self._layout()
        weights = self._weights(cells, self._prior_cells, self._kept, layout)
        return mixed_weights(weights, layout)

    def _probabilities(self) -> DMVCounts:
        """With mixtures worked out."""
        return counts_from(self._mean_mixed(), self._layout().mixed)

    def _parts(self) -> DMVCounts:
        """Probabilities in all tables."""
        return counts_from(self._mean_weights(), self._layout())

    def _part(self, name: str) -> np.ndarray:
        """A table that only models that back off have."""
        if self._layout().backoff is None:
            raise AttributeError(f"{type(self).__name__} was fitted without backoff")
        return getattr(self._parts(), name)

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        corpus = self._encoded(X)
        return log_likelihoods(self._mean_mixed(), self._read(corpus)), corpus.n_observed

    def _warn_unexplained(self, corpus: Corpus, suspects: np.ndarray) -> None:
        """Warn of sentences that no tree explains; unknown tags explain themselves."""
        starts, n_known = corpus.starts, len(self._index)
        found = [
            int(i) for i in suspects if (corpus.tokens[starts[i] : starts[i + 1]] < n_known).all()
        ]
        if found:
            warnings.warn(
                f"no tree of sentences {found[:5]} ({len(found)} in all) has any weight: they hold "
                "what the model has never seen; alpha above 0 leaves nothing out",
                UserWarning,
                stacklevel=3,
            )
