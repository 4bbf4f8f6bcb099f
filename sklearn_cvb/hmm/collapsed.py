"""The collapsed variational algorithms: their state, first posteriors, sweeps and score.

Wang and Blunsom (2013), section 4: figure 3 (a token at a time) and eqs. 24-25 (a sequence).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm import start as starting
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

# Every so many sweeps counts are rebuilt from the posteriors, so that rounding does not build up.
REBUILT = 20
# Share of all tokens by which counts may differ from those of the posteriors.
_ROUNDING = 1e-9


class LeftOut(NamedTuple):
    """What is left out at a time."""

    update: str
    block_length: int | None


class Units(NamedTuple):
    """What is left out at a time: posteriors, the counts they add up to, and those of all.

    Attributes
    ----------
    own : HMMCounts
        What these posteriors add up to.
    tally : Tally
        Counts of all, with the prior added unless tokens are left out; they run along.
    prior : Prior
    floor : Floor
        The prior alone: nothing in the tally is below.
    learns : bool
        Whether a concentration is learned, which asks how surely pairs were there.
    n_sweeps : int
    layout : Layout or None
        Where units keep what; None for tokens.
    posterior : ndarray
        q(z_t), as the layout keeps it; of all (token, state) entries where tokens are left out.
    pairs : ndarray
        Pair marginals, as the layout keeps them.
    absent : ndarray of shape (K, K) or None
        Absence of transitions in units that keep the sum of their pairs (see
        `sklearn_cvb.kernels.chain.absence`).
    left_out : LeftOut
    """

    own: HMMCounts
    tally: Tally
    prior: Prior
    floor: Floor
    learns: bool
    n_sweeps: int
    layout: Layout | None
    posterior: np.ndarray
    pairs: np.ndarray
    absent: np.ndarray | None
    left_out: LeftOut

    @property
    def laid_out(self) -> Layout:
        """The layout, in what is done for sequences alone."""
        assert self.layout is not None, "tokens are left out, not sequences"
        return self.layout


def layout_of(problem: Problem, left_out: LeftOut) -> Layout | None:
    """Where units keep what they infer."""
    return None if left_out.update == "token" else layout_for(problem, left_out.block_length)


def first_units(
    problem: Problem,
    starting_point: Callable[[], starting.Start],
    prior: Prior,
    left_out: LeftOut,
    learns: bool,
) -> Units:
    """Units before the first sweep: posteriors of a start, and their counts.

    Weights give the posteriors and pair marginals of one E-step; posteriors stand for independent
    tokens. `starting_point` is called for the start, whose memory is free before pairs are made.
    """
    layout, nothing = layout_of(problem, left_out), zero_tally(problem.cells)
    units = Units(
        own=HMMCounts(nothing.start, nothing.transition, nothing.emission),
        tally=nothing,
        prior=prior,
        floor=floor_of(prior),
        learns=learns,
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
        tally = tally_of(counts, None, problem.cells)
        return units._replace(own=counts, posterior=entries, tally=tally)
    expected = None
    if start.weights is not None and left_out.block_length is None:
        expected = _expected(units, problem, start.weights)
    if expected is None:
        posterior = stored_entries(layout, starting.posterior_of(start, problem))
        # As large as the posteriors themselves: it goes before pairs are made.
        del start
        expected = _independent(units, problem, posterior)
    return recounted(expected, problem)


def _expected(units: Units, problem: Problem, weights: Weights) -> Units | None:
    """Units with the posteriors and pairs under given weights; None if a path is impossible."""
    n_states, layout = problem.cells.n_states, units.laid_out
    # A pass divides counts by their totals: weights are counts whose totals are 1.
    ones = np.ones(n_states)
    tally = Tally(weights.start, weights.transition, ones, weights.emission, ones)
    shared = shared_by(tally, Floor(*tally, 0.0, 0.0))
    sizes = layout.sequences.entry[-1], layout.sequences.pair[-1], layout.n_units
    found = Stored(*map(np.empty, sizes))
    make_pass(EXPECT, Pass(layout, shared, found, _noted(units)))
    if not np.isfinite(found.log_z).all():
        return None
    return units._replace(posterior=found.posterior, pairs=found.pairs)


def _noted(units: Units) -> np.ndarray | None:
    """Where a pass notes how surely each pair was there, which a sum of pairs does not say.

    None where nobody asks. All passes of a fit get the same type, or kernels would be compiled
    twice.
    """
    layout = units.laid_out
    if not (units.learns and layout.sequences.summed.any()):
        return None
    return np.ones((layout.n_states, layout.n_states))


def _independent(units: Units, problem: Problem, posterior: np.ndarray) -> Units:
    """Units with the posteriors of independent tokens, and the products of neighbours."""
    pairs = product_pairs(units.laid_out, posterior, problem.cells.topology)
    return units._replace(posterior=posterior, pairs=pairs)


def recounted(units: Units, problem: Problem) -> Units:
    """Units with the counts that their posteriors and pairs add up to, made anew."""
    tally = tally_of(counts_of(units, problem), units.prior, problem.cells)
    return units._replace(own=without_prior(tally, units.prior), tally=tally)


def counts_of(units: Units, problem: Problem) -> HMMCounts:
    """The counts that the posteriors and pairs of units add up to."""
    zeros = zero_tally(problem.cells)
    shared = shared_by(zeros, Floor(*zeros, 0.0, 0.0))
    layout = units.laid_out
    if layout.settled is not None:
        shared.emission[:-1] = layout.settled.count
    stored = Stored(units.posterior, units.pairs, np.empty(layout.n_units))
    make_pass(PUT_BACK, Pass(layout, shared, stored, _noted(units)))
    return HMMCounts(shared.start, shared.transition, shared.emission[:-1])


def resumed(units: Units, problem: Problem) -> Units:
    """Units to go on from, whose counts are those of their posteriors.

    A sweep that was broken off has changed posteriors in place, but the counts before it are kept.
    """
    if units.layout is None:
        return units
    counted = recounted(units, problem)
    rounding = _ROUNDING * len(problem.corpus.tokens)
    same = (
        np.abs(one - other).max(initial=0.0) <= rounding
        for one, other in zip(counted.tally, units.tally, strict=True)
    )
    return units if all(same) else counted


def under(units: Units, counts: HMMCounts, prior: Prior, cells: Cells) -> Units:
    """Units under the counts of all and the prior of now."""
    with_prior = None if units.layout is None else prior
    tally = tally_of(counts, with_prior, cells)
    return units._replace(tally=tally, prior=prior, floor=floor_of(prior))


def knows_absence(units: Units) -> bool:
    """Whether sums of pairs, if there are any, were watched in the last sweep."""
    return (
        units.layout is None
        or not units.layout.sequences.summed.any()
        or (units.absent is not None)
    )


def absence_of(units: Units, problem: Problem) -> Absence:
    """P(C = 0) of all counts under the state's posteriors and pairs."""
    absence = full_absence(problem.cells.n_states, len(problem.cells.state))
    if units.layout is None:
        absence_of_tokens(problem.lattice, problem.corpus.starts, units.posterior, absence)
        return absence
    layout = units.layout
    borrowed = np.zeros(layout.n_units, bool) if layout.borders is None else layout.borders.borrowed
    block = np.empty(int(problem.lattice.count.max()) ** 2)
    absence_of_units(layout.sequences, borrowed, units.posterior, units.pairs, absence, block)
    if units.absent is not None:
        absence.transition[:] *= units.absent
    return absence


def all_left_out(units: Units) -> bool:
    """Whether one unit is the whole corpus."""
    return units.laid_out.n_units == 1


def _prior_alone(units: Units) -> Shared:
    """What is left without any count: taking them away one by one would leave rounding, too."""
    floor = units.floor
    tally = Tally(floor.start, floor.transition, floor.out, floor.emission, floor.emit)
    shared = shared_by(tally, floor)
    return shared._replace(log_start=float(np.log(units.prior.start_total)))


def sweep(units: Units, counts: HMMCounts, prior: Prior, problem: Problem) -> tuple[Units, float]:
    """One sweep from the counts of all; the sum of log normalisers (nats).

    Posteriors and pairs change in place.
    """
    is_alone = adds_all(units, counts)
    others = 0.0 if is_alone else counts.emission - units.own.emission
    # Under the same prior not a digit changes: a fit goes on as if it had never stopped.
    if not (is_alone and prior.equals(units.prior)):
        units = under(units, counts, prior, problem.cells)
    before = units.tally
    units, total = sweep_units(units._replace(n_sweeps=units.n_sweeps + 1), others, is_alone)
    is_rebuilt = units.n_sweeps % REBUILT == 0 or (is_alone and all_left_out(units))
    if is_alone:
        own = without_prior(units.tally, prior)
        return recounted(units, problem) if is_rebuilt else units._replace(own=own), total
    own = counts_of(units, problem) if is_rebuilt else _changed(units.own, before, units.tally)
    return units._replace(own=own), total


def score(units: Units, counts: HMMCounts, prior: Prior, problem: Problem) -> float:
    """Sum of log p(x_i | E[C without i]) over all units, counts frozen (nats).

    A pseudo leave-one-out score: the posteriors of the other units have seen x_i, so it is
    optimistic, no bound, and may fall from sweep to sweep. Later windows of a sequence are
    conditioned on the forward message of the earlier ones.
    """
    is_alone = adds_all(units, counts)
    others = 0.0 if is_alone else counts.emission - units.own.emission
    return score_units(under(units, counts, prior, problem.cells), others, is_alone)


def adds_all(units: Units, counts: HMMCounts) -> bool:
    """Whether these counts are those of the units alone."""
    return counts is units.own or all(map(np.array_equal, counts, units.own))


def _changed(own: HMMCounts, before: Tally, after: Tally) -> HMMCounts:
    """The own counts after what a sweep has added and taken away."""
    return HMMCounts(
        *(
            getattr(own, name) + (getattr(after, name) - getattr(before, name))
            for name in HMMCounts._fields
        )
    )


def sweep_units(
    units: Units, others: np.ndarray | float = 0.0, is_alone: bool = True
) -> tuple[Units, float]:
    """One sweep over all units; the sum of their log normalisers (nats).

    A single unit is inferred from the prior, and the caller counts it. `others` are the emission
    counts of other shards, which are in the tally, too; `is_alone` where there are none.
    """
    layout, absent = units.laid_out, _noted(units)
    stored = Stored(units.posterior, units.pairs, np.empty(layout.n_units))
    if is_alone and all_left_out(units):
        make_pass(EXPECT, Pass(layout, _prior_alone(units), stored, absent))
        units = units._replace(absent=absent)
    else:
        shared = shared_by(units.tally, units.floor)
        make_pass(SWEEP, Pass(layout, shared, stored, absent))
        units = units._replace(tally=tally_in(shared), absent=absent)
    return units, _with_settled(stored.log_z, units, others)


def _with_settled(log_z: np.ndarray, units: Units, others: np.ndarray | float) -> float:
    """The sum of log normalisers with the settled emissions (nats)."""
    total, settled = log_z.sum(), units.laid_out.settled
    if settled is not None:
        total += settled.log_weight(units.prior.emission + others)
    return float(total)


def score_units(units: Units, others: np.ndarray | float = 0.0, is_alone: bool = True) -> float:
    """The score of all units; `others` and `is_alone` as for `sweep_units` (nats)."""
    stored = Stored(units.posterior, units.pairs, np.empty(units.laid_out.n_units))
    work = Pass(units.laid_out, _prior_alone(units), stored, _noted(units))
    if is_alone and all_left_out(units):
        make_pass(INFER, work)
    else:
        shared = shared_by(units.tally, units.floor)
        make_pass(SCORE, work._replace(shared=shared))
    return _with_settled(stored.log_z, units, others)


def as_sequences(units: Units, problem: Problem, block_length: int | None) -> Units:
    """Tokens as units that are sequences, or windows: independent tokens."""
    tally = tally_of(units.own, units.prior, problem.cells)
    units = units._replace(layout=layout_for(problem, block_length), tally=tally)
    return _independent(units, problem, stored_entries(units.laid_out, units.posterior))


def posterior_of(units: Units) -> np.ndarray:
    """The last q(z_t) of every (token, state) entry."""
    return units.posterior if units.layout is None else all_entries(units.layout, units.posterior)


def sweep_by_token(units: Units, problem: Problem) -> tuple[Units, float]:
    """Algorithm 1; the sum of log normalisers (nats)."""
    tokens = Tokens(problem.lattice, problem.corpus.starts, units.posterior)
    total = sweep_tokens(units.tally, units.floor, tokens, room_for(problem.cells.n_states))
    # Counted anew, so that rounding does not build up.
    counts = empty_counts(problem.cells)
    count_tokens(tokens, *counts)
    return units._replace(own=counts, tally=tally_of(counts, None, problem.cells)), total


def score_of_tokens(units: Units, problem: Problem) -> float:
    """`score` of independent tokens, whole sequences left out."""
    starts, n_states = problem.corpus.starts, problem.cells.n_states
    tally = tally_of(units.own, units.prior, problem.cells)
    factors = Factors(tally.start, tally.transition, tally.emission, *np.empty((2, n_states)))
    tokens = Tokens(problem.lattice, starts, units.posterior)
    message = np.empty(int(np.diff(starts).max()) * int(problem.lattice.count.max()))
    log_z = np.empty(len(starts) - 1)
    # The sequence that is left out begins with probability 1.
    log_start = np.log(tally.start.sum() - 1.0)
    score_sequences(tally, units.floor, tokens, factors, message, log_z)
    if np.isnan(log_z).any():
        score_lost(tally, units.floor, tokens, factors, message, log_z)
    return float((log_z - log_start).sum())
