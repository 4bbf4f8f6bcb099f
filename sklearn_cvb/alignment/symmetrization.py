"""One alignment from those of both directions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_cvb.alignment.links import Link, links_of
from sklearn_cvb.reading.validation import check_choice

_METHODS = "grow-diag-final-and", "intersection", "union", "product"
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: Sequence,
    backward: Sequence,
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
            means = agreement(one, other, i)
            links = list(zip(*map(np.ndarray.tolist, np.nonzero(means > threshold)), strict=True))
        else:
            ours = set(links_of(one, f"forward[{i}]"))
            theirs = {(a, b) for b, a in links_of(other, f"backward[{i}]")}
            links = list(_joined(ours, theirs, method))
        found.append(sorted(links))
    return found


def agreement(forward: Any, backward: Any, i: int) -> np.ndarray:
    """Geometric means of the link posteriors of both directions.

    Parameters
    ----------
    forward : ndarray of shape (n_target, n_source + 1)
    backward : ndarray of shape (n_source, n_target + 1)
    i : int
        Number of the pair, for messages.

    Returns
    -------
    ndarray of shape (n_source, n_target)
    """
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


def _joined(forward: set[Link], backward: set[Link], method: str) -> set[Link]:
    """Links of two directions by one of the methods that need no posteriors."""
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    found = forward & backward
    _grow(found, forward | backward)
    # "Final": what is left of either direction, where both words have no link.
    for links in (forward, backward):
        for source, target in sorted(links):
            if all(source != a and target != b for a, b in found):
                found.add((source, target))
    return found


def _grow(found: set[Link], union: set[Link]) -> None:
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
