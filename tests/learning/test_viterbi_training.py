"""Viterbi training of estimators: what users see, and that it is the same however it is run."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import (
    EMDMV,
    EMHMM,
    EMPCFG,
    EMAlignmentHMM,
    EMHMMTagger,
    Symbols,
    Transitions,
)
from sklearn_cvb.datasets import make_hmm_sequences

SYMBOLS = make_hmm_sequences(40, n_components=3, n_symbols=8, random_state=0)[0]
SYMBOLS = [np.asarray(x).astype(object) for x in SYMBOLS]
MISSING = [x.copy() for x in SYMBOLS]
for x in MISSING[::3]:
    x[::4] = None
TEXT = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"], ["they", "swim"]] * 5
LEGAL = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"], "swims": ["VB", "NN"]}
LEGAL["swim"] = ["VB", "NN"]
TAGS = [t.split() for t in ("DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB")]
PAIRS = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
PAIRS = [(source.split(), target.split()) for source, target in PAIRS]
HARD = {"update": "viterbi"}
CASES = {
    "symbols": (EMHMM(3, **HARD), SYMBOLS),
    "priors": (EMHMM(3, alpha=0.5, beta=0.1, **HARD), SYMBOLS),
    "missing": (EMHMM(3, **HARD), MISSING),
    "ends": (EMHMM(3, transitions=Transitions(end_state=True), **HARD), MISSING),
    "left-right": (EMHMM(3, transitions="left-right", **HARD), SYMBOLS),
    "tagger": (EMHMMTagger(LEGAL, **HARD), TEXT),
    "grammar": (EMPCFG(n_components=3, alpha=0.1, **HARD), TEXT),
    "dependencies": (EMDMV(alpha=0.5, arc_weights="ud", **HARD), TAGS * 5),
    "alignment": (EMAlignmentHMM(max_iter=30, **HARD), PAIRS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_objective_never_falls_and_paths_stay(name):
    estimator, X = CASES[name]
    model = clone(estimator).set_params(random_state=1).fit(X)
    assert model.converged_
    assert (np.diff(model.history_) > -1e-9).all()
    plain = clone(estimator).set_params(random_state=1, tol=0, max_iter=model.n_iter_).fit(X)
    assert (np.diff(plain.history_) > -1e-9).all()
    # A disturbed copy that came higher is gone on from.
    assert model.history_[-1] >= plain.history_[-1] - 1e-9


def test_counts_are_those_of_the_states_it_leaves():
    """Once paths stay the same they are `labels_`, and every count is a whole number."""
    model = EMHMM(3, random_state=1, emission=Symbols(handle_unknown="error"), **HARD).fit(SYMBOLS)
    paths, n_symbols = model.labels_, len(model.vocabulary_)
    transition, emission = np.zeros((3, 3)), np.zeros((3, n_symbols))
    for path, x in zip(paths, SYMBOLS, strict=True):
        np.add.at(transition, (path[:-1], path[1:]), 1)
        np.add.at(emission, (path, np.searchsorted(model.vocabulary_, x.astype(int))), 1)
    np.testing.assert_array_equal(model.counts_.transition, transition)
    np.testing.assert_array_equal(model.counts_.emission.T, emission)
    expected = transition / transition.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transmat_, expected, atol=1e-12)


def test_labels_are_kept_to():
    model = EMHMM(3, supervision="y", random_state=0, **HARD)
    y = [np.full(len(x), -1) for x in SYMBOLS]
    for known in y[:20]:
        known[:] = np.arange(len(known)) % 3
    model.fit(SYMBOLS, y)
    for path, known in zip(model.labels_[:20], y[:20], strict=True):
        assert np.array_equal(path, known)


def test_a_sequence_that_no_path_explains_is_left_out():
    """Weights of 0 that a start gives stay: what needs them is named, and not counted."""
    start = EMHMM(
        2, max_iter=1, random_state=0, emission=Symbols(["a", "b"], handle_unknown="error")
    )
    start.fit([["a", "a"], ["a"]])
    model = EMHMM(2, init=start, max_iter=2, emission=start.emission, **HARD)
    with pytest.warns(UserWarning, match=r"cannot be explained by any path.*\[1\]"):
        model.fit([["a", "a", "a"], ["a", "b"]])
    assert model.unexplained_.tolist() == [1]
    assert model.counts_.emission.sum() == 3


def test_batches_are_counted_in_full():
    with pytest.raises(ValueError, match="update='viterbi' is for fit"):
        EMHMM(2, **HARD).partial_fit(SYMBOLS)
    with pytest.raises(ValueError, match="update"):
        EMHMM(2, update="hard").fit(SYMBOLS)


def test_intervals_are_bootstrapped():
    """Where paths have their best the likelihood has no maximum, whose curvature Louis takes."""
    model = EMHMM(2, random_state=0, **HARD).fit(SYMBOLS[:10])
    with pytest.raises(ValueError, match="method"):
        model.confidence_intervals(SYMBOLS[:10], method="louis")
    found = model.confidence_intervals(SYMBOLS[:10], n_bootstrap=5, random_state=0)
    again = model.confidence_intervals(
        SYMBOLS[:10], n_bootstrap=5, random_state=0, method="bootstrap"
    )
    np.testing.assert_array_equal(found.transition, again.transition)
