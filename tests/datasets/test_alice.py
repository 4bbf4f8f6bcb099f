"""Alice: its counts, how sentences are prepared, and where the text comes from."""

from zipfile import ZipFile

import pytest

from sklearn_cvb.datasets import corpora, fetch_alice
from sklearn_cvb.datasets.letters import character_sentences


def publisher_of(text, folder):
    """A URL of a folder whose archive holds this text."""
    with ZipFile(folder / "gutenberg.zip", "w") as archive:
        archive.writestr("gutenberg/carroll-alice.txt", text)
    return folder.as_uri().replace("file://", "file://localhost", 1)


def test_counts(data_folder):
    bunch = fetch_alice(data_home=data_folder)
    assert (len(bunch.data), sum(map(len, bunch.data))) == (1679, 133277)
    assert {symbol for sentence in bunch.data for symbol in sentence} == {
        *"abcdefghijklmnopqrstuvwxyz",
        " ",
    }
    assert all(sentence[-1] == " " != sentence[0] for sentence in bunch.data)
    assert bunch.text.startswith("[Alice")
    assert "1,679 sentences (133,277" in bunch.DESCR.replace("\n", " ")


def test_first_sentences_of_medium_length_are_those_of_the_thesis(data_folder):
    sentences = fetch_alice(data_home=data_folder).data
    medium = ["".join(sentence) for sentence in sentences if 10 <= len(sentence) <= 100]
    # Length, first and last words of the ten that Beal (2003) lists.
    assert [(len(s), s.split()[0], s.split()[-1]) for s in medium[:10]] == [
        (16, "i", "late"),
        (97, "thought", "stairs"),
        (38, "how", "home"),
        (76, "why", "house"),
        (27, "which", "true"),
        (15, "down", "down"),
        (36, "would", "end"),
        (48, "i", "time"),
        (15, "she", "aloud"),
        (57, "i", "earth"),
    ]


def test_sentences_of_a_small_book():
    book = (
        "[A Book]\n\nCHAPTER I. One\n\nA-b's c--d,\ne? 'F!'\n\n*  *\n\nNo stop\n\nCHAPTER II. Two"
    )
    assert ["".join(s) for s in character_sentences(book)] == ["abs c d e ", "f ", "no stop "]


def test_missing_and_not_downloaded(tmp_path):
    with pytest.raises(OSError, match="not found in") as caught:
        fetch_alice(data_home=tmp_path, download_if_missing=False)
    assert str(tmp_path) in str(caught.value)


def test_another_text_is_refused(tmp_path):
    (tmp_path / "alice.txt").write_bytes(b"Alice")
    with pytest.raises(OSError, match=r"is not the published text.*expected 84157c"):
        fetch_alice(data_home=tmp_path)


def test_download_is_checked_and_kept(data_folder, tmp_path, monkeypatch):
    book = (data_folder / "alice.txt").read_text(encoding="ascii")
    monkeypatch.setattr(corpora, "PUBLISHER", publisher_of(book, tmp_path))
    home = tmp_path / "home"
    assert len(fetch_alice(data_home=home).data) == 1679
    monkeypatch.setattr(corpora, "PUBLISHER", "file://localhost/nowhere")
    assert len(fetch_alice(data_home=home).data) == 1679
    assert [path.name for path in home.iterdir()] == ["alice.txt"]


def test_download_of_another_text_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PUBLISHER", publisher_of("Alice", tmp_path))
    with pytest.raises(OSError, match="SHA-256"):
        fetch_alice(data_home=tmp_path / "home")
    assert not list((tmp_path / "home").iterdir())
