"""Sequences of pictures of digits: dates, and account numbers with a check digit."""

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

import numpy as np

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
    """scikit-learn's digits in black and white: a half to learn from, the other to be tested on.

    Parameters
    ----------
    seed : int

    Returns
    -------
    tuple of Pictures
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    grey, digit = load_digits(return_X_y=True)
    pixels = (grey >= _HALF).astype(float)
    parts = train_test_split(pixels, digit, test_size=0.5, stratify=digit, random_state=seed)
    return Pictures(parts[0], parts[2]), Pictures(parts[1], parts[3])


@cache
def all_dates():
    """Every date of a century as eight digits, day, month, year.

    Returns
    -------
    ndarray of shape (36525, 8)
    """
    n_days = (_AFTER_LAST - _FIRST_DAY).days
    texts = [f"{_FIRST_DAY + timedelta(days=i):%d%m%Y}" for i in range(n_days)]
    return np.array([list(map(int, text)) for text in texts])


def dates(n, rng):
    """Dates at random.

    Parameters
    ----------
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, 8)
    """
    return all_dates()[rng.integers(len(all_dates()), size=n)]


def accounts(n, rng):
    """Account numbers: nine digits at random, and a check digit modulo 11.

    Parameters
    ----------
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, 10)
    """
    # One in eleven would need a check digit of 10.
    body = rng.integers(N_DIGITS, size=(2 * n + 20, 9))
    check = -(body @ _FACTORS[:9]) % _MODULUS
    return np.column_stack([body, check])[check < N_DIGITS][:n]


NUMBERS = {"dates": dates, "accounts": accounts}


def written(numbers, pictures, rng):
    """A picture for every digit of some numbers.

    Parameters
    ----------
    numbers : ndarray of shape (n, length)
    pictures : Pictures
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, length, 64)
    """
    found = np.empty((*numbers.shape, N_PIXELS))
    for digit in range(N_DIGITS):
        own, places = pictures.pixels[pictures.digit == digit], numbers == digit
        found[places] = own[rng.integers(len(own), size=places.sum())]
    return found


def best_valid(logs, kind):
    """The best of all numbers that obey the rule.

    Parameters
    ----------
    logs : ndarray of shape (n, length, 10)
        Log weight of each digit at each place.
    kind : {"dates", "accounts"}

    Returns
    -------
    ndarray of shape (n, length)
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
