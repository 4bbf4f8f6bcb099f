"""Allowed states per token: from a tag dictionary, from known labels, or all of them.

A token with one allowed state cuts a chain in independent pieces: given the states at its borders,
a run of ambiguous tokens can be inferred alone (`sklearn_cvb.kernels.chain.runs`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.chain.topology import Topology
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.reading.corpus import Corpus


class Cells(NamedTuple):
    """The parameters there are: for each word (row) the states that may emit it (CSR rows).

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        Row r owns the cells ``indptr[r] : indptr[r + 1]``. Rows are the vocabulary, then the
        unknown item where the model has one.
    state : ndarray of shape (n_cells,), int32
        State of each cell, ascending within a row.
    n_states : int
        With the end of a sequence, where that is a state.
    n_words : int
        Size of the vocabulary, without the unknown item.
    expected : ndarray of shape (n_cells,) or None
        How often the corpus would hold each cell if its words were tagged in the shares that a
        weighted dictionary gives; NaN for words without weights. None without any weights.
    centre : ndarray of shape (n_cells,) or None
        What the concentration of each cell is multiplied by: shares times their number for words
        that are known by their form alone, 1 for all others. None for 1 throughout.
    topology : Topology or None
        Which states may follow which; None for all.
    by_label : ndarray or None
        The cells that a dictionary rules out but a label needs, ascending; None for none.
    has_end : bool
        Whether the last state is the end of a sequence (see `sklearn_cvb.chain.end_state`).
    """

    indptr: np.ndarray
    state: np.ndarray
    n_states: int
    n_words: int
    expected: np.ndarray | None = None
    centre: np.ndarray | None = None
    topology: Topology | None = None
    by_label: np.ndarray | None = None
    has_end: bool = False

    @property
    def n_emitting(self) -> int:
        """Number of states that a token may take: all but the end."""
        return self.n_states - self.has_end

    @property
    def n_rows(self) -> int:
        """Number of symbols W: the vocabulary and, where the model has one, the unknown item."""
        return len(self.indptr) - 1

    @property
    def unknown(self) -> slice:
        """The slice of the unknown item's cells (empty where the model has none)."""
        return slice(int(self.indptr[self.n_words]), int(self.indptr[-1]))

    @property
    def is_full(self) -> bool:
        """Whether every state but the end may emit every word."""
        return len(self.state) == self.n_rows * self.n_emitting

    def spread(self, totals: np.ndarray) -> np.ndarray:
        """Give every cell the value of its state in `totals` (n_states,)."""
        if self.is_full:
            return np.tile(totals[: self.n_emitting], self.n_rows)
        return totals[self.state]

    def divided(self, values: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Divide every cell of `values` (n_cells,) by the value of its state, in place."""
        if self.is_full:
            table = values.reshape(self.n_rows, self.n_emitting)
            table /= totals[: self.n_emitting]
        else:
            values /= totals[self.state]
        return values

    def row_totals(self, values: np.ndarray) -> np.ndarray:
        """Sum `values` (n_cells,) by state."""
        if self.is_full:
            totals = values.reshape(self.n_rows, self.n_emitting).sum(axis=0)
            return np.append(totals, 0.0) if self.has_end else totals
        return np.bincount(self.state, weights=values, minlength=self.n_states)

    def keys(self) -> np.ndarray:
        """One number for each cell, ascending: its row times `n_states` plus its state."""
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        return rows * self.n_states + self.state

    def with_labels(self, words: np.ndarray, states: np.ndarray) -> "Cells":
        """These cells and those that labels need: pairs of a word and a state, in any order."""
        keys = self.keys()
        added = np.setdiff1d(words.astype(np.int64) * self.n_states + states, keys)
        if not len(added):
            return self
        places = np.searchsorted(keys, added)
        in_row = np.bincount(added // self.n_states, minlength=self.n_rows)
        expected, centre = self.expected, self.centre
        return self._replace(
            indptr=self.indptr + np.append(0, np.cumsum(in_row)),
            state=np.insert(self.state, places, added % self.n_states),
            expected=None if expected is None else np.insert(expected, places, np.nan),
            centre=None if centre is None else np.insert(centre, places, 1.0),
            by_label=places + np.arange(len(added)),
        )


class Runs(NamedTuple):
    """Ambiguous runs, and the tokens that are certain: those with one allowed state.

    Attributes
    ----------
    begin, end : ndarray of shape (n_runs,), int32
        Tokens of each run.
    sequence : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the runs ``sequence[i] : sequence[i + 1]``.
    any_certain : bool
        Whether any token has a single allowed state.
    start, transition, emission : ndarray
        Counts of certain tokens and pairs, which no posterior can change.
    """

    begin: np.ndarray
    end: np.ndarray
    sequence: np.ndarray
    any_certain: bool
    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class Problem(NamedTuple):
    """What an algorithm learns from: a corpus, its lattice, the layout of the parameters.

    Under a topology, and with ends, the corpus may be other than the one `given`.

    Attributes
    ----------
    corpus : Corpus
    lattice : Lattice
    cells : Cells
    runs : Runs
    given : Corpus
        The corpus as it was read.
    sequences : ndarray or None
        For each sequence of `corpus` the given one that holds it; None where they are the same.
    places : ndarray or None
        For each token of `corpus` its place among the given ones, -1 for an end; None: the same.
    left_out : Problem or None
        The given sequences that no path can explain.
    """

    corpus: Corpus
    lattice: Lattice
    cells: Cells
    runs: Runs
    given: Corpus
    sequences: np.ndarray | None = None
    places: np.ndarray | None = None
    left_out: "Problem | None" = None

    def among_given(self, values: np.ndarray, of_left_out: np.ndarray | None) -> np.ndarray:
        """Values of all given tokens, from those of the corpus and those left out."""
        if self.places is None:
            return values
        result = np.empty((len(self.given.tokens), *values.shape[1:]), values.dtype)
        result[self.places[self.is_given]] = values[self.is_given]
        rest = self.left_out
        if rest is not None and rest.places is not None and of_left_out is not None:
            result[rest.places[rest.is_given]] = of_left_out[rest.is_given]
        return result

    def of_given(self, unexplained: np.ndarray) -> np.ndarray:
        """Given sequences that no path explains, from those of `corpus` and those left out."""
        if self.sequences is not None:
            unexplained = np.unique(self.sequences[unexplained])
        if self.left_out is not None:
            unexplained = np.sort(np.concatenate([unexplained, self.left_out.sequences]))
        return unexplained

    @property
    def identity(self) -> tuple[Any, ...]:
        """What a fit that goes on must find again: sequences, cells and allowed states."""
        corpus, cells = self.corpus, self.cells
        return (
            *(corpus.tokens, corpus.starts, self.lattice),
            *(cells.state, cells.n_states, cells.topology),
        )

    @property
    def any_choice(self) -> bool:
        """Whether any token may take several states."""
        return bool(len(self.runs.begin))

    @property
    def any_told(self) -> bool:
        """Whether any token but the ends has a single allowed state."""
        if not self.cells.has_end:
            return self.runs.any_certain
        return int(np.count_nonzero(self.lattice.count == 1)) > self.corpus.n_sequences

    @property
    def is_given(self) -> np.ndarray | slice:
        """Which tokens of `corpus` are not ends."""
        return slice(None) if self.places is None else self.places >= 0


def problem_of(corpus: Corpus, lattice: Lattice, cells: Cells) -> Problem:
    """A problem, with its ambiguous runs."""
    runs = runs_of(lattice, corpus.starts, cells.n_states, len(cells.state))
    return Problem(corpus, lattice, cells, runs, corpus)


def cells_for(
    rows: list[np.ndarray] | None, n_states: int, n_words: int, with_unknown: bool
) -> Cells:
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


def expect(
    cells: Cells, shares: list[np.ndarray], tokens: np.ndarray, times: np.ndarray | None = None
) -> Cells:
    """Cells that know how often a dictionary's weights expect each of them in a corpus.

    Parameters
    ----------
    cells : Cells
    shares : list of ndarray
        For each word of the vocabulary, the shares of its states; NaN without weights.
    tokens : ndarray of shape (n_tokens,), int32
        Codes of the corpus.
    times : ndarray of shape (n_tokens,) or None
        How many tokens each stands for; None for one.
    """
    known = (tokens >= 0) & (tokens < cells.n_words)
    seen = np.bincount(tokens[known], None if times is None else times[known], cells.n_words)
    uses = np.repeat(seen, np.diff(cells.indptr)[: cells.n_words])
    without = np.full(len(cells.state) - len(uses), np.nan)
    return cells._replace(expected=np.concatenate([*shares, without]) * np.append(uses, without))


def lattice_for(
    corpus: Corpus, cells: Cells, unknown_rows: list[np.ndarray] | None = None
) -> Lattice:
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
        With slots for the words in use only, and none for cells that only labels need; missing
        observations take any state.
    """
    used = _codes_in_use(corpus.tokens)
    every = np.arange(cells.n_emitting, dtype=np.int32)
    states, positions = [], []
    n_missing = int(np.count_nonzero(used < 0))
    if n_missing:
        states.append(every)
        positions.append(np.full(cells.n_emitting, -1, np.int32))
    known = used[n_missing:][used[n_missing:] < cells.n_words]
    slots, counts = _ranges(cells.indptr[known], cells.indptr[known + 1])
    if cells.by_label is not None:
        legal = ~np.isin(slots, cells.by_label)
        words = np.repeat(np.arange(len(known)), counts)
        slots, counts = slots[legal], np.bincount(words[legal], minlength=len(known))
    states.append(cells.state[slots])
    positions.append(slots.astype(np.int32))
    lengths: list[ArrayLike] = [np.full(n_missing, cells.n_emitting), counts]
    if len(unknown := used[n_missing + len(known) :] - cells.n_words):
        rows = [every if unknown_rows is None else unknown_rows[word] for word in unknown]
        states.append(np.concatenate(rows))
        positions.append((cells.unknown.start + states[-1]).astype(np.int32))
        lengths.append([len(row) for row in rows])
    n_slots = np.concatenate(lengths).astype(np.int32)
    firsts = (np.cumsum(n_slots) - n_slots).astype(np.uint32)
    # By code; -1, the missing one, is the last entry.
    size = int(used[-1]) + 2
    first, count = np.empty(size, np.uint32), np.empty(size, np.int32)
    first[used], count[used] = firsts, n_slots
    return Lattice(
        first[corpus.tokens],
        count[corpus.tokens],
        np.concatenate(states).astype(np.uint32),
        np.concatenate(positions),
    )


def _codes_in_use(tokens: np.ndarray) -> np.ndarray:
    """The codes that occur, ascending."""
    present = np.zeros(int(tokens.max()) + 2, bool)
    present[tokens] = True
    # Code -1 is the last entry.
    return np.flatnonzero(np.roll(present, 1)) - 1


def _ranges(begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All integers of the ranges [begin, end), one after the other, and the ranges' lengths."""
    lengths = ends - begins
    total = int(lengths.sum())
    offsets = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(total, dtype=np.int64) + offsets, lengths


def restrict(lattice: Lattice, labels: np.ndarray) -> tuple[Lattice, np.ndarray]:
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
    tokens = np.flatnonzero(labels >= 0)
    slots, lengths = _ranges(first[tokens].astype(np.int64), first[tokens] + count[tokens])
    tokens = np.repeat(tokens, lengths)
    found = lattice.state[slots] == labels[tokens]
    count[labels >= 0] = 0
    first[tokens[found]], count[tokens[found]] = slots[found], 1
    return lattice._replace(first=first, count=count), np.flatnonzero(count == 0)


def overrule(
    lattice: Lattice, tokens: np.ndarray, corpus: Corpus, labels: np.ndarray, cells: Cells
) -> Lattice:
    """Give some tokens the state of their label, which their word may not take elsewhere.

    Parameters
    ----------
    lattice : Lattice
    tokens : ndarray
        The tokens that `restrict` reports as forbidden.
    corpus : Corpus
    labels : ndarray of shape (n_tokens,), int32
    cells : Cells
        With those that the labels need (`Cells.with_labels`).
    """
    states = labels[tokens]
    # All words outside the vocabulary share the row after it.
    rows = np.minimum(corpus.tokens[tokens], cells.n_words).astype(np.int64)
    own = np.searchsorted(cells.keys(), rows * cells.n_states + states)
    first, count = lattice.first.copy(), lattice.count.copy()
    first[tokens], count[tokens] = len(lattice.state) + np.arange(len(tokens)), 1
    return Lattice(
        first,
        count,
        np.append(lattice.state, states.astype(lattice.state.dtype)),
        np.append(lattice.cell, own.astype(lattice.cell.dtype)),
    )


def n_entries(lattice: Lattice) -> int:
    """Total number of (token, allowed state) entries."""
    return int(lattice.count.sum(dtype=np.int64))


def entry_states(lattice: Lattice) -> np.ndarray:
    """State of every (token, allowed state) entry, tokens in order."""
    slots, _ = _ranges(lattice.first.astype(np.int64), lattice.first + lattice.count)
    return lattice.state[slots]


def entry_cells(lattice: Lattice) -> np.ndarray:
    """Cell of every (token, allowed state) entry, -1 where the observation is missing."""
    slots, _ = _ranges(lattice.first.astype(np.int64), lattice.first + lattice.count)
    return lattice.cell[slots]


def dense_posterior(lattice: Lattice, posterior: np.ndarray, n_states: int) -> np.ndarray:
    """Spread the entries of `posterior` over all states: ndarray of shape (n_tokens, n_states)."""
    table = np.zeros((len(lattice.first), n_states))
    tokens = np.repeat(np.arange(len(lattice.first)), lattice.count)
    table[tokens, entry_states(lattice)] = posterior
    return table


def runs_of(lattice: Lattice, starts: np.ndarray, n_states: int, n_cells: int) -> Runs:
    """Find the ambiguous runs of a corpus and what is certain.

    Parameters
    ----------
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
    n_states, n_cells : int

    Returns
    -------
    Runs
    """
    start, transition, emission = certain_counts(lattice, starts, n_states, n_cells)
    begin, end, sequence = spans_of(lattice, starts)
    return Runs(
        begin,
        end,
        sequence,
        bool((lattice.count == 1).any()),
        start,
        transition,
        emission,
    )


def spans_of(lattice: Lattice, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where runs begin and end, and the first run of each sequence (see `Runs`)."""
    ambiguous = lattice.count > 1
    # The token before or after is another's where a sequence begins or ends.
    first, last = np.zeros((2, len(ambiguous)), bool)
    first[starts[:-1]] = last[starts[1:] - 1] = True
    begin = np.flatnonzero(ambiguous & (first | np.append(True, ~ambiguous[:-1])))
    end = np.flatnonzero(ambiguous & (last | np.append(~ambiguous[1:], True))) + 1
    return begin.astype(np.int32), end.astype(np.int32), np.searchsorted(begin, starts)


def certain_counts(
    lattice: Lattice, starts: np.ndarray, n_states: int, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of start states, transitions and emissions in which all tokens are certain."""
    certain, first = lattice.count == 1, np.zeros(len(lattice.count), bool)
    first[starts[:-1]] = True
    slot = lattice.first[certain]
    state, cell = lattice.state[slot].astype(np.int64), lattice.cell[slot]
    start = np.bincount(state[first[certain]], minlength=n_states)
    # Two neighbours that both are certain stand side by side among the certain tokens, too.
    follows = np.append(False, certain[:-1]) & ~first
    to = np.flatnonzero(follows[certain])
    pairs = np.bincount(state[to - 1] * n_states + state[to], minlength=n_states**2)
    emission = np.bincount(cell[cell >= 0], minlength=n_cells)
    return start.astype(float), pairs.reshape(n_states, -1).astype(float), emission.astype(float)
