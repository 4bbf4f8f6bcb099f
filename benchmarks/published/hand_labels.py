"""What sentences tagged by hand add to a dictionary that lists wrong tags, too.

Of sentences drawn from a corpus a hundred are tagged by hand. Scored are the rest of them and
sentences that were not learned from. The dictionary is that of the whole corpus, mistakes and all,
or that of the text outside, in which some words get a wrong tag each.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.published.slips import with_slips
from benchmarks.published.tables import Table
from benchmarks.published.text import whole
from sklearn_cvb import CVBHMMTagger, EMHMMTagger, TagDictionary, VBHMMTagger, tag_dictionary_from
from sklearn_cvb.metrics import token_accuracy

TITLES = {
    "wsj": "journal",
    "brown": "Brown",
    "mac_morpho": "Mac-Morpho",
    "turkish": "Turkish",
}
DICTIONARIES = {
    "whole": "of all text",
    "outside": "of other text",
}
# Words of a hundred that get a wrong tag.
_SLIPS = 3


class Size(NamedTuple):
    """Corpora, sentences to learn from, to tag by hand and to score only, and draws of them."""

    corpora: tuple
    n_training: int
    n_labelled: int
    n_other: int
    n_draws: int


FULL = Size(tuple(TITLES), 1000, 100, 500, 3)
QUICK = Size(("turkish",), 150, 20, 100, 1)
# Turkish has 1,958 sentences: fewer of them are drawn, so that the dictionary has other text.
_SMALLER = {"turkish": 0.7}


class Draw(NamedTuple):
    """Sentences to learn from, with tags where they are labelled, others, and dictionaries."""

    X: list
    gold: list
    labelled: frozenset
    other: list
    other_gold: list
    weights: dict

    @property
    def y(self):
        """The tags of the labelled sentences."""
        return [tags if i in self.labelled else None for i, tags in enumerate(self.gold)]


class Way(NamedTuple):
    """How a row of the table is shown, and what the tagger is given."""

    title: str
    has_dictionary: bool = True
    has_counts: bool = False
    has_labels: bool = False
    denoise: str = "auto"
    tagger: type = CVBHMMTagger

    @property
    def is_with_whole(self):
        """Whether it is shown with the dictionary of the whole corpus, too.

        Counts of that would be those of the sentences that are scored.
        """
        return self.has_dictionary and not self.has_counts and self.tagger is CVBHMMTagger


WAYS = (
    Way("labels alone", has_dictionary=False, has_labels=True),
    Way("dictionary"),
    Way("dictionary, labels", has_labels=True),
    Way('the same, denoise="none"', has_labels=True, denoise="none"),
    Way("dictionary with counts", has_counts=True),
    Way("dictionary with counts, labels", has_counts=True, has_labels=True),
    Way("VB: dictionary", tagger=VBHMMTagger),
    Way("VB: dictionary, labels", has_labels=True, tagger=VBHMMTagger),
    Way("EM: dictionary", tagger=EMHMMTagger),
    Way("EM: dictionary, labels", has_labels=True, tagger=EMHMMTagger),
)


def draw_of(corpus, kind, seed, size, data_home):
    """Sentences drawn from a corpus, and a dictionary of `DICTIONARIES`, with counts."""
    bunch = whole(corpus, data_home)
    share = _SMALLER.get(corpus, 1.0)
    n, n_other = round(share * size.n_training), round(share * size.n_other)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(bunch.data))
    own, other, outside = np.split(order, [n, n + n_other])

    def sentences(which):
        return [bunch.data[i] for i in which], [bunch.target[i] for i in which]

    (X, gold), (other, other_gold) = sentences(own), sentences(other)
    if kind == "whole":
        weights = tag_dictionary_from(bunch.data, bunch.target, weights=True)
    else:
        weights = tag_dictionary_from(*sentences(outside), weights=True)
        listed = [[word for word in row if word in weights] for row in [*X, *other]]
        weights = weights | with_slips(listed, weights, _SLIPS, seed)
    labelled = frozenset(rng.choice(n, size.n_labelled, replace=False).tolist())
    return Draw(X, gold, labelled, other, other_gold, weights)


def accuracies(way, draw):
    """Tokens tagged right: of the sentences without labels, and of the other text."""
    entries = None
    if way.has_dictionary:
        entries = draw.weights
        if not way.has_counts:
            entries = {word: tuple(sorted(entry)) for word, entry in entries.items()}
    model = way.tagger(TagDictionary(entries, denoise=way.denoise), random_state=0)
    model.fit(draw.X, draw.y if way.has_labels else None)
    rest = [i for i in range(len(draw.X)) if i not in draw.labelled]
    return [
        token_accuracy([draw.gold[i] for i in rest], [model.labels_[i] for i in rest]),
        token_accuracy(draw.other_gold, list(model.predict(draw.other))),
    ]


def labels(settings):
    """Mean accuracies by dictionary and way, a pair for each corpus."""
    size = QUICK if settings.quick else FULL
    found = {kind: {way.title: {} for way in WAYS} for kind in DICTIONARIES}
    for corpus in size.corpora:
        for kind, by_way in found.items():
            draws = [
                draw_of(corpus, kind, seed, size, settings.data_home)
                for seed in range(size.n_draws)
            ]
            for way in WAYS:
                if kind == "whole" and not way.is_with_whole:
                    continue
                each = [accuracies(way, draw) for draw in draws]
                by_way[way.title][corpus] = each
                print(corpus, kind, way.title, np.mean(each, axis=0), flush=True)
    return {"found": found, "n_labelled": size.n_labelled}


def label_table(results):
    """Per cent of the tokens that are right: of the rest, and of other text."""
    rows, corpora = [], []
    for kind, by_way in results["found"].items():
        for title, by_corpus in by_way.items():
            if by_corpus:
                corpora = list(by_corpus)
                means = [100 * np.mean(each, axis=0) for each in by_corpus.values()]
                cells = [f"{rest:.1f}; {other:.1f}" for rest, other in means]
                rows.append([DICTIONARIES[kind], title, *cells])
    header = ["dictionary", "what is known", *(TITLES[corpus] for corpus in corpora)]
    title = f"Right, %, beside {results['n_labelled']} labelled sentences: their text; other text"
    return Table(header, rows, title)
