"""How many states: the chains, what the tables say, and a small run."""

import numpy as np

from benchmarks.published import states
from benchmarks.published.tables import as_text


def held_out(perplexities):
    return {
        "cells": [
            {
                "model": model,
                "method": method,
                "n_components": n,
                "used": 3.0,
                "perplexities": values,
                "v_measure": None,
            }
            for model in states.MODELS
            for (method, n), values in perplexities.items()
        ]
    }


CHAINS = {
    "cells": [
        {"model": model, "method": method, "states": [4, 4, 6]} for model, method in states.RUNS
    ]
}
LETTERS = held_out(
    {
        ("fixed", 2): [9.0, 15.0],
        ("fixed", 4): [10.0, 10.0],
        **{(method, 4): [8.0, 10.0] for method in states.COMPARED},
    }
)
RESULTS = {"staying": CHAINS, "letters": LETTERS}


def test_chains_are_what_they_are_called():
    assert all(row[:-10] == row[10:] for row in states.chain("cycle", 0))
    for kind, n in states.TRUE.items():
        if kind in ("cycle", "three sharing"):
            continue
        X = np.array(states.chain(kind, 0))
        assert X.shape == (10, 200)
        assert np.unique(X).tolist() == list(range(2 * n))
        # Symbols 1, 3, 5 and 7 tell their state.
        sure = (X[:, :-1] % 2 == 1) & (X[:, 1:] % 2 == 1)
        again = (X[:, :-1] == X[:, 1:])[sure].mean()
        assert again > 0.8 if kind.endswith("staying") else again == 0.0
    shared = np.array(states.chain("three sharing", 0))
    assert shared.shape == (30, 100)
    assert np.unique(shared).tolist() == list(range(10))


def test_against_the_best_fixed_number():
    """It is that of the least mean; starts are paired."""
    mean, error = states.against_best(LETTERS["cells"], "CVB", "hdp")
    assert np.isclose(mean, -0.1)
    assert np.isclose(error, 0.1)


def test_like_concentrations_are_compared():
    """With equal weights "hdp" has the plain prior's default of 0.1 in each cell."""
    X = [[0, 1], [1, 0]]
    assert states.model_of("VB", "fixed", 40, 0, max_iter=1).fit(X).alpha_ == 0.1
    settings = states.concentrations_of("hdp", 40)
    assert states.model_of("VB", "hdp", 40, 0, **settings).alpha == 4.0


def test_tables_and_picture(tmp_path):
    text = as_text(states.tables(RESULTS))
    assert "\nVB,hdp,2 of 3 (4 to 6)" in text
    assert ",-10.0 ± 10.0\n" in text
    states.draw(RESULTS, tmp_path)
    assert (tmp_path / "states_perplexity.png").stat().st_size > 5000


def test_joined_states_of_a_chain():
    model = states.model_of("VB", "hdp", 10, 0, n_init=2).fit(states.chain("leaving", 0))
    assert states.n_used(model) == 4
