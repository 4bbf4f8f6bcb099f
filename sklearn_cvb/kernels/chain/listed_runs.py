"""Forward-backward over the ambiguous runs of a sequence, from a list of their tokens.

The same inference as in `sklearn_cvb.kernels.chain.runs`, where everything it needs has been
gathered before: nothing is looked up between tokens (eqs. 7 and 8 of Wang and Blunsom 2013).
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    advance_dense,
    column_product,
    retreat_dense,
    sum_row,
)
from sklearn_cvb.kernels.chain.runs import LARGEST_PRODUCT, SCALED, SMALLEST_PRODUCT
from sklearn_cvb.kernels.jit import few, jit_token, jit_token_reduction
from sklearn_cvb.run_lists import ENTRY, TOKEN


@jit_token
def infer_runs(
    items,
    begins,
    ends,
    n_open,
    transition,
    weight,
    posterior,
    entry,
    block,
    at,
    sums,
    message,
):
    """Posteriors and pair marginals of runs, each of which lies between certain tokens.

    Parameters
    ----------
    items : ndarray
    begins, ends : tuple of int
        Where the parts of the list begin and end in `items`.
    n_open : int
        Number of states of an open token, 0 if none is listed as such.
    transition : ndarray of shape (K, K)
        Weights of all steps.
    weight : ndarray
        Weight of each entry, from 0 on, with those of the steps into and out of its run; changed.
    posterior : ndarray
        Receives p(z_t | x) of each entry, from `entry` on.
    entry : int
    block : ndarray
        Weights of the steps inside runs, row by row from `at` on; receives the pair marginals.
    at : int
    sums : ndarray of shape (K, K) or None
        Receives the sum of the pair marginals with an open token, without the weights of the steps.
        None where no token is listed as open.
    message : ndarray of shape (K,)
        A buffer.

    Returns
    -------
    log_z, product : float
        The weight of all runs together is ``exp(log_z) * product``. `product` is NaN where float64
        does not hold them.
    """
    log_z, product = 0.0, 1.0
    here, listed = np.int64(0), begins[ENTRY]
    begin, end = begins[TOKEN], ends[TOKEN]
    while begin < end:
        n = np.int64(items[np.uint64(begin)])
        length = np.int64(items[np.uint64(begin + 1)])
        if length == 1:
            total = _sum(weight, here, n, n_open, sums)
            listed += 0 if n == n_open else 2 * n
            _copy_scaled(weight, here, n, n_open, 1.0 / total, posterior, entry, sums)
        else:
            log_scale, total, n, here, entry, at, listed = _forward(
                items,
                begin,
                length,
                n_open,
                transition,
                weight,
                here,
                posterior,
                entry,
                block,
                at,
                listed,
                sums,
            )
            if math.isnan(total):
                return log_z, math.nan
            log_z += log_scale
            _backward(
                items,
                begin,
                length,
                n_open,
                transition,
                weight,
                here,
                posterior,
                entry,
                block,
                at,
                listed,
                1.0 / total,
                sums,
                message,
            )
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
def _forward(
    items,
    begin,
    length,
    n_open,
    transition,
    weight,
    here,
    posterior,
    entry,
    block,
    at,
    listed,
    sums,
):
    """Forward messages of a run, in place of its posteriors.

    Returns the log that long runs divide by on the way and the weight of what is left; the number
    of states of the last token, where its weights and entries begin, where the steps end, and where
    the listed entries end.
    """
    log_scale = 0.0
    n = np.int64(items[np.uint64(begin)])
    _copy_scaled(weight, here, n, n_open, 1.0, posterior, entry, sums)
    listed += 0 if n == n_open else 2 * n
    for u in range(1, length):
        left, n_left = entry, n
        entry += n
        here += n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        if sums is not None and (n == n_open or n_left == n_open):
            _advance_open(items, n_open, transition, posterior, left, n_left, entry, n, listed)
            for j in range(n):
                posterior[np.uint64(entry + j)] *= weight[np.uint64(here + j)]
        else:
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
        listed += 0 if n == n_open else 2 * n
        if u % SCALED == SCALED - 1 and u < length - 1:
            total = _sum(posterior, entry, n, n_open, sums)
            if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
                return log_scale, math.nan, n, here, entry, at, listed
            log_scale += math.log(total)
            for j in range(n):
                posterior[entry + j] /= total
                weight[here + j] /= total
    return log_scale, _sum(posterior, entry, n, n_open, sums), n, here, entry, at, listed


@jit_token
def _advance_open(items, n_open, transition, posterior, left, n_left, entry, n, listed):
    """The message to a token if it or the one before is open; `listed` is its first entry."""
    if n_left == n and n == n_open:
        advance_dense(transition, posterior[left : left + n], posterior[entry : entry + n])
    elif n == n_open:
        for k in range(n):
            posterior[np.uint64(entry + k)] = 0.0
        before = listed - 2 * n_left
        for i in range(n_left):
            row = transition[items[np.uint64(before + 2 * i + 1)]]
            factor = posterior[np.uint64(left + i)]
            for k in range(n):
                posterior[np.uint64(entry + k)] += factor * row[np.uint64(k)]
    else:
        for j in range(n):
            to = items[np.uint64(listed + 2 * j + 1)]
            posterior[np.uint64(entry + j)] = column_product(transition, to, posterior, left)


@jit_token
def _copy_scaled(source, begin, n, n_open, factor, target, at, sums):
    """Copy n values times a factor."""
    if sums is not None and n == n_open:
        for j in range(n):
            target[np.uint64(at + j)] = source[np.uint64(begin + j)] * factor
        return
    j = 0
    while j < few(n):
        target[np.uint64(at + j)] = source[np.uint64(begin + j)] * factor
        j += 1


@jit_token
def _sum(values, begin, n, n_open, sums):
    """Sum of n values."""
    if sums is not None and n == n_open:
        return sum_row(values, begin, n)
    total = 0.0
    j = 0
    while j < few(n):
        total += values[np.uint64(begin + j)]
        j += 1
    return total


@jit_token
def _backward(
    items,
    begin,
    length,
    n_open,
    transition,
    weight,
    here,
    posterior,
    entry,
    block,
    at,
    listed,
    inverse,
    sums,
    message,
):
    """Turn forward messages into posteriors and steps into pair marginals.

    `here`, `entry`, `at` and `listed` are what `_forward` returned; `inverse` is 1 over the weight.
    Each weight is multiplied by the backward message of its token.
    """
    n = np.int64(items[np.uint64(begin + 2 * length - 2)])
    _copy_scaled(posterior, entry, n, n_open, inverse, posterior, entry, sums)
    _copy_scaled(weight, here, n, n_open, inverse, weight, here, sums)
    for u in range(length - 2, -1, -1):
        right, n_right = here, n
        n = np.int64(items[np.uint64(begin + 2 * u)])
        here -= n
        entry -= n
        # Where the listed entries of the token on the right begin, and of the one on the left end.
        listed -= 0 if n_right == n_open else 2 * n_right
        if sums is not None and (n == n_open or n_right == n_open):
            _retreat_open(
                items,
                n_open,
                transition,
                weight,
                right,
                n_right,
                posterior,
                entry,
                n,
                listed,
                sums,
                message,
            )
            for i in range(n):
                posterior[np.uint64(entry + i)] *= message[np.uint64(i)]
                weight[np.uint64(here + i)] *= message[np.uint64(i)]
            continue
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


@jit_token
def _retreat_open(
    items,
    n_open,
    transition,
    weight,
    right,
    n_right,
    posterior,
    entry,
    n,
    listed,
    sums,
    message,
):
    """The backward message to a token, and its pairs in `sums`, if it or the next one is open."""
    if n == n_right and n == n_open:
        retreat_dense(transition, weight[right : right + n], message)
        _add_outer_rows(posterior, entry, weight, right, n, sums)
    elif n_right == n_open:
        before = listed - 2 * n
        for i in range(n):
            row = items[np.uint64(before + 2 * i + 1)]
            message[i] = _weigh_row(
                transition[row], weight, right, posterior[np.uint64(entry + i)], sums[row]
            )
    else:
        for k in range(n):
            message[np.uint64(k)] = 0.0
        for j in range(n_right):
            to = items[np.uint64(listed + 2 * j + 1)]
            factor = weight[np.uint64(right + j)]
            for k in range(n):
                message[np.uint64(k)] += transition[np.uint64(k), to] * factor
                sums[np.uint64(k), to] += posterior[np.uint64(entry + k)] * factor


@jit_token_reduction
def _weigh_row(steps, weight, right, forward, pairs):
    """Weights of one row of steps times the message from the right; adds its pairs to `pairs`."""
    total = 0.0
    for k in range(steps.size):
        value = weight[np.uint64(right + k)]
        total += steps[np.uint64(k)] * value
        pairs[np.uint64(k)] += forward * value
    return total


@jit_token
def _add_outer_rows(posterior, entry, weight, right, n, sums):
    """Add the pairs of two open tokens to `sums`."""
    for i in range(n):
        factor, row = posterior[np.uint64(entry + i)], sums[i]
        for k in range(n):
            row[np.uint64(k)] += factor * weight[np.uint64(right + k)]
