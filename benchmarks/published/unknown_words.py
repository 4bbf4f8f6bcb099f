"""Words that a dictionary lacks: how well taggers judge them by their form.

A dictionary with counts comes from some sentences of a corpus, the text to be tagged is others:
4,000 and 2,000, or three fifths and the rest of development and test file of a small treebank.
Learners have the raw text and the dictionary, or the tagged sentences of the dictionary as well;
other libraries' taggers learn from the tagged sentences alone.
"""

from collections import Counter
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from benchmarks.published.dmv_knowledge import TREEBANKS
from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import universal_tags
from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    Symbols,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.chain.tags.word_forms import shape_of
from sklearn_cvb.datasets import fetch_brown, fetch_mac_morpho, fetch_wsj

# NLTK's beam of 1,000 takes a minute for what this takes seconds for, and finds the same.
_BEAM = 100
# Words with more uses teach no endings.
_MOST_USES = 10


def nltk_tnt(tagged, tags, raw):
    """TnT; NLTK leaves unknown words to another tagger, here one by shape and last letters."""
    from nltk.tag.tnt import TnT

    sentences = _pairs(tagged, tags)
    tagger = TnT(unk=ByForm(sentences), Trained=True, N=_BEAM, C=True)
    tagger.train(sentences)
    return [[tag for _, tag in tagger.tag(words)] for words in raw]


class ByForm:
    """NLTK's taggers by one to five last letters, learned from rarer words of one shape each."""

    def __init__(self, sentences):
        from nltk import AffixTagger, DefaultTagger

        seen = Counter(word for row in sentences for word, _ in row)
        rare = [pair for row in sentences for pair in row if seen[pair[0]] <= _MOST_USES]
        by_shape = {}
        for word, tag in rare:
            by_shape.setdefault(shape_of(word), []).append([(word, tag)])
        self.taggers = {}
        for shape, pairs in [(None, [[pair] for pair in rare]), *by_shape.items()]:
            usual = Counter(tag for ((_, tag),) in pairs).most_common(1)[0][0]
            self.taggers[shape] = DefaultTagger(usual)
            for length in range(1, 6):
                self.taggers[shape] = AffixTagger(
                    pairs,
                    affix_length=-length,
                    min_stem_length=0,
                    backoff=self.taggers[shape],
                )

    def tag(self, words):
        """Words with their tags, as NLTK's taggers give them."""
        taggers = [self.taggers.get(shape_of(word), self.taggers[None]) for word in words]
        return [tagger.tag([word])[0] for tagger, word in zip(taggers, words, strict=True)]


def nltk_hmm(tagged, tags, raw):
    """NLTK's supervised hidden Markov model, with Lidstone's estimates."""
    from nltk.probability import LidstoneProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    sentences = _pairs(tagged, tags)
    words = {word for row in tagged for word in row} | {word for row in raw for word in row}
    states = sorted({tag for row in tags for tag in row})
    trainer = HiddenMarkovModelTrainer(states, sorted(words))
    tagger = trainer.train_supervised(
        sentences, estimator=lambda counts, bins: LidstoneProbDist(counts, 0.1, bins)
    )
    return [[tag for _, tag in tagger.tag(words)] for words in raw]


def crfsuite(tagged, tags, raw):
    """A conditional random field learned by the averaged perceptron; None where not installed."""
    try:
        from sklearn_crfsuite import CRF
    except ImportError:
        return None
    model = CRF(algorithm="ap", max_iterations=10, all_possible_transitions=False)
    model.fit([_features(words) for words in tagged], tags)
    return model.predict([_features(words) for words in raw])


def _features(words):
    """What a conditional random field sees at each token."""
    padded = ["<s>", *words, "</s>"]
    return [
        {
            "word": word,
            "before": padded[t],
            "after": padded[t + 2],
            "shape": str(shape_of(word)),
            "first": t == 0,
            **{f"suffix {n}": word.lower()[-n:] for n in range(1, min(4, len(word)) + 1)},
            **{f"prefix {n}": word[:n].lower() for n in range(1, 4)},
        }
        for t, word in enumerate(words)
    ]


def _pairs(sentences, tags):
    return [list(zip(*both, strict=True)) for both in zip(sentences, tags, strict=True)]


PEERS = {"nltk TnT": nltk_tnt, "nltk HMM": nltk_hmm, "sklearn-crfsuite": crfsuite}

TITLES = {
    "wsj": "Wall Street Journal",
    "mac_morpho": "Mac-Morpho",
    "brown": "Brown",
    **{name: title for name, (title, _) in TREEBANKS.items()},
}
KINDS = ("all", "known", "unknown")
_ORDER = {"tagged": 0, "raw": 1, "raw and tagged": 2}


FETCHERS = {
    "wsj": fetch_wsj,
    "mac_morpho": fetch_mac_morpho,
    "brown": fetch_brown,
    **{name: partial(universal_tags, name) for name in TREEBANKS},
}
# The part of a small corpus that makes the dictionary.
_OF_SMALL = 0.6
# The usual alpha and beta of text with a dictionary; EM is plain maximum likelihood.
CONCENTRATIONS = {"alpha": 1.0, "beta": 0.03}
TAGGERS = {
    "EM": (EMHMMTagger, {}),
    "VB": (VBHMMTagger, CONCENTRATIONS),
    "CVB": (CVBHMMTagger, CONCENTRATIONS),
    "CVB, weight 1": (CVBHMMTagger, CONCENTRATIONS | {"tag_dictionary__weight": 1.0}),
    "CVB, weight 3": (CVBHMMTagger, CONCENTRATIONS | {"tag_dictionary__weight": 3.0}),
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
    n = min(size.n_dictionary, int(_OF_SMALL * len(X)))
    drawn = np.random.default_rng(seed).permutation(len(X))[: n + size.n_raw]
    first, second = np.split(drawn, [n])
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
    return kind(split.dictionary).set_params(**usual | arguments | settings)


def ways(name, split, size, handled):
    """Tags found from raw text, with the tagged sentences as well, and from these alone."""
    n_raw = len(split.raw)
    yield (
        "raw",
        tagger_for(name, split, size, emission=Symbols(handle_unknown=handled)).fit_predict(
            split.raw
        ),
    )
    both = tagger_for(name, split, size, emission=Symbols(handle_unknown=handled))
    labels = both.fit_predict(split.tagged + split.raw, split.tags + [None] * n_raw)
    yield "raw and tagged", labels[-n_raw:]
    alone = tagger_for(name, split, size, emission=Symbols(handle_unknown=handled), max_iter=1)
    yield "tagged", alone.fit(split.tagged, split.tags).predict(split.raw)


def taggers(settings):
    """Accuracies of the taggers of this package.

    Returns ``"rows"``: per corpus, split, tagger, way to learn and handling of unknown words.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for seed in size.seeds:
            split = split_of(corpus, size, seed, settings.data_home)
            here = {"corpus": corpus, "seed": seed}
            here |= {"n_dictionary": len(split.tagged), "n_raw": len(split.raw)}
            found = accuracies(split, most_frequent(split))
            rows.append(here | {"tagger": "most frequent tag", "learns from": "tagged"} | found)
            for name in size.taggers:
                weighted = "tag_dictionary__weight" in TAGGERS[name][1]
                for handled in HANDLED[weighted:]:
                    for way, tags in ways(name, split, size, handled):
                        about = {"tagger": name, "unknown words": handled, "learns from": way}
                        rows.append(here | about | accuracies(split, tags))
    return {"rows": rows}


def peers(settings):
    """Accuracies of other libraries' taggers, where these are installed.

    Returns ``"rows"`` as those of `taggers`.
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
                    about |= {"n_dictionary": len(split.tagged), "n_raw": len(split.raw)}
                    rows.append(about | {"learns from": "tagged"} | accuracies(split, tags))
    return {"rows": rows}


PARTS = {"taggers": taggers, "peers": peers}


def merged(results):
    """Rows with the accuracies of all splits: by tagger, handling, way to learn and corpus."""
    rows = [row for part in ("taggers", "peers") for row in results.get(part, {}).get("rows", ())]
    found = {}
    for row in rows:
        key = row["tagger"], row.get("unknown words", ""), row["learns from"]
        for kind in KINDS:
            values = found.setdefault(key, {}).setdefault((row["corpus"], kind), [])
            values.append(row[kind])
    return dict(sorted(found.items(), key=lambda item: _ORDER[item[0][2]]))


def corpora_of(results):
    """Names of the corpora that were run."""
    first = next(part for part in results.values() if "rows" in part)
    return list(dict.fromkeys(row["corpus"] for row in first["rows"]))


def tables(results):
    """Accuracies of all tokens, of known and of unknown words, a table for each corpus."""
    about = next(part for part in results.values() if "rows" in part)
    tables = {}
    for corpus in corpora_of(results):
        own = [row for row in about["rows"] if row["corpus"] == corpus]
        shares = [row["share unknown"] for row in own]
        cells = [
            [*key, *(plus_minus(values[corpus, kind], scale=100) for kind in KINDS)]
            for key, values in merged(results).items()
            if (corpus, "all") in values
        ]
        title = (
            f"{TITLES[corpus]}: % of tokens right, dictionary of "
            f"{own[0]['n_dictionary']:,} sentences, {own[0]['n_raw']:,} others tagged, "
            f"{100 * np.mean(shares):.1f} % unknown"
        )
        header = ["tagger", "handle_unknown", "learns from", *KINDS]
        tables[corpus] = Table(header, cells, title)
    return tables


def draw(results, folder):
    """No pictures."""
