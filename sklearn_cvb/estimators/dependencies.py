"""Dependency models with valence: a class for each algorithm."""

from numbers import Real
from typing import Annotated

import numpy as np

from sklearn_cvb.certainty.dependencies import DependencyUncertainty
from sklearn_cvb.estimators.annexes import Annexes
from sklearn_cvb.estimators.base_dependencies import BaseDMV, DependencyFields, TaggedSentenceFields
from sklearn_cvb.estimators.parameters import (
    AcceleratedFields,
    BoundedSweepFields,
    LeaveOneOutSweepFields,
    PseudoCount,
    SamplerFields,
    UpdateFields,
    expectation_maximisation,
    gibbs_sampler,
    variational_bayes,
)
from sklearn_cvb.learning.algorithms import CVB
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.validation import Interval, InvalidParameterError, check_concentrations
from sklearn_cvb.settings import Valence, gamma_prior_of

# Powers of weights at lower ones are below float64.
_LOWEST_TEMPERATURE = 0.1


class DMV(Annexes, BaseDMV):
    """What `BaseDMV` does, and what hangs above the line."""


class EMDMV(DependencyFields, UpdateFields, AcceleratedFields, TaggedSentenceFields, DMV):
    """Dependencies of raw tags, by a model with valence and expectation-maximisation.

    Not for fine tags: with many of them `VBDMV` and `CVBDMV` find more heads. No model here
    replaces a parser learned from a treebank, which finds far more.

    Learns from sentences of tags, or words, which token depends on which: each token chooses its
    children on either side from the nearest to the farthest, and before each whether to stop.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every attachment of one tag to another or to the root; 0 is maximum
        likelihood, above 0 maximum a posteriori in the softmax basis (adds alpha, not alpha - 1).
    temperature : float
        Hardens the E-step: trees have their posterior to the power 1 / temperature, 0.1 to 1, and
        `arc_weights` are a part of it. What would be 0 is ``update="viterbi"``.
    update : {"batch", "viterbi"}
        What a sweep counts: all trees, as often as they are expected, or the heaviest tree of each
        sentence alone: Viterbi training (Spitkovsky et al. 2010), in which `alpha` above 0 keeps
        alive what these trees lack.

    Attributes
    ----------
    objective_ : float
        Log-likelihood plus the sum of pseudo-counts times log probabilities (nats), before the last
        update of the counts. With "viterbi" the log probability of the heaviest trees stands for
        the likelihood, with a `temperature` below 1 a sum between the two. With `arc_weights` they
        are parts of the weights of trees, at any temperature. It never falls.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL, 4.2.
    Spitkovsky, Alshawi, Jurafsky and Manning (2010), "Viterbi training improves unsupervised
    dependency parsing", CoNLL.
    Eisner (1996) for the chart.

    Examples
    --------
    >>> from sklearn_cvb import EMDMV
    >>> text = ["DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB", "PRON VERB NOUN"]
    >>> X = [tags.split() for tags in text]
    >>> model = EMDMV(arc_weights="ud").fit(X)
    >>> print(model.predict([["DET", "NOUN", "VERB"]])[0])
    [2 3 0]
    """

    alpha: PseudoCount = 0.0
    temperature: Annotated[float, Interval(Real, 0, 1, closed="both")] = 1.0

    _algorithm = expectation_maximisation

    def _is_accelerated(self) -> bool:
        # At temperatures that change from fit to fit no value is one to keep up with.
        return super()._is_accelerated() and self.temperature == 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = {"alpha": self.alpha, "alpha_stop": Valence.of(self.valence).alpha_stop}
        for name, value in given.items():
            if gamma_prior_of(value) is not None:
                raise InvalidParameterError(f"EM learns no concentration: give {name} a number")
            check_concentrations(name, np.array(value or 0.0), or_zero=True)
        least = 1.0 if self.update == "viterbi" else _LOWEST_TEMPERATURE
        if self.temperature < least:
            raise InvalidParameterError(
                f"with update={self.update!r} temperature must be {least} or more, up to 1, got "
                f"{self.temperature}: 0 would be 'viterbi', the heaviest trees alone"
            )


class VBDMV(DependencyUncertainty, DependencyFields, BoundedSweepFields, TaggedSentenceFields, DMV):
    """Dependencies of raw tags, by a model with valence and variational Bayes.

    Not without a look at `CVBDMV`: which of them finds more heads depends on the language. No model
    here replaces a parser learned from a treebank, which finds far more.

    Trees and probabilities are taken as independent given the sentences, and a lower bound of the
    evidence is raised.

    Attributes
    ----------
    labels_ : ndarray
        Heads of the training sentences, in the form that `predict` gives: those of
        the Viterbi trees under the exp-digamma weights of the final counts.
    objective_ : float
        Lower bound of the log evidence (nats), before the last update of the counts; with
        `arc_weights`, of the log of the summed weights.
    history_ : ndarray of shape (n_iter_,)
        The bound of every sweep; it never falls.
    lower_bound_ : float
        `objective_`.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL, 2.2, 4.2.
    Eisner (1996) for the chart.

    Examples
    --------
    >>> from sklearn_cvb import VBDMV
    >>> text = ["DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB", "PRON VERB NOUN"]
    >>> X = [tags.split() for tags in text]
    >>> model = VBDMV(arc_weights="ud").fit(X)
    >>> bool(model.lower_bound_ == model.history_[-1])
    True
    >>> print(model.predict([["DET", "NOUN", "VERB"]])[0])
    [2 3 0]
    """

    _algorithm = variational_bayes


class CVBDMV(
    DependencyUncertainty, DependencyFields, LeaveOneOutSweepFields, TaggedSentenceFields, DMV
):
    """Dependencies of raw tags, by a model with valence and collapsed variational Bayes.

    Not without a look at `VBDMV`: which of them finds more heads depends on the language. No model
    here replaces a parser learned from a treebank, which finds far more.

    Probabilities are integrated out, and the trees of each sentence are inferred from the expected
    counts of all others.

    Attributes
    ----------
    counts_ : DMVCounts
        Expected counts under the last posteriors.
    labels_ : ndarray
        Heads of the training sentences, in the form that `predict` gives: those of
        each sentence's Viterbi tree under its last Q(t_i)'s weights, from the counts of all others.
    loo_score_ : float
        Mean over tokens of log p(x_i | expected counts of all other sentences), nats. A pseudo
        leave-one-out score: the other sentences' posteriors have seen x_i, so it is optimistic.
        With `arc_weights` the log of the summed weights of trees stands for log p.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL, figure 3.
    Eisner (1996) for the chart.

    Examples
    --------
    >>> from sklearn_cvb import CVBDMV
    >>> text = ["DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB", "PRON VERB NOUN"]
    >>> X = [tags.split() for tags in text]
    >>> model = CVBDMV(arc_weights="ud").fit(X)
    >>> print(model.predict([["DET", "NOUN", "VERB"]])[0])
    [2 3 0]
    """

    _algorithm = CVB

    _in_place_of_leaving_out = "use VBDMV"


class GibbsDMV(DependencyFields, SamplerFields, TaggedSentenceFields, DMV):
    """Dependencies of raw tags, by a model with valence and a collapsed sampler of trees.

    Not with a single chain, which is a lottery: heads found differ by dozens of points between
    seeds, and the objective does not tell which chain is good.

    Probabilities are integrated out. The tree of each sentence is proposed from the posterior means
    given all other trees, and accepted or rejected (Hastings) so that the samples follow the exact
    posterior.

    Attributes
    ----------
    counts_ : DMVCounts
        Mean counts of the kept samples.
    objective_ : float
        Mean of log p(x, t | alpha) over the last tenth of the sweeps (nats); the logs of
        `arc_weights` of these trees are added, here and in `history_`.
    labels_ : ndarray
        Heads of the training sentences, in the form that `predict` gives: the tree
        sampled most often in the last tenth of the sweeps.
    acceptance_rate_ : float
        Share of proposed trees that were accepted, over all sweeps.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT.
    Eisner (1996) for the chart.

    Examples
    --------
    >>> from sklearn_cvb import GibbsDMV
    >>> text = ["DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB", "PRON VERB NOUN"]
    >>> X = [tags.split() for tags in text]
    >>> model = GibbsDMV(arc_weights="ud", max_iter=200, random_state=0).fit(X)
    >>> bool(0.5 < model.acceptance_rate_ <= 1)
    True
    """

    _algorithm = gibbs_sampler

    def _why_one_restart(self, reading: Reading) -> str:
        """Nothing: chains differ wherever they begin."""
        return ""
