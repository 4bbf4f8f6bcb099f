"""Perplexity and bits per token."""

import numpy as np
import pytest

from sklearn_cvb.metrics import bits_per_token, perplexity


def test_uniform_model_has_as_many_choices_as_symbols():
    log_likelihood = np.array([3, 5, 2]) * -np.log(7)
    assert perplexity(log_likelihood, [3, 5, 2]) == pytest.approx(7)
    assert perplexity(log_likelihood.sum(), 10) == pytest.approx(7)
    assert bits_per_token(log_likelihood, 10) == pytest.approx(np.log2(7))


def test_per_sequence():
    assert perplexity(np.log([0.5, 0.125]), [1, 1]) == pytest.approx(4)


@pytest.mark.filterwarnings("error")
def test_extremes():
    assert perplexity(0.0, 3) == 1
    assert str(bits_per_token(0.0, 3)) == "0.0"
    assert perplexity([-np.inf, -1.0], [1, 1]) == np.inf
    assert bits_per_token(-np.inf, 1) == np.inf
    assert perplexity(-1e6, 1) == np.inf


@pytest.mark.parametrize("measure", [perplexity, bits_per_token])
@pytest.mark.parametrize(
    ("log_likelihood", "n_tokens", "message"),
    [
        (-1.0, 0, "at least one token"),
        ([], [], "at least one token"),
        ([-1.0, -1.0], [3, -1], "nowhere negative"),
        (np.nan, 2, "NaN"),
        ([-1.0, -2.0], [1, 2, 3], r"shape \(2,\), n_tokens \(3,\)"),
    ],
)
def test_bad_input(measure, log_likelihood, n_tokens, message):
    with pytest.raises(ValueError, match=message):
        measure(log_likelihood, n_tokens)
