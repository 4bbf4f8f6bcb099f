"""Credible intervals of the probabilities of a hidden Markov model, from its Dirichlet posteriors.

Each probability of a row with Dirichlet parameters u has a Beta(u_k, U - u_k) marginal, U their
sum.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_cvb.certainty.mixtures import beta_mixture_quantile
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, rows_of
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.learning.dirichlet import FIXED_MASS, Dirichlets
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.validation import check_level

# Halvings of the bracket around the quantile of a mixture.
_HALVINGS_OF_NUMBERS = 50

# (cell, sample) entries whose quantiles are sought together.
_CHUNK = 1 << 18


class CredibleIntervals(NamedTuple):
    """Ends of credible intervals; the lower ends come first on the first axis.

    Attributes
    ----------
    start : ndarray of shape (2, n_components)
        Of the start probabilities.
    transition : ndarray of shape (2, n_components, n_components)
        Of the probabilities from each state (row) to each state. With contexts of shape
        (2, n_contexts, n_components, n_components).
    emission : ndarray of shape (2, n_components, n_symbols)
        Of the emission probabilities; the unknown item, where there is one, is the last symbol.
        Of numbers a dict of arrays of shape (2, n_components, n_columns), or a list of such dicts.
    draws : Draws or None
        Draws from the posterior that the ends are quantiles of, where it is sampled.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: Any
    draws: Any = None


@dataclass(frozen=True)
class ChainPosterior:
    """The posterior of a fitted chain's parameters; one class for symbols, one for numbers."""

    learned: Learned

    # What holds a model of the chain, to draw paths by: `Structures`.
    structures: ClassVar[Any]

    def counts(self) -> HMMCounts:
        """The counts that the fit left, laid out as its model has them."""
        raise NotImplementedError

    def mean_field(self) -> tuple[HMMCounts, ChainPrior]:
        """Counts and prior of the posterior, as if expected counts had been observed."""
        raise NotImplementedError

    def draw(self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator) -> Any:
        """Parameters drawn given the counts of drawn paths."""
        raise NotImplementedError

    def intervals(
        self, posteriors: Iterable[tuple[HMMCounts, ChainPrior]], level: float
    ) -> CredibleIntervals:
        """Equal-tailed intervals of all probabilities under a mixture of posteriors."""
        return mixture_intervals(posteriors, self.learned.layout, level)


def mixture_intervals(
    posteriors: Iterable[tuple[HMMCounts, ChainPrior]], cells: Cells, level: float
) -> CredibleIntervals:
    """Equal-tailed intervals under a mixture of equally probable Dirichlet posteriors."""
    check_level(level)
    tails = 0.5 - 0.5 * level, 0.5 + 0.5 * level
    components = [_dirichlets(counts, prior, cells) for counts, prior in posteriors]
    moves = _quantiles([rows for _, rows, _ in components], tails)
    if cells.chain.has_contexts:
        moves = moves.reshape(len(tails), cells.chain.n_tables, cells.n_states, cells.n_states)
    return CredibleIntervals(
        _quantiles([rows for rows, _, _ in components], tails)[:, 0],
        moves,
        _quantiles([rows for _, _, rows in components], tails),
    )


def _dirichlets(
    counts: HMMCounts, prior: ChainPrior, cells: Cells
) -> tuple[Dirichlets, Dirichlets, Dirichlets]:
    """Dirichlets of the start, the transitions and the emissions of every state."""
    first, moves, words = (rows.posterior for rows in rows_of(counts, prior, cells))
    transition, out = moves.cells, moves.totals
    if cells.chain.topology is not None and cells.chain.topology.is_tied:
        transition = np.tile(first.cells, (cells.n_states, 1))
        out = np.repeat(first.totals, cells.n_states)
    n = cells.n_emitting
    start = Dirichlets(first.cells[None, :n], first.totals)
    emission = _emission_rows(words.cells.reshape(-1), prior, cells)
    steps = slice(n * cells.chain.n_tables)
    moved = Dirichlets(transition[steps, :n], out[steps])
    return start, moved, Dirichlets(emission, words.totals[:n])


def _emission_rows(u: np.ndarray, prior: ChainPrior, cells: Cells) -> np.ndarray:
    """Emission parameters of every state and symbol, (n_components, n_symbols).

    The cells that a dictionary rules out share the rest of their state's prior mass.
    """
    if cells.is_full:
        return u.reshape(cells.n_rows, cells.n_emitting).T
    rest = prior.emission_total - cells.row_totals(prior.emission)
    n_listed = np.bincount(cells.state, minlength=cells.n_states)
    each = np.maximum(rest, 0.0) / np.maximum(1, cells.n_rows - n_listed)
    table = np.repeat(each[: cells.n_emitting, None], cells.n_rows, axis=1)
    table[cells.state, np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))] = u
    return table


def _quantiles(components: list[Dirichlets], tails: tuple[float, float]) -> np.ndarray:
    """Quantiles of each cell's mixture of Beta marginals: (n_tails, n_rows, n_columns)."""
    n_rows, n_columns = components[0].cells.shape
    result = np.empty((len(tails), n_rows, n_columns))
    step = max(1, _CHUNK // len(components))
    for k in range(n_rows):
        if components[0].totals[k] >= FIXED_MASS / 2:
            result[:, k] = components[0].cells[k] / FIXED_MASS
            continue
        for begin in range(0, n_columns, step):
            block = np.s_[k, begin : begin + step]
            alpha = np.array([rows.cells[block] for rows in components])
            # Many cells have the same history, above all those never used.
            alpha, place = np.unique(alpha, axis=1, return_inverse=True)
            totals = np.array([rows.totals[k] for rows in components])
            beta = np.maximum(totals[:, None] - alpha, 0.0)
            for table, tail in zip(result, tails, strict=True):
                table[block] = beta_mixture_quantile(alpha, beta, tail)[place.ravel()]
    return result


# Of what states emit, where it is numbers: quantiles of the posterior of each parameter alone


def mixture_quantiles(components: list[Any], tails: tuple[float, float]) -> Any:
    """Where the mean distribution function of equally probable components reaches each tail.

    Components are frozen distributions of scipy.stats for tables (K, D), or nested dicts and lists
    of such, which are all of one form; so is what is found, with tails on the first axis.
    """
    first = components[0]
    if isinstance(first, dict):
        return {name: mixture_quantiles([one[name] for one in components], tails) for name in first}
    if isinstance(first, list):
        return [mixture_quantiles(list(one), tails) for one in zip(*components, strict=True)]
    quantiles = []
    for tail in tails:
        each = np.array([one.ppf(tail) for one in components])
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(_HALVINGS_OF_NUMBERS if len(components) > 1 else 0):
            middle = 0.5 * (low + high)
            reached = np.mean([one.cdf(middle) for one in components], axis=0) >= tail
            high, low = np.where(reached, middle, high), np.where(reached, low, middle)
        quantiles.append(0.5 * (low + high))
    return np.stack(quantiles)
