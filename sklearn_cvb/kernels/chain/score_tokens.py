"""How probable each sequence is given the expected counts of all others, tokens independent.

Wang and Blunsom (2013), eqs. 24-25 with the posteriors of figure 3: a sequence's counts are taken
out, its weights are those of the rest, and its counts are put back as they were.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.path_drawing import filter_in_logs, filter_stretch
from sklearn_cvb.kernels.jit import jit, jit_called


@jit_called
def _shift_sequence(tally, floor, tokens, span, entry, sign):
    """Take the counts of a sequence out (sign -1) or put them back (1); none falls below `floor`.

    Its posteriors begin at `entry`.
    """
    lattice, posterior = tokens.lattice, tokens.posterior
    for t in range(span[0], span[1]):
        base, n = lattice.first[t], lattice.count[t]
        for j in range(n):
            k, cell = lattice.state[base + j], lattice.cell[base + j]
            change = sign * posterior[entry + j]
            if cell >= 0:
                tally.emission[cell] = max(tally.emission[cell] + change, floor.emission[cell])
                tally.emit[k] = max(tally.emit[k] + change, floor.emit[k])
            if t == span[0]:
                tally.start[k] = max(tally.start[k] + change, floor.start[k])
            if t < span[1] - 1:
                tally.out[k] = max(tally.out[k] + change, floor.out[k])
                row, least = tally.transition[k], floor.transition[k]
                right, at = lattice.first[t + 1], entry + n
                for i in range(lattice.count[t + 1]):
                    to = lattice.state[right + i]
                    row[to] = max(row[to] + change * posterior[at + i], least[to])
        entry += n


@jit_called
def _fill_scales(tally, factors):
    """Reciprocals by state: cheaper than a division for each entry."""
    for k in range(tally.emit.size):
        factors.last_scale[k] = 1.0 / tally.emit[k]
        factors.scale[k] = factors.last_scale[k] / tally.out[k]


@jit
def score_sequences(tally, floor, tokens, factors, message, log_z):
    """log p(sequence | the expected counts of all others), counts frozen.

    Parameters
    ----------
    tally : Tally
        Counts plus prior; used on the way, and as before on return but for rounding.
    floor : Floor
    tokens : Tokens
    factors : Factors
        Start, transition and emission tables of `tally`, and buffers for the scales.
    message : ndarray, float64
        A buffer for the entries of the longest sequence.
    log_z : ndarray of shape (n_sequences,), float64
        Receives the log probabilities, without the total of the start row (nats); NaN where float64
        may have lost mass.
    """
    entry = np.int64(0)
    for i in range(log_z.size):
        span = tokens.starts[i], tokens.starts[i + 1]
        _shift_sequence(tally, floor, tokens, span, entry, -1.0)
        _fill_scales(tally, factors)
        log_z[i] = filter_stretch(factors, tokens.lattice, span, span, message)
        _shift_sequence(tally, floor, tokens, span, entry, 1.0)
        for t in range(span[0], span[1]):
            entry += tokens.lattice.count[t]


@jit
def score_lost(tally, floor, tokens, factors, message, log_z):
    """`score_sequences` in log space, for the sequences whose `log_z` is NaN."""
    entry = np.int64(0)
    for i in range(log_z.size):
        span = tokens.starts[i], tokens.starts[i + 1]
        if math.isnan(log_z[i]):
            _shift_sequence(tally, floor, tokens, span, entry, -1.0)
            _fill_scales(tally, factors)
            log_z[i] = filter_in_logs(factors, tokens.lattice, span, span, message)
            _shift_sequence(tally, floor, tokens, span, entry, 1.0)
        for t in range(span[0], span[1]):
            entry += tokens.lattice.count[t]
