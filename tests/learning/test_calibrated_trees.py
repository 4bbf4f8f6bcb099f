"""Calibrated intervals of grammars and dependency models."""

import numpy as np
import pytest
from scipy.stats import beta

from sklearn_cvb import (
    CVBDMV,
    CVBPCFG,
    VBDMV,
    VBPCFG,
    GibbsDMV,
    Grammar,
    HastingsPCFG,
    Samples,
    Valence,
)
from sklearn_cvb.certainty.calibrated import draw_deviations, exact_covariance, flat_cells

GRAMMAR = """
S -> A S [0.25] | B S [0.25] | A [0.25] | B [0.25]
A -> 'a' [0.4] | 'b' [0.3] | 'c' [0.3]
B -> 'a' [0.3] | 'b' [0.4] | 'd' [0.3]
"""
X = [list(word) for word in ("abc", "bad", "aab", "ba", "dcab", "a")] * 4
TAGS = [list(tags) for tags in ("DNV", "NVDN", "VN", "NVN", "VVN", "DNNV", "NNVN")] * 3
KINDS = {
    "pcfg": (CVBPCFG(GRAMMAR, alpha=1.0, max_iter=4, tol=0, random_state=0), X),
    "dmv": (VBDMV(alpha=1.0, max_iter=4, tol=0, random_state=0), TAGS),
    "extended": (
        CVBDMV(alpha=1.0, valence=Valence(extended=True), max_iter=4, tol=0, random_state=0),
        TAGS,
    ),
}


def bound(name):
    """A fitted model, its sentences, what draws their trees, its counts and prior."""
    estimator, sentences = KINDS[name]
    estimator.fit(sentences)
    learned = estimator._learned
    structures = estimator._structures(estimator._model(estimator._read(sentences, None)))
    return estimator, sentences, structures, estimator._flat_counts(learned), learned.prior


@pytest.mark.long
@pytest.mark.parametrize("name", ["pcfg", "extended"])
def test_drawn_trees_miss_what_the_likelihood_does(name):
    """The covariance of drawn counts is the second derivative of the log-likelihood."""
    *_, structures, counts, prior = bound(name)
    rows = structures.free_rows(counts, prior)
    expected = exact_covariance(structures, rows)
    found = draw_deviations(structures, rows.mean, 1000, np.random.default_rng(0))
    drawn = (found.T @ found).toarray()
    scale = np.abs(expected).max()
    assert scale > 0.5
    np.testing.assert_allclose(drawn, expected, atol=0.12 * scale)
    # Counts of sentences are the counts of all.
    drawn = structures.draw_structures(rows.mean, np.random.default_rng(1))
    by_unit = structures.counts_by_unit(drawn.structure)
    np.testing.assert_array_equal(by_unit.sum(axis=0), drawn.counts)


CHAINS = {
    "pcfg": (HastingsPCFG, "rule_probabilities_", {"grammar": GRAMMAR}),
    "dmv": (GibbsDMV, "attachprob_", {}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CHAINS)
def test_sweeps_sample_what_long_chains_sample(name):
    """Means of parameters against those of a chain that integrates them out."""
    estimator, sentences, structures, counts, prior = bound(name)
    kind, attribute, settings = CHAINS[name]
    chain = kind(alpha=1.0, samples=Samples(500), max_iter=6000, random_state=0, **settings)
    expected = getattr(chain.fit(sentences), attribute)
    rng, total, n_sweeps = np.random.default_rng(0), 0.0, 4000
    for _ in range(n_sweeps):
        drawn = structures.draw_structures(structures.draw_parameters(counts, prior, rng), rng)
        counts = drawn.counts
        total = total + structures.free_rows(counts, prior).mean
    found = estimator._in_tables(estimator._learned, total / n_sweeps)
    found = found if name == "pcfg" else found.attach
    np.testing.assert_allclose(found, expected, atol=0.04)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", KINDS)
def test_intervals_are_wider_than_mean_fields_and_can_be_repeated(name):
    estimator, sentences, structures, counts, prior = bound(name)
    first = estimator.credible_intervals(sentences, random_state=0)
    again = estimator.credible_intervals(sentences, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(first.draws, again.draws)
    lower, upper = flat_of(first.lower), flat_of(first.upper)
    assert (lower <= upper).all()
    rows = structures.free_rows(counts, prior)
    plain = np.diff(
        beta.ppf([[0.025], [0.975]], rows.alpha, rows.totals[rows.row] - rows.alpha), axis=0
    )
    assert (upper - lower).mean() > 1.05 * plain.mean()
    np.testing.assert_allclose(
        np.bincount(rows.row, first.draws[0]), np.ones(len(rows.totals)), atol=1e-9
    )
    inside = (lower <= first.draws) & (first.draws <= upper)
    assert 0.9 < inside.mean() < 0.99
    with pytest.raises(ValueError, match="that the model was fitted to"):
        estimator.credible_intervals([["Z"], ["D", "N"]])
    with pytest.raises(ValueError, match="give them as X"):
        estimator.credible_intervals()
    with pytest.raises(ValueError, match="level"):
        estimator.credible_intervals(sentences, level=1.0)


def flat_of(ends):
    """Ends of all cells, in the order of draws."""
    if isinstance(ends, np.ndarray):
        return ends
    return flat_cells((ends.attach, ends.root, ends.stop))


def test_fixed_rules_stay_as_they_are():
    model = VBPCFG(Grammar.from_text(GRAMMAR).with_fixed(["A"]), random_state=0).fit(X)
    found = model.credible_intervals(X, random_state=0)
    known = model.rule_probabilities_[4:7]
    np.testing.assert_allclose(known, [0.4, 0.3, 0.3])
    for ends in (found.lower, found.upper, *found.draws):
        np.testing.assert_allclose(ends[4:7], known)
    assert (found.lower[7:] < found.upper[7:]).all()
