"""Learning from one batch of sequences after another: `partial_fit`, whatever the model.

Stepwise EM (Cappé and Moulines 2009; Liang and Klein 2009), stochastic variational Bayes (Hoffman
et al. 2013) and stochastic collapsed variational Bayes (Foulds et al. 2013) are one scheme: the
running counts are mixed with those of a batch, scaled up to all tokens, and the next batch is
inferred from the mixture. Running counts sum to the tokens seen so far, or to those that
`total_samples` sequences would have. A model says in how many steps a batch is gone through.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.learned import Learned, Left, Reading, result_of
from sklearn_cvb.learning.model import Fit, Model, State, mapped, mixed
from sklearn_cvb.reading.validation import (
    InvalidParameterError,
    available_if,
    check_sizes,
    fit_context,
    tell,
    without_lengths,
)
from sklearn_cvb.settings import gamma_prior_of, setting_of

# What may not change between batches: the layout of all counts depends on it.
_LAYOUT = {
    *("n_components", "grammar", "rules", "transitions__topology", "transitions__end_state"),
    *("tag_dictionary__entries", "tag_dictionary__unknown_tags", "tag_dictionary__denoise"),
    *("emission__vocabulary", "emission__handle_unknown", "handle_unknown", "vocabulary"),
}
_NESTED = {name.partition("__")[0] for name in _LAYOUT if "__" in name}


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
    parameters : dict
        Those that fix the layout of the counts.
    """

    n_tokens: int
    n_sequences: int
    mass: float
    n_batches: int
    uses: np.ndarray
    parameters: dict[str, Any]


class Batch(NamedTuple):
    """How much there is in a batch: tokens and sequences with a path or a tree, uses of words."""

    n_tokens: int
    n_sequences: int
    uses: np.ndarray


class Step(NamedTuple):
    """How counts are mixed: factors of the running counts and of those of the batch.

    `scale` is how many tokens stand for each of the batch where it is taken for all. Of several
    steps one after the other arrays.
    """

    running: Any
    batch: Any
    scale: Any


def step_size(n_seen: Any, n_batch: Any, decay: float, offset: float) -> Any:
    """The share rho of the last batch in the counts.

    Parameters
    ----------
    n_seen : int or ndarray of int
        Tokens seen so far, those of the batch among them.
    n_batch : int or ndarray of int
        Tokens of the batch.
    decay, offset : float

    Returns
    -------
    float or ndarray of float
        (offset + t) ** -decay, where t batches of this size were seen, but no less than 1 / t: what
        is new never counts for less than what is old. 1 for the first batch.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.streams.in_batches import step_size
    >>> step_size(100 * np.array([1, 2, 4, 100]), 100, 0.7, 10.0).round(3).tolist()
    [1.0, 0.5, 0.25, 0.037]
    """
    t = n_seen / n_batch
    return np.maximum(1.0 / t, (offset + t) ** -decay)


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


def seen_after(before: Seen | None, batch: Batch, estimator: Any, n_batches: int = 1) -> Seen:
    """What was seen with one more batch (None before it: that one alone)."""
    n_tokens, n_sequences, uses = batch
    if before is not None:
        n_tokens, n_sequences = n_tokens + before.n_tokens, n_sequences + before.n_sequences
        uses = uses.copy()
        uses[: len(before.uses)] += before.uses
        n_batches += before.n_batches
    total = setting_of(estimator, "step_sizes").total_samples
    scale = 1.0 if total is None else total / max(1, n_sequences)
    return Seen(
        n_tokens, n_sequences, scale * n_tokens, n_batches, uses, _layout_parameters(estimator)
    )


def seen_by_fit(estimator: Any, batch: Batch) -> Seen:
    """What a fit has seen, from which `partial_fit` may go on."""
    return Seen(
        batch.n_tokens,
        batch.n_sequences,
        float(batch.n_tokens),
        0,
        batch.uses,
        _layout_parameters(estimator),
    )


def _layout_parameters(estimator: Any) -> dict[str, Any]:
    found = estimator.get_params(deep=False)
    for name, kind in estimator._settings.items():
        if name in _NESTED & found.keys():
            value = found[name]
            plain = {kind._plain: value} if kind._plain and value is not None else {}
            own = value if isinstance(value, kind) else kind(**plain)
            found |= {f"{name}__{field}": part for field, part in vars(own).items()}
    return {name: found[name] for name in _LAYOUT & found.keys()}


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


def _learns_in_batches(estimator: Any) -> bool:
    """Whether there is `partial_fit`; if not, the error says why."""
    if estimator._why_no_batches:
        raise AttributeError(estimator._why_no_batches)
    return True


_Estimator = TypeVar("_Estimator")


# A method of the families that have it, which take it over as it is.
@available_if(_learns_in_batches)
@without_lengths
@fit_context(prefer_skip_nested_validation=True)
def partial_fit(self: _Estimator, X: Any, y: Any = None) -> _Estimator:
    """Learn from one more batch of sequences.

    The first call starts a model as `fit` does, from this batch alone and once (`n_init` is not
    used); after `fit` it goes on from there. A batch is inferred from the counts so far, which
    then move towards its own (see `StepSizes`). They always sum to the tokens of all
    calls, or to those of `total_samples` sequences. New words enter the vocabulary unless it is
    given; tags and symbols are those of the first call, and so is what the forms of words say.

    Hidden Markov models that find their states without a dictionary or labels go through a batch in
    steps: a sequence, or a window of 100 tokens of a long one between borders of 10, is inferred
    from the counts of all before it. Of numbers a batch is one step, and standard units, priors and
    categories are those of the first batch.

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
        learn_batch(self, batch, labels)
    return self


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


def learn_batch(estimator: Any, X: Any, y: Any) -> None:
    """`partial_fit` of an estimator.

    Its hooks: `_read` (with ``streams=True``) and `_read_batch` read a first batch and a later one,
    `_batch_of` says how much there is in one, `_rare_of_all` what is known of words seen once;
    `_why_no_batches` is empty where it learns in batches at all.
    """
    check_sizes(estimator.get_params())
    learned: Learned | None = vars(estimator).get("_learned")
    if learned is not None and "history_" not in learned.names:
        # Made of parameters: a first batch starts from these.
        learned = None
    _check_streaming(estimator, learned)
    running: Running | None = None
    with announced_fit(estimator, estimator.verbose):
        if learned is None:
            read = estimator._read(X, y, streams=True)
        else:
            read, running = estimator._read_batch(X, y, learned)
        tell(read.messages)
        left = _after_batch(estimator, read, running)
    estimator._leave(left, read)


class After(NamedTuple):
    """What one more batch leaves: the state with its own counts, those of all, and values."""

    state: State
    counts: Any
    seen: Seen
    value: float
    objective: float


def _after_batch(estimator: Any, read: Reading, running: Running | None) -> Left:
    """What is left after one more batch."""
    algorithm, model = estimator._algorithm_of_batches(), estimator._model(read)
    rng = spawn_generators(check_random_state(estimator.random_state), 1)[0]
    before = None if running is None else estimator._learned.seen
    steps, (sizes, decay) = setting_of(estimator, "step_sizes"), model.pieces()
    decay = decay if steps.decay is None else steps.decay
    past = Past(running, before, sizes, decay, steps.offset, rng)
    one_batch = _in_one_step if sizes is None else _in_steps
    after = one_batch(estimator, algorithm, model, read, past)
    finished = model.finished(after.state, goes_on=False)
    if not algorithm.keeps_work:
        finished = finished._replace(work=None)
    finished = estimator._with_running_counts(finished, after.counts, model)
    history = [] if running is None else estimator.history_.tolist()
    fits = [Fit(finished, [*history, after.value], False, after.objective)]
    left = estimator._outcome(result_of(fits, read, algorithm, model))
    rare = estimator._rare_of_all(after.counts, after.seen, read)
    return left._replace(
        learned=left.learned._replace(seen=after.seen, rare=rare),
        attributes={**left.attributes, "n_batches_seen_": after.seen.n_batches},
    )


class Past(NamedTuple):
    """What a batch goes on from, and how.

    Attributes
    ----------
    running : Running or None
        Counts so far; None: there are none.
    seen : Seen or None
    sizes : ndarray of int or None
        Tokens of each step; None: all are one.
    decay, offset : float
    rng : numpy.random.Generator
    """

    running: Running | None
    seen: Seen | None
    sizes: Any
    decay: float
    offset: float
    rng: np.random.Generator


def _in_one_step(
    estimator: Any, algorithm: Algorithm, model: Model, read: Reading, past: Past
) -> After:
    """One sweep over a batch, from the counts so far or a start, which are then mixed."""
    running, seen, _, decay, offset, rng = past
    if running is None:
        before = algorithm.start(model, rng)
    else:
        before = algorithm.before_batch(model, running)
    state, value = algorithm.sweep(before, model, rng)
    now = seen_after(seen, estimator._batch_of(read, state), estimator)
    step = step_for(seen, now, decay, offset)
    counts = mapped(lambda one: step.batch * one, state.counts)
    if running is not None:
        counts = mixed(running.counts, step.running, state.counts, step.batch)
    values = algorithm.batch_values(before, state, value, model, step.scale)
    return After(state, counts, now, *values)


def _in_steps(
    estimator: Any, algorithm: Algorithm, model: Model, read: Reading, past: Past
) -> After:
    """The pieces of a batch one after the other, each mixed in before the next is inferred.

    From the beginning on counts stand for all tokens, those of the batch among them.
    """
    running, seen, sizes, decay, offset, rng = past
    hyper = model.hyper()
    state = State(None, prior := model.prior(hyper), hyper)
    whole = seen_after(seen, estimator._batch_of(read, state), estimator)
    if running is None or seen is None:
        counts, n_before = model.first_counts(prior, rng, whole.mass), 0
    else:
        counts = mapped(lambda one: one * (whole.mass / seen.mass), running.counts)
        n_before = seen.n_tokens
        state = state._replace(weights=running.kept)
    rho = step_size(n_before + np.cumsum(sizes), sizes, decay, offset)
    steps = Step(1.0 - rho, rho * whole.mass / sizes, whole.mass / sizes)
    found = model.step_on(counts, prior, steps, averages=algorithm.averages)
    state = state._replace(unexplained=found.unexplained, n_sweeps=1)
    # Sequences that nothing explains turn out on the way.
    now = seen_after(seen, estimator._batch_of(read, state), estimator)
    counts = mapped(lambda one: one * (now.mass / whole.mass), found.counts)
    scale = now.mass / max(1, now.n_tokens - n_before)
    state, value = algorithm.after_steps(model, state._replace(counts=counts), found.total, scale)
    return After(state, counts, now, value, value)


def _check_streaming(estimator: Any, learned: Learned | None) -> None:
    """Raise where `partial_fit` cannot go on, or cannot begin."""
    names = [
        f"{key}={value!r}"
        for key in ("alpha", "beta")
        if gamma_prior_of(value := getattr(estimator, key, None)) is not None
    ]
    if "transitions" in estimator._settings and setting_of(estimator, "transitions").shared:
        names.append("an HDP as prior of transitions")
    if names:
        raise InvalidParameterError(
            f"partial_fit keeps to its prior, but {' and '.join(names)} learns it: give "
            "numbers, or use fit"
        )
    if learned is None:
        return
    assert learned.seen is not None, "who has partial_fit leaves it"
    now = _layout_parameters(estimator)
    for key, value in learned.seen.parameters.items():
        if not are_same(value, now[key]):
            raise InvalidParameterError(
                f"{key} has changed since the first call or fit, and with it what the counts "
                "mean: set it back, or begin anew with fit"
            )
