"""How many states: the hierarchical Dirichlet process beside a fixed number of them.

Chains whose number of states is known (after Beal, Ghahramani and Rasmussen 2002), letters of
Alice, and words of the Wall Street Journal without a dictionary. "Fixed" is the plain prior, under
which VB leaves states empty by itself (Beal 2003); "hdp" learns weights of the states, and joins
states before it begins, "random" from random weights instead. On texts all start from random
weights but "joined", and "hdp" learns its concentrations, too, or has that of the rows which the
plain prior has: smoother rows predict better, whatever the weights.
"""

from functools import partial
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from sklearn.metrics import v_measure_score

from benchmarks.published.tables import Table
from benchmarks.published.text import first_sentences
from sklearn_cvb import CVBHMM, HDP, VBHMM, GibbsHMM
from sklearn_cvb.datasets import fetch_alice
from sklearn_cvb.plotting import algorithm_colours

MODELS = {"VB": VBHMM, "CVB": CVBHMM, "Gibbs": GibbsHMM}
# The chains have four states or ten; this many are at hand.
MOST = 20


def shown_by(n_states):
    """Each state shows three symbols, and shares one with each of two others."""
    first = 2 * np.arange(n_states)[:, None]
    shown = np.zeros((n_states, 2 * n_states))
    np.put_along_axis(shown, (first + np.arange(3)) % (2 * n_states), 1 / 3, axis=1)
    return shown


def staying(n_states, share):
    """States that stay, or any other follows."""
    others = np.ones((n_states, n_states)) - np.eye(n_states)
    return share * np.eye(n_states) + (1 - share) / (n_states - 1) * others


def leaving(n_states):
    """Of two successors each, and never twice in the same state."""
    return sum(np.roll(np.eye(n_states), step, axis=1) for step in (1, 2)) / 2


def preferring():
    """Each of three states shows all of ten symbols, four of them five times as often."""
    weights = np.ones((3, 10))
    for state, row in enumerate(weights):
        row[3 * state : 3 * state + 4] = 5.0
    return weights / weights.sum(axis=1, keepdims=True)


MOVES = {
    "staying": staying(4, 0.9),
    "leaving": leaving(4),
    "five leaving": leaving(5),
    "three staying": staying(3, 0.95),
    "three sharing": staying(3, 0.95),
}
CYCLE = np.array([0, 1, 2, 3, 4, 5, 4, 3, 2, 1])
TRUE = {"cycle": 10} | {kind: len(moves) for kind, moves in MOVES.items()}
# Draws of each chain; fits from random weights have up to thirty times as many sweeps.
DRAWS = {"fixed": 10, "hdp": 10, "random": 5}
# Starts of each setting on texts, and what is compared with the best fixed number there.
STARTS = 5
COMPARED = "fixed, learned", "hdp", "hdp, learned"
# A state that holds so large a share of the tokens is used.
SHARE = 0.01


# What is compared on chains: "hdp" is the default of each.
RUNS = [
    ("VB", "fixed"),
    *((name, method) for name in MODELS for method in ("random", "hdp")),
]


def chain(name, seed):
    """Ten sequences of a chain: 80 symbols of the cycle, 200 of others; of "sharing" 30 of 100."""
    rng = np.random.default_rng(seed)
    if name == "cycle":
        return [np.tile(CYCLE, 9)[k : k + 80].tolist() for k in rng.integers(10, size=10)]
    n = TRUE[name]
    is_sharing = name == "three sharing"
    moves, shown = MOVES[name].cumsum(axis=1), preferring() if is_sharing else shown_by(n)
    n_sequences, length = (30, 100) if is_sharing else (10, 200)
    X, state = np.empty((n_sequences, length), int), rng.integers(n, size=n_sequences)
    for t in range(length):
        of_symbols, of_states = rng.random((2, n_sequences, 1))
        X[:, t] = (shown.cumsum(axis=1)[state] < of_symbols).sum(axis=1).clip(0, shown.shape[1] - 1)
        state = (moves[state] < of_states).sum(axis=1).clip(0, n - 1)
    return X.tolist()


def model_of(name, method, n_states, seed, **keywords):
    """A model with one way to choose its number of states."""
    settings = {"beta": 0.1, "random_state": seed, "emission__handle_unknown": "error"}
    if not method.startswith("fixed"):
        settings["transitions__prior"] = "hdp"
    if method == "random":
        settings["init"] = "parameter"
    return MODELS[name](n_states).set_params(**settings | keywords)


def n_used(model):
    """How many states hold one token in a hundred."""
    states = np.concatenate(list(model.labels_))
    return int(np.count_nonzero(np.bincount(states) >= SHARE * len(states)))


def chains(kind, settings):
    """States used on a chain, by algorithm and method, for every seed."""
    found = []
    for name, method in RUNS:
        more = {"emission__handle_unknown": "smooth"}
        if settings.quick:
            more |= {"n_init": 1, "max_iter": 20}
        if method == "fixed":
            more |= {"alpha": 1.0 / MOST, "n_init": 3}
        states = [
            n_used(model_of(name, method, MOST, seed, **more).fit(chain(kind, seed)))
            for seed in range(1 if settings.quick else DRAWS[method])
        ]
        found.append({"model": name, "method": method, "states": states})
        print(kind, *found[-1].values(), flush=True)
    return {"cells": found}


def letters_of_alice(settings):
    """Sentences of Alice to learn from and to test on, and the alphabet."""
    book, n = fetch_alice(data_home=settings.data_home).data, 30 if settings.quick else 300
    return book[:n], book[n : n + 200], None, list("abcdefghijklmnopqrstuvwxyz ")


def words_of_the_journal(settings):
    """Nine of ten sentences, the others, the tags of the former, and all words of both."""
    n = 50 if settings.quick else 1000
    text = first_sentences(settings, n)
    cut = 9 * n // 10
    tags = [tag for sentence in text.y[:cut] for tag in sentence]
    return text.X[:cut], text.X[cut:], tags, sorted({word for x in text.X for word in x})


def concentrations_of(method, n_states):
    """What a method says of the concentrations; the plain prior has 0.1 in each cell."""
    if method == "fixed":
        return {}
    if method == "fixed, learned":
        return {"alpha": "auto"}
    return {
        "init": None if method == "joined" else "parameter",
        "alpha": "auto" if method == "hdp, learned" else 0.1 * n_states,
        "transitions__prior": HDP("auto"),
    }


def held_out(read, sizes, settings):
    """States used, V-measure with the tags and held-out perplexity of every setting."""
    train, test, tags, vocabulary = read(settings)
    sizes = sizes[:2] if settings.quick else sizes
    cells = [(name, "fixed", n) for name in MODELS for n in sizes]
    cells += [(name, method, sizes[-1]) for name in MODELS for method in COMPARED]
    if tags is None:
        cells.append(("VB", "joined", sizes[-1]))
    found = []
    for name, method, n in cells:
        more = {"emission__vocabulary": vocabulary, **concentrations_of(method, n)}
        if settings.quick:
            more["max_iter"] = 20
        elif name == "Gibbs":
            more["max_iter"] = 400
        rows = []
        for seed in range(2 if settings.quick else 1 if method == "joined" else STARTS):
            model = model_of(name, method, n, seed, **more).fit(train)
            states = np.concatenate(list(model.labels_))
            measure = None if tags is None else float(v_measure_score(tags, states))
            rows.append((n_used(model), float(model.perplexity(test)), measure))
        used, perplexity, measure = zip(*rows, strict=True)
        found.append(
            {
                "model": name,
                "method": method,
                "n_components": n,
                "used": fmean(used),
                "perplexities": perplexity,
                "v_measure": None if tags is None else fmean(measure),
            }
        )
        print(*found[-1].values(), flush=True)
    return {"cells": found, "n_tokens": sum(map(len, train))}


PARTS = {
    **{kind: partial(chains, kind) for kind in TRUE},
    "letters": partial(held_out, letters_of_alice, (5, 10, 20, 40)),
    "tags": partial(held_out, words_of_the_journal, (10, 20, 30, 45)),
}


def against_best(cells, name, method):
    """Perplexity of a method over that of the best fixed number of states, less 1.

    The mean over pairs of starts, and its standard error; the best has the least mean.
    """
    own = [cell for cell in cells if cell["model"] == name]
    fixed = [cell["perplexities"] for cell in own if cell["method"] == "fixed"]
    found = next(cell["perplexities"] for cell in own if cell["method"] == method)
    excess = [a / b - 1.0 for a, b in zip(found, min(fixed, key=fmean), strict=True)]
    return fmean(excess), stdev(excess) / sqrt(len(excess))


def tables(results):
    """States found on chains, and perplexities."""
    found = {}
    if any(kind in results for kind in TRUE):
        found["chains"] = _chain_table(results)
    for part, title in (("letters", "Letters of Alice"), ("tags", "Words of the journal")):
        if part in results:
            found[part] = _held_out_table(results[part]["cells"], title)
    return found


def _chain_table(results):
    kinds = [kind for kind in TRUE if kind in results]
    rows = []
    for place, cell in enumerate(results[kinds[0]]["cells"]):
        found = [results[kind]["cells"][place]["states"] for kind in kinds]
        rows.append([cell["model"], cell["method"]])
        rows[-1] += [_found(own, TRUE[kind]) for own, kind in zip(found, kinds, strict=True)]
    header = ["model", "prior", *(f"{kind}: {TRUE[kind]} states" for kind in kinds)]
    title = f"Seeds with the true number of states, of those tried, and range; {MOST} at hand"
    return Table(header, rows, title)


def _found(states, true):
    right = sum(n == true for n in states)
    return f"{right} of {len(states)} ({min(states)} to {max(states)})"


def _held_out_table(cells, title):
    with_tags = cells[0]["v_measure"] is not None
    rows = []
    for cell in cells:
        row = [cell["model"], cell["method"], cell["n_components"], f"{cell['used']:.0f}"]
        row.append(f"{fmean(cell['perplexities']):.4g}")
        if with_tags:
            row.append(f"{100 * cell['v_measure']:.1f}")
        row.append("")
        if cell["method"] in COMPARED:
            mean, error = against_best(cells, cell["model"], cell["method"])
            row[-1] = f"{100 * mean:+.1f} ± {100 * error:.1f}"
        rows.append(row)
    header = ["model", "prior", "states at hand", "states used", "held-out perplexity"]
    header += ["V-measure, %"] if with_tags else []
    return Table([*header, "against the best fixed, %"], rows, title)


def draw(results, folder):
    """Perplexity against the number of states, one panel a text."""
    from matplotlib.figure import Figure

    parts = [part for part in ("letters", "tags") if part in results]
    if not parts:
        return
    figure = Figure(figsize=(4.2 * len(parts), 3.4), layout="constrained")
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    colours = dict(zip(MODELS, algorithm_colours(MODELS), strict=True))
    for panel, part in zip(panels, parts, strict=True):
        for name, colour in colours.items():
            own = [one for one in results[part]["cells"] if one["model"] == name]
            fixed = [one for one in own if one["method"] == "fixed"]
            sizes = [one["n_components"] for one in fixed]
            means = [fmean(one["perplexities"]) for one in fixed]
            panel.plot(sizes, means, "o-", color=colour, label=name)
            level = next(one["perplexities"] for one in own if one["method"] == "hdp, learned")
            panel.axhline(fmean(level), color=colour, ls=":", lw=1.2)
        panel.set(title=part, xlabel="fixed number of states (dotted: hdp, learned)")
    panels[0].set_ylabel("held-out perplexity")
    panels[0].legend(frameon=False)
    figure.savefig(folder / "states_perplexity.png", dpi=110)
