"""Hidden Markov models of stores and partitions of Dask: what estimators of them inherit."""

from importlib import import_module
from typing import Any

from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.base_taggers import BaseHMMTagger
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.on_workers import OnWorkers
from sklearn_cvb.scale.places import is_store, place_of, refuse_weights


class BeyondMemory(OnWorkers, BaseHMM):
    """A hidden Markov model whose sequences may be in a store, or in partitions of Dask."""

    @property
    def _parts_module(self) -> str:
        return f"sklearn_cvb.scale.{self._kind}.parts"

    @property
    def _kind(self) -> str:
        """What is observed: "symbols" or "numbers"."""
        return "symbols" if self._emits_symbols else "numbers"

    def _part_settings(self) -> Any:
        observation = self._observation(to_fit=True)
        import_module(self._parts_module).refuse_in_shards(observation)
        return observation

    def _on_disk(self, X: Any) -> Any:
        """The module that fits and predicts stores of this kind, loaded when asked for."""
        if is_store(X) and X.holds != self._kind:
            raise InvalidParameterError(
                f"X is a store of {X.holds}, and {type(self).__name__} learns {self._kind}: set "
                "emission to what is in it, or write another store (write_store, write_numbers)"
            )
        return import_module(f"sklearn_cvb.scale.{self._kind}.stored_fits")

    def _read(self, X: Any, y: Any, streams: bool = False, sample_weight: Any = None) -> Any:
        if place_of(X) in ("disk", "store"):
            refuse_weights(sample_weight)
            on_disk = self._on_disk(X)
            if not streams:
                return on_disk.read_store(self._observation(to_fit=True), X, y)
        return super()._read(X, y, streams, sample_weight)

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
        place = place_of(X)
        if place == "workers":
            return self._over_partitions("predict", X, decoding=decoding)
        if place == "store":
            learned, on_disk = learned_of(self), self._on_disk(X)
            return on_disk.states_of_store(self._observation(), learned, X, decoding)
        return super()._states(X, decoding)

    def _probabilities(self, X: Any) -> Any:
        place = place_of(X)
        if place == "workers":
            return self._over_partitions("predict_proba", X)
        if place == "store":
            self._on_disk(X)
        return super()._probabilities(X)


def _is_elsewhere(reading: Reading) -> bool:
    """Whether sequences are in a store or in shards, so that their paths are not in memory."""
    return hasattr(reading.problem, "path_attributes")


class TaggerBeyondMemory(BaseHMMTagger):
    """A tagger whose accuracy may be measured on the tags of a store."""

    def _accuracy(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        if not is_store(X):
            return super()._accuracy(X, y, sample_weight)
        refuse_weights(sample_weight)
        from sklearn_cvb.scale.symbols.stored_sequences import accuracy_on_store

        return accuracy_on_store(self._tagger_observation(), learned_of(self), X, y)
