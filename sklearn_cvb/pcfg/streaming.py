"""`partial_fit` of grammars: reading a batch, and what it is inferred from."""

from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.containers import refuse_lengths
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.forms import Problem
from sklearn_cvb.pcfg.grammar import Grammar
from sklearn_cvb.pcfg.parameters import rare_counts
from sklearn_cvb.streaming import CONSTRAINTS, Running, Seen, StreamingMixin


class StreamingPCFG(StreamingMixin, BasePCFG):
    """What is read of a batch, and what all batches have told of words."""

    _parameter_constraints: dict = {**BasePCFG._parameter_constraints, **CONSTRAINTS}  # noqa: RUF012

    def _following_problem(self, X: Any, y: Any) -> tuple[Problem, Running]:
        """Read a batch: without a grammar new words get rules."""
        sequences = self._sequences(X, reset=False)
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        counts, kept = self.counts_.rule, self._kept
        types = reading.types_of(sequences.tokens, sequences.starts)
        new = [word for word in types if word not in self._index]
        if new and self.grammar is None and self.vocabulary is None:
            before, types = self.rules_, [*self.vocabulary_.tolist(), *new]
            self._lay_out(self._grammar_of(types), types)
            places, n_rules = places_in(self.rules_, before), len(self.rules_.rules)
            counts = carried(counts, places, n_rules, 0.0)
            kept = None if kept is None else carried(kept, places, n_rules, 1.0 / len(types))
        else:
            self._check_parameters()
        problem = self._problem_of(self._encode(sequences), sequences, y)
        return problem, Running(counts, kept)

    def _not_learned(self, state: Any, problem: Problem) -> np.ndarray:
        return state.unexplained

    def _uses_of_words(self, problem: Problem) -> np.ndarray:
        tokens, n_words = problem.corpus.tokens, problem.layout.n_words
        return np.bincount(tokens[tokens < n_words], minlength=n_words)

    def _rare_of_all(self, counts: np.ndarray, seen: Seen) -> np.ndarray | None:
        if self.handle_unknown != "rare" or counts[self._layout.unknown_cells].any():
            return None
        return rare_counts(counts, self._layout, seen.uses)


def places_in(grammar: Grammar, before: Grammar) -> np.ndarray:
    """Where each rule of a grammar is in a larger one."""
    numbers = {rule: i for i, rule in enumerate(grammar.rules)}
    return np.array([numbers[rule] for rule in before.rules], np.int64)


def carried(values: np.ndarray, places: np.ndarray, n_rules: int, fill: float) -> np.ndarray:
    """Values of rules in a larger grammar, and `fill` for its new rules."""
    larger = np.full(n_rules, fill)
    larger[places] = values
    return larger
