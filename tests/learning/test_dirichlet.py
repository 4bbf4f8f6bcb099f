"""Dirichlet formulas against SciPy, numerical integrals and plain loops."""

import numpy as np
import pytest
from restatement_hyper import hyper_update
from scipy import integrate, stats
from scipy.special import digamma, gammaln

from sklearn_cvb.chain.parameters.concentrations import presence
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.chain.paths.lattice import cells_for
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.learning import dirichlet

# exp(digamma)


def exp_digamma(values):
    """Of cells of rows whose totals are 1."""
    values = np.asarray(values)
    row = np.zeros(values.shape, int)
    rows = dirichlet.DirichletRows(values, 0.0, np.ones(1), np.zeros(1), row)
    return rows.exp_expected_log() * np.exp(digamma(1.0))


def test_exp_digamma_over_ten_decades():
    values = np.logspace(-2, 8, 20_001)
    exact = np.exp(digamma(values))
    error = np.abs(exp_digamma(values) / exact - 1)
    print(f"largest relative error of exp_digamma: {error.max():.1e}")
    assert error.max() < 1e-9


def test_exp_digamma_of_tiny_values():
    values = np.array([0.0, 1e-300, 1e-10, 1e-3, 1.4e-3, 2e-3, 5e-3, 1e-2])
    with np.errstate(divide="ignore", over="ignore"):
        exact = np.exp(digamma(values))
    exact[0] = 0.0
    result = exp_digamma(values)
    assert result[:4].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(result, exact, rtol=1e-9, atol=1e-307)
    assert (np.diff(exp_digamma(np.linspace(0, 1, 5000))) >= 0).all()


def test_exp_digamma_keeps_the_shape_and_takes_integers():
    table = np.arange(1, 7).reshape(2, 3)
    result = exp_digamma(table.T)
    assert result.shape == (3, 2)
    np.testing.assert_allclose(result, np.exp(digamma(table.T)), rtol=1e-12)


# Divergence and evidence


def _whole_rows(u, prior):
    """Whole tables of Dirichlet parameters, a posterior and its prior."""
    totals = (u - prior).sum(axis=1), prior.sum(axis=1)
    return dirichlet.DirichletRows(u - prior, prior, *totals, np.s_[:, None])


@pytest.mark.long(usual=True)
def test_divergence_of_two_cells_is_an_integral():
    for u, p in (([2.5, 1.5], [1.2, 3.0]), ([1.1, 4.0], [1.0, 1.0])):
        density, prior = stats.beta(*u), stats.beta(*p)

        def integrand(x, density=density, prior=prior):
            return density.pdf(x) * (density.logpdf(x) - prior.logpdf(x))

        exact, _ = integrate.quad(integrand, 0, 1, epsabs=1e-12)
        got = _whole_rows(np.array([u]), np.array([p])).divergence()
        assert got == pytest.approx(exact, abs=1e-8)


def _plain_divergence(u, p):
    """KL(Dir(u) || Dir(p)) of one row, cell by cell."""
    value = gammaln(sum(u)) - gammaln(sum(p))
    for a, b in zip(u, p, strict=True):
        value += gammaln(b) - gammaln(a) + (a - b) * (digamma(a) - digamma(sum(u)))
    return value


def test_divergence_of_rows_adds_up_and_unlisted_cells_cancel():
    rng = np.random.default_rng(0)
    prior = rng.uniform(0.05, 2, (3, 6))
    listed = rng.random((3, 6)) < 0.6
    u = prior + np.where(listed, rng.exponential(3, (3, 6)), 0)
    exact = sum(_plain_divergence(*rows) for rows in zip(u, prior, strict=True))
    row, counts = np.nonzero(listed)[0], (u - prior)[listed]
    totals = np.bincount(row, counts), prior.sum(axis=1)
    rows = dirichlet.DirichletRows(counts, prior[listed], *totals, row)
    got = rows.divergence()
    assert got == pytest.approx(exact, abs=1e-10)
    assert got > 0
    averages, divergence = rows.exp_log_and_divergence()
    assert divergence == got
    assert np.array_equal(averages, rows.exp_expected_log())
    assert _whole_rows(prior, prior).divergence() == 0


def test_evidence_is_a_product_of_predictive_probabilities():
    prior = np.array([0.3, 1.2, 0.5])
    draws = [0, 1, 1, 2, 1, 0, 0]
    counts, value = np.zeros(3), 0.0
    for k in draws:
        value += np.log((counts[k] + prior[k]) / (counts.sum() + prior.sum()))
        counts[k] += 1
    got = dirichlet.log_evidence(counts, prior, np.array([7.0]), np.array([2.0]))
    assert got == pytest.approx(value, abs=1e-12)


def test_gamma_prior_is_its_density():
    for value, shape, rate in ((0.1, 1, 1), (3.0, 2.5, 0.4)):
        exact = stats.gamma(shape, scale=1 / rate).logpdf(value)
        assert dirichlet.log_gamma_prior(value, shape, rate) == pytest.approx(exact, abs=1e-12)


# Learning a concentration


def _rows(table):
    """One table as `fixed_point` takes it, in the plain form."""
    totals = table.sum(axis=1)
    return [(table.ravel(), np.ones(table.size), totals, np.ones(len(totals)), table.shape[1])]


def _random_table(rng):
    shape = rng.integers(1, 5), rng.integers(1, 9)
    table = rng.exponential(rng.choice([0.05, 1, 30]), shape)
    return table * (rng.random(shape) < rng.uniform(0.2, 1))


@pytest.mark.parametrize("seed", range(20))
def test_the_fixed_point_is_equation_29(seed):
    rng = np.random.default_rng(seed)
    table, value = _random_table(rng), float(rng.choice([1e-3, 0.1, 2.0]))
    shape, rate = float(rng.uniform(1, 3)), float(rng.uniform(0.1, 3))
    got = dirichlet.fixed_point(value, _rows(table), shape, rate)
    exact = np.clip(hyper_update(value, table, shape, rate), 1e-10, 1e10)
    assert got == pytest.approx(exact, rel=1e-9)


def test_several_tables_share_one_concentration():
    rng = np.random.default_rng(0)
    tables = rng.exponential(1, (3, 4)), rng.exponential(1, (1, 4))
    joined = dirichlet.fixed_point(0.3, _rows(tables[0]) + _rows(tables[1]), 1.0, 1.0)
    assert joined == pytest.approx(hyper_update(0.3, np.vstack(tables)), rel=1e-12)


def test_the_fixed_point_rests_at_the_best_concentration():
    rng = np.random.default_rng(1)
    table = rng.multinomial(60, rng.dirichlet(np.full(8, 0.5)), size=5).astype(float)
    value = 1.0
    for _ in range(500):
        value = dirichlet.fixed_point(value, _rows(table), 1.0, 1.0)

    def evidence(x):
        totals = table.sum(axis=1)
        return dirichlet.log_gamma_prior(x, 1.0, 1.0) + dirichlet.log_evidence(
            table.ravel(), x, totals, 8 * x
        )

    assert evidence(value) > max(evidence(value * 1.001), evidence(value / 1.001))


def test_ascent_never_lowers_the_evidence():
    rng = np.random.default_rng(2)
    n_plain_falls = 0
    for _ in range(200):
        table, value = _random_table(rng), float(10 ** rng.uniform(-3, 1))
        totals, width = table.sum(axis=1), table.shape[1]

        def evidence(x, table=table, totals=totals, width=width):
            return dirichlet.log_gamma_prior(x, 1.0, 1.0) + dirichlet.log_evidence(
                table.ravel(), x, totals, width * x
            )

        after = dirichlet.damped_fixed_point(value, _rows(table), 1.0, 1.0)
        assert evidence(after) >= evidence(value)
        plain = dirichlet.fixed_point(value, _rows(table), 1.0, 1.0)
        n_plain_falls += evidence(plain) < evidence(value)
        if evidence(plain) >= evidence(value):
            assert after == plain
    print(f"the plain step lowers the evidence in {n_plain_falls} of 200 cases")


@pytest.mark.parametrize("target", [1e6, 1e-9])
def test_ascent_shortens_a_step_that_goes_too_far(monkeypatch, target):
    monkeypatch.setattr(dirichlet, "fixed_point", lambda *arguments: target)
    table = np.random.default_rng(3).exponential(1, (3, 4))
    totals = table.sum(axis=1)

    def evidence(x):
        return dirichlet.log_gamma_prior(x, 1.0, 1.0) + dirichlet.log_evidence(
            table.ravel(), x, totals, 4 * x
        )

    for value in (0.05, 0.5, 5.0):
        assert evidence(target) < evidence(value)
        assert evidence(dirichlet.damped_fixed_point(value, _rows(table), 1.0, 1.0)) >= evidence(
            value
        )


# Counts that are sums of independent chances


def _exact_gain(chances, value):
    """E[digamma(C + v) - digamma(v)] for C a sum of independent Bernoulli variables."""
    distribution = np.ones(1)
    for q in chances:
        distribution = np.convolve(distribution, [1 - q, q])
    return float(distribution @ (digamma(np.arange(len(distribution)) + value) - digamma(value)))


GAIN_CASES = {
    "one soft token": [0.2],
    "three soft tokens": [0.1, 0.3, 0.05],
    "many thin tokens": [0.01] * 30,
    "one certain, many thin": [1.0] + [0.02] * 20,
    "half and half": [0.5] * 10,
    "nearly certain": [0.95] * 6,
}


@pytest.mark.parametrize("value", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("case", GAIN_CASES)
def test_gain_of_soft_counts(case, value):
    chances = np.array(GAIN_CASES[case])
    exact = _exact_gain(chances, value)
    mean = np.array([chances.sum()])
    present = np.array([1 - np.prod(1 - chances)])
    repaired = dirichlet.digamma_gain(mean, present, value)[0]
    plain = dirichlet.digamma_gain(mean, np.ones(1), value)[0]
    errors = abs(plain / exact - 1), abs(repaired / exact - 1)
    print(f"{case}, concentration {value}: plain form {errors[0]:.2%}, p+ form {errors[1]:.2%}")
    assert errors[1] <= errors[0] + 1e-12
    assert errors[1] < 0.08
    if value == 0.01 and case in ("one soft token", "many thin tokens"):
        assert errors[0] > 1


def test_gain_of_whole_counts_is_exact_and_of_nothing_is_nothing():
    for count in (1.0, 2.0, 7.0):
        exact = digamma(count + 0.1) - digamma(0.1)
        got = dirichlet.digamma_gain(np.array([count]), np.ones(1), 0.1)[0]
        assert got == pytest.approx(exact, rel=1e-13)
        assert _exact_gain([1.0] * int(count), 0.1) == pytest.approx(exact, rel=1e-12)
    assert dirichlet.digamma_gain(np.zeros(2), np.array([0.0, 1.0]), 0.1).tolist() == [0, 0]


def test_presence_is_one_minus_the_chance_of_absence():
    cells = cells_for(None, n_states=2, n_words=2, with_unknown=False)
    counts = HMMCounts(
        np.array([0.4, 1e-9]), np.array([[0.5, 2.0], [0.0, 3.0]]), np.array([0.7, 0.2, 1.1, 4.0])
    )
    absence = Absence(
        start=np.array([0.6, 1.0]),
        transition=np.array([[0.55, 0.01], [1.0, 0.0]]),
        out=np.array([0.1, 0.25]),
        emission=np.array([0.45, 0.8, 0.2, 0.0]),
        emit=np.array([0.05, 0.5]),
    )
    here, totals = presence(counts, absence, cells)
    assert here.start == pytest.approx([0.4, 1e-9], rel=1e-12)
    assert here.transition == pytest.approx(np.array([[0.45, 0.99], [0, 1]]), rel=1e-12)
    assert here.emission == pytest.approx([0.55, 0.2, 0.8, 1.0], rel=1e-12)
    assert totals.start == pytest.approx([1.0])
    assert totals.transition == pytest.approx([0.9, 0.75], rel=1e-12)
    assert totals.emission == pytest.approx([0.95, 0.5], rel=1e-12)


def test_rows_that_are_fixed_say_what_their_probabilities_say():
    """Two rows of two cells, one after the other: the second is fixed at .3 and .7."""
    mass, counts = dirichlet.FIXED_MASS, np.array([2.0, 1.0, 3.0, 4.0])
    prior = np.array([0.5, 0.25, 0.3 * mass, 0.7 * mass])
    totals, row = np.array([3.0, 7.0]), np.array([0, 0, 1, 1])
    rows = dirichlet.DirichletRows(counts, prior, totals, np.array([0.75, mass]), row)
    free = gammaln(0.75) - gammaln(3.75) + gammaln([2.5, 1.25]).sum() - gammaln([0.5, 0.25]).sum()
    fixed = 3 * np.log(0.3) + 4 * np.log(0.7)
    assert rows.log_evidence() == pytest.approx(free + fixed, rel=1e-13)
    # What is fixed costs nothing, and its logs are those of its probabilities.
    alone = dirichlet.DirichletRows(counts[:2], prior[:2], totals[:1], np.array([0.75]), row[:2])
    assert rows.divergence() == pytest.approx(alone.divergence(), rel=1e-13)
    assert np.exp(rows.expected_log()[2:]) == pytest.approx([0.3, 0.7], rel=1e-12)
