"""Accuracy of tags, brackets, segments, heads and links, perplexity, scorers, checks."""

from sklearn_cvb.metrics.alignment import alignment_error_rate, alignment_f1, alignment_scores
from sklearn_cvb.metrics.convergence import effective_sample_size, r_hat
from sklearn_cvb.metrics.dependencies import (
    directed_accuracy,
    neutral_accuracy,
    undirected_accuracy,
)
from sklearn_cvb.metrics.language import bits_per_token, perplexity
from sklearn_cvb.metrics.matching import match_states, relabel
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
    alignment_f1_scorer,
    bracket_f1_scorer,
    directed_accuracy_scorer,
    many_to_one_scorer,
    neutral_accuracy_scorer,
    one_to_one_scorer,
    perplexity_scorer,
    segmentation_f1_scorer,
    token_accuracy_scorer,
    undirected_accuracy_scorer,
    v_measure_scorer,
)
from sklearn_cvb.metrics.simulation import simulated_check
from sklearn_cvb.metrics.tagging import (
    many_to_one_accuracy,
    one_to_one_accuracy,
    tag_confusion,
    token_accuracy,
    v_measure,
)

__all__ = [
    "TaggingScorer",
    "alignment_error_rate",
    "alignment_f1",
    "alignment_f1_scorer",
    "alignment_scores",
    "bits_per_token",
    "boundary_scores",
    "bracket_f1",
    "bracket_f1_scorer",
    "bracket_scores",
    "directed_accuracy",
    "directed_accuracy_scorer",
    "effective_sample_size",
    "many_to_one_accuracy",
    "many_to_one_scorer",
    "match_states",
    "neutral_accuracy",
    "neutral_accuracy_scorer",
    "one_to_one_accuracy",
    "one_to_one_scorer",
    "perplexity",
    "perplexity_scorer",
    "r_hat",
    "relabel",
    "segmentation_f1",
    "segmentation_f1_scorer",
    "segmentation_scores",
    "simulated_check",
    "tag_confusion",
    "token_accuracy",
    "token_accuracy_scorer",
    "tree_perplexity",
    "undirected_accuracy",
    "undirected_accuracy_scorer",
    "v_measure",
    "v_measure_scorer",
]
