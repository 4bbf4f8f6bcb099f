"""Learn taggers from raw sentences and a dictionary by five algorithms, and compare them.

``python -m sklearn_cvb --help`` lists the options.
"""

import _thread
import argparse
import io
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.compilation.announcement import announced, when_compiling
from sklearn_cvb.demo.display import Display, TableRow, display_for, missing_packages, save_picture
from sklearn_cvb.demo.experiment import ALGORITHMS, DemoSettings, run_restarts, tag_unseen, warm_up
from sklearn_cvb.demo.options import command_line, read_settings, read_text
from sklearn_cvb.demo.published import published_accuracies
from sklearn_cvb.demo.text import HeldOutText, TaggingText, ambiguity, hold_out
from sklearn_cvb.display import TaggedSentence

_EXAMPLE_LENGTHS = range(8, 21)
# What all algorithms compile, together.
_COMPILED_SECONDS = 13


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the main job with a command line, None for that of the process.

    Returns 0, 130 after Ctrl-C, 141 if the reader of the output has gone, 1 if output or picture
    cannot be written. Bad arguments exit with 2.
    """
    parser = command_line()
    options = parser.parse_args(arguments)
    settings = read_settings(parser, options)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Words that the terminal's encoding lacks are shown as escapes.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _heeding_interrupts():
            return _run(parser, options, settings)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        print("stopped: nobody reads the output any more", file=sys.stderr)
        return 141
    except OSError as error:
        _discard_output()
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1


@contextmanager
def _heeding_interrupts() -> Iterator[None]:
    """Interrupt once more where Python has dropped a Ctrl-C.

    It does so in functions that C calls, as LLVM does while a kernel is compiled.
    """
    before = sys.unraisablehook

    def hook(unraisable: "sys.UnraisableHookArgs") -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            # Not here: this is still inside of what C has called.
            threading.Timer(0.05, _thread.interrupt_main).start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _discard_output() -> None:
    """Keep Python from failing once more on what the standard output still holds."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def _run(
    parser: argparse.ArgumentParser, options: argparse.Namespace, settings: DemoSettings
) -> int:
    text = read_text(parser, options)
    held_out = hold_out(text, options.min_count, options.seed)
    published = published_accuracies(text.name, len(text.X), text.is_whole, options.min_count)
    display = display_for(bool(published))
    _introduce(display, text, held_out, settings, published)
    rows: dict[str, TableRow] = {}
    notes: dict[str, None] = {}
    interrupted = False
    try:
        with display, announced(display.say, _COMPILED_SECONDS), when_compiling(display.compiling):
            for name in options.algorithms:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", UserWarning)
                    for row in _compare(display, name, text, held_out, settings):
                        rows[name] = row._replace(published=published.get(name))
                        display.show(rows[name], is_complete=row.unseen is not None)
                for warning in caught:
                    notes[f"note on {ALGORITHMS[name].title}: {warning.message}"] = None
    except KeyboardInterrupt:
        interrupted = True
    for note in notes:
        display.say(note)
    _conclude(display, rows, held_out, Path(options.output))
    if interrupted:
        raise KeyboardInterrupt
    return 0


def _compare(
    display: Display, name: str, text: TaggingText, held_out: HeldOutText, settings: DemoSettings
) -> Iterator[TableRow]:
    """Run one algorithm; yields its row of the table each time there is more in it."""
    row = TableRow(name, (), None, None)
    yield row
    warm_up(name, text, settings)
    title, sweeps = ALGORITHMS[name].title, settings.sweeps(name)
    on_sweep = display.follow(f"{title}: {settings.restarts} starts", settings.restarts * sweeps)
    for restart in run_restarts(name, text, settings, on_sweep):
        row = row._replace(restarts=(*row.restarts, restart))
        yield row
    on_sweep = display.follow(f"{title}: unseen sentences", sweeps)
    yield row._replace(unseen=tag_unseen(name, held_out, settings, on_sweep))


def _introduce(
    display: Display,
    text: TaggingText,
    held_out: HeldOutText,
    settings: DemoSettings,
    published: Mapping[Any, Any],
) -> None:
    size = ambiguity(text)
    display.say(
        f"{text.name}: {len(text.X):,} sentences, {size.n_tokens:,} tokens, "
        f"{size.n_words:,} words, {size.n_tags} tags"
    )
    display.say(
        f"dictionary: {size.tags_per_token:.2f} tags per token, {size.ambiguous:.0%} of the tokens "
        f"have more than one, choosing at random gets {size.random_choice:.1%} right"
    )
    n_unknown = sum(not known for sentence in held_out.is_known for known in sentence)
    n_held_out = sum(map(len, held_out.X))
    starts = "start" if settings.restarts == 1 else "starts"
    display.say(
        "accuracy: tags of these sentences, learned without gold tags; mean and (standard "
        f"deviation) over {settings.restarts} {starts}; seconds: one fit, compiled"
    )
    display.say(
        f"known, unknown, perplexity: a tenth held out ({len(held_out.X):,} sentences, "
        f"{n_held_out:,} tokens, {n_unknown:,} of them unknown words), tagged by a tagger and a "
        f"dictionary from the other {len(held_out.training.X):,}; perplexity per token"
    )
    if published:
        display.say(
            "paper: Wang and Blunsom (2013), tables 1 and 2; their dictionary is of three times as "
            "much text and so leaves more tags per token (2.3 where it is complete)"
        )
    missing = missing_packages()
    if missing:
        without = ["plain lines"] * ("rich" in missing) + ["no picture"] * ("matplotlib" in missing)
        display.say(
            f"{' and '.join(missing)} not found: {', '.join(without)}; "
            'the extra "demo" installs what is missing'
        )


def _conclude(
    display: Display, rows: dict[str, TableRow], held_out: HeldOutText, output: Path
) -> None:
    """Tag an example with the best tagger, and save the picture."""
    complete = [(row, row.unseen) for row in rows.values() if row.unseen is not None]
    if complete:
        accuracies = [np.mean([r.accuracy for r in row.restarts]) for row, _ in complete]
        best, unseen = complete[int(np.argmax(accuracies))]
        # The first held-out sentence of middling length, else the first of all.
        lengths = [len(sentence) for sentence in held_out.X]
        place = next((i for i, length in enumerate(lengths) if length in _EXAMPLE_LENGTHS), 0)
        display.say(f"an unseen sentence, tagged by {ALGORITHMS[best.name].title}:")
        with warnings.catch_warnings():
            # What there is to say of this sentence has been said of all those held out.
            warnings.simplefilter("ignore", UserWarning)
            sentence = TaggedSentence.from_estimator(
                unseen.tagger, held_out.X[place], gold=held_out.y[place]
            )
        display.tagged(sentence)
    curves = {
        ALGORITHMS[row.name].title: row.restarts[0].curve for row in rows.values() if row.restarts
    }
    if curves and "matplotlib" not in missing_packages():
        save_picture(curves, output)
        display.say(f"accuracy by sweep: {output}")


if __name__ == "__main__":
    sys.exit(main())
