"""Draws from the posterior that a mean field leaves: their distribution, and what takes them."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    Durations,
    HMMParameters,
    Transitions,
    VBHMMTagger,
)
from sklearn_cvb.emissions import Columns, Gaussian, Mixture, Poisson

X = [["a", "b", "c", "b"], ["b", "a", None], ["c", "c", "a", "b"], ["a"]] * 3
Y = [[0, -1, -1, -1], [-1, 1, -1], [-1, -1, -1, 0], [-1]] * 3
LISTED = {"a": ["N", "V"], "b": ["N"], "c": ["D", "V"]}
_RNG = np.random.default_rng(0)
SERIES = [np.round(np.repeat([1.0, 9.0, 2.0], 4) + _RNG.normal(size=12), 2) for _ in "abc"]
COUNTS = [np.round(np.abs(series)) for series in SERIES]
IN_CONTEXT = [np.column_stack([series, np.arange(12) % 2]) for series in SERIES]
SETTINGS = {"max_iter": 20, "random_state": 0}
MODELS = {
    "plain": (VBHMM(2, **SETTINGS), X),
    "labels": (CVBHMM(2, supervision="y", **SETTINGS), X),
    "starts": (VBHMM(2, transitions=Transitions(start_alpha=[5.0, 0.2]), **SETTINGS), X),
    "left-right": (CVBHMM(3, transitions="left-right", **SETTINGS), X),
    "independent": (VBHMM(2, transitions="independent", **SETTINGS), X),
    "end": (CVBHMM(2, transitions=Transitions(end_state=True), **SETTINGS), X),
    "hdp": (VBHMM(3, transitions=Transitions(prior="hdp"), n_init=1, **SETTINGS), X),
    "dictionary": (CVBHMMTagger(LISTED, **SETTINGS), X),
    "weights": (VBHMMTagger({"a": {"N": 3, "V": 1}, "b": ["N"], "c": ["V"]}, **SETTINGS), X),
    "gaussian": (VBHMM(2, emission="gaussian", **SETTINGS), SERIES),
    "poisson": (CVBHMM(2, emission="poisson", **SETTINGS), COUNTS),
    "mixture": (VBHMM(2, emission=Mixture(Gaussian("diag")), **SETTINGS), SERIES),
    "columns": (
        VBHMM(2, emission=Columns([(Gaussian("diag"), [0]), (Poisson(), [1])]), **SETTINGS),
        IN_CONTEXT,
    ),
    "contexts": (
        VBHMM(2, emission="gaussian", transitions=Transitions(contexts=1), **SETTINGS),
        IN_CONTEXT,
    ),
    "durations": (
        VBHMM(
            3,
            emission="gaussian",
            transitions=Transitions("left-right", durations=Durations(longest=6)),
            **SETTINGS,
        ),
        SERIES,
    ),
}


def fitted(name):
    model, data = MODELS[name]
    return model.fit(data, Y if name == "labels" else None)


def ends_and_draws(found, draws):
    """Tables of interval ends and of draws, of chains and of the emissions that both name."""
    yield found.start, draws.startprob
    yield found.transition, draws.transmat
    if isinstance(found.emission, np.ndarray):
        yield found.emission, draws.emission["emissionprob"]
        return
    parts = found.emission if isinstance(found.emission, list) else [found.emission]
    for own, drawn in zip(parts, draws.emission.get("parts", [draws.emission]), strict=True):
        for name in own.keys() & {"means", "rates", "variances"}:
            table = drawn["covariances" if name == "variances" else name]
            yield own[name], table.reshape(len(table), *own[name].shape[1:])


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("name", MODELS)
def test_half_of_the_draws_are_in_the_intervals_that_hold_half(name):
    """Of each probability and parameter alone: these are exact quantiles of its marginal."""
    model, n_draws, n_cells = fitted(name), 800, 0
    given = {"level": 0.5, "method": "mean field"}
    found = model.credible_intervals(**given, n_draws=n_draws, random_state=0)
    assert found.draws.posteriors == ()
    for ends, drawn in ends_and_draws(found, found.draws):
        lower, upper = ends
        # What a dictionary rules out shares the rest of its row, and is in no draw.
        moves = (upper > lower) & (drawn.max(axis=0) > 0)
        inside = ((lower <= drawn) & (drawn <= upper)).mean(axis=0)[moves]
        assert np.abs(inside - 0.5).max(initial=0.0) < 5 * np.sqrt(0.25 / n_draws)
        below = (drawn < lower).mean(axis=0)[moves]
        assert np.abs(below - 0.25).max(initial=0.0) < 5 * np.sqrt(0.1875 / n_draws)
        n_cells += moves.sum()
    assert n_cells > 5
    few = model.credible_intervals(**given, n_draws=1, random_state=5)
    for (ends, _), (other, _) in zip(
        ends_and_draws(found, found.draws), ends_and_draws(few, few.draws), strict=True
    ):
        np.testing.assert_array_equal(ends, other)


def test_rows_are_drawn_from_their_dirichlets():
    model = VBHMM(2, alpha=1.0, **SETTINGS).fit(X)
    draws = model.credible_intervals(method="mean field", n_draws=4000, random_state=0).draws
    counts, prior = model.counts_, model._learned.prior
    for table, u in (
        (draws.startprob[:, None], (counts.start + prior.start)[None]),
        (draws.transmat, counts.transition + prior.transition),
    ):
        np.testing.assert_allclose(table.sum(axis=2), 1.0, rtol=1e-12)
        total = u.sum(axis=1, keepdims=True)
        mean = u / total
        variance = mean * (1.0 - mean) / (total + 1.0)
        np.testing.assert_allclose(table.mean(axis=0), mean, atol=0.01)
        np.testing.assert_allclose(table.var(axis=0), variance, rtol=0.12)
    # One draw knows nothing of the next one.
    first = draws.transmat[:, 0, 0]
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.06


def test_there_are_as_many_as_are_asked_for_and_a_seed_fixes_them():
    model = fitted("plain")
    found = model.credible_intervals(method="mean field", random_state=3).draws
    again = model.credible_intervals(method="mean field", random_state=3).draws
    other = model.credible_intervals(method="mean field", random_state=4).draws
    assert found.transmat.shape == (40, 2, 2)
    np.testing.assert_array_equal(found.transmat, again.transmat)
    assert (found.transmat != other.transmat).all()
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        model.credible_intervals(method="mean field", n_draws=0)


@pytest.mark.parametrize("emission", ["categorical", "poisson"])
def test_predictions_and_scores_are_means_over_drawn_parameters(emission):
    """Scores are the predictive likelihood of Beal (2003), eq. 3.81."""
    data = COUNTS if emission == "poisson" else [["a", "b", "c", "b"], ["c", "c", "a"]] * 4
    model = VBHMM(2, emission=emission, **SETTINGS).fit(data)
    draws = model.credible_intervals(method="mean field", n_draws=7, random_state=0).draws
    tables, likelihoods = [], []
    emitted = draws.emission["rates" if emission == "poisson" else "emissionprob"]
    for start, transmat, own in zip(draws.startprob, draws.transmat, emitted, strict=True):
        known = {"emission": emission, "rates": own}
        if emission == "categorical":
            known = {"emissionprob": own, "vocabulary": ["a", "b", "c"]}
        one = EMHMM.from_parameters(startprob=start, transmat=transmat, **known)
        tables.append(one.predict_proba(data[:1])[0])
        likelihoods.append(one.score_samples(data))
    found = model.predict_proba(data[:1], draws=draws)[0]
    np.testing.assert_allclose(found, np.mean(tables, axis=0), atol=1e-12)
    mean = logsumexp(likelihoods, axis=0) - np.log(7)
    np.testing.assert_allclose(model.score_samples(data, draws=draws), mean, rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihoods(data, draws), likelihoods, rtol=1e-12)


def test_the_bound_on_the_predictive_likelihood_is_below_it():
    """Beal (2003): eq. 3.84 bounds what eq. 3.81 averages."""
    model = fitted("plain")
    draws = model.credible_intervals(method="mean field", n_draws=2000, random_state=0).draws
    gaps = model.score_samples(X[:4], draws=draws) - model.lower_bound_samples(X[:4])
    assert (gaps > 0.02).all()


def test_forecasts_go_on_under_drawn_parameters():
    model = fitted("gaussian")
    draws = model.credible_intervals(method="mean field", random_state=0).draws
    found = model.predict_next(SERIES, 2, draws=draws, n_draws=400, random_state=0)
    assert found.samples.shape == (3, 400, 2, 1)
    assert np.isfinite(found.samples).all()


def test_rows_that_are_fixed_are_so_in_each_draw():
    known = HMMParameters(
        startprob=[0.25, 0.75],
        transmat=[[0.5, 0.5], [0.125, 0.875]],
        emissions={"rates": [[1.0], [9.0]]},
    )
    fixed = {"start": True, "transitions": [True, False], "emissions": True}
    model = VBHMM(2, emission="poisson", init=known, fixed=fixed, **SETTINGS).fit(COUNTS)
    draws = model.credible_intervals(method="mean field", random_state=0).draws
    np.testing.assert_allclose(draws.startprob, np.tile([0.25, 0.75], (40, 1)), rtol=1e-12)
    np.testing.assert_allclose(draws.transmat[:, 0], 0.5, rtol=1e-12)
    assert len(np.unique(draws.transmat[:, 1, 0])) == 40
    np.testing.assert_allclose(draws.emission["rates"], np.tile([[1.0], [9.0]], (40, 1, 1)))
