"""Chains of unary rules: weights climb from lower symbols to upper ones, and come down again.
Within a component, a set of symbols that reach each other, chains are summed in closed form
(closure).

Chains within a component, a set of symbols that reach each other, may go round any number of times:
they are summed as a geometric series, (I - U)^-1. A grammar without unary rules has None in place
of `UnaryRules`, and nothing of this is compiled for it.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token
from sklearn_cvb.kernels.tree.arrays import UnaryRules
from sklearn_cvb.kernels.tree.semirings import element, plus, times, weight_of, zero


class ChainWorkspace(NamedTuple):
    """Buffers for the chains over one span."""

    allowed: np.ndarray  # (n_symbols,), bool: symbols that the span may have
    place: np.ndarray  # (n_symbols,), int64: row of each symbol in its component's block
    block: np.ndarray  # a square table and a line for the largest component


def chain_workspace_for(n_symbols: int, unary: UnaryRules | None) -> ChainWorkspace:
    """Allocate buffers."""
    widest = 0 if unary is None else int(np.max(np.diff(unary.member_first), initial=0))
    return ChainWorkspace(
        np.ones(n_symbols, np.bool_),
        np.zeros(n_symbols, np.int64),
        np.zeros(widest * widest + widest),
    )


@jit_called
def _invert(table, at, n):
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


@jit_called
def _fill_block(unary, c, free, work, table, at):
    """Summed chains of unary rules within one component, to `table` from `at` on.

    Through allowed symbols only, unless the span is free.
    """
    begin, n = unary.member_first[c], unary.member_first[c + 1] - unary.member_first[c]
    for x in range(n):
        work.place[unary.member[begin + x]] = x
        for y in range(n):
            table[at + x * n + y] = 1.0 if x == y else 0.0
    for u in range(unary.internal_first[c], unary.first[c + 1]):
        upper, lower = unary.upper[u], unary.lower[u]
        if free or (work.allowed[upper] and work.allowed[lower]):
            table[at + work.place[upper] * n + work.place[lower]] -= unary.weight[u]
    return _invert(table, at, n)


@jit
def fill_closure(unary, work):
    """Sum the chains of unary rules within each component, to `unary.closure`.

    Returns False if the rules of a cycle weigh so much that the sum is infinite.
    """
    finite = True
    for c in range(unary.internal_first.size):
        if unary.member_first[c + 1] > unary.member_first[c]:
            at = unary.block_first[c]
            finite &= _fill_block(unary, c, np.bool_(True), work, unary.closure, at)
    return finite


@jit_inline
def _multiply(unary, c, row, work, table, upward, logs):
    """Multiply the members of a component by a table (n, n), flat, of their summed chains."""
    begin, n = unary.member_first[c], unary.member_first[c + 1] - unary.member_first[c]
    line = n * n
    for x in range(n):
        work.block[line + x] = row[unary.member[begin + x]]
    for x in range(n):
        total = zero(logs)
        for y in range(n):
            chains = element(table[x * n + y if upward else y * n + x], logs)
            total = plus(total, times(chains, work.block[line + y], logs), logs)
        row[unary.member[begin + x]] = total


@jit_token
def _through_cycles(unary, c, row, free, work, upward, logs):
    """Multiply the members of a component by their summed chains, through allowed symbols only."""
    if free:
        _multiply(unary, c, row, work, unary.closure[unary.block_first[c] :], upward, logs)
    else:
        _fill_block(unary, c, np.bool_(False), work, work.block, np.int64(0))
        _multiply(unary, c, row, work, work.block, upward, logs)
        for x in range(unary.member_first[c], unary.member_first[c + 1]):
            if not work.allowed[unary.member[x]]:
                row[unary.member[x]] = zero(logs)


@jit_token
def add_unary_inside(unary, row, free, work, logs):
    """Add the unary rules to the inside weights of a span (n_symbols,), the lowest symbols first.

    Symbols that are not allowed stay without weight, unless the span is free.
    """
    if unary is not None:
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.internal_first[c]):
                upper = unary.upper[u]
                if free or work.allowed[upper]:
                    step = times(element(unary.weight[u], logs), row[unary.lower[u]], logs)
                    row[upper] = plus(row[upper], step, logs)
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, np.bool_(True), logs)


@jit_token
def add_unary_outside(unary, row, inside_row, free, work, logs):
    """Add the unary rules to the outside weights of a span, the highest symbols first; count them.

    `work.allowed` receives the symbols with an inside weight.
    """
    if unary is not None:
        for x in range(row.size):
            work.allowed[x] = inside_row[x] > zero(logs)
        for c in range(unary.internal_first.size - 1, -1, -1):
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, np.bool_(False), logs)
            for u in range(unary.first[c], unary.internal_first[c]):
                lower = unary.lower[u]
                if work.allowed[unary.upper[u]]:
                    step = times(element(unary.weight[u], logs), row[unary.upper[u]], logs)
                    row[lower] = plus(row[lower], step, logs)
        for u in range(unary.upper.size):
            if work.allowed[unary.upper[u]]:
                both = times(row[unary.upper[u]], inside_row[unary.lower[u]], logs)
                both = times(element(unary.weight[u], logs), both, logs)
                unary.count[u] += weight_of(both, logs)
