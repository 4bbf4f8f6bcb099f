"""How Beal (2003) starts his algorithms: ML from uniform draws, MAP and VB where ML ended."""

import copy
from typing import NamedTuple

import numpy as np

from sklearn_cvb import EMHMM, HMMCounts, Symbols

# Strength of the first Dirichlet posterior around the ML parameters.
STRENGTH = 10.0
# Sweeps between two looks at whether the objective still changes.
_STEP = 10


class Swept(NamedTuple):
    """A fitted model, and its objective sweep by sweep until one hardly changed it."""

    model: object
    history: np.ndarray
    converged: bool


def swept(model, X, least, most):
    """Fit until a sweep changes the objective by less than `least`, in `most` sweeps.

    The rule of the thesis, not that of `tol`. The model may have up to nine sweeps more.
    """
    model.set_params(tol=0, max_iter=_STEP, warm_start=True)
    history = np.empty(0)
    for _ in range(0, most, _STEP):
        history = np.append(history, model.fit(X).history_)
        small = np.flatnonzero(np.abs(np.diff(history)) < least)
        if small.size:
            return Swept(model, history[: small[0] + 2], True)
    return Swept(model, history, False)


def maximum_likelihood(X, n_states, vocabulary, seed):
    """EM to be fitted, from probabilities drawn uniformly and normalised; its sweeps are plain."""
    rng = np.random.default_rng(seed)
    model = EMHMM(
        n_states,
        emission=Symbols(vocabulary=list(vocabulary), handle_unknown="error"),
        max_iter=1,
        random_state=0,
    ).fit(X)
    drawn = HMMCounts(
        rng.random(n_states),
        rng.random((n_states, n_states)),
        rng.random((n_states, len(model.vocabulary_))).T,
    )
    sums = drawn.start.sum(), drawn.transition.sum(axis=1)[:, None], drawn.emission.sum(axis=0)
    start = with_counts(model, HMMCounts(*map(np.divide, drawn, sums)))
    return model.set_params(init=start)


def with_counts(model, counts):
    """A copy of a fitted model with other counts, for others to start from."""
    start = copy.copy(model)
    start.counts_ = counts
    return start


def mean_with_strength(model, strength=STRENGTH):
    """A start whose counts are a model's parameters times a strength; VB adds its prior."""
    tables = model.startprob_, model.transmat_, model.emissionprob_.T
    return with_counts(model, HMMCounts(*(strength * table for table in tables)))
