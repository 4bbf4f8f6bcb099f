"""The text that is learned from: newspaper where it is at hand, else pocket English."""

import pickle
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

_POCKET_SENTENCES = 30_000
_QUICK_SENTENCES = 300
_TREES = 1000
# What each text is called, what fetches it, and how often pocket English stands in for it.
_CORPORA = {
    "journal": ("Wall Street Journal", "wsj", 1),
    "brown": ("Brown", "brown", 4),
}


class Settings(NamedTuple):
    """What a measurement is given."""

    folder: str  # where the prepared texts are
    pairs: int  # number of pairs of samples
    quick: bool  # whether little data and rough figures will do


class Text(NamedTuple):
    """Sentences `X`, their tags (or trees in brackets) `y`, and what they are called."""

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
    """Read the texts once and keep them where all measurements find them."""
    described = {}
    for name in names:
        fetch = _trees if name == "trees" else partial(_fetch, name)
        text = fetch(data_home, settings.quick)
        described[name] = f"{text.name}, {len(text.X):,} sentences, {text.n_tokens:,} tokens"
        Path(settings.folder, f"{name}.pickle").write_bytes(pickle.dumps(tuple(text)))
    return described


def read(settings, name):
    """A text that `prepare` has kept."""
    # Not as one block of bytes: where one was freed, the allocator keeps more of what comes after.
    with Path(settings.folder, f"{name}.pickle").open("rb") as file:
        return Text(*pickle.load(file))


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


def _trees(data_home, quick):
    """The first trees of the treebank, or of pocket English; traces are left out."""
    from sklearn_cvb.datasets import make_pocket_english
    from sklearn_cvb.datasets.corpora import find_corpus, nltk_root

    n_trees = _QUICK_SENTENCES if quick else _TREES
    try:
        path = find_corpus("treebank", data_home=data_home, download_if_missing=False)
    except OSError:
        bunch = make_pocket_english(n_trees, with_trees=True, random_state=0)
        return Text("pocket English", bunch.data, [_brackets(tree) for tree in bunch.trees])
    from nltk.corpus.reader import BracketParseCorpusReader

    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        trees = [_without_traces(tree) for tree in islice(reader.parsed_sents(), n_trees)]
    return Text(
        "Penn Treebank sample", [tree.leaves() for tree in trees], list(map(_brackets, trees))
    )


def _without_traces(tree):
    """A tree without its empty elements, and without what holds nothing else."""
    from nltk import Tree

    kept = [
        _without_traces(child) if isinstance(child, Tree) else child
        for child in tree
        if not (isinstance(child, Tree) and child.label() == "-NONE-")
    ]
    return Tree(tree.label(), [child for child in kept if len(child)])


def _brackets(tree):
    return " ".join(str(tree).split())
