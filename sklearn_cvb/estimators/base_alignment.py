"""What all word aligners share: groups of parameters, reading, what a fit leaves, links."""

from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.alignment.links import NO_SOURCE
from sklearn_cvb.alignment.model import expectation, log_likelihoods, viterbi
from sklearn_cvb.alignment.observation import AlignmentObservation, AlignmentOptions
from sklearn_cvb.alignment.parameters import (
    Lexicon,
    best_positions_of,
    counts_from,
    link_tables,
    mean_weights,
    predicting_weights,
)
from sklearn_cvb.alignment.reading import is_of_pairs, rows_of_pairs
from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import checked_input, learned_of
from sklearn_cvb.estimators.parameters import Concentration, Parameters, Supervision
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import arrange, names_of_columns, object_array
from sklearn_cvb.reading.series import FittedColumns
from sklearn_cvb.reading.validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_choice,
    warn,
)
from sklearn_cvb.settings import IBM1


class AlignmentFields(Parameters):
    """What a model of word alignment is.

    Parameters
    ----------
    alpha : float
        Concentration of the Dirichlet prior of jumps, 1e-10 to 1e10.
    beta : float
        Concentration of the Dirichlet priors of translations, a row for each source word and one
        for target words without a source, 1e-10 to 1e10.
    p_null : float or tuple (without, with)
        The probability that a target word has no source, 0 to below 1; or, to have it learned, the
        two parameters of its Beta prior, for words without a source and with one (EM:
        pseudo-counts).
    longest_jump : int
        Jumps so far and farther, forwards or backwards, share a probability, and the positions that
        such a jump can reach are equally likely.
    dictionary : dict or None
        Translations that are known: source word -> list of target words, or -> target word ->
        weight. A weight (1 in a list) is prior mass beside `beta`, a number of times that the words
        were seen linked.

    Attributes
    ----------
    counts_ : AlignmentCounts
        Expected counts after the last E-step.
    lexicon_ : Lexicon
        p(target word | source word), to be read: ``lexicon_.translations("house")``.
    jumpprob_ : ndarray of shape (2 * n + 1,)
        p(jump), from -n to n positions, where n is `longest_jump`, or if that is less the number of
        words of the longest source sentence, at least 10; the ends stand for all farther ones.
    p_null_ : float
        The probability that a target word has no source.
    labels_ : ndarray
        The source of each target word of the training pairs, in the form that `predict` gives: the
        most probable one by `link_proba_`.
    link_proba_ : ndarray
        Link posteriors of the training pairs, in the form that `predict_proba` gives, float32:
        those of the last E-step.
    source_vocabulary_, vocabulary_ : ndarray of shape (n_known,)
        The known source words, and the known target words.
    """

    alpha: Concentration = 0.5
    beta: Concentration = 0.001
    p_null: Annotated[float | tuple[float, float], Interval(Real, 0, 1, closed="left"), tuple] = 0.2
    longest_jump: Annotated[int, Interval(Integral, 1, 10_000, closed="both")] = 10
    dictionary: Annotated[dict[Any, Any] | None, dict, None] = None


class PairFields(Parameters):
    """Where a fit starts, and how pairs are read.

    Parameters
    ----------
    init : {"ibm1", "even", "random"}, IBM1, list of arrays, or model
        The links that first counts come from: those of IBM model 1 ("ibm1", or ``IBM1(n_sweeps)``
        for other than 5 sweeps), even or random ones, tables of the form that `predict_proba`
        gives, or what a fitted model predicts for the pairs. :ref:`alignment-starts` has what each
        is for, and when only one restart is run.
    handle_unknown : {"error", "smooth"}
        Words that are new in `predict` or `score`, of either side: refuse them, or let one more
        word stand for them, with prior mass. :ref:`unknown-words` compares the ways.
    supervision : {"y", "none"}
        Whether `fit` learns from the links in `y` where they are known. With "none" `y` is ignored:
        choosing `beta` by F1 must not train on the gold links.
    """

    init: Annotated[
        Any, StrOptions({"ibm1", "even", "random"}), IBM1, "array-like", HasMethods("predict_proba")
    ] = "ibm1"
    handle_unknown: Annotated[str, StrOptions({"error", "smooth"})] = "smooth"
    supervision: Supervision = "y"


class BaseAlignmentHMM(BaseModel):
    """What is read, what a fit leaves, and what is predicted; counts are flat cells.

    See `sklearn_cvb.kernels.alignment`. An estimator adds its algorithm.

    Attributes
    ----------
    alpha_, beta_ : float
        The concentrations.
    unexplained_ : ndarray
        Indices of training pairs without an alignment of any weight; they are left out of the
        counts.
    """

    _unexplained_words = "sentence pairs have no alignment with any weight"
    _still_changed = "links still changed"
    _if_unfinished = "; more sweeps rarely make links better"

    # What is asked for becomes a value

    def _observation(self, to_fit: bool = False) -> AlignmentObservation:
        return AlignmentObservation(self._options(to_fit))

    def _options(self, to_fit: bool) -> AlignmentOptions:
        if not to_fit:
            return AlignmentOptions(self.handle_unknown)
        self._check_parameters()
        return AlignmentOptions(
            handle_unknown=self.handle_unknown,
            alpha=float(self.alpha),
            beta=float(self.beta),
            p_null=self.p_null,
            longest_jump=self.longest_jump,
            dictionary=self.dictionary,
            # Of a model what predicts links, once a restart begins.
            init=getattr(self.init, "predict_proba", self.init),
            supervision=self.supervision,
            alternative=self._in_place_of_leaving_out,
        )

    def _checked_input(self, X: Any, to_fit: bool = False) -> Any:
        """X as it is read; pairs in the columns of a table are no table."""
        if rows_of_pairs(X) is None:
            return checked_input(self, X, to_fit=to_fit)
        if is_of_pairs(X) and not to_fit:
            names = list(getattr(self, "feature_names_in_", ()))
            FittedColumns(names if len(names) == 2 else None).places_in(names_of_columns(X), "X")
        return X

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        if isinstance(self.p_null, tuple) and not (
            len(self.p_null) == 2
            and all(
                isinstance(one, Real) and SMALLEST <= float(one) <= LARGEST for one in self.p_null
            )
        ):
            raise InvalidParameterError(
                "p_null must be a probability below 1, or a tuple (without, with) of two numbers "
                f"above 0, got {self.p_null!r}"
            )

    # What a fit has learned, whichever algorithm left it

    @property
    def jumpprob_(self) -> np.ndarray:
        """p(jump), shape (2 * n + 1,): from -n to n positions.

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
        corpus, pairs = self._observation().encoded(learned, self._checked_input(X))
        weights = predicting_weights(learned)
        if decoding == "viterbi":
            positions, logs = viterbi(weights, pairs)
        else:
            _, logs, shares = expectation(weights, pairs, learned.layout, True)
            positions = best_positions_of(shares.link, pairs)
            positions[np.repeat(np.isneginf(logs), np.diff(pairs.target_starts))] = NO_SOURCE
        _warn_unexplained(logs)
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
        corpus, pairs = self._observation().encoded(learned, self._checked_input(X))
        _, logs, shares = expectation(predicting_weights(learned), pairs, learned.layout, True)
        _warn_unexplained(logs)
        lost = np.repeat(np.isneginf(logs), np.diff(pairs.first))
        tables = link_tables(np.where(lost, np.nan, shares.link), pairs)
        return object_array(tables) if corpus.width is None else np.stack(tables)

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        corpus, pairs = self._observation().encoded(learned, self._checked_input(X), free=False)
        return log_likelihoods(mean_weights(learned), pairs), corpus.observed_lengths


def _warn_unexplained(logs: np.ndarray) -> None:
    """Warn of pairs that nothing explains."""
    lost = np.flatnonzero(np.isneginf(logs))
    if len(lost):
        warn(
            [
                f"no alignment of pairs {lost[:5].tolist()} ({len(lost)} in all) has any weight: "
                "they hold what the model has never seen; beta above 0 leaves nothing out"
            ]
        )
