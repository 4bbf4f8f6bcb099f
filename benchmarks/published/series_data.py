"""Real series of numbers: those that statsmodels ships, and what can be counted in texts."""

from importlib import import_module
from typing import NamedTuple

import numpy as np

from sklearn_cvb.datasets import fetch_alice, fetch_dependency_treebank, fetch_japanese_vowels

# Sentences of the treebank whose words are measured, utterances that are learned from.
_N_SENTENCES, _N_UTTERANCES = 300, 30


class Series(NamedTuple):
    """What a series is called, its sequences of shape (length, n_columns), and its emissions."""

    title: str
    X: list
    kinds: tuple


def _shipped(name):
    """A data set of statsmodels."""
    try:
        module = import_module(f"statsmodels.datasets.{name}")
    except ImportError:
        raise SystemExit(
            "five of the series are data sets of statsmodels, which is not installed: "
            "`pip install statsmodels`, or run `series --parts alice,words,vowels`"
        ) from None
    return module.load_pandas().data


def nile(settings):
    """Flow of the Nile, a number a year."""
    flow = _shipped("nile")["volume"].to_numpy(float)
    return Series("Nile, yearly flow", [flow[:, None]], ("diag",))


def sunspots(settings):
    """Sunspots, a number a year: square roots."""
    activity = _shipped("sunspots")["SUNACTIVITY"].to_numpy(float)
    return Series("Sunspots, yearly, square root", [np.sqrt(activity)[:, None]], ("diag",))


def economy(settings):
    """Growth of the US economy by quarter: product, consumption, investment (%); unemployment."""
    data = _shipped("macrodata")
    growth = [100 * np.diff(np.log(data[name])) for name in ("realgdp", "realcons", "realinv")]
    return Series(
        "US economy, quarterly changes",
        [np.column_stack([*growth, np.diff(data["unemp"])])],
        ("diag", "full"),
    )


def elnino(settings):
    """Temperature of the sea off Peru: a year is a step of twelve months."""
    table = _shipped("elnino").drop(columns="YEAR").to_numpy(float)
    return Series("El Niño, years of 12 months", [table], ("diag", "full"))


def co2(settings):
    """Carbon dioxide at Mauna Loa: changes of the monthly mean, with months that are missing."""
    monthly = _shipped("co2")["co2"].resample("MS").mean().to_numpy(float)
    return Series("CO2, monthly changes", [np.diff(monthly)[:, None]], ("diag",))


def alice(settings):
    """Words in each sentence of Alice's Adventures in Wonderland."""
    sentences = fetch_alice(data_home=settings.data_home, download_if_missing=False).data
    counts = [len("".join(letters).split()) for letters in sentences]
    counts = np.array(counts[:200] if settings.quick else counts, float)
    return Series("Alice, words in a sentence", [counts[:, None]], ("poisson",))


def words(settings):
    """Letters in each word of news, a sequence a sentence."""
    treebank = fetch_dependency_treebank(
        remove_punctuation=True, data_home=settings.data_home, download_if_missing=False
    )
    sentences = treebank.words[: 40 if settings.quick else _N_SENTENCES]
    X = [np.array([[len(word)] for word in sentence], float) for sentence in sentences]
    return Series(f"News, letters in a word, {len(X)} sentences", X, ("poisson",))


def vowels(settings):
    """Utterances of the first speaker of Japanese Vowels."""
    found = fetch_japanese_vowels(data_home=settings.data_home)
    X = [x for x, who in zip(found.X_train, found.y_train, strict=True) if who == "1"]
    n_utterances = 10 if settings.quick else _N_UTTERANCES
    return Series("Japanese Vowels, speaker 1", X[:n_utterances], ("diag", "full"))


READERS = {
    "nile": nile,
    "sunspots": sunspots,
    "economy": economy,
    "elnino": elnino,
    "co2": co2,
    "alice": alice,
    "words": words,
    "vowels": vowels,
}
