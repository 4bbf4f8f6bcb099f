"""Corpora on disk: encoded once a batch at a time, memory-mapped, and fitted in pieces."""

from sklearn_cvb.store.corpus_store import CorpusStore, StoredTags, open_store
from sklearn_cvb.store.files import StoreError
from sklearn_cvb.store.stored_states import StoredStates
from sklearn_cvb.store.writing import write_store

__all__ = ["CorpusStore", "StoreError", "StoredStates", "StoredTags", "open_store", "write_store"]
