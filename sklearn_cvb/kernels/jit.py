"""The one place that says how numba compiles: without the GIL, IEEE results, cached on disk.

Compilation is most of a first fit. What costs is, in this order: functions with machine code of
their own, arguments (each field of a NamedTuple is one), levels of calls (numba compiles a callee
anew in every caller), and code that the data never run. So a kernel that Python calls (`jit`) has
few levels below it: what is done per sequence is called (`jit_called`), what is done per token is
copied into the caller (`jit_inline`), and what only some data need is a kernel of its own. A number
that is passed on begins as ``np.int64(0)``: for 0 alone a function would be compiled once more.
"""

import functools
import gc
import os
import pickle
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself
    fcntl = None

# No function is handed to C code, and those that only kernels call need no wrapper for Python: the
# wrappers would be a sixth of what is compiled.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Counting references to every array costs more than the work on a token: kernels that allocate
# nothing do without.
_BORROWED = {"_nrt": False}

# What is raised where compiled code on disk was truncated.
_DAMAGED = EOFError, pickle.UnpicklingError, ValueError, IndexError, KeyError, TypeError
# What another version has left may name types that are elsewhere now.
_GONE = AttributeError, ImportError

# What compiles a function, whose types numba finds out.
Decorator = Callable[[Callable[..., Any]], Any]


class _GarbageCollectionPause(event.Listener):
    """Keeps Python from looking for garbage while a function of this package is compiled.

    Numba makes millions of objects that live until the end: to go through them again and again
    would take a tenth of a first fit. Only one thread compiles at a time.
    """

    def __init__(self) -> None:
        self._depth, self._collects = 0, False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if self._depth or module.partition(".")[0] == __name__.partition(".")[0]:
            if self._depth == 0:
                self._collects = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, event: event.Event) -> None:
        if self._depth:
            self._depth -= 1
            if self._depth == 0 and self._collects:
                gc.enable()


event.register("numba:compile", _GarbageCollectionPause())


def kept_on_disk(**options: Any) -> Decorator:
    """A decorator that compiles, and keeps the result on disk where a folder can be written.

    Numba raises RuntimeError at the decorated function where it finds no such folder. Without one
    everything works and is compiled anew in every process; a warning says so, once.
    """
    keep, lose = numba.njit(cache=True, **options), numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = keep(function)
        except RuntimeError:
            kernel = lose(function)  # raises again if the folder was not the reason
            _warn_of_no_folder()
            return kernel
        # Numba compiles anew where the function's own file has changed. What it calls is compiled
        # into it: after an upgrade that changes another file alone it would run the old code. An
        # index of another version is not unpickled, either: it may name what is gone. (No interface
        # of numba's says this; with NUMBA_DISABLE_JIT there is no index.)
        index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if index is not None:
            index._version = f"{index._version}, kernels {_checksum_of_kernels()}"
            for name in ("_load_index", "_load_data"):
                setattr(index, name, _passing_over_damage(getattr(index, name), kernel))
            kernel.compile = _after_one_another(kernel.compile, f"{index._index_path}.lock")
        return kernel

    return decorate


# Seconds that a process waits for another one to compile a kernel; then it does so itself.
_LONGEST_WAIT = 60.0


def _after_one_another(compile_or_load: Callable[..., Any], path: str) -> Callable[..., Any]:
    """A function of numba's that compiles a kernel, of which processes wait for one another.

    Workers that start together would all compile what the first of them leaves on disk.
    """

    def compiled(*arguments: Any) -> Any:
        # Threads have a lock of numba's: who asks for it second holds nothing that another needs.
        with global_compiler_lock, _lock(path):
            return compile_or_load(*arguments)

    return compiled


@contextmanager
def _lock(path: str) -> Iterator[None]:
    """A lock among processes, which goes with its holder; none where there can be none."""
    try:
        if fcntl is None:
            raise OSError
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        yield
        return
    begin = time.monotonic()
    try:
        while not _takes(file, fcntl.LOCK_EX) and time.monotonic() - begin < _LONGEST_WAIT:
            time.sleep(0.01)
        yield
    finally:
        # A process that was forked meanwhile would keep what is only closed here.
        _takes(file, fcntl.LOCK_UN)
        os.close(file)


def _takes(file: int, lock: int) -> bool:
    """Whether a lock can be had now, or there are none on this disk."""
    try:
        fcntl.flock(file, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _passing_over_damage(load: Callable[..., Any], kernel: Any) -> Callable[..., Any]:
    """A function of numba's that reads compiled code, which takes what is damaged for nothing.

    What is compiled then is written in its place.
    """

    def loaded(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except (*_DAMAGED, *_GONE) as error:
            if not isinstance(error, _GONE):
                _warn_of_damage(kernel.stats.cache_path)
            if arguments:
                # Numba compiles where there is no file of machine code.
                raise FileNotFoundError(f"damaged: {error}") from None
            return {}

    return loaded


@functools.cache
def _checksum_of_kernels() -> int:
    """A checksum of the source of all kernels."""
    total = 0
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        total = zlib.crc32(file.read_bytes(), total)
    return total


@functools.cache
def _warn_of_no_folder() -> None:
    warnings.warn(
        "no folder for compiled code can be written: every new process compiles again, for "
        "seconds; name a folder in the environment variable NUMBA_CACHE_DIR",
        RuntimeWarning,
        stacklevel=2,
    )


# Fused multiply-add rounds once instead of twice: the same result in every run.
_FUSED = {"contract"}


@functools.cache
def _warn_of_damage(folder: str) -> None:
    warnings.warn(
        f"compiled code in {folder} is damaged, as by a full disk, and is compiled again: delete "
        "that folder if this is said once more",
        RuntimeWarning,
        stacklevel=2,
    )


# Kernels that Python calls.
jit: Decorator = kept_on_disk(fastmath=_FUSED, **_OPTIONS, **_BORROWED)

# Called by kernels alone, once per sequence or less: passing arrays costs more than a token's work.
jit_called: Decorator = numba.njit(
    fastmath=_FUSED, no_cpython_wrapper=True, **_OPTIONS, **_BORROWED
)

# Copied into the caller before types are known: nothing is compiled for itself. Such a function has
# one return, at its end, and leaves its arguments' names alone.
jit_inline: Decorator = numba.njit(fastmath=_FUSED, inline="always", **_OPTIONS, **_BORROWED)

# The same on the level of machine code, for functions whose rules of rounding are their own or
# that are used in many places of a caller.
_INNER = {"no_cpython_wrapper": True, "forceinline": True}
jit_token: Decorator = numba.njit(fastmath=_FUSED, **_INNER, **_OPTIONS, **_BORROWED)

# Sums that may be split over vector lanes, in an order fixed at compile time.
jit_token_reduction: Decorator = numba.njit(
    fastmath={"contract", "reassoc"}, **_INNER, **_OPTIONS, **_BORROWED
)


@intrinsic
def opaque(typing: Any, n: Any) -> Any:
    """n, which the compiler cannot foresee: for loops of few turns, ``while j < opaque(n)``.

    It unrolls and vectorises ``for j in range(n)``, and then the ways in and out cost more than
    the loop.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[0].type, [arguments[0].type])
        return builder.call(ir.InlineAsm(kind, "", "=r,0", side_effect=True), arguments)

    return n(n), write
