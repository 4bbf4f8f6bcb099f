"""Rules of heads and children: how their mass is spread, where a fit starts, what is refused."""

from itertools import product

import numpy as np
import pytest
from dependency_cases import CLASSES, FORMS, TAGS, W, X, prior_of, settings_of
from dependency_enumeration import Tables, expected_parts, ways_of_tree

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, ArcWeights, Valence
from sklearn_cvb.dependency.known import tilt_of
from sklearn_cvb.dependency.model import (
    DependencyModel,
    first_concentrations,
    first_weights,
    harmonic_counts,
)
from sklearn_cvb.dependency.parameters import tables_of
from sklearn_cvb.learning.model import NOBODY

ALL_FORMS = [(1, None), *FORMS]
RULES = {("t1", ("t0", "t2")): 7.0, (None, "t1"): 4.0, ("t0", "t0"): 2.0}


def problem_of(form, rules):
    model = CVBDMV(arc_weights=rules, **settings_of(form))
    model.fit(X)
    return model, model._read(X, None).problem


def covered(form):
    """Cells of each rule above, from head, side, valence and child."""
    n_own = 2 * W * form[0]
    own = np.arange(n_own * W).reshape(W, 2, form[0], W)
    return own[1][..., [0, 2]].ravel(), np.array([n_own * W + 1]), own[0, ..., 0].ravel()


@pytest.mark.parametrize("form", ALL_FORMS)
def test_mass_is_spread_as_harmonic_counts_are(form):
    _, problem = problem_of(form, RULES)
    harmonic = harmonic_counts(problem.sentences, problem.layout)
    plain = prior_of(Tables(W, *form))
    expected = plain.copy()
    for cells, weight in zip(covered(form), (7.0, 4.0, 2.0), strict=True):
        total = harmonic[cells].sum()
        # No sentence has two tokens t0 but one, and that rule's share is what they have.
        assert total > 0
        shares = weight * harmonic[cells] / total
        own = np.ones(len(cells))
        if form[1] == "head":
            # One half is the coarse row's, but the root has none.
            row, tag = cells // W, cells % W
            own = np.where(row < 4 * W, 0.5, 1.0)
            first = len(plain) - 2 * W * W
            np.add.at(expected, (first + row // 2 * W + tag)[own < 1], (shares / 2)[own < 1])
        expected[cells] += own * shares
    hyper = first_concentrations(0.3, Valence(alpha_stop=0.7))
    found = DependencyModel(problem, hyper, "harmonic", NOBODY).prior(hyper)
    np.testing.assert_allclose(found, expected)
    assert found.sum() - plain.sum() == pytest.approx(13.0)


def test_rules_that_no_sentence_has_share_equally():
    model = CVBDMV(arc_weights={("t3", "t0"): 6.0}, vocabulary=["t0", "t1", "t2", "t3"])
    problem = model.fit(X)._read(X, None).problem
    attach = tables_of(problem.prior, problem.layout)[0]
    assert attach[6:8, 0].tolist() == [3.0, 3.0]
    assert attach.sum() == 6.0


@pytest.mark.parametrize("n_valences", [1, 2])
def test_the_harmonic_start_is_tilted(n_valences):
    """Each token chooses a head of a rule 1 + its weight times as readily."""
    form = n_valences, None
    _, problem = problem_of(form, RULES)
    tables, counts = Tables(W, *form), 0
    for tags in TAGS:
        n, options = len(tags), []
        for c in range(1, n + 1):
            near = {h: 1 / abs(h - c) for h in range(1, n + 1) if h != c}
            rest = (n - 1) / n / sum(near.values()) if near else 0
            option = {0: 1 / n} | {h: rest * weight for h, weight in near.items()}
            tag = tags[c - 1]
            option[0] *= 5 if tag == 1 else 1
            for h in near:
                option[h] *= {(1, 0): 8, (1, 2): 8, (0, 0): 3}.get((tags[h - 1], tag), 1)
            total = sum(option.values())
            options.append({h: weight / total for h, weight in option.items()})
        for heads in product(*options):
            weight = np.prod([option[h] for option, h in zip(options, heads, strict=True)])
            (cells,) = ways_of_tree(tags, heads, tables)
            counts = counts + weight * np.bincount(cells, minlength=sum(tables.rows()))
    tilt = tilt_of(problem.rules, W)
    found = harmonic_counts(problem.sentences, problem.layout, tilt)
    np.testing.assert_allclose(found, counts, atol=1e-12)
    weights = first_weights("harmonic", problem, None)
    row = tables.row_of_cell()
    seen = np.bincount(row, counts)[row] > 0
    np.testing.assert_allclose(weights[seen], tables.mean(counts + 1e-300)[seen], atol=1e-12)


@pytest.mark.parametrize("form", ALL_FORMS)
def test_em_is_its_restatement(form):
    tables = Tables(W, *form)
    model = EMDMV(max_iter=2, arc_weights=RULES, **settings_of(form)).fit(X)
    before = EMDMV(max_iter=1, arc_weights=RULES, **settings_of(form)).fit(X)
    prior = before._learned.prior
    from sklearn_cvb.dependency.parameters import cells_from

    weights = tables.mean(cells_from(before.counts_) + prior)
    counts = sum(expected_parts(tags, weights, tables)[1] for tags in TAGS)
    np.testing.assert_allclose(cells_from(model.counts_), counts, atol=1e-10)
    history = VBDMV(max_iter=40, arc_weights=RULES, **settings_of(form)).fit(X).history_
    assert (np.diff(history) > -1e-9).all()


@pytest.mark.parametrize("kind", CLASSES)
def test_rules_decide_what_the_sentences_leave_open(kind):
    sentences = [["a", "b"], ["b", "a"]] * 5
    settings = {"max_iter": 30, "random_state": 0, "handle_unknown": "error"}
    for head, heads in (("a", [[0, 1], [2, 0]]), ("b", [[2, 0], [0, 1]])):
        rules = {(head, "b" if head == "a" else "a"): 50.0, (None, head): 50.0}
        model = kind(arc_weights=rules, alpha=0.1, **settings).fit(sentences)
        assert [found.tolist() for found in model.labels_[:2]] == heads


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        (
            {("V", "Z"): 1.0},
            ValueError,
            r"arc_weights\[\('V', 'Z'\)\]: the tags \['V', 'Z'\]|"
            r"the tags \['Z'\] are not in the vocabulary",
        ),
        ({("t1", ("t0", "X", "Y")): 1.0}, ValueError, r"the tags \['X', 'Y'\] are not in the"),
        ({("t1", ()): 1.0}, ValueError, r"the tags \[\] are not in the vocabulary"),
        ({("t1", None): 1.0}, ValueError, r"the tags \[None\] are not in the vocabulary"),
        ({("t1", "t0"): -1.0}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is -1.0"),
        ({("t1", "t0"): np.inf}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is inf"),
        ({("t1", "t0"): "much"}, ValueError, r"arc_weights\[\('t1', 't0'\)\] is 'much'"),
        ({"t1": 1.0}, TypeError, "arc_weights has the key 't1'"),
        ([("t1", "t0")], ValueError, "arc_weights"),
    ],
)
def test_bad_rules(kind, rules, error, message):
    with pytest.raises(error, match=message):
        kind(arc_weights=rules, alpha=0.1).fit(X)


def test_tags_that_are_tuples():
    pairs = [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]]
    model = CVBDMV(arc_weights={(("a", 1), (("b", 2), ("a", 1))): 3.0}).fit(pairs)
    assert model._learned.prior.sum() == pytest.approx(3.0 + 0.1 * len(model._learned.prior))


def test_a_learned_concentration_is_one_for_all():
    for kind in (VBDMV, CVBDMV):
        with pytest.raises(ValueError, match="give alpha a number"):
            kind(arc_weights=RULES, alpha="auto").fit(X)
        model = kind(
            valence=Valence(alpha_stop="auto"), arc_weights=RULES, alpha=0.1, max_iter=30, tol=0
        ).fit(X)
        assert model.alpha_stop_ != 0.1


def test_a_warm_start_takes_the_rules_of_now():
    model = VBDMV(max_iter=3, warm_start=True, **settings_of((1, None))).fit(X)
    before = model._learned.prior.sum()
    model.set_params(arc_weights=RULES).fit(X)
    assert model._learned.prior.sum() - before == pytest.approx(13.0)


UD = ["DET NOUN VERB", "PRON AUX VERB ADP DET ADJ NOUN", "PROPN VERB ADV", "NUM NOUN VERB VERB"]
UD_RULES = dict.fromkeys(
    [
        (None, "VERB"),
        ("VERB", ("NOUN", "PROPN")),
        ("VERB", "PRON"),
        ("VERB", "ADV"),
        ("VERB", "VERB"),
        ("VERB", "AUX"),
        (("NOUN", "PROPN"), "ADJ"),
        (("NOUN", "PROPN"), "DET"),
        (("NOUN", "PROPN"), ("NOUN", "PROPN")),
        (("NOUN", "PROPN"), "NUM"),
        (("NOUN", "PROPN"), "ADP"),
        ("ADJ", "ADV"),
    ],
    100.0,
)
PENN = ["DT NN VBZ", "PRP MD VB IN NNS", "NNP VBD"]
# Of what these sentences lack nothing is said.
PENN_VERBS, PENN_NOUNS = ("VB", "VBD", "VBZ"), ("NN", "NNS", "NNP")
PENN_RULES = dict.fromkeys(
    [
        (None, PENN_VERBS),
        (None, "MD"),
        (PENN_VERBS, PENN_NOUNS),
        (PENN_VERBS, "PRP"),
        (PENN_VERBS, PENN_VERBS),
        ("MD", PENN_VERBS),
        (PENN_NOUNS, "DT"),
        (PENN_NOUNS, PENN_NOUNS),
        ("IN", PENN_NOUNS),
    ],
    100.0,
)


@pytest.mark.parametrize(
    ("name", "text", "rules"), [("ud", UD, UD_RULES), ("penn", PENN, PENN_RULES)]
)
def test_a_name_stands_for_rules(name, text, rules):
    sentences = [tags.split() for tags in text]
    named, given = (CVBDMV(arc_weights=w, max_iter=3).fit(sentences) for w in (name, rules))
    np.testing.assert_allclose(named._learned.prior, given._learned.prior, rtol=1e-12)
    np.testing.assert_allclose(named.attachprob_, given.attachprob_, rtol=1e-12)
    extra = named._learned.prior.sum() - CVBDMV().fit(sentences)._learned.prior.sum()
    assert extra == pytest.approx(100.0 * len(rules))


def test_classes_of_named_rules_may_have_other_tags():
    classes = {"verb": ["V", "absent"], "noun": ["N"]}
    sentences = [["N", "V"], ["V", "N"]]
    named = CVBDMV(arc_weights=ArcWeights("ud", tag_classes=classes)).fit(sentences)
    rules = [(None, "V"), ("V", "N"), ("V", "V"), ("N", "N")]
    given = CVBDMV(arc_weights=dict.fromkeys(rules, 100.0)).fit(sentences)
    np.testing.assert_allclose(named._learned.prior, given._learned.prior, rtol=1e-12)


@pytest.mark.parametrize("name", ["ud", "penn"])
def test_named_rules_without_their_tags(name):
    with pytest.raises(ValueError, match=f"arc_weights='{name}': the sentences have no tags such"):
        CVBDMV(arc_weights=name).fit(X)
    with pytest.raises(ValueError, match="The 'arc_weights' parameter of CVBDMV must be"):
        CVBDMV(arc_weights="tiger").fit(X)
