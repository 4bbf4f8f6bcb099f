"""Subjects that share and differ: speakers of vowels, and languages of letters.

Each subject has transitions of its own around a table that all share (``prior="pooled"``), beside
tables apart and one table for all. Few sequences of each subject are learned from, and others of
the same subjects are held out. Contexts begin at the posteriors that one table for all ends with.
"""

from functools import partial

import numpy as np

from benchmarks.published.tables import Table, plus_minus, spread
from sklearn_cvb import CVBHMM, VBHMM, GibbsHMM, Transitions
from sklearn_cvb.datasets import fetch_japanese_vowels, fetch_xl_wa
from sklearn_cvb.emissions import Categorical, Gaussian

MODELS = {"VB": VBHMM, "CVB": CVBHMM, "Gibbs": GibbsHMM}
TITLES = {"speakers": "vowels, 9 speakers", "languages": "40 letters, 4 languages"}
TRAINING, REPLICATIONS, HELD_OUT = (3, 10, 30), 5, 300
STATES = {"speakers": 5, "languages": 8}
LANGUAGES, LENGTH, OF_EACH = ("da", "es", "hu", "nl"), 40, 150


def speakers(settings):
    """Series of twelve columns, the speaker of each, and what states emit."""
    found = fetch_japanese_vowels(data_home=settings.data_home)
    X = [*found["X_train"], *found["X_test"]]
    names = np.concatenate([found["y_train"], found["y_test"]])
    return X, np.unique(names, return_inverse=True)[1], Gaussian("diag")


def languages(settings):
    """Codes of the first letters of sentences, the language of each, and what states emit."""
    rng, texts, y = np.random.default_rng(0), [], []
    for index, name in enumerate(LANGUAGES):
        pairs = fetch_xl_wa(language=name, lowercase=True, data_home=settings.data_home)["data"]
        joined = [" ".join(target) for _, target, *_ in pairs]
        long = [text[:LENGTH] for text in joined if len(text) >= LENGTH]
        texts += [long[i] for i in rng.permutation(len(long))[:OF_EACH]]
        y += [index] * OF_EACH
    letters = sorted(set("".join(texts)))
    code = {letter: i for i, letter in enumerate(letters)}
    X = [np.array([[code[letter]] for letter in text], float) for text in texts]
    return X, np.array(y), Categorical(n_categories=len(letters))


DATA = {"speakers": speakers, "languages": languages}


def part(name, settings):
    """All numbers of sequences, all algorithms: held-out nats per step of three kinds of tables."""
    X, y, emission = DATA[name](settings)
    with_subject = [np.column_stack([x, np.full(len(x), c)]) for x, c in zip(X, y, strict=True)]
    column, cells = X[0].shape[1], []
    for n in TRAINING[: 1 if settings.quick else None]:
        for algorithm in MODELS:
            found = []
            for seed in range(settings.replications or (1 if settings.quick else REPLICATIONS)):
                order = np.random.default_rng(seed).permutation(len(X))
                old = np.concatenate([order[y[order] == c][:n] for c in np.unique(y)])
                new = np.setdiff1d(order, old, assume_unique=True)[:HELD_OUT]
                rows = [
                    [table[i] for i in own] for own in (old, new) for table in (X, with_subject)
                ]
                settings_of = {"emission": emission, "random_state": seed}
                found.append(scores(algorithm, STATES[name], column, rows, settings_of))
            cells.append({"algorithm": algorithm, "n": n, "scores": np.array(found).T.tolist()})
    return {"cells": cells}


def scores(algorithm, n_states, column, rows, settings):
    """Held-out nats per step with one table, with separate tables and with pooled ones."""
    old, old_with, new, new_with = rows
    kind, sampled = MODELS[algorithm], algorithm == "Gibbs"
    if sampled:
        settings["max_iter"] = 300
    one = kind(n_states, n_init=1 if sampled else 3, **settings).fit(old)
    settings["init"] = one.predict_proba(old)
    found = [one.score(new)]
    for prior in ("dirichlet", "pooled"):
        transitions = Transitions(contexts=column, prior=prior)
        found.append(
            kind(n_states, transitions=transitions, **settings).fit(old_with).score(new_with)
        )
    return found


PARTS = {name: partial(part, name) for name in TITLES}


def tables(results):
    """A line for each number of sequences and algorithm."""
    header = [
        "",
        "sequences of each",
        "",
        "one table",
        "tables apart",
        "pooled",
        "pooled ahead of one",
    ]
    rows = []
    for name in (name for name in TITLES if name in results):
        before = ("", "")
        for one in results[name]["cells"]:
            told = TITLES[name], one["n"]
            shown = [own if own != last else "" for own, last in zip(told, before, strict=True)]
            means = [f"{spread(values).mean:.3f}" for values in one["scores"]]
            ahead = np.subtract(one["scores"][2], one["scores"][0])
            rows.append([*shown, one["algorithm"], *means, plus_minus(ahead, 3)])
            before = told
    title = (
        "Held-out nats per step, mean of several draws of the training sequences; in "
        "brackets the standard deviation of the difference"
    )
    return {"subjects": Table(header, rows, title)}


def draw(results, folder):
    """Nothing: the table is the picture."""
