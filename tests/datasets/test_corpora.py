"""Published corpora: their counts, where they are found, and what is refused."""

import re
import shutil
from collections import defaultdict
from functools import partial

import numpy as np
import pytest

from sklearn_cvb.datasets import (
    corpora,
    fetch_alice,
    fetch_brown,
    fetch_conll2000,
    fetch_conll2007,
    fetch_dependency_treebank,
    fetch_mac_morpho,
    fetch_treebank_tagged,
    fetch_treebank_trees,
    fetch_wsj,
    fetch_zulu_verbs,
)

FETCH = [
    fetch_alice,
    fetch_brown,
    fetch_conll2000,
    partial(fetch_conll2007, language="basque"),
    fetch_dependency_treebank,
    fetch_mac_morpho,
    fetch_treebank_tagged,
    fetch_treebank_trees,
    fetch_wsj,
]


@pytest.fixture(scope="module")
def wsj(data_folder):
    return fetch_wsj(data_home=data_folder, download_if_missing=False)


def n_tokens(sentences):
    return sum(map(len, sentences))


def local_publisher(folder):
    """A URL with a host, which scikit-learn asks for, of a folder on this machine."""
    return folder.as_uri().replace("file://", "file://localhost", 1)


@pytest.mark.long
def test_treebank_counts(data_folder):
    bunch = fetch_treebank_tagged(data_home=data_folder)
    assert len(bunch.data) == len(bunch.target) == 3914
    assert n_tokens(bunch.data) == n_tokens(bunch.target) == 94084
    assert bunch.data[1][:4] == ["Mr.", "Vinken", "is", "chairman"]
    assert "-NONE-" not in {tag for tags in bunch.target for tag in tags}
    assert "3,914" in bunch.DESCR


@pytest.mark.long
def test_conll2000_counts(data_folder):
    X, y = fetch_conll2000(data_home=data_folder, return_X_y=True)
    assert (len(X), n_tokens(X), n_tokens(y)) == (10948, 259104, 259104)
    assert X[0][:3] == ["Confidence", "in", "the"]
    assert X[8936][:2] == ["Rockwell", "International"]
    tags = {tag for sentence in y for tag in sentence}
    assert {"-LRB-", "-RRB-"} < tags
    assert not {"(", ")"} & tags


@pytest.mark.long
def test_wsj_is_the_one_after_the_other(wsj, data_folder):
    X, y = fetch_wsj(data_home=data_folder, return_X_y=True)
    assert (X, y) == (wsj.data, wsj.target)
    assert len(wsj.data) == 14862
    assert X[:3914] == fetch_treebank_tagged(data_home=data_folder).data
    assert len({tag for tags in wsj.target for tag in tags}) == 45


@pytest.mark.long
def test_wsj_dictionary_statistics_are_the_published_ones(wsj):
    tags_of = defaultdict(set)
    for words, tags in zip(wsj.data, wsj.target, strict=True):
        for word, tag in zip(words, tags, strict=True):
            tags_of[word].add(tag)
    sizes = np.array([len(tags_of[word]) for words in wsj.data[:1000] for word in words])
    assert round(sizes.mean(), 2) == 1.90
    assert round(100 * (sizes > 1).mean()) == 46
    assert len({word for words in wsj.data[:1000] for word in words}) == 5169


@pytest.mark.long
def test_brown_counts(data_folder):
    bunch = fetch_brown(data_home=data_folder)
    assert (len(bunch.data), n_tokens(bunch.data)) == (57340, 1161192)
    assert n_tokens(bunch.target) == 1161192
    assert len({tag for tags in bunch.target for tag in tags}) == 472
    assert bunch.target[0][:3] == ["AT", "NP-TL", "NN-TL"]


@pytest.mark.long
def test_mac_morpho_counts(data_folder):
    X, y = fetch_mac_morpho(data_home=data_folder, return_X_y=True)
    assert (len(X), n_tokens(X), n_tokens(y)) == (53374, 1221464, 1221464)
    assert len({tag for tags in y for tag in tags}) == 83
    assert (X[0][:3], y[0][:3]) == (["Jersei", "atinge", "média"], ["N", "V", "N"])
    assert not any("" in words for words in X)
    ends = [tags[-1] in {".", "?", "!"} for tags in y]
    # All but the ends of a few texts.
    assert 0.99 < np.mean(ends) < 1


@pytest.mark.long
def test_nltk_search_path_is_left_as_it_was(data_folder):
    import nltk.data

    before = list(nltk.data.path)
    fetch_treebank_tagged(data_home=data_folder)
    assert nltk.data.path == before


@pytest.mark.long
def test_archive_directly_in_the_folder(data_folder, tmp_path):
    shutil.copy(data_folder / "nltk" / "treebank.zip", tmp_path / "treebank.zip")
    assert corpora.find_corpus("treebank", data_home=tmp_path) == tmp_path / "treebank.zip"
    # Archives that others may write are read also: the checksum vouches for them.
    (tmp_path / "treebank.zip").chmod(0o666)
    assert len(fetch_treebank_tagged(data_home=tmp_path).data) == 3914


def test_environment_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SKLEARN_CVB_DATA", str(tmp_path))
    assert corpora.corpus_folder() == tmp_path
    assert corpora.corpus_folder("elsewhere").name == "elsewhere"


def test_default_folder_is_in_scikit_learns_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    assert corpora.corpus_folder() == tmp_path / "sklearn_cvb"


@pytest.mark.parametrize("fetch", [*FETCH, fetch_zulu_verbs])
def test_missing_and_not_downloaded(fetch, tmp_path):
    options = {} if fetch is fetch_zulu_verbs else {"download_if_missing": False}
    with pytest.raises(OSError, match="not found in") as caught:
        fetch(data_home=tmp_path, **options)
    for part in (str(tmp_path), "data_home", "SKLEARN_CVB_DATA", "--data-home"):
        assert part in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:Retry downloading")
@pytest.mark.parametrize("fetch", FETCH)
def test_a_download_that_fails_says_what_to_do(fetch, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PUBLISHER", "file://localhost/nowhere")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(OSError, match="cannot download file://localhost/nowhere/") as caught:
        fetch(data_home=tmp_path / "home")
    file, folder = ("alice.txt", "home") if fetch is fetch_alice else (".zip", "nltk")
    assert re.search(rf"put \w*{re.escape(file)} into \S+{folder} by hand", str(caught.value))
    for part in ("data_home", "SKLEARN_CVB_DATA", "--data-home"):
        assert part in str(caught.value)


def test_wrong_checksum_is_refused(tmp_path):
    (tmp_path / "brown.zip").write_bytes(b"not the Brown corpus")
    with pytest.raises(OSError, match=r"brown\.zip is not the published archive.*expected 9b275f"):
        fetch_brown(data_home=tmp_path)


@pytest.mark.long
def test_download_from_the_publisher(data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PUBLISHER", local_publisher(data_folder / "nltk"))
    assert len(fetch_treebank_tagged(data_home=tmp_path).data) == 3914
    monkeypatch.setattr(corpora, "PUBLISHER", "file://localhost/nowhere")
    assert len(fetch_treebank_tagged(data_home=tmp_path).data) == 3914
    assert (tmp_path / "nltk" / "treebank.zip").is_file()


def test_download_of_something_else_is_refused_and_not_kept(tmp_path, monkeypatch):
    (tmp_path / "treebank.zip").write_bytes(b"something else")
    monkeypatch.setattr(corpora, "PUBLISHER", local_publisher(tmp_path))
    with pytest.raises(OSError, match="differs from expected"):
        fetch_treebank_tagged(data_home=tmp_path / "home")
    assert not list((tmp_path / "home" / "nltk").iterdir())
