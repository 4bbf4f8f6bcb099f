"""What all models share: the template of a fit, reading X, and scores."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb.estimators.door import learned_of, taken
from sklearn_cvb.estimators.methods import (
    CallbackSupportMixin,
    fit_context,
    with_callbacks,
    without_lengths,
)
from sklearn_cvb.estimators.parameters import RunFields
from sklearn_cvb.estimators.saving import VersionedPickle
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.learned import (
    FitOutcome,
    FitResult,
    FitSettings,
    Job,
    Learned,
    Reading,
    best_fit,
    record_of,
    result_of,
)
from sklearn_cvb.learning.model import Fit, Model
from sklearn_cvb.learning.resuming import FitSaver
from sklearn_cvb.learning.sweeps import run_all
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.reading.validation import check_choice, tell
from sklearn_cvb.settings import Nested

if TYPE_CHECKING:
    from sklearn_cvb.estimators.callbacks import FitTask


class BaseModel(RunFields, CallbackSupportMixin, Nested, VersionedPickle):
    """Template of a fit; a family of models says how X is read, an algorithm how it sweeps.

    Hooks: `_read` makes a value of X and y, `_model` binds it to the settings, `_algorithm` says
    how it is learned, `_outcome` what a fit leaves, `_log_likelihoods` scores. `_identity` is what
    must be the same if an earlier fit is to go on. All of them are functions of what they are
    given and of the parameters; only `_set_fitted` sets attributes, all of them at once.
    """

    # Where a fit is saved while it runs: nowhere, but for classes that make it a parameter.
    checkpoint: ClassVar[Any] = None

    _unexplained_words = "sequences cannot be explained by any path"
    # What a share is of that a fit has not come to rest for, and what to do about it.
    _still_changed = "tokens still changed state"
    _if_unfinished = ": raise max_iter"

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the model from sequences.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Each sample is a sequence of hashable tokens. None or NaN marks a missing observation;
            missing values at the end of a 2-D array's row are padding. Models of word alignment
            take pairs (source tokens, target tokens), or arrays with the source in the first half
            of each row. Hidden Markov models by EM, VB and CVB take corpora larger than memory,
            too: a `CorpusStore` or `NumberStore`, paths of files, or a function that returns
            batches of sequences.
            These and grammars by EM, VB and CVB learn on the workers of Dask, too: from a bag, a
            column of lists, or a list of delayed partitions.
        y : list of sequences, default=None
            What is known of states, tags (taggers), trees (grammars), heads (dependency models) or
            links (word alignment: pairs of positions); see `supervision`.

        Returns
        -------
        self
        """
        self._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        """Read X and y, and fit to them."""
        self._fit_reading(self._read(X, y), X, y)

    def _saving(self, job: Job[Any]) -> AbstractContextManager[FitSaver]:
        """What saves the fit while it runs: nothing."""
        return nullcontext(FitSaver())

    def _fit_reading(self, read: Reading, X: Any, y: Any) -> Self:
        """`fit` once X and y are read; callbacks are given these, too."""
        if read.messages:
            tell(read.messages)
        algorithm, model = self._algorithm(), self._model(read)
        job = Job(algorithm, model, read, self._fit_settings(read), self._to_go_on_from(read))
        watched = self._callbacks(read, X, y)
        fits, interrupted = run_all(job, self._saving(job), watched)
        left = self._outcome_and_record(result_of(fits, read, algorithm, model))
        if self.warm_start:
            warm_start = read._replace(attributes={}, messages=(), observation=None), best_fit(fits)
            left = left._replace(learned=left.learned._replace(warm_start=warm_start))
        # Who asks for a number of sweeps (tol=0) gets them.
        may_end = algorithm.stops and self.tol > 0
        unfinished = self._why_unfinished(best_fit(fits)) if may_end else []
        try:
            self._set_fitted(left, read)
        finally:
            if interrupted:
                raise KeyboardInterrupt
        if unfinished:
            tell(unfinished, ConvergenceWarning)
        if watched is not None:
            watched.end()
        return self

    def _fit_settings(self, read: Reading) -> FitSettings:
        """What is asked of the sweeps."""
        n_restarts = self._n_restarts(read)
        why_one = self._why_one_restart(read) if n_restarts > 1 else ""
        sweeps = self.max_iter, self.tol, n_restarts, why_one, self.warm_start
        return FitSettings(*sweeps, self.n_jobs, self.random_state, self.verbose)

    def _to_go_on_from(self, read: Reading) -> Fit | None:
        """The fit before, with `warm_start` and the same sequences."""
        learned: Learned | None = vars(self).get("_learned")
        if not self.warm_start or learned is None or learned.warm_start is None:
            return None
        before, best = learned.warm_start
        is_same_kind = type(before.problem) is type(read.problem)
        is_same = is_same_kind and are_same(self._identity(before), self._identity(read))
        return best if is_same else None

    def _callbacks(self, read: Reading, X: Any, y: Any) -> "FitTask | None":
        """Whom a fit calls back; None for nobody."""
        if not getattr(self, "_skl_callbacks", None):
            return None
        from sklearn_cvb.estimators.callbacks import FitTask

        def leaves(result: FitResult) -> dict[str, Any]:
            left = self._outcome_and_record(result)
            return {**read.attributes, **left.attributes, "_learned": left.learned}

        return FitTask(self, X, y, leaves)

    def _outcome_and_record(self, result: FitResult) -> FitOutcome:
        """What a fit leaves, and how it went."""
        left = self._outcome(result)
        return left._replace(attributes=record_of(result) | left.attributes)

    def _why_unfinished(self, fit: Fit) -> list[str]:
        """What is to be said of a fit that has not converged; nothing where a callback ended it."""
        n_sweeps, share, tol = len(fit.history), fit.distance, self.tol
        if fit.converged or (n_sweeps < self.max_iter and not fit.broken_off):
            return []
        how = f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps"
        if fit.broken_off:
            how = (
                f"{type(self).__name__} stopped after {n_sweeps} sweeps, where a disturbed copy "
                f"rose above it and max_iter={self.max_iter} is too few to follow: raise max_iter"
            )
        elif share is None:
            how += ", too few to see whether anything still changes: raise max_iter"
        elif share < tol:
            how += " at a point that a disturbed copy did not come back to: start elsewhere (init)"
        else:
            percent = float(f"{min(100.0, 100.0 * share):.2g}")
            how += f" while {percent:g} % of the {self._still_changed}{self._if_unfinished}"
        return [f"{how}. tol=0 runs all sweeps without this warning."]

    def _n_restarts(self, read: Reading) -> int:
        """Number of restarts that are asked for."""
        return 1 if self.n_init is None else self.n_init

    @without_lengths
    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the states (taggers: tags) of the training sequences.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray
            `labels_`.
        """
        return self.fit(X, y).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    # What a family and an algorithm say

    def _read(self, X: Any, y: Any) -> Reading:
        """X and y, to be fitted to."""
        read: Reading = self._observation(to_fit=True).read(self._taken(X, to_fit=True), y)
        return read

    def _taken(self, X: Any, to_fit: bool = False) -> Any:
        """X as scikit-learn has checked it, where it is a table."""
        return taken(self, X, to_fit=to_fit)

    def _observation(self, to_fit: bool = False) -> Any:
        """What is observed, under options: what a fit asks for, or what it takes to read again."""
        raise NotImplementedError

    def _model(self, read: Reading) -> Model:
        """What is learned from: what was read, also by an earlier fit, bound to the settings."""
        model: Model = (read.observation or self._observation(to_fit=True)).model(read)
        return model

    def _algorithm(self) -> Algorithm[Any]:
        """How the model is learned."""
        raise NotImplementedError

    def _outcome(self, result: FitResult) -> FitOutcome:
        """What a fit leaves, beside how it went: of the best restart."""
        left: FitOutcome = result.reading.observation.outcome(result)
        return left

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        """What of a reading a fit that goes on must find again."""
        identity: tuple[Any, ...] = read.problem.identity
        return identity

    def _why_one_restart(self, read: Reading) -> str:
        """Why all restarts would be the same; empty where they differ."""
        return self._fixed_start(read)

    def _fixed_start(self, read: Reading) -> str:
        """What fixes where all restarts begin; empty where it is random."""
        why: str = read.observation.fixed_start(read)
        return why

    def _why_unexplained(self, read: Reading, unexplained: np.ndarray) -> str:
        """What a message can add about sequences that were left out."""
        return ""

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Log-likelihood under the mean parameters, and observed tokens, of every sequence."""
        raise NotImplementedError

    # What a fit leaves

    def _set_fitted(self, left: FitOutcome, read: Reading) -> None:
        """Set all fitted attributes at once, and no others that an earlier fit has left.

        Raises ValueError, with nothing set, if no sequence was learned from.
        """
        unexplained, why = left.attributes["unexplained_"], ""
        if len(unexplained):
            why = self._why_unexplained(read, unexplained)
            # Sequences that are ruled out beforehand are none of `problem.corpus`.
            corpus = getattr(read.problem, "given", read.problem.corpus)
            if len(unexplained) == corpus.n_sequences:
                raise ValueError(
                    f"nothing to learn from: all {len(unexplained)} {self._unexplained_words}{why}"
                )
            why = (
                f"{len(unexplained)} {self._unexplained_words} and were left "
                f"out of the counts: {unexplained[:5].tolist()}{why}"
            )
        attributes = {**read.attributes, **left.attributes}
        learned = left.learned._replace(attribute_names=frozenset(attributes))
        before: Learned | None = vars(self).get("_learned")
        for name in () if before is None else before.attribute_names - learned.attribute_names:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes, _learned=learned)
        if why or left.messages:
            tell((why, *left.messages) if why else left.messages)

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in vars(self)

    # Scores

    @without_lengths
    def score_samples(self, X: Any, per: str = "sequence") -> np.ndarray:
        """Log-likelihood (nats) of each whole sequence, or per token of it; `score` is per token.

        Under posterior-mean parameters.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        per : {"sequence", "token"}, default="sequence"
            "token" divides by the observed tokens of each sequence. The mean of these counts all
            sequences alike, `score` all tokens.

        Returns
        -------
        ndarray of shape (n_samples,)
            log p(x) in nats; -inf where nothing explains a sequence. All unknown words share one
            cell: values under different vocabularies cannot be compared.
        """
        check_choice("per", per, ("sequence", "token"))
        return self._scores(X, per)

    def _scores(self, X: Any, per: str) -> np.ndarray:
        """What `score_samples` gives."""
        log_z, observed = self._log_likelihoods(learned_of(self), X)
        return log_z if per == "sequence" else log_z / np.maximum(observed, 1)

    @without_lengths
    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood (nats) per observed token; `score_samples` is per sequence.

        Under posterior-mean parameters. What VB predicts is under others, the exponentials of
        expected logs.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : ignored

        Returns
        -------
        float
        """
        log_z, observed = self._log_likelihoods(learned_of(self), X)
        n_observed = max(1, int(observed.sum()))
        refuse_lengths(y, len(log_z), n_observed)
        return float(log_z.sum() / n_observed)

    def perplexity(self, X: Any, per: str = "token") -> float:
        """exp of minus the mean log-likelihood (Wang and Blunsom 2013, eqs. 26-27).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        per : {"token", "sequence"}, default="token"
            What the mean is taken over.

        Returns
        -------
        float
            Values under different vocabularies cannot be compared.
        """
        check_choice("per", per, ("token", "sequence"))
        log_z, observed = self._log_likelihoods(learned_of(self), X)
        divisor = max(1, int(observed.sum())) if per == "token" else len(log_z)
        # Infinite for what is next to impossible, as for what is.
        with np.errstate(over="ignore"):
            return float(np.exp(-log_z.sum() / divisor))
