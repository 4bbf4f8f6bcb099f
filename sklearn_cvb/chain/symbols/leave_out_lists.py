"""Lists of what each sequence shares with the counts (see `sklearn_cvb.kernels.chain.listed`),
token by token. Emissions of certain tokens, with one state each, are settled where no other token
uses their cell.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain import listed
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.leave_out import UnitTokens

# Lists are kept where they, the posteriors and the pairs need no more than this for a token, or no
# more than 64 MB in all.
_MOST_BYTES_A_TOKEN = 80
_SMALL = 64_000_000
# Units listed at a time: enough for long arrays, few enough for little memory.
_CHUNK = 2000


class CertainEmissions(NamedTuple):
    """Emissions of certain tokens in cells that no ambiguous token may use.

    Their counts never change, so the lists leave them out.
    """

    is_settled: np.ndarray  # (n_cells,)
    count: np.ndarray  # (n_cells,) How often the units hold each settled cell
    # (n_settled,) A settled cell, its count without a unit that holds it, and how many tokens there
    # are in all units without which it has that count.
    cell: np.ndarray
    rest: np.ndarray
    times: np.ndarray


class _Tokens(NamedTuple):
    """The tokens of some units, one after the other.

    `n` and `base` are number of states and first slot, `state` and `cell` those of the first slot,
    `owner` the unit (from 0), `first_entry` where a token's entries begin among those of its unit.
    `certain_before` says whether the token before has one state or there is none, and `row` is then
    its state, or K for the start row. `n_before`, `base_before` and `entry_before` are those of the
    token before.
    """

    n: np.ndarray
    base: np.ndarray
    state: np.ndarray
    cell: np.ndarray
    owner: np.ndarray
    first_entry: np.ndarray
    is_first: np.ndarray
    is_last: np.ndarray
    certain_before: np.ndarray
    row: np.ndarray
    n_before: np.ndarray
    base_before: np.ndarray
    entry_before: np.ndarray


def group_places(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Owner and place within the owner of every element of groups of the given sizes."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _value_before(values: np.ndarray, first_value: int, is_first: np.ndarray) -> np.ndarray:
    """The value of the token before each, or `first_value` where there is none."""
    shifted = np.concatenate([[first_value], values[:-1]])
    return np.where(is_first, first_value, shifted)


def _tokens_of(lattice: Lattice, begin: np.ndarray, end: np.ndarray, n_states: int) -> _Tokens:
    """The tokens of units [begin[i], end[i])."""
    owner, place = group_places(end - begin)
    token = begin[owner] + place
    n = lattice.count[token].astype(np.int64)
    base = lattice.first[token].astype(np.int64)
    state = lattice.state[base].astype(np.int64)
    is_first, is_last = place == 0, place == (end - begin - 1)[owner]
    n_entries = np.where(n > 1, n, 0)
    before_unit = np.cumsum(n_entries)[np.flatnonzero(is_first)] - n_entries[is_first]
    entry = np.cumsum(n_entries) - n_entries - before_unit[owner]
    n_before = _value_before(n, 1, is_first)
    row = _value_before(state, n_states, is_first)
    return _Tokens(
        n=n,
        base=base,
        state=state,
        cell=lattice.cell[base].astype(np.int64),
        owner=owner,
        first_entry=entry,
        is_first=is_first,
        is_last=is_last,
        certain_before=n_before == 1,
        row=row,
        n_before=n_before,
        base_before=_value_before(base, 0, is_first),
        entry_before=_value_before(entry, 0, is_first),
    )


def _run_lengths(tokens: _Tokens) -> np.ndarray:
    """For each ambiguous token the length of the run it begins; 0 inside runs."""
    is_ambiguous = tokens.n > 1
    begins = is_ambiguous & tokens.certain_before
    run = np.cumsum(begins)[is_ambiguous]
    lengths = np.zeros(len(tokens.n), np.int64)
    lengths[begins] = np.bincount(run, minlength=run[-1] + 1)[1:] if len(run) else []
    return lengths[is_ambiguous]


def _border_steps(
    tokens: _Tokens, lattice: Lattice, n_states: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Owner, entry and step of each way into or out of a run, in the order of tokens."""
    out_of = (tokens.n == 1) & ~tokens.certain_before
    into = (tokens.n > 1) & tokens.certain_before
    token, j = group_places(np.where(out_of, tokens.n_before, np.where(into, tokens.n, 0)))
    leaves = out_of[token]
    base = np.where(leaves, tokens.base_before[token], tokens.base[token])
    entry = np.where(leaves, tokens.entry_before[token], tokens.first_entry[token]) + j
    state = lattice.state[base + j].astype(np.int64)
    row = np.where(leaves, state, tokens.row[token])
    to = np.where(leaves, tokens.state[token], state)
    return tokens.owner[token], entry, row * n_states + to


def _run_steps(tokens: _Tokens, lattice: Lattice, n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """Owner and step of each pair of states of neighbours inside runs, row by row."""
    is_inside = (tokens.n > 1) & ~tokens.certain_before
    token, place = group_places(np.where(is_inside, tokens.n_before * tokens.n, 0))
    i, j = place // tokens.n[token], place % tokens.n[token]
    row = lattice.state[tokens.base_before[token] + i].astype(np.int64)
    return tokens.owner[token], row * n_states + lattice.state[tokens.base[token] + j]


def _parts(
    tokens: _Tokens, lattice: Lattice, n_states: int, settled: np.ndarray
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Owners and values of every part; values of several columns are rows."""
    certain, ambiguous = tokens.n == 1, tokens.n > 1
    fixed = certain & tokens.certain_before
    is_unseen = tokens.cell < 0
    shared = certain & ~is_unseen & ~settled[tokens.cell]
    token, j = group_places(np.where(ambiguous, tokens.n, 0))
    cell = lattice.cell[tokens.base[token] + j].astype(np.int64)
    state = lattice.state[tokens.base[token] + j].astype(np.int64)
    unseen = is_unseen[token]
    last, i = group_places(np.where(tokens.is_last, tokens.n, 0))
    owner_border, entry_border, step_border = _border_steps(tokens, lattice, n_states)
    owner = tokens.owner
    return {
        listed.CERTAIN: (owner[certain], tokens.state[certain]),
        listed.FIXED: (owner[fixed], tokens.row[fixed] * n_states + tokens.state[fixed]),
        listed.SHARED: (owner[shared], tokens.cell[shared]),
        # A token without observation reads a cell beyond all others.
        listed.ENTRY: (
            owner[token],
            np.column_stack([np.where(unseen, len(settled), cell), state]),
        ),
        listed.BORDER: (owner_border, np.column_stack([entry_border, step_border])),
        listed.INSIDE: _run_steps(tokens, lattice, n_states),
        listed.TOKEN: (
            owner[ambiguous],
            np.column_stack([tokens.n[ambiguous], _run_lengths(tokens)]),
        ),
        listed.LAST: (owner[last], lattice.state[tokens.base[last] + i]),
        listed.UNSEEN: (
            owner[token][unseen],
            np.column_stack([(tokens.first_entry[token] + j)[unseen], state[unseen]]),
        ),
        listed.SILENT: (owner[certain & is_unseen], tokens.state[certain & is_unseen]),
    }


def _lists_of_units(
    lattice: Lattice, begin: np.ndarray, end: np.ndarray, n_states: int, settled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of the lists of some units, one after the other, and where they begin."""
    n_units = len(begin)
    parts = _parts(_tokens_of(lattice, begin, end, n_states), lattice, n_states, settled)
    sizes = np.zeros((n_units, listed.N_PARTS), np.int64)
    for part, (owner, values) in parts.items():
        width = 1 if values.ndim == 1 else values.shape[1]
        sizes[:, part] = width * np.bincount(owner, minlength=n_units)
    header = np.cumsum(np.column_stack([np.zeros(n_units, np.int64), sizes]), axis=1)
    header += (np.cumsum(header[:, -1]) - header[:, -1])[:, None]
    items = np.empty(header[-1, -1], np.uint32)
    for part, (_, values) in parts.items():
        owner, place = group_places(sizes[:, part])
        items[header[owner, part] + place] = values.ravel()
    return items, header


def _settled_cells(lattice: Lattice, n_states: int, n_cells: int) -> np.ndarray:
    """Which cells no ambiguous token may use."""
    settled, is_ambiguous = np.ones(n_cells, bool), lattice.count > 1
    # Labels narrow some tokens of a word: first slot and count together say which slots.
    keys = lattice.first[is_ambiguous].astype(np.int64) * (n_states + 1)
    base, n = np.divmod(np.unique(keys + lattice.count[is_ambiguous]), n_states + 1)
    owner, place = group_places(n)
    cells = lattice.cell[base[owner] + place]
    settled[cells[cells >= 0]] = False
    return settled


def _settled_counts(
    lattice: Lattice, begin: np.ndarray, end: np.ndarray, is_settled: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """How often units hold settled cells, and what is left without each of them."""
    owner, place = group_places(end - begin)
    token = begin[owner] + place
    cell = lattice.cell[lattice.first[token]].astype(np.int64)
    chosen = (lattice.count[token] == 1) & (cell >= 0) & is_settled[cell]
    count = np.bincount(cell[chosen], minlength=len(is_settled)).astype(float)
    # How often each unit holds each cell, then how many units hold it so often.
    held, times = np.unique(owner[chosen] * len(is_settled) + cell[chosen], return_counts=True)
    keys, n_units = np.unique(times * len(is_settled) + held % len(is_settled), return_counts=True)
    cell, times = keys % len(is_settled), keys // len(is_settled)
    return count, cell, count[cell] - times, (times * n_units).astype(float)


def lists_for(
    sequences: UnitTokens, n_states: int, n_cells: int
) -> tuple[listed.Lists | None, CertainEmissions | None]:
    """Lists of all units, which keep whole blocks, where they need little memory."""
    lattice = sequences.lattice
    begin, end = sequences.begin, sequences.end
    # What units store without lists is needed anyway.
    n_tokens, n_stored = int((end - begin).sum()), int(sequences.entry[-1] + sequences.pair[-1])
    room = max(_SMALL, _MOST_BYTES_A_TOKEN * n_tokens) - 8 * n_stored
    if room <= 0:
        return None, None
    is_settled = _settled_cells(lattice, n_states, n_cells)
    items: list[np.ndarray] = []
    parts: list[np.ndarray] = []
    used = 0
    for first in range(0, len(begin), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        more, where = _lists_of_units(lattice, begin[chunk], end[chunk], n_states, is_settled)
        where += sum(map(len, items))
        used += more.nbytes + where.nbytes
        if used > room:
            return None, None
        items.append(more)
        parts.append(where)
    lists = listed.Lists(
        np.concatenate(items), np.concatenate(parts), sequences.entry, sequences.pair
    )
    return lists, CertainEmissions(is_settled, *_settled_counts(lattice, begin, end, is_settled))
