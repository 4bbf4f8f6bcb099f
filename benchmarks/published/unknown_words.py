"""Words that a dictionary lacks: how well taggers judge them by their form.

A dictionary with counts comes from some sentences of a corpus, the text to be tagged is others.
Learners have the raw text and the dictionary, or the tagged sentences of the dictionary as well;
other libraries' taggers learn from the tagged sentences alone.
"""

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from benchmarks.published.settings import run_parts
from benchmarks.published.unknown_words_peers import PEERS
from benchmarks.published.unknown_words_tables import draw, tables
from sklearn_cvb import CVBHMMTagger, EMHMMTagger, VBHMMTagger, tag_dictionary_from
from sklearn_cvb.datasets import fetch_brown, fetch_mac_morpho, fetch_wsj

__all__ = ["PARTS", "draw", "run", "tables"]

FETCHERS = {"wsj": fetch_wsj, "mac_morpho": fetch_mac_morpho, "brown": fetch_brown}
# The usual alpha and beta of text with a dictionary; EM is plain maximum likelihood.
CONCENTRATIONS = {"alpha": 1.0, "beta": 0.03}
TAGGERS = {
    "EM": (EMHMMTagger, {}),
    "VB": (VBHMMTagger, CONCENTRATIONS),
    "CVB": (CVBHMMTagger, CONCENTRATIONS),
    "CVB, dictionary_weight 1": (CVBHMMTagger, CONCENTRATIONS | {"dictionary_weight": 1.0}),
    "CVB, dictionary_weight 3": (CVBHMMTagger, CONCENTRATIONS | {"dictionary_weight": 3.0}),
}
HANDLED = ("rare", "form")
# NLTK's hidden Markov model takes too long for the 472 tags of Brown.
LEFT_OUT = {("brown", "nltk HMM")}


class Size(NamedTuple):
    """How much is run."""

    corpora: tuple
    n_dictionary: int
    n_raw: int
    seeds: tuple
    taggers: tuple
    sweeps: int
    peers: tuple


FULL = Size(tuple(FETCHERS), 4000, 2000, (0, 1, 2), tuple(TAGGERS), 30, tuple(PEERS))
QUICK = Size(("wsj",), 400, 200, (0,), ("EM", "CVB"), 10, ("nltk HMM",))


class Split(NamedTuple):
    """Tagged sentences that make the dictionary, and others to be tagged."""

    tagged: list
    tags: list
    dictionary: dict
    raw: list
    gold: list


def size_of(settings):
    """What the settings ask for."""
    return QUICK if settings.quick else FULL


@lru_cache(maxsize=1)
def corpus_of(name, data_home):
    """A whole corpus: sentences and tags."""
    return FETCHERS[name](data_home=data_home, return_X_y=True)


def split_of(name, size, seed, data_home):
    """Sentences of a corpus, drawn without replacement."""
    X, y = corpus_of(name, data_home)
    drawn = np.random.default_rng(seed).permutation(len(X))[: size.n_dictionary + size.n_raw]
    first, second = np.split(drawn, [size.n_dictionary])
    tagged, tags = [X[i] for i in first], [y[i] for i in first]
    dictionary = tag_dictionary_from(tagged, tags, weights=True)
    return Split(tagged, tags, dictionary, [X[i] for i in second], [y[i] for i in second])


def accuracies(split, found):
    """Shares of right tags among all tokens, those of listed words, and those of others."""
    pairs = [
        (word in split.dictionary, gold == tag)
        for words, golds, tags in zip(split.raw, split.gold, found, strict=True)
        for word, gold, tag in zip(words, golds, tags, strict=True)
    ]
    known, right = np.array(pairs, dtype=bool).T
    return {
        "all": float(right.mean()),
        "known": float(right[known].mean()),
        "unknown": float(right[~known].mean()),
        "share unknown": float(np.mean(~known)),
    }


def most_frequent(split):
    """The most frequent tag of every word; of words seen once for words that are unknown."""
    once = Counter(
        tag for entry in split.dictionary.values() if sum(entry.values()) == 1 for tag in entry
    )
    usual = {word: max(entry, key=entry.get) for word, entry in split.dictionary.items()}
    other = once.most_common(1)[0][0]
    return [[usual.get(word, other) for word in words] for words in split.raw]


def tagger_for(name, split, size, **settings):
    """An unfitted tagger."""
    kind, arguments = TAGGERS[name]
    usual = {"max_iter": size.sweeps, "tol": 0, "random_state": 0}
    return kind(split.dictionary, **usual | arguments | settings)


def ways(name, split, size, handled):
    """Tags found from raw text, with the tagged sentences as well, and from these alone."""
    n_raw = len(split.raw)
    yield "raw", tagger_for(name, split, size, handle_unknown=handled).fit_predict(split.raw)
    both = tagger_for(name, split, size, handle_unknown=handled)
    labels = both.fit_predict(split.tagged + split.raw, split.tags + [None] * n_raw)
    yield "raw and tagged", labels[-n_raw:]
    alone = tagger_for(name, split, size, handle_unknown=handled, max_iter=1)
    yield "tagged", alone.fit(split.tagged, split.tags).predict(split.raw)


def taggers(settings):
    """Accuracies of the taggers of this package.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
        ``"rows"``: per corpus, split, tagger, way to learn and handling of unknown words.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for seed in size.seeds:
            split = split_of(corpus, size, seed, settings.data_home)
            here = {"corpus": corpus, "seed": seed}
            found = accuracies(split, most_frequent(split))
            rows.append(here | {"tagger": "most frequent tag", "learns from": "tagged"} | found)
            for name in size.taggers:
                weighted = "dictionary_weight" in TAGGERS[name][1]
                for handled in HANDLED[weighted:]:
                    for way, tags in ways(name, split, size, handled):
                        about = {"tagger": name, "unknown words": handled, "learns from": way}
                        rows.append(here | about | accuracies(split, tags))
    return {"rows": rows, "n_dictionary": size.n_dictionary, "n_raw": size.n_raw}


def peers(settings):
    """Accuracies of other libraries' taggers, where these are installed.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
        ``"rows"`` as those of `taggers`.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for seed in size.seeds:
            split = split_of(corpus, size, seed, settings.data_home)
            for name in size.peers:
                if (corpus, name) in LEFT_OUT:
                    continue
                tags = PEERS[name](split.tagged, split.tags, split.raw)
                if tags is not None:
                    about = {"corpus": corpus, "seed": seed, "tagger": name}
                    rows.append(about | {"learns from": "tagged"} | accuracies(split, tags))
    return {"rows": rows, "n_dictionary": size.n_dictionary, "n_raw": size.n_raw}


PARTS = {"taggers": taggers, "peers": peers}


def run(settings):
    """Run all parts.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)
