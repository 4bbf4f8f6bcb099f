"""Readers of a user's own files."""

import bz2
import gzip
import lzma
import re

import pytest

from sklearn_cvb.datasets import read_conllu, read_segmented, read_word_tag

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
READERS = {
    read_conllu: "1\tan\t_\tDET\n2\tés\t_\tNOUN\n\n",
    read_word_tag: "an/DET és/NOUN\n",
    read_segmented: "word\tsegments\ttags\nanés\tan-és\tDET-NOUN\n",
}

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


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files(tmp_path, reader, ending):
    plain, packed = tmp_path / "text", tmp_path / f"text.txt{ending}"
    content = READERS[reader].encode()
    plain.write_bytes(content)
    packed.write_bytes(COMPRESS[ending](content))
    assert reader(packed) == reader(str(packed)) == reader(plain)
    assert "".join(reader(packed).data[0]) == "anés"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ending", COMPRESS)
def test_files_that_are_not_compressed_as_they_say(tmp_path, reader, ending):
    path = tmp_path / f"text{ending}"
    whole = COMPRESS[ending](READERS[reader].encode())
    for content in (READERS[reader].encode(), whole[:-12]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"text\{ending} is not compressed as its name says"):
            reader(path)
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / f"nothing{ending}")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wrong", [b"\x89PNG\r\n", "caf\xe9/N\n".encode("latin-1"), b"a\0b\n"])
def test_what_is_no_text_is_refused_with_its_line(tmp_path, reader, wrong):
    path = tmp_path / "text.dat"
    path.write_bytes(READERS[reader].encode() + wrong)
    line = READERS[reader].count("\n") + 1
    message = f"text.dat, line {line}: this is no text in UTF-8; the name of a compressed file must"
    with pytest.raises(ValueError, match=re.escape(message)):
        reader(path)
    path.write_bytes(gzip.compress(READERS[reader].encode()))
    with pytest.raises(ValueError, match=r"line 1: this is no text .* end in \.gz, \.bz2, \.xz"):
        reader(path)


def test_line_ends_of_all_systems(tmp_path):
    path = tmp_path / "text"
    for end in (b"\n", b"\r\n", b"\r"):
        path.write_bytes(b"a/X" + end + b"b/Y c/Z")
        assert read_word_tag(path).data == [["a"], ["b", "c"]]


@pytest.mark.parametrize("row", ["2 ran run VERB", "two\tran\trun\tVERB", "2"])
def test_conllu_bad_row_is_named(tmp_path, row):
    path = tmp_path / "text.conllu"
    path.write_text(f"# one\n1\twe\twe\tPRON\n\n# two\n1\twe\twe\tPRON\n{row}\n")
    message = f"text.conllu, line 6: {row!r} is no row of CoNLL-U"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_conllu(path)


def test_conllu_short_row_is_named(tmp_path):
    path = tmp_path / "text.conllu"
    path.write_text("1\twe\twe\tPRON\n\n# two\n1\twe\twe\tPRON\n2\tran\trun\n")
    message = "sentence 1: no column 'upos'; line 5 has id, form, lemma"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_conllu(path)
    assert read_conllu(path, column="lemma").target == [["we"], ["we", "run"]]


def test_conllu_blocks_without_words_are_skipped(tmp_path):
    path = tmp_path / "text.conllu"
    path.write_text("# a remark\n\n\n1\twe\twe\tPRON\n# last, with no empty line after it")
    assert read_conllu(path).data == [["we"]]
