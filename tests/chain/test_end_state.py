"""The end of a sequence as an event: against enumeration, restatements and the exact posterior.

A problem "with the end" has one more token in each sequence, missing and in the last state.
"""

import itertools
import pickle

import numpy as np
import pytest
import restatement
from estimators import ALGORITHMS, exp_digamma, heeded, make_estimator, tag
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sklearn_cvb
from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import (
    initial_posteriors,
    legal_states,
    make_problem,
    random_problem,
    with_priors,
)
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    Samples,
    Symbols,
    Transitions,
    Windows,
)
from sklearn_cvb.metrics.matching import relabel

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
LENGTHS = [4, 1, 3, 2, 5]
X = [["a", "b", "a"], ["b"], ["a", "c", "b", "b"], ["c", "a"]]
KINDS = [
    f"{prefix}{kind}" for prefix in ("EM", "VB", "CVB", "Gibbs") for kind in ("HMM", "HMMTagger")
]


def _with_end(problem, transition=None, start=None):
    """The problem with an end; the cells that nothing counts in have no prior but one."""
    n = problem.n_states
    allowed = [
        [list(legal_states(problem, i, t)) for t in range(len(sequence))] + [[n]]
        for i, sequence in enumerate(problem.sequences)
    ]
    mask = np.ones((n + 2, n + 1), bool)
    mask[n] = mask[-1, n] = False
    mask[n, n] = True
    if transition is not None:
        mask[:n, :n], mask[-1, :n] = transition, start
    alpha = np.full((n + 2, n + 1), problem.alpha[0, 0])
    alpha[-1] = problem.alpha[-1, 0]
    return problem._replace(
        sequences=[[*sequence, None] for sequence in problem.sequences],
        n_states=n + 1,
        alpha=np.where(mask, alpha, 0.0),
        beta=np.vstack([problem.beta, np.ones(problem.n_symbols)]),
        allowed=allowed,
        dictionary=None,
        mask=mask,
    )


def _posteriors_with_end(q):
    return [
        np.pad(table, ((0, 1), (0, 1))) + _last_cell(len(table) + 1, table.shape[1] + 1)
        for table in q
    ]


def _last_cell(*shape):
    table = np.zeros(shape)
    table[-1, -1] = 1.0
    return table


def _counts(estimator):
    counts, n = estimator.counts_, len(estimator.counts_.start)
    transition = np.zeros((n + 2, n + 1))
    transition[:n, :n], transition[:n, n] = counts.transition, estimator.end_counts_
    transition[-1, :n] = counts.start
    emission = counts.emission
    emission = emission if isinstance(emission, np.ndarray) else emission.toarray()
    return transition, np.vstack([emission.T, np.zeros(len(emission))])


def _weights(model):
    """Transitions with the end, (K + 2, K + 1), and emissions, (K + 1, W)."""
    n = len(model.startprob_)
    transition = np.zeros((n + 2, n + 1))
    transition[:n, :n], transition[:n, n] = model.transmat_, model.endprob_
    transition[-1, :n] = model.startprob_
    return transition, np.vstack([model.emissionprob_, np.zeros(model.emissionprob_.shape[1])])


def _case(seed, dictionary):
    rng = np.random.default_rng([seed, 11, dictionary])
    problem = random_problem(rng, 3, 6, LENGTHS, dictionary, 0.15)
    problem.alpha[-1] = rng.choice([0.2, 0.5])
    return problem, initial_posteriors(rng, problem)


def _fit(name, problem, q, n_sweeps, **others):
    prefix, keywords, _ = ALGORITHMS[name]
    keywords = keywords | {
        "init": q,
        "tol": 0,
        "max_iter": n_sweeps,
        "transitions": Transitions(end_state=True),
    }
    return make_estimator(prefix, problem, **keywords | others).fit(problem.sequences)


def _assert_same(estimator, result):
    transition, emission = _counts(estimator)
    np.testing.assert_allclose(transition, result.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(emission, result.counts.emission, **TOLERANCE)
    np.testing.assert_allclose(estimator.objective_, result.history[-1], **TOLERANCE)


# Sweeps


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_sweeps_agree_with_the_restatement(name, dictionary):
    for seed, n_sweeps in itertools.product(range(3), (1, 2, 4)):
        problem, q = _case(seed, dictionary)
        estimator = _fit(name, problem, q, n_sweeps)
        ended = _with_end(problem)
        if name == "em":
            # The end emits nothing: its row has no prior in the objective.
            ended.beta[-1] = 0.0
        result = ALGORITHMS[name][2](ended, _posteriors_with_end(q), n_sweeps)
        _assert_same(estimator, result)


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
def test_maximum_likelihood_agrees(dictionary):
    problem, q = _case(0, dictionary)
    problem = with_priors(problem, 0.0, 0.0)
    ended = _with_end(problem)
    ended.beta[-1] = 0.0
    result = restatement.em_sweeps(ended, _posteriors_with_end(q), 3)
    _assert_same(_fit("em", problem, q, 3), result)


@pytest.mark.parametrize("topology", ["left-right", "ring"])
@pytest.mark.parametrize("name", ["em", "vb", "cvb_sequence"])
def test_sweeps_agree_under_a_topology(name, topology):
    ring = np.eye(3, dtype=bool) | np.roll(np.eye(3, dtype=bool), 1, axis=1)
    transition = ring if topology == "ring" else np.triu(np.ones((3, 3), bool))
    start = np.array([True, topology == "ring", topology == "ring"])
    problem, q = _case(1, False)
    for table in q:
        table[0] = np.where(start, table[0], 0.0) / table[0, start].sum()
    ended = _with_end(problem, transition, start)
    if name == "em":
        ended.beta[-1] = 0.0
    value = ring if topology == "ring" else topology
    estimator = _fit(name, problem, q, 3, transitions=Transitions(value, end_state=True))
    _assert_same(estimator, ALGORITHMS[name][2](ended, _posteriors_with_end(q), 3))
    assert not estimator.transmat_[~transition].any()


def test_the_restatement_without_the_end_would_be_noticed():
    problem, q = _case(0, False)
    counts = _fit("cvb_sequence", problem, q, 3).counts_.transition
    plain = restatement.cvb_sequence_sweeps(problem, q, 3).counts.transition[:-1]
    assert np.abs(counts - plain).max() > 1e-3


def test_em_gives_relative_frequencies_of_labelled_data():
    y = [["A", "B", "A"], ["B"], ["A", "A", "B", "B"], ["B", "A"]]
    model = EMHMMTagger(
        transitions=Transitions(end_state=True), alpha=0.0, beta=0.0, max_iter=3
    ).fit(X, y)
    # A is followed by A, B, the end in 1, 2, 2 of 5 tokens; B in 2, 1, 2 of 5.
    np.testing.assert_allclose(model.transmat_, [[0.2, 0.4], [0.4, 0.2]])
    np.testing.assert_allclose(model.endprob_, [0.4, 0.4])
    np.testing.assert_allclose(model.startprob_, [0.5, 0.5])
    np.testing.assert_allclose(model.end_counts_, [2.0, 2.0])


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("seed", range(8))
def test_the_bound_rises_and_stays_below_the_evidence(seed):
    rng = np.random.default_rng([7, seed])
    problem = random_problem(rng, 2 + seed % 2, 4, [3, 2, 3, 1], seed % 4 < 2, 0.1)
    model = make_estimator(
        "VB",
        problem,
        transitions=Transitions(end_state=True),
        max_iter=60,
        tol=0,
        random_state=seed,
    )
    history = model.fit(problem.sequences).history_
    assert np.diff(history).min() >= -1e-7
    assert history.max() <= brute.collapsed_posterior(_with_end(problem)).log_evidence + 1e-10


def test_the_bound_is_the_evidence_of_one_state():
    problem = random_problem(np.random.default_rng(0), 1, 4, [3, 2, 4])
    model = make_estimator("VB", problem, transitions=Transitions(end_state=True), max_iter=3).fit(
        problem.sequences
    )
    exact = brute.collapsed_posterior(_with_end(problem)).log_evidence
    assert model.lower_bound_ == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("pseudo_count", [0.0, 0.3])
def test_em_never_falls(pseudo_count):
    problem, _ = _case(2, True)
    problem = with_priors(problem, pseudo_count, pseudo_count)
    model = make_estimator(
        "EM", problem, transitions=Transitions(end_state=True), max_iter=40, tol=0
    )
    assert np.diff(model.fit(problem.sequences).history_).min() >= -1e-7


# With parameters drawn, too, a chain moves more slowly.
@pytest.mark.long
@pytest.mark.parametrize(
    ("update", "n_sweeps"), [("token", 5_000), ("sequence", 5_000), ("parameter", 10_000)]
)
def test_samples_follow_the_exact_posterior(update, n_sweeps):
    problem = make_problem([[0, 1, 0], [1], [2, 0]], 2, 3, 0.8, 0.6)
    settings = {"max_iter": 500 + n_sweeps, "samples": Samples(500, thin=1)}
    settings |= {"update": update, "transitions": Transitions(end_state=True)}
    chain = make_estimator("Gibbs", problem, **settings).fit(problem.sequences)
    assert chain.samples_.shape == (n_sweeps, 6)
    assert chain.chains_.n_occupied.max() == 2
    ended, given = _with_end(problem), [0, 1, 2, 4, 6, 7]
    assert _variation(chain.samples_, ended, given) < 0.05
    assert _variation(chain.samples_, problem, range(6)) > 0.1
    z = np.full(9, 2)
    z[given] = chain.samples_[-1]
    exact = float(brute.collapsed_log_joint(ended, z[None])[0])
    assert chain.history_[-1] == pytest.approx(exact, abs=1e-8)


def _variation(samples, problem, given):
    """Total variation between sampled paths and the exact posterior of the `given` tokens."""
    z = brute.joint_assignments(problem)
    log_joint = brute.collapsed_log_joint(problem, z)
    exact = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    powers = 2 ** np.arange(len(given))
    shares = np.bincount(samples.astype(int) @ powers, minlength=2 ** len(given)) / len(samples)
    return 0.5 * np.abs(shares[z[:, given].astype(int) @ powers] - exact).sum()


# Reading a model


@pytest.mark.parametrize("name", KINDS)
def test_what_a_model_says_is_exact(name):
    settings = {
        "n_components": 2,
        "transitions": Transitions(end_state=True),
        "max_iter": 30,
        "random_state": 0,
    }
    settings |= {"samples": Samples()} if name.startswith("Gibbs") else {}
    model = getattr(sklearn_cvb, name)(emission=Symbols(handle_unknown="error"), **settings).fit(X)
    transition, emission = _weights(model)
    np.testing.assert_allclose(model.transmat_.sum(axis=1) + model.endprob_, 1.0)
    assert model.transmat_.shape == (2, 2)
    assert model.end_counts_.sum() == pytest.approx(4)
    assert model.counts_.transition.sum() == pytest.approx(6)
    transition_p, emission_p = transition.copy(), emission.copy()
    if name.startswith("VB"):
        u, beta = _counts(model)
        transition_p[:2] = exp_digamma(u[:2] + model.alpha_)
        transition_p[-1, :2] = exp_digamma(u[-1:, :2] + model.alpha_)
        emission_p[:2] = exp_digamma(beta[:2] + model.beta_)
    codes = {word: i for i, word in enumerate(model.vocabulary_)}
    scores, proba, filtered = model.score_samples(X), model.predict_proba(X), model.filter_proba(X)
    for i, words in enumerate(X):
        sequence = [*(codes[word] for word in words), None]
        allowed = [[0, 1]] * len(words) + [[2]]
        read = sequence, transition_p, emission_p, allowed
        np.testing.assert_allclose(proba[i], brute.marginals(*read)[:-1, :2], **TOLERANCE)
        np.testing.assert_allclose(
            filtered[i], brute.filtered_marginals(*read)[:-1, :2], **TOLERANCE
        )
        pairs = model.predict_pair_proba(X)[i]
        np.testing.assert_allclose(pairs, brute.pair_marginals(*read)[:-1, :2, :2], **TOLERANCE)
        for z, weight in brute.path_weights(*read).items():
            found = model.score_paths([words], [z[:-1]])[0]
            assert found == pytest.approx(np.log(weight), abs=1e-10)
        path = brute.path_weight((*map(int, model.predict(X)[i]), 2), *read[:3])
        assert np.log(path) == pytest.approx(brute.best_path(*read)[1])
        if not name.startswith("Gibbs"):
            exact = brute.log_likelihood(sequence, transition, emission, allowed)
            assert scores[i] == pytest.approx(exact, abs=1e-10)
    rest = model.predict_next_proba(X).sum(axis=1)
    if not name.startswith("VB"):
        ends = [1 - table[-1] @ model.endprob_ for table in filtered]
        np.testing.assert_allclose(rest, ends, **TOLERANCE)
    assert np.exp(-scores.sum() / 10) == pytest.approx(model.perplexity(X))


def test_likelihoods_of_a_sampler_average_over_samples():
    model = GibbsHMM(
        2,
        transitions=Transitions(end_state=True),
        samples=Samples(thin=5),
        emission=Symbols(handle_unknown="error"),
        max_iter=60,
    ).fit(X)
    assert model.samples_.shape[1] == 10
    total = 0.0
    for path in model.samples_:
        u = np.zeros((4, 3))
        u[:2] = u[3, :2] = 0.1
        emission = np.full((2, 3), 0.1)
        for words, states in zip(X, np.split(path, [3, 4, 8]), strict=True):
            before = 3
            for word, state in zip(words, states, strict=True):
                u[before, state] += 1
                emission[state, "abc".index(word)] += 1
                before = state
            u[before, 2] += 1
        transition = u / np.maximum(u.sum(axis=1, keepdims=True), 1e-9)
        emission = np.vstack([emission / emission.sum(axis=1, keepdims=True), np.zeros(3)])
        total += np.exp(
            brute.log_likelihood([0, 1, None], transition, emission, [[0, 1]] * 2 + [[2]])
        )
    assert model.score_samples([["a", "b"]])[0] == pytest.approx(
        np.log(total / len(model.samples_))
    )


def test_lengths_of_samples_are_geometric():
    # One state: a sequence goes on with the same chance after each token.
    model = EMHMM(
        1, transitions=Transitions(end_state=True), emission=Symbols(handle_unknown="error")
    ).fit(X)
    assert model.endprob_[0] == pytest.approx(0.4)
    drawn, states = model.sample(20_000, length=None, random_state=0)
    lengths = np.array([len(row) for row in drawn])
    assert [len(row) for row in states] == lengths.tolist()
    shares = np.bincount(lengths, minlength=7)[1:7] / len(lengths)
    np.testing.assert_allclose(shares, 0.4 * 0.6 ** np.arange(6), atol=0.012)


def test_samples_of_a_length_end_there():
    # State 0 always goes on, state 1 always ends: a path of length 3 is 0, 0, 1.
    y = [["0", "0", "1"], ["0", "0", "0", "1"], ["0", "1"]]
    data = [["a", "a", "b"], ["a", "a", "a", "b"], ["a", "b"]]
    model = EMHMMTagger(
        transitions=Transitions(end_state=True), alpha=0.0, beta=0.0, max_iter=2
    ).fit(data, y)
    drawn, states = model.sample(3, length=3, random_state=0)
    assert drawn.tolist() == [["a", "a", "b"]] * 3
    assert states.tolist() == [["0", "0", "1"]] * 3
    drawn, _ = model.sample(2, length=[2, 4], random_state=0)
    assert [row.tolist() for row in drawn] == [["a", "b"], ["a", "a", "a", "b"]]
    with pytest.raises(ValueError, match="no sequence of length 1"):
        model.sample(1, length=1)


def test_samples_that_would_never_end_are_refused():
    model = EMHMM(2, transitions=Transitions(end_state=True), max_iter=5, random_state=0).fit(X)
    learned = model._learned
    model._learned = learned._replace(extra=learned.extra._replace(end=np.zeros(2)))
    with pytest.raises(ValueError, match="give a length"):
        model.sample(1, length=None)
    with pytest.raises(ValueError, match="needs a fit with transitions=Transitions"):
        EMHMM(2, max_iter=5).fit(X).sample(1, length=None)


# The contract


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", KINDS)
def test_public_arrays_have_no_end(name):
    table = np.array([["a", "b", None], ["b", None, None], ["a", "c", "b"]], dtype=object)
    settings = {
        "n_components": 2,
        "transitions": Transitions(end_state=True),
        "max_iter": 20,
        "random_state": 0,
    }
    settings |= {"samples": Samples()} if name.startswith("Gibbs") else {}
    model = getattr(sklearn_cvb, name)(warm_start=True, **settings).fit(table)
    assert model.labels_.shape == (3, 3)
    assert model.predict(table)[1, 1:].tolist() == [-1, -1]
    assert np.isnan(model.predict_proba(table)[1, 1:]).all()
    assert [rows.shape for rows in model.training_posteriors()] == [(3, 2)] * 3
    assert model.transform(table).shape == (3, 2)
    assert model.sample_paths(table, random_state=0).shape == (3, 3)
    assert len(model.get_feature_names_out()) == 2
    assert model.emissionprob_.shape == (2, 4)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
    assert clone(model).get_params()["transitions__end_state"] is True
    if not name.startswith("EM"):
        lower, upper = model.credible_intervals().transition
        assert lower.shape == (2, 2)
        assert ((lower <= model.transmat_) & (model.transmat_ <= upper)).all()


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", KINDS)
def test_a_fit_goes_on(name):
    settings = {
        "n_components": 2,
        "transitions": Transitions(end_state=True),
        "tol": 0,
        "random_state": 0,
    }
    kind = getattr(sklearn_cvb, name)
    settings = heeded(kind, settings)
    twice = kind(max_iter=3, warm_start=True, **settings).fit(X).fit(X)
    once = kind(max_iter=6, **settings).fit(X)
    if not name.startswith("Gibbs"):
        np.testing.assert_allclose(twice.transmat_, once.transmat_, rtol=1e-12)
        np.testing.assert_allclose(twice.end_counts_, once.end_counts_, rtol=1e-12)
    # Under another value a fit begins anew.
    plain = twice.set_params(transitions=Transitions(end_state=False), max_iter=6).fit(X)
    other = kind(max_iter=6, **settings | {"transitions": Transitions(end_state=False)}).fit(X)
    np.testing.assert_array_equal(plain.transmat_, other.transmat_)
    assert plain.end_counts_ is None
    assert not hasattr(plain, "endprob_")


@pytest.mark.long
def test_a_search_over_the_parameter():
    grid = {"transitions__end_state": [False, True]}
    search = GridSearchCV(EMHMM(2, alpha=0.1, beta=0.1), grid, cv=2).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_model_to_start_from_keeps_its_ends():
    first = VBHMM(
        2,
        transitions=Transitions(end_state=True),
        emission=Symbols(handle_unknown="error"),
        random_state=0,
        max_iter=5,
    ).fit(X)
    second = EMHMM(
        2,
        transitions=Transitions(end_state=True),
        emission=Symbols(handle_unknown="error"),
        init=first,
        max_iter=1,
    ).fit(X)
    shares = first.end_counts_ / (first.counts_.transition.sum(axis=1) + first.end_counts_)
    weights = EMHMM(
        2,
        transitions=Transitions(end_state=True),
        emission=Symbols(handle_unknown="error"),
        max_iter=5,
    ).fit(X)
    learned = first._learned
    weights._learned = weights._learned._replace(counts=learned.counts, extra=learned.extra)
    np.testing.assert_allclose(weights.endprob_, shares)
    assert second.history_[0] == pytest.approx(weights.score_samples(X).sum())
    with pytest.raises(ValueError, match="same n_components, transitions"):
        EMHMM(2, init=first, emission=Symbols(handle_unknown="error")).fit(X)


def test_independent_states_have_no_end():
    with pytest.raises(ValueError, match="lets the end depend on the last state"):
        EMHMM(2, transitions=Transitions("independent", end_state=True)).fit(X)


def test_sequences_that_no_path_explains_are_left_out():
    legal = {"a": ["A"], "b": ["B"]}
    model = EMHMMTagger(
        legal,
        transitions=Transitions(np.array([[True, True], [False, True]]), end_state=True),
        emission=Symbols(handle_unknown="error"),
        warm_start=True,
    )
    model.fit([["a", "b"], ["b", "a", "a"], ["a", "a"]])
    assert model.unexplained_.tolist() == [1]
    assert [row.tolist() for row in model.labels_] == [["A", "B"], ["B", "A", "A"], ["A", "A"]]
    np.testing.assert_allclose(model.end_counts_, [1.0, 1.0])
    assert model.training_posteriors()[1].tolist() == [[0, 1], [1, 0], [1, 0]]


@pytest.mark.long
@pytest.mark.parametrize("others", [{"update": Windows(3)}, {"update": "token"}])
def test_windows_tokens_and_one_long_sequence(others):
    rng = np.random.default_rng(0)
    data = [rng.integers(4, size=n).tolist() for n in (40, 1, 7, 3)]
    model = CVBHMM(
        3,
        transitions=Transitions(end_state=True),
        max_iter=8,
        alpha="auto",
        random_state=0,
        **others,
    )
    model.fit(data)
    assert model.end_counts_.sum() == pytest.approx(4)
    assert model.counts_.transition.sum() == pytest.approx(51 - 4)
    assert np.isfinite([*model.history_, model.loo_score_]).all()
    one = clone(model).fit(data[:1])
    assert one.end_counts_.sum() == pytest.approx(1)


def test_states_may_be_renumbered():
    model = VBHMM(2, transitions=Transitions(end_state=True), random_state=0).fit(X)
    other = relabel(model, [1, 0])
    np.testing.assert_allclose(other.endprob_, model.endprob_[::-1])
    np.testing.assert_allclose(other.score_samples(X), model.score_samples(X))


def test_ends_are_free_parameters():
    model = EMHMM(
        2,
        transitions=Transitions(end_state=True),
        emission=Symbols(handle_unknown="error"),
        max_iter=3,
    ).fit(X)
    free = 1 + 2 * 2 + 2 * 2
    expected = -2 * model.score_samples(X).sum() + free * np.log(10)
    assert model.bic(X) == pytest.approx(expected)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM, GibbsHMM])
def test_learned_concentrations_know_the_ends(kind):
    rng = np.random.default_rng(1)
    data = [rng.integers(3, size=rng.integers(1, 6)).tolist() for _ in range(40)]
    settings = {
        "alpha": "auto",
        "transitions": Transitions(end_state=True, start_alpha=1.0),
        "max_iter": 400,
        "tol": 0,
    }
    model = kind(1, **heeded(kind, settings)).fit(data)
    assert model.alpha_ > 0
    if kind is VBHMM:
        # One row of two cells: the best alpha is that of its evidence, known from its counts.
        grid = np.geomspace(model.alpha_ / 2, model.alpha_ * 2, 2001)
        counts = np.array([model.counts_.transition[0, 0], model.end_counts_[0]])
        value = restatement.gammaln(2 * grid) - restatement.gammaln(2 * grid + counts.sum())
        for count in counts:
            value += restatement.gammaln(grid + count) - restatement.gammaln(grid)
        assert grid[np.argmax(value - grid)] == pytest.approx(model.alpha_, rel=2e-3)


@pytest.mark.parametrize("init", ["token", "context", "word", "parameter", "unambiguous"])
def test_every_start_works(init):
    for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM):
        model = kind(
            2, transitions=Transitions(end_state=True), init=init, max_iter=5, random_state=0
        ).fit(X)
        assert model.end_counts_.sum() == pytest.approx(4)
        assert np.isfinite(model.history_).all()


def test_labels_narrow_the_tokens_but_not_the_ends():
    problem, q = _case(3, True)
    y = [[None] * len(row) for row in problem.sequences]
    y[0][0] = tag(legal_states(problem, 0, 0)[0])
    q[0][0] = np.eye(3)[legal_states(problem, 0, 0)[0]]
    model = make_estimator(
        "VB", problem, init=q, tol=0, max_iter=2, transitions=Transitions(end_state=True)
    )
    model.fit(problem.sequences, y)
    ended = _with_end(problem)
    ended.allowed[0][0] = [legal_states(problem, 0, 0)[0]]
    _assert_same(model, restatement.vb_sweeps(ended, _posteriors_with_end(q), 2))
