"""Run the benchmarks and write what they found.

``python -m benchmarks`` measures every row of the table against its peer, each in a process of its
own, and writes ``results.json``, ``table.md`` and ``table_*.csv``; ``--pictures`` draws how costs
grow. Nothing is installed: peers that are missing are named, and their rows left out.
"""

import argparse
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import peers
from benchmarks.cases import ROWS
from benchmarks.memory import peak
from benchmarks.page import update
from benchmarks.published.tables import write_tables
from benchmarks.scaling import CURVES, Curve, draw
from benchmarks.table import cells, introduction, machine, markdown, record, tables
from benchmarks.text import Settings, prepare
from benchmarks.timing import isolated

_PAIRS, _QUICK_PAIRS = 7, 3


def main(arguments=None):
    """Run the benchmarks."""
    options = command_line().parse_args(arguments)
    if options.child:
        print(json.dumps(measure(*options.child)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(folder, options.pairs or _PAIRS, options.quick)
        if options.quick and not options.pairs:
            settings = settings._replace(pairs=_QUICK_PAIRS)
        results = run(options, settings)
    write(results, Path(options.output))
    if options.page:
        update(options.page, results)
    return int(bool(results["failures"]))


def command_line():
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--output", default="benchmark_results", help="folder of the results")
    parser.add_argument("--data-home", help="folder of the corpora (see sklearn_cvb.datasets)")
    parser.add_argument(
        "--rows",
        type=_names(ROWS),
        default=list(ROWS),
        help=f"{', '.join(name for name in ROWS if '/' not in name)}; first fits: cold (all), "
        "second (all, after another one), or as cold/EMHMMTagger, cold/EMHMMTagger/partial",
    )
    parser.add_argument(
        "--pictures",
        type=_names(CURVES),
        nargs="?",
        const=list(CURVES),
        default=[],
        metavar="CURVES",
        help="draw how costs grow: " + ", ".join(CURVES) + " (all, without a value)",
    )
    parser.add_argument("--page", help="documentation page that takes the table and the pictures")
    parser.add_argument("--pairs", type=_positive, help=f"pairs of samples ({_PAIRS})")
    parser.add_argument("--quick", action="store_true", help="little data, rough figures")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser


def _names(known):
    def parse(value):
        names = []
        for given in filter(None, value.split(",")):
            # A folder of rows stands for all in it.
            found = [name for name in known if name == given or name.startswith(f"{given}/")]
            if not found:
                raise argparse.ArgumentTypeError(f"unknown {given!r}; known are {', '.join(known)}")
            names += found
        return list(dict.fromkeys(names))

    return parse


def _positive(value):
    if not value.isdecimal() or int(value) == 0:
        raise argparse.ArgumentTypeError(f"{value!r} is not a positive integer")
    return int(value)


def measure(name, settings):
    """What a child process does: one row, one curve, or one peak of memory."""
    settings = Settings(**json.loads(settings))
    if name.startswith("peak/"):
        _, algorithm, text, n_tokens = name.split("/")
        return peak(settings, algorithm, text, int(n_tokens))
    if name.startswith("curve/"):
        return CURVES[name.removeprefix("curve/")](settings)._asdict()
    return ROWS[name].measure(settings)._asdict()


def run(options, settings):
    """Measure all rows and curves asked for."""
    results = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "peers": peers.versions(),
        "settings": {"pairs": settings.pairs, "quick": settings.quick},
        "texts": prepare(settings, options.data_home, _texts(options)),
        "rows": [],
        "curves": {},
        "left_out": [],
        "failures": {},
    }
    for line in introduction(results):
        print(line, flush=True)
    for name in options.rows:
        peer = ROWS[name].needs
        if peer and not results["peers"][peer]:
            _leave_out(results, name, peer)
        elif (found := _try(results, name, settings)) is not None:
            results["rows"].append(record(name, found))
            print(" | ".join(cells(results["rows"][-1])), flush=True)
    for name in options.pictures:
        found = _try(results, f"curve/{name}", settings)
        if found is not None:
            results["curves"][name] = found
            print(f"curve of {name} measured", flush=True)
    return results


def _texts(options):
    """The texts that the rows and curves asked for read."""
    is_cold = [name.startswith(("cold/", "second/")) for name in options.rows]
    journal = [] if all(is_cold) and not options.pictures else ["journal"]
    others = {"brown": "memory", "trees": "tree-viterbi"}
    return journal + [name for name, row in others.items() if row in options.rows]


def _leave_out(results, name, peer):
    """Say that a peer is missing; only the required ones make the run fail."""
    line = f"{ROWS[name].title}: left out, {peer} is not installed"
    results["left_out"].append(line)
    if peer in peers.REQUIRED:
        results["failures"][name] = f"{peer} is not installed"
    print(line, flush=True)


def _try(results, name, settings):
    """A measurement in a process of its own; None, and the reason on record, if it fails."""
    try:
        return isolated(name, settings)
    except RuntimeError as error:
        results["failures"][name] = str(error)
        results["left_out"].append(f"{name}: failed, {error}")
        print(results["left_out"][-1], file=sys.stderr, flush=True)
        return None


def write(results, folder):
    """Write the record, the tables and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(text, encoding="utf-8")
    (folder / "table.md").write_text(markdown(results), encoding="utf-8")
    write_tables("table", tables(results), folder)
    for name, curve in results["curves"].items():
        draw(Curve(**curve), folder / f"performance_{name}.png")
    print(f"written to {folder}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
