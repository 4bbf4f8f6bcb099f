"""Wang and Blunsom (2013), 4.3: parsers from a treebank whose symbols have hidden subtypes.

The paper's sections of the Penn Treebank are not free; here the sample of NLTK is divided, 90 % of
its sentences to learn from and the last 10 % to parse. EM, VB and CVB by number of subtypes, EM
with smoothed final counts as a control, and split-merge. What is chosen (the alpha of split-merge)
is chosen on the last of the first 90 %, from which the fits compared there do not learn.
"""

from functools import cache, partial
from time import thread_time
from typing import NamedTuple

from benchmarks.published.tables import Table, plus_minus, spread
from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, SplitAndMerge, VBLatentPCFG
from sklearn_cvb.datasets import fetch_treebank_trees
from sklearn_cvb.metrics import bracket_scores
from sklearn_cvb.plotting import algorithm_colours

# Table 1 of the paper: precision, recall, F1, exact match of section 23, two subtypes.
PUBLISHED = {
    "em": (75.84, 72.92, 74.35, 11.13),
    "vb-.1": (76.98, 73.32, 75.11, 11.49),
    "cvb-.1": (78.85, 76.98, 77.90, 12.56),
}


class Model(NamedTuple):
    """How a model is shown, its class and settings, and what is added to its final counts."""

    title: str
    kind: type
    settings: dict
    smoothing: float | None = None


MODELS = {
    "em": Model("EM", EMLatentPCFG, {}),
    "em-smooth": Model("EM, final counts + .1", EMLatentPCFG, {}, 0.1),
    "vb-.1": Model("VB, alpha .1", VBLatentPCFG, {"alpha": 0.1}),
    "cvb-.1": Model("CVB, alpha .1", CVBLatentPCFG, {"alpha": 0.1}),
    "cvb-.01": Model("CVB, alpha .01", CVBLatentPCFG, {"alpha": 0.01}),
    "cvb-token-.1": Model("CVB by node, alpha .1", CVBLatentPCFG, {"update": "token"}),
}
USUAL = ("em", "em-smooth", "vb-.1", "cvb-.1")


class Size(NamedTuple):
    """Which models, from how many starts, in how many sweeps."""

    models: tuple
    n_starts: int
    n_sweeps: int = 40


SIZES = {
    1: Size(USUAL, 1),
    2: Size((*USUAL, "cvb-token-.1"), 3),
    4: Size((*USUAL, "cvb-token-.1"), 3),
    8: Size((*USUAL, "cvb-.01"), 1),
    16: Size((*USUAL, "cvb-.01"), 1),
}
QUICK_STARTS, QUICK_SWEEPS = 2, 4
# What split-merge chooses from on the development sentences.
SPLIT_MERGE = {
    "em": (EMLatentPCFG, "smoothing", (0.1, 0.0)),
    "vb": (VBLatentPCFG, "alpha", (0.1, 0.03, 0.01)),
    "cvb": (CVBLatentPCFG, "alpha", (0.1, 0.03, 0.01)),
}
FIXED = {"schedule": SplitAndMerge(round_length=20), "n_subtypes": 16, "max_iter": 80}
QUICK_FIXED = {"schedule": SplitAndMerge(round_length=4), "n_subtypes": 4, "max_iter": 8}


class Variant(NamedTuple):
    """One choice in how trees become rules."""

    title: str
    settings: dict
    joined: bool = False  # whether nodes with one child are joined with it to one label, tags too


VARIANTS = {
    "usual": Variant("as above", {}),
    "one": Variant("helper symbols remember one sister", {"horizontal_markovisation": 1}),
    "joined": Variant("chains of one child joined to one label", {}, True),
}


class Divided(NamedTuple):
    """Trees to learn from, and trees of up to `_LONGEST` words whose sentences are parsed."""

    training: list
    test: list


_LONGEST = 40


@cache
def _trees(data_home):
    """All trees of the sample, read once."""
    return fetch_treebank_trees(data_home=data_home, download_if_missing=False).target


@cache
def divided(settings, development=False):
    """The sample of the Penn Treebank in two.

    `development`: whether to learn from the first 85 % and parse the next 5 %; else 90 and 10 %.
    """
    trees = _trees(settings.data_home)
    longest = 10 if settings.quick else _LONGEST
    if settings.quick:
        trees = [tree for tree in trees[:1500] if len(tree.leaves()) <= 15]
    begin, end = len(trees) - len(trees) // 10, len(trees)
    if development:
        begin, end = int(0.85 * len(trees)), begin
    return Divided(trees[:begin], [t for t in trees[begin:end] if len(t.leaves()) <= longest])


def joined(tree):
    """A tree whose nodes with one child are one node with it, tags too: S - VP becomes S+VP."""
    tree = tree.copy(deep=True)
    tree.collapse_unary(collapsePOS=True, collapseRoot=True, joinChar="+")
    return tree


def parted(tree):
    """What `joined` has made undone."""
    children = [parted(child) if hasattr(child, "label") else child for child in tree]
    *above, label = tree.label().split("+")
    node = type(tree)(label, children)
    for label in reversed(above):
        node = type(tree)(label, [node])
    return node


def scored(model, data, undo=None):
    """Precision, recall, F1, exact match of a fitted model's parses, and sentences per second."""
    begin = thread_time()
    found = model.predict([tree.leaves() for tree in data.test])
    seconds = thread_time() - begin
    trees = [undo(tree) for tree in found] if undo else list(found)
    scores = bracket_scores(data.test, trees)._asdict()
    return {name: float(value) for name, value in scores.items()} | {
        "sentences_a_second": len(data.test) / seconds
    }


def fitted(kind, settings, data):
    """A fitted model, its seconds, and its objective."""
    begin = thread_time()
    model = kind(tol=0, **settings).fit(data.training)
    seconds = thread_time() - begin
    return model, {"fit_seconds": seconds, "objective": float(model.objective_)}


def reading_seconds(data):
    """How long it takes to read the trees, which every fit does: one sweep of the smallest."""
    smallest = {"n_subtypes": 1, "max_iter": 1}
    return min(fitted(EMLatentPCFG, smallest, data)[1]["fit_seconds"] for _ in range(2))


def by_subtypes(n_subtypes, settings):
    """All models with this many subtypes, from all starts.

    `n_subtypes`: a key of `SIZES`.
    """
    size, data = SIZES[n_subtypes], divided(settings)
    if settings.quick:
        size = size._replace(n_starts=min(QUICK_STARTS, size.n_starts), n_sweeps=QUICK_SWEEPS)
    common = {"n_subtypes": n_subtypes, "max_iter": size.n_sweeps}
    reading, found = reading_seconds(data), {name: [] for name in size.models}
    for seed in range(size.n_starts):
        fits = {}
        for name in size.models:
            kind, own, smoothing = MODELS[name][1:]
            key = kind, tuple(own.items())
            if key not in fits:
                fits[key] = fitted(kind, common | own | {"random_state": seed}, data)
            model, about = fits[key]
            if smoothing is not None:
                model.set_params(smoothing=smoothing)
            sweeps = max(0.0, about["fit_seconds"] - reading) / size.n_sweeps
            found[name].append(about | {"sweep_seconds": sweeps} | scored(model, data))
    counts = {"n_training": len(data.training), "n_test": len(data.test)}
    return counts | {"n_sweeps": size.n_sweeps, "models": found}


def split_merge(name, settings):
    """Split-merge with what is best on the development sentences.

    `name`: a key of `SPLIT_MERGE`.
    """
    kind, parameter, values = SPLIT_MERGE[name]
    fixed = (QUICK_FIXED if settings.quick else FIXED) | {"random_state": 0}
    development, found = divided(settings, development=True), {}
    for value in values:
        model, about = fitted(kind, fixed | {parameter: value}, development)
        found[f"{value:g}"] = about | scored(model, development)
    chosen = max(found, key=lambda value: found[value]["f1"])
    model, about = fitted(kind, fixed | {parameter: float(chosen)}, divided(settings))
    about["n_subtypes"] = {str(symbol): n for symbol, n in model.n_subtypes_.items()}
    return {
        "parameter": parameter,
        "n_development": len(development.test),
        "development": found,
        "chosen": chosen,
        "test": about | scored(model, divided(settings)),
    }


def conventions(settings):
    """F1 of CVB when one choice is another, on the development and on the test sentences."""
    found = {}
    for name, variant in VARIANTS.items():
        found[name] = {}
        for n_subtypes in (1, 2):
            sweeps = QUICK_SWEEPS if settings.quick else SIZES[n_subtypes].n_sweeps
            fixed = {"n_subtypes": n_subtypes, "max_iter": sweeps, "random_state": 0}
            found[name][str(n_subtypes)] = [
                _variant_f1(variant, fixed, divided(settings, development))
                for development in (True, False)
            ]
    return {"variants": found}


def _variant_f1(variant, fixed, data):
    """F1 of CVB under one variant."""
    learned = data
    if variant.joined:
        learned = data._replace(training=[joined(tree) for tree in data.training])
    model, _ = fitted(CVBLatentPCFG, fixed | variant.settings, learned)
    return scored(model, data, parted if variant.joined else None)["f1"]


PARTS = {
    **{str(n): partial(by_subtypes, n) for n in SIZES},
    **{f"split-merge-{name}": partial(split_merge, name) for name in SPLIT_MERGE},
    "conventions": conventions,
}


def tables(results):
    """Scores by model and number of subtypes, the paper's beside ours, and what was tried."""
    sizes, found = _sizes(results), {}
    if sizes:
        found["subtypes"] = _by_subtypes(sizes)
    if "2" in results:
        found["published"] = _published(results["2"]["models"])
    if sizes:
        found["prices"] = _prices(sizes)
    found["split_merge"] = _split_merge(results)
    if "conventions" in results:
        found["conventions"] = _conventions(results["conventions"]["variants"])
    return found


def _sizes(results):
    """What was found, by number of subtypes."""
    return {n: results[str(n)] for n in SIZES if str(n) in results}


def _shown(runs, measure, digits=1, scale=100):
    """Mean of a measure over starts, with its deviation."""
    return plus_minus([one[measure] for one in runs], digits, scale)


def _names(sizes):
    """All models that were run, in order."""
    return [name for name in MODELS if any(name in found["models"] for found in sizes.values())]


def _by_model(sizes, title, cell):
    """A line for each model, a column for each number of subtypes."""
    found = [of["models"] for of in sizes.values()]
    lines = [
        [MODELS[name].title, *(cell(of[name]) if name in of else "" for of in found)]
        for name in _names(sizes)
    ]
    return Table(["subtypes", *map(str, sizes)], lines, title)


def _by_subtypes(sizes):
    starts = {n: len(next(iter(found["models"].values()))) for n, found in sizes.items()}
    several = [n for n in starts if starts[n] > 1]
    title = "F1 of labelled brackets in per cent; one start"
    if several:
        shown = " and ".join(map(str, several))
        title += f", with {shown} subtypes {starts[several[0]]} (mean, standard deviation)"
    return _by_model(sizes, title, lambda runs: _shown(runs, "f1"))


def _published(models):
    """Two subtypes: all four measures, and the paper's."""
    lines, measures = [], ("precision", "recall", "f1", "exact")
    for name, runs in models.items():
        lines.append([MODELS[name].title, "ours", *(_shown(runs, one) for one in measures)])
        if name in PUBLISHED:
            lines.append(["", "paper", *PUBLISHED[name]])
    title = "Two subtypes, in per cent; the paper's are of other sentences"
    return Table(["", "", "precision", "recall", "F1", "exact"], lines, title)


def _prices(sizes):
    def cell(runs):
        sweep = spread([one["sweep_seconds"] for one in runs]).mean
        parsed = spread([one["sentences_a_second"] for one in runs]).mean
        return f"{sweep:.2f}, {parsed:.0f}"

    return _by_model(sizes, "Seconds per sweep, sentences parsed per second; one core", cell)


def _split_merge(results):
    """What was chosen, and the scores with it."""
    lines = []
    for name in SPLIT_MERGE:
        found = results.get(f"split-merge-{name}")
        if found:
            tried = ", ".join(
                f"{value}: {100 * one['f1']:.1f}" for value, one in found["development"].items()
            )
            test = found["test"]
            scores = [f"{100 * test[one]:.1f}" for one in ("precision", "recall", "f1", "exact")]
            price = [f"{test['fit_seconds']:.0f}", f"{test['sentences_a_second']:.0f}"]
            total = sum(test["n_subtypes"].values())
            chosen = f"{found['parameter']} {found['chosen']}"
            lines.append([name.upper(), tried, chosen, *scores, total, *price])
    header = ["", "F1, development", "chosen", "precision", "recall", "F1", "exact"]
    header += ["subtypes in all", "seconds per fit", "sentences per second"]
    return Table(header, lines, "Split-merge, in per cent")


def _conventions(found):
    """F1 by variant, on both sets of sentences."""
    numbers = list(next(iter(found.values())))
    header = ["subtypes", *(f"{n}, {of}" for n in numbers for of in ("development", "test"))]
    lines = [
        [VARIANTS[name].title, *(f"{100 * f1:.1f}" for n in numbers for f1 in of[n])]
        for name, of in found.items()
    ]
    return Table(header, lines, "CVB, alpha .1, one start, one choice changed: F1 in per cent")


def draw(results, folder):
    """F1 by number of subtypes, as the paper's figure 7."""
    from matplotlib.figure import Figure

    sizes = _sizes(results)
    if not sizes:
        return
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    panel = figure.subplots()
    names = _names(sizes)
    colours = algorithm_colours(MODELS[name].title for name in names)
    for marker, colour, name in zip("os^vDP", colours, names, strict=False):
        of = {n: found["models"][name] for n, found in sizes.items() if name in found["models"]}
        points = [spread([100 * one["f1"] for one in runs]) for runs in of.values()]
        style = {"marker": marker, "ms": 4, "lw": 1.2, "capsize": 2, "color": colour}
        means, deviations, _ = zip(*points, strict=True)
        panel.errorbar(list(of), means, deviations, label=MODELS[name].title, **style)
    for index, name in enumerate(SPLIT_MERGE):
        found = results.get(f"split-merge-{name}")
        if found:
            f1 = 100 * found["test"]["f1"]
            label = f"split-merge, {name.upper()}"
            panel.axhline(f1, color="0.35", lw=0.9, ls=(":", "--", "-.")[index], label=label)
    panel.set(xscale="log", xlabel="subtypes of each symbol", ylabel="F1 of labelled brackets, %")
    panel.set_xticks(list(sizes), [str(n) for n in sizes])
    panel.minorticks_off()
    panel.grid(alpha=0.3)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.savefig(folder / "latent_f1.png", dpi=110)
