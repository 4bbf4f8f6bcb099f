"""Fits on partitions of Dask: rounds over shards on the workers, their sums, lost workers.

A round asks all shards, and sums their answers as a tree. Sums are over partitions
in their order, never over workers, so that they do not depend on who computed what. A worker that
dies takes its shards with it: the round is asked again, those that had answered answer the same,
and the lost ones are made again elsewhere. All that is sent is the result of a task, so that Dask
makes it again where it is lost, and every wait looks at which workers are alive.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import dask
from dask import bag, delayed
from dask.delayed import Delayed
from distributed import Client, Future, KilledWorker, get_client
from distributed.comm import CommClosedError

from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.scale.dask import workers
from sklearn_cvb.scale.parts import LogsNeeded, PartIndex, PartResult, PartSummary, part_indices
from sklearn_cvb.scale.places import is_dask

_FORM = "pass a dask bag of sequences, a dask Series of lists, or a list of delayed partitions"
# Questions that are rounds of a fit; others are asked before or after.
_ROUNDS = ("infer", "decode", "sweep")
# Seconds after which it is asked who is still alive.
_LOOK = 1.0
# A round that loses workers again and again is given up.
_MOST_ATTEMPTS = 10


def partitions_of(X: Any, name: str = "X") -> list[Any]:
    """Delayed collections of sequences, or futures of them; TypeError if X has none."""
    if isinstance(X, list | tuple) and all(isinstance(item, Delayed | Future) for item in X):
        return list(X)
    if isinstance(X, Delayed):
        # It claims to have any method.
        raise TypeError(f"{name} is one delayed value: {_FORM}")
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"{name} is {short_repr(X)}: {_FORM}")
    if getattr(X, "ndim", 1) > 1:
        raise TypeError(
            f"{name} is a frame with columns {list(X.columns)[:5]}: pass one of "
            'them, such as frame["words"]'
        )
    return list(X.to_delayed())


def labels_of(y: Any, n_partitions: int) -> list[Any]:
    """The partitions of `y`, as many as X has; all None without `y`."""
    if y is None:
        return [None] * n_partitions
    if not is_dask(y):
        raise TypeError(f"y is {short_repr(y)}: pass it in the partitions of X, as X is given")
    items = partitions_of(y, "y")
    if len(items) != n_partitions:
        raise ValueError(
            f"y has {len(items)} partitions and X {n_partitions}: cut both at the same places"
        )
    return items


class Progress:
    """A bar for the rounds and a line for each worker, by rich where that is installed."""

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

    def round(self, name: str, answer: workers.ShardAnswer) -> None:
        """A round is over."""
        if not self._is_shown or name not in _ROUNDS:
            return
        now = time.perf_counter()
        elapsed, self._began = now - self._began, now
        self._n_rounds += 1
        self._show("round", _speed(sum(answer.n_tokens.values()), elapsed))
        for worker in sorted(answer.n_tokens):
            self._show(f"worker {worker}", _speed(answer.n_tokens[worker], answer.seconds[worker]))

    def _show(self, title: str, speed: str) -> None:
        if self._bars is None:
            print(f"{title}: {self._n_rounds} of {self._max_iter}, {speed}")
            return
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=self._max_iter, speed=speed)
        self._bars.update(self._tasks[title], completed=self._n_rounds, speed=speed)


def _speed(n_tokens: int, seconds: float) -> str:
    return f"{n_tokens / max(seconds, 1e-9) / 1e6:.2f} M tokens/s"


class WorkersLost(RuntimeError):
    """Workers died faster than a round could be finished, or the scheduler did."""


class Partitions:
    """A source of shards on workers: partitions, read where Dask puts them, and their labels."""

    def __init__(
        self,
        client: Client,
        partitions: list[Any],
        labels: list[Any],
        progress: Progress,
        family: str,
    ) -> None:
        self._client, self._family = client, family
        self._fit = secrets.token_hex(4)
        self._progress = progress
        self._round = 0
        # A worker for each part: neighbours together, as many for each.
        alive, n = self._alive(), len(labels)
        # Two threads of a worker that import one package at once may fail both, and end it.
        client.run(workers.import_package, workers=alive, on_error="ignore")
        self._homes = [alive[index * len(alive) // n] for index in range(n)]
        given = zip(self._compute(partitions), self._compute(labels), strict=True)
        self._parts: list[Future[Any]] = [
            self._submit(f"read-{i}", self._homes[i], True, workers.read_partition, i, family, X, y)
            for i, (X, y) in enumerate(given)
        ]
        self._places: list[tuple[PartIndex, workers.PartitionIdentity]] = []
        self._layout: Any = None
        self._shipped: Future[Any] | None = None

    def _compute(self, items: Sequence[Any]) -> list[Any]:
        """Delayed partitions on their way to the workers."""
        return [
            self._client.compute(item, workers=[home], allow_other_workers=True)
            if isinstance(item, Delayed)
            else item
            for item, home in zip(items, self._homes, strict=True)
        ]

    def survey(self, observation: Any) -> Any:
        """The merged survey of all partitions: of their words, or columns."""
        shipped, each = self._send("observation", observation), list(enumerate(self._parts))
        counted = [
            self._submit(
                f"words-{i}",
                self._homes[i],
                True,
                workers.survey_partition,
                i,
                self._family,
                shipped,
                part,
            )
            for i, part in each
        ]
        told = [
            self._submit(f"origin-{i}", self._homes[i], True, workers.identify_partition, i, part)
            for i, part in each
        ]
        try:
            merge = partial(workers.merge_surveys, self._family)
            found, *origins = self._results([self._tree_sum("merge", counted, merge), *told])
        except KilledWorker as error:
            raise MemoryError(self._why_killed(error)) from None
        kept = [one for one in origins if one.n_sequences]
        if not kept:
            raise ValueError("Found array with 0 sample(s): X holds no sequence")
        self._parts = [self._parts[one.number] for one in kept]
        self._homes = [self._homes[one.number] for one in kept]
        indices = part_indices([one.n_sequences for one in kept])
        self._places = list(zip(indices, kept, strict=True))
        return found

    def _why_killed(self, error: KilledWorker) -> str:
        """The message for a partition that worker after worker has died of."""
        number = next((part for part in str(error.task).split("-") if part.isdigit()), "?")
        return (
            f"{error.allowed_failures + 1} workers died one after the other as they read "
            f"partition {number} of X or one beside it, most likely because it does not fit into "
            f"their memory ({self._memory / 1e9:.1f} GB each): cut X into more partitions, as with "
            "X.repartition(npartitions=...), or give workers more"
        )

    def make_shards(self, layout: Any) -> list[PartSummary]:
        """Make the shards under a layout."""
        self._layout = layout
        answers = self._ask_shards(("summary",), total=False)
        return [answer.result for answer in answers]

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every shard, and add up what they return in their order."""
        (answer,) = self._ask_shards((name, *arguments), total=True)
        if isinstance(answer.result, LogsNeeded):
            raise answer.result
        self._progress.round(name, answer)
        return answer.result

    def close(self) -> None:
        """Drop the shards, wherever they are."""
        if self._client.status == "running":
            self._client.run(workers.drop_shards, self._fit, on_error="ignore")
        self._parts = []

    def _ask_shards(self, question: tuple[Any, ...], total: bool) -> list[workers.ShardAnswer]:
        """Answers of all shards, summed or one by one; asked again where workers die."""
        for _ in range(_MOST_ATTEMPTS):
            try:
                return self._ask_once(question, total)
            except (_WorkerLost, CancelledError, KilledWorker, CommClosedError):
                self._shipped = None
                self._homes = _replace_lost_workers(self._homes, self._alive())
        raise WorkersLost(f"workers were lost {_MOST_ATTEMPTS} times in one round: see their logs")

    def _ask_once(self, question: tuple[Any, ...], total: bool) -> list[workers.ShardAnswer]:
        self._refuse_without_scheduler()
        self._round += 1
        if self._shipped is None:
            self._shipped = self._send(f"layout-{self._round}", self._layout)
        asked = self._send(f"question-{self._round}", question)
        answers = [
            self._submit(
                f"{question[0]}-{self._round}-{place[0].number}",
                home,
                False,
                *(workers.ask_shard, self._family, self._shipped, part, place, self._fit, asked),
            )
            for part, place, home in zip(self._parts, self._places, self._homes, strict=True)
        ]
        wanted = (
            [self._tree_sum(f"add-{self._round}", answers, workers.add_answers)]
            if total
            else answers
        )
        return self._results(wanted, self._homes)

    def _results(self, wanted: list[Future[Any]], homes: Sequence[str] = ()) -> list[Any]:
        """Results of tasks; raises where the scheduler is gone, or a home that they need."""
        found: list[Any] = []
        while len(found) < len(wanted):
            try:
                found.append(wanted[len(found)].result(timeout=_LOOK))
            except TimeoutError:
                if not set(self._alive()).issuperset(homes):
                    raise _WorkerLost from None
        return found

    def _send(self, name: str, value: Any) -> Future[Any]:
        """A value on its way to all workers."""
        # Weights are as large as they are: nobody can make the graph smaller.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._submit(name, None, False, workers.as_task_result, value)

    def _tree_sum(self, name: str, found: list[Future[Any]], add: Any) -> Future[Any]:
        """The sum, as a tree over neighbours."""
        level = 0
        while len(found) > 1:
            level += 1
            pairs = [
                self._submit(f"{name}-{level}-{i}", None, True, add, *found[i : i + 2])
                for i in range(0, len(found) - 1, 2)
            ]
            found = pairs + found[2 * len(pairs) :]
        return found[0]

    def _submit(
        self, name: str, home: str | None, is_free: bool, call: Any, *rest: Any
    ) -> Future[Any]:
        """A task by its name; one that is not free runs at its home alone."""
        return self._client.submit(
            call,
            *rest,
            key=f"{name}-{self._fit}",
            workers=None if home is None else [home],
            allow_other_workers=is_free and home is not None,
            pure=False,
        )

    def _alive(self) -> list[str]:
        """Addresses of the workers, in an order that is always the same."""
        self._refuse_without_scheduler()
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        if not found:
            self._client.wait_for_workers(1)
            found = self._client.scheduler_info(n_workers=-1)["workers"]
        self._memory = min(worker["memory_limit"] for worker in found.values())
        return sorted(found, key=lambda address: (str(found[address]["name"]), address))

    def _refuse_without_scheduler(self) -> None:
        """Raise where nobody is left who knows the workers."""
        if self._client.status != "running" or self._client.scheduler is None:
            raise WorkersLost(
                f"the scheduler of Dask is gone (the client is {self._client.status}), and the "
                "shards of this fit with it: a fit with a checkpoint goes on from its last round"
            )


class _WorkerLost(Exception):
    """A worker with shards has died."""


def _replace_lost_workers(homes: list[str], alive: list[str]) -> list[str]:
    """The workers of now, each dead one replaced by the one with the fewest parts."""
    held = {address: homes.count(address) for address in alive}
    moved = []
    for home in homes:
        if home not in held:
            home = min(alive, key=lambda address: (held[address], address))
            held[home] += 1
        moved.append(home)
    return moved


@contextmanager
def read_on_workers(
    family: str, asked: Any, X: Any, y: Any, progress: Progress
) -> Iterator[Reading]:
    """Partitions, each of which is read and encoded once where Dask puts it, while it is open.

    `family` names the module that lays out models, and learns them, in parts; `asked` is what it is
    asked for. Counts are summed over partitions in their order, so that the result does not depend
    on the number of workers. CVB sweeps each partition from the counts of all.
    """
    module = import_module(family)
    partitions = partitions_of(X)
    labels = labels_of(y, len(partitions))
    try:
        client = get_client()
    except ValueError:
        raise ValueError(
            "X is in partitions of Dask, and there is no client: make one before the fit, such as "
            "client = distributed.Client()"
        ) from None
    with progress:
        source = Partitions(client, partitions, labels, progress, family)
        try:
            plan = module.lay_out(asked, source.survey(asked))
            summaries = source.make_shards(plan.part_layout)
            read: Reading = module.read_in_shards(plan, summaries, source)
            yield read
        finally:
            source.close()
    # Whoever keeps the model, or sends it on, keeps no tasks.
    read.problem.forget_shards()


def predict_on_workers(predict: Callable[..., Any], X: Any, settings: dict[str, Any]) -> Any:
    """The values of a method of a fitted model for each partition; nothing is computed yet."""
    shared, name = delayed(predict), f"{predict.__name__}-partition"
    task = delayed(workers.predict_partition, name=name)
    lazy = [task(shared, item, settings) for item in partitions_of(X)]
    return lazy if isinstance(X, list | tuple) else bag.from_delayed(lazy)
