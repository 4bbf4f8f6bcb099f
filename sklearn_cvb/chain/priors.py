"""The concentrations of a chain, and the Dirichlet prior that they and a dictionary make."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import (
    Prior,
    symmetric_prior,
    unequal_transitions,
    with_dictionary,
)
from sklearn_cvb.learning.concentrations import log_density


class Concentrations(NamedTuple):
    """alpha and beta of a sweep, which of them are learned, and their Gamma priors.

    `start_alpha` None is `alpha`. `shared` are the weights of the states under the prior "hdp",
    `gamma` their concentration, and `sticky` what is added for staying in a state (see
    `sklearn_cvb.chain.shared_weights`).
    """

    alpha: float
    beta: float
    learn_alpha: bool
    learn_beta: bool
    alpha_prior: tuple[float, float]
    beta_prior: tuple[float, float]
    start_alpha: float | None
    shared: tuple[float, ...] | None = None
    gamma: float = 1.0
    learn_gamma: bool = False
    gamma_prior: tuple[float, float] = (1.0, 1.0)
    sticky: float = 0.0

    @property
    def learned(self) -> bool:
        """Whether any of them is learned."""
        return self.learn_alpha or self.learn_beta or self.shared is not None

    def log_density(self) -> float:
        """Log density of the learned concentrations under their priors (nats)."""
        value = log_density(self.alpha, self.learn_alpha, self.alpha_prior)
        value += log_density(self.beta, self.learn_beta, self.beta_prior)
        if self.shared is None:
            return value
        # Of the weights over their logs, and of gamma.
        shared, gamma = np.array(self.shared), self.gamma
        each = gamma / len(shared)
        weights = gammaln(gamma) - len(shared) * gammaln(each) + each * np.log(shared).sum()
        return value + (float(weights) + log_density(gamma, self.learn_gamma, self.gamma_prior))


class PriorSettings(NamedTuple):
    """What a prior is made from.

    Attributes
    ----------
    first : Concentrations
        Of the first sweep.
    start_alpha : float or None
        Of the start row; None for alpha.
    dictionary_weight : float or None
        How much the counts that a dictionary expects weigh; None without a dictionary.
    """

    first: Concentrations
    start_alpha: float | None
    dictionary_weight: float | None = None


def prior_of(settings: PriorSettings, cells: Cells, concentrations: Concentrations) -> Prior:
    """The prior of a sweep under these concentrations."""
    alpha = concentrations.alpha
    start_alpha = alpha if settings.start_alpha is None else settings.start_alpha
    prior = symmetric_prior(cells, alpha, concentrations.beta, start_alpha)
    if concentrations.shared is not None or concentrations.sticky:
        prior = unequal_transitions(
            prior, concentrations.shared, concentrations.sticky, alpha, start_alpha
        )
    if settings.dictionary_weight is not None:
        prior = with_dictionary(prior, cells, settings.dictionary_weight)
    return prior._replace(concentrations=concentrations)
