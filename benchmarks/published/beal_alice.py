"""Beal (2003), section 3.5.2: telling Alice forwards from Alice backwards.

Models of forwards and of backwards sentences, characters as symbols, tell the direction of new
sentences by the larger probability. Around n = 2 sentences, k = 40 states and prior strength
u0 = 2, one of the three is varied at a time: the panels of figure 3.4.

Two readings of u0: the strength of each row's prior (its cells sum to u0: section 3.3 defines it
so), and the value of each cell.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.published.beal import maximum_likelihood, mean_with_strength
from benchmarks.published.tables import Table
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples, Symbols
from sklearn_cvb.datasets import fetch_alice
from sklearn_cvb.plotting import algorithm_colours

METHODS = ("ML", "MAP", "VB", "CVB", "Gibbs")
# What is measured of each run.
LOG, RATE = "log probability", "discrimination"
READINGS = {"strength": "sum of a row's cells", "cell": "value of each cell"}
AXES = {"n": "training sentences n", "k": "states k", "u0": "prior strength u0"}


ALPHABET = "abcdefghijklmnopqrstuvwxyz "
# Sentences of this length are trained on.
SHORTEST, LONGEST, MOST = 10, 100, 32
# A fit ends when less than this share of its tokens moves in the second half of its sweeps.
SWEEPS, TOLERANCE = 300, 1e-5
# Nats by which a sentence's probabilities differ at least; anything less is a tie: where all states
# of both models are alike, what is left of the way there would decide.
TIE = 1e-6


class Cell(NamedTuple):
    """Number of training sentences, of states, and prior strength."""

    n: int
    k: int
    u0: float


class Grid(NamedTuple):
    """What is varied around which cell, how often, and the size of the test."""

    centre: Cell
    n: tuple
    k: tuple
    u0: tuple
    n_runs: int
    n_test: int
    n_samples: int

    def cells(self):
        """The cells of each panel, by what is varied."""
        return {
            name: [self.centre._replace(**{name: value}) for value in getattr(self, name)]
            for name in Cell._fields
        }


FULL = Grid(
    Cell(2, 40, 2),
    (1, 2, 3, 4, 5, 6, 8, 16, 32),
    (1, 2, 4, 10, 20, 40, 60),
    (1, 2, 4, 8),
    10,
    200,
    10,
)
QUICK = Grid(Cell(2, 10, 2), (1, 2, 16), (1, 10), (2, 8), 1, 40, 4)


def part(reading, settings):
    """Fit and test all cells under one reading of u0.

    Returns ``"panels"``: for "n", "k" and "u0" the values and, by method, one list of runs for each
    value, with the log probability per symbol, the discrimination rate, and the share of test
    sentences that are impossible under both models.
    """
    grid = QUICK if settings.quick else FULL
    train, test = sentences(settings, grid.n_test)
    cells = sorted({cell for panel in grid.cells().values() for cell in panel})
    found = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_run_cell)(cell, reading, seed, train, test, grid.n_samples)
        for cell in cells
        for seed in range(grid.n_runs)
    )
    runs = {cell: found[i * grid.n_runs : (i + 1) * grid.n_runs] for i, cell in enumerate(cells)}
    panels = {
        name: {
            "values": list(getattr(grid, name)),
            "methods": {
                method: [[one[method] for one in runs[cell]] for cell in panel]
                for method in METHODS
            },
        }
        for name, panel in grid.cells().items()
    }
    return {
        "reading": reading,
        "centre": grid.centre._asdict(),
        "n_runs": grid.n_runs,
        "n_test": len(test),
        "n_test_symbols": sum(map(len, test)),
        "panels": panels,
    }


PARTS = {"strength": partial(part, "strength"), "cell": partial(part, "cell")}


def sentences(settings, n_test):
    """The first 32 sentences of 10 to 100 characters, and a fixed draw of those after them."""
    book = fetch_alice(data_home=settings.data_home).data
    medium = [i for i, one in enumerate(book) if SHORTEST <= len(one) <= LONGEST][:MOST]
    later = np.arange(medium[-1] + 1, len(book))
    drawn = np.random.default_rng(0).choice(later, size=n_test, replace=False)
    return [book[i] for i in medium], [book[i] for i in np.sort(drawn)]


def _run_cell(cell, reading, seed, train, test, n_samples):
    """One run of every method: both directions learned and distinguished."""
    forwards = fit_all(train[: cell.n], cell, reading, seed, n_samples)
    backwards = fit_all(reversed_all(train[: cell.n]), cell, reading, seed, n_samples)
    return {name: compared(forwards[name], backwards[name], test) for name in METHODS}


def reversed_all(X):
    """Every sequence backwards."""
    return [sequence[::-1] for sequence in X]


def fit_all(X, cell, reading, seed, n_samples):
    """All methods on the same sentences; the others start where ML ended.

    `n_samples`: samples that Gibbs keeps.
    """
    batch = {"max_iter": SWEEPS, "tol": TOLERANCE}
    ml = maximum_likelihood(X, cell.k, ALPHABET, seed).set_params(**batch).fit(X)
    alpha, beta = cell.u0, cell.u0
    if reading == "strength":
        alpha, beta = cell.u0 / cell.k, cell.u0 / len(ALPHABET)
    common = {
        "n_components": cell.k,
        "alpha": alpha,
        "beta": beta,
        "emission": Symbols(vocabulary=list(ALPHABET), handle_unknown="error"),
        "random_state": seed,
    }
    gibbs = {"max_iter": 100 * n_samples, "samples": Samples(50 * n_samples, thin=50)}
    return {
        "ML": ml,
        "MAP": EMHMM(init=ml, **common, **batch).fit(X),
        "VB": VBHMM(init=mean_with_strength(ml), **common, **batch).fit(X),
        "CVB": CVBHMM(init=ml, update="token", **common, **batch).fit(X),
        "Gibbs": GibbsHMM(init=ml, **common, **gibbs).fit(X),
    }


def compared(forwards, backwards, test):
    """How well a forwards and a backwards model know forwards sentences and tell directions.

    Returns "log probability" (nats per symbol of the forwards sentences under the forwards model;
    None where one of them is impossible), "discrimination" (share of all sentences, forwards and
    backwards, whose direction is found; half for a tie), "impossible" (share under both models).
    """
    turned = reversed_all(test)
    own = np.concatenate([forwards.score_samples(test), backwards.score_samples(turned)])
    other = np.concatenate([backwards.score_samples(test), forwards.score_samples(turned)])
    per_symbol = own[: len(test)].sum() / sum(map(len, test))
    ties = np.isclose(own, other, rtol=0, atol=TIE)
    return {
        LOG: float(per_symbol) if np.isfinite(per_symbol) else None,
        RATE: float(np.mean(np.where(ties, 0.5, own > other))),
        "impossible": float(np.mean(np.isneginf(own) & np.isneginf(other))),
    }


def median(runs, what):
    """Median of the runs; NaN where a sentence was impossible."""
    values = [one[what] for one in runs]
    return float("nan") if None in values else float(np.median(values))


def tables(results):
    """Medians of every panel, and the statements of the thesis beside our figures."""
    found = [results[reading] for reading in READINGS if reading in results]
    return {"statements": _claims(found)} | {
        f"{of_reading['reading']}_{name}": _panel_table(of_reading, name)
        for of_reading in found
        for name in of_reading["panels"]
    }


def _panel_table(results, name):
    """Medians along one panel."""
    panel = results["panels"][name]
    header = [name, *(f"{method}: log p" for method in METHODS[1:])]
    header += [f"{method}: right" for method in METHODS]
    rows = []
    for i, value in enumerate(panel["values"]):
        runs = {method: panel["methods"][method][i] for method in METHODS}
        rows.append(
            [value]
            + [f"{median(runs[method], LOG):.3f}" for method in METHODS[1:]]
            + [f"{100 * median(runs[method], RATE):.1f}" for method in METHODS]
        )
    title = f"u0 the {READINGS[results['reading']]}, {_fixed(results, name)}: medians of "
    title += f"{results['n_runs']} runs, nats per symbol and directions right (%)"
    return Table(header, rows, title)


def _fixed(results, name):
    """What is held fixed while `name` varies."""
    return ", ".join(f"{key} = {v:g}" for key, v in results["centre"].items() if key != name)


def _curve(results, name, method, what):
    """Medians of a panel's curve."""
    return np.array([median(runs, what) for runs in results["panels"][name]["methods"][method]])


def _claims(found):
    """What the thesis says of figure 3.4, and what our figures say under each reading."""
    pairs = {f"u0 the {READINGS[one['reading']]}": (one, one) for one in found}
    if len(found) > 1:
        pairs["MAP by cell, VB by row"] = found[1], found[0]
    columns = [_answers(of_map, of_vb) for of_map, of_vb in pairs.values()]
    rows = [[claim, *(column[claim] for column in columns)] for claim in columns[0]]
    title = "Statements on figure 3.4, and our medians of VB minus MAP"
    return Table(["the thesis says", *pairs], rows, title)


def _answers(of_map, of_vb):
    """Our figures on each statement."""
    by_n, by_k, by_u0 = (of_vb["panels"][name]["values"] for name in AXES)
    gains = {name: _lead(of_map, of_vb, name, LOG) for name in AXES}
    rates = {name: 100 * _lead(of_map, of_vb, name, RATE) for name in AXES}
    vb_k = _curve(of_vb, "k", "VB", LOG)
    best_k = int(np.argmax(vb_k))
    falls = {
        "MAP": _curve(of_map, "u0", "MAP", LOG),
        "VB": _curve(of_vb, "u0", "VB", LOG),
    }
    return {
        "VB gives more probability than MAP for small n": _listed(gains["n"], by_n, 3),
        "VB and MAP come together for large n": (
            f"at n = {by_n[-1]}: {gains['n'][-1]:+.3f} nats, {rates['n'][-1]:+.1f} points"
        ),
        "VB's lead in probability grows with k": _listed(gains["k"], by_k, 3),
        "VB tells directions better than MAP, more so for large k (points)": _listed(
            rates["k"], by_k, 1
        ),
        "VB's test probability falls slightly for k beyond 20": (
            f"best at k = {by_k[best_k]}; at k = {by_k[-1]} {vb_k[-1] - vb_k.max():+.3f} nats"
        ),
        "test probability falls as u0 grows": "; ".join(
            f"{method} {curve[0]:.3f} to {curve[-1]:.3f}" for method, curve in falls.items()
        ),
        "a stronger prior costs MAP more than VB": _listed(gains["u0"], by_u0, 3),
        "MAP tells directions much worse than VB from u0 = 2 on (points)": _listed(
            rates["u0"], by_u0, 1
        ),
    }


def _lead(of_map, of_vb, name, what):
    """VB's median minus MAP's."""
    return _curve(of_vb, name, "VB", what) - _curve(of_map, name, "MAP", what)


def _listed(leads, values, digits):
    """VB minus MAP at every value."""
    return ", ".join(
        f"{lead:+.{digits}f} ({value})" for lead, value in zip(leads, values, strict=True)
    )


def draw(results, folder):
    """The six panels of figure 3.4, for each reading."""
    for reading in READINGS:
        if reading in results:
            picture = _draw_panels(results[reading])
            picture.savefig(folder / f"beal_alice_{reading}.png", dpi=110)


def _draw_panels(results):
    """Rows: what is varied; columns: log probability and discrimination."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 10), layout="constrained")
    axes = figure.subplots(len(AXES), 2)
    figure.suptitle(f"u0: {READINGS[results['reading']]}")
    for row, (name, panel) in zip(axes, results["panels"].items(), strict=True):
        for ax, what, unit in zip(
            row, (LOG, RATE), ("nats per symbol", "directions right (%)"), strict=True
        ):
            _draw_panel(ax, panel, what)
            title = f"{what} by {name} ({_fixed(results, name)})"
            ax.set(title=title, xlabel=AXES[name], ylabel=unit)
            ax.grid(alpha=0.3)
    handles, names = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False)
    return figure


def _draw_panel(ax, panel, what):
    """Median curve and a dot for each run, by method; values evenly spaced."""
    places = np.arange(len(panel["values"]))
    scale = 100 if what == RATE else 1
    colours = algorithm_colours(METHODS)
    for index, method in enumerate(METHODS):
        runs = panel["methods"][method]
        curve = scale * np.array([median(of_value, what) for of_value in runs])
        if np.isnan(curve).all():
            continue
        color, shift = colours[index], 0.06 * (index - 2)
        ax.plot(places + shift, curve, color=color, linewidth=1.3, label=method)
        for place, of_value in zip(places, runs, strict=True):
            dots = [scale * one[what] for one in of_value if one[what] is not None]
            ax.plot([place + shift] * len(dots), dots, ".", color=color, markersize=3)
    ax.set_xticks(places, labels=[f"{value:g}" for value in panel["values"]])
