"""`partial_fit` of hidden Markov models: reading a batch, and what it is inferred from."""

from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.containers import refuse_lengths
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.growing import Growth, carried_counts, carried_weights, with_words
from sklearn_cvb.hmm.parameters import HMMCounts, flat_cells, rare_counts, with_end
from sklearn_cvb.hmm.symbols import problem_under
from sklearn_cvb.lattice import Problem
from sklearn_cvb.streaming import CONSTRAINTS, Running, Seen, StreamingMixin


class StreamingHMM(StreamingMixin, BaseHMM):
    """What hidden Markov models of symbols share; an algorithm adds `_swept_batch`."""

    _parameter_constraints: dict = {**BaseHMM._parameter_constraints, **CONSTRAINTS}  # noqa: RUF012

    @property
    def _why_no_batches(self) -> str:
        if self._observed.has_vocabulary:
            return ""
        return (
            f"partial_fit is for symbols: {type(self).__name__} learns numbers "
            f"(emission={self.emission!r}) by fit"
        )

    def _following_problem(self, X: Any, y: Any) -> tuple[Problem, Running]:
        """Read a batch: new words enter the vocabulary and the layout."""
        self._check_parameters()
        sequences = self._sequences(X, reset=False)
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        new = self._new_words(sequences)
        if new:
            self.vocabulary_ = reading.as_array([*self.vocabulary_.tolist(), *new])
            n_words = len(self._index)
            self._index = self._index | {word: n_words + i for i, word in enumerate(new)}
        corpus = reading.encode(sequences, self._index)
        self._check_unknown(corpus, sequences)
        growth = self._grown(new, corpus, y)
        counts = carried_counts(self._running_counts(), growth)
        self._cells = growth.cells
        problem = problem_under(self._cells, corpus, self._training_lattice(corpus, sequences, y))
        return problem, Running(counts, carried_weights(self._kept, growth))

    def _new_words(self, sequences: Sequences) -> list:
        """The words of a batch that the vocabulary lacks, sorted; none where it is given."""
        if self.vocabulary is not None:
            return []
        types = reading.types_of(sequences.tokens, sequences.starts)
        return [word for word in types if word not in self._index]

    def _grown(self, new: list, corpus: Corpus, y: Any) -> Growth:
        """The layout with new words."""
        every = np.arange(self._cells.n_emitting, dtype=np.int32)
        return with_words(self._cells, [every] * len(new))

    def _running_counts(self) -> HMMCounts:
        """The counts so far, flat."""
        counts = self.counts_._replace(emission=flat_cells(self.counts_.emission))
        return with_end(counts, self.end_counts_) if self._cells.has_end else counts

    def _not_learned(self, state: Any, problem: Any) -> np.ndarray:
        return self._observed.unexplained(state, problem)

    def _given_corpus(self, problem: Problem) -> Corpus:
        return problem.given

    def _uses_of_words(self, problem: Problem) -> np.ndarray:
        tokens, n_words = problem.given.tokens, problem.cells.n_words
        return np.bincount(tokens[(tokens >= 0) & (tokens < n_words)], minlength=n_words)

    def _rare_of_all(self, counts: tuple, seen: Seen) -> np.ndarray | None:
        emission = counts[2]
        if not self._counts_rare or emission[self._cells.unknown].any():
            return None
        return rare_counts(emission, self._cells, seen.uses)
