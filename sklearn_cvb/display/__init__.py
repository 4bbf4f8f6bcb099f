"""Fitted models and predictions to look at, in notebooks and on terminals; needs nothing else."""

from sklearn_cvb.display.aligned_sentences import AlignedSentences
from sklearn_cvb.display.dependency_tree import DependencyTree
from sklearn_cvb.display.model_summary import ModelSummary
from sklearn_cvb.display.phrase_tree import PhraseTree
from sklearn_cvb.display.tagged_sentence import TaggedSentence

__all__ = ["AlignedSentences", "DependencyTree", "ModelSummary", "PhraseTree", "TaggedSentence"]
