"""Steps of numbers along the most probable paths: the E-step of Viterbi training."""

import numpy as np

from sklearn_cvb.chain.numbers import visits
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    ContextStretches,
    StepScores,
    each_table,
    expand_contexts,
    lattice_of_steps,
    logs_with_ends,
    off_diagonal,
    visit_inputs,
)
from sklearn_cvb.chain.numbers.visits import StepPosteriors
from sklearn_cvb.emissions.semi_markov import SemiMarkovScores
from sklearn_cvb.kernels.chain.decoding import viterbi
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights


def best_path_posteriors(
    chain: ChainTables, scores: StepScores, starts: np.ndarray, stretches: ContextStretches
) -> StepPosteriors:
    """`e_step.infer` with all weight on the best path of each sequence, whose log p is log Z."""
    lasting, n_states = None, scores.shape[1]
    if isinstance(scores.scores, SemiMarkovScores):
        tables, logs = visit_inputs(chain, scores)
        path, log_p = visits.best_path(tables, logs, starts)
        lasting = visits.count_visits(path, starts, tables.log_durations[0])[None]
    else:
        path, log_p = _best_path(chain, scores, starts, stretches)
    kept = np.repeat(np.isfinite(log_p), np.diff(starts))
    posterior = np.zeros(scores.shape)
    posterior[np.flatnonzero(kept), path[kept]] = 1.0
    inside = kept.copy()
    inside[starts[:-1]] = False
    to = np.flatnonzero(inside)
    cells = (each_table(stretches)[to] * n_states + path[to - 1]) * n_states + path[to]
    pairs = np.bincount(cells, minlength=chain.transition.size).astype(float)
    pairs = pairs.reshape(chain.transition.shape)
    return StepPosteriors(
        posterior, pairs if lasting is None else off_diagonal(pairs), log_p, lasting
    )


def _best_path(
    chain: ChainTables, scores: StepScores, starts: np.ndarray, stretches: ContextStretches
) -> tuple[np.ndarray, np.ndarray]:
    """States of the best paths, and their log weights, -inf where there is none."""
    logs, n_states = logs_with_ends(chain, scores, starts, stretches), scores.shape[1]
    with np.errstate(divide="ignore"):
        start, moves = np.log(chain.start[0]), np.log(chain.transition).reshape(-1, n_states)
    contexts = each_table(stretches) if len(chain.transition) > 1 else None
    tables = ChainWeights(start, moves, logs.ravel())
    lattice, tables = expand_contexts(lattice_of_steps(*scores.shape), tables, contexts)
    path, log_p = np.empty(len(logs), np.int32), np.empty(len(starts) - 1)
    viterbi(tables, lattice, starts, path, log_p)
    return path % n_states, log_p
