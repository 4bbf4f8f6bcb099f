"""Products of tables tens of columns wide, in LLVM: tiles of the result, whose sums stay in
registers.

BLAS is made for large matrices. A tile whose sums stay in registers while all terms are added is
two to three times as fast on small ones. Compilers do not find that form by themselves, so it is
written in vectors of LLVM, which become the instructions of any processor.

All tables are C-contiguous, their widths multiples of `LANES`. Rows are taken `ROWS` at a time.
"""

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.vectors import LANES, VECTOR, spread_over

ROWS = 8

# How many sums fit in the registers: 32 of eight numbers, or fewer, or shorter ones.
_LONG_REGISTERS = llvmlite.binding.get_host_cpu_features().get("avx512f", False)
_TILE_ROWS, _TILE_VECTORS = (8, 2) if _LONG_REGISTERS else (4, 1)
_TILE_WIDTH = _TILE_VECTORS * LANES
# So many rows of one tile stay in the cache.
_CACHED_ROWS = 128

_FUSED = ("contract",)
_INTEGER = ir.IntType(64)


def aligned(*shape):
    """A table of zeros that begins at a cache line."""
    size = 8 * int(np.prod(shape))
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(np.float64).reshape(shape)


def _integer(value):
    return ir.Constant(_INTEGER, value)


def _place(builder, pointer, offset):
    """Address of the vector at an offset."""
    return builder.bitcast(builder.gep(pointer, [offset]), VECTOR.as_pointer())


def _add_terms(builder, sums, left, table, strides, step, width):
    """sums[i, j] + left[i, step] table[step, j], for the rows i and vectors j of a tile."""
    row_stride, step_stride = strides
    terms = {}
    for i, j in sums:
        if j == 0:
            at = builder.add(builder.mul(_integer(i), row_stride), builder.mul(step, step_stride))
            factor = spread_over(builder, builder.load(builder.gep(left, [at])))
        at = builder.add(builder.mul(step, width), _integer(j * LANES))
        row = builder.load(_place(builder, table, at), align=8)
        product = builder.fmul(factor, row, flags=_FUSED)
        terms[i, j] = builder.fadd(sums[i, j], product, flags=_FUSED)
    return terms


def _write_tile(builder, pointers, strides, width, n_steps, n_vectors, add):
    """The loop over steps, then the stores.

    The pointers say where the tile begins in the left table, the right one and the result.
    """
    left, table, result = pointers
    cells = [(i, j) for i in range(_TILE_ROWS) for j in range(n_vectors)]
    places = [
        _place(builder, result, builder.add(builder.mul(_integer(i), width), _integer(j * LANES)))
        for i, j in cells
    ]
    zero = ir.Constant(VECTOR, [0.0] * LANES)
    begin = builder.block
    first = [builder.load(place, align=8) if add else zero for place in places]
    loop, end = builder.append_basic_block("steps"), builder.append_basic_block("stores")
    builder.branch(loop)
    builder.position_at_end(loop)
    step = builder.phi(_INTEGER)
    sums = {cell: builder.phi(VECTOR) for cell in cells}
    terms = _add_terms(builder, sums, left, table, strides, step, width)
    following = builder.add(step, _integer(1))
    builder.cbranch(builder.icmp_signed("<", following, n_steps), loop, end)
    step.add_incoming(_integer(0), begin)
    step.add_incoming(following, loop)
    for cell, value in zip(cells, first, strict=True):
        sums[cell].add_incoming(value, begin)
        sums[cell].add_incoming(terms[cell], loop)
    builder.position_at_end(end)
    for cell, place in zip(cells, places, strict=True):
        builder.store(terms[cell], place, align=8)


def _tile(n_vectors, transposed):
    """One tile as a function for kernels, of result = left @ table or result += left.T @ table."""

    @intrinsic
    def tile(typing, left, table, result, row, column, n_steps):
        """The tile from `row` and `column` on, a sum of `n_steps` terms (at least one)."""
        whole = types.int64

        def write(context, builder, signature, arguments):
            arrays = [
                context.make_array(kind)(context, builder, argument)
                for kind, argument in zip(signature.args[:3], arguments[:3], strict=True)
            ]
            row, column, n_steps = arguments[3:]
            width = builder.extract_value(arrays[1].shape, 1)
            across = builder.mul(row, width)
            stride = builder.extract_value(arrays[0].shape, 1)
            first = row if transposed else builder.mul(row, stride)
            left = builder.gep(arrays[0].data, [first])
            table = builder.gep(arrays[1].data, [column])
            result = builder.gep(arrays[2].data, [builder.add(across, column)])
            strides = (_integer(1), stride) if transposed else (stride, _integer(1))
            pointers = left, table, result
            _write_tile(builder, pointers, strides, width, n_steps, n_vectors, add=transposed)
            return context.get_dummy_value()

        return types.void(left, table, result, whole, whole, whole), write

    return tile


_tile_of_product, _narrow_tile_of_product = _tile(_TILE_VECTORS, False), _tile(1, False)
_tile_of_outer, _narrow_tile_of_outer = _tile(_TILE_VECTORS, True), _tile(1, True)


@intrinsic
def _prefetch(typing, table, row, column):
    """Ask for the cache line of table[row, column] before it is needed."""

    def write(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.add(
            builder.mul(arguments[1], builder.extract_value(array.shape, 1)), arguments[2]
        )
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = builder.bitcast(builder.gep(array.data, [at]), byte)
        builder.call(hint, [place, *(ir.Constant(flag, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64), write


@jit_token
def prefetch(table, row):
    """Ask for a row of a large table before it is needed."""
    for column in range(0, table.shape[1], LANES):
        _prefetch(table, row, column)


@jit
def multiply(left, table, n_rows, n_terms, result):
    """result = left @ table for the first rows, with the first `n_terms` terms of each sum.

    Up to ROWS - 1 more rows than `n_rows` are read and written.
    """
    width = table.shape[1]
    whole = width - width % _TILE_WIDTH
    for column in range(0, whole, _TILE_WIDTH):
        for row in range(0, n_rows, _TILE_ROWS):
            _tile_of_product(left, table, result, row, column, n_terms)
    for column in range(whole, width, LANES):
        for row in range(0, n_rows, _TILE_ROWS):
            _narrow_tile_of_product(left, table, result, row, column, n_terms)


@jit
def add_outer_products(left, right, n_rows, total):
    """total += left[:n_rows].T @ right[:n_rows]."""
    n_sums, width = total.shape
    whole = width - width % _TILE_WIDTH
    for begin in range(0, n_rows, _CACHED_ROWS):
        end = min(begin + _CACHED_ROWS, n_rows)
        some_left, some_right = left[begin:end], right[begin:end]
        for column in range(0, whole, _TILE_WIDTH):
            for row in range(0, n_sums, _TILE_ROWS):
                _tile_of_outer(some_left, some_right, total, row, column, end - begin)
        for column in range(whole, width, LANES):
            for row in range(0, n_sums, _TILE_ROWS):
                _narrow_tile_of_outer(some_left, some_right, total, row, column, end - begin)
