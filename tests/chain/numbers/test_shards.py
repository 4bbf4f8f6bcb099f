"""Fits of numbers in shards: as on all series, whatever the cut."""

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from estimators import asked_in_parts
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, HMMParameters, Transitions, Windows
from sklearn_cvb.chain.numbers import clusters
from sklearn_cvb.emissions import Columns, Gaussian, Poisson
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.numbers import parts
from sklearn_cvb.scale.parts import PartIndex
from sklearn_cvb.scale.symbols.vocabulary_pass import read_local_parts

KINDS = (EMHMM, VBHMM, CVBHMM)
MIXED = Columns([(Gaussian("diag"), [0, 1]), (Poisson(), [2])])


def _series(n_steps, seed):
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(n_steps) < 0.1) % 3
    numbers = rng.normal(states[:, None] * [4.0, -1.0], 1.0)
    table = np.column_stack([numbers, rng.poisson(1.0 + 4.0 * states)])
    table[rng.random(table.shape) < 0.04] = np.nan
    return table


X = [_series(20 + 3 * i, i) for i in range(24)]


@pytest.fixture(autouse=True)
def _clusters_from_a_sample(monkeypatch):
    """Fewer steps than there are tell where the clusters are."""
    monkeypatch.setattr(clusters, "_SAMPLE", 500)


def fit_in_parts(model, n, y=None, X=X):
    cuts = np.linspace(0, len(X), n + 1).astype(int).tolist()
    own = [(X[a:b], None if y is None else y[a:b]) for a, b in pairwise(cuts)]
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model._fit_reading(read_local_parts(*asked_in_parts(model), own), None, None)


def fit(model, y=None, X=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(model).fit(X, y)


def deviation(one, other):
    """The largest difference of counts, as a share of the largest."""
    pairs = zip(one.counts_, other.counts_, strict=True)
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)


SETTINGS = {
    "kmeans": {},
    "token": {"init": "token"},
    "restarts": {"n_init": 3},
    "end": {"transitions": Transitions(end_state=True)},
    "left-right": {"transitions": "left-right"},
    "left-right again": {"transitions": "left-right", "n_init": 3},
    "cycle": {
        "transitions": np.eye(3, dtype=bool) | np.roll(np.eye(3, dtype=bool), 1, 1),
        "init": HMMParameters(startprob=[1.0, 0.0, 0.0]),
    },
    "means alone": {
        "init": HMMParameters(emissions={"means": [[0, 0, 1], [4, -1, 5], [8, -2, 9]]}),
        "emission": Gaussian("diag"),
    },
    "independent": {"transitions": "independent"},
    "full": {"emission": Gaussian()},
    "known": {
        "init": HMMParameters(
            emissions={
                "means": [[0, 0, 1], [4, -1, 5], [8, -2, 9]],
                "covariances": np.ones((3, 3)),
            }
        ),
        "emission": Gaussian("diag"),
    },
}


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, partial(EMHMM, update="viterbi")])
def test_em_and_vb_are_those_of_all_series(kind, settings):
    given = {"emission": MIXED, **settings}
    model = kind(3, random_state=1, max_iter=5, tol=0, **given)
    whole = fit(model)
    for n in (1, 4):
        found = fit_in_parts(model, n)
        assert deviation(found, whole) < 1e-10
        np.testing.assert_allclose(found.history_, whole.history_, rtol=1e-11)
        np.testing.assert_allclose(found.transmat_, whole.transmat_, rtol=1e-9, atol=1e-12)
        assert found._learned.seen_so_far[:2] == whole._learned.seen_so_far[:2]
        assert found.n_features_in_ == 3


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_cvb_of_one_part_is_that_of_all_series(settings):
    model = CVBHMM(3, random_state=1, max_iter=4, tol=0, **{"emission": MIXED, **settings})
    whole, found = fit(model), fit_in_parts(model, 1)
    assert deviation(found, whole) < 1e-10
    np.testing.assert_allclose(found.history_, whole.history_, rtol=1e-10)
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-10)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("update", [None, Windows(7)])
def test_cvb_in_parts_counts_every_step(update):
    model = CVBHMM(3, emission=MIXED, update=update, random_state=1, max_iter=30, tol=0)
    whole, found = fit(model), fit_in_parts(model, 4)
    counted = found.counts_.start.sum() + found.counts_.transition.sum()
    assert counted == pytest.approx(sum(map(len, X)), rel=1e-12)
    assert found.objective_ == pytest.approx(whole.objective_, abs=0.005)
    assert deviation(found, whole) < 0.02


def test_windows_of_the_longest_series_are_chosen_for_all():
    own = [np.concatenate(X), X[0], X[1]]
    model = CVBHMM(3, emission=MIXED, random_state=1, max_iter=3, tol=0)
    assert deviation(fit_in_parts(model, 1, X=own), fit(model, X=own)) < 1e-10
    read = read_local_parts(*asked_in_parts(model), [(own[:1], None), (own[1:], None)])
    assert {one.model.block_length for one in read.problem.source.shards} == {100}
    read = read_local_parts(*asked_in_parts(model), [(X[:1], None), (X[1:], None)])
    assert {one.model.block_length for one in read.problem.source.shards} == {None}


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_models_to_start_from_and_known_states(kind):
    first = fit(kind(3, emission=MIXED, random_state=0, max_iter=3, tol=0))
    model = kind(3, emission=MIXED, init=FrozenEstimator(first), max_iter=3, tol=0)
    n = 1 if kind is CVBHMM else 3
    assert deviation(fit_in_parts(model, n), fit(model)) < 1e-10
    y = [np.where(np.nan_to_num(one[:, 0]) > 6, 2, -1).tolist() for one in X]
    model = kind(
        3, emission=MIXED, init="token", supervision="y", max_iter=3, tol=0, random_state=0
    )
    assert deviation(fit_in_parts(model, n, y), fit(model, y)) < 1e-10


@pytest.mark.long
def test_a_lost_shard_is_inferred_from_the_counts_of_all():
    model = CVBHMM(3, emission=MIXED, random_state=1, max_iter=20, tol=0)
    read = read_local_parts(*asked_in_parts(model), [(X[:12], None), (X[12:], None)])
    source, asked = read.problem.source, [0]
    plain = source.ask

    def ask(name, *arguments):
        asked[0] += 1
        if asked[0] == 9:
            source.shards[1].states.clear()
        return plain(name, *arguments)

    source.ask = ask
    found = clone(model)._fit_reading(read, None, None)
    whole = fit(model)
    assert found.objective_ == pytest.approx(whole.objective_, abs=0.005)
    counted = found.counts_.start.sum() + found.counts_.transition.sum()
    assert counted == pytest.approx(sum(map(len, X)), rel=1e-12)


def test_surveys_are_those_of_all_series():
    model = EMHMM(2, emission="gaussian")
    own = [parts.survey_of(model, parts.read_part(X[a : a + 6])) for a in range(0, 24, 6)]
    whole = parts.survey_of(model, parts.read_part(X))
    found = parts.merge_surveys(parts.merge_surveys(*own[:2]), parts.merge_surveys(*own[2:]))
    for one, other in zip(found.moments, whole.moments, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    assert found[1:] == whole[1:]


def test_parts_have_the_same_columns():
    frames = [pd.DataFrame(one, columns=["a", "b", "c"]) for one in X]
    model = EMHMM(2, emission="gaussian", random_state=0, max_iter=2, tol=0)
    assert fit_in_parts(model, 3, X=frames).feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="partitions of X have several columns"):
        read_local_parts(
            *asked_in_parts(model),
            [(frames[:3], None), ([frames[4][["b", "a", "c"]]], None)],
        )


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (GibbsHMM(2, emission=MIXED), "use EM, VB or CVB"),
        (VBHMM(2, emission=MIXED, transitions=Transitions(prior="hdp")), "do not learn an HDP"),
        (EMHMM(2, emission=MIXED, init=[np.ones((2, 2))]), "arrays as `init`"),
        (VBHMM(2, emission=MIXED, transitions=Transitions(durations="poisson")), "or a store"),
    ],
)
def test_what_shards_cannot_do_is_refused(model, why):
    with pytest.raises(InvalidParameterError, match=why):
        read_local_parts(*asked_in_parts(model), [(X, None)])


def test_planted_errors_are_seen(monkeypatch):
    model = VBHMM(3, emission=MIXED, random_state=1, max_iter=3, tol=0)
    whole = fit(model)
    assert deviation(fit_in_parts(model, 3), whole) < 1e-10

    def steps_of_others(self, *asked, before=parts.NumberShard.steps_at):
        moved = PartIndex(max(0, self.index.number - 1), self.index.first_unit)
        self.index, own = moved, self.index
        found = before(self, *asked)
        self.index = own
        return found

    monkeypatch.setattr(parts.NumberShard, "steps_at", steps_of_others)
    assert deviation(fit_in_parts(model, 3), whole) > 1e-6
