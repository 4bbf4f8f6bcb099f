"""What all models of word alignment share: a fit from reading to what it leaves, predictions."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.alignment.links import NO_SOURCE
from sklearn_cvb.alignment.model import (
    AlignmentModel,
    Alignments,
    best_of,
    expectation,
    log_likelihoods,
    normalised_links,
)
from sklearn_cvb.alignment.parameters import (
    Lexicon,
    counts_from,
    mean_weights,
    positions_of,
    predicting_weights,
    tables_of,
)
from sklearn_cvb.alignment.reading import pairs_read, read_pairs, reading_of
from sklearn_cvb.estimators.base import BaseModel, learned_of
from sklearn_cvb.kernels.alignment.arrays import Pairs
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.gibbs import mean_means
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.reading.corpus import Corpus, arrange, object_array
from sklearn_cvb.reading.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_choice,
    check_table,
    check_table_to_fit,
    tell,
)


class BaseAlignmentHMM(BaseModel):
    """What is read, what a fit leaves, and what is predicted; counts are flat cells.

    See `sklearn_cvb.kernels.alignment.arrays`. An estimator adds its algorithm.
    """

    _unexplained_words = "sentence pairs have no alignment with any weight"
    # What to use where leaving out one giant pair leaves little; empty for what leaves none out.
    _in_place_of_leaving_out = ""

    # Set by the constructors.
    alpha: float
    beta: float
    p_null: float | tuple[float, float]
    longest_jump: int
    dictionary: dict | None
    init_sweeps: int

    _parameter_constraints: dict = {  # noqa: RUF012
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "beta": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "p_null": [Interval(Real, 0, 1, closed="left"), tuple],
        "longest_jump": [Interval(Integral, 1, 10_000, closed="both")],
        "dictionary": [dict, None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [
            StrOptions({"ibm1", "even", "random"}),
            "array-like",
            HasMethods("predict_proba"),
        ],
        "init_sweeps": [Interval(Integral, 0, None, closed="left")],
        "handle_unknown": [StrOptions({"error", "smooth"})],
        "supervision": [StrOptions({"y", "none"})],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _read(self, X: Any, y: Any) -> Reading:
        self._check_parameters()
        attributes: dict[str, Any] = {}

        def validated(table: Any) -> np.ndarray:
            values, found = check_table_to_fit(self, table)
            attributes.update(found)
            return values

        sides = read_pairs(X, y, validated)
        read = reading_of(sides, y, self, self._in_place_of_leaving_out)
        return read._replace(attributes=attributes | read.attributes)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        if isinstance(self.p_null, tuple) and not (
            len(self.p_null) == 2
            and all(isinstance(part, Real) and SMALLEST <= part <= LARGEST for part in self.p_null)
        ):
            raise InvalidParameterError(
                "p_null must be a probability below 1, or a tuple (without, with) of two numbers "
                f"above 0, got {self.p_null!r}"
            )

    def _model(self, read: Reading) -> AlignmentModel:
        return AlignmentModel(read.problem, self.init, int(self.init_sweeps))

    def _fixed_start(self, read: Reading) -> str:
        if not isinstance(self.init, str):
            return "init says where to start"
        return "" if self.init == "random" else f"init={self.init!r} leaves nothing to chance"

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        best, record = record_of(fits)
        state, problem = best.state, read.problem
        pairs, algorithm, model = problem.pairs, self._algorithm(), self._model(read)
        link = model.links(state)
        if len(state.unexplained):
            link = normalised_links(link, pairs)
        found, own = algorithm.final_counts(state), algorithm.attributes(best, model)
        counts, positions = counts_from(found, problem.layout), positions_of(link, pairs)
        tables, is_ragged = tables_of(link.astype(np.float32), pairs), problem.corpus.width is None
        attributes = {
            "counts_": counts,
            "labels_": arrange(problem.corpus, positions, NO_SOURCE),
            "link_proba_": object_array(tables) if is_ragged else np.stack(tables),
            **record,
            "alpha_": float(self.alpha),
            "beta_": float(self.beta),
            **own,
        }
        averages, sampled = algorithm.averages, isinstance(state.shares, Alignments)
        learned = Learned(
            words=read.words,
            layout=problem.layout,
            prior=problem.prior,
            counts=counts,
            averages=averages,
            more=mean_means(state, model)[0] if sampled else None,
        )
        return Left(learned, attributes)

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        """Sentences, words and known links."""
        problem = read.problem
        layout = problem.layout
        return problem.types, layout[:3], layout.keys, problem.corpus.tokens, problem.pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    # What a fit has learned, whichever algorithm left it

    @property
    def jumpprob_(self) -> np.ndarray:
        """p(jump), shape (2 * longest_jump + 1,): from -longest_jump to longest_jump positions.

        The first and the last stand for all jumps so far and farther.
        """
        learned = learned_of(self)
        return mean_weights(learned).cells[len(learned.layout.keys) : -2].copy()

    @property
    def p_null_(self) -> float:
        """The probability that a target word has no source."""
        return float(mean_weights(learned_of(self)).cells[-1])

    @property
    def lexicon_(self) -> Lexicon:
        """p(target word | source word) as a table: ``lexicon_.translations("house")``."""
        learned = learned_of(self)
        table = counts_from(mean_weights(learned).cells, learned.layout).lexicon
        source, target = learned.words
        known = source.types.tolist(), target.types.tolist()
        # Columns of unknown words are not listed.
        shape = table.shape[0], len(known[1])
        table = csr_array((table.data, table.indices, table.indptr), shape=shape)
        return Lexicon(table, *known)

    def predict(self, X: Any, decoding: str = "viterbi") -> np.ndarray:
        """The source of each target word.

        Parameters
        ----------
        X : list of (source tokens, target tokens), or array of shape (n_samples, width)
            As in `fit`.
        decoding : {"viterbi", "marginal"}, default="viterbi"
            The most probable alignment of a pair, or the most probable source of each word.

        Returns
        -------
        ndarray
            For each pair an array with the position of each target word's source, from 0; -1 where
            it has none. For a 2-D X an array of shape (n_samples, target width).
        """
        check_choice("decoding", decoding, ("viterbi", "marginal"))
        learned = learned_of(self)
        corpus, pairs = self._pairs(learned, X, free=True)
        weights = predicting_weights(learned)
        if decoding == "viterbi":
            positions, logs = best_of(weights, pairs)
        else:
            _, logs, shares = expectation(weights, pairs, learned.layout, True)
            positions = positions_of(shares.link, pairs)
            positions[np.repeat(np.isneginf(logs), np.diff(pairs.target_starts))] = NO_SOURCE
        _tell_of_unexplained(logs)
        return arrange(corpus, positions, NO_SOURCE)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Link posteriors: the probability of each source of each target word.

        Parameters
        ----------
        X : list of (source tokens, target tokens), or array of shape (n_samples, width)
            As in `fit`.

        Returns
        -------
        ndarray
            For each pair a table of shape (n_target, n_source + 1) whose cell [j, i] is the
            probability that the source of target word j is source word i, or that it has none
            (i = n_source); stacked for a 2-D X, else in an object array. NaN where no alignment of
            the pair has any weight.
        """
        learned = learned_of(self)
        corpus, pairs = self._pairs(learned, X, free=True)
        _, logs, shares = expectation(predicting_weights(learned), pairs, learned.layout, True)
        _tell_of_unexplained(logs)
        lost = np.repeat(np.isneginf(logs), np.diff(pairs.first))
        tables = tables_of(np.where(lost, np.nan, shares.link), pairs)
        return object_array(tables) if corpus.width is None else np.stack(tables)

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, int]:
        corpus, pairs = self._pairs(learned, X, free=False)
        return log_likelihoods(mean_weights(learned), pairs), corpus.n_observed

    def _pairs(self, learned: Learned, X: Any, *, free: bool) -> tuple[Corpus, Pairs]:
        """Target sentences of X, and pairs as kernels read them."""
        sides = read_pairs(X, None, lambda table: check_table(self, table, reset=False))
        return pairs_read(sides, learned, self.handle_unknown, free=free)


def _tell_of_unexplained(logs: np.ndarray) -> None:
    """Warn of pairs that nothing explains."""
    lost = np.flatnonzero(np.isneginf(logs))
    if len(lost):
        tell(
            [
                f"no alignment of pairs {lost[:5].tolist()} ({len(lost)} in all) has any weight: "
                "they hold what the model has never seen; beta above 0 leaves nothing out"
            ]
        )
