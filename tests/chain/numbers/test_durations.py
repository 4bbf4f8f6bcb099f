"""Hidden semi-Markov chains: visits whose durations have laws of their own."""

import pickle

import numpy as np
import pytest
from chain.numbers.problems import LAWS
from chain.numbers.restatement import infer_visits
from chain.numbers.test_sweeps import cvb_deviation, problem
from scipy import stats

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Durations,
    EMHMMTagger,
    GibbsHMM,
    HMMMixture,
    HMMParameters,
    Transitions,
)
from sklearn_cvb.chain.numbers import leave_out, visits
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    filter_steps,
    infer,
    off_diagonal,
    plain_stretches,
    scores_from_logs,
)
from sklearn_cvb.display.learned import summary_of_model
from sklearn_cvb.emissions import AutoRegressive, Categorical, Gaussian, Poisson
from sklearn_cvb.emissions.semi_markov import SemiMarkovFamily, law_of_durations
from sklearn_cvb.metrics import relabel

every_kind = pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
# Of two states, 1 to 5 steps.
LASTING = Transitions(durations=Durations("histogram", longest=3))
TRUTH = np.array([[0.0, 0.1, 0.2, 0.6, 0.1], [0.1, 0.7, 0.2, 0.0, 0.0]])


def visits_of(n_series=30, length=100, seed=0):
    """Series of two states that take turns."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_series):
        state, path = rng.integers(2), []
        while len(path) < length:
            path += [state] * (1 + rng.choice(5, p=TRUTH[state]))
            state = 1 - state
        found.append(rng.normal(3.0 * np.array(path[:length])))
    return found


def fitted(kind, X, lasting="histogram", longest=5, **settings):
    settings = {"emission": "gaussian", "max_iter": 60, "random_state": 0} | settings
    return kind(2, transitions=Transitions(durations=Durations(lasting, longest)), **settings).fit(
        X
    )


@pytest.mark.long
@every_kind
def test_durations_are_found_and_drawn_from(kind):
    X = visits_of()
    model = fitted(kind, X)
    order = np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(model.durations_[order], TRUTH, atol=0.05)
    np.testing.assert_array_equal(model.transmat_, [[0.0, 1.0], [1.0, 0.0]])
    other = relabel(model, [1, 0])
    np.testing.assert_allclose(other.durations_, model.durations_[::-1], rtol=1e-12)
    assert other.score(X) == pytest.approx(model.score(X), rel=1e-12)
    assert model.score(X) > kind(2, emission="gaussian", random_state=0).fit(X).score(X) + 0.1
    _, states = model.sample(400, 100, random_state=0)
    lasted = np.zeros(model.durations_.shape)
    for path in states:
        cuts = np.flatnonzero(np.diff(path)) + 1
        np.add.at(lasted, (path[cuts[:-1]], np.diff(cuts) - 1), 1)
    shares = lasted / lasted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, model.durations_, atol=0.02)


def random_tables(rng, n, longest, n_tables, topology="full"):
    """Tables of a chain whose states do not follow themselves; an endless one alone does."""
    allowed = ~np.eye(n, dtype=bool)
    if topology == "ring":
        allowed = np.roll(np.eye(n, dtype=bool), 1, axis=1)
    if topology == "left-right":
        allowed = np.triu(allowed)
        allowed[-1, -1] = True
    moves = rng.dirichlet(np.ones(n), (n_tables, n)) * allowed
    moves /= moves.sum(axis=2, keepdims=True)
    start = rng.dirichlet(np.ones(n), n_tables)
    lasts = np.log(rng.dirichlet(np.ones(longest), (n_tables, n)))
    if topology == "left-right":
        lasts[:, -1, :-1], lasts[:, -1, -1] = -np.inf, 0.0
    return visits.VisitTables(start, moves, lasts)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("scale", [1.0, 600.0])
@pytest.mark.parametrize(
    ("n", "longest", "topology"),
    [
        *((n, longest, "full") for n, longest in [(2, 4), (3, 2), (3, 1), (9, 2)]),
        *((3, longest, topology) for longest in (1, 3) for topology in ("ring", "left-right")),
    ],
)
def test_sums_over_all_visits(n, longest, topology, scale):
    """Also where float64 loses a sequence; tables are those of the step that a visit begins at."""
    rng = np.random.default_rng(0)
    starts = np.array([0, 5, 8, 9]) if n < 9 else np.array([0, 3, 4])
    tables = random_tables(rng, n, longest, 3, topology)
    table, endless = rng.integers(0, 3, starts[-1]), [2] if topology == "left-right" else []
    logs = scale * rng.normal(size=(starts[-1], n))
    logs[1, 0] = -np.inf
    found = visits.infer(tables, logs, starts, table)
    times = np.array([2.0, 0.5, 1.5])[: len(starts) - 1]
    weighted = visits.infer(tables, logs, starts, table, times)
    one = visits.VisitTables(*(part[:1] for part in tables))
    best, log_p = visits.best_path(one, logs, starts)
    before, others = (
        visits.normalise_logs(given(one, logs, starts)[0])
        for given in (visits.log_states_given_past, visits.log_states_given_others)
    )
    pairs, lasting = np.zeros_like(tables.transition), np.zeros_like(tables.log_durations)
    of_weighted = np.zeros_like(pairs), np.zeros_like(lasting)
    with np.errstate(divide="ignore"):
        start, moves = np.log(tables.start), np.log(tables.transition)
    for i in range(len(starts) - 1):
        own = slice(starts[i], starts[i + 1])
        later = table[own][1:]
        exact = infer_visits(
            start[table[own][0]],
            moves[later],
            tables.log_durations[table[own]],
            logs[own],
            endless,
        )
        assert found.log_z[i] == pytest.approx(exact[0], rel=1e-12)
        np.testing.assert_allclose(found.posterior[own], exact[1], atol=1e-12)
        np.add.at(pairs, later, exact[2].pairs)
        np.add.at(lasting, table[own], exact[2].visits)
        np.testing.assert_allclose(weighted.posterior[own], times[i] * exact[1], atol=1e-12)
        np.add.at(of_weighted[0], later, times[i] * exact[2].pairs)
        np.add.at(of_weighted[1], table[own], times[i] * exact[2].visits)
        first = 0 * table[own]
        given = start[0], moves[first[1:]], tables.log_durations[first], logs[own], endless
        paths = infer_visits(*given)[3]
        assert log_p[i] == pytest.approx(max(paths.values()), rel=1e-12)
        assert paths[tuple(best[own])] == pytest.approx(log_p[i], rel=1e-12)
        for t in range(len(first)):
            rest = logs[own].copy()
            rest[t] = 0.0
            for found_here, last in ((before, t + 1), (others, len(first))):
                steps = moves[first[1:last]], tables.log_durations[first[:last]], rest[:last]
                exact = infer_visits(start[0], *steps, endless)[1][t]
                np.testing.assert_allclose(found_here[own][t], exact, atol=1e-12)
    np.testing.assert_allclose(off_diagonal(found.pairs), pairs, atol=1e-12)
    # Endless visits are cut into such of the longest duration, which tell nothing.
    found.visits[:, endless] = weighted.visits[:, endless] = 0.0
    np.testing.assert_allclose(found.visits, lasting, atol=1e-12)
    np.testing.assert_allclose(off_diagonal(weighted.pairs), of_weighted[0], atol=1e-12)
    np.testing.assert_allclose(weighted.visits, of_weighted[1], atol=1e-12)


def test_draws_are_of_the_posterior_beside_a_lost_sequence():
    """That float64 loses one sequence changes nothing for those after it."""
    rng, starts = np.random.default_rng(0), np.array([0, 6, 9])
    tables, logs = random_tables(rng, 2, 3, 1), rng.normal(size=(9, 2))
    # State 0 explains all of these steps, but lasts for three of them at most.
    logs[:6, 1] -= 900.0
    found, n_draws = {}, 3000
    for _ in range(n_draws):
        drawn, log_z = visits.draw_path(tables, logs, starts, rng)
        found[tuple(drawn[6:])] = found.get(tuple(drawn[6:]), 0) + 1
        assert np.count_nonzero(drawn[:6]) == 1
    with np.errstate(divide="ignore"):
        start, moves = np.log(tables.start[0]), np.log(tables.transition[[0, 0]])
    exact = infer_visits(start, moves, tables.log_durations[[0, 0, 0]], logs[6:])
    assert log_z[1] == pytest.approx(exact[0], rel=1e-12)
    for path, value in exact[3].items():
        assert found.get(path, 0) / n_draws == pytest.approx(np.exp(value - exact[0]), abs=0.04)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_geometric_durations_are_a_plain_chain(scale):
    """On long series, where the longest duration stands for all that go on beyond the end."""
    rng, length = np.random.default_rng(0), 300
    tables, stays = random_tables(rng, 3, length, 1), np.array([0.9, 0.5, 0.99])
    logs = stats.nbinom.logpmf(np.arange(length), 1, 1.0 - stays[:, None])
    logs[:, -1] -= np.log1p(-stays)
    tables = tables._replace(log_durations=logs[None])
    plain = np.diag(stays) + (1.0 - stays[:, None]) * tables.transition[0]
    starts, logs = np.array([0, length, length + 7]), scale * rng.normal(size=(length + 7, 3))
    exact = infer(
        ChainTables(tables.start, plain[None], None),
        scores_from_logs(logs),
        starts,
        plain_stretches(starts),
    )
    found = visits.infer(tables, logs, starts, np.zeros(len(logs), int))
    np.testing.assert_allclose(found.log_z, exact.log_z, rtol=1e-12)
    np.testing.assert_allclose(found.posterior, exact.posterior, atol=1e-10)
    own, every_pair = ~np.eye(3, dtype=bool), exact.pairs[0]
    np.testing.assert_allclose(found.pairs[0][own], every_pair[own], rtol=1e-9)
    weights = visits.log_states_given_past(tables, logs, starts)[0] + logs
    online = filter_steps(
        ChainTables(tables.start, plain[None], None),
        scores_from_logs(logs),
        starts,
        every_step=True,
    )
    np.testing.assert_allclose(visits.normalise_logs(weights), online.message, atol=1e-10)
    # A visit that goes on is left as often as it has one step more.
    begun = found.visits[0].sum(axis=1)
    np.testing.assert_allclose(begun, exact.posterior.sum(axis=0) - np.diag(every_pair), rtol=1e-9)


@pytest.mark.parametrize("name", ["histogram", "poisson", "negative binomial"])
def test_laws_are_those_of_scipy(name):
    family = law_of_durations(LAWS[name], 6, 2)
    whole, every = SemiMarkovFamily(Poisson().bind(_moments(), 2), family, 6), np.arange(6)
    if name == "histogram":
        point, exact = np.ascontiguousarray(TRUTH.T) + 0.01, TRUTH + 0.01
    elif name == "poisson":
        point, exact = np.array([[1.5, 7.0]]), stats.poisson.pmf(every, [[1.5], [7.0]])
    else:
        ones = np.array([[0.3, 0.8]])
        point, exact = np.vstack([1 - ones, ones]), stats.nbinom.pmf(every, 2.0, ones.T)
    if name == "histogram":
        family = law_of_durations(LAWS[name], 5, 2)
        whole = SemiMarkovFamily(Poisson().bind(_moments(), 2), family, 5)
    own = np.ones((1, 2)), point
    np.testing.assert_allclose(whole.durations(own), exact, rtol=1e-12)
    np.testing.assert_allclose(whole.attributes(own)["durations_"], exact, rtol=1e-12)


def _moments():
    from sklearn_cvb.reading.moments import moments_of

    return moments_of(np.arange(4.0)[:, None])


def test_parameters_given_are_where_a_fit_starts():
    X = visits_of(3)
    emitted = {"means": [[0.0], [3.0]], "covariances": [[[1.0]], [[1.0]]]}
    settings = {"max_iter": 1, "n_init": 1}
    known = HMMParameters(emissions={**emitted, "durations": TRUTH})
    model, even = (
        fitted(EMHMM, X, init=init, **settings)
        for init in (known, HMMParameters(emissions=emitted))
    )
    assert model.history_[0] > even.history_[0] + 0.2
    with pytest.raises(ValueError, match=r"durations has shape \(2, 5\)"):
        fitted(EMHMM, X, longest=4, init=known, **settings)
    with pytest.raises(ValueError, match="'histogram' alone"):
        fitted(EMHMM, X, "poisson", init=known, **settings)
    rates = HMMParameters(emissions={**emitted, "durations": {"rates": [2.0, 1.0]}})
    begun = fitted(EMHMM, X, "poisson", init=rates, **settings)
    even = fitted(EMHMM, X, "poisson", init=HMMParameters(emissions=emitted), **settings)
    assert begun.history_[0] > even.history_[0] + 0.1


def test_a_fit_goes_on_under_the_same_law_alone():
    X, again = visits_of(3), {"max_iter": 4, "tol": 0}
    model = fitted(VBHMM, X, "poisson", warm_start=True, **again)
    model.set_params(transitions__durations=Durations("histogram", 5)).fit(X)
    np.testing.assert_array_equal(model.history_, fitted(VBHMM, X, **again).history_)


def own_visits_stay(before):
    """Durations that a unit began are not left out of what is known of it."""

    def predictive(self, statistics):
        n = self.family.n_statistics
        more = np.zeros((statistics.shape[-2], 1))
        more[n:] = 0.5
        return before(self, statistics + more)

    return predictive


def visits_of_the_unit_before(before):
    """Visits are counted for the unit after the one that they begin in."""

    def statistics(found, *others):
        moved = None if found.visits is None else np.roll(found.visits, 1, axis=0)
        return before(found._replace(visits=moved), *others)

    return statistics


def test_planted_errors_are_seen(monkeypatch):
    model, series, _ = problem(CVBHMM, "diag", "histogram", False, "", "few", alpha=0.4)
    assert cvb_deviation(model, series, block_length=2) < 1e-8
    with monkeypatch.context() as patched:
        moved = visits_of_the_unit_before(leave_out.statistics_of)
        patched.setattr(leave_out, "statistics_of", moved)
        assert cvb_deviation(model, series, block_length=2) > 1e-4
    patched = own_visits_stay(SemiMarkovFamily.predictive)
    monkeypatch.setattr(SemiMarkovFamily, "predictive", patched)
    assert cvb_deviation(model, series, block_length=2) > 1e-4


def lasting(**settings):
    return {"transitions": Transitions(durations="poisson", **settings)}


REFUSED = {
    "topology": (lasting(topology="independent"), "topology"),
    "constant": (lasting(topology="constant"), "none leads to another"),
    "end": (lasting(end_state=True), "end_state"),
    "start": (lasting(start="stationary"), "start="),
    "sticky": (lasting(sticky=1.0), "sticky"),
    "hdp": (lasting(prior="hdp"), "prior='hdp'"),
    "contexts": (lasting(contexts=1), "contexts"),
    "symbols": ({"emission": "categorical"}, r"VBHMM\(2, emission=Categorical\(\), transitions"),
    "transmat": ({"init": HMMParameters(transmat=np.full((2, 2), 0.5))}, "row 0 .* stays"),
    "single": ({"n_components": 1}, "a single state"),
    "law": ({"transitions": Transitions(durations=Durations(Categorical))}, "law"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_with_durations_is_refused_by_name(case):
    settings, told = REFUSED[case]
    kind = EMHMM if case == "start" else VBHMM
    model = kind(2, **{"emission": "gaussian"} | lasting()).set_params(**settings)
    with pytest.raises(ValueError, match=told):
        model.fit([np.arange(9.0)])


def test_methods_that_know_no_visits_say_what_to_do():
    X = [x[:, None] for x in visits_of(3, 20)]
    posterior = fitted(GibbsHMM, X, max_iter=60)
    draws = posterior.credible_intervals(n_draws=3, random_state=0).draws
    assert np.isfinite(posterior.score_samples(X, draws=draws)).all()
    calls = {
        "durations are missing": lambda: EMHMM.from_parameters(
            startprob=[0.5, 0.5],
            transmat=[[0.0, 1.0], [1.0, 0.0]],
            emissions={"rates": [[1.0], [2.0]]},
            emission="poisson",
            **lasting(),
        ),
        "taggers": lambda: EMHMMTagger({"a": ["X"]}, **lasting()).fit([["a"]]),
    }
    for told, call in calls.items():
        with pytest.raises(ValueError, match=told):
            call()


def test_series_that_no_visits_explain_are_left_out():
    """No zero follows a zero where visits last for one step, and the other state emits ones."""
    X = [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0]]
    known = HMMParameters(emissions={"probabilities": [[0.0], [1.0]]})
    with np.errstate(divide="ignore"), pytest.warns(UserWarning, match=r"\[2\]"):
        model = fitted(
            EMHMM, X, longest=1, emission="bernoulli", init=known, fixed={"emissions": True}
        )
    assert model.unexplained_.tolist() == [2]


@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_forecasts_go_on_with_visits(kind):
    """Probabilities are those of steps without values; draws follow them."""
    X = visits_of(8, 60)
    model, ends = fitted(kind, X, max_iter=10), [x[: 20 + i] for i, x in enumerate(X)]
    found = model.predict_next(ends, n_steps=6, n_draws=4000, random_state=0)
    exact = model.predict_proba([np.append(x, np.full(6, np.nan)) for x in ends])
    exact = np.array([proba[-6:] for proba in exact])
    np.testing.assert_allclose(found.proba, exact, atol=1e-10)
    np.testing.assert_allclose(found.mean, exact @ model.means_, atol=1e-10)
    order = model.means_[:, 0].argsort()
    is_high = found.samples[..., 0] > model.means_.mean()
    # Of normal values with means 3 apart one in fifteen lies on the other side.
    spread = np.sqrt(model.covariances_[order].ravel())
    beyond = stats.norm.cdf(0.5 * np.diff(model.means_[order, 0]) / spread)
    expected = exact[..., order] @ np.array([1.0 - beyond[0], beyond[1]])
    np.testing.assert_allclose(is_high.mean(axis=1), expected, atol=0.035)


def test_residuals_are_of_steps_given_others_and_given_the_past():
    """The chances of a state are those of a step that is not seen."""
    X = visits_of(4, 30)
    X[0][[0, 7, 8]] = np.nan
    model = fitted(EMHMM, X, max_iter=10)
    X[1][9] = 1e4
    normal = stats.norm(model.means_.ravel(), np.sqrt(model.covariances_.ravel()))
    for given in ("others", "past"):
        for x, found in zip(X[:2], model.pseudo_residuals(X[:2], given), strict=True):
            unseen = [np.where(np.arange(len(x)) == t, np.nan, x) for t in range(len(x))]
            if given == "past":
                unseen = [own[: t + 1] for t, own in enumerate(unseen)]
            chances = np.array([p[t] for t, p in enumerate(model.predict_proba(unseen))])
            expected = (chances * normal.cdf(x[:, None])).sum(axis=1)
            np.testing.assert_allclose(stats.norm.cdf(found[:, 0]), expected, atol=1e-10)


def test_a_filter_knows_how_long_a_visit_has_lasted():
    """Steps of an impossible length, too: visits of four steps at most."""
    X = [np.repeat([0.0, 9.0, 0.0], [3, 4, 2]), np.zeros(6)]
    X[0][[1, 5]] = np.nan
    model = fitted(VBHMM, visits_of(4, 30), "poisson", longest=4, max_iter=9)
    for x, whole in zip(X, model.filter_proba(X), strict=True):
        following = model.start_filter()
        proba = [following.update(value) for value in x]
        np.testing.assert_allclose(proba, whole, atol=1e-12)
        expected = model.lower_bound_samples([x])[0]
        assert following.total_log_likelihood == pytest.approx(expected, abs=1e-9)
        assert following.state == whole[-1].argmax()


def test_a_step_is_worth_what_its_series_is_with_it_and_without():
    X = visits_of(2, 15)
    model = fitted(GibbsHMM, X, max_iter=40)
    draws = model.credible_intervals(n_draws=2, random_state=0).draws
    whole, steps = (model.log_likelihoods(X[:1], draws, per=per) for per in ("sequence", "step"))
    unseen = [np.where(np.arange(15) == t, np.nan, X[0]) for t in range(15)]
    np.testing.assert_allclose(steps, whole - model.log_likelihoods(unseen, draws), rtol=1e-9)


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore:nothing names the states")
@pytest.mark.parametrize("distance", [40.0, 2.0])
def test_calibrated_intervals_know_what_is_missing(distance):
    """Nothing where states are seen; else visits are uncertain, and intervals wider."""
    rng = np.random.default_rng(1)
    visited = [np.cumsum(rng.integers(1, 3, 30)) % 3 for _ in "abcd"]
    states = [np.repeat(own, rng.integers(1, 4, 30)) for own in visited]
    X = [distance * own + rng.normal(size=len(own)) for own in states]
    known = HMMParameters(
        emissions={"means": distance * np.arange(3)[:, None], "covariances": np.ones((3, 1, 1))}
    )
    lasting = Transitions(durations=Durations(longest=4))
    settings = {"emission": "gaussian", "transitions": lasting, "init": known, "random_state": 0}
    model = VBHMM(3, max_iter=60, **settings).fit(X)
    narrow, found = (
        np.diff(model.credible_intervals(X, method=method, random_state=0).transition, axis=0)[0]
        for method in ("mean field", "calibrated")
    )
    assert (np.diag(found) == 0).all()
    others = ~np.eye(3, dtype=bool)
    if distance == 40.0:
        np.testing.assert_allclose(found, narrow, atol=1e-6)
    else:
        assert 1.1 < (found[others] / narrow[others]).mean() < 2.0


def test_forecasts_know_how_long_a_visit_has_lasted():
    """Visits of three steps: what follows the first step of one is certain, in each draw."""
    states = np.repeat(np.arange(60) % 2, 3)
    X = 9.0 * states + np.random.default_rng(0).normal(size=180)
    model = fitted(VBHMM, [X], longest=4, alpha=1e-3)
    found = model.predict_next([X[:-2]], n_steps=5, n_draws=50, random_state=0)
    (path,) = model.predict([X[:-2]])
    goes_on = path[-1] ^ np.array([0, 0, 1, 1, 1])
    assert found.proba[0, np.arange(5), goes_on].min() > 0.9
    is_near = np.abs(found.samples[0, :, :, 0] - model.means_[goes_on, 0]) < 4.5
    assert is_near.all(axis=1).mean() > 0.9


@pytest.mark.long
def test_forecasts_of_lags_and_under_drawn_parameters():
    X = visits_of(4, 60)
    model = fitted(VBHMM, X, emission=AutoRegressive(1), max_iter=10)
    found = model.predict_next(X, n_steps=3, n_draws=200, random_state=0)
    np.testing.assert_allclose(found.mean, found.samples.mean(axis=1), rtol=1e-12)
    model = fitted(VBHMM, X, max_iter=10)
    draws = model.credible_intervals(X, random_state=0).draws
    under = model.predict_next(X, n_steps=3, n_draws=2000, random_state=0, draws=draws)
    plain = model.predict_next(X, n_steps=3, n_draws=2000, random_state=0)
    np.testing.assert_allclose(under.proba, plain.proba, atol=0.05)


# Phases in their order, and models of given durations


def phases(seed, n_series=1):
    """Four states one after the other, each for 25 to 35 steps."""
    rng = np.random.default_rng(seed)
    states = [np.repeat(np.arange(4), rng.integers(25, 36, 4)) for _ in range(n_series)]
    return states, [rng.normal(10.0 * (path + 1)) for path in states]


@every_kind
@pytest.mark.parametrize("law", ["histogram", "poisson"])
def test_phases_in_their_order_are_found(kind, law):
    states, X = phases(0, 3)
    lasts = Transitions("left-right", durations=Durations(law, longest=60))
    model = kind(4, emission="gaussian", transitions=lasts, random_state=0, max_iter=30).fit(X)
    np.testing.assert_allclose(model.means_.ravel(), [10, 20, 30, 40], atol=1.5)
    assert np.mean(np.concatenate(model.predict(X)) == np.concatenate(states)) > 0.98
    assert model.startprob_.tolist() == [1, 0, 0, 0]
    assert not np.tril(model.transmat_[:3]).any()
    # The last one goes on for ever, and how long it was seen tells nothing.
    assert model.transmat_[3].tolist() == [0, 0, 0, 1]
    assert model.durations_[3].tolist() == [0.0] * 59 + [1.0]
    np.testing.assert_allclose(np.diagonal(model.counts_.transition, 1), 3.0, atol=0.1)
    assert not np.diagonal(model.counts_.transition).any()
    shares = [row.share for row in summary_of_model(model).rows]
    np.testing.assert_allclose(
        shares, np.bincount(np.concatenate(states)) / len(np.concatenate(X)), atol=0.04
    )
    longer = np.append(X[0], np.full(100, 40.0))
    assert (model.predict([longer])[0][-100:] == 3).all()
    _, drawn = model.sample(5, 300, random_state=0)
    assert all((np.diff(path) >= 0).all() and path[0] == 0 for path in drawn)
    forecast = model.predict_next(X, n_steps=80, n_draws=10, random_state=0).proba
    np.testing.assert_allclose(forecast[:, :, 3], 1.0, atol=1e-6)
    other = relabel(model, [3, 1, 0, 2])
    assert other.score(X) == pytest.approx(model.score(X), rel=1e-12)
    np.testing.assert_allclose(other.durations_[[3, 1, 0, 2]], model.durations_, rtol=1e-12)


def test_a_state_left_by_none_may_be_any():
    """A table: from the first state to one of two that no other follows."""
    table = np.array([[True, True, True], [False, True, False], [False, False, True]])
    rng = np.random.default_rng(0)
    states = [np.repeat([0, end], [n, 20]) for end in (1, 2) for n in (4, 5, 5, 6)]
    X = [rng.normal(8.0 * path) for path in states]
    lasts = Transitions(table, durations=Durations("poisson", longest=10))
    init = HMMParameters(emissions={"means": [[0.0], [8.0], [16.0]]})
    model = VBHMM(3, emission="gaussian", transitions=lasts, init=init, random_state=0).fit(X)
    assert all((a == b).all() for a, b in zip(model.predict(X), states, strict=True))
    assert model.transmat_[1:].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert model.durations_[0] @ np.arange(1, 11) == pytest.approx(5.0, abs=0.5)


GIVEN = {
    "histogram": [[0.1, 0.2, 0.7, 0.0], [0.5, 0.5, 0.0, 0.0], [0.25] * 4],
    "poisson": {"rates": [[1.0], [2.0], [1.0]]},
    "negative_binomial": {"probabilities": [[0.3], [0.5], [0.5]]},
}


def given_model(law, topology):
    """A model of parameters that are given; its transitions, emissions and durations."""
    moves = [[0.0, 0.7, 0.3], [0.2, 0.0, 0.8], [0.5, 0.5, 0.0]]
    if topology == "left-right":
        moves[1:] = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    return EMHMM.from_parameters(
        startprob=[1.0, 0.0, 0.0],
        transmat=moves,
        emissions={
            "means": [[0], [5], [9]],
            "covariances": [[1], [1], [2]],
            "durations": GIVEN[law],
        },
        emission=Gaussian("diag"),
        transitions=Transitions(topology, durations=Durations(law, longest=4)),
    )


@pytest.mark.parametrize("topology", ["full", "left-right"])
@pytest.mark.parametrize("law", GIVEN)
def test_a_model_is_made_of_parameters(law, topology):
    model, steps = given_model(law, topology), np.arange(4)
    lasts = np.array(GIVEN[law]) if law == "histogram" else None
    if law == "poisson":
        lasts = stats.poisson.pmf(steps, [[1.0], [2.0], [1.0]])
    if law == "negative_binomial":
        lasts = stats.nbinom.pmf(steps, 1, [[0.3], [0.5], [0.5]])
    endless = [2] if topology == "left-right" else []
    lasts[endless] = [0, 0, 0, 1]
    np.testing.assert_allclose(model.durations_, lasts, rtol=1e-12, atol=1e-299)
    X, states = model.sample(4, 5, random_state=0)
    with np.errstate(divide="ignore"):
        chain = np.log([1.0, 0.0, 0.0]), np.log(model.transmat_)[None].repeat(4, axis=0)
        given = *chain, np.log(lasts)[None].repeat(5, axis=0)
    for x, found, path in zip(X, model.score_samples(X), states, strict=True):
        logs = stats.norm.logpdf(np.reshape(x, (-1, 1)), [0, 5, 9], np.sqrt([1, 1, 2]))
        log_z, _, _, paths = infer_visits(*given, logs, endless)
        assert found == pytest.approx(log_z, rel=1e-10)
        assert tuple(path) in paths
    following = model.start_filter()
    proba = [following.update(value) for value in X[0]]
    np.testing.assert_allclose(proba, model.filter_proba(X)[0], atol=1e-12)
    for again in (EMHMM.from_json(model.to_json()), pickle.loads(pickle.dumps(model)), model):
        np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-12)
        assert again.transitions.durations.law == law
    fitting = EMHMM(3, emission=Gaussian("diag"), transitions=model.transitions, init=model)
    every = {"start": True, "transitions": True, "emissions": True}
    kept = fitting.set_params(fixed=every, max_iter=3).fit(X)
    np.testing.assert_allclose(kept.transmat_, model.transmat_, atol=1e-9)
    np.testing.assert_array_equal(kept.means_, model.means_)
    assert kept.score(X) > model.score(X)


def test_what_was_learned_goes_through_json():
    X = phases(1, 2)[1]
    for law in GIVEN:
        lasts = Transitions("left-right", durations=Durations(law, longest=50))
        model = EMHMM(4, emission="gaussian", transitions=lasts, max_iter=5, random_state=0).fit(X)
        again = EMHMM.from_json(model.to_json())
        np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-10)
        assert again.bic(X) == pytest.approx(model.bic(X), rel=1e-12)


@every_kind
def test_states_that_are_told_are_kept(kind):
    """Of the first series all, of the others some; which states there are they tell."""
    X, states = given_model("histogram", "full").sample(6, 30, random_state=0)
    rng, turned = np.random.default_rng(0), np.array([2, 0, 1])
    y = [np.where(rng.random(30) < 0.3, turned[path], -1) for path in states]
    y[0] = turned[states[0]]
    lasts = Transitions(durations=Durations("histogram", longest=4))
    settings = {"emission": Gaussian("diag"), "transitions": lasts, "supervision": "y"}
    model = kind(3, random_state=0, max_iter=30, **settings).fit(X, y)
    for path, told in zip(model.labels_, y, strict=True):
        assert (path[told >= 0] == told[told >= 0]).all()
    np.testing.assert_allclose(model.means_.ravel()[turned], [0, 5, 9], atol=1.0)


def test_expectations_given_states_that_are_told():
    """Paths with other states have no weight: a step of EM, by all visits."""
    X, y = [np.array([0.3, 0.5, 2.0, 1.8, 0.1])], [[-1, 0, -1, -1, 1]]
    lasts = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    emitted = {"means": [0.0, 2.0], "covariances": [1.0, 1.0], "durations": lasts}
    known = HMMParameters(startprob=[0.4, 0.6], transmat=np.eye(2)[::-1], emissions=emitted)
    model = EMHMM(2, emission=Gaussian("diag"), transitions=LASTING, init=known, supervision="y")
    model.set_params(fixed=dict.fromkeys(("start", "transitions", "emissions"), True), max_iter=1)
    with np.errstate(divide="ignore"):
        start, moves = np.log([0.4, 0.6]), np.log(np.eye(2)[::-1])[None].repeat(4, axis=0)
    logs = stats.norm.logpdf(X[0][:, None], [0.0, 2.0], 1.0)
    logs[1, 1] = logs[4, 0] = -np.inf

    def inferred(lasts):
        return infer_visits(start, moves, np.log(lasts)[None].repeat(5, axis=0), logs)

    begun = inferred(lasts)[2].visits.sum(axis=0)
    log_z, posterior, joint, _ = inferred(begun / begun.sum(axis=1, keepdims=True))
    model.fit(X, y)
    assert model.history_[0] == pytest.approx(log_z, rel=1e-9)
    np.testing.assert_allclose(model.counts_.start, posterior[0], atol=1e-9)
    np.testing.assert_allclose(model.counts_.transition, joint.pairs.sum(axis=0), atol=1e-9)
    found = model.counts_.emission[:, -3:]
    np.testing.assert_allclose(found, joint.visits.sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_a_prior_of_each_transition(kind):
    X = given_model("histogram", "full").sample(3, 20, random_state=0)[0]
    settings = {"emission": "gaussian", "max_iter": 3, "tol": 0, "random_state": 0}
    one, each = (
        kind(3, transitions=LASTING, alpha=alpha, **settings).set_params(
            transitions__start_alpha=0.2
        )
        for alpha in (0.7, np.full((3, 3), 0.7))
    )
    np.testing.assert_allclose(each.fit(X).history_, one.fit(X).history_, rtol=1e-12)


def test_kinds_of_sequences_that_last_differently():
    """A mixture of chains with durations: fast turns and slow ones."""
    rng, clusters = np.random.default_rng(0), np.arange(40) % 2
    X = []
    for slow in clusters:
        lasted = rng.integers(1, 3, 60) + 4 * slow
        path = np.repeat(np.arange(60) % 2, lasted)[:60]
        X.append(rng.normal(6.0 * path))
    lasts = Transitions(durations=Durations("poisson", longest=10))
    one = EMHMM(2, emission="gaussian", transitions=lasts, max_iter=50)
    model = HMMMixture(one, n_components=2, random_state=0).fit(X)
    found = model.labels_ == model.labels_[0]
    assert np.mean(found == (clusters == 0)) == 1.0
    means = model.hmm_.durations_ @ np.arange(1, 11)
    np.testing.assert_allclose(np.sort(means), [1.5, 1.5, 5.5, 5.5], atol=0.4)
