"""Allowed states per token: from a tag dictionary, from known labels, or all of them."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus, is_missing, place, sorted_types
from sklearn_cvb.kernels.chain import Lattice
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.runs import Runs, runs_of


class Cells(NamedTuple):
    """The emission parameters: for each word (row) the states that may emit it (CSR rows).

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        Row r owns the cells ``indptr[r] : indptr[r + 1]``. Rows are the vocabulary, then the
        unknown item where the model has one.
    state : ndarray of shape (n_cells,), int32
        State of each cell, ascending within a row.
    n_states : int
    n_words : int
        Size of the vocabulary, without the unknown item.
    """

    indptr: np.ndarray
    state: np.ndarray
    n_states: int
    n_words: int

    @property
    def n_rows(self):
        """Number of symbols W: the vocabulary and, where the model has one, the unknown item."""
        return len(self.indptr) - 1

    @property
    def unknown(self):
        """The slice of the unknown item's cells (empty where the model has none)."""
        return slice(int(self.indptr[self.n_words]), int(self.indptr[-1]))

    @property
    def is_full(self):
        """Whether every state may emit every word."""
        return len(self.state) == self.n_rows * self.n_states

    def spread(self, totals):
        """Give every cell the value of its state in `totals` (n_states,)."""
        return np.tile(totals, self.n_rows) if self.is_full else totals[self.state]

    def row_totals(self, values):
        """Sum `values` (n_cells,) by state."""
        if self.is_full:
            return values.reshape(self.n_rows, self.n_states).sum(axis=0)
        return np.bincount(self.state, weights=values, minlength=self.n_states)


class Problem(NamedTuple):
    """What an algorithm learns from: a corpus, its lattice, the layout of emission parameters."""

    corpus: Corpus
    lattice: Lattice
    cells: Cells
    runs: Runs


def problem_of(corpus, lattice, cells):
    """A problem, with its ambiguous runs."""
    return Problem(
        corpus,
        lattice,
        cells,
        runs_of(lattice, corpus.starts, cells.n_states, len(cells.state)),
    )


def cells_for(rows, n_states, n_words, with_unknown):
    """Lay out the emission parameters.

    Parameters
    ----------
    rows : list of ndarray or None
        States of each word of the vocabulary; None for all states everywhere.
    n_states, n_words : int
    with_unknown : bool
        Whether an unknown item, open to all states, follows the vocabulary.
    """
    every = np.arange(n_states, dtype=np.int32)
    if rows is None:
        n_rows = n_words + with_unknown
        indptr = np.arange(n_rows + 1, dtype=np.int64) * n_states
        return Cells(indptr, np.tile(every, n_rows), n_states, n_words)
    rows = rows + [every] * with_unknown
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Cells(indptr, np.concatenate(rows).astype(np.int32), n_states, n_words)


def lattice_for(corpus, cells, unknown_rows=None):
    """Allowed states of every token of a corpus.

    Parameters
    ----------
    corpus : Corpus
    cells : Cells
    unknown_rows : list of ndarray or None
        States of each type in ``corpus.unknown``; None for all states.

    Returns
    -------
    Lattice
        With slots for the words in use only; missing observations take any state.
    """
    used = _codes_in_use(corpus.tokens)
    every = np.arange(cells.n_states, dtype=np.int32)
    states, positions = [], []
    n_missing = int(np.count_nonzero(used < 0))
    if n_missing:
        states.append(every)
        positions.append(np.full(cells.n_states, -1, np.int32))
    known = used[n_missing:][used[n_missing:] < cells.n_words]
    slots, counts = _ranges(cells.indptr[known], cells.indptr[known + 1])
    states.append(cells.state[slots])
    positions.append(slots.astype(np.int32))
    lengths = [np.full(n_missing, cells.n_states), counts]
    for word in used[n_missing + len(known) :] - cells.n_words:
        row = every if unknown_rows is None else unknown_rows[word]
        states.append(row)
        positions.append((cells.unknown.start + row).astype(np.int32))
        lengths.append([len(row)])
    lengths = np.concatenate(lengths).astype(np.int32)
    firsts = (np.cumsum(lengths) - lengths).astype(np.uint32)
    # By code; -1, the missing one, is the last entry.
    size = int(used[-1]) + 2
    first, count = np.empty(size, np.uint32), np.empty(size, np.int32)
    first[used], count[used] = firsts, lengths
    return Lattice(
        first[corpus.tokens],
        count[corpus.tokens],
        np.concatenate(states).astype(np.uint32),
        np.concatenate(positions),
    )


def _codes_in_use(tokens):
    """The codes that occur, ascending."""
    present = np.zeros(int(tokens.max()) + 2, bool)
    present[tokens] = True
    # Code -1 is the last entry.
    return np.flatnonzero(np.roll(present, 1)) - 1


def _ranges(begins, ends):
    """All integers of the ranges [begin, end), one after the other, and the ranges' lengths."""
    lengths = ends - begins
    total = int(lengths.sum())
    offsets = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(total, dtype=np.int64) + offsets, lengths


@jit
def _locate(lattice, labels, first, count):
    """Narrow each labelled token to its label's slot; returns how many labels are not allowed.

    The tokens whose label is not allowed get a count of 0.
    """
    forbidden = 0
    for t in range(labels.size):
        if labels[t] < 0:
            continue
        base = lattice.first[t]
        count[t] = 0
        for slot in range(base, base + lattice.count[t]):
            if lattice.state[slot] == labels[t]:
                first[t] = slot
                count[t] = 1
        forbidden += count[t] == 0
    return forbidden


def restrict(lattice, labels):
    """Restrict labelled tokens to their label.

    Parameters
    ----------
    lattice : Lattice
    labels : ndarray of shape (n_tokens,), int32
        State of each token, -1 where unknown.

    Returns
    -------
    lattice : Lattice
    forbidden : ndarray
        Tokens whose label is not among their allowed states.
    """
    first, count = lattice.first.copy(), lattice.count.copy()
    _locate(lattice, labels, first, count)
    return lattice._replace(first=first, count=count), np.flatnonzero(count == 0)


def n_entries(lattice):
    """Total number of (token, allowed state) entries."""
    return int(lattice.count.sum(dtype=np.int64))


def entry_states(lattice):
    """State of every (token, allowed state) entry, tokens in order."""
    slots, _ = _ranges(lattice.first.astype(np.int64), lattice.first + lattice.count)
    return lattice.state[slots]


def dense_posterior(lattice, posterior, n_states):
    """Spread the entries of `posterior` over all states: ndarray of shape (n_tokens, n_states)."""
    table = np.zeros((len(lattice.first), n_states))
    tokens = np.repeat(np.arange(len(lattice.first)), lattice.count)
    table[tokens, entry_states(lattice)] = posterior
    return table


def tags_of(entry):
    """The tags of one dictionary entry; a single tag may stand without a list."""
    if isinstance(entry, str) or not hasattr(entry, "__iter__"):
        return (entry,)
    return tuple(entry)


def check_dictionary(tag_dictionary):
    """Raise ValueError if an entry of the dictionary is empty or None."""
    empty = [word for word, entry in tag_dictionary.items() if entry is None or not tags_of(entry)]
    if empty:
        raise ValueError(
            f"tag_dictionary lists no tag for {empty[:5]!r} ({len(empty)} words): leave a word "
            "out to allow any tag, or build the dictionary with tag_dictionary_from"
        )


class Legal(NamedTuple):
    """The states a word may take: a dictionary, the states of words missing from it."""

    tag_dictionary: dict
    states: dict
    missing: np.ndarray

    def row(self, word):
        """States of one word, ascending."""
        entry = self.tag_dictionary.get(word)
        if entry is None:
            return self.missing
        return np.array(sorted({self.states[tag] for tag in tags_of(entry)}), dtype=np.int32)

    def rows(self, words):
        """States of each word; words with the same entry share one array."""
        shared = {}
        rows = []
        for word in words:
            entry = self.tag_dictionary.get(word)
            key = None if entry is None else tags_of(entry)
            if key not in shared:
                shared[key] = self.row(word)
            rows.append(shared[key])
        return rows


def tags_in(tag_dictionary, labels=(), unknown_tags=()):
    """All tags of a dictionary, of labels and of `unknown_tags`, sorted."""
    entries = {tags_of(entry) for entry in tag_dictionary.values()}
    tags = {tag for entry in entries for tag in entry}
    tags.update(tag for tag in labels if not is_missing(tag))
    tags.update(unknown_tags)
    return sorted_types(tags)


def describe_forbidden(forbidden, corpus, words, labels):
    """Words for the first five labels that the dictionary forbids."""
    rows = [
        f"({words[t]!r}, {labels[t]!r}, {place(t, corpus.starts)})" for t in forbidden[:5].tolist()
    ]
    return (
        f"{len(forbidden)} labels are not in tag_dictionary: {', '.join(rows)}; add them, or "
        "build the dictionary with tag_dictionary_from"
    )


def tag_dictionary_from(sentences, tags=None, *, min_count=1, min_share=0.0, count_in=None):
    """Collect the tags seen with each word, as in section 5.2 of Wang and Blunsom (2013).

    Parameters
    ----------
    sentences : list of list
        Tagged sentences: lists of ``(word, tag)`` pairs, or lists of words with `tags` given.
    tags : list of list, default=None
        Tags of the words in `sentences`. None (or NaN) marks an unknown tag.
    min_count : int, default=1
        Words seen fewer than this many times in `count_in` may take any tag.
    min_share : float, default=0.0
        Drop the tags that make up less than this share of a word's tagged occurrences. Annotation
        slips are legal tags otherwise, and learners move whole words to them; 0.005 to 0.02 helps
        on noisy text. The most frequent tag always stays.
    count_in : list of list, default=None
        Raw sentences in which occurrences are counted; None for `sentences` themselves.

    Returns
    -------
    dict
        Maps each word to the sorted tuple of its tags.

    Raises
    ------
    ValueError
        If a sentence and its tags differ in length.

    References
    ----------
    Wang and Blunsom (2013), section 5.2; Smith and Eisner (2005).

    Examples
    --------
    >>> from sklearn_cvb import tag_dictionary_from
    >>> tag_dictionary_from([["the", "duck"], ["we", "duck"]], [["DT", "NN"], ["PRP", "VB"]])
    {'the': ('DT',), 'duck': ('NN', 'VB'), 'we': ('PRP',)}
    >>> tag_dictionary_from([["a", "b", "b"]], [["X", "Y", "Y"]], min_count=2)
    {'a': ('X', 'Y'), 'b': ('Y',)}
    >>> tag_dictionary_from([["a"] * 10], [["X"] * 9 + ["Y"]], min_share=0.2)
    {'a': ('X',)}
    """
    seen, counts = {}, Counter()
    for i, sentence in enumerate(sentences):
        pairs = sentence
        if tags is not None:
            if len(sentence) != len(tags[i]):
                raise ValueError(f"sentence {i} has {len(sentence)} words but {len(tags[i])} tags")
            pairs = zip(sentence, tags[i], strict=True)
        for word, tag in pairs:
            counts[word] += 1
            if not is_missing(tag):
                seen.setdefault(word, Counter())[tag] += 1
    if count_in is not None:
        counts = Counter(word for sentence in count_in for word in sentence)
    every = tuple(sorted_types({tag for tallies in seen.values() for tag in tallies}))
    return {
        word: _frequent(tallies, min_share) if counts[word] >= min_count else every
        for word, tallies in seen.items()
    }


def _frequent(tallies, min_share):
    """The tags with at least this share of a word's occurrences, or the most frequent one."""
    least = min(min_share * tallies.total(), max(tallies.values()))
    return tuple(sorted_types(tag for tag, count in tallies.items() if count >= least))
