"""Dependency models with valence (Klein and Manning 2004): which heads are found from tags alone?

English, Basque and Spanish treebanks without punctuation, in five folds. Learned from the tags of
four fifths, up to so many a sentence; heads of the last fifth are compared with the annotation. A
model is a chain of fits, each of which begins where the one before ended: a line in `MODELS`.
"""

from functools import cache, partial
from time import perf_counter
from warnings import catch_warnings, simplefilter

import numpy as np

from benchmarks.published.dmv_models import BASELINES, CHANGES, MODELS, QUICK_MODELS, Model
from benchmarks.published.dmv_tables import MEASURES, SCORED, draw, tables
from benchmarks.published.dmv_treebanks import N_FOLDS, TREEBANKS, english, rule_weights
from benchmarks.published.settings import run_parts
from sklearn_cvb import EMDMV

__all__ = ["PARTS", "draw", "run", "tables"]
SWEEPS, QUICK_SWEEPS, N_CHAINS = 40, 10, 10
# Longest sentences to learn from.
LEARNED, QUICK_LEARNED = (10, 15, 20), (10,)
# Prior mass of each rule.
WEIGHT = 100.0


@cache
def is_learnable(heads):
    """Whether a model can be given these heads: they are a projective tree with one root.

    Parameters
    ----------
    heads : tuple of int

    Returns
    -------
    bool
    """
    try:
        # Before it learns, a fit looks whether there is a tree.
        EMDMV(max_iter=1).fit([["x"] * len(heads)], [heads])
    except ValueError:
        return False
    return True


def learned(model, treebank, training, longest, sweeps):
    """A model after all its fits.

    Parameters
    ----------
    model : Model
    treebank : Treebank
    training : ndarray of int
        Sentences to learn from.
    longest : int
        Tokens of the longest of these.
    sweeps : int
        Of each fit, unless it says how many.

    Returns
    -------
    estimator
    """
    vocabulary = sorted({tag for tags in treebank.tags for tag in tags})
    shared = {"max_iter": sweeps, "tol": 0.0, "vocabulary": vocabulary, "handle_unknown": "error"}
    estimator = None
    for stage in model.stages:
        limit = stage.longest or longest
        chosen = [i for i in training if len(treebank.tags[i]) <= limit]
        if stage.gold:
            chosen = [i for i in chosen if is_learnable(tuple(treebank.heads[i]))]
        start = {} if estimator is None else {"init": estimator}
        if stage.rules:
            start["rule_weights"] = rule_weights(stage.rules, treebank.classes, vocabulary, WEIGHT)
        y = [treebank.heads[i] for i in chosen] if stage.gold else None
        estimator = stage.model(**shared | start | stage.settings)
        estimator.fit([treebank.tags[i] for i in chosen], y)
    return estimator


def scores(treebank, found):
    """Accuracies of each fold, by what is measured and by the longest sentence.

    Parameters
    ----------
    treebank : Treebank
    found : list of sequences of int
        Heads of all sentences.

    Returns
    -------
    dict
        By measure, a list for each limit of `SCORED`: right and all tokens, fold by fold.
    """
    result = {name: [] for name in MEASURES}
    for limit in SCORED:
        for name, measure in MEASURES.items():
            folds = []
            for k in range(N_FOLDS):
                chosen = [
                    i
                    for i, tags in enumerate(treebank.tags)
                    if treebank.fold[i] == k and (limit is None or len(tags) <= limit)
                ]
                gold = [treebank.heads[i] for i in chosen]
                share = measure(gold, [found[i] for i in chosen]) if gold else 0.0
                folds.append((share, sum(map(len, gold))))
            result[name].append(folds)
    return result


def part(name, settings):
    """All models and baselines on a treebank."""
    treebank = TREEBANKS[name][1](settings)
    columns, names, sweeps = LEARNED, list(MODELS), SWEEPS
    if settings.quick:
        columns, names, sweeps = QUICK_LEARNED, QUICK_MODELS, QUICK_SWEEPS
    found = {"n_sentences": len(treebank.tags), "models": {}, "baselines": {}}
    for key, (_, heads) in BASELINES.items():
        found["baselines"][key] = scores(treebank, [heads(len(tags)) for tags in treebank.tags])
    for key in names:
        found["models"][key] = {
            str(longest): by_folds(MODELS[key], treebank, longest, sweeps) for longest in columns
        }
    return found


def by_folds(model, treebank, longest, sweeps):
    """Accuracies of a model, and its objectives; each fold is parsed by what the others taught."""
    heads, objectives, begin = [None] * len(treebank.tags), [], perf_counter()
    for k in range(N_FOLDS):
        with catch_warnings():
            # Without a prior, what was not seen has no probability.
            simplefilter("ignore", UserWarning)
            training = np.flatnonzero(treebank.fold != k)
            estimator = learned(model, treebank, training, longest, sweeps)
            chosen = np.flatnonzero(treebank.fold == k)
            parsed = estimator.predict([treebank.tags[i] for i in chosen])
        objectives.append(float(estimator.objective_))
        for i, found in zip(chosen, parsed, strict=True):
            heads[i] = np.asarray(found).tolist()
    found = {"objectives": objectives, "seconds": perf_counter() - begin}
    return scores(treebank, heads) | found


def chains(settings):
    """The sampler on the shortest English sentences from several seeds: accuracy and objective."""
    treebank = english(settings)
    sweeps, n_chains = (QUICK_SWEEPS, 2) if settings.quick else (SWEEPS, N_CHAINS)
    (stage,) = MODELS["gibbs-.1"].stages
    shares, objectives = [], []
    for seed in range(n_chains):
        limit = {"max_iter": sweeps} if settings.quick else {}
        seeded = stage._replace(settings=stage.settings | limit | {"random_state": seed})
        found = by_folds(Model("", (seeded,)), treebank, LEARNED[0], sweeps)
        shares.append([share for share, _ in found["directed"][0]])
        objectives.append(found["objectives"])
    return {"shares": shares, "objectives": objectives}


def changes(settings):
    """The staged fit on English with one setting changed."""
    treebank, keys = english(settings), list(CHANGES)
    longest, sweeps = LEARNED[-1], SWEEPS
    if settings.quick:
        keys, longest, sweeps = ["none", "plain"], QUICK_LEARNED[-1], QUICK_SWEEPS
    return {"models": {key: by_folds(CHANGES[key], treebank, longest, sweeps) for key in keys}}


PARTS = {name: partial(part, name) for name in TREEBANKS}
PARTS |= {"changes": changes, "chains": chains}


def run(settings):
    """Run all treebanks.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)
