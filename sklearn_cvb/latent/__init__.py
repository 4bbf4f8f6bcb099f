"""Treebank grammars with latent annotations, learned by EM, VB and CVB."""
