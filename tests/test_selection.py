"""Choosing the number of states: the criteria are what they say, and find a known number.

Walking forward: nothing is known before its time, and states keep their names.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, CVBHMMTagger, GibbsHMM, Symbols, Transitions
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson
from sklearn_cvb.selection import (
    ComponentSelection,
    Criterion,
    integrated_likelihood,
    select_components,
    walk_forward,
)

# Three states that follow each other, each with its own symbol.
X = [list("abcabcabc"), list("bcabcabca"), list("cabcab"), list("abcabcab")] * 4
NAMES = ["evidence", "held-out perplexity", "AIC", "BIC", "ICL"]


@pytest.mark.long
def test_vb_finds_the_number_of_states_by_every_criterion():
    model = VBHMM(n_init=5, random_state=0, emission=Symbols(handle_unknown="error"))
    selection = select_components(model, X, [1, 2, 3, 4], random_state=0)
    assert selection.n_components == [1, 2, 3, 4]
    assert [criterion.name for criterion in selection.criteria] == NAMES
    assert selection.best("evidence") == selection.best("BIC") == 3
    bounds = [
        VBHMM(k, n_init=5, random_state=0, emission=Symbols(handle_unknown="error"))
        .fit(X)
        .lower_bound_
        for k in (1, 2, 3, 4)
    ]
    assert selection.criteria[0].values == bounds


def test_cvb_reports_its_leave_one_out_score_and_em_no_evidence():
    selection = select_components(CVBHMM(n_init=3, random_state=0), X, [1, 3], random_state=0)
    assert selection.best("evidence") == 3
    assert "leave-one-out" in selection.criteria[0].unit
    for estimator in (EMHMM(random_state=0), GibbsHMM(random_state=0, max_iter=20)):
        selection = select_components(estimator, X, [1, 2], random_state=0)
        assert selection.criteria[0].values is None
        with pytest.raises(ValueError, match="no criterion 'evidence'"):
            selection.best("evidence")


def test_held_out_perplexity_is_of_the_sequences_left_out():
    from sklearn.model_selection import train_test_split

    model = VBHMM(random_state=0)
    selection = select_components(model, X, [2], test_size=3, random_state=1)
    train, test = train_test_split(X, test_size=3, random_state=1)
    expected = VBHMM(2, random_state=0).fit(train).perplexity(test)
    assert selection.criteria[1].values == [pytest.approx(expected, rel=1e-12)]


def test_bic_counts_free_parameters_and_observed_tokens():
    sequences = [["a", "b", None], ["b", "c"]]
    model = EMHMM(2, emission=Symbols(handle_unknown="error"), random_state=0).fit(sequences)
    free = 1 + 2 + 2 * 2
    expected = -2 * model.score_samples(sequences).sum() + free * np.log(4)
    assert model.bic(sequences) == pytest.approx(expected, rel=1e-12)
    expected = -2 * model.score_samples(sequences).sum() + 2 * free
    assert model.aic(sequences) == pytest.approx(expected, rel=1e-12)


# Three columns, three states: means, then variances or covariances; rates; categories less one.
N_FREE = [
    (Gaussian("full"), 3 * 3 + 3 * 6),
    (Gaussian("tied"), 3 * 3 + 6),
    (Gaussian("diag"), 3 * 3 + 3 * 3),
    (Gaussian("spherical"), 3 * 3 + 3),
    (Poisson(), 3 * 3),
    (Bernoulli(), 3 * 3),
    (Categorical(n_categories=5), 3 * 3 * 4),
    (Columns([(Gaussian("diag"), [0]), (Poisson(), [1, 2])]), 3 * 2 + 3 * 2),
]
# Start row, and rows of transitions.
CHAINS = [
    (Transitions("full"), 2 + 3 * 2),
    (Transitions("full", end_state=True), 2 + 3 * 3),
    (Transitions("left-right"), 0 + 2 + 1),
    (Transitions("constant"), 2),
    (Transitions("constant", end_state=True), 2 + 3),
    (Transitions("independent"), 2),
]
SERIES = [np.random.default_rng(i).integers(2, size=(12, 3)).astype(float) for i in range(4)]


@pytest.mark.parametrize(("emission", "n_free"), N_FREE)
def test_free_parameters_of_numbers_by_hand(emission, n_free):
    model = VBHMM(3, emission=emission, max_iter=3, tol=0, random_state=0).fit(SERIES)
    log_p = model.score_samples(SERIES).sum()
    assert model.aic(SERIES) == pytest.approx(2 * (8 + n_free) - 2 * log_p, rel=1e-12)
    assert model.bic(SERIES) == pytest.approx((8 + n_free) * np.log(48) - 2 * log_p, rel=1e-12)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize(("transitions", "n_free"), CHAINS)
def test_free_parameters_of_topologies_by_hand(transitions, n_free):
    model = VBHMM(3, emission="poisson", transitions=transitions, random_state=0).fit(SERIES)
    log_p = model.score_samples(SERIES).sum()
    assert model.aic(SERIES) == pytest.approx(2 * (9 + n_free) - 2 * log_p, rel=1e-12)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("emission", ["categorical", "bernoulli"])
def test_icl_by_enumerating_paths(kind, emission):
    """BIC, with the most probable path in place of the sum over all."""
    sequence = [0, 1, 1, 0, 1, 1, 1, 0]
    words = Symbols(handle_unknown="error") if emission == "categorical" else emission
    n_sweeps = 3 if kind is EMHMM else 20
    model = kind(2, emission=words, max_iter=n_sweeps, random_state=0).fit([sequence] * 3)
    if emission == "categorical":
        emits = model.emissionprob_
    else:
        emits = np.hstack([1 - model.probabilities_, model.probabilities_])
    joint = []
    for path in itertools.product(range(2), repeat=8):
        steps = itertools.pairwise(path)
        p = model.startprob_[path[0]] * np.prod([model.transmat_[i, j] for i, j in steps])
        joint.append(p * np.prod([emits[k, x] for k, x in zip(path, sequence, strict=True)]))
    sure = 3 * np.log(max(joint) / sum(joint))
    X = [sequence] * 3
    assert sure < -1e-4
    assert integrated_likelihood(model, X) == pytest.approx(model.bic(X) - 2 * sure, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_numbers_of_states_are_found_in_one_series(kind):
    """The series is cut: its end is held out."""
    rng = np.random.default_rng(0)
    state = np.repeat(rng.integers(3, size=60), 10)
    series = rng.normal(4.0 * np.column_stack([state, -state]), 1.0)
    estimator = kind(emission="gaussian", n_init=3, random_state=0)
    selection = select_components(estimator, [series], [1, 2, 3, 4], random_state=0)
    names = NAMES[1:] if kind is EMHMM else NAMES
    assert {selection.best(name) for name in ("BIC", "ICL")} == {3}
    assert all(selection.best(name) >= 3 for name in names)
    model = kind(2, emission="gaussian", n_init=3, random_state=0).fit([series[:480]])
    assert selection.criteria[1].values[1] == pytest.approx(model.perplexity([series[480:]]))
    with pytest.raises(ValueError, match="X is one sequence of 600 steps, whose end is held out"):
        select_components(estimator, [series], [1], test_size=600)


@pytest.mark.parametrize("wrong", [[], [0], [1.5], ["two"]])
def test_numbers_of_states_are_checked(wrong):
    with pytest.raises(ValueError, match="positive integers"):
        select_components(VBHMM(), X, wrong)


def test_the_estimator_stays_as_it_was():
    model = VBHMM(7, random_state=0)
    select_components(model, X, [1], random_state=0)
    assert model.n_components == 7
    assert not hasattr(model, "counts_")


def test_a_printed_selection_is_a_table_with_stars():
    found = ComponentSelection(
        [1, 2, 10],
        [
            Criterion("evidence", "lower bound (nats)", True, [-120.5, -99.25, -101.0]),
            Criterion("held-out perplexity", "per token", False, [3.5, 2.25, 2.0]),
            Criterion("AIC", "nats", False, None),
        ],
    )
    assert str(found).splitlines() == [
        "states  evidence   held-out perplexity",
        "     1    -120.5                   3.5",
        "     2    -99.25*                 2.25",
        "    10      -101                     2*",
    ]


def regimes(n_states, n_steps=900, seed=0):
    """Returns whose spread and mean change with a regime that lasts for 50 steps."""
    rng, state = np.random.default_rng(seed), np.zeros(n_steps, int)
    moves = np.full((n_states, n_states), 0.02 / max(1, n_states - 1))
    np.fill_diagonal(moves, 0.98)
    means, widths = np.array([0.08, -0.1, 0.0]), np.array([0.6, 1.8, 1.0])
    for t in range(1, n_steps):
        state[t] = rng.choice(n_states, p=moves[state[t - 1]])
    return means[state] + widths[state] * rng.normal(size=n_steps)


def n_swaps(walked, series):
    """How often the states of a refit agree better with those before under other names."""
    swaps = 0
    for before, after, seen in zip(
        walked.models, walked.models[1:], walked.refit_at[1:].tolist(), strict=False
    ):
        past = [series[:seen]]
        old, new = before.predict(past)[0], after.predict(past)[0]
        orders = itertools.permutations(range(before.n_components))
        best = max(orders, key=lambda order: (np.array(order)[new] == old).mean())
        swaps += (np.array(best)[new] == old).mean() > (new == old).mean()
    return swaps


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_states_keep_their_names_and_nothing_is_known_before_its_time(kind):
    series = regimes(2, 500)
    model = kind(2, emission="gaussian", random_state=0, max_iter=200)
    settings = {"first": 200, "refit_every": 25}
    walked = walk_forward(model, series, **settings)
    assert walked.refit_at.tolist() == list(range(200, 500, 25))
    assert walked.proba.shape == (300, 2)
    assert n_swaps(walked, series) == 0
    for end in (230, 401):
        earlier = walk_forward(model, series[:end], **settings)
        np.testing.assert_array_equal(earlier.proba, walked.proba[: end - 200])
        np.testing.assert_array_equal(earlier.log_density, walked.log_density[: end - 200])
    own = walked.models[3]
    exact = own.filter_proba([series[:300]])[0][275:]
    np.testing.assert_array_equal(walked.proba[75:100], exact)
    total = own.score_samples([series[:300]])[0] - own.score_samples([series[:275]])[0]
    assert walked.log_density[75:100].sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.long
def test_no_refit_of_a_hundred_swaps_names():
    swaps = n_refits = 0
    for n_states, seed in itertools.product((2, 3), range(3)):
        series = regimes(n_states, seed=seed)
        model = EMHMM(n_states, emission="gaussian", random_state=0, max_iter=200)
        walked = walk_forward(model, series, first=300, refit_every=35)
        swaps, n_refits = swaps + n_swaps(walked, series), n_refits + len(walked.models) - 1
    assert n_refits > 100
    assert swaps == 0


@pytest.mark.parametrize("topology", ["independent", "left-right"])
def test_states_keep_their_names_under_topologies(topology):
    series = np.repeat([0.0, 4.0, 0.0, 4.0], 50) + np.random.default_rng(0).normal(size=200)
    model = EMHMM(2, emission="gaussian", transitions=Transitions(topology), random_state=0)
    walked = walk_forward(model, series, first=60, refit_every=10)
    largest = {int(one.means_.ravel().argmax()) for one in walked.models}
    assert (len(walked.models), len(largest)) == (14, 1)
    if topology == "left-right":
        assert all((np.tril(one.transmat_, -1) == 0).all() for one in walked.models)


def test_tags_keep_their_words():
    legal = {"a": ["A"], "b": ["B"], "c": ["A", "B"]}
    model = CVBHMMTagger(legal, random_state=0, max_iter=10, tol=0)
    walked = walk_forward(model, list("acbcabcab" * 12), first=50, refit_every=5)
    assert len(walked.models) > 10
    for one in walked.models:
        assert one.classes_[one.emissionprob_[:, :2].argmax(axis=0)].tolist() == ["A", "B"]


def test_a_window_forgets_and_frames_and_symbols_are_walked_through():
    series = regimes(2, 300)
    model = VBHMM(2, emission="gaussian", random_state=0, max_iter=50)
    walked = walk_forward(model, series, first=150, refit_every=50, window=100)
    last = walked.models[-1]
    assert len(last.labels_[0]) == 100
    exact = last.filter_proba([series[150:300]])[0][100:]
    np.testing.assert_array_equal(walked.proba[100:], exact)
    frame = pd.DataFrame({"x": series})
    by_name = walk_forward(model, frame, first=150, refit_every=50, window=100)
    np.testing.assert_array_equal(by_name.proba, walked.proba)
    letters = list("abcab" * 12)
    of_symbols = walk_forward(VBHMM(2, random_state=0), letters, first=30, refit_every=15)
    assert np.isfinite(of_symbols.log_density).all()
    np.testing.assert_allclose(of_symbols.proba.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"first": 0}, "first"),
        ({"first": 20, "refit_every": 0}, "refit_every"),
        ({"first": 20, "window": 0}, "window"),
        ({"first": 60}, "leaves none to tell"),
    ],
)
def test_walks_that_cannot_begin_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        walk_forward(EMHMM(2, emission="gaussian"), regimes(2, 60), **settings)
