"""A hidden Markov model as JSON text, parameters by name: written, and read back."""

import json
from typing import Any

import numpy as np

from sklearn_cvb.chain.parameters.free_parameters import n_free
from sklearn_cvb.chain.paths.transitions import refuse_varying
from sklearn_cvb.estimators.door import posterior_means_of
from sklearn_cvb.faces.known_parameters import TableShape
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.settings import Durations, HMMParameters, Symbols, Transitions

_FORMAT, _VERSION = "hidden Markov model", 1
# What JSON has values of its own for.
_PLAIN = (str, bool, int, float, type(None))


def text_of(hmm: Any) -> str:
    """The parameters of a fitted model, what they are parameters of, and all names."""
    transitions = Transitions.of(hmm.transitions)
    refuse_varying(transitions.varies_by, "to_json: pickle the model")
    lasting = transitions.durations
    if hasattr(hmm, "estimators_"):
        raise TypeError("to_json: estimators of scikit-learn are no text: pickle the model")
    means = posterior_means_of(hmm)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "emission": _emission_of(hmm),
        "transitions": {
            "topology": transitions.topology,
            "end_state": transitions.end_state,
            **({} if lasting is None else {"durations": Durations.of(lasting)}),
        },
        "parameters": means.get_params() | {"emissions": means.emitted or None},
        "n_free_parameters": n_free(hmm._learned),
        **_columns_of(hmm),
    }
    if hasattr(hmm, "classes_"):
        content["tags"] = hmm.classes_
    return json.dumps(_plain(content), allow_nan=False, ensure_ascii=False, indent=1)


def _columns_of(hmm: Any) -> dict[str, Any]:
    """The columns of X: their number, names and labels."""
    numeric = hmm._learned.extra.numeric
    is_table = hasattr(hmm, "n_features_in_") if numeric is None else numeric.rows_are_sequences
    names = getattr(hmm, "feature_names_in_", None)
    if numeric is not None and not is_table:
        names = numeric.columns.names
    return {
        "rows_are_sequences": is_table,
        "n_columns": getattr(hmm, "n_features_in_", None),
        "columns": names,
        # By number where columns have no names.
        "categories": {str(name): own for name, own in getattr(hmm, "categories_", {}).items()},
    }


def arguments_of(
    text: str,
) -> tuple[HMMParameters, Any, Transitions, TableShape | None, int | None]:
    """Parameters, emission, transitions, table and number of free parameters of a text."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        content = None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"the text is no model that to_json wrote: {short_repr(text)}")
    if content["version"] > _VERSION:
        raise ValueError(
            f"the text is in version {content['version']} of the format, and this package reads "
            f"versions up to {_VERSION}"
        )
    # Texts of earlier versions tell nothing of columns.
    names, n_columns = _with_hashes(content.get("columns")), content.get("n_columns") or 0
    columns = range(n_columns) if names is None else names
    labels = content.get("categories", {})
    more_fields: dict[str, Any] = {} if names is None else {"feature_names_in": list(names)}
    categories = {name: labels[str(name)] for name in columns if str(name) in labels}
    if categories:
        more_fields["categories"] = categories
    parameters = content["parameters"]
    table = TableShape(n_columns, names) if content.get("rows_are_sequences") else None
    if table is None and parameters["emissions"]:
        parameters["emissions"] |= more_fields
    parameters["vocabulary"] = _with_hashes(parameters["vocabulary"])
    emission, n_free = _object(content["emission"]), content.get("n_free_parameters")
    given = {name: _object(value) for name, value in content["transitions"].items()}
    return HMMParameters(**parameters), emission, Transitions(**given), table, n_free


def _emission_of(hmm: Any) -> Any:
    """What states emit: numbers, in columns by number, or symbols, unknown ones among them."""
    if hmm._emits_symbols:
        has_unknown = hmm.emissionprob_.shape[1] > len(hmm.vocabulary_)
        return Symbols(handle_unknown="smooth" if has_unknown else "error")
    from sklearn_cvb.chain.numbers.series import emission_of

    return emission_of(hmm.emission)


def _plain(value: Any) -> Any:
    """A value as JSON has it; an object is its kind and its settings."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "get_params"):
        settings = value.get_params(deep=False)
        return {"kind": type(value).__name__} | {k: _plain(part) for k, part in settings.items()}
    raise TypeError(
        "to_json writes names, labels and symbols that are text or numbers, not "
        f"{short_repr(value)}"
    )


def _with_hashes(value: Any) -> Any:
    """Symbols and names as they were: what JSON has as lists in them were tuples."""
    return value if not isinstance(value, list) else [_hashable(own) for own in value]


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _object(value: Any) -> Any:
    """The emission, or durations, that `_plain` has written; lists and numbers stay as they are."""
    if isinstance(value, list):
        return [_object(part) for part in value]
    if not isinstance(value, dict):
        return value
    from sklearn_cvb import emissions

    settings = {name: _object(part) for name, part in value.items() if name != "kind"}
    if value["kind"] == Durations.__name__:
        return Durations(**settings)
    if value["kind"] not in emissions.__all__:
        raise ValueError(f"the text has an emission {value['kind']!r}, which this package has not")
    return getattr(emissions, value["kind"])(**settings)
