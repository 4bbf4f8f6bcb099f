"""The stream of a chain of symbols: batches in steps of windows, or of short sequences."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, posterior_mean, rare_counts
from sklearn_cvb.chain.starts.starting_points import StartingPoint
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.learning.algorithms import CVB, Algorithm
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.streams import vocabulary_growth, windows
from sklearn_cvb.streams.one_batch import Stream
from sklearn_cvb.streams.seen import MixingFactors


def decays_of(algorithm: Algorithm[Any]) -> tuple[float, float]:
    """How fast its steps get smaller, for windows of long sequences and for short sequences.

    Maximum likelihood keeps nothing of a rare word that is forgotten, and VB little.
    """
    if isinstance(algorithm, CVB):
        return 0.6, 0.8
    return (0.6, 1.0) if algorithm.averages else (0.7, 1.0)


@dataclass(frozen=True)
class SymbolStream(Stream):
    """Batches of symbols, where nothing names states in steps (see `windows`)."""

    model: SymbolChain
    length: int  # tokens of a window, at most
    decays: tuple[float, float]
    is_named: bool  # whether labels may name states, in this batch or another

    def with_unseen(self, counts: HMMCounts, prior: ChainPrior) -> HMMCounts:
        """A little for words and steps that no batch has used, where the prior is 0."""
        return vocabulary_growth.with_unseen(HMMCounts(*counts), prior, self.model.cells)

    def prior_with_counts(
        self, prior: ChainPrior, counts: HMMCounts
    ) -> tuple[ChainPrior, StartingPoint]:
        """The counts so far in the prior, and its means to start from."""
        prior = vocabulary_growth.prior_with_counts(prior, HMMCounts(*counts), self.model.cells)
        nothing = HMMCounts(*map(np.zeros_like, counts))
        return prior, StartingPoint(None, posterior_mean(nothing, prior, self.model.cells))

    def unknown_word_counts(self, counts: HMMCounts, uses: np.ndarray) -> np.ndarray | None:
        """Mean count of the words used once, by state, if unknown words have none."""
        cells = self.model.cells
        if not self.model.settings.counts_rare or counts.emission[cells.unknown].any():
            return None
        return rare_counts(counts.emission, cells, uses)

    def pieces(self) -> tuple[np.ndarray | None, float]:
        """Windows of long sequences and short ones, or all where states are named.

        Where a dictionary or labels name states a batch is one step, and nothing is to be
        forgotten: from the few counts of a first window states would drift away from their names.
        """
        problem = self.model.problem
        cells, starts = problem.cells, problem.corpus.starts
        is_tied = cells.chain.topology is not None and cells.chain.topology.is_tied
        by_token = self.model.settings.update_unit.update == "token"
        if by_token or self.is_named or problem.any_certain or not cells.is_full or is_tied:
            return None, 1.0
        is_long = starts[-1] >= self.length * problem.corpus.n_sequences
        sizes = windows.window_sizes(problem, self.length)
        return sizes, self.decays[0 if is_long else 1]

    def first_counts(self, prior: ChainPrior, rng: np.random.Generator, mass: float) -> HMMCounts:
        """Those that the start is worth."""
        return windows.first_counts(self.model.start_maker(prior, rng)(), self.model.problem, mass)

    def step_on(
        self, counts: HMMCounts, prior: ChainPrior, steps: MixingFactors, *, averages: bool
    ) -> InferenceResult:
        """Window by window."""
        asked = self.model.problem, counts, prior, steps, self.length, averages
        return windows.counts_after_windows(*asked)
