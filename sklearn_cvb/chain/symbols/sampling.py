"""Sampling the states of hidden Markov models: where a chain begins, and one sweep of each sampler,
by token, by sequence or by parameters. A path is kept as the slot of every token in the lattice:
its state is ``lattice.state[slot]``, its emission cell ``lattice.cell[slot]``.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    posterior_mean,
    tally_of,
    tie_rows,
)
from sklearn_cvb.chain.paths.lattice import Cells, Problem, Runs
from sklearn_cvb.chain.starts.starting_points import StartingPoint, counts_from_marginals
from sklearn_cvb.kernels.chain import forward_backward, gibbs
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice, UnitWorkspace
from sklearn_cvb.kernels.chain.leave_out import ChainTally
from sklearn_cvb.learning.dirichlet import draw_rows

# Tokens that are grouped by their number of states: few enough to stay in the cache.
_CHUNK = 8192
# Random numbers drawn at a time.
_BLOCK = 1 << 18
# Above this temperature handicaps are made relative, lest they leave the range of float64.
_HOTTEST = 10.0
# Of a number that float64 holds, with room for a product.
_LARGEST_LOG = 700.0
# Above this prior a count can no longer be read off the sum of both.
_LARGEST_PRIOR = 2.0**40
# A rest of prior mass below this share of its row is rounding.
_ROUNDING = 1e-12


class SampledPath(NamedTuple):
    """A sampled path: the slot of each token."""

    slots: np.ndarray
    # The order of visits, where one token is drawn at a time: in blocks, for each of which random
    # numbers are drawn together
    visits: tuple[gibbs.VisitOrder, ...] | None


# The path after a sweep, its counts, and how many proposals were made and accepted.
Swept = tuple[np.ndarray, HMMCounts, np.ndarray]

# Where a chain begins


def initial_slots(
    problem: Problem, prior: ChainPrior, start: StartingPoint, rng: np.random.Generator
) -> np.ndarray:
    """A path drawn from where a fit starts; it takes no step that the prior forbids."""
    lattice = problem.lattice
    slots = lattice.first.astype(np.int32)
    levels = rng.random(len(slots))
    weights = start.weights
    if weights is None:
        assert start.posterior is not None, "a start has weights or posteriors"
        if prior.start.min() > 0.0 and prior.transition.min() > 0.0:
            gibbs.draw_tokens(lattice, start.posterior, levels, slots)
            return slots
        counts = counts_from_marginals(problem, start.posterior)
        weights = posterior_mean(counts, prior, problem.cells)
    weights = weights._replace(
        start=np.where(prior.start > 0.0, weights.start, 0.0),
        transition=np.where(prior.transition > 0.0, weights.transition, 0.0),
    )
    # Each sequence uses its random numbers from its last token to its first.
    starts, tokens = problem.corpus.starts, np.arange(len(slots))
    mirrored = np.repeat(starts[:-1] + starts[1:] - 1, np.diff(starts)) - tokens
    return draw_path(weights, problem, levels[mirrored[lattice.count > 1]], slots)


def draw_path(
    weights: ChainWeights, problem: Problem, levels: np.ndarray, slots: np.ndarray
) -> np.ndarray:
    """The path `slots` with the states of all ambiguous tokens drawn again, given weights.

    `levels` holds a uniform number for each of them. What no path explains stays as it is.
    """
    ones = np.ones(problem.cells.n_states)
    factors = gibbs.ChainFactors(*weights, ones, ones)
    stretches, work = stretches_of(problem)
    drawn, is_lost = slots.copy(), np.empty(len(stretches.begin), bool)
    gibbs.draw_stretches(factors, problem.lattice, stretches, levels, drawn, is_lost, work)
    paths = gibbs.Proposal(slots, drawn, levels, np.empty(0))
    owners = np.searchsorted(stretches.stretch_starts, np.flatnonzero(is_lost), side="right") - 1
    for i in np.unique(owners).tolist():
        of_sequence = range(*stretches.stretch_starts[i : i + 2].tolist())
        lost = [stretch for stretch in of_sequence if is_lost[stretch]]
        _draw_in_logs(factors, problem.lattice, stretches, i, lost, paths, work)
    return drawn


def _draw_in_logs(
    factors: gibbs.ChainFactors,
    lattice: Lattice,
    stretches: gibbs.AmbiguousStretches,
    i: int,
    lost: Iterable[int],
    paths: gibbs.Proposal,
    work: UnitWorkspace,
) -> bool:
    """Draw stretches of sequence i in log space; False where one has no path."""
    slots, drawn, levels, _ = paths
    possible = True
    for stretch in lost:
        span = int(stretches.begin[stretch]), int(stretches.end[stretch])
        bounds = int(stretches.starts[i]), int(stretches.starts[i + 1])
        # What was begun and lost must not be seen.
        drawn[slice(*span)] = slots[slice(*span)]
        number = int(stretches.level_starts[stretch])
        possible &= gibbs.draw_stretch_in_logs(
            factors, lattice, span, bounds, levels, number, drawn, work
        )
    return possible


def stretches_of(problem: Problem) -> tuple[gibbs.AmbiguousStretches, UnitWorkspace]:
    """The runs of ambiguous tokens as stretches, and buffers for the longest."""
    runs = problem.runs
    lengths = (runs.end - runs.begin).astype(np.int64)
    numbers = np.cumsum(lengths) - lengths
    longest = int(lengths.max(initial=1))
    most = longest * int(problem.lattice.count.max())
    stretches = gibbs.AmbiguousStretches(
        runs.begin, runs.end, numbers, runs.sequence, problem.corpus.starts
    )
    return stretches, forward_backward.workspace_of_size(most, longest, problem.cells.n_states, 0)


def n_levels(stretches: gibbs.AmbiguousStretches | Runs) -> int:
    """As many random numbers as drawing all stretches takes."""
    return int((stretches.end - stretches.begin).sum(dtype=np.int64))


def slots_of(lattice: Lattice, states: np.ndarray) -> np.ndarray:
    """Slots of a path of states."""
    slots = lattice.first.astype(np.int32)
    other = np.flatnonzero(lattice.state[slots] != states)
    while len(other):
        slots[other] += 1
        other = other[lattice.state[slots[other]] != states[other]]
    return slots


def counts_of_path(problem: Problem, slots: np.ndarray) -> HMMCounts:
    """Actual counts of a path."""
    lattice = problem.lattice
    states = lattice.state[slots].astype(np.intp)
    return count_states(states, lattice.cell[slots], problem.corpus.starts, problem.cells)


def count_states(
    states: np.ndarray, used: np.ndarray, starts: np.ndarray, cells: Cells
) -> HMMCounts:
    """Counts of the states of all tokens, and of the cells of emissions that they use, or -1."""
    n = cells.n_states
    if used.min(initial=0) < 0:
        used = used[used >= 0]
    steps = states[:-1] * n + states[1:]
    # The last state of a sequence and the first of the next are neighbours, but no transition.
    between = steps[starts[1:-1] - 1]
    transition = np.bincount(steps, minlength=n * n) - np.bincount(between, minlength=n * n)
    return HMMCounts(
        np.bincount(states[starts[:-1]], minlength=n).astype(np.float64),
        transition.reshape(n, n).astype(np.float64),
        np.bincount(used, minlength=len(cells.state)).astype(np.float64),
    )


# By token: figure 1 of Wang and Blunsom (2013)


def visits_of(lattice: Lattice, starts: np.ndarray) -> tuple[gibbs.VisitOrder, ...]:
    """Order the tokens that have more than one state; no sequence is empty.

    Within each chunk of neighbouring tokens those with two states come first, then those with
    three, and so on, each from left to right: the processor foresees loops of equal length, and
    seldom waits for the state of the token before. Any fixed order leaves the posterior invariant.
    Where all tokens have equally many states it is from left to right.
    """
    token = np.flatnonzero(lattice.count > 1)
    group = token // _CHUNK * (int(lattice.count.max()) + 1) + lattice.count[token]
    token = token[np.argsort(group, kind="stable")]
    border = np.zeros(len(lattice.count), np.int8)
    border[starts[:-1]] += 1
    border[starts[1:] - 1] += 2
    block = np.cumsum(lattice.count[token], dtype=np.int64) // _BLOCK
    cuts = np.flatnonzero(np.diff(block)) + 1
    parts = zip(np.split(token.astype(np.int32), cuts), np.split(border[token], cuts), strict=True)
    return tuple(gibbs.VisitOrder(*part) for part in parts)


def sweep_by_token(
    sample: SampledPath,
    counts: HMMCounts,
    problem: Problem,
    prior: ChainPrior,
    temperature: float,
    rng: np.random.Generator,
) -> Swept:
    """Draw every token that has a choice from figure 1's conditional to 1 / `temperature`.

    At temperature 1 a token takes one uniform number, at others one for each of its states.
    """
    cells, lattice = problem.cells, problem.lattice
    assert sample.visits is not None, "made at the start of a fit by token"
    path = gibbs.Path(lattice.state[sample.slots], sample.slots.copy())
    tally = tally_of(counts, prior, cells)
    races, chance = temperature != 1.0, np.empty(cells.n_states)
    for visits in sample.visits:
        if races:
            numbers = race_noise(lattice.count[visits.token], temperature, rng)
        else:
            numbers = rng.random(len(visits.token))
        gibbs.resample_tokens(tally, lattice, visits, path, numbers, races, chance)
    return path.slot, counts_in(tally, problem, path.slot, prior), np.zeros(2, np.int64)


def race_noise(counts: np.ndarray, temperature: float, rng: np.random.Generator) -> np.ndarray:
    """E^(-temperature), E exponential, for every state of tokens with `counts` states.

    The smallest E_k / w_k^p is that of state k with probability proportional to w_k^p, and the
    same state has the largest w_k E_k^(-1/p), which takes no power of a weight. A token's
    handicaps may have a common factor.
    """
    numbers = rng.random(counts.sum(dtype=np.int64))
    with np.errstate(divide="ignore", over="ignore"):
        np.log(numbers, out=numbers)
        np.log(np.negative(numbers, out=numbers), out=numbers)
        numbers *= -temperature
        if temperature > _HOTTEST and len(counts):
            first = np.cumsum(counts, dtype=np.int64) - counts
            numbers -= np.repeat(np.maximum.reduceat(numbers, first), counts)
        return np.exp(numbers, out=numbers)


def counts_in(
    tally: ChainTally, problem: Problem, slots: np.ndarray, prior: ChainPrior
) -> HMMCounts:
    """The counts of a path, given `tally`, which are these counts plus prior."""
    tables = (prior.start, prior.transition, prior.emission)
    if max(float(table.max()) for table in tables) > _LARGEST_PRIOR:
        return counts_of_path(problem, slots)
    sums = (tally.start, tally.transition, tally.emission)
    return HMMCounts(*(np.rint(a - b) for a, b in zip(sums, tables, strict=True)))


# By sequence: proposals, accepted or not


def urn_of(counts: HMMCounts, prior: ChainPrior, cells: Cells, temperature: float) -> gibbs.Urn:
    """The urn of a path's counts; the counts are copied."""
    counts = HMMCounts(*(table.copy() for table in counts))
    weights = tally_of(counts, prior, cells)
    if temperature != 1.0:
        weights = ChainTally(*(table ** (1.0 / temperature) for table in weights))
    return gibbs.Urn(tally_of(counts, None, cells), prior.tally(), weights, 1.0 / temperature)


def sweep_by_sequence(
    sample: SampledPath,
    counts: HMMCounts,
    problem: Problem,
    prior: ChainPrior,
    temperature: float,
    rng: np.random.Generator,
) -> Swept:
    """Propose a new path for every sequence that has an ambiguous token; `sample` stays whole."""
    cells, lattice = problem.cells, problem.lattice
    stretches, work = stretches_of(problem)
    urn = urn_of(counts, prior, cells, temperature)
    weights, scales = urn.weights, np.empty((2, cells.n_states))
    factors = gibbs.ChainFactors(weights.start, weights.transition, weights.emission, *scales)
    n_sequences = len(stretches.starts) - 1
    levels, chances = rng.random(n_levels(stretches)), rng.random(n_sequences)
    proposal = gibbs.Proposal(sample.slots.copy(), sample.slots.copy(), levels, chances)
    n_accepted, begin = 0, 0
    while begin < n_sequences:
        i, n = gibbs.resample_sequences(urn, factors, lattice, stretches, proposal, begin, work)
        n_accepted += n
        begin = i + 1
        if i < n_sequences:
            # float64 may have lost sequence i, whose counts are taken out.
            of_sequence = range(*stretches.stretch_starts[i : i + 2].tolist())
            possible = _draw_in_logs(factors, lattice, stretches, i, of_sequence, proposal, work)
            if not possible:
                bounds = slice(*stretches.starts[i : i + 2].tolist())
                proposal.drawn[bounds] = proposal.slots[bounds]
            n_accepted += gibbs.accept_or_reject(urn, lattice, stretches, proposal, i) and possible
    counts = HMMCounts(urn.counts.start, urn.counts.transition, urn.counts.emission)
    n_proposed = np.count_nonzero(np.diff(stretches.stretch_starts))
    return proposal.slots, counts, np.array([n_proposed, n_accepted])


def check_powers(temperature: float, prior: ChainPrior, n_tokens: int) -> None:
    """Raise ValueError where float64 cannot hold counts to the power 1 / temperature."""
    tables = [table[table > 0] for table in (prior.start, prior.transition, prior.emission)]
    least = min(table.min() for table in tables)
    most = n_tokens + max(
        prior.start_total, prior.transition_total.max(), prior.emission_total.max()
    )
    lowest = max(math.log(most), -math.log(least)) / _LARGEST_LOG
    if temperature < lowest:
        raise ValueError(
            f"temperatures reach {temperature:.2g}, but update='sequence' raises counts to the "
            f"power 1 / temperature: stay above {lowest:.2g} here, or use update='token'"
        )


def frequencies(lattice: Lattice, slots: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """How often each (token, state) entry was sampled, with one more path."""
    begins = np.cumsum(lattice.count, dtype=np.int64) - lattice.count
    frequency = np.zeros(int(lattice.count.sum())) if before is None else before.copy()
    frequency[begins + slots - lattice.first] += 1.0
    return frequency


# The parameters, too, and then all states, which are independent by sequence given them (Gao and
# Johnson 2008). At temperature tau both draws are those of the joint density of states and
# parameters, taken over log parameters, to the power 1 / tau: the Dirichlets have parameters
# (C + u) / tau, and the weights of the states are raised to 1 / tau.


def sweep_by_parameters(
    sample: SampledPath,
    counts: HMMCounts,
    problem: Problem,
    prior: ChainPrior,
    temperature: float,
    rng: np.random.Generator,
) -> Swept:
    """Draw parameters given the states, then all states given the parameters."""
    weights = draw_weights(counts, prior, problem.cells, temperature, rng)
    levels = rng.random(n_levels(problem.runs))
    slots = draw_path(weights, problem, levels, sample.slots)
    return slots, counts_of_path(problem, slots), np.zeros(2, np.int64)


def draw_weights(
    counts: HMMCounts, prior: ChainPrior, cells: Cells, temperature: float, rng: np.random.Generator
) -> ChainWeights:
    """All probabilities given the states of all tokens, to the power 1 / `temperature`.

    The cells that a dictionary rules out have their share of each row, which is drawn too.
    """
    n, how = cells.n_states, (temperature, rng)
    rows = np.repeat(np.arange(n), n)
    ruled_out = prior.emission_total - cells.row_totals(prior.emission)
    ruled_out[ruled_out < _ROUNDING * prior.emission_total] = 0.0
    start = draw_rows(counts.start + prior.start, np.zeros(n, np.intp), np.zeros(1), *how)
    transition = draw_rows((counts.transition + prior.transition).ravel(), rows, np.zeros(n), *how)
    emission = draw_rows(counts.emission + prior.emission, cells.state, ruled_out, *how)
    return ChainWeights(start, transition.reshape(n, n), emission)


def draw_parameters(
    counts: HMMCounts, prior: ChainPrior, cells: Cells, rng: np.random.Generator
) -> ChainWeights:
    """All rows given the states of all tokens, under the posterior."""
    return tie_rows(draw_weights(counts, prior, cells, 1.0, rng), cells)
