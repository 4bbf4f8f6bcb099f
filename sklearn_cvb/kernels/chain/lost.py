"""Leave-out inference in log space, for units whose weights leave the range of float64.

A pass that loses a unit hands it back, taken out of the counts (see
`sklearn_cvb.kernels.chain.leave_out`). Slow and safe, and compiled only where it is needed.
"""

import math

from sklearn_cvb.kernels.chain.leave_out import KEEP
from sklearn_cvb.kernels.chain.log_space import (
    alone,
    fill_block_from_logs,
    fill_logs,
    forward_backward_log,
)
from sklearn_cvb.kernels.chain.sequences import fill_weights, keep_posterior
from sklearn_cvb.kernels.chain.windows import carry_back, carry_forward, weigh_borders, window_at
from sklearn_cvb.kernels.jit import jit, jit_inline


@jit_inline
def _fill_logs(shared, start, size, work):
    """Turn the weights of a unit into logs, and take those of start and transitions."""
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    fill_logs(start, work.log_row)
    for k in range(work.table.shape[0]):
        fill_logs(shared.transition[k], work.table[k])


@jit_inline
def _keep_pairs(i, sequences, pairs, absent, work):
    """Keep the pair marginals of unit i from log messages."""
    lattice, n_states = sequences.lattice, work.table.shape[0]
    at, before, is_summed = sequences.pair[i], 0, sequences.summed[i]
    # Rows and columns that are not stored.
    without = 0 if sequences.whole else 1
    if is_summed:
        pairs[at : at + n_states * n_states] = 0.0
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        left, n_left = lattice.first[t - 1], lattice.count[t - 1]
        right, n_right = lattice.first[t], lattice.count[t]
        now = before + n_left
        fill_block_from_logs(work.table, lattice, t, work, before, now, work.block)
        if is_summed:
            for a in range(n_left):
                row = lattice.state[left + a]
                for b in range(n_right):
                    to, q = lattice.state[right + b], work.block[a * n_right + b]
                    pairs[at + row * n_states + to] += q
                    if absent is not None:
                        absent[row, to] *= max(0.0, 1.0 - q)
        elif n_left > 1 and n_right > 1:
            for a in range(n_left - without):
                for b in range(n_right - without):
                    pairs[at] = work.block[a * n_right + b]
                    at += 1
        before = now


@jit_inline
def _out_of_logs(values, begin, end):
    """exp of a stretch of logs, the largest of which becomes 1."""
    largest = -math.inf
    for position in range(begin, end):
        largest = max(largest, values[position])
    for position in range(begin, end):
        values[position] = math.exp(values[position] - largest)


@jit
def infer_lost(steps, i, shared, sequences, stored, borders, absent, work):
    """Infer unit i, which is taken out of `shared`, in log space.

    Arguments as in `sklearn_cvb.kernels.chain.sequences.pass_over_sequences`; of `steps` only KEEP
    matters. Fills ``stored.log_z[i]``: -inf where no path explains the unit, and then nothing is
    kept.
    """
    is_borrowed, ahead = False, False
    start = shared.start
    if borders is not None:
        is_borrowed, ahead, start = window_at(i, steps, shared, borders)
    size = fill_weights(i, shared, sequences, is_borrowed, work)
    if borders is not None:
        weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size)
    _fill_logs(shared, start, size, work)
    lattice, begin, end = sequences.lattice, sequences.begin[i], sequences.end[i]
    value = forward_backward_log(
        work.log_row, alone(work.table), None, lattice, begin, end, size, work
    )
    stored.log_z[i] = value if is_borrowed else value - shared.log_start
    if value > -math.inf:
        if steps & KEEP:
            keep_posterior(i, sequences, work.posterior, stored.posterior)
            _keep_pairs(i, sequences, stored.pairs, absent, work)
        if borders is not None:
            # Messages are scaled by whoever receives them: they need not be more than proportional.
            n, n_last = lattice.count[begin], lattice.count[end - 1]
            if is_borrowed and steps & KEEP:
                _out_of_logs(work.emission, n, n + lattice.count[begin + 1])
                carry_back(i, shared, sequences, borders, work)
            _out_of_logs(work.forward, size - n_last, size)
            carry_forward(i, sequences, borders, ahead, work.forward, size)
