"""Parameters that belong together: objects that stand where the usual value is a word."""

import inspect
import pickle
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.utils._param_validation import InvalidParameterError

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMDMV,
    EMHMM,
    EMPCFG,
    HDP,
    IBM1,
    VBHMM,
    ArcWeights,
    Checkpoint,
    CVBHMMTagger,
    Durations,
    EMHMMTagger,
    EMLatentPCFG,
    GammaPrior,
    GibbsHMM,
    GibbsHMMTagger,
    HMMClassifier,
    HMMParameters,
    MiniBatches,
    Samples,
    SplitAndMerge,
    StepSizes,
    Symbols,
    TagDictionary,
    Transitions,
    Valence,
    VBHMMTagger,
    Windows,
)
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.settings import Setting

X = [list("abab"), list("ba"), list("aab"), list("bbab"), list("ab"), list("abb")]
LEGAL = {"a": ["X"], "b": ["X", "Y"]}
TAGS = [["X" if word == "a" else "Y" for word in words] for words in X]
RING = np.array([[True, True, False], [False, True, True], [True, False, True]])

KINDS = [
    kind
    for kind in map(sklearn_cvb.__dict__.get, sklearn_cvb.__all__)
    if inspect.isclass(kind) and issubclass(kind, Setting)
]
MODELS = [getattr(sklearn_cvb, name) for name in SITUATIONS if name != "HMMClassifier"]

# One value of each field that is not the usual one.
OTHERS = {
    GammaPrior: {"shape": 2.0, "rate": 3.0},
    HDP: {"gamma": "auto"},
    Transitions: {
        "topology": RING,
        "end_state": True,
        "start_alpha": 0.3,
        "start": "stationary",
        "sticky": 2.0,
        "prior": HDP(GammaPrior(2.0)),
        "contexts": "hour",
        "durations": Durations("poisson"),
        "inputs": ["heat"],
        "estimator": GaussianNB(var_smoothing=1e-3),
    },
    Durations: {"law": "poisson", "longest": 9},
    Windows: {"length": 7},
    MiniBatches: {"size": 3},
    TagDictionary: {"entries": LEGAL, "weight": 0.5, "denoise": "none", "unknown_tags": ["X"]},
    Valence: {
        "extended": True,
        "backoff": "direction",
        "alpha_backoff": 0.4,
        "alpha_stop": GammaPrior(3.0),
    },
    StepSizes: {"decay": 0.8, "offset": 2.0, "total_samples": 50},
    Checkpoint: {"folder": "here", "every": 3},
    Samples: {"burn_in": 2, "thin": 3, "temperatures": (2.0, 0.5)},
    SplitAndMerge: {"round_length": 5, "merge_share": 0.25},
    IBM1: {"n_sweeps": 2},
    Symbols: {"vocabulary": ["a", "b"], "handle_unknown": "rare"},
    ArcWeights: {"weights": {("VERB", "NOUN"): 2.0}, "tag_classes": {"V": "VERB"}},
}
_TABLES = "startprob", "transmat", "emissionprob", "vocabulary"
OTHERS[HMMParameters] = {name: [0.5, 0.5] for name in _TABLES} | {"emissions": {"means": [0.5]}}
# What no field may be.
BAD = {
    HMMParameters: [(name, 3.0) for name in (*_TABLES, "emissions")],
    GammaPrior: [("shape", 0.5), ("shape", "a"), ("rate", 0.0), ("rate", np.inf)],
    HDP: [("gamma", 0.0), ("gamma", "all"), ("gamma", (1.0, 1.0))],
    Transitions: [
        ("topology", "ring"),
        ("end_state", "yes"),
        ("start_alpha", -1.0),
        ("start", "anywhere"),
        ("sticky", -0.1),
        ("sticky", "auto"),
        ("prior", "pitman-yor"),
        ("contexts", -1),
        ("contexts", 1.5),
        ("durations", "gamma"),
        ("inputs", "heat"),
        ("estimator", "logistic"),
        ("estimator", LinearRegression()),
    ],
    Durations: [("law", "gamma"), ("law", 3), ("longest", 0), ("longest", 2.5)],
    Windows: [("length", 0), ("length", 2.5), ("length", None)],
    MiniBatches: [("size", 0), ("size", None)],
    TagDictionary: [
        ("entries", [("a", "X")]),
        ("weight", -1.0),
        ("denoise", True),
        ("unknown_tags", "NN"),
    ],
    Valence: [("extended", 1.5), ("backoff", "all"), ("alpha_backoff", 0.0), ("alpha_stop", -1.0)],
    StepSizes: [("decay", 0.5), ("decay", 1.1), ("offset", -1.0), ("total_samples", 0)],
    Checkpoint: [("folder", 3), ("every", 0), ("every", 1.5)],
    Samples: [("burn_in", -1), ("thin", 0), ("temperatures", 2.0)],
    SplitAndMerge: [("round_length", 1), ("merge_share", 1.0), ("merge_share", -0.1)],
    IBM1: [("n_sweeps", -1), ("n_sweeps", 1.5)],
    Symbols: [("vocabulary", 3), ("handle_unknown", "ignore")],
    ArcWeights: [("weights", 3), ("tag_classes", ["V"])],
}
# An estimator's parameter, and where in it an object stands.
PLACES = {
    HMMParameters: ("init", VBHMM),
    GammaPrior: ("alpha", VBHMM),
    HDP: ("transitions__prior", VBHMM),
    Transitions: ("transitions", VBHMM),
    Durations: ("transitions__durations", VBHMM),
    Windows: ("update", CVBHMM),
    MiniBatches: ("update", EMPCFG),
    TagDictionary: ("tag_dictionary", EMHMMTagger),
    Valence: ("valence", EMDMV),
    StepSizes: ("step_sizes", EMHMM),
    Checkpoint: ("checkpoint", EMHMM),
    Samples: ("samples", GibbsHMM),
    SplitAndMerge: ("schedule", EMLatentPCFG),
    IBM1: ("init", sklearn_cvb.EMAlignmentHMM),
    Symbols: ("emission", VBHMM),
    ArcWeights: ("arc_weights", EMDMV),
}


def made(kind, **values):
    """An object with these fields; a folder is always asked for."""
    return kind(**({"folder": "here"} if kind is Checkpoint else {}) | values)


def same(one, other):
    """Whether two values of parameters are equal, objects by their fields."""
    if isinstance(one, Setting | BaseEstimator) and isinstance(other, Setting | BaseEstimator):
        left, right = one.get_params(deep=False), other.get_params(deep=False)
        return type(one) is type(other) and all(same(left[name], right[name]) for name in left)
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


def fitted(model):
    return model.fit(X).history_.tolist()


# Each object


def test_every_object_has_its_cases():
    assert set(OTHERS) == set(BAD) == set(PLACES) == set(KINDS)
    for kind in KINDS:
        names = {field.name for field in fields(kind)}
        assert names == set(OTHERS[kind]) == {name for name, _ in BAD[kind]}
        usual = made(kind)
        assert not any(same(value, getattr(usual, name)) for name, value in OTHERS[kind].items()
                       if name != "folder")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_clones_and_pickles_are_equal_and_apart(kind):
    whole = made(kind, **OTHERS[kind])
    for copy in (clone(whole), pickle.loads(pickle.dumps(whole))):
        assert same(copy, whole)
        assert copy is not whole
        for name, value in OTHERS[kind].items():
            if isinstance(value, Setting):
                assert getattr(copy, name) is not value
    assert list(whole.get_params(deep=False)) == sorted(OTHERS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_clones_and_pickles_what_it_is_given(kind):
    name, estimator = PLACES[kind]
    whole = made(kind, **OTHERS[kind])
    model = estimator().set_params(**{name: whole})
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        found = copy.get_params()[name]
        assert same(found, whole)
        assert found is not whole
    assert type(whole).__name__ in repr(model)


@pytest.mark.many(usual=7)
@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, *bad) for kind, cases in BAD.items() for bad in cases],
    ids=str,
)
def test_a_bad_field_is_named_with_its_class(kind, name, value, tmp_path, monkeypatch):
    """Whatever is learned from: nothing of X is read by then."""
    monkeypatch.chdir(tmp_path)
    place, estimator = PLACES[kind]
    model = estimator().set_params(**{place: made(kind, **{name: value})})
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of {kind.__name__} must"):
        model.fit(X)
    assert not hasattr(model, "history_")


def test_what_fields_cannot_be_together():
    for samples in (Samples(temperatures=(1.0,)), Samples(temperatures=(1.0, -1.0))):
        with pytest.raises(InvalidParameterError, match="two positive numbers"):
            GibbsHMM(samples=samples).fit(X)
    with pytest.raises(InvalidParameterError, match="needs extended=True"):
        EMDMV(valence=Valence(backoff="head")).fit(X)
    with pytest.raises(InvalidParameterError, match="every must be a number of sweeps"):
        EMHMM(checkpoint=Checkpoint("here", every="often")).fit(X)
    for kind in (sklearn_cvb.GibbsPCFG, sklearn_cvb.GibbsAlignmentHMM):
        with pytest.raises(InvalidParameterError, match="does not anneal"):
            kind(samples=Samples(temperatures=(2.0, 1.0))).fit(
                [(["a"], ["b"])] if kind is sklearn_cvb.GibbsAlignmentHMM else X
            )


# Words are short for objects

EQUAL = [
    (VBHMM(3, transitions="left-right"), {"transitions": Transitions("left-right")}),
    (VBHMM(3, transitions=RING), {"transitions": Transitions(RING)}),
    (VBHMM(3), {"transitions": Transitions(), "emission": Symbols(), "alpha": 0.1}),
    (
        VBHMM(3),
        {"emission": Symbols(["a", "b"], handle_unknown="smooth"), "step_sizes": StepSizes()},
    ),
    (VBHMM(3, alpha="auto"), {"alpha": GammaPrior(), "max_iter": 30}),
    (VBHMM(3, beta="auto"), {"beta": GammaPrior(1, 1), "max_iter": 30}),
    (
        VBHMM(3, transitions=Transitions(prior="hdp")),
        {"transitions": Transitions(prior=HDP()), "alpha": 1.0, "n_init": 3},
    ),
    (
        VBHMM(3, transitions=Transitions(prior=HDP("auto"))),
        {"transitions": Transitions(prior=HDP(GammaPrior())), "max_iter": 30},
    ),
    (CVBHMM(3, emission=Symbols(handle_unknown="smooth")), {"emission": "categorical"}),
    (GibbsHMM(3), {"samples": Samples()}),
    (GibbsHMM(3), {"samples": Samples(10, thin=10)}),
    (GibbsHMMTagger(LEGAL), {"samples": Samples(temperatures=(2.0, 0.08))}),
    (EMHMMTagger(LEGAL), {"tag_dictionary": TagDictionary(LEGAL)}),
    (EMHMMTagger(LEGAL), {"emission": Symbols(handle_unknown="form")}),
    (EMDMV(), {"valence": Valence()}),
    (EMPCFG(update="sequence"), {"update": MiniBatches(1), "step_sizes": StepSizes(0.7)}),
]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize(("word", "objects"), EQUAL, ids=str)
def test_words_and_objects_give_equal_fits(word, objects):
    settings = {"max_iter": objects.get("max_iter", 20), "random_state": 0}
    one = clone(word).set_params(**settings)
    other = clone(word).set_params(**settings | objects)
    assert fitted(one) == fitted(other)


UNEQUAL = [
    (VBHMM(3), "alpha__rate", 50.0, {"alpha": "auto", "max_iter": 30}),
    (VBHMM(3), "transitions__sticky", 5.0, {}),
    (VBHMM(3), "transitions__end_state", True, {}),
    (VBHMM(3), "transitions__start_alpha", 7.0, {}),
    (VBHMM(3), "transitions__topology", RING, {}),
    (VBHMM(3), "transitions__prior", "hdp", {}),
    (VBHMM(3), "transitions__prior__gamma", 9.0, {"transitions": Transitions(prior="hdp")}),
    (VBHMM(3), "emission__vocabulary", ["a", "b", "c"], {}),
    (VBHMM(3), "emission__handle_unknown", "error", {}),
    (CVBHMM(3), "update__length", 2, {}),
    (EMPCFG(), "update__size", 2, {"update": MiniBatches(1)}),
    (EMPCFG(), "step_sizes__decay", 0.9, {"update": "sequence"}),
    (GibbsHMM(3), "samples__temperatures", (3.0, 0.5), {}),
    (VBHMMTagger({"a": {"X": 3, "Y": 1}, "b": ["Y"]}), "tag_dictionary__weight", 9.0, {}),
    (VBHMMTagger({"a": ["X", "Y"]}), "tag_dictionary__unknown_tags", ["X"], {}),
    (EMDMV(), "valence__extended", True, {}),
    (EMDMV(), "arc_weights__weights", {("a", "b"): 9.0}, {"arc_weights": {("b", "a"): 1.0}}),
]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize(("model", "name", "value", "others"), UNEQUAL, ids=str)
def test_every_field_is_heeded(model, name, value, others):
    settings = {"max_iter": 20, "random_state": 0} | others
    one, other = (clone(model).set_params(**settings) for _ in range(2))
    assert fitted(one) != fitted(other.set_params(**{name: value}))


# Nested names


@pytest.mark.parametrize("estimator", MODELS)
def test_nested_names_turn_words_into_objects(estimator):
    usual = estimator()
    assert estimator._settings
    for name, kind in estimator._settings.items():
        for field, value in OTHERS[kind].items():
            if kind is Checkpoint and field == "every":
                model = estimator(checkpoint="here").set_params(checkpoint__every=value)
                assert model.checkpoint.folder == "here"
            elif kind is Checkpoint:
                continue
            else:
                model = clone(usual).set_params(**{f"{name}__{field}": value})
            found = getattr(model, name)
            assert type(found) is kind
            assert same(getattr(found, field), value)
            assert same(model.get_params()[f"{name}__{field}"], value)
        with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
            estimator(**{name: made(kind)}).set_params(**{f"{name}__nothing": 1})


def test_a_nested_name_keeps_what_the_word_said():
    model = VBHMM(transitions="left-right", alpha="auto").set_params(transitions__sticky=2.0)
    assert (model.transitions.topology, model.transitions.sticky) == ("left-right", 2.0)
    tagger = CVBHMMTagger(LEGAL).set_params(tag_dictionary__denoise="none")
    assert tagger.tag_dictionary.entries == LEGAL
    # Also of a word that is set in the same call, whatever comes first.
    model.set_params(transitions__end_state=True, transitions="constant")
    assert (model.transitions.topology, model.transitions.sticky) == ("constant", 0.0)
    model.set_params(transitions__prior__gamma=3.0)
    assert model.transitions.prior.gamma == 3.0
    model.set_params(transitions__prior__gamma__rate=2.0)
    assert (model.transitions.prior.gamma.shape, model.transitions.prior.gamma.rate) == (1.0, 2.0)
    gaussian = EMHMM(emission="gaussian").set_params(emission__covariance_type="diag")
    assert gaussian.emission.covariance_type == "diag"


SEARCHES = [
    (VBHMM(2), {"alpha": [0.01, 0.1, 5.0]}),
    (VBHMM(2), {"alpha": ["auto", GammaPrior(2.0, 1.0)], "max_iter": [30]}),
    (VBHMM(2), {"transitions__sticky": [0.0, 1.0, 50.0]}),
    (CVBHMM(2), {"transitions": ["full", "constant"], "transitions__end_state": [False, True]}),
    (GibbsHMM(2), {"samples__thin": [1, 5], "samples__burn_in": [2]}),
    (
        VBHMM(2, transitions=Transitions(prior="hdp")),
        # Weights are learned from sweep 20 on.
        {"transitions__prior__gamma": [0.1, 9.0], "max_iter": [40]},
    ),
]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(("model", "grid"), SEARCHES, ids=str)
def test_searches_over_words_and_fields(model, grid):
    model = clone(model).set_params(max_iter=15, random_state=0)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X)
    by_hand = []
    for chosen in search.cv_results_["params"]:
        scores = [
            clone(model).set_params(**chosen).fit(X[half]).score(X[other])
            for half, other in ((slice(3, 6), slice(0, 3)), (slice(0, 3), slice(3, 6)))
        ]
        by_hand.append(np.mean(scores))
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert len(set(by_hand)) > 1
    # The estimator that was given is as it was.
    assert same(search.estimator.transitions, model.transitions)


def test_a_search_over_covariances_begins_with_a_word():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(12, 2)) @ [[3.0, 1.0], [0.0, 0.2]] for _ in range(6)]
    model = EMHMM(2, emission="gaussian", max_iter=5, random_state=0)
    grid = {"emission__covariance_type": ["full", "diag", "spherical"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(series)
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    assert (
        search.best_estimator_.emission.covariance_type
        == search.best_params_["emission__covariance_type"]
    )
    assert model.emission == "gaussian"


def test_a_search_over_the_weight_of_a_dictionary():
    weighted = {"a": {"X": 9, "Y": 1}, "b": {"X": 1, "Y": 2}}
    model = CVBHMMTagger(weighted, supervision="none", max_iter=10, random_state=0)
    grid = {"tag_dictionary__weight": [0.0, 2.0, 50.0], "tag_dictionary__denoise": ["none"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, TAGS)
    assert (
        search.best_estimator_.tag_dictionary.weight
        == (search.best_params_["tag_dictionary__weight"])
    )
    assert search.best_score_ > 0.5
    assert model.tag_dictionary is weighted


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(
    "grid",
    [
        {"estimator__transitions__sticky": [0.0, 50.0]},
        {"estimator__alpha": [0.01, 5.0]},
        {"estimator__emission__handle_unknown": ["smooth", "rare"]},
    ],
    ids=str,
)
def test_searches_within_a_classifier(grid):
    y = ["u", "v", "u", "v", "u", "v"]
    classifier = HMMClassifier(VBHMM(2, max_iter=10, random_state=0))
    search = GridSearchCV(classifier, grid, cv=2, error_score="raise", scoring="neg_log_loss").fit(
        X, y
    )
    (name,) = grid
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    found = search.best_estimator_.estimators_[0].get_params()[name.removeprefix("estimator__")]
    assert found == search.best_params_[name]
    assert classifier.estimator.transitions == "full"
