"""Observations of hidden Markov models, be they symbols, tagged words or numbers: how they are read
to fit and to predict, weighted by a fitted chain, and drawn from it.

An observation is made where an estimator is called, of its parameters, and goes with what was read:
whoever has a `Reading` has all that a fit needs, and no estimator.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.free_parameters import cells_kept_zero
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.paths.transitions import check_transitions
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.predictions.prediction import ChainExtras, WeightedSequences
from sklearn_cvb.chain.starts.state_merging import StateMerging
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import FamilyObservation, FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers, check_concentrations


class EmissionOutcome(NamedTuple):
    """Emissions of a fitted chain: attributes, counts of rare words, densities of numbers."""

    attributes: dict[str, Any]
    kept: ChainWeights | None  # weights that rows without count and prior keep
    rare: np.ndarray | None = None  # what unknown words get beside
    numeric: Any = None  # densities of numbers


@dataclass(frozen=True)
class Observation(FamilyObservation):
    """A kind of observations, and the options that they are read under."""

    options: ChainOptions
    # How often each sequence counts in a fit; None for once.
    sample_weight: np.ndarray | None = None

    # Whether there are words.
    has_vocabulary: ClassVar[bool]
    # What draws several continuations, where `sample` is asked to.
    sample_hint: ClassVar[str] = ""

    def check(self) -> None:
        """Checks that the declared constraints cannot express."""
        options = self.options
        if options.words.handle_unknown == "form" and options.dictionary is None:
            raise InvalidParameterError(
                "handle_unknown='form' is for taggers: forms of words suggest tags"
            )
        check_transitions(options)
        for name in ("alpha", "beta") if options.kind.by_em else ():
            check_concentrations(name, as_numbers(name, getattr(options, name)), or_zero=True)

    def without_init(self) -> Self:
        """The same without `init`, which may hold training data."""
        return replace(self, options=self.options._replace(init=None), sample_weight=None)

    # Fitting

    @abstractmethod
    def read(self, X: Any, y: Any, *, streams: bool = False) -> Reading:
        """X and y, to be fitted to."""

    def fixed_start(self, reading: Reading) -> str:
        """Which setting fixes the start of all restarts; empty where it is random."""
        # With one state there is nothing to tell: searches for the number of states begin there.
        if reading.problem.any_ambiguous or reading.problem.cells.n_states == 1:
            return self.options.fixed_start
        return "no token has a choice of states"

    @abstractmethod
    def joins_states(self, reading: Reading) -> bool:
        """Whether a fit begins with states that are joined pair by pair."""

    @property
    def state_merging(self) -> StateMerging:
        """How it does: restarts of CVB are chosen there, by a bound on the evidence."""
        collapses = self.options.is_collapsed
        return StateMerging(self.options.n_restarts if collapses else 1, collapses)

    def n_restarts(self, reading: Reading) -> int:
        """How many are swept: one, where the best of joined starts was chosen."""
        return (
            1
            if self.options.is_collapsed and self.joins_states(reading)
            else self.options.n_restarts
        )

    def with_common_columns(self, X: Any) -> Any:
        """Sequences that several models are fitted to, some each, with the columns of all."""
        return X

    def outcome(self, result: FitResult) -> FitOutcome:
        """What the best restart leaves; whoever has the sequences says what of their paths."""
        (best, _, reading, algorithm, model, counts), options = result, self.options
        state, n = best.state, model.cells.n_emitting
        paths = getattr(reading.problem, "path_attributes", self.path_attributes)(result)
        attributes, kept, rare, numeric = self.emission_outcome(state, counts, model)
        end = counts.transition[:n, n] if model.cells.chain.has_end else None
        # Of models of numbers a fit takes posteriors, which give all cells something.
        init = options.init_means if self.has_vocabulary and options.init_means else options.init
        learned = Learned(
            reading.words,
            model.cells,
            state.prior,
            attributes["counts_"],
            fallback=kept,
            unknown_word_counts=rare,
            averages=algorithm.averages,
            extra=ChainExtras(end, numeric, is_weighted=self.sample_weight is not None),
            zero_cells=cells_kept_zero(init, model.cells, reading.words, state.prior),
        )
        attributes = {
            "end_counts_": end,
            "alpha_": state.hyper.alpha,
            **paths,
            "unexplained_": reading.problem.original_sequences(state.unexplained),
            **attributes,
        }
        for name, given in (("alpha", options.alpha), ("beta", options.beta)):
            if np.ndim(given):
                attributes[f"{name}_"] = as_numbers(name, given)
        return FitOutcome(learned, attributes)

    @abstractmethod
    def emission_outcome(self, state: Any, counts: HMMCounts, chain: Any) -> EmissionOutcome:
        """Emissions after the last sweep."""

    @abstractmethod
    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """Attributes that follow from the states of the training tokens, such as `labels_`."""

    @abstractmethod
    def posteriors(self, state: Any, reading: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given tokens: the last ones, or under the final weights."""

    # Reading a fitted model

    def training_input(self, learned: Learned, X: Any) -> Any:
        """The training sequences once more, as `read` takes them."""
        return X

    def read_to_predict(self, learned: Learned, X: Any, means: bool = False) -> WeightedSequences:
        """Sequences under the weights of predictions, or their means."""
        weights = prediction.mean_and_log if means else prediction.predicting_weights
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
        """Sequences under mean weights, or those of each sample; observed tokens of each."""

    @abstractmethod
    def read_under_each(
        self, learned: Learned, X: Any, weights: Iterable[Any]
    ) -> tuple[Iterable[WeightedSequences], np.ndarray]:
        """Sequences under each of some weights, one after the other; observed tokens of each."""

    @abstractmethod
    def next_input(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """X for `Filter.update`: one observation, after the input `before` of the last one."""

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
        """A value for each state, drawn from its emission, and the value of missing ones."""

    def last_steps(self, learned: Learned, X: Any) -> np.ndarray:
        """The last steps of each sequence, which forecasts depend on; of numbers alone."""
        raise NotImplementedError

    @abstractmethod
    def reorder_states(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Emissions, and the attributes that show them, in another order of states."""


def log_likelihoods(
    observation: Observation,
    learned: Learned,
    X: Any,
    samples: Iterable[tuple[HMMCounts, ChainPrior]] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood under the mean parameters, or samples, and observed tokens of sequences."""
    reads, observed = observation.read_under_samples(learned, X, samples)
    return prediction.mean_likelihoods([read.log_z() for read in reads]), observed
