"""Collapsed variational Bayes on symbols: what `sklearn_cvb.hmm.cvb.CVBHMM` leaves out."""

from typing import Any

import numpy as np

from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.collapsed import LeftOut
from sklearn_cvb.hmm.model import ChainSettings, SymbolChain, TokenChain
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learned import Reading
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.cvb import CVB
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError

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
    def _default_start(self) -> str:
        return "word" if self.update == "token" else "parameter"

    def _check_topology(self, topology: Topology | None) -> None:
        if self.update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' infers tokens as if they were independent, which gives paths that "
                "topology rules out a probability: use update='sequence'"
            )

    def _chain_settings(self, read: Reading) -> ChainSettings:
        return super()._chain_settings(read)._replace(left_out=self._left_out)

    @property
    def _chain(self) -> type[SymbolChain]:  # type: ignore[override]
        return TokenChain if self.update == "token" else SymbolChain

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
