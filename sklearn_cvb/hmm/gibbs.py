"""Sampling for hidden Markov models: token by token (Wang and Blunsom 2013, figure 1), by sequence,
or with the parameters (Gao and Johnson 2008).
"""

import math
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb import dirichlet
from sklearn_cvb.annotations import Seed
from sklearn_cvb.fitting import Fit
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.chains import ChainsMixin, Draw, chains_of, log_joint
from sklearn_cvb.hmm.gibbs_sweeps import (
    SWEEPS,
    GibbsState,
    Samples,
    counts_of_path,
    first_slots,
    scan_for,
)
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, posterior_mean
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, n_entries
from sklearn_cvb.sampling import SamplerMixin, late, no_averages
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError, StrOptions

# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01
# Of a number that float64 holds, with room for a product.
_LARGEST_LOG = 700.0


class GibbsHMM(ChainsMixin, SamplerMixin, BaseHMM):
    """Hidden Markov model learned by Gibbs sampling.

    With `update="token"` a sweep draws the state of each token anew, given those of all others:
    from left to right where all tokens have equally many allowed states, else within every few
    thousand tokens those with two states first, then those with three, and so on. Any fixed order
    leaves the posterior invariant.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.
    end_state : bool, default=False
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
        Taggers gain or lose a point or two by it, depending on the corpus.
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None, default=None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    update : {"token", "sequence", "parameter"}, default="token"
        What is drawn at a time (compared by Gao and Johnson 2008). "token": each token's state
        given those of all others, parameters integrated out. "sequence": a path of each sequence
        from the weights of all others' counts, accepted or not (Metropolis), parameters integrated
        out. "parameter": all parameters given the states, then all states given the parameters.
        All three sample the same posterior.
    temperatures : tuple (first, last) or None, default=None
        Annealing: temperature moves linearly from first to last over all sweeps (Goldwater and
        Griffiths 2007). "token" raises the conditional of every token to the power 1/temperature;
        "sequence" raises the weights of the proposals and what they are accepted by; both sample
        p(z | x) to that power. "parameter" divides the parameters of the Dirichlets by temperature
        and raises the weights of the states to 1/temperature: p(z, theta | x) over log theta to
        that power. None is 1 throughout, which samples the posterior.
    n_burn_in : int or None, default=None
        Sweeps before samples are kept; None for half of `max_iter`, with annealing nine tenths. A
        fit that goes on with a chain (`warm_start`) keeps to the burn-in, the temperatures and the
        last tenth of the fit that began it.
    thin : int, default=10
        Keep every `thin`-th sample.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=1000
        Number of sweeps.
    tol : float, default=1e-4
        Ignored: a sampler runs all its sweeps.
    init : {"token", "context", "word", "parameter", "unambiguous"}, arrays, model, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "context": each token's posterior from what its neighbours may be (None means this
        with a dictionary that `denoise` cleans, "unambiguous" if there are labels, too; not for
        Gibbs). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). Arrays: the posteriors of each training sequence, shape (length,
        n_components). A fitted model of this family over the same vocabulary and states: its counts
        (within a search wrap it in `sklearn.frozen.FrozenEstimator`). From "context",
        "unambiguous", arrays or a model all restarts would be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior. Random numbers go on, too: two fits of 20 sweeps are one of 40.
    random_state : int, RandomState or None, default=None
        Seed of all that is random: the starts, and what is drawn later.
    n_jobs : int or None, default=None
        Threads that run restarts; the result does not depend on it.
    verbose : int, default=0
        1 prints a line per restart, 2 a line per sweep.

    Attributes
    ----------
    counts_ : HMMCounts
        Mean counts of the kept samples.
    startprob_, transmat_, emissionprob_ : ndarray
        Averages over samples of the posterior means given the sample, shapes (n_components,),
        (n_components, n_components) and (n_components, n_symbols); rows sum to 1; the unknown item
        is the last symbol.
    endprob_ : ndarray of shape (n_components,)
        Probability that a sequence ends after each state. Only with `end_state`: the rows of
        `transmat_` then sum to 1 minus it.
    end_counts_ : ndarray of shape (n_components,) or None
        Count of the sequences that end in each state, as in `counts_`; None without `end_state`.
    labels_ : ndarray
        States of the training sequences: the most frequent ones over the last tenth of the sweeps.
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    objective_ : float
        Mean of log p(x, z | alpha, beta) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, z | alpha, beta) after every sweep (nats).
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol`.
    alpha_, beta_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sequences that no path explains; they are left out of the counts.
    acceptance_rate_ : float
        Share of accepted proposals over all sweeps, sequences with a choice only; 1 for the other
        updates, which have none to reject.
    chains_ : Chains or None
        Traces of all restarts after burn-in, shape (n_init, n_draws) each: `log_joint` (nats),
        `alpha`, `beta`, `n_occupied` (see `convergence`). None with annealing.
    samples_ : ndarray of shape (n_samples, n_tokens) or None
        Sampled states of all training tokens, sequences one after the other: every `thin`-th sweep
        after `n_burn_in`. None with annealing.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 1; eqs. 28-29.

    Gao and Johnson (2008), "A comparison of Bayesian estimators for unsupervised hidden Markov
    model POS taggers", EMNLP.

    Examples
    --------
    >>> from sklearn_cvb import GibbsHMM
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
    >>> model = GibbsHMM(n_components=2, max_iter=200, random_state=0).fit(X)
    >>> model.samples_.shape
    (10, 10)
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseHMM._parameter_constraints,
        **SamplerMixin._parameter_constraints,
        "update": [StrOptions({"token", "sequence", "parameter"})],
        "temperatures": [tuple, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        topology: str | ArrayLike = "full",
        end_state: bool = False,
        alpha: float | str = 0.1,
        beta: float | str = 0.1,
        start_alpha: float | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        beta_prior: tuple[float, float] = (1.0, 1.0),
        update: str = "token",
        temperatures: tuple[float, float] | None = None,
        n_burn_in: int | None = None,
        thin: int = 10,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "smooth",
        vocabulary: Collection | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.topology = topology
        self.end_state = end_state
        self.alpha = alpha
        self.beta = beta
        self.start_alpha = start_alpha
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self.update = update
        self.temperatures = temperatures
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.handle_unknown = handle_unknown
        self.vocabulary = vocabulary
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_topology(self, topology: Topology | None) -> None:
        if self.update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' moves one token at a time, which cannot reach every path that "
                "topology allows: use update='sequence' or 'parameter'"
            )

    def _start(self, problem: Problem, rng: np.random.Generator) -> GibbsState:
        """A path drawn from where `init` says."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        if self.update == "sequence" and self.temperatures is not None:
            check_powers(min(self.temperatures), prior, len(problem.corpus.tokens))
        slots = first_slots(problem, prior, self._starting_point(problem, prior, rng), rng)
        counts = counts_of_path(problem, slots)
        by_token = self.update == "token"
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
        temperature = self._temperature(state.n_sweeps, state.n_planned)
        slots, counts, proposals = SWEEPS[self.update](state, problem, prior, temperature, rng)
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
        if self.update == "token" and state.scan is None:
            return state._replace(scan=scan_for(problem.lattice, problem.corpus.starts))
        return state

    def _remembered(self, state: GibbsState, problem: Problem, value: float) -> Samples:
        """What is remembered of the chain, with its last path of log joint probability `value`."""
        frequency, averages, paths, trace = state.samples
        done = state.n_sweeps - 1
        if done >= late(state.n_planned):
            _add_frequencies(problem.lattice, state.slots, frequency)
        is_kept = self._is_kept(done, state.n_planned)
        alpha, beta = state.concentrations.alpha, state.concentrations.beta
        trace.append(Draw(value, alpha, beta, _n_occupied(state.counts, problem.cells), is_kept))
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
        kept = [(draw.alpha, draw.beta) for draw in trace if draw.is_kept]
        accepted, proposed = state.proposals.tolist()
        return {
            "samples_": np.array(paths)[:, problem.is_given] if paths else None,
            "acceptance_rate_": accepted / proposed if proposed else 1.0,
            "_means": means,
            "_training": problem if paths else None,
            "_sample_concentrations": np.array(kept) if paths else None,
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
