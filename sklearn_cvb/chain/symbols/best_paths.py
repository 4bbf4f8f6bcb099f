"""The most probable paths of all sequences of symbols, and their counts: Viterbi training's E-step,
and the states that fits leave.
"""

import numpy as np

from sklearn_cvb.chain.parameters.rows import empty_counts, log_weights
from sklearn_cvb.chain.paths.lattice import Problem
from sklearn_cvb.chain.symbols.sampling import count_states, slots_of
from sklearn_cvb.kernels.chain.decoding import viterbi
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.learning.threads import even_pieces, on_threads

# Sequences are decoded together up to this many tokens.
_SHORTEST_PIECE = 5000


def best_paths(
    logs: ChainWeights, problem: Problem, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """States of all tokens under log weights, and log p(x, path) of each sequence (-inf: none)."""
    starts = problem.corpus.starts
    path, log_p = np.empty(len(problem.corpus.tokens), np.int32), np.empty(len(starts) - 1)

    def decode(begin: int, end: int) -> None:
        viterbi(logs, problem.lattice, starts[begin : end + 1], path, log_p[begin:end])

    on_threads(decode, even_pieces(starts, _SHORTEST_PIECE), n_jobs)
    return path, log_p


def counts_of_best_paths(
    weights: ChainWeights, problem: Problem, n_jobs: int | None
) -> InferenceResult:
    """Counts of the most probable paths, and the sum of their log weights."""
    path, log_p = best_paths(log_weights(weights), problem, n_jobs)
    lengths, times = np.diff(problem.corpus.starts), problem.corpus.times_of_sequences
    cell = problem.lattice.cell[slots_of(problem.lattice, path)]
    counts, is_explained = empty_counts(problem.cells), np.isfinite(log_p)
    for weight in np.unique(times[is_explained]):
        chosen = is_explained & (times == weight)
        kept, starts = np.repeat(chosen, lengths), np.append(0, np.cumsum(lengths[chosen]))
        own = count_states(path[kept].astype(np.intp), cell[kept], starts, problem.cells)
        for table, more in zip(counts, own, strict=True):
            table += weight * more
    return InferenceResult.from_log_z(counts, log_p, times=times)
