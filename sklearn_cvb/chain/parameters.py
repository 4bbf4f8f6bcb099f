"""From counts to weights: priors, posterior means, exp E[log], and the public form of counts.

A tally holds counts with the prior added, and their denominators.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.learning.dirichlet import DirichletRows


class HMMCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a hidden Markov model.

    Attributes
    ----------
    start : ndarray of shape (n_components,)
        Expected number of sequences that start in each state.
    transition : ndarray of shape (n_components, n_components)
        Expected number of transitions from each state (row) to each state.
    emission : ndarray or scipy.sparse.csr_array of shape (n_symbols, n_components)
        Expected number of times each symbol (row; unknown item last where there is one) was
        emitted by each state. Sparse where a tag dictionary rules states out. Of numbers an array
        of shape (n_components, n_statistics): the sums over steps that a state's parameters were
        learned from, such as sums of squares, in the emission's own units. Inside the package
        the same name holds the flat cells of `sklearn_cvb.chain.lattice.Cells`.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class Presence(NamedTuple):
    """P(C > 0) for the cells of all tables, and for the totals of their rows."""

    cells: HMMCounts
    totals: HMMCounts


class Prior(NamedTuple):
    """Dirichlet prior: cells and row totals of the start row, transitions and emissions.

    Totals count every cell of a row, also those a dictionary rules out.
    """

    start: np.ndarray
    start_total: float
    transition: np.ndarray
    transition_total: np.ndarray
    emission: np.ndarray
    emission_total: np.ndarray
    # Those that it was made from, where they are known.
    concentrations: Any = None


def symmetric_prior(cells: Cells, alpha: float, beta: float, start_alpha: float) -> Prior:
    """The prior with one concentration for each kind of cell."""
    n = cells.n_states
    start = np.full(n, float(start_alpha))
    # No sequence is empty. The row of the end has a prior like all others: nothing counts there.
    start[cells.n_emitting :] = 0.0
    prior = Prior(
        start,
        float(cells.n_emitting * start_alpha),
        np.full((n, n), float(alpha)),
        np.full(n, float(n * alpha)),
        np.full(len(cells.state), float(beta)),
        np.full(n, float(cells.n_rows * beta)),
    )
    if cells.topology is None:
        return prior
    start, transition = cells.topology.masked(prior.start, prior.transition)
    return prior._replace(
        start=start,
        start_total=float(start.sum()),
        transition=transition,
        transition_total=transition.sum(axis=1),
    )


def unequal_transitions(
    prior: Prior,
    shared: tuple[float, ...] | None,
    sticky: float,
    alpha: float,
    start_alpha: float,
) -> Prior:
    """The prior with weights of the states that all rows share, and more for staying in a state.

    `shared` None leaves cells equal. With weights `alpha` and `start_alpha` are totals of a row,
    and the end, which is no state, has as much as one of K equal weights beside them.
    """
    n = len(prior.start)
    if shared is not None:
        ends = np.full(n - len(shared), 1.0 / len(shared))
        weights = np.append(shared, ends)
        prior = prior._replace(
            start=start_alpha * np.append(shared, 0.0 * ends),
            start_total=start_alpha,
            transition=np.tile(alpha * weights, (n, 1)),
            transition_total=np.full(n, alpha * (1.0 + ends.sum())),
        )
    stays = np.where(np.diag(prior.transition) > 0, sticky, 0.0)
    return prior._replace(
        transition=prior.transition + np.diag(stays),
        transition_total=prior.transition_total + stays,
    )


def with_dictionary(prior: Prior, cells: Cells, weight: float) -> Prior:
    """The prior with the counts that dictionary and forms expect, times `weight`.

    As if the corpus had been tagged so many times in their proportions; words known by their form
    alone share out their concentration in these, too.
    """
    emission = prior.emission
    if cells.centre is not None:
        emission = emission * cells.centre
    if cells.expected is not None:
        emission = emission + weight * np.nan_to_num(cells.expected)
    if emission is prior.emission:
        return prior
    added = cells.row_totals(emission - prior.emission)
    return prior._replace(emission=emission, emission_total=prior.emission_total + added)


def empty_counts(cells: Cells) -> HMMCounts:
    """Counts of zero."""
    n = cells.n_states
    return HMMCounts(np.zeros(n), np.zeros((n, n)), np.zeros(len(cells.state)))


def rows_of(counts: HMMCounts, prior: Prior, cells: Cells) -> list[DirichletRows]:
    """The Dirichlet posteriors of the start row, of transitions and of emissions."""
    emission, u, row = counts.emission, prior.emission, cells.state
    if cells.is_full:
        shape, row = (cells.n_rows, cells.n_emitting), slice(cells.n_emitting)
        emission, u = emission.reshape(shape), u.reshape(shape)
    first, out = counts.start.sum(keepdims=True), counts.transition.sum(axis=1)
    emit, every = cells.row_totals(counts.emission), slice(None)
    return [
        DirichletRows(counts.start, prior.start, first, np.array([prior.start_total]), every),
        DirichletRows(
            counts.transition, prior.transition, out, prior.transition_total, np.s_[:, None]
        ),
        DirichletRows(emission, u, emit, prior.emission_total, row),
    ]


def posterior_mean(
    counts: HMMCounts, prior: Prior, cells: Cells, kept: Weights | None = None
) -> Weights:
    """Posterior means, or maximum likelihood with a prior of 0.

    Rows without count and prior are as in `kept`; None for uniform ones.
    """
    tables = rows_of(counts, prior, cells)
    if kept is None and not all(rows.totals.all() for rows in tables):
        kept = uniform_weights(cells)
    means = [
        rows.mean(None if old is None else old.reshape(rows.counts.shape))
        for rows, old in zip(tables, kept or (None, None, None), strict=True)
    ]
    return _weights_of(means, cells)


def _weights_of(tables: list[np.ndarray], cells: Cells) -> Weights:
    """Tables as `rows_of` has them, as weights."""
    return tied(Weights(tables[0], tables[1], tables[2].reshape(-1)), cells)


def tied(weights: Weights, cells: Cells) -> Weights:
    """Weights whose transitions all are the start row, where no state depends on another."""
    if cells.topology is None or not cells.topology.tied:
        return weights
    return weights._replace(transition=np.tile(weights.start, (cells.n_states, 1)))


def exp_expected_log(counts: HMMCounts, prior: Prior, cells: Cells) -> Weights:
    """Weights exp(E[log theta]) under the Dirichlet posterior (Beal 2003; paper, section 2.1)."""
    rows = rows_of(counts, prior, cells)
    return _weights_of([table.exp_expected_log() for table in rows], cells)


def expected_log(counts: HMMCounts, prior: Prior, cells: Cells) -> Weights:
    """E[log theta] under the Dirichlet posterior."""
    rows = rows_of(counts, prior, cells)
    return _weights_of([table.expected_log() for table in rows], cells)


def weights_under(
    counts: HMMCounts, prior: Prior, cells: Cells, kept: Weights | None, *, averages: bool
) -> tuple[Weights, Weights]:
    """Weights for prediction, and their logs: exp E[log theta] or posterior means."""
    if averages:
        return exp_expected_log(counts, prior, cells), expected_log(counts, prior, cells)
    weights = posterior_mean(counts, prior, cells, kept)
    return weights, log_weights(weights)


def dirichlet_parameters(
    counts: HMMCounts, prior: Prior, cells: Cells
) -> tuple[HMMCounts, list[np.ndarray]]:
    """Dirichlet parameters u = counts + prior, and the totals of start, transition, emission."""
    start, transition, emission = tables = rows_of(counts, prior, cells)
    u = HMMCounts(start.cells, transition.cells, emission.cells.reshape(-1))
    return u, [rows.totals for rows in tables]


def uniform_weights(cells: Cells) -> Weights:
    """Equal weights for every state and symbol."""
    n = cells.n_states
    weights = Weights(
        np.full(n, 1.0 / n),
        np.full((n, n), 1.0 / n),
        np.full(len(cells.state), 1.0 / max(1, cells.n_rows)),
    )
    return kept_to_topology(weights, cells)


def kept_to_topology(weights: Weights, cells: Cells) -> Weights:
    """Weights with zeros where the topology allows nothing, and rows that sum to 1 again."""
    if cells.topology is None and cells.has_end:
        # No sequence is empty.
        start = np.append(weights.start[:-1], 0.0)
        return weights._replace(start=start / start.sum())
    if cells.topology is None or cells.topology.tied:
        return weights
    start, transition = cells.topology.masked(weights.start, weights.transition)
    return weights._replace(
        start=start / start.sum(), transition=transition / transition.sum(axis=1, keepdims=True)
    )


def log_weights(weights: Weights) -> Weights:
    """Elementwise logs; log 0 is -inf."""
    with np.errstate(divide="ignore"):
        return Weights(*(np.log(table) for table in weights))


def word_major(cells: Cells, values: np.ndarray) -> np.ndarray | csr_array:
    """Cells as a (n_symbols, n_components) array, sparse where a dictionary rules states out."""
    if cells.is_full:
        return values.reshape(cells.n_rows, cells.n_emitting)
    return csr_array(
        (values, cells.state, cells.indptr.astype(np.int32)),
        shape=(cells.n_rows, cells.n_emitting),
    )


def public_counts(counts: HMMCounts, cells: Cells) -> HMMCounts:
    """Counts with emissions in their public form, and without the end."""
    counts = counts._replace(emission=word_major(cells, counts.emission))
    return without_end(counts, cells) if cells.has_end else counts


def without_end(counts: HMMCounts, cells: Cells) -> HMMCounts:
    """Counts without the cells of the end."""
    n = cells.n_emitting
    return counts._replace(start=counts.start[:n], transition=counts.transition[:n, :n])


def with_end(counts: HMMCounts, end: np.ndarray) -> HMMCounts:
    """Counts with a column that says how often a sequence ends in each state."""
    n = len(end)
    transition = np.zeros((n + 1, n + 1))
    transition[:n, :n], transition[:n, n] = counts.transition, end
    return counts._replace(start=np.append(counts.start, 0.0), transition=transition)


def flat_cells(emission: np.ndarray | csr_array) -> np.ndarray:
    """The flat cells of a public emission table."""
    return np.ravel(emission) if isinstance(emission, np.ndarray) else emission.data


def tally_of(counts: HMMCounts, prior: Prior | None, cells: Cells) -> Tally:
    """Counts plus prior, with denominators (`prior` None: plain counts)."""
    start, transition, emission = counts
    out, emit = transition.sum(axis=1), cells.row_totals(emission)
    if prior is None:
        return Tally(start, transition, out, emission, emit)
    return Tally(
        start + prior.start,
        transition + prior.transition,
        out + prior.transition_total,
        emission + prior.emission,
        emit + prior.emission_total,
    )


def rare_counts(emission: np.ndarray, cells: Cells, seen: np.ndarray) -> np.ndarray | None:
    """Mean count, by state, of the words that were `seen` once; None without any."""
    once = np.repeat(seen == 1, np.diff(cells.indptr[: cells.n_words + 1]))
    if not once.any():
        return None
    slots = np.flatnonzero(once)
    total = np.bincount(cells.state[slots], weights=emission[slots], minlength=cells.n_emitting)
    return total / np.count_nonzero(seen == 1)


def rare_in(problem: Any, counts: HMMCounts) -> np.ndarray | None:
    """Mean count, by state, of the words seen once in a problem that has no unknown ones."""
    corpus, cells = problem.corpus, problem.cells
    return (
        None if corpus.unknown else rare_counts(counts.emission, cells, corpus.uses(cells.n_words))
    )


def with_rare(counts: HMMCounts, rare: np.ndarray | None, cells: Cells) -> HMMCounts:
    """Counts where unknown words have the mean count of words seen once, if there are any."""
    if rare is None:
        return counts
    emission = counts.emission.copy()
    emission[cells.unknown] += rare
    return counts._replace(emission=emission)


def floor_of(prior: Prior) -> Floor:
    """The tables of a prior alone: what no count may fall below."""
    return Floor(
        prior.start,
        prior.transition,
        prior.transition_total,
        prior.emission,
        prior.emission_total,
        float(prior.emission.min()),
        # A row whose every cell is 0 has no count either; nor has the end in the start row.
        float(min(prior.transition.min(), prior.start[prior.start > 0].min(initial=np.inf))),
    )
