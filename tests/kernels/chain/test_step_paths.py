"""Best and sampled paths of steps, each of which may have a table of its own, against all paths."""

from itertools import pairwise, product

import numpy as np
import pytest

from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    best_path,
    draw_path,
    log_tables,
    scores_from_logs,
    stretches_by_table,
)

N_STATES, STARTS = 3, np.array([0, 4, 5, 9])
N_STEPS = STARTS[-1]


def problem(n_tables, seed=0):
    """Tables, log weights, the table of each step; a transition of each table is impossible."""
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(N_STATES), n_tables)
    transition = rng.dirichlet(np.ones(N_STATES), (n_tables, N_STATES))
    transition[:, 1, 2] = 0.0
    table = rng.integers(0, n_tables, N_STEPS)
    return ChainTables(start, transition, None), rng.normal(size=(N_STEPS, N_STATES)), table


def joint(chain, logs, table, begin, end, path):
    """log p(x, z) of a sequence, as it is defined."""
    with np.errstate(divide="ignore"):
        total = np.log(chain.start[table[begin], path[0]]) + logs[begin, path[0]]
        for t in range(begin + 1, end):
            before, now = path[t - begin - 1], path[t - begin]
            total += np.log(chain.transition[table[t], before, now]) + logs[t, now]
    return total


def each_sequence(chain, logs, table):
    """All paths of each sequence, and their log p(x, z)."""
    for begin, end in pairwise(STARTS):
        paths = list(product(range(N_STATES), repeat=int(end - begin)))
        yield paths, np.array([joint(chain, logs, table, begin, end, path) for path in paths])


@pytest.mark.parametrize("n_tables", [1, 2, N_STEPS])
def test_the_best_path_is_the_best_of_all(n_tables):
    chain, logs, table = problem(n_tables)
    path, log_p = best_path(log_tables(chain), logs, STARTS, stretches_by_table(table, STARTS))
    best, largest = [], []
    for paths, values in each_sequence(chain, logs, table):
        best += paths[values.argmax()]
        largest.append(values.max())
    assert path.tolist() == best
    np.testing.assert_allclose(log_p, largest, rtol=1e-12)


def test_ties_go_to_the_lowest_state_and_what_has_no_path_is_told():
    chain = ChainTables(np.full((1, 2), 0.5), np.full((1, 2, 2), 0.5), None)
    logs, starts = np.zeros((5, 2)), np.array([0, 3, 5])
    logs[3] = -np.inf
    stretches = stretches_by_table(np.zeros(5, np.int64), starts)
    path, log_p = best_path(log_tables(chain), logs, starts, stretches)
    assert path[:3].tolist() == [0, 0, 0]
    assert log_p[0] == pytest.approx(3 * np.log(0.5))
    assert log_p[1] == -np.inf


@pytest.mark.parametrize("n_tables", [1, 2, N_STEPS])
def test_paths_are_drawn_as_often_as_they_are_probable(n_tables):
    chain, logs, table = problem(n_tables, seed=1)
    rng, stretches = np.random.default_rng(0), stretches_by_table(table, STARTS)
    scored, n_draws = scores_from_logs(logs), 4000
    draws, log_z = zip(
        *(draw_path(chain, scored, STARTS, stretches, rng) for _ in range(n_draws)), strict=True
    )
    drawn = np.array(draws)
    for i, (paths, values) in enumerate(each_sequence(chain, logs, table)):
        assert log_z[0][i] == pytest.approx(np.logaddexp.reduce(values), rel=1e-12)
        expected = np.exp(values - np.logaddexp.reduce(values))
        places = N_STATES ** np.arange(STARTS[i + 1] - STARTS[i])[::-1]
        counts = np.bincount(drawn[:, STARTS[i] : STARTS[i + 1]] @ places, minlength=len(paths))
        error = np.sqrt(expected * (1 - expected) / n_draws)
        assert (np.abs(counts / n_draws - expected) <= 5 * error + 1e-12).all()
