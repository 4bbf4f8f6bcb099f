"""digamma, which stepwise EM takes of single cells, against scipy."""

import numpy as np
from numba import njit
from scipy.special import digamma as exact

from sklearn_cvb.kernels.special import digamma

ARGUMENTS = np.array([1e-300, 1e-8, 0.02, 0.4, 1.0, 2.5, 5.5, 6.0, 6.999, 7.0, 30.0, 1e4, 1e9])


def test_digamma_against_scipy():
    of_one = njit(lambda x: digamma(x))
    found = [of_one(x) for x in ARGUMENTS]
    np.testing.assert_allclose(found, exact(ARGUMENTS), rtol=1e-13)
