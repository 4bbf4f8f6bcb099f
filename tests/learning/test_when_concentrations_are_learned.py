"""After a random or harmonic start concentrations rest for some sweeps, and no fit stops before."""

import pytest
from estimators import is_sampler
from sklearn.base import clone

import sklearn_cvb
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.learning.dirichlet import FIRST_VALUE, WARM_UP_SWEEPS

# Sweeps before counts are compared with those of half as many.
FIRST_COMPARISON = 10

# Every way to sweep that learns concentrations and may stop by itself.
AUTO = [
    (name, title)
    for name, situations in SITUATIONS.items()
    for title in situations
    if "auto" in title and not is_sampler(getattr(sklearn_cvb, name))
]


def model_of(name, title, **settings):
    """A model that takes any change for small, and what it is fitted to."""
    situation = SITUATIONS[name][title]
    settings = situation.settings | {"tol": 1e9, "max_iter": 100} | settings
    return getattr(sklearn_cvb, name)(**settings), situation.X


@pytest.mark.many(usual=4)
@pytest.mark.parametrize(("name", "title"), AUTO)
def test_a_fit_learns_before_it_stops(name, title):
    model, X = model_of(name, title)
    model.fit(X)
    assert model.converged_
    assert model.n_iter_ == WARM_UP_SWEEPS + FIRST_COMPARISON
    assert model.alpha_ != FIRST_VALUE
    assert getattr(model, "beta_", None) != FIRST_VALUE
    names = model.get_params()
    others = {key: 0.1 for key in ("beta", "valence__alpha_stop") if key in names}
    fixed = clone(model).set_params(alpha=0.1, **others).fit(X)
    assert fixed.n_iter_ <= FIRST_COMPARISON


@pytest.mark.many(usual=4)
@pytest.mark.parametrize(("name", "title"), AUTO)
def test_a_fit_that_ends_before_it_learns_has_not_converged(name, title):
    model, X = model_of(name, title, max_iter=8, warm_start=True)
    for n_sweeps in (8, 16):
        with pytest.warns(UserWarning, match=f"{n_sweeps} sweeps are too few to learn"):
            model.fit(X)
        assert (model.n_iter_, model.converged_, model.alpha_) == (8, False, FIRST_VALUE)
    model.set_params(max_iter=100).fit(X)
    assert model.converged_
    assert model.n_iter_ == WARM_UP_SWEEPS - 16 + FIRST_COMPARISON
    assert model.alpha_ != FIRST_VALUE


@pytest.mark.parametrize("name", ["VBDMV", "CVBDMV"])
def test_a_fit_waits_for_the_concentration_of_decisions_alone(name):
    model, X = model_of(name, "auto", alpha=0.5)
    model.fit(X)
    assert model.n_iter_ == WARM_UP_SWEEPS + FIRST_COMPARISON
    assert (model.alpha_, model.alpha_stop_ != FIRST_VALUE) == (0.5, True)


@pytest.mark.parametrize("name", ["VBHMM", "CVBHMM", "VBHMMTagger", "CVBHMMTagger"])
def test_nothing_waits_after_a_start_that_says_something(name):
    first, X = model_of(name, "none", max_iter=3)
    again, _ = model_of(name, "none", alpha="auto", init=first.fit(X))
    again.fit(X)
    assert again.n_iter_ == FIRST_COMPARISON
    assert again.alpha_ != FIRST_VALUE
