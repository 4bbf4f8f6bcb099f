"""What hidden Markov models of numbers do; `sklearn_cvb.hmm.symbols` has those of symbols.

`BaseHMM` asks one of the two, as its parameter `emission` says; both have the same functions.
"""

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.ending import cells_with_end
from sklearn_cvb.hmm.known_states import refuse_impossible
from sklearn_cvb.hmm.numeric.chain import NumberChain
from sklearn_cvb.hmm.numeric.intervals import intervals_of
from sklearn_cvb.hmm.numeric.model import (
    Fitted,
    densities,
    emission_of,
    log_weights_of,
    posteriors_of,
    read_series_again,
    refuse_settings_of_symbols,
)
from sklearn_cvb.hmm.numeric.problem import (
    NumericProblem,
    cells_of_chain,
    lattice_of_steps,
    without_emission,
)
from sklearn_cvb.hmm.numeric.reading import observations_of, series_to_fit
from sklearn_cvb.hmm.numeric.start import model_posterior
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
    weights_under,
)
from sklearn_cvb.hmm.prediction import (
    Read,
    chain_counts,
    mean_and_log,
    predicting_weights,
)
from sklearn_cvb.hmm.summaries import CredibleIntervals, mixture_intervals
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learned import Learned, Reading
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


# Corpora come in one piece, and there are no taggers.
has_vocabulary = False
# What samplers draw at a time.
default_update = "parameter"
# What draws several continuations, where `sample` is asked to.
draws_ahead = "predict_next(X, n_steps).samples are drawn to follow given sequences"


def tag(input_tags: Any) -> None:
    """What scikit-learn is told of X."""
    input_tags.three_d_array = True


# Reading


def read_to_fit(hmm: Any, X: Any, y: Any, streams: bool) -> Reading:
    """X and y, to be fitted to."""
    emission, n_states = emission_of(hmm.emission), hmm.n_components
    refuse_settings_of_symbols(hmm)
    series, attributes, messages = series_to_fit(X, y, hmm)
    given = corpus = series.corpus
    if hasattr(hmm.init, "predict_proba"):
        series = series._replace(start=model_posterior(hmm.init, X, given, n_states))
    topology = topology_of(hmm.topology, n_states)
    hmm._check_topology(topology)
    cells = cells_of_chain(n_states, topology)
    if hmm.end_state:
        cells = cells_with_end(cells)
    if topology is not None and topology.tied:
        corpus = corpus._replace(starts=np.arange(len(corpus.tokens) + 1), width=None)
    family, known = emission.bind(series.table, n_states), hmm._known_states(y, given)
    if known is not None and topology is not None:
        refuse_impossible(known, given, topology)
    problem = NumericProblem(
        corpus,
        given,
        observations_of(series, family),
        family,
        cells,
        series.names,
        series.is_table,
        series.start,
        pickle.dumps(emission),
        known,
    )
    return Reading(problem, None, attributes, messages)


def model(hmm: Any, read: Reading) -> NumberChain:
    """What is learned from a problem."""
    return NumberChain(
        read.problem,
        hmm._prior_settings(None),
        hmm.init,
        getattr(hmm, "block_length", None),
        hmm._n_threads(read),
    )


# What a fit leaves


def left_of(
    state: Any, counts: HMMCounts, chain: NumberChain
) -> tuple[dict[str, Any], Weights | None, None, Fitted]:
    """Public counts and emissions, weights that rows keep; no words seen once."""
    n, numeric = chain.cells.n_emitting, chain.emissions(state, counts)
    attributes = {
        "counts_": HMMCounts(counts.start[:n], counts.transition[:n, :n], counts.emission.T),
        "n_columns_": chain.family.n_columns,
        **chain.family.attributes(numeric.point),
    }
    kept = None if state.weights is None else state.weights.chain
    return attributes, kept, None, numeric


def path(hmm: Any, state: Any, read: Reading) -> np.ndarray:
    """States of all given steps: by the last posterior, or Viterbi by the final weights."""
    posterior = model(hmm, read).posterior(state)
    if posterior is None:
        return _training(hmm, state, read).best_path()[0]
    return posterior.argmax(axis=1)


def posteriors(hmm: Any, state: Any, read: Reading) -> np.ndarray:
    """Posteriors of all given steps: the last ones, or under the final weights."""
    posterior = model(hmm, read).posterior(state)
    if posterior is None:
        again = _training(hmm, state, read)
        posterior = again.table(again.entries()[0])
    return posterior


def _training(hmm: Any, state: Any, read: Reading) -> ReadNumbers:
    """The training sequences under the final weights."""
    algorithm, problem, cells = hmm._algorithm(), read.problem, read.problem.cells
    counts = algorithm.final_counts(state)
    final, kept = without_emission(counts), state.weights.chain
    weights = weights_under(final, state.prior, cells, kept, averages=algorithm.averages)
    scores = model(hmm, read).emissions(state, counts).predicting
    training = problem.given, problem.observations, problem.known
    return _read_under(training, weights, scores, cells)


# Reading a fitted model


def read_again(hmm: Any, learned: Learned, X: Any, means: bool = False) -> ReadNumbers:
    """Sequences under a model's weights."""
    new, numeric = _given(hmm, learned, X), learned.more.numeric
    if means:
        return _read_under(new, mean_and_log(learned), numeric.scoring, learned.layout)
    return _read_under(new, predicting_weights(learned), numeric.predicting, learned.layout)


def log_likelihoods(
    hmm: Any, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
) -> tuple[list[np.ndarray], int]:
    """Under the mean weights, or under each sample; and the number of observed steps."""
    new, numeric, cells = _given(hmm, learned, X), learned.more.numeric, learned.layout
    if samples is None:
        each = [(mean_and_log(learned), numeric.scoring)]
    else:
        each = []
        for counts, prior in samples:
            weights = posterior_mean(without_emission(counts), prior, cells)
            scores = numeric.family.predictive(counts.emission)
            each.append(((weights, log_weights(weights)), scores))
    found = [_read_under(new, chain, scores, cells).log_z() for chain, scores in each]
    return found, new[0].n_observed


def posterior(learned: Learned) -> tuple[HMMCounts, Prior]:
    """Counts, statistics and prior that make up the posterior."""
    return chain_counts(learned)._replace(emission=learned.counts.emission.T), learned.prior


def intervals(
    learned: Learned, posteriors: Iterable[tuple[HMMCounts, Prior]], level: float
) -> CredibleIntervals:
    """Credible intervals of start and transitions, and of what states emit."""
    posteriors = list(posteriors)
    chains = [(without_emission(counts), prior) for counts, prior in posteriors]
    found = mixture_intervals(chains, learned.layout, level)
    statistics = [counts.emission for counts, _ in posteriors]
    return found._replace(emission=intervals_of(learned.more.numeric.family, statistics, level))


def drawn(
    learned: Learned, states: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, Any]:
    """What each state emits, and what stands for nothing."""
    fitted: Fitted = learned.more.numeric
    numbers = np.random.default_rng(rng.randint(2**31 - 1))
    values = fitted.family.sample(fitted.point, states, numbers)
    return values[:, 0] if fitted.is_table else values, np.nan


def reordered(learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is learned of emissions, and attributes that tell it, if states had another order."""
    before: Fitted = learned.more.numeric
    family, counts = before.family, learned.counts
    counts = HMMCounts(*by.chain(counts.start, counts.transition), counts.emission[by.order])
    point, statistics = family.reordered(before.point, by.order), counts.emission.T
    scores = densities(before.reads, family, np.ascontiguousarray(statistics), point)
    numeric = before._replace(point=point, predicting=scores[0], scoring=scores[1])
    fields = {"counts": counts, "more": learned.more._replace(numeric=numeric)}
    return fields, family.attributes(point)


def _given(hmm: Any, learned: Learned, X: Any) -> tuple[Corpus, Any, None]:
    """New sequences, and what the fitted family observes; no state of theirs is known."""
    series = read_series_again(X, hmm, learned.more.numeric)
    return series.corpus, observations_of(series, learned.more.numeric.family), None
