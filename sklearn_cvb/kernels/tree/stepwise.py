"""Stepwise EM: new weights after every few sentences (Liang and Klein 2009).

After the k-th batch the running counts become (1 - eta) times themselves plus eta times the counts
that the batch would have if it were the whole corpus, with eta = (k + 2) ** -step_power. They are
kept divided by one number, so that forgetting a share of all of them changes this number alone,
and weights are made only for rules that the sentences can use. One sweep for all forms of a
grammar; it hands back to Python a sentence that float64 loses.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called
from sklearn_cvb.kernels.tree.forms import count_rules, weigh_rules, weigh_sentence
from sklearn_cvb.kernels.tree.leave_out import list_counts, n_rules_at_most
from sklearn_cvb.kernels.tree.tallies import add_count

# Below this the common divisor is multiplied out.
_SMALLEST_UNIT = 1e-200


class Steps(NamedTuple):
    """Sentences in the order of a sweep, and how far it is.

    Attributes
    ----------
    order : ndarray, int64
        Numbers of the sentences.
    batch_size : int
    power : float
    position, size, n_explained : ndarray of shape (1,), int64
        The next sentence in the order; rules listed of its batch, and sentences that have a tree.
    n_steps : ndarray of shape (1,), int64
        Batches so far, those of earlier sweeps included.
    """

    order: np.ndarray
    batch_size: int
    power: float
    position: np.ndarray
    size: np.ndarray
    n_explained: np.ndarray
    n_steps: np.ndarray


def steps_for(order: np.ndarray, batch_size: int, power: float, n_steps: int) -> Steps:
    """A sweep that has not begun, after so many steps."""
    position, size, n_explained = np.zeros((3, 1), np.int64)
    steps = np.array([n_steps], np.int64)
    return Steps(order, batch_size, power, position, size, n_explained, steps)


@jit_called
def _forget(tally, share):
    """Forget a share of all counts."""
    tally.unit[0] *= 1.0 - share
    if tally.unit[0] < _SMALLEST_UNIT:
        for cell in range(tally.cells.size):
            tally.cells[cell] *= tally.unit[0]
        for symbol in range(tally.totals.size):
            tally.totals[symbol] *= tally.unit[0]
        tally.unit[0] = 1.0


@jit_called
def _end_batch(tally, steps, shares):
    """Move the counts towards those of the batch."""
    if steps.n_explained[0] > 0:
        share = (steps.n_steps[0] + 2.0) ** -steps.power
        _forget(tally, share)
        factor = share * steps.order.size / steps.n_explained[0] / tally.unit[0]
        for x in range(steps.size[0]):
            add_count(tally, shares.cell[x], factor * shares.count[x])
        steps.n_steps[0] += 1
    steps.size[0] = 0
    steps.n_explained[0] = 0


@jit
def sweep_steps(form, tally, steps, shares, inferred, log_z):
    """Batch after batch, each under the weights that all before have left.

    Parameters
    ----------
    form : Form
    tally : Tally
        Running counts; changed in place.
    steps : Steps
        Says where to begin; changed in place.
    shares : Shares
        Room for the counts of a batch.
    inferred : bool
        Whether the first sentence has been inferred already.
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) of the sentences in `steps.order`, under the weights of the moment.

    Returns
    -------
    int
        The next position. All are done; or there is no room for what the sentence adds; or its
        `log_z` is NaN: then its weights are made, and it must be inferred with logs.
    """
    while steps.position[0] < steps.order.size:
        position = steps.position[0]
        i = steps.order[position]
        if not inferred:
            if steps.size[0] + n_rules_at_most(form, i) > shares.cell.size:
                break
            if position % steps.batch_size == 0:
                weigh_rules(form, tally, 1.0)
            weigh_sentence(form, tally, i, 1.0)
            log_z[i] = count_rules(form, i)
            if math.isnan(log_z[i]):
                break
        inferred = False
        if log_z[i] > -math.inf:
            steps.size[0] = list_counts(form, i, shares, steps.size[0])
            steps.n_explained[0] += 1
        steps.position[0] += 1
        if (position + 1) % steps.batch_size == 0 or position + 1 == steps.order.size:
            _end_batch(tally, steps, shares)
    return steps.position[0]
