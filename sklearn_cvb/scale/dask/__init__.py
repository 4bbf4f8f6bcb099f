"""Fits and predictions on the workers of Dask, of corpora larger than one machine's memory."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "fits on partitions of Dask need dask and distributed: "
        'python -m pip install ".[dask]" in a checkout of sklearn_cvb'
    ) from error
