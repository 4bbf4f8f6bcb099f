"""Sweeps that infer one sentence after the other: they drive the kernels, whatever the form.

A kernel goes as far as it can. Python then makes room, or infers a sentence that float64 has lost,
and lets it go on.
"""

import numpy as np

from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.draws import BEGIN, draw_trees, draws_for
from sklearn_cvb.kernels.tree.forest_inference import room_for_trees
from sklearn_cvb.kernels.tree.forms import Form
from sklearn_cvb.kernels.tree.leave_out import leave_out
from sklearn_cvb.kernels.tree.lost_sentences import count_lost, draw_lost
from sklearn_cvb.kernels.tree.nodes import empty_trees, trimmed, with_room
from sklearn_cvb.kernels.tree.stepwise import steps_for, sweep_steps
from sklearn_cvb.kernels.tree.tallies import Shares, Tally, empty_shares
from sklearn_cvb.pcfg.forms import Problem, form_for
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.parameters import totals_of


def tally_of(
    layout: Layout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray | None = None
) -> Tally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    totals, prior_totals = totals_of(layout, counts), totals_of(layout, prior)
    kept = prior if kept is None else kept
    # Counts of no sentences at all come as integers, for which kernels would be compiled anew.
    counts = counts.astype(np.float64)
    return Tally(counts, totals, np.ones(1), prior, prior_totals, layout.lhs, kept)


def frozen_tally(layout: Layout, theta: np.ndarray) -> Tally:
    """A tally without counts whose posterior means are `theta`."""
    nothing, none = np.zeros(len(theta)), np.zeros(layout.n_lhs)
    return Tally(nothing, none, np.ones(1), theta, np.ones(layout.n_lhs), layout.lhs, theta)


def leave_out_sweep(
    problem: Problem, tally: Tally, shares: Shares, frozen: bool
) -> tuple[Shares, np.ndarray]:
    """Infer every sentence from the counts of all others.

    Parameters
    ----------
    problem : Problem
    tally : Tally
        Counts of all sentences; changed in place, unless frozen.
    shares : Shares
        What the sentences add to it; stays whole, but for its tables, which are changed in place
        unless frozen.
    frozen : bool
        Whether the counts keep these shares; if not, each is replaced at once.

    Returns
    -------
    shares : Shares
        What the sentences add now.
    log_z : ndarray of shape (n_sentences,)
        Log normaliser of each Q(t_i), -inf for sentences without a tree.
    """
    n, form = problem.corpus.n_sequences, form_for(problem)
    if form.factors is not None:
        shares, tables = _with_tables(shares, form.factors.n_symbols, frozen)
    else:
        tables = None
    new, log_z = empty_shares(n, _room(form, shares), tables), np.zeros(n)
    i, inferred = 0, False
    while True:
        i = leave_out(form, tally, shares, new, frozen, inferred, i, log_z)
        if i == n:
            size = new.starts[-1]
            cell, count = new.cell[:size].copy(), new.count[:size].copy()
            return Shares(new.starts, cell, count, tables), log_z
        inferred = bool(np.isnan(log_z[i]))
        if inferred:
            log_z[i] = count_lost(form, i)
        else:
            new = _enlarged(new, form)


def _with_tables(shares: Shares, n: int, frozen: bool) -> tuple[Shares, np.ndarray]:
    """Shares whose children are in tables, and tables for those of after a sweep.

    First none, then those of all sentences; where they are to stay whole, one to be written again
    and again.
    """
    n_sentences = len(shares.starts) - 1
    if shares.tables is None:
        return shares._replace(tables=np.empty((0, 2 * n, n))), np.empty((n_sentences, 2 * n, n))
    return shares, np.empty((1, 2 * n, n)) if frozen else shares.tables


def _room(form: Form, shares: Shares) -> int:
    """How much room for shares to begin with."""
    if form.forest is not None:
        return len(form.forest.cell)
    return len(shares.cell) + _most_rules(form)


def _most_rules(form: Form) -> int:
    """How many rules a sentence may have."""
    listed = form.listed
    assert listed is not None, "without a forest there are lists"
    n_unary = 0 if listed.unary is None else len(listed.unary.cell)
    return len(listed.binary.cell) + n_unary + int(np.diff(listed.terminals.starts).max())


def _enlarged(shares: Shares, form: Form) -> Shares:
    """The same shares with twice the room, and for one more sentence at least."""
    size = len(shares.cell)
    more = 2 * size if form.listed is None else 2 * size + _most_rules(form)
    larger = Shares(shares.starts, np.empty(more, np.int64), np.empty(more), shares.tables)
    larger.cell[:size], larger.count[:size] = shares.cell, shares.count
    return larger


def draw_sweep(
    problem: Problem,
    tally: Tally,
    rng: np.random.Generator,
    old: Trees | None = None,
    temperature: float = 1.0,
) -> tuple[Trees, np.ndarray, np.ndarray]:
    """Draw a tree of each sentence: by a Hastings step, or without old trees from the tally.

    Parameters
    ----------
    problem : Problem
    tally : Tally
        Counts of the old trees; changed in place, but not without old trees.
    rng : numpy.random.Generator
    old : Trees or None, default=None
        The trees to replace; sentences without one keep none.
    temperature : float, default=1.0
        Probabilities are raised to the power 1 / temperature.

    Returns
    -------
    trees : Trees
    log_z : ndarray of shape (n_sentences,)
        -inf for sentences without a tree.
    proposals : ndarray of shape (2,)
        How many trees were proposed and accepted.
    """
    n, lengths, form = problem.corpus.n_sequences, problem.lexicon.length, form_for(problem, True)
    frozen = old is None
    old = empty_trees(n, 0) if old is None else old
    forest, room = problem.forest, max(len(old.rule), 2 * int(lengths.sum()))
    new = empty_trees(n, room) if forest is None else room_for_trees(forest)
    draws, log_z, i = draws_for(old, new, int(lengths.max())), np.zeros(n), 0
    while True:
        i = draw_trees(form, tally, draws, frozen, float(temperature), i, rng, log_z)
        if i == n:
            return trimmed(draws.new), log_z, draws.proposals.astype(np.float64)
        if draws.stage[0] == BEGIN and np.isnan(log_z[i]):
            draws, log_z[i] = draw_lost(form, i, draws, rng)
        else:
            n_nodes = draws.new.starts[i] + old.starts[i + 1] - old.starts[i]
            draws = draws._replace(new=with_room(draws.new, int(n_nodes)))


def stepwise_sweep(
    problem: Problem,
    tally: Tally,
    order: np.ndarray,
    batches: tuple[int, float, int],
) -> tuple[np.ndarray, int]:
    """Batch after batch under the weights that all before have left.

    Parameters
    ----------
    problem : Problem
    tally : Tally
        Running counts; changed in place.
    order : ndarray, int64
        The sentences in the order of the sweep.
    batches : tuple (batch_size, step_power, n_steps)
        Their size, the power of a step, and how many steps came before.

    Returns
    -------
    log_z : ndarray of shape (n_sentences,)
        log p(words) of the sentences in `order` under the weights of the moment, -inf for others.
    n_steps : int
        Number of steps, those before included.
    """
    form, log_z = form_for(problem), np.full(problem.corpus.n_sequences, -np.inf)
    steps, inferred = steps_for(order, *batches), False
    room = 4096 if form.listed is None else _most_rules(form)
    shares = empty_shares(0, room)
    while True:
        at = sweep_steps(form, tally, steps, shares, inferred, log_z)
        if at == len(order):
            return log_z, int(steps.n_steps[0])
        inferred = bool(np.isnan(log_z[order[at]]))
        if inferred:
            log_z[order[at]] = count_lost(form, int(order[at]))
        else:
            shares = _enlarged(shares, form)
