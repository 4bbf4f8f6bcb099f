"""Chains of numbers whose series are in parts, or on disk."""
