"""Best paths (Viterbi) and sampled paths of sequences whose steps have one weight for each state.

Stretches of steps may each have transitions of their own, as in `sklearn_cvb.kernels.chain.steps`:
no table is larger than those there are, however many contexts steps have.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.decoding import draw_index
from sklearn_cvb.kernels.jit import jit


@jit
def best_paths_of_steps(log_start, log_transition, logs, starts, stretches, table, room, found):
    """Most probable state path of every sequence (log space; ties go to the lowest state).

    Start rows (n_tables, K), transitions (n_tables, K, K), stretches and their tables as in
    `forward_steps`; ``logs`` (n_steps, K) are log weights of observations. ``room`` is (scores,
    origin): (2, K) and, for the longest sequence, (n_steps, K) of int32. ``found`` is (path,
    log_p): argmax over z of p(x, z), and the log of the maximum, -inf where there is no path.
    """
    scores, origin = room
    path, log_p = found
    n_states = logs.shape[1]
    stretch = 0
    before, now = scores[0], scores[1]
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        for t in range(begin, end):
            if t == stretches[stretch + 1]:
                stretch += 1
            own = table[stretch]
            if t == begin:
                for j in range(n_states):
                    now[j] = log_start[own, j] + logs[t, j]
            else:
                back, moves = origin[t - begin], log_transition[own]
                first = before[0]
                for j in range(n_states):
                    now[j] = first + moves[0, j]
                    back[j] = 0
                for k in range(1, n_states):
                    score = before[k]
                    for j in range(n_states):
                        # Selections, not branches, so that this is a vector loop.
                        value = score + moves[k, j]
                        back[j] = k if value > now[j] else back[j]
                        now[j] = value if value > now[j] else now[j]
                for j in range(n_states):
                    now[j] += logs[t, j]
            before, now = now, before
        best = 0
        for j in range(1, n_states):
            if before[j] > before[best]:
                best = j
        log_p[i] = before[best]
        for t in range(end - 1, begin - 1, -1):
            path[t] = best
            if t > begin:
                best = origin[t - begin, best]


@jit
def draw_paths_of_steps(log_transition, log_filtered, starts, stretches, table, rng, chance, path):
    """Draw a state path of every sequence backward, from its filtered marginals.

    ``log_filtered`` (n_steps, K) are log p(z_t | x_1..t), and ``path`` gets draws from p(z | x):
    z_t has probability proportional to p(z_t | x_1..t) transition[z_t, z_t+1]. ``chance`` (K,) is
    a buffer.
    """
    n_states, stretch = log_filtered.shape[1], np.int64(0)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        while stretches[stretch + 1] < end:
            stretch += 1
        after = stretch + 1
        for t in range(end - 1, begin - 1, -1):
            largest = -math.inf
            for j in range(n_states):
                chance[j] = log_filtered[t, j]
                if t < end - 1:
                    # The table of the next step leads there.
                    chance[j] += log_transition[table[stretch], j, path[t + 1]]
                largest = max(largest, chance[j])
            for j in range(n_states):
                chance[j] = math.exp(chance[j] - largest) if largest > -math.inf else 1.0
            path[t] = draw_index(chance, 0, n_states, rng)
            if t < stretches[stretch]:
                stretch -= 1
        stretch = after
