"""The uncollapsed sampler: parameters from their Dirichlets, then all states given parameters.

Gao and Johnson (2008), "A comparison of Bayesian estimators for unsupervised hidden Markov model
POS taggers", EMNLP. At temperature tau both draws are those of the joint density of states and
parameters, taken over log parameters, to the power 1 / tau: the Dirichlets have parameters
(C + u) / tau, and the weights of the states are raised to 1 / tau.
"""

import numpy as np

from sklearn_cvb.hmm.parameters import empty_counts
from sklearn_cvb.hmm.run_sampling import draw_run, n_ambiguous, run_work, span_of
from sklearn_cvb.hmm.sampling import count_slots
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.chain.runs import Factors
from sklearn_cvb.kernels.jit import jit

# A row whose Gamma draws sum to less has lost digits, and is drawn anew in log space.
_SMALLEST_TOTAL = 1e-250

# A rest of prior mass below this share of its row is rounding.
_ROUNDING = 1e-12


def draw_weights(counts, prior, cells, temperature, rng):
    """Draw start, transition and emission probabilities given the states of all tokens.

    Parameters
    ----------
    counts : HMMCounts
        Actual counts, flat emission cells.
    prior : Prior
    cells : Cells
    temperature : float
    rng : numpy.random.Generator

    Returns
    -------
    Weights
        Draws to the power 1 / `temperature`. The cells that a dictionary rules out have their
        share of each row, which is drawn too.
    """
    n = cells.n_states
    rows = np.repeat(np.arange(n), n)
    rest = prior.emission_total - cells.row_totals(prior.emission)
    rest[rest < _ROUNDING * prior.emission_total] = 0.0
    start = _draw_rows(
        counts.start + prior.start, np.zeros(n, np.intp), np.zeros(1), temperature, rng
    )
    transition = _draw_rows(
        (counts.transition + prior.transition).ravel(), rows, np.zeros(n), temperature, rng
    )
    emission = _draw_rows(counts.emission + prior.emission, cells.state, rest, temperature, rng)
    return Weights(start, transition.reshape(n, n), emission)


def _draw_rows(parameters, rows, rest, temperature, rng):
    """Dirichlet draws to the power 1 / `temperature`.

    `rows` names the row of each cell; `rest` holds the summed parameters of each row's other cells.
    """
    if temperature == 1.0:
        draws = rng.standard_gamma(parameters)
        totals = np.bincount(rows, draws, len(rest)) + rng.standard_gamma(rest)
        # A draw's direction does not depend on its sum: none is preferred by drawing anew.
        if totals.min() > _SMALLEST_TOTAL:
            return draws / totals[rows]
    logs = _log_gamma_draws(parameters / temperature, rng)
    rest_logs = _log_gamma_draws(rest / temperature, rng)
    largest = rest_logs.copy()
    np.maximum.at(largest, rows, logs)
    totals = np.bincount(rows, np.exp(logs - largest[rows]), len(rest))
    log_totals = largest + np.log(totals + np.exp(rest_logs - largest))
    return np.exp((logs - log_totals[rows]) / temperature)


def _log_gamma_draws(shapes, rng):
    """Logs of Gamma draws, also of those below float64; -inf where the shape is 0."""
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(
            shapes.shape
        ) / np.maximum(shapes, 0.0)


@jit
def draw_runs(factors, lattice, starts, runs, levels, slots, drawn, work):
    """Draw the states of all runs given weights into `drawn`; a run without a path keeps `slots`.

    `levels` holds a uniform number for each ambiguous token.
    """
    at = 0
    for i in range(starts.size - 1):
        bounds = starts[i], starts[i + 1]
        for run in range(runs.sequence[i], runs.sequence[i + 1]):
            span = span_of(runs, run)
            if not draw_run(factors, lattice, span, bounds, levels, at, drawn, work):
                for t in range(span[0], span[1]):
                    drawn[t] = slots[t]
            at += span[1] - span[0]


def sweep_parameters(problem, counts, prior, slots, temperature, rng):
    """Draw parameters given the states, then all states given the parameters.

    Parameters
    ----------
    problem : Problem
    counts : HMMCounts
        Counts of the path before the sweep.
    prior : Prior
    slots : ndarray of shape (n_tokens,), int32
        The path before the sweep.
    temperature : float
    rng : numpy.random.Generator

    Returns
    -------
    slots : ndarray of shape (n_tokens,), int32
        The drawn path.
    counts : HMMCounts
        Its counts.
    """
    cells, lattice, runs = problem.cells, problem.lattice, problem.runs
    starts = problem.corpus.starts
    weights = draw_weights(counts, prior, cells, temperature, rng)
    ones = np.ones(cells.n_states)
    factors = Factors(*weights, ones, ones)
    levels = rng.random(n_ambiguous(runs))
    drawn = slots.copy()
    draw_runs(factors, lattice, starts, runs, levels, slots, drawn, run_work(problem))
    counts = empty_counts(cells)
    count_slots(lattice, starts, drawn, counts)
    return drawn, counts
