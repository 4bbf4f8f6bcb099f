"""Tokens that a fitted model does not know: told once, with the nearest cause, not too often."""

import re
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMDMV,
    EMHMM,
    EMPCFG,
    VBHMM,
    CVBHMMTagger,
    EMAlignmentHMM,
    EMHMMTagger,
    EMLatentPCFG,
    GibbsHMM,
    Grammar,
    HMMClassifier,
    HMMMixture,
    HMMParameters,
    Symbols,
)
from sklearn_cvb.store import write_store

CODES = [[0, 1, 2, 0, 1, 1, 2], [1, 0, 2, 2, 1], [2, 0, 0, 1]] * 3
TEXT = [["the", "dog", "saw", "the", "cat"], ["the", "cat", "runs"], ["a", "dog", "runs"]] * 3
TABLES = {"startprob": [0.7, 0.3], "transmat": [[0.8, 0.2], [0.4, 0.6]]}


def told(call):
    """What is said of unknown tokens."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    assert {one.filename for one in seen} <= {__file__}
    messages = [str(one.message) for one in seen if one.category is UserWarning]
    return [message for message in messages if "that the model knows" in message]


def shouted(sentences):
    return [[word.upper() for word in sentence] for sentence in sentences]


def quick(kind, *arguments, **keywords):
    return kind(*arguments, **{"max_iter": 5, "random_state": 0} | keywords)


# Families and their methods

_OF_ALL = ["predict", "score", "score_samples", "perplexity"]
_OF_CHAINS = [*_OF_ALL, "predict_proba", "filter_proba", "predict_next_proba", "transform", "aic"]
_OF_CHAINS += ["bic", "sample_paths"]
_LEGAL = {"the": "D", "a": "D", "dog": "N", "cat": "N", "runs": "V", "saw": ["N", "V"]}
_TREES = ["(S (N dog) (V runs))", "(S (NP (D the) (N dog)) (V runs))", "(S (N cat) (V runs))"]
_PAIRS = list(zip(TEXT, shouted(TEXT), strict=True))


def _trees():
    nltk = pytest.importorskip("nltk")
    return [nltk.Tree.fromstring(tree) for tree in _TREES] * 4


FAMILIES = {
    **{
        kind.__name__: (lambda kind=kind: quick(kind, 2).fit(TEXT), _OF_CHAINS, shouted(TEXT[:2]))
        for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM)
    },
    **{
        kind.__name__: (
            lambda kind=kind: quick(kind, _LEGAL).fit(TEXT),
            [*_OF_CHAINS, "tag_sources"],
            shouted(TEXT[:2]),
        )
        for kind in (EMHMMTagger, CVBHMMTagger)
    },
    **{
        kind.__name__: (
            lambda kind=kind: quick(kind, n_components=2).fit(TEXT),
            [*_OF_ALL, "parse", "predict_proba"],
            shouted(TEXT[:2]),
        )
        for kind in (EMPCFG, CVBPCFG)
    },
    **{
        kind.__name__: (
            lambda kind=kind: quick(kind).fit(TEXT),
            [*_OF_ALL, "predict_proba"],
            shouted(TEXT[:2]),
        )
        for kind in (EMDMV, CVBDMV)
    },
    "EMLatentPCFG": (lambda: quick(EMLatentPCFG).fit(_trees()), _OF_ALL, [["DOG", "RUNS"]]),
    "EMAlignmentHMM": (
        lambda: quick(EMAlignmentHMM).fit(_PAIRS),
        [*_OF_ALL, "predict_proba"],
        [pair[::-1] for pair in _PAIRS[:2]],
    ),
    "HMMClassifier": (
        lambda: HMMClassifier(quick(EMHMM, 2)).fit(TEXT, [0, 1, 2] * 3),
        ["predict", "predict_proba", "decision_function", "predict_log_proba"],
        shouted(TEXT[:2]),
    ),
    "HMMMixture": (
        lambda: HMMMixture(quick(EMHMM, 2), n_init=1, random_state=0).fit(TEXT),
        ["predict", "predict_proba", "score", "score_samples", "bic"],
        shouted(TEXT[:2]),
    ),
}


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("family", FAMILIES)
def test_whatever_answers_from_a_model_says_so_once(family):
    fit, methods, X = FAMILIES[family]
    model = fit()
    for method in methods:
        (message,) = told(lambda method=method: getattr(model, method)(X))
        assert re.search(r"knows: none of \d+ \(missing are '.*; it has '.*str.lower$", message)


def test_filters_criteria_and_searches_say_so_too(tmp_path):
    model = quick(VBHMM, 2).fit(CODES)
    texts = [list(map(str, sequence)) for sequence in CODES]
    assert len(told(lambda: model.start_filter().update("0"))) == 1
    with pytest.raises(ValueError, match="with other symbols were given"):
        model.credible_intervals(texts)
    store = write_store(texts, tmp_path / "store")
    assert len(told(lambda: model.predict(store))) == 1
    assert len(told(lambda: model.score(store))) == 1
    # Half of the sequences know nothing of the other half.
    halves = CODES[:4] + texts[:4]
    with pytest.warns(UserWarning, match="knows: none"):
        cross_val_score(quick(EMHMM, 2), halves, cv=2, n_jobs=1)


def test_given_grammars_name_the_cause_where_they_tell_what_has_no_tree():
    rules = Grammar.from_text("S -> N V [1]\nN -> 'dog' [.5] | 'cat' [.5]\nV -> 'runs' [1]")
    model = EMPCFG(rules).fit([["dog", "runs"], ["cat", "runs"]])
    with pytest.warns(UserWarning, match=r"no rule has the words .*; write both in") as seen:
        model.predict([["DOG", "RUNS"]])
    assert len(seen) == 1
    assert len(told(lambda: model.score([["DOG", "RUNS"]]))) == 1


# Causes

_VIETNAMESE = [unicodedata.normalize("NFC", word) for word in ("một", "hai", "bảy")]
CAUSES = {
    "text": (CODES, [["0", "1"]], "the same type"),
    "floats as text": (CODES, [["0.0", "2.0"]], "the same type"),
    "numbers": ([["0", "1", "2"]] * 3, [[0, 1]], "the same type"),
    "floats": ([["0.0", "1.0", "2.0"]] * 3, [[0, 1]], "the same type"),
    "bytes": (TEXT, [[b"the", b"dog"]], "the same type"),
    "from bytes": ([[b"a", b"b", b"a"]] * 3, [["a", "b"]], "the same type"),
    "truth": ([["True", "False"]] * 3, [[True, False]], "the same type"),
    "names": (CODES, [["sleep", "eat"]], "`vocabulary`"),
    "codes": (TEXT, [[0, 3]], "vocabulary_[code]"),
    "case": (TEXT, [["The", "Dog"]], "str.lower"),
    "from capitals": (shouted(TEXT), [["the", "Dog"]], "str.lower"),
    "blanks": (TEXT, [[" the", "dog "]], "str.strip"),
    "with blanks": ([["a ", "b "]] * 3, [["a", "b"]], "str.strip"),
    "separators": ([["New_York", "Los_Angeles"]] * 3, [["New York"]], "stands between"),
    "sentences": (TEXT, [["the dog saw the cat"], ["the cat runs"]], "str.split"),
    "characters": (TEXT, [list("the dog runs")], "single characters; cut text into words"),
    "words": ([list("abba")] * 3, [["ab", "ba"]], "as with list"),
    "normal forms": (
        [_VIETNAMESE] * 3,
        [[unicodedata.normalize("NFD", word) for word in _VIETNAMESE[::2]]],
        "normal form",
    ),
    "anything": (TEXT, [["le", "chien", "court"]], "cut and written"),
    "nearly all": (CODES, [[0, *["0", "1", "2"] * 10]], "knows: 1 of 31"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_nearest_cause_is_named(cause):
    X, asked, advice = CAUSES[cause]
    (message,) = told(lambda: quick(EMHMM, 2).fit(X).score(asked))
    assert advice in message


def test_a_model_made_of_tables_knows_codes_if_nothing_names_its_symbols():
    table = [[0.2, 0.6, 0.2], [0.4, 0.1, 0.5]]
    model = EMHMM.from_parameters(**TABLES, emissionprob=table)
    (message,) = told(lambda: model.predict([["sleeping", "eating"]]))
    assert "`vocabulary`" in message
    names = ["wake", "eat", "sleep"]
    named = EMHMM.from_parameters(**TABLES, emissionprob=table, vocabulary=names)
    of_frame = EMHMM.from_parameters(**TABLES, emissionprob=pd.DataFrame(table, columns=names))
    assert of_frame.vocabulary_.tolist() == names
    expected = named.score([["eat", "sleep", "eat"]])
    assert of_frame.score([["eat", "sleep", "eat"]]) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(model.score([[1, 2, 1]]), rel=1e-12)


def test_the_columns_of_a_frame_say_which_symbols_a_start_is_of():
    table = pd.DataFrame([[0.1, 0.9], [0.8, 0.2]], columns=["wet", "dry"])
    start = HMMParameters(**TABLES, emissionprob=table)
    model = quick(EMHMM, 2, init=start, fixed={"emissions": True})
    model.fit([["dry", "wet", "wet"], ["dry", "dry"]])
    places = [model.vocabulary_.tolist().index(name) for name in table.columns]
    np.testing.assert_allclose(model.emissionprob_[:, places], table)


# Silence

SILENT = {
    "one new word among known ones": (TEXT, [["the", "zebra"]]),
    "one new word": (TEXT, [["zebra"]]),
    "two new words": (TEXT, [["zebra", "gnu"]]),
    "missing": (TEXT, [[None, None, None, None]]),
    "a new code": (CODES, [[7]]),
    "whole floats": (CODES, [[0.0, 1.0, 2.0]]),
    "truth values": ([[0, 1, 1]] * 3, [[True, False]]),
    "strings of numpy": (TEXT, np.array([["the", "dog"]])),
    "a tenth": (TEXT, [["the", *["zebra"] * 9]]),
}


@pytest.mark.parametrize("use", SILENT)
def test_what_is_usual_is_not_told(use):
    X, asked = SILENT[use]
    model = quick(EMHMM, 2).fit(X)
    assert told(lambda: (model.predict(asked), model.score(asked))) == []


def test_words_of_the_dictionary_and_of_batches_are_known():
    legal = _LEGAL | {"zebra": "N", "gnu": "N", "snores": "V"}
    tagger = quick(CVBHMMTagger, legal).fit(TEXT)
    assert told(lambda: tagger.predict([["gnu", "snores", "zebra"]])) == []
    model = quick(EMHMM, 2).partial_fit([["a", "b"], ["c", "a"]])
    assert told(lambda: model.partial_fit([["x", "y", "z"], ["y", "x"]])) == []


def test_unknown_words_that_are_refused_are_refused():
    model = quick(EMHMM, 2, emission=Symbols(handle_unknown="error")).fit(TEXT)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(ValueError, match="unknown word 'THE'"):
            model.predict(shouted(TEXT))


# Tags


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_scores_by_other_tags_say_so(kind):
    tagger = quick(kind, _LEGAL).fit(TEXT)
    gold = [["DET", "NOUN", "VERB"]]
    (message,) = told(lambda: tagger.score([["the", "dog", "runs"]], gold))
    assert message.startswith("tags of y that the model knows: none of 3 (missing are 'DET'")
    (message,) = told(lambda: tagger.score([["the", "dog", "runs"]], [["d", "n", None]]))
    assert "str.lower" in message
    with pytest.warns(UserWarning, match=r"1 of 2 tags of y are none of classes_, .* wrong: 'X'"):
        tagger.score([["the", "dog", "runs"]], [["D", "X", None]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A tag in a hundred is what a list lacks, and no other set of tags.
        tagger.score([["the", "dog", "runs"]] * 40, [["D", "N", "V"]] * 39 + [["D", "N", "X"]])
