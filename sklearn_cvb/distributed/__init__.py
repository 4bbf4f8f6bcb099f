"""Estimators that learn on the workers of Dask, from corpora larger than one machine's memory."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        'sklearn_cvb.distributed needs Dask: python -m pip install "sklearn_cvb[dask]"'
    ) from error

from sklearn_cvb.distributed.estimators import (
    DistributedCVBHMM,
    DistributedCVBHMMTagger,
    DistributedEMHMM,
    DistributedEMHMMTagger,
    DistributedVBHMM,
    DistributedVBHMMTagger,
)

__all__ = [
    "DistributedCVBHMM",
    "DistributedCVBHMMTagger",
    "DistributedEMHMM",
    "DistributedEMHMMTagger",
    "DistributedVBHMM",
    "DistributedVBHMMTagger",
]
