"""Grammars whose sentences are in parts."""
