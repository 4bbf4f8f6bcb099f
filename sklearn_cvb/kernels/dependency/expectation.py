"""Expected counts of dependency sentences: under given weights, or each given all others (CVB).

The second is Wang and Blunsom (2013), figure 3, with dependency trees for derivations. A sentence
that float64 loses is handed back to Python.
"""

import math

from sklearn_cvb.kernels.dependency.cells import (
    arcs_of,
    cell_of_choice,
    move_coarse_counts,
    row_of_arc,
    row_of_choice,
    weigh_sentence,
    write_coarse_counts,
)
from sklearn_cvb.kernels.dependency.chart import inside_scaled, outside
from sklearn_cvb.kernels.jit import jit, jit_called
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# What is done with each sentence: infer it under the tally and add its counts to other sums; or
# leave out its share, infer it, and put back what it adds now; or what it added before; or no more
# than its likelihood. The first two need expected counts, the second and third take a share out.
EXPECT, SWEEP, SCORE, WEIGH = range(4)


@jit_called
def add_share(sentences, sums, shares, i, sign):
    """Add the share of a sentence to the sums, or take it out."""
    first, n_valences = sentences.starts[i], sentences.n_valences
    n = sentences.starts[i + 1] - first
    for valence in range(n_valences):
        at = shares.first[i] + arcs_of(n, n_valences, valence)
        for h in range(n):
            for c in range(n):
                row = row_of_arc(sentences, first, h, c, valence)
                count = sign * shares.count[at]
                sums.cells[row * sentences.n_types + sentences.token[first + c]] += count
                sums.totals[row] += count
                at += 1
    at = shares.first[i] + n * n
    for h in range(n):
        token = sentences.token[first + h]
        for x in range(8):
            count = sign * shares.count[at]
            sums.cells[cell_of_choice(sentences, token, x)] += count
            sums.totals[row_of_choice(sentences, token, x // 2)] += count
            at += 1
    move_coarse_counts(sentences, sums, shares, i, sign, sentences.coarse)


@jit
def infer(sentences, tally, sums, shares, work, update, i, log_z):
    """Infer sentences from `i` on whose `log_z` is NaN; returns the next sentence.

    Weights are quotients of the tally. Shares, which `EXPECT` and `SWEEP` write, are added to
    `sums`: those of the tally, unless `update` is `EXPECT`. Where not all are done the sentence is
    lost, or has no tree: then its share is taken out, its weights are made, and its share must be
    written and its `log_z` set before the next call.
    """
    subnormal_is_zero(True)
    while i < log_z.size:
        n = sentences.starts[i + 1] - sentences.starts[i]
        if math.isnan(log_z[i]):
            if SWEEP <= update <= SCORE:
                add_share(sentences, sums, shares, i, -1.0)
            weigh_sentence(sentences, tally, work.weight, i, 1.0)
            log_z[i] = inside_scaled(work, n)
            if math.isnan(log_z[i]):
                break
            if update <= SWEEP:
                total = math.exp(log_z[i] - work.weight[-1])
                outside(work, n, total, shares.count, shares.first[i], None)
        if update <= SWEEP:
            write_coarse_counts(
                sentences, work.weight, shares.count, i, shares.first[i], sentences.coarse
            )
        if update != WEIGH:
            add_share(sentences, sums, shares, i, 1.0)
        i += 1
    subnormal_is_zero(False)
    return i
