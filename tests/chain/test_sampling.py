"""One sweep of the Gibbs sampler against a slow restatement, number by number."""

import numpy as np
import pytest
import restatement
import restatement_token
from chain.unequal_priors import with_unequal_priors
from scipy.special import gammaln

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem, random_problem, unequal_priors
from sklearn_cvb import Samples
from sklearn_cvb.chain.parameters.rows import ChainConcentrations, HMMCounts, prior_of, tally_of
from sklearn_cvb.chain.paths.lattice import cells_for, lattice_for, problem_of
from sklearn_cvb.chain.predictions.traces import log_joint
from sklearn_cvb.chain.symbols import sampling as gibbs_sweeps
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.gibbs import draw_tokens
from sklearn_cvb.reading.corpus import Corpus

_LEGAL = {0: [0], 1: [1, 3], 2: [0, 2, 3], 3: [0, 1, 2, 3], 4: [1, 2], 5: [3]}
_X = [
    [1, 2, 3, 3, 3, 0, 4, 4, None, 3],
    [3],
    [None, 1],
    [0],
    [5, 0, 1, 1, 1, 2, 2, 5, None],
    [4, None],
    [3, 3, 3, 2],
    [None, 2, 4, 4],
]


def _problems():
    rng = np.random.default_rng(3)
    two = random_problem(rng, 2, 3, [6, 1, 4, 1, 2], missing=0.3)
    bare = {
        "dictionary": make_problem(_X, 4, 6, 0.3, 0.2, _LEGAL),
        "free": make_problem(_X, 3, 6, 0.4, 0.3),
        "two states": make_problem(two.sequences, 2, 3, 0.2, 0.1),
    }
    return {name: unequal_priors(rng, problem) for name, problem in bare.items()}


PROBLEMS = _problems()


def _places(problem):
    """The sequence and the position of every token."""
    return [(i, t) for i, row in enumerate(problem.sequences) for t in range(len(row))]


def _visits(problem, chunk):
    """Tokens with a choice, in the order in which they are visited."""
    n_states = [len(restatement.legal_states(problem, i, t)) for i, t in _places(problem)]
    order = sorted(range(len(n_states)), key=lambda t: (t // chunk, n_states[t], t))
    return [_places(problem)[t] for t in order if n_states[t] > 1]


def _slow_sweep(problem, z, temperature, chunk, rng):
    """Figure 1 token by token, all counts anew, with the random numbers of the sampler."""
    for i, t in _visits(problem, chunk):
        legal = restatement.legal_states(problem, i, t)
        share = restatement_token.gibbs_conditional(problem, z, i, t, temperature)[legal]
        if temperature == 1:
            picked = np.searchsorted(np.cumsum(share), rng.random(), side="right")
        else:
            picked = np.argmin(-np.log(rng.random(len(legal))) / share)
        z[i][t] = legal[picked]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("temperature", [1.0, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_sweeps_equal_their_restatement(monkeypatch, name, temperature):
    chunk = 7
    monkeypatch.setattr(gibbs_sweeps, "_CHUNK", chunk)
    monkeypatch.setattr(gibbs_sweeps, "_BLOCK", 11)
    problem = PROBLEMS[name]
    estimator = with_unequal_priors(
        "Gibbs", problem, samples=Samples(temperatures=(temperature, temperature))
    )
    read = estimator._read(problem.sequences, None)
    algorithm, model, task = estimator._algorithm(), estimator._model(read), read.problem
    state = algorithm.start(model, np.random.default_rng(0))
    assert len(state.shares.visits) > 1
    borders = np.cumsum([len(row) for row in problem.sequences])[:-1]
    z = [row.tolist() for row in np.split(task.lattice.state[state.shares.slots], borders)]
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    n_moved = 0
    for _ in range(12):
        before = state
        state, value = algorithm.sweep(state, model, ours)
        _slow_sweep(problem, z, temperature, chunk, theirs)
        path = task.lattice.state[state.shares.slots]
        np.testing.assert_array_equal(path, np.concatenate(z))
        assert value == pytest.approx(brute.collapsed_log_joint(problem, path[None])[0])
        counted = gibbs_sweeps.counts_of_path(task, state.shares.slots)
        for got, expected in zip(state.counts, counted, strict=True):
            np.testing.assert_array_equal(got, expected)
        n_moved += np.count_nonzero(state.shares.slots != before.shares.slots)
    assert n_moved > 10


def test_visits_group_tokens_by_their_number_of_states(monkeypatch):
    monkeypatch.setattr(gibbs_sweeps, "_CHUNK", 6)
    count = np.array([2, 1, 3, 2, 1, 4, 3, 2, 2, 1], np.int32)
    lattice = Lattice(
        np.zeros_like(count, np.uint32), count, np.empty(0, np.uint32), np.empty(0, np.int32)
    )
    (visits,) = gibbs_sweeps.visits_of(lattice, np.array([0, 3, 4, 10]))
    assert visits.token.tolist() == [0, 3, 2, 5, 7, 8, 6]
    assert visits.border.tolist() == [1, 3, 2, 0, 0, 0, 0]


def test_visits_are_from_left_to_right_where_all_states_are_open():
    count = np.full(30_000, 3, np.int32)
    lattice = Lattice(
        np.zeros_like(count, np.uint32), count, np.empty(0, np.uint32), np.empty(0, np.int32)
    )
    visits = gibbs_sweeps.visits_of(lattice, np.array([0, 30_000]))
    tokens = np.concatenate([block.token for block in visits])
    np.testing.assert_array_equal(tokens, np.arange(30_000))


@pytest.mark.parametrize("temperature", [0.3, 2.0, 9.0, 50.0, 1e6])
def test_races_are_won_in_proportion_to_powers(temperature):
    n_races = 40_000
    counts = np.full(n_races, 4)
    handicaps = gibbs_sweeps.race_noise(counts, temperature, np.random.default_rng(0))
    weights = np.array([1e-30, 0.5, 0.2, 0.3])
    won = np.bincount((weights * handicaps.reshape(n_races, 4)).argmax(axis=1), minlength=4)
    share = weights ** (1 / temperature)
    share /= share.sum()
    error = np.sqrt(share * (1 - share) / n_races)
    assert np.all(np.abs(won / n_races - share) <= 4 * error + 1e-12)


def test_a_state_without_weight_is_never_drawn():
    lattice = Lattice(
        np.zeros(3, np.uint32),
        np.full(3, 4, np.int32),
        np.arange(4, dtype=np.uint32),
        np.arange(4, dtype=np.int32),
    )
    posterior = np.array([[0.0, 0.3, 0.7, 0.0], [0.0, 0.0, 1e-320, 0.0], [0.0, 0.0, 0.0, 1.0]])
    slots = np.empty(3, np.int32)
    expected = {0.0: [1, 2, 3], np.nextafter(1.0, 0.0): [2, 2, 3]}
    for level, drawn in expected.items():
        draw_tokens(lattice, posterior.ravel(), np.full(3, level), slots)
        assert slots.tolist() == drawn


def test_counts_survive_a_prior_that_drowns_them():
    cells = cells_for(None, 2, 2, False)
    prior = prior_of(
        cells, ChainConcentrations(2.0**60, 0.5, False, False, (1.0, 1.0), (1.0, 1.0), 1.0)
    )
    corpus = Corpus(np.array([0, 1], np.int32), np.array([0, 2]), None, [])
    problem = problem_of(corpus, lattice_for(corpus, cells), cells)
    slots = np.array([1, 2], np.int32)
    counts = gibbs_sweeps.counts_of_path(problem, slots)
    tally = tally_of(counts, prior, cells)
    for got in (counts, gibbs_sweeps.counts_in(tally, problem, slots, prior)):
        assert got.start.tolist() == [0, 1]
        assert got.transition.tolist() == [[0, 0], [1, 0]]
        assert got.emission.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("equal", [True, False])
def test_log_joint_of_many_cells(equal):
    rng = np.random.default_rng(0)
    cells = cells_for(None, 3, 700, False)
    counts = HMMCounts(np.zeros(3), np.zeros((3, 3)), rng.poisson(1.0, 2100).astype(float))
    counts.emission[:3] = [0, 5000, 300]
    prior = prior_of(
        cells, ChainConcentrations(1.0, 0.3, False, False, (1.0, 1.0), (1.0, 1.0), 1.0)
    )
    if not equal:
        beta = rng.random(2100)
        prior = prior._replace(emission=beta, emission_total=cells.row_totals(beta))
    after, before = (
        gammaln(cell).sum() - gammaln(cell.reshape(-1, 3).sum(axis=0)).sum()
        for cell in (counts.emission + prior.emission, prior.emission)
    )
    got = log_joint(counts, prior, cells)
    assert got == pytest.approx(after - before, rel=1e-12)
