"""The smallest concentrations that are allowed still give right answers, and none is below.

Counts less than 1e-12 or so are rounding once larger ones have been added and taken away, so that
a prior far below is lost; the re-statements add up what is left, and lose nothing.
"""

import warnings

import numpy as np
import pytest
import restatement
import restatement_pcfg as plain
from dependency_enumeration import Tables, log_arc_weight, projective_trees, ways_of_tree
from enumerated import enumerated_grammar, learned
from estimators import ALGORITHMS, fit_sweeps, fitted_counts, make_estimator
from scipy.special import digamma, logsumexp
from sklearn.exceptions import ConvergenceWarning
from watching import watch

import sklearn_cvb
from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors, make_problem, random_problem
from sklearn_cvb import (
    CVBHMM,
    CVBPCFG,
    VBDMV,
    VBPCFG,
    ArcWeights,
    GammaPrior,
    GibbsPCFG,
    Grammar,
    HastingsPCFG,
    Samples,
    Symbols,
    Valence,
)
from sklearn_cvb.dependency.parameters import cells_from
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


@pytest.mark.many(usual=6)
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


@pytest.mark.long
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


@pytest.mark.many(usual=4)
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


@pytest.mark.many(usual=5)
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


# Tags t0 to t2, sentences with others, and with steps that training sentences have not.
TAGGED = [["t0", "t1", "t2"], ["t1", "t2"], ["t0", "t1", "t2", "t0", "t1"]] * 3
STRANGE = [
    *(["x", "t1", "t2"], ["t1", "x", "t2", "y"], ["x"], ["x", "y"], ["x", "y", "z"]),
    *(["t0", "t1"], ["t0", "t0", "t0"], ["t2", "t0", "x"], ["t2", "t2", "t1", "x"]),
]
ARCS = {("t1", "t0"): 3.0, (None, "t2"): 5.0, ("t2", "t1", "left"): 2.0}


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("alpha", [1.35e-3, 1e-3, 1e-6])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"valence": Valence(extended=True)},
        {"valence": Valence(extended=True, backoff="head")},
        {"valence": Valence(backoff="direction")},
        {"arc_weights": ArcWeights(ARCS)},
    ],
    ids=["plain", "extended", "extended-backoff", "backoff", "arc-weights"],
)
def test_heads_of_strange_sentences_have_the_posterior_of_their_enumeration(alpha, settings):
    """In logs: float64 has no weight of theirs."""
    model = VBDMV(alpha=alpha, max_iter=5, random_state=0, **settings).fit(TAGGED)
    counts, names = cells_from(model.counts_), model.vocabulary_.tolist()
    valence = settings.get("valence", Valence())
    tables = Tables(len(names) + 1, 1 + valence.extended, valence.backoff)
    cells = counts + model._learned.prior
    row = tables.row_of_cell()
    logs = digamma(cells) - digamma(np.bincount(row, cells))[row]
    arcs = ARCS if "arc_weights" in settings else {}
    for sentence in STRANGE:
        tags = [names.index(tag) if tag in names else len(names) for tag in sentence]
        trees, n = projective_trees(len(tags)), len(tags)
        weights = np.array(
            [
                logsumexp([logs[way].sum() for way in ways_of_tree(tags, heads, tables)])
                + log_arc_weight(tags, heads, arcs)
                for heads in trees
            ]
        )
        expected = np.zeros((n, n + 1))
        for heads, share in zip(trees, np.exp(weights - logsumexp(weights)), strict=True):
            expected[np.arange(n), list(heads)] += share
        np.testing.assert_allclose(model.predict_proba([sentence])[0], expected, atol=1e-8)
        best = trees.index(tuple(model.predict([sentence])[0].tolist()))
        assert weights[best] == pytest.approx(weights.max(), rel=1e-12, abs=1e-9)


def add_spans(tree, names, begin, share, table):
    """Add a tree's constituents from a word on to a table of spans; returns where it ends."""
    end = begin
    for part in tree:
        is_word = not hasattr(part, "label")
        end = end + 1 if is_word else add_spans(part, names, end, share, table)
    table[begin, end, names.index(tree.label())] += share
    return end


@pytest.mark.parametrize("alpha", [1e-3, 1e-5, SMALLEST])
def test_spans_of_unseen_words_have_the_posterior_of_all_trees(alpha):
    model = VBPCFG(n_components=2, alpha=alpha, max_iter=5, random_state=0).fit(TAGGED)
    names = model.symbols_.tolist()
    for sentence in STRANGE[:6]:
        trees = model.parse([sentence], 1000)[0]
        logs = np.array([value for _, value in trees])
        found = model.predict_proba([sentence])[0]
        expected = np.zeros_like(found)
        for (tree, _), share in zip(trees, np.exp(logs - logsumexp(logs)), strict=True):
            add_spans(tree, names, 0, share, expected)
        np.testing.assert_allclose(found, expected, atol=2e-5)
