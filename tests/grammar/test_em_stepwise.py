"""Stepwise EM against a plain re-statement of Liang and Klein's (2009) updates."""

import numpy as np
import pytest
import restatement_pcfg as plain
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_cvb import EMPCFG, Grammar, MiniBatches, StepSizes
from sklearn_cvb.grammar.inference import tally_of
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.streams.grammar_stream import stepwise_sweep

TEXT = """
S -> NP VP | VP
NP -> 'they' | 'ducks' | 'dogs' | NP PP
VP -> V NP | V | VP PP
V -> 'saw' | 'ducks' | 'feed'
PP -> 'with' NP
"""
X = [
    words.split()
    for words in (
        "they saw ducks with dogs",
        "they feed dogs",
        "dogs saw dogs with ducks with ducks",
        "saw ducks",
        "ducks feed ducks with ducks",
    )
]
GRAMMAR = Grammar.from_text(TEXT)
START = plain.normalised(GRAMMAR, 1.0 + np.arange(len(GRAMMAR.rules)) % 3)


def stepwise(tables, theta, alpha, batch_size, power, n_sweeps, rng):
    """Running counts after some sweeps, and the sum of log-likelihoods met in each."""
    counts, n_steps, met = sum(plain.expected(tables, theta)[0]), 0, []
    seed = int(rng.integers(2**63))
    for sweep in range(n_sweeps):
        order = np.random.Generator(np.random.PCG64([seed, sweep])).permutation(len(tables))
        met.append(0.0)
        for first in range(0, len(order), batch_size):
            batch = order[first : first + batch_size]
            theta = plain.normalised(GRAMMAR, counts + alpha)
            each, log_z = plain.expected([tables[i] for i in batch], theta)
            eta = (n_steps + 2) ** -power
            counts = (1 - eta) * counts + eta * len(tables) / len(batch) * sum(each)
            met[-1] += log_z.sum()
            n_steps += 1
    return counts, met


def model(batch_size=1, **keywords):
    settings = {
        "update": MiniBatches(batch_size),
        "init": START,
        "max_iter": 3,
        "tol": 0,
        "random_state": 0,
    }
    return EMPCFG(TEXT, **settings | keywords)


def generator():
    """What a fit with random_state=0 draws from."""
    return spawn_generators(check_random_state(0), 1)[0]


@pytest.fixture(params=["forest", "lists"])
def engine(request, monkeypatch):
    """Both engines."""
    if request.param == "lists":
        monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", 0)
    return request.param


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(("batch_size", "power"), [(1, 0.7), (2, 0.6), (3, 1.0), (100, 0.7)])
def test_running_counts_are_those_of_the_equations(alpha, batch_size, power, engine):
    fitted = model(alpha=alpha, batch_size=batch_size, step_sizes=StepSizes(power)).fit(X)
    assert (fitted._read(X, None).problem.forest is None) == (engine == "lists")
    tables = plain.frequencies(GRAMMAR, X)
    counts, met = stepwise(tables, START, alpha, batch_size, power, 3, generator())
    theta = plain.normalised(GRAMMAR, counts + alpha)
    assert fitted.counts_.rule == pytest.approx(counts, rel=1e-10)
    assert fitted.rule_probabilities_ == pytest.approx(theta, rel=1e-10)
    prior = alpha * np.log(theta).sum() if alpha else 0.0
    assert fitted.history_[-1] == pytest.approx(met[-1] + prior, rel=1e-10)
    log_z = plain.expected(tables, theta)[1]
    assert fitted.objective_ == pytest.approx(log_z.sum() + prior, rel=1e-10)
    assert fitted.objective_ == pytest.approx(fitted.score_samples(X).sum() + prior, rel=1e-10)


def test_known_brackets_restrict_the_counts(engine):
    attached = [str(rule) for rule in GRAMMAR.to_nltk().productions()].index("VP -> VP PP")
    tables = plain.frequencies(GRAMMAR, X)
    tables[0] = tables[0][tables[0][:, attached] == 1]
    fitted = model().fit(X, [[(1, 3)], None, None, None, None])
    counts = stepwise(tables, START, 0.0, 1, 0.7, 3, generator())[0]
    assert fitted.counts_.rule == pytest.approx(counts, rel=1e-10)
    assert not np.allclose(fitted.counts_.rule, model().fit(X).counts_.rule)


def test_what_has_no_tree_makes_no_step(engine):
    whole = [*X[:2], ["they", "they"], *X[2:]]
    with pytest.warns(UserWarning, match=r"left out of the counts: \[2\]"):
        fitted = model(batch_size=2, alpha=0.1).fit(whole)
    without = model(batch_size=2, alpha=0.1).fit(X)
    assert np.array_equal(fitted.counts_.rule, without.counts_.rule)
    assert np.array_equal(fitted.history_, without.history_)
    assert fitted.unexplained_.tolist() == [2]


def test_a_warm_start_goes_on_with_the_next_step_and_order():
    whole = model(max_iter=7).fit(X)
    half = model(max_iter=4, warm_start=True).fit(X)
    half.max_iter = 3
    half.fit(X)
    assert np.array_equal(half.counts_.rule, whole.counts_.rule)
    assert np.array_equal(half.history_, whole.history_[4:])


def test_both_kinds_of_sweeps_can_follow_each_other():
    fitted = model(warm_start=True).fit(X)
    stepwise_objective = fitted.objective_
    fitted.set_params(update="batch", max_iter=4).fit(X)
    assert fitted.history_[0] == pytest.approx(stepwise_objective)
    assert np.all(np.diff(fitted.history_) > 0)
    fitted.set_params(update=MiniBatches(100), max_iter=1).fit(X)
    # A step over all sentences reports what a batch sweep would, and moves part of the way.
    assert fitted.objective_ > fitted.history_[0] > stepwise_objective


def test_restarts_on_threads_give_the_same_bits():
    settings = {"init": "parameter", "n_init": 4, "update": MiniBatches(2)}
    one, many = (model(**settings, n_jobs=n_jobs).fit(X) for n_jobs in (1, 3))
    assert np.array_equal(one.restart_objectives_, many.restart_objectives_)
    assert np.array_equal(one.counts_.rule, many.counts_.rule)
    assert len(set(one.restart_objectives_)) == 4


def test_batch_updates_know_no_batches():
    plain = EMPCFG(TEXT, init=START, max_iter=4).fit(X)
    same = model(step_sizes=StepSizes(0.9), update="batch", max_iter=4, tol=1e-4).fit(X)
    assert np.array_equal(plain.history_, same.history_)
    assert np.array_equal(plain.counts_.rule, same.counts_.rule)


def test_one_sweep_learns_more_than_a_batch_and_ends_where_batches_do():
    text = "S -> A B | B A\nA -> 'a' | 'b'\nB -> 'a' | 'b'"
    rng = np.random.default_rng(0)
    sentences = [["ab"[rng.random() < 0.1], "ab"[rng.random() < 0.8]] for _ in range(400)]
    start = [0.6, 0.4, 0.6, 0.4, 0.4, 0.6]
    batch, steps = (
        EMPCFG(text, init=start, update=update, max_iter=1).fit(sentences)
        for update in ("batch", MiniBatches(4))
    )
    final = EMPCFG(text, init=start, max_iter=1000, tol=1e-9).fit(sentences).objective_
    first = EMPCFG(text, init=start, max_iter=2, tol=0).fit(sentences).history_
    # The batch objective after one update is what the second sweep reports.
    assert batch.objective_ < first[1] < steps.objective_
    assert final - steps.objective_ < 0.5 * (final - first[1])
    long = EMPCFG(text, init=start, update=MiniBatches(50), max_iter=200, tol=0)
    assert long.fit(sentences).objective_ == pytest.approx(final, abs=0.5)


def test_counts_survive_ever_smaller_units(engine):
    fitted = EMPCFG(TEXT, init=START, max_iter=1)
    problem = fitted._read(X, None).problem
    layout, n = problem.layout, len(X)
    counts = 1.0 + np.arange(len(START))
    ends = []
    for unit in (1.0, 1e-199):
        running = tally_of(layout, counts / unit, np.zeros_like(counts), START)
        running.unit[0] = unit
        assert stepwise_sweep(problem, running, np.arange(n), (1, 0.7, 0))[1] == n
        assert running.unit[0] > 1e-3 or unit == 1.0
        ends.append(running.cells * running.unit[0])
    assert ends[1] == pytest.approx(ends[0], rel=1e-12)


def test_a_symbol_without_count_and_prior_keeps_its_weights():
    text = "S -> A 'x' | B\nA -> 'a' | 'b'\nB -> 'c' | 'd'"
    start = np.array([0.5, 0.5, 0.25, 0.75, 0.4, 0.6])
    settings = {"init": start, "max_iter": 2, "tol": 0, "random_state": 0}
    fitted = EMPCFG(text, update="sequence", **settings).fit([["a", "x"], ["b", "x"]])
    assert fitted.rule_probabilities_[4:] == pytest.approx(start[4:])
    layout = fitted._learned.layout
    kept = layout.rows(fitted.counts_.rule, np.zeros(6)).mean(start)
    assert np.array_equal(kept, fitted.rule_probabilities_)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("update", {"update": "token"}),
        ("size", {"update": MiniBatches(0)}),
        ("decay", {"step_sizes": StepSizes(0.5)}),
        ("decay", {"step_sizes": StepSizes(1.1)}),
    ],
)
def test_values_out_of_range_are_refused(name, settings):
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter"):
        model(**settings).fit(X)
