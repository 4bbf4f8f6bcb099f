"""Forwards against backwards Alice: the protocol, and the orderings of the thesis."""

import numpy as np
import pytest

from benchmarks.published import beal_alice
from benchmarks.published.settings import Settings, run_parts


@pytest.fixture(scope="module")
def results(data_folder):
    return run_parts(beal_alice.PARTS, Settings(str(data_folder), quick=True))


class Told:
    """A model that gives listed log-likelihoods."""

    def __init__(self, forwards, backwards):
        self.forwards, self.backwards = forwards, backwards

    def score_samples(self, X):
        return np.array(self.forwards if X[0][0] == "f" else self.backwards, dtype=float)


def test_sentences_told_right_are_counted_in_both_directions():
    test = [["f", "b"], ["f", "x", "b"]]
    found = beal_alice.compared(Told([-1, -2], [-5, -9]), Told([-3, -1], [-5, -4]), test)
    # Forwards: right, wrong; backwards: a tie, right.
    assert found["discrimination"] == 2.5 / 4
    assert found["log probability"] == -3 / 5
    assert found["impossible"] == 0
    never = Told([-np.inf, -1], [-np.inf, -np.inf])
    found = beal_alice.compared(never, never, test)
    assert (found["discrimination"], found["impossible"]) == (0.5, 0.75)
    assert found["log probability"] is None
    # What differs by rounding, or by the rest of a way that has one end, is a tie.
    found = beal_alice.compared(Told([-1, -2], [-3, -4]), Told([-1 - 1e-9, -2], [-3, -4]), test)
    assert found["discrimination"] == 0.5


def test_training_sentences_are_the_first_and_not_tested(data_folder):
    train, test = beal_alice.sentences(Settings(str(data_folder)), 200)
    assert len(train) == 32
    assert "".join(train[0]) == "i shall be late "
    assert all(10 <= len(sentence) <= 100 for sentence in train)
    assert len(test) == 200
    assert beal_alice.sentences(Settings(str(data_folder)), 200)[1] == test


def test_full_grid_is_that_of_the_thesis():
    cells = beal_alice.FULL.cells()
    assert [len(cells[name]) for name in ("n", "k", "u0")] == [9, 7, 4]
    assert all(beal_alice.FULL.centre in panel for panel in cells.values())


def curve(results, name, method, what="log probability"):
    return beal_alice._curve(results["strength"], name, method, what)


def test_one_state_tells_no_direction(results):
    runs = results["strength"]["panels"]["k"]["methods"]
    for method in ("MAP", "VB"):
        rates = [run["discrimination"] for run in runs[method][0]]
        np.testing.assert_allclose(rates, 0.5, atol=0.1)
    # There all algorithms know the same: the counts of characters.
    values = [curve(results, "k", method)[0] for method in ("MAP", "VB", "CVB", "Gibbs")]
    np.testing.assert_allclose(values, values[0], atol=5e-3)


def test_priors_help_and_sentences_tell_more(results):
    for method in ("MAP", "VB", "CVB", "Gibbs"):
        assert (np.diff(curve(results, "n", method)) > 0).all()
        told = curve(results, "n", method, "discrimination")
        assert told[-1] > 0.95
        assert told[-1] > curve(results, "n", "ML", "discrimination")[-1] + 0.05


def test_a_stronger_prior_costs_map_more_than_vb(results):
    strength = results["strength"]
    leads = beal_alice._lead(strength, strength, "u0", "log probability")
    assert leads[-1] > leads[0]


def test_a_prior_of_u0_in_each_cell_makes_all_transitions_alike(results):
    for method in ("MAP", "VB"):
        by_cell = beal_alice._curve(results["cell"], "k", method, "log probability")
        assert by_cell[-1] < by_cell[0]
        assert by_cell[-1] < curve(results, "k", method)[-1] - 0.1
    # Then both directions have one model.
    assert set(beal_alice._curve(results["cell"], "u0", "MAP", "discrimination")) == {0.5}


def test_figures_do_not_depend_on_the_number_of_jobs(results, data_folder):
    again = beal_alice.part("cell", Settings(str(data_folder), quick=True, n_jobs=2))
    assert again == {name: results["cell"][name] for name in again}


def test_table_and_picture(results, tmp_path):
    assert len(beal_alice.tables(results)) == 7
    beal_alice.draw(results, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "beal_alice_cell.png",
        "beal_alice_strength.png",
    ]
