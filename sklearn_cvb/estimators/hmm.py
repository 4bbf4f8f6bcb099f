"""Hidden Markov models: a class for each algorithm."""

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from sklearn_cvb.certainty.chain_diagnostics import ChainDiagnostics
from sklearn_cvb.certainty.chains import Confidence, Uncertainty
from sklearn_cvb.chain.options import EstimatorKind
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.predictions.traces import ChainSamples, refuse_without_posterior, traces_of
from sklearn_cvb.estimators.annexes import Annexes
from sklearn_cvb.estimators.base_hmm import (
    BaseHMM,
    DrawingFields,
    PointEstimateFields,
    PosteriorFields,
    StartFields,
)
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.parameters import (
    AcceleratedFields,
    BoundedSweepFields,
    LeaveOneOutSweepFields,
    SamplerFields,
    UpdateFields,
    expectation_maximisation,
    gibbs_sampler,
    variational_bayes,
)
from sklearn_cvb.estimators.sample_weights import SampleWeights
from sklearn_cvb.faces.hmm import JSONFace, KnownParameters
from sklearn_cvb.learning.algorithms import CVB
from sklearn_cvb.learning.learned import FitOutcome, FitResult, Learned
from sklearn_cvb.reading.validation import StrOptions
from sklearn_cvb.scale.hmm import BeyondMemory
from sklearn_cvb.settings import Windows
from sklearn_cvb.streams.hmm import HMMInBatches

# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01


class HMM(Uncertainty, JSONFace, Annexes, BeyondMemory, BaseHMM):
    """What `BaseHMM` does, and what hangs above the line."""


class EMHMM(
    Confidence,
    KnownParameters,
    PointEstimateFields,
    UpdateFields,
    AcceleratedFields,
    StartFields,
    SampleWeights,
    HMMInBatches,
    HMM,
):
    """Hidden states of symbols or numbers, by maximum likelihood (expectation-maximisation).

    Not where there is little data for each state: nothing holds it back from fitting noise, and
    `VBHMM` and `CVBHMM` predict better. `alpha` and `beta` above 0 help.

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
    >>> from sklearn_cvb import EMHMM, Symbols
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
    >>> known = Symbols(handle_unknown="error")
    >>> model = EMHMM(n_components=2, emission=known, n_init=3, random_state=0).fit(X)
    >>> model.transmat_.round(2).max(axis=1)
    array([1., 1.])
    >>> round(model.perplexity(X), 2)
    1.21
    """

    # States that differ little are told apart late.
    max_iter = 1000

    _no_posterior = (
        "EM finds point estimates, fit VBHMM, CVBHMM or GibbsHMM for a posterior, or see "
        "confidence_intervals"
    )

    _algorithm = expectation_maximisation

    def transmat_of(self, inputs: Any) -> np.ndarray:
        """Transitions into each step of a sequence with these inputs (``Transitions(inputs=...)``).

        Parameters
        ----------
        inputs : DataFrame or array of shape (n_steps, n_inputs)
            Frames may have other columns, too.

        Returns
        -------
        ndarray of shape (n_steps, n_components, n_components)
            Rows sum to 1.

        Raises
        ------
        ValueError
            If transitions depend on no inputs, or some are missing.
        """
        from sklearn_cvb.chain.numbers.input_transitions import tables_under

        learned = learned_of(self)
        return tables_under(learned.extra.numeric, learned.layout.n_states, inputs)


class VBHMM(PosteriorFields, BoundedSweepFields, StartFields, SampleWeights, HMMInBatches, HMM):
    """Hidden states of symbols or numbers, and a bound to compare models by (variational Bayes).

    Not where little data must do: `CVBHMM` predicts better there. Its credible intervals are too
    narrow unless they are given the data.

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

    # States that differ little are told apart late.
    max_iter = 1000

    _algorithm = variational_bayes

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
        return self._read_weighted(learned_of(self), X).log_z()


class CVBHMM(PosteriorFields, LeaveOneOutSweepFields, StartFields, HMMInBatches, HMM):
    """Hidden states of symbols or numbers, by collapsed variational Bayes: where to begin.

    Not to compare models by their evidence: its scores are no bound on it, as that of `VBHMM` is.
    Not for a single short sequence either, as it leaves out what it infers.

    Parameters are integrated out, and the states of each sequence are inferred from the expected
    counts of all others: as accurate as sampling at the price of EM.

    Parameters
    ----------
    update : {"sequence", "token"}, Windows or None
        What is left out and inferred from all the rest: a sequence at a time (the paper's
        Algorithm 2), a token at a time (Algorithm 1), or ``Windows(length)`` of a sequence. None is
        "sequence", or windows of up to 100 steps where one long sequence holds most of all.

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

    update: Annotated[str | Windows | None, StrOptions({"sequence", "token"}), Windows, None] = None

    # States that differ little are told apart late.
    max_iter = 1000

    _algorithm = CVB

    _kind_of_chain = EstimatorKind(
        why_all_steps="update='token' infers tokens as if they were independent, which gives paths "
        "that topology rules out a probability: use update='sequence'"
    )


class GibbsHMM(ChainDiagnostics, PosteriorFields, DrawingFields, SamplerFields, StartFields, HMM):
    """Samples of the posterior of hidden states and of their parameters (Gibbs sampling).

    Not where time counts: a fit takes about ten times as long as one of `CVBHMM`, and a single
    chain says little of how far it has come (see `convergence`).

    With `update="token"` a sweep draws the state of each token again, given those of all others:
    from left to right where all tokens have equally many allowed states, else within every few
    thousand tokens those with two states first, then those with three, and so on. Any fixed order
    leaves the posterior invariant.

    Parameters
    ----------
    samples : Samples or None
        Which samples are kept, and at which temperatures they are drawn; None samples the posterior
        throughout, taggers anneal from 2 to 0.08. With annealing "token" raises the conditional of
        every token to the power 1/temperature; "sequence" raises the weights of the proposals and
        what they are accepted by; both sample p(z | x) to that power. "parameter" divides the
        parameters of the Dirichlets by temperature and raises the weights of the states to
        1/temperature: p(z, theta | x) over log theta to that power.

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
        after burn-in. None with annealing.

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
    _algorithm = gibbs_sampler

    _kind_of_chain = EstimatorKind(
        why_all_steps="update='token' moves one token at a time, which cannot reach every path "
        "that topology allows: use update='sequence'",
        usual_samples=SamplerFields._usual_samples,
    )

    # What a chain leaves

    _interval_methods = ("samples",)

    def _family_outcome(self, result: FitResult) -> FitOutcome:
        outcome, (best, fits, _, algorithm, model, _) = super()._family_outcome(result), result
        sampled, rate = model.chain_samples(best.state)
        if algorithm.temperatures is None:
            n_burn_in = algorithm.first_kept(fits[0].state.work.n_planned)
            chains = traces_of(fits, n_burn_in)
            sampled = sampled._replace(chains=chains)
        learned, attributes = outcome.learned, {"acceptance_rate_": rate, "chains_": sampled.chains}
        why = ""
        if rate < _LOW_ACCEPTANCE:
            why = (
                f"only {100 * rate:.2g} % of the proposals were accepted: long sequences hardly "
                "move with update='sequence'; use 'token' or 'parameter'"
            )
        return FitOutcome(
            learned._replace(extra=learned.extra._replace(samples=sampled)),
            outcome.attributes | attributes,
            (why,) if why else (),
        )

    @property
    def samples_(self) -> np.ndarray | None:
        """Sampled states of all training tokens."""
        return learned_of(self).extra.samples.paths

    def _samples(self, learned: Learned) -> Iterable[tuple[HMMCounts, ChainPrior]] | None:
        sampled: ChainSamples = learned.extra.samples
        return None if sampled.paths is None else sampled.posteriors()

    def _posteriors(self, learned: Learned) -> Iterable[tuple[HMMCounts, ChainPrior]]:
        sampled: ChainSamples = learned.extra.samples
        refuse_without_posterior(
            sampled, self._checked_samples().temperatures, "credible_intervals"
        )
        return sampled.posteriors()

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
        if self._checked_samples().temperatures is not None:
            raise ValueError(
                "perplexity averages over samples of the posterior (eq. 28): fit with "
                "samples=Samples(); score uses averaged parameters with any temperatures"
            )
        return super().perplexity(X, per)
