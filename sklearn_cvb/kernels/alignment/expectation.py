"""Expected counts of sentence pairs: under given weights, or each from the counts of all others.

The second is Wang and Blunsom (2013), figure 3, with alignments for derivations.
"""

import math

from sklearn_cvb.kernels.alignment.arrays import LINKED, NONE
from sklearn_cvb.kernels.alignment.trellis import (
    backward,
    count_jumps,
    emit_links,
    forward,
    weigh,
)
from sklearn_cvb.kernels.jit import jit, jit_called

# What is done with each pair: infer it under the tally and add its counts to other sums; or the
# same with links that are given; or leave out its share, infer it, and put back what it adds now;
# or what it added before; or no more than its likelihood; or nothing but adding its share.
EXPECT, PLACE, SWEEP, SCORE, WEIGH, ADD = range(6)


@jit_called
def add_share(pairs, sums, shares, i, sign):
    """Add the share of a pair to the sums, or take it out."""
    first, n = pairs.source_starts[i], pairs.source_starts[i + 1] - pairs.source_starts[i]
    m = pairs.target_starts[i + 1] - pairs.target_starts[i]
    cells, totals, at, source = sums.cells, sums.totals, shares.link_first[i], pairs.first[i]
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
    jump, width, jumps = shares.jump_first[i], 2 * pairs.longest_jump + 1, 0.0
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
def clear(pairs, shares, i):
    """The share of a pair that has no alignment."""
    size = pairs.first[i + 1] - pairs.first[i]
    for x in range(shares.link_first[i], shares.link_first[i] + size):
        shares.link[x] = 0.0
    for b in range(shares.jump_first[i], shares.jump_first[i] + 2 * pairs.longest_jump + 1):
        shares.jump[b] = 0.0


@jit
def infer(pairs, tally, sums, shares, work, update, uniform, log_z):
    """Infer all pairs.

    Parameters
    ----------
    pairs : Pairs
    tally : Tally
        Whose quotients are the weights.
    sums : Sums
        To which shares are added: those of the tally with `SWEEP` and `SCORE`, which take shares
        out first.
    shares : Shares
        What the pairs add; written by `EXPECT`, `PLACE` and `SWEEP`. `PLACE` reads the links.
    work : Work
    update : int
        `EXPECT`, `PLACE` (which needs `uniform`), `SWEEP`, `SCORE`, `WEIGH` or `ADD`.
    uniform : bool
        Whether all positions are equally likely: IBM model 1.
    log_z : ndarray of shape (n_pairs,)
        Receives log p(target words | source words), -inf where nothing explains them.
    """
    for i in range(log_z.size):
        n = pairs.source_starts[i + 1] - pairs.source_starts[i]
        m = pairs.target_starts[i + 1] - pairs.target_starts[i]
        if SWEEP <= update <= SCORE:
            add_share(pairs, sums, shares, i, -1.0)
        if update < ADD:
            weigh(pairs, tally, work, i, uniform)
            if update == PLACE:
                emit_links(pairs, work, i, shares)
            log_z[i] = forward(work, n, m)
        if update <= SWEEP:
            if log_z[i] > -math.inf:
                backward(work, n, m, shares, i)
                count_jumps(pairs, work, n, shares, i)
            else:
                clear(pairs, shares, i)
        if update != WEIGH:
            add_share(pairs, sums, shares, i, 1.0)
