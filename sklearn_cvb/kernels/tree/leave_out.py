"""Leave out one sentence, infer its trees from the expected counts of all others, add it back.

Wang and Blunsom (2013), figure 3. Weights are made only for rules that the sentence can use.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating, jit_token
from sklearn_cvb.kernels.tree.arrays import RuleCounts, TreeWeights
from sklearn_cvb.kernels.tree.charts import chart_for, fill_closure, longest_of
from sklearn_cvb.kernels.tree.lists import inside, outside
from sklearn_cvb.kernels.tree.table_sentences import infer_by_tables


class Tally(NamedTuple):
    """Counts of rules (cells) and of left-hand sides (totals), their prior, each rule's symbol."""

    cells: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    prior_totals: np.ndarray
    lhs: np.ndarray


class Shares(NamedTuple):
    """What each sentence adds to the counts: by cell, and by occurrence of a terminal.

    Attributes
    ----------
    starts : ndarray of shape (n_sentences + 1,), int64
        Where the binary and unary rules of each sentence begin.
    cell : ndarray, int64
    count : ndarray
        Positive expected counts of these rules.
    lexical : ndarray of shape (n_occurrences,)
        Expected counts of the lexicon's occurrences.
    """

    starts: np.ndarray
    cell: np.ndarray
    count: np.ndarray
    lexical: np.ndarray


@jit
def add_count(tally, cell, count):
    """Add a count, or take it away; rounding leaves nothing below 0."""
    if cell >= 0:
        symbol = tally.lhs[cell]
        tally.cells[cell] = max(0.0, tally.cells[cell] + count)
        tally.totals[symbol] = max(0.0, tally.totals[symbol] + count)


@jit
def add_share(tally, shares, lexicon, i, sign):
    """Add (1) or take away (-1) what sentence `i` contributes."""
    for x in range(shares.starts[i], shares.starts[i + 1]):
        add_count(tally, shares.cell[x], sign * shares.count[x])
    for x in range(lexicon.starts[i], lexicon.starts[i + 1]):
        add_count(tally, lexicon.rule[x], sign * shares.lexical[x])


@jit
def rule_mean(tally, cell):
    """Posterior mean of a rule's probability; the rules of helper symbols have weight 1."""
    if cell < 0:
        return 1.0
    symbol = tally.lhs[cell]
    return (tally.cells[cell] + tally.prior[cell]) / (
        tally.totals[symbol] + tally.prior_totals[symbol]
    )


@jit_token
def _raised(weight, power):
    """weight ** power, which costs something only where it is needed."""
    return weight if power == 1.0 else weight**power


@jit_allocating
def weigh(tally, rules, lexicon, i, power, weights):
    """Weights of all binary and unary rules, and of the terminals of sentence `i`, in place.

    They are raised to a power. Returns False if chains of unary rules sum to infinity.
    """
    for r in range(rules.binary.size):
        weights.binary[r] = _raised(rule_mean(tally, rules.binary[r]), power)
    for r in range(rules.unary.size):
        weights.unary[r] = _raised(rule_mean(tally, rules.unary[r]), power)
    for x in range(lexicon.starts[i], lexicon.starts[i + 1]):
        weights.lexical[x] = _raised(rule_mean(tally, lexicon.rule[x]), power)
    return rules.unary.size == 0 or fill_closure(rules, weights.unary, weights.closure)


@jit_allocating
def weights_for(rules, lexicon):
    """Room for weights."""
    return TreeWeights(
        np.empty(rules.binary.size),
        np.empty(rules.unary.size),
        np.empty(rules.block_first[-1]),
        np.empty(lexicon.rule.size),
    )


@jit_allocating
def _with_room(shares, size, wanted):
    """Shares whose list has room for `wanted` entries; the first `size` are kept."""
    if wanted <= shares.cell.size:
        return shares
    cell, count = np.empty(2 * wanted, np.int64), np.empty(2 * wanted)
    cell[:size] = shares.cell[:size]
    count[:size] = shares.count[:size]
    return Shares(shares.starts, cell, count, shares.lexical)


@jit
def _list_counts(cells, counts, shares, size):
    """Append the positive counts and set them to 0; returns the new size."""
    for r in range(counts.size):
        if counts[r] > 0.0:
            if cells[r] >= 0:
                shares.cell[size] = cells[r]
                shares.count[size] = counts[r]
                size += 1
            counts[r] = 0.0
    return size


class Sweep(NamedTuple):
    """A sweep in progress: counts of the sentence at hand, the shares of all, of those so far."""

    counts: RuleCounts
    old: Shares
    new: Shares
    size: np.ndarray


@jit_allocating
def _begin_sweep(rules, lexicon, shares):
    counts = RuleCounts(np.zeros(rules.binary.size), np.zeros(rules.unary.size), shares.lexical)
    n, room = lexicon.length.size, shares.cell.size
    starts = np.zeros(n + 1, np.int64)
    new = Shares(starts, np.empty(room, np.int64), np.empty(room), shares.lexical)
    return Sweep(counts, shares, new, np.zeros(1, np.int64))


@jit_allocating
def _leave_out(rules, lexicon, tally, weights, learning, i, sweep):
    """Take a sentence out of the counts, and make the weights that it is inferred with."""
    if learning:
        add_share(tally, sweep.old, lexicon, i, -1.0)
        weigh(tally, rules, lexicon, i, 1.0, weights)
    sweep.old.lexical[lexicon.starts[i] : lexicon.starts[i + 1]] = 0.0


@jit_allocating
def _take_in(rules, lexicon, tally, i, sweep):
    """Add what has been counted in a sentence."""
    size, counts = sweep.size[0], sweep.counts
    new = _with_room(sweep.new, size, size + rules.binary.size + rules.unary.size)
    size = _list_counts(rules.binary, counts.binary, new, size)
    size = _list_counts(rules.unary, counts.unary, new, size)
    new.starts[i + 1] = size
    add_share(tally, new, lexicon, i, 1.0)
    sweep.size[0] = size
    return Sweep(counts, sweep.old, new, sweep.size)


@jit_allocating
def _shares_of(sweep):
    size, new = sweep.size[0], sweep.new
    return Shares(new.starts, new.cell[:size].copy(), new.count[:size].copy(), new.lexical)


@jit_allocating
def sweep_sentences(rules, lexicon, brackets, tally, weights, learning, shares, log_z):
    """One sweep in the order given; counts are updated at once.

    Parameters
    ----------
    rules : Rules
    lexicon : Lexicon
    brackets : Brackets
    tally : Tally
        Changed in place.
    weights : TreeWeights
        Room for them; where not learning the weights of all sentences.
    learning : bool
        Whether each sentence is inferred from the counts of all others.
    shares : Shares
        Of the last sweep; its `lexical` is changed in place.
    log_z : ndarray of shape (n_sentences,)
        Receives the log normaliser of each Q(t_i), -inf for sentences without a tree.

    Returns
    -------
    Shares
    """
    chart = chart_for(rules, longest_of(lexicon, np.arange(log_z.size)))
    sweep = _begin_sweep(rules, lexicon, shares)
    for i in range(log_z.size):
        _leave_out(rules, lexicon, tally, weights, learning, i, sweep)
        log_z[i] = inside(rules, weights, lexicon, brackets, i, chart)
        if log_z[i] > -math.inf:
            outside(rules, weights, lexicon, brackets, i, chart, sweep.counts)
        sweep = _take_in(rules, lexicon, tally, i, sweep)
    return _shares_of(sweep)


@jit_allocating
def sweep_tables(rules, lexicon, brackets, tally, weights, learning, shares, log_z, room, frozen):
    """The same by tables, with a `DenseRoom`; or log p(x_i | all others), with frozen counts.

    Frozen counts do not change, but `shares.lexical` does. One kernel, as it is long to compile.
    """
    sweep = _begin_sweep(rules, lexicon, shares)
    for i in range(log_z.size):
        if frozen:
            add_share(tally, shares, lexicon, i, -1.0)
            weigh(tally, rules, lexicon, i, 1.0, weights)
            add_share(tally, shares, lexicon, i, 1.0)
        else:
            _leave_out(rules, lexicon, tally, weights, learning, i, sweep)
        log_z[i] = infer_by_tables(rules, weights, lexicon, brackets, i, room, sweep.counts)
        if not frozen:
            sweep = _take_in(rules, lexicon, tally, i, sweep)
    return _shares_of(sweep)


@jit_allocating
def leave_out_scores(rules, lexicon, brackets, tally, shares, log_z):
    """log p(x_i | expected counts of all other sentences), counts frozen; fills `log_z`."""
    n = np.int64(lexicon.length.size)
    weights = weights_for(rules, lexicon)
    chart = chart_for(rules, longest_of(lexicon, np.arange(n)))
    for i in range(n):
        add_share(tally, shares, lexicon, i, -1.0)
        weigh(tally, rules, lexicon, i, 1.0, weights)
        log_z[i] = inside(rules, weights, lexicon, brackets, i, chart)
        add_share(tally, shares, lexicon, i, 1.0)
