"""Weights or their logs: what recursions over trees add and multiply, by the type of `logs`.

Each recursion stands once. Where its argument `logs` is None it computes with weights; where it is
not, with logs, for sentences whose weights leave float64. Numba decides by the type of the argument
and compiles one of both, when it is needed.
"""

import math

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.jit import jit_token


@jit_token
def zero(logs):
    """What is added without effect."""
    return 0.0 if logs is None else -math.inf


@jit_token
def element(weight, logs):
    """A weight, or its log."""
    return weight if logs is None else math.log(weight)


@jit_token
def weight_of(value, logs):
    """The weight that an element stands for."""
    return value if logs is None else math.exp(value)


@jit_token
def plus(a, b, logs):
    """The sum of two weights."""
    return a + b if logs is None else log_add(a, b)


@jit_token
def times(a, b, logs):
    """The product of two weights."""
    return a * b if logs is None else a + b


@jit_token
def quotient(a, b, logs):
    """A weight divided by another."""
    return a / b if logs is None else a - b


@jit_token
def part_of(value, whole, logs):
    """A weight, or in logs its share in the whole, to be taken from a random level."""
    return value if logs is None else math.exp(value - whole)
