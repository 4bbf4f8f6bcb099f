"""Expected counts of many sequences side by side, against enumeration and one at a time."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.enumeration import brute
from sklearn_cvb import EMHMM, Symbols
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.chain.starts.starting_points import parameter_weights
from sklearn_cvb.chain.symbols import engines
from sklearn_cvb.chain.symbols.engines import expectation, infer_batch
from sklearn_cvb.kernels.chain import forward_backward as chain
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    add_tables,
    expected_counts_dense,
    fill_tables,
    messages_for,
    tables_for,
    width_for,
)
from sklearn_cvb.kernels.tiles import LANES, ROWS, add_outer_products, multiply

MISSING = -1


def lattice_of_words(words, n_states):
    """Every token may take every state; tokens of one word share its slots, as in a fit."""
    used, index = np.unique(words, return_inverse=True)
    every = np.arange(n_states)
    cell = np.where(used[:, None] == MISSING, MISSING, used[:, None] * n_states + every)
    return Lattice(
        (index * n_states).astype(np.uint32),
        np.full(len(words), n_states, np.int32),
        np.tile(every, len(used)).astype(np.uint32),
        cell.ravel().astype(np.int32),
    )


def random_case(seed, n_states, lengths, n_words=7, missing=0.1):
    """Weights that are not normalised, a lattice with missing observations, and starts."""
    rng = np.random.default_rng(seed)
    words = rng.integers(n_words, size=sum(lengths))
    words[rng.random(len(words)) < missing] = MISSING
    weights = ChainWeights(
        rng.uniform(0.01, 1, n_states),
        rng.uniform(0.01, 1, (n_states, n_states)),
        rng.uniform(0.01, 1, n_words * n_states),
    )
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return weights, words, lattice_of_words(words, n_states), starts


def zeros_like(weights):
    return HMMCounts(*map(np.zeros_like, weights))


def side_by_side(weights, lattice, starts):
    """Counts, total log Z and who is lost; no counts where some are, as in a fit."""
    n_states, counts, lengths = weights.start.size, zeros_like(weights), np.diff(starts)
    side = min(SIDE_BY_SIDE, len(lengths))
    tables = tables_for(lattice, n_states, n_states)
    fill_tables(weights, lattice, n_states, tables)
    order = np.argsort(-lengths, kind="stable")
    messages = messages_for(side, lengths.max(), n_states)
    lost = np.zeros(len(lengths), bool)
    total = expected_counts_dense(lattice, starts, order, side, n_states, tables, messages, lost)
    if not np.isnan(total):
        add_tables(weights, lattice, n_states, tables, counts)
    assert np.isnan(total) == lost.any()
    return counts, total, np.flatnonzero(lost).tolist()


def one_at_a_time(weights, lattice, starts):
    counts, log_z = zeros_like(weights), np.empty(len(starts) - 1)
    passes, members = chain.passes_for(starts, lattice.count), np.arange(len(log_z))
    once = np.ones(len(starts) - 1)
    chain.expected_counts(weights, lattice, starts, once, members, passes, counts, log_z)
    counts.transition[:] *= weights.transition
    return counts, log_z.sum()


@pytest.mark.parametrize("width", [8, 16, 24, 40, 264])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 130])
def test_products_are_exact_on_integers(width, n_rows):
    rng = np.random.default_rng(n_rows)
    left, right = rng.integers(-9, 9, (2, n_rows + ROWS, width)).astype(float)
    table = rng.integers(-9, 9, (width, width)).astype(float)
    for n_terms in (1, width - 3, width):
        result = np.full_like(left, np.nan)
        multiply(left, table, n_rows, n_terms, result)
        np.testing.assert_array_equal(result[:n_rows], left[:n_rows, :n_terms] @ table[:n_terms])
        assert np.isnan(result[-(-n_rows // ROWS) * ROWS :]).all()
    total = table.copy()
    add_outer_products(left, right, n_rows, total)
    np.testing.assert_array_equal(total, table + left[:n_rows].T @ right[:n_rows])


def test_widths_are_whole_vectors_and_no_large_power_of_two():
    assert [width_for(n) for n in (1, 8, 9, 45, 128, 248)] == [8, 8, 16, 48, 128, 248]
    assert [width_for(n) for n in (249, 256, 264, 265, 512)] == [264, 264, 264, 280, 520]
    assert all(width_for(n) % LANES == 0 for n in range(1, 600))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n_states", "lengths"),
    [(1, [3, 1]), (2, [5, 1, 3, 3]), (3, [4, 1, 2, 4, 1]), (8, [3, 1, 2]), (9, [1, 3, 3])],
)
def test_against_enumeration(n_states, lengths, seed):
    weights, words, lattice, starts = random_case(seed, n_states, lengths, missing=0.2)
    counts, total, _ = side_by_side(weights, lattice, starts)
    table = np.vstack([weights.transition, weights.start])
    emission = weights.emission.reshape(-1, n_states)
    exact, log_z = (
        ChainWeights(np.zeros(n_states), *map(np.zeros_like, (table[:-1], emission))),
        0.0,
    )
    for begin, end in pairwise(starts):
        symbols = [None if word == MISSING else int(word) for word in words[begin:end]]
        marginals = brute.marginals(symbols, table, emission.T)
        exact.start[:] += marginals[0]
        exact.transition[:] += brute.pair_marginals(symbols, table, emission.T).sum(axis=0)
        for symbol, row in zip(symbols, marginals, strict=True):
            if symbol is not None:
                exact.emission[symbol] += row
        log_z += brute.log_likelihood(symbols, table, emission.T)
    np.testing.assert_allclose(counts.start, exact.start, atol=1e-12)
    np.testing.assert_allclose(counts.transition, exact.transition, atol=1e-12)
    np.testing.assert_allclose(counts.emission, exact.emission.ravel(), atol=1e-12)
    assert total == pytest.approx(log_z, abs=1e-11)


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("n_states", [2, 7, 16, 17, 45, 130, 257])
@pytest.mark.parametrize("n_sequences", [2, 13, 75])
def test_against_one_sequence_at_a_time(n_states, n_sequences):
    lengths = np.random.default_rng(n_sequences).integers(1, 15, n_sequences)
    weights, _, lattice, starts = random_case(n_states, n_states, lengths)
    counts, total, _ = side_by_side(weights, lattice, starts)
    expected, log_z = one_at_a_time(weights, lattice, starts)
    for got, exact in zip(counts, expected, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-10, atol=1e-13)
    assert total == pytest.approx(log_z, rel=1e-13)


@pytest.mark.parametrize("n_states", [3, 8])
def test_states_of_zero_weight_have_no_counts(n_states):
    weights, _, lattice, starts = random_case(0, n_states, [4, 9, 2, 2, 1])
    weights.start[1] = 0.0
    weights.transition[:, 1] = 0.0
    counts, _, _ = side_by_side(weights, lattice, starts)
    assert counts.start[1] == 0
    assert not counts.transition[:, 1].any()
    assert not counts.transition[1].any()
    assert not counts.emission.reshape(-1, n_states)[:, 1].any()
    assert counts.start.sum() == pytest.approx(5)
    assert counts.transition.sum() == pytest.approx(starts[-1] - 5)


@pytest.mark.parametrize("scales", [(1e-149, 1e-200), (1e-200, 1e-149, 1e-10), (1e145, 1e250, 3.0)])
def test_scales_whose_product_leaves_float64(scales):
    # Each alone is in its range.
    n = len(scales)
    weights = ChainWeights(np.ones(1), np.ones((1, 1)), np.array(scales))
    lattice, starts = lattice_of_words(np.tile(np.arange(n), 2), 1), np.array([0, n, 2 * n])
    counts, total, lost = side_by_side(weights, lattice, starts)
    np.testing.assert_allclose(total, 2 * np.log(scales).sum(), rtol=1e-14)
    np.testing.assert_allclose(counts.emission, 2.0, rtol=1e-14)
    assert lost == []


def test_what_is_little_beside_a_tiny_scale_keeps_its_digits():
    weights = ChainWeights(np.ones(2), np.ones((2, 2)), np.array([1e-200, 1e-200, 1e-100, 1e-118]))
    lattice, starts = lattice_of_words(np.tile([0, 1], 2), 2), np.array([0, 2, 4])
    counts, _, lost = side_by_side(weights, lattice, starts)
    np.testing.assert_allclose(counts.emission, [1, 1, 2, 2e-18], rtol=1e-11)
    assert lost == []


@pytest.mark.parametrize("factor", [1e-300, 1e300, 0.0])
def test_numbers_beyond_float64_give_nan_and_add_nothing(factor):
    weights, words, lattice, starts = random_case(1, 5, [9, 4, 6])
    weights.emission.reshape(-1, 5)[words[0]] *= factor
    counts, total, lost = side_by_side(weights, lattice, starts)
    assert np.isnan(total)
    assert lost == [i for i, span in enumerate(pairwise(starts)) if words[0] in words[slice(*span)]]
    assert not any(table.any() for table in counts)


def test_what_overflows_backward_gives_nan():
    # State 1 fades for 200 tokens, far below float64, and alone explains the last one.
    words = np.append(np.zeros(200, int), 1)
    weights = ChainWeights(np.full(2, 0.5), np.eye(2), np.array([1.0, 1e-3, 0.0, 1.0]))
    words, starts = np.append(np.tile(words, 2), [0, 1]), np.array([0, 201, 402, 404])
    counts, total, lost = side_by_side(weights, lattice_of_words(words, 2), starts)
    assert np.isnan(total)
    assert lost == [0, 1]
    assert not any(table.any() for table in counts)


@pytest.mark.parametrize("n_states", [3, 20])
def test_a_fit_is_the_same_from_both_kernels(n_states, monkeypatch):
    rng = np.random.default_rng(0)
    X = [
        [None if rng.random() < 0.1 else int(word) for word in rng.integers(9, size=length)]
        for length in rng.integers(2, 20, 40)
    ]
    model = EMHMM(
        n_states, emission=Symbols(handle_unknown="error"), max_iter=5, tol=0, random_state=0
    )
    batched = model.fit(X).history_
    monkeypatch.setattr(engines, "_fits_side_by_side", lambda problem: False)
    np.testing.assert_allclose(model.fit(X).history_, batched, rtol=1e-11)


def test_a_sweep_that_failed_leaves_nothing_in_the_buffers():
    X = [[0, 1, 2, 1], [2, 2, 1, 1, 0], [1, 0, 0]]
    model = EMHMM(3, emission=Symbols(handle_unknown="error"), random_state=0)
    problem, rng = model._read(X, None).problem, np.random.default_rng(0)
    weights = parameter_weights(problem.cells, rng)
    broken = weights._replace(emission=np.full_like(weights.emission, np.nan))
    first = engines.engines_of(problem)
    fill_tables(broken, problem.lattice, problem.cells.n_states, first.side_by_side[0].tables)
    share = infer_batch(broken, problem.cells, problem, first.side_by_side[0])
    assert np.isnan(share.log_normaliser)
    assert share.lost.tolist() == [0, 1, 2]
    found = expectation(weights, problem, first)
    expected = expectation(weights, problem, engines.engines_of(problem))
    assert found.work is first
    assert found.log_normaliser == expected.log_normaliser
    for table, other in zip(found.counts, expected.counts, strict=True):
        np.testing.assert_array_equal(table, other)


def test_a_fit_does_not_keep_the_buffers_of_its_sweeps():
    X = [[0, 1, 2, 1], [2, 2, 1, 1, 0], [1, 0, 0]]
    model = EMHMM(3, max_iter=2, tol=0, warm_start=True, random_state=0).fit(X)
    assert model._learned.warm_start[1].state.work is None
    further = EMHMM(3, max_iter=4, tol=0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.fit(X).history_, further.history_[2:])
