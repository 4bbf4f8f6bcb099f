"""The collapsed variational algorithms: their state, first posteriors, sweeps and score.

Wang and Blunsom (2013), section 4: figure 3 (a token at a time) and eqs. 24-25 (a sequence).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.concentrations import Concentrations, learn, presence
from sklearn_cvb.hmm.leave_out import (
    Layout,
    Pass,
    all_entries,
    layout_for,
    make_pass,
    product_pairs,
    shared_by,
    stored_entries,
    tally_in,
    zero_tally,
)
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    empty_counts,
    floor_of,
    tally_of,
    without_prior,
)
from sklearn_cvb.kernels.chain.absence import (
    Absence,
    absence_of_tokens,
    absence_of_units,
    full_absence,
)
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.chain.leave_out import (
    EXPECT,
    INFER,
    PUT_BACK,
    SCORE,
    SWEEP,
    Shared,
    Stored,
)
from sklearn_cvb.kernels.chain.leave_token_out import (
    Tokens,
    count_tokens,
    room_for,
    sweep_tokens,
)
from sklearn_cvb.kernels.chain.runs import Factors
from sklearn_cvb.kernels.chain.score_tokens import score_lost, score_sequences
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.lattice import Cells, Problem
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS

# Every so many sweeps counts are rebuilt from the posteriors, so that rounding does not build up.
REBUILT = 20
# Share of all tokens by which counts may differ from those of the posteriors.
_ROUNDING = 1e-9


class LeftOut(NamedTuple):
    """What is left out at a time."""

    update: str
    block_length: int | None


class CVBState(NamedTuple):
    """What CVB carries between sweeps: posteriors, and the counts they sum to.

    Attributes
    ----------
    tally : Tally
        The counts, with the prior added unless tokens are left out.
    prior : Prior
    floor : Floor
        The prior alone: nothing in the tally is below.
    concentrations : Concentrations
    weights : None
    unexplained : ndarray
    n_sweeps : int
    layout : Layout or None
        What is left out at a time; None for tokens.
    posterior : ndarray
        q(z_t), as the layout keeps it; of all (token, state) entries where tokens are left out.
    pairs : ndarray
        Pair marginals, as the layout keeps them.
    absent : ndarray of shape (K, K) or None
        Absence of transitions in units that keep the sum of their pairs (see
        `sklearn_cvb.kernels.chain.absence`).
    left_out : LeftOut
    """

    tally: Tally
    prior: Prior
    floor: Floor
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    layout: Layout | None
    posterior: np.ndarray
    pairs: np.ndarray
    absent: np.ndarray | None
    left_out: LeftOut

    @property
    def counts(self) -> HMMCounts:
        """The expected counts."""
        return without_prior(self.tally, None if self.layout is None else self.prior)

    @property
    def units(self) -> Layout:
        """The layout, in what is done for sequences alone."""
        assert self.layout is not None, "tokens are left out, not sequences"
        return self.layout


def units_of(problem: Problem, left_out: LeftOut) -> Layout | None:
    """The layout of a state."""
    return None if left_out.update == "token" else layout_for(problem, left_out.block_length)


def first_state(
    problem: Problem,
    starting_point: Callable[[], starting.Start],
    prior: Prior,
    concentrations: Concentrations,
    left_out: LeftOut,
) -> CVBState:
    """The state before the first sweep: posteriors of a start, and their counts.

    Weights give the posteriors and pair marginals of one E-step; posteriors stand for independent
    tokens. `starting_point` is called for the start, whose memory is free before pairs are made.
    """
    layout = units_of(problem, left_out)
    floor = floor_of(prior)
    state = CVBState(
        tally=zero_tally(problem.cells),
        prior=prior,
        floor=floor,
        concentrations=concentrations,
        weights=None,
        unexplained=np.empty(0, np.intp),
        n_sweeps=0,
        layout=layout,
        posterior=np.empty(0),
        pairs=np.empty(0),
        absent=None,
        left_out=left_out,
    )
    start = starting_point()
    if layout is None:
        entries = starting.posterior_of(start, problem)
        counts = starting.counts_from_marginals(problem, entries)
        return state._replace(posterior=entries, tally=tally_of(counts, None, problem.cells))
    expected = None
    if start.weights is not None and left_out.block_length is None:
        expected = _expected(state, problem, start.weights)
    if expected is None:
        posterior = stored_entries(layout, starting.posterior_of(start, problem))
        # As large as the posteriors themselves: it goes before pairs are made.
        del start
        expected = _independent(state, problem, posterior)
    return _counted(expected, problem)


def _expected(state: CVBState, problem: Problem, weights: Weights) -> CVBState | None:
    """A state with the posteriors and pairs under given weights; None if a path is impossible."""
    n_states, layout = problem.cells.n_states, state.units
    # A pass divides counts by their totals: weights are counts whose totals are 1.
    ones = np.ones(n_states)
    tally = Tally(weights.start, weights.transition, ones, weights.emission, ones)
    shared = shared_by(tally, Floor(*tally, 0.0, 0.0))
    sizes = layout.sequences.entry[-1], layout.sequences.pair[-1], layout.n_units
    found = Stored(*map(np.empty, sizes))
    make_pass(EXPECT, Pass(layout, shared, found, _noted(state)))
    if not np.isfinite(found.log_z).all():
        return None
    return state._replace(posterior=found.posterior, pairs=found.pairs)


def _noted(state: CVBState) -> np.ndarray | None:
    """Where a pass notes how surely each pair was there, which a sum of pairs does not say.

    None where nobody asks. All passes of a fit get the same type, or kernels would be compiled
    twice.
    """
    layout = state.units
    if not (state.concentrations.learned and layout.sequences.summed.any()):
        return None
    return np.ones((layout.n_states, layout.n_states))


def _independent(state: CVBState, problem: Problem, posterior: np.ndarray) -> CVBState:
    """A state with the posteriors of independent tokens, and the products of neighbours."""
    pairs = product_pairs(state.units, posterior, problem.cells.topology)
    return state._replace(posterior=posterior, pairs=pairs)


def _counted(state: CVBState, problem: Problem) -> CVBState:
    """The state with the counts that its posteriors and pairs add up to, made anew."""
    counts = counts_of(state, problem)
    return state._replace(tally=tally_of(counts, state.prior, problem.cells))


def counts_of(state: CVBState, problem: Problem) -> HMMCounts:
    """The counts that the posteriors and pairs of a state add up to."""
    zeros = zero_tally(problem.cells)
    shared = shared_by(zeros, Floor(*zeros, 0.0, 0.0))
    layout = state.units
    if layout.settled is not None:
        shared.emission[:-1] = layout.settled.count
    stored = Stored(state.posterior, state.pairs, np.empty(layout.n_units))
    make_pass(PUT_BACK, Pass(layout, shared, stored, _noted(state)))
    return HMMCounts(shared.start, shared.transition, shared.emission[:-1])


def resumed(state: CVBState, problem: Problem) -> CVBState:
    """A state to go on from, whose counts are those of its posteriors.

    A sweep that was broken off has changed posteriors in place, but the counts of the state before
    it are kept.
    """
    if state.layout is None:
        return state
    counted = _counted(state, problem)
    rounding = _ROUNDING * len(problem.corpus.tokens)
    same = (
        np.abs(one - other).max(initial=0.0) <= rounding
        for one, other in zip(counted.tally, state.tally, strict=True)
    )
    return state if all(same) else counted


def under(concentrations: Concentrations, prior: Prior, state: CVBState, cells: Cells) -> CVBState:
    """A state under other concentrations."""
    tally = state.tally
    # Under the same prior not a digit changes: a fit goes on as if it had never stopped.
    if state.layout is not None and not prior.equals(state.prior):
        tally = tally_of(state.counts, prior, cells)
    return state._replace(
        tally=tally, prior=prior, floor=floor_of(prior), concentrations=concentrations
    )


def learned(state: CVBState, problem: Problem) -> Concentrations:
    """The concentrations after one step from the state's counts and posteriors (eq. 29)."""
    if state.n_sweeps < WARM_UP_SWEEPS or not knows_absence(state):
        return state.concentrations
    counts = state.counts
    return learn(
        state.concentrations,
        counts,
        problem.cells,
        state.n_sweeps,
        dirichlet.fixed_point,
        lambda: presence(counts, absence_of(state, problem), problem.cells),
    )


def knows_absence(state: CVBState) -> bool:
    """Whether sums of pairs, if there are any, were watched in the last sweep."""
    return (
        state.layout is None
        or not state.layout.sequences.summed.any()
        or (state.absent is not None)
    )


def absence_of(state: CVBState, problem: Problem) -> Absence:
    """P(C = 0) of all counts under the state's posteriors and pairs."""
    absence = full_absence(problem.cells.n_states, len(problem.cells.state))
    if state.layout is None:
        absence_of_tokens(problem.lattice, problem.corpus.starts, state.posterior, absence)
        return absence
    layout = state.layout
    borrowed = np.zeros(layout.n_units, bool) if layout.borders is None else layout.borders.borrowed
    block = np.empty(int(problem.lattice.count.max()) ** 2)
    absence_of_units(layout.sequences, borrowed, state.posterior, state.pairs, absence, block)
    if state.absent is not None:
        absence.transition[:] *= state.absent
    return absence


def all_left_out(state: CVBState) -> bool:
    """Whether one unit is the whole corpus."""
    return state.units.n_units == 1


def _prior_alone(state: CVBState) -> Shared:
    """What is left without any count: taking them away one by one would leave rounding, too."""
    floor = state.floor
    tally = Tally(floor.start, floor.transition, floor.out, floor.emission, floor.emit)
    shared = shared_by(tally, floor)
    return shared._replace(log_start=float(np.log(state.prior.start_total)))


def sweep_by_sequence(state: CVBState, problem: Problem) -> tuple[CVBState, float]:
    """One sweep over all units; posteriors and pairs change in place.

    The value is the mean log normaliser per observed token (nats).
    """
    state, total = sweep_units(state, problem)
    if all_left_out(state) or state.n_sweeps % REBUILT == 0:
        state = _counted(state, problem)
    return state, total / problem.corpus.n_observed


def sweep_units(
    state: CVBState, problem: Problem, others: np.ndarray | float = 0.0, is_alone: bool = True
) -> tuple[CVBState, float]:
    """One sweep over all units; the sum of their log normalisers (nats).

    A single unit is inferred from the prior, and the caller counts it.

    Parameters
    ----------
    state : CVBState
    problem : Problem
    others : ndarray of shape (n_cells,)
        Emission counts of other shards, which are in the tally, too.
    is_alone : bool
        Whether there are none.
    """
    layout, absent = state.units, _noted(state)
    stored = Stored(state.posterior, state.pairs, np.empty(layout.n_units))
    if is_alone and all_left_out(state):
        make_pass(EXPECT, Pass(layout, _prior_alone(state), stored, absent))
        state = state._replace(absent=absent)
    else:
        shared = shared_by(state.tally, state.floor)
        make_pass(SWEEP, Pass(layout, shared, stored, absent))
        state = state._replace(tally=tally_in(shared), absent=absent)
    return state, _with_settled(stored.log_z, state, others)


def _with_settled(log_z: np.ndarray, state: CVBState, others: np.ndarray | float) -> float:
    """The sum of log normalisers with the settled emissions (nats)."""
    total, settled = log_z.sum(), state.units.settled
    if settled is not None:
        total += settled.log_weight(state.prior.emission + others)
    return float(total)


def leave_out_score(state: CVBState, problem: Problem) -> float:
    """Mean log p(x_i | E[C without i]) per observed token, counts frozen (nats).

    A pseudo leave-one-out score: the posteriors of the other units have seen x_i, so it is
    optimistic, no bound, and may fall from sweep to sweep. Later windows of a sequence are
    conditioned on the forward message of the earlier ones.
    """
    tally = tally_of(state.counts, state.prior, problem.cells)
    return score_units(state._replace(tally=tally)) / problem.corpus.n_observed


def score_units(state: CVBState, others: np.ndarray | float = 0.0, is_alone: bool = True) -> float:
    """`leave_out_score` summed over all units; `others` and `is_alone` as for `sweep_units`."""
    stored = Stored(state.posterior, state.pairs, np.empty(state.units.n_units))
    work = Pass(state.units, _prior_alone(state), stored, _noted(state))
    if is_alone and all_left_out(state):
        make_pass(INFER, work)
    else:
        shared = shared_by(state.tally, state.floor)
        make_pass(SCORE, work._replace(shared=shared))
    return _with_settled(stored.log_z, state, others)


def as_sequences(state: CVBState, problem: Problem, block_length: int | None) -> CVBState:
    """A state of tokens as one of sequences, or windows: independent tokens."""
    tally = tally_of(state.counts, state.prior, problem.cells)
    state = state._replace(layout=layout_for(problem, block_length), tally=tally)
    return _independent(state, problem, stored_entries(state.units, state.posterior))


def posterior_of(state: CVBState) -> np.ndarray:
    """The last q(z_t) of every (token, state) entry."""
    return state.posterior if state.layout is None else all_entries(state.layout, state.posterior)


def sweep_by_token(state: CVBState, problem: Problem) -> tuple[CVBState, float]:
    """Algorithm 1; the value is the mean log normaliser per token (nats)."""
    tokens = Tokens(problem.lattice, problem.corpus.starts, state.posterior)
    total = sweep_tokens(state.tally, state.floor, tokens, room_for(problem.cells.n_states))
    # Counted anew, so that rounding does not build up.
    counts = empty_counts(problem.cells)
    count_tokens(tokens, *counts)
    state = state._replace(tally=tally_of(counts, None, problem.cells))
    return state, total / problem.corpus.n_observed


def score_of_tokens(state: CVBState, problem: Problem) -> float:
    """`leave_out_score` of independent tokens, whole sequences left out."""
    starts, n_states = problem.corpus.starts, problem.cells.n_states
    tally = tally_of(state.counts, state.prior, problem.cells)
    factors = Factors(tally.start, tally.transition, tally.emission, *np.empty((2, n_states)))
    tokens = Tokens(problem.lattice, starts, state.posterior)
    message = np.empty(int(np.diff(starts).max()) * int(problem.lattice.count.max()))
    log_z = np.empty(len(starts) - 1)
    # The sequence that is left out begins with probability 1.
    log_start = np.log(tally.start.sum() - 1.0)
    score_sequences(tally, state.floor, tokens, factors, message, log_z)
    if np.isnan(log_z).any():
        score_lost(tally, state.floor, tokens, factors, message, log_z)
    return float((log_z - log_start).sum() / problem.corpus.n_observed)
