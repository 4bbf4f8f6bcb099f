"""Run a published experiment and write its figures, tables and pictures.

``python -m benchmarks.published NAME`` writes into a folder: ``NAME.json``, a ``NAME_*.csv`` for
each table, ``NAME.rst``, which shows them, and pictures ``NAME_*.png``. ``--doc doc`` puts tables
and pictures where the documentation has them; ``--from NAME.json`` makes them again from figures
found before, and says when and from which commit these are.
"""

import argparse
import json
import sys
import traceback
import warnings
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from benchmarks.published.catalogue import EXPERIMENTS, lacking, listed
from benchmarks.published.provenance import commit, digest, footer, is_quick
from benchmarks.published.settings import Settings, timed
from benchmarks.published.tables import as_text, write_tables
from benchmarks.table import machine

# Small versions do not take the place of what a whole run has found.
_OUTPUT, _QUICK = "benchmark_results", "benchmark_results_quick"


def module_of(name):
    """The module of an experiment."""
    return import_module(f"benchmarks.published.{name}")


def main(arguments=None):
    """Run experiments; returns 0, or 1 where some of all failed."""
    parser = command_line()
    options = parser.parse_args(arguments)
    options.output = options.output or (_QUICK if options.quick else _OUTPUT)
    if refusal := refused(options):
        parser.error(refusal)
    if options.list:
        print(listed())
    elif options.all:
        return run_all(options)
    elif options.figures:
        results = json.loads(Path(options.figures).read_text(encoding="utf-8"))
        if options.doc and is_quick(results):
            parser.error(f"{options.figures} is of a small version, which pages do not show")
        publish(options.name, results, Path(options.output), options.doc)
    else:
        missing = lacking(options.name, options.data_home)
        print(*missing.values(), sep="\n", end="\n" * bool(missing), file=sys.stderr)
        if missing and not options.parts:
            return 1
        run(options.name, options)
    return 0


def command_line():
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__)
    parser.add_argument("name", nargs="?", choices=EXPERIMENTS, help="the experiment")
    parser.add_argument("--all", action="store_true", help="every experiment, one after another")
    parser.add_argument(
        "--list", action="store_true", help="say what there is: minutes, paper, corpora"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, for tests")
    parser.add_argument("--data-home", help="folder of the corpora (see sklearn_cvb.datasets)")
    parser.add_argument(
        "--output", help=f"folder of what is written (default: {_OUTPUT}, with --quick {_QUICK})"
    )
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


def refused(options):
    """What options do not go together; None where they do."""
    if [bool(options.name), options.all, options.list].count(True) != 1:
        return "one of NAME, --all and --list is asked for"
    if options.quick and options.doc:
        return "--quick is for tests: pages (--doc) show whole experiments"
    if not options.name and (options.figures or options.parts):
        return "--from and --parts are of one experiment: give its NAME"
    return None


def run_all(options):
    """Run every experiment; those that fail, and what is lacking, are named at the end."""
    missing = {name: lacking(name, options.data_home) for name in EXPERIMENTS}
    failed = {name: f"lacks {', '.join(found)}" for name, found in missing.items() if found}
    texts = {text for found in missing.values() for text in found.values()}
    print("".join(f"{text}\n" for text in sorted(texts)), end="", file=sys.stderr)
    for name in EXPERIMENTS:
        if name in failed:
            continue
        try:
            run(name, options)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            failed[name] = f"{type(error).__name__}: {error}"
    for name, reason in failed.items():
        print(f"failed: {name}: {reason}", file=sys.stderr)
    return int(bool(failed))


def run(name, options):
    """Run an experiment and write what it found."""
    settings = Settings(options.data_home, options.quick, options.jobs, options.replications)
    folder = Path(options.output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results = collect(name, settings, options.parts, folder)
    publish(name, results, folder, options.doc)


def collect(name, settings, parts, folder):
    """Run an experiment; a part's figures are on disk as soon as they are found.

    `parts`: names of the parts to run; None for all, or for those of the small version. Returns
    what the experiment found, and under ``"about"`` when, where, how, and by which state of the
    sources.
    """
    path = folder / f"{name}.json"
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "digest": digest(name),
        "machine": machine(),
        "quick": settings.quick,
        "n_jobs": settings.n_jobs,
        "replications": settings.replications,
    }
    module = module_of(name)
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
    for part in parts or (settings.quick and EXPERIMENTS[name].quick) or available:
        results[part] = timed(available[part], settings) | {"about": about}
        save(path, results)
        print(f"{name} {part}: {results[part]['seconds']:.0f} s", flush=True)
    return results


def save(path, results):
    """Write figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def publish(name, results, folder, doc):
    """Write the tables and pictures of an experiment."""
    module = module_of(name)
    left = [part for part in getattr(module, "PARTS", ()) if part not in results]
    try:
        tables = module.tables(results)
    except KeyError as error:
        if error.args[0] not in left:
            raise
        raise SystemExit(f"{name}: tables need the parts {', '.join(left)}, too") from None
    print(as_text(tables), flush=True)
    places = [(folder, folder)]
    if doc is not None:
        if left:
            print(f"{name}: the page goes without {', '.join(left)}", file=sys.stderr)
        places.append((Path(doc, "published", "tables"), Path(doc, "images")))
    for of_tables, of_pictures in places:
        write_tables(name, tables, of_tables, footer(results))
        of_pictures.mkdir(parents=True, exist_ok=True)
        module.draw(results, of_pictures)


if __name__ == "__main__":
    sys.exit(main())
