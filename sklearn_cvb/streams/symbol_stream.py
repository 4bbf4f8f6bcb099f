"""The stream of a chain of symbols: batches in steps of windows, or of short sequences."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, posterior_mean, rare_counts
from sklearn_cvb.chain.starts.starting_points import StartingPoint
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.learning.algorithms import CVB, Algorithm
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.settings import HMMParameters
from sklearn_cvb.streams import vocabulary_growth, windows
from sklearn_cvb.streams.one_batch import Beginning, Stream
from sklearn_cvb.streams.seen import MixingFactors

# Tokens that the first call is fitted to, and sweeps of that fit, at most.
FITTED, SWEEPS = 10_000, 200


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

    @property
    def is_open(self) -> bool:
        """Whether no dictionary or labels name states, in this batch or another, and steps lead on.

        Not where no state depends on the one before.
        """
        problem = self.model.problem
        topology = problem.cells.chain.topology
        is_named = self.is_named or problem.any_certain or not problem.cells.is_full
        return not is_named and not (topology is not None and topology.is_tied)

    def pieces(self) -> tuple[np.ndarray | None, float]:
        """Windows of long sequences and short ones, or all where states are named.

        Where a dictionary or labels name states a batch is one step, and nothing is to be
        forgotten: from the few counts of a first window states would drift away from their names.
        """
        if self.model.settings.update_unit.update == "token" or not self.is_open:
            return None, 1.0
        sizes = windows.window_sizes(self.model.problem, self.length)
        return sizes, self.decays[0 if self.is_long else 1]

    @property
    def is_long(self) -> bool:
        """Whether sequences are as long as windows, on average."""
        corpus = self.model.problem.corpus
        return bool(corpus.starts[-1] >= self.length * corpus.n_sequences)

    def beginning(self) -> Beginning | None:
        """Windows of the first 10,000 tokens; all where `init` says something of each token.

        Of long sequences with fewer tokens than cells in use, as of the words of a text, the first
        window, which is not fitted to. None where states have names, which sweeps would drift away
        from.
        """
        model, problem = self.model, self.model.problem
        if not self.is_open:
            return None
        sizes = windows.window_sizes(problem, self.length)
        init = model.settings.init
        if not (isinstance(init, str | HMMParameters) or hasattr(init, "predict_proba")):
            return Beginning(model, len(sizes), SWEEPS)
        n_windows = max(1, int(np.count_nonzero(np.cumsum(sizes) <= FITTED)))
        is_fitted = not self.is_long or sizes[:n_windows].sum() >= len(problem.lattice.state)
        n_windows = n_windows if is_fitted else 1
        end = int(windows.cut_into_windows(problem, self.length).end[n_windows - 1])
        first = replace(model, problem=windows.beginning_of(problem, end))
        return Beginning(first, n_windows, SWEEPS if is_fitted else 0)

    def step_on(
        self, counts: HMMCounts, prior: ChainPrior, steps: MixingFactors, *, averages: bool
    ) -> InferenceResult:
        """Window by window."""
        asked = self.model.problem, counts, prior, steps, self.length, averages
        return windows.counts_after_windows(*asked)
