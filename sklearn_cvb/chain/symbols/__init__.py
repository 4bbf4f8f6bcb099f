"""Chains whose observations are symbols."""
