"""Confidence intervals of maximum likelihood: by observed information, and by bootstrap."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit, ndtri
from sklearn.utils import check_random_state

from sklearn_cvb.certainty.calibrated import observed_errors
from sklearn_cvb.certainty.symbols import SymbolPosterior, SymbolStructures
from sklearn_cvb.chain.parameters.rows import word_major
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.series import SamplesOfKnownColumns
from sklearn_cvb.reading.validation import Seed

_NAMES = ("start", "transition", "emission")


class ConfidenceIntervals(NamedTuple):
    """Ends of confidence intervals, lower ends first, and standard errors.

    Attributes
    ----------
    start, transition, emission
        As of `CredibleIntervals`; `emission` of numbers is a dict by the names of fitted
        attributes without underscore, such as "means", in their shapes.
    standard_errors : dict
        Of the probabilities and parameters, by the names "start", "transition" and "emission".
    """

    start: np.ndarray
    transition: np.ndarray
    emission: Any
    standard_errors: dict[str, Any]


def information_intervals(
    model: SymbolChain, learned: Learned, level: float, random_state: Seed
) -> ConfidenceIntervals:
    """Normal intervals of log odds by the observed information (Louis 1982)."""
    rng = spawn_generators(check_random_state(random_state), 1)[0]
    posterior, structures = SymbolPosterior(learned), SymbolStructures(model)
    mean, errors = observed_errors(structures, posterior.counts(), learned.prior, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = ndtri(0.5 + 0.5 * level) * errors / (1.0 - mean)
        ends = [expit(logit(mean) + side * half) for side in (-1.0, 1.0)]
    # What is 0 or 1 has no odds.
    inside = (mean > 0.0) & (mean < 1.0)
    ends = [np.where(inside, end, mean) for end in ends]
    tables = [_as_tables(structures, values) for values in (*ends, mean * errors)]
    start, transition, emission = (np.stack(both) for both in zip(*tables[:2], strict=True))
    errors_of = dict(zip(_NAMES, tables[2], strict=True))
    return ConfidenceIntervals(start, transition, emission, errors_of)


def _as_tables(structures: SymbolStructures, values: np.ndarray) -> list[np.ndarray]:
    """Values of all cells as tables of start, transitions and emissions, (n_states, n_symbols)."""
    cells, table = structures.model.cells, structures.weights_at(values)
    emission: Any = word_major(cells, table.emission)
    dense = emission.toarray() if hasattr(emission, "toarray") else emission
    n = cells.n_emitting
    return [table.start[:n], table.transition[:n, :n], dense.T]


class RefitPlan(NamedTuple):
    """Data to draw from a model, as it has learned from some.

    Attributes
    ----------
    lengths : ndarray of int
        Of all sequences.
    contexts : list of ndarray or None
        Of each.
    columns : object
        Those of numbers; None for symbols.
    known : list or None
        What is known of the states of the true data: drawn states are as well where these are.
    """

    lengths: np.ndarray
    contexts: Any
    columns: Any
    known: Any

    def as_training_data(self, drawn: np.ndarray) -> list[Any]:
        """Drawn sequences, of numbers with the columns of the true ones."""
        return list(drawn) if self.columns is None else SamplesOfKnownColumns(drawn, self.columns)

    def known_states(self, drawn: Any) -> list[list[Any]] | None:
        """Drawn states where the true ones are known."""
        if self.known is None:
            return None
        return [
            [
                None if is_missing(label) or label == -1 else state
                for state, label in zip(*row, strict=True)
            ]
            for row in zip(drawn, self.known, strict=True)
        ]


def refit_plan(reading: Reading, known: Any) -> RefitPlan:
    """Data like those that were read."""
    starts, contexts = reading.problem.original.starts, getattr(reading.problem, "contexts", None)
    if contexts is not None:
        contexts = np.split(contexts, starts[1:-1])
    return RefitPlan(np.diff(starts), contexts, getattr(reading.problem, "columns", None), known)


def bootstrap_intervals(
    refitted: Callable[[int], list[Any]],
    level: float,
    n_bootstrap: int,
    n_jobs: int | None,
    random_state: Seed,
) -> ConfidenceIntervals:
    """Quantiles of fits to data drawn from the model.

    ``refitted(seed)`` gives tables of start, transitions and emissions of one more.
    """
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bootstrap)
    refits = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(refitted)(seed) for seed in seeds)
    tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    ends = [
        _summarise_refits(refits, i, lambda table: np.quantile(table, tails, axis=0))
        for i in range(3)
    ]
    errors = [
        _summarise_refits(refits, i, lambda table: table.std(axis=0, ddof=1)) for i in range(3)
    ]
    start, transition, emission = ends
    return ConfidenceIntervals(start, transition, emission, dict(zip(_NAMES, errors, strict=True)))


def _summarise_refits(found: list[Any], place: Any, summary: Callable[[np.ndarray], Any]) -> Any:
    """A summary over all refits of the table at a place, or of each in a dict or list there."""
    tables = [one[place] for one in found]
    if isinstance(tables[0], dict):
        return {
            name.removesuffix("_"): _summarise_refits(tables, name, summary) for name in tables[0]
        }
    if isinstance(tables[0], list):
        return [_summarise_refits(tables, i, summary) for i in range(len(tables[0]))]
    return summary(np.array(tables))
