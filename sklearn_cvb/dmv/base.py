"""What all dependency models share: reading sentences and heads, starting, what is left."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.base import BaseModel
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.dmv.concentrations import first_concentrations
from sklearn_cvb.dmv.inference import (
    Problem,
    log_likelihoods,
    sentences_of,
    with_mixtures_worked_out,
)
from sklearn_cvb.dmv.layout import Layout, tables_of
from sklearn_cvb.dmv.model import DependencyModel
from sklearn_cvb.dmv.parameters import (
    counts_from,
    posterior_mean,
    rare_counts,
    seen_once,
    uniform_weights,
)
from sklearn_cvb.dmv.prediction import PredictionMixin
from sklearn_cvb.dmv.rules import Rule, rule_prior, rules_from
from sklearn_cvb.dmv.start import harmonic_counts
from sklearn_cvb.dmv.trees import heads_from
from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD, Sentences
from sklearn_cvb.learning.model import NOBODY, Fit
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_gamma_prior,
)

# A fit holds so many tables of all cells at a time; from so many gigabytes on a warning says so.
_TABLES, _MANY_GIGABYTES = 10, 1.0

# Starts that the seed decides.
_RANDOM_STARTS = ("uniform", "random")


class BaseDMV(PredictionMixin, BaseModel):
    """What is read, and what a fit leaves; counts, prior and weights are flat cells.

    See `sklearn_cvb.kernels.dependency.arrays`. An estimator adds its algorithm.
    """

    # Models that learn no concentration have no such parameter.
    alpha_prior = (1.0, 1.0)
    # Algorithms that do not harden their E-step have no such parameter.
    temperature = 1.0

    # Set by the constructors.
    alpha: float | str
    alpha_stop: float | str | None
    extended_valence: bool
    backoff: str | None
    alpha_backoff: float
    rule_weights: dict | None

    _unexplained_words = "sentences have no tree with any weight"

    _parameter_constraints: dict = {  # noqa: RUF012
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
        "alpha_stop": [
            Interval(Real, SMALLEST, LARGEST, closed="both"),
            StrOptions({"auto"}),
            None,
        ],
        "alpha_prior": [tuple],
        "extended_valence": ["boolean"],
        "backoff": [StrOptions({"head", "direction"}), None],
        "rule_weights": [dict, None],
        "alpha_backoff": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"harmonic", *_RANDOM_STARTS}), HasMethods("score_samples")],
        "handle_unknown": [StrOptions({"error", "smooth", "rare"})],
        "vocabulary": ["array-like", set, None],
        "supervision": [StrOptions({"y", "none"})],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _problem(self, X: Any, y: Any) -> Problem:
        """Read X (and y): sets the vocabulary."""
        sequences = self._sequences_to_fit(X, y)
        types = reading.types_to_learn(self, sequences)
        self.vocabulary_ = reading.as_array(types)
        self._index = {token: i for i, token in enumerate(types)}
        self._check_parameters()
        corpus = reading.encode(sequences, self._index)
        reading.refuse_missing(corpus)
        self._check_unknown(corpus, sequences)
        heads = heads_from(y if self.supervision == "y" else None, corpus)
        n_types = len(types) + (self.handle_unknown != "error")
        layout = Layout(n_types, 1 + self.extended_valence, self.backoff)
        sentences = sentences_of(corpus, layout, heads)
        rules = rules_from(self.rule_weights, self._index, layout)
        prior = self._given_prior(sentences, layout, rules)
        problem = Problem(corpus, types, sentences, layout, prior, rules)
        _refuse_impossible(problem)
        return problem

    def _model(self, problem: Problem) -> DependencyModel:
        asked = first_concentrations(self.alpha, self.alpha_stop, self.alpha_prior)
        rare = seen_once(problem.corpus) if self.handle_unknown == "rare" else NOBODY
        return DependencyModel(problem, asked, self.init, rare, self.temperature)

    def _warn_of_data(self, problem: Problem) -> None:
        """Warn of data that need much memory."""
        warn_of_many_types(problem.layout)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        check_gamma_prior("alpha_prior", self.alpha_prior)
        if self.backoff == "head" and not self.extended_valence:
            raise InvalidParameterError(
                "backoff='head' needs extended_valence=True: without it attachments depend on head "
                "and side alone, and there is nothing to leave out; or take backoff='direction'"
            )
        if self.rule_weights is not None and self.alpha == "auto":
            raise InvalidParameterError(
                "alpha='auto' learns one value for all attachments, and rule_weights give some of "
                "them more: give alpha a number"
            )

    def _given_prior(self, sentences: Sentences, layout: Layout, rules: list[Rule]) -> np.ndarray:
        """What the prior of each cell has beside `alpha` and `alpha_stop`."""
        prior = np.zeros(layout.n_cells)
        if rules:
            prior += rule_prior(rules, harmonic_counts(sentences, layout), layout)
        for mixture in tables_of(prior, layout)[2:3]:
            mixture += self.alpha_backoff
        return prior

    def _fixed_start(self) -> str:
        """What fixes where all restarts begin; empty where it is random."""
        if isinstance(self.init, str):
            return (
                "" if self.init in _RANDOM_STARTS else "the harmonic start leaves nothing to chance"
            )
        return "init says where to start"

    def _weights(
        self, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray | None, layout: Layout
    ) -> np.ndarray:
        """Weights of labels and of prediction: posterior means, unless VB differs."""
        return posterior_mean(counts, prior, kept, layout)

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        state, layout = best.state, problem.layout
        algorithm, model = self._algorithm(), self._model(problem)
        cells = algorithm.final_counts(state)
        weights = self._weights(state.counts, state.prior, state.weights, layout)
        heads = model.heads(state, weights)
        return {
            "counts_": counts_from(cells, layout),
            "labels_": reading.arrange(problem.corpus, heads, UNKNOWN_HEAD),
            **record,
            "alpha_": float(state.hyper.values[0]),
            "alpha_stop_": float(state.hyper.values[1]),
            "_prior_cells": state.prior,
            "_kept": state.weights,
            "_rare": rare_counts(cells, model.rare, layout),
            "_resume": (problem, best) if self.warm_start else None,
            **algorithm.attributes(best, model),
            **self._fitted_by_algorithm(best, problem),
        }

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sentences, tags and known heads."""
        sentences = problem.sentences
        return problem.types, problem.layout, sentences.token, sentences.starts, sentences.head

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def warn_of_many_types(layout: Layout) -> None:
    """Warn where the tables of all pairs of tags need much memory; `_warn_of_data` calls it."""
    gigabytes = _TABLES * 8 * layout.n_cells / 1e9
    if gigabytes > _MANY_GIGABYTES:
        warnings.warn(
            f"{layout.n_types} tags have {layout.n_cells:,} parameters, two for each pair: a fit "
            f"needs about {gigabytes:.1f} GB; put one tag for all rare words, or use "
            "part-of-speech tags",
            UserWarning,
            stacklevel=6,
        )


def _refuse_impossible(problem: Problem) -> None:
    """Raise where no projective tree with one root has the known heads."""
    sentences = problem.sentences
    if (sentences.head == UNKNOWN_HEAD).all():
        return
    uniform, free = uniform_weights(problem.layout.mixed), with_mixtures_worked_out(sentences)
    impossible = np.flatnonzero(np.isneginf(log_likelihoods(uniform, free)))
    if len(impossible):
        i = int(impossible[0])
        heads = sentences.head[sentences.starts[i] : sentences.starts[i + 1]]
        raise ValueError(
            f"y[{i}]: no projective tree with one root has the heads "
            f"{[None if head == UNKNOWN_HEAD else head for head in heads.tolist()]}; put None for "
            "some of them"
        )
