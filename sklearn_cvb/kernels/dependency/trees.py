"""Dependency trees read from a chart from the top down: the heaviest, or sampled, also by Hastings
steps. Levels are uniform random numbers; arcs come from their own rows or from coarse ones.

Trees are drawn from given weights, or by Hastings steps given all others. Such a step proposes a
tree from the posterior means given all other trees, which ignores that a cell used twice in the
tree is likelier the second time; the acceptance makes up for that (Johnson, Griffiths and Goldwater
2007). A sentence that float64 loses is handed back to Python.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.dependency.arrays import (
    ARC_LEFT,
    ARC_RIGHT,
    LEFT,
    LEFT_BY_END,
    OPEN_LEFT,
    OPEN_RIGHT,
    RIGHT,
    RIGHT_BY_END,
)
from sklearn_cvb.kernels.dependency.cells import (
    arcs_of,
    cell_of_choice,
    coarse_arcs_of,
    is_possible,
    list_component,
    posterior_mean,
    row_of_arc,
    row_of_choice,
    weigh_sentence,
)
from sklearn_cvb.kernels.dependency.chart import inside, inside_scaled, to_logs
from sklearn_cvb.kernels.dependency.expectation import add_share
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline

# What a chart holds: weights to draw by, their logs, or logs of the heaviest parts alone.
PRODUCTS, LOGS, HEAVIEST = range(3)
# Log of a weight 0 where a tree must be given though none has weight: the one with fewest such.
ALMOST_NOTHING = -1e9


class DescentWorkspace(NamedTuple):
    """A way down the chart."""

    # (2 * longest, 2), int64: halves of the tree, head and other end, that are still to be opened
    stack: np.ndarray
    # (2 * longest,): what the weight of each root, or of each way to an arc, is the product, or
    # sum, of
    factors: np.ndarray
    levels: np.ndarray  # (2 * longest,): stands for random numbers where none matter


def descent_workspace_for(longest: int) -> DescentWorkspace:
    """Room for sentences of at most `longest` tokens."""
    return DescentWorkspace(
        np.zeros((2 * longest, 2), np.int64), np.zeros(2 * longest), np.zeros(2 * longest)
    )


@jit_inline
def _weight_of(table, a, b, kind, peak):
    """A product of two weights, or of what two logs stand for, divided by exp(peak)."""
    weight = table[a] * table[b] if kind == PRODUCTS else math.exp(table[a] + table[b] - peak)
    return weight


@jit_called
def _draw_place(table, a, b, n, kind, level):
    """A place in two runs of n cells, drawn by their products with a level in [0, 1).

    Or that of the heaviest, the first among equals.
    """
    peak, best = -math.inf, np.int64(0)
    if kind != PRODUCTS:
        for k in range(n):
            if table[a + k] + table[b + k] > peak:
                peak, best = table[a + k] + table[b + k], k
    if kind != HEAVIEST:
        total = 0.0
        for k in range(n):
            total += _weight_of(table, a + k, b + k, kind, peak)
        rest = level * total
        for k in range(n):
            weight = _weight_of(table, a + k, b + k, kind, peak)
            if weight > 0.0:
                best = k
                rest -= weight
                if rest < 0.0:
                    break
    return best


@jit_called
def read_heads(work, descent, kind, levels, head):
    """Write the heads of one tree of a chart of this kind, from 1, and 0 for the root.

    `levels` are 2 n - 1 numbers uniform on [0, 1) or more; for the heaviest they do not matter.
    """
    inner, weight, stack, factors = work.inner, work.weight, descent.stack, descent.factors
    n = head.size
    size, first = n * n, arcs_of(n, work.n_valences, 0)
    for r in range(n):
        left, right = inner[LEFT * size + r * n], inner[RIGHT * size + r * n + n - 1]
        factors[r] = weight[r * n + r] * left if kind == PRODUCTS else weight[r * n + r] + left
        factors[n + r] = right
    root = _draw_place(factors, np.int64(0), n, n, kind, levels[0])
    head[root] = 0
    stack[0, 0], stack[0, 1], stack[1, 0], stack[1, 1] = root, 0, root, n - 1
    height, at = 2, 1
    while height > 0:
        height -= 1
        h, e = stack[height, 0], stack[height, 1]
        if h != e:
            is_right, span = h < e, abs(e - h)
            if is_right:
                c = h + 1
                x, y = ARC_RIGHT * size + h * n + c, RIGHT_BY_END * size + e * n + c
            else:
                c = e
                x, y = ARC_LEFT * size + h * n + c, LEFT_BY_END * size + e * n + c
            c += _draw_place(inner, x, y, span, kind, levels[at])
            # Between head and child, the nearer children end where the child's half begins; where
            # the head has none its half ends at itself.
            span = abs(c - h)
            if is_right:
                x, y, end = OPEN_RIGHT * size + h * n + h, LEFT * size + c * n + h + 1, h
            else:
                x, y, end = RIGHT * size + c * n + c, OPEN_LEFT * size + h * n + c + 1, c
            for k in range(span):
                is_first = k == (0 if is_right else span - 1)
                arc = weight[h * n + c + (first if is_first else 0)]
                factors[k] = inner[x + k] * arc if kind == PRODUCTS else inner[x + k] + arc
                factors[n + k] = inner[y + k]
            end += _draw_place(factors, np.int64(0), n, span, kind, levels[at + 1])
            head_end, child_end = (end, end + 1) if is_right else (end + 1, end)
            at += 2
            head[c] = h + 1
            # The child's farther half, its half towards the head, and the head's nearer children.
            stack[height, 0], stack[height, 1] = c, e
            stack[height + 1, 0], stack[height + 1, 1] = c, child_end
            stack[height + 2, 0], stack[height + 2, 1] = h, head_end
            height += 3


# The heaviest


@jit_called
def _rule_out(sentences, weight, i):
    """Give arcs that disagree with a known head no weight at all."""
    first, n_valences = sentences.starts[i], sentences.n_valences
    n = sentences.starts[i + 1] - first
    for c in range(n):
        for h in range(n):
            if not is_possible(sentences, first, h, c):
                weight[h * n + c] = -math.inf
                weight[arcs_of(n, n_valences, 0) + h * n + c] = -math.inf


@jit
def heaviest_trees(sentences, tally, shares, leaves_out, places, head, log_weights):
    """The heaviest tree of each sentence, the first among equals, and its log weight.

    Weights are quotients of the tally, without the share of the sentence itself where asked. Logs
    are less than `ALMOST_NOTHING` / 2 where a part of the tree has weight 0.
    """
    work, descent = places
    for i in range(log_weights.size):
        first = sentences.starts[i]
        n = sentences.starts[i + 1] - first
        if leaves_out:
            add_share(sentences, tally.sums, shares, i, -1.0)
        weigh_sentence(sentences, tally, work.weight, i, 1.0)
        if leaves_out:
            add_share(sentences, tally.sums, shares, i, 1.0)
        after = arcs_of(n, work.n_valences, 0)
        to_logs(work.weight, n, after, ALMOST_NOTHING)
        _rule_out(sentences, work.weight, i)
        log_weights[i] = inside(work.weight, work.inner, n, after, np.bool_(True))
        read_heads(work, descent, np.int64(HEAVIEST), descent.levels, head[first : first + n])


# Drawn


class DependencySweep(NamedTuple):
    """The trees of a sweep."""

    # (n_tokens,), int64: the head of each token in the tree at hand, from 1; 0 for the root; -1
    # where a sentence has no tree yet
    head: np.ndarray
    is_coarse: np.ndarray  # (n_tokens,), int64: whether each token's arc comes from a coarse row
    # (2 * n_tokens,) or (3 * n_tokens,): random numbers, uniform on [0, 1): three for each token
    # where attachments back off
    levels: np.ndarray
    # (2, longest), int64: heads of a tree that is proposed, and which of its arcs are coarse
    proposal: np.ndarray
    used_cells: np.ndarray  # (5 * longest, 2), int64: cell and row of all that a tree uses
    # (longest,), int64: row of each token's arc among those of its head and side
    valence: np.ndarray
    n_children: np.ndarray  # (longest, 2), int64: by side
    proposals: np.ndarray  # (2,), int64: trees proposed and accepted
    descent: DescentWorkspace


def sweep_for(
    head: np.ndarray, is_coarse: np.ndarray, levels: np.ndarray, longest: int
) -> DependencySweep:
    """A sweep that has not begun."""
    return DependencySweep(
        head,
        is_coarse,
        levels,
        np.zeros((2, longest), np.int64),
        np.zeros((5 * longest, 2), np.int64),
        np.zeros(longest, np.int64),
        np.zeros((longest, 2), np.int64),
        np.zeros(2, np.int64),
        descent_workspace_for(longest),
    )


@jit_called
def list_used(sentences, i, head, is_coarse, sweep):
    """List cell and row of all that the tree of a sentence uses; returns how many they are."""
    used, n_children, first = sweep.used_cells, sweep.n_children, sentences.starts[i]
    n, size = head.size, 0
    for c in range(n):
        n_children[c, 0] = n_children[c, 1] = 0
    for x in range(2 * n):
        # Children on the right, and the root, from the left on; then children on the left from the
        # right on: those of a head from the nearest to the farthest.
        c, side = (x, 1) if x < n else (2 * n - 1 - x, 0)
        h = c if head[c] == 0 else head[c] - 1
        if int(c >= h) == side:
            valence = min(n_children[h, side], sentences.n_valences - 1)
            row, tag = row_of_arc(sentences, first, h, c, valence), sentences.token[first + c]
            sweep.valence[c] = valence
            used[size, 0], used[size, 1] = row * sentences.n_types + tag, row
            size += 1
            if h != c:
                n_children[h, side] += 1
                size += list_component(sentences, used, row, size, is_coarse[c], sentences.coarse)
    for h in range(n):
        token = sentences.token[first + h]
        for side in range(2):
            # Each child but the first is one more decision to go on with valence 1.
            for x in range(n_children[h, side] + 1):
                stops = x == n_children[h, side]
                choice = 4 * side + 2 * (x > 0) + (0 if stops else 1)
                used[size, 0] = cell_of_choice(sentences, token, choice)
                used[size, 1] = row_of_choice(sentences, token, choice // 2)
                size += 1
    return size


@jit_called
def draw_components(sentences, i, work, sweep, levels, coarse):
    """Draw whether the arcs of a proposed tree come from coarse rows, by the shares of weights."""
    if coarse is not None:
        n = sentences.starts[i + 1] - sentences.starts[i]
        head, is_coarse = sweep.proposal[0, :n], sweep.proposal[1, :n]
        list_used(sentences, i, head, is_coarse, sweep)
        for c in range(n):
            is_coarse[c] = 0
            if head[c] > 0:
                parts = coarse_arcs_of(n, work.n_valences, sweep.valence[c])
                share = work.weight[parts + (head[c] - 1) * n + c]
                is_coarse[c] = int(levels[2 * n + c] < share)


@jit_called
def _add_used(tally, used, size, sign):
    """Add what a tree uses to the counts, or take it out."""
    for x in range(size):
        tally.sums.cells[used[x, 0]] += sign
        tally.sums.totals[used[x, 1]] += sign


@jit_called
def _log_ratio(tally, used, size):
    """Log of p(tree | all others) over the product of posterior means it is proposed by.

    The first is that of an urn: cell after cell, each given those before (Wang and Blunsom 2013,
    eq. 5).
    """
    total = 0.0
    for x in range(size):
        total -= math.log(posterior_mean(tally, used[x, 0], used[x, 1]))
    for x in range(size):
        total += math.log(posterior_mean(tally, used[x, 0], used[x, 1]))
        tally.sums.cells[used[x, 0]] += 1.0
        tally.sums.totals[used[x, 1]] += 1.0
    _add_used(tally, used, size, -1.0)
    return total


@jit
def draw_trees(sentences, tally, work, sweep, power, i, log_z):
    """Draw the trees of sentences from `i` on whose `log_z` is NaN; returns the next sentence.

    A sentence that has a tree in `sweep` takes a Hastings step given all other trees, and the tally
    changes; one without gets a tree from its posterior given the tally as it is, or none where
    `log_z` is -inf. Probabilities are raised to a power. Where not all are done the sentence is
    lost, or has no tree: then its old tree is taken out and its weights are made, and the chart
    must be filled with logs and its `log_z` set.
    """
    per_token = sweep.levels.size // sweep.head.size
    while i < log_z.size:
        first = sentences.starts[i]
        n = sentences.starts[i + 1] - first
        old, proposal, kind = sweep.head[first : first + n], sweep.proposal[0, :n], LOGS
        was_coarse, is_coarse = sweep.is_coarse[first : first + n], sweep.proposal[1, :n]
        has_tree = old[0] >= 0
        if math.isnan(log_z[i]):
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, sweep)
                _add_used(tally, sweep.used_cells, size, -1.0)
            weigh_sentence(sentences, tally, work.weight, i, power)
            log_z[i], kind = inside_scaled(work, n), PRODUCTS
            if math.isnan(log_z[i]):
                break
        if log_z[i] > -math.inf:
            levels = sweep.levels[per_token * first : per_token * (first + n)]
            read_heads(work, sweep.descent, kind, levels, proposal)
            draw_components(sentences, i, work, sweep, levels, sentences.coarse)
            accepted = True
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, sweep)
                ratio = -_log_ratio(tally, sweep.used_cells, size)
                size = list_used(sentences, i, proposal, is_coarse, sweep)
                ratio += _log_ratio(tally, sweep.used_cells, size)
                accepted = math.log(1.0 - levels[2 * n - 1]) < power * ratio
                sweep.proposals[0] += 1
                sweep.proposals[1] += accepted
            if accepted:
                for c in range(n):
                    old[c] = proposal[c]
                    was_coarse[c] = is_coarse[c]
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, sweep)
                _add_used(tally, sweep.used_cells, size, 1.0)
        i += 1
    return i
