"""Gold trees, sampled corpora and segmented verbs."""

from collections import Counter

import numpy as np
import pytest
from nltk import Tree

from sklearn_cvb.datasets import (
    fetch_treebank_tagged,
    fetch_treebank_trees,
    fetch_zulu_verbs,
    make_pcfg_corpus,
    read_segmented,
)
from sklearn_cvb.treebank.reading import clean_tree

TEXT = "S -> A S [0.3] | A [0.5] | 'c' 'c' A [0.2]\nA -> 'a' [0.75] | 'b' [0.25]"


def test_sampled_rules_have_their_probabilities():
    X, trees = make_pcfg_corpus(TEXT, 5000, random_state=0)
    assert [tree.leaves() for tree in trees] == X
    used = Counter(production for tree in trees for production in tree.productions())
    by_left = Counter()
    for production, times in used.items():
        by_left[str(production.lhs())] += times
    shares = {str(rule): times / by_left[str(rule.lhs())] for rule, times in used.items()}
    expected = {
        "S -> A S": 0.3,
        "S -> A": 0.5,
        "S -> 'c' 'c' A": 0.2,
        "A -> 'a'": 0.75,
        "A -> 'b'": 0.25,
    }
    assert shares == pytest.approx(expected, abs=0.02)


def test_sampling_is_repeatable_and_bounded():
    one, _ = make_pcfg_corpus(TEXT, 50, random_state=1)
    assert one == make_pcfg_corpus(TEXT, 50, random_state=1)[0]
    assert one != make_pcfg_corpus(TEXT, 50, random_state=2)[0]
    short, _ = make_pcfg_corpus(TEXT, 200, longest=2, random_state=0)
    assert max(map(len, short)) == 2
    with pytest.raises(ValueError, match="1000 derivations in a row are longer than 2 words"):
        make_pcfg_corpus("S -> 'a' 'a' 'a'", 1, longest=2)
    with pytest.raises(ValueError, match="n_samples and longest must be at least 1"):
        make_pcfg_corpus(TEXT, 0)
    # Without probabilities all rules are equally likely; endless chains are drawn again.
    flat, trees = make_pcfg_corpus("S -> S | 'a' | 'b'", 300, random_state=0)
    assert abs(np.mean([words == ["a"] for words in flat]) - 0.5) < 0.1
    assert max(tree.height() for tree in trees) > 4


def test_traces_and_functions_are_removed():
    tree = Tree.fromstring(
        "(S (NP-SBJ=2 (-NONE- *)) (VP (VB go) (NP-1 (NP (-NONE- *T*-1)) (PRT|ADVP (RB up)))) "
        "(-LRB- -LRB-))"
    )
    assert " ".join(str(clean_tree(tree, "y[0]")).split()) == (
        "(S (VP (VB go) (NP (PRT (RB up)))) (-LRB- -LRB-))"
    )


@pytest.mark.long
def test_treebank_trees(data_folder):
    bunch = fetch_treebank_trees(data_home=data_folder, download_if_missing=False)
    tagged = fetch_treebank_tagged(data_home=data_folder, download_if_missing=False)
    assert len(bunch.target) == 3914
    assert bunch.data == tagged.data
    assert [tag for _, tag in bunch.target[1].pos()] == tagged.target[1]
    labels = {node.label() for tree in bunch.target[:200] for node in tree.subtrees()}
    assert "NP" in labels
    assert not any("-" in label[1:-1] for label in labels)
    raw = fetch_treebank_trees(data_home=data_folder, download_if_missing=False, clean=False)
    assert any("-NONE-" in str(tree) for tree in raw.target[:10])


def test_zulu_verbs(data_folder, tmp_path):
    verbs = fetch_zulu_verbs(data_home=data_folder)
    assert len(verbs.data) == len(verbs.target) == len(verbs.tags) == 5373
    assert all(
        "".join(word) == "".join(pieces) and len(pieces) == len(tags)
        for word, pieces, tags in zip(verbs.data, verbs.target, verbs.tags, strict=True)
    )
    with pytest.raises(OSError, match=r"zulu_verbs\.tsv not found in .*SKLEARN_CVB_DATA, or"):
        fetch_zulu_verbs(data_home=tmp_path)
    (tmp_path / "zulu_verbs.tsv").write_text("word\tsegmentation\ttags\n")
    with pytest.raises(OSError, match="is not the published file"):
        fetch_zulu_verbs(data_home=tmp_path)


def test_segmented_words_must_fit(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("word\tsegmentation\ttags\nab\ta-b\tX-Y\nabc\ta-b\tX-Y\n")
    with pytest.raises(ValueError, match="line 3: 'a-b' does not make up 'abc'"):
        read_segmented(path)
    path.write_text("word\tsegmentation\ttags\nab\ta-b\n")
    with pytest.raises(ValueError, match="line 2: 2 columns instead of 3"):
        read_segmented(path)
