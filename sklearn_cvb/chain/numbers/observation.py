"""What hidden Markov models of numbers observe, behind the protocol of all observations.

The functions of `observed` still take the estimator.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklearn_cvb.chain.numbers import observed as numbers
from sklearn_cvb.chain.numbers.e_step import NumberWeights
from sklearn_cvb.chain.numbers.model import NumberChain
from sklearn_cvb.chain.observation import EmissionOutcome, Observation
from sklearn_cvb.chain.parameters.rows import HMMCounts, Prior
from sklearn_cvb.chain.predictions.prediction import Read
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.reading.corpus import Corpus, arrange


@dataclass(frozen=True)
class NumberObservation(Observation):
    """Series of numbers."""

    hmm: Any

    has_vocabulary = False
    kind = "numbers"
    draws_ahead = "predict_next(X, n_steps).samples are drawn to follow given sequences"

    def without_start(self) -> Self:
        """The same without `init`, and without a fit."""
        own = copy.copy(self.hmm)
        own.__dict__ = {**self.hmm.get_params(deep=False), "init": None}
        return replace(super().without_start(), hmm=own)

    def read(self, X: Any, y: Any, *, streams: bool = False) -> Reading:
        """X and y, to be fitted to."""
        return numbers.read_to_fit(self.hmm, X, y)._replace(observation=self)

    def of_one_kind(self, X: Any) -> Any:
        """Sequences, some of which are to be fitted to at a time, with the columns of all."""
        return numbers.of_one_kind(self.hmm, X)

    def model(self, read: Reading) -> NumberChain:
        """What is learned from a problem."""
        return numbers.model(self.hmm, read)

    def left_of(self, state: Any, counts: HMMCounts, chain: NumberChain) -> EmissionOutcome:
        """Public counts and emissions, weights that rows keep; no words seen once."""
        return EmissionOutcome(*numbers.left_of(state, counts, chain))

    def left_paths(self, result: FitResult) -> dict[str, Any]:
        """States of all given steps."""
        return numbers.left_paths(self.hmm, result)

    def posteriors(self, state: Any, read: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given steps."""
        return numbers.posteriors(self.hmm, state, read)

    def to_fit_again(self, learned: Learned, X: Any) -> Any:
        """The training sequences once more, in the columns of the fit."""
        return numbers.to_fit_again(self.hmm, learned, X)

    def read_under(
        self, learned: Learned, X: Any, chain: tuple[Weights, Weights], means: bool = False
    ) -> numbers.ReadNumbers:
        """Sequences under weights, and densities for predictions or of means."""
        numeric, new = learned.more.numeric, numbers.given_again(self.hmm, learned, X)
        scores = numeric.scoring if means else numeric.predicting
        return numbers.read_at(new, chain, scores, learned.layout)

    def steps_after(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """The step of an observation as X."""
        return numbers.steps_after(self.hmm, learned, before, observation)

    def reads_under(
        self, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
    ) -> tuple[Iterable[Read], np.ndarray]:
        """Under the mean weights, or those of each sample."""
        return numbers.reads_under(self.hmm, learned, X, samples)

    def reads_at(
        self, learned: Learned, X: Any, weights: Iterable[NumberWeights]
    ) -> tuple[Iterable[Read], np.ndarray]:
        """Sequences under each of some parameters."""
        return numbers.reads_at(self.hmm, learned, X, weights)

    def arranged(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States in the shape of the input."""
        return arrange(corpus, path.astype(np.int64), -1)

    def drawn(
        self,
        learned: Learned,
        states: np.ndarray,
        starts: np.ndarray,
        rng: np.random.RandomState,
        contexts: np.ndarray | None,
    ) -> tuple[np.ndarray, Any]:
        """What each state emits."""
        return numbers.drawn(learned, states, starts, rng, contexts)

    def before_forecasts(self, learned: Learned, X: Any) -> np.ndarray:
        """The steps that tell what comes after each sequence."""
        return numbers.before_forecasts(self.hmm, learned, X)

    def reordered(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is learned of emissions in another order of states."""
        return numbers.reordered(learned, by)
