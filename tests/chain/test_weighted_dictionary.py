"""Dictionaries with weights: the same asymmetric prior and start in every algorithm."""

import numpy as np
import pytest
from chain.unequal_priors import fit_with_unequal_priors
from estimators import ALGORITHMS, fitted_counts, make_estimator, tag
from sklearn.utils._param_validation import InvalidParameterError

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors, make_problem, random_problem
from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Samples,
    Symbols,
    TagDictionary,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.datasets import make_pocket_english

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]
STRENGTH = 0.4
X = [["the", "can", "runs"], ["the", "can", "can"], ["can", "runs", None]]
WEIGHTED = {"the": {"D": 7}, "can": {"N": 99, "D": 1}, "runs": ("N", "V")}


def _weighted(problem, seed):
    """Random weights for half of the dictionary, and the problem with the prior they amount to."""
    rng = np.random.default_rng(seed)
    weights, beta = {}, problem.beta.copy()
    symbols = [symbol for sequence in problem.sequences for symbol in sequence]
    for symbol, states in problem.dictionary.items():
        entry = [tag(k) for k in states]
        if symbol % 2 == 0:
            drawn = rng.integers(1, 20, len(states))
            entry = dict(zip(entry, drawn.tolist(), strict=True))
            beta[states, symbol] += STRENGTH * symbols.count(symbol) * drawn / drawn.sum()
        weights[symbol] = entry
    return weights, problem._replace(beta=beta)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_weights_are_an_emission_prior(name):
    prefix, keywords, sweeps = ALGORITHMS[name]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, 3, 6, [4, 1, 3, 2, 5], dictionary=True, missing=0.1)
        weights, expected = _weighted(problem, seed)
        q = initial_posteriors(rng, problem)
        keywords = keywords | {"init": q, "tol": 0, "max_iter": 3}
        weighted = {"tag_dictionary": TagDictionary(weights, weight=STRENGTH)}
        fitted = make_estimator(prefix, problem, **keywords | weighted).fit(problem.sequences)
        result = sweeps(expected, q, 3)
        counts = fitted_counts(fitted)
        np.testing.assert_allclose(counts.transition, result.counts.transition, atol=1e-10)
        np.testing.assert_allclose(counts.emission, result.counts.emission, atol=1e-10)
        by_hand = fit_with_unequal_priors(prefix, expected, **keywords)
        assert fitted.objective_ == pytest.approx(by_hand.objective_, abs=1e-10)
        legal = fitted_counts(make_estimator(prefix, problem, **keywords).fit(problem.sequences))
        assert np.abs(legal.emission - counts.emission).max() > 1e-3


@pytest.mark.long
def test_samples_follow_the_exact_posterior():
    sequences = [[0, 2, 1], [2, 2], [0, 2]]
    problem = make_problem(sequences, 2, 3, 0.5, 0.3, {0: [0], 1: [1], 2: [0, 1]})
    weights = {0: {"t0": 1}, 1: {"t1": 1}, 2: {"t0": 1, "t1": 9}}
    beta = problem.beta.copy()
    beta[0, 0] += 2 * STRENGTH
    beta[1, 1] += STRENGTH
    beta[:, 2] += STRENGTH * 4 * np.array([0.1, 0.9])
    settings = {"max_iter": 6_000, "samples": Samples(100, thin=2, temperatures=None)}
    settings |= {"tag_dictionary": TagDictionary(weights, weight=STRENGTH)}
    chain = make_estimator("Gibbs", problem, **settings).fit(sequences)
    with_weights = np.concatenate(brute.collapsed_posterior(problem._replace(beta=beta)).marginals)
    without = np.concatenate(brute.collapsed_posterior(problem).marginals)
    share = (chain.samples_ == 1).mean(axis=0)
    assert np.abs(share - with_weights[:, 1]).max() < 0.02
    assert np.abs(without[:, 1] - with_weights[:, 1]).max() > 0.1


@pytest.mark.parametrize("kind", TAGGERS)
def test_starts_are_drawn_around_the_weights(kind):
    rows = [["can"] * 50 + [None] * 50] * 20
    # A fit that stops at once would still have moved: look at where it starts.
    tagger = kind(WEIGHTED, random_state=0, emission=Symbols(handle_unknown="error"))
    read = tagger._read(rows, None)
    model = tagger._model(read)
    start = model.start_maker(model.prior(model.hyper()), np.random.default_rng(0))()
    entries = start.posterior.reshape(20, -1)
    can, missing = entries[:, :100].reshape(-1, 2), entries[:, 100:].reshape(-1, 3)
    # E[q] of a share of 1 % after the Dirichlet(1) draw.
    exact = np.mean([0.01 * u / (0.01 * u + 0.99 * (1 - u)) for u in (np.arange(1e4) + 0.5) / 1e4])
    assert can[:, 0].mean() == pytest.approx(exact, abs=0.01)
    assert can[:, 0].mean() < 0.06
    assert missing.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.03)


@pytest.mark.parametrize("kind", TAGGERS)
def test_without_weight_only_the_start_differs(kind):
    plain = {word: tuple(entry) for word, entry in WEIGHTED.items()}
    init = [np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]])] * 2 + [np.full((3, 3), 0.0)]
    init[1] = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.75, 0]])
    init[2] = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    settings = {"init": init, "random_state": 0, "max_iter": 20}
    first = kind(TagDictionary(WEIGHTED, weight=0.0), **settings).fit(X)
    second = kind(plain, **settings).fit(X)
    assert first.objective_ == second.objective_
    np.testing.assert_array_equal(first.counts_.transition, second.counts_.transition)
    np.testing.assert_array_equal(first.history_, second.history_)


@pytest.mark.parametrize("kind", TAGGERS)
def test_weights_in_prediction_and_with_unknown_words(kind):
    tagger = kind(WEIGHTED | {"zebra": {"N": 3, "V": 1}}, random_state=0, max_iter=20).fit(X)
    assert tagger.predict([["the", "can", "zebra", "other"]])[0][:2].tolist() == ["D", "N"]
    assert tagger.emissionprob_.sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-12)
    assert np.isfinite(tagger.score(X))


@pytest.mark.parametrize("kind", [VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_a_learned_beta_is_refused(kind):
    with pytest.raises(InvalidParameterError, match="beta='auto' learns one concentration"):
        kind(WEIGHTED, beta="auto").fit(X)
    plain = {word: tuple(entry) for word, entry in WEIGHTED.items()}
    kind(plain, beta="auto", max_iter=3).fit(X)
    kind(WEIGHTED, alpha="auto", max_iter=25).fit(X)


@pytest.mark.parametrize("kind", TAGGERS)
def test_bad_weights_are_refused(kind):
    with pytest.raises(ValueError, match=r"tag_dictionary gives weights .* to \['can'\]"):
        kind({"can": {"N": -1, "V": 2}}).fit(X)
    with pytest.raises(InvalidParameterError, match="The 'weight' parameter of TagDictionary"):
        kind(TagDictionary(WEIGHTED, weight=-0.1)).fit(X)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
def test_a_slip_does_not_win_a_frequent_word(kind):
    text = make_pocket_english(300, random_state=0)
    weighted = tag_dictionary_from(text.data, text.target, weights=True)
    frequent = sorted(weighted, key=lambda word: -sum(weighted[word].values()))[:3]
    tags = sorted({tag for entry in weighted.values() for tag in entry})
    rarest = sorted(tags, key=lambda tag: sum(entry.get(tag, 0) for entry in weighted.values()))
    for word, tag_of_slip in zip(frequent, rarest, strict=False):
        weighted[word] |= {tag_of_slip: 1}
    plain = {word: tuple(entry) for word, entry in weighted.items()}
    scores = {}
    for name, dictionary in (("plain", plain), ("weighted", weighted)):
        settings = {"supervision": "none", "random_state": 0, "max_iter": 30}
        tagger = kind(TagDictionary(dictionary, denoise="none"), init="token", **settings)
        labels = tagger.fit_predict(text.data)
        pairs = [
            (g, t)
            for gold, tags in zip(text.target, labels, strict=True)
            for g, t in zip(gold, tags, strict=True)
        ]
        scores[name] = np.mean([g == t for g, t in pairs])
    print(kind.__name__, frequent, rarest[:3], scores)
    assert scores["weighted"] > scores["plain"] + 0.01
    assert scores["weighted"] > 0.94
