"""Pairs of states and log p(x, z) of paths: what all models have in common.

Exact numbers are in `test_exact.py`, `test_end_state.py` and `numbers/test_exact.py`.
"""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, EMHMMTagger, GibbsHMM, HMMParameters, Symbols
from sklearn_cvb.certainty import paths
from sklearn_cvb.compilation.cases import SITUATIONS

CASES = [
    (name, title)
    for name, situations in SITUATIONS.items()
    if "HMM" in name and "Alignment" not in name
    for title in situations
]
X = [["a", "b", "a"], ["b"], ["a", "c", "b", "b"]]


def by_paths(model, x):
    """Pairs of a short sequence and the sum over all of its paths, by their scores alone."""
    names = getattr(model, "classes_", np.arange(len(model.startprob_))).tolist()
    every = np.array(list(product(range(len(names)), repeat=len(x))))
    named = [[names[k] for k in path] for path in every.tolist()]
    logs = model.score_paths([x] * len(every), named)
    pairs = np.zeros((len(x) - 1, len(names), len(names)))
    for t in range(len(x) - 1):
        np.add.at(pairs[t], (every[:, t], every[:, t + 1]), np.exp(logs - logsumexp(logs)))
    return logs, pairs


@pytest.mark.many(usual=9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "title"), CASES)
def test_pairs_paths_and_single_states_agree(name, title):
    model, n_compared = SITUATIONS[name][title].fit(), 0
    for sequence in [*SITUATIONS[name][title].X, *SITUATIONS[name][title].X_new][:4]:
        x = sequence[:4] if len(model.startprob_) < 5 else sequence[:3]
        pairs, single = model.predict_pair_proba([x])[0], model.predict_proba([x])[0]
        np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pairs.sum(axis=1), single[1:], rtol=0, atol=1e-12)
        logs, exact = by_paths(model, x)
        assert model.score_paths([x], model.predict([x]))[0] == logs.max()
        if np.isfinite(logs.max()):
            np.testing.assert_allclose(pairs, exact, rtol=0, atol=1e-10)
            n_compared += 1
            if not name.startswith(("VB", "Gibbs")):
                assert logsumexp(logs) == pytest.approx(model.score_samples([x])[0], abs=1e-10)
            if name.startswith("VB"):
                bound = model.lower_bound_samples([x])[0]
                assert logsumexp(logs) == pytest.approx(bound, abs=1e-10)
    assert n_compared > 0


def test_rows_of_a_table_are_padded():
    table = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 1, 0]])
    model = CVBHMM(2, random_state=0).fit(table)
    pairs = model.predict_pair_proba(table)
    assert pairs.shape == (3, 3, 2, 2)
    for one, other in zip(pairs, model.predict_pair_proba(list(table)), strict=True):
        np.testing.assert_array_equal(one, other)
    best = model.score_paths(table, model.predict(table))
    np.testing.assert_array_equal(best, model.score_paths(list(table), model.predict(table)))
    assert model.predict_pair_proba(table[:, :1].tolist())[0].shape == (0, 2, 2)
    series = np.full((2, 4, 2), np.nan)
    series[0], series[1, :3] = np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)
    numbers = EMHMM(2, emission="gaussian", random_state=0, max_iter=3).fit(series)
    pairs, states = numbers.predict_pair_proba(series), numbers.predict(series)
    assert np.isfinite(pairs).all(axis=(2, 3)).tolist() == np.isfinite(series[:, 1:, 0]).tolist()
    assert np.isfinite(numbers.score_paths(series, states)).all()


@pytest.mark.parametrize("title", ["none", "gaussian contexts", "gaussian durations"])
def test_pieces_of_a_corpus_are_those_of_the_whole(title, monkeypatch):
    situation = SITUATIONS["EMHMM"][title]
    model, X = situation.fit(), [*situation.X, *situation.X_new]
    whole = model.predict_pair_proba(X)
    monkeypatch.setattr(paths, "_PIECE", 3)
    for one, other in zip(model.predict_pair_proba(X), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_steps_that_float64_cannot_multiply():
    """A thousand steps of tiny densities, and a jump that one state alone explains."""
    known = {"means": [[0.0], [1.0]], "covariances": [[1e-6], [1e-6]]}
    model = EMHMM.from_parameters(
        startprob=[0.5, 0.5],
        transmat=[[0.9, 0.1], [0.1, 0.9]],
        emission="gaussian",
        emissions=known,
    )
    x = np.concatenate([np.full(1000, 0.5), [40.0, -40.0, 0.0, 1.0]])
    pairs, single = model.predict_pair_proba([x])[0], model.predict_proba([x])[0]
    np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=1), single[1:], rtol=0, atol=1e-12)
    assert pairs[-3].argmax() == 2
    best = model.score_paths([x], model.predict([x]))[0]
    assert best <= model.score_samples([x])[0] < best + 700


@pytest.mark.parametrize("left", [0.0, 1e-300])
def test_a_state_that_seems_lost_comes_back(left):
    """Sixty symbols speak against the state that the last one shows, or nearly shows."""
    emitted = [[1.0 - left, left], [1e-7, 1.0 - 1e-7]]
    known = {"emissionprob": emitted, "vocabulary": ["a", "b"], "startprob": [0.5, 0.5]}
    x = ["a"] * 60 + ["b"]
    for moves in (np.eye(2), [[1.0 - 1e-300, 1e-300], [1e-300, 1.0 - 1e-300]]):
        model = EMHMM.from_parameters(transmat=moves, **known)
        pairs, single = model.predict_pair_proba([x])[0], model.predict_proba([x])[0]
        np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pairs.sum(axis=1), single[1:], rtol=0, atol=1e-12)
        each = model.score_paths([x] * 3, [[0] * 61, [1] * 61, [0] * 60 + [1]])
        assert model.score_paths([x], model.predict([x]))[0] == each.max()
        assert pairs[-1].argmax() == (0 if each[0] == each.max() else 3 - 2 * (each[2] > each[1]))


def test_what_no_path_explains():
    """Words alone tell, and no path has a probability."""
    legal = {"a": ["A"], "b": ["B"], "c": ["A", "B"]}
    tagger = EMHMMTagger(legal, transitions="left-right").fit([["a", "b"], ["a", "c", "b"]])
    sentence = [["b", "c", "a"]]
    with pytest.warns(UserWarning, match="no path explains sequences"):
        pairs = tagger.predict_pair_proba(sentence)[0]
    with pytest.warns(UserWarning, match="no path explains sequences"):
        single = tagger.predict_proba(sentence)[0]
    np.testing.assert_array_equal(pairs, single[:-1, :, None] * single[1:, None, :])
    assert tagger.score_paths(sentence, [["B", "B", "A"]]).tolist() == [-np.inf]
    found = tagger.score_paths([["a", "b"]] * 2, [["A", "B"], ["A", "A"]])
    assert np.isfinite(found).tolist() == [True, False]


def test_a_path_has_the_probability_that_parameters_give_it():
    known = HMMParameters(
        startprob=[0.25, 0.75],
        transmat=[[0.5, 0.5], [0.125, 0.875]],
        emissionprob=[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]],
        vocabulary=["a", "b", "c"],
    )
    model = EMHMM.from_parameters(**{k: v for k, v in known.get_params().items() if v is not None})
    found = model.score_paths([["a", None, "c"]], [[0, 1, 1]])
    np.testing.assert_allclose(found, np.log([0.25 * 0.5 * 0.5 * 0.875 * 0.7]), rtol=1e-14)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([[0, 1, 0], [1]], "X holds 3 sequences, and states must hold a path for each"),
        (3, "X holds 3 sequences, and states must hold a path for each"),
        ([[0, 1, 0], 1, [1, 1, 0, 0]], r"states\[1\] is 1: a path is a list of states"),
        ([[0, 1, 0], [1], [1, 1, 0]], r"sequence 2 has 4 steps but states\[2\] has 3"),
        ([[0, 1, 0], [2], [1, 1, 0, 0]], r"holds 2 \(sequence 1, position 0\).* \[0, 1\]"),
        ([[0, 1, 0], [0], [1, -1, 0, 0]], r"holds -1 \(sequence 2, position 1\)"),
        ([[0, 1, 0], [0], [1, None, 0, 0]], r"holds None \(sequence 2, position 1\)"),
        ([[0, 1, [0]], [0], [1, 1, 0, 0]], r"holds \[0\] \(sequence 0, position 2\)"),
    ],
)
def test_paths_that_are_none_are_named(states, message):
    with pytest.raises(ValueError, match=message):
        VBHMM(2, random_state=0).fit(X).score_paths(X, states)


def test_tags_are_given_by_name():
    tagger = EMHMMTagger({"the": ["DT"], "duck": ["NN", "VB"]}).fit([["the", "duck"]])
    assert np.isfinite(tagger.score_paths([["the", "duck"]], [["DT", "NN"]])[0])
    with pytest.raises(ValueError, match=r"holds 'XX' .* \['DT', 'NN', 'VB'\]"):
        tagger.score_paths([["the", "duck"]], [["DT", "XX"]])
    with pytest.raises(TypeError, match="score_paths"):
        tagger.score_paths([["the", "duck"]])


def test_a_sampler_has_the_weights_of_its_predictions():
    model = GibbsHMM(2, emission=Symbols(handle_unknown="error"), random_state=0, max_iter=60)
    model.fit(X)
    known = {"startprob": model.startprob_, "transmat": model.transmat_}
    known |= {"emissionprob": model.emissionprob_, "vocabulary": model.vocabulary_.tolist()}
    other, states = EMHMM.from_parameters(**known), model.predict(X)
    found = model.score_paths(X, states)
    np.testing.assert_allclose(found, other.score_paths(X, states), rtol=1e-12)
