"""Kernels of word alignment: a hidden Markov model over the positions of a source sentence."""
