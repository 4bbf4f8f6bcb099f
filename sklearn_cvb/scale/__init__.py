"""Beyond one process and its memory: checkpoints, stores, workers of Dask. Above the line."""
