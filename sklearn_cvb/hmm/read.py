"""Sequences as a fitted model reads them: which states they allow, and under which weights."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm.ending import lattice_with_end
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, dense_posterior, n_entries


@dataclass(frozen=True)
class Read:
    """Sequences, and the weights that they are read under.

    Attributes
    ----------
    corpus : Corpus
    lattice : Lattice
        Allowed states of each token.
    weights, logs : Weights
    cells : Cells
    """

    corpus: Corpus
    lattice: Lattice
    weights: Weights
    logs: Weights
    cells: Cells

    def _with_ends(self) -> tuple[Lattice, np.ndarray, np.ndarray | slice]:
        """Lattice and starts of sequences with their ends; which tokens are not ends."""
        starts = self.corpus.starts
        if not self.cells.has_end:
            return self.lattice, starts, slice(None)
        lattice, starts, is_end = lattice_with_end(self.lattice, starts, self.cells)
        return lattice, starts, ~is_end

    def entries(self, kernel: Callable = decoding.smoothed) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of every (token, state) entry, and log Z of every sequence."""
        lattice, starts, inside = self._with_ends()
        posterior, log_z = smoothed_entries(self.weights, self.logs, lattice, starts, kernel)
        if isinstance(inside, np.ndarray):
            posterior = posterior[np.repeat(inside, lattice.count)]
        return posterior, log_z

    def log_z(self) -> np.ndarray:
        """Log-likelihood of each sequence, with its end where there is one."""
        lattice, starts, _ = self._with_ends()
        log_z = np.empty(self.corpus.n_sequences)
        decoding.log_likelihood(self.weights, self.logs, lattice, starts, log_z)
        return log_z

    def best_path(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the most probable paths; -inf for each sequence that has none."""
        lattice, starts, inside = self._with_ends()
        path = np.empty(len(lattice.count), np.int32)
        log_p = np.empty(self.corpus.n_sequences)
        decoding.viterbi(self.logs, lattice, starts, path, log_p)
        return path[inside], log_p

    def drawn_path(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States of paths drawn from the posterior; -inf for each sequence that has none."""
        log_z = np.empty(self.corpus.n_sequences)
        lattice, starts, inside = self._with_ends()
        path = np.empty(len(lattice.count), np.int32)
        decoding.sample_paths(self.weights, self.logs, lattice, starts, rng, path, log_z)
        return path[inside], log_z

    def most_probable(self, posterior: np.ndarray) -> np.ndarray:
        """The most probable state of each token, from the posterior of the entries."""
        path = np.empty(len(self.corpus.tokens), np.int32)
        decoding.best_states(self.lattice, posterior, 0, len(path), path)
        return path

    def table(self, posterior: np.ndarray) -> np.ndarray:
        """Posteriors over all states, token by token."""
        return dense_posterior(self.lattice, posterior, self.cells.n_emitting)


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
