"""Tagged text that is written comes back as it was; word lists are read."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from sklearn_cvb import CVBDMV, CVBHMMTagger
from sklearn_cvb.datasets import (
    make_pocket_english,
    read_conllu,
    read_dependencies,
    read_dictionary,
    read_word_tag,
    write_conllu,
    write_word_tag,
)

# Words that look like something else, and letters of several scripts.
WORDS = [["#", "1", "1-2", "_", "a/b"], ["Łódź", "日本", "é", "//", "a\xa0b"], ['"', ","]]
TAGS = [["SYM", "NUM", "X", "PUNCT", "X|Y"], ["PROPN", "N+x", "X", "SYM", "-LRB-"], ["''", ","]]
HEADS = [[2, 0, 2, None, 1], [0, 1, 5, 5, 1], [0, 0]]
ENDINGS = ["", ".gz", ".bz2", ".xz"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_word_tag_there_and_back(tmp_path, ending):
    path = tmp_path / f"text.txt{ending}"
    write_word_tag(path, WORDS, TAGS)
    corpus = read_word_tag(path)
    assert (corpus.data, corpus.target) == (WORDS, TAGS)
    with pytest.raises(ValueError, match="sentence 0: 'a' needs a tag without '/'"):
        write_word_tag(path, [["a"]], [["X/Y"]])
    write_word_tag(path, [[("a", "X/Y")]], separator="_")
    assert read_word_tag(path, separator="_").target == [["X/Y"]]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("column", ["upos", "xpos", "lemma"])
def test_conllu_there_and_back(tmp_path, ending, column):
    path = tmp_path / f"text.conllu{ending}"
    tags = [[*TAGS[0][:-1], None], *TAGS[1:]]
    write_conllu(path, WORDS, tags, column=column, heads=HEADS)
    corpus = read_conllu(path, column=column)
    assert (corpus.data, corpus.target) == (WORDS, tags)
    trees = read_dependencies(path, column=column)
    assert (trees.words, trees.data, trees.target) == (WORDS, tags, HEADS)
    assert read_conllu(path, column="deprel").target[0] == ["dep", "root", "dep", None, "dep"]


def test_what_models_predict_is_written(tmp_path):
    X, y = (make_pocket_english(20, random_state=0)[name] for name in ("data", "target"))
    legal = {
        word: {tag}
        for words, tags in zip(X, y, strict=True)
        for word, tag in zip(words, tags, strict=True)
    }
    tags = CVBHMMTagger(legal, random_state=0).fit(X).labels_
    heads = CVBDMV(random_state=0).fit(tags).labels_
    path = tmp_path / "text.conllu"
    write_conllu(path, X, tags, heads=heads)
    trees = read_dependencies(path)
    assert trees.words == [list(words) for words in X]
    assert trees.data == [list(row) for row in tags]
    assert trees.target == [list(row) for row in heads]


@pytest.mark.parametrize(
    "word", ["", "a\tb", "a\nb", "a\r", " a", "a ", "a  b", None, np.nan, "\0"]
)
@pytest.mark.parametrize("write", [write_conllu, write_word_tag])
def test_what_cannot_be_written_is_named_and_nothing_is_lost(tmp_path, write, word):
    path = tmp_path / "text"
    path.write_text("kept")
    with pytest.raises(ValueError, match=r"sentence 1: .* cannot stand in such a file"):
        write(path, [["a"], ["b", word]], [["X"], ["X", "X"]])
    tag = word if isinstance(word, str) else ""
    with pytest.raises(ValueError, match=r"sentence 1: 'b' with the tag .* cannot stand"):
        write(path, [["a"], ["b"]], [["X"], [tag]])
    assert path.read_text() == "kept"


def test_mistakes(tmp_path):
    path = tmp_path / "text"
    for write in (write_conllu, write_word_tag):
        with pytest.raises(ValueError, match="sentence 1 is empty: leave empty sentences out"):
            write(path, [["a"], []], [["X"], []])
        with pytest.raises(ValueError, match="sentence 0 has 1 words but 2 tags"):
            write(path, [["a"]], [["X", "Y"]])
        with pytest.raises(ValueError, match="give `tags`, or pairs"):
            write(path, [["a"]])
    with pytest.raises(ValueError, match="sentence 0: the tag '_' of 'a' says that there is none"):
        write_conllu(path, [["a"]], [["_"]])
    with pytest.raises(ValueError, match=r"heads\[0\] has not one head for each of the 1 words"):
        write_conllu(path, [["a"]], [["X"]], heads=[[0, 1]])
    with pytest.raises(ValueError, match=r"heads\[0\] is \[2\]: heads are positions from 1 to 1"):
        write_conllu(path, [["a"]], [["X"]], heads=[[2]])
    with pytest.raises(ValueError, match="there are 1 sentences but 2 rows of heads"):
        write_conllu(path, [["a"]], [["X"]], heads=[[0], [0]])
    with pytest.raises(ValueError, match="column must be"):
        write_conllu(path, [["a"]], [["X"]], column="feats")
    with pytest.raises(ValueError, match="sentence 0: 'a' needs a tag"):
        write_word_tag(path, [["a"]], [[None]])
    assert not path.exists()


LIST = "the\tDET\n\nNew York\tPROPN\r\nduck\tVERB NOUN\nduck\tNOUN ADJ\nsaw\tVERB NOUN"


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_word_lists(tmp_path, ending, compress):
    path = tmp_path / f"words.tsv{ending}"
    path.write_bytes(compress(LIST.encode("utf-8-sig")))
    assert read_dictionary(path) == {
        "the": ("DET",),
        "New York": ("PROPN",),
        "duck": ("ADJ", "NOUN", "VERB"),
        "saw": ("NOUN", "VERB"),
    }


@pytest.mark.parametrize("line", ["duck NOUN", "duck\t", "\tNOUN", "duck\t "])
def test_lines_without_word_or_tag_are_named(tmp_path, line):
    path = tmp_path / "words.tsv"
    path.write_text(f"the\tDET\n{line}\n")
    with pytest.raises(ValueError, match=r"words\.tsv: 1 of 2 lines .*: line 2: "):
        read_dictionary(path)
