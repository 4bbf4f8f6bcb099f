"""Fitted models to look at: rows, transitions and the curve are those of the fitted attributes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from nltk import Tree
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMHMM,
    VBHMM,
    EMAlignmentHMM,
    EMHMMTagger,
    EMLatentPCFG,
    GibbsHMM,
    HMMClassifier,
    HMMMixture,
    Transitions,
)
from sklearn_cvb.display import ModelSummary, PhraseTree
from sklearn_cvb.display.model_summary import curve_svg, steps_svg
from sklearn_cvb.emissions import Bernoulli, Columns, Gaussian, Poisson
from sklearn_cvb.emissions.poisson import PoissonFamily

X = [["a", "b", "a", "c"], ["b", "a"], ["a", "b", "b", "<b>"]]
SVG = "{http://www.w3.org/2000/svg}"


def chain(**settings):
    return CVBHMM(2, random_state=0, **settings).fit(X)


FAMILIES = [
    *("chain", "sampled", "numbers", "grammar", "dependencies", "alignment", "treebank"),
    *("classes", "clusters"),
]


@pytest.fixture(scope="module")
def fitted():
    """A fitted model of each family."""
    grammar = "S -> A B\nA -> 'a'\nB -> 'b' | A B"
    models = [
        chain(),
        GibbsHMM(2, random_state=0, max_iter=5).fit(X),
        VBHMM(2, emission="gaussian", random_state=0).fit([[0.1, 0.2, 5.0, 5.1, 0.3]]),
        CVBPCFG(grammar, random_state=0).fit([["a", "b"], ["a", "a", "b"]] * 2),
        CVBDMV(random_state=0).fit([["N", "V"], ["D", "N", "V"]] * 2),
        EMAlignmentHMM(random_state=0).fit([(["the", "house"], ["la", "casa"])]),
        EMLatentPCFG(n_subtypes=2, random_state=0).fit(["(S (N dogs) (V run))"]),
        HMMClassifier(CVBHMM(2, random_state=0)).fit([*X, ["a", "a"]], ["x", "y<", "x", "x"]),
    ]
    clusters = HMMMixture(CVBHMM(2), n_components=2, n_init=1, random_state=0)
    models.append(clusters.fit([[*"abab"], [*"ab"], [*"ccdd"], [*"cddd"]] * 3))
    return dict(zip(FAMILIES, models, strict=True))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_fitted_model_shows_the_diagram_and_what_it_learned(fitted, family):
    model = fitted[family]
    shown = model._repr_html_()
    diagram = BaseEstimator._html_repr(model)
    summary = model.summary()._repr_html_()
    assert shown.startswith(diagram[:200])
    assert shown.endswith(summary)
    assert "sk-top-container" in shown
    ElementTree.fromstring(summary)
    # Nothing is fetched, and no script is brought.
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|<script|<link|@import|src=", summary)
    assert model._repr_mimebundle_()["text/html"].endswith(summary)


# Small fits of words of all kinds.
ODD = {
    "one token": [["a"]],
    "one sequence": [["a", "b", "a"]],
    "tuples": [[("a", 1), ("b", 2)], [("a", 1)]],
    "tuples in tuples": [[(("a",), "b")], [()]],
    "whole numbers": [[0, 1], [1]],
    "a table": np.array([[0, 1, 1], [1, 0, 0]]),
    "a table of one": np.array([[1]]),
    "marks": [["a\nb", "<&>\x00"]],
}
WITH_WORDS = [EMHMM, CVBHMM, EMHMMTagger, CVBPCFG, CVBDMV, HMMMixture]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", WITH_WORDS)
@pytest.mark.parametrize("name", ODD)
def test_small_fits_of_any_words_can_be_looked_at(kind, name):
    data = ODD[name]
    settings = {"random_state": 0} | ({} if kind is HMMMixture else {"max_iter": 2})
    first = {
        EMHMMTagger: {"tag_dictionary": {data[0][0]: [("t", 1), ("t", 2), ("u", 1)]}},
        HMMMixture: {"estimator": EMHMM(3, max_iter=2), "n_components": 1, "n_init": 1},
        CVBDMV: {},
    }
    model = kind(**first.get(kind, {"n_components": 3}), **settings).fit(data)
    summary = model.summary()
    shown = ElementTree.fromstring(summary._repr_html_())
    rows = [row[0][0].text for row in list(shown.iter("tr"))[1:]]
    assert rows == [row.name for row in summary.learned.rows] != []
    assert len(str(summary).splitlines()) >= len(rows) + 2
    assert model._repr_html_().endswith(summary._repr_html_())
    assert summary.to_html().count("<svg") >= 1
    if isinstance(data, list) and kind is CVBPCFG:
        tree = PhraseTree(model.labels_[0])
        leaves = [text for text in tree.drawing().texts if text.kind == "word"]
        assert len(leaves) == len(data[0])
        assert "(S " in repr(tree)
        assert str(tree).startswith("(S")
        ElementTree.fromstring(tree.to_svg())


def test_words_that_are_tuples_stand_in_brackets_as_texts():
    tree = Tree("S", [Tree("A", [("a", 1)]), Tree("B", [("b", "c")]), ("d", None)])
    assert str(PhraseTree(tree)) == "(S (A a/1) (B b/c) d/None)"
    assert repr(PhraseTree(tree)) == "PhraseTree('(S (A a/1) (B b/c) d/None)')"


def test_what_is_not_fitted_looks_as_before():
    model = CVBHMM()

    def without_ids(html):
        return re.sub(r"sk-container-id-\d+|sk-estimator-id-\d+", "id", html)

    assert without_ids(model._repr_html_()) == without_ids(BaseEstimator._html_repr(model))
    with pytest.raises(NotFittedError):
        model.summary()
    with pytest.raises(NotFittedError):
        ModelSummary(model)


@pytest.mark.parametrize("model", [LinearRegression().fit([[0.0], [1.0]], [0, 1]), "text"])
def test_other_things_are_refused(model):
    with pytest.raises(TypeError, match="give a fitted model of sklearn_cvb"):
        ModelSummary(model)


class OwnFamily(PoissonFamily):
    def attributes(self, point):
        return {"intensities_": point.T.copy(), "total_": point.sum()}


class Own(Poisson):
    """An emission whose attributes have names of its own."""

    def bind(self, moments, n_states):
        family = super().bind(moments, n_states)
        family.__class__ = OwnFamily
        return family


def test_an_emission_that_nobody_has_heard_of_shows_its_tables():
    model = VBHMM(2, emission=Own(), random_state=0).fit([[1, 0, 2, 9, 8, 11], [12, 9, 1, 1]])
    said = str(model.summary())
    for intensity in model.intensities_.ravel():
        assert f"intensities {intensity:.3g}" in said
    assert "intensities" in model._repr_html_()


def test_states_have_their_shares_and_most_frequent_symbols():
    model = chain()
    learned = ModelSummary(model).learned
    assert sum(row.share for row in learned.rows) == pytest.approx(1.0)
    table = model.counts_.emission
    table = table.toarray() if hasattr(table, "toarray") else table
    for k, row in enumerate(learned.rows):
        assert row.share == pytest.approx(table[:, k].sum() / table.sum())
        word, p = row.most_probable[0]
        assert word == model.vocabulary_[table[:, k].argmax()]
        assert p == pytest.approx(table[:, k].max() / table[:, k].sum())
    np.testing.assert_array_equal(learned.transitions, model.transmat_)


def test_words_are_quoted():
    summary = ModelSummary(chain())
    assert "&lt;b&gt;" in summary._repr_html_()
    assert "<b>" in str(summary)


def test_tags_name_rows_and_the_rest_is_counted():
    words = [f"w{i}" for i in range(40)]
    tags = {word: f"T{i:02d}" for i, word in enumerate(words)}
    text = [words, words[:5] * 3]
    model = EMHMMTagger(tags, random_state=0).fit(text)
    learned = ModelSummary(model).learned
    assert learned.row_title == "tag"
    assert (len(learned.rows), learned.n_more) == (30, 10)
    # The most frequent ones are kept.
    assert {row.name for row in learned.rows} >= {f"T{i:02d}" for i in range(5)}
    assert learned.transitions.shape == (30, 30)
    # Neither the rows nor the picture fill a screen; the picture opens at a click.
    assert ModelSummary(model)._repr_html_().count("max-height:26em") == 3
    assert "<details><summary>Transitions</summary>" in ModelSummary(model)._repr_html_()
    assert "<details>" not in ModelSummary(chain())._repr_html_()


def test_states_without_a_token_are_counted_and_clusters_named(fitted):
    model = VBHMM(9, transitions=Transitions(prior="hdp"), n_init=1, random_state=0)
    model.fit([[*"ababab"] * 3, [*"babab"] * 3] * 4)
    uses = model.counts_.start + model.counts_.transition.sum(axis=0)
    used = np.flatnonzero(uses >= 0.5)
    assert 1 <= len(used) < 9
    summary = model.summary()
    assert [row.name for row in summary.learned.rows] == [str(state) for state in used]
    assert f"\nand {9 - len(used)} unused\n" in str(summary)
    np.testing.assert_array_equal(summary.learned.transitions, model.transmat_[np.ix_(used, used)])
    # A model that has seen nothing shows all of its states.
    given = EMHMM.from_parameters(
        startprob=[1.0, 0.0], transmat=[[1.0, 0.0]] * 2, emissionprob=np.eye(2)
    )
    assert [row.name for row in given.summary().learned.rows] == ["0", "1"]
    rows = fitted["clusters"].summary().learned.rows
    assert {row.name for row in rows} <= {f"{c}, state {k}" for c in range(2) for k in range(2)}
    assert sum(row.share for row in rows) == pytest.approx(1.0, abs=0.05)
    assert str(fitted["clusters"].summary()).endswith("converged")


def test_one_column_is_drawn_and_a_grammar_shows_a_tree(fitted):
    model = fitted["numbers"]
    page = ElementTree.fromstring(model.summary()._repr_html_())
    lines = [svg for svg in page.iter(f"{SVG}svg") if svg.get("width") == "160"]
    means, widths = model.means_.ravel(), np.sqrt(model.covariances_.ravel())
    low, high = (means - 2 * widths).min(), (means + 2 * widths).max()
    centres = [float(line.find(f"{SVG}circle").get("cx")) for line in lines]
    np.testing.assert_allclose(centres, 4 + 152 * (means - low) / (high - low), atol=0.06)
    tree = fitted["grammar"].labels_[0]
    assert fitted["grammar"].summary().learned.tree is tree
    assert PhraseTree(tree)._repr_html_() in fitted["grammar"].summary()._repr_html_()


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_numbers_show_means_and_standard_deviations(kind):
    rng = np.random.default_rng(0)
    series = [np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(9, 3, (30, 2))])]
    model = VBHMM(2, emission=Gaussian(covariance_type=kind), random_state=0).fit(series)
    rows = sorted(
        ModelSummary(model).learned.rows, key=lambda row: float(row.most_probable[0][0].split()[0])
    )
    widths = [float(row.most_probable[0][0].split("±")[1].split(",")[0]) for row in rows]
    expected = (2.2, 2.2) if kind == "tied" else (1.0, 3.0)
    assert widths == pytest.approx(expected, rel=0.25)


def test_columns_of_several_kinds_are_all_told():
    series = [np.array([[0.1, 0], [0.2, 0], [5.0, 1], [5.1, 1]] * 5)]
    emission = Columns([(Gaussian(), [0]), (Bernoulli(), [1])])
    model = VBHMM(2, emission=emission, random_state=0).fit(series)
    for row in ModelSummary(model).learned.rows:
        assert [text.split()[0] for text, _ in row.most_probable][1] == "p(1)"
        assert "±" in row.most_probable[0][0]


def test_rules_dependents_and_translations_are_the_most_probable(fitted):
    grammar, dependencies, alignment = (fitted[n] for n in ("grammar", "dependencies", "alignment"))
    rows = {row.name: row.most_probable for row in ModelSummary(grammar).learned.rows}
    assert rows["S"] == [("A B", 1.0)]
    assert [text for text, _ in rows["B"]] == ["'b'", "A B"]
    rows = {row.name: row.most_probable for row in ModelSummary(dependencies).learned.rows}
    root, p = rows["(root)"][0]
    assert p == dependencies.rootprob_.max()
    assert root == dependencies.vocabulary_[dependencies.rootprob_.argmax()]
    rows = {row.name: row.most_probable for row in ModelSummary(alignment).learned.rows}
    assert rows["the"] == alignment.lexicon_.translations("the", 6)


def test_classes_show_their_priors_and_their_models(fitted):
    model = fitted["classes"]
    first, second = ModelSummary(model).learned.rows
    assert (first.name, first.share) == ("x", 0.75)
    assert (second.name, second.share) == ("y<", 0.25)
    own = model.estimators_[0]
    sweeps = f"{own.n_iter_} sweeps, converged"
    assert first.most_probable == [
        (f"3 sequences, 2 states, objective {own.objective_:.6g}, {sweeps}", None)
    ]
    assert second.most_probable[0][0].startswith("1 sequence, 2 states, ")
    assert str(ModelSummary(model)).endswith("\n2 classes, CVBHMM")
    assert "y&lt;" in model._repr_html_()
    assert "polyline" not in ModelSummary(model)._repr_html_()
    unfitted = HMMClassifier(CVBHMM())
    assert "learned from" not in unfitted._repr_html_()
    flat = HMMClassifier(unfitted.estimator, priors=[0.5, 0.5]).fit([["a"], ["b"]], [0, 1])
    assert [row.share for row in ModelSummary(flat).learned.rows] == pytest.approx([0.5, 0.5])


def test_areas_of_circles_are_probabilities():
    steps = np.array([[0.0, 1.0], [0.25, 0.75]])
    picture = ElementTree.fromstring(steps_svg(["x", "y"], steps))
    radii = [float(circle.get("r")) for circle in picture.iter(f"{SVG}circle")]
    assert len(radii) == 3
    assert (np.array(radii) / radii[0]) ** 2 == pytest.approx([1.0, 0.25, 0.75], abs=0.02)
    # Rows run down, columns to the right.
    first, back = (circle for circle in list(picture.iter(f"{SVG}circle"))[:2])
    assert float(first.get("cx")) > float(back.get("cx"))
    assert float(first.get("cy")) < float(back.get("cy"))


def test_curve_has_a_point_for_each_finite_value():
    picture = ElementTree.fromstring(curve_svg(np.array([-np.inf, 1.0, 3.0])))
    points = picture.find(f"{SVG}polyline").get("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert len(points) == 2
    assert heights[0] > heights[1]
    assert "polyline" in curve_svg(np.array([2.0]))
    assert "no numbers" in curve_svg(np.array([np.nan]))


def test_text_says_how_the_fit_ended(fitted):
    early = chain(max_iter=1)
    assert str(ModelSummary(early)).endswith("1 sweep, stopped before it converged")
    assert str(ModelSummary(fitted["sampled"])).endswith("\n5 sweeps")
    assert ModelSummary(chain()).to_html().startswith("<!DOCTYPE html>")
