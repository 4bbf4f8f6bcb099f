"""Switching regressions with one variance, and with several, against Stata's published figures.

Stata's manual of `mswitch` has them, and so have the tests of statsmodels, whose variances are
one for all regimes by default; the chain starts with its stationary distribution.
"""

import ast
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from sklearn_cvb import EMHMM, Transitions
from sklearn_cvb.emissions import AutoRegressive, Gaussian, Regression

SERIES = Path(os.environ.get("SKLEARN_CVB_DATA", "")) / "reports" / "series.npz"
_MODULE = "statsmodels.tsa.regime_switching.tests.test_markov_regression"


def series(name):
    if not SERIES.is_file():
        pytest.skip("needs the series of SKLEARN_CVB_DATA")
    return np.load(SERIES)[name]


def of_statsmodels(name):
    """A series in the text of its tests, whose import pytest would refuse, from step 4 on."""
    pytest.importorskip("statsmodels")
    spec = importlib.util.find_spec(_MODULE)
    if spec is None:
        pytest.skip("statsmodels has no tests")
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return np.array(list(map(ast.literal_eval, node.value.elts[4:])))
    pytest.skip(f"statsmodels' tests have no series {name}")


def fitted(emission, table):
    model = EMHMM(2, emission=emission, transitions=Transitions(start="stationary"))
    model.set_params(random_state=0, tol=1e-9, max_iter=3000)
    return model.fit([table])


@pytest.mark.parametrize("constant", [False, True])
def test_the_federal_funds_rate_with_constants(constant):
    """Without inputs regressions are normal; a constant one says no more."""
    rate = series("fedfunds")[:, None]
    model = fitted(Gaussian("tied"), rate)
    if constant:
        table = np.column_stack([np.ones(len(rate)), rate])
        model = fitted(Regression([0], covariance_type="tied"), table)
    assert model.objective_ == pytest.approx(-508.63592, abs=1e-4)


def test_the_federal_funds_rate_with_its_lag():
    model = fitted(AutoRegressive(1, covariance_type="tied"), series("fedfunds"))
    assert model.objective_ == pytest.approx(-264.71069, abs=1e-4)
    order = np.argsort(model.intercepts_.ravel())[::-1]
    np.testing.assert_allclose(model.intercepts_[order, 0], [0.7244571, -0.0988764], atol=1e-5)
    np.testing.assert_allclose(model.coefficients_[order, 0, 0], [0.7631424, 1.061174], atol=1e-5)
    assert np.sqrt(model.covariances_) == pytest.approx(0.6915759, abs=1e-5)


def test_the_federal_funds_rate_with_its_lag_the_output_gap_and_inflation():
    rate, inputs = series("fedfunds"), [of_statsmodels(name) for name in ("ogap", "inf")]
    table = np.column_stack([rate[3:-1], *inputs, rate[4:]])
    model = fitted(Regression([0, 1, 2], covariance_type="tied"), table)
    assert model.objective_ == pytest.approx(-229.25614, abs=1e-4)
    order = np.argsort(model.intercepts_.ravel())[::-1]
    np.testing.assert_allclose(model.intercepts_[order, 0], [0.6554954, -0.0944924], atol=1e-5)
    slopes = [[0.8314458, 0.1355425, -0.0273928], [0.9292574, 0.0343072, 0.2125275]]
    np.testing.assert_allclose(model.coefficients_[order, :, 0], slopes, atol=1e-5)
    assert np.sqrt(model.covariances_) == pytest.approx(0.5764495, abs=1e-5)
    np.testing.assert_allclose(np.diag(model.transmat_)[order], [0.7279288, 0.7885422], atol=1e-5)


def test_absolute_returns_with_two_variances():
    model = fitted(AutoRegressive(1), series("areturns"))
    assert model.objective_ == pytest.approx(-745.7977, abs=1e-4)
    order = np.argsort(model.intercepts_.ravel())
    np.testing.assert_allclose(model.intercepts_[order, 0], [0.7641424, 1.972771], atol=1e-5)
    np.testing.assert_allclose(model.coefficients_[order, 0, 0], [0.0790744, 0.527953], atol=1e-5)
    widths = np.sqrt(model.covariances_[order, 0, 0])
    np.testing.assert_allclose(widths, [0.5895792, 1.605333], atol=1e-5)
