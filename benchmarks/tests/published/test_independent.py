"""Independent children on the treebank sample: gold trees, baselines and tables."""

import pytest
from nltk import Tree

from benchmarks.published import independent
from benchmarks.published.settings import run_parts
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(independent.PARTS, quick)


def test_gold_trees_are_over_tags_without_punctuation_and_traces():
    text = "(S (NP-SBJ (-NONE- *)) (VP (VB go) (NP ($ $) (CD 5))) (. .))"
    tree = independent.over_tags(Tree.fromstring(text))
    assert str(tree) == "(S (VP (VB VB) (NP (CD CD))))"


def test_branching_trees_by_hand():
    words = ["a", "b", "c"]
    assert str(independent.branching(words, True)) == "(X (W a) (X (W b) (W c)))"
    assert str(independent.branching(words, False)) == "(X (X (W a) (W b)) (W c))"
    gold = [Tree.fromstring("(S (N a) (V (V b) (N c)))")]
    assert independent.score(gold, [independent.branching(words, True)]) == 1
    assert independent.score(gold, [independent.branching(words, False)]) == 0


def test_right_branching_beats_left_branching(results):
    for found in results.values():
        assert found["left"] < 0.2 < 0.4 < found["right"]


def test_every_model_is_scored(results):
    found = results["10"]["models"]
    assert {rules: sorted(of["em"]) for rules, of in found.items()} == {
        "independent": ["2", "9"],
        "full": ["2"],
    }
    for of in found.values():
        for by_symbols in of.values():
            for runs in by_symbols.values():
                assert all(0 < f1 < 0.8 for f1 in runs["f1"])
                assert len(runs["f1"]) == len(runs["objective"]) == 2


def test_tables_and_picture(results, tmp_path):
    text = as_text(independent.tables(results))
    assert "217 sentences of up to 6 words" in text
    assert ",9 independent," in text
    independent.draw(results, tmp_path)
    assert (tmp_path / "independent_f1.png").stat().st_size > 5000
