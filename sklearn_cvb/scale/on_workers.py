"""Estimators whose data are partitions of Dask: a base class for fits and predictions of them."""

from typing import Any

import numpy as np

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.scale.places import is_dask, refuse_weights


class OnWorkers(BaseModel):
    """A model that is fitted where the partitions of Dask are, and predicts each of them there."""

    @property
    def _parts_module(self) -> str:
        """The module of a family with `lay_out`, `shard_of` and the rest of a fit in shards."""
        raise NotImplementedError

    def _part_settings(self) -> Any:
        """What parts are laid out by, sent to where they are; raises on what they do not have."""
        raise NotImplementedError

    def _learn(self, X: Any, y: Any, **asked: Any) -> None:
        if not is_dask(X):
            super()._learn(X, y, **asked)
            return
        refuse_weights(asked.get("sample_weight"))
        from sklearn_cvb.scale.dask.fitting import Progress, read_on_workers

        progress = Progress(self.verbose, self.max_iter)
        family, asked = self._parts_module, self._part_settings()
        with read_on_workers(family, asked, X, y, progress) as read:
            self._fit_reading(read, X, y)

    def _scores(self, X: Any, per: str) -> np.ndarray:
        if is_dask(X):
            return self._over_partitions("score_samples", X, per=per)
        return super()._scores(X, per)

    def _over_partitions(self, method: str, X: Any, **settings: Any) -> Any:
        """The values of a method for each partition, computed when asked for."""
        learned_of(self)
        from sklearn_cvb.scale.dask.fitting import predict_on_workers

        return predict_on_workers(getattr(self, method), X, settings)
