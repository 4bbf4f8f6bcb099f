"""Forward-backward of one sequence of numbers in log space: without limits.

For sequences that leave the range of float64 on the way: steps are far from all states in reach, or
a state fades that is all in the end. Layout as in `sklearn_cvb.kernels.chain.steps`.
"""

import math

from sklearn_cvb.kernels.jit import jit, jit_token

# What is less than e to this of a sum is no digit of it.
_NOTHING = -45.0


@jit_token
def _log_of_sum(row, column):
    """log of the sum of exp(row + column); -inf where there is nothing."""
    largest, total = -math.inf, 0.0
    for k in range(row.size):
        largest = max(largest, row[k] + column[k])
    if largest == -math.inf:
        return largest
    for k in range(row.size):
        term = row[k] + column[k] - largest
        if term > _NOTHING:
            total += math.exp(term)
    return largest + math.log(total)


@jit
def forward_log_steps(start, transition, table, logs, forward, rest):
    """Log forward messages of one sequence, each to sum 1.

    Parameters
    ----------
    start : ndarray of shape (K,)
        Logs.
    transition : ndarray of shape (n_tables, K, K)
        Logs.
    table : ndarray of shape (n_steps,), int64
        Which of the tables leads to each step.
    logs : ndarray of shape (n_steps, K)
        Log weights of the observations.
    forward : ndarray of shape (n_steps, K)
        Filled in; -inf from where no path is left.
    rest : ndarray of shape (n_steps, K)
        Filled with `logs` without what is common to all states in reach: huge ones would leave no
        digits for what differs.

    Returns
    -------
    float
        log Z; -inf where no path explains the sequence.
    """
    n_states, log_z = start.size, 0.0
    forward[:] = -math.inf
    for t in range(logs.shape[0]):
        common = -math.inf
        for k in range(n_states):
            if t == 0:
                forward[t, k] = start[k]
            else:
                forward[t, k] = _log_of_sum(forward[t - 1], transition[table[t], :, k])
            if forward[t, k] > -math.inf:
                common = max(common, logs[t, k])
        if common == -math.inf:
            forward[t] = common
            return common
        for k in range(n_states):
            rest[t, k] = logs[t, k] - common
        total = _log_of_sum(forward[t], rest[t])
        for k in range(n_states):
            forward[t, k] += rest[t, k] - total
        log_z += common + total
    return log_z


@jit
def backward_log_steps(transition, table, unit, forward, rest, ahead, found):
    """From log forward messages to posteriors, and sums of pair marginals.

    Parameters
    ----------
    transition, table, forward, rest
        As `forward_log_steps` leaves them; of a sequence that some path explains.
    unit : ndarray of shape (n_steps,), int64
        Where pairs that end in each step are added.
    ahead : ndarray of shape (2, K)
        A buffer.
    found : tuple (posterior, pairs)
        ``posterior`` (n_steps, K) is filled in, ``pairs`` (n_units, K, K) is added to.
    """
    posterior, pairs = found
    backward, after, n_states = ahead[0], ahead[1], forward.shape[1]
    backward[:] = 0.0
    for t in range(forward.shape[0] - 1, -1, -1):
        whole = _log_of_sum(forward[t], backward)
        for k in range(n_states):
            posterior[t, k] = math.exp(forward[t, k] + backward[k] - whole)
        if t == 0:
            break
        largest = -math.inf
        for k in range(n_states):
            after[k] = rest[t, k] + backward[k]
        for k in range(n_states):
            backward[k] = _log_of_sum(transition[table[t], k], after)
            if forward[t - 1, k] > -math.inf:
                largest = max(largest, backward[k])
        for k in range(n_states):
            backward[k] -= largest
        whole = _log_of_sum(forward[t - 1], backward) + largest
        for k in range(n_states):
            for j in range(n_states):
                joint = forward[t - 1, k] + transition[table[t], k, j] + after[j] - whole
                if joint > _NOTHING:
                    pairs[unit[t], k, j] += math.exp(joint)
