"""What is known of arcs: it weighs all trees wherever they are inferred, drawn or predicted."""

import math
import pickle
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pytest
from dependency_cases import (
    ARC_WEIGHTS,
    CLASSES,
    FORMS,
    TAGS,
    W,
    X,
    prior_of,
    settings_of,
    visits_counted,
)
from dependency_enumeration import (
    Tables,
    expected_parts,
    log_arc_weight,
    projective_trees,
    weigh_ways,
)
from enumerated import enumerated_dependencies, learned
from scipy.special import gammaln
from sklearn.base import clone

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, ArcWeights, GibbsDMV, Samples, Valence
from sklearn_cvb.dependency import inference
from sklearn_cvb.dependency.arc_weights import PRESETS, UPOS, arc_weights_from
from sklearn_cvb.dependency.inference import sentences_of
from sklearn_cvb.dependency.model import first_weights
from sklearn_cvb.dependency.parameters import DependencyLayout, cells_from
from sklearn_cvb.dependency.prediction import mean_weights, weights_to_predict
from sklearn_cvb.reading.corpus import Corpus

# Where tables back off as well, kernels are compiled that nothing else needs.
ALL_FORMS = [
    pytest.param(form, marks=pytest.mark.long if form[1] else ()) for form in [(1, None), *FORMS]
]


def model_of(kind, form=(1, None), **more):
    settings = settings_of(form, kind) | {"arc_weights": ARC_WEIGHTS, "random_state": 0}
    return kind(**settings | more)


# Fits and predictions against all trees


@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize("kind", [EMDMV, VBDMV, CVBDMV])
def test_fits_follow_the_enumeration_from_plain_harmonic_weights(kind, form):
    tables = Tables(W, *form)
    model = model_of(kind, form, max_iter=5).fit(X)
    algorithm, twin = model._algorithm(), enumerated_dependencies(model, TAGS)
    plain = model_of(kind, form, arc_weights=None)._read(X, None).problem
    state, history = learned(twin, algorithm, first_weights("harmonic", plain, None), 5)
    np.testing.assert_allclose(cells_from(model.counts_), state.counts, atol=1e-10)
    np.testing.assert_allclose(model.history_, history, rtol=1e-12)
    assert model.objective_ == pytest.approx(algorithm.objective(state, twin, history), rel=1e-12)
    if kind is CVBDMV:
        for tags, share, heads in zip(TAGS, state.shares, model.labels_, strict=True):
            weights = tables.mean(np.maximum(state.counts - share, 0) + state.prior)
            sums = trees_of(tags, weights, tables)
            assert sums[tuple(heads.tolist())] == pytest.approx(max(sums.values()), rel=1e-12)


def trees_of(tags, weights, tables, arc_weights=ARC_WEIGHTS):
    """The weight of each tree, components summed out."""
    sums = Counter()
    for tree, _, weight in weigh_ways(tags, weights, tables, arc_weights=arc_weights):
        sums[tree] += weight
    return sums


@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize("kind", CLASSES)
def test_predictions_weigh_arcs_and_scores_do_not(kind, form):
    model, mixed = model_of(kind, form, max_iter=6).fit(X), Tables(W, form[0])
    weights, means = (
        weights_to_predict(model._learned),
        mean_weights(model._learned, mixed=True),
    )
    scores = [math.log(expected_parts(tags, means, mixed)[0]) for tags in TAGS]
    np.testing.assert_allclose(model.score_samples(X), scores, rtol=1e-12)
    assert model.score(X) == pytest.approx(sum(scores) / sum(map(len, TAGS)))
    tables, heads, differ = model.predict_proba(X), model.predict(X), 0.0
    for tags, table, found in zip(TAGS, tables, heads, strict=True):
        sums, expected = trees_of(tags, weights, mixed), np.zeros_like(table)
        total, (free, _) = sum(sums.values()), expected_parts(tags, weights, mixed)
        for tree, weight in sums.items():
            expected[np.arange(len(tags)), tree] += weight / total
        np.testing.assert_allclose(table, expected, atol=1e-12)
        assert sums[tuple(found.tolist())] == pytest.approx(max(sums.values()), rel=1e-12)
        differ += abs(math.log(total) - math.log(free))
    assert differ > 1.0


@pytest.mark.parametrize("form", ALL_FORMS)
def test_known_heads_and_arc_weights_go_together(form):
    known = [(None, 0, None, None), None, (2, None, None), None, None, None]
    tables = Tables(W, *form)
    model = model_of(EMDMV, form, max_iter=1).fit(X, known)
    problem = model._read(X, known).problem
    first = first_weights("harmonic", problem, None)
    counts = weighted_counts(tables, first, known)
    weights = tables.mean(counts + prior_of(tables))
    np.testing.assert_allclose(
        cells_from(model.counts_), weighted_counts(tables, weights, known), atol=1e-10
    )


def weighted_counts(tables, weights, known):
    return sum(
        expected_parts(tags, weights, tables, heads, ARC_WEIGHTS)[1]
        for tags, heads in zip(TAGS, known, strict=True)
    )


@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_hardened_steps_take_arc_weights_to_the_same_power(temperature):
    """(p x weights) ** (1 / temperature); 0 are the heaviest trees, as those that are predicted."""
    tables = Tables(W)
    weights = tables.mean(cells_from(model_of(EMDMV, max_iter=1).fit(X).counts_) + prior_of(tables))
    sentences = model_of(EMDMV)._read(X, None).problem.sentences
    if temperature == 0:
        counts, values = inference.heaviest_tree_counts(weights, sentences)
    else:
        counts, values = inference.hardened_expectation(weights, sentences, temperature)
    expected = np.zeros(len(weights))
    for tags, value in zip(TAGS, values, strict=True):
        ways = weigh_ways(tags, weights, tables, arc_weights=ARC_WEIGHTS)
        logs = np.log([weight for *_, weight in ways])
        if temperature == 0:
            shares = logs == logs.max()
            assert shares.sum() == 1
            assert value == pytest.approx(logs.max(), rel=1e-12)
        else:
            shares = np.exp(logs / temperature)
            assert value == pytest.approx(temperature * math.log(shares.sum()), rel=1e-12)
        for (_, cells, _), share in zip(ways, shares / shares.sum(), strict=True):
            expected += share * np.bincount(cells, minlength=len(weights))
    np.testing.assert_allclose(counts, expected, atol=1e-10)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (VBDMV, {}),
        (VBDMV, {"alpha": "auto"}),
        (EMDMV, {"update": "viterbi"}),
        *((EMDMV, {"temperature": t}) for t in (0.1, 1)),
    ],
)
def test_what_em_and_vb_watch_never_falls(kind, settings, form):
    rng = np.random.default_rng(0)
    sentences = [[f"t{t}" for t in rng.integers(6, size=n)] for n in rng.integers(2, 12, size=40)]
    pairs = product(range(6), range(6), ("left", "right"))
    known = {(f"t{a}", f"t{b}", s): 10 ** rng.uniform(-3, 3) for a, b, s in pairs}
    known |= {(None, f"t{a}"): 10 ** rng.uniform(-3, 3) for a in range(6)}
    more = {"valence": Valence(form[0] == 2, backoff=form[1], alpha_backoff=0.5)} | settings
    history = model_of(kind, form, arc_weights=known, max_iter=40, **more).fit(sentences).history_
    assert (np.diff(history) > -1e-9).all()
    assert history[-1] > history[0]


# Samples

_SMALL = [[0, 1, 0], [1, 0], [0, 1, 1]]


def exact_posterior(tables, temperature=1.0):
    """p(trees of all sentences | tags) times what is known of them, the parameters summed out."""
    prior, row = prior_of(tables), tables.row_of_cell()
    below, chances = np.bincount(row, prior), Counter()
    ways = [weigh_ways(tags, np.ones(len(prior)), tables) for tags in _SMALL]
    for parts in product(*ways):
        counts = np.bincount([c for _, cells, _ in parts for c in cells], minlength=len(prior))
        value = np.sum(gammaln(counts + prior) - gammaln(prior))
        value -= np.sum(gammaln(np.bincount(row, counts) + below) - gammaln(below))
        trees = tuple(tree for tree, _, _ in parts)
        known = map(log_arc_weight, _SMALL, trees, [ARC_WEIGHTS] * len(trees))
        chances[trees] += math.exp((value + sum(known)) / temperature)
    total = sum(chances.values())
    return {trees: chance / total for trees, chance in chances.items()}


# Without arc weights every form is tested in tests/dependency/test_backoff.py.
@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "temperature"), [((1, None), 1.0), ((2, "head"), 1.0), ((1, None), 2.0)]
)
def test_samples_follow_the_exact_weighted_posterior(monkeypatch, form, temperature):
    seen = visits_counted(monkeypatch)
    samples = Samples(temperatures=(temperature, temperature))
    model = model_of(GibbsDMV, form, max_iter=5_000, samples=samples)
    model.fit([[f"t{tag}" for tag in tags] for tags in _SMALL])
    expected, n = exact_posterior(Tables(2, *form), temperature), sum(seen.values())
    distance = sum(abs(seen[trees] / n - p) for trees, p in expected.items()) / 2
    assert set(seen) <= set(expected)
    assert distance < 0.035
    assert 0.3 < model.acceptance_rate_ < 0.99
    assert len(projective_trees(3)) ** 2 * 2 == len(expected)


@pytest.mark.parametrize("form", [(1, None), (2, "head")])
def test_the_objective_of_a_sample_is_its_evidence_and_what_is_known_of_its_arcs(form):
    model = model_of(GibbsDMV, form)
    algorithm, twin = model._algorithm(), enumerated_dependencies(model, TAGS)
    rng = np.random.default_rng(0)
    state = algorithm.start(twin.real, rng)
    for _ in range(5):
        state, value = algorithm.sweep(state, twin.real, rng)
        trees = np.split(state.shares.heads, np.cumsum([len(tags) for tags in TAGS])[:-1])
        known = sum(map(log_arc_weight, TAGS, trees, [ARC_WEIGHTS] * len(TAGS)))
        assert abs(known) > 0.1
        expected = twin.log_evidence(state.counts, state.prior, None) + known
        assert value == pytest.approx(expected, rel=1e-10)


def test_a_cold_sampler_keeps_to_numbers():
    known = {("t0", "t1"): 1e10, ("t1", "t0"): 1e-10}
    samples = Samples(temperatures=(1.0, 1e-90))
    model = model_of(GibbsDMV, arc_weights=known, samples=samples, max_iter=30)
    with np.errstate(all="raise", under="ignore"):
        model.fit(X)
    assert np.isfinite(model.history_).all()
    assert model.unexplained_.tolist() == []


# Weights of 1, and sentences that float64 loses


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize(
    ("kind", "more"), [*((kind, {}) for kind in CLASSES), (EMDMV, {"temperature": 0.5})]
)
def test_weights_of_one_change_no_bit(kind, more, form):
    plain, ones = (
        model_of(kind, form, arc_weights=known, max_iter=20, **more).fit(X)
        for known in (None, {("t0", "t1"): 1.0})
    )
    assert plain._learned.extra.arc_weights is None
    assert (ones._learned.extra.arc_weights == 1).all()
    assert ones.history_.tolist() == plain.history_.tolist()
    assert ones.objective_ == plain.objective_
    assert np.array_equal(cells_from(ones.counts_), cells_from(plain.counts_))
    for name in ("predict", "predict_proba", "score_samples"):
        for a, b in zip(getattr(ones, name)(X), getattr(plain, name)(X), strict=True):
            assert np.array_equal(a, b)


def test_long_sentences_in_products_and_in_logs():
    """One number for all arcs is as many times in each tree; also where float64 holds no sum."""
    rng, n_types, n = np.random.default_rng(5), 3, 40
    layout = DependencyLayout(n_types)
    weights = np.concatenate([rng.dirichlet(np.ones(width)) for width in layout.widths])
    tokens = rng.integers(n_types, size=n)
    lost = weights.copy()
    lost[7 * n_types :: 2] *= 1e-40
    lost[7 * n_types + 1 :: 4] *= 1e-20
    for some in (weights, lost):
        corpus = Corpus(tokens, np.array([0, n]), None, [])
        factors = np.full((7, n_types), 1e-9)
        plain, weighted = (sentences_of(corpus, layout, None, known) for known in (None, factors))
        counts, log_z, _ = inference.expectation(some, plain)
        again, weighted_log_z, _ = inference.expectation(some, weighted)
        assert weighted_log_z[0] == pytest.approx(log_z[0] + n * math.log(1e-9), rel=1e-12)
        np.testing.assert_allclose(again, counts, atol=1e-9)
        heads, logs = inference.heaviest_heads(inference.frozen_tally(some), plain)
        same, more = inference.heaviest_heads(inference.frozen_tally(some), weighted)
        assert same.tolist() == heads.tolist()
        assert more[0] == pytest.approx(logs[0] + n * math.log(1e-9), rel=1e-12)


# How arcs are named


def table_of(weights, tags, tag_classes=None):
    """What multiplies arcs by side, head and child, and roots by their tag."""
    index = {tag: i for i, tag in enumerate(tags)}
    found = arc_weights_from(ArcWeights(weights, tag_classes), index, len(tags) + 1)
    n = len(tags) + 1
    return found[:-1].reshape(n, 2, n).swapaxes(0, 1), found[-1]


def test_keys_name_arcs():
    weights = {
        ("a", ("b", "c")): 2.0,
        ("a", "b", "left"): 3.0,
        ("b", ...): 0.1,
        (..., "c", "right"): 7.0,
        (None, ...): 0.5,
        (None, "a"): 4.0,
        ("a", "gone"): 9.0,
        (("gone", "c"), "a"): 11.0,
    }
    (left, right), root = table_of(weights, ["a", "b", "c"])
    # The last tag is the unknown one.
    assert left.tolist() == [
        [1, 6, 2, 1],
        [0.1, 0.1, 0.1, 0.1],
        [11, 1, 1, 1],
        [1, 1, 1, 1],
    ]
    assert right.tolist() == [
        [1, 2, 14, 1],
        [0.1, 0.1, pytest.approx(0.7), 0.1],
        [11, 1, 7, 1],
        [1, 1, 7, 1],
    ]
    assert root.tolist() == [2.0, 0.5, 0.5, 0.5]


def expected_ud(head, side, child):
    """The preset for Universal Dependencies once more, arc by arc."""
    takes = {
        "VERB": "NOUN PROPN PRON ADV VERB AUX SCONJ PART",
        "NOUN": "ADJ DET NOUN NUM ADP PROPN AUX",
        "PROPN": "PROPN ADP",
        "ADJ": "ADV AUX",
        "PRON": "ADP",
    }
    factor = 0.01 if head in ["ADP", "AUX", "CCONJ", "DET", "PART", "SCONJ"] else 1.0
    factor *= 5.0 if child in takes.get(head, "").split() else 1.0
    factor *= 0.1 if (head, child, side) == ("PROPN", "PROPN", 0) else 1.0
    return factor * (0.1 if (child, side) == ("CCONJ", 1) else 1.0)


def test_the_preset_for_universal_dependencies():
    tags = sorted(UPOS)
    assert len(tags) == 17
    arcs, root = table_of("ud", [*tags, "foreign"])
    for (h, head), (c, child), side in product(enumerate(tags), enumerate(tags), range(2)):
        assert arcs[side, h, c] == pytest.approx(expected_ud(head, side, child))
    usual = {"VERB": 1.0, "NOUN": 0.1, "PROPN": 0.1, "ADJ": 0.1}
    expected = [usual.get(tag, 0.01) for tag in (*tags, "foreign", "unknown")]
    assert root.tolist() == pytest.approx(expected)
    # Of other tags as heads nothing is said.
    assert np.delete(arcs[:, 17:], tags.index("CCONJ"), axis=2).tolist() == [[[1.0] * 18] * 2] * 2


def test_the_preset_for_penn_treebanks():
    verbs, nouns = ["VB", "VBD", "VBG", "VBN", "VBP", "VBZ"], ["NN", "NNS", "NNP", "NNPS"]
    pronouns, adverbs = ["PRP", "WP", "EX"], ["RB", "RBR", "RBS", "WRB"]
    adjectives, determiners = ["JJ", "JJR", "JJS"], ["DT", "PDT", "WDT", "PRP$", "WP$"]
    leaves = ["DT", "PDT", "PRP$", "WDT", "WP$", "CC", "RP", "POS"]
    tags = [*verbs, *nouns, *pronouns, *adverbs, *adjectives, *determiners]
    tags += ["CC", "RP", "POS", "MD", "TO", "IN", "CD", "UH"]
    rules = {
        **dict.fromkeys(verbs, (*nouns, *pronouns, *adverbs, *verbs)),
        **dict.fromkeys(nouns, (*adjectives, *determiners, *nouns, "CD")),
        **dict.fromkeys(adjectives, tuple(adverbs)),
        "MD": verbs,
        "IN": nouns,
    }
    arcs, root = table_of("penn", tags)
    for (h, head), (c, child) in product(enumerate(tags), enumerate(tags)):
        expected = 0.01 if head in leaves else 5.0 if child in rules.get(head, ()) else 1.0
        assert arcs[:, h, c].tolist() == [expected, expected], (head, child)
    assert root.tolist() == [5.0 if tag in (*verbs, "MD") else 1.0 for tag in (*tags, "unknown")]


def test_classes_stand_for_tags():
    classes = {"VERB": ["V", "X", "gone"], "NOUN": "N", "DET": ("D",), "ADP": ["P"]}
    arcs, root = table_of("ud", ["D", "N", "P", "V", "X"], classes)
    upos = ["DET", "NOUN", "ADP", "VERB", "VERB"]
    for (h, head), (c, child), side in product(enumerate(upos), enumerate(upos), range(2)):
        assert arcs[side, h, c] == pytest.approx(expected_ud(head, side, child))
    assert root.tolist() == pytest.approx([0.01, 0.1, 0.01, 1.0, 1.0, 0.01])
    arcs, _ = table_of({("v", ("n", "D")): 3.0}, ["D", "N", "V"], {"v": ["V"], "n": ["N"]})
    assert arcs[0].tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [3, 3, 1, 1], [1, 1, 1, 1]]


def test_tags_that_are_tuples():
    pair = ("a", 1), ("b", 2)
    arcs, _ = table_of({pair: 3.0, (("b", 2), pair): 5.0}, list(pair))
    assert arcs[0].tolist() == [[1, 3, 1], [5, 5, 1], [1, 1, 1]]


def test_nothing_known():
    for nothing in (None, {}):
        assert arc_weights_from(ArcWeights(nothing), {"a": 0}, 2) is None


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"t1": 1.0}, TypeError, "arc_weights has the key 't1': arc_weights is 'ud', 'penn' or"),
        ({("t1",): 1.0}, TypeError, r"arc_weights has the key \('t1',\)"),
        ({("t1", None): 1.0}, ValueError, r"\('t1', None\): None, the root, is no child"),
        ({("t1", "t0", "up"): 1.0}, ValueError, r"'up'\): 'left' or 'right' is the side"),
        ({(None, "t0", "left"): 1.0}, ValueError, "what stands beside the root has no side"),
        ({("t1", "t0"): -1.0}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is -1.0, and must be"),
        ({("t1", "t0"): 0}, ValueError, r"is 0, and must be a number above 0 \(a small one"),
        ({("t1", "t0"): np.inf}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is inf, and must"),
        ({("t1", "t0"): np.nan}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is nan, and must"),
        ({("t1", "t0"): "much"}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is 'much'"),
        ({("t1", "t0"): 1e11}, ValueError, r"lie between 1 and 1e\+11 \(what several keys"),
        ({("t1", "t0"): 1e-6, ("t1", ...): 1e-6}, ValueError, "lie between 1e-12 and 1 .what"),
        (
            {("V", "Z"): 2.0},
            ValueError,
            r"is a dict, and the sentences have none of its tags \['V', 'Z'\]: say in ArcWeights",
        ),
        ({(None, ...): 2.0}, ValueError, "arc_weights is a dict that names no tag"),
        ([("t1", "t0")], ValueError, "The 'arc_weights' parameter of"),
    ],
)
def test_bad_weights(kind, weights, error, message):
    with pytest.raises(error, match=message):
        kind(arc_weights=weights).fit(X)


@pytest.mark.parametrize(("name", "tags"), [("ud", "'ADP', 'AUX'"), ("penn", "'DT', 'PDT'")])
def test_presets_without_their_tags(name, tags):
    message = f"arc_weights is '{name}', and the sentences have none of its tags .{tags}.*: say in"
    with pytest.raises(ValueError, match=message):
        CVBDMV(arc_weights=name).fit(X)
    with pytest.raises(ValueError, match="The 'arc_weights' parameter of CVBDMV must be"):
        CVBDMV(arc_weights="tiger").fit(X)


UD = ["DET NOUN VERB", "PRON AUX VERB ADP DET ADJ NOUN", "PROPN VERB ADV", "NUM NOUN VERB VERB"]
UD = [tags.split() for tags in UD]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_word_its_dict_and_its_object_are_one(kind):
    models = [
        kind(arc_weights=known, max_iter=5, random_state=0).fit(UD)
        for known in ("ud", PRESETS["ud"], ArcWeights("ud"), ArcWeights(PRESETS["ud"]))
    ]
    for model in models[1:]:
        assert model.history_.tolist() == models[0].history_.tolist()
    again = pickle.loads(pickle.dumps(clone(models[1]).fit(UD)))
    assert again.history_.tolist() == models[0].history_.tolist()
    for a, b in zip(again.predict_proba(UD), models[0].predict_proba(UD), strict=True):
        assert np.array_equal(a, b)


def test_unknown_tags_have_no_weights_but_those_of_any():
    model = CVBDMV(arc_weights={("VERB", "NOUN"): 9.0, (..., "DET"): 3.0}).fit(UD)
    known, n = model._learned.extra.arc_weights, len(model.vocabulary_)
    place = model.vocabulary_.tolist().index("DET")
    assert known[2 * n : 2 * n + 2, place].tolist() == [3.0, 3.0]
    assert np.delete(known[2 * n : 2 * n + 2], place, axis=1).tolist() == [[1.0] * n] * 2
    assert known[:, n].tolist() == [1.0] * len(known)
    assert model.predict([["DET", "new", "VERB"]])[0].shape == (3,)


# Beside other settings


@pytest.mark.parametrize("kind", CLASSES)
def test_arc_weights_decide_what_the_sentences_leave_open(kind):
    sentences = [["a", "b"], ["b", "a"]] * 5
    settings = {"max_iter": 30, "random_state": 0, "handle_unknown": "error"}
    for head, heads in (("a", [[0, 1], [2, 0]]), ("b", [[2, 0], [0, 1]])):
        known = {(head, "b" if head == "a" else "a"): 50.0, (None, head): 50.0}
        model = kind(arc_weights=known, alpha=0.1, **settings).fit(sentences)
        assert [found.tolist() for found in model.labels_[:2]] == heads


@pytest.mark.parametrize("kind", [VBDMV, CVBDMV, GibbsDMV])
def test_concentrations_are_learned_beside(kind):
    model = model_of(kind, alpha="auto", valence=None, max_iter=40).fit(X * 3)
    assert model.alpha_ not in (0.1, 1.0)
    assert model.alpha_stop_ == model.alpha_


@pytest.mark.parametrize("kind", CLASSES)
def test_a_warm_start_with_other_weights_begins_anew(kind):
    """Samples of two posteriors are not averaged; no state goes on as if nothing had changed."""
    model = model_of(kind, arc_weights=None, max_iter=20, warm_start=True).fit(X)
    model.set_params(arc_weights=ARC_WEIGHTS).fit(X)
    new = model_of(kind, max_iter=20).fit(X)
    assert model.history_.tolist() == new.history_.tolist()
    assert np.array_equal(cells_from(model.counts_), cells_from(new.counts_))


def test_a_checkpoint_of_other_weights_is_refused(tmp_path):
    settings = {"max_iter": 3, "checkpoint": tmp_path, "warm_start": True}
    model_of(CVBDMV, **settings).fit(X)
    other = model_of(CVBDMV, arc_weights={("t0", "t1"): 2.0}, **settings)
    with pytest.raises(ValueError, match="is of other parameters: arc_weights was"):
        other.fit(X)


def test_sentences_are_drawn_from_the_probabilities_alone():
    heads = [[0, 1, 2, 3], [2, 0], [0, 1, 2], [2, 0], [2, 0, 2, 3, 4], [0]]
    drawn = [
        model_of(EMDMV, arc_weights=known, max_iter=2).fit(X, heads).sample(50, random_state=0)[0]
        for known in (ARC_WEIGHTS, None)
    ]
    assert drawn[0].tolist() == drawn[1].tolist()


# Advice


@pytest.mark.parametrize("kind", CLASSES)
def test_tags_of_universal_dependencies_are_told_of_their_preset_once(kind):
    settings = {"max_iter": 2, "random_state": 0}
    with pytest.warns(
        UserWarning, match='tags are those of Universal Dep.*arc_weights="ud"'
    ) as told:
        kind(**settings).fit(UD)
    assert len([one for one in told if "arc_weights" in str(one.message)]) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the tags are those")
        kind(arc_weights="ud", **settings).fit(UD)
        kind(arc_weights={("VERB", "NOUN"): 2.0}, **settings).fit(UD)
        # Other tags, or no verbs and nouns; heads that are known.
        kind(**settings).fit([["DET", "NOUN", "VERB", "xyz"]] * 3)
        kind(**settings).fit([["DET", "NOUN"]] * 3)
        kind(**settings).fit([["NOUN", "VERB"]] * 3, [[2, 0], None, None])
