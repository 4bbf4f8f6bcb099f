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
    DistributedCVBPCFG,
    DistributedEMHMM,
    DistributedEMHMMTagger,
    DistributedEMPCFG,
    DistributedVBHMM,
    DistributedVBHMMTagger,
    DistributedVBPCFG,
)

__all__ = [
    "DistributedCVBHMM",
    "DistributedCVBHMMTagger",
    "DistributedCVBPCFG",
    "DistributedEMHMM",
    "DistributedEMHMMTagger",
    "DistributedEMPCFG",
    "DistributedVBHMM",
    "DistributedVBHMMTagger",
    "DistributedVBPCFG",
]
