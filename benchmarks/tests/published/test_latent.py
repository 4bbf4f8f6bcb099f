"""Treebank grammars by number of subtypes: what is parsed, what is chosen, tables and picture."""

from types import SimpleNamespace

import pytest
from nltk import Tree

from benchmarks.published import latent
from benchmarks.published.tables import as_text
from sklearn_cvb.metrics import bracket_scores

NAMES = ("1", "2", "split-merge-cvb")


@pytest.fixture(scope="module")
def results(quick):
    return {name: latent.PARTS[name](quick) for name in NAMES}


def test_no_tree_is_learned_from_and_parsed(quick):
    full = quick._replace(quick=False)
    test, development = latent.divided(full), latent.divided(full, development=True)
    assert (len(test.training), len(test.test)) == (3523, 375)
    assert (len(development.training), len(development.test)) == (3326, 180)
    # The development sentences come after what is learned from there, and before the test's.
    assert development.training == test.training[:3326]
    assert [t for t in test.training[3326:] if len(t.leaves()) <= 40] == development.test


def test_joined_chains_part_again():
    tree = Tree.fromstring("(S (VP (VB go) (NP (NP (PRP it)) (PP (IN of) (NP (NN it))))))")
    joined = latent.joined(tree)
    assert str(joined) == "(S+VP (VB go) (NP (NP+PRP it) (PP (IN of) (NP+NN it))))"
    assert latent.parted(joined) == tree
    assert tree.label() == "S"


def test_scores_are_those_of_the_parses():
    gold = [Tree.fromstring("(S (NP (D a) (N b)) (V c))"), Tree.fromstring("(S (N d) (V e))")]
    flat = [Tree("S", tree.pos()) for tree in gold]
    flat = [Tree("S", [Tree(tag, [word]) for word, tag in tree]) for tree in flat]
    model = SimpleNamespace(predict=lambda X: flat)
    found = latent.scored(model, latent.Divided([], gold))
    assert (found["precision"], found["recall"]) == (1.0, 2 / 3)
    assert found["f1"] == pytest.approx(bracket_scores(gold, flat).f1)
    assert found["exact"] == 0.5
    # What is undone before the trees are compared.
    right = dict(zip(map(str, flat), gold, strict=True))
    undo = latent.scored(model, latent.Divided([], gold), lambda tree: right[str(tree)])
    assert undo["f1"] == 1.0


def test_smoothing_is_of_the_same_fits(monkeypatch, quick):
    parsed, scored = [], latent.scored

    def watched(model, data):
        parsed.append((model, getattr(model, "smoothing", None)))
        return scored(model, data)

    monkeypatch.setattr(latent, "scored", watched)
    latent.by_subtypes(2, quick)
    n_models = len(latent.SIZES[2].models)
    for first in range(0, len(parsed), n_models):
        (plain, without), (smooth, some) = parsed[first : first + 2]
        assert plain is smooth
        assert (without, some) == (0.0, 0.1)
        # The others are fits of their own.
        assert len({id(model) for model, _ in parsed[first : first + n_models]}) == n_models - 1
    assert len(parsed) == latent.QUICK_STARTS * n_models


def test_starts_differ(results):
    for name, runs in results["2"]["models"].items():
        assert len({run["objective"] for run in runs}) == latent.QUICK_STARTS, name


def test_every_model_parses(results):
    for name in ("1", "2"):
        found = results[name]
        assert set(found["models"]) == set(latent.SIZES[int(name)].models)
        assert found["n_test"] == 12
        for runs in found["models"].values():
            assert all(0.8 < run["f1"] < 0.97 for run in runs)
            assert all(run["sentences_a_second"] > 0 <= run["sweep_seconds"] for run in runs)


def test_split_merge_takes_what_is_best_on_the_development_sentences(results):
    found = results["split-merge-cvb"]
    scores = {value: of["f1"] for value, of in found["development"].items()}
    assert set(scores) == {"0.1", "0.03", "0.01"}
    assert scores[found["chosen"]] == max(scores.values()) > min(scores.values())
    assert max(found["test"]["n_subtypes"].values()) <= latent.QUICK_FIXED["n_subtypes"]
    assert found["test"]["objective"] != found["development"][found["chosen"]]["objective"]


def test_conventions_change_one_thing_at_a_time(monkeypatch, quick):
    asked = []

    class Watched(latent.CVBLatentPCFG):
        def fit(self, X, y=None):
            asked.append((self.horizontal_markovisation, self.rare_threshold, self.decoding))
            return super().fit(X, y)

    monkeypatch.setattr(latent, "CVBLatentPCFG", Watched)
    monkeypatch.setattr(latent, "VARIANTS", {n: latent.VARIANTS[n] for n in ("usual", "one")})
    found = latent.conventions(quick)["variants"]
    assert asked == [(0, 1, "max-rule")] * 4 + [(1, 1, "max-rule")] * 4
    assert found["usual"]["1"] != found["one"]["1"]
    rows = latent.tables({"conventions": {"variants": found}})["conventions"].rows
    assert rows[1][-1] == f"{100 * found['one']['2'][1]:.1f}"


def test_tables_and_picture(results, tmp_path):
    tables = latent.tables(results)
    text = as_text(tables)
    assert len(tables) == 4
    assert "with 2 subtypes 2 (mean, standard deviation)" in text
    assert "\n,paper,78.85,76.98,77.9,12.56\n" in text
    assert f",alpha {results['split-merge-cvb']['chosen']}," in text
    latent.draw(results, tmp_path)
    assert (tmp_path / "latent_f1.png").stat().st_size > 5000
