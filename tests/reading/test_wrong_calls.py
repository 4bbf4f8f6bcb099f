"""Wrong calls that a first hour brings: none is silent, and each is told with its culprit and cure.

What is said of times is in test_times.py, and of word lists in test_word_lists.py.
"""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_cvb import CVBHMM, EMHMM, CVBHMMTagger, WordTable
from sklearn_cvb.datasets import read_dictionary
from sklearn_cvb.emissions import Categorical, Columns, Gaussian

RNG = np.random.default_rng(0)
SENTENCES = [["the", "dog", "barks"], ["a", "dog"]] * 5
TAGS = [["D", "N", "V"], ["D", "N"]] * 5
LONG = pd.DataFrame(
    [(i, word) for i, sentence in enumerate(SENTENCES) for word in sentence],
    columns=["sentence", "word"],
)
SENSOR = pd.DataFrame({"temp": RNG.normal(size=40), "mode": ["on", "off"] * 20})
NUMBERS = SENSOR.assign(mode=RNG.normal(size=40))
QUICK = {"max_iter": 2, "tol": 0, "random_state": 0}
MIXED = Columns([(Gaussian(), ["temp"]), (Categorical(), ["mode"])])
MODELS = {
    "chain": lambda: CVBHMM(2, **QUICK).fit(SENTENCES),
    "tagger": lambda: CVBHMMTagger({"the": ["D"], "dog": ["N", "V"]}, **QUICK).fit(SENTENCES),
    "mixed": lambda: EMHMM(2, emission=MIXED, **QUICK).fit([SENSOR]),
    "series": lambda: EMHMM(2, emission="gaussian", **QUICK).fit([NUMBERS]),
}


@cache
def fitted(name):
    return MODELS[name]()


CUT = r"split_by\(X, by='sentence', columns='word'"
REFUSED = {
    "fit a long table": ("chain", "fit", [LONG], CUT),
    "tag a long table": ("tagger", "predict", [LONG], CUT),
    "score a long table": ("chain", "score", [LONG], CUT),
    "words, not sequences": ("chain", "fit", [["the", "dog"]], r"X\[0\] is .* pass \[X\]"),
    "predict words": ("tagger", "predict", [["the", "dog"]], r"X\[0\] is .* pass \[X\]"),
    "a line": ("tagger", "predict", ["the dog"], r"split it into words with str.split"),
    "a column of words": ("chain", "fit", [LONG["word"]], r"X\[0\] is .* pass \[X\]"),
    "one frame": ("mixed", "predict", [SENSOR], r"pass \[X\] if its rows are one"),
    "one array": ("mixed", "predict", [SENSOR.to_numpy()], r"\['temp', 'mode'\]; .* pass \[X\]"),
    "a column of numbers": ("series", "fit", [NUMBERS["temp"]], r"pass \[X\] if it is one"),
    "other widths": ("series", "predict", [NUMBERS[["temp"]]], r"pass \[X\] if X is one"),
    "further columns": ("series", "predict", [[NUMBERS.assign(x=1.0)]], r"\['x'\] are new"),
    "a lacking column": ("series", "predict", [[NUMBERS[["temp"]]]], r"\['mode'\] are missing"),
    "text in a column": ("series", "fit", [[SENSOR]], r"'on' .* column 'mode'.*Categorical"),
    "a groupby": ("series", "fit", [SENSOR.groupby("mode")], r"\[group for _, group in X\]"),
    "a dict": ("chain", "fit", [{"a": ["b", "c"]}], r"here list\(X.values\(\)\)"),
    "a lazy frame": ("chain", "fit", [pl.from_pandas(LONG).lazy()], r"pass X.collect\(\)"),
    "tags as lines": ("tagger", "fit", [SENTENCES, ["D N V", "D N"] * 5], "one label for each"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused_with_the_cure(call):
    model, method, arguments, message = REFUSED[call]
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        getattr(fitted(model), method)(*arguments)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_symbols_of_which_none_is_observed_are_told(missing):
    with pytest.warns(UserWarning, match="X has no observed token: nothing can be learned"):
        CVBHMM(2, **QUICK).fit([[missing, missing], [missing]])


def test_other_names_of_tags_are_told():
    other = [["x"] * len(tags) for tags in TAGS]
    with pytest.warns(UserWarning, match="tags of y that the model knows: none .*'D', 'N', 'V'"):
        assert fitted("tagger").score(SENTENCES, other) == 0.0


def test_a_word_list_is_no_table_of_words_to_check(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("word,tag\nthe,D\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"word lists are read by .*read_dictionary"):
        WordTable.read_csv(path)
    assert read_dictionary(path) == {"the": ("D",)}
