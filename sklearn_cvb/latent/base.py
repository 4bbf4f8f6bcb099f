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
from sklearn_cvb.latent.splitting import Plan, merged, plan_of, split
from sklearn_cvb.latent.start import first_weights, layout_with
from sklearn_cvb.latent.treebank import (
    Gold,
    are_trees,
    gold_from,
    is_tree,
    sentences_in,
    trees_in,
    without_top,
)
from sklearn_cvb.learning.loop import Fit, Schedule
from sklearn_cvb.validation import CHECKPOINT_PARAMETERS, Interval, StrOptions

# For so many sweeps after subtypes were split no change is too small to go on.
_ALIKE = 20


class BaseLatentPCFG(PredictionMixin, BaseModel):
    """Template of a fit; an algorithm fills in the hooks `_begin`, `_step` and `_weights`.

    A state has at least the fields counts, layout, weights, unexplained, n_sweeps.
    """

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

    # Starting and sweeping

    def _plan(self) -> Plan:
        """In which sweeps subtypes are split and merged."""
        return plan_of(self.schedule, int(self.n_subtypes), int(self.round_length))

    def _start(self, problem: Problem, rng: np.random.Generator) -> Any:
        """The state after an E-step under the first weights."""
        n_subtypes = 1 if self.schedule == "split-merge" else int(self.n_subtypes)
        layout = layout_with(problem.treebank, n_subtypes)
        weights = first_weights(self.init, problem.treebank, layout, rng)
        return self._begin(weights, layout, problem, 0)

    def _sweep(self, state: Any, problem: Problem, rng: np.random.Generator) -> tuple[Any, float]:
        """Split or merge where it is time to, then what the algorithm does."""
        plan, now = self._plan(), state.n_sweeps
        if now in plan.splits:
            weights, layout = split(self._means(state), state.layout, int(self.n_subtypes), rng)
            state = self._begin(weights, layout, problem, now)
        elif now in plan.merges:
            state = self._merged(state, problem)
        return self._step(state, problem)

    def _means(self, state: Any) -> np.ndarray:
        """Posterior means of a state."""
        return posterior_mean(state.layout, state.counts, float(self.alpha), state.weights)

    def _merged(self, state: Any, problem: Problem) -> Any:
        """A state whose least useful splits are undone."""
        means, share = self._means(state), float(self.merge_share)
        counts, layout = merged(means, state.counts, state.layout, problem.trees, share)
        weights = posterior_mean(layout, counts, float(self.alpha))
        return self._begin(weights, layout, problem, state.n_sweeps)

    def _begin(self, weights: np.ndarray, layout: Layout, problem: Problem, n_sweeps: int) -> Any:
        """The state after an E-step under given weights."""
        raise NotImplementedError

    def _step(self, state: Any, problem: Problem) -> tuple[Any, float]:
        """One sweep at the subtypes as they are."""
        raise NotImplementedError

    def _schedule(self, algorithm: Any, model: Any, n_before: int) -> Schedule:
        schedule = super()._schedule(algorithm, model, n_before)
        # Subtypes that are nearly alike take some sweeps to part.
        n_resting = max(0, self._plan().last + _ALIKE * (self.n_subtypes > 1) - n_before)
        return schedule._replace(n_resting=n_resting)

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
        state = best.state
        treebank, layout = problem.treebank, state.layout
        output = Output(treebank.symbols, treebank.paths, treebank.top, _usual_root(treebank))
        return {
            "counts_": LatentPCFGCounts(state.counts, layout.rules.first),
            "symbols_": reading.as_array(treebank.labels()),
            **record,
            "alpha_": float(self.alpha),
            "_layout": layout,
            "_kept": state.weights,
            "_output": output,
            "_word_names": list(self._lexicon.codes),
            "_resume": (problem, best) if self.warm_start else None,
            **self._fitted_by_algorithm(best, problem),
        }

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {}

    def _identity(self, problem: Problem) -> tuple[Any, ...]:
        """Sentences and trees."""
        treebank = problem.treebank
        return treebank.symbols, treebank[1:5], treebank.trees

    def _with_parameters_of_now(self, state: Any, problem: Problem) -> Any:
        """The state; None where other subtypes are asked for."""
        same = (
            self.schedule == "split-merge"
            or (state.layout.rules.n_subtypes == self.n_subtypes).all()
        )
        return state if same else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _usual_root(treebank: Treebank) -> Any:
    """The most frequent root of trees."""
    n = len(treebank.roots)
    return treebank.symbols[treebank.roots[int(treebank.counts[:n].argmax())]].label
