"""Hidden Markov models of numbers, as estimators fit and apply them: series are read to be fitted,
and to be predicted of, and a fit leaves what its states emit.
"""

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sklearn_cvb.chain.numbers.e_step import (
    NumberWeights,
    NumericProblem,
)
from sklearn_cvb.chain.numbers.input_transitions import (
    InputChain,
    check_inputs,
    layout_with_inputs,
    with_states_in_order,
    without_tables,
)
from sklearn_cvb.chain.numbers.model import (
    EmissionFit,
    NumberChain,
    prediction_scores,
    without_emission,
)
from sklearn_cvb.chain.numbers.series import (
    columns_asked,
    emission_of,
    new_series,
    read_observations,
    refuse_other_sizes,
    series_in_fitted_columns,
    series_to_fit,
    split_into_steps,
    with_common_columns,
)
from sklearn_cvb.chain.numbers.starts import model_posterior
from sklearn_cvb.chain.numbers.weighted import NumericSequences, WeightedNumbers, weighted_numbers
from sklearn_cvb.chain.observation import EmissionOutcome, Observation
from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    log_weights,
    posterior_mean,
    prior_settings,
    shared_weights,
)
from sklearn_cvb.chain.parameters.user_tables import (
    columns_of_tables,
    fixed_rows,
    known_parameters,
    with_tables,
)
from sklearn_cvb.chain.paths.known_states import known_states, refuse_impossible
from sklearn_cvb.chain.paths.lattice import Cells, ChainLayout
from sklearn_cvb.chain.paths.transitions import cells_under
from sklearn_cvb.chain.predictions.prediction import (
    chain_counts,
    mean_and_log,
    state_transitions,
)
from sklearn_cvb.chain.starts.state_merging import is_vague
from sklearn_cvb.chain.symbols.observed import update_unit_of
from sklearn_cvb.emissions.emission import (
    Family,
    Scores,
    point_from_user,
    refuse_learning_from_steps,
)
from sklearn_cvb.emissions.fixed import FixedFamily
from sklearn_cvb.emissions.semi_markov import SemiMarkovFamily, law_of_durations
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.learning.threads import threads_for_each
from sklearn_cvb.reading.corpus import Corpus, Table, arrange, as_array
from sklearn_cvb.reading.moments import Moments, moments_of, moments_with_labels
from sklearn_cvb.reading.series import FittedColumns, Series, as_series, by_name, cautions_of_shape
from sklearn_cvb.reading.validation import InvalidParameterError, warn
from sklearn_cvb.settings import Durations

# Settings


def refuse_settings_of_symbols(options: ChainOptions) -> None:
    """Raise where a model is set to what only chains of symbols can do."""
    # Samplers draw parameters, too; CVB, which has windows, leaves out sequences.
    is_sampler, emission = options.samples is not None, emission_of(options.emission)
    own = [name for name in emission.get_params(deep=False) if name.endswith("prior")]
    of_symbols = {
        "beta": (
            options.is_beta_given,
            f"emissions have priors of their own, {', '.join(own) or 'those of its parts'} of "
            f"{type(emission).__name__}",
        ),
        "update": (
            options.update not in (None, "parameter") if is_sampler else options.update == "token",
            "take update='parameter'" if is_sampler else "Windows(1) leaves out one step at a time",
        ),
        "samples": (
            options.samples is not None and options.samples.temperatures is not None,
            "chains are not annealed: leave temperatures out, and take more restarts (n_init)",
        ),
    }
    for name, (is_asked, instead) in of_symbols.items():
        if is_asked:
            raise InvalidParameterError(
                f"{name}={getattr(options, name)!r} is for symbols alone: with numbers {instead}"
            )


# The observation


@dataclass(frozen=True)
class NumberObservation(Observation):
    """Series of numbers: columns of floats, and of categories as their codes."""

    has_vocabulary = False
    sample_hint = "predict_next(X, n_steps).samples are drawn to follow given sequences"

    def check(self) -> None:
        """Checks that the declared constraints cannot express."""
        super().check()
        refuse_settings_of_symbols(self.options)

    # Fitting

    def read(self, X: Any, y: Any, *, streams: bool = False) -> Reading:
        """X and y, to be fitted to."""
        options, start = self.options, None
        series, attributes, messages = series_to_fit(options, X, y)
        if self.sample_weight is not None:
            series = series._replace(corpus=series.corpus.weighted(self.sample_weight))
        given = series.corpus
        if hasattr(options.init, "predict_proba"):
            own = X.given if isinstance(X, Table) else X
            start = model_posterior(options.init, own, given, options.n_components)
        laid_out = layout_of(options, series.emitted_names, moments_with_labels(series))
        cells, family, settings = laid_out
        corpus = split_into_steps(given, cells)
        if options.transitions.contexts is not None:
            assert series.contexts is not None, "they were given"
            n_tables = 1 + int(series.contexts.max())
            has_new = options.transitions.prior == "pooled"
            tables = {"n_tables": n_tables + has_new, "has_contexts": True, "has_new": has_new}
            cells = cells._replace(chain=cells.chain._replace(**tables))
        if series.inputs is not None:
            classifier = options.transitions.classifier
            check_inputs(series.inputs, cells.n_states, classifier)
            cells = layout_with_inputs(cells, len(series.inputs))
        problem = NumericProblem(
            corpus,
            given,
            read_observations(series, family),
            family,
            cells,
            series.columns,
            series.rows_are_sequences,
            start,
            settings,
            labelled_states(options, y, given, cells),
            contexts=series.contexts,
            inputs=series.inputs,
        )
        return Reading(problem, None, attributes, messages, self)

    def with_common_columns(self, X: Any) -> Any:
        """Sequences, some of which are to be fitted to at a time, with the columns of all."""
        return with_common_columns(self.options, X)

    def model(self, reading: Reading) -> NumberChain:
        """What is learned from a problem."""
        options, left_out, problem = self.options, update_unit_of(self.options), reading.problem
        n_restarts = 1 if options.fixed_start else self.n_restarts(reading)
        init = self.state_merging if self.joins_states(reading) else options.init
        first = prior_settings(options, None, is_vague(init))
        kind = getattr(problem, "chain", NumberChain)
        if problem.inputs is not None:
            kind = partial(InputChain, estimator=options.transitions.classifier)
        return kind(
            problem,
            with_tables(first, options, problem.cells, None),
            init,
            None if left_out is None else left_out.block_length,
            threads_for_each(n_restarts, options.n_jobs),
        )

    def joins_states(self, reading: Reading) -> bool:
        """Where their number is chosen."""
        return self.options.chooses_states and reading.problem.known is None

    # What a fit leaves

    def emission_outcome(
        self, state: Any, counts: HMMCounts, chain: NumberChain
    ) -> EmissionOutcome:
        """Public counts and emissions, and weights that rows keep."""
        n, numeric = chain.cells.n_emitting, chain.emissions(state, counts)
        transition = counts.transition[:n, :n]
        if chain.cells.chain.has_contexts:
            transition = state_transitions(counts.transition, chain.cells)
        public = HMMCounts(counts.start[:n], transition, counts.emission.T)
        attributes = {"counts_": public, "n_columns_": numeric.family.n_columns}
        attributes |= numeric.family.attributes(numeric.point)
        kept = None if state.weights is None else state.weights.chain
        return EmissionOutcome(attributes, kept, numeric=numeric)

    def outcome(self, result: FitResult) -> FitOutcome:
        """What the best restart leaves."""
        found, problem = super().outcome(result), result.reading.problem
        if problem.inputs is None:
            return found
        return without_tables(found, result.best.state.hyper, problem.inputs)

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """States of all given steps: by the last posterior, or Viterbi by the final weights."""
        state, problem, chain = result.best.state, result.reading.problem, result.model
        posterior = chain.state_posteriors(state)
        if posterior is None:
            training = under_final_weights(chain, state, result.algorithm.averages)
            path = training.best_path()[0]
        else:
            path = posterior.argmax(axis=1)
        labels = arrange(problem.original, path.astype(np.int64), -1)
        return {"labels_": labels, **shared_weights(state.hyper, np.bincount(path, minlength=1))}

    def posteriors(self, state: Any, reading: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given steps: the last ones, or under the final weights."""
        chain = self.model(reading)
        posterior = chain.state_posteriors(state)
        if posterior is None:
            again = under_final_weights(chain, state, averages)
            posterior = again.table(again.entries()[0])
        return posterior

    # Reading a fitted model

    def training_input(self, learned: Learned, X: Any) -> Series:
        """The training sequences once more, in the columns of the fit."""
        return series_in_fitted_columns(self.options, learned, X)

    def read_new(self, learned: Learned, X: Any) -> NumericSequences:
        """New sequences with the columns that were fitted; no state is known."""
        X, numeric = as_series(X), learned.extra.numeric
        series = new_series(self.options, learned, X)
        # What is read already needs no second look.
        if not (numeric.rows_are_sequences or isinstance(X, Series)):
            warn(cautions_of_shape(X, series, self.options.words.is_ordered))
        return NumericSequences(
            series.corpus,
            read_observations(series, numeric.family),
            contexts=series.contexts,
            inputs=series.inputs,
            transitions=numeric.transitions,
        )

    def read_under(
        self,
        learned: Learned,
        X: Any,
        chain: tuple[ChainWeights, ChainWeights],
        means: bool = False,
    ) -> WeightedNumbers:
        """Sequences under weights and their logs, and densities for states or for likelihoods."""
        numeric, new = learned.extra.numeric, self.read_new(learned, X)
        scores = numeric.scoring if means else numeric.predicting
        return weighted_numbers(new, chain, scores, learned.layout)

    def read_under_samples(
        self, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, ChainPrior]] | None
    ) -> tuple[Iterable[WeightedNumbers], np.ndarray]:
        """Under the mean weights, or those of each sample; how many steps have a likelihood."""
        new, numeric, cells = self.read_new(learned, X), learned.extra.numeric, learned.layout
        if samples is None:
            each: Iterable[Any] = [(mean_and_log(learned), numeric.scoring)]
        else:
            each = (_predictive(numeric.family, *sample, cells) for sample in samples)
        found = (weighted_numbers(new, chain, scores, cells) for chain, scores in each)
        # Steps that lack inputs, or the steps before, have none.
        is_observed = numeric.family.observed_mask(new.observations).any(axis=1)
        counted = np.append(0, np.cumsum(is_observed))
        return found, np.diff(counted[new.corpus.starts])

    def read_under_each(
        self, learned: Learned, X: Any, weights: Iterable[NumberWeights]
    ) -> tuple[Iterable[WeightedNumbers], np.ndarray]:
        """Sequences under each of some parameters; and how many steps were observed."""
        new, cells = self.read_new(learned, X), learned.layout
        family = learned.extra.numeric.family
        at = ((one.chain, log_weights(one.chain), one.point) for one in weights)
        scored = ((own, logs, family.log_densities(point)) for own, logs, point in at)
        found = (weighted_numbers(new, (own, logs), scores, cells) for own, logs, scores in scored)
        return found, new.corpus.observed_lengths

    def next_input(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """The step of an observation as X, after those that an autoregression looks back on.

        `before` is what was made of the observation before, None for none. One that is missing
        lacks all columns.
        """
        family, columns = learned.extra.numeric.family, learned.extra.numeric.columns
        step = columns.step(observation, family.n_columns, columns_asked(self.options))
        past = [] if before is None else before[0]
        return [[*past[len(past) - family.order :], step]] if family.order else [[step]]

    def arrange(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States in the shape of the input."""
        return arrange(corpus, path.astype(np.int64), -1)

    def last_steps(self, learned: Learned, X: Any) -> np.ndarray:
        """The steps (n_sequences, order, n_columns) that tell what comes after each sequence."""
        series, order = new_series(self.options, learned, X), learned.extra.numeric.family.order
        ends = series.corpus.starts[1:]
        short = np.flatnonzero(np.diff(series.corpus.starts) < order)
        if len(short):
            raise ValueError(
                f"sequence {short[0]} has less than the {order} steps that forecasts need"
            )
        table = series.table[ends[:, None] + np.arange(-order, 0)]
        lost = np.flatnonzero(np.isnan(table).any(axis=(1, 2)))
        if len(lost):
            raise ValueError(
                f"sequence {lost[0]} has missing values among its last {order} steps, which "
                "forecasts go on from"
            )
        return table

    def draw_emissions(
        self,
        learned: Learned,
        states: np.ndarray,
        starts: np.ndarray,
        rng: np.random.RandomState,
        contexts: np.ndarray | None,
    ) -> tuple[np.ndarray, Any]:
        """What each state emits, in sequences that begin at `starts`, and what stands for nothing.

        With contexts in their column, and labels of categories.
        """
        fitted: EmissionFit = learned.extra.numeric
        numbers = np.random.default_rng(rng.randint(2**31 - 1))
        family, point = fitted.family, fitted.point
        if family.order:
            # What was before a sequence tells of its first steps, and not what was in another one.
            each = np.split(states, starts[1:-1])
            values = np.concatenate([family.sample(point, own, numbers) for own in each])
        else:
            values = family.sample(point, states, numbers)
        if contexts is not None and fitted.columns.context is not None:
            values = np.insert(values, fitted.columns.context, contexts, axis=1)
        return values[:, 0] if fitted.rows_are_sequences else _with_labels(fitted, values), np.nan

    def reorder_states(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is learned of emissions, and attributes that tell it, in another order of states."""
        before: EmissionFit = learned.extra.numeric
        family, counts = before.family, learned.counts
        start, transition = by.chain(counts.start, counts.transition)
        counts = HMMCounts(start, transition, counts.emission[by.order])
        point, statistics = family.permuted_point(before.point, by.order), counts.emission.T
        family = family.permuted(by.order)
        scores = prediction_scores(before.reads, family, np.ascontiguousarray(statistics), point)
        numeric = before._replace(family=family, point=point, predicting=scores[0])
        numeric, attributes = numeric._replace(scoring=scores[1]), family.attributes(point)
        if numeric.transitions is not None:
            found = with_states_in_order(numeric.transitions, by.order)
            numeric = numeric._replace(transitions=found)
            attributes |= {"transition_estimators_": list(found)}
        return {"counts": counts, "extra": learned.extra._replace(numeric=numeric)}, attributes


# From options


def labelled_states(
    options: ChainOptions, y: Any, given: Corpus, cells: Cells
) -> np.ndarray | None:
    """States of all steps by the labels in `y`, -1 where not known; None where none are."""
    if y is None or options.supervision != "y":
        return None
    known = known_states(y, given, cells.n_emitting)
    topology = cells.chain.topology
    if topology is not None:
        stays = cells.chain.longest * np.eye(cells.n_states, dtype=bool)
        transition = topology.transition | (stays > 0)
        refuse_impossible(known, given, topology._replace(transition=transition))
    return known


def settings_of(options: ChainOptions) -> bytes:
    """Settings that give statistics their meaning, pickled: emission and laws of durations."""
    emission, durations = emission_of(options.emission), options.transitions.durations
    return pickle.dumps(emission if durations is None else (emission, durations))


def layout_of(
    asked: ChainOptions, names: list[Any] | None, moments: Moments
) -> tuple[Cells, Family, bytes]:
    """The cells of the chain, the family of columns with these names and moments, and settings."""
    emission, transitions = emission_of(asked.emission), asked.transitions
    n_states = asked.n_components
    # A chain without cells of emissions.
    chain = ChainLayout(is_stationary=transitions.start == "stationary")
    cells = Cells(np.zeros(1, np.int64), np.empty(0, np.int32), n_states, 0, chain)
    cells = cells_under(cells, transitions)
    if names is not None:
        columns_of_tables(asked, emission).places_in(names, "X")
    family = emission.numbered(names).bind(moments, n_states)
    if not asked.kind.by_em:
        refuse_learning_from_steps(family, f"{asked.name}: they have no posterior, take EMHMM")
    rows = fixed_rows(asked, n_states).get("emissions")
    if rows is not None:
        emitted = known_parameters(asked).emitted
        known = point_from_user(
            family, {name: emitted[name] for name in emitted if name != "durations"}
        )
        family = FixedFamily(family, known, rows)
    return cells, _with_durations(family, cells, transitions.durations), settings_of(asked)


def _with_durations(family: Family, cells: Cells, durations: str | Durations | None) -> Family:
    """A family whose states last by laws of their own, where these are asked for."""
    if durations is None or cells.chain.topology is None:
        return family
    refuse_learning_from_steps(family, "durations")
    longest = cells.chain.longest
    law = law_of_durations(Durations.of(durations).law, longest, cells.n_states)
    endless = np.flatnonzero(np.diagonal(cells.chain.topology.transition))
    return SemiMarkovFamily(family, law, longest, endless)


def emission_start(asked: ChainOptions, cells: Cells) -> EmissionFit:
    """What states emit under the parameters that `init` gives, and what is known of columns."""
    emission, given = emission_of(asked.emission), asked.init.emitted
    names, categories = columns_of_tables(asked, emission)[:2]
    names = names or emission.named()
    emission = emission.numbered(names)
    moments = moments_of(emission.example(given))
    columns = FittedColumns(names, by_name(categories, names))
    refuse_other_sizes(columns, moments)
    family = emission.bind(moments, asked.n_components)
    family = _with_durations(family, cells, asked.transitions.durations)
    point = point_from_user(family, given)
    fitted = EmissionFit(
        family, point, *(family.log_densities(point),) * 2, columns, False, "point"
    )
    return fitted._replace(longest=cells.chain.longest)


# Under weights


def under_final_weights(
    chain: NumberChain, state: Any, averages: bool, training: NumericSequences | None = None
) -> WeightedNumbers:
    """Training sequences under the final weights: all, or some of them."""
    problem, cells = chain.problem, chain.cells
    if training is None:
        training = NumericSequences(
            *(problem.original, problem.observations, problem.known, problem.contexts),
            problem.inputs,
        )
    weights = chain.final_weights(state, averages=averages)
    return weighted_numbers(
        training, weights, chain.emissions(state, state.counts).predicting, cells
    )


def _predictive(
    family: Family, counts: HMMCounts, prior: ChainPrior, cells: Cells
) -> tuple[tuple[ChainWeights, ChainWeights], Scores]:
    """Mean weights and their logs, and predictive log densities, given the counts of a sample."""
    weights = posterior_mean(without_emission(counts), prior, cells)
    return (weights, log_weights(weights)), family.predictive(counts.emission)


def counts_of_fit(learned: Learned) -> HMMCounts:
    """The counts and statistics that a fit left, laid out as its model has them."""
    return chain_counts(learned)._replace(emission=learned.counts.emission.T)


def _with_labels(fitted: EmissionFit, values: np.ndarray) -> np.ndarray:
    """The same table, with labels for their codes where columns hold categories."""
    names, categories = fitted.columns[:2]
    if not categories:
        return values
    shown = values.astype(object)
    for name, labels in categories.items():
        column = name if names is None else names.index(name)
        shown[:, column] = as_array(labels)[values[:, column].astype(int)]
    return shown
