"""What a fit on workers tells while it runs: the round, and how fast each worker is."""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_cvb.reading.dask.workers import Answer

# Questions that are rounds of a fit; others are asked before or after.
_ROUNDS = ("infer", "sweep")


class Progress:
    """A bar for the rounds and a line for each worker, by rich where that is installed.

    Parameters
    ----------
    verbose : int
        0 shows nothing.
    max_iter : int
    """

    def __init__(self, verbose: int, max_iter: int) -> None:
        self._is_shown = bool(verbose)
        self._max_iter = max_iter
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._n_rounds = 0
        self._began = time.perf_counter()

    def __enter__(self) -> "Progress":
        if self._is_shown:
            try:
                from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
            except ImportError:
                return self
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                TextColumn("{task.fields[speed]}"),
                TimeElapsedColumn(),
            )
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def round(self, name: str, answer: "Answer") -> None:
        """A round is over."""
        if not self._is_shown or name not in _ROUNDS:
            return
        now = time.perf_counter()
        elapsed, self._began = now - self._began, now
        self._n_rounds += 1
        self._show("round", _speed(sum(answer.tokens.values()), elapsed))
        for worker in sorted(answer.tokens):
            self._show(f"worker {worker}", _speed(answer.tokens[worker], answer.seconds[worker]))

    def _show(self, title: str, speed: str) -> None:
        if self._bars is None:
            print(f"{title}: {self._n_rounds} of {self._max_iter}, {speed}")
            return
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=self._max_iter, speed=speed)
        self._bars.update(self._tasks[title], completed=self._n_rounds, speed=speed)


def _speed(n_tokens: int, seconds: float) -> str:
    return f"{n_tokens / max(seconds, 1e-9) / 1e6:.2f} M tokens/s"
