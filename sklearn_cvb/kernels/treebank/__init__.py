"""Kernels of treebank grammars whose symbols have latent subtypes."""
