"""The one place that says how numba compiles: without the GIL, IEEE results, cached on disk.

Passing arrays to a function costs numba more than the work on one token. So what is done per token
(`jit_token`) is compiled into its callers; what is done per sequence (`jit`) is called, and cached.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

_OPTIONS = {"nogil": True, "error_model": "numpy"}

# Counting references to every array is as expensive: kernels that allocate nothing do without.
_BORROWED = {"_nrt": False}


def kept_on_disk(**options: Any) -> Callable[[Callable], Any]:
    """A decorator that compiles, and keeps the result on disk where a folder can be written.

    Numba raises RuntimeError at the decorated function where it finds no such folder. Without one
    everything works and is compiled anew in every process; a warning says so, once.
    """
    keep, lose = numba.njit(cache=True, **options), numba.njit(**options)

    def decorate(function: Callable) -> Any:
        try:
            return keep(function)
        except RuntimeError:
            kernel = lose(function)  # raises again if the folder was not the reason
            _warn_of_no_folder()
            return kernel

    return decorate


@functools.cache
def _warn_of_no_folder() -> None:
    warnings.warn(
        "no folder for compiled code can be written: every new process compiles again, for "
        "seconds; name a folder in the environment variable NUMBA_CACHE_DIR",
        RuntimeWarning,
        stacklevel=2,
    )


# Fused multiply-add rounds once instead of twice: the same result in every run.
jit = kept_on_disk(fastmath={"contract"}, **_OPTIONS, **_BORROWED)

# Per token: always inlined, and never cached (numba cannot inline what comes from the cache).
jit_token = numba.njit(fastmath={"contract"}, forceinline=True, **_OPTIONS, **_BORROWED)

# The same, with sums that may be split over vector lanes in an order fixed at compile time.
jit_token_reduction = numba.njit(
    fastmath={"contract", "reassoc"}, forceinline=True, **_OPTIONS, **_BORROWED
)

# For functions that allocate arrays.
jit_allocating = kept_on_disk(fastmath={"contract"}, **_OPTIONS)


@intrinsic
def few(typing: Any, n: Any) -> Any:
    """n, which the compiler cannot foresee: ``while j < few(n)`` for loops of two or three turns.

    It unrolls and vectorises ``for j in range(n)``, and then the ways in and out cost more than
    the loop.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[0].type, [arguments[0].type])
        return builder.call(ir.InlineAsm(kind, "", "=r,0", side_effect=True), arguments)

    return n(n), write
