"""Batch after batch, and a few units at a time: `partial_fit` and stepwise EM. Above the line."""
