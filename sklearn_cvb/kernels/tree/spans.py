"""The spans of a sentence: their numbers, what brackets allow, scales of their weights.

Spans are numbered column by column, `end` ascending and `begin` descending within: a span comes
after all spans inside it. The inside weights of a span's symbols are a row of a table. They share a
power of two, whose exponent is kept beside them, so that sentences of any length stay within
float64. Weights more than 2^-960 below the heaviest of their span are dropped.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline, jit_token_reduction

SMALLEST_ITEM = 2.0**-960
# The exponent of a span that nothing derives.
NOTHING = -(1 << 40)
# What a span may be: nothing, anything, or (above 0) what its brackets say.
FORBIDDEN, FREE = -1, 0


@jit_inline
def span_at(begin, end):
    """Number of a span."""
    return end * (end - 1) // 2 + end - 1 - begin


@jit_inline
def power(exponent):
    """2.0 ** exponent; 0 below the range of float64, and never infinite."""
    return math.ldexp(1.0, np.int32(min(max(exponent, -2000), 1000)))


@jit_called
def restrict(brackets, i, length, gate):
    """Say what each span of a sentence may be.

    Fills `gate` (n_spans,), int64, with `FORBIDDEN` where a bracket is crossed, `FREE`, or one more
    than the first bracket that says which symbols the span may have.
    """
    for s in range(length * (length + 1) // 2):
        gate[s] = FREE
    first, stop = brackets.starts[i], brackets.starts[i + 1]
    for x in range(stop - 1, first - 1, -1):
        begin, end = brackets.begin[x], brackets.end[x]
        for k in range(1, length + 1):
            for b in range(k):
                if (b < begin < k < end) or (begin < b < end < k):
                    gate[span_at(b, k)] = FORBIDDEN
        here = span_at(begin, end)
        if gate[here] != FORBIDDEN:
            gate[here] = x + 1 if brackets.symbol[x] >= 0 else FREE


@jit_called
def allow(brackets, i, begin, end, gate, allowed):
    """Mark the symbols that a span with known symbols may have, ndarray (n_symbols,), bool."""
    allowed[:] = False
    x = gate - 1
    while x < brackets.starts[i + 1] and brackets.begin[x] == begin and brackets.end[x] == end:
        allowed[brackets.symbol[x]] = True
        x += 1


@jit_token_reduction
def _largest(row):
    """The largest number of a row, 0 if none is positive."""
    largest = 0.0
    for x in range(row.size):
        largest = row[x] if row[x] > largest else largest
    return largest


@jit_called
def rescale(row, exponent):
    """Bring a row in units of 2 ** exponent below 1, drop what is negligible.

    Returns the new exponent, `NOTHING` for a row of zeros.
    """
    largest = _largest(row)
    if not largest > 0.0:
        return NOTHING
    if largest < SMALLEST_ITEM:
        exponent -= 960
        for x in range(row.size):
            row[x] *= power(960)
        largest = _largest(row)
    _, shift = math.frexp(largest)
    factor = power(-shift)
    for x in range(row.size):
        value = row[x] * factor
        row[x] = value if value >= SMALLEST_ITEM else 0.0
    return exponent + shift
