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
from sklearn_cvb.hmm.tallies import tally_of
from sklearn_cvb.kernels.chain.runs import Factors
from sklearn_cvb.kernels.chain.tally import Tally
from sklearn_cvb.kernels.jit import jit, jit_token

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


@jit_token
def _shift_run(urn, lattice, span, bounds, slots, change):
    """Count the path of a run, and the steps to its borders, `change` times more."""
    for t in range(span[0], min(span[1] + 1, bounds[1])):
        slot = np.uint64(slots[t])
        state, cell = lattice.state[slot], lattice.cell[slot]
        if t == bounds[0]:
            _shift_first(urn, state, change)
        else:
            _shift_step(urn, lattice.state[np.uint64(slots[t - 1])], state, change)
        if cell >= 0 and t < span[1]:
            _shift_emission(urn, np.uint64(cell), state, change)


@jit
def shift_run(urn, lattice, span, bounds, slots, change):
    """`_shift_run` as a call, for what happens seldom."""
    _shift_run(urn, lattice, span, bounds, slots, change)


@jit
def log_weight(urn, lattice, span, bounds, slots, is_counted):
    """Log weight of a run's path and of the steps to its borders (nats, at temperature 1).

    With `is_counted` its counts are added on the way: the weight is then that of a path whose own
    counts grow along it.
    """
    counts, prior, _, _ = urn
    total, product = 0.0, 1.0
    for t in range(span[0], min(span[1] + 1, bounds[1])):
        slot = np.uint64(slots[t])
        state, cell = lattice.state[slot], lattice.cell[slot]
        denominator = 1.0
        if t == bounds[0]:
            # The total of the start row is the same for all paths.
            numerator = counts.start[state] + prior.start[state]
            if is_counted:
                _shift_first(urn, state, 1.0)
        else:
            before = lattice.state[np.uint64(slots[t - 1])]
            numerator = counts.transition[before, state] + prior.transition[before, state]
            denominator = counts.out[before] + prior.out[before]
            if is_counted:
                _shift_step(urn, before, state, 1.0)
        if cell >= 0 and t < span[1]:
            here = np.uint64(cell)
            numerator *= counts.emission[here] + prior.emission[here]
            denominator *= counts.emit[state] + prior.emit[state]
            if is_counted:
                _shift_emission(urn, here, state, 1.0)
        product *= numerator / denominator
        if not (_SMALLEST_PRODUCT < product < _LARGEST_PRODUCT):
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@jit_token
def _differ(span, slots, drawn):
    """Whether two paths of a run differ."""
    changed = False
    for t in range(span[0], span[1]):
        changed |= slots[t] != drawn[t]
    return changed


@jit_token
def _copy(span, source, target):
    """Copy the path of a run."""
    for t in range(span[0], span[1]):
        target[t] = source[t]


@jit_token
def _scales(urn, factors):
    """Reciprocals by state: cheaper than a division for each entry."""
    weights = urn.weights
    for k in range(weights.emit.size):
        factors.last_scale[k] = 1.0 / weights.emit[k]
        factors.scale[k] = factors.last_scale[k] / weights.out[k]


@jit_token
def _log_ratio(urn, lattice, own, runs, bounds, slots, drawn):
    """Log of r, from counts without the sequence; leaves them with the drawn path.

    Runs that are drawn as they were cancel: they are counted first.
    """
    gain = 0.0
    any_changed = False
    for run in own:
        span = span_of(runs, run)
        if _differ(span, slots, drawn):
            gain += log_weight(urn, lattice, span, bounds, slots, False)
            gain -= log_weight(urn, lattice, span, bounds, drawn, False)
            any_changed = True
    for run in own:
        span = span_of(runs, run)
        if not _differ(span, slots, drawn):
            _shift_run(urn, lattice, span, bounds, drawn, 1.0)
    if not any_changed:
        return 0.0
    for run in own:
        span = span_of(runs, run)
        if _differ(span, slots, drawn):
            gain -= log_weight(urn, lattice, span, bounds, slots, True)
    for run in own:
        span = span_of(runs, run)
        if _differ(span, slots, drawn):
            shift_run(urn, lattice, span, bounds, slots, -1.0)
    for run in own:
        span = span_of(runs, run)
        if _differ(span, slots, drawn):
            gain += log_weight(urn, lattice, span, bounds, drawn, True)
    return gain


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
        own = range(runs.sequence[i], runs.sequence[i + 1])
        if runs.sequence[i] == runs.sequence[i + 1]:
            continue
        bounds = starts[i], starts[i + 1]
        n_proposed += 1
        for run in own:
            _shift_run(urn, lattice, span_of(runs, run), bounds, slots, -1.0)
        _scales(urn, factors)
        possible = True
        for run in own:
            span = span_of(runs, run)
            if not draw_run(factors, lattice, span, bounds, levels, at, drawn, work):
                possible = False
            at += span[1] - span[0]
        if not possible:
            for run in own:
                _copy(span_of(runs, run), slots, drawn)
        gain = _log_ratio(urn, lattice, own, runs, bounds, slots, drawn)
        # Not a number: the old path was impossible.
        accepted = possible and not math.log(chances[i]) > urn.power * gain
        n_accepted += accepted
        for run in own:
            span = span_of(runs, run)
            if accepted:
                _copy(span, drawn, slots)
            elif _differ(span, slots, drawn):
                shift_run(urn, lattice, span, bounds, drawn, -1.0)
                shift_run(urn, lattice, span, bounds, slots, 1.0)
                _copy(span, slots, drawn)
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
