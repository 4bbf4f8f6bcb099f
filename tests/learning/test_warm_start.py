"""Fits that go on: 17 sweeps and 23 are 40, random numbers included."""

import os
import pickle
import signal
from functools import partial

import numpy as np
import pytest
import restatement_pcfg as plain
from chain.chain_deviations import one_hot
from estimators import heeded, is_sampler, make_estimator
from interruption import Interrupt, watched
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from watching import watch

import sklearn_cvb
from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem
from sklearn_cvb import CVBHMM, EMPCFG, GibbsPCFG, Grammar, HastingsPCFG, Samples, Windows
from sklearn_cvb.chain.symbols import leave_out
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.kernels.chain.leave_out import SWEEP

FIRST, SECOND = 17, 23
# Samplers and one of their situations.
CHAINS = {
    "GibbsHMM": "none",
    "GibbsHMMTagger": "none",
    "HastingsPCFG": "given",
    "GibbsPCFG": "given",
    "GibbsDMV": "raw",
    "GibbsAlignmentHMM": "raw",
}
WHOLE = FIRST + SECOND
# Every estimator in every way to sweep.
ALL = [(name, title) for name, situations in SITUATIONS.items() for title in situations]
SAMPLERS = [(name, title) for name, title in ALL if is_sampler(getattr(sklearn_cvb, name))]


def sampled(name, title, **settings):
    """`samples` of a situation with some fields set; empty where nothing is sampled."""
    if (name, title) not in SAMPLERS:
        return {}
    model = SITUATIONS[name][title].unfitted()
    return {"samples": clone(model._checked_samples()).set_params(**settings)}


def fitted(model, situation):
    return model.fit(situation.X, situation.y)


def model_of(situation, **settings):
    kind = getattr(sklearn_cvb, situation.estimator)
    return kind(**heeded(kind, situation.settings | {"tol": 0, "random_state": 0} | settings))


@pytest.mark.many(usual=8)
@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_what_a_fit_goes_on_from_is_asked_anew(name):
    # `init` may hold training data, and another fit may be asked for something else.
    situation = next(iter(SITUATIONS[name].values()))
    model = fitted(model_of(situation, max_iter=2, warm_start=True), situation)
    read, _ = model._learned.warm_start
    assert read.observation is None
    model.set_params(max_iter=3)
    assert np.size(fitted(model, situation).history_) == 3


def parameters(model):
    if hasattr(model, "rule_probabilities_"):
        return [model.rule_probabilities_]
    if hasattr(model, "lexicon_"):
        return [model.lexicon_.table.data, model.jumpprob_]
    if hasattr(model, "rootprob_"):
        return [model.rootprob_, model.attachprob_, model.stopprob_]
    if hasattr(model, "n_columns_"):
        return [model.startprob_, model.transmat_, model.counts_.emission]
    return [model.startprob_, model.transmat_, model.emissionprob_]


def assert_same(one, other):
    """What was learned agrees to the last bit, and so do samples where there are some."""
    assert all(map(np.array_equal, parameters(one), parameters(other)))
    assert one.alpha_ == other.alpha_
    for name in ("samples_", "acceptance_rate_"):
        assert np.array_equal(getattr(one, name, None), getattr(other, name, None)), name
    chains = [getattr(model, "chains_", None) for model in (one, other)]
    if chains[0] is not None:
        assert all(map(np.array_equal, *chains))


# Annealing is over when the first fit is.
@pytest.mark.many(usual=9)
@pytest.mark.parametrize(("name", "title"), [pair for pair in ALL if pair[1] != "annealing"])
def test_two_fits_are_one(name, title):
    """Also with a pickle between them."""
    situation = SITUATIONS[name][title]
    settings = sampled(name, title, burn_in=10)
    whole = fitted(model_of(situation, max_iter=WHOLE, **settings), situation)
    first = model_of(situation, max_iter=FIRST, warm_start=True, **settings)
    copied = pickle.dumps(fitted(first, situation))
    second = fitted(pickle.loads(copied).set_params(max_iter=SECOND), situation)
    assert np.array_equal(np.concatenate([first.history_, second.history_]), whole.history_)
    assert_same(second, whole)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("annealed", [False, True])
@pytest.mark.parametrize(("name", "title"), SAMPLERS)
def test_an_interrupted_chain_ends_as_if_nothing_had_happened(name, title, annealed):
    """Temperatures, burn-in and the last tenth are those of the fit that began."""
    situation, settings = SITUATIONS[name][title], {"max_iter": WHOLE}
    if name not in ("GibbsPCFG", "GibbsAlignmentHMM"):
        settings |= sampled(name, title, temperatures=(1.0, 0.1) if annealed else None)
    elif annealed:
        return
    if annealed and "emission" in situation.settings:
        return
    whole = fitted(model_of(situation, **settings), situation)
    stopped = watched(model_of(situation, warm_start=True, **settings), Interrupt(at=FIRST))
    with pytest.raises(KeyboardInterrupt):
        fitted(stopped, situation)
    fitted(stopped.set_callbacks().set_params(max_iter=SECOND), situation)
    assert np.array_equal(stopped.history_, whole.history_[FIRST:])
    assert_same(stopped, whole)
    assert str(stopped.labels_) == str(whole.labels_)


@pytest.mark.parametrize("name", CHAINS)
def test_a_sweep_that_is_broken_off_leaves_no_trace(name):
    """Its random numbers are drawn again."""
    situation = SITUATIONS[name][CHAINS[name]]
    settings = sampled(name, CHAINS[name], burn_in=5, thin=1)
    whole = fitted(model_of(situation, max_iter=WHOLE, **settings), situation)
    sweeps = []

    def broken_off(sweep, *arguments):
        sweeps.append(sweep(*arguments))
        if len(sweeps) == FIRST + 1:
            raise KeyboardInterrupt
        return sweeps[-1]

    model = model_of(situation, max_iter=WHOLE, warm_start=True, **settings)
    watch(model, "sweep", broken_off)
    with pytest.raises(KeyboardInterrupt):
        fitted(model, situation)
    assert model.n_iter_ == FIRST
    fitted(model.set_params(max_iter=SECOND), situation)
    assert np.array_equal(model.history_, whole.history_[FIRST:])
    assert_same(model, whole)


# Fits whose sweeps change arrays in place.
IN_PLACE = [
    *(("CVBHMM", title) for title in ("none", "token", "gaussian")),
    *(("GibbsHMM", title) for title in ("none", "gaussian", "poisson")),
    *(("CVBHMMTagger", "full"), ("CVBPCFG", "given"), ("CVBDMV", "raw")),
    *(("CVBAlignmentHMM", "raw"), ("CVBLatentPCFG", "fixed")),
]


def press_ctrl_c_in(sweep, times, model):
    """Let Ctrl-C be pressed in a sweep of a model, once it has changed what it changes."""
    done = []

    def swept(sound, *arguments):
        done.append(None)
        result = sound(*arguments)
        for _ in range(times if len(done) == sweep else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return result

    watch(model, "sweep", swept)


@pytest.mark.many(usual=5)
@pytest.mark.skipif(os.name == "nt", reason="signals are of POSIX")
@pytest.mark.parametrize(("name", "title"), IN_PLACE)
def test_ctrl_c_in_the_middle_of_a_sweep_changes_no_number(name, title):
    """The sweep is ended first: half of it would be mixed with the counts before it."""
    situation = SITUATIONS[name][title]
    settings = sampled(name, title, burn_in=10)
    whole = fitted(model_of(situation, max_iter=WHOLE, **settings), situation)
    stopped = model_of(situation, max_iter=WHOLE, warm_start=True, **settings)
    press_ctrl_c_in(FIRST, 1, stopped)
    with pytest.raises(KeyboardInterrupt):
        fitted(stopped, situation)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert stopped.n_iter_ == FIRST
    del stopped._algorithm
    fitted(stopped.set_params(max_iter=SECOND), situation)
    assert np.array_equal(stopped.history_, whole.history_[FIRST:])
    assert_same(stopped, whole)


@pytest.mark.skipif(os.name == "nt", reason="signals are of POSIX")
@pytest.mark.parametrize("warm_start", [True, False])
def test_a_second_ctrl_c_ends_a_fit_at_once(warm_start):
    situation = SITUATIONS["CVBHMM"]["gaussian"]
    model = model_of(situation, max_iter=WHOLE, warm_start=warm_start)
    press_ctrl_c_in(FIRST, 2, model)
    with pytest.raises(KeyboardInterrupt):
        fitted(model, situation)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert model.n_iter_ == FIRST - 1


@pytest.mark.many(usual=7)
@pytest.mark.parametrize(("name", "title"), ALL)
def test_ctrl_c_keeps_the_last_finished_sweep(name, title):
    """Of every estimator: what is left is a fit of so many sweeps."""
    situation = SITUATIONS[name][title]
    stopped = watched(model_of(situation, max_iter=20), Interrupt(at=3))
    with pytest.raises(KeyboardInterrupt):
        fitted(stopped, situation)
    assert stopped.n_iter_ == 3
    assert not stopped.converged_
    assert len(stopped.predict(situation.X)) == len(situation.X)
    assert not np.isnan(stopped.score(situation.X))
    # How far a chain is annealed, and what it keeps, hang on how many sweeps were planned.
    if (name, title) not in SAMPLERS:
        whole = fitted(model_of(situation, max_iter=3), situation)
        assert np.array_equal(stopped.history_, whole.history_)
        assert stopped.objective_ == whole.objective_
        assert_same(stopped, whole)


def test_ctrl_c_is_raised_also_where_sweeps_leave_nothing():
    """A search would take another error for a bad candidate, and go on."""
    model = EMPCFG("S -> 'a' 'b'", max_iter=9, tol=0)
    with pytest.raises(ValueError, match="nothing to learn from"):
        model.fit([["b", "a"]])
    with pytest.raises(KeyboardInterrupt):
        watched(model, Interrupt(at=1)).fit([["b", "a"]])
    with pytest.raises(NotFittedError):
        model.predict([["a"]])


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", CHAINS)
def test_the_best_of_several_chains_goes_on(name):
    situation = next(iter(SITUATIONS[name].values()))
    init = "random" if name.endswith(("DMV", "AlignmentHMM")) else "parameter"
    settings = {"n_init": 3, "n_jobs": 2, "init": init, "warm_start": True}
    whole = fitted(model_of(situation, max_iter=WHOLE, **settings), situation)
    first = fitted(model_of(situation, max_iter=FIRST, **settings), situation)
    best = int(first.restart_objectives_.argmax())
    second = fitted(first.set_params(max_iter=SECOND), situation)
    assert len(second.restart_objectives_) == 1
    assert np.array_equal(second.history_, whole.restart_histories_[best][FIRST:])
    assert len({tuple(history) for history in whole.restart_histories_}) == 3


def test_a_fit_that_fails_leaves_chain_and_random_numbers():
    situation = SITUATIONS["GibbsHMMTagger"]["full"]
    settings = {"max_iter": FIRST, "warm_start": True, "samples": Samples(0)}
    models = [fitted(model_of(situation, **settings), situation) for _ in range(2)]
    broken = watched(models[0], Interrupt(at=5, error=ArithmeticError))
    with pytest.raises(ArithmeticError):
        fitted(broken, situation)
    models[0].set_callbacks()
    one, other = (fitted(model, situation) for model in models)
    assert np.array_equal(one.history_, other.history_)
    assert_same(one, other)


# One sweep a fit: each fit begins where the last one drew its last random number. So many fits draw
# what one chain draws, and the chain follows the exact posterior.

PROBLEM = make_problem(
    [[0, 3, 1], [3, 2], [4, 0, 3], [2, 4]],
    3,
    5,
    0.3,
    0.2,
    {0: [0], 1: [1], 2: [0, 2], 3: [1, 2], 4: [0, 1]},
)
N_FITS, N_SWEEPS = 40, 1000


def fits_of_single_sweeps(kind, X):
    """A model of many fits, the same sweeps in one fit, and the chain that goes on from there."""
    single = kind(max_iter=1)
    values = [single.fit(X).history_[0] for _ in range(N_FITS)]
    part, whole = (kind(max_iter=n).fit(X) for n in (N_FITS, N_SWEEPS))
    assert np.array_equal(values, part.history_)
    assert np.array_equal(values, whole.history_[:N_FITS])
    assert len(set(values)) > 2
    assert_same(single, part)
    return single, part, whole


def frequencies(samples):
    """How often each state was drawn for each token of `PROBLEM`, and steps between states."""
    states = range(PROBLEM.n_states)
    steps = [[brute.transition_count(PROBLEM, samples, k, j) for j in states] for k in states]
    return one_hot(samples, PROBLEM.n_states).mean(axis=0), np.mean(steps, axis=2)


@pytest.mark.long
@pytest.mark.parametrize("update", ["token", "sequence", "parameter"])
def test_single_sweeps_follow_the_exact_posterior_over_states(update):
    settings = {"update": update, "samples": Samples(0, thin=1, temperatures=None)}
    kind = partial(make_estimator, "Gibbs", PROBLEM, warm_start=True, **settings)
    single, _, model = fits_of_single_sweeps(kind, PROBLEM.sequences)
    assert single.samples_.shape == (N_FITS, 10)
    shares, steps = frequencies(single.samples_)
    assert np.concatenate(single.training_posteriors()).ravel() == pytest.approx(shares)
    assert single.counts_.transition == pytest.approx(steps)
    exact = brute.collapsed_posterior(PROBLEM)
    assert model.samples_.shape == (N_SWEEPS, 10)
    # Repeated random numbers miss by .5 and more.
    shares, steps = frequencies(model.samples_)
    assert np.abs(shares - np.concatenate(exact.marginals).ravel()).max() < 0.15
    assert steps == pytest.approx(exact.transition, abs=0.3)


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("kind", [HastingsPCFG, GibbsPCFG])
def test_single_sweeps_follow_the_exact_posterior_over_trees(kind):
    grammar = Grammar.from_text("S -> S S | S 'b' | 'a' | 'a' 'b' | 'b'")
    sentences = [list("aab"), list("abab")]
    settings = {"samples": Samples(0, thin=1), "random_state": 0}
    kind = partial(kind, grammar, alpha=0.2, handle_unknown="error", warm_start=True, **settings)
    single, part, model = fits_of_single_sweeps(kind, sentences)
    assert np.array_equal(single.counts_.rule, part.counts_.rule)
    tables = plain.frequencies(grammar, sentences, 1)
    shares, _ = plain.joint_posterior(grammar, tables, 0.2)
    exact = sum(
        share * sum(table[k] for table, k in zip(tables, choice, strict=True))
        for choice, share in shares.items()
    )
    assert model.counts_.rule == pytest.approx(exact, abs=0.15)


def test_burn_in_counts_the_sweeps_of_all_fits():
    situation = SITUATIONS["GibbsHMM"]["none"]
    settings = {"max_iter": 1, "samples": Samples(5, thin=1)}
    model = model_of(situation, warm_start=True, **settings)
    kept = []
    for _ in range(8):
        samples = fitted(model, situation).samples_
        kept.append(0 if samples is None else len(samples))
    assert kept == [0, 0, 0, 0, 0, 1, 2, 3]
    assert model.chains_.log_joint.shape == (1, 3)
    # Where no other fit is to come the last sample is kept.
    assert len(fitted(model_of(situation, **settings), situation).samples_) == 1


def test_an_annealed_chain_stays_at_the_last_temperature():
    sampler = sklearn_cvb.GibbsHMM(samples=Samples(temperatures=(2.0, 0.5)))._algorithm()
    assert [sampler.temperature(done, 4) for done in range(6)] == [2.0, 1.5, 1.0, 0.5, 0.5, 0.5]
    assert [sampler.temperature(done, 1) for done in range(2)] == [2.0, 0.5]


@pytest.mark.parametrize("other", [{"update": "token"}, {"update": Windows(5)}], ids=str)
def test_with_other_things_left_out_a_fit_begins_anew(other):
    """What is left out decides how posteriors are kept; there and back."""
    rng = np.random.default_rng(0)
    X = [rng.integers(8, size=length).tolist() for length in rng.integers(2, 12, size=30)]
    settings = {"n_components": 3, "random_state": 0, "tol": 0, "max_iter": 4}
    sequences, others = ({**settings, "warm_start": True, **way} for way in ({}, other))
    for before, now in ((sequences, others), (others, sequences)):
        anew = CVBHMM(**now).fit(X)
        model = CVBHMM(**before).fit(X)
        model.set_params(**{"update": "sequence", **now}).fit(X)
        assert model.history_.tolist() == anew.history_.tolist()


@pytest.mark.parametrize("settings", [{}, {"update": Windows(4)}], ids=str)
def test_counts_of_a_sweep_that_was_broken_off_are_those_of_its_posteriors(settings, monkeypatch):
    """CVB changes posteriors in place: what goes on must not mix them with older counts."""
    X = np.random.default_rng(0).integers(6, size=(40, 8)).tolist()
    model = CVBHMM(3, max_iter=20, tol=0, warm_start=True, random_state=0, **settings)
    sound, sweeps = leave_out.make_pass, []

    def broken_off(steps, *arguments):
        sound(steps, *arguments)
        if steps == SWEEP:
            sweeps.append(arguments)
            if len(sweeps) == 6:
                raise KeyboardInterrupt

    monkeypatch.setattr(leave_out, "make_pass", broken_off)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.n_iter_ == 5
    model.set_params(max_iter=1).fit(X)
    posteriors = np.concatenate(model.training_posteriors())
    expected = [posteriors[np.ravel(X) == word].sum(axis=0) for word in range(6)]
    np.testing.assert_allclose(model.counts_.emission[:6], expected, atol=1e-9)
