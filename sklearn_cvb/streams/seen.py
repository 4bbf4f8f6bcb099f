"""Tokens seen so far, and the step size: how far one more batch moves running counts."""

from typing import Any, NamedTuple

import numpy as np


class SeenSoFar(NamedTuple):
    """How much data a model has learned from, all batches together.

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


def seen_after(
    before: SeenSoFar | None,
    problem: Any,
    unexplained: np.ndarray,
    total_samples: int | None,
    n_batches: int = 1,
) -> SeenSoFar:
    """What was seen with one more batch (None before it: that one alone).

    Sequences of the batch that nothing explains do not count.
    """
    # Numbers are no words.
    uses = getattr(problem, "word_uses", np.empty(0, np.int64))
    n_tokens, n_sequences = problem.sizes_without(unexplained)
    parameters: dict[str, Any] = {}
    if before is not None:
        n_tokens, n_sequences = n_tokens + before.n_tokens, n_sequences + before.n_sequences
        uses = uses.copy()
        uses[: len(before.uses)] += before.uses
        n_batches, parameters = n_batches + before.n_batches, before.parameters
    scale = 1.0 if total_samples is None else total_samples / max(1, n_sequences)
    return SeenSoFar(n_tokens, n_sequences, scale * n_tokens, n_batches, uses, parameters)


class MixingFactors(NamedTuple):
    """Factors by which running counts and those of a batch are mixed.

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
    >>> from sklearn_cvb.streams.seen import step_size
    >>> step_size(100 * np.array([1, 2, 4, 100]), 100, 0.7, 10.0).round(3).tolist()
    [1.0, 0.5, 0.25, 0.037]
    """
    t = n_seen / n_batch
    return np.maximum(1.0 / t, (offset + t) ** -decay)


def mixing_factors(
    before: SeenSoFar | None, after: SeenSoFar, decay: float, offset: float
) -> MixingFactors:
    """The factors that mix running counts with those of a batch.

    Parameters
    ----------
    before : SeenSoFar or None
        None: there are no running counts.
    after : SeenSoFar
        With the batch.
    decay, offset : float

    Returns
    -------
    MixingFactors
    """
    n_batch = after.n_tokens - (0 if before is None else before.n_tokens)
    if not n_batch:
        return MixingFactors(1.0, 0.0, 1.0)
    rho = step_size(after.n_tokens, n_batch, decay, offset)
    kept = 0.0 if before is None else (1.0 - rho) * after.mass / before.mass
    scale = after.mass / n_batch
    return MixingFactors(kept, rho * scale, scale)
