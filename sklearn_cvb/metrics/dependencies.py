"""Accuracy of dependency trees: heads, arcs without direction, neutral edge direction."""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn_cvb.reading.corpus import is_missing


def directed_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of the tokens whose head is right.

    Parameters
    ----------
    y_true : list of sequences of int
        For each sentence the position of each token's head, from 1; 0 for the root. None or -1
        where it is not known: these tokens are left out.
    y_pred : list of sequences of int
        Predicted heads.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If lengths differ, or no head is known.

    Examples
    --------
    >>> from sklearn_cvb.metrics import directed_accuracy
    >>> directed_accuracy([[2, 0, 2], [0]], [[2, 3, 0], [0]])
    0.5
    """
    return _share(y_true, y_pred, lambda t, gold, found: found[t] == gold[t])


def undirected_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of the tokens joined to their heads, whichever of the two is taken for the head.

    Parameters
    ----------
    y_true, y_pred : list of sequences of int
        As for `directed_accuracy`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If lengths differ, or no head is known.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.

    Examples
    --------
    >>> from sklearn_cvb.metrics import undirected_accuracy
    >>> undirected_accuracy([[2, 0, 2], [0]], [[2, 3, 0], [0]])
    0.75
    """
    return _share(y_true, y_pred, _is_linked)


def neutral_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of the tokens whose predicted head is its head, its child, or its head's head.

    Neutral edge direction (NED): the last two are what is left of a right arc when the conventions
    of an annotation turn it, or its head's, round.

    Parameters
    ----------
    y_true, y_pred : list of sequences of int
        As for `directed_accuracy`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If lengths differ, or no head is known.

    References
    ----------
    Schwartz, Abend, Reichart and Rappoport (2011), "Neutralizing linguistically problematic
    annotations in unsupervised dependency parsing evaluation", ACL.

    Examples
    --------
    >>> from sklearn_cvb.metrics import neutral_accuracy
    >>> neutral_accuracy([[2, 0, 2], [2, 3, 0]], [[2, 3, 0], [0, 1, 2]])
    0.8333333333333334
    """

    def near(t: int, gold: Sequence[Any], found: Sequence[Any]) -> bool:
        grandparent = gold[gold[t] - 1] if gold[t] > 0 else None
        return _is_linked(t, gold, found) or (grandparent is not None and found[t] == grandparent)

    return _share(y_true, y_pred, near)


def _is_linked(t: int, gold: Sequence[Any], found: Sequence[Any]) -> bool:
    """Whether the predicted head of a token is its head or its child."""
    head = found[t]
    return bool(head == gold[t] or (head > 0 and gold[head - 1] == t + 1))


def _share(
    y_true: Sequence[Any],
    y_pred: Sequence[Any],
    is_right: Callable[[int, Sequence[Any], Sequence[Any]], bool],
) -> float:
    """Share of the tokens with a known head that are right."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true holds {len(y_true)} sentences but y_pred {len(y_pred)}")
    n_right = n_known = 0
    for i, (gold, found) in enumerate(zip(y_true, y_pred, strict=True)):
        if gold is None:
            continue
        if len(gold) != len(found):
            raise ValueError(f"sentence {i} has {len(gold)} heads but {len(found)} predicted ones")
        known = [t for t, head in enumerate(gold) if not is_missing(head) and head >= 0]
        n_known += len(known)
        n_right += sum(bool(is_right(t, gold, found)) for t in known)
    if not n_known:
        raise ValueError("y_true holds no known head")
    return n_right / n_known
