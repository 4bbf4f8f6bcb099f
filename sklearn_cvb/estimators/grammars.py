"""Probabilistic context-free grammars: a class for each algorithm."""

from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.certainty.grammars import GrammarUncertainty
from sklearn_cvb.estimators.annexes import Annexes
from sklearn_cvb.estimators.base_grammars import BasePCFG, RuleFields, SentenceFields
from sklearn_cvb.estimators.door import setting_of
from sklearn_cvb.estimators.parameters import (
    AcceleratedFields,
    BoundedSweepFields,
    LeaveOneOutSweepFields,
    SamplerFields,
    expectation_maximisation,
    gibbs_sampler,
    variational_bayes,
)
from sklearn_cvb.grammar.grammar import grammar_from
from sklearn_cvb.grammar.layout import GrammarOptions, lay_out
from sklearn_cvb.grammar.model import PCFGCounts
from sklearn_cvb.grammar.observation import attributes_of
from sklearn_cvb.learning.algorithms import CVB, EM
from sklearn_cvb.learning.learned import FitOutcome, Learned, Reading
from sklearn_cvb.reading.validation import Interval
from sklearn_cvb.scale.pcfg import GrammarOnWorkers
from sklearn_cvb.streams.grammar_stream import GrammarStream
from sklearn_cvb.streams.grammars import GrammarInBatches, StepwiseUpdateFields
from sklearn_cvb.streams.stepwise import StepwiseEM, StepwisePace


class PCFG(Annexes, GrammarOnWorkers, BasePCFG):
    """What `BasePCFG` does, and what hangs above the line."""


class EMPCFG(
    RuleFields, StepwiseUpdateFields, GrammarInBatches, AcceleratedFields, SentenceFields, PCFG
):
    """Context-free grammar learned by expectation-maximisation (inside-outside).

    Not with many rules for few sentences: without a prior new sentences may have probability 0.
    Where `n_components` is all that is given, trees of real text are hardly better than
    right-branching ones, with any algorithm.

    Parameters
    ----------
    alpha : float, dict or array-like of shape (n_rules,)
        Pseudo-count of every rule; 0 is maximum likelihood, 1e-10 to 1e10 maximum a posteriori in
        the softmax basis (adds alpha, not alpha - 1). A dict has one value per symbol, an array one
        per rule, in the order of ``rules_.rules``.

    Attributes
    ----------
    counts_ : PCFGCounts
        Expected counts after the last E-step; with "sequence" the running counts.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Estimates; they sum to 1 over the rules of a symbol.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: Viterbi trees under the
        final weights.
    objective_ : float
        Log-likelihood plus the sum of pseudo-counts times log probabilities (nats), before the last
        update of the counts; with "sequence" under the final weights.
    history_ : ndarray of shape (n_iter_,)
        The objective of every sweep; with "sequence" from the likelihood of each sentence under
        the weights it met, which may fall.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL:
    section 2.2;
    Pereira and Schabes (1992) for known brackets;
    Liang and Klein (2009), "Online EM for unsupervised models", NAACL-HLT, for "sequence".

    Examples
    --------
    >>> from sklearn_cvb import EMPCFG
    >>> X = [["they", "saw", "ducks"], ["they", "saw"], ["ducks", "swim"]]
    >>> text = '''
    ... S -> N V | N V N
    ... N -> 'they' | 'ducks'
    ... V -> 'saw' | 'swim'
    ... '''
    >>> model = EMPCFG(text, random_state=0).fit(X)
    >>> print(model.grammar_)
    Grammar with 6 productions (start state = S)
        S -> N V [0.666667]
        S -> N V N [0.333333]
        N -> 'they' [0.5]
        N -> 'ducks' [0.5]
        V -> 'saw' [0.666667]
        V -> 'swim' [0.333333]
    >>> print(model.predict([["they", "swim"]])[0])
    (S (N they) (V swim))
    """

    alpha: Annotated[
        float | dict[Any, Any] | ArrayLike,
        Interval(Real, 0, None, closed="left"),
        dict,
        "array-like",
    ] = 0.0

    _zero_alpha = True

    @classmethod
    def from_parameters(cls, grammar: Any, *, handle_unknown: str = "error") -> Self:
        """A fitted model that has the probabilities of a grammar, without a fit.

        It parses, scores and samples; what only a fit tells, such as `history_`, it lacks. A later
        `fit` starts from these probabilities.

        Parameters
        ----------
        grammar : str, nltk.PCFG, Grammar or list of trees
            With probabilities; of trees the relative frequencies of their rules.
        handle_unknown : {"error", "smooth", "rare"}, default="error"
            As of the class.

        Returns
        -------
        EMPCFG

        Raises
        ------
        ValueError
            If the grammar has no probabilities, or those of a symbol do not sum to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_cvb import EMPCFG
        >>> model = EMPCFG.from_parameters("S -> S S [0.4] | 'a' [0.6]")
        >>> print(model.predict([["a", "a"]])[0])
        (S (S a) (S a))
        >>> float(np.exp(model.score_samples([["a", "a"]])).round(3)[0])
        0.144
        """
        known = grammar_from(grammar)
        known.with_fixed(known.symbols)  # where all probabilities are there and sum to 1
        model = cls(known, init="grammar", handle_unknown=handle_unknown)
        words, layout = lay_out(model._options(), None)
        kept, nothing = np.array(known.probabilities), np.zeros(len(layout.lhs))
        learned = Learned(words, layout, nothing, kept, fallback=kept)
        attributes = {
            "counts_": PCFGCounts(kept),
            "alpha_": 0.0,
            "unexplained_": np.empty(0, np.intp),
            **attributes_of(words, layout),
        }
        model._set_fitted(FitOutcome(learned, attributes), Reading(None, words, {}))
        return model

    def _algorithm(self) -> EM:
        if isinstance(self.update, str) and self.update in ("batch", "viterbi"):
            return expectation_maximisation(self)
        decay = setting_of(self, "step_sizes").decay
        pace = StepwisePace(setting_of(self, "update").size, 0.7 if decay is None else float(decay))
        return StepwiseEM(pace, GrammarStream)

    def _algorithm_of_batches(self) -> EM:
        """Plain EM: a batch is inferred at once, whatever `update` says of a fit."""
        return EM()


class VBPCFG(
    GrammarUncertainty, RuleFields, BoundedSweepFields, SentenceFields, GrammarInBatches, PCFG
):
    """Context-free grammar learned by variational Bayes, with a bound to compare grammars by.

    Not for sparse priors, where `CVBPCFG` leaves more probability for new sentences. Where
    `n_components` is all that is given, trees of real text are hardly better than right-branching
    ones.

    Attributes
    ----------
    lower_bound_ : float
        `objective_`.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL:
    section 2.2.
    Kurihara and Sato (2006), "Variational Bayesian grammar induction for natural language".

    Examples
    --------
    >>> from sklearn_cvb import VBPCFG
    >>> X = [["a", "a", "b", "b"], ["a", "b"], ["a", "a", "a", "b", "b", "b"]]
    >>> model = VBPCFG("S -> 'a' S 'b' | 'a' 'b' | S S", random_state=0).fit(X)
    >>> bool(model.lower_bound_ == model.history_[-1])
    True
    >>> print(model.predict([["a", "a", "b", "b"]])[0])
    (S a (S a b) b)
    """

    _algorithm = variational_bayes


class CVBPCFG(
    GrammarUncertainty, RuleFields, LeaveOneOutSweepFields, SentenceFields, GrammarInBatches, PCFG
):
    """Context-free grammar learned by collapsed variational Bayes: where to begin.

    Not for trees of real text from `n_components` alone, which are hardly better than
    right-branching ones with any algorithm: give rules, or learn from trees by `CVBLatentPCFG`. Its
    scores are no bound of the evidence.

    Probabilities are integrated out, and the trees of each sentence are inferred from the expected
    counts of all others: as accurate as sampling at the price of EM.

    Attributes
    ----------
    counts_ : PCFGCounts
        Expected counts under the last posteriors.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: each sentence's Viterbi
        tree under its last Q(t_i)'s weights, from the counts of all other sentences.
    loo_score_ : float
        Mean over tokens of log p(x_i | expected counts of all other sentences), nats. A pseudo
        leave-one-out score: the other sentences' posteriors have seen x_i, so it is optimistic.
        Report it beside a held-out likelihood, not instead of one.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL:
    figure 3.

    Examples
    --------
    >>> from sklearn_cvb import CVBPCFG
    >>> verbs = ["ngihamba", "uhamba", "ngifunda", "ufunda", "ngibona", "ubona"]
    >>> X = [list(verb) for verb in verbs]
    >>> text = '''
    ... Verb -> Prefix Stem
    ... Prefix -> 'n' 'g' 'i' | 'u' | 'n' 'g'
    ... Stem -> 'h' 'a' 'm' 'b' 'a' | 'f' 'u' 'n' 'd' 'a' | 'b' 'o' 'n' 'a' | 'i' 'b' 'o' 'n' 'a'
    ... '''
    >>> model = CVBPCFG(text, alpha=0.01, random_state=0).fit(X)
    >>> print(model.predict([list("ngibona")])[0])
    (Verb (Prefix n g i) (Stem b o n a))
    """

    _algorithm = CVB

    _in_place_of_leaving_out = "use VBPCFG"


class HastingsPCFG(RuleFields, SamplerFields, SentenceFields, PCFG):
    """Context-free grammar learned by a collapsed Hastings sampler: samples of the posterior.

    Not where time counts: it takes hundreds of sweeps where `CVBPCFG` takes twenty, and with a
    sparse prior it stays near its start unless it is annealed.

    Probabilities are integrated out. The tree of each sentence is proposed from the posterior means
    given all other trees, and accepted or rejected so that the samples follow the exact posterior.

    Parameters
    ----------
    samples : Samples or None
        Which samples are kept, and at which temperatures they are drawn. Above 1 the grammar must
        have no cycle of unary rules.

    Attributes
    ----------
    counts_ : PCFGCounts
        Mean counts of the kept samples.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Mean over the kept samples of the posterior means given the sample.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: the trees sampled most
        often in the last tenth of the sweeps.
    acceptance_rate_ : float
        Share of proposed trees that were accepted, over all sweeps.

    References
    ----------
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT.

    Examples
    --------
    >>> from sklearn_cvb import HastingsPCFG
    >>> X = [["a", "a", "a"], ["a", "a"], ["a", "a", "a", "a"]]
    >>> model = HastingsPCFG("S -> S S | 'a'", max_iter=200, random_state=0).fit(X)
    >>> bool(0.9 < model.acceptance_rate_ <= 1)
    True
    >>> print(model.predict([["a", "a"]])[0])
    (S (S a) (S a))
    """

    _algorithm = gibbs_sampler

    def _options(self, to_fit: bool = True) -> GrammarOptions:
        options = super()._options(to_fit)
        return (
            options._replace(temperatures=self._checked_samples().temperatures)
            if to_fit
            else options
        )


class GibbsPCFG(RuleFields, SamplerFields, SentenceFields, PCFG):
    """Context-free grammar learned by Gibbs sampling with explicit probabilities.

    Not as the first choice among samplers: `HastingsPCFG`, which integrates the probabilities out,
    mixes faster.

    Draws all probabilities given the trees, then all trees given the probabilities: exact, but it
    mixes more slowly than `HastingsPCFG`, which integrates the probabilities out.

    Attributes
    ----------
    counts_ : PCFGCounts
        Mean counts of the kept samples.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Mean over the kept samples of the posterior means given the sample.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: the trees sampled most
        often in the last tenth of the sweeps.

    References
    ----------
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT: section 3.

    Examples
    --------
    >>> from sklearn_cvb import GibbsPCFG
    >>> X = [["a", "a", "b", "b"], ["a", "b"], ["a", "b", "a", "b"]]
    >>> model = GibbsPCFG("S -> 'a' S 'b' | 'a' 'b' | S S", max_iter=200, random_state=0).fit(X)
    >>> print(model.labels_[2])
    (S (S a b) (S a b))
    """

    _algorithm = gibbs_sampler
    _can_anneal = False

    _draws_probabilities = True
