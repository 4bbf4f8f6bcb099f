"""Sequences that keep the sum of their pairs, taken out and put back, against the general way."""

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, CVBHMMTagger
from sklearn_cvb.hmm.leave_out import _fill_weights, _store_pairs
from sklearn_cvb.hmm.leave_out_sums import put_back_sum, take_out_sum
from sklearn_cvb.hmm.tallies import floor_of, tally_of
from sklearn_cvb.hmm.units import shift_unit, unit_work
from sklearn_cvb.kernels.chain.forward_backward import forward_backward

WORDS = list("abcdef")
# Three words that may take every tag of six, one certain and two with two tags.
LEGAL = {"a": list("STUVWX"), "b": "S", "c": ["T", "U"], "d": ["V", "X"]}


def problem_and_state(kind):
    """A problem whose units keep the sum of their pairs, and where CVB starts on it."""
    rng = np.random.default_rng(3)
    words = [*WORDS, None] if kind == "missing" else WORDS
    X = [list(rng.choice(words, size=n)) for n in rng.integers(30, 60, 8)]
    if kind == "dictionary":
        model = CVBHMMTagger(LEGAL, alpha=0.3, beta=0.2, random_state=0)
    else:
        block_length = 25 if kind == "windows" else None
        model = CVBHMM(4, block_length=block_length, alpha=0.3, beta=0.2, random_state=0)
    problem = model._problem(X, None)
    state, _ = model._sweep(model._start(problem, rng), problem, rng)
    assert state.units.summed.all()
    return problem, state


def copies(tables):
    """Tables of their own."""
    return type(tables)(*(table.copy() for table in tables))


@pytest.mark.parametrize("kind", ["plain", "missing", "windows", "dictionary"])
def test_sums_and_the_general_way_agree(kind):
    problem, state = problem_and_state(kind)
    units, lattice, n_states = state.units, problem.lattice, problem.cells.n_states
    tables, floor = tally_of(state.counts, state.prior, problem.cells), floor_of(state.prior)
    work, by_state = unit_work(units, problem), np.full((2, n_states), np.nan)
    carry, right = np.full(n_states, 1 / n_states), np.ones((len(units.begin), n_states))
    moved = 0.0
    for i in range(len(units.begin)):
        ours, theirs = copies(tables), copies(tables)
        steps = ours.transition.reshape(-1)
        take_out_sum(ours, floor, steps, i, units, lattice, state.posterior, state.pairs, by_state)
        shift_unit(theirs, floor, i, units, lattice, state.posterior, state.pairs, -1.0, work.block)
        for one, other, before in zip(ours, theirs, tables, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)
            moved += np.abs(one - before).sum()
        start = work.ones if units.borrowed[i] else theirs.start
        size = _fill_weights(theirs, i, units, lattice, carry, right, True, work)
        log_z = forward_backward(
            start, theirs.transition, lattice, units.begin[i], units.end[i], size, work
        )
        assert np.isfinite(log_z)
        posterior, pairs = state.posterior.copy(), state.pairs.copy()
        put_back_sum(ours, steps, i, units, lattice, posterior, pairs, work, by_state)
        other_posterior, other_pairs = state.posterior.copy(), state.pairs.copy()
        _store_pairs(theirs, work.table, i, units, lattice, work, False, other_pairs)
        other_posterior[units.entry[i] : units.entry[i + 1]] = work.posterior[:size]
        shift_unit(theirs, floor, i, units, lattice, other_posterior, other_pairs, 1.0, work.block)
        np.testing.assert_array_equal(posterior, other_posterior)
        np.testing.assert_allclose(pairs, other_pairs, rtol=1e-11)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)
    # A sequence of T tokens counts T emissions, T - 1 steps and a start, and all their totals.
    n_tokens, n_sequences = problem.corpus.n_observed, problem.corpus.n_sequences
    n_steps = len(problem.corpus.tokens) - n_sequences
    assert moved == pytest.approx(2 * n_tokens + 2 * n_steps + n_sequences, rel=1e-9)


def test_rounding_leaves_no_cell_below_its_prior():
    problem, state = problem_and_state("plain")
    tables, floor = tally_of(state.counts, state.prior, problem.cells), floor_of(state.prior)
    # Posteriors that are larger than all that has been counted.
    posterior, pairs = 100 * state.posterior, 100 * state.pairs
    steps, by_state = tables.transition.reshape(-1), np.empty((2, problem.cells.n_states))
    take_out_sum(tables, floor, steps, 0, state.units, problem.lattice, posterior, pairs, by_state)
    for table, bound in zip(tables, floor[:5], strict=True):
        assert (table >= bound).all()
    assert (tables.out == floor.out).all()
