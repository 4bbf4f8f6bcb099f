"""Values for JSON and skops: what these have no form of is saved as a call that makes it again.

Pickle needs none of it. skops writes dicts as JSON, whose keys are text, and makes lists and tuples
of what is only nearly one.
"""

from collections import Counter
from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.reading.corpus import object_array

_HOLDERS = (dict, list, tuple, np.ndarray)


class SavedCall(NamedTuple):
    """A type, and what it makes a value of."""

    kind: type
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class EllipsisMaker:
    """Makes the Ellipsis, whose own type has no place where it could be found."""

    def __new__(cls) -> Any:
        return ...


class SavesAttributes:
    """Base of what saves its attributes in this form."""

    def __getstate__(self) -> Any:
        return saved(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(loaded(state))


def saved(value: Any) -> Any:
    """A value as it is saved; itself where there is nothing to change."""
    call = _call(value)
    if call is None:
        return _with_items(value, saved) if isinstance(value, _HOLDERS) else value
    kind, arguments, named = call
    return SavedCall(kind, tuple(map(saved, arguments)), named)


def loaded(value: Any) -> Any:
    """What `saved` was given."""
    if isinstance(value, SavedCall):
        return value.kind(*map(loaded, value.arguments), **value.named)
    return _with_items(value, loaded) if isinstance(value, _HOLDERS) else value


def _call(value: Any) -> SavedCall | None:
    """What makes a value again that cannot be written as it is."""
    kind, named = type(value), {}
    arguments: tuple[Any, ...] = ()
    if value is ...:
        kind = EllipsisMaker
    elif isinstance(value, dict):
        key_types = set(map(type, value))
        if len(key_types) < 2 and key_types <= {str, int}:
            return None
        arguments = (dict(value),) if kind is Counter else (list(value.items()),)
        kind = kind if kind is Counter else dict
    elif isinstance(value, tuple):
        # Tuples with names for their items are written as such.
        if kind is tuple or hasattr(value, "_fields"):
            return None
        arguments = (tuple(value),)
    elif isinstance(value, list) and hasattr(value, "label"):
        arguments = value.label(), list(value)
    elif kind.__module__ == "nltk.grammar":
        if hasattr(value, "productions"):
            arguments = value.start(), value.productions()
        elif hasattr(value, "lhs"):
            arguments = value.lhs(), value.rhs()
            named = {"prob": value.prob()} if hasattr(value, "prob") else {}
        else:
            arguments = (value.symbol(),)
    else:
        return None
    return SavedCall(kind, arguments, named)


def _with_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """What holds values, with each of them changed; itself where none is."""
    if isinstance(value, np.ndarray):
        items = value.ravel().tolist() if value.dtype == object else []
    else:
        items = list(value.values()) if isinstance(value, dict) else value
    changed = [change(item) for item in items]
    if all(map(is_, changed, items)):
        return value
    if isinstance(value, np.ndarray):
        return object_array(changed).reshape(value.shape)
    if isinstance(value, dict):
        found = value.copy()
        dict.update(found, zip(value, changed, strict=True))
        return found
    return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
