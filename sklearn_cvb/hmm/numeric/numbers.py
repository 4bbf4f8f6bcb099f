"""What hidden Markov models of numbers do; `sklearn_cvb.hmm.symbols` has those of symbols.

`BaseHMM` asks one of the two, as its parameter `emission` says; both have the same functions.
"""

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.ending import cells_with_end
from sklearn_cvb.hmm.known_states import refuse_impossible
from sklearn_cvb.hmm.numeric.chain import NumberChain
from sklearn_cvb.hmm.numeric.intervals import intervals_of
from sklearn_cvb.hmm.numeric.model import (
    Fitted,
    emission_of,
    log_weights_of,
    posteriors_of,
    read_again,
    refuse_settings_of_symbols,
    renumbered,
)
from sklearn_cvb.hmm.numeric.problem import (
    NumericProblem,
    cells_of_chain,
    lattice_of_steps,
    without_emission,
)
from sklearn_cvb.hmm.numeric.reading import Series, observations_of, read_to_fit
from sklearn_cvb.hmm.numeric.start import model_posterior
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, log_weights, posterior_mean
from sklearn_cvb.hmm.read import Read
from sklearn_cvb.hmm.summaries import CredibleIntervals, mixture_intervals
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.loop import threads_for_each
from sklearn_cvb.topology import topology_of


@dataclass(frozen=True)
class ReadNumbers(Read):
    """Sequences of numbers; cells are those of a table of weights, a row for each step.

    Attributes
    ----------
    taken_off : ndarray of shape (n_steps,)
        The largest log weight of each step, which the table is without.
    """

    taken_off: np.ndarray

    def entries(self, kernel: Any = decoding.smoothed) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of every (step, state) entry, and log weight of every sequence."""
        smooth, n_states = kernel is decoding.smoothed, self.cells.n_emitting
        return posteriors_of(self.corpus, self.weights, self.logs.emission, n_states, smooth)

    def log_z(self) -> np.ndarray:
        """Log density of each sequence, with its end where there is one."""
        return self.entries()[1] + np.add.reduceat(self.taken_off, self.corpus.starts[:-1])


def _read_under(
    problem: tuple[Corpus, Any, np.ndarray | None],
    chain: tuple[Weights, Weights],
    scores: Scores,
    cells: Cells,
) -> ReadNumbers:
    """A corpus, what was observed, and what states are known, under weights and densities."""
    corpus, observations, known = problem
    shape = len(corpus.tokens), cells.n_emitting
    emission, taken_off = log_weights_of(observations, shape, scores, known)
    weights = chain[0]._replace(emission=np.exp(emission).ravel())
    logs = chain[1]._replace(emission=emission.ravel())
    return ReadNumbers(corpus, lattice_of_steps(*shape), weights, logs, cells, taken_off)


class Numbers:
    """Observations that are numbers, or what else `sklearn_cvb.emissions` has families of."""

    # Corpora come in one piece, and there are no taggers.
    has_vocabulary = False
    # What samplers draw at a time.
    default_update = "parameter"
    # What draws several continuations, where `sample` is asked to.
    draws_ahead = "predict_next(X, n_steps).samples are drawn to follow given sequences"

    def tag(self, input_tags: Any) -> None:
        """What scikit-learn is told of X."""
        input_tags.three_d_array = True

    # Fitting

    def sequences(self, hmm: Any, X: Any, y: Any) -> Series:
        """X as read for a fit, with the posteriors of a fitted model that `init` may be."""
        emission_of(hmm.emission)
        refuse_settings_of_symbols(hmm)
        series = read_to_fit(X, y, hmm)
        if not hasattr(hmm.init, "predict_proba"):
            return series
        return series._replace(start=model_posterior(hmm.init, X, series.corpus, hmm.n_components))

    def lay_out(self, hmm: Any, series: Series, y: Any) -> Corpus:
        """Set the states and the layout of parameters; returns the corpus that is learned from."""
        for name in ("vocabulary_", "_index"):
            vars(hmm).pop(name, None)
        hmm._n_states = hmm.n_components
        topology, corpus = topology_of(hmm.topology, hmm._n_states), series.corpus
        hmm._check_topology(topology)
        cells = cells_of_chain(hmm._n_states, topology)
        hmm._cells = cells_with_end(cells) if hmm.end_state else cells
        if topology is not None and topology.tied:
            corpus = corpus._replace(starts=np.arange(len(corpus.tokens) + 1), width=None)
        return corpus

    def problem(self, hmm: Any, corpus: Corpus, series: Series, y: Any) -> NumericProblem:
        """A problem of these sequences under the layout of parameters."""
        emission, cells = emission_of(hmm.emission), hmm._cells
        family = emission.bind(series.table, hmm.n_components)
        known, topology = (
            hmm._known_states(y, series.corpus),
            topology_of(hmm.topology, hmm._n_states),
        )
        if known is not None and topology is not None:
            refuse_impossible(known, series.corpus, topology)
        return NumericProblem(
            corpus,
            series.corpus,
            observations_of(series, family),
            family,
            cells,
            series.names,
            series.is_table,
            series.start,
            pickle.dumps(emission),
            known,
        )

    def model(self, hmm: Any, problem: Any) -> NumberChain:
        """What is learned from a problem."""
        n_restarts = 1 if hmm._fixed_start() else hmm.n_init
        return NumberChain(
            problem,
            hmm._prior_settings(),
            hmm.init,
            getattr(hmm, "block_length", None),
            threads_for_each(n_restarts, hmm.n_jobs),
        )

    def why_one_restart(self, hmm: Any, problem: Any) -> str:
        """Why all restarts would be the same; empty where they differ."""
        return hmm._fixed_start()

    def identity(self, problem: Any) -> tuple[Any, ...]:
        """Observations, emission and allowed states."""
        return (
            *(problem.corpus.starts, problem.observations, problem.known, problem.settings),
            *(problem.cells.n_states, problem.cells.topology),
        )

    # What a fit leaves

    def fitted(self, state: Any, counts: HMMCounts, model: NumberChain) -> dict[str, Any]:
        """Attributes that models of symbols do not have, or have of another kind."""
        n, numeric = model.cells.n_emitting, model.emissions(state, counts)
        return {
            "counts_": HMMCounts(counts.start[:n], counts.transition[:n, :n], counts.emission.T),
            "n_columns_": model.family.n_columns,
            "_kept": None if state.weights is None else state.weights.chain,
            "_numeric": numeric,
            **model.family.attributes(numeric.point),
        }

    def unexplained(self, state: Any, problem: NumericProblem) -> np.ndarray:
        """Given sequences that no path explains."""
        return problem.of_given(state.unexplained)

    def path(self, hmm: Any, state: Any, problem: NumericProblem) -> np.ndarray:
        """States of all given steps: by the last posterior, or Viterbi by the final weights."""
        posterior = hmm._model(problem).posterior(state)
        if posterior is None:
            return self._training(hmm, state, problem).best_path()[0]
        return posterior.argmax(axis=1)

    def posteriors(self, hmm: Any, state: Any, problem: NumericProblem) -> np.ndarray:
        """Posteriors of all given steps: the last ones, or under the final weights."""
        posterior = hmm._model(problem).posterior(state)
        if posterior is None:
            read = self._training(hmm, state, problem)
            posterior = read.table(read.entries()[0])
        return posterior

    def _training(self, hmm: Any, state: Any, problem: NumericProblem) -> ReadNumbers:
        """The training sequences under the final weights."""
        counts = hmm._algorithm().final_counts(state)
        final, cells = without_emission(counts), problem.cells
        weights = hmm._weights(final, state.prior, cells, state.weights.chain)
        logs = hmm._log_weights(weights, final, state.prior, cells)
        scores = hmm._model(problem).emissions(state, counts).predicting
        training = problem.given, problem.observations, problem.known
        return _read_under(training, (weights, logs), scores, cells)

    # Reading a fitted model

    def counts(self, hmm: Any) -> HMMCounts:
        """Counts of the chain alone."""
        return without_emission(hmm.counts_)

    def read(self, hmm: Any, X: Any, means: bool = False) -> ReadNumbers:
        """Sequences under a model's weights."""
        new, fitted = _given(hmm, X), hmm._numeric
        if means:
            return _read_under(new, hmm._mean_and_log(), fitted.scoring, hmm._cells)
        return _read_under(new, hmm._predicting_weights(), fitted.predicting, hmm._cells)

    def log_likelihoods(
        self, hmm: Any, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
    ) -> tuple[list[np.ndarray], int]:
        """Under the mean weights, or under each sample; and the number of observed steps."""
        new, cells = _given(hmm, X), hmm._cells
        if samples is None:
            each = [(hmm._mean_and_log(), hmm._numeric.scoring)]
        else:
            each = []
            for counts, prior in samples:
                weights = posterior_mean(without_emission(counts), prior, cells)
                scores = hmm._numeric.family.predictive(counts.emission)
                each.append(((weights, log_weights(weights)), scores))
        found = [_read_under(new, chain, scores, cells).log_z() for chain, scores in each]
        return found, new[0].n_observed

    def samples(self, hmm: Any) -> list[tuple[HMMCounts, Prior]]:
        """Counts, statistics and prior of each sample that a sampler has kept."""
        return hmm._kept_samples

    def posterior(self, hmm: Any) -> tuple[HMMCounts, Prior]:
        """Counts, statistics and prior that make up the posterior."""
        return hmm._complete_counts()._replace(emission=hmm.counts_.emission.T), hmm._prior

    def intervals(
        self, hmm: Any, posteriors: Iterable[tuple[HMMCounts, Prior]], level: float
    ) -> CredibleIntervals:
        """Credible intervals of start and transitions, and of what states emit."""
        posteriors = list(posteriors)
        chains = [(without_emission(counts), prior) for counts, prior in posteriors]
        found = mixture_intervals(chains, hmm._cells, level)
        statistics = [counts.emission for counts, _ in posteriors]
        return found._replace(emission=intervals_of(hmm._numeric.family, statistics, level))

    def drawn(
        self, hmm: Any, states: np.ndarray, rng: np.random.RandomState
    ) -> tuple[np.ndarray, Any]:
        """What each state emits, and what stands for nothing."""
        fitted: Fitted = hmm._numeric
        numbers = np.random.default_rng(rng.randint(2**31 - 1))
        values = fitted.family.sample(fitted.point, states, numbers)
        return values[:, 0] if fitted.is_table else values, np.nan

    def reordered(self, hmm: Any, by: Any) -> dict[str, Any]:
        """What a model says of its emissions, if its states had another order."""
        start, transition = by.chain(hmm.counts_.start, hmm.counts_.transition)
        changed = renumbered(hmm, by.order)
        changed["counts_"] = HMMCounts(start, transition, hmm.counts_.emission[by.order])
        if hasattr(hmm, "_kept_samples"):
            changed["_kept_samples"] = [
                (_reordered(counts, by), by.prior(prior)) for counts, prior in hmm._kept_samples
            ]
        return changed


NUMBERS = Numbers()


def _given(hmm: Any, X: Any) -> tuple[Corpus, Any, None]:
    """New sequences, and what the fitted family observes; no state of theirs is known."""
    check_is_fitted(hmm)
    series = read_again(X, hmm, hmm._numeric)
    return series.corpus, observations_of(series, hmm._numeric.family), None


def _reordered(counts: HMMCounts, by: Any) -> HMMCounts:
    """Counts and statistics (S, K) of a sample in another order."""
    start, transition = by.chain(counts.start, counts.transition)
    return HMMCounts(start, transition, np.take(counts.emission, by.order, axis=1))
