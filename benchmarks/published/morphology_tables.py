"""Tables and pictures of the experiment on morphology."""

import numpy as np

from benchmarks.published.tables import Table, plus_minus

# F1 in per cent and seconds, on Sesotho verbs.
_PUBLISHED = {"cvb": ("29.8", "90"), "hastings": ("31.3", "1,200")}
# Perplexities above leave the picture.
_HIGHEST = 1e9


def ends(found, what, scale=1.0):
    """A figure of all runs of an algorithm at their end."""
    values = [one[what] for one in found["runs"]]
    return [scale * (value[-1] if isinstance(value, list) else value) for value in values]


def mean_curve(found, what):
    """(sweeps, seconds, values), means over the runs."""
    runs = found["runs"]
    seconds = np.mean([one["seconds"] for one in runs], axis=0)
    return runs[0]["sweeps"], seconds, np.mean([one[what] for one in runs], axis=0)


def arrival(found, what, is_there):
    """(sweeps, seconds) after which the mean figure first is there; None if it never is."""
    for sweep, second, value in zip(*mean_curve(found, what), strict=True):
        if is_there(value):
            return sweep, second
    return None


def shown_perplexity(values):
    """Perplexities in thousands, or infinite."""
    if not np.isfinite(values).all():
        return "infinite"
    if max(values) > 1e9:
        return f"{np.mean(values) / 1000:.0e}"
    return plus_minus(values, 0, 1e-3)


def tables(results, titles, starts):
    """Where the algorithms end, when they are there, and where they end from other starts.

    Parameters
    ----------
    results : dict
    titles : dict of str to str
        How each algorithm is shown.
    starts : dict of str to str
        How each start is shown.

    Returns
    -------
    str
    """
    names = [name for name in titles if name in results]
    lines = [_end_line(titles[name], _PUBLISHED.get(name, ()), results[name]) for name in names]
    header = ["", "sweeps", "perplexity, thousands", "of the runs together", "impossible, %"]
    header += [
        "F1 of segments, %",
        "of boundaries, %",
        "held out, %",
        "pieces",
        "accepted",
        "seconds",
    ]
    header += ["published: F1, seconds"]
    title = (
        "At the end, mean (standard deviation) of the runs; published figures are of Sesotho verbs"
    )
    found = {"ends": Table(header, lines, title)}
    if {"cvb", "hastings"} <= set(names):
        found["arrival"] = _arrival_table(results, {name: titles[name] for name in names})
    if "starts" in results:
        found["starts"] = _start_table(results["starts"]["ends"], titles, starts)
    return found


def _end_line(title, published, found):
    accepted = [one["acceptance_rate"] for one in found["runs"]]
    return [
        title,
        f"{found['runs'][0]['sweeps'][-1]:,}",
        shown_perplexity(ends(found, "perplexity")),
        shown_perplexity([found["together"]]) if len(accepted) > 1 else "",
        plus_minus(ends(found, "impossible"), 1, 100),
        *(plus_minus(ends(found, what), 1, 100) for what in ("f1", "boundary_f1", "held_out_f1")),
        plus_minus(ends(found, "pieces"), 2),
        "" if accepted[0] is None else plus_minus(accepted, 3),
        plus_minus(ends(found, "seconds"), 1),
        ", ".join(published),
    ]


def _arrival_table(results, titles):
    """When each algorithm first is as good as the sampler is at its end."""
    goal_perplexity = np.mean(ends(results["hastings"], "perplexity"))
    goal_f1 = np.mean(ends(results["hastings"], "f1"))
    goals = (
        ("perplexity", lambda value: value <= goal_perplexity),
        ("f1", lambda value: value >= goal_f1 - 0.01),
    )
    lines = []
    for name, title in titles.items():
        lines.append([title])
        for what, is_there in goals:
            here = arrival(results[name], what, is_there)
            lines[-1] += ["never", ""] if here is None else [f"{here[0]:,}", f"{here[1]:.1f}"]
    header = ["", "perplexity: sweep", "seconds", "F1: sweep", "seconds"]
    caption = (
        f"When the mean first reaches the sampler's last perplexity ({goal_perplexity / 1000:,.0f} "
        f"thousand), and its F1 less one point ({100 * goal_f1 - 1:.1f} %)"
    )
    return Table(header, lines, caption)


def _start_table(found, titles, starts):
    names = list(next(iter(found.values())))
    lines = [
        [starts[where]]
        + [
            f"{shown_perplexity(ends({'runs': [one]}, 'perplexity'))}; {100 * one['f1'][-1]:.1f}"
            for one in by_name.values()
        ]
        for where, by_name in found.items()
    ]
    header = ["start"]
    for name in names:
        sweeps = next(iter(found.values()))[name]["sweeps"][-1]
        header.append(f"{titles[name]}, {sweeps} sweeps")
    title = "Perplexity in thousands and F1 of segments in per cent from other starts, one run each"
    return Table(header, lines, title)


def draw(results, titles, folder):
    """Perplexity by sweep and by second, and F1 by second.

    Parameters
    ----------
    results : dict
    titles : dict of str to str
    folder : pathlib.Path
    """
    from matplotlib.figure import Figure

    names = [name for name in titles if name in results]
    figure = Figure(figsize=(12.4, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for marker, name in zip("ovs^DPX", names, strict=False):
        style = {"marker": marker, "markersize": 4, "lw": 1.2, "color": f"C{names.index(name)}"}
        sweeps, seconds, perplexities = mean_curve(results[name], "perplexity")
        _, _, f1 = mean_curve(results[name], "f1")
        # What is infinite, or beyond all others, leaves the picture.
        perplexities = np.where(perplexities < _HIGHEST, perplexities, np.nan)
        panels[0].plot(sweeps, perplexities, label=titles[name], **style)
        panels[1].plot(seconds, perplexities, **style)
        panels[2].plot(seconds, 100 * f1, **style)
    for panel in panels[:2]:
        panel.set(yscale="log", ylabel="perplexity per held-out verb")
    panels[0].set_xlabel("sweeps")
    panels[1].set_xlabel("processor seconds")
    panels[2].set(xlabel="processor seconds", ylabel="F1 of segments, training verbs (%)")
    for panel in panels:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,g}")
        panel.grid(alpha=0.3)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(folder / "morphology_curves.png", dpi=110)
