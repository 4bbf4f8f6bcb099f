"""The hierarchical Dirichlet process over states, truncated: rows of transitions share weights of
the states, which are learned from table counts of a Chinese restaurant franchise.

Row j is Dirichlet(alpha b_1, ..., alpha b_K), plus `sticky` for staying in j; the weights b of the
states are Dirichlet(gamma / K, ...), and tend to those of a Dirichlet process for many states K
(Ishwaran and Zarepour 2002). States that the data do not ask for get next to no weight. The end of
a sequence, where it is an event, is no state: it has alpha / K in each row.

Pooled tables are one index more: row j of every context is Dirichlet(alpha b_j1, ..., alpha b_jK),
so that each state j has weights of its own, which its rows in all contexts share. Start rows have a
plain prior then.

All is learned from table counts: how many of the C transitions from j to k were new draws from b
(Teh, Jordan, Beal and Blei 2006), expected by Teh, Kurihara and Welling (2007) or drawn (Gibbs).
Given tables, row totals alone tell of alpha; how many of a state's tables were new draws tells of
gamma.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainConcentrations, HMMCounts, Presence
from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.dirichlet import SymmetricRows

# No weight is smaller: its cells would leave the range of concentrations.
_SMALLEST = 1e-9


class _Rows(NamedTuple):
    """What each row that shares weights has: those of the states, then the start row.

    Of pooled tables the rows of all contexts, one table below the other, and no start row.
    """

    cells: np.ndarray  # (n_rows, n_states)
    ends: np.ndarray  # (n_states, 1), or none
    totals: np.ndarray  # (n_rows,)


def _rows_of(
    concentrations: ChainConcentrations, counts: HMMCounts, totals: HMMCounts | None = None
) -> _Rows:
    """Counts, or how surely they are positive; totals None for their sums."""
    if concentrations.is_pooled:
        sums = counts.transition.sum(axis=1) if totals is None else totals.transition
        return _Rows(counts.transition, np.empty((0, 0)), sums)
    n = concentrations.weights.shape[1]
    cells = np.vstack([counts.transition[:n, :n], counts.start[:n]])
    ends = counts.transition[:n, n:]
    if totals is not None:
        return _Rows(cells, ends, np.append(totals.transition[:n], totals.start))
    sums = cells.sum(axis=1)
    sums[:n] += ends.sum(axis=1)
    return _Rows(cells, ends, sums)


class _RowPrior(NamedTuple):
    """The prior of the rows."""

    weighted: np.ndarray  # (n_rows, n_states) What cells have from the weights
    cells: _Rows  # pseudo-counts, with `sticky` and ends
    per_alpha: np.ndarray  # (n_rows,) By how much a total rises with alpha


def _row_prior(concentrations: ChainConcentrations, rows: _Rows) -> _RowPrior:
    """That of rows with these counts."""
    alpha, weights, n_rows = concentrations.alpha, concentrations.weights, len(rows.cells)
    scale, per_alpha, n = np.full(n_rows, alpha), np.ones(n_rows), weights.shape[1]
    n_moves = n_rows if concentrations.is_pooled else n
    n_ends = rows.ends.shape[1]
    per_alpha[:n_moves] += n_ends / n
    if n_moves < n_rows and concentrations.start_alpha is not None:
        scale[n], per_alpha[n] = concentrations.start_alpha, 0.0
    # Row r has the weights of state r, or those of all.
    weighted = scale[:, None] * weights[np.arange(n_rows) % len(weights)]
    cells, totals = np.maximum(weighted, np.finfo(float).tiny), scale.copy()
    cells[np.arange(n_moves), np.arange(n_moves) % n] += concentrations.sticky
    totals[:n_moves] += concentrations.sticky + n_ends * alpha / n
    return _RowPrior(weighted, _Rows(cells, np.full_like(rows.ends, alpha / n), totals), per_alpha)


def _by_weights(tables: np.ndarray, concentrations: ChainConcentrations) -> np.ndarray:
    """Sums over the rows that share weights, a row for each of these."""
    return tables.reshape(-1, *concentrations.weights.shape).sum(axis=0)


def _with_weights(
    concentrations: ChainConcentrations, shares: np.ndarray, **changed: Any
) -> ChainConcentrations:
    """With weights in proportion to these, and other changes; what has none gets none."""
    least = np.where(concentrations.weights > 0, _SMALLEST, 0.0)
    weights = np.maximum(shares, 0.0) * (least > 0)
    weights = np.maximum(weights / weights.sum(axis=1, keepdims=True), least)
    weights /= weights.sum(axis=1, keepdims=True)
    return concentrations.with_weights(weights)._replace(**changed)


def without_empty_states(
    concentrations: ChainConcentrations, counts: HMMCounts, step: Callable[..., Any]
) -> ChainConcentrations:
    """CVB: no weight for states that a start has emptied.

    Where each sequence is inferred from the counts of all others, the least share would grow.
    """
    before = concentrations.weights
    has_tokens = (counts.start + counts.transition.sum(axis=0))[: before.shape[1]] > 0
    is_new = (has_tokens < (before[0] > 0)).any() and has_tokens.any()
    if step is not dirichlet.fixed_point or concentrations.is_pooled or not is_new:
        return concentrations
    weights = before * has_tokens
    return concentrations.with_weights(weights / weights.sum())


def learn_shared_weights(
    concentrations: ChainConcentrations,
    counts: HMMCounts,
    presence: Presence,
    step: Callable[..., Any],
) -> ChainConcentrations:
    """Weights, and what else is learned of alpha and gamma, after one step from expected tables."""
    alpha, rows = concentrations.alpha, _rows_of(concentrations, counts)
    shown = _rows_of(concentrations, presence.cells, presence.totals)
    prior = _row_prior(concentrations, rows)
    # Of the tables in a cell those from `sticky` are none of the weights'.
    gained = dirichlet.digamma_gain(rows.cells, shown.cells, prior.cells.cells)
    tables = prior.weighted * gained
    sums = _by_weights(tables, concentrations)
    if concentrations.learn_alpha:
        shape, rate = concentrations.alpha_prior
        ends = prior.cells.ends * dirichlet.digamma_gain(rows.ends, shown.ends, prior.cells.ends)
        gain = shape - 1.0 + tables[prior.per_alpha > 0].sum() + ends.sum()
        lost = dirichlet.digamma_gain(rows.totals, shown.totals, prior.cells.totals)
        loss = rate + prior.per_alpha @ lost
        alpha = float(np.clip(gain / loss, dirichlet.SMALLEST, dirichlet.LARGEST))
    expected = sums + concentrations.gamma / sums.shape[1]
    after = _with_weights(concentrations, expected, alpha=alpha)
    if step is dirichlet.damped_fixed_point:
        after = _damped_step(concentrations, after, rows)
    if concentrations.learn_gamma:
        # A cell has a table of the weights no more surely than tokens, or than it has tables.
        none = np.prod(1.0 - np.minimum(shown.cells, tables), axis=0)
        n, total = sums.shape[1], sums.sum(axis=1)
        row = SymmetricRows(sums[0], 1.0 - none, total, np.ones(1), n)
        shape, rate = concentrations.gamma_prior
        # The prior of gamma / K, which every state's cell has.
        gamma = n * dirichlet.fixed_point(concentrations.gamma / n, [row], shape, rate * n)
        after = after._replace(gamma=float(np.clip(gamma, dirichlet.SMALLEST, dirichlet.LARGEST)))
    return after


def _evidence(concentrations: ChainConcentrations, rows: _Rows) -> float:
    """Log evidence of the rows' counts, and the log densities of what is learned."""
    prior = _row_prior(concentrations, rows).cells
    value = dirichlet.log_evidence(rows.cells, prior.cells, rows.totals, prior.totals)
    value += dirichlet.log_evidence(rows.ends, prior.ends, np.zeros(0), np.zeros(0))
    return value + concentrations.log_density()


def _damped_step(
    before: ChainConcentrations, after: ChainConcentrations, rows: _Rows
) -> ChainConcentrations:
    """A step towards `after` that does not lower the evidence."""
    least = _evidence(before, rows)
    for _ in range(30):
        if _evidence(after, rows) >= least:
            return after
        middle = np.sqrt(after.weights * before.weights)
        after = after.with_weights(middle / middle.sum(axis=1, keepdims=True))
        after = after._replace(alpha=math.sqrt(after.alpha * before.alpha))
    return before


def draw_shared_weights(
    concentrations: ChainConcentrations, counts: HMMCounts, rng: np.random.Generator
) -> ChainConcentrations:
    """Weights, and alpha and gamma where they are learned, drawn given whole counts.

    Table counts first (Antoniak 1974), then alpha and gamma given those of all cells, and of all
    states (Escobar and West 1995), then the weights.
    """
    alpha, gamma = concentrations.alpha, concentrations.gamma
    counted = _rows_of(concentrations, counts)
    prior = _row_prior(concentrations, counted)
    # Tables on the diagonal may come from `sticky` instead.
    tables = _draw_tables(counted.cells, prior.cells.cells, rng)
    tables = rng.binomial(tables, prior.weighted / prior.cells.cells)
    if concentrations.learn_alpha:
        anew = tables[prior.per_alpha > 0].sum()
        anew += _draw_tables(counted.ends, prior.cells.ends, rng).sum()
        rows = counted.totals, prior.cells.totals, prior.per_alpha
        alpha = _draw_concentration(anew, *rows, concentrations.alpha_prior, rng)
    sums = _by_weights(tables, concentrations)
    n = sums.shape[1]
    if concentrations.learn_gamma:
        anew = _draw_tables(sums, np.full(sums.shape, gamma / n), rng).sum()
        rows = sums.sum(axis=1), np.array([gamma]), np.ones(1)
        gamma = _draw_concentration(anew, *rows, concentrations.gamma_prior, rng)
    weights = np.maximum(rng.standard_gamma(sums + gamma / n), 1e-300)
    return _with_weights(concentrations, weights, alpha=alpha, gamma=gamma)


def _draw_tables(counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Table counts: customer i of a cell of prior u sits at a new one with chance u / (u + i)."""
    times = np.rint(counts).astype(np.int64).ravel()
    cell = np.repeat(np.arange(times.size), times)
    customer = np.arange(len(cell)) - np.repeat(np.cumsum(times) - times, times)
    u = prior.ravel()[cell]
    is_new = rng.random(len(cell)) * (u + customer) < u
    return np.bincount(cell[is_new], minlength=times.size).reshape(counts.shape)


def _draw_concentration(
    n_new: float,
    totals: np.ndarray,
    priors: np.ndarray,
    slopes: np.ndarray,
    gamma: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """A concentration given how many tables came from it, by one Beta variable a row.

    Its likelihood is a^n_new times Gamma(u) / Gamma(u + n) for each row of total n, whose prior u
    rises with it by `slopes`; the quotient is an integral over w of w^(u - 1) (1 - w)^(n - 1).
    """
    has_counts = totals > 0
    a, b, n = priors[has_counts], totals[has_counts], np.count_nonzero(has_counts)
    # Logs of Beta(a, b) variables, where small a would leave float64: Gamma(a) is Gamma(a + 1)
    # times U^(1 / a).
    log_x = np.log(rng.standard_gamma(a + 1.0)) + np.log1p(-rng.random(n)) / a
    log_y = np.log(rng.standard_gamma(b + 1.0)) + np.log1p(-rng.random(n)) / b
    logs = log_x - np.logaddexp(log_x, log_y)
    shape, rate = gamma
    drawn = rng.gamma(shape + n_new) / (rate - slopes[has_counts] @ logs)
    return float(np.clip(drawn, dirichlet.SMALLEST, dirichlet.LARGEST))
