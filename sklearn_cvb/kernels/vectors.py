"""Vectors of numbers (SIMD) as values in kernels: parts of rows are loaded, computed with, and put
back.

Compilers turn loops over long rows into vectors, and go through the last numbers of a row, and
through rows of a few states, one by one. Kernels that say what vectors they mean take the time of
one for eight states, and are compiled sooner: there is one loop, without remainders. The vectors
are LLVM's, which become the instructions of any processor.

A kernel loops ``for k in range(0, row.size, LANES)``, takes ``part(row, k)``, computes with
``+ - * /`` and the functions here, and writes with ``put(row, k, vector)``. Rows are C-contiguous.
What is read right after it was written is best kept in rows as wide as whole vectors
(`up_to_vectors`): where a row ends within a vector, a processor waits until it is in memory.
"""

import operator
from typing import Any, ClassVar

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

# Numbers in a vector: the longest there are, and a cache line.
LANES = 8
VECTOR: Any = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)
_WHOLE = ir.VectorType(ir.IntType(64), LANES)


def up_to_vectors(n: int) -> int:
    """A width rounded up to whole vectors."""
    return -(-max(int(n), 1) // LANES) * LANES


class _Vector(types.Type):
    """What numba knows of a vector."""

    def __init__(self) -> None:
        super().__init__(f"vector of {LANES} float64")


_vector = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    """A vector is a value in a register, as a number is."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def _define(operation: Any, instruction: str) -> None:
    """Let kernels apply an operator of Python to two vectors."""

    class Template(ConcreteTemplate):
        cases: ClassVar = [_vector(_vector, _vector)]

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)

    infer_global(operation)(Template)
    lower_builtin(operation, _vector, _vector)(write)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
    (operator.imul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_operation, _instruction)


def spread_over(builder: Any, number: Any, kind: Any = VECTOR) -> Any:
    """A vector of one number, in what an intrinsic writes."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_INDEX, 0))
    every = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, every)


class _RowPlace:
    """Where a vector lies in a row, in what an intrinsic writes."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
        row = context.make_array(kinds[0])(context, builder, arguments[0])
        self.pointer = builder.bitcast(builder.gep(row.data, [arguments[1]]), VECTOR.as_pointer())
        left = builder.sub(builder.extract_value(row.shape, 0), arguments[1])
        self.is_whole = builder.icmp_signed(">=", left, ir.Constant(left.type, LANES))
        order = ir.Constant(_WHOLE, list(range(LANES)))
        self.mask = builder.icmp_signed("<", order, spread_over(builder, left, _WHOLE))

    def call(self, builder: Any, name: str, result: Any, *others: Any) -> Any:
        """A load or store of the numbers that the row has."""
        arguments = [*others[:1], self.pointer, ir.Constant(_INDEX, 8), self.mask, *others[1:]]
        arguments = [argument for argument in arguments if argument is not None]
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        name = f"{name}.v{LANES}f64.p0"
        return builder.call(get_or_insert_function(builder.module, kind, name), arguments)


def _is_row(kind: Any) -> bool:
    """Whether a type is of rows that vectors can be taken from."""
    is_dense = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"
    return is_dense and kind.dtype == types.float64


@intrinsic
def part(typing, row, k):
    """``row[k : k + LANES]`` as a vector, with zeros beyond the end of the row."""
    if not _is_row(row):
        return None

    def write(context, builder, signature, arguments):
        place = _RowPlace(context, builder, signature.args, arguments)
        zeros = ir.Constant(VECTOR, [0.0] * LANES)
        with builder.if_else(place.is_whole) as (whole, rest):
            with whole:
                loaded, begin = builder.load(place.pointer, align=8), builder.block
            with rest:
                some = place.call(builder, "llvm.masked.load", VECTOR, None, zeros)
                other = builder.block
        found = builder.phi(VECTOR)
        found.add_incoming(loaded, begin)
        found.add_incoming(some, other)
        return found

    return _vector(row, types.int64), write


@intrinsic
def put(typing, row, k, vector):
    """Write a vector to ``row[k : k + LANES]``, as far as the row goes."""
    if not _is_row(row):
        return None

    def write(context, builder, signature, arguments):
        place = _RowPlace(context, builder, signature.args, arguments)
        with builder.if_else(place.is_whole) as (whole, rest):
            with whole:
                builder.store(arguments[2], place.pointer, align=8)
            with rest:
                place.call(builder, "llvm.masked.store", ir.VoidType(), arguments[2])
        return context.get_dummy_value()

    return types.void(row, types.int64, _vector), write


@intrinsic
def spread(typing, number):
    """A vector of one number."""

    def write(context, builder, signature, arguments):
        return spread_over(builder, arguments[0])

    return _vector(types.float64), write


@intrinsic
def sum_of(typing, vector):
    """The sum of a vector's numbers, its halves added up first."""

    def write(context, builder, signature, arguments):
        rest, n = arguments[0], LANES
        while n > 1:
            n //= 2
            low, high = (
                builder.shuffle_vector(
                    rest, rest, ir.Constant(ir.VectorType(_INDEX, n), list(range(begin, begin + n)))
                )
                for begin in (0, n)
            )
            rest = builder.fadd(low, high)
        return builder.extract_element(rest, ir.Constant(_INDEX, 0))

    return types.float64(_vector), write


@intrinsic
def root_of(typing, vector):
    """Square roots."""

    def write(context, builder, signature, arguments):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        root = get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(root, arguments)

    return _vector(_vector), write


@intrinsic
def where_below(typing, left, right, first, second):
    """Numbers of `first` where `left` is below `right`, else those of `second`."""

    def write(context, builder, signature, arguments):
        is_below = builder.fcmp_ordered("<", *arguments[:2])
        return builder.select(is_below, *arguments[2:])

    return _vector(_vector, _vector, _vector, _vector), write
