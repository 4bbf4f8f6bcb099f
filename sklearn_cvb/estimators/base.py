"""The base class of all estimators: the steps of `fit` (read X and y, run restarts, set
attributes), which a family of models and an algorithm fill in, and scores.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb.estimators.door import checked_input, learned_of
from sklearn_cvb.estimators.methods import CallbackSupportMixin, with_callbacks, without_lengths
from sklearn_cvb.estimators.parameters import RunFields
from sklearn_cvb.estimators.saving import VersionedPickle
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.learned import (
    FamilyObservation,
    FitJob,
    FitOutcome,
    FitResult,
    FitSettings,
    Learned,
    Reading,
    attributes_of_fit,
    best_fit,
    result_of,
)
from sklearn_cvb.learning.model import Fit, Model
from sklearn_cvb.learning.resuming import FitSaver
from sklearn_cvb.learning.sweeps import run_all
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.reading.validation import check_choice, warn
from sklearn_cvb.scikit_learn import fit_context
from sklearn_cvb.settings import Nested

if TYPE_CHECKING:
    from sklearn_cvb.estimators.callbacks import FitTask


class BaseModel(RunFields, CallbackSupportMixin, Nested, VersionedPickle):
    """Template of a fit; a family of models says how X is read, an algorithm how it sweeps.

    Hooks: `_read` makes a `Reading` of X and y, `_model` binds it to the settings, `_algorithm`
    learns, `_family_outcome` makes `Learned` of it, `_log_likelihoods` scores. All of them are
    functions of their arguments and of the parameters; only `_set_fitted` sets attributes, all of
    them at once.
    """

    # Where a fit is saved while it runs: nowhere, but for classes that make it a parameter.
    checkpoint: ClassVar[Any] = None

    _unexplained_words = "sequences cannot be explained by any path"
    # What a share is of that a fit has not come to rest for, and what to do about it.
    _still_changed = "tokens still changed state"
    _if_unfinished = ": raise max_iter"
    # What to use where leaving out one giant sequence leaves little; empty: none is left out.
    _in_place_of_leaving_out = ""

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

    def _learn(self, X: Any, y: Any, **asked: Any) -> None:
        """Read X and y, as else is asked of `_read`, and fit to them."""
        self._fit_reading(self._read(X, y, **asked), X, y)

    def _open_saver(self, job: FitJob[Any]) -> AbstractContextManager[FitSaver]:
        """The saver of the fit while it runs: one that saves nothing."""
        return nullcontext(FitSaver())

    def _fit_reading(self, reading: Reading, X: Any, y: Any) -> Self:
        """`fit` once X and y are read; callbacks are given these, too."""
        if reading.messages:
            warn(reading.messages)
        algorithm, model = self._algorithm(), self._model(reading)
        job = FitJob(
            algorithm, model, reading, self._fit_settings(reading), self._previous_fit(reading)
        )
        task = self._callback_task(reading, X, y)
        fits, interrupted = run_all(job, self._open_saver(job), task)
        outcome = self._outcome(result_of(fits, reading, algorithm, model))
        if self.warm_start:
            warm_start = (
                reading._replace(attributes={}, messages=(), observation=None),
                best_fit(fits),
            )
            outcome = outcome._replace(learned=outcome.learned._replace(warm_start=warm_start))
        # Who asks for a number of sweeps (tol=0) gets them.
        may_end = algorithm.stops and self.tol > 0
        unfinished = self._convergence_warnings(best_fit(fits)) if may_end else []
        state = best_fit(fits).state
        if np.any(state.hyper.is_learned) and state.n_sweeps <= state.hyper.n_warm_up:
            few = f"{state.n_sweeps} sweeps are too few to learn a concentration: raise max_iter"
            unfinished = [*unfinished, few]
        try:
            self._set_fitted(outcome, reading)
        finally:
            if interrupted:
                raise KeyboardInterrupt
        if unfinished:
            warn(unfinished, ConvergenceWarning)
        if task is not None:
            task.end()
        return self

    def _fit_settings(self, reading: Reading) -> FitSettings:
        """Number of sweeps and restarts, tolerance and threads, as the parameters say."""
        n_restarts = self._n_restarts(reading)
        why_one = self._why_one_restart(reading) if n_restarts > 1 else ""
        sweeps = self.max_iter, self.tol, n_restarts, why_one, self.warm_start
        return FitSettings(*sweeps, self.n_jobs, self.random_state, self.verbose)

    def _previous_fit(self, reading: Reading) -> Fit | None:
        """The best restart of the fit before, with `warm_start` and the same sequences."""
        learned: Learned | None = vars(self).get("_learned")
        if not self.warm_start or learned is None or learned.warm_start is None:
            return None
        before, best = learned.warm_start
        is_same_kind = type(before.problem) is type(reading.problem)
        is_same = is_same_kind and are_same(before.problem.identity, reading.problem.identity)
        return best if is_same else None

    def _callback_task(self, reading: Reading, X: Any, y: Any) -> "FitTask | None":
        """The fit as a task of scikit-learn's callbacks; None where there are none."""
        if not getattr(self, "_skl_callbacks", None):
            return None
        from sklearn_cvb.estimators.callbacks import FitTask

        def attributes_of(result: FitResult) -> dict[str, Any]:
            outcome = self._outcome(result)
            return {**reading.attributes, **outcome.attributes, "_learned": outcome.learned}

        return FitTask(self, X, y, attributes_of)

    def _outcome(self, result: FitResult) -> FitOutcome:
        """The outcome of a fit, with the attributes that say how it went."""
        outcome = self._family_outcome(result)
        return outcome._replace(attributes=attributes_of_fit(result) | outcome.attributes)

    def _convergence_warnings(self, fit: Fit) -> list[str]:
        """The warning of a fit that has not converged; none where a callback ended it."""
        n_sweeps, share, tol = len(fit.history), fit.share_moved, self.tol
        if fit.converged or (n_sweeps < self.max_iter and not fit.check_broken_off):
            return []
        how = f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps"
        if fit.check_broken_off:
            how = (
                f"{type(self).__name__} stopped after {n_sweeps} sweeps, where a disturbed copy "
                f"rose above it and max_iter={self.max_iter} is too few to follow: raise max_iter"
            )
        elif share is None:
            how += ", too few to see whether anything still changes: raise max_iter"
        elif share < tol and self._algorithm().never_falls:
            how += f" while counts of nearly nothing still grew{self._if_unfinished}"
        elif share < tol:
            where = "init" if "init" in self.get_params(deep=False) else "random_state"
            how += (
                f" at a point that a disturbed copy did not come back to: start elsewhere ({where})"
            )
        else:
            percent = float(f"{min(100.0, 100.0 * share):.2g}")
            how += f" while {percent:g} % of the {self._still_changed}{self._if_unfinished}"
        return [f"{how}. tol=0 runs all sweeps without this warning."]

    def _n_restarts(self, reading: Reading) -> int:
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
        return self._observation(to_fit=True).read(self._checked_input(X, to_fit=True), y)

    def _checked_input(self, X: Any, to_fit: bool = False) -> Any:
        """X as scikit-learn has checked it, where it is a table."""
        return checked_input(self, X, to_fit=to_fit)

    def _observation(self, to_fit: bool = False) -> FamilyObservation:
        """The observation under the options of now: those of a fit, or those to read X again."""
        raise NotImplementedError

    def _model(self, reading: Reading) -> Model:
        """The model: a reading, also that of an earlier fit, bound to the settings."""
        return self._observation_of(reading).model(reading)

    def _observation_of(self, reading: Reading) -> FamilyObservation:
        """The observation of a reading; that of an earlier fit has the parameters of now."""
        return reading.observation or self._observation(to_fit=True)

    def _algorithm(self) -> Algorithm[Any]:
        """The algorithm, with its settings."""
        raise NotImplementedError

    def _family_outcome(self, result: FitResult) -> FitOutcome:
        """What the family makes of the best restart: `Learned`, and attributes of its own."""
        return self._observation_of(result.reading).outcome(result)

    def _why_one_restart(self, reading: Reading) -> str:
        """Why all restarts would be the same; empty where they differ."""
        return self._observation_of(reading).fixed_start(reading)

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Log-likelihood under the mean parameters, and observed tokens, of every sequence."""
        raise NotImplementedError

    # What a fit leaves

    def _set_fitted(self, outcome: FitOutcome, reading: Reading) -> None:
        """Set all fitted attributes at once, and no others that an earlier fit has left.

        Raises ValueError, with nothing set, if no sequence was learned from.
        """
        unexplained, why = outcome.attributes["unexplained_"], ""
        if len(unexplained):
            why = self._observation_of(reading).why_unexplained(reading, unexplained)
            # Sequences that are ruled out beforehand are none of `problem.corpus`.
            corpus = getattr(reading.problem, "original", reading.problem.corpus)
            if len(unexplained) == corpus.n_sequences:
                raise ValueError(
                    f"nothing to learn from: all {len(unexplained)} {self._unexplained_words}{why}"
                )
            why = (
                f"{len(unexplained)} {self._unexplained_words} and were left "
                f"out of the counts: {unexplained[:5].tolist()}{why}"
            )
        attributes = {**reading.attributes, **outcome.attributes}
        learned = outcome.learned._replace(attribute_names=frozenset(attributes))
        before: Learned | None = vars(self).get("_learned")
        for name in () if before is None else before.attribute_names - learned.attribute_names:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes, _learned=learned)
        if why or outcome.messages:
            warn((why, *outcome.messages) if why else outcome.messages)

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
        """The values of `score_samples`."""
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
