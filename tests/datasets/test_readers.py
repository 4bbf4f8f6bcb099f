"""Readers of a user's own files."""

import sys

import pytest

from sklearn_cvb.datasets import read_conllu, read_word_tag

CONLLU = """\
# sent_id = 1
# text = Don't you?
1-2 Don't _ _ _ _ _ _ _ _
1 Do do AUX VBP _ 0 root _ _
2 n't not PART _ _ 1 advmod _ _
2.1 go go VERB VB _ _ _ _ _
3 you you _ PRP _ 1 nsubj _ _

1 Yes yes INTJ UH _ 0 root _ _

"""


@pytest.fixture
def conllu_file(tmp_path):
    path = tmp_path / "two.conllu"
    lines = [
        line if line.startswith("#") else line.replace(" ", "\t") for line in CONLLU.split("\n")
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_conllu_skips_ranges_and_empty_nodes(conllu_file):
    corpus = read_conllu(conllu_file)
    assert corpus.data == [["Do", "n't", "you"], ["Yes"]]
    assert corpus.target == [["AUX", "PART", None], ["INTJ"]]


def test_conllu_column(conllu_file):
    assert read_conllu(conllu_file, column="xpos").target == [["VBP", None, "PRP"], ["UH"]]


def test_conllu_unknown_column(conllu_file):
    with pytest.raises(ValueError, match=r"two\.conllu, sentence 0: no column 'pos'; .*upos, xpos"):
        read_conllu(conllu_file, column="pos")


def test_conllu_package_missing(conllu_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(ImportError, match=r'pip install "sklearn_cvb\[corpora\]"'):
        read_conllu(conllu_file)


def test_word_tag_splits_at_the_last_separator(tmp_path):
    path = tmp_path / "text.pos"
    path.write_text("\ufeffthe/DT 1/2/CD\n\n  dogs/NNS\t bark/VBP \n", encoding="utf-8")
    corpus = read_word_tag(path)
    assert corpus.data == [["the", "1/2"], ["dogs", "bark"]]
    assert corpus.target == [["DT", "CD"], ["NNS", "VBP"]]


def test_word_tag_keeps_no_break_spaces_in_words(tmp_path):
    path = tmp_path / "text.pos"
    path.write_text("10\u00a0000/NUM ans/NOUN\n", encoding="utf-8")
    assert read_word_tag(path).data == [["10\u00a0000", "ans"]]


def test_word_tag_separator(tmp_path):
    path = tmp_path / "text.pos"
    path.write_text("a_b_NN\n", encoding="utf-8")
    corpus = read_word_tag(path, separator="_")
    assert (corpus.data, corpus.target) == ([["a_b"]], [["NN"]])


@pytest.mark.parametrize("token", ["dog", "/NN", "dog/"])
def test_word_tag_bad_token_is_named(tmp_path, token):
    path = tmp_path / "text.pos"
    path.write_text(f"the/DT cat/NN\nthe/DT {token}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"text\.pos, line 2: token '{token}' is not of the form"):
        read_word_tag(path)
