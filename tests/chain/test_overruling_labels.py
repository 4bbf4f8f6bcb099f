"""A label beats the dictionary at its own token, and nowhere else."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from chain.chain_deviations import deviations, one_hot
from estimators import ALGORITHMS, as_states, fitted_counts, make_estimator, prediction_weights, tag

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors, make_problem
from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Samples,
    Symbols,
    TagDictionary,
    VBHMMTagger,
    tag_dictionary_from,
)

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
DICTIONARY = {0: [0], 1: [1], 2: [0, 2], 3: [1, 2], 4: [0, 1]}
ROWS = [[0, 3, 1], [3, 2], [4, 0, 3], [2, 4]]
# The first and the last are tags that the entries lack; 2 of symbol 3 is legal.
LABELS = {(0, 0): 2, (1, 0): 2, (3, 0): 1}

OVERRULED = pytest.mark.filterwarnings("ignore:2 labels are not in tag_dictionary")


def _labelled(alpha=0.4, beta=0.3):
    """A problem whose labelled tokens have one state, and its labels as a user gives them."""
    problem = make_problem(ROWS, 3, 5, alpha, beta, DICTIONARY)
    allowed = [list(row) for row in problem.allowed]
    y = [[None] * len(row) for row in ROWS]
    for (i, t), state in LABELS.items():
        allowed[i][t], y[i][t] = [state], tag(state)
    return problem._replace(allowed=allowed), y


@OVERRULED
@pytest.mark.parametrize("n_sweeps", [1, 4])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_sweeps_agree_with_their_restatements(name, n_sweeps):
    prefix, keywords, sweeps = ALGORITHMS[name]
    problem, y = _labelled()
    q = initial_posteriors(np.random.default_rng(0), problem)
    settings = {"init": q, "tol": 0, "max_iter": n_sweeps, "warm_start": True} | keywords
    model = make_estimator(prefix, problem, **settings).fit(ROWS, y)
    counts, expected = fitted_counts(model), sweeps(problem, q, n_sweeps)
    np.testing.assert_allclose(counts.transition, expected.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, expected.counts.emission, **TOLERANCE)
    np.testing.assert_allclose(model.objective_, expected.history[-1], **TOLERANCE)
    posteriors = model.training_posteriors()
    for (i, t), state in LABELS.items():
        assert posteriors[i][t] == pytest.approx(np.eye(3)[state], abs=1e-14)
        assert model.labels_[i][t] == tag(state)


@pytest.mark.long
@OVERRULED
@pytest.mark.parametrize("update", ["token", "sequence", "parameter"])
def test_samples_agree_with_the_exact_posterior(update):
    problem, y = _labelled()
    exact = np.concatenate(brute.collapsed_posterior(problem).marginals)
    settings = {"max_iter": 3_300, "samples": Samples(300, thin=2, temperatures=None)}
    model = make_estimator("Gibbs", problem, update=update, **settings).fit(ROWS, y)
    indicators = one_hot(model.samples_, 3)
    assert np.abs(deviations(indicators, exact.ravel())).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact.ravel()).max() < 0.05
    starts = np.cumsum([0, *map(len, ROWS)])
    for (i, t), state in LABELS.items():
        assert exact[starts[i] + t] == pytest.approx(np.eye(3)[state], abs=1e-12)
        assert (model.samples_[:, starts[i] + t] == state).all()


@OVERRULED
@pytest.mark.parametrize("name", ALGORITHMS)
def test_other_tokens_keep_to_the_dictionary(name):
    prefix, keywords, _ = ALGORITHMS[name]
    problem, y = _labelled()
    model = make_estimator(prefix, problem, max_iter=5, **keywords).fit(ROWS, y)
    model = pickle.loads(pickle.dumps(model))
    weights = prediction_weights(model, problem)
    for row, table, tags in zip(ROWS, model.predict_proba(ROWS), model.predict(ROWS), strict=True):
        legal = [DICTIONARY[symbol] for symbol in row]
        np.testing.assert_allclose(table, brute.marginals(row, *weights, legal), **TOLERANCE)
        assert as_states(tags).tolist() == brute.best_path(row, *weights, legal)[0].tolist()
    assert model.emissionprob_.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-12)


LEGAL = {"the": ("D",), "dog": ("N",), "runs": ("V",), "saw": ("N", "V")}
X = [["the", "dog", "runs"], ["the", "saw", "runs"], ["dog", "saw", "the", "dog"], ["runs"]]


def quick(kind, *arguments, **keywords):
    settings = {"max_iter": 6, "random_state": 0}
    settings |= {} if kind is GibbsHMMTagger else {"tol": 0}
    return kind(*arguments, **settings | keywords)


@pytest.mark.parametrize("kind", TAGGERS)
def test_one_warning_counts_them(kind):
    y = [["N", "N", "N"], ["D", "V", "D"], ["V", None, None, None], None]
    message = (
        "4 labels are not in tag_dictionary: ('the', 'N', sequence 0, position 0), "
        "('runs', 'N', sequence 0, position 2); a label holds at its own token"
    )
    with warnings.catch_warnings(record=True, action="always") as caught:
        model = quick(kind, LEGAL).fit(X, y)
    assert len(caught) == 1
    assert str(caught[0].message).startswith(message)
    assert caught[0].filename == __file__
    assert [row.tolist() for row in model.labels_][:2] == [["N", "N", "N"], ["D", "V", "D"]]
    assert model.labels_[2][0] == "V"
    assert model.predict([["the", "saw"]])[0][0] == "D"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(kind, LEGAL, supervision="none").fit(X, y)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", TAGGERS)
def test_a_tag_that_no_entry_has_holds_at_its_token_with_one_warning(kind):
    y = [["N", "XN", None], None, None, None]
    with warnings.catch_warnings(record=True, action="always") as caught:
        model = quick(kind, LEGAL).fit(X, y)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert said.startswith("2 labels are not in tag_dictionary: ('the', 'N', sequence 0, position")
    assert said.endswith("; 1 of them are tags that no entry has: 'XN' (did you mean 'N'?)")
    assert model.labels_[0][:2].tolist() == ["N", "XN"]
    assert "XN" in model.classes_
    # The other tokens of the word keep to its entry.
    emission = model.counts_.emission.toarray()
    dog = emission[model.vocabulary_.tolist().index("dog")]
    assert dog[model.classes_.tolist().index("XN")] == pytest.approx(1, abs=1e-9)
    assert emission[:, model.classes_.tolist().index("XN")].sum() == pytest.approx(1, abs=1e-9)
    y = [["N", "X", None], None, None, None]
    with pytest.warns(UserWarning, match="2 labels are not in tag_dictionary"):
        model = quick(kind, TagDictionary(LEGAL, unknown_tags=["N", "X"])).fit(X, y)
    assert model.labels_[0][:2].tolist() == ["N", "X"]
    # A word without an entry may take a tag that is nowhere else.
    model = quick(kind, LEGAL).fit([*X, ["cat"]], [*[None] * 4, ["X"]])
    assert model.labels_[4].tolist() == ["X"]


@pytest.mark.parametrize("kind", TAGGERS)
@pytest.mark.parametrize("weights", [False, True])
def test_pruning_and_labels_together(kind, weights):
    words = [["they", "go", "in"], *[["in", "the", "house"]] * 60]
    tags = [["PRP", "VB", "RP"], *[["IN", "DT", "NN"]] * 60, ["RP", "VB"]]
    pruned = tag_dictionary_from([*words, ["up", "go"]], tags, min_share=0.02, weights=weights)
    assert set(pruned["in"]) == {"IN"}
    y = [tags[0], *[None] * 60]
    with pytest.warns(UserWarning, match=r"1 labels are not .* \('in', 'RP', sequence 0, posit"):
        model = quick(kind, pruned).fit(words, y)
    assert model.labels_[0].tolist() == tags[0]
    assert model.labels_[1].tolist() == tags[1]
    assert model.predict([["go", "in"]])[0].tolist() == ["VB", "IN"]
    # The rule of the corpus, in counts: 61 times "in", once as a particle.
    row = model.vocabulary_.tolist().index("in")
    counts = model.counts_.emission.toarray()[row]
    assert counts[model.classes_.tolist().index("RP")] == pytest.approx(1, abs=1e-9)
    assert counts[model.classes_.tolist().index("IN")] == pytest.approx(60, abs=1e-9)


@pytest.mark.parametrize("kind", TAGGERS)
def test_words_outside_the_vocabulary_and_unknown_tags(kind):
    settings = {
        "emission": Symbols(vocabulary=["the", "saw"], handle_unknown="smooth"),
        "tag_dictionary": TagDictionary(LEGAL, unknown_tags=["V"]),
    }
    y = [["D", "V", "V"], [None, "D", None], ["N", None, None, "D"], ["D"]]
    with pytest.warns(UserWarning, match="4 labels are not in tag_dictionary"):
        model = quick(kind, **settings).fit([*X[:3], ["cat"]], y)
    labels = [row.tolist() for row in model.labels_]
    assert (labels[0], labels[1][1], labels[2][3], labels[3]) == (["D", "V", "V"], "D", "D", ["D"])
    assert model.counts_.emission.sum() == pytest.approx(11, abs=1e-9)
    assert model.predict([["cat"]])[0].tolist() == ["V"]


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore:1 labels are not in tag_dictionary")
@pytest.mark.parametrize("kind", TAGGERS)
def test_a_warm_start_under_other_labels_begins_anew(kind):
    first, second = ([[label, None, None], None, None, None] for label in "NV")
    model = quick(kind, LEGAL, warm_start=True).fit(X, first)
    again = quick(kind, LEGAL).fit(X, second)
    assert np.array_equal(model.fit(X, second).history_, again.history_)
    assert model.labels_[0][0] == "V"
    # Legal labels, too: all lattices below have as many states at each token.
    first, second = ([None, [None, label, None], None, None] for label in "NV")
    model = quick(kind, LEGAL, warm_start=True).fit(X, first)
    again = quick(kind, LEGAL).fit(X, second)
    assert np.array_equal(model.fit(X, second).history_, again.history_)


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore:1 labels are not in tag_dictionary")
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
def test_a_warm_start_under_the_same_labels_goes_on(kind):
    y = [["N", None, None], None, None, None]
    model = quick(kind, LEGAL, warm_start=True, max_iter=3).fit(X, y)
    model = pickle.loads(pickle.dumps(model)).fit(X, y)
    whole = quick(kind, LEGAL).fit(X, y)
    assert np.array_equal(model.history_, whole.history_[3:])


@pytest.mark.filterwarnings("ignore:[12] labels are not in tag_dictionary")
def test_a_model_to_start_from_has_the_same_cells():
    y = [["N", None, None], None, None, None]
    first = quick(EMHMMTagger, LEGAL).fit(X, y)
    model = quick(VBHMMTagger, LEGAL, init=first).fit(X, y)
    assert model.labels_[0][0] == "N"
    for other in (None, [["V", None, None], None, None, None], [["N", "V", None], *y[1:]]):
        with pytest.raises(ValueError, match="labels that overrule the dictionary"):
            quick(VBHMMTagger, LEGAL, init=first).fit(X, other)


@OVERRULED
@pytest.mark.parametrize("topology", ["left-right", "independent"])
def test_labels_under_a_topology(topology):
    problem, y = _labelled()
    model = make_estimator("CVB", problem, transitions=topology, max_iter=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* cannot be explained by any path")
        model.fit(ROWS, y)
    explained = set(range(len(ROWS))) - set(model.unexplained_.tolist())
    assert len(explained) == (4 if topology == "independent" else 1)
    for (i, t), state in LABELS.items():
        assert model.labels_[i][t] == tag(state)
    if topology == "left-right":
        (i,) = explained
        states = as_states(model.labels_[i]).tolist()
        assert states[0] == 0
        assert all(before <= after for before, after in pairwise(states))


@pytest.mark.filterwarnings("ignore:2 labels are not in tag_dictionary")
@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_that_open_all_tags_to_all_words(kind):
    """The table of emissions is full then, but the words of other tokens are not free."""
    legal = {"a": ["X"], "b": ["Y"], "c": ["X", "Y"]}
    rows = [["a", "b", "c"], ["b", "a"], ["c", "c", "b", "a"], ["a", "b"]]
    y = [["Y", None, None], ["X", None], None, None]
    model = quick(kind, legal, emission=Symbols(handle_unknown="error"), alpha=0.1, beta=0.1).fit(
        rows, y
    )
    assert isinstance(model.counts_.emission, np.ndarray)
    labels = [row.tolist() for row in model.labels_]
    assert (labels[0][:2], labels[1], labels[2][2:], labels[3]) == (
        ["Y", "Y"],
        ["X", "X"],
        ["Y", "X"],
        ["X", "Y"],
    )
    assert model.counts_.emission[:2] == pytest.approx(np.array([[3, 1], [1, 3]]), abs=1e-9)
    assert model.predict([["a", "b"]])[0].tolist() == ["X", "Y"]
