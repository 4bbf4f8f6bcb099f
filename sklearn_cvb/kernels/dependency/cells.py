"""Which cell and row each part of a sentence's tree uses, and its weight: the posterior mean."""

from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD
from sklearn_cvb.kernels.jit import jit_inline


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
def mean(tally, cell, row):
    """The posterior mean of a cell; rounding never takes a count below 0."""
    above = max(tally.sums.cells[cell], 0.0) + tally.prior[cell]
    return above / (max(tally.sums.totals[row], 0.0) + tally.prior_totals[row])
