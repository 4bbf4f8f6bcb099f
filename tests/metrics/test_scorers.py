"""Scorers inside scikit-learn's model selection, on sequences of different lengths."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_cvb import metrics

X = [["b", "a"], ["a"], ["b", "b", "a"], ["a", "b"], ["b"], ["a", "a"]]
Y = [[word.upper() for word in words] for words in X]
Y[4] = None
NAMES = [
    "token_accuracy_scorer",
    "many_to_one_scorer",
    "one_to_one_scorer",
    "v_measure_scorer",
]


class Shouter(BaseEstimator):
    """Tags a word by its capital, or everything alike."""

    def __init__(self, listens=True):
        self.listens = listens

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        tags = np.empty(len(X), dtype=object)
        tags[:] = [
            np.array([word.upper() if self.listens else "A" for word in words]) for words in X
        ]
        return tags

    def perplexity(self, X):
        return 2.0 if self.listens else 3.0


@pytest.mark.parametrize("name", NAMES)
def test_grid_search_prefers_the_better(name):
    scorer = getattr(metrics, name)
    search = GridSearchCV(Shouter(), {"listens": [False, True]}, scoring=scorer, cv=3).fit(X, Y)
    assert search.best_params_ == {"listens": True}
    assert search.best_score_ == 1.0
    assert search.score(X, Y) == 1.0


def test_perplexity_scorer_prefers_the_lower():
    search = GridSearchCV(
        Shouter(), {"listens": [False, True]}, scoring=metrics.perplexity_scorer, cv=2
    ).fit(X)
    assert search.best_params_ == {"listens": True}
    assert search.cv_results_["mean_test_score"].tolist() == [-3.0, -2.0]


def test_values_are_the_metrics():
    lazy = Shouter(listens=False)
    assert metrics.token_accuracy_scorer(lazy, X, Y) == 6 / 10
    assert metrics.many_to_one_scorer(lazy, X, Y) == 6 / 10
    assert metrics.one_to_one_scorer(lazy, X, Y) == 6 / 10
    assert metrics.v_measure_scorer(lazy, X, Y) == 0.0
    scores = cross_val_score(lazy, X, Y, scoring=metrics.token_accuracy_scorer, cv=2)
    assert scores.tolist() == [3 / 6, 3 / 4]


@pytest.mark.parametrize("name", [*NAMES, "perplexity_scorer"])
def test_survives_pickling(name):
    scorer = getattr(metrics, name)
    copy = pickle.loads(pickle.dumps(scorer))
    assert copy(Shouter(), X, Y) == scorer(Shouter(), X, Y)
    assert name in repr(copy)


@pytest.mark.parametrize("name", NAMES)
def test_gold_tags_are_needed(name):
    with pytest.raises(TypeError, match=f"{name} compares predictions with gold tags: pass y"):
        getattr(metrics, name)(Shouter(), X)


def test_names_are_listed_in_order():
    assert list(metrics.__all__) == sorted(metrics.__all__)
    assert all(isinstance(name, str) and hasattr(metrics, name) for name in metrics.__all__)
