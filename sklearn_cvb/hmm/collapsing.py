"""Collapsed variational Bayes on symbols: what `sklearn_cvb.hmm.cvb.CVBHMM` leaves out."""

import warnings

import numpy as np

from sklearn_cvb.hmm.collapsed import LeftOut
from sklearn_cvb.hmm.model import ChainSettings, SymbolChain, TokenChain
from sklearn_cvb.hmm.streaming import StreamingHMM
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.cvb import CVB
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError

HALF_OF_ALL = (
    "sequence {} holds more than half of all tokens: with update='sequence' its own counts are "
    "left out and it is inferred from little more than the prior; use update='token', or "
    "block_length=100 to leave out 100 tokens at a time"
)


class CollapsedHMM(StreamingHMM):
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

    def _chain_settings(self, problem: Problem) -> ChainSettings:
        return super()._chain_settings(problem)._replace(left_out=self._left_out)

    @property
    def _chain(self) -> type[SymbolChain]:
        return TokenChain if self.update == "token" else SymbolChain

    def _algorithm(self) -> Algorithm:
        return CVB()

    def _warn_of_data(self, problem: Problem) -> None:
        """Warn where leaving out a sequence leaves little to learn from."""
        if not isinstance(problem, Problem):
            # With numbers windows are the rule.
            return
        lengths = np.diff(problem.corpus.starts)
        if self.update == "sequence" and self.block_length is None:
            longest = int(lengths.argmax())
            if 2 * lengths[longest] > lengths.sum():
                warnings.warn(HALF_OF_ALL.format(longest), UserWarning, stacklevel=5)
