"""Leave-out inference by lists, for sequences of which a dictionary settles most (eqs. 24-25): of
each unit the cells and steps that it shares with the counts are listed once, in parts. Runs are
neighbouring ambiguous tokens.

What a sequence shares with the counts never changes: cells of its words, steps into, inside and out
of its runs of ambiguous tokens, steps between certain ones. It is listed once, in the order of its
use, so that taking it out, weighing it and putting it back are straight loops. Runs of two or three
tokens would cost what nobody can foresee in their loops more than their arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.leave_out import INFER, KEEP, PUT_BACK, TAKE_OUT
from sklearn_cvb.kernels.chain.runs import LARGEST_PRODUCT, SCALED, SMALLEST_PRODUCT
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, opaque
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# The parts of a list. A step is a place in `Shared.steps`.
# CERTAIN: states of the certain tokens. FIXED: steps between them, and the start if it is certain.
# SHARED: cells of certain tokens that ambiguous ones use as well; the others, which are settled,
# have weights that no posterior changes. ENTRY: cell and state of each entry of ambiguous tokens.
# BORDER: entry and step of each way into or out of a run. INSIDE: the steps inside runs, row by
# row. TOKEN: of each ambiguous token its number of states and, if it begins a run, the length of
# the run. LAST: states of the last token. UNSEEN: entry and state of ambiguous tokens without an
# observation, whose cell in ENTRY is one that nobody reads. SILENT: states of certain ones.
CERTAIN, FIXED, SHARED, ENTRY, BORDER, INSIDE, TOKEN, LAST, UNSEEN, SILENT = range(10)
N_PARTS = 10

# Rows of the buffer by state: 1 / emit, 1 / (emit * out), and posteriors added up over certain
# tokens, over all tokens, and over the last one.
_EMITTED, _WEIGHT, _CERTAIN, _EVERY, _LAST = range(5)
N_ROWS = 5


class Lists(NamedTuple):
    """The lists of all units."""

    items: np.ndarray  # uint32, all parts of all lists, one after the other
    parts: np.ndarray  # (n, N_PARTS + 1), int64, where the parts of each list begin, and its end
    entry: np.ndarray  # (n + 1,), int64, where the posteriors of each unit begin
    pair: np.ndarray  # (n + 1,), int64, and its pair marginals


class ListBuffers(NamedTuple):
    """Buffers for one unit."""

    weight: np.ndarray  # weight of each entry
    posterior: np.ndarray  # what a pass finds and does not keep
    block: np.ndarray
    by_state: np.ndarray  # (N_ROWS, K)


@jit_called
def _shift(items, parts, spot, shared, stored, by_state, sign):
    """Take the counts of a unit out (sign -1) or put them back (1)."""
    posterior, emission, steps = stored.posterior, shared.emission, shared.steps
    least, least_step = shared.least, shared.least_step
    for k in range(by_state.shape[1]):
        by_state[_EVERY, k] = by_state[_CERTAIN, k]
        by_state[_LAST, k] = 0.0
    for c in range(parts[SHARED], parts[SHARED + 1]):
        cell = items[np.uint64(c)]
        emission[cell] = max(emission[cell] + sign, least)
    entry, here = spot[0], spot[0]
    for c in range(parts[ENTRY], parts[ENTRY + 1], 2):
        cell, q = items[np.uint64(c)], posterior[np.uint64(here)]
        emission[cell] = max(emission[cell] + sign * q, least)
        by_state[_EVERY, items[np.uint64(c + 1)]] += q
        here += 1
    n_last = parts[LAST + 1] - parts[LAST]
    here -= n_last
    for c in range(parts[LAST], parts[LAST + 1]):
        by_state[_LAST, items[np.uint64(c)]] = posterior[np.uint64(here)] if n_last > 1 else 1.0
        here += 1
    # Tokens without observation emit nothing.
    for c in range(parts[UNSEEN], parts[UNSEEN + 1], 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        shared.emit[items[np.uint64(c + 1)]] -= sign * q
    for c in range(parts[SILENT], parts[SILENT + 1]):
        shared.emit[items[np.uint64(c)]] -= sign
    for k in range(by_state.shape[1]):
        every = by_state[_EVERY, k]
        left = every - by_state[_LAST, k]
        shared.emit[k] = max(shared.emit[k] + sign * every, shared.least_emit[k])
        shared.out[k] = max(shared.out[k] + sign * left, shared.least_out[k])
    for c in range(parts[FIXED], parts[FIXED + 1]):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] + sign, least_step)
    for c in range(parts[BORDER], parts[BORDER + 1], 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        step = items[np.uint64(c + 1)]
        steps[step] = max(steps[step] + sign * q, least_step)
    here = spot[1]
    for c in range(parts[INSIDE], parts[INSIDE + 1]):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] + sign * stored.pairs[np.uint64(here)], least_step)
        here += 1


@jit_inline
def _weigh(items, parts, pair, shared, weight, block, by_state):
    """Weights of eq. 25 for all entries and, in `block` from `pair` on, for steps inside runs.

    Each token takes the total of the transitions out of its state, so that the counts themselves
    weigh the steps; the last token has no step out of it.
    """
    for k in range(by_state.shape[1]):
        by_state[_EMITTED, k] = 1.0 / shared.emit[k]
        by_state[_WEIGHT, k] = by_state[_EMITTED, k] / shared.out[k]
    entry = 0
    for c in range(parts[ENTRY], parts[ENTRY + 1], 2):
        scale = by_state[_WEIGHT, items[np.uint64(c + 1)]]
        weight[np.uint64(entry)] = shared.emission[items[np.uint64(c)]] * scale
        entry += 1
    for c in range(parts[UNSEEN], parts[UNSEEN + 1], 2):
        weight[items[np.uint64(c)]] = 1.0 / shared.out[items[np.uint64(c + 1)]]
    for c in range(parts[BORDER], parts[BORDER + 1], 2):
        weight[items[np.uint64(c)]] *= shared.steps[items[np.uint64(c + 1)]]
    step = pair
    for c in range(parts[INSIDE], parts[INSIDE + 1]):
        block[np.uint64(step)] = shared.steps[items[np.uint64(c)]]
        step += 1
    n_last = parts[LAST + 1] - parts[LAST]
    if n_last > 1:
        entry -= n_last
        for c in range(parts[LAST], parts[LAST + 1]):
            state = items[np.uint64(c)]
            weight[np.uint64(entry)] *= by_state[_EMITTED, state] / by_state[_WEIGHT, state]
            entry += 1


@jit_inline
def _certain_weight(items, parts, shared, by_state):
    """Weight of the certain tokens, except settled emissions: a log and a factor."""
    log_z, product = 0.0, 1.0
    for c in range(parts[CERTAIN], parts[CERTAIN + 1]):
        product *= by_state[_WEIGHT, items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(parts[FIXED], parts[FIXED + 1]):
        product *= shared.steps[items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(parts[SHARED], parts[SHARED + 1]):
        log_z += math.log(shared.emission[items[np.uint64(c)]])
    for c in range(parts[SILENT], parts[SILENT + 1]):
        log_z += math.log(shared.emit[items[np.uint64(c)]])
    if parts[LAST + 1] - parts[LAST] == 1:
        # The weights above take the last token for one with a step out of it.
        state = items[np.uint64(parts[LAST])]
        product *= by_state[_EMITTED, state] / by_state[_WEIGHT, state]
    return log_z, product


@jit_inline
def _forward(items, begin, length, weight, posterior, block, place):
    """Forward messages of a run, in place of its posteriors.

    `place` says where the weights, the entries and the steps of the run begin. Returns the log that
    long runs divide by on the way, the weight of what is left (NaN where float64 loses it), and
    where the last token's weights and entries begin and the steps end.
    """
    here, entry, at = place
    log_scale, mass = 0.0, 0.0
    n = np.int64(items[np.uint64(begin)])
    j = 0
    while j < opaque(n):
        posterior[np.uint64(entry + j)] = weight[np.uint64(here + j)]
        mass += weight[np.uint64(here + j)]
        j += 1
    for u in range(1, length):
        left, n_left = entry, n
        entry += n
        here += n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        mass = 0.0
        j = 0
        while j < opaque(n):
            total = 0.0
            step = at + j
            i = 0
            while i < opaque(n_left):
                total += posterior[np.uint64(left + i)] * block[np.uint64(step)]
                step += n
                i += 1
            total *= weight[np.uint64(here + j)]
            posterior[np.uint64(entry + j)] = total
            mass += total
            j += 1
        at += n_left * n
        if u % SCALED == SCALED - 1 and u < length - 1:
            # What float64 loses becomes NaN, and stays so.
            mass = mass if SMALLEST_PRODUCT < mass < LARGEST_PRODUCT else math.nan
            log_scale += math.log(mass)
            for j in range(n):
                posterior[np.uint64(entry + j)] /= mass
                weight[np.uint64(here + j)] /= mass
    return log_scale, mass, (here, entry, at)


@jit_inline
def _backward(items, begin, length, weight, posterior, block, place, inverse):
    """Turn forward messages into posteriors and steps into pair marginals.

    `place` is what `_forward` returned, `inverse` 1 over the weight of the run. Each weight is
    multiplied by the backward message of its token.
    """
    here, entry, at = place
    n = np.int64(items[np.uint64(begin + 2 * length - 2)])
    j = 0
    while j < opaque(n):
        posterior[np.uint64(entry + j)] *= inverse
        weight[np.uint64(here + j)] *= inverse
        j += 1
    for u in range(length - 2, -1, -1):
        right, n_right = here, n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        here -= n
        entry -= n
        at -= n * n_right
        step = at
        i = 0
        while i < opaque(n):
            forward = posterior[np.uint64(entry + i)]
            after = 0.0
            j = 0
            while j < opaque(n_right):
                value = block[np.uint64(step + j)] * weight[np.uint64(right + j)]
                after += value
                block[np.uint64(step + j)] = forward * value
                j += 1
            step += n_right
            posterior[np.uint64(entry + i)] = forward * after
            weight[np.uint64(here + i)] *= after
            i += 1


@jit_called
def _infer_runs(items, parts, weight, posterior, block, place):
    """Forward-backward over all runs of a unit, each between certain tokens (eqs. 7 and 8).

    Posteriors and pair marginals go to `posterior` and `block`, which holds the weights of the
    steps. `place` says where weights, entries and steps begin. The weight of all runs together is
    ``exp(log_z) * product``; `product` is NaN where float64 loses one.
    """
    log_z, product = 0.0, 1.0
    begin = parts[TOKEN]
    while begin < parts[TOKEN + 1]:
        length = np.int64(items[np.uint64(begin + 1)])
        log_scale, mass, place = _forward(items, begin, length, weight, posterior, block, place)
        _backward(items, begin, length, weight, posterior, block, place, 1.0 / mass)
        begin += 2 * length
        n = np.int64(items[np.uint64(begin - 2)])
        place = (place[0] + n, place[1] + n, place[2])
        log_z += log_scale
        product *= mass if SMALLEST_PRODUCT < mass < LARGEST_PRODUCT else math.nan
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    return log_z, product


@jit
def pass_over_lists(span, shared, lists, stored, buffers):
    """A pass over units by their lists; returns the unit at which it ended.

    `span` and `shared` are those of `sklearn_cvb.kernels.chain.leave_out`; ``stored.log_z`` is
    without settled emissions (see the parts of a list).
    """
    subnormal_is_zero(True)
    steps = span.steps
    items, weight, by_state = lists.items, buffers.weight, buffers.by_state
    for i in range(span.first, span.end):
        parts, spot = lists.parts[i], (lists.entry[i], lists.pair[i])
        for k in range(by_state.shape[1]):
            by_state[_CERTAIN, k] = 0.0
        for c in range(parts[CERTAIN], parts[CERTAIN + 1]):
            by_state[_CERTAIN, items[np.uint64(c)]] += 1.0
        if steps & TAKE_OUT:
            _shift(items, parts, spot, shared, stored, by_state, -1.0)
        if steps & INFER:
            found, block, (entry, pair) = stored.posterior, stored.pairs, spot
            if not steps & KEEP:
                found, block, entry, pair = buffers.posterior, buffers.block, 0, 0
            _weigh(items, parts, pair, shared, weight, block, by_state)
            log_z, product = _certain_weight(items, parts, shared, by_state)
            place = (np.int64(0), entry, pair)
            log_runs, rest = _infer_runs(items, parts, weight, found, block, place)
            log_z += log_runs + math.log(product) + math.log(rest)
            stored.log_z[i] = log_z - shared.log_start
            if math.isnan(log_z):
                subnormal_is_zero(False)
                return i
        if steps & PUT_BACK:
            _shift(items, parts, spot, shared, stored, by_state, 1.0)
    subnormal_is_zero(False)
    return span.end
