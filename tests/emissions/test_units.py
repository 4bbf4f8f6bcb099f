"""Scale, offset, floors and odd columns: what a family makes of data that strain float64."""

import numpy as np
import pytest
from emissions.plain import CASES, scores_of, soft, without_prior

from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Bernoulli, Categorical, Gaussian, Poisson
from sklearn_cvb.reading.moments import moments_of

KINDS = ("full", "tied", "diag", "spherical")
WHOLE = np.array([0, 40])


def fitted(emission, table, n_states=2, seed=3):
    """Family, statistics under soft posteriors, and the observations."""
    family = emission.bind(moments_of(table), n_states)
    observations, posterior = family.read(table), soft(len(table), n_states, seed)
    statistics = family.statistics(observations, posterior, np.array([0, len(table)]))[0]
    return family, statistics, observations


def numbers(n_steps=40, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_steps, n_columns)) @ rng.normal(size=(n_columns, n_columns))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e6), (1e8, 1e12)])
def test_scale_and_offset_change_the_volume_alone(kind, factor, offset):
    table = numbers()
    moved = factor * table + offset
    one, other = fitted(Gaussian(kind), table), fitted(Gaussian(kind), moved)
    # Digits that the offset leaves.
    tolerance = 1e-9 + 1e-14 * offset / factor
    volume = 3 * np.log(factor)
    assert one[0].divergence(one[1]) == pytest.approx(other[0].divergence(other[1]), rel=tolerance)
    evidences = one[0].log_evidence(one[1]), other[0].log_evidence(other[1])
    assert evidences[1] + 40 * volume == pytest.approx(evidences[0], rel=tolerance)
    for name in ("expected_log_densities", "predictive"):
        scores = [scores_of(getattr(own[0], name)(own[1]), own[2], 40, 2) for own in (one, other)]
        np.testing.assert_allclose(
            scores[1] + volume, scores[0], rtol=10 * tolerance, atol=tolerance
        )
    for name in ("mean", "most_likely"):
        shown = [own[0].attributes(getattr(own[0], name)(own[1])) for own in (one, other)]
        means = (shown[1]["means_"] - offset) / factor
        np.testing.assert_allclose(means, shown[0]["means_"], rtol=1e-6, atol=tolerance)
        covariances = shown[1]["covariances_"] / factor**2
        np.testing.assert_allclose(covariances, shown[0]["covariances_"], rtol=1e-7)
        np.testing.assert_allclose(
            shown[1]["precisions_"] * factor**2, shown[0]["precisions_"], rtol=1e-7
        )


@pytest.mark.parametrize("kind", KINDS)
def test_precisions_are_the_inverses_of_covariances(kind):
    family, statistics, _ = fitted(Gaussian(kind), numbers())
    shown = family.attributes(family.mean(statistics))
    if kind in ("diag", "spherical"):
        np.testing.assert_allclose(shown["precisions_"] * shown["covariances_"], 1.0)
        np.testing.assert_allclose(shown["precisions_cholesky_"] ** 2, shown["precisions_"])
        return
    identity = shown["precisions_"] @ shown["covariances_"]
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(3), identity.shape), atol=1e-9)
    cholesky = shown["precisions_cholesky_"]
    np.testing.assert_allclose(cholesky @ np.swapaxes(cholesky, -1, -2), shown["precisions_"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_of_one_step_has_the_smallest_variance(kind):
    """In every direction: a share of the columns' variances."""
    table = numbers()
    family = Gaussian(kind, reg_covar=1e-4).bind(moments_of(table), 2)
    posterior = np.zeros((40, 2))
    posterior[0, 1] = 1.0
    # All others are missing from both.
    statistics = family.statistics(family.read(table), posterior, WHOLE)[0]
    point = family.most_likely(statistics)
    shown = family.attributes(point)
    np.testing.assert_allclose(shown["means_"][1], table[0], rtol=1e-12)
    deviations = table.std(axis=0)
    if kind == "spherical":
        deviations = np.full(3, np.sqrt((deviations**2).mean()))
    covariance = np.asarray(shown["covariances_"]) if kind == "tied" else shown["covariances_"][1]
    if np.ndim(covariance) < 2:
        covariance = np.diag(np.broadcast_to(covariance, 3))
    np.testing.assert_allclose(covariance, 1e-4 * np.diag(deviations**2), rtol=1e-9, atol=1e-20)


def test_floors_of_the_others():
    table = np.zeros((40, 1))
    table[0] = 1.0
    posterior = np.zeros((40, 2))
    posterior[0, 0] = posterior[1, 1] = 1.0

    def likeliest(emission):
        family = emission.bind(moments_of(table), 2)
        statistics = family.statistics(family.read(table), posterior, WHOLE)[0]
        return family.attributes(family.most_likely(statistics))

    found = likeliest(Bernoulli(floor=0.01))["probabilities_"].ravel()
    np.testing.assert_allclose(found, [0.99, 0.01])
    np.testing.assert_allclose(likeliest(Poisson())["rates_"].ravel(), [1.0, 1e-6 / 40])
    tables = likeliest(Categorical(floor=0.01))["category_probabilities_"]
    np.testing.assert_allclose(tables[0], np.array([[0.01, 1.0], [1.0, 0.01]]) / 1.01)


# Covariances that all states share go on changing.
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("tied")])
def test_states_without_a_step_keep_their_parameters(name):
    case = CASES[name]
    family = without_prior(case.emission).bind(moments_of(case.table), 2)
    observations, whole = family.read(case.table), np.array([0, 9])
    both = np.full((9, 2), 0.5)
    both[:4, 0], both[:4, 1] = 0.9, 0.1
    before = family.most_likely(family.statistics(observations, both, whole)[0])
    one = np.zeros((9, 2))
    one[:, 0] = 1.0
    after = family.most_likely(family.statistics(observations, one, whole)[0], before)
    kept, now = (
        scores_of(family.log_densities(point), observations, 9, 2) for point in (before, after)
    )
    np.testing.assert_allclose(now[:, 1], kept[:, 1], rtol=1e-12)
    assert np.abs(now[:, 0] - kept[:, 0]).max() > 1e-3


def test_a_sphere_stays_one_where_a_column_is_missing():
    """A state that never saw a column knows its variance from the others."""
    table = numbers()
    table[:, 1] = np.nan
    family, statistics, observations = fitted(Gaussian("spherical"), table)
    point = family.most_likely(statistics)
    assert np.ptp(point.variances, axis=0).max() == 0
    both = table[:, [0, 2]]
    weights = soft(40, 2)
    means = (weights.T @ both) / weights.sum(axis=0)[:, None]
    squares = [(weights[:, k] @ (both - means[k]) ** 2).sum() for k in range(2)]
    expected = np.array(squares) / (2 * weights.sum(axis=0))
    np.testing.assert_allclose(family.attributes(point)["covariances_"], expected, rtol=1e-9)
    assert np.isfinite(scores_of(family.log_densities(point), observations, 40, 2)).all()


def test_a_sphere_takes_one_number_for_its_prior():
    with pytest.raises(ValueError, match="covariance_prior must be one number"):
        Gaussian("spherical", covariance_prior=[1.0, 2.0, 1.0]).bind(moments_of(numbers()), 2)
    family = Gaussian("spherical", covariance_prior=[2.0, 2.0, 2.0]).bind(moments_of(numbers()), 2)
    assert family.prior.scale[0] > 0


ODD = {
    "constant": lambda: np.column_stack([numbers()[:, :2], np.full(40, 7.7)]),
    "zeros": lambda: np.column_stack([numbers()[:, :2], np.zeros(40)]),
    "all constant": lambda: np.full((40, 3), -3.3),
    "duplicated": lambda: numbers()[:, [0, 1, 1]],
    "nearly duplicated": lambda: numbers()[:, [0, 1, 1]] * [1.0, 1.0, 1.0 + 1e-12],
    "more columns than steps": lambda: numbers(8, 20)[:, :20],
    "one step": lambda: numbers(1),
    "far offset": lambda: numbers() + 1e6,
    "tiny": lambda: numbers() * 1e-8,
    "huge": lambda: numbers() * 1e8,
    "constant but for rounding": lambda: 0.1 + 1e-17 * np.arange(120).reshape(40, 3) + 0.2,
    "outlier": lambda: np.vstack([numbers(39), [[1e150, -1e150, 0.0]]]),
    "scales apart": lambda: numbers() * [1e-8, 1.0, 1e8],
}


@pytest.mark.many(usual=13)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("error")
def test_odd_columns_leave_everything_finite(name, kind):
    table = ODD[name]()
    n_steps = len(table)
    family = Gaussian(kind).bind(moments_of(table), 3)
    observations, whole = family.read(table), np.array([0, n_steps])
    hard = np.eye(3)[np.arange(n_steps) % 3]
    for posterior in (soft(n_steps, 3), hard, np.eye(3)[np.zeros(n_steps, int)]):
        statistics = family.statistics(observations, posterior, whole)[0]
        assert np.isfinite([family.divergence(statistics), family.log_evidence(statistics)]).all()
        rng = np.random.default_rng(0)
        points = [family.most_likely(statistics), family.mean(statistics)]
        points.append(family.draw(statistics, rng))
        scores = [family.log_densities(point) for point in points]
        # As subtraction leaves statistics in collapsed inference.
        own = family.statistics(observations.part(0, 1), posterior[:1], np.array([0, 1]))[0]
        rest = statistics - own
        scores += [family.expected_log_densities(statistics), family.predictive(statistics)]
        scores += [family.predictive(rest), family.predictive(statistics - statistics)]
        for own in scores:
            assert np.isfinite(scores_of(own, observations, n_steps, 3)).all()
        for point in points:
            for value in family.attributes(point).values():
                assert np.isfinite(value).all()
            assert np.isfinite(family.sample(point, np.arange(3), rng)).all()


def test_codes_that_are_no_categories_are_refused():
    with pytest.raises(ValueError, match=r"column 1 has a category code of 1e\+08"):
        EMHMM(2, emission=Categorical()).fit([[[0, 1], [1, 10**8], [0, 2]]])
