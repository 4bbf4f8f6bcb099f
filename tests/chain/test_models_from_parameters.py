"""Models made of parameters, without a fit."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    HMMParameters,
    Samples,
    Symbols,
    Transitions,
)
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
    Exponential,
    Gamma,
    Gaussian,
    Mixture,
    Multinomial,
    NegativeBinomial,
    Poisson,
    StudentT,
    VonMises,
    ZeroInflated,
)
from sklearn_cvb.estimators.door import posterior_means_of

X = [["a", "b", "a", "c"], ["b", "b", "c"], ["a", "c", "c", "c", "b"]]
START = np.array([0.7, 0.3])
STEPS = np.array([[0.8, 0.2], [0.3, 0.7]])
WORDS = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
KNOWN = HMMParameters(startprob=START, transmat=STEPS, emissionprob=WORDS, vocabulary=list("abc"))

NUMBERS = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [4.0]], 20, axis=0)
EMISSIONS = {
    "full": (Gaussian("full"), NUMBERS),
    "tied": (Gaussian("tied"), NUMBERS),
    "tied lags": (AutoRegressive(covariance_type="tied"), NUMBERS),
    "diag": (Gaussian("diag"), NUMBERS),
    "spherical": (Gaussian("spherical"), NUMBERS),
    "poisson": (Poisson(), np.abs(NUMBERS * 3).round()),
    "bernoulli": (Bernoulli(), (NUMBERS > 2).astype(float)),
    "waits": (Gamma(shape=None), np.abs(NUMBERS)),
    "mixture": (Mixture(Gaussian("diag")), NUMBERS),
    "tails": (StudentT(None), NUMBERS),
    "angles": (VonMises(), NUMBERS / 2),
    "categories": (Categorical(), np.clip(NUMBERS.round(), 0, 3)),
    "columns": (Columns([(Gaussian("diag"), [1]), (Poisson(), [0])]), np.abs(NUMBERS.round())),
}


def all_paths(sequence):
    """Probability of a sequence with each path, one by one."""
    columns = ["abc".index(word) for word in sequence]
    paths = np.array(np.meshgrid(*[[0, 1]] * len(columns))).reshape(len(columns), -1).T
    weights = START[paths[:, 0]] * WORDS[paths, columns].prod(axis=1)
    return paths, weights * STEPS[paths[:, :-1], paths[:, 1:]].prod(axis=1)


def test_it_scores_and_predicts_as_all_paths_do():
    model = EMHMM.from_parameters(KNOWN)
    for i, sequence in enumerate(X):
        paths, weights = all_paths(sequence)
        assert model.score_samples(X)[i] == pytest.approx(np.log(weights.sum()), abs=1e-12)
        assert model.predict(X)[i].tolist() == paths[weights.argmax()].tolist()
        ones = weights @ paths / weights.sum()
        assert np.allclose(model.predict_proba(X)[i][:, 1], ones, atol=1e-12)
    assert np.allclose(model.transmat_, STEPS, atol=1e-15)
    assert np.allclose(model.emissionprob_[:, :3], WORDS, atol=1e-15)
    assert np.allclose(model.counts_.transition, STEPS)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "history_")


def test_it_samples_filters_shows_pickles_and_is_fitted_from_there():
    model = EMHMM.from_parameters(KNOWN)
    words, states = model.sample(300, length=20, random_state=0)
    assert np.mean(states[:, 0] == 0) == pytest.approx(0.7, abs=0.1)
    assert np.mean(words[states == 0] == "a") == pytest.approx(0.5, abs=0.05)
    assert np.allclose(model.filter_proba(X)[0].sum(axis=1), 1)
    assert "EMHMM" in model._repr_html_()
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.score_samples(X), model.score_samples(X))
    assert clone(model).set_params(tol=0.05).fit(words).converged_
    assert model.partial_fit(words).n_batches_seen_ == 1


def test_unknown_symbols_have_the_last_column():
    model = EMHMM.from_parameters(KNOWN)
    assert model.score([["a", "?", "c"]]) == -np.inf
    known = np.hstack([0.9 * WORDS, [[0.1], [0.1]]])
    model = EMHMM.from_parameters(KNOWN, emissionprob=known)
    whole, without = model.score_samples([["a", "?", "c"], ["a", None, "c"]])
    assert whole == pytest.approx(without + np.log(0.1), abs=1e-12)


def test_symbols_are_numbers_if_not_named():
    tables = {"startprob": START, "transmat": STEPS, "emissionprob": WORDS}
    assert EMHMM.from_parameters(**tables).vocabulary_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("transitions", [Transitions(end_state=True), "left-right"])
def test_what_a_fit_says_again(transitions):
    first = EMHMM(2, transitions=transitions, random_state=0).fit(X)
    tables = {"startprob": first.startprob_, "transmat": first.transmat_}
    words = {"emissionprob": first.emissionprob_, "vocabulary": first.vocabulary_.tolist()}
    model = EMHMM.from_parameters(**tables, **words, transitions=transitions)
    assert np.allclose(model.score_samples(X), first.score_samples(X), atol=1e-10)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", EMISSIONS)
def test_numbers_say_it_again(kind):
    emission, table = EMISSIONS[kind]
    first = EMHMM(2, emission=emission, random_state=0).fit([table])
    tables = posterior_means_of(first).emissions
    tables |= {"startprob": first.startprob_, "transmat": first.transmat_}
    model = EMHMM.from_parameters(emission=emission, **tables)
    assert np.allclose(model.score_samples([table]), first.score_samples([table]), rtol=1e-10)
    assert np.array_equal(model.predict([table])[0], first.predict([table])[0])
    assert model.sample(3, length=4, random_state=0)[0][0].shape == (4, 2)
    forecast = model.predict_next([table])
    assert np.allclose(forecast.mean, first.predict_next([table]).mean, rtol=1e-9)


SINGLE = {
    **{name: (own, table[:, :1]) for name, (own, table) in EMISSIONS.items() if name != "columns"},
    "negative binomial": (NegativeBinomial(size=3.0), np.abs(NUMBERS[:, :1] * 3).round()),
    "exponential": (Exponential(), np.abs(NUMBERS[:, :1])),
    "zeros": (ZeroInflated(Poisson()), np.maximum(NUMBERS[:, :1] * 3, 0).round()),
    "lags": (AutoRegressive(1), NUMBERS[:, :1]),
    "parts": (Columns([(Poisson(), [0])]), np.abs(NUMBERS[:, :1].round())),
}


def as_lists(tables, n_states=2):
    """Tables of one column as lists of a number a state."""
    if isinstance(tables, dict):
        return {name: as_lists(table) for name, table in tables.items()}
    if isinstance(tables, list) and len(tables) > 0 and isinstance(tables[0], dict):
        return [as_lists(table) for table in tables]
    return np.ravel(tables).tolist() if np.size(tables) in (1, n_states) else tables


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", SINGLE)
def test_tables_of_one_column_may_be_lists(kind):
    emission, table = SINGLE[kind]
    first = EMHMM(2, emission=emission, random_state=0, max_iter=9).fit([table])
    tables = posterior_means_of(first).emissions
    lists = as_lists(tables)
    if kind == "categories":
        lists = {"category_probabilities": tables["category_probabilities"][0]}
    assert str(lists) != str(tables)
    chain = {"startprob": first.startprob_, "transmat": first.transmat_}
    model = EMHMM.from_parameters(emission=emission, **chain, **lists)
    assert np.allclose(model.score_samples([table]), first.score_samples([table]), rtol=1e-10)
    start = HMMParameters(**chain, emissions=lists)
    again = EMHMM(2, emission=emission, init=start, max_iter=1, tol=0).fit([table])
    start = HMMParameters(**chain, emissions=tables)
    expected = EMHMM(2, emission=emission, init=start, max_iter=1, tol=0).fit([table])
    assert again.score([table]) == pytest.approx(expected.score([table]), rel=1e-12)


@pytest.mark.parametrize(
    ("emission", "tables", "message"),
    [
        ("poisson", {"rates": [1.0, 2.0, 3.0]}, r"rates has shape \(3,\), .* needs \(2, 1\)"),
        ("poisson", {"rates": [[1.0, 2.0]]}, r"rates has shape \(1, 2\), .* needs \(2, 2\)"),
        ("poisson", {"rates": [[[1.0, 2.0]]]}, r"\(n_components, n_columns\)"),
        ("poisson", {"rate": [1.0, 2.0]}, "not made of rate .did you mean 'rates'"),
        ("bernoulli", {"probabilities": [0.1]}, r"needs \(2, 1\)"),
        (Multinomial(), {"probabilities": [0.1, 0.9]}, r"needs \(2, n_columns\)"),
        (VonMises(), {"directions": [0.0, 1, 2], "concentrations": [1.0, 1]}, r"needs \(2, 1\)"),
        ("gaussian", {"means": [0, 5], "covariances": [1, 2, 3]}, r"needs \(2, 1, 1\)"),
        (
            "gaussian",
            {"means": [[0, 5], [1, 2]], "covariances": [1, 2]},
            r"has shape \(2,\), this model needs \(2, 2, 2\)",
        ),
    ],
)
def test_the_shape_of_a_table_is_named_if_it_is_another(emission, tables, message):
    with pytest.raises(ValueError, match=message):
        EMHMM.from_parameters(startprob=START, transmat=STEPS, emission=emission, **tables)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"startprob": START}, "made of startprob, transmat and emissionprob"),
        ({"startprob": START, "transmat": STEPS, "emissionprob": WORDS * 2}, "row 0 sums to 2"),
        ({"startprob": START, "transmat": STEPS, "means": [[0.0], [1.0]]}, "this model emits"),
    ],
)
def test_what_is_missing_is_told(tables, message):
    with pytest.raises(ValueError, match=message):
        EMHMM.from_parameters(**tables)
    with pytest.raises(TypeError, match="EMHMMTagger"):
        EMHMMTagger.from_parameters(KNOWN)


def test_a_dict_by_position_is_told_to_be_given_by_name():
    tables = {"startprob": START, "transmat": STEPS, "emissionprob": WORDS}
    with pytest.raises(TypeError, match=r"must be HMMParameters, got \{.*from_parameters\(\*\*"):
        EMHMM.from_parameters(tables)
    np.testing.assert_allclose(EMHMM.from_parameters(**tables).transmat_, STEPS)


# As text


FITS = {
    "EM": lambda **more: EMHMM(2, random_state=0, **more),
    "VB": lambda **more: VBHMM(2, random_state=0, max_iter=20, tol=0, **more),
    "CVB": lambda **more: CVBHMM(2, random_state=0, max_iter=20, tol=0, **more),
    "Gibbs": lambda **more: GibbsHMM(
        2, random_state=0, max_iter=20, samples=Samples(temperatures=(1.0, 1.0)), **more
    ),
}


@pytest.mark.parametrize("algorithm", FITS)
@pytest.mark.parametrize("end_state", [False, True])
def test_text_says_all_that_was_learned(algorithm, end_state):
    model = FITS[algorithm](transitions=Transitions(end_state=end_state)).fit(X)
    text = model.to_json()
    again = EMHMM.from_json(text)
    unknown = [*X, ["a", "?", None]]
    assert np.allclose(again.score_samples(unknown), model.score_samples(unknown), atol=1e-12)
    assert np.array_equal(again.vocabulary_, model.vocabulary_)
    # Whoever has no package reads it, too.
    tables = json.loads(text)["parameters"]
    assert np.array_equal(tables["transmat"], model.transmat_)
    assert np.array_equal(tables["emissionprob"], model.emissionprob_)
    assert tables["vocabulary"] == ["a", "b", "c"]
    assert EMHMM.from_json(again.to_json()).score(X) == pytest.approx(model.score(X), abs=1e-12)


def test_text_of_closed_vocabularies_and_topologies():
    closed = EMHMM(2, emission=Symbols(handle_unknown="error"), transitions="left-right").fit(
        [[1, 2, 2], [1, 1, 2]]
    )
    again = EMHMM.from_json(closed.to_json())
    assert again.score([[1, 2, 2]]) == pytest.approx(closed.score([[1, 2, 2]]), abs=1e-12)
    with pytest.raises(ValueError, match="unknown word 7"):
        again.score([[7]])


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", EMISSIONS)
def test_text_of_numbers(kind):
    emission, table = EMISSIONS[kind]
    model = EMHMM(2, emission=emission, random_state=0).fit([table])
    again = EMHMM.from_json(model.to_json())
    assert np.allclose(again.score_samples([table]), model.score_samples([table]), rtol=1e-12)
    assert np.array_equal(again.predict([table])[0], model.predict([table])[0])


def test_text_of_columns_by_name_numbers_them():
    frame = pd.DataFrame(NUMBERS, columns=["east", "north"])
    mixed = Columns([(Gaussian("diag"), ["north"]), (Gaussian("full"), ["east"])])
    model = EMHMM(2, emission=mixed, random_state=0).fit([frame])
    again = EMHMM.from_json(model.to_json())
    assert np.allclose(again.score_samples([NUMBERS]), model.score_samples([frame]), rtol=1e-12)


def test_text_of_taggers_names_the_tags():
    tags = {"a": ["X"], "b": ["X", "Y"]}
    tagger = EMHMMTagger(tags, random_state=0).fit(X)
    text = tagger.to_json()
    assert json.loads(text)["tags"] == ["X", "Y"]
    again = EMHMM.from_json(text)
    assert np.allclose(again.score_samples(X), tagger.score_samples(X), atol=1e-12)
    assert tagger.classes_[again.predict(X)[0]].tolist() == tagger.predict(X)[0].tolist()


def test_what_is_no_model_is_told():
    for text in ("[1, 2]", "", "{}", "a file's name.json"):
        with pytest.raises(ValueError, match="no model that to_json wrote"):
            EMHMM.from_json(text)
    text = EMHMM.from_parameters(KNOWN).to_json()
    with pytest.raises(ValueError, match="version 2 of the format"):
        EMHMM.from_json(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(TypeError, match=r"symbols that are text or numbers, not b'a'"):
        EMHMM(2, random_state=0).fit([[b"a", b"b"]]).to_json()
    with pytest.raises(NotFittedError):
        EMHMM().to_json()
