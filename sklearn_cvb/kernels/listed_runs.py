"""Forward-backward over the ambiguous runs of a sequence, from a list of their tokens.

The same inference as in `sklearn_cvb.kernels.runs`, where everything it needs has been gathered
before: nothing is looked up between tokens (eqs. 7 and 8 of Wang and Blunsom 2013).
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import few, jit_token
from sklearn_cvb.kernels.runs import LARGEST_PRODUCT, SCALED, SMALLEST_PRODUCT


@jit_token
def infer_runs(items, begin, end, weight, posterior, entry, block, at):
    """Posteriors and pair marginals of runs, each of which lies between certain tokens.

    Parameters
    ----------
    items : ndarray
        ``items[begin:end]`` has two numbers for each token: how many states it may take and, if it
        begins a run, how many tokens the run has.
    begin, end : int
    weight : ndarray
        Weight of each entry, from 0 on, with those of the steps into and out of its run; changed.
    posterior : ndarray
        Receives p(z_t | x) of each entry, from `entry` on.
    entry : int
    block : ndarray
        Weights of the steps inside runs, row by row from `at` on; receives the pair marginals.
    at : int

    Returns
    -------
    log_z, product : float
        The weight of all runs together is ``exp(log_z) * product``. `product` is NaN where float64
        does not hold them.
    """
    log_z, product = 0.0, 1.0
    here = np.int64(0)
    while begin < end:
        n = np.int64(items[np.uint64(begin)])
        length = np.int64(items[np.uint64(begin + 1)])
        if length == 1:
            total = 0.0
            j = 0
            while j < few(n):
                total += weight[np.uint64(here + j)]
                j += 1
            inverse = 1.0 / total
            j = 0
            while j < few(n):
                posterior[np.uint64(entry + j)] = weight[np.uint64(here + j)] * inverse
                j += 1
        else:
            log_scale, total, n, here, entry, at = _forward(
                items, begin, length, weight, here, posterior, entry, block, at
            )
            log_z += log_scale
            _backward(items, begin, length, weight, here, posterior, entry, block, at, 1.0 / total)
        if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
            return log_z, math.nan
        entry += n
        here += n
        begin += 2 * length
        product *= total
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    return log_z, product


@jit_token
def _forward(items, begin, length, weight, here, posterior, entry, block, at):
    """Forward messages of a run, in place of its posteriors.

    Returns the log that long runs divide by on the way and the weight of what is left; the number
    of states of the last token, where its weights and entries begin, and where the steps end.
    """
    log_scale = 0.0
    n = np.int64(items[np.uint64(begin)])
    j = 0
    while j < few(n):
        posterior[np.uint64(entry + j)] = weight[np.uint64(here + j)]
        j += 1
    for u in range(1, length):
        left, n_left = entry, n
        entry += n
        here += n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        j = 0
        while j < few(n):
            total = 0.0
            step = at + j
            i = 0
            while i < few(n_left):
                total += posterior[np.uint64(left + i)] * block[np.uint64(step)]
                step += n
                i += 1
            posterior[np.uint64(entry + j)] = total * weight[np.uint64(here + j)]
            j += 1
        at += n_left * n
        if u % SCALED == SCALED - 1 and u < length - 1:
            total = _sum(posterior, entry, n)
            if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
                return log_scale, math.nan, n, here, entry, at
            log_scale += math.log(total)
            for j in range(n):
                posterior[entry + j] /= total
                weight[here + j] /= total
    return log_scale, _sum(posterior, entry, n), n, here, entry, at


@jit_token
def _sum(values, begin, n):
    """Sum of n values."""
    total = 0.0
    j = 0
    while j < few(n):
        total += values[np.uint64(begin + j)]
        j += 1
    return total


@jit_token
def _backward(items, begin, length, weight, here, posterior, entry, block, at, inverse):
    """Turn forward messages into posteriors and steps into pair marginals.

    `here`, `entry` and `at` are what `_forward` returned; `inverse` is 1 over the weight. Each
    weight is multiplied by the backward message of its token.
    """
    n = np.int64(items[np.uint64(begin + 2 * length - 2)])
    j = 0
    while j < few(n):
        posterior[np.uint64(entry + j)] *= inverse
        weight[np.uint64(here + j)] *= inverse
        j += 1
    for u in range(length - 2, -1, -1):
        right, n_right = here, n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        here -= n
        entry -= n
        at -= n * n_right
        step = at
        i = 0
        while i < few(n):
            forward = posterior[np.uint64(entry + i)]
            after = 0.0
            j = 0
            while j < few(n_right):
                value = block[np.uint64(step + j)] * weight[np.uint64(right + j)]
                after += value
                block[np.uint64(step + j)] = forward * value
                j += 1
            step += n_right
            posterior[np.uint64(entry + i)] = forward * after
            weight[np.uint64(here + i)] *= after
            i += 1
