"""What a hidden Markov model asks of what is observed: symbols, tags of symbols, or numbers.

An observation is made where an estimator is called, of its parameters, and goes with what was read:
whoever has a `Reading` has all that a fit needs, and no estimator.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.paths.transitions import check_transitions
from sklearn_cvb.chain.predictions.prediction import (
    WeightedSequences,
    mean_and_log,
    mean_likelihoods,
    predicting_weights,
)
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.learning.model import Model
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers, check_concentrations


class EmissionOutcome(NamedTuple):
    """What a fit leaves of what states emit."""

    attributes: dict[str, Any]
    kept: ChainWeights | None  # weights that rows without count and prior keep
    rare: np.ndarray | None = None  # what unknown words get beside
    numeric: Any = None  # densities of numbers


@dataclass(frozen=True)
class Observation(ABC):
    """What is observed, under options."""

    options: ChainOptions

    # Whether there are words.
    has_vocabulary: ClassVar[bool]
    # What draws several continuations, where `sample` is asked to.
    sample_hint: ClassVar[str] = ""

    def check(self) -> None:
        """Checks that the declared constraints cannot express."""
        asked = self.options
        if asked.words.handle_unknown == "form" and asked.dictionary is None:
            raise InvalidParameterError(
                "handle_unknown='form' is for taggers: forms of words suggest tags"
            )
        check_transitions(asked)
        for name in ("alpha", "beta") if asked.kind.by_em else ():
            check_concentrations(name, as_numbers(name, getattr(asked, name)), or_zero=True)

    def without_init(self) -> Self:
        """The same without `init`, which may hold training data."""
        return replace(self, options=self.options._replace(init=None))

    # Fitting

    @abstractmethod
    def read(self, X: Any, y: Any, *, streams: bool = False) -> Reading:
        """X and y, to be fitted to."""

    def with_common_columns(self, X: Any) -> Any:
        """Sequences, some of which are to be fitted to at a time, with the columns of all."""
        return X

    @abstractmethod
    def model(self, read: Reading) -> Model:
        """What is learned from what was read."""

    @abstractmethod
    def outcome(self, state: Any, counts: HMMCounts, chain: Any) -> EmissionOutcome:
        """What the last state leaves of what states emit."""

    @abstractmethod
    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The states of the training tokens, and what follows from them."""

    @abstractmethod
    def posteriors(self, state: Any, read: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given tokens: the last ones, or under the final weights."""

    # Reading a fitted model

    def training_input(self, learned: Learned, X: Any) -> Any:
        """The training sequences once more, as `read` takes them."""
        return X

    def read_to_predict(self, learned: Learned, X: Any, means: bool = False) -> WeightedSequences:
        """Sequences under the weights of predictions, or their means."""
        weights = mean_and_log if means else predicting_weights
        return self.read_under(learned, X, weights(learned), means)

    @abstractmethod
    def read_under(
        self,
        learned: Learned,
        X: Any,
        chain: tuple[ChainWeights, ChainWeights],
        means: bool = False,
    ) -> WeightedSequences:
        """Sequences under weights and their logs."""

    @abstractmethod
    def read_under_samples(
        self, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, ChainPrior]] | None
    ) -> tuple[Iterable[WeightedSequences], np.ndarray]:
        """Under the mean weights, or those of each sample; and how many tokens were observed."""

    @abstractmethod
    def read_under_each(
        self, learned: Learned, X: Any, weights: Iterable[Any]
    ) -> tuple[Iterable[WeightedSequences], np.ndarray]:
        """Sequences under each of some weights; and how many tokens were observed."""

    @abstractmethod
    def next_input(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """A single observation as X; `before` is what was made of the one before it."""

    @abstractmethod
    def arrange(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States, or tags, in the shape of the input."""

    @abstractmethod
    def draw_emissions(
        self,
        learned: Learned,
        states: np.ndarray,
        starts: np.ndarray,
        rng: np.random.RandomState,
        contexts: Any,
    ) -> tuple[np.ndarray, Any]:
        """What each state emits, and what stands for nothing."""

    def last_steps(self, learned: Learned, X: Any) -> np.ndarray:
        """The steps that tell what comes after each sequence; of numbers alone."""
        raise NotImplementedError

    @abstractmethod
    def reorder_states(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is learned of emissions, and attributes that tell it, in another order of states."""


def log_likelihoods(
    observation: Observation,
    learned: Learned,
    X: Any,
    samples: Iterable[tuple[HMMCounts, ChainPrior]] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood under the mean parameters, or samples, and observed tokens of sequences."""
    reads, observed = observation.read_under_samples(learned, X, samples)
    return mean_likelihoods([read.log_z() for read in reads]), observed
