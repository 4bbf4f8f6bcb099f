"""Translations that are known before: prior mass for cells of the lexicon."""

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from sklearn_cvb.containers import as_list, shown
from sklearn_cvb.corpus import is_hashable

_FORM = (
    "a dictionary maps a source word to a list of its translations, or to their weights: "
    "{'house': {'casa': 2.0}}"
)


def translations_in(dictionary: Any) -> dict[tuple[Hashable, Hashable], float]:
    """Weights of pairs of words.

    Parameters
    ----------
    dictionary : dict or None
        Source word -> target words (weight 1 each), or -> target word -> weight.

    Returns
    -------
    dict
        (source word, target word) -> weight.

    Raises
    ------
    TypeError
        If it has another form.
    ValueError
        If a weight is no finite number above 0.
    """
    if dictionary is None:
        return {}
    if not isinstance(dictionary, Mapping):
        raise TypeError(f"dictionary is {shown(dictionary)}: {_FORM}")
    found: dict[tuple[Hashable, Hashable], float] = {}
    for source, entry in dictionary.items():
        if isinstance(entry, Mapping):
            weights = dict(entry)
        else:
            items = list(entry) if isinstance(entry, set | frozenset) else as_list(entry)
            if items is None or not all(map(is_hashable, items)):
                raise TypeError(f"dictionary[{source!r}] is {shown(entry)}: {_FORM}")
            weights = dict.fromkeys(items, 1.0)
        for target, weight in weights.items():
            is_number = isinstance(weight, Real) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < np.inf:
                raise ValueError(
                    f"dictionary[{source!r}][{target!r}] is {shown(weight)}: weights are finite "
                    "numbers above 0"
                )
            found[source, target] = float(weight)
    return found
