"""Transitions that depend on inputs: from each state a classifier, fitted to the expected pairs of
steps, says how probable the next state is (Diebold, Lee and Weinbach 1994; Bengio and Frasconi
1996).

Distinct rows of inputs are contexts with a table of transitions each, so that all else is inferred
as with contexts. A plain `LogisticRegression` takes a Newton step in each M-step, from where the
last one ended and halved where it would lower the objective: a generalised EM. Other classifiers
are fitted anew.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from sklearn_cvb.chain.numbers.e_step import NumberWeights
from sklearn_cvb.chain.numbers.model import EmissionFit, NumberChain, without_emission
from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    ChainPrior,
    HMMCounts,
    log_weights,
    posterior_mean,
    prior_of,
)
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.emissions.estimators import WeightedEstimator, fit_weighted, last_step
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import FitOutcome
from sklearn_cvb.learning.logistic import is_plain_logistic, newton_steps
from sklearn_cvb.learning.model import State
from sklearn_cvb.reading.corpus import names_of_columns
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers

# Probabilities of states that a classifier rules out, and weights of pairs that are not expected.
_TINY = 1e-12
# Log odds that inputs move by this much in a standard deviation: states are separated by them.
_SEPARATED = 20.0
# Numbers in the tables of all steps: half a gigabyte.
_MOST_CELLS = 2**26


def tables_of(estimators: tuple[Any, ...], inputs: np.ndarray, n_states: int) -> np.ndarray:
    """Transitions (n_tables, K, K) under each row of inputs, an estimator for each origin."""
    if n_states == 1:
        return np.ones((len(inputs), 1, 1))
    tables = np.full((len(inputs), n_states, n_states), _TINY)
    for origin, own in enumerate(estimators):
        tables[:, origin, own.classes_] = np.maximum(own.predict_proba(inputs), _TINY)
    tables /= tables.sum(axis=2, keepdims=True)
    return tables


def tables_under(fitted: EmissionFit | None, n_states: int, given: Any) -> np.ndarray:
    """Transitions (n_steps, K, K) under the inputs of a frame, or of an array of them alone."""
    if fitted is None or fitted.transitions is None:
        raise ValueError("transmat_of is for Transitions(inputs=...): this model has transmat_")
    names, inputs = fitted.columns.names, fitted.columns.inputs
    if names is not None and hasattr(given, "columns"):
        own = [names[column] for column in inputs]
        lacking = [name for name in own if name not in names_of_columns(given)]
        if lacking:
            raise ValueError(f"inputs lack the columns {lacking!r}, which transitions depend on")
        given = np.column_stack([np.asarray(given[name], np.float64) for name in own])
    rows = as_numbers("inputs", given)
    if rows.ndim != 2 or rows.shape[1] != len(inputs) or not np.isfinite(rows).all():
        raise ValueError(
            f"inputs have shape {rows.shape}: give finite numbers, a row for each step and a "
            f"column for each of the {len(inputs)} inputs of transitions"
        )
    return tables_of(fitted.transitions, rows, n_states)


def with_states_in_order(estimators: tuple[Any, ...], order: np.ndarray) -> tuple[Any, ...]:
    """Classifiers of states of which the k-th was ``order[k]``."""
    found = [deepcopy(estimators[k]) for k in order]
    place_in = np.argsort(order)
    for own in map(last_step, found):
        # Columns of probabilities stay where they are, and are those of other states.
        own.classes_ = place_in[own.classes_]
    return tuple(found)


# M-steps


def fit_origin(
    estimator: WeightedEstimator, before: Any, inputs: np.ndarray, pairs: np.ndarray
) -> tuple[Any, float]:
    """The classifier of the next state given expected pairs (n_tables, K), and its penalty."""
    if is_plain_logistic(estimator):
        return newton_steps(estimator, before, inputs, pairs.T, n_steps=1)
    n_tables, n_states = pairs.shape
    rows, to = np.tile(inputs, (n_states, 1)), np.repeat(np.arange(n_states), n_tables)
    weights = np.maximum(pairs.T.ravel(), _TINY)
    return fit_weighted(clone(estimator), rows, to, weights), 0.0


# The model


@dataclass(frozen=True)
class InputChain(NumberChain):
    """Sequences of numbers whose transitions depend on inputs, by EM."""

    estimator: Any = None

    def maximise(
        self, counts: HMMCounts, prior: ChainPrior, before: NumberWeights
    ) -> tuple[NumberWeights, float]:
        """As of any chain, but for transitions, and with the penalties of their classifiers."""
        weights, cost = super().maximise(counts, prior, before)
        found, penalty = self._fitted(counts, before.transitions)
        return replace_transitions(weights, found, self._tables(found)), cost + penalty

    def _fitted(self, counts: HMMCounts, before: Any) -> tuple[tuple[Any, ...], float]:
        """A classifier for each origin, and their penalties."""
        n = self.cells.n_states
        if n == 1:
            return (), 0.0
        pairs, inputs = np.maximum(counts.transition.reshape(-1, n, n), 0.0), self.problem.inputs
        assert inputs is not None, "such a chain has some"
        each = zip(before or (None,) * n, np.swapaxes(pairs, 0, 1), strict=True)
        found = [fit_origin(self.estimator, old, inputs, own) for old, own in each]
        return tuple(own for own, _ in found), sum(penalty for _, penalty in found)

    def _tables(self, estimators: tuple[Any, ...]) -> np.ndarray:
        """Transitions of all contexts, one table below the other."""
        n, inputs = self.cells.n_states, self.problem.inputs
        assert inputs is not None, "such a chain has some"
        return tables_of(estimators, inputs, n).reshape(-1, n)

    def _final(self, state: State, counts: HMMCounts) -> tuple[Any, ...]:
        """Classifiers after the last sweep: fitted once more where that is better."""
        before = None if state.weights is None else state.weights.transitions
        if before is not None and not is_plain_logistic(self.estimator):
            return before
        return self._fitted(counts, before)[0]

    def final_weights(self, state: State, *, averages: bool) -> tuple[ChainWeights, ChainWeights]:
        """Weights of the chain after the last sweep, and their logs."""
        weights = posterior_mean(
            without_emission(state.counts), state.prior, self.cells, state.weights.chain
        )
        weights = weights._replace(transition=self._tables(self._final(state, state.counts)))
        return weights, log_weights(weights)

    def emissions(self, state: State, counts: HMMCounts) -> EmissionFit:
        """Emissions of the fitted model, and its classifiers."""
        found = self._final(state, counts)
        return super().emissions(state, counts)._replace(transitions=found)

    def counts_of_tokens(self, counts: HMMCounts) -> HMMCounts:
        """Pairs of all contexts together: those of a single step hardly move."""
        n = self.cells.n_states
        return counts._replace(transition=counts.transition.reshape(-1, n, n).sum(axis=0))


def replace_transitions(
    weights: NumberWeights, estimators: tuple[Any, ...], tables: np.ndarray
) -> NumberWeights:
    """Weights with these classifiers and their tables."""
    chain = weights.chain._replace(transition=tables)
    return weights._replace(chain=chain, transitions=estimators)


def _cautions_of_separation(estimators: tuple[Any, ...], inputs: np.ndarray) -> list[str]:
    """A caution where inputs tell the next state for sure."""
    spread = inputs.std(axis=0)
    far = [
        origin
        for origin, own in enumerate(estimators)
        if hasattr(own, "coef_") and (np.abs(own.coef_) * spread > _SEPARATED).any()
    ]
    told = (
        f"inputs nearly tell the state after state {', '.join(map(str, far))}: coefficients grow "
        "without end (separation); a smaller C of LogisticRegression holds them back"
    )
    return [told] * bool(far)


def check_inputs(inputs: np.ndarray, n_states: int, estimator: WeightedEstimator) -> None:
    """Raise where a classifier takes no weights, or tables of all distinct inputs do not fit."""
    own = last_step(estimator)
    if not has_fit_parameter(own, "sample_weight"):
        raise InvalidParameterError(
            f"Transitions(estimator=...): {type(own).__name__} takes no sample_weight in fit, by "
            "which pairs of states are counted; take one that does"
        )
    if len(inputs) * n_states**2 > _MOST_CELLS:
        raise InvalidParameterError(
            f"Transitions(inputs=...): {len(inputs)} distinct rows of inputs with {n_states}^2 "
            f"transitions each are more than {_MOST_CELLS} numbers: round the inputs, or fit to "
            "fewer steps"
        )


def layout_with_inputs(cells: Cells, n_tables: int) -> Cells:
    """The layout with a table for each distinct row of inputs."""
    chain = cells.chain._replace(n_tables=n_tables, has_contexts=True, has_inputs=True)
    return cells._replace(chain=chain)


def without_tables(found: FitOutcome, hyper: ChainConcentrations, inputs: np.ndarray) -> FitOutcome:
    """What a fit leaves, with pairs of all inputs together: `transmat_` is their mean table."""
    learned, n = found.learned, found.learned.layout.n_states
    numeric = learned.extra.numeric
    chain = learned.layout.chain._replace(n_tables=1, has_contexts=False)
    layout = learned.layout._replace(chain=chain)
    pairs = learned.counts.transition.reshape(-1, n, n).sum(axis=0)
    counts = learned.counts._replace(transition=pairs)
    learned = learned._replace(
        layout=layout,
        prior=prior_of(layout, hyper)._replace(emission_total=np.ones(n)),
        counts=counts,
        fallback=None,
        zero_cells=None,
    )
    attributes = {"counts_": counts, "transition_estimators_": list(numeric.transitions)}
    return FitOutcome(
        learned,
        found.attributes | attributes,
        (*found.messages, *_cautions_of_separation(numeric.transitions, inputs)),
    )
