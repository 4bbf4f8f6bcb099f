"""Word alignment by hidden Markov models: a class for each algorithm."""

from typing import ClassVar

import numpy as np

from sklearn_cvb.estimators.annexes import Annexes
from sklearn_cvb.estimators.base_alignment import AlignmentFields, BaseAlignmentHMM, PairFields
from sklearn_cvb.estimators.parameters import (
    BoundedSweepFields,
    LeaveOneOutSweepFields,
    PseudoCount,
    SamplerFields,
    SweepFields,
    UpdateFields,
    expectation_maximisation,
    gibbs_sampler,
)
from sklearn_cvb.learning.algorithms import CVB, VB
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.validation import check_concentrations


class AlignmentHMM(Annexes, BaseAlignmentHMM):
    """What `BaseAlignmentHMM` does, and what hangs above the line."""


class EMAlignmentHMM(AlignmentFields, UpdateFields, SweepFields, PairFields, AlignmentHMM):
    """Word alignment by a hidden Markov model learned by expectation-maximisation.

    Not for the best links: `CVBAlignmentHMM` finds more, as no prior keeps rare words here from
    taking the links of all that stand beside them.

    Learns from sentence pairs which source word each target word translates. The states of a pair
    are the positions of its source sentence, and twins of these for target words that have no
    source; the probability of a jump from one to the next depends on its length alone.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every jump; 0 is maximum likelihood, above 0 maximum a posteriori in the
        softmax basis (adds alpha, not alpha - 1).
    beta : float
        The same for every target word as a translation of every source word.

    Attributes
    ----------
    objective_ : float
        Log-likelihood plus the sum of pseudo-counts times log probabilities (nats), before the last
        update of the counts. It never falls.

    References
    ----------
    Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation", COLING.
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.

    Examples
    --------
    >>> from sklearn_cvb import EMAlignmentHMM
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> model = EMAlignmentHMM().fit(X)
    >>> model.lexicon_.translations("house", 1)[0][0]
    'casa'
    """

    alpha: PseudoCount = 0.0
    beta: PseudoCount = 0.0
    max_iter = 10

    _algorithm = expectation_maximisation

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("alpha", "beta"):
            check_concentrations(name, np.array(getattr(self, name)), or_zero=True)


class VBAlignmentHMM(AlignmentFields, BoundedSweepFields, PairFields, AlignmentHMM):
    """Word alignment by a hidden Markov model learned by variational Bayes.

    Not for the best links: with the usual small `beta` rare words win far too many, and it mostly
    falls behind EM.

    Alignments and probabilities are taken as independent given the pairs, and a lower bound of the
    evidence is raised. With the usual small `beta` rare words win all too many links; see the page
    on alignment.

    Attributes
    ----------
    objective_ : float
        `lower_bound_`.
    history_ : ndarray of shape (n_iter_,)
        The bound after every sweep (nats).
    lower_bound_ : float
        The bound of log p(target words | source words) (nats).

    References
    ----------
    Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation", COLING.
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.

    Examples
    --------
    >>> from sklearn_cvb import VBAlignmentHMM
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> model = VBAlignmentHMM().fit(X)
    >>> model.lexicon_.translations("house", 1)[0][0]
    'casa'
    """

    max_iter = 100

    accelerate: ClassVar[bool] = False  # type: ignore[misc]

    _algorithm = VB


class CVBAlignmentHMM(AlignmentFields, LeaveOneOutSweepFields, PairFields, AlignmentHMM):
    """Word alignment by a hidden Markov model learned by collapsed variational Bayes.

    Not alone where both languages may have several words for one: each target word gets one source
    word at most. Fit both directions (`fit_agreeing`) and join them.

    Learns from sentence pairs which source word each target word translates. Probabilities are
    integrated out, and the alignment of each pair is inferred from the expected counts of all
    others.

    Attributes
    ----------
    counts_ : AlignmentCounts
        Expected counts under the last posteriors.
    link_proba_ : ndarray
        Link posteriors of the training pairs, in the form that `predict_proba` gives, float32: the
        last Q(a_i), each from the counts of all other pairs.
    history_ : ndarray of shape (n_iter_,)
        Leave-one-out score of every sweep while counts move (nats per target word): it may fall.
    loo_score_ : float
        Mean over target words of log p(f_i | expected counts of all other pairs), nats. A pseudo
        leave-one-out score: the other pairs' posteriors have seen f_i, so it is optimistic.

    References
    ----------
    Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation", COLING.
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS.

    Examples
    --------
    >>> from sklearn_cvb import CVBAlignmentHMM
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> model = CVBAlignmentHMM().fit(X)
    >>> model.lexicon_.translations("house", 1)[0][0]
    'casa'
    """

    max_iter = 100

    _algorithm = CVB
    _in_place_of_leaving_out = "use VBAlignmentHMM"


class GibbsAlignmentHMM(AlignmentFields, SamplerFields, PairFields, AlignmentHMM):
    """Word alignment by a hidden Markov model learned by a collapsed sampler over whole pairs.

    Not where time counts: its links are hardly better than those of `CVBAlignmentHMM`, at about ten
    times the time.

    Probabilities are integrated out. The alignment of each pair is proposed from the posterior
    means given all other pairs, and accepted or rejected (Hastings) so that the samples follow the
    exact posterior.

    Attributes
    ----------
    counts_ : AlignmentCounts
        Mean counts of the kept samples.
    link_proba_ : ndarray
        Link posteriors of the training pairs, in the form that `predict_proba` gives, float32: how
        often the kept samples have each link.
    objective_ : float
        Mean of log p(x, a | alpha, beta) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, a | alpha, beta) of the sample after every sweep (nats).
    acceptance_rate_ : float
        Share of proposed alignments that were accepted, over all sweeps.

    References
    ----------
    Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation", COLING.
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT, for the Hastings step.

    Examples
    --------
    >>> from sklearn_cvb import GibbsAlignmentHMM, Samples
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> model = GibbsAlignmentHMM(samples=Samples(thin=1), max_iter=50, random_state=0).fit(X)
    >>> model.lexicon_.translations("house", 1)[0][0]
    'casa'
    """

    max_iter = 200
    _algorithm = gibbs_sampler
    _can_anneal = False

    def _why_one_restart(self, reading: Reading) -> str:
        """Nothing: chains differ wherever they begin."""
        return ""
