"""Dependency model with valence: one file for each algorithm, parallel to the grammars."""
