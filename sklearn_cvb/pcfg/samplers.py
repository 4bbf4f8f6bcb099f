"""What both samplers share: predictions average over the kept samples."""

from typing import Any

import numpy as np

from sklearn_cvb.learning.gibbs import mean_means
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.model import GrammarModel
from sklearn_cvb.sampling import SamplerMixin


class SamplingPCFG(SamplerMixin, BasePCFG):
    """Weights of the samplers: averages of posterior means."""

    _parameter_constraints: dict = {  # noqa: RUF012
        **BasePCFG._parameter_constraints,
        **SamplerMixin._parameter_constraints,
    }

    def _fitted_by_algorithm(self, best: Fit, model: GrammarModel) -> dict[str, Any]:
        return {"_means": mean_means(best.state, model)}

    def _mean_weights(self) -> np.ndarray:
        """Averages over samples of the posterior means given the sample."""
        self._complete_counts()
        return self._means

    def _weights(
        self, layout: Layout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        return self._mean_weights()
