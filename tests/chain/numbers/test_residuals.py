"""Pseudo-residuals against sums over all paths, and against the normal distribution."""

import itertools

import numpy as np
import pytest
from chain.numbers.problems import EMISSIONS, numbers
from scipy import stats

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, HMMParameters, Samples, Transitions
from sklearn_cvb.emissions import Categorical, Columns, Gamma, Gaussian, Poisson

KINDS = [kind for kind in EMISSIONS if kind.split()[-1] not in ("categorical", "regression")]
PLAIN = [
    *("full", "tied", "diag", "spherical", "bernoulli", "poisson", "gamma"),
    *("negative binomial", "multinomial"),
]


def chances(model, x, t, all_others):
    """P(z_t | other steps), by a sum over all paths and densities of single steps."""
    family, point = (getattr(model._learned.extra.numeric, name) for name in ("family", "point"))
    n, K = len(x), model.n_components
    logs = np.empty((n, K))
    family.log_densities(point).fill(family.read(x), np.array([0, n]), logs)
    total = np.zeros(K)
    last = n if all_others else t + 1
    for path in itertools.product(range(K), repeat=last):
        weight = model.startprob_[path[0]]
        for here, there in itertools.pairwise(path):
            weight *= model.transmat_[here, there]
        if all_others and getattr(model.transitions, "end_state", False):
            weight *= model.endprob_[path[-1]]
        total[path[t]] += weight * np.exp(sum(logs[s, path[s]] for s in range(last) if s != t))
    return total / total.sum()


def distribution(kind, shown, k, d, x):
    """The distribution of one column in one state, in the units of the data."""
    if kind in ("full", "tied", "diag", "spherical"):
        covariances = shown.covariances_
        variances = {
            "full": lambda: np.diagonal(covariances, axis1=1, axis2=2)[k, d],
            "tied": lambda: covariances[d, d],
            "diag": lambda: covariances[k, d],
            "spherical": lambda: covariances[k],
        }
        return stats.norm(shown.means_[k, d], np.sqrt(variances[kind]()))
    if kind == "bernoulli":
        return stats.bernoulli(shown.probabilities_[k, d])
    if kind == "poisson":
        return stats.poisson(shown.rates_[k, d])
    if kind == "gamma":
        return stats.gamma(2.0, scale=1 / shown.rates_[k, d])
    if kind == "negative binomial":
        return stats.nbinom(3, shown.probabilities_[k, d])
    return stats.binom(int(x.sum()), shown.probabilities_[k, d])


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("given", ["others", "past"])
@pytest.mark.parametrize("has_end", [False, True])
@pytest.mark.parametrize("kind", PLAIN)
def test_they_are_sums_over_all_paths(kind, has_end, given):
    """Of counts at a fixed place within their steps."""
    series = numbers(kind, [6, 5, 6], missing="steps" if kind == "multinomial" else "values")
    transitions = Transitions(end_state=has_end)
    model = VBHMM(2, emission=EMISSIONS[kind], transitions=transitions, max_iter=3, random_state=0)
    model.fit(series)
    weights, found = [], model.pseudo_residuals(series, given, random_state=0)
    for x in series:
        weights += [chances(model, x, t, given == "others") for t in range(len(x))]
    seed = np.random.RandomState(0).randint(2**31 - 1)
    place = np.random.default_rng(seed).random((17, x.shape[1]))
    for t, (x, r, w) in enumerate(
        zip(np.concatenate(series), np.concatenate(list(found)), weights, strict=True)
    ):
        for d in range(len(x)):
            if np.isnan(x[d]):
                assert np.isnan(r[d])
                continue
            each = [distribution(kind, model, k, d, x) for k in range(2)]
            up_to = sum(w[k] * each[k].cdf(x[d]) for k in range(2))
            before = up_to
            if hasattr(each[0].dist, "pmf"):
                before = sum(w[k] * each[k].cdf(x[d] - 1) for k in range(2))
            expected = before + place[t, d] * (up_to - before)
            assert stats.norm.cdf(r[d]) == pytest.approx(expected, abs=1e-10)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", ["regression", "tied regression", "autoregression"])
def test_outputs_stand_where_inputs_say(kind):
    """Inputs, and steps without all of their inputs, have none."""
    series = numbers(kind, [6, 5, 6], missing="values")
    model = EMHMM(2, emission=EMISSIONS[kind], max_iter=3, random_state=0).fit(series)
    found = model.pseudo_residuals(series)
    n_seen = 0
    for i, x in enumerate(series):
        is_lagged = kind == "autoregression"
        inputs, outputs = (x[:-1], [0, 1]) if is_lagged else (x[:, [1]], [0, 2])
        for t in range(len(x)):
            here = inputs[t] if not is_lagged else (inputs[t - 1] if t else [np.nan])
            if np.isnan([*here, *x[t, outputs]]).any():
                assert np.isnan(found[i][t]).all()
                continue
            n_seen += 1
            w = chances(model, x, t, True)
            for place, d in enumerate(outputs):
                means = model.intercepts_[:, place] + here @ model.coefficients_[:, :, place].T
                widths = np.sqrt(model.covariances_[..., place, place])
                expected = w @ stats.norm.cdf(x[t, d], means, widths)
                assert stats.norm.cdf(found[i][t, d]) == pytest.approx(expected, abs=1e-10)
            assert np.isnan(found[i][t]).sum() == x.shape[1] - len(outputs)
    assert n_seen > 2


@pytest.mark.long
def test_angles_begin_at_minus_pi():
    kind = "von mises"
    series = numbers(kind, [6, 5, 6], missing="values")
    model = EMHMM(2, emission=EMISSIONS[kind], max_iter=3, random_state=0).fit(series)
    found = model.pseudo_residuals(series)
    grid = np.linspace(-np.pi, np.pi, 200_001)
    for i, x in enumerate(series):
        for t, d in np.argwhere(~np.isnan(x)):
            w = chances(model, x, t, True)
            below = grid <= x[t, d]
            each = [
                stats.vonmises.pdf(grid, model.concentrations_[k, d], model.directions_[k, d])
                for k in range(2)
            ]
            expected = w @ [(own * below).sum() / own.sum() for own in each]
            assert stats.norm.cdf(found[i][t, d]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [*KINDS, "shapes"])
def test_they_are_normal_where_the_model_is_right(kind):
    """Of data that the model itself draws; those given the past are independent, too."""
    emission = Gamma(shape=None) if kind == "shapes" else EMISSIONS[kind]
    training = numbers("gamma" if kind == "shapes" else kind, [60] * 4)
    model = EMHMM(2, emission=emission, max_iter=20, random_state=0).fit(training)
    drawn, _ = model.sample(1, 4000, random_state=1)
    for given in ("others", "past"):
        found = model.pseudo_residuals(list(drawn), given, random_state=2)[0]
        for column in found[1:].T:
            assert stats.kstest(column, "norm").pvalue > 1e-3
            if given == "past":
                assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 0.06


def test_what_a_model_misses_is_seen():
    """Two states for data of three regimes, and one outlier among many steps."""
    rng = np.random.default_rng(0)
    x = rng.normal([0.0, 4.0, 12.0], 1.0, (900, 3))[np.arange(900), np.arange(900) // 20 % 3]
    x[150] = 40.0
    wrong = EMHMM(2, emission="gaussian", random_state=0, n_init=3).fit([np.delete(x, 150)])
    right = EMHMM(3, emission="gaussian", random_state=0, n_init=5).fit([np.delete(x, 150)])
    kept = [np.delete(model.pseudo_residuals([x])[0], 150) for model in (wrong, right)]
    far = [stats.kstest(own, "norm").statistic for own in kept]
    assert far[0] > 2 * far[1]
    assert right.pseudo_residuals([x])[0][150, 0] > 8


def test_shapes_seeds_and_wrong_calls():
    table = np.random.default_rng(0).poisson(5.0, (3, 9)).astype(float)
    model = CVBHMM(2, emission="poisson", random_state=0).fit(table)
    found = model.pseudo_residuals(table, random_state=0)
    assert found.shape == (3, 9)
    np.testing.assert_array_equal(found, model.pseudo_residuals(table, random_state=0))
    assert (found != model.pseudo_residuals(table, random_state=1)).any()
    for wrong in ("future", None):
        with pytest.raises(ValueError, match="given"):
            model.pseudo_residuals(table, wrong)
    with pytest.raises(AttributeError, match="symbols have no order"):
        EMHMM(2, random_state=0).fit([list("abab")]).pseudo_residuals([list("ab")])
    sampler = GibbsHMM(2, emission="poisson", max_iter=20, samples=Samples(4), random_state=0)
    assert np.isfinite(sampler.fit(table).pseudo_residuals(table)).all()


def test_columns_without_an_order_and_sequences_without_a_path_are_nan():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=30), rng.integers(0, 3, 30), rng.poisson(3, 30)])
    parts = [(Poisson(), [2]), (Gaussian("diag"), [0]), (Categorical(), [1])]
    model = EMHMM(2, emission=Columns(parts), random_state=0).fit([x])
    found = model.pseudo_residuals([x], random_state=0)[0]
    assert np.isnan(found).all(axis=0).tolist() == [False, True, False]
    steps = [[0.0, 1.0], [1.0, 0.0]]
    rates = {"rates": [[1e-3], [1e3]]}
    known = HMMParameters(startprob=[1.0, 0.0], transmat=steps, emissions=rates)
    lost = EMHMM.from_parameters(known, emission="poisson")
    found = lost.pseudo_residuals([[[0], [900], [0]]], random_state=0)[0]
    assert np.isfinite(found).all()
