"""Learning alpha and beta while fitting (Wang and Blunsom 2013, eq. 29)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import HMMCounts, Presence
from sklearn_cvb.chain.priors import Concentrations, PriorSettings
from sklearn_cvb.chain.topology import Topology
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.learning.concentrations import Rows, first_value, present, rests

# gamma starts here where it is learned.
_FIRST_GAMMA = 1.0


def first_concentrations(
    alpha: float | str,
    beta: float | str,
    alpha_prior: tuple[float, float],
    beta_prior: tuple[float, float],
    start_alpha: float | None,
) -> Concentrations:
    """The concentrations of the first sweep; "auto" marks those to learn."""
    return Concentrations(
        first_value(alpha),
        first_value(beta),
        alpha == "auto",
        beta == "auto",
        alpha_prior,
        beta_prior,
        start_alpha,
    )


def with_equal_weights(
    first: Concentrations, n: int, gamma: float | str, gamma_prior: tuple[float, float]
) -> Concentrations:
    """The concentrations of the first sweep where rows share weights of `n` states."""
    is_learned = gamma == "auto"
    return first._replace(
        # Equal weights are the plain prior, and so is what is learned at first.
        alpha=n * first.alpha if first.learn_alpha else first.alpha,
        shared=(1.0 / n,) * n,
        gamma=_FIRST_GAMMA if is_learned else float(gamma),
        learn_gamma=is_learned,
        gamma_prior=gamma_prior,
    )


def certain(counts: HMMCounts, cells: Cells) -> Presence:
    """The plain form: every cell with a positive count is surely present."""
    totals = row_totals(counts, cells)
    return Presence(*(HMMCounts(*map(np.ones_like, tables)) for tables in (counts, totals)))


def row_totals(counts: HMMCounts, cells: Cells) -> HMMCounts:
    """Totals of the start row, of the transition rows and of the emission rows."""
    return HMMCounts(
        counts.start.sum(keepdims=True),
        counts.transition.sum(axis=1),
        cells.row_totals(counts.emission),
    )


def going_on(first: Concentrations, before: Concentrations) -> Concentrations:
    """The concentrations asked for now, where learned ones go on from their values `before`."""
    beta = before.beta if first.learn_beta else first.beta
    if (first.shared is None) != (before.shared is None):
        # alpha was that of a cell, and is that of a row, or the other way round.
        return first._replace(beta=beta)
    return first._replace(
        alpha=before.alpha if first.learn_alpha else first.alpha,
        beta=beta,
        shared=before.shared,
        gamma=before.gamma if first.learn_gamma else first.gamma,
    )


def learn(
    concentrations: Concentrations,
    counts: HMMCounts,
    cells: Cells,
    n_sweeps: int,
    step: Callable,
    presence: Callable[[], Presence | None] | None = None,
) -> Concentrations:
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
        ``presence() -> Presence``, or None where it is not known and nothing is learned; without
        it the plain form of eq. 29.

    Returns
    -------
    Concentrations
    """
    if rests(concentrations.learned, n_sweeps):
        return concentrations
    surely = certain(counts, cells) if presence is None else presence()
    if surely is None:
        return concentrations
    totals = row_totals(counts, cells)

    def rows(name: str, width: int) -> Rows:
        tables = (counts, surely.cells, totals, surely.totals)
        own, seen, sums, sums_seen = (getattr(table, name) for table in tables)
        return Rows(own, seen, sums, sums_seen, width)

    after = concentrations
    if concentrations.shared is not None:
        from sklearn_cvb.chain.shared_weights import learned_weights

        after = learned_weights(concentrations, counts, surely, step)
    elif concentrations.learn_alpha:
        tables = _by_width(rows("transition", cells.n_states), cells.topology)
        if concentrations.start_alpha is None:
            allowed = None if cells.topology is None else cells.topology.start
            tables.append(rows("start", cells.n_emitting if allowed is None else allowed.sum()))
        alpha = step(concentrations.alpha, tables, *concentrations.alpha_prior)
        after = concentrations._replace(alpha=alpha)
    if concentrations.learn_beta:
        tables = [rows("emission", cells.n_rows)]
        after = after._replace(beta=step(after.beta, tables, *concentrations.beta_prior))
    return after


def _by_width(rows: Rows, topology: Topology | None) -> list[Rows]:
    """Transition rows grouped by how many states may follow: the cells that share the prior."""
    if topology is None:
        return [rows]
    widths, groups = topology.transition.sum(axis=1), []
    for width in np.unique(widths).tolist():
        own, seen, sums, sums_seen = (table[widths == width] for table in rows[:-1])
        groups.append(Rows(own, seen, sums, sums_seen, width))
    return groups


def presence(counts: HMMCounts, absence: Absence, cells: Cells) -> Presence:
    """P(C > 0) from the products of 1 - q, for cells and row totals."""
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


# What an estimator's parameters say, and what it shows

# A state that holds so large a share of the tokens counts as one that the data ask for.
LEAST_SHARE = 0.01


def prior_settings(hmm: Any, words: Any) -> PriorSettings:
    """What priors are made from."""
    first = first_concentrations(
        hmm.alpha, hmm.beta, hmm.alpha_prior, hmm.beta_prior, hmm.start_alpha
    )
    if hmm.transition_prior == "hdp":
        first = with_equal_weights(first, hmm.n_components, hmm.gamma, hmm.gamma_prior)
    return PriorSettings(first._replace(sticky=float(hmm.sticky)), hmm.start_alpha)


def shared_weights(hyper: Concentrations, held: np.ndarray | None) -> dict[str, Any]:
    """The weights of the states, where the prior has them, and how many hold many tokens."""
    if hyper.shared is None:
        return {}
    found = {"state_weights_": np.array(hyper.shared), "gamma_": hyper.gamma}
    if held is not None:
        many = held >= LEAST_SHARE * held.sum()
        found["n_effective_components_"] = int(np.count_nonzero(many))
    return found
