"""Rows about hidden Markov models of numbers: a sweep of Gaussian states, ours and others'."""

import warnings

import numpy as np

from benchmarks import peers
from benchmarks.measurement import Measurement, Row
from benchmarks.models import Sweep
from benchmarks.timing import interleaved
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Durations, Transitions
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
    Gamma,
    Gaussian,
    Mixture,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Regression,
    StudentT,
    VonMises,
    ZeroInflated,
)

N_STATES, _N_COLUMNS = 8, 4
# Sequences and their length: 100,000 steps each.
ONE_SERIES, SENTENCES = (1, 100_000), (4000, 25)
_QUICK = 50
# A state stays with this probability.
_STAYS = 0.8
_ALGORITHMS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
# What is measured beside Gaussians with independent columns, and what it makes of the same series.
_OTHERS = {
    "regression of two columns on two": (Regression([0, 1]), np.positive),
    "autoregression of order 1": (AutoRegressive(1), np.positive),
    "Student's t": (StudentT(), np.positive),
    "Poisson": (Poisson(), lambda x: np.floor(np.exp(0.5 * x))),
    "negative binomial": (NegativeBinomial(size=3.0), lambda x: np.floor(np.exp(0.5 * x))),
    "multinomial": (Multinomial(), lambda x: np.floor(np.exp(0.5 * x))),
    "categorical": (Categorical(n_categories=4), lambda x: np.clip(np.floor(x) + 2.0, 0.0, 3.0)),
    "Bernoulli": (Bernoulli(), lambda x: 1.0 * (x > 0.0)),
    "zero-inflated Poisson": (
        Columns([(ZeroInflated(Poisson()), [d]) for d in range(_N_COLUMNS)]),
        lambda x: np.floor(np.exp(0.5 * x)),
    ),
    "Gamma": (Gamma(shape=2.0), np.exp),
    "von Mises": (VonMises(), lambda x: np.angle(np.exp(1j * x))),
    "mixture of two Gaussian diag": (Mixture(Gaussian("diag"), n_components=2), np.positive),
}


def series(shape, seed=0):
    """Sequences of a chain whose states are Gaussians that overlap.

    Returns shape (length, 4).
    """
    rng = np.random.default_rng(seed)
    means, found = 1.5 * rng.normal(size=(N_STATES, _N_COLUMNS)), []
    for _ in range(shape[0]):
        moves = rng.random(shape[1]) >= _STAYS
        moves[0] = True
        drawn = rng.integers(N_STATES, size=shape[1])
        states = drawn[np.maximum.accumulate(np.where(moves, np.arange(shape[1]), 0))]
        found.append(means[states] + rng.normal(size=(shape[1], _N_COLUMNS)))
    return found


def _of_ten_trials(x):
    """Counts of ten trials, an outcome for each column, the likelier the larger it is."""
    shares = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return np.random.default_rng(0).multinomial(10, shares)


def _sized(shape, settings):
    n_sequences, length = shape
    return (max(1, n_sequences // _QUICK), min(length, 2000)) if settings.quick else shape


def _sweep(algorithm, emission, X):
    if isinstance(emission, str):
        emission = Gaussian(emission)
    return Sweep(_ALGORITHMS[algorithm](N_STATES, emission=emission), X)


def _hmmlearn(name, X, **settings):
    """One EM iteration of a class of hmmlearn in its fastest mode."""
    from hmmlearn import hmm

    settings |= {"n_iter": 1, "tol": -np.inf, "implementation": "scaling", "random_state": 0}
    model = getattr(hmm, name)(N_STATES, **settings)
    table, lengths = np.concatenate(X), [len(steps) for steps in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, lengths)

    def iterate():
        statistics, _ = model._do_estep(table, lengths)
        model._do_mstep(statistics)

    return iterate


def _compared(ours, peer, n_steps, settings, faster):
    pairs = interleaved(ours, peer, settings.pairs, 0.02 if settings.quick else 0.2)
    left, right = (
        [1e9 * side.cpu / n_steps for side in sides] for sides in zip(*pairs, strict=True)
    )
    ratios = [b / a if faster else a / b for a, b in zip(left, right, strict=True)]
    return Measurement(left, right, ratios, "ns per step", f"{n_steps:,} steps of {_N_COLUMNS}")


def against_hmmlearn(emission, shape, name, of_series=np.positive, **peer_settings):
    """A row that compares a sweep of EM with one of a class of hmmlearn."""

    def measure(settings):
        X = [of_series(x) for x in series(_sized(shape, settings))]
        ours, peer = _sweep("EM", emission, X), _hmmlearn(name, X, **peer_settings)
        return _compared(ours, peer, sum(map(len, X)), settings, True)

    return measure


def against_dynamax(emission, iteration, shape):
    """A row that compares a sweep of EM with one of dynamax."""

    def measure(settings):
        X = series(_sized(shape, settings))
        peer = iteration(np.array(X), N_STATES)
        return _compared(_sweep("EM", emission, X), peer, sum(map(len, X)), settings, True)

    return measure


def against_em(algorithm, covariance_type, shape):
    """A row that compares a sweep with one of EM on the same series."""

    def measure(settings):
        X = series(_sized(shape, settings))
        sides = [_sweep(name, covariance_type, X) for name in (algorithm, "EM")]
        return _compared(*sides, sum(map(len, X)), settings, False)

    return measure


def against_gaussians(algorithm, emission, of_series, shape):
    """A row that compares a sweep with one of Gaussian states, columns independent."""

    def measure(settings):
        X = series(_sized(shape, settings))
        ours = _sweep(algorithm, emission, [of_series(x) for x in X])
        sides = ours, _sweep(algorithm, "diag", X)
        return _compared(*sides, sum(map(len, X)), settings, False)

    return measure


def against_short_visits(algorithm, shape):
    """A row that compares a sweep of visits of up to 100 steps with one of up to 25."""

    def measure(settings):
        X, kind = series(_sized(shape, settings)), _ALGORITHMS[algorithm]
        sides = (
            kind(N_STATES, emission="gaussian", transitions=Transitions(durations=Durations(*own)))
            for own in (("histogram", 100), ("histogram", 25))
        )
        n_steps = sum(map(len, X))
        return _compared(*(Sweep(model, X) for model in sides), n_steps, settings, False)

    return measure


def rows():
    """All rows, by name."""
    shapes = {"series": ONE_SERIES, "sentences": SENTENCES}
    words = {"series": "one series", "sentences": "sequences of 25"}
    limits = {
        ("diag", "series"): (3, 6),
        ("diag", "sentences"): (None, None),
        ("full", "series"): (None, None),
        ("full", "sentences"): (50, 100),
    }
    found = {
        f"gaussian-{kind}-{name}": Row(
            f"EM, {N_STATES} Gaussian states, {kind}, {words[name]}, against hmmlearn",
            against_hmmlearn(kind, shapes[name], "GaussianHMM", covariance_type=kind),
            True,
            *limit,
            needs="hmmlearn",
        )
        for (kind, name), limit in limits.items()
    }
    found["mixture-hmmlearn"] = Row(
        f"EM, {N_STATES} states, mixture of two Gaussian diag, {words['series']}, against hmmlearn",
        against_hmmlearn(
            Mixture(Gaussian("diag"), 2), ONE_SERIES, "GMMHMM", n_mix=2, covariance_type="diag"
        ),
        True,
        5,
        None,
        needs="hmmlearn",
    )
    found["multinomial-hmmlearn"] = Row(
        f"EM, {N_STATES} states, multinomial, {words['series']}, against hmmlearn",
        against_hmmlearn(Multinomial(), ONE_SERIES, "MultinomialHMM", _of_ten_trials),
        True,
        1,
        None,
        needs="hmmlearn",
    )
    found["gaussian-dynamax"] = Row(
        f"EM, {N_STATES} Gaussian states, diag, {words['sentences']}, against dynamax (float32)",
        against_dynamax("diag", peers.dynamax_gaussian_iteration, SENTENCES),
        True,
        6,
        10,
        needs="dynamax",
    )
    found["autoregression-dynamax"] = Row(
        f"EM, {N_STATES} states, autoregression of order 1, {words['sentences']}, against dynamax "
        "(float32)",
        against_dynamax(AutoRegressive(1), peers.dynamax_autoregressive_iteration, SENTENCES),
        True,
        None,
        None,
        needs="dynamax",
    )
    for kind, (emission, of_series) in _OTHERS.items():
        for algorithm in _ALGORITHMS:
            word = kind.split()[0].strip("'s").lower()
            found[f"{word}-{algorithm.lower()}"] = Row(
                f"{algorithm}, {N_STATES} states, {kind}, {words['series']}, against Gaussian diag",
                against_gaussians(algorithm, emission, of_series, ONE_SERIES),
                False,
                None,
                None,
            )
    for algorithm in _ALGORITHMS:
        found[f"durations-{algorithm.lower()}"] = Row(
            f"{algorithm}, {N_STATES} states, visits of up to 100 steps, against up to 25",
            against_short_visits(algorithm, ONE_SERIES),
            False,
            None,
            None,
        )
    for kind in ("diag", "full"):
        for name, shape in shapes.items():
            found[f"gaussian-cvb-{kind}-{name}"] = Row(
                f"CVB, {N_STATES} Gaussian states, {kind}, {words[name]}, against EM",
                against_em("CVB", kind, shape),
                False,
                2,
                None,
            )
    return found
