"""How many sweeps EM and VB make, plain and accelerated, to the optimum that each ends in."""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from benchmarks.published.convergence import PHRASES, rules, tags
from sklearn_cvb import (
    EMDMV,
    EMHMM,
    EMPCFG,
    VBDMV,
    VBHMM,
    VBPCFG,
    EMHMMTagger,
    VBHMMTagger,
)
from sklearn_cvb.datasets import (
    make_hmm_sequences,
    make_pcfg_corpus,
    make_pocket_english,
    pocket_english_dictionary,
)
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.learning.algorithms import EM, VB
from sklearn_cvb.learning.generators import spawn_generators

# So far below its end (nats) a fit is at its end, and ends that differ by less are the same.
CLOSE = 0.01
# A fit that is at its end has had this many sweeps, and a quarter of what it may have: plateaus.
_FEWEST = 200
N_STEPS, _STAYS = 1500, 0.9


class Family(NamedTuple):
    """Data and models whose fits are compared.

    Attributes
    ----------
    title : str
    draw : callable
        ``draw(seed)``: sequences; some families have the same ones for each seed.
    models : dict
        By algorithm ``model(seed)``: an estimator.
    n_sweeps : int
        After how many a fit is taken to be at its end in any case.
    """

    title: str
    draw: Callable
    models: dict
    n_sweeps: int


def _models(classes, known=None, **settings):
    """By algorithm, functions that make an estimator for a seed, of what `known` gives."""
    names = [cls.__name__[:2] for cls in classes]
    return {
        name: lambda seed, cls=cls: cls(**settings, random_state=seed, **(known() if known else {}))
        for name, cls in zip(names, classes, strict=True)
    }


def path(rng):
    """1,500 states out of three, which stay with probability .9."""
    states = [0]
    for _ in range(N_STEPS - 1):
        states.append(states[-1] if rng.random() < _STAYS else int(rng.integers(3)))
    return np.array(states)


def overlapping(seed):
    """One series of three states whose means are 1.5 standard deviations apart."""
    rng = np.random.default_rng(seed)
    return [rng.normal(1.5 * path(rng))[:, None]]


def variances(seed):
    """One series of three states that differ in their spread alone: .5, 1 and 2."""
    rng = np.random.default_rng(seed)
    return [rng.normal(0.0, np.array([0.5, 1.0, 2.0])[path(rng)])[:, None]]


def poisson(seed):
    """One series of counts of three states, whose means are 2, 4 and 7."""
    rng = np.random.default_rng(seed)
    return [rng.poisson(np.array([2.0, 4.0, 7.0])[path(rng)])[:, None]]


def three_columns(seed):
    """One series of three columns that overlap."""
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.5]])
    return [rng.normal(means[path(rng)])]


def _words(seed):
    return make_pocket_english(600, random_state=seed).data


def _noisy_dictionary():
    """The pocket dictionary, in which 30 % of the words have two more tags."""
    rng, legal = np.random.default_rng(0), pocket_english_dictionary()
    every = sorted({tag for own in legal.values() for tag in own})
    return {
        word: tuple(sorted({*own, *rng.choice(every, 2)} if rng.random() < 0.3 else own))
        for word, own in legal.items()
    }


def _phrases(seed):
    return make_pcfg_corpus(PHRASES, 120, longest=12, random_state=seed)[0]


def families():
    """All families, by name."""
    hmm = (EMHMM, VBHMM)
    tagger = (EMHMMTagger, VBHMMTagger)
    small = {"n_components": 3, "n_symbols": 8, "random_state": 0}
    large = {"n_components": 4, "n_symbols": 10, "random_state": 1}
    return {
        "symbols-80": Family(
            "symbols, 80 sequences, 3 states",
            lambda seed: make_hmm_sequences(80, **small)[0],
            _models(hmm, n_components=3),
            4000,
        ),
        "symbols-500": Family(
            "symbols, 500 sequences, 4 states",
            lambda seed: make_hmm_sequences(500, **large)[0],
            _models(hmm, n_components=4),
            2000,
        ),
        "gaussian": Family(
            "Gaussian, 1.5 sd apart",
            overlapping,
            _models(hmm, n_components=3, emission="gaussian"),
            2000,
        ),
        "variances": Family(
            "Gaussian, variances differ",
            variances,
            _models(hmm, n_components=3, emission="gaussian"),
            4000,
        ),
        "poisson": Family(
            "Poisson, means 2, 4, 7",
            poisson,
            _models(hmm, n_components=3, emission="poisson"),
            2000,
        ),
        "columns": Family(
            "Gaussian, full, three columns",
            three_columns,
            _models(hmm, n_components=3, emission=Gaussian()),
            2000,
        ),
        "tagger": Family(
            "tagger, 600 sentences",
            _words,
            _models(tagger, lambda: {"tag_dictionary": pocket_english_dictionary()}),
            600,
        ),
        "noisy-tagger": Family(
            "tagger, more tags in the dictionary",
            _words,
            _models(tagger, lambda: {"tag_dictionary": _noisy_dictionary()}),
            600,
        ),
        "grammar": Family(
            "grammar, 120 sentences", _phrases, _models((EMPCFG, VBPCFG), grammar=rules()), 400
        ),
        "dependencies": Family(
            "dependencies, 250 sentences",
            lambda seed: tags(seed, None),
            _models((EMDMV, VBDMV)),
            400,
        ),
    }


class Sweeps(NamedTuple):
    """A fit, sweep after sweep.

    Attributes
    ----------
    best : ndarray
        The highest objective after each sweep (nats).
    in_vain : ndarray of bool
        Which sweeps were thrown away.
    """

    best: np.ndarray
    in_vain: np.ndarray

    @property
    def end(self):
        """The highest objective."""
        return self.best[-1]

    def n_until(self, value):
        """Sweeps until the objective has this value; None where it never has."""
        is_there = self.best >= value
        return int(np.argmax(is_there)) + 1 if is_there.any() else None


def fit_of(estimator, X, accelerate):
    """Algorithm, model and first state of a fit, which draws what `fit` draws."""
    algorithm = {"EM": EM, "VB": VB}[type(estimator).__name__[:2]](accelerate)
    model = estimator._model(estimator._read(X, None))
    (rng,) = spawn_generators(check_random_state(estimator.random_state), 1)
    return algorithm, model, rng, algorithm.start(model, rng)


def sweeps_of(estimator, X, accelerate, n_sweeps):
    """At most these sweeps of a fit, until half of them have brought next to nothing."""
    algorithm, model, rng, state = fit_of(estimator, X, accelerate)
    best, in_vain = [], []
    while len(best) < n_sweeps and not _stands(best, max(_FEWEST, n_sweeps // 4)):
        before = state.counts
        state, value = algorithm.sweep(state, model, rng)
        best.append(max([value, *best[-1:]]))
        in_vain.append(state.counts is before)
    return Sweeps(np.array(best), np.array(in_vain))


def _stands(best, n_least):
    n = len(best)
    return n >= n_least and best[-1] - best[n // 2] < 0.1 * CLOSE


class Pair(NamedTuple):
    """A plain and an accelerated fit from one start: sweeps to their ends.

    Attributes
    ----------
    plain, accelerated : int
        Sweeps until each is at its own end.
    in_vain : int
        Sweeps that were thrown away on the way.
    higher : float
        By how much the accelerated fit ends higher (nats).
    """

    plain: int
    accelerated: int
    in_vain: int
    higher: float


def compared(family, algorithm, seed, n_sweeps=None):
    """The two fits of a seed."""
    X, estimator = family.draw(seed), family.models[algorithm](seed)
    plain, accelerated = (
        sweeps_of(estimator, X, accelerate, n_sweeps or family.n_sweeps)
        for accelerate in (False, True)
    )
    reached = [one.n_until(one.end - CLOSE) for one in (plain, accelerated)]
    n_in_vain = int(accelerated.in_vain[: reached[1]].sum())
    return Pair(*reached, n_in_vain, float(accelerated.end - plain.end))


class Summary(NamedTuple):
    """A family by one algorithm, over seeds."""

    title: str
    algorithm: str
    plain: float
    accelerated: float
    in_vain: float
    n_higher: int
    n_lower: int
    lowest: float  # by how much the worst accelerated fit ends higher (nats)
    n_pairs: int


def summary(title, algorithm, pairs):
    """Medians of sweeps, and how many accelerated fits end elsewhere."""
    higher = [pair.higher for pair in pairs]
    return Summary(
        title,
        algorithm,
        median(pair.plain for pair in pairs),
        median(pair.accelerated for pair in pairs),
        median(pair.in_vain for pair in pairs),
        sum(value > CLOSE for value in higher),
        sum(value < -CLOSE for value in higher),
        min(higher),
        len(pairs),
    )
