"""Grammars with independent children: unlabelled brackets by number of symbols.

The tags of the treebank sample without punctuation, sentences up to 10 and up to 20 words; every
algorithm learns from them alone, from random weights, and its trees of the same sentences are
compared with those of the treebank. Beside them left- and right-branching trees, and grammars with
all rules A -> B C where these are fast enough.
"""

from functools import lru_cache, partial
from time import thread_time
from typing import NamedTuple

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG
from sklearn_cvb.datasets.corpora import find_corpus, nltk_root
from sklearn_cvb.metrics import bracket_scores
from sklearn_cvb.plotting import algorithm_colours

# Tags that are no words: punctuation, currency, list items, and empty elements.
_NO_WORDS = {*",.:#$", "``", "''", "-LRB-", "-RRB-", "SYM", "LS", "-NONE-"}


class Model(NamedTuple):
    """How a model is shown, its class, its alpha."""

    title: str
    kind: type
    alpha: float


MODELS = {
    "em": Model("EM", EMPCFG, 0.0),
    "vb-1": Model("VB, alpha 1", VBPCFG, 1.0),
    "vb-0.1": Model("VB, alpha 0.1", VBPCFG, 0.1),
    "vb-0.01": Model("VB, alpha 0.01", VBPCFG, 0.01),
    "cvb-1": Model("CVB, alpha 1", CVBPCFG, 1.0),
    "cvb-0.1": Model("CVB, alpha 0.1", CVBPCFG, 0.1),
    "cvb-0.01": Model("CVB, alpha 0.01", CVBPCFG, 0.01),
}


class Size(NamedTuple):
    """Longest sentences, numbers of symbols by rules, sweeps, and runs from other starts."""

    longest: int
    symbols: dict
    n_sweeps: int
    n_runs: int


SIZES = {
    "10": Size(10, {"independent": (4, 8, 16, 32, 64), "full": (4, 8, 16)}, 40, 3),
    "hundreds": Size(10, {"independent": (128,)}, 40, 1),
    "20": Size(20, {"independent": (8, 16, 32), "full": (8,)}, 30, 2),
}
_QUICK = Size(6, {"independent": (2, 9), "full": (2,)}, 3, 2)


def gold_trees(data_home, longest):
    """Trees of the treebank sample over tags, without punctuation and empty elements.

    `longest`: most words of a sentence.
    """
    return [tree for tree in _trees_over_tags(data_home) if 0 < len(tree.leaves()) <= longest]


@lru_cache(maxsize=1)
def _trees_over_tags(data_home):
    """All trees of the sample, read once; empty where all words are left out."""
    from nltk.corpus.reader import BracketParseCorpusReader

    path = find_corpus("treebank", data_home=data_home, download_if_missing=False)
    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        return [over_tags(tree) for tree in reader.parsed_sents()]


def over_tags(tree):
    """A tree whose words are their tags, without those that are no words."""
    from nltk import Tree

    children = []
    for child in tree:
        if not isinstance(child[0], Tree):
            if child.label() not in _NO_WORDS:
                children.append(Tree(child.label(), [child.label()]))
        else:
            kept = over_tags(child)
            children += [kept] if len(kept) else []
    return Tree(tree.label(), children)


def branching(words, to_the_right):
    """The tree of a sentence all of whose constituents end where it does, or begin there."""
    from nltk import Tree

    leaves = [Tree("W", [word]) for word in words]
    leaves = leaves[::-1] if to_the_right else leaves
    tree = leaves[0]
    for leaf in leaves[1:]:
        tree = Tree("X", [leaf, tree] if to_the_right else [tree, leaf])
    return tree


def score(gold, trees):
    """F1 of brackets without labels, those around whole sentences left out."""
    return bracket_scores(gold, trees, labelled=False, trivial=False).f1


def by_symbols(name, settings):
    """F1, objective and seconds of every model by rules and number of symbols.

    `name`: a key of `SIZES`.
    """
    size = _QUICK if settings.quick else SIZES[name]
    gold = gold_trees(settings.data_home, size.longest)
    X = [tree.leaves() for tree in gold]
    found = {
        "longest": size.longest,
        "n_sentences": len(X),
        "n_tokens": sum(map(len, X)),
        "left": score(gold, [branching(words, False) for words in X]),
        "right": score(gold, [branching(words, True) for words in X]),
        "models": {},
    }
    for rules, numbers in size.symbols.items():
        found["models"][rules] = {
            model: {str(n): _runs(MODELS[model], rules, n, size, X, gold) for n in numbers}
            for model in MODELS
        }
    return found


def _runs(model, rules, n_components, size, X, gold):
    """F1, objectives and seconds of all runs of a model."""
    found = {"f1": [], "objective": [], "seconds": []}
    for seed in range(size.n_runs):
        settings = {"alpha": model.alpha, "max_iter": size.n_sweeps, "tol": 0}
        fit = model.kind(n_components=n_components, rules=rules, random_state=seed, **settings)
        begin = thread_time()
        fit.fit(X)
        found["seconds"].append(thread_time() - begin)
        found["f1"].append(score(gold, fit.labels_))
        found["objective"].append(float(fit.objective_))
    return found


PARTS = {name: partial(by_symbols, name) for name in SIZES}


def tables(results):
    """F1 by model and number of symbols, a table for each length."""
    tables = {}
    for name in [name for name in SIZES if name in results]:
        found = results[name]
        columns = [(rules, n) for rules, of in found["models"].items() for n in of["em"]]
        header = ["", *(f"{n} {rules}" for rules, n in columns)]
        lines = [
            [MODELS[model].title]
            + [plus_minus(found["models"][rules][model][n]["f1"], 1, 100) for rules, n in columns]
            for model in MODELS
        ]
        of_all = [
            np.mean([np.mean(of[n]["seconds"]) for of in found["models"][rules].values()])
            for rules, n in columns
        ]
        lines.append(["seconds per fit, mean", *(f"{seconds:.1f}" for seconds in of_all)])
        title = (
            f"{found['n_sentences']:,} sentences of up to {found['longest']} words: F1 of brackets "
            f"in %, by symbols and rules; left-branching {100 * found['left']:.1f}, "
            f"right-branching {100 * found['right']:.1f}"
        )
        tables[name] = Table(header, lines, title)
    return tables


def draw(results, folder):
    """F1 by number of symbols, every run a point."""
    from matplotlib.figure import Figure

    names = [name for name in SIZES if name in results and name != "hundreds"]
    if not names:
        return
    figure = Figure(figsize=(5.0 * len(names) + 2.0, 4.2), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        _draw_size(panel, results[name])
    panels[0].set_ylabel("F1 of brackets, %")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside right upper", frameon=False)
    figure.savefig(folder / "independent_f1.png", dpi=110)


def _draw_size(panel, found):
    colours = algorithm_colours(model.title for model in MODELS.values())
    for index, (name, model) in enumerate(MODELS.items()):
        of = found["models"]["independent"][name]
        x = [int(n) * 1.02 ** (index - 3) for n in of]
        for place, runs in zip(x, of.values(), strict=True):
            f1 = [100 * value for value in runs["f1"]]
            panel.plot([place] * len(f1), f1, ".", color=colours[index], ms=3, alpha=0.6)
        means = [100 * np.mean(runs["f1"]) for runs in of.values()]
        panel.plot(x, means, color=colours[index], lw=1.2, label=model.title)
    for height, style, label in (
        (found["right"], "--", "right-branching"),
        (found["left"], ":", "left-branching"),
    ):
        panel.axhline(100 * height, color="0.4", lw=0.9, ls=style, label=label)
    panel.set(xscale="log", xlabel="symbols", title=f"up to {found['longest']} words")
    ticks = [int(n) for n in found["models"]["independent"]["em"]]
    panel.minorticks_off()
    panel.set_xticks(ticks, [str(n) for n in ticks])
    panel.grid(alpha=0.3)
