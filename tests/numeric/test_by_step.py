"""``update="token"`` on numbers: CVB against a plain re-statement, Gibbs against all paths."""

from types import SimpleNamespace

import numpy as np
import pytest
import restatement_token
from numeric import restatement
from numeric.problems import EMISSIONS, numbers, start
from numeric.test_contract import assert_same, model_of
from numeric.test_exact import gibbs_deviation
from numeric.test_sweeps import problem

from sklearn_cvb import CVBHMM, GibbsHMM
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.hmm.numeric import by_step
from sklearn_cvb.kernels.emission import one_step

SWEEPS = 3
INDEPENDENT_COLUMNS = [name for name in EMISSIONS if name not in ("full", "tied")]
CASES = [
    *((name, "full", has_end, "steps") for name in EMISSIONS for has_end in (False, True)),
    *((name, "full", True, "values") for name in INDEPENDENT_COLUMNS),
    *((name, "independent", False, "") for name in ("full", "columns")),
]


def as_symbols(setting, posteriors):
    """The chain as one of tokens that tell nothing, the end of a series as one more of them."""
    n = setting.n_states + setting.has_end
    alpha = np.full((n + 1, n), setting.alpha)
    alpha[n] = setting.start_alpha
    q = []
    for table in posteriors:
        table = np.hstack([table, np.zeros((len(table), n - setting.n_states))])
        q.append(np.vstack([table, np.eye(n)[-1:]]) if setting.has_end else table)
    chain = SimpleNamespace(n_states=n, sequences=[[None] * len(table) for table in q], alpha=alpha)
    return chain, q


def predictive_of_step(setting, posteriors, i, t):
    """Log densities of one step, given all others and their posteriors."""
    table, shares = np.concatenate(setting.series), np.concatenate(posteriors)
    place = sum(map(len, setting.series[:i])) + t
    shares[place] = 0.0
    others = restatement.statistics_of(setting.family, table, shares)
    predictive = setting.family.predictive(others)
    return restatement.scores_of(setting.family, predictive, table[place : place + 1])[0]


def plain_sweeps(setting, posteriors, n_sweeps, known=None):
    """Figure 3, every count rebuilt before each step; steps that are `known` stay."""
    n = setting.n_states
    for _ in range(n_sweeps):
        for i, x in enumerate(setting.series):
            for t in range(len(x)):
                if known is not None and known[i][t] >= 0:
                    continue
                chain, q = as_symbols(setting, posteriors)
                weight = restatement_token.incoming_term(chain, q, i, t)
                weight = weight * restatement_token.outgoing_term(chain, q, i, t)
                weight = weight[:n] * np.exp(predictive_of_step(setting, posteriors, i, t))
                posteriors[i][t] = weight / weight.sum()
    return posteriors


def score(setting, posteriors):
    """Mean log p(series | all others), counts frozen."""
    pairs = restatement.first_pairs(setting, posteriors)
    units = restatement.units_of(setting, None)
    statistics = {}
    for unit in units:
        own = slice(unit.begin, unit.end)
        x, q = setting.series[unit.series][own], posteriors[unit.series][own]
        statistics[unit] = restatement.statistics_of(setting.family, x, q)
    state = posteriors, pairs, statistics
    whole = restatement.summed(setting, *state)
    total = sum(restatement.series_by_units(setting, [unit], whole, state)[0] for unit in units)
    return total / setting.n_observed


def cut(setting):
    """Each step a series, where none depends on another."""
    if not setting.is_tied:
        return setting
    return setting._replace(series=[step[None] for x in setting.series for step in x])


def deviation(name, topology, has_end, missing):
    """The largest difference between a fit and its re-statement, of posteriors and of the score."""
    model, series, _ = problem(
        CVBHMM, name, topology, has_end, missing, "few", alpha=0.4, start_alpha=0.9
    )
    setting = restatement.setting_of(model, series)
    posteriors = [np.array(table) for table in model.init]
    if setting.is_tied:
        posteriors = [step[None] for table in posteriors for step in table]
    plain = plain_sweeps(cut(setting), posteriors, SWEEPS)
    model.set_params(update="token", warm_start=True).fit(series)
    found = np.concatenate(list(model.training_posteriors()))
    whole = np.split(np.concatenate(plain), np.cumsum([len(x) for x in series])[:-1])
    differences = np.abs(np.concatenate(plain) - found).max(), score(setting, whole)
    return max(differences[0], abs(differences[1] - model.loo_score_))


@pytest.mark.parametrize(("name", "topology", "has_end", "missing"), CASES, ids=str)
def test_cvb(name, topology, has_end, missing):
    assert deviation(name, topology, has_end, missing) < 1e-10


def test_known_states_stay():
    lengths = (5, 3, 4)
    series, known = numbers("diag", lengths), [[0, -1, -1, 1, -1], [-1] * 3, [-1, 1, 1, -1]]
    model = CVBHMM(2, emission=EMISSIONS["diag"], update="token", supervision="y", alpha=0.4)
    model.set_params(init=start(lengths, 2), max_iter=SWEEPS, tol=0, warm_start=True)
    posteriors = [np.array(table) for table in model.init]
    for table, states in zip(posteriors, known, strict=True):
        for t, state in enumerate(states):
            if state >= 0:
                table[t] = np.eye(2)[state]
    plain = plain_sweeps(restatement.setting_of(model, series), posteriors, SWEEPS, known)
    found = model.fit(series, known).training_posteriors()
    np.testing.assert_allclose(np.concatenate(list(found)), np.concatenate(plain), atol=1e-10)


GIBBS = [
    *((name, "full", False, "") for name in EMISSIONS),
    ("diag", "full", True, "values"),
    ("tied", "independent", False, "steps"),
    ("columns", "full", True, "values"),
]


@pytest.mark.parametrize(("name", "topology", "has_end", "missing"), GIBBS, ids=str)
def test_gibbs_draws_from_the_posterior(name, topology, has_end, missing):
    found = gibbs_deviation(name, topology, has_end, missing, 2000, update="token")
    assert found < 0.08


def test_gibbs_keeps_known_states():
    series = numbers("full", (9, 30))
    known = [np.full(9, -1), np.arange(30) % 3 - 1]
    model = GibbsHMM(2, emission="gaussian", update="token", supervision="y", max_iter=40, thin=1)
    samples = model.set_params(random_state=0).fit(series, known).samples_
    told = np.concatenate(known)
    assert (samples[:, told >= 0] == told[told >= 0]).all()
    assert (samples[:, told < 0] != samples[0, told < 0]).any()


def own_shares_stay(steps):
    """About so much as one step of the others' twelve."""
    steps.parts.sums[:] *= 13 / 12
    return steps


def steps_of_others(steps):
    """Each token has the values of the one before."""
    return steps._replace(row=np.maximum(steps.row - 1, 0))


def wrong_prior(steps):
    """Another mean is expected."""
    return steps._replace(parts=steps.parts._replace(mean=steps.parts.mean + 1.0))


@pytest.mark.parametrize("planted", [own_shares_stay, steps_of_others, wrong_prior])
def test_planted_errors_are_seen(planted, monkeypatch):
    before, case = by_step._steps, ("diag", "full", False, "")
    monkeypatch.setattr(by_step, "_steps", lambda *arguments: planted(before(*arguments)))
    assert deviation(*case) > 1e-4
    if planted is not own_shares_stay:
        assert gibbs_deviation(*case, 3000, update="token") > 0.1


@pytest.mark.parametrize("kind", [CVBHMM, GibbsHMM])
@pytest.mark.parametrize(("name", "missing"), [("full", "steps"), ("columns", "values")])
def test_three_sweeps_and_four_are_seven(kind, name, missing):
    series, settings = numbers(name, (9, 30, 1, 12), missing), {"update": "token"}
    whole = model_of(kind, name, "full", True, max_iter=7, **settings).fit(series)
    first = model_of(kind, name, "full", True, max_iter=3, warm_start=True, **settings).fit(series)
    first.set_params(max_iter=4).fit(series)
    np.testing.assert_array_equal(first.history_[-4:], whole.history_[3:])
    assert_same(first, whole, series)


@pytest.mark.parametrize("kind", [CVBHMM, GibbsHMM])
def test_what_is_not_there_is_refused_by_name(kind):
    series = numbers("full", (9, 12))
    model = kind(2, emission="gaussian", update="token", max_iter=2, random_state=0)
    with pytest.raises(ValueError, match=r"one token at a time|as if they were independent"):
        model.set_params(topology="left-right").fit(series)
    model.set_params(topology="full")
    series[1][3, 0] = np.nan
    with pytest.raises(ValueError, match=r"some columns are missing: use Gaussian\('diag'\)"):
        model.fit(series)
    model.set_params(emission=Gaussian("diag")).fit(series)


def test_another_update_begins_anew():
    series = numbers("diag", (9, 12))
    model = CVBHMM(2, emission="gaussian", max_iter=3, tol=0, random_state=0, warm_start=True)
    for update in ("token", "sequence", "token"):
        model.set_params(update=update, random_state=0).fit(series)
        fresh = CVBHMM(2, emission="gaussian", update=update, max_iter=3, tol=0, random_state=0)
        np.testing.assert_array_equal(model.history_, fresh.fit(series).history_)


def test_what_kernels_call_is_not_for_python():
    with pytest.raises(NotImplementedError):
        one_step.add_predictive((), 0, np.empty(2), np.empty(2))
    with pytest.raises(NotImplementedError):
        one_step.change_shares((), 0, np.empty(2))
