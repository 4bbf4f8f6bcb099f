"""Convergence of the chains of a sampler (R-hat, effective sample size); traces for ArviZ."""

import math
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.predictions.traces import refuse_without_posterior
from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.parameters import SamplerFields
from sklearn_cvb.settings import gamma_prior_of


class Convergence(NamedTuple):
    """How well a traced quantity is known.

    Attributes
    ----------
    mean, standard_deviation : float
        Over the draws of all chains.
    r_hat : float
        Rank-normalised split R-hat; above 1.01 the chains disagree.
    effective_sample_size : float
        How many independent draws would know the mean rank as well ("bulk").
    """

    mean: float
    standard_deviation: float
    r_hat: float
    effective_sample_size: float


class ChainDiagnostics(SamplerFields, BaseHMM):
    """Diagnostics of a sampler whose restarts are its chains."""

    def convergence(self) -> dict[str, Convergence]:
        """R-hat and effective sample size of what does not depend on the names of the states.

        The restarts (`n_init`) are the chains. Every chain may name the states its own way, and
        may change names on its way: traces of one state's probabilities then disagree between
        chains that agree in all that matters. The log joint probability, the number of occupied
        states and learned concentrations are the same under any names.

        Returns
        -------
        dict
            Name of each traced quantity (`log_joint`, `n_occupied`; `alpha` and `beta` where they
            are learned): a `Convergence` of mean, standard_deviation, r_hat and
            effective_sample_size. NaN for what never changed, and with fewer than 4 sweeps after
            burn-in.

        Raises
        ------
        ValueError
            With annealing.

        References
        ----------
        Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
        localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis.

        Examples
        --------
        >>> from sklearn_cvb import GibbsHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = GibbsHMM(n_components=2, n_init=4, max_iter=500, random_state=0).fit(X)
        >>> sorted(model.convergence())
        ['log_joint', 'n_occupied']
        """
        chains = self._traces("convergence")
        return {name: convergence_of(draws) for name, draws in chains.items()}

    def to_inference_data(self) -> Any:
        """The traces of all restarts for ArviZ, which must be installed.

        Group ``posterior`` holds `n_occupied`, and `alpha` and `beta` where they are learned;
        ``sample_stats`` holds `lp`, the log joint probability (nats). Restarts are the chains, and
        draws are the sweeps after burn-in. Probabilities of single states are left out, because
        chains name the states each their own way (see `convergence`).

        Returns
        -------
        arviz.InferenceData
            From ArviZ 1.0 on an ``xarray.DataTree`` with the same groups.

        Raises
        ------
        ImportError
            If ArviZ is not installed.
        ValueError
            With annealing.
        """
        chains = self._traces("to_inference_data")
        return to_arviz({"sample_stats": {"lp": chains.pop("log_joint")}, "posterior": chains})

    def _traces(self, name: str) -> dict[str, np.ndarray]:
        """The label-free traces by name; concentrations only where they are learned."""
        sampled = learned_of(self).extra.samples
        refuse_without_posterior(sampled, self._checked_samples().temperatures, name)
        chains: dict[str, np.ndarray] = sampled.chains._asdict()
        for parameter in ("alpha", "beta"):
            if gamma_prior_of(getattr(self, parameter)) is None:
                del chains[parameter]
        return chains


def to_arviz(groups: dict[str, dict[str, np.ndarray]]) -> Any:
    """Groups of draws, (n_chains, n_draws, ...), as ArviZ has them, which must be installed."""
    try:
        import arviz
    except ImportError as error:
        raise ImportError(
            "to_inference_data needs ArviZ: install it with `python -m pip install arviz`"
        ) from error
    # From 1.0 on groups come in one dictionary. Names of 0.x are still there, but only warn.
    if "posterior" in signature(arviz.from_dict).parameters:
        return arviz.from_dict(**groups)
    return arviz.from_dict(groups)


def convergence_of(draws: np.ndarray) -> Convergence:
    """Mean, spread, R-hat and effective sample size of draws (n_chains, n_draws)."""
    # A fit needs none of it.
    from sklearn_cvb.metrics.convergence import effective_sample_size, r_hat

    spread = float(draws.std(ddof=1)) if draws.size > 1 else math.nan
    return Convergence(float(draws.mean()), spread, r_hat(draws), effective_sample_size(draws))
