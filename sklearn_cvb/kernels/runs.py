"""Runs of ambiguous tokens: a token with one allowed state cuts a chain in independent pieces.

Between two such tokens only the run of ambiguous ones has to be inferred, given the states at its
borders; everything else about a sequence is known beforehand. Same conventions as
`sklearn_cvb.kernels.chain`; all in probability space.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain import add_outer, forward_backward, pair_block
from sklearn_cvb.kernels.jit import jit, jit_token

# Up to this length products of weights stay inside float64 without scaling.
_SHORT = 8
_SMALLEST_PRODUCT = 1e-200
_LARGEST_PRODUCT = 1e200


class Runs(NamedTuple):
    """Ambiguous runs, and the tokens that are certain: those with one allowed state.

    Attributes
    ----------
    begin, end : ndarray of shape (n_runs,), int64
        Tokens of each run.
    sequence, token : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the runs ``sequence[i] : sequence[i + 1]`` and the certain tokens
        ``token[i] : token[i + 1]``.
    state, cell : ndarray of shape (n_certain,), int32
        State and emission cell of each certain token.
    origin : ndarray of shape (n_certain,), int32
        State of the token before it where that is certain too; -1 where it is not, -2 where there
        is none.
    start, transition, emission : ndarray
        Counts of certain tokens and pairs, which no posterior can change.
    """

    begin: np.ndarray
    end: np.ndarray
    sequence: np.ndarray
    token: np.ndarray
    state: np.ndarray
    cell: np.ndarray
    origin: np.ndarray
    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray

    @property
    def any_certain(self):
        """Whether any token has a single allowed state."""
        return len(self.state) > 0


@jit
def _mark_runs(lattice, starts, runs):
    """Fill the arrays of `runs`; returns the numbers of runs and of certain tokens."""
    n = 0
    m = 0
    for i in range(starts.size - 1):
        runs.sequence[i] = n
        runs.token[i] = m
        for t in range(starts[i], starts[i + 1]):
            inside = t > starts[i] and lattice.count[t - 1] > 1
            if lattice.count[t] > 1:
                if not inside:
                    runs.begin[n] = t
                    n += 1
                runs.end[n - 1] = t + 1
                continue
            slot = lattice.first[t]
            state = lattice.state[slot]
            runs.state[m] = state
            runs.cell[m] = lattice.cell[slot]
            runs.origin[m] = -1
            if lattice.cell[slot] >= 0:
                runs.emission[lattice.cell[slot]] += 1.0
            if t == starts[i]:
                runs.start[state] += 1.0
                runs.origin[m] = -2
            elif not inside:
                runs.origin[m] = lattice.state[lattice.first[t - 1]]
                runs.transition[runs.origin[m], state] += 1.0
            m += 1
    runs.sequence[starts.size - 1] = n
    runs.token[starts.size - 1] = m
    return n, m


def runs_of(lattice, starts, n_states, n_cells):
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
    most = np.count_nonzero(lattice.count > 1)
    n_certain = len(lattice.count) - most
    runs = Runs(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(len(starts), np.int64),
        np.empty(len(starts), np.int64),
        *(np.empty(n_certain, np.int32) for _ in range(3)),
        np.zeros(n_states),
        np.zeros((n_states, n_states)),
        np.zeros(n_cells),
    )
    n, _ = _mark_runs(lattice, starts, runs)
    return runs._replace(begin=runs.begin[:n].copy(), end=runs.end[:n].copy())


class Factors(NamedTuple):
    """Weights of a chain whose rows need not sum to 1.

    A token in state k weighs ``emission[cell] * scale[k]``, the last one of a sequence
    ``emission[cell] * last_scale[k]``; unobserved, it weighs their ratio or 1.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    scale: np.ndarray
    last_scale: np.ndarray


@jit_token
def entry_weight(factors, lattice, slot, is_last):
    """Emission factor of one (token, state) entry."""
    state = lattice.state[slot]
    cell = lattice.cell[slot]
    if cell < 0:
        return 1.0 if is_last else factors.scale[state] / factors.last_scale[state]
    return factors.emission[cell] * (factors.last_scale if is_last else factors.scale)[state]


@jit_token
def infer_run(
    factors, lattice, run_begin, run_end, begin, end, work, counts, posterior, entry, blocks, at
):
    """Posterior of the ambiguous tokens [run_begin, run_end) of the sequence [begin, end).

    p(z_t | x) of the run's entries goes to `posterior`, from `entry` on. With ``at >= 0`` the pair
    marginals inside the run go to `blocks`, from `at` on; with ``at < 0`` pairs and emissions are
    added to `counts`. Returns the log weight of the run and of the steps to its borders (NaN where
    float64 does not hold it: nothing is added then) and the next free `entry` and `at`.
    """
    if run_end - run_begin > _SHORT:
        return _long_run(
            factors,
            lattice,
            run_begin,
            run_end,
            begin,
            end,
            work,
            counts,
            posterior,
            entry,
            blocks,
            at,
        )
    store = at >= 0
    position = _run_forward(factors, lattice, run_begin, run_end, begin, end, work)
    base, n = lattice.first[run_end - 1], lattice.count[run_end - 1]
    weight = 0.0
    for i in range(n):
        after = 1.0
        if run_end < end:
            to = lattice.state[lattice.first[run_end]]
            after = factors.transition[lattice.state[base + i], to]
        work.posterior[i] = after
        weight += work.forward[position + i] * after
    if not (_SMALLEST_PRODUCT < weight < _LARGEST_PRODUCT):
        return math.nan, entry, at
    if store:
        for t in range(run_begin + 1, run_end):
            at += lattice.count[t - 1] * lattice.count[t]
    _run_backward(
        factors,
        lattice,
        run_begin,
        run_end,
        position,
        1.0 / weight,
        work,
        counts,
        posterior,
        entry,
        blocks,
        at,
    )
    return math.log(weight), entry + position + n, at


@jit_token
def _run_forward(factors, lattice, run_begin, run_end, begin, end, work):
    """Unscaled forward messages of a short run; returns where its last token begins."""
    position = 0
    base, n = lattice.first[run_begin], lattice.count[run_begin]
    for j in range(n):
        to = lattice.state[base + j]
        weight = entry_weight(factors, lattice, base + j, run_begin == end - 1)
        work.emission[j] = weight
        if run_begin > begin:
            row = lattice.state[lattice.first[run_begin - 1]]
            work.forward[j] = factors.transition[row, to] * weight
        else:
            work.forward[j] = factors.start[to] * weight
    for t in range(run_begin + 1, run_end):
        left, n_left = base, n
        base, n = lattice.first[t], lattice.count[t]
        now = position + n_left
        for j in range(n):
            to = lattice.state[base + j]
            total = 0.0
            for i in range(n_left):
                row = lattice.state[left + i]
                total += work.forward[position + i] * factors.transition[row, to]
            weight = entry_weight(factors, lattice, base + j, t == end - 1)
            work.emission[now + j] = weight
            work.forward[now + j] = total * weight
        position = now
    return position


@jit_token
def _run_backward(
    factors,
    lattice,
    run_begin,
    run_end,
    position,
    inverse,
    work,
    counts,
    posterior,
    entry,
    blocks,
    at,
):
    """Backward half of a short run, which leaves the posteriors and hands on the pairs.

    `work.posterior` holds the backward message of the last token on entry; `at` is the end of the
    run's blocks, negative to add to `counts` instead.
    """
    store = at >= 0
    base, n = 0, 0
    following = position
    for t in range(run_end - 1, run_begin - 1, -1):
        right, n_right = base, n
        base, n = lattice.first[t], lattice.count[t]
        if t < run_end - 1:
            following = position
            position -= n
            if store:
                at -= n * n_right
        for i in range(n):
            row = lattice.state[base + i]
            before = work.forward[position + i] * inverse
            if t == run_end - 1:
                after = work.posterior[i]
            else:
                after = 0.0
                for j in range(n_right):
                    to = lattice.state[right + j]
                    step = factors.transition[row, to] * work.emission[following + j]
                    after += step
                    if store:
                        blocks[at + i * n_right + j] = before * step
                    else:
                        counts.transition[row, to] += before * step
            work.emission[position + i] *= after
            posterior[entry + position + i] = before * after
            if not store and lattice.cell[base + i] >= 0:
                counts.emission[lattice.cell[base + i]] += before * after


@jit
def _long_run(
    factors, lattice, run_begin, run_end, begin, end, work, counts, posterior, entry, blocks, at
):
    """`infer_run` with scaling: the run goes through `forward_backward`, borders folded in."""
    store = at >= 0
    size = 0
    for t in range(run_begin, run_end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            weight = entry_weight(factors, lattice, slot, t == end - 1)
            if t == run_end - 1 and run_end < end:
                to = lattice.state[lattice.first[run_end]]
                weight *= factors.transition[lattice.state[slot], to]
            work.emission[size] = weight
            size += 1
    for k in range(work.row.size):
        work.row[k] = factors.start[k]
        if run_begin > begin:
            work.row[k] = factors.transition[lattice.state[lattice.first[run_begin - 1]], k]
    log_z = forward_backward(work.row, factors.transition, lattice, run_begin, run_end, size, work)
    if math.isnan(log_z):
        return log_z, entry, at
    position = 0
    for t in range(run_begin, run_end):
        base, n = lattice.first[t], lattice.count[t]
        if t > run_begin:
            before = position - lattice.count[t - 1]
            if store:
                pair_block(
                    factors.transition, lattice, t, work, before, position, False, blocks, at
                )
                at += n * lattice.count[t - 1]
            else:
                add_outer(lattice, t, work, before, position, work.outer)
        for j in range(n):
            q = work.posterior[position + j]
            posterior[entry + position + j] = q
            if not store and lattice.cell[base + j] >= 0:
                counts.emission[lattice.cell[base + j]] += q
        position += n
    return log_z, entry + size, at


@jit_token
def add_borders(lattice, run_begin, run_end, begin, end, posterior, at, size, counts):
    """Add the steps into and out of a run to start and transition counts.

    The run's entries are ``posterior[at : at + size]``.
    """
    base, n = lattice.first[run_begin], lattice.count[run_begin]
    for j in range(n):
        to = lattice.state[base + j]
        if run_begin == begin:
            counts.start[to] += posterior[at + j]
        else:
            counts.transition[lattice.state[lattice.first[run_begin - 1]], to] += posterior[at + j]
    if run_end < end:
        base, n = lattice.first[run_end - 1], lattice.count[run_end - 1]
        to = lattice.state[lattice.first[run_end]]
        for i in range(n):
            counts.transition[lattice.state[base + i], to] += posterior[at + size - n + i]


@jit
def expected_counts_of_runs(factors, lattice, starts, runs, work, counts):
    """E-step over the ambiguous runs: add all expected counts to `counts`.

    Returns the total log Z of all sequences; NaN where a run or a certain event has no weight in
    float64 (then the counts are incomplete: use `sklearn_cvb.kernels.chain.expected_counts`).
    """
    work.outer[:] = 0.0
    total = 0.0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        for r in range(runs.sequence[i], runs.sequence[i + 1]):
            first, last = runs.begin[r], runs.end[r]
            log_z, size, _ = infer_run(
                factors,
                lattice,
                first,
                last,
                begin,
                end,
                work,
                counts,
                work.entries,
                0,
                work.block,
                -1,
            )
            if math.isnan(log_z):
                return log_z
            total += log_z
            add_borders(lattice, first, last, begin, end, work.entries, 0, size, counts)
    total += _add_certain(factors.start, runs.start, counts.start)
    total += _add_certain(factors.emission, runs.emission, counts.emission)
    for k in range(work.outer.shape[0]):
        total += _add_certain(factors.transition[k], runs.transition[k], counts.transition[k])
        for j in range(work.outer.shape[1]):
            counts.transition[k, j] += work.outer[k, j] * factors.transition[k, j]
    return total


@jit
def _add_certain(weights, certain, counts):
    """Add certain counts; returns their log weight, NaN where the weight is 0."""
    total = 0.0
    for i in range(certain.size):
        if certain[i] > 0.0:
            if weights[i] <= 0.0:
                return math.nan
            total += certain[i] * math.log(weights[i])
            counts[i] += certain[i]
    return total
