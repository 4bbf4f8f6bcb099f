"""Variational Bayes for hidden Markov models: Beal (2003), chapter 3."""

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_cvb.dirichlet import exp_digamma, kl_divergence
from sklearn_cvb.hmm.batch import BatchHMM
from sklearn_cvb.hmm.concentrations import row_totals
from sklearn_cvb.hmm.parameters import (
    _SMALLEST_RATIO,
    HMMCounts,
    dirichlet_parameters,
    exp_expected_log,
    expected_log,
)
from sklearn_cvb.kernels import decoding
from sklearn_cvb.kernels.chain import Weights
from sklearn_cvb.kernels.divergence import expected_weights


def _prior_totals(prior):
    """Row totals of the prior of the start row, of transitions and of emissions."""
    return np.atleast_1d(prior.start_total), prior.transition_total, prior.emission_total


def _allowed(cells):
    """Which flat cells of the three tables a topology allows: masks, or slices of all of them."""
    every, topology = slice(None), cells.topology
    if topology is None:
        return every, every, every
    return topology.start, topology.transition.ravel(), every


class VBHMM(BatchHMM):
    """Hidden Markov model learned by variational Bayes.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions. "auto" learns it
        while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions.
    start_alpha : float or None, default=None
        Concentration of the start row; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop when the bound changes by less than this per token.
    init : {"token", "word", "parameter", "unambiguous"}, arrays, model or None, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). Arrays: the posteriors of each training sequence, shape (length,
        n_components). A fitted model of this family over the same vocabulary and states: its counts
        (within a search wrap it in `sklearn.frozen.FrozenEstimator`). From "unambiguous", arrays or
        a model all restarts would be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior.
    random_state : int, RandomState or None, default=None
        Seed of all that is random: the starts, and what is drawn later.
    n_jobs : int or None, default=None
        Threads that run restarts and, if there are fewer of these, the sequences of each. The
        result does not depend on it.
    verbose : int, default=0
        1 prints a line per restart, 2 a line per sweep.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts after the last E-step, one E-step newer than the bound.
    startprob_, transmat_, emissionprob_ : ndarray
        Posterior means, shapes (n_components,), (n_components, n_components) and
        (n_components, n_symbols); rows sum to 1; the unknown item is the last symbol.
    labels_ : ndarray
        States of the training sequences: Viterbi paths under the exp E[log] weights of the final
        counts.
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    objective_ : float
        The lower bound on the log evidence (nats).
    history_ : ndarray of shape (n_iter_,)
        The bound of every sweep; it never decreases.
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
    lower_bound_ : float
        `objective_`.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: eq. 11; Beal (2003), chapter 3.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
    >>> model = VBHMM(n_components=2, n_init=3, random_state=0).fit(X)
    >>> bool(model.lower_bound_ == model.history_[-1])
    True
    """

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
        n_init=1,
        max_iter=100,
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

    def lower_bound_samples(self, X):
        """Lower bound on the log predictive probability of each sequence (Beal 2003, eq. 3.84).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
            Nats per sequence; never above the log-likelihood averaged over the posterior.
        """
        corpus, lattice, weights, logs = self._read(X)
        log_z = np.empty(corpus.n_sequences)
        decoding.log_likelihood(weights, logs, lattice, corpus.starts, log_z)
        return log_z

    def _weights(self, counts, prior, cells, kept=None):
        return exp_expected_log(counts, prior, cells)

    def _log_weights(self, weights, counts, prior, cells):
        return expected_log(counts, prior, cells)

    def _maximise(self, counts, prior, cells, kept):
        """Weights and KL divergence in one pass over the cells."""
        n, sums = cells.n_states, row_totals(counts, cells)
        totals = [row + of_prior for row, of_prior in zip(sums, _prior_totals(prior), strict=True)]
        divisors = [exp_digamma(total) for total in totals]
        if min(divisor.min() for divisor in divisors) <= _SMALLEST_RATIO:
            return super()._maximise(counts, prior, cells, kept)
        rows = (np.zeros(n, np.int32), np.repeat(np.arange(n, dtype=np.int32), n), cells.state)
        weights = Weights(*(np.zeros(table.shape) for table in counts))
        divergence = 0.0
        for count, name, row, divisor, weight, allowed in zip(
            counts, HMMCounts._fields, rows, divisors, weights, _allowed(cells), strict=True
        ):
            of_prior = np.ravel(getattr(prior, name))[allowed]
            # A view, or a copy where a topology rules cells out.
            result = weight.reshape(-1)[allowed]
            divergence += expected_weights(
                np.ravel(count)[allowed], of_prior, row[allowed], divisor, result
            )
            weight.reshape(-1)[allowed] = result
        for row, total, of_prior in zip(sums, totals, _prior_totals(prior), strict=True):
            divergence += np.sum(gammaln(total) - gammaln(of_prior) - row * digamma(total))
        return weights, float(divergence)

    def _penalty(self, counts, prior, weights, cells):
        """KL divergence of the parameters' posterior from their prior."""
        u, totals = dirichlet_parameters(counts, prior, cells)
        return sum(
            kl_divergence(np.ravel(cell)[kept], np.ravel(prior_cell)[kept], total, prior_total)
            for cell, prior_cell, total, prior_total, kept in zip(
                u,
                (prior.start, prior.transition, prior.emission),
                totals,
                _prior_totals(prior),
                _allowed(cells),
                strict=True,
            )
        )

    def _fitted_by_algorithm(self, best, problem):
        return {"lower_bound_": best.objective}
