"""Engines of a chain: the same counts from each, and what one loses another finds."""

import numpy as np
import pytest

from sklearn_cvb import EMHMM, EMHMMTagger, Symbols
from sklearn_cvb.chain.parameters.rows import uniform_weights
from sklearn_cvb.chain.symbols import engines
from sklearn_cvb.chain.symbols.engines import engines_of, expectation
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights

SETTINGS = {"random_state": 0, "emission": Symbols(handle_unknown="error")}
LEGAL = {
    "the": ["D"],
    "dog": ["N"],
    "duck": ["N", "V"],
    "runs": ["N", "V"],
    "that": ["C", "D", "P"],
}


def words(n_sequences=40, longest=12):
    rng = np.random.default_rng(0)
    known = [*LEGAL, None]
    chances = [0.2, 0.2, 0.2, 0.2, 0.1, 0.1]
    lengths = rng.integers(1, longest, n_sequences)
    return [[known[k] for k in rng.choice(6, size=length, p=chances)] for length in lengths]


def problem_of(X, estimator=None):
    """A problem, and weights that are not normalised."""
    estimator = EMHMMTagger(LEGAL, **SETTINGS) if estimator is None else estimator
    problem = estimator._read(X, None).problem
    rng = np.random.default_rng(1)
    tables = (
        table * rng.uniform(0.1, 1.9, table.shape) for table in uniform_weights(problem.cells)
    )
    return problem, ChainWeights(*tables)


def one_at_a_time(problem):
    """The engines with every sequence on its own."""
    return engines_of(problem, np.arange(problem.corpus.n_sequences))


def assert_same(found, expected, rtol=1e-12):
    for ours, theirs in zip(found.counts, expected.counts, strict=True):
        assert theirs.sum() > 0
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-14)
    assert found.log_normaliser == pytest.approx(expected.log_normaliser, rel=rtol)
    assert found.unexplained.tolist() == expected.unexplained.tolist()


def test_a_dictionary_means_runs_and_none_means_side_by_side():
    runs, _ = problem_of(words())
    side, _ = problem_of([[0, 1, 2], [2, 1]], EMHMM(2, **SETTINGS))
    long, _ = problem_of([[0, 1, 2]], EMHMM(2, **SETTINGS))
    found = [[part is not None for part in engines_of(p)[:3]] for p in (runs, side, long)]
    assert found == [[True, False, False], [False, True, False], [False, False, True]]


def test_long_runs_are_inferred_in_sequence(monkeypatch):
    X = [*words(), ["the", *["that"] * 80, "dog", "duck"], ["that"] * 70]
    problem, weights = problem_of(X)
    found = expectation(weights, problem, engines_of(problem))
    assert found.work.sequences[0].tolist() == [40, 41]
    assert found.work.runs.members.tolist() == list(range(40))
    assert_same(found, expectation(weights, problem, one_at_a_time(problem)))
    monkeypatch.setattr(engines, "_SMALLEST_SHARE", 0.9)
    assert engines_of(problem).runs is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_that_float64_loses_goes_to_log_space_alone(n_jobs):
    X = words()
    X[7] = ["the", *["duck", "runs"] * 4, "dog"]
    X[9] = ["dog", *["runs"] * 3]
    problem, weights = problem_of(X)
    # "runs" is all but impossible: three of them are beyond the runs' range, four beyond any.
    word = sorted({w for x in X for w in x if w}).index("runs")
    cells = slice(problem.cells.indptr[word], problem.cells.indptr[word + 1])
    weights.emission[cells] = 1e-60
    found = expectation(weights, problem, engines_of(problem), n_jobs)
    lost = found.work.lost
    assert 0 < len(lost) < 40
    assert 7 in lost
    assert set(found.work.runs.members) == set(range(40)) - set(lost)
    assert_same(found, expectation(weights, problem, one_at_a_time(problem)), 1e-9)
    # The next sweep begins where this one ended.
    assert expectation(weights, problem, found.work).work is found.work


def test_certain_words_without_weight_leave_their_sequences_out():
    X = [["the", "dog"], ["dog", "the", "duck"], ["dog", "runs"], ["duck", "the", "dog"]]
    problem, weights = problem_of(X)
    rows = {tag: k for k, tag in enumerate(["C", "D", "N", "P", "V"])}
    weights.transition[rows["D"], rows["N"]] = 0.0
    found = expectation(weights, problem, engines_of(problem))
    # "the duck" is left with the verb, "the dog" with nothing.
    assert found.unexplained.tolist() == [0, 3]
    assert found.counts.start.sum() == pytest.approx(2)
    assert_same(found, expectation(weights, problem, one_at_a_time(problem)))


def test_a_sequence_lost_side_by_side_leaves_the_others_there():
    rng = np.random.default_rng(0)
    X = [rng.integers(3, size=n).tolist() for n in rng.integers(2, 9, 30)] + [[3, 3, 3], [0, 3]]
    problem, weights = problem_of(X, EMHMM(4, **SETTINGS))
    weights.emission.reshape(4, 4)[3] = 1e-300
    found = expectation(weights, problem, engines_of(problem))
    assert found.work.lost.tolist() == [30, 31]
    assert sorted(found.work.side_by_side[0].members) == list(range(30))
    assert_same(found, expectation(weights, problem, one_at_a_time(problem)), 1e-9)
    assert len(found.unexplained) == 0
