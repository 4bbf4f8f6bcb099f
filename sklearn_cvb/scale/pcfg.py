"""Grammars learned from sentences in partitions of Dask: what estimators of grammars inherit."""

from typing import Any

import numpy as np

from sklearn_cvb.estimators.base_grammars import BasePCFG
from sklearn_cvb.grammar.observation import GrammarObservation
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.on_workers import OnWorkers
from sklearn_cvb.scale.places import is_dask


class GrammarOnWorkers(OnWorkers, BasePCFG):
    """A grammar whose sentences may be in partitions of Dask."""

    @property
    def _parts_module(self) -> str:
        return "sklearn_cvb.scale.grammars.parts"

    def _part_settings(self) -> GrammarObservation:
        name = type(self).__name__
        if not hasattr(type(self), "partial_fit"):
            raise InvalidParameterError(f"{name} does not learn in shards: use EM, VB or CVB")
        update = getattr(self, "update", "batch")
        if not (isinstance(update, str) and update in ("batch", "viterbi")):
            raise InvalidParameterError(
                f"in shards {name} learns from all sentences at once: use update='batch', got "
                f"{update!r}"
            )
        return self._observation(to_fit=True)

    # Predictions

    def _trees(self, X: Any) -> np.ndarray:
        return self._over_partitions("predict", X) if is_dask(X) else super()._trees(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        if is_dask(X):
            return self._over_partitions("predict_proba", X)
        return super()._probabilities(X)
