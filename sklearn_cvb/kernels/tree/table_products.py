"""Inside, outside and expected counts under a grammar that has most of all possible rules.

For a span the products of its parts' inside weights are summed over splits, for all pairs of
symbols: a row. One matrix product takes the rows of all spans of a width, in all sentences at hand,
to their parents: n^3 K^2 + n^2 K^3 operations. Symbols that derive single words only ("narrow")
keep to the borders of a span, so pairs of them are left out of all spans but those of two words.
Same quantities and scales as `sklearn_cvb.kernels.tree.lists`, symbols and pairs numbered as in
`sklearn_cvb.kernels.tree.tables`.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_token, jit_token_reduction
from sklearn_cvb.kernels.tiles import add_outer_products, multiply
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    NOTHING,
    allow,
    climb,
    descend,
    power,
    rescale,
    restrict,
    span_at,
)
from sklearn_cvb.kernels.tree.lists import add_terminal
from sklearn_cvb.kernels.tree.tables import CHUNK, fill_tables, read_counts

_LOG_2 = math.log(2.0)


@jit_token
def _add_pairs(left, right, scale, n_left, n_right, at, row):
    """Add the products of two rows of inside weights to a row of pairs from `at`."""
    for x in range(n_left):
        value = scale * left[np.uint64(x)]
        first = at + x * n_right
        for y in range(n_right):
            row[np.uint64(first + y)] += value * right[np.uint64(y)]


@jit_token_reduction
def _take_pairs(above, at, scale, n_left, n_right, left, right, left_outside, right_outside):
    """Add what is above the pairs of two parts to their outside weights."""
    for x in range(n_left):
        value = scale * left[np.uint64(x)]
        first = at + x * n_right
        total = 0.0
        for y in range(n_right):
            here = above[np.uint64(first + y)]
            total += here * right[np.uint64(y)]
            right_outside[np.uint64(y)] += here * value
        left_outside[np.uint64(x)] += scale * total


@jit
def _begin_sentences(lexicon, brackets, sentences, begin, charts):
    """Take sentences from `begin` on in hand; returns how many."""
    size, n_spans = 0, 0
    while size < charts.sentence.size and begin + size < sentences.size:
        i = sentences[begin + size]
        n = np.int64(lexicon.length[i])
        if n_spans + n * (n + 1) // 2 > charts.exponent.size:
            break
        charts.sentence[size] = begin + size
        charts.first[size] = n_spans
        restrict(brackets, i, n, charts.gate[n_spans:])
        entry = lexicon.starts[i]
        for k in range(1, n + 1):
            for b in range(k - 1, -1, -1):
                s = n_spans + span_at(b, k)
                charts.entry[s] = entry
                charts.exponent[s] = NOTHING
                charts.inside[s, :] = 0.0
                charts.outside[s, :] = 0.0
                while (
                    entry < lexicon.starts[i + 1]
                    and lexicon.end[entry] == k
                    and lexicon.begin[entry] == b
                ):
                    entry += 1
        n_spans += n * (n + 1) // 2
        size += 1
    return size


@jit
def _list_spans(lexicon, sentences, charts, size, width):
    """List the spans of a width that no bracket forbids; returns how many."""
    n_listed = 0
    for x in range(size):
        for b in range(lexicon.length[sentences[charts.sentence[x]]] - width + 1):
            if charts.gate[charts.first[x] + span_at(b, b + width)] != FORBIDDEN:
                charts.listed[n_listed, 0] = x
                charts.listed[n_listed, 1] = b
                n_listed += 1
    return n_listed


@jit
def _largest_exponent(charts, first, b, k):
    """The largest exponent of a way to split a span in two derivable parts."""
    largest = NOTHING
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        largest = max(largest, charts.exponent[one] + charts.exponent[other])
    return largest


@jit
def _fill_pairs(dense, charts, first, b, k, exponent, row, narrow_row):
    """Sum the products of a span's parts over splits, in units of 2 ** exponent."""
    n_wide, n_narrow = dense.n_wide, dense.n_narrow
    n_parts = n_wide + n_narrow
    row[:] = 0.0
    narrow_row[:] = 0.0
    if exponent <= NOTHING // 2:
        return
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        scale = power(charts.exponent[one] + charts.exponent[other] - exponent)
        if scale == 0.0:
            continue
        left, right = charts.inside[one], charts.inside[other]
        _add_pairs(left, right, scale, n_parts if j == b + 1 else n_wide, n_wide, 0, row)
        if j == k - 1:
            _add_pairs(left, right[n_wide:], scale, n_wide, n_narrow, n_parts * n_wide, row)
        if k - b == 2:
            _add_pairs(left[n_wide:], right[n_wide:], scale, n_narrow, n_narrow, 0, narrow_row)


@jit
def _take_splits(dense, charts, first, b, k, exponent, above, narrow_above):
    """Outside weights of a span's parts from what is above their pairs."""
    n_wide, n_narrow = dense.n_wide, dense.n_narrow
    n_parts = n_wide + n_narrow
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        scale = power(charts.exponent[one] + charts.exponent[other] - exponent)
        if scale == 0.0:
            continue
        left, right = charts.inside[one], charts.inside[other]
        to_left, to_right = charts.outside[one], charts.outside[other]
        n_left = n_parts if j == b + 1 else n_wide
        _take_pairs(above, 0, scale, n_left, n_wide, left, right, to_left, to_right)
        right, to_right = right[n_wide:], to_right[n_wide:]
        if j == k - 1:
            at = n_parts * n_wide
            _take_pairs(above, at, scale, n_wide, n_narrow, left, right, to_left, to_right)
        if k - b == 2:
            left, to_left = left[n_wide:], to_left[n_wide:]
            _take_pairs(narrow_above, 0, scale, n_narrow, n_narrow, left, right, to_left, to_right)


@jit
def _finish_inside(dense, weights, lexicon, brackets, i, charts, s, b, k, exponent):
    """Terminals, brackets and unary rules of a span; its binary rules are in its row."""
    row = charts.inside[s]
    if exponent <= NOTHING // 2:
        exponent = 0
    entry = charts.entry[s]
    while entry < lexicon.starts[i + 1] and lexicon.end[entry] == k and lexicon.begin[entry] == b:
        symbol = dense.place[lexicon.symbol[entry]]
        exponent = add_terminal(row, symbol, weights.lexical[entry], exponent)
        entry += 1
    free = charts.gate[s] <= FREE
    if not free:
        allow(brackets, i, b, k, charts.gate[s], charts.labels)
        for x in range(row.size):
            charts.allowed[dense.place[x]] = charts.labels[x]
        for x in range(row.size):
            if not charts.allowed[x]:
                row[x] = 0.0
    if dense.rules.upper.size > 0:
        climb(dense.rules, weights, row, charts.allowed, free, charts.place, charts.block)
    charts.exponent[s] = rescale(row, exponent)


@jit
def _finish_outside(dense, weights, lexicon, i, charts, s, b, k, counts):
    """Unary rules and terminals of a span: outside weights and counts."""
    row, inside_row, rules = charts.outside[s], charts.inside[s], dense.rules
    for x in range(row.size):
        charts.allowed[x] = inside_row[x] > 0.0
        if not charts.allowed[x]:
            row[x] = 0.0
    if rules.upper.size > 0:
        free = charts.gate[s] == FREE
        descend(rules, weights, row, charts.allowed, free, charts.place, charts.block)
        for u in range(rules.upper.size):
            if charts.allowed[rules.upper[u]]:
                both = row[rules.upper[u]] * inside_row[rules.lower[u]]
                counts.unary[u] += weights.unary[u] * both
    entry = charts.entry[s]
    while entry < lexicon.starts[i + 1] and lexicon.end[entry] == k and lexicon.begin[entry] == b:
        symbol = dense.place[lexicon.symbol[entry]]
        if charts.allowed[symbol]:
            weight = math.ldexp(weights.lexical[entry], -charts.exponent[s])
            counts.lexical[entry] += weight * row[symbol]
        entry += 1


@jit
def _inside(dense, weights, lexicon, brackets, sentences, work, size, longest):
    """Inside weights of the sentences at hand, width by width."""
    others, narrow, charts = work
    for width in range(1, longest + 1):
        n_listed = _list_spans(lexicon, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            if width > 1:
                for x in range(n_rows):
                    first, b = (
                        charts.first[charts.listed[begin + x, 0]],
                        charts.listed[begin + x, 1],
                    )
                    exponent = _largest_exponent(charts, first, b, b + width)
                    charts.exponent[first + span_at(b, b + width)] = exponent
                    _fill_pairs(
                        dense,
                        charts,
                        first,
                        b,
                        b + width,
                        exponent,
                        others.pairs[x],
                        narrow.pairs[x],
                    )
                multiply(others.pairs, others.up, n_rows, others.up.shape[0], others.parents)
                if width == 2:
                    multiply(narrow.pairs, narrow.up, n_rows, narrow.up.shape[0], narrow.parents)
            for x in range(n_rows):
                sentence, b = charts.listed[begin + x, 0], charts.listed[begin + x, 1]
                s = charts.first[sentence] + span_at(b, b + width)
                if width > 1:
                    for p in range(dense.parent.size):
                        value = others.parents[x, p]
                        if width == 2:
                            value += narrow.parents[x, p]
                        charts.inside[s, dense.parent[p]] = value
                _finish_inside(
                    dense,
                    weights,
                    lexicon,
                    brackets,
                    sentences[charts.sentence[sentence]],
                    charts,
                    s,
                    b,
                    b + width,
                    charts.exponent[s],
                )


@jit
def _outside(dense, weights, lexicon, sentences, work, size, longest, counts):
    """Outside weights and counts of the sentences at hand, width by width."""
    others, narrow, charts = work
    for width in range(longest, 0, -1):
        n_listed = _list_spans(lexicon, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            for x in range(n_rows):
                sentence, b = charts.listed[begin + x, 0], charts.listed[begin + x, 1]
                first, i = charts.first[sentence], sentences[charts.sentence[sentence]]
                s = first + span_at(b, b + width)
                _finish_outside(dense, weights, lexicon, i, charts, s, b, b + width, counts)
                if width > 1:
                    exponent = charts.exponent[s]
                    _fill_pairs(
                        dense,
                        charts,
                        first,
                        b,
                        b + width,
                        exponent,
                        others.pairs[x],
                        narrow.pairs[x],
                    )
                    for p in range(dense.parent.size):
                        others.parents[x, p] = charts.outside[s, dense.parent[p]]
            if width == 1:
                continue
            add_outer_products(others.parents, others.pairs, n_rows, others.counts)
            multiply(others.parents, others.down, n_rows, others.down.shape[0], others.above)
            if width == 2:
                add_outer_products(others.parents, narrow.pairs, n_rows, narrow.counts)
                multiply(others.parents, narrow.down, n_rows, narrow.down.shape[0], narrow.above)
            for x in range(n_rows):
                first, b = charts.first[charts.listed[begin + x, 0]], charts.listed[begin + x, 1]
                exponent = charts.exponent[first + span_at(b, b + width)]
                if exponent > NOTHING:
                    _take_splits(
                        dense,
                        charts,
                        first,
                        b,
                        b + width,
                        exponent,
                        others.above[x],
                        narrow.above[x],
                    )


@jit
def _log_weight(charts, s, symbol):
    """Log of the inside weight of a symbol over a span, -inf for 0."""
    value = charts.inside[s, symbol]
    return math.log(value) + charts.exponent[s] * _LOG_2 if value > 0.0 else -math.inf


@jit
def dense_inside(dense, weights, lexicon, brackets, sentences, work, chart):
    """Fill the chart of one sentence by tables, as `tree_inside.inside` does, for `sample_tree`.

    Parameters
    ----------
    dense : DenseRules
    weights : TreeWeights
        With its closure filled.
    lexicon : Lexicon
    brackets : Brackets
    sentences : ndarray of shape (1,), int64
        Number of the sentence.
    work : DenseWork
    chart : Chart

    Returns
    -------
    float
        log p(words) in nats; -inf without a tree, or where `tree_inside.inside` must decide.
    """
    charts, n = work.charts, np.int64(lexicon.length[sentences[0]])
    fill_tables(dense, weights.binary, work.others, work.narrow)
    _begin_sentences(lexicon, brackets, sentences, 0, charts)
    _inside(dense, weights, lexicon, brackets, sentences, work, 1, n)
    chart.in_log[0] = False
    item = 0
    for s in range(n * (n + 1) // 2):
        chart.first[s] = item
        chart.gate[s], chart.exponent[s] = charts.gate[s], charts.exponent[s]
        for symbol in range(dense.place.size):
            value = charts.inside[s, dense.place[symbol]]
            if value > 0.0:
                chart.symbol[item] = symbol
                chart.inside[item] = value
                item += 1
    chart.first[n * (n + 1) // 2] = item
    return _log_weight(charts, span_at(0, n), dense.place[dense.rules.start])


@jit
def dense_rule_counts(dense, weights, lexicon, brackets, sentences, work, counts, log_z):
    """E-step: `tree_inside.expected_rule_counts` by tables; the same numbers but for rounding.

    Parameters
    ----------
    dense : DenseRules
    weights : TreeWeights
        With its closure filled.
    lexicon : Lexicon
    brackets : Brackets
    sentences : ndarray, int64
        Numbers of the sentences; those of similar length are best next to each other.
    work : DenseWork
        Buffers for the longest of them.
    counts : RuleCounts
        Is added to.
    log_z : ndarray of shape (len(sentences),)
        Receives log p(words) in nats; -inf for a sentence without a tree, which adds nothing.
    """
    charts = work.charts
    fill_tables(dense, weights.binary, work.others, work.narrow)
    start, begin = dense.place[dense.rules.start], 0
    while begin < sentences.size:
        size = _begin_sentences(lexicon, brackets, sentences, begin, charts)
        longest = np.int64(0)
        for x in range(size):
            longest = max(longest, np.int64(lexicon.length[sentences[begin + x]]))
        _inside(dense, weights, lexicon, brackets, sentences, work, size, longest)
        for x in range(size):
            n = np.int64(lexicon.length[sentences[begin + x]])
            whole = charts.first[x] + span_at(0, n)
            log_z[begin + x] = _log_weight(charts, whole, start)
            if log_z[begin + x] > -math.inf:
                charts.outside[whole, start] = 1.0 / charts.inside[whole, start]
        _outside(dense, weights, lexicon, sentences, work, size, longest, counts)
        begin += size
    read_counts(dense, weights.binary, work.others, work.narrow, counts.binary)
