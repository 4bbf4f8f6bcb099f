"""Forward-backward on many sequences in lockstep, for chains whose states are all allowed: tables
of weights and expected counts, and the messages of sequences side by side.

Sequences of similar length go side by side, time-major: one step of all of them is one matrix
product. Same quantities as `sklearn_cvb.kernels.chain.forward_backward`, in probability space.
Tables are as wide as whole vectors of numbers; the states beyond the model's have no weight.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sklearn_cvb.kernels.chain.forward_backward import (
    _LARGEST_MESSAGE,
    _SMALLEST_SCALE,
    ChainWeights,
    Lattice,
)
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tiles import ROWS, add_outer_products, aligned, multiply, prefetch
from sklearn_cvb.kernels.vectors import LANES, part, put, spread, sum_of

# Sequences side by side: enough for matrix products, few enough for the cache.
SIDE_BY_SIDE = 32


class LockstepTables(NamedTuple):
    """Weights and counts of a batch, S states wide."""

    start: np.ndarray  # (S,)
    transition: np.ndarray  # (S, S), transition weights
    backward: np.ndarray  # (S, S), their transpose
    # (n_rows, S), emission weights: a row for each word in use and for missing observations, as the
    # slots of the lattice have them.
    emission: np.ndarray
    start_counts: np.ndarray  # (S,), expected counts of start states
    emission_counts: np.ndarray  # (n_rows, S), and of emissions
    pair_sums: np.ndarray  # (S, S), and of transitions, without their weights


_COUNTS = ("start_counts", "emission_counts", "pair_sums")


class LockstepMessages(NamedTuple):
    """Buffers for sequences side by side: rows of one step follow those of the step before.

    Tiles may reach into the rows of the next step, where nothing of use is yet. Messages are not
    yet divided by the scale of their own step, so that no step waits for a division: forward
    messages are larger by it, backward messages smaller.
    """

    forward: np.ndarray  # (longest * side + ROWS, S)
    g: np.ndarray  # the same, as in `sklearn_cvb.kernels.chain.forward_backward.backward_pass`
    backward: np.ndarray  # (side + ROWS, S), backward messages of one step
    inverse: np.ndarray  # (longest * side,), 1 / scale, for the scales of the forward pass
    row: np.ndarray  # (longest * side,), int64, row of the emission table of each token
    lost: np.ndarray  # (side,), bool, which of the sequences float64 may lose


def width_for(n_states: int) -> int:
    """Width of tables for so many states."""
    n_vectors = -(-n_states // LANES)
    # Rows that lie a power of two apart would share few places in the cache.
    return LANES * (n_vectors if n_vectors < 32 else n_vectors | 1)


@jit_token
def _weigh(message, weights, inverse):
    """message *= inverse weights; returns the sum."""
    sums, by = spread(0.0), spread(inverse)
    for k in range(0, message.size, LANES):
        # The message first: with tiny weights it would leave float64 before it is scaled.
        weighed = part(message, k) * by * part(weights, k)
        put(message, k, weighed)
        sums += weighed
    return sum_of(sums)


@jit_token
def _combine_backward(message, forward, weights, inverse, g, counts):
    """Add the posterior of one token to `counts` and fill g; returns the message's sum."""
    sums, by = spread(0.0), spread(inverse)
    for k in range(0, message.size, LANES):
        behind = part(message, k)
        sums += behind
        put(counts, k, part(counts, k) + part(forward, k) * behind)
        put(g, k, part(weights, k) * behind * by)
    return sum_of(sums)


def tables_for(lattice: Lattice, n_emitting: int, n_states: int) -> LockstepTables:
    """Tables for the words of a lattice in which every token may take every state.

    Ends have a row too: their single slot, the last one, is a row begun. All zeros, but for the
    emission weights, which `fill_tables` sets.
    """
    n_rows, width = -(-lattice.state.size // n_emitting), width_for(n_states)
    return LockstepTables(
        start=aligned(width),
        transition=aligned(width, width),
        backward=aligned(width, width),
        emission=aligned(n_rows, width),
        start_counts=aligned(width),
        emission_counts=aligned(n_rows, width),
        pair_sums=aligned(width, width),
    )


def messages_for(side: int, longest: int, n_states: int) -> LockstepMessages:
    """Buffers for so many sequences side by side, of at most that length."""
    width = width_for(n_states)
    return LockstepMessages(
        aligned(longest * side + ROWS, width),
        aligned(longest * side + ROWS, width),
        aligned(side + ROWS, width),
        np.empty(longest * side),
        np.empty(longest * side, np.int64),
        np.zeros(side, bool),
    )


def with_own_counts(tables: LockstepTables) -> LockstepTables:
    """The same weights, with counts of their own."""
    shapes = (getattr(tables, name).shape for name in _COUNTS)
    return tables._replace(**{name: aligned(*s) for name, s in zip(_COUNTS, shapes, strict=True)})


def clear_counts(tables: LockstepTables) -> None:
    """Set all counts to 0."""
    for name in _COUNTS:
        getattr(tables, name).fill(0.0)


def clear_messages(messages: LockstepMessages) -> None:
    """Set all messages to 0: what one sweep leaves serves the next, but for what is not finite."""
    for name in ("forward", "g", "backward"):
        getattr(messages, name).fill(0.0)


def fill_tables(
    weights: ChainWeights, lattice: Lattice, n_emitting: int, tables: LockstepTables
) -> None:
    """Copy the weights of the model's states; missing observations have weight 1.

    Where one state is the end only ends may take it, and they nothing else.
    """
    n_states = weights.start.size
    tables.start[:n_states] = weights.start
    tables.transition[:n_states, :n_states] = weights.transition
    tables.backward[:n_states, :n_states] = weights.transition.T
    first = lattice.cell[::n_emitting]
    rows = sliding_window_view(weights.emission, n_emitting)
    tables.emission[:, :n_emitting] = rows[first.clip(0)]
    tables.emission[first < 0, :n_emitting] = 1.0
    if n_emitting < n_states:
        tables.emission[-1, :n_emitting] = 0.0
        tables.emission[-1, n_emitting] = 1.0


def add_tables(
    weights: ChainWeights, lattice: Lattice, n_emitting: int, tables: LockstepTables, counts: Any
) -> None:
    """Add the counts of the model's states to the `start`, `transition`, `emission` of `counts`."""
    n_states = weights.start.size
    counts.start[:] += tables.start_counts[:n_states]
    counts.transition[:] += tables.pair_sums[:n_states, :n_states] * weights.transition
    first = lattice.cell[::n_emitting]
    rows = sliding_window_view(counts.emission, n_emitting, writeable=True)
    received = tables.emission_counts[first >= 0, :n_emitting]
    first = first[first >= 0]
    if (np.diff(first) > 0).all():
        rows[first] += received
    else:
        # Unknown words share their cells.
        np.add.at(rows, first, received)


@jit_inline
def _clear(row):
    """Set a row to 0."""
    for k in range(row.size):
        row[k] = 0.0


@jit_called
def _forward(tables, lattice, starts, members, side, n_states, messages):
    """Forward messages of sequences side by side, scaled but for each step's own scale.

    Entries of sequences that are over or lost are 0. Returns the sum of log p(x), or NaN.
    """
    forward = messages.forward
    alive = members.size
    total, product = 0.0, 1.0
    for t in range(starts[members[0] + 1] - starts[members[0]]):
        while starts[members[alive - 1]] + t >= starts[members[alive - 1] + 1]:
            alive -= 1
        now = t * side
        for i in range(alive):
            row = lattice.first[starts[members[i]] + t] // n_states
            messages.row[now + i] = row
            prefetch(tables.emission, row)
        if t > 0:
            multiply(forward[now - side :], tables.transition, alive, n_states, forward[now:])
        for i in range(alive):
            inverse = 1.0
            if t > 0:
                inverse = messages.inverse[now - side + i]
            else:
                for k in range(n_states):
                    forward[i, k] = tables.start[k]
            weights = tables.emission[messages.row[now + i]]
            scale = _weigh(forward[now + i], weights, inverse)
            if not (_SMALLEST_SCALE < scale < _LARGEST_MESSAGE):
                messages.lost[i] = True
                total = math.nan
                _clear(forward[now + i])
                scale = 1.0
            messages.inverse[now + i] = 1.0 / scale
            # A log for many steps instead of one for each.
            further = product * scale
            if not (1e-150 < further < 1e150):
                # Two scales alone may leave float64's range together.
                total += math.log(product)
                further = scale
            product = further
        for i in range(now + alive, now + side):
            _clear(forward[i])
    return total + math.log(product)


@jit_called
def _backward(tables, starts, members, side, n_states, messages):
    """Backward messages of sequences side by side: fills g and adds to all counts.

    Returns False, without counts of transitions, where float64 may lose mass.
    """
    safe = True
    forward, g, message = messages.forward, messages.g, messages.backward
    length = starts[members[0] + 1] - starts[members[0]]
    alive = np.int64(0)
    for t in range(length - 1, -1, -1):
        now = t * side
        before = alive
        while alive < members.size and starts[members[alive]] + t < starts[members[alive] + 1]:
            alive += 1
        for i in range(now, now + alive):
            prefetch(tables.emission, messages.row[i])
            prefetch(tables.emission_counts, messages.row[i])
        if before > 0:
            multiply(g[now + side :], tables.backward, before, n_states, message)
        for i in range(before, alive):
            message[i] = messages.inverse[now + i]
        for i in range(alive):
            inverse = messages.inverse[now - side + i] if t > 0 else 1.0
            largest = _combine_backward(
                message[i],
                forward[now + i],
                tables.emission[messages.row[now + i]],
                inverse,
                g[now + i],
                tables.emission_counts[messages.row[now + i]],
            )
            if not (largest < _LARGEST_MESSAGE):
                messages.lost[i] = True
                safe = False
        for i in range(now + alive, now + side):
            _clear(g[i])
    if safe:
        for i in range(members.size):
            for k in range(n_states):
                tables.start_counts[k] += forward[i, k] * message[i, k]
        add_outer_products(forward, g[side:], (length - 1) * side, tables.pair_sums)
    return safe


@jit_inline
def infer_side_by_side(tables, lattice, starts, members, side, n_states, messages):
    """Posteriors of sequences whose tokens have a row of the tables each.

    ``lattice.first`` is a token's row times `n_states`. Adds posteriors to `tables.emission_counts`
    and pair marginals without their weights to `tables.pair_sums`. Returns the sum of log Z, or
    NaN where float64 may lose sequences, which ``messages.lost`` tells.
    """
    for i in range(members.size):
        messages.lost[i] = False
    total = _forward(tables, lattice, starts, members, side, n_states, messages)
    if not math.isnan(total) and not _backward(tables, starts, members, side, n_states, messages):
        total = math.nan
    return total


@jit
def expected_counts_dense(lattice, starts, order, side, n_states, tables, messages, lost):
    """E-step over sequences whose tokens may take every state, `side` of them at a time.

    `order` lists the sequences by falling length; `tables` come from `fill_tables` and receive the
    counts (see `add_tables`), `messages` hold finite numbers. Returns the total log Z of all
    sequences. It is NaN, and the counts are of no use, where some leave the range of float64: those
    are marked in `lost` (n_sequences,).
    """
    subnormal_is_zero(True)
    total = 0.0
    for chunk in range(0, order.size, side):
        members = order[chunk : chunk + side]
        total += infer_side_by_side(tables, lattice, starts, members, side, n_states, messages)
        for i in range(members.size):
            if messages.lost[i]:
                lost[members[i]] = True
    subnormal_is_zero(False)
    return total
