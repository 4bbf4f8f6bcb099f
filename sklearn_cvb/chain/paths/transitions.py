"""Checks of transitions: which options go together, and what contexts and durations exclude."""

from typing import Any

import numpy as np

from sklearn_cvb.chain.options import ChainOptions, emits_symbols
from sklearn_cvb.chain.paths.lattice import Cells, cells_with_end, cells_with_visits, topology_of
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers, check_concentrations
from sklearn_cvb.settings import Durations, HMMParameters, Transitions


def check_transitions(options: ChainOptions) -> None:
    """Raise where fields of transitions do not go together, or not with the rest of a model."""
    transitions, kind = options.transitions, options.kind
    if transitions.start_alpha is not None:
        start_alpha = as_numbers("start_alpha", transitions.start_alpha)
        check_concentrations("start_alpha", start_alpha, kind.by_em)
    if transitions.start == "stationary":
        from sklearn_cvb.chain.parameters.stationary import check_stationary

        check_stationary(transitions, kind.by_em, options.fixed)
    if transitions.varies_by:
        _check_varying(options)
    if transitions.durations is not None:
        _check_durations(options)
    is_pooled = transitions.prior == "pooled"
    if transitions.shared is None and not is_pooled:
        return
    if kind.why_no_weights:
        prior = "prior='pooled'" if is_pooled else "HDP as prior of transitions"
        raise InvalidParameterError(f"{options.name} takes no {prior}: {kind.why_no_weights}")
    if is_pooled:
        if transitions.contexts is None:
            raise InvalidParameterError(
                "prior='pooled' is of the tables of several contexts: name the column of X that "
                "tells them, Transitions(contexts=..., prior='pooled')"
            )
        return
    if not _is_full(transitions):
        raise InvalidParameterError(
            "an HDP as prior of transitions gives every state a weight wherever it is entered "
            "from: it needs topology='full'"
        )


def _is_full(transitions: Transitions) -> bool:
    return isinstance(transitions.topology, str) and transitions.topology == "full"


def _check_varying(options: ChainOptions) -> None:
    """Raise where other options exclude transitions by context, or by inputs."""
    transitions, init = options.transitions, options.init
    reasons = {
        "a topology other than 'full'": not _is_full(transitions),
        "end_state=True: an end has no context": transitions.end_state,
        "start='stationary': no distribution stays as it is": transitions.start != "free",
        "prior='hdp'": transitions.shared is not None,
        _as_columns(options): emits_symbols(options.emission),
        "an array as alpha": bool(np.ndim(options.alpha)),
        "fixed transitions": "transitions" in options.fixed,
        "transmat in init": isinstance(init, HMMParameters) and init.transmat is not None,
    }
    by = transitions.varies_by
    if by == "inputs":
        reasons |= {
            f"{options.name}: classifiers have no posterior, take EMHMM": not options.kind.by_em,
            "contexts": transitions.contexts is not None,
            "prior='pooled'": transitions.prior == "pooled",
            "alpha: C of LogisticRegression holds coefficients back": bool(np.any(options.alpha)),
            "sticky": transitions.sticky > 0,
        }
    for what, is_so in reasons.items():
        refuse_varying(by if is_so else "", what)


def _as_columns(options: ChainOptions) -> str:
    """Symbols, and what to write where they are to be columns."""
    return (
        f"symbols as such: write {options.name}({options.n_components}, emission=Categorical(), "
        "transitions=...), after `from sklearn_cvb.emissions import Categorical`; text is read, too"
    )


def refuse_varying(by: str, what: str) -> None:
    """Raise that transitions by contexts, or inputs, exclude something; not where `by` is empty."""
    if by:
        raise InvalidParameterError(f"Transitions({by}=...) does not go with {what}")


def _check_durations(options: ChainOptions) -> None:
    """Raise where other options exclude visits with durations of their own."""
    transitions = options.transitions
    reasons = {
        "taggers": options.dictionary is not None,
        "end_state=True: a visit may go on beyond the end": transitions.end_state,
        "start='stationary'": transitions.start != "free",
        "sticky: no state follows itself": transitions.sticky > 0,
        "prior='hdp'": transitions.shared is not None,
        "contexts or inputs": bool(transitions.varies_by),
        _as_columns(options): emits_symbols(options.emission),
    }
    for what, is_so in reasons.items():
        refuse_durations(is_so, what)


def refuse_durations(is_so: bool, what: str) -> None:
    """Raise, if that is so, that durations exclude something."""
    if is_so:
        raise InvalidParameterError(f"Transitions(durations=...) does not go with {what}")


def cells_under(cells: Cells, transitions: Transitions) -> Cells:
    """A layout with the topology, ends and visits that transitions say."""
    topology = topology_of(transitions.topology, cells.n_states)
    cells = cells._replace(chain=cells.chain._replace(topology=topology))
    if transitions.end_state:
        cells = cells_with_end(cells)
    if transitions.durations is None:
        return cells
    cells = cells_with_visits(cells, int(Durations.of(transitions.durations).longest))
    topology = cells.chain.topology
    is_still = topology is None or topology.transition.trace() == cells.n_states
    refuse_durations(is_still, "a single state, or a topology where none leads to another")
    return cells


def contexts_to_draw(contexts: Any, cells: Cells) -> list[np.ndarray]:
    """Contexts of each sequence to draw, as whole numbers; ValueError where they are none."""
    if not cells.chain.has_contexts:
        raise ValueError("contexts are for models with Transitions(contexts=...); this has none")
    if contexts is None:
        raise ValueError(
            "steps follow each other by their contexts: give `contexts`, an array for each sequence"
        )
    tables, n_tables = [], cells.chain.n_tables
    for i, context in enumerate(contexts):
        table = as_numbers(f"contexts[{i}]", context)
        if table.ndim != 1 or not len(table) or not np.isin(table, np.arange(n_tables)).all():
            raise ValueError(
                f"contexts[{i}] must be a row of whole numbers from 0 to {n_tables - 1}"
            )
        tables.append(table.astype(np.int64))
    return tables
