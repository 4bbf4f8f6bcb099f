"""Arguments that random calls were lost at: each is taken, or refused in words of its own."""

import warnings
from decimal import Decimal

import nltk
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import sklearn_cvb
from sklearn_cvb import (
    EMHMM,
    EMPCFG,
    VBHMM,
    VBPCFG,
    EMHMMTagger,
    GibbsHMM,
    HastingsPCFG,
    Samples,
    Symbols,
    TagDictionary,
    metrics,
    split_by_lengths,
    tag_dictionary_from,
)
from sklearn_cvb.chain.parameters.rows import ChainConcentrations, prior_of
from sklearn_cvb.chain.paths.lattice import cells_for
from sklearn_cvb.chain.symbols.sampling import check_powers
from sklearn_cvb.compilation.cases import AROUND, SITUATIONS

X = [["a", "b", "a"], ["b"], ["a", "a"]]
DICTIONARY = {"a": ["X"], "b": ["Y", "X"]}
GRAMMAR = "S -> S S | 'a' | 'b'"
HUGE = 10**400


def quick(kind, **keywords):
    return kind(**{"max_iter": 3, "random_state": 0} | keywords)


# Tokens and tags.


@pytest.mark.parametrize("token", [HUGE, -HUGE, 2**63, 2**53 + 1, Decimal("1.5")])
def test_numbers_of_any_size_are_symbols(token):
    model = quick(VBHMM).fit([[token, 0.5], [0.5, token, token]])
    assert set(model.vocabulary_.tolist()) == {token, 0.5}
    assert np.isfinite(model.score([[token]]))
    tagger = quick(EMHMMTagger, tag_dictionary={"a": [token], "b": ["Y"]}).fit(X)
    assert tagger.predict(X)[0].tolist() == [token, "Y", token]


def test_a_decimal_that_is_no_number_is_missing():
    given = [["a", Decimal("NaN"), "b"], ["b", "a"]]
    known = [["a", None, "b"], ["b", "a"]]
    assert np.array_equal(quick(VBHMM).fit(given).history_, quick(VBHMM).fit(known).history_)
    with pytest.raises(TypeError, match=r"token Decimal\('sNaN'\) .* is not hashable"):
        quick(VBHMM).fit([["a", Decimal("sNaN")]])


@pytest.mark.parametrize(
    "entry",
    [[["X"]], [{"X": 1}], [[]], (tag for tag in "XY"), np.array("X"), pd.DataFrame({"X": [1]})],
    ids=["nested", "dict in a list", "empty list in a list", "generator", "0-d array", "frame"],
)
def test_entries_that_hold_no_tags(entry):
    with pytest.raises(TypeError, match=r"tag_dictionary\['c'\] is .*: an entry is a tag, a list"):
        quick(EMHMMTagger, tag_dictionary=DICTIONARY | {"c": entry}).fit(X)


@pytest.mark.parametrize("tag", [None, float("nan"), pd.NA, Decimal("NaN")], ids=repr)
def test_missing_tags_in_a_dictionary(tag):
    for entry in ([tag, "X"], {tag: 1}, {"X", tag}):
        message = r"lists None or NaN as a tag of \['c'\] \(1 words\)"
        with pytest.raises(ValueError, match=message):
            quick(EMHMMTagger, tag_dictionary=DICTIONARY | {"c": entry}).fit(X)
    with pytest.raises(ValueError, match="unknown_tags holds None or NaN"):
        quick(EMHMMTagger, tag_dictionary=TagDictionary(DICTIONARY, unknown_tags=[tag])).fit(X)


@pytest.mark.parametrize("weights", [{"X": HUGE}, {"X": {"Y": 1}}, {"X": 1, "Y": 1 + 2j}])
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(ValueError, match=r"not numbers or all zero to \['c'\]"):
        quick(EMHMMTagger, tag_dictionary=DICTIONARY | {"c": weights}).fit(X)


def test_entries_of_many_kinds():
    entries = ["Y", b"Y", 3, ("Y",), {"Y"}, np.array(["Y"]), pd.Series(["Y"]), {"Y": True}]
    for entry in entries:
        model = quick(EMHMMTagger, tag_dictionary={"a": entry, "b": ["X"]}).fit(X)
        only = "Y" if not isinstance(entry, bytes | int) else entry
        assert model.predict(X)[2].tolist() == [only, only]


@pytest.mark.parametrize("tags", [np.array(2), {"X": 1}, [["X"]]], ids=["0-d", "dict", "nested"])
def test_unknown_tags_that_are_no_tags(tags):
    with pytest.raises(TypeError, match=r"unknown_tags is .*: pass a list of tags"):
        quick(EMHMMTagger, tag_dictionary=TagDictionary(DICTIONARY, unknown_tags=tags)).fit(X)


def test_labels_that_are_no_tags():
    message = r"tag \['X'\] \(sequence 1, position 0\) is not hashable"
    with pytest.raises(TypeError, match=message):
        quick(EMHMMTagger).fit(X, [None, [["X"]], None])
    with pytest.raises(TypeError, match=r"y\[1\] is the single value \{'X': 1\}"):
        quick(EMHMMTagger).fit(np.array([["a", "b"], ["b", "a"]]), ["X", {"X": 1}])


def test_a_missing_row_of_y_knows_nothing():
    """Pandas fills with NaN."""
    for nothing in (float("nan"), pd.NA):
        model = quick(EMHMMTagger).fit(X, pd.Series([["X", "Y", "X"], nothing, ["X", "X"]]))
        assert model.classes_.tolist() == ["X", "Y"]
        EMPCFG(GRAMMAR, max_iter=2).fit(X, [[(0, 2)], nothing, None])


@pytest.mark.parametrize("span", [(0.5, 1), ("a", "b"), (None, 1), (0, 1, "S", 1), 3, np.array(1)])
def test_spans_that_are_no_spans(span):
    with pytest.raises(TypeError, match=r"y\[0\] holds .*: y holds one nltk.Tree"):
        EMPCFG(GRAMMAR).fit(X, [[span], None, None])


def test_a_tree_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"y\[1\] is no tree in brackets"):
        EMPCFG(GRAMMAR).fit(X, [None, "(S b", None])


# Settings.


@pytest.mark.parametrize("value", [1e101, 1e300, HUGE])
def test_numbers_too_large_to_compute_with(value):
    for kind, name in ((VBHMM, "alpha"), (EMHMM, "transitions__start_alpha"), (VBPCFG, "alpha")):
        with pytest.raises(InvalidParameterError, match=name.rpartition("__")[2]):
            quick(kind).set_params(**{name: value}).fit(X)
    for kind, name, given in (
        (EMHMMTagger, "tag_dictionary__weight", value),
        (EMHMM, "tol", value),
        (GibbsHMM, "alpha__rate", value),
        (GibbsHMM, "beta__rate", value),
        (GibbsHMM, "samples__temperatures", (1.0, value)),
    ):
        field = name.rpartition("__")[2]
        with pytest.raises(InvalidParameterError, match=f"{field} holds .*: numbers may be as lar"):
            quick(kind).set_params(**{name: given}).fit(X)


@pytest.mark.parametrize("name", ["n_components", "n_init", "max_iter"])
def test_integers_too_large_for_arrays(name):
    with pytest.raises(InvalidParameterError, match=f"{name} holds a number of more than 300 dig"):
        VBHMM(**{name: HUGE}).fit(X)


@pytest.mark.parametrize(
    "vocabulary", [np.array(2), pd.DataFrame({"a": [1]})], ids=["0-d", "frame"]
)
def test_vocabularies_that_are_none(vocabulary):
    with pytest.raises(TypeError, match=r"vocabulary is .*: pass a list of symbols"):
        quick(VBHMM, emission=Symbols(vocabulary=vocabulary)).fit(X)


def test_starts_that_are_no_arrays():
    with pytest.raises(TypeError, match=r"init is array\(1\): pass a list of posterior arrays"):
        quick(VBHMM, init=np.array(1)).fit(X)
    with pytest.raises(InvalidParameterError, match=r"init\[0\] must hold numbers, got \['a'\]"):
        quick(VBHMM, init=[["a"]] * 3).fit(X)
    for init in ({}, ["a"] * 3, [[1], [1, 2]]):
        with pytest.raises(InvalidParameterError, match="init must hold numbers, got"):
            VBPCFG(GRAMMAR, init=init).fit(X)
    with pytest.raises(ValueError, match="init must hold 3 weights, one for each rule, finite"):
        VBPCFG(GRAMMAR, init=[1.0, np.inf, 1.0]).fit(X)


def test_topologies_that_are_no_tables():
    for table in ([[True], [True, False]], [True], {}):
        with pytest.raises(ValueError, match="transitions must be one of full"):
            quick(VBHMM, transitions=table).fit(X)


@pytest.mark.parametrize("alpha", [{"S": "x"}, {"S": None}, {"S": []}, [[1], [1, 2]], ["a"] * 3])
def test_concentrations_that_are_no_numbers(alpha):
    message = "alpha must hold numbers, got|alpha must be from 1e-10|has one number for each symbol"
    with pytest.raises(InvalidParameterError, match=message):
        VBPCFG(GRAMMAR, alpha=alpha).fit(X)


def test_grammars_that_are_none():
    with pytest.raises(TypeError, match=r"grammar is array\(2\): pass text in NLTK's notation"):
        EMPCFG(np.array(2)).fit(X)


# Annealing.


@pytest.mark.long
def test_a_temperature_that_falls_to_nothing():
    """1 + (1e-90 - 1) is 0, and was the temperature of the last sweep."""
    assert (
        GibbsHMM(samples=Samples(temperatures=(1.0, 1e-90)))._algorithm().temperature(3, 4) == 1e-90
    )
    assert GibbsHMM(samples=Samples(temperatures=(2.0, 0.5)))._algorithm().temperature(1, 4) == 1.5
    settings = {"samples": Samples(temperatures=(1.0, 1e-90)), "max_iter": 4, "random_state": 0}
    for update in ("token", "parameter"):
        assert np.isfinite(GibbsHMM(update=update, **settings).fit(X).history_).all()
    with pytest.raises(ValueError, match="temperatures reach 1e-90, but update='sequence'"):
        GibbsHMM(update="sequence", **settings).fit(X)
    for kind in (GibbsHMM, HastingsPCFG):
        with pytest.raises(InvalidParameterError, match="temperatures must be at least 1e-100"):
            kind(samples=Samples(temperatures=(1.0, 1e-300))).fit(X)


def test_powers_of_counts_that_float64_cannot_hold():
    prior = prior_of(
        cells_for(None, 2, 3, True),
        ChainConcentrations(0.1, 0.1, False, False, (1.0, 1.0), (1.0, 1.0), 0.1),
    )
    # 10,000 tokens and .4 of the prior: log(10000.4) / 700 = .01316.
    check_powers(0.0132, prior, 10_000)
    with pytest.raises(ValueError, match=r"temperatures reach 0.013, .* stay above 0.013 here"):
        check_powers(0.0131, prior, 10_000)
    sequences = [["a", "b", "a", "a"]] * 500
    cold = GibbsHMM(
        samples=Samples(temperatures=(1.0, 0.01)), update="sequence", max_iter=4, random_state=0
    )
    with pytest.raises(ValueError, match="use update='token'"):
        cold.fit(sequences)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        cold.set_params(update="token").fit(sequences)
        cold.set_params(update="sequence", samples=Samples(temperatures=(1.0, 0.02))).fit(sequences)


@pytest.mark.long
@pytest.mark.parametrize("temperature", [1e-2, 1e-3, 1e-100])
def test_sentences_keep_their_tree_at_low_temperatures(temperature):
    """No proposal had any weight, and sentences were taken out of the counts for good."""
    sentences = X * 5
    settings = {
        "samples": Samples(temperatures=(temperature, temperature)),
        "max_iter": 8,
        "random_state": 0,
    }
    model = HastingsPCFG(GRAMMAR, **settings).fit(sentences)
    # A tree of n words has n words and n - 1 rules S -> S S.
    assert model.counts_.rule.sum() == sum(2 * len(words) - 1 for words in sentences)
    assert model.history_.max() < -1.0


def test_a_chain_of_one_draw_has_no_spread():
    model = GibbsHMM(max_iter=1, samples=Samples(thin=1), random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.convergence()["log_joint"]
    assert np.isnan(found.standard_deviation)
    assert found.mean == model.history_[0]


# Methods.


@pytest.mark.parametrize("value", [1.5, "2", True, [1], np.nan, None])
def test_numbers_of_samples_and_trees_are_integers(value):
    chain, grammar = quick(VBHMM).fit(X), EMPCFG(GRAMMAR, max_iter=2).fit(X)
    calls = [
        (chain.sample, "n_samples"),
        (chain.sample, "length"),
        (grammar.sample, "n_samples"),
        (grammar.sample, "longest"),
        (lambda **given: grammar.parse(X, **given), "n_best"),
    ]
    for call, name in calls:
        if (name, value) in (("n_best", None), ("length", None), ("length", [1])):
            continue
        with pytest.raises(TypeError, match=f"{name} must be an integer, got"):
            call(**{name: value})


def test_numbers_beyond_all_memory():
    """A grammar whose trees go on for ever grew one until the process was killed."""
    grammar = EMPCFG(GRAMMAR, max_iter=2).fit(X)
    for name in ("n_samples", "longest"):
        with pytest.raises(ValueError, match="must be at most 2147483647"):
            grammar.sample(**{name: HUGE})
    with pytest.raises(ValueError, match="n_best must be at most 2147483647"):
        grammar.parse(X, n_best=HUGE)


def test_lengths_of_samples():
    model = quick(VBHMM).fit(X)
    with pytest.raises(ValueError, match="length holds 2 lengths for n_samples=3"):
        model.sample(3, length=[1, 2])
    assert [len(row) for row in model.sample(2, length=np.array([1, 2]))[0]] == [1, 2]


@pytest.mark.parametrize("value", [np.array([1, 2]), pd.DataFrame({"a": [1]}), [["a"], "b"], None])
def test_choices_that_are_no_words(value):
    model = quick(VBHMM).fit(X)
    with pytest.raises(ValueError, match="decoding must be 'viterbi' or 'marginal', got"):
        model.predict(X, decoding=value)
    with pytest.raises(ValueError, match="per must be 'token' or 'sequence', got"):
        model.perplexity(X, per=value)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sklearn_cvb.__all__
        if hasattr(getattr(sklearn_cvb, name), "fit") and name not in AROUND
    ],
)
def test_models_that_are_not_fitted(name):
    model = getattr(sklearn_cvb, name)()
    for method in ("perplexity", "score", "predict", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    # A model of alignment has no source sentences to draw from.
    assert hasattr(model, "sample") != name.endswith("AlignmentHMM")
    if hasattr(model, "sample"):
        with pytest.raises(NotFittedError):
            model.sample()
    # A parser of a treebank has none.
    assert hasattr(model, "predict_proba") != name.endswith("LatentPCFG")
    if hasattr(model, "predict_proba"):
        with pytest.raises(NotFittedError):
            model.predict_proba(X)


def test_warnings_of_predict_show_the_line_that_calls():
    model = EMHMMTagger(
        DICTIONARY, emission=Symbols(handle_unknown="error"), max_iter=2, random_state=0
    )
    model.fit([["a", "b"]], [["X", "Y"]])
    for method in (model.predict, model.predict_proba, model.sample_paths):
        with pytest.warns(UserWarning, match="no path explains") as caught:
            method([["b", "a"]])
        assert [warning.filename for warning in caught] == [__file__]


# Functions.


@pytest.mark.parametrize("y", [[["a"]], [[(0, 1)]], [3]])
def test_brackets_of_what_is_no_tree(y):
    for score in (metrics.bracket_f1, metrics.bracket_scores):
        with pytest.raises(TypeError, match="is no tree: pass an nltk"):
            score(y, y)
    grammar = nltk.PCFG.fromstring("S -> 'a' [1.0]")
    with pytest.raises(TypeError, match="is no tree"):
        metrics.tree_perplexity(grammar, y)


def test_metrics_of_what_is_no_list():
    for wrong in (3, "(S a)", None, {"a": 1}):
        with pytest.raises(TypeError, match="is no list: pass one tree or segmentation"):
            metrics.bracket_f1(wrong, wrong)
        with pytest.raises(TypeError, match=r"y_true is .*: pass a list of sequences of labels"):
            metrics.token_accuracy(wrong, wrong)
    for wrong in (3, "ab", [1, 2]):
        with pytest.raises(TypeError, match="is no list of pieces, strings or lists"):
            metrics.segmentation_f1([wrong], [wrong])
    frame = pd.DataFrame({"tag": ["X", "Y"]})
    for wrong in ({"X": 1, "Y": 2}, frame, [["X"], ["Y"]]):
        with pytest.raises(TypeError, match=r"y_true\[0\] is .* must be a sequence of labels"):
            metrics.token_accuracy([wrong], [["X", "Y"]])


def test_frames_of_labels_are_tables():
    frame = pd.DataFrame([["X", "Y"], ["Y", "Y"]])
    assert metrics.token_accuracy(frame, [["X", "Y"], ["X", "X"]]) == 0.5


def test_lengths_that_are_no_integers():
    for lengths in ("ab", None, [1.5, 0.5], [[1, 1]], 2):
        with pytest.raises(TypeError, match="lengths must be a list of integers, got"):
            split_by_lengths([1, 2], lengths)
    with pytest.raises(ValueError, match=r"lengths must be positive and sum to .* \(2\)"):
        split_by_lengths([1, 2], [HUGE])
    with pytest.raises(ValueError, match="X must have one column of symbols, got rows of several"):
        split_by_lengths([["a", "b"], ["c"]], [1, 1])


def test_pieces_of_what_is_no_sequence():
    grammar = sklearn_cvb.Grammar.from_text(GRAMMAR)
    same = grammar.with_substrings(["S"], ["ab", ("a", "b"), np.array(["a", "b"])])
    assert len(same.rules) == len(grammar.rules) + 1
    for wrong in (pd.DataFrame({"event": ["a", "b"]}), {"a": 1}, {"a", "b"}, 3):
        with pytest.raises(TypeError, match=r"X\[0\] is .* of type"):
            grammar.with_substrings(["S"], [wrong])


def test_dictionaries_from_what_holds_no_tags():
    with pytest.raises(ValueError, match=r"sentence 0 holds something else than pairs"):
        tag_dictionary_from([["ab", "cd"]])
    with pytest.raises(TypeError, match=r"sentences\[0\] is the string 'a b'"):
        tag_dictionary_from(["a b"])
    with pytest.raises(TypeError, match=r"tags\[0\] is None of type NoneType"):
        tag_dictionary_from([["a"]], [None])
    with pytest.raises(ValueError, match="there are 2 sentences but 1 tag sequences"):
        tag_dictionary_from([["a"], ["b"]], [["X"]])
    with pytest.raises(TypeError, match="sentence 0 has a word or tag that is not hashable"):
        tag_dictionary_from([[("a", ["X"])]])


MODELS_OF_MODELS = ["HMMClassifier", "HMMMixture", "HMMSmoother"]
CALLED = [
    (name, method)
    for name in [*SITUATIONS, *MODELS_OF_MODELS]
    for method in ("fit", "fit_predict", "predict", "partial_fit", "predict_proba", "score_samples")
    if hasattr(getattr(getattr(sklearn_cvb, name), method, None), "__wrapped__")
]


@pytest.mark.many(usual=7)
@pytest.mark.parametrize(("name", "method"), CALLED)
def test_arguments_that_are_none_are_told_by_the_class_that_was_called(name, method):
    kind = getattr(sklearn_cvb, name)
    model = kind(EMHMM()) if name in MODELS_OF_MODELS else kind()
    call = getattr(model, method)
    told = rf"{name}\.{method}\(\) got an unexpected keyword argument 'weights'; it takes X"
    is_fit = method == "fit" and name != "HMMMixture"
    given = [[["a"]], [0]] if name == "HMMClassifier" or is_fit else [[["a"]]]
    with pytest.raises(TypeError, match=told):
        call(*given, weights=1)
    with pytest.raises(TypeError, match=rf"{name}\.{method}\(\) missing a required argument: 'X'"):
        call()
    with pytest.raises(TypeError, match=rf"{name}\.{method}\(\) too many positional arguments"):
        call([["a"]], None, 1, 2, 3)
    with pytest.raises(TypeError, match=r"takes no argument 'lengths': cut X .*split_by_lengths"):
        call([["a"]], lengths=[1])


def test_every_model_tells_so_of_its_fit():
    assert {name for name, method in CALLED if method == "fit"} == {*SITUATIONS, *MODELS_OF_MODELS}
    assert len(CALLED) > 80


def test_errors_within_a_method_are_its_own():
    with pytest.raises(TypeError, match=r"X\[0\] is the string 'a b'"):
        EMHMM().fit(["a b"])
