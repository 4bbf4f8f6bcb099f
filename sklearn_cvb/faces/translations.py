"""Names that hmmlearn, and others, have, and what stands for them here, for messages."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from sklearn_cvb.estimators.parameters import Parameters

PARAMETERS = {
    "n_iter": "max_iter",
    "covariance_type": "part of emission, Gaussian(covariance_type=...)",
    "algorithm": "decoding of predict, 'viterbi' or 'marginal' (hmmlearn's 'map')",
    "params": "fixed, which says what stays as it is",
    "init_params": "init, which says where a fit starts",
    "implementation": "not needed: products are scaled, in log space where that underflows",
    "startprob_prior": "start_alpha of transitions=Transitions(...)",
    "transmat_prior": "alpha, less by 1 with EM",
    "n_features": "not needed: the data have it, or Symbols(vocabulary=...)",
}
ATTRIBUTES = {
    "decode": "predict, which gives the most probable states (score_samples their probability)",
    "covars_": "covariances_",
    "lambdas_": "rates_",
    "monitor_": "history_, n_iter_ and converged_",
}
# What newcomers try.
OTHERS = {
    "forecast": "use predict_next (of symbols predict_next_proba)",
    "n_states": "it is called n_components",
    "lower_bound_": "variational Bayes alone has a bound; CVB has loo_score_, and all have score",
}


def _here(name: str, translated: Mapping[str, str]) -> str:
    """What stands for a name here."""
    return OTHERS.get(name) or f"what hmmlearn calls {name} is here {translated[name]}"


class HmmlearnNames(Parameters):
    """Names what stands for hmmlearn's parameters, where these are given."""

    @classmethod
    def _constructor(cls, made: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(made)
        def checked(self: Any, *args: Any, **kwargs: Any) -> None:
            for name in kwargs.keys() & (PARAMETERS | OTHERS).keys() - type(self)._fields.keys():
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"{name!r}: {_here(name, PARAMETERS)}"
                )
            made(self, *args, **kwargs)

        return checked


class ForeignAttribute:
    """An attribute that others' models have: there is none, and the error names what there is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cure: str = _here(name, ATTRIBUTES)

    def __get__(self, model: Any, kind: type) -> Any:
        if model is None:
            return self
        raise AttributeError(
            f"{kind.__name__!r} object has no attribute {self.name!r}: {self.cure}"
        )
