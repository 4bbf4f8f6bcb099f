"""Series of numbers one batch after the other: what each batch adds, in plain words."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Durations,
    StepSizes,
    Transitions,
    open_store,
    write_numbers,
)
from sklearn_cvb.chain.numbers import leave_out
from sklearn_cvb.emissions import Categorical, Columns, Gaussian, Poisson
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.streams import seen
from sklearn_cvb.streams.seen import step_size

KINDS = (EMHMM, VBHMM, CVBHMM)
EMISSIONS = {
    "full": Gaussian(),
    "mixed": Columns([(Gaussian("diag"), [0, 1]), (Poisson(), [2])]),
}


def series(n_steps, seed):
    """Two numbers and a count, some of them missing."""
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(n_steps) < 0.1) % 2
    numbers = rng.normal(states[:, None] * [4.0, -1.0], 1.0)
    table = np.column_stack([numbers, rng.poisson(1.0 + 4.0 * states)])
    table[rng.random(table.shape) < 0.04] = np.nan
    return table


BATCHES = [[series(40, 10 * i + j) for j in range(6)] for i in range(5)]


def statistics_of(model, X):
    """What series tell under the posteriors that a model predicts: (K, S), and steps by state."""
    family = model._learned.extra.numeric.family
    numeric = model._learned.extra.numeric
    total, steps = 0.0, 0.0
    for one, posterior in zip(X, model.predict_proba(X), strict=True):
        given = family.read(one), posterior, np.array([0, len(one)]), numeric.predicting
        total = total + family.statistics(*given)[0].T
        steps = steps + posterior.sum(axis=0)
    return total, steps


def steps_by_state(counts):
    return counts.start + counts.transition.sum(axis=0)


def deviation(kind, emission):
    """How far statistics after a batch are from those of before, mixed with those of the batch."""
    model = kind(2, emission=emission, random_state=0, max_iter=4, tol=0).fit(BATCHES[0])
    batch = BATCHES[1][:1] if kind is CVBHMM else BATCHES[1]
    before, (own, steps) = model.counts_, statistics_of(model, batch)
    n_before, n_batch = (sum(map(len, X)) for X in (BATCHES[0], batch))
    model.partial_fit(batch)
    rho = step_size(n_before + n_batch, n_batch, 1.0, StepSizes().offset)
    whole = n_before + n_batch
    kept, share = (1.0 - rho) * whole / n_before, rho * whole / n_batch
    expected = kept * before.emission + share * own
    off = np.abs(model.counts_.emission - expected).max() / np.abs(expected).max()
    by_state = kept * steps_by_state(before) + share * steps
    return max(off, np.abs(steps_by_state(model.counts_) - by_state).max() / whole)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("emission", EMISSIONS.values(), ids=EMISSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_counts_move_towards_what_the_batch_tells(kind, emission):
    assert deviation(kind, emission) < 1e-12


def _nothing_known(monkeypatch):
    monkeypatch.setattr(leave_out, "with_prior_statistics", lambda statistics, prior: statistics)


def _all_of_the_last(monkeypatch):
    monkeypatch.setattr(seen, "step_size", lambda *given: 1.0)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("error", [_nothing_known, _all_of_the_last])
def test_planted_errors_are_seen(error, monkeypatch):
    error(monkeypatch)
    assert deviation(CVBHMM, EMISSIONS["full"]) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_batch_is_a_sweep_of_a_fit(kind):
    model = kind(2, emission="gaussian", random_state=3, max_iter=1, tol=0)
    fitted, begun = clone(model).fit(BATCHES[0]), clone(model).partial_fit(BATCHES[0])
    for one, other in zip(begun.counts_, fitted.counts_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert (begun.n_batches_seen_, fitted.n_batches_seen_) == (1, 0)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_the_objective_is_that_of_a_sweep_where_the_batch_is_all(kind):
    """Half of two copies of the data: a batch stands for as much as it has."""
    model = kind(2, emission="gaussian", random_state=0, max_iter=6, tol=0).fit(BATCHES[0])
    steps = StepSizes(total_samples=len(BATCHES[0]))
    again = clone(model).set_params(max_iter=5, step_sizes=steps).fit(BATCHES[0])
    again.partial_fit(BATCHES[0])
    assert again.history_[-1] == pytest.approx(model.history_[-1], rel=1e-12)
    assert steps_by_state(again.counts_).sum() == pytest.approx(240)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_visits_are_counted_in_batches(kind):
    """A batch of all there is tells what the next sweep of a fit finds."""
    lasting = Transitions(durations=Durations("histogram", longest=9))
    model = kind(2, emission="gaussian", transitions=lasting, random_state=0, max_iter=4, tol=0)
    before, after = (clone(model).set_params(max_iter=n).fit(BATCHES[0]) for n in (4, 5))
    rho = step_size(480, 240, 1.0, StepSizes().offset)
    found = clone(model).fit(BATCHES[0]).partial_fit(BATCHES[0]).counts_
    for one, old, new in zip(found, before.counts_, after.counts_, strict=True):
        np.testing.assert_allclose(one, 2 * ((1 - rho) * old + rho * new), rtol=1e-10, atol=1e-10)
    before.set_params(transitions=Transitions(durations="poisson"))
    with pytest.raises(InvalidParameterError, match="durations have changed"):
        before.partial_fit(BATCHES[0])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_batches_find_what_a_fit_finds(kind):
    model = kind(2, emission="gaussian", random_state=0, tol=0, max_iter=30)
    whole = clone(model).fit([one for batch in BATCHES for one in batch])
    for _ in range(4):
        for batch in BATCHES:
            model.partial_fit(batch)
    assert model.n_batches_seen_ == 20
    assert steps_by_state(model.counts_).sum() == pytest.approx(20 * 240)
    order = np.argsort(model.means_[:, 0]), np.argsort(whole.means_[:, 0])
    np.testing.assert_allclose(model.means_[order[0]], whole.means_[order[1]], atol=0.2)
    assert model.score(BATCHES[0]) > whole.score(BATCHES[0]) - 0.02


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_batch_after_batch(kind, tmp_path):
    write_numbers(BATCHES, tmp_path / "store")
    store = open_store(tmp_path / "store", batch_size=240)
    here = kind(2, emission=EMISSIONS["mixed"], random_state=0)
    there = clone(here).partial_fit(store)
    for batch in BATCHES:
        here.partial_fit(batch)
    assert there.n_batches_seen_ == here.n_batches_seen_ == 5
    for one, other in zip(there.counts_, here.counts_, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_keep_their_columns_and_labels(kind):
    def frame(table):
        labels = np.where(table[:, 0] > 2, "high", "low").astype(object)
        return pd.DataFrame({"x": table[:, 1], "level": labels})

    emission = Columns([(Gaussian("diag"), ["x"]), (Categorical(), ["level"])])
    model = kind(2, emission=emission, random_state=0)
    for batch in BATCHES[:3]:
        model.partial_fit([frame(one) for one in batch])
    assert model.feature_names_in_.tolist() == ["x", "level"]
    assert model.categories_["level"].tolist() == ["high", "low"]
    again = pickle.loads(pickle.dumps(model)).partial_fit([frame(one) for one in BATCHES[3]])
    assert again.n_batches_seen_ == 4
    other = frame(BATCHES[3][0])
    other.loc[3, "level"] = "middle"
    with pytest.raises(ValueError, match="'middle' in column 'level'"):
        model.partial_fit([other])
    with pytest.raises(ValueError, match=r"X\[0\] has 3 columns, but others"):
        model.partial_fit(BATCHES[3])
    with pytest.raises(InvalidParameterError, match="emission or durations have changed"):
        model.set_params(emission="gaussian").partial_fit([frame(BATCHES[3][0])])


@pytest.mark.parametrize("kind", KINDS)
def test_known_states_teach(kind):
    model = kind(2, emission="gaussian", supervision="y", random_state=0)
    for batch in BATCHES[:3]:
        model.partial_fit(batch, [(one[:, 0] < 2).astype(int).tolist() for one in batch])
    assert model.means_[1, 0] < 1.0 < 3.0 < model.means_[0, 0]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("topology", ["left-right", "independent"])
@pytest.mark.parametrize("kind", KINDS)
def test_topologies_hold(kind, topology):
    model = kind(2, emission="gaussian", transitions=topology, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for batch in BATCHES[:3]:
            model.partial_fit(batch)
    if topology == "left-right":
        assert model.transmat_[1, 0] == 0.0
    else:
        np.testing.assert_allclose(model.transmat_[0], model.transmat_[1])
    assert len(model.labels_) == 6
