"""Standard errors and confidence intervals of expectation-maximisation."""

import numpy as np
import pytest
from scipy.special import expit, logit

from sklearn_cvb import EMHMM, EMHMMTagger, Symbols, Transitions
from sklearn_cvb.certainty import calibrated
from sklearn_cvb.certainty.symbols import SymbolStructures
from sklearn_cvb.emissions import Columns, Gaussian, Mixture, Poisson

TRUTH = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]])


def data(n_sequences=40, length=12, labelled=0.3):
    rng = np.random.default_rng(0)
    states = [[int(rng.integers(2))] for _ in range(n_sequences)]
    for row in states:
        while len(row) < length:
            row.append(int(rng.choice(2, p=TRUTH[0][row[-1]])))
    X = [[int(rng.choice(3, p=TRUTH[1][z])) for z in row] for row in states]
    return X, [[z if rng.random() < labelled else -1 for z in row] for row in states]


def fitted(**settings):
    X, y = data()
    emission = Symbols(range(3), handle_unknown="error")
    common = {"emission": emission, "supervision": "y", "random_state": 0}
    model = EMHMM(2, **(common | {"max_iter": 3000, "tol": 0.0} | settings))
    return X, y, model.fit(X, y)


def slow_errors(X, y, model):
    """Standard errors by second differences of the log-likelihood in a softmax basis."""
    start, steps, emission = model.startprob_, model.transmat_, model.emissionprob_
    chain = model._model(model._read(X, y))
    tables = [np.log(start)[None], np.log(steps), np.log(emission)]
    free = [(t, r, c) for t, table in enumerate(tables) for r, c in np.ndindex(table.shape) if c]

    def softmax(move):
        moved = [table.copy() for table in tables]
        for (t, r, c), by in zip(free, move, strict=True):
            moved[t][r, c] += by
        return [np.exp(table) / np.exp(table).sum(axis=1, keepdims=True) for table in moved]

    def likelihood(move):
        first, moves, words = softmax(move)
        flat = np.concatenate([first.ravel(), moves.ravel(), words.T.ravel()])
        return chain.infer(SymbolStructures(chain).weights_at(flat)).log_normaliser

    size, h = len(free), 1e-3
    unit, information = np.eye(size) * h, np.empty((size, size))
    for i in range(size):
        for j in range(i, size):
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            ends = [a * b * likelihood(a * unit[i] + b * unit[j]) for a, b in signs]
            information[i, j] = information[j, i] = -sum(ends) / (4 * h * h)
    covariance = np.linalg.inv(information)
    errors = []
    for t, table in enumerate(softmax(np.zeros(size))):
        slopes = np.zeros((*table.shape, size))
        for k, (own, r, c) in enumerate(free):
            if own == t:
                slopes[r, :, k] = table[r] * ((np.arange(table.shape[1]) == c) - table[r, c])
        errors.append(np.sqrt(np.einsum("rck,kl,rcl->rc", slopes, covariance, slopes)))
    return errors


def test_louis_is_the_inverse_of_the_curvature():
    X, y, model = fitted()
    found = model.confidence_intervals(X, y)
    start, transition, emission = slow_errors(X, y, model)
    np.testing.assert_allclose(found.standard_errors["start"], start[0], rtol=1e-4)
    np.testing.assert_allclose(found.standard_errors["transition"], transition, rtol=1e-4)
    np.testing.assert_allclose(found.standard_errors["emission"], emission, rtol=1e-4)
    # Normal intervals of log odds, 1.96 standard errors to both sides.
    p, error = model.transmat_, found.standard_errors["transition"]
    half = 1.959964 * error / (p * (1 - p))
    np.testing.assert_allclose(found.transition[0], expit(logit(p) - half), rtol=1e-6)
    np.testing.assert_allclose(found.transition[1], expit(logit(p) + half), rtol=1e-6)


@pytest.mark.long
def test_many_cells_have_drawn_information(monkeypatch):
    X, y, model = fitted()
    exact = model.confidence_intervals(X, y).standard_errors
    monkeypatch.setattr(calibrated, "_FEW_CELLS", 0)
    drawn = model.confidence_intervals(X, y, random_state=0).standard_errors
    for name in ("start", "transition", "emission"):
        np.testing.assert_allclose(drawn[name], exact[name], rtol=0.15)


@pytest.mark.long
def test_the_bootstrap_agrees_and_can_be_repeated():
    X, y, model = fitted(tol=1e-6)
    louis = model.confidence_intervals(X, y).standard_errors
    settings = {"method": "bootstrap", "n_bootstrap": 60, "random_state": 3}
    found = model.confidence_intervals(X, y, **settings)
    again = model.confidence_intervals(X, y, **settings, n_jobs=2)
    np.testing.assert_array_equal(found.transition, again.transition)
    for name in ("transition", "emission"):
        ratio = found.standard_errors[name] / louis[name]
        assert 0.75 < ratio.mean() < 1.3
        lower, upper = getattr(found, name)
        assert (lower < upper).all()


@pytest.mark.long
def test_numbers_have_the_bootstrap():
    rng = np.random.default_rng(0)
    series = np.where(np.arange(200) // 20 % 2, 5.0, 0.0) + rng.normal(size=200)
    model = EMHMM(2, emission="gaussian", random_state=0).fit([series])
    found = model.confidence_intervals([series], n_bootstrap=30, random_state=0)
    # A mean of 100 independent steps of variance 1.
    np.testing.assert_allclose(found.standard_errors["emission"]["means"], 0.1, atol=0.04)
    lower, upper = found.emission["means"]
    assert ((lower < model.means_) & (model.means_ < upper)).all()
    with pytest.raises(ValueError, match="method"):
        model.confidence_intervals([series], method="louis")


def test_borders_ends_and_taggers():
    X, _, model = fitted(transitions=Transitions(end_state=True), max_iter=200)
    found = model.confidence_intervals(X, data()[1])
    assert found.transition.shape == (2, 2, 2)
    assert np.isfinite(found.transition).all()
    # What is 0 stays 0.
    X = [["a", "b"], ["a", "c"], ["b", "a", "c"]] * 5
    tagger = EMHMMTagger({"a": ["D"], "b": ["N", "V"], "c": ["N"]}, max_iter=50, tol=0).fit(X)
    found = tagger.confidence_intervals(X)
    impossible = tagger.transmat_ == 0
    assert impossible.any()
    assert (found.transition[:, impossible] == 0).all()
    with pytest.raises(ValueError, match="must hold"):
        tagger.confidence_intervals(X[:3])


@pytest.mark.long
def test_parts_and_components_have_the_bootstrap():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.poisson(np.repeat([2.0, 9.0], 40)), rng.normal(size=80)])
    emission = Columns([(Mixture(Poisson()), [0]), (Gaussian("diag"), [1])])
    model = EMHMM(2, emission=emission, random_state=0).fit([x])
    found = model.confidence_intervals([x], n_bootstrap=12, random_state=0)
    first, second = found.emission["parts"]
    assert first["mixture"][1]["rates"].shape == second["means"].shape == (2, 2, 1)
    lower, upper = second["means"]
    assert (lower < upper).all()
    assert found.standard_errors["emission"]["parts"][0]["weights"].shape == (2, 2)
