"""Which parameters there are: cells of the lexicon, of jumps and of NULL, and their rows."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.alignment.arrays import FORBIDDEN, UNLISTED, Pairs

# Words of so many pairs are looked up at a time.
_PIECE = 1000


class Layout(NamedTuple):
    """Rows and cells of a model, in the order of `sklearn_cvb.kernels.alignment.arrays`.

    Attributes
    ----------
    n_sources, n_targets : int
        Types of source and of target words, unknown ones among them.
    longest_jump : int
        K.
    keys : ndarray of shape (n_lexical,), int64
        ``row * n_targets + target`` of the listed cells of the lexicon, sorted; the last row is
        that of NULL.
    """

    n_sources: int
    n_targets: int
    longest_jump: int
    keys: np.ndarray

    @property
    def n_jumps(self) -> int:
        """Cells of jumps."""
        return 2 * self.longest_jump + 1

    @property
    def n_cells(self) -> int:
        """All of them."""
        return len(self.keys) + self.n_jumps + 2

    @property
    def n_rows(self) -> int:
        """Those of source words, of NULL, of jumps, and of whether there is a source."""
        return self.n_sources + 3

    @property
    def rows(self) -> np.ndarray:
        """The row of each cell."""
        ends = np.repeat([self.n_sources + 1, self.n_sources + 2], [self.n_jumps, 2])
        return np.concatenate([self.keys // self.n_targets, ends])

    def totals_of(self, cells: np.ndarray) -> np.ndarray:
        """Sums of the listed cells of each row."""
        return np.bincount(self.rows, cells, self.n_rows)


class Encoded(NamedTuple):
    """Sentence pairs as rows of the lexicon and types of target words, and their offsets."""

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray


class Words(NamedTuple):
    """All two words that stand beside each other, as keys.

    Attributes
    ----------
    keys : list of ndarray
        Sorted keys of some pairs.
    places : ndarray, int32
        For each two words of a pair, placed as in `Pairs.cell`, where their key stands in these.
    """

    keys: list[np.ndarray]
    places: np.ndarray


def words_beside(encoded: Encoded, sizes: tuple[int, int]) -> Words:
    """All two words that stand beside each other.

    Parameters
    ----------
    encoded : Encoded
    sizes : tuple (n_sources, n_targets)

    Returns
    -------
    Words
    """
    first, keys = first_places(encoded), []
    places = np.empty(first[-1], np.int32)
    for piece in _pieces(encoded):
        found, inverse = np.unique(_keys_of(encoded, piece, sizes), return_inverse=True)
        keys.append(found)
        places[first[piece.start] : first[piece.stop]] = inverse.ravel()
    return Words(keys, places)


def first_places(encoded: Encoded) -> np.ndarray:
    """Where the table of each pair begins, a row for each source word and one for NULL."""
    n, m = np.diff(encoded.source_starts), np.diff(encoded.target_starts)
    return np.concatenate([[0], np.cumsum((n + 1) * m)]).astype(np.int64)


def layout_of(
    words: Words, sizes: tuple[int, int], longest_jump: int, others: np.ndarray
) -> Layout:
    """The cells that words which stand beside each other need, and others.

    Parameters
    ----------
    words : Words
    sizes : tuple (n_sources, n_targets)
    longest_jump : int
    others : ndarray of int64
        Keys of cells that are needed in any case.

    Returns
    -------
    Layout
    """
    keys = np.unique(np.concatenate([others.astype(np.int64), *words.keys]))
    return Layout(*sizes, longest_jump, keys)


def pairs_of(
    encoded: Encoded, words: Words, layout: Layout, known: dict[int, list] | None = None
) -> Pairs:
    """Sentence pairs with the cell of each two words, as kernels read them.

    Parameters
    ----------
    encoded : Encoded
    words : Words
        Changed in place: `places` become those of cells.
    layout : Layout
    known : dict or None, default=None
        Known links, by pair: other links of their target words are ruled out.

    Returns
    -------
    Pairs
    """
    m, first, cell = np.diff(encoded.target_starts), first_places(encoded), words.places
    for piece, keys in zip(_pieces(encoded), words.keys, strict=True):
        places = np.minimum(np.searchsorted(layout.keys, keys), len(layout.keys) - 1)
        places[layout.keys[places] != keys] = UNLISTED
        ours = slice(first[piece.start], first[piece.stop])
        cell[ours] = places[cell[ours]]
    for i, links in (known or {}).items():
        table = cell[first[i] : first[i + 1]].reshape(-1, m[i])
        allowed = np.ones(table.shape, bool)
        allowed[:, [j for _, j in links]] = False
        for source, target in links:
            allowed[source, target] = True
        table[~allowed] = FORBIDDEN
    starts = encoded.source_starts, encoded.target_starts
    return Pairs(
        encoded.source, *starts, cell, first, len(layout.keys), layout.n_sources, layout[2]
    )


def _pieces(encoded: Encoded) -> list[range]:
    n_pairs = len(encoded.source_starts) - 1
    return [range(a, min(a + _PIECE, n_pairs)) for a in range(0, n_pairs, _PIECE)]


def _keys_of(encoded: Encoded, piece: range, sizes: tuple[int, ...]) -> np.ndarray:
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


def positions_to_places(pairs: Pairs, positions: np.ndarray) -> np.ndarray:
    """Where in tables of links each target word's source stands.

    Parameters
    ----------
    pairs : Pairs
    positions : ndarray of shape (n_target_tokens,)
        -1 for no source.

    Returns
    -------
    ndarray of shape (n_target_tokens,), int64
    """
    n, m = np.diff(pairs.source_starts), np.diff(pairs.target_starts)
    row = np.where(positions < 0, np.repeat(n, m), positions)
    column = np.arange(len(positions)) - np.repeat(pairs.target_starts[:-1], m)
    return np.repeat(pairs.first[:-1], m) + row * np.repeat(m, m) + column
