"""Chains of unary rules: weights climb from lower symbols to those above, and come down again.

Chains within a component, a set of symbols that reach each other, may go round any number of times:
they are summed as a geometric series, (I - U)^-1. A grammar without unary rules has None in place
of `UnaryRules`, and nothing of this is compiled for it.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token
from sklearn_cvb.kernels.tree.arrays import Rules


class UnaryRules(NamedTuple):
    """Rules upper -> lower, see `Rules` for their order and components.

    Attributes
    ----------
    upper, lower : ndarray of shape (n_unary,), int32
    cell : ndarray of shape (n_unary,), int64
    first, internal_first, member, member_first, block_first : ndarray
        `unary_first` and so on of `Rules`.
    weight, count : ndarray of shape (n_unary,)
        Weights (or their logs, where a kernel says so), and expected counts, which kernels add to.
    closure : ndarray of shape (block_first[-1],)
        The summed weights of chains within each component, from `fill_closure`.
    """

    upper: np.ndarray
    lower: np.ndarray
    cell: np.ndarray
    first: np.ndarray
    internal_first: np.ndarray
    member: np.ndarray
    member_first: np.ndarray
    block_first: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    closure: np.ndarray


class ChainWork(NamedTuple):
    """Buffers for the chains over one span.

    Attributes
    ----------
    allowed : ndarray of shape (n_symbols,), bool
        Symbols that the span may have.
    place : ndarray of shape (n_symbols,), int64
        Row of each symbol in its component's block.
    block : ndarray
        A square table and a line for the largest component.
    """

    allowed: np.ndarray
    place: np.ndarray
    block: np.ndarray


def unary_rules_of(rules: Rules) -> UnaryRules | None:
    """The unary rules of a grammar with room for weights and counts; None if it has none."""
    n = len(rules.upper)
    if n == 0:
        return None
    return UnaryRules(
        rules.upper,
        rules.lower,
        rules.unary,
        *rules[-5:],
        np.empty(n),
        np.zeros(n),
        np.empty(rules.block_first[-1]),
    )


def chain_work_for(n_symbols: int, unary: UnaryRules | None) -> ChainWork:
    """Allocate buffers."""
    widest = 0 if unary is None else int(np.max(np.diff(unary.member_first), initial=0))
    return ChainWork(
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


@jit_called
def fill_allowed_block(unary, c, work):
    """Summed chains of a component through allowed symbols only, to the head of `work.block`."""
    _fill_block(unary, c, np.bool_(False), work, work.block, np.int64(0))


@jit_inline
def _multiply(unary, c, row, work, table, upward):
    """Multiply the members of a component by a table (n, n), flat, of their summed chains."""
    begin, n = unary.member_first[c], unary.member_first[c + 1] - unary.member_first[c]
    line = n * n
    for x in range(n):
        work.block[line + x] = row[unary.member[begin + x]]
    for x in range(n):
        total = 0.0
        for y in range(n):
            cell = x * n + y if upward else y * n + x
            total += table[cell] * work.block[line + y]
        row[unary.member[begin + x]] = total


@jit_token
def _through_cycles(unary, c, row, free, work, upward):
    """Multiply the members of a component by their summed chains."""
    if free:
        _multiply(unary, c, row, work, unary.closure[unary.block_first[c] :], upward)
    else:
        fill_allowed_block(unary, c, work)
        _multiply(unary, c, row, work, work.block, upward)
        for x in range(unary.member_first[c], unary.member_first[c + 1]):
            if not work.allowed[unary.member[x]]:
                row[unary.member[x]] = 0.0


@jit_token
def climb(unary, row, free, work):
    """Add the unary rules to the inside weights of a span, the lowest symbols first.

    `row` (n_symbols,) is changed in place. Symbols that are not allowed stay at 0, unless the span
    is free.
    """
    if unary is not None:
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.internal_first[c]):
                upper = unary.upper[u]
                if free or work.allowed[upper]:
                    row[upper] += unary.weight[u] * row[unary.lower[u]]
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, np.bool_(True))


@jit_token
def descend(unary, row, inside_row, free, work):
    """Add the unary rules to the outside weights of a span, the highest symbols first.

    `row` (n_symbols,) is changed in place; `unary.count` is added to. `work.allowed` receives the
    symbols with an inside weight.
    """
    if unary is not None:
        for x in range(row.size):
            work.allowed[x] = inside_row[x] > 0.0
        for c in range(unary.internal_first.size - 1, -1, -1):
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, np.bool_(False))
            for u in range(unary.first[c], unary.internal_first[c]):
                if work.allowed[unary.upper[u]]:
                    row[unary.lower[u]] += unary.weight[u] * row[unary.upper[u]]
        for u in range(unary.upper.size):
            if work.allowed[unary.upper[u]]:
                both = row[unary.upper[u]] * inside_row[unary.lower[u]]
                unary.count[u] += unary.weight[u] * both
