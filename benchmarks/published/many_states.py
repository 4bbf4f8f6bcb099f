"""Many states: 4,096 of them, of which each word may take a few.

Letters of Alice and words of the Wall Street Journal, each with states of its own (clones, after
George et al. 2021), and words in clusters, each of which has states of its own. Beside them are
models whose words may take any state, and n-grams of NLTK. A word that the training part has fewer
than five times is the unknown word, there and in the part held out, so that all models know the
same words. Counts, clusters and dictionaries are of the training part alone.
"""

from collections import Counter
from functools import partial
from itertools import count, pairwise
from math import exp, log
from time import process_time, thread_time
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, hstack
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks.published.tables import Table
from benchmarks.published.text import first_sentences
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    CVBHMMTagger,
    EMHMMTagger,
    Symbols,
    TagDictionary,
    VBHMMTagger,
)
from sklearn_cvb.datasets import fetch_alice

UNKNOWN = "<unknown>"
N_STATES, N_DENSE, N_SMALL, N_CLUSTERS = 4096, 1024, 45, 128
SWEEPS, DENSE_SWEEPS = 15, 8
FEWEST = 5  # times that the training part has a known word
# Prior counts of a whole row of transitions: of letters, and of words.
ROW = {"clones": 3.0, "shares": 30.0}


class Text(NamedTuple):
    """Sequences to learn from, and sequences held out."""

    train: list
    test: list

    @property
    def counts(self):
        """How often the training part has each word."""
        return Counter(word for sequence in self.train for word in sequence)

    @property
    def n_tokens(self):
        """Tokens of the training part and of the part held out."""
        return tuple(sum(map(len, part)) for part in self)


class Clock:
    """A callback: processor seconds of a sweep, start and decoding left out."""

    def __init__(self):
        self.times = []

    def setup(self, estimator, context):
        """A fit begins."""

    def teardown(self, estimator, context):
        """A fit is over."""

    def on_fit_task_begin(self, estimator, context):
        """A sweep's task begins when the sweep is done."""
        if context.task_name == "sweep":
            self.times.append(thread_time())

    def on_fit_task_end(self, estimator, context):
        """Nothing is asked of the fitted estimator."""

    @property
    def seconds(self):
        """Of one sweep: the mean without the first, which may compile."""
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)


def letters(settings):
    """The first sentences of Alice to learn from, and some near its end; the last chose alpha."""
    book = fetch_alice(data_home=settings.data_home).data
    n_train, n_test = (20, 5) if settings.quick else (220, 100)
    return with_unknown(Text(book[:n_train], book[-100 - n_test : -100]))


def words(settings):
    """Sentences of the journal, the last ones held out."""
    n_train, n_test = (50, 10) if settings.quick else (4500, 400)
    sentences = first_sentences(settings, n_train + n_test).X
    return with_unknown(Text(sentences[:n_train], sentences[n_train:]))


def with_unknown(text):
    """The same text, in which words that the training part has too few times are unknown."""
    known = {word for word, n_times in text.counts.items() if n_times >= FEWEST}
    return Text(
        *([[word if word in known else UNKNOWN for word in x] for x in part] for part in text)
    )


def clones(text, n_states):
    """States of each word's own: equally many, as befits letters."""
    n_own = n_states // len(text.counts)
    return numbered(dict.fromkeys(text.counts, n_own))


def clones_by_count(text, n_states):
    """States of each word's own, by the root of how often it was seen; at least one."""
    roots = {word: count**0.5 for word, count in text.counts.items()}
    for scale in np.geomspace(n_states, 1e-4, 1000):
        n_own = {word: max(1, int(scale * root)) for word, root in roots.items()}
        if sum(n_own.values()) <= n_states:
            break
    return numbered(n_own)


def numbered(n_own):
    """As many states for each word as are said, each with a number."""
    number = count()
    return {word: [next(number) for _ in range(n)] for word, n in n_own.items()}


def clusters(text, n_states, n_clusters):
    """States of each cluster's own; words with like neighbours are in the same one."""
    vocabulary = sorted(text.counts)
    number = {word: i for i, word in enumerate(vocabulary)}
    pairs = [(number[a], number[b]) for x in text.train for a, b in pairwise(x)]
    shape = len(vocabulary), len(vocabulary)
    after = coo_array((np.ones(len(pairs)), np.transpose(pairs)), shape).tocsr()
    rows = normalize(hstack([after, after.T]).tocsr().log1p())
    found = normalize(
        TruncatedSVD(min(50, len(vocabulary) - 1), random_state=0).fit_transform(rows)
    )
    owner = KMeans(min(n_clusters, len(vocabulary)), random_state=0).fit_predict(found)
    n_own = n_states // n_clusters
    return {
        word: list(range(n_own * cluster, n_own * (cluster + 1)))
        for word, cluster in zip(vocabulary, owner.tolist(), strict=True)
    }


def by_share(text, entries):
    """Prior cells of transitions: each state's share of the tokens, if words use theirs equally."""
    share = Counter()
    for word, n_times in text.counts.items():
        share.update(dict.fromkeys(entries[word], n_times / len(entries[word])))
    row = np.array([share[state] for state in sorted(share)]) / text.counts.total()
    return np.tile(ROW["shares"] * row, (len(row), 1))


def measured(model, text):
    """Perplexity of the part held out, and processor seconds, of a model with a clock."""
    clock = Clock()
    model.set_params(emission=Symbols(handle_unknown="error"), tol=0, random_state=0)
    model.set_callbacks(clock).fit(text.train)
    model.score(text.test[:1])
    begin = process_time()
    perplexity = float(model.perplexity(text.test))
    seconds = process_time() - begin
    return {
        "perplexity": perplexity,
        "sweeps": model.n_iter_,
        "sweep": 1000 * clock.seconds / text.n_tokens[0],
        "score": 1000 * seconds / text.n_tokens[1],
    }


def dense(model, n_states, sweeps, text, settings):
    """A model whose words may take any state."""
    n_states, sweeps = (n_states // 16 + 2, 3) if settings.quick else (n_states, sweeps)
    found = measured(model(n_states, max_iter=sweeps), text)
    return found | {"states": n_states, "each": n_states}


def sparse(model, dictionary, n_states, text, settings, is_by_share=False):
    """A model with a dictionary; `each` is how many states a token may take, on the average."""
    n_states, sweeps = (n_states // 4, 3) if settings.quick else (n_states, SWEEPS)
    entries = dictionary(text, n_states)
    told = TagDictionary(entries, denoise="none")
    alpha = by_share(text, entries) if is_by_share else ROW["clones"] / n_states
    found = measured(model(told, alpha=alpha, max_iter=sweeps), text)
    n_each = sum(n_times * len(entries[word]) for word, n_times in text.counts.items())
    return found | {
        "states": len({state for own in entries.values() for state in own}),
        "each": n_each / text.counts.total(),
    }


def n_gram(order, text, settings):
    """NLTK's n-gram with Witten and Bell's smoothing; as the chains it foresees no ends."""
    from nltk.lm import Vocabulary, WittenBellInterpolated
    from nltk.util import everygrams

    def padded(x):
        return ["<s>"] * (order - 1) + list(x)

    model = WittenBellInterpolated(order, vocabulary=Vocabulary(text.counts))
    grams = [
        [gram for gram in everygrams(padded(x), max_len=order) if gram[-1] != "<s>"]
        for x in text.train
    ]
    model.fit(grams)
    begin = process_time()
    total = 0.0
    for x in text.test:
        row = padded(x)
        for i in range(order - 1, len(row)):
            total += log(model.score(row[i], row[i - order + 1 : i]))
    seconds, n_test = process_time() - begin, text.n_tokens[1]
    return {"perplexity": exp(-total / n_test), "score": 1000 * seconds / n_test}


SMALL = {
    "CVB, 45 states": partial(dense, CVBHMM, N_SMALL, SWEEPS),
    "EM, 45 states": partial(dense, EMHMM, N_SMALL, SWEEPS),
}
IN_CLUSTERS = partial(sparse, CVBHMMTagger, partial(clusters, n_clusters=N_CLUSTERS))
MODELS = {
    "letters": {
        "trigram": partial(n_gram, 3),
        "6-gram": partial(n_gram, 6),
        **SMALL,
        "VB, 1,024 clones": partial(sparse, VBHMMTagger, clones, N_DENSE),
        "CVB, 1,024 clones": partial(sparse, CVBHMMTagger, clones, N_DENSE),
        "EM, 1,024 clones": partial(sparse, EMHMMTagger, clones, N_DENSE),
        "EM, 4,096 clones": partial(sparse, EMHMMTagger, clones, N_STATES),
    },
    "words": {
        "trigram": partial(n_gram, 3),
        **SMALL,
        "CVB, 1,024 in clusters": partial(IN_CLUSTERS, N_DENSE, is_by_share=True),
        "CVB, 4,096 in clusters": partial(IN_CLUSTERS, N_STATES, is_by_share=True),
        "CVB, 4,096 clones": partial(
            sparse, CVBHMMTagger, clones_by_count, N_STATES, is_by_share=True
        ),
    },
}
# Its sweeps take longer than all others together.
LARGE = {"letters": {"EM, 1,024 states": partial(dense, EMHMM, N_DENSE, DENSE_SWEEPS)}}
READERS = {"letters": letters, "words": words}
TITLES = {
    "letters": "Letters of Alice: {:,} to learn from, {:,} held out",
    "words": "Words of the journal: {:,} to learn from, {:,} held out",
}


def part(name, models, settings):
    """What each model finds on a text."""
    text = READERS[name](settings)
    cells = {}
    for title, model in models[name].items():
        cells[title] = model(text, settings)
        print(name, title, *cells[title].items(), flush=True)
    return {"cells": cells, "n_tokens": text.n_tokens, "n_words": len(text.counts)}


PARTS = {
    "words": partial(part, "words", MODELS),
    "letters": partial(part, "letters", MODELS),
    "dense": partial(part, "letters", LARGE),
}


def tables(results):
    """Perplexity and price of each model, a table for each text."""
    found = {}
    for name, title in TITLES.items():
        of_text = (name, "dense") if name == "letters" else (name,)
        parts = [results[part] for part in of_text if part in results]
        cells = {row: cell for part in parts for row, cell in part["cells"].items()}
        if cells:
            rows = [_row(title, cell) for title, cell in cells.items()]
            found[name] = Table(HEADER, rows, title.format(*parts[0]["n_tokens"]))
    return found


HEADER = [
    "model",
    "held-out perplexity",
    "states a token may take",
    "sweeps",
    "seconds per sweep of 1,000 tokens",
    "seconds to score 1,000 tokens",
]


def _row(title, cell):
    """Cells that a model does not have are empty."""
    shown = [f"{cell['perplexity']:.4g}"]
    shown.append(f"{cell['each']:,.0f}" if "each" in cell else "")
    shown.append(cell.get("sweeps", ""))
    shown.append(f"{cell['sweep']:.2g}" if "sweep" in cell else "")
    return [title, *shown, f"{cell['score']:.2g}"]


def draw(results, folder):
    """The tables say it all."""
