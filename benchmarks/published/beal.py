"""How Beal (2003) starts his algorithms: ML from uniform draws, MAP and VB where ML ended."""

import copy

import numpy as np

from sklearn_cvb import EMHMM, HMMCounts, Symbols

# Strength of the first Dirichlet posterior around the ML parameters.
STRENGTH = 10.0


def maximum_likelihood(X, n_states, vocabulary, seed, max_iter, tol):
    """EM from probabilities drawn uniformly and normalised.

    `tol`: nats per token.
    """
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
    return model.set_params(init=start, max_iter=max_iter, tol=tol).fit(X)


def with_counts(model, counts):
    """A copy of a fitted model with other counts, for others to start from."""
    start = copy.copy(model)
    start.counts_ = counts
    return start


def mean_with_strength(model, strength=STRENGTH):
    """A start whose counts are a model's parameters times a strength; VB adds its prior."""
    tables = model.startprob_, model.transmat_, model.emissionprob_.T
    return with_counts(model, HMMCounts(*(strength * table for table in tables)))
