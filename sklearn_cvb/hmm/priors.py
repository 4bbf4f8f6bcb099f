"""The Dirichlet prior of a chain, as its concentrations and a dictionary say."""

from typing import NamedTuple

from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.parameters import (
    Prior,
    symmetric_prior,
    unequal_transitions,
    with_dictionary,
)
from sklearn_cvb.lattice import Cells


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
