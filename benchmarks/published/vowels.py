"""Japanese Vowels (Kudo, Toyama and Shimbo 1999): who speaks, by one hidden Markov model a speaker.

EM, VB and CVB with `HMMClassifier`, hmmlearn's GaussianHMM in the same run. Covariances and numbers
of states are chosen by cross-validation among the training sequences; the test sequences are
reported for all of them.
"""

import logging
import warnings
from statistics import fmean

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, HMMClassifier
from sklearn_cvb.datasets import fetch_japanese_vowels
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.plotting import algorithm_colours

MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
PEER = "hmmlearn"
LEARNERS = (*MODELS, PEER)
COVARIANCES = ("diag", "tied", "full")
STATES = (3, 5, 8)
N_FOLDS = 5


class PeerClassifier:
    """One GaussianHMM of hmmlearn for each class; the classes are equally frequent in training."""

    def __init__(self, n_components, covariance_type, seed):
        self.settings = {
            "n_components": n_components,
            "covariance_type": covariance_type,
            "random_state": seed,
            "n_iter": 100,
        }

    def fit(self, X, y):
        """Fit a model to each class."""
        from hmmlearn.hmm import GaussianHMM

        # It says after every fit whether it has converged.
        logging.getLogger("hmmlearn").setLevel(logging.ERROR)
        self.classes_ = np.unique(y)
        self.models = []
        for label in self.classes_:
            own = [x for x, of in zip(X, y, strict=True) if of == label]
            model = GaussianHMM(**self.settings)
            self.models.append(model.fit(np.concatenate(own), [len(x) for x in own]))
        return self

    def score(self, X, y):
        """Share of sequences whose class is found."""
        logs = [[model.score(x) for model in self.models] for x in X]
        return float(np.mean(self.classes_[np.argmax(logs, axis=1)] == y))


def classifier(learner, covariance, n_states, seed):
    """A classifier with one setting."""
    if learner == PEER:
        return PeerClassifier(n_states, covariance, seed)
    emission = Gaussian(covariance)
    return HMMClassifier(MODELS[learner](n_states, emission=emission, random_state=seed))


def accuracy(learner, covariance, n_states, seed, train, test):
    """Share of test sequences whose speaker is found; None where a fit or a score fails."""
    try:
        model = classifier(learner, covariance, n_states, seed).fit(*train)
        return float(model.score(*test))
    except ValueError as error:
        print(f"{learner} {covariance} {n_states}, seed {seed}: {error}", flush=True)
        return None


def cells_for(settings):
    """All settings: learner, covariance, number of states."""
    states = (3,) if settings.quick else STATES
    covariances = ("diag", "tied") if settings.quick else COVARIANCES
    return [(a, c, k) for a in LEARNERS for c in covariances for k in states]


def some_of(X, y, rows):
    """Some of the sequences, with their labels."""
    return [X[i] for i in rows], y[rows]


def run_selection(settings):
    """Accuracy of every setting by cross-validation among the training sequences."""
    data = fetch_japanese_vowels(data_home=settings.data_home)
    X, y = data.X_train, data.y_train
    found = []
    for cell in cells_for(settings):
        values = []
        for seed in range(1 if settings.quick else 2):
            folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
            parts = list(folds.split(np.zeros(len(y)), y))
            for train, test in parts[: 1 if settings.quick else None]:
                values.append(accuracy(*cell, seed, some_of(X, y, train), some_of(X, y, test)))
        found.append({"cell": cell, "accuracy": values})
        print("selection", *cell, shown(values), flush=True)
    return {"cells": found}


def run_test(settings):
    """Accuracy of every setting on the test sequences, for several seeds."""
    data = fetch_japanese_vowels(data_home=settings.data_home)
    train, test = (data.X_train, data.y_train), (data.X_test, data.y_test)
    found = []
    for cell in cells_for(settings):
        seeds = range(1 if settings.quick else 5)
        values = [accuracy(*cell, seed, train, test) for seed in seeds]
        found.append({"cell": cell, "accuracy": values})
        print("test", *cell, shown(values), flush=True)
    return {"cells": found}


PARTS = {"selection": run_selection, "test": run_test}


def run(settings):
    """Run the experiment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: part(settings) for name, part in PARTS.items()}


def by_cell(part):
    """Accuracies of a part by setting."""
    return {tuple(one["cell"]): one["accuracy"] for one in part["cells"]}


def shown(values):
    """Mean and deviation in per cent; how many fits failed, where some did."""
    kept = [value for value in values if value is not None]
    if not kept:
        return "fails"
    failed = len(values) - len(kept)
    return plus_minus(kept, scale=100) + (f", {failed} fail" if failed else "")


def chosen(results):
    """The setting of each learner that cross-validation prefers; fewer states among equals."""
    selection = by_cell(results["selection"])

    def worth(cell):
        values = [value or 0.0 for value in selection[cell]]
        return round(fmean(values), 12), -cell[2]

    learners = dict.fromkeys(cell[0] for cell in selection)
    return {a: max((c for c in selection if c[0] == a), key=worth) for a in learners}


def tables(results):
    """The tables of the page."""
    selection, test = by_cell(results["selection"]), by_cell(results["test"])
    rows = [
        [a, cell[1], cell[2], shown(selection[cell]), shown(test[cell])]
        for a, cell in chosen(results).items()
    ]
    header = ["learner", "covariance", "states", "cross-validation", "test"]
    tables = {"chosen": Table(header, rows, "Speakers found (%), settings by cross-validation")}
    settings = list(dict.fromkeys(cell[1:] for cell in test))
    learners = list(dict.fromkeys(cell[0] for cell in test))
    for what, part in (("cross-validation", selection), ("test", test)):
        cells = {cell: shown(values) for cell, values in part.items()}
        rows = [[*one, *(cells.get((a, *one), "") for a in learners)] for one in settings]
        header = ["covariance", "states", *learners]
        tables[what] = Table(header, rows, f"Speakers found (%), all settings: {what}")
    return tables


def draw(results, folder):
    """Accuracy on the test sequences of every setting, by learner."""
    import matplotlib.pyplot as plt

    test = by_cell(results["test"])
    learners = list(dict.fromkeys(cell[0] for cell in test))
    covariances = list(dict.fromkeys(cell[1] for cell in test))
    figure, axes = plt.subplots(1, len(covariances), figsize=(8.0, 2.8), sharey=True)
    for axis, covariance in zip(np.atleast_1d(axes), covariances, strict=True):
        for learner, colour in zip(learners, algorithm_colours(learners), strict=True):
            own = {c[2]: v for c, v in test.items() if c[:2] == (learner, covariance)}
            kept = {k: [v for v in values if v is not None] for k, values in own.items()}
            kept = {k: 100 * np.array(values) for k, values in kept.items() if values}
            means, spreads = [v.mean() for v in kept.values()], [v.std() for v in kept.values()]
            style = {"marker": "o", "ms": 3, "capsize": 2, "color": colour}
            axis.errorbar(list(kept), means, spreads, label=learner, **style)
        axis.set(title=covariance, xlabel="states", xticks=sorted({c[2] for c in test}))
    np.atleast_1d(axes)[0].set_ylabel("speakers found (%)")
    np.atleast_1d(axes)[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(folder / "vowels_accuracy.png", dpi=150, bbox_inches="tight")
    plt.close(figure)
