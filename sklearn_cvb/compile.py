"""Compile everything beforehand, as for a container: ``python -m sklearn_cvb.compile``.

Every public estimator is fitted on tiny data in every situation that has kernels of its own, and
then read in every way. What is compiled is kept where numba keeps it (`NUMBA_CACHE_DIR` names the
folder); processes with the same folder and the same files of the package compile nothing.
"""

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter

from sklearn_cvb.compilation.announcement import when_compiling
from sklearn_cvb.compilation.cases import EVERY_SITUATION, Situation


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line; None for that of the process.

    Returns
    -------
    int
        0; 1 if no folder can be written. Bad arguments exit with 2.
    """
    chosen = command_line().parse_args(arguments).only
    begin, n_functions = perf_counter(), 0
    for name, situations in chosen.items():
        begin_one, n_before = perf_counter(), n_functions
        for situation in situations:
            n_functions += compile_for(situation)
        print(
            f"{name}: {len(situations)} situations, {n_functions - n_before} functions compiled, "
            f"{perf_counter() - begin_one:.1f} s",
            flush=True,
        )
    print(f"in all {n_functions} functions, {perf_counter() - begin:.1f} s")
    folder = cache_folder()
    if folder is None:
        print("nothing is kept: name a folder that can be written in NUMBA_CACHE_DIR")
        return 1
    print(f"kept in {folder}")
    return 0


def command_line() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_cvb.compile",
        description="Compile all kernels beforehand, so that no later process has to.",
    )
    parser.add_argument(
        "--only",
        type=_checked_choice,
        default={name: list(situations.values()) for name, situations in EVERY_SITUATION.items()},
        metavar="NAMES",
        help=f"some of these, with commas between: {', '.join(EVERY_SITUATION)}; also with "
        "wildcards as in '*PCFG'; a situation after a colon, as in CVBHMMTagger:partial "
        "(default: all)",
    )
    return parser


def _checked_choice(text: str) -> dict[str, list[Situation]]:
    chosen: dict[str, list[Situation]] = {}
    for part in text.split(","):
        pattern, _, title = part.strip().partition(":")
        names = [name for name in EVERY_SITUATION if fnmatchcase(name, pattern)]
        if not names:
            raise argparse.ArgumentTypeError(
                f"unknown {pattern!r}: choose from {', '.join(EVERY_SITUATION)}"
            )
        for name in names:
            known = EVERY_SITUATION[name]
            if title and title not in known:
                raise argparse.ArgumentTypeError(
                    f"unknown situation {title!r} of {name}: choose from {', '.join(known)}"
                )
            chosen.setdefault(name, []).extend([known[title]] if title else known.values())
    return chosen


def compile_for(situation: Situation) -> int:
    """Fit and read an estimator in a situation.

    Parameters
    ----------
    situation : Situation

    Returns
    -------
    int
        How many functions had to be compiled.
    """
    begun: list[None] = []
    with warnings.catch_warnings(), when_compiling(lambda: begun.append(None)):
        warnings.simplefilter("ignore", UserWarning)
        situation.call_methods(situation.fit())
    return len(begun)


def cache_folder() -> Path | None:
    """The folder that holds what is compiled for this package; None if there is none.

    Numba takes the folder named by `NUMBA_CACHE_DIR`, else those of the sources, else the user's.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("sklearn_cvb.")]
    kernels = [
        value for module in modules for value in vars(module).values() if hasattr(value, "py_func")
    ]
    paths = {kernel.stats.cache_path for kernel in kernels} - {None}
    return Path(os.path.commonpath(paths)) if paths else None


if __name__ == "__main__":
    # A compiler makes and keeps many objects: looking through them again and again is a tenth.
    gc.set_threshold(100_000)
    sys.exit(main())
