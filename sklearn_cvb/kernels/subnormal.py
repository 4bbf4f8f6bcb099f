"""Numbers that float64 does not hold in full precision, those below 2e-308, as zeros.

After some sweeps of EM many probabilities are that small, and some processors take thirty times
as long over them. Kernels that compute with zeros instead lose no more than where smaller numbers
still, 5e-324, are 0 anyway: what guards against that, far above both, guards against this.
"""

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

# The bits of x86's control word by which operations take these numbers for 0, and return 0.
_ZEROS = 0x8040
_HAS_WORD = llvmlite.binding.get_default_triple().startswith("x86_64")


def _set_word(typing: Any, is_zero: Any) -> Any:
    """Set whether these numbers are zeros from here on, in this thread."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind, place = ir.FunctionType(ir.VoidType(), [byte]), builder.alloca(word)
        read, set_to = (
            builder.module.declare_intrinsic(f"llvm.x86.sse.{name}mxcsr", fnty=kind)
            for name in ("st", "ld")
        )
        builder.call(read, [builder.bitcast(place, byte)])
        others = builder.and_(builder.load(place), ir.Constant(word, ~_ZEROS))
        zeros = builder.select(arguments[0], ir.Constant(word, _ZEROS), ir.Constant(word, 0))
        builder.store(builder.or_(others, zeros), place)
        builder.call(set_to, [builder.bitcast(place, byte)])
        return context.get_dummy_value()

    return types.void(types.boolean), write


# Other processors keep them, and so does Python, with numba off, as coverage counts lines.
subnormal_is_zero: Any = intrinsic(_set_word) if _HAS_WORD and not config.DISABLE_JIT else bool
