"""Corpora, readers and writers of a user's own files, and generated sequences."""

from sklearn_cvb.datasets.letters import fetch_alice, fetch_zulu_verbs, read_segmented
from sklearn_cvb.datasets.make import make_hmm_sequences, make_pcfg_corpus
from sklearn_cvb.datasets.pocket_english import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.datasets.readers import read_conllu, read_word_tag
from sklearn_cvb.datasets.tagged import (
    fetch_brown,
    fetch_conll2000,
    fetch_mac_morpho,
    fetch_treebank_tagged,
    fetch_wsj,
)
from sklearn_cvb.datasets.treebanks import (
    fetch_conll2007,
    fetch_dependency_treebank,
    fetch_treebank_trees,
    read_dependencies,
)
from sklearn_cvb.datasets.vowels import fetch_japanese_vowels
from sklearn_cvb.datasets.writers import write_conllu, write_word_tag
from sklearn_cvb.datasets.xl_wa import fetch_xl_wa, read_aligned
from sklearn_cvb.reading.word_lists import read_dictionary

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
    "read_dictionary",
    "read_segmented",
    "read_word_tag",
    "write_conllu",
    "write_word_tag",
]
