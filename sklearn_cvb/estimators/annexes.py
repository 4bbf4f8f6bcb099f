"""Annexes: methods of all estimators that no fit needs (summaries, checkpoints, hmmlearn names)."""

from contextlib import nullcontext
from typing import Any

from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.estimators.summaries import Summaries
from sklearn_cvb.faces.translations import HmmlearnNames
from sklearn_cvb.messages import shows_lines
from sklearn_cvb.scale.saving import Checkpoints


class Annexes(Summaries, HmmlearnNames, Checkpoints):
    """What all models add to their family's base: summaries, checkpoints, and what compiles."""

    def _learn(self, X: Any, y: Any) -> None:
        # Where nobody would see it a fit does without.
        says = shows_lines(self.verbose)
        with announced_fit(self, self.verbose) if says else nullcontext():
            super()._learn(X, y)
