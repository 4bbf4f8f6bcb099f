"""When a fit is done: sweeps of two rules, and whether labels still change afterwards.

``python -m benchmarks.published convergence``: 108 fits of six kinds by EM, VB and CVB, all else by
default. "Objective" stops at a small change of the objective, as is usual: 1e-4 nats per token,
1e-7 for hidden Markov models without a dictionary, of the monitor of CVB twice in a row. "Counts"
is the package's rule: half of the sweeps moved less than .0025 of the counts, and a disturbed fit
comes back. Labels are then compared with those after ten times as many sweeps.
"""

from collections import Counter
from functools import partial
from statistics import median

import numpy as np

from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMDMV,
    EMHMM,
    EMPCFG,
    VBDMV,
    VBHMM,
    VBPCFG,
    CVBAlignmentHMM,
    CVBHMMTagger,
    EMAlignmentHMM,
    EMHMMTagger,
    VBAlignmentHMM,
    VBHMMTagger,
)
from sklearn_cvb.datasets import (
    fetch_xl_wa,
    make_pcfg_corpus,
    make_pocket_english,
    pocket_english_dictionary,
)

# This many seeds for each kind and algorithm.
SEEDS = 6
# Labels agree where this many of them are equal.
AGREE = 0.995
LONGER = 10

PHRASES = """
S -> NP VP [1.0]
NP -> D N [0.6] | NP PP [0.2] | 'i' [0.2]
VP -> V NP [0.6] | VP PP [0.4]
PP -> P NP [1.0]
D -> 'the' [0.7] | 'a' [0.3]
N -> 'dog' [0.3] | 'man' [0.3] | 'park' [0.2] | 'saw' [0.2]
V -> 'saw' [0.6] | 'walked' [0.4]
P -> 'in' [0.5] | 'with' [0.5]
"""


def casino(seed, settings):
    """Twenty games of a hundred throws: a fair die, and one that shows six half of the time."""
    rng = np.random.default_rng(seed)
    stays, dice = [0.95, 0.9], np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    games = []
    for _ in range(20):
        state, throws = int(rng.integers(2)), []
        for _ in range(100):
            throws.append(int(rng.choice(6, p=dice[state])))
            state = state if rng.random() < stays[state] else 1 - state
        games.append(throws)
    return games


def series(seed, settings):
    """500 steps of three states, whose means are two standard deviations apart."""
    rng, state, values = np.random.default_rng(seed), 0, []
    for _ in range(500):
        values.append(rng.normal(2.0 * state))
        state = state if rng.random() < 0.9 else int(rng.integers(3))
    return [np.array(values)]


def words(seed, settings):
    """400 sentences of pocket English."""
    return make_pocket_english(400, random_state=seed).data


def phrases(seed, settings):
    """100 sentences of a grammar of phrases."""
    return make_pcfg_corpus(PHRASES, 100, longest=12, random_state=seed)[0]


def tags(seed, settings):
    """Tags of 250 short sentences of pocket English."""
    drawn = make_pocket_english(1000, random_state=seed).target
    return [sentence for sentence in drawn if len(sentence) <= 10][:250]


def pairs(seed, settings):
    """300 Spanish translations of English sentences."""
    X = fetch_xl_wa(language="es", lowercase=True, data_home=settings.data_home).data
    return X[200 * seed :][:300]


def rules():
    """All phrases of three kinds over the categories of words."""
    words = {"D": "the a", "N": "dog man park saw", "V": "saw walked", "P": "in with", "I": "i"}
    parts = ["X", "Y", *words]
    phrases = [f"{a} -> {b} {c}" for a in ("S", "X", "Y") for b in parts for c in parts]
    return "\n".join(phrases + [f"{c} -> '{w}'" for c in words for w in words[c].split()])


# By kind: sequences, and a model of each algorithm by seed.
CASES = {
    "casino": (casino, (EMHMM, VBHMM, CVBHMM), {"n_components": 2}),
    "tagger": (
        words,
        (EMHMMTagger, VBHMMTagger, CVBHMMTagger),
        {"tag_dictionary": pocket_english_dictionary()},
    ),
    "numbers": (series, (EMHMM, VBHMM, CVBHMM), {"n_components": 3, "emission": "gaussian"}),
    "grammar": (phrases, (EMPCFG, VBPCFG, CVBPCFG), {"grammar": rules()}),
    "dependencies": (tags, (EMDMV, VBDMV, CVBDMV), {}),
    "alignment": (pairs, (EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM), {}),
}
# Nats a token by which an objective that "stands still" changes at most.
SMALL = {"casino": 1e-7, "numbers": 1e-7}


def stop_by_objective(history, n_tokens, name, kind):
    """After how many sweeps a small change of the objective would have ended the fit."""
    is_monitor = name.startswith("CVB")
    small = np.abs(np.diff(history)) < SMALL.get(kind, 1e-4) * (1 if is_monitor else n_tokens)
    ends = small[1:] & small[:-1] if is_monitor else small
    return int(np.argmax(ends)) + (3 if is_monitor else 2) if ends.any() else len(history)


def parts_of(label):
    """What of the labels of a sequence is compared: tokens' own, links, or rules of a tree.

    Trees of the same rules are equally probable, whichever is shown.
    """
    if hasattr(label, "productions"):
        return Counter(map(str, label.productions()))
    return Counter(enumerate(map(str, label)))


def agreement(labels, others):
    """The share of labels that are equal."""
    found = [(parts_of(one), parts_of(other)) for one, other in zip(labels, others, strict=True)]
    same = sum((one & other).total() for one, other in found)
    return same / sum(max(one.total(), other.total()) for one, other in found)


def fitted(kind, number, seed, settings):
    """One fit by default: its sweeps, those that the objective would have taken, agreement."""
    draw, models, known = CASES[kind]
    X, model = draw(seed, settings), models[number]
    short = {"max_iter": 20} if settings.quick else {}

    def labels(n_sweeps):
        return model(**known, random_state=seed, tol=0, max_iter=n_sweeps).fit(X)

    fit = model(**known, random_state=seed, **short).fit(X)
    n_tokens = sum(map(len, X)) if kind != "alignment" else sum(len(target) for _, target in X)
    longest = labels(max(fit.n_iter_, 200 if kind == "alignment" else fit.max_iter))
    usual = stop_by_objective(longest.history_, n_tokens, model.__name__, kind)
    cell = {
        "kind": kind,
        "algorithm": model.__name__[: -len(model.__name__.lstrip("EMVBC"))],
        "counts": fit.n_iter_,
        "converged": bool(fit.converged_),
        "objective": usual,
    }
    for name, n_sweeps in (("agree", fit.n_iter_), ("agree_usual", usual)):
        if name == "agree_usual" or fit.converged_:
            cell[name] = agreement(labels(n_sweeps).labels_, labels(LONGER * n_sweeps).labels_)
    return cell


def measured(kind, settings):
    """All fits of a kind."""
    seeds = range(1 if settings.quick else SEEDS)
    cells = [fitted(kind, number, seed, settings) for number in range(3) for seed in seeds]
    print(kind, [cell["counts"] for cell in cells], flush=True)
    return {"cells": cells}


PARTS = {kind: partial(measured, kind) for kind in CASES}


def tables(results):
    """By kind and algorithm: sweeps of both rules, and how many of the fits hold."""
    cells = [cell for kind in CASES if kind in results for cell in results[kind]["cells"]]
    rows = []
    for kind, algorithm in dict.fromkeys((cell["kind"], cell["algorithm"]) for cell in cells):
        rows.append(
            _row(
                kind,
                algorithm,
                [cell for cell in cells if (cell["kind"], cell["algorithm"]) == (kind, algorithm)],
            )
        )
    rows.append(_row("all", "", cells))
    header = [
        "fits",
        "by",
        "objective: sweeps",
        "labels hold",
        "counts: sweeps",
        "converged",
        "labels hold",
    ]
    title = (
        "Sweeps (median) until a fit is done by its objective or by its counts; how many fits that "
        f"is said of; how many of these keep {100 * AGREE:.1f} % of their labels in ten times the "
        "sweeps"
    )
    return {"rules": Table(header, rows, title)}


def _row(kind, algorithm, cells):
    usual = [cell["agree_usual"] for cell in cells]
    mine = [cell["agree"] for cell in cells if cell["converged"]]
    return [
        kind,
        algorithm,
        f"{median(cell['objective'] for cell in cells):.0f}",
        f"{sum(share >= AGREE for share in usual)} of {len(usual)}",
        f"{median(cell['counts'] for cell in cells):.0f}",
        f"{len(mine)} of {len(cells)}",
        f"{sum(share >= AGREE for share in mine)} of {len(mine)}",
    ]


def draw(results, folder):
    """No pictures."""
