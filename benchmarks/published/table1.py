"""Wang and Blunsom (2013), table 1: accuracy by number of raw sentences, complete dictionary.

Beside the paper's algorithms: EM by Viterbi training, and the second order of footnote 2. Further
rows: 1,000 sentences drawn at random ten times, as section 5.2 of the paper draws them; starts and
concentrations, which decide whether VB is above EM; the Brown corpus, without and with weights in
the dictionary.
"""

from functools import partial

from benchmarks.published.pictures import draw_beside
from benchmarks.published.second_order_sweeps import second_order_restarts
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
from benchmarks.published.text import Shared, described, first_sentences, random_sentences
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
# All that tables 1 and 2 show. What is no key of `METHODS` has a part of its own under its name.
COLUMNS = {
    "em": METHODS["em"].title,
    "em-viterbi": "EM, Viterbi training",
    "vb": METHODS["vb"].title,
    "cvb-token": METHODS["cvb-token"].title,
    "second-order": "CVB token, order 2",
    "cvb-sequence": METHODS["cvb-sequence"].title,
    "gibbs": METHODS["gibbs"].title,
}
# Values of `init`, and the pairs (alpha, beta) tried from each: one of the two at its usual value.
STARTS = ("token", "parameter", "word")
PAIRS = tuple(
    [(alpha, 0.03) for alpha in (1.0, 0.3, 0.1, 0.03, 0.003)]
    + [(1.0, beta) for beta in (0.003, 0.01, 0.1, 0.3, 1.0)]
)
# Those that the page shows; a file has all of them.
_SHOWN_PAIRS = tuple(PAIRS[i] for i in (0, 2, 4, 5, 8))
_STARTED = ("em", "vb", "cvb-token", "cvb-sequence")
_SAMPLES = {
    "first": "The first 1,000 sentences",
    "drawn": "Ten draws of 1,000 sentences",
    "few": "Ten draws of 250 sentences",
}


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


def viterbi_restarts(text, plan, n_jobs):
    """What `fit_restarts` gives, by hard EM: no algorithm of the paper, and a cheaper one."""
    return fit_restarts("em", text, plan, n_jobs, update="viterbi")


def viterbi(settings):
    """EM by Viterbi training, all sizes."""

    def fit(text, plan):
        return viterbi_restarts(text, plan, settings.n_jobs)

    return {"rows": _by_row(settings, fit)}


def second_order(settings):
    """The second-order update by token, all sizes: 10 starts up to 2,000 sentences, then 3."""

    def fit(text, plan):
        few = plan._replace(restarts=min(plan.restarts, 10 if len(text.X) <= 2000 else 3))
        return second_order_restarts(text, few, settings.n_jobs, **CHOSEN["cvb-token"])

    return {"rows": _by_row(settings, fit)}


def _by_row(settings, fit):
    """``fit(text, plan)`` of each row of the table."""
    plan, divisor = (Plan(20, 3), 5) if settings.quick else (Plan(SWEEPS, 10), 1)
    names = ("1000",) if settings.quick else ROWS
    return {name: fit(first_sentences(settings, int(name) // divisor), plan) for name in names}


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


def drawn_sentences(settings, n, seed):
    """`random_sentences` with the entries of their own words, which are sooner checked."""
    text = random_sentences(settings, n, seed)
    words = {word for sentence in text.X for word in sentence}
    entries = {word: entry for word, entry in text.dictionary.items() if word in words}
    # A word that no text has, so that every tag is known.
    every = sorted({tag for entry in text.dictionary.values() for tag in entry})
    return text._replace(dictionary=Shared(entries | {"": every}))


def starts(settings):
    """The first 1,000 sentences, ten draws of 1,000, and of 250, by start, alpha and beta."""
    n, seeds, pairs = (1000, range(2), PAIRS[::5]) if settings.quick else (1000, range(10), PAIRS)
    plan = Plan(20 if settings.quick else SWEEPS, 1)
    samples = {
        "first": [(first_sentences(settings, n), plan._replace(restarts=len(seeds)), 0)],
        "drawn": [(drawn_sentences(settings, n, i), plan, i) for i in seeds],
        "few": [(drawn_sentences(settings, n // 4, i), plan, i) for i in seeds],
    }

    def accuracies(name, fits, **values):
        found = [fit_restarts(name, *one[:2], settings.n_jobs, one[2], **values) for one in fits]
        return [accuracy for one in found for accuracy in one["accuracies"]]

    found = {}
    for sample, fits in samples.items():
        for init in STARTS:
            em, cells = accuracies("em", fits, init=init), []
            for alpha, beta in pairs:
                values = {"init": init, "alpha": alpha, "beta": beta}
                by_method = {name: accuracies(name, fits, **values) for name in _STARTED[1:]}
                cells.append({"alpha": alpha, "beta": beta, "em": em} | by_method)
            found[f"{sample} {init}"] = cells
    return {"n_sentences": n, "found": found}


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
    {"starts": starts, "second-order": second_order, "choice": choice}
    | {name: partial(row, name) for name in ROWS}
    | {
        "choice by size": choice_by_size,
        "draws": draws,
        "brown": brown,
        "brown weights": partial(brown, weights=True),
        "em-viterbi": viterbi,
    }
)


def accuracy(fits):
    """Mean and deviation in per cent."""
    return plus_minus(fits["accuracies"], 2 if len(fits["accuracies"]) > 1 else 1, 100)


def fits_of(results, row):
    """What `compare` found for a row of a table, and what the parts of single methods did.

    Returns fits by key of `COLUMNS`, as many as there are.
    """
    fits = dict(results[row]["methods"])
    for name in COLUMNS:
        if row in results.get(name, {}).get("rows", {}):
            fits[name] = results[name]["rows"][row]
    return fits


def tables(results):
    """Our table 1 beside the published one, and the further rows."""
    sizes = [name for name in ROWS if name in results]
    others = [name for name in _OTHER_TITLES if name in results]
    found = {"accuracies": _accuracies(results, sizes)}
    if "starts" in results:
        cells = results["starts"]["found"]
        found["starts"] = _starts_in_short(cells)
        found |= {f"starts_{sample}": _starts(cells, sample, PAIRS) for sample in _SAMPLES}
    if "choice" in results:
        found["choice"] = _concentrations(results["choice"]["methods"])
    if "choice by size" in results:
        found["choice_by_size"] = _by_size(results["choice by size"]["sizes"])
    found["others"] = _others(results, others)
    found["times"] = _times(results, [*sizes, *(name for name in others if name == "brown")])
    return found


def _accuracies(results, sizes):
    """Ours above theirs, one pair of lines a size."""
    header = ["sentences", "", "random", *COLUMNS.values()]
    lines = []
    for name in sizes:
        found, fits = results[name], fits_of(results, name)
        theirs = published_accuracies("wsj", int(name), name == WHOLE, 1)
        text = found["text"]
        lines.append(
            [
                f"{text['n_sentences']:,}",
                "ours",
                f"{100 * text['random_choice']:.1f}",
                *(accuracy(fits[method]) if method in fits else "" for method in COLUMNS),
            ]
        )
        cells = [theirs.get(method) for method in COLUMNS]
        cells = [f"{cell.mean} ({cell.deviation})" if cell else "" for cell in cells]
        lines.append(["", "paper", PUBLISHED_RANDOM[name], *cells])
    title = "Accuracy of the training tags in per cent: mean (standard deviation) over the starts"
    return Table(header, lines, title)


def _starts(found, sample, pairs):
    """A row for each start and pair; EM has no pair and stands in the first one."""
    titles = [METHODS[name].title for name in _STARTED]
    lines = []
    for init in STARTS:
        cells = [one for one in found[f"{sample} {init}"] if (one["alpha"], one["beta"]) in pairs]
        for cell in cells:
            is_first = cell is cells[0]
            em, *others = (plus_minus(cell[name], 2, 100) for name in _STARTED)
            margins = [one - other for one, other in zip(cell["vb"], cell["em"], strict=True)]
            pair = f"{cell['alpha']:g}, {cell['beta']:g}"
            names = [init if is_first else "", pair, em if is_first else ""]
            lines.append([*names, *others, plus_minus(margins, 1, 100)])
    header = ["start", "alpha, beta", *titles, "VB minus EM"]
    return Table(header, lines, f"{_SAMPLES[sample]}, by start, alpha and beta")


def _starts_in_short(found):
    """Some rows of the first sentences, and how far VB is above EM in all samples."""
    samples = [_starts(found, sample, _SHOWN_PAIRS) for sample in _SAMPLES]
    lines = []
    for row, *others in zip(*(table.rows for table in samples), strict=True):
        margins = [line[-1].split()[0] for line in (row, *others)]
        lines.append([*row[:-1], *margins])
    header = [*samples[0].header, "1,000 drawn", "250 drawn"]
    return Table(header, lines, samples[0].title)


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
    header = ["sentences", *COLUMNS.values(), "Gibbs: sweeps, chains", "all, minutes"]
    lines = []
    for name in names:
        found, fits = results[name], fits_of(results, name)
        seconds = [f"{spread(fits[m]['seconds']).mean:.3g}" if m in fits else "" for m in COLUMNS]
        minutes = f"{found.get('seconds', 0.0) / 60:.1f}"
        size = f"{found['text']['n_sentences']:,}"
        gibbs = found["methods"]["gibbs"]
        chains = f"{gibbs['sweeps']:,}, {len(gibbs['accuracies'])}"
        lines.append([size, *seconds, chains, minutes])
    title = "Processor seconds of one fit, and minutes of the whole row"
    return Table(header, lines, title)


def draw(results, folder):
    """Accuracy by size, ours and the paper's."""
    sizes = [name for name in ROWS if name in results]
    if sizes:
        table = _accuracies(results, sizes)
        path, label = folder / "table1_accuracy.png", "sentences (logarithmic scale)"
        draw_beside(table, path, label, logarithmic=True)
