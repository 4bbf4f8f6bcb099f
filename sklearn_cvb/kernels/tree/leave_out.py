"""Leave out one sentence, infer its trees from the expected counts of all others, add it back.

Wang and Blunsom (2013), figure 3. One sweep for all forms of a grammar. It hands back to Python
what it cannot do: a sentence that float64 loses, and shares without room.
"""

import math

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.forms import count_rules, weigh_rules, weigh_sentence
from sklearn_cvb.kernels.tree.tallies import add_share


@jit_called
def _n_unary(unary):
    """Number of unary rules."""
    return 0 if unary is None else unary.cell.size


@jit_called
def _n_rules(forest, listed, i):
    """`n_rules_at_most` by the fields of a form."""
    n = 0
    if forest is not None:
        n = forest.rule_first[i + 1] - forest.rule_first[i]
    if listed is not None:
        starts = listed.terminals.starts
        n = listed.binary.cell.size + _n_unary(listed.unary) + starts[i + 1] - starts[i]
    return n


@jit_inline
def n_rules_at_most(form, i):
    """How many rules the share of sentence `i` may have."""
    return _n_rules(form.forest, form.listed, i)


@jit_inline
def _list_positive(cells, counts, span, shares, size):
    """Append the positive counts of a span to the shares and set them to 0.

    `span` is where the counts begin and end, and how much further on their cells are. Returns the
    new size.
    """
    at = size
    for r in range(span[0], span[1]):
        if counts[r] > 0.0:
            if cells[r + span[2]] >= 0:
                shares.cell[at] = cells[r + span[2]]
                shares.count[at] = counts[r]
                at += 1
            counts[r] = 0.0
    return at


@jit_called
def _list_unary(unary, shares, size):
    """`_list_positive` of the unary rules."""
    if unary is not None:
        size = _list_positive(unary.cell, unary.count, (0, unary.cell.size, 0), shares, size)
    return size


@jit_called
def _keep_table(tables, listed, i):
    """Move the counts of all children to the table of sentence `i`, or to the last one."""
    if tables is not None:
        count, r, row = listed.unary.count, 0, min(i, tables.shape[0] - 1)
        for part in range(tables.shape[1]):
            for child in range(tables.shape[2]):
                tables[row, part, child] = count[r]
                count[r] = 0.0
                r += 1


@jit_called
def _list_counts(forest, work, listed, tables, i, shares, size):
    """`list_counts` by the fields of a form."""
    if forest is not None:
        first = forest.rule_first[i]
        span = (0, forest.rule_first[i + 1] - first, first)
        size = _list_positive(forest.cell, work.count, span, shares, size)
    if listed is not None:
        binary, terminals = listed.binary, listed.terminals
        span = (0, binary.cell.size, 0)
        size = _list_positive(binary.cell, binary.count, span, shares, size)
        if tables is None:
            size = _list_unary(listed.unary, shares, size)
        span = (terminals.starts[i], terminals.starts[i + 1], 0)
        size = _list_positive(terminals.cell, terminals.count, span, shares, size)
    return size


@jit_inline
def list_counts(form, i, shares, size):
    """Append what has been counted in sentence `i` to the shares, and clear it.

    Returns the new size. Children in tables are not listed.
    """
    return _list_counts(form.forest, form.work, form.listed, shares.tables, i, shares, size)


@jit
def leave_out(form, tally, old, new, frozen, inferred, i, log_z):
    """Infer sentences from `i` on, each from the counts of all others, updated at once.

    Parameters
    ----------
    form : Form
    tally : Tally
        Counts of all sentences; changed in place, unless frozen.
    old, new : Shares
        What the sentences add before the sweep, and after it: `new` is written. Both may have the
        same tables.
    frozen : bool
        Whether the counts keep the old shares: with those of nobody an E-step, else a score.
    inferred : bool
        Whether sentence `i` has been inferred already, and its old share taken out.
    i : int
    log_z : ndarray of shape (n_sentences,)
        Receives the log normaliser of each Q(t_i), -inf for sentences without a tree.

    Returns
    -------
    int
        The next sentence. All are done; or there is no room for its share; or its `log_z` is NaN:
        then its old share is taken out, its weights are made, and it must be inferred with logs.
    """
    while i < log_z.size:
        if not inferred:
            if new.starts[i] + n_rules_at_most(form, i) > new.cell.size:
                break
            add_share(tally, old, i, -1.0)
            weigh_rules(form, tally, 1.0)
            weigh_sentence(form, tally, i, 1.0)
            log_z[i] = count_rules(form, i)
            if math.isnan(log_z[i]):
                break
        inferred = False
        new.starts[i + 1] = new.starts[i]
        if log_z[i] > -math.inf:
            new.starts[i + 1] = list_counts(form, i, new, new.starts[i])
        _keep_table(new.tables, form.listed, i)
        if frozen:
            add_share(tally, old, i, 1.0)
        else:
            add_share(tally, new, i, 1.0)
        i += 1
    return i
