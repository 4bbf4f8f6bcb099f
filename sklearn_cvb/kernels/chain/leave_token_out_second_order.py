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

from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.leave_token_out import clear, replace, scatter
from sklearn_cvb.kernels.jit import jit, jit_token

# What a difference of variances leaves below this share of them is rounding.
_ROUNDING = 1e-12
# Logs of factors are kept finite: for tiny concentrations v / m^2 overflows.
_LARGEST = 1e300


class Field(NamedTuple):
    """What a token sees: expected counts, their variances, the prior, and the lattice.

    `counts` and `variances` hold start, transition, out, emission and emit as a `Tally` does, but
    without the prior.
    """

    counts: tuple
    variances: tuple
    prior: tuple
    lattice: Lattice


@jit_token
def _bernoulli(p):
    return p * (1.0 - p)


@jit_token
def _rest(total, own):
    """Take `own` out of a summed variance."""
    left = total - own
    return left if left > _ROUNDING * total else 0.0


@jit_token
def _times(factor, mean, variance):
    """A factor (value, log of its correction) times exp E[log count]."""
    value, exponent = factor
    return value * mean, exponent - min(0.5 * variance / mean / mean, _LARGEST)


@jit_token
def _over(factor, mean, variance):
    """A factor (value, log of its correction) over exp E[log count]."""
    value, exponent = factor
    return value / mean, exponent + min(0.5 * variance / mean / mean, _LARGEST)


@jit_token
def _mix(moments, weight, mean, variance):
    """Add a component to a mixture's (weight, mean, weight times variance)."""
    total, centre, spread = moments
    total += weight
    step = mean - centre
    centre += step * weight / total
    return total, centre, spread + weight * (variance + step * (mean - centre))


@jit_token
def _cell(field, row, column, first, second, third):
    """Mean (prior included) and variance of a transition count without three pairs."""
    mean = max(field.counts.transition[row, column] - (first + second + third), 0.0)
    own = _bernoulli(first) + _bernoulli(second) + _bernoulli(third)
    return (
        mean + field.prior.transition[row, column],
        _rest(field.variances.transition[row, column], own),
    )


@jit_token
def _incoming(field, t, near, k):
    """Mean and variance of the count from z_t-1 to k."""
    far_left, before, here, after, _ = near
    base = field.lattice.first[t - 1]
    moments = (0.0, 0.0, 0.0)
    for i in range(field.lattice.count[t - 1]):
        row = field.lattice.state[base + i]
        if before[row] == 0.0:
            continue
        earlier, own, later = far_left[row] * before[k], before[row] * here[k], here[row] * after[k]
        mean, variance = _cell(field, row, k, earlier, own, later)
        if row == k:
            mean += far_left[k]
            variance += _bernoulli(far_left[k])
        moments = _mix(moments, before[row], mean, variance)
    return moments[1], moments[2] / moments[0]


@jit_token
def _outgoing(field, t, near, k):
    """Mean and variance of the count from k to z_t+1, delta(z_t-1 = k = z_t+1) included."""
    _, before, here, after, far_right = near
    base = field.lattice.first[t + 1]
    moments = (0.0, 0.0, 0.0)
    for i in range(field.lattice.count[t + 1]):
        to = field.lattice.state[base + i]
        if after[to] == 0.0:
            continue
        earlier, own, later = before[k] * here[to], here[k] * after[to], after[k] * far_right[to]
        mean, variance = _cell(field, k, to, earlier, own, later)
        if to == k:
            mean += far_right[k] + before[k]
            variance += _bernoulli(far_right[k]) + _bernoulli(before[k])
        moments = _mix(moments, after[to], mean, variance)
    return moments[1], moments[2] / moments[0]


@jit_token
def _factor(field, begin, end, t, near, slot):
    """The update of one state of token t: figure 3's product, and the log of its correction."""
    counts, variances, prior, lattice = field
    k, cell = lattice.state[slot], lattice.cell[slot]
    own = near[2][k]
    spread = _bernoulli(own)
    if t == begin:
        mean, variance = counts.start[k] - own, _rest(variances.start[k], spread)
        mean = max(mean, 0.0) + prior.start[k]
    else:
        mean, variance = _incoming(field, t, near, k)
    factor = _times((1.0, 0.0), mean, variance)
    if cell >= 0:
        mean = max(counts.emission[cell] - own, 0.0) + prior.emission[cell]
        factor = _times(factor, mean, _rest(variances.emission[cell], spread))
        mean = max(counts.emit[k] - own, 0.0) + prior.emit[k]
        factor = _over(factor, mean, _rest(variances.emit[k], spread))
    if t < end - 1:
        mean, variance = _outgoing(field, t, near, k)
        factor = _times(factor, mean, variance)
        mean = max(counts.out[k] - own, 0.0) + prior.out[k]
        factor = _over(factor, mean, _rest(variances.out[k], spread))
    return factor


@jit_token
def _norm(field, begin, end, t, near):
    """The total that the second factor of figure 3 is a share of, first-order: a constant."""
    counts, _, prior, _ = field
    _, before, here, _, _ = near
    total = 0.0
    for k in range(here.size):
        if t == begin:
            total += max(counts.start[k] - here[k], 0.0) + prior.start[k]
        else:
            own = before[k] + (here[k] if t < end - 1 else 0.0)
            total += before[k] * (max(counts.out[k] - own, 0.0) + prior.out[k])
    return total


@jit_token
def _gain(p, old, new):
    """How the variance of an event of probability p times q grows as q moves from old to new."""
    return _bernoulli(p * new) - _bernoulli(p * old)


@jit_token
def _shift_variances(field, begin, end, t, posterior, position, change):
    """Update all variances around token t for a change of its posterior."""
    _, variances, _, lattice = field
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        k, cell = lattice.state[base + j], lattice.cell[base + j]
        old = posterior[position + j]
        new = old + change[j]
        gain = _gain(1.0, old, new)
        if cell >= 0:
            variances.emission[cell] += gain
            variances.emit[k] += gain
        if t == begin:
            variances.start[k] += gain
        else:
            left, n_left = lattice.first[t - 1], lattice.count[t - 1]
            for i in range(n_left):
                p = posterior[position - n_left + i]
                variances.transition[lattice.state[left + i], k] += _gain(p, old, new)
        if t < end - 1:
            variances.out[k] += gain
            right = lattice.first[t + 1]
            for i in range(lattice.count[t + 1]):
                p = posterior[position + n + i]
                variances.transition[k, lattice.state[right + i]] += _gain(p, old, new)


@jit_token
def _update(field, begin, end, t, posterior, position, near, weight, change):
    """Recompute q(z_t), the counts and variances around it; returns the log of its normaliser."""
    lattice = field.lattice
    n = lattice.count[t]
    low, high = max(begin, t - 2), min(end - 1, t + 2)
    at = position
    for u in range(low, t):
        at -= lattice.count[u]
    for u in range(low, high + 1):
        scatter(lattice, u, posterior, at, near[u - t + 2])
        at += lattice.count[u]
    top = -math.inf
    for j in range(n):
        value, exponent = _factor(field, begin, end, t, near, lattice.first[t] + j)
        weight[j] = math.log(value) + exponent
        top = max(top, weight[j])
    norm = _norm(field, begin, end, t, near)
    for u in range(low, high + 1):
        clear(lattice, u, near[u - t + 2])
    total = 0.0
    for j in range(n):
        weight[j] = math.exp(weight[j] - top)
        total += weight[j]
    for j in range(n):
        change[j] = weight[j] / total - posterior[position + j]
    _shift_variances(field, begin, end, t, posterior, position, change)
    replace(field.counts, lattice, begin, end, t, posterior, position, change)
    for j in range(n):
        posterior[position + j] += change[j]
    return top + math.log(total / norm)


@jit
def sum_variances(lattice, starts, posterior, variances):
    """Add up b(q) of all tokens and b(q q') of all neighbours, into `variances` (zeros)."""
    position = 0
    for s in range(starts.size - 1):
        begin, end = starts[s], starts[s + 1]
        for t in range(begin, end):
            base, n = lattice.first[t], lattice.count[t]
            for j in range(n):
                k, cell = lattice.state[base + j], lattice.cell[base + j]
                q = posterior[position + j]
                if cell >= 0:
                    variances.emission[cell] += _bernoulli(q)
                    variances.emit[k] += _bernoulli(q)
                if t == begin:
                    variances.start[k] += _bernoulli(q)
                if t == end - 1:
                    continue
                variances.out[k] += _bernoulli(q)
                right = lattice.first[t + 1]
                for i in range(lattice.count[t + 1]):
                    pair = q * posterior[position + n + i]
                    variances.transition[k, lattice.state[right + i]] += _bernoulli(pair)
            position += n


@jit
def _sweep(field, starts, posterior, near, weight, change):
    rows = (near[0], near[1], near[2], near[3], near[4])
    total = 0.0
    position = 0
    for s in range(starts.size - 1):
        begin, end = starts[s], starts[s + 1]
        for t in range(begin, end):
            n = field.lattice.count[t]
            if n > 1:
                total += _update(field, begin, end, t, posterior, position, rows, weight, change)
            position += n
    return total


def sweep_second_order(counts, prior, lattice, starts, posterior):
    """One sweep over all tokens, left to right, counts and variances updated at once.

    Arguments and result as in `sweep_tokens`, which is the first-order form; `counts` and
    `posterior` are changed in place.
    """
    variances = counts._replace(**{name: np.zeros_like(t) for name, t in counts._asdict().items()})
    sum_variances(lattice, starts, posterior, variances)
    near, (weight, change) = np.zeros((5, counts.start.size)), np.empty((2, counts.start.size))
    field = Field(counts, variances, prior, lattice)
    return _sweep(field, starts, posterior, near, weight, change)
