"""Figures of Beal's experiment on Alice: the statements of the thesis, tables, six panels."""

import numpy as np

from benchmarks.published.tables import Table

METHODS = ("ML", "MAP", "VB", "CVB", "Gibbs")
# What is measured of each run.
LOG, RATE = "log probability", "discrimination"
READINGS = {"strength": "sum of a row's cells", "cell": "value of each cell"}
AXES = {"n": "training sentences n", "k": "states k", "u0": "prior strength u0"}


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
    title += f"{results['n_runs']} runs, nats per symbol and sentences told right (%)"
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
    """The six panels of figure 3.4, for each reading.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
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
            row, (LOG, RATE), ("nats per symbol", "sentences told right (%)"), strict=True
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
    for index, method in enumerate(METHODS):
        runs = panel["methods"][method]
        curve = scale * np.array([median(of_value, what) for of_value in runs])
        if np.isnan(curve).all():
            continue
        color, shift = f"C{index}", 0.06 * (index - 2)
        ax.plot(places + shift, curve, color=color, linewidth=1.3, label=method)
        for place, of_value in zip(places, runs, strict=True):
            dots = [scale * one[what] for one in of_value if one[what] is not None]
            ax.plot([place + shift] * len(dots), dots, ".", color=color, markersize=3)
    ax.set_xticks(places, labels=[f"{value:g}" for value in panel["values"]])
