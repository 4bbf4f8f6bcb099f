"""Numbers below 2e-308 as zeros: in kernels alone, and without a change of what is learned."""

import ast
from pathlib import Path

import numpy as np
import pytest
import restatement
from estimators import fit_sweeps, fitted_counts
from numba import config

from benchmarks.enumeration.problems import make_problem
from sklearn_cvb import kernels
from sklearn_cvb.chain.symbols import engines
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.subnormal import _HAS_WORD, subnormal_is_zero

SMALLEST = np.finfo(float).tiny
FOLDER = Path(kernels.__file__).parent
# Where a statement keeps others.
_BLOCKS = ("body", "orelse", "handlers", "finalbody")


@jit
def _scaled(values, factor, found):
    """found = factor values, with and without small numbers."""
    subnormal_is_zero(True)
    for i in range(values.size):
        found[0, i] = factor * values[i]
    subnormal_is_zero(False)
    for i in range(values.size):
        found[1, i] = factor * values[i]


def test_a_kernel_computes_with_zeros_as_long_as_it_says():
    values = np.array([3 * SMALLEST, 2 * SMALLEST, SMALLEST, 1e-320, 1.0, 0.0])
    found = np.empty((2, len(values)))
    _scaled(values, 0.5, found)
    # What is small is taken for 0, and what becomes small becomes 0.
    zeros = [1.5 * SMALLEST, SMALLEST, 0.0, 0.0, 0.5, 0.0]
    are_zeros = _HAS_WORD and not config.DISABLE_JIT
    assert found[0].tolist() == (zeros if are_zeros else (0.5 * values).tolist())
    assert found[1].tolist() == (0.5 * values).tolist()
    assert SMALLEST * 0.5 > 0.0


def _users():
    """The functions of kernels that say so, by file and name."""
    for file in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _says(node.body[1:2]) is True:
                yield pytest.param(node, id=f"{file.relative_to(FOLDER).as_posix()}, {node.name}")


def _says(statements):
    """What the last of some statements says of small numbers; None if it says nothing."""
    call = getattr(statements[-1], "value", None) if statements else None
    is_said = isinstance(call, ast.Call) and ast.unparse(call.func) == "subnormal_is_zero"
    return ast.literal_eval(call.args[0]) if is_said else None


@pytest.mark.parametrize("function", _users())
def test_whoever_returns_leaves_arithmetic_as_it_was(function):
    assert [ast.unparse(one) for one in function.decorator_list] == ["jit"]
    assert isinstance(function.body[-1], ast.Return) or _says(function.body) is False
    blocks = [getattr(node, name, None) for node in ast.walk(function) for name in _BLOCKS]
    for block in filter(lambda block: isinstance(block, list), blocks):
        for i, statement in enumerate(block):
            if isinstance(statement, ast.Return):
                assert _says(block[:i]) is False, f"line {statement.lineno}"


def test_many_functions_say_so():
    assert len(list(_users())) >= 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_em_is_the_restated_one_when_most_probabilities_are_small(one_at_a_time, monkeypatch):
    # States say symbols of their own, mostly, one after the other.
    rng = np.random.default_rng(0)
    sequences = [
        [int(rng.integers(4)) if rng.random() < 0.1 else t % 3 for t in range(40)] for _ in range(6)
    ]
    problem = make_problem(sequences, 3, 4, 0.0, 0.0)
    q = [rng.dirichlet(np.ones(3), 40) for _ in sequences]
    result = restatement.em_sweeps(problem, q, 60)
    pairs = np.concatenate([table.ravel() for table in result.xi])
    assert ((pairs > 0) & (pairs < SMALLEST)).sum() > 50
    if one_at_a_time:
        monkeypatch.setattr(engines, "_fits_side_by_side", lambda problem: False)
    fitted = fit_sweeps("em", problem, q, 60)
    np.testing.assert_allclose(fitted.history_, result.history, rtol=1e-12)
    for one, other in zip(fitted_counts(fitted), result.counts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
