"""Sequences of numbers under the weights of a chain and densities of their steps, also where these
have contexts or inputs, or visits have durations: posteriors, paths and likelihoods.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers import e_step, visits
from sklearn_cvb.chain.numbers.e_step import ChainTables, ContextStretches, StepScores, infer
from sklearn_cvb.chain.numbers.input_transitions import tables_of
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.predictions.prediction import WeightedSequences
from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.reading.corpus import Corpus


@dataclass(frozen=True)
class WeightedNumbers(WeightedSequences):
    """Sequences of numbers; cells are those of a table of weights, a row for each step."""

    log_offsets: np.ndarray  # the largest log weight of each step, which the table is without
    contexts: np.ndarray | None = None  # of all steps, where these have tables of their own

    def entries(self, kernel: Any = decoding.smoothed) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of every (step, state) entry, and log weight of every sequence.

        Steps of a sequence that no path explains get the shares of their emissions.
        """
        starts = self.corpus.starts
        if kernel is decoding.smoothed:
            chain, stretches = self._chain(self.weights)
            found = infer(chain, self._step_scores(), starts, stretches, exact=True)
            posterior, log_z = found.posterior, found.log_z
        else:
            posterior, log_z = self._filtered()
        lost = np.repeat(np.isneginf(log_z), np.diff(starts))
        if lost.any():
            posterior[lost] = self._emission_shares(lost)
        return posterior.ravel(), log_z

    def _emission_shares(self, steps: np.ndarray) -> np.ndarray:
        """Chances of the states of some steps by their emissions alone."""
        logs = self._step_logs()[steps]
        # A step whose densities float64 has lost under all states tells them not apart.
        logs = np.where(np.isneginf(logs).all(axis=1, keepdims=True), 0.0, logs)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def best_path(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the most probable paths; -inf for each sequence that has none.

        Steps of such a sequence get their best state by emission.
        """
        starts, logs = self.corpus.starts, self._step_logs()
        chain, stretches = self._chain(self.logs)
        with_ends = logs
        if chain.end is not None:
            with_ends = logs.copy()
            e_step.add_log_ends(chain.end, with_ends, starts, stretches)
        path, log_p = e_step.best_path(chain, with_ends, starts, stretches)
        lost = np.repeat(np.isneginf(log_p), np.diff(starts))
        path[lost] = logs[lost].argmax(axis=1)
        return path, log_p

    def draw_path(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States of paths drawn from the posterior; -inf for each sequence that has none.

        Steps of such a sequence get states drawn by their emissions.
        """
        (chain, stretches), starts = self._chain(self.weights), self.corpus.starts
        path, log_z = e_step.draw_path(chain, self._step_scores(), starts, stretches, rng)
        lost = np.repeat(np.isneginf(log_z), np.diff(starts))
        if lost.any():
            path[lost] = e_step.draw_states(self._emission_shares(lost), rng)
        return path, log_z

    def _chain(self, weights: ChainWeights) -> tuple[ChainTables, ContextStretches]:
        """Tables of the chain under weights, or their logs; which of them leads to each step."""
        return (
            e_step.tables_of_weights(weights, self.cells.n_emitting),
            e_step.context_stretches(self.contexts, self.corpus.starts),
        )

    def _step_logs(self) -> np.ndarray:
        """Log weights (n_steps, K), the largest of each step 0."""
        return self.logs.emission.reshape(-1, self.cells.n_emitting)

    def _filtered(self) -> tuple[np.ndarray, np.ndarray]:
        """p(z_t | x_1..t) of all steps, and log weight of every sequence."""
        chain, stretches = self._chain(self.weights)
        # What came up to each step does not tell that the sequence ends.
        online, steps = chain._replace(end=None), (self._step_scores(), self.corpus.starts)
        return e_step.filter_steps(online, *steps, stretches, every_step=True)[:2]

    def _step_scores(self) -> StepScores:
        """Log weights of all steps."""
        return e_step.scores_from_logs(self._step_logs())

    def table_numbers(self) -> np.ndarray:
        """The contexts of all steps."""
        return super().table_numbers() if self.contexts is None else self.contexts

    def log_emissions(self) -> np.ndarray:
        """Log densities (n_steps, K) under all states."""
        return self._step_logs() + self.log_offsets[:, None]

    def log_offset(self) -> np.ndarray:
        """The largest log weights of its steps."""
        return np.add.reduceat(self.log_offsets, self.corpus.starts[:-1])

    def log_z(self) -> np.ndarray:
        """Log density of each sequence, with its end where there is one."""
        return self.entries()[1] + self.log_offset()


@dataclass(frozen=True)
class WeightedVisits(WeightedNumbers):
    """Sequences of numbers under a hidden semi-Markov chain."""

    scores: Any = None  # those of durations

    def _step_scores(self) -> StepScores:
        """Log weights of all steps, and of durations."""
        logs = super()._step_scores()
        return logs._replace(scores=self.scores._replace(emission=logs.scores))

    def visit_arguments(self) -> tuple[visits.VisitTables, np.ndarray, np.ndarray]:
        """Tables of visits, log weights of all steps, and where sequences begin."""
        return *e_step.visit_inputs(
            self._chain(self.weights)[0], self._step_scores()
        ), self.corpus.starts

    def _filtered(self) -> tuple[np.ndarray, np.ndarray]:
        """p(z_t | x_1..t) of all steps, and log weight of every sequence."""
        return visits.filter_steps(*self.visit_arguments())

    def states_without(self, all_others: bool) -> np.ndarray:
        """Chances of the state of each step given all others, or those before it."""
        given = visits.log_states_given_others if all_others else visits.log_states_given_past
        return visits.normalise_logs(given(*self.visit_arguments())[0])

    def final_visits(self) -> tuple[np.ndarray, visits.VisitTables]:
        """Last states and how long their visits go on (see `visits.final_visits`); all tables."""
        tables, logs, starts = self.visit_arguments()
        return visits.final_visits(tables, logs, starts)[0], tables

    def best_path(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the most probable visits; -inf for each sequence that has none."""
        return visits.best_path(*self.visit_arguments())

    def draw_path(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States of visits drawn from the posterior; -inf for each sequence that has none."""
        return visits.draw_path(*self.visit_arguments(), rng)


class NumericSequences(NamedTuple):
    """Sequences, and what was observed of them."""

    corpus: Corpus
    observations: Any  # what a family reads
    known: np.ndarray | None = None  # states of steps, where some are known
    contexts: np.ndarray | None = None
    # Of each context, where they tell transitions, and the classifiers that say how.
    inputs: np.ndarray | None = None
    transitions: tuple[Any, ...] | None = None

    def chain_under(
        self, chain: tuple[ChainWeights, ChainWeights]
    ) -> tuple[ChainWeights, ChainWeights]:
        """Weights of a chain and their logs, with the tables that classifiers give for inputs."""
        if self.transitions is None or self.inputs is None:
            return chain
        (weights, logs), n = chain, len(chain[0].start)
        tables = tables_of(self.transitions, self.inputs, n).reshape(-1, n)
        return weights._replace(transition=tables), logs._replace(transition=np.log(tables))


def weighted_numbers(
    given: NumericSequences, chain: tuple[ChainWeights, ChainWeights], scores: Scores, cells: Cells
) -> WeightedNumbers:
    """Sequences under weights and scores."""
    corpus, observations, known, contexts = given[:4]
    shape = len(corpus.tokens), cells.n_emitting
    emission, whole = np.empty(shape), np.array([0, shape[0]])
    StepScores(scores, observations, shape, whole, known).fill(emission)
    log_offsets = emission.max(axis=1)
    # Steps that no state explains stay as they are.
    log_offsets[log_offsets == -np.inf] = 0.0
    emission -= log_offsets[:, None]
    chain = given.chain_under(chain)
    weights = chain[0]._replace(emission=np.exp(emission).ravel())
    logs = chain[1]._replace(emission=emission.ravel())
    lattice = e_step.lattice_of_steps(*shape)
    if cells.chain.longest:
        return WeightedVisits(corpus, lattice, weights, logs, cells, log_offsets, scores=scores)
    return WeightedNumbers(corpus, lattice, weights, logs, cells, log_offsets, contexts)
