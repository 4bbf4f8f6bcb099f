"""Odd files of columns: both readers read the same words, or both say what is wrong."""

import re

import pytest

from sklearn_cvb.datasets import read_conllu, read_dependencies

ROWS = """\
1 Il il PRON P _ 2 nsubj _ _
2 va aller VERB V _ 0 root _ _
3-4 au _ _ _ _ _ _ _ _
3 à à ADP E _ 5 case _ _
4 le le DET D _ 5 det _ _
5 bar bar NOUN N _ 2 obl _ _
""".replace(" ", "\t")
WORDS, TAGS = ["Il", "va", "à", "le", "bar"], ["PRON", "VERB", "ADP", "DET", "NOUN"]
HEADS = [2, 0, 5, 5, 2]


def shortened(n):
    return "".join("\t".join(line.split("\t")[:n]) + "\n" for line in ROWS.splitlines())


def both(tmp_path, text):
    path = tmp_path / "text.conllu"
    path.write_bytes(text.encode())
    tagged, parsed = read_conllu(path), read_dependencies(path)
    assert (parsed.words, parsed.data) == (tagged.data, tagged.target)
    return parsed.words, parsed.data, parsed.target


@pytest.mark.parametrize(
    "text",
    [
        *(shortened(n) for n in (7, 8, 9)),
        ROWS.replace("\n", "\t_\t*\n"),
        ROWS.replace("\t", "   "),
        "# text = a\tb\tc\n" + ROWS,
        "#\n# text = # # #\r\n" + ROWS.replace("\n", "\r\n"),
        "\ufeff# sent_id = 1\n" + ROWS,
        ROWS.rstrip("\n"),
        "\n \n# newdoc\n\n" + ROWS + " \n\t\n",
        ROWS.replace("3-4\tau", "3-3\tau"),
        "0.1\tLui\t_\tPRON\t_\t_\t_\t_\t2:nsubj\t_\n"
        + ROWS
        + "5.1\tva\t_\tVERB\t_\t_\t_\t_\t_\t_\n",
        # What CoNLL-U Plus says of its columns.
        "# global.columns = ID FORM HEAD UPOS DEPREL XPOS\n"
        + re.sub(r"(?m)^(\S+\t\S+)\t\S+\t(\S+)\t(\S+)\t\S+\t(\S+).*$", r"\1\t\4\t\2\t_\t\3", ROWS),
    ],
)
def test_what_both_read(tmp_path, text):
    assert both(tmp_path, text) == ([WORDS], [TAGS], [HEADS])


def test_missing_cells_and_odd_words(tmp_path):
    rows = ROWS.replace("\tDET\t", "\t_\t").replace("\tADP\t", "\t\t")
    rows = (
        rows.replace("\tbar\tbar", "\t_\tbar")
        .replace("1\tIl", "1\t#")
        .replace("2\tva", "2\tva t  u")
    )
    rows = rows.replace("5\tdet", "_\tdet")
    assert both(tmp_path, rows) == (
        [["#", "va t  u", "à", "le", "_"]],
        [["PRON", "VERB", None, None, "NOUN"]],
        [[2, 0, 5, None, 2]],
    )


def test_heads_are_ids(tmp_path):
    assert both(tmp_path, ROWS.replace("3\tà\tà\tADP\tE\t_\t5\tcase\t_\t_\n", ""))[2] == [
        [2, 0, 4, 2]
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROWS + ROWS, "line 7: the id 1 comes after 5: ids go up within a sentence"),
        (ROWS.replace("\t", " "), "line 1: '1 Il il PRON P _ 2 nsubj _ _' is no row of CoNLL-U"),
        (ROWS.replace("2\tva", "two\tva"), r"line 2: 'two\\tva.*is no row of CoNLL-U"),
        (ROWS.replace("2\tva", "2\t"), "line 2: .* is no row of CoNLL-U"),
        (shortened(3), "sentence 0: no column 'upos'; line 1 has id, form, lemma"),
    ],
)
@pytest.mark.parametrize("reader", [read_conllu, read_dependencies])
def test_what_both_refuse(tmp_path, reader, text, message):
    path = tmp_path / "text.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        reader(path)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_rows_without_heads_are_tagged_text(tmp_path, n):
    path = tmp_path / "text.conllu"
    path.write_text(shortened(n).replace("il\t", "_\t", 1), encoding="utf-8")
    assert read_conllu(path).target == [TAGS]
    with pytest.raises(ValueError, match=r"no column 'head'; line 1 has id, form, lemma"):
        read_dependencies(path)


@pytest.mark.parametrize("head", ["6", "3.1", "-1", "x"])
def test_heads_that_are_no_token_are_named(tmp_path, head):
    path = tmp_path / "text.conllu"
    path.write_text(ROWS.replace("5\tdet", f"{head}\tdet"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"text\.conllu, line 5: .*head '?{re.escape(head)}"):
        read_dependencies(path)
