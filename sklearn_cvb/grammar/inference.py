"""Inference over sentences under a grammar: sweeps of all algorithms, whatever the engine."""

from typing import Any

import numpy as np

from sklearn_cvb.grammar.layout import GrammarLayout, GrammarProblem
from sklearn_cvb.kernels.tree.arrays import (
    Derivations,
    SentenceIndex,
    empty_trees,
    listed_of,
    trimmed,
    with_room,
)
from sklearn_cvb.kernels.tree.charts import chart_for
from sklearn_cvb.kernels.tree.decoding import best_chart_for, best_listed_trees
from sklearn_cvb.kernels.tree.draws import BEGIN, draw_in_logs, draw_trees, draws_for
from sklearn_cvb.kernels.tree.engines import Engine, count_in_logs
from sklearn_cvb.kernels.tree.factors import expected_counts_by_factors, factors_for
from sklearn_cvb.kernels.tree.forests import (
    Forest,
    best_forest_trees,
    expected_forest_counts,
    forest_workspace_for,
)
from sklearn_cvb.kernels.tree.leave_out import leave_out
from sklearn_cvb.kernels.tree.lists import expected_listed_counts
from sklearn_cvb.kernels.tree.tables import expected_counts_by_tables, tables_for
from sklearn_cvb.kernels.tree.tallies import TreeShares, TreeTally, empty_shares
from sklearn_cvb.kernels.tree.unary_rules import chain_workspace_for, fill_closure


def listed_for(problem: GrammarProblem) -> SentenceIndex:
    """Rules and sentences in lists, whatever the engine."""
    return listed_of(problem.layout.rules, problem.lexicon, problem.brackets)


def engine_for(problem: GrammarProblem, to_draw: bool = False) -> Engine:
    """The engine and its buffers; trees by tables are drawn from a chart."""
    if problem.forest is not None:
        return Engine(problem.forest, forest_workspace_for(problem.forest), None, None, None)
    listed = listed_for(problem)
    if problem.dense is None and not problem.factored:
        return Engine(None, None, listed, None, chart_for(listed))
    chart = chart_for(listed) if to_draw else None
    if problem.dense is None:
        return Engine(None, None, listed, None, None, factors_for(listed, chart))
    return Engine(None, None, listed, tables_for(problem.dense, listed, chart), None)


def expectation(
    theta: np.ndarray, problem: GrammarProblem, with_counts: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts over the sentences that have a tree, and log p(words), -inf for others."""
    if problem.forest is not None:
        return _forest_expectation(theta, problem, with_counts)
    engine, lengths = engine_for(problem), problem.lexicon.length
    assert engine.listed is not None, "tables have lists, too"
    set_weights(engine.listed, theta)
    log_z = np.empty(len(lengths))
    if engine.chart is not None:
        sentences = problem.sentences
        expected_listed_counts(engine.listed, engine.chart, sentences, log_z, with_counts)
    else:
        # Sentences of similar length are inferred side by side.
        order, ordered = np.argsort(lengths, kind="stable"), np.empty_like(log_z)
        if engine.tables is not None:
            expected_counts_by_tables(engine.tables, engine.listed, order, ordered, with_counts)
        else:
            expected_counts_by_factors(engine.factors, engine.listed, order, ordered, with_counts)
        log_z[order] = ordered
    for i in np.flatnonzero(np.isnan(log_z)).tolist():
        log_z[i] = count_in_logs(engine, i)
    return cells_of(engine.listed, len(theta)), log_z


def _forest_expectation(
    theta: np.ndarray, problem: GrammarProblem, with_counts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The same by a forest."""
    forest, engine = problem.forest, engine_for(problem)
    assert forest is not None, "asked for by a forest only"
    assert engine.work is not None, "a forest has buffers"
    weights = np.append(theta, 1.0)[forest.cell]
    counts, log_z = np.empty_like(weights), np.empty(problem.corpus.n_sequences)
    expected_forest_counts(forest, weights, engine.work, counts, log_z, with_counts)
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
    listed = listed_for(problem)
    set_log_weights(listed, logs)
    return best_listed_trees(listed, problem.sentences)[0]


def heaviest_in_forest(logs: np.ndarray, forest: Forest) -> Derivations:
    """The same under log weights of each sentence's rules; a tree has a node at most once."""
    trees = empty_trees(len(forest.node_first) - 1, len(forest.symbol))
    best_forest_trees(forest, logs, forest_workspace_for(forest), trees)
    return trimmed(trees)


# Sweeps that infer one sentence after the other, whatever the engine. A kernel goes as far as it
# can; Python then makes room, or infers a sentence that float64 has lost, and lets it go on.


def tally_of(
    layout: GrammarLayout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray | None = None
) -> TreeTally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    totals, prior_totals = layout.totals(counts), layout.totals(prior)
    kept = prior if kept is None else kept
    # Counts of no sentences at all come as integers, for which kernels would be compiled anew.
    counts = counts.astype(np.float64)
    return TreeTally(counts, totals, np.ones(1), prior, prior_totals, layout.lhs, kept)


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
        shares, tables = _with_tables(shares, engine.factors.n_symbols, frozen)
    else:
        tables = None
    forest = engine.forest
    room = len(shares.cell) + most_rules(engine) if forest is None else len(forest.cell)
    new, log_z = empty_shares(n, room, tables), np.zeros(n)
    i, inferred = 0, False
    while True:
        i = leave_out(engine, tally, shares, new, frozen, inferred, i, log_z)
        if i == n:
            size = new.starts[-1]
            cell, count = new.cell[:size].copy(), new.count[:size].copy()
            return TreeShares(new.starts, cell, count, tables), log_z
        inferred = bool(np.isnan(log_z[i]))
        if inferred:
            log_z[i] = count_in_logs(engine, i)
        else:
            new = enlarged(new, engine)


def _with_tables(shares: TreeShares, n: int, frozen: bool) -> tuple[TreeShares, np.ndarray]:
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
    listed = engine.listed
    assert listed is not None, "without a forest there are lists"
    n_unary = 0 if listed.unary is None else len(listed.unary.cell)
    return len(listed.binary.cell) + n_unary + int(np.diff(listed.terminals.starts).max())


def enlarged(shares: TreeShares, engine: Engine) -> TreeShares:
    """The same shares with twice the room, and for one more sentence at least."""
    size = len(shares.cell)
    more = 2 * size if engine.listed is None else 2 * size + most_rules(engine)
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
    old = empty_trees(n, 0) if old is None else old
    forest, room = problem.forest, max(len(old.rule), 2 * int(lengths.sum()))
    new = empty_trees(n, room if forest is None else len(forest.symbol))
    draws, log_z, i = draws_for(old, new, int(lengths.max())), np.zeros(n), 0
    while True:
        i = draw_trees(engine, tally, draws, frozen, float(temperature), i, rng, log_z)
        if i == n:
            return trimmed(draws.new), log_z, draws.proposals.astype(np.float64)
        if draws.stage[0] == BEGIN and np.isnan(log_z[i]):
            draws, log_z[i] = draw_in_logs(engine, i, draws, rng)
        else:
            n_nodes = draws.new.starts[i] + old.starts[i + 1] - old.starts[i]
            draws = draws._replace(new=with_room(draws.new, int(n_nodes)))


# What each sentence adds to the counts of collapsed variational Bayes


def left_out_trees(shares: TreeShares, tally: TreeTally, problem: GrammarProblem) -> Derivations:
    """Each sentence's Viterbi tree under the weights that leave it out, counts frozen."""
    sentences, forest = range(len(problem.lexicon.length)), problem.forest
    if forest is not None:
        logs = np.empty(len(forest.cell))
        for i in sentences:
            here = slice(forest.rule_first[i], forest.rule_first[i + 1])
            logs[here] = _left_out_logs(tally, shares, i, forest.cell[here])
        return heaviest_in_forest(logs, forest)
    listed, trees = listed_for(problem), []
    chart, every = best_chart_for(listed), np.arange(len(tally.cells))
    for i in sentences:
        set_log_weights(listed, _left_out_logs(tally, shares, i, every))
        trees.append(best_listed_trees(listed, np.array([i]), chart)[0][1:])
    return trees_of(trees)


def _left_out_logs(tally: TreeTally, shares: TreeShares, i: int, cells: np.ndarray) -> np.ndarray:
    """Logs of the posterior means of some rules given all sentences but one."""
    own, count = _share(shares, i, tally.lhs)
    counts, totals = tally.cells, tally.totals.copy()
    kept = counts[own]
    np.subtract.at(counts, own, count)
    np.subtract.at(totals, tally.lhs[own], count)
    symbols = tally.lhs[cells]
    means = np.maximum(counts[cells], 0.0) + tally.prior[cells]
    means /= np.maximum(totals[symbols], 0.0) + tally.prior_totals[symbols]
    counts[own] = kept
    # Helper symbols have one rule, of weight 1.
    means[cells < 0] = 1.0
    with np.errstate(divide="ignore"):
        return np.log(means)


def _share(shares: TreeShares, i: int, lhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What sentence `i` adds: cells and counts, those in tables included."""
    here = slice(shares.starts[i], shares.starts[i + 1])
    own, count = shares.cell[here], shares.count[here]
    if shares.tables is not None:
        table = shares.tables[i].ravel()
        own = np.concatenate([own, np.arange(len(lhs) - len(table), len(lhs))])
        count = np.concatenate([count, table])
    return own, count


def counts_of(shares: TreeShares, problem: GrammarProblem) -> np.ndarray:
    """The sum of what the sentences add, by rule."""
    counts = np.bincount(shares.cell, shares.count, len(problem.layout.lhs))
    if shares.tables is not None:
        counts[-shares.tables[0].size :] = shares.tables.sum(axis=0).ravel()
    return counts


def presence_one_by_one(
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
            count = np.bincount(*_share(shares, i, lhs), len(lhs))
            absent += np.log1p(-np.minimum(1.0, count))
            totals_absent += np.log1p(-np.minimum(1.0, np.bincount(lhs, count, n_lhs)))
    return -np.expm1(absent), -np.expm1(totals_absent)


# Trees that were sampled


def used_rules(trees: Derivations, layout: GrammarLayout) -> np.ndarray:
    """How often each rule is used."""
    cells = trees.rule[trees.rule >= 0]
    return np.bincount(cells, minlength=len(layout.lhs)).astype(np.float64)


def trees_of(nodes: list[tuple[Any, ...]]) -> Derivations:
    """Trees of which these are the nodes."""
    starts = np.cumsum([0] + [len(fields[0]) for fields in nodes])
    return Derivations(starts, *(np.concatenate(field) for field in zip(*nodes, strict=True)))


# Weights and counts of a grammar in lists


def set_weights(listed: SentenceIndex, theta: np.ndarray) -> None:
    """Write weights of rules (n_rules,) to a grammar in lists, in place.

    Raises ValueError if the weights of a cycle of unary rules sum to infinity.
    """
    listed.binary.weight[:] = _gathered(theta, listed.binary.cell, 1.0)
    listed.terminals.weight[:] = _gathered(theta, listed.terminals.cell, 1.0)
    unary = listed.unary
    if unary is not None:
        unary.weight[:] = theta[unary.cell]
        if len(unary.member):
            work = chain_workspace_for(len(listed.binary.left_first) - 1, unary)
            if not fill_closure(unary, work):
                raise ValueError(
                    "a cycle of unary rules has so much weight that its chains never end"
                )


def set_log_weights(listed: SentenceIndex, logs: np.ndarray) -> None:
    """The same with logs, for the heaviest trees."""
    listed.binary.weight[:] = _gathered(logs, listed.binary.cell, 0.0)
    listed.terminals.weight[:] = _gathered(logs, listed.terminals.cell, 0.0)
    if listed.unary is not None:
        listed.unary.weight[:] = logs[listed.unary.cell]


def _gathered(values: np.ndarray, cells: np.ndarray, one: float) -> np.ndarray:
    """Values of cells; rules of helper symbols have weight 1."""
    found = values[cells]
    found[cells < 0] = one
    return found


def cells_of(listed: SentenceIndex, n_rules: int) -> np.ndarray:
    """Expected counts of a grammar in lists, summed by cell; those of helpers are left out."""
    total = np.zeros(n_rules)
    for rules in (listed.binary, listed.unary, listed.terminals):
        if rules is not None:
            known = rules.cell >= 0
            total += np.bincount(rules.cell[known], rules.count[known], n_rules)
    return total
