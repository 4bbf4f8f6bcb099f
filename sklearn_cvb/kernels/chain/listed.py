"""Leave-out inference by lists: for sequences of which a dictionary settles most (eqs. 24-25).

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
from sklearn_cvb.kernels.jit import few, jit, jit_inline

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

# Rows of the buffer by state: 1 / emit, 1 / (emit * out), and posteriors added up over all tokens,
# over the last one, and over those without an observation.
_EMITTED, _WEIGHT, _EVERY, _LAST, _UNSEEN = range(5)
N_ROWS = 5


class Lists(NamedTuple):
    """The lists of units 0 to n - 1.

    Attributes
    ----------
    items : ndarray, uint32
        Each list begins with where its parts begin and the last one ends, counted from there.
    begin : ndarray of shape (n,), int64
        Where each list begins.
    entry, pair : ndarray of shape (n + 1,), int64
        Where the posteriors and the pair marginals of each unit begin.
    """

    items: np.ndarray
    begin: np.ndarray
    entry: np.ndarray
    pair: np.ndarray


class ListBuffers(NamedTuple):
    """Buffers for one unit.

    Attributes
    ----------
    weight : ndarray, float64
        Weight of each entry.
    posterior, block : ndarray, float64
        What a pass finds and does not keep.
    by_state : ndarray of shape (N_ROWS, K), float64
    """

    weight: np.ndarray
    posterior: np.ndarray
    block: np.ndarray
    by_state: np.ndarray


@jit_inline
def _part(items, at, part):
    """Where a part of the list that begins at `at` begins and ends."""
    header = np.uint64(at + part)
    return at + np.int64(items[header]), at + np.int64(items[header + np.uint64(1)])


@jit_inline
def _total_states(items, spot, posterior, by_state):
    """Add up posteriors by state: of all tokens, of the last one, of those without observation."""
    at, entry, n_entries = spot[0], spot[1], spot[3]
    for k in range(by_state.shape[1]):
        by_state[_EVERY, k] = 0.0
        by_state[_LAST, k] = 0.0
        by_state[_UNSEEN, k] = 0.0
    begin, end = _part(items, at, CERTAIN)
    for c in range(begin, end):
        by_state[_EVERY, items[np.uint64(c)]] += 1.0
    begin, end = _part(items, at, ENTRY)
    here = entry
    for c in range(begin, end, 2):
        by_state[_EVERY, items[np.uint64(c + 1)]] += posterior[np.uint64(here)]
        here += 1
    begin, end = _part(items, at, LAST)
    n_last = end - begin
    here = entry + n_entries - n_last
    for c in range(begin, end):
        q = posterior[np.uint64(here)] if n_last > 1 else 1.0
        by_state[_LAST, items[np.uint64(c)]] = q
        here += 1
    begin, end = _part(items, at, UNSEEN)
    for c in range(begin, end, 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        by_state[_UNSEEN, items[np.uint64(c + 1)]] += q
    begin, end = _part(items, at, SILENT)
    for c in range(begin, end):
        by_state[_UNSEEN, items[np.uint64(c)]] += 1.0


@jit_inline
def _shift(items, spot, shared, posterior, pairs, by_state, sign):
    """Take the counts of a unit out (sign -1) or put them back (1)."""
    at, entry, pair = spot[0], spot[1], spot[2]
    _total_states(items, spot, posterior, by_state)
    for k in range(by_state.shape[1]):
        emitted = by_state[_EVERY, k] - by_state[_UNSEEN, k]
        left = by_state[_EVERY, k] - by_state[_LAST, k]
        shared.emit[k] = max(shared.emit[k] + sign * emitted, shared.least_emit[k])
        shared.out[k] = max(shared.out[k] + sign * left, shared.least_out[k])
    emission, steps = shared.emission, shared.steps
    least, least_step = shared.least, shared.least_step
    begin, end = _part(items, at, SHARED)
    for c in range(begin, end):
        cell = items[np.uint64(c)]
        emission[cell] = max(emission[cell] + sign, least)
    begin, end = _part(items, at, ENTRY)
    here = entry
    for c in range(begin, end, 2):
        cell = items[np.uint64(c)]
        emission[cell] = max(emission[cell] + sign * posterior[np.uint64(here)], least)
        here += 1
    begin, end = _part(items, at, FIXED)
    for c in range(begin, end):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] + sign, least_step)
    begin, end = _part(items, at, BORDER)
    for c in range(begin, end, 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        step = items[np.uint64(c + 1)]
        steps[step] = max(steps[step] + sign * q, least_step)
    begin, end = _part(items, at, INSIDE)
    here = pair
    for c in range(begin, end):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] + sign * pairs[np.uint64(here)], least_step)
        here += 1


@jit_inline
def _weigh(items, spot, shared, weight, block, by_state):
    """Weights of eq. 25 for all entries and for the steps inside runs (`block`).

    Each token takes the total of the transitions out of its state, so that the counts themselves
    weigh the steps; the last token has no step out of it.
    """
    at, pair, n_entries = spot[0], spot[2], spot[3]
    for k in range(by_state.shape[1]):
        by_state[_EMITTED, k] = 1.0 / shared.emit[k]
        by_state[_WEIGHT, k] = by_state[_EMITTED, k] / shared.out[k]
    begin, end = _part(items, at, ENTRY)
    here = np.int64(0)
    for c in range(begin, end, 2):
        scale = by_state[_WEIGHT, items[np.uint64(c + 1)]]
        weight[np.uint64(here)] = shared.emission[items[np.uint64(c)]] * scale
        here += 1
    begin, end = _part(items, at, UNSEEN)
    for c in range(begin, end, 2):
        weight[items[np.uint64(c)]] = 1.0 / shared.out[items[np.uint64(c + 1)]]
    begin, end = _part(items, at, BORDER)
    for c in range(begin, end, 2):
        weight[items[np.uint64(c)]] *= shared.steps[items[np.uint64(c + 1)]]
    begin, end = _part(items, at, INSIDE)
    here = pair
    for c in range(begin, end):
        block[np.uint64(here)] = shared.steps[items[np.uint64(c)]]
        here += 1
    begin, end = _part(items, at, LAST)
    if end - begin > 1:
        here = n_entries - (end - begin)
        for c in range(begin, end):
            state = items[np.uint64(c)]
            ratio = by_state[_EMITTED, state]
            ratio /= by_state[_WEIGHT, state]
            weight[np.uint64(here)] *= ratio
            here += 1


@jit_inline
def _certain_weight(items, at, shared, by_state):
    """Weight of the certain tokens, except settled emissions: a log and a factor."""
    log_z, product = 0.0, 1.0
    begin, end = _part(items, at, CERTAIN)
    for c in range(begin, end):
        product *= by_state[_WEIGHT, items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    begin, end = _part(items, at, FIXED)
    for c in range(begin, end):
        product *= shared.steps[items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    begin, end = _part(items, at, SHARED)
    for c in range(begin, end):
        log_z += math.log(shared.emission[items[np.uint64(c)]])
    begin, end = _part(items, at, SILENT)
    for c in range(begin, end):
        log_z += math.log(shared.emit[items[np.uint64(c)]])
    begin, end = _part(items, at, LAST)
    if end - begin == 1:
        # The weights above take the last token for one with a step out of it.
        state = items[np.uint64(begin)]
        product *= by_state[_EMITTED, state] / by_state[_WEIGHT, state]
    return log_z, product


@jit_inline
def _sum(values, begin, n):
    """Sum of n values."""
    total = 0.0
    j = 0
    while j < few(n):
        total += values[np.uint64(begin + j)]
        j += 1
    return total


@jit_inline
def _copy_scaled(source, begin, n, factor, target, at):
    """Copy n values times a factor."""
    j = 0
    while j < few(n):
        target[np.uint64(at + j)] = source[np.uint64(begin + j)] * factor
        j += 1


@jit_inline
def _forward(items, begin, length, weight, posterior, block, place):
    """Forward messages of a run, in place of its posteriors.

    `place` says where the weights, the entries and the steps of the run begin. Returns the log that
    long runs divide by on the way, the weight of what is left (NaN where float64 loses it), the
    number of states of the last token, and where its weights and entries begin and the steps end.
    """
    here, entry, at = place
    log_scale, lost = 0.0, False
    n = np.int64(items[np.uint64(begin)])
    _copy_scaled(weight, here, n, 1.0, posterior, entry)
    for u in range(1, length):
        left, n_left = entry, n
        entry += n
        here += n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        j = 0
        while j < few(n):
            total = 0.0
            step = at + j
            i = 0
            while i < few(n_left):
                total += posterior[np.uint64(left + i)] * block[np.uint64(step)]
                step += n
                i += 1
            posterior[np.uint64(entry + j)] = total * weight[np.uint64(here + j)]
            j += 1
        at += n_left * n
        if u % SCALED == SCALED - 1 and u < length - 1:
            total = _sum(posterior, entry, n)
            lost |= not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT)
            log_scale += math.log(total)
            for j in range(n):
                posterior[np.uint64(entry + j)] /= total
                weight[np.uint64(here + j)] /= total
    total = math.nan if lost else _sum(posterior, entry, n)
    return log_scale, total, n, (here, entry, at)


@jit_inline
def _backward(items, begin, length, weight, posterior, block, place, inverse):
    """Turn forward messages into posteriors and steps into pair marginals.

    `place` is what `_forward` returned, `inverse` 1 over the weight of the run. Each weight is
    multiplied by the backward message of its token.
    """
    here, entry, at = place
    n = np.int64(items[np.uint64(begin + 2 * length - 2)])
    _copy_scaled(posterior, entry, n, inverse, posterior, entry)
    _copy_scaled(weight, here, n, inverse, weight, here)
    for u in range(length - 2, -1, -1):
        right, n_right = here, n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        here -= n
        entry -= n
        at -= n * n_right
        step = at
        i = 0
        while i < few(n):
            forward = posterior[np.uint64(entry + i)]
            after = 0.0
            j = 0
            while j < few(n_right):
                value = block[np.uint64(step + j)] * weight[np.uint64(right + j)]
                after += value
                block[np.uint64(step + j)] = forward * value
                j += 1
            step += n_right
            posterior[np.uint64(entry + i)] = forward * after
            weight[np.uint64(here + i)] *= after
            i += 1


@jit_inline
def _infer_runs(items, at, weight, posterior, block, place):
    """Forward-backward over all runs of a unit, each between certain tokens (eqs. 7 and 8).

    Posteriors and pair marginals go to `posterior` and `block`, which holds the weights of the
    steps. `place` says where weights, entries and steps begin. The weight of all runs together is
    ``exp(log_z) * product``; `product` is NaN where float64 loses one.
    """
    log_z, product = 0.0, 1.0
    begin, end = _part(items, at, TOKEN)
    while begin < end:
        n = np.int64(items[np.uint64(begin)])
        length = np.int64(items[np.uint64(begin + 1)])
        if length == 1:
            here, entry, _ = place
            total = _sum(weight, here, n)
            _copy_scaled(weight, here, n, 1.0 / total, posterior, entry)
        else:
            log_scale, total, n, place = _forward(
                items, begin, length, weight, posterior, block, place
            )
            log_z += log_scale
            _backward(items, begin, length, weight, posterior, block, place, 1.0 / total)
        if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
            total = math.nan
        here, entry, step = place
        place = (here + n, entry + n, step)
        begin += 2 * length
        product *= total
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    return log_z, product


@jit
def pass_over_lists(steps, span, shared, lists, stored, buffers):
    """A pass over units by their lists.

    Parameters
    ----------
    steps : int
        Which steps to take, see `sklearn_cvb.kernels.chain.leave_out`.
    span : tuple (first, end)
        The units.
    shared : Shared
        Changed in place.
    lists : Lists
    stored : Stored
        Changed in place where the pass keeps what it finds. `log_z` is without settled emissions
        (see the parts of a list).
    buffers : ListBuffers

    Returns
    -------
    int
        The unit at which the pass ended.
    """
    items, weight, by_state = lists.items, buffers.weight, buffers.by_state
    for i in range(span[0], span[1]):
        entry, pair = lists.entry[i], lists.pair[i]
        spot = (lists.begin[i], entry, pair, lists.entry[i + 1] - entry)
        posterior, pairs = stored.posterior, stored.pairs
        if steps & TAKE_OUT:
            _shift(items, spot, shared, posterior, pairs, by_state, -1.0)
        if steps & INFER:
            found, block = posterior, pairs
            if not steps & KEEP:
                found, block, entry, pair = buffers.posterior, buffers.block, 0, 0
            weighed = (spot[0], entry, pair, spot[3])
            _weigh(items, weighed, shared, weight, block, by_state)
            log_z, product = _certain_weight(items, spot[0], shared, by_state)
            log_runs, rest = _infer_runs(
                items, spot[0], weight, found, block, (np.int64(0), entry, pair)
            )
            value = log_z + log_runs + math.log(product) + math.log(rest) - shared.log_start
            stored.log_z[i] = value
            if math.isnan(value):
                return i
        if steps & PUT_BACK:
            _shift(items, spot, shared, posterior, pairs, by_state, 1.0)
    return span[1]
