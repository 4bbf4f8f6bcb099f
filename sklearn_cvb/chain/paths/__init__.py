"""Lattices of allowed states, topologies of transitions, and known states of tokens."""
