"""Models made of known parameters: the outcome of a fit that would have ended in these."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, kept_to_topology, public_counts
from sklearn_cvb.chain.parameters.user_tables import chain_tables
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.paths.transitions import cells_under, refuse_varying
from sklearn_cvb.chain.predictions.prediction import ChainExtras
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import FitOutcome, Learned, Reading
from sklearn_cvb.reading.corpus import short_repr, vocabulary_of
from sklearn_cvb.reading.series import FittedColumns, attributes_of_columns
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters


def parameters_of(given: HMMParameters | None, tables: dict[str, Any], emission: Any) -> Any:
    """All parameters of a model, and how many states it has; symbols are 0, 1, ... if not named."""
    if not isinstance(given, HMMParameters | None):
        raise TypeError(
            f"parameters must be HMMParameters, got {short_repr(given)}: from_parameters(**tables) "
            "takes tables by name, also those of a dict"
        )
    before = {} if given is None else given.get_params(deep=False)
    known = HMMParameters.by_name({**before, **(before.pop("emissions", None) or {}), **tables})
    if not known.is_whole:
        raise InvalidParameterError(
            "a model is made of startprob, transmat and emissionprob, or means and the like"
        )
    table = np.asarray(known.emissionprob)
    if known.symbols is None and table.ndim == 2 and not getattr(emission, "vocabulary", None):
        known.vocabulary = list(range(table.shape[1]))
    return known, len(np.atleast_1d(np.asarray(known.startprob)))


class TableShape(NamedTuple):
    """Columns of the table whose rows are a model's sequences."""

    n_columns: int
    names: list[Any] | None


def outcome_of_parameters(hmm: Any, table: TableShape | None = None) -> tuple[FitOutcome, Reading]:
    """The outcome of a fit that ended in `hmm.init`, of a table or not, and what it had read."""
    observation: Any = hmm._observation(to_fit=True)
    options, words, types = observation.options, None, None
    cells = Cells(np.zeros(1, np.int64), np.empty(0, np.int32), options.n_components, 0)
    if observation.has_vocabulary:
        known = options.words.vocabulary
        words = vocabulary_of([] if known is None else list(known))
        types, cells = words.types, observation.read_words(words, None, None, False).cells
    transitions = options.transitions
    refuse_varying(transitions.varies_by, "from_parameters")
    cells = cells_under(cells, transitions)
    start, transition, emission = chain_tables(options.init, cells, types)
    n, n_states = cells.n_emitting, cells.n_states
    if emission is None:
        emission = np.empty(0)
    assert start is not None, "all tables are given"
    assert transition is not None, "all tables are given"
    weights = kept_to_topology(ChainWeights(start, transition, emission), cells)
    nothing = np.zeros(n_states), 0.0, np.zeros((n_states, n_states)), np.zeros(n_states)
    prior = ChainPrior(*nothing, np.zeros(len(emission)), np.full(n_states, float(types is None)))
    attributes: dict[str, Any] = {"alpha_": 0.0, "beta_": 0.0, "unexplained_": np.empty(0, np.intp)}
    numeric = None
    if types is None:
        from sklearn_cvb.chain.numbers.observed import emission_start

        numeric = emission_start(options, cells)._replace(rows_are_sequences=table is not None)
        family = numeric.family
        statistics = np.zeros((n, family.n_statistics))
        counts = HMMCounts(start[:n], transition[:n, :n], statistics)
        attributes |= {"n_columns_": family.n_columns, **family.attributes(numeric.point)}
        attributes |= attributes_of_columns(family.n_columns, numeric.columns)
    else:
        counts = public_counts(HMMCounts(start, transition, emission), cells)
        attributes |= observation.attributes_of(words)
    if table is not None:
        attributes |= attributes_of_columns(table.n_columns, FittedColumns(table.names))
    end = transition[:n, n] if cells.chain.has_end else None
    attributes |= {"counts_": counts, "end_counts_": end}
    extra = ChainExtras(end, numeric)
    learned = Learned(words, cells, prior, counts, fallback=weights, extra=extra)
    return FitOutcome(learned, attributes), Reading(None, words, {})
