"""Chains of symbols whose sequences are in parts, or on disk."""
