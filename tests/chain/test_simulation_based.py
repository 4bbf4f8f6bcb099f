"""The three samplers against the model itself: ranks of the truth, and Geweke's joint test."""

import numpy as np
import pytest
from scipy.stats import chi2

from sklearn_cvb import GibbsHMM, Samples, Symbols
from sklearn_cvb.chain.parameters.rows import prior_of, prior_settings
from sklearn_cvb.chain.paths.lattice import lattice_for, problem_of
from sklearn_cvb.chain.predictions.traces import log_joint
from sklearn_cvb.chain.symbols.sampling import counts_of_path, slots_of

UPDATES = ("token", "sequence", "parameter")
ALPHA, BETA = 0.7, 0.5
N_STATES, N_SYMBOLS, LENGTHS = 2, 3, [3, 4, 3, 2]
N_BINS = 8


def _draw_states(rng):
    """States of all sequences from the prior; there are two."""
    start = rng.dirichlet(np.full(N_STATES, ALPHA))
    transition = rng.dirichlet(np.full(N_STATES, ALPHA), size=N_STATES)
    states = []
    for length in LENGTHS:
        row = start
        for level in rng.random(length):
            states.append(int(level > row[0]))
            row = transition[states[-1]]
    return np.array(states)


def _draw_symbols(rng, states):
    """Symbols given states, emissions from their prior."""
    emission = rng.dirichlet(np.full(N_SYMBOLS, BETA), size=N_STATES).cumsum(axis=1)
    levels = rng.random((len(states), 1))
    return (levels > emission[states, :-1]).sum(axis=1)


def _model(update, **keywords):
    symbols = Symbols(range(N_SYMBOLS), handle_unknown="error")
    settings = {"alpha": ALPHA, "beta": BETA, "emission": symbols, "update": update}
    return GibbsHMM(N_STATES, **settings | keywords)


def _sequences(symbols):
    return [row.tolist() for row in np.split(symbols, np.cumsum(LENGTHS)[:-1])]


def _statistics(log_joints, states):
    """Three quantities that do not depend on the states' names; states (n, n_tokens)."""
    same = [states[:, 0] == states[:, t] for t in range(1, states.shape[1])]
    changes = (states[:, :-1] != states[:, 1:]).sum(axis=1)
    return np.array([log_joints, np.sum(same, axis=0), changes], dtype=float)


def _ranks(update, n_replications, n_draws, **keywords):
    """Ranks of the truth among posterior draws, ties broken at random: (3, n_replications)."""
    rng, asked = np.random.default_rng(0), _model(update)
    ranks = []
    for seed in range(n_replications):
        states = _draw_states(rng)
        X = _sequences(_draw_symbols(rng, states))
        settings = {
            "max_iter": 20 + 4 * n_draws,
            "samples": Samples(23, thin=4),
            "random_state": seed,
        }
        model = _model(update, **settings | keywords).fit(X)
        problem = model._learned.extra.samples.per_sample.problem
        counts = counts_of_path(problem, slots_of(problem.lattice, states))
        prior = prior_of(problem.cells, prior_settings(asked._options(), None, True))
        value = log_joint(counts, prior, problem.cells)
        truth = _statistics(np.array([value]), states[None])
        drawn = _statistics(model.history_[23::4], model.samples_)
        below, equal = (drawn < truth).sum(axis=1), (drawn == truth).sum(axis=1)
        ranks.append(below + rng.integers(equal + 1))
    return np.array(ranks).T


def _chi_square(ranks, n_draws):
    """How far ranks are from uniform, over bins of equal probability."""
    bins = ranks * N_BINS // (n_draws + 1)
    seen = np.array([np.bincount(row, minlength=N_BINS) for row in bins])
    expected = ranks.shape[1] / N_BINS
    return ((seen - expected) ** 2 / expected).sum(axis=1)


LIMIT = chi2.ppf(0.999, N_BINS - 1)


@pytest.mark.long
def test_ranks_of_the_truth_are_uniform():
    """Burn-in, thinning and what is kept are the same for all updates."""
    n_draws = 15
    assert (_chi_square(_ranks("token", 160, n_draws), n_draws) < LIMIT).all()


@pytest.mark.long
def test_ranks_under_another_prior_are_not():
    n_draws = 15
    ranks = _ranks("token", 160, n_draws, alpha=ALPHA / 8, beta=BETA / 8)
    # The log joint has another prior too: the others must tell.
    assert (_chi_square(ranks, n_draws)[1:] > LIMIT).any()


def _alternating(update, n_rounds):
    """Geweke's chain: states given symbols by one sweep, then symbols given states."""
    rng = np.random.default_rng(1)
    estimator = _model(update, random_state=0)
    symbols = _draw_symbols(rng, _draw_states(rng))
    read = estimator._read(_sequences(symbols), None)
    problem, cells = read.problem, read.problem.cells
    algorithm = estimator._algorithm()
    state = algorithm.start(estimator._model(read), rng)
    walk, nothing = state.shares, state.work
    states = problem.lattice.state[walk.slots]
    rows = []
    for _ in range(n_rounds):
        corpus = problem.corpus._replace(tokens=symbols.astype(problem.corpus.tokens.dtype))
        problem = problem_of(corpus, lattice_for(corpus, cells), cells)
        slots = slots_of(problem.lattice, states)
        counts, walk = counts_of_path(problem, slots), walk._replace(slots=slots)
        state = state._replace(shares=walk, counts=counts, n_sweeps=0, work=nothing)
        state, _ = algorithm.sweep(state, estimator._model(read._replace(problem=problem)), rng)
        states = problem.lattice.state[state.shares.slots]
        symbols = _draw_symbols(rng, states)
        rows.append(_joint_statistics(states, symbols))
    return np.array(rows, dtype=float)


def _joint_statistics(states, symbols):
    """Functions of states and symbols, and a square."""
    changes = np.count_nonzero(states[1:] != states[:-1])
    matches = np.count_nonzero(symbols[1:] == symbols[:-1])
    both = np.count_nonzero((symbols[1:] == symbols[:-1]) & (states[1:] == states[:-1]))
    return changes, changes**2, matches, both, len(set(symbols.tolist()))


@pytest.fixture(scope="module")
def direct():
    """Statistics of 4,000 draws of states and symbols from the model itself."""
    rng, rows = np.random.default_rng(2), []
    for _ in range(4000):
        states = _draw_states(rng)
        rows.append(_joint_statistics(states, _draw_symbols(rng, states)))
    return np.array(rows, dtype=float)


@pytest.mark.long
@pytest.mark.parametrize("update", UPDATES)
def test_alternating_chain_has_the_moments_of_the_prior(update, direct):
    chain = _alternating(update, 2400)
    batches = chain.reshape(40, 60, -1).mean(axis=1)
    error = np.hypot(batches.std(axis=0, ddof=1) / 40**0.5, direct.std(axis=0) / 4000**0.5)
    deviation = (chain.mean(axis=0) - direct.mean(axis=0)) / error
    assert np.abs(deviation).max() < 4
    # The chain moves enough for a wrong sampler to be noticed.
    assert (error < 0.08 * direct.std(axis=0)).all()
