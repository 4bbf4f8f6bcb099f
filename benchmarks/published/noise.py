"""Wrong tags in a harvested dictionary: what they cost, and what weights and labels bring back.

A dictionary harvested from tagged text lists every mistake as a legal tag. Here wrong tags are
planted: of every hundred word types, ranked by frequency, a few get one wrong tag each, seen once.
Learners then know nothing but raw sentences and this dictionary, or more: how often each tag was
seen (weights), the dictionary without rare tags (pruned), some sentences tagged by hand (labels).
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.published.dmv_knowledge import TREEBANKS
from benchmarks.published.pictures import draw_dots, number
from benchmarks.published.slips import dictionary_for, labelled_for, noisy_text
from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import whole
from sklearn_cvb import CVBHMMTagger, tag_dictionary_from
from sklearn_cvb.demo.experiment import ALGORITHMS, COMPARED
from sklearn_cvb.metrics import token_accuracy

TITLES = {
    "wsj": "Wall Street Journal",
    "brown": "Brown",
    "mac_morpho": "Mac-Morpho",
    **{name: title for name, (title, _) in TREEBANKS.items()},
}
# What each algorithm reports without any tagged text.
CRITERIA = {
    "vb": ("bound", "held-out"),
    "cvb-token": ("leave-one-out", "held-out"),
    "cvb-sequence": ("leave-one-out", "held-out"),
}


# Plain dictionary, with weights, pruned, then with this many labelled sentences.
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
ALPHAS, BETAS = (0.1, 0.3, 1.0, 3.0), (0.003, 0.01, 0.03, 0.1, 0.3)


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
    strengths: tuple
    default_corpora: tuple
    slices: int


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
    (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
    ("wsj", "brown", "mac_morpho", *TREEBANKS),
    5,
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
    (0.0, 1.0),
    ("wsj", "brown"),
    1,
)


def size_of(settings):
    """What the settings ask for."""
    return QUICK if settings.quick else FULL


def tagger_for(name, dictionary, size, seed, **changes):
    """An unfitted tagger with its usual alpha and beta."""
    algorithm = ALGORITHMS[name]
    sweeps = size.gibbs_sweeps if name == "gibbs" else size.sweeps
    settings = {
        "max_iter": sweeps,
        "tol": 0,
        "emission__handle_unknown": "error",
        "tag_dictionary__weight": 1.0,
        "random_state": seed,
    }
    if name == "gibbs":
        del settings["tol"]
    settings = COMPARED | algorithm.arguments | settings | changes
    return algorithm.tagger_class(dictionary).set_params(**settings)


def accuracy_of(name, condition, text, size, seed):
    """Token accuracy on the sentences that nobody tagged."""
    labelled = set(labelled_for(condition, text, seed).tolist())
    y = [tags if i in labelled else None for i, tags in enumerate(text.y)]
    tagger = tagger_for(name, dictionary_for(condition, text), size, seed)
    labels = tagger.fit_predict(text.X, y if labelled else None)
    rest = [i for i in range(len(text.X)) if i not in labelled]
    return token_accuracy([text.y[i] for i in rest], [labels[i] for i in rest])


def dictionaries(settings):
    """Accuracy of every algorithm under every condition, at every rate of wrong tags.

    Returns ``"rows"``: per text and rate the tags per token, and accuracies of all seeds by
    condition and algorithm.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for rate in size.rates:
            texts = {
                seed: noisy_text(settings, size.n_sentences, corpus, rate, seed)
                for seed in size.seeds
            }
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

    Returns ``"rows"``: per text, rate, dictionary and algorithm every alpha and beta with its
    accuracy and its criteria.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.corpora:
        for rate in size.searched_rates:
            text = noisy_text(settings, size.n_sentences, corpus, rate, 0)
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
                name,
                dictionary,
                size,
                0,
                alpha=alpha,
                beta=beta,
                emission__vocabulary=vocabulary,
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


def strengths(settings):
    """Accuracy by `weight`, with the counts of all text and of other text.

    Returns ``"rows"``: per text, dictionary and `weight` the accuracy of each algorithm.
    """
    size = size_of(settings)
    rate = max(size.searched_rates)
    rows = []
    for corpus in size.corpora:
        text = noisy_text(settings, size.n_sentences, corpus, rate, 0)
        for condition in ("weights", "weights of other text"):
            dictionary = dictionary_for(condition, text)
            for strength in size.strengths:
                found = {}
                for name in ("em", *CRITERIA):
                    tagger = tagger_for(name, dictionary, size, 0, tag_dictionary__weight=strength)
                    found[name] = token_accuracy(text.y, tagger.fit_predict(text.X))
                rows.append(
                    {"corpus": corpus, "rate": rate, "condition": condition, "strength": strength}
                    | {"accuracies": found}
                )
    return {"rows": rows}


# What each step from the dictionary as it is to the defaults adds.
STEPS = {
    "as it is": COMPARED,
    "tags that forms lack dropped": COMPARED
    | {"tag_dictionary__denoise": "auto", "tag_dictionary__weight": 0.0},
    "neighbours' start": {"tag_dictionary__weight": 0.0},
    "shares by shape as prior: the default": {},
    "as it is, neighbours' start": {"tag_dictionary__denoise": "none", "init": "context"},
    "default, unambiguous start": {"init": "unambiguous"},
}


def defaults(settings):
    """Accuracy of the defaults without any tagged text or counts, step by step.

    Returns ``"rows"``: per text the accuracies of all slices, by step.
    """
    size = size_of(settings)
    rows = []
    for corpus in size.default_corpora:
        bunch = whole(corpus, settings.data_home)
        dictionary = tag_dictionary_from(bunch.data, bunch.target, weights=False)
        # First letters of universal tags say nothing, and slices of small corpora are halves.
        n = min(size.n_sentences, len(bunch.data) // 2)
        for is_coarse in (False, True)[: 1 if corpus in TREEBANKS else 2]:
            legal, y = dictionary, bunch.target
            if is_coarse:
                legal = {word: tuple(sorted({t[0] for t in tags})) for word, tags in legal.items()}
                y = [[tag[0] for tag in tags] for tags in y]
            found = {step: [] for step in STEPS}
            for i in range(size.slices):
                begin = i * (len(y) - n) // size.slices
                some = slice(begin, begin + n)
                for step, arguments in STEPS.items():
                    tagger = CVBHMMTagger(legal, random_state=0).set_params(**arguments)
                    labels = tagger.fit_predict(bunch.data[some])
                    found[step].append(token_accuracy(y[some], labels))
            rows.append({"corpus": corpus, "coarse": is_coarse, "accuracies": found})
    return {"rows": rows, "sentences": size.n_sentences, "slices": size.slices}


PARTS = {
    "defaults": defaults,
    "dictionaries": dictionaries,
    "strengths": strengths,
    "concentrations": concentrations,
}


def choice(grid, criterion):
    """What a criterion chooses from a grid.

    Returns ``"chosen"``, ``"best"``: accuracies of the choice and of the best of the grid;
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
    """Accuracies by condition, and what each criterion chooses."""
    found = {}
    if "defaults" in results:
        found["defaults"] = _default_table(results["defaults"])
    if "dictionaries" in results:
        found |= _accuracy_tables(results["dictionaries"])
    if "strengths" in results:
        found["strengths"] = _strength_table(results["strengths"])
    if "concentrations" in results:
        found["concentrations"] = _choice_table(results["concentrations"])
    return found


def _default_table(results):
    rows = results["rows"]
    header = ["CVB sequence"]
    header += [TITLES[row["corpus"]] + ", first letters" * row["coarse"] for row in rows]
    cells = [
        [step, *(plus_minus(row["accuracies"][step], scale=100) for row in rows)]
        for step in rows[0]["accuracies"]
    ]
    size = f"{results['slices']} slices of at most {results['sentences']:,} sentences"
    title = f"No labels, no counts, {size}"
    return Table(header, cells, f"{title}: % of tokens right")


def _heading(condition):
    return f"{condition} labelled" if condition.split(", ")[-1].isdigit() else condition


def _accuracy_tables(results):
    """One table for each text."""
    found = {}
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
        header = ["wrong tags per 100 types", "tags per token", "algorithm"]
        header += map(_heading, conditions)
        title = f"{TITLES[corpus]}, {results['sentences']:,} sentences: % of tokens right"
        found[corpus] = Table(header, cells, title)
    return found


def _strength_table(results):
    names = list(results["rows"][0]["accuracies"])
    header = ["text", "wrong tags", "dictionary", "weight"]
    header += [ALGORITHMS[name].title for name in names]
    cells = [
        [TITLES[row["corpus"]], row["rate"], row["condition"], f"{row['strength']:g}"]
        + [f"{100 * row['accuracies'][name]:.1f}" for name in names]
        for row in results["rows"]
    ]
    return Table(header, cells, "How much the weights count: % of tokens right")


def _choice_table(results):
    header = ["text", "wrong tags", "dictionary", "algorithm", "best of grid", "criterion"]
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
    return Table(header, cells, "Choosing alpha and beta without labels: % of tokens right")


def draw(results, folder):
    """Accuracy by what is known, where most wrong tags were planted."""
    if "dictionaries" in results:
        draw_tables(_accuracy_tables(results["dictionaries"]), folder)


def draw_tables(found, folder):
    """The same from the tables; what helps most comes last."""
    panels = {}
    for corpus, table in found.items():
        rows = [row for row in table.rows if row[0] == table.rows[-1][0]]
        cells = zip(table.header[3:], *(row[3:] for row in rows), strict=True)
        panels[TITLES[corpus]] = Table(
            ["", *(row[2] for row in rows)], [list(row) for row in cells]
        )
    mean = {
        name: np.mean([number(cell) for panel in panels.values() for cell in panel.rows[i][1:]])
        for i, name in enumerate(table.header[3:])
    }
    for panel in panels.values():
        panel.rows.sort(key=lambda row: mean[row[0]])
    label = f"% of tokens right, {rows[0][0]} wrong tags per 100 word types"
    draw_dots(panels, folder / "noise_accuracy.png", label)
