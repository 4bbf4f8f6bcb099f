"""A grammar's part in a fit, below its estimators: reads X and y, makes the model, and of the
result `Learned` and fitted attributes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sklearn_cvb.grammar import model as models
from sklearn_cvb.grammar.layout import GrammarLayout, GrammarOptions, lay_out, problem_of
from sklearn_cvb.grammar.model import GibbsGrammarModel, GrammarModel, PCFGCounts
from sklearn_cvb.grammar.prediction import trees_to_show, words_without_rule
from sklearn_cvb.kernels.tree.arrays import Derivations
from sklearn_cvb.learning.gibbs import means_over_samples
from sklearn_cvb.learning.learned import FamilyObservation, FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown
from sklearn_cvb.reading.validation import (
    InvalidParameterError,
    as_numbers,
    check_concentrations,
    warn,
)
from sklearn_cvb.settings import GammaPrior


@dataclass(frozen=True)
class GrammarObservation(FamilyObservation):
    """Sentences and what is known of their trees, under options."""

    options: GrammarOptions

    model_type: ClassVar[type[GrammarModel]] = GrammarModel

    def read(self, X: Any, y: Any = None) -> Reading:
        """X and y, to be fitted to."""
        options = self.options
        sequences, attributes, messages = reading.sequences_to_fit(options.words, X, y)
        if options.alternative:
            messages += reading.caution_of_giant(sequences, options.alternative)
        read = self.read_under(*lay_out(options, sequences), sequences, y)
        return read._replace(attributes=read.attributes | attributes, messages=messages)

    def read_under(
        self, words: Vocabulary, layout: GrammarLayout, sequences: Sequences, y: Any
    ) -> Reading:
        """Sentences under a grammar, and what is shown of it."""
        attributes = attributes_of(words, layout)
        self.check(layout)
        corpus = reading.encode(sequences, words.index)
        reading.refuse_missing(corpus, "a grammar")
        corpus = reading.checked(self.options.words, corpus, sequences, len(words.index))
        known = y if self.options.supervision == "y" else None
        problem = problem_of(words, layout, corpus, sequences, known)
        return Reading(problem, words, attributes, observation=self)

    def check(self, layout: GrammarLayout) -> None:
        """Raise where `alpha` holds numbers out of range, or options do not fit the grammar."""
        self._check_alpha(layout)
        temperatures = self.options.temperatures
        if temperatures is not None and max(temperatures) > 1 and len(layout.rules.member):
            raise InvalidParameterError(
                f"temperatures={temperatures!r} above 1 give the chains of a cycle of unary "
                "rules infinite weight: stay at 1 or below, or leave such cycles out"
            )

    def _check_alpha(self, layout: GrammarLayout) -> None:
        alpha, grammar = self.options.alpha, layout.grammar
        if isinstance(alpha, str | GammaPrior):
            if grammar.fixed.issuperset(grammar.symbols):
                raise InvalidParameterError(
                    "all rules of the grammar are fixed: no symbol is left to learn alpha from"
                )
            return
        values = as_numbers("alpha", list(alpha.values()) if isinstance(alpha, dict) else alpha)
        if isinstance(alpha, dict):
            symbols = layout.grammar.symbols
            missing = [label for label in symbols if label not in alpha]
            foreign = [label for label in alpha if label not in symbols]
            if missing or foreign:
                raise InvalidParameterError(
                    f"alpha as a dict has one value for each symbol: {missing[:5]} are missing, "
                    f"{foreign[:5]} are no symbols"
                )
            if values.ndim != 1:
                raise InvalidParameterError(
                    f"alpha as a dict has one number for each symbol, got {alpha!r}"
                )
        elif values.ndim > 0 and values.shape != layout.lhs.shape:
            raise InvalidParameterError(
                f"alpha as an array has one value for each of the {len(layout.lhs)} rules, got "
                f"shape {values.shape}"
            )
        check_concentrations("alpha", values, self.options.allows_zero)

    def model(self, reading: Reading) -> GrammarModel:
        """The model of what was read, for algorithms to learn."""
        options, layout = self.options, reading.problem.layout
        kind = GibbsGrammarModel if options.draws_probabilities else self.model_type
        alpha, init = models.first_concentrations(options.alpha, layout), options.init
        init = models.init_or_default(init, layout)
        return kind(reading.problem, alpha, init, options.words.handle_unknown)

    def fixed_start(self, reading: Reading) -> str:
        """Why all restarts begin alike; empty where their starts are random."""
        init = models.init_or_default(self.options.init, reading.problem.layout)
        if not isinstance(init, str):
            return "init says where to start"
        return (
            "" if init in models.RANDOM_STARTS else "the probabilities of the grammar are a start"
        )

    def outcome(self, result: FitResult) -> FitOutcome:
        """What is learned, and the fitted attributes, from the best restart."""
        best, _, reading, algorithm, model, counts = result
        state = best.state
        learned = Learned(
            reading.words,
            reading.problem.layout,
            state.prior,
            counts,
            state.weights,
            model.unknown_word_counts(counts),
            algorithm.averages,
            means_over_samples(state, model) if isinstance(state.shares, Derivations) else None,
        )
        attributes = {"counts_": PCFGCounts(counts), "alpha_": state.hyper.public_value()}
        return FitOutcome(learned, attributes | self.training_trees(result))

    def training_trees(self, result: FitResult) -> dict[str, Any]:
        """Trees of the training sentences."""
        problem, averages = result.reading.problem, result.algorithm.averages
        trees = result.model.trees(result.best.state, averages=averages)
        arranged = trees_to_show(problem.layout, problem.corpus, problem.words, trees)
        return {"labels_": arranged}

    def why_unexplained(self, reading: Reading, unexplained: np.ndarray) -> str:
        """The words that no rule has."""
        return words_without_rule(reading.problem.layout, reading.problem.corpus, unexplained)

    def encoded(self, learned: Learned, X: Any) -> tuple[Corpus, list[Any]]:
        """X in numbers of the words that a fit has seen, and as it is."""
        words, index = self.options.words, learned.words.index
        sequences = reading.sequences_again(words, X)
        corpus = reading.encode(sequences, index)
        reading.refuse_missing(corpus, "a grammar")
        corpus = reading.checked(words, corpus, sequences, len(index))
        if len(learned.layout.unknown_cells):
            warn(caution_of_unknown(reading.unknown_in(corpus, index), index))
        return corpus, sequences.tokens


def attributes_of(words: Vocabulary, layout: GrammarLayout) -> dict[str, Any]:
    """The fitted attributes that tell the words and the grammar."""
    symbols = reading.as_array(layout.grammar.symbols[: layout.n_shown])
    return {"vocabulary_": words.types, "rules_": layout.grammar, "symbols_": symbols}
