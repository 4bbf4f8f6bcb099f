"""Annexes: methods of all estimators that no fit needs (summaries, checkpoints, hmmlearn names)."""

from contextlib import nullcontext
from typing import Any

from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.estimators.summaries import Summaries
from sklearn_cvb.faces.translations import HmmlearnNames
from sklearn_cvb.messages import somebody_reads_errors
from sklearn_cvb.scale.saving import Checkpoints


class Annexes(Summaries, HmmlearnNames, Checkpoints):
    """What all models add to their family's base: summaries, checkpoints, and what compiles."""

    def _learn(self, X: Any, y: Any, **asked: Any) -> None:
        # Where nobody would see it a fit does without.
        is_read = self.verbose or somebody_reads_errors()
        with announced_fit(self, self.verbose) if is_read else nullcontext():
            super()._learn(X, y, **asked)
