"""Treebank grammars with latent annotations."""
