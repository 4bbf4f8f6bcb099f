"""The hierarchical Dirichlet process over states, truncated: rows of transitions share weights.

Row j is Dirichlet(alpha b_1, ..., alpha b_K), plus `sticky` for staying in j; the weights b of the
states are Dirichlet(gamma / K, ...), and tend to those of a Dirichlet process for many states K
(Ishwaran and Zarepour 2002). States that the data do not ask for get next to no weight. The weights
are learned from table counts: how many of the C transitions from j to k came anew from b (Teh,
Jordan, Beal and Blei 2006), expected by Teh, Kurihara and Welling (2007) or drawn (Gibbs).
"""

import math

import numpy as np
from scipy.special import gammaln

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.concentrations import Concentrations, Presence
from sklearn_cvb.hmm.parameters import HMMCounts

# No weight is smaller: its cells would leave the range of concentrations.
_SMALLEST = 1e-9


def log_density_of_weights(concentrations: Concentrations) -> float:
    """Log density of the weights over their logs (nats)."""
    shared = np.array(concentrations.shared)
    each = concentrations.gamma / len(shared)
    return float(
        gammaln(concentrations.gamma) - len(shared) * gammaln(each) + each * np.log(shared).sum()
    )


def _rows(counts: HMMCounts, with_start: bool) -> np.ndarray:
    """Transition rows and, where it has the same concentration, the start row below them."""
    return np.vstack([counts.transition, counts.start]) if with_start else counts.transition


def _cells(concentrations: Concentrations, shared: np.ndarray, alpha: float) -> np.ndarray:
    """Prior of all cells of the rows."""
    n, with_start = len(shared), concentrations.with_start
    cells = np.tile(alpha * shared, (n + with_start, 1))
    cells[np.arange(n), np.arange(n)] += concentrations.sticky
    return cells


def _totals(concentrations: Concentrations, n_states: int, alpha: float) -> np.ndarray:
    """Prior totals of the rows."""
    totals = np.full(n_states + concentrations.with_start, alpha)
    totals[:n_states] += concentrations.sticky
    return totals


def _weights_from(tables: np.ndarray, gamma: float) -> np.ndarray:
    """Weights that tables and prior expect."""
    found = np.maximum(tables + gamma / len(tables), 0.0)
    found = np.maximum(found / found.sum(), _SMALLEST)
    return found / found.sum()


def learned_weights(
    concentrations: Concentrations,
    counts: HMMCounts,
    surely: Presence,
    never_falls: bool,
) -> Concentrations:
    """Weights, and alpha where it is learned, after one step from expected table counts.

    Parameters
    ----------
    concentrations : Concentrations
    counts : HMMCounts
        Expected counts.
    surely : Presence
        How surely counts are positive.
    never_falls : bool
        Whether the step is shortened until the evidence of the counts does not fall (VB's bound).
    """
    shared, alpha = np.array(concentrations.shared), concentrations.alpha
    own = _rows(counts, concentrations.with_start)
    seen = _rows(surely.cells, concentrations.with_start)
    prior = _cells(concentrations, shared, alpha)
    # Of the tables in a cell those from `sticky` are none of the weights'.
    tables = alpha * shared * dirichlet.expected_gain(own, seen, prior)
    target = _weights_from(tables.sum(axis=0), concentrations.gamma)
    new_alpha = alpha
    if concentrations.learn_alpha:
        shape, rate = concentrations.alpha_prior
        sums = own.sum(axis=1)
        there = _totals_present(surely, concentrations)
        of_totals = _totals(concentrations, len(shared), alpha)
        loss = rate + dirichlet.expected_gain(sums, there, of_totals).sum()
        gain = shape - 1.0 + tables.sum()
        new_alpha = float(np.clip(gain / loss, dirichlet.SMALLEST, dirichlet.LARGEST))
    found = concentrations._replace(alpha=new_alpha, shared=tuple(target.tolist()))
    return _shortened(concentrations, found, own) if never_falls else found


def _totals_present(surely: Presence, concentrations: Concentrations) -> np.ndarray:
    out = np.ravel(surely.totals.transition)
    return np.append(out, surely.totals.start) if concentrations.with_start else out


def _evidence(concentrations: Concentrations, own: np.ndarray) -> float:
    """Log evidence of the rows' counts, and the log densities of what is learned."""
    shared = np.array(concentrations.shared)
    prior = _cells(concentrations, shared, concentrations.alpha)
    totals = _totals(concentrations, len(shared), concentrations.alpha)
    value = dirichlet.log_evidence(own, prior, own.sum(axis=1), totals)
    return value + concentrations.log_density()


def _shortened(before: Concentrations, after: Concentrations, own: np.ndarray) -> Concentrations:
    """A step towards `after` that does not lower the evidence."""
    least = _evidence(before, own)
    for _ in range(30):
        if _evidence(after, own) >= least:
            return after
        middle = np.sqrt(np.array(after.shared) * np.array(before.shared))
        after = after._replace(
            alpha=math.sqrt(after.alpha * before.alpha),
            shared=tuple((middle / middle.sum()).tolist()),
        )
    return before


def drawn_weights(
    concentrations: Concentrations, counts: HMMCounts, rng: np.random.Generator
) -> Concentrations:
    """Weights drawn given whole counts: table counts first (Antoniak 1974), then the weights."""
    shared, alpha = np.array(concentrations.shared), concentrations.alpha
    own = _rows(counts, concentrations.with_start)
    prior = _cells(concentrations, shared, alpha)
    # Customer i of a cell with prior u sits at a new table with probability u / (u + i).
    times = np.rint(own).astype(np.int64).ravel()
    cell = np.repeat(np.arange(times.size), times)
    customer = np.arange(len(cell)) - np.repeat(np.cumsum(times) - times, times)
    u = prior.ravel()[cell]
    is_new = rng.random(len(cell)) * (u + customer) < u
    tables = np.bincount(cell[is_new], minlength=times.size).reshape(own.shape)
    # Tables on the diagonal may come from `sticky` instead.
    tables = rng.binomial(tables, alpha * shared / prior)
    weights = rng.standard_gamma(tables.sum(axis=0) + concentrations.gamma / len(shared))
    weights = _weights_from(np.maximum(weights, 1e-300), 0.0)
    return concentrations._replace(shared=tuple(weights.tolist()))
