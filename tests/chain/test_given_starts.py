"""What a user knows goes in: parameters to start from."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    HMMClassifier,
    HMMParameters,
    Symbols,
    Transitions,
)
from sklearn_cvb.emissions import (
    Bernoulli,
    Categorical,
    Columns,
    Gaussian,
    Mixture,
    Poisson,
    Regression,
    VonMises,
    ZeroInflated,
)
from sklearn_cvb.estimators.door import posterior_means_of

X = [["a", "b", "a", "c"], ["b", "b", "c"], ["a", "c", "c", "c", "b"]]
START = [0.7, 0.3]
STEPS = [[0.8, 0.2], [0.3, 0.7]]
WORDS = [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
KNOWN = HMMParameters(startprob=START, transmat=STEPS, emissionprob=WORDS)
FAMILIES = [EMHMM, VBHMM, CVBHMM, GibbsHMM]

NUMBERS = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [4.0]], 30, axis=0)
EMISSIONS = {
    "full": (Gaussian("full"), NUMBERS),
    "tied": (Gaussian("tied"), NUMBERS),
    "tied regression": (Regression([0], covariance_type="tied"), NUMBERS),
    "diag": (Gaussian("diag"), NUMBERS),
    "spherical": (Gaussian("spherical"), NUMBERS),
    "poisson": (Poisson(), np.abs(NUMBERS * 3).round()),
    "bernoulli": (Bernoulli(), (NUMBERS > 2).astype(float)),
    "mixture": (Mixture(Gaussian("diag")), NUMBERS),
    "zeros": (ZeroInflated(Poisson()), np.abs(NUMBERS[:, :1]).round()),
    "angles": (VonMises(), NUMBERS / 2),
    "categories": (Categorical(), np.clip(NUMBERS.round(), 0, 3)),
    "columns": (Columns([(Gaussian("diag"), [0]), (Poisson(), [1])]), np.abs(NUMBERS.round())),
}


def log_likelihoods(X, start, steps, words, names="abc"):
    """Plain forward algorithm, one sequence at a time."""
    found = []
    for sequence in X:
        columns = [names.index(word) for word in sequence]
        message = np.asarray(start) * np.asarray(words)[:, columns[0]]
        for column in columns[1:]:
            message = (message @ np.asarray(steps)) * np.asarray(words)[:, column]
        found.append(np.log(message.sum()))
    return np.array(found)


def numbers_of(model):
    """What a fitted model of numbers has learned, to go on from."""
    tables = posterior_means_of(model).emissions
    return HMMParameters(startprob=model.startprob_, transmat=model.transmat_, emissions=tables)


def test_first_sweep_is_under_the_given_parameters():
    model = EMHMM(2, init=KNOWN, max_iter=1, tol=0).fit(X)
    # The M-step of one sweep on the counts of the first E-step.
    expected = sum(log_likelihoods(X, START, STEPS, WORDS))
    counts = np.zeros((2, 2))
    first, emitted = np.zeros(2), np.zeros((2, 3))
    for sequence in X:
        columns = ["abc".index(word) for word in sequence]
        paths = np.array(np.meshgrid(*[[0, 1]] * len(columns))).reshape(len(columns), -1).T
        weights = np.array(
            [
                START[path[0]]
                * np.prod([WORDS[k][w] for k, w in zip(path, columns, strict=True)])
                * np.prod([STEPS[i][j] for i, j in pairwise(path)])
                for path in paths
            ]
        )
        assert np.isfinite(logsumexp(np.log(weights)))
        for path, share in zip(paths, weights / weights.sum(), strict=True):
            first[path[0]] += share
            np.add.at(emitted, (path, columns), share)
            np.add.at(counts, (path[:-1], path[1:]), share)
    new = (
        first / first.sum(),
        counts / counts.sum(axis=1, keepdims=True),
        emitted / emitted.sum(axis=1, keepdims=True),
    )
    assert model.objective_ == pytest.approx(sum(log_likelihoods(X, *new)), abs=1e-12)
    assert model.objective_ > expected


@pytest.mark.parametrize("family", FAMILIES)
def test_fits_from_it_clone_pickle_and_run_once(family):
    model = family(2, init=KNOWN, n_init=3, max_iter=30, random_state=0)
    copy = pickle.loads(pickle.dumps(clone(model)))
    with pytest.warns() as caught:
        model.fit(X), copy.fit(X)
    assert any("init says where to start" in str(one.message) for one in caught)
    assert np.array_equal(model.transmat_, copy.transmat_)
    assert len(model.restart_objectives_) == 1


def test_tables_left_out_are_drawn_anew():
    model = EMHMM(2, init=HMMParameters(transmat=STEPS), n_init=3, random_state=0).fit(X)
    assert len(set(model.restart_objectives_)) > 1


def test_columns_are_the_symbols_of_its_vocabulary():
    turned = HMMParameters(emissionprob=np.array(WORDS)[:, ::-1], vocabulary=["c", "b", "a"])
    turned.set_params(startprob=START, transmat=STEPS)
    pair = [EMHMM(2, init=init, max_iter=5, tol=0) for init in (KNOWN, turned)]
    one, other = (model.fit(X) for model in pair)
    order = [list(other.vocabulary_).index(word) for word in one.vocabulary_]
    assert np.allclose(one.emissionprob_[:, :3], other.emissionprob_[:, order], atol=1e-14)
    # What it names is known, also where the data lack it.
    wide = HMMParameters(emissionprob=[[0.25] * 4, [0.1, 0.2, 0.3, 0.4]], vocabulary=list("abcd"))
    assert "d" in EMHMM(2, init=wide, random_state=0).fit(X).vocabulary_


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("kind", EMISSIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_start_from_what_was_learned(kind, family):
    emission, table = EMISSIONS[kind]
    first = EMHMM(2, emission=emission, random_state=0, tol=1e-9, max_iter=500).fit([table])
    known = numbers_of(first)
    again = family(2, emission=emission, init=known, max_iter=2, random_state=0)
    again.fit([table])
    if family is EMHMM:
        assert again.history_[0] == pytest.approx(first.history_[-1], abs=1e-4)
        assert again.history_[0] >= first.history_[-1] - 1e-8
    assert np.mean(again.labels_[0] == first.labels_[0]) > 0.85


def test_means_alone_are_enough():
    known = HMMParameters(emissions={"means": [[4.0, 4.0], [0.0, 0.0]]})
    model = EMHMM(2, emission="gaussian", init=known, random_state=0).fit([NUMBERS])
    assert model.means_[0, 0] > 3 > 1 > model.means_[1, 0]


def test_ends_of_sequences_are_the_rest_of_a_row():
    known = HMMParameters(startprob=START, transmat=np.array(STEPS) * 0.8, emissionprob=WORDS)
    model = EMHMM(2, transitions=Transitions(end_state=True), init=known, max_iter=1, tol=0)
    assert model.fit(X).endprob_.max() > 0


def test_taggers_read_the_legal_cells():
    legal = {"a": ["N"], "b": ["N", "V"], "c": ["V"]}
    known = HMMParameters(startprob=START, transmat=STEPS, emissionprob=WORDS)
    for family in (EMHMMTagger, CVBHMMTagger):
        tagger = family(legal, init=known, emission=Symbols(handle_unknown="smooth")).fit(X)
        assert tagger.predict(X)[0].tolist()[0] == "N"


def test_searches_and_classifiers_keep_it():
    series = [list(np.roll([0, 1, 1, 2], i)) for i in range(8)]
    search = GridSearchCV(
        VBHMM(2, init=KNOWN, max_iter=5),
        {"alpha": [0.1, 1.0], "init__transmat": [STEPS, [[0.5, 0.5], [0.5, 0.5]]]},
        cv=2,
        error_score="raise",
    )
    assert search.fit(series).best_estimator_.init is not KNOWN
    HMMClassifier(EMHMM(2, init=KNOWN, max_iter=2)).fit(series, [0, 1] * 4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"transmat": [[0.8, 0.2], [0.3, 0.6]]}, "transmat: row 1 sums to 0.9"),
        ({"transmat": [[0.8, 0.2], [1.3, -0.3]]}, "transmat: row 1 holds -0.3"),
        ({"transmat": [[0.8, np.nan], [0.3, 0.7]]}, "transmat: row 0 holds nan"),
        ({"startprob": [0.2, 0.2, 0.6]}, r"startprob has shape \(3,\), this model needs \(2,\)"),
        ({"startprob": ["often", "seldom"]}, "startprob must hold numbers"),
        ({"emissionprob": [[0.5, 0.5], [1, 0]]}, "emissionprob has shape"),
        ({"emissions": {"means": [[0], [1]]}}, "means: this model emits symbols"),
        ({"emissionprob": WORDS, "vocabulary": ["a", "b", "b"]}, "vocabulary"),
    ],
)
def test_wrong_tables_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        EMHMM(2, init=HMMParameters(**wrong)).fit(X)


@pytest.mark.parametrize(
    ("emission", "wrong", "message"),
    [
        (
            "gaussian",
            {"mean": [[1, 1], [2, 2]]},
            "'mean' is no parameter of what these states emit: means, covariances",
        ),
        ("gaussian", {"covariances": [[[1, 0], [0, 1]]]}, "covariances has shape"),
        (
            Columns([(Gaussian("diag"), [0]), (Bernoulli(), [1])]),
            {"parts": [{"means": [[1], [2]]}, {"probability": [[0.1], [0.2]]}]},
            "'probability' is no parameter of what these states emit: probabilities",
        ),
        ("gaussian", {"means": [[1], [2]]}, "means has shape"),
        (
            Gaussian("diag"),
            {"means": [[1, 1], [2, 2]], "covariances": [[1, 1], [1, -1]]},
            "covariances: row 1 must be positive",
        ),
        ("poisson", {"rates": [[1, 1], [2, 0]]}, "rates: row 1 must be positive"),
        ("bernoulli", {"probabilities": [[2, 0], [0, 0]]}, "row 0 must be from 0 to 1"),
        ("gaussian", {"emissionprob": WORDS}, "emissionprob is for symbols"),
        (
            "poisson",
            {"rates": [[1, 1], [2, 2]], "rate": [[1, 1], [2, 2]]},
            "'rate' is no parameter of what these states emit: rates",
        ),
    ],
)
def test_wrong_numbers_are_named(emission, wrong, message):
    table = np.abs(NUMBERS).round() if emission == "poisson" else (NUMBERS > 2) + 0.0
    with pytest.raises(ValueError, match=message):
        EMHMM(2, emission=emission, init=HMMParameters.by_name(wrong)).fit([table])


def test_what_the_topology_rules_out_is_refused():
    for topology in ("left-right", "independent"):
        with pytest.raises(ValueError, match="transmat"):
            EMHMM(2, transitions=topology, init=HMMParameters(transmat=STEPS)).fit(X)
