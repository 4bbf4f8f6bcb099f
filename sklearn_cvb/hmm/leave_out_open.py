"""What the open tokens of a listed sequence share with the counts, and the sum of its pairs.

A token that may take every state has its cells in a row, and its steps are rows or columns of the
table of transitions. A sequence with such tokens keeps the sum of all its pairs, see
`sklearn_cvb.run_lists` and `sklearn_cvb.hmm.leave_out_runs`.
"""

import numpy as np

from sklearn_cvb.kernels.jit import jit_token
from sklearn_cvb.run_lists import BORDER, FIXED, INSIDE, INTO, OPEN, OUT_OF

# Rows of the buffer by state: the weight of a state, of the last token's state, and the posteriors
# of a sequence added up, of all tokens, of its last token and of those that are certain.
SCALE_ROW, LAST_SCALE_ROW, EVERY_ROW, LAST_ROW, CERTAIN_ROW = range(5)
N_ROWS = 5


@jit_token
def take_out_open(tables, floor, items, begins, ends, posterior, entry, by_state):
    """Take the emissions of open tokens out of their cells, and add up posteriors by state."""
    for c in range(begins[OPEN], ends[OPEN], 2):
        here, cell = entry + np.int64(items[np.uint64(c)]), np.int64(items[np.uint64(c + 1)])
        for k in range(by_state.shape[1]):
            q = posterior[np.uint64(here + k)]
            rest = tables.emission[np.uint64(cell + k)] - q
            tables.emission[np.uint64(cell + k)] = rest if rest > floor.least else floor.least
            by_state[EVERY_ROW, np.uint64(k)] += q


@jit_token
def put_back_open(tables, items, begins, ends, posterior, entry, by_state):
    """Add the emissions of open tokens to their cells, and add up posteriors by state."""
    for c in range(begins[OPEN], ends[OPEN], 2):
        here, cell = entry + np.int64(items[np.uint64(c)]), np.int64(items[np.uint64(c + 1)])
        for k in range(by_state.shape[1]):
            q = posterior[np.uint64(here + k)]
            tables.emission[np.uint64(cell + k)] += q
            by_state[EVERY_ROW, np.uint64(k)] += q


@jit_token
def shift_start(lattice, first, tables, least, posterior, entry, sign):
    """Shift the start counts by the posterior of the first token."""
    base, n = np.int64(lattice.first[first]), np.int64(lattice.count[first])
    for j in range(n):
        state = np.uint64(lattice.state[np.uint64(base + j)])
        q = posterior[np.uint64(entry + j)] if n > 1 else 1.0
        tables.start[state] = max(tables.start[state] + sign * q, least[state])


@jit_token
def weigh_open(tables, steps, items, begins, ends, weight, by_state):
    """Weights of the entries of open tokens, with those of the steps from and to certain ones."""
    n_states = by_state.shape[1]
    for c in range(begins[OPEN], ends[OPEN], 2):
        here, cell = np.int64(items[np.uint64(c)]), np.int64(items[np.uint64(c + 1)])
        for k in range(n_states):
            scale = by_state[SCALE_ROW, np.uint64(k)]
            weight[np.uint64(here + k)] = tables.emission[np.uint64(cell + k)] * scale
    for c in range(begins[INTO], ends[INTO], 2):
        here, step = np.int64(items[np.uint64(c)]), np.int64(items[np.uint64(c + 1)])
        for k in range(n_states):
            weight[np.uint64(here + k)] *= steps[np.uint64(step + k)]
    for c in range(begins[OUT_OF], ends[OUT_OF], 2):
        here, to = np.int64(items[np.uint64(c)]), items[np.uint64(c + 1)]
        for k in range(n_states):
            weight[np.uint64(here + k)] *= tables.transition[np.uint64(k), to]


@jit_token
def add_pairs(items, begins, ends, n_first, n_open, posterior, entry, block, steps, pairs, pair):
    """Add all pairs beside a certain token, or without an open one, to the steps and to their sum.

    The sum begins at `pair`. The start is the first item of its part, and no pair; `n_first` is how
    many states the first token may take. `block` holds the pair marginals inside runs.
    """
    for c in range(begins[FIXED] + (n_first == 1), ends[FIXED]):
        step = np.int64(items[np.uint64(c)])
        pairs[np.uint64(pair + step)] += 1.0
        steps[np.uint64(step)] += 1.0
    n_starts = n_first if 1 < n_first < n_open else 0
    for c in range(begins[BORDER] + 2 * n_starts, ends[BORDER], 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        step = np.int64(items[np.uint64(c + 1)])
        pairs[np.uint64(pair + step)] += q
        steps[np.uint64(step)] += q
    here = np.int64(0)
    for c in range(begins[INSIDE], ends[INSIDE]):
        q, step = block[np.uint64(here)], np.int64(items[np.uint64(c)])
        pairs[np.uint64(pair + step)] += q
        steps[np.uint64(step)] += q
        here += 1
    for c in range(begins[INTO] + 2 * (n_first == n_open), ends[INTO], 2):
        here = entry + np.int64(items[np.uint64(c)])
        step = np.int64(items[np.uint64(c + 1)])
        for k in range(n_open):
            q = posterior[np.uint64(here + k)]
            pairs[np.uint64(pair + step + k)] += q
            steps[np.uint64(step + k)] += q
    for c in range(begins[OUT_OF], ends[OUT_OF], 2):
        here = entry + np.int64(items[np.uint64(c)])
        step = np.int64(items[np.uint64(c + 1)])
        for k in range(n_open):
            q = posterior[np.uint64(here + k)]
            pairs[np.uint64(pair + step)] += q
            steps[np.uint64(step)] += q
            step += n_open
