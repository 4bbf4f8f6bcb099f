"""Samples and traces of a Gibbs sampler: joint likelihoods and concentrations of each sweep, kept
paths, and the counts and priors of these.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    ChainPrior,
    HMMCounts,
    prior_of,
    rare_in,
    with_rare,
    without_fixed,
)
from sklearn_cvb.chain.paths.lattice import Cells, Problem
from sklearn_cvb.chain.symbols.sampling import counts_of_path, slots_of
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.dirichlet import FIXED_MASS
from sklearn_cvb.learning.model import Fit


class Chains(NamedTuple):
    """Traces of all restarts after burn-in, one value per sweep, shape (n_init, n_draws) each.

    Attributes
    ----------
    log_joint : ndarray
        log p(x, z | alpha, beta) (nats).
    alpha, beta : ndarray
        Concentrations.
    n_occupied : ndarray
        Number of states that have a token.
    """

    log_joint: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    n_occupied: np.ndarray


def traces_of(fits: Sequence[Fit], n_burn_in: int) -> Chains | None:
    """The chains of all restarts, without their burn-in and as long as the shortest (or None)."""
    traces = [[one for block in fit.state.work.trace for one in block] for fit in fits]
    n_draws = min(len(trace) for trace in traces) - n_burn_in
    if n_draws < 1:
        return None
    rows = [
        [(one.value, *one.values[:3]) for one in trace[n_burn_in : n_burn_in + n_draws]]
        for trace in traces
    ]
    return Chains(*np.moveaxis(np.array(rows, dtype=float), 2, 0))


def log_joint(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> float:
    """log p(x, z | alpha, beta) of actual counts through Gamma functions (nats)."""
    of_fixed = 0.0
    if prior.any_fixed:
        tables = prior.start, prior.transition, prior.emission
        free = without_fixed(counts, prior, cells)
        parts = zip(counts, free, tables, strict=True)
        of_fixed = sum(float(xlogy(own - rest, u / FIXED_MASS).sum()) for own, rest, u in parts)
        counts = free
    has_step = counts.transition > 0
    has_start = np.s_[:] if prior.start.min() > 0.0 else counts.start > 0
    return (
        of_fixed
        + dirichlet.log_evidence(
            counts.start[has_start],
            prior.start[has_start],
            counts.start.sum(),
            np.asarray(prior.start_total),
        )
        + dirichlet.log_evidence(
            counts.transition[has_step],
            prior.transition[has_step],
            counts.transition.sum(axis=1),
            prior.transition_total,
        )
        + dirichlet.log_rising_factorial(counts.emission, prior.emission)
        - dirichlet.log_rising_factorial(cells.row_totals(counts.emission), prior.emission_total)
    )


def trace_note(chain: Any, hyper: ChainConcentrations, counts: HMMCounts) -> tuple[Any, ...]:
    """Concentrations, and the number of states that have a token (a method of chains)."""
    n_tokens = (counts.start + counts.transition.sum(axis=0))[: chain.cells.n_emitting]
    return hyper.alpha, hyper.beta, int(np.count_nonzero(n_tokens)), hyper.state_weights


class ChainSamples(NamedTuple):
    """The kept samples of a sampler, and the traces of its chains."""

    paths: np.ndarray | None  # states of all training tokens in the kept samples, if any
    mean_weights: ChainWeights  # averages over samples of the posterior means given the sample
    per_sample: Any  # `PathCounts`, or counts and prior of each kept sample
    chains: Chains | None = None  # of all restarts

    @property
    def n_kept(self) -> int:
        """How many samples were kept."""
        assert self.paths is not None, "samples were kept"
        return len(self.paths)

    def posteriors(self) -> Iterable[tuple[HMMCounts, ChainPrior]]:
        """Counts and prior of each kept sample."""
        samples = self.per_sample
        if not isinstance(samples, PathCounts):
            return samples
        assert self.paths is not None, "samples were kept"
        return ((samples.counts(path), samples.prior(row)) for row, path in enumerate(self.paths))


class PathCounts(NamedTuple):
    """Counts and prior of each sampled path, made again from its states."""

    problem: Problem
    counts_rare: bool  # whether unknown words take the mean count of words seen once
    last: ChainPrior  # of the last sweep
    concentrations: np.ndarray  # alpha and beta of each sample, (n_samples, 2)
    state_weights: tuple[Any, ...]  # weights of the states of each sample

    def counts(self, path: np.ndarray) -> HMMCounts:
        """Counts of one kept sample, the unknown item's as `handle_unknown` says."""
        problem, cells = self.problem, self.problem.cells
        if cells.chain.has_end:
            states = np.full(len(problem.corpus.tokens), cells.n_emitting)
            states[problem.without_ends] = path
            path = states
        counts = counts_of_path(problem, slots_of(problem.lattice, path))
        return with_rare(counts, rare_in(problem, counts) if self.counts_rare else None, cells)

    def prior(self, row: int) -> ChainPrior:
        """Prior of one kept sample: its own where concentrations are learned."""
        first = self.last.concentrations
        if not first.is_learned:
            return self.last
        alpha, beta = self.concentrations[row].tolist()
        hyper = first._replace(alpha=alpha, beta=beta, state_weights=self.state_weights[row])
        return prior_of(self.problem.cells, hyper)


def refuse_without_posterior(sampled: ChainSamples, temperatures: Any, name: str) -> None:
    """Raise unless the samples are of the posterior."""
    if temperatures is not None:
        raise ValueError(f"{name} needs samples of the posterior: fit with samples=Samples()")
    if sampled.paths is None or sampled.chains is None:
        raise ValueError(
            f"{name} needs samples, and no sample was kept: the fit ended before its burn-in"
        )
