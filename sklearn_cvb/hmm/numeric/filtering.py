"""What is known of each step of a sequence as it unfolds: p(z_t | x_1..t)."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.hmm.numeric.expectation import (
    SMALLEST_STEP,
    Chain,
    Found,
    alone_in,
    forward_logs,
    is_small,
    logs_with_ends,
    pass_over,
    runs_of,
    weights_of,
)
from sklearn_cvb.kernels.chain.steps import forward_steps, room_for_steps


class Filtered(NamedTuple):
    """What is known of each step as its sequence unfolds.

    Attributes
    ----------
    message : ndarray of shape (n_steps, K)
        p(z_t | x_1..t).
    log_z : ndarray of shape (n_sequences,)
    logs : dict
        By sequence: log messages of those that leave the range of float64.
    """

    message: np.ndarray
    log_z: np.ndarray
    logs: dict[int, np.ndarray]

    def log_message(self, starts: np.ndarray) -> np.ndarray:
        """log p(z_t | x_1..t) without underflow."""
        with np.errstate(divide="ignore"):
            found = np.log(self.message)
        for i, own in self.logs.items():
            found[starts[i] : starts[i + 1]] = own
        return found


def filtered(
    chain: Chain,
    scores: Any,
    starts: np.ndarray,
    units: np.ndarray | None = None,
    *,
    every_step: bool = False,
) -> Filtered:
    """Forward messages p(z_t | x_1..t) of all steps, and log Z of the sequences.

    `units` are those of the chain's tables, where they have more than one. A state that underflows
    and comes back is seen if it matters for log Z, and with `every_step` for any message.
    """
    units = starts if units is None else units
    weights, largest = weights_of(chain, scores, starts, units)
    message, log_z = np.empty_like(weights), np.empty(len(starts) - 1)
    room, part = room_for_steps(weights.shape[1]), (np.empty(len(weights)), message, log_z)
    forward_steps(chain.start, chain.transition, weights, starts, units, room, part)
    log_z[_underflown(chain, weights, starts, units, message, every_step)] = np.nan
    lost = np.flatnonzero(np.isnan(log_z))
    log_z += np.add.reduceat(largest, starts[:-1])
    logs = logs_with_ends(chain, scores, starts, units) if len(lost) else np.empty(0)
    by_sequence = {}
    for i in lost.tolist():
        steps = slice(starts[i], starts[i + 1])
        by_sequence[i], _, log_z[i] = forward_logs(alone_in(chain, units, steps), logs[steps])
        message[steps] = np.exp(by_sequence[i])
    return Filtered(message, log_z, by_sequence)


def _underflown(
    chain: Chain,
    weights: np.ndarray,
    starts: np.ndarray,
    units: np.ndarray,
    message: np.ndarray,
    every_step: bool,
) -> np.ndarray:
    """Whether a state of each sequence underflows that may matter further on."""
    if chain.transition.min() > SMALLEST_STEP:
        # Steps from other states bring back more than what is lost.
        return np.zeros(len(starts) - 1, bool)
    small = is_small(message, starts)
    if every_step or not small.any():
        return small
    # Messages that go back from the end tell what matters.
    pairs = np.empty((1, *chain.transition.shape[1:]))
    found = Found(np.empty_like(weights), pairs, np.zeros(len(small)))
    for first, last in runs_of(small):
        pass_over(chain, weights, starts, units, found, first, last)
    return np.isnan(found.log_z)
