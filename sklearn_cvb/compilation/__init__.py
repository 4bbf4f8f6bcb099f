"""Compiling: beforehand, in all situations, and what is said where a first fit does it."""
