"""Reading digits in sequences: dates and account numbers, from black and white pixels.

Pictures of single digits become sequences whose digits follow one another as in dates, or at random
but for a check digit. A state is a digit: states are known where somebody has read the digit.
"""

from functools import partial

import numpy as np

from benchmarks.published.digits_sequences import (
    N_DIGITS,
    N_PIXELS,
    NUMBERS,
    best_valid,
    halves,
    written,
)
from benchmarks.published.digits_tables import draw, tables
from benchmarks.published.settings import run_parts
from sklearn_cvb import CVBHMM, EMHMM, VBHMM
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns
from sklearn_cvb.metrics import match_states

__all__ = ["PARTS", "draw", "run", "tables"]

KINDS = {"em": EMHMM, "vb": VBHMM, "cvb": CVBHMM}
TOPOLOGIES = {"alone": "independent", "chain": "full"}
N_LABELLED, QUICK_N_LABELLED = (5, 20, 100), (20,)
N_UNLABELLED, N_TEST, N_SEEDS, SWEEPS = 300, 200, 5, 30
QUICK_N_UNLABELLED, QUICK_N_TEST, QUICK_N_SEEDS = 60, 40, 1
# Restarts where there are no labels.
N_INIT = 3
# Prior of ones, of zeros, and of every transition; naive Bayes has the same.
_ALPHA = 1.0
# Log probability of digits that naive Bayes never saw.
_LOWEST = -1e3


def emission(n_places=None):
    """Pixels that are independent given the digit, and where asked for the place as a column.

    Parameters
    ----------
    n_places : int, default=None
        Length of the sequences.

    Returns
    -------
    Emission
    """
    pixels = Bernoulli(ones_prior=_ALPHA, zeros_prior=_ALPHA)
    if n_places is None:
        return pixels
    place = Categorical(concentration_prior=_ALPHA, n_categories=n_places)
    return Columns([(pixels, range(N_PIXELS)), (place, [N_PIXELS])])


def with_places(pictures):
    """Pictures with their places in the sequence, from 0, as one more column.

    Parameters
    ----------
    pictures : ndarray of shape (n, length, 64)

    Returns
    -------
    ndarray of shape (n, length, 65)
    """
    shape = pictures.shape[:2]
    places = np.broadcast_to(np.arange(shape[1]), shape)
    return np.concatenate([pictures, places[..., None]], axis=2)


def supervised(kind, topology, pictures, numbers, has_places=False):
    """A model of sequences all of whose digits are known.

    Parameters
    ----------
    kind : type
    topology : {"full", "independent"}
    pictures : ndarray of shape (n, length, 64) or (n, length, 65)
    numbers : ndarray of shape (n, length)
    has_places : bool, default=False
        Whether the last column is the place.

    Returns
    -------
    estimator
        State k is digit k.
    """
    model = kind(
        N_DIGITS,
        emission=emission(numbers.shape[1] if has_places else None),
        topology=topology,
        supervision="y",
        alpha=_ALPHA,
        init=list(np.eye(N_DIGITS)[numbers]),
        max_iter=1,
    )
    return model.fit(list(pictures), list(numbers))


def semi_supervised(start, pictures, numbers, unlabelled):
    """A model of labelled and unlabelled sequences, from a supervised one.

    Parameters
    ----------
    start : estimator
    pictures : ndarray of shape (n, length, 64)
    numbers : ndarray of shape (n, length)
    unlabelled : ndarray of shape (m, length, 64)

    Returns
    -------
    estimator
    """
    model = type(start)(**start.get_params(deep=False) | {"init": start, "max_iter": SWEEPS})
    unknown = np.full(unlabelled.shape[:2], -1)
    return model.fit([*pictures, *unlabelled], [*numbers, *unknown])


def unsupervised(kind, topology, unlabelled, numbers, seed):
    """A model that saw no label; a state is the digit that it reads most one to one.

    Parameters
    ----------
    kind : type
    topology : {"full", "independent"}
    unlabelled : ndarray of shape (m, length, 64)
    numbers : ndarray of shape (m, length)
        To name the states by.
    seed : int

    Returns
    -------
    callable
        Reads pictures.
    """
    model = kind(
        N_DIGITS,
        emission=emission(),
        topology=topology,
        alpha=_ALPHA,
        n_init=N_INIT,
        random_state=seed,
    ).fit(list(unlabelled))
    names = match_states(numbers, model.predict(list(unlabelled)))
    digit = np.array([names.get(state, -1) for state in range(N_DIGITS)])
    return lambda pictures: digit[np.array(list(model.predict(list(pictures))))]


class NaiveBayes:
    """scikit-learn's, one digit at a time; its reading, and log probabilities by digit."""

    def __init__(self, pictures, numbers):
        from sklearn.naive_bayes import BernoulliNB

        flat = pictures.reshape(-1, N_PIXELS)
        self.model = BernoulliNB(alpha=_ALPHA).fit(flat, numbers.ravel())

    def predict(self, pictures):
        """Digits of shape (n, length)."""
        return self.model.predict(pictures.reshape(-1, N_PIXELS)).reshape(pictures.shape[:2])

    def logs(self, pictures):
        """Log probabilities of shape (n, length, 10), of digits never seen next to none."""
        logs = np.full((*pictures.shape[:2], N_DIGITS), _LOWEST)
        found = self.model.predict_log_proba(pictures.reshape(-1, N_PIXELS))
        logs[..., self.model.classes_] = found.reshape(*pictures.shape[:2], -1)
        return logs


def shares(numbers, read):
    """Shares of digits and of whole sequences that are right."""
    right = numbers == read
    return {"digits": float(right.mean()), "sequences": float(right.all(axis=1).mean())}


def part(kind, settings):
    """All readers of dates or account numbers.

    Parameters
    ----------
    kind : {"dates", "accounts"}
    settings : Settings

    Returns
    -------
    dict
        ``["labelled"][number of labelled sequences][reader]`` and ``["unlabelled"][reader]``: a
        list with a value for each seed; ``["shown"]``, pictures and readings.
    """
    sizes = QUICK_N_LABELLED if settings.quick else N_LABELLED
    found = {"labelled": {str(n): {} for n in sizes}, "unlabelled": {}, "shown": None}
    for seed in range(QUICK_N_SEEDS if settings.quick else N_SEEDS):
        train, test, unlabelled = _sequences(kind, seed, settings)
        for n in sizes:
            readings = _by_labels(kind, [part[:n] for part in train], unlabelled[0], test[0])
            _append(found["labelled"][str(n)], readings, test[1])
            if found["shown"] is None and n == 20:
                found["shown"] = _shown(test, readings)
        names = [(key, name) for key in TOPOLOGIES for name in KINDS]
        readings = {
            f"{key} {name}": unsupervised(KINDS[name], TOPOLOGIES[key], *unlabelled, seed)(test[0])
            for key, name in names
        }
        _append(found["unlabelled"], readings, test[1])
    return found


def _sequences(kind, seed, settings):
    """Pictures and numbers: labelled, of the test, unlabelled; no picture is in both halves."""
    rng = np.random.default_rng(seed)
    learned, tested = halves(seed)
    sizes = (N_LABELLED[-1], N_TEST, N_UNLABELLED)
    if settings.quick:
        sizes = (N_LABELLED[-1], QUICK_N_TEST, QUICK_N_UNLABELLED)
    found = []
    for n, pictures in zip(sizes, (learned, tested, learned), strict=True):
        numbers = NUMBERS[kind](n, rng)
        found.append((written(numbers, pictures, rng), numbers))
    return found


def _by_labels(kind, labelled, unlabelled, test):
    """Readings of the test by all that learn from labels."""
    bayes = NaiveBayes(*labelled)
    found = {
        "bayes": bayes.predict(test),
        "bayes rule": best_valid(bayes.logs(test), kind),
    }
    placed = supervised(CVBHMM, "full", with_places(labelled[0]), labelled[1], has_places=True)
    found["chain cvb place"] = _read(placed, with_places(test))
    for key, topology in TOPOLOGIES.items():
        for name, model_kind in KINDS.items():
            model = supervised(model_kind, topology, *labelled)
            found |= _readings(f"{key} {name}", model, test, kind)
            model = semi_supervised(model, *labelled, unlabelled)
            found |= _readings(f"{key} {name} semi", model, test, kind)
    return found


def _readings(name, model, test, kind):
    """What a model reads, and of the chain of CVB also the best that obeys the rule."""
    found = {name: _read(model, test)}
    if name.startswith("chain cvb"):
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(list(model.predict_proba(list(test)))))
        found[f"{name} rule"] = best_valid(np.maximum(logs, _LOWEST), kind)
    return found


def _read(model, pictures):
    return np.array(list(model.predict(list(pictures))))


def _append(found, readings, numbers):
    for name, read in readings.items():
        found.setdefault(name, []).append(shares(numbers, read))


def _shown(test, readings):
    """A few sequences of which naive Bayes reads something else than the chain."""
    pictures, numbers = test
    differ = (readings["bayes"] != readings["chain cvb semi"]).any(axis=1)
    chosen = np.flatnonzero(differ)[:3]
    return {
        "pixels": pictures[chosen].astype(int).tolist(),
        "numbers": numbers[chosen].tolist(),
        **{key: readings[key][chosen].tolist() for key in ("bayes", "chain cvb semi")},
    }


PARTS = {kind: partial(part, kind) for kind in NUMBERS}


def run(settings):
    """Read dates and account numbers.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)
