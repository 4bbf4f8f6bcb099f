"""The smallest concentrations that are allowed still give right answers, and none is below.

Counts less than 1e-12 or so are rounding once larger ones have been added and taken away, so that
a prior far below is lost; the re-statements add up what is left, and lose nothing.
"""

import warnings

import brute
import numpy as np
import pytest
import restatement
import restatement_pcfg as plain
from enumerated import enumerated_grammar, learned
from estimators import ALGORITHMS, fit_sweeps, fitted_counts, make_estimator
from problems import initial_posteriors, make_problem, random_problem
from sklearn.exceptions import ConvergenceWarning
from watching import watch

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    CVBPCFG,
    GammaPrior,
    GibbsPCFG,
    Grammar,
    HastingsPCFG,
    Samples,
    Symbols,
)
from sklearn_cvb.learning.dirichlet import FIRST_VALUE, SMALLEST

pytestmark = pytest.mark.filterwarnings("ignore:.* holds more than half of all tokens")
LEARNERS = [
    name
    for name in sklearn_cvb.__all__
    if name.startswith(("VB", "CVB", "Gibbs", "Hastings"))
    and not name.endswith(("LatentPCFG", "AlignmentHMM"))
]


def with_own_words(n_sequences, length, rng):
    """Sequences that share two words, and have three each that no other has."""
    own = rng.integers(3, size=(n_sequences, length)) + 2 + 3 * np.arange(n_sequences)[:, None]
    is_own = rng.random((n_sequences, length)) < 0.6
    return np.where(is_own, own, rng.integers(2, size=own.shape)).tolist()


@pytest.mark.parametrize(("n_sequences", "length"), [(1, 30), (2, 30), (4, 15)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_chains_equal_their_restatements(name, n_sequences, length):
    X = with_own_words(n_sequences, length, np.random.default_rng(0))
    problem = make_problem(X, 3, 2 + 3 * n_sequences, SMALLEST, SMALLEST)
    q = initial_posteriors(np.random.default_rng(1), problem)
    model, expected = fit_sweeps(name, problem, q, 3), ALGORITHMS[name][2](problem, q, 3)
    for got, counts in zip(fitted_counts(model), expected.counts, strict=True):
        np.testing.assert_allclose(got, counts, atol=2e-5)
    if name.startswith("cvb"):
        score = restatement.leave_one_out_score(problem, expected.q, expected.xi)
        assert model.loo_score_ == pytest.approx(score, abs=2e-5)


@pytest.mark.parametrize("concentration", [SMALLEST, 0.1])
def test_one_sequence_is_inferred_from_the_prior_alone(concentration):
    X = [np.random.default_rng(0).integers(4, size=5000).tolist()]
    settings = {"alpha": concentration, "beta": concentration, "max_iter": 25, "tol": 0}
    settings |= {"emission": Symbols(handle_unknown="error"), "random_state": 0}
    model = CVBHMM(3, update="sequence", **settings).fit(X)
    np.testing.assert_allclose(model.history_, -np.log(4), rtol=1e-12)
    assert model.loo_score_ == pytest.approx(-np.log(4), rel=1e-12)
    assert model.counts_.emission.sum(axis=0) == pytest.approx([5000 / 3] * 3, rel=1e-9)
    assert model.counts_.transition == pytest.approx(np.full((3, 3), 4999 / 9), rel=1e-9)


@pytest.mark.parametrize("update", ["token", "sequence", "parameter"])
def test_samples_of_states_have_the_exact_probability(update):
    problem = make_problem([[0, 1], [1, 0], [0, 0]], 2, 2, SMALLEST, SMALLEST)
    settings = {"update": update, "max_iter": 300, "samples": Samples(0, thin=1)}
    chain = make_estimator("Gibbs", problem, **settings).fit(problem.sequences)
    expected = brute.collapsed_log_joint(problem, chain.samples_)
    np.testing.assert_allclose(chain.history_, expected, rtol=1e-9)


TEXT = "S -> A S | S A | 'a'\nA -> A A | S A | 'a' | 'b'"
SENTENCES = [list(words) for words in ("aba", "baa", "abba", "aa")]


def test_sentences_equal_their_enumeration():
    grammar = Grammar.from_text(TEXT)
    theta = plain.normalised(grammar, np.linspace(0.2, 1.0, len(grammar.rules)))
    settings = {"init": theta, "max_iter": 4, "tol": 0, "handle_unknown": "error"}
    model = CVBPCFG(grammar, alpha=SMALLEST, **settings).fit(SENTENCES)
    twin = enumerated_grammar(model, SENTENCES, 1)
    state, history = learned(twin, model._algorithm(), theta, 4)
    np.testing.assert_allclose(model.counts_.rule, state.counts, atol=1e-5)
    np.testing.assert_allclose(model.history_, history, atol=1e-5)


@pytest.mark.parametrize("kind", [HastingsPCFG, GibbsPCFG])
def test_samples_of_trees_have_the_exact_probability(kind):
    grammar = Grammar.from_text(TEXT)
    for n in (1, 10, 30):
        # The last sample alone is kept.
        settings = {"max_iter": n, "samples": Samples(n - 1), "random_state": n}
        model = kind(grammar, alpha=SMALLEST, handle_unknown="error", **settings).fit(SENTENCES)
        expected = plain.log_joint(grammar, model.counts_.rule, SMALLEST)
        assert model.history_[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_learned_concentrations_stop_there(name):
    """Under a prior that asks for less."""
    kind = getattr(sklearn_cvb, name)
    settings = {"alpha": GammaPrior(1.0, 1e13), "max_iter": 60, "random_state": 0}
    if not name.endswith(("PCFG", "DMV")):
        settings |= {"n_components": 2, "beta": GammaPrior(1.0, 1e13)}
    model = kind(**settings).fit(SENTENCES)
    assert model.alpha_ == SMALLEST != FIRST_VALUE
    assert getattr(model, "beta_", SMALLEST) == SMALLEST
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.score(SENTENCES))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_restart_that_lost_its_numbers_never_wins(name, wrong):
    given = []

    def objective(sound, *arguments):
        given.append(sound(*arguments))
        return given[-1] if len(given) in (2, 4) else wrong

    settings = {"n_components": 2, "init": "parameter"}
    if name.endswith("DMV"):
        settings = {"init": "random"}
    settings |= {"n_init": 5, "max_iter": 5}
    model = getattr(sklearn_cvb, name)(**settings, random_state=0)
    watch(model, "objective", objective)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(SENTENCES)
    assert model.objective_ == max(given[1], given[3])
    assert np.array_equal(model.restart_objectives_[[1, 3]], [given[1], given[3]])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("dictionary", [False, True])
def test_one_sequence_equals_its_restatement(dictionary, missing):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, 3, 6, [14], dictionary=dictionary, missing=missing)
        q = initial_posteriors(rng, problem)
        model = fit_sweeps("cvb_sequence", problem, q, 3)
        expected = restatement.cvb_sequence_sweeps(problem, q, 3)
        for got, counts in zip(fitted_counts(model), expected.counts, strict=True):
            np.testing.assert_allclose(got, counts, atol=1e-10)
        assert model.loo_score_ == pytest.approx(expected.history[-1], abs=1e-10)
