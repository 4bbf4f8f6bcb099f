"""When a fit is done: half of its sweeps moved no counts, and it comes back when it is disturbed.

An objective that stands still says little: where it is flat, labels go on changing. What is
compared are expected counts, after so many sweeps and after half as many. Each is a sum over
tokens, so that half of what they differ by is the share of the tokens that have moved: the total
variation between the posteriors of a token, on average, as far as these do not change places. A fit
on a saddle does not move either. So it is disturbed once before it is called done, and has to come
back.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning.model import Fit, Model, State, mapped

# The first look from which a fit may end; each later one comes after 1.41 times as many sweeps.
_FIRST = 10
# Before that it ends where nothing moves at all: all states are known.
_NOTHING = 1e-12
# So many sweeps a disturbed fit has to come back, and after so many its distance counts.
_SWEEPS_BACK, _SETTLED = 20, 2


class Rule(NamedTuple):
    """When a restart has converged.

    Attributes
    ----------
    tol : float
        The largest share of the tokens that may move (0: never converged).
    model : Model
        Says how many tokens there are.
    n_resting : int
        Sweeps in which something still waits to be learned: none of them is looked at.
    disturbed : callable
        ``disturbed(state)``: the counts of a disturbed copy of a state after each sweep, without
        end; None where there can be no copy.
    """

    tol: float
    model: Model
    n_resting: int = 0
    disturbed: Callable[[State], Iterator[Any] | None] = lambda state: None


def looked_at(fit: Fit, rule: Rule, stops: Callable[[], bool] = lambda: False) -> Fit:
    """The fit after one more sweep, with whether it has converged, if it is time to look.

    `stops` tells whether the user has asked to stop.
    """
    if not (rule.tol and _is_time(len(fit.history) - rule.n_resting)):
        return fit
    now = deepcopy(fit.state.counts)
    looks = (*fit.looks, now)
    if len(looks) < 3:
        return fit._replace(looks=looks)
    distance = moved(looks[0], now, rule.model.n_observed)
    tol = rule.tol if len(fit.history) - rule.n_resting >= _FIRST else _NOTHING
    converged = distance < tol and _comes_back(fit.state, now, rule, stops)
    return fit._replace(looks=looks[-2:], distance=distance, converged=converged)


def _is_time(n_sweeps: int) -> bool:
    """Whether n sweeps are 1, 2, 4, 5, 7, 10, 14, 20, 28, ...: every second doubles."""
    if n_sweeps < 1:
        return False
    nearest = round(2.0 * np.log2(n_sweeps / _FIRST))
    return n_sweeps == round(_FIRST * 2.0 ** (nearest / 2.0))


def moved(before: Any, now: Any, n_observed: float) -> float:
    """The largest share of the tokens that any row of counts says has moved."""
    rows = [0.0]
    mapped(
        lambda one, other: rows.append(np.abs(one - other).sum(axis=-1).max(initial=0.0)),
        before,
        now,
    )
    return 0.5 * float(max(rows)) / n_observed


def _comes_back(state: State, counts: Any, rule: Rule, stops: Callable[[], bool]) -> bool:
    """Whether a disturbed copy of the state comes back to its counts; True if there is no copy."""
    sweeps = rule.disturbed(state)
    if sweeps is None:
        return True
    settled = np.inf
    for n_sweeps, now in enumerate(islice(sweeps, _SWEEPS_BACK), 1):
        if stops():
            return False
        distance = moved(counts, now, rule.model.n_observed)
        if n_sweeps == _SETTLED:
            settled = distance
        if n_sweeps >= _SETTLED and distance < max(rule.tol, 0.5 * settled):
            return True
    return False
