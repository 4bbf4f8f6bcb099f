"""Random calls, good and bad: results are sound, or an error of the package says what is wrong.

``check(i)`` makes draw number i, of the kind that `KINDS` has for it, and so repeats what was
found. The environment variable SKLEARN_CVB_FUZZ_DRAWS says how many draws are made:
150 by default, 2,000 and more by hand.
"""

import linecache
import os
import traceback
import warnings
from collections import deque

import nltk
import numpy as np
import pandas as pd
import pytest
from chain.numbers.fuzz import problems
from fuzz import agreement, arcs_links_trees, chains_and_grammars
from fuzz.looks import check_copies, check_looks
from fuzz.soundness import check_fitted, check_prediction

import sklearn_cvb
from sklearn_cvb import TagDictionary, Transitions
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.dictionary import tags_of
from sklearn_cvb.settings import Setting

DRAWS = int(os.environ.get("SKLEARN_CVB_FUZZ_DRAWS", "150"))
_BLOCK = 30

# Packages whose errors are messages.
_SPEAKERS = ("sklearn_cvb", "sklearn", "nltk", "joblib")

FAMILIES = [
    *arcs_links_trees.DEPENDENCIES,
    *arcs_links_trees.ALIGNMENTS,
    *arcs_links_trees.TREEBANKS,
]

# Methods that some settings do not have, and say so.
_MAY_LACK = ("training_posteriors", "credible_intervals", "predict_next_proba")


@pytest.mark.long
@pytest.mark.parametrize("begin", range(0, DRAWS, _BLOCK))
def test_random_calls(begin):
    for i in range(begin, min(begin + _BLOCK, DRAWS)):
        check(i)


def check(i):
    """Make draw number `i` and assert all that must hold."""
    try:
        KINDS[i % len(KINDS)](i)
    except Exception as error:
        error.add_note(f"in draw {i}: test_fuzz.check({i})")
        raise


def _follow_unchanged(call):
    before = frozen(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            follow(call)
        except Exception as error:
            error.add_note(f"{call.name}({call.settings})")
            raise
    assert frozen(call) == before, "what was given has changed"


def check_chain_or_grammar(i):
    _follow_unchanged(chains_and_grammars.draw(i))


def check_other_family(i):
    _follow_unchanged(arcs_links_trees.draw(i))


def check_numbers(i):
    # What is drawn goes by remainders of this number: the tenth draws have them all.
    assert problems(i // len(KINDS)) == []


# Of ten draws in a row.
KINDS = [
    *[check_chain_or_grammar] * 3,
    *[check_other_family] * 3,
    check_numbers,
    agreement.check_store,
    agreement.check_batches,
    agreement.check_workers_or_classifier,
]


def follow(call):
    """Make a call and read the fitted estimator."""
    model = getattr(sklearn_cvb, call.name)(**call.settings)
    is_fitted = tried(model, "fit", {"X": call.X, "y": call.y}) is not None
    if is_fitted:
        check_fit(model, call)
        # Every fourth is drawn as well, every other fitted again.
        number = len(repr(call.settings))
        check_looks(model, draws=number % 4 == 0)
        check_copies(model, call.X, call.y, again=number % 2 == 0)
    for name, arguments in call.reads:
        if name == "fit":
            arguments = {"X": call.X, "y": call.y}
        if not hasattr(type(model), name):
            continue
        found = tried(model, name, arguments)
        if found is not None:
            assert name == "fit" or is_fitted, f"{name} of a model that is not fitted"
            check_read(model, call, (name, arguments), found)


def tried(model, name, arguments):
    """What a method gives; None where it says what is wrong."""
    try:
        return getattr(model, name)(**arguments)
    except (ValueError, TypeError, AttributeError) as error:
        problem = error
    if type(problem) is AttributeError:
        assert name in _MAY_LACK
    if not is_deliberate(problem):
        raise AssertionError(f"{name} fails inside") from problem
    return None


def is_deliberate(error):
    """Whether the package, or what it checks input with, raises this error by a statement."""
    if type(error.__cause__).__name__ == "_RemoteTraceback":
        # From another thread there is only text.
        lines = str(error.__cause__).splitlines()
        last = max(n for n, line in enumerate(lines) if line.startswith('  File "'))
        return lines[last + 1].strip().startswith("raise ")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    # What numpy says of seeds is sklearn's message, too.
    if frame.filename.endswith("_mt19937.pyx"):
        return True
    if not any(f"/{part}/" in frame.filename for part in _SPEAKERS):
        return False
    line = frame.line or linecache.getline(frame.filename, frame.lineno)
    return line.strip().startswith("raise ")


def frozen(value):
    """A text that differs where values do, also inside of arrays and frames."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{[frozen(item) for item in value.ravel().tolist()]}"
    if isinstance(value, nltk.CFG | nltk.Tree):
        return str(value)
    if isinstance(value, pd.DataFrame | pd.Series):
        return f"{value.index.tolist()}{frozen(value.to_numpy())}"
    if isinstance(value, dict):
        return str([(frozen(key), frozen(item)) for key, item in value.items()])
    if isinstance(value, list | tuple | deque):
        return f"{type(value).__name__}{[frozen(item) for item in value]}"
    if isinstance(value, sklearn_cvb.Grammar):
        return frozen([value.symbols, value.start, value.rules, value.probabilities])
    if isinstance(value, Setting):
        return type(value).__name__ + frozen(value.get_params(deep=False))
    return repr(value)


# What a fit leaves.


def check_fit(model, call):
    """Numbers are numbers, probabilities sum to 1, and what was known is kept."""
    for name in ("history_", "restart_objectives_", "objective_", "alpha_"):
        assert not np.isnan(getattr(model, name)).any(), name
    for table in model.counts_:
        if table is None:
            continue
        values = table.data if hasattr(table, "toarray") else table
        assert (np.asarray(values) >= -1e-9).all(), "a negative or missing count"
    if call.name in FAMILIES:
        check_fitted(model, call)
        return
    if isinstance(model, sklearn_cvb.EMPCFG | sklearn_cvb.VBPCFG) or hasattr(model, "rules_"):
        heads = [rule.parent for rule in model.rules_.rules]
        check_sums(np.bincount(heads, model.rule_probabilities_))
        return
    following = model.transmat_.sum(axis=1) + (model.endprob_ if has_end(model) else 0.0)
    check_sums(model.startprob_.sum(), following, model.emissionprob_.sum(axis=1))
    check_labels(model, call)


def has_end(model):
    """Whether the end of a sequence is an event."""
    return Transitions.of(getattr(model, "transitions", None)).end_state


def check_sums(*sums):
    for total in sums:
        assert np.abs(np.asarray(total) - 1.0).max() < 1e-6, f"probabilities sum to {total}"


def check_labels(model, call):
    """States or tags of the training sequences: labels kept, else within the dictionary."""
    words = words_of(call.X)
    rows = [row[: len(here)].tolist() for row, here in zip(model.labels_, words, strict=True)]
    if call.y is None or getattr(model, "supervision", "none") == "none":
        check_tags(model, words, rows)
        return
    for here, tags, known in zip(words, rows, call.y, strict=True):
        # Labels of a padded row may be padded, too.
        labels = known[: len(here)] if isinstance(known, list | tuple) else [None] * len(here)
        for word, tag, label in zip(here, tags, labels, strict=True):
            if is_missing(label):
                check_tags(model, [[word]], [[tag]])
            else:
                assert tag == label, f"the label {label!r} became {tag!r}"


def words_of(X):
    """The words of all sequences, without padding."""
    if isinstance(X, pd.DataFrame) and list(X.columns) == ["event"]:
        X = X["event"]
    X = X.to_numpy() if isinstance(X, pd.DataFrame) else X
    rows = [list(row) for row in X]
    if getattr(X, "ndim", 1) == 2:
        for row in rows:
            while row and is_missing(row[-1]):
                row.pop()
    return rows


def check_tags(model, X, rows):
    """States there are, and tags that the dictionary allows, one for each word."""
    if not hasattr(model, "classes_"):
        assert {state for states in rows for state in states} <= set(range(model.n_components))
        return
    known = TagDictionary.of(model.tag_dictionary)
    legal = known.entries or {}
    every = model.classes_.tolist()
    for words, tags in zip(X, rows, strict=True):
        for word, tag in zip(words, tags, strict=True):
            entry = legal.get(word, known.unknown_tags) if not is_missing(word) else None
            tagged = every if entry is None else tags_of(entry)
            assert tag in tagged, f"{word!r} has the tag {tag!r}, not in {tagged}"


# What is read.


def check_read(model, call, read, found):
    """The result of a method."""
    name, arguments = read
    if name in ("score_samples", "lower_bound_samples"):
        assert not np.isnan(found).any()
        assert (found < 1e-9).all(), "a log-probability above 0"
    elif name == "score":
        assert found < 1.0 + 1e-9
    elif name == "perplexity":
        assert found > 1.0 - 1e-9, "a perplexity below 1"
    elif name in ("predict_proba", "filter_proba", "training_posteriors", "transform"):
        for table in found:
            values = table[~np.isnan(table)]
            assert ((values > -1e-9) & (np.isfinite(values))).all()
    elif name == "predict_next_proba":
        sums = found.sum(axis=1)
        # What is missing is the probability that nothing comes.
        check_sums(np.maximum(sums, 1.0) if has_end(model) else sums)
    elif name in ("predict", "parse") and call.name in FAMILIES:
        check_prediction(model, call, arguments["X"], found)
    elif name in ("predict", "sample_paths") and not hasattr(model, "rules_"):
        words = words_of(arguments["X"])
        rows = [row[: len(here)].tolist() for row, here in zip(found, words, strict=True)]
        check_tags(model, words, rows)
    elif name == "parse" or (name == "predict" and found.ndim == 1):
        for best, words in zip(found, words_of(arguments["X"]), strict=True):
            pairs = [(best, 0.0)] if isinstance(best, nltk.Tree) else best
            for tree, log_weight in pairs:
                assert tree.leaves() == words
                assert log_weight < 1e-9
