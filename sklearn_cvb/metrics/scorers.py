"""Scorers for cross-validation and grid search over sequences of any length.

scikit-learn's own scorers demand a rectangular ``y``; these call ``predict`` and hand what it gives
to a metric. All are functions of ``(estimator, X, y)``, greater is better.
"""

from collections.abc import Callable
from typing import Any

from sklearn_cvb.metrics import tagging
from sklearn_cvb.metrics.alignment import alignment_f1
from sklearn_cvb.metrics.dependencies import (
    directed_accuracy,
    neutral_accuracy,
    undirected_accuracy,
)
from sklearn_cvb.metrics.parsing import bracket_f1, segmentation_f1


class TaggingScorer:
    """Score an estimator's predictions against gold tags by a metric.

    Parameters
    ----------
    metric : callable (y_true, y_pred) -> float
        Where greater is better. To be pickled it must be importable.
    name : str
        Name shown by ``repr``.

    Examples
    --------
    >>> from sklearn_cvb.metrics import TaggingScorer, tag_confusion
    >>> def states_used(y_true, y_pred):
    ...     return len(tag_confusion(y_true, y_pred)[2])
    >>> TaggingScorer(states_used, "states_used_scorer")
    states_used_scorer
    """

    def __init__(self, metric: Callable[..., Any], name: str) -> None:
        self.metric = metric
        self.name = name

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Score ``estimator.predict(X)`` against ``y``.

        Parameters
        ----------
        estimator : fitted estimator
            Its ``predict`` gives one label sequence per sample.
        X : sequences
            As the estimator takes them.
        y : list of label sequences
            Gold tags, None where unknown.

        Returns
        -------
        score : float
            Greater is better.

        Raises
        ------
        TypeError
            If ``y`` is None.
        """
        if y is None:
            raise TypeError(f"{self.name} compares predictions with gold tags: pass y")
        return self.metric(y, estimator.predict(X))

    def __repr__(self) -> str:
        return self.name


token_accuracy_scorer: TaggingScorer = TaggingScorer(
    tagging.token_accuracy, "token_accuracy_scorer"
)
many_to_one_scorer: TaggingScorer = TaggingScorer(
    tagging.many_to_one_accuracy, "many_to_one_scorer"
)
one_to_one_scorer: TaggingScorer = TaggingScorer(tagging.one_to_one_accuracy, "one_to_one_scorer")
v_measure_scorer: TaggingScorer = TaggingScorer(tagging.v_measure, "v_measure_scorer")
bracket_f1_scorer: TaggingScorer = TaggingScorer(bracket_f1, "bracket_f1_scorer")
segmentation_f1_scorer: TaggingScorer = TaggingScorer(segmentation_f1, "segmentation_f1_scorer")
directed_accuracy_scorer: TaggingScorer = TaggingScorer(
    directed_accuracy, "directed_accuracy_scorer"
)
undirected_accuracy_scorer: TaggingScorer = TaggingScorer(
    undirected_accuracy, "undirected_accuracy_scorer"
)
neutral_accuracy_scorer: TaggingScorer = TaggingScorer(neutral_accuracy, "neutral_accuracy_scorer")
alignment_f1_scorer: TaggingScorer = TaggingScorer(alignment_f1, "alignment_f1_scorer")


def perplexity_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Minus the perplexity per token of ``X``, so that greater is better.

    Parameters
    ----------
    estimator : fitted estimator
        With a method ``perplexity(X)``.
    X : sequences
        As the estimator takes them.
    y : object, default=None
        Ignored.

    Returns
    -------
    score : float
        At most -1 for a discrete model.

    Examples
    --------
    >>> from sklearn_cvb.metrics import perplexity_scorer
    >>> class FairCoin:
    ...     def perplexity(self, X):
    ...         return 2.0
    >>> perplexity_scorer(FairCoin(), [[0, 1], [1]])
    -2.0
    """
    return -float(estimator.perplexity(X))
