"""Chains whose observations are numbers."""
