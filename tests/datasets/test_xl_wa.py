"""XL-WA and other files of aligned sentences."""

import pytest

from sklearn_cvb.datasets import fetch_xl_wa, read_aligned


@pytest.mark.parametrize("language", ["da", "es", "hu", "nl"])
def test_all_parts_of_a_language(data_folder, language):
    corpus = fetch_xl_wa(language=language, data_home=data_folder)
    assert [corpus.subset.count(part) for part in ("train", "dev", "test")] == [1002, 105, 245]
    assert len(corpus.data) == len(corpus.target) == 1352
    for (source, target), links in zip(corpus.data, corpus.target, strict=True):
        assert max(i for i, _ in links) < len(source)
        assert max(j for _, j in links) < len(target)
    X, y = fetch_xl_wa(
        language=language, subset="test", lowercase=True, data_home=data_folder, return_X_y=True
    )
    assert y == corpus.target[-245:]
    assert X[0][0] == [word.lower() for word in corpus.data[-245][0]]


def test_what_cannot_be_fetched_is_told(tmp_path):
    with pytest.raises(ValueError, match="language must be one of 'da', 'es', 'hu', 'nl'"):
        fetch_xl_wa(language="fr")
    with pytest.raises(ValueError, match="subset must be one of 'all', 'train', 'dev', 'test'"):
        fetch_xl_wa(language="es", subset="silver")
    with pytest.raises(OSError, match=r"train\.tsv not found in .*es, and it cannot be downloaded"):
        fetch_xl_wa(language="es", data_home=tmp_path)
    (tmp_path / "xl-wa" / "es").mkdir(parents=True)
    (tmp_path / "xl-wa" / "es" / "test.tsv").write_text("a\tb\t0-0\n")
    with pytest.raises(OSError, match="is not the published file"):
        fetch_xl_wa(language="es", subset="test", data_home=tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a b", "line 2: 1 columns instead of 2 or 3"),
        ("a\tb\t0-0\tc", "line 2: 4 columns instead of 2 or 3"),
        ("a\t ", "line 2: a sentence is empty"),
        ("a\tb\t0-1", "line 2: the link 0-1 is outside of sentences of 1 and 1 words"),
        ("a\tb\t0:0", "line 2: '0:0': links are written source-target"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    path = tmp_path / "pairs.tsv"
    path.write_text(f"A b\tc\n{line}\n")
    with pytest.raises(ValueError, match=message):
        read_aligned(path)
    path.write_text("A b\tc\n")
    assert read_aligned(path, lowercase=True) == {"data": [(["a", "b"], ["c"])], "target": [None]}
