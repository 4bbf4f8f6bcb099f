"""The chart of split heads against all trees, in products and in logs, and against a grammar."""

import math

import numpy as np
import pytest
from dependency_enumeration import (
    cells_of_tree,
    expected_cells,
    projective_trees,
    weigh_trees,
)

from sklearn_cvb import EMPCFG
from sklearn_cvb.dependency import inference
from sklearn_cvb.dependency.inference import cell_uses
from sklearn_cvb.grammar.inference import expectation
from sklearn_cvb.kernels.dependency.arrays import DependencySentences, shares_for, workspace_for
from sklearn_cvb.kernels.dependency.chart import count_in_logs
from sklearn_cvb.kernels.dependency.expectation import WEIGH, infer

N_TYPES = 3


def random_weights(rng, n_types=N_TYPES, normalised=True):
    tables = [rng.dirichlet(np.ones(n_types), 2 * n_types + 1), rng.dirichlet([1, 1], 4 * n_types)]
    weights = np.concatenate([table.ravel() for table in tables])
    return weights if normalised else weights * rng.uniform(0.5, 1, len(weights))


def sentences_of(tags, known=None, n_types=N_TYPES):
    starts = np.cumsum([0] + [len(sentence) for sentence in tags])
    token = np.array([tag for sentence in tags for tag in sentence], np.int64)
    head = np.full(len(token), -1, np.int64)
    if known is not None:
        head[:] = [-1 if h is None else h for sentence in known for h in sentence]
    return DependencySentences(token, starts.astype(np.int64), head, n_types)


def test_the_trees_are_all():
    """Projective trees with one root: 1, 2, 7, 30, 143, 728 (OEIS A006013)."""
    assert [len(projective_trees(n)) for n in range(1, 7)] == [1, 2, 7, 30, 143, 728]


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("normalised", [True, False])
def test_likelihoods_and_counts_of_all_trees(n, normalised):
    rng = np.random.default_rng(n)
    weights = random_weights(rng, normalised=normalised)
    for _ in range(3):
        tags = rng.integers(N_TYPES, size=n).tolist()
        total, expected = expected_cells(tags, weights, N_TYPES)
        counts, log_z, _ = inference.expectation(weights, sentences_of([tags]))
        assert log_z[0] == pytest.approx(math.log(total), abs=1e-12)
        np.testing.assert_allclose(counts, expected, atol=1e-12)
        assert inference.log_likelihoods(weights, sentences_of([tags])) == log_z


@pytest.mark.parametrize("known", [(None, 0, None, None), (2, None, None, 3), (3, 1, 0, 3)])
def test_known_heads_leave_the_trees_that_agree(known):
    rng = np.random.default_rng(5)
    weights, tags = random_weights(rng), [0, 1, 2, 1]
    total, expected = expected_cells(tags, weights, N_TYPES, known)
    sentences = sentences_of([tags], [known])
    counts, log_z, _ = inference.expectation(weights, sentences)
    assert log_z[0] == pytest.approx(math.log(total), abs=1e-12)
    np.testing.assert_allclose(counts, expected, atol=1e-12)
    heads, logs = inference.heaviest_heads(inference.frozen_tally(weights), sentences)
    best, weight = max(weigh_trees(tags, weights, N_TYPES, known), key=lambda pair: pair[1])
    assert tuple(heads) == best
    assert logs[0] == pytest.approx(math.log(weight), abs=1e-12)


def test_no_tree_with_these_heads():
    """Token 2, the head of 1, cannot be between 1 and its child 3."""
    sentences = sentences_of([[0, 1, 2], [0]], [(2, None, 1), (None,)])
    counts, log_z, shares = inference.expectation(
        random_weights(np.random.default_rng(0)), sentences, keeps_shares=True
    )
    assert log_z[0] == -math.inf
    assert log_z[1] > -math.inf
    assert shares.count[: shares.first[1]].sum() == 0
    assert counts[: (2 * N_TYPES + 1) * N_TYPES].sum() == pytest.approx(1)


def test_known_heads_hold_even_without_weight():
    """Where the known arc has weight 0, the tree is still one that has it."""
    weights = np.full(45, 0.5)
    # Tag 0 attaches nothing, and is never the root.
    weights[[0, 1, 2, 3, 4, 5, 18]] = 0.0
    for known in [(None, 1, None), (0, None, None), (3, 1, None)]:
        sentences = sentences_of([[0, 1, 2]], [known])
        heads, logs = inference.heaviest_heads(inference.frozen_tally(weights), sentences)
        assert all(k is None or k == h for k, h in zip(known, heads, strict=True))
        assert tuple(heads) in projective_trees(3)
        assert logs[0] < -1e8
        assert inference.log_likelihoods(weights, sentences)[0] == -math.inf


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_heaviest_tree(n):
    rng = np.random.default_rng(10 + n)
    for _ in range(5):
        weights, tags = random_weights(rng), rng.integers(N_TYPES, size=n).tolist()
        best = max(weight for _, weight in weigh_trees(tags, weights, N_TYPES))
        heads, logs = inference.heaviest_heads(
            inference.frozen_tally(weights), sentences_of([tags])
        )
        cells = cells_of_tree(tags, heads.tolist(), N_TYPES)
        assert tuple(heads) in projective_trees(n)
        assert logs[0] == pytest.approx(math.log(best), abs=1e-12)
        assert np.log(weights[cells]).sum() == pytest.approx(math.log(best), abs=1e-12)


def test_cells_that_trees_use():
    tags = [0, 1, 2, 1, 0]
    for heads in projective_trees(5):
        expected = np.bincount(cells_of_tree(tags, heads, N_TYPES), minlength=45)
        assert cell_uses(sentences_of([tags]), np.array(heads)).tolist() == expected.tolist()


@pytest.mark.parametrize("loses", [False, True])
def test_trees_are_drawn_as_likely_as_they_are(loses):
    """Total variation from the posterior, in products and where all sentences are lost."""
    rng = np.random.default_rng(3)
    weights, tags, n_draws = random_weights(rng), [0, 1, 2, 1], 20_000
    if loses:
        # A first child costs more than a float64 holds twice.
        weights[(2 * N_TYPES + 1) * N_TYPES + 1 :: 4] *= 1e-290
    sentences = sentences_of([tags] * n_draws)
    assert bool(np.isnan(log_z_in_products(weights, sentences_of([tags])))) is loses
    (heads, _), *_ = inference.draw_sweep(sentences, inference.frozen_tally(weights), rng)
    trees = weigh_trees(tags, weights, N_TYPES)
    total = sum(weight for _, weight in trees)
    drawn, times = np.unique(heads.reshape(-1, 4), axis=0, return_counts=True)
    found = {tuple(row): n for row, n in zip(drawn.tolist(), times.tolist(), strict=True)}
    assert len(found) >= 2
    distance = sum(abs(found.get(tree, 0) / n_draws - w / total) for tree, w in trees) / 2
    assert distance < 0.02


def log_z_in_products(weights, sentences):
    """What the kernel says of one sentence, NaN if it is lost."""
    work, tally = workspace_for(len(sentences.token)), inference.frozen_tally(weights)
    log_z = np.full(1, np.nan)
    shares = shares_for(sentences.starts, False)
    infer(sentences, tally, tally.sums, shares, work, WEIGH, np.int64(0), log_z)
    return log_z[0]


# What float64 cannot hold.


def log_total(terms):
    peak = max(terms)
    return peak + math.log(sum(math.exp(term - peak) for term in terms))


def log_inside(tags, logs, n_types):
    """log p(words) from logs of weights, by the recursions in plain Python."""
    n, cut = len(tags), (2 * n_types + 1) * n_types
    attach, choice = logs[:cut].reshape(-1, n_types), logs[cut:].reshape(n_types, 2, 2, 2)
    # Halves by head and other end, at the head itself by side, too.
    opened, closed, arcs = {}, {}, {}
    for i in range(n):
        for side in (0, 1):
            opened[i, i, side] = choice[tags[i], side, 0, 1]
            closed[i, i, side] = choice[tags[i], side, 0, 0]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            middle = range(i, j)
            arcs[i, j] = attach[2 * tags[i] + 1, tags[j]] + log_total(
                [opened[i, k, 1] + closed[j, k + 1, 0] for k in middle]
            )
            arcs[j, i] = attach[2 * tags[j], tags[i]] + log_total(
                [closed[i, k, 1] + opened[j, k + 1, 0] for k in middle]
            )
            right = log_total([arcs[i, k] + closed[k, j, 1] for k in range(i + 1, j + 1)])
            left = log_total([arcs[j, k] + closed[k, i, 0] for k in middle])
            closed[i, j, 1] = right + choice[tags[i], 1, 1, 0]
            opened[i, j, 1] = right + choice[tags[i], 1, 1, 1]
            closed[j, i, 0] = left + choice[tags[j], 0, 1, 0]
            opened[j, i, 0] = left + choice[tags[j], 0, 1, 1]
    return log_total(
        [attach[-1, tags[r]] + closed[r, 0, 0] + closed[r, n - 1, 1] for r in range(n)]
    )


def spread_logs(rng, n_types, spread):
    """Logs of weights over so many orders of magnitude."""
    return -spread * rng.random((2 * n_types + 9) * n_types)


@pytest.mark.long(usual=True)
@pytest.mark.parametrize(("n", "spread"), [(40, 5.0), (40, 60.0), (120, 5.0), (200, 2.0)])
def test_long_sentences(n, spread):
    """Some are lost in products, and those are found with logs."""
    rng = np.random.default_rng(n)
    tags = rng.integers(N_TYPES, size=n).tolist()
    logs = spread_logs(rng, N_TYPES, spread)
    counts, log_z, _ = inference.expectation(np.exp(logs), sentences_of([tags]))
    assert log_z[0] == pytest.approx(log_inside(tags, logs, N_TYPES), rel=1e-11)
    cut = (2 * N_TYPES + 1) * N_TYPES
    choice = counts[cut:].reshape(N_TYPES, 2, 2, 2)
    times = np.bincount(tags, minlength=N_TYPES)
    # Every token has one head, and stops once on either side; every arc is one decision to go on.
    np.testing.assert_allclose(counts[:cut].reshape(-1, N_TYPES).sum(axis=0), times, rtol=1e-9)
    np.testing.assert_allclose(choice[..., 0].sum(axis=2), np.repeat(times, 2).reshape(-1, 2))
    arcs = counts[: cut - N_TYPES].reshape(N_TYPES, 2, N_TYPES).sum(axis=2)
    np.testing.assert_allclose(choice[..., 1].sum(axis=2), arcs, atol=1e-9)


@pytest.mark.parametrize("update", ["expect", "draw", "likelihood"])
def test_a_lost_sentence_is_found_with_logs(update, monkeypatch):
    """Weights between 1 and 1e-52: products of a hundred of them are no float64."""
    rng = np.random.default_rng(1)
    tags = rng.integers(N_TYPES, size=30).tolist()
    logs = spread_logs(rng, N_TYPES, 120.0)
    calls = []
    for name in ("count_in_logs", "fill_in_logs"):
        kernel = getattr(inference, name)
        monkeypatch.setattr(
            inference, name, lambda *given, kernel=kernel: calls.append(1) or kernel(*given)
        )
    sentences, weights = sentences_of([[0], tags, [1]]), np.exp(logs)
    if update == "expect":
        log_z = inference.expectation(weights, sentences)[1]
    elif update == "draw":
        tally = inference.frozen_tally(weights)
        (heads, _), log_z, _ = inference.draw_sweep(sentences, tally, rng)
        assert cell_uses(sentences, heads)[: (2 * N_TYPES + 1) * N_TYPES].sum() == 32
    else:
        log_z = inference.log_likelihoods(weights, sentences)
    assert calls == [1]
    expected = [log_inside(part, logs, N_TYPES) for part in ([0], tags, [1])]
    np.testing.assert_allclose(log_z, expected, rtol=1e-11)


def test_counts_are_the_same_in_products_and_in_logs():
    rng = np.random.default_rng(8)
    weights, tags = random_weights(rng), rng.integers(N_TYPES, size=25).tolist()
    sentences = sentences_of([tags])
    _, log_z, shares = inference.expectation(weights, sentences, keeps_shares=True)
    work, tally = workspace_for(25), inference.frozen_tally(weights)
    in_logs = np.full_like(shares.count, np.nan)
    log_likelihood = np.full(1, np.nan)
    infer(sentences, tally, tally.sums, shares, work, WEIGH, np.int64(0), log_likelihood)
    assert count_in_logs(work, np.int64(25), in_logs, np.int64(0)) == pytest.approx(log_z[0])
    np.testing.assert_allclose(in_logs, shares.count, atol=1e-12)


# The model written out as a grammar.


def as_grammar(n_types):
    """Text of a grammar with one derivation for each tree, and the cells that each rule uses.

    A head (H) has right children (R) outside of its left ones (L); rules go from the farthest child
    inwards.
    """
    choices, rules = (2 * n_types + 1) * n_types, {}

    def choice(a, side, valence, decision):
        return choices + 8 * a + 4 * side + 2 * valence + decision

    for a in range(n_types):
        rules[f"S -> H{a}"] = [2 * n_types * n_types + a]
        rules[f"H{a} -> L{a}"] = [choice(a, 1, 0, 0)]
        rules[f"H{a} -> R{a}"] = [choice(a, 1, 1, 0)]
        rules[f"L{a} -> '{a}'"] = [choice(a, 0, 0, 0)]
        rules[f"L{a} -> M{a}"] = [choice(a, 0, 1, 0)]
        for b in range(n_types):
            right, left = (2 * a + 1) * n_types + b, 2 * a * n_types + b
            rules[f"R{a} -> L{a} H{b}"] = [choice(a, 1, 0, 1), right]
            rules[f"R{a} -> R{a} H{b}"] = [choice(a, 1, 1, 1), right]
            rules[f"M{a} -> H{b} '{a}'"] = [choice(a, 0, 0, 1), left]
            rules[f"M{a} -> H{b} M{a}"] = [choice(a, 0, 1, 1), left]
    return "\n".join(rules), list(rules.values())


def test_a_grammar_gives_the_same_likelihoods_and_counts():
    rng = np.random.default_rng(2)
    weights = random_weights(rng)
    tags = [rng.integers(N_TYPES, size=n).tolist() for n in (1, 2, 5, 9, 14)]
    text, cells = as_grammar(N_TYPES)
    model = EMPCFG(text)
    problem = model._read([list(map(str, sentence)) for sentence in tags], None).problem
    lines = [str(production) for production in problem.layout.grammar.to_nltk().productions()]
    order = [lines.index(line) for line in text.split("\n")]
    theta = np.empty(len(order))
    theta[order] = [np.prod(weights[used]) for used in cells]
    rule_counts, expected_z = expectation(theta, problem)[:2]
    expected = np.zeros(len(weights))
    for used, count in zip(cells, rule_counts[order], strict=True):
        expected[used] += count
    counts, log_z, _ = inference.expectation(weights, sentences_of(tags))
    np.testing.assert_allclose(log_z, expected_z, rtol=1e-12)
    np.testing.assert_allclose(counts, expected, atol=1e-10)
