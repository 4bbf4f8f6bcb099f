"""Parameters of word alignment as flat cells: the lexicon, listed for words that occur together
(all others are unlisted, and have the prior alone), jumps, and whether there is a source. Prior,
weights.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.alignment.links import best_positions
from sklearn_cvb.kernels import alignment as kernels
from sklearn_cvb.kernels.alignment import AlignmentPairs, AlignmentTally
from sklearn_cvb.kernels.sums import CellSums
from sklearn_cvb.learning.dirichlet import DirichletRows
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.reading.sample_sizes import check_sample

# Words of so many pairs are looked up at a time.
_PIECE = 1000

# exp E[log] of what was hardly seen is below float64; where nothing else explains a word, even
# chances are left.
_ALMOST_NOTHING = 1e-200

# What stands for the probability of NULL where it is learned.
LEARNED = -1.0


class AlignmentLayout(NamedTuple):
    """Rows and cells of a model, in the order of `sklearn_cvb.kernels.alignment`."""

    n_sources: int  # types of source words, unknown ones among them
    n_targets: int  # and of target words
    longest_jump: int
    # row * n_targets + target of the listed cells of the lexicon, sorted; NULL's is the last row.
    keys: np.ndarray

    @property
    def n_jumps(self) -> int:
        """Cells of jumps."""
        return 2 * self.longest_jump + 1

    @property
    def n_cells(self) -> int:
        """Cells of all kinds."""
        return len(self.keys) + self.n_jumps + 2

    @property
    def n_rows(self) -> int:
        """Those of source words, of NULL, of jumps, and of whether there is a source."""
        return self.n_sources + 3

    @property
    def row(self) -> np.ndarray:
        """The row of each cell."""
        ends = np.repeat([self.n_sources + 1, self.n_sources + 2], [self.n_jumps, 2])
        return np.concatenate([self.keys // self.n_targets, ends])

    @property
    def widths(self) -> np.ndarray:
        """Cells of each row, listed or not."""
        return np.repeat([self.n_targets, self.n_jumps, 2], [self.n_sources + 1, 1, 1])

    @property
    def n_unlisted(self) -> np.ndarray:
        """Cells of each row that are not listed."""
        return self.widths - np.bincount(self.row, minlength=self.n_rows)

    def totals(self, cells: np.ndarray) -> np.ndarray:
        """Sums of the listed cells of each row."""
        return np.bincount(self.row, cells, self.n_rows)


class EncodedPairs(NamedTuple):
    """Sentence pairs as rows of the lexicon and types of target words, and their offsets."""

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray


class WordPairKeys(NamedTuple):
    """Keys of all pairs of a source and a target word that occur in a sentence pair."""

    keys: list[np.ndarray]  # of some pairs at a time, sorted
    # Where in these the key of two words stands, placed as in `AlignmentPairs.cell`.
    places: np.ndarray


def cooccurring_words(encoded: EncodedPairs, sizes: tuple[int, int]) -> WordPairKeys:
    """The keys of all words that occur together."""
    _check_largest(np.diff(encoded.source_starts), np.diff(encoded.target_starts))
    first, keys = table_starts(encoded), []
    places = np.empty(first[-1], np.int32)
    for piece in _ranges_of_pairs(encoded):
        all_keys = _keys_of(encoded, piece, sizes)
        distinct, inverse = np.unique(all_keys, return_inverse=True)
        keys.append(distinct)
        places[first[piece.start] : first[piece.stop]] = inverse.ravel()
    return WordPairKeys(keys, places)


def _check_largest(n: np.ndarray, m: np.ndarray) -> None:
    """Tell of a pair that takes long, and raise where its tables have no room."""
    n, m = n.astype(np.float64), m.astype(np.float64)
    # Moves three times, and links (`kernels.alignment.AlignmentWorkspace`); three passes over them.
    n_bytes, n_steps = 8 * n * (3 * n + 4 * m), 3 * n * n * m
    i = int(n_steps.argmax())
    words = f"{n[i]:,.0f} source and {m[i]:,.0f} target words"
    check_sample(f"pair {i}", words, float(n_bytes[i]), float(n_steps[i]))


def table_starts(encoded: EncodedPairs) -> np.ndarray:
    """Where the table of each pair begins, a row for each source word and one for NULL."""
    n, m = np.diff(encoded.source_starts), np.diff(encoded.target_starts)
    return np.concatenate([[0], np.cumsum((n + 1) * m)]).astype(np.int64)


def layout_of(
    words: WordPairKeys, sizes: tuple[int, int], longest_jump: int, others: np.ndarray
) -> AlignmentLayout:
    """The cells that words which stand beside each other need, and those with other keys."""
    keys = np.unique(np.concatenate([others.astype(np.int64), *words.keys]))
    return AlignmentLayout(*sizes, longest_jump, keys)


def pairs_of(
    encoded: EncodedPairs,
    words: WordPairKeys,
    layout: AlignmentLayout,
    known: dict[int, list[Any]] | None = None,
) -> AlignmentPairs:
    """Sentence pairs as kernels read them; known links of pairs rule out others of their words.

    The places in `words` become those of cells.
    """
    m, first, cell = np.diff(encoded.target_starts), table_starts(encoded), words.places
    for piece, keys in zip(_ranges_of_pairs(encoded), words.keys, strict=True):
        places = np.minimum(np.searchsorted(layout.keys, keys), len(layout.keys) - 1)
        places[layout.keys[places] != keys] = kernels.UNLISTED
        ours = slice(first[piece.start], first[piece.stop])
        cell[ours] = places[cell[ours]]
    for i, links in (known or {}).items():
        table = cell[first[i] : first[i + 1]].reshape(-1, m[i])
        allowed = np.ones(table.shape, bool)
        allowed[:, [j for _, j in links]] = False
        for source, target in links:
            allowed[source, target] = True
        table[~allowed] = kernels.FORBIDDEN
    starts = encoded.source_starts, encoded.target_starts
    return AlignmentPairs(
        encoded.source, *starts, cell, first, len(layout.keys), layout.n_sources, layout[2]
    )


def _ranges_of_pairs(encoded: EncodedPairs) -> list[range]:
    n_pairs = len(encoded.source_starts) - 1
    return [range(a, min(a + _PIECE, n_pairs)) for a in range(0, n_pairs, _PIECE)]


def _keys_of(encoded: EncodedPairs, piece: range, sizes: tuple[int, ...]) -> np.ndarray:
    """Keys of all two words of some pairs: by pair, source word (NULL is the last), target word."""
    n_sources, n_targets = sizes
    source_starts = encoded.source_starts[piece.start : piece.stop + 1]
    target_starts = encoded.target_starts[piece.start : piece.stop + 1]
    rows = np.insert(
        encoded.source[source_starts[0] : source_starts[-1]],
        source_starts[1:] - source_starts[0],
        n_sources,
    )
    n_words = np.repeat(np.diff(target_starts), np.diff(source_starts) + 1)
    begin = np.repeat(target_starts[:-1], np.diff(source_starts) + 1)
    within = np.arange(n_words.sum()) - np.repeat(np.cumsum(n_words) - n_words, n_words)
    targets = encoded.target[np.repeat(begin, n_words) + within]
    return np.repeat(rows, n_words) * n_targets + targets


def positions_to_places(pairs: AlignmentPairs, positions: np.ndarray) -> np.ndarray:
    """Where in tables of links each target word's source stands; a position of -1 is none."""
    n, m = np.diff(pairs.source_starts), np.diff(pairs.target_starts)
    row = np.where(positions < 0, np.repeat(n, m), positions)
    column = np.arange(len(positions)) - np.repeat(pairs.target_starts[:-1], m)
    return np.repeat(pairs.first[:-1], m) + row * np.repeat(m, m) + column


def link_tables(link: np.ndarray, pairs: AlignmentPairs) -> list[np.ndarray]:
    """Views (n_target, n_source + 1) of values that are placed as in `AlignmentPairs.cell`."""
    n_words = np.diff(pairs.target_starts).tolist()
    ends = zip(pairs.first[:-1].tolist(), pairs.first[1:].tolist(), n_words, strict=True)
    return [link[a:b].reshape(-1, m).T for a, b, m in ends]


def best_positions_of(link: np.ndarray, pairs: AlignmentPairs) -> np.ndarray:
    """The most probable source of each target word, -1 for none."""
    return np.concatenate(list(map(best_positions, link_tables(link, pairs))))


# Counts, priors and weights


class AlignmentCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a model of word alignment.

    Attributes
    ----------
    lexicon : csr_array of shape (n_sources + 1, n_targets)
        Expected number of times that each source word is linked to each target word. Unknown words,
        where a model handles them, are the last of both; the last row is that of target words
        without a source.
    jump : ndarray of shape (2 * n + 1,)
        Of jumps from -n to n, see `jumpprob_`; those that left the sentence and were drawn
        again are among them.
    null : ndarray of shape (2,)
        Of target words with a source, and without.
    """

    lexicon: csr_array
    jump: np.ndarray
    null: np.ndarray


class AlignmentPrior(NamedTuple):
    """Dirichlet parameters of all cells."""

    cells: np.ndarray  # (n_cells,)
    totals: np.ndarray  # (n_rows,), sums over all cells of a row, listed or not
    unlisted: np.ndarray  # (n_rows,), of a cell of the lexicon that is not listed
    p_null: float  # the probability of no source; `LEARNED` where it is learned


class AlignmentWeights(NamedTuple):
    """Weights of all cells, and of cells that are not listed, by row."""

    cells: np.ndarray
    unlisted: np.ndarray


def prior_of(
    layout: AlignmentLayout,
    alpha: float,
    beta: float,
    p_null: float | tuple[float, float],
    more: Mapping[int, float],
) -> AlignmentPrior:
    """The prior that parameters ask for, with more mass for cells of some keys."""
    learned = isinstance(p_null, tuple)
    if isinstance(p_null, tuple):
        null = float(p_null[1]), float(p_null[0])
    else:
        null = 1.0 - float(p_null), float(p_null)
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
    unlisted = np.full(layout.n_rows, beta, dtype=np.float64)
    return AlignmentPrior(cells, totals, unlisted, LEARNED if learned else null[1])


def counts_from(cells: np.ndarray, layout: AlignmentLayout) -> AlignmentCounts:
    """Flat cells as tables."""
    n, end = len(layout.keys), len(layout.keys) + layout.n_jumps
    rows, columns = np.divmod(layout.keys, layout.n_targets)
    ends = np.searchsorted(rows, np.arange(layout.n_sources + 2))
    shape = layout.n_sources + 1, layout.n_targets
    lexicon = csr_array((cells[:n].copy(), columns, ends), shape=shape)
    return AlignmentCounts(lexicon, cells[n:end].copy(), cells[end:].copy())


def cells_from(counts: AlignmentCounts) -> np.ndarray:
    """Tables as flat cells, in a new array."""
    return np.concatenate([counts.lexicon.data, counts.jump, counts.null])


def rows_of(cells: np.ndarray, prior: AlignmentPrior, layout: AlignmentLayout) -> DirichletRows:
    """Listed cells as rows of probabilities."""
    row = layout.row
    totals = np.bincount(row, cells, layout.n_rows), prior.totals
    return DirichletRows(cells, prior.cells, *totals, row, layout.widths)


def learned_rows(rows: DirichletRows, prior: AlignmentPrior) -> DirichletRows:
    """Rows without that of no source where it is given."""
    if prior.p_null == LEARNED:
        return rows
    counts, cells, row = rows.counts[:-2], prior.cells[:-2], rows.row[:-2]
    return DirichletRows(counts, cells, rows.count_totals[:-1], rows.prior_totals[:-1], row)


def weights_of(
    rows: DirichletRows, prior: AlignmentPrior, logs: np.ndarray | None = None
) -> AlignmentWeights:
    """Posterior means (equal in a row without count and prior), or exp of E[log theta]."""
    none = np.zeros(len(prior.unlisted))
    unlisted_rows = rows._replace(counts=none, prior=prior.unlisted, row=slice(None))
    if logs is None:
        weights = AlignmentWeights(rows.mean(), unlisted_rows.mean())
    else:
        # Rows of jumps and of NULL have no such cells: what they would have may be above 1.
        parts = np.exp(logs), np.exp(np.minimum(unlisted_rows.expected_log(), 0.0))
        weights = AlignmentWeights(*(np.maximum(part, _ALMOST_NOTHING) for part in parts))
    if prior.p_null != LEARNED:
        weights.cells[-2:] = 1.0 - prior.p_null, prior.p_null
    return weights


def tally_of(cells: np.ndarray, prior: AlignmentPrior, layout: AlignmentLayout) -> AlignmentTally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    sums = CellSums(cells.copy(), layout.totals(cells))
    return AlignmentTally(sums, prior.cells, prior.totals, prior.unlisted, prior.p_null)


def zero_sums(layout: AlignmentLayout) -> CellSums:
    """Counts of nothing."""
    return CellSums(np.zeros(layout.n_cells), np.zeros(layout.n_rows))


# Weights that predictions are made under, whichever algorithm left them


def mean_weights(learned: Learned) -> AlignmentWeights:
    """Posterior means, or their averages over the samples of a chain."""
    if learned.extra is not None:
        return learned.extra
    return weights_of(_rows_from_fit(learned), learned.prior)


def predicting_weights(learned: Learned) -> AlignmentWeights:
    """Weights of `predict` and `predict_proba`."""
    if not learned.averages:
        return mean_weights(learned)
    rows = _rows_from_fit(learned)
    return weights_of(rows, learned.prior, rows.expected_log())


def _rows_from_fit(learned: Learned) -> DirichletRows:
    return rows_of(cells_from(learned.counts), learned.prior, learned.layout)


# What a fitted model knows of translations, as a table to read


# How many source words `repr` shows, and translations of each.
_SHOWN, _TRANSLATIONS = 10, 3


class Lexicon:
    """Probabilities of translations, p(target word | source word).

    Fitted models make it; see `lexicon_`. Pairs of words that never stood beside each other are not
    in it.

    Parameters
    ----------
    table : csr_array of shape (n_sources + 1, n_targets)
        Probabilities; the last row is that of target words without a source.
    source, target : list
        The known words; types beyond them are unknown words.
    """

    def __init__(self, table: csr_array, source: list[Any], target: list[Any]) -> None:
        self.table = table
        self.source = source
        self.target = target
        self._row = {word: i for i, word in enumerate(source)}

    def translations(self, word: Hashable, n: int = 10) -> list[tuple[Any, float]]:
        """The most probable translations of a source word.

        Parameters
        ----------
        word : hashable
            A known source word; None for target words without a source.
        n : int, default=10
            How many.

        Returns
        -------
        list of tuple (target word, probability)
            The most probable first.

        Raises
        ------
        KeyError
            If the word is not known.
        """
        if word is not None and word not in self._row:
            raise KeyError(f"{short_repr(word)} is no source word that the model knows")
        row = self.table.shape[0] - 1 if word is None else self._row[word]
        begin, end = self.table.indptr[row : row + 2].tolist()
        values, columns = self.table.data[begin:end], self.table.indices[begin:end]
        best = np.argsort(-values, kind="stable")[:n].tolist()
        return [(self.target[columns[i]], float(values[i])) for i in best]

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        lines = [f"Lexicon of {len(self.source)} source and {len(self.target)} target words"]
        for word in self.source[:_SHOWN]:
            best = self.translations(word, _TRANSLATIONS)
            lines.append(f"{word}: " + ", ".join(f"{other} {p:.3f}" for other, p in best))
        return "\n".join(lines + ["..."] * (len(self.source) > _SHOWN))
