"""A parameter has the same type and text in every class; what truly differs is listed here."""

import inspect
import re
from collections import defaultdict
from typing import NamedTuple

import pytest
from sklearn.base import BaseEstimator

import sklearn_cvb

_CLASSES = [getattr(sklearn_cvb, name) for name in sklearn_cvb.__all__]
CLASSES = [kind for kind in _CLASSES if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


class Documented(NamedTuple):
    """A parameter as a class documents it: its type without the default, the default, the text."""

    type: str
    default: str
    text: str


def family(kind):
    endings = "LatentPCFG", "PCFG", "DMV", "AlignmentHMM"
    return next((name for name in endings if kind.__name__.endswith(name)), "HMM")


def learns_from_trees(kind):
    return family(kind) == "LatentPCFG"


def is_em(kind):
    return kind.__name__.startswith("EM")


def model(kind):
    """Chain, tagger or grammar."""
    return "grammar" if family(kind) != "HMM" else "Tagger" in kind.__name__


def samples(kind):
    return kind.__name__.startswith(("Gibbs", "Hastings"))


def has(name):
    return lambda kind: name in inspect.signature(kind).parameters


# What a parameter's text depends on; all others have one text.
DIFFERS = {
    "n_components": [model],
    "topology": [has("update")],
    "alpha": [is_em, family],
    "alpha_stop": [is_em],
    "beta": [is_em, family],
    "start_alpha": [is_em],
    "alpha_prior": [family],
    "update": [samples, family],
    "max_iter": [samples],
    "tol": [lambda kind: samples(kind) or re.match("EM|VB|CVB", kind.__name__)[0]],
    "init": [family],
    "handle_unknown": [family, lambda kind: family(kind) == "HMM" and model(kind)],
    "vocabulary": [family],
    "supervision": [family, lambda kind: family(kind) == "HMM" and model(kind)],
    "temperatures": [family],
    "n_burn_in": [has("temperatures"), family],
    "n_jobs": [
        lambda kind: kind.__name__.startswith(("EMHMM", "VBHMM")),
        learns_from_trees,
        lambda kind: kind.__name__ == "HMMClassifier",
    ],
}


def documented(kind):
    """The documented parameters of a class by name."""
    docstring = inspect.getdoc(kind)
    section = re.search(r"^Parameters\n-+\n(.*?)\n\n\w+\n---", docstring, re.M | re.S)[1]
    found = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, *lines = entry.splitlines()
        names, type_and_default = head.split(" : ")
        type_, _, default = type_and_default.partition(", default=")
        for name in names.split(", "):
            found[name] = Documented(type_, default, " ".join(map(str.strip, lines)))
    return found


DOCUMENTED = {kind: documented(kind) for kind in CLASSES}
NAMES = sorted({name for parameters in DOCUMENTED.values() for name in parameters})


def texts(name, keys):
    """Texts and types of a parameter by what they depend on, and who has them."""
    found = defaultdict(lambda: defaultdict(list))
    for kind, parameters in DOCUMENTED.items():
        if name in parameters:
            entry = parameters[name]
            group = tuple(key(kind) for key in keys)
            found[group][entry.type, entry.text].append(kind.__name__)
    return found


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_in_order_with_its_default(kind):
    parameters = inspect.signature(kind).parameters
    assert list(DOCUMENTED[kind]) == list(parameters)
    for name, parameter in parameters.items():
        default = DOCUMENTED[kind][name].default
        expected = eval(default) if default else inspect.Parameter.empty
        assert expected == parameter.default, f"{name}: {default}"


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_has_one_type_and_text(name):
    for group, found in texts(name, DIFFERS.get(name, [])).items():
        assert len(found) == 1, (group, dict(found))


@pytest.mark.parametrize("name", DIFFERS)
def test_what_is_listed_as_different_is(name):
    keys = DIFFERS[name]
    for left_out in range(len(keys)):
        fewer = keys[:left_out] + keys[left_out + 1 :]
        assert any(len(found) > 1 for found in texts(name, fewer).values())


@pytest.mark.parametrize("name", ["classes_", "open_tags_", "coverage_", "dropped_tags_"])
def test_an_attribute_of_taggers_has_one_text(name):
    taggers = [kind for kind in CLASSES if kind.__name__.endswith("Tagger")]
    entry = re.compile(rf"^{name} : .*\n(?: .*\n)+", re.M)
    found = {entry.search(inspect.getdoc(kind))[0] for kind in taggers}
    assert (len(taggers), len(found)) == (4, 1)
