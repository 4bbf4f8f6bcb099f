"""The collapsed sampler of whole sequences, with a Metropolis correction.

Gao and Johnson (2008), "A comparison of Bayesian estimators for unsupervised hidden Markov model
POS taggers", EMNLP; Johnson, Griffiths and Goldwater (2007). A sequence's counts are taken out, a
new path is drawn from the weights of the rest as if they were fixed, and it replaces the old one
with probability min(1, r),

    r = [p(z' | rest) / p(z | rest)] [w(z) / w(z')],

where p lets the counts grow along the path and w does not. At temperature tau all four are raised
to 1 / tau. What is certain in a sequence (tokens with one allowed state) stays counted: it is the
same in both paths.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.hmm.run_sampling import draw_run, n_ambiguous, run_work, span_of
from sklearn_cvb.hmm.units import Tally, tally_of
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.runs import Factors

# Products of weights are turned into logs before they leave this range.
_SMALLEST_PRODUCT, _LARGEST_PRODUCT = 1e-150, 1e150


class Urn(NamedTuple):
    """Actual counts, their prior, and the weights (count + prior) ** power of both.

    Weights are made anew from whole counts whenever these change: rounding never builds up, however
    small the prior.
    """

    counts: Tally
    prior: Tally
    weights: Tally
    power: float


def urn_of(counts, prior, cells, temperature):
    """The urn of a path's counts; the counts are copied."""
    counts = HMMCounts(*(table.copy() for table in counts))
    tables = tally_of(counts, prior, cells)
    if temperature != 1.0:
        tables = Tally(*(table ** (1.0 / temperature) for table in tables))
    return Urn(
        tally_of(counts, None, cells),
        Tally(
            prior.start,
            prior.transition,
            prior.transition_total,
            prior.emission,
            prior.emission_total,
        ),
        tables,
        1.0 / temperature,
    )


@jit_token
def _weight(value, power):
    return value if power == 1.0 else value**power


@jit_token
def _shift_step(urn, before, to, change):
    """Count a transition more or less."""
    counts, prior, weights, power = urn
    counts.transition[before, to] += change
    counts.out[before] += change
    value = counts.transition[before, to] + prior.transition[before, to]
    weights.transition[before, to] = _weight(value, power)
    weights.out[before] = _weight(counts.out[before] + prior.out[before], power)


@jit_token
def _shift_first(urn, state, change):
    """Count a start state more or less."""
    counts, prior, weights, power = urn
    counts.start[state] += change
    weights.start[state] = _weight(counts.start[state] + prior.start[state], power)


@jit_token
def _shift_emission(urn, cell, state, change):
    """Count an emission more or less."""
    counts, prior, weights, power = urn
    counts.emission[cell] += change
    counts.emit[state] += change
    weights.emission[cell] = _weight(counts.emission[cell] + prior.emission[cell], power)
    weights.emit[state] = _weight(counts.emit[state] + prior.emit[state], power)


@jit
def walk(urn, lattice, span, bounds, slots, change):
    """Log weight of a run's path and of the steps to its borders (nats, at temperature 1).

    With `change` -1 its counts are taken out on the way and with 1 added: the weight is then that
    of a path whose own counts grow along it. With 0 the counts stay.
    """
    counts, prior, _, _ = urn
    log_weight, product = 0.0, 1.0
    end = min(span[1] + 1, bounds[1])
    for t in range(span[0], end):
        numerator, denominator = 1.0, 1.0
        slot = np.uint64(slots[t])
        state = lattice.state[slot]
        if t == bounds[0]:
            if change < 0.0:
                _shift_first(urn, state, change)
            # The total of the start row is the same for all paths.
            numerator = counts.start[state] + prior.start[state]
            if change > 0.0:
                _shift_first(urn, state, change)
        else:
            before = lattice.state[np.uint64(slots[t - 1])]
            if change < 0.0:
                _shift_step(urn, before, state, change)
            numerator = counts.transition[before, state] + prior.transition[before, state]
            denominator = counts.out[before] + prior.out[before]
            if change > 0.0:
                _shift_step(urn, before, state, change)
        cell = lattice.cell[slot]
        if cell >= 0 and t < span[1]:
            here = np.uint64(cell)
            if change < 0.0:
                _shift_emission(urn, here, state, change)
            numerator *= counts.emission[here] + prior.emission[here]
            denominator *= counts.emit[state] + prior.emit[state]
            if change > 0.0:
                _shift_emission(urn, here, state, change)
        product *= numerator / denominator
        if not (_SMALLEST_PRODUCT < product < _LARGEST_PRODUCT):
            log_weight += math.log(product)
            product = 1.0
    return log_weight + math.log(product)


@jit_token
def _walk_runs(urn, lattice, first, last, runs, bounds, slots, change):
    """`walk` over all runs of a sequence."""
    total = 0.0
    for run in range(first, last):
        total += walk(urn, lattice, span_of(runs, run), bounds, slots, change)
    return total


@jit_token
def _scales(urn, factors):
    """Reciprocals by state: cheaper than a division for each entry."""
    weights = urn.weights
    for k in range(weights.emit.size):
        factors.last_scale[k] = 1.0 / weights.emit[k]
        factors.scale[k] = factors.last_scale[k] / weights.out[k]


@jit
def sweep_sequences(urn, factors, lattice, starts, runs, slots, drawn, levels, chances, work):
    """Propose a new path for each sequence in turn, and accept it or not.

    Parameters
    ----------
    urn : Urn
        Counts of `slots`; changed in place like these.
    factors : Factors
        Start, transition and emission weights of `urn`, and buffers for the scales.
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
    runs : Runs
    slots, drawn : ndarray of shape (n_tokens,), int32
        The path, and a copy of it.
    levels : ndarray of shape (n_ambiguous,)
        A uniform number for each ambiguous token.
    chances : ndarray of shape (n_sequences,)
        A uniform number for each sequence: 0 accepts every proposal.
    work : Work

    Returns
    -------
    n_accepted, n_proposed : int
    """
    at = 0
    n_accepted, n_proposed = 0, 0
    for i in range(starts.size - 1):
        first, last = runs.sequence[i], runs.sequence[i + 1]
        if first == last:
            continue
        bounds = starts[i], starts[i + 1]
        n_proposed += 1
        grown = _walk_runs(urn, lattice, first, last, runs, bounds, slots, -1.0)
        _scales(urn, factors)
        possible = True
        for run in range(first, last):
            span = span_of(runs, run)
            if not draw_run(factors, lattice, span, bounds, levels, at, drawn, work):
                possible = False
            at += span[1] - span[0]
        accepted = False
        if possible:
            grown -= _walk_runs(urn, lattice, first, last, runs, bounds, slots, 0.0)
            grown_new = -_walk_runs(urn, lattice, first, last, runs, bounds, drawn, 0.0)
            grown_new += _walk_runs(urn, lattice, first, last, runs, bounds, drawn, 1.0)
            # Not a number: the old path was impossible.
            accepted = not math.log(chances[i]) > urn.power * (grown_new - grown)
            if not accepted:
                _walk_runs(urn, lattice, first, last, runs, bounds, drawn, -1.0)
        source, target = (drawn, slots) if accepted else (slots, drawn)
        for run in range(first, last):
            for t in range(runs.begin[run], runs.end[run]):
                target[t] = source[t]
        if accepted:
            n_accepted += 1
        else:
            _walk_runs(urn, lattice, first, last, runs, bounds, slots, 1.0)
    return n_accepted, n_proposed


def sweep_by_sequence(problem, counts, prior, slots, temperature, rng):
    """One sweep over all sequences.

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
        The path after the sweep.
    counts : HMMCounts
        Its counts.
    n_accepted, n_proposed : int
        Proposals; sequences without an ambiguous token get none.
    """
    cells, lattice, runs = problem.cells, problem.lattice, problem.runs
    starts = problem.corpus.starts
    urn = urn_of(counts, prior, cells, temperature)
    factors = Factors(
        urn.weights.start,
        urn.weights.transition,
        urn.weights.emission,
        *np.empty((2, cells.n_states)),
    )
    slots = slots.copy()
    n_accepted, n_proposed = sweep_sequences(
        urn,
        factors,
        lattice,
        starts,
        runs,
        slots,
        slots.copy(),
        rng.random(n_ambiguous(runs)),
        rng.random(len(starts) - 1),
        run_work(problem),
    )
    counts = HMMCounts(urn.counts.start, urn.counts.transition, urn.counts.emission)
    return slots, counts, n_accepted, n_proposed
