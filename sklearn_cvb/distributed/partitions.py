"""What sequences in partitions come in: bags, columns, delayed partitions, paths."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from dask.delayed import Delayed
from distributed import Client, Future, get_client

from sklearn_cvb.containers import shown
from sklearn_cvb.distributed.workers import sentences_of

_FORM = (
    "pass a dask bag of sequences, a dask Series of lists, or a list of delayed partitions or paths"
)


class Partitions(NamedTuple):
    """Partitions that workers can read.

    Attributes
    ----------
    items : list
        Delayed collections of sequences, or paths.
    reader : callable or None
        Gives the sequences of a path; None where items are sequences.
    kind : type
        What was given: a bag, a Series, a list.
    """

    items: list[Any]
    reader: Callable[[Any], Any] | None
    kind: str


def partitions_of(X: Any, reader: Callable[[Any], Any] | None, name: str = "X") -> Partitions:
    """The partitions of X.

    Raises
    ------
    TypeError
        If it has none.
    """
    if hasattr(X, "to_delayed"):
        kind = "bag" if hasattr(X, "map_partitions") and hasattr(X, "foldby") else "series"
        if getattr(X, "ndim", 1) > 1:
            raise TypeError(
                f"{name} is a frame with columns {list(X.columns)[:5]}: pass one of "
                'them, such as frame["words"]'
            )
        return Partitions(list(X.to_delayed()), None, kind)
    items = list(X) if isinstance(X, list | tuple) else []
    if items and all(isinstance(item, Delayed | Future) for item in items):
        return Partitions(items, None, "delayed")
    if items and all(isinstance(item, str | os.PathLike) for item in items):
        return Partitions([os.fspath(item) for item in items], reader or sentences_of, "paths")
    raise TypeError(f"{name} is {shown(X)}: {_FORM}")


def labels_of(y: Any, n_partitions: int) -> list[Any]:
    """The partitions of `y`, as many as X has; all None without `y`."""
    if y is None:
        return [None] * n_partitions
    items = list(y.to_delayed()) if hasattr(y, "to_delayed") else None
    if isinstance(y, list | tuple) and all(isinstance(item, Delayed | Future) for item in y):
        items = list(y)
    if items is None:
        raise TypeError(f"y is {shown(y)}: pass it in the partitions of X, as X is given")
    if len(items) != n_partitions:
        raise ValueError(
            f"y has {len(items)} partitions and X {n_partitions}: cut both at the same places"
        )
    return items


def client_of(client: Client | None) -> Client:
    """The client given, or the current one.

    Raises
    ------
    ValueError
        If there is none.
    """
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: make one, such as distributed.Client(), or pass it as `client`"
        ) from None
