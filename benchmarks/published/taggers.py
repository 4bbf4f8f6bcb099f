"""Fits of the taggers that the papers compare: restarts, and the choice of alpha and beta."""

from time import thread_time
from typing import NamedTuple

from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_cvb import Symbols
from sklearn_cvb.demo.experiment import ALGORITHMS, COMPARED
from sklearn_cvb.metrics import token_accuracy

METHODS = {name: ALGORITHMS[name] for name in ("em", "vb", "cvb-token", "cvb-sequence", "gibbs")}
# The values that the paper chooses alpha and beta from.
CONCENTRATIONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SWEEPS = 50


class Plan(NamedTuple):
    """How a method is run: its sweeps, and how many random starts."""

    sweeps: int
    restarts: int


class Search(NamedTuple):
    """How alpha and beta are chosen."""

    alphas: tuple
    betas: tuple
    folds: int  # how many of the four quarters of the sentences are held out in turn
    sweeps: int
    gibbs_sweeps: int


def tagger_of(name, text, sweeps, **changes):
    """An unfitted tagger that never sees the gold tags.

    `name`: key of `METHODS`.
    """
    method = METHODS[name]
    arguments = {"supervision": "none", "max_iter": sweeps}
    if name != "gibbs":
        arguments["tol"] = 0
    settings = COMPARED | arguments | method.arguments | changes
    return method.tagger_class(text.dictionary).set_params(**settings)


def fit_restarts(name, text, plan, n_jobs=1, first_seed=0, **changes):
    """Accuracies of the training tags, and processor seconds, of several starts.

    `name`: key of `METHODS`. `first_seed`: seed of the first start; the others follow. `**changes`:
    arguments of the tagger, such as alpha and beta. Returns ``sweeps``, ``first_seed``,
    ``accuracies`` (shares) and ``seconds``, the latter two by start; and the arguments.
    """

    def fit(seed):
        tagger = tagger_of(
            name, text, plan.sweeps, emission=Symbols(handle_unknown="error"), **changes
        )
        begin = thread_time()
        tagger.set_params(random_state=seed).fit(text.X)
        seconds = thread_time() - begin
        return token_accuracy(text.y, tagger.labels_), seconds

    tagger_of(name, text, 1, emission=Symbols(handle_unknown="error"), **changes).fit(
        text.X[:3]
    )  # compiles
    seeds = range(first_seed, first_seed + plan.restarts)
    fits = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(seed) for seed in seeds)
    return {
        "sweeps": plan.sweeps,
        "first_seed": first_seed,
        "accuracies": [accuracy for accuracy, _ in fits],
        "seconds": [seconds for _, seconds in fits],
        **changes,
    }


def choose(name, text, search):
    """Choose alpha and beta by the accuracy on sentences held out.

    Quarters of the sentences are held out in turn; the tagger learns from the raw text of the rest
    with every pair of values, and the pair that tags the held-out sentences best is kept.

    `name`: key of `METHODS`. EM is maximum likelihood and has nothing to choose. Returns ``alpha``
    and ``beta``, and ``held_out``, their accuracy.
    """
    if name == "em":
        return {}
    sweeps = search.gibbs_sweeps if name == "gibbs" else search.sweeps
    grid = GridSearchCV(
        tagger_of(name, text, sweeps, random_state=0),
        {"alpha": search.alphas, "beta": search.betas},
        cv=list(KFold(4).split(text.X))[: search.folds],
        refit=False,
    )
    grid.fit(text.X, text.y)
    return {**grid.best_params_, "held_out": float(grid.best_score_)}


def choose_all(text, search):
    """The choice of every method.

    Returns what `choose` gives, by key of `METHODS`.
    """
    return {name: choose(name, text, search) for name in METHODS}


def compare(text, plans, chosen, n_jobs):
    """Run all restarts of every method.

    `plans`: by key of `METHODS`. `chosen`: alpha and beta, as `choose_all` gives them. Returns by
    method, what `fit_restarts` gives.
    """
    found = {}
    for name, plan in plans.items():
        values = {key: chosen[name][key] for key in ("alpha", "beta") if key in chosen[name]}
        found[name] = fit_restarts(name, text, plan, n_jobs, **values)
    return found
