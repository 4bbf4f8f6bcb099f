"""What hangs above the line and is the same for all models."""

from typing import Any

from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.summaries import Summaries


class Annexes(Summaries, BaseModel):
    """What all models add to their family's base: summaries, and word that a fit compiles."""

    def _learn(self, X: Any, y: Any) -> None:
        with announced_fit(self, self.verbose):
            super()._learn(X, y)
