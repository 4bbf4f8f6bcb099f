"""What all algorithms keep to with every kind of numbers: warm starts, threads, pickles, errors."""

import pickle

import numpy as np
import pytest
from chain.numbers.problems import EMISSIONS, TOPOLOGIES, numbers
from sklearn.frozen import FrozenEstimator

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples, Transitions
from sklearn_cvb.chain.numbers.e_step import lattice_of_steps
from sklearn_cvb.emissions import Gaussian

KINDS = (EMHMM, VBHMM, CVBHMM, GibbsHMM)
LENGTHS = (9, 30, 1, 12)
VALUES = ("bernoulli", "columns", "poisson", "gamma", "negative binomial")
SETTINGS = [
    (name, "full", True, "steps")
    if index % 2
    else (name, "full", False, "values" if name in VALUES else "")
    for index, name in enumerate(EMISSIONS)
] + [("diag", topology, False, "") for topology in ("left-right", "independent", "constant")]
SETTINGS += [("full", "full", False, "values"), ("tied", "full", True, "values")]
every_setting = pytest.mark.parametrize(
    ("name", "topology", "has_end", "missing"), SETTINGS, ids=str
)


def model_of(kind, name, topology, has_end, **settings):
    own = {"samples": Samples(2, thin=1)} if kind is GibbsHMM else {"tol": 0}
    return kind(
        2,
        emission=EMISSIONS[name],
        transitions=Transitions(TOPOLOGIES[topology], end_state=has_end),
        random_state=0,
        **own | settings,
    )


def arrays_of(value):
    """All arrays in what a model shows, in a fixed order."""
    if isinstance(value, dict):
        return [array for key in sorted(value) for array in arrays_of(value[key])]
    if isinstance(value, list | tuple):
        return [array for part in value for array in arrays_of(part)]
    return [np.asarray(value)]


def learned(model, series, labels):
    shown = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_")
        and not name.startswith("_")
        and name not in ("n_iter_", "history_", "restart_histories_")
        and value is not None
    }
    shown["proba"] = list(model.predict_proba(series))
    paths = list(shown.pop("labels_"))
    if labels:
        shown["paths"] = paths
    return arrays_of([shown, model.startprob_, model.transmat_, model.score_samples(series)])


def assert_same(one, other, series, labels=True):
    first, second = learned(one, series, labels), learned(other, series, labels)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("kind", KINDS)
@every_setting
def test_three_sweeps_and_four_are_seven(kind, name, topology, has_end, missing):
    """To the last bit, with a pickle between them."""
    series = numbers(name, LENGTHS, missing)
    whole = model_of(kind, name, topology, has_end, max_iter=7).fit(series)
    first = model_of(kind, name, topology, has_end, max_iter=3, warm_start=True).fit(series)
    second = pickle.loads(pickle.dumps(first)).set_params(max_iter=4).fit(series)
    history = np.concatenate([first.history_, second.history_])
    np.testing.assert_array_equal(history, whole.history_)
    # Labels of a sampler are of the last tenth of the fit that began the chain.
    assert_same(second, whole, series, labels=kind is not GibbsHMM)
    # The first fit is as it was.
    again = model_of(kind, name, topology, has_end, max_iter=3, warm_start=True).fit(series)
    assert_same(first, again, series)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", KINDS)
def test_other_series_begin_anew(kind):
    series = numbers("diag", LENGTHS)
    model = model_of(kind, "diag", "full", False, max_iter=3, warm_start=True).fit(series)
    others = [x + 1e-9 for x in series]
    model.set_params(random_state=0).fit(others)
    fresh = model_of(kind, "diag", "full", False, max_iter=3).fit(others)
    np.testing.assert_array_equal(model.history_, fresh.history_)
    model.set_params(emission=Gaussian("full")).fit(others)
    fresh.set_params(emission=Gaussian("full")).fit(others)
    np.testing.assert_array_equal(model.history_, fresh.history_)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["full", "columns"])
def test_threads_change_nothing(kind, name):
    """Enough steps for several pieces, and several restarts."""
    series = numbers(name, (900,) * 21)
    settings = {"max_iter": 3, "n_init": 2, "transitions": Transitions(end_state=True)}
    fits = [
        model_of(kind, name, "full", False, n_jobs=n_jobs).set_params(**settings).fit(series)
        for n_jobs in (1, 4)
    ]
    np.testing.assert_array_equal(fits[0].restart_objectives_, fits[1].restart_objectives_)
    assert_same(*fits, series)


def test_series_of_one_step_are_of_the_kind_that_kernels_know():
    # For arrays that cannot be written all that takes them would be compiled anew.
    assert all(array.flags.writeable for array in lattice_of_steps(1, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickled_model_reads_the_same(kind):
    series = numbers("columns", LENGTHS)
    model = model_of(kind, "columns", "full", True, max_iter=3).fit(series)
    copy = pickle.loads(pickle.dumps(model))
    assert_same(model, copy, series)
    kept = [model.sample(2, 5, random_state=0), copy.sample(2, 5, random_state=0)]
    np.testing.assert_array_equal(kept[0][0], kept[1][0])


@pytest.mark.parametrize("kind", KINDS)
def test_posteriors_of_a_model_with_other_emissions_are_a_start(kind):
    series = numbers("full", LENGTHS)
    before = EMHMM(2, emission=Gaussian("diag"), random_state=1, max_iter=2).fit(series)
    given = model_of(
        kind, "full", "full", False, max_iter=2, init=list(before.predict_proba(series))
    )
    taken = model_of(kind, "full", "full", False, max_iter=2, init=before)
    np.testing.assert_array_equal(given.fit(series).history_, taken.fit(series).history_)


@pytest.mark.parametrize("durations", [None, "poisson"])
@pytest.mark.parametrize("emission", EMISSIONS)
def test_em_goes_on_where_a_model_with_its_emissions_ended(emission, durations):
    series, known = numbers(emission, LENGTHS), {"tol": 0, "random_state": 1}
    known |= {"emission": EMISSIONS[emission], "transitions": Transitions(durations=durations)}
    whole = EMHMM(2, max_iter=9, **known).fit(series)
    first = EMHMM(2, max_iter=4, **known).fit(series)
    after = EMHMM(2, max_iter=4, init=FrozenEstimator(first), **known).fit(series)
    # A start is counted under the parameters that are given: the fifth sweep of nine.
    expected = whole.restart_histories_[0][5:]
    np.testing.assert_allclose(after.history_, expected, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(after.transmat_, whole.transmat_, rtol=1e-7, atol=1e-12)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("topology", ["left-right", "constant", "table"])
def test_what_a_topology_rules_out_has_no_probability(kind, topology):
    series = numbers("diag", LENGTHS)
    model = model_of(kind, "diag", topology, False, max_iter=5).fit(series)
    allowed = TOPOLOGIES[topology]
    if topology != "table":
        allowed = (
            np.triu(np.ones((2, 2), bool)) if topology == "left-right" else np.eye(2, dtype=bool)
        )
    assert (model.transmat_[~allowed] == 0).all()
    assert (model.counts_.transition[~allowed] == 0).all()
    for path in [*model.predict(series), *model.sample(5, 9, random_state=0)[1]]:
        assert allowed[path[:-1], path[1:]].all()


def test_a_short_series_alone_is_learned_from():
    """Collapsed: some of its steps are left out at a time, not all of them."""
    rng = np.random.default_rng(0)
    for length in (6, 30, 90, 130):
        x = rng.normal(np.arange(length) // (length // 3) % 2 * 9.0)
        model = CVBHMM(2, emission="gaussian", random_state=0).fit([x])
        assert np.ptp(model.means_) > 5


def test_settings_of_symbols_are_refused():
    sampler = GibbsHMM(2, emission="gaussian", samples=Samples(temperatures=(10.0, 1.0)))
    with pytest.raises(ValueError, match="is for symbols alone"):
        sampler.fit([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_after_symbols_begin_anew(kind):
    """And symbols after numbers."""
    X = [[0.0, 1.0, 0.0, 3.0], [2.0, 1.0, 1.0]]
    model = kind(2, warm_start=True, random_state=0, max_iter=3).fit(X)
    model.set_params(emission="poisson").fit(X)
    assert model.rates_.shape == (2, 1)
    model.set_params(emission="categorical").fit(X)
    assert model.emissionprob_.shape[0] == 2


def test_a_chain_averages_its_kept_samples_and_labels_by_its_last_tenth():
    """As with symbols."""
    series = numbers("poisson", LENGTHS)
    every = model_of(GibbsHMM, "poisson", "full", False, max_iter=30).fit(series)
    some = model_of(
        GibbsHMM, "poisson", "full", False, max_iter=30, samples=Samples(2, thin=3)
    ).fit(series)
    np.testing.assert_array_equal(some.samples_, every.samples_[::3])
    for name in ("start", "transition"):
        kept = [getattr(counts, name) for counts, _ in some._learned.extra.samples.per_sample]
        np.testing.assert_allclose(getattr(some.counts_, name), np.mean(kept, axis=0), rtol=1e-12)
    often = np.mean(every.samples_[-3:], axis=0) > 0.5
    for model in (every, some):
        np.testing.assert_array_equal(np.concatenate(list(model.labels_)), often)
