"""Reading a fitted hidden Markov model: states, posteriors, likelihoods, samples."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.containers import is_dask, is_store, over_partitions
from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm.drawing import (
    lengths_to_draw,
    paths_ending_at,
    paths_of_lengths,
    paths_to_their_end,
)
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
    with_end,
    word_major,
)
from sklearn_cvb.hmm.read import warn_unexplained
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import lattice_for
from sklearn_cvb.validation import check_choice, check_counts, without_lengths


class PredictionMixin(TransformerMixin):
    """Prediction, scoring and sampling from posterior counts, whichever algorithm left them."""

    @property
    def startprob_(self) -> np.ndarray:
        """Posterior mean of the start probabilities, shape (n_components,)."""
        return self._mean_weights().start[: self._cells.n_emitting]

    @property
    def transmat_(self) -> np.ndarray:
        """Posterior mean of the transition probabilities, shape (n_components, n_components).

        With `end_state` each row sums to 1 minus `endprob_`.
        """
        transition, n = self._mean_weights().transition, self._cells.n_emitting
        return transition[:n, :n]

    @property
    def endprob_(self) -> np.ndarray:
        """Posterior mean of the probability that a sequence ends after each state.

        Shape (n_components,); only with `end_state`.
        """
        transition = self._mean_weights().transition
        if not self._cells.has_end:
            raise AttributeError("endprob_ needs a fit with end_state=True")
        return transition[:-1, -1]

    @property
    def emissionprob_(self) -> np.ndarray:
        """Posterior mean of the emission probabilities, shape (n_components, n_symbols).

        Symbols are in the order of `vocabulary_`; the unknown item, where there is one, is last.
        Only for symbols: see `means_`, `rates_` or `probabilities_` of models of numbers.
        """
        if not self._observed.has_vocabulary:
            raise AttributeError("emissionprob_ is for symbols; this model's emissions are numbers")
        emission = self._mean_weights().emission
        weights = word_major(self._cells, emission)
        if hasattr(weights, "toarray"):
            weights = _with_ruled_out(weights)
        return np.ascontiguousarray(weights.T)

    @without_lengths
    def predict(self, X: Any, decoding: str = "viterbi") -> np.ndarray:
        """States (taggers: tags) of new sequences.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        decoding : {"viterbi", "marginal"}, default="viterbi"
            The most probable path, or the most probable state of each token.

        Returns
        -------
        ndarray
            Shape (n_samples, length) for a 2-D X (-1, or None for tags that are not integers,
            where a row is padded), else an object array of one array per sequence.
        """
        check_choice("decoding", decoding, ("viterbi", "marginal"))
        if is_dask(X):
            return over_partitions(self, "predict", X, decoding=decoding)
        if is_store(X):
            from sklearn_cvb.hmm.stored.prediction import states_of_store

            found: Any = states_of_store(self, X, decoding)
            return found
        corpus, path, log_p = self._paths(X, decoding)
        warn_unexplained(log_p, stacklevel=4)
        return self._arranged_states(corpus, path)

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(z_t | x_1..T) of every token.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            Shape (n_samples, length, n_components) for a 2-D X (NaN where padded), else an object
            array of arrays of shape (length, n_components).
        """
        if is_dask(X):
            return over_partitions(self, "predict_proba", X)
        corpus, table = self._posterior_table(X)
        return reading.arrange(corpus, table, np.nan)

    def filter_proba(self, X: Any) -> np.ndarray:
        """p(z_t | x_1..t) of every token: what is known as the sequence unfolds.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            As `predict_proba`.
        """
        corpus, table = self._posterior_table(X, decoding.filtered)
        return reading.arrange(corpus, table, np.nan)

    def predict_next_proba(self, X: Any) -> np.ndarray:
        """Probability of each symbol to come next after each sequence; only for symbols.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_symbols)
            In the order of `vocabulary_`; the unknown item, where there is one, is last. With
            `end_state` a row sums to 1 minus the probability that its sequence has ended.
        """
        if not self._observed.has_vocabulary:
            raise AttributeError("predict_next_proba is for symbols: use predict_next for numbers")
        corpus, table = self._posterior_table(X, decoding.filtered, means=True)
        return table[corpus.starts[1:] - 1] @ self.transmat_ @ self.emissionprob_

    def transform(self, X: Any) -> np.ndarray:
        """Mean state posterior of each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        corpus, table = self._posterior_table(X)
        sums = np.add.reduceat(table, corpus.starts[:-1], axis=0)
        return sums / np.diff(corpus.starts)[:, None]

    def sample(
        self, n_samples: int = 1, length: int | ArrayLike | None = 10, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sequences from the model with posterior-mean parameters.

        Parameters
        ----------
        n_samples : int, default=1
        length : int, array-like of shape (n_samples,) or None, default=10
            Length of the sequences. With `end_state` they are drawn given that they end there, or
            for None until they end.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray
            Symbols, shape (n_samples, length); for several lengths an object array of arrays. The
            unknown item is never emitted: where a state emits nothing else stands None, a missing
            observation. Numbers have one more axis, n_columns, unless a 2-D array was fitted.
        Z : ndarray
            States (taggers: tags), shape (n_samples, length) or an object array.
        """
        check_is_fitted(self)
        observed = self._observed
        if observed.draws_ahead and np.ndim(n_samples):
            raise TypeError(f"n_samples must be an integer, got a sequence: {observed.draws_ahead}")
        rng = check_random_state(random_state)
        states, lengths = self._drawn_states(n_samples, length, rng)
        values, nothing = observed.drawn(self, states, rng)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        width = int(lengths[0]) if length is not None and np.ndim(length) == 0 else None
        drawn = Corpus(np.zeros(len(states), np.int32), starts, width, [])
        return reading.arrange(drawn, values, nothing), self._arranged_states(drawn, states)

    def sample_paths(self, X: Any, random_state: Seed = None) -> np.ndarray:
        """Draw a state path from p(z | x) for every sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray
            States (taggers: tags), arranged as by `predict`.
        """
        read = self._observed.read(self, X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        path, log_z = read.drawn_path(rng)
        warn_unexplained(log_z)
        return self._arranged_states(read.corpus, path)

    # Reading X

    def _lattice_of(self, corpus: Corpus) -> Lattice:
        """Allowed states of a new corpus."""
        return lattice_for(corpus, self._cells)

    def _with_unknown(
        self, corpus: Corpus, weights: Weights, logs: Weights
    ) -> tuple[Lattice, Weights, Weights]:
        """Weights with what else is known of unknown words, and the lattice that reads them."""
        return self._lattice_of(corpus), weights, logs

    # Weights

    def _complete_counts(self) -> HMMCounts:
        """The counts as weights are made from them, with ends where there are any."""
        check_is_fitted(self)
        counts = self._observed.counts(self)
        return with_end(counts, self.end_counts_) if self._cells.has_end else counts

    def _posteriors(self) -> Iterable[tuple[HMMCounts, Prior]]:
        """Counts and priors of the posteriors whose mixture stands for the posterior."""
        return [self._observed.posterior(self)]

    def _samples(self) -> Iterable[tuple[HMMCounts, Prior]] | None:
        """Counts and priors of kept samples; None where an algorithm has none."""
        return None

    def _mean_weights(self) -> Weights:
        """Posterior-mean weights."""
        return posterior_mean(self._complete_counts(), self._prior, self._cells, self._kept)

    def _mean_and_log(self) -> tuple[Weights, Weights]:
        weights = self._mean_weights()
        return weights, log_weights(weights)

    def _predicting_weights(self) -> tuple[Weights, Weights]:
        """Weights of `predict` and `predict_proba`, and their logs."""
        counts = self._complete_counts()
        weights = self._weights(counts, self._prior, self._cells, self._kept)
        return weights, self._log_weights(weights, counts, self._prior, self._cells)

    # Running the kernels

    def _paths(self, X: Any, decoding: str) -> tuple[Corpus, np.ndarray, np.ndarray]:
        """The corpus of X, the states of its tokens, and log p of each sequence."""
        read = self._observed.read(self, X)
        if decoding == "viterbi":
            return read.corpus, *read.best_path()
        posterior, log_p = read.entries()
        return read.corpus, read.most_probable(posterior), log_p

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        samples = self._samples()
        if samples is None and is_store(X) and self._observed.has_vocabulary:
            from sklearn_cvb.hmm.stored.prediction import log_likelihoods_of_store

            return log_likelihoods_of_store(self, X)
        found, n_observed = self._observed.log_likelihoods(self, X, samples)
        if samples is None:
            return found[0], n_observed
        # The mean over samples (paper eq. 28).
        return logsumexp(found, axis=0) - math.log(len(found)), n_observed

    def _posterior_table(
        self, X: Any, kernel: Callable = decoding.smoothed, means: bool = False
    ) -> tuple[Corpus, np.ndarray]:
        """Posteriors over all states, token by token; warns of what no path explains."""
        read = self._observed.read(self, X, means)
        posterior, log_z = read.entries(kernel)
        warn_unexplained(log_z, stacklevel=4)
        return read.corpus, read.table(posterior)

    def _arranged_states(self, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States in the shape of the input."""
        return reading.arrange(corpus, path.astype(np.int64), -1)

    def _drawn_states(
        self, n_samples: int, length: int | ArrayLike | None, rng: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """States of sampled sequences, flat, and their lengths."""
        start, transition = self.startprob_, self.transmat_
        if length is None:
            if not self._cells.has_end:
                raise ValueError(
                    "length=None draws sequences until they end, which needs a fit with "
                    "end_state=True: give a length"
                )
            check_counts(n_samples=n_samples)
            return paths_to_their_end(start, transition, self.endprob_, n_samples, rng)
        lengths = lengths_to_draw(n_samples, length)
        if self._cells.has_end:
            return paths_ending_at(start, transition, self.endprob_, lengths, rng), lengths
        return paths_of_lengths(start, transition, lengths, rng), lengths


def _with_ruled_out(weights: csr_array) -> np.ndarray:
    """Dense emissions in which the cells a dictionary rules out share the rest of their row."""
    dense = weights.toarray()
    listed = np.zeros(dense.shape, bool)
    listed[np.repeat(np.arange(len(dense)), np.diff(weights.indptr)), weights.indices] = True
    n_ruled_out = (~listed).sum(axis=0)
    rest = np.clip(1.0 - dense.sum(axis=0), 0.0, None) / np.maximum(1, n_ruled_out)
    return np.where(listed, dense, rest)
