"""Learning from one batch of sequences after another: `partial_fit`, whatever the model.

Stepwise EM (Cappé and Moulines 2009; Liang and Klein 2009), stochastic variational Bayes (Hoffman
et al. 2013) and stochastic collapsed variational Bayes (Foulds et al. 2013) are one scheme: the
running counts are mixed with those of a batch, scaled up to all tokens, and the next batch is
inferred from the mixture. Running counts sum to the tokens seen so far, or to those that
`total_samples` sequences would have.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from sklearn_cvb.compilation import announced_fit
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.loop import Fit, spawn_generators
from sklearn_cvb.learning.model import mixed, scaled
from sklearn_cvb.validation import (
    Interval,
    InvalidParameterError,
    check_sizes,
    fit_context,
    without_lengths,
)

if TYPE_CHECKING:
    from sklearn_cvb.base import BaseModel as _Model
else:
    _Model = object

# What may not change between batches: the layout of all counts depends on it.
_LAYOUT = (
    *("n_components", "grammar", "rules", "topology", "end_state", "emission"),
    *("tag_dictionary", "unknown_tags", "denoise", "handle_unknown", "vocabulary"),
)


CONSTRAINTS: dict = {
    "learning_decay": [Interval(Real, 0.5, 1.0, closed="right")],
    "learning_offset": [Interval(Real, 0.0, None, closed="left")],
    "total_samples": [Interval(Integral, 1, None, closed="left"), None],
}


class Seen(NamedTuple):
    """How much a model has learned from.

    Attributes
    ----------
    n_tokens, n_sequences : int
        Of all sequences that had a path or a tree.
    mass : float
        The tokens that the running counts stand for.
    n_batches : int
        Calls of `partial_fit` since the last `fit`.
    uses : ndarray of shape (n_words,)
        How often each word of the vocabulary was seen.
    """

    n_tokens: int
    n_sequences: int
    mass: float
    n_batches: int
    uses: np.ndarray


class Step(NamedTuple):
    """How counts are mixed: factors of the running counts and of those of the batch.

    `scale` is how many tokens stand for each of the batch where it is taken for all.
    """

    running: float
    batch: float
    scale: float


def step_size(n_seen: int, n_batch: int, decay: float, offset: float) -> float:
    """The share rho of the last batch in the counts.

    Parameters
    ----------
    n_seen : int
        Tokens seen so far, those of the batch among them.
    n_batch : int
        Tokens of the batch.
    decay, offset : float

    Returns
    -------
    float
        (offset + t) ** -decay, where t batches of this size were seen, but no less than 1 / t: what
        is new never counts for less than what is old. 1 for the first batch.

    Examples
    --------
    >>> from sklearn_cvb.streaming import step_size
    >>> [round(step_size(100 * t, 100, 0.7, 10.0), 3) for t in (1, 2, 4, 100)]
    [1.0, 0.5, 0.25, 0.037]
    """
    t = n_seen / n_batch
    return max(1.0 / t, (offset + t) ** -decay)


def step_for(before: Seen | None, after: Seen, decay: float, offset: float) -> Step:
    """The factors that mix running counts with those of a batch.

    Parameters
    ----------
    before : Seen or None
        None: there are no running counts.
    after : Seen
        With the batch.
    decay, offset : float

    Returns
    -------
    Step
    """
    n_batch = after.n_tokens - (0 if before is None else before.n_tokens)
    if not n_batch:
        return Step(1.0, 0.0, 1.0)
    rho = step_size(after.n_tokens, n_batch, decay, offset)
    kept = 0.0 if before is None else (1.0 - rho) * after.mass / before.mass
    scale = after.mass / n_batch
    return Step(kept, rho * scale, scale)


def seen_after(
    before: Seen | None,
    lengths: np.ndarray,
    uses: np.ndarray,
    total_samples: int | None,
    n_batches: int = 1,
) -> Seen:
    """What was seen, and `lengths` of further sequences, with the `uses` of all words so far."""
    n_tokens, n_sequences = int(lengths.sum()), len(lengths)
    if before is not None:
        n_tokens, n_sequences = n_tokens + before.n_tokens, n_sequences + before.n_sequences
        n_batches += before.n_batches
    scale = 1.0 if total_samples is None else total_samples / max(1, n_sequences)
    return Seen(n_tokens, n_sequences, scale * n_tokens, n_batches, uses)


class Running(NamedTuple):
    """What a batch is inferred from: counts of all before, laid out for the words of now.

    Attributes
    ----------
    counts : ndarray or tuple of ndarray
    kept : object
        Weights that rows without count and prior keep.
    """

    counts: Any
    kept: Any


class Swept(NamedTuple):
    """A batch after it was inferred.

    Attributes
    ----------
    state : object
        As sweeps of the algorithm leave it.
    counts : ndarray or tuple of ndarray
        Of the batch.
    values : callable
        ``values(scale) -> (value, objective)``: for the history, and what the objective is where
        the batch stands for `scale` times as many tokens.
    """

    state: Any
    counts: Any
    values: Callable[[float], tuple[float, float]]


def _learns_in_batches(model: Any) -> bool:
    """Whether there is `partial_fit`; if not, the error says why."""
    if model._why_no_batches:
        raise AttributeError(model._why_no_batches)
    return True


class StreamingMixin(_Model):
    """`partial_fit` for a family of models.

    Hooks: `_following_problem` reads a batch that is not the first, `_not_learned` says which
    sequences have no path or tree, `_uses_of_words` how often words occur, `_rare_of_all` what is
    known of words seen once.
    """

    learning_decay: float
    learning_offset: float
    total_samples: int | None
    # Whether a first batch is read.
    _streams: bool

    @property
    def _why_no_batches(self) -> str:
        """Why there is no `partial_fit`; empty where there is."""
        return ""

    @available_if(_learns_in_batches)
    @without_lengths
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch of sequences.

        The first call starts a model as `fit` does, from this batch alone and once (`n_init` is not
        used); after `fit` it goes on from there. A batch is inferred from the counts so far, which
        then move towards its own (see `learning_decay`). They always sum to the tokens of all
        calls, or to those of `total_samples` sequences. New words enter the vocabulary unless it is
        given; tags and symbols are those of the first call, and so is what the forms of words say.

        `labels_`, `unexplained_` and `loo_score_` are of this batch. `history_` gets one value
        more: with EM and VB the new `objective_`, as if all tokens were like those of the batch.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
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
        AttributeError
            If observations are numbers.
        """
        check_sizes(self.get_params(deep=False))
        self._check_streaming()
        before: Seen | None = getattr(self, "_seen", None)
        running: Running | None = None
        with self._unchanged_on_error(), announced_fit(self, self.verbose):
            if before is None:
                self._streams = True
                try:
                    problem = self._problem(X, y)
                finally:
                    del self._streams
                self._warn_of_data(problem)
            else:
                problem, running = self._following_problem(X, y)
            fitted = self._after_batch(problem, before, running)
            why = self._check_explained(fitted["unexplained_"], problem)
        self._keep(fitted, why)
        return self

    def _after_batch(
        self, problem: Any, before: Seen | None, running: Running | None
    ) -> dict[str, Any]:
        """All fitted attributes after one more batch."""
        rng = spawn_generators(check_random_state(self.random_state), 1)[0]
        swept = self._swept_batch(problem, running, rng)
        seen = self._seen_with(problem, self._not_learned(swept.state, problem), before)
        step = step_for(before, seen, self.learning_decay, self.learning_offset)
        if running is None:
            counts = scaled(swept.counts, step.batch)
        else:
            counts = mixed(running.counts, step.running, swept.counts, step.batch)
        value, objective = swept.values(step.scale)
        history = [] if before is None else self.history_.tolist()
        state = self._with_running_counts(swept.state, counts, problem)
        fit = Fit(state, [*history, value], False, objective)
        return self._fitted([fit], problem) | {
            "_seen": seen,
            "n_batches_seen_": seen.n_batches,
            "_resume": None,
            "_rare": self._rare_of_all(counts, seen),
        }

    def _algorithm_of_batches(self) -> Algorithm:
        """How batches are inferred."""
        return self._algorithm()

    def _swept_batch(
        self, problem: Any, running: Running | None, rng: np.random.Generator
    ) -> Swept:
        """One sweep over a batch, from the counts so far; over a first one from its start."""
        algorithm, model = self._algorithm_of_batches(), self._model(problem)
        if running is None:
            before = algorithm.start(model, rng)
        else:
            before = algorithm.before_batch(model, running)
        state, value = algorithm.sweep(before, model, rng)

        def values(scale: float) -> tuple[float, float]:
            return algorithm.batch_values(before, state, value, model, scale)

        return Swept(algorithm.finished(state, model, goes_on=False), state.counts, values)

    def _with_running_counts(self, state: Any, counts: Any, problem: Any) -> Any:
        """The state of a batch with the counts of all, under the prior without them."""
        return state._replace(counts=counts, prior=self._model(problem).prior(state.hyper))

    def _given_corpus(self, problem: Any) -> Any:
        """The corpus as it was read."""
        return problem.corpus

    def _seen_with(self, problem: Any, unexplained: np.ndarray, before: Seen | None) -> Seen:
        """What was seen, with this batch (None before it: this one alone)."""
        lengths = np.delete(np.diff(self._given_corpus(problem).starts), unexplained)
        uses = self._uses_of_words(problem)
        if before is not None:
            uses[: len(before.uses)] += before.uses
        return seen_after(before, lengths, uses, self.total_samples)

    def _fitted(self, fits: list[Fit], problem: Any) -> dict[str, Any]:
        """All fitted attributes, and what `partial_fit` goes on from."""
        fitted = super()._fitted(fits, problem)
        if self._why_no_batches:
            return fitted
        seen = self._seen_with(problem, fitted["unexplained_"], None)
        return fitted | {
            "n_batches_seen_": 0,
            "_seen": seen._replace(n_batches=0, mass=float(seen.n_tokens)),
            "_laid_out_for": {name: getattr(self, name) for name in _LAYOUT if hasattr(self, name)},
        }

    def _check_streaming(self) -> None:
        """Raise where `partial_fit` cannot go on, or cannot begin."""
        learned = [f"{key}='auto'" for key in ("alpha", "beta") if self._is_auto(key)]
        if getattr(self, "transition_prior", "dirichlet") == "hdp":
            learned.append("transition_prior='hdp'")
        if learned:
            raise InvalidParameterError(
                f"partial_fit keeps to its prior, but {' and '.join(learned)} learns it: give "
                "numbers, or use fit"
            )
        if not hasattr(self, "_laid_out_for"):
            if hasattr(self, "counts_"):
                raise ValueError("partial_fit cannot go on from a fit to numbers: use a new model")
            return
        for key, value in self._laid_out_for.items():
            if not _same(value, getattr(self, key)):
                raise InvalidParameterError(
                    f"{key} has changed since the first call or fit, and with it what the counts "
                    "mean: set it back, or begin anew with fit"
                )

    def _is_auto(self, name: str) -> bool:
        value = getattr(self, name, None)
        return isinstance(value, str) and value == "auto"


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are the same."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    try:
        return bool(one == other)
    except ValueError:
        return False
