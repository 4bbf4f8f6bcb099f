"""The sentences of the tagging experiments, with dictionaries taken from the whole corpus."""

from functools import lru_cache

import numpy as np
from sklearn.utils import Bunch

from benchmarks.published.dmv_knowledge import TREEBANKS
from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.datasets import fetch_mac_morpho, read_dependencies
from sklearn_cvb.datasets.corpora import corpus_folder
from sklearn_cvb.demo.text import FETCHERS, TaggingText, ambiguity


class Shared(dict):
    """A dictionary that a search does not copy for each of its fits."""

    def __deepcopy__(self, memo):
        return self


def universal_tags(name, *, data_home, return_X_y=False):
    """Words and universal tags of a small treebank: development and test file."""
    folder, X, y = corpus_folder(data_home) / "ud", [], []
    for path in sorted(folder.glob(f"{TREEBANKS[name][1]}-*")):
        found = read_dependencies(path)
        X += list(map(list, found.words))
        y += list(map(list, found.data))
    return (X, y) if return_X_y else Bunch(data=X, target=y)


@lru_cache(maxsize=2)
def whole(corpus, data_home):
    """A whole corpus."""
    if corpus in TREEBANKS:
        return universal_tags(corpus, data_home=data_home)
    return (FETCHERS | {"mac_morpho": fetch_mac_morpho})[corpus](data_home=data_home)


def first_sentences(settings, n=None, min_count=1, corpus="wsj", weights=False):
    """The first sentences of a corpus.

    `n`: how many; None for all. `min_count`: words seen fewer than this many times among these
    sentences may take any tag. `weights`: whether the dictionary says how often the corpus has each
    tag.
    """
    return _first_sentences(settings.data_home, n, min_count, corpus, weights)


@lru_cache(maxsize=8)
def _first_sentences(data_home, n, min_count, corpus, weights):
    bunch = whole(corpus, data_home)
    X, y = bunch.data[:n], bunch.target[:n]
    dictionary = tag_dictionary_from(
        bunch.data, bunch.target, min_count=min_count, count_in=X, weights=weights
    )
    if min_count == 1:
        dictionary = _without_most_others(dictionary, X)
    return TaggingText(corpus, X, y, Shared(dictionary), len(X) == len(bunch.data))


def _without_most_others(dictionary, X):
    """A dictionary without the words that `X` lacks, all of which may take any tag.

    So may words outside a dictionary: to check fifty thousand entries that say nothing would be
    most of a short fit. One of them stays, so that every tag is known.
    """
    words = {word for sentence in X for word in sentence}
    words.update([word for word in dictionary if word not in words][:1])
    return {word: entry for word, entry in dictionary.items() if word in words}


def random_sentences(settings, n, seed):
    """Sentences of the journal drawn without replacement."""
    return drawn(first_sentences(settings), n, seed)


def drawn(text, n, seed):
    """At most this many sentences of a text, drawn without replacement; in order if that is all."""
    if len(text.X) <= n:
        return text
    which = np.random.default_rng(seed).permutation(len(text.X))[:n]
    X, y = ([rows[i] for i in which] for rows in (text.X, text.y))
    return text._replace(X=X, y=y, is_whole=False)


def described(text):
    """Size and ambiguity of a text, fit for JSON."""
    found = ambiguity(text)._asdict()
    return {"n_sentences": len(text.X)} | {name: float(value) for name, value in found.items()}
