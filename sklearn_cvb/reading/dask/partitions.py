"""What sequences in partitions come in: bags, columns, delayed partitions."""

from typing import Any, NamedTuple

from dask.delayed import Delayed
from distributed import Client, Future, get_client

from sklearn_cvb.reading.corpus import is_dask, shown

_FORM = "pass a dask bag of sequences, a dask Series of lists, or a list of delayed partitions"


class Partitions(NamedTuple):
    """Partitions that workers can read.

    Attributes
    ----------
    items : list
        Delayed collections of sequences, or futures of them.
    is_collection : bool
        Whether a bag or a column was given, not a list.
    """

    items: list[Any]
    is_collection: bool


def partitions_of(X: Any, name: str = "X") -> Partitions:
    """The partitions of X, which is of Dask; TypeError if it has none."""
    if isinstance(X, list | tuple) and all(isinstance(item, Delayed | Future) for item in X):
        return Partitions(list(X), False)
    if isinstance(X, Delayed):
        # It claims to have any method.
        raise TypeError(f"{name} is one delayed value: {_FORM}")
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"{name} is {shown(X)}: {_FORM}")
    if getattr(X, "ndim", 1) > 1:
        raise TypeError(
            f"{name} is a frame with columns {list(X.columns)[:5]}: pass one of "
            'them, such as frame["words"]'
        )
    return Partitions(list(X.to_delayed()), True)


def labels_of(y: Any, n_partitions: int) -> list[Any]:
    """The partitions of `y`, as many as X has; all None without `y`."""
    if y is None:
        return [None] * n_partitions
    if not is_dask(y):
        raise TypeError(f"y is {shown(y)}: pass it in the partitions of X, as X is given")
    items = partitions_of(y, "y").items
    if len(items) != n_partitions:
        raise ValueError(
            f"y has {len(items)} partitions and X {n_partitions}: cut both at the same places"
        )
    return items


def current_client() -> Client:
    """The client of now; ValueError if there is none."""
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "X is in partitions of Dask, and there is no client: make one before the fit, such as "
            "client = distributed.Client()"
        ) from None
