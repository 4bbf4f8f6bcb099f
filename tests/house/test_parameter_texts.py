"""Every parameter has a type, a text and a default, in the order of signatures that are kept."""

import ast
import inspect
import pickle
import pydoc
import re
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

import sklearn_cvb
from sklearn_cvb.settings import Setting

_CLASSES = [getattr(sklearn_cvb, name) for name in sklearn_cvb.__all__]
OBJECTS = [kind for kind in _CLASSES if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
SETTINGS = [kind for kind in OBJECTS if issubclass(kind, Setting)]
CLASSES = [kind for kind in OBJECTS if kind not in SETTINGS]

_SWEEPS = "init n_init max_iter tol random_state n_jobs"
_ACCELERATED = "init n_init max_iter tol accelerate random_state n_jobs"
_CHAIN = "init n_init max_iter random_state n_jobs samples"
_CHAIN_OF_STATES = "init n_init max_iter random_state n_jobs fixed samples"
_KEPT = "warm_start checkpoint verbose"
_HMM = "n_components / emission transitions alpha beta"
_TAGS = "tag_dictionary / n_components emission transitions alpha beta"
_GRAMMAR = "grammar / n_components rules alpha"
_DEPENDENCIES = "/ alpha valence arc_weights"
_SUBTYPES = "n_subtypes / schedule alpha"
_ALIGNMENT = "/ alpha beta p_null longest_jump dictionary"
_STATES = f"supervision {_KEPT}"
_WORDS = f"supervision handle_unknown vocabulary {_KEPT}"
_PAIRS = f"supervision handle_unknown {_KEPT}"
_TREES = f"{_SWEEPS} rare_threshold horizontal_markovisation decoding {_KEPT}"

# What may be given without its name stands before the stroke.
SIGNATURES = {
    "EMHMM": f"{_HMM} update {_ACCELERATED} fixed step_sizes {_STATES}",
    "VBHMM": f"{_HMM} {_ACCELERATED} fixed step_sizes {_STATES}",
    "CVBHMM": f"{_HMM} update {_SWEEPS} fixed step_sizes {_STATES}",
    "GibbsHMM": f"{_HMM} update {_CHAIN_OF_STATES} {_STATES}",
    "EMHMMTagger": f"{_TAGS} update {_SWEEPS} fixed step_sizes {_STATES}",
    "VBHMMTagger": f"{_TAGS} {_SWEEPS} fixed step_sizes {_STATES}",
    "CVBHMMTagger": f"{_TAGS} update {_SWEEPS} fixed step_sizes {_STATES}",
    "GibbsHMMTagger": f"{_TAGS} update {_CHAIN_OF_STATES} {_STATES}",
    "EMPCFG": f"{_GRAMMAR} update {_ACCELERATED} step_sizes {_WORDS}",
    "VBPCFG": f"{_GRAMMAR} {_ACCELERATED} step_sizes {_WORDS}",
    "CVBPCFG": f"{_GRAMMAR} {_SWEEPS} step_sizes {_WORDS}",
    "HastingsPCFG": f"{_GRAMMAR} {_CHAIN} {_WORDS}",
    "GibbsPCFG": f"{_GRAMMAR} {_CHAIN} {_WORDS}",
    "EMDMV": f"{_DEPENDENCIES} update temperature {_ACCELERATED} {_WORDS}",
    "VBDMV": f"{_DEPENDENCIES} {_ACCELERATED} {_WORDS}",
    "CVBDMV": f"{_DEPENDENCIES} {_SWEEPS} {_WORDS}",
    "GibbsDMV": f"{_DEPENDENCIES} {_CHAIN} {_WORDS}",
    "EMLatentPCFG": f"{_SUBTYPES} smoothing {_TREES}",
    "VBLatentPCFG": f"{_SUBTYPES} {_TREES}",
    "CVBLatentPCFG": f"{_SUBTYPES} update {_TREES}",
    "EMAlignmentHMM": f"{_ALIGNMENT} update {_SWEEPS} {_PAIRS}",
    "VBAlignmentHMM": f"{_ALIGNMENT} {_SWEEPS} {_PAIRS}",
    "CVBAlignmentHMM": f"{_ALIGNMENT} {_SWEEPS} {_PAIRS}",
    "GibbsAlignmentHMM": f"{_ALIGNMENT} {_CHAIN} {_PAIRS}",
    "HMMClassifier": "estimator / priors n_jobs",
    "HMMMixture": "estimator / n_components n_init random_state",
    "HMMSmoother": "estimator / weight prior_weight alpha cv n_jobs",
}


def documented(kind):
    """Type with default, and text, of every parameter as a class documents it."""
    text = inspect.cleandoc(kind.__doc__)
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n---|\Z)", text, re.M | re.S)[1]
    found = {}
    for paragraph in re.split(r"\n(?=\S)", section):
        head, *lines = paragraph.splitlines()
        names, type_and_default = head.split(" : ")
        found |= dict.fromkeys(names.split(", "), (type_and_default, lines))
    return found


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_signatures_are_kept(kind):
    first, others = (part.split() for part in SIGNATURES[kind.__name__].split("/"))
    kinds = {name: part.kind.name for name, part in inspect.signature(kind).parameters.items()}
    expected = dict.fromkeys(first, "POSITIONAL_OR_KEYWORD") | dict.fromkeys(others, "KEYWORD_ONLY")
    assert list(kinds.items()) == list(expected.items())


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_says_what_it_is_for_and_when_not_to_take_it(kind):
    first, second, *_ = kind.__doc__.split("\n\n")
    assert first.endswith(".")
    assert "\n" not in first.strip()
    assert second.strip().startswith("Not ")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_starts_and_unknown_words_are_told_in_two_sentences_and_a_link(kind):
    texts = documented(kind)
    for name in {"init", "handle_unknown"} & texts.keys():
        text = " ".join(line.strip() for line in texts[name][1])
        assert len(re.findall(r":ref:`[\w-]+`", text)) == 1, name
        assert len(re.findall(r"\.(?= |$)", text)) == 2, name


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("kind", OBJECTS, ids=lambda kind: kind.__name__)
def test_every_parameter_has_type_text_default_and_constraint(kind):
    parameters, texts = inspect.signature(kind).parameters, documented(kind)
    assert list(texts) == list(parameters) == list(kind._parameter_constraints)
    for name, (type_and_default, lines) in texts.items():
        type_, _, default = type_and_default.partition(", default=")
        expected = ast.literal_eval(default) if default else inspect.Parameter.empty
        assert (bool(type_), parameters[name].default) == (True, expected), name
        assert "".join(lines).strip(), name
        assert kind._parameter_constraints[name], name


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("kind", OBJECTS, ids=lambda kind: kind.__name__)
def test_help_shows_all_texts_and_no_constraint(kind):
    shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    lines = [line.strip(" |") for line in kind.__doc__.splitlines()]
    assert set(lines) <= {line.strip(" |") for line in shown.splitlines()}
    assert "Annotated" not in str(inspect.signature(kind))


@pytest.mark.parametrize(
    ("name", "fixed"),
    [("GibbsHMM", "tol"), ("VBLatentPCFG", "smoothing"), ("CVBDMV", "temperature")],
)
def test_what_is_fixed_is_no_parameter_and_has_no_text(name, fixed):
    kind = getattr(sklearn_cvb, name)
    assert hasattr(kind, fixed)
    assert fixed not in kind().get_params()
    assert f"\n{fixed} : " not in kind.__doc__


def test_a_group_of_fixed_parameters_has_no_attributes_either():
    class Settled(sklearn_cvb.CVBHMM):
        """Learns from whole corpora alone."""

        step_sizes: ClassVar[None] = None  # type: ignore[misc]

    assert "\nn_batches_seen_ : " in sklearn_cvb.CVBHMM.__doc__
    assert "\nn_batches_seen_ : " not in Settled.__doc__


def test_a_class_says_anew_what_differs():
    class Patient(sklearn_cvb.CVBHMM):
        """Sweeps longer.

        Parameters
        ----------
        tol : float
            Never mind.
        """

        max_iter = 500
        n_init: int = 2
        _cache: dict = {}  # noqa: RUF012
        found_: int

    kept = inspect.signature(sklearn_cvb.CVBHMM).parameters
    assert list(inspect.signature(Patient).parameters) == list(kept)
    model = clone(Patient(3, tol=0.5))
    assert (model.n_components, model.max_iter, model.n_init, model.tol) == (3, 500, 2, 0.5)
    assert Patient.__doc__.startswith(
        "Sweeps longer.\n\nParameters\n----------\nn_components : int"
    )
    assert documented(Patient)["tol"] == ("float, default=0.0025", ["    Never mind."])
    assert documented(Patient)["max_iter"][0] == "int, default=500"
    with pytest.raises(ValueError, match="'n_init' parameter of Patient must be an int"):
        Patient(n_init=0).fit([["a", "b"]])


class Own(sklearn_cvb.VBHMM):
    """Has a constructor of its own."""

    def __init__(self, *, n_states=3):
        super().__init__(n_states, max_iter=2, n_init=1)
        self.n_states = n_states


class Inherited(Own):
    """Has that of its parent."""


@pytest.mark.parametrize("kind", [Own, Inherited])
def test_a_constructor_that_is_written_is_kept(kind):
    assert list(inspect.signature(kind).parameters) == ["n_states"]
    model = pickle.loads(pickle.dumps(clone(kind(n_states=2)).fit([["a", "b"], ["b", "a"]])))
    assert (model.n_states, model.n_components, model.n_iter_) == (2, 2, 2)
