"""One pass over a corpus in batches (`partial_fit`) beside sweeps over all of it (`fit`)."""

from functools import lru_cache, partial

import numpy as np

from benchmarks.published.monitor import curve
from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    StepSizes,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.datasets import fetch_brown, fetch_mac_morpho
from sklearn_cvb.plotting import algorithm_colours

FETCHERS = {"brown": fetch_brown, "mac_morpho": fetch_mac_morpho}
TITLES = {"brown": "Brown", "mac_morpho": "Mac-Morpho"}
TAGGERS = {"EM": EMHMMTagger, "VB": VBHMMTagger, "CVB": CVBHMMTagger}
MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
BATCH = 100
SWEEPS = 20
# Pairs of decay and offset; with a decay of 1 the offset changes nothing.
GRID = ((1.0, 10.0), (0.9, 10.0), (0.8, 10.0), (0.7, 10.0), (0.7, 1.0), (0.6, 1.0))
_N_STATES = 20
# Sentences, the first of those learned from, that curves are measured on.
_N_WATCHED = 500


@lru_cache(maxsize=1)
def corpus_of(name, data_home, n):
    """`n` sentences (None: all) in a random order, their tags, and a dictionary with counts."""
    X, y = FETCHERS[name](data_home=data_home, return_X_y=True)
    drawn = np.random.default_rng(0).permutation(len(X))[:n]
    X, y = [X[i] for i in drawn], [y[i] for i in drawn]
    return X, y, tag_dictionary_from(X, y, weights=True)


def size_of(settings, n):
    """How many sentences."""
    return 400 if settings.quick else n


def quality(model, X, y):
    """Share of tags that are right, and perplexity."""
    return {
        "accuracy": None if y is None else float(model.score(X, y)),
        "perplexity": float(model.perplexity(X)),
    }


def streamed(model, X, y=None, due=()):
    """One pass, measured after the batches in `due` on the first sentences, and in the end on all.

    `due`: batches, counted from 1. Returns ``curve`` (tokens seen, accuracy, perplexity), and the
    quality in the end.
    """
    points, tokens = [], 0
    for number, first in enumerate(range(0, len(X), BATCH), 1):
        batch = X[first : first + BATCH]
        model.partial_fit(batch)
        tokens += sum(map(len, batch))
        if number in due:
            points.append({"tokens": tokens} | watched(model, X, y))
    return {"curve": points} | quality(model, X, y)


def watched(model, X, y):
    """Quality on the first sentences."""
    return quality(model, X[:_N_WATCHED], y[:_N_WATCHED])


def tagger_of(name, dictionary, **settings):
    """An unfitted tagger that never sees the tags."""
    return TAGGERS[name](dictionary, supervision="none", random_state=0, **settings)


def swept(name, X, y, dictionary):
    """The same of sweeps over all sentences."""
    n_tokens, sweeps = sum(map(len, X)), (1, 2, 5, SWEEPS)
    tagger = tagger_of(name, dictionary, max_iter=SWEEPS, tol=0)
    scoring = {
        "accuracy": lambda model, X, y: watched(model, X, y)["accuracy"],
        "perplexity": lambda model, X, y: watched(model, X, y)["perplexity"],
    }
    found = curve(tagger, X, y, scoring, sweeps)
    points = [
        {"tokens": n_tokens * sweep, "accuracy": accuracy, "perplexity": perplexity}
        for sweep, accuracy, perplexity in zip(
            found["sweeps"], found["accuracy"], found["perplexity"], strict=True
        )
    ]
    return {"curve": points}


def whole(name, settings):
    """The end of one pass, and of sweeps, over all of a corpus."""
    X, y, dictionary = corpus_of(name, settings.data_home, size_of(settings, None))
    found = {}
    for algorithm in TAGGERS:
        sweeping = tagger_of(algorithm, dictionary, max_iter=SWEEPS, tol=0).fit(X)
        found[algorithm] = {
            "sweeps": quality(sweeping, X, y),
            "batches": streamed(tagger_of(algorithm, dictionary), X, y),
        }
    return {"found": found, "n_sentences": len(X), "n_tokens": sum(map(len, X))}


def curves(settings):
    """Quality by tokens seen, on part of the corpora."""
    found = {}
    for name in FETCHERS:
        X, y, dictionary = corpus_of(name, settings.data_home, size_of(settings, 2_000))
        due = np.unique(np.geomspace(1, -(-len(X) // BATCH), 10).astype(int)).tolist()
        for algorithm in TAGGERS:
            batches = streamed(tagger_of(algorithm, dictionary), X, y, due)
            sweeps = swept(algorithm, X, y, dictionary)
            found.setdefault(name, {})[algorithm] = {"batches": batches, "sweeps": sweeps}
    return {"found": found, "n_sentences": len(X)}


def grid(settings):
    """One pass over part of the corpora with several ways to forget."""
    rows, few = [], settings.quick
    for corpus in [*FETCHERS][: 1 if few else None]:
        X, y, dictionary = corpus_of(corpus, settings.data_home, size_of(settings, 2_000))
        for algorithm in [*TAGGERS][: 1 if few else None]:
            for decay, offset in GRID[:: 3 if few else 1]:
                steps = StepSizes(decay, offset=offset)
                tagger = tagger_of(algorithm, dictionary, step_sizes=steps)
                here = {"corpus": corpus, "algorithm": algorithm, "dictionary": True}
                here |= {"decay": decay, "offset": offset}
                rows.append(here | streamed(tagger, X, y))
                if corpus == "brown":
                    model = MODELS[algorithm](_N_STATES, random_state=0, step_sizes=steps)
                    rows.append(here | {"dictionary": False} | streamed(model, X))
    return {"rows": rows, "n_sentences": len(X)}


PARTS = {"grid": grid, "curves": curves} | {name: partial(whole, name) for name in FETCHERS}


def tables(results):
    """The end of one pass beside the end of the sweeps, and the grid."""
    rows = []
    for name in FETCHERS:
        for algorithm, found in results.get(name, {"found": {}})["found"].items():
            sweeps, batches = found["sweeps"], found["batches"]
            more = 100 * (batches["perplexity"] / sweeps["perplexity"] - 1)
            rows.append(
                [TITLES[name], algorithm]
                + [f"{100 * one['accuracy']:.1f}" for one in (sweeps, batches)]
                + [f"{100 * (batches['accuracy'] - sweeps['accuracy']):+.1f}"]
                + [f"{one['perplexity']:.0f}" for one in (sweeps, batches)]
                + [f"{more:+.1f}"]
            )
    header = ["corpus", "algorithm", f"right, % ({SWEEPS} sweeps)", "one pass", "points"]
    header += ["perplexity", "one pass", "%"]
    title = f"{SWEEPS} sweeps over all sentences, and one pass in batches of {BATCH}"
    tables = {"ends": Table(header, rows, title)}
    if "grid" in results:
        tables["grid"] = _grid_table(results["grid"])
    return tables


def _grid_table(found):
    """Accuracy and perplexity by decay and offset."""
    columns = dict.fromkeys(
        (row["corpus"], row["algorithm"], row["dictionary"]) for row in found["rows"]
    )
    cells = {}
    for row in found["rows"]:
        way = row["decay"], row["offset"]
        text = f"{row['perplexity']:.0f}"
        if row["accuracy"] is not None:
            text = f"{100 * row['accuracy']:.1f}; {text}"
        cells.setdefault(way, {})[row["corpus"], row["algorithm"], row["dictionary"]] = text
    lines = [
        [decay, "any" if decay == 1 else offset, *(row.get(column, "") for column in columns)]
        for (decay, offset), row in cells.items()
    ]
    header = ["decay", "offset"]
    header += [
        f"{TITLES[corpus]}, {algorithm}" + ("" if with_tags else f", {_N_STATES} states")
        for corpus, algorithm, with_tags in columns
    ]
    n = f"{found['n_sentences']:,}"
    return Table(header, lines, f"One pass over {n} sentences: % right; perplexity")


def draw(results, folder):
    """Accuracy and perplexity by tokens seen."""
    from matplotlib.figure import Figure

    if "curves" not in results:
        return
    found_all = results["curves"]["found"]
    names = [*found_all]
    figure = Figure(figsize=(10.4, 3.4 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 2, squeeze=False)
    for name, row in zip(names, panels, strict=True):
        colours = algorithm_colours(found_all[name])
        for colour, (algorithm, found) in zip(colours, found_all[name].items(), strict=True):
            for way, line in (("sweeps", "--"), ("batches", "-")):
                points = found[way]["curve"]
                tokens = [point["tokens"] for point in points]
                style = {"color": colour, "ls": line, "marker": ".", "lw": 1.2}
                label = f"{algorithm}, {way}"
                row[0].plot(tokens, [100 * p["accuracy"] for p in points], label=label, **style)
                row[1].plot(tokens, [p["perplexity"] for p in points], **style)
        row[0].set_ylabel(f"{TITLES[name]}: % right")
        row[1].set_ylabel("perplexity")
        for panel in row:
            panel.set_xscale("log")
            panel.grid(alpha=0.3)
            panel.set_xlabel("tokens seen (logarithmic scale)")
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False
    )
    figure.savefig(folder / "streaming_curves.png", dpi=110)
