"""Stores: corpora on disk, encoded once a batch at a time, memory-mapped, and fitted in pieces.

`CorpusStore`, `NumberStore`, `open_store`, `write_numbers` and `write_store` are documented where
users find them, in `sklearn_cvb`.
"""

from sklearn_cvb.store.corpus_store import CorpusStore as CorpusStore
from sklearn_cvb.store.corpus_store import StoredStates, StoredTags
from sklearn_cvb.store.corpus_store import open_store as open_store
from sklearn_cvb.store.files import StoreError
from sklearn_cvb.store.number_store import NumberStore as NumberStore
from sklearn_cvb.store.number_writing import write_numbers as write_numbers
from sklearn_cvb.store.writing import write_store as write_store

__all__ = ["StoreError", "StoredStates", "StoredTags"]
