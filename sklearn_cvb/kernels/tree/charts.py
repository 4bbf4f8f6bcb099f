"""The chart of a sentence: what its spans may be, their items, and chains of unary rules.

Spans are numbered column by column, `end` ascending and `begin` descending within: a span comes
after all spans inside it. A chart lists for each span the symbols that derive it (its items),
ascending. Inside weights of a span share a power of two, its exponent; outside weights are divided
by the sentence's total and by that power. So inside times outside is a posterior, and sentences of
any length stay within float64. Items more than 2^-960 below the heaviest of their span are dropped.
Weights need not be normalised. Inside and outside weights include all chains of unary rules.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating, jit_token, jit_token_reduction

_SMALLEST_ITEM = 2.0**-960
# The exponent of a span that nothing derives.
NOTHING = -(1 << 40)
FORBIDDEN, FREE = -1, 0


class Chart(NamedTuple):
    """Buffers for the spans of one sentence.

    Attributes
    ----------
    first : ndarray of shape (n_spans + 1,), int64
        Where the items of each span begin.
    symbol : ndarray of shape (n_items,), int32
    inside, outside : ndarray of shape (n_items,)
        Scaled weights; `inside` holds log scores in a Viterbi chart.
    top : ndarray of shape (n_items,)
        Posterior that the item is its span's highest, no unary rule above it.
    exponent : ndarray of shape (n_spans,), int64
        The inside weights of a span stand for ``inside * 2.0 ** exponent``.
    gate : ndarray of shape (n_spans,), int64
        `FORBIDDEN` where a bracket is crossed, `FREE`, or one more than the first bracket that
        says which symbols the span may have.
    rows, outside_rows : ndarray of shape (longest, n_symbols)
        The spans that end where the current one does, a row for each begin.
    left_row, right_row : ndarray of shape (n_symbols,)
        Inside weights of the parts of a split; zeros between uses.
    place : ndarray of shape (n_symbols,), int64
        The items last written to a row.
    allowed : ndarray of shape (n_symbols,), bool
        Symbols that a span may have.
    block : ndarray
        Two square tables for a component of unary rules.
    in_log : ndarray of shape (1,), bool
        Whether `inside` holds logs, see `sklearn_cvb.kernels.tree.lists_log`.
    """

    first: np.ndarray
    symbol: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    top: np.ndarray
    exponent: np.ndarray
    gate: np.ndarray
    rows: np.ndarray
    outside_rows: np.ndarray
    left_row: np.ndarray
    right_row: np.ndarray
    place: np.ndarray
    allowed: np.ndarray
    block: np.ndarray
    in_log: np.ndarray


@jit_allocating
def chart_for(rules, longest):
    """Allocate a chart for sentences of up to `longest` words."""
    n, size = rules.n_symbols, longest * (longest + 1) // 2
    widest = 1
    for c in range(rules.internal_first.size):
        widest = max(widest, rules.member_first[c + 1] - rules.member_first[c])
    return Chart(
        np.zeros(size + 1, np.int64),
        np.empty(size * n, np.int32),
        np.empty(size * n),
        np.empty(size * n),
        np.empty(size * n),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros((longest, n)),
        np.zeros((longest, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.ones(n, np.bool_),
        np.empty(2 * widest * widest),
        np.zeros(1, np.bool_),
    )


@jit_allocating
def longest_of(lexicon, sentences):
    """Number of words of the longest of some sentences."""
    longest = 1
    for i in sentences:
        longest = max(longest, lexicon.length[i])
    return np.int64(longest)


@jit_token
def span_at(begin, end):
    """Number of a span."""
    return end * (end - 1) // 2 + end - 1 - begin


@jit_token
def power(exponent):
    """2.0 ** exponent; 0 below the range of float64, and never infinite."""
    return math.ldexp(1.0, np.int32(min(max(exponent, -2000), 1000)))


@jit
def restrict(brackets, i, length, gate):
    """Say what each span of a sentence may be."""
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


@jit
def allow(brackets, i, begin, end, gate, allowed):
    """Mark the symbols that a span with known symbols may have."""
    allowed[:] = False
    x = gate - 1
    while x < brackets.starts[i + 1] and brackets.begin[x] == begin and brackets.end[x] == end:
        allowed[brackets.symbol[x]] = True
        x += 1


@jit
def invert(table, at, n):
    """Turn I - U, row by row from `at`, into its inverse; False if the series of U diverges."""
    for k in range(n):
        pivot = table[at + k * n + k]
        if not pivot > 0.0:
            return False
        table[at + k * n + k] = 1.0
        for j in range(n):
            table[at + k * n + j] /= pivot
        for i in range(n):
            factor = table[at + i * n + k]
            if i != k and factor != 0.0:
                table[at + i * n + k] = 0.0
                for j in range(n):
                    table[at + i * n + j] -= factor * table[at + k * n + j]
    return True


@jit
def fill_block(rules, unary, c, allowed, place, table, at):
    """Summed chains of unary rules within one component, through allowed symbols only."""
    begin, n = rules.member_first[c], rules.member_first[c + 1] - rules.member_first[c]
    for x in range(n):
        place[rules.member[begin + x]] = x
        for y in range(n):
            table[at + x * n + y] = 1.0 if x == y else 0.0
    for u in range(rules.internal_first[c], rules.unary_first[c + 1]):
        upper, lower = rules.upper[u], rules.lower[u]
        if allowed[upper] and allowed[lower]:
            table[at + place[upper] * n + place[lower]] -= unary[u]
    return invert(table, at, n)


@jit_allocating
def fill_closure(rules, unary, closure):
    """Sum the chains of unary rules within each component: (I - U)^-1.

    Fills `closure` (rules.block_first[-1],). Returns False if the rules of a cycle weigh so much
    that the sum is infinite.
    """
    allowed = np.ones(rules.n_symbols, np.bool_)
    place = np.empty(rules.n_symbols, np.int64)
    finite = True
    for c in range(rules.internal_first.size):
        if rules.member_first[c + 1] > rules.member_first[c]:
            finite &= fill_block(rules, unary, c, allowed, place, closure, rules.block_first[c])
    return finite


@jit
def _through_cycles(rules, weights, c, row, allowed, free, place, block, upward):
    """Multiply the members of a component by their summed chains."""
    begin, n = rules.member_first[c], rules.member_first[c + 1] - rules.member_first[c]
    table, at, line = weights.closure, rules.block_first[c], n * n
    if not free:
        table, at = block, 0
        fill_block(rules, weights.unary, c, allowed, place, block, 0)
    for x in range(n):
        block[line + x] = row[rules.member[begin + x]]
    for x in range(n):
        total = 0.0
        for y in range(n):
            cell = x * n + y if upward else y * n + x
            total += table[at + cell] * block[line + y]
        symbol = rules.member[begin + x]
        row[symbol] = total if free or allowed[symbol] else 0.0


@jit
def climb(rules, weights, row, allowed, free, place, block):
    """Add the unary rules to the inside weights of a span, the lowest symbols first."""
    for c in range(rules.internal_first.size):
        for u in range(rules.unary_first[c], rules.internal_first[c]):
            upper = rules.upper[u]
            if free or allowed[upper]:
                row[upper] += weights.unary[u] * row[rules.lower[u]]
        if rules.member_first[c + 1] > rules.member_first[c]:
            _through_cycles(rules, weights, c, row, allowed, free, place, block, True)


@jit
def descend(rules, weights, row, allowed, free, place, block):
    """Add the unary rules to the outside weights of a span, the highest symbols first."""
    for c in range(rules.internal_first.size - 1, -1, -1):
        if rules.member_first[c + 1] > rules.member_first[c]:
            _through_cycles(rules, weights, c, row, allowed, free, place, block, False)
        for u in range(rules.unary_first[c], rules.internal_first[c]):
            if allowed[rules.upper[u]]:
                row[rules.lower[u]] += weights.unary[u] * row[rules.upper[u]]


@jit_token_reduction
def _largest(row):
    largest = 0.0
    for x in range(row.size):
        largest = row[x] if row[x] > largest else largest
    return largest


@jit
def rescale(row, exponent):
    """Bring a row in units of 2 ** exponent below 1, drop what is negligible.

    Returns the new exponent, `NOTHING` for a row of zeros.
    """
    largest = _largest(row)
    if not largest > 0.0:
        return NOTHING
    if largest < _SMALLEST_ITEM:
        exponent -= 960
        for x in range(row.size):
            row[x] *= power(960)
        largest = _largest(row)
    _, shift = math.frexp(largest)
    factor = power(-shift)
    for x in range(row.size):
        value = row[x] * factor
        row[x] = value if value >= _SMALLEST_ITEM else 0.0
    return exponent + shift


@jit
def list_items(chart, s, row, exponent):
    """Scale a row to at most 1 and list its items as those of span `s`."""
    chart.exponent[s] = rescale(row, exponent)
    item = chart.first[s]
    if chart.exponent[s] > NOTHING:
        for x in range(row.size):
            if row[x] > 0.0:
                chart.symbol[item] = x
                chart.inside[item] = row[x]
                item += 1
    chart.first[s + 1] = item


@jit
def find(chart, s, symbol):
    """The item of a span with this symbol, -1 if it has none."""
    low, high = chart.first[s], chart.first[s + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if chart.symbol[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and chart.symbol[low] == symbol else -1


@jit
def scatter(chart, s, row):
    """Write the inside weights of a span to a row of zeros, and where its items are."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = chart.inside[item]
        chart.place[chart.symbol[item]] = item


@jit
def erase(chart, s, row):
    """Undo `scatter`."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = 0.0
