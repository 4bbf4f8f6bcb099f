"""The learning algorithms once more, slowly: all counts are rebuilt from q before every step.

A problem has `sequences` (None = missing), `n_states`, `n_symbols`, `allowed` (legal states per
token, None = all), prior cells `alpha` (K + 1, K), start row last, and `beta` (K, W). Equation and
figure numbers are those of Wang and Blunsom 2013.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy


class Counts(NamedTuple):
    """Expected counts: transition (K + 1, K) with the start row last, emission (K, W)."""

    transition: np.ndarray
    emission: np.ndarray


class Result(NamedTuple):
    """What a run of sweeps leaves: q per sequence (T, K), xi per sequence (T - 1, K, K)."""

    q: list
    xi: list
    counts: Counts
    history: list


def legal_states(problem, i, t):
    """The legal states of token t of sequence i."""
    return range(problem.n_states) if problem.allowed is None else problem.allowed[i][t]


def pair_products(q, mask=None):
    """Pair marginals of independent tokens: the products of neighbouring marginals.

    0 for steps that a topology's `mask` (K + 1, K) does not allow.
    """
    products = np.array([np.outer(q[t], q[t + 1]) for t in range(len(q) - 1)]).reshape(
        -1, q.shape[1], q.shape[1]
    )
    return products if mask is None else products * mask[:-1]


def expected_counts(problem, q, xi, without=None):
    """Counts of the whole corpus, or of all sequences but one."""
    n_states = problem.n_states
    transition = np.zeros((n_states + 1, n_states))
    emission = np.zeros((n_states, problem.n_symbols))
    for i, sequence in enumerate(problem.sequences):
        if i == without:
            continue
        transition[n_states] += q[i][0]
        for t, symbol in enumerate(sequence):
            if t + 1 < len(sequence):
                transition[:n_states] += xi[i][t]
            if symbol is not None:
                emission[:, symbol] += q[i][t]
    return Counts(transition, emission)


def posterior_mean_weights(problem, counts):
    """(C + prior) / (row + sum of priors) for every row, both tables."""
    transition = counts.transition + problem.alpha
    emission = counts.emission + problem.beta
    return (
        transition / transition.sum(axis=1, keepdims=True),
        emission / emission.sum(axis=1, keepdims=True),
    )


def exp_digamma_weights(problem, counts):
    """exp(digamma(cell)) / exp(digamma(row total)) of the posterior Dirichlet parameters.

    As one exponential: both parts underflow for a row without counts under a tiny prior.
    """
    tables = []
    for table in (counts.transition + problem.alpha, counts.emission + problem.beta):
        weights = np.zeros_like(table)
        for k, row in enumerate(table):
            for j, cell in enumerate(row):
                weights[k, j] = np.exp(digamma(cell) - digamma(row.sum()))
        tables.append(weights)
    return tuple(tables)


def emission_factor(problem, emission, i, t):
    """What token t of sequence i contributes by state: 0 where illegal, 1 where missing."""
    symbol = problem.sequences[i][t]
    factor = np.zeros(problem.n_states)
    for k in legal_states(problem, i, t):
        factor[k] = 1.0 if symbol is None else emission[k, symbol]
    return factor


def forward_table(factors, transition):
    """alpha_t(k): weight of all prefixes that end in state k, unscaled."""
    n_states = transition.shape[1]
    forward = np.zeros((len(factors), n_states))
    for t, factor in enumerate(factors):
        for k in range(n_states):
            arriving = transition[-1, k]
            if t > 0:
                arriving = sum(forward[t - 1, j] * transition[j, k] for j in range(n_states))
            forward[t, k] = arriving * factor[k]
    return forward


def backward_table(factors, transition):
    """beta_t(k): weight of all suffixes that follow state k at t, unscaled."""
    n_states = transition.shape[1]
    backward = np.ones((len(factors), n_states))
    for t in range(len(factors) - 2, -1, -1):
        for k in range(n_states):
            backward[t, k] = sum(
                transition[k, j] * factors[t + 1][j] * backward[t + 1, j] for j in range(n_states)
            )
    return backward


def forward_backward(problem, weights, i):
    """log Z, q (T, K) and xi (T - 1, K, K) of sequence i under given weights."""
    transition, emission = weights
    factors = [emission_factor(problem, emission, i, t) for t in range(len(problem.sequences[i]))]
    forward, backward = forward_table(factors, transition), backward_table(factors, transition)
    total = forward[-1].sum()
    xi = np.zeros((len(factors) - 1, problem.n_states, problem.n_states))
    for t in range(len(factors) - 1):
        for k in range(problem.n_states):
            for j in range(problem.n_states):
                following = factors[t + 1][j] * backward[t + 1, j]
                xi[t, k, j] = forward[t, k] * transition[k, j] * following / total
    return np.log(total), forward * backward / total, xi


def expectation_step(problem, weights):
    """Forward-backward over the corpus: the summed log Z, all q, all xi."""
    log_likelihood, q, xi = 0.0, [], []
    for i in range(len(problem.sequences)):
        log_total, marginals, pairs = forward_backward(problem, weights, i)
        log_likelihood += log_total
        q.append(marginals)
        xi.append(pairs)
    return log_likelihood, q, xi


def normalised_or_old(table, old):
    """Rows divided by their sums; a row of zeros keeps its old value."""
    rows = [row / row.sum() if row.sum() > 0 else old[k] for k, row in enumerate(table)]
    return np.array(rows)


def em_sweeps(problem, q, n_sweeps):
    """EM (eqs. 9 and 10) with pseudo-counts; the objective adds u log theta over all cells."""
    allowed = np.ones_like(problem.alpha) if problem.mask is None else problem.mask.astype(float)
    transition = allowed / allowed.sum(axis=1, keepdims=True)
    emission = np.full_like(problem.beta, 1.0 / problem.n_symbols)
    xi, history = [pair_products(marginals, problem.mask) for marginals in q], []
    for _ in range(n_sweeps):
        counts = expected_counts(problem, q, xi)
        transition = normalised_or_old(counts.transition + problem.alpha, transition)
        emission = normalised_or_old(counts.emission + problem.beta, emission)
        log_likelihood, q, xi = expectation_step(problem, (transition, emission))
        penalty = xlogy(problem.alpha, transition).sum() + xlogy(problem.beta, emission).sum()
        history.append(log_likelihood + penalty)
    return Result(q, xi, expected_counts(problem, q, xi), history)


def dirichlet_divergence(posterior, prior):
    """KL(Dir(posterior) || Dir(prior)) of one row."""
    value = gammaln(posterior.sum()) - gammaln(prior.sum())
    for cell, prior_cell in zip(posterior, prior, strict=True):
        if prior_cell == 0:
            continue  # ruled out by a topology
        value += gammaln(prior_cell) - gammaln(cell)
        value += (cell - prior_cell) * (digamma(cell) - digamma(posterior.sum()))
    return value


def total_divergence(problem, counts):
    """The divergences of all rows: transitions, start and emissions with all W cells."""
    total = 0.0
    for table, prior in ((counts.transition, problem.alpha), (counts.emission, problem.beta)):
        total += sum(
            dirichlet_divergence(row + cells, cells)
            for row, cells in zip(table, prior, strict=True)
        )
    return total


def vb_sweeps(problem, q, n_sweeps):
    """VB with exp-digamma weights; history holds the bound right after each E-step."""
    xi, history = [pair_products(marginals, problem.mask) for marginals in q], []
    for _ in range(n_sweeps):
        counts = expected_counts(problem, q, xi)
        log_normaliser, q, xi = expectation_step(problem, exp_digamma_weights(problem, counts))
        history.append(log_normaliser - total_divergence(problem, counts))
    return Result(q, xi, expected_counts(problem, q, xi), history)


def sequence_weights(problem, counts, mistake=None):
    """A and B of eq. 25; `mistake="swap"` exchanges the two denominators of each state."""
    n_states = problem.n_states
    out = counts.transition.sum(axis=1)
    emit = counts.emission.sum(axis=1)
    if mistake == "swap":
        out[:n_states], emit = emit, out[:n_states].copy()
    transition = (counts.transition + problem.alpha) / (out + problem.alpha.sum(axis=1))[:, None]
    emission = (counts.emission + problem.beta) / (emit + problem.beta.sum(axis=1))[:, None]
    return transition, emission


def cvb_sequence_sweeps(problem, q, n_sweeps, mistake=None):
    """Algorithm 2. Mistakes to plant: "swap", "no_subtraction"."""
    xi = [pair_products(marginals, problem.mask) for marginals in q]
    q, history = list(q), []
    for _ in range(n_sweeps):
        for i in range(len(q)):
            without = None if mistake == "no_subtraction" else i
            counts = expected_counts(problem, q, xi, without)
            weights = sequence_weights(problem, counts, mistake)
            _, q[i], xi[i] = forward_backward(problem, weights, i)
        history.append(leave_one_out_score(problem, q, xi))
    return Result(q, xi, expected_counts(problem, q, xi), history)


def leave_one_out_score(problem, q, xi):
    """Mean per observed token of log p(x_i | posterior means without i), counts frozen."""
    total, n_observed = 0.0, 0
    for i, sequence in enumerate(problem.sequences):
        counts = expected_counts(problem, q, xi, without=i)
        total += forward_backward(problem, posterior_mean_weights(problem, counts), i)[0]
        n_observed += sum(symbol is not None for symbol in sequence)
    return total / n_observed
