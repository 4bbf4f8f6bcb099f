"""Bayesian sequence models for scikit-learn: EM, variational, collapsed variational, sampling."""

import gc
from importlib import import_module
from typing import TYPE_CHECKING

# Importing numba makes a hundred thousand objects and no garbage: looking for some takes a sixth of
# the time.
_collects = gc.isenabled()
gc.disable()
try:
    from sklearn_cvb.corpus import split_by_lengths
    from sklearn_cvb.dictionary import tag_dictionary_from
    from sklearn_cvb.hmm.cvb import CVBHMM
    from sklearn_cvb.hmm.cvb_tagger import CVBHMMTagger
    from sklearn_cvb.hmm.em import EMHMM
    from sklearn_cvb.hmm.em_tagger import EMHMMTagger
    from sklearn_cvb.hmm.gibbs import GibbsHMM
    from sklearn_cvb.hmm.gibbs_tagger import GibbsHMMTagger
    from sklearn_cvb.hmm.parameters import HMMCounts
    from sklearn_cvb.hmm.vb import VBHMM
    from sklearn_cvb.hmm.vb_tagger import VBHMMTagger
finally:
    if _collects:
        gc.enable()

if TYPE_CHECKING:
    from sklearn_cvb.alignment.cvb import CVBAlignmentHMM
    from sklearn_cvb.alignment.em import EMAlignmentHMM
    from sklearn_cvb.alignment.gibbs import GibbsAlignmentHMM
    from sklearn_cvb.alignment.joint import fit_agreeing
    from sklearn_cvb.alignment.parameters import AlignmentCounts
    from sklearn_cvb.alignment.pharaoh import read_pharaoh, to_pharaoh
    from sklearn_cvb.alignment.symmetrization import symmetrize
    from sklearn_cvb.alignment.vb import VBAlignmentHMM
    from sklearn_cvb.classifier import HMMClassifier
    from sklearn_cvb.dmv.cvb import CVBDMV
    from sklearn_cvb.dmv.em import EMDMV
    from sklearn_cvb.dmv.gibbs import GibbsDMV
    from sklearn_cvb.dmv.parameters import DMVCounts
    from sklearn_cvb.dmv.vb import VBDMV
    from sklearn_cvb.latent.cvb import CVBLatentPCFG
    from sklearn_cvb.latent.em import EMLatentPCFG
    from sklearn_cvb.latent.parameters import LatentPCFGCounts
    from sklearn_cvb.latent.vb import VBLatentPCFG
    from sklearn_cvb.pcfg.cvb import CVBPCFG
    from sklearn_cvb.pcfg.em import EMPCFG
    from sklearn_cvb.pcfg.gibbs import GibbsPCFG
    from sklearn_cvb.pcfg.grammar import Grammar
    from sklearn_cvb.pcfg.hastings import HastingsPCFG
    from sklearn_cvb.pcfg.model import PCFGCounts
    from sklearn_cvb.pcfg.vb import VBPCFG
    from sklearn_cvb.store import CorpusStore, open_store, write_store

__version__ = "0.1.0"

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
    "CVBAlignmentHMM": "alignment.cvb",
    "CVBDMV": "dmv.cvb",
    "CVBLatentPCFG": "latent.cvb",
    "CVBPCFG": "pcfg.cvb",
    "CorpusStore": "store",
    "DMVCounts": "dmv.parameters",
    "EMAlignmentHMM": "alignment.em",
    "EMDMV": "dmv.em",
    "EMLatentPCFG": "latent.em",
    "EMPCFG": "pcfg.em",
    "GibbsAlignmentHMM": "alignment.gibbs",
    "GibbsDMV": "dmv.gibbs",
    "GibbsPCFG": "pcfg.gibbs",
    "Grammar": "pcfg.grammar",
    "HMMClassifier": "classifier",
    "HastingsPCFG": "pcfg.hastings",
    "LatentPCFGCounts": "latent.parameters",
    "PCFGCounts": "pcfg.model",
    "VBAlignmentHMM": "alignment.vb",
    "VBDMV": "dmv.vb",
    "VBLatentPCFG": "latent.vb",
    "VBPCFG": "pcfg.vb",
    "fit_agreeing": "alignment.joint",
    "open_store": "store",
    "read_pharaoh": "alignment.pharaoh",
    "symmetrize": "alignment.symmetrization",
    "to_pharaoh": "alignment.pharaoh",
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
