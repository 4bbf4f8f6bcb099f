"""Leave out one step at a time where states emit numbers: CVB (figure 3 of Wang and Blunsom 2013)
and Gibbs sampling (figure 1).

In place of a word's counts there is the predictive density of the step, given the statistics of all
others. Every step may take every state, so posteriors are a table; a step whose state is known, and
the end of a sequence, has 1 there and is never visited.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.gibbs_tokens import FIRST, LAST, move, pick, weigh
from sklearn_cvb.kernels.emission.one_step import add_predictive, change_shares
from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token_reduction


class Steps(NamedTuple):
    """What tokens emit.

    Attributes
    ----------
    row : ndarray of shape (n_tokens,), int64
        The step of each token among the observations; -1 for the end of a sequence.
    parts : NamedTuple, or tuple of several
        See `sklearn_cvb.kernels.emission.one_step`; their sums change in place.
    logs, shares : ndarray of shape (K,)
        Buffers.
    """

    row: np.ndarray
    parts: Any
    logs: np.ndarray
    shares: np.ndarray


class Near(NamedTuple):
    """Posteriors (n_states,) of tokens t - 1, t, t + 1, t - 2 and t + 2; 0 outside the sequence."""

    before: np.ndarray
    here: np.ndarray
    after: np.ndarray
    further: np.ndarray
    later: np.ndarray


class Table(NamedTuple):
    """Tokens with independent posteriors over n_states states, the end among them.

    Attributes
    ----------
    starts : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the tokens ``starts[i] : starts[i + 1]``.
    is_open : ndarray of shape (n_tokens,), bool
        Which tokens have a choice.
    posterior : ndarray of shape (n_tokens + 1, n_states)
        q(z_t); the last row is 0, in place of what is before and after a sequence.
    """

    starts: np.ndarray
    is_open: np.ndarray
    posterior: np.ndarray


@jit_inline
def largest(logs):
    """The largest of some numbers."""
    found = -math.inf
    for k in range(logs.size):
        found = max(found, logs[k])
    return found


@jit_token_reduction
def _product(one, other):
    """The inner product of two rows."""
    total = 0.0
    for k in range(one.size):
        total += one[k] * other[k]
    return total


@jit_token_reduction
def _add_rows(weights, table, row):
    """row += the rows of a table times weights."""
    for i in range(weights.size):
        for k in range(row.size):
            row[k] += weights[i] * table[i, k]


@jit_inline
def _first(counts, prior, near, new):
    """The second factor of figure 3 at a first token, from the start row; returns its total."""
    norm = -1.0
    for k in range(new.size):
        new[k] = max(counts.start[k] - near.here[k], 0.0) + prior.start[k]
        norm += counts.start[k] + prior.start[k]
    return norm


@jit_inline
def _from_before(counts, prior, near, is_last, new, mass):
    """E[C^-t(z_t-1, k)] + prior into `new` (eq. 20); returns its total over all k."""
    before, here, after, further, _ = near
    # The pairs (t-1, t), (t, t+1) and (t-2, t-1) are taken away.
    own, shared = _product(before, before), _product(before, here)
    earlier = _product(before, further)
    new[:] = 0.0
    mass[:] = 0.0
    _add_rows(before, counts.transition, new)
    _add_rows(before, prior.transition, mass)
    for k in range(new.size):
        count = new[k] - here[k] * own - after[k] * shared - before[k] * earlier
        new[k] = max(count + further[k] * before[k], 0.0) + mass[k]
    # Nothing leaves a last token.
    left = own + (0.0 if is_last else shared)
    return _product(before, counts.out) + _product(before, prior.out) - left


@jit_inline
def _to_after(counts, prior, near, n, new):
    """Multiply `new` by the third factor of figure 3, transitions from k to z_t+1."""
    before, here, after, _, later = near
    # The pairs (t, t+1), (t-1, t) and (t+1, t+2) are taken away.
    own, shared = _product(after, after), _product(after, here)
    following = _product(after, later)
    for k in range(n):
        count = _product(counts.transition[k], after) - here[k] * own
        count += after[k] * later[k] - before[k] * shared - after[k] * following
        cells = _product(prior.transition[k], after) + before[k] * after[k]
        out = max(counts.out[k] - before[k] - here[k], 0.0) + prior.out[k] + before[k]
        new[k] *= (max(count, 0.0) + cells) / out


@jit
def sweep_steps(counts, prior, table, steps, result):
    """One sweep over all tokens that have a choice, left to right, all sums updated at once.

    Parameters
    ----------
    counts : Tally
        Plain expected counts of the chain, without the prior; changed in place like
        ``table.posterior`` and the sums of ``steps.parts``.
    prior : Floor
        Prior cells and totals.
    table : Table
    steps : Steps
    result : ndarray of shape (2, n_states)
        Buffers.

    Returns
    -------
    float
        Sum over tokens of the log of what a token's update sums to: how probable the other tokens
        make it and its successor (nats, a monitor).
    """
    q, nothing, logs, shares = table.posterior, table.is_open.size, steps.logs, steps.shares
    new, mass, n, monitor = result[0], result[1], steps.logs.size, 0.0
    for s in range(table.starts.size - 1):
        begin, end = table.starts[s], table.starts[s + 1]
        for t in range(begin, end):
            if table.is_open[t]:
                before, here = q[t - 1 if t > begin else nothing], q[t]
                after = q[t + 1 if t < end - 1 else nothing]
                further = q[t - 2 if t > begin + 1 else nothing]
                later = q[t + 2 if t < end - 2 else nothing]
                near = Near(before, here, after, further, later)
                if t == begin:
                    norm = _first(counts, prior, near, new)
                else:
                    norm = _from_before(counts, prior, near, t == end - 1, new, mass)
                if t < end - 1:
                    _to_after(counts, prior, near, n, new)
                # The first factor, the emission.
                for k in range(n):
                    shares[k], logs[k] = here[k], 0.0
                add_predictive(steps.parts, steps.row[t], shares, logs)
                most, total = largest(logs), 0.0
                for k in range(n):
                    new[k] *= math.exp(logs[k] - most)
                    total += new[k]
                monitor += math.log(total / norm) + most
                # All sums follow at once.
                for k in range(n):
                    change = new[k] / total - here[k]
                    shares[k] = change
                    for j in range(new.size):
                        counts.transition[k, j] += change * after[j]
                        counts.transition[j, k] += change * before[j]
                    counts.start[k] += change if t == begin else 0.0
                    counts.out[k] += change if t < end - 1 else 0.0
                change_shares(steps.parts, steps.row[t], shares)
                for k in range(n):
                    here[k] += shares[k]
    return monitor


@jit
def resample_steps(tally, lattice, visits, path, steps, levels, chance):
    """Draw the state of every visited token given those of all others, sums updated at once.

    Parameters as in `sklearn_cvb.kernels.chain.gibbs_tokens.resample_tokens`, and

    Parameters
    ----------
    steps : Steps
    levels : ndarray of shape (n_visits,)
        Uniform numbers.
    """
    logs, shares, nowhere = steps.logs, steps.shares, np.int64(-1)
    for visit in range(visits.token.size):
        t, border = np.uintp(visits.token[visit]), visits.border[visit]
        n, base = np.uintp(lattice.count[t]), np.uintp(lattice.first[t])
        own = np.uintp(path.state[t])
        before = np.uintp(0) if border & FIRST else np.uintp(path.state[t - np.uintp(1)])
        after = np.uintp(0) if border & LAST else np.uintp(path.state[t + np.uintp(1)])
        shares[:] = 0.0
        shares[own] = 1.0
        logs[:] = 0.0
        add_predictive(steps.parts, steps.row[t], shares, logs)
        most = largest(logs)
        for k in range(n):
            weight = weigh(tally, np.uintp(k), nowhere, own, before, after, border)
            chance[k] = weight * math.exp(logs[k] - most)
        to = pick(chance, n, levels[visit])
        if to != own:
            move(tally, nowhere, nowhere, own, to, before, after, border)
            shares[own], shares[to] = -1.0, 1.0
            change_shares(steps.parts, steps.row[t], shares)
            path.slot[t], path.state[t] = base + to, to
