"""The most probable alignment of each pair (Viterbi)."""

import math

from sklearn_cvb.kernels.alignment.trellis import weigh
from sklearn_cvb.kernels.jit import jit, jit_called


@jit_called
def fill_best(work, n, m, came_from):
    """Weights of the best ways into each context, in `before`; returns the log of the best.

    `came_from` receives for each word and context the context before it, or -1 where the word has
    no source. Weights are divided by the largest after each word.
    """
    for c in range(n + 1):
        work.before[0, c] = 1.0 if c == 0 else 0.0
    total = 0.0
    for j in range(m):
        here, then, emit, largest = work.before[j], work.before[j + 1], work.emit[j], 0.0
        for c in range(n + 1):
            then[c], came_from[j, c] = here[c] * emit[n], -1
            if c > 0:
                best, at = 0.0, 0
                for b in range(n + 1):
                    weight = here[b] * work.move[b, c - 1]
                    if weight > best:
                        best, at = weight, b
                if best * emit[c - 1] > then[c]:
                    then[c], came_from[j, c] = best * emit[c - 1], at
            largest = max(largest, then[c])
        if largest > 0.0:
            for c in range(n + 1):
                then[c] /= largest
        total += math.log(largest) if largest > 0.0 else -math.inf
    return total


@jit
def best_alignments(pairs, tally, work, came_from, positions, logs):
    """Find the best alignment of every pair.

    Parameters
    ----------
    pairs : Pairs
    tally : Tally
        Whose quotients are the weights.
    work : Work
    came_from : ndarray of shape (longest_target, longest_source + 1), int64
    positions : ndarray of shape (n_target_tokens,), int64
        Receives the position of the source of each target word, from 0; -1 where it has none.
    logs : ndarray of shape (n_pairs,)
        Receives the log weight of the alignment; at -inf all words are without a source.
    """
    for i in range(logs.size):
        n = pairs.source_starts[i + 1] - pairs.source_starts[i]
        first, m = pairs.target_starts[i], pairs.target_starts[i + 1] - pairs.target_starts[i]
        weigh(pairs, tally, work, i, False)
        logs[i] = fill_best(work, n, m, came_from)
        c, best = 0, -1.0
        for b in range(n + 1):
            if work.before[m, b] > best:
                c, best = b, work.before[m, b]
        for j in range(m - 1, -1, -1):
            positions[first + j] = -1
            if logs[i] > -math.inf and came_from[j, c] >= 0:
                positions[first + j] = c - 1
                c = came_from[j, c]
