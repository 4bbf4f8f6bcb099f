"""Steps of numbers along the most probable paths: the E-step of Viterbi training."""

import numpy as np

from sklearn_cvb.chain.numbers import visits
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    ContextStretches,
    StepScores,
    best_path,
    each_table,
    log_tables,
    logs_with_ends,
    off_diagonal,
    visit_inputs,
)
from sklearn_cvb.chain.numbers.visits import StepPosteriors
from sklearn_cvb.emissions.semi_markov import SemiMarkovScores


def best_path_posteriors(
    chain: ChainTables,
    scores: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches,
    times: np.ndarray,
) -> StepPosteriors:
    """`e_step.infer` with all weight on the best path of each sequence, whose log p is log Z."""
    lasting, n_states = None, scores.shape[1]
    if isinstance(scores.scores, SemiMarkovScores):
        tables, logs = visit_inputs(chain, scores)
        path, log_p = visits.best_path(tables, logs, starts)
        law = tables.log_durations[0]
        lasting = visits.count_visits(path, starts, law, times=times)[None]
    else:
        logs = logs_with_ends(chain, scores, starts, stretches)
        path, log_p = best_path(log_tables(chain), logs, starts, stretches)
    kept = np.repeat(np.isfinite(log_p), np.diff(starts))
    posterior = np.zeros(scores.shape)
    weight = np.repeat(times, np.diff(starts))
    posterior[np.flatnonzero(kept), path[kept]] = weight[kept]
    inside = kept.copy()
    inside[starts[:-1]] = False
    to = np.flatnonzero(inside)
    cells = (each_table(stretches)[to] * n_states + path[to - 1]) * n_states + path[to]
    pairs = np.bincount(cells, weight[to], chain.transition.size)
    pairs = pairs.reshape(chain.transition.shape)
    return StepPosteriors(
        posterior, pairs if lasting is None else off_diagonal(pairs), log_p, lasting
    )
