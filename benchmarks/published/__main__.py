"""Run a published experiment and write its figures, tables and pictures.

``python -m benchmarks.published NAME`` writes into a folder: ``NAME.json``, a ``NAME_*.csv`` for
each table, ``NAME.rst``, which shows them, and pictures ``NAME_*.png``. ``--doc doc`` puts tables
and pictures where the documentation has them; ``--from NAME.json`` makes them again from figures
found before.
"""

import argparse
import json
import sys
import warnings
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import benchmarks.published as package
from benchmarks.published.settings import Settings, timed
from benchmarks.published.tables import as_text, write_tables
from benchmarks.table import machine


def experiments():
    """The experiments: modules of this folder that can be run, by name."""
    names = [found.name for found in iter_modules(package.__path__) if found.name != "__main__"]
    modules = {name: import_module(f"{package.__name__}.{name}") for name in sorted(names)}
    return {name: module for name, module in modules.items() if hasattr(module, "tables")}


def main(arguments=None):
    """Run experiments."""
    known = experiments()
    options = command_line(known).parse_args(arguments)
    settings = Settings(options.data_home, options.quick, options.jobs, options.replications)
    folder = Path(options.output)
    for name in known if options.name == "all" else [options.name]:
        if options.figures:
            results = json.loads(Path(options.figures).read_text(encoding="utf-8"))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                results = collect(name, known[name], settings, options.parts, folder)
        publish(name, known[name], results, folder, options.doc)
    return 0


def command_line(known):
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__)
    parser.add_argument("name", choices=[*known, "all"], help="the experiment")
    parser.add_argument("--quick", action="store_true", help="a small version, for tests")
    parser.add_argument("--data-home", help="folder of the corpora (see sklearn_cvb.datasets)")
    parser.add_argument("--output", default="benchmark_results", help="folder of what is written")
    parser.add_argument("--doc", help="folder of the documentation, to put table and pictures in")
    parser.add_argument("--from", dest="figures", metavar="JSON", help="do not run, read figures")
    parser.add_argument("--jobs", type=int, default=1, help="threads for restarts (default: 1)")
    parser.add_argument("--replications", type=int, help="data sets of a simulation")
    parser.add_argument(
        "--parts",
        type=lambda value: value.split(","),
        help="run only these parts of an experiment, and keep what NAME.json has of the others",
    )
    return parser


def collect(name, module, settings, parts, folder):
    """Run an experiment; a part's figures are on disk as soon as they are found.

    `parts`: names of the parts to run; None for all. Returns what the experiment found, and under
    ``"about"`` when, where and how.
    """
    path = folder / f"{name}.json"
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "quick": settings.quick,
        "n_jobs": settings.n_jobs,
    }
    available = getattr(module, "PARTS", None)
    if parts and not available:
        raise SystemExit(f"{name} has no parts")
    if not available:
        results = timed(module.run, settings) | {"about": about}
        save(path, results)
        return results
    unknown = set(parts or ()) - set(available)
    if unknown:
        raise SystemExit(f"{name} has no part {', '.join(unknown)}: {', '.join(available)}")
    results = {}
    if parts and path.exists():
        results = json.loads(path.read_text(encoding="utf-8"))
    for part in parts or available:
        results[part] = timed(available[part], settings) | {"about": about}
        save(path, results)
        print(f"{name} {part}: {results[part]['seconds']:.0f} s", flush=True)
    return results


def save(path, results):
    """Write figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def publish(name, module, results, folder, doc):
    """Write the tables and pictures of an experiment."""
    tables = module.tables(results)
    print(as_text(tables), flush=True)
    places = [(folder, folder)]
    if doc is not None:
        places.append((Path(doc, "published", "tables"), Path(doc, "images")))
    for of_tables, of_pictures in places:
        write_tables(name, tables, of_tables)
        of_pictures.mkdir(parents=True, exist_ok=True)
        module.draw(results, of_pictures)


if __name__ == "__main__":
    sys.exit(main())
