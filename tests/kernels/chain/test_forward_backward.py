"""Kernels on a chain: dense against lattice, probabilities against logs, and plain sums."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

from benchmarks.enumeration import brute
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.kernels.chain import decoding, log_space
from sklearn_cvb.kernels.chain import forward_backward as chain
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice

LENGTHS = (7, 1, 12, 2, 30)


def random_weights(rng, n_states, n_tokens, low=1e-3):
    """Weights with an emission of its own for every token and state; rows are not normalised."""
    return ChainWeights(
        rng.uniform(low, 1, n_states),
        rng.uniform(low, 1, (n_states, n_states)),
        rng.uniform(low, 1, n_tokens * n_states),
    )


def lattice_of(allowed, n_states):
    """The lattice of lists of states, one list per token; cells are token by state."""
    count = np.array([len(states) for states in allowed], np.int32)
    state = np.concatenate(allowed).astype(np.uint32)
    cell = np.concatenate([t * n_states + np.array(row) for t, row in enumerate(allowed)])
    first = (np.cumsum(count) - count).astype(np.uint32)
    return Lattice(first, count, state, cell.astype(np.int32))


def full_lattice(n_tokens, n_states):
    return lattice_of([list(range(n_states))] * n_tokens, n_states)


def random_lattice(rng, n_tokens, n_states):
    return lattice_of(
        [
            np.sort(rng.choice(n_states, rng.integers(1, n_states + 1), replace=False))
            for _ in range(n_tokens)
        ],
        n_states,
    )


def starts_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def with_idle_state(weights, n_tokens):
    """The same chain with one more state that no token may take: it must use the lattice form."""
    n = weights.start.size
    transition = np.full((n + 1, n + 1), 0.5)
    transition[:n, :n] = weights.transition
    emission = np.full((n_tokens, n + 1), 0.5)
    emission[:, :n] = weights.emission.reshape(n_tokens, n)
    lattice = lattice_of([list(range(n))] * n_tokens, n + 1)
    return ChainWeights(np.append(weights.start, 0.5), transition, emission.ravel()), lattice


def logs_of(weights):
    with np.errstate(divide="ignore"):
        return ChainWeights(*map(np.log, weights))


def run(kernel, weights, lattice, starts, logs=None):
    """Marginals and log likelihoods as `smoothed` or `filtered` give them."""
    values = np.empty(int(lattice.count.sum()))
    log_z = np.empty(len(starts) - 1)
    kernel(weights, logs_of(weights) if logs is None else logs, lattice, starts, values, log_z)
    return values, log_z


def best_paths(weights, lattice, starts):
    path = np.empty(starts[-1], np.int32)
    log_p = np.empty(len(starts) - 1)
    decoding.viterbi(logs_of(weights), lattice, starts, path, log_p)
    return path, log_p


def sums_of_counts(weights, lattice, starts, in_log=False):
    """Expected counts; the emission table is one cell per token and state."""
    n = weights.start.size
    counts = HMMCounts(np.zeros(n), np.zeros((n, n)), np.zeros(weights.emission.size))
    passes = chain.passes_for(starts, lattice.count)
    if in_log:
        logs = logs_of(weights)
        log_z = np.array(
            [
                log_space.expected_counts_log(logs, lattice, bounds, passes, counts)
                for bounds in pairwise(starts)
            ]
        )
        return counts, log_z
    log_z, members = np.full(len(starts) - 1, np.nan), np.arange(len(starts) - 1)
    once = np.ones(len(starts) - 1)
    chain.expected_counts(weights, lattice, starts, once, members, passes, counts, log_z)
    # The kernel leaves the transitions' own weights to its caller.
    counts.transition[:] *= weights.transition
    return counts, log_z


# A plain re-statement in log space, one sequence at a time.


def plain_log(log_start, log_transition, log_emission):
    """Smoothed and filtered marginals and log p(x); log_emission (T, K) has -inf where illegal."""
    forward = [log_start + log_emission[0]]
    for row in log_emission[1:]:
        forward.append(logsumexp(forward[-1][:, None] + log_transition, axis=0) + row)
    backward = [np.zeros(len(log_start))]
    for row in log_emission[:0:-1]:
        backward.append(logsumexp(log_transition + row + backward[-1], axis=1))
    forward, backward = np.array(forward), np.array(backward[::-1])
    log_z = logsumexp(forward[-1])
    smoothed = np.exp(forward + backward - log_z)
    filtered = np.exp(forward - logsumexp(forward, axis=1, keepdims=True))
    return smoothed, filtered, log_z


def emission_table(log_weights, lattice, begin, end):
    """Log emissions of one sequence over all states, and which of the states are allowed."""
    table = np.full((end - begin, log_weights.start.size), -np.inf)
    allowed = np.zeros(table.shape, bool)
    for t in range(begin, end):
        for slot in range(lattice.first[t], lattice.first[t] + lattice.count[t]):
            cell = lattice.cell[slot]
            value = 0.0 if cell < 0 else log_weights.emission[cell]
            table[t - begin, lattice.state[slot]] = value
            allowed[t - begin, lattice.state[slot]] = True
    return table, allowed


def assert_plain(weights, lattice, starts, logs=None, atol=1e-11):
    """Smoothing, filtering and likelihood agree with the re-statement on every sequence."""
    logs = logs_of(weights) if logs is None else logs
    smoothed, log_z = run(decoding.smoothed, weights, lattice, starts, logs)
    filtered, same_log_z = run(decoding.filtered, weights, lattice, starts, logs)
    again = np.empty(len(log_z))
    decoding.log_likelihood(weights, logs, lattice, starts, again)
    entry = 0
    for i in range(len(starts) - 1):
        table, allowed = emission_table(logs, lattice, starts[i], starts[i + 1])
        exact = plain_log(logs.start, logs.transition, table)
        here = slice(entry, entry + allowed.sum())
        entry = here.stop
        np.testing.assert_allclose(smoothed[here], exact[0][allowed], rtol=0, atol=atol)
        np.testing.assert_allclose(filtered[here], exact[1][allowed], rtol=0, atol=atol)
        for value in (log_z[i], same_log_z[i], again[i]):
            assert value == pytest.approx(exact[2], rel=1e-12)


# One step, dense and lattice.


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 8, 45, 64, 65])
def test_one_step_is_a_matrix_product_in_both_forms(n_states):
    rng = np.random.default_rng(n_states)
    transition = rng.random((n_states, n_states))
    message = rng.random(n_states)
    lattice = full_lattice(2, n_states)
    dense, sparse = np.empty(n_states), np.empty(n_states)
    chain.advance_dense(transition, message, dense)
    chain.advance_lattice(transition, lattice, message, 0, 1, sparse, 0)
    np.testing.assert_allclose(dense, sparse, rtol=1e-12)
    np.testing.assert_allclose(dense, message @ transition, rtol=1e-12)
    chain.retreat_dense(transition, message, dense)
    chain.retreat_lattice(transition, lattice, message, 0, 0, sparse, 0)
    np.testing.assert_allclose(dense, sparse, rtol=1e-12)
    np.testing.assert_allclose(dense, transition @ message, rtol=1e-12)


@pytest.mark.parametrize("n_states", [1, 2, 3, 8])
def test_all_results_agree_on_a_full_lattice(n_states):
    rng = np.random.default_rng(n_states)
    starts = starts_of(LENGTHS)
    n_tokens = int(starts[-1])
    weights = random_weights(rng, n_states, n_tokens)
    dense = full_lattice(n_tokens, n_states)
    wider, lattice = with_idle_state(weights, n_tokens)
    for kernel in (decoding.smoothed, decoding.filtered):
        for one, other in zip(
            run(kernel, weights, dense, starts), run(kernel, wider, lattice, starts), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in zip(
        best_paths(weights, dense, starts), best_paths(wider, lattice, starts), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    counts, log_z = sums_of_counts(weights, dense, starts)
    other, same_log_z = sums_of_counts(wider, lattice, starts)
    n = n_states
    np.testing.assert_allclose(log_z, same_log_z, rtol=1e-12)
    np.testing.assert_allclose(counts.start, other.start[:n], rtol=1e-12)
    np.testing.assert_allclose(counts.transition, other.transition[:n, :n], rtol=1e-12)
    emission = other.emission.reshape(n_tokens, n + 1)
    np.testing.assert_allclose(counts.emission, emission[:, :n].ravel(), rtol=1e-12)
    assert other.start[n] == other.transition[n].sum() == other.transition[:, n].sum() == 0
    assert emission[:, n].sum() == 0


def test_the_same_numbers_draw_the_same_paths_in_both_forms():
    rng = np.random.default_rng(0)
    starts = starts_of(LENGTHS)
    weights = random_weights(rng, 3, int(starts[-1]))
    dense = full_lattice(int(starts[-1]), 3)
    paths = []
    for given, lattice in ((weights, dense), with_idle_state(weights, int(starts[-1]))):
        path = np.empty(starts[-1], np.int32)
        draws = np.random.default_rng(7)
        logs = logs_of(given)
        decoding.sample_paths(given, logs, lattice, starts, draws, path, np.empty(len(LENGTHS)))
        paths.append(path.tolist())
    assert paths[0] == paths[1]
    assert set(paths[0]) == {0, 1, 2}


# Probabilities and logs.


@pytest.mark.parametrize("partial", [False, True])
def test_log_space_equals_probability_space(partial):
    rng = np.random.default_rng(partial)
    starts = starts_of(LENGTHS)
    n_tokens = int(starts[-1])
    weights = random_weights(rng, 4, n_tokens)
    lattice = random_lattice(rng, n_tokens, 4) if partial else full_lattice(n_tokens, 4)
    counts, log_z = sums_of_counts(weights, lattice, starts)
    in_log, log_z_in_log = sums_of_counts(weights, lattice, starts, in_log=True)
    np.testing.assert_allclose(log_z, log_z_in_log, rtol=1e-12)
    for one, other in zip(counts, in_log, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


# Both are compiled here for themselves.
@pytest.mark.long(usual=True)
@pytest.mark.parametrize("partial", [False, True])
def test_posteriors_in_log_space_equal_those_of_probabilities(partial):
    rng = np.random.default_rng(partial)
    starts = starts_of(LENGTHS)
    n_tokens = int(starts[-1])
    weights = random_weights(rng, 4, n_tokens)
    lattice = random_lattice(rng, n_tokens, 4) if partial else full_lattice(n_tokens, 4)
    logs = logs_of(weights)
    work = chain.passes_for(starts, lattice.count)
    for begin, end in pairwise(starts):
        size = chain.fill_emission(weights.emission, lattice, begin, end, 1.0, work.emission)
        one = chain.forward_backward(
            weights.start, weights.transition, lattice, begin, end, size, work
        )
        marginals = work.posterior[:size].copy()
        chain.fill_emission(logs.emission, lattice, begin, end, 0.0, work.emission)
        other = log_space.forward_backward_log(
            logs.start, logs.transition[None], None, lattice, begin, end, size, work
        )
        assert one == pytest.approx(other, rel=1e-12)
        np.testing.assert_allclose(marginals, work.posterior[:size], rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_random_lattices_against_plain_sums(seed):
    rng = np.random.default_rng(seed)
    starts = starts_of(LENGTHS)
    n_tokens = int(starts[-1])
    weights = random_weights(rng, 4, n_tokens)
    lattice = random_lattice(rng, n_tokens, 4)
    # A tenth of the tokens is unobserved.
    hidden = np.repeat(rng.random(n_tokens) < 0.1, lattice.count)
    lattice = lattice._replace(cell=np.where(hidden, -1, lattice.cell).astype(np.int32))
    assert_plain(weights, lattice, starts)


@pytest.mark.parametrize("seed", range(5))
def test_counts_and_best_paths_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    starts = starts_of([4, 1, 3])
    weights = random_weights(rng, 3, 8)
    lattice = random_lattice(rng, 8, 3)
    counts, _ = sums_of_counts(weights, lattice, starts)
    path, log_p = best_paths(weights, lattice, starts)
    table = np.vstack([weights.transition, weights.start])
    emission = weights.emission.reshape(8, 3).T
    transition_counts = np.zeros((3, 3))
    for i, (begin, end) in enumerate(pairwise(starts)):
        allowed = [
            lattice.state[lattice.first[t] :][: lattice.count[t]].tolist()
            for t in range(begin, end)
        ]
        # Every token is a symbol of its own.
        arguments = (list(range(begin, end)), table, emission, allowed)
        transition_counts += brute.pair_marginals(*arguments).sum(axis=0)
        exact = brute.marginals(*arguments)
        got = counts.emission.reshape(8, 3)[begin:end]
        np.testing.assert_allclose(got, exact, atol=1e-12)
        best, weight = brute.best_path(*arguments)
        assert path[begin:end].tolist() == best.tolist()
        assert log_p[i] == pytest.approx(weight, abs=1e-12)
    np.testing.assert_allclose(counts.transition, transition_counts, atol=1e-12)


def test_ties_go_to_the_lowest_state():
    weights = ChainWeights(np.full(3, 0.5), np.full((3, 3), 0.5), np.full(15, 0.5))
    path, _ = best_paths(weights, lattice_of([[1, 2]] * 2 + [[0, 1, 2]] * 3, 3), starts_of([5]))
    assert path.tolist() == [1, 1, 0, 0, 0]


# Beyond the range of float64.


@pytest.mark.long
def test_long_sequences_of_tiny_probabilities():
    rng = np.random.default_rng(1)
    starts = starts_of([10_000, 50])
    weights = random_weights(rng, 3, 10_050)
    weights = weights._replace(emission=weights.emission * 1e-300)
    for lattice in (full_lattice(10_050, 3), random_lattice(rng, 10_050, 3)):
        # log p is about -7e6: 10,000 roundings of its last digit, in both computations.
        assert_plain(weights, lattice, starts, atol=1e-6)
        path, log_p = best_paths(weights, lattice, starts)
        shifted = weights._replace(emission=weights.emission * 1e300)
        same_path, same_log_p = best_paths(shifted, lattice, starts)
        assert np.mean(path == same_path) > 0.999
        lengths = np.diff(starts)
        np.testing.assert_allclose(log_p - same_log_p, lengths * np.log(1e-300), rtol=1e-9)


@pytest.mark.parametrize("scales", [(1e-149, 1e-200), (1e-200, 1e-149, 1e-10), (1e145, 1e250, 3.0)])
def test_scales_whose_product_leaves_float64(scales):
    # Each alone is in its range.
    weights = ChainWeights(np.ones(1), np.ones((1, 1)), np.array(scales))
    lattice, starts = full_lattice(len(scales), 1), starts_of([len(scales)])
    counts, log_z = sums_of_counts(weights, lattice, starts)
    np.testing.assert_allclose(log_z, np.log(scales).sum(), rtol=1e-14)
    np.testing.assert_allclose(counts.emission, 1.0, rtol=1e-14)


def test_expected_counts_of_tiny_probabilities():
    rng = np.random.default_rng(2)
    starts = starts_of([2000, 3])
    weights = random_weights(rng, 3, 2003)
    lattice = full_lattice(2003, 3)
    plain, _ = sums_of_counts(weights, lattice, starts)
    tiny = weights._replace(emission=weights.emission * 1e-300)
    counts, log_z = sums_of_counts(tiny, lattice, starts)
    # Probability space gives up and adds nothing; log space takes over.
    assert np.isnan(log_z).all()
    assert counts.transition.sum() == 0
    counts, log_z = sums_of_counts(tiny, lattice, starts, in_log=True)
    for one, other in zip(plain, counts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert np.isfinite(log_z).all()


@pytest.mark.parametrize("factor", [1e-3, 1e-8])
def test_mass_that_seems_lost_and_turns_out_to_be_all(factor):
    # State 1 fades for 200 tokens, far below float64, and alone explains the last one.
    emission = np.ones((201, 2))
    emission[:200, 1] = factor
    emission[200, 0] = 0.0
    weights = ChainWeights(np.full(2, 0.5), np.array([[1.0, 0.0], [0.0, 1.0]]), emission.ravel())
    assert_plain(weights, full_lattice(201, 2), starts_of([201]))
    counts, log_z = sums_of_counts(weights, full_lattice(201, 2), starts_of([201]))
    assert np.isnan(log_z[0])
    counts, log_z = sums_of_counts(weights, full_lattice(201, 2), starts_of([201]), in_log=True)
    np.testing.assert_allclose(counts.transition, [[0, 0], [0, 200]], atol=1e-9)
    assert log_z[0] == pytest.approx(np.log(0.5) + 200 * np.log(factor), rel=1e-12)


def test_a_weight_that_kernels_take_for_nothing_is_left_to_log_space():
    # Numbers below 2e-308 count as 0 in kernels: the only path takes one, to the second state.
    emission, moves = (
        np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        np.array([[1.0, 1e-310], [0.0, 1.0]]),
    )
    weights = ChainWeights(np.array([1.0, 0.0]), moves, emission)
    lattice, starts = full_lattice(3, 2), starts_of([3])
    assert_plain(weights, lattice, starts)
    counts, log_z = sums_of_counts(weights, lattice, starts)
    assert np.isnan(log_z[0])
    assert counts.transition.sum() == 0


def test_mass_that_one_step_loses_and_the_next_brings_back():
    # 1e-50 beside 1e276 is 0; both states explain half of the whole.
    emission = np.array([1e276, 1e-50, 1e-50, 1e276])
    weights = ChainWeights(np.full(2, 0.5), np.eye(2), emission)
    assert_plain(weights, full_lattice(2, 2), starts_of([2]))


def test_likelihoods_need_no_backward_pass_where_nothing_is_lost(monkeypatch):
    # A chain that only goes on has messages of 0, and these are exact.
    weights = ChainWeights(np.eye(3)[0], np.triu(np.full((3, 3), 0.25)), np.full(120, 0.5))
    lattice, starts = full_lattice(40, 3), starts_of([10, 30])
    expected = run(decoding.smoothed, weights, lattice, starts)[1]

    def stop(*arguments):
        raise AssertionError("a backward pass")

    monkeypatch.setattr(decoding, "marginals", stop)
    log_z = np.empty(2)
    decoding.log_likelihood(weights, logs_of(weights), lattice, starts, log_z)
    np.testing.assert_allclose(log_z, expected, rtol=1e-14)
    # Of weights like these a message may be 0 by rounding.
    faint = weights._replace(transition=weights.transition + 1e-60)
    with pytest.raises(AssertionError, match="a backward pass"):
        decoding.log_likelihood(
            faint._replace(start=np.array([1.0, 1e-250, 0.0])),
            logs_of(faint),
            lattice,
            starts,
            log_z,
        )


@pytest.mark.parametrize("factor", [1e-3, 1e-8])
def test_paths_are_drawn_through_a_state_that_fades(factor):
    """Filtered it is 0 in float64 before the last token, which it alone explains."""
    emission = np.ones((201, 2))
    emission[:200, 1] = factor
    emission[200, 0] = 0.0
    weights = ChainWeights(np.full(2, 0.5), np.eye(2), emission.ravel())
    path, log_z = np.empty(201, np.int32), np.empty(1)
    decoding.sample_paths(
        weights,
        logs_of(weights),
        full_lattice(201, 2),
        starts_of([201]),
        np.random.default_rng(0),
        path,
        log_z,
    )
    assert path.tolist() == [1] * 201
    assert log_z[0] == pytest.approx(np.log(0.5) + 200 * np.log(factor), rel=1e-12)


def test_a_sequence_no_path_explains_is_left_out():
    weights = ChainWeights(np.array([1.0, 0.0]), np.eye(2), np.array([1.0, 0, 0, 1.0, 1.0, 0.5]))
    lattice, starts = full_lattice(3, 2), starts_of([2, 1])
    counts, log_z = sums_of_counts(weights, lattice, starts, in_log=True)
    assert log_z.tolist() == [-np.inf, 0.0]
    assert counts.start.tolist() == [1.0, 0.0]
    assert counts.transition.sum() == 0
    for kernel in (decoding.smoothed, decoding.filtered):
        values, log_z = run(kernel, weights, lattice, starts)
        # By emission, each token on its own.
        assert values.tolist() == [1, 0, 0, 1, 1, 0]
        assert log_z.tolist() == [-np.inf, 0.0]
    path, log_p = best_paths(weights, lattice, starts)
    assert path.tolist() == [0, 1, 0]
    assert log_p.tolist() == [-np.inf, 0.0]


def test_sampled_paths_have_the_posterior_frequencies():
    rng = np.random.default_rng(3)
    weights = random_weights(rng, 2, 3)
    n_copies = 20_000
    starts = starts_of([3] * n_copies)
    copies = weights._replace(emission=np.tile(weights.emission, n_copies))
    path = np.empty(starts[-1], np.int32)
    logs = logs_of(copies)
    draws = np.random.default_rng(4)
    lattice = full_lattice(3 * n_copies, 2)
    decoding.sample_paths(copies, logs, lattice, starts, draws, path, np.empty(n_copies))
    table = np.vstack([weights.transition, weights.start])
    exact = brute.path_distribution([0, 1, 2], table, weights.emission.reshape(3, 2).T)
    code = path.reshape(-1, 3) @ [4, 2, 1]
    shares = np.bincount(code, minlength=8) / n_copies
    for states, share in exact.items():
        assert shares[np.dot(states, [4, 2, 1])] == pytest.approx(share, abs=0.015)
