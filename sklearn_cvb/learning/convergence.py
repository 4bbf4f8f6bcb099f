"""Convergence: half of the sweeps moved no expected counts, and no disturbed copy comes higher.

An objective that stands still says little: where it is flat, labels go on changing. What is
compared are expected counts, now and after half as many sweeps. Each is a sum over
tokens, so that half of what they differ by is the share of the tokens that have moved: the total
variation between the posteriors of a token, on average, as far as these do not change places. A fit
on a saddle does not move either. So a copy of it is disturbed once before it is called done. Where
no sweep lowers the objective (EM, VB), a copy that comes higher than the fit has found a way up:
the fit goes on from there. Where it may fall, the copy has to come back.

Neither shows a count of nearly nothing that grows sweep by sweep: EM of dependencies may stand
still to the last digit while one goes from 1e-107 to 1e-56, and be two nats higher once it has come
up. Where nothing is to come none doubles. So such counts are looked for, too.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.learning.model import Fit, Learnable, State, map_arrays

# The first look from which a fit may end; each later one comes after 1.41 times as many sweeps.
_FIRST = 10
# Before that it ends where nothing moves at all: all states are known.
_NOTHING = 1e-12
# A copy's distance counts after this many sweeps; where it has to come back it must be on its way
# after this many; and it has this many at most.
_SETTLED, _ON_ITS_WAY, _SWEEPS_OF_COPY = 2, 20, 100
# Counts too small for any share to show grow where there are so many times more of them, or as soon
# as each sweep makes them so much larger; so many tokens may follow each.
_HIDDEN, _GROWN, _GROWN_A_SWEEP, _FOLLOWERS = 1e-3, 2.0, 1.1, 2.0
# Nats by which a copy is higher at once; in its last sweep anything beyond rounding counts, as
# some saddles are left slowly.
_HIGHER, _ROUNDING = 1e-3, 1e-9

# The states of a disturbed copy and their values, sweep after sweep, without end.
Copy = Iterator[tuple[State, float]]


class Comparable(Learnable, Protocol):
    """Required where a fit is to end by itself."""

    def counts_of_tokens(self, counts: Any) -> Any:
        """Of counts those that say what tokens do: they are compared."""


class StoppingRule(NamedTuple):
    """Tolerance and model by which a restart has converged.

    Attributes
    ----------
    tol : float
        The largest share of the tokens that may move (0: never converged).
    model : Comparable
        Says how many tokens there are.
    n_warm_up : int
        Sweeps in which something still waits to be learned: none of them is looked at.
    disturbed_copy : callable
        ``disturbed_copy(state)``: a disturbed copy of a state; None where there can be none.
    never_falls : bool
        Whether no sweep lowers its value: the higher of two states is the better one.
    max_iter : float
        Sweeps that a restart may have, those of a copy that it goes on from among them.
    patience : int
        Where the best sweep is kept: a restart ends after so many without a better one.
    """

    tol: float
    model: Comparable
    n_warm_up: int = 0
    disturbed_copy: Callable[[State], Copy | None] = lambda state: None
    never_falls: bool = False
    max_iter: float = np.inf
    patience: int = 0


def check_convergence(
    fit: Fit, rule: StoppingRule, stops: Callable[[], bool] = lambda: False
) -> Fit:
    """The fit after one more sweep, with whether it has converged, if it is time to look.

    `stops` tells whether the user has asked to stop.
    """
    if rule.tol and rule.patience:
        best = len(fit.history) - 1 - int(np.argmax(fit.history))
        return fit._replace(converged=best >= rule.patience)
    if not (rule.tol and _is_check_due(len(fit.history) - rule.n_warm_up)):
        return fit
    now = deepcopy(rule.model.counts_of_tokens(fit.state.counts))
    looks = (*fit.checked_counts, now)
    if len(looks) < 3:
        return fit._replace(checked_counts=looks)
    distance = share_moved(looks[0], now, rule.model.n_observed)
    n_sweeps = len(fit.history) - rule.n_warm_up
    is_early = n_sweeps < _FIRST
    # Counts that are no numbers have not stood still.
    moves = not distance < (_NOTHING if is_early else rule.tol)
    if moves or (rule.never_falls and _grows(looks[0], now, n_sweeps, rule)):
        # A small share is no news before the first look that may end a fit.
        share = None if is_early and distance < rule.tol else distance
        return fit._replace(checked_counts=looks[-2:], share_moved=share)
    copy = rule.disturbed_copy(fit.state)
    if copy is None:
        return fit._replace(checked_counts=looks[-2:], share_moved=distance, converged=True)
    return _check_disturbed_copy(fit, looks, distance, copy, rule, stops)


def _is_check_due(n_sweeps: int) -> bool:
    """Whether n sweeps are 1, 2, 4, 5, 7, 10, 14, 20, 28, ...: every second doubles."""
    if n_sweeps < 1:
        return False
    nearest = round(2.0 * np.log2(n_sweeps / _FIRST))
    return n_sweeps == round(_FIRST * 2.0 ** (nearest / 2.0))


def share_moved(before: Any, now: Any, n_observed: float) -> float:
    """The largest share of the tokens that any row of counts says has moved."""
    rows = [0.0]
    map_arrays(
        lambda one, other: rows.append(np.abs(one - other).sum(axis=-1).max(initial=0.0)),
        before,
        now,
    )
    return 0.5 * float(np.max(rows)) / n_observed


def _grows(before: Any, now: Any, n_sweeps: int, rule: StoppingRule) -> bool:
    """Whether counts of nearly nothing grow that a share of the tokens may follow."""
    factor = min(_GROWN, _GROWN_A_SWEEP ** (n_sweeps / 2))
    statistics = rule.model.statistics
    if statistics:
        # These may have any sign, and be nothing but rounding.
        before, now = (one._replace(**dict.fromkeys(statistics, ())) for one in (before, now))
    growing = [0]

    def count(one: np.ndarray, other: np.ndarray) -> None:
        growing.append(int(np.count_nonzero((one < _HIDDEN) & (other > factor * one))))

    map_arrays(count, before, now)
    return _FOLLOWERS * sum(growing) >= rule.tol * rule.model.n_observed


def _check_disturbed_copy(
    fit: Fit,
    looks: tuple[Any, ...],
    distance: float,
    copy: Copy,
    rule: StoppingRule,
    stops: Callable[[], bool],
) -> Fit:
    """A fit in which nothing moves, after what its disturbed copy tells."""
    model, settled = rule.model, np.inf
    for n_sweeps, (state, value) in enumerate(islice(copy, _SWEEPS_OF_COPY), 1):
        if stops():
            return fit._replace(check_broken_off=True)
        away = share_moved(looks[-1], model.counts_of_tokens(state.counts), model.n_observed)
        if n_sweeps == _SETTLED:
            settled = away
        if n_sweeps >= _SETTLED and away < max(rule.tol, 0.5 * settled):
            return fit._replace(checked_counts=looks[-2:], share_moved=distance, converged=True)
        if n_sweeps == _ON_ITS_WAY and away > 0.9 * settled and not rule.never_falls:
            break
        if rule.never_falls and _is_higher(state, value, fit, n_sweeps):
            if len(fit.history) + n_sweeps > rule.max_iter:
                return fit._replace(check_broken_off=True)
            # It stood still while its copy swept.
            history = [*fit.history, *[fit.history[-1]] * (n_sweeps - 1), value]
            return fit._replace(state=state, history=history, checked_counts=(), share_moved=away)
    return fit._replace(checked_counts=looks[-2:], share_moved=distance, converged=rule.never_falls)


def _is_higher(state: State, value: float, fit: Fit, n_sweeps: int) -> bool:
    """Whether a copy is better than the fit, and not for what it leaves unexplained."""
    least = _HIGHER
    if n_sweeps == _SWEEPS_OF_COPY:
        least = min(least, _ROUNDING * abs(fit.history[-1]))
    explains_all = len(state.unexplained) <= len(fit.state.unexplained)
    return explains_all and fit.history[-1] + least < value < np.inf
