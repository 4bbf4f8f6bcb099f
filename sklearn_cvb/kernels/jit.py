"""The one place that says how numba compiles: without the GIL, IEEE results, cached on disk.

Passing arrays to a function costs numba more than the work on one token. So what is done per token
(`jit_token`) is compiled into its callers; what is done per sequence (`jit`) is called, and cached.
"""

import numba
from llvmlite import ir
from numba.extending import intrinsic

# No function is handed to C code, and those that only kernels call need no wrapper for Python: the
# wrappers would be a sixth of what is compiled.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = {"no_cpython_wrapper": True, "forceinline": True}

# Counting references to every array is as expensive: kernels that allocate nothing do without.
_BORROWED = {"_nrt": False}

# Fused multiply-add rounds once instead of twice: the same result in every run.
jit = numba.njit(cache=True, fastmath={"contract"}, **_OPTIONS, **_BORROWED)

# Per token: always inlined, and never cached (numba cannot inline what comes from the cache).
jit_token = numba.njit(fastmath={"contract"}, **_INNER, **_OPTIONS, **_BORROWED)

# The same, with sums that may be split over vector lanes in an order fixed at compile time.
jit_token_reduction = numba.njit(
    fastmath={"contract", "reassoc"}, **_INNER, **_OPTIONS, **_BORROWED
)

# For functions that allocate arrays.
jit_allocating = numba.njit(cache=True, fastmath={"contract"}, **_OPTIONS)


@intrinsic
def few(typing, n):
    """n, which the compiler cannot foresee: ``while j < few(n)`` for loops of two or three turns.

    It unrolls and vectorises ``for j in range(n)``, and then the ways in and out cost more than
    the loop.
    """

    def write(context, builder, signature, arguments):
        kind = ir.FunctionType(arguments[0].type, [arguments[0].type])
        return builder.call(ir.InlineAsm(kind, "", "=r,0", side_effect=True), arguments)

    return n(n), write
