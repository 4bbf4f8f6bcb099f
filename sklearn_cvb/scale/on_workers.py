"""Fits and predictions on partitions of Dask: what estimators get for them."""

from typing import Any

import numpy as np

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.scale.places import is_dask


class OnWorkers(BaseModel):
    """A model that learns where its partitions are, and answers for each of them."""

    @property
    def _module_of_parts(self) -> str:
        """The module that lays out models of a family, and learns them, in parts."""
        raise NotImplementedError

    def _asked_in_parts(self) -> Any:
        """What parts are laid out by, sent to where they are; raises on what they do not have."""
        raise NotImplementedError

    def _learn(self, X: Any, y: Any) -> None:
        if not is_dask(X):
            super()._learn(X, y)
            return
        from sklearn_cvb.scale.dask.fitting import Progress, read_on_workers

        progress = Progress(self.verbose, self.max_iter)
        family, asked = self._module_of_parts, self._asked_in_parts()
        with read_on_workers(family, asked, X, y, progress) as read:
            self._fit_reading(read, X, y)

    def _scores(self, X: Any, per: str) -> np.ndarray:
        if is_dask(X):
            return self._over_partitions("score_samples", X, per=per)
        return super()._scores(X, per)

    def _over_partitions(self, method: str, X: Any, **settings: Any) -> Any:
        """What a method gives for each partition, when it is asked for."""
        learned_of(self)
        from sklearn_cvb.scale.dask.fitting import over_partitions

        return over_partitions(getattr(self, method), X, settings)
