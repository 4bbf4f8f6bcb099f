"""The demo's output: a growing table, a tagged sentence, and a picture."""

import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, NamedTuple, Self

import numpy as np

from sklearn_cvb.demo.experiment import ALGORITHMS, HeldOutScores
from sklearn_cvb.demo.published import PublishedResult
from sklearn_cvb.display import TaggedSentence

_COLUMNS = ("algorithm", "accuracy %", "seconds", "paper %", "known %", "unknown %", "perplexity")
_WIDTHS = (-13, 12, 8, 12, 8, 10, 11)
_PAPER = _COLUMNS.index("paper %")
# Columns of a terminal in which the table with all columns has room between them.
_WIDE_TABLE = 92
# Formats of matplotlib that are raw bytes or need a TeX system.
_NOT_OFFERED = ("pgf", "raw", "rgba")


class TableRow(NamedTuple):
    """One algorithm's line of the table, which grows with every fit."""

    name: str
    restarts: tuple[Any, ...]
    unseen: HeldOutScores | None
    published: PublishedResult | None


def missing_packages() -> list[str]:
    """Names of the packages that only the display needs and that are not installed."""
    missing = []
    for name in ("rich", "matplotlib"):
        with suppress(ImportError, ValueError):
            if find_spec(name) is not None:
                continue
        missing.append(name)
    return missing


def cells_of_row(row: TableRow) -> tuple[str, ...]:
    """A row's text by column: mean and, in brackets, standard deviation over restarts.

    It is "" for what is not known yet, "-" for what there is not.
    """
    accuracies = [restart.accuracy for restart in row.restarts]
    spread = f"{100 * np.mean(accuracies):.1f}" if accuracies else ""
    if len(accuracies) > 1:
        spread += f" ({100 * np.std(accuracies, ddof=1):.2f})"
    seconds = [restart.seconds for restart in row.restarts]
    known, unknown, perplexity = ("",) * 3
    if row.unseen is not None:
        known, unknown = _per_cent(row.unseen.known), _per_cent(row.unseen.unknown)
        perplexity = f"{row.unseen.perplexity:,.1f}"
    published = row.published
    return (
        ALGORITHMS[row.name].title,
        spread,
        f"{np.mean(seconds):.2f}" if seconds else "",
        "-" if published is None else f"{published.mean:.1f} ({published.deviation:.1f})",
        known,
        unknown,
        perplexity,
    )


def _per_cent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def wrapped(line: str, width: int) -> str:
    """Break a line between words, so that a terminal need not break it inside of one.

    >>> from sklearn_cvb.demo.display import wrapped
    >>> print(wrapped("the duck swims", 8))
    the duck
    swims
    """
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


class Display:
    """Lines without control characters; a row is printed once it is complete."""

    def __init__(self, has_paper: bool) -> None:
        self.has_paper = has_paper  # a column of published figures
        self.incomplete: TableRow | None = None

    def __enter__(self) -> Self:
        self._print_row(_COLUMNS)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.incomplete is not None and self.incomplete.restarts:
            self._print_row(cells_of_row(self.incomplete))

    def say(self, line: str) -> None:
        """Print a line of text, in several where it is too long."""
        print(wrapped(line, get_terminal_size().columns), flush=True)

    def compiling(self) -> None:
        """A function begins to be compiled; rows that are not complete are not shown here."""

    def follow(self, title: str, n_sweeps: int) -> Callable[[], None]:
        """Return what to call after every sweep."""
        return lambda: None

    def show(self, row: TableRow, is_complete: bool) -> None:
        """Show a row of the table."""
        self.incomplete = None if is_complete else row
        if is_complete:
            self._print_row(cells_of_row(row))

    def _print_row(self, texts: Sequence[str]) -> None:
        columns = [
            f"{text:<{-width}}" if width < 0 else f"{text:>{width}}"
            for text, width in zip(texts, _WIDTHS, strict=True)
        ]
        if not self.has_paper:
            del columns[_PAPER]
        print("".join(columns).rstrip(), flush=True)

    def tagged(self, sentence: TaggedSentence) -> None:
        """Print a tagged sentence."""
        print(sentence.to_text(get_terminal_size().columns), flush=True)


class RichDisplay(Display):
    """A live table with a progress bar below it, and colours."""

    def __init__(self, has_paper: bool) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(has_paper)
        self.rows: dict[str, TableRow] = {}
        self.is_compiling: bool = False
        self.console: Any = Console(highlight=False)
        self.progress: Any = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} sweeps"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task: Any = self.progress.add_task("", total=None, visible=False)
        self.live: Any = Live(
            console=self.console, get_renderable=self.rendered, refresh_per_second=8
        )

    def __enter__(self) -> Self:
        self.live.start(refresh=True)
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.update(self.task, visible=False)
        self.live.stop()

    def say(self, line: str) -> None:
        self.console.print(wrapped(line, self.console.width), markup=False, soft_wrap=True)

    def compiling(self) -> None:
        self.is_compiling = True

    def follow(self, title: str, n_sweeps: int) -> Callable[[], None]:
        self.is_compiling = False
        self.progress.reset(self.task, description=title, total=n_sweeps, completed=0, visible=True)
        self.live.refresh()
        return lambda: self.progress.advance(self.task)

    def show(self, row: TableRow, is_complete: bool) -> None:
        self.rows[row.name] = row
        self.is_compiling = False
        if is_complete:
            self.progress.update(self.task, visible=False)

    def rendered(self) -> Any:
        """The table as it is now, and the progress bar."""
        from rich.console import Group
        from rich.constrain import Constrain
        from rich.table import Table

        is_wide = not self.has_paper or self.console.width >= _WIDE_TABLE
        table = Table(padding=(0, 1 if is_wide else 0))
        for index, title in enumerate(_COLUMNS):
            if index != _PAPER or self.has_paper:
                table.add_column(title, justify="right" if index else "left", no_wrap=True)
        rows = [list(cells_of_row(row)) for row in list(self.rows.values())]
        if self.is_compiling and rows and "" in rows[-1]:
            rows[-1][rows[-1].index("")] = "compiling"
        for texts in rows:
            if not self.has_paper:
                del texts[_PAPER]
            table.add_row(*texts)
        # A terminal shows Ctrl-C as "^C" after the last line; were this to begin another line, the
        # next picture of the table would not cover the one before.
        return Group(table, Constrain(self.progress, self.console.width - len("^C^C") - 1))

    def tagged(self, sentence: TaggedSentence) -> None:
        from rich.text import Text

        shown = sentence.to_text(self.console.width, colour=True)
        self.console.print(Text.from_ansi(shown), soft_wrap=True)


def display_for(has_paper: bool) -> Display:
    """The display that suits the standard output."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    return (RichDisplay if on_terminal and "rich" not in missing_packages() else Display)(has_paper)


def picture_formats() -> list[str]:
    """Extensions of files that a picture can be saved to, without the dot, in order."""
    from matplotlib.backend_bases import FigureCanvasBase

    return sorted(set(FigureCanvasBase.get_supported_filetypes()) - set(_NOT_OFFERED))


def why_not_saved(path: Path) -> str | None:
    """Why no picture can be saved to a file; it is opened to see, and left as it was.

    >>> from pathlib import Path
    >>> from sklearn_cvb.demo.display import why_not_saved
    >>> why_not_saved(Path("no_such_folder", "curve.png"))
    'there is no such folder'
    """
    try:
        if path.is_dir():
            return "this is a folder; name a file in it, such as accuracy.png"
        if not path.absolute().parent.is_dir():
            return "there is no such folder"
        if "matplotlib" not in missing_packages():
            formats = picture_formats()
            if path.suffix[1:].lower() not in formats:
                return f"the name must end in one of .{', .'.join(formats)}"
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        return f"it cannot be written ({error.strerror})"
    return None


def save_picture(curves: dict[Any, Any], path: Path) -> None:
    """Draw the accuracies by sweep of each title; the file's extension decides on the format."""
    from matplotlib.figure import Figure

    from sklearn_cvb.plotting import plot_accuracy

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    plot_accuracy(curves, ax=figure.subplots())
    figure.savefig(path, dpi=150)
