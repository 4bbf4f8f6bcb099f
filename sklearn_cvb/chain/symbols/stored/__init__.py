"""Fits and predictions on a corpus on disk, a piece in memory at a time."""
