"""Kernels of grammars: inference over the trees of sentences, numba only."""
