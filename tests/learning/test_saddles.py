"""Where nothing moves and a disturbed copy comes higher, the fit goes on from it."""

import signal
import warnings

import numpy as np
import pytest
from interruption import Interrupt, watched
from learning.test_convergence import arrays_of, chains
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb import (
    CVBHMM,
    EMDMV,
    EMHMM,
    EMPCFG,
    VBDMV,
    VBHMM,
    VBPCFG,
    Checkpoint,
    EMAlignmentHMM,
    HMMParameters,
)
from sklearn_cvb.emissions import AutoRegressive
from sklearn_cvb.learning import convergence

ALIKE = "S -> A A [.25] | B B [.25] | A B [.25] | B A [.25]"
ALIKE += "\nA -> 'a' [.4] | 'b' [.3] | 'c' [.3]\nB -> 'a' [.4] | 'b' [.3] | 'c' [.3]"
# Each word is the head of the other: what tells for one tree tells for its mirror image.
MIRRORED = [["a", "b"]] * 30 + [["a"]] * 3 + [["b"]] * 3
PAIRS = [("a b", "x y"), ("b a", "y x"), ("a b", "y x")]


def series(seed=0):
    """A chain of two states, with steps of one and of the other 4 apart."""
    rng, states = np.random.default_rng(seed), [0]
    for _ in range(149):
        states.append(states[-1] if rng.random() < 0.9 else int(rng.integers(2)))
    return np.array(states), rng.normal(4.0 * np.array(states), 1.0)


def symbols(kind, **settings):
    """Two states that are alike in all."""
    X = chains(2)
    alike = np.bincount(np.concatenate(X), minlength=4) + 0.0
    start = HMMParameters(
        startprob=np.full(2, 0.5),
        transmat=np.full((2, 2), 0.5),
        emissionprob=np.tile(alike / alike.sum(), (2, 1)),
    )
    return kind(2, init=start, random_state=0, **settings), X


def two_of_three(kind, **settings):
    """Three states, two of which share the steps of one."""
    states, x = series()
    x = x + np.where(np.arange(150) % 50 < 25, 0, 3) * states
    start = np.c_[(states == 0) * 1.0, (states == 1) * 0.5, (states == 1) * 0.5]
    return kind(3, emission="gaussian", init=[start], random_state=0, **settings), [x]


def numbers(kind, emission, **settings):
    """Two states of the same posteriors at every step."""
    _, x = series()
    x = np.round(np.abs(x)) if emission == "poisson" else x
    return kind(2, emission=emission, init=[np.full((150, 2), 0.5)], **settings), [x]


def grammar(kind, **settings):
    """Two symbols that are alike in all."""
    rng = np.random.default_rng(0)
    X = [["ac", "bc", "ac", "ca"][rng.integers(4)] for _ in range(60)]
    return kind(ALIKE, init="grammar", random_state=0, **settings), [list(one) for one in X]


def heads(kind, **settings):
    return kind(**settings), MIRRORED


def links(kind, **settings):
    pairs = [(source.split(), target.split()) for source, target in PAIRS] * 10
    return kind(**{"max_iter": 320} | settings), pairs


SADDLES = {
    **{f"symbols {kind.__name__}": (symbols, kind) for kind in (EMHMM, VBHMM)},
    **{f"two of three {kind.__name__}": (two_of_three, kind) for kind in (EMHMM, VBHMM)},
    **{
        f"{name} {kind.__name__}": (numbers, kind, name)
        for kind in (EMHMM, VBHMM)
        for name in ("gaussian", "poisson")
    },
    **{f"grammar {kind.__name__}": (grammar, kind) for kind in (EMPCFG, VBPCFG)},
    **{f"heads {kind.__name__}": (heads, kind) for kind in (EMDMV, VBDMV)},
    "links": (links, EMAlignmentHMM),
}


def case_of(title, **settings):
    make, *arguments = SADDLES[title]
    return make(*arguments, **settings)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("title", SADDLES)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_saddle_is_left(title):
    model, X = case_of(title)
    still, _ = case_of(title, tol=0, max_iter=15)
    model.fit(X)
    still.fit(X)
    assert np.ptp(still.history_[-5:]) < 1e-3
    gained = model.objective_ - still.objective_
    assert gained > (0.05 if title == "links" else 1.0)
    assert model.converged_
    assert model.n_iter_ == len(model.history_) <= model.max_iter
    assert (np.diff(model.history_) >= -1e-9 * abs(model.objective_)).all()
    # The counts are those of the fit that went on.
    assert model.history_[-1] == model.objective_


def test_concentrations_of_a_copy_are_learned_as_those_of_the_fit():
    model, X = symbols(VBHMM, alpha="auto", beta="auto")
    model.fit(X)
    still = symbols(VBHMM, alpha="auto", beta="auto", tol=0, max_iter=model.n_iter_)[0].fit(X)
    assert model.objective_ > still.objective_ + 10
    assert (np.diff(model.history_) >= -1e-9 * abs(model.objective_)).all()
    assert np.abs(model.alpha_ - still.alpha_) > 1e-3


# Fits that are broken off, and go on


def same(model, whole):
    pairs = zip(arrays_of(model._learned.counts), arrays_of(whole._learned.counts), strict=True)
    assert np.array_equal(model.history_, whole.history_)
    assert (model.n_iter_, model.converged_) == (whole.n_iter_, whole.converged_)
    assert all(np.array_equal(one, other) for one, other in pairs)


CHECKPOINTED = ["symbols VBHMM", "poisson EMHMM", "heads VBDMV"]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("title", CHECKPOINTED)
def test_a_fit_that_was_broken_off_goes_on_across_its_copy(title, tmp_path):
    model, X = case_of(title)
    whole = model.fit(X)
    # Before the copy, which is disturbed after four sweeps, and after it.
    for at in (3, 5):
        settings = {"checkpoint": Checkpoint(tmp_path / str(at), every=1)}
        with pytest.raises(KeyboardInterrupt):
            watched(case_of(title, **settings)[0], Interrupt(at=at)).fit(X)
        same(case_of(title, **settings, warm_start=True)[0].fit(X), whole)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("title", CHECKPOINTED)
def test_ctrl_c_in_the_middle_of_a_copy_undoes_the_look(title, tmp_path, monkeypatch):
    model, X = case_of(title)
    whole, settings = model.fit(X), {"checkpoint": Checkpoint(tmp_path, every=1)}
    tried = convergence._check_disturbed_copy

    def interrupted(fit, looks, distance, copy, *arguments):
        def sweeps():
            yield next(copy)
            signal.raise_signal(signal.SIGINT)
            yield from copy

        return tried(fit, looks, distance, sweeps(), *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(convergence, "_check_disturbed_copy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            case_of(title, **settings)[0].fit(X)
    same(case_of(title, **settings, warm_start=True)[0].fit(X), whole)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("title", CHECKPOINTED)
def test_too_few_sweeps_for_a_copy_are_no_end(title, tmp_path):
    model, X = case_of(title)
    whole, settings = model.fit(X), {"checkpoint": Checkpoint(tmp_path, every=1)}
    short = case_of(title, **settings, max_iter=5)[0]
    with pytest.warns(ConvergenceWarning, match="max_iter=5 is too few to follow: raise max_iter"):
        short.fit(X)
    assert (short.n_iter_, short.converged_) == (4, False)
    assert np.array_equal(short.history_, whole.history_[:4])
    same(case_of(title, **settings, warm_start=True)[0].fit(X), whole)


# Maxima


def ends_where_it_is(model, X):
    """Whether a fit ends at the last bit where one without any look does, and says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X)
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = clone(model).set_params(tol=1e-300, max_iter=model.n_iter_).fit(X)
    return model.converged_ and np.array_equal(model.history_, plain.history_)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_where_states_overlap_the_maximum_is_the_end(kind):
    x = 1.5 * series()[0] + np.random.default_rng(0).normal(size=150)
    assert ends_where_it_is(kind(2, emission="gaussian", random_state=0), [x])


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(("kind", "tol"), [(EMHMM, 0.0025), (CVBHMM, 1e-3)])
def test_a_maximum_that_em_climbs_slowly_is_the_end(kind, tol, data_folder):
    """Returns whose maximum is published: a disturbed copy needs more than twenty sweeps."""
    y = np.load(data_folder / "reports" / "series.npz")["areturns"]
    model = kind(2, emission=AutoRegressive(1), random_state=0, tol=tol)
    assert ends_where_it_is(model, [y])
    if kind is EMHMM:
        assert model.objective_ == pytest.approx(-745.777, abs=1e-3)
