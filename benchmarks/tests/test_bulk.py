"""The benchmark of corpora on disk runs, and its generated text is what it says."""

import pytest

pytest.importorskip("pyarrow")

from benchmarks import bulk
from benchmarks.text import Settings
from sklearn_cvb import write_store


def test_writing_is_a_row(tmp_path):
    found = bulk.writing(Settings(str(tmp_path), 2, True))
    assert len(found.ours) == 2
    assert found.ratios == found.ours
    assert found.ours[0] > 0


def test_a_fit_reports_its_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_WORDS", 500)
    store = write_store(bulk.generate(tmp_path / "parquet", 3000), tmp_path / "store")
    assert 3000 <= store.n_tokens < 3100
    assert set(store.vocabulary.tolist()) <= set(bulk.dictionary())
    found = bulk.fitted("CVB", store.folder, 3)
    assert found["tokens"] == store.n_tokens
    assert found["a sweep"] > 0
    assert found["RssAnon"] > 0
