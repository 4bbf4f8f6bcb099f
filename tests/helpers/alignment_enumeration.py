"""Word alignment, restated in plain Python: all alignments of short pairs, one by one.

A pair is (rows, targets): numbers of source and of target words. Weights are a dict with
``lexicon`` (by row, NULL last, and target word), ``jump`` (from -K to K) and ``null`` (with a
source, without). Counts have the same form.
"""

from itertools import product

import numpy as np


def alignments(pair, links=None):
    """All source positions, from 0 and -1 for none, that known links leave."""
    rows, targets = pair
    options = []
    for j in range(len(targets)):
        known = [i for i, at in links or [] if at == j]
        options.append(known or range(-1, len(rows)))
    return product(*options)


def moves(alignment):
    """Contexts (positions from 1, 0 at the start) and the positions that follow, from 0."""
    context = 0
    for position in alignment:
        if position >= 0:
            yield context, position
            context = position + 1


def reachable(context, n, farthest):
    """Positions by the jump, clipped, that leads to them."""
    found = {}
    for position in range(n):
        jump = max(-farthest, min(farthest, position + 1 - context))
        found.setdefault(jump, []).append(position)
    return found


def jump_of(context, position, farthest):
    return max(-farthest, min(farthest, position + 1 - context))


def stays(context, n, jump):
    """Weight of all jumps that stay in the sentence; jumps that leave it are drawn again."""
    farthest = len(jump) // 2
    return sum(jump[d + farthest] for d in reachable(context, n, farthest))


def leaves(context, n, jump):
    farthest = len(jump) // 2
    inside = reachable(context, n, farthest)
    return sum(jump[d + farthest] for d in range(-farthest, farthest + 1) if d not in inside)


def weight_of(alignment, pair, weights):
    """Weight of target words and alignment, summed over how often jumps left the sentence."""
    rows, targets = pair
    n, jump, farthest = len(rows), weights["jump"], len(weights["jump"]) // 2
    value = 1.0
    for j, position in enumerate(alignment):
        row = rows[position] if position >= 0 else -1
        value *= weights["lexicon"][row][targets[j]] * weights["null"][int(position < 0)]
    for context, position in moves(alignment):
        d = jump_of(context, position, farthest)
        value *= jump[d + farthest] / len(reachable(context, n, farthest)[d])
        value *= 1 / (1 - leaves(context, n, jump))
    return value


def no_counts(weights):
    return {name: np.zeros(np.shape(table)) for name, table in weights.items()}


def expected_counts(pair, weights, links=None):
    """Sum of all weights, expected counts, and posteriors of alignments."""
    rows, targets = pair
    n, jump, farthest = len(rows), weights["jump"], len(weights["jump"]) // 2
    chances = {a: weight_of(a, pair, weights) for a in alignments(pair, links)}
    total = sum(chances.values())
    counts = no_counts(weights)
    for alignment, weight in chances.items():
        share = weight / total
        for j, position in enumerate(alignment):
            row = rows[position] if position >= 0 else -1
            counts["lexicon"][row, targets[j]] += share
            counts["null"][int(position < 0)] += share
        for context, position in moves(alignment):
            counts["jump"][jump_of(context, position, farthest) + farthest] += share
            lost = leaves(context, n, jump)
            inside = reachable(context, n, farthest)
            for d in range(-farthest, farthest + 1):
                if d not in inside and lost > 0:
                    counts["jump"][d + farthest] += share * jump[d + farthest] / (1 - lost)
    return total, counts, {a: weight / total for a, weight in chances.items()}


def link_table(posterior, pair):
    """Link posteriors, shape (m, n + 1), the last column that of no source."""
    rows, targets = pair
    table = np.zeros((len(targets), len(rows) + 1))
    for alignment, chance in posterior.items():
        for j, position in enumerate(alignment):
            table[j, position] += chance
    return table


def plus(left, right, sign=1.0):
    """Sum or difference of counts."""
    return {name: left[name] + sign * right[name] for name in left}
