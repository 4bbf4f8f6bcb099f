"""Prior cells that are given one by one: alpha and beta as arrays."""

from itertools import product

import numpy as np
import pytest
from enumerated import enumerated_chain
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    HMMParameters,
    Symbols,
    TagDictionary,
    Transitions,
)

X = [[0, 1, 2, 1], [3], [2, 0], [1, 3, 0, 1], [3, 0, 0, 2]]
STEPS = np.array([[2.0, 0.3, 0.1], [0.1, 1.5, 0.2], [0.5, 0.25, 4.0]])
WORDS = np.array([[0.4, 0.3, 2.0, 0.1], [1.0, 0.2, 0.3, 0.4], [0.25, 0.5, 0.25, 3.0]])
SYMBOLS = Symbols(range(4), handle_unknown="error")
FAMILIES = [EMHMM, VBHMM, CVBHMM]


def sweeps(model, algorithm):
    """How far a fit and the enumeration come apart."""
    rng = np.random.default_rng(0)
    weights = model.mean(rng.gamma(1.0, size=len(model.rows)))
    state, twin = model.started(algorithm, weights), algorithm.start(model, rng, weights)
    gaps = []
    for _ in range(3):
        state, value = algorithm.sweep(state, model.real, None)
        twin, expected = algorithm.sweep(twin, model, None)
        gaps += [np.abs(model.flat(state.counts) - twin.counts).max(), value - expected]
    return np.abs(gaps).max()


@pytest.mark.parametrize(("family", "end"), product(FAMILIES, [False, True]))
def test_sweeps_are_those_of_the_enumeration(family, end):
    alpha = np.hstack([STEPS, [[0.7], [0.2], [1.0]]]) if end else STEPS
    steps = Transitions(end_state=end, start_alpha=0.4, sticky=0.5)
    model = family(3, alpha=alpha, beta=WORDS, emission=SYMBOLS, transitions=steps)
    chain = enumerated_chain(model, X, 3)
    prior = chain.prior(chain.hyper())
    n, here = 3 + end, np.zeros(3 * (3 + end))
    here = prior[n : n + 3 * n].reshape(3, n)
    assert np.allclose(here, alpha + 0.5 * np.eye(3, n), atol=1e-15)
    assert np.array_equal(prior[n + n * n :].reshape(4, 3), WORDS.T)
    assert np.allclose(prior[:3], 0.4)
    assert sweeps(chain, model._algorithm()) < 1e-10


@pytest.mark.parametrize("family", [*FAMILIES, GibbsHMM])
def test_equal_cells_are_one_concentration(family):
    settings = {"emission": SYMBOLS, "max_iter": 20, "random_state": 0}
    start = Transitions(start_alpha=0.1)
    one = family(3, alpha=0.3, beta=0.2, transitions=start, **settings).fit(X)
    cells = {"alpha": np.full((3, 3), 0.3), "beta": np.full((3, 4), 0.2).tolist()}
    other = family(3, transitions=start, **cells, **settings).fit(X)
    assert np.allclose(one.history_, other.history_, atol=1e-12)
    assert np.allclose(one.emissionprob_, other.emissionprob_, atol=1e-12)
    assert other.alpha_.tolist() == cells["alpha"].tolist()
    assert other.beta_.tolist() == cells["beta"]


def test_one_is_given_and_the_other_learned():
    model = VBHMM(3, alpha=STEPS, beta="auto", emission=SYMBOLS, max_iter=30, tol=0)
    assert model.fit(X).beta_ != 0.1
    assert np.array_equal(model.alpha_, STEPS)
    assert np.all(np.diff(model.history_) > -1e-9)
    model = GibbsHMM(3, alpha="auto", beta=WORDS, emission=SYMBOLS, max_iter=40, random_state=0)
    assert model.fit(X).alpha_ != 0.1
    assert set(model.convergence()) >= {"alpha"}


def test_a_fixed_row_wins():
    init = HMMParameters(transmat=np.eye(3))
    fixed = {"transitions": [True, False, False]}
    model = CVBHMM(3, alpha=STEPS, init=init, fixed=fixed, emission=SYMBOLS).fit(X)
    assert model.transmat_[0].tolist() == [1.0, 0.0, 0.0]
    assert model.transmat_[1].min() > 0


def test_dictionaries_weigh_beside_it():
    legal = TagDictionary({"a": {"N": 3, "V": 1}, "b": ["V"]}, weight=2.0)
    settings = {"emission": Symbols(handle_unknown="smooth"), "random_state": 0}
    words = [["a", "b", "a"], ["b", "a"]]
    one = EMHMMTagger(legal, beta=0.5, **settings).fit(words)
    other = EMHMMTagger(legal, beta=np.full((2, 3), 0.5), **settings).fit(words)
    assert np.allclose(one.emissionprob_, other.emissionprob_, atol=1e-12)


def test_searches_and_topologies_take_it():
    model = VBHMM(3, emission=SYMBOLS, transitions="left-right", max_iter=3)
    grid = {"alpha": [STEPS, 2 * STEPS, 0.1], "transitions__sticky": [0.0, 1.0]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X)
    assert np.tril(search.best_estimator_.transmat_, -1).max() == 0
    assert clone(model.set_params(alpha=STEPS)).fit(X).alpha_.shape == (3, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": STEPS[:2]}, r"alpha has shape \(2, 3\), this model needs \(3, 3\)"),
        ({"alpha": np.zeros((3, 3))}, "alpha must be from 1e-10"),
        ({"alpha": -STEPS}, "alpha must be from"),
        ({"beta": WORDS[:, :3]}, r"beta has shape \(3, 3\), this model needs \(3, 4\)"),
        ({"alpha": STEPS, "transitions": Transitions(prior=HDP())}, "under an HDP"),
        ({"beta": WORDS, "emission": "gaussian"}, "beta"),
        ({"alpha": [[1.0], [1.0, 2.0]]}, "alpha must hold numbers"),
    ],
)
def test_wrong_cells_are_told(settings, message):
    model = VBHMM(3, **{"emission": SYMBOLS} | settings)
    with pytest.raises(ValueError, match=message):
        model.fit([[[0.0], [1.0], [2.0]]] if settings.get("emission") else X)


def test_em_takes_zeros():
    zeros = STEPS * [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert np.isfinite(EMHMM(3, alpha=zeros, emission=SYMBOLS, random_state=0).fit(X).objective_)
