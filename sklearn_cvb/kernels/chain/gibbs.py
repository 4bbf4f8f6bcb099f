"""Gibbs sampling of chains: of one token at a time, of a stretch of ambiguous tokens, or of a whole
sequence by a Hastings step. A path is kept as the slot of every token in the lattice, an urn holds
the counts of paths with their prior, and levels are uniform random numbers.

A sampled path is kept as the slot of every token in the lattice: its state is
``lattice.state[slot]``, its emission cell ``lattice.cell[slot]``.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import forward_pass
from sklearn_cvb.kernels.chain.leave_out import ChainTally
from sklearn_cvb.kernels.chain.log_space import fill_logs, forward_pass_log, single
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token, opaque

# What `VisitOrder.border` is made of.
FIRST, LAST = 1, 2
# Below this the states that underflow on the way forward might matter after all.
_SMALLEST_CHANCE = 1e-200
# Products of weights are turned into logs before they leave this range.
_SMALLEST_PRODUCT, _LARGEST_PRODUCT = 1e-150, 1e150


class Path(NamedTuple):
    """A sampled path."""

    state: np.ndarray  # (n_tokens,), uint32, state of every token
    slot: np.ndarray  # (n_tokens,), int32, its slot in the lattice


class VisitOrder(NamedTuple):
    """Tokens that have a choice, in the order in which a sweep visits them."""

    token: np.ndarray  # (n_visits,), int32
    border: np.ndarray  # (n_visits,), int8: FIRST and LAST of a sequence, both, or 0


class ChainFactors(NamedTuple):
    """Weights of a chain whose rows need not sum to 1.

    A token in state k weighs ``emission[cell] * scale[k]``, the last one of a sequence
    ``emission[cell] * last_scale[k]``; unobserved, it weighs their ratio or 1.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    scale: np.ndarray
    last_scale: np.ndarray


class AmbiguousStretches(NamedTuple):
    """Stretches of ambiguous tokens and the sequences that hold them."""

    begin: np.ndarray  # (n_stretches,), int32, first token of each stretch
    end: np.ndarray  # (n_stretches,), int32, the one after its last
    level_starts: np.ndarray  # (n_stretches,), int64, where its random numbers begin
    stretch_starts: np.ndarray  # (n_sequences + 1,), int64, where its stretches begin
    starts: np.ndarray  # (n_sequences + 1,), int64, where each sequence begins


class Urn(NamedTuple):
    """Actual counts, their prior, and the weights (count + prior) ** power of both.

    Weights are made anew from whole counts whenever these change: rounding never builds up, however
    small the prior.
    """

    counts: ChainTally
    prior: ChainTally
    weights: ChainTally
    power: float


class Proposal(NamedTuple):
    """Paths before and after a step, and the random numbers that decide on it."""

    slots: np.ndarray  # (n_tokens,), int32, the path
    drawn: np.ndarray  # a copy of it that receives what is proposed
    levels: np.ndarray  # a uniform number for each ambiguous token
    chances: np.ndarray  # (n_sequences,), uniform numbers: 0 accepts every proposal


# One token at a time, given all others: figure 1 of Wang and Blunsom (2013)


@jit_inline
def _pick(weights, n, level):
    """Index below n, drawn with probability proportional to its weight; `level` is uniform."""
    total = 0.0
    for j in range(n):
        total += weights[j]
    bound = level * total
    picked, cumulative = np.uintp(0), 0.0
    for j in range(n - np.uintp(1)):
        cumulative += weights[j]
        picked += np.uintp(cumulative <= bound)
    # Rounding may leave nothing: never pick a state without weight.
    while picked > 0 and weights[picked] == 0.0:
        picked -= np.uintp(1)
    return picked


@jit_inline
def _race(weights, noise, begin, n, own):
    """Index below n of the largest weight times noise; `own` where all of them are 0."""
    picked, highest, j = own, 0.0, np.uintp(0)
    while j < opaque(n):
        score = weights[j] * noise[begin + j]
        picked = j if score > highest else picked
        highest = score if score > highest else highest
        j += np.uintp(1)
    return picked


@jit_inline
def _weigh(tally, k, cell, own, before, after, border):
    """Weight of state k in figure 1, from counts that still hold the token as `own`."""
    counted = 1.0 if k == own else 0.0
    first, last = border & FIRST, border & LAST
    if first:
        weight = tally.start[k] - counted
    else:
        # Both transitions of the token may be the same.
        twice = 1.0 if before == own and k == after and not last else 0.0
        weight = tally.transition[before, k] - counted - twice
    divisor = 1.0
    if cell >= 0:
        weight *= tally.emission[np.uintp(cell)] - counted
        divisor = tally.emit[k] - counted
    if not last:
        # The transition to k may itself be counted among those from k.
        both = 0.0
        if k == before and not first:
            both = (1.0 if after == k else 0.0) - (1.0 if after == own else 0.0)
        weight *= tally.transition[k, after] - counted + both
        divisor *= tally.out[k] - counted
    return weight / divisor


@jit_inline
def _move(tally, cell, to_cell, own, to, before, after, border):
    """Count a token as state `to`, no longer as `own`."""
    if cell >= 0:
        tally.emission[np.uintp(cell)] -= 1.0
        tally.emission[np.uintp(to_cell)] += 1.0
        tally.emit[own] -= 1.0
        tally.emit[to] += 1.0
    if border & FIRST:
        tally.start[own] -= 1.0
        tally.start[to] += 1.0
    else:
        tally.transition[before, own] -= 1.0
        tally.transition[before, to] += 1.0
    if not border & LAST:
        tally.transition[own, after] -= 1.0
        tally.transition[to, after] += 1.0
        tally.out[own] -= 1.0
        tally.out[to] += 1.0


@jit
def draw_tokens(lattice, posterior, levels, slots):
    """Draw the slot of each token from its own posterior, by uniform `levels` (n_tokens,)."""
    position = np.int64(0)
    for t in range(slots.size):
        n = np.uintp(lattice.count[t])
        picked = _pick(posterior[position : position + lattice.count[t]], n, levels[t])
        slots[t] = lattice.first[t] + picked
        position += lattice.count[t]


@jit
def resample_tokens(tally, lattice, visits, path, numbers, races, chance):
    """Draw the state of every visited token from figure 1's conditional, counts updated at once.

    Where the states race, `numbers` has Gumbel noise for every state of every visited token, as a
    factor: the largest weight times noise wins. Else it has a uniform number for every visited
    token. ``chance`` (K,) is a buffer.
    """
    position = np.uintp(0)
    # Unsigned indices: numba need not look for negative ones.
    for visit in range(np.uintp(visits.token.size)):
        t, border = np.uintp(visits.token[visit]), visits.border[visit]
        n, base = np.uintp(lattice.count[t]), np.uintp(lattice.first[t])
        own, slot = np.uintp(path.state[t]), np.uintp(path.slot[t])
        before = np.uintp(0) if border & FIRST else np.uintp(path.state[t - np.uintp(1)])
        after = np.uintp(0) if border & LAST else np.uintp(path.state[t + np.uintp(1)])
        for j in range(n):
            k, cell = np.uintp(lattice.state[base + j]), lattice.cell[base + j]
            chance[j] = _weigh(tally, k, cell, own, before, after, border)
        if races:
            picked = _race(chance, numbers, position, n, slot - base)
            position += n
        else:
            picked = _pick(chance, n, numbers[position])
            position += np.uintp(1)
        # Most tokens keep their state, and then there is nothing to store.
        if base + picked != slot:
            to = np.uintp(lattice.state[base + picked])
            cell, to_cell = lattice.cell[slot], lattice.cell[base + picked]
            _move(tally, cell, to_cell, own, to, before, after, border)
            path.slot[t], path.state[t] = base + picked, to


# Stretches, given the certain tokens at their borders: filter forward, sample backward. A stretch
# is a run of ambiguous tokens; without a dictionary it is a whole sequence.


@jit_inline
def fill_scales(counts, factors):
    """Reciprocals by state: cheaper than a division for each entry."""
    for k in range(counts.emit.size):
        factors.last_scale[k] = 1.0 / counts.emit[k]
        factors.scale[k] = factors.last_scale[k] / counts.out[k]


@jit_token
def _entry_weight(factors, lattice, slot, is_last):
    """Emission factor of one (token, state) entry."""
    state = lattice.state[slot]
    cell = lattice.cell[slot]
    if cell < 0:
        return 1.0 if is_last else factors.scale[state] / factors.last_scale[state]
    return factors.emission[cell] * (factors.last_scale if is_last else factors.scale)[state]


@jit_inline
def span_of(stretches, stretch):
    """First token of a stretch and the one after its last."""
    return np.int64(stretches.begin[stretch]), np.int64(stretches.end[stretch])


@jit_inline
def _fill_emissions(factors, lattice, span, bounds, emission):
    """Fill in the emission factors of a stretch; returns the number of entries."""
    position = np.int64(0)
    for t in range(span[0], span[1]):
        base, n, is_last = lattice.first[t], lattice.count[t], t == bounds[1] - 1
        cell = lattice.cell[base]
        if n == factors.start.size and cell >= 0:
            scale = factors.last_scale if is_last else factors.scale
            for j in range(n):
                weight = factors.emission[np.uint64(cell + j)] * scale[np.uint64(j)]
                emission[np.uint64(position + j)] = weight
        else:
            for j in range(n):
                weight = _entry_weight(factors, lattice, base + j, is_last)
                emission[np.uint64(position + j)] = weight
        position += n
    return position


@jit_inline
def _step_into(factors, lattice, span, bounds):
    """Weights of the step into a stretch, by state: (K,)."""
    row = factors.start
    if span[0] > bounds[0]:
        row = factors.transition[lattice.state[lattice.first[span[0] - 1]]]
    return row


@jit_inline
def filter_stretch(factors, lattice, span, bounds, work):
    """Fill ``work.forward`` with p(z_t | x up to t) for the tokens `span` in sequence `bounds`.

    Returns the log weight of the stretch and of the steps to its borders (nats); NaN where float64
    may have lost mass.
    """
    size = _fill_emissions(factors, lattice, span, bounds, work.emission)
    if span[1] < bounds[1]:
        base, n = lattice.first[span[1] - 1], np.int64(lattice.count[span[1] - 1])
        after = lattice.state[lattice.first[span[1]]]
        for j in range(n):
            step = factors.transition[lattice.state[base + j], after]
            work.emission[size - n + j] *= step
    row, emission = _step_into(factors, lattice, span, bounds), work.emission
    return forward_pass(
        row, factors.transition, lattice, span[0], span[1], emission, work.forward, work.scale
    )


@jit_called
def filter_in_logs(factors, lattice, span, bounds, work):
    """`filter_stretch` in log space: logs of the messages; returns -inf if no path is left."""
    size = _fill_emissions(factors, lattice, span, bounds, work.emission)
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    fill_logs(_step_into(factors, lattice, span, bounds), work.log_row)
    for k in range(work.table.shape[0]):
        fill_logs(factors.transition[k], work.table[k])
    if span[1] < bounds[1]:
        base, n = lattice.first[span[1] - 1], np.int64(lattice.count[span[1] - 1])
        after = lattice.state[lattice.first[span[1]]]
        for j in range(n):
            work.emission[size - n + j] += work.table[lattice.state[base + j], after]
    return forward_pass_log(work.log_row, single(work.table), None, lattice, span[0], span[1], work)


@jit_inline
def _draw_index(cumulative, n, level):
    """Index below n by its share of the running sums; one without weight is never drawn."""
    bound = level * cumulative[n - 1]
    picked = 0
    for j in range(n - 1):
        picked += 1 if cumulative[np.uint64(j)] <= bound else 0
    # Rounding may leave nothing above the bound.
    while picked > 0 and cumulative[picked] == cumulative[picked - 1]:
        picked -= 1
    return picked


@jit_called
def draw_stretch(factors, lattice, span, bounds, levels, number, slots, work):
    """Draw the slots of the tokens `span`, in the sequence `bounds`, given their neighbours.

    `levels` holds a uniform number for each of them, from `number` on. Returns False where float64
    may have lost mass: use `draw_stretch_in_logs`.
    """
    if math.isnan(filter_stretch(factors, lattice, span, bounds, work)):
        return False
    position = np.int64(0)
    for t in range(span[0], span[1]):
        position += lattice.count[t]
    message, cumulative = work.forward, work.row
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        total = 0.0
        if t == span[1] - 1:
            for j in range(n):
                total += message[np.uint64(position + j)]
                cumulative[np.uint64(j)] = total
        else:
            after = lattice.state[slots[t + 1]]
            for j in range(n):
                step = factors.transition[lattice.state[np.uint64(base + j)], after]
                total += message[np.uint64(position + j)] * step
                cumulative[np.uint64(j)] = total
        if not total > _SMALLEST_CHANCE:
            return False
        slots[t] = base + _draw_index(cumulative, n, levels[number + t - span[0]])
    return True


@jit
def draw_stretches(factors, lattice, stretches, levels, slots, is_lost, work):
    """Draw the slots of all stretches given weights; certain tokens keep theirs.

    ``is_lost`` (n_stretches,) receives which want `draw_stretch_in_logs`.
    """
    for i in range(stretches.starts.size - 1):
        bounds = stretches.starts[i], stretches.starts[i + 1]
        for stretch in range(stretches.stretch_starts[i], stretches.stretch_starts[i + 1]):
            span, number = span_of(stretches, stretch), stretches.level_starts[stretch]
            drawn = draw_stretch(factors, lattice, span, bounds, levels, number, slots, work)
            is_lost[stretch] = not drawn


@jit
def draw_stretch_in_logs(factors, lattice, span, bounds, levels, number, slots, work):
    """`draw_stretch` in log space, for weights whose products leave float64.

    Returns False where no path is left; `slots` is then as it was.
    """
    message, cumulative = work.forward, work.row
    if filter_in_logs(factors, lattice, span, bounds, work) == -math.inf:
        return False
    position = np.int64(0)
    for t in range(span[0], span[1]):
        position += lattice.count[t]
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        after = lattice.state[slots[t + 1]] if t < span[1] - 1 else lattice.state[base]
        largest = -math.inf
        for j in range(n):
            cumulative[j] = message[position + j]
            if t < span[1] - 1:
                cumulative[j] += work.table[lattice.state[base + j], after]
            largest = max(largest, cumulative[j])
        total = 0.0
        for j in range(n):
            total += math.exp(cumulative[j] - largest)
            cumulative[j] = total
        slots[t] = base + _draw_index(cumulative, n, levels[number + t - span[0]])
    return True


# Whole sequences: a new path is proposed, and accepted or not (Metropolis). Gao and Johnson (2008),
# "A comparison of Bayesian estimators for unsupervised hidden Markov model POS taggers", EMNLP;
# Johnson, Griffiths and Goldwater (2007). A sequence's counts are taken out, a new path is drawn
# from the weights of the rest as if they were fixed, and it replaces the old one with probability
# min(1, r),
#
#     r = [p(z' | rest) / p(z | rest)] [w(z) / w(z')],
#
# where p lets the counts grow along the path and w does not. At temperature tau all four are raised
# to 1 / tau. What is certain in a sequence (tokens with one allowed state) stays counted: it is the
# same in both paths.


@jit_inline
def _to_power(value, power):
    return value if power == 1.0 else value**power


@jit_inline
def _shift_step(urn, before, to, change):
    """Count a transition more or less."""
    counts, prior, weights, power = urn
    counts.transition[before, to] += change
    counts.out[before] += change
    value = counts.transition[before, to] + prior.transition[before, to]
    weights.transition[before, to] = _to_power(value, power)
    weights.out[before] = _to_power(counts.out[before] + prior.out[before], power)


@jit_inline
def _shift_first(urn, state, change):
    """Count a start state more or less."""
    counts, prior, weights, power = urn
    counts.start[state] += change
    weights.start[state] = _to_power(counts.start[state] + prior.start[state], power)


@jit_inline
def _shift_emission(urn, cell, state, change):
    """Count an emission more or less."""
    counts, prior, weights, power = urn
    counts.emission[cell] += change
    counts.emit[state] += change
    weights.emission[cell] = _to_power(counts.emission[cell] + prior.emission[cell], power)
    weights.emit[state] = _to_power(counts.emit[state] + prior.emit[state], power)


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
def accept_or_reject(urn, lattice, stretches, proposal, i):
    """Accept the path that is proposed for sequence i, or put the old one back; whether it was
    accepted.

    On entry the counts of `urn` are without the sequence's stretches, on return with those of the
    path kept, which then stands in both ``proposal.slots`` and ``proposal.drawn``.
    """
    slots, drawn, _, chances = proposal
    bounds = stretches.starts[i], stretches.starts[i + 1]
    own = range(stretches.stretch_starts[i], stretches.stretch_starts[i + 1])
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


@jit
def resample_sequences(urn, factors, lattice, stretches, proposal, begin, work):
    """Propose a new path for each sequence from `begin` on, and accept it or not.

    `factors` are the weights of `urn`, with buffers for the scales. Returns the number of
    sequences, or the one whose proposal float64 may have lost, whose counts are taken out; and how
    many were accepted.
    """
    n_accepted = 0
    for i in range(begin, stretches.starts.size - 1):
        own = range(stretches.stretch_starts[i], stretches.stretch_starts[i + 1])
        bounds = stretches.starts[i], stretches.starts[i + 1]
        if stretches.stretch_starts[i] == stretches.stretch_starts[i + 1]:
            continue
        for stretch in own:
            span = span_of(stretches, stretch)
            _shift_stretch(urn, lattice, span, bounds, proposal.slots, -1.0)
        fill_scales(urn.weights, factors)
        is_whole = True
        for stretch in own:
            span, number = span_of(stretches, stretch), stretches.level_starts[stretch]
            is_whole &= draw_stretch(
                factors, lattice, span, bounds, proposal.levels, number, proposal.drawn, work
            )
        if not is_whole:
            return i, n_accepted
        n_accepted += accept_or_reject(urn, lattice, stretches, proposal, i)
    return stretches.starts.size - 1, n_accepted
