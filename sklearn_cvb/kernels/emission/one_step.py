"""What one step says of its state, given all others: predictive densities without its own share.

An emission is a tuple of parts, a NamedTuple for each kind of columns. What a part's states learn
from are sums of its features over steps, times the shares of the states: to take a step out, or to
give it other shares, is to subtract and to add its features. States are the last axis.

`add_predictive` is chosen by the type of each part when a kernel that calls it is compiled: another
kind is another NamedTuple and another function here.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from sklearn_cvb.kernels.emission.predictive import eliminate, invert_factors, sums_of_squares
from sklearn_cvb.kernels.jit import chosen_by_type

# Divisor of states that no other step is in.
_FEWEST = 1e-10
# From so large a shape on differences of log Gamma functions lose digits that matter.
_LARGE = 1e4


class Categories(NamedTuple):
    """Columns of categories (Bernoulli: of two), Dirichlet posteriors.

    Attributes
    ----------
    features : ndarray of shape (n_steps, F)
        1 at the category of each observed column.
    sums : ndarray of shape (F, K)
    prior : ndarray of shape (F,)
    order : ndarray of shape (F,), int64
        Features, column by column.
    begins : ndarray of shape (n_columns + 1,), int64
        Where those of each column begin in `order`.
    room : ndarray of shape (2, K)
        A buffer.
    """

    features: np.ndarray
    sums: np.ndarray
    prior: np.ndarray
    order: np.ndarray
    begins: np.ndarray
    room: np.ndarray


class Events(NamedTuple):
    """Columns of counts, Gamma posteriors of their rates: negative binomial.

    Attributes
    ----------
    features : ndarray of shape (n_steps, 2 D + 1)
        Values, 1 where observed, and minus the log factorials.
    sums : ndarray of shape (2 D + 1, K)
    shape : float
    rates : ndarray of shape (D,)
        Of the prior.
    """

    features: np.ndarray
    sums: np.ndarray
    shape: float
    rates: np.ndarray


class NormalColumns(NamedTuple):
    """Independent columns with a variance of each state and column: Student's t by column.

    Attributes
    ----------
    features : ndarray of shape (n_steps, 3 D)
        1 where observed, values, squares.
    sums : ndarray of shape (3 D, K)
    mean : ndarray of shape (D,)
    strength, degrees : float
        kappa and nu.
    scale : ndarray of shape (D,)
    log_scales : ndarray of shape (D,)
        Of the columns, which standard units take off log densities.
    """

    features: np.ndarray
    sums: np.ndarray
    mean: np.ndarray
    strength: float
    degrees: float
    scale: np.ndarray
    log_scales: np.ndarray


class NormalSpheres(NamedTuple):
    """Independent columns that share a variance of each state; fields as in `NormalColumns`."""

    features: np.ndarray
    sums: np.ndarray
    mean: np.ndarray
    strength: float
    degrees: float
    scale: np.ndarray
    log_scales: np.ndarray


class MatrixRoom(NamedTuple):
    """Buffers: sums of the other steps (S, K), means (D, K), factors (D, D, K), logs (K,)."""

    others: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    log_det: np.ndarray


class NormalMatrices(NamedTuple):
    """Columns with a covariance matrix of each state: Student's t of all together.

    Attributes
    ----------
    features : ndarray of shape (n_steps, 1 + D + D (D + 1) / 2)
        1 where observed, values, products (0, 0), (1, 0), (1, 1), (2, 0) ...
    sums : ndarray of shape (1 + D + D (D + 1) / 2, K)
    mean : ndarray of shape (D,)
    strength, degrees : float
    scale : ndarray of shape (D, D)
    log_volume : float
    room : MatrixRoom
    """

    features: np.ndarray
    sums: np.ndarray
    mean: np.ndarray
    strength: float
    degrees: float
    scale: np.ndarray
    log_volume: float
    room: MatrixRoom


class TiedMatrix(NamedTuple):
    """Columns with one covariance matrix of all states; fields as in `NormalMatrices`."""

    features: np.ndarray
    sums: np.ndarray
    mean: np.ndarray
    strength: float
    degrees: float
    scale: np.ndarray
    log_volume: float
    room: MatrixRoom


def add_predictive(parts: Any, t: int, shares: np.ndarray, logs: np.ndarray) -> None:
    """Add log densities of step t to `logs` (K,), given all steps but its own `shares` (K,).

    `parts` is a tuple of parts, or one of them. For kernels alone.
    """
    raise NotImplementedError("kernels call this")


def change_shares(parts: Any, t: int, change: np.ndarray) -> None:
    """Add `change` (K,) to the shares of step t in the sums of a tuple of parts. For kernels."""
    raise NotImplementedError("kernels call this")


@chosen_by_type(add_predictive)
def _predictive_of(parts, t, shares, logs):
    if isinstance(parts, types.BaseNamedTuple):
        return _PREDICTIVE[parts.instance_class]
    return _add_first if len(parts) == 1 else _add_first_and_rest


def _add_first(parts, t, shares, logs):
    add_predictive(parts[0], t, shares, logs)


def _add_first_and_rest(parts, t, shares, logs):
    add_predictive(parts[0], t, shares, logs)
    add_predictive(parts[1:], t, shares, logs)


@chosen_by_type(change_shares)
def _changing(parts, t, change):
    if isinstance(parts, types.BaseNamedTuple):
        return _change_sums
    return _change_first if len(parts) == 1 else _change_first_and_rest


def _change_first(parts, t, change):
    change_shares(parts[0], t, change)


def _change_first_and_rest(parts, t, change):
    change_shares(parts[0], t, change)
    change_shares(parts[1:], t, change)


def _change_sums(parts, t, change):
    for f in range(parts.features.shape[1]):
        value = parts.features[t, f]
        if value != 0.0:
            for k in range(change.size):
                parts.sums[f, k] += value * change[k]


def _add_categories(parts, t, shares, logs):
    chosen, total = parts.room[0], parts.room[1]
    for d in range(parts.begins.size - 1):
        is_seen = False
        total[:] = 0.0
        for at in range(parts.begins[d], parts.begins[d + 1]):
            f = parts.order[at]
            value = parts.features[t, f]
            for k in range(logs.size):
                count = max(parts.sums[f, k] - value * shares[k], 0.0) + parts.prior[f]
                total[k] += count
                if value != 0.0:
                    chosen[k] = count
            is_seen = is_seen or value != 0.0
        if is_seen:
            for k in range(logs.size):
                logs[k] += math.log(chosen[k] / total[k])


def _add_events(parts, t, shares, logs):
    n = parts.rates.size
    for k in range(logs.size):
        logs[k] += parts.features[t, 2 * n]
    for d in range(n):
        if parts.features[t, n + d] != 0.0:
            x = parts.features[t, d]
            for k in range(logs.size):
                shape = parts.shape + max(parts.sums[d, k] - x * shares[k], 0.0)
                rate = parts.rates[d] + max(parts.sums[n + d, k] - shares[k], 0.0)
                if shape < _LARGE:
                    logs[k] += math.lgamma(shape + x) - math.lgamma(shape)
                else:
                    # The difference by Stirling's series: both are too large to keep their digits.
                    rest = (1.0 / (shape + x) - 1.0 / shape) / 12.0
                    logs[k] += (shape - 0.5) * math.log1p(x / shape) + rest
                    logs[k] += x * (math.log(shape + x) - 1.0)
                logs[k] -= shape * math.log1p(1.0 / rate) + x * math.log1p(rate)


def _add_columns(parts, t, shares, logs):
    n = parts.mean.size
    for d in range(n):
        if parts.features[t, d] != 0.0:
            x, prior_mean = parts.features[t, n + d], parts.mean[d]
            for k in range(logs.size):
                count = max(parts.sums[d, k] - shares[k], 0.0)
                total = parts.sums[n + d, k] - shares[k] * x
                squares = parts.sums[2 * n + d, k] - shares[k] * x * x
                strength = parts.strength + count
                off = x - (parts.strength * prior_mean + total) / strength
                average = total / max(count, _FEWEST)
                shift = parts.strength * count / strength * (average - prior_mean) ** 2
                scale = parts.scale[d] + max(squares - total * average, 0.0) + shift
                scale *= 1.0 + 1.0 / strength
                half = 0.5 * (parts.degrees + count)
                logs[k] += math.lgamma(half + 0.5) - math.lgamma(half) - parts.log_scales[d]
                logs[k] -= 0.5 * math.log(math.pi * scale)
                logs[k] -= (half + 0.5) * math.log1p(off * off / scale)


def _add_spheres(parts, t, shares, logs):
    n = parts.mean.size
    for k in range(logs.size):
        degrees, scale, n_seen = parts.degrees, parts.scale[0], 0.0
        distance, log_volume = 0.0, 0.0
        for d in range(n):
            there, x = parts.features[t, d], parts.features[t, n + d]
            count = max(parts.sums[d, k] - shares[k] * there, 0.0)
            total = parts.sums[n + d, k] - shares[k] * x
            squares = parts.sums[2 * n + d, k] - shares[k] * x * x
            strength = parts.strength + count
            average = total / max(count, _FEWEST)
            shift = parts.strength * count / strength * (average - parts.mean[d]) ** 2
            scale += max(squares - total * average, 0.0) + shift
            degrees += count
            if there != 0.0:
                n_seen += 1.0
                off = x - (parts.strength * parts.mean[d] + total) / strength
                widened = 1.0 + 1.0 / strength
                distance += off * off / widened
                log_volume += parts.log_scales[d] + 0.5 * math.log(widened)
        half, more = 0.5 * degrees, 0.5 * n_seen
        logs[k] += math.lgamma(half + more) - math.lgamma(half) - log_volume
        logs[k] -= more * math.log(math.pi * scale)
        logs[k] -= (half + more) * math.log1p(distance / scale)


def _add_matrices(parts, t, shares, logs):
    if parts.features[t, 0] != 0.0:
        room, off, n = parts.room, parts.room.means, parts.mean.size
        for f in range(parts.features.shape[1]):
            for k in range(logs.size):
                room.others[f, k] = parts.sums[f, k] - parts.features[t, f] * shares[k]
        sums_of_squares(
            room.others, parts.mean, parts.strength, parts.scale, room.means, room.factors
        )
        for i in range(n):
            for k in range(logs.size):
                off[i, k] = parts.features[t, 1 + i] - room.means[i, k]
        eliminate(room.factors, parts.scale, off, room.log_det)
        for k in range(logs.size):
            count = max(room.others[0, k], 0.0)
            widened, half = 1.0 + 1.0 / (parts.strength + count), 0.5 * (parts.degrees + count + 1)
            distance = 0.0
            for i in range(n):
                distance += room.factors[i, i, k] * off[i, k] * off[i, k]
            logs[k] += math.lgamma(half) - math.lgamma(half - 0.5 * n) - parts.log_volume
            logs[k] -= 0.5 * (room.log_det[k] + n * math.log(math.pi * widened))
            logs[k] -= half * math.log1p(distance / widened)


def _add_tied(parts, t, shares, logs):
    if parts.features[t, 0] != 0.0:
        room, n, n_states = parts.room, parts.mean.size, logs.size
        for f in range(parts.features.shape[1]):
            for k in range(n_states):
                room.others[f, k] = parts.sums[f, k] - parts.features[t, f] * shares[k]
        sums_of_squares(
            room.others, parts.mean, parts.strength, parts.scale, room.means, room.factors
        )
        # One matrix of all states, in the place of the first.
        shared, total = room.factors[:, :, :1], 0.0
        for j in range(n):
            for i in range(j + 1):
                for k in range(1, n_states):
                    shared[j, i, 0] += room.factors[j, i, k] - parts.scale[j, i]
        invert_factors(shared, parts.scale, room.log_det[:1])
        for k in range(n_states):
            total += max(room.others[0, k], 0.0)
        half = 0.5 * (parts.degrees + total + 1)
        constant = math.lgamma(half) - math.lgamma(half - 0.5 * n) - parts.log_volume
        constant -= 0.5 * room.log_det[0]
        for k in range(n_states):
            widened = 1.0 + 1.0 / (parts.strength + max(room.others[0, k], 0.0))
            distance = 0.0
            for j in range(n):
                along = 0.0
                for i in range(j + 1):
                    along += shared[j, i, 0] * (parts.features[t, 1 + i] - room.means[i, k])
                distance += along * along
            logs[k] += constant - 0.5 * n * math.log(math.pi * widened)
            logs[k] -= half * math.log1p(distance / widened)


_PREDICTIVE = {
    Categories: _add_categories,
    Events: _add_events,
    NormalColumns: _add_columns,
    NormalSpheres: _add_spheres,
    NormalMatrices: _add_matrices,
    TiedMatrix: _add_tied,
}
