"""Dynamic programs, compiled by numba: arrays in, arrays out."""
