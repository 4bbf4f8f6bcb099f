"""Kernels of von Mises emissions: predictive log densities of angles. Concentrations are integrated
over a grid, whose faint (negligible) points are left out; Bessel functions I0 are polynomials.

Concentrations g have values on a grid, whose weights are those of a posterior. Of n angles whose
unit vectors have a sum of length r the likelihood, with all directions equally probable, is
I0(g r) / (2 pi I0(g))^n: the predictive density is the sum of it over g with one angle more,
divided by that without.
"""

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import i0e

from sklearn_cvb.kernels.jit import jit, jit_called, jit_token
from sklearn_cvb.kernels.special import bit_buffer, exp_of_block, log_of_block
from sklearn_cvb.kernels.vectors import LANES, part, put, root_of, spread, where_below

# Where one polynomial for exp(-x) I0(x) ends and another one begins, their terms, and how many
# angles are taken together.
_BETWEEN, _TERMS, _BLOCK = 8.0, 30, 256


def scaled_bessel() -> np.ndarray:
    """Polynomials of y from -1 to 1, (2, n_terms) from the constants on.

    exp(-x) I0(x) at x = 4 (y + 1), and times sqrt(x) at 1 / x = (y + 1) / 16.
    """

    def above(y: np.ndarray) -> np.ndarray:
        inverse = np.maximum((y + 1.0) / (2.0 * _BETWEEN), 1e-300)
        return i0e(1.0 / inverse) / np.sqrt(inverse)

    def below(y: np.ndarray) -> np.ndarray:
        return i0e(0.5 * _BETWEEN * (y + 1.0))

    fitted = (Chebyshev.interpolate(each, _TERMS - 1) for each in (below, above))
    return np.array([each.convert(kind=Polynomial).coef for each in fitted])


def angle_buffers() -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Buffers of `angle_scores`."""
    return np.empty((5, _BLOCK)), bit_buffer(_BLOCK)


@jit_token
def _scaled_i0(x, bessel):
    """exp(-x) I0(x) of a vector."""
    below, above = bessel
    y = x * spread(2.0 / _BETWEEN) - spread(1.0)
    inverse = spread(2.0 * _BETWEEN) / x - spread(1.0)
    low, high = spread(below[below.size - 1]), spread(above[above.size - 1])
    for i in range(below.size - 2, -1, -1):
        low = low * y + spread(below[i])
        high = high * inverse + spread(above[i])
    return where_below(x, spread(_BETWEEN), low, high / root_of(x))


@jit_token
def _grid_end(concentrations, log_i0, n, length, step, place, faintest):
    """The last place, up or down, whose weight g length - n log I0(g) is not faint.

    The weight is concave in g: its peak is looked for from some place on.
    """
    for way in (-1, 1):
        while 0 <= place + way < concentrations.size and (
            (concentrations[place + way] - concentrations[place]) * length
            > n * (log_i0[place + way] - log_i0[place])
        ):
            place += way
    least = concentrations[place] * length - n * log_i0[place] + faintest
    while (
        0 <= place + step < concentrations.size
        and concentrations[place + step] * length - n * log_i0[place + step] > least
    ):
        place += step
    return place


@jit_called
def _log_sums(n_angles, grid, log_i0, n, used, bessel, room):
    """Logs of the sum of I0(g r) / I0(g)^n over used g, for each length in the first buffer."""
    table, (bits, power) = room
    lengths, largest, totals, terms, logs = table[0], table[1], table[2], table[3], table[4]
    for t in range(n_angles):
        totals[t], largest[t] = 0.0, -math.inf
    for i in range(used[0], used[1]):
        weight = n * log_i0[i]
        for t in range(n_angles):
            largest[t] = max(largest[t], grid[i] * lengths[t] - weight)
    for i in range(used[0], used[1]):
        weight = n * log_i0[i]
        for t in range(0, n_angles, LANES):
            put(terms, t, _scaled_i0(spread(grid[i]) * part(lengths, t), bessel))
        for t in range(n_angles):
            logs[t] = grid[i] * lengths[t] - weight - largest[t]
        exp_of_block(logs[:n_angles], bits, power)
        for t in range(n_angles):
            totals[t] += terms[t] * logs[t]
    log_of_block(totals[:n_angles], bits, power)
    for t in range(n_angles):
        totals[t] += largest[t]


@jit
def angle_scores(vectors, observed, units, sums, grid, faintest, room, scores):
    """Add log densities of observed angles, which are unit vectors (n_steps, 2 D), to `scores`.

    `sums` are counts, cosines and sines of what is known, (n_units or 1, D, K) each; `grid` the
    concentrations, log I0 of them, and `scaled_bessel`. A concentration whose log weight is
    `faintest` below the largest is left out; see `angle_buffers`.
    """
    counts, cosines, sines = sums
    concentrations, log_i0, bessel = grid
    lengths, totals, n_columns = room[0][0], room[0][2], counts.shape[1]
    first = np.int64(0)
    for u in range(units.size - 1):
        table_row = u if counts.shape[0] > 1 else 0
        for d in range(n_columns):
            for k in range(counts.shape[2]):
                n, along, across = (
                    counts[table_row, d, k],
                    cosines[table_row, d, k],
                    sines[table_row, d, k],
                )
                length = math.sqrt(along * along + across * across)
                # With an angle opposite to the mean, and at it; what is known is between.
                first = _grid_end(
                    concentrations, log_i0, n + 1.0, abs(length - 1.0), -1, first, faintest
                )
                last = _grid_end(concentrations, log_i0, n + 1.0, length + 1.0, 1, first, faintest)
                used = first, last + 1
                lengths[0] = length
                _log_sums(np.int64(1), concentrations, log_i0, n, used, bessel, room)
                known = totals[0] + math.log(2.0 * math.pi)
                for begin in range(units[u], units[u + 1], lengths.size):
                    n_angles = min(lengths.size, units[u + 1] - begin)
                    for t in range(n_angles):
                        cosine = along + vectors[begin + t, d]
                        sine = across + vectors[begin + t, n_columns + d]
                        lengths[t] = math.sqrt(cosine * cosine + sine * sine)
                    _log_sums(n_angles, concentrations, log_i0, n + 1.0, used, bessel, room)
                    for t in range(n_angles):
                        if observed[begin + t, d]:
                            scores[begin + t, k] += totals[t] - known
