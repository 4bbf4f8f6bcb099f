"""Held out: hidden semi-Markov chains beside plain ones, on vowels, letters and an elephant.

Plain states last for geometric times; here durations have a histogram, or are 1 more than a Poisson
or a negative binomial number. Every third sequence is held out in turn.
"""

import csv
import lzma
from functools import partial

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Durations, Transitions
from sklearn_cvb.datasets import fetch_alice, fetch_japanese_vowels
from sklearn_cvb.datasets.corpora import corpus_folder
from sklearn_cvb.emissions import Categorical, Gaussian, NegativeBinomial

MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
# What is learned of durations, the plain chain first.
LAWS = {
    "plain": None,
    "histogram": "histogram",
    "Poisson": "poisson",
    "negative binomial": NegativeBinomial(size=3.0),
}
TITLES = {
    "vowels": "vowels, 270 utterances",
    "letters": "letters, 250 sentences",
    "elephant": "elephant, 30 weeks",
}
STATES, N_FOLDS = (3, 6), 3
_N_SENTENCES, _WEEK, _N_WEEKS, _N_SWEEPS = 250, 168, 30, 200
# About the largest number of steps that a state could be thought to last for.
LONGEST = {"vowels": 29, "letters": 15, "elephant": 50}


def vowels(settings):
    """Utterances of nine speakers: twelve columns."""
    return fetch_japanese_vowels(data_home=settings.data_home)["X_train"], Gaussian("diag")


def letters(settings):
    """Sentences of Alice, of one column: the number of each letter, blanks among them."""
    found = fetch_alice(data_home=settings.data_home, download_if_missing=False).data
    alphabet = " abcdefghijklmnopqrstuvwxyz"
    X = [np.array([[alphabet.index(c)] for c in s], float) for s in found[:_N_SENTENCES]]
    return X, Categorical(n_categories=len(alphabet))


def elephant(settings):
    """How far an elephant walked in each hour: logs of metres, a sequence a week."""
    path = corpus_folder(settings.data_home) / "movement" / "elephant.csv.xz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing: the hourly track of an African elephant (Wall et al. 2014), as "
            "momentuHMM's vignette has it, compressed"
        )
    with lzma.open(path, "rt") as file:
        places = [[float(row["x"]), float(row["y"])] for row in csv.DictReader(file)]
    walked = np.log10(1.0 + np.linalg.norm(np.diff(places, axis=0), axis=1))[:, None]
    return list(walked[: _WEEK * _N_WEEKS].reshape(_N_WEEKS, _WEEK, 1)), Gaussian("diag")


READERS = {"vowels": vowels, "letters": letters, "elephant": elephant}


def fitted(kind, law, n_states, longest, emission):
    """A model that is to be fitted."""
    lasting = None if law is None else Durations(law, longest)
    transitions = Transitions(durations=lasting)
    settings = {"emission": emission, "max_iter": _N_SWEEPS, "random_state": 0}
    return kind(n_states, transitions=transitions, **settings)


def part(name, settings):
    """Held-out log densities of all models, nats per step in each fold."""
    X, emission = READERS[name](settings)
    X, n_folds = (X[:20], 2) if settings.quick else (X, N_FOLDS)
    cells = []
    for n_states in STATES[: 1 if settings.quick else None]:
        for algorithm, kind in MODELS.items():
            found = {}
            for title, law in LAWS.items():
                model = fitted(kind, law, n_states, LONGEST[name], emission)
                found[title] = []
                for fold in range(n_folds):
                    model.fit([x for i, x in enumerate(X) if i % n_folds != fold])
                    found[title].append(float(model.score(X[fold::n_folds])))
            cells.append({"states": n_states, "algorithm": algorithm, "found": found})
    return {"cells": cells}


PARTS = {name: partial(part, name) for name in TITLES}


def tables(results):
    """The plain chain, and how far each law of durations is ahead of it."""
    rows = []
    for name in (name for name in TITLES if name in results):
        for one in results[name]["cells"]:
            plain = np.array(one["found"]["plain"])
            ahead = [
                plus_minus((np.array(one["found"][law]) - plain).tolist(), 3)
                for law in LAWS
                if law != "plain"
            ]
            rows.append(
                [TITLES[name], one["states"], one["algorithm"], f"{plain.mean():.3f}", *ahead]
            )
    title = (
        "Held-out log density of a plain chain, and how far laws of durations are ahead of it: "
        "nats per step (deviation of the folds)"
    )
    return {"durations": Table(["", "states", "", *LAWS], rows, title)}


def draw(results, folder):
    """Nothing: the table is the picture."""
