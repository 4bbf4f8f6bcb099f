"""Sentence pairs as users have them: two lists of sequences, and what is known of their links."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.alignment.links import links_in
from sklearn_cvb.containers import as_list, known_of, samples_of, shown, tokens_of
from sklearn_cvb.corpus import Corpus, Sequences

_PAIR = "each sample is a pair (source tokens, target tokens)"
_FORM = (
    "y holds the links of each sentence pair, pairs (source position, target position), None where "
    "nothing is known"
)
_SIDES = "source", "target"


class Sides(NamedTuple):
    """The source and the target sentences of all pairs, as read."""

    source: Sequences
    target: Sequences


class Corpora(NamedTuple):
    """The same, encoded."""

    source: Corpus
    target: Corpus


def read_pairs(X: Any) -> Sides:
    """Read a collection of sentence pairs.

    Parameters
    ----------
    X : list of (source tokens, target tokens), or frame or array with two columns of sequences

    Returns
    -------
    Sides

    Raises
    ------
    TypeError
        If a sample is no pair, or one of its sides no sequence.
    ValueError
        If there is no sample, a sample has more or fewer sides than two, or a side is empty.
    """
    samples = _rows_of(X)
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sentence pair")
    sides: tuple[list, list] = [], []
    for i, sample in enumerate(samples):
        if isinstance(sample, str | bytes):
            raise TypeError(f"X[{i}] is the string {shown(sample)}: {_PAIR}")
        pair = as_list(sample)
        if pair is None:
            raise TypeError(f"X[{i}] is {shown(sample)} of type {type(sample).__name__}: {_PAIR}")
        if len(pair) != 2:
            raise ValueError(f"X[{i}] has {len(pair)} parts: {_PAIR}")
        for k, side in enumerate(_SIDES):
            tokens = tokens_of(pair[k], f"X[{i}][{k}], the {side} sentence,")
            if not tokens:
                raise ValueError(f"X[{i}][{k}], the {side} sentence, is empty: leave the pair out")
            sides[k].append(tokens)
    return Sides(*map(reading.read_ragged, sides))


def _rows_of(X: Any) -> list:
    """The samples of X, also those of two columns of sequences."""
    if is_two_columns(X):
        values = X.to_numpy() if hasattr(X, "to_numpy") else X
        return [tuple(row) for row in values]
    return samples_of(X)


def is_two_columns(X: Any) -> bool:
    """Whether X is a frame or an array that holds a source and a target sequence in each row."""
    shape: tuple = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        return False
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    first = np.asarray(values, dtype=object)[0, 0] if isinstance(values, np.ndarray) else None
    return isinstance(first, list | tuple | np.ndarray)


def read_halves(table: np.ndarray) -> Sides:
    """Read a validated 2-D array: the first half of each row is the source, the rest the target.

    Parameters
    ----------
    table : ndarray of shape (n_pairs, width)

    Returns
    -------
    Sides
    """
    width = table.shape[1]
    if width < 2:
        raise ValueError(
            f"Found array with {width} feature(s) (shape={table.shape}) while a minimum of 2 is "
            "required: the first half of the columns is the source sentence, the rest the target"
        )
    missing = np.argwhere(np.frompyfunc(reading.is_missing, 1, 1)(table).astype(bool))
    if len(missing):
        i, column = missing[0].tolist()
        raise ValueError(
            f"X contains NaN or None (row {i}, column {column}): alignment needs every word"
        )
    return Sides(*map(reading.read_table, np.split(table, [width // 2], axis=1)))


def refuse_missing(corpora: Corpora) -> None:
    """Raise ValueError if a word is missing."""
    for k, (side, corpus) in enumerate(zip(_SIDES, corpora, strict=True)):
        missing = np.flatnonzero(corpus.tokens == -1)
        if len(missing):
            at = int(missing[0])
            i = int(np.searchsorted(corpus.starts, at, side="right")) - 1
            raise ValueError(
                f"X contains NaN or None (X[{i}][{k}], the {side} sentence, position "
                f"{at - int(corpus.starts[i])}): alignment needs every word"
            )


def known_links(y: Any, corpora: Corpora) -> dict[int, list]:
    """Links that are known, by pair.

    Parameters
    ----------
    y : collection or None
        For each pair a collection of links, or None.
    corpora : Corpora

    Returns
    -------
    dict
        Number of the pair -> list of (source, target); -1 for no source.
    """
    if y is None:
        return {}
    lengths = np.diff(corpora.target.starts)
    width = corpora.target.width
    known = known_of(y, lengths, width, _FORM)
    # Labels of a 2-D X that tell of its rows, as classifiers are given, say nothing of links.
    if width is not None and all(isinstance(part, Real | str) for part in known):
        return {}
    sizes = zip(np.diff(corpora.source.starts).tolist(), lengths.tolist(), strict=True)
    found = {
        i: links_in(links, f"y[{i}]", size)
        for i, (links, size) in enumerate(zip(known, sizes, strict=True))
        if links is not None
    }
    return {i: links for i, links in found.items() if links}
