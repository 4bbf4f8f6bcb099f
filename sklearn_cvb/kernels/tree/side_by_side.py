"""Charts of several sentences at hand, filled side by side by products of matrices: a row of
symbols' weights for each span, width by width.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline
from sklearn_cvb.kernels.tiles import ROWS
from sklearn_cvb.kernels.tree.arrays import RuleLists, UnaryRules
from sklearn_cvb.kernels.tree.charts import FORBIDDEN, NOTHING, fill_gates, has_terminal, span_at
from sklearn_cvb.kernels.tree.unary_rules import ChainWorkspace, chain_workspace_for

# Spans whose rows are products at a time: a few tiles, so that they stay in the cache.
CHUNK = 4 * ROWS
# Sentences at hand: as many as fill whole tiles, while their charts stay small.
_SIDE_BY_SIDE, _SPANS_AT_HAND = 16, 4096

_LOG_2 = math.log(2.0)


class DenseCharts(NamedTuple):
    """The spans of the sentences at hand, one sentence after the other."""

    # (n_sentences,), int64: places of the sentences in the list to do, and where their spans begin
    sentence: np.ndarray
    first: np.ndarray  # (n_sentences,), int64
    # (n_sentences * longest, 2), int64: sentences at hand and begins of the spans of a width
    spans: np.ndarray
    inside: np.ndarray  # (n_spans, n_symbols): scaled weights
    outside: np.ndarray  # (n_spans, n_symbols)
    exponent: np.ndarray  # (n_spans,), int64: as in `sklearn_cvb.kernels.tree.charts.SpanChart`
    gate: np.ndarray  # (n_spans,), int64
    entry: np.ndarray  # (n_spans,), int64: first lexicon entry of each span, or of those after it
    # (n_symbols,), bool: symbols that a span may have, in the grammar's own numbers
    labels: np.ndarray
    chains: ChainWorkspace


def charts_for(n_symbols: int, lists: RuleLists, unary: UnaryRules | None) -> DenseCharts:
    """Buffers for the longest sentence of `lists`, and for several short ones."""
    lengths = lists.terminals.length.astype(np.int64)
    longest, n_spans = int(lengths.max(initial=1)), int(np.sum(lengths * (lengths + 1) // 2))
    n_spans = max(min(_SPANS_AT_HAND, n_spans), longest * (longest + 1) // 2)
    return DenseCharts(
        np.empty(_SIDE_BY_SIDE, np.int64),
        np.empty(_SIDE_BY_SIDE, np.int64),
        np.empty((_SIDE_BY_SIDE * longest, 2), np.int64),
        np.zeros((n_spans, n_symbols)),
        np.zeros((n_spans, n_symbols)),
        np.empty(n_spans, np.int64),
        np.empty(n_spans, np.int64),
        np.empty(n_spans, np.int64),
        np.ones(n_symbols, np.bool_),
        chain_workspace_for(n_symbols, unary),
    )


@jit_called
def take_sentences(lists, sentences, begin, charts):
    """Take sentences from `begin` on in hand; returns how many."""
    size, n_spans = np.int64(0), np.int64(0)
    while size < charts.sentence.size and begin + size < sentences.size:
        i = sentences[begin + size]
        n = np.int64(lists.terminals.length[i])
        if n_spans + n * (n + 1) // 2 > charts.exponent.size:
            break
        charts.sentence[size] = begin + size
        charts.first[size] = n_spans
        fill_gates(lists.brackets, i, n, charts.gate[n_spans:])
        entry = lists.terminals.starts[i]
        for k in range(1, n + 1):
            for b in range(k - 1, -1, -1):
                s = n_spans + span_at(b, k)
                charts.entry[s] = entry
                charts.exponent[s] = NOTHING
                charts.inside[s, :] = 0.0
                charts.outside[s, :] = 0.0
                while has_terminal(lists.terminals, i, entry, b, k):
                    entry += 1
        n_spans += n * (n + 1) // 2
        size += 1
    return size


@jit_called
def list_spans(lengths, sentences, charts, size, width):
    """List the spans of a width that no bracket forbids; returns how many."""
    n_listed = 0
    for x in range(size):
        for b in range(lengths[sentences[charts.sentence[x]]] - width + 1):
            if charts.gate[charts.first[x] + span_at(b, b + width)] != FORBIDDEN:
                charts.spans[n_listed, 0] = x
                charts.spans[n_listed, 1] = b
                n_listed += 1
    return n_listed


@jit_inline
def longest_at_hand(lengths, sentences, begin, size):
    """Length of the longest of the sentences at hand."""
    longest = np.int64(0)
    for x in range(size):
        longest = max(longest, np.int64(lengths[sentences[begin + x]]))
    return longest


@jit_inline
def log_weight(charts, s, symbol):
    """Log of the inside weight of a symbol over a span, NaN for 0."""
    value = charts.inside[s, symbol]
    return math.log(value) + charts.exponent[s] * _LOG_2 if value > 0.0 else math.nan


@jit_inline
def begin_outside(lengths, sentences, charts, size, start, log_z):
    """Log normalisers of the sentences at hand, and the outside weight of each as a whole."""
    for x in range(size):
        at = charts.sentence[x]
        whole = charts.first[x] + span_at(0, np.int64(lengths[sentences[at]]))
        log_z[at] = log_weight(charts, whole, start)
        if charts.inside[whole, start] > 0.0:
            charts.outside[whole, start] = 1.0 / charts.inside[whole, start]
