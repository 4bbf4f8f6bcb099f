"""Where data are: in memory, on the disk, or on the workers of Dask."""

import os
from typing import Any

import numpy as np

# Arrow data of more bytes are never made Python's own objects.
_LONG_COLUMN = 10_000_000


def is_store(X: Any) -> bool:
    """Whether X is a corpus on disk (`sklearn_cvb.store.CorpusStore`)."""
    return getattr(type(X), "is_on_disk", False)


def place_of(X: Any) -> str:
    """Where X is: in "memory", in a "store", else on the "disk", or on the "workers" of Dask.

    `fit` takes a batch at a time of what is on the disk: a store, paths, what a function gives, a
    long Arrow column. A bag of Dask can be read like a list, and would then be computed here.
    """
    if isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], list | np.ndarray):
        # As most are: neither a partition nor a path.
        return "memory"
    if is_dask(X):
        return "workers"
    if is_store(X):
        return "store"
    if isinstance(X, os.PathLike):
        return "disk"
    if isinstance(X, list | tuple):
        return "disk" if len(X) > 0 and all(isinstance(i, os.PathLike) for i in X) else "memory"
    if type(X).__module__.split(".")[0] == "pyarrow":
        return "disk" if getattr(X, "nbytes", 0) > _LONG_COLUMN else "memory"
    return "disk" if callable(X) and not hasattr(X, "__len__") else "memory"


def is_dask(X: Any) -> bool:
    """Whether X lies in partitions of Dask: a bag, a column, a frame, or a list of delayed ones."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(map(_is_of_dask, X))
    return _is_of_dask(X)


def _is_of_dask(value: Any) -> bool:
    module, _, rest = type(value).__module__.partition(".")
    return module in ("dask", "dask_expr", "distributed") and not rest.startswith("array")


def refuse_weights(sample_weight: Any) -> None:
    """Raise ValueError where sequences that are elsewhere have weights."""
    if sample_weight is not None:
        raise ValueError("sample_weight is for sequences in memory: these are read part by part")
