"""Dependency models with valence (Klein and Manning 2004): which heads are found from tags alone?

English, Basque and Spanish treebanks without punctuation, in five folds. Learned from the tags of
four fifths, up to this many a sentence; heads of the last fifth are compared with the annotation. A
model is a chain of fits, each of which begins where the one before ended: a line in `MODELS`. What
is known of the heads of Universal Dependencies is in `dmv_knowledge`.
"""

from functools import cache, partial
from time import perf_counter
from warnings import catch_warnings, simplefilter

import numpy as np

from benchmarks.published import dmv_knowledge
from benchmarks.published.dmv_models import BASELINES, CHANGES, MODELS, QUICK_MODELS, Model
from benchmarks.published.dmv_treebanks import CLASSES, N_FOLDS, TREEBANKS, arc_weights, english
from benchmarks.published.pictures import draw_dots
from benchmarks.published.tables import Table, spread
from sklearn_cvb import EMDMV, GibbsDMV
from sklearn_cvb.metrics import directed_accuracy, undirected_accuracy

# Longest sentences to be scored on; None for all.
SCORED = (10, 20, None)
MEASURES = {"directed": directed_accuracy, "undirected": undirected_accuracy}

SWEEPS, QUICK_SWEEPS, N_CHAINS = 40, 10, 10
# Longest sentences to learn from.
LEARNED, QUICK_LEARNED = (10, 15, 20), (10,)


@cache
def is_learnable(heads):
    """Whether a model can be given these heads: they are a projective tree with one root."""
    try:
        # Before it learns, a fit looks whether there is a tree.
        EMDMV(max_iter=1).fit([["x"] * len(heads)], [heads])
    except ValueError:
        return False
    return True


def learned(model, treebank, training, longest, sweeps):
    """A model after all its fits.

    `training`: sentences to learn from. `longest`: tokens of the longest of these.
    """
    vocabulary = sorted({tag for tags in treebank.tags for tag in tags})
    shared = {"max_iter": sweeps, "vocabulary": vocabulary, "handle_unknown": "error"}
    estimator = None
    for stage in model.stages:
        limit = stage.longest or longest
        chosen = [i for i in training if len(treebank.tags[i]) <= limit]
        if stage.gold:
            chosen = [i for i in chosen if is_learnable(tuple(treebank.heads[i]))]
        start = {} if estimator is None else {"init": estimator}
        if not issubclass(stage.model, GibbsDMV):
            start["tol"] = 0.0
        if stage.rules:
            start["arc_weights"] = arc_weights(stage.rules, treebank.classes)
        y = [treebank.heads[i] for i in chosen] if stage.gold else None
        estimator = stage.model(**shared | start | stage.settings)
        estimator.fit([treebank.tags[i] for i in chosen], y)
    return estimator


def scores(treebank, found):
    """Accuracies of each fold, by what is measured and by the longest sentence.

    `found`: heads of all sentences. Returns by measure, a list for each limit of `SCORED`: right
    and all tokens, fold by fold.
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
PARTS |= {name: partial(dmv_knowledge.part, name) for name in dmv_knowledge.TREEBANKS}
PARTS |= {"changes": changes, "chains": chains}


def pooled(folds):
    """Share of all tokens that are right."""
    total = sum(n for _, n in folds)
    return sum(share * n for share, n in folds) / total


def tables(results):
    """Accuracies of all models, a table for each treebank and measure."""
    names = [name for name in TREEBANKS if name in results]
    found = {
        f"{name}_{measure}": _table(results[name], TREEBANKS[name][0], measure)
        for measure in MEASURES
        for name in names
    }
    if names:
        found["tags"] = _classes_table(names)
    found |= dmv_knowledge.tables_of(results)
    if "changes" in results:
        found["changes"] = _changes_table(results["changes"]["models"])
    if "chains" in results:
        found["chains"] = _chains_table(**results["chains"])
    return found


def _limits():
    return ["all" if limit is None else f"to {limit}" for limit in SCORED]


def _table(found, treebank, measure):
    """Columns by the longest sentence learned from, and within these by the longest scored."""
    columns = list(next(iter(found["models"].values())))
    keys = [key for key in MODELS if key in found["models"]]
    header = ["learned from sentences to, scored on sentences"]
    header += [f"{longest}, {limit}" for longest in columns for limit in _limits()]
    header += ["deviation of the folds, first column"]
    lines = []
    for key in keys:
        by_length = found["models"][key]
        cells = [folds for longest in columns for folds in by_length[longest][measure]]
        lines.append(_line(MODELS[key].title, cells))
    for key, one in found["baselines"].items():
        lines.append(_line(BASELINES[key][0], one[measure] * len(columns)))
    return Table(header, lines, f"{treebank}: {measure} accuracy (%)")


def _literals(tags):
    """Tags as they are, whatever their marks mean in a page."""
    return ", ".join(f"``{tag}``" for tag in tags)


def _classes_table(names):
    """The tags of the classes of words that rules speak of."""
    lines = [
        [kind, *(_literals(CLASSES[name].get(kind, ())) for name in names)]
        for kind in CLASSES["english"]
    ]
    header = ["class of words", *(TREEBANKS[name][0] for name in names)]
    return Table(header, lines, "Tags that the rules speak of")


def _changes_table(found):
    """Accuracies of the staged fit with one setting changed, and its worst and best fold."""
    header = ["changed", *(f"scored on sentences {limit}" for limit in _limits())]
    header += ["worst fold, to 10", "best fold, to 10"]
    lines = []
    for key in found:
        cells = found[key]["directed"]
        shares = [share for share, _ in cells[0]]
        figures = [*map(pooled, cells), min(shares), max(shares)]
        lines.append([CHANGES[key].title, *(f"{100 * figure:.1f}" for figure in figures)])
    title = f"English: {MODELS['staged'].title}, learned from sentences to 20, directed (%)"
    return Table(header, lines, title)


def _chains_table(shares, objectives, **_):
    """Accuracy of each chain, and of the best chain of each fold by its objective."""
    shares, best = np.array(shares), np.argmax(objectives, axis=0)
    lines = [[f"seed {seed}", *_percent(row)] for seed, row in enumerate(shares)]
    lines.append(["mean", *_percent(shares.mean(axis=0))])
    lines.append(["the best objective", *_percent(shares[best, np.arange(shares.shape[1])])])
    header = ["", *(f"fold {k + 1}" for k in range(shares.shape[1])), "mean"]
    title = "English: chains of Gibbs, learned from and scored on sentences to 10, directed (%)"
    return Table(header, lines, title)


def _percent(shares):
    return [f"{100 * share:.1f}" for share in (*shares, np.mean(shares))]


def _line(title, cells):
    deviation = 100 * spread([share for share, _ in cells[0]]).deviation
    return [title, *(f"{100 * pooled(folds):.1f}" for folds in cells), f"{deviation:.1f}"]


# Rows of the picture.
PICTURED = (
    "head is the next word",
    "EM",
    "VB, alpha .1",
    "CVB, alpha .1",
    "Viterbi EM",
    "Viterbi EM, then CVB",
    "arc weights: EM",
    "arc weights: CVB, alpha .1",
    "learned from gold heads",
)


def draw(results, folder):
    """Directed accuracy by model, a panel for each language; and by what is known."""
    dmv_knowledge.draw_ladder(results, folder)
    found = {name: table for name, table in tables(results).items() if name.endswith("_directed")}
    if found:
        draw_tables(found, folder)


def draw_tables(found, folder):
    """Some models in all sentences, learned from the longest ones, from the tables."""
    panels = {}
    for name, table in found.items():
        language, *tags = TREEBANKS[name.removesuffix("_directed")][0].split(", ")
        cells = {row[0]: row[-2] for row in table.rows}
        kept = [row for row in PICTURED if row in cells]
        panel = panels.setdefault(language, Table([""], [[row] for row in kept]))
        panel.header.append(*tags or ["tags"])
        for line in panel.rows:
            line.append(cells[line[0]])
    draw_dots(panels, folder / "dmv_accuracy.png", "directed accuracy in all sentences (%)")
