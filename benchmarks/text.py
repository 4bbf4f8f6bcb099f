"""The text that is learned from: newspaper where it is at hand, else pocket English."""

import pickle
from pathlib import Path
from typing import NamedTuple

_POCKET_SENTENCES = 30_000
_QUICK_SENTENCES = 300
# What each text is called, what fetches it, and how often pocket English stands in for it.
_CORPORA = {
    "journal": ("Wall Street Journal", "wsj", 1),
    "brown": ("Brown", "brown", 4),
}


class Settings(NamedTuple):
    """What a measurement is told.

    Attributes
    ----------
    folder : str
        Where the prepared texts are.
    pairs : int
        Number of pairs of samples.
    quick : bool
        Whether little data and rough figures will do.
    """

    folder: str
    pairs: int
    quick: bool


class Text(NamedTuple):
    """Sentences `X`, their tags `y`, and what they are called."""

    name: str
    X: list
    y: list

    @property
    def n_tokens(self):
        """Number of tokens."""
        return sum(map(len, self.X))

    def head(self, n_sentences):
        """The first sentences."""
        return self._replace(X=self.X[:n_sentences], y=self.y[:n_sentences])


def prepare(settings, data_home, names):
    """Read the texts once and keep them where all measurements find them.

    Parameters
    ----------
    settings : Settings
    data_home : str or None
    names : collection of {"journal", "brown"}

    Returns
    -------
    dict of str to str
        What each text is.
    """
    described = {}
    for name in names:
        text = _fetch(name, data_home, settings.quick)
        described[name] = f"{text.name}, {len(text.X):,} sentences, {text.n_tokens:,} tokens"
        Path(settings.folder, f"{name}.pickle").write_bytes(pickle.dumps(tuple(text)))
    return described


def read(settings, name):
    """A text that `prepare` has kept.

    Parameters
    ----------
    settings : Settings
    name : {"journal", "brown"}

    Returns
    -------
    Text
    """
    return Text(*pickle.loads(Path(settings.folder, f"{name}.pickle").read_bytes()))


def _fetch(name, data_home, quick):
    """A corpus, or pocket English where it is not found; nothing is downloaded."""
    from sklearn_cvb.datasets import fetch_brown, fetch_wsj

    title, fetch, n_times = _CORPORA[name]
    try:
        fetch = {"wsj": fetch_wsj, "brown": fetch_brown}[fetch]
        X, y = fetch(data_home=data_home, download_if_missing=False, return_X_y=True)
    except OSError:
        return _pocket(n_times, quick)
    text = Text(title, X, y)
    return text.head(_QUICK_SENTENCES) if quick else text


def _pocket(n_times, quick):
    """Sentences of a pocket grammar, the same ones `n_times` over."""
    from sklearn_cvb.datasets import make_pocket_english

    bunch = make_pocket_english(_QUICK_SENTENCES if quick else _POCKET_SENTENCES, random_state=0)
    return Text("pocket English", bunch.data * n_times, bunch.target * n_times)
