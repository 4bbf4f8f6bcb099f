"""Attachments with valence, and tables that back off: against all trees and all components."""

import math
import pickle
from collections import Counter
from itertools import product

import numpy as np
import pytest
from dependency_cases import CLASSES, FORMS, TAGS, W, X, prior_of, settings_of, visits_counted
from dependency_enumeration import (
    Tables,
    expected_parts,
    projective_trees,
    ways_of_tree,
    weigh_ways,
)
from enumerated import enumerated_dependencies, learned
from estimators import all_sweeps
from scipy.special import gammaln

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV, Valence
from sklearn_cvb.dependency import inference
from sklearn_cvb.dependency.inference import cell_uses
from sklearn_cvb.dependency.model import harmonic_counts, log_absence
from sklearn_cvb.dependency.parameters import (
    DependencyLayout,
    cells_from,
    mixed_weights,
    tables_of,
    unmixed_counts,
)
from sklearn_cvb.kernels.dependency.arrays import DependencySentences


def random_weights(rng, tables, normalised=True):
    weights = np.concatenate([rng.dirichlet(np.ones(width)) for width in tables.rows()])
    return weights if normalised else weights * rng.uniform(0.5, 1, len(weights))


def sentences_of(tags, form, n_types=W, known=None):
    starts = np.cumsum([0] + [len(sentence) for sentence in tags])
    token = np.array([tag for sentence in tags for tag in sentence], np.int64)
    head = np.full(len(token), -1, np.int64)
    if known is not None:
        head[:] = [-1 if h is None else h for sentence in known for h in sentence]
    layout = DependencyLayout(n_types, *form)
    return DependencySentences(
        token, starts.astype(np.int64), head, n_types, form[0], layout.coarse
    )


# One sentence.


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [None, (None, 0, None, None, None), (2, None, None, 3, 3)])
def test_likelihoods_and_counts_of_all_trees(form, known):
    rng, tables = np.random.default_rng(1), Tables(W, *form)
    for normalised in (True, False):
        weights = random_weights(rng, tables, normalised)
        for tags in ([0, 1, 2, 1, 0], [1, 1, 1, 1, 1], [2, 0, 0, 1, 2]):
            sentences = sentences_of([tags], form, known=known and [known])
            total, expected = expected_parts(tags, weights, tables, known)
            counts, log_z, _ = inference.expectation(weights, sentences)
            assert log_z[0] == pytest.approx(math.log(total), abs=1e-12)
            np.testing.assert_allclose(counts, expected, atol=1e-12)
            # The same with mixtures worked out before, as EM and VB do.
            layout, free = DependencyLayout(W, *form), sentences._replace(coarse=None)
            mixed, again, _ = inference.expectation(mixed_weights(weights, layout), free)
            assert again[0] == pytest.approx(math.log(total), abs=1e-12)
            np.testing.assert_allclose(unmixed_counts(mixed, weights, layout), expected, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_heaviest_trees(form):
    rng, tables = np.random.default_rng(2), Tables(W, *form)
    for n in (2, 3, 4, 5):
        weights, tags = random_weights(rng, tables), rng.integers(W, size=n).tolist()
        sums = Counter()
        for heads, _, weight in weigh_ways(tags, weights, tables):
            sums[heads] += weight
        heads, logs = inference.heaviest_heads(
            inference.frozen_tally(weights), sentences_of([tags], form)
        )
        assert tuple(heads.tolist()) == max(sums, key=sums.get)
        assert logs[0] == pytest.approx(math.log(max(sums.values())))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loses", [False, True])
def test_trees_and_components_are_drawn_as_likely_as_they_are(form, loses):
    rng, tables = np.random.default_rng(3), Tables(W, *form)
    weights, tags, n_draws = random_weights(rng, tables), [0, 1, 2, 1], 20_000
    if loses:
        choices = (2 * W * form[0] + 1) * W
        weights[choices + 1 : choices + 8 * W : 4] *= 1e-290
    sentences = sentences_of([tags] * n_draws, form)
    tally = inference.frozen_tally(weights)
    (heads, is_coarse), log_z, _ = inference.draw_sweep(sentences, tally, rng)
    counts = cell_uses(sentences, heads, is_coarse) / n_draws
    total, expected = expected_parts(tags, weights, tables)
    assert np.exp(log_z[0]) == pytest.approx(total)
    np.testing.assert_allclose(counts, expected, atol=0.015)
    # Trees with their components.
    chances = Counter()
    for tree, cells, weight in weigh_ways(tags, weights, tables):
        general = [0] * 4 if form[1] is None else coarse_arcs(tree, cells, tables)
        chances[tree, tuple(general)] += weight / total
    drawn = Counter(
        (tuple(a), tuple(b))
        for a, b in zip(
            heads.reshape(-1, 4).tolist(), is_coarse.reshape(-1, 4).tolist(), strict=True
        )
    )
    distance = sum(abs(drawn[key] / n_draws - p) for key, p in chances.items()) / 2
    assert set(drawn) <= set(chances)
    assert distance < 0.03


def coarse_arcs(tree, cells, tables):
    """Whether each arc's cells are those of a coarse row, in the order of `ways_of_tree`."""
    n_arc_rows = 2 * tables.n_types * tables.n_valences
    first = (n_arc_rows + 1) * tables.n_types + 8 * tables.n_types
    chosen = iter([c - first for c in cells if first <= c < first + 2 * n_arc_rows])
    return [0 if head == 0 else next(chosen) % 2 for head in tree]


def test_long_sentences_in_products_and_in_logs():
    """Counts add up, and where float64 loses a sentence logs give the same as scaled weights do."""
    rng, form = np.random.default_rng(5), (2, "head")
    tables = Tables(W, *form)
    weights = random_weights(rng, tables)
    tags = rng.integers(W, size=30).tolist()
    sentences, layout = sentences_of([tags], form), DependencyLayout(W, *form)
    counts, _, _ = inference.expectation(weights, sentences)
    # Each decision to stop without a child costs as much in each tree as none does: 60 stops.
    lost = weights.copy()
    choices = (2 * W * 2 + 1) * W
    lost[choices : choices + 8 * W] *= 1e-8
    lost[choices + 1 : choices + 8 * W : 4] *= 1e-40
    again, log_lost, shares = inference.expectation(lost, sentences, keeps_shares=True)
    assert np.isfinite(log_lost[0])
    for cells in (counts, again):
        attach, choice, mixture, coarse = tables_of(cells, layout)
        arcs = attach[:-1].sum() + coarse.sum()
        assert arcs == pytest.approx(29)
        assert choice[:, 1].sum() == pytest.approx(29)
        assert choice[:, 0].sum() == pytest.approx(60)
        np.testing.assert_allclose(mixture[:, 0], attach[:-1].sum(axis=1), atol=1e-9)
        assert mixture.sum() == pytest.approx(29)
    np.testing.assert_allclose(inference.sum_shares(shares, sentences, layout), again, atol=1e-12)


# Sweeps.


def harmonic_counts_by_hand(tables):
    """From all ways in which each token chooses its head alone."""
    plain = tables._replace(backoff=None)
    counts = np.zeros(sum(plain.rows()))
    for tags in TAGS:
        n, options = len(tags), []
        for c in range(1, n + 1):
            near = {h: 1 / abs(h - c) for h in range(1, n + 1) if h != c}
            rest = (n - 1) / n / sum(near.values()) if near else 0
            options.append({0: 1 / n} | {h: rest * weight for h, weight in near.items()})
        for heads in product(*options):
            weight = np.prod([option[h] for option, h in zip(options, heads, strict=True)])
            counts += weight * _cells_of_any(tags, heads, plain)
    return counts


def _cells_of_any(tags, heads, tables):
    (cells,) = ways_of_tree(tags, heads, tables)
    return np.bincount(cells, minlength=sum(tables.rows()))


def first_weights(tables):
    counts, n = harmonic_counts_by_hand(tables), tables.n_types
    cells = np.zeros(sum(tables.rows()))
    cells[: len(counts)] = counts
    if tables.backoff:
        n_arc_rows = 2 * n * tables.n_valences
        coarse = cells[len(counts) + 2 * n_arc_rows :].reshape(-1, n)
        for row, own in enumerate(counts[: n_arc_rows * n].reshape(-1, n)):
            by_head = row // tables.n_valences
            coarse[by_head if tables.backoff == "head" else by_head % 2] += own
        cells[len(counts) : len(counts) + 2 * n_arc_rows].reshape(-1, 2)[:] = 1, 2
    row = tables.row_of_cell()
    below = np.bincount(row, cells)[row]
    return np.where(below > 0, cells / np.where(below > 0, below, 1), 1 / np.bincount(row)[row])


@pytest.mark.parametrize("n_valences", [1, 2])
def test_harmonic_counts(n_valences):
    layout = DependencyLayout(W, n_valences)
    found = harmonic_counts(sentences_of(TAGS, (n_valences, None)), layout)
    expected = harmonic_counts_by_hand(Tables(W, n_valences))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("form", [(1, None), *FORMS])
@pytest.mark.parametrize("kind", [EMDMV, VBDMV, CVBDMV])
def test_fits_follow_the_enumeration_from_harmonic_weights(kind, form):
    tables = Tables(W, *form)
    model = kind(max_iter=5, **settings_of(form, kind)).fit(X)
    algorithm, twin = model._algorithm(), enumerated_dependencies(model, TAGS)
    state, history = learned(twin, algorithm, first_weights(tables), 5)
    np.testing.assert_allclose(cells_from(model.counts_), state.counts, atol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=1e-12)
    assert model.objective_ == pytest.approx(algorithm.objective(state, twin, history), rel=1e-12)
    if kind is not CVBDMV:
        history = kind(max_iter=60, **settings_of(form)).fit(X).history_
        assert (np.diff(history) > -1e-9).all()
        return
    for tags, share, heads in zip(TAGS, state.shares, model.labels_, strict=True):
        weights = tables.mean(np.maximum(state.counts - share, 0) + state.prior)
        sums = Counter()
        for tree, _, weight in weigh_ways(tags, weights, tables):
            sums[tree] += weight
        assert sums[tuple(heads.tolist())] == pytest.approx(max(sums.values()), rel=1e-12)


def test_maximum_likelihood_keeps_the_harmonic_weights_of_rows_without_counts():
    settings = settings_of((1, None)) | {"alpha": 0.0, "valence": Valence(alpha_stop=0.0)}
    model = EMDMV(max_iter=5, **settings).fit(X)
    twin = enumerated_dependencies(model, TAGS)
    state, history = learned(twin, model._algorithm(), first_weights(Tables(W)), 5)
    np.testing.assert_allclose(cells_from(model.counts_), state.counts, atol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=1e-12)


# The sampler.

_SMALL = [[0, 1, 0], [1, 0], [0, 1, 1]]


def exact_posterior(tables):
    """p(trees of all sentences | tags), with probabilities and components summed out."""
    prior, row = prior_of(tables), tables.row_of_cell()
    below = np.bincount(row, prior)
    chances = Counter()
    ways = [weigh_ways(tags, np.ones(len(prior)), tables) for tags in _SMALL]
    for parts in product(*ways):
        counts = np.bincount([c for _, cells, _ in parts for c in cells], minlength=len(prior))
        value = np.sum(gammaln(counts + prior) - gammaln(prior))
        value -= np.sum(gammaln(np.bincount(row, counts) + below) - gammaln(below))
        chances[tuple(tree for tree, _, _ in parts)] += math.exp(value)
    total = sum(chances.values())
    return {trees: chance / total for trees, chance in chances.items()}


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_samples_follow_the_exact_posterior(monkeypatch, form):
    seen = visits_counted(monkeypatch)
    settings = settings_of(form, GibbsDMV) | {"max_iter": 12_000, "random_state": 0}
    model = GibbsDMV(**settings).fit([[f"t{tag}" for tag in tags] for tags in _SMALL])
    expected, n = exact_posterior(Tables(2, *form)), sum(seen.values())
    distance = sum(abs(seen[trees] / n - p) for trees, p in expected.items()) / 2
    assert set(seen) <= set(expected)
    assert distance < 0.035
    assert 0.3 < model.acceptance_rate_ < 0.99
    assert len(projective_trees(3)) ** 2 * 2 == len(expected)


# What comes out.


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", CLASSES)
def test_probabilities_are_those_of_both_tables(form, kind):
    model = kind(max_iter=10, random_state=0, **settings_of(form, kind)).fit(X)
    shape = (W, 2, 2, W) if form[0] == 2 else (W, 2, W)
    assert model.attachprob_.shape == shape
    np.testing.assert_allclose(model.attachprob_.sum(axis=-1), 1)
    if form[1] is None:
        assert (model.counts_.mixture, model.counts_.coarse) == (None, None)
        assert not hasattr(model, "mixtureprob_")
        return
    assert model.mixtureprob_.shape == (*shape[:-1], 2)
    assert model.coarseprob_.shape == ((W, 2, W) if form[1] == "head" else (2, W))
    coarse = model.coarseprob_
    if form[1] == "head":
        coarse = coarse[:, :, None]
    elif form[0] == 2:
        coarse = coarse[:, None]
    mixed = model.mixtureprob_[..., :1] * model.ownprob_ + model.mixtureprob_[..., 1:] * coarse
    if kind is GibbsDMV:
        # The mean of products is not the product of means.
        assert np.abs(mixed - model.attachprob_).max() < 0.1
    else:
        np.testing.assert_allclose(mixed, model.attachprob_)
    counts = model.counts_
    np.testing.assert_allclose(counts.mixture[..., 0], counts.attach.sum(axis=-1), atol=1e-9)
    arcs = counts.attach.sum() + counts.coarse.sum()
    assert arcs == pytest.approx(sum(map(len, X)) - len(X))
    assert counts.mixture.sum() == pytest.approx(arcs)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("form", FORMS)
def test_scores_and_posteriors_are_those_of_all_trees(form):
    tables = Tables(W, *form)
    model = CVBDMV(max_iter=3, **settings_of(form)).fit(X)
    means = tables.mean(cells_from(model.counts_) + prior_of(tables))
    expected = [math.log(expected_parts(tags, means, tables)[0]) for tags in TAGS]
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-12)
    for tags, table, heads in zip(TAGS, model.predict_proba(X), model.predict(X), strict=True):
        found, sums = np.zeros((len(tags), len(tags) + 1)), Counter()
        total = expected_parts(tags, means, tables)[0]
        for tree, _, weight in weigh_ways(tags, means, tables):
            found[np.arange(len(tags)), tree] += weight / total
            sums[tree] += weight
        np.testing.assert_allclose(table, found, atol=1e-12)
        assert sums[tuple(heads.tolist())] == pytest.approx(max(sums.values()), rel=1e-12)


def test_totals_are_those_of_rows():
    layout, tables = DependencyLayout(W, 2, "head"), Tables(W, 2, "head")
    cells = np.arange(float(layout.n_cells))
    expected = np.bincount(tables.row_of_cell(), cells)
    np.testing.assert_allclose(layout.totals(cells), expected)


# What goes in.

TEXT = ["D N V", "N V", "P V D N", "P V", "P V N", "D A N V"]
WORDS = [tags.split() for tags in TEXT]
HEADS = [[2, 3, 0], [2, 0], [2, 0, 4, 2], [2, 0], [2, 0, 2], [3, 3, 4, 0]]
ALL_FORMS = [(1, None), *FORMS]


def quick(kind, form=(1, None), **settings):
    n_valences, backoff = form
    settings = {"max_iter": 20 if kind is GibbsDMV else 5, "random_state": 0} | settings
    model = kind(valence=Valence(n_valences == 2, backoff=backoff))
    return model.set_params(**settings)


@pytest.mark.parametrize("kind", CLASSES)
def test_bad_settings(kind):
    for name, value in (("backoff", "tag"), ("extended", 2), ("alpha_backoff", 0.0)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Valence must be"):
            kind(valence=Valence(**{name: value})).fit(WORDS)
    message = "backoff='head' needs extended=True: without it .* or take backoff='dir"
    with pytest.raises(ValueError, match=message):
        kind(valence=Valence(backoff="head")).fit(WORDS)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("theirs", ALL_FORMS)
@pytest.mark.parametrize("form", ALL_FORMS)
def test_a_model_of_any_form_is_a_start(theirs, form):
    """One sweep later all is finite; the first weights are those of the model where they can be."""
    first = quick(VBDMV, theirs).fit(WORDS)
    for kind in (EMDMV, CVBDMV):
        model = quick(kind, form, init=first, max_iter=1).fit([*WORDS, ["D", "X", "V"]])
        assert np.isfinite(model.score(WORDS))
    from sklearn_cvb.dependency.model import weights_from_fit

    problem = quick(VBDMV, form).fit(WORDS)._read(WORDS, None).problem
    weights = weights_from_fit(first._learned, problem)
    np.testing.assert_allclose(problem.layout.totals(weights), 1)
    mixed = mixed_weights(weights, problem.layout)
    free = problem.sentences._replace(coarse=None)
    found = inference.log_likelihoods(mixed, free)
    if theirs == form or (theirs[1] == form[1] is None and theirs[0] <= form[0]):
        np.testing.assert_allclose(found, first.score_samples(WORDS), rtol=1e-9)
    # A plain table from one with valences is its mean over the arcs of either valence.
    if theirs == (2, None) and form == (1, None):
        arcs = first.counts_.stop[..., 1]
        below = np.maximum(arcs.sum(axis=2), 1e-3)[..., None]
        mean = (first.attachprob_ * arcs[..., None]).sum(axis=2) / below
        n = len(first.rootprob_)
        seen = arcs.sum(axis=2) > 1e-3
        ours = weights[: 2 * n * n].reshape(n, 2, n)
        np.testing.assert_allclose(ours[seen], mean[seen], atol=1e-6)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", CLASSES)
def test_known_heads_warm_starts_and_pickles(kind, form):
    settings = {"alpha": 0.5, **all_sweeps(kind)}
    model = quick(kind, form, **settings).fit(WORDS, HEADS)
    assert [heads.tolist() for heads in model.labels_] == HEADS
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.attachprob_, model.attachprob_)
    whole = quick(kind, form, max_iter=8, **settings).fit(WORDS)
    parts = quick(kind, form, max_iter=3, warm_start=True, **settings).fit(WORDS)
    parts.set_params(max_iter=5).fit(WORDS)
    if kind is not GibbsDMV:
        assert parts.history_.tolist() == whole.history_[3:].tolist()
    # With other tables it begins anew.
    other = quick(kind, max_iter=5, **settings).fit(WORDS)
    parts.set_params(valence=Valence(False, backoff=None)).fit(WORDS)
    assert np.array_equal(parts.history_, other.history_)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", CLASSES)
def test_rare_tags_lend_their_counts_and_samples_are_drawn(kind, form):
    model = quick(kind, form, handle_unknown="rare", alpha=0.1).fit(WORDS)
    np.testing.assert_allclose(model.attachprob_.sum(axis=-1), 1)
    assert np.isfinite(model.score([["D", "Z", "V"]]))
    tables, heads = model.predict_proba([["D", "Z", "V"]])[0], model.predict([["D", "Z", "V"]])[0]
    np.testing.assert_allclose(tables.sum(axis=1), 1)
    assert len(heads) == 3
    drawn, _ = model.sample(20, random_state=0)
    assert {tag for tags in drawn for tag in tags} <= set("DNVPA")
    if kind is not GibbsDMV:
        noun, known = model.vocabulary_.tolist().index("N"), model.vocabulary_.tolist().index("A")
        ours = model.attachprob_[noun, 0]
        np.testing.assert_allclose(ours[..., -1], ours[..., known], rtol=1e-9)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("form", [(2, None), (2, "head"), (1, "direction")])
def test_samples_come_from_the_model(form):
    """Learned again from what is drawn with its heads, attachments are the same."""
    model = quick(EMDMV, form, handle_unknown="error", alpha=0.1).fit(WORDS)
    drawn, heads = model.sample(4000, random_state=1)
    again = quick(EMDMV, (form[0], None), handle_unknown="error", max_iter=1).fit(drawn, heads)
    seen = again.counts_.attach.sum(axis=-1) > 200
    assert seen.any()
    assert np.abs(again.attachprob_ - model.attachprob_)[seen].max() < 0.06


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", [VBDMV, CVBDMV, GibbsDMV])
@pytest.mark.parametrize("form", [(2, "head"), (1, "direction")])
def test_concentrations_are_learned(kind, form):
    settings = {"alpha": "auto", "max_iter": 40, **all_sweeps(kind)}
    model = quick(kind, form, valence__alpha_stop="auto", **settings).fit(WORDS * 3)
    assert model.alpha_ != 0.1
    assert model.alpha_stop_ != 0.1
    if kind is VBDMV:
        assert (np.diff(model.history_) > -1e-9).all()


def test_presence_counts_own_rows_and_coarse_ones():
    form = (2, "head")
    layout, tables = DependencyLayout(W, *form), Tables(W, *form)
    weights = random_weights(np.random.default_rng(4), tables)
    sentences = sentences_of(TAGS, form)
    shares = inference.expectation(weights, sentences, keeps_shares=True)[2]
    found = [-np.expm1(logs) for logs in log_absence(shares, sentences, layout)]
    absent = [np.ones(layout.n_cells), np.ones(len(tables.rows()))]
    for tags in TAGS:
        counts = expected_parts(tags, weights, tables)[1]
        absent[0] *= 1 - np.minimum(counts, 1)
        absent[1] *= 1 - np.minimum(np.bincount(tables.row_of_cell(), counts), 1)
    n_arc_rows, cut = 2 * W * 2, (2 * W * 2 + 1) * W + 8 * W
    kept = np.r_[0:cut, cut + 2 * n_arc_rows : layout.n_cells]
    np.testing.assert_allclose(found[0][kept], (1 - absent[0])[kept], atol=1e-12)
    rows = np.r_[0 : n_arc_rows + 1 + 4 * W, n_arc_rows + 1 + 4 * W + n_arc_rows : len(absent[1])]
    np.testing.assert_allclose(found[1][rows], (1 - absent[1])[rows], atol=1e-12)
