"""`rules="independent"`: what is learned, against enumeration and grammars written out."""

import nltk
import numpy as np
import pytest
import restatement_pcfg as plain
from enumerated import enumerated_grammar, learned
from estimators import all_sweeps

from sklearn_cvb import (
    CVBPCFG,
    EMPCFG,
    VBPCFG,
    GibbsPCFG,
    Grammar,
    HastingsPCFG,
    MiniBatches,
    Samples,
)
from sklearn_cvb.grammar import inference as grammars
from sklearn_cvb.grammar.inference import sum_shares
from sklearn_cvb.grammar.prediction import weights_to_predict

X = [list(words) for words in ("aba", "abab", "ba", "b", "abb")]
LONGER = [list(words) for words in ("abcab", "b", "bca", "aabbcacb", "cc", "abcabcaab", "cba")]
KINDS = [
    (EMPCFG, {}),
    (EMPCFG, {"update": MiniBatches(2), "alpha": 0.1}),
    *((kind, {"alpha": 0.3}) for kind in (VBPCFG, CVBPCFG, HastingsPCFG, GibbsPCFG)),
    (CVBPCFG, {"alpha": "auto", "max_iter": 25}),
]


def independent(kind, n_components=2, **keywords):
    settings = {"random_state": 0, "max_iter": 5, "handle_unknown": "error"}
    settings |= all_sweeps(kind) | keywords
    if kind in (HastingsPCFG, GibbsPCFG):
        settings = {"samples": Samples(2, thin=1)} | settings
    return kind(n_components=n_components, rules="independent", **settings)


@pytest.fixture(scope="module")
def case():
    """The grammar of two symbols, how often each tree uses each rule, and weights."""
    grammar = Grammar.independent(2, ["a", "b"])
    tables = plain.frequencies(grammar, X, 1)
    draws = np.random.default_rng(3).uniform(0.2, 1, len(grammar.rules))
    assert max(map(len, tables)) == 5 * 2**6
    return grammar, tables, plain.normalised(grammar, draws)


def test_one_dirichlet_for_the_words_and_each_child():
    model = independent(VBPCFG, 3).fit(LONGER)
    symbols, rules = model.rules_.symbols, model.rules_.rules
    assert list(model.symbols_) == ["S", "N1", "N2"]
    assert symbols[3:] == ("S.left", "N1.left", "N2.left", "S.right", "N1.right", "N2.right")
    n_rules = np.bincount([rule.parent for rule in rules])
    # A's own two parts or one of three words; one of three children for each part.
    assert n_rules.tolist() == [4] * 3 + [3] * 6
    assert rules[0] == (0, (3, 6))
    assert rules[12:15] == [(3, (0,)), (3, (1,)), (3, (2,))]
    theta = model.rule_probabilities_
    np.testing.assert_allclose(plain.by_owner(model.rules_, theta), 1, atol=1e-12)


@pytest.mark.parametrize("kind", [EMPCFG, VBPCFG, CVBPCFG])
def test_fits_follow_the_enumeration(case, kind):
    grammar, tables, theta = case
    model = independent(kind, init=theta, alpha=0.4).fit(X)
    twin = enumerated_grammar(model, X, 1)
    state, history = learned(twin, model._algorithm(), theta, 5)
    np.testing.assert_allclose(model.counts_.rule, state.counts, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=0, atol=1e-10)
    if kind is CVBPCFG:
        for table, counts, tree in zip(tables, state.shares, model.labels_, strict=True):
            others = plain.normalised(grammar, state.counts - counts + 0.4)
            best = table[plain.posterior(table, others)[0].argmax()]
            assert frequencies_of(tree, grammar) == best.tolist()


def test_the_bound_never_falls(case):
    model = independent(VBPCFG, init=case[2], alpha=0.4, max_iter=30).fit(X)
    larger = independent(VBPCFG, 10, max_iter=40).fit(LONGER)
    for bounds in (model.history_, larger.history_):
        assert np.diff(bounds).min() > -1e-10


def test_children_of_left_parts_are_left_out(case):
    """Were they not, the numbers would be others."""
    grammar, tables, theta = case
    wrong, error = list(plain.expected(tables, theta)[0]), 0.0
    kept = np.isin(plain.owners(grammar), (2, 3))
    for i, table in enumerate(tables):
        others = sum(counts for j, counts in enumerate(wrong) if j != i) + kept * wrong[i]
        wrong[i] = plain.posterior(table, plain.normalised(grammar, others + 0.4))[0] @ table
    error = np.abs(
        independent(CVBPCFG, init=theta, alpha=0.4, max_iter=1).fit(X).counts_.rule - sum(wrong)
    )
    assert error.max() > 1e-3


def frequencies_of(tree, grammar):
    """How often a tree, as it is shown, uses each rule of an independent grammar."""
    used = [0.0] * len(grammar.rules)
    numbers = {rule: r for r, rule in enumerate(grammar.rules)}
    symbols = {symbol: a for a, symbol in enumerate(grammar.symbols)}
    n = len(symbols) // 3
    for node in tree.subtrees():
        a = symbols[node.label()]
        if len(node) == 1:
            used[numbers[a, ((node[0],),)]] += 1
            continue
        used[numbers[a, (n + a, 2 * n + a)]] += 1
        for part, child in zip((n + a, 2 * n + a), node, strict=True):
            used[numbers[part, (symbols[child.label()],)]] += 1
    return used


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("n_components", [1, 3, 9])
@pytest.mark.parametrize(("kind", "keywords"), KINDS)
def test_the_same_rules_given_as_a_grammar_learn_the_same(kind, keywords, n_components):
    model = independent(kind, n_components, **keywords).fit(LONGER)
    given = type(model)(
        Grammar(model.rules_.symbols, 0, model.rules_.rules),
        **{k: v for k, v in model.get_params(deep=False).items() if k not in ("grammar", "rules")},
    )
    given.set_params(init="parameter").fit(LONGER)
    np.testing.assert_allclose(model.history_, given.history_, rtol=1e-10)
    np.testing.assert_allclose(model.counts_.rule, given.counts_.rule, rtol=0, atol=1e-9)
    new = [*LONGER, list("bbacab")]
    np.testing.assert_allclose(model.score_samples(new), given.score_samples(new), rtol=1e-11)
    # Of trees that tie either may be found.
    logs = weights_to_predict(model._learned)[1]
    for tree, ranked in zip(model.parse(new), given.parse(new, n_best=1), strict=True):
        score = np.dot(frequencies_of(tree, model.rules_), logs)
        assert score == pytest.approx(ranked[0][1], abs=1e-9)
        assert score == pytest.approx(
            np.dot(frequencies_of(without_parts(ranked[0][0]), model.rules_), logs)
        )
    for spans, every in zip(model.predict_proba(new), given.predict_proba(new), strict=True):
        np.testing.assert_allclose(spans, every[:, :, :n_components], rtol=0, atol=1e-10)


def without_parts(tree):
    """A tree whose parts are replaced by their children."""
    if isinstance(tree, str):
        return tree
    children = [
        child[0] if hasattr(child, "label") and "." in child.label() else child for child in tree
    ]
    return nltk.Tree(tree.label(), [without_parts(child) for child in children])


@pytest.mark.parametrize("n_components", [1, 3, 9])
def test_the_grammar_written_out_has_the_same_likelihoods_and_trees(n_components):
    model = independent(VBPCFG, n_components, max_iter=8).fit(LONGER)
    grammar = Grammar.from_nltk(model.grammar_)
    assert len(grammar.rules) == n_components**3 + 3 * n_components
    np.testing.assert_allclose(plain.by_owner(grammar, grammar.probabilities), 1, atol=1e-12)
    full = EMPCFG(grammar, max_iter=1, handle_unknown="error").fit(LONGER)
    full._learned = full._learned._replace(counts=grammar.probabilities)
    np.testing.assert_allclose(full.rule_probabilities_, grammar.probabilities, rtol=1e-12)
    new = [*LONGER, list("bbacab")]
    np.testing.assert_allclose(model.score_samples(new), full.score_samples(new), rtol=1e-11)
    # VB parses by other weights than posterior means: those of EM.
    same = EMPCFG(
        n_components=n_components, rules="independent", max_iter=1, handle_unknown="error"
    ).fit(LONGER)
    same._learned = same._learned._replace(counts=model.rule_probabilities_)
    for ours, theirs in zip(same.parse(new, n_best=3), full.parse(new, n_best=3), strict=True):
        assert [log_p for _, log_p in ours] == pytest.approx([log_p for _, log_p in theirs])
        assert ours[0][0] == theirs[0][0]
    for ours, theirs in zip(same.predict_proba(new), full.predict_proba(new), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


def test_samples_follow_the_grammar():
    model = independent(CVBPCFG, 3, alpha=1.0).fit(LONGER)
    sentences, trees = model.sample(3000, random_state=0, longest=1000)
    assert [tree.leaves() for tree in trees] == list(sentences)
    nodes = [node for tree in trees for node in tree.subtrees() if node.label() == "N1"]
    binary = [node for node in nodes if len(node) == 2]
    labels = {label: a for a, label in enumerate(model.symbols_)}
    theta = model.rule_probabilities_
    assert len(binary) / len(nodes) == pytest.approx(theta[4], abs=0.03)
    for side, first in ((0, 12 + 3), (1, 12 + 9 + 3)):
        share = np.bincount([labels[node[side].label()] for node in binary], minlength=3)
        np.testing.assert_allclose(share / len(binary), theta[first : first + 3], atol=0.04)


def test_known_brackets_are_kept():
    y = [[(0, 2)], None, None, [(2, 5), (3, 5)], None, None, "(S (X (Y c) (Z b)) (W a))"]
    for kind in (VBPCFG, CVBPCFG):
        labels = independent(kind, 4, alpha=0.1).fit(LONGER, y).labels_
        # A bracket is a constituent, or at least is crossed by none.
        for i, begin, end in ((0, 0, 2), (3, 2, 5), (3, 3, 5), (6, 0, 2)):
            for position in labels[i].treepositions():
                if isinstance(labels[i][position], nltk.Tree):
                    leaves = list(labels[i].treepositions("leaves"))
                    here = [k for k, x in enumerate(leaves) if x[: len(position)] == position]
                    b, e = here[0], here[-1] + 1
                    assert not b < begin < e < end
                    assert not begin < b < end < e


# Stepwise EM has a kernel of its own for children that are independent.
@pytest.mark.parametrize(
    ("kind", "keywords"),
    [KINDS[0], pytest.param(*KINDS[1], marks=pytest.mark.long), *KINDS[2:-1]],
)
def test_a_fit_in_two_parts_is_one_fit(kind, keywords):
    whole = independent(kind, 3, max_iter=6, **keywords).fit(LONGER)
    parts = independent(kind, 3, max_iter=3, warm_start=True, **keywords)
    if kind in (HastingsPCFG, GibbsPCFG):
        # Burn-in is a matter of the first fit.
        whole = independent(kind, 3, max_iter=3, warm_start=True, **keywords).fit(LONGER)
        assert np.isfinite(whole.fit(LONGER).history_).all()
        return
    history = [*parts.fit(LONGER).history_, *parts.fit(LONGER).history_]
    np.testing.assert_allclose(history[-6:], whole.history_, rtol=1e-12)
    np.testing.assert_allclose(parts.counts_.rule, whole.counts_.rule, rtol=0, atol=1e-12)


def test_a_sweep_broken_off_leaves_shares_that_are_summed_again(monkeypatch):
    calls = []

    def summed(*given):
        calls.append(given)
        # The start, three sweeps, and the fourth is broken off.
        if len(calls) == 5:
            raise KeyboardInterrupt
        return sum_shares(*given)

    monkeypatch.setattr(grammars, "sum_shares", summed)
    model = independent(CVBPCFG, 3, max_iter=9, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(LONGER)
    read, best = model._learned.warm_start
    ours = sum_shares(best.state.shares, read.problem)
    assert len(best.history) == 3
    assert np.abs(best.state.counts - ours).max() > 1e-3
    resumed = model._model(read).adapt_state(best.state)
    np.testing.assert_array_equal(resumed.counts, ours)
    n_children = sum(2 * (len(words) - 1) for words in LONGER)
    assert model.fit(LONGER).counts_.rule[-18:].sum() == pytest.approx(n_children)


@pytest.mark.parametrize("kind", [VBPCFG, CVBPCFG, HastingsPCFG, GibbsPCFG])
def test_concentrations_are_learned_and_unknown_words_derived(kind):
    model = independent(kind, 3, alpha="auto", handle_unknown="rare", max_iter=30).fit(LONGER)
    assert 1e-10 <= model.alpha_ <= 1e10
    assert model.alpha_ != 0.1
    assert np.isfinite(model.score_samples([list("azb")])).all()
    by_symbol = dict.fromkeys(model.rules_.symbols, 0.2) | {"S": 3.0}
    alpha = independent(kind, 3, alpha=by_symbol).fit(LONGER).alpha_
    assert alpha.tolist() == [3.0] * 4 + [0.2] * 26


def test_charts_of_a_table():
    table = np.array([[0, 1, 1, 0], [1, 0, 0, 0]])
    model = independent(VBPCFG, 3).fit(table)
    charts = model.predict(table)
    assert charts.shape == (2, 4, 5)
    # A binary tree over four words has seven nodes.
    assert (charts > 0).sum(axis=(1, 2)).tolist() == [7, 7]
    assert charts.max() <= 3
    assert model.predict_proba(table).sum(axis=(1, 2, 3)) == pytest.approx([7, 7])


def test_hundreds_of_symbols_without_their_cube():
    model = independent(CVBPCFG, 200, max_iter=2).fit(LONGER)
    assert len(model.rule_probabilities_) == 2 * 200**2 + 200 * 4
    assert model.counts_.rule.sum() == pytest.approx(
        sum(len(words) + 3 * (len(words) - 1) for words in LONGER)
    )
    assert len(model.symbols_) == 200
    assert all(tree.leaves() == words for tree, words in zip(model.labels_, LONGER, strict=True))
    with pytest.raises(ValueError, match=r"200 symbols have 8000000 rules A -> B C"):
        _ = model.grammar_


def test_bad_input_is_told_what_to_do():
    with pytest.raises(ValueError, match=r"rules='independent' is for a model without grammar"):
        EMPCFG("S -> S S | 'a'", rules="independent").fit([["a", "a"]])
    with pytest.raises(ValueError, match="'rules' parameter"):
        EMPCFG(rules="product").fit(X)
    with pytest.raises(ValueError, match="init has other rules"):
        EMPCFG(rules="independent", init=EMPCFG(max_iter=1).fit(X)).fit(X)
    with pytest.raises(ValueError, match="init must hold 14 weights"):
        independent(EMPCFG, init=np.ones(3)).fit(X)
    with pytest.raises(ValueError, match=r"\['S.left', 'N1.left'"):
        independent(VBPCFG, alpha={"S": 1.0, "N1": 1.0}).fit(X)


def test_full_rules_are_the_default_and_what_they_were():
    usual = VBPCFG(n_components=3, random_state=0, max_iter=4).fit(LONGER)
    full = VBPCFG(n_components=3, rules="full", random_state=0, max_iter=4).fit(LONGER)
    assert full.rules_.rules == Grammar.full(3, [*"abc", "<unk>"]).rules
    np.testing.assert_array_equal(usual.counts_.rule, full.counts_.rule)
