"""Weights of sequences: whole ones repeat them, at every sweep, and 0 leaves out."""

from itertools import pairwise

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    HMMClassifier,
    HMMMixture,
    Symbols,
    Transitions,
    VBHMMTagger,
)
from sklearn_cvb.chain.numbers import e_step
from sklearn_cvb.emissions import (
    AutoRegressive,
    Categorical,
    Columns,
    Estimator,
    Gamma,
    Gaussian,
    Mixture,
    NegativeBinomial,
    Poisson,
    Regression,
    StudentT,
    VonMises,
)
from sklearn_cvb.estimators.door import posterior_means_of
from sklearn_cvb.store import write_numbers

RNG = np.random.default_rng(0)
N = 20
WEIGHTS = RNG.integers(0, 4, N)
WEIGHTS[:4] = 2, 1, 0, 3
LENGTHS = RNG.integers(8, 30, N)
WALKS = [
    0.1 * RNG.normal(size=(n, 2)).cumsum(axis=0) + 3 * RNG.integers(3, size=(n, 1)) for n in LENGTHS
]
COUNTS = [RNG.poisson(np.exp(walk.clip(0, 3))) for walk in WALKS]
HOLES = [np.where(RNG.random(walk.shape) < 0.1, np.nan, walk) for walk in WALKS]
WORDS = [RNG.choice(list("abcdef"), n).tolist() for n in LENGTHS]
KNOWN = [[int(RNG.integers(3)) if RNG.random() < 0.2 else None for _ in range(n)] for n in LENGTHS]


def repeated(X, weights=WEIGHTS):
    """Each sequence as often as its weight says."""
    return [x for x, times in zip(X, weights, strict=True) for _ in range(times)]


def apart(one, other):
    """The largest difference of two fits: in counts, as shares of the largest, and in histories."""
    gaps = [
        np.abs(np.subtract(left, right)).max() / max(1.0, np.abs(right).max())
        for left, right in zip(one.counts_, other.counts_, strict=True)
    ]
    assert len(one.history_) == len(other.history_)
    history = np.abs(np.subtract(one.history_, other.history_)).max()
    return max(*gaps, history / max(1.0, np.abs(other.history_).max()))


# What is emitted, of which sequences, and parameters beside.
NUMBERS = {
    "normal": (WALKS, Gaussian(), {}),
    "correlated": (HOLES, Gaussian("full"), {}),
    "tied": (WALKS, Gaussian("tied"), {}),
    "Student": (WALKS, StudentT(), {}),
    "von Mises": (WALKS, VonMises(), {}),
    "Poisson": (COUNTS, Poisson(), {}),
    "negative binomial": (COUNTS, NegativeBinomial(), {}),
    "Gamma": ([np.exp(walk / 3) for walk in WALKS], Gamma(), {}),
    "autoregression": (WALKS, AutoRegressive(1), {}),
    "columns": (WALKS, Columns([(Gaussian(), [0]), (StudentT(), [1])]), {}),
    "categories": ([count[:, :1].clip(0, 3) for count in COUNTS], Categorical(), {}),
    "beyond float64": ([1e4 * walk for walk in WALKS], Gaussian(), {}),
    "beyond float64, durations": (
        [1e4 * walk for walk in WALKS],
        Gaussian(),
        {"transitions": Transitions(durations="poisson")},
    ),
    "learned alpha": (WALKS, Gaussian(), {"alpha": "auto"}),
    "ends": (WALKS, Gaussian(), {"transitions": Transitions(end_state=True)}),
    "independent": (WALKS, Gaussian(), {"transitions": "independent"}),
    "durations": (WALKS, Gaussian(), {"transitions": Transitions(durations="poisson")}),
    "contexts": (
        [np.c_[walk, RNG.integers(2, size=len(walk))] for walk in WALKS],
        Gaussian(),
        {"transitions": Transitions(contexts=2)},
    ),
}
BY_EM = {
    "Viterbi": (WALKS, Gaussian(), {"update": "viterbi"}),
    "Viterbi, durations": (
        WALKS,
        Gaussian(),
        {"update": "viterbi", "transitions": Transitions(durations="poisson")},
    ),
    "accelerated": (WALKS, Gaussian(), {"accelerate": True}),
}
CASES = [
    pytest.param(kind, *case, id=f"{kind.__name__}-{name}")
    for kind in (EMHMM, VBHMM)
    for name, case in (NUMBERS | (BY_EM if kind is EMHMM else {})).items()
    if not (kind is EMHMM and name == "learned alpha")
]


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("n_sweeps", [1, 8])
@pytest.mark.parametrize(("kind", "X", "emission", "more"), CASES)
def test_whole_weights_of_numbers_repeat_sequences_from_the_first_start_on(
    kind, X, emission, more, n_sweeps
):
    model = kind(3, emission=emission, random_state=0, max_iter=n_sweeps, tol=0, **more)
    weighted = model.fit(X, sample_weight=WEIGHTS)
    again = sklearn.clone(model).fit(repeated(X))
    assert apart(weighted, again) < 1e-10
    np.testing.assert_allclose(weighted.score_samples(X), again.score_samples(X), rtol=1e-9)


# Starts of these are drawn, or cut between steps, so that repetitions begin elsewhere.
FROM_A_START = {
    "mixtures": (Mixture(Gaussian(), n_components=2), "full"),
    "lines": (Regression([0], [1]), "full"),
    "left-right": (Gaussian(), "left-right"),
}


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
@pytest.mark.parametrize("name", FROM_A_START)
def test_from_the_same_start_all_of_them_repeat(kind, name):
    emission, transitions = FROM_A_START[name]
    begin = EMHMM(3, emission=emission, transitions=transitions, random_state=0, max_iter=3, tol=0)
    begin = posterior_means_of(begin.fit(WALKS))
    for n_sweeps in (1, 6):
        model = kind(3, emission=emission, transitions=transitions, max_iter=n_sweeps, tol=0)
        again = sklearn.clone(model.set_params(init=begin)).fit(repeated(WALKS))
        assert apart(model.fit(WALKS, sample_weight=WEIGHTS), again) < 1e-10


@pytest.mark.parametrize("scale", [1.0, 700.0])
def test_sequences_that_leave_float64_count_as_often(scale):
    rng = np.random.default_rng(0)
    start, moves = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    moves[0, 1] = moves[1, 2] = 0.0
    chain = e_step.ChainTables(start[None], moves[None], None)
    starts, times = np.array([0, 4, 9, 15]), np.array([2.5, 0.25, 3.0])
    logs = scale * rng.normal(size=(15, 3))

    def inferred(rows, begins, times=None):
        stretches = e_step.plain_stretches(begins)
        return e_step.infer(chain, e_step.scores_from_logs(rows), begins, stretches, times)

    found, pairs = inferred(logs, starts, times), np.zeros((3, 3))
    for i, (begin, end) in enumerate(pairwise(starts)):
        alone = inferred(logs[begin:end], np.array([0, end - begin]))
        assert abs(found.log_z[i] - alone.log_z[0]) <= 1e-12 * abs(alone.log_z[0])
        np.testing.assert_allclose(found.posterior[begin:end], times[i] * alone.posterior)
        pairs += times[i] * alone.pairs[0]
    np.testing.assert_allclose(found.pairs[0], pairs, rtol=1e-9, atol=1e-12)


SYMBOLS = {
    "plain": {},
    "left-right": {"transitions": "left-right"},
    "ends": {"transitions": Transitions(end_state=True)},
    "independent": {"transitions": "independent"},
    "rare": {"emission": Symbols(handle_unknown="rare")},
}


@pytest.mark.parametrize("n_sweeps", [1, 8])
@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
@pytest.mark.parametrize("name", SYMBOLS)
def test_whole_weights_of_symbols_repeat_sequences(kind, name, n_sweeps):
    model = kind(3, random_state=0, max_iter=n_sweeps, tol=0, **SYMBOLS[name])
    again = sklearn.clone(model).fit(repeated(WORDS))
    assert apart(model.fit(WORDS, sample_weight=WEIGHTS), again) < 1e-10
    # A word that a single copy has tells of unknown ones, and no other does.
    new = [["a", "never", "b"]]
    np.testing.assert_allclose(model.score_samples(new), again.score_samples(new), rtol=1e-10)


def test_hard_em_of_symbols_and_learned_concentrations():
    for model in (
        EMHMM(3, update="viterbi", max_iter=8, tol=0),
        VBHMM(3, alpha="auto", max_iter=30),
    ):
        model.set_params(random_state=0, tol=0)
        again = sklearn.clone(model).fit(repeated(WORDS))
        assert apart(model.fit(WORDS, sample_weight=WEIGHTS), again) < 1e-10


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_known_states_go_with_their_sequences(kind):
    begin = kind(3, random_state=1, max_iter=3, tol=0).fit(WORDS)
    model = kind(3, supervision="y", init=begin, max_iter=5, tol=0)
    again = sklearn.clone(model).set_params(init=begin).fit(repeated(WORDS), repeated(KNOWN))
    kept = np.flatnonzero(WEIGHTS)
    model.set_params(init=begin).fit(WORDS, KNOWN, sample_weight=WEIGHTS)
    assert apart(model, again) < 1e-10
    for row, labels in zip(kept, model.labels_, strict=True):
        told = [(k, z) for k, z in zip(KNOWN[row], labels, strict=True) if k is not None]
        assert all(k == z for k, z in told)


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger])
def test_taggers_repeat_sentences(kind):
    legal = {"a": ["X", "Y"], "b": ["Y"], "c": ["Y", "Z"], "d": ["X"], "e": ["Z", "X"], "f": ["Y"]}
    begin = kind(legal, max_iter=2, tol=0, init="parameter", random_state=0).fit(WORDS)
    model = kind(legal, init=begin, max_iter=6, tol=0)
    again = sklearn.clone(model).set_params(init=begin).fit(repeated(WORDS))
    model.set_params(init=begin).fit(WORDS, sample_weight=WEIGHTS)
    gaps = [abs(a - b).max() for a, b in zip(model.counts_[:2], again.counts_[:2], strict=True)]
    assert max(*gaps, abs(model.counts_.emission - again.counts_.emission).max()) < 1e-10
    tags = model.predict(repeated(WORDS))
    assert model.score(repeated(WORDS), tags) == 1.0
    mixed = [tags_[:1] + ["Q"] * (len(tags_) - 1) for tags_ in map(list, model.predict(WORDS))]
    expected = model.score(repeated(WORDS), repeated(mixed))
    assert abs(model.score(WORDS, mixed, WEIGHTS) - expected) < 1e-12


def test_fractions_are_a_power_of_the_likelihood():
    """A plain restatement of a sweep of EM: posteriors of each sequence times its weight."""
    weights, X = RNG.uniform(0.1, 2.0, N), WALKS
    begin = EMHMM(3, emission=Gaussian("diag"), random_state=0, max_iter=4, tol=0).fit(X)
    model = EMHMM(3, emission=Gaussian("diag"), init=begin, max_iter=1, tol=0)
    model.fit(X, sample_weight=weights)
    # `init` gives posteriors; the first M-step is made of these and of products of neighbours.
    posteriors = begin.predict_proba(X)
    start = sum(w * p[0] for w, p in zip(weights, posteriors, strict=True))
    pairs = sum(w * p[:-1].T @ p[1:] for w, p in zip(weights, posteriors, strict=True))
    held = np.concatenate([w * p for w, p in zip(weights, posteriors, strict=True)])
    steps = np.concatenate(X)
    means = held.T @ steps / held.sum(axis=0)[:, None]
    spread = [h @ (steps - mean) ** 2 / h.sum() for h, mean in zip(held.T, means, strict=True)]
    parameters = {
        "startprob": start / start.sum(),
        "transmat": pairs / pairs.sum(axis=1, keepdims=True),
        "emission": Gaussian("diag"),
        "means": means,
        "covariances": np.array(spread),
    }
    point = EMHMM.from_parameters(**parameters)
    logs, found = point.score_samples(X), point.predict_proba(X)
    n_steps = weights @ LENGTHS
    assert abs(model.history_[0] - weights @ logs) < 1e-8 * abs(weights @ logs)
    held = np.concatenate([w * p for w, p in zip(weights, found, strict=True)])
    np.testing.assert_allclose(held.sum(), n_steps)
    np.testing.assert_allclose(
        model.counts_.start, sum(w * p[0] for w, p in zip(weights, found, strict=True)), atol=1e-8
    )
    np.testing.assert_allclose(model.means_, held.T @ steps / held.sum(axis=0)[:, None], atol=1e-8)
    scored = model.score(X, sample_weight=weights)
    assert abs(scored - weights @ model.score_samples(X) / n_steps) < 1e-12
    tiny = sklearn.clone(model).set_params(init=begin).fit(X, sample_weight=1e-3 * weights)
    np.testing.assert_allclose(tiny.means_, model.means_, atol=1e-8)


def test_estimators_as_emissions_see_weights():
    from sklearn.linear_model import LogisticRegression

    choices = [np.c_[walk, walk[:, 0] + RNG.logistic(size=len(walk)) > 1] for walk in WALKS]
    emission = Estimator(LogisticRegression(), inputs=[0, 1], outputs=[2])
    begin = EMHMM(2, emission=emission, random_state=0, max_iter=3, tol=0).fit(choices)
    fits = []
    for X, weights in ((choices, WEIGHTS), (repeated(choices), None)):
        model = EMHMM(2, emission=emission, init=begin, max_iter=3, tol=0)
        fits.append(model.fit(X, sample_weight=weights))
    np.testing.assert_allclose(fits[0].history_, fits[1].history_, rtol=1e-9)
    for one, other in zip(*(fit.estimators_ for fit in fits), strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)


def test_many_threads_and_what_is_wrong_with_weights():
    model = VBHMM(2, emission=Gaussian(), random_state=0, max_iter=3, tol=0)
    one = sklearn.clone(model).fit(WALKS, sample_weight=WEIGHTS)
    two = sklearn.clone(model).set_params(n_jobs=2).fit(WALKS, sample_weight=WEIGHTS)
    assert np.array_equal(one.history_, two.history_)
    wrong = WEIGHTS.astype(float)
    wrong[5] = -1
    for weights, why in (
        (WEIGHTS[1:], r"shape \(19,\), but X holds 20 sequences"),
        (np.ones((N, 2)), r"shape \(20, 2\)"),
        (wrong, r"sample_weight\[5\] is -1.0"),
        (np.where(wrong < 0, np.nan, wrong), r"sample_weight\[5\] is nan"),
        (np.zeros(N), "zero for all sequences"),
        (["much"] * N, "must hold numbers"),
    ):
        with pytest.raises(ValueError, match=why):
            model.fit(WALKS, sample_weight=weights)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
@pytest.mark.parametrize("X", [WALKS, COUNTS, WORDS])
def test_weights_of_1_are_none(kind, X):
    emission = "categorical" if X is WORDS else Gaussian()
    model = kind(3, emission=emission, random_state=0, n_init=2, max_iter=4, tol=0)
    plain, ones = (sklearn.clone(model).fit(X, sample_weight=w) for w in (None, np.ones(N)))
    assert np.array_equal(plain.history_, ones.history_)
    # One that is left out is not there.
    first = [1] * (N - 1) + [0]
    plain, ones = sklearn.clone(model).fit(X[:-1]), sklearn.clone(model).fit(X, sample_weight=first)
    assert np.array_equal(plain.history_, ones.history_)


def test_sequences_of_weight_0_are_as_if_they_were_not_there():
    model = VBHMM(2, random_state=0, max_iter=3, tol=0)
    strange = [*WORDS, ["unheard", "of"]]
    model.fit(strange, sample_weight=[*WEIGHTS, 0])
    kept = [word for word, times in zip(WORDS, WEIGHTS, strict=True) if times]
    assert "unheard" not in model.vocabulary_.tolist()
    assert [len(one) for one in model.labels_] == list(map(len, kept))


def test_intervals_and_what_is_read_part_by_part_have_no_weights(tmp_path):
    model = VBHMM(2, emission=Gaussian(), random_state=0, max_iter=3, tol=0)
    store = write_numbers(WALKS, tmp_path / "walks")
    with pytest.raises(ValueError, match="sample_weight is for sequences in memory"):
        model.fit(store, sample_weight=WEIGHTS)
    model.fit(WALKS, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="intervals count each sequence once"):
        model.credible_intervals(WALKS)
    again = sklearn.clone(model).fit(repeated(WALKS))
    found, expected = (one.credible_intervals(method="mean field") for one in (model, again))
    np.testing.assert_allclose(found.transition, expected.transition, atol=1e-9)


def test_a_fit_that_goes_on_goes_by_its_weights():
    model = EMHMM(3, emission=Gaussian(), random_state=0, max_iter=3, tol=0, warm_start=True)
    model.fit(WALKS, sample_weight=WEIGHTS).fit(WALKS, sample_weight=WEIGHTS)
    whole = EMHMM(3, emission=Gaussian(), random_state=0, max_iter=6, tol=0)
    whole.fit(WALKS, sample_weight=WEIGHTS)
    assert np.array_equal(model.means_, whole.means_)
    # Other weights are other data.
    others = np.where(WEIGHTS > 0, WEIGHTS + 1, 0)
    begun = sklearn.clone(model).fit(WALKS, sample_weight=others)
    model.fit(WALKS, sample_weight=others)
    assert np.array_equal(model.means_, begun.means_)


CLASSES = np.arange(N) % 2


def test_classifiers_hand_weights_on():
    inner = VBHMM(2, random_state=0, max_iter=5, tol=0)
    weighted = HMMClassifier(inner).fit(WORDS, CLASSES, sample_weight=WEIGHTS)
    again = HMMClassifier(inner).fit(repeated(WORDS), np.repeat(CLASSES, WEIGHTS))
    np.testing.assert_allclose(
        weighted.predict_proba(WORDS), again.predict_proba(WORDS), atol=1e-10
    )
    assert weighted.class_count_.tolist() == again.class_count_.tolist()
    with pytest.raises(
        TypeError, match=r"'sample_weight'; it takes X, y and .* CVBHMM takes besides: nothing"
    ):
        HMMClassifier(CVBHMM(2)).fit(WORDS, CLASSES, sample_weight=WEIGHTS)
    # A class that is left out is none.
    alone = np.where(CLASSES == 1, 0, WEIGHTS + 1)
    with pytest.raises(ValueError, match="holds only one class where sample_weight is not 0: 0"):
        HMMClassifier(inner).fit(WORDS, CLASSES, sample_weight=alone)


def test_mixtures_hand_weights_on():
    model = HMMMixture(EMHMM(2, max_iter=20), n_components=2, n_init=2, random_state=0)
    weighted = model.fit(WORDS, sample_weight=WEIGHTS)
    again = sklearn.clone(model).fit(repeated(WORDS))
    np.testing.assert_allclose(weighted.predict_proba(WORDS), again.predict_proba(WORDS), atol=1e-7)
    np.testing.assert_allclose(weighted.weights_, again.weights_, atol=1e-8)
    assert len(weighted.labels_) == np.count_nonzero(WEIGHTS)


def test_searches_route_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        asked = EMHMM(2, random_state=0, max_iter=5, tol=0)
        asked.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asked, {"n_components": [1, 2]}, cv=KFold(2), refit=False)
        search.fit(WORDS, sample_weight=WEIGHTS)
        half = N // 2
        by_hand = [
            sklearn.clone(asked)
            .fit([WORDS[i] for i in train], sample_weight=WEIGHTS[train])
            .score([WORDS[i] for i in test], sample_weight=WEIGHTS[test])
            for train, test in ((range(half, N), range(half)), (range(half), range(half, N)))
        ]
        assert abs(search.cv_results_["mean_test_score"][1] - np.mean(by_hand)) < 1e-12
        inner = VBHMM(2, random_state=0, max_iter=3, tol=0)
        with pytest.raises(UnsetMetadataPassedError):
            HMMClassifier(inner).fit(WORDS, CLASSES, sample_weight=WEIGHTS)
        inner.set_fit_request(sample_weight=True)
        fitted = HMMClassifier(inner).fit(WORDS, CLASSES, sample_weight=WEIGHTS)
        assert fitted.class_count_.sum() == WEIGHTS.sum()


def test_nobody_else_takes_weights():
    import inspect

    import sklearn_cvb

    takes = {
        name
        for name, kind in vars(sklearn_cvb).items()
        if isinstance(kind, type)
        and hasattr(kind, "fit")
        and "sample_weight" in inspect.signature(kind.fit).parameters
    }
    assert takes == {"EMHMM", "VBHMM", "EMHMMTagger", "VBHMMTagger"}
