"""Topologies: steps that are ruled out have no weight, no prior and no count, in any algorithm."""

import numpy as np
import pytest
import restatement
import restatement_token
from chain.chain_deviations import deviations, exact_together, together
from estimators import ALGORITHMS, fitted_counts, make_estimator, posterior_means

import sklearn_cvb
from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import (
    initial_posteriors,
    make_problem,
    random_problem,
    with_mask,
    with_priors,
)
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    Samples,
    Symbols,
    Transitions,
    VBHMMTagger,
    Windows,
)
from sklearn_cvb.datasets import make_hmm_sequences

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
LENGTHS = [4, 1, 3, 2, 5]
EVERY = np.ones(3, bool)
RING = np.eye(3, dtype=bool) | np.roll(np.eye(3, dtype=bool), 1, axis=1)
# What the parameter is, where a sequence may start, and which state may follow which.
MASKS = {
    "constant": ("constant", EVERY, np.eye(3, dtype=bool)),
    "left-right": ("left-right", np.array([True, False, False]), np.triu(np.ones((3, 3), bool))),
    "ring": (RING, EVERY, RING),
}
CHAINS = ["em", "vb", "cvb_sequence"]
MODELS = {
    "EM": lambda **keywords: EMHMM(**keywords),
    "VB": lambda **keywords: VBHMM(**keywords),
    "CVB": lambda **keywords: CVBHMM(**keywords),
    "CVB token": lambda **keywords: CVBHMM(update="token", **keywords),
    "Gibbs": lambda **keywords: GibbsHMM(update="sequence", **keywords),
    "Gibbs parameter": lambda **keywords: GibbsHMM(update="parameter", **keywords),
    "Gibbs token": lambda **keywords: GibbsHMM(**keywords),
}
WITH_MASKS = [name for name in MODELS if "token" not in name]


def _case(seed, name, missing=0.15, alpha=None):
    """A problem under a mask, and token posteriors that start where they may."""
    rng = np.random.default_rng([seed, len(name)])
    problem = random_problem(rng, 3, 6, LENGTHS, missing=missing)
    if alpha is not None:
        problem = with_priors(problem, alpha, alpha)
    value, start, transition = MASKS[name]
    problem = with_mask(problem, start, transition)
    q = initial_posteriors(rng, problem)
    for table in q:
        table[0] = np.where(start, table[0], 0.0)
        table[0] /= table[0].sum()
    return problem, q, value


def _fit(name, problem, q, n_sweeps, topology, **others):
    prefix, keywords, _ = ALGORITHMS[name]
    keywords = keywords | {"init": q, "tol": 0, "max_iter": n_sweeps, "transitions": topology}
    return make_estimator(prefix, problem, **keywords | others).fit(problem.sequences)


def _assert_same(estimator, result):
    counts = fitted_counts(estimator)
    np.testing.assert_allclose(counts.transition, result.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, result.counts.emission, **TOLERANCE)
    np.testing.assert_allclose(estimator.objective_, result.history[-1], **TOLERANCE)


@pytest.mark.many(usual=5)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", CHAINS)
def test_sweeps_agree_with_the_restatement(name, mask):
    for seed in range(3):
        problem, q, value = _case(seed, mask)
        for n_sweeps in (1, 2, 4):
            estimator = _fit(name, problem, q, n_sweeps, value)
            _assert_same(estimator, ALGORITHMS[name][2](problem, q, n_sweeps))
            ruled_out = ~problem.mask
            assert not fitted_counts(estimator).transition[ruled_out].any()
            assert not posterior_means(estimator)[0][ruled_out].any()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("mask", MASKS)
def test_maximum_likelihood_agrees(mask):
    problem, q, value = _case(0, mask, alpha=0.0)
    estimator = _fit("em", problem, q, 3, value)
    _assert_same(estimator, restatement.em_sweeps(problem, q, 3))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("mask", MASKS)
def test_windows_keep_to_the_topology(mask):
    for seed in range(3):
        problem, q, value = _case(seed, mask)
        estimator = _fit("cvb_sequence", problem, q, 5, value, update=Windows(2))
        counts = fitted_counts(estimator).transition
        assert not counts[~problem.mask].any()
        assert counts.sum() == pytest.approx(sum(LENGTHS), abs=1e-9)
        assert np.isfinite(estimator.history_).all()
        assert np.isfinite(estimator.loo_score_)


# Mixtures


def _words(sequences, n_symbols):
    counts = np.zeros((len(sequences), n_symbols))
    for i, sequence in enumerate(sequences):
        for symbol in sequence:
            counts[i, symbol] += 1
    return counts


def _mixture_em(words, share, emission, n_sweeps):
    """EM for a mixture of multinomials: rows of `words` are documents (orders are known)."""
    history = []
    for _ in range(n_sweeps):
        joint = np.log(share) + words @ np.log(emission).T
        total = np.logaddexp.reduce(joint, axis=1)
        history.append(total.sum())
        responsibility = np.exp(joint - total[:, None])
        share = responsibility.mean(axis=0)
        emission = responsibility.T @ words
        emission /= emission.sum(axis=1, keepdims=True)
        yield history, share, emission


def _mixture_case():
    rng = np.random.default_rng(4)
    problem = random_problem(rng, 3, 5, [6, 3, 8, 2, 5, 7, 4])
    problem = with_priors(problem, 0.0, 0.0)
    q = initial_posteriors(rng, problem)
    tokens = [symbol for sequence in problem.sequences for symbol in sequence]
    emission = np.zeros((3, 5))
    for weight, symbol in zip(np.concatenate(q), tokens, strict=True):
        emission[:, symbol] += weight
    return problem, q, tokens, emission / emission.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("topology", ["constant", "independent"])
def test_em_is_that_of_a_mixture_of_multinomials(topology):
    problem, q, tokens, emission = _mixture_case()
    if topology == "constant":
        words, share = _words(problem.sequences, 5), np.mean([table[0] for table in q], axis=0)
    else:
        words, share = _words([[token] for token in tokens], 5), np.concatenate(q).mean(axis=0)
    steps = _mixture_em(words, share, emission, 8)
    for n_sweeps, (history, share, emission) in enumerate(steps, 1):
        model = _fit("em", problem, q, n_sweeps, topology)
        np.testing.assert_allclose(model.history_, history, **TOLERANCE)
        np.testing.assert_allclose(model.startprob_, share, **TOLERANCE)
        np.testing.assert_allclose(model.emissionprob_, emission, **TOLERANCE)
        transition = np.eye(3) if topology == "constant" else np.tile(share, (3, 1))
        np.testing.assert_allclose(model.transmat_, transition, **TOLERANCE)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_independent_states_are_those_of_single_tokens(name):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, 3, 6, LENGTHS, missing=0.15)
        q = initial_posteriors(rng, problem)
        alone = problem._replace(sequences=[[x] for row in problem.sequences for x in row])
        estimator = _fit(name, problem, q, 3, "independent")
        result = ALGORITHMS[name][2](alone, [row[None] for row in np.concatenate(q)], 3)
        if name == "em":
            # There are no rows of transitions, so neither are their pseudo-counts.
            unused = problem.alpha[:-1].sum() * np.log(1 / 3)
            result = result._replace(history=[value - unused for value in result.history])
        _assert_same(estimator, result)
        expected = np.concatenate([table.argmax(axis=1) for table in result.q])
        if name.startswith("cvb"):
            np.testing.assert_array_equal(np.concatenate(estimator.labels_), expected)
        assert [len(labels) for labels in estimator.labels_] == LENGTHS


@pytest.mark.many(usual=4)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_independent_predictions_are_token_by_token(name):
    X, _ = make_hmm_sequences(30, n_components=3, random_state=1)
    model = MODELS[name](n_components=3, transitions="independent", max_iter=30, random_state=0)
    model.fit(X)
    assert (model.transmat_ == model.startprob_).all()
    proba = model.predict_proba(X)
    joint = model.startprob_[:, None] * model.emissionprob_
    if not name.startswith(("VB", "Gibbs")):
        columns = {word: k for k, word in enumerate(model.vocabulary_.tolist())}
        for row, table in zip(X[:5], proba[:5], strict=True):
            exact = joint[:, [columns[x] for x in row]]
            np.testing.assert_allclose(table, (exact / exact.sum(axis=0)).T, **TOLERANCE)
    alone = model.predict_proba([[row[0]] for row in X])
    np.testing.assert_allclose([t[0] for t in proba], [t[0] for t in alone], **TOLERANCE)
    lower, upper = (None, None)
    if name != "EM":
        lower, upper = model.credible_intervals().transition
        assert (lower == lower[0]).all()
        assert (upper == upper[0]).all()


# Bounds, samplers


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("topology", ["constant", "left-right", "independent", RING], ids=str)
@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_the_bound_never_decreases(topology, alpha):
    X, _ = make_hmm_sequences(40, n_components=3, random_state=2)
    model = VBHMM(3, transitions=topology, alpha=alpha, max_iter=60, tol=0, random_state=3).fit(X)
    assert np.diff(model.history_).min() > -1e-7
    assert model.history_[-1] > model.history_[0] + 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("update", ["sequence", "parameter"])
@pytest.mark.parametrize("mask", MASKS)
def test_samples_follow_the_exact_posterior(mask, update):
    value, start, transition = MASKS[mask]
    problem = make_problem([[0, 1, 0], [1, 2], [2, 2, 0]], 3, 3, 0.4, 0.3)
    problem = with_mask(problem, start, transition)
    settings = {"max_iter": 4_000, "samples": Samples(500, thin=2, temperatures=None)}
    settings |= {"transitions": Transitions(value, start_alpha=0.4), "update": update, "alpha": 0.4}
    chain = make_estimator("Gibbs", problem, **settings).fit(problem.sequences)
    indicators, exact = together(chain.samples_), exact_together(problem)
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.05
    free = exact_together(problem._replace(alpha=np.full((4, 3), 0.4)))
    assert np.abs(deviations(indicators, free)).max() > 8
    assert not chain.counts_.transition[~transition].any()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("update", ["token", "sequence", "parameter"])
def test_independent_samples_follow_the_exact_posterior(update):
    problem = make_problem([[0, 1, 0], [1, 2], [2, 2, 0]], 3, 3, 0.4, 0.3)
    alone = problem._replace(sequences=[[x] for row in problem.sequences for x in row])
    settings = {"max_iter": 2_000, "samples": Samples(300, thin=1, temperatures=None)}
    settings |= {"transitions": "independent", "update": update}
    chain = make_estimator("Gibbs", problem, **settings).fit(problem.sequences)
    indicators, exact = together(chain.samples_), exact_together(alone)
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.05


# The parameter


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_mask_of_all_true_changes_no_bit(name):
    X, _ = make_hmm_sequences(20, n_components=3, random_state=5)
    settings = {"n_components": 3, "max_iter": 20, "random_state": 0}
    plain = MODELS[name](**settings).fit(X)
    masked = MODELS[name](transitions=np.ones((3, 3), bool), **settings).fit(X)
    np.testing.assert_array_equal(plain.history_, masked.history_)
    np.testing.assert_array_equal(plain.counts_.transition, masked.counts_.transition)
    np.testing.assert_array_equal(plain.transmat_, masked.transmat_)


@pytest.mark.many(usual=13)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("init", ["token", "word", "parameter", "unambiguous"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", WITH_MASKS)
def test_every_start_keeps_to_the_topology(name, mask, init):
    value, start, transition = MASKS[mask]
    X, _ = make_hmm_sequences(15, n_components=3, random_state=6)
    model = MODELS[name](
        n_components=3, transitions=value, init=init, max_iter=5, random_state=0
    ).fit(X)
    assert not model.counts_.transition[~transition].any()
    assert not model.counts_.start[~start].any()
    assert model.counts_.start.sum() == pytest.approx(15)
    assert model.transmat_.sum(axis=1) == pytest.approx([1] * 3, abs=1e-12)
    paths = list(model.predict(X))
    if name in ("EM", "VB"):  # those of the others are the best of each token, and no paths
        paths += list(model.labels_)
    for labels in paths:
        assert start[labels[0]]
        assert transition[labels[:-1], labels[1:]].all()
    _, Z = model.sample(20, 8, random_state=0)
    assert start[Z[:, 0]].all()
    assert transition[Z[:, :-1], Z[:, 1:]].all()
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("name", WITH_MASKS)
def test_sequences_that_no_path_explains(name):
    dictionary = {"a": ("A",), "b": ("B",), "c": ("A", "B")}
    kind = getattr(sklearn_cvb, f"{name.split()[0]}HMMTagger")
    others = {"update": "sequence"} if kind.__name__.startswith("Gibbs") else {}
    X = [["a", "c", "c"], ["a", "c", "b"], ["b", "c"], ["c", "c"], ["b", "a"]]
    tagger = kind(dictionary, transitions="constant", random_state=0, max_iter=10, **others)
    with pytest.warns(UserWarning, match=r"cannot be explained by any path.*\[1, 4\]"):
        tagger.fit(X)
    assert tagger.unexplained_.tolist() == [1, 4]
    assert [labels.tolist() for labels in tagger.labels_][::4] == [["A"] * 3, ["B", "A"]]
    assert tagger.labels_[2].tolist() == ["B", "B"]
    assert tagger.counts_.start.sum() == pytest.approx(3)
    others_only = kind(dictionary, transitions="constant", random_state=0, max_iter=10, **others)
    others_only.fit([X[0], X[2], X[3]])
    assert tagger.objective_ == others_only.objective_
    with pytest.raises(ValueError, match="leave no sequence any path"):
        tagger.fit([X[1], X[4]])


def test_arrays_and_posteriors_with_sequences_left_out():
    dictionary = {"a": ("A",), "b": ("B",), "c": ("A", "B")}
    X = [["b", "a"], ["c", "c"], ["a", "c"]]
    init = [np.array([[0.0, 1], [1, 0]]), np.full((2, 2), 0.5), np.array([[1.0, 0], [0.5, 0.5]])]
    for kind in (EMHMMTagger, VBHMMTagger, CVBHMMTagger):
        tagger = kind(dictionary, transitions="constant", init=init, warm_start=True)
        with pytest.warns(UserWarning, match="cannot be explained"):
            tagger.fit(X)
        posteriors = tagger.training_posteriors()
        assert posteriors[0].tolist() == [[0, 1], [1, 0]]
        np.testing.assert_allclose(posteriors[2], [[1, 0], [1, 0]], atol=1e-12)
        with pytest.raises(ValueError, match=r"init\[2\] must give each token"):
            kind(dictionary, transitions="constant", init=[*init[:2], np.zeros((2, 2))]).fit(X)


@pytest.mark.parametrize("name", MODELS)
def test_bad_topologies(name):
    X = [[0, 1, 2], [2, 1]]
    for wrong, message in (
        (np.ones((2, 2), bool), r"shape \(3, 3\).*got a table of bool of shape \(2, 2\)"),
        (np.ones((3, 3)), "boolean table"),
        (np.ones(3, bool), "boolean table"),
        (np.diag([True, False, True]), r"let no state follow states \[1\]"),
        ("ring", "transitions"),
    ):
        with pytest.raises(ValueError, match=message):
            MODELS[name](n_components=3, transitions=wrong).fit(X)


@pytest.mark.parametrize("kind", [CVBHMM, GibbsHMM])
def test_the_token_update_refuses_a_mask(kind):
    for topology in ("constant", "left-right", RING):
        with pytest.raises(ValueError, match=r"update='token'.*use update='sequence'"):
            kind(3, transitions=topology, update="token").fit([[0, 1, 2], [2, 1]])


def test_a_model_to_start_from_must_keep_to_the_topology():
    X, _ = make_hmm_sequences(15, n_components=3, random_state=6)
    full = EMHMM(3, random_state=0, max_iter=5).fit(X)
    for kind in (EMHMM, VBHMM, CVBHMM):
        for topology in ("constant", "independent"):
            with pytest.raises(ValueError, match="steps that transitions rule out"):
                kind(3, transitions=topology, init=full).fit(X)
        constant = EMHMM(3, random_state=0, max_iter=5, transitions="constant").fit(X)
        again = kind(3, transitions="constant", init=constant, max_iter=5).fit(X)
        assert not again.counts_.transition[~np.eye(3, dtype=bool)].any()


def test_gibbs_conditionals_are_refused_where_single_moves_are_stuck():
    # Under one state for a whole sequence no single token of two can move.
    problem = with_mask(
        make_problem([[0, 1]], 2, 2, 0.5, 0.5), np.ones(2, bool), np.eye(2, dtype=bool)
    )
    weights = restatement_token.gibbs_conditional(problem, [np.array([0, 0])], 0, 0)
    np.testing.assert_allclose(weights, [1, 0], atol=1e-15)
    posterior = brute.collapsed_posterior(problem).marginals[0]
    np.testing.assert_allclose(posterior, 0.5, atol=1e-12)


def test_tags_in_a_fixed_order():
    dictionary = {"a": ("A", "B"), "b": ("B", "C")}
    order = np.triu(np.ones((3, 3), bool))
    tagger = CVBHMMTagger(dictionary, transitions=order, random_state=0)
    tagger.fit([["a", "b", "b"], ["a", "a"], ["b", "b"]])
    assert tagger.classes_.tolist() == ["A", "B", "C"]
    for labels in tagger.predict([["b", "a", "b"], ["a", "b", "a", "b"]]):
        assert sorted(labels) == list(labels)


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger])
@pytest.mark.parametrize("n_restricted", [1, 2, 3])
def test_words_of_sequences_left_out_leave_no_trace(kind, n_restricted):
    """An odd number of their slots broke the form for free words, two shifted all its weights."""
    only_x = [f"x{n}" for n in range(n_restricted)]
    free = [["a", "b", "b"], ["b", "a"], ["a", "b", "b", "a"]]
    never_twice = np.array([[False, True], [True, True]])
    settings = {
        "tag_dictionary": dict.fromkeys(only_x, ("X",)) | {"y": ("Y",)},
        "transitions": never_twice,
        "emission": Symbols(vocabulary=[only_x[0], "a", "b", *only_x[1:]]),
        "max_iter": 4,
        "tol": 0.0,
        "random_state": 0,
    }
    with pytest.warns(UserWarning, match="cannot be explained"):
        model = kind(**settings).fit([[only_x[0], *only_x], *free])
    reference = kind(**settings).fit(free)
    np.testing.assert_allclose(model.history_, reference.history_, **TOLERANCE)
    np.testing.assert_allclose(model.emissionprob_, reference.emissionprob_, **TOLERANCE)
