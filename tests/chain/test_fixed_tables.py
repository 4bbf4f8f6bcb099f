"""Tables that stay as they are given: each in each algorithm, against enumeration."""

import pickle
from itertools import cycle, product

import numpy as np
import pytest
from enumerated import KnownChain, enumerated_chain, gaps
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    HMMClassifier,
    HMMParameters,
    Samples,
    Symbols,
    Transitions,
    Windows,
)
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson, Regression
from sklearn_cvb.learning.algorithms import CVB, VB
from sklearn_cvb.learning.dirichlet import SymmetricRows, damped_fixed_point

X = [[0, 1, 2, 1], [3], [2, 0], [1, 3, 0, 1], [3, 0, 0, 2]]
START = np.array([0.2, 0.5, 0.3])
STEPS = np.array([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
WORDS = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.5, 0.25, 0.0]])
KNOWN = HMMParameters(startprob=START, transmat=STEPS, emissionprob=WORDS)
SOME = [True, False, True]
FIXED = {
    "start": {"start": True},
    "transitions": {"transitions": True},
    "emissions": {"emissions": True},
    "some transitions": {"transitions": SOME},
    "some emissions": {"emissions": SOME},
    "both": {"start": True, "transitions": True, "emissions": np.array(SOME)},
    "all": {"start": True, "transitions": True, "emissions": True},
}
WHERE = pytest.mark.parametrize("where", FIXED)
SYMBOLS = Symbols(range(4), handle_unknown="error")


def flat(fixed, end=False):
    """The known cells as the enumeration lays them out."""
    n, cells = 3 + end, []
    rows = {name: np.broadcast_to(value, 3) for name, value in fixed.items()}
    start = START if "start" in fixed else np.full(3, np.nan)
    cells.append(np.append(start, [0.0 if "start" in fixed else np.nan] * end))
    steps, words = np.full((n, n), np.nan), np.full((4, 3), np.nan)
    if "transitions" in fixed:
        steps[:3][rows["transitions"], :3] = STEPS[rows["transitions"]] * (0.8 if end else 1.0)
        if end:
            steps[:3][rows["transitions"], 3] = 0.2
    if "emissions" in fixed:
        words[:, rows["emissions"]] = WORDS.T[:, rows["emissions"]]
    return np.concatenate([*cells, steps.ravel(), words.ravel()])


def known_chain(family, where, value=0.3, end=False, **more):
    """A chain of which some rows are known, and the algorithm."""
    fixed, init = FIXED[where], clone(KNOWN)
    if end:
        init.set_params(transmat=0.8 * STEPS)
        more["transitions"] = Transitions(end_state=True)
    settings = {"alpha": value, "beta": value, "emission": SYMBOLS, "init": init, "fixed": fixed}
    estimator = family(3, **settings | more)
    plain = enumerated_chain(estimator, X, 3)
    return KnownChain(plain.real, plain.uses, plain.rows, flat(fixed, end)), estimator._algorithm()


@pytest.mark.many(usual=14)
@WHERE
@pytest.mark.parametrize(
    ("family", "value", "end"),
    [(EMHMM, 0.0, False), *product([EMHMM, VBHMM, CVBHMM], [0.3], [False, True])],
)
def test_sweeps_are_those_of_the_enumeration(where, family, value, end):
    assert gaps(*known_chain(family, where, value, end)) < 1e-10


def test_free_rows_are_seen():
    """Rows that are not known, but were taken for known, would be noticed."""
    model, algorithm = known_chain(VBHMM, "some transitions")
    wrong = KnownChain(model.real, model.uses, model.rows, flat(FIXED["transitions"]))
    assert gaps(wrong, algorithm) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "update"), list(zip(FIXED, cycle(["token", "sequence", "parameter"]), strict=False))
)
def test_samples_are_of_the_exact_posterior(where, update):
    settings = {"update": update, "max_iter": 3000, "random_state": 0, "samples": Samples(thin=1)}
    model, algorithm = known_chain(GibbsHMM, where, **settings)
    tiny = KnownChain(model.real, model.uses[1:4], model.rows, model.known)
    estimator = GibbsHMM(3, alpha=0.3, beta=0.3, emission=SYMBOLS, init=KNOWN, **settings)
    estimator.set_params(fixed=FIXED[where]).fit(X[1:4])
    expected = tiny.exact_counts(tiny.prior(tiny.hyper()))
    found = model.flat(
        model.counts_of(
            np.concatenate(
                [
                    np.ravel(estimator.counts_.start),
                    np.ravel(estimator.counts_.transition),
                    np.ravel(estimator.counts_.emission),
                ]
            )
        )
    )
    assert np.abs(found - expected).max() < 0.12
    # log p(x, z) of what is known counts, too.
    rng = np.random.default_rng(0)
    state = algorithm.start(model.real, rng)
    for _ in range(3):
        state, value = algorithm.sweep(state, model.real, rng)
        of_counts = model.log_evidence(model.flat(state.counts), model.prior(model.hyper()), None)
        assert value == pytest.approx(of_counts, rel=1e-10)


@pytest.mark.many(usual=13)
@WHERE
@pytest.mark.parametrize(
    ("family", "more"),
    [
        (EMHMM, {}),
        (VBHMM, {}),
        (CVBHMM, {}),
        (CVBHMM, {"update": Windows(2)}),
        (GibbsHMM, {"update": "token"}),
        (GibbsHMM, {"update": "sequence"}),
        (GibbsHMM, {"update": "parameter"}),
    ],
)
def test_what_is_fixed_comes_out_as_given(where, family, more):
    settings = {"max_iter": 12, "random_state": 0, "emission": SYMBOLS, "init": KNOWN}
    model = family(3, fixed=FIXED[where], **settings | more).fit(X)
    shown = {"start": model.startprob_, "transitions": model.transmat_}
    shown["emissions"] = model.emissionprob_
    given = {"start": START, "transitions": STEPS, "emissions": WORDS}
    for name, rows in FIXED[where].items():
        assert np.array_equal(
            shown[name][np.broadcast_to(rows, 3)],
            given[name][rows] if name != "start" and np.ndim(rows) else given[name],
        )
    # What is counted stays what was seen.
    assert model.counts_.emission.sum() == pytest.approx(sum(map(len, X)), rel=1e-9)
    assert model.counts_.start.sum() == pytest.approx(len(X), rel=1e-9)
    if family is not EMHMM and not more:
        lower, upper = model.credible_intervals().start
        assert ("start" in FIXED[where]) == np.array_equal(lower, upper)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(np.stack(copy.predict_proba(X)[:1]), np.stack(model.predict_proba(X)[:1]))


def test_token_updates_fix_emissions_and_starts_alone():
    settings = {"update": "token", "init": KNOWN, "emission": SYMBOLS, "random_state": 0}
    model = CVBHMM(3, fixed={"emissions": True, "start": True}, **settings).fit(X)
    assert np.array_equal(model.emissionprob_, WORDS)
    assert np.array_equal(model.startprob_, START)
    with pytest.raises(ValueError, match="update='sequence'"):
        CVBHMM(3, fixed={"transitions": SOME}, **settings).fit(X)


@pytest.mark.parametrize("algorithm", [VB, CVB])
def test_rows_that_are_fixed_do_not_teach_concentrations(algorithm):
    family = {VB: VBHMM, CVB: CVBHMM}[algorithm]
    settings = {"init": KNOWN, "emission": SYMBOLS, "tol": 0, "random_state": 0}
    some = {"transitions": SOME, "start": True}
    model = family(3, alpha=0.1, beta=0.3, max_iter=2, fixed=some, warm_start=True, **settings)
    counts = model.fit(X).counts_.transition[1:2]
    # CVB asks first how surely sums of pairs are positive.
    model.set_params(alpha="auto", max_iter=1 + (algorithm is CVB)).fit(X)
    if family is VBHMM:
        ones = np.ones_like(counts), counts.sum(axis=1), np.ones(1)
        expected = damped_fixed_point(
            0.1, [SymmetricRows(counts, ones[0], ones[1], ones[2], 3)], 1.0, 1.0
        )
        assert model.alpha_ == pytest.approx(expected, rel=1e-9)
    assert model.alpha_ != 0.1
    for wrong in ({"transitions": True, "start": True}, {"emissions": True}):
        with pytest.raises(ValueError, match="no row is left to learn"):
            family(3, alpha="auto", beta="auto", fixed=wrong, **settings).fit(X)


def test_a_fitted_model_says_what_stays():
    first = VBHMM(3, emission=SYMBOLS, random_state=0, max_iter=5).fit(X)
    model = CVBHMM(3, emission=SYMBOLS, init=first, fixed={"transitions": True}).fit(X[:3])
    assert np.allclose(model.transmat_, first.transmat_, atol=1e-15)


def test_restarts_warm_starts_and_checkpoints_keep_it(tmp_path):
    init = HMMParameters(transmat=STEPS)
    settings = {"init": init, "fixed": {"transitions": True}, "emission": SYMBOLS}
    for family in (EMHMM, VBHMM, CVBHMM):
        model = family(3, n_init=3, max_iter=6, tol=0, random_state=0, **settings)
        whole = clone(model).fit(X)
        assert len(set(whole.restart_objectives_)) == 3
        half = clone(model).set_params(max_iter=3, n_init=1, warm_start=True).fit(X)
        half.fit(X)
        assert np.array_equal(half.transmat_, STEPS)
        saved = clone(model).set_params(checkpoint=tmp_path / family.__name__, warm_start=True)
        saved.set_params(max_iter=3).fit(X)
        again = clone(saved).set_params(max_iter=6).fit(X)
        assert np.array_equal(again.history_, whole.history_)
        assert np.array_equal(again.transmat_, STEPS)


def test_batches_keep_it():
    model = EMHMM(3, init=KNOWN, fixed={"emissions": True}, emission=SYMBOLS)
    for part in (X[:2], X[2:]):
        model.partial_fit(part)
    assert np.array_equal(model.emissionprob_, WORDS)


def test_searches_and_classifiers_keep_it():
    model = CVBHMM(3, init=KNOWN, fixed={"emissions": True}, emission=SYMBOLS, max_iter=5)
    grid = {"alpha": [0.1, 1.0], "beta": [0.1], "transitions__sticky": [0.0, 2.0]}
    best = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X * 2).best_estimator_
    assert np.array_equal(best.emissionprob_, WORDS)
    classifier = HMMClassifier(model).fit(X, [0, 1, 0, 1, 0])
    assert all(np.array_equal(one.emissionprob_, WORDS) for one in classifier.estimators_)
    emission = Gaussian()
    known = HMMParameters(emissions={"means": np.zeros((3, 1)) + [[0.0], [3.0], [6.0]]})
    numbers = EMHMM(3, emission=emission, init=known, fixed={"emissions": True}, max_iter=3)
    table = [np.random.default_rng(i).normal(3, 3, (20, 1)) for i in range(4)]
    search = GridSearchCV(
        numbers.set_params(init__startprob=None),
        {"emission__reg_covar": [1e-6, 1e-3]},
        cv=2,
        error_score="raise",
    )
    assert np.allclose(search.fit(table).best_estimator_.means_, known.emissions["means"])


def test_taggers_keep_the_legal_cells():
    words = [["a", "b", "a"], ["b", "c"]]
    legal = {"a": ["N"], "b": ["N", "V"], "c": ["V"]}
    known = HMMParameters(emissionprob=[[0.5, 0.5, 0], [0, 0.25, 0.75]], vocabulary=list("abc"))
    tagger = EMHMMTagger(legal, init=known, fixed={"emissions": True}, random_state=0)
    tagger.fit(words)
    assert tagger.emissionprob_[:, :3].tolist() == [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]


NUMBERS = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [4.0]], 20, axis=0)
EMISSIONS = {
    "full": (Gaussian("full"), NUMBERS),
    "tied": (Gaussian("tied"), NUMBERS),
    "tied regression": (Regression([0], covariance_type="tied"), NUMBERS),
    "diag": (Gaussian("diag"), NUMBERS),
    "spherical": (Gaussian("spherical"), NUMBERS),
    "poisson": (Poisson(), np.abs(NUMBERS * 3).round()),
    "bernoulli": (Bernoulli(), (NUMBERS > 2).astype(float)),
    "categories": (Categorical(), np.clip(NUMBERS.round(), 0, 3)),
    "columns": (Columns([(Gaussian("diag"), [0]), (Poisson(), [1])]), np.abs(NUMBERS.round())),
}


@pytest.mark.many(usual=8)
@pytest.mark.parametrize("kind", EMISSIONS)
@pytest.mark.parametrize("family", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
def test_numbers_stay(kind, family):
    emission, table = EMISSIONS[kind]
    first = EMHMM(2, emission=emission, random_state=0).fit([table[:30]])
    fixed = {"emissions": True, "transitions": [True, False]}
    model = family(2, emission=emission, init=first, fixed=fixed, max_iter=5, random_state=0)
    model.fit([table[::2], table[1::2]])
    assert np.allclose(model.transmat_[0], first.transmat_[0], atol=1e-15)
    family_of = model._learned.extra.numeric.family
    for name, expected in family_of.attributes(family_of.point).items():
        pairs = [(getattr(model, name), expected)]
        if isinstance(expected, list) and isinstance(expected[0], dict):
            both = zip(getattr(model, name), first.parts_, strict=True)
            pairs = [(own[key], one[key]) for own, one in both for key in one]
        elif isinstance(expected, list):
            pairs = list(zip(getattr(model, name), getattr(first, name), strict=True))
        else:
            pairs = [(getattr(model, name), getattr(first, name))]
        for found, given in pairs:
            assert np.allclose(found, given, rtol=1e-12)
    if family is VBHMM:
        assert np.all(np.diff(model.history_) > -1e-9)
    for rows in (table[::2], table[1::2]):
        observations, scores = family_of.read(rows), np.empty((len(rows), 2))
        whole, posterior = np.array([0, len(rows)]), np.tile([1.0, 0.0], (len(rows), 1))
        family_of.log_densities(family_of.point).fill(observations, whole, scores)
        statistics = family_of.statistics(observations, posterior, whole)[0]
        expected = pytest.approx(scores[:, 0].sum(), rel=1e-9)
        assert family_of.log_evidence(statistics) == expected
    if family is not EMHMM:
        interval = model.credible_intervals().emission
        while not isinstance(interval, np.ndarray):
            interval = next(iter(interval.values() if isinstance(interval, dict) else interval))
        assert np.array_equal(interval[0], interval[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fixed": {"steps": True}}, "fixed maps 'start', 'transitions' and 'emissions'"),
        ({"fixed": {"start": [True, False, False]}}, "fixed maps"),
        ({"fixed": {"transitions": [True, False]}}, r"shape \(3,\)"),
        ({"fixed": {"transitions": 1}}, "fixed maps"),
        ({"fixed": {"transitions": True}, "init": None}, "fixed needs what is to stay"),
        (
            {"fixed": {"transitions": True}, "init": HMMParameters(startprob=START)},
            r"fixed\['transitions'\] needs transmat in init",
        ),
        (
            {"fixed": {"start": True}, "transitions": Transitions(prior=HDP())},
            "an HDP as prior of transitions",
        ),
    ],
)
def test_what_cannot_be_fixed_is_told(settings, message):
    with pytest.raises(ValueError, match=message):
        VBHMM(3, **{"init": KNOWN, "emission": SYMBOLS} | settings).fit(X)


def test_numbers_are_fixed_for_all_states_or_none():
    known = HMMParameters(emissions={"means": [[0.0] * 2, [4.0] * 2]})
    model = EMHMM(2, emission="gaussian", init=known)
    with pytest.raises(ValueError, match="for all of them or for none"):
        model.set_params(fixed={"emissions": [True, False]}).fit([NUMBERS])
