"""Kernels of word alignment: a hidden Markov model over the positions of a source sentence. Links
are of target words with source words or NULL, jumps lead from one linked position to the next, and
those that leave the sentence are lost and drawn again. Counts lie by cell (a parameter) and row (a
distribution); a share is what one sentence pair adds to them.

Parameters are one flat array of cells, in rows that sum to 1. First the lexicon: a row for each
source word, of the target words that it stands beside in some pair, then one for NULL. Then the
row of jumps, 2 K + 1 cells for jumps from -K to K, of which the first and the last stand for all
jumps so far and farther. Then the row of NULL: cell 0 for a target word that has a source, 1 for
one that has none.

Contexts of a pair of I source words are 0 to I: the position, from 1, of the last source word that
was aligned, 0 before there is one. A target word without a source leaves the context as it is,
which is what NULL twins of states are for (Och and Ney 2003).
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.sums import CellSums

# What `AlignmentPairs.cell` says of words that never stood beside each other, of target words that
# may come from any source word alike, and of links that are ruled out.
UNLISTED, FREE, FORBIDDEN = -1, -2, -3
# Cells of the row of NULL.
LINKED, NONE = 0, 1
# In place of a source, of all words of a pair that has no alignment.
UNALIGNED = -2
# Samples with more lost jumps in a pair are never accepted: where almost no jump stays, which only
# the smallest concentrations allow, there is no end to their number.
MOST_LOST = 2**30


class AlignmentPairs(NamedTuple):
    """Sentence pairs.

    The table of a pair has I + 1 rows, the last of NULL, and J columns.
    """

    source: np.ndarray  # (n_source_tokens,), int64, row of each source word
    source_starts: np.ndarray  # (n_pairs + 1,), int64, where each sentence begins
    target_starts: np.ndarray  # the same
    cell: np.ndarray  # int32, of the tables: the cell, or `UNLISTED`, `FREE` or `FORBIDDEN`
    first: np.ndarray  # (n_pairs + 1,), int64, where the table of each pair begins
    n_lexical: int  # number of cells of the lexicon
    null_row: int  # row of NULL in the lexicon; those of jumps and of NULL follow
    longest_jump: int  # K


class AlignmentTally(NamedTuple):
    """Counts as a sweep changes them, and the prior: weights are their quotients."""

    sums: CellSums
    prior: np.ndarray
    prior_totals: np.ndarray
    unlisted_prior: np.ndarray  # by row, the prior of a cell of the lexicon that is not listed
    p_null: float  # for the weight of cell 1 in the row of NULL; negative where it is learned


class AlignmentShares(NamedTuple):
    """What each pair adds to the counts.

    Where a pair may overwrite the one before, all begin at 0.
    """

    link_starts: np.ndarray  # (n_pairs,), int64, where the links of a pair begin
    jump_starts: np.ndarray  # (n_pairs,), int64, where its jumps begin
    link: np.ndarray  # link posteriors, placed as in `AlignmentPairs.cell`
    jump: np.ndarray  # 2 K + 1 expected jumps of each pair, also those that were drawn again


class AlignmentWorkspace(NamedTuple):
    """The trellis of one pair, with room for the longest: of I and J words."""

    jump: np.ndarray  # (2 K + 1,), weights of jumps
    lost_rate: np.ndarray  # (2 K + 1,), how many jumps of a cell are lost is Poisson with this rate
    draws_until_inside: np.ndarray  # (I + 1,), of a jump: 1 / p(it stays)
    move: np.ndarray  # (I + 1, I), p(next position | context), times that of a link
    move_to: np.ndarray  # (I, I + 1), the same by position and context
    expected_moves: np.ndarray  # (I + 1, I), expected moves over their weights
    emit: np.ndarray  # (J, I + 1), p(target word | source word); NULL's last, times that of no link
    forward: np.ndarray  # (J + 1, I + 1), p(context | words so far)
    predicted: np.ndarray  # (J, I), p(position | words before)
    backward: np.ndarray  # (I + 1,), p(words to come | context), scaled
    emit_backward: np.ndarray  # (I,), emissions times `backward`
    scale: np.ndarray  # (J,), p(word | words before)


def workspace_for(pairs: AlignmentPairs) -> AlignmentWorkspace:
    """A trellis with room for the longest sentences."""
    n = int(np.diff(pairs.source_starts).max())
    m = int(np.diff(pairs.target_starts).max())
    return AlignmentWorkspace(
        np.zeros(2 * pairs.longest_jump + 1),
        np.zeros(2 * pairs.longest_jump + 1),
        np.zeros(n + 1),
        np.zeros((n + 1, n)),
        np.zeros((n, n + 1)),
        np.zeros((n + 1, n)),
        np.zeros((m, n + 1)),
        np.zeros((m + 1, n + 1)),
        np.zeros((m, n)),
        np.zeros(n + 1),
        np.zeros(n),
        np.zeros(m),
    )


def shares_for(pairs: AlignmentPairs, keeps_all: bool) -> AlignmentShares:
    """Room for what each pair adds, or for one pair at a time."""
    n_pairs, width = len(pairs.first) - 1, 2 * pairs.longest_jump + 1
    if keeps_all:
        jump_starts = width * np.arange(n_pairs)
        return AlignmentShares(
            pairs.first[:-1], jump_starts, np.zeros(pairs.first[-1]), np.zeros(n_pairs * width)
        )
    none = np.zeros(n_pairs, np.int64)
    return AlignmentShares(none, none, np.zeros(np.diff(pairs.first).max()), np.zeros(width))


# Weights of one pair, and the passes over its target words


@jit_inline
def _lengths(pairs, i):
    """Words of the source and of the target sentence of a pair."""
    return (
        pairs.source_starts[i + 1] - pairs.source_starts[i],
        pairs.target_starts[i + 1] - pairs.target_starts[i],
    )


@jit_inline
def _cell_weight(tally, cell, row):
    """The weight of a cell: counts plus prior over those of its row."""
    return (max(tally.sums.cells[cell], 0.0) + tally.prior[cell]) / (
        tally.sums.totals[row] + tally.prior_totals[row]
    )


@jit_called
def _fill_weights(pairs, tally, work, i, uniform):
    """Make the weights of a pair.

    A jump is drawn until it stays in the sentence: p(position | context) is the weight of the jump
    over those of all that stay (Och and Ney 2003, section 2.2). Positions that share a cell of
    jumps are equally likely. `uniform` takes all positions as equally likely: IBM model 1.
    """
    first, (n, m) = pairs.source_starts[i], _lengths(pairs, i)
    farthest, switch = pairs.longest_jump, pairs.n_lexical + 2 * pairs.longest_jump + 1
    linked, none, left_over = 1.0 - tally.p_null, tally.p_null, 1.0
    if none < 0.0:
        linked = _cell_weight(tally, switch + LINKED, pairs.null_row + 2)
        none = _cell_weight(tally, switch + NONE, pairs.null_row + 2)
    for b in range(2 * farthest + 1):
        work.jump[b] = _cell_weight(tally, pairs.n_lexical + b, pairs.null_row + 1)
        left_over -= work.jump[b]
    # Weights of VB sum to less than 1; rounding errors are no weight.
    left_over = left_over if left_over > 1e-12 else 0.0
    for c in range(n + 1):
        low, high = max(-farthest, 1 - c), min(farthest, n - c)
        stays = left_over
        for b in range(low + farthest, high + farthest + 1):
            stays += work.jump[b]
        work.draws_until_inside[c] = 1.0 / stays if stays > 0.0 else 0.0
        for k in range(n):
            jump = k + 1 - c
            sharing = 1
            if jump >= farthest:
                jump, sharing = farthest, n - farthest - c + 1
            elif jump <= -farthest:
                jump, sharing = -farthest, c - farthest
            weight = work.jump[jump + farthest] * work.draws_until_inside[c] / sharing
            weight = 1.0 / n if uniform else weight
            work.move[c, k] = work.move_to[k, c] = weight * linked
    at = pairs.first[i]
    for k in range(n + 1):
        row = pairs.source[first + k] if k < n else pairs.null_row
        over = 1.0 / (tally.sums.totals[row] + tally.prior_totals[row])
        factor = none if k == n else 1.0
        for j in range(m):
            cell = pairs.cell[at]
            weight = 0.0
            if cell >= 0:
                # Leaving out may leave less than nothing by a rounding error.
                weight = (max(tally.sums.cells[cell], 0.0) + tally.prior[cell]) * over
            elif cell == UNLISTED:
                weight = tally.unlisted_prior[row] * over
            elif cell == FREE:
                weight = 1.0
            work.emit[j, k] = weight * factor
            at += 1


@jit_called
def _links_as_emissions(pairs, work, i, shares):
    """Take the links in a pair's share for what words emit: with `uniform` they come out again."""
    (n, m), at = _lengths(pairs, i), shares.link_starts[i]
    for k in range(n + 1):
        over = 1.0 / work.move[0, 0] if k < n else 1.0
        for j in range(m):
            work.emit[j, k] = shares.link[at] * over
            at += 1


@jit_called
def _forward(work, n, m):
    """Fill `forward`, `predicted` and `scale`; returns log p(target words), -inf where it is 0."""
    for c in range(n + 1):
        work.forward[0, c] = 0.0
    work.forward[0, 0] = 1.0
    forward, total, j = work.forward, 0.0, 0
    while j < m and total > -math.inf:
        here, then, ahead, emit = forward[j], forward[j + 1], work.predicted[j], work.emit[j]
        for k in range(n):
            ahead[k] = 0.0
        for c in range(n + 1):
            chance, move = here[c], work.move[c]
            for k in range(n):
                ahead[k] += chance * move[k]
        none, scale = emit[n], here[0] * emit[n]
        then[0] = scale
        for k in range(n):
            then[k + 1] = ahead[k] * emit[k] + here[k + 1] * none
            scale += then[k + 1]
        if scale > 0.0:
            over = 1.0 / scale
            for c in range(n + 1):
                then[c] *= over
            work.scale[j] = scale
            total += math.log(scale)
        else:
            total = -math.inf
        j += 1
    return total


@jit_called
def _backward(work, n, m, shares, i):
    """Expected links and jumps of a pair, into its share."""
    link, at, forward = shares.link, shares.link_starts[i], work.forward
    for c in range(n + 1):
        work.backward[c] = 1.0
        for k in range(n):
            work.expected_moves[c, k] = 0.0
    for j in range(m - 1, -1, -1):
        here, ahead, emit, over = forward[j], work.predicted[j], work.emit[j], 1.0 / work.scale[j]
        none, unlinked = emit[n] * over, 0.0
        for k in range(n):
            work.emit_backward[k] = emit[k] * work.backward[k + 1] * over
            link[at + k * m + j] = ahead[k] * work.emit_backward[k]
        for c in range(n + 1):
            unlinked += here[c] * work.backward[c]
            work.backward[c] *= none
        link[at + n * m + j] = unlinked * none
        for c in range(n + 1):
            chance, moved = here[c], work.expected_moves[c]
            for k in range(n):
                moved[k] += chance * work.emit_backward[k]
        for k in range(n):
            flow, back = work.emit_backward[k], work.move_to[k]
            for c in range(n + 1):
                work.backward[c] += flow * back[c]


@jit_called
def _count_jumps(pairs, work, n, shares, i):
    """Expected jumps of a pair into its share, those that left the sentence among them."""
    farthest, count, at = pairs.longest_jump, shares.jump, shares.jump_starts[i]
    for b in range(2 * farthest + 1):
        count[at + b] = 0.0
    for c in range(n + 1):
        moves = 0.0
        for k in range(n):
            expected = work.expected_moves[c, k] * work.move[c, k]
            count[at + farthest + min(max(k + 1 - c, -farthest), farthest)] += expected
            moves += expected
        low, high = max(-farthest, 1 - c), min(farthest, n - c)
        lost_jumps = moves * work.draws_until_inside[c]
        for b in range(low + farthest):
            count[at + b] += lost_jumps * work.jump[b]
        for b in range(high + farthest + 1, 2 * farthest + 1):
            count[at + b] += lost_jumps * work.jump[b]


# Expected counts: under given weights, or each pair from the counts of all others (Wang and Blunsom
# 2013, figure 3, with alignments for derivations)

# What is done with each pair: infer it under the tally and add its counts to other sums; or the
# same with links that are given; or leave out its share, infer it, and put back what it adds now;
# or what it added before; or no more than its likelihood; or nothing but adding its share.
EXPECT, PLACE, SWEEP, SCORE, WEIGH, ADD = range(6)


@jit_called
def _add_share(pairs, sums, shares, i, sign):
    """Add the share of a pair to the sums, or take it out."""
    first, (n, m) = pairs.source_starts[i], _lengths(pairs, i)
    cells, totals, at, source = sums.cells, sums.totals, shares.link_starts[i], pairs.first[i]
    total = 0.0
    for k in range(n + 1):
        row = pairs.source[first + k] if k < n else pairs.null_row
        total = 0.0
        for _ in range(m):
            cell = pairs.cell[source]
            if cell >= 0:
                cells[cell] += sign * shares.link[at]
            total += shares.link[at]
            at += 1
            source += 1
        totals[row] += sign * total
    # The last total is that of NULL. A pair without an alignment adds nothing.
    jump, width, jumps = shares.jump_starts[i], 2 * pairs.longest_jump + 1, 0.0
    for b in range(width):
        cells[pairs.n_lexical + b] += sign * shares.jump[jump + b]
        jumps += shares.jump[jump + b]
    totals[pairs.null_row + 1] += sign * jumps
    switch = pairs.n_lexical + width
    linked = m - total if jumps + total > 0.0 else 0.0
    cells[switch + LINKED] += sign * linked
    cells[switch + NONE] += sign * total
    totals[pairs.null_row + 2] += sign * (linked + total)


@jit_called
def _clear_share(pairs, shares, i):
    """The share of a pair that has no alignment."""
    size = pairs.first[i + 1] - pairs.first[i]
    for x in range(shares.link_starts[i], shares.link_starts[i] + size):
        shares.link[x] = 0.0
    for b in range(shares.jump_starts[i], shares.jump_starts[i] + 2 * pairs.longest_jump + 1):
        shares.jump[b] = 0.0


@jit
def infer(pairs, tally, sums, shares, work, update, uniform, log_z):
    """Infer all pairs under the tally, whose quotients are the weights.

    Shares are added to `sums`: those of the tally with `SWEEP` and `SCORE`, which take shares out
    first. `EXPECT`, `PLACE` (which reads links and needs `uniform`: IBM model 1) and `SWEEP` write
    shares. ``log_z`` (n_pairs,) receives log p(target words | source words), -inf where nothing
    explains them.
    """
    subnormal_is_zero(True)
    for i in range(log_z.size):
        n, m = _lengths(pairs, i)
        if SWEEP <= update <= SCORE:
            _add_share(pairs, sums, shares, i, -1.0)
        if update < ADD:
            _fill_weights(pairs, tally, work, i, uniform)
            if update == PLACE:
                _links_as_emissions(pairs, work, i, shares)
            log_z[i] = _forward(work, n, m)
        if update <= SWEEP:
            if log_z[i] > -math.inf:
                _backward(work, n, m, shares, i)
                _count_jumps(pairs, work, n, shares, i)
            else:
                _clear_share(pairs, shares, i)
        if update != WEIGH:
            _add_share(pairs, sums, shares, i, 1.0)
    subnormal_is_zero(False)


# The most probable alignment


@jit_called
def _fill_best(work, n, m, came_from):
    """Weights of the best ways into each context, in `forward`; returns the log of the best.

    `came_from` receives for each word and context the context before it, or -1 where the word has
    no source. Weights are divided by the largest after each word.
    """
    for c in range(n + 1):
        work.forward[0, c] = 1.0 if c == 0 else 0.0
    total = 0.0
    for j in range(m):
        here, then, emit, largest = work.forward[j], work.forward[j + 1], work.emit[j], 0.0
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
    """Find the best alignment of every pair under the tally, whose quotients are the weights.

    ``positions`` (n_target_tokens,) receives the source of each target word, -1 where it has none,
    ``logs`` (n_pairs,) the log weight: at -inf all words are without a source. ``came_from`` (J, I
    + 1) is a buffer.
    """
    for i in range(logs.size):
        first, (n, m) = pairs.target_starts[i], _lengths(pairs, i)
        _fill_weights(pairs, tally, work, i, np.bool_(False))
        logs[i] = _fill_best(work, n, m, came_from)
        c, best = 0, -1.0
        for b in range(n + 1):
            if work.forward[m, b] > best:
                c, best = b, work.forward[m, b]
        for j in range(m - 1, -1, -1):
            positions[first + j] = -1
            if logs[i] > -math.inf and came_from[j, c] >= 0:
                positions[first + j] = c - 1
                c = came_from[j, c]


# Drawn alignments. A Hastings step proposes one from the posterior means given all other pairs,
# which ignores that a cell used twice in the pair is likelier the second time; the acceptance makes
# up for that (Johnson, Griffiths and Goldwater 2007). Jumps that left the sentence and were drawn
# again are part of a sample, so that all counts are whole.


class AlignmentSweep(NamedTuple):
    """The alignments of a sweep; lost jumps are those that left the sentence."""

    # (n_target_tokens,), int64, of the source of each word, -1 or `UNALIGNED`
    positions: np.ndarray
    lost_jumps: np.ndarray  # (n_pairs, 2 K + 1), int64, how often each jump was lost
    proposed_positions: np.ndarray  # (longest_target,), int64
    proposed_lost: np.ndarray  # (2 K + 1,), int64
    proposals: np.ndarray  # (2,), int64, alignments proposed and accepted


def sweep_for(
    positions: np.ndarray, lost_jumps: np.ndarray, pairs: AlignmentPairs
) -> AlignmentSweep:
    """A sweep that has not begun."""
    longest = int(np.diff(pairs.target_starts).max())
    return AlignmentSweep(
        positions,
        lost_jumps,
        np.zeros(longest, np.int64),
        np.zeros(2 * pairs.longest_jump + 1, np.int64),
        np.zeros(2, np.int64),
    )


@jit_called
def _count_use(tally, cell, row, sign):
    """Add a use of a cell to the counts, or take it out; returns its weight before."""
    weight = _cell_weight(tally, cell, row)
    tally.sums.cells[cell] += sign
    tally.sums.totals[row] += sign
    return math.log(weight) if weight > 0.0 else -math.inf


@jit_called
def _count_uses(tally, cell, row, sign, n):
    """`_count_use` n times, many as the urn's quotients of gamma functions."""
    total = 0.0
    if n < 16:
        for _ in range(n):
            total += _count_use(tally, cell, row, sign)
        return total
    weight = _cell_weight(tally, cell, row)
    if sign > 0.0:
        of_cell = tally.sums.cells[cell] + tally.prior[cell]
        of_row = tally.sums.totals[row] + tally.prior_totals[row]
        total = math.lgamma(of_cell + n) - math.lgamma(of_cell)
        total -= math.lgamma(of_row + n) - math.lgamma(of_row)
    elif weight > 0.0:
        total = n * math.log(weight)
    tally.sums.cells[cell] += sign * n
    tally.sums.totals[row] += sign * n
    return total


@jit_called
def _count_alignment(pairs, tally, i, positions, lost_jumps, sign):
    """Add all that an alignment uses to the counts, or take it out; returns its log weight.

    Added, the weight is that of an urn: cell after cell, each given those before (Wang and Blunsom
    2013, eq. 5). With sign 0 it is that by which alignments are drawn.
    """
    first, (n, m) = pairs.source_starts[i], _lengths(pairs, i)
    farthest, c, total = pairs.longest_jump, 0, 0.0
    switch = pairs.n_lexical + 2 * farthest + 1
    for j in range(m):
        k = positions[j]
        cell = np.int64(pairs.cell[pairs.first[i] + (k if k >= 0 else n) * m + j])
        row = pairs.source[first + k] if k >= 0 else pairs.null_row
        total += _count_use(tally, cell, row, sign)
        choice = switch + (LINKED if k >= 0 else NONE)
        chance = _count_use(tally, choice, pairs.null_row + 2, sign)
        total += chance if tally.p_null < 0.0 else 0.0
        if k >= 0:
            jump = min(max(k + 1 - c, -farthest), farthest) + farthest
            total += _count_use(tally, pairs.n_lexical + jump, pairs.null_row + 1, sign)
            c = k + 1
    for b in range(2 * farthest + 1):
        total += _count_uses(tally, pairs.n_lexical + b, pairs.null_row + 1, sign, lost_jumps[b])
    return total


@jit_called
def _draw_path(work, n, rng, positions):
    """Draw an alignment from a filled trellis, from the last word to the first."""
    m, c, level = positions.size, 0, rng.random()
    while c < n and level >= work.forward[m, c]:
        level -= work.forward[m, c]
        c += 1
    for j in range(m - 1, -1, -1):
        none = work.forward[j, c] * work.emit[j, n]
        linked = work.predicted[j, c - 1] * work.emit[j, c - 1] if c > 0 else 0.0
        positions[j] = -1
        if rng.random() * (none + linked) >= none:
            positions[j], level, k, c = c - 1, rng.random() * work.predicted[j, c - 1], c - 1, 0
            while c < n and level >= work.forward[j, c] * work.move[c, k]:
                level -= work.forward[j, c] * work.move[c, k]
                c += 1


@jit_called
def _draw_poisson(rng, rate):
    """A Poisson number: by products of uniform ones, or by rejection (Hörmann 1993, PTRS)."""
    n = 0
    if rate < 10.0:
        product, least = rng.random(), math.exp(-rate)
        while product > least:
            product *= rng.random()
            n += 1
        return n
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = 0.02483 * b - 0.059
    log_over = math.log(1.1239 + 1.1328 / (b - 3.4))
    while True:
        u, v = rng.random() - 0.5, rng.random()
        edge = 0.5 - abs(u)
        n = math.floor((2.0 * a / edge + b) * u + rate + 0.43) if edge > 0.0 else -1
        if edge >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
            return n
        if n >= 0 and (edge >= 0.013 or v <= edge) and v > 0.0:
            chance = n * math.log(rate) - rate - math.lgamma(n + 1.0)
            if math.log(v) + log_over - math.log(a / (edge * edge) + b) <= chance:
                return n


@jit_called
def _draw_lost_jumps(work, farthest, n, rng, positions, lost_jumps):
    """Draw the jumps that left the sentence before each jump of an alignment; whether few enough.

    How many are lost before one stays is geometric: a Poisson number whose rate is exponential. So
    those of each cell are Poisson numbers, too, and those of a whole alignment have the summed
    rate.
    """
    c, total, n_lost = 0, 0.0, 0
    for b in range(2 * farthest + 1):
        work.lost_rate[b] = 0.0
        lost_jumps[b] = 0
    for j in range(positions.size):
        if positions[j] >= 0:
            low, high = max(-farthest, 1 - c) + farthest, min(farthest, n - c) + farthest
            over = -math.log(1.0 - rng.random()) * work.draws_until_inside[c]
            for b in range(2 * farthest + 1):
                if b < low or b > high:
                    work.lost_rate[b] += work.jump[b] * over
                    total += work.jump[b] * over
            c = positions[j] + 1
    if total < 2 * MOST_LOST:
        for b in range(2 * farthest + 1):
            lost_jumps[b] = _draw_poisson(rng, work.lost_rate[b])
            n_lost += lost_jumps[b]
    return total < 2 * MOST_LOST and n_lost <= MOST_LOST


@jit_called
def _hastings_step(pairs, tally, i, sweep, rng):
    """Whether a Hastings step takes what is proposed; adds what it takes to the counts."""
    begin, end = pairs.target_starts[i], pairs.target_starts[i + 1]
    old, lost_jumps = sweep.positions[begin:end], sweep.lost_jumps[i]
    new, new_lost = sweep.proposed_positions, sweep.proposed_lost
    ratio = _count_alignment(pairs, tally, i, old, lost_jumps, 0.0)
    ratio -= _count_alignment(pairs, tally, i, new, new_lost, 0.0)
    ratio -= _count_alignment(pairs, tally, i, old, lost_jumps, 1.0)
    _count_alignment(pairs, tally, i, old, lost_jumps, -1.0)
    ratio += _count_alignment(pairs, tally, i, new, new_lost, 1.0)
    accepted = math.log(1.0 - rng.random()) < ratio
    if not accepted:
        _count_alignment(pairs, tally, i, new, new_lost, -1.0)
        _count_alignment(pairs, tally, i, old, lost_jumps, 1.0)
    return accepted


@jit
def draw_alignments(pairs, tally, work, sweep, has_old, rng, log_z):
    """Draw the alignment of every pair, into `sweep`.

    With `has_old` they hold alignments: each pair takes a Hastings step given all others, and the
    tally changes in place. If not, alignments are drawn from their posterior given the tally as it
    is. ``log_z`` (n_pairs,) receives log p(target words | source words); a pair of -inf stays
    `UNALIGNED`, or keeps the alignment that it has.
    """
    for i in range(log_z.size):
        first, (n, m) = pairs.target_starts[i], _lengths(pairs, i)
        old, lost_jumps = sweep.positions[first : first + m], sweep.lost_jumps[i]
        new, new_lost = sweep.proposed_positions[:m], sweep.proposed_lost
        log_z[i] = -math.inf
        if has_old and old[0] == UNALIGNED:
            continue
        if has_old:
            _count_alignment(pairs, tally, i, old, lost_jumps, -1.0)
        _fill_weights(pairs, tally, work, i, np.bool_(False))
        log_z[i] = _forward(work, n, m)
        if log_z[i] == -math.inf:
            if has_old:
                _count_alignment(pairs, tally, i, old, lost_jumps, 1.0)
            else:
                old[:] = UNALIGNED
            continue
        _draw_path(work, n, rng, new)
        few = _draw_lost_jumps(work, pairs.longest_jump, n, rng, new, new_lost)
        accepted = not has_old
        if has_old and few:
            accepted = _hastings_step(pairs, tally, i, sweep, rng)
        elif has_old:
            _count_alignment(pairs, tally, i, old, lost_jumps, 1.0)
        sweep.proposals[0] += has_old
        sweep.proposals[1] += has_old and accepted
        if accepted:
            for j in range(new.size):
                old[j] = new[j]
            for b in range(new_lost.size):
                lost_jumps[b] = new_lost[b]
