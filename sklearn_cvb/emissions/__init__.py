"""Emission distributions of hidden Markov models: symbols, or numbers, a file for each family."""

from sklearn_cvb.emissions.angles import VonMises
from sklearn_cvb.emissions.categorical import Bernoulli, Categorical
from sklearn_cvb.emissions.columns import Columns
from sklearn_cvb.emissions.counts import Multinomial, NegativeBinomial
from sklearn_cvb.emissions.emission import Emission
from sklearn_cvb.emissions.estimators import Estimator
from sklearn_cvb.emissions.gamma import Exponential, Gamma
from sklearn_cvb.emissions.gaussian import Gaussian
from sklearn_cvb.emissions.mixtures import Mixture, ZeroInflated
from sklearn_cvb.emissions.poisson import Poisson
from sklearn_cvb.emissions.regression import AutoRegressive, Regression
from sklearn_cvb.emissions.student import StudentT
from sklearn_cvb.settings import Symbols

__all__ = [
    "AutoRegressive",
    "Bernoulli",
    "Categorical",
    "Columns",
    "Estimator",
    "Exponential",
    "Gamma",
    "Gaussian",
    "Mixture",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Regression",
    "StudentT",
    "Symbols",
    "VonMises",
    "ZeroInflated",
]

# The words that the parameter `emission` takes, beside "categorical" for symbols.
NAMED: dict[str, type[Emission]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "exponential": Exponential,
    "student": StudentT,
}
