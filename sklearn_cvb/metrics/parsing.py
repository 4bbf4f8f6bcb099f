"""Agreement of predicted trees with gold trees: brackets as EVALB counts them, and segments.

Black et al. (1991) define the bracket scores; Sekine and Collins's EVALB the conventions.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from sklearn_cvb.reading.corpus import as_list, short_repr
from sklearn_cvb.treebank.reading import clean_tree

# What EVALB's standard parameters delete: roots above the sentence, and punctuation.
_ROOTS = ("TOP", "ROOT", "S1", "")
_PUNCTUATION = (",", ":", "``", "''", ".")


class Agreement(NamedTuple):
    """How many items gold and prediction have in common, summed over a corpus.

    Attributes
    ----------
    precision, recall, f1 : float
        1 where there is nothing to find and nothing was claimed.
    exact : float
        Share of sentences in which all items agree.
    """

    precision: float
    recall: float
    f1: float
    exact: float


def bracket_scores(
    y_true: Sequence[Any],
    y_pred: Sequence[Any],
    *,
    labelled: bool = True,
    trivial: bool = True,
    clean: bool = True,
    ignored_tags: Collection[str] = _PUNCTUATION,
    ignored_labels: Collection[str] = _ROOTS,
    equal_labels: Iterable[Sequence[str]] = (("ADVP", "PRT"),),
) -> Agreement:
    """Precision, recall and F1 of brackets, and exact match, with EVALB's conventions.

    Brackets are counted over the whole corpus. A node above a single word is a tag and no bracket;
    several nodes over one span are several brackets.

    Parameters
    ----------
    y_true, y_pred : sequence of nltk.Tree or str
        Trees, or trees in brackets; gold trees that are None are left out.
    labelled : bool, default=True
        Whether labels must agree.
    trivial : bool, default=True
        Whether brackets around the whole sentence count; leave them out (and `labelled`) to compare
        induced grammars.
    clean : bool, default=True
        Whether traces, function tags and indices are taken off first, as treebank grammars do
        with the trees that they learn from: NP-SBJ-1 is NP.
    ignored_tags : collection, default=(",", ":", "``", "''", ".")
        Words with these tags in the gold tree are deleted before brackets are compared.
    ignored_labels : collection, default=("TOP", "ROOT", "S1", "")
        Nodes with these labels are no brackets.
    equal_labels : sequence of pairs, default=(("ADVP", "PRT"),)
        Labels that count as equal.

    Returns
    -------
    Agreement
        Named tuple (precision, recall, f1, exact).

    Raises
    ------
    ValueError
        If the numbers of trees or of words differ, or there is no gold tree.

    Examples
    --------
    >>> from sklearn_cvb.metrics import bracket_scores
    >>> gold = ["(S (NP (DT the) (NN dog)) (VP (VBD ran) (ADVP (RB off))))"]
    >>> guess = ["(S (NP (DT the) (NN dog)) (VBD ran) (PRT (RB off)))"]
    >>> scores = bracket_scores(gold, guess)
    >>> scores.precision, scores.recall, scores.exact
    (1.0, 0.75, 0.0)
    """
    same = {label: pair[0] for pair in equal_labels for label in pair}
    pairs = []
    for i, true, predicted in _known_pairs(y_true, y_pred):
        gold, guess = _tree(true), _tree(predicted)
        if clean:
            gold, guess = clean_tree(gold, f"y_true[{i}]"), clean_tree(guess, f"y_pred[{i}]")
        words, gold_nodes = _nodes(gold)
        guessed_words, guessed_nodes = _nodes(guess)
        if len(words) != len(guessed_words):
            raise ValueError(
                f"tree {i} has {len(words)} words but its prediction {len(guessed_words)}"
            )
        kept = [tag not in ignored_tags for tag in words]
        before = [0, *accumulate(kept)]
        whole = None if trivial else (0, before[-1])
        pairs.append(
            [
                Counter(
                    (same.get(label, label) if labelled else None, before[begin], before[end])
                    for begin, end, label in nodes
                    if before[begin] < before[end]
                    and label not in ignored_labels
                    and (before[begin], before[end]) != whole
                )
                for nodes in (gold_nodes, guessed_nodes)
            ]
        )
    return _agreement(pairs)


def bracket_f1(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, labelled: bool = True, clean: bool = True
) -> float:
    """F1 of brackets with EVALB's conventions, see `bracket_scores`.

    Parameters
    ----------
    y_true, y_pred : sequence of nltk.Tree or str
    labelled : bool, default=True
        Whether labels must agree.
    clean : bool, default=True
        Whether traces, function tags and indices are taken off first.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_cvb.metrics import bracket_f1
    >>> bracket_f1(["(S (A (X a) (X b)) (X c))"], ["(S (B (X a) (X b)) (X c))"])
    0.5
    """
    return bracket_scores(y_true, y_pred, labelled=labelled, clean=clean).f1


def segmentation_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> Agreement:
    """Precision, recall and F1 of segments: both ends of a piece must agree.

    Parameters
    ----------
    y_true, y_pred : sequence
        One segmentation each: a list of pieces (strings or lists), or an nltk.Tree, whose pieces
        are what its lowest nodes cover.

    Returns
    -------
    Agreement
        Named tuple (precision, recall, f1, exact).

    Raises
    ------
    ValueError
        If the numbers of sequences differ, or their lengths.

    Examples
    --------
    >>> from sklearn_cvb.metrics import segmentation_scores
    >>> scores = segmentation_scores([["u", "kw", "akh", "a"]], [["u", "kw", "ak", "ha"]])
    >>> scores.precision, scores.recall
    (0.5, 0.5)
    """
    return _agreement(
        [[Counter(pairwise(ends)) for ends in both] for both in _segment_ends(y_true, y_pred)]
    )


def boundary_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> Agreement:
    """Precision, recall and F1 of the boundaries between segments.

    Parameters
    ----------
    y_true, y_pred : sequence
        As in `segmentation_scores`.

    Returns
    -------
    Agreement
        Named tuple (precision, recall, f1, exact).

    Examples
    --------
    >>> from sklearn_cvb.metrics import boundary_scores
    >>> scores = boundary_scores([["u", "kw", "akh", "a"]], [["u", "kw", "akha"]])
    >>> scores.precision, round(scores.recall, 3)
    (1.0, 0.667)
    """
    return _agreement(
        [[Counter(ends[1:-1]) for ends in both] for both in _segment_ends(y_true, y_pred)]
    )


def segmentation_f1(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """F1 of segments, see `segmentation_scores`.

    Parameters
    ----------
    y_true, y_pred : sequence

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_cvb.metrics import segmentation_f1
    >>> segmentation_f1([["ab", "c"]], [["ab", "c"]])
    1.0
    """
    return segmentation_scores(y_true, y_pred).f1


def tree_perplexity(grammar: Any, trees: Iterable[Any], per: str = "token") -> float:
    """exp of minus the mean log-probability of trees under a grammar.

    Parameters
    ----------
    grammar : nltk.PCFG
        Such as ``grammar_`` of a fitted model.
    trees : sequence of nltk.Tree or str
    per : {"token", "sequence"}, default="token"
        What the mean is taken over.

    Returns
    -------
    float
        Infinite if a tree uses a rule that the grammar lacks.

    Raises
    ------
    ValueError
        If `per` is something else, or there is no tree.

    Examples
    --------
    >>> import nltk
    >>> from sklearn_cvb.metrics import tree_perplexity
    >>> grammar = nltk.PCFG.fromstring("S -> S S [0.5] | 'a' [0.5]")
    >>> round(tree_perplexity(grammar, ["(S (S a) (S a))"], per="sequence"), 6)
    8.0
    """
    if per not in ("token", "sequence"):
        raise ValueError(f"per must be 'token' or 'sequence', got {per!r}")
    logs = {
        (production.lhs(), production.rhs()): math.log(production.prob())
        for production in grammar.productions()
        if production.prob() > 0
    }
    total, size = 0.0, 0
    for tree in map(_tree, trees):
        size += len(tree.leaves()) if per == "token" else 1
        total += sum(
            logs.get((production.lhs(), production.rhs()), -math.inf)
            for production in tree.productions()
        )
    if not size:
        raise ValueError("no tree to score")
    return math.inf if total == -math.inf else math.exp(-total / size)


def _tree(tree: Any) -> Any:
    from nltk import Tree

    if isinstance(tree, str):
        return Tree.fromstring(tree)
    if not isinstance(tree, Tree):
        raise TypeError(f"{short_repr(tree)} is no tree: pass an nltk.Tree, or a tree in brackets")
    return tree


def _known_pairs(y_true: Sequence[Any], y_pred: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Index, gold and prediction, where there is a gold one."""
    gold, predictions = as_list(y_true), as_list(y_pred)
    if gold is None or predictions is None:
        wrong = y_true if gold is None else y_pred
        raise TypeError(
            f"{short_repr(wrong)} is no list: pass one tree or segmentation per sentence"
        )
    if len(gold) != len(predictions):
        raise ValueError(f"{len(gold)} gold trees but {len(predictions)} predicted ones")
    pairs = [
        (i, true, predicted)
        for i, (true, predicted) in enumerate(zip(gold, predictions, strict=True))
        if true is not None
    ]
    if not pairs:
        raise ValueError("no gold tree to compare with")
    return pairs


def _nodes(tree: Any) -> tuple[list[Any], list[Any]]:
    """The tag of each word (None without one), and (begin, end, label) of all other nodes."""
    tags: list[str | None] = []
    nodes: list[tuple[int, int, str] | None] = []

    def visit(node: Any) -> None:
        begin = len(tags)
        if len(node) == 1 and not hasattr(node[0], "label"):
            tags.append(node.label())
            return
        place = len(nodes)
        nodes.append(None)
        for child in node:
            if hasattr(child, "label"):
                visit(child)
            else:
                tags.append(None)
        nodes[place] = (begin, len(tags), node.label())

    visit(tree)
    return tags, nodes


def _segment_ends(y_true: Sequence[Any], y_pred: Sequence[Any]) -> list[list[list[int]]]:
    """Positions where segments end, from 0 on, of each gold and predicted segmentation."""
    result = []
    for i, true, predicted in _known_pairs(y_true, y_pred):
        both = [[0, *accumulate(_piece_lengths(segments))] for segments in (true, predicted)]
        if both[0][-1] != both[1][-1]:
            raise ValueError(
                f"segmentation {i} has length {both[0][-1]} but its prediction {both[1][-1]}"
            )
        result.append(both)
    return result


def _piece_lengths(segments: Any) -> list[int]:
    """Lengths of the pieces of a list or of a tree."""
    if not hasattr(segments, "label"):
        pieces = as_list(segments)
        if pieces is None or not all(hasattr(piece, "__len__") for piece in pieces):
            raise TypeError(f"{short_repr(segments)} is no list of pieces, strings or lists")
        return [len(piece) for piece in pieces]
    lengths, run = [], 0
    for child in segments:
        if hasattr(child, "label"):
            lengths.extend([run] * (run > 0) + _piece_lengths(child))
            run = 0
        else:
            run += 1
    return lengths + [run] * (run > 0)


def _agreement(pairs: Sequence[Sequence[Counter[Any]]]) -> Agreement:
    """Scores of pairs of multisets, gold first."""
    matched = sum((true & predicted).total() for true, predicted in pairs)
    n_true = sum(true.total() for true, _ in pairs)
    n_predicted = sum(predicted.total() for _, predicted in pairs)
    return Agreement(
        matched / n_predicted if n_predicted else float(n_true == 0),
        matched / n_true if n_true else float(n_predicted == 0),
        2 * matched / (n_true + n_predicted) if n_true + n_predicted else 1.0,
        sum(true == predicted for true, predicted in pairs) / len(pairs),
    )
