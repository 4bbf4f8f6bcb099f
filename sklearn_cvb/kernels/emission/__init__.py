"""Kernels of emissions: log densities of numbers by state, and the sums that states learn from."""
