r"""Leave one token out, with the second-order term of every expected log count.

Wang and Blunsom (2013), figure 2, asks for E[log(C + a)] of six counts; figure 3 puts the log
outside. Here, as in Teh, Newman and Welling (2007) (the paper's footnote 2),

    E[log(C + a)] ~ log m - v / (2 m^2),    m = E[C] + a,    v = Var[C + a],

so a count of the numerator brings exp(-v / (2 m^2)), one of the denominator exp(+v / (2 m^2)). The
means m are those of figure 3. With independent tokens, b(p) = p (1 - p) and token t left out:

- C_kw, C_k. of emissions and the start row are sums of independent Bernoulli variables:
  v = sum of b(q(z_s = k)) over the other tokens of the word, over all other observed tokens, over
  the other first tokens.
- C_k. + delta(z_t-1 = k) of transitions counts the tokens in state k that have a successor, t
  aside: again the sum of their b(q).
- C_jk of transitions: v = sum of b(q_s-1(j) q_s(k)) over pairs. Neighbouring pairs share a token;
  their covariances are neglected (at two states, where they weigh most, v is up to half off).
- C_z,k with z = z_t-1 is a mixture over rows. Given z = j the pair (t-2, t-1) adds
  delta(j = k) delta(z_t-2 = k), so m_j = E[C_jk] + a_jk + delta(j = k) q_t-2(k) and v_j = Var[C_jk]
  + delta(j = k) b(q_t-2(k)), both without the three pairs that hold t-1 or t. By the law of total
  variance v = E_z[v_z] + Var_z[m_z].
- C_k,z + delta(z_t-1 = k = z) with z = z_t+1 likewise: given z = k it gains z_t+2 and z_t-1, each
  with its own mean and b.
- The total of row z_t-1 does not depend on k and cancels.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.leave_token_out import (
    Place,
    Tokens,
    clear_neighbours,
    shift_counts,
    spread_neighbours,
)
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.kernels.jit import jit, jit_inline

# What a difference of variances leaves below this share of them is rounding.
_ROUNDING = 1e-12
# Logs of factors are kept finite: for tiny concentrations v / m^2 overflows.
_LARGEST = 1e300


class Field(NamedTuple):
    """What a token sees.

    Attributes
    ----------
    counts : Tally
        Plain expected counts, without the prior.
    variances : Tally
        Their variances.
    prior : Floor
        Prior cells and totals.
    """

    counts: Tally
    variances: Tally
    prior: Floor


@jit_inline
def _bernoulli(p):
    return p * (1.0 - p)


@jit_inline
def _rest(total, own):
    """Take `own` out of a summed variance."""
    left = total - own
    return left if left > _ROUNDING * total else 0.0


@jit_inline
def _times(factor, mean, variance):
    """A factor (value, log of its correction) times exp E[log count]."""
    value, exponent = factor
    return value * mean, exponent - min(0.5 * variance / mean / mean, _LARGEST)


@jit_inline
def _over(factor, mean, variance):
    """A factor (value, log of its correction) over exp E[log count]."""
    value, exponent = factor
    return value / mean, exponent + min(0.5 * variance / mean / mean, _LARGEST)


@jit_inline
def _mix(moments, weight, mean, variance):
    """Add a component to a mixture's (weight, mean, weight times variance)."""
    total, centre, spread = moments
    total += weight
    step = mean - centre
    centre += step * weight / total
    return total, centre, spread + weight * (variance + step * (mean - centre))


@jit_inline
def _cell(field, row, column, first, second, third):
    """Mean (prior included) and variance of a transition count without three pairs."""
    mean = max(field.counts.transition[row, column] - (first + second + third), 0.0)
    own = _bernoulli(first) + _bernoulli(second) + _bernoulli(third)
    return (
        mean + field.prior.transition[row, column],
        _rest(field.variances.transition[row, column], own),
    )


@jit_inline
def _incoming(field, tokens, t, near, k):
    """Mean and variance of the count from z_t-1 to k."""
    far_left, before, here, after = near[0], near[1], near[2], near[3]
    base = tokens.lattice.first[t - 1]
    moments = (0.0, 0.0, 0.0)
    for i in range(tokens.lattice.count[t - 1]):
        row = tokens.lattice.state[base + i]
        if before[row] > 0.0:
            earlier, own = far_left[row] * before[k], before[row] * here[k]
            mean, variance = _cell(field, row, k, earlier, own, here[row] * after[k])
            if row == k:
                mean += far_left[k]
                variance += _bernoulli(far_left[k])
            moments = _mix(moments, before[row], mean, variance)
    return moments[1], moments[2] / moments[0]


@jit_inline
def _outgoing(field, tokens, t, near, k):
    """Mean and variance of the count from k to z_t+1, delta(z_t-1 = k = z_t+1) included."""
    before, here, after, far_right = near[1], near[2], near[3], near[4]
    base = tokens.lattice.first[t + 1]
    moments = (0.0, 0.0, 0.0)
    for i in range(tokens.lattice.count[t + 1]):
        to = tokens.lattice.state[base + i]
        if after[to] > 0.0:
            earlier, own = before[k] * here[to], here[k] * after[to]
            mean, variance = _cell(field, k, to, earlier, own, after[k] * far_right[to])
            if to == k:
                mean += far_right[k] + before[k]
                variance += _bernoulli(far_right[k]) + _bernoulli(before[k])
            moments = _mix(moments, after[to], mean, variance)
    return moments[1], moments[2] / moments[0]


@jit_inline
def _factor(field, tokens, place, near, j):
    """The update of token t's j-th state: figure 3's product, and the log of its correction."""
    counts, variances, prior = field
    slot = tokens.lattice.first[place.t] + j
    k, cell = tokens.lattice.state[slot], tokens.lattice.cell[slot]
    own = near[2][k]
    spread = _bernoulli(own)
    mean, variance = 0.0, 0.0
    if place.t == place.begin:
        mean = max(counts.start[k] - own, 0.0) + prior.start[k]
        variance = _rest(variances.start[k], spread)
    else:
        mean, variance = _incoming(field, tokens, place.t, near, k)
    factor = _times((1.0, 0.0), mean, variance)
    if cell >= 0:
        mean = max(counts.emission[cell] - own, 0.0) + prior.emission[cell]
        factor = _times(factor, mean, _rest(variances.emission[cell], spread))
        mean = max(counts.emit[k] - own, 0.0) + prior.emit[k]
        factor = _over(factor, mean, _rest(variances.emit[k], spread))
    if place.t < place.end - 1:
        mean, variance = _outgoing(field, tokens, place.t, near, k)
        factor = _times(factor, mean, variance)
        mean = max(counts.out[k] - own, 0.0) + prior.out[k]
        factor = _over(factor, mean, _rest(variances.out[k], spread))
    return factor


@jit_inline
def _norm(field, place, near):
    """The total that the second factor of figure 3 is a share of, first-order: a constant."""
    counts, _, prior = field
    before, here = near[1], near[2]
    total = 0.0
    for k in range(here.size):
        if place.t == place.begin:
            total += max(counts.start[k] - here[k], 0.0) + prior.start[k]
        else:
            own = before[k] + (here[k] if place.t < place.end - 1 else 0.0)
            total += before[k] * (max(counts.out[k] - own, 0.0) + prior.out[k])
    return total


@jit_inline
def _gain(p, old, new):
    """How the variance of an event of probability p times q grows as q moves from old to new."""
    return _bernoulli(p * new) - _bernoulli(p * old)


@jit_inline
def _shift_variances(variances, tokens, place, change):
    """Update all variances around token t for a change of its posterior."""
    lattice, posterior, t, entry = tokens.lattice, tokens.posterior, place.t, place.entry
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        k, cell = lattice.state[base + j], lattice.cell[base + j]
        old = posterior[entry + j]
        new = old + change[j]
        gain = _gain(1.0, old, new)
        if cell >= 0:
            variances.emission[cell] += gain
            variances.emit[k] += gain
        if t == place.begin:
            variances.start[k] += gain
        else:
            left, n_left = lattice.first[t - 1], lattice.count[t - 1]
            for i in range(n_left):
                p = posterior[entry - n_left + i]
                variances.transition[lattice.state[left + i], k] += _gain(p, old, new)
        if t < place.end - 1:
            variances.out[k] += gain
            right = lattice.first[t + 1]
            for i in range(lattice.count[t + 1]):
                p = posterior[entry + n + i]
                variances.transition[k, lattice.state[right + i]] += _gain(p, old, new)


@jit_inline
def _update(field, tokens, place, near, weight, change):
    """Recompute q(z_t), the counts and variances around it; returns the log of its normaliser."""
    n, entry, posterior = tokens.lattice.count[place.t], place.entry, tokens.posterior
    spread_neighbours(tokens, place, near)
    top = -math.inf
    for j in range(n):
        value, exponent = _factor(field, tokens, place, near, j)
        weight[j] = math.log(value) + exponent
        top = max(top, weight[j])
    norm = _norm(field, place, near)
    clear_neighbours(tokens, place, near)
    total = 0.0
    for j in range(n):
        weight[j] = math.exp(weight[j] - top)
        total += weight[j]
    for j in range(n):
        change[j] = weight[j] / total - posterior[entry + j]
    _shift_variances(field.variances, tokens, place, change)
    shift_counts(field.counts, tokens, place, change)
    for j in range(n):
        posterior[entry + j] += change[j]
    return top + math.log(total / norm)


@jit
def sum_variances(tokens, variances):
    """Add up b(q) of all tokens and b(q q') of all neighbours, into `variances` (zeros).

    Parameters
    ----------
    tokens : Tokens
    variances : Tally
        Changed in place.
    """
    lattice, posterior = tokens.lattice, tokens.posterior
    entry = np.int64(0)
    for s in range(tokens.starts.size - 1):
        begin, end = tokens.starts[s], tokens.starts[s + 1]
        for t in range(begin, end):
            base, n = lattice.first[t], lattice.count[t]
            for j in range(n):
                k, cell = lattice.state[base + j], lattice.cell[base + j]
                q = posterior[entry + j]
                if cell >= 0:
                    variances.emission[cell] += _bernoulli(q)
                    variances.emit[k] += _bernoulli(q)
                if t == begin:
                    variances.start[k] += _bernoulli(q)
                if t < end - 1:
                    variances.out[k] += _bernoulli(q)
                    right = lattice.first[t + 1]
                    for i in range(lattice.count[t + 1]):
                        pair = q * posterior[entry + n + i]
                        variances.transition[k, lattice.state[right + i]] += _bernoulli(pair)
            entry += n


@jit
def _sweep(field, tokens, near, weight, change):
    total = 0.0
    entry = np.int64(0)
    for s in range(tokens.starts.size - 1):
        begin, end = tokens.starts[s], tokens.starts[s + 1]
        for t in range(begin, end):
            n = tokens.lattice.count[t]
            if n > 1:
                place = Place(begin, end, t, entry)
                total += _update(field, tokens, place, near, weight, change)
            entry += n
    return total


def sweep_second_order(counts: Tally, prior: Floor, tokens: Tokens) -> float:
    """One sweep over all tokens, left to right, counts and variances updated at once.

    Arguments and result as in `sweep_tokens`, which is the first-order form; `counts` and
    ``tokens.posterior`` are changed in place.
    """
    variances = Tally(*(np.zeros_like(table) for table in counts))
    sum_variances(tokens, variances)
    n_states = len(counts.start)
    near, (weight, change) = np.zeros((5, n_states)), np.empty((2, n_states))
    return _sweep(Field(counts, variances, prior), tokens, near, weight, change)
