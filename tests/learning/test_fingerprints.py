"""Digests: the same for the same in every process, and another for what differs."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.learning.fingerprints import are_same, digest_of, repr_or_digest

# Pairs that differ, and hardly.
DIFFERENT = [
    (1, 1.0),
    ("1", 1),
    (["a", "b"], ["ab"]),
    ((1, 2), [1, 2]),
    ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    ({"a", "b"}, {"a", "c"}),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array(["a", None], object), np.array(["a", "None"], object)),
    (EMHMM(2), EMHMM(3)),
    (Gaussian("diag"), Gaussian("full")),
    (None, 0),
]
SCRIPT = """
import nltk
from sklearn_cvb import EMHMM, Symbols
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.learning.fingerprints import digest_of
words = {f"word {n}" for n in range(50)}
grammar = nltk.CFG.fromstring("S -> A S | 'a'\\nA -> 'b'")
model = EMHMM(emission=Symbols(words), random_state=0)
print(digest_of([words, {"a": words}, frozenset(words), Gaussian("diag"), grammar, model]))
"""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_digest(one, other):
    assert digest_of(one) != digest_of(other)
    assert repr_or_digest(one) != repr_or_digest(other)
    assert digest_of(one) == digest_of(one)


@pytest.mark.process
def test_digests_do_not_depend_on_the_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("\\\\n", "\\n")],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == 32


def test_layout_in_memory_and_objects_that_hold_themselves_are_of_no_matter():
    table = np.arange(6.0).reshape(2, 3)
    assert digest_of(table) == digest_of(np.asfortranarray(table)) == digest_of(table[:, :])
    one, other = EMHMM(), EMHMM()
    one.me, other.me = one, other
    assert digest_of(one) == digest_of(other)


def test_values_are_shown_in_full_where_they_are_short():
    assert repr_or_digest(np.float64(0.5)) == "0.5"
    assert repr_or_digest((1.0, None)) == "(1.0, None)"
    assert repr_or_digest("x" * 100) == f"str {digest_of('x' * 100)}"


def test_arrays_and_tuples_are_compared():
    table = np.arange(3)
    assert are_same((table, None, (1, table.copy())), (table.copy(), None, (1, table)))
    for other in ((table + 1, None), (None, None), (table, table), (table,), [table, None]):
        assert not are_same((table, None), other)
