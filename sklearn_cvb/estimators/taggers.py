"""Taggers: hidden Markov models whose states are tags, given by a dictionary and by labels."""

from typing import ClassVar

from sklearn_cvb.estimators.base_taggers import BaseHMMTagger, tagger_kind
from sklearn_cvb.estimators.hmm import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.estimators.word_review import WordReview
from sklearn_cvb.scale.hmm import TaggerBeyondMemory
from sklearn_cvb.settings import Samples


class HMMTagger(WordReview, TaggerBeyondMemory, BaseHMMTagger):
    """What `BaseHMMTagger` does, and what hangs above the line."""

    # A dictionary leaves so little open that sweeps are few, and with more of them EM tags worse.
    accelerate: ClassVar[bool] = False


class EMHMMTagger(HMMTagger, EMHMM):
    """Tagger learned by expectation-maximisation from raw text, a dictionary and any labels.

    Not for raw text with a plain dictionary: `VBHMMTagger` and `CVBHMMTagger`, which have a prior,
    are more accurate there. Restarts (`n_init`) raise the likelihood, not the accuracy.

    On fully labelled sentences this is supervised maximum likelihood.

    `sklearn_cvb.display.TaggedSentence` shows what it makes of a sentence.

    Attributes
    ----------
    labels_ : ndarray
        Tags of the training sequences: Viterbi paths under the final weights.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: eqs. 4-10.

    Examples
    --------
    >>> from sklearn_cvb import EMHMMTagger
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = EMHMMTagger(legal, random_state=0).fit(X)
    >>> tagger.predict([["the", "duck", "swims"]])[0].tolist()
    ['DT', 'NN', 'VB']
    """

    _kind_of_chain = tagger_kind(EMHMM._kind_of_chain)
    max_iter = 100
    tol = 0.01


class VBHMMTagger(HMMTagger, VBHMM):
    """Tagger learned by variational Bayes from raw text, a dictionary and any labels.

    Not for raw text where many words may take any tag: `CVBHMMTagger` is more accurate there, at
    twice the time.

    `sklearn_cvb.display.TaggedSentence` shows what it makes of a sentence.

    Attributes
    ----------
    labels_ : ndarray
        Tags of the training sequences: Viterbi paths under the exp E[log] weights of the final
        counts.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: eq. 11; Beal (2003), chapter 3.

    Examples
    --------
    >>> from sklearn_cvb import VBHMMTagger
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = VBHMMTagger(legal, random_state=0).fit(X)
    >>> tagger.predict([["the", "duck", "swims"]])[0].tolist()
    ['DT', 'NN', 'VB']
    """

    _kind_of_chain = tagger_kind(VBHMM._kind_of_chain)
    max_iter = 100
    tol = 0.005
    alpha = 1.0


class CVBHMMTagger(HMMTagger, CVBHMM):
    """Tagger learned by collapsed variational Bayes from raw text, a dictionary and any labels.

    Not where time counts and the dictionary says how often tags were seen: `VBHMMTagger` is as
    accurate with such a dictionary, in half the time.

    `sklearn_cvb.display.TaggedSentence` shows what it makes of a sentence.

    Attributes
    ----------
    labels_ : ndarray
        Tags of the training sequences: at each token the one with the largest q(z_t).

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 3 (token) and eq. 25 (sequence).

    Examples
    --------
    >>> from sklearn_cvb import CVBHMMTagger
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = CVBHMMTagger(legal, random_state=0).fit(X)
    >>> tagger.predict([["the", "duck", "swims"]])[0].tolist()
    ['DT', 'NN', 'VB']
    """

    _kind_of_chain = tagger_kind(CVBHMM._kind_of_chain)
    max_iter = 100
    tol = 0.005
    alpha = 1.0
    beta = 0.03


class GibbsHMMTagger(HMMTagger, GibbsHMM):
    """Tagger learned by Gibbs sampling from raw text, a dictionary and any labels.

    Not where time counts: it takes about ten times as long as `CVBHMMTagger`, and tags no better.
    By default it cools down, which samples no posterior: ``samples=Samples()`` does.

    `sklearn_cvb.display.TaggedSentence` shows what it makes of a sentence.

    Attributes
    ----------
    labels_ : ndarray
        Tags of the training sequences: the most frequent ones over the last tenth of the sweeps.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 1; eqs. 28-29.

    Gao and Johnson (2008), "A comparison of Bayesian estimators for unsupervised hidden Markov
    model POS taggers", EMNLP.

    Examples
    --------
    >>> from sklearn_cvb import GibbsHMMTagger
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = GibbsHMMTagger(legal, random_state=0, max_iter=100).fit(X)
    >>> tagger.predict([["the", "duck", "swims"]])[0].tolist()
    ['DT', 'NN', 'VB']
    """

    alpha = 1.0
    beta = 0.03
    _usual_samples = Samples(temperatures=(2.0, 0.08))
    # Annealing forgets the start, and chains are to begin apart.
    _kind_of_chain = tagger_kind(
        GibbsHMM._kind_of_chain, usual_samples=_usual_samples, usual_starts=("token", "token")
    )
