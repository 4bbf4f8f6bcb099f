"""Kernels and sweeps against enumeration of all alignments of short pairs."""

from itertools import product

import numba
import numpy as np
import pytest
from alignment_enumeration import (
    alignments,
    expected_counts,
    jump_of,
    link_table,
    moves,
    no_counts,
    plus,
    reachable,
    stays,
    weight_of,
)
from enumerated import enumerated_alignments
from scipy.special import gammaln, logsumexp
from scipy.stats import poisson
from watching import watch

from sklearn_cvb import (
    IBM1,
    CVBAlignmentHMM,
    EMAlignmentHMM,
    GibbsAlignmentHMM,
    Samples,
    VBAlignmentHMM,
)
from sklearn_cvb.alignment.model import (
    draw_sweep,
    expectation,
    frozen_tally,
    log_likelihoods,
    viterbi,
)
from sklearn_cvb.alignment.parameters import (
    AlignmentWeights,
    EncodedPairs,
    cells_from,
    cooccurring_words,
    counts_from,
    layout_of,
    link_tables,
    pairs_of,
)
from sklearn_cvb.alignment.reading import AlignmentProblem
from sklearn_cvb.kernels.alignment import (
    AlignmentTally,
    _count_use,
    _count_uses,
    _draw_poisson,
)
from sklearn_cvb.kernels.sums import CellSums
from sklearn_cvb.learning.model import State

# Words 0 to 3 of the source, 0 to 2 of the target; a word stands twice in the second pair.
PAIRS = [([0, 1, 2], [0, 1]), ([1, 3, 1, 0], [2, 0, 1]), ([2], [1, 1]), ([3, 2], [0, 2, 2, 1])]
N_SOURCES, N_TARGETS = 4, 3
X = [([f"s{row}" for row in rows], [f"t{t}" for t in targets]) for rows, targets in PAIRS]
ALPHA, BETA = 0.4, 0.3
SHARED = {"alpha": ALPHA, "beta": BETA, "handle_unknown": "error", "init": "even", "tol": 0}


def encoded(pairs):
    """Pairs as arrays."""
    rows, targets = ([np.array(pair[k]) for pair in pairs] for k in range(2))
    starts = [np.cumsum([0, *map(len, part)]) for part in (rows, targets)]
    return EncodedPairs(np.concatenate(rows), starts[0], np.concatenate(targets), starts[1])


def random_weights(farthest, seed, total=1.0):
    rng = np.random.default_rng(seed)

    def rows(*shape):
        return total * rng.dirichlet(np.ones(shape[-1]), shape[:-1])

    return {
        "lexicon": rows(N_SOURCES + 1, N_TARGETS),
        "jump": rows(2 * farthest + 1),
        "null": rows(2),
    }


def model_of(farthest, pairs=PAIRS, known=None):
    """Layout and pairs as kernels read them."""
    words = cooccurring_words(encoded(pairs), (N_SOURCES, N_TARGETS))
    layout = layout_of(words, (N_SOURCES, N_TARGETS), farthest, np.array([], int))
    return layout, pairs_of(encoded(pairs), words, layout, known)


def flat(weights, layout):
    rows, columns = np.divmod(layout.keys, N_TARGETS)
    parts = weights["lexicon"][rows, columns], weights["jump"], weights["null"]
    return AlignmentWeights(np.concatenate(parts), np.zeros(layout.n_rows))


def as_dict(cells, layout):
    counts = counts_from(cells, layout)
    return {"lexicon": counts.lexicon.toarray(), "jump": counts.jump, "null": counts.null}


def assert_close(found, expected, tolerance=1e-10):
    for name, table in expected.items():
        np.testing.assert_allclose(found[name], table, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("farthest", [1, 2, 6])
@pytest.mark.parametrize("total", [1.0, 0.8])
def test_expected_counts_are_those_of_all_alignments(farthest, total):
    """With weights that sum to less than 1 as well, as those of VB do."""
    known = {1: [(3, 1), (0, 1), (-1, 2)]}
    layout, pairs = model_of(farthest, known=known)
    weights = random_weights(farthest, seed=farthest, total=total)
    cells, log_z, shares = expectation(flat(weights, layout), pairs, layout, keeps_shares=True)
    expected = no_counts(weights)
    for i, pair in enumerate(PAIRS):
        value, counts, posterior = expected_counts(pair, weights, known.get(i))
        expected = plus(expected, counts)
        assert log_z[i] == pytest.approx(np.log(value), rel=1e-10)
        np.testing.assert_allclose(
            link_tables(shares.link, pairs)[i], link_table(posterior, pair), atol=1e-12
        )
    assert_close(as_dict(cells, layout), expected)
    np.testing.assert_allclose(log_likelihoods(flat(weights, layout), pairs), log_z, rtol=1e-14)


@pytest.mark.parametrize("farthest", [1, 6])
def test_positions_of_all_contexts_sum_to_one(farthest):
    weights = random_weights(farthest, seed=4)
    for n, context in product(range(1, 6), range(6)):
        if context <= n:
            inside = reachable(context, n, farthest)
            shares = [weights["jump"][d + farthest] for d in inside]
            assert sum(shares) == pytest.approx(stays(context, n, weights["jump"]))
            assert sum(map(len, inside.values())) == n
    whole = [weight_of(a, ([0, 1], [0]), weights) for a in alignments(([0, 1], [0]))]
    others = [weight_of(a, ([0, 1], [t]), weights) for t in (1, 2) for a in [(-1,), (0,), (1,)]]
    assert sum(whole) + sum(others) == pytest.approx(1)


@pytest.mark.parametrize("farthest", [1, 2, 6])
def test_viterbi_is_the_best_of_all_alignments(farthest):
    known = {3: [(1, 0)]}
    layout, pairs = model_of(farthest, known=known)
    for seed in range(5):
        weights = random_weights(farthest, seed)
        positions, logs = viterbi(flat(weights, layout), pairs)
        for i, pair in enumerate(PAIRS):
            begin, end = pairs.target_starts[i : i + 2]
            best = max(weight_of(a, pair, weights) for a in alignments(pair, known.get(i)))
            # Of equal ones any.
            assert weight_of(positions[begin:end], pair, weights) == pytest.approx(best)
            assert logs[i] == pytest.approx(np.log(best))
            assert i != 3 or positions[begin] == 1


def test_jumps_that_leave_the_sentence_are_drawn_again():
    """The sums over how often, term by term, of a jump from the last of two positions."""
    weights = random_weights(2, seed=0)
    jump, pair, alignment = weights["jump"], ([0, 1], [0, 1]), (1, 0)
    # From the start +1 and +2 stay, from position 2 on 0 and -1.
    lost = jump[0] + jump[1] + jump[2], jump[0] + jump[3] + jump[4]
    chances = [[chance**r for r in range(2000)] for chance in lost]
    lexicon, linked = weights["lexicon"], weights["null"][0]
    value = lexicon[1, 0] * lexicon[0, 1] * linked**2 * jump[4] * jump[1]
    value *= sum(chances[0]) * sum(chances[1])
    assert weight_of(alignment, pair, weights) == pytest.approx(value)
    layout, pairs = model_of(2, pairs=[pair], known={0: [(1, 0), (0, 1)]})
    cells, log_z, _ = expectation(flat(weights, layout), pairs, layout)
    assert log_z[0] == pytest.approx(np.log(value))
    draws = [sum(r * p for r, p in enumerate(row)) / sum(row) for row in chances]
    first = draws[0] * np.array([jump[0], jump[1], jump[2], 0, 0]) / lost[0]
    second = draws[1] * np.array([jump[0], 0, 0, jump[3], jump[4]]) / lost[1]
    expected = first + second + [0, 1, 0, 0, 1]
    np.testing.assert_allclose(as_dict(cells, layout)["jump"], expected, rtol=1e-10)


# Sweeps. p_null (1, 2) is learned: one word without a source to two with one.

PRIOR = {"lexicon": np.full((N_SOURCES + 1, N_TARGETS), BETA), "null": np.array([2.0, 1.0])}


def prior(farthest):
    return PRIOR | {"jump": np.full(2 * farthest + 1, ALPHA)}


def normalised(counts):
    return {name: table / table.sum(axis=-1, keepdims=True) for name, table in counts.items()}


def first_counts(farthest):
    """Of each pair where all links are equally likely and jumps drawn again have equal weights."""
    found = []
    for pair in PAIRS:
        n, counts = len(pair[0]), no_counts(prior(farthest))
        options = list(alignments(pair))
        jump = np.full(2 * farthest + 1, 1 / (2 * farthest + 1))
        for alignment in options:
            for j, position in enumerate(alignment):
                row = pair[0][position] if position >= 0 else -1
                counts["lexicon"][row, pair[1][j]] += 1 / len(options)
                counts["null"][int(position < 0)] += 1 / len(options)
            for context, position in moves(alignment):
                counts["jump"][jump_of(context, position, farthest) + farthest] += 1 / len(options)
                inside = reachable(context, n, farthest)
                for d in range(-farthest, farthest + 1):
                    if d not in inside:
                        lost = jump[0] / stays(context, n, jump)
                        counts["jump"][d + farthest] += lost / len(options)
        found.append(counts)
    return found


def total(counts):
    whole = counts[0]
    for other in counts[1:]:
        whole = plus(whole, other)
    return whole


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", [EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM])
@pytest.mark.parametrize(("farthest", "p_null"), [(2, (1.0, 2.0)), (6, (1.0, 2.0)), (2, 0.3)])
def test_fits_follow_the_enumeration_from_even_links(kind, farthest, p_null):
    model = kind(p_null=p_null, longest_jump=farthest, max_iter=3, **SHARED).fit(X)
    algorithm, twin = model._algorithm(), enumerated_alignments(model, PAIRS)
    shares = [
        np.concatenate([counts[name].ravel() for name in ("lexicon", "jump", "null")])
        for counts in first_counts(farthest)
    ]
    state, history = State(sum(shares), twin.prior(None), twin.hyper(), None, shares), []
    for _ in range(3):
        state, value = algorithm.sweep(state, twin, None)
        history.append(value)
    np.testing.assert_allclose(twin.flat(cells_from(model.counts_)), state.counts, rtol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=1e-10)
    assert model.objective_ == pytest.approx(algorithm.objective(state, twin, history), rel=1e-10)
    if kind is CVBAlignmentHMM:
        return
    for i, (pair, found) in enumerate(zip(PAIRS, model.link_proba_, strict=True)):
        logs, _ = twin.ways(i, state.weights)
        chances = dict(zip(alignments(pair), np.exp(logs - logsumexp(logs)), strict=True))
        np.testing.assert_allclose(found, link_table(chances, pair), atol=1e-6)


def test_ibm_model_1_starts_the_chain():
    """Two sweeps of leaving out a pair with all positions equally likely."""
    farthest = 2
    shares = first_counts(farthest)
    for _ in range(2):
        for i, (rows, targets) in enumerate(PAIRS):
            others = total([share for k, share in enumerate(shares) if k != i])
            weights = normalised(plus(others, prior(farthest)))
            counts = no_counts(weights)
            for t in targets:
                chances = [0.8 / len(rows) * weights["lexicon"][row, t] for row in rows]
                chances.append(0.2 * weights["lexicon"][-1, t])
                for row, chance in zip([*rows, -1], chances, strict=True):
                    counts["lexicon"][row, t] += chance / sum(chances)
            shares[i] = counts | {"jump": shares[i]["jump"], "null": shares[i]["null"]}
    settings = SHARED | {"init": IBM1(2), "max_iter": 1}
    fits = []

    def watched(sweep, state, model, rng):
        fits.append(as_dict(state.counts, model.problem.layout))
        return sweep(state, model, rng)

    estimator = CVBAlignmentHMM(longest_jump=farthest, **settings)
    watch(estimator, "sweep", watched)
    estimator.fit(X)
    np.testing.assert_allclose(fits[0]["lexicon"], total(shares)["lexicon"], rtol=1e-10)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [EMAlignmentHMM, VBAlignmentHMM])
@pytest.mark.parametrize("p_null", [(1.0, 2.0), 0.1])
def test_objectives_never_fall(kind, p_null):
    settings = SHARED | {"max_iter": 40, "init": "random", "p_null": p_null, "longest_jump": 2}
    if kind is EMAlignmentHMM:
        settings |= {"alpha": 0.0, "beta": 0.0}
    for seed in range(3):
        history = kind(random_state=seed, **settings).fit(X).history_
        assert np.diff(history).min() > -1e-9
        assert history[-1] > history[0] + 0.1


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("p_null", [(1.0, 2.0), 0.3])
def test_samples_follow_the_exact_posterior(p_null):
    """Translations and NULL are integrated out by Gamma functions, jumps by quadrature."""
    # The same word twice: what a pair uses again is likelier the second time.
    pairs = [([0, 1], [0, 0]), ([1, 0], [1])]
    nodes, node_weights = np.polynomial.legendre.leggauss(30)
    nodes, node_weights = (nodes + 1) / 2, node_weights / 2
    u, v = np.meshgrid(nodes, nodes)
    grid = np.stack([u, (1 - u) * v, (1 - u) * (1 - v)])
    density = np.outer(node_weights, node_weights) * (1 - u)
    posterior = {}
    for sample in product(*map(alignments, pairs)):
        counts = np.zeros((2 + 1, 2))
        null, jumps = np.zeros(2), density.copy()
        for (rows, targets), alignment in zip(pairs, sample, strict=True):
            for j, position in enumerate(alignment):
                counts[rows[position] if position >= 0 else -1, targets[j]] += 1
                null[int(position < 0)] += 1
            for context, position in moves(alignment):
                d, inside = jump_of(context, position, 1), reachable(context, len(rows), 1)
                jumps *= grid[d + 1] / len(inside[d]) / sum(grid[b + 1] for b in inside)
        log = np.sum(gammaln(counts + BETA)) - np.sum(gammaln(counts.sum(axis=1) + 2 * BETA))
        if p_null == 0.3:
            log += null @ np.log([0.7, 0.3])
        else:
            log += np.sum(gammaln(null + [2.0, 1.0]))
        posterior[sample] = np.exp(log) * jumps.sum()
    whole = sum(posterior.values())
    X = [([f"s{row}" for row in rows], [f"t{t}" for t in targets]) for rows, targets in pairs]
    settings = SHARED | {"alpha": 1.0, "longest_jump": 1, "random_state": 0, "p_null": p_null}
    del settings["tol"]
    model = GibbsAlignmentHMM(max_iter=7000, samples=Samples(100, thin=1), **settings).fit(X)
    for i, pair in enumerate(pairs):
        marginal = {}
        for sample, weight in posterior.items():
            marginal[sample[i]] = marginal.get(sample[i], 0.0) + weight / whole
        expected = link_table(marginal, pair)
        np.testing.assert_allclose(model.link_proba_[i], expected, atol=0.02)
    assert 0.4 < model.acceptance_rate_ < 0.95


@pytest.mark.long
def test_lost_jumps_are_as_often_as_drawn_one_by_one():
    """Means and variances of their counts: geometric numbers before each jump, by cell."""
    weights = random_weights(2, seed=0)
    jump, pair = weights["jump"], ([0, 1], [0, 1])
    layout, pairs = model_of(2, pairs=[pair], known={0: [(1, 0), (0, 1)]})
    problem = AlignmentProblem(None, None, pairs, layout, None)
    tally, rng = frozen_tally(flat(weights, layout)), np.random.default_rng(0)
    lost = np.array([draw_sweep(problem, tally, rng)[0].lost_jumps[0] for _ in range(40_000)])
    # From the start +1 and +2 stay, from position 2 on 0 and -1. Of a cell the odds of one more
    # before a jump stays are its weight over that of what stays.
    odds = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 1, 1]]) * jump
    odds /= [[jump[3] + jump[4]], [jump[1] + jump[2]]]
    variances = (odds * (1 + odds)).sum(axis=0)
    assert np.abs(lost.mean(axis=0) - odds.sum(axis=0)).max() < 4 * np.sqrt(variances.max() / 4e4)
    np.testing.assert_allclose(lost.var(axis=0), variances, rtol=0.1)
    together = odds.sum(axis=1)
    assert lost.sum(axis=1).var() == pytest.approx((together * (1 + together)).sum(), rel=0.1)


@numba.njit
def both_uses(tallies, cell, sign, n):
    """Log weights of n uses of a cell, at once and one by one."""
    once, each = tallies
    total = 0.0
    for _ in range(n):
        total += _count_use(each, cell, 0, sign)
    return _count_uses(once, cell, 0, sign, n), total


def test_many_uses_of_a_cell_weigh_as_one_by_one():
    """The urn's weights in one step, added, left, and taken out."""
    counts = [CellSums(np.array([2.0, 1.0]), np.array([3.0])) for _ in range(2)]
    prior = np.array([1e-10, 0.5]), np.array([0.5 + 1e-10]), np.zeros(1), -1.0
    tallies = AlignmentTally(counts[0], *prior), AlignmentTally(counts[1], *prior)
    for cell, sign in [(0, 1.0), (1, 1.0), (1, 0.0), (1, -1.0)]:
        found, expected = both_uses(tallies, cell, sign, 40)
        assert sign < 0 or found == pytest.approx(expected, rel=1e-12)
        assert np.array_equal(counts[0].cells, counts[1].cells)
        assert np.array_equal(counts[0].totals, counts[1].totals)


@numba.njit
def draw_numbers(rng, rate, n):
    return np.array([_draw_poisson(rng, rate) for _ in range(n)])


@pytest.mark.long(usual=2)
@pytest.mark.parametrize("rate", [0.3, 0.0, 1e-300, 9.9, 10.0, 14.0, 300.0, 1e9])
def test_poisson_numbers_are(rate):
    """Their shares of 20 ranges, each within five standard errors."""
    found, n = draw_numbers(np.random.default_rng(0), rate, 200_000), 200_000
    if rate < 1e-200:
        assert (found == 0).all()
        return
    bounds = np.unique(poisson.ppf(np.linspace(0.001, 0.999, 20), rate))
    below = poisson.cdf(bounds, rate)
    shares = np.array([(found <= bound).mean() for bound in bounds])
    assert (np.abs(shares - below) < 5 * np.sqrt(below * (1 - below) / n)).all()
