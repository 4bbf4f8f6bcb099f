"""Shards on the workers of Dask: a round asks all of them, and sums what they find as a tree.

Sums are over partitions in their order, never over workers, so that they do not depend on who
computed what. A worker that dies takes its shards with it: the round is asked again, those that had
answered answer the same, and the lost ones are made anew elsewhere.
"""

import secrets
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from dask.delayed import Delayed
from distributed import Client, Future, wait

from sklearn_cvb.learning.parts import Facts, Found, Place, places_of
from sklearn_cvb.reading.dask import workers
from sklearn_cvb.reading.dask.partitions import Partitions
from sklearn_cvb.reading.dask.progress import Progress

# Seconds after which it is asked who is still alive.
_LOOK = 1.0
# A round that loses workers again and again is given up.
_MOST_ATTEMPTS = 10


class WorkersLost(RuntimeError):
    """Workers died faster than a round could be finished."""


class OnWorkers:
    """Partitions read where Dask puts them, and their shards.

    Parameters
    ----------
    client : Client
    partitions : Partitions
    labels : list
        What is known of each partition's sequences.
    progress : Progress
    """

    def __init__(
        self, client: Client, partitions: Partitions, labels: list[Any], progress: Progress
    ) -> None:
        self._client = client
        self._fit = secrets.token_hex(4)
        self._progress = progress
        self._round = 0
        self._homes = _spread(self._alive(), len(labels))
        given = zip(self._computed(partitions.items), self._computed(labels), strict=True)
        self._parts: list[Future] = [
            self._submit(f"read-{i}", self._homes[i], True, workers.read, X, y)
            for i, (X, y) in enumerate(given)
        ]
        self._places: list[Place] = []
        self._layout: Any = None
        self._shipped: Future | None = None

    def _computed(self, items: Sequence[Any]) -> list[Any]:
        """Delayed partitions on their way to the workers."""
        return [
            self._client.compute(item, workers=[home], allow_other_workers=True)
            if isinstance(item, Delayed)
            else item
            for item, home in zip(items, self._homes, strict=True)
        ]

    def survey(self, model: Any) -> Any:
        """What all partitions tell of their words."""
        shipped = self._client.scatter(model, hash=False, broadcast=True)
        surveys = [
            self._submit(f"survey-{index}", home, True, workers.survey, shipped, part)
            for index, (part, home) in enumerate(zip(self._parts, self._homes, strict=True))
        ]
        found = self._summed("merge", surveys, workers.merge).result()
        sizes = self._client.gather(
            [self._client.submit(workers.size, part) for part in self._parts]
        )
        kept = [index for index, number in enumerate(sizes) if number]
        self._parts = [self._parts[index] for index in kept]
        self._homes = [self._homes[index] for index in kept]
        self._places = places_of([sizes[index] for index in kept])
        return found

    def make(self, layout: Any) -> list[Facts]:
        """Make the shards under a layout."""
        self._layout = layout
        answers = self._answers(("facts",), total=False)
        return [answer.found for answer in answers]

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every shard, and add up what they return in their order."""
        (answer,) = self._answers((name, *arguments), total=True)
        self._progress.round(name, answer)
        return answer.found

    def close(self) -> None:
        """Drop the shards, wherever they are."""
        self._client.run(workers.forget, self._fit, on_error="ignore")
        self._parts = []

    def _answers(self, question: tuple, total: bool) -> list[workers.Answer]:
        """What shards answer, summed or one by one; asked again where workers die."""
        for _ in range(_MOST_ATTEMPTS):
            try:
                return self._asked_once(question, total)
            except (_Lost, CancelledError):
                self._shipped = None
                self._homes = _moved(self._homes, self._alive())
        raise WorkersLost(f"workers were lost {_MOST_ATTEMPTS} times in one round: see their logs")

    def _asked_once(self, question: tuple, total: bool) -> list[workers.Answer]:
        self._round += 1
        if self._shipped is None:
            self._shipped = self._client.scatter(self._layout, hash=False, broadcast=True)
        asked = self._client.scatter([question], hash=False, broadcast=True)[0]
        answers = [
            self._submit(
                f"{question[0]}-{self._round}-{place.number}",
                home,
                False,
                *(workers.ask, self._shipped, part, place, self._fit, asked),
            )
            for part, place, home in zip(self._parts, self._places, self._homes, strict=True)
        ]
        wanted = [self._summed(f"add-{self._round}", answers, workers.add)] if total else answers
        while wait_some(wanted):
            alive = set(self._alive())
            if not alive.issuperset(self._homes):
                raise _Lost
        return self._client.gather(wanted)

    def _summed(self, name: str, found: list[Future], add: Any) -> Future:
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

    def _submit(self, name: str, home: str | None, is_free: bool, call: Any, *rest: Any) -> Future:
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
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        if not found:
            self._client.wait_for_workers(1)
            found = self._client.scheduler_info(n_workers=-1)["workers"]
        return sorted(found, key=lambda address: (str(found[address]["name"]), address))


class _Lost(Exception):
    """A worker with shards has died."""


def wait_some(futures: list[Future]) -> bool:
    """Wait a little; whether some are still not done."""
    try:
        wait(futures, timeout=_LOOK)
    except TimeoutError:
        return True
    return False


def _spread(alive: list[str], n_parts: int) -> list[str]:
    """A worker for each part: neighbours together, as many for each."""
    return [alive[index * len(alive) // n_parts] for index in range(n_parts)]


def _moved(homes: list[str], alive: list[str]) -> list[str]:
    """The workers of now, each dead one replaced by the one with the fewest parts."""
    held = {address: homes.count(address) for address in alive}
    moved = []
    for home in homes:
        if home not in held:
            home = min(alive, key=lambda address: (held[address], address))
            held[home] += 1
        moved.append(home)
    return moved
