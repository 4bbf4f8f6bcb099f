"""Bayesian sequence models for scikit-learn: EM, variational, collapsed variational, sampling."""

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from sklearn_cvb.version import __version__ as __version__

# Importing numba makes a hundred thousand objects and no garbage: looking for some takes a sixth of
# the time.
_collects = gc.isenabled()
gc.disable()
try:
    from sklearn_cvb.chain.parameters.rows import HMMCounts
    from sklearn_cvb.estimators.hmm import CVBHMM, EMHMM, VBHMM, GibbsHMM
    from sklearn_cvb.estimators.taggers import (
        CVBHMMTagger,
        EMHMMTagger,
        GibbsHMMTagger,
        VBHMMTagger,
    )
    from sklearn_cvb.reading.corpus import split_by_lengths, split_words
    from sklearn_cvb.reading.dictionary import tag_dictionary_from
    from sklearn_cvb.reading.panels import split_by, split_panel
    from sklearn_cvb.settings import (
        HDP,
        IBM1,
        ArcWeights,
        Checkpoint,
        Durations,
        GammaPrior,
        HMMParameters,
        MiniBatches,
        Samples,
        SplitAndMerge,
        StepSizes,
        Symbols,
        TagDictionary,
        Transitions,
        Valence,
        Windows,
    )
finally:
    if _collects:
        gc.enable()

if TYPE_CHECKING:
    from sklearn_cvb.alignment.parameters import AlignmentCounts
    from sklearn_cvb.datasets.pharaoh import read_pharaoh, to_pharaoh
    from sklearn_cvb.dependency.parameters import DMVCounts
    from sklearn_cvb.display.word_table import WordTable
    from sklearn_cvb.estimators.alignment import (
        CVBAlignmentHMM,
        EMAlignmentHMM,
        GibbsAlignmentHMM,
        VBAlignmentHMM,
    )
    from sklearn_cvb.estimators.both_directions import fit_agreeing, symmetrize
    from sklearn_cvb.estimators.classifier import HMMClassifier
    from sklearn_cvb.estimators.dependencies import CVBDMV, EMDMV, VBDMV, GibbsDMV
    from sklearn_cvb.estimators.grammars import CVBPCFG, EMPCFG, VBPCFG, GibbsPCFG, HastingsPCFG
    from sklearn_cvb.estimators.mixture import HMMMixture
    from sklearn_cvb.estimators.smoother import HMMSmoother
    from sklearn_cvb.estimators.treebanks import CVBLatentPCFG, EMLatentPCFG, VBLatentPCFG
    from sklearn_cvb.grammar.grammar import Grammar
    from sklearn_cvb.grammar.model import PCFGCounts
    from sklearn_cvb.store import CorpusStore, NumberStore, open_store, write_numbers, write_store
    from sklearn_cvb.treebank.parameters import LatentPCFGCounts

__all__ = [
    "CVBDMV",
    "CVBHMM",
    "CVBPCFG",
    "EMDMV",
    "EMHMM",
    "EMPCFG",
    "HDP",
    "IBM1",
    "VBDMV",
    "VBHMM",
    "VBPCFG",
    "AlignmentCounts",
    "ArcWeights",
    "CVBAlignmentHMM",
    "CVBHMMTagger",
    "CVBLatentPCFG",
    "Checkpoint",
    "CorpusStore",
    "DMVCounts",
    "Durations",
    "EMAlignmentHMM",
    "EMHMMTagger",
    "EMLatentPCFG",
    "GammaPrior",
    "GibbsAlignmentHMM",
    "GibbsDMV",
    "GibbsHMM",
    "GibbsHMMTagger",
    "GibbsPCFG",
    "Grammar",
    "HMMClassifier",
    "HMMCounts",
    "HMMMixture",
    "HMMParameters",
    "HMMSmoother",
    "HastingsPCFG",
    "LatentPCFGCounts",
    "MiniBatches",
    "NumberStore",
    "PCFGCounts",
    "Samples",
    "SplitAndMerge",
    "StepSizes",
    "Symbols",
    "TagDictionary",
    "Transitions",
    "VBAlignmentHMM",
    "VBHMMTagger",
    "VBLatentPCFG",
    "Valence",
    "Windows",
    "WordTable",
    "fit_agreeing",
    "open_store",
    "read_pharaoh",
    "split_by",
    "split_by_lengths",
    "split_panel",
    "split_words",
    "symmetrize",
    "tag_dictionary_from",
    "to_pharaoh",
    "write_numbers",
    "write_store",
]

# Loaded when asked for: who learns taggers need not wait for the kernels of trees.
_LATER = {
    "AlignmentCounts": "alignment.parameters",
    "CVBAlignmentHMM": "estimators.alignment",
    "CVBDMV": "estimators.dependencies",
    "CVBLatentPCFG": "estimators.treebanks",
    "CVBPCFG": "estimators.grammars",
    "CorpusStore": "store",
    "DMVCounts": "dependency.parameters",
    "EMAlignmentHMM": "estimators.alignment",
    "EMDMV": "estimators.dependencies",
    "EMLatentPCFG": "estimators.treebanks",
    "EMPCFG": "estimators.grammars",
    "GibbsAlignmentHMM": "estimators.alignment",
    "GibbsDMV": "estimators.dependencies",
    "GibbsPCFG": "estimators.grammars",
    "Grammar": "grammar.grammar",
    "HMMClassifier": "estimators.classifier",
    "HMMMixture": "estimators.mixture",
    "HMMSmoother": "estimators.smoother",
    "HastingsPCFG": "estimators.grammars",
    "LatentPCFGCounts": "treebank.parameters",
    "NumberStore": "store",
    "PCFGCounts": "grammar.model",
    "VBAlignmentHMM": "estimators.alignment",
    "VBDMV": "estimators.dependencies",
    "VBLatentPCFG": "estimators.treebanks",
    "VBPCFG": "estimators.grammars",
    "WordTable": "display.word_table",
    "fit_agreeing": "estimators.both_directions",
    "open_store": "store",
    "read_pharaoh": "datasets.pharaoh",
    "symmetrize": "estimators.both_directions",
    "to_pharaoh": "datasets.pharaoh",
    "write_numbers": "store",
    "write_store": "store",
}


# The public modules beside what stands here, which are loaded when asked for, too.
_SUBPACKAGES = (
    "datasets",
    "display",
    "emissions",
    "hmmlearn",
    "metrics",
    "plotting",
    "selection",
    "store",
)


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return import_module(f"sklearn_cvb.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"sklearn_cvb.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES, "__all__", "__doc__", "__version__"})
