"""Credible intervals, traces of chains and their export."""

import sys
import types

import numpy as np
import pytest
from estimators import make_estimator
from scipy.stats import beta as beta_distribution

from benchmarks.enumeration.problems import make_problem
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    GibbsHMMTagger,
    Samples,
    Symbols,
)
from sklearn_cvb.certainty.mixtures import beta_mixture_quantile
from sklearn_cvb.metrics import effective_sample_size, r_hat

X = [["a", "b", "c"], ["b", "a", None], ["c", "c", "a", "b"], ["d", "a"]] * 3
DICTIONARY = make_problem(
    [[0, 3, 1], [3, 2], [4, 0, 3], [2, 4]],
    3,
    5,
    0.3,
    0.2,
    {0: [0], 1: [1], 2: [0, 2], 3: [1, 2], 4: [0, 1]},
)


def _public_parameters(model):
    """Dirichlet parameters of start, transitions and emissions from public counts."""
    counts = model.counts_
    emission = counts.emission if isinstance(counts.emission, np.ndarray) else None
    emission = counts.emission.toarray() if emission is None else emission
    return (
        counts.start + model.alpha_,
        counts.transition + model.alpha_,
        emission.T + model.beta_,
    )


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_intervals_are_beta_quantiles(kind):
    model = kind(3, emission=Symbols(handle_unknown="smooth"), random_state=0).fit(X)
    for level in (0.5, 0.95):
        intervals = model.credible_intervals(level=level)
        tails = 0.5 - level / 2, 0.5 + level / 2
        for got, u in zip(intervals[:3], _public_parameters(model), strict=True):
            rest = u.sum(axis=-1, keepdims=True) - u
            expected = [beta_distribution.ppf(tail, u, rest) for tail in tails]
            np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-12)
    assert intervals.emission.shape == model.emissionprob_[None].repeat(2, 0).shape


@pytest.mark.parametrize("prefix", ["VB", "CVB", "Gibbs"])
def test_ruled_out_cells_hold_the_rest_of_the_prior(prefix):
    settings = (
        {"samples": Samples(0, temperatures=None), "max_iter": 50} if prefix == "Gibbs" else {}
    )
    model = make_estimator(prefix, DICTIONARY, **settings).fit(DICTIONARY.sequences)
    lower, upper = model.credible_intervals(level=0.9).emission
    assert lower.shape == (3, 5)
    # State 0 may not emit symbol 1: a cell of the prior alone.
    if prefix != "Gibbs":
        n_emitted = model.counts_.emission.toarray()[:, 0].sum()
        expected = beta_distribution.ppf(0.95, 0.2, n_emitted + 5 * 0.2 - 0.2)
        assert upper[0, 1] == pytest.approx(expected)
    assert (lower <= upper).all()


def test_intervals_of_samples_are_quantiles_of_their_mixture():
    settings = {"samples": Samples(thin=3), "emission": Symbols(handle_unknown="rare")}
    model = GibbsHMM(2, alpha=0.1, max_iter=60, random_state=0, **settings).fit(X)
    level, rng = 0.8, np.random.default_rng(0)
    draws = []
    for path in model.samples_:
        counts = model._learned.extra.samples.per_sample.counts(path)
        u = counts.transition + model.alpha
        draws += [[rng.dirichlet(row, 2000) for row in u]]
    draws = np.concatenate(np.array(draws), axis=1)
    expected = np.quantile(draws, [0.1, 0.9], axis=1)
    np.testing.assert_allclose(
        model.credible_intervals(level=level).transition, expected, atol=0.02
    )


def test_quantiles_of_a_mixture_solve_their_equation():
    rng = np.random.default_rng(0)
    own, other = 0.05 + rng.gamma(1.0, 3.0, (2, 7, 40))
    for tail in (0.025, 0.5, 0.975):
        value = beta_mixture_quantile(own, other, tail)
        share = beta_distribution.cdf(value, own, other).mean(axis=0)
        np.testing.assert_allclose(share, tail, atol=1e-4)


def test_cells_without_prior_and_rows_of_one_cell():
    zero, one = np.zeros((2, 1)), np.ones((2, 1))
    assert beta_mixture_quantile(zero, one, 0.5).tolist() == [0.0]
    assert beta_mixture_quantile(one, zero, 0.5).tolist() == [1.0]
    model = VBHMM(1, emission=Symbols(vocabulary=["a"], handle_unknown="error")).fit([["a", "a"]])
    intervals = model.credible_intervals()
    assert [table.tolist() for table in intervals[:3]] == [[[1.0], [1.0]], [[[1.0]], [[1.0]]]] + [
        [[[1.0]], [[1.0]]]
    ]


def test_learned_concentrations_go_with_their_samples():
    settings = {"alpha": "auto", "beta": "auto", "max_iter": 80, "samples": Samples(thin=1)}
    model = GibbsHMM(2, random_state=0, **settings).fit(X)
    kept = model._learned.extra.samples.per_sample
    assert len(np.unique(kept.concentrations[:, 0])) > 10
    np.testing.assert_array_equal(kept.concentrations[:, 0], model.chains_.alpha[0])
    one = kept.prior(0), kept.prior(len(model.samples_) - 1)
    assert one[0].transition[0, 0] == model.chains_.alpha[0, 0]
    assert one[1].emission[0] == model.chains_.beta[0, -1] == model.beta_
    lower, upper = model.credible_intervals(level=0.99).transition
    assert ((lower < model.transmat_) & (model.transmat_ < upper)).all()


def test_em_has_no_intervals():
    model = EMHMM(2, alpha=0.1, beta=0.1).fit(X)
    with pytest.raises(AttributeError, match="point estimates"):
        model.credible_intervals()


@pytest.mark.parametrize("level", [0.0, 1.0, 95, "0.9", None])
def test_bad_levels(level):
    with pytest.raises(ValueError, match="level"):
        VBHMM(2).fit(X).credible_intervals(level=level)


def test_annealing_has_no_posterior():
    model = GibbsHMMTagger({"a": ["A"], "b": ["B"]}, max_iter=20).fit(X)
    for name in ("credible_intervals", "convergence", "to_inference_data"):
        with pytest.raises(ValueError, match=f"{name} needs samples of the posterior"):
            getattr(model, name)()
    assert model.chains_ is None


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("update", ["token", "sequence", "parameter"])
def test_chains_hold_all_restarts(update):
    settings = {"max_iter": 90, "samples": Samples(30), "n_init": 3, "random_state": 0}
    model = GibbsHMM(2, update=update, **settings).fit(X)
    chains = model.chains_
    assert [trace.shape for trace in chains] == [(3, 60)] * 4
    best = int(np.argmax(model.restart_objectives_))
    np.testing.assert_array_equal(chains.log_joint[best], model.history_[30:])
    occupied = [len(np.unique(sample)) for sample in model.samples_]
    np.testing.assert_array_equal(chains.n_occupied[best, :: Samples().thin], occupied)
    assert set(np.ravel(chains.alpha)) == {0.1}
    summary = model.convergence()
    assert list(summary) == ["log_joint", "n_occupied"]
    assert summary["log_joint"].r_hat == r_hat(chains.log_joint)
    assert summary["log_joint"].effective_sample_size == effective_sample_size(chains.log_joint)
    assert summary["log_joint"].mean == pytest.approx(chains.log_joint.mean())


def test_learned_concentrations_are_traced():
    model = GibbsHMM(2, alpha="auto", max_iter=60, n_init=2, random_state=0).fit(X)
    assert list(model.convergence()) == ["log_joint", "alpha", "n_occupied"]
    assert model.convergence()["alpha"].standard_deviation > 0


def test_warm_start_goes_on_with_the_trace():
    model = GibbsHMM(2, max_iter=20, samples=Samples(5), warm_start=True, random_state=0).fit(X)
    model.fit(X)
    assert model.chains_.log_joint.shape == (1, 35)


def _stub(monkeypatch, from_dict):
    """An ArviZ that hands back what it is given."""
    arviz = types.ModuleType("arviz")
    arviz.from_dict = from_dict
    # Names of 0.x are attributes of 1.x, too, which warn.
    arviz.InferenceData = object
    monkeypatch.setitem(sys.modules, "arviz", arviz)


def test_export_to_arviz(monkeypatch):
    model = GibbsHMM(2, beta="auto", max_iter=60, n_init=2, random_state=0).fit(X)
    _stub(monkeypatch, lambda posterior=None, *, sample_stats=None: (posterior, sample_stats))
    posterior, statistics = model.to_inference_data()
    assert set(posterior) == {"beta", "n_occupied"}
    np.testing.assert_array_equal(statistics["lp"], model.chains_.log_joint)
    np.testing.assert_array_equal(posterior["beta"], model.chains_.beta)
    _stub(monkeypatch, lambda data, *, sample_dims=None: data)
    newer = model.to_inference_data()
    assert set(newer) == {"posterior", "sample_stats"}
    assert newer["posterior"]["beta"].shape == (2, 30)


def test_export_without_arviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    model = GibbsHMM(2, max_iter=10, random_state=0).fit(X)
    with pytest.raises(ImportError, match="pip install arviz"):
        model.to_inference_data()


def test_export_with_the_real_arviz():
    arviz = pytest.importorskip("arviz")
    model = GibbsHMM(2, alpha="auto", max_iter=100, n_init=2, random_state=0).fit(X)
    data = model.to_inference_data()
    for group, names in (("posterior", {"alpha", "n_occupied"}), ("sample_stats", {"lp"})):
        assert set(data[group].data_vars) == names
        assert all(data[group][name].dims == ("chain", "draw") for name in names)
    np.testing.assert_array_equal(data["posterior"]["alpha"].to_numpy(), model.chains_.alpha)
    np.testing.assert_array_equal(data["sample_stats"]["lp"].to_numpy(), model.chains_.log_joint)
    assert data["posterior"]["alpha"].shape == (2, 50)
    expected = model.convergence()["alpha"].r_hat
    assert float(arviz.rhat(data)["alpha"]) == pytest.approx(expected, rel=1e-9)
    assert float(arviz.summary(data)["mean"]["alpha"]) == pytest.approx(
        model.chains_.alpha.mean(), abs=0.01
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_draws_with_the_real_arviz(emission):
    arviz = pytest.importorskip("arviz")
    own = X if emission == "categorical" else [np.arange(8.0) % 3 for _ in range(4)]
    model = CVBHMM(2, emission=emission, random_state=0).fit(own)
    draws = model.credible_intervals(own, random_state=0).draws
    worth = model.log_likelihoods(own, draws)
    data = draws.to_inference_data(log_likelihood=worth)
    posterior = data["posterior"]
    assert posterior["transmat"].shape == (1, *draws.transmat.shape)
    for name, table in {"startprob": draws.startprob, **draws.emission}.items():
        np.testing.assert_array_equal(posterior[name].to_numpy()[0], table)
        assert posterior[name].dims[:2] == ("chain", "draw")
    assert data["log_likelihood"]["x"].shape == (1, *worth.shape)
    found = arviz.loo(data)
    # The estimate is below the mean log-likelihood of what was fitted.
    elpd = float(getattr(found, "elpd_loo", getattr(found, "elpd", np.nan)))
    assert worth.sum(axis=1).min() - 20 < elpd < worth.sum(axis=1).max()
    assert len(arviz.summary(data)) > 6


def test_supervised_tagger_without_dictionary_has_intervals_too():
    y = [["A" if token == "a" else "B" for token in row] for row in X]
    model = GibbsHMMTagger(samples=Samples(), max_iter=30, random_state=0).fit(X, y)
    lower, upper = model.credible_intervals().transition
    assert (lower < upper).all()
    with pytest.raises(AttributeError, match="point estimates"):
        EMHMMTagger().fit(X, y).credible_intervals()
