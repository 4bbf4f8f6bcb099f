"""Wang and Blunsom (2013), table 2: accuracy on 1,000 sentences as the dictionary gets poorer."""

from functools import partial

from benchmarks.published.pictures import draw_beside
from benchmarks.published.second_order_sweeps import second_order_restarts
from benchmarks.published.table1 import COLUMNS, accuracy, fits_of, viterbi_restarts
from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.taggers import (
    CONCENTRATIONS,
    METHODS,
    SWEEPS,
    Plan,
    Search,
    choose,
    choose_all,
    compare,
)
from benchmarks.published.text import described, first_sentences
from sklearn_cvb.demo.published import published_accuracies

# The paper's dictionary: tags per token, ambiguous tokens in per cent.
PUBLISHED_AMBIGUITY = {1: (2.3, 54), 2: (7.8, 63), 3: (10.8, 66), 5: (14.9, 71), 10: (20.8, 77)}
SEARCH = Search((1.0,), CONCENTRATIONS, 4, 25, 50)
QUICK_SEARCH = Search((1.0,), (0.03, 0.3), 1, 10, 20)


def row(min_count, settings):
    """One row of table 2."""
    n, search, plan = 1000, SEARCH, Plan(SWEEPS, 10)
    gibbs = Plan(1000, 3)
    if settings.quick:
        n, search, plan = 300, QUICK_SEARCH, Plan(20, 3)
        gibbs = Plan(100, 2)
    text = first_sentences(settings, n, min_count)
    plans = dict.fromkeys(METHODS, plan) | {"gibbs": gibbs}
    methods = compare(text, plans, choose_all(text, search), settings.n_jobs)
    return {"text": described(text), "methods": methods}


def viterbi(settings):
    """EM by Viterbi training, all rows."""
    plan = Plan(20, 3) if settings.quick else Plan(SWEEPS, 10)

    def fit(text):
        return viterbi_restarts(text, plan, settings.n_jobs)

    return {"rows": _by_row(settings, fit)}


def second_order(settings):
    """The second-order update by token, all rows, with the values that CVB token chooses."""
    plan, search = (Plan(20, 2), QUICK_SEARCH) if settings.quick else (Plan(SWEEPS, 3), SEARCH)

    def fit(text):
        values = choose("cvb-token", text, search)
        values.pop("held_out")
        return second_order_restarts(text, plan, settings.n_jobs, **values)

    return {"rows": _by_row(settings, fit)}


def _by_row(settings, fit):
    """``fit(text)`` of each row of the table."""
    n, counts = (300, (3,)) if settings.quick else (1000, PUBLISHED_AMBIGUITY)
    return {str(d): fit(first_sentences(settings, n, d)) for d in counts}


ROWS = tuple(map(str, PUBLISHED_AMBIGUITY))
PARTS = (
    {"second-order": second_order}
    | {name: partial(row, int(name)) for name in ROWS}
    | {"em-viterbi": viterbi}
)


def tables(results):
    """Our table 2 beside the published one, and what was chosen."""
    rows = _rows(results)
    return {
        "accuracies": _accuracies(rows),
        "margins": _margins(rows),
        "concentrations": _concentrations(rows),
    }


def _rows(results):
    """What was found by d, all methods together."""
    names = [name for name in ROWS if name in results]
    return {int(name): results[name] | {"methods": fits_of(results, name)} for name in names}


def _accuracies(rows):
    header = ["d", "", "tags per token", "ambiguous, %", *COLUMNS.values()]
    lines = []
    for min_count, found in rows.items():
        text, methods = found["text"], found["methods"]
        size = [f"{text['tags_per_token']:.1f}", f"{100 * text['ambiguous']:.0f}"]
        cells = [accuracy(methods[name]) if name in methods else "" for name in COLUMNS]
        lines.append([min_count, "ours", *size, *cells])
        theirs = published_accuracies("wsj", 1000, False, min_count)
        cells = [theirs.get(name) for name in COLUMNS]
        cells = [f"{cell.mean} ({cell.deviation})" if cell else "" for cell in cells]
        lines.append(["", "paper", *PUBLISHED_AMBIGUITY[min_count], *cells])
    title = "Accuracy of the training tags in per cent: mean (standard deviation) over the starts"
    return Table(header, lines, title)


def margins(found, better, worse):
    """Differences of accuracy in points, start by start (same seeds)."""
    pairs = zip(
        found["methods"][better]["accuracies"], found["methods"][worse]["accuracies"], strict=False
    )
    return [100 * (one - other) for one, other in pairs]


_MARGINS = (("cvb-token", "vb"), ("cvb-sequence", "vb"), ("cvb-sequence", "cvb-token"))


def _margins(rows):
    header = ["d", ""] + [
        f"{METHODS[one].title} minus {METHODS[other].title}" for one, other in _MARGINS
    ]
    lines = []
    for min_count, found in rows.items():
        lines.append([min_count, "ours", *(plus_minus(margins(found, *pair)) for pair in _MARGINS)])
        theirs = published_accuracies("wsj", 1000, False, min_count)
        cells = [f"{theirs[one].mean - theirs[other].mean:.1f}" for one, other in _MARGINS]
        lines.append(["", "paper", *cells])
    return Table(header, lines, "Margins in points, from the same starts")


def _concentrations(rows):
    chosen = [name for name in METHODS if name != "em"]
    header = ["d", *(METHODS[name].title for name in chosen), "seconds, all"]
    lines = []
    for min_count, found in rows.items():
        methods = found["methods"]
        cells = [f"{methods[name]['alpha']:g}, {methods[name]['beta']:g}" for name in chosen]
        lines.append([min_count, *cells, f"{found.get('seconds', 0):.0f}"])
    return Table(header, lines, "alpha, beta chosen on held-out sentences")


def draw(results, folder):
    """Accuracy by d, ours and the paper's."""
    table = _accuracies(_rows(results))
    draw_beside(table, folder / "table2_accuracy.png", "d (rarer words may take any tag)")
