"""Fitted models are saved as plain values: skops writes them, and they come back as they were."""

import pickle
import types
from collections import Counter

import nltk
import numpy as np
import pytest

import sklearn_cvb
from sklearn_cvb import (
    EMHMM,
    EMPCFG,
    CVBHMMTagger,
    Durations,
    Grammar,
    TagDictionary,
    Transitions,
)
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.emissions import AutoRegressive, Columns, Gaussian, Mixture, Poisson, ZeroInflated
from sklearn_cvb.grammar.grammar import TerminalRun
from sklearn_cvb.reading.saved_values import loaded, saved

# Beside the first of each estimator: those that keep trees, tuples as keys, or laws of durations.
TOLD = {"given", "brackets", "n_components", "arcs", "gaussian durations"}
CASES = [
    (name, title)
    for name, situations in SITUATIONS.items()
    for i, title in enumerate(situations)
    if i == 0 or title in TOLD
]
VALUES = [
    {("a", 1): 1, "b": {2.5: [TerminalRun(("x", "y"))]}},
    {"a": ({None: True},), "b": np.arange(3)},
    {1: 2, "1": 3},
    Counter({("a",): 2}),
    Counter("aab"),
    nltk.Tree("S", [nltk.Tree(("A", 1), ["a", ("b", 2)]), "c"]),
    [{("V", ...): 2.0}],
    nltk.PCFG.fromstring("S -> 'a' 'b' [0.5] | S S [0.5]"),
    nltk.CFG.fromstring("S -> 'a' | S S"),
    np.array([nltk.Tree("S", ["a"]), None, [1]], dtype=object),
]


def plain(value, place="model"):
    """Assert that skops can write a value: it goes by types, and by ``__getstate__``."""
    assert not isinstance(value, types.MethodType | types.EllipsisType), place
    assert not isinstance(value, nltk.Tree | nltk.CFG), place
    if isinstance(value, dict):
        assert set(map(type, value)) in ({str}, {int}, set()), place
        for key, item in value.items():
            plain(item, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        assert type(value) in (list, tuple) or type(value).__bases__ == (tuple,), place
        assert type(value) in (list, tuple) or hasattr(value, "_fields"), place
        for i, item in enumerate(value):
            plain(item, f"{place}[{i}]")
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            plain(value.ravel().tolist(), place)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        plain(value.__getstate__(), f"{place}.{type(value).__name__}")


def shown(value):
    """What can be compared: kinds, too, and the order of keys."""
    if isinstance(value, nltk.CFG):
        return type(value), str(value)
    if isinstance(value, np.ndarray):
        return value.shape, shown(value.tolist())
    if isinstance(value, dict):
        return type(value), [(key, shown(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value), getattr(value, "label", str)(), [shown(item) for item in value]
    return type(value), value


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_come_back_as_they_were(value):
    form = saved(value)
    plain(form)
    assert shown(loaded(form)) == shown(value)
    assert shown(loaded(pickle.loads(pickle.dumps(form)))) == shown(value)
    plain_value = {"a": [1, "b", (2.0, np.arange(2))], "b": Counter("a")}
    assert saved(plain_value) is plain_value


def same(one, other, X):
    for method in ("predict", "score_samples"):
        assert str(list(getattr(one, method)(X))) == str(list(getattr(other, method)(X)))
    assert str(one.summary()) == str(other.summary())
    if hasattr(one, "labels_"):
        assert str(list(one.labels_)) == str(list(other.labels_))


def there_and_back(model, X):
    """Through a pickle, and through skops where it is installed."""
    plain(model)
    same(model, pickle.loads(pickle.dumps(model)), X)
    try:
        from skops import io
    except ImportError:
        return
    text = io.dumps(model)
    unknown = io.get_untrusted_types(data=text)
    packages = {name.partition(".")[0] for name in unknown}
    assert packages <= {"sklearn_cvb", "scipy", "builtins", "collections", "nltk", "numpy"}
    same(model, io.loads(text, trusted=unknown), X)


@pytest.mark.many(usual=9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "title"), CASES)
def test_every_estimator(name, title):
    situation = SITUATIONS[name][title]
    there_and_back(situation.fit(), situation.X_new)


def test_every_estimator_is_among_them():
    assert len({name for name, _ in CASES}) == len(SITUATIONS) > 20


SERIES = [np.abs(np.random.default_rng(0).normal(size=(12, 2)))] * 2
COUNTS = [np.arange(10.0) % 4] * 2
SETTINGS = [
    (EMHMM(2, emission=Columns([(Gaussian("diag"), [0]), (Gaussian(), [1])])), SERIES),
    (EMHMM(2, emission=AutoRegressive(1)), SERIES),
    (EMHMM(2, emission=Mixture(Gaussian("diag"), 2)), SERIES),
    (EMHMM(2, emission=ZeroInflated(Poisson())), COUNTS),
    (EMHMM(2, emission=Poisson(), transitions=Transitions(durations=Durations(longest=4))), COUNTS),
    (EMHMM(2), [[("a", 1), ("b", 2)], [("b", 2), b"c", 7, "7", None]]),
    (
        CVBHMMTagger(TagDictionary({("a", 1): [("N", 0)], "b": [("N", 0), "V"]})),
        [[("a", 1), "b"], ["b", "b"]],
    ),
    (EMPCFG(nltk.CFG.fromstring("S -> 'a' 'b' | S S | 'a'")), [["a", "b"], ["a", "a", "b"]]),
    (EMPCFG(Grammar.from_text("S -> 'a' 'b' | S S | 'a'")), [["a", "b"], ["a", "a", "b"]]),
    (EMPCFG(["(S (A a) (B b c))"]), [["a", "b", "c"]]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "X"), SETTINGS, ids=range(len(SETTINGS)))
def test_odd_words_settings_and_emissions(model, X):
    there_and_back(model.set_params(random_state=0, max_iter=3, tol=0).fit(X), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["HMMClassifier", "HMMMixture"])
def test_models_of_models(name):
    X = [["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]] * 3
    model = getattr(sklearn_cvb, name)(EMHMM(1, random_state=0, max_iter=2, tol=0))
    model = model.fit(X, ["x", "y"] * 6) if name == "HMMClassifier" else model.fit(X)
    plain(model)
    again = pickle.loads(pickle.dumps(model))
    assert list(again.predict(X)) == list(model.predict(X))
