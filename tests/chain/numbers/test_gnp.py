"""Autoregression with two regimes on the growth of American GNP, against statsmodels.

The series is that of Hamilton (1989), percent a quarter, 1951Q2 to 1984Q4. statsmodels 0.15 fits
`MarkovRegression` with lagged values as exogenous variables, whose coefficients and variances
switch, to it: the same density, given the first two quarters, as `AutoRegressive(2)` where the
start is the stationary distribution. (Its `MarkovAutoregression`, which is Hamilton's own model,
compares last values with the means of their own states, and is another one.)
"""

import numpy as np
import pytest

from sklearn_cvb import EMHMM, HMMParameters
from sklearn_cvb.emissions import AutoRegressive

RGNP = [
    *(2.59316421, 2.20217133, 0.45827562, 0.9687438, -0.24130757, 0.89647478, 2.05393219),
    *(1.73353648, 0.93871289, -0.46477833, -0.80983406, -1.39763689, -0.39886093, 1.1918416),
    *(1.45620048, 2.11808228, 1.08957863, 1.32390273, 0.87296367, -0.19773273, 0.45420215),
    *(0.07221876, 1.1030364, 0.82097489, -0.05795795, 0.58447772, -1.56192672, -2.05041027),
    *(0.53637183, 2.33676839, 2.34014559, 1.2339263, 1.8869648, -0.45920792, 0.84940469),
    *(1.70139849, -0.28756312, 0.09594627, -0.86080289, 1.03447127, 1.23685944, 1.42004502),
    *(2.22410631, 1.30210173, 1.03517699, 0.9253425, -0.16559951, 1.3444382, 1.37500131),
    *(1.73222184, 0.71605635, 2.21032143, 0.85333031, 1.00238776, 0.42725441, 2.14368343),
    *(1.43789184, 1.57959926, 2.27469826, 1.95962656, 0.25992399, 1.01946914, 0.49016398),
    *(0.5636338, 0.5959546, 1.43082857, 0.56230122, 1.15388393, 1.68722844, 0.77438205),
    *(-0.09647045, 1.39600146, 0.13646798, 0.55223715, -0.39944872, -0.61671102, -0.08722561),
    *(1.2101835, -0.90729755, 2.64916158, -0.0080694, 0.51111895, -0.00401437, 2.16821432),
    *(1.92586732, 1.03504717, 1.85897219, 2.32004929, 0.25570789, -0.09855274, 0.89073682),
    *(-0.55896485, 0.28350255, -1.31155407, -0.88278776, -1.97454941, 1.01275265, 1.68264723),
    *(1.38271284, 1.86073637, 0.4447377, 0.41449001, 0.99202275, 1.36283576, 1.59970522),
    *(1.98845816, -0.25684232, 0.87786949, 3.1095655, 0.85324478, 1.23337317, 0.00314302),
    *(-0.09433369, 0.89883322, -0.19036628, 0.99772376, -2.39120054, 0.06649673, 1.26136017),
    *(1.91637838, -0.3348029, 0.44207108, -1.40664911, -1.52129889, 0.29919869, -0.80197448),
    *(0.15204792, 0.98585027, 2.13034606, 1.34397924, 1.61550522, 2.70930099, 1.24461412),
    *(0.50835466, 0.14802167),
]

# What statsmodels finds, to its convergence.
LOG_LIKELIHOOD = -176.9754585528087
TO_FIRST = np.array([0.3666484500203658, 0.3868542810571628])
INTERCEPTS = np.array([[-0.7588867826032001], [1.108804688123419]])
SLOPES = np.array(
    [
        [[0.31657891437524394], [0.4602639225308794]],
        [[0.3330928776676164], [-0.12338368011608807]],
    ]
)
VARIANCES = np.array([[[0.41365036998455307]], [[0.4222918309270786]]])


def stationary(to_first):
    """The stationary distribution of two states."""
    found = np.array([to_first[1], 1.0 - to_first[0]])
    return found / found.sum()


def test_the_likelihood_is_that_of_statsmodels():
    model = EMHMM.from_parameters(
        startprob=stationary(TO_FIRST),
        transmat=np.column_stack([TO_FIRST, 1.0 - TO_FIRST]),
        intercepts=INTERCEPTS,
        coefficients=SLOPES,
        covariances=VARIANCES,
        emission=AutoRegressive(2),
    )
    assert model.score_samples([RGNP])[0] == pytest.approx(LOG_LIKELIHOOD, abs=1e-9)


@pytest.mark.long
def test_em_finds_what_statsmodels_finds():
    """From a rough start, with the start of the chain as statsmodels has it at its estimates."""
    start = HMMParameters(
        startprob=stationary(TO_FIRST),
        transmat=[[0.4, 0.6], [0.4, 0.6]],
        emissions={
            "intercepts": [[-1.0], [1.0]],
            "coefficients": [[[0.3], [0.5]], [[0.3], [0.0]]],
            "covariances": [[[0.5]], [[0.5]]],
        },
    )
    model = EMHMM(
        2,
        emission=AutoRegressive(2),
        init=start,
        fixed={"start": True},
        alpha=0.0,
        max_iter=4000,
        tol=0.0,
    ).fit([RGNP])
    assert model.score_samples([RGNP])[0] == pytest.approx(LOG_LIKELIHOOD, abs=1e-5)
    np.testing.assert_allclose(model.transmat_[:, 0], TO_FIRST, rtol=5e-4)
    np.testing.assert_allclose(model.intercepts_, INTERCEPTS, rtol=5e-4)
    np.testing.assert_allclose(model.coefficients_, SLOPES, rtol=5e-4)
    np.testing.assert_allclose(model.covariances_, VARIANCES, rtol=5e-4)


def test_statsmodels_has_the_same_density():
    """At parameters drawn anew; only where it is installed."""
    markov = pytest.importorskip("statsmodels.tsa.regime_switching.markov_regression")
    y, rng = np.array(RGNP), np.random.default_rng(0)
    lags = np.column_stack([y[1:-1], y[:-2]])
    other = markov.MarkovRegression(
        y[2:], k_regimes=2, exog=lags, switching_exog=True, switching_variance=True
    )
    for _ in range(5):
        to_first, variances = rng.uniform(0.1, 0.9, 2), rng.uniform(0.5, 2.0, 2)
        intercepts, slopes = rng.normal(size=2), 0.5 * rng.normal(size=(2, 2))
        model = EMHMM.from_parameters(
            startprob=stationary(to_first),
            transmat=np.column_stack([to_first, 1.0 - to_first]),
            intercepts=intercepts[:, None],
            coefficients=slopes[:, :, None],
            covariances=variances[:, None, None],
            emission=AutoRegressive(2),
        )
        given = np.concatenate([to_first, intercepts, slopes.T.ravel(), variances])
        expected = other.loglike(given)
        assert model.score_samples([RGNP])[0] == pytest.approx(expected, rel=1e-10)
