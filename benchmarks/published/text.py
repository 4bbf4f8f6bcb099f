"""The sentences of the tagging experiments, with dictionaries taken from the whole corpus."""

from functools import lru_cache

import numpy as np

from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.demo.text import FETCHERS, Text, ambiguity


@lru_cache(maxsize=2)
def whole(corpus, data_home):
    """A whole corpus.

    Parameters
    ----------
    corpus : {"wsj", "brown"}
    data_home : str or None

    Returns
    -------
    sklearn.utils.Bunch
    """
    return FETCHERS[corpus](data_home=data_home)


def first_sentences(settings, n=None, min_count=1, corpus="wsj"):
    """The first sentences of a corpus.

    Parameters
    ----------
    settings : Settings
    n : int, default=None
        How many; None for all.
    min_count : int, default=1
        Words seen fewer than this many times among these sentences may take any tag.
    corpus : {"wsj", "brown"}, default="wsj"

    Returns
    -------
    Text
    """
    return _text(whole(corpus, settings.data_home), slice(n), min_count, corpus)


def random_sentences(settings, n, seed):
    """Sentences of the journal drawn without replacement.

    Parameters
    ----------
    settings : Settings
    n : int
    seed : int

    Returns
    -------
    Text
    """
    bunch = whole("wsj", settings.data_home)
    drawn = np.random.default_rng(seed).permutation(len(bunch.data))[:n]
    return _text(bunch, drawn.tolist(), 1, "wsj")


def _text(bunch, which, min_count, corpus):
    if isinstance(which, slice):
        X, y = bunch.data[which], bunch.target[which]
    else:
        X, y = ([rows[i] for i in which] for rows in (bunch.data, bunch.target))
    dictionary = tag_dictionary_from(bunch.data, bunch.target, min_count=min_count, count_in=X)
    return Text(corpus, X, y, dictionary, len(X) == len(bunch.data))


def described(text):
    """Size and ambiguity of a text, fit for JSON."""
    found = ambiguity(text)._asdict()
    return {"n_sentences": len(text.X)} | {name: float(value) for name, value in found.items()}
