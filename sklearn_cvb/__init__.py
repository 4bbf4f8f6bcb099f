"""Bayesian sequence models for scikit-learn: EM, variational, collapsed variational, sampling."""

from sklearn_cvb.corpus import split_by_lengths
from sklearn_cvb.dictionary import tag_dictionary_from
from sklearn_cvb.hmm.cvb import CVBHMM
from sklearn_cvb.hmm.em import EMHMM
from sklearn_cvb.hmm.gibbs import GibbsHMM
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.hmm.taggers import CVBHMMTagger, EMHMMTagger, GibbsHMMTagger, VBHMMTagger
from sklearn_cvb.hmm.vb import VBHMM

__version__ = "0.1.0"

__all__ = [
    "CVBHMM",
    "EMHMM",
    "VBHMM",
    "CVBHMMTagger",
    "EMHMMTagger",
    "GibbsHMM",
    "GibbsHMMTagger",
    "HMMCounts",
    "VBHMMTagger",
    "split_by_lengths",
    "tag_dictionary_from",
]
