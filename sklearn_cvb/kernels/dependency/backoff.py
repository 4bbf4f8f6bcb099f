"""Attachments that back off: each comes from its own row of cells or from a coarse one.

Headden, Johnson and McClosky (2009). Which of the two is one more hidden variable of every arc, so
that an arc's weight is a sum, and its expected count has two parts. What is given None for `coarse`
does nothing, and is compiled to nothing.
"""

from sklearn_cvb.kernels.dependency.cells import (
    arcs_of,
    cell_of_coarse,
    cell_of_mixture,
    coarse_arcs_of,
    is_possible,
    mean,
    row_of_arc,
    row_of_coarse,
    row_of_mixture,
)
from sklearn_cvb.kernels.jit import jit_called


@jit_called
def mix(sentences, tally, weight, i, power, coarse):
    """Replace the weights of arcs, given from own rows to a power, by those of both components.

    The coarse component's share in each follows the weights.
    """
    if coarse is not None:
        first, n_valences = sentences.starts[i], sentences.n_valences
        n = sentences.starts[i + 1] - first
        for valence in range(n_valences):
            arcs, parts = arcs_of(n, n_valences, valence), coarse_arcs_of(n, n_valences, valence)
            for h in range(n):
                for c in range(n):
                    x, share = h * n + c, 0.0
                    if h != c and is_possible(sentences, first, h, c):
                        row, tag = (
                            row_of_arc(sentences, first, h, c, valence),
                            sentences.token[first + c],
                        )
                        cell, below = (
                            cell_of_mixture(sentences, row),
                            row_of_mixture(sentences, row),
                        )
                        general = mean(tally, cell + 1, below) * mean(
                            tally,
                            cell_of_coarse(sentences, coarse[row], tag),
                            row_of_coarse(sentences, coarse[row]),
                        )
                        own = mean(tally, cell, below)
                        if power != 1.0:
                            own **= power
                            general **= power
                        weight[arcs + x] = own * weight[arcs + x] + general
                        if weight[arcs + x] > 0.0:
                            share = general / weight[arcs + x]
                    weight[parts + x] = share


@jit_called
def part(sentences, weight, count, i, at, coarse):
    """Write which part of each arc's count comes from a coarse row, in a share that begins at `at`.

    The weights are those that `mix` has left.
    """
    if coarse is not None:
        n, n_valences = sentences.starts[i + 1] - sentences.starts[i], sentences.n_valences
        for valence in range(n_valences):
            arcs, parts = arcs_of(n, n_valences, valence), coarse_arcs_of(n, n_valences, valence)
            for x in range(n * n):
                count[at + parts + x] = count[at + arcs + x] * weight[parts + x]


@jit_called
def move_parts(sentences, sums, shares, i, sign, coarse):
    """Move the coarse parts of a share that has been added with its own rows, and add the choices.

    The choices are those between own and coarse rows.
    """
    if coarse is not None:
        first, n_valences, n_types = sentences.starts[i], sentences.n_valences, sentences.n_types
        n = sentences.starts[i + 1] - first
        for valence in range(n_valences):
            arcs = shares.first[i] + arcs_of(n, n_valences, valence)
            parts = shares.first[i] + coarse_arcs_of(n, n_valences, valence)
            for h in range(n):
                for c in range(n):
                    if h != c:
                        count = sign * shares.count[arcs + h * n + c]
                        general = sign * shares.count[parts + h * n + c]
                        row, tag = (
                            row_of_arc(sentences, first, h, c, valence),
                            sentences.token[first + c],
                        )
                        sums.cells[row * n_types + tag] -= general
                        sums.totals[row] -= general
                        cell = cell_of_mixture(sentences, row)
                        sums.cells[cell] += count - general
                        sums.cells[cell + 1] += general
                        sums.totals[row_of_mixture(sentences, row)] += count
                        sums.cells[cell_of_coarse(sentences, coarse[row], tag)] += general
                        sums.totals[row_of_coarse(sentences, coarse[row])] += general


@jit_called
def name_component(sentences, used, row, size, is_coarse, coarse):
    """Let the arc listed last use the cells of its component; returns how many are added."""
    n_more = 0
    if coarse is not None:
        if is_coarse:
            tag = used[size - 1, 0] - row * sentences.n_types
            used[size - 1, 0] = cell_of_coarse(sentences, coarse[row], tag)
            used[size - 1, 1] = row_of_coarse(sentences, coarse[row])
        used[size, 0] = cell_of_mixture(sentences, row) + is_coarse
        used[size, 1] = row_of_mixture(sentences, row)
        n_more = 1
    return n_more
