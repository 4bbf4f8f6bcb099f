"""Reading a fitted model: sources of target words, link posteriors, likelihoods, the lexicon."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.alignment.inference import (
    best_of,
    expectation,
    log_likelihoods,
    positions_of,
    tables_of,
)
from sklearn_cvb.alignment.layout import Encoded, Layout, pairs_of, words_beside
from sklearn_cvb.alignment.lexicon import Lexicon
from sklearn_cvb.alignment.links import NO_SOURCE
from sklearn_cvb.alignment.parameters import Prior, Weights, cells_from, counts_from, posterior_mean
from sklearn_cvb.alignment.reading import (
    Corpora,
    Sides,
    is_two_columns,
    read_halves,
    read_pairs,
    refuse_missing,
)
from sklearn_cvb.containers import is_table
from sklearn_cvb.corpus import Corpus, object_array
from sklearn_cvb.kernels.alignment.arrays import FREE, Pairs
from sklearn_cvb.validation import check_choice, check_table

if TYPE_CHECKING:
    from sklearn_cvb.base import BaseModel as _Model
else:
    _Model = object


class PredictionMixin(_Model):
    """Prediction and scoring from posterior counts, whichever algorithm left them."""

    @property
    def jumpprob_(self) -> np.ndarray:
        """p(jump), shape (2 * longest_jump + 1,): from -longest_jump to longest_jump positions.

        The first and the last stand for all jumps so far and farther.
        """
        cells, layout = self._mean_weights().cells, self._layout
        return cells[len(layout.keys) : -2].copy()

    @property
    def p_null_(self) -> float:
        """The probability that a target word has no source."""
        return float(self._mean_weights().cells[-1])

    @property
    def lexicon_(self) -> Lexicon:
        """p(target word | source word) as a table: ``lexicon_.translations("house")``."""
        table = counts_from(self._mean_weights().cells, self._layout).lexicon
        known = self.source_vocabulary_.tolist(), self.vocabulary_.tolist()
        # Columns of unknown words are not listed.
        shape = table.shape[0], len(known[1])
        table = csr_array((table.data, table.indices, table.indptr), shape=shape)
        return Lexicon(table, *known)

    def predict(self, X: Any, decoding: str = "viterbi") -> np.ndarray:
        """The source of each target word.

        Parameters
        ----------
        X : list of (source tokens, target tokens), or array of shape (n_samples, width)
            As in `fit`.
        decoding : {"viterbi", "marginal"}, default="viterbi"
            The most probable alignment of a pair, or the most probable source of each word.

        Returns
        -------
        ndarray
            For each pair an array with the position of each target word's source, from 0; -1 where
            it has none. For a 2-D X an array of shape (n_samples, target width).
        """
        check_choice("decoding", decoding, ("viterbi", "marginal"))
        corpus, pairs = self._read(X, free=True)
        if decoding == "viterbi":
            positions, logs = best_of(self._predicting_weights(), pairs)
        else:
            _, logs, shares = expectation(self._predicting_weights(), pairs, self._layout, True)
            positions = positions_of(shares.link, pairs)
            positions[np.repeat(np.isneginf(logs), np.diff(pairs.target_starts))] = NO_SOURCE
        self._warn_unexplained(logs)
        return reading.arrange(corpus, positions, NO_SOURCE)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Link posteriors: the probability of each source of each target word.

        Parameters
        ----------
        X : list of (source tokens, target tokens), or array of shape (n_samples, width)
            As in `fit`.

        Returns
        -------
        ndarray
            For each pair a table of shape (n_target, n_source + 1) whose cell [j, i] is the
            probability that the source of target word j is source word i, or that it has none
            (i = n_source); stacked for a 2-D X, else in an object array. NaN where no alignment of
            the pair has any weight.
        """
        corpus, pairs = self._read(X, free=True)
        _, logs, shares = expectation(self._predicting_weights(), pairs, self._layout, True)
        self._warn_unexplained(logs)
        lost = np.repeat(np.isneginf(logs), np.diff(pairs.first))
        return arranged_tables(np.where(lost, np.nan, shares.link), pairs, corpus)

    # Reading X

    def _sides(self, X: Any, reset: bool) -> Sides:
        """The sentences of X."""
        if is_table(X) and not is_two_columns(X):
            return read_halves(check_table(self, X, reset=reset))
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        return read_pairs(X)

    def _encoded_sides(self, sides: Sides) -> Corpora:
        """Source and target words as numbers."""
        indices = self._source_index, self._index
        corpora = Corpora(
            *(reading.encode(side, index) for side, index in zip(sides, indices, strict=True))
        )
        refuse_missing(corpora)
        for corpus, side, index, name in zip(
            corpora, sides, indices, ("source", "target"), strict=True
        ):
            if self.handle_unknown == "error" and corpus.unknown:
                at = int(np.flatnonzero(corpus.tokens >= len(index))[0])
                raise ValueError(
                    f"unknown {name} word {side.tokens[at]!r} "
                    f"({reading.place(at, corpus.starts)}; {len(corpus.unknown)} unknown types): "
                    "put it into dictionary, or handle_unknown='smooth'"
                )
        return corpora

    def _numbers(self, corpora: Corpora) -> Encoded:
        """Rows and columns of the lexicon; unknown words share the last."""
        rows, columns = (
            np.minimum(corpus.tokens, len(index)).astype(np.int64)
            for corpus, index in zip(corpora, (self._source_index, self._index), strict=True)
        )
        return Encoded(rows, corpora.source.starts, columns, corpora.target.starts)

    def _read(self, X: Any, free: bool = False) -> tuple[Corpus, Pairs]:
        """Target sentences, and pairs as kernels read them.

        With `free` unknown target words that have no probability may come from any word alike.
        """
        check_is_fitted(self)
        corpora = self._encoded_sides(self._sides(X, reset=False))
        encoded, layout = self._numbers(corpora), self._layout
        pairs = pairs_of(encoded, words_beside(encoded, layout[:2]), layout)
        if free and not self._prior.rest[:-2].any():
            unknown = encoded.target == len(self._index)
            for table, words in zip(
                tables_of(pairs.cell, pairs),
                np.split(unknown, encoded.target_starts[1:-1]),
                strict=True,
            ):
                table[words] = FREE
        return corpora.target, pairs

    # Weights

    _layout: Layout
    _prior: Prior

    def _mean_weights(self) -> Weights:
        """Posterior-mean weights."""
        check_is_fitted(self)
        return posterior_mean(cells_from(self.counts_), self._prior, self._layout)

    def _predicting_weights(self) -> Weights:
        """Weights of `predict` and `predict_proba`."""
        check_is_fitted(self)
        return self._weights(cells_from(self.counts_), self._prior, self._layout)

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        corpus, pairs = self._read(X)
        return log_likelihoods(self._mean_weights(), pairs), corpus.n_observed

    def _warn_unexplained(self, logs: np.ndarray) -> None:
        lost = np.flatnonzero(np.isneginf(logs))
        if len(lost):
            warnings.warn(
                f"no alignment of pairs {lost[:5].tolist()} ({len(lost)} in all) has any weight: "
                "they hold what the model has never seen; beta above 0 leaves nothing out",
                UserWarning,
                stacklevel=3,
            )


def arranged_tables(link: np.ndarray, pairs: Pairs, corpus: Corpus) -> np.ndarray:
    """Tables of links in the form of X: stacked for a 2-D one, else in an object array."""
    tables = tables_of(link, pairs)
    return object_array(tables) if corpus.width is None else np.stack(tables)
