"""What all models that have `partial_fit` share: batches in order, checks, what a batch leaves."""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.methods import check_sizes_of, without_lengths
from sklearn_cvb.estimators.parameters import Parameters
from sklearn_cvb.learning.algorithms import EM, Algorithm
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.learned import (
    FitJob,
    FitOutcome,
    FitResult,
    Learned,
    Reading,
    best_fit,
    result_of,
)
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.learning.requirements import check_requirements
from sklearn_cvb.learning.resuming import FitSaver
from sklearn_cvb.learning.sweeps import run_all
from sklearn_cvb.reading.validation import InvalidParameterError, warn
from sklearn_cvb.scikit_learn import fit_context
from sklearn_cvb.settings import StepSizes, gamma_prior_of
from sklearn_cvb.streams.one_batch import (
    BatchLearner,
    BatchSettings,
    BatchwiseEM,
    FittedBeginning,
    Stream,
    StreamCounts,
    batchwise,
    learn_batch,
)
from sklearn_cvb.streams.seen import SeenSoFar, seen_after

# What may not change between batches: the layout of all counts depends on it.
_LAYOUT = {
    *("n_components", "grammar", "rules", "transitions__topology", "transitions__end_state"),
    *("tag_dictionary__entries", "tag_dictionary__unknown_tags", "tag_dictionary__denoise"),
    *("emission__vocabulary", "emission__handle_unknown", "handle_unknown", "vocabulary"),
}
_NESTED = {name.partition("__")[0] for name in _LAYOUT if "__" in name}


class BatchFields(Parameters):
    """How `partial_fit` learns from one batch after another.

    Parameters
    ----------
    step_sizes : StepSizes or None
        How fast `partial_fit` forgets what is old; None for what suits the data.

    Attributes
    ----------
    n_batches_seen_ : int
        Batches of `partial_fit` since the last `fit`: of a store its pieces.
    """

    step_sizes: Annotated[Any, StepSizes, None] = None


class PartialFitModel(BatchFields, BaseModel):
    """A model that learns from one batch of sequences after another.

    Hooks: `_read_first` and `_read_batch` read a first batch and a later one, `_stream` holds the
    model of a batch.
    """

    @without_lengths
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch of sequences.

        The first call starts a model as `fit` does, from this batch alone; after `fit` it goes on
        from there. A batch is inferred from the counts so far, which then move towards its own (see
        `StepSizes`). They always sum to the tokens of all calls, or to those of `total_samples`
        sequences. New words enter the vocabulary unless it is given; tags and symbols are those of
        the first call, and so is what the forms of words say.

        Hidden Markov models that find their states without a dictionary or labels go through a
        batch in steps: a sequence, or a window of 100 tokens of a long one between borders of 10,
        is inferred from the counts of all before it. The first call begins with a fit to its first
        10,000 tokens by EM under the model's priors (`n_init`, `tol`, and `max_iter` up to 200),
        unless these are of long sequences and fewer than states times symbols. Elsewhere `n_init`
        is not used. Of numbers a batch is one step, and standard units, priors and categories are
        those of the first batch.

        `labels_`, `unexplained_` and `loo_score_` are of this batch. `history_` gets one value
        more: with EM and VB the new `objective_`, as if all tokens were like those of the batch.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Or a `CorpusStore` or `NumberStore`, each of whose pieces is a batch.
        y : list of sequences, default=None
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If what fixes the layout of the counts (such as `n_components` or `tag_dictionary`) has
            changed, a label is none of the tags, or a concentration is to be learned ("auto",
            "hdp").
        """
        for batch, labels in _batches_of(X, y):
            self._learn_batch(batch, labels)
        return self

    def _learn_batch(self, X: Any, y: Any) -> None:
        """Read a batch, and learn from it."""
        check_sizes_of(self)
        learned: Learned | None = vars(self).get("_learned")
        if learned is not None and "history_" not in learned.attribute_names:
            # Made of parameters: a first batch starts from these.
            learned = None
        self._check_streaming(learned)
        running: StreamCounts | None = None
        with announced_fit(self, self.verbose):
            if learned is None:
                reading = self._read_first(X, y)
            else:
                reading, running = self._read_batch(X, y, learned)
            warn(reading.messages)
            outcome = self._after_batch(reading, running)
        self._set_fitted(outcome, reading)

    # What a family says

    def _read_first(self, X: Any, y: Any) -> Reading:
        """A first batch."""
        return self._read(X, y)

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, StreamCounts]:
        """A batch that is not the first, and the counts so far."""
        raise NotImplementedError

    def _stream(self, model: Any) -> Stream:
        """The stream that holds the model of a batch."""
        raise NotImplementedError

    def _algorithm_of_batches(self) -> Algorithm[Any]:
        """The algorithm of batches: that of `fit`, unless a family says otherwise."""
        return self._algorithm()

    # What a fit, and a batch, leaves

    def _family_outcome(self, result: FitResult) -> FitOutcome:
        unexplained = result.best.state.unexplained
        seen = seen_after(None, result.reading.problem, unexplained, None, n_batches=0)
        return self._with_seen(super()._family_outcome(result), seen)

    def _with_seen(self, outcome: FitOutcome, seen: SeenSoFar, **others: Any) -> FitOutcome:
        """The outcome with how much was seen: `partial_fit` may go on from it."""
        seen = seen._replace(parameters=self._layout_parameters())
        return outcome._replace(
            learned=outcome.learned._replace(seen_so_far=seen, **others),
            attributes={**outcome.attributes, "n_batches_seen_": seen.n_batches},
        )

    def _after_batch(self, reading: Reading, running: StreamCounts | None) -> FitOutcome:
        """The outcome after one more batch."""
        algorithm, model = self._algorithm_of_batches(), self._model(reading)
        check_requirements(algorithm, model)
        learner = batchwise(algorithm)
        rng = spawn_generators(check_random_state(self.random_state), 1)[0]
        seen = None if running is None else self._learned.seen_so_far
        steps, stream = StepSizes.of(self.step_sizes), self._stream(model)
        sizes, decay = stream.pieces()
        decay = decay if steps.decay is None else steps.decay
        fitted = None if running is not None else self._fit_beginning(reading, learner, stream, rng)
        asked = decay, steps.offset, steps.total_samples
        course = BatchSettings(running, seen, fitted, sizes, *asked, rng)
        after = learn_batch(learner, stream, course)
        finished = model.finish(after.state, goes_on=False)
        if not algorithm.keeps_work:
            finished = finished._replace(work=None)
        # With the counts of all, under the prior without them.
        finished = finished._replace(counts=after.counts, prior=model.prior(finished.hyper))
        history = [] if running is None else self.history_.tolist()
        fits = [Fit(finished, [*history, after.value], False, after.objective)]
        outcome = self._outcome(result_of(fits, reading, algorithm, model))
        rare = stream.unknown_word_counts(after.counts, after.seen.uses)
        return self._with_seen(outcome, after.seen, unknown_word_counts=rare)

    def _fit_beginning(
        self, reading: Reading, learner: BatchLearner, stream: Stream, rng: np.random.Generator
    ) -> FittedBeginning | None:
        """EM's fit to the beginning of a first batch; None where all of it is swept over once.

        Under the prior of now: VB would lose states that a little data is no evidence for, and CVB
        has nothing to infer a single sequence from.
        """
        beginning, em = stream.beginning(), EM()
        if beginning is None:
            return None
        model, n_pieces, n_sweeps = beginning
        settings = self._fit_settings(reading)
        settings = settings._replace(max_iter=min(settings.max_iter, n_sweeps))
        if n_sweeps:
            job = FitJob(em, model, reading, settings)
            fits, interrupted = run_all(job, nullcontext(FitSaver()))
            if interrupted:
                raise KeyboardInterrupt
            state = best_fit(fits).state
        else:
            state = em.start(model, rng)
        own = learner.algorithm if isinstance(learner, BatchwiseEM) else em
        weights, _ = own.m_step(model, state.counts, state.prior, state.weights)
        result = model.infer(weights)
        if not n_sweeps:
            result = result._replace(counts=state.counts)
        return FittedBeginning(result, state.weights, n_pieces)

    # What batches must keep to

    def _check_streaming(self, learned: Learned | None) -> None:
        """Raise where `partial_fit` cannot go on, or cannot begin."""
        names = self._learned_priors()
        if names:
            raise InvalidParameterError(
                f"partial_fit keeps to its prior, but {' and '.join(names)} learns it: give "
                "numbers, or use fit"
            )
        if getattr(self, "update", None) == "viterbi":
            raise InvalidParameterError(
                "partial_fit counts all paths: update='viterbi' is for fit, take 'batch'"
            )
        if learned is None:
            return
        assert learned.seen_so_far is not None, "who has partial_fit leaves it"
        now = self._layout_parameters()
        for key, value in learned.seen_so_far.parameters.items():
            if not are_same(value, now[key]):
                raise InvalidParameterError(
                    f"{key} has changed since the first call or fit, and with it what the counts "
                    "mean: set it back, or begin again with fit"
                )

    def _learned_priors(self) -> list[str]:
        """Parameters whose concentrations are to be learned, as the user has given them."""
        values = {name: getattr(self, name, None) for name in ("alpha", "beta")}
        return [f"{k}={v!r}" for k, v in values.items() if gamma_prior_of(v) is not None]

    def _layout_parameters(self) -> dict[str, Any]:
        """Parameters that fix the layout of counts, those of nested ones by their own names."""
        found = self.get_params(deep=False)
        for name in _NESTED & found.keys():
            kind, value = self._settings[name], found[name]
            own = kind.from_value(value)
            found |= {f"{name}__{field}": part for field, part in vars(own).items()}
        return {name: found[name] for name in _LAYOUT & found.keys()}


def _batches_of(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """A batch, or those that a store is read in, and what is known of each."""
    if not hasattr(X, "pieces"):
        yield X, y
        return
    if y is not None and len(y) != len(X):
        raise ValueError(f"X holds {len(X)} sequences, and y is of {len(y)}")
    known = None if y is None else iter(y)
    for first, last in X.pieces():
        yield X[first:last], None if known is None else list(islice(known, last - first))
