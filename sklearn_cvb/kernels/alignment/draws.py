"""Alignments drawn pair by pair: from given weights, or by Hastings steps given all others.

A Hastings step proposes an alignment from the posterior means given all other pairs, which ignores
that a cell used twice in the pair is likelier the second time; the acceptance makes up for that
(Johnson, Griffiths and Goldwater 2007). Jumps that left the sentence and were drawn again are part
of a sample, so that all counts are whole.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.alignment.arrays import LINKED, NONE, Pairs
from sklearn_cvb.kernels.alignment.trellis import forward, mean, weigh
from sklearn_cvb.kernels.jit import jit, jit_called


class Draws(NamedTuple):
    """The alignments of a sweep.

    Attributes
    ----------
    position : ndarray of shape (n_target_tokens,), int64
        The position of the source of each target word, from 0; -1 where it has none.
    lost : ndarray of shape (n_pairs, 2 * K + 1), int64
        How often each jump was drawn and left the sentence.
    proposed_position : ndarray of shape (longest_target,), int64
    proposed_lost : ndarray of shape (2 * K + 1,), int64
    n_accepted : ndarray of shape (2,), int64
        Alignments proposed and accepted.
    """

    position: np.ndarray
    lost: np.ndarray
    proposed_position: np.ndarray
    proposed_lost: np.ndarray
    n_accepted: np.ndarray


def draws_for(position: np.ndarray, lost: np.ndarray, pairs: Pairs) -> Draws:
    """A sweep that has not begun."""
    longest = int(np.diff(pairs.target_starts).max())
    return Draws(
        position,
        lost,
        np.zeros(longest, np.int64),
        np.zeros(2 * pairs.longest_jump + 1, np.int64),
        np.zeros(2, np.int64),
    )


@jit_called
def _use(tally, cell, row, sign):
    """Add a use of a cell to the counts, or take it out; returns its weight before."""
    weight = mean(tally, cell, row)
    tally.sums.cells[cell] += sign
    tally.sums.totals[row] += sign
    return math.log(weight) if weight > 0.0 else -math.inf


@jit_called
def _use_all(pairs, tally, i, position, lost, sign):
    """Add all that an alignment uses to the counts, or take it out; returns its log weight.

    Added, the weight is that of an urn: cell after cell, each given those before (Wang and Blunsom
    2013, eq. 5). With sign 0 it is that by which alignments are drawn.
    """
    first, n = pairs.source_starts[i], pairs.source_starts[i + 1] - pairs.source_starts[i]
    m, farthest, c, total = position.size, pairs.longest_jump, 0, 0.0
    switch = pairs.n_lexical + 2 * farthest + 1
    for j in range(m):
        k = position[j]
        cell = pairs.cell[pairs.first[i] + (k if k >= 0 else n) * m + j]
        row = pairs.source[first + k] if k >= 0 else pairs.null_row
        total += _use(tally, cell, row, sign)
        choice = switch + (LINKED if k >= 0 else NONE)
        chance = _use(tally, choice, pairs.null_row + 2, sign)
        total += chance if tally.p_null < 0.0 else 0.0
        if k >= 0:
            jump = min(max(k + 1 - c, -farthest), farthest) + farthest
            total += _use(tally, pairs.n_lexical + jump, pairs.null_row + 1, sign)
            c = k + 1
    for b in range(2 * farthest + 1):
        for _ in range(lost[b]):
            total += _use(tally, pairs.n_lexical + b, pairs.null_row + 1, sign)
    return total


@jit_called
def _draw_path(work, n, rng, position):
    """Draw an alignment from a filled trellis, from the last word to the first."""
    m, c, level = position.size, 0, rng.random()
    while c < n and level >= work.before[m, c]:
        level -= work.before[m, c]
        c += 1
    for j in range(m - 1, -1, -1):
        none = work.before[j, c] * work.emit[j, n]
        linked = work.ahead[j, c - 1] * work.emit[j, c - 1] if c > 0 else 0.0
        position[j] = -1
        if rng.random() * (none + linked) >= none:
            position[j], level, k, c = c - 1, rng.random() * work.ahead[j, c - 1], c - 1, 0
            while c < n and level >= work.before[j, c] * work.move[c, k]:
                level -= work.before[j, c] * work.move[c, k]
                c += 1


@jit_called
def _draw_lost(work, farthest, n, rng, position, lost):
    """Draw the jumps that left the sentence before each jump of an alignment."""
    c = 0
    for b in range(2 * farthest + 1):
        lost[b] = 0
    for j in range(position.size):
        if position[j] >= 0:
            low, high = max(-farthest, 1 - c) + farthest, min(farthest, n - c) + farthest
            b = -1
            while b < low or b > high:
                if b >= 0:
                    lost[b] += 1
                b, level = 0, rng.random() - work.jump[0]
                while b < 2 * farthest and level >= 0.0:
                    b += 1
                    level -= work.jump[b]
            c = position[j] + 1


@jit
def draw_alignments(pairs, tally, work, draws, has_old, rng, log_z):
    """Draw the alignment of every pair.

    Parameters
    ----------
    pairs : Pairs
    tally : Tally
        Counts of all alignments; changed in place where pairs have alignments.
    work : Work
    draws : Draws
        `position` and `lost` receive the alignments.
    has_old : bool
        Whether they hold alignments: each pair then takes a Hastings step given all others. If not,
        alignments are drawn from their posterior given the tally as it is.
    rng : numpy.random.Generator
    log_z : ndarray of shape (n_pairs,)
        Receives log p(target words | source words); a pair of -inf has no alignment.
    """
    for i in range(log_z.size):
        n = pairs.source_starts[i + 1] - pairs.source_starts[i]
        first, last = pairs.target_starts[i], pairs.target_starts[i + 1]
        old, lost = draws.position[first:last], draws.lost[i]
        new, new_lost = draws.proposed_position[: last - first], draws.proposed_lost
        if has_old:
            _use_all(pairs, tally, i, old, lost, -1.0)
        weigh(pairs, tally, work, i, False)
        log_z[i] = forward(work, n, last - first)
        _draw_path(work, n, rng, new)
        _draw_lost(work, pairs.longest_jump, n, rng, new, new_lost)
        accepted = True
        if has_old:
            ratio = _use_all(pairs, tally, i, old, lost, 0.0)
            ratio -= _use_all(pairs, tally, i, new, new_lost, 0.0)
            ratio -= _use_all(pairs, tally, i, old, lost, 1.0)
            _use_all(pairs, tally, i, old, lost, -1.0)
            ratio += _use_all(pairs, tally, i, new, new_lost, 1.0)
            accepted = math.log(1.0 - rng.random()) < ratio
            draws.n_accepted[0] += 1
            draws.n_accepted[1] += accepted
            if not accepted:
                _use_all(pairs, tally, i, new, new_lost, -1.0)
                _use_all(pairs, tally, i, old, lost, 1.0)
        if accepted:
            for j in range(new.size):
                old[j] = new[j]
            for b in range(new_lost.size):
                lost[b] = new_lost[b]
