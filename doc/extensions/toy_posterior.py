"""``.. toy-posterior::``: drag alpha, and watch what EM, VB and CVB believe beside the truth.

A corpus of two states that is small enough to enumerate. The library computes all beliefs while the
site is built; the page holds them as numbers, and a few lines of script draw them.
"""

import json
import sys
from pathlib import Path

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from sklearn_cvb import Symbols, TagDictionary

HERE = Path(__file__).resolve().parent
# Exact answers are those that the tests compare with.
sys.path.insert(0, str(HERE.parents[1]))

TAGS = ["NOUN", "VERB"]
DICTIONARY = {
    "dogs": ["NOUN"],
    "cats": ["NOUN"],
    "run": ["VERB"],
    "sleep": ["VERB"],
    "duck": TAGS,
    "walk": TAGS,
}
TEXT = "dogs run . cats sleep . dogs duck . duck run . duck walk . cats walk duck . walk sleep"
BETA = 0.3
ALPHAS = np.geomspace(0.01, 10, 61).round(4)
ALGORITHMS = ("exact", "EM", "VB", "CVB token", "CVB sequence")


def corpus():
    """The sentences."""
    return [sentence.split() for sentence in TEXT.split(" . ")]


def ambiguous(X):
    """Sentence and position of each token that may be either."""
    return [(i, t) for i, words in enumerate(X) for t, w in enumerate(words) if w in AMBIGUOUS]


AMBIGUOUS = [word for word, tags in DICTIONARY.items() if len(tags) > 1]


def exact_beliefs(X, alpha):
    """p(verb) of each ambiguous token, by enumerating all taggings."""
    from benchmarks.enumeration import brute
    from benchmarks.enumeration.problems import Problem

    words = list(DICTIONARY)
    problem = Problem(
        sequences=[[words.index(word) for word in sentence] for sentence in X],
        n_states=2,
        n_symbols=len(words),
        alpha=np.full((3, 2), alpha),
        beta=np.full((2, len(words)), BETA),
        allowed=[[[TAGS.index(tag) for tag in DICTIONARY[w]] for w in words_] for words_ in X],
    )
    found = brute.collapsed_posterior(problem).marginals
    return [float(found[i][t][1]) for i, t in ambiguous(X)]


def start(X):
    """Uniform over the legal tags, with 5 % noise: all algorithms begin here."""
    rng = np.random.default_rng(0)
    tables = []
    for sentence in X:
        table = np.array([[tag in DICTIONARY[word] for tag in TAGS] for word in sentence], float)
        table *= 1 + 0.05 * rng.uniform(-1, 1, table.shape)
        tables.append(table / table.sum(axis=1, keepdims=True))
    return tables


def fitted_beliefs(X, alpha):
    """p(verb) of each ambiguous token by each algorithm, in the order of `ALGORITHMS`."""
    from sklearn_cvb import CVBHMMTagger, EMHMMTagger, VBHMMTagger

    settings = {
        "alpha": alpha,
        "beta": BETA,
        "init": start(X),
        "max_iter": 1000,
        "tol": 1e-12,
        "emission": Symbols(handle_unknown="error"),
        "tag_dictionary": TagDictionary(DICTIONARY, denoise="none"),
        "warm_start": True,
    }
    taggers = [
        EMHMMTagger(**settings),
        VBHMMTagger(**settings),
        CVBHMMTagger(update="token", **settings),
        CVBHMMTagger(update="sequence", **settings),
    ]
    found = []
    for tagger in taggers:
        posteriors = tagger.fit(X).training_posteriors()
        found.append([float(posteriors[i][t][1]) for i, t in ambiguous(X)])
    return found


def beliefs():
    """What the page holds."""
    X = corpus()
    rows = [[exact_beliefs(X, alpha), *fitted_beliefs(X, alpha)] for alpha in ALPHAS]
    table = np.round(rows, 4)
    return {
        "alphas": ALPHAS.tolist(),
        "algorithms": list(ALGORITHMS),
        "sentences": X,
        "tokens": ambiguous(X),
        # For each alpha, algorithm and token.
        "verb": table.tolist(),
        "errors": np.abs(table - table[:, :1]).mean(axis=2).round(4).tolist(),
    }


class ToyPosterior(SphinxDirective):
    """The picture, as a part of the page."""

    def run(self):
        """Raw HTML: a template with the numbers in it."""
        template = HERE / "toy_posterior.html"
        self.env.note_dependency(str(template))
        self.env.note_dependency(__file__)
        data = json.dumps(beliefs(), separators=(",", ":"))
        html = template.read_text("utf-8").replace("/* DATA */", data)
        return [nodes.raw("", html, format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("toy-posterior", ToyPosterior)
    return {"parallel_read_safe": True}
