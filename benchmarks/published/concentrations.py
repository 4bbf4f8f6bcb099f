"""Learned concentrations: what two departures from eq. 29 of Wang and Blunsom (2013) are worth.

Counts may be zero: eq. 29 is taken at the mean of counts that are not. And learning waits for some
sweeps after starts that say nothing. Each is taken back in turn, on the same texts from the same
seeds.
"""

from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import fmean, stdev
from unittest.mock import patch

import numpy as np

from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    VBHMM,
    CVBHMMTagger,
    Symbols,
    VBHMMTagger,
    datasets,
)
from sklearn_cvb.chain.parameters.concentrations import presence_of_counts
from sklearn_cvb.chain.symbols import model as symbols
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.dependency.model import DependencyModel
from sklearn_cvb.grammar.model import GrammarModel
from sklearn_cvb.learning.dirichlet import WARM_UP_SWEEPS

LEARNED = {"alpha": "auto", "beta": "auto"}
N_TEXTS = 10
_CHAIN_SWEEPS, _LETTER_SWEEPS, _TREE_SWEEPS = 400, 200, 60


@contextmanager
def counts_as_they_are():
    """CVB's steps of eq. 29 with expected counts put into it."""

    def presence(counts, absent, cells):
        return presence_of_counts(counts, cells)

    with patch.object(symbols, "presence", presence):
        yield


@contextmanager
def waiting(n_sweeps):
    """Concentrations that are learned from this sweep on, wherever a fit starts."""
    with ExitStack() as stack:
        for kind in (SymbolChain, GrammarModel, DependencyModel):
            hyper = partial(_waiting_hyper, kind.hyper, n_sweeps)
            stack.enter_context(patch.object(kind, "hyper", lambda self, own=hyper: own(self)))
        yield


def _waiting_hyper(original, n_sweeps, model):
    return original(model)._replace(n_warm_up=n_sweeps)


def tagged(n_sentences, kind, settings, seed):
    """Accuracy on pocket English from its dictionary."""
    text = datasets.make_pocket_english(n_sentences, random_state=seed)
    words = {word for sentence in text.data for word in sentence}
    known = datasets.pocket_english_dictionary()
    legal = {word: tags for word, tags in known.items() if word in words}
    tagger = kind(legal, random_state=seed, **(LEARNED | settings)).fit(text.data)
    return 100 * float(tagger.score(text.data, text.target))


def foretold(model, X, n_train):
    """Perplexity of what comes after the first sequences."""
    return float(model.fit(X[:n_train]).perplexity(X[n_train:]))


def letters(data_home, n_sweeps, seed):
    """Sentences of Alice, letter by letter: 60 to learn from, 140 new ones."""
    text = [list(s) for s in datasets.fetch_alice(data_home=data_home).data if 10 <= len(s) <= 150]
    order = np.random.default_rng(seed).permutation(len(text))[:200]
    X = [text[i] for i in order]
    emission = Symbols(vocabulary=sorted({letter for sentence in text for letter in sentence}))
    model = CVBHMM(10, emission=emission, max_iter=n_sweeps, random_state=seed, **LEARNED)
    return foretold(model, X, 60)


def made_up(kind, settings, n_sweeps, seed):
    """Chains of six states and twelve symbols: 80 sequences to learn from, 40 new ones."""
    X = datasets.make_hmm_sequences(120, n_components=6, n_symbols=12, random_state=seed)[0]
    model = kind(6, max_iter=n_sweeps, random_state=seed, **LEARNED, **settings)
    return foretold(model, X, 80)


def tag_sequences(data_home, seed):
    """Tags of 300 short sentences of the journal."""
    text = datasets.fetch_treebank_tagged(data_home=data_home).target
    short = [list(tags) for tags in text if 3 <= len(tags) <= 10]
    order = np.random.default_rng(seed).permutation(len(short))[:300]
    return [short[i] for i in order]


def heads(data_home, seed):
    """Dependencies of tags: 150 sentences to learn from."""
    return foretold(CVBDMV(alpha="auto", random_state=seed), tag_sequences(data_home, seed), 150)


def trees(data_home, n_sweeps, seed):
    """A grammar of six symbols and no rules that are given, over the same tags."""
    model = CVBPCFG(
        n_components=6,
        alpha="auto",
        handle_unknown="smooth",
        max_iter=n_sweeps,
        random_state=seed,
    )
    return foretold(model, tag_sequences(data_home, seed), 150)


def rows(settings):
    """What is measured, by title: whether learning waits, ``value(seed)``, and if counts matter."""
    home, quick = settings.data_home, settings.quick
    chain, letter, tree = (40, 40, 30) if quick else (_CHAIN_SWEEPS, _LETTER_SWEEPS, _TREE_SWEEPS)
    sizes = (60, 60) if quick else (250, 500)
    token = {"update": "token"}
    return {
        f"{sizes[0]} sentences, CVB sequence": (0, partial(tagged, sizes[0], CVBHMMTagger, {}), 1),
        f"{sizes[0]} sentences, CVB token": (0, partial(tagged, sizes[0], CVBHMMTagger, token), 1),
        "more sentences, CVB sequence": (0, partial(tagged, sizes[1], CVBHMMTagger, {}), 1),
        "more sentences, VB": (0, partial(tagged, sizes[1], VBHMMTagger, {}), 0),
        "letters of Alice, 10 states, CVB sequence": (1, partial(letters, home, letter), 1),
        "made-up chains, 6 states, CVB sequence": (1, partial(made_up, CVBHMM, {}, chain), 1),
        "made-up chains, 6 states, CVB token": (1, partial(made_up, CVBHMM, token, chain), 1),
        "made-up chains, 6 states, VB": (1, partial(made_up, VBHMM, {}, chain), 0),
        "dependencies of tags, CVB": (1, partial(heads, home), 0),
        "grammars of six symbols, tags, CVB": (1, partial(trees, home, tree), 0),
    }


def run(settings):
    """Each row as it is, with counts as they are, and with the other wait.

    Returns ``"rows"``: by title whether it waits, and values by text of each form.
    """
    found, seeds = {}, range(2 if settings.quick else N_TEXTS)
    for title, (waits, value, has_counts) in rows(settings).items():
        values = {"as it is": [value(seed) for seed in seeds]}
        if has_counts:
            with counts_as_they_are():
                values["counts"] = [value(seed) for seed in seeds]
        with waiting(0 if waits else WARM_UP_SWEEPS):
            values["other wait"] = [value(seed) for seed in seeds]
        found[title] = {"waits": bool(waits), "values": values}
    return {"rows": found}


def tables(results):
    """Means over texts; in brackets differences from what the package does."""
    header = ["", "waits", "as it is", "expected counts as they are", "the other wait"]
    lines = [
        [
            title,
            "yes" if row["waits"] else "no",
            f"{fmean(row['values']['as it is']):.2f}",
            _beside(row["values"], "counts"),
            _beside(row["values"], "other wait"),
        ]
        for title, row in results["rows"].items()
    ]
    title = "Accuracy in pocket English (%), and perplexity of new sequences elsewhere"
    return {"departures": Table(header, lines, title)}


def _beside(values, form):
    """The mean of a form, with the mean difference and its standard error."""
    if form not in values:
        return ""
    gaps = np.subtract(values[form], values["as it is"]).tolist()
    error = stdev(gaps) / len(gaps) ** 0.5
    return f"{fmean(values[form]):.2f} ({fmean(gaps):+.2f}, {error:.2f})"


def draw(results, folder):
    """Nothing: the table is all."""
