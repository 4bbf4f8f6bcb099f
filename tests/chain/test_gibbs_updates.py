"""Sampling by sequence and with parameters: the exact posterior, and step by step."""

from functools import cache

import numpy as np
import pytest
import restatement
from chain.chain_deviations import deviations, exact_together, one_hot, together
from chain.unequal_priors import prior_cells, with_unequal_priors
from estimators import make_estimator
from scipy.stats import kstest
from sklearn import config_context

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem, unequal_priors, with_priors
from sklearn_cvb import GibbsHMM, Samples, Symbols
from sklearn_cvb.chain.symbols import sampling as gibbs_sweeps
from sklearn_cvb.chain.symbols.sampling import draw_weights
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights

UPDATES = ("sequence", "parameter")
# Chains of long autocorrelation are longer, and not every sweep of theirs says something new.
N_SWEEPS, N_BURN_IN = {"token": 3_000, "sequence": 1_600, "parameter": 3_600}, 300
_LEGAL = {0: [0], 1: [1, 3], 2: [0, 2, 3], 3: [0, 1, 2, 3], 4: [1, 2], 5: [3]}
_X = [
    [1, 2, 3, 0, 4],
    [3],
    [None, 1],
    [0],
    [5, 0, 1, 1, 5, None],
    [4, None],
    [3, 3, 2],
    [None, 2, 4],
]

PROBLEMS = {
    "free": make_problem([[0, 1, 0], [1, 2], [2, 2, 0]], 2, 3, 0.4, 0.3),
    "missing": make_problem([[0, None, 1], [1], [2, 0, None], [2]], 3, 3, 0.8, 0.5),
    "dictionary": make_problem(
        [[0, 3, 1], [3, 2], [4, 0, 3], [2, 4]],
        3,
        5,
        0.3,
        0.2,
        {0: [0], 1: [1], 2: [0, 2], 3: [1, 2], 4: [0, 1]},
    ),
    # Two sequences of one symbol: each is half of all counts.
    "repetitive": make_problem([[0, 0, 0, 0], [0, 0, 0]], 2, 2, 0.1, 0.1),
}
THIN = {"token": 1, "sequence": 2, "parameter": 3}


def _chain(problem, update, **keywords):
    settings = {
        "update": update,
        "max_iter": N_SWEEPS[update],
        "samples": Samples(N_BURN_IN, thin=THIN[update]),
    }
    return make_estimator("Gibbs", problem, **settings | keywords).fit(problem.sequences)


@pytest.fixture(scope="module")
def chains():
    """One long chain per update and problem; of one the joint distribution is looked at, too."""
    more = {
        ("sequence", "repetitive"): {"max_iter": 9_000, "samples": Samples(500, thin=1)},
        ("parameter", "repetitive"): {"max_iter": 6_500},
    }

    @cache
    def chain(update, name):
        return _chain(PROBLEMS[name], update, **more.get((update, name), {}))

    return chain


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("update", UPDATES)
def test_co_assignments_match(chains, update, name):
    problem = PROBLEMS[name]
    indicators, exact = together(chains(update, name).samples_), exact_together(problem)
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.05
    other = exact_together(with_priors(problem, 3 * problem.alpha, 3 * problem.beta))
    assert np.abs(deviations(indicators, other)).max() > 6


@pytest.mark.long
@pytest.mark.parametrize("update", UPDATES)
def test_marginals_match_where_the_dictionary_fixes_the_states(chains, update):
    problem = PROBLEMS["dictionary"]
    exact = np.concatenate(brute.collapsed_posterior(problem).marginals).ravel()
    indicators = one_hot(chains(update, "dictionary").samples_, problem.n_states)
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.05


def _shares(log_weights):
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _total_variation(problem, samples, exact):
    """Distance of a chain's joint distribution of all states from `exact`, over assignments."""
    radix = problem.n_states ** np.arange(samples.shape[1])
    z = brute.joint_assignments(problem)
    place = np.searchsorted(np.sort(z @ radix), samples @ radix)
    seen = np.bincount(place, minlength=len(z)) / len(samples)
    return 0.5 * np.abs(seen - exact[np.argsort(z @ radix)]).sum()


@pytest.mark.long
@pytest.mark.parametrize("update", ["token", *UPDATES])
def test_joint_distribution_of_all_states(update):
    # Priors that let all three mix within a short chain, and few assignments.
    problem = make_problem([[0, 0, 0], [0, 0]], 2, 2, 0.6, 0.6)
    z = brute.joint_assignments(problem)
    exact = _shares(brute.collapsed_log_joint(problem, z))
    chain = _chain(problem, update, max_iter=3_000, samples=Samples(N_BURN_IN, thin=1))
    assert _total_variation(problem, chain.samples_, exact) < 0.06


@pytest.mark.long
def test_the_metropolis_correction_matters(chains, monkeypatch):
    problem = PROBLEMS["repetitive"]
    # Sampled before anything is replaced: the chain is kept for the tests that follow.
    right = chains("sequence", "repetitive")
    resample_sequences = gibbs_sweeps.gibbs.resample_sequences

    def accept_all(*arguments):
        *rest, proposal, begin, room = arguments
        sure = proposal._replace(chances=np.zeros_like(proposal.chances))
        return resample_sequences(*rest, sure, begin, room)

    monkeypatch.setattr(gibbs_sweeps.gibbs, "resample_sequences", accept_all)
    wrong = _chain(problem, "sequence", max_iter=4_500, samples=Samples(500, thin=1))
    assert wrong.acceptance_rate_ == 1.0
    exact = _shares(brute.collapsed_log_joint(problem, brute.joint_assignments(problem)))
    assert _total_variation(problem, wrong.samples_, exact) > 0.1
    assert _total_variation(problem, right.samples_, exact) < 0.04


@pytest.mark.long
def test_acceptance_rate(chains):
    assert 0.8 < chains("sequence", "repetitive").acceptance_rate_ < 0.97
    assert chains("sequence", "free").acceptance_rate_ < 0.97
    assert chains("parameter", "free").acceptance_rate_ == 1.0
    # Nothing to draw: sequences of certain tokens.
    certain = make_problem([[0, 1], [1]], 2, 2, 0.3, 0.3, {0: [0], 1: [1]})
    model = _chain(certain, "sequence", max_iter=3, samples=Samples(0, thin=1))
    assert model.acceptance_rate_ == 1.0
    assert model.samples_.tolist() == [[0, 1, 1]] * 3


def test_a_chain_that_stands_still_warns():
    X = [np.random.default_rng(0).integers(3, size=3000).tolist()]
    problem = make_problem(X, 3, 3, 0.3, 0.3)
    with pytest.warns(UserWarning, match="of the proposals were accepted"):
        _chain(problem, "sequence", max_iter=110, samples=Samples(0))


@pytest.mark.long
@pytest.mark.parametrize(("update", "temperature"), [("sequence", 4.0), ("parameter", 0.5)])
def test_constant_temperature(update, temperature):
    problem = PROBLEMS["dictionary"]
    if temperature < 1.0:
        # Cold chains mix only under larger priors.
        problem = with_priors(problem, 0.8, 0.6)
    samples = Samples(N_BURN_IN, thin=2, temperatures=(temperature, temperature))
    chain = _chain(
        problem, update, samples=samples, max_iter=6_000 if update == "sequence" else 12_000
    )
    z = brute.joint_assignments(problem)
    if update == "sequence":
        log_joint = brute.collapsed_log_joint(problem, z) / temperature
    else:
        log_joint = _softmax_basis_log_joint(problem, z, temperature)
    states = range(problem.n_states)
    expected, plain = (
        np.array(
            [
                [_shares(logs) @ brute.transition_count(problem, z, k, j) for j in states]
                for k in states
            ]
        )
        for logs in (log_joint, brute.collapsed_log_joint(problem, z))
    )
    got = chain.counts_.transition
    assert np.abs(got - expected).max() < 0.1
    assert np.abs(got - plain).max() > 0.12


def _softmax_basis_log_joint(problem, z, temperature):
    """log of the integral of p(x, z, theta) ** (1 / temperature) over log theta."""
    states, symbols = range(problem.n_states), range(problem.n_symbols)
    cold = with_priors(problem, problem.alpha / temperature, problem.beta / temperature)
    value = brute.log_polya(
        [brute.start_count(problem, z, k) / temperature for k in states], cold.alpha[-1]
    )
    for k in states:
        moves = [brute.transition_count(problem, z, k, j) / temperature for j in states]
        shown = [brute.emission_count(problem, z, k, w) / temperature for w in symbols]
        value += brute.log_polya(moves, cold.alpha[k]) + brute.log_polya(shown, cold.beta[k])
    return value


def _problems_with_unequal_priors():
    rng = np.random.default_rng(3)
    bare = {
        "dictionary": make_problem(_X, 4, 6, 0.3, 0.2, _LEGAL),
        "free": make_problem([[0, 1, 0, 2], [None, 2], [1], [2, 2, 0]], 3, 3, 0.4, 0.3),
    }
    return {name: unequal_priors(rng, problem) for name, problem in bare.items()}


UNEQUAL = _problems_with_unequal_priors()


def _items(problem, z, i):
    """The choices of one sequence: (table, row, column, tokens they rest on)."""
    for t, symbol in enumerate(problem.sequences[i]):
        if t == 0:
            yield 0, problem.n_states, z[i][t], (t,)
        else:
            yield 0, z[i][t - 1], z[i][t], (t - 1, t)
        if symbol is not None:
            yield 1, z[i][t], symbol, (t,)


def _rest_weights(problem, z, i):
    """Weights from the counts of everything but the uncertain choices of sequence i."""
    tables = problem.alpha.copy(), problem.beta.copy()
    for other in range(len(z)):
        for table, row, column, tokens in _items(problem, z, other):
            certain = all(len(restatement.legal_states(problem, other, t)) == 1 for t in tokens)
            if other != i or certain:
                tables[table][row, column] += 1
    return [table / table.sum(axis=1, keepdims=True) for table in tables]


def _drawn_path(problem, i, weigh, levels):
    """Backward sampling by enumeration, with one level for each ambiguous token of the sequence.

    `weigh` gives the weight of a path.
    """
    legal = [restatement.legal_states(problem, i, t) for t in range(len(problem.sequences[i]))]
    paths = np.array(brute.paths(len(legal), problem.n_states, legal))
    share = np.array([weigh(path) for path in paths])
    numbers = dict(zip([t for t in range(len(legal)) if len(legal[t]) > 1], levels, strict=True))
    for t in range(len(legal) - 1, -1, -1):
        chance = np.bincount(paths[:, t], share, problem.n_states)[list(legal[t])]
        level = numbers.get(t, 0.0) * chance.sum()
        state = legal[t][np.searchsorted(np.cumsum(chance), level, side="right")]
        paths, share = paths[paths[:, t] == state], share[paths[:, t] == state]
    return paths[0].tolist()


def _n_open(problem, i):
    sizes = [len(restatement.legal_states(problem, i, t)) for t in range(len(problem.sequences[i]))]
    return sum(size > 1 for size in sizes)


def _log_joint(problem, z):
    return brute.collapsed_log_joint(problem, np.array([np.concatenate(z)]))[0]


def _slow_sequence_sweep(problem, z, temperature, rng):
    """Each sequence proposed from the weights of the rest; returns how many were accepted."""
    n_open = [_n_open(problem, i) for i in range(len(z))]
    levels, chances = rng.random(sum(n_open)), rng.random(len(z))
    ends = np.cumsum(n_open)
    n_accepted = 0
    for i in range(len(z)):
        if n_open[i] == 0:
            continue
        weights = _rest_weights(problem, z, i)
        own = levels[ends[i] - n_open[i] : ends[i]]

        def weigh(path, x=problem.sequences[i], weights=weights):
            return brute.path_weight(path, x, *weights) ** (1 / temperature)

        proposal = _drawn_path(problem, i, weigh, own)
        changed = [proposal if j == i else path for j, path in enumerate(z)]
        old, new = (
            brute.path_weight(path, problem.sequences[i], *weights) for path in (z[i], proposal)
        )
        gain = _log_joint(problem, changed) - _log_joint(problem, z) + np.log(old / new)
        if np.log(chances[i]) <= gain / temperature:
            z[i] = proposal
            n_accepted += 1
    return n_accepted


def _tables(problem, weights, cells):
    """Weights as (K + 1, K) and (K, W) tables; what the dictionary rules out is 0."""
    emission = np.zeros((problem.n_states, problem.n_symbols))
    words = np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))
    emission[cells.state, words] = weights.emission
    return np.vstack([weights.transition, weights.start]), emission


def _slow_parameter_sweep(problem, task, state, z, temperature, rng):
    """All sequences drawn from the very parameters that the sampler draws."""
    prior = prior_cells(problem, task.cells)
    weights = draw_weights(state.counts, prior, task.cells, temperature, rng)
    tables = _tables(problem, weights, task.cells)
    n_open = [_n_open(problem, i) for i in range(len(z))]
    levels, ends = rng.random(sum(n_open)), np.cumsum(n_open)
    for i, x in enumerate(problem.sequences):
        own = slice(ends[i] - n_open[i], ends[i])

        def weigh(path, x=x):
            return brute.path_weight(path, x, *tables)

        z[i] = _drawn_path(problem, i, weigh, levels[own])


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("temperature", [1.0, 0.4, 2.5])
@pytest.mark.parametrize("name", UNEQUAL)
@pytest.mark.parametrize("update", UPDATES)
def test_sweeps_equal_their_restatement(update, name, temperature):
    problem = UNEQUAL[name]
    estimator = with_unequal_priors(
        "Gibbs", problem, update=update, samples=Samples(temperatures=(temperature, temperature))
    )
    read = estimator._read(problem.sequences, None)
    algorithm, model, task = estimator._algorithm(), estimator._model(read), read.problem
    state = algorithm.start(model, np.random.default_rng(0))
    borders = np.cumsum([len(row) for row in problem.sequences])[:-1]
    z = [row.tolist() for row in np.split(task.lattice.state[state.shares.slots], borders)]
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    n_accepted, n_moved = 0, 0
    for _ in range(12):
        before = state
        state, value = algorithm.sweep(state, model, ours)
        if update == "sequence":
            n_accepted += _slow_sequence_sweep(problem, z, temperature, theirs)
            assert state.work.proposals[1] == n_accepted
        else:
            _slow_parameter_sweep(problem, task, before, z, temperature, theirs)
        np.testing.assert_array_equal(task.lattice.state[state.shares.slots], np.concatenate(z))
        assert value == pytest.approx(_log_joint(problem, z))
        n_moved += np.count_nonzero(state.shares.slots != before.shares.slots)
    assert n_moved > 10
    if update == "sequence":
        assert n_accepted < state.work.proposals[0]


def first_counts(estimator, read):
    """Counts of the path that a chain begins with."""
    algorithm, model = estimator._algorithm(), estimator._model(read)
    return algorithm.start(model, np.random.default_rng(0)).counts


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_drawn_parameters_follow_their_dirichlets(temperature):
    problem = UNEQUAL["dictionary"]
    estimator = make_estimator("Gibbs", problem)
    read = estimator._read(problem.sequences, None)
    task = read.problem
    prior = prior_cells(problem, task.cells)
    counts = first_counts(estimator, read)
    rng = np.random.default_rng(1)
    draws = [draw_weights(counts, prior, task.cells, temperature, rng) for _ in range(2000)]
    stacked = ChainWeights(*(np.array(table) ** temperature for table in zip(*draws, strict=True)))
    emit = task.cells.row_totals(counts.emission) + prior.emission_total
    out = counts.transition.sum(axis=1) + prior.transition_total
    cases = [(stacked.start[:, 0], counts.start[0] + prior.start[0], 8 + prior.start_total)]
    cases += [
        (stacked.transition[:, 1, j], (counts.transition + prior.transition)[1, j], out[1])
        for j in range(4)
    ]
    cases += [
        (stacked.emission[:, c], (counts.emission + prior.emission)[c], emit[task.cells.state[c]])
        for c in range(0, len(task.cells.state), 3)
    ]
    for values, own, total in cases:
        beta = own / temperature, (total - own) / temperature
        assert kstest(values, "beta", beta).pvalue > 1e-4


def test_tiny_priors_draw_one_cell_of_an_unused_row():
    # Every draw underflows; the winner takes all, and each cell is as likely to win.
    problem = make_problem([[0]], 3, 2, 1e-9, 1e-9)
    estimator = make_estimator("Gibbs", problem)
    read = estimator._read(problem.sequences, None)
    task = read.problem
    prior = prior_cells(problem, task.cells)
    counts = first_counts(estimator, read)
    rng = np.random.default_rng(0)
    rows = np.array(
        [draw_weights(counts, prior, task.cells, 1.0, rng).transition for _ in range(300)]
    )
    np.testing.assert_allclose(rows.sum(axis=2), 1.0)
    assert rows.max(axis=2).min() > 1 - 1e-6
    assert np.abs(rows.mean(axis=(0, 1)) - 1 / 3).max() < 0.06


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("update", UPDATES)
# Concentrations this small are refused; the kernels stand them.
@config_context(skip_parameter_validation=True)
def test_tiny_priors_stay_exact(update):
    # A count comes and goes without a trace, however small its prior.
    problem = make_problem([[0, 1], [1, 0], [0, 0]], 2, 2, 1e-10, 1e-10)
    chain = _chain(problem, update, max_iter=300, samples=Samples(0, thin=1))
    assert np.isfinite(chain.history_).all()
    expected = brute.collapsed_log_joint(problem, chain.samples_)
    np.testing.assert_allclose(chain.history_, expected, rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("update", ["token", *UPDATES])
def test_impossible_transitions_are_never_drawn(update):
    bare = make_problem([[0, 1, 0], [1, 0, 1]], 2, 2, 0.5, 0.5)
    problem = bare._replace(alpha=np.array([[0.4, 0.7], [0.7, 0.0], [0.5, 0.5]]))
    estimator = with_unequal_priors(
        "Gibbs", problem, update=update, max_iter=3000, samples=Samples(100, thin=1), init="token"
    )
    samples = estimator.fit(problem.sequences).samples_
    z = brute.joint_assignments(problem)
    pairs = [left for left, _ in brute.pair_columns(problem)]

    def is_forbidden(paths):
        return np.any([(paths[:, t] == 1) & (paths[:, t + 1] == 1) for t in pairs], axis=0)

    assert not is_forbidden(samples).any()
    tiny = problem._replace(alpha=np.where(problem.alpha == 0, 1e-12, problem.alpha))
    log_joint = np.where(is_forbidden(z), -np.inf, brute.collapsed_log_joint(tiny, z))
    assert _total_variation(problem, samples, _shares(log_joint)) < 0.06


@pytest.mark.parametrize("update", UPDATES)
def test_results_do_not_depend_on_threads(update):
    problem = PROBLEMS["dictionary"]
    one, two = (
        _chain(problem, update, max_iter=30, samples=Samples(0), n_init=3, n_jobs=n) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.chains_.log_joint, two.chains_.log_joint)
    np.testing.assert_array_equal(one.samples_, two.samples_)


@pytest.mark.parametrize("update", UPDATES)
def test_learned_concentrations_and_unknown_words(update):
    X = [["a", "b", "c"], ["b", "a", None], ["c", "c", "a", "b"]] * 5
    model = GibbsHMM(
        update=update,
        alpha="auto",
        beta="auto",
        emission=Symbols(handle_unknown="rare"),
        max_iter=60,
        random_state=0,
    )
    model.fit(X)
    assert model.alpha_ != 0.1
    assert model.beta_ != 0.1
    assert np.isfinite(model.score([["a", "never", "b"]]))
    assert model.perplexity(X) < 3.5
