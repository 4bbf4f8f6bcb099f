"""The samplers against exact posteriors over trees, and the pieces of the Hastings ratio."""

import numpy as np
import pytest
import restatement_pcfg as plain

from sklearn_cvb import GibbsPCFG, Grammar, HastingsPCFG, Samples
from sklearn_cvb.grammar import inference as grammars
from sklearn_cvb.grammar.inference import draw_sweep, frozen_tally
from sklearn_cvb.grammar.layout import layout_of
from sklearn_cvb.grammar.model import dirichlet_draw
from sklearn_cvb.kernels.tree.arrays import Derivations

# Text, sentences, alpha, unary depth, and the largest stationary acceptance rate.
GRAMMARS = {
    "recursive": ("S -> S S | S 'b' | 'a' | 'a' 'b' | 'b'", ["aab", "abab"], 0.2, 1, 0.97),
    "two symbols": (
        "S -> A B | B A | S S\nA -> 'a' | 'b' | A A\nB -> 'a' | 'b'",
        ["abab", "ab"],
        1.0,
        1,
        0.97,
    ),
    "unary rules": (
        "S -> A | S A\nA -> 'a' | B\nB -> 'a' | C\nC -> 'a'",
        ["aa", "a"],
        0.3,
        5,
        0.98,
    ),
}


def sampled_shares(model, sentences, n_sweeps, burn_in):
    """How often each combination of trees was seen, from the sampler's own sweeps."""
    bound, algorithm = model._model(model._read(sentences, None)), model._algorithm()
    rng = np.random.default_rng(0)
    state, shares = algorithm.start(bound, rng), {}
    for sweep in range(n_sweeps):
        state, _ = algorithm.sweep(state, bound, rng)
        if sweep >= burn_in:
            trees = state.shares
            key = tuple(
                trees.rule[a:b].tobytes()
                for a, b in zip(trees.starts[:-1], trees.starts[1:], strict=True)
            )
            shares[key] = shares.get(key, 0) + 1 / (n_sweeps - burn_in)
    return shares, state


def exact_shares(grammar, sentences, alpha, depth):
    """The exact posterior, keyed by the rules of the trees in pre-order without helpers."""
    tables = plain.frequencies(grammar, sentences, depth)
    shares, _ = plain.joint_posterior(grammar, tables, alpha)
    trees = [plain.all_trees(grammar, words, depth) for words in sentences]
    return {
        tuple(tree[k] for tree, k in zip(trees, choice, strict=True)): share
        for choice, share in shares.items()
    }


def without_helpers(shares):
    decoded = {}
    for key, share in shares.items():
        rules = tuple(np.frombuffer(part, np.int64) for part in key)
        known = tuple(tuple(part[part >= 0].tolist()) for part in rules)
        decoded[known] = decoded.get(known, 0.0) + share
    return decoded


def distance(one, other):
    """Total variation distance."""
    return 0.5 * sum(abs(one.get(k, 0) - other.get(k, 0)) for k in one.keys() | other.keys())


# Both draw trees by the same kernels.
@pytest.mark.long(usual=True)
@pytest.mark.parametrize(
    ("kind", "name"), [*((HastingsPCFG, name) for name in GRAMMARS), (GibbsPCFG, "unary rules")]
)
def test_long_runs_match_the_exact_posterior_over_trees(kind, name):
    text, sentences, alpha, depth, largest_rate = GRAMMARS[name]
    sentences = [list(words) for words in sentences]
    grammar = Grammar.from_text(text)
    exact = exact_shares(grammar, sentences, alpha, depth)
    model = kind(grammar, alpha=alpha, handle_unknown="error", max_iter=10**8)
    # Of most trees of the others a chain says as much in half the sweeps.
    n_sweeps = 15_000 if name == "unary rules" else 8_000
    shares, state = sampled_shares(model, sentences, n_sweeps, 100)
    found = distance(without_helpers(shares), exact)
    print(f"{kind.__name__}, {name}: {len(exact)} combinations, distance {found:.4f}")
    assert found < 0.03
    if kind is HastingsPCFG:
        proposed, accepted = state.work.proposals
        print(f"accepted {accepted / proposed:.3f}")
        assert 0.3 < accepted / proposed < largest_rate


@pytest.mark.long
@pytest.mark.parametrize("kind", [HastingsPCFG, GibbsPCFG])
def test_long_runs_of_independent_rules_match_the_exact_posterior(kind):
    sentences = [list("aa"), list("ab")]
    exact = exact_shares(Grammar.independent(2, ["a", "b"]), sentences, 1.0, 1)
    model = kind(rules="independent", alpha=1.0, handle_unknown="error", max_iter=10**8)
    shares, state = sampled_shares(model, sentences, 6_000, 100)
    found = distance(without_helpers(shares), exact)
    print(f"{kind.__name__}: {len(exact)} combinations, distance {found:.4f}")
    assert found < 0.03
    if kind is HastingsPCFG:
        proposed, accepted = state.work.proposals
        assert 0.3 < accepted / proposed < 0.97


@pytest.mark.long
def test_accepting_everything_misses_the_posterior(monkeypatch):
    # The same run with r = 1 must fail the test above: the proposal alone is not the posterior.
    text, sentences, alpha, depth, _ = GRAMMARS["recursive"]
    sentences = [list(words) for words in sentences]
    grammar = Grammar.from_text(text)
    exact = exact_shares(grammar, sentences, alpha, depth)

    monkeypatch.setattr(grammars, "draw_sweep", accept_all)
    model = HastingsPCFG(grammar, alpha=alpha, handle_unknown="error", max_iter=10**8)
    shares, _ = sampled_shares(model, sentences, 4_000, 100)
    assert distance(without_helpers(shares), exact) > 0.05


def accept_all(problem, tally, rng, old=None, temperature=1.0):
    """A sweep that takes every proposal."""
    if old is None:
        return draw_sweep(problem, tally, rng)
    n, parts, every = problem.corpus.n_sequences, [], np.arange(len(tally.cells))
    for i in range(n):
        rules = old.rule[old.starts[i] : old.starts[i + 1]]
        count(tally, rules, -1.0)
        means = tally.cells + tally.prior
        means /= (tally.totals + tally.prior_totals)[tally.lhs[every]]
        trees, _, _ = draw_sweep(problem, frozen_tally(problem.layout, means), rng)
        parts.append(trees.rule[trees.starts[i] : trees.starts[i + 1]])
        count(tally, parts[-1], 1.0)
    starts = np.concatenate([[0], np.cumsum([len(rules) for rules in parts])])
    rules = np.concatenate(parts)
    nothing = np.zeros(len(rules), np.int32)
    return Derivations(starts, nothing, nothing, nothing, rules, nothing), None, np.array([n, n])


def count(tally, rules, sign):
    """Add rules to the counts, or take them away."""
    cells = rules[rules >= 0]
    np.add.at(tally.cells, cells, sign)
    np.add.at(tally.totals, tally.lhs[cells], sign)


def test_averages_are_over_kept_samples():
    text, X = "S -> S S | 'a' | 'b'", [list("ab"), list("aab")]
    model = HastingsPCFG(text, max_iter=50, samples=Samples(20, thin=3), random_state=0).fit(X)
    # All trees of these sentences use the same rules: averages are known.
    assert model.counts_.rule.tolist() == [3, 3, 2]
    np.testing.assert_allclose(model.rule_probabilities_, np.array([3.1, 3.1, 2.1]) / 8.3)
    assert model.acceptance_rate_ == 1
    assert model.history_ == pytest.approx([model.history_[0]] * 50)
    assert not model.converged_
    gibbs = GibbsPCFG(text, max_iter=20, random_state=0).fit(X)
    assert gibbs.counts_.rule.tolist() == [3, 3, 2]


def test_cooling_finds_the_best_trees():
    text = "W -> P R\nP -> 'u' | 'k' 'u' | 'k'\nR -> 'u' 'b' | 'b' | 'b' 'a' | 'a'"
    X = [list("kub"), list("kub"), list("ub"), list("kuba"), list("ka"), list("ua")]
    cooled = HastingsPCFG(
        text, samples=Samples(temperatures=(2.0, 0.05)), max_iter=100, random_state=0
    ).fit(X)
    grammar = Grammar.from_text(text)
    tables = plain.frequencies(grammar, X)
    shares, _ = plain.joint_posterior(grammar, tables, 0.1)
    best = max(shares, key=shares.get)
    best_value = plain.log_joint(
        grammar, sum(table[k] for table, k in zip(tables, best, strict=True)), 0.1
    )
    assert cooled.history_[-1] == pytest.approx(best_value)


def test_temperatures_above_1_need_chains_that_end():
    text = "S -> A | 'a' | S S\nA -> S | 'b'"
    X = [list("ab"), list("aabb")]
    with pytest.raises(ValueError, match="above 1 give the chains of a cycle of unary rules inf"):
        HastingsPCFG(text, samples=Samples(temperatures=(2.0, 1.0)), max_iter=20).fit(X)
    cooled = HastingsPCFG(
        text, samples=Samples(temperatures=(1.0, 0.2)), max_iter=20, random_state=0
    ).fit(X)
    assert np.isfinite(cooled.history_).all()


@pytest.mark.long
def test_dirichlet_draws():
    grammar = Grammar.from_text("S -> A A | 'a' | 'b'\nA -> 'a' | 'b'")
    layout = layout_of(grammar, {"a": 0, "b": 1})
    cells = np.array([2.0, 0.5, 1.5, 1e-8, 3e-8])
    rng = np.random.default_rng(1)
    draws = np.array([dirichlet_draw(cells, layout, rng) for _ in range(20_000)])
    np.testing.assert_allclose(draws[:, :3].sum(axis=1), 1)
    np.testing.assert_allclose(draws.mean(axis=0), [0.5, 0.125, 0.375, 0.25, 0.75], atol=0.01)
    variance = 0.5 * 0.5 / 5
    assert draws[:, 0].var() == pytest.approx(variance, rel=0.05)


def test_sweeps_share_nothing_with_the_state_before():
    model = HastingsPCFG("S -> S S | 'a'", random_state=0)
    bound, algorithm = model._model(model._read([list("aaaa")], None)), model._algorithm()
    rng = np.random.default_rng(0)
    state = algorithm.start(bound, rng)
    kept = state.shares.rule.copy()
    algorithm.sweep(state, bound, rng)
    assert np.array_equal(kept, state.shares.rule)
    # Nor do memories: late in the chain they hold trees.
    late = state._replace(n_sweeps=algorithm.n_planned - 1)
    first, _ = algorithm.sweep(late, bound, rng)
    seen = str(first.work.label_counts)
    algorithm.sweep(first, bound, rng)
    assert str(first.work.label_counts) == seen != "None"
