"""Prior cells that are given one by one: alpha, beta and start_alpha as arrays."""

import pickle
from itertools import product

import numpy as np
import pytest
from enumerated import enumerated_chain
from estimators import make_estimator
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    HMMParameters,
    Samples,
    Symbols,
    TagDictionary,
    Transitions,
    Windows,
)

X = [[0, 1, 2, 1], [3], [2, 0], [1, 3, 0, 1], [3, 0, 0, 2]]
STEPS = np.array([[2.0, 0.3, 0.1], [0.1, 1.5, 0.2], [0.5, 0.25, 4.0]])
STARTS = np.array([0.3, 1.4, 0.25])
WORDS = np.array([[0.4, 0.3, 2.0, 0.1], [1.0, 0.2, 0.3, 0.4], [0.25, 0.5, 0.25, 3.0]])
SYMBOLS = Symbols(range(4), handle_unknown="error")
FAMILIES = [EMHMM, VBHMM, CVBHMM]


def sweeps(model, algorithm):
    """How far a fit and the enumeration come apart."""
    rng = np.random.default_rng(0)
    is_used = np.any([uses.any(axis=0) for uses in model.uses], axis=0)
    is_there = is_used | (model.prior(model.hyper()) > 0)
    weights = model.mean(rng.gamma(1.0, size=len(model.rows)) * is_there)
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


@pytest.mark.parametrize(("family", "alpha", "end"), product(FAMILIES, [0.4, STEPS], [False, True]))
def test_starts_have_cells_of_their_own(family, alpha, end):
    if end and np.ndim(alpha):
        alpha = np.hstack([alpha, STARTS[:, None]])
    steps = Transitions(end_state=end, start_alpha=STARTS.tolist())
    model = family(3, alpha=alpha, emission=SYMBOLS, transitions=steps)
    chain = enumerated_chain(model, X, 3)
    assert chain.prior(chain.hyper())[:3].tolist() == STARTS.tolist()
    assert sweeps(chain, model._algorithm()) < 1e-10


@pytest.mark.parametrize("family", FAMILIES)
def test_starts_keep_to_a_topology(family):
    table = np.array([[True, True, False], [False, True, True], [True, False, True]])
    for topology, starts in ((table, [True] * 3), ("left-right", [True, False, False])):
        steps = Transitions(topology, start_alpha=STARTS)
        model = family(3, alpha=0.4, emission=SYMBOLS, transitions=steps)
        moves = np.triu(np.ones((3, 3), bool)) if isinstance(topology, str) else topology
        chain = enumerated_chain(model, X, 3, mask=np.vstack([moves, starts]))
        assert chain.prior(chain.hyper())[:3].tolist() == np.where(starts, STARTS, 0.0).tolist()
        assert sweeps(chain, model._algorithm()) < 1e-10


def test_a_mixture_has_the_prior_of_its_weights():
    """Where no state depends on another all rows are the start row, and so is their prior."""
    steps, y = Transitions("independent", start_alpha=STARTS), [[0, 1, 2, 1], [0], [1, 0]]
    model = VBHMM(3, transitions=steps, supervision="y", emission=SYMBOLS).fit(X[:3], y)
    shares = (STARTS + [3, 3, 1]) / (STARTS.sum() + 7)
    np.testing.assert_allclose(model.transmat_, np.tile(shares, (3, 1)), rtol=1e-12)


@pytest.mark.parametrize("family", [*FAMILIES, GibbsHMM])
@pytest.mark.parametrize("emission", [SYMBOLS, "gaussian"])
def test_known_states_add_to_the_cells_of_starts(family, emission):
    """The posterior of the start row is a Dirichlet with counts + cells as parameters."""
    y = [[0, 1], [0, 2], [2, 1], [1, 1], [0, 0]]
    series = [np.array([9.0 * k + i for i, k in enumerate(path)]) for path in y]
    data = series if emission == "gaussian" else [[k % 4 for k in path] for path in y]
    settings = {"supervision": "y", "emission": emission, "random_state": 0, "max_iter": 40}
    model = family(3, transitions=Transitions(start_alpha=STARTS), **settings).fit(data, y)
    posterior = STARTS + [3, 1, 1]
    np.testing.assert_allclose(model.startprob_, posterior / posterior.sum(), rtol=1e-12)
    if family in (EMHMM, GibbsHMM):
        return
    lower, upper = model.credible_intervals(level=0.9, method="mean field").start
    exact = stats.beta(posterior, posterior.sum() - posterior)
    np.testing.assert_allclose(lower, exact.ppf(0.05), rtol=1e-9)
    np.testing.assert_allclose(upper, exact.ppf(0.95), rtol=1e-9)


def test_samplers_know_the_cells_of_starts():
    """The trace holds log p(x, z) of the paths drawn."""
    problem = make_problem(X, 3, 4, 0.4, 0.6)
    problem.alpha[-1] = STARTS
    for update in ("token", "sequence", "parameter"):
        settings = {"update": update, "samples": Samples(5, thin=1), "max_iter": 20}
        steps = Transitions(start_alpha=STARTS)
        model = make_estimator("Gibbs", problem, transitions=steps, **settings).fit(X)
        exact = brute.collapsed_log_joint(problem, np.asarray(model.samples_)[-1:])
        assert model.history_[-1] == pytest.approx(exact[0], abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((kind, {"emission": SYMBOLS}) for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM)),
        *((kind, {"emission": "poisson"}) for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM)),
        (CVBHMM, {"emission": SYMBOLS, "update": "token"}),
        (CVBHMM, {"emission": SYMBOLS, "update": Windows(2)}),
        (VBHMM, {"emission": SYMBOLS, "alpha": "auto"}),
        (CVBHMM, {"emission": SYMBOLS, "alpha": "auto", "beta": "auto"}),
        (GibbsHMM, {"emission": SYMBOLS, "alpha": "auto"}),
        (EMHMMTagger, {"tag_dictionary": {0: ["A"], 1: ["A", "B"], 2: ["C"]}, "alpha": 0.2}),
    ],
)
def test_equal_cells_of_starts_are_one_concentration(kind, settings):
    """With alpha learned, too: nothing is learned of it from starts that have their own."""
    settings = {"max_iter": 30, "random_state": 0} | settings
    settings |= {} if "tag_dictionary" in settings else {"n_components": 3}
    data = [np.array(x, float) for x in X] if settings.get("emission") == "poisson" else X
    one = kind(transitions=Transitions(start_alpha=0.7), **settings).fit(data)
    other = kind(transitions=Transitions(start_alpha=[0.7] * 3), **settings).fit(data)
    np.testing.assert_allclose(other.history_, one.history_, rtol=1e-12)
    np.testing.assert_allclose(other.startprob_, one.startprob_, rtol=1e-12)
    np.testing.assert_allclose(other.alpha_, one.alpha_, rtol=1e-12)


def test_contexts_that_share_a_table_take_starts():
    series = [np.column_stack([x, np.arange(len(x)) % 2]).astype(float) for x in X]
    steps = [Transitions(contexts=1, prior="pooled", start_alpha=u) for u in (0.7, [0.7] * 3)]
    one, other = (
        VBHMM(3, emission="poisson", transitions=own, random_state=0, max_iter=30).fit(series)
        for own in steps
    )
    np.testing.assert_allclose(one.history_, other.history_, rtol=1e-12)


def test_settings_with_cells_of_starts_are_copied_saved_and_searched():
    steps = Transitions(start_alpha=STARTS)
    model = EMHMM(3, transitions=steps, emission=SYMBOLS, random_state=0, max_iter=5).fit(X)
    copies = clone(model), pickle.loads(pickle.dumps(model))
    for other in copies:
        assert np.array_equal(other.transitions.start_alpha, STARTS)
    assert "start_alpha" in repr(model)
    assert np.array_equal(copies[0].fit(X).startprob_, model.startprob_)
    read = EMHMM.from_json(model.to_json())
    np.testing.assert_allclose(read.score_samples(X), model.score_samples(X), rtol=1e-12)
    grid = {"transitions__start_alpha": [STARTS, [9.0, 1.0, 1.0], 0.1, None]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    batches = VBHMM(3, transitions=steps, emission=SYMBOLS, random_state=0)
    for _ in range(2):
        batches.partial_fit(X)
    assert np.isfinite(batches.startprob_).all()


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
        (
            {"transitions": Transitions(start_alpha=STARTS[:2])},
            r"start_alpha has shape \(2,\), this model needs \(3,\)",
        ),
        (
            {"transitions": Transitions(start_alpha=STARTS[:2]), "emission": "gaussian"},
            r"start_alpha has shape \(2,\), this model needs \(3,\)",
        ),
        ({"transitions": Transitions(start_alpha=0.0 * STARTS)}, "start_alpha must be from 1e-10"),
        ({"transitions": Transitions(start_alpha=["a"] * 3)}, "start_alpha must hold numbers"),
        ({"transitions": Transitions(start_alpha=STARTS, prior=HDP())}, "under an HDP"),
        ({"alpha": [[1.0], [1.0, 2.0]]}, "alpha must hold numbers"),
    ],
)
def test_wrong_cells_are_told(settings, message):
    model = VBHMM(3, **{"emission": SYMBOLS} | settings)
    with pytest.raises(ValueError, match=message):
        model.fit([[[0.0], [1.0], [2.0]]] if settings.get("emission") else X)


def test_em_takes_zeros():
    zeros = STEPS * [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    for steps in ("full", Transitions(start_alpha=[0.0, 0.5, 0.0])):
        model = EMHMM(3, alpha=zeros, transitions=steps, emission=SYMBOLS, random_state=0)
        assert np.isfinite(model.fit(X).objective_)
