"""Forward-backward in log space, for chains whose weights have products beyond the range of
float64.

Same layout and conventions as `sklearn_cvb.kernels.chain.forward_backward`. Slow and safe: used
for the sequences that other kernels hand back, whatever they are made of. There is one recursion
for all; it is compiled only where it is needed.
"""

import math

from sklearn_cvb.kernels.chain.forward_backward import add_unary, fill_emission
from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token

# What is less than e to this of a sum is no digit of it.
_NOTHING = -45.0


@jit_token
def fill_logs(values, target):
    """Elementwise logs of one row of weights."""
    for j in range(values.size):
        target[j] = math.log(values[j])


@jit_token
def log_add(a, b):
    """log(exp(a) + exp(b)), with -inf as the log of 0."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@jit_token
def _log_added(largest, total, value):
    """The sum ``exp(largest) * total`` and exp(value), in the same two numbers."""
    if value > largest:
        return value, total * math.exp(largest - value) + 1.0
    if value > largest + _NOTHING:
        total += math.exp(value - largest)
    return largest, total


@jit_inline
def single(table):
    """A single table as one of several."""
    return table.reshape((1, *table.shape))


@jit
def forward_pass_log(start, tables, table, lattice, begin, end, work):
    """Scaled log forward messages log p(z_t | x_1..t) of the tokens [begin, end).

    All weights are logs. Of several transition tables (n, K, K) ``table`` says which leads to each
    token; with None there is one. Fills ``work.forward``, and ``work.scale`` with log p(x_t |
    x_1..t-1) without what is common to all states in reach, which is taken off ``work.emission``:
    huge logs would leave no digits for what differs. Returns log p(x); -inf as soon as no path is
    left.
    """
    emission, message = work.emission, work.forward
    position, previous, log_z = 0, 0, 0.0
    for t in range(begin, end):
        base, n = lattice.first[t], lattice.count[t]
        steps = tables[0 if table is None else table[t - begin]]
        common = -math.inf
        for j in range(n):
            to = lattice.state[base + j]
            value = start[to]
            if t > begin:
                left = lattice.first[t - 1]
                largest, total = -math.inf, 0.0
                for i in range(lattice.count[t - 1]):
                    step = message[previous + i] + steps[lattice.state[left + i], to]
                    largest, total = _log_added(largest, total, step)
                value = largest + math.log(total)
            message[position + j] = value
            if value > -math.inf:
                common = max(common, emission[position + j])
        largest, total = -math.inf, 0.0
        for j in range(n):
            if common > -math.inf:
                emission[position + j] -= common
            message[position + j] += emission[position + j]
            largest, total = _log_added(largest, total, message[position + j])
        if common == -math.inf:
            return common
        scale = largest + math.log(total)
        for j in range(n):
            message[position + j] -= scale
        work.scale[t - begin] = scale
        log_z += common + scale
        previous = position
        position += n
    return log_z


@jit
def forward_backward_log(start, tables, table, lattice, begin, end, size, work):
    """`forward_backward` of one sequence with logs for weights: returns log p(x), -inf for no path.

    Arguments as in `forward_pass_log`; ``work.emission`` returns log g.
    """
    log_z = forward_pass_log(start, tables, table, lattice, begin, end, work)
    if log_z == -math.inf:
        return log_z
    emission, posterior = work.emission, work.posterior
    position, following = size, size
    for t in range(end - 1, begin - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        mass, whole = -math.inf, 0.0
        for i in range(n):
            row, value = lattice.state[base + i], 0.0
            if t < end - 1:
                right = lattice.first[t + 1]
                steps = tables[0 if table is None else table[t + 1 - begin]]
                largest, total = -math.inf, 0.0
                for j in range(lattice.count[t + 1]):
                    step = steps[row, lattice.state[right + j]] + emission[following + j]
                    largest, total = _log_added(largest, total, step)
                value = largest + math.log(total)
            posterior[position + i] = value
            mass, whole = _log_added(mass, whole, work.forward[position + i] + value)
        # Posteriors sum to 1 at every token: rounding does not build up.
        mass += math.log(whole)
        for i in range(n):
            value = posterior[position + i] - mass
            posterior[position + i] = math.exp(work.forward[position + i] + value)
            emission[position + i] += value - work.scale[t - begin]
        following = position
    return log_z


@jit_inline
def fill_block_from_logs(log_transition, lattice, t, work, before, position, block):
    """Pair marginals p(z_t-1, z_t | x) of one step, row by row in `block`.

    `before` and `position` are where the two tokens begin locally; `work` comes from
    `forward_backward_log`.
    """
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    for i in range(n_left):
        row = lattice.state[left + i]
        weight = work.forward[before + i]
        for j in range(n_right):
            value = log_transition[row, lattice.state[right + j]]
            block[i * n_right + j] = math.exp(weight + value + work.emission[position + j])


@jit
def add_pairs_log(tables, table, unit, lattice, begin, end, work, pairs):
    """Add all pair marginals of one sequence to `pairs` (n, K, K), in the ``unit`` of each step.

    `work` comes from `forward_backward_log`.
    """
    before = 0
    for t in range(begin + 1, end):
        left, right = lattice.first[t - 1], lattice.first[t]
        steps = tables[0 if table is None else table[t - begin]]
        own = pairs[0 if unit is None else unit[t - begin]]
        now = before + lattice.count[t - 1]
        for i in range(lattice.count[t - 1]):
            row, weight = lattice.state[left + i], work.forward[before + i]
            for j in range(lattice.count[t]):
                to = lattice.state[right + j]
                own[row, to] += math.exp(weight + steps[row, to] + work.emission[now + j])
        before = now


@jit
def marginals_log(log_weights, lattice, begin, end, smooth, as_logs, passes, target):
    """`sklearn_cvb.kernels.chain.decoding.marginals` of one sequence, in log space.

    Fills `target`, the entries of the sequence, unless it is empty; `as_logs` with the logs of what
    is filtered. Returns log p(x), -inf where no path explains the sequence: `target` is left as it
    is.
    """
    start, tables = log_weights.start, single(log_weights.transition)
    size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, passes.emission)
    log_z = forward_backward_log(start, tables, None, lattice, begin, end, size, passes)
    if log_z > -math.inf and target.size:
        for position in range(size):
            if smooth:
                target[position] = passes.posterior[position]
            elif as_logs:
                target[position] = passes.forward[position]
            else:
                target[position] = math.exp(passes.forward[position])
    return log_z


@jit
def expected_counts_log(log_weights, lattice, bounds, passes, counts):
    """E-step of the sequence with the tokens `bounds` in log space: add to `counts`.

    Returns log Z, -inf where no path explains the sequence, which then adds nothing.
    """
    begin, end = bounds
    start, tables = log_weights.start, single(log_weights.transition)
    size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, passes.emission)
    log_z = forward_backward_log(start, tables, None, lattice, begin, end, size, passes)
    if log_z > -math.inf:
        add_unary(lattice, begin, end, passes.posterior, counts.start, counts.emission)
        add_pairs_log(tables, None, None, lattice, begin, end, passes, single(counts.transition))
    return log_z
