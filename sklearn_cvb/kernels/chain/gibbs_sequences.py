"""Propose a new path for a whole sequence, and accept it or not (Metropolis).

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

from sklearn_cvb.kernels.chain.path_drawing import draw_stretch, span_of
from sklearn_cvb.kernels.chain.tally import Tally
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline

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


class Proposal(NamedTuple):
    """Paths before and after a step, and the random numbers that decide on it.

    Attributes
    ----------
    slots, drawn : ndarray of shape (n_tokens,), int32
        The path, and a copy of it that receives what is proposed.
    levels : ndarray, float64
        A uniform number for each ambiguous token.
    chances : ndarray of shape (n_sequences,), float64
        A uniform number for each sequence: 0 accepts every proposal.
    """

    slots: np.ndarray
    drawn: np.ndarray
    levels: np.ndarray
    chances: np.ndarray


@jit_inline
def _raised(value, power):
    return value if power == 1.0 else value**power


@jit_inline
def _shift_step(urn, before, to, change):
    """Count a transition more or less."""
    counts, prior, weights, power = urn
    counts.transition[before, to] += change
    counts.out[before] += change
    value = counts.transition[before, to] + prior.transition[before, to]
    weights.transition[before, to] = _raised(value, power)
    weights.out[before] = _raised(counts.out[before] + prior.out[before], power)


@jit_inline
def _shift_first(urn, state, change):
    """Count a start state more or less."""
    counts, prior, weights, power = urn
    counts.start[state] += change
    weights.start[state] = _raised(counts.start[state] + prior.start[state], power)


@jit_inline
def _shift_emission(urn, cell, state, change):
    """Count an emission more or less."""
    counts, prior, weights, power = urn
    counts.emission[cell] += change
    counts.emit[state] += change
    weights.emission[cell] = _raised(counts.emission[cell] + prior.emission[cell], power)
    weights.emit[state] = _raised(counts.emit[state] + prior.emit[state], power)


@jit_called
def _shift_stretch(urn, lattice, span, bounds, slots, change):
    """Count the path of a stretch, and the steps to its borders, `change` times more."""
    for t in range(span[0], min(span[1] + 1, bounds[1])):
        slot = np.uint64(slots[t])
        state, cell = lattice.state[slot], lattice.cell[slot]
        if t == bounds[0]:
            _shift_first(urn, state, change)
        else:
            _shift_step(urn, lattice.state[np.uint64(slots[t - 1])], state, change)
        if cell >= 0 and t < span[1]:
            _shift_emission(urn, np.uint64(cell), state, change)


@jit_called
def _log_weight(urn, lattice, span, bounds, slots, growth):
    """Log weight of a stretch's path and of the steps to its borders (nats, at temperature 1).

    With `growth` 1 its counts are added on the way, and the weight is that of a path whose own
    counts grow along it; with 0 they are not.
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
            if growth > 0.0:
                _shift_first(urn, state, growth)
        else:
            before = lattice.state[np.uint64(slots[t - 1])]
            numerator = counts.transition[before, state] + prior.transition[before, state]
            denominator = counts.out[before] + prior.out[before]
            if growth > 0.0:
                _shift_step(urn, before, state, growth)
        if cell >= 0 and t < span[1]:
            here = np.uint64(cell)
            numerator *= counts.emission[here] + prior.emission[here]
            denominator *= counts.emit[state] + prior.emit[state]
            if growth > 0.0:
                _shift_emission(urn, here, state, growth)
        product *= numerator / denominator
        if not (_SMALLEST_PRODUCT < product < _LARGEST_PRODUCT):
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@jit_inline
def _differ(span, slots, drawn):
    """Whether two paths of a stretch differ."""
    changed = False
    for t in range(span[0], span[1]):
        changed |= slots[t] != drawn[t]
    return changed


@jit_inline
def _copy(span, source, target):
    """Copy the path of a stretch."""
    for t in range(span[0], span[1]):
        target[t] = source[t]


@jit_called
def _log_ratio(urn, lattice, own, stretches, bounds, proposal):
    """Log of r, from counts without the sequence; leaves them with the drawn path.

    Stretches that are drawn as they were cancel: they are counted first.
    """
    slots, drawn, _, _ = proposal
    gain = 0.0
    n_changed = 0
    for stretch in own:
        span = span_of(stretches, stretch)
        if _differ(span, slots, drawn):
            gain += _log_weight(urn, lattice, span, bounds, slots, 0.0)
            gain -= _log_weight(urn, lattice, span, bounds, drawn, 0.0)
            n_changed += 1
    for stretch in own:
        span = span_of(stretches, stretch)
        if not _differ(span, slots, drawn):
            _shift_stretch(urn, lattice, span, bounds, drawn, 1.0)
    if n_changed == 0:
        return 0.0
    for stretch in own:
        span = span_of(stretches, stretch)
        if _differ(span, slots, drawn):
            gain -= _log_weight(urn, lattice, span, bounds, slots, 1.0)
    for stretch in own:
        span = span_of(stretches, stretch)
        if _differ(span, slots, drawn):
            _shift_stretch(urn, lattice, span, bounds, slots, -1.0)
    for stretch in own:
        span = span_of(stretches, stretch)
        if _differ(span, slots, drawn):
            gain += _log_weight(urn, lattice, span, bounds, drawn, 1.0)
    return gain


@jit
def decide(urn, lattice, stretches, proposal, i):
    """Accept the path that is proposed for sequence i, or put the old one back.

    On entry the counts of `urn` are without the sequence's stretches, on return with those of the
    path kept, which then stands in both ``proposal.slots`` and ``proposal.drawn``.

    Returns
    -------
    bool
        Whether it was accepted.
    """
    slots, drawn, _, chances = proposal
    bounds = stretches.starts[i], stretches.starts[i + 1]
    own = range(stretches.sequence[i], stretches.sequence[i + 1])
    gain = _log_ratio(urn, lattice, own, stretches, bounds, proposal)
    # Not a number: the old path was impossible.
    accepted = not math.log(chances[i]) > urn.power * gain
    for stretch in own:
        span = span_of(stretches, stretch)
        if accepted:
            _copy(span, drawn, slots)
        elif _differ(span, slots, drawn):
            _shift_stretch(urn, lattice, span, bounds, drawn, -1.0)
            _shift_stretch(urn, lattice, span, bounds, slots, 1.0)
            _copy(span, slots, drawn)
    return accepted


@jit_inline
def _fill_scales(urn, factors):
    """Reciprocals by state: cheaper than a division for each entry."""
    weights = urn.weights
    for k in range(weights.emit.size):
        factors.last_scale[k] = 1.0 / weights.emit[k]
        factors.scale[k] = factors.last_scale[k] / weights.out[k]


@jit
def resample_sequences(urn, factors, lattice, stretches, proposal, begin, room):
    """Propose a new path for each sequence in turn, and accept it or not.

    Parameters
    ----------
    urn : Urn
        Counts of ``proposal.slots``; changed in place like these.
    factors : Factors
        Start, transition and emission weights of `urn`, and buffers for the scales.
    lattice : Lattice
    stretches : Stretches
    proposal : Proposal
    begin : int
        The first sequence.
    room : Room

    Returns
    -------
    i : int
        The sequence whose proposal float64 may have lost; its counts are taken out. The number of
        sequences where all are done.
    n_accepted : int
    """
    n_accepted = 0
    for i in range(begin, stretches.starts.size - 1):
        own = range(stretches.sequence[i], stretches.sequence[i + 1])
        bounds = stretches.starts[i], stretches.starts[i + 1]
        if stretches.sequence[i] == stretches.sequence[i + 1]:
            continue
        for stretch in own:
            span = span_of(stretches, stretch)
            _shift_stretch(urn, lattice, span, bounds, proposal.slots, -1.0)
        _fill_scales(urn, factors)
        is_whole = True
        for stretch in own:
            span, number = span_of(stretches, stretch), stretches.number[stretch]
            is_whole &= draw_stretch(
                factors, lattice, span, bounds, proposal.levels, number, proposal.drawn, room
            )
        if not is_whole:
            return i, n_accepted
        n_accepted += decide(urn, lattice, stretches, proposal, i)
    return stretches.starts.size - 1, n_accepted
