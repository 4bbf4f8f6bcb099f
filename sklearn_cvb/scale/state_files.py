"""Serialisation of the state of a fit: trees of named tuples as arrays and JSON, and back.

Nothing is pickled, and only named tuples of this package are made again. An array that stands in
several places does so again afterwards.
"""

import base64
from collections import defaultdict
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

_PACKAGE = "sklearn_cvb"
# Smaller arrays are put together, by type: a file with thousands of members takes long.
_SMALL = 4096


class PackedTree(NamedTuple):
    """A tree as arrays by name, and its structure as a value for JSON."""

    arrays: dict[str, np.ndarray]
    tree: Any


def pack(value: Any) -> PackedTree:
    """A tree of named tuples, tuples, lists, dicts, arrays and plain values, in parts.

    Raises
    ------
    TypeError
        If it holds anything else.
    """
    arrays = _Arrays()
    node = _node_of(value, arrays)
    members, specs = arrays.members()
    return PackedTree(members, {"arrays": specs, "value": node})


def unpack(packed: PackedTree) -> Any:
    """The tree that `pack` took apart.

    Raises
    ------
    ValueError
        If the parts make no tree.
    """
    try:
        arrays = _arrays_of(packed.arrays, packed.tree["arrays"])
        return _value_of(packed.tree["value"], arrays)
    except (KeyError, TypeError, IndexError, AttributeError, ImportError) as error:
        raise ValueError(f"no state of a fit ({type(error).__name__}: {error})") from None


# Nodes: null, true, numbers, strings and lists stand for themselves, all else is {kind: content}.


def _node_of(value: Any, arrays: "_Arrays") -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        return {"array": arrays.index_of(value)}
    if isinstance(value, np.generic):
        return {"scalar": [value.dtype.str, value.item()]}
    if type(value) is list:
        return [_node_of(part, arrays) for part in value]
    if type(value) is dict:
        return {"dict": [[_node_of(part, arrays) for part in pair] for pair in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if type(value) is tuple:
        return {"tuple": [_node_of(part, arrays) for part in value]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind = type(value)
        if kind.__module__.split(".")[0] == _PACKAGE:
            fields = {
                name: _node_of(part, arrays)
                for name, part in zip(value._fields, value, strict=True)
            }
            return {"named": [kind.__module__, kind.__name__, fields]}
    raise TypeError(f"{type(value).__name__} cannot be saved")


def _value_of(node: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(node, list):
        return [_value_of(part, arrays) for part in node]
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind == "array":
        return arrays[content]
    if kind == "scalar":
        return np.dtype(content[0]).type(content[1])
    if kind == "dict":
        return dict(_value_of(pair, arrays) for pair in content)
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "tuple":
        return tuple(_value_of(part, arrays) for part in content)
    module, name, fields = content
    values = {field: _value_of(part, arrays) for field, part in fields.items()}
    return _named_tuple(module, name)(**values)


def _named_tuple(module: str, name: str) -> type:
    """A class of this package; nothing else is looked up."""
    if module.split(".")[0] != _PACKAGE:
        raise ValueError(f"{module}.{name} is none of this package")
    kind = getattr(import_module(module), name)
    if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        raise ValueError(f"{module}.{name} is no named tuple")
    return kind


# Arrays: large ones apart, small ones together


class _Arrays:
    """The arrays of a tree, each once."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self._indices: dict[int, int] = {}

    def index_of(self, array: np.ndarray) -> int:
        """Number of an array; the same array has the same."""
        if array.dtype.hasobject:
            raise TypeError("an array of objects cannot be saved")
        if id(array) not in self._indices:
            self._indices[id(array)] = len(self._arrays)
            self._arrays.append(array)
        return self._indices[id(array)]

    def members(self) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
        """Members of a file by name, and where each array is in them."""
        arrays_by_name: dict[str, np.ndarray] = {}
        small: dict[str, list[np.ndarray]] = defaultdict(list)
        specs = []
        for number, array in enumerate(self._arrays):
            spec: dict[str, Any] = {"shape": array.shape, "writeable": array.flags.writeable}
            if array.nbytes < _SMALL:
                dtype = array.dtype.str
                name, begin = f"small-{dtype}", sum(map(len, small[dtype]))
                is_by_column = array.flags.fnc
                small[dtype].append((array.T if is_by_column else array).ravel())
                spec |= {"from": begin, "order": "F" if is_by_column else "C"}
            else:
                name = f"large-{number}"
                arrays_by_name[name] = array
            specs.append(spec | {"in": name})
        for dtype, parts in small.items():
            arrays_by_name[f"small-{dtype}"] = np.concatenate(parts)
        return arrays_by_name, specs


def _arrays_of(members: Mapping[str, np.ndarray], specs: list[dict[str, Any]]) -> list[np.ndarray]:
    arrays = []
    for spec in specs:
        array, shape = members[spec["in"]], tuple(spec["shape"])
        if "from" in spec:
            size = int(np.prod(shape, dtype=np.int64))
            array = array[spec["from"] : spec["from"] + size].copy()
            array = array.reshape(shape, order=spec["order"])
        if array.shape != shape:
            raise ValueError(f"an array has shape {array.shape}, not {shape}")
        array.flags.writeable = spec["writeable"]
        arrays.append(array)
    return arrays
