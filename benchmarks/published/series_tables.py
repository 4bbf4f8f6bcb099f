"""Tables and pictures of the experiment on real series."""

import numpy as np

from benchmarks.published.tables import Table, plus_minus

TITLES = {
    "em": "EM",
    "map": "EM with the prior",
    "vb": "VB",
    "cvb": "CVB",
    "gibbs": "Gibbs",
}
KINDS = {"diag": "diagonal", "full": "full covariance", "poisson": "Poisson"}
_OTHERS = ("em", "map", "vb")
# The first quarter of the US series' changes.
_FIRST_QUARTER = 1959.25


def cases(results):
    """Title and figures of each series and emission, by name."""
    return {
        f"{name}_{kind}": (_title(part, kind), found)
        for name, part in results.items()
        if isinstance(part, dict) and "found" in part
        for kind, found in part["found"].items()
    }


def _title(part, kind):
    width = part["n_columns"]
    columns = f" x {width}" if width > 1 else ""
    covariance = f", {KINDS[kind]}" if width > 1 or kind == "poisson" else ""
    return f"{part['title']} ({part['n_steps']:,}{columns}){covariance}"


def advantage(found, other, n_states):
    """By how much CVB is ahead in each fold, means over seeds (nats a step).

    Parameters
    ----------
    found : dict
        By model and number of states.
    other : str
    n_states : str

    Returns
    -------
    ndarray of shape (n_folds,)
    """
    return np.mean(found["cvb"][n_states], axis=0) - np.mean(found[other][n_states], axis=0)


def tables(results):
    """Held-out log density of all models, and how far CVB is ahead."""
    found = {name: _held_out(*case) for name, case in cases(results).items()}
    return found | {"advantages": _advantages(results), "counts": _counts(results)}


def _held_out(title, found):
    """A row for each model, a column for each number of states."""
    numbers = list(found["em"])
    lines = [
        [TITLES[key], *(plus_minus(np.mean(found[key][n], axis=1).tolist(), 3) for n in numbers)]
        for key in TITLES
    ]
    header = ["states", *numbers]
    return Table(header, lines, f"{title}: held-out log density, nats a step")


def _advantages(results):
    """How far CVB is ahead with few, some and many states; deviations are those of folds."""
    some = cases(results).values()
    numbers = [n for n in next(iter(some))[1]["em"] if n in ("2", "4", "8")]
    header = ["CVB minus", *(f"{TITLES[key]}, {n} states" for key in _OTHERS for n in numbers)]
    lines = [
        [title]
        + [plus_minus(advantage(found, key, n).tolist(), 3) for key in _OTHERS for n in numbers]
        for title, found in some
    ]
    return Table(header, lines, "Nats a step by which CVB is ahead (deviation of the folds)")


def _counts(results):
    """In how many cells with two states or more CVB is ahead, and clearly so."""
    lines = []
    for key in _OTHERS:
        found = [
            advantage(by_model, key, n)
            for _, by_model in cases(results).values()
            for n in by_model["em"]
            if n != "1"
        ]
        means = np.array([folds.mean() for folds in found])
        errors = np.array([folds.std(ddof=1) / np.sqrt(len(folds)) for folds in found])
        clear = np.abs(means) > 2 * errors
        ahead, behind = means > 0, means < 0
        lines.append(
            [TITLES[key], len(found), ahead.sum(), (ahead & clear).sum()]
            + [behind.sum(), (behind & clear).sum()]
        )
    header = ["CVB beside", "cells", "ahead", "clearly", "behind", "clearly"]
    title = "Series, emissions and numbers of states from 2 (clearly: by two standard errors)"
    return Table(header, lines, title)


def draw(results, folder):
    """Held-out log density above VB's, and the regimes of the US economy.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    _draw_held_out(cases(results).values(), folder)
    if "regimes" in results:
        _draw_regimes(results["regimes"], folder)


def _draw_held_out(some, folder):
    """What all are ahead of VB, a panel for each series and emission."""
    from matplotlib.figure import Figure

    n_columns = min(4, len(some))
    n_rows = -(-len(some) // n_columns)
    figure = Figure(figsize=(3.2 * n_columns, 0.5 + 2.4 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel in panels[len(some) :]:
        panel.set_visible(False)
    for panel, (title, found) in zip(panels, some, strict=False):
        ahead = {
            key: [np.mean(runs) - np.mean(found["vb"][n]) for n, runs in found[key].items()]
            for key in TITLES
        }
        for key, values in ahead.items():
            panel.plot([int(n) for n in found[key]], values, ".-", label=TITLES[key])
        # EM falls out of any picture.
        shown = np.concatenate([values for key, values in ahead.items() if key != "em"])
        margin = 0.1 * (np.ptp(shown) + 0.001)
        panel.set_ylim(shown.min() - margin, shown.max() + margin)
        panel.set_title(title.replace(" (", "\n("), fontsize=9)
        panel.grid(alpha=0.3)
    figure.supxlabel("states")
    figure.supylabel("held-out log density minus VB's, nats a step")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper center", ncols=len(TITLES), frameon=False)
    figure.savefig(folder / "series_held_out.png", dpi=110)


def _draw_regimes(found, folder):
    """Growth by quarter; what is shaded are the states, darkest where growth is lowest."""
    from matplotlib.figure import Figure

    growth, states = np.array(found["growth"]), np.array(found["states"])
    rank = np.argsort(np.argsort(found["means"]))
    quarters = _FIRST_QUARTER + np.arange(len(growth)) / 4
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panel = figure.subplots()
    shades = ("0.62", "0.82", "1.0")
    for quarter, state in zip(quarters, states, strict=True):
        panel.axvspan(quarter - 0.125, quarter + 0.125, color=shades[rank[state]], lw=0)
    panel.plot(quarters, growth, color="C0", lw=1.0)
    panel.axhline(0, color="0.3", lw=0.6)
    panel.set(ylabel="growth of product, %", xlim=(quarters[0], quarters[-1]))
    panel.set_title("US economy: three states of CVB, darkest where growth is lowest", fontsize=9)
    figure.savefig(folder / "series_regimes.png", dpi=110)
