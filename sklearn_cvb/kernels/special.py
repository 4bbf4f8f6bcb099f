"""Special functions of whole tables, in vectors: digamma, and exp and log by the bits of numbers.

What is the same arithmetic for all numbers is done a block at a time, as polynomials that compilers
turn into vectors, to 1 ulp or so: libraries' scalar functions would take longer than forward and
backward together.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token

# Numbers whose bits stay in the nearest cache are done so many at a time.
_BLOCK = 512
# log 2 in two parts, the first of which has few digits: multiples of it are exact.
_LOG_2_HIGH, _LOG_2_LOW = 0.693145751953125, 1.42860682030941723212e-6
_FACTORIALS = tuple(1.0 / math.factorial(n) for n in range(14))
_F = _FACTORIALS


@jit_token
def digamma(x):
    """digamma(x) for x > 0: a series for 7 and more (Abramowitz 6.3.18), which smaller x reach.

    digamma(x + 7) is digamma(x) and the sum of 1 / (x + i) for i below 7.
    """
    product, numerator = x, 1.0
    for i in range(1, 7):
        numerator = numerator * (x + i) + product
        product *= x + i
    small = x < 7.0
    raised, fraction = x + 7.0 if small else x, numerator / product if small else 0.0
    inverse = 1.0 / raised
    square = inverse * inverse
    series = 1.0 / 252.0 - square * (1.0 / 240.0 - square * (1.0 / 132.0 - square * 691 / 32760))
    series = 1.0 / 12.0 - square * (1.0 / 120.0 - square * series)
    return math.log(raised) - (0.5 * inverse + square * series) - fraction


# exp and log


def bit_buffer(size: int = _BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """A buffer for the bits of numbers: as integers, and the same memory as numbers."""
    bits = np.empty(size, np.int64)
    return bits, bits.view(np.float64)


@jit_inline
def exp_of_block(part, bits, power):
    """Exponentials of numbers up to 700, in place; two views of a buffer with a place for each."""
    for i in range(part.size):
        x = max(part[i], -800.0)
        whole = math.floor(x * 1.4426950408889634 + 0.5)
        r = (x - whole * _LOG_2_HIGH) - whole * _LOG_2_LOW
        high = ((_F[13] * r + _F[12]) * r + _F[11]) * r + _F[10]
        high = ((high * r + _F[9]) * r + _F[8]) * r + _F[7]
        high = ((high * r + _F[6]) * r + _F[5]) * r + _F[4]
        part[i] = (((high * r + _F[3]) * r + _F[2]) * r + 1.0) * r + 1.0
        exponent = np.int64(whole) + 1023
        bits[i] = exponent << 52 if exponent > 0 else 0
    for i in range(part.size):
        part[i] *= power[i]


@jit
def to_weights(logs, largest, room):
    """Log weights (n_steps, K) to weights, in place, the largest of each step 1.

    `largest` (n_steps,) receives what was taken off the logs of each step: 0 where all are -inf. A
    weight below e**-708 of the largest becomes 0. `room` is that of `bit_buffer`.
    """
    bits, power = room
    n_steps, n_states = logs.shape
    for t in range(n_steps):
        row, most = logs[t], -math.inf
        for k in range(n_states):
            most = max(most, row[k])
        if most == -math.inf:
            most = 0.0
        largest[t] = most
        for k in range(n_states):
            row[k] -= most
    flat = logs.reshape(n_steps * n_states)
    for begin in range(0, flat.size, bits.size):
        part = flat[begin : begin + bits.size]
        exp_of_block(part, bits, power)


@jit_inline
def log_of_block(part, bits, mantissas):
    """Logs of positive numbers from 1 on, in place; two views of a buffer with a place for each."""
    for i in range(part.size):
        mantissas[i] = part[i]
    for i in range(part.size):
        # Mantissas from sqrt(1/2) to sqrt(2), so that log near 1 keeps its digits.
        exponent = (bits[i] - 0x3FE6A09E667F3BCD) >> 52
        bits[i] -= exponent << 52
        part[i] = exponent
    for i in range(part.size):
        s = (mantissas[i] - 1.0) / (mantissas[i] + 1.0)
        z = s * s
        series = (z / 21.0 + 1.0 / 19.0) * z + 1.0 / 17.0
        series = ((series * z + 1.0 / 15.0) * z + 1.0 / 13.0) * z + 1.0 / 11.0
        series = ((series * z + 1.0 / 9.0) * z + 1.0 / 7.0) * z + 1.0 / 5.0
        series = (series * z + 1.0 / 3.0) * z
        low = 2.0 * s * series + part[i] * _LOG_2_LOW
        part[i] = part[i] * _LOG_2_HIGH + (2.0 * s + low)


@jit
def log_of(values, room):
    """Logs of positive numbers from 1 on (n,), in place; `room` is that of `bit_buffer`."""
    bits, mantissas = room
    for begin in range(0, values.size, bits.size):
        log_of_block(values[begin : begin + bits.size], bits, mantissas)
