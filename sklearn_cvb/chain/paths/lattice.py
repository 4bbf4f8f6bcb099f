"""Lattices: which states each token may take, which may follow which, and the cells they count in.
A token with one allowed state is certain, others are ambiguous; neighbouring ones are a run.

A token with one allowed state cuts a chain in independent pieces: given the states at its borders,
a run of ambiguous tokens can be inferred alone (`sklearn_cvb.kernels.chain.runs`).

The end of a sequence may be an event: each sequence gets one more token, a missing observation
whose only legal state is the last one, the end; all other tokens may take the other states only.
Each transition row then has K + 1 cells, and all that infers chains works as it stands. What
nothing ever counts in, the row of the end and its cell in the start row, adds nothing to any bound.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.kernels.chain.decoding import viterbi
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError

# This many tokens at a time: what is laid out for them takes little memory.
_BLOCK = 2**16
# What `topology` may be, but for a table.
NAMES = ("full", "independent", "constant", "left-right")


class Topology(NamedTuple):
    """Which states sequences may start in, and which may follow which."""

    start: np.ndarray  # (n_states,) Where a sequence may start
    transition: np.ndarray  # (n_states, n_states) Which state (column) may follow which (row)
    # Whether all rows of transitions are the start row: no state depends on the one before.
    is_tied: bool

    @property
    def is_ordered(self) -> bool:
        """Whether each state leads to itself and to later ones, the next one among them."""
        onward = all(np.diagonal(self.transition, step).all() for step in (0, 1))
        return bool(self.start[0]) and onward and not np.tril(self.transition, -1).any()

    def masked(self, start: np.ndarray, transition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Copies of a start row and of a transition table with zeros where nothing is allowed."""
        return np.where(self.start, start, 0.0), np.where(self.transition, transition, 0.0)


class ChainLayout(NamedTuple):
    """What shapes the start row and the tables of transitions: topology, ends, contexts, visits."""

    topology: Topology | None = None  # which states may follow which; None for all
    has_end: bool = False  # whether the last state is the end of a sequence (see above)
    is_stationary: bool = False  # whether sequences begin in the stationary distribution
    n_tables: int = 1  # how many tables of transitions there are, one below the other
    has_contexts: bool = False  # whether each of them is that of a context
    has_inputs: bool = False  # whether inputs tell them
    has_new: bool = False  # whether the last one is that of contexts which were not in fit
    longest: int = 0  # the longest visit, where durations have laws of their own; 0 where not

    @property
    def varies_by(self) -> str:
        """The setting by which transitions differ from step to step; empty where they do not."""
        return "inputs" if self.has_inputs else "contexts" * self.has_contexts


class TagPrior(NamedTuple):
    """What a dictionary with weights, and forms of words, add to the prior of emissions."""

    # (n_cells,) How often the corpus would hold each cell if its words were tagged in the shares
    # that the weights give; NaN for words without weights. None without any weights.
    expected_counts: np.ndarray | None = None
    # (n_cells,) What the concentration of each cell is multiplied by: shares times their number for
    # words that are known by their form alone, 1 for all others. None for 1 throughout.
    scale: np.ndarray | None = None


class Cells(NamedTuple):
    """The layout of parameters: for each word (a CSR row) the states that may emit it."""

    # (n_rows + 1,) Row r owns the cells ``indptr[r] : indptr[r + 1]``. Rows are the vocabulary,
    # then the unknown item where the model has one.
    indptr: np.ndarray
    state: np.ndarray  # (n_cells,) State of each cell, ascending within a row
    n_states: int  # with the end of a sequence, where that is a state
    n_words: int  # size of the vocabulary, without the unknown item
    chain: ChainLayout = ChainLayout()
    # The cells that a dictionary rules out but a label needs, ascending; None for none.
    by_label: np.ndarray | None = None
    tag_prior: TagPrior = TagPrior()

    @property
    def n_emitting(self) -> int:
        """Number of states that a token may take: all but the end."""
        return self.n_states - self.chain.has_end

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
            return np.append(totals, 0.0) if self.chain.has_end else totals
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
        expected, scale = self.tag_prior
        return self._replace(
            indptr=self.indptr + np.append(0, np.cumsum(in_row)),
            state=np.insert(self.state, places, added % self.n_states),
            by_label=places + np.arange(len(added)),
            tag_prior=TagPrior(
                None if expected is None else np.insert(expected, places, np.nan),
                None if scale is None else np.insert(scale, places, 1.0),
            ),
        )


class WordLayout(NamedTuple):
    """The words of a corpus, their cells, and what labels and forms say of this corpus alone."""

    words: Any  # Vocabulary or TagKnowledge
    cells: Cells
    corpus_tags: Any = None  # what is known of the tokens of this corpus alone
    messages: tuple[str, ...] = ()


class Runs(NamedTuple):
    """Ambiguous runs, and the tokens that are certain: those with one allowed state."""

    begin: np.ndarray  # (n_runs,) Tokens of each run
    end: np.ndarray
    # (n_sequences + 1,) Sequence i has the runs ``sequence[i] : sequence[i + 1]``.
    sequence: np.ndarray
    any_certain: bool  # whether any token has a single allowed state
    start: np.ndarray  # counts of certain tokens and pairs, which no posterior can change
    transition: np.ndarray
    emission: np.ndarray


class Problem(NamedTuple):
    """What an algorithm learns from: a corpus, its lattice, the layout of the parameters.

    Under a topology, and with ends, the corpus may differ from the `original` one.
    """

    corpus: Corpus
    lattice: Lattice
    cells: Cells
    runs: Runs
    original: Corpus  # the corpus as it was read
    # For each sequence of `corpus` the original one that holds it; None where they are the same.
    sequences: np.ndarray | None = None
    # For each token of `corpus` its place in the original, -1 for an end; None: the same.
    places: np.ndarray | None = None
    impossible: "Problem | None" = None  # the original sequences that no path can explain

    def in_original_order(self, values: np.ndarray, of_impossible: np.ndarray | None) -> np.ndarray:
        """Values of all tokens as read, from those of the corpus and of impossible sequences."""
        if self.places is None:
            return values
        result = np.empty((len(self.original.tokens), *values.shape[1:]), values.dtype)
        result[self.places[self.without_ends]] = values[self.without_ends]
        rest = self.impossible
        if rest is not None and rest.places is not None and of_impossible is not None:
            result[rest.places[rest.without_ends]] = of_impossible[rest.without_ends]
        return result

    def original_sequences(self, unexplained: np.ndarray) -> np.ndarray:
        """Original sequences that no path explains, from those of `corpus` and impossible ones."""
        if self.sequences is not None:
            unexplained = np.unique(self.sequences[unexplained])
        if self.impossible is not None:
            unexplained = np.sort(np.concatenate([unexplained, self.impossible.sequences]))
        return unexplained

    def sizes_without(self, unexplained: np.ndarray) -> tuple[int, int]:
        """How many tokens and sequences there are beside some."""
        lengths = np.delete(np.diff(self.original.starts), self.original_sequences(unexplained))
        return int(lengths.sum()), len(lengths)

    @property
    def word_uses(self) -> np.ndarray:
        """How often each word of the vocabulary is observed."""
        tokens, n_words = self.original.tokens, self.cells.n_words
        return np.bincount(tokens[(tokens >= 0) & (tokens < n_words)], minlength=n_words)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What a fit that goes on must find again: sequences, cells and allowed states."""
        corpus, cells = self.corpus, self.cells
        return (
            *(corpus.tokens, corpus.starts, self.lattice),
            *(cells.state, cells.n_states, cells.chain.topology),
            *([] if corpus.times is None else [corpus.times]),
        )

    @property
    def n_explained(self) -> int:
        """How many tokens are observed where a path explains them."""
        return int(np.count_nonzero(self.corpus.tokens >= 0))

    @property
    def longest(self) -> tuple[int, int]:
        """Tokens of the longest sequence, and of all, without ends."""
        lengths = np.diff(self.corpus.starts) - self.cells.chain.has_end
        return int(lengths.max(initial=0)), int(lengths.sum())

    @property
    def any_ambiguous(self) -> bool:
        """Whether any token may take several states."""
        return bool(len(self.runs.begin))

    @property
    def any_certain(self) -> bool:
        """Whether any token but the ends has a single allowed state."""
        if not self.cells.chain.has_end:
            return self.runs.any_certain
        return int(np.count_nonzero(self.lattice.count == 1)) > self.corpus.n_sequences

    @property
    def without_ends(self) -> np.ndarray | slice:
        """Which tokens of `corpus` are not ends."""
        return slice(None) if self.places is None else self.places >= 0


def topology_of(value: str | ArrayLike, n_states: int) -> Topology | None:
    """Read which state may follow which."""
    every = np.ones(n_states, bool)
    allowed = np.ones((n_states, n_states), bool)
    if isinstance(value, str):
        if value == "independent":
            return Topology(every, allowed, True)
        if value == "constant":
            allowed = np.eye(n_states, dtype=bool)
        elif value == "left-right":
            allowed = np.triu(allowed)
            every[1:] = False
    else:
        allowed = _checked_table(value, n_states)
    return None if allowed.all() and every.all() else Topology(every, allowed, False)


def _checked_table(value: ArrayLike, n_states: int) -> np.ndarray:
    try:
        table = np.asarray(value)
    except ValueError:  # rows of several lengths
        table = np.empty(0, dtype=object)
    if table.dtype != bool or table.shape != (n_states, n_states):
        raise ValueError(
            f"transitions must be one of {', '.join(NAMES)}, or a boolean table of shape "
            f"{(n_states, n_states)} that says which state may follow which, got a table of "
            f"{table.dtype} of shape {table.shape}"
        )
    dead = np.flatnonzero(~table.any(axis=1))
    if len(dead):
        raise ValueError(f"transitions let no state follow states {dead.tolist()[:5]}")
    return table.copy()


def cells_for(
    rows: list[np.ndarray] | None, n_states: int, n_words: int, with_unknown: bool
) -> Cells:
    """Lay out emissions: the states of each word, None for all, and of an unknown item."""
    every = np.arange(n_states, dtype=np.int32)
    if rows is None:
        n_rows = n_words + with_unknown
        indptr = np.arange(n_rows + 1, dtype=np.int64) * n_states
        return Cells(indptr, np.tile(every, n_rows), n_states, n_words)
    rows = rows + [every] * with_unknown
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Cells(indptr, np.concatenate(rows).astype(np.int32), n_states, n_words)


def with_expected(
    cells: Cells, shares: list[np.ndarray], tokens: np.ndarray, times: np.ndarray | None = None
) -> Cells:
    """Cells that know how often a dictionary's weights expect each of them in a corpus.

    `shares` are those of the states of each word, NaN without weights; `times` says how many tokens
    each stands for.
    """
    known = (tokens >= 0) & (tokens < cells.n_words)
    uses = np.bincount(tokens[known], None if times is None else times[known], cells.n_words)
    cell_uses = np.repeat(uses, np.diff(cells.indptr)[: cells.n_words])
    without = np.full(len(cells.state) - len(cell_uses), np.nan)
    expected_counts = np.concatenate([*shares, without]) * np.append(cell_uses, without)
    return cells._replace(tag_prior=TagPrior(expected_counts))


def lattice_for(
    corpus: Corpus, cells: Cells, unknown_rows: list[np.ndarray] | None = None
) -> Lattice:
    """Allowed states of every token; `unknown_rows` are those of ``corpus.unknown``, None for all.

    It has slots for the words in use only, and none for cells that only labels need; missing
    observations take any state.
    """
    present = np.zeros(int(corpus.tokens.max()) + 2, bool)
    present[corpus.tokens] = True
    # The codes that occur, ascending; code -1, the missing one, is the last entry.
    used, n_missing = present[:-1].nonzero()[0], int(present[-1])
    every = np.arange(cells.n_emitting, dtype=np.int32)
    if cells.is_full and cells.by_label is None and unknown_rows is None:
        return _full_lattice(corpus, np.append(-1, used) if n_missing else used, every, cells)
    states, positions = [], []
    if n_missing:
        states.append(every)
        positions.append(np.full(cells.n_emitting, -1, np.int32))
    known = used[used < cells.n_words]
    slots, counts = _ranges(cells.indptr[known], cells.indptr[known + 1])
    if cells.by_label is not None:
        legal = ~np.isin(slots, cells.by_label)
        words = np.repeat(np.arange(len(known)), counts)
        slots, counts = slots[legal], np.bincount(words[legal], minlength=len(known))
    states.append(cells.state[slots])
    positions.append(slots.astype(np.int32))
    lengths: list[ArrayLike] = [np.full(n_missing, cells.n_emitting), counts]
    if len(unknown := used[len(known) :] - cells.n_words):
        rows = [every if unknown_rows is None else unknown_rows[word] for word in unknown]
        states.append(np.concatenate(rows))
        positions.append((cells.unknown.start + states[-1]).astype(np.int32))
        lengths.append([len(row) for row in rows])
    n_slots = np.concatenate(lengths).astype(np.int32)
    firsts = (np.cumsum(n_slots) - n_slots).astype(np.uint32)
    if n_missing:
        used = np.append(-1, used)
    first, count = np.empty(len(present), np.uint32), np.empty(len(present), np.int32)
    first[used], count[used] = firsts, n_slots
    return Lattice(
        first[corpus.tokens],
        count[corpus.tokens],
        np.concatenate(states).astype(np.uint32),
        np.concatenate(positions),
    )


def _full_lattice(corpus: Corpus, used: np.ndarray, every: np.ndarray, cells: Cells) -> Lattice:
    """The lattice where each of the `used` words may come from `every` state."""
    n, shape = len(every), (len(used), len(every))
    first = np.empty(int(used[-1]) + 2, np.uint32)
    first[used] = np.arange(0, len(used) * n, n)
    state, cell = np.empty(shape, np.uint32), np.empty(shape, np.int32)
    # Words outside the vocabulary share the row after it.
    state[:], cell[:] = every, every + np.minimum(used, cells.n_words)[:, None] * n
    if used[0] < 0:
        cell[0] = -1
    count = np.full(len(corpus.tokens), n, np.int32)
    return Lattice(first[corpus.tokens], count, state.ravel(), cell.ravel())


def _ranges(begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All integers of the ranges [begin, end), one after the other, and the ranges' lengths."""
    lengths = ends - begins
    offsets = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(len(offsets), dtype=np.int64) + offsets, lengths


def mask_unknown(lattice: Lattice, corpus: Corpus, cells: Cells, emission: np.ndarray) -> Lattice:
    """Unknown tokens are unobserved where no state of theirs gives the unknown item any weight."""
    if not corpus.unknown or emission[cells.unknown].all():
        return lattice
    cell = lattice.cell.copy()
    tokens = np.flatnonzero(corpus.tokens >= cells.n_words)
    firsts, places = np.unique(lattice.first[tokens], return_index=True)
    for first, count in zip(firsts.tolist(), lattice.count[tokens[places]].tolist(), strict=True):
        slots = slice(first, first + count)
        if not emission[cell[slots]].any():
            cell[slots] = -1
    return lattice._replace(cell=cell)


def restrict(lattice: Lattice, labels: np.ndarray) -> tuple[Lattice, np.ndarray]:
    """Restrict labelled tokens to their label (-1: unknown), and say where it is not allowed."""
    first, count = lattice.first.copy(), lattice.count.copy()
    tokens = np.flatnonzero(labels >= 0)
    slots, lengths = _ranges(first[tokens].astype(np.int64), first[tokens] + count[tokens])
    tokens = np.repeat(tokens, lengths)
    is_label = lattice.state[slots] == labels[tokens]
    count[labels >= 0] = 0
    first[tokens[is_label]], count[tokens[is_label]] = slots[is_label], 1
    return lattice._replace(first=first, count=count), np.flatnonzero(count == 0)


def overrule(
    lattice: Lattice, tokens: np.ndarray, corpus: Corpus, labels: np.ndarray, cells: Cells
) -> Lattice:
    """Give tokens that `restrict` reports the state of their label, which has a cell of its own."""
    states = labels[tokens]
    # All words outside the vocabulary share the row after it.
    rows = np.minimum(corpus.tokens[tokens], cells.n_words).astype(np.int64)
    label_cells = np.searchsorted(cells.keys(), rows * cells.n_states + states)
    first, count = lattice.first.copy(), lattice.count.copy()
    first[tokens], count[tokens] = len(lattice.state) + np.arange(len(tokens)), 1
    return Lattice(
        first,
        count,
        np.append(lattice.state, states.astype(lattice.state.dtype)),
        np.append(lattice.cell, label_cells.astype(lattice.cell.dtype)),
    )


def entry_states(lattice: Lattice) -> np.ndarray:
    """State of every (token, allowed state) entry, tokens in order."""
    return _of_entries(lattice, lattice.state)


def entry_cells(lattice: Lattice) -> np.ndarray:
    """Cell of every (token, allowed state) entry, -1 where the observation is missing."""
    return _of_entries(lattice, lattice.cell)


def _of_entries(lattice: Lattice, values: np.ndarray) -> np.ndarray:
    """The values of the slots of all entries, some tokens at a time: indices need much room."""
    result, position = np.empty(int(lattice.count.sum()), values.dtype), 0
    for begin in range(0, len(lattice.count), _BLOCK):
        first = lattice.first[begin : begin + _BLOCK].astype(np.int64)
        slots, _ = _ranges(first, first + lattice.count[begin : begin + _BLOCK])
        result[position : position + len(slots)] = values[slots]
        position += len(slots)
    return result


def dense_posterior(lattice: Lattice, posterior: np.ndarray, n_states: int) -> np.ndarray:
    """Spread the entries of `posterior` over all states: ndarray of shape (n_tokens, n_states)."""
    table = np.zeros((len(lattice.first), n_states))
    tokens = np.repeat(np.arange(len(lattice.first)), lattice.count)
    table[tokens, entry_states(lattice)] = posterior
    return table


def run_spans(lattice: Lattice, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def cells_with_end(cells: Cells) -> Cells:
    """The layout with one more state, the end, which emits nothing and which nothing follows."""
    topology = cells.chain.topology
    if topology is not None:
        if topology.is_tied:
            raise InvalidParameterError(
                "Transitions(end_state=True) lets the end depend on the last state, but with the "
                "topology 'independent' nothing depends on any state before: use end_state=False"
            )
        # A sequence may end in every state, and a row needs a cell: the end's is in its own column.
        transition = np.pad(topology.transition, (0, 1))
        transition[:, -1] = True
        topology = Topology(np.append(topology.start, False), transition, False)
    chain = cells.chain._replace(topology=topology, has_end=True)
    return cells._replace(n_states=cells.n_states + 1, chain=chain)


def cells_with_visits(cells: Cells, longest: int) -> Cells:
    """The layout of visits of this many steps at most, each of which another state follows.

    A state that no other may follow is endless, and the only one that follows itself; under a tied
    topology none follows another.
    """
    every = np.ones((cells.n_states, cells.n_states), bool)
    start, allowed, is_tied = cells.chain.topology or Topology(every[0], every, False)
    others = allowed & ~(np.eye(len(every), dtype=bool) | is_tied)
    topology = Topology(start, others | np.diag(~others.any(axis=1)), False)
    return cells._replace(chain=cells.chain._replace(longest=longest, topology=topology))


def refuse_without_paths(n_entries: int) -> None:
    """Raise where no token of the sequences that are learned from may be in any state."""
    if n_entries == 0:
        raise ValueError(
            "transitions, tag_dictionary and labels leave no sequence any path: see `Transitions`"
        )


def _placed(problem: Problem, original: Corpus, places: np.ndarray) -> Problem:
    """A problem whose tokens, impossible ones too, have their places in the original corpus."""
    impossible = problem.impossible
    return problem._replace(
        original=original,
        places=places if problem.places is None else places[problem.places],
        impossible=None if impossible is None else _placed(impossible, original, places),
    )


def lattice_with_end(
    lattice: Lattice, starts: np.ndarray, cells: Cells
) -> tuple[Lattice, np.ndarray, np.ndarray]:
    """Lattice and starts of sequences with their end as one more token; which tokens are ends."""
    n_slots = len(lattice.state)
    longer = Lattice(
        np.insert(lattice.first, starts[1:], n_slots),
        np.insert(lattice.count, starts[1:], 1),
        np.append(lattice.state, np.array([cells.n_emitting], lattice.state.dtype)),
        np.append(lattice.cell, np.array([-1], lattice.cell.dtype)),
    )
    starts = starts + np.arange(len(starts))
    is_end = np.zeros(len(longer.first), bool)
    is_end[starts[1:] - 1] = True
    return longer, starts, is_end


def problem_of(corpus: Corpus, lattice: Lattice, cells: Cells) -> Problem:
    """What is learned from a corpus, with ends and under a topology where the layout has them."""
    problem = partial_problem(corpus, lattice, cells)
    refuse_without_paths(len(problem.lattice.count))
    return problem


def partial_problem(corpus: Corpus, lattice: Lattice, cells: Cells) -> Problem:
    """The same of a part of a corpus, of which nothing may have a path."""
    if not cells.chain.has_end:
        return _without_ends(corpus, lattice, cells)
    longer, starts, is_end = lattice_with_end(lattice, corpus.starts, cells)
    tokens = np.full(len(is_end), -1, corpus.tokens.dtype)
    tokens[~is_end] = corpus.tokens
    ended = corpus._replace(tokens=tokens, starts=starts, width=None, times=None)
    ended = ended if corpus.times is None else ended.weighted(corpus.times_of_sequences)
    problem = _without_ends(ended, longer, cells)
    return _placed(problem, corpus, np.where(is_end, -1, np.cumsum(~is_end) - 1))


def _without_ends(corpus: Corpus, lattice: Lattice, cells: Cells) -> Problem:
    """A problem that keeps to a topology, whose sequences have their ends, if any, already.

    Where no state depends on another every token is a sequence of its own. Else the sequences that
    no path can explain are set aside: collapsed methods could not take them out of the counts.
    """
    topology = cells.chain.topology
    if topology is None:
        return Problem(corpus, lattice, cells, _runs_of(corpus, lattice, cells), corpus)
    lengths = np.diff(corpus.starts)
    if topology.is_tied:
        alone = corpus._replace(starts=np.arange(len(corpus.tokens) + 1), width=None)
        sequences = np.repeat(np.arange(len(lengths)), lengths)
        return Problem(alone, lattice, cells, _runs_of(alone, lattice, cells), corpus, sequences)
    with np.errstate(divide="ignore"):
        start, transition = np.log(topology.start * 1.0), np.log(topology.transition * 1.0)
    logs = ChainWeights(start, transition, np.zeros(len(cells.state)))
    path, log_p = np.empty(len(corpus.tokens), np.int32), np.empty(corpus.n_sequences)
    viterbi(logs, lattice, corpus.starts, path, log_p)
    # Some path explains a sequence if the best one has some weight.
    possible = np.isfinite(log_p)
    if possible.all():
        return Problem(corpus, lattice, cells, _runs_of(corpus, lattice, cells), corpus)
    impossible = _some_sequences(corpus, lattice, cells, ~possible)
    return _some_sequences(corpus, lattice, cells, possible)._replace(impossible=impossible)


def _some_sequences(corpus: Corpus, lattice: Lattice, cells: Cells, chosen: np.ndarray) -> Problem:
    """The problem of the chosen sequences alone, with the slots that these use and no others."""
    lengths = np.diff(corpus.starts)
    tokens = np.repeat(chosen, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
    some = some_tokens(corpus, lattice, cells, tokens, starts)
    return some._replace(
        original=corpus, sequences=np.flatnonzero(chosen), places=np.flatnonzero(tokens)
    )


def some_tokens(
    corpus: Corpus, lattice: Lattice, cells: Cells, chosen: np.ndarray, starts: np.ndarray
) -> Problem:
    """The problem of sequences of the chosen tokens, with the slots that these use alone."""
    times = None if corpus.times is None else corpus.times[chosen]
    some = corpus._replace(tokens=corpus.tokens[chosen], starts=starts, width=None, times=times)
    # Engines for words that may take every state count on slots of such words alone.
    first, count = lattice.first[chosen], lattice.count[chosen]
    n_slots = len(lattice.state)
    borders = np.bincount(first, minlength=n_slots + 1)
    borders -= np.bincount(first + count, minlength=n_slots + 1)
    used = np.cumsum(borders)[:-1] > 0
    place = (np.cumsum(used) - 1)[first].astype(lattice.first.dtype)
    narrowed = Lattice(place, count, lattice.state[used], lattice.cell[used])
    return Problem(some, narrowed, cells, _runs_of(some, narrowed, cells), original=some)


def _runs_of(corpus: Corpus, lattice: Lattice, cells: Cells) -> Runs:
    """The ambiguous runs of a corpus, and what is certain."""
    starts, any_certain = corpus.starts, bool((lattice.count == 1).any())
    certain = certain_counts(lattice, starts, cells.n_states, len(cells.state))
    return Runs(*run_spans(lattice, starts), any_certain, *certain)
