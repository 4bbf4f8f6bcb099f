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
    from sklearn_cvb.chain.parameters import HMMCounts
    from sklearn_cvb.estimators.hmm_cvb import CVBHMM
    from sklearn_cvb.estimators.hmm_em import EMHMM
    from sklearn_cvb.estimators.hmm_gibbs import GibbsHMM
    from sklearn_cvb.estimators.hmm_vb import VBHMM
    from sklearn_cvb.estimators.taggers_cvb import CVBHMMTagger
    from sklearn_cvb.estimators.taggers_em import EMHMMTagger
    from sklearn_cvb.estimators.taggers_gibbs import GibbsHMMTagger
    from sklearn_cvb.estimators.taggers_vb import VBHMMTagger
    from sklearn_cvb.reading.corpus import split_by_lengths
    from sklearn_cvb.reading.dictionary import tag_dictionary_from
finally:
    if _collects:
        gc.enable()

if TYPE_CHECKING:
    from sklearn_cvb.alignment.joint import fit_agreeing
    from sklearn_cvb.alignment.links import read_pharaoh, symmetrize, to_pharaoh
    from sklearn_cvb.alignment.parameters import AlignmentCounts
    from sklearn_cvb.dependency.parameters import DMVCounts
    from sklearn_cvb.estimators.alignment_cvb import CVBAlignmentHMM
    from sklearn_cvb.estimators.alignment_em import EMAlignmentHMM
    from sklearn_cvb.estimators.alignment_gibbs import GibbsAlignmentHMM
    from sklearn_cvb.estimators.alignment_vb import VBAlignmentHMM
    from sklearn_cvb.estimators.classifier import HMMClassifier
    from sklearn_cvb.estimators.dependencies_cvb import CVBDMV
    from sklearn_cvb.estimators.dependencies_em import EMDMV
    from sklearn_cvb.estimators.dependencies_gibbs import GibbsDMV
    from sklearn_cvb.estimators.dependencies_vb import VBDMV
    from sklearn_cvb.estimators.grammars_cvb import CVBPCFG
    from sklearn_cvb.estimators.grammars_em import EMPCFG
    from sklearn_cvb.estimators.grammars_gibbs import GibbsPCFG
    from sklearn_cvb.estimators.grammars_hastings import HastingsPCFG
    from sklearn_cvb.estimators.grammars_vb import VBPCFG
    from sklearn_cvb.estimators.treebanks_cvb import CVBLatentPCFG
    from sklearn_cvb.estimators.treebanks_em import EMLatentPCFG
    from sklearn_cvb.estimators.treebanks_vb import VBLatentPCFG
    from sklearn_cvb.grammar.grammar import Grammar
    from sklearn_cvb.grammar.model import PCFGCounts
    from sklearn_cvb.store import CorpusStore, open_store, write_store
    from sklearn_cvb.treebank.parameters import LatentPCFGCounts

__all__ = [
    "CVBDMV",
    "CVBHMM",
    "CVBPCFG",
    "EMDMV",
    "EMHMM",
    "EMPCFG",
    "VBDMV",
    "VBHMM",
    "VBPCFG",
    "AlignmentCounts",
    "CVBAlignmentHMM",
    "CVBHMMTagger",
    "CVBLatentPCFG",
    "CorpusStore",
    "DMVCounts",
    "EMAlignmentHMM",
    "EMHMMTagger",
    "EMLatentPCFG",
    "GibbsAlignmentHMM",
    "GibbsDMV",
    "GibbsHMM",
    "GibbsHMMTagger",
    "GibbsPCFG",
    "Grammar",
    "HMMClassifier",
    "HMMCounts",
    "HastingsPCFG",
    "LatentPCFGCounts",
    "PCFGCounts",
    "VBAlignmentHMM",
    "VBHMMTagger",
    "VBLatentPCFG",
    "fit_agreeing",
    "open_store",
    "read_pharaoh",
    "split_by_lengths",
    "symmetrize",
    "tag_dictionary_from",
    "to_pharaoh",
    "write_store",
]

# Loaded when asked for: who learns taggers need not wait for the kernels of trees.
_LATER = {
    "AlignmentCounts": "alignment.parameters",
    "CVBAlignmentHMM": "estimators.alignment_cvb",
    "CVBDMV": "estimators.dependencies_cvb",
    "CVBLatentPCFG": "estimators.treebanks_cvb",
    "CVBPCFG": "estimators.grammars_cvb",
    "CorpusStore": "store",
    "DMVCounts": "dependency.parameters",
    "EMAlignmentHMM": "estimators.alignment_em",
    "EMDMV": "estimators.dependencies_em",
    "EMLatentPCFG": "estimators.treebanks_em",
    "EMPCFG": "estimators.grammars_em",
    "GibbsAlignmentHMM": "estimators.alignment_gibbs",
    "GibbsDMV": "estimators.dependencies_gibbs",
    "GibbsPCFG": "estimators.grammars_gibbs",
    "Grammar": "grammar.grammar",
    "HMMClassifier": "estimators.classifier",
    "HastingsPCFG": "estimators.grammars_hastings",
    "LatentPCFGCounts": "treebank.parameters",
    "PCFGCounts": "grammar.model",
    "VBAlignmentHMM": "estimators.alignment_vb",
    "VBDMV": "estimators.dependencies_vb",
    "VBLatentPCFG": "estimators.treebanks_vb",
    "VBPCFG": "estimators.grammars_vb",
    "fit_agreeing": "alignment.joint",
    "open_store": "store",
    "read_pharaoh": "alignment.links",
    "symmetrize": "alignment.links",
    "to_pharaoh": "alignment.links",
    "write_store": "store",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"sklearn_cvb.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
