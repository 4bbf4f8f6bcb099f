"""Predictions of a fitted chain: its weights and their logs, and posteriors and paths of sequences
that are read under them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from sklearn_cvb.chain.parameters import rows
from sklearn_cvb.chain.paths.lattice import Cells, dense_posterior, entry_cells, lattice_with_end
from sklearn_cvb.chain.paths.transitions import contexts_to_draw, refuse_varying
from sklearn_cvb.chain.predictions import drawing
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.learning.learned import Learned, once_per_fit
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import check_counts, warn


class ChainExtras(NamedTuple):
    """A fitted chain beside its counts: ends, emissions of numbers, samples."""

    end: np.ndarray | None = None  # (n_components,) Count of the sequences that end in each state
    numeric: Any = None  # what states emit, where that are numbers
    samples: Any = None  # what only a sampler's chain tells
    is_weighted: bool = False  # whether sequences had weights


# Counts and weights


def running_counts(learned: Learned) -> rows.HMMCounts:
    """Flat counts with their ends, of the chain alone where observations are numbers."""
    counts, cells = learned.counts, learned.layout
    # A chain of numbers has no cells of emissions.
    emission = rows.flat_cells(counts.emission) if len(cells.state) else np.empty(0)
    steps = counts.transition.reshape(-1, counts.transition.shape[-1])
    counts = rows.HMMCounts(counts.start, steps, emission)
    return rows.with_end(counts, learned.extra.end) if cells.chain.has_end else counts


def chain_counts(learned: Learned) -> rows.HMMCounts:
    """The counts as weights are made from them: unknown words have those of words seen once."""
    return rows.with_rare(running_counts(learned), learned.unknown_word_counts, learned.layout)


def mean_weights(learned: Learned) -> ChainWeights:
    """Posterior-mean weights; of a sampler their averages over its samples."""
    if learned.extra.samples is not None:
        return learned.extra.samples.mean_weights
    return rows.posterior_mean(
        chain_counts(learned), learned.prior, learned.layout, learned.fallback
    )


@once_per_fit
def mean_and_log(learned: Learned) -> tuple[ChainWeights, ChainWeights]:
    """Posterior-mean weights and their logs."""
    weights = mean_weights(learned)
    return weights, rows.log_weights(weights)


@once_per_fit
def predicting_weights(learned: Learned) -> tuple[ChainWeights, ChainWeights]:
    """Weights of `predict` and `predict_proba`, and their logs."""
    if not learned.averages:
        return mean_and_log(learned)
    counts, prior, cells = chain_counts(learned), learned.prior, learned.layout
    return rows.weights_under(counts, prior, cells, None, averages=True)


def state_transitions(transition: np.ndarray, cells: Cells) -> np.ndarray:
    """Transitions between states that emit, (K, K); with contexts (n_contexts, K, K)."""
    n = cells.n_emitting
    if not cells.chain.has_contexts:
        return transition[:n, :n]
    return transition.reshape(cells.chain.n_tables, n, n)


def mean_transitions(learned: Learned) -> np.ndarray:
    """Mean transition probabilities between states that emit (see `state_transitions`)."""
    return state_transitions(mean_weights(learned).transition, learned.layout)


def emission_table(learned: Learned) -> np.ndarray:
    """Mean emission probabilities, (n_components, n_symbols)."""
    weights: Any = rows.word_major(learned.layout, mean_weights(learned).emission)
    if hasattr(weights, "toarray"):
        # The cells that a dictionary rules out share the rest of their row.
        dense = weights.toarray()
        listed = np.zeros(dense.shape, bool)
        listed[np.repeat(np.arange(len(dense)), np.diff(weights.indptr)), weights.indices] = True
        n_ruled_out = np.maximum(1, (~listed).sum(axis=0))
        ruled_out = np.clip(1.0 - dense.sum(axis=0), 0.0, None) / n_ruled_out
        weights = np.where(listed, dense, ruled_out)
    return np.ascontiguousarray(weights.T)


def log_posterior_of_paths(read: "WeightedSequences") -> float:
    """Log probability of the most probable path of every sequence, given what was observed."""
    best, log_z = read.best_path()[1], read.entries()[1]
    # What no path explains has no states to be sure of.
    return float((best - log_z)[~np.isneginf(log_z)].sum())


# Sequences under weights


@dataclass(frozen=True)
class WeightedSequences:
    """Sequences, and the weights that they are read under."""

    corpus: Corpus
    lattice: Lattice  # allowed states of each token
    weights: ChainWeights
    logs: ChainWeights
    cells: Cells

    def _with_ends(self) -> tuple[Lattice, np.ndarray, np.ndarray | slice]:
        """Lattice and starts of sequences with their ends; which tokens are not ends."""
        starts = self.corpus.starts
        if not self.cells.chain.has_end:
            return self.lattice, starts, slice(None)
        lattice, starts, is_end = lattice_with_end(self.lattice, starts, self.cells)
        return lattice, starts, ~is_end

    def entries(
        self, kernel: Callable[..., Any] = decoding.smoothed
    ) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of every (token, state) entry, and log Z of every sequence."""
        lattice, starts, inside = self._with_ends()
        posterior, log_z = smoothed_entries(self.weights, self.logs, lattice, starts, kernel)
        if isinstance(inside, np.ndarray):
            posterior = posterior[np.repeat(inside, lattice.count)]
        return posterior, log_z

    def table_numbers(self) -> np.ndarray:
        """Which table of transitions leads to each token."""
        return np.zeros(len(self.corpus.tokens), np.intp)

    def log_offset(self) -> np.ndarray:
        """What is to be added to log weights of each sequence, also of its best path."""
        return np.zeros(self.corpus.n_sequences)

    def log_z(self) -> np.ndarray:
        """Log-likelihood of each sequence, with its end where there is one."""
        lattice, starts, _ = self._with_ends()
        log_z = np.empty(len(starts) - 1)
        decoding.log_likelihood(self.weights, self.logs, lattice, starts, log_z)
        return log_z

    def best_path(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the most probable paths; -inf for each sequence that has none."""
        lattice, starts, inside = self._with_ends()
        path = np.empty(len(lattice.count), np.int32)
        log_p = np.empty(len(starts) - 1)
        decoding.viterbi(self.logs, lattice, starts, path, log_p)
        return path[inside], log_p

    def draw_path(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States of paths drawn from the posterior; -inf for each sequence that has none."""
        lattice, starts, inside = self._with_ends()
        log_z = np.empty(len(starts) - 1)
        path = np.empty(len(lattice.count), np.int32)
        decoding.sample_paths(self.weights, self.logs, lattice, starts, rng, path, log_z)
        return path[inside], log_z

    def log_emissions(self) -> np.ndarray:
        """Log weights (n_tokens, K) of tokens under all states; 0 where they are unobserved."""
        cell = entry_cells(self.lattice)
        logs = self.table(np.where(cell >= 0, self.logs.emission[cell], 0.0))
        logs[self.table(np.ones(len(cell))) == 0.0] = -np.inf
        return logs

    def table(self, posterior: np.ndarray) -> np.ndarray:
        """Posteriors over all states, token by token."""
        return dense_posterior(self.lattice, posterior, self.cells.n_emitting)


def smoothed_entries(
    weights: ChainWeights,
    logs: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    kernel: Callable[..., Any] = decoding.smoothed,
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of every (token, state) entry, and log Z of every sequence."""
    posterior, log_z = np.empty(int(lattice.count.sum())), np.empty(len(starts) - 1)
    kernel(weights, logs, lattice, starts, posterior, log_z)
    return posterior, log_z


def warn_of_unexplained(log_p: np.ndarray) -> None:
    """Warn of sequences that no path explains."""
    unexplained = (log_p == -np.inf).nonzero()[0]
    if len(unexplained):
        which = f"{unexplained[:5].tolist()} ({len(unexplained)} in all)"
        told_by = "each token gets its most probable state by emission"
        warn([f"no path explains sequences {which}: {told_by}"])


def decode(read: WeightedSequences, decoding: str) -> tuple[np.ndarray, np.ndarray]:
    """The states of all tokens, and log p of each sequence."""
    if decoding == "viterbi":
        return read.best_path()
    posterior, log_p = read.entries()
    path = np.empty(len(read.corpus.tokens), np.int32)
    best_states(read.lattice, posterior, 0, len(path), path)
    return path, log_p


def posterior_table(
    read: WeightedSequences, kernel: Callable[..., Any] = decoding.smoothed
) -> np.ndarray:
    """Posteriors over all states, token by token; warns of what no path explains."""
    posterior, log_z = read.entries(kernel)
    warn_of_unexplained(log_z)
    return read.table(posterior)


def mean_likelihoods(log_z: list[np.ndarray]) -> np.ndarray:
    """Log of the mean over samples (paper eq. 28)."""
    return log_z[0] if len(log_z) == 1 else logsumexp(log_z, axis=0) - math.log(len(log_z))


def draw_states(
    learned: Learned,
    n_samples: int,
    length: int | ArrayLike | None,
    contexts: Any,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """States of sampled sequences, flat, their lengths, and contexts, which then tell lengths."""
    n, weights = learned.layout.n_emitting, mean_weights(learned)
    refuse_varying("inputs" * learned.layout.chain.has_inputs, "sample")
    if contexts is not None or learned.layout.chain.has_contexts:
        known = contexts_to_draw(contexts, learned.layout)
        lengths, rows = np.array(list(map(len, known))), np.concatenate(known)
        tables = weights.start, weights.transition, lengths
        return drawing.paths_of_lengths(*tables, rng, rows), lengths, rows
    if learned.layout.chain.longest and length is not None:
        numeric, lengths = learned.extra.numeric, drawing.lengths_to_draw(n_samples, length)
        durations = numeric.family.durations(numeric.point)
        return drawing.paths_of_visits(*weights[:2], durations, lengths, rng), lengths, None
    start, transition, has_end = weights.start[:n], weights.transition, learned.layout.chain.has_end
    steps, end = transition[:n, :n], transition[:-1, -1]
    if length is None:
        if not has_end:
            raise ValueError(
                "length=None draws sequences until they end, which needs a fit with "
                "transitions=Transitions(end_state=True): give a length"
            )
        check_counts(n_samples=n_samples)
        return *drawing.paths_to_their_end(start, steps, end, n_samples, rng), None
    lengths = drawing.lengths_to_draw(n_samples, length)
    if has_end:
        return drawing.paths_ending_at(start, steps, end, lengths, rng), lengths, None
    return drawing.paths_of_lengths(start, steps, lengths, rng), lengths, None
