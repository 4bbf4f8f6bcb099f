"""Stores of numbers: fits and predictions of series on the disk, some of which are read at a time.

A fit is the plain one: sweeps ask for some sequences at a time, from a table in memory or a file.
Shares of units of collapsed variational Bayes lie in a temporary file. All numbers are those of a
fit in memory, to the last bit.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers import observed as numbers
from sklearn_cvb.chain.numbers.e_step import NumericProblem
from sklearn_cvb.chain.numbers.leave_out import NumberUnits, infer_units
from sklearn_cvb.chain.numbers.model import NumberChain
from sklearn_cvb.chain.numbers.observed import NumberObservation
from sklearn_cvb.chain.numbers.series import (
    cautions_of_order,
    error_with_place,
    read_observations,
    split_into_steps,
)
from sklearn_cvb.chain.numbers.starts import model_posterior
from sklearn_cvb.chain.numbers.weighted import NumericSequences
from sklearn_cvb.chain.observation import log_likelihoods
from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import shared_weights
from sklearn_cvb.chain.paths.transitions import refuse_varying
from sklearn_cvb.chain.predictions.prediction import decode, warn_of_unexplained
from sklearn_cvb.emissions.emission import (
    Family,
    OutsideSupport,
    refuse_learning_from_steps,
)
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.learning.model import State
from sklearn_cvb.learning.threads import even_pieces
from sklearn_cvb.reading.series import FittedColumns, attributes_of_columns, cautions_of_columns
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters
from sklearn_cvb.store import NumberStore, StoredStates, write_numbers
from sklearn_cvb.store.files import STARTS
from sklearn_cvb.store.scratch import Scratch, ScratchTable
from sklearn_cvb.store.writing import temporary_store

# What is asked of a family on the disk (see `BeyondMemory._on_disk`).
__all__ = ["log_likelihoods_of_store", "read_store", "states_of_store"]

# Steps that are laid out at a time.
_PIECE = 65_536


class StoredSteps(NamedTuple):
    """Sequences of a store: where they begin, and how many steps have a value."""

    starts: np.ndarray
    n_observed: int
    width: int | None = None
    times: None = None  # each counts once

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.starts) - 1

    @property
    def times_of_sequences(self) -> np.ndarray:
        """How often each sequence counts."""
        return np.ones(self.n_sequences)


class StoredObservations:
    """Observations of a store under a family, which are read when asked for."""

    def __init__(self, store: Any, family: Family) -> None:
        self.store: Any = store
        self.family: Family = family

    @property
    def identity(self) -> tuple[Any, ...]:
        """Checksums of the data."""
        return self.store.identity

    def part(self, begin: int, end: int) -> Any:
        """Some of the steps, which may begin within a sequence."""
        if not self.family.order:
            return self._read(self.store.table(begin, end), None, lambda step: begin + step)
        offsets = self.store.offsets
        own = offsets[np.searchsorted(offsets, begin, side="right") - 1]
        # What the first steps look back at is read before them.
        before = max(int(own), begin - self.family.order)
        inside = offsets[(offsets > before) & (offsets < end)]
        starts = np.concatenate([[before], inside, [end]]) - before
        found = self._read(self.store.table(before, end), starts, lambda step: before + step)
        return found.part(begin - before, end - before)

    def take(self, steps: np.ndarray) -> Any:
        """Some single steps, each after as many steps before it as the family looks back."""
        order, offsets = self.family.order, self.store.offsets
        places = steps[:, None] + np.arange(-order, 1)
        before = places < offsets[np.searchsorted(offsets, steps, side="right") - 1][:, None]
        table = self.store.rows(np.maximum(places, 0).ravel())
        table[before.ravel()] = np.nan
        starts = np.arange(0, places.size + 1, order + 1) if order else None
        return self._read(table, starts, lambda step: int(places.ravel()[step]))

    def _read(
        self, table: np.ndarray, starts: np.ndarray | None, step_of: Callable[[int], int]
    ) -> Any:
        try:
            if starts is not None:
                return self.family.read_sequences(table, starts)
            return self.family.read(table)
        except OutsideSupport as error:
            raise error_with_place(error, step_of(error.step), self.store.offsets) from None


class ModelPosteriors:
    """Posteriors (n_steps, K) of a store under a fitted model, computed when asked for."""

    def __init__(self, init: Any, store: NumberStore, n_states: int) -> None:
        self._init, self._store, self._n_states = init, store, n_states

    def __getitem__(self, steps: slice) -> np.ndarray:
        first, last = np.searchsorted(self._store.offsets, [steps.start, steps.stop]).tolist()
        series = self._store.series(first, last)
        own = list(self._store[first:last])
        return model_posterior(self._init, own, series.corpus, self._n_states)


class TooLargeToSave(NamedTuple):
    """In the place of units whose tables are too large to be saved."""


class StoredNumbers(NumberChain):
    """A chain of numbers whose units are on the disk: they are neither copied nor saved."""

    def copy_units(self, units: NumberUnits) -> NumberUnits:
        """The same."""
        return units

    def compact(self, state: State) -> State:
        """Without scores, and without units."""
        state = super().compact(state)
        return (
            state._replace(shares=TooLargeToSave())
            if isinstance(state.shares, NumberUnits)
            else state
        )

    def restore(self, state: State) -> State:
        """With units, inferred once under the counts of all."""
        if not isinstance(state.shares, TooLargeToSave):
            return state
        units = infer_units(self.problem, self.block_length, state.counts, state.prior)
        return state._replace(shares=units)

    def copy_state(self, state: State) -> State | None:
        """A state of its own; None with units."""
        return None if isinstance(state.shares, NumberUnits) else super().copy_state(state)


class StoredProblem(NumericProblem):
    """A problem whose observations, and what units keep, are on the disk."""

    chain = StoredNumbers

    @property
    def identity(self) -> tuple[Any, ...]:
        """Checksums of the observations, emission and allowed states."""
        topology = self.cells.chain.topology
        return (self.observations.identity, self.settings, self.cells.n_states, topology)

    def allocate(self, shape: tuple[int, ...]) -> ScratchTable:
        """A table on the disk, for shares of units between sweeps; its file is gone with it."""
        return Scratch(self.observations.store.scratch).rows(shape)

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The states of all steps, on the disk."""
        state, averages = result.best.state, result.algorithm.averages
        store, n = self.observations.store, self.cells.n_emitting
        held = np.zeros(n, np.int64)

        def path_of(begin: int, end: int) -> np.ndarray:
            found = []
            for first, last in _small_ranges(store, begin, end):
                steps = slice(*store.offsets_of(first, last)[[0, -1]].tolist())
                if isinstance(state.shares, NumberUnits):
                    found.append(state.shares.posterior[steps].argmax(axis=1))
                    continue
                series = store.series(first, last)
                training = NumericSequences(series.corpus, read_observations(series, self.family))
                again = numbers.under_final_weights(result.model, state, averages, training)
                found.append(again.best_path()[0])
            path = np.concatenate(found)
            held[:] += np.bincount(path, minlength=n)
            return path

        labels = StoredStates(store, np.arange(n), path_of)
        return {"labels_": labels, **shared_weights(state.hyper, held)}


def _small_ranges(store: NumberStore, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of sequences whose tables with a number for each state are small."""
    for first, last in even_pieces(store.offsets_of(begin, end) - store.offsets[begin], _PIECE):
        yield begin + first, begin + last


def read_store(observation: NumberObservation, X: Any, y: Any) -> Reading:
    """The reading of a store, or of data that are first written into a temporary one."""
    observation.check()
    options = observation.options
    refuse_varying(options.transitions.varies_by, "stores: fit in memory")
    _refuse(options, y)
    store = X if isinstance(X, NumberStore) else temporary_store(partial(write_numbers, X))
    # Before the first of many passes: a bit that was flipped would change the fit silently.
    store.check(store.numbers_file, STARTS)
    moments, n_observed = store.survey
    given = StoredSteps(store.offsets, max(1, n_observed))
    cells, family, settings = numbers.layout_of(options, store.names, moments)
    refuse_learning_from_steps(family, "stores: fit in memory")
    of_order = cautions_of_order(family.order, np.diff(store.offsets)) if family.order else []
    start = None
    if hasattr(options.init, "predict_proba"):
        start = ModelPosteriors(options.init, store, options.n_components)
    problem = StoredProblem(
        split_into_steps(given, cells),
        given,
        StoredObservations(store, family),
        family,
        cells,
        FittedColumns(store.names),
        False,
        start,
        settings,
    )
    attributes = attributes_of_columns(store.n_columns, FittedColumns(store.names))
    messages = cautions_of_columns(moments.n_observed == 0, store.names) + of_order
    return Reading(problem, None, attributes, tuple(messages), observation)


def _refuse(options: ChainOptions, y: Any) -> None:
    """Raise on what a fit of numbers on the disk cannot do."""
    name, init = options.name, options.init
    if options.samples is not None:
        raise InvalidParameterError(
            f"{name} keeps samples of all steps in memory: pass list(store), or use EM, VB or CVB"
        )
    if y is not None and options.supervision == "y":
        raise InvalidParameterError(
            f"on a store {name} does not learn from states in y: pass list(store)"
        )
    is_model = hasattr(init, "predict_proba")
    if not (init is None or is_model or isinstance(init, str | HMMParameters)):
        raise InvalidParameterError(
            "arrays as `init` are for series in memory: on a store give the name of a start, "
            "HMMParameters, or a fitted model"
        )


# Predictions and scores


def states_of_store(
    observation: NumberObservation, learned: Learned, store: NumberStore, decoding: str
) -> StoredStates:
    """The states that `predict` gives for a store."""
    log_p = []

    def path_of(begin: int, end: int) -> np.ndarray:
        found = []
        for piece in _small_ranges(store, begin, end):
            read = observation.read_to_predict(learned, store.series(*piece))
            path, own = decode(read, decoding)
            found.append(path)
            log_p.append(own)
        return np.concatenate(found)

    states = StoredStates(store, np.arange(learned.layout.n_emitting), path_of)
    warn_of_unexplained(np.concatenate(log_p))
    return states


def log_likelihoods_of_store(
    observation: NumberObservation, learned: Learned, store: NumberStore
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood and observed steps of every sequence of a store."""
    pieces = _small_ranges(store, 0, len(store))
    found = [log_likelihoods(observation, learned, store.series(*piece)) for piece in pieces]
    log_z, observed = zip(*found, strict=True)
    return np.concatenate(log_z), np.concatenate(observed)
