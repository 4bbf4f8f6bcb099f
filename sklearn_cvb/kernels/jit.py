"""The one place that says how numba compiles: cached on disk, without the GIL, IEEE results."""

import numba

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Fused multiply-add rounds once instead of twice: the same result in every run.
jit = numba.njit(fastmath={"contract"}, **_OPTIONS)

# Sums may be split over vector lanes, in an order fixed when the kernel is compiled.
jit_reduction = numba.njit(fastmath={"contract", "reassoc"}, **_OPTIONS)
