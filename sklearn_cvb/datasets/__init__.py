"""Corpora, readers for a user's own files, and generated sequences."""

from sklearn_cvb.datasets.alice import fetch_alice
from sklearn_cvb.datasets.brown import fetch_brown
from sklearn_cvb.datasets.conll2000 import fetch_conll2000
from sklearn_cvb.datasets.conll2007 import fetch_conll2007
from sklearn_cvb.datasets.dependencies import fetch_dependency_treebank, read_dependencies
from sklearn_cvb.datasets.mac_morpho import fetch_mac_morpho
from sklearn_cvb.datasets.make import (
    make_hmm_sequences,
    make_pocket_english,
    pocket_english_dictionary,
)
from sklearn_cvb.datasets.readers import read_conllu, read_word_tag
from sklearn_cvb.datasets.treebank import fetch_treebank_tagged
from sklearn_cvb.datasets.trees import fetch_treebank_trees, make_pcfg_corpus
from sklearn_cvb.datasets.vowels import fetch_japanese_vowels
from sklearn_cvb.datasets.wsj import fetch_wsj
from sklearn_cvb.datasets.xl_wa import fetch_xl_wa, read_aligned
from sklearn_cvb.datasets.zulu import fetch_zulu_verbs, read_segmented

__all__ = [
    "fetch_alice",
    "fetch_brown",
    "fetch_conll2000",
    "fetch_conll2007",
    "fetch_dependency_treebank",
    "fetch_japanese_vowels",
    "fetch_mac_morpho",
    "fetch_treebank_tagged",
    "fetch_treebank_trees",
    "fetch_wsj",
    "fetch_xl_wa",
    "fetch_zulu_verbs",
    "make_hmm_sequences",
    "make_pcfg_corpus",
    "make_pocket_english",
    "pocket_english_dictionary",
    "read_aligned",
    "read_conllu",
    "read_dependencies",
    "read_segmented",
    "read_word_tag",
]
