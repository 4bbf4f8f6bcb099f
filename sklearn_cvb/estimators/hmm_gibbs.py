"""Sampling for hidden Markov models: token by token (Wang and Blunsom 2013, figure 1), by sequence,
or with the parameters (Gao and Johnson 2008).
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.chain.parameters import HMMCounts, Prior
from sklearn_cvb.chain.traces import (
    Convergence,
    Sampled,
    chains_of,
    convergence_of,
    exported,
    refuse_without_posterior,
    traced,
)
from sklearn_cvb.estimators.base import learned_of
from sklearn_cvb.estimators.hmm import BaseHMM
from sklearn_cvb.estimators.sampling import CONSTRAINTS, chain_of, check_temperatures
from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.reading.validation import Folder, Seed, StrOptions

# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01


class GibbsHMM(BaseHMM):
    """Hidden Markov model learned by Gibbs sampling.

    With `update="token"` a sweep draws the state of each token anew, given those of all others:
    from left to right where all tokens have equally many allowed states, else within every few
    thousand tokens those with two states first, then those with three, and so on. Any fixed order
    leaves the posterior invariant.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    emission : str or object of `sklearn_cvb.emissions`, default="categorical"
        What a state emits: symbols ("categorical"), or numbers: "gaussian", "bernoulli", "poisson",
        or an object that says more, such as ``Gaussian(covariance_type="diag")``. With numbers a
        sequence is an array of shape (length, n_columns), or (length,) for a single column, with
        NaN where values are missing; `init` is "kmeans" (the default), "token", arrays or a fitted
        model; `beta`, `handle_unknown` and `vocabulary` are for symbols alone. CVB leaves out
        sequences, or windows of `block_length` steps (100 where one series holds most of them; 1
        for single steps); Gibbs sampling draws by "parameter".
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.
    supervision : {"none", "y"}, default="none"
        Whether `fit` learns from the states in `y` where they are known: for each sequence its
        states 0 to n_components - 1, -1 or None where unknown. With "none" `y` is ignored: choosing
        among models by what `y` says must not train on it.
    end_state : bool, default=False
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
        Taggers gain or lose a point or two by it, depending on the corpus.
    transition_prior : {"dirichlet", "hdp"}, default="dirichlet"
        "hdp": the rows of transitions share weights of the states, which are learned, and states
        that are not needed get next to none (a truncated hierarchical Dirichlet process);
        `n_components` is then the largest number of states, `alpha` a row's total concentration.
    gamma : float or "auto", default=1.0
        With "hdp": concentration of the weights, 1e-10 to 1e10. More makes more states likely.
        "auto" learns it while fitting.
    sticky : float, default=0.0
        Added to the concentration of staying in each state (Fox et al. 2011).
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None, default=None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    gamma_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma prior of `gamma` where it is "auto".
    update : {"token", "sequence", "parameter"} or None, default=None
        What is drawn at a time (Gao and Johnson 2008 compare all three); None for "token", and for
        "parameter" where states emit numbers. "token": each token's state given those of all
        others, parameters integrated out. "sequence": a path of each sequence from the weights of
        all others' counts, accepted or not (Metropolis), parameters integrated out. "parameter":
        all parameters given the states, then all states given the parameters. All three sample the
        same posterior.
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
    init : str, list of arrays or fitted model, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "context": each token's posterior from what its neighbours may be (None means this
        with a dictionary that `denoise` cleans, "unambiguous" if there are labels, too; not for
        Gibbs). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). "merged": sweeps of VB in which pairs of states are joined while the
        bound rises; of symbols under ``transition_prior="hdp"`` alone. Arrays: the posteriors of
        each training sequence, shape (length, n_components). A fitted model of this family over the
        same vocabulary and states: its counts (within a search wrap it in
        `sklearn.frozen.FrozenEstimator`). From "context",
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
    checkpoint : path or None, default=None
        Folder in which the fit is saved while it runs. With ``warm_start=True`` the next `fit` on
        the same sequences, also in another process, goes on from there to `max_iter` sweeps, as if
        nothing had stopped it. One folder for each fit.
    checkpoint_every : int or str, default="60s"
        How often each restart is saved: after so many sweeps (10), or seconds ("60s"; seldomer
        where saving would take a twentieth of the time).
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
    n_columns_ : int
        Number of columns, where observations are numbers.
    means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        Of normal emissions, in the shapes of scikit-learn's mixtures: means (n_components,
        n_columns), the others by `covariance_type`. In a posterior, expected means and precisions.
    rates_, probabilities_ : ndarray of shape (n_components, n_columns)
        Of Poisson and Bernoulli emissions.
    category_probabilities_ : list of ndarray of shape (n_components, n_categories)
        Of `Categorical` emissions, for each column.
    parts_ : list of dict
        What each part of `Columns` leaves, by the names above; of categories
        `category_probabilities_`, an array of shape (n_components, n_categories) for each column.
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
    state_weights_ : ndarray of shape (n_components,)
        With `transition_prior="hdp"`: the learned weights of the states, which sum to 1.
    gamma_ : float
        With "hdp": concentration of the weights in the last sweep.
    n_effective_components_ : int
        With "hdp": the number of states that hold at least one in a hundred training tokens, by
        `labels_`.
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
        **CONSTRAINTS,
        "update": [StrOptions({"token", "sequence", "parameter"}), None],
        "temperatures": [tuple, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        emission: Any = "categorical",
        topology: str | ArrayLike = "full",
        supervision: str = "none",
        end_state: bool = False,
        transition_prior: str = "dirichlet",
        gamma: float | str = 1.0,
        sticky: float = 0.0,
        alpha: float | str = 0.1,
        beta: float | str = 0.1,
        start_alpha: float | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        beta_prior: tuple[float, float] = (1.0, 1.0),
        gamma_prior: tuple[float, float] = (1.0, 1.0),
        update: str | None = None,
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
        checkpoint: Folder | None = None,
        checkpoint_every: int | str = "60s",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.emission = emission
        self.topology = topology
        self.supervision = supervision
        self.end_state = end_state
        self.transition_prior = transition_prior
        self.gamma = gamma
        self.sticky = sticky
        self.alpha = alpha
        self.beta = beta
        self.start_alpha = start_alpha
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self.gamma_prior = gamma_prior
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
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # What is drawn at a time

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_temperatures(self.temperatures)

    _why_all_steps = (
        "update='token' moves one token at a time, which cannot reach every path that "
        "topology allows: use update='sequence'"
    )

    def _algorithm(self) -> Gibbs:
        return chain_of(self)

    # What a chain leaves

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        left, state = super()._left(fits, read), record_of(fits)[0].state
        algorithm, model = self._algorithm(), self._model(read)
        sampled, rate = model.sampled(state, algorithm.final_counts(state))
        if self.temperatures is None:
            n_burn_in = algorithm.first_kept(fits[0].state.work.n_planned)
            chains = chains_of([fit.state.work.trace for fit in fits], n_burn_in)
            sampled = sampled._replace(chains=chains)
        learned, attributes = left.learned, {"acceptance_rate_": rate, "chains_": sampled.chains}
        why = ""
        if rate < _LOW_ACCEPTANCE:
            why = (
                f"only {100 * rate:.2g} % of the proposals were accepted: long sequences hardly "
                "move with update='sequence'; use 'token' or 'parameter'"
            )
        return Left(
            learned._replace(more=learned.more._replace(sampled=sampled)),
            left.attributes | attributes,
            (why,) if why else (),
        )

    @property
    def samples_(self) -> np.ndarray | None:
        """Sampled states of all training tokens."""
        paths: np.ndarray | None = learned_of(self).more.sampled.paths
        return paths

    def _samples(self, learned: Learned) -> Iterable[tuple[HMMCounts, Prior]] | None:
        sampled: Sampled = learned.more.sampled
        return None if sampled.paths is None else sampled.posteriors()

    def _posteriors(self, learned: Learned) -> Iterable[tuple[HMMCounts, Prior]]:
        sampled: Sampled = learned.more.sampled
        refuse_without_posterior(sampled, self.temperatures, "credible_intervals")
        return sampled.posteriors()

    def score_samples(self, X: Any) -> np.ndarray:
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
        return self._log_likelihoods(learned_of(self), X)[0]

    def perplexity(self, X: Any, per: str = "token") -> float:
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
        learned_of(self)
        if self.temperatures is not None:
            raise ValueError(
                "perplexity averages over samples of the posterior (eq. 28): fit with "
                "temperatures=None; score uses averaged parameters with any temperatures"
            )
        return super().perplexity(X, per)

    def convergence(self) -> dict[str, Convergence]:
        """R-hat and effective sample size of what does not depend on the names of the states.

        The restarts (`n_init`) are the chains. Every chain may name the states its own way, and
        may change names on its way: traces of one state's probabilities then disagree between
        chains that agree in all that matters. The log joint probability, the number of occupied
        states and learned concentrations are the same under any names.

        Returns
        -------
        dict
            Name of each traced quantity (`log_joint`, `n_occupied`; `alpha` and `beta` where they
            are learned): a `Convergence` of mean, standard_deviation, r_hat and
            effective_sample_size. NaN for what never changed, and with fewer than 4 sweeps after
            burn-in.

        Raises
        ------
        ValueError
            With annealing.

        References
        ----------
        Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
        localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis.

        Examples
        --------
        >>> from sklearn_cvb import GibbsHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = GibbsHMM(n_components=2, n_init=4, max_iter=500, random_state=0).fit(X)
        >>> sorted(model.convergence())
        ['log_joint', 'n_occupied']
        """
        chains = traced(self, learned_of(self).more.sampled, "convergence")
        return {name: convergence_of(draws) for name, draws in chains.items()}

    def to_inference_data(self) -> Any:
        """The traces of all restarts for ArviZ, which must be installed.

        Group ``posterior`` holds `n_occupied`, and `alpha` and `beta` where they are learned;
        ``sample_stats`` holds `lp`, the log joint probability (nats). Restarts are the chains, and
        draws are the sweeps after burn-in. Probabilities of single states are left out, because
        chains name the states each their own way (see `convergence`).

        Returns
        -------
        arviz.InferenceData
            From ArviZ 1.0 on an ``xarray.DataTree`` with the same groups.

        Raises
        ------
        ImportError
            If ArviZ is not installed.
        ValueError
            With annealing.
        """
        return exported(traced(self, learned_of(self).more.sampled, "to_inference_data"))
