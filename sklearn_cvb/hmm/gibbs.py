"""Collapsed Gibbs sampling for hidden Markov models (Wang and Blunsom 2013, figure 1)."""

import math
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.concentrations import Concentrations, learn
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    empty_counts,
    log_weights,
    posterior_mean,
)
from sklearn_cvb.hmm.sampling import (
    Scan,
    add_frequencies,
    count_slots,
    counts_of,
    draw_slots,
    log_joint,
    scan_for,
    slots_of,
    sweep_gibbs,
)
from sklearn_cvb.hmm.units import tally_of
from sklearn_cvb.kernels import decoding
from sklearn_cvb.kernels.chain import Weights
from sklearn_cvb.kernels.decoding import best_states, sample_paths
from sklearn_cvb.lattice import n_entries
from sklearn_cvb.validation import Interval


class GibbsState(NamedTuple):
    """What the sampler carries: the current path, and sums over the samples kept so far.

    `path` and `slots` hold the sampled path (see `sklearn_cvb.hmm.sampling`); `frequency` counts,
    for every (token, state) entry, how often it was sampled in the last tenth of the sweeps.
    """

    scan: Scan
    path: np.ndarray
    slots: np.ndarray
    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    frequency: np.ndarray
    count_sum: HMMCounts
    mean_sum: Weights
    kept: list


class GibbsHMM(BaseHMM):
    """Hidden Markov model learned by collapsed Gibbs sampling.

    A sweep draws the state of each token anew, given those of all others: from left to right where
    all tokens have equally many allowed states, else within every few thousand tokens those with
    two states first, then those with three, and so on. Any fixed order leaves the posterior
    invariant.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state may follow which. "independent": none depends on the one before, a mixture for
        every token. "constant": a sequence stays in one state, a mixture for every sequence.
        "left-right": a sequence starts in state 0 and never goes back. Or a boolean table of shape
        (n_components, n_components) whose rows say what may follow.
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions. "auto" learns it
        while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions.
    start_alpha : float or None, default=None
        Concentration of the start row; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    temperatures : tuple (first, last) or None, default=None
        Annealing: the conditional of every token is raised to the power 1/temperature, which moves
        linearly from first to last over all sweeps (Goldwater and Griffiths 2007). None is 1
        throughout, which samples the posterior.
    n_burn_in : int or None, default=None
        Sweeps before samples are kept; None for half of `max_iter`, with annealing nine tenths.
    thin : int, default=10
        Keep every `thin`-th sample.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=1000
        Number of sweeps.
    tol : float, default=1e-4
        Ignored: a sampler runs all its sweeps.
    init : {"token", "word", "parameter", "unambiguous"}, arrays, model or None, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states
        (None means this with a dictionary or labels). "parameter": random weights and one E-step
        (None means this otherwise). "word": one posterior
        for all tokens of a word, from Dirichlet(0.1). "unambiguous": transitions counted between
        neighbouring tokens that have one allowed state each (Kupiec 1992). Arrays: the posteriors
        of each training sequence, shape (length, n_components). A fitted model of this family over
        the same vocabulary and states: its counts (within a search wrap it in
        `sklearn.frozen.FrozenEstimator`). From "unambiguous", arrays or a model all restarts would
        be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the samples.
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
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol`.
    alpha_, beta_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sequences that no path explains; they are left out of the counts.
    samples_ : ndarray of shape (n_samples, n_tokens) or None
        Sampled states of all training tokens, sequences one after the other: every `thin`-th sweep
        after `n_burn_in`. None with annealing.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 1; eqs. 28-29.

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
        "temperatures": [tuple, None],
        "n_burn_in": [Interval(Integral, 0, None, closed="left"), None],
        "thin": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        topology="full",
        alpha=0.1,
        beta=0.1,
        start_alpha=None,
        alpha_prior=(1.0, 1.0),
        beta_prior=(1.0, 1.0),
        temperatures=None,
        n_burn_in=None,
        thin=10,
        n_init=1,
        max_iter=1000,
        tol=1e-4,
        init=None,
        handle_unknown="smooth",
        vocabulary=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.topology = topology
        self.alpha = alpha
        self.beta = beta
        self.start_alpha = start_alpha
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
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

    def score_samples(self, X):
        """Log-likelihood of every sequence, averaged over samples (paper eq. 28).

        With annealing there are no samples of the posterior, and posterior-mean parameters are
        used instead (eq. 27).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
            log p(x) in nats per sequence.
        """
        return self._log_likelihoods(X)[0]

    def perplexity(self, X, per="token"):
        """exp of minus the mean log-likelihood averaged over samples (paper eqs. 26 and 28).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        per : {"token", "sequence"}, default="token"
            What the mean is taken over.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            With annealing: its samples are not of the posterior.
        """
        if self.temperatures is not None:
            raise ValueError(
                "perplexity averages over samples of the posterior (eq. 28): fit with "
                "temperatures=None; score uses averaged parameters with any temperatures"
            )
        return super().perplexity(X, per)

    def _log_likelihoods(self, X):
        corpus = self._encoded(X)
        if self.samples_ is None:
            return super()._log_likelihoods(X)
        lattice = self._lattice_of(corpus)
        log_z = np.empty((len(self.samples_), corpus.n_sequences))
        for row, path in zip(log_z, self.samples_, strict=True):
            weights = posterior_mean(self._sample_counts(path), self._prior, self._cells)
            decoding.log_likelihood(weights, log_weights(weights), lattice, corpus.starts, row)
        return logsumexp(log_z, axis=0) - math.log(len(log_z)), corpus.n_observed

    def _sample_counts(self, path):
        """Counts of one kept sample, the unknown item's as `handle_unknown` says."""
        problem = self._training
        counts = empty_counts(problem.cells)
        slots = np.empty(len(path), np.int32)
        slots_of(problem.lattice, path.astype(np.int32), slots)
        count_slots(problem.lattice, problem.corpus.starts, slots, counts)
        return self._with_rare(counts, problem)

    def _with_rare(self, counts, problem):
        rare = self._rare_counts(counts, problem)
        if rare is None:
            return counts
        emission = counts.emission.copy()
        emission[problem.cells.unknown] += rare
        return counts._replace(emission=emission)

    def _check_parameters(self):
        super()._check_parameters()
        if self.temperatures is not None and not (
            len(self.temperatures) == 2
            and all(isinstance(t, Real) and 0 < t < math.inf for t in self.temperatures)
        ):
            raise ValueError(
                f"temperatures must be None or two positive numbers, got {self.temperatures!r}"
            )

    def _schedule(self, problem):
        return super()._schedule(problem)._replace(tol=0.0)

    def _start(self, problem, rng):
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        start = self._starting_point(problem, prior, rng)
        lattice, starts = problem.lattice, problem.corpus.starts
        slots = np.empty(len(problem.corpus.tokens), np.int32)
        if start.posterior is not None:
            draw_slots(lattice, start.posterior, rng.random(len(slots)), slots)
        else:
            logs = log_weights(start.weights)
            path, log_z = np.empty_like(slots), np.empty(len(starts) - 1)
            sample_paths(start.weights, logs, lattice, starts, rng, path, log_z)
            slots_of(lattice, path, slots)
        counts = empty_counts(problem.cells)
        count_slots(lattice, starts, slots, counts)
        zeros = empty_counts(problem.cells)
        return GibbsState(
            scan_for(lattice, starts),
            lattice.state[slots],
            slots,
            counts,
            prior,
            concentrations,
            None,
            np.empty(0, np.intp),
            0,
            np.zeros(n_entries(lattice)),
            zeros,
            Weights(*(table.copy() for table in zeros)),
            [],
        )

    def _temperature(self, n_sweeps):
        """Temperature of a sweep: linear over `max_iter` sweeps, then the last one."""
        if self.temperatures is None:
            return 1.0
        first, last = self.temperatures
        share = min(1.0, n_sweeps / max(1, self.max_iter - 1))
        return first + share * (last - first)

    def _n_burn_in(self):
        if self.n_burn_in is not None:
            return min(self.n_burn_in, self.max_iter - 1)
        return self.max_iter // 2 if self.temperatures is None else self.max_iter * 9 // 10

    def _sweep(self, state, problem, rng):
        cells, lattice, starts = problem.cells, problem.lattice, problem.corpus.starts
        concentrations = learn(
            state.concentrations, state.counts, cells, state.n_sweeps, dirichlet.fixed_point
        )
        prior = self._priors(cells, concentrations)
        path, slots = state.path.copy(), state.slots.copy()
        tables = tally_of(state.counts, prior, cells)
        temperature = self._temperature(state.n_sweeps)
        sweep_gibbs(tables, lattice, state.scan, path, slots, temperature, rng)
        counts = counts_of(tables, lattice, starts, slots, prior, cells)
        state = state._replace(
            path=path,
            slots=slots,
            counts=counts,
            prior=prior,
            concentrations=concentrations,
            n_sweeps=state.n_sweeps + 1,
        )
        return self._remember(state, problem), log_joint(counts, prior, cells)

    def _remember(self, state, problem):
        """Add the sample to the sums it belongs to."""
        done = state.n_sweeps - 1
        if done >= self.max_iter * 9 // 10:
            add_frequencies(problem.lattice, state.slots, state.frequency)
        burn_in = self._n_burn_in()
        if done >= burn_in and (done - burn_in) % self.thin == 0:
            means = posterior_mean(
                self._with_rare(state.counts, problem), state.prior, problem.cells
            )
            for total, table in zip(state.count_sum, state.counts, strict=True):
                total += table
            for total, table in zip(state.mean_sum, means, strict=True):
                total += table
            path = None
            if self.temperatures is None:
                path = state.path.astype(_path_type(problem))
            state.kept.append(path)
        return state

    def _objective(self, fit, problem):
        """Mean of log p(x, z) over the last tenth of the sweeps."""
        tail = max(1, len(fit.history) // 10)
        return float(np.mean(fit.history[-tail:]))

    def _posterior(self, state, problem):
        """How often each state was sampled in the last tenth of the sweeps."""
        frequency = state.frequency
        if not frequency.any():
            frequency = frequency.copy()
            add_frequencies(problem.lattice, state.slots, frequency)
        return frequency / frequency[: problem.lattice.count[0]].sum()

    def _label_path(self, state, problem):
        """The most frequent state of each token over the last tenth of the sweeps."""
        path = np.empty(len(state.slots), np.int32)
        best_states(problem.lattice, self._posterior(state, problem), 0, len(path), path)
        return path

    def _final_counts(self, state):
        """Mean counts of the kept samples."""
        if not state.kept:
            return state.counts
        return HMMCounts(*(table / len(state.kept) for table in state.count_sum))

    def _fitted_by_algorithm(self, best, problem):
        state = best.state
        if state.kept:
            means = Weights(*(table / len(state.kept) for table in state.mean_sum))
        else:
            means = posterior_mean(
                self._with_rare(state.counts, problem), state.prior, problem.cells
            )
        has_samples = self.temperatures is None and state.kept
        return {
            "samples_": np.array(state.kept) if has_samples else None,
            "_means": means,
            "_training": problem if has_samples else None,
        }

    def _mean_weights(self):
        """Averages over samples of the posterior means given the sample."""
        self._complete_counts()
        return self._means

    def _predicting_weights(self):
        return self._mean_and_log()


def _path_type(problem):
    """The smallest integer type for states."""
    return np.min_scalar_type(-problem.cells.n_states)
