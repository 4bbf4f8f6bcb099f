"""Beyond one process and its memory: stores on disk, and workers of Dask. Above the line."""
