"""The four hidden Markov models: EM, variational, collapsed variational, sampling."""

from collections.abc import Iterable
from dataclasses import field
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.chain.lattice import Problem
from sklearn_cvb.chain.parameters import HMMCounts, Prior
from sklearn_cvb.chain.symbols.leave_out import HALF_OF_ALL, LeftOut
from sklearn_cvb.chain.topology import NAMES
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
from sklearn_cvb.estimators.parameters import (
    AnnealedChain,
    Batches,
    BoundedSweeps,
    Count,
    Flag,
    GammaPrior,
    KnownWords,
    LearnedConcentration,
    LeaveOneOutSweeps,
    OptionalCount,
    Parameters,
    PseudoCount,
    Supervision,
    Sweeps,
    UnknownWords,
    chain_of,
    check_temperatures,
)
from sklearn_cvb.learning.algorithms import CVB, EM, VB
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.learning.online import partial_fit
from sklearn_cvb.reading.validation import HasMethods, Interval, StrOptions, check_concentrations

# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01


class States(Parameters):
    """How many states there are.

    Parameters
    ----------
    n_components : int
        Number of hidden states.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts after the last E-step, one E-step newer than the bound.
    startprob_, transmat_, emissionprob_ : ndarray
        Posterior means, shapes (n_components,), (n_components, n_components) and
        (n_components, n_symbols); rows sum to 1; the unknown item is the last symbol.
    endprob_ : ndarray of shape (n_components,)
        Probability that a sequence ends after each state. Only with `end_state`: the rows of
        `transmat_` then sum to 1 minus it.
    end_counts_ : ndarray of shape (n_components,) or None
        Count of the sequences that end in each state, as in `counts_`; None without `end_state`.
    labels_ : ndarray
        States of the training sequences: Viterbi paths under the exp E[log] weights of the final
        counts.
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    """

    n_components: Count = field(default=2, kw_only=False)


class Emissions(Parameters):
    """What states emit.

    Parameters
    ----------
    emission : str or object of `sklearn_cvb.emissions`
        What a state emits: symbols ("categorical"), or numbers: "gaussian", "bernoulli", "poisson",
        or an object that says more, such as ``Gaussian(covariance_type="diag")``. With numbers a
        sequence is an array of shape (length, n_columns), or (length,) for a single column, with
        NaN where values are missing; `init` is "kmeans" (the default), "token", arrays or a fitted
        model; `beta`, `handle_unknown` and `vocabulary` are for symbols alone. CVB leaves out
        sequences, or windows of `block_length` steps (100 where one series holds most of them; 1
        for single steps); Gibbs sampling draws by "parameter".

    Attributes
    ----------
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
    """

    emission: Annotated[
        Any,
        StrOptions({"categorical", "gaussian", "bernoulli", "poisson"}),
        HasMethods("bind"),
    ] = "categorical"


class Paths(Parameters):
    """Which paths there are, and what is known of them.

    Parameters
    ----------
    topology : {"full", "independent", "constant", "left-right"} or array
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
    supervision : {"none", "y"}
        Whether `fit` learns from the states in `y` where they are known: for each sequence its
        states 0 to n_components - 1, -1 or None where unknown. With "none" `y` is ignored: choosing
        among models by what `y` says must not train on it.
    end_state : bool
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
        Taggers gain or lose a point or two by it, depending on the corpus.
    """

    topology: Annotated[str | ArrayLike, StrOptions(set(NAMES)), "array-like"] = "full"
    supervision: Supervision = "none"
    end_state: Flag = False


class Transitions(Parameters):
    """What rows of transitions share.

    Parameters
    ----------
    transition_prior : {"dirichlet", "hdp"}
        "hdp": the rows of transitions share weights of the states, which are learned, and states
        that are not needed get next to none (a truncated hierarchical Dirichlet process);
        `n_components` is then the largest number of states, `alpha` a row's total concentration.
    gamma : float or "auto"
        With "hdp": concentration of the weights, 1e-10 to 1e10. More makes more states likely.
        "auto" learns it while fitting.
    sticky : float
        Added to the concentration of staying in each state (Fox et al. 2011).

    Attributes
    ----------
    state_weights_ : ndarray of shape (n_components,)
        With `transition_prior="hdp"`: the learned weights of the states, which sum to 1.
    gamma_ : float
        With "hdp": concentration of the weights in the last sweep.
    n_effective_components_ : int
        With "hdp": the number of states that hold at least one in a hundred training tokens, by
        `labels_`.
    """

    transition_prior: Annotated[str, StrOptions({"dirichlet", "hdp"})] = "dirichlet"
    gamma: LearnedConcentration = 1.0
    sticky: Annotated[float, Interval(Real, 0, LARGEST, closed="both")] = 0.0


class PlainTransitions(Parameters):
    """Rows of transitions that share nothing, where this cannot be chosen."""

    transition_prior: ClassVar[str] = "dirichlet"
    gamma: ClassVar[float | str] = 1.0
    sticky: ClassVar[float] = 0.0
    gamma_prior: ClassVar[tuple[float, float]] = (1.0, 1.0)


class Concentrations(Parameters):
    """Priors of transitions, emissions and starts.

    Parameters
    ----------
    alpha : float or "auto"
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto"
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    """

    alpha: LearnedConcentration = 0.1
    beta: LearnedConcentration = 0.1
    start_alpha: Annotated[float | None, Interval(Real, SMALLEST, LARGEST, closed="both"), None] = (
        None
    )


class GammaPriors(Parameters):
    """Priors of concentrations that are learned.

    Parameters
    ----------
    alpha_prior, beta_prior : tuple (shape, rate)
        Gamma priors of `alpha` and `beta` where they are "auto".
    gamma_prior : tuple (shape, rate)
        Gamma prior of `gamma` where it is "auto".
    """

    alpha_prior: GammaPrior = (1.0, 1.0)
    beta_prior: GammaPrior = (1.0, 1.0)
    gamma_prior: GammaPrior = (1.0, 1.0)


class PointEstimates(States, Emissions, Paths, PlainTransitions, Concentrations):
    """Groups of a hidden Markov model without a posterior.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every transition; 0 is maximum likelihood, 1e-10 to 1e10 maximum a
        posteriori in the softmax basis (adds alpha, not alpha - 1).
    beta : float
        Pseudo-count of every emission, 0 or 1e-10 to 1e10.
    start_alpha : float or None
        Pseudo-count of the start states, 0 or 1e-10 to 1e10; None for `alpha`.
    """

    alpha: PseudoCount = 0.0
    beta: PseudoCount = 0.0
    start_alpha: Annotated[float | None, Interval(Real, 0, None, closed="left"), None] = None
    alpha_prior: ClassVar[tuple[float, float]] = (1.0, 1.0)
    beta_prior: ClassVar[tuple[float, float]] = (1.0, 1.0)


class Posterior(States, Emissions, Paths, Transitions, Concentrations, GammaPriors):
    """Groups of a hidden Markov model with a posterior."""


class LeavingOut(Parameters):
    """What collapsed variational Bayes leaves out at a time.

    Parameters
    ----------
    update : {"sequence", "token"}
        What is left out and inferred from all the rest: a sequence at a time (the paper's
        Algorithm 2) or a token at a time (Algorithm 1).
    block_length : int or None
        With ``update="sequence"``: leave out windows of this many tokens instead of whole
        sequences, conditioned on the messages at their borders. For corpora of one or few long
        sequences.
    """

    update: Annotated[str, StrOptions({"sequence", "token"})] = "sequence"
    block_length: OptionalCount = None


class Drawing(Parameters):
    """What a sampler draws at a time.

    Parameters
    ----------
    update : {"token", "sequence", "parameter"} or None
        What is drawn at a time (Gao and Johnson 2008 compare all three); None for "token", and for
        "parameter" where states emit numbers. "token": each token's state given those of all
        others, parameters integrated out. "sequence": a path of each sequence from the weights of
        all others' counts, accepted or not (Metropolis), parameters integrated out. "parameter":
        all parameters given the states, then all states given the parameters. All three sample the
        same posterior.
    """

    update: Annotated[str | None, StrOptions({"token", "sequence", "parameter"}), None] = None


class Start(Parameters):
    """Where a fit starts, and what becomes of unknown words.

    Parameters
    ----------
    init : str, list of arrays or fitted model
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
    handle_unknown : {"error", "smooth", "rare"}
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    """

    init: Annotated[
        Any,
        StrOptions({"token", "word", "parameter", "unambiguous", "context", "merged", "kmeans"}),
        HasMethods("predict_proba"),
        "array-like",
        None,
    ] = None
    handle_unknown: UnknownWords = "smooth"


class Symbols(Parameters):
    """Which symbols are known.

    Parameters
    ----------
    vocabulary : collection or None
        The known symbols; None for those seen in `fit`.
    """

    vocabulary: KnownWords = None


class EMHMM(PointEstimates, Sweeps, Start, Batches, Symbols, BaseHMM):
    """Hidden Markov model learned by expectation-maximisation (Baum-Welch).

    Parameters
    ----------
    n_jobs : int or None
        Threads that run restarts and, if there are fewer of these, the sequences of each. The
        result does not depend on it.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts after the last E-step.
    startprob_, transmat_, emissionprob_ : ndarray
        Parameter estimates, shapes (n_components,), (n_components, n_components) and
        (n_components, n_symbols); rows sum to 1; the unknown item is the last symbol.
    labels_ : ndarray
        States of the training sequences: Viterbi paths under the final weights.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: eqs. 4-10.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
    >>> model = EMHMM(n_components=2, handle_unknown="error", n_init=3, random_state=0).fit(X)
    >>> model.transmat_.round(2).max(axis=1)
    array([1., 1.])
    >>> round(model.perplexity(X), 2)
    1.21
    """

    _no_posterior = "EM finds point estimates, fit VBHMM, CVBHMM or GibbsHMM for a posterior"

    partial_fit = partial_fit
    _algorithm = EM

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("alpha", "beta", "start_alpha"):
            check_concentrations(name, np.array(getattr(self, name) or 0.0), or_zero=True)


class VBHMM(Posterior, BoundedSweeps, Start, Batches, Symbols, BaseHMM):
    """Hidden Markov model learned by variational Bayes.

    Parameters
    ----------
    n_jobs : int or None
        Threads that run restarts and, if there are fewer of these, the sequences of each. The
        result does not depend on it.

    Attributes
    ----------
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

    partial_fit = partial_fit
    _algorithm = VB

    def lower_bound_samples(self, X: Any) -> np.ndarray:
        """Lower bound on the log predictive probability of each sequence (Beal 2003, eq. 3.84).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
            Nats per sequence; never above the log-likelihood averaged over the posterior.
        """
        log_z: np.ndarray = self._observed.read_again(self, learned_of(self), X).log_z()
        return log_z


class CVBHMM(Posterior, LeavingOut, LeaveOneOutSweeps, Start, Batches, Symbols, BaseHMM):
    """Hidden Markov model learned by collapsed variational Bayes.

    Parameters are integrated out, and the states of each sequence are inferred from the expected
    counts of all others: as accurate as sampling at the price of EM.

    Parameters
    ----------
    topology : {"full", "independent", "constant", "left-right"} or array
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts under the last posteriors.
    labels_ : ndarray
        States of the training sequences: at each token the one with the largest q(z_t).
    loo_score_ : float
        Mean over tokens of log p(x_i | expected counts of all other sequences), nats. A pseudo
        leave-one-out score: the other sequences' posteriors have seen x_i, so it is optimistic.
        Report it beside a held-out likelihood, not instead of one.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 3 (token) and eq. 25 (sequence).

    Examples
    --------
    >>> from sklearn_cvb import CVBHMM
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"], ["b", "a"]]
    >>> model = CVBHMM(n_components=2, n_init=5, random_state=0).fit(X)
    >>> states = model.predict(X)
    >>> bool((states[0][::2] == states[0][0]).all())
    True
    """

    partial_fit = partial_fit
    _algorithm = CVB

    @property
    def _left_out(self) -> LeftOut:
        """What is left out at a time."""
        return LeftOut(self.update, self.block_length)

    @property
    def _at_a_time(self) -> dict[str, Any]:  # type: ignore[override]
        return {"left_out": self._left_out}

    @property
    def _why_all_steps(self) -> str:  # type: ignore[override]
        if self.update != "token":
            return ""
        return (
            "update='token' infers tokens as if they were independent, which gives paths that "
            "topology rules out a probability: use update='sequence'"
        )

    def _cautions(self, problem: Any) -> tuple[str, ...]:
        """What is to be said where leaving out a sequence leaves little to learn from."""
        # With numbers windows are the rule.
        is_whole = self.update == "sequence" and self.block_length is None
        if not (isinstance(problem, Problem) and is_whole):
            return ()
        lengths = np.diff(problem.corpus.starts)
        longest = int(lengths.argmax())
        return (HALF_OF_ALL.format(longest),) if 2 * lengths[longest] > lengths.sum() else ()


class GibbsHMM(Posterior, Drawing, AnnealedChain, Start, Symbols, BaseHMM):
    """Hidden Markov model learned by Gibbs sampling.

    With `update="token"` a sweep draws the state of each token anew, given those of all others:
    from left to right where all tokens have equally many allowed states, else within every few
    thousand tokens those with two states first, then those with three, and so on. Any fixed order
    leaves the posterior invariant.

    Parameters
    ----------
    topology : {"full", "independent", "constant", "left-right"} or array
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.
    temperatures : tuple (first, last) or None
        Annealing: temperature moves linearly from first to last over all sweeps (Goldwater and
        Griffiths 2007). "token" raises the conditional of every token to the power 1/temperature;
        "sequence" raises the weights of the proposals and what they are accepted by; both sample
        p(z | x) to that power. "parameter" divides the parameters of the Dirichlets by temperature
        and raises the weights of the states to 1/temperature: p(z, theta | x) over log theta to
        that power. None is 1 throughout, which samples the posterior.

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
    objective_ : float
        Mean of log p(x, z | alpha, beta) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, z | alpha, beta) after every sweep (nats).
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

    # What is drawn at a time
    _algorithm = chain_of

    @property
    def _update(self) -> str:
        update: str = self._observed.default_update if self.update is None else self.update
        return update

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_temperatures(self.temperatures)

    @property
    def _why_all_steps(self) -> str:  # type: ignore[override]
        if self._update != "token":
            return ""
        return (
            "update='token' moves one token at a time, which cannot reach every path that "
            "topology allows: use update='sequence'"
        )

    @property
    def _at_a_time(self) -> dict[str, Any]:  # type: ignore[override]
        coldest = None if self.temperatures is None else min(self.temperatures)
        return {"resampled": self._update, "coldest": coldest}

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
