"""Accelerated sweeps: the equations restated, what is thrown away, and where sweeps stay plain."""

import warnings

import numpy as np
import pytest
from learning.test_convergence import FAMILIES, arrays_of
from scipy.special import xlogy

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMDMV,
    EMHMM,
    VBHMM,
    Checkpoint,
    EMAlignmentHMM,
    EMHMMTagger,
    HMMParameters,
)
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.learning import sweeps
from sklearn_cvb.learning.algorithms import EM, VB
from sklearn_cvb.learning.model import State
from sklearn_cvb.learning.squarem import Extrapolation, accelerated_sweep

# No fit moves less: sweeps are accelerated, and all of them are made.
NEVER = 1e-300

ACCELERATED = [
    (name, title)
    for name, title in FAMILIES
    if "accelerate" in getattr(sklearn_cvb, name)().get_params() and "stepwise" not in title
]


def slow_symbols(n_samples=20):
    return make_hmm_sequences(n_samples, n_components=3, n_symbols=8, random_state=0)[0]


def quietly(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def tables_of(model):
    return [one for one in arrays_of(model._learned.counts) if one is not None]


# The equations, restated for one table of counts: two components of known distributions, and how
# often they are to be chosen.

DENSITIES = np.array([[0.5, 0.3, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1]])
USES = np.array([36.0, 23.0, 13.0, 8.0])


class Weights:
    """EM for the weights of a mixture, on states."""

    def __init__(self, fails_after=None):
        self.n_calls, self.fails_after = 0, fails_after
        self.began = []

    def __call__(self, state):
        self.n_calls += 1
        self.began.append(state.counts)
        if self.fails_after is not None and self.n_calls > self.fails_after:
            raise np.linalg.LinAlgError("singular")
        joint = state.counts[:, None] / state.counts.sum() * DENSITIES
        value = float(USES @ np.log(joint.sum(axis=0)))
        counts = (joint / joint.sum(axis=0) * USES).sum(axis=1)
        return State(counts, None, None, n_sweeps=state.n_sweeps + 1), value


def restated(n_sweeps):
    """Counts from which each sweep begins, written out: cycles of two, from the 20th sweep on."""
    began, values, sweep = [], [], Weights()
    counts, best, longest = np.array([40.0, 40.0]), -np.inf, 4.0

    def em(counts):
        began.append(counts)
        after, value = sweep(State(counts, None, None))
        values.append(max(value, best))
        return after.counts, value

    for _ in range(19):
        counts, best = em(counts)
    trial, length = None, 0.0
    while len(began) < n_sweeps:
        first = counts if trial is None else trial
        second, value = em(first)
        if trial is not None and value < best - 1e-10 * abs(best):
            longest, trial = max(1.5, length / 2), None
            continue
        best = max(best, value)
        if trial is not None and length == longest:
            longest *= 4
        third, value = em(second)
        best = max(best, value)
        x, y, z = np.log(first), np.log(second), np.log(third)
        r, v = y - x, (z - y) - (y - x)
        length = np.sqrt((third * r**2).sum() / (third * v**2).sum())
        length = min(max(length, 1.0), longest)
        alpha = -length
        there = np.exp(np.clip(x - 2 * alpha * r + alpha**2 * v, z - np.log(100), z + np.log(100)))
        counts, trial = third, there * third.sum() / there.sum()
    return began[:n_sweeps], values[:n_sweeps]


def test_sweeps_begin_where_the_equations_say():
    sweep, state, values = Weights(), State(np.array([40.0, 40.0]), None, None), []
    for _ in range(40):
        state, value = accelerated_sweep(state, sweep, 0.0, ())
        values.append(value)
    began, expected = restated(40)
    assert np.allclose(sweep.began, began, rtol=1e-9, atol=0)
    assert np.allclose(values, expected, rtol=1e-13, atol=0)
    # The optimum, where the derivative is 0, long before plain sweeps are there.
    shares = state.counts / state.counts.sum()
    slope = (USES * (DENSITIES[0] - DENSITIES[1]) / (shares @ DENSITIES)).sum()
    assert abs(slope) < 1e-6
    plain = State(np.array([40.0, 40.0]), None, None)
    for _ in range(40):
        plain, _ = Weights()(plain)
    shares = plain.counts / plain.counts.sum()
    assert abs((USES * (DENSITIES[0] - DENSITIES[1]) / (shares @ DENSITIES)).sum()) > 1e-3


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_tables_keep_their_totals_and_cells_that_are_0_stay_so(offset):
    counts = [np.array([[5.0, 0.0], [3.0, 2.0]]) * one for one in (1.0, 1.1, 1.15)]
    state = State(counts[0], None, None, n_sweeps=30)
    for after in counts[1:]:
        state, _ = accelerated_sweep(
            state, lambda _, after=after: (State(after, None, None, n_sweeps=31), 1.0), offset, ()
        )
    proposal = state.extrapolation.proposal
    assert proposal.sum() == pytest.approx(counts[2].sum(), rel=1e-13)
    assert proposal[0, 1] == 0.0
    assert np.allclose(proposal, counts[2], rtol=1e-2)


def test_statistics_go_straight_on():
    def tables(one):
        return type(one)(*map(np.array, one))

    path = [([4.0], [3.0], [[1.0, 5.0], [-2.0, 3.0]]), ([4.0], [3.0], [[2.0, 4.0], [-1.0, 2.0]])]
    path.append(([4.0], [3.0], [[2.5, 3.5], [-0.5, 1.5]]))
    kind = sklearn_cvb.EMHMM(2).fit([[0, 1]] * 3).counts_.__class__
    steps = [tables(kind(*one)) for one in path]
    state = State(steps[0], None, None, n_sweeps=30)
    for after in steps[1:]:
        state, _ = accelerated_sweep(
            state,
            lambda _, after=after: (State(after, None, None, n_sweeps=31), 1.0),
            0.0,
            ("emission",),
        )
    # Each step is half as long as the one before: the limit is twice the first.
    assert state.extrapolation.length == 2.0
    assert np.allclose(state.extrapolation.proposal.emission, [[3.0, 3.0], [0.0, 1.0]])
    assert np.allclose(state.extrapolation.proposal.start, 4.0)


# Sweeps in vain


def in_vain(answer):
    """A sweep from a proposal that goes wrong: the state before it and after it."""
    memory = Extrapolation(-10.0, 4.0, 4.0, proposal=np.array([1.0, 9.0]))
    state = State(np.array([4.0, 6.0]), None, None, n_sweeps=30, extrapolation=memory)
    return state, accelerated_sweep(state, answer, 0.0, ())


def fails(error):
    def sweep(state):
        raise error

    return sweep


@pytest.mark.parametrize(
    "sweep",
    [
        lambda state: (state, -10.1),
        lambda state: (state, np.nan),
        lambda state: (state, np.inf),
        lambda state: (state._replace(unexplained=np.array([3])), -1.0),
        fails(np.linalg.LinAlgError("singular")),
        fails(ValueError("no density")),
        fails(ZeroDivisionError()),
    ],
    ids=["lower", "nan", "infinite", "unexplained", "singular", "refused", "zero"],
)
def test_what_comes_out_lower_is_thrown_away(sweep):
    before, (after, value) = in_vain(sweep)
    assert value == -10.0
    assert after.counts is before.counts
    assert after.n_sweeps == 31
    assert after.extrapolation == Extrapolation(-10.0, 2.0)


def test_what_fails_in_a_plain_sweep_is_raised():
    with pytest.raises(ValueError, match="no density"):
        accelerated_sweep(State(np.ones(2), None, None), fails(ValueError("no density")), 0.0, ())


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_the_same_optimum_in_half_of_the_sweeps(kind):
    X = slow_symbols(80)
    fast = quietly(kind(3, tol=NEVER, max_iter=400, random_state=3), X).history_
    plain = kind(3, tol=0, max_iter=400, random_state=3).fit(X).history_
    assert fast[-1] == pytest.approx(plain[-1], abs=0.01)
    assert np.array_equal(fast[:21], plain[:21])
    close = fast[-1] - 0.01
    assert np.argmax(fast > close) < 0.5 * np.argmax(plain > close)
    # It never falls, and stands still for sweeps in vain.
    assert np.diff(fast).min() >= -1e-10 * abs(fast[-1])
    assert (np.diff(fast[21:200]) == 0).any()


# Every family: where fits end, and that they go on alike


@pytest.mark.many(usual=6)
@pytest.mark.parametrize(("name", "title"), ACCELERATED)
def test_fits_end_where_a_plain_sweep_moves_nothing(name, title):
    situation, kind = SITUATIONS[name][title], getattr(sklearn_cvb, name)
    settings = situation.settings | {"random_state": 0, "warm_start": True}
    fast = quietly(kind(**settings | {"tol": 1e-9, "max_iter": 3000}), situation.X, situation.y)
    before, objective = tables_of(fast), fast.objective_
    after = quietly(fast.set_params(tol=0, max_iter=1), situation.X, situation.y)
    scale = max(1.0, *(np.abs(one).max(initial=0.0) for one in before))
    for one, other in zip(before, tables_of(after), strict=True):
        assert np.abs(one - other).max(initial=0.0) < 1e-6 * scale
    assert after.objective_ >= objective - 1e-9 * abs(objective)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize(("name", "title"), ACCELERATED)
def test_two_fits_are_one(name, title, monkeypatch):
    monkeypatch.setattr(sweeps, "check_convergence", lambda fit, *_: fit)
    situation, kind = SITUATIONS[name][title], getattr(sklearn_cvb, name)
    settings = situation.settings | {"random_state": 0, "warm_start": True, "tol": NEVER}
    whole = quietly(kind(**settings | {"max_iter": 42}), situation.X, situation.y)
    parts = quietly(kind(**settings | {"max_iter": 25}), situation.X, situation.y)
    quietly(parts.set_params(max_iter=17), situation.X, situation.y)
    assert np.array_equal(parts.history_, whole.history_[25:])
    pairs = zip(tables_of(parts), tables_of(whole), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_restarts_on_threads_and_checkpoints_change_nothing(emission, tmp_path):
    X = slow_symbols()
    if emission == "gaussian":
        rng = np.random.default_rng(0)
        X = [rng.normal(np.array(one), 2.0) for one in X]
    settings = {"emission": emission, "n_init": 3, "tol": NEVER, "max_iter": 40, "random_state": 1}
    one = quietly(VBHMM(3, **settings), X)
    threads = quietly(VBHMM(3, **settings, n_jobs=2), X)
    saved = quietly(VBHMM(3, **settings, checkpoint=Checkpoint(tmp_path, every=7)), X)
    for other in (threads, saved):
        assert np.array_equal(one.restart_objectives_, other.restart_objectives_)
        assert np.array_equal(one.transmat_, other.transmat_)


def test_another_prior_begins_with_no_value_to_keep_up_with():
    X = slow_symbols()
    model = quietly(VBHMM(3, tol=NEVER, max_iter=40, warm_start=True, random_state=0), X)
    quietly(model.set_params(alpha=30.0, max_iter=60), X)
    fresh = quietly(VBHMM(3, alpha=30.0, tol=NEVER, max_iter=1000, random_state=0), X)
    assert model.history_[-1] > model.history_[0]
    assert model.objective_ <= fresh.objective_ + 1.0


def test_a_mode_found_fast_is_the_one_of_the_equations():
    """The mixture above as a chain of one step a sequence: its weights in closed form."""
    X = [[symbol] for symbol, n in enumerate(USES.astype(int)) for _ in range(n)]
    point = HMMParameters(
        startprob=[0.5, 0.5],
        transmat=np.full((2, 2), 0.5),
        emissionprob=DENSITIES,
        vocabulary=[0, 1, 2, 3],
    )
    fixed = {"emissions": True}
    model = EMHMM(2, init=point, fixed=fixed, tol=1e-7, max_iter=5000).fit(X)
    grid = np.linspace(1e-6, 1 - 1e-6, 100_001)
    values = xlogy(USES, np.outer(grid, DENSITIES[0]) + np.outer(1 - grid, DENSITIES[1])).sum(1)
    assert model.startprob_[0] == pytest.approx(grid[values.argmax()], abs=1e-3)


# Where sweeps stay plain

PLAIN = {
    "accelerate": {"accelerate": False, "tol": NEVER},
    "tol": {"tol": 0},
    "arrays": {"tol": NEVER, "init": HMMParameters(transmat=np.eye(3) * 0.7 + 0.1)},
    "learned": {"tol": NEVER, "alpha": "auto"},
}


@pytest.mark.parametrize("why", PLAIN)
def test_sweeps_are_plain(why):
    X = slow_symbols()
    model = quietly(VBHMM(3, **PLAIN[why], max_iter=30, random_state=0), X)
    told = PLAIN[why] | {"tol": 0, "accelerate": False}
    plain = VBHMM(3, **told, max_iter=30, random_state=0).fit(X)
    assert np.array_equal(model.history_, plain.history_)


def test_collapsed_vb_taggers_aligners_and_hardened_trees_have_no_faster_sweeps():
    assert "accelerate" not in CVBHMM().get_params()
    assert "accelerate" not in EMHMMTagger({}).get_params()
    assert not EMHMMTagger({})._algorithm().accelerate
    assert not EMDMV(temperature=0.5)._algorithm().accelerate
    assert EMDMV()._algorithm().accelerate
    assert not EMAlignmentHMM()._algorithm().accelerate
    assert not EM().accelerate
    assert not VB().accelerate
