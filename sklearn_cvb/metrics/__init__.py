"""Accuracy of tags, brackets and segments, perplexity, and scorers for model selection."""

from sklearn_cvb.metrics.language import bits_per_token, perplexity
from sklearn_cvb.metrics.parsing import (
    boundary_scores,
    bracket_f1,
    bracket_scores,
    segmentation_f1,
    segmentation_scores,
    tree_perplexity,
)
from sklearn_cvb.metrics.scorers import (
    TaggingScorer,
    bracket_f1_scorer,
    many_to_one_scorer,
    one_to_one_scorer,
    perplexity_scorer,
    segmentation_f1_scorer,
    token_accuracy_scorer,
    v_measure_scorer,
)
from sklearn_cvb.metrics.tagging import (
    many_to_one_accuracy,
    one_to_one_accuracy,
    tag_confusion,
    token_accuracy,
    v_measure,
)

__all__ = [
    "TaggingScorer",
    "bits_per_token",
    "boundary_scores",
    "bracket_f1",
    "bracket_f1_scorer",
    "bracket_scores",
    "many_to_one_accuracy",
    "many_to_one_scorer",
    "one_to_one_accuracy",
    "one_to_one_scorer",
    "perplexity",
    "perplexity_scorer",
    "segmentation_f1",
    "segmentation_f1_scorer",
    "segmentation_scores",
    "tag_confusion",
    "token_accuracy",
    "token_accuracy_scorer",
    "tree_perplexity",
    "v_measure",
    "v_measure_scorer",
]
