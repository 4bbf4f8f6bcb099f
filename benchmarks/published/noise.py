"""Wrong tags in a harvested dictionary: what they cost, and what weights and labels bring back.

A dictionary harvested from tagged text lists every slip as a legal tag. Here slips are planted: of
every hundred word types, ranked by frequency, a few get one wrong tag each, seen once. Learners
then know nothing but raw sentences and this dictionary, or more: how often each tag was seen
(weights), the dictionary without rare tags (pruned), some sentences tagged by hand (labels).
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.published.settings import run_parts
from benchmarks.published.tables import list_table, plus_minus
from benchmarks.published.text import whole
from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.demo.experiment import ALGORITHMS
from sklearn_cvb.metrics import token_accuracy

# Tags that make up less than this share of a word's uses are pruned.
MIN_SHARE = 0.01
# Plain dictionary, with weights, pruned, then with so many labelled sentences.
CONDITIONS = (
    "plain",
    "weights",
    "weights of other text",
    "pruned",
    "pruned, weights",
    "10",
    "30",
    "100",
    "weights, 30",
)
TITLES = {"wsj": "Wall Street Journal", "brown": "Brown"}
ALPHAS, BETAS = (0.1, 0.3, 1.0, 3.0), (0.003, 0.01, 0.03, 0.1, 0.3)
# What each algorithm reports without any tagged text.
CRITERIA = {
    "vb": ("bound", "held-out"),
    "cvb-token": ("leave-one-out", "held-out"),
    "cvb-sequence": ("leave-one-out", "held-out"),
}


class Noisy(NamedTuple):
    """Sentences, their gold tags, and dictionaries with planted slips.

    `weights` say how often each tag was seen in the whole corpus, `elsewhere` how often outside the
    sentences.
    """

    X: list
    y: list
    weights: dict
    elsewhere: dict


class Size(NamedTuple):
    """How much is run."""

    corpora: tuple
    n_sentences: int
    rates: tuple
    seeds: tuple
    conditions: tuple
    algorithms: tuple
    sweeps: int
    gibbs_sweeps: int
    alphas: tuple
    betas: tuple
    searched_rates: tuple


FULL = Size(
    ("wsj", "brown"),
    1000,
    (0, 1, 3, 5),
    (0, 1, 2),
    CONDITIONS,
    tuple(ALGORITHMS),
    50,
    400,
    ALPHAS,
    BETAS,
    (0, 3),
)
QUICK = Size(
    ("wsj",),
    300,
    (0, 3),
    (0,),
    ("plain", "weights", "weights of other text", "pruned", "30"),
    tuple(ALGORITHMS),
    15,
    40,
    (0.3, 1.0),
    (0.01, 0.1),
    (3,),
)


def size_of(settings):
    """What the settings ask for."""
    return QUICK if settings.quick else FULL


def with_slips(X, weights, rate, seed):
    """Give some words of every hundred one wrong tag each, seen once.

    Parameters
    ----------
    X : list of list
        Sentences, which rank the words.
    weights : dict of dict
        How often each tag was seen with each word.
    rate : int
        Words hit in every hundred of the ranking, so also among the hundred most frequent.
    seed : int

    Returns
    -------
    dict of dict
        Of the words of `X` alone.
    """
    rng = np.random.default_rng(seed)
    ranked = [word for word, _ in Counter(word for row in X for word in row).most_common()]
    tags = sorted({tag for entry in weights.values() for tag in entry})
    noisy = {word: dict(weights[word]) for word in ranked}
    for begin in range(0, len(ranked), 100):
        block = ranked[begin : begin + 100]
        for index in rng.choice(len(block), min(rate, len(block)), replace=False):
            wrong = [tag for tag in tags if tag not in noisy[block[index]]]
            noisy[block[index]][wrong[rng.integers(len(wrong))]] = 1
    return noisy


def noisy_text(settings, corpus, rate, seed):
    """The first sentences of a corpus, with slips in the dictionary of all of it."""
    bunch, n = whole(corpus, settings.data_home), size_of(settings).n_sentences
    X, y = bunch.data[:n], bunch.target[:n]
    weights = tag_dictionary_from(bunch.data, bunch.target, weights=True)
    others = tag_dictionary_from(bunch.data[n:], bunch.target[n:], weights=True)
    noisy = with_slips(X, weights, rate, seed)
    return Noisy(X, y, noisy, counted_elsewhere(noisy, weights, others))


def counted_elsewhere(noisy, weights, others):
    """The noisy dictionary with the counts of other text; planted tags are still seen once.

    Words that the other text lacks keep their tags and have no weights.
    """
    dictionary = {}
    for word, entry in noisy.items():
        seen = others.get(word)
        dictionary[word] = tuple(entry)
        if seen:
            dictionary[word] = {
                tag: seen.get(tag, 0) if tag in weights[word] else 1 for tag in entry
            }
    return dictionary


def pruned(weights):
    """The dictionary without tags below `MIN_SHARE`; the most frequent tag stays."""
    return {
        word: {
            tag: count
            for tag, count in entry.items()
            if count >= min(MIN_SHARE * sum(entry.values()), max(entry.values()))
        }
        for word, entry in weights.items()
    }


def dictionary_for(condition, text):
    """What a learner is told about words under a condition."""
    if "other text" in condition:
        return text.elsewhere
    weights = text.weights
    if "pruned" in condition:
        weights = pruned(weights)
    return weights if "weights" in condition else {word: tuple(e) for word, e in weights.items()}


def labelled_for(condition, text, seed):
    """Sentences that are tagged by hand, drawn at random."""
    number = condition.split(", ")[-1]
    if not number.isdigit():
        return np.empty(0, int)
    return np.random.default_rng(seed).choice(len(text.X), int(number), replace=False)


def tagger_for(name, dictionary, size, seed, **changes):
    """An unfitted tagger with its usual alpha and beta."""
    algorithm = ALGORITHMS[name]
    sweeps = size.gibbs_sweeps if name == "gibbs" else size.sweeps
    settings = {"max_iter": sweeps, "tol": 0, "handle_unknown": "error", "random_state": seed}
    return algorithm.tagger(dictionary, **algorithm.arguments | settings | changes)


def accuracy_of(name, condition, text, size, seed):
    """Token accuracy on the sentences that nobody tagged."""
    labelled = set(labelled_for(condition, text, seed).tolist())
    y = [tags if i in labelled else None for i, tags in enumerate(text.y)]
    tagger = tagger_for(name, dictionary_for(condition, text), size, seed)
    labels = tagger.fit_predict(text.X, y if labelled else None)
    rest = [i for i in range(len(text.X)) if i not in labelled]
    return token_accuracy([text.y[i] for i in rest], [labels[i] for i in rest])


def dictionaries(settings):
    """Accuracy of every algorithm under every condition, at every rate of slips.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
        ``"rows"``: per text and rate the tags a token, and accuracies of all seeds by condition
        and algorithm.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for rate in size.rates:
            texts = {seed: noisy_text(settings, corpus, rate, seed) for seed in size.seeds}
            open_tags = [
                np.mean([len(text.weights[word]) for row in text.X for word in row])
                for text in texts.values()
            ]
            found = {
                condition: {
                    name: [
                        accuracy_of(name, condition, text, size, seed)
                        for seed, text in texts.items()
                    ]
                    for name in size.algorithms
                }
                for condition in size.conditions
            }
            rows.append({"corpus": corpus, "rate": rate, "tags": open_tags, "accuracies": found})
    return {"rows": rows, "sentences": size.n_sentences, "seeds": list(size.seeds)}


def concentrations(settings):
    """How well criteria without labels choose alpha and beta.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
        ``"rows"``: per text, rate, dictionary and algorithm every alpha and beta with its
        accuracy and its criteria.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for rate in size.searched_rates:
            text = noisy_text(settings, corpus, rate, 0)
            for condition in ("plain", "weights", "pruned"):
                dictionary = dictionary_for(condition, text)
                rows += [
                    {"corpus": corpus, "rate": rate, "condition": condition, "algorithm": name}
                    | {"grid": searched(name, text, dictionary, size)}
                    for name in CRITERIA
                ]
    return {"rows": rows}


def searched(name, text, dictionary, size):
    """Accuracy and criteria of every alpha and beta; a tenth is held out for the perplexity."""
    held_out = np.arange(len(text.X)) % 10 == 0
    training = [row for row, out in zip(text.X, held_out, strict=True) if not out]
    rest = [row for row, out in zip(text.X, held_out, strict=True) if out]
    vocabulary = sorted({word for row in text.X for word in row})
    grid = []
    for alpha in size.alphas:
        for beta in size.betas:
            tagger = tagger_for(name, dictionary, size, 0, alpha=alpha, beta=beta)
            labels = tagger.fit_predict(text.X)
            part = tagger_for(
                name, dictionary, size, 0, alpha=alpha, beta=beta, vocabulary=vocabulary
            )
            grid.append(
                {
                    "alpha": alpha,
                    "beta": beta,
                    "accuracy": token_accuracy(text.y, labels),
                    CRITERIA[name][0]: tagger.objective_,
                    "held-out": part.fit(training).score(rest),
                }
            )
    return grid


PARTS = {"dictionaries": dictionaries, "concentrations": concentrations}


def run(settings):
    """Run both parts.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)


def choice(grid, criterion):
    """What a criterion chooses from a grid.

    Returns
    -------
    dict
        ``"chosen"``, ``"best"``: accuracies of the choice and of the best of the grid;
        ``"at"``: alpha and beta of the choice; ``"rank"``: Spearman's correlation with accuracy.
    """
    scores = [point[criterion] for point in grid]
    accuracies = [point["accuracy"] for point in grid]
    pick = grid[int(np.argmax(scores))]
    return {
        "chosen": pick["accuracy"],
        "at": (pick["alpha"], pick["beta"]),
        "best": max(accuracies),
        "rank": float(spearmanr(scores, accuracies).statistic),
    }


def tables(results):
    """Accuracies by condition, and what each criterion chooses.

    Parameters
    ----------
    results : dict

    Returns
    -------
    str
    """
    parts = []
    if "dictionaries" in results:
        parts += _accuracy_tables(results["dictionaries"])
    if "concentrations" in results:
        parts.append(_choice_table(results["concentrations"]))
    return "\n".join(parts)


def _heading(condition):
    return f"{condition} labelled" if condition.split(", ")[-1].isdigit() else condition


def _accuracy_tables(results):
    """One table for each text."""
    for corpus in dict.fromkeys(row["corpus"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["corpus"] == corpus]
        conditions = list(rows[0]["accuracies"])
        cells = [
            [
                row["rate"],
                plus_minus(row["tags"], digits=2),
                ALGORITHMS[name].title,
                *(plus_minus(row["accuracies"][c][name], scale=100) for c in conditions),
            ]
            for row in rows
            for name in rows[0]["accuracies"][conditions[0]]
        ]
        header = ["slips per 100 types", "tags a token", "algorithm", *map(_heading, conditions)]
        title = f"{TITLES[corpus]}, {results['sentences']:,} sentences: % of tokens right"
        yield list_table(header, cells, title)


def _choice_table(results):
    header = ["text", "slips", "dictionary", "algorithm", "best of grid", "criterion"]
    header += ["its choice", "alpha, beta", "rank correlation"]
    cells = []
    for row in results["rows"]:
        for criterion in CRITERIA[row["algorithm"]]:
            found = choice(row["grid"], criterion)
            cells.append(
                [
                    TITLES[row["corpus"]],
                    row["rate"],
                    row["condition"],
                    ALGORITHMS[row["algorithm"]].title,
                    f"{100 * found['best']:.1f}",
                    criterion,
                    f"{100 * found['chosen']:.1f}",
                    "{:g}, {:g}".format(*found["at"]),
                    f"{found['rank']:.2f}",
                ]
            )
    return list_table(header, cells, "Choosing alpha and beta without labels: % of tokens right")


def draw(results, folder):
    """Accuracy by rate of slips, one panel for each algorithm and text.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if "dictionaries" not in results:
        return
    found = results["dictionaries"]["rows"]
    corpora = list(dict.fromkeys(row["corpus"] for row in found))
    names = list(next(iter(found[0]["accuracies"].values())))
    figure, axes = plt.subplots(
        len(corpora),
        len(names),
        figsize=(2.6 * len(names) + 1.5, 2.6 * len(corpora) + 0.8),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for line, corpus in zip(axes, corpora, strict=True):
        rows = [row for row in found if row["corpus"] == corpus]
        for axis, name in zip(line, names, strict=True):
            _draw_panel(axis, rows, name)
            axis.set_title(f"{ALGORITHMS[name].title}, {TITLES[corpus]}", fontsize=9)
        line[0].set_ylabel("% of tokens right")
    for axis in axes[-1]:
        axis.set_xlabel("slips per 100 word types")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(8, len(labels)))
    figure.savefig(folder / "noise_accuracy.png", dpi=120)
    plt.close(figure)


def _draw_panel(axis, rows, name):
    rates = [row["rate"] for row in rows]
    for condition in rows[0]["accuracies"]:
        means = [100 * np.mean(row["accuracies"][condition][name]) for row in rows]
        dashed = condition.split(", ")[-1].isdigit()
        axis.plot(rates, means, "o--" if dashed else "s-", ms=3, label=_heading(condition))
    axis.grid(alpha=0.3)
    axis.set_xticks(rates)
