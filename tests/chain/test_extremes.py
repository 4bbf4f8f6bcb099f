"""Corpora and parameters at their ends: one token, 200,000 tokens, concentrations of 1e-10."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    GibbsHMMTagger,
    Samples,
    Symbols,
    VBHMMTagger,
    Windows,
)
from sklearn_cvb.metrics import one_to_one_accuracy

CLASSES = [
    getattr(sklearn_cvb, name)
    for name in sklearn_cvb.__all__
    if name.endswith(("HMM", "HMMTagger")) and "Alignment" not in name
]
# Every way to sweep.
ALGORITHMS = {
    "em": (EMHMM, {}),
    "vb": (VBHMM, {}),
    "cvb sequence": (CVBHMM, {}),
    "cvb blocks": (CVBHMM, {"update": Windows(100)}),
    "cvb token": (CVBHMM, {"update": "token"}),
    "gibbs": (GibbsHMM, {"samples": Samples(0, thin=1)}),
    "gibbs sequence": (GibbsHMM, {"update": "sequence", "samples": Samples(0, thin=1)}),
    "gibbs parameter": (GibbsHMM, {"update": "parameter", "samples": Samples(0, thin=1)}),
}


def quick(kind, **keywords):
    settings = {"max_iter": 4, "random_state": 0} | keywords
    if issubclass(kind, GibbsHMM):
        settings = {"samples": Samples(thin=1)} | settings
    return kind(**settings)


def two_sweeps(name):
    """An estimator that sweeps twice, whatever it finds."""
    kind, settings = ALGORITHMS[name]
    if kind is not GibbsHMM:
        settings = {"tol": 0, **settings}
    return quick(kind, n_components=3, max_iter=2, **settings)


def well_separated_chain(n_tokens, seed=0):
    """Symbols and states of one chain with 3 states, each with two symbols mostly its own."""
    rng = np.random.default_rng(seed)
    stay = rng.random(n_tokens) < 0.85
    fresh = rng.integers(3, size=n_tokens)
    stay[0] = False
    since = np.maximum.accumulate(np.where(stay, 0, np.arange(n_tokens)))
    states = fresh[since]
    own = rng.random(n_tokens) < 0.95
    symbols = 2 * states + rng.integers(2, size=n_tokens)
    return np.where(own, symbols, rng.integers(6, size=n_tokens)), states


def assert_finite(model, X):
    """All that a fit leaves and says about X is finite, and rows of parameters sum to 1."""
    for table in (model.startprob_[None], model.transmat_, model.emissionprob_):
        assert np.isfinite(table).all()
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-9)
    assert np.isfinite(model.counts_.transition).all()
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.objective_)
    assert model.unexplained_.size == 0
    assert np.isfinite(model.score_samples(X)).all()
    for table in model.predict_proba(X):
        assert np.isfinite(table).all()
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)


# Smallest corpora.


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("n_components", [1, 3])
def test_one_token(name, n_components):
    kind, settings = ALGORITHMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = quick(kind, n_components=n_components, **settings).fit([["a"]])
    assert model.counts_.start.sum() == pytest.approx(1, abs=1e-12)
    assert model.counts_.transition.sum() == 0
    assert model.labels_[0].shape == (1,)
    assert_finite(model, [["a"], ["a", "a"]])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_state_and_one_symbol_leave_no_doubt(name):
    kind, settings = ALGORITHMS[name]
    model = quick(kind, n_components=1, emission=Symbols(handle_unknown="error"), **settings)
    model.fit([["a", "a"], ["a"], ["a", "a", "a"]])
    assert model.transmat_ == pytest.approx(1, abs=1e-12)
    assert model.emissionprob_ == pytest.approx(1, abs=1e-12)
    assert model.score_samples([["a"] * 9]) == pytest.approx([0], abs=1e-12)
    assert [row.tolist() for row in model.labels_] == [[0, 0], [0], [0, 0, 0]]
    assert model.counts_.emission.sum() == pytest.approx(6)


@pytest.mark.parametrize("kind", CLASSES)
def test_sequences_of_one_token_each(kind):
    model = quick(kind, emission=Symbols(handle_unknown="error"), n_components=2).fit(
        [["a"], ["b"], ["a"]]
    )
    assert model.counts_.transition.sum() == 0
    if not issubclass(kind, EMHMM):
        # Rows without counts are the prior; in EM, which has none, they stay as they started.
        assert model.transmat_ == pytest.approx(0.5, abs=1e-9)
    assert model.transmat_.sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    assert np.isfinite(model.score([["a", "b"]]))


# Large corpora: no number of 16 bits counts their tokens or sentences.


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_sentence_of_two_hundred_thousand_tokens(name):
    symbols, states = well_separated_chain(200_000)
    model = two_sweeps(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit([symbols])
    assert model.counts_.emission.sum() == pytest.approx(200_000, rel=1e-9)
    assert model.counts_.transition.sum() == pytest.approx(199_999, rel=1e-9)
    assert np.isfinite(model.score([symbols]))
    assert model.predict([symbols])[0].shape == states.shape


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", ["em", "vb", "cvb sequence", "cvb token", "gibbs"])
def test_seventy_thousand_sentences(name):
    symbols, _ = well_separated_chain(210_000)
    X = symbols.reshape(70_000, 3).tolist()
    model = two_sweeps(name)
    model.fit(X)
    assert model.counts_.start.sum() == pytest.approx(70_000, rel=1e-9)
    assert len(model.labels_) == 70_000
    assert model.score_samples(X).shape == (70_000,)


# One long sequence.


def test_leaving_out_all_there_is_warns_with_both_remedies():
    symbols, states = well_separated_chain(20_000)
    message = (
        "sequence 0 holds more than half of all tokens: .* use update='token', or "
        r"update=Windows\(n\) to leave out n tokens at a time"
    )
    accuracies = []
    for seed in range(5):
        with pytest.warns(UserWarning, match=message):
            model = CVBHMM(3, update="sequence", max_iter=30, random_state=seed).fit([symbols])
        accuracies.append(one_to_one_accuracy([states], model.labels_))
    # Only rounding tells states apart, so that starts end anywhere, but none where they should.
    assert max(accuracies) < 0.9
    assert np.mean(accuracies) < 0.75


@pytest.mark.long
@pytest.mark.parametrize("remedy", [{"update": "token"}, {"update": Windows(100)}], ids=str)
def test_both_remedies_recover_the_states(remedy):
    symbols, states = well_separated_chain(20_000)
    # One start in ten gets there by tokens, six in ten by blocks (EM: three in ten).
    model = CVBHMM(3, n_init=5, max_iter=100, tol=1e-4, random_state=4, **remedy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit([symbols])
    accuracy = one_to_one_accuracy([states], model.labels_)
    print(f"{remedy}: one-to-one accuracy {accuracy:.3f}")
    assert accuracy > 0.9
    assert one_to_one_accuracy([states], model.predict([symbols])) > 0.9


def test_the_warning_waits_for_more_than_half():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick(CVBHMM).fit([["a", "b", "a"], ["b", "b", "a"]])
        quick(CVBHMM, update="token").fit([["a", "b", "a"]])
    with pytest.warns(UserWarning, match="sequence 1 holds more than half") as warned:
        quick(CVBHMM, n_init=2).fit([["a", "b"], ["b", "b", "a"]])
    # Once, and of the line that calls fit.
    told = [warning for warning in warned if "holds more than half" in str(warning.message)]
    assert [warning.filename for warning in told] == [__file__]


# Concentrations of 1e-10.


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("init", ["token", "parameter", "unambiguous"])
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("n_components", [1, 2, 6])
def test_tiny_concentrations(name, init, n_components):
    kind, settings = ALGORITHMS[name]
    symbols, _ = well_separated_chain(300)
    X = [row.tolist() for row in np.split(symbols, [3, 4, 20, 60, 100, 150, 151, 280])]
    tiny = {"alpha": 1e-10, "beta": 1e-10, "max_iter": 12}
    model = quick(kind, n_components=n_components, init=init, **tiny | settings).fit(X)
    assert_finite(model, X)
    assert model.counts_.emission.sum() == pytest.approx(300, rel=1e-9)
    assert model.counts_.transition.sum() == pytest.approx(300 - 9, rel=1e-9)
    assert not np.isnan(model.score([[0, "never seen", 5]]))


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_tiny_concentrations_with_a_dictionary(kind):
    legal = {"a": ["D"], "b": ["N", "V"], "c": ["V", "X"], "d": ["D", "N", "V", "X"]}
    X = [["a", "b", "c"], ["a", "b"], ["d", "c", "b", "a"], ["c"], ["a", "d", "d"]]
    tagger = quick(kind, tag_dictionary=legal, alpha=1e-10, beta=1e-10, max_iter=15).fit(X)
    assert_finite(tagger, X)
    for words, tags in zip(X, tagger.labels_, strict=True):
        assert all(tag in legal[word] for word, tag in zip(words, tags, strict=True))


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_huge_concentrations_flatten_everything(kind):
    X = [["a", "b", "b"], ["b", "a"], ["a", "a"]]
    model = quick(kind, alpha=1e10, beta=1e10, emission=Symbols(handle_unknown="error")).fit(X)
    assert model.transmat_ == pytest.approx(0.5, abs=1e-9)
    assert model.emissionprob_ == pytest.approx(0.5, abs=1e-9)
    assert model.score(X) == pytest.approx(np.log(0.5), abs=1e-9)


# A dictionary that leaves no choice.


@pytest.mark.parametrize("update", ["sequence", "token"])
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_a_dictionary_that_gives_every_word_one_tag(kind, update):
    legal = {"the": "D", "dog": "N", "duck": "N", "runs": "V"}
    X = [["the", "dog", "runs"], ["the", "duck", "runs", "the", "dog"], ["dog", "runs"]]
    settings = {"update": update} if kind is CVBHMMTagger else {}
    tagger = quick(kind, tag_dictionary=legal, max_iter=20, **settings).fit(X)
    assert [row.tolist() for row in tagger.labels_] == [[legal[w] for w in row] for row in X]
    assert tagger.counts_.transition == pytest.approx(
        np.array([[0, 3, 0], [0, 0, 3], [1, 0, 0]]), abs=1e-12
    )
    assert tagger.counts_.start == pytest.approx([2, 1, 0], abs=1e-12)
    if kind is not GibbsHMMTagger:
        assert tagger.converged_
        assert tagger.n_iter_ <= 4
    assert tagger.score(X, [[legal[w] for w in row] for row in X]) == 1


# Products of probabilities far below float64.


def _log_likelihood(model, sequence):
    """log p(x) with posterior means, step by step in log space."""
    with np.errstate(divide="ignore"):
        start, transition, emission = (
            np.log(table) for table in (model.startprob_, model.transmat_, model.emissionprob_)
        )
    message = start + emission[:, sequence[0]]
    for symbol in sequence[1:]:
        message = np.logaddexp.reduce(message[:, None] + transition, axis=0) + emission[:, symbol]
    return np.logaddexp.reduce(message)


# Concentrations this small are refused; the kernels stand them.
@config_context(skip_parameter_validation=True)
def test_words_nobody_emits_but_for_a_tiny_prior():
    # Each symbol 0..2 belongs to one state; the vocabulary has 3 that are never seen.
    rng = np.random.default_rng(0)
    X = [np.repeat(rng.integers(3, size=5), 4).tolist() for _ in range(20)]
    model = CVBHMM(
        3,
        beta=1e-300,
        emission=Symbols(vocabulary=range(6), handle_unknown="error"),
        random_state=0,
    )
    model.fit(X)
    sequence = np.r_[rng.integers(6, size=5000), np.full(5000, 4)]
    exact = _log_likelihood(model, sequence)
    assert exact < -1e6
    assert model.score_samples([sequence]) == pytest.approx([exact], rel=1e-11)
    assert np.isfinite(model.predict_proba([sequence])[0]).all()
    assert np.isfinite(model.filter_proba([sequence])[0]).all()


def test_weights_that_underflow_on_their_own_are_kept_as_logs():
    # exp(digamma(1e-5)) is exp(-1e5): no float64 holds it, the logs of VB do.
    X = [[0, 0, 1, 1]] * 5
    model = VBHMM(
        2, beta=1e-5, emission=Symbols(vocabulary=range(3), handle_unknown="error"), random_state=0
    )
    model.fit(X)
    bound = model.lower_bound_samples([[0, 2, 1]])[0]
    assert -1.2e5 < bound < -0.8e5
    proba = model.predict_proba([[0, 2, 1], [2] * 10_000])
    for table in proba:
        assert np.isfinite(table).all()
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-5)
