"""Word lists of the forms that linguists have: read right, or refused with the cure."""

import unicodedata
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import CVBHMMTagger, TagDictionary
from sklearn_cvb.datasets import read_dictionary

SMALL = {"the": ("DET",), "duck": ("NOUN", "VERB"), "run": ("VERB",), "dog": ("NOUN",)}


def file_of(tmp_path, text, name="words.tsv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


READ = {
    "tabs": ("the\tDET\nduck\tNOUN VERB\nrun\tVERB\ndog\tNOUN\n", {}, SMALL),
    "a line a tag": ("the\tDET\nduck\tNOUN\nduck\tVERB\nrun\tVERB\ndog\tNOUN\n", {}, SMALL),
    "header, commas": ("Word,Tag\nthe,DET\nduck,NOUN|VERB\nrun,VERB\ndog,NOUN\n", {}, SMALL),
    "quotes": ('word,pos\nthe,DET\nduck,"NOUN, VERB"\nrun,VERB\ndog,NOUN\n', {}, SMALL),
    "spreadsheet": (
        "\ufeffword;tag;gloss\r\nthe;DET;\r\nduck;NOUN/VERB;bird, or dive\r\n"
        "run;VERB;\r\ndog;NOUN;\r\n",
        {},
        SMALL,
    ),
    "no header, commas": ("the,DET\nduck,NOUN VERB\nrun,VERB\ndog,NOUN\n", {}, SMALL),
    "gloss": (
        "the\tDET\tarticle\nduck\tNOUN VERB\tbird\nrun\tVERB\tgo fast\ndog\tNOUN\tpet\n",
        {"columns": (0, 1)},
        SMALL,
    ),
    "further columns": (
        "id,form,lemma,upos\n1,the,the,DET\n2,duck,duck,NOUN; VERB\n"
        "3,run,run,VERB\n4,dog,dog,NOUN\n",
        {"columns": ("form", "upos")},
        SMALL,
    ),
    "UniMorph": (
        "amar\tamo\tV;IND;PRS;1;SG\namar\tama\tV;IND;PRS;3;SG\namar\tama\tV;IMP;2;SG\n",
        {"columns": ("form", "features")},
        {"amo": ("V;IND;PRS;1;SG",), "ama": ("V;IMP;2;SG", "V;IND;PRS;3;SG")},
    ),
    "UniMorph, lemmas": (
        "amar\tamo\tV;IND;PRS;1;SG\nir\tvoy\tV;IND\n",
        {"columns": ("lemma", "features")},
        {"amar": ("V;IND;PRS;1;SG",), "ir": ("V;IND",)},
    ),
    "Wiktionary": (
        "Rome\tproper noun\nOslo\tproper noun\nBonn\tproper noun, noun\nrun\tverb\nrun\tnoun\n"
        "hot\tadjective / noun\nNew York\tproper noun\n",
        {},
        {
            "Rome": ("proper noun",),
            "Oslo": ("proper noun",),
            "Bonn": ("noun", "proper noun"),
            "run": ("noun", "verb"),
            "hot": ("adjective", "noun"),
            "New York": ("proper noun",),
        },
    ),
    "features with bars": (
        "hus\tCase=Nom|Number=Sing\nmus\tCase=Acc|Number=Sing\n",
        {},
        {"hus": ("Case=Nom|Number=Sing",), "mus": ("Case=Acc|Number=Sing",)},
    ),
    "quotes are words": (
        '"\tPUNCT\n,\tPUNCT\nthe\tDET\n',
        {},
        {'"': ("PUNCT",), ",": ("PUNCT",), "the": ("DET",)},
    ),
    "tags that are marks": (
        ",\t,\n;\t:\n/\t/\nthe\tDT\n",
        {},
        {",": (",",), ";": (":",), "/": ("/",), "the": ("DT",)},
    ),
    "names of a script without capitals": (
        "a\tשם עצם\nb\tשם עצם\nc\tשם עצם\nd\tפועל\n",
        {},
        {"a": ("שם עצם",), "b": ("שם עצם",), "c": ("שם עצם",), "d": ("פועל",)},
    ),
    "slashes in codes": (
        "a\tN/A\nb\tN/A\nc\tNP/N\n",
        {},
        {"a": ("N/A",), "b": ("N/A",), "c": ("NP/N",)},
    ),
    "commas before semicolons": (
        "vino,N;SG\nvini,N;PL\nva,V;IND\n",
        {},
        {"vino": ("N;SG",), "vini": ("N;PL",), "va": ("V;IND",)},
    ),
    "quoted cells, tabs": (
        'the\tDET\nduck\t"NOUN, VERB"\nrun\tVERB\ndog\tNOUN\n',
        {},
        SMALL,
    ),
    "blanks about what separates": (
        "the\tDET \nduck\tNOUN ,VERB,\nrun\tVERB\ndog\tNOUN\n",
        {"separator": ","},
        SMALL,
    ),
    "each entry is one tag": (
        "go\tNP/N\nto\tN\nin\tNP\n",
        {"separator": ""},
        {"go": ("NP/N",), "to": ("N",), "in": ("NP",)},
    ),
    "another usual header": (
        "Wort;Wortart\nder;DET\nEnte;NOUN\n",
        {},
        {"der": ("DET",), "Ente": ("NOUN",)},
    ),
    "UniMorph of four columns": (
        "amar\tamo\tV;IND\tam|o\namar\tamas\tV;IND\tam|as\n",
        {"columns": ("form", "features")},
        {"amo": ("V;IND",), "amas": ("V;IND",)},
    ),
    "empty columns at the end": (
        "the\tDET\t\nduck\tNOUN VERB\t\nrun\tVERB\t\ndog\tNOUN\t\n",
        {},
        SMALL,
    ),
    "headings again, in joined files": (
        "Word,Tag\nthe,DET\nword,tag\nduck,NOUN|VERB\nrun,VERB\nWORD,TAG\ndog,NOUN\n",
        {},
        SMALL,
    ),
    "pluses, said": (
        "the\tDET\nduck\tNOUN+VERB\nrun\tVERB\ndog\tNOUN\n",
        {"separator": "+"},
        SMALL,
    ),
    "classes that are numbers": (
        "umuntu\t1\nabantu\t2\n",
        {"columns": (0, 1)},
        {"umuntu": ("1",), "abantu": ("2",)},
    ),
    "said": ("to go\tverb phrase\n", {"separator": " "}, {"to go": ("phrase", "verb")}),
    "said, a comma": ("to go\tverb phrase\n", {"separator": ","}, {"to go": ("verb phrase",)}),
}


@pytest.mark.parametrize("form", READ)
def test_read(tmp_path, form):
    text, settings, expected = READ[form]
    assert read_dictionary(file_of(tmp_path, text), **settings) == expected


REFUSED = {
    "UniMorph": ("gallout\tgall\tV;IMP;2;SG\n", {}, r'3 fields a line.*columns=\("form"'),
    "word, lemma, tag": ("ducks\tduck\tNOUN\n", {}, "say which are the words"),
    "a definition": ("run\tverb\tto move fast on foot\n", {}, "3 fields a line"),
    "one longer line": (
        "the\tDET\nrun\tVERB\nsaw\tVERB\tNOUN\n",
        {},
        r"1 of 3 lines have more than 2 fields: line 3: \['saw', 'VERB', 'NOUN'\]",
    ),
    "hunspell": (
        "3\nhello/AB\nworld/SM\n",
        {},
        "words.tsv looks like a dictionary of hunspell, .*unmunch",
    ),
    "Apertium": (
        "house:house<n><sg>\nhouses:house<n><pl>\n",
        {},
        "looks like .*lt-expand writes of Apertium.* sed -E",
    ),
    "Apertium, XML": ('<?xml version="1.0"?>\n<dictionary>\n', {}, "looks like XML.*lt-expand"),
    "CoNLL-U": (
        "# text = we ran\n1\twe\twe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n",
        {},
        "looks like CoNLL-U: corpus = read_conllu.'.*words.tsv'.*tag_dictionary_from",
    ),
    "CoNLL-U without comments": (
        "1\twe\twe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n",
        {},
        "looks like CoNLL-U: corpus = read_conllu",
    ),
    "Wiktextract": (
        '{"word": "duck", "pos": "noun"}\n{"word": "run", "pos": "verb"}\n',
        {},
        "looks like JSON: pass pandas.read_json",
    ),
    "tagged text": ("the/DET duck/NOUN runs/VERB\n", {}, "tagged text: corpus = read_word_tag"),
    "a frequency list": (
        "the\t22038615\nof\t12,545,825\nand 1\t10741073\n",
        {},
        r"3 of 3 lines have a number and no tag, .*columns=\(0, 1\).*line 1: \('the', '22038615'\)",
    ),
    "counts behind tags": (
        "duck\tNOUN:3 VERB:1\nrun\tVERB:2\n",
        {},
        r"':' may be between tags .*'VERB:2'.*: say how often .* in a dict.*separator=''",
    ),
    "pluses": ("duck\tNOUN+VERB\n", {}, r"'\+' may be between tags .*: say separator='\+', or"),
    "blanks": ("the DET\nduck NOUN\n", {}, "line 1: 'the DET', 2: 'duck NOUN'"),
    "empty tags": (
        "the\tDET\n" + "dog\t\n" * 7 + "\tNOUN\n",
        {},
        r"8 of 9 lines have no word, or no tag: line 2: \('dog', ''\), 3:",
    ),
    "one name with blanks": (
        "run\tphrasal verb\nthe\tarticle\n",
        {},
        "blanks may be between.*separator",
    ),
    "MULTEXT-East": (
        "boka\tbok\tNcfs\nboken\tbok\tNcfp\n",
        {"columns": ("form", "features")},
        "say which are the words",
    ),
    "names in capitals": (
        "a\tPROPER NOUN\nb\tPROPER NOUN\nc\tPROPER NOUN\n",
        {},
        "separator='' where each",
    ),
    "one column twice": ("the\tDET\n", {"columns": (1, 1)}, "columns are two"),
    "no such column": ("a,b\nthe,DET\n", {"columns": ("word", "tag")}, "say which are the words"),
    "one column": ("the,DET\n", {"columns": "word"}, "columns are two"),
}


@pytest.mark.parametrize("form", REFUSED)
def test_refused_with_the_cure(tmp_path, form):
    text, settings, message = REFUSED[form]
    with pytest.raises(ValueError, match=message):
        read_dictionary(file_of(tmp_path, text), **settings)


def test_another_encoding_is_refused_by_file_and_line(tmp_path):
    path = file_of(tmp_path, "the\tDET\nété\tNOUN\n", encoding="latin-1")
    with pytest.raises(ValueError, match=r"words\.tsv, line 2: this is no text in UTF-8"):
        read_dictionary(path)


def test_half_a_usual_header_is_asked_about(tmp_path):
    path = file_of(tmp_path, "word\tklass\nthe\tDET\n")
    with pytest.warns(UserWarning, match=r"columns=\('word', 'klass'\)"):
        read_dictionary(path)
    with pytest.raises(ValueError, match="say which are the words"):
        read_dictionary(file_of(tmp_path, "pos\trotulo\nDET\tthe\n"))


def test_a_header_in_another_language_is_asked_about(tmp_path):
    path = file_of(
        tmp_path,
        "palabra,clase\n" + "la,DET\nel,DET\nir,V\nver,V\nmar,N\nsol,N\n" * 2 + "",
        "lista.csv",
    )
    with pytest.warns(UserWarning, match=r"columns=\('palabra', 'clase'\)"):
        read_dictionary(path)
    read = read_dictionary(path, columns=("palabra", "clase"))
    assert read == {
        "la": ("DET",),
        "el": ("DET",),
        "ir": ("V",),
        "ver": ("V",),
        "mar": ("N",),
        "sol": ("N",),
    }


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables(frame_of):
    columns = {"id": [1, 2, 3, 4], "form": [*SMALL], "upos": ["DET", "NOUN VERB", "VERB", "NOUN"]}
    assert read_dictionary(frame_of(columns), columns=("form", "upos")) == SMALL
    assert read_dictionary(frame_of(columns)) == SMALL
    with pytest.raises(ValueError, match="the table has the columns"):
        read_dictionary(frame_of({"a": ["x"], "b": ["X"], "c": ["Y"]}))
    with pytest.raises(ValueError, match="say which are the words"):
        read_dictionary(frame_of({"tag": ["N", "V"], "n": [3, 4]}))
    columns["upos"][2] = None
    with pytest.raises(ValueError, match=r"1 of 4 lines have no word, or no tag: line 3: \('run'"):
        read_dictionary(frame_of(columns))


def test_lazy_tables_and_series_of_counts():
    lazy = pl.DataFrame({"word": ["the"], "tag": ["DET"]}).lazy()
    for read in (read_dictionary, lambda table: CVBHMMTagger(table).fit(SENTENCES)):
        with pytest.raises(TypeError, match=r"source is a LazyFrame: pass source.collect\(\)"):
            read(lazy)
    counts = pd.Series(["the", "dog", "the"]).value_counts()
    with pytest.raises(ValueError, match=r"2 of 2 lines have a number and no tag, .*\('the', 2\)"):
        CVBHMMTagger(counts).fit(SENTENCES)
    assert read_dictionary(counts, columns=(0, 1)) == {"the": (2,), "dog": (1,)}
    again = pd.DataFrame({"word": ["the", "word", "dog"], "tag": ["DET", "tag", "NOUN"]})
    assert read_dictionary(again) == {"the": ("DET",), "dog": ("NOUN",)}


@pytest.mark.parametrize(
    "text", ["NOUN,VERB", "NOUN/VERB", "NOUN+VERB", "NOUN VERB", "VERB | NOUN"]
)
def test_texts_that_look_like_several_tags_are_warned_of(text):
    entries = {"the": "DET", "dog": "NOUN", "run": "VERB", "duck": text}
    with pytest.warns(UserWarning, match=r"'duck' has .*for several tags write \['[NV]"):
        CVBHMMTagger(entries, max_iter=2, tol=0, random_state=0).fit(SENTENCES)


def test_marks_within_a_tag_are_no_separators():
    entries = {"the": "NP/N", "duck": "N+Sg", "dog": ["N", "N+Sg"], "run": "V;IND", ",": ","}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        CVBHMMTagger(entries, max_iter=2, tol=0, random_state=0).fit(SENTENCES)


SENTENCES = [["the", "duck", "run"], ["the", "dog", "duck"]] * 3


def test_taggers_take_what_is_read(tmp_path):
    expected = CVBHMMTagger(SMALL, random_state=0).fit(SENTENCES)
    series = pd.Series({word: " ".join(tags) for word, tags in SMALL.items()})
    path = file_of(tmp_path, READ["tabs"][0])
    frame = pd.DataFrame(
        [(word, tag) for word, tags in SMALL.items() for tag in tags], columns=["word", "tag"]
    )
    for given in (series, path, str(path), frame, TagDictionary(series)):
        tagger = CVBHMMTagger(given, random_state=0).fit(SENTENCES)
        assert [*tagger.classes_] == ["DET", "NOUN", "VERB"]
        assert [list(tags) for tags in tagger.predict(SENTENCES)] == [
            list(tags) for tags in expected.predict(SENTENCES)
        ]
        assert tagger.get_params()["tag_dictionary"] is given


YORUBA = [["ẹran", "dúdú", "ni"], ["yẹ", "ẹran", "ni"]] * 3
ENTRIES = {"ẹran": ["N"], "dúdú": ["A"], "yẹ": ["V", "A"], "ni": ["P"]}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_are_compared_in_the_unicode_form_of_the_text(form):
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    X = [[unicodedata.normalize(form, word) for word in words] for words in YORUBA]
    entries = {unicodedata.normalize(other, word): tags for word, tags in ENTRIES.items()}
    same = {unicodedata.normalize(form, word): tags for word, tags in ENTRIES.items()}
    with pytest.warns(UserWarning, match="3 words of tag_dictionary .* Unicode") as told:
        tagger = CVBHMMTagger(entries, random_state=0).fit(X)
    assert len([one for one in told if "Unicode" in str(one.message)]) == 1
    expected = CVBHMMTagger(same, random_state=0).fit(X)
    assert tagger.coverage_ == expected.coverage_ == (1.0, 1.0)
    for one, two in zip(tagger.predict_proba(X), expected.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, two)


def test_tags_equal_but_for_case_or_blanks_are_warned_of():
    entries = {"the": ["DET"], "dog": ["N "], "duck": ["n", "V"], "run": ["V"], "cat": ["N"]}
    with pytest.warns(UserWarning, match="alone: 'N', 'N ', 'n'"):
        CVBHMMTagger(entries, random_state=0).fit(SENTENCES)


def test_no_message_prints_a_whole_value():
    rows = [("word", "TAG")] * 50_000
    with pytest.raises(ValueError, match="'tag_dictionary' parameter of CVBHMMTagger") as caught:
        CVBHMMTagger(rows).fit(SENTENCES)
    assert len(str(caught.value)) < 500


def test_a_word_in_the_place_of_a_sequence_is_told_of_brackets():
    with pytest.raises(TypeError, match=r"X\[0\] is the string 'the'.*pass \[X\]"):
        CVBHMMTagger(SMALL).fit(["the", "dog", "runs"])
    with pytest.raises(TypeError, match=r"or into characters with list$"):
        CVBHMMTagger(SMALL).fit(["the dog", "it runs"])


def test_weights_and_sets_of_a_series_are_kept():
    weights = {"a": {"N": 2, "V": 1}, "b": {"V": 3}}
    assert read_dictionary(pd.Series(weights)) == weights
    assert read_dictionary(pd.Series({"a": {"V", "N"}, "b": ["V"]})) == {
        "a": ("N", "V"),
        "b": ("V",),
    }
    with pytest.raises(TypeError, match="pass a path, a table or a Series"):
        read_dictionary([("a", "N")])
