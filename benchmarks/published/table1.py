"""Wang and Blunsom (2013), table 1: accuracy by number of raw sentences, complete dictionary.

Further rows: 1,000 sentences drawn at random ten times, as section 5.2 of the paper draws them;
the start and concentrations under which our algorithms come out as in the paper; the Brown corpus,
without and with weights in the dictionary.
"""

from functools import partial

from benchmarks.published.pictures import draw_beside
from benchmarks.published.tables import Table, plus_minus, spread
from benchmarks.published.taggers import (
    CONCENTRATIONS,
    METHODS,
    SWEEPS,
    Plan,
    Search,
    choose,
    choose_all,
    compare,
    fit_restarts,
)
from benchmarks.published.text import described, first_sentences, random_sentences
from sklearn_cvb.demo.published import published_accuracies

# Sentences, then sweeps and chains of Gibbs: what a minute or two of one core allows.
ROWS = {
    "1000": Plan(20_000, 10),
    "2000": Plan(10_000, 5),
    "3000": Plan(3_000, 5),
    "5000": Plan(2_000, 5),
    "10000": Plan(1_000, 5),
    "14862": Plan(1_000, 5),
}
WHOLE = "14862"
# Share of tokens that a random legal tag gets right, in the paper's dictionary.
PUBLISHED_RANDOM = dict(zip(ROWS, (65.1, 65.2, 65.1, 64.9, 64.7, 64.8), strict=True))
SEARCH = Search(CONCENTRATIONS, CONCENTRATIONS, 4, 25, 100)
QUICK_SEARCH = Search((1.0,), (0.03, 0.3), 1, 10, 20)
USUAL = {"alpha": 1.0, "beta": 0.03}
# What the part "choice" finds; every row uses it, so that any of them can be run alone.
CHOSEN = {name: {} if name == "em" else USUAL for name in METHODS}
CHOSEN["cvb-sequence"] = {"alpha": 0.3, "beta": 0.03}
CHOSEN_BY_SIZE = ("vb", "cvb-token", "cvb-sequence")


def choice(settings):
    """alpha and beta of every method, chosen on the first 1,000 sentences."""
    n, search = (200, QUICK_SEARCH) if settings.quick else (1000, SEARCH)
    return {"methods": choose_all(first_sentences(settings, n), search)}


def row(n_sentences, settings):
    """One row of table 1."""
    plan, gibbs, n = Plan(SWEEPS, 10), ROWS[n_sentences], int(n_sentences)
    if settings.quick:
        plan, gibbs, n = Plan(20, 3), Plan(200, 2), n // 5
    text = first_sentences(settings, n)
    plans = dict.fromkeys(METHODS, plan) | {"gibbs": gibbs}
    return {"text": described(text), "methods": compare(text, plans, CHOSEN, settings.n_jobs)}


def draws(settings):
    """Ten random draws of 1,000 sentences, each algorithm from one start on each."""
    n, n_draws, gibbs = (250, 3, 100) if settings.quick else (1000, 10, 2000)
    found = {name: {"accuracies": [], "seconds": []} for name in METHODS}
    for seed in range(n_draws):
        text = random_sentences(settings, n, seed)
        for name, lists in found.items():
            plan = Plan(gibbs if name == "gibbs" else SWEEPS, 1)
            fits = fit_restarts(name, text, plan, 1, seed, **({} if name == "em" else USUAL))
            for key in lists:
                lists[key] += fits[key]
            lists["sweeps"] = plan.sweeps
    return {"n_sentences": n, "methods": found}


def parameter_start(settings):
    """1,000 sentences from random parameters and one E-step, all algorithms from the same seeds."""
    n, plan, gibbs = 1000, Plan(SWEEPS, 10), Plan(2000, 10)
    if settings.quick:
        n, plan, gibbs = 250, Plan(20, 3), Plan(100, 3)
    text = first_sentences(settings, n)
    methods = {}
    for name in METHODS:
        values = {} if name == "em" else {"alpha": 0.1, "beta": 0.03}
        here = gibbs if name == "gibbs" else plan
        methods[name] = fit_restarts(name, text, here, settings.n_jobs, init="parameter", **values)
    return {"n_sentences": n, "methods": methods}


def brown(settings, weights=False):
    """The Brown corpus, a million words."""
    n, plan, gibbs = None, Plan(SWEEPS, 1 if weights else 3), Plan(200, 1)
    if settings.quick:
        n, plan, gibbs = 250, Plan(5, 1), Plan(20, 1)
    text = first_sentences(settings, n, corpus="brown", weights=weights)
    methods = {}
    for name in METHODS:
        here = gibbs if name == "gibbs" else plan
        values = {} if name == "em" else USUAL
        values = values | {"tag_dictionary__weight": 1.0}
        methods[name] = fit_restarts(name, text, here, settings.n_jobs, **values)
    return {"text": described(text), "methods": methods}


def choice_by_size(settings):
    """alpha and beta of VB and both CVBs chosen again at every size, and what they reach."""
    plan, search = Plan(SWEEPS, 10), SEARCH._replace(folds=1)
    names, sizes = CHOSEN_BY_SIZE, [int(name) for name in ROWS]
    if settings.quick:
        plan, search, sizes = Plan(20, 2), QUICK_SEARCH, [150, 300]
    found = {}
    for n in sizes:
        text = first_sentences(settings, n)
        found[str(n)] = {name: choose(name, text, search) for name in names}
        for choice in found[str(n)].values():
            choice.pop("held_out")
        for name, values in found[str(n)].items():
            values |= fit_restarts(name, text, plan, settings.n_jobs, **values)
    return {"sizes": found}


PARTS = (
    {"choice": choice}
    | {name: partial(row, name) for name in ROWS}
    | {
        "choice by size": choice_by_size,
        "draws": draws,
        "parameter start": parameter_start,
        "brown": brown,
        "brown weights": partial(brown, weights=True),
    }
)


def accuracy(fits):
    """Mean and deviation in per cent."""
    return plus_minus(fits["accuracies"], 2 if len(fits["accuracies"]) > 1 else 1, 100)


def tables(results):
    """Our table 1 beside the published one, and the further rows."""
    sizes = [name for name in ROWS if name in results]
    others = [name for name in _OTHER_TITLES if name in results]
    found = {"accuracies": _accuracies(results, sizes)}
    if "choice" in results:
        found["choice"] = _concentrations(results["choice"]["methods"])
    if "choice by size" in results:
        found["choice_by_size"] = _by_size(results["choice by size"]["sizes"])
    found["others"] = _others(results, others)
    found["times"] = _times(results, [*sizes, *(name for name in others if name == "brown")])
    return found


def _accuracies(results, sizes):
    """Ours above theirs, one pair of lines a size."""
    header = ["sentences", "", "random", *(method.title for method in METHODS.values())]
    lines = []
    for name in sizes:
        found = results[name]
        theirs = published_accuracies("wsj", int(name), name == WHOLE, 1)
        text = found["text"]
        lines.append(
            [
                f"{text['n_sentences']:,}",
                "ours",
                f"{100 * text['random_choice']:.1f}",
                *(accuracy(found["methods"][method]) for method in METHODS),
            ]
        )
        cells = [theirs.get(method) for method in METHODS]
        cells = [f"{cell.mean} ({cell.deviation})" if cell else "" for cell in cells]
        lines.append(["", "paper", PUBLISHED_RANDOM[name], *cells])
    title = "Accuracy of the training tags in per cent: mean (standard deviation) over the starts"
    return Table(header, lines, title)


def _concentrations(methods):
    """What was chosen on held-out sentences."""
    chosen = [name for name in METHODS if name != "em"]
    lines = [
        ["alpha, beta", *(f"{methods[n]['alpha']:g}, {methods[n]['beta']:g}" for n in chosen)],
        ["accuracy held out", *(f"{100 * methods[n]['held_out']:.1f}" for n in chosen)],
    ]
    header = ["", *(METHODS[name].title for name in chosen)]
    return Table(header, lines, "Chosen on the first 1,000 sentences, a quarter held out")


def _by_size(sizes):
    """Chosen again for each size: the pair, and the accuracy."""
    lines = []
    for n, found in sizes.items():
        cells = [
            (f"{found[m]['alpha']:g}, {found[m]['beta']:g}", accuracy(found[m]))
            for m in CHOSEN_BY_SIZE
        ]
        lines.append([f"{int(n):,}", *(part for cell in cells for part in cell)])
    titles = [(METHODS[name].title, "") for name in CHOSEN_BY_SIZE]
    header = ["sentences", *(part for title in titles for part in title)]
    return Table(header, lines, "alpha and beta chosen at each size, and the accuracy then")


_OTHER_TITLES = {
    "draws": "1,000 sentences drawn 10 times",
    "parameter start": "first 1,000, parameter start, alpha 0.1",
    "brown": "Brown",
    "brown weights": "Brown, dictionary with weights",
}


def _others(results, others):
    header = ["text", *(method.title for method in METHODS.values())]
    lines = [
        [_OTHER_TITLES[name], *(accuracy(results[name]["methods"][m]) for m in METHODS)]
        for name in others
    ]
    return Table(header, lines, "Further rows, beta = 0.03")


def _times(results, names):
    """Processor seconds of one fit."""
    titles = [method.title for method in METHODS.values()]
    header = ["sentences", *titles, "Gibbs: sweeps, chains", "all, minutes"]
    lines = []
    for name in names:
        found = results[name]
        seconds = [spread(found["methods"][m]["seconds"]).mean for m in METHODS]
        minutes = f"{found.get('seconds', 0.0) / 60:.1f}"
        size = f"{found['text']['n_sentences']:,}"
        gibbs = found["methods"]["gibbs"]
        chains = f"{gibbs['sweeps']:,}, {len(gibbs['accuracies'])}"
        lines.append([size, *(f"{value:.3g}" for value in seconds), chains, minutes])
    title = "Processor seconds of one fit, and minutes of the whole row"
    return Table(header, lines, title)


def draw(results, folder):
    """Accuracy by size, ours and the paper's."""
    sizes = [name for name in ROWS if name in results]
    if sizes:
        table = _accuracies(results, sizes)
        path, label = folder / "table1_accuracy.png", "sentences (logarithmic scale)"
        draw_beside(table, path, label, logarithmic=True)
