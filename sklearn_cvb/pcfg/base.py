"""What all probabilistic grammars share: reading grammar and sentences, starting, what is left."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.base import BaseModel
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.learning.model import State
from sklearn_cvb.pcfg.concentrations import check_alpha, first_alpha
from sklearn_cvb.pcfg.forms import Problem, forms_of
from sklearn_cvb.pcfg.grammar import Grammar, grammar_from
from sklearn_cvb.pcfg.layout import Layout, layout_of, lexicon_for, words_of
from sklearn_cvb.pcfg.model import GrammarModel
from sklearn_cvb.pcfg.parameters import PCFGCounts, log_weights, posterior_mean
from sklearn_cvb.pcfg.prediction import PredictionMixin, words_without_rule
from sklearn_cvb.pcfg.rules import UNKNOWN
from sklearn_cvb.pcfg.start import RANDOM_STARTS, where_to_start
from sklearn_cvb.pcfg.trees import brackets_from
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    StrOptions,
)


class BasePCFG(PredictionMixin, BaseModel):
    """What is read, and what a fit leaves; an estimator adds its algorithm."""

    _takes_dask = True

    _read_names = (*BaseModel._read_names, "symbols_", "rules_", "_layout")
    _unexplained_words = "sentences cannot be derived by the grammar"

    # Models that learn no concentration have no such parameter.
    alpha_prior = (1.0, 1.0)
    # Whether a concentration may be 0.
    _zero_alpha = False
    # What sentences, grammar and settings are bound to.
    _model_type: type[GrammarModel] = GrammarModel

    _parameter_constraints: dict = {  # noqa: RUF012
        "grammar": [str, Grammar, HasMethods("productions"), "array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "rules": [StrOptions({"full", "independent"})],
        "alpha": [
            Interval(Real, SMALLEST, LARGEST, closed="both"),
            StrOptions({"auto"}),
            dict,
            "array-like",
        ],
        "alpha_prior": [tuple],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [
            StrOptions({*RANDOM_STARTS, "grammar"}),
            HasMethods("score_samples"),
            "array-like",
            None,
        ],
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
        """Read X (and y): sets the vocabulary and the grammar, and lays it out."""
        sequences = self._sequences_to_fit(X, y)
        self._lay_out(*self._grammar_for(sequences))
        return self._problem_of(self._encode(sequences), sequences, y)

    def _lay_out(self, grammar: Grammar, types: list) -> None:
        """Set the grammar, its words, and the layout of both."""
        self.rules_ = grammar
        n_shown = self.n_components if self._is_independent() else None
        self.symbols_ = reading.as_array(grammar.symbols[:n_shown])
        self.vocabulary_ = reading.as_array(types)
        self._index = {token: i for i, token in enumerate(types)}
        self._layout = layout_of(grammar, self._index, n_shown)
        self._check_parameters()

    def _problem_of(self, corpus: Corpus, sequences: Sequences, y: Any) -> Problem:
        """Sentences under the grammar of now, with what `y` tells of their trees."""
        layout = self._layout
        numeric = self.vocabulary_.dtype.kind in "iuf"
        brackets = brackets_from(
            y if self.supervision == "y" else None,
            corpus,
            sequences.tokens,
            None if self.grammar is None else layout,
            numeric,
        )
        lexicon = lexicon_for(layout, corpus)
        forms = forms_of(layout, lexicon, brackets)
        return Problem(corpus, sequences.tokens, layout, lexicon, brackets, *forms)

    def _grammar_for(self, sequences: Sequences) -> tuple[Grammar, list]:
        """The grammar and the vocabulary."""
        given = self.grammar
        if given is None:
            types = self._vocabulary_types(sequences)
            return self._grammar_of(types), types
        if self._is_independent():
            raise ValueError(
                "rules='independent' is for a model without grammar: a grammar has its rules"
            )
        if self.vocabulary is not None:
            raise ValueError("vocabulary is for a model without grammar: a grammar has its words")
        given = grammar_from(given).check()
        words = words_of(given)
        if self.handle_unknown != "error":
            words -= {UNKNOWN}
        return given, reading.sorted_types(words)

    def _grammar_of(self, types: list) -> Grammar:
        """The grammar of so many symbols over these words."""
        terminals = types if self.handle_unknown == "error" else [*types, UNKNOWN]
        build = Grammar.independent if self._is_independent() else Grammar.full
        return build(self.n_components, dict.fromkeys(terminals))

    def _is_independent(self) -> bool:
        return self.rules == "independent"

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""
        check_alpha(self)

    def _model(self, problem: Problem) -> GrammarModel:
        layout = problem.layout
        alpha = first_alpha(self.alpha, self.alpha_prior, layout)
        return self._model_type(problem, alpha, self._where_to_start(layout), self.handle_unknown)

    def _where_to_start(self, layout: Layout) -> Any:
        """`init`, or what stands for None."""
        return where_to_start(self.init, is_given=self.grammar is not None, layout=layout)

    def _fixed_start(self) -> str:
        init = self._where_to_start(self._layout)
        if isinstance(init, str):
            return "" if init in RANDOM_STARTS else "the probabilities of the grammar are a start"
        return "init says where to start"

    def _weights(
        self, layout: Layout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        """Weights of rules for prediction: posterior means, unless VB differs."""
        return posterior_mean(layout, counts, prior, kept)

    def _log_weights(
        self, layout: Layout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        """Logs of `_weights`, safe from underflow."""
        return log_weights(self._weights(layout, counts, prior, kept))

    def _why_unexplained(self, problem: Problem, unexplained: np.ndarray) -> str:
        """The words that no rule has."""
        return words_without_rule(problem.layout, problem.corpus, unexplained)

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        state, algorithm, model = best.state, self._algorithm(), self._model(problem)
        counts = algorithm.final_counts(state)
        return {
            "counts_": PCFGCounts(counts),
            **self._fitted_trees(state, model),
            **record,
            "alpha_": state.hyper.public(),
            "_prior": state.prior,
            "_kept": state.weights,
            "_rare": model.rare(counts),
            "_resume": (problem, best) if self.warm_start else None,
            **algorithm.attributes(best, model),
            **self._fitted_by_algorithm(best, model),
        }

    def _fitted_trees(self, state: State, model: GrammarModel) -> dict[str, Any]:
        """The trees of the training sentences."""
        problem, trees = model.problem, model.trees(state, self._log_weights)
        return {"labels_": self._arranged_trees(problem.corpus, problem.words, trees)}

    def _fitted_by_algorithm(self, best: Fit, model: GrammarModel) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sentences, brackets and rules."""
        rules = problem.layout.grammar.rules
        return problem.words, problem.corpus.starts, rules, tuple(problem.brackets)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
