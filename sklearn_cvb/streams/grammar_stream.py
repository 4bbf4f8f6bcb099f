"""The stream of a grammar: running counts of rules, batch by batch or a few sentences at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.grammar.grammar import Grammar
from sklearn_cvb.grammar.inference import engine_for, enlarged_shares, most_rules, tally_of
from sklearn_cvb.grammar.layout import GrammarProblem, full_layout
from sklearn_cvb.grammar.model import GrammarModel, rare_word_counts
from sklearn_cvb.grammar.observation import GrammarObservation
from sklearn_cvb.kernels.tree.engines import count_in_logs
from sklearn_cvb.kernels.tree.leave_out import sweep_order_for, sweep_steps
from sklearn_cvb.kernels.tree.tallies import TreeTally, empty_shares
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.learning.model import InferenceResult, State
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.streams.one_batch import Stream, StreamCounts


@dataclass(frozen=True)
class GrammarStream(Stream):
    """Batches of sentences: each is one step."""

    model: GrammarModel

    def with_unseen(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """A little for rules without any count, where the prior is 0.

        Without it a batch could use no rule that those before had not used. Such rules share one
        count among those of their symbol, and a word that no rule has derived yet is as likely from
        each of its symbols, in proportion to their other uses.
        """
        layout = self.model.problem.layout
        none = (counts == 0) & (prior == 0) & ~layout.fixed
        if not none.any():
            return counts
        little = 1.0 / np.bincount(layout.lhs, minlength=layout.n_lhs)[layout.lhs]
        text = np.repeat(np.arange(len(layout.terminal_first) - 1), np.diff(layout.terminal_first))
        here = layout.terminal_cell >= 0
        cell, text = layout.terminal_cell[here], text[here]
        is_new = np.bincount(text, counts[cell], len(layout.terminal_first) - 1) == 0
        cell = cell[is_new[text]]
        little[cell] *= np.maximum(layout.totals(counts), 1.0)[layout.lhs[cell]]
        return np.where(none, little, counts)

    def prior_with_counts(
        self, prior: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sum, and its means as first weights."""
        prior = prior + counts
        return prior, self.model.problem.layout.rows(prior).mean()

    def unknown_word_counts(self, counts: np.ndarray, uses: np.ndarray) -> np.ndarray | None:
        """Mean count of the words used once, by rule of unknown words, if these have none."""
        layout = self.model.problem.layout
        if self.model.handle_unknown != "rare" or counts[layout.unknown_cells].any():
            return None
        return rare_word_counts(counts, layout, uses)

    # Stepwise EM

    def units(self) -> np.ndarray:
        """Numbers of all sentences."""
        return self.model.problem.sentences

    def step_through(
        self, state: State, order: np.ndarray, pace: tuple[int, float], n_steps: int
    ) -> InferenceResult:
        """Counts that move after every few sentences."""
        tally = tally_of(self.model.problem.layout, state.counts, state.prior, state.weights)
        log_z, n_steps = stepwise_sweep(self.model.problem, tally, order, (*pace, n_steps))
        return InferenceResult.from_log_z(tally.cells * tally.unit[0], log_z)._replace(work=n_steps)


def stepwise_sweep(
    problem: GrammarProblem, tally: TreeTally, order: np.ndarray, batches: tuple[int, float, int]
) -> tuple[np.ndarray, int]:
    """log p(words) in batches under the weights that all before have left, and steps so far.

    `batches` holds their size, the power of a step, and the steps before; the tally is changed in
    place.
    """
    engine, log_z = engine_for(problem), np.full(problem.corpus.n_sequences, -np.inf)
    steps, inferred = sweep_order_for(order, *batches), False
    room = 4096 if engine.lists is None else most_rules(engine)
    shares = empty_shares(0, room)
    while True:
        at = sweep_steps(engine, tally, steps, shares, inferred, log_z)
        if at == len(order):
            return log_z, int(steps.n_steps[0])
        inferred = bool(np.isnan(log_z[order[at]]))
        if inferred:
            log_z[order[at]] = count_in_logs(engine, int(order[at]))
        else:
            shares = enlarged_shares(shares, engine)


def read_sentence_batch(
    observation: GrammarObservation, learned: Learned, X: Any, y: Any
) -> tuple[Reading, StreamCounts]:
    """A later batch, and the counts so far: without a grammar new words get rules."""
    known = observation.options.words
    sequences = reading.sequences_again(known, X)
    refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
    words, layout, counts, kept = learned.words, learned.layout, learned.counts, learned.fallback
    types = reading.types_of(sequences.tokens, sequences.starts)
    new = [word for word in types if word not in words.index]
    if new and not layout.is_given and known.vocabulary is None:
        before, types = layout.grammar, [*words.types.tolist(), *new]
        words, layout = full_layout(observation.options, types)
        places, n_rules = _places_in(layout.grammar, before), len(layout.grammar.rules)
        counts = _moved_counts(counts, places, n_rules, 0.0)
        kept = None if kept is None else _moved_counts(kept, places, n_rules, 1.0 / len(types))
    return observation.read_under(words, layout, sequences, y), StreamCounts(counts, kept)


def _places_in(grammar: Grammar, before: Grammar) -> np.ndarray:
    """Where each rule of a grammar is in a larger one."""
    numbers = {rule: i for i, rule in enumerate(grammar.rules)}
    return np.array([numbers[rule] for rule in before.rules], np.int64)


def _moved_counts(values: np.ndarray, places: np.ndarray, n_rules: int, fill: float) -> np.ndarray:
    """Values of rules in a larger grammar, and `fill` for its new rules."""
    larger = np.full(n_rules, fill)
    larger[places] = values
    return larger
