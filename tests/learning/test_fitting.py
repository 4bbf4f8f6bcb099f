"""The fit loop: when it stops, what it keeps, and that threads change nothing."""

import sys
import threading

import numpy as np
import pytest

from sklearn_cvb import EMHMM
from sklearn_cvb.learning.convergence import StoppingRule
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.gibbs import count_structures, most_frequent_structures
from sklearn_cvb.learning.learned import best_fit
from sklearn_cvb.learning.model import Fit, Model
from sklearn_cvb.learning.sweeps import run_restarts, sweep_until
from sklearn_cvb.learning.threads import even_pieces, on_threads, threads_for_each
from sklearn_cvb.learning.watching import Interrupted

# Threads for each restart, by restarts and jobs.
SHARES = {(1, 1): 1, (1, 4): 4, (2, 4): 2, (3, 4): 1, (5, 2): 1, (1, None): 1}


def follow(values, max_iter, record=lambda fit: False):
    """Run sweeps that report these values in turn; the state counts sweeps."""
    begun = Fit(0, [], False)

    def sweep(state):
        return state + 1, values[state]

    return sweep_until(begun, sweep, max_iter, StoppingRule(0.0, Model()), record)


def test_sweeps_stop_at_the_largest_number():
    fit = follow([1.0, 2.0, 3.0, 4.0], 3)
    assert (fit.state, fit.history, fit.converged) == (3, [1.0, 2.0, 3.0], False)


def test_a_record_that_returns_true_stops():
    seen = []

    def record(fit):
        seen.append(fit.state)
        return fit.state == 2

    fit = follow([1.0, 2.0, 3.0], 3, record)
    assert (fit.state, fit.converged, seen) == (2, False, [1, 2])


def test_generators_differ_and_do_not_depend_on_how_many_there_are():
    three = spawn_generators(np.random.RandomState(0), 3)
    five = spawn_generators(np.random.RandomState(0), 5)
    draws = [generator.random(4).tolist() for generator in five]
    assert [generator.random(4).tolist() for generator in three] == draws[:3]
    assert len({tuple(draw) for draw in draws}) == 5
    other = spawn_generators(np.random.RandomState(1), 1)[0]
    assert other.random(4).tolist() != draws[0]


def _walk(index, generator, record):
    begun = Fit(index, [], False)
    return sweep_until(
        begun,
        lambda state: (state, float(generator.normal())),
        20,
        StoppingRule(0.0, Model()),
        record,
    )


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_restarts_come_back_in_order_whatever_runs_them(n_jobs):
    fits = run_restarts(_walk, spawn_generators(np.random.RandomState(3), 4), n_jobs)
    alone = [
        _walk(i, generator, lambda fit: False)
        for i, generator in enumerate(spawn_generators(np.random.RandomState(3), 4))
    ]
    assert [fit.state for fit in fits] == [0, 1, 2, 3]
    assert [fit.history for fit in fits] == [fit.history for fit in alone]


def test_sweeps_are_told_from_verbose_2_on(capsys):
    fit = EMHMM(2, n_init=2, max_iter=3, tol=0, random_state=0, verbose=1).fit
    fit([["a", "b", "a"], ["b", "a"]])
    said = capsys.readouterr().out
    assert (said.count("objective"), said.count(", sweep ")) == (2, 0)


def test_the_structure_that_was_sampled_most_often_is_kept():
    memory = None
    for sample in "xyyxy":
        memory = count_structures(memory, [(sample.encode(), sample), (b"same", "same")])
    assert memory[0] == {b"x": (2, "x"), b"y": (3, "y")}
    assert most_frequent_structures(memory) == ["y", "same"]


def test_two_restarts_run_at_once_on_two_threads():
    both_here = threading.Barrier(2, timeout=60)

    def restart(index, generator, record):
        both_here.wait()
        return Fit(index, [0.0], False)

    assert [fit.state for fit in run_restarts(restart, [None] * 2, 2)] == [0, 1]


def test_an_interruption_hands_over_the_finished_sweeps():
    def restart(index, generator, record):
        for sweep in range(1, 4):
            record(Fit((index, sweep), [0.0] * sweep, False))
            if (index, sweep) == (1, 2):
                raise KeyboardInterrupt
        return Fit((index, "done"), [0.0] * 3, True)

    with pytest.raises(Interrupted) as raised:
        run_restarts(restart, [None] * 3, 1)
    assert [fit.state for fit in raised.value.fits] == [(0, "done"), (1, 2)]


def test_an_interruption_stops_the_other_threads():
    begun, told = threading.Event(), []

    def restart(index, generator, record):
        if index == 1:
            told.append(record(Fit(index, [0.0], False)))
            begun.set()
            assert record.stop.wait(timeout=60)
            told.append(record(Fit(index, [0.0] * 2, False)))
            return Fit(index, [0.0] * 2, False)
        assert begun.wait(timeout=60)
        record(Fit(index, [0.0], False))
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        run_restarts(restart, [None] * 2, 2)
    assert told == [False, True]
    assert 0 in [fit.state for fit in raised.value.fits]


@pytest.fixture
def _polite_threads():
    """Threads that run on until they wait for each other."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(60.0)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_polite_threads")
def test_an_interruption_waits_for_the_sweeps_that_run():
    begun = threading.Event()

    def restart(index, generator, record):
        if index == 1:
            begun.set()
            assert record.stop.wait(timeout=60)
            record(Fit("whole", [0.0], False))
            return Fit("whole", [0.0], False)
        assert begun.wait(timeout=60)
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        run_restarts(restart, [None] * 2, 2)
    assert [fit.state for fit in raised.value.fits] == ["whole"]


def test_an_interruption_before_the_first_sweep_leaves_nothing():
    def restart(index, generator, record):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        run_restarts(restart, [None], 1)
    assert raised.value.fits == []


def test_other_errors_pass_through():
    def restart(index, generator, record):
        raise ValueError("init[3] is wrong")

    with pytest.raises(ValueError, match=r"init\[3\] is wrong"):
        run_restarts(restart, [None] * 2, 2)


def test_the_best_fit_is_the_first_of_the_highest():
    def fits(*objectives):
        return [Fit(i, [], False, value) for i, value in enumerate(objectives)]

    assert best_fit(fits(1.0, 3.0, 3.0, 2.0)).state == 1
    assert best_fit(fits(np.nan, -5.0, None)).state == 1
    assert best_fit(fits(-np.inf, np.nan)).state == 0
    assert best_fit(fits(np.inf, -5.0, np.nan, -4.0)).state == 3
    assert best_fit(fits(np.nan, None)).state == 1


@pytest.mark.parametrize(
    ("lengths", "n_tokens", "expected"),
    [
        ([3], 5, [(0, 1)]),
        ([3, 1, 2], 100, [(0, 3)]),
        ([2, 2, 2, 2], 4, [(0, 2), (2, 4)]),
        ([10, 1, 1], 4, [(0, 1), (1, 3)]),
        ([1, 1, 10], 4, [(0, 3)]),
        ([1] * 7, 3, [(0, 3), (3, 6), (6, 7)]),
    ],
)
def test_pieces_are_whole_sequences_in_order(lengths, n_tokens, expected):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    assert even_pieces(starts, n_tokens) == expected


@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1])
def test_every_piece_is_done_on_threads(n_jobs):
    done = np.zeros(10, int)

    def work(begin, end):
        done[begin:end] += np.arange(begin, end)

    on_threads(work, [(0, 4), (4, 5), (5, 10)], n_jobs)
    assert done.tolist() == list(range(10))


def test_results_of_pieces_come_back_in_order_from_two_threads():
    both_here = threading.Barrier(2, timeout=60)

    def work(begin, end):
        both_here.wait()
        return begin, end, threading.get_ident()

    (*first, left), (*second, right) = on_threads(work, [(0, 3), (3, 4)], 2)
    assert (first, second) == ([0, 3], [3, 4])
    assert left != right


def test_one_thread_is_the_caller():
    here = threading.get_ident()
    pieces = [(0, 1), (1, 2)]
    assert on_threads(lambda *_: threading.get_ident(), pieces, 1) == [here, here]
    assert on_threads(lambda *_: threading.get_ident(), pieces[:1], 2) == [here]


def test_an_error_in_a_piece_is_raised():
    def work(begin, end):
        if begin:
            raise ValueError("piece 1 is wrong")

    with pytest.raises(ValueError, match="piece 1 is wrong"):
        on_threads(work, [(0, 1), (1, 2)], 2)


def test_restarts_leave_each_other_an_even_share_of_the_threads():
    shares = [threads_for_each(n_restarts, n_jobs) for n_restarts, n_jobs in SHARES]
    assert shares == list(SHARES.values())


def test_labels_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X = [rng.integers(30, size=length).tolist() for length in rng.integers(1, 40, 700)]
    fitted = [EMHMM(5, max_iter=2, n_jobs=n_jobs, random_state=0).fit(X) for n_jobs in (1, 3)]
    one, three = (np.concatenate(model.labels_) for model in fitted)
    assert len(one) > 10000
    np.testing.assert_array_equal(one, three)
    np.testing.assert_array_equal(one, np.concatenate(fitted[0].predict(X)))
