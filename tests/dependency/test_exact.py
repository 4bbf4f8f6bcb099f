"""What a fit tells of all trees, and samples against the exact posterior over trees."""

from itertools import product

import numpy as np
import pytest
from dependency_cases import visits_counted
from dependency_enumeration import cells_of_tree, expected_cells, projective_trees, weigh_trees
from scipy.special import digamma, gammaln

from sklearn_cvb import CVBDMV, VBDMV, GibbsDMV, Samples, Valence
from sklearn_cvb.dependency.parameters import cells_from

TAGS = [[0, 1, 2, 1], [1, 2], [2, 0, 1], [0, 1], [1, 2, 0, 1, 0], [1]]
W = 3
N_ROWS, CUT = 2 * W + 1, (2 * W + 1) * W
X = [[f"t{tag}" for tag in sentence] for sentence in TAGS]
ALPHA, ALPHA_STOP = 0.3, 0.7
PRIOR = np.repeat([ALPHA, ALPHA_STOP], [CUT, 8 * W])
# By cell, in the layout that the kernels' docstring tells of.
ROW = np.concatenate([np.repeat(np.arange(N_ROWS), W), N_ROWS + np.repeat(np.arange(4 * W), 2)])
EXACT = {
    "handle_unknown": "error",
    "tol": 0,
    "alpha": ALPHA,
    "valence": Valence(alpha_stop=ALPHA_STOP),
}


def totals(cells):
    return np.bincount(ROW, cells)[ROW]


def mean(counts):
    return np.maximum(counts, 0) / totals(np.maximum(counts, 0))


def exp_digamma(cells):
    return np.exp(digamma(cells) - digamma(totals(cells)))


def test_scores_and_posteriors_are_those_of_all_trees():
    model = VBDMV(max_iter=3, **EXACT).fit(X)
    means = mean(cells_from(model.counts_) + PRIOR)
    expected = [np.log(expected_cells(tags, means, W)[0]) for tags in TAGS]
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-12)
    n_tokens = sum(map(len, TAGS))
    assert model.score(X) == pytest.approx(sum(expected) / n_tokens)
    assert model.perplexity(X) == pytest.approx(np.exp(-sum(expected) / n_tokens))
    weights = exp_digamma(cells_from(model.counts_) + PRIOR)
    for tags, table, heads in zip(TAGS, model.predict_proba(X), model.predict(X), strict=True):
        trees = weigh_trees(tags, weights, W)
        total, found = sum(w for _, w in trees), np.zeros((len(tags), len(tags) + 1))
        for tree, weight in trees:
            found[np.arange(len(tags)), tree] += weight / total
        np.testing.assert_allclose(table, found, atol=1e-12)
        best = max(weight for _, weight in trees)
        own = np.prod(weights[cells_of_tree(tags, heads.tolist(), W)])
        assert own == pytest.approx(best, rel=1e-12)


def test_probabilities_are_posterior_means():
    model = CVBDMV(max_iter=3, **EXACT).fit(X)
    means = mean(cells_from(model.counts_) + PRIOR)
    np.testing.assert_allclose(model.rootprob_, means[CUT - W : CUT])
    np.testing.assert_allclose(model.attachprob_.ravel(), means[: CUT - W])
    np.testing.assert_allclose(model.stopprob_.ravel(), means[CUT::2])


# Sampling.

_SMALL = [[0, 1, 0], [1, 0], [0, 1, 1]]


def log_evidence(counts):
    value = np.sum(gammaln(counts + PRIOR[_KEPT]) - gammaln(PRIOR[_KEPT]))
    rows = np.bincount(_ROW2, counts + PRIOR[_KEPT])
    prior_rows = np.bincount(_ROW2, PRIOR[_KEPT])
    return value - np.sum(gammaln(rows) - gammaln(prior_rows))


_W2 = 2
_CUT2 = (2 * _W2 + 1) * _W2
_ROW2 = np.concatenate(
    [np.repeat(np.arange(2 * _W2 + 1), _W2), 2 * _W2 + 1 + np.repeat(np.arange(4 * _W2), 2)]
)
# Prior cells for two tags: so many of attachments, so many of decisions.
_KEPT = np.concatenate([np.arange(_CUT2), CUT + np.arange(8 * _W2)])


def exact_posterior():
    """p(trees of all sentences | tags), with probabilities integrated out."""
    weights = {}
    for trees in product(*(projective_trees(len(tags)) for tags in _SMALL)):
        cells = [
            c for t, tree in zip(_SMALL, trees, strict=True) for c in cells_of_tree(t, tree, 2)
        ]
        counts = np.bincount(cells, minlength=len(_ROW2))
        weights[trees] = np.exp(log_evidence(counts))
    total = sum(weights.values())
    return {trees: weight / total for trees, weight in weights.items()}


def sampled(monkeypatch, n_sweeps, **settings):
    """How often the sampler visits each combination of trees."""
    seen = visits_counted(monkeypatch)
    settings = {
        "alpha": ALPHA,
        "valence": Valence(alpha_stop=ALPHA_STOP),
        "handle_unknown": "error",
    } | settings
    model = GibbsDMV(max_iter=n_sweeps, random_state=0, **settings)
    return seen, model.fit([[f"t{tag}" for tag in tags] for tags in _SMALL])


@pytest.mark.long(usual=True)
def test_samples_follow_the_exact_posterior(monkeypatch):
    """Without the acceptance the distance is .19: posterior means ignore repeated cells."""
    expected = exact_posterior()
    seen, model = sampled(monkeypatch, 12_000)
    n = sum(seen.values())
    distance = sum(abs(seen[trees] / n - p) for trees, p in expected.items()) / 2
    assert set(seen) <= set(expected)
    assert distance < 0.03
    assert 0.5 < model.acceptance_rate_ < 0.99


@pytest.mark.long
def test_a_hot_sampler_follows_the_tempered_posterior(monkeypatch):
    """At temperature 2 the samples follow the root of the posterior."""
    expected = {trees: p**0.5 for trees, p in exact_posterior().items()}
    total = sum(expected.values())
    seen, _ = sampled(monkeypatch, 12_000, samples=Samples(temperatures=(2.0, 2.0)))
    n = sum(seen.values())
    distance = sum(abs(seen[trees] / n - p / total) for trees, p in expected.items()) / 2
    assert distance < 0.04


def test_sampled_counts_are_averages(monkeypatch):
    seen, model = sampled(monkeypatch, 200, samples=Samples(0, thin=1))
    n = sum(seen.values()) - 1
    counts = np.zeros(len(_ROW2))
    for trees, times in seen.items():
        for tags, tree in zip(_SMALL, trees, strict=True):
            counts += times * np.bincount(cells_of_tree(tags, tree, 2), minlength=len(_ROW2))
    # The trees of the start are no sample.
    found = cells_from(model.counts_)
    assert np.abs(found * n - counts).sum() <= 2 * 30
    assert found.sum() == pytest.approx(counts.sum() / (n + 1))
