"""Where fits of symbols start under an order of states, and with tables that are given."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from estimators import asked_in_parts
from sklearn.base import clone

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    HMMParameters,
    Transitions,
    VBHMMTagger,
)
from sklearn_cvb.chain.starts import starting_points
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.learning.dirichlet import FIRST_VALUE
from sklearn_cvb.scale.symbols.vocabulary_pass import read_local_parts

KINDS = [EMHMM, VBHMM, CVBHMM]
N = 4
# What each state emits of six symbols.
WORDS = np.full((N, 6), 0.02)
WORDS[[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 2, 3, 4, 4, 5]] = 0.46
WORDS /= WORDS.sum(axis=1, keepdims=True)
ORDER = np.array(
    [[0.9, 0.1, 0.0, 0.0], [0.0, 0.9, 0.1, 0.0], [0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.0, 1.0]]
)


def phases(rng, n_sequences, low, high):
    """All states in their order, and what they emit."""
    paths = [np.repeat(np.arange(N), rng.integers(low, high, N)) for _ in range(n_sequences)]
    return paths, [[int(rng.choice(6, p=WORDS[state])) for state in path] for path in paths]


def share_right(model, X, paths):
    return (np.concatenate(list(model.predict(X))) == np.concatenate(paths)).mean()


def fitted(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


RULES = {
    "left-right": {"transitions": "left-right"},
    "ends": {"transitions": Transitions(topology="left-right", end_state=True)},
    "table": {"transitions": Transitions(topology=ORDER > 0)},
    "given": {"init": HMMParameters(startprob=[1, 0, 0, 0], transmat=ORDER)},
}


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", [*KINDS, GibbsHMM])
def test_states_in_their_order_are_found(kind, rules):
    right, more = [], {"update": "sequence"} if kind is GibbsHMM else {}
    for seed in range(3):
        paths, X = phases(np.random.default_rng(seed), 20, 5, 14)
        X[3][2] = None
        model = kind(N, random_state=seed, max_iter=80, **RULES[rules], **more)
        right.append(share_right(fitted(model, X), X, paths) > 0.85)
    assert sum(right) >= 2


def test_one_long_sequence_and_later_restarts():
    paths, X = phases(np.random.default_rng(1), 1, 40, 80)
    model = fitted(EMHMM(N, transitions="left-right", n_init=4, random_state=0), X)
    assert share_right(model, X, paths) > 0.9
    assert len(set(model.restart_objectives_.round(6))) > 1


def in_parts(model, X, n):
    cuts = np.linspace(0, len(X), n + 1).astype(int).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = read_local_parts(
            *asked_in_parts(model),
            [(X[a:b], None) for a, b in pairwise(cuts)],
        )
        return clone(model)._fit_reading(read, None, None)


SETTINGS = {
    "left-right": {"transitions": "left-right", "n_init": 3},
    "ends": {"transitions": Transitions(topology="left-right", end_state=True)},
    "steps": {"init": HMMParameters(startprob=[1, 0, 0, 0], transmat=ORDER)},
    "words": {"init": HMMParameters(emissionprob=WORDS, vocabulary=list(range(6)))},
}


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_parts_start_as_all_sequences(kind, settings):
    _, X = phases(np.random.default_rng(0), 9, 5, 9)
    model = kind(N, max_iter=4, tol=0, random_state=0, **SETTINGS[settings])
    whole, found = fitted(clone(model), X), in_parts(model, X, 3)
    np.testing.assert_allclose(found.restart_objectives_, whole.restart_objectives_, rtol=1e-10)
    np.testing.assert_allclose(found.emissionprob_, whole.emissionprob_, rtol=1e-9, atol=1e-12)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_emissions_that_are_given_name_the_states(kind):
    order, moves = [2, 0, 3, 1], np.roll(np.eye(N), 1, axis=1) * 0.2 + np.eye(N) * 0.8
    for seed in range(3):
        rng, path = np.random.default_rng(seed), [0]
        while len(path) < 400:
            path.append(int(rng.choice(N, p=moves[path[-1]])))
        X = [[int(rng.choice(6, p=WORDS[state])) for state in path]]
        init = HMMParameters(emissionprob=WORDS[order], vocabulary=list(range(6)))
        model, other = (fitted(kind(N, init=init, random_state=i), X) for i in range(2))
        found = np.array(order)[model.predict(X)[0]]
        assert (found == path).mean() > 0.8
        np.testing.assert_array_equal(model.history_, other.history_)


# In both cases, so that the dictionary is cleaned and the first start draws nothing.
SENTENCES = [
    ["The", "duck", "saw"],
    ["they", "duck", "saw", "the", "saw"],
    ["the", "can", "can"],
] * 3
TAGS = {"the": ["D"], "The": ["D"], "they": ["P"]} | {
    word: ["N", "V"] for word in ("duck", "saw", "can")
}


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
def test_restarts_of_taggers_begin_elsewhere(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, several = (
            kind(TAGS, n_init=n, random_state=0, max_iter=5).fit(SENTENCES) for n in (1, 4)
        )
    assert several.restart_objectives_[0] == one.objective_
    assert len(set(several.restart_objectives_.round(9))) == 4
    assert several.objective_ == several.restart_objectives_.max()


@pytest.mark.parametrize("auto", [False, True], ids=["given", "learned"])
@pytest.mark.parametrize("kind", [VBHMMTagger, CVBHMMTagger])
def test_restarts_of_taggers_go_on_to_the_same_bits(kind, auto, tmp_path):
    settings = {"alpha": "auto", "beta": "auto"} if auto else {}
    model = kind(TAGS, n_init=3, random_state=0, max_iter=6, tol=0, **settings)
    saved = clone(model).set_params(checkpoint=tmp_path, warm_start=True, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = model.fit(SENTENCES)
        threads = clone(model).set_params(n_jobs=2).fit(SENTENCES)
        saved.fit(SENTENCES)
        again = clone(saved).set_params(max_iter=6).fit(SENTENCES)
        half = clone(model).set_params(max_iter=3, warm_start=True).fit(SENTENCES)
        kept = half.restart_histories_[half.restart_objectives_.argmax()]
        half.fit(SENTENCES)
    if auto:
        assert whole.alpha_ != FIRST_VALUE
    for other in (threads, again):
        np.testing.assert_array_equal(other.restart_objectives_, whole.restart_objectives_)
        np.testing.assert_array_equal(other.transmat_, whole.transmat_)
    # A warm start goes on from the best restart.
    went_on = np.concatenate([kept, half.history_])
    assert any(np.array_equal(went_on, one) for one in whole.restart_histories_)


@pytest.mark.parametrize("most", [2, 4, 40])
def test_products_of_neighbours_are_those_of_each_pair_whatever_the_blocks(most, monkeypatch):
    """Few states a token, of many, and nearly all of them: lists and tables, in small blocks."""
    rng = np.random.default_rng(most)
    n_states, n_tokens = 40, 57
    count = rng.integers(1, most + 1, n_tokens).astype(np.int32)
    states = [np.sort(rng.choice(n_states, n, replace=False)) for n in count]
    first = np.append(0, np.cumsum(count))[:-1].astype(np.uint32)
    cell = np.arange(count.sum(), dtype=np.int32)
    lattice = Lattice(first, count, np.concatenate(states).astype(np.uint32), cell)
    posterior, starts = rng.random(count.sum()), np.array([0, 1, 9, 30, n_tokens])
    times = np.repeat(rng.random(4), np.diff(starts))
    table = np.zeros((n_tokens, n_states))
    for row, own, begin in zip(table, states, first, strict=True):
        row[own] = posterior[begin : begin + len(own)]
    inside = np.setdiff1d(np.arange(1, n_tokens), starts)
    for weight in (np.ones(n_tokens), times):
        expected = table[inside - 1].T @ (weight[:, None] * table)[inside]
        counted = posterior * np.repeat(weight, count)
        for block in (1, 50, 2**18):
            monkeypatch.setattr(starting_points, "_BLOCK", block)
            found = starting_points.neighbour_products(lattice, starts, posterior, 40, counted)
            np.testing.assert_allclose(found, expected, atol=1e-12)
