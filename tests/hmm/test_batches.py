"""Sequences left out several at a time: against a slow restatement, and at the edges."""

import numpy as np
import pytest
import restatement
from estimators import as_states, fitted_counts, make_estimator
from hmm.unequal_priors import fit_with_unequal_priors
from problems import initial_posteriors, random_problem, unequal_priors
from sklearn import config_context
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import CVBHMM, CVBHMMTagger
from sklearn_cvb.hmm import batches, leave_out
from sklearn_cvb.validation import InvalidParameterError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LENGTHS = [4, 1, 3, 6, 2, 5, 3]
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
DICTIONARY = pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])


def _case(seed, n_states, dictionary):
    rng = np.random.default_rng([seed, n_states, dictionary])
    problem = random_problem(rng, n_states, 6, LENGTHS, dictionary, missing=0.15)
    problem.alpha[-1] = rng.choice([0.2, 0.5])  # the start row's own prior
    return problem, initial_posteriors(rng, problem)


def _batches(problem, batch_size):
    """The batches: sequences by falling length, equal ones in the order of the corpus."""
    lengths = [len(sequence) for sequence in problem.sequences]
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]


def _counts_without(problem, q, xi, batch):
    """Expected counts of the sequences outside a batch."""
    kept = [i for i in range(len(q)) if i not in batch]
    rest = problem._replace(sequences=[problem.sequences[i] for i in kept])
    return restatement.expected_counts(rest, [q[i] for i in kept], [xi[i] for i in kept])


def _batch_sweeps(problem, q, n_sweeps, batch_size):
    """Sweeps, the value of each, and the score of what a batch says about the next."""
    q, xi, history = list(q), [restatement.pair_products(marginals) for marginals in q], []
    n_observed = sum(symbol is not None for row in problem.sequences for symbol in row)
    for _ in range(n_sweeps):
        total = 0.0
        for batch in _batches(problem, batch_size):
            counts = _counts_without(problem, q, xi, batch)
            weights = restatement.sequence_weights(problem, counts)
            for i in batch:
                log_z, q[i], xi[i] = restatement.forward_backward(problem, weights, i)
                total += log_z
        history.append(total / n_observed)
    score = 0.0
    for batch in _batches(problem, batch_size):
        weights = restatement.sequence_weights(problem, _counts_without(problem, q, xi, batch))
        score += sum(restatement.forward_backward(problem, weights, i)[0] for i in batch)
    counts = restatement.expected_counts(problem, q, xi)
    return restatement.Result(q, xi, counts, history), score / n_observed


def _assert_same(estimator, result, score):
    counts = fitted_counts(estimator)
    np.testing.assert_allclose(counts.transition, result.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, result.counts.emission, **TOLERANCE)
    np.testing.assert_allclose(estimator.history_, result.history, **TOLERANCE)
    assert estimator.loo_score_ == estimator.objective_ == pytest.approx(score, abs=1e-10)


def _fit(problem, q, batch_size, n_sweeps=3, **keywords):
    keywords = {"init": q, "tol": 0, "max_iter": n_sweeps, "batch_size": batch_size} | keywords
    return make_estimator("CVB", problem, **keywords).fit(problem.sequences)


@pytest.mark.parametrize("batch_size", [2, 3, 5, 7, 100])
@DICTIONARY
@pytest.mark.parametrize("n_states", [1, 2, 3, 4])
def test_sweeps_agree(n_states, dictionary, batch_size):
    for seed in range(2):
        problem, q = _case(seed, n_states, dictionary)
        estimator = _fit(problem, q, batch_size)
        _assert_same(estimator, *_batch_sweeps(problem, q, 3, batch_size))


@DICTIONARY
def test_training_posteriors_agree(dictionary):
    problem, q = _case(2, 3, dictionary)
    estimator = _fit(problem, q, 3, warm_start=True)
    result, _ = _batch_sweeps(problem, q, 3, 3)
    for table, exact in zip(estimator.training_posteriors(), result.q, strict=True):
        np.testing.assert_allclose(table, exact, **TOLERANCE)
    for labels, table in zip(estimator.labels_, result.q, strict=True):
        np.testing.assert_array_equal(as_states(labels), table.argmax(axis=1))


@DICTIONARY
def test_unequal_priors_agree(dictionary):
    for seed in range(3):
        problem, q = _case(seed, 3, dictionary)
        problem = unequal_priors(np.random.default_rng(seed), problem)
        keywords = {"init": q, "tol": 0, "max_iter": 3, "batch_size": 3}
        estimator = fit_with_unequal_priors("CVB", problem, **keywords)
        _assert_same(estimator, *_batch_sweeps(problem, q, 3, 3))


@pytest.mark.parametrize("kind", [CVBHMM, CVBHMMTagger])
def test_batches_wider_than_what_goes_side_by_side(kind):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, size=90).tolist()
    problem = random_problem(rng, 9, 6, lengths, missing=0.1)
    q = initial_posteriors(rng, problem)
    estimator = kind(
        n_components=9,
        alpha=float(problem.alpha[0, 0]),
        beta=float(problem.beta[0, 0]),
        vocabulary=range(6),
        handle_unknown="error",
        init=q,
        tol=0,
        max_iter=2,
        batch_size=40,
    ).fit(problem.sequences)
    _assert_same(estimator, *_batch_sweeps(problem, q, 2, 40))


def test_one_after_the_other_gives_the_same(monkeypatch):
    problem, _ = _case(4, 4, False)
    keywords = {"init": "parameter", "tol": 0, "max_iter": 25, "batch_size": 3}
    together = make_estimator("CVB", problem, **keywords).fit(problem.sequences)
    monkeypatch.setattr(batches, "_LARGEST_STEP", 0)
    apart = make_estimator("CVB", problem, **keywords).fit(problem.sequences)
    np.testing.assert_allclose(together.history_, apart.history_, rtol=1e-9)
    np.testing.assert_allclose(together.transmat_, apart.transmat_, rtol=1e-7, atol=1e-9)
    assert together.loo_score_ == pytest.approx(apart.loo_score_, rel=1e-9)


# Concentrations this small are refused; the kernels stand them.
@config_context(skip_parameter_validation=True)
def test_out_of_range_of_float64(monkeypatch):
    # Words that all other batches lack, in a corpus without pseudo-counts worth the name.
    X = [[f"{i}{t}" for t in range(5)] for i in range(8)]
    settings = {"n_components": 3, "beta": 1e-300, "alpha": 1e-3, "max_iter": 3, "tol": 0}
    model = CVBHMM(batch_size=2, random_state=0, **settings).fit(X)
    monkeypatch.setattr(batches, "_LARGEST_STEP", 0)
    apart = CVBHMM(batch_size=2, random_state=0, **settings).fit(X)
    assert np.isfinite(model.history_).all()
    np.testing.assert_allclose(model.history_, apart.history_, rtol=1e-9)
    np.testing.assert_allclose(model.counts_.transition, apart.counts_.transition, atol=1e-9)


@DICTIONARY
def test_learned_concentrations_do_not_depend_on_the_layout(dictionary, monkeypatch):
    """Pairs kept as blocks or as sums; side by side nobody could watch every pair."""
    problem, q = _case(5, 3, dictionary)
    settings = {"alpha": "auto", "beta": "auto", "start_alpha": None, "warm_start": True}
    fits = []
    for summed in (1e-9, 1e9):
        monkeypatch.setattr(leave_out, "_SUMMED", summed)
        fits.append(_fit(problem, q, 3, n_sweeps=24, **settings))
        state = fits[-1]._resume[1].state
        assert state.batches.side_by_side is None
        assert state.layout.sequences.summed.any() == (summed > 1)
    learned, apart = fits
    assert learned.alpha_ != 0.1
    assert learned.beta_ != 0.1
    assert learned.alpha_ == pytest.approx(apart.alpha_, rel=1e-8)
    assert learned.beta_ == pytest.approx(apart.beta_, rel=1e-8)


def _corpus(n=30):
    rng = np.random.default_rng(0)
    return [rng.integers(8, size=length).tolist() for length in rng.integers(2, 12, size=n)]


@pytest.mark.parametrize("dictionary", [None, {0: ["A"], 1: ["A", "B"], 2: ["B", "C"]}], ids=str)
def test_a_batch_of_one_is_the_default(dictionary):
    settings = {"tag_dictionary": dictionary, "random_state": 0, "max_iter": 5}
    if dictionary is None:
        settings["n_components"] = 3
    default = CVBHMMTagger(**settings).fit(_corpus())
    single = CVBHMMTagger(**settings, batch_size=1).fit(_corpus())
    assert default.history_.tolist() == single.history_.tolist()
    assert default.loo_score_ == single.loo_score_
    assert default.transmat_.tolist() == single.transmat_.tolist()


@pytest.mark.parametrize("batch_size", [4, 20])
def test_threads_do_not_change_the_result(batch_size):
    fits = [
        CVBHMM(3, batch_size=batch_size, n_init=3, max_iter=8, random_state=0, n_jobs=n).fit(
            _corpus(60)
        )
        for n in (1, 2)
    ]
    assert fits[0].restart_objectives_.tolist() == fits[1].restart_objectives_.tolist()
    assert fits[0].transmat_.tolist() == fits[1].transmat_.tolist()
    assert fits[0].history_.tolist() == fits[1].history_.tolist()


def test_sizes_can_be_searched():
    model = CVBHMM(2, max_iter=4, random_state=0)
    search = GridSearchCV(model, {"batch_size": [1, 2, 8]}, cv=2).fit(_corpus())
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["batch_size"] in (1, 2, 8)


def test_a_warm_start_goes_on_with_the_same_batches():
    settings = {"n_components": 3, "random_state": 0, "tol": 0, "warm_start": True}
    whole = CVBHMM(max_iter=8, batch_size=4, **settings).fit(_corpus())
    model = CVBHMM(max_iter=3, batch_size=4, **settings).fit(_corpus())
    model.set_params(max_iter=5).fit(_corpus())
    assert model.history_.tolist() == whole.history_[3:].tolist()
    # Another size keeps its pairs in another form: the fit begins anew.
    anew = CVBHMM(max_iter=5, batch_size=8, **settings).fit(_corpus())
    model.set_params(batch_size=8).fit(_corpus())
    assert model.history_.tolist() == anew.history_.tolist()
    model.set_params(batch_size=1).fit(_corpus())
    assert len(model.history_) == 5


@pytest.mark.parametrize("other", [{"update": "token"}, {"block_length": 5}], ids=str)
def test_a_warm_start_with_other_things_left_out_begins_anew(other):
    """What is left out decides how posteriors are kept; there and back."""
    settings = {"n_components": 3, "random_state": 0, "tol": 0, "max_iter": 4}
    sequences, others = ({**settings, "warm_start": True, **way} for way in ({}, other))
    for before, now in ((sequences, others), (others, sequences)):
        anew = CVBHMM(**now).fit(_corpus())
        model = CVBHMM(**before).fit(_corpus())
        model.set_params(**{"update": "sequence", "block_length": None, **now}).fit(_corpus())
        assert model.history_.tolist() == anew.history_.tolist()


@pytest.mark.parametrize("other", [{"update": "token"}, {"block_length": 5}], ids=str)
def test_other_things_left_out_are_refused(other):
    with pytest.raises(InvalidParameterError, match="batch_size=4 leaves out whole sequences"):
        CVBHMM(2, batch_size=4, **other).fit(_corpus())


@pytest.mark.parametrize("size", [0, -1, 2.5, "all"])
def test_sizes_that_are_none(size):
    with pytest.raises(InvalidParameterError, match="batch_size"):
        CVBHMM(2, batch_size=size).fit(_corpus())


@pytest.mark.filterwarnings("default")
def test_a_batch_of_most_tokens_is_warned_about():
    message = "batch_size=25 a batch holds more than half of all tokens"
    with pytest.warns(UserWarning, match=message):
        CVBHMM(2, batch_size=25, max_iter=2, random_state=0).fit(_corpus())
    with pytest.warns(UserWarning, match="batch_size=1000 a batch holds more than half"):
        model = CVBHMM(2, batch_size=1000, max_iter=2, random_state=0).fit(_corpus())
    # Nothing is left but the prior, which knows no state from another.
    np.testing.assert_allclose(model.transmat_, 0.5)


@pytest.mark.filterwarnings("error")
def test_small_batches_are_not_warned_about():
    CVBHMM(2, batch_size=4, max_iter=2, random_state=0).fit(_corpus())
