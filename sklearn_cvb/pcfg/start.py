"""Where a fit begins: the weights of rules under which sentences are first inferred."""

from typing import Any

import numpy as np

from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.parameters import posterior_mean, uniform_weights
from sklearn_cvb.validation import as_numbers

# Starts that the seed decides.
RANDOM_STARTS = ("parameter", "uniform", "trees")
# How far a near-uniform start is from uniform.
_NOISE = 0.01


def where_to_start(init: Any, *, is_given: bool, layout: Layout) -> Any:
    """`init`, or what stands for None where a grammar is given, or is not."""
    if init is not None:
        return init
    if not is_given:
        return "parameter"
    if layout.grammar.probabilities is not None:
        return "grammar"
    # Weights that sum to 1 give a terminal of ten words the chance of one of a single word, and
    # so pieces as long as can be: nothing to learn from.
    has_cycles = len(layout.rules.member) > 0
    return "trees" if layout.longest > 1 and not has_cycles else "uniform"


def first_weights(init: Any, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Weights of the first E-step, as `init` says."""
    if not isinstance(init, str):
        if hasattr(init, "rule_probabilities_"):
            return _of_model(init, layout)
        draws = _of_array(init, layout)
    elif init == "grammar":
        if layout.grammar.probabilities is None:
            raise ValueError("init='grammar' needs a grammar with probabilities")
        return layout.grammar.probabilities
    elif init == "parameter":
        draws = rng.standard_exponential(len(layout.lhs))
    else:
        draws = 1.0 + _NOISE * rng.random(len(layout.lhs))
    if is_of_trees(init):
        if len(layout.rules.member):
            raise ValueError(
                "init='trees' weighs all trees alike, but a cycle of unary rules has no "
                "end of them: start elsewhere"
            )
        return draws
    return posterior_mean(layout, draws, 0.0, uniform_weights(layout))


def is_of_trees(init: Any) -> bool:
    """Whether all trees weigh the same at first, so that weights do not sum to 1."""
    return isinstance(init, str) and init == "trees"


def _of_model(init: Any, layout: Layout) -> np.ndarray:
    """The probabilities of a fitted model."""
    if init.rules_.rules != layout.grammar.rules:
        raise ValueError("init has other rules: start from a model of the same grammar")
    weights: np.ndarray = init.rule_probabilities_
    return weights


def _of_array(init: Any, layout: Layout) -> np.ndarray:
    """Weights that were given, one for each rule."""
    weights = as_numbers("init", init)
    if weights.shape != (len(layout.lhs),) or not (
        (weights >= 0).all() and np.isfinite(weights).all()
    ):
        raise ValueError(
            f"init must hold {len(layout.lhs)} weights, one for each rule, finite and none "
            f"negative; got shape {weights.shape}"
        )
    return weights
