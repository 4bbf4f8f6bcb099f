"""An emission from elsewhere: with what an algorithm asks it is learned, with less it is refused.

It is refused before the first sweep, and the message names what is missing.
"""

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Columns, Gaussian, Poisson
from sklearn_cvb.emissions.emission import Emission, Family
from sklearn_cvb.learning.algorithms import CVB, EM, VB
from sklearn_cvb.learning.gibbs import Gibbs

ALWAYS = ("read", "attributes")
NEEDED = {
    EMHMM: ("most_likely", "log_densities", "log_prior"),
    VBHMM: ("expected_log_densities", "divergence", "mean", "predictive"),
    CVBHMM: ("predictive", "mean"),
    GibbsHMM: ("draw", "log_densities", "log_evidence", "mean", "predictive"),
}
ALGORITHMS = {EMHMM: EM, VBHMM: VB, CVBHMM: CVB, GibbsHMM: Gibbs}
# Who has no divergence of its own has that of linear scores.
LEFT_OUT = [
    (kind, name)
    for kind, names in NEEDED.items()
    for name in (*names, "attributes")
    if name != "divergence"
]
X = [np.array([0.0, 1.0, 9.0, 8.0, 11.0, 1.0]), np.array([0.0, 8.0, 9.0])]


class HalfEmission(Emission):
    """Poisson columns by some of the functions of their family alone."""

    def __init__(self, functions=()):
        self.functions = functions

    def bind(self, moments, n_states):
        whole = Poisson().bind(moments, n_states)
        given = {name: staticmethod(getattr(whole, name)) for name in self.functions}
        sizes = ("n_states", "n_columns", "n_statistics", "n_parameters")
        given |= {name: getattr(whole, name) for name in sizes}
        return type("HalfFamily", (Family,), given)()


def fitted(kind, emission, table=X):
    settings = {} if kind is GibbsHMM else {"tol": 0}
    return kind(2, emission=emission, max_iter=5, random_state=0, **settings).fit(table)


@pytest.mark.parametrize("kind", NEEDED)
def test_one_with_just_what_is_asked_is_learned(kind):
    functions = (*ALWAYS, *NEEDED[kind])
    model, whole = fitted(kind, HalfEmission(functions)), fitted(kind, "poisson")
    np.testing.assert_array_equal(model.history_, whole.history_)
    np.testing.assert_array_equal(model.rates_, whole.rates_)
    assert model.score(X) == whole.score(X)
    assert [path.tolist() for path in model.predict(X)] == [p.tolist() for p in whole.predict(X)]


@pytest.mark.parametrize(("kind", "name"), LEFT_OUT)
@pytest.mark.parametrize("is_part", [False, True], ids=["alone", "of columns"])
def test_what_one_lacks_is_named_before_the_first_sweep(kind, name, is_part, monkeypatch):
    functions = {*ALWAYS, *NEEDED[kind]} - {name}
    emission, table = HalfEmission(tuple(sorted(functions))), X
    if is_part:
        emission = Columns([(Gaussian(), [0]), (emission, [1])])
        table = [np.stack([own, own], axis=1) for own in X]

    def begun(*_, **__):
        raise AssertionError("a restart has begun")

    monkeypatch.setattr(ALGORITHMS[kind], "start", begun)
    says = f"needs {name} of an emission, which HalfFamily does not have"
    with pytest.raises(NotImplementedError, match=says):
        fitted(kind, emission, table)
    if kind is not GibbsHMM:
        with pytest.raises(NotImplementedError, match=says):
            kind(2, emission=emission, random_state=0).partial_fit(table)


@pytest.mark.parametrize("is_part", [False, True], ids=["alone", "of columns"])
def test_what_a_forecast_lacks_is_named(is_part):
    emission, table = HalfEmission((*ALWAYS, *NEEDED[EMHMM], "sample")), X
    if is_part:
        emission = Columns([(Gaussian(), [0]), (emission, [1])])
        table = [np.stack([own, own], axis=1) for own in X]
    model = fitted(EMHMM, emission, table)
    says = "predict_next needs moments of an emission, which HalfFamily does not have"
    with pytest.raises(NotImplementedError, match=says):
        model.predict_next(table)


def test_with_moments_and_samples_one_is_forecast():
    model = fitted(EMHMM, HalfEmission((*ALWAYS, *NEEDED[EMHMM], "sample", "moments")))
    found, whole = (
        one.predict_next(X, 2, random_state=0) for one in (model, fitted(EMHMM, "poisson"))
    )
    np.testing.assert_array_equal(found.mean, whole.mean)
