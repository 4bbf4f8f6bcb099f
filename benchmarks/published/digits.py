"""Reading digits in sequences: dates and account numbers, from black and white pixels.

Pictures of single digits become sequences whose digits follow one another as in dates, or at random
but for a check digit. A state is a digit: states are known where somebody has read the digit.
"""

from datetime import date, timedelta
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBHMM, EMHMM, VBHMM
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns
from sklearn_cvb.metrics import match_states

N_DIGITS, N_PIXELS = 10, 64
# Grey values are 0 to 16.
_HALF = 8
_FIRST_DAY, _AFTER_LAST = date(1950, 1, 1), date(2050, 1, 1)
# The sum of an account number's digits times these is divisible by the modulus.
_FACTORS, _MODULUS = np.arange(10, 0, -1), 11


class Pictures(NamedTuple):
    """Black and white pixels (n, 64), and the digit of each picture."""

    pixels: np.ndarray
    digit: np.ndarray


def halves(seed):
    """scikit-learn's digits in black and white: a half to learn from, the other to be tested on."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    grey, digit = load_digits(return_X_y=True)
    pixels = (grey >= _HALF).astype(float)
    parts = train_test_split(pixels, digit, test_size=0.5, stratify=digit, random_state=seed)
    return Pictures(parts[0], parts[2]), Pictures(parts[1], parts[3])


@cache
def all_dates():
    """Every date of a century as eight digits, day, month, year.

    Returns shape (36525, 8).
    """
    n_days = (_AFTER_LAST - _FIRST_DAY).days
    texts = [f"{_FIRST_DAY + timedelta(days=i):%d%m%Y}" for i in range(n_days)]
    return np.array([list(map(int, text)) for text in texts])


def dates(n, rng):
    """Dates at random.

    Returns shape (n, 8).
    """
    return all_dates()[rng.integers(len(all_dates()), size=n)]


def accounts(n, rng):
    """Account numbers: nine digits at random, and a check digit modulo 11.

    Returns shape (n, 10).
    """
    # One in eleven would need a check digit of 10.
    body = rng.integers(N_DIGITS, size=(2 * n + 20, 9))
    check = -(body @ _FACTORS[:9]) % _MODULUS
    return np.column_stack([body, check])[check < N_DIGITS][:n]


NUMBERS = {"dates": dates, "accounts": accounts}


def written(numbers, pictures, rng):
    """A picture for every digit of some numbers.

    `numbers` (n, length). Returns shape (n, length, 64).
    """
    found = np.empty((*numbers.shape, N_PIXELS))
    for digit in range(N_DIGITS):
        own, places = pictures.pixels[pictures.digit == digit], numbers == digit
        found[places] = own[rng.integers(len(own), size=places.sum())]
    return found


def best_valid(logs, kind):
    """The best of all numbers that obey the rule.

    `logs` (n, length, 10): log weight of each digit at each place. Returns shape (n, length).
    """
    if kind == "dates":
        table, places = all_dates(), np.arange(logs.shape[1])
        return np.array([table[one[places, table].sum(axis=1).argmax()] for one in logs])
    return np.array([_best_account(one) for one in logs])


def _best_account(logs):
    """The best digits whose weighted sum has no remainder, by dynamic programming."""
    best = np.full(_MODULUS, -np.inf)
    best[0] = 0.0
    digits, remainders = np.arange(N_DIGITS), np.arange(_MODULUS)
    backward = []
    for log, factor in zip(logs, _FACTORS, strict=True):
        before = (remainders[:, None] - factor * digits) % _MODULUS
        scores = best[before] + log
        backward.append(scores.argmax(axis=1))
        best = scores.max(axis=1)
    number, remainder = [], 0
    for chosen, factor in zip(reversed(backward), reversed(_FACTORS), strict=True):
        number.append(chosen[remainder])
        remainder = (remainder - factor * number[-1]) % _MODULUS
    return np.array(number[::-1])


READERS = {
    "bayes": "naive Bayes",
    "alone em": "EM, no chain",
    "alone vb": "VB, no chain",
    "alone cvb": "CVB, no chain",
    "chain em": "EM, chain",
    "chain vb": "VB, chain",
    "chain cvb": "CVB, chain",
    "chain cvb place": "CVB, chain, the place as a column",
    "alone em semi": "EM, no chain, and unlabelled sequences",
    "alone vb semi": "VB, no chain, and unlabelled sequences",
    "alone cvb semi": "CVB, no chain, and unlabelled sequences",
    "chain em semi": "EM, chain, and unlabelled sequences",
    "chain vb semi": "VB, chain, and unlabelled sequences",
    "chain cvb semi": "CVB, chain, and unlabelled sequences",
    "bayes rule": "naive Bayes, best that obeys the rule",
    "chain cvb rule": "CVB, chain, best that obeys the rule",
    "chain cvb semi rule": "CVB, chain, and unlabelled sequences, best that obeys the rule",
}
KINDS = {"dates": "Dates", "accounts": "Account numbers"}
_MEASURES = ("digits", "sequences")


MODELS = {"em": EMHMM, "vb": VBHMM, "cvb": CVBHMM}
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

    `n_places`: length of the sequences.
    """
    pixels = Bernoulli(ones_prior=_ALPHA, zeros_prior=_ALPHA)
    if n_places is None:
        return pixels
    place = Categorical(concentration_prior=_ALPHA, n_categories=n_places)
    return Columns([(pixels, range(N_PIXELS)), (place, [N_PIXELS])])


def with_places(pictures):
    """Pictures with their places in the sequence, from 0, as one more column.

    `pictures` (n, length, 64). Returns shape (n, length, 65).
    """
    shape = pictures.shape[:2]
    places = np.broadcast_to(np.arange(shape[1]), shape)
    return np.concatenate([pictures, places[..., None]], axis=2)


def supervised(kind, topology, pictures, numbers, has_places=False):
    """A model of sequences all of whose digits are known.

    `pictures` (n, length, 64). `numbers` (n, length). `has_places`: whether the last column is the
    place.
    """
    model = kind(
        N_DIGITS,
        emission=emission(numbers.shape[1] if has_places else None),
        transitions=topology,
        supervision="y",
        alpha=_ALPHA,
        init=list(np.eye(N_DIGITS)[numbers]),
        max_iter=1,
    )
    return model.fit(list(pictures), list(numbers))


def semi_supervised(start, pictures, numbers, unlabelled):
    """A model of labelled and unlabelled sequences, from a supervised one.

    `pictures` (n, length, 64). `numbers` (n, length). `unlabelled` (m, length, 64).
    """
    model = type(start)(**start.get_params(deep=False) | {"init": start, "max_iter": SWEEPS})
    unknown = np.full(unlabelled.shape[:2], -1)
    return model.fit([*pictures, *unlabelled], [*numbers, *unknown])


def unsupervised(kind, topology, unlabelled, numbers, seed):
    """A model that saw no label; a state is the digit that it reads most one to one.

    `unlabelled` (m, length, 64).
    """
    model = kind(
        N_DIGITS,
        emission=emission(),
        transitions=topology,
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

    Returns ``["labelled"][number of labelled sequences][reader]`` and ``["unlabelled"][reader]``: a
    list with a value for each seed.
    """
    sizes = QUICK_N_LABELLED if settings.quick else N_LABELLED
    found = {"labelled": {str(n): {} for n in sizes}, "unlabelled": {}}
    for seed in range(QUICK_N_SEEDS if settings.quick else N_SEEDS):
        train, test, unlabelled = _sequences(kind, seed, settings)
        for n in sizes:
            readings = _by_labels(kind, [part[:n] for part in train], unlabelled[0], test[0])
            _append(found["labelled"][str(n)], readings, test[1])
        names = [(key, name) for key in TOPOLOGIES for name in MODELS]
        readings = {
            f"{key} {name}": unsupervised(MODELS[name], TOPOLOGIES[key], *unlabelled, seed)(test[0])
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
        for name, model_kind in MODELS.items():
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


PARTS = {kind: partial(part, kind) for kind in NUMBERS}


def shares_of(runs, measure):
    """A measure of all seeds."""
    return [run[measure] for run in runs]


def tables(results):
    """Shares of digits and sequences that are right, with and without labels."""
    names = [name for name in KINDS if name in results]
    found = {name: _labelled(KINDS[name], results[name]["labelled"]) for name in names}
    found["unlabelled"] = _unlabelled({name: results[name]["unlabelled"] for name in names})
    return found


def _labelled(title, found):
    header = ["labelled sequences"]
    header += [f"{n}, {measure}" for n in found for measure in _MEASURES]
    lines = [
        [READERS[key]] + [_cell(of[key], measure) for of in found.values() for measure in _MEASURES]
        for key in READERS
    ]
    return Table(header, lines, f"{title}: what is read right (%)")


def _unlabelled(found):
    header = ["", *(f"{KINDS[name]}, {measure}" for name in found for measure in _MEASURES)]
    keys = [key for key in READERS if all(key in of for of in found.values())]
    lines = [
        [READERS[key]] + [_cell(of[key], measure) for of in found.values() for measure in _MEASURES]
        for key in keys
    ]
    return Table(header, lines, "Without labels: what is read right (%)")


def _cell(runs, measure):
    return plus_minus(shares_of(runs, measure), 1, 100)


def draw(results, folder):
    """No pictures."""
