"""Bad input gets a clear error, and nothing is lost: every row of the table, on the words."""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from estimators import heeded
from interruption import Interrupt, watched
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GammaPrior,
    GibbsHMM,
    GibbsHMMTagger,
    HMMClassifier,
    Samples,
    Symbols,
    TagDictionary,
    Transitions,
    VBHMMTagger,
    split_by_lengths,
)

CLASSES = [
    getattr(sklearn_cvb, name)
    for name in sklearn_cvb.__all__
    if name.endswith(("HMM", "HMMTagger")) and "Alignment" not in name
]
TAGGERS = [kind for kind in CLASSES if kind.__name__.endswith("Tagger")]
X = [["the", "dog", "runs"], ["the", "saw", "runs"], ["dog", "saw"]]
LEGAL = {"the": ["D"], "dog": ["N"], "runs": ["V"], "saw": ["N", "V"]}


def quick(kind, **keywords):
    return kind(**heeded(kind, {"max_iter": 5, "random_state": 0} | keywords))


# How parameters of objects are named within an estimator, and whose they are.
NESTED = {
    "start_alpha": ("transitions__start_alpha", "Transitions"),
    "handle_unknown": ("emission__handle_unknown", "Symbols"),
    "vocabulary": ("emission__vocabulary", "Symbols"),
}


def with_value(kind, name, value, **keywords):
    """An estimator with a parameter, which may be a field of one; and who has the parameter."""
    nested, owner = NESTED.get(name, (name, kind.__name__))
    return kind(**keywords).set_params(**{nested: value}), owner


def fails(error, message, function, *arguments):
    """Assert that the call raises this error with exactly this text somewhere in its message."""
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments)


# Rows "empty corpus, an empty sequence, zero-length row".


@pytest.mark.parametrize("kind", CLASSES)
def test_empty_corpus(kind):
    for empty in ([], (), np.empty(0, dtype=object), pd.Series([], dtype=object)):
        fails(ValueError, "Found array with 0 sample(s): X holds no sequence", kind().fit, empty)
    fails(ValueError, "Found array with 0 sample(s)", kind().fit, np.empty((0, 3)))


@pytest.mark.parametrize("kind", CLASSES)
def test_empty_sequence(kind):
    message = "sequence 1 is empty (2 empty of 4 sequences): leave empty sequences out"
    fails(ValueError, message, kind().fit, [["a"], [], ["b"], []])
    fails(ValueError, message, quick(kind).fit(X).predict, [["a"], [], ["b"], []])


@pytest.mark.parametrize("kind", CLASSES)
def test_rows_without_a_token(kind):
    table = np.array([[1, 2], [np.nan, np.nan], [2, np.nan]])
    message = "sequence 1 is empty (1 empty of 3 sequences)"
    fails(ValueError, message, kind().fit, table)
    fails(ValueError, message, quick(kind).fit(np.nan_to_num(table)).predict, table)
    fails(ValueError, "Found array with 0 feature(s)", kind().fit, np.empty((3, 0)))


def test_nothing_observed():
    message = "X holds no observed token: give a vocabulary"
    fails(ValueError, message, EMHMM(emission=Symbols(handle_unknown="error")).fit, [[None, None]])


# Row "a bare string as a sample", and other samples that are no sequences.


@pytest.mark.parametrize("kind", CLASSES)
def test_bare_string_as_a_sample(kind):
    message = (
        "X[1] is the string 'a b': a sample must be a sequence of tokens, not a string: split it "
        "into words with str.split or into characters with list"
    )
    fails(TypeError, message, kind().fit, [["a"], "a b"])
    fails(TypeError, message, quick(kind).fit(X).predict, [["a"], "a b"])
    fails(TypeError, "X[0] is the string 'a b'", kind().fit, pd.Series(["a b", "c"]))
    fails(TypeError, "X is the string 'a b': a sample must", kind().fit, "a b")


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (3, "X[1] is 3 of type int: each sample must be a sequence of tokens, such as a list"),
        (None, "X[1] is None of type NoneType: each sample must be a sequence"),
        ({"a": 1}, "X[1] is {'a': 1} of type dict: each sample must be a sequence"),
        ({"a"}, "X[1] is {'a'} of type set: each sample must be a sequence"),
    ],
)
def test_samples_without_order(sample, words):
    fails(TypeError, words, VBHMM().fit, [["a"], sample])


def test_X_that_is_no_collection():
    fails(TypeError, "X is None: pass a list of sequences", VBHMM().fit, None)
    fails(TypeError, "X is 3: pass a list of sequences", VBHMM().fit, 3)
    cure = 'a sequence has one; for columns of numbers set emission="gaussian"'
    fails(ValueError, f"X[0] has 2 dimensions: {cure}", VBHMM().fit, [np.ones((2, 2))])
    cure = "a sequence has one; pass X[0].ravel()"
    fails(ValueError, f"X[0] has 2 dimensions: {cure}", VBHMM().fit, [np.ones((2, 1))])
    fails(ValueError, "Expected 2D array, got 1D array instead", VBHMM().fit, np.arange(3))


def test_a_column_of_symbols_is_asked_about():
    """hmmlearn's shape of one sequence is here that of many sequences of one step."""
    column = np.tile([0, 1, 2], 10)[:, None]
    message = r"each of the 30 sequences of X has a single step.*pass \[(X|numpy).ravel\(X?\)\]"
    models = VBHMM(random_state=0), HMMClassifier(VBHMM(random_state=0))
    for model, X in product(models, (column, pd.DataFrame(column))):
        with pytest.warns(UserWarning, match=message) as caught:
            model.fit(X, np.repeat([0, 1], 15) if "estimator" in model.get_params() else None)
        assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VBHMM(random_state=0, transitions="independent").fit(column)
        model = VBHMM(random_state=0).fit([column.ravel()])
        model.predict([column.ravel()])
    with pytest.warns(UserWarning, match=message):
        model.predict(column)


def test_measurements_without_an_emission_are_asked_about():
    values = np.random.default_rng(0).normal(size=(10, 30))
    message = 'nearly all numbers or times in X differ.*set emission="gaussian".*KBinsDiscretizer'
    for kind, X in product((VBHMM, EMHMM), (values, list(values), values.tolist())):
        with pytest.warns(UserWarning, match=message) as caught:
            kind(random_state=0, tol=0, max_iter=2).fit(X)
        assert [one.filename for one in caught] == [__file__]
    with pytest.raises(TypeError, match=r'frame.*set emission="gaussian"'):
        VBHMM().fit([pd.DataFrame(values)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VBHMM(random_state=0, tol=0, max_iter=2).fit(list(values.round()))


def test_states_that_are_not_learned_from_are_asked_about():
    y = [[0, 1, 0], [0, 1, 1], [1, 0]]
    names = np.array(["a", "b", "a"])
    for known, cure in ((y, "supervision='y'"), (names, "HMMClassifier")):
        with pytest.warns(UserWarning, match=f"y is ignored: .*{cure}") as caught:
            EMHMM(random_state=0, tol=0, max_iter=2).fit(X, known)
        assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Numbers may be targets of scores, and pipelines hand on what later steps learn from.
        # Taggers are told to ignore tags.
        EMHMM(random_state=0, tol=0, max_iter=2).fit(X, [0, 1, 0])
        shares = EMHMM(random_state=0, tol=0, max_iter=2).fit_transform(X, names)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        EMHMM(random_state=0, tol=0, max_iter=2, supervision="y").fit(X, y)
        tags = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
        EMHMMTagger(LEGAL, random_state=0, tol=0, max_iter=2, supervision="none").fit(X, tags)


def test_names_of_hmmlearn_are_translated():
    for name, here in (
        ("n_iter", "max_iter"),
        ("covariance_type", "Gaussian(covariance_type=...)"),
        ("params", "fixed"),
        ("init_params", "init"),
        ("algorithm", "decoding of predict"),
        ("implementation", "not needed"),
    ):
        with pytest.raises(TypeError, match=rf"argument '{name}'.*{re.escape(here)}"):
            EMHMM(2, **{name: 1})
    model = EMHMM(random_state=0, tol=0, max_iter=2).fit(X)
    for name, here in (("decode", "predict"), ("covars_", "covariances_"), ("monitor_", "history")):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{here}"):
            getattr(model, name)


def test_names_that_newcomers_try_are_translated():
    model = CVBHMM(random_state=0).fit(X)
    cures = {"forecast": "predict_next", "n_states": "n_components", "lower_bound_": "loo_score_"}
    for name, here in cures.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{here}"):
            getattr(model, name)
    assert hasattr(VBHMM(random_state=0).fit(X), "lower_bound_")


def test_batches_are_no_sequences():
    fails(TypeError, "X is a list of sequences, not of batches", VBHMM().fit, [[["a"], ["b"]]])


def test_unhashable_tokens():
    message = "token ['b'] (sequence 1, position 1) is not hashable"
    fails(TypeError, message, VBHMM().fit, [["a"], ["a", ["b"]]])
    fails(TypeError, message, quick(VBHMM).fit(X).predict, [["a"], ["a", ["b"]]])


# Rows "a word whose dictionary entry is empty; a label that no entry of the dictionary has".


@pytest.mark.parametrize("kind", TAGGERS)
def test_empty_dictionary_entries(kind):
    legal = {f"w{i}": [] for i in range(7)} | {"a": ["N"]}
    message = (
        "tag_dictionary lists no tag for ['w0', 'w1', 'w2', 'w3', 'w4'] (7 words): leave a word "
        "out to allow any tag, or build the dictionary with tag_dictionary_from"
    )
    fails(ValueError, message, kind(legal).fit, [["a"]])
    fails(ValueError, "lists no tag for ['b'] (1 words)", kind({"b": None}).fit, [["a"]])
    fails(
        ValueError, "unknown_tags lists no tag", kind(TagDictionary(LEGAL, unknown_tags=[])).fit, X
    )


@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_that_no_entry_of_the_dictionary_has(kind):
    y = [["A", "N", "BN"], ["D", "N", "A"], ["BN", "V"]]
    message = (
        r"4 labels are not in tag_dictionary: \('the', 'A', .*; 4 of them are tags that no entry "
        r"has: 'A', 'BN' \(did you mean 'N'\?\)$"
    )
    with pytest.warns(UserWarning, match=message):
        model = kind(LEGAL, max_iter=2).fit(X, y)
    assert [row.tolist() for row in model.labels_] == y


# Row "y with the wrong length for a sentence", and y that is no list of tag sequences.


@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_of_the_wrong_length(kind):
    y = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
    message = "sequence 1 has 3 tokens but y[1] has 2 labels"
    fails(ValueError, message, kind(LEGAL).fit, X, y)
    fails(ValueError, message, quick(kind, tag_dictionary=LEGAL).fit(X).score, X, y)
    fails(ValueError, "X holds 3 sequences but y 2", kind(LEGAL).fit, X, y[:2])


@pytest.mark.parametrize("kind", TAGGERS)
def test_one_tag_for_a_ragged_sentence(kind):
    message = (
        "y[0] is the single value 'N': y holds one label for each token, such as "
        '[["DET", "NOUN"], ["PRON", "VERB"]]'
    )
    fails(TypeError, message, kind(LEGAL).fit, X, ["N", "N", "V"])
    fails(TypeError, "y[1] is the single value 3", kind(LEGAL).fit, X, [None, 3, None])


# Row "NaN/inf parameters, alpha or beta negative (or 0 outside EM), unknown keyword", and
# concentrations so small or large that sums of counts and priors lose one of them.


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", ["alpha", "beta", "start_alpha"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, "half"])
def test_concentrations_out_of_range(kind, name, value):
    model, owner = with_value(kind, name, value)
    message = f"The '{name}' parameter of {owner} must be a float in the range"
    fails(InvalidParameterError, message, model.fit, X)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", ["alpha", "beta", "start_alpha"])
def test_zero_is_for_maximum_likelihood_only(kind, name):
    model, owner = with_value(kind, name, 0, max_iter=5, random_state=0)
    if issubclass(kind, EMHMM):
        assert np.isfinite(model.fit(X).objective_)
        return
    message = f"The '{name}' parameter of {owner} must be a float in the range [1e-10, 1"
    if name == "start_alpha":
        message = "start_alpha must be from 1e-10 to 1e+10, got 0"
    fails(InvalidParameterError, message, model.fit, X)


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", ["alpha", "beta", "start_alpha"])
@pytest.mark.parametrize("value", [9.9e-11, 1e-16, 5e-324, 1.1e10, 1e300])
def test_concentrations_that_drown_or_are_drowned_are_refused(kind, name, value):
    model, owner = with_value(kind, name, value)
    if name == "start_alpha" and value > 1:
        message = "The 'start_alpha' parameter of Transitions must be a float in the range [0.0,"
    elif issubclass(kind, EMHMM):
        message = f"{name} must be 0 or from 1e-10 to 1e+10, got {value!r}"
    elif name == "start_alpha":
        message = f"{name} must be from 1e-10 to 1e+10, got {value!r}"
    else:
        message = f"The '{name}' parameter of {owner} must be a float in the range [1e-10,"
    fails(InvalidParameterError, message, model.fit, X)
    for end in (1e-10, 1e10):
        model, _ = with_value(kind, name, end, max_iter=5, random_state=0)
        assert np.isfinite(model.fit(X).history_).all()


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_em_learns_no_concentration(name):
    message = (
        f"The '{name}' parameter of EMHMM must be a float in the range [0.0, inf) or an "
        "array-like. Got 'auto'"
    )
    fails(InvalidParameterError, message, EMHMM(**{name: "auto"}).fit, X)


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_components", 0, "an int in the range [1, inf)"),
        ("n_components", 2.0, "an int in the range [1, inf)"),
        ("n_init", 0, "an int in the range [1, inf)"),
        ("max_iter", 0, "an int in the range [1, inf)"),
        ("tol", -1e-3, "a float in the range [0.0, inf)"),
        ("tol", float("nan"), "a float in the range [0.0, inf)"),
        ("init", "kmeans", "a str among"),
        ("handle_unknown", "ignore", "a str among"),
        ("vocabulary", 3, "an array-like"),
        ("warm_start", "yes", "an instance of 'bool'"),
        ("random_state", "seed", "an int in the range [0, 4294967295]"),
        ("n_jobs", 1.5, "an instance of 'int' or None"),
    ],
)
def test_other_parameters_out_of_range(kind, name, value, words):
    if name == "tol" and issubclass(kind, GibbsHMM):
        # A chain runs all its sweeps.
        assert "tol" not in kind().get_params()
        return
    model, owner = with_value(kind, name, value)
    message = f"The '{name}' parameter of {owner} must be {words}"
    fails(InvalidParameterError, message, model.fit, X)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *product(
            [VBHMM, CVBHMM, GibbsHMM, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger], ["alpha", "beta"]
        ),
        *product([VBHMM, CVBHMM, GibbsHMM], ["gamma"]),
    ],
)
def test_gamma_priors(kind, name):
    def fit(prior):
        if name == "gamma":
            return kind(transitions=Transitions(prior=HDP(prior))).fit(X)
        return kind(**{name: prior}).fit(X)

    for shape in (0.5, np.nan, "a", None):
        message = "The 'shape' parameter of GammaPrior must be a float in the range [1.0, inf)"
        fails(InvalidParameterError, message, fit, GammaPrior(shape, 1))
    for rate in (0, -1, np.inf, "a"):
        message = "The 'rate' parameter of GammaPrior must be a float in the range (0.0, inf)"
        fails(InvalidParameterError, message, fit, GammaPrior(1, rate))
    # A pair of numbers is no prior, and too few cells for one.
    message = f"{name} has shape (2,), this model needs (2, "
    if name == "gamma":
        message = "The 'gamma' parameter of HDP must be"
    for pair in ((1.0, 1.0), [1.0, 1.0]):
        fails(InvalidParameterError, message, fit, pair)


@pytest.mark.parametrize("kind", [GibbsHMM, GibbsHMMTagger])
def test_temperatures(kind):
    for pair in ((1,), (1, 2, 3), (0, 1), (1, -1), (np.nan, 1), (1, np.inf)):
        message = f"temperatures must be None or two positive numbers, got {pair!r}"
        fails(ValueError, message, kind(samples=Samples(temperatures=pair)).fit, X)
    message = "The 'temperatures' parameter of Samples must be an instance of 'tuple'"
    fails(InvalidParameterError, message, kind(samples=Samples(temperatures=2.0)).fit, X)


@pytest.mark.parametrize("kind", TAGGERS)
def test_tagger_parameters(kind):
    message = f"The 'tag_dictionary' parameter of {kind.__name__} must be an instance of 'dict'"
    fails(InvalidParameterError, message, kind([("the", "D")]).fit, X)
    message = f"The 'supervision' parameter of {kind.__name__} must be a str among"
    fails(InvalidParameterError, message, kind(LEGAL, supervision="full").fit, X)
    message = "The 'unknown_tags' parameter of TagDictionary must be an array-like"
    fails(InvalidParameterError, message, kind(TagDictionary(LEGAL, unknown_tags="NN")).fit, X)


@pytest.mark.parametrize("kind", CLASSES)
def test_unknown_keyword(kind):
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_states'"):
        kind(n_states=3)
    message = f"Invalid parameter 'n_states' for estimator {kind.__name__}()"
    with pytest.raises(ValueError, match=re.escape(message)):
        kind().set_params(n_states=3)


def test_vocabulary_without_meaning():
    message = "vocabulary holds None or NaN, which stand for missing observations"
    fails(ValueError, message, VBHMM(emission=Symbols(vocabulary=["a", None])).fit, X)
    fails(ValueError, message, VBHMM(emission=Symbols(vocabulary=[1.0, np.nan])).fit, [[1.0]])
    message = "infinity is not a symbol: got the token inf"
    fails(ValueError, message, VBHMM(emission=Symbols(vocabulary=[1.0, np.inf])).fit, [[1.0]])
    fails(TypeError, "is not hashable", VBHMM(emission=Symbols(vocabulary=[["a"]])).fit, X)


# Arguments of methods.


@pytest.mark.parametrize("kind", CLASSES)
def test_arguments_of_methods(kind):
    model = quick(kind).fit(X)
    message = "decoding must be 'viterbi' or 'marginal', got 'best'"
    with pytest.raises(ValueError, match=message):
        model.predict(X, decoding="best")
    if not issubclass(kind, GibbsHMMTagger):
        with pytest.raises(ValueError, match="per must be 'token' or 'sequence', got 'word'"):
            model.perplexity(X, per="word")
    for arguments in ({"n_samples": 0}, {"length": 0}, {"n_samples": 2, "length": [1, 0]}):
        with pytest.raises(ValueError, match="n_samples and length must be at least 1"):
            model.sample(**arguments)
    with pytest.raises(AttributeError, match="training_posteriors needs a fit with warm_start=T"):
        model.training_posteriors()


def test_annealed_samples_have_no_perplexity():
    model = quick(GibbsHMMTagger, tag_dictionary=LEGAL).fit(X)
    with pytest.raises(ValueError, match="fit with samples="):
        model.perplexity(X)


def test_lengths_that_do_not_fit():
    message = "lengths must be positive and sum to the number of steps (3), got [1, 1] with sum 2"
    fails(ValueError, message, split_by_lengths, [1, 2, 3], [1, 1])
    fails(ValueError, "sum to the number of steps (3)", split_by_lengths, [1, 2, 3], [3, 0])
    message = "X must have one column of symbols, or several of numbers, got shape (3, 2)"
    fails(ValueError, message, split_by_lengths, np.full((3, 2), "a"), [3])
    message = "X must have one column of symbols, or several of numbers, got shape (3, 2, 1)"
    fails(ValueError, message, split_by_lengths, np.ones((3, 2, 1)), [3])


# init.


def test_posteriors_to_start_from():
    def fit(arrays):
        return quick(VBHMM, init=arrays).fit([["a", "b"], ["a"]])

    half = np.full((2, 2), 0.5)
    fails(ValueError, "init has 1 posterior arrays for 2 sequences", fit, [half])
    fails(ValueError, "init[1] has shape (2, 2), but sequence 1 needs (1, 2)", fit, [half, half])
    for wrong in ([[0.5, 0.6]], [[1.5, -0.5]], [[np.nan, 1.0]], [[np.inf, 1.0]]):
        message = "init[1] must give each token non-negative probabilities that sum to 1"
        fails(ValueError, message, fit, [half, np.array(wrong)])
    outside = [np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])[[0, 0, 2]], np.eye(3), np.eye(3)[1:]]
    message = "init[0] must give each token non-negative probabilities that sum to 1 over its "
    fails(ValueError, message, VBHMMTagger(LEGAL, init=outside).fit, X)


def test_models_to_start_from():
    fails(ValueError, "init is a model that is not fitted", VBHMM(init=EMHMM()).fit, X)
    others = [
        EMHMM(3),
        EMHMM(emission=Symbols(handle_unknown="error")),
        EMHMM(emission=Symbols(vocabulary=["a", "b", "c", "d"])),
    ]
    for other in others:
        model = other.fit(X if Symbols.of(other.emission).vocabulary is None else [["a", "b"]])
        message = "init is a model with other states, another vocabulary or another handling of"
        fails(ValueError, message, VBHMM(init=model).fit, X)


# Row "unknown word with handle_unknown='error'".


@pytest.mark.parametrize("kind", CLASSES)
def test_unknown_word(kind):
    model = quick(kind, emission=Symbols(handle_unknown="error")).fit(X)
    message = "unknown word 'cat' (sequence 1, position 2; 1 unknown types)"
    fails(ValueError, message, model.predict, [["the"], ["the", "dog", "cat"]])
    if kind in TAGGERS:
        y = [["D"], ["D", "N", "N"]]
        fails(ValueError, message, model.score, [["the"], ["the", "dog", "cat"]], y)


# Row "a sentence no path can explain".


def _grammar():
    """A tagger from labels in which V never follows V and D never ends a sentence."""
    tagger = EMHMMTagger(LEGAL, emission=Symbols(handle_unknown="error"), max_iter=3)
    return tagger.fit(X, [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]])


def test_a_sentence_that_no_path_explains_in_fit():
    corpus = [X[0], ["runs", "saw", "the"], X[1], X[2], ["saw", "the"]]
    tagger = EMHMMTagger(
        LEGAL, emission=Symbols(handle_unknown="error"), init=_grammar(), max_iter=3
    )
    message = "2 sequences cannot be explained by any path and were left out of the counts: [1, 4]"
    with pytest.warns(UserWarning, match=re.escape(message)):
        tagger.fit(corpus)
    assert tagger.unexplained_.tolist() == [1, 4]
    counts = tagger.counts_
    assert counts.start.sum() == pytest.approx(3, abs=1e-12)
    assert counts.transition.sum() == pytest.approx(5, abs=1e-12)
    assert counts.emission.sum() == pytest.approx(8, abs=1e-12)
    assert np.isfinite(tagger.history_).all()
    assert tagger.labels_[0].tolist() == ["D", "N", "V"]
    assert all(tag in LEGAL[w] for w, tag in zip(corpus[1], tagger.labels_[1], strict=True))


def test_a_fit_in_which_no_path_explains_any_sentence():
    first = _grammar()
    tagger = EMHMMTagger(
        LEGAL,
        emission=Symbols(vocabulary=first.vocabulary_, handle_unknown="error"),
        init=first,
        max_iter=3,
    )
    message = "nothing to learn from: all 2 sequences cannot be explained by any path"
    fails(ValueError, message, tagger.fit, [["runs", "saw", "the"], ["saw", "the"]])
    with pytest.raises(NotFittedError):
        tagger.predict(X)


def test_a_sentence_that_no_path_explains_in_predict():
    tagger = _grammar()
    sentences = [X[0], ["runs", "saw", "the"]]
    assert tagger.score_samples(sentences)[1] == -np.inf
    assert np.isfinite(tagger.score_samples(sentences)[0])
    assert tagger.score(sentences) == -np.inf
    message = (
        "no path explains sequences [1] (1 in all): each token gets its most probable state by "
        "emission"
    )
    # p(saw | N) = 1/3 against p(saw | V) = 1/3: a tie, to the first. D and V have one word each.
    emission = tagger.emissionprob_[:, 2]
    best = tagger.classes_[np.argmax(emission)]
    for decoding in ("viterbi", "marginal"):
        with pytest.warns(UserWarning, match=re.escape(message)):
            tags = tagger.predict(sentences, decoding=decoding)
        assert tags[1].tolist() == ["V", best, "D"]
        assert tags[0].tolist() == ["D", "N", "V"]
    with pytest.warns(UserWarning, match=re.escape(message)):
        proba = tagger.predict_proba(sentences)[1]
    assert proba[1] == pytest.approx(emission / emission.sum(), abs=1e-12)
    with pytest.warns(UserWarning, match=re.escape(message)):
        assert np.isfinite(tagger.transform(sentences)).all()
    with pytest.warns(UserWarning, match=re.escape(message)):
        assert np.isfinite(tagger.filter_proba(sentences)[1]).all()
    with pytest.warns(UserWarning, match=re.escape(message)):
        assert tagger.sample_paths(sentences, random_state=0)[1][0] == "V"


@pytest.mark.parametrize("kind", [VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_a_prior_explains_every_sentence(kind):
    corpus = [X[0], ["runs", "saw", "the"], X[1], X[2], ["saw", "the"]]
    settings = {
        "alpha": 1e-10,
        "beta": 1e-10,
        "emission": Symbols(handle_unknown="error"),
        "init": _grammar(),
    }
    tagger = quick(kind, tag_dictionary=LEGAL, **settings).fit(corpus)
    assert tagger.unexplained_.tolist() == []
    assert np.isfinite(tagger.score_samples(corpus)).all()
    assert tagger.counts_.emission.sum() == pytest.approx(13, abs=1e-9)


# Row "KeyboardInterrupt during fit", and other fits that fail half-way.


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", CLASSES)
def test_interrupted_fit_goes_on(kind):
    settings = {"max_iter": 8, "tol": 0, "warm_start": True}
    model = watched(quick(kind, **settings), Interrupt(at=3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.n_iter_ == len(model.history_) == 3
    assert not model.converged_
    assert np.isfinite(model.score(X))
    whole = quick(kind, **settings).fit(X)
    assert np.array_equal(model.history_, whole.history_[:3])
    model.set_callbacks().set_params(max_iter=5).fit(X)
    assert model.n_iter_ == 5
    assert np.array_equal(model.history_, whole.history_[3:])
    assert np.array_equal(model.transmat_, whole.transmat_)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_best_restart_survives_an_interruption(kind):
    model = quick(kind, n_init=3, init="token", tol=0, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        watched(model, Interrupt(at=7)).fit(X)
    assert len(model.restart_objectives_) == 2
    assert model.objective_ == model.restart_objectives_.max()


@pytest.mark.parametrize("kind", CLASSES)
def test_without_a_finished_sweep_an_interruption_leaves_the_earlier_fit(kind):
    class Early(Interrupt):
        def on_fit_task_begin(self, estimator, context):
            if context.task_name == "restart":
                raise KeyboardInterrupt

    model = quick(kind).fit(X)
    before = model.predict_proba(X)
    with pytest.raises(KeyboardInterrupt):
        watched(model, Early(at=0)).fit([["other", "words"]] * 3)
    assert model.vocabulary_.tolist() == ["dog", "runs", "saw", "the"]
    for now, then in zip(model.predict_proba(X), before, strict=True):
        assert np.array_equal(now, then)
    fresh = watched(quick(kind), Early(at=0))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("kind", CLASSES)
def test_with_a_finished_sweep_an_interruption_replaces_the_earlier_fit(kind):
    model = quick(kind).fit(X)
    with pytest.raises(KeyboardInterrupt):
        watched(model, Interrupt(at=2)).fit([["other", "words"]] * 3)
    assert model.vocabulary_.tolist() == ["other", "words"]
    assert model.n_iter_ == 2


@pytest.mark.parametrize("kind", CLASSES)
def test_a_refused_fit_leaves_the_earlier_one(kind):
    model = quick(kind, emission=Symbols(handle_unknown="error")).fit(np.array(X[:2]))
    before = model.predict_proba(X[:2])
    for wrong in ([["a"], []], [["z", ["z"]]], np.array([["p", "q"]])[:, :0]):
        with pytest.raises((ValueError, TypeError)):
            model.fit(wrong)
    model.set_params(emission__vocabulary=["the"])
    with pytest.raises(ValueError, match="unknown word 'dog'"):
        model.fit(X)
    assert model.n_features_in_ == 3
    for now, then in zip(model.predict_proba(X[:2]), before, strict=True):
        assert np.array_equal(now, then)


def test_a_warm_start_on_other_sequences_starts_afresh():
    model = quick(VBHMM, warm_start=True).fit(X)
    model.fit([["a", "b"], ["b"]])
    fresh = quick(VBHMM).fit([["a", "b"], ["b"]])
    assert np.array_equal(model.history_, fresh.history_)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if "Gibbs" not in kind.__name__])
def test_a_warm_start_goes_on_with_the_parameters_of_now(kind):
    settings = {"alpha": 0.3, "beta": 0.2, "tol": 0, "warm_start": True}
    model = quick(kind, **settings).fit(X)
    model.set_params(alpha=2.0, beta=0.7, transitions=Transitions(start_alpha=5.0)).fit(X)
    assert (model.alpha_, model.beta_) == (2.0, 0.7)
    counts = model.counts_
    expected = (counts.transition + 2.0) / (counts.transition + 2.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transmat_, expected, rtol=1e-12)
    expected = (counts.start + 5.0) / (counts.start + 5.0).sum()
    np.testing.assert_allclose(model.startprob_, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [GibbsHMM, GibbsHMMTagger])
@pytest.mark.parametrize("name", ["alpha", "beta", "start_alpha"])
def test_a_chain_under_another_prior_is_a_new_chain(kind, name):
    model = quick(kind, alpha=0.3, beta=0.2, warm_start=True).fit(X)
    name, _ = NESTED.get(name, (name, None))
    fresh = quick(kind, alpha=0.3, beta=0.2).set_params(**{name: 2.0}).fit(X)
    assert np.array_equal(model.set_params(**{name: 2.0}).fit(X).history_, fresh.history_)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_a_warm_start_with_another_prior_is_a_start_from_the_counts(kind):
    first = quick(kind, alpha=0.3, tol=0, warm_start=True).fit(X)
    frozen = quick(kind, alpha=0.3, tol=0).fit(X)
    other = quick(kind, alpha=2.0, tol=0, init=frozen).fit(X)
    np.testing.assert_allclose(first.set_params(alpha=2.0).fit(X).history_, other.history_)


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM, GibbsHMM])
def test_a_warm_start_keeps_what_it_has_learned(kind):
    settings = {"alpha": "auto", "tol": 0, "warm_start": True, "max_iter": 40}
    model = quick(kind, **settings).fit(X)
    learned = model.alpha_
    assert learned != 0.1
    # The next step of learning starts where the last one ended: one sweep moves it a little.
    assert model.set_params(max_iter=1).fit(X).alpha_ != 0.1
    assert abs(np.log(model.alpha_ / learned)) < 1.5


def test_a_fit_that_goes_on_can_begin_to_learn():
    """After sweeps that did not look for what it takes to learn."""
    settings = {"tol": 0, "warm_start": True, "max_iter": 25}
    model = quick(CVBHMM, alpha=0.1, **settings).fit(X)
    assert model.alpha_ == 0.1
    assert model.set_params(alpha="auto").fit(X).alpha_ != 0.1
    assert model.set_params(alpha=0.1).fit(X).alpha_ == 0.1


# Row "not fitted".


@pytest.mark.parametrize("kind", CLASSES)
def test_not_fitted(kind):
    model = kind()
    message = f"This {kind.__name__} instance is not fitted yet. Call 'fit'"
    methods = ["predict", "predict_proba", "filter_proba", "predict_next_proba", "transform"]
    methods += ["score", "score_samples", "perplexity", "sample_paths"]
    if kind is GibbsHMMTagger:
        methods.remove("perplexity")
    if kind.__name__.endswith("Tagger"):
        methods.append("tag_sources")
    for name in methods:
        fails(NotFittedError, message, getattr(model, name), X)
    fails(NotFittedError, message, model.sample)
    fails(NotFittedError, message, model.get_feature_names_out)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        fails(NotFittedError, message, getattr, model, name)
        assert not hasattr(model, name)
