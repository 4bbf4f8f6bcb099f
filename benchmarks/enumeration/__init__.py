"""Corpora small enough to enumerate, and exact answers about them: for experiments and tests."""
