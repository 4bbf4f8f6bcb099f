"""Every parameter has a type, a text and a default, in the order of signatures that are kept."""

import ast
import inspect
import pickle
import pydoc
import re

import pytest
from sklearn.base import BaseEstimator, clone

import sklearn_cvb

_CLASSES = [getattr(sklearn_cvb, name) for name in sklearn_cvb.__all__]
CLASSES = [kind for kind in _CLASSES if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]

_SWEEPS = "n_init max_iter tol init"
_RUNNING = "warm_start checkpoint checkpoint_every random_state n_jobs verbose"
_BATCHES = "learning_decay learning_offset total_samples"
_CHAIN = "temperatures n_burn_in thin"
_EMITTING = "n_components / emission topology supervision end_state"
_HIERARCHY = "transition_prior gamma sticky"
_HMM = "alpha beta start_alpha"
_TAGS = (
    "tag_dictionary / dictionary_weight denoise unknown_tags supervision n_components topology "
    "end_state alpha beta start_alpha"
)
_GRAMMAR = "grammar / n_components rules alpha"
_WORDS_OF_GRAMMAR = f"handle_unknown {_BATCHES} vocabulary supervision {_RUNNING}"
_DEPENDENCIES = "extended_valence backoff alpha_backoff rule_weights"
_TAGGED = f"{_SWEEPS} handle_unknown vocabulary supervision {_RUNNING}"
_ALIGNMENT = "alpha beta p_null longest_jump dictionary"
_PAIRS = f"{_SWEEPS} init_sweeps handle_unknown supervision {_RUNNING}"
_SUBTYPES = "n_subtypes / schedule round_length merge_share alpha"
_TREES = f"{_SWEEPS} rare_threshold horizontal_markovisation decoding {_RUNNING}"
_PRIORS = "alpha_prior beta_prior"
_SYMBOLS = f"{_SWEEPS} handle_unknown {_BATCHES} vocabulary {_RUNNING}"
_DRAWN = f"{_SWEEPS} handle_unknown vocabulary {_RUNNING}"

# What may be given without its name stands before the stroke.
SIGNATURES = {
    "EMHMM": f"{_EMITTING} {_HMM} {_SYMBOLS}",
    "VBHMM": f"{_EMITTING} {_HIERARCHY} {_HMM} {_PRIORS} gamma_prior {_SYMBOLS}",
    "CVBHMM": (
        f"{_EMITTING} {_HIERARCHY} {_HMM} {_PRIORS} gamma_prior update block_length {_SYMBOLS}"
    ),
    "GibbsHMM": f"{_EMITTING} {_HIERARCHY} {_HMM} {_PRIORS} gamma_prior update {_CHAIN} {_DRAWN}",
    "EMHMMTagger": f"{_TAGS} {_SYMBOLS}",
    "VBHMMTagger": f"{_TAGS} {_PRIORS} {_SYMBOLS}",
    "CVBHMMTagger": f"{_TAGS} {_PRIORS} update block_length {_SYMBOLS}",
    "GibbsHMMTagger": f"{_TAGS} {_PRIORS} update {_CHAIN} {_DRAWN}",
    "EMPCFG": f"{_GRAMMAR} update batch_size step_power {_SWEEPS} {_WORDS_OF_GRAMMAR}",
    "VBPCFG": f"{_GRAMMAR} alpha_prior {_SWEEPS} {_WORDS_OF_GRAMMAR}",
    "CVBPCFG": f"{_GRAMMAR} alpha_prior {_SWEEPS} {_WORDS_OF_GRAMMAR}",
    "HastingsPCFG": f"{_GRAMMAR} alpha_prior {_CHAIN} {_TAGGED}",
    "GibbsPCFG": f"{_GRAMMAR} alpha_prior n_burn_in thin {_TAGGED}",
    "EMDMV": f"/ alpha alpha_stop {_DEPENDENCIES} temperature {_TAGGED}",
    "VBDMV": f"/ alpha alpha_stop alpha_prior {_DEPENDENCIES} {_TAGGED}",
    "CVBDMV": f"/ alpha alpha_stop alpha_prior {_DEPENDENCIES} {_TAGGED}",
    "GibbsDMV": f"/ alpha alpha_stop alpha_prior {_DEPENDENCIES} {_CHAIN} {_TAGGED}",
    "EMLatentPCFG": f"{_SUBTYPES} smoothing {_TREES}",
    "VBLatentPCFG": f"{_SUBTYPES} {_TREES}",
    "CVBLatentPCFG": f"{_SUBTYPES} update {_TREES}",
    "EMAlignmentHMM": f"/ {_ALIGNMENT} {_PAIRS}",
    "VBAlignmentHMM": f"/ {_ALIGNMENT} {_PAIRS}",
    "CVBAlignmentHMM": f"/ {_ALIGNMENT} {_PAIRS}",
    "GibbsAlignmentHMM": f"/ {_ALIGNMENT} n_burn_in thin {_PAIRS}",
    "HMMClassifier": "estimator / priors n_jobs",
}


def documented(kind):
    """Type with default, and text, of every parameter as a class documents it."""
    section = re.search(r"^Parameters\n-+\n(.*?)\n\n\w+\n---", kind.__doc__, re.M | re.S)[1]
    found = {}
    for paragraph in re.split(r"\n(?=\S)", section):
        head, *lines = paragraph.splitlines()
        names, type_and_default = head.split(" : ")
        found |= dict.fromkeys(names.split(", "), (type_and_default, lines))
    return found


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_signatures_are_kept(kind):
    first, others = (part.split() for part in SIGNATURES[kind.__name__].split("/"))
    kinds = {name: part.kind.name for name, part in inspect.signature(kind).parameters.items()}
    expected = dict.fromkeys(first, "POSITIONAL_OR_KEYWORD") | dict.fromkeys(others, "KEYWORD_ONLY")
    assert list(kinds.items()) == list(expected.items())


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_parameter_has_type_text_default_and_constraint(kind):
    parameters, texts = inspect.signature(kind).parameters, documented(kind)
    assert list(texts) == list(parameters) == list(kind._parameter_constraints)
    for name, (type_and_default, lines) in texts.items():
        type_, _, default = type_and_default.partition(", default=")
        expected = ast.literal_eval(default) if default else inspect.Parameter.empty
        assert (bool(type_), parameters[name].default) == (True, expected), name
        assert "".join(lines).strip(), name
        assert kind._parameter_constraints[name], name


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_help_shows_all_texts_and_no_constraint(kind):
    shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    lines = [line.strip(" |") for line in kind.__doc__.splitlines()]
    assert set(lines) <= {line.strip(" |") for line in shown.splitlines()}
    assert "Annotated" not in str(inspect.signature(kind))


@pytest.mark.parametrize(
    ("name", "fixed"),
    [("EMHMM", "gamma_prior"), ("CVBHMMTagger", "emission"), ("EMDMV", "alpha_prior")],
)
def test_what_is_fixed_is_no_parameter_and_has_no_text(name, fixed):
    kind = getattr(sklearn_cvb, name)
    assert hasattr(kind, fixed)
    assert fixed not in kind().get_params()
    assert f"\n{fixed} : " not in kind.__doc__


def test_a_group_of_fixed_parameters_has_no_attributes_either():
    assert "\nstate_weights_ : " in sklearn_cvb.CVBHMM.__doc__
    assert "\nstate_weights_ : " not in sklearn_cvb.CVBHMMTagger.__doc__


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
    assert documented(Patient)["tol"] == ("float, default=1e-4", ["    Never mind."])
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
