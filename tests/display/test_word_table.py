"""Words to check: what is listed, and the way there and back through a file."""

import numpy as np
import pytest

from sklearn_cvb import (
    EMHMM,
    CVBHMMTagger,
    EMHMMTagger,
    Symbols,
    TagDictionary,
    WordTable,
    tag_dictionary_from,
)
from sklearn_cvb.display.word_table import WordToCheck

X = [["it", "saw", "it"], ["the", "duck", "saw", "it"], ["the", "new", "it", "saw"]]
LEGAL = {"it": ["P", "X"], "the": ["D"], "duck": ["N", "V"], "saw": ["N", "V", "X"]}


@pytest.mark.parametrize("kind", [EMHMMTagger, CVBHMMTagger])
def test_words_with_the_most_uses_times_tags_come_first(kind):
    model = kind(TagDictionary(LEGAL, unknown_tags=["N", "V"]), random_state=0).fit(X)
    table = model.words_to_check([*X, ["saw", None, "new"]], 3)
    assert [(row.word, row.uses) for row in table] == [("saw", 4), ("it", 4), ("new", 2)]
    assert table[1].example == "it saw it"
    assert set(table[0].tags) == {"N", "V", "X"}
    for row in table:
        assert sum(row.shares) == pytest.approx(1)
        assert list(row.shares) == sorted(row.shares, reverse=True)
    counts = model.counts_.emission.todense()[model.vocabulary_.tolist().index("saw")]
    assert table[0].shares[0] == pytest.approx(counts.max() / counts.sum())
    assert len(table) == 3
    # Who has said how often its tags were seen is not asked again.
    told = kind({**LEGAL, "saw": {"V": 9, "N": 1}}, random_state=0).fit(X)
    assert [row.word for row in told.words_to_check(X, 1)] == ["it"]


def test_words_outside_the_vocabulary_have_equal_shares():
    model = CVBHMMTagger(LEGAL, random_state=0, emission=Symbols(vocabulary=["it", "the"])).fit(X)
    saw = next(row for row in model.words_to_check(X) if row.word == "saw")
    np.testing.assert_allclose(saw.shares, 1 / 3)


def test_there_and_back(tmp_path):
    rows = [WordToCheck("a,b", "", ("DT", "PREP|+"), (0.5, 0.5), 7, 'say "x"')]
    rows.append(WordToCheck("über", "N", ("N",), (1.0,), 3, "über"))
    path = tmp_path / "words.csv"
    WordTable(rows).to_csv(path)
    found = WordTable.read_csv(path)
    assert [row[:3] for row in found] == [row[:3] for row in rows]
    assert tag_dictionary_from(found) == {"a,b": ("DT", "PREP|+"), "über": {"N": 1.0}}
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"a,b",,', '"a,b",DT,'), encoding="utf-8-sig")
    assert tag_dictionary_from(WordTable.read_csv(path))["a,b"] == {"DT": 0.9, "PREP|+": 0.1}


def test_a_table_that_cannot_be_is_named(tmp_path):
    path = tmp_path / "words.csv"
    with pytest.raises(ValueError, match=r"the tag 7 of 'a' cannot stand in a file"):
        WordTable([WordToCheck("a", "", (7,))]).to_csv(path)
    path.write_text("word,usual,tags\na,DT,LS\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2: 'a' has the tags \('LS',\) and the usual tag"):
        WordTable.read_csv(path)
    path.write_text("words;usual;tags\na;DT;LS\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no column 'word'"):
        WordTable.read_csv(path)


ROWS = [
    WordToCheck("saw", "", ("NOUN", "VERB"), (0.75, 0.25), 4, "it saw it"),
    WordToCheck("a", "", ("DET", "X"), (1.0, 0.0), 2, "a duck"),
]


@pytest.mark.parametrize("slip", ["NUON", "NOUN,"])
def test_a_tag_that_was_not_there_is_warned_of_with_the_nearest(tmp_path, slip):
    path = tmp_path / "words.csv"
    WordTable(ROWS).to_csv(path)
    path.write_text(path.read_text().replace("saw,,NOUN VERB", f'saw,,"{slip} VERB"'))
    said = rf"1 tags .* before: '{slip}' of 'saw' \(did you mean 'NOUN'\?\)"
    with pytest.warns(UserWarning, match=said):
        found = WordTable.read_csv(path)
    assert found.entries()["saw"] == (slip, "VERB")


def test_a_comma_without_quotes_is_named(tmp_path):
    path = tmp_path / "words.csv"
    WordTable(ROWS).to_csv(path)
    path.write_text(path.read_text().replace("NOUN VERB", "NOUN, VERB"))
    with pytest.raises(ValueError, match=r"line 2: 'saw' has more cells than there are columns"):
        WordTable.read_csv(path)


def test_tags_of_other_rows_and_of_the_tagger_are_no_slips(tmp_path):
    path = tmp_path / "words.csv"
    WordTable(ROWS).to_csv(path)
    path.write_text(path.read_text().replace("saw,,NOUN VERB", "saw,,NOUN DET"))
    assert WordTable.read_csv(path).entries()["saw"] == ("NOUN", "DET")
    path.write_text(path.read_text().replace("saw,,NOUN DET", "saw,,NOUN INTJ"))
    known = np.array(["DET", "INTJ", "NOUN", "VERB", "X"])
    assert WordTable.read_csv(path, classes=known).entries()["saw"] == ("NOUN", "INTJ")
    with pytest.warns(UserWarning, match="1 tags that were not there before: 'INTJ' of 'saw'"):
        WordTable.read_csv(path)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_tables_of_other_countries_are_read(tmp_path, delimiter):
    path = tmp_path / "words.csv"
    rows = [["word", "usual", "tags"], ["a,b", "DT", "DT LS"], ["you", "", "PRP"]]
    path.write_text("\n".join(map(delimiter.join, rows)), encoding="utf-8-sig")
    assert WordTable.read_csv(path).entries() == {"a,b": {"DT": 0.9, "LS": 0.1}, "you": ("PRP",)}


def test_a_table_shows_its_rows():
    long = WordToCheck("it", "P", ("P",), (), 9, f"{'x ' * 30}it {'y ' * 30}".strip())
    table = WordTable([*ROWS, long])
    assert repr(table).splitlines() == [
        "word  usual  tags                  uses  example",
        "saw          NOUN 0.75, VERB 0.25  4     it saw it",
        "a            DET 1.00, X 0.00      2     a duck",
        "it    P      P                     9     ...x x x x x x x x x x it y y y y y y y y y y...",
    ]
    assert "<td>NOUN 0.75, VERB 0.25</td>" in table._repr_html_()
    assert "<b>" not in WordTable([WordToCheck("<b>", "", ("X",))])._repr_html_()
    many = WordToCheck("a", "", tuple("ABCDEFG"))
    assert "  A, B, C, D, E and 2 more  " in repr(WordTable([many]))
    assert repr(WordTable([long] * 62)).endswith("and 2 more words")


def test_an_entry_that_is_a_text_with_blanks_is_warned_of():
    with pytest.warns(UserWarning, match=r"'duck' has 'N V'; for several tags write \['N', 'V'\]"):
        model = EMHMMTagger({**LEGAL, "duck": "N V"}, random_state=0).fit(X)
    assert "N V" in model.classes_


def test_correcting_frees_a_frequent_word():
    legal = {"the": ["D", "X"], "dog": ["N"], "duck": ["N", "V"], "runs": ["V"]}
    sentences = [["the", "dog", "runs"], ["the", "duck", "runs"]] * 5
    model = CVBHMMTagger(legal, random_state=0).fit(sentences)
    rows = [row._replace(tags=("D",)) for row in model.words_to_check(sentences, 1)]
    corrected = {**legal, **tag_dictionary_from(WordTable(rows))}
    assert corrected["the"] == ("D",)
    labels = CVBHMMTagger(corrected, random_state=0).fit_predict(sentences)
    assert {tags[0] for tags in labels} == {"D"}
    assert not hasattr(EMHMM, "words_to_check")
