"""Drawn calls: a table that cannot be meant is refused or warned of, and another form is the same.

``check_wrong(i)`` and ``check_legitimate(i)`` repeat draw number i. The environment variable
SKLEARN_CVB_FUZZ_TABLES says how many of each are made.
"""

import os

import nltk
import numpy as np
import pandas as pd
import pytest
from fuzz import tables

from sklearn_cvb.certainty.intervals import CredibleIntervals

DRAWS = int(os.environ.get("SKLEARN_CVB_FUZZ_TABLES", "300"))


def check_wrong(i):
    draw, (found, told) = tables.wrong(i)
    if isinstance(found, TypeError | ValueError):
        return
    said = {text for text in told if told[text] is UserWarning}
    always = tables.right_answer(draw.subject, draw.method).told if said else {}
    assert said - set(always), f"check_wrong({i}): {draw} gives {found!r} without a word"


def check_legitimate(i):
    draw = tables.legitimate(i)
    here = f"check_legitimate({i}): {draw}, sequences {draw.rows}"
    right, always = tables.right_answer(draw.subject, draw.method)
    found, told = tables.answer(draw.subject, draw.method, draw.X)
    for one in (right, found):
        if isinstance(one, Exception):
            one.add_note(here)
            raise one
    assert not set(told) - set(always), f"{here}: {told}"
    right = plain(right)
    if draw.rows is not None and isinstance(right, list):
        right = [right[row] for row in draw.rows]
    assert equal(plain(found), right), f"{here}: {plain(found)} for {right}"


def plain(value):
    """An answer as lists of numbers and text."""
    if isinstance(value, pd.DataFrame):
        return plain(value.to_numpy())
    if isinstance(value, nltk.Tree):
        return str(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, CredibleIntervals):
        # Draws are what these are made of.
        value = value[:3]
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, dict):
        return plain(list(value.values()))
    if hasattr(value, "__dict__") and not callable(value):
        return [plain(own) for name, own in vars(value).items() if not name.startswith("_")]
    return value


def equal(found, right):
    """Whether two plain answers are the same, numbers but for rounding."""
    numbers, others = [[], []], [[], []]
    for i, value in enumerate((found, right)):
        _part(value, numbers[i], others[i])
    return others[0] == others[1] and np.allclose(*numbers, rtol=1e-10, atol=1e-12, equal_nan=True)


def _part(value, numbers, others):
    """Append all numbers of a plain answer, and all else: text, and how many values are where."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        numbers.append(value)
    elif isinstance(value, list):
        others.append(len(value))
        for own in value:
            _part(own, numbers, others)
    else:
        others.append(str(value))


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("begin", range(0, DRAWS, 20))
def test_wrong_tables_are_refused_or_warned_of(begin):
    for i in range(begin, min(begin + 20, DRAWS)):
        check_wrong(i)


@pytest.mark.long
@pytest.mark.parametrize("begin", range(0, DRAWS, 20))
def test_other_forms_give_equal_numbers_without_a_warning(begin):
    for i in range(begin, min(begin + 20, DRAWS)):
        check_legitimate(i)
