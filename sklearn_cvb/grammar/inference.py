"""Inference over sentences under a grammar: expectations, sweeps, heaviest and sampled trees. A
tally is counts and prior as a sweep changes them; shares are what each sentence adds to the counts.
"""

from typing import Any

import numpy as np

from sklearn_cvb.grammar.layout import GrammarLayout, GrammarProblem
from sklearn_cvb.kernels.tree import arrays, forests
from sklearn_cvb.kernels.tree.arrays import Derivations, RuleLists
from sklearn_cvb.kernels.tree.charts import chart_for
from sklearn_cvb.kernels.tree.decoding import best_chart_for, best_trees_by_lists
from sklearn_cvb.kernels.tree.draws import BEGIN, draw_in_logs, draw_trees, sweep_for
from sklearn_cvb.kernels.tree.engines import Engine, count_in_logs
from sklearn_cvb.kernels.tree.factors import expected_counts_by_factors, factors_for
from sklearn_cvb.kernels.tree.forests import Forest
from sklearn_cvb.kernels.tree.leave_out import leave_out
from sklearn_cvb.kernels.tree.lists import expected_counts_by_lists
from sklearn_cvb.kernels.tree.tables import expected_counts_by_tables, tables_for
from sklearn_cvb.kernels.tree.tallies import TreeShares, TreeTally, empty_shares
from sklearn_cvb.kernels.tree.unary_rules import chain_workspace_for, fill_closure


def rule_lists_for(problem: GrammarProblem) -> RuleLists:
    """Rules and sentences in lists, whatever the engine."""
    return arrays.rule_lists_of(problem.layout.rules, problem.lexicon, problem.brackets)


def engine_for(problem: GrammarProblem, to_draw: bool = False) -> Engine:
    """The engine and its buffers; trees by tables are drawn from a chart."""
    if problem.forest is not None:
        return Engine(
            problem.forest, forests.forest_workspace_for(problem.forest), None, None, None
        )
    lists = rule_lists_for(problem)
    if problem.dense is None and not problem.is_factored:
        return Engine(None, None, lists, None, chart_for(lists))
    chart = chart_for(lists) if to_draw else None
    if problem.dense is None:
        return Engine(None, None, lists, None, None, factors_for(lists, chart))
    return Engine(None, None, lists, tables_for(problem.dense, lists, chart), None)


def expectation(
    theta: np.ndarray, problem: GrammarProblem, with_counts: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts over the sentences that have a tree, and log p(words), -inf for others."""
    if problem.forest is not None:
        return _forest_expectation(theta, problem, with_counts)
    engine, lengths = engine_for(problem), problem.lexicon.length
    assert engine.lists is not None, "tables have lists, too"
    set_weights(engine.lists, theta)
    log_z = np.empty(len(lengths))
    if engine.chart is not None:
        sentences = problem.sentences
        expected_counts_by_lists(engine.lists, engine.chart, sentences, log_z, with_counts)
    else:
        # Sentences of similar length are inferred side by side.
        order, ordered = np.argsort(lengths, kind="stable"), np.empty_like(log_z)
        if engine.tables is not None:
            expected_counts_by_tables(engine.tables, engine.lists, order, ordered, with_counts)
        else:
            expected_counts_by_factors(engine.factors, engine.lists, order, ordered, with_counts)
        log_z[order] = ordered
    for i in np.flatnonzero(np.isnan(log_z)).tolist():
        log_z[i] = count_in_logs(engine, i)
    return expected_rule_counts(engine.lists, len(theta)), log_z


def _forest_expectation(
    theta: np.ndarray, problem: GrammarProblem, with_counts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`expectation` by a forest."""
    forest, engine = problem.forest, engine_for(problem)
    assert forest is not None, "asked for by a forest only"
    assert engine.work is not None, "a forest has buffers"
    weights = np.append(theta, 1.0)[forest.cell]
    counts, log_z = np.empty_like(weights), np.empty(problem.corpus.n_sequences)
    forests.expected_counts_by_forest(forest, weights, engine.work, counts, log_z, with_counts)
    for i in np.flatnonzero(np.isnan(log_z)).tolist():
        here = slice(forest.rule_first[i], forest.rule_first[i + 1])
        n_rules = here.stop - here.start
        engine.work.weight[:n_rules] = weights[here]
        log_z[i] = count_in_logs(engine, i)
        if log_z[i] > -np.inf:
            counts[here] = engine.work.count[:n_rules]
    # Cell -1, of helpers, comes first and is left out.
    return np.bincount(forest.cell + 1, counts, len(theta) + 1)[1:], log_z


def heaviest_trees(logs: np.ndarray, problem: GrammarProblem) -> Derivations:
    """The tree of each sentence that is heaviest under log weights of rules."""
    if problem.forest is not None:
        return heaviest_in_forest(np.append(logs, 0.0)[problem.forest.cell], problem.forest)
    lists = rule_lists_for(problem)
    set_log_weights(lists, logs)
    return best_trees_by_lists(lists, problem.sentences)[0]


def heaviest_in_forest(logs: np.ndarray, forest: Forest) -> Derivations:
    """The same under log weights of each sentence's rules; a tree has a node at most once."""
    trees = arrays.empty_trees(len(forest.node_first) - 1, len(forest.symbol))
    forests.best_trees_by_forest(forest, logs, forests.forest_workspace_for(forest), trees)
    return arrays.without_spare_room(trees)


# Sweeps that infer one sentence after the other, whatever the engine. A kernel goes as far as it
# can; Python then makes room, or infers a sentence that float64 has lost, and lets it go on.


def tally_of(
    layout: GrammarLayout, counts: np.ndarray, prior: np.ndarray, fallback: np.ndarray | None = None
) -> TreeTally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    totals, prior_totals = layout.totals(counts), layout.totals(prior)
    fallback = prior if fallback is None else fallback
    # Counts of no sentences at all come as integers, for which kernels would be compiled again.
    counts = counts.astype(np.float64)
    return TreeTally(counts, totals, np.ones(1), prior, prior_totals, layout.lhs, fallback)


def frozen_tally(layout: GrammarLayout, theta: np.ndarray) -> TreeTally:
    """A tally without counts whose posterior means are `theta`."""
    nothing, none = np.zeros(len(theta)), np.zeros(layout.n_lhs)
    return TreeTally(nothing, none, np.ones(1), theta, np.ones(layout.n_lhs), layout.lhs, theta)


def leave_out_sweep(
    problem: GrammarProblem, tally: TreeTally, shares: TreeShares | None, frozen: bool
) -> tuple[TreeShares, np.ndarray]:
    """Shares of every sentence inferred from the counts of all others, and log normalisers.

    Unless frozen, the tally and the tables of the old shares (None: nothing is left out) are
    changed in place.
    """
    n, engine = len(problem.lexicon.length), engine_for(problem)
    shares = empty_shares(n, 0) if shares is None else shares
    if engine.factors is not None:
        shares, tables = _shares_with_tables(shares, engine.factors.n_symbols, frozen)
    else:
        tables = None
    forest = engine.forest
    room = len(shares.cell) + most_rules(engine) if forest is None else len(forest.cell)
    new, log_z = empty_shares(n, room, tables), np.zeros(n)
    i, is_inferred = 0, False
    while True:
        i = leave_out(engine, tally, shares, new, frozen, is_inferred, i, log_z)
        if i == n:
            size = new.starts[-1]
            cell, count = new.cell[:size].copy(), new.count[:size].copy()
            return TreeShares(new.starts, cell, count, tables), log_z
        is_inferred = bool(np.isnan(log_z[i]))
        if is_inferred:
            log_z[i] = count_in_logs(engine, i)
        else:
            new = enlarged_shares(new, engine)


def _shares_with_tables(shares: TreeShares, n: int, frozen: bool) -> tuple[TreeShares, np.ndarray]:
    """Shares whose children are in tables, and tables for those of after a sweep.

    First none, then those of all sentences; where they are to stay whole, one to be written again
    and again.
    """
    n_sentences = len(shares.starts) - 1
    if shares.tables is None:
        return shares._replace(tables=np.empty((0, 2 * n, n))), np.empty((n_sentences, 2 * n, n))
    return shares, np.empty((1, 2 * n, n)) if frozen else shares.tables


def most_rules(engine: Engine) -> int:
    """How many rules a sentence may have."""
    lists = engine.lists
    assert lists is not None, "without a forest there are lists"
    n_unary = 0 if lists.unary is None else len(lists.unary.cell)
    return len(lists.binary.cell) + n_unary + int(np.diff(lists.terminals.starts).max())


def enlarged_shares(shares: TreeShares, engine: Engine) -> TreeShares:
    """The same shares with twice the room, and for one more sentence at least."""
    size = len(shares.cell)
    more = 2 * size if engine.lists is None else 2 * size + most_rules(engine)
    larger = TreeShares(shares.starts, np.empty(more, np.int64), np.empty(more), shares.tables)
    larger.cell[:size], larger.count[:size] = shares.cell, shares.count
    return larger


def draw_sweep(
    problem: GrammarProblem,
    tally: TreeTally,
    rng: np.random.Generator,
    old: Derivations | None = None,
    temperature: float = 1.0,
) -> tuple[Derivations, np.ndarray, np.ndarray]:
    """Trees drawn by a Hastings step, log p(words), and how many were proposed and accepted.

    Without old trees they are drawn from the tally, which stays whole; a sentence that has none
    among the old ones keeps none.
    """
    n, lengths = problem.corpus.n_sequences, problem.lexicon.length
    engine, frozen = engine_for(problem, True), old is None
    old = arrays.empty_trees(n, 0) if old is None else old
    forest, room = problem.forest, max(len(old.rule), 2 * int(lengths.sum()))
    new = arrays.empty_trees(n, room if forest is None else len(forest.symbol))
    sweep, log_z, i = sweep_for(old, new, int(lengths.max())), np.zeros(n), 0
    while True:
        i = draw_trees(engine, tally, sweep, frozen, float(temperature), i, rng, log_z)
        if i == n:
            return arrays.without_spare_room(sweep.new), log_z, sweep.proposals.astype(np.float64)
        if sweep.stage[0] == BEGIN and np.isnan(log_z[i]):
            sweep, log_z[i] = draw_in_logs(engine, i, sweep, rng)
        else:
            n_nodes = sweep.new.starts[i] + old.starts[i + 1] - old.starts[i]
            sweep = sweep._replace(new=arrays.with_room(sweep.new, int(n_nodes)))


# What each sentence adds to the counts of collapsed variational Bayes


def leave_one_out_trees(
    shares: TreeShares, tally: TreeTally, problem: GrammarProblem
) -> Derivations:
    """Each sentence's Viterbi tree under the weights that leave it out, counts frozen."""
    sentences, forest = range(len(problem.lexicon.length)), problem.forest
    if forest is not None:
        logs = np.empty(len(forest.cell))
        for i in sentences:
            here = slice(forest.rule_first[i], forest.rule_first[i + 1])
            logs[here] = _leave_one_out_logs(tally, shares, i, forest.cell[here])
        return heaviest_in_forest(logs, forest)
    lists, trees = rule_lists_for(problem), []
    chart, every = best_chart_for(lists), np.arange(len(tally.cells))
    for i in sentences:
        set_log_weights(lists, _leave_one_out_logs(tally, shares, i, every))
        trees.append(best_trees_by_lists(lists, np.array([i]), chart)[0][1:])
    return joined_trees(trees)


def _leave_one_out_logs(
    tally: TreeTally, shares: TreeShares, i: int, cells: np.ndarray
) -> np.ndarray:
    """Logs of the posterior means of some rules given all sentences but one."""
    share, count = _share_of(shares, i, tally.lhs)
    counts, totals = tally.cells, tally.totals.copy()
    before = counts[share]
    np.subtract.at(counts, share, count)
    np.subtract.at(totals, tally.lhs[share], count)
    symbols = tally.lhs[cells]
    means = np.maximum(counts[cells], 0.0) + tally.prior[cells]
    means /= np.maximum(totals[symbols], 0.0) + tally.prior_totals[symbols]
    counts[share] = before
    # Helper symbols have one rule, of weight 1.
    means[cells < 0] = 1.0
    with np.errstate(divide="ignore"):
        return np.log(means)


def _share_of(shares: TreeShares, i: int, lhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and counts of what sentence `i` adds, those in tables included."""
    here = slice(shares.starts[i], shares.starts[i + 1])
    cells, count = shares.cell[here], shares.count[here]
    if shares.tables is not None:
        table = shares.tables[i].ravel()
        cells = np.concatenate([cells, np.arange(len(lhs) - len(table), len(lhs))])
        count = np.concatenate([count, table])
    return cells, count


def sum_shares(shares: TreeShares, problem: GrammarProblem) -> np.ndarray:
    """The sum of what the sentences add, by rule."""
    counts = np.bincount(shares.cell, shares.count, len(problem.layout.lhs))
    if shares.tables is not None:
        counts[-shares.tables[0].size :] = shares.tables.sum(axis=0).ravel()
    return counts


def presence_by_sentence(
    shares: TreeShares, problem: GrammarProblem
) -> tuple[np.ndarray, np.ndarray]:
    """P(C > 0) of every rule and left-hand side, sentences taken as independent.

    A sentence uses a rule with a probability of at most its expected count there. Shares in tables
    are not listed: the list would be as large as all of them.
    """
    lhs, n_lhs = problem.layout.lhs, problem.layout.n_lhs
    absent, totals_absent = np.zeros(len(lhs)), np.zeros(n_lhs)
    with np.errstate(divide="ignore"):
        for i in problem.sentences.tolist():
            count = np.bincount(*_share_of(shares, i, lhs), len(lhs))
            absent += np.log1p(-np.minimum(1.0, count))
            totals_absent += np.log1p(-np.minimum(1.0, np.bincount(lhs, count, n_lhs)))
    return -np.expm1(absent), -np.expm1(totals_absent)


# Trees that were sampled


def rule_uses(trees: Derivations, layout: GrammarLayout) -> np.ndarray:
    """How often each rule is used."""
    cells = trees.rule[trees.rule >= 0]
    return np.bincount(cells, minlength=len(layout.lhs)).astype(np.float64)


def log_weights_of_trees(trees: Derivations, logs: np.ndarray) -> np.ndarray:
    """The sum of the logs of a tree's rules; -inf for a sentence without a tree."""
    n_nodes = np.diff(trees.starts)
    sentence = np.repeat(np.arange(len(n_nodes)), n_nodes)
    total = np.bincount(sentence, np.append(logs, 0.0)[trees.rule], len(n_nodes))
    return np.where(n_nodes > 0, total, -np.inf)


def joined_trees(nodes: list[tuple[Any, ...]]) -> Derivations:
    """Trees of which these are the nodes."""
    starts = np.cumsum([0] + [len(fields[0]) for fields in nodes])
    return Derivations(starts, *(np.concatenate(field) for field in zip(*nodes, strict=True)))


# Weights and counts of a grammar in lists


def set_weights(lists: RuleLists, theta: np.ndarray) -> None:
    """Write weights of rules (n_rules,) to a grammar in lists, in place.

    Raises ValueError if the weights of a cycle of unary rules sum to infinity.
    """
    lists.binary.weight[:] = _values_of_cells(theta, lists.binary.cell, 1.0)
    lists.terminals.weight[:] = _values_of_cells(theta, lists.terminals.cell, 1.0)
    unary = lists.unary
    if unary is not None:
        unary.weight[:] = theta[unary.cell]
        if len(unary.member):
            work = chain_workspace_for(len(lists.binary.left_first) - 1, unary)
            if not fill_closure(unary, work):
                raise ValueError(
                    "a cycle of unary rules has so much weight that its chains never end"
                )


def set_log_weights(lists: RuleLists, logs: np.ndarray) -> None:
    """Write log weights of rules to a grammar in lists, in place: for the heaviest trees."""
    lists.binary.weight[:] = _values_of_cells(logs, lists.binary.cell, 0.0)
    lists.terminals.weight[:] = _values_of_cells(logs, lists.terminals.cell, 0.0)
    if lists.unary is not None:
        lists.unary.weight[:] = logs[lists.unary.cell]


def _values_of_cells(values: np.ndarray, cells: np.ndarray, one: float) -> np.ndarray:
    """Values of cells; rules of helper symbols have weight 1."""
    taken = values[cells]
    taken[cells < 0] = one
    return taken


def expected_rule_counts(lists: RuleLists, n_rules: int) -> np.ndarray:
    """Expected counts of a grammar in lists, summed by cell; those of helpers are left out."""
    total = np.zeros(n_rules)
    for rules in (lists.binary, lists.unary, lists.terminals):
        if rules is not None:
            known = rules.cell >= 0
            total += np.bincount(rules.cell[known], rules.count[known], n_rules)
    return total
