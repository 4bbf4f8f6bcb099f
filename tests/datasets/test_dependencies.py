"""Readers of heads: CoNLL-U, CoNLL-X, NLTK's columns; English, Basque and Spanish treebanks."""

import bz2
import gzip
import lzma

import pytest

from sklearn_cvb.datasets import (
    fetch_conll2007,
    fetch_dependency_treebank,
    read_conllu,
    read_dependencies,
)
from sklearn_cvb.datasets.treebanks import PENN_PUNCTUATION

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
CONLLU = """\
# text: We'll go .
1-2 We'll _ _ _ _ _ _ _ _
1 We we PRON PRP _ 3 nsubj _ _
2 will will AUX MD _ 3 aux _ _
2.1 away away ADV RB _ _ _ _ _
3 go go VERB VB _ 0 root _ _
4 . . PUNCT . _ 3 punct _ _

1 Go go VERB VB _ 0 root _ _
2 , , PUNCT , _ 3 punct _ _
3 on on ADV RB _ _ _ _ _"""


def write(tmp_path, text):
    path = tmp_path / "text"
    path.write_text(text.replace(" ", "\t"), encoding="utf-8")
    return path


def test_conllu(tmp_path):
    corpus = read_dependencies(write(tmp_path, CONLLU))
    assert corpus.data == [["PRON", "AUX", "VERB", "PUNCT"], ["VERB", "PUNCT", "ADV"]]
    assert corpus.words == [["We", "will", "go", "."], ["Go", ",", "on"]]
    assert corpus.target == [[3, 3, 0, 3], [0, 3, None]]
    fine = read_dependencies(write(tmp_path, CONLLU), column="xpos", remove=[".", ","])
    assert fine.data == [["PRP", "MD", "VB"], ["VB", "RB"]]
    assert fine.target == [[3, 3, 0], [0, None]]


def test_a_missing_tag_is_what_read_conllu_says(tmp_path):
    path = write(tmp_path, CONLLU.replace("VERB VB", "_ VB").replace("Go go _", "_ go _"))
    corpus = read_dependencies(path)
    assert corpus.data == [["PRON", "AUX", None, "PUNCT"], [None, "PUNCT", "ADV"]]
    assert corpus.data == read_conllu(path).target
    # A word may be an underline.
    assert read_dependencies(path, column="form").data == corpus.words == read_conllu(path).data
    assert corpus.words[1][0] == "_"
    assert read_dependencies(path, remove=["_"]).words == [["We", "will", "."], [",", "on"]]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_compressed_files(tmp_path, ending):
    text = write(tmp_path, CONLLU)
    path = tmp_path / f"text.conllu{ending}"
    path.write_bytes(COMPRESS[ending](text.read_bytes()))
    assert read_dependencies(path) == read_dependencies(text)
    path.write_bytes(b"1\tGo\tgo")
    with pytest.raises(ValueError, match=f"text.conllu{ending} is not compressed as its name says"):
        read_dependencies(path)


def test_what_depends_on_a_removed_token_depends_on_its_head(tmp_path):
    rows = "a A 2\n, , 4\nb B 2\nc C 0\n\n. . 0"
    corpus = read_dependencies(write(tmp_path, rows), remove=[",", "."])
    assert (corpus.data, corpus.target) == ([["A", "B", "C"]], [[3, 3, 0]])
    # Its head was the root.
    corpus = read_dependencies(write(tmp_path, "a A 2 x\n. . 0 x"), remove=["."])
    assert corpus.target == [[0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a A 2\nb B", r"text, line 2: 'b\\tB' is no row of CoNLL-U.*has 2 columns"),
        ("a A x", r"text, line 1: the head 'x' is no number"),
        ("a A 2\n", r"text, line 1: 'a' has the head 2, but there are 1"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_dependencies(write(tmp_path, text))


def test_an_unknown_column_is_named(tmp_path):
    with pytest.raises(ValueError, match="column must be"):
        read_dependencies(write(tmp_path, CONLLU), column="deprel")
    with pytest.raises(ValueError, match="'lemma'"):
        read_dependencies(write(tmp_path, "a A 0"), column="lemma")


def test_other_encodings(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("a\xf1o\tN\t0\n".encode("latin-1"))
    assert read_dependencies(path, encoding="latin-1").words == [["a\xf1o"]]
    with pytest.raises(ValueError, match=r"text is not in utf-8: give its encoding"):
        read_dependencies(path)
    path.write_bytes("\ufeffa\xf1o\tN\t0\n".encode())
    assert read_dependencies(path).words == [["a\xf1o"]]


@pytest.mark.long
def test_treebank_sample(data_folder):
    corpus = fetch_dependency_treebank(data_home=data_folder)
    assert (len(corpus.data), len(set(corpus.files))) == (3914, 199)
    assert corpus.words[1][:3] == ["Mr.", "Vinken", "is"]
    X, y = fetch_dependency_treebank(
        remove_punctuation=True, data_home=data_folder, return_X_y=True
    )
    assert len(X) == 3914
    short = [heads for heads in y if len(heads) <= 10]
    assert (len(short), sum(map(len, short))) == (555, 3851)
    assert not PENN_PUNCTUATION & {tag for tags in X for tag in tags}


def n_roots(target):
    return [heads.count(0) for heads in target]


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "sizes", "n_tokens", "n_types", "one_root"),
    [
        ("basque", (3175, 2595, 580), 50128, (24, 62), 1968),
        ("spanish", (3512, 2949, 563), 95028, (15, 47), 3512),
    ],
)
def test_basque_and_spanish(data_folder, language, sizes, n_tokens, n_types, one_root):
    corpus = fetch_conll2007(language=language, data_home=data_folder)
    assert len(corpus.data) == len(corpus.target) == len(corpus.files) == sizes[0]
    parts = [
        fetch_conll2007(language=language, subset=part, data_home=data_folder)
        for part in ("train", "test")
    ]
    assert tuple(len(part.data) for part in parts) == sizes[1:]
    assert parts[0].target + parts[1].target == corpus.target
    assert [len(set(part.files)) for part in parts] == [1, 1]
    assert sum(map(len, corpus.data)) == sum(map(len, corpus.target)) == n_tokens
    fine = fetch_conll2007(language=language, column="xpos", data_home=data_folder)
    assert tuple(len({t for s in c.data for t in s}) for c in (corpus, fine)) == n_types
    assert (fine.target, fine.words) == (corpus.target, corpus.words)
    assert n_roots(corpus.target).count(1) == one_root


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "coarse", "first", "n_sentences", "n_tokens"),
    [
        ("basque", "PUNT", "PUNT", 3173, 40683),
        ("spanish", "F", "F", 3512, 83059),
    ],
)
def test_punctuation_goes_by_its_coarse_tag(
    data_folder, language, coarse, first, n_sentences, n_tokens
):
    found = [
        fetch_conll2007(
            language=language, column=column, remove_punctuation=True, data_home=data_folder
        )
        for column in ("upos", "xpos", "form", "lemma")
    ]
    assert all(corpus.target == found[0].target for corpus in found)
    assert (len(found[0].data), sum(map(len, found[0].data))) == (n_sentences, n_tokens)
    assert coarse not in {tag for tags in found[0].data for tag in tags}
    assert not any(tag.startswith(first) for tags in found[1].data for tag in tags)
    assert found[2].data == found[2].words == found[0].words
    signs = {word for words in found[2].data for word in words if not any(map(str.isalnum, word))}
    assert not signs
    for heads in found[0].target:
        assert all(0 <= head <= len(heads) and head != t for t, head in enumerate(heads, 1))


@pytest.mark.long
def test_letters_of_both_languages(data_folder):
    basque = fetch_conll2007(language="basque", data_home=data_folder)
    letters = {letter for words in basque.words for word in words for letter in word}
    # Both encodings of the file: the first in UTF-8, the second in cp1252.
    assert {"ibañez", "iñigo", "\u2019"} <= {word for words in basque.words for word in words}
    assert not {"\u00c3", "\u00b1", "\x92"} & letters
    spanish, _ = fetch_conll2007(
        language="spanish", column="form", data_home=data_folder, return_X_y=True
    )
    assert spanish[0][:4] == ["El", "aumento", "del", "índice"]


def test_other_languages_and_parts_are_named(data_folder):
    with pytest.raises(ValueError, match="language must be one of 'basque', 'spanish', got 'fr'"):
        fetch_conll2007(language="fr")
    with pytest.raises(ValueError, match="subset must be one of 'all', 'train', 'test', got 'dev'"):
        fetch_conll2007(language="basque", subset="dev")
    with pytest.raises(ValueError, match="column must be"):
        fetch_conll2007(language="basque", column="deprel", data_home=data_folder)
