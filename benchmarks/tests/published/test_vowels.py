"""Japanese Vowels: how settings are chosen, what the tables say, and a small run."""

import re

import numpy as np
import pytest

from benchmarks.published import vowels
from benchmarks.published.tables import as_text
from sklearn_cvb.datasets import fetch_japanese_vowels


def results_of(selection, test):
    return {
        name: {"cells": [{"cell": list(cell), "accuracy": values} for cell, values in part.items()]}
        for name, part in (("selection", selection), ("test", test))
    }


CELLS = {("EM", "diag", 3): [0.9, 0.8], ("EM", "full", 3): [0.95, 0.93], ("VB", "diag", 3): [1.0]}
RESULTS = results_of(
    CELLS | {("EM", "full", 5): [0.94, 0.94], ("VB", "diag", 5): [0.9]},
    CELLS | {("EM", "full", 5): [None, 0.5], ("VB", "diag", 5): [None]},
)


def test_settings_are_chosen_without_the_test_sequences():
    """The best mean among the training sequences; of equals the one with fewer states."""
    assert vowels.chosen(RESULTS) == {"EM": ("EM", "full", 3), "VB": ("VB", "diag", 3)}
    failing = results_of({("EM", "full", 3): [1.0, None], ("EM", "diag", 3): [0.6, 0.6]}, CELLS)
    assert vowels.chosen(failing) == {"EM": ("EM", "diag", 3)}


def test_tables_and_picture(tmp_path):
    text = as_text(vowels.tables(RESULTS))
    assert "\nEM,full,3,94.0 (1.4),94.0 (1.4)\n" in text
    assert "50.0, 1 fail" in text
    assert re.search(r"(?m),fails(,|$)", text)
    vowels.draw(RESULTS, tmp_path)
    assert (tmp_path / "vowels_accuracy.png").stat().st_size > 5000


def test_few_speakers_are_told_apart(data_folder):
    data = fetch_japanese_vowels(data_home=data_folder)
    few = np.isin(data.y_train, ["1", "2", "3"])
    train = vowels.some_of(data.X_train, data.y_train, np.flatnonzero(few))
    few = np.flatnonzero(np.isin(data.y_test, ["1", "2", "3"]))[::4]
    test = vowels.some_of(data.X_test, data.y_test, few)
    for learner in ("EM", "VB"):
        assert vowels.accuracy(learner, "tied", 3, 0, train, test) > 0.97


def test_the_peer_is_scored_alike(data_folder):
    pytest.importorskip("hmmlearn")
    data = fetch_japanese_vowels(data_home=data_folder)
    few = np.flatnonzero(np.isin(data.y_train, ["1", "2"]))
    part = vowels.some_of(data.X_train, data.y_train, few)
    assert vowels.accuracy(vowels.PEER, "diag", 2, 0, part, part) > 0.95
