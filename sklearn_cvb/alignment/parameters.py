"""From counts to weights: priors, posterior means, exp E[log]."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma

from sklearn_cvb.alignment.layout import Layout
from sklearn_cvb.identity import are_same

# exp E[log] of what was hardly seen is below float64; where nothing else explains a word, even
# chances are left.
_ALMOST_NOTHING = 1e-200

# What stands for the probability of NULL where it is learned.
LEARNED = -1.0


class AlignmentCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a model of word alignment.

    Attributes
    ----------
    lexicon : csr_array of shape (n_sources + 1, n_targets)
        Expected number of times that each source word is linked to each target word. Unknown words,
        where a model handles them, are the last of both; the last row is that of target words
        without a source.
    jump : ndarray of shape (2 * longest_jump + 1,)
        Of jumps from -longest_jump to longest_jump; those that left the sentence and were drawn
        again are among them.
    null : ndarray of shape (2,)
        Of target words with a source, and without.
    """

    lexicon: csr_array
    jump: np.ndarray
    null: np.ndarray


class Prior(NamedTuple):
    """Dirichlet parameters.

    Attributes
    ----------
    cells : ndarray of shape (n_cells,)
    totals : ndarray of shape (n_rows,)
        Sums over all cells of a row, listed or not.
    rest : ndarray of shape (n_rows,)
        Of a cell of the lexicon that is not listed.
    p_null : float
        The probability that a target word has no source; `LEARNED` where it is learned.
    """

    cells: np.ndarray
    totals: np.ndarray
    rest: np.ndarray
    p_null: float

    def same(self, other: "Prior") -> bool:
        """Whether both say the same."""
        return are_same(self, other)


class Weights(NamedTuple):
    """Weights of all cells, and of cells that are not listed, by row."""

    cells: np.ndarray
    rest: np.ndarray


def prior_of(
    layout: Layout,
    alpha: float,
    beta: float,
    p_null: float | tuple[float, float],
    more: Mapping[int, float],
) -> Prior:
    """The prior that parameters ask for.

    Parameters
    ----------
    layout : Layout
    alpha, beta : float
        Of jumps and of the lexicon.
    p_null : float or tuple (without, with)
        A probability, or the parameters of its Beta prior.
    more : dict
        Key of a listed cell -> prior mass beside `beta`.

    Returns
    -------
    Prior
    """
    learned = isinstance(p_null, tuple)
    null = p_null[::-1] if isinstance(p_null, tuple) else (1.0 - p_null, p_null)
    cells = np.concatenate(
        [np.full(len(layout.keys), beta), np.full(layout.n_jumps, alpha), null]
    ).astype(np.float64)
    totals = np.full(layout.n_rows, beta * layout.n_targets)
    totals[-2:] = alpha * layout.n_jumps, sum(null)
    if more:
        keys = np.fromiter(more, np.int64, len(more))
        weights = np.fromiter(more.values(), np.float64, len(more))
        cells[np.searchsorted(layout.keys, keys)] += weights
        totals += np.bincount(keys // layout.n_targets, weights, layout.n_rows)
    rest = np.full(layout.n_rows, beta, dtype=np.float64)
    return Prior(cells, totals, rest, LEARNED if learned else float(np.asarray(p_null)))


def counts_from(cells: np.ndarray, layout: Layout) -> AlignmentCounts:
    """Flat cells as tables."""
    n, end = len(layout.keys), len(layout.keys) + layout.n_jumps
    return AlignmentCounts(_table(cells[:n], layout), cells[n:end].copy(), cells[end:].copy())


def _table(values: np.ndarray, layout: Layout) -> csr_array:
    """The lexicon as a sparse table."""
    rows, columns = np.divmod(layout.keys, layout.n_targets)
    ends = np.searchsorted(rows, np.arange(layout.n_sources + 2))
    shape = layout.n_sources + 1, layout.n_targets
    return csr_array((values.copy(), columns, ends), shape=shape)


def cells_from(counts: AlignmentCounts) -> np.ndarray:
    """Tables as flat cells, in a new array."""
    return np.concatenate([counts.lexicon.data, counts.jump, counts.null])


def posterior_mean(cells: np.ndarray, prior: Prior, layout: Layout) -> Weights:
    """(C + prior) / (sum of the row); a row without count and prior has equal weights.

    Parameters
    ----------
    cells : ndarray of shape (n_cells,)
    prior : Prior
    layout : Layout

    Returns
    -------
    Weights
    """
    totals = layout.totals_of(cells) + prior.totals
    even = 1.0 / np.repeat([layout.n_targets, layout.n_jumps, 2], [layout.n_sources + 1, 1, 1])
    seen, over = totals > 0, 1.0 / np.where(totals > 0, totals, 1.0)
    means = np.where(seen[layout.rows], (cells + prior.cells) * over[layout.rows], 0.0)
    means[~seen[layout.rows]] = even[layout.rows][~seen[layout.rows]]
    return _with_fixed_null(Weights(means, np.where(seen, prior.rest * over, even)), prior)


def exp_expected_log(cells: np.ndarray, prior: Prior, layout: Layout) -> Weights:
    """exp(E[log theta]) under the Dirichlet posterior."""
    logs = digamma(layout.totals_of(cells) + prior.totals)
    weights = np.exp(digamma(cells + prior.cells) - logs[layout.rows])
    rest = np.exp(digamma(prior.rest) - logs)
    return _with_fixed_null(
        Weights(*(np.maximum(part, _ALMOST_NOTHING) for part in (weights, rest))), prior
    )


def _with_fixed_null(weights: Weights, prior: Prior) -> Weights:
    if prior.p_null != LEARNED:
        weights.cells[-2:] = 1.0 - prior.p_null, prior.p_null
    return weights


def learned_rows(
    cells: np.ndarray, prior: Prior, layout: Layout
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cells, their prior, and totals of both, of rows whose probabilities are learned."""
    totals = layout.totals_of(cells)
    if prior.p_null == LEARNED:
        return cells, prior.cells, totals, prior.totals
    return cells[:-2], prior.cells[:-2], totals[:-1], prior.totals[:-1]
