"""Sweeps of this library as functions that can be timed."""

import copy

import numpy as np

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    GibbsHMMTagger,
    Symbols,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.demo.experiment import COMPARED

N_STATES = 45
# Concentrations that taggers are compared with elsewhere; EM has none.
_PRIOR = {"alpha": 1.0, "beta": 0.03, **COMPARED}
# Sweeps of an annealing: hot ones cost more than cold ones.
_ANNEALING = 50

DENSE = {
    "EM": lambda k: EMHMM(k, emission=Symbols(handle_unknown="error")),
    "VB": lambda k: VBHMM(k, emission=Symbols(handle_unknown="error")),
    "CVB sequence": lambda k: CVBHMM(k, emission=Symbols(handle_unknown="error")),
    "CVB token": lambda k: CVBHMM(k, update="token", emission=Symbols(handle_unknown="error")),
    "Gibbs": lambda k: GibbsHMM(k, emission=Symbols(handle_unknown="error")),
}
TAGGERS = {
    "EM": lambda d: EMHMMTagger(d).set_params(**COMPARED),
    "VB": lambda d: VBHMMTagger(d).set_params(**_PRIOR),
    "CVB sequence": lambda d: CVBHMMTagger(d).set_params(**_PRIOR),
    "CVB token": lambda d: CVBHMMTagger(d, update="token").set_params(**_PRIOR),
    "Gibbs": lambda d: GibbsHMMTagger(d, max_iter=_ANNEALING).set_params(**_PRIOR),
}


class Sweep:
    """Calling it does one sweep and keeps the new state, as `fit` does."""

    def __init__(self, estimator, X):
        self._rng = np.random.default_rng(0)
        read = estimator._read(X, None)
        self.problem = read.problem
        self._algorithm, self._model = estimator._algorithm(), estimator._model(read)
        self._state = self._algorithm.start(self._model, self._rng)

    def __call__(self):
        self._state, _ = self._algorithm.sweep(self._state, self._model, self._rng)

    @property
    def n_tokens(self):
        """Number of tokens."""
        return len(self.problem.corpus.tokens)

    @property
    def tags_per_token(self):
        """Mean number of states that a token may take."""
        return float(self.problem.lattice.count.mean())


class Annealing(Sweep):
    """Calling it does all sweeps of an annealing, from hot to cold, as `fit` does."""

    def __init__(self, estimator, X):
        super().__init__(estimator, X)
        self._first = self._state

    def __call__(self):
        self._state = copy.deepcopy(self._first)
        for _ in range(_ANNEALING):
            super().__call__()

    @property
    def n_tokens(self):
        """Number of tokens, once for each sweep."""
        return _ANNEALING * super().n_tokens


def dense_sweep(algorithm, X, n_states=N_STATES):
    """A sweep without a dictionary."""
    return Sweep(DENSE[algorithm](n_states), X)


def tagger_sweep(algorithm, text, min_count=1, n_sentences=None):
    """A sweep with a dictionary of the words seen at least `min_count` times.

    Tags are taken from the whole text; `n_sentences` of it are counted and learned from.
    """
    X = text.X[:n_sentences]
    legal = tag_dictionary_from(text.X, text.y, min_count=min_count, count_in=X, weights=False)
    kind = Annealing if algorithm == "Gibbs" else Sweep
    return kind(TAGGERS[algorithm](legal), X)
