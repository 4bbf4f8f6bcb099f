"""Every family against scipy.stats, and each of its methods against another."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from emissions.plain import CASES, WHOLE, bound, scores_of, without_prior
from scipy.special import i0e, logsumexp

from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson
from sklearn_cvb.emissions.angles import VonMisesFamily
from sklearn_cvb.emissions.categorical import CategoricalFamily
from sklearn_cvb.emissions.columns import MixedFamily
from sklearn_cvb.emissions.emission import Observations
from sklearn_cvb.emissions.poisson import NegativeBinomialScores
from sklearn_cvb.learning.model import map_arrays
from sklearn_cvb.reading.moments import moments_of

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
# Densities of angles are integrals, of which each takes a while.
every_density = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=[pytest.mark.long] * name.startswith("von mises"))
        for name, case in CASES.items()
    ],
)
every_family = pytest.mark.parametrize("case", WHOLE.values(), ids=WHOLE)


@every_density
def test_predictive_densities_are_those_of_the_textbook(case):
    family, observations, posterior, statistics = bound(case)
    found = scores_of(family.predictive(statistics), observations, *posterior.shape)
    plain = [[case.predictive(x, k, case.table, posterior) for k in range(2)] for x in case.table]
    np.testing.assert_allclose(found, plain, atol=1e-9, rtol=1e-10)


@every_density
def test_prior_predictive_densities_are_those_of_the_textbook(case):
    family, observations, posterior, statistics = bound(case)
    nothing = np.zeros_like(statistics)
    found = scores_of(family.predictive(nothing), observations, *posterior.shape)
    # The prior alone: a step far away that weighs nothing.
    far = posterior * 1e-12
    plain = [[case.predictive(x, k, case.table, far) for k in range(2)] for x in case.table]
    np.testing.assert_allclose(found, plain, atol=1e-7)


@every_case
def test_densities_at_a_point_are_those_of_scipy(case):
    family, observations, posterior, statistics = bound(case)
    for point in (family.mean(statistics), family.draw(statistics, np.random.default_rng(0))):
        shown = family.attributes(point)
        found = scores_of(family.log_densities(point), observations, *posterior.shape)
        plain = [[case.density(x, k, shown) for k in range(2)] for x in case.table]
        np.testing.assert_allclose(found, plain, atol=1e-9, rtol=1e-9)


@every_case
def test_evidence_is_the_product_of_predictive_densities(case):
    """One step after another, each in one state; the prior alone has the evidence 1."""
    family, observations, posterior, statistics = bound(case)
    states = posterior.argmax(axis=1)
    so_far, total = np.zeros_like(statistics), 0.0
    assert abs(family.log_evidence(so_far)) < 1e-12
    for t, k in enumerate(states):
        one = observations.part(t, t + 1)
        total += scores_of(family.predictive(so_far), one, 1, 2)[0, k]
        so_far = so_far + family.statistics(one, np.eye(2)[[k]], np.array([0, 1]))[0]
        assert abs(family.log_evidence(so_far) - total) < 1e-10 * max(1.0, abs(total))


@every_case
def test_predictive_density_is_a_quotient_of_evidences(case):
    family, observations, posterior, statistics = bound(case)
    found = scores_of(family.predictive(statistics), observations, *posterior.shape)
    before = family.log_evidence(statistics)
    for t in range(len(posterior)):
        one = observations.part(t, t + 1)
        for k in range(2):
            own = family.statistics(one, np.eye(2)[[k]], np.array([0, 1]))[0]
            assert abs(family.log_evidence(statistics + own) - before - found[t, k]) < 1e-10


@every_case
def test_predictive_densities_of_units_are_those_of_their_steps_alone(case):
    family, observations, posterior, statistics = bound(case)
    n, by_unit = len(posterior), np.stack([statistics, 0.5 * statistics])
    many, found = family.read(np.tile(case.table, (6, 1))), np.empty((6 * n, 2))
    family.predictive(by_unit).fill(many, np.array([0, n, 6 * n]), found)
    for own, steps in zip(by_unit, (found[:n], found[-n:]), strict=True):
        scores = family.predictive(own)
        alone = [scores_of(scores, observations.part(t, t + 1), 1, 2)[0] for t in range(n)]
        np.testing.assert_allclose(steps, alone, rtol=1e-11, atol=1e-12)


@every_case
def test_columns_one_after_the_other_are_read_as_rows_are(case):
    """No kernel is compiled for both layouts."""
    family = bound(case).family

    def layout_of(table):
        return map_arrays(lambda part: part is None or part.flags.c_contiguous, family.read(table))

    assert layout_of(np.asfortranarray(case.table)) == layout_of(case.table)


@every_case
def test_expected_log_densities_are_derivatives_of_the_evidence(case):
    """d/dw log of the integral of p(theta) p(x | theta)^w is E[log p(x | theta)] where w = 0."""
    family, observations, posterior, statistics = bound(case)
    found = scores_of(family.expected_log_densities(statistics), observations, *posterior.shape)
    h = 1e-4
    for t in range(len(posterior)):
        one = observations.part(t, t + 1)
        for k in range(2):
            own = family.statistics(one, np.eye(2)[[k]], np.array([0, 1]))[0]
            # Central differences of order 4.
            values = [family.log_evidence(statistics + w * h * own) for w in (-2, -1, 1, 2)]
            slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
            assert abs(slope - found[t, k]) < 1e-7 * max(1.0, abs(found[t, k]))


@every_case
def test_divergence_is_expected_log_likelihood_minus_log_evidence(case):
    family, observations, posterior, statistics = bound(case)
    expected = scores_of(family.expected_log_densities(statistics), observations, *posterior.shape)
    likelihood = (posterior * expected).sum()
    found = family.divergence(statistics)
    assert found > 0
    assert abs(found - (likelihood - family.log_evidence(statistics))) < 1e-9 * abs(likelihood)
    assert abs(family.divergence(np.zeros_like(statistics))) < 1e-12


@pytest.mark.long(usual=7)
@every_family
def test_draws_have_the_predictive_density_on_average(case):
    """Mean of p(x | draw) is p(x | data), mean of log p(x | draw) is E[log p(x | theta)]."""
    family, observations, posterior, statistics = bound(case)
    rng, n_draws = np.random.default_rng(1), 3000
    logs = np.array(
        [
            scores_of(
                family.log_densities(family.draw(statistics, rng)), observations, *posterior.shape
            )
            for _ in range(n_draws)
        ]
    )
    expected = scores_of(family.expected_log_densities(statistics), observations, *posterior.shape)
    error = 5 * logs.std(axis=0) / np.sqrt(n_draws)
    assert (np.abs(logs.mean(axis=0) - expected) < error + 1e-9).all()
    predictive = scores_of(family.predictive(statistics), observations, *posterior.shape)
    ratios = np.exp(logs - predictive)
    error = 5 * ratios.std(axis=0) / np.sqrt(n_draws)
    assert (np.abs(ratios.mean(axis=0) - 1.0) < error + 1e-9).all()


@pytest.mark.parametrize("name", [name for name in WHOLE if "regression" not in name])
def test_samples_have_the_moments(name):
    case = WHOLE[name]
    family, _, _, statistics = bound(case)
    point, n = family.mean(statistics), 20_000
    means, variances = family.moments(point)
    for k in range(2):
        drawn = family.sample(point, np.full(n, k), np.random.default_rng(k))
        assert drawn.shape == (n, case.table.shape[1])
        errors = np.abs(drawn.mean(axis=0) - means[k]) / np.sqrt(variances[k] / n)
        assert (errors < 5).all()
        fourth = ((drawn - drawn.mean(axis=0)) ** 4).mean(axis=0) - drawn.var(axis=0) ** 2
        assert (np.abs(drawn.var(axis=0) - variances[k]) < 5 * np.sqrt(fourth / n) + 1e-12).all()


def perturbed(family, point, rng, size):
    """A point a little beside another; covariances stay symmetric, probabilities sum to 1."""
    if isinstance(family, MixedFamily):
        parts = zip(family.families, point, strict=True)
        return tuple(perturbed(own, part, rng, size) for own, part in parts)
    if hasattr(point, "coefficients"):
        noise = size * rng.standard_normal(point.covariances.shape)
        noise[:] = noise[:1] if family.is_tied else noise
        factor = np.eye(noise.shape[-1]) + noise
        moved = (one + size * rng.standard_normal(one.shape) for one in point[:2])
        return type(point)(*moved, factor @ point.covariances @ np.swapaxes(factor, 1, 2))
    if hasattr(point, "covariances"):
        noise = size * rng.standard_normal(point.covariances.shape)
        is_tied = np.array_equal(point.covariances[0], point.covariances[-1])
        noise[:] = noise[:1] if is_tied else noise
        factor = np.eye(noise.shape[-1]) + noise
        means = point.means + size * rng.standard_normal(point.means.shape)
        return point._replace(
            means=means, covariances=factor @ point.covariances @ np.swapaxes(factor, 1, 2)
        )
    if hasattr(point, "variances"):
        noise = size * rng.standard_normal(point.variances.shape)
        is_spherical = np.array_equal(point.variances[0], point.variances[-1])
        noise[:] = noise[:1] if is_spherical and len(noise) > 1 else noise
        means = point.means + size * rng.standard_normal(point.means.shape)
        return point._replace(means=means, variances=point.variances * np.exp(noise))
    if hasattr(point, "directions"):
        noise = size * rng.standard_normal((2, *point.directions.shape))
        moved = np.clip(point.concentrations * np.exp(noise[0]), family.grid[0], family.grid[-1])
        return point._replace(directions=point.directions + noise[1], concentrations=moved)
    moved = point * np.exp(size * rng.standard_normal(point.shape))
    return moved / family._totals(moved) if isinstance(family, CategoricalFamily) else moved


def likeliest(emission, table, seed=3):
    """Family, objective of EM at a point of it, and the point that should have the largest."""
    case = WHOLE["full"]._replace(emission=emission, table=table)
    family, observations, posterior, statistics = bound(case, seed=seed)

    def objective(point):
        scores = scores_of(family.log_densities(point), observations, *posterior.shape)
        return float((posterior * scores).sum()) + family.log_prior(point)

    return family, objective, family.most_likely(statistics)


LIKELIEST = {
    f"{name}, {kind}": (emission, case.table)
    for name, case in CASES.items()
    for kind, emission in (("ML", without_prior(case.emission)), ("MAP", case.emission))
}


@pytest.mark.many(usual=17)
@pytest.mark.parametrize(("emission", "table"), LIKELIEST.values(), ids=LIKELIEST)
def test_nothing_near_is_more_likely_than_the_most_likely(emission, table):
    family, objective, best = likeliest(emission, table)
    rng, top = np.random.default_rng(0), objective(best)
    for size in (1e-4, 1e-3, 1e-2, 0.3):
        for _ in range(15):
            assert objective(perturbed(family, best, rng, size)) < top + 1e-9


@every_family
def test_log_priors_are_those_of_scipy(case):
    """Differences between two points, in the units of the data."""
    rng = np.random.default_rng(5)
    family, _, _, statistics = bound(case)
    points = [family.draw(statistics, rng) for _ in range(2)]
    plain = [case.log_prior(family.attributes(point)) for point in points]
    found = [family.log_prior(point) for point in points]
    assert abs((found[1] - found[0]) - (plain[1] - plain[0])) < 1e-8


def test_maximum_likelihood_has_the_moments_of_the_data():
    table, posterior = WHOLE["full"].table, np.ones((9, 1))
    for name, emission in (("full", Gaussian()), ("diag", Gaussian("diag"))):
        family = emission.bind(moments_of(table), 1)
        whole = np.array([0, 9])
        statistics = family.statistics(family.read(table), posterior, whole)[0]
        shown = family.attributes(family.most_likely(statistics))
        np.testing.assert_allclose(shown["means_"][0], table.mean(axis=0), rtol=1e-12)
        covariance = np.cov(table.T, bias=True)
        expected = covariance if name == "full" else np.diag(covariance)
        np.testing.assert_allclose(shown["covariances_"][0], expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_default_prior_is_the_one_of_the_docstring(kind):
    table, n_states = WHOLE["full"].table, 3
    variances, width = table.var(axis=0), 3 if kind in ("full", "tied") else 1
    scale = variances * n_states ** (-2.0 / width)
    if kind == "spherical":
        scale = np.full(3, variances.mean() / n_states**2)
    given = Gaussian(
        kind,
        mean_prior=table.mean(axis=0),
        mean_precision_prior=0.01,
        degrees_of_freedom_prior=5.0 if width == 3 else 3.0,
        covariance_prior=np.diag(scale) if width == 3 else scale,
    )
    posterior, whole = np.full((9, n_states), 1 / n_states), np.array([0, 9])
    values = []
    for emission in (Gaussian(kind), given):
        family = emission.bind(moments_of(table), n_states)
        values.append(
            family.log_evidence(family.statistics(family.read(table), posterior, whole)[0])
        )
    assert abs(values[0] - values[1]) < 1e-9


def test_other_default_priors():
    counts, bits = WHOLE["poisson"].table, WHOLE["bernoulli"].table
    codes = WHOLE["categorical"].table
    pairs = [
        (Bernoulli(), Bernoulli(ones_prior=1.0, zeros_prior=1.0), bits),
        (Categorical(n_categories=4), Categorical(concentration_prior=0.1), codes),
        (Poisson(), Poisson(shape_prior=1.0), counts),
        (
            Poisson(),
            Poisson(shape_prior=1.0, rate_prior=1.0 / counts[:, 0].mean()),
            counts[:, :1],
        ),
    ]
    for default, given, table in pairs:
        values = []
        for emission in (default, given):
            case = WHOLE["full"]._replace(emission=emission, table=table)
            values.append(bound(case))
        found = [own.family.log_evidence(own.statistics) for own in values]
        assert abs(found[0] - found[1]) < 1e-12


def test_columns_add_up_their_parts():
    """In the order of the data, whatever the order of the parts."""
    case = WHOLE["columns"]
    family, _, _, statistics = bound(case)
    means, _ = family.moments(family.mean(statistics))
    shown = family.attributes(family.mean(statistics))["parts_"]
    np.testing.assert_array_equal(means[:, 1], shown[0]["rates_"][:, 0])
    np.testing.assert_array_equal(means[:, 2], shown[1]["means_"][:, 0])
    np.testing.assert_array_equal(means[:, 0], shown[2]["probabilities_"][:, 0])
    alone = [Columns([(Bernoulli(), [0]), (Poisson(), [1]), (Gaussian("diag"), [2])])]
    alone.append(Columns([(Gaussian("diag"), [2]), (Bernoulli(), [0]), (Poisson(), [1])]))
    values = [bound(case._replace(emission=emission)) for emission in alone]
    found = [own.family.log_evidence(own.statistics) for own in values]
    assert abs(found[0] - found[1]) < 1e-12


def exact_log_gamma(z):
    """log Gamma to 40 digits: Stirling's series, where it needs none of its later terms."""
    z, shift = Decimal(z), Decimal(1)
    while z < 200:
        shift *= z
        z += 1
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
    value = (z - Decimal("0.5")) * z.ln() - z + (2 * pi).ln() / 2
    terms = ("12", "-360", "1260", "-1680", "1188", None, "156")
    power = 1 / z
    for term in terms:
        coefficient = Decimal(-691) / 360360 if term is None else 1 / Decimal(term)
        value += coefficient * power
        power /= z * z
    return value - shift.ln()


def exact_negative_binomial(x, shape, rate):
    """log p(x) with 60 digits, of exactly these float64."""
    with localcontext() as context:
        context.prec = 60
        a, b, x = Decimal(shape), Decimal(rate), Decimal(x)
        value = exact_log_gamma(a + x) - exact_log_gamma(a) - exact_log_gamma(x + 1)
        return float(value + a * (b / (b + 1)).ln() - x * (1 + b).ln())


@pytest.mark.many(usual=10)
@pytest.mark.parametrize("shape", [1e-8, 0.3, 1.0, 15.9, 170.0, 9e3, 1e5 / 3, 1e8 / 3, 1e8, 1e12])
@pytest.mark.parametrize("mean", [1e-3, 1.0, 37.5, 1e4, 1e6])
def test_counts_to_come_have_all_digits_at_any_shape(shape, mean):
    """Also far from their mean."""
    for rate in {shape / mean, 0.5, 1e8}:
        x = np.round(mean * np.array([0.0, 0.01, 0.9, 1.0, 1.001, 1.2, 50.0]))
        x = np.unique([x, x + 1])
        scores = NegativeBinomialScores(np.full((1, 1, 1), shape), np.full((1, 1, 1), rate))
        found, whole = np.empty((len(x), 1)), np.array([0, len(x)])
        scores.fill(Observations(x[:, None], None, np.empty((len(x), 0))), whole, found)
        exact = [exact_negative_binomial(value, shape, rate) for value in x.tolist()]
        np.testing.assert_allclose(found[:, 0], exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [0.0, 0.3, 40.0, 5e3, 1e7])
@pytest.mark.parametrize("highest", [30.0, 1e6])
def test_angles_to_come_are_sums_over_all_concentrations(n, highest):
    """However little or much is known, and however concentrated: also opposite to the mean."""
    grid = np.geomspace(0.001, highest, 200)
    length = n * np.array([0.0, 0.4, 0.99, 1.0 - 1e-5, 1.0])
    family, turns = VonMisesFamily(grid, len(length), 1), np.linspace(0.0, np.pi, 9)
    known = np.stack([np.full(5, n), length * np.cos(2.0), length * np.sin(2.0)])
    found = np.empty((9, 5))
    family.predictive(known).fill(family.read(2.0 + turns[:, None]), np.array([0, 9]), found)

    def log_sum(n, length):
        each = np.log(i0e(length * grid)) + length * grid - n * (np.log(i0e(grid)) + grid)
        return logsumexp(each)

    for t, k in np.ndindex(found.shape):
        more = abs(length[k] + np.exp(1j * turns[t]))
        plain = log_sum(n + 1.0, more) - log_sum(n, length[k]) - np.log(2.0 * np.pi)
        assert found[t, k] == pytest.approx(plain, abs=1e-10 + 1e-15 * n * highest)


def test_counts_to_come_by_units_and_with_gaps_are_the_same_in_both_ways(monkeypatch):
    rng = np.random.default_rng(0)
    shape, rate = rng.gamma(2.0, 20.0, (3, 2, 4)), rng.gamma(2.0, 5.0, (3, 2, 4))
    values, units = rng.poisson(4.0, (9, 2)).astype(float), np.array([0, 2, 7, 9])
    observed = rng.random((9, 2)) < 0.7
    values[~observed] = 0.0
    both = []
    for large in (1e3, 0.0):
        monkeypatch.setattr("sklearn_cvb.emissions.poisson._LARGE", large)
        found = np.empty((9, 4))
        NegativeBinomialScores(shape, rate).fill(
            Observations(values, observed, np.empty((9, 0))), units, found
        )
        both.append(found)
    np.testing.assert_allclose(*both, rtol=1e-11, atol=1e-12)
