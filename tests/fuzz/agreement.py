"""Random corpora that are learned from twice: the numbers of one way are those of the other.

Each function makes one draw, which follows from its number alone, and asserts that a store, batches
of `partial_fit`, workers of Dask or a classifier give what lists in memory, tokens counted by hand,
or Bayes' rule give; or both say what is wrong.
"""

import atexit
import pickle
import tempfile
import warnings
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.draws import SEED
from scipy.special import softmax
from sklearn.base import clone

import sklearn_cvb
from sklearn_cvb import (
    HDP,
    HMMClassifier,
    Samples,
    StepSizes,
    Symbols,
    TagDictionary,
    Transitions,
    Windows,
    open_store,
    write_store,
)

_WORDS = [["a", "b", "c", "Da", "e-ly"], ["a"], ["a", "b"], list(range(6)), [-3, 10**12]]
_TAGS = [["N", "V", "D"], ["N"], [1, 2]]


class _Corpus:
    """Sequences, some labels, and a dictionary."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.words, self.tags = self.one(_WORDS), self.one(_TAGS)
        n = int(self.one([1, 2, 5, 12]))
        self.X: list[list[Any]] = [
            [self.one(self.words) for _ in range(length)] for length in self.lengths(n)
        ]
        if self.chance(0.2):
            self.X = [[None if self.chance(0.3) else word for word in row] for row in self.X]
        self.dictionary = {
            word: [tag for tag in self.tags if self.chance(0.6)] or self.tags
            for word in self.words
            if self.chance(0.8)
        }
        self.y = [[self.label(word) for word in row] for row in self.X]

    def one(self, values: Any) -> Any:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def lengths(self, n: int) -> list[int]:
        """Of so many sequences; one of them may be long."""
        found = self.rng.integers(1, 8, size=n).tolist()
        return [int(self.one([40, 300])), *found[1:]] if self.chance(0.2) else found

    def label(self, word: Any) -> Any:
        """A tag that the dictionary allows, or none."""
        return None if self.chance(0.7) else self.one(self.dictionary.get(word, self.tags))

    def concentration(self) -> Any:
        """A number, or one that is learned."""
        return self.one([0.1, 1.0, 0.5, 1e-6, 30.0])

    def estimator(self, algorithms: list[str], **settings: Any) -> Any:
        """A model or a tagger, with random settings."""
        algorithm, is_tagger = self.one(algorithms), self.chance(0.5)
        given: dict[str, Any] = {
            "alpha": self.concentration(),
            "beta": self.concentration(),
            "max_iter": int(self.rng.integers(1, 5)),
            "random_state": int(self.rng.integers(100)),
            "n_init": self.one([1, 1, 2]),
            "transitions": self.transitions(),
            "init": self.one([None, "token", "word", "parameter"]),
            "emission": Symbols(
                vocabulary=[*self.words, self.one(self.words)] if self.chance(0.1) else None,
                handle_unknown=self.one(["smooth", "rare", "error", "form"][: 3 + is_tagger]),
            ),
        }
        if algorithm == "CVB":
            given["update"] = self.one([None, "sequence", "sequence", "token", Windows(3)])
        if is_tagger:
            given["tag_dictionary"] = TagDictionary(
                self.dictionary or None, denoise=self.one(["auto", "none"])
            )
        else:
            given["n_components"] = int(self.rng.integers(1, 5))
        return self.made(f"{algorithm}HMM{'Tagger' * is_tagger}", given | settings)

    def made(self, name: str, given: dict[str, Any]) -> Any:
        """The estimator with those of the settings that it has."""
        kind = getattr(sklearn_cvb, name)
        return kind(**{key: value for key, value in given.items() if key in kind().get_params()})

    def transitions(self) -> Transitions:
        """Any but tables of numbers of states, which taggers lack."""
        topology = self.one(["full", "full", "left-right", "constant", "independent"])
        return Transitions(
            topology,
            end_state=topology != "independent" and self.chance(0.3),
            sticky=self.one([0.0, 0.0, 2.0]),
            prior=HDP() if topology == "full" and self.chance(0.1) else "dirichlet",
        )


def _outcome(function: Any, *arguments: Any) -> tuple[Any, Exception | None]:
    """What a call gives, or the error by which it says what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return function(*arguments), None
        except (ValueError, TypeError, AttributeError) as error:
            return None, error


def _same_error(here: Exception, there: Exception) -> None:
    assert type(here) is type(there), (here, there)


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


def _assert_same(here: Any, there: Any, rtol: float = 1e-10) -> None:
    """Two fits have the same numbers."""
    for name in ("startprob_", "transmat_", "emissionprob_", "history_", "objective_"):
        one, other = _dense(getattr(here, name)), _dense(getattr(there, name))
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol, err_msg=name)
    for one, other in zip(here.counts_, there.counts_, strict=True):
        np.testing.assert_allclose(_dense(other), _dense(one), rtol=rtol, atol=rtol)


def _uses(path: Any, row: list) -> tuple[Any, Counter, Counter]:
    """The weights that a path uses: its start, its steps, and its states of words."""
    states = path.tolist()
    return states[0], Counter(pairwise(states)), Counter(zip(states, row, strict=True))


def check_store(i: int) -> None:
    """A fit on a store, in pieces of any size, has the numbers of a fit in memory."""
    corpus = _Corpus(np.random.default_rng([SEED, 2, i]))
    estimator = corpus.estimator(["EM", "VB", "CVB"])
    is_tagger = hasattr(estimator, "tag_dictionary")
    y = corpus.y if is_tagger and corpus.chance(0.5) else None
    cut = int(corpus.rng.integers(0, len(corpus.X) + 1))
    parts = [slice(0, cut), slice(cut, None)]
    batches = [corpus.X[part] if y is None else (corpus.X[part], y[part]) for part in parts]
    size = int(corpus.one([1, 7, 1000]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        write_store(batches, path, tagged=y is not None)
        store = open_store(path, batch_size=size)
        here, problem = _outcome(clone(estimator).fit, corpus.X, y)
        there, other = _outcome(clone(estimator).fit, store, None if y is None else store.tags)
        if problem or other:
            if other and not problem and "on a store CVB" in str(other):
                return
            assert problem, f"only the store is refused: {other!r}"
            assert other, f"only memory is refused: {problem!r}"
            _same_error(problem, other)
            return
        # Leaving out all but a little leaves rounding errors.
        rtol = 1e-7 if type(estimator).__name__.startswith("CVB") else 1e-10
        _assert_same(here, there, rtol)
        np.testing.assert_allclose(there.score(store), here.score(corpus.X), rtol, atol=1e-12)
        both = zip(here.predict(corpus.X), there.predict(store), strict=True)
        for row, (one, other) in zip(corpus.X, both, strict=True):
            # Of paths with equal weights rounding decides: these use each weight as often.
            assert _uses(one[: len(row)], row) == _uses(other[: len(row)], row)


def check_batches(i: int) -> None:
    """Counts stand for the tokens seen, copies go on alike, and errors change nothing."""
    corpus = _Corpus(np.random.default_rng([SEED, 3, i]))
    steps = StepSizes(corpus.one([0.6, 1.0]), offset=corpus.one([0.0, 10.0]))
    model = corpus.estimator(["EM", "VB", "CVB"], step_sizes=steps)
    n_seen = 0
    for n_batches, begin in enumerate(range(0, len(corpus.X), 3), 1):
        batch = corpus.X[begin : begin + 3]
        copy = pickle.loads(pickle.dumps(model))
        if corpus.chance(0.1):
            bad = corpus.one([["a b"], [["a", float("inf")]], [[]], 3, [[["a"]]]])
            _, problem = _outcome(model.partial_fit, bad)
            assert problem
        _, problem = _outcome(model.partial_fit, batch)
        _, other = _outcome(copy.partial_fit, batch)
        if problem or other:
            _same_error(problem, other)
            break
        _assert_same(model, copy, rtol=0)
        n_seen += sum(map(len, batch))
        assert model.n_batches_seen_ == n_batches
        if len(model.unexplained_):
            break
        # Steps weigh batches by their tokens, also by those that are missing.
        if not any(None in row for row in corpus.X):
            np.testing.assert_allclose(model.counts_.emission.sum(), n_seen, rtol=1e-9)
        assert np.isfinite(model.history_).all()
        assert np.abs(model.emissionprob_.sum(axis=1) - 1).max() < 1e-6


@cache
def client() -> Any:
    """Two threads that work for Dask."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    found = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(found.close)
    return found


def check_workers_or_classifier(i: int) -> None:
    """Every other draw is a fit on workers of Dask, or a classifier."""
    (_check_workers if i // 10 % 2 else _check_classifier)(i)


def _check_workers(i: int) -> None:
    """EM and VB have the numbers of a fit here, CVB counts every token."""
    import dask.bag

    corpus = _Corpus(np.random.default_rng([SEED, 4, i]))
    estimator = corpus.estimator(["EM", "VB", "CVB"])
    y = corpus.y if hasattr(estimator, "tag_dictionary") and corpus.chance(0.5) else None
    client()
    n = int(corpus.rng.integers(1, 5))
    X, labels = (
        None if rows is None else dask.bag.from_sequence(rows, npartitions=n)
        for rows in (corpus.X, y)
    )
    here, problem = _outcome(clone(estimator).fit, corpus.X, y)
    there, other = _outcome(clone(estimator).fit, X, labels)
    if problem or other:
        assert other, f"only here is refused: {problem!r}"
        if problem:
            _same_error(problem, other)
        return
    if not type(estimator).__name__.startswith("CVB"):
        _assert_same(here, there, rtol=1e-9)
    elif not len(here.unexplained_):
        np.testing.assert_allclose(
            there.counts_.emission.sum(), here.counts_.emission.sum(), rtol=1e-9
        )
    assert len(here.predict(corpus.X)) == len(there.predict(corpus.X))


def _check_classifier(i: int) -> None:
    """Posteriors are those of Bayes' rule over a model of each class."""
    corpus = _Corpus(np.random.default_rng([SEED, 5, i]))
    labels = corpus.one([["up", "down"], [0, 1, 2], [True, False]])
    known = Symbols(vocabulary=corpus.words)
    keeps = Samples(0) if corpus.chance(0.5) else None
    estimator = corpus.estimator(
        ["EM", "VB", "CVB", "Gibbs"], emission=known, samples=keeps, init="token"
    )
    if hasattr(estimator, "tag_dictionary"):
        estimator.set_params(tag_dictionary=TagDictionary({word: [1, 2] for word in corpus.words}))
    y = [corpus.one(labels) for _ in corpus.X]
    model, problem = _outcome(HMMClassifier(estimator).fit, corpus.X, y)
    if len(set(y)) == 1:
        assert "at least 2 classes" in str(problem)
        return
    own = {}
    for label in sorted(set(y)):
        rows = [row for row, of in zip(corpus.X, y, strict=True) if of == label]
        own[label], other = _outcome(clone(estimator).fit, rows)
        if other:
            assert problem, f"only the model alone is refused: {other!r}"
            return
    assert not problem, f"only the classifier is refused: {problem!r}"
    shares = [np.log(y.count(label) / len(y)) for label in own]
    scores = [one.score_samples(corpus.X) for one in own.values()]
    logs = np.stack(scores, axis=1) + shares
    # Series that no class explains are for another test.
    if np.isfinite(logs).any(axis=1).all():
        found = model.predict_proba(corpus.X)
        np.testing.assert_allclose(found, softmax(logs, axis=1), atol=1e-9)
