"""Shared dynamic programs: numba only, arrays in, arrays out."""
