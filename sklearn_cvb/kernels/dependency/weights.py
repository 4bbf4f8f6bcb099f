"""The weights of a sentence's arcs and choices: all that the charts know of parameters."""

from sklearn_cvb.kernels.dependency.backoff import mix
from sklearn_cvb.kernels.dependency.cells import (
    arcs_of,
    cell_of_choice,
    is_possible,
    mean,
    row_of_arc,
    row_of_choice,
)
from sklearn_cvb.kernels.jit import jit_called


@jit_called
def weigh(sentences, tally, weight, i, power):
    """Write the weights of all arcs and choices of a sentence, to a power.

    Arcs that disagree with a known head have weight 0.
    """
    first, n_valences = sentences.starts[i], sentences.n_valences
    n = sentences.starts[i + 1] - first
    for valence in range(n_valences):
        at = arcs_of(n, n_valences, valence)
        for h in range(n):
            for c in range(n):
                weight[at] = 0.0
                if is_possible(sentences, first, h, c) and (h != c or valence == n_valences - 1):
                    row = row_of_arc(sentences, first, h, c, valence)
                    cell = row * sentences.n_types + sentences.token[first + c]
                    weight[at] = mean(tally, cell, row)
                at += 1
    at = n * n
    for h in range(n):
        token = sentences.token[first + h]
        for x in range(8):
            cell = cell_of_choice(sentences, token, x)
            weight[at] = mean(tally, cell, row_of_choice(sentences, token, x // 2))
            at += 1
    if power != 1.0:
        for x in range(n * (n + 8) + (n_valences - 1) * n * n):
            weight[x] **= power
    mix(sentences, tally, weight, i, power, sentences.coarse)
    weight[weight.size - 1] = 0.0
