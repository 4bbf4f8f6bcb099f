"""Weights of one pair, and the forward and backward passes over its target words."""

import math

from sklearn_cvb.kernels.alignment.arrays import FREE, LINKED, NONE, UNLISTED
from sklearn_cvb.kernels.jit import jit_called, jit_inline


@jit_inline
def mean(tally, cell, row):
    """The weight of a cell: counts plus prior over those of its row."""
    return (max(tally.sums.cells[cell], 0.0) + tally.prior[cell]) / (
        tally.sums.totals[row] + tally.prior_totals[row]
    )


@jit_called
def weigh(pairs, tally, work, i, uniform):
    """Make the weights of a pair.

    A jump is drawn until it stays in the sentence: p(position | context) is the weight of the jump
    over those of all that stay (Och and Ney 2003, section 2.2). Positions that share a cell of
    jumps are equally likely. `uniform` takes all positions as equally likely: IBM model 1.
    """
    first, n = pairs.source_starts[i], pairs.source_starts[i + 1] - pairs.source_starts[i]
    m = pairs.target_starts[i + 1] - pairs.target_starts[i]
    farthest, switch = pairs.longest_jump, pairs.n_lexical + 2 * pairs.longest_jump + 1
    linked, none, left_over = 1.0 - tally.p_null, tally.p_null, 1.0
    if none < 0.0:
        linked = mean(tally, switch + LINKED, pairs.null_row + 2)
        none = mean(tally, switch + NONE, pairs.null_row + 2)
    for b in range(2 * farthest + 1):
        work.jump[b] = mean(tally, pairs.n_lexical + b, pairs.null_row + 1)
        left_over -= work.jump[b]
    # Weights of VB sum to less than 1; rounding errors are no weight.
    left_over = left_over if left_over > 1e-12 else 0.0
    for c in range(n + 1):
        low, high = max(-farthest, 1 - c), min(farthest, n - c)
        stays = left_over
        for b in range(low + farthest, high + farthest + 1):
            stays += work.jump[b]
        work.again[c] = 1.0 / stays if stays > 0.0 else 0.0
        for k in range(n):
            jump = k + 1 - c
            sharing = 1
            if jump >= farthest:
                jump, sharing = farthest, n - farthest - c + 1
            elif jump <= -farthest:
                jump, sharing = -farthest, c - farthest
            weight = work.jump[jump + farthest] * work.again[c] / sharing
            weight = 1.0 / n if uniform else weight
            work.move[c, k] = work.back[k, c] = weight * linked
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
                weight = tally.rest[row] * over
            elif cell == FREE:
                weight = 1.0
            work.emit[j, k] = weight * factor
            at += 1


@jit_called
def emit_links(pairs, work, i, shares):
    """Take the links in a pair's share for what words emit: with `uniform` they come out again."""
    n = pairs.source_starts[i + 1] - pairs.source_starts[i]
    m, at = pairs.target_starts[i + 1] - pairs.target_starts[i], shares.link_first[i]
    for k in range(n + 1):
        over = 1.0 / work.move[0, 0] if k < n else 1.0
        for j in range(m):
            work.emit[j, k] = shares.link[at] * over
            at += 1


@jit_called
def forward(work, n, m):
    """Fill `before`, `ahead` and `scale`; returns log p(target words), -inf where it is 0."""
    for c in range(n + 1):
        work.before[0, c] = 0.0
    work.before[0, 0] = 1.0
    total, j = 0.0, 0
    while j < m and total > -math.inf:
        here, then, ahead, emit = work.before[j], work.before[j + 1], work.ahead[j], work.emit[j]
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
def backward(work, n, m, shares, i):
    """Expected links and jumps of a pair, into its share."""
    link, at = shares.link, shares.link_first[i]
    for c in range(n + 1):
        work.after[c] = 1.0
        for k in range(n):
            work.moved[c, k] = 0.0
    for j in range(m - 1, -1, -1):
        here, ahead, emit, over = work.before[j], work.ahead[j], work.emit[j], 1.0 / work.scale[j]
        none, unlinked = emit[n] * over, 0.0
        for k in range(n):
            work.flow[k] = emit[k] * work.after[k + 1] * over
            link[at + k * m + j] = ahead[k] * work.flow[k]
        for c in range(n + 1):
            unlinked += here[c] * work.after[c]
            work.after[c] *= none
        link[at + n * m + j] = unlinked * none
        for c in range(n + 1):
            chance, moved = here[c], work.moved[c]
            for k in range(n):
                moved[k] += chance * work.flow[k]
        for k in range(n):
            flow, back = work.flow[k], work.back[k]
            for c in range(n + 1):
                work.after[c] += flow * back[c]


@jit_called
def count_jumps(pairs, work, n, shares, i):
    """Expected jumps of a pair into its share, those that left the sentence among them."""
    farthest, count, at = pairs.longest_jump, shares.jump, shares.jump_first[i]
    for b in range(2 * farthest + 1):
        count[at + b] = 0.0
    for c in range(n + 1):
        moves = 0.0
        for k in range(n):
            expected = work.moved[c, k] * work.move[c, k]
            count[at + farthest + min(max(k + 1 - c, -farthest), farthest)] += expected
            moves += expected
        low, high = max(-farthest, 1 - c), min(farthest, n - c)
        lost = moves * work.again[c]
        for b in range(low + farthest):
            count[at + b] += lost * work.jump[b]
        for b in range(high + farthest + 1, 2 * farthest + 1):
            count[at + b] += lost * work.jump[b]
