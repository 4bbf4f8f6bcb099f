"""When a fit is done: both rules, what counts as the same label, and a small run."""

import numpy as np
import pytest
from nltk import Tree

from benchmarks.published import convergence
from benchmarks.published.convergence import agreement, stop_by_objective


def test_an_objective_stands_still_at_its_first_small_change_and_a_monitor_at_the_second():
    total = [-500.0, -450.0, -449.9, -449.8999, -449.0, -449.0]
    assert stop_by_objective(total, 10, "VBHMMTagger", "tagger") == 4
    assert stop_by_objective(total, 10, "VBHMM", "casino") == 6
    monitor = [-5.0, -4.00001, -4.0, -3.0, -3.00001, -3.00002]
    assert stop_by_objective(monitor, 10, "CVBHMMTagger", "tagger") == 6
    assert stop_by_objective(monitor[:5], 10, "CVBHMMTagger", "tagger") == 5


def test_labels_are_compared_token_by_token_and_trees_by_their_rules():
    assert agreement([np.array([1, 2, 3, 4])], [np.array([1, 2, 4, 3])]) == 0.5
    one, other = "(S (S a) (S (S a) (S a)))", "(S (S (S a) (S a)) (S a))"
    assert agreement([Tree.fromstring(one)], [Tree.fromstring(other)]) == 1.0
    other = "(S (S (S a) (S b)) (S a))"
    assert agreement([Tree.fromstring(one)], [Tree.fromstring(other)]) == pytest.approx(4 / 5)


def test_tables_count_the_fits_that_hold():
    fits = [(30, True, 1.0, 0.9), (50, True, 0.99, 1.0), (80, False, None, 1.0)]
    cells = [
        {
            "kind": "casino",
            "algorithm": "VB",
            "counts": n,
            "converged": converged,
            "objective": 10,
            "agree": agree,
            "agree_usual": usual,
        }
        for n, converged, agree, usual in fits
    ]
    first, last = convergence.tables({"casino": {"cells": cells}})["rules"].rows
    assert first == ["casino", "VB", "10", "2 of 3", "50", "2 of 3", "1 of 2"]
    assert last[2:] == first[2:]


def test_small_run(quick):
    cells = convergence.PARTS["dependencies"](quick)["cells"]
    assert [cell["algorithm"] for cell in cells] == ["EM", "VB", "CVB"]
    assert all(cell["counts"] <= 20 for cell in cells)
    assert all(0.8 < cell["agree_usual"] <= 1 for cell in cells)
