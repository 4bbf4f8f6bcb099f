"""Calibrated intervals: missing information against enumeration, short runs, and their face."""

import itertools
import sys
import types
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    GibbsHMM,
    Samples,
    Symbols,
    Transitions,
)
from sklearn_cvb.certainty import calibrated
from sklearn_cvb.certainty.calibrated import (
    draw_deviations,
    draw_widened,
    exact_covariance,
    flat_cells,
    missing_information_of_covariance,
    missing_information_of_draws,
    roots_of_rows,
    short_runs,
    standardised_counts,
)
from sklearn_cvb.certainty.cells import counts_by_unit
from sklearn_cvb.certainty.structures import FreeRows
from sklearn_cvb.certainty.symbols import SymbolPosterior, SymbolStructures
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.emissions import Columns, Gaussian, Poisson, ZeroInflated

X = [["a", "b", "c", "b"], ["b", "a", None], ["c", "c", "a", "b"], ["a"]]
Y = [[0, -1, -1, -1], [-1, 1, -1], [-1, -1, -1, 0], [-1]]
LISTED = {"a": ["N", "V"], "b": ["N"], "c": ["D", "V"]}
KINDS = {
    "plain": CVBHMM(2, max_iter=20, random_state=0),
    "labels": VBHMM(2, supervision="y", max_iter=20, random_state=0),
    "left-right": CVBHMM(3, transitions="left-right", max_iter=20, random_state=0),
    "independent": VBHMM(2, transitions="independent", max_iter=20, random_state=0),
    "end": CVBHMM(2, transitions=Transitions(end_state=True), max_iter=20, random_state=0),
    "dictionary": CVBHMMTagger(LISTED, max_iter=20, random_state=0),
}


def bound(name):
    """A fitted model of each kind, bound to its data again, with its counts and prior."""
    estimator = KINDS[name].fit(X, Y if name == "labels" else None)
    learned = estimator._learned
    model = estimator._model(estimator._read(X, Y if name == "labels" else None))
    return estimator, model, SymbolPosterior(learned).counts(), learned.prior


def all_paths(model, weights):
    """Counts of every path of each sequence with its probability, by plain multiplication."""
    lattice, starts, n = model.problem.lattice, model.problem.corpus.starts, model.cells.n_states
    for begin, end in itertools.pairwise(starts.tolist()):
        slots = [range(int(f), int(f + c)) for f, c in zip(*lattice[:2], strict=True)][begin:end]
        counts, chances = [], []
        for path in itertools.product(*slots):
            own, chance, before = np.zeros(n + n * n + len(weights.emission)), 1.0, None
            for slot in path:
                state, cell = int(lattice.state[slot]), int(lattice.cell[slot])
                place = state if before is None else n + before * n + state
                own[place] += 1
                chance *= (
                    weights.start[state] if before is None else weights.transition[before, state]
                )
                if cell >= 0:
                    own[n + n * n + cell] += 1
                    chance *= weights.emission[cell]
                before = state
            counts.append(own)
            chances.append(chance)
        yield np.array(counts), np.array(chances)


def enumerated(model, weights):
    """Sum over sequences of the covariance of counts, by enumeration of all paths."""
    total = 0.0
    for counts, chances in all_paths(model, weights):
        q = chances / chances.sum()
        mean = q @ counts
        total = total + (counts - mean).T @ (q[:, None] * (counts - mean))
    return total


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_missing_information_is_that_of_all_paths(name):
    _, model, counts, prior = bound(name)
    structures = SymbolStructures(model)
    rows = structures.free_rows(counts, prior)
    weights = structures.weights_at(rows.mean)
    expected = enumerated(model, weights)
    scale = np.abs(expected).max()
    assert scale > 0.05
    if name != "independent":
        # There transitions are no cells of their own: the start row moves them, too.
        np.testing.assert_allclose(exact_covariance(structures, rows), expected, atol=1e-7 * scale)
    found = draw_deviations(structures, weights, 4000, np.random.default_rng(0))
    drawn = (found.T @ found).toarray()
    np.testing.assert_allclose(drawn, expected, atol=0.08 * scale)


@pytest.mark.parametrize("name", ["plain", "labels", "left-right", "end", "dictionary"])
def test_information_is_the_curvature_of_the_likelihood(name):
    """Louis' (1982) observed information in the softmax basis against second differences."""
    _, model, counts, prior = bound(name)
    structures = SymbolStructures(model)
    rows = structures.free_rows(counts, prior)
    # Expected counts at the mean: what is complete, without a prior.
    expected = flat_cells(model.infer(structures.weights_at(rows.mean)).counts)
    totals = np.bincount(rows.row, expected, len(rows.totals))
    used = np.flatnonzero((rows.mean > 0) & (totals[rows.row] > 0))
    own = FreeRows(rows.mean * totals[rows.row], rows.row, totals)
    # Only rows that list all of their cells have a softmax basis of these cells.
    whole = np.bincount(rows.row, rows.mean, len(totals)) > 1 - 1e-9
    used = used[whole[rows.row[used]]]
    roots = roots_of_rows(
        FreeRows(np.where(np.isin(np.arange(len(own.alpha)), used), own.alpha, 0.0), *own[1:])
    )
    scale = np.zeros(len(own.alpha))
    scale[used] = np.sqrt(own.alpha[used])
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    across = inverse[:, None] * exact_covariance(structures, rows) * inverse
    projection = np.diag(scale > 0) - (roots @ roots.T).toarray()
    louis = scale[:, None] * (projection - projection @ across @ projection) * scale

    def likelihood(moves):
        theta = rows.mean * np.exp(moves)
        sums = np.bincount(rows.row, theta, len(rows.totals))
        rest = 1.0 - np.bincount(rows.row, rows.mean, len(rows.totals))
        theta = theta / np.where(whole, sums, sums + rest)[rows.row]
        return model.infer(structures.weights_at(theta)).log_normaliser

    step, rng = 1e-3, np.random.default_rng(0)
    for _ in range(6):
        line = np.zeros(len(own.alpha))
        line[used] = rng.standard_normal(len(used))
        f = [likelihood(k * step * line) for k in (-2, -1, 0, 1, 2)]
        second = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * step**2)
        assert -second == pytest.approx(line @ louis @ line, rel=1e-6, abs=1e-7)


def rows_and_deviations(n_units=30):
    rng = np.random.default_rng(1)
    row = np.repeat([0, 1, 2, 3], [2, 3, 5, 4])
    u = rng.gamma(2.0, 5.0, len(row))
    totals = np.bincount(row, u) * [1, 1, 1, 1.5]
    deviations = rng.normal(size=(n_units, len(u))) * np.sqrt(u) * 0.11
    return FreeRows(u, row, totals).with_unlisted(), csr_array(deviations)


def shown(missing):
    return (missing.directions * missing.shares) @ missing.directions.T


def test_low_rank_and_dense_agree(monkeypatch):
    rows, deviations = rows_and_deviations(9)
    each = standardised_counts(deviations, rows)
    dense = missing_information_of_covariance((each.T @ each).toarray(), roots_of_rows(rows))
    rng = np.random.default_rng(0)
    thin = missing_information_of_draws(deviations, rows, rng)
    monkeypatch.setattr(calibrated, "_DENSE", 0)
    monkeypatch.setattr(calibrated, "_N_DIRECTIONS", 8)
    largest = missing_information_of_draws(deviations, rows, rng)
    assert len(thin.shares) == len(dense.shares) == 9
    np.testing.assert_allclose(thin.shares, dense.shares, atol=1e-10)
    np.testing.assert_allclose(shown(thin), shown(dense), atol=1e-10)
    np.testing.assert_allclose(largest.shares, dense.shares[:8], atol=1e-10)
    eight = missing_information_of_covariance((each.T @ each).toarray(), roots_of_rows(rows))
    eight = eight._replace(shares=eight.shares[:8], directions=eight.directions[:, :8])
    np.testing.assert_allclose(shown(largest), shown(eight), atol=1e-10)
    # No row can move as a whole.
    assert abs(roots_of_rows(rows)[:, [0]].T @ dense.directions).max() < 1e-8


@pytest.mark.long
def test_draws_have_the_inverse_of_the_observed_information():
    """Slowly: a basis of each row, the complete information minus the missing one, inverted."""
    rows, deviations = rows_and_deviations()
    # Three rows list all of their cells, the last one has a rest, which comes after them.
    assert rows.alpha[-4:].astype(bool).tolist() == [False, False, False, True]
    rows = FreeRows(400 * rows.alpha, rows.row, 400 * rows.totals)
    deviations = deviations * 20
    rng = np.random.default_rng(3)
    missing = missing_information_of_draws(deviations, rows, rng)
    assert 0.2 < missing.shares.max() < 0.95
    with np.errstate(divide="ignore"):
        drawn = np.log([draw_widened(rows, missing, rng) for _ in range(20_000)])
    used = np.flatnonzero(rows.alpha)
    complete, centred = np.diag(rows.alpha), np.pad(deviations.toarray(), ((0, 0), (0, 4)))
    for r in range(4):
        own = rows.row == r
        complete[np.ix_(own, own)] -= np.outer(rows.alpha[own], rows.mean[own])
        centred[:, own] -= centred[:, own].sum(axis=1, keepdims=True) * rows.mean[own]
    observed = (complete - centred.T @ centred)[np.ix_(used, used)]
    # Log probabilities are known up to a constant of each row: take differences within rows.
    first = np.array([np.flatnonzero(rows.row == r)[0] for r in range(4)])
    free = np.setdiff1d(used, first)
    basis = np.isin(used[:, None], free[None, :]) & (used[:, None] == free[None, :])
    expected = np.linalg.inv(basis.T @ observed @ basis)
    contrast = drawn[:, free] - drawn[:, first[rows.row[free]]]
    np.testing.assert_allclose(np.cov(contrast.T), expected, atol=0.06 * np.abs(expected).max())
    np.testing.assert_allclose(np.bincount(rows.row, draw_widened(rows, missing, rng)), 1.0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["labels", "end", "dictionary"])
def test_sweeps_of_short_runs_leave_the_posterior_as_it_is(name):
    """Against the collapsed probability of all joint paths."""
    _, model, _, prior = bound(name)
    structures = SymbolStructures(model)
    size = prior.start.size + prior.transition.size + prior.emission.size
    ones = structures.weights_at(np.ones(size))
    paths = [counts.astype(int) for counts, _ in all_paths(model, ones)]
    # In how many ways all sequences together have these counts.
    ways = Counter({(0,) * size: 1})
    for own in paths:
        before, ways = ways, Counter()
        for (total, n), counts in itertools.product(before.items(), own):
            ways[tuple((total + counts).tolist())] += n
    exact = {
        key: n * np.exp(model.log_evidence(split(model, np.array(key, float)), prior, None))
        for key, n in ways.items()
    }
    mass = sum(exact.values())
    rng, seen, n_sweeps = np.random.default_rng(0), {}, 15_000
    counts = split(model, sum(one[0] for one in paths).astype(float))
    for _ in range(n_sweeps):
        drawn = structures.draw_structures(structures.draw_parameters(counts, prior, rng), rng)
        counts = drawn.counts
        key = tuple(flat_cells(counts).astype(int).tolist())
        seen[key] = seen.get(key, 0) + 1
    assert seen.keys() <= exact.keys()
    apart = sum(abs(p / mass - seen.get(key, 0) / n_sweeps) for key, p in exact.items()) / 2
    # Successive samples depend on each other: three times what independent ones would be.
    noise = sum(np.sqrt(2 * p / mass / np.pi / n_sweeps) for p in exact.values()) / 2
    assert apart < 3 * noise


def split(model, cells):
    n = model.cells.n_states
    return HMMCounts(cells[:n], cells[n : n + n * n].reshape(n, n), cells[n + n * n :])


def test_runs_begin_and_end_where_they_are_told(monkeypatch):
    """Forty runs, the last of three sweeps, and the same for any number of threads."""
    _, model, counts, prior = bound("labels")

    def runs(n_jobs):
        generators = np.random.default_rng(5).spawn(41)
        told = []
        structures = SymbolStructures(model)
        return short_runs(structures, counts, prior, generators, n_jobs, told.append), told

    (kept, told), (again, _) = runs(1), runs(2)
    assert told == list(range(40))
    assert len(kept) == 40
    for one, other in zip(kept, again, strict=True):
        np.testing.assert_array_equal(flat_cells(one.counts), flat_cells(other.counts))
        np.testing.assert_array_equal(flat_cells(one.weights), flat_cells(other.weights))
        # Whole tokens, each of which is somewhere.
        assert one.counts.start.sum() == len(X)
        assert one.counts.transition.sum() == sum(map(len, X)) - len(X)
    monkeypatch.setattr(calibrated, "N_KEPT", 3)
    last = runs(1)[0][2::3]
    for one, other in zip(kept, last, strict=True):
        np.testing.assert_array_equal(flat_cells(one.counts), flat_cells(other.counts))


def test_long_sequences_are_cut_in_windows():
    states, starts = np.arange(120) % 2, np.array([0, 110, 120])
    _, model, *_ = bound("plain")
    found = counts_by_unit(states, np.full(120, -1), states == 1, starts, model.cells)
    assert found.shape[0] == 4
    # Even tokens are certain, but no step between them and odd ones is; 1 -> 0 crosses borders.
    assert found.sum(axis=1).tolist() == [49, 50, 10, 9]
    assert found[:, :2].sum() == 0


# What users see


def simulated(n_sequences=40, length=15, labelled=0.2, seed=0):
    rng = np.random.default_rng(seed)
    truth = HMMCounts(
        np.full(2, 0.5),
        np.array([[0.8, 0.2], [0.3, 0.7]]),
        np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]]),
    )
    states = [[int(rng.integers(2))] for _ in range(n_sequences)]
    for row in states:
        while len(row) < length:
            row.append(int(rng.choice(2, p=truth.transition[row[-1]])))
    symbols = [[int(rng.choice(4, p=truth.emission[z])) for z in row] for row in states]
    y = [[z if rng.random() < labelled else -1 for z in row] for row in states]
    return truth, symbols, y


def fitted(kind=CVBHMM, **settings):
    truth, symbols, y = simulated()
    emission = Symbols(range(4), handle_unknown="error")
    common = {"emission": emission, "alpha": 1.0, "beta": 1.0, "random_state": 0}
    model = kind(2, supervision="y", **(common | settings))
    return truth, symbols, y, model.fit(symbols, y)


@pytest.mark.long
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_calibrated_intervals_are_those_of_a_long_chain(kind):
    """Ends as by 4,000 sweeps of Gibbs sampling; mean-field intervals are half as wide."""
    _, symbols, y, model = fitted(kind)
    *_, chain = fitted(GibbsHMM, max_iter=4000, update="parameter")
    expected = chain.credible_intervals()
    narrow = model.credible_intervals()
    ends = [model.credible_intervals(symbols, y, random_state=seed) for seed in range(4)]
    for name in ("transition", "emission"):
        wanted = np.diff(getattr(expected, name), axis=0).mean()
        widths = [np.diff(getattr(one, name), axis=0).mean() for one in ends]
        assert 0.85 < np.mean(widths) / wanted < 1.15
        middle = np.mean([getattr(one, name).mean(axis=0) for one in ends], axis=0)
        assert np.abs(middle - getattr(expected, name).mean(axis=0)).max() < 0.05
    wanted = np.diff(expected.transition, axis=0).mean()
    assert np.diff(narrow.transition, axis=0).mean() < 0.8 * wanted


@pytest.mark.long
def test_seeds_and_threads():
    _, symbols, y, model = fitted()
    first = model.credible_intervals(symbols, y, random_state=1)
    again = model.credible_intervals(symbols, y, random_state=1, n_jobs=2)
    other = model.credible_intervals(symbols, y, random_state=2)
    np.testing.assert_array_equal(first.transition, again.transition)
    np.testing.assert_array_equal(first.draws.transmat, again.draws.transmat)
    assert np.abs(first.transition - other.transition).max() > 1e-4
    # What a warm start keeps need not be given again.
    warm = model.set_params(warm_start=True).fit(symbols, y)
    kept = warm.credible_intervals(random_state=1)
    given = warm.credible_intervals(symbols, y, random_state=1)
    np.testing.assert_array_equal(kept.transition, given.transition)


@pytest.mark.long
def test_all_that_a_chain_may_be_has_calibrated_intervals():
    for name, estimator in KINDS.items():
        y = Y if name == "labels" else None
        model = estimator.fit(X, y)
        named = name in ("labels", "dictionary", "left-right")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = model.credible_intervals(X, y, random_state=0)
        assert any("nothing names" in str(one.message) for one in seen) != named, name
        for table in found[:3]:
            assert np.isfinite(table).all()
            assert (table[0] <= table[1]).all()
        np.testing.assert_allclose(found.draws.startprob.sum(axis=1), 1.0)
        steps = found.draws.transmat.sum(axis=2)
        assert steps.mean() < 0.9 if name == "end" else np.allclose(steps, 1.0)
    # What a topology rules out stays ruled out.
    model = KINDS["left-right"].fit(X)
    _, upper = model.credible_intervals(X, random_state=0).transition
    assert upper[1, 0] == upper[2, 1] == 0.0


def test_wrong_calls_are_told():
    _, symbols, y, model = fitted()
    with pytest.raises(ValueError, match="give them as X, in memory"):
        model.credible_intervals(method="calibrated")
    with pytest.raises(ValueError, match="must hold the 40 sequences"):
        model.credible_intervals(symbols[:10], y[:10])
    with pytest.raises(ValueError, match="level must be"):
        model.credible_intervals(symbols, y, level=2.0)
    with pytest.raises(ValueError, match="method"):
        model.credible_intervals(method="samples")
    *_, chain = fitted(GibbsHMM, max_iter=20)
    assert chain.credible_intervals(symbols).transition.shape == (2, 2, 2)
    with pytest.warns(UserWarning, match="without X these are mean-field intervals"):
        narrow = model.credible_intervals()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = model.credible_intervals(method="mean field")
        chain.credible_intervals()
    np.testing.assert_array_equal(narrow.transition, named.transition)
    with pytest.raises(ValueError, match="method"):
        chain.credible_intervals(method="calibrated")


def without(X, i, t):
    """The sequences, the value of one step of one of them left out."""
    return [[None if (j, u) == (i, t) else x for u, x in enumerate(row)] for j, row in enumerate(X)]


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [CVBHMM, GibbsHMM])
@pytest.mark.parametrize("end_state", [False, True])
def test_log_likelihoods_are_of_sequences_and_steps_under_each_draw(kind, end_state):
    """A step given all others: what the sequence is worth with it, over what it is without."""
    X, counts = [["a", "b", None, "b"], ["b", "a"]], [[1, 0, None, 9], [8, 2]]
    settings = {"transitions": Transitions(end_state=end_state), "max_iter": 40, "random_state": 0}
    for given, emission in ((X, "categorical"), (counts, "poisson")):
        model = kind(2, emission=emission, **settings).fit(given)
        draws = model.credible_intervals(given, n_draws=3, random_state=0).draws
        whole = model.log_likelihoods(given, draws)
        tables = [draws.startprob, draws.transmat, *draws.emission.values()]
        for own, (start, transmat, emitted) in zip(whole, zip(*tables, strict=True), strict=True):
            if end_state:
                continue
            if emission == "poisson":
                settled = {"emission": emission, "rates": emitted}
            else:
                settled = {"emissionprob": emitted, "vocabulary": ["a", "b"]}
            one = EMHMM.from_parameters(startprob=start, transmat=transmat, **settled)
            np.testing.assert_allclose(own, one.score_samples(given), rtol=1e-12)
        places = [(i, t) for i, row in enumerate(given) for t, x in enumerate(row) if x is not None]
        rest = [
            model.log_likelihoods(without(given, *place), draws).sum(axis=1) for place in places
        ]
        steps = model.log_likelihoods(given, draws, per="step")
        np.testing.assert_allclose(
            steps, whole.sum(axis=1)[:, None] - np.transpose(rest), rtol=1e-10, atol=1e-12
        )


@pytest.mark.long
def test_draws_of_a_sampler_are_made_given_evenly_spaced_samples():
    """So many of them that their quantiles are those of the mixture over all samples."""
    *_, model = fitted(GibbsHMM, max_iter=1600, samples=Samples(thin=2))
    found = model.credible_intervals(level=0.5, n_draws=200, random_state=0)
    assert found.draws.transmat.shape == (200, 2, 2)
    kept = list(model._posteriors(model._learned))
    np.testing.assert_array_equal(found.draws.posteriors[1][0].start, kept[3][0].start)
    lower, upper = found.transition
    inside = (lower < found.draws.transmat) & (found.draws.transmat < upper)
    assert abs(inside.mean() - 0.5) < 0.08


def test_predictions_and_scores_take_draws():
    """Each is the mean of what the posterior mean given each draw says."""
    _, symbols, y, model = fitted()
    draws = model.credible_intervals(symbols, y, random_state=0).draws
    tables, likelihoods = [], []
    for counts, prior in draws.posteriors:
        start, steps, emission = (
            (own + u) / (own + u).sum(axis=axis, keepdims=True)
            for own, u, axis in (
                (counts.start, prior.start, 0),
                (counts.transition, prior.transition, 1),
                (counts.emission.reshape(4, 2).T, prior.emission.reshape(4, 2).T, 1),
            )
        )
        one = EMHMM.from_parameters(
            startprob=start, transmat=steps, emissionprob=emission, vocabulary=list(range(4))
        )
        tables.append(one.predict_proba(symbols[:3]))
        likelihoods.append(np.exp(one.score_samples(symbols[:3])))
    found = model.predict_proba(symbols[:3], draws=draws)
    np.testing.assert_allclose(
        np.stack(found), np.mean([np.stack(one) for one in tables], axis=0), atol=1e-12
    )
    scores = model.score_samples(symbols[:3], draws=draws)
    np.testing.assert_allclose(scores, np.log(np.mean(likelihoods, axis=0)), atol=1e-12)
    per_token = model.score_samples(symbols[:3], per="token", draws=draws)
    np.testing.assert_allclose(per_token, scores / 15)


def test_draws_go_to_arviz(monkeypatch):
    _, symbols, y, model = fitted()
    draws = model.credible_intervals(symbols, y, random_state=0).draws
    arviz = types.ModuleType("arviz")
    arviz.from_dict = lambda groups: groups
    monkeypatch.setitem(sys.modules, "arviz", arviz)
    worth = model.log_likelihoods(symbols, draws)
    groups = draws.to_inference_data(log_likelihood=worth)
    np.testing.assert_array_equal(groups["log_likelihood"]["x"], worth[None])
    with pytest.raises(ValueError, match=r"log_likelihood has 3 rows and there are 40 draws"):
        draws.to_inference_data(log_likelihood=worth[:3])
    posterior = groups["posterior"]
    assert posterior["transmat"].shape == (1, 40, 2, 2)
    assert posterior["emissionprob"].shape == (1, 40, 2, 4)
    np.testing.assert_allclose(posterior["emissionprob"].sum(axis=-1), 1.0)
    np.testing.assert_array_equal(posterior["startprob"][0], draws.startprob)


@pytest.mark.long
def test_draws_of_parts_go_to_arviz_by_one_name_each(monkeypatch):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.poisson(3.0, 40), rng.normal(size=40)])
    emission = Columns([(ZeroInflated(Poisson()), [0]), (Gaussian("diag"), [1])])
    model = CVBHMM(2, emission=emission, random_state=0).fit([x])
    draws = model.credible_intervals([x], random_state=0).draws
    assert draws.emission["parts"][0]["mixture"][0]["rates"].shape == (40, 2, 1)
    arviz = types.ModuleType("arviz")
    arviz.from_dict = lambda groups: groups
    monkeypatch.setitem(sys.modules, "arviz", arviz)
    posterior = draws.to_inference_data()["posterior"]
    assert posterior["parts_0_mixture_0_rates"].shape == (1, 40, 2, 1)
    found = posterior["parts_1_means"][0]
    np.testing.assert_array_equal(found, draws.emission["parts"][1]["means"])
    assert np.abs(np.diff(found, axis=0)).max() > 1e-3


# Numbers


def series(length=60):
    rng = np.random.default_rng(0)
    states = np.arange(length) // 6 % 2
    return rng.normal([0.0, 3.0], [1.0, 2.0], (length, 2))[np.arange(length), states]


@pytest.mark.long
@pytest.mark.parametrize("emission", ["gaussian", "poisson", "bernoulli"])
def test_numbers_have_calibrated_intervals(emission):
    x = {"gaussian": series(), "poisson": np.abs(series()).round(), "bernoulli": series() > 1.0}
    x = x[emission].astype(float)
    model = CVBHMM(2, emission=emission, random_state=0).fit([x])
    found = model.credible_intervals([x], random_state=0)
    again = model.credible_intervals([x], random_state=0, n_jobs=2)
    narrow = model.credible_intervals()
    for name, (lower, upper) in found.emission.items():
        np.testing.assert_array_equal(again.emission[name], found.emission[name])
        assert (lower < upper).all()
        assert (upper - lower).mean() > np.diff(narrow.emission[name], axis=0).mean()
    assert found.draws.transmat.shape == (40, 2, 2)
    assert all(len(table) == 40 for table in found.draws.emission.values())


@pytest.mark.long
def test_forecasts_take_draws():
    """Each continuation goes on from what its own parameters say of the last state."""
    x = series()
    model = CVBHMM(2, emission="gaussian", random_state=0).fit([x])
    draws = model.credible_intervals([x], random_state=0).draws
    found = model.predict_next([x], 2, n_draws=1000, random_state=1, draws=draws)
    assert found.samples.shape == (1, 1000, 2, 1)
    means, ahead = [], []
    emitted = draws.emission
    tables = draws.startprob, draws.transmat, emitted["means"], emitted["covariances"]
    for start, transmat, mean, covariance in zip(*tables, strict=True):
        one = EMHMM.from_parameters(
            startprob=start,
            transmat=transmat,
            means=mean,
            covariances=covariance,
            emission="gaussian",
        )
        alone = one.predict_next([x], 2, random_state=0)
        means.append(alone.mean)
        ahead.append(alone.proba)
    np.testing.assert_allclose(found.mean, np.mean(means, axis=0), atol=1e-10)
    np.testing.assert_allclose(found.proba, np.mean(ahead, axis=0), atol=1e-10)
    plain = model.predict_next([x], 2, n_draws=1000, random_state=1)
    assert (found.upper - found.lower).mean() > (plain.upper - plain.lower).mean()
    scores = model.score_samples([x], draws=draws)
    assert np.isfinite(scores).all()
    assert abs(scores[0] - model.score_samples([x])[0]) < 10.0


def test_draws_of_another_kind_or_model_are_refused():
    X = [list("abab"), list("bba")] * 4
    model = VBHMM(2, random_state=0).fit(X)
    found = model.credible_intervals(X, random_state=0)
    for method in (model.score_samples, model.predict_proba):
        with pytest.raises(TypeError, match=r"pass the `draws` of what credible_intervals\(X\)"):
            method(X, draws=found)
        with pytest.raises(ValueError, match="draws are of another model"):
            getattr(VBHMM(3, random_state=0).fit(X), method.__name__)(X, draws=found.draws)
    series = [np.array([0.1, 0.2, 5.0, 5.1, 0.3])]
    numbers = VBHMM(2, emission="gaussian", random_state=0).fit(series)
    with pytest.raises(TypeError, match="pass the `draws`"):
        numbers.predict_next(series, draws=3)
