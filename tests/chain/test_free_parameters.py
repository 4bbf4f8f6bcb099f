"""The d of AIC and BIC: what a fit may move, and nothing else."""

import pickle

import numpy as np
import pytest

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Durations,
    EMHMMTagger,
    GibbsHMM,
    HMMMixture,
    HMMParameters,
    Symbols,
    Transitions,
    VBHMMTagger,
    write_numbers,
    write_store,
)
from sklearn_cvb.emissions import (
    AutoRegressive,
    Categorical,
    Columns,
    Exponential,
    Gamma,
    Gaussian,
    Mixture,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Regression,
    StudentT,
    VonMises,
    ZeroInflated,
)
from sklearn_cvb.metrics import relabel

RNG = np.random.default_rng(0)
# Twenty sequences of twenty of five symbols, and states of them.
X = RNG.integers(5, size=(20, 20)).tolist()
STATES = RNG.integers(3, size=(20, 20)).tolist()
SERIES = list(RNG.normal(size=(6, 20, 1)))
WEATHER = [np.column_stack([one, RNG.integers(2, size=20)]) for one in SERIES]
EVERY = {"max_iter": 3, "random_state": 0}

START, STEPS = [0.2, 0.3, 0.5], [[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]]
WORDS = RNG.dirichlet(np.ones(5), 3)
KNOWN = HMMParameters(startprob=START, transmat=STEPS, emissionprob=WORDS, vocabulary=range(5))
WITH_ZEROS = HMMParameters(
    startprob=[0.5, 0.5, 0.0],
    transmat=[[0.5, 0.5, 0.0], *STEPS[1:]],
    emissionprob=[[0.0, 0.25, 0.25, 0.25, 0.25], *WORDS[1:]],
    vocabulary=range(5),
)
BEGINS = HMMParameters(startprob=[0.5, 0.5, 0.0])
TABLE = np.array([[True, True, False], [False, True, True], [True, False, True]])
FIRST = [True, False, False]
# Of three normal states: means and variances that are known.
NORMALS = {"means": [[-1.0], [0.0], [1.0]], "covariances": [[[1.0]], [[1.0]], [[1.0]]]}


def n_free(model, data):
    """The d that AIC adds twice."""
    return round((model.aic(data) + 2 * model.score_samples(data).sum()) / 2, 6)


def fitted(kind, data, y=None, **settings):
    return kind(3, **{**EVERY, **settings}).fit(data, y)


# Three states, five symbols: start 2, transitions 6, symbols 12.
TRANSITIONS = {
    "full": ("full", 2 + 6 + 12),
    "left-right": ("left-right", 0 + (2 + 1) + 12),
    "a table": (TABLE, 2 + 3 + 12),
    "independent": ("independent", 2 + 0 + 12),
    "constant": ("constant", 2 + 0 + 12),
    "ends": (Transitions(end_state=True), 2 + 9 + 12),
    "left-right with ends": (Transitions("left-right", end_state=True), 0 + (3 + 2 + 1) + 12),
    "constant with ends": (Transitions("constant", end_state=True), 2 + 3 + 12),
    "sticky": (Transitions(sticky=2.0), 2 + 6 + 12),
}
FIXED = {
    "start": ({"start": True}, 6 + 12),
    "transitions": ({"transitions": True}, 2 + 12),
    "emissions": ({"emissions": True}, 2 + 6),
    "a row of transitions": ({"transitions": FIRST}, 2 + 4 + 12),
    "a row of emissions": ({"emissions": FIRST}, 2 + 6 + 8),
    "rows of both": ({"transitions": FIRST, "emissions": FIRST}, 2 + 4 + 8),
    "all": ({"start": True, "transitions": True, "emissions": True}, 0),
}


@pytest.mark.many(usual=9)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("name", TRANSITIONS)
def test_transitions_and_symbols(kind, name):
    transitions, expected = TRANSITIONS[name]
    by = {"update": "sequence"} if kind is GibbsHMM else {}
    assert n_free(fitted(kind, X, transitions=transitions, **by), X) == expected


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("name", FIXED)
def test_what_is_fixed_is_not_free(kind, name):
    fixed, expected = FIXED[name]
    by = {"update": "sequence"} if kind is GibbsHMM else {}
    assert n_free(fitted(kind, X, init=KNOWN, fixed=fixed, **by), X) == expected


SYMBOLS = {
    "declared, never seen": (Symbols(vocabulary=range(7)), 18),
    "unknown refused": (Symbols(handle_unknown="error"), 12),
    "unknown in training": (Symbols(vocabulary=range(4)), 12),
    "rare, nothing seen once": (Symbols(handle_unknown="rare"), 12),
    "rare": (Symbols(handle_unknown="rare"), 3 * 6),
}


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("name", SYMBOLS)
def test_unknown_symbols(kind, name):
    emission, of_symbols = SYMBOLS[name]
    data = [*X, ["once", 1, 2]] if name == "rare" else X
    assert n_free(fitted(kind, data, emission=emission), data) == 2 + 6 + of_symbols


@pytest.mark.many(usual=8)
@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (EMHMM, {"transitions": Transitions(start="stationary")}, 6 + 12),
        (VBHMM, {"transitions": Transitions(prior="hdp")}, 20),
        (GibbsHMM, {"transitions": Transitions(prior="hdp")}, 20),
        # Each zero is a cell less, where nothing is added to counts.
        (EMHMM, {"init": WITH_ZEROS}, 17),
        (EMHMM, {"init": WITH_ZEROS, "fixed": {"transitions": FIRST}}, 1 + 4 + 11),
        (EMHMM, {"init": WITH_ZEROS, "alpha": 0.1}, 2 + 6 + 11),
        (EMHMM, {"init": WITH_ZEROS, "alpha": 0.1, "beta": 0.1}, 20),
        (EMHMM, {"init": BEGINS, "transitions": TABLE}, 1 + 3 + 12),
        (EMHMM, {"init": EMHMM.from_parameters(WITH_ZEROS)}, 17),
        (VBHMM, {"init": WITH_ZEROS}, 20),
        (CVBHMM, {"init": WITH_ZEROS}, 20),
        (EMHMM, {"init": KNOWN}, 20),
        (EMHMM, {"supervision": "y"}, 20),
        (VBHMM, {"supervision": "y"}, 20),
    ],
)
def test_starts_priors_zeros_and_labels(kind, settings, expected):
    y = STATES if "supervision" in settings else None
    assert n_free(fitted(kind, X, y, **settings), X) == expected


# Two columns, three states: 2 + 6 of the chain, and so many for each state.
COUNTS = list(RNG.poisson(3.0, size=(4, 20, 2)) + 1.0)
FAMILIES = {
    "full": (Gaussian("full"), 3 * (2 + 3)),
    "tied": (Gaussian("tied"), 3 * 2 + 3),
    "diag": (Gaussian("diag"), 3 * (2 + 2)),
    "spherical": (Gaussian("spherical"), 3 * (2 + 1)),
    "Student": (StudentT(degrees_of_freedom=4.0), 3 * 4),
    "Student, degrees learned": (StudentT(degrees_of_freedom=None), 3 * 6),
    "Poisson": (Poisson(), 3 * 2),
    "exponential": (Exponential(), 3 * 2),
    "Gamma": (Gamma(shape=2.0), 3 * 2),
    "Gamma, shape learned": (Gamma(shape=None), 3 * 4),
    "negative binomial": (NegativeBinomial(size=2.0), 3 * 2),
    "multinomial": (Multinomial(), 3 * 1),
    "von Mises": (VonMises(), 3 * 4),
    "categorical": (Categorical(n_categories=20), 3 * 2 * 19),
    "mixture": (Mixture(Gaussian("diag"), 2), 3 * (4 + 4 + 1)),
    "columns": (Columns([(Poisson(), [0]), (Gaussian("full"), [1])]), 3 * (1 + 2)),
    "zero-inflated": (Columns([(ZeroInflated(Poisson()), [0]), (Poisson(), [1])]), 3 * (2 + 1)),
    "regression": (Regression([0]), 3 * (2 + 1)),
    "autoregressive": (AutoRegressive(1), 3 * (2 * 3 + 3)),
    "tied regression": (Regression([0], covariance_type="tied"), 3 * 2 + 1),
    "a shared slope": (Regression([0], switching=[]), 3 * 2 + 1),
    "a shared lag": (AutoRegressive(2, switching=[1]), 3 * (2 * 3 + 3) + 4),
    "tied autoregressive": (AutoRegressive(1, covariance_type="tied"), 3 * (2 * 3) + 3),
}


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("name", FAMILIES)
def test_families_of_numbers(name):
    emission, of_family = FAMILIES[name]
    data = [(one % 6) - 3 for one in COUNTS] if name == "von Mises" else COUNTS
    assert n_free(fitted(EMHMM, data, emission=emission), data) == 8 + of_family


NUMBERS = {
    "start": ({"start": True}, 6 + 6),
    "transitions": ({"transitions": True}, 2 + 6),
    "emissions": ({"emissions": True}, 2 + 6),
    "all": ({"start": True, "transitions": True, "emissions": True}, 0),
}


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_fixed(kind, name):
    fixed, expected = NUMBERS[name]
    given = HMMParameters(startprob=START, transmat=STEPS, emissions=NORMALS)
    model = fitted(kind, SERIES, emission="gaussian", init=given, fixed=fixed)
    assert n_free(model, SERIES) == expected


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_contexts(kind):
    model = fitted(kind, WEATHER, emission="gaussian", transitions=Transitions(contexts=1))
    assert n_free(model, WEATHER) == 2 + 2 * 6 + 6
    if kind is not EMHMM:
        # The table of contexts to come is no part of what was fitted.
        pooled = Transitions(contexts=1, prior="pooled")
        model = fitted(kind, WEATHER, emission="gaussian", transitions=pooled)
        assert n_free(model, WEATHER) == 2 + 2 * 6 + 6


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
@pytest.mark.parametrize(
    ("transitions", "expected"),
    [
        # Starts, moves to either other state, normals, and durations.
        (Transitions(durations="poisson"), 2 + 3 + 6 + 3),
        (Transitions(durations="negative_binomial"), 2 + 3 + 6 + 3),
        (Transitions(durations=Durations("histogram", longest=5)), 2 + 3 + 6 + 3 * 4),
        (Transitions(durations="histogram"), 2 + 3 + 6 + 3 * 19),
        # The first state leads to two others, the last one to none: it has no law.
        (Transitions("left-right", durations="poisson"), 0 + 1 + 6 + 2),
        (Transitions("left-right", durations=Durations(longest=5)), 0 + 1 + 6 + 2 * 4),
    ],
)
def test_durations(kind, transitions, expected):
    model = fitted(kind, SERIES, emission="gaussian", transitions=transitions)
    assert n_free(model, SERIES) == expected


def test_durations_with_emissions_that_are_fixed():
    given = HMMParameters(startprob=START, emissions=NORMALS)
    lasting = {"transitions": Transitions(durations="poisson"), "init": given}
    model = fitted(EMHMM, SERIES, emission="gaussian", fixed={"emissions": True}, **lasting)
    assert n_free(model, SERIES) == 2 + 3 + 0 + 3


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger])
@pytest.mark.parametrize("unknown", ["error", "form"])
@pytest.mark.parametrize("once", [False, True])
def test_dictionaries(kind, unknown, once):
    """Legal cells alone: two tags, four words, one of which has both."""
    entries = {"the": ["D"], "dog": ["N"], "cat": ["N"], "that": ["D", "N"]}
    data = [["the", "dog"], ["that", "cat"], ["the", "cat"], ["that"], ["dog"]]
    data = data if once else data * 2
    known = {"vocabulary": list(entries), "handle_unknown": unknown}
    model = kind(tag_dictionary=entries, emission=Symbols(**known), random_state=0).fit(data)
    # No word is seen once: unknown ones have nothing of their own.
    assert n_free(model, data) == 1 + 2 + (2 - 1) + (3 - 1)
    model = kind(tag_dictionary=entries, emission=Symbols(**known), random_state=0)
    more = [*data, ["the", "owl"]]
    if unknown == "form":
        # The owl is one of the unknown words that were trained on.
        assert n_free(model.fit(more), more) == 1 + 2 + (3 - 1) + (4 - 1)


def test_mixtures_of_chains():
    """Of each cluster, and the share of one; the criteria of both."""
    model = HMMMixture(EMHMM(2, max_iter=5), n_init=1, random_state=0).fit(X)
    expected = 2 * (1 + 2 + 2 * 4) + 1
    assert n_free(model, X) == expected
    bic = expected * np.log(400) - 2 * model.score_samples(X).sum()
    assert model.bic(X) == pytest.approx(bic)


def reached(settings, n_symbols):
    """Tables that EM reaches from one start on data that vary."""
    rng, found = np.random.default_rng(1), []
    for _ in range(24):
        model = EMHMM(3, **settings, max_iter=2, tol=0)
        model.fit(rng.integers(n_symbols, size=(6, 8)))
        tables = model.startprob_, model.transmat_, model.emissionprob_
        ends = [model.endprob_] if model.end_counts_ is not None else []
        found.append(np.concatenate([np.ravel(table) for table in (*tables, *ends)]))
    return n_free(model, [[0, 1]]), np.array(found)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fixed": {"transitions": FIRST}},
        {"fixed": {"start": True, "emissions": FIRST}},
        {"transitions": "independent", "init": HMMParameters(emissionprob=WORDS)},
        {"transitions": "left-right", "init": HMMParameters(emissionprob=WORDS)},
        {"transitions": TABLE, "init": HMMParameters(emissionprob=WORDS)},
        {"transitions": Transitions(end_state=True), "init": HMMParameters(emissionprob=WORDS)},
        {"init": WITH_ZEROS},
        {"init": WITH_ZEROS, "fixed": {"emissions": FIRST}},
    ],
    ids=str,
)
def test_d_is_the_dimension_of_what_em_reaches(settings):
    settings = {
        "emission": Symbols(vocabulary=range(5)),
        "init": KNOWN,
        "random_state": 0,
    } | settings
    expected, tables = reached(settings, 5)
    assert np.linalg.matrix_rank(tables - tables.mean(axis=0), tol=1e-8) == expected


def test_pickles_other_names_of_states_and_json_have_the_same_criteria():
    model = fitted(EMHMM, X, init=WITH_ZEROS, fixed={"emissions": FIRST})
    expected = model.aic(X)
    assert n_free(model, X) == 1 + 5 + 8
    assert pickle.loads(pickle.dumps(model)).aic(X) == expected
    assert relabel(model, [2, 0, 1]).aic(X) == pytest.approx(expected)
    assert EMHMM.from_json(model.to_json()).aic(X) == pytest.approx(expected)
    smooth = fitted(VBHMM, X)
    assert EMHMM.from_json(smooth.to_json()).bic(X) == pytest.approx(smooth.bic(X))
    # As many as tables have, where nothing but these is known.
    assert n_free(EMHMM.from_parameters(KNOWN), X) == 20


def test_batches():
    """What comes later counts: symbols, zeros that batches may use, longer sequences."""
    model = EMHMM(3, random_state=0).partial_fit([[0, 1, 2]]).partial_fit([[3, 4, 0]])
    assert n_free(model, X) == 20
    model = fitted(EMHMM, X, init=WITH_ZEROS)
    assert n_free(model.partial_fit(X), X) == 20
    lasting = Transitions(durations="histogram")
    model = EMHMM(3, emission="gaussian", transitions=lasting, random_state=0)
    model.partial_fit([one[:10] for one in SERIES])
    assert n_free(model, SERIES) == 2 + 3 + 6 + 3 * 9
    assert n_free(model.partial_fit(SERIES), SERIES) == 2 + 3 + 6 + 3 * 19
    assert n_free(model.partial_fit([SERIES[0][:4]]), SERIES) == 2 + 3 + 6 + 3 * 19


def test_stores(tmp_path):
    store = write_store(X, tmp_path / "symbols")
    assert n_free(fitted(EMHMM, store), X) == 20
    numbers = write_numbers(SERIES, tmp_path / "numbers")
    lasting = Transitions(durations="histogram")
    model = fitted(EMHMM, numbers, emission="gaussian", transitions=lasting)
    assert n_free(model, SERIES) == 2 + 3 + 6 + 3 * 19
