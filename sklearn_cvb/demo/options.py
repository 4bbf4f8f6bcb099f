"""The demo's command line: options, checked and read as settings and text."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from sklearn_cvb.demo.display import why_not_saved
from sklearn_cvb.demo.experiment import ALGORITHMS, DemoSettings
from sklearn_cvb.demo.text import FETCHERS, TaggingText, load_text
from sklearn_cvb.estimators.methods import CallbackSupportMixin


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def _number(
    convert: Callable[[str], Any], is_allowed: Callable[[Any], bool], demand: str
) -> Callable[[str], Any]:
    """A type of arguments: numbers that are allowed; `demand` says which these are."""

    def read(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not is_allowed(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {demand}")
        return value

    return read


_positive = _number(int, lambda n: n > 0, "a positive integer")
_natural = _number(int, lambda n: 0 <= n < 2**31, "an integer from 0 to 2**31 - 1")
_jobs = _number(int, lambda n: n != 0, "a number of threads (-1 for all cores)")
_concentration = _number(float, lambda x: 0 <= x < math.inf, "a number from 0 up")


def command_line() -> argparse.ArgumentParser:
    """The parser of the main job's options."""
    parser = _Parser(
        prog="python -m sklearn_cvb",
        description="Learn part-of-speech taggers from raw sentences and a tag dictionary by EM, "
        "VB, collapsed VB and Gibbs sampling, and compare their accuracy.",
    )
    add = parser.add_argument
    add(
        "--corpus",
        help=f"{', '.join(FETCHERS)}, or a file: CoNLL-U where its name ends in .conllu, else one "
        "sentence of word/TAG a line; also compressed as .gz, .bz2 or .xz (default: sentences from "
        "a pocket English grammar)",
    )
    add("--data-home", help="folder of the named corpora; they are downloaded where missing")
    add("--sentences", type=_positive, help="learn from the first this many (default: all)")
    add(
        "--min-count",
        type=_positive,
        default=1,
        metavar="D",
        help="words seen fewer than D times may take any tag (default: 1)",
    )
    add(
        "--restarts",
        type=_positive,
        help="fits of each algorithm from different starts (default: 5; 3 on pocket English)",
    )
    add("--max-iter", type=_positive, default=50, help="sweeps of EM, VB and CVB (default: 50)")
    add(
        "--gibbs-sweeps",
        type=_positive,
        help="sweeps of Gibbs (default: 1500; 500 on pocket English)",
    )
    add(
        "--algorithms",
        type=_algorithms,
        default=list(ALGORITHMS),
        metavar="NAMES",
        help=f"a selection of {','.join(ALGORITHMS)} (default: all)",
    )
    for name, meaning in (("alpha", "transitions"), ("beta", "emissions")):
        add(
            f"--{name}",
            type=_concentrations,
            default={},
            metavar="VALUES",
            help=f"concentration of the {meaning}: a number, or by algorithm as in vb=1,cvb=1 "
            "(default: what suits each algorithm and --min-count; EM has none)",
        )
    add("--jobs", type=_jobs, default=1, help="threads, -1 for all cores (default: 1)")
    add("--seed", type=_natural, default=0, help="seed of the first start (default: 0)")
    add(
        "--output",
        default="sklearn_cvb_accuracy.png",
        help="picture of the accuracy by sweep, in the format that the name's extension says "
        "(default: %(default)s)",
    )
    return parser


def read_settings(parser: argparse.ArgumentParser, options: argparse.Namespace) -> DemoSettings:
    """How to fit, or an exit that says which options contradict."""
    if not hasattr(CallbackSupportMixin(), "set_callbacks"):
        parser.error("fits are watched by callbacks: scikit-learn 1.9 or later is needed")
    reason = why_not_saved(Path(options.output))
    if reason is not None:
        parser.error(f"--output {options.output}: {reason}")
    for option, values in (("--alpha", options.alpha), ("--beta", options.beta)):
        zero = [name for name, value in values.items() if value == 0 and name != "em"]
        if set(zero) & set(options.algorithms):
            parser.error(f"{option} must be above 0 for {', '.join(zero)}; only EM goes without")
    is_embedded = options.corpus is None
    return DemoSettings(
        options.alpha,
        options.beta,
        options.min_count,
        options.restarts or (3 if is_embedded else 5),
        options.max_iter,
        options.gibbs_sweeps or (500 if is_embedded else 1500),
        options.jobs,
        options.seed,
    )


def read_text(parser: argparse.ArgumentParser, options: argparse.Namespace) -> TaggingText:
    """The text to learn from, or an exit that says what is wrong with the options."""
    try:
        return load_text(
            options.corpus, options.data_home, options.sentences, options.min_count, options.seed
        )
    except (OSError, ValueError, ImportError) as error:
        parser.error(str(error))


def _algorithms(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    wrong = [name for name in names if name not in ALGORITHMS]
    if wrong:
        raise argparse.ArgumentTypeError(
            f"unknown algorithm {wrong[0]!r}: choose from {', '.join(ALGORITHMS)}"
        )
    return list(dict.fromkeys(names))


def _concentrations(text: str) -> dict[str, float]:
    """Concentrations by algorithm; "cvb" stands for both of its forms."""
    if "=" not in text:
        return dict.fromkeys(ALGORITHMS, _concentration(text))
    values = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        names = ["cvb-token", "cvb-sequence"] if name.strip() == "cvb" else _algorithms(name)
        values.update(dict.fromkeys(names, _concentration(number)))
    return values
