"""Pocket English beside the journal: how the text is made up, and what the taggers make of it.

``make_pocket_english`` generates sentences. Whether an experiment on them says anything of real
text depends on what they have in common with it: how the vocabulary grows, how many words are seen
once, how much the dictionary leaves open.
"""

from collections import Counter
from itertools import chain

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import first_sentences
from sklearn_cvb import CVBHMMTagger, EMHMMTagger, VBHMMTagger
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.demo.experiment import ALGORITHMS, run_restarts
from sklearn_cvb.demo.experiment import DemoSettings as Fits
from sklearn_cvb.demo.text import ambiguity, load_text

SIZES = (250, 500, 1000, 2000, 4000, 8000)
_RANKS = 1000


def statistics(settings):
    """Both texts in figures, at several sizes.

    Returns ``"rows"``: per text and number of sentences what `described` gives. ``"tags"``: shares
    of the tags among the tokens of both texts.
    """
    sizes = SIZES[:3] if settings.quick else SIZES
    journal = first_sentences(settings)
    pocket = load_text(None, None, sizes[-1], 1, 0)
    rows = [
        {"text": name, "n_sentences": n} | described(text._replace(X=text.X[:n]))
        for n in sizes
        for name, text in (("journal", journal), ("pocket English", pocket))
    ]
    shares = [tag_shares(text.y[: sizes[-1]]) for text in (journal, pocket)]
    thousands = [text.X[:1000] for text in (journal, pocket)]
    frequencies = [[100 * count / sum(map(len, X)) for count in ranked(X)] for X in thousands]
    curves = [growth(text.X[: sizes[-1]]) for text in (journal, pocket)]
    return {"rows": rows, "tags": shares, "frequencies": frequencies, "growth": curves}


def described(text):
    """Vocabulary and ambiguity of a text."""
    counts = Counter(chain.from_iterable(text.X))
    lengths = [len(sentence) for sentence in text.X]
    size = ambiguity(text)
    frequencies = np.array(ranked(text.X))
    slope, _ = np.polyfit(np.log(np.arange(1, len(frequencies) + 1)), np.log(frequencies), 1)
    return {
        "n_tokens": size.n_tokens,
        "n_types": len(counts),
        "once": float(np.mean([count == 1 for count in counts.values()])),
        "length": float(np.mean(lengths)),
        "length_deviation": float(np.std(lengths)),
        "ambiguous": size.ambiguous,
        "ambiguous_types": float(np.mean([len(text.dictionary[word]) > 1 for word in counts])),
        "tags_per_token": size.tags_per_token,
        "random_choice": size.random_choice,
        "slope": float(slope),
    }


def ranked(X):
    """Frequencies of the most frequent words, falling."""
    counts = Counter(chain.from_iterable(X))
    return [count for _, count in counts.most_common(_RANKS)]


def growth(X):
    """Points (tokens, types) along a text."""
    seen, points = set(), []
    for n_tokens, word in enumerate(chain.from_iterable(X), start=1):
        seen.add(word)
        if n_tokens % 1000 == 0:
            points.append((n_tokens, len(seen)))
    return points


def tag_shares(y):
    """Share of each tag among the tokens."""
    counts = Counter(chain.from_iterable(y))
    return {tag: count / counts.total() for tag, count in counts.most_common()}


def accuracies(settings):
    """Accuracy of the main job's taggers on texts of several seeds, and on the journal.

    Returns ``"pocket English"``: by algorithm the mean accuracy on each text; ``"journal"``: by
    algorithm the accuracy of each start.
    """
    seeds, restarts = (range(2), 1) if settings.quick else (range(8), 3)
    n_sentences, gibbs = (200, 50) if settings.quick else (1000, 500)
    fits = Fits({}, {}, 1, restarts, 50, gibbs, settings.n_jobs, 0)
    texts = {seed: load_text(None, None, n_sentences, 1, seed) for seed in seeds}
    journal = first_sentences(settings, n_sentences)
    found = {"pocket English": {}, "journal": {}}
    for name in ALGORITHMS:
        found["pocket English"][name] = [
            float(np.mean(_accuracies(name, text, fits._replace(seed=seed))))
            for seed, text in texts.items()
        ]
        found["journal"][name] = _accuracies(name, journal, fits)
    return found | {"n_sentences": n_sentences}


def _accuracies(name, text, fits):
    return [restart.accuracy for restart in run_restarts(name, text, fits, lambda: None)]


def restarts(settings):
    """The default start of taggers, and the best of it and four random ones by the objective.

    Returns ``"rows"``: by algorithm and text the accuracies of both, and what the objective gains.
    """
    n_sentences, n_texts, n_init = (100, 1, 2) if settings.quick else (800, 3, 5)
    known, rows = pocket_english_dictionary(), []
    for seed in range(n_texts):
        text = make_pocket_english(n_sentences, random_state=seed)
        words = set(chain.from_iterable(text.data))
        legal = {word: tags for word, tags in known.items() if word in words}
        for name, kind in (("EM", EMHMMTagger), ("VB", VBHMMTagger), ("CVB", CVBHMMTagger)):
            one = kind(legal, random_state=seed).fit(text.data)
            best = kind(legal, n_init=n_init, random_state=seed).fit(text.data)
            found = [float(tagger.score(text.data, text.target)) for tagger in (one, best)]
            gain = float(best.objective_ - best.restart_objectives_[0])
            rows.append({"algorithm": name, "text": seed, "accuracies": found, "gain": gain})
    return {"rows": rows, "n_sentences": n_sentences, "n_init": n_init}


PARTS = {"statistics": statistics, "accuracies": accuracies, "restarts": restarts}


def tables(results):
    """Statistics of the texts, shares of tags, accuracies."""
    found = {}
    if "statistics" in results:
        found["statistics"] = _statistics(results["statistics"])
        found["tags"] = _tags(results["statistics"])
    if "accuracies" in results:
        found["accuracies"] = _table_of_accuracies(results["accuracies"])
    if "restarts" in results:
        found["restarts"] = _table_of_restarts(results["restarts"])
    return found


def _statistics(part):
    header = [
        "sentences",
        "text",
        "tokens",
        "types",
        "types seen once, %",
        "sentence length (standard deviation)",
        "tokens with several tags, %",
        "types with several tags, %",
        "tags per token",
        "random choice right, %",
        "Zipf slope",
    ]
    rows = [
        [
            f"{row['n_sentences']:,}",
            row["text"],
            f"{row['n_tokens']:,}",
            f"{row['n_types']:,}",
            f"{100 * row['once']:.0f}",
            f"{row['length']:.1f} ({row['length_deviation']:.1f})",
            f"{100 * row['ambiguous']:.1f}",
            f"{100 * row['ambiguous_types']:.0f}",
            f"{row['tags_per_token']:.2f}",
            f"{100 * row['random_choice']:.1f}",
            f"{row['slope']:.2f}",
        ]
        for row in part["rows"]
    ]
    return Table(header, rows, "The first sentences of both texts")


def _tags(part):
    journal, pocket = part["tags"]
    rows = [
        [f"``{tag}``", f"{100 * share:.1f}", f"{100 * pocket.get(tag, 0):.1f}"]
        for tag, share in journal.items()
        if share >= 0.01
    ]
    return Table(["tag", "journal", "pocket English"], rows, "Tags, % of the tokens")


def _table_of_accuracies(part):
    rows = [
        [
            ALGORITHMS[name].title,
            plus_minus(part["pocket English"][name], scale=100),
            plus_minus(part["journal"][name], scale=100),
        ]
        for name in part["journal"]
    ]
    header = ["", "pocket English: mean (standard deviation) over texts", "journal: over starts"]
    return Table(header, rows, f"{part['n_sentences']:,} sentences: % of tokens right")


def _table_of_restarts(part):
    rows = []
    for name in dict.fromkeys(row["algorithm"] for row in part["rows"]):
        own = [row for row in part["rows"] if row["algorithm"] == name]
        one, best = zip(*(row["accuracies"] for row in own), strict=True)
        each = [[f"{100 * value:.1f}" for value in values] for values in (one, best)]
        gains = [f"{row['gain']:.3f}" for row in own]
        rows.append([name, *(", ".join(values) for values in (*each, gains))])
    header = [
        "",
        "default start, % right",
        f"best of {part['n_init']}",
        "objective gains, nats (CVB: per token)",
    ]
    return Table(header, rows, f"Restarts, texts of {part['n_sentences']} sentences, one by one")


def draw(results, folder):
    """Growth of the vocabulary, and frequency by rank."""
    from matplotlib.figure import Figure

    if "statistics" not in results:
        return
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = ("journal", "pocket English")
    for name, points in zip(names, results["statistics"]["growth"], strict=True):
        left.plot(*np.transpose(points) / 1000, label=name)
    for name, counts in zip(names, results["statistics"]["frequencies"], strict=True):
        right.loglog(range(1, len(counts) + 1), counts, label=name)
    left.set(xlabel="thousand tokens", ylabel="thousand types", title="growth of the vocabulary")
    right.set(xlabel="rank", ylabel="% of the tokens", title="words of 1,000 sentences")
    for panel in (left, right):
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    figure.savefig(folder / "pocket_english_words.png", dpi=110)
