"""What all models of word alignment share: reading pairs and links, starting, what is left."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.alignment.dictionary import translations_in
from sklearn_cvb.alignment.inference import Problem, normalised_links, positions_of
from sklearn_cvb.alignment.layout import Layout, layout_of, pairs_of, words_beside
from sklearn_cvb.alignment.links import NO_SOURCE
from sklearn_cvb.alignment.model import AlignmentModel
from sklearn_cvb.alignment.parameters import (
    Prior,
    Weights,
    counts_from,
    posterior_mean,
    prior_of,
)
from sklearn_cvb.alignment.prediction import PredictionMixin, arranged_tables
from sklearn_cvb.alignment.reading import known_links
from sklearn_cvb.base import BaseModel
from sklearn_cvb.containers import refuse_lengths
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.validation import (
    CHECKPOINT_PARAMETERS,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
)


class BaseAlignmentHMM(PredictionMixin, BaseModel):
    """What is read, and what a fit leaves; counts are flat cells.

    See `sklearn_cvb.kernels.alignment.arrays`. An estimator adds its algorithm.
    """

    _read_names = (*BaseModel._read_names, "source_vocabulary_", "_source_index")
    _unexplained_words = "sentence pairs have no alignment with any weight"

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

    def _problem(self, X: Any, y: Any) -> Problem:
        """Read X (and y): sets the vocabularies."""
        self._check_parameters()
        sides = self._sides(X, reset=True)
        target = sides.target
        refuse_lengths(y, len(target.starts) - 1, len(target.tokens))
        weights = translations_in(self.dictionary)
        types: tuple[list, list] = tuple(
            _known_types(side, [words[k] for words in weights]) for k, side in enumerate(sides)
        )
        self.source_vocabulary_, self.vocabulary_ = map(reading.as_array, types)
        self._source_index, self._index = ({w: i for i, w in enumerate(part)} for part in types)
        corpora = self._encoded_sides(sides)
        known = known_links(y if self.supervision == "y" else None, corpora)
        n_unknown = int(self.handle_unknown != "error")
        sizes = len(types[0]) + n_unknown, len(types[1]) + n_unknown
        more = {
            self._source_index[a] * sizes[1] + self._index[b]: w for (a, b), w in weights.items()
        }
        encoded, others = self._numbers(corpora), np.array(list(more), np.int64)
        words = words_beside(encoded, sizes)
        layout = layout_of(words, sizes, int(self.longest_jump), others)
        prior = prior_of(layout, float(self.alpha), float(self.beta), self._null_prior(), more)
        return Problem(
            corpora.target, types, pairs_of(encoded, words, layout, known), layout, prior
        )

    def _model(self, problem: Problem) -> AlignmentModel:
        return AlignmentModel(problem, self.init, int(self.init_sweeps))

    def _null_prior(self) -> float | tuple[float, float]:
        """`p_null` as numbers."""
        if isinstance(self.p_null, tuple):
            return float(self.p_null[0]), float(self.p_null[1])
        return float(self.p_null)

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

    def _fixed_start(self) -> str:
        """What fixes where all restarts begin; empty where it is random."""
        if not isinstance(self.init, str):
            return "init says where to start"
        return "" if self.init == "random" else f"init={self.init!r} leaves nothing to chance"

    def _weights(self, counts: np.ndarray, prior: Prior, layout: Layout) -> Weights:
        """Weights for sweeps and prediction: posterior means, unless VB differs."""
        return posterior_mean(counts, prior, layout)

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        state, pairs = best.state, problem.pairs
        algorithm, model = self._algorithm(), self._model(problem)
        link = model.links(state)
        if len(state.unexplained):
            link = normalised_links(link, pairs)
        positions = positions_of(link, pairs)
        return {
            "counts_": counts_from(algorithm.final_counts(state), problem.layout),
            "labels_": reading.arrange(problem.corpus, positions, NO_SOURCE),
            "link_proba_": arranged_tables(link.astype(np.float32), pairs, problem.corpus),
            **record,
            "alpha_": float(self.alpha),
            "beta_": float(self.beta),
            "_layout": problem.layout,
            "_prior": problem.prior,
            "_resume": (problem, best) if self.warm_start else None,
            **algorithm.attributes(best, model),
            **self._fitted_by_algorithm(best, problem),
        }

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sentences, words and known links."""
        layout = problem.layout
        return problem.types, layout[:3], layout.keys, problem.corpus.tokens, problem.pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _known_types(side: reading.Sequences, more: list) -> list:
    """Words of sentences, and of a dictionary, sorted."""
    found = reading.types_of(side.tokens, side.starts)
    return reading.sorted_types({*found, *more}) if more else found
