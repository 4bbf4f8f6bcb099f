"""Clusters of sequences without labels: speakers of vowels, and languages of sentences.

`HMMMixture` beside one model: of as many states as a cluster has, and of as many as all clusters
have together, any of which may follow any other. Sequences are learned from and held out at
random; labels are only compared with.
"""

from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.published.tables import Table
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, HMMMixture, Symbols
from sklearn_cvb.datasets import fetch_japanese_vowels, fetch_xl_wa
from sklearn_cvb.emissions import Gaussian

MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
TITLES = {"speakers": "vowels, 9 speakers", "languages": "40 letters, 5 languages"}
# Clusters, and states of each.
CLUSTERS = {"speakers": (1, 3, 9), "languages": (1, 2, 5)}
STATES = {"speakers": 3, "languages": 5}
LANGUAGES = "da", "es", "hu", "nl"
LENGTH, OF_EACH = 40, 150


def speakers(settings):
    """Series of twelve columns, by speaker."""
    found = fetch_japanese_vowels(data_home=settings.data_home)
    X = [*found["X_train"], *found["X_test"]]
    return X, np.concatenate([found["y_train"], found["y_test"]]), {"emission": Gaussian("diag")}


def languages(settings):
    """The first letters of sentences, by language; English ones are those of the Danish."""
    rng, X, y = np.random.default_rng(0), [], []
    for name in (*LANGUAGES, "en"):
        pairs = fetch_xl_wa(
            language=LANGUAGES[0] if name == "en" else name,
            lowercase=True,
            data_home=settings.data_home,
        )["data"]
        texts = [" ".join(pair[name != "en"]) for pair in pairs]
        long = [list(text[:LENGTH]) for text in texts if len(text) >= LENGTH]
        X += [long[i] for i in rng.permutation(len(long))[:OF_EACH]]
        y += [name] * OF_EACH
    letters = sorted(set().union(*X))
    return X, np.array(y), {"emission": Symbols(vocabulary=letters)}


DATA = {"speakers": speakers, "languages": languages}


def part(name, settings):
    """All numbers of clusters by all algorithms."""
    X, y, emission = DATA[name](settings)
    rows = np.random.default_rng(0).permutation(len(X))
    n_training = 2 * len(rows) // 3
    if settings.quick:
        rows, n_training = rows[:60], 40
    training, held_out = rows[:n_training], rows[n_training:]
    old, new = ([X[i] for i in own] for own in (training, held_out))
    n, given = STATES[name], {"n_init": 3, "random_state": 0}
    cells = []
    for algorithm, kind in MODELS.items():
        for n_clusters in CLUSTERS[name][: 2 if settings.quick else None]:
            clusters = HMMMixture(kind(n, **emission), n_components=n_clusters, **given).fit(old)
            one = kind(n * n_clusters, **emission, **given).fit(old)
            cells.append(
                {
                    "algorithm": algorithm,
                    "clusters": n_clusters,
                    "agreement": adjusted_rand_score(y[held_out], clusters.predict(new)),
                    "score": clusters.score(new),
                    "one": one.score(new),
                }
            )
    return {"cells": cells}


PARTS = {name: partial(part, name) for name in TITLES}


def tables(results):
    """A line for each number of clusters of each algorithm."""
    header = ["", "", "clusters", "adjusted Rand index", "nats per step", "one model"]
    rows = []
    for name in (name for name in TITLES if name in results):
        before = ("", "")
        for one in results[name]["cells"]:
            told = TITLES[name], one["algorithm"]
            shown = [own if own != last else "" for own, last in zip(told, before, strict=True)]
            agreement = f"{one['agreement']:z.2f}" if one["clusters"] > 1 else ""
            scores = [f"{one[key]:.3f}" for key in ("score", "one")]
            rows.append([*shown, one["clusters"], agreement, *scores])
            before = told
    title = (
        "Clusters of held-out sequences beside their labels, and held-out nats per step under the "
        "clusters and under one model of as many states"
    )
    return {"clusters": Table(header, rows, title)}


def draw(results, folder):
    """Nothing: the table is the picture."""
