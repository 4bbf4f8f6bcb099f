"""Grammars of sentences on workers: all that scale adds to them."""

from typing import Any

import numpy as np

from sklearn_cvb.estimators.base_grammars import BasePCFG
from sklearn_cvb.learning.learned import FitResult, Reading
from sklearn_cvb.scale.on_workers import OnWorkers
from sklearn_cvb.scale.places import is_dask


class GrammarOnWorkers(OnWorkers, BasePCFG):
    """A grammar whose sentences may be on workers."""

    @property
    def _module_of_parts(self) -> str:
        return "sklearn_cvb.scale.grammars.parts"

    # Of sentences in parts trees, and words without a rule, are for `predict`, where they are.

    def _left_trees(self, result: FitResult) -> dict[str, Any]:
        return {} if _is_in_parts(result.read) else super()._left_trees(result)

    def _why_unexplained(self, read: Reading, unexplained: np.ndarray) -> str:
        return "" if _is_in_parts(read) else super()._why_unexplained(read, unexplained)

    # Predictions

    def _trees(self, X: Any) -> np.ndarray:
        return self._over_partitions("predict", X) if is_dask(X) else super()._trees(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        if is_dask(X):
            return self._over_partitions("predict_proba", X)
        return super()._probabilities(X)


def _is_in_parts(read: Reading) -> bool:
    """Whether what was read is in parts, of which each is asked where it is."""
    return getattr(read.problem, "is_in_parts", False)
