"""Which cells (parameters) and rows (distributions) a dependency tree uses, and their posterior
means. Arcs lead from head to child; a choice is to stop or to go on at a side of a head; the row of
an arc may be mixed with a coarse row that it backs off to.

Attachments may back off (Headden, Johnson and McClosky 2009): each comes from its own row of cells
or from a coarse one. Which of the two is one more hidden variable of every arc, so that an arc's
weight is a sum, and its expected count has two parts. Arcs may be weighted beside: what is known of
them multiplies their weights, from whichever row they come, and is no parameter. What is given None
for `coarse` or `arc_weights` does nothing, and is compiled to nothing.
"""

from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD
from sklearn_cvb.kernels.jit import jit_called, jit_inline


@jit_inline
def row_of_choice(sentences, token, side_and_valence):
    """The row in which a tag stops or goes on."""
    return 2 * sentences.n_types * sentences.n_valences + 1 + 4 * token + side_and_valence


@jit_inline
def cell_of_choice(sentences, token, choice):
    """The cell of a choice 4 d + 2 v + (0 stop, 1 go) of a tag."""
    n = sentences.n_types
    return (2 * n * sentences.n_valences + 1) * n + 8 * token + choice


@jit_inline
def row_of_arc(sentences, first, head, child, valence):
    """The row of an arc between two tokens of the sentence that begins at `first`."""
    row = (2 * sentences.token[first + head] + (child > head)) * sentences.n_valences + valence
    if head == child:
        row = 2 * sentences.n_types * sentences.n_valences
    return row


@jit_inline
def row_of_mixture(sentences, row):
    """The row that says whether an attachment comes from its own row or from a coarse one."""
    return row_of_choice(sentences, sentences.n_types, 0) + row


@jit_inline
def cell_of_mixture(sentences, row):
    """The cell of a row's own component; that of the coarse one follows."""
    return cell_of_choice(sentences, sentences.n_types, 0) + 2 * row


@jit_inline
def row_of_coarse(sentences, coarse_row):
    """The row of totals of a coarse row."""
    return row_of_mixture(sentences, 2 * sentences.n_types * sentences.n_valences) + coarse_row


@jit_inline
def cell_of_coarse(sentences, coarse_row, token):
    """The cell of a tag in a coarse row."""
    n = sentences.n_types
    return cell_of_mixture(sentences, 2 * n * sentences.n_valences) + coarse_row * n + token


@jit_inline
def arcs_of(n, n_valences, valence):
    """Where the arcs of a valence begin in the weights, or the share, of n tokens."""
    return n * (n + 8) * (n_valences - 1 - valence)


@jit_inline
def coarse_arcs_of(n, n_valences, valence):
    """Where their parts from coarse rows begin."""
    return n * (n + 8) + n * n * (2 * (n_valences - 1) - valence)


@jit_inline
def is_possible(sentences, first, head, child):
    """Whether an arc, or for head = child a root, agrees with the head that is known."""
    known = sentences.head[first + child]
    return known == UNKNOWN_HEAD or known == (0 if head == child else head + 1)


@jit_inline
def posterior_mean(tally, cell, row):
    """The posterior mean of a cell; rounding never takes a count below 0."""
    above = max(tally.sums.cells[cell], 0.0) + tally.prior[cell]
    return above / (max(tally.sums.totals[row], 0.0) + tally.prior_totals[row])


@jit_called
def mix_arc_weights(sentences, tally, weight, i, power, coarse):
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
                        row = row_of_arc(sentences, first, h, c, valence)
                        tag = sentences.token[first + c]
                        cell, below = (
                            cell_of_mixture(sentences, row),
                            row_of_mixture(sentences, row),
                        )
                        general = posterior_mean(tally, cell + 1, below) * posterior_mean(
                            tally,
                            cell_of_coarse(sentences, coarse[row], tag),
                            row_of_coarse(sentences, coarse[row]),
                        )
                        own = posterior_mean(tally, cell, below)
                        if power != 1.0:
                            own **= power
                            general **= power
                        weight[arcs + x] = own * weight[arcs + x] + general
                        if weight[arcs + x] > 0.0:
                            share = general / weight[arcs + x]
                    weight[parts + x] = share


@jit_called
def apply_arc_weights(sentences, weight, i, arc_weights):
    """Multiply the weights of the arcs of a sentence by what is known of them."""
    if arc_weights is not None:
        first, n_valences = sentences.starts[i], sentences.n_valences
        n = sentences.starts[i + 1] - first
        for valence in range(n_valences):
            at = arcs_of(n, n_valences, valence)
            for h in range(n):
                for c in range(n):
                    row = row_of_arc(sentences, first, h, c, 0) // n_valences
                    weight[at] *= arc_weights[row, sentences.token[first + c]]
                    at += 1


@jit_called
def write_coarse_counts(sentences, weight, count, i, at, coarse):
    """Write which part of each arc's count comes from a coarse row, in a share that begins at `at`.

    The weights are those that `mix_arc_weights` has left.
    """
    if coarse is not None:
        n, n_valences = sentences.starts[i + 1] - sentences.starts[i], sentences.n_valences
        for valence in range(n_valences):
            arcs, parts = arcs_of(n, n_valences, valence), coarse_arcs_of(n, n_valences, valence)
            for x in range(n * n):
                count[at + parts + x] = count[at + arcs + x] * weight[parts + x]


@jit_called
def move_coarse_counts(sentences, sums, shares, i, sign, coarse):
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
                        row = row_of_arc(sentences, first, h, c, valence)
                        tag = sentences.token[first + c]
                        sums.cells[row * n_types + tag] -= general
                        sums.totals[row] -= general
                        cell = cell_of_mixture(sentences, row)
                        sums.cells[cell] += count - general
                        sums.cells[cell + 1] += general
                        sums.totals[row_of_mixture(sentences, row)] += count
                        sums.cells[cell_of_coarse(sentences, coarse[row], tag)] += general
                        sums.totals[row_of_coarse(sentences, coarse[row])] += general


@jit_called
def list_component(sentences, used, row, size, is_coarse, coarse):
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


@jit_called
def weigh_sentence(sentences, tally, weight, i, power):
    """Write the weights of all arcs and choices of a sentence: posterior means, to a power.

    Arcs are multiplied by what is known of them; those that disagree with a known head have weight
    0.
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
                    weight[at] = posterior_mean(tally, cell, row)
                at += 1
    at = n * n
    for h in range(n):
        token = sentences.token[first + h]
        for x in range(8):
            cell = cell_of_choice(sentences, token, x)
            weight[at] = posterior_mean(tally, cell, row_of_choice(sentences, token, x // 2))
            at += 1
    if power != 1.0:
        for x in range(n * (n + 8) + (n_valences - 1) * n * n):
            weight[x] **= power
    mix_arc_weights(sentences, tally, weight, i, power, sentences.coarse)
    apply_arc_weights(sentences, weight, i, sentences.arc_weights)
    weight[weight.size - 1] = 0.0
