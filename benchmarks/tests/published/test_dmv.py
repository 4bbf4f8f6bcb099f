"""Dependency models: chains of fits, folds that have not seen what they are scored on, tables."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.published import dmv, dmv_knowledge
from benchmarks.published.dmv import pooled
from benchmarks.published.dmv_models import BASELINES, CHANGES, MODELS, Model, Stage
from benchmarks.published.dmv_treebanks import (
    CLASSES,
    LEAVES,
    RULES,
    TREEBANKS,
    Treebank,
    arc_weights,
)
from benchmarks.published.tables import as_text
from sklearn_cvb import CVBDMV, EMDMV, ArcWeights
from sklearn_cvb.dependency.arc_weights import PRESETS, arc_weights_from

TAGS = [["D", "N", "V"], ["N", "V"], ["P", "V", "D", "N"], ["P", "V"], ["V", "N"]] * 4
HEADS = [[2, 3, 0], [2, 0], [2, 0, 4, 2], [2, 0], [0, 1]] * 4


@pytest.fixture(scope="module")
def results(quick):
    names = "english", "swedish", "changes", "chains"
    return {name: dmv.PARTS[name](quick) | {"seconds": 1.0} for name in names}


@pytest.fixture
def treebank():
    classes = {"noun": ("N", "P"), "verb": ("V", "V2"), "number": ("#",)}
    return Treebank(TAGS, HEADS, np.arange(20) % 5, classes)


def share(results, key, limit=0, measure="directed"):
    found = results["english"]
    one = found["baselines"][key] if key in BASELINES else found["models"][key]["10"]
    return 100 * pooled(one[measure][limit])


def test_figures_of_baselines_are_those_of_the_test_of_quality(results):
    assert share(results, "next") == pytest.approx(36.8, abs=0.05)
    assert share(results, "next") > share(results, "last") > share(results, "first")


def test_models_are_between_baselines_and_gold_heads(results):
    assert share(results, "next") + 2 < share(results, "em") < share(results, "cvb-.1")
    assert share(results, "cvb-.1") + 25 < share(results, "gold") < 90
    for key in ("em", "cvb-.1", "gold"):
        assert share(results, key, measure="undirected") > share(results, key)
        # Long sentences are harder.
        assert share(results, key) > share(results, key, 1) > share(results, key, 2)


def test_stages_and_arc_weights_find_more_heads(results):
    assert share(results, "staged") > share(results, "em") + 2
    assert share(results, "known-cvb") > share(results, "cvb-.1") + 12
    assert share(results, "known-cvb") < share(results, "gold") - 5


def test_a_stage_begins_where_the_one_before_ended(treebank):
    fits = []

    class Watched(CVBDMV):
        def fit(self, X, y=None):
            fits.append((self.init, self.alpha, self.max_iter, len(X), y))
            return super().fit(X, y)

    first = Stage(Watched, {"alpha": 1.0, "max_iter": 2}, longest=2)
    chain = Model("", (first, Stage(Watched, {"alpha": 0.5})))
    model = dmv.learned(chain, treebank, np.arange(20), 4, 7)
    assert [fit[1:] for fit in fits] == [(1.0, 2, 12, None), (0.5, 7, 20, None)]
    assert fits[0][0] == "harmonic"
    assert fits[1][0].alpha == 1.0
    assert model.vocabulary_.tolist() == ["D", "N", "P", "V"]


def test_rules_are_given_to_the_fits_that_are_to_have_them(treebank):
    fits = []

    class Watched(CVBDMV):
        def fit(self, X, y=None):
            fits.append(self.arc_weights)
            return super().fit(X, y)

    stage = Stage(Watched, {"max_iter": 2})
    dmv.learned(Model("", (stage, stage._replace(rules=RULES))), treebank, np.arange(20), 4, 2)
    assert fits[0] is None
    tags = ["D", "N", "P", "V"]
    found = arc_weights_from(fits[1], {tag: i for i, tag in enumerate(tags)}, 4)
    # Without tags for determiners and pronouns: verbs take nouns and verbs, nouns take nouns.
    arcs = [[1, 1, 1, 1], [1, 5, 5, 1], [1, 5, 5, 1], [1, 5, 5, 5]]
    assert found.tolist() == [row for row in arcs for _ in range(2)] + [[1, 1, 1, 5]]


@pytest.mark.parametrize("name", TREEBANKS)
def test_classes_of_words_are_tags_of_their_treebank(quick, name):
    """Each tag is in one class at most, and most tokens' tags are in one."""
    treebank = TREEBANKS[name][1](quick)
    vocabulary = {tag for tags in treebank.tags for tag in tags}
    known = [tag for tags in CLASSES[name].values() for tag in tags]
    assert len(known) == len(set(known))
    assert set(known) <= vocabulary
    assert {part for pair in RULES for part in pair} | set(LEAVES) >= set(CLASSES[name])
    tokens = [tag in known for tags in treebank.tags for tag in tags]
    assert np.mean(tokens) > 0.75
    # Of classes without tags nothing is said, and no tag is named as a class is.
    absent = {part for pair in RULES for part in pair} | set(LEAVES)
    absent -= {None, *CLASSES[name]}
    assert not absent & vocabulary


def test_what_is_known_of_english_is_the_preset():
    known = arc_weights(RULES, CLASSES["english"])
    tags = [*sorted({tag for tags in CLASSES["english"].values() for tag in tags}), "TO", "UH"]
    index = {tag: i for i, tag in enumerate(tags)}
    found, preset = (
        arc_weights_from(weights, index, len(tags))
        for weights in (known, ArcWeights(PRESETS["penn"]))
    )
    np.testing.assert_allclose(found, preset)


def test_steps_of_knowledge_are_parts_of_the_preset():
    whole = PRESETS["ud"]
    kinds = {kind: set(dmv_knowledge.known(kind)) for kind in dmv_knowledge.KINDS}
    assert sum(map(len, kinds.values())) == len(whole) == len(set().union(*kinds.values()))
    *_, last = dmv_knowledge.LADDER.values()
    assert last == whole
    steps = [set(known or ()) for known in dmv_knowledge.LADDER.values()]
    assert all(before < after for before, after in pairwise(steps))
    for kind in dmv_knowledge.KINDS:
        without = dmv_knowledge.ABLATION[f"without {kind}"]
        assert without.keys() == whole.keys() - kinds[kind]
    more = dmv_knowledge.ABLATION["rules: 100 instead of 5"]
    assert {key for key in whole if more[key] != whole[key]} == kinds["rules"]


def test_knowledge_of_a_language_finds_heads(results):
    found = results["swedish"]
    for steps in found["ladder"].values():
        nothing, leaves, rules, _, everything = steps.values()
        # Leaves alone may bring nothing on few sentences.
        assert max(nothing[0], leaves[0]) + 0.05 < rules[0]
        assert everything[0] > 0.68
    assert found["ablation"]["without rules"][0] < everything[0] - 0.03
    text = as_text(dmv_knowledge.tables_of(results))
    assert f"without roots,{100 * found['ablation']['without roots'][0]:.1f}," in text


def test_a_changed_setting_is_that_of_one_fit_and_the_form_that_of_both():
    first, second = CHANGES["none"].stages
    assert repr(CHANGES["none"].stages) == repr(MODELS["staged"].stages)
    for key, model in CHANGES.items():
        start, goal = (stage.settings for stage in model.stages)
        forms = [(of["valence"].extended, of["valence"].backoff) for of in (start, goal)]
        assert forms[0] == forms[1]
        changed = (repr(start) != repr(first.settings)) + (repr(goal) != repr(second.settings))
        assert changed == {"none": 0, "plain": 2, "valence": 2, "head": 2}.get(key, 1)


def test_gold_heads_are_learned_from_where_a_model_can_have_them(treebank):
    crossing = [3, 4, 0, 3]
    assert not dmv.is_learnable(tuple(crossing))
    assert not dmv.is_learnable((0, 0))
    assert all(dmv.is_learnable(tuple(heads)) for heads in HEADS)
    odd = treebank._replace(tags=[["D"] * 4, *TAGS], heads=[crossing, *HEADS])
    model = dmv.learned(MODELS["gold"], odd, np.arange(21), 9, 1)
    assert model.attachprob_.shape == (4, 2, 4)
    assert model.counts_.root.sum() == pytest.approx(20)
    assert model.predict(TAGS[:5])[2].tolist() == HEADS[2]


def test_no_sentence_is_parsed_by_what_it_taught(treebank):
    """Each fold's tags are only its own: a model of the others knows nothing of their arcs."""
    seen = []

    class Watched(EMDMV):
        def fit(self, X, y=None):
            seen.append([{tuple(tags) for tags in X}])
            return super().fit(X, y)

        def predict(self, X):
            seen[-1].append({tuple(tags) for tags in X})
            return super().predict(X)

    own = [[f"{tag}{i % 5}" for tag in tags] for i, tags in enumerate(TAGS)]
    dmv.by_folds(Model("", (Stage(Watched, {}),)), treebank._replace(tags=own), 9, 2)
    assert len(seen) == 5
    assert all(not learned & parsed for learned, parsed in seen)
    assert set().union(*(parsed for _, parsed in seen)) == {tuple(tags) for tags in own}


def test_scores_are_of_all_tokens_of_all_folds(treebank):
    found = [list(heads) for heads in HEADS]
    found[0] = [2, 0, 2]
    one = dmv.scores(treebank, found)
    n = sum(map(len, HEADS))
    assert pooled(one["directed"][2]) == pytest.approx((n - 2) / n)
    assert pooled(one["undirected"][2]) == pytest.approx((n - 1) / n)
    assert [total for _, total in one["directed"][0]] == [12, 8, 16, 8, 8]


@pytest.mark.parametrize("key", BASELINES)
def test_baselines_are_trees(key):
    for n in (1, 2, 5):
        heads = BASELINES[key][1](n)
        assert len(heads) == n
        assert dmv.is_learnable(tuple(heads))


@pytest.mark.parametrize("name", TREEBANKS)
def test_folds_are_a_fifth_each(quick, name):
    treebank = TREEBANKS[name][1](quick)
    shares = np.bincount(treebank.fold) / len(treebank.tags)
    assert shares.sum() == pytest.approx(1)
    assert np.abs(shares - 0.2).max() < 0.06
    assert [len(tags) for tags in treebank.tags] == [len(heads) for heads in treebank.heads]


def test_the_best_chain_of_each_fold_is_that_of_its_objective():
    found = {"chains": {"shares": [[0.5, 0.25], [0.75, 1.0]], "objectives": [[-1, -9], [-2, -3]]}}
    *_, mean, best = dmv.tables(found)["chains"].rows
    assert best == ["the best objective", "50.0", "100.0", "75.0"]
    assert mean[1:] == ["62.5", "62.5", "62.5"]


def test_chains_differ_by_their_seeds(results):
    found = results["chains"]
    assert np.shape(found["shares"]) == np.shape(found["objectives"]) == (2, 5)
    assert found["shares"][0] != found["shares"][1]


def test_tables_and_picture(results, tmp_path):
    tables = dmv.tables(results)
    assert len(tables) == 7
    text = as_text(tables)
    assert '\n"CVB, alpha .1",' in text
    assert "\nboth: no back-off," in text
    assert "\npreposition,``IN``\n" in text
    assert f",{share(results, 'next'):.1f}," in text
    dmv.draw(results, tmp_path)
    for name in ("dmv_accuracy.png", "dmv_knowledge.png"):
        assert (tmp_path / name).stat().st_size > 5000
