"""Viterbi training of numbers: its E-step against every path, one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sklearn_cvb import EMHMM, Durations, Transitions
from sklearn_cvb.emissions import Gaussian, Mixture, StudentT

RNG = np.random.default_rng(0)
ONE = [RNG.normal(size=(n, 1)).round(2) for n in (4, 3, 5)]
TWO = [RNG.normal(size=(n, 2)).round(2) for n in (4, 3)]
GAPS = [x.copy() for x in TWO]
GAPS[0][1, 0] = GAPS[1][0] = np.nan
WITH_CONTEXTS = [np.column_stack([x, [0, 1, 1, 0, 1][: len(x)]]) for x in ONE]
RING = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
CONTEXTS = Transitions(contexts=1)
CASES = {
    "normal": (ONE, {}),
    "full covariances, gaps": (GAPS, {"emission": Gaussian("full")}),
    "heavy tails": (ONE, {"emission": StudentT()}),
    "two components": (ONE, {"emission": Mixture(Gaussian(), 2)}),
    "counts": ([np.abs(x).round() for x in ONE], {"emission": "poisson"}),
    "left-right": (ONE, {"transitions": "left-right"}),
    "a table": (ONE, {"transitions": RING}),
    "ends": (ONE, {"transitions": Transitions(end_state=True)}),
    "independent": (ONE, {"transitions": "independent"}),
    "contexts": (WITH_CONTEXTS, {"transitions": CONTEXTS}),
    "durations": (ONE, {"transitions": Transitions(durations=Durations("histogram", longest=4))}),
    "some states known": (ONE, {"known": [[-1, 2, -1, -1], [-1, -1, 0], [-1] * 5]}),
}


def with_known(model, known):
    """The same model with these states known, -1 where they are not."""
    problem = model.problem._replace(known=np.asarray(known), any_ambiguous=True)
    return replace(model, problem=problem)


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_the_best_path_of_all(name):
    """As if its states were known, and its log weight the largest there is."""
    X, settings = CASES[name]
    settings = {"emission": "gaussian", "alpha": 0.3} | settings
    known = settings.pop("known", None)
    supervision = "none" if known is None else "y"
    estimator = EMHMM(3, random_state=0, supervision=supervision, **settings)
    model = estimator._model(estimator._read(X, known))
    begun, before = model.start(model.prior(model.hyper()), np.random.default_rng(1), False)
    weights, _ = model.maximise(begun.counts, model.prior(model.hyper()), before)
    labels = np.full(sum(map(len, X)), -1) if known is None else np.concatenate(known)
    best, offset = labels.copy(), 0
    for x in X:
        own, logs = slice(offset, offset + len(x)), {}
        for path in product(range(3), repeat=len(x)):
            if ((path == labels[own]) | (labels[own] < 0)).all():
                there = labels.copy()
                there[own] = path
                found = with_known(model, there).infer(weights)
                # The other sequences add the same to all.
                logs[path] = -np.inf if len(found.unexplained) else found.log_normaliser
        best[own] = max(logs, key=logs.get)
        offset += len(x)
    found, expected = model.decode(weights), with_known(model, best).infer(weights)
    assert found.log_normaliser == pytest.approx(expected.log_normaliser, rel=1e-10)
    for one, other in zip(found.counts, expected.counts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_the_objective_never_falls_until_paths_stay(name):
    X, settings = CASES[name]
    X = [np.concatenate([x + shift for shift in (0.0, 1.0, 2.5)]) for x in X for _ in range(4)]
    if name in ("counts", "contexts"):
        X = [x.round() for x in X]
    if name == "contexts":
        X = [np.column_stack([x[:, 0], x[:, 1] % 2]) for x in X]
    settings = {"emission": "gaussian", **settings}
    settings.pop("known", None)
    model = EMHMM(3, update="viterbi", random_state=0, **settings).fit(X)
    assert model.converged_
    assert (np.diff(model.history_) > -1e-9).all()
    if model.startprob_.ndim == 1 and name != "independent":
        start = np.bincount([path[0] for path in model.labels_], minlength=3)
        np.testing.assert_allclose(model.counts_.start, start, atol=1e-9)
