"""A fit is done when half of its sweeps moved no counts, and no disturbed copy finds better."""

import warnings

import numpy as np
import pytest
from estimators import is_sampler
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMDMV,
    EMHMM,
    VBHMM,
    Checkpoint,
    CVBAlignmentHMM,
    HMMCounts,
    VBAlignmentHMM,
    write_store,
)
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.datasets import make_pocket_english
from sklearn_cvb.learning import convergence
from sklearn_cvb.learning.convergence import StoppingRule, check_convergence, share_moved
from sklearn_cvb.learning.model import Fit, Model, State, map_arrays

# Sweeps at which counts are looked at.
LOOKS = [1, 2, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 453, 640, 905]

FAMILIES = [
    (name, title)
    for name, situations in SITUATIONS.items()
    for title in situations
    if not is_sampler(getattr(sklearn_cvb, name)) and "HMMTagger" not in name
]


def chains(n_states=2, seed=0):
    """Thirty sequences of a hidden Markov model whose states are easily told apart."""
    rng, X = np.random.default_rng(seed), []
    for _ in range(30):
        state, symbols = int(rng.integers(n_states)), []
        for _ in range(40):
            own = rng.random() < 0.95
            symbols.append(
                int(2 * state + rng.integers(2)) if own else int(rng.integers(2 * n_states))
            )
            state = state if rng.random() < 0.9 else int(rng.integers(n_states))
        X.append(symbols)
    return X


def arrays_of(counts):
    """The arrays of a tree of them."""
    found = []
    map_arrays(lambda one: found.append(one.toarray() if issparse(one) else one), counts)
    return found


def counts_after(model, X, n_sweeps):
    """All counts after so many sweeps of a fit that never stops by itself, as arrays."""
    model = sklearn_cvb.__dict__[type(model).__name__](**model.get_params(deep=False))
    model.set_params(tol=1e-300, max_iter=n_sweeps).fit(X)
    start, transition, emission = model._learned.counts
    return [start, transition, np.ravel(emission)]


# The rule


def test_looks_come_after_ever_more_sweeps_of_which_every_second_doubles():
    assert [n for n in range(1, 1000) if convergence._is_check_due(n)] == LOOKS
    for half, n in zip(LOOKS[2:], LOOKS[4:], strict=False):
        assert abs(n - 2 * half) <= 1


def test_half_of_what_counts_differ_by_is_the_share_that_moved():
    before = np.array([[3.0, 1.0], [2.0, 4.0]]), np.array([7.0, 3.0]), np.empty(0)
    now = np.array([[2.5, 1.5], [1.0, 5.0]]), np.array([5.0, 5.0]), np.empty(0)
    assert share_moved(before, now, 10.0) == pytest.approx(0.2, abs=1e-15)
    # Each row of a table has tokens of its own, as each statistic of numbers is a sum of its own.
    assert share_moved(before[0], now[0], 10.0) == pytest.approx(0.1, abs=1e-15)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize(("kind", "n_states"), [(EMHMM, 2), (VBHMM, 3), (CVBHMM, 3)])
def test_a_fit_stops_at_the_first_look_at_which_the_second_half_moved_little(kind, n_states):
    """Restated from fits of given numbers of sweeps; the model is easy: it always comes back."""
    X = chains(n_states)
    model = kind(n_states, random_state=0).fit(X)
    n_tokens = sum(map(len, X))
    for half, n in zip(LOOKS[3:], LOOKS[5:], strict=False):
        pairs = zip(counts_after(model, X, half), counts_after(model, X, n), strict=True)
        rows = [np.abs(one - other).sum(axis=-1).max() for one, other in pairs]
        distance = 0.5 * max(rows) / n_tokens
        if distance < 0.0025:
            break
    assert (model.n_iter_, model.converged_) == (n, True)


def test_counts_tell_no_more_than_the_posteriors_of_tokens_do():
    """What tokens of one symbol have in common is what their counts say."""
    X, tables, counts = chains(3), [], []
    for n_sweeps in (7, 14):
        model = VBHMM(3, tol=0, max_iter=n_sweeps, warm_start=True, random_state=3).fit(X)
        tables.append(np.concatenate(list(model.training_posteriors())))
        counts.append(np.ravel(model._learned.counts.emission))
    by_token = 0.5 * np.abs(tables[1] - tables[0]).sum(axis=1).mean()
    by_counts = share_moved(counts[0], counts[1], len(tables[0]))
    assert 0.5 * by_token < by_counts <= by_token + 1e-3


@pytest.mark.many(usual=4)
@pytest.mark.parametrize(("name", "title"), FAMILIES)
def test_a_disturbance_leaves_nothing_behind(name, title, monkeypatch):
    """Every family and algorithm: a fit that was disturbed goes on to the same last bit."""
    tried, disturbed = convergence._check_disturbed_copy, []

    def never(fit, looks, distance, *arguments):
        disturbed.append(tried(fit, looks, distance, *arguments))
        return fit._replace(checked_counts=looks[-2:], share_moved=distance)

    monkeypatch.setattr(convergence, "_check_disturbed_copy", never)
    situation, kind = SITUATIONS[name][title], getattr(sklearn_cvb, name)
    settings = situation.settings | {"max_iter": 46, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = kind(**settings | {"tol": 1e9}).fit(situation.X, situation.y)
        plain = kind(**settings | {"tol": 1e-300}).fit(situation.X, situation.y)
    assert disturbed
    assert fit.history_.tolist() == plain.history_.tolist()
    before, now = (arrays_of(model._learned.counts) for model in (plain, fit))
    assert all(np.array_equal(one, other) for one, other in zip(before, now, strict=True))


@pytest.mark.parametrize("n_sweeps", [5, 7, 9])
def test_before_the_first_look_that_may_end_a_fit_a_small_share_says_nothing(n_sweeps):
    model = EMHMM(2, max_iter=n_sweeps, tol=0.6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="too few to see whether anything still changes"):
        model.fit(chains())


def test_counts_that_are_no_numbers_have_not_stood_still():
    state = State(np.array([np.nan, 1.0]), None, None)
    fit = Fit(state, [0.0] * 14, False, checked_counts=(state.counts, state.counts))
    assert not check_convergence(fit, StoppingRule(0.1, Counted())).converged


def test_counts_of_a_look_stay_what_they_were():
    """Where a sweep changes them in place, too."""
    counts = np.zeros(2)
    rule = StoppingRule(0.1, Counted())
    fit = Fit(State(counts, None, None), [0.0] * 5, False)
    fit = check_convergence(fit, rule)
    counts += 1.0
    fit = check_convergence(fit._replace(history=[0.0] * 7), rule)
    fit = check_convergence(fit._replace(history=[0.0] * 10), rule)
    assert (fit.share_moved, fit.converged) == (1.0, False)


def test_a_fit_ends_at_once_where_nothing_is_to_learn():
    """All states are known: no sweep changes a count."""
    X, y = [list("abab"), list("ba")], [[0, 1, 0, 1], [1, 0]]
    for kind in (EMHMM, VBHMM, CVBHMM):
        model = kind(2, supervision="y", random_state=0).fit(X, y)
        assert (model.n_iter_, model.converged_) == (4, True)


# Disturbances


class Counted(Model):
    """A model of one token, whose counts are an array."""

    n_observed = 1.0


def walk(distances, tol=0.0025, gains=None, unexplained=(), max_iter=1000):
    """A fit whose counts stand still, and whose disturbed copy has these distances from them.

    With `gains` its value never falls, and those of the copy are higher by so much.
    """
    lost = np.arange(len(unexplained))
    states = [State(np.array([d, -d]), None, None, unexplained=lost) for d in distances]
    copy = zip(states, [0.0] * len(states) if gains is None else gains, strict=True)
    rule = StoppingRule(tol, Counted(), 0, lambda state: copy, gains is not None, max_iter)
    state = State(np.zeros(2), None, None)
    return check_convergence(Fit(state, [0.0] * 10, False, checked_counts=(np.zeros(2),) * 2), rule)


def test_a_disturbed_fit_has_to_come_back_half_of_the_way():
    assert walk([0.4, 0.2, 0.15, 0.099]).converged
    assert not walk([0.4, 0.2] + [0.101] * 98).converged
    # After a hundred sweeps is too late.
    assert not walk([0.4, 0.2] + [0.101] * 98 + [0.0]).converged
    assert walk([0.4, 0.2] + [0.101] * 97 + [0.0]).converged


def test_a_copy_that_is_not_on_its_way_back_is_given_up():
    assert not walk([0.4, 0.2] + [0.19] * 18 + [0.0]).converged
    assert walk([0.4, 0.2] + [0.19] * 17 + [0.0]).converged


def test_what_a_disturbance_does_at_once_says_nothing():
    assert not walk([0.001] + [0.3] * 99).converged
    assert walk([0.3, 0.002]).converged


def test_a_fit_goes_on_from_a_copy_that_is_higher():
    fit = walk([0.4, 0.2, 0.3, 0.35], gains=[-9.0, -1.0, 1e-3, 2.0])
    # It stands still while its copy sweeps.
    assert fit.history == [0.0] * 13 + [2.0]
    assert fit.state.counts.tolist() == [0.35, -0.35]
    assert (fit.converged, fit.check_broken_off, fit.checked_counts, fit.share_moved) == (
        False,
        False,
        (),
        0.35,
    )


def test_what_is_neither_back_nor_higher_is_done():
    fit = walk([0.3] * 100, gains=[-1.0] * 98 + [1e-4, 0.0])
    assert (fit.converged, fit.history) == (True, [0.0] * 10)
    # Of its last sweep little is enough: some saddles are left slowly.
    assert walk([0.3] * 100, gains=[-1.0] * 99 + [1e-4]).history == [0.0] * 109 + [1e-4]
    # Whoever comes back first is not higher.
    assert walk([0.4, 0.2, 0.05, 0.3], gains=[-2.0, -1.0, 0.5, 2.0]).history == [0.0] * 10


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_value_that_is_no_number_is_not_higher(value):
    assert walk([0.3] * 100, gains=[value] * 100).history == [0.0] * 10


def test_a_copy_is_not_higher_for_what_it_leaves_out():
    assert walk([0.3] * 100, gains=[5.0] * 100, unexplained=[0]).history == [0.0] * 10


def test_a_copy_that_needs_more_sweeps_than_there_are_is_left():
    """The look is undone, so that the fit may take it again when there are more."""
    settings = {"distances": [0.4, 0.2, 0.3, 0.35], "gains": [-9.0, -1.0, 0.0, 2.0]}
    fit = walk(**settings, max_iter=13)
    assert (fit.converged, fit.check_broken_off, fit.history) == (False, True, [0.0] * 10)
    assert (fit.share_moved, len(fit.checked_counts)) == (None, 2)
    assert len(walk(**settings, max_iter=14).history) == 14
    # One that comes back may do so after the last sweep.
    assert walk([0.4, 0.2, 0.05], gains=[-9.0, -1.0, -0.5], max_iter=10).converged


def test_a_fit_that_moves_is_not_disturbed():
    def disturbed(state):
        raise AssertionError

    rule = StoppingRule(0.1, Counted(), 0, disturbed)
    fit = Fit(State(np.ones(2), None, None), [0.0] * 10, False, checked_counts=(np.zeros(2),) * 2)
    fit = check_convergence(fit, rule)
    assert (fit.share_moved, fit.converged) == (1.0, False)


# Counts of nearly nothing


class Measured(Counted):
    """A model whose counts are tokens and statistics, which may have any sign."""

    statistics = ("emission",)


def looked_at(before, now, model=None, tol=0.0025, n_sweeps=20, **settings):
    """Whether a fit of these counts, which has no disturbed copy, has converged."""
    rule = StoppingRule(tol, model or Counted(), never_falls=True)._replace(**settings)
    fit = Fit(State(now, None, None), [0.0] * n_sweeps, False, checked_counts=(before,) * 2)
    return check_convergence(fit, rule).converged


def test_a_count_of_nearly_nothing_that_grows_is_no_end():
    before = np.array([1.0, 1e-107])
    assert looked_at(before, np.array([1.0, 2.0e-107]))
    assert not looked_at(before, np.array([1.0, 2.1e-107]))
    # After few sweeps a tenth in each of them.
    assert looked_at(before, np.array([1.0, 1.2e-107]), n_sweeps=4)
    assert not looked_at(before, np.array([1.0, 1.22e-107]), n_sweeps=4)
    # Where it may fall the copy has the word.
    assert looked_at(before, np.array([1.0, 1e-56]), never_falls=False)
    # What is not hidden is a share of the tokens.
    assert not looked_at(np.array([9e-4]), np.array([4e-3]))
    assert looked_at(np.array([1.1e-3]), np.array([4e-3]))


def test_two_tokens_may_follow_a_count_that_grows():
    class Corpus(Counted):
        n_observed = 1000.0

    before, one, two = np.full(3, 1e-9), np.array([1e-9, 1e-9, 3e-9]), np.array([1e-9, 3e-9, 3e-9])
    assert not looked_at(before, one, Corpus(), tol=0.002)
    assert looked_at(before, one, Corpus(), tol=0.0021)
    assert not looked_at(before, two, Corpus(), tol=0.004)
    assert looked_at(before, two, Corpus(), tol=0.0041)


def test_sums_that_are_nothing_but_rounding_do_not_grow():
    before = HMMCounts(np.ones(1), np.ones(1), np.array([1e-17, -1e-17]))
    now = before._replace(emission=np.array([5e-17, 3e-16]))
    assert looked_at(before, now, Measured())
    assert not looked_at(before, now)
    assert not looked_at(before._replace(start=np.array([1e-17])), now, Measured())


@pytest.mark.many(usual=0)
def test_em_of_dependencies_does_not_call_a_plateau_its_end():
    """It stands still for a hundred sweeps, until a tag that was no head of another has come up."""
    tags = make_pocket_english(120, random_state=0).target
    X = [list(one) for one in tags if len(one) <= 15]
    still = (
        "EMDMV stopped after max_iter=453 sweeps while counts of nearly nothing still grew: raise"
    )
    with pytest.warns(ConvergenceWarning, match=still):
        model = EMDMV(random_state=0, max_iter=453, warm_start=True).fit(X)
    assert np.ptp(model.history_[-100:]) < 1e-6
    before = model.objective_
    # Also where it goes on from there, and looks after few sweeps; rounding says how many it takes.
    model.set_params(max_iter=200)
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        if model.converged_:
            break
    assert model.converged_
    assert model.objective_ - before == pytest.approx(0.776, abs=1e-3)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(("kind", "n_sweeps"), [(VBAlignmentHMM, 14), (CVBAlignmentHMM, 40)])
def test_jumps_that_are_lost_keep_no_alignment_from_its_end(kind, n_sweeps):
    """They are drawn again, as often as it takes: there may be more of them than words."""
    sentences = make_pocket_english(120, random_state=0).data
    words = [(list(one), [word.upper() for word in one if len(word) > 2]) for one in sentences]
    X = [(source, target) for source, target in words if target and len(source) <= 12]
    model = kind(max_iter=320).fit(X)
    assert (model.n_iter_, model.converged_) == (n_sweeps, True)
    links = model.predict(X)
    more = clone(model).set_params(tol=0, max_iter=10 * n_sweeps).fit(X).predict(X)
    moved = sum(np.count_nonzero(one != other) for one, other in zip(links, more, strict=True))
    # Of 338 words.
    assert moved <= 2


def test_disturbed_statistics_of_numbers_are_those_of_more_steps():
    """Variances stay positive, and no step's own statistics exceed those of its state."""
    X = np.random.default_rng(0).normal(size=(3, 50, 2))
    model = CVBHMM(3, emission="gaussian", random_state=0)
    chain = model._model(model._read(list(X), None))
    state = model._algorithm().start(chain, np.random.default_rng(0))
    before = state.counts
    after = chain.disturb(before, np.random.default_rng(1))
    more = after.emission[0] - before.emission[0]
    assert (more > 0).all()
    assert (after.transition >= before.transition).all()
    assert np.abs(after.transition / before.transition).std() > 0.1
    # Of what was added alone, too, the mean square is above the square of the mean.
    n, *rows = after.emission - before.emission
    sums, squares = np.array(rows[:2]), np.array([rows[2], rows[4]])
    assert (squares / n > (sums / n) ** 2).all()


# Where a fit goes on


@pytest.mark.long
def test_a_fit_that_goes_on_from_a_checkpoint_stops_where_it_would_have(tmp_path):
    X = chains(3)
    whole = CVBHMM(3, random_state=0).fit(X)
    assert whole.converged_
    for done in (6, whole.n_iter_ - 1):
        folder = Checkpoint(tmp_path / str(done), every=1)
        model = CVBHMM(3, random_state=0, checkpoint=folder, max_iter=done, warm_start=True)
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
        again = CVBHMM(3, random_state=0, checkpoint=folder, warm_start=True)
        again.fit(X)
        assert again.converged_
        assert again.history_.tolist()[-1] == whole.history_[-1]


@pytest.mark.long
def test_a_store_says_the_same_of_sums_alone(tmp_path):
    """Posteriors of CVB lie in the store: nothing is disturbed, the rest is the same."""
    X = chains(3)
    store = write_store(X, tmp_path / "store")
    for kind in (EMHMM, VBHMM, CVBHMM):
        model = kind(3, random_state=0).fit(store)
        memory = kind(3, random_state=0).fit(X)
        assert (model.n_iter_, model.converged_) == (memory.n_iter_, True)


@pytest.mark.many
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_labels_agree_with_ten_times_the_sweeps(kind):
    X = chains(3)
    model = kind(3, random_state=0).fit(X)
    longer = kind(3, random_state=0, tol=0, max_iter=10 * model.n_iter_).fit(X)
    pairs = zip(model.labels_, longer.labels_, strict=True)
    assert np.mean([np.mean(one == other) for one, other in pairs]) >= 0.995
