"""Treebanks of the experiment on heads, and what is known of their languages."""

from functools import partial
from typing import NamedTuple

import numpy as np

from sklearn_cvb import ArcWeights
from sklearn_cvb.datasets import fetch_conll2007, fetch_dependency_treebank

N_FOLDS = 5
# Which class of words takes which, after Naseem et al. (2010); None is the root.
RULES = (
    (None, "verb"),
    (None, "auxiliary"),
    ("verb", "noun"),
    ("verb", "pronoun"),
    ("verb", "adverb"),
    ("verb", "verb"),
    ("auxiliary", "verb"),
    ("noun", "adjective"),
    ("noun", "determiner"),
    ("noun", "noun"),
    ("noun", "number"),
    ("preposition", "noun"),
    ("adjective", "adverb"),
)
# Classes of words that have no children.
LEAVES = ("determiner", "particle")
# What multiplies the arcs of a rule, and those below a leaf.
RULE, LEAF = 5.0, 0.01
# The tags of each class; a treebank may not tell a class apart. With those of English all that is
# known is what the preset "penn" says.
CLASSES = {
    "english": {
        "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
        "auxiliary": ("MD",),
        "noun": ("NN", "NNS", "NNP", "NNPS"),
        "pronoun": ("PRP", "WP", "EX"),
        "adverb": ("RB", "RBR", "RBS", "WRB"),
        "adjective": ("JJ", "JJR", "JJS"),
        "determiner": ("DT", "PDT", "WDT", "PRP$", "WP$"),
        "number": ("CD",),
        "preposition": ("IN",),
        "particle": ("CC", "RP", "POS"),
    },
    "basque": {
        "verb": ("ADI", "ADT"),
        "auxiliary": ("ADL",),
        "noun": ("IZE",),
        "pronoun": ("IOR",),
        "adverb": ("ADB",),
        "adjective": ("ADJ",),
        "determiner": ("DET",),
    },
    "basque-fine": {
        "verb": ("ADI", "ADI_SIN", "ADI_ADK", "ADI_FAK", "ADI_ADP", "ADT"),
        "auxiliary": ("ADL",),
        "noun": ("IZE", "IZE_ARR", "IZE_IZB", "IZE_LIB", "IZE_ZKI", "IZB"),
        "pronoun": ("IOR_PERARR", "IOR_PERIND", "IOR_IZGMGB", "IOR_IZGGAL", "IOR_ELK"),
        "adverb": ("ADB_ARR", "ADB_ADOARR", "ADB_GAL", "ADB_-"),
        "adjective": ("ADJ_ARR", "ADJ_IZO", "ADJ_IZL", "ADJ_GAL", "ADJ_SIN"),
        "determiner": (
            *("DET_ERKARR", "DET_ERKIND", "DET_DZG", "DET_ORD", "DET_ORO"),
            *("DET_NOLARR", "DET_NOLGAL", "DET_BAN"),
        ),
        "number": ("DET_DZH",),
    },
    "spanish": {
        "verb": ("v",),
        "noun": ("n",),
        "pronoun": ("p",),
        "adverb": ("r",),
        "adjective": ("a",),
        "determiner": ("d",),
        "number": ("z", "Z"),
        "preposition": ("s",),
    },
    "spanish-fine": {
        "verb": ("vm", "vs"),
        "auxiliary": ("va",),
        "noun": ("nc", "np"),
        "pronoun": ("p0", "pd", "pe", "pi", "pn", "pp", "pr", "pt", "px"),
        "adverb": ("rg", "rn"),
        "adjective": ("aq", "ao"),
        "determiner": ("da", "dd", "de", "di", "dp", "dt"),
        "number": ("z", "Zm", "Zp", "dn"),
        "preposition": ("sp",),
    },
}


class Treebank(NamedTuple):
    """Tags, heads and the fold of each sentence, and the tags of each class of words."""

    tags: list
    heads: list
    fold: np.ndarray
    classes: dict[str, tuple[str, ...]]


def english(settings):
    """The journal's sample: each fifth file is a fold."""
    corpus = fetch_dependency_treebank(remove_punctuation=True, data_home=settings.data_home)
    fold = np.unique(corpus.files, return_inverse=True)[1] % N_FOLDS
    return Treebank(corpus.data, corpus.target, fold, CLASSES["english"])


def conll(language, column, name, settings):
    """Basque or Spanish: a fold is a fifth of the sentences as they follow each other."""
    corpus = fetch_conll2007(
        language=language, column=column, remove_punctuation=True, data_home=settings.data_home
    )
    fold = np.arange(len(corpus.data)) * N_FOLDS // len(corpus.data)
    return Treebank(corpus.data, corpus.target, fold, CLASSES[name])


# Title, and what loads it.
TREEBANKS = {
    "english": ("English", english),
    "basque": ("Basque, coarse tags", partial(conll, "basque", "upos", "basque")),
    "basque-fine": ("Basque, fine tags", partial(conll, "basque", "xpos", "basque-fine")),
    "spanish": ("Spanish, coarse tags", partial(conll, "spanish", "upos", "spanish")),
    "spanish-fine": ("Spanish, fine tags", partial(conll, "spanish", "xpos", "spanish-fine")),
}


def arc_weights(rules, classes):
    """The rules, and the leaves, as dependency models take them.

    `rules`: classes of head and child, as in `RULES`. `classes`: tags by class; of a class without
    tags nothing is said.
    """
    return ArcWeights(dict.fromkeys(rules, RULE) | {(LEAVES, ...): LEAF}, tag_classes=classes)
