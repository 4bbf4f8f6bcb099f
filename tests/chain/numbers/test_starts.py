"""Where fits of numbers start: on paths that the rules allow, and near to what is given."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    GibbsHMM,
    HMMParameters,
    Transitions,
    open_store,
    write_numbers,
)
from sklearn_cvb.chain.numbers import clusters
from sklearn_cvb.emissions import (
    AutoRegressive,
    Columns,
    Gamma,
    Gaussian,
    Mixture,
    NegativeBinomial,
    Poisson,
    Regression,
    StudentT,
    VonMises,
)

KINDS = [EMHMM, VBHMM, CVBHMM]
N = 4
ONWARD = np.triu(np.ones((N, N), bool))
HUB = np.eye(N, dtype=bool)
HUB[0] = HUB[:, 0] = True
CYCLE = np.eye(N, dtype=bool) | np.roll(np.eye(N, dtype=bool), 1, axis=1)
# Without a way back, and where the second state may be left out.
FORK = ONWARD & ~np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)


def a_path(table, n_steps, rng):
    """States that stay for a while, and go where the table lets them; in a fork to the end."""
    path = [0]
    while len(path) < n_steps:
        others = np.flatnonzero(table[path[-1]] & (np.arange(N) != path[-1]))
        stays = not len(others) or rng.random() < 0.85
        path.append(path[-1] if stays else int(rng.choice(others)))
    return np.array(path)


def phases(rng, n_sequences=1):
    """All states in their order."""
    return [np.repeat(np.arange(N), rng.integers(6, 30, N)) for _ in range(n_sequences)]


def share_right(found, paths, table=None):
    """Steps in their state; under a table that does not order states, by the best numbering."""
    found, paths = np.concatenate(list(found)), np.concatenate(paths)
    numberings = [np.arange(N)] if table is None else itertools.permutations(range(N))
    return max((np.array(order)[found] == paths).mean() for order in numberings)


def fitted(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [HUB, CYCLE, FORK], ids=["hub", "cycle", "fork"])
def test_steps_that_a_table_rules_out_lead_nowhere_else(kind, table):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        paths = [a_path(table, 60, rng) for _ in range(6)]
        means = rng.permutation(7.0 * np.arange(N))
        X = [rng.normal(means[path]) for path in paths]
        topology = {"transitions": Transitions(topology=table)}
        steps = np.where(table, 1.0, 0.0) / table.sum(axis=1, keepdims=True)
        for rules in (topology, {"init": HMMParameters(transmat=steps)}):
            model = fitted(kind(N, emission="gaussian", random_state=seed, **rules), X)
            assert share_right(model.predict(X), paths, table) > 0.95


CORNERS = np.array([[9, 0], [0, 9], [18, 5], [5, 18]])
EMITTED = {
    "gaussian": (Gaussian(), lambda z, rng: rng.normal(CORNERS[z])),
    "spherical": (Gaussian("spherical"), lambda z, rng: rng.normal(9.0 * (z * 3 % 4))),
    "student": (StudentT(), lambda z, rng: 9.0 * (z * 3 % 4) + rng.standard_t(3, len(z))),
    "poisson": (Poisson(), lambda z, rng: rng.poisson(np.array([30, 3, 90, 12])[z])),
    "negative binomial": (
        NegativeBinomial(size=20),
        lambda z, rng: rng.poisson(np.array([30, 3, 90, 12])[z]),
    ),
    "gamma": (Gamma(shape=20), lambda z, rng: rng.gamma(20.0, np.array([6, 1, 12, 3])[z])),
    "angles": (VonMises(), lambda z, rng: rng.vonmises(np.array([3.0, 0.0, 1.5, -1.5])[z], 20.0)),
    "mixture": (
        Mixture(Gaussian("diag"), 2),
        lambda z, rng: rng.normal(20.0 * (z * 3 % 4) + 4.0 * (rng.random(len(z)) < 0.5)),
    ),
    "regression": (
        Regression(inputs=[0]),
        lambda z, rng: lines(rng.normal(size=len(z)) * 2, np.array([5.0, 0.0, -5.0, 2.0])[z], rng),
    ),
    "columns": (
        Columns([(Gaussian("diag"), [0]), (Poisson(), [1])]),
        lambda z, rng: np.column_stack(
            [rng.normal(6.0 * (z * 3 % 4)), rng.poisson(np.array([30, 3, 90, 12])[z])]
        ),
    ),
    "autoregressive": (AutoRegressive(), lambda z, rng: drifting(12.0 * (z * 3 % 4), rng)),
}


def drifting(towards, rng):
    series = [towards[0]]
    for level in towards[1:]:
        series.append(0.4 * series[-1] + 0.6 * level + rng.normal())
    return np.array(series)


def lines(x, slopes, rng):
    return np.column_stack([x, slopes * x + 9.0 * (slopes == 2.0) + rng.normal(0, 0.5, len(x))])


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("name", sorted(EMITTED.keys() - {"autoregressive"}))
def test_states_in_their_order_are_found_whatever_they_emit(name):
    emission, emit = EMITTED[name]
    right = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        paths = phases(rng, 3)
        X = [np.asarray(emit(path, rng), float).reshape(len(path), -1) for path in paths]
        X[1][2] = np.nan
        model = EMHMM(N, emission=emission, transitions="left-right", random_state=seed)
        right.append(share_right(fitted(model, X).predict(X), paths) > 0.93)
    assert all(right)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", [*KINDS, GibbsHMM])
@pytest.mark.parametrize("more", ["gaps", "ends", "labels", "restarts", "k-means"])
def test_states_in_their_order_are_found(kind, more):
    rng = np.random.default_rng(5)
    paths = phases(rng, 4)
    X, y = [rng.normal(9.0 * (path * 3 % 4))[:, None] for path in paths], None
    settings = {"transitions": Transitions(topology="left-right", end_state=more == "ends")}
    if more == "gaps":
        X = [np.where(rng.random(x.shape) < 0.2, np.nan, x) for x in X]
    if more == "labels":
        y = [np.where(rng.random(len(path)) < 0.1, path, -1) for path in paths]
        y = [[None if state < 0 else int(state) for state in own] for own in y]
    settings |= {"restarts": {"n_init": 4}, "k-means": {"init": "kmeans"}}.get(more, {})
    if kind is GibbsHMM:
        settings["max_iter"] = 60
    model = fitted(kind(N, emission="gaussian", random_state=0, **settings), X, y)
    assert share_right(model.predict(X), paths) > 0.95


def test_every_restart_is_legal_and_they_differ():
    rng = np.random.default_rng(2)
    X = [rng.normal(4.0 * (path * 3 % 4)) for path in phases(rng, 2)]
    model = EMHMM(N, emission="gaussian", transitions="left-right", n_init=10, random_state=0)
    found = fitted(model, X).restart_objectives_
    assert np.sum(found > found.max() - 1e-3) >= 5
    assert len(set(found.round(6))) > 1


@pytest.mark.parametrize("kind", [*KINDS, GibbsHMM])
def test_restarts_differ_under_contexts(kind):
    X = [np.random.default_rng(seed).normal(size=(30, 2)) for seed in range(3)]
    for x in X:
        x[:, 1] = x[:, 1] > 0
    model = kind(2, emission="gaussian", transitions=Transitions(contexts=1), max_iter=3)
    one, several = (fitted(clone(model).set_params(n_init=n, random_state=0), X) for n in (1, 2))
    found = several.restart_objectives_
    assert found[0] == one.objective_
    assert found[0] != found[1]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_start_on_the_disk_is_that_in_memory(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    X = [rng.normal(9.0 * (path * 3 % 4))[:, None] for path in phases(rng, 12)]
    X[4][:3] = np.nan
    write_numbers(X, tmp_path / "store")
    means = HMMParameters(emissions={"means": 9.0 * (np.arange(N)[:, None] * 3 % 4)})
    monkeypatch.setattr(clusters, "_SAMPLE", 300)
    lasting = {"transitions": Transitions("left-right", durations="poisson")}
    for settings in ({}, {"init": means}, {"n_init": 2}, lasting):
        made = {"emission": "gaussian", "transitions": "left-right", "random_state": 0, **settings}
        whole, stored = (
            fitted(kind(N, max_iter=4, tol=0, **made), data)
            for data in (X, open_store(tmp_path / "store"))
        )
        np.testing.assert_array_equal(stored.restart_objectives_, whole.restart_objectives_)
        np.testing.assert_array_equal(stored.means_, whole.means_)


def test_a_given_table_says_which_state_stays():
    rng = np.random.default_rng(0)
    path, stays = [0], np.array([0.98, 0.5])
    while len(path) < 400:
        path.append(path[-1] if rng.random() < stays[path[-1]] else 1 - path[-1])
    X = [rng.normal(6.0 * np.array(path))]
    for turned in (False, True):
        kept = stays[::-1] if turned else stays
        steps = np.array([[kept[0], 1 - kept[0]], [1 - kept[1], kept[1]]])
        init = HMMParameters(transmat=steps)
        model = EMHMM(2, emission="gaussian", init=init, fixed={"transitions": True})
        found = np.ravel(fitted(model, X).means_)
        np.testing.assert_allclose(found, [6, 0] if turned else [0, 6], atol=0.5)


# Parameters that are given in part: the name of what is given, and values.
GIVEN = {
    "gaussian": {"means": CORNERS},
    "student": {"locations": [[0], [27], [18], [9]]},
    "poisson": {"rates": [[30], [3], [90], [12]]},
    "negative binomial": {"probabilities": [[0.4], [0.87], [0.18], [0.63]]},
    "gamma": {"rates": [[1 / 6], [1], [1 / 12], [1 / 3]]},
    "angles": {"directions": [[3.0], [0.0], [1.5], [-1.5]]},
    "regression": {
        "coefficients": [[[5]], [[0]], [[-5]], [[2]]],
        "intercepts": [[0], [0], [0], [9]],
    },
    "columns": {"parts": [{}, {"rates": [[30], [3], [90], [12]]}]},
    "autoregressive": {
        "coefficients": np.full((N, 1, 1), 0.4),
        "intercepts": [[0], [21.6], [14.4], [7.2]],
    },
}


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", GIVEN)
def test_what_is_not_given_follows_from_the_nearest_steps(name):
    emission, emit = EMITTED[name]
    init, table = HMMParameters(emissions=GIVEN[name]), np.ones((N, N), bool)
    for seed, kind in enumerate(KINDS):
        rng = np.random.default_rng(seed)
        path = a_path(table, 250, rng)
        X = [np.asarray(emit(path, rng), float).reshape(len(path), -1)]
        settings = {"emission": emission, "init": init, "max_iter": 40}
        model = fitted(kind(N, random_state=seed, **settings), X)
        assert share_right(model.predict(X), [path]) > 0.93
        other = fitted(kind(N, random_state=9, **settings), X)
        np.testing.assert_array_equal(model.history_, other.history_)


def test_of_parameters_all_may_be_given_alone():
    rng = np.random.default_rng(0)
    path = a_path(np.ones((N, N), bool), 400, rng) % 2
    X = [rng.normal(0.0, np.array([0.3, 3.0])[path])]
    init = HMMParameters(emissions={"covariances": [[[9.0]], [[0.1]]]})
    model = fitted(EMHMM(2, emission="gaussian", init=init), X)
    assert (model.predict(X)[0] != path).mean() > 0.8
    with pytest.raises(ValueError, match="is made of means and covariances"):
        EMHMM.from_parameters(
            HMMParameters(
                startprob=[0.5, 0.5],
                transmat=np.full((2, 2), 0.5),
                emissions={"covariances": [[[9.0]], [[0.1]]]},
            ),
            emission="gaussian",
        )


def test_given_durations_and_means_leave_the_rest_to_the_steps():
    rng = np.random.default_rng(0)
    path = np.concatenate([np.repeat(k % 3, rng.integers(3, 8)) for k in range(60)])
    X = [rng.normal(5.0 * path)]
    init = HMMParameters(emissions={"means": [[10.0], [0.0], [5.0]]})
    turned = np.array([1, 2, 0])[path]
    for kind in KINDS:
        lasting = Transitions(durations="poisson")
        model = fitted(kind(3, emission="gaussian", transitions=lasting, init=init), X)
        assert share_right(model.predict(X), [turned]) > 0.95
