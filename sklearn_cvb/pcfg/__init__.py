"""Probabilistic context-free grammars: EM, VB, collapsed VB, Hastings and Gibbs sampling."""
