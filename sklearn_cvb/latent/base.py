"""What all treebank grammars share: reading trees, starting, what is left."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.base import BaseModel
from sklearn_cvb.containers import shown
from sklearn_cvb.corpus import Sequences
from sklearn_cvb.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.latent.binarise import Treebank, binarised
from sklearn_cvb.latent.inference import Problem
from sklearn_cvb.latent.model import AnnotatedModel
from sklearn_cvb.latent.output import Output
from sklearn_cvb.latent.parameters import (
    LatentPCFGCounts,
    Layout,
    Weights,
    posterior_mean,
    unscaled,
)
from sklearn_cvb.latent.prediction import PredictionMixin
from sklearn_cvb.latent.signatures import lexicon_of
from sklearn_cvb.latent.splitting import plan_of
from sklearn_cvb.latent.start import layout_with
from sklearn_cvb.latent.treebank import (
    Gold,
    are_trees,
    gold_from,
    is_tree,
    sentences_in,
    trees_in,
    without_top,
)
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.learning.split_merge import SplitMerge
from sklearn_cvb.validation import CHECKPOINT_PARAMETERS, Interval, StrOptions


class BaseLatentPCFG(PredictionMixin, BaseModel):
    """What is read, and what a fit leaves; an estimator adds its algorithm."""

    _read_names = (*BaseModel._read_names, "_lexicon")
    _unexplained_words = "trees have no weight"

    # Words are those of the treebank, and no parameter says which.
    vocabulary = None

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_subtypes": [Interval(Integral, 1, 1024, closed="both")],
        "schedule": [StrOptions({"fixed", "split-merge"})],
        "round_length": [Interval(Integral, 2, None, closed="left")],
        "merge_share": [Interval(Real, 0, 1, closed="left")],
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"treebank", "random"})],
        "rare_threshold": [Interval(Integral, 0, None, closed="left")],
        "horizontal_markovisation": [Interval(Integral, 0, None, closed="left"), None],
        "decoding": [StrOptions({"max-rule", "viterbi"})],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _problem(self, X: Any, y: Any) -> Problem:
        """Read X and y: sets the vocabulary."""
        self._check_parameters()
        sequences, gold = self._gold(X, y)
        starts = sequences.starts.tolist()
        reading.types_of(sequences.tokens, sequences.starts)
        lexicon = lexicon_of(sequences.tokens, starts[:-1], int(self.rare_threshold))
        self._lexicon = lexicon
        self.vocabulary_ = reading.as_array(list(lexicon.codes)[: lexicon.n_words])
        self._index = dict(lexicon.codes)
        corpus = reading.encode(sequences, self._index)
        reading.refuse_missing(corpus)
        numbers = lexicon.numbers(sequences.tokens, starts[:-1])
        horizontal = self.horizontal_markovisation
        treebank = binarised(
            gold.trees, numbers, gold.top, None if horizontal is None else int(horizontal)
        )
        return Problem(corpus, treebank)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""

    def _gold(self, X: Any, y: Any) -> tuple[Sequences, Gold]:
        """Sentences and their trees."""
        if is_tree(X):
            raise TypeError(f"X is {shown(X)}, a single tree: pass a list of trees")
        if are_trees(X):
            if y is not None:
                raise ValueError("X holds trees, and so does y: pass sentences and trees, or trees")
            gold = without_top(trees_in(X, "X"))
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return sentences_in(gold.trees), gold
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "the tree of each sentence, fit(sentences, trees) or fit(trees)"
            )
        sequences = self._sequences_to_fit(X, y)
        return sequences, gold_from(y, sequences)

    def _model(self, problem: Problem) -> AnnotatedModel:
        return self._bound(AnnotatedModel, problem)

    def _bound(self, kind: type[AnnotatedModel], problem: Problem) -> AnnotatedModel:
        """Trees bound to the settings, with the subtypes of the first sweep."""
        most, schedule = int(self.n_subtypes), self.schedule
        layout = layout_with(problem.treebank, 1 if schedule == "split-merge" else most)
        alpha, share = float(self.alpha), float(self.merge_share)
        return kind(problem, layout, self.init, alpha, most, share, schedule)

    def _with_rounds(self, algorithm: Algorithm) -> SplitMerge:
        """An algorithm between whose sweeps subtypes are split and merged as `schedule` says."""
        plan = plan_of(self.schedule, int(self.n_subtypes), int(self.round_length))
        return SplitMerge(algorithm, plan)

    def _weights(
        self, layout: Layout, counts: np.ndarray, alpha: float, kept: np.ndarray | None
    ) -> Weights:
        """Weights for sweeps and prediction: posterior means, unless VB differs."""
        return unscaled(posterior_mean(layout, counts, alpha, kept), layout)

    def _fixed_start(self) -> str:
        if self.n_subtypes == 1:
            return "without subtypes nothing is hidden"
        return ""

    # What a fit leaves

    def _fitted(self, fits: list[Fit], problem: Problem) -> dict[str, Any]:
        """All fitted attributes, from the best restart."""
        best, record = self._fit_record(fits)
        state, treebank = best.state, problem.treebank
        layout, algorithm = state.layout, self._algorithm()
        model = self._model(problem).laid_out(layout)
        output = Output(treebank.symbols, treebank.paths, treebank.top, _usual_root(treebank))
        return {
            "counts_": LatentPCFGCounts(algorithm.final_counts(state), layout.rules.first),
            "symbols_": reading.as_array(treebank.labels()),
            **record,
            "alpha_": float(self.alpha),
            "_layout": layout,
            "_kept": model.whole(state.weights),
            "_output": output,
            "_word_names": list(self._lexicon.codes),
            "_resume": (problem, best) if self.warm_start else None,
            **algorithm.attributes(best, model),
        }

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sentences and trees."""
        treebank = problem.treebank
        return treebank.symbols, treebank[1:5], treebank.trees

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _usual_root(treebank: Treebank) -> Any:
    """The most frequent root of trees."""
    n = len(treebank.roots)
    return treebank.symbols[treebank.roots[int(treebank.counts[:n].argmax())]].label
