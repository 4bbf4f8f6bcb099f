"""Dependency models with valence (Klein and Manning 2004): which heads are found from tags alone?

English, Basque and Spanish treebanks without punctuation, in five folds. Learned from the tags of
four fifths, up to so many a sentence; heads of the last fifth are compared with the annotation. A
model is a chain of fits, each of which begins where the one before ended: a line in `MODELS`.
"""

from functools import cache, partial
from time import perf_counter
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from benchmarks.published.settings import run_parts
from benchmarks.published.tables import list_table, spread
from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV
from sklearn_cvb.datasets import fetch_conll2007, fetch_dependency_treebank
from sklearn_cvb.metrics import directed_accuracy, undirected_accuracy

N_FOLDS, SWEEPS, QUICK_SWEEPS, N_CHAINS = 5, 40, 10, 10
# Longest sentences to learn from, and to be scored on; None for all.
LEARNED, QUICK_LEARNED = (10, 15, 20), (10,)
SCORED = (10, 20, None)
MEASURES = {"directed": directed_accuracy, "undirected": undirected_accuracy}


class Stage(NamedTuple):
    """One fit.

    Attributes
    ----------
    model : type
    settings : dict
        Arguments of its constructor.
    longest : int or None
        Of the sentences that it learns from; None for that of the column.
    gold : bool
        Whether it is given the heads, of sentences that have a projective tree with one root.
    """

    model: type
    settings: dict[str, Any]
    longest: int | None = None
    gold: bool = False


class Model(NamedTuple):
    """How a chain of fits is shown, and its fits."""

    title: str
    stages: tuple[Stage, ...]


_CVB = Stage(CVBDMV, {"alpha": 0.1})
_GIBBS = {"alpha": 0.1, "max_iter": 300, "random_state": 0}
MODELS = {
    "em": Model("EM", (Stage(EMDMV, {}),)),
    "vb-1": Model("VB, alpha 1", (Stage(VBDMV, {"alpha": 1.0}),)),
    "vb-.1": Model("VB, alpha .1", (Stage(VBDMV, {"alpha": 0.1}),)),
    "cvb-1": Model("CVB, alpha 1", (Stage(CVBDMV, {"alpha": 1.0}),)),
    "cvb-.1": Model("CVB, alpha .1", (_CVB,)),
    "cvb-short": Model("CVB, alpha .1, up to 10 tokens first", (_CVB._replace(longest=10), _CVB)),
    "gibbs-.1": Model("Gibbs, alpha .1, one chain", (Stage(GibbsDMV, _GIBBS),)),
    "gold": Model(
        "learned from gold heads", (Stage(EMDMV, {"alpha": 0.1, "max_iter": 1}, gold=True),)
    ),
}
QUICK_MODELS = ("em", "cvb-.1", "cvb-short", "gold")

# Heads without a model.
BASELINES = {
    "next": ("head is the next word", lambda n: [*range(2, n + 1), 0]),
    "previous": ("head is the previous word", lambda n: list(range(n))),
    "last": ("all attached to the last word", lambda n: [n] * (n - 1) + [0]),
    "first": ("all attached to the first word", lambda n: [0] + [1] * (n - 1)),
}


class Treebank(NamedTuple):
    """Tags, heads and the fold of each sentence."""

    tags: list
    heads: list
    fold: np.ndarray


def english(settings):
    """The journal's sample: each fifth file is a fold."""
    corpus = fetch_dependency_treebank(remove_punctuation=True, data_home=settings.data_home)
    fold = np.unique(corpus.files, return_inverse=True)[1] % N_FOLDS
    return Treebank(corpus.data, corpus.target, fold)


def conll(language, column, settings):
    """Basque or Spanish: a fold is a fifth of the sentences as they follow each other."""
    corpus = fetch_conll2007(
        language=language, column=column, remove_punctuation=True, data_home=settings.data_home
    )
    fold = np.arange(len(corpus.data)) * N_FOLDS // len(corpus.data)
    return Treebank(corpus.data, corpus.target, fold)


TREEBANKS = {
    "english": ("English", english),
    "basque": ("Basque, coarse tags", partial(conll, "basque", "upos")),
    "basque-fine": ("Basque, fine tags", partial(conll, "basque", "xpos")),
    "spanish": ("Spanish, coarse tags", partial(conll, "spanish", "upos")),
    "spanish-fine": ("Spanish, fine tags", partial(conll, "spanish", "xpos")),
}


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


PARTS = {name: partial(part, name) for name in TREEBANKS} | {"chains": chains}


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


def pooled(folds):
    """Share of all tokens that are right."""
    total = sum(n for _, n in folds)
    return sum(share * n for share, n in folds) / total


def tables(results):
    """Accuracies of all models, a table for each treebank and measure.

    Parameters
    ----------
    results : dict

    Returns
    -------
    str
    """
    parts = [
        _table(results[name], TREEBANKS[name][0], measure)
        for name in TREEBANKS
        if name in results
        for measure in MEASURES
    ]
    if "chains" in results:
        parts.append(_chains_table(**results["chains"]))
    return "\n".join(parts)


def _limits():
    return ["all" if limit is None else f"to {limit}" for limit in SCORED]


def _table(found, treebank, measure):
    """Columns by the longest sentence learned from, and within these by the longest scored."""
    columns = list(next(iter(found["models"].values())))
    header = ["learned from sentences to, scored on sentences"]
    header += [f"{longest}, {limit}" for longest in columns for limit in _limits()]
    header += ["deviation of the folds, first column"]
    lines = []
    for key, by_length in found["models"].items():
        cells = [folds for longest in columns for folds in by_length[longest][measure]]
        lines.append(_line(MODELS[key].title, cells))
    for key, one in found["baselines"].items():
        lines.append(_line(BASELINES[key][0], one[measure] * len(columns)))
    return list_table(header, lines, f"{treebank}: {measure} accuracy (%)")


def _chains_table(shares, objectives, **_):
    """Accuracy of each chain, and of the best chain of each fold by its objective."""
    shares, best = np.array(shares), np.argmax(objectives, axis=0)
    lines = [[f"seed {seed}", *_percent(row)] for seed, row in enumerate(shares)]
    lines.append(["mean", *_percent(shares.mean(axis=0))])
    lines.append(["the best objective", *_percent(shares[best, np.arange(shares.shape[1])])])
    header = ["", *(f"fold {k + 1}" for k in range(shares.shape[1])), "mean"]
    title = "English: chains of Gibbs, learned from and scored on sentences to 10, directed (%)"
    return list_table(header, lines, title)


def _percent(shares):
    return [f"{100 * share:.1f}" for share in (*shares, np.mean(shares))]


def _line(title, cells):
    deviation = 100 * spread([share for share, _ in cells[0]]).deviation
    return [title, *(f"{100 * pooled(folds):.1f}" for folds in cells), f"{deviation:.1f}"]


def draw(results, folder):
    """Directed accuracy by model, a panel for each treebank.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    from matplotlib.figure import Figure

    names = [name for name in TREEBANKS if name in results]
    if not names:
        return
    figure = Figure(figsize=(2.4 + 2.1 * len(names), 4.6), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    keys = [key for key in MODELS if key in results[names[0]]["models"]]
    rows = [MODELS[key].title for key in keys] + [title for title, _ in BASELINES.values()]
    for panel, name in zip(panels, names, strict=True):
        found = results[name]
        longest = list(found["models"][keys[0]])[-1]
        for limit, marker in zip(range(len(SCORED)), "osD", strict=True):
            cells = [found["models"][key][longest]["directed"][limit] for key in keys]
            cells += [found["baselines"][key]["directed"][limit] for key in BASELINES]
            values = [100 * pooled(folds) for folds in cells]
            label = f"sentences {_limits()[limit]}".replace("sentences all", "all sentences")
            panel.plot(values, range(len(rows)), marker, markersize=5, label=label)
        panel.axhline(len(keys) - 0.5, color="0.5", linewidth=0.8)
        panel.set(title=TREEBANKS[name][0].replace(", ", "\n"), xlim=(0, 90))
        panel.grid(alpha=0.3)
    panels[0].set_yticks(range(len(rows)), labels=rows)
    panels[0].invert_yaxis()
    figure.supxlabel(f"directed accuracy (%), learned from sentences of up to {longest} tokens")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper right", ncols=3, frameon=False, title="scored on")
    figure.savefig(folder / "dmv_accuracy.png", dpi=110)
