"""The chain in log space, for weights whose products leave the range of float64.

Same layout and conventions as `sklearn_cvb.kernels.chain.forward_backward`. Slow and safe: used
for the sequences that the probability-space kernels hand back.
"""

import math

from sklearn_cvb.kernels.chain.forward_backward import add_unary, fill_emission
from sklearn_cvb.kernels.chain.pairs import add_block, fill_block_from_logs
from sklearn_cvb.kernels.jit import jit, jit_token


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


@jit
def forward_pass_log(start, transition, lattice, begin, end, emission, message, scale):
    """Scaled forward messages log p(z_t | x_1..t); all weights are logs.

    Fills `scale` with log p(x_t | x_1..t-1). Returns log p(x); -inf as soon as no path is left.
    """
    position = 0
    previous = 0
    log_z = 0.0
    for t in range(begin, end):
        base, n = lattice.first[t], lattice.count[t]
        total = -math.inf
        for j in range(n):
            to = lattice.state[base + j]
            if t == begin:
                value = start[to]
            else:
                left = lattice.first[t - 1]
                value = -math.inf
                for i in range(lattice.count[t - 1]):
                    step = transition[lattice.state[left + i], to]
                    value = log_add(value, message[previous + i] + step)
            message[position + j] = value + emission[position + j]
            total = log_add(total, message[position + j])
        if total == -math.inf:
            return total
        for j in range(n):
            message[position + j] -= total
        scale[t - begin] = total
        log_z += total
        previous = position
        position += n
    return log_z


@jit
def forward_backward_log(start, transition, lattice, begin, end, size, work):
    """Posterior of one sequence in log space, for weights whose products leave float64.

    Same contract as `forward_backward` with logs for `start`, `transition`, `work.emission`
    (which returns log g), `work.forward` and `work.scale`. Returns log p(x), -inf if no path
    explains it.
    """
    log_z = forward_pass_log(
        start, transition, lattice, begin, end, work.emission, work.forward, work.scale
    )
    if log_z == -math.inf:
        return log_z
    position = size
    following = size
    for t in range(end - 1, begin - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        for i in range(n):
            row = lattice.state[base + i]
            value = 0.0
            if t < end - 1:
                right = lattice.first[t + 1]
                value = -math.inf
                for j in range(lattice.count[t + 1]):
                    step = transition[row, lattice.state[right + j]]
                    value = log_add(value, step + work.emission[following + j])
            work.posterior[position + i] = math.exp(work.forward[position + i] + value)
            work.emission[position + i] += value - work.scale[t - begin]
        following = position
    return log_z


@jit
def marginals_log(log_weights, lattice, begin, end, smooth, as_logs, passes, target):
    """`sklearn_cvb.kernels.chain.decoding.marginals` of one sequence, in log space.

    Fills `target`, the entries of the sequence, unless it is empty; `as_logs` with the logs of what
    is filtered. Returns log p(x), -inf where no
    path explains the sequence: `target` is left as it is.
    """
    size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, passes.emission)
    log_z = forward_backward_log(
        log_weights.start, log_weights.transition, lattice, begin, end, size, passes
    )
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
def expected_counts_log(log_weights, lattice, bounds, passes, block, counts):
    """E-step of the sequence with the tokens `bounds` in log space: add to `counts`.

    `block` is a buffer for the pair marginals of one step. Returns log Z, -inf where no path
    explains the sequence, which then adds nothing.
    """
    begin, end = bounds
    size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, passes.emission)
    log_z = forward_backward_log(
        log_weights.start, log_weights.transition, lattice, begin, end, size, passes
    )
    if log_z == -math.inf:
        return log_z
    add_unary(lattice, begin, end, passes.posterior, counts.start, counts.emission)
    before = 0
    for t in range(begin + 1, end):
        position = before + lattice.count[t - 1]
        fill_block_from_logs(log_weights.transition, lattice, t, passes, before, position, block)
        add_block(lattice, t, block, counts.transition)
        before = position
    return log_z
