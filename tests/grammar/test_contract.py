"""What may go in, what comes out, and what bad input is told: the five grammar estimators."""

import re

import numpy as np
import pandas as pd
import pytest
from estimators import all_sweeps, is_sampler
from nltk import Tree
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_cvb import (
    CVBPCFG,
    EMPCFG,
    VBPCFG,
    GammaPrior,
    GibbsPCFG,
    HastingsPCFG,
    Samples,
    metrics,
)
from sklearn_cvb.grammar.inference import tally_of

CLASSES = [EMPCFG, VBPCFG, CVBPCFG, HastingsPCFG, GibbsPCFG]
X = [["the", "dog", "runs"], ["the", "cat", "runs"], ["dog", "runs"], ["the", "dog", "sees"]]
TEXT = (
    "S -> NP V\nNP -> D N | N\nD -> 'the'\nN -> 'dog' | 'cat' | 'saw'\nV -> 'runs' | 'sees' | 'saw'"
)


def quick(kind, grammar=None, **keywords):
    settings = {"max_iter": 12 if kind in (HastingsPCFG, GibbsPCFG) else 5, "random_state": 0}
    return kind(grammar, **settings | keywords)


def fails(error, message, function, *arguments):
    """Assert that the call raises this error with exactly this text somewhere in its message."""
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments)


# Warm starts.


@pytest.mark.parametrize("kind", CLASSES)
def test_a_warm_start_goes_on(kind):
    whole = quick(kind, TEXT, max_iter=8, alpha=0.5, **all_sweeps(kind)).fit(X)
    model = quick(kind, TEXT, max_iter=3, alpha=0.5, warm_start=True, **all_sweeps(kind)).fit(X)
    model.set_params(max_iter=5).fit(X)
    assert model.history_.tolist() == whole.history_[3:].tolist()


@pytest.mark.parametrize("kind", [EMPCFG, VBPCFG, CVBPCFG])
def test_a_warm_start_goes_on_with_the_alpha_of_now(kind):
    model = quick(kind, TEXT, alpha=0.3, tol=0, warm_start=True).fit(X)
    model.set_params(alpha=2.0).fit(X)
    assert model.alpha_ == 2.0
    heads = np.array([lhs for lhs, _ in model.rules_.rules])
    smoothed = model.counts_.rule + 2.0
    expected = smoothed / np.array([smoothed[heads == head].sum() for head in heads])
    np.testing.assert_allclose(model.rule_probabilities_, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [HastingsPCFG, GibbsPCFG])
def test_a_chain_under_another_alpha_is_a_new_chain(kind):
    model = quick(kind, TEXT, alpha=0.3, warm_start=True).fit(X)
    fresh = quick(kind, TEXT, alpha=2.0).fit(X)
    assert np.array_equal(model.set_params(alpha=2.0).fit(X).history_, fresh.history_)


@pytest.mark.parametrize("kind", [VBPCFG, CVBPCFG, HastingsPCFG])
def test_a_warm_start_keeps_a_learned_alpha(kind):
    settings = {"alpha": "auto", "warm_start": True, "max_iter": 40} | all_sweeps(kind)
    model = quick(kind, TEXT, **settings).fit(X)
    learned = model.alpha_
    model.set_params(max_iter=1).fit(X)
    assert abs(np.log(model.alpha_ / learned)) < 1.5


# Forms of X and of what comes out.


@pytest.mark.parametrize("kind", CLASSES)
def test_ragged_input_gives_trees(kind):
    model = quick(kind, TEXT).fit(X)
    for trees in (model.labels_, model.predict(X), model.parse(X), model.fit_predict(X)):
        assert trees.shape == (4,)
        assert trees.dtype == object
        assert all(isinstance(tree, Tree) for tree in trees)
        assert [tree.leaves() for tree in trees] == X
    assert str(model.predict(X)[2]) == "(S (NP (N dog)) (V runs))"
    series = quick(kind, TEXT).fit(pd.Series(X))
    assert np.array_equal(series.history_, model.history_)
    spans = model.predict_proba(X)
    assert [table.shape for table in spans] == [(n, n + 1, 5) for n in (3, 3, 2, 3)]
    labels = dict(zip(model.symbols_, spans[0][0, 2], strict=True))
    assert labels == pytest.approx({"S": 0, "NP": 1, "D": 0, "N": 0, "V": 0})


@pytest.mark.parametrize("kind", CLASSES)
def test_tables_give_charts(kind):
    table = np.array([["the", "dog", "runs"], ["the", "cat", "sees"]])
    model = quick(kind, TEXT).fit(table)
    number = {label: i + 1 for i, label in enumerate(model.symbols_)}
    expected = np.zeros((3, 4), int)
    for begin, end, label in [(0, 3, "S"), (0, 2, "NP"), (0, 1, "D"), (1, 2, "N"), (2, 3, "V")]:
        expected[begin, end] = number[label]
    for charts in (model.predict(table), model.labels_):
        assert charts.shape == (2, 3, 4)
        assert charts.dtype == np.int64
        assert np.array_equal(charts[0], expected)
    assert model.predict_proba(table).shape == (2, 3, 4, 5)
    assert str(model.parse(table)[0]) == "(S (NP (D the) (N dog)) (V runs))"
    with pytest.raises(ValueError, match="X has 2 features, but"):
        model.predict(table[:, :2])
    assert model.predict(table.tolist()).shape == (2,)


def test_padded_tables_are_short_sentences():
    table = np.array([["the", "dog", "runs"], ["dog", "runs", None]], dtype=object)
    model = quick(VBPCFG, TEXT).fit(table)
    ragged = quick(VBPCFG, TEXT).fit([["the", "dog", "runs"], ["dog", "runs"]])
    assert np.array_equal(model.history_, ragged.history_)
    chart = model.predict(table)[1]
    assert chart[0, 2] == model.symbols_.tolist().index("S") + 1
    assert not chart[:, 3].any()
    # The highest label of a span: NP above N.
    assert chart[0, 1] == model.symbols_.tolist().index("NP") + 1


@pytest.mark.parametrize("kind", CLASSES)
def test_full_grammars_learn_from_numbers(kind):
    table = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    model = quick(kind, n_components=2).fit(table)
    assert model.vocabulary_.tolist() == [0, 1]
    assert model.symbols_.tolist() == ["S", "N1"]
    assert model.rule_probabilities_.shape == (2 * (4 + 3),)
    totals = np.bincount([rule.parent for rule in model.rules_.rules], model.rule_probabilities_)
    assert totals == pytest.approx([1, 1])
    assert model.counts_.rule.shape == model.rule_probabilities_.shape
    sentences, trees = model.sample(5, random_state=0)
    assert all(set(words) <= {0, 1} for words in sentences)
    assert [tree.leaves() for tree in trees] == list(sentences)


@pytest.mark.parametrize("kind", CLASSES)
def test_smallest_cases(kind):
    with np.errstate(all="raise", under="ignore"):
        model = quick(kind, n_components=1).fit([["a"], ["a"]])
        assert str(model.predict([["a"]])[0]) == "(S a)"
        assert np.isfinite(model.score([["a"]]))
    tiny = 0.0 if kind is EMPCFG else 1e-10
    sparse = quick(kind, TEXT, alpha=tiny).fit(X)
    assert np.isfinite(sparse.score(X))
    assert [tree.leaves() for tree in sparse.predict(X)] == X


def test_long_sentences():
    text = "S -> A S | 'b' | S S\nA -> 'a' | 'b'"
    rng = np.random.default_rng(0)
    long = [list(rng.choice(["a", "b"], size=120)) + ["b"], list("ab")]
    model = quick(VBPCFG, text, max_iter=2).fit(long)
    assert np.isfinite(model.history_).all()
    assert not len(model.unexplained_)


# Unknown words, sentences without trees.


@pytest.mark.parametrize("kind", CLASSES)
def test_underivable_sentences_are_named_and_skipped(kind):
    odd = [*X, ["runs", "the"]]
    with pytest.warns(UserWarning, match=r"1 sentences cannot be derived.*left out.*\[4\]"):
        model = quick(kind, TEXT).fit(odd)
    assert model.unexplained_.tolist() == [4]
    assert str(model.labels_[4]) == "(S runs the)"
    alone = quick(kind, TEXT).fit(X)
    np.testing.assert_allclose(model.counts_.rule.sum(), alone.counts_.rule.sum())
    with pytest.warns(UserWarning, match=r"no tree derives sentences \[0\] \(1 in all\)"):
        assert str(model.predict([["runs", "the"], X[0]])[0]) == "(S runs the)"
    assert model.score_samples([["runs", "the"]])[0] == -np.inf
    assert np.isfinite(model.score_samples(X)).all()
    with pytest.warns(UserWarning, match="their posteriors are NaN"):
        assert np.isnan(model.predict_proba([["runs", "the"]])[0]).all()


@pytest.mark.parametrize("kind", CLASSES)
def test_a_fit_without_any_derivable_sentence_says_why(kind):
    fails(
        ValueError,
        "nothing to learn from: all 2 sentences cannot be derived by the grammar; no rule has the "
        "words ['fox', 'ox'] (2 in all)",
        quick(kind, TEXT).fit,
        [["fox", "runs"], ["ox", "runs"]],
    )
    fails(ValueError, "nothing to learn from: all 1", quick(kind, TEXT).fit, [["runs", "the"]])


def test_counts_of_no_sentence_are_of_the_kind_that_kernels_know():
    # Counting nothing gives integers, for which all that takes a tally would be compiled anew.
    layout = quick(EMPCFG, TEXT).fit(X)._learned.layout
    n_rules = len(layout.lhs)
    tally = tally_of(layout, np.bincount([], [], n_rules), np.ones(n_rules))
    assert tally.cells.dtype == tally.totals.dtype == np.float64


def test_messages_name_only_words_of_underivable_sentences():
    model = quick(EMPCFG, TEXT).fit(X)
    with pytest.warns(UserWarning, match=r"\[1\] \(1 in all\); no rule has the words \['ox'\] \(1"):
        model.predict([X[0], ["ox", "runs"]])
    with pytest.warns(UserWarning, match=r"\[0\] \(1 in all\): each gets"):
        model.predict([["runs", "the"]])
    odd = quick(EMPCFG, TEXT + "\nN -> '<unk>'").fit(X)
    with pytest.warns(UserWarning, match=r"\[0\] \(1 in all\): each gets"):
        odd.predict([["runs", "ox"]])


def test_unknown_words():
    fails(
        ValueError,
        "unknown word 'ox' (sequence 0, position 0; 1 unknown types)",
        quick(EMPCFG, TEXT, handle_unknown="error").fit(X).predict,
        [["ox", "runs"]],
    )
    model = quick(VBPCFG, TEXT + "\nN -> '<unk>'").fit(X)
    assert "<unk>" not in model.vocabulary_
    assert str(model.predict([["ox", "runs"]])[0]) == "(S (NP (N ox)) (V runs))"
    with pytest.warns(UserWarning, match="no tree derives"):
        quick(EMPCFG, TEXT).fit(X).predict([["ox", "runs"]])
    full = quick(CVBPCFG, n_components=2).fit(X)
    assert np.isfinite(full.score([["ox", "runs"]]))
    # Without mass unknown words are unobserved in predict, impossible in score.
    hard = quick(EMPCFG, n_components=2).fit(X)
    assert hard.predict([["ox", "runs"]])[0].leaves() == ["ox", "runs"]
    assert hard.score([["ox", "runs"]]) == -np.inf


def test_rare_adds_the_mean_count_of_words_seen_once():
    text = "S -> A | B\nA -> 'a' | 'b' | 'c' | '<unk>'\nB -> 'd' | '<unk>'"
    rare = EMPCFG(text, handle_unknown="rare").fit([["a"], ["a"], ["b"], ["c"], ["d"]])
    # Seen once: b and c (A), d (B): A's unknown cell gets 2/3, B's 1/3.
    a, b = 4 + 2 / 3, 1 + 1 / 3
    expected = [0.8, 0.2, 2 / a, 1 / a, 1 / a, 2 / 3 / a, 1 / b, 1 / 3 / b]
    assert rare.rule_probabilities_ == pytest.approx(expected)


# Parameters.


@pytest.mark.parametrize("kind", CLASSES)
def test_alpha_per_symbol_and_per_rule(kind):
    by_symbol = {"S": 0.5, "NP": 0.2, "D": 0.3, "N": 0.7, "V": 1.1}
    model = quick(kind, TEXT, alpha=by_symbol).fit(X)
    owner = [model.rules_.symbols[rule.parent] for rule in model.rules_.rules]
    cells = np.array([by_symbol[label] for label in owner])
    by_rule = quick(kind, TEXT, alpha=cells).fit(X)
    assert np.array_equal(by_rule.history_, model.history_)
    assert np.array_equal(model.alpha_, cells)
    same = quick(kind, TEXT, alpha=np.full(len(cells), 0.3)).fit(X)
    assert np.array_equal(same.history_, quick(kind, TEXT, alpha=0.3).fit(X).history_)
    assert same.alpha_ == 0.3


@pytest.mark.parametrize("kind", [VBPCFG, CVBPCFG, HastingsPCFG, GibbsPCFG])
def test_alpha_is_learned_after_the_warm_up(kind):
    model = quick(kind, TEXT, alpha="auto", max_iter=20, **all_sweeps(kind))
    with pytest.warns(UserWarning, match="20 sweeps are too few to learn a conc"):
        assert model.fit(X).alpha_ == 0.1
    later = quick(kind, TEXT, alpha="auto", max_iter=60, **all_sweeps(kind)).fit(X)
    assert later.alpha_ > 0
    assert later.alpha_ != 0.1
    if kind is VBPCFG:
        assert np.diff(later.history_[20:]).min() > -1e-9


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_parameters_out_of_range(kind):
    for value in (float("nan"), float("inf"), -0.1, "half"):
        message = f"The 'alpha' parameter of {kind.__name__} must be a float in the range"
        fails(InvalidParameterError, message, kind(alpha=value).fit, X)
    fails(
        InvalidParameterError,
        "['D'] are missing, ['X'] are no symbols",
        kind(TEXT, alpha={"S": 1, "NP": 1, "N": 1, "V": 1, "X": 1}).fit,
        X,
    )
    fails(
        InvalidParameterError,
        "each of the 10 rules, got shape (2,)",
        kind(TEXT, alpha=[1, 2]).fit,
        X,
    )
    zero = "0 or " if kind is EMPCFG else ""
    for value in (9.9e-11, 5e-324, 1.1e10, -1.0, float("nan"), *([] if zero else [0.0])):
        message = f"alpha must be {zero}from 1e-10 to 1e+10, got {value!r}"
        by_symbol = {"S": 1, "NP": 1, "D": value, "N": 1, "V": 1}
        for alpha in ([0.1] * 9 + [value], by_symbol):
            fails(InvalidParameterError, message, kind(TEXT, alpha=alpha).fit, X)
    for value in (9.9e-11, 5e-324, 1.1e10):
        message = "from 1e-10 to 1e+10, got" if zero else "in the range [1e-10, 10000000000.0]"
        fails(InvalidParameterError, message, kind(TEXT, alpha=value).fit, X)
    for alpha in (1e-10, 1e10, [1e-10] * 10):
        assert np.isfinite(quick(kind, TEXT, alpha=alpha).fit(X).history_).all()
    for name, value in [
        ("n_components", 0),
        ("n_init", 0),
        ("max_iter", 0),
        ("samples" if is_sampler(kind) else "tol", -1.0),
        ("init", "token"),
        ("handle_unknown", "ignore"),
        ("supervision", "full"),
        ("grammar", 3),
    ]:
        message = f"The '{name}' parameter of {kind.__name__} must be"
        fails(InvalidParameterError, message, kind(**{name: value}).fit, X)
    if kind is not EMPCFG:
        fails(InvalidParameterError, "in the range [1e-10, 1", kind(alpha=0).fit, X)
        fails(
            InvalidParameterError,
            "The 'shape' parameter of GammaPrior must be",
            kind(alpha=GammaPrior(0.5, 1)).fit,
            X,
        )


def test_temperatures():
    for pair in ((1,), (0, 1), (1, np.inf)):
        message = f"temperatures must be None or two positive numbers, got {pair!r}"
        fails(ValueError, message, HastingsPCFG(samples=Samples(temperatures=pair)).fit, X)


# Bad input.


@pytest.mark.parametrize("kind", CLASSES)
def test_bad_input(kind):
    fails(ValueError, "Found array with 0 sample(s)", kind().fit, [])
    fails(ValueError, "sequence 1 is empty", kind().fit, [["a"], []])
    fails(TypeError, "X[1] is the string 'a b'", kind().fit, [["a"], "a b"])
    fails(TypeError, "X is None", kind().fit, None)
    message = "X contains NaN or None (sequence 1, position 0): a grammar needs every token"
    fails(ValueError, message, kind().fit, [["a"], [None, "a"]])
    fails(ValueError, message, kind().fit, np.array([[1.0, 2.0], [np.nan, 1.0]]))
    fails(NotFittedError, "is not fitted yet", kind().predict, X)
    fails(NotFittedError, "is not fitted yet", lambda: kind().grammar_)
    with pytest.raises(ValueError, match="per must be 'token' or 'sequence'"):
        quick(kind).fit(X).perplexity(X, per="word")


def test_a_failed_fit_leaves_the_model_whole():
    model = quick(VBPCFG, TEXT).fit(X)
    before = model.score(X)
    model.grammar = "S -> A"
    fails(ValueError, "are used but have no rules", model.fit, X)
    assert model.score(X) == before
    assert model.symbols_.tolist() == ["S", "NP", "D", "N", "V"]


def test_one_sentence_with_most_tokens_is_warned_of():
    with pytest.warns(UserWarning, match="sentence 0 holds more than half") as warned:
        quick(CVBPCFG, n_init=2).fit([["a", "b", "a", "b"], ["a"]])
    # Once, and of the line that calls fit.
    assert [warning.filename for warning in warned] == [__file__]


# Starts, and what scikit-learn builds on.


def test_starts():
    grammar = "S -> S S [0.25] | 'a' [0.75]"
    sentences = [["a", "a", "a"], ["a"]]
    by_grammar = EMPCFG(grammar, max_iter=1, n_init=3).fit(sentences)
    assert len(by_grammar.restart_objectives_) == 1
    by_array = EMPCFG(grammar, max_iter=1, init=[0.25, 0.75]).fit(sentences)
    assert np.array_equal(by_grammar.history_, by_array.history_)
    again = VBPCFG(grammar, max_iter=1, init=by_grammar).fit(sentences)
    assert np.isfinite(again.lower_bound_)
    other = EMPCFG("S -> 'a' | S S S").fit([["a"]])
    fails(ValueError, "init has other rules", EMPCFG(grammar, init=other).fit, sentences)
    # Restarts of an ambiguous grammar differ; the best is kept.
    text = "S -> A B | B A | S S\nA -> 'a' | 'b'\nB -> 'a' | 'b'"
    many = EMPCFG(text, n_init=5, max_iter=5, init="parameter", random_state=0)
    many.fit([list("abab"), list("ba")])
    assert many.objective_ == many.restart_objectives_.max()
    assert len(set(many.restart_objectives_)) > 1


def test_grid_search_by_bracket_score_does_not_train_on_the_trees():
    y = ["(S (NP (D the) (N dog)) (V runs))", None, "(S (NP (N dog)) (V runs))", None]
    y = [*y[::2], *y[::2]]
    sentences = [X[0], X[2], X[0], X[2]]
    search = GridSearchCV(
        quick(VBPCFG, TEXT, supervision="none"),
        {"alpha": [0.1, 1.0]},
        cv=2,
        scoring=metrics.bracket_f1_scorer,
        error_score="raise",
    ).fit(sentences, y)
    assert search.best_score_ == 1.0
