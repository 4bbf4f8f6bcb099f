"""Matched states and relabelled models: the same model under other names."""

import itertools
import pickle

import numpy as np
import pytest
from chain.numbers.problems import EMISSIONS, numbers
from sklearn.base import clone

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Durations,
    EMHMMTagger,
    GibbsHMM,
    Samples,
    Symbols,
    Transitions,
    VBHMMTagger,
)
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.metrics import (
    match_states,
    one_to_one_accuracy,
    relabel,
    tag_confusion,
    token_accuracy,
)

RAGGED = [list("abcabca"), list("bcab"), list("cabd"), list("abdabd"), list("ca")]
TABLE = np.array([[0, 1, 2, 0], [1, 2, 0, np.nan], [2, 0, 1, 1]])
MODELS = {
    "EM": EMHMM(3, alpha=0.2, emission=Symbols(handle_unknown="smooth")),
    "EM without prior": EMHMM(3, emission=Symbols(handle_unknown="error")),
    "VB": VBHMM(3, emission=Symbols(handle_unknown="rare")),
    "CVB": CVBHMM(3, transitions=Transitions(start_alpha=2.0)),
    "CVB token": CVBHMM(3, update="token", emission=Symbols(handle_unknown="rare")),
    "Gibbs": GibbsHMM(3, max_iter=60, emission=Symbols(handle_unknown="rare")),
    "Gibbs annealed": GibbsHMM(3, max_iter=60, samples=Samples(temperatures=(2.0, 0.5))),
    "left-right": EMHMM(3, transitions=Transitions("left-right", end_state=True), alpha=0.1),
    "learned": VBHMM(
        3, transitions=~np.eye(3, dtype=bool), emission=Symbols(handle_unknown="rare")
    ),
}
NEW = [2, 0, 1]


def fitted(name, X=RAGGED):
    return clone(MODELS[name]).set_params(random_state=0, max_iter=60).fit(X)


def flat(arrays):
    return np.concatenate([np.asarray(array) for array in arrays])


@pytest.mark.parametrize("name", MODELS)
def test_renumbered_model_is_the_same_model(name):
    model = fitted(name)
    other = relabel(model, NEW)
    order = np.argsort(NEW)
    test = RAGGED if model._options().words.handle_unknown == "error" else [*RAGGED, list("axb")]
    np.testing.assert_allclose(other.score_samples(test), model.score_samples(test), rtol=1e-12)
    np.testing.assert_array_equal(
        flat(other.predict(test)), np.array(NEW)[flat(model.predict(test))]
    )
    np.testing.assert_allclose(
        flat(other.predict_proba(test)), flat(model.predict_proba(test))[:, order], rtol=1e-10
    )
    np.testing.assert_array_equal(flat(other.labels_), np.array(NEW)[flat(model.labels_)])
    np.testing.assert_allclose(other.startprob_, model.startprob_[order], rtol=1e-12)
    np.testing.assert_allclose(other.transmat_, model.transmat_[np.ix_(order, order)], rtol=1e-12)
    np.testing.assert_allclose(other.emissionprob_, model.emissionprob_[order], rtol=1e-12)
    assert other.objective_ == model.objective_
    np.testing.assert_allclose(
        other.predict_next_proba(test), model.predict_next_proba(test), rtol=1e-10
    )


@pytest.mark.many(usual=2)
@pytest.mark.parametrize(
    ("emission", "end_state"), list(zip(EMISSIONS, itertools.cycle([False, True]), strict=False))
)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
def test_a_renumbered_model_of_numbers_is_the_same_model(kind, emission, end_state):
    """Means and the like, states, forecasts and intervals are renumbered; scores are the same."""
    X, order = numbers(emission, (9, 7, 12)), np.argsort(NEW)
    settings = {
        "emission": EMISSIONS[emission],
        "transitions": Transitions(end_state=end_state),
        "random_state": 0,
    }
    settings |= {"samples": Samples(6, thin=1)} if kind is GibbsHMM else {}
    model = kind(3, max_iter=12, **settings).fit(X)
    other = relabel(model, NEW)
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(other.score_samples(X), model.score_samples(X), **close)
    np.testing.assert_array_equal(flat(other.predict(X)), np.array(NEW)[flat(model.predict(X))])
    np.testing.assert_array_equal(flat(other.labels_), np.array(NEW)[flat(model.labels_)])
    for method in ("predict_proba", "filter_proba"):
        one, renumbered = (flat(getattr(m, method)(X)) for m in (model, other))
        np.testing.assert_allclose(renumbered, one[:, order], **close)
    np.testing.assert_allclose(other.transmat_, model.transmat_[np.ix_(order, order)], **close)
    if end_state:
        np.testing.assert_allclose(other.endprob_, model.endprob_[order], **close)
    shown = [
        name
        for name in (
            *("means_", "covariances_", "rates_", "probabilities_", "directions_"),
            *("locations_", "concentrations_", "weights_", "intercepts_", "coefficients_"),
        )
        if hasattr(model, name)
    ]
    assert shown or emission in ("categorical", "columns")
    for name in shown:
        is_shared = emission.startswith("tied") and name == "covariances_"
        table = getattr(model, name)[... if is_shared else order]
        np.testing.assert_allclose(getattr(other, name), table, **close)
    is_regression = emission in ("regression", "tied regression")
    inputs = np.ones((3, 2, 1)) if is_regression else None
    ahead = {"n_steps": 2, "n_draws": 2, "random_state": 0, "inputs": inputs}
    means = [m.predict_next(X, **ahead).mean for m in (model, other)]
    np.testing.assert_allclose(*means, **close)
    if not is_regression:
        assert np.isfinite(np.concatenate(other.sample(2, random_state=0)[0])).all()
    if kind is not EMHMM and emission not in ("categorical", "columns", "mixture", "zeros"):
        one, renumbered = model.credible_intervals(), other.credible_intervals()
        np.testing.assert_allclose(renumbered.start, one.start[:, order], **close)
        for name, table in one.emission.items():
            np.testing.assert_allclose(
                renumbered.emission[name], table[:, order], rtol=1e-7, atol=1e-9
            )
    back = relabel(other, order.tolist())
    np.testing.assert_array_equal(back.counts_.emission, model.counts_.emission)


@pytest.mark.parametrize("name", ["left-right", "learned"])
def test_batches_after_renumbering_keep_to_what_may_follow_what(name):
    model = fitted(name)
    one = relabel(model, NEW).partial_fit(RAGGED)
    other = relabel(model.partial_fit(RAGGED), NEW)
    np.testing.assert_allclose(one.transmat_, other.transmat_, rtol=1e-10)
    np.testing.assert_allclose(one.emissionprob_, other.emissionprob_, rtol=1e-10)
    assert (one.transmat_ == 0).sum() == 3


def test_weights_of_states_are_renumbered():
    model = VBHMM(4, transitions=Transitions(prior="hdp"), random_state=0, max_iter=10).fit(RAGGED)
    other = relabel(model, [3, 1, 0, 2])
    np.testing.assert_array_equal(other.state_weights_[[3, 1, 0, 2]], model.state_weights_[:4])


def test_states_of_numbers_get_numbers_and_no_names():
    model = EMHMM(2, emission="gaussian", random_state=0).fit([[0.0, 0.1, 5.0, 5.1], [5.0, 0.0]])
    ordered = relabel(model, {int(model.means_.argmin()): 0})
    assert ordered.means_[0, 0] < ordered.means_[1, 0]
    with pytest.raises(TypeError, match=r"renumbered, as by \[1, 0\], but not named; .*np.array"):
        relabel(model, ["low", "high"])


def test_the_given_model_stays_as_it_was():
    model = fitted("VB")
    before = pickle.dumps(model)
    relabel(relabel(model, NEW), ["x", "y", "z"])
    assert pickle.dumps(model) == before


def test_renumbering_back_gives_the_model_again():
    model = fitted("Gibbs")
    back = relabel(relabel(model, NEW), np.argsort(NEW).tolist())
    for table, again in zip(model.counts_, back.counts_, strict=True):
        np.testing.assert_array_equal(table, again)
    np.testing.assert_array_equal(model.samples_, back.samples_)


def test_missing_numbers_take_what_is_free():
    model = fitted("EM")
    np.testing.assert_array_equal(
        relabel(model, {1: 0}).transmat_, relabel(model, [1, 0, 2]).transmat_
    )


def test_padding_stays_in_a_table():
    model = fitted("VB", TABLE)
    other = relabel(model, NEW)
    assert other.labels_.shape == (3, 4)
    assert other.labels_[1, 3] == -1
    np.testing.assert_array_equal(other.predict(TABLE)[0], np.array(NEW)[model.predict(TABLE)[0]])
    named = relabel(model, ["x", "y", "z"])
    assert named.labels_[1, 3] is None
    assert named.labels_[0, 0] == "xyz"[model.labels_[0, 0]]


@pytest.mark.parametrize("name", MODELS)
def test_named_states_make_a_tagger(name):
    model = fitted(name)
    tagger = relabel(model, {0: "X", 2: "Z", 1: "Y"})
    assert type(tagger) is getattr(sklearn_cvb, f"{type(model).__name__}Tagger")
    states, tags = flat(model.predict(RAGGED)), flat(tagger.predict(RAGGED))
    assert tags.tolist() == ["XYZ"[state] for state in states]
    assert flat(tagger.labels_).tolist() == ["XYZ"[state] for state in flat(model.labels_)]
    assert tagger.score(RAGGED) == model.score(RAGGED)
    gold = [["X"] * len(sequence) for sequence in RAGGED]
    assert tagger.score(RAGGED, gold) == token_accuracy(gold, tagger.predict(RAGGED))
    assert tagger.get_params()["alpha"] == model.alpha


def test_tags_are_renamed():
    dictionary = {"a": ["DT"], "b": ["NN", "VB"], "c": ["VB"], "d": "NN"}
    model = VBHMMTagger(tag_dictionary=dictionary, random_state=0).fit(RAGGED)
    names = {"DT": "D", "NN": "N", "VB": "V"}
    other = relabel(model, names)
    test = [*RAGGED, list("axd")]
    assert flat(other.predict(test)).tolist() == [names[tag] for tag in flat(model.predict(test))]
    assert other.classes_.tolist() == ["D", "N", "V"]
    assert other.score(test) == model.score(test)
    gold = [["D"] * len(sequence) for sequence in test]
    assert other.score(test, gold) == model.score(test, [["DT"] * len(s) for s in test])
    partly = relabel(model, {"DT": "D"})
    assert partly.classes_.tolist() == ["D", "NN", "VB"]


def test_what_cannot_be_relabelled_is_refused():
    model = fitted("EM")
    for names, message in [
        (["x", "y"], "2 names for 3 states"),
        ({7: "x"}, r"names for \[7\]"),
        (["x", "x", "y"], "two states get one name"),
        ([0, 0, 1], "two states get one name"),
    ]:
        with pytest.raises(ValueError, match=message):
            relabel(model, names)


def test_a_relabelled_model_can_be_fitted_again():
    model = fitted("EM").set_params(warm_start=True).fit(RAGGED)
    again = relabel(model, NEW).fit(RAGGED)
    assert again.objective_ == fitted("EM").objective_
    tagger = relabel(model, ["x", "y", "z"]).fit(RAGGED)
    assert tagger.classes_.tolist() == [0, 1, 2]


def test_matching_is_the_best_of_all_permutations():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(4, size=(1, 60)), rng.integers(4, size=(1, 60))
    matched = match_states(true, predicted)
    counts, rows, columns = tag_confusion(true, predicted)
    best = max(
        sum(counts[rows.index(t), columns.index(p)] for p, t in enumerate(order))
        for order in itertools.permutations(range(4))
    )
    found = sum(counts[rows.index(t), columns.index(p)] for p, t in matched.items())
    assert found == best
    assert found / 60 == one_to_one_accuracy(true, predicted)


def test_two_fits_are_matched_by_their_labels():
    model = fitted("VB")
    other = relabel(model, NEW)
    back = match_states(model.labels_, other.labels_)
    same = relabel(other, back)
    np.testing.assert_array_equal(flat(same.labels_), flat(model.labels_))


def test_labels_without_a_partner_are_missing():
    assert match_states([["D", "N", "N", None]], [[0, 1, 2, 3]]) in (
        {0: "D", 1: "N"},
        {0: "D", 2: "N"},
    )
    tagger = EMHMMTagger(n_components=3, random_state=0).fit(RAGGED)
    assert relabel(tagger, {0: "D"}).classes_.tolist() == ["D", 1, 2]


def test_intervals_of_a_renumbered_sampler_go_with_its_states():
    settings = {
        "transitions": Transitions(prior="hdp"),
        "samples": Samples(thin=2),
        "max_iter": 60,
        "random_state": 0,
    }
    model = GibbsHMM(3, **settings).fit([list("abcabca"), list("bcabc"), list("cab"), list("aab")])
    order = [2, 0, 1]
    before = model.credible_intervals(level=0.8)
    after = relabel(model, order).credible_intervals(level=0.8)
    np.testing.assert_allclose(after.start[:, order], before.start, rtol=1e-6)
    there = after.transition[:, order][:, :, order]
    np.testing.assert_allclose(there, before.transition, rtol=1e-6)
    np.testing.assert_allclose(after.emission[:, order], before.emission, rtol=1e-6)


def test_states_are_sorted_by_what_they_emit_or_how_long_they_last():
    rng = np.random.default_rng(0)
    state = np.repeat([0, 1, 2, 0, 1, 2], [90, 20, 50, 90, 20, 50])
    table = np.array([4.0, -3.0, 0.0])[state] + np.array([1.0, 0.3, 2.0])[state] * rng.normal(
        size=len(state)
    )
    X = [np.column_stack([rng.normal(size=len(state)), table])]
    model = VBHMM(3, emission=Gaussian("diag"), n_init=3, random_state=0).fit(X)
    by_mean = relabel(model, by="means", column=1)
    assert (np.diff(by_mean.means_[:, 1]) > 0).all()
    by_variance = relabel(model, by="variances", column=1)
    assert (np.diff(by_variance.covariances_[:, 1]) > 0).all()
    lasting = relabel(model, by="durations")
    assert (np.diff(np.diagonal(lasting.transmat_)) > 0).all()
    for other in (by_mean, by_variance, lasting):
        assert other.score(X) == pytest.approx(model.score(X), rel=1e-12)
    visits = Transitions(durations=Durations("poisson", longest=100))
    timed = EMHMM(3, emission=Gaussian("diag"), transitions=visits, random_state=0, max_iter=30)
    lengths = relabel(timed.fit(X), by="durations").durations_ @ np.arange(1, 101)
    assert (np.diff(lengths) > 0).all()


def test_what_states_cannot_be_sorted_by_is_told():
    model = VBHMM(2, random_state=0).fit([list("abab"), list("ba")])
    with pytest.raises(ValueError, match="symbols have none"):
        relabel(model, by="means")
    with pytest.raises(ValueError, match="either names or by"):
        relabel(model)
    with pytest.raises(ValueError, match="either names or by"):
        relabel(model, [1, 0], by="means")
    with pytest.raises(ValueError, match="by must be"):
        relabel(model, by="size")
    numbers = VBHMM(2, emission="gaussian", random_state=0).fit([np.arange(20.0) % 7])
    with pytest.raises(ValueError, match="none of the 1 columns"):
        relabel(numbers, by="means", column=1)
