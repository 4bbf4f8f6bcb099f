"""What is known of a language: rules of heads and children as a prior, and as a better start."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.dependency.parameters import Layout, tables_of

_FORM = (
    "rule_weights is a dict such as {('VERB', 'NOUN'): 100.0, (None, 'VERB'): 100.0}: a pair of "
    "head (None for the root) and child, each a tag or a tuple of tags, and a weight of at least 0"
)


class Rule(NamedTuple):
    """A rule in numbers.

    Attributes
    ----------
    heads : ndarray
        Numbers of the heads' tags; that after the last tag for the root.
    tags : ndarray
        Numbers of the children's tags.
    cells : ndarray
        Of all attachments that it covers.
    weight : float
    """

    heads: np.ndarray
    tags: np.ndarray
    cells: np.ndarray
    weight: float


def rules_from(rule_weights: Any, index: Mapping, layout: Layout) -> list[Rule]:
    """`rule_weights` in numbers; TypeError or ValueError where they are nothing of that kind."""
    if rule_weights is None:
        return []
    if not isinstance(rule_weights, Mapping):
        raise TypeError(f"rule_weights is {rule_weights!r}: {_FORM}")
    rules = []
    for pair, weight in rule_weights.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(f"rule_weights has the key {pair!r}: {_FORM}")
        if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise ValueError(f"rule_weights[{pair!r}] is {weight!r}: {_FORM}")
        head, child = pair
        tags = _places(child, pair, index)
        if head is None:
            heads = np.array([layout.n_types])
            rows = np.array([layout.n_own])
        else:
            heads, by_head = _places(head, pair, index), 2 * layout.n_valences
            rows = (by_head * heads[:, None] + np.arange(by_head)).ravel()
        cells = rows[:, None] * layout.n_types + tags
        rules.append(Rule(heads, tags, cells.ravel(), float(weight)))
    return rules


def _places(tags: Any, pair: tuple, index: Mapping) -> np.ndarray:
    """Numbers of a tag, or of a tuple of tags."""
    several = isinstance(tags, tuple) and tags not in index
    listed = list(dict.fromkeys(tags)) if several else [tags]
    missing = [tag for tag in listed if tag not in index]
    if missing or not listed:
        raise ValueError(
            f"rule_weights[{pair!r}]: the tags {missing} are not in the vocabulary: take tags of "
            "the sentences, and a tuple for several"
        )
    return np.array([index[tag] for tag in listed])


def rule_prior(rules: list[Rule], harmonic: np.ndarray, layout: Layout) -> np.ndarray:
    """The weight of each rule spread over its cells in proportion to harmonic counts.

    Naseem et al. (2010) for the idea of rules. Equal shares would make what the sentences hardly
    have as likely as what they are full of. Coarse rows that are of heads, too, get one half.
    """
    prior = np.zeros(layout.n_cells)
    for _, _, cells, weight in rules:
        counts = harmonic[cells]
        total = counts.sum()
        shares = counts / total if total > 0 else np.full(len(cells), 1 / len(cells))
        prior[cells] += weight * shares
    if layout.backoff == "head" and layout.coarse is not None:
        attach, _, _, coarse = tables_of(prior, layout)
        attach[:-1] /= 2
        np.add.at(coarse, layout.coarse, attach[:-1])
    return prior


def tilt_of(rules: list[Rule], n_types: int) -> np.ndarray | None:
    """What multiplies the chance of a head (the last is the root) in the harmonic start, by child.

    It is 1 + the largest weight of the rules; None without rules.
    """
    if not rules:
        return None
    tilt = np.ones((n_types + 1, n_types))
    for heads, tags, _, weight in rules:
        cells = np.ix_(heads, tags)
        tilt[cells] = np.maximum(tilt[cells], 1.0 + weight)
    return tilt
