"""Hidden Markov models of sequences on the disk and on workers: all that scale adds to them."""

from importlib import import_module
from typing import Any

from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.base_taggers import BaseHMMTagger
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.on_workers import OnWorkers
from sklearn_cvb.scale.places import is_dask, is_store, place_of


class BeyondMemory(OnWorkers, BaseHMM):
    """A hidden Markov model whose sequences may be on the disk, or on workers."""

    @property
    def _module_of_parts(self) -> str:
        return f"sklearn_cvb.scale.{self._kind}.parts"

    @property
    def _kind(self) -> str:
        """What is observed."""
        return "symbols" if self._emits_symbols else "numbers"

    def _asked_in_parts(self) -> Any:
        return self._observation(to_fit=True)

    def _on_disk(self, X: Any) -> Any:
        """What learns from X, a store, and reads it: a module that is loaded when asked for."""
        if is_store(X) and X.holds != self._kind:
            raise InvalidParameterError(
                f"X is a store of {X.holds}, and {type(self).__name__} learns {self._kind}: set "
                "emission to what is in it, or write another store (write_store, write_numbers)"
            )
        return import_module(f"sklearn_cvb.scale.{self._kind}.stored_fits")

    def _read(self, X: Any, y: Any, streams: bool = False) -> Any:
        if place_of(X) == "disk":
            on_disk = self._on_disk(X)
            if not streams:
                return on_disk.read_in_bulk(self._observation(to_fit=True), X, y)
        return super()._read(X, y, streams)

    def _left_paths(self, result: FitResult) -> Any:
        reading = result.reading
        if _is_elsewhere(reading):
            return reading.problem.path_attributes(result)
        return super()._left_paths(result)

    def _training_table(self, reading: Reading, state: Any) -> Any:
        if _is_elsewhere(reading):
            raise AttributeError(
                "a fit on a store or in shards keeps no posteriors in memory: use predict_proba"
            )
        return super()._training_table(reading, state)

    def _log_likelihoods(self, learned: Learned, X: Any) -> Any:
        if is_store(X) and self._samples(learned) is None:
            return self._on_disk(X).log_likelihoods_of_store(self._observation(), learned, X)
        return super()._log_likelihoods(learned, X)

    def _states(self, X: Any, decoding: str) -> Any:
        if is_dask(X):
            return self._over_partitions("predict", X, decoding=decoding)
        if is_store(X):
            learned, on_disk = learned_of(self), self._on_disk(X)
            return on_disk.states_of_store(self._observation(), learned, X, decoding)
        return super()._states(X, decoding)

    def _probabilities(self, X: Any) -> Any:
        if is_dask(X):
            return self._over_partitions("predict_proba", X)
        if is_store(X):
            self._on_disk(X)
        return super()._probabilities(X)


def _is_elsewhere(reading: Reading) -> bool:
    """Whether who has the sequences says what is left of their paths."""
    return hasattr(reading.problem, "path_attributes")


class TaggerBeyondMemory(BaseHMMTagger):
    """A tagger that is compared with the tags of a store, too."""

    def _accuracy(self, X: Any, y: Any) -> float:
        if not is_store(X):
            return super()._accuracy(X, y)
        from sklearn_cvb.scale.symbols.stored_sequences import accuracy_on_store

        return accuracy_on_store(self._of_words(), learned_of(self), X, y)
