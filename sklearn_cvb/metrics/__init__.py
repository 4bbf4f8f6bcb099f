"""Accuracy of tags, mappings from states to tags, perplexity, scorers, convergence of chains."""

from sklearn_cvb.metrics.convergence import effective_sample_size, r_hat
from sklearn_cvb.metrics.language import bits_per_token, perplexity
from sklearn_cvb.metrics.scorers import (
    TaggingScorer,
    many_to_one_scorer,
    one_to_one_scorer,
    perplexity_scorer,
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
    "effective_sample_size",
    "many_to_one_accuracy",
    "many_to_one_scorer",
    "one_to_one_accuracy",
    "one_to_one_scorer",
    "perplexity",
    "perplexity_scorer",
    "r_hat",
    "tag_confusion",
    "token_accuracy",
    "token_accuracy_scorer",
    "v_measure",
    "v_measure_scorer",
]
