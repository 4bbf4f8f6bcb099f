"""Gibbs sampling: burn-in, thinning, annealing, and what a chain keeps of its samples of the hidden
structure: sums over the kept ones, how often labels and whole structures came up, and its trace.

The three functions of a sampler are the same for all families; what is sampled is the model's.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.model import Fit, Samplable, State, add_arrays, map_arrays

# Values in a block of what grows by one with every sweep.
_BLOCK = 128


class TraceNote(NamedTuple):
    """The trace of one sweep: log p(x, sample | prior), whether it is kept, the model's values."""

    value: float
    is_kept: bool
    values: Any


class ChainMemory(NamedTuple):
    """The memory of a chain: sums and counts over the samples so far, and the trace of its sweeps.

    Attributes
    ----------
    n_planned : int
        `max_iter` of the fit that began the chain: one that goes on changes neither temperatures
        nor burn-in.
    sums : tuple or None
        Counts, and what predictions average, summed over the kept samples.
    n_kept : int
        Number of kept samples.
    label_counts : object or None
        How often each label was sampled in the last tenth of the sweeps.
    kept_samples : tuple of tuple
        `sample_to_keep` of each kept sample, in blocks.
    trace : tuple of tuple of TraceNote
        One for each sweep, in blocks.
    proposals : ndarray
        Proposals made and accepted, in the order of the family.
    """

    n_planned: int
    sums: Any = None
    n_kept: int = 0
    label_counts: Any = None
    kept_samples: tuple[tuple[Any, ...], ...] = ()
    trace: tuple[tuple[TraceNote, ...], ...] = ()
    proposals: Any = 0.0


class Gibbs(Algorithm[Samplable]):
    """A Markov chain over samples of the hidden structure; all its sweeps are made.

    Parameters
    ----------
    n_planned : int
        Sweeps of the chain.
    n_burn_in : int or None
        Sweeps before samples are kept; None for half, or with annealing all but the last tenth.
    thin : int
        Keep one sample in this many.
    temperatures : tuple (first, last) or None
        Linear over all sweeps; None for 1 throughout.
    """

    requires = Samplable
    title_of_history = "log joint probability (nats)"
    stops = False

    def __init__(
        self,
        n_planned: int,
        n_burn_in: int | None = None,
        thin: int = 1,
        temperatures: tuple[float, float] | None = None,
    ) -> None:
        self.n_planned: int = n_planned
        self.n_burn_in: int | None = n_burn_in
        self.thin: int = thin
        self.temperatures = temperatures

    def start(self, model: Samplable, rng: np.random.Generator, seed: Any = None) -> State:
        """The first sample."""
        hyper = model.hyper()
        prior = model.prior(hyper)
        counts, sample, unexplained, _ = model.first_sample(prior, rng)
        return State(
            counts, prior, hyper, None, sample, unexplained, 0, ChainMemory(self.n_planned)
        )

    def sweep(
        self, state: State, model: Samplable, rng: np.random.Generator
    ) -> tuple[State, float]:
        """Concentrations, then the sample; the value is log p(x, sample | prior)."""
        n_planned, n_sweeps = state.work.n_planned, state.n_sweeps
        temperature = self.temperature(n_sweeps, n_planned)
        # A state that is left without tokens while weights are drawn early soon has no weight, and
        # none begins again: under equal weights a chain finds its states sooner.
        rests = n_sweeps < self.first_kept(n_planned) * 3 // 4
        hyper = model.draw_hyper(state, dirichlet.fixed_point, None if rests else rng)
        prior = state.prior if hyper is state.hyper else model.prior(hyper)
        counts, structure, _, proposals = model.resample(
            state.counts, prior, state.shares, rng, temperature
        )
        value = float(model.log_evidence(counts, prior, structure))
        after = State(counts, prior, hyper, None, structure, state.unexplained, n_sweeps + 1)
        memory = self._remember(state.work, after, model, value)
        memory = memory._replace(proposals=memory.proposals + proposals)
        return after._replace(work=memory), value

    def _remember(
        self, memory: ChainMemory, state: State, model: Samplable, value: float
    ) -> ChainMemory:
        """The memory with the sample of a state."""
        done, counts, prior, sample = state.n_sweeps - 1, state.counts, state.prior, state.shares
        if done >= n_before_last_tenth(memory.n_planned):
            memory = memory._replace(label_counts=model.count_labels(memory.label_counts, sample))
        since = done - self.first_kept(memory.n_planned)
        is_kept = since >= 0 and since % self.thin == 0
        if is_kept:
            sums = add_arrays(memory.sums, (counts, model.means(counts, prior, sample)))
            memory = memory._replace(sums=sums, n_kept=memory.n_kept + 1)
            kept_sample = model.sample_to_keep(counts, prior, sample)
            if kept_sample is not None:
                memory = memory._replace(kept_samples=appended(memory.kept_samples, kept_sample))
        traced = TraceNote(value, is_kept, model.trace_note(state.hyper, counts))
        return memory._replace(trace=appended(memory.trace, traced))

    def temperature(self, n_sweeps: int, n_planned: int) -> float:
        """Temperature of a sweep after `n_sweeps`: linear over `n_planned`, then the last one."""
        if self.temperatures is None:
            return 1.0
        first, last = self.temperatures
        share = min(1.0, n_sweeps / max(1, n_planned - 1))
        # Where the last one has no digit beside the first one the sum can be 0.
        return max(first + share * (last - first), min(first, last))

    def first_kept(self, n_planned: int) -> int:
        """Sweeps before samples are kept."""
        if self.n_burn_in is not None:
            return self.n_burn_in
        return n_planned // 2 if self.temperatures is None else n_before_last_tenth(n_planned)

    def objective(self, state: State, model: Samplable, history: list[float]) -> float:
        """Mean log joint probability over the last tenth of the sweeps."""
        return float(np.mean(history[-max(1, len(history) // 10) :]))

    def final_counts(self, state: State) -> Any:
        """Mean counts of the kept samples; those of the last one where none is kept."""
        return _mean_of_kept(state.work, 0) if state.work.n_kept else state.counts

    def attributes(self, fit: Fit, model: Samplable) -> dict[str, Any]:
        """How many proposals were accepted, where any are made."""
        proposals = fit.state.work.proposals
        if not np.ndim(proposals):
            return {}
        return {"acceptance_rate_": float(proposals[1] / max(1, proposals[0]))}

    def adapt_state(self, state: State, model: Samplable) -> State | None:
        """The state; None under another prior: samples of two posteriors are not averaged."""
        now = model.adapt_state(state)
        if now is None:
            return None
        same = are_same(now.hyper, state.hyper) and are_same(now.prior, state.prior)
        return now if same else None


def appended(blocks: tuple[tuple[Any, ...], ...], one: Any) -> tuple[tuple[Any, ...], ...]:
    """Blocks of values with one more: states share what they hold, and no long tuple is copied."""
    if blocks and len(blocks[-1]) < _BLOCK:
        return (*blocks[:-1], (*blocks[-1], one))
    return (*blocks, (one,))


def _mean_of_kept(memory: ChainMemory, place: int) -> Any:
    """The mean over the kept samples of what stands at this place of the sums."""
    return map_arrays(
        lambda total: None if total is None else total / memory.n_kept, memory.sums[place]
    )


def n_before_last_tenth(n_planned: int) -> int:
    """Sweeps before the last tenth."""
    return n_planned * 9 // 10


def means_over_samples(state: State, model: Samplable) -> Any:
    """Averages of what predictions use over the kept samples; given the last where none is kept."""
    if state.work.n_kept:
        return _mean_of_kept(state.work, 1)
    return model.means(state.counts, state.prior, state.shares)


def sampled_labels(state: State, model: Samplable) -> Any:
    """How often labels were sampled late in the chain; those of the last sample before that."""
    labels = state.work.label_counts
    return model.count_labels(None, state.shares) if labels is None else labels


def count_structures(
    structure_counts: Any, sample: Sequence[tuple[bytes, Any]]
) -> list[dict[bytes, tuple[Any, ...]]]:
    """How often each structure of each unit was sampled, and it, with one more sample by key.

    States share what they remember: a dict that is there already is left as it is.
    """
    found = []
    for times, (key, value) in zip(structure_counts or ({},) * len(sample), sample, strict=True):
        n_before, first = times.get(key, (0, value))
        found.append({**times, key: (n_before + 1, first)})
    return found


def most_frequent_structures(structure_counts: list[dict[bytes, tuple[Any, ...]]]) -> list[Any]:
    """The structure of each unit that was sampled most often, the first among equals."""
    return [max(times.values(), key=itemgetter(0))[1] for times in structure_counts]
