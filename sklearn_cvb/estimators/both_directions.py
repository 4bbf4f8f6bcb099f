"""Word alignment by two models, one of either direction: fits that start where both agree, and
links of both joined ("grow-diag", products of posteriors).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_cvb.alignment.links import Link, links_from
from sklearn_cvb.alignment.reading import read_pairs
from sklearn_cvb.estimators.base_alignment import BaseAlignmentHMM
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.reading.validation import check_choice, check_counts

_METHODS = "grow-diag-final-and", "intersection", "union", "product"
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))

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
            starts = product_posteriors(models[0].link_proba_, models[1].link_proba_)
            for model, start in zip(models, starts, strict=True):
                model.set_params(init=start)
    for model in models:
        # It would be kept, and pickled, with the model.
        model.set_params(init=estimator.init)
    return models[0], models[1]


def product_posteriors(forward: np.ndarray, backward: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Products of the link posteriors of both directions, each with its own of no source."""
    found: tuple[list[Any], list[Any]] = [], []
    for i, (one, other) in enumerate(zip(forward, backward, strict=True)):
        products = geometric_means(one, other, i).astype(np.float64) ** 2
        for part, table, own in zip(found, (products.T, products), (one, other), strict=True):
            joined = np.column_stack([table, own[:, -1]])
            totals = joined.sum(axis=1, keepdims=True)
            part.append(np.where(totals > 0, joined / np.where(totals > 0, totals, 1.0), own))
    return found


def symmetrize(
    forward: Sequence[Any],
    backward: Sequence[Any],
    method: str = "grow-diag-final-and",
    *,
    threshold: float = 0.3,
) -> list[list[Link]]:
    """Join the alignments of two models, one of either direction.

    Parameters
    ----------
    forward : sequence
        For each sentence pair what a model of (source, target) says: the source position of each
        target word, as `predict` gives it, links (source, target), or a table of link posteriors,
        as `predict_proba` gives it.
    backward : sequence
        The same of a model of (target, source): its links are (target, source).
    method : str, default="grow-diag-final-and"
        "intersection" or "union" of the links. "grow-diag-final-and" (Koehn, Och and Marcu 2003):
        the intersection; then links of the union beside a link, diagonally as well, of which a word
        has none yet; then links of which both words have none. "product": links whose posteriors
        have a geometric mean above `threshold`; needs tables.
    threshold : float, default=0.3
        Of the product, from 0 to 1.

    Returns
    -------
    list of list of tuple (source, target)
        Positions count from 0.

    Raises
    ------
    ValueError
        If numbers of pairs or shapes of tables differ, or the method is another one.
    TypeError
        If "product" is given something else than tables.

    References
    ----------
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.
    Liang, Taskar and Klein (2006), "Alignment by agreement", NAACL, for the product.

    Examples
    --------
    >>> from sklearn_cvb import symmetrize
    >>> symmetrize([[0, 0, 1]], [[0, 2]], "intersection")
    [[(0, 0), (1, 2)]]
    >>> symmetrize([[0, 0, 1]], [[0, 2]])
    [[(0, 0), (0, 1), (1, 2)]]
    """
    check_choice("method", method, _METHODS)
    if len(forward) != len(backward):
        raise ValueError(
            f"forward holds {len(forward)} sentence pairs but backward {len(backward)}"
        )
    found = []
    for i, (one, other) in enumerate(zip(forward, backward, strict=True)):
        if method == "product":
            means = geometric_means(one, other, i)
            links = list(zip(*map(np.ndarray.tolist, np.nonzero(means > threshold)), strict=True))
        else:
            ours = set(links_from(one, f"forward[{i}]"))
            theirs = {(a, b) for b, a in links_from(other, f"backward[{i}]")}
            links = list(_symmetrized(ours, theirs, method))
        found.append(sorted(links))
    return found


def geometric_means(forward: Any, backward: Any, i: int) -> np.ndarray:
    """Geometric means of the link posteriors of both directions."""
    for name, table in (("forward", forward), ("backward", backward)):
        if getattr(table, "ndim", 0) != 2:
            raise TypeError(
                f"{name}[{i}] is no table of link posteriors: give what predict_proba gives, or "
                "another method"
            )
    if forward.shape != (backward.shape[1] - 1, backward.shape[0] + 1):
        raise ValueError(
            f"forward[{i}] has shape {forward.shape}, which does not fit backward's "
            f"{backward.shape}: n_target x (n_source + 1) and n_source x (n_target + 1)"
        )
    return np.sqrt(forward[:, :-1].T * backward[:, :-1])


def _symmetrized(forward: set[Link], backward: set[Link], method: str) -> set[Link]:
    """Links of two directions by one of the methods that need no posteriors."""
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    found = forward & backward
    _grow_diagonally(found, forward | backward)
    # "Final": what is left of either direction, where both words have no link.
    for links in (forward, backward):
        for source, target in sorted(links):
            if all(source != a and target != b for a, b in found):
                found.add((source, target))
    return found


def _grow_diagonally(found: set[Link], union: set[Link]) -> None:
    """Add links of the union beside found ones, where a word has no link, until there is none."""
    sources, targets = ({link[k] for link in found} for k in range(2))
    waiting = sorted(found)
    while waiting:
        source, target = waiting.pop(0)
        for up, right in _NEIGHBOURS:
            link = source + up, target + right
            if link in union - found and not (link[0] in sources and link[1] in targets):
                found.add(link)
                sources.add(link[0])
                targets.add(link[1])
                waiting.append(link)
