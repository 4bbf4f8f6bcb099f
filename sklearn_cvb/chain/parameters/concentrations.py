"""Learning the concentrations alpha and beta from counts (Wang and Blunsom 2013, eq. 29). Presence
is the probability that a count is positive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    HMMCounts,
    Presence,
    row_totals,
    without_fixed,
)
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.learning.dirichlet import SymmetricRows, positive_probability
from sklearn_cvb.learning.model import State

# How often weights and alpha are learned again from the same counts, as long as alpha moves by
# more.
_SHARED_STEPS, _STANDS_STILL = 20, 1e-5


def learn_hyper(
    concentrations: ChainConcentrations,
    counts: HMMCounts,
    cells: Cells,
    n_sweeps: int,
    step: Callable[..., Any],
    presence: Callable[[], Presence | None] | None = None,
) -> ChainConcentrations:
    """One step for each learned concentration, both from the same counts; none in the warm-up.

    `presence` gives None where it is not known, and nothing is learned; without it the plain form
    of eq. 29 is taken.
    """
    if concentrations.state_weights is not None:
        from sklearn_cvb.chain.parameters.shared_weights import without_empty_states

        concentrations = without_empty_states(concentrations, counts, step)
    if not concentrations.is_learned or n_sweeps < concentrations.n_warm_up:
        return concentrations
    present_shares = presence_of_counts(counts, cells) if presence is None else presence()
    if present_shares is None:
        return concentrations
    user_prior = concentrations.user_prior
    if user_prior is not None:
        # Rows that are said teach nothing: as if they were not there.
        counts = without_fixed(counts, user_prior, cells)
        there = zip(present_shares.totals, user_prior.fixed_rows, strict=True)
        seen = HMMCounts(*(total * ~fixed for total, fixed in there))
        present_shares = Presence(without_fixed(present_shares.cells, user_prior, cells), seen)
    totals = row_totals(counts, cells)

    def rows(name: str, width: int) -> SymmetricRows:
        tables = (counts, present_shares.cells, totals, present_shares.totals)
        return SymmetricRows._make((*(getattr(table, name) for table in tables), width))

    after = concentrations
    if concentrations.state_weights is not None:
        from sklearn_cvb.chain.parameters.shared_weights import learn_shared_weights

        # Weights and their alpha hold each other back: single steps would take up to a thousand
        # sweeps, in which a fit seems to have converged. Weights alone are there at once.
        for _ in range(_SHARED_STEPS):
            before, after = after, learn_shared_weights(after, counts, present_shares, step)
            if abs(after.alpha - before.alpha) <= _STANDS_STILL * before.alpha:
                break
    elif concentrations.learn_alpha:
        moves, tables = rows("transition", cells.n_states), []
        if cells.chain.topology is None:
            tables.append(moves)
        else:
            # Grouped by how many states may follow: the cells that share the prior.
            widths = cells.chain.topology.transition.sum(axis=1)
            for width in np.unique(widths).tolist():
                own = (table[widths == width] for table in moves[:-1])
                tables.append(SymmetricRows._make((*own, width)))
        if concentrations.start_alpha is None:
            allowed = None if cells.chain.topology is None else cells.chain.topology.start
            tables.append(rows("start", cells.n_emitting if allowed is None else allowed.sum()))
        alpha = step(concentrations.alpha, tables, *concentrations.alpha_prior)
        after = concentrations._replace(alpha=alpha)
    if concentrations.learn_beta:
        tables = [rows("emission", cells.n_rows)]
        after = after._replace(beta=step(after.beta, tables, *concentrations.beta_prior))
    return after


def draw_hyper(chain: Any, state: State, step: Any, rng: Any) -> ChainConcentrations:
    """Under HDP the weights of the states, alpha and gamma are drawn (a method of chains)."""
    before: ChainConcentrations = state.hyper
    if before.state_weights is None:
        return chain.learn_hyper(before, state, step, None)
    plain = before._replace(state_weights=None, learn_alpha=False)
    after = before._replace(beta=chain.learn_hyper(plain, state, step, None).beta)
    if rng is None:
        return after
    from sklearn_cvb.chain.parameters.shared_weights import draw_shared_weights

    return draw_shared_weights(after, state.counts, rng)


def presence_of_counts(counts: HMMCounts, cells: Cells) -> Presence:
    """The plain form: every cell with a positive count is surely present."""
    totals = row_totals(counts, cells)
    return Presence(*(HMMCounts(*map(np.ones_like, tables)) for tables in (counts, totals)))


def presence(counts: HMMCounts, absence: Absence, cells: Cells) -> Presence:
    """P(C > 0) from the products of 1 - q, for cells and row totals."""
    here = HMMCounts(
        positive_probability(absence.start, counts.start),
        positive_probability(absence.transition, counts.transition),
        positive_probability(absence.emission, counts.emission),
    )
    totals = HMMCounts(
        np.ones(1),
        positive_probability(absence.out, counts.transition.sum(axis=1)),
        positive_probability(absence.emit, cells.row_totals(counts.emission)),
    )
    return Presence(here, totals)
