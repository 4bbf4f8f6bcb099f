"""Reading a fitted hidden Markov model: states, posteriors, likelihoods, samples."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.annotations import Seed
from sklearn_cvb.containers import is_store
from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm.drawing import (
    lengths_to_draw,
    paths_ending_at,
    paths_of_lengths,
    paths_to_their_end,
)
from sklearn_cvb.hmm.ending import lattice_with_end
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    flat_cells,
    log_weights,
    posterior_mean,
    rare_counts,
    with_end,
    word_major,
)
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, dense_posterior, lattice_for, n_entries
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
        """
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
        """Probability of each symbol to come next after each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_symbols)
            In the order of `vocabulary_`; the unknown item, where there is one, is last. With
            `end_state` a row sums to 1 minus the probability that its sequence has ended.
        """
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
            observation.
        Z : ndarray
            States (taggers: tags), same shape.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        states, lengths = self._drawn_states(n_samples, length, rng)
        symbols = self._emitted(states, rng)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        width = int(lengths[0]) if length is not None and np.ndim(length) == 0 else None
        drawn = reading.Corpus(symbols, starts, width, [])
        X = reading.arrange(drawn, _words(symbols, self.vocabulary_), None)
        return X, self._arranged_states(drawn, states)

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
        corpus, lattice, weights, logs = self._read(X)
        log_z = np.empty(corpus.n_sequences)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        lattice, starts, inside = self._with_ends(lattice, corpus.starts)
        path = np.empty(len(lattice.count), np.int32)
        decoding.sample_paths(weights, logs, lattice, starts, rng, path, log_z)
        warn_unexplained(log_z)
        return self._arranged_states(corpus, path[inside])

    # Reading X

    def _lattice_of(self, corpus: Corpus) -> Lattice:
        """Allowed states of a new corpus."""
        return lattice_for(corpus, self._cells)

    def _read(self, X: Any, means: bool = False) -> tuple[Corpus, Lattice, Weights, Weights]:
        """Corpus, lattice, weights and log weights; unknown words nobody emits are unobserved."""
        corpus = self._encoded(X)
        weights, logs = self._mean_and_log() if means else self._predicting_weights()
        lattice, weights, logs = self._with_unknown(corpus, weights, logs)
        return corpus, _without_impossible(lattice, corpus, self._cells, weights), weights, logs

    def _with_unknown(
        self, corpus: Corpus, weights: Weights, logs: Weights
    ) -> tuple[Lattice, Weights, Weights]:
        """Weights with what else is known of unknown words, and the lattice that reads them."""
        return self._lattice_of(corpus), weights, logs

    # Weights

    def _complete_counts(self) -> HMMCounts:
        """Flat counts; the unknown item gets the mean count of words seen once."""
        check_is_fitted(self)
        emission = flat_cells(self.counts_.emission)
        if self._rare is not None:
            emission = emission.copy()
            emission[self._cells.unknown] += self._rare
        counts = HMMCounts(self.counts_.start, self.counts_.transition, emission)
        return with_end(counts, self.end_counts_) if self._cells.has_end else counts

    def _rare_counts(self, counts: HMMCounts, problem: Problem) -> np.ndarray | None:
        """Mean expected count, by state, of the words seen once; None where nothing is to add."""
        if self.handle_unknown not in ("rare", "form") or problem.corpus.unknown:
            return None
        return rare_counts(
            counts.emission, problem.cells, problem.corpus.uses(problem.cells.n_words)
        )

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
        corpus, lattice, weights, logs = self._read(X)
        if decoding == "viterbi":
            return corpus, *self._best_path(corpus, lattice, logs)
        posterior, log_p = self._entries(corpus, lattice, weights, logs)
        return corpus, self._most_probable(corpus, lattice, posterior), log_p

    def _entries(
        self,
        corpus: Corpus,
        lattice: Lattice,
        weights: Weights,
        logs: Weights,
        kernel: Callable = decoding.smoothed,
    ) -> tuple[np.ndarray, np.ndarray]:
        lattice, starts, inside = self._with_ends(lattice, corpus.starts)
        posterior, log_z = smoothed_entries(weights, logs, lattice, starts, kernel)
        if isinstance(inside, np.ndarray):
            posterior = posterior[np.repeat(inside, lattice.count)]
        return posterior, log_z

    def _best_path(
        self, corpus: Corpus, lattice: Lattice, logs: Weights
    ) -> tuple[np.ndarray, np.ndarray]:
        lattice, starts, inside = self._with_ends(lattice, corpus.starts)
        path = np.empty(len(lattice.count), np.int32)
        log_p = np.empty(corpus.n_sequences)
        decoding.viterbi(logs, lattice, starts, path, log_p)
        return path[inside], log_p

    def _most_probable(self, corpus: Corpus, lattice: Lattice, posterior: np.ndarray) -> np.ndarray:
        path = np.empty(len(corpus.tokens), np.int32)
        decoding.best_states(lattice, posterior, 0, len(path), path)
        return path

    def _log_likelihoods(self, X: Any) -> tuple[np.ndarray, int]:
        if is_store(X):
            from sklearn_cvb.hmm.stored.prediction import log_likelihoods_of_store

            return log_likelihoods_of_store(self, X)
        corpus = self._encoded(X)
        weights, logs = self._mean_and_log()
        return self._log_z(weights, logs, corpus, self._lattice_of(corpus)), corpus.n_observed

    def _log_z(
        self, weights: Weights, logs: Weights, corpus: Corpus, lattice: Lattice
    ) -> np.ndarray:
        """Log-likelihood of each sequence under given weights, with its end where there is one."""
        lattice, starts, _ = self._with_ends(lattice, corpus.starts)
        log_z = np.empty(corpus.n_sequences)
        decoding.log_likelihood(weights, logs, lattice, starts, log_z)
        return log_z

    def _with_ends(
        self, lattice: Lattice, starts: np.ndarray
    ) -> tuple[Lattice, np.ndarray, np.ndarray | slice]:
        """Lattice and starts of sequences with their ends; which tokens are not ends."""
        if not self._cells.has_end:
            return lattice, starts, slice(None)
        lattice, starts, is_end = lattice_with_end(lattice, starts, self._cells)
        return lattice, starts, ~is_end

    def _posterior_table(
        self, X: Any, kernel: Callable = decoding.smoothed, means: bool = False
    ) -> tuple[Corpus, np.ndarray]:
        """Posteriors over all states, token by token; warns of what no path explains."""
        corpus, lattice, weights, logs = self._read(X, means)
        posterior, log_z = self._entries(corpus, lattice, weights, logs, kernel)
        warn_unexplained(log_z, stacklevel=4)
        return corpus, dense_posterior(lattice, posterior, self._cells.n_emitting)

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

    def _emitted(self, states: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """A symbol of each state; -1 where no known symbol is emitted."""
        emission = np.cumsum(self.emissionprob_[:, : len(self.vocabulary_)], axis=1)
        symbols = np.full(len(states), -1, np.int32)
        for state in np.intersect1d(states, np.flatnonzero(emission.sum(axis=1))):
            here, row = states == state, emission[state]
            levels = rng.random_sample(np.count_nonzero(here)) * row[-1]
            # A product with a tiny total may round up to it.
            last = np.searchsorted(row, row[-1])
            symbols[here] = np.minimum(np.searchsorted(row, levels, side="right"), last)
        return symbols


def smoothed_entries(
    weights: Weights,
    logs: Weights,
    lattice: Lattice,
    starts: np.ndarray,
    kernel: Callable = decoding.smoothed,
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of every (token, state) entry, and log Z of every sequence."""
    posterior, log_z = np.empty(n_entries(lattice)), np.empty(len(starts) - 1)
    kernel(weights, logs, lattice, starts, posterior, log_z)
    return posterior, log_z


def _words(symbols: np.ndarray, vocabulary: np.ndarray) -> np.ndarray:
    """The words of symbols; None where there is none (-1)."""
    known = symbols >= 0
    if known.all():
        return vocabulary[symbols]
    words = np.full(len(symbols), None, dtype=object)
    words[known] = vocabulary[symbols[known]]
    return words


def _with_ruled_out(weights: csr_array) -> np.ndarray:
    """Dense emissions in which the cells a dictionary rules out share the rest of their row."""
    dense = weights.toarray()
    listed = np.zeros(dense.shape, bool)
    listed[np.repeat(np.arange(len(dense)), np.diff(weights.indptr)), weights.indices] = True
    n_ruled_out = (~listed).sum(axis=0)
    rest = np.clip(1.0 - dense.sum(axis=0), 0.0, None) / np.maximum(1, n_ruled_out)
    return np.where(listed, dense, rest)


def _without_impossible(
    lattice: Lattice, corpus: Corpus, cells: Cells, weights: Weights
) -> Lattice:
    """Make unknown tokens unobserved where none of their states gives the unknown item weight."""
    unknown = weights.emission[cells.unknown]
    if not corpus.unknown or unknown.all():
        return lattice
    cell = lattice.cell.copy()
    tokens = np.flatnonzero(corpus.tokens >= cells.n_words)
    firsts, places = np.unique(lattice.first[tokens], return_index=True)
    for first, count in zip(firsts.tolist(), lattice.count[tokens[places]].tolist(), strict=True):
        slots = slice(first, first + count)
        if not weights.emission[cell[slots]].any():
            cell[slots] = -1
    return lattice._replace(cell=cell)


def warn_unexplained(log_p: np.ndarray, stacklevel: int = 3) -> None:
    """Warn of sequences that no path explains."""
    unexplained = np.flatnonzero(np.isneginf(log_p))
    if len(unexplained):
        warnings.warn(
            f"no path explains sequences {unexplained[:5].tolist()} ({len(unexplained)} in all): "
            "each token gets its most probable state by emission",
            UserWarning,
            stacklevel=stacklevel,
        )
