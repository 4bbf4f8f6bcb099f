"""Links of words against gold ones: precision, recall, F1, alignment error rate."""

from collections.abc import Sequence
from typing import Any

from sklearn_cvb.alignment.links import links_from


def alignment_scores(
    y_true: Sequence[Any], y_pred: Sequence[Any], possible: Sequence[Any] | None = None
) -> tuple[float, float, float]:
    """Precision, recall and F1 of links, over all sentence pairs together.

    Parameters
    ----------
    y_true : sequence
        For each sentence pair its gold links (source, target), from 0: the sure ones, where there
        are possible ones as well.
    y_pred : sequence
        Predicted links, as `symmetrize` gives them, or source positions, as `predict` does.
    possible : sequence or None, default=None
        Links that are no mistake and need not be found; sure links are possible as well.
        ``read_pharaoh(lines, possible=True)`` reads them.

    Returns
    -------
    precision : float
        Share of predicted links that are possible.
    recall : float
        Share of sure links that are predicted.
    f1 : float
        Their harmonic mean.

    Raises
    ------
    ValueError
        If numbers of pairs differ, or there is no gold link.

    Examples
    --------
    >>> from sklearn_cvb.metrics import alignment_scores
    >>> alignment_scores([[(0, 0), (1, 1)]], [[(0, 0), (1, 0), (1, 1), (2, 1)]])
    (0.5, 1.0, 0.6666666666666666)
    """
    n_sure_found, n_possible_found, n_sure, n_found = _tallies(y_true, y_pred, possible)
    precision = n_possible_found / n_found if n_found else 0.0
    recall = n_sure_found / n_sure
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def alignment_f1(
    y_true: Sequence[Any], y_pred: Sequence[Any], possible: Sequence[Any] | None = None
) -> float:
    """F1 of links, the harmonic mean of precision and recall.

    Parameters
    ----------
    y_true, y_pred : sequence
    possible : sequence or None, default=None
        As for `alignment_scores`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_cvb.metrics import alignment_f1
    >>> alignment_f1([[(0, 0), (1, 1)]], [[0, 0]])
    0.5
    """
    return alignment_scores(y_true, y_pred, possible)[2]


def alignment_error_rate(
    y_true: Sequence[Any], y_pred: Sequence[Any], possible: Sequence[Any] | None = None
) -> float:
    """Alignment error rate (AER), which counts links that are missed and links that are wrong.

    1 - (predicted sure links + predicted possible links) / (predicted links + sure links).

    Parameters
    ----------
    y_true, y_pred : sequence
        Sure and predicted links, as for `alignment_scores`.
    possible : sequence or None, default=None
        Links that are no mistake; without any AER is 1 - F1.

    Returns
    -------
    float
        0 is best.

    References
    ----------
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.

    Examples
    --------
    >>> from sklearn_cvb.metrics import alignment_error_rate
    >>> alignment_error_rate([[(0, 0)]], [[(0, 0), (1, 1)]], possible=[[(1, 1)]])
    0.0
    """
    n_sure_found, n_possible_found, n_sure, n_found = _tallies(y_true, y_pred, possible)
    return 1.0 - (n_sure_found + n_possible_found) / (n_sure + n_found)


def _tallies(
    y_true: Sequence[Any], y_pred: Sequence[Any], possible: Sequence[Any] | None
) -> tuple[int, int, int, int]:
    """Links that are found of sure and of possible ones, sure links, and predicted links."""
    others = [()] * len(y_true) if possible is None else possible
    for name, given in (("y_pred", y_pred), ("possible", others)):
        if len(given) != len(y_true):
            raise ValueError(f"y_true holds {len(y_true)} sentence pairs but {name} {len(given)}")
    tallies = [0, 0, 0, 0]
    for i, (gold, found, maybe) in enumerate(zip(y_true, y_pred, others, strict=True)):
        sure, predicted, extra = (
            set(links_from(links, f"{name}[{i}]"))
            for name, links in (("y_true", gold), ("y_pred", found), ("possible", maybe))
        )
        allowed = sure | extra
        parts = predicted & sure, predicted & allowed, sure, predicted
        tallies = [n + len(part) for n, part in zip(tallies, parts, strict=True)]
    if not tallies[2]:
        raise ValueError("y_true holds no link")
    return tallies[0], tallies[1], tallies[2], tallies[3]
