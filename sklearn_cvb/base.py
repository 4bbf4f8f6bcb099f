"""What all models share: the template of a fit, reading X, and scores."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import corpus as reading
from sklearn_cvb.compilation import announced_fit
from sklearn_cvb.containers import (
    as_list,
    fit_on_workers,
    is_dask,
    is_in_bulk,
    is_table,
    over_partitions,
    refuse_lengths,
    shown,
)
from sklearn_cvb.corpus import Sequences
from sklearn_cvb.going_on import GoingOnMixin
from sklearn_cvb.learning.algorithm import Algorithm, check_requirements
from sklearn_cvb.learning.loop import (
    Fit,
    Interrupted,
    Record,
    Schedule,
    Sweep,
    best_fit,
    n_sweeps_before,
    run_restarts,
    sweep_until,
)
from sklearn_cvb.learning.model import Model
from sklearn_cvb.validation import (
    CallbackSupportMixin,
    check_choice,
    check_sizes,
    check_table,
    fit_context,
    root_context,
    with_callbacks,
    without_lengths,
)

if TYPE_CHECKING:
    from sklearn_cvb.fit_checkpoint import FitCheckpoint


class BaseModel(GoingOnMixin, CallbackSupportMixin, BaseEstimator):
    """Template of a fit; a family of models says how X is read, an algorithm how it sweeps.

    Hooks: `_problem` reads X and y, `_model` binds what was read, `_algorithm` says how it is
    learned, `_fitted` gives all fitted attributes, `_log_likelihoods` scores. `_identity` is what
    must be the same if an earlier fit is to go on. Models and algorithms are values, so restarts
    run on threads.
    """

    # What reading X and y sets, before there is a fit.
    _read_names: tuple[str, ...] = ("vocabulary_", "n_features_in_", "feature_names_in_", "_index")

    # Whether X may be on the disk (`_fit_in_bulk`), and whether in partitions of Dask.
    _takes_bulk = _takes_dask = False

    _unexplained_words = "sequences cannot be explained by any path"

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
            too: a `CorpusStore`, paths of files, or a function that returns batches of sequences.
            These and grammars by EM, VB and CVB learn on the workers of Dask, too: from a bag, a
            column of lists, or a list of delayed partitions.
        y : list of sequences, default=None
            What is known of states, tags (taggers), trees (grammars), heads (dependency models) or
            links (word alignment: pairs of positions); see `supervision`.

        Returns
        -------
        self
        """
        if self._takes_dask and is_dask(X):
            return fit_on_workers(self, X, y)
        if self._takes_bulk and is_in_bulk(X):
            return self._fit_in_bulk(X, y)
        check_sizes(self.get_params(deep=False))
        with self._unchanged_on_error(), announced_fit(self, self.verbose):
            problem = self._problem(X, y)
            self._warn_of_data(problem)
            algorithm, model = self._algorithm(), self._model(problem)
            check_requirements(algorithm, model)
            with self._opened_checkpoint(problem, model) as saved:
                rngs, before = self._beginnings(problem, model, saved)
                context = root_context(self, len(rngs))
                if context is not None:
                    context.call_on_fit_task_begin(estimator=self, X=X, y=y)

                def restart(index: int, rng: np.random.Generator, record: Record) -> Fit:
                    def plain_sweep(state: Any) -> tuple[Any, float]:
                        return algorithm.sweep(state, model, rng)

                    begun = before[index]
                    sweep: Sweep = plain_sweep
                    if saved is not None:
                        sweep, record = saved.around(index, sweep, record)
                    # No name here for the first state: its memory is free after the first sweep.
                    fit = sweep_until(
                        algorithm.start(model, rng) if begun is None else begun.state,
                        sweep,
                        self._schedule(algorithm, model, n_sweeps_before(begun)),
                        self._reporter(index, record, context, problem, X, y),
                        rng,
                        () if begun is None else begun.history,
                        ends_sweeps=self.warm_start or saved is not None,
                    )
                    if saved is not None:
                        saved.save_restart(index)
                    return self._ranked(fit, model)

                fits, interrupted = self._run(restart, rngs, model, saved)
            fitted = self._fitted(fits, problem)
            why = self._check_explained(fitted["unexplained_"], problem)
        self._keep(fitted, why)
        if interrupted:
            raise KeyboardInterrupt
        if context is not None:
            context.call_on_fit_task_end(
                estimator=self, X=X, y=y, reconstruction_attributes=lambda: vars(self)
            )
        return self

    def _fit_in_bulk(self, X: Any, y: Any) -> Self:
        """`fit` on a corpus that is read a batch at a time."""
        raise NotImplementedError

    def _run(
        self,
        restart: Callable,
        rngs: list[np.random.Generator],
        model: Model,
        saved: "FitCheckpoint | None",
    ) -> tuple[list[Fit], bool]:
        """The fits of all restarts, and whether Ctrl-C ended them (kept with `warm_start`)."""
        try:
            fits = run_restarts(restart, rngs, self._restart_jobs)
            if saved is not None:
                saved.finish()
            return fits, False
        except Interrupted as interrupted:
            if saved is not None:
                saved.save_latest()
            if not (self.warm_start and interrupted.fits):
                raise KeyboardInterrupt from None
            return [self._ranked(fit, model) for fit in interrupted.fits], True

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Put back what reading X and y has changed if a fit fails: an earlier fit stays whole."""
        before = {name: vars(self)[name] for name in self._read_names if name in vars(self)}
        try:
            yield
        except BaseException:
            for name in self._read_names:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

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

    @property
    def _restart_jobs(self) -> int | None:
        """Threads that run restarts."""
        return self.n_jobs

    def _algorithm(self) -> Algorithm:
        """How the model is learned."""
        raise NotImplementedError

    def _model(self, problem: Any) -> Model:
        """What is learned from: what was read, bound to the settings."""
        raise NotImplementedError

    def _schedule(self, algorithm: Algorithm, model: Model, n_before: int) -> Schedule:
        """When to stop, after `n_before` sweeps of earlier fits."""
        scale = model.n_observed if algorithm.is_total else 1.0
        n_resting = max(0, algorithm.n_resting(model) - n_before)
        tol = self.tol if algorithm.stops else 0.0
        return Schedule(self.max_iter, tol, algorithm.patience, scale, n_resting)

    def _ranked(self, fit: Fit, model: Any) -> Fit:
        """The fit with what restarts are ranked by."""
        algorithm = self._algorithm()
        objective = algorithm.objective(fit.state, model, fit.history)
        if self.verbose:
            print(f"{len(fit.history)} sweeps, objective {objective:.6f}")
        state = algorithm.finished(fit.state, model, goes_on=self.warm_start)
        return fit._replace(objective=objective, state=state)

    def _reporter(
        self, index: int, record: Record, context: Any, problem: Any, X: Any, y: Any
    ) -> Record:
        """What is called after every sweep of a restart: progress, callbacks, stop or go on."""
        task = None
        if context is not None:
            task = context.subcontext("restart", task_id=index, max_subtasks=self.max_iter)
            task.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def fitted(fit: Fit) -> dict[str, Any]:
            model = self._model(problem)
            state = self._algorithm().finished(fit.state, model, goes_on=True)
            return self._fitted([fit._replace(state=state)], problem)

        def report(fit: Fit) -> bool:
            stop = record(fit)
            done = len(fit.history)
            if self.verbose > 1:
                print(f"restart {index}, sweep {done}: {fit.history[-1]:.6f}")
            if task is not None:
                step = task.subcontext("sweep")
                step.call_on_fit_task_begin(estimator=self, X=X, y=y)
                stop |= bool(
                    step.call_on_fit_task_end(
                        estimator=self,
                        X=X,
                        y=y,
                        reconstruction_attributes=lambda: fitted(fit),
                    )
                )
                if stop or fit.converged or done == self.max_iter:
                    task.call_on_fit_task_end(estimator=self, X=X, y=y)
            return stop

        return report

    def _warn_of_data(self, problem: Any) -> None:
        """Warn of sequences that an algorithm can do little with."""

    def _check_explained(self, unexplained: np.ndarray, problem: Any) -> str:
        """Raise ValueError if no sequence was learned from; else what a warning can add."""
        if not len(unexplained):
            return ""
        why = self._why_unexplained(problem, unexplained)
        # Sequences that are ruled out beforehand are none of `problem.corpus`.
        if len(unexplained) == getattr(problem, "given", problem.corpus).n_sequences:
            raise ValueError(
                f"nothing to learn from: all {len(unexplained)} {self._unexplained_words}{why}"
            )
        return why

    def _keep(self, fitted: dict[str, Any], why: str) -> None:
        """Set all fitted attributes, and no others that an earlier fit has left."""
        for name in vars(self).get("_fitted_names", frozenset()) - fitted.keys():
            self.__dict__.pop(name, None)
        self._fitted_names = frozenset(fitted)
        for name, value in fitted.items():
            setattr(self, name, value)
        if len(self.unexplained_):
            warnings.warn(
                f"{len(self.unexplained_)} {self._unexplained_words} and were left "
                f"out of the counts: {self.unexplained_[:5].tolist()}{why}",
                UserWarning,
                stacklevel=5,
            )

    def _why_unexplained(self, problem: Any, unexplained: np.ndarray) -> str:
        """What a message can add about sequences that were left out."""
        return ""

    def _fit_record(self, fits: list[Fit]) -> tuple[Fit, dict[str, Any]]:
        """The best restart, and the attributes that tell how the fit went."""
        fits = [
            fit if fit.objective is not None else fit._replace(objective=fit.history[-1])
            for fit in fits
        ]
        best = best_fit(fits)
        return best, {
            "objective_": best.objective,
            "history_": np.array(best.history),
            "restart_objectives_": np.array([fit.objective for fit in fits], dtype=float),
            "restart_histories_": [np.array(fit.history) for fit in fits],
            "n_iter_": len(best.history),
            "converged_": best.converged,
            "unexplained_": best.state.unexplained,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays from a memory map may only be read: numba takes them for another type and would
        # compile kernels anew, and a warm start changes them in place.
        private = {name: _writable(value) for name, value in state.items() if name[0] == "_"}
        super().__setstate__(state | private)

    def _html_repr(self) -> str:
        """scikit-learn's diagram; of a fitted model also what it has learned."""
        diagram = super()._html_repr()
        if not hasattr(self, "history_"):
            return diagram
        from sklearn_cvb.display.model_summary import ModelSummary

        return diagram + ModelSummary(self)._repr_html_()

    # Reading X

    def _vocabulary_types(self, sequences: Sequences) -> list:
        if self.vocabulary is None:
            types = reading.types_of(sequences.tokens, sequences.starts)
            if not types and self.handle_unknown == "error":
                raise ValueError("X holds no observed token: give a vocabulary")
            return types
        unordered = isinstance(self.vocabulary, Set | Mapping)
        given = list(self.vocabulary) if unordered else as_list(self.vocabulary)
        if given is None:
            raise TypeError(f"vocabulary is {shown(self.vocabulary)}: pass a list of symbols")
        types = reading.types_of(given, np.array([0, len(given)]))
        if any(map(reading.is_missing, given)):
            raise ValueError("vocabulary holds None or NaN, which stand for missing observations")
        if isinstance(self.vocabulary, set | frozenset):
            return types
        return list(dict.fromkeys(given))

    def _sequences(self, X: Any, reset: bool) -> reading.Sequences:
        if not is_table(X):
            if reset:
                for name in ("n_features_in_", "feature_names_in_"):
                    self.__dict__.pop(name, None)
            return reading.read_ragged(X)
        table = check_table(self, X, reset=reset)
        if reset and self.vocabulary is None and reading.are_measurements(table):
            warnings.warn(
                "nearly all numbers in X differ: each value is a symbol of its own here, so that "
                "nothing will be recognised again; sort numbers into bins first, as "
                "sklearn.preprocessing.KBinsDiscretizer(encode='ordinal') does",
                UserWarning,
                stacklevel=7,
            )
        return reading.read_table(table)

    def _sequences_to_fit(self, X: Any, y: Any) -> reading.Sequences:
        """X as read for a fit; lengths in `y` are refused, also where `y` is ignored."""
        sequences = self._sequences(X, reset=True)
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        return sequences

    def _encoded(self, X: Any) -> reading.Corpus:
        check_is_fitted(self)
        if isinstance(X, reading.Corpus):
            # A piece of a store, in codes of this vocabulary.
            return X
        sequences = self._sequences(X, reset=False)
        corpus = reading.encode(sequences, self._index)
        self._check_unknown(corpus, sequences)
        return corpus

    def _check_unknown(self, corpus: reading.Corpus, sequences: reading.Sequences) -> None:
        """Raise on words outside the vocabulary where they are not handled."""
        if self.handle_unknown == "error" and corpus.unknown:
            position = int(np.flatnonzero(corpus.tokens >= len(self._index))[0])
            raise ValueError(
                f"unknown word {sequences.tokens[position]!r} "
                f"({reading.place(position, corpus.starts)}; {len(corpus.unknown)} unknown types): "
                "give vocabulary, or handle_unknown='smooth' or 'rare'"
            )

    # Scores

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every sequence under posterior-mean parameters.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
            log p(x) in nats per sequence; -inf where nothing explains a sequence. All unknown
            words share one cell: values under different vocabularies cannot be compared.
        """
        if self._takes_dask and is_dask(X):
            return over_partitions(self, "score_samples", X)
        return self._log_likelihoods(X)[0]

    @without_lengths
    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per observed token (nats) under posterior-mean parameters.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : ignored

        Returns
        -------
        float
        """
        log_z, n_observed = self._log_likelihoods(X)
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
        log_z, n_observed = self._log_likelihoods(X)
        return float(np.exp(-log_z.sum() / (n_observed if per == "token" else len(log_z))))


def _writable(value: Any) -> Any:
    """A value whose arrays, also those in tuples, are copied where they may only be read."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    if isinstance(value, tuple):
        parts = map(_writable, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
