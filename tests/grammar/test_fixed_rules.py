"""Rules that keep their probabilities: in each algorithm, against enumeration."""

import pickle

import numpy as np
import pytest
from enumerated import KnownGrammar, enumerated_grammar, gaps
from restatement_pcfg import frequencies
from scipy.special import logsumexp, xlogy
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, GibbsPCFG, Grammar, HastingsPCFG, Samples

# One rule of A is ruled out: it keeps 0.
TEXT = """
S -> A S [0.3] | S A [0.4] | 'a' [0.3]
A -> A A [0.2] | S A [0.0] | 'a' [0.5] | 'b' [0.3]
"""
KNOWN = Grammar.from_text(TEXT)
X = list(map(list, ["aba", "baa", "abba", "aa"]))
WHERE = {"S": ["S"], "A": ["A"], "all": ["S", "A"]}
ALGORITHMS = [EMPCFG, VBPCFG, CVBPCFG]
SAMPLERS = [HastingsPCFG, GibbsPCFG]


def known(family, where, **settings):
    """The enumeration of a grammar with rules that are fixed, and the algorithm."""
    grammar = KNOWN.with_fixed(WHERE[where])
    estimator = family(grammar, handle_unknown="error", **{"alpha": 0.3} | settings)
    return enumerated_grammar(estimator, X), estimator._algorithm()


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("family", ALGORITHMS)
@pytest.mark.parametrize("most_edges", [None, 0])
def test_sweeps_are_those_of_the_enumeration(where, family, most_edges, monkeypatch):
    if most_edges is not None:
        monkeypatch.setattr("sklearn_cvb.grammar.layout.MOST_EDGES", most_edges)
    assert gaps(*known(family, where)) < 1e-10


def test_free_rules_are_seen():
    """Rules that are not known, but were taken for known, would be noticed."""
    model, algorithm = known(VBPCFG, "S")
    wrong = KnownGrammar(model.real, model.uses, model.rows, KNOWN.probabilities)
    assert gaps(wrong, algorithm) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("family", SAMPLERS)
def test_samples_are_of_the_exact_posterior(where, family):
    settings = {"max_iter": 4000, "random_state": 0, "samples": Samples(thin=1)}
    model, algorithm = known(family, where, **settings)
    expected = model.exact_counts(model.prior(model.hyper()))
    found = family(KNOWN.with_fixed(WHERE[where]), alpha=0.3, **settings).fit(X)
    assert np.abs(found.counts_.rule - expected).max() < 0.12
    assert "A" not in WHERE[where] or found.counts_.rule[4] == 0.0
    # log p(x, t) of what is known counts, too.
    rng = np.random.default_rng(0)
    state = algorithm.start(model.real, rng)
    for _ in range(3):
        state, value = algorithm.sweep(state, model.real, rng)
        prior = model.prior(model.hyper())
        assert value == pytest.approx(model.log_evidence(state.counts, prior, None), rel=1e-10)


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("family", [*ALGORITHMS, *SAMPLERS])
@pytest.mark.parametrize("init", ["grammar", "parameter"])
def test_what_is_fixed_comes_out_as_given(where, family, init):
    grammar = KNOWN.with_fixed(WHERE[where])
    model = family(grammar, init=init, max_iter=12, random_state=0).fit(X)
    kept = np.repeat([label in WHERE[where] for label in "SA"], [3, 4])
    assert np.allclose(model.rule_probabilities_[kept], KNOWN.probabilities[kept], atol=1e-15)
    assert np.allclose(np.add.reduceat(model.rule_probabilities_, [0, 3]), 1.0)
    if not kept.all():
        assert np.abs(model.rule_probabilities_ - KNOWN.probabilities)[~kept].max() > 1e-3
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.score_samples(X), model.score_samples(X))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("family", [EMPCFG, VBPCFG, CVBPCFG])
def test_batches_searches_and_learned_concentrations_keep_it(family):
    grammar = KNOWN.with_fixed(["A"])
    model = family(grammar, random_state=0)
    for part in (X[:2], X[2:]):
        model.partial_fit(part)
    assert np.allclose(model.rule_probabilities_[3:], KNOWN.probabilities[3:], atol=1e-15)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, error_score="raise").fit(X)
    assert search.best_estimator_.grammar.fixed == {"A"}
    if family is EMPCFG:
        stepwise = clone(model).set_params(update="sequence").fit(X)
        assert np.allclose(stepwise.rule_probabilities_[3:], KNOWN.probabilities[3:], atol=1e-15)
        return
    # Of the other rows alone: as if there were no others.
    learning = clone(model).set_params(alpha="auto", tol=0, max_iter=25).fit(X)
    assert learning.alpha_ != 0.1
    assert np.allclose(learning.rule_probabilities_[3:], KNOWN.probabilities[3:], atol=1e-15)
    with pytest.raises(ValueError, match="no symbol is left to learn alpha from"):
        clone(learning).set_params(grammar=KNOWN.with_fixed(["S", "A"])).fit(X)


def test_what_cannot_be_fixed_is_told():
    with pytest.raises(ValueError, match=r"\['B'\] are no symbols"):
        KNOWN.with_fixed(["B"])
    with pytest.raises(ValueError, match="without probabilities"):
        Grammar.from_text("S -> 'a' | 'b'").with_fixed(["S"])
    odd = Grammar(KNOWN.symbols, KNOWN.start, KNOWN.rules, 0.5 * KNOWN.probabilities)
    with pytest.raises(ValueError, match=r"'A', which are fixed, sum to 0\.5, not to 1"):
        odd.with_fixed(["A"])


# Without a fit


def test_a_model_of_probabilities_scores_as_all_trees_do():
    model = EMPCFG.from_parameters(KNOWN)
    uses = frequencies(KNOWN, X, 3)
    expected = [logsumexp(xlogy(table, KNOWN.probabilities).sum(axis=1)) for table in uses]
    assert np.allclose(model.score_samples(X), expected, atol=1e-12)
    assert np.array_equal(model.rule_probabilities_, KNOWN.probabilities)
    best = [np.nanmax(xlogy(table, KNOWN.probabilities).sum(axis=1)) for table in uses]
    for pairs, weight in zip(model.parse(X, n_best=1), best, strict=True):
        assert pairs[0][1] == pytest.approx(weight, abs=1e-12)
    _, trees = model.sample(400, random_state=0)
    assert np.mean([len(tree) == 1 for tree in trees]) == pytest.approx(0.3, abs=0.07)
    assert not hasattr(model, "history_")
    assert pickle.loads(pickle.dumps(model)).score(X) == model.score(X)
    with pytest.raises(ValueError, match="unknown word 'z'"):
        model.predict([["z"]])
    assert clone(model).fit(X).converged_


def test_a_model_needs_all_probabilities():
    with pytest.raises(ValueError, match="a grammar without probabilities"):
        EMPCFG.from_parameters("S -> 'a' | 'b'")
    # Of trees they are relative frequencies.
    model = EMPCFG.from_parameters(["(S (N we) (V ran))", "(S (N we) (V saw) (N it))"])
    assert np.exp(model.score_samples([["it", "ran"]])[0]) == pytest.approx(0.5 / 3 / 2)
