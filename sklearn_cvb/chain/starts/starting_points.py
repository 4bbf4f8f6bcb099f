"""Starting points of a fit, by the ways of `init`: posteriors of the training tokens, or weights
for a first E-step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.chain.options import StartModel
from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    flat_cells,
    kept_to_topology,
    log_weights,
    posterior_mean,
    uniform_weights,
    with_end,
)
from sklearn_cvb.chain.parameters.user_tables import chain_tables
from sklearn_cvb.chain.paths.lattice import Cells, Problem, Topology, entry_cells, entry_states
from sklearn_cvb.kernels.chain.decoding import smoothed
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.reading.corpus import as_list, short_repr
from sklearn_cvb.reading.validation import as_numbers
from sklearn_cvb.settings import HMMParameters

# Smooths the transitions counted between unambiguous neighbours (Kupiec 1992).
_UNAMBIGUOUS_COUNT = 0.1
# How unevenly the word start spreads a word over states.
_WORD_CONCENTRATION = 0.1
# Where states have an order: even segments of sequences, other ones in later restarts. They are no
# words of users.
SEGMENTS, CUTS = "segments", "cuts"
# The rest for states beside the one that is nearest: nothing is certain.
_REST = 0.2
# This many entries at a time: what is laid out for them takes little memory.
_BLOCK = 2**18
# With more of all entries than this in use a product is faster in tables.
_DENSE = 0.15


class StartingPoint(NamedTuple):
    """A starting point: posteriors of all (token, state) entries, or weights; not both."""

    posterior: np.ndarray | None
    weights: ChainWeights | None


def normalise_entries(lattice: Lattice, entries: np.ndarray) -> None:
    """Divide the entries of each token by their sum, in place."""
    position = 0
    for begin in range(0, len(lattice.count), _BLOCK):
        count = lattice.count[begin : begin + _BLOCK]
        token = np.repeat(np.arange(len(count)), count)
        some = entries[position : position + len(token)]
        some /= np.bincount(token, weights=some)[token]
        position += len(token)


def neighbour_products(
    lattice: Lattice,
    starts: np.ndarray,
    posterior: np.ndarray,
    n_states: int,
    counted: np.ndarray | None = None,
) -> np.ndarray:
    """Sum over all neighbours in a sequence of the products of their posteriors, (K, K).

    Those of the second as they are `counted`, where tokens do not count once.
    """
    counted = posterior if counted is None else counted
    total, position = np.zeros((n_states, n_states)), 0
    first = np.zeros(len(lattice.count), bool)
    first[starts[:-1]] = True
    # Each block adds a whole table: few entries a token make long blocks.
    share = max(1.0, len(posterior) / max(1, len(first)))
    is_dense = share > _DENSE * n_states
    step = max(1, int(_BLOCK / (n_states if is_dense else share)))
    for begin in range(0, len(first), step):
        # A block ends with the token that the next one begins with.
        block = slice(begin, begin + step + 1)
        tokens = lattice._replace(first=lattice.first[block], count=lattice.count[block])
        bounds = np.concatenate([[0], np.cumsum(tokens.count)])
        own, states = slice(position, position + bounds[-1]), entry_states(tokens)
        entries = posterior[own]
        # No token is before the first one of a sequence.
        right = np.where(np.repeat(first[block], tokens.count), 0.0, counted[own])
        shape, cut = (len(bounds) - 2, n_states), bounds[1]
        before = csr_array((entries[: bounds[-2]], states[: bounds[-2]], bounds[:-1]), shape=shape)
        after = csr_array((right[cut:], states[cut:], bounds[1:] - cut), shape=shape)
        if is_dense:
            total += before.toarray().T @ after.toarray()
        else:
            total += (before.T @ after).toarray()
        position += bounds[min(step, len(tokens.count))]
    return total


def counts_from_marginals(problem: Problem, posterior: np.ndarray) -> HMMCounts:
    """Expected counts of independent token posteriors."""
    lattice, cells, starts = problem.lattice, problem.cells, problem.corpus.starts
    first, counted = np.zeros(len(lattice.count), bool), posterior
    first[starts[:-1]] = True
    inside, cell = np.repeat(first, lattice.count), entry_cells(lattice)
    if problem.corpus.times is not None:
        counted = posterior * np.repeat(problem.corpus.times, lattice.count)
    counts = HMMCounts(
        np.bincount(entry_states(lattice)[inside], counted[inside], cells.n_states),
        neighbour_products(lattice, starts, posterior, cells.n_states, counted),
        # Missing observations have cell -1.
        np.bincount(cell + 1, counted, len(cells.state) + 1)[1:],
    )
    topology = problem.cells.chain.topology
    if topology is None:
        return counts
    start, transition = topology.masked(counts.start, counts.transition)
    return counts._replace(start=start, transition=transition)


def legal_start(start: StartingPoint, problem: Problem) -> StartingPoint:
    """A start under the topology of a problem: no sequence begins where none may.

    Weights of transitions that are ruled out become 0.
    """
    topology = problem.cells.chain.topology
    if start.weights is not None:
        return StartingPoint(None, kept_to_topology(start.weights, problem.cells))
    if topology is None:
        return start
    lattice = problem.lattice
    first = np.zeros(len(lattice.count), bool)
    first[problem.corpus.starts[:-1]] = True
    inside = np.repeat(first, lattice.count)
    states, entries = entry_states(lattice), posterior_of(start, problem).copy()
    allowed = topology.start[states[inside]]
    tokens = np.repeat(np.arange(problem.corpus.n_sequences), lattice.count[first])
    entries_of_first = np.where(allowed, entries[inside], 0.0)
    # Where the start gives no allowed state anything, all of them are as likely.
    lost = np.bincount(tokens, weights=entries_of_first) == 0
    entries_of_first = np.where(lost[tokens], allowed, entries_of_first)
    entries[inside] = entries_of_first / np.bincount(tokens, weights=entries_of_first)[tokens]
    return StartingPoint(entries, None)


def posterior_of(start: StartingPoint, problem: Problem) -> np.ndarray:
    """Token posteriors of a start; its weights get one forward-backward pass."""
    if start.posterior is not None:
        return start.posterior
    assert start.weights is not None, "a start has weights or posteriors"
    posterior = np.empty(int(problem.lattice.count.sum()))
    smoothed(
        start.weights,
        log_weights(start.weights),
        problem.lattice,
        problem.corpus.starts,
        posterior,
        np.empty(problem.corpus.n_sequences),
    )
    return posterior


def token_start(problem: Problem, rng: np.random.Generator) -> StartingPoint:
    """q_t from Dirichlet(1) over each token's allowed states, independently.

    Times the shares that a weighted dictionary gives them.
    """
    entries = rng.standard_exponential(int(problem.lattice.count.sum()))
    if problem.cells.tag_prior.expected_counts is not None:
        entries *= _expected_entries(problem)
    normalise_entries(problem.lattice, entries)
    return StartingPoint(entries, None)


def _expected_entries(problem: Problem) -> np.ndarray:
    """What a dictionary expects of each (token, state) entry, in proportion; 1 without weights."""
    expected = problem.cells.tag_prior.expected_counts
    if expected is None:
        return np.ones(int(problem.lattice.count.sum()))
    # Any state is as likely for words without weights, and for a missing observation, which takes
    # the last value. Words that are labelled everywhere expect nothing.
    shares = np.append(np.where(expected > 0, expected, 1.0), 1.0)
    return shares[entry_cells(problem.lattice)]


def word_weights(cells: Cells, rng: np.random.Generator) -> np.ndarray:
    """What "word" draws: a weight for each cell, and one for missing observations."""
    weights = rng.standard_gamma(_WORD_CONCENTRATION, len(cells.state))
    # The missing word takes the last weight, 1: uniform. No word loses all weight to underflow.
    return np.append(weights + 1e-200, 1.0)


def words_start(problem: Problem, weights: np.ndarray) -> StartingPoint:
    """Posteriors in proportion to the weights of cells (`word_weights`)."""
    entries = weights[entry_cells(problem.lattice)]
    normalise_entries(problem.lattice, entries)
    return StartingPoint(entries, None)


def parameter_weights(cells: Cells, rng: np.random.Generator) -> ChainWeights:
    """Transitions and emissions drawn from Dirichlet(1)."""
    n = cells.n_states
    emission = rng.standard_exponential(len(cells.state))
    totals = cells.row_totals(emission)
    totals[totals == 0] = 1.0
    return ChainWeights(
        rng.dirichlet(np.ones(n)),
        rng.dirichlet(np.ones(n), size=cells.chain.n_tables * n),
        cells.divided(emission, totals),
    )


def table_weights(
    init: HMMParameters,
    cells: Cells,
    vocabulary: np.ndarray,
    rng: np.random.Generator,
    emitted: Callable[[np.ndarray], np.ndarray],
) -> ChainWeights:
    """The tables that are given, and what follows from them; else what "parameter" draws.

    ``emitted(cuts)`` has the emissions that segments count (see `segments_start`).
    """
    tables, others = chain_tables(init, cells, vocabulary), parameter_weights(cells, rng)
    if tables.emission is not None:
        # All steps as likely: symbols tell the states, and these the steps.
        others = uniform_weights(cells)
    elif tables.transition is not None:
        n = cells.n_emitting
        start = np.ones(n, bool) if tables.start is None else tables.start[:n] > 0
        if Topology(start, tables.transition[:n, :n] > 0, False).is_ordered:
            counts = emitted(cuts_of(SEGMENTS, n, rng)) + _UNAMBIGUOUS_COUNT
            others = others._replace(emission=cells.divided(counts, cells.row_totals(counts)))
    each = zip(tables, others, strict=True)
    return ChainWeights(*(other if table is None else table for table, other in each))


def cuts_of(init: str, n_states: int, rng: np.random.Generator) -> np.ndarray:
    """Where segments of sequences begin, as shares of these: even, or drawn."""
    if init == SEGMENTS:
        return np.arange(1, n_states) / n_states
    return np.sort(rng.random(n_states - 1))


def segments_start(problem: Problem, cuts: np.ndarray) -> StartingPoint:
    """Nearly all of the states in their order, from one to the next at these cuts."""
    has_end, starts = problem.cells.chain.has_end, problem.corpus.starts
    lengths = np.diff(starts)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths) + 0.5
    states = np.searchsorted(cuts, places / np.repeat(np.maximum(lengths - has_end, 1), lengths))
    inside = entry_states(problem.lattice) == np.repeat(states, problem.lattice.count)
    entries = np.where(inside, 1.0 - _REST, 0.0) + _REST / problem.cells.n_emitting
    normalise_entries(problem.lattice, entries)
    return StartingPoint(entries, None)


def emitted_in_segments(problem: Problem, cuts: np.ndarray) -> np.ndarray:
    """How often segments emit what each cell stands for."""
    posterior = segments_start(problem, cuts).posterior
    assert posterior is not None, "it is made of posteriors"
    return counts_from_marginals(problem, posterior).emission


def smooth_weights(start: np.ndarray, transition: np.ndarray, emission: np.ndarray) -> ChainWeights:
    """Weights of counted steps, a little added to each; emissions as they are given."""
    start = start + _UNAMBIGUOUS_COUNT
    transition = transition + _UNAMBIGUOUS_COUNT
    transition /= transition.sum(axis=1, keepdims=True)
    return ChainWeights(start / start.sum(), transition, emission)


def independent_chain_counts(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Starts and transitions that "context" counts."""
    entries = _expected_entries(problem)
    normalise_entries(problem.lattice, entries)
    counts = counts_from_marginals(problem, entries)
    return counts.start + problem.runs.start, counts.transition + problem.runs.transition


def context_tables(start: np.ndarray, transition: np.ndarray, cells: Cells) -> ChainWeights:
    """Weights of steps from `independent_chain_counts`; no emissions."""
    return kept_to_topology(smooth_weights(start, transition, np.empty(0)), cells)


def neighbours_start(problem: Problem, tables: ChainWeights) -> StartingPoint:
    """How well each token's states go with those of its neighbours, under `context_tables`."""
    lattice, entries = problem.lattice, _expected_entries(problem)
    normalise_entries(lattice, entries)
    entries = _from_neighbours(lattice, problem.corpus.starts, entries, tables)
    normalise_entries(lattice, entries)
    return StartingPoint(entries, None)


def _from_neighbours(
    lattice: Lattice, starts: np.ndarray, posterior: np.ndarray, weights: ChainWeights
) -> np.ndarray:
    """How well each entry goes with the posteriors of the tokens before and after it."""
    n_tokens, n_states = len(lattice.count), len(weights.start)
    bounds = np.concatenate([[0], np.cumsum(lattice.count, dtype=np.int64)])
    rows = csr_array((posterior, entry_states(lattice), bounds), shape=(n_tokens, n_states))
    # The same numbers in a smaller type.
    states, bounds = rows.indices, rows.indptr
    result, step = np.empty(len(posterior)), max(1, _BLOCK // n_states)
    for begin in range(0, n_tokens, step):
        end = min(begin + step, n_tokens)
        # The tokens beside those of the block; what is wrong at the borders is put right below.
        before = np.maximum(np.arange(begin, end) - 1, 0)
        after = np.minimum(np.arange(begin, end) + 1, n_tokens - 1)
        left = rows[before] @ weights.transition
        right = rows[after] @ weights.transition.T
        inside = starts[(starts >= begin) & (starts < end)] - begin
        left[inside] = weights.start
        inside = starts[(starts > begin) & (starts <= end)] - begin - 1
        right[inside] = 1.0
        block = slice(bounds[begin], bounds[end])
        tokens = np.repeat(np.arange(end - begin), lattice.count[begin:end])
        result[block] = left[tokens, states[block]] * right[tokens, states[block]]
    return result


def posterior_arrays(init: Any, starts: np.ndarray, n_states: int) -> list[np.ndarray]:
    """Posteriors given as one (length, n_components) array per sequence."""
    lengths, arrays = np.diff(starts), as_list(init)
    if arrays is None:
        raise TypeError(f"init is {short_repr(init)}: pass a list of posterior arrays")
    arrays = [as_numbers(f"init[{i}]", array) for i, array in enumerate(arrays)]
    if len(arrays) != len(lengths):
        raise ValueError(f"init has {len(arrays)} posterior arrays for {len(lengths)} sequences")
    for i, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
        if array.shape != (length, n_states):
            raise ValueError(
                f"init[{i}] has shape {array.shape}, but sequence {i} needs "
                f"{(int(length), n_states)}"
            )
    return arrays


def array_start(problem: Problem, init: Any) -> StartingPoint:
    """Posteriors given as arrays, which must keep to the allowed states."""
    starts = problem.original.starts
    table = np.concatenate(posterior_arrays(init, starts, problem.cells.n_emitting))
    places = np.arange(len(table)) if problem.places is None else problem.places
    if problem.cells.chain.has_end:
        # An end has place -1, the last row.
        table = np.pad(table, (0, 1))
        table[-1, -1] = 1.0
    table = table[places]
    tokens = np.repeat(np.arange(len(table)), problem.lattice.count)
    entries = table[tokens, entry_states(problem.lattice)]
    allowed = np.bincount(tokens, weights=entries, minlength=len(table))
    wrong = places[~(np.abs(allowed - 1.0) < 1e-6) | (table < 0).any(axis=1)]
    if len(wrong):
        sequence = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        raise ValueError(
            f"init[{sequence}] must give each token non-negative probabilities that sum to 1 over "
            f"its allowed states (position {wrong[0] - starts[sequence]} does not)"
        )
    return StartingPoint(entries, None)


def model_counts(problem: Problem, model: StartModel, vocabulary: np.ndarray) -> HMMCounts:
    """The counts of a fitted model over the same vocabulary and states."""
    emission, cells = flat_cells(model.counts.emission), problem.cells
    listed = getattr(model.counts.emission, "indices", np.arange(0))
    same = (
        len(emission) == len(cells.state)
        and (cells.is_full or np.array_equal(listed, cells.state))
        and len(model.counts.start) == cells.n_emitting
        and (model.end_counts is not None) == cells.chain.has_end
        and list(model.vocabulary) == list(vocabulary)
    )
    if not same:
        raise ValueError(
            "init is a model with other states, another vocabulary or another handling of unknown "
            "words: fit it on the same sequences with the same n_components, "
            "transitions, emission, tag_dictionary and labels that overrule the dictionary"
        )
    counts = HMMCounts(model.counts.start, model.counts.transition, emission)
    if cells.chain.has_end:
        counts = with_end(counts, model.end_counts)
    topology = problem.cells.chain.topology
    if topology is not None:
        start, transition = topology.masked(counts.start, counts.transition)
        lost = (start != counts.start).any() or (transition != counts.transition).any()
        if lost or (topology.is_tied and transition.any()):
            raise ValueError("init is a model with steps that transitions rule out")
    return counts


def model_start(
    problem: Problem, model: StartModel, prior: ChainPrior, vocabulary: np.ndarray
) -> StartingPoint:
    """The posterior-mean weights of a fitted model."""
    counts = model_counts(problem, model, vocabulary)
    fallback = uniform_weights(problem.cells)
    return StartingPoint(None, posterior_mean(counts, prior, problem.cells, fallback))


def starting_point(
    init: Any, problem: Problem, prior: ChainPrior, vocabulary: np.ndarray, rng: np.random.Generator
) -> StartingPoint:
    """Posteriors or weights to start from: by a name, of a fitted model, or as given."""
    runs, cells = problem.runs, problem.cells
    if isinstance(init, str) and init == "token":
        start = token_start(problem, rng)
    elif isinstance(init, str) and init == "word":
        # One posterior for all tokens of a word, from a sparse Dirichlet over its allowed states.
        start = words_start(problem, word_weights(cells, rng))
    elif isinstance(init, str) and init == "context":
        start = neighbours_start(problem, context_tables(*independent_chain_counts(problem), cells))
    elif isinstance(init, str) and init in (SEGMENTS, CUTS):
        start = segments_start(problem, cuts_of(init, cells.n_emitting, rng))
    elif isinstance(init, str) and init == "unambiguous":
        flat = np.ones(len(cells.state))
        start = StartingPoint(None, smooth_weights(runs.start, runs.transition, flat))
    elif isinstance(init, str):
        start = StartingPoint(None, parameter_weights(cells, rng))
    elif hasattr(init, "predict_proba"):
        start = model_start(problem, init, prior, vocabulary)
    elif isinstance(init, HMMParameters):
        emitted = partial(emitted_in_segments, problem)
        start = StartingPoint(None, table_weights(init, problem.cells, vocabulary, rng, emitted))
    else:
        start = array_start(problem, init)
    return legal_start(start, problem)
