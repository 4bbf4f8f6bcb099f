"""What a hidden Markov model has learned as JSON: parameters by name."""

import json
from typing import Any

import numpy as np

from sklearn_cvb.chain.free_parameters import n_free
from sklearn_cvb.chain.given import means_of
from sklearn_cvb.chain.transitions import refuse_contexts, refuse_durations
from sklearn_cvb.reading.corpus import short_repr
from sklearn_cvb.settings import HMMParameters, Symbols, Transitions, setting_of

_FORMAT, _VERSION = "hidden Markov model", 1
# What JSON has values of its own for.
_PLAIN = (str, bool, int, float, type(None))


def text_of(hmm: Any) -> str:
    """The parameters of a fitted model, what they are parameters of, and names of tags."""
    transitions = setting_of(hmm, "transitions")
    refuse_contexts(transitions.contexts is not None, "to_json: pickle the model")
    refuse_durations(transitions.durations is not None, "to_json: pickle the model")
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "emission": _emission_of(hmm),
        "transitions": {"topology": transitions.topology, "end_state": transitions.end_state},
        "parameters": means_of(hmm).get_params(),
        "n_free_parameters": n_free(hmm._learned),
    }
    for name, attribute in (("tags", "classes_"), ("categories", "categories_")):
        if hasattr(hmm, attribute):
            content[name] = getattr(hmm, attribute)
    return json.dumps(_plain(content), allow_nan=False, ensure_ascii=False, indent=1)


def arguments_of(text: str) -> dict[str, Any]:
    """What `from_parameters` is given for a model that was written as text, and `n_free`."""
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
    return {
        "parameters": HMMParameters(**content["parameters"]),
        "emission": _emission(content["emission"]),
        "transitions": Transitions(**content["transitions"]),
        "n_free": content.get("n_free_parameters"),
    }


def _emission_of(hmm: Any) -> Any:
    """What states emit: numbers, in columns by number, or symbols, unknown ones among them."""
    if hmm._observed.has_vocabulary:
        has_unknown = hmm.emissionprob_.shape[1] > len(hmm.vocabulary_)
        return Symbols(handle_unknown="smooth" if has_unknown else "error")
    names = hmm._learned.more.numeric.names
    return hmm._observed.emission_of(hmm.emission).numbered(names)


def _plain(value: Any) -> Any:
    """A value as JSON has it; an object is its kind and its settings."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict):
        return {name: _plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if hasattr(value, "get_params"):
        settings = value.get_params(deep=False)
        return {"kind": type(value).__name__} | {k: _plain(own) for k, own in settings.items()}
    raise TypeError(f"to_json writes symbols that are text or numbers, not {short_repr(value)}")


def _emission(value: Any) -> Any:
    """The emission that `_plain` has written; lists and numbers stay as they are."""
    if isinstance(value, list):
        return [_emission(own) for own in value]
    if not isinstance(value, dict):
        return value
    from sklearn_cvb import emissions

    settings = {name: _emission(own) for name, own in value.items() if name != "kind"}
    if value["kind"] not in emissions.__all__:
        raise ValueError(f"the text has an emission {value['kind']!r}, which this package has not")
    return getattr(emissions, value["kind"])(**settings)
