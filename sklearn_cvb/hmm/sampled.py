"""Sampling on symbols: how `sklearn_cvb.hmm.gibbs.GibbsHMM` sweeps, and what its chain tells."""

import warnings
from typing import Any

from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.chains import ChainsMixin, chains_of
from sklearn_cvb.hmm.model import ChainSettings
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.sampling import SamplerMixin
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError

# Below this acceptance rate a chain can be said to stand still.
_LOW_ACCEPTANCE = 0.01


class SampledHMM(ChainsMixin, SamplerMixin, BaseHMM):
    """What is drawn at a time (`update`), and what a chain leaves."""

    update: str | None
    temperatures: tuple[float, float] | None

    @property
    def _update(self) -> str:
        """What is drawn at a time."""
        return self._observed.default_update if self.update is None else self.update

    def _check_topology(self, topology: Topology | None) -> None:
        if self._update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' moves one token at a time, which cannot reach every path that "
                "topology allows: use update='sequence'"
            )

    def _chain_settings(self, problem: Problem) -> ChainSettings:
        coldest = None if self.temperatures is None else min(self.temperatures)
        settings = super()._chain_settings(problem)
        return settings._replace(resampled=self._update, coldest=coldest)

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        counts = self._algorithm().final_counts(best.state)
        return self._model(problem).sampled(best.state, counts)

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        chains = None
        if self.temperatures is None:
            n_planned = fits[0].state.work.n_planned
            n_burn_in = self._algorithm().first_kept(n_planned)
            chains = chains_of([fit.state.work.trace for fit in fits], n_burn_in)
        return super()._fitted(fits, problem) | {"chains_": chains}

    def _keep(self, fitted: dict[str, Any], why: str) -> None:
        super()._keep(fitted, why)
        if self.acceptance_rate_ < _LOW_ACCEPTANCE:
            warnings.warn(
                f"only {100 * self.acceptance_rate_:.2g} % of the proposals were accepted: long "
                "sequences hardly move with update='sequence'; use 'token' or 'parameter'",
                UserWarning,
                stacklevel=5,
            )

    def _mean_weights(self) -> Weights:
        """Averages over samples of the posterior means given the sample."""
        self._complete_counts()
        return self._means

    def _predicting_weights(self) -> tuple[Weights, Weights]:
        return self._mean_and_log()
