"""What a second thread gains: whole fits, read to labels, timed on the wall."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from benchmarks import peers
from benchmarks.measurement import Measurement
from benchmarks.models import DENSE, N_STATES, TAGGERS
from benchmarks.text import read
from benchmarks.timing import sample, warmed_up
from sklearn_cvb import tag_dictionary_from

# A second core is there if two threads of arithmetic gain this much; waited for this many seconds.
_ENOUGH, _PATIENCE, _PAUSE = 1.8, 120.0, 2.0
# Without a dictionary sweeps take long: part of the text will do.
_SENTENCES = 5000
# With fewer undisturbed pairs than this, all are shown.
_FEWEST = 3


def dense(settings):
    """Two restarts of EM without a dictionary, the default 100 sweeps."""
    X = read(settings, "journal").X[:_SENTENCES]
    return _two_against_one(DENSE["EM"](N_STATES), X, 2, 2 if settings.quick else 100, settings)


def one_restart(settings):
    """One restart of EM without a dictionary: the sentences of a sweep are on threads."""
    X = read(settings, "journal").X
    return _two_against_one(DENSE["EM"](N_STATES), X, 1, 2 if settings.quick else 30, settings)


def with_dictionary(settings):
    """Two restarts of CVB with a dictionary, the default 100 sweeps: reading X is not threaded."""
    text = read(settings, "journal")
    estimator = TAGGERS["CVB sequence"](tag_dictionary_from(text.X, text.y, weights=False))
    return _two_against_one(estimator, text.X, 2, 2 if settings.quick else 100, settings)


def fit_on(n_jobs, estimator, X, n_restarts, n_sweeps):
    """A fit of that many sweeps as a function."""
    estimator = type(estimator)(**estimator.get_params(deep=False))
    estimator.set_params(n_init=n_restarts, n_jobs=n_jobs, max_iter=n_sweeps, tol=0, random_state=0)
    return lambda: estimator.fit(X)


def _two_against_one(estimator, X, n_restarts, n_sweeps, settings):
    two, one = (fit_on(n_jobs, estimator, X, n_restarts, n_sweeps) for n_jobs in (2, 1))
    for run in (two, one):
        warmed_up(run)
    patience = 0.0 if settings.quick else _PATIENCE
    pairs, gains = [], []
    for _ in range(settings.pairs):
        before, waited = wait_for_a_core(patience)
        patience -= waited
        pairs.append((sample(two).wall, sample(one).wall))
        gains.append(min(before, machine_gain()))
    kept = undisturbed(pairs, gains)
    note = (
        f"{n_sweeps} sweeps, seconds on the wall; {len(kept)} of {len(pairs)} pairs, before and "
        f"after which two threads of matrix products gained at least {_ENOUGH}x"
    )
    if kept is pairs:
        note = (
            f"{n_sweeps} sweeps, seconds on the wall; two threads of matrix products gained "
            f"{median(gains):.2f}x before and after (least {min(gains):.2f}x)"
        )
    left, right = ([pair[side] for pair in kept] for side in (0, 1))
    ratios = [b / a for a, b in kept]
    return Measurement(left, right, ratios, "s", note)


def undisturbed(pairs, gains):
    """The pairs for which the machine had a second core; all of them if those are few."""
    quiet = [pair for pair, gain in zip(pairs, gains, strict=True) if gain >= _ENOUGH]
    return quiet if _FEWEST <= len(quiet) < len(pairs) else pairs


def wait_for_a_core(patience):
    """Wait until nothing else uses the second core; returns its gain and the seconds waited."""
    begin = time.perf_counter()
    while (gain := machine_gain()) < _ENOUGH:
        waited = time.perf_counter() - begin
        if waited >= patience:
            return gain, waited
        time.sleep(_PAUSE)
    return gain, time.perf_counter() - begin


def machine_gain():
    """How much faster the machine at hand does two matrix products on two threads than on one."""
    products = [peers.matrix_product(512, 512, 512)[0] for _ in range(2)]

    def repeated(product):
        for _ in range(20):
            product()

    with ThreadPoolExecutor(2) as pool:

        def on_two():
            list(pool.map(repeated, products))

        def on_one():
            list(map(repeated, products))

        on_two()
        return sample(on_one).wall / sample(on_two).wall
