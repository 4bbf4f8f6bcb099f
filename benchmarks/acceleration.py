"""What the acceleration of EM and VB saves: sweeps, and seconds beside hmmlearn and dynamax.

``python -m benchmarks.acceleration`` makes a plain and an accelerated fit of every family for each
of twelve seeds, times EM from the same parameters in every library that is installed, and writes
``acceleration.json``, two tables and a picture. What is in that file already is kept where
``--families`` or ``--problems`` leave it out. ``--page doc/acceleration.rst`` writes the figures
into the documentation.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks import peers
from benchmarks.acceleration_seconds import (
    ACCELERATED,
    DEFAULT,
    DYNAMAX,
    PLAIN,
    SCALING,
    problems,
)
from benchmarks.acceleration_sweeps import CLOSE, Summary, compared, families, summary
from benchmarks.published.tables import Table, write_tables
from benchmarks.table import machine
from benchmarks.timing import run_python
from sklearn_cvb.plotting import algorithm_colours

_SEEDS, _ROUNDS = 12, 5
_QUICK_SWEEPS = 30
_OTHERS = (DEFAULT, SCALING, DYNAMAX)
# The problem that is drawn.
_DRAWN = "symbols-80"
# How near to the best end curves are drawn (nats).
_LOWEST = 2e-3
BEGIN = ".. Figures from here on are written by python -m benchmarks.acceleration --page"
END = ".. Figures end here"


def main(arguments=None):
    """Measure, and write what was found."""
    options = command_line().parse_args(arguments)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "acceleration.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {"sweeps": {}, "seconds": {}}
    for name in options.families:
        found["sweeps"][name] = sweeps(name, options.seeds, options.quick)
        print(*found["sweeps"][name], sep="\n", flush=True)
        keep(path, found)
    for name in options.problems:
        found["seconds"][name] = seconds(name, options.rounds)
        print(name, found["seconds"][name]["sweeps"], flush=True)
        keep(path, found)
    write_tables("acceleration", tables(found), folder)
    if _DRAWN in found["seconds"]:
        draw(found["seconds"][_DRAWN], folder / "acceleration.png")
    if options.page:
        update(Path(options.page), found)
    return 0


def command_line():
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.acceleration", description=__doc__)
    parser.add_argument("--output", default="benchmark_results", help="folder of the results")
    for what, known in (("families", families()), ("problems", problems())):
        parser.add_argument(
            f"--{what}", nargs="*", choices=list(known), default=list(known), help="all by default"
        )
    parser.add_argument("--seeds", type=int, default=_SEEDS, help=f"of each family ({_SEEDS})")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"of timings ({_ROUNDS})")
    parser.add_argument("--page", help="page of the documentation that takes the figures")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK_SWEEPS} sweeps of each fit")
    return parser


def sweeps(name, n_seeds, quick=False):
    """Summaries of a family, one for each algorithm."""
    family, n_sweeps = families()[name], _QUICK_SWEEPS if quick else None
    return [
        summary(
            family.title,
            algorithm,
            [compared(family, algorithm, seed, n_sweeps) for seed in range(n_seeds)],
        )
        for algorithm in family.models
    ]


def seconds(name, n_rounds):
    """What a problem takes, in a process of its own in which no library starts threads."""
    arguments = ["-W", "ignore", "-m", "benchmarks.acceleration_seconds", name, str(n_rounds)]
    return run_python(arguments) | {"title": problems()[name]().title}


def keep(path, found):
    """Write what is known so far, and when and where."""
    found |= {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "peers": peers.versions(),
    }
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def tables(found):
    """Sweeps to the optimum, and seconds."""
    rows = [Summary(*row) for name in families() for row in found["sweeps"].get(name, ())]
    timed = [found["seconds"][name] for name in problems() if name in found["seconds"]]
    return {
        "sweeps": Table(
            ["", "plain", "accelerated", "in vain", "ends higher", "lower", "lowest"],
            [
                [
                    f"{row.algorithm}, {row.title}",
                    *(f"{value:g}" for value in row[2:5]),
                    f"{row.n_higher} of {row.n_pairs}",
                    f"{row.n_lower} of {row.n_pairs}",
                    f"{row.lowest:z.2f}",
                ]
                for row in rows
            ],
            "Sweeps to the optimum, medians, and where accelerated fits end",
        ),
        "seconds": Table(
            ["EM", "sweeps", "accelerated, ms", PLAIN, *_OTHERS],
            [
                [
                    one["title"],
                    " → ".join(str(one["sweeps"][name] or "–") for name in (PLAIN, ACCELERATED)),
                    f"{1e3 * median(one['seconds'][ACCELERATED]):.3g}",
                    *(_times(one, name) for name in (PLAIN, *_OTHERS)),
                ]
                for one in timed
            ],
            "Times as long as accelerated EM (median; least, most)",
        ),
    }


def _times(one, name):
    """How many times as long as accelerated EM another takes, round by round."""
    if name not in one["seconds"]:
        return "not installed"
    pairs = zip(one["seconds"][name], one["seconds"][ACCELERATED], strict=True)
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    digits = [f"{value:.3g}" for value in (median(ratios), ratios[0], ratios[-1])]
    bound = "" if one["sweeps"][name] else "> "
    return f"{bound}{digits[0]} ({digits[1]}, {digits[2]})"


def draw(one, path):
    """Draw how far a fit is from the best end, by sweep and by second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    names = [name for name in (ACCELERATED, PLAIN, *_OTHERS) if name in one["curve"]]
    for name, colour in zip(names, algorithm_colours(names), strict=True):
        # At its end a curve leaves the picture.
        first = next(
            (i for i, (_, _, own) in enumerate(one["curve"][name]) if own > one["end"] - _LOWEST),
            None,
        )
        at_sweep, at_second, value = zip(*one["curve"][name][: first and first + 1], strict=True)
        below = [max(one["end"] - own, 0.1 * _LOWEST) for own in value]
        style = {"color": colour, "linewidth": 2.2 if name == ACCELERATED else 1.3}
        right.plot(at_second, below, label=name, **style)
        if name in (ACCELERATED, PLAIN):
            left.plot(at_sweep, below, **style)
    left.set(xlabel="sweep", ylabel="nats below the best end", yscale="log", xscale="log")
    left.set_ylim(bottom=_LOWEST)
    right.set(xlabel="seconds", xscale="log")
    for axes in (left, right):
        axes.axhline(CLOSE, color="grey", linewidth=0.8, linestyle=":")
        axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=110)


def update(page, found):
    """Write figures, tables and picture of a page, which has the lines `BEGIN` and `END`."""
    before, rest = page.read_text(encoding="utf-8").split(f"{BEGIN}\n")
    _, after = rest.split(END)
    figures = f"{introduction(found)}\n\n.. include:: tables/acceleration.rst"
    page.write_text(f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}", encoding="utf-8")
    write_tables("acceleration", tables(found), page.parent / "tables")
    if _DRAWN in found["seconds"]:
        draw(found["seconds"][_DRAWN], page.parent / "images" / "acceleration.png")


def introduction(found):
    """On what, and when."""
    at, day = found["machine"], found["date"].split("T")[0]
    versions = [f"{name} {number}" for name, number in found["peers"].items() if number]
    wanted = [one for one in versions if one.startswith(("hmmlearn", "dynamax"))]
    return (
        f"Measured on {day}: {at['processor']}, {at['cores']} cores, one thread, Python "
        f"{at['python']}, {', '.join(wanted)}."
    )


if __name__ == "__main__":
    sys.exit(main())
