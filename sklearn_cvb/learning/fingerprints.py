"""Equality of parameters and data: values compared in memory, or by digests (hashes) of them."""

import hashlib
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

# What a message can show of a value.
_SHORT = 60
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def are_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays and tuples of them included."""
    if one is other:
        return True
    if isinstance(one, tuple):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(are_same(a, b) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    try:
        return bool(one == other)
    except ValueError:
        # Containers with arrays in them have no single answer.
        return False


def digest_of(value: Any) -> str:
    """A digest of a value, the same in every process.

    Of objects that are no plain data it knows the class, and what their attributes hold.
    """
    return _digest(value, ())


def repr_or_digest(value: Any) -> str:
    """A value as messages show it: in full where that is short, else by its digest."""
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value) if is_plain(value) else ""
    return text if 0 < len(text) <= _SHORT else f"{type(value).__name__} {digest_of(value)}"


def is_plain(value: Any) -> bool:
    """Whether the text of a value tells all of it."""
    if isinstance(value, tuple | list):
        return all(map(is_plain, value))
    return isinstance(value, _PLAIN)


def _digest(value: Any, above: tuple[int, ...]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    _add_to_digest(value, digest, above)
    return digest.hexdigest()


def _add_to_digest(value: Any, digest: Any, above: tuple[int, ...]) -> None:
    """Add a value to a digest, after the name of its class; `above` are objects that hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    digest.update(type(value).__name__.encode() + b"(")
    if isinstance(value, _PLAIN):
        digest.update(repr(value).encode())
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    elif isinstance(value, tuple | list | np.ndarray):
        for part in value.tolist() if isinstance(value, np.ndarray) else value:
            _add_to_digest(part, digest, above)
    elif isinstance(value, Mapping | Set):
        # In no order: that of a set differs between processes, and of a dict that is made from one.
        parts = value.items() if isinstance(value, Mapping) else value
        for text in sorted(_digest(part, above) for part in parts):
            digest.update(text.encode())
    elif hasattr(value, "__dict__") and not callable(value) and id(value) not in above:
        for name, part in sorted(vars(value).items()):
            digest.update(name.encode())
            _add_to_digest(part, digest, (*above, id(value)))
    digest.update(b")")
