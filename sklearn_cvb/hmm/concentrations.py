"""Learning alpha and beta while fitting (Wang and Blunsom 2013, eq. 29)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.parameters import HMMCounts

# Learned concentrations start here and rest while the posteriors are still those of the start.
FIRST_VALUE = 0.1
WARM_UP_SWEEPS = 20
# Below this expected count P(C > 0) is the count itself: a product of 1 - q has no digits left.
_SMALL_COUNT = 1e-6


class Concentrations(NamedTuple):
    """alpha and beta of a sweep, which of them are learned, and their Gamma priors."""

    alpha: float
    beta: float
    learn_alpha: bool
    learn_beta: bool
    alpha_prior: tuple
    beta_prior: tuple
    with_start: bool

    @property
    def learned(self):
        """Whether any of the two is learned."""
        return self.learn_alpha or self.learn_beta

    def log_density(self):
        """Log density of the learned concentrations under their priors (nats)."""
        value = 0.0
        if self.learn_alpha:
            value += dirichlet.log_gamma_prior(self.alpha, *self.alpha_prior)
        if self.learn_beta:
            value += dirichlet.log_gamma_prior(self.beta, *self.beta_prior)
        return value


class Presence(NamedTuple):
    """P(C > 0) for the cells of all tables, and for the totals of their rows."""

    cells: HMMCounts
    totals: HMMCounts


def first_concentrations(alpha, beta, alpha_prior, beta_prior, start_alpha):
    """The concentrations of the first sweep; "auto" marks those to learn."""
    return Concentrations(
        FIRST_VALUE if alpha == "auto" else float(alpha),
        FIRST_VALUE if beta == "auto" else float(beta),
        alpha == "auto",
        beta == "auto",
        tuple(alpha_prior),
        tuple(beta_prior),
        start_alpha is None,
    )


def certain(counts, cells):
    """The plain form: every cell with a positive count is surely present."""
    totals = row_totals(counts, cells)
    return Presence(*(HMMCounts(*map(np.ones_like, tables)) for tables in (counts, totals)))


def row_totals(counts, cells):
    """Totals of the start row, of the transition rows and of the emission rows."""
    return HMMCounts(
        counts.start.sum(keepdims=True),
        counts.transition.sum(axis=1),
        cells.row_totals(counts.emission),
    )


def learn(concentrations, counts, cells, n_sweeps, step, presence=None):
    """One step for each learned concentration, both from the same counts; none in the warm-up.

    Parameters
    ----------
    concentrations : Concentrations
    counts : HMMCounts
        Expected or actual counts, flat emission cells.
    cells : Cells
    n_sweeps : int
        Sweeps done so far.
    step : callable
        `dirichlet.fixed_point` or `dirichlet.ascend`.
    presence : callable, default=None
        ``presence() -> Presence``; None for the plain form of eq. 29.

    Returns
    -------
    Concentrations
    """
    if not concentrations.learned or n_sweeps < WARM_UP_SWEEPS:
        return concentrations
    present = certain(counts, cells) if presence is None else presence()
    totals = row_totals(counts, cells)

    def rows(name, width):
        return tuple(getattr(table, name) for table in (counts, present.cells, totals)) + (
            getattr(present.totals, name),
            width,
        )

    alpha, beta = concentrations.alpha, concentrations.beta
    if concentrations.learn_alpha:
        tables = _by_width(rows("transition", cells.n_states), cells.topology)
        if concentrations.with_start:
            allowed = None if cells.topology is None else cells.topology.start
            tables.append(rows("start", cells.n_states if allowed is None else allowed.sum()))
        alpha = step(alpha, tables, *concentrations.alpha_prior)
    if concentrations.learn_beta:
        beta = step(beta, [rows("emission", cells.n_rows)], *concentrations.beta_prior)
    return concentrations._replace(alpha=alpha, beta=beta)


def _by_width(rows, topology):
    """Transition rows grouped by how many states may follow: the cells that share the prior."""
    if topology is None:
        return [rows]
    *tables, _ = rows
    widths = topology.transition.sum(axis=1)
    return [(*(table[widths == width] for table in tables), width) for width in np.unique(widths)]


def presence(counts, absence, cells):
    """P(C > 0) from the products of 1 - q, for cells and row totals."""

    def present(missing, expected):
        return np.where(expected < _SMALL_COUNT, np.minimum(expected, 1.0), 1.0 - missing)

    if not absence.start.size:
        raise ValueError("absence was not tracked")
    here = HMMCounts(
        present(absence.start, counts.start),
        present(absence.transition, counts.transition),
        present(absence.emission, counts.emission),
    )
    totals = HMMCounts(
        np.ones(1),
        present(absence.out, counts.transition.sum(axis=1)),
        present(absence.emit, cells.row_totals(counts.emission)),
    )
    return Presence(here, totals)
