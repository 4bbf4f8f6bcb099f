"""Sampling on symbols: how `sklearn_cvb.hmm.gibbs.GibbsHMM` sweeps, and what its chain tells."""

import math
import warnings
from typing import Any

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.fitting import Fit
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.chains import ChainsMixin, Draw, chains_of, log_joint
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.gibbs_sweeps import (
    GibbsState,
    Samples,
    counts_of_path,
    first_slots,
    scan_for,
    sweep_by_sequence,
    sweep_by_token,
)
from sklearn_cvb.hmm.parameter_sweeps import sweep_by_parameters
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, posterior_mean
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, n_entries
from sklearn_cvb.sampling import SamplerMixin, late, no_averages
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError

SWEEPS = {
    "token": sweep_by_token,
    "sequence": sweep_by_sequence,
    "parameter": sweep_by_parameters,
}
# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01
# Of a number that float64 holds, with room for a product.
_LARGEST_LOG = 700.0


class SampledHMM(ChainsMixin, SamplerMixin, BaseHMM):
    """Start, sweep and reading of a sampler; `update` says what is drawn at a time."""

    update: str | None
    temperatures: tuple[float, float] | None

    @property
    def _update(self) -> str:
        """What is drawn at a time."""
        if self.update is None:
            return "parameter" if self._is_numeric else "token"
        return self.update

    def _check_topology(self, topology: Topology | None) -> None:
        if self._update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' moves one token at a time, which cannot reach every path that "
                "topology allows: use update='sequence'"
            )

    def _start(self, problem: Problem, rng: np.random.Generator) -> GibbsState:
        """A path drawn from where `init` says."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        if self._update == "sequence" and self.temperatures is not None:
            check_powers(min(self.temperatures), prior, len(problem.corpus.tokens))
        slots = first_slots(problem, prior, self._starting_point(problem, prior, rng), rng)
        counts = counts_of_path(problem, slots)
        by_token = self._update == "token"
        samples = Samples(np.zeros(n_entries(problem.lattice)), no_averages(counts, counts), [], [])
        return GibbsState(
            slots,
            counts,
            prior,
            concentrations,
            0,
            self.max_iter,
            scan_for(problem.lattice, problem.corpus.starts) if by_token else None,
            samples,
            np.zeros(2, np.int64),
        )

    def _sweep(
        self, state: GibbsState, problem: Problem, rng: np.random.Generator
    ) -> tuple[GibbsState, float]:
        """Concentrations, then all states; the value is log p(x, z | alpha, beta)."""
        cells = problem.cells
        concentrations, prior = self._learned(state, problem, dirichlet.fixed_point)
        if concentrations.shared is not None:
            concentrations = self._with_drawn_weights(state, concentrations, rng)
            prior = self._priors(cells, concentrations)
        temperature = self._temperature(state.n_sweeps, state.n_planned)
        slots, counts, proposals = SWEEPS[self._update](state, problem, prior, temperature, rng)
        value = log_joint(counts, prior, cells)
        state = state._replace(
            slots=slots,
            counts=counts,
            prior=prior,
            concentrations=concentrations,
            n_sweeps=state.n_sweeps + 1,
            proposals=state.proposals + proposals,
        )
        return state._replace(samples=self._remembered(state, problem, value)), value

    def _is_resting(self, n_sweeps: int, n_planned: int) -> bool:
        """Whether weights of the states that rows share are still equal after so many sweeps.

        A state that is left without tokens early soon has no weight, and none begins anew: under
        equal weights a chain finds its states sooner.
        """
        return n_sweeps < self._n_burn_in(n_planned) * 3 // 4

    def _with_drawn_weights(
        self, state: Any, learned: Concentrations, rng: np.random.Generator
    ) -> Concentrations:
        """The weights of the states, alpha and gamma drawn unless they rest; beta as learned."""
        from sklearn_cvb.hmm.shared_weights import drawn_weights

        concentrations = state.concentrations._replace(beta=learned.beta)
        if self._is_resting(state.n_sweeps, state.n_planned):
            return concentrations
        return drawn_weights(concentrations, state.counts, rng)

    def _with_parameters_of_now(self, state: GibbsState, problem: Problem) -> GibbsState | None:
        """The state, or None under another prior: samples of two posteriors are not averaged."""
        asked = super()._with_parameters_of_now(state, problem)
        same = asked.concentrations == state.concentrations and asked.prior.equals(state.prior)
        if not same:
            return None
        frequency, averages, paths, trace = state.samples
        # What grows in place is copied, and what an interrupted sweep had added is dropped: a fit
        # that fails leaves the one before whole.
        samples = Samples(
            frequency.copy(), averages, paths[: averages.n_kept], trace[: state.n_sweeps]
        )
        state = state._replace(samples=samples)
        if self._update == "token" and state.scan is None:
            return state._replace(scan=scan_for(problem.lattice, problem.corpus.starts))
        return state

    def _stripped(self, state: GibbsState) -> GibbsState:
        return state._replace(scan=None)

    def _remembered(self, state: GibbsState, problem: Problem, value: float) -> Samples:
        """What is remembered of the chain, with its last path of log joint probability `value`."""
        frequency, averages, paths, trace = state.samples
        done = state.n_sweeps - 1
        if done >= late(state.n_planned):
            _add_frequencies(problem.lattice, state.slots, frequency)
        is_kept = self._is_kept(done, state.n_planned)
        alpha, beta = state.concentrations.alpha, state.concentrations.beta
        n_occupied = _n_occupied(state.counts, problem.cells)
        trace.append(Draw(value, alpha, beta, n_occupied, is_kept, state.concentrations.shared))
        if is_kept:
            averages = averages.plus(state.counts, self._sample_means(state, problem))
            if self.temperatures is None:
                states = problem.lattice.state[state.slots]
                # The smallest integer type for states: samples are the largest part of a fit.
                paths.append(states.astype(np.min_scalar_type(-problem.cells.n_states)))
        return Samples(frequency, averages, paths, trace)

    def _sample_means(self, state: GibbsState, problem: Problem) -> Weights:
        """Posterior means given one sample."""
        return posterior_mean(self._with_rare(state.counts, problem), state.prior, problem.cells)

    def _posterior(self, state: GibbsState, problem: Problem) -> np.ndarray:
        """How often each state was sampled in the last tenth of the sweeps."""
        frequency = state.samples.frequency
        if not frequency.any():
            frequency = frequency.copy()
            _add_frequencies(problem.lattice, state.slots, frequency)
        return frequency / frequency[: problem.lattice.count[0]].sum()

    def _label_path(self, state: GibbsState, problem: Problem) -> np.ndarray:
        """The most frequent state of each token over the last tenth of the sweeps."""
        path = np.empty(len(state.slots), np.int32)
        best_states(problem.lattice, self._posterior(state, problem), 0, len(path), path)
        return path

    def _final_counts(self, state: GibbsState) -> HMMCounts:
        """Mean counts of the kept samples."""
        averages = state.samples.averages
        return HMMCounts(*averages.mean_counts()) if averages.n_kept else state.counts

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        state = best.state
        _, averages, paths, trace = state.samples
        if averages.n_kept:
            means = Weights(*averages.mean_means())
        else:
            means = self._sample_means(state, problem)
        kept = [draw for draw in trace if draw.is_kept]
        accepted, proposed = state.proposals.tolist()
        return {
            "samples_": np.array(paths)[:, problem.is_given] if paths else None,
            "acceptance_rate_": accepted / proposed if proposed else 1.0,
            "_means": means,
            "_training": problem if paths else None,
            "_sample_concentrations": np.array([(draw.alpha, draw.beta) for draw in kept])
            if paths
            else None,
            "_sample_shared": [draw.shared for draw in kept],
        }

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        chains = None
        if self.temperatures is None:
            traces = [fit.state.samples.trace for fit in fits]
            chains = chains_of(traces, self._n_burn_in(fits[0].state.n_planned))
        return super()._fitted(fits, problem) | {"chains_": chains}

    def _keep(self, fitted: dict[str, Any], why: str) -> None:
        super()._keep(fitted, why)
        if self.acceptance_rate_ < _LOW_ACCEPTANCE:
            warnings.warn(
                f"only {100 * self.acceptance_rate_:.2g} % of the proposals were accepted: long "
                "sequences hardly move with update='sequence'; use 'token' or 'parameter'",
                UserWarning,
                stacklevel=5,
            )

    def _mean_weights(self) -> Weights:
        """Averages over samples of the posterior means given the sample."""
        self._complete_counts()
        return self._means

    def _predicting_weights(self) -> tuple[Weights, Weights]:
        return self._mean_and_log()


def check_powers(temperature: float, prior: Prior, n_tokens: int) -> None:
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


def _n_occupied(counts: HMMCounts, cells: Cells) -> int:
    """Number of states that have a token."""
    n_tokens = counts.start + counts.transition.sum(axis=0)
    return int(np.count_nonzero(n_tokens[: cells.n_emitting]))


def _add_frequencies(lattice: Lattice, slots: np.ndarray, frequency: np.ndarray) -> None:
    """Count the sampled state of every token in its (token, state) entry, in place."""
    begins = np.cumsum(lattice.count, dtype=np.int64) - lattice.count
    frequency[begins + slots - lattice.first] += 1.0
