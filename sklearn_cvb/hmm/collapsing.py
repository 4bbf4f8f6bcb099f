"""Collapsed variational Bayes on symbols: what `sklearn_cvb.hmm.cvb.CVBHMM` leaves out."""

from typing import Any

import numpy as np

from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.collapsed import LeftOut
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.cvb import CVB

HALF_OF_ALL = (
    "sequence {} holds more than half of all tokens: with update='sequence' its own counts are "
    "left out and it is inferred from little more than the prior; use update='token', or "
    "block_length=100 to leave out 100 tokens at a time"
)


class CollapsedHMM(BaseHMM):
    """What is left out at a time, and what of it is refused."""

    update: str
    block_length: int | None

    @property
    def _left_out(self) -> LeftOut:
        """What is left out at a time."""
        return LeftOut(self.update, self.block_length)

    @property
    def _at_a_time(self) -> dict[str, Any]:  # type: ignore[override]
        return {"left_out": self._left_out}

    @property
    def _why_all_steps(self) -> str:  # type: ignore[override]
        if self.update != "token":
            return ""
        return (
            "update='token' infers tokens as if they were independent, which gives paths that "
            "topology rules out a probability: use update='sequence'"
        )

    def _algorithm(self) -> Algorithm:
        return CVB()

    def _cautions(self, problem: Any) -> tuple[str, ...]:
        """What is to be said where leaving out a sequence leaves little to learn from."""
        # With numbers windows are the rule.
        is_whole = self.update == "sequence" and self.block_length is None
        if not (isinstance(problem, Problem) and is_whole):
            return ()
        lengths = np.diff(problem.corpus.starts)
        longest = int(lengths.argmax())
        return (HALF_OF_ALL.format(longest),) if 2 * lengths[longest] > lengths.sum() else ()
