"""Dependency models: chains of fits, folds that have not seen what they are scored on, tables."""

import numpy as np
import pytest

from benchmarks.published import dmv
from benchmarks.published.dmv import BASELINES, MODELS, Model, Stage, Treebank, pooled
from sklearn_cvb import CVBDMV, EMDMV

TAGS = [["D", "N", "V"], ["N", "V"], ["P", "V", "D", "N"], ["P", "V"], ["V", "N"]] * 4
HEADS = [[2, 3, 0], [2, 0], [2, 0, 4, 2], [2, 0], [0, 1]] * 4


@pytest.fixture(scope="module")
def results(quick):
    return {name: dmv.PARTS[name](quick) | {"seconds": 1.0} for name in ("english", "chains")}


@pytest.fixture
def treebank():
    return Treebank(TAGS, HEADS, np.arange(20) % 5)


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


@pytest.mark.parametrize("name", dmv.TREEBANKS)
def test_folds_are_a_fifth_each(quick, name):
    treebank = dmv.TREEBANKS[name][1](quick)
    shares = np.bincount(treebank.fold) / len(treebank.tags)
    assert shares.sum() == pytest.approx(1)
    assert np.abs(shares - 0.2).max() < 0.06
    assert [len(tags) for tags in treebank.tags] == [len(heads) for heads in treebank.heads]


def test_the_best_chain_of_each_fold_is_that_of_its_objective():
    found = {"chains": {"shares": [[0.5, 0.25], [0.75, 1.0]], "objectives": [[-1, -9], [-2, -3]]}}
    lines = [line.strip(" *-") for line in dmv.tables(found).splitlines()]
    best = lines.index("the best objective")
    assert lines[best + 1 : best + 4] == ["50.0", "100.0", "75.0"]
    assert lines[best - 3 : best] == ["62.5", "62.5", "62.5"]


def test_chains_differ_by_their_seeds(results):
    found = results["chains"]
    assert np.shape(found["shares"]) == np.shape(found["objectives"]) == (2, 5)
    assert found["shares"][0] != found["shares"][1]


def test_tables_and_picture(results, tmp_path):
    text = dmv.tables(results)
    assert text.count("list-table") == 3
    assert "- CVB, alpha .1\n" in text
    assert f"- {share(results, 'next'):.1f}\n" in text
    dmv.draw(results, tmp_path)
    assert (tmp_path / "dmv_accuracy.png").stat().st_size > 5000
