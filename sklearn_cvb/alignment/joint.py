"""Two models, one of either direction, that learn to agree (Liang, Taskar and Klein 2006)."""

from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_cvb.alignment.links import agreement
from sklearn_cvb.alignment.reading import read_pairs
from sklearn_cvb.estimators.base_alignment import BaseAlignmentHMM
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.reading.validation import check_counts

Fitted = tuple[BaseAlignmentHMM, BaseAlignmentHMM]


def fit_agreeing(estimator: Any, X: Any, *, n_rounds: int = 5) -> Fitted:
    """Fit a model of either direction, both of which begin where the two agree.

    Both models sweep once from `init` of the estimator. Then, in each round, both begin anew from
    the products of both directions' link posteriors and sweep once; after the last round they
    sweep as often as the estimator says. So each stays a model of its own direction.

    Parameters
    ----------
    estimator : EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM or GibbsAlignmentHMM
        Is cloned, and stays as it is. Its `max_iter` is the number of sweeps in the last round;
        with 1, as on the published page, nothing follows the last agreement but a sweep.
    X : list of (source tokens, target tokens)
    n_rounds : int, default=5
        How often both are brought together.

    Returns
    -------
    forward : estimator
        Fitted to the pairs.
    backward : estimator
        Fitted to the pairs turned round.

    Examples
    --------
    >>> from sklearn_cvb import CVBAlignmentHMM, fit_agreeing, symmetrize
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> forward, backward = fit_agreeing(CVBAlignmentHMM(max_iter=1), X)
    >>> symmetrize(forward.link_proba_, backward.link_proba_, "product")[0]
    [(0, 0), (1, 1)]
    """
    if not isinstance(estimator, BaseAlignmentHMM):
        raise TypeError(f"estimator is {short_repr(estimator)}: give a model of word alignment")
    check_counts(n_rounds=n_rounds)
    sides = read_pairs(X)
    words = [np.split(np.arange(len(side.tokens)), side.starts[1:-1]) for side in sides]
    source, target = (
        [[side.tokens[i] for i in sentence] for sentence in part]
        for side, part in zip(sides, words, strict=True)
    )
    pairs = list(zip(source, target, strict=True)), list(zip(target, source, strict=True))
    models: list[Any] = [
        clone(estimator).set_params(max_iter=1, warm_start=False, checkpoint=None) for _ in pairs
    ]
    for done in range(n_rounds + 1):
        if done == n_rounds:
            for model in models:
                model.set_params(max_iter=estimator.max_iter)
        for model, ours in zip(models, pairs, strict=True):
            model.fit(ours)
        if done < n_rounds:
            starts = agreed(models[0].link_proba_, models[1].link_proba_)
            for model, start in zip(models, starts, strict=True):
                model.set_params(init=start)
    for model in models:
        # It would be kept, and pickled, with the model.
        model.set_params(init=estimator.init)
    return models[0], models[1]


def agreed(forward: np.ndarray, backward: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Products of the link posteriors of both directions, each with its own of no source."""
    found: tuple[list[Any], list[Any]] = [], []
    for i, (one, other) in enumerate(zip(forward, backward, strict=True)):
        products = agreement(one, other, i).astype(np.float64) ** 2
        for part, table, own in zip(found, (products.T, products), (one, other), strict=True):
            joined = np.column_stack([table, own[:, -1]])
            totals = joined.sum(axis=1, keepdims=True)
            part.append(np.where(totals > 0, joined / np.where(totals > 0, totals, 1.0), own))
    return found
