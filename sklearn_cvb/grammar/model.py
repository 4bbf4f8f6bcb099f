"""A probabilistic grammar, as algorithms learn it: concentrations, starts, EM, VB, CVB, samples."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.grammar import inference
from sklearn_cvb.grammar.grammar import Grammar
from sklearn_cvb.grammar.layout import GrammarLayout, GrammarProblem
from sklearn_cvb.kernels.tree.arrays import Derivations
from sklearn_cvb.kernels.tree.tallies import TreeShares
from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.dirichlet import FIRST_VALUE, FIXED_MASS, WARM_UP_SWEEPS
from sklearn_cvb.learning.gibbs import count_structures, most_frequent_structures, sampled_labels
from sklearn_cvb.learning.model import InferenceResult, RowModel, State, StructureSample
from sklearn_cvb.reading.validation import as_numbers
from sklearn_cvb.settings import VAGUE, gamma_prior_of

# Starts that the seed decides.
RANDOM_STARTS = ("parameter", "uniform", "trees")
# How far a near-uniform start is from uniform.
_NOISE = 0.01


class PCFGCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a probabilistic context-free grammar.

    Attributes
    ----------
    rule : ndarray of shape (n_rules,)
        Expected number of uses of each rule in all training sentences, in the order of
        ``rules_.rules``.
    """

    rule: np.ndarray


class GrammarConcentrations(NamedTuple):
    """Dirichlet concentrations of a sweep, one value of which may be learned."""

    cells: np.ndarray  # (n_rules,)
    is_learned: bool  # whether all are one value that is learned
    gamma: tuple[Any, ...]  # its prior: shape, rate
    n_warm_up: int = WARM_UP_SWEEPS  # sweeps before it is

    def public_value(self) -> float | np.ndarray:
        """The one value, or one per rule."""
        same = self.cells.min() == self.cells.max()
        return float(self.cells[0]) if same else self.cells

    def log_density(self) -> float:
        """Log density of the learned concentration under its prior (nats)."""
        return dirichlet.log_gamma_prior(self.cells[0], *self.gamma) if self.is_learned else 0.0


def first_concentrations(alpha: Any, layout: GrammarLayout) -> GrammarConcentrations:
    """The concentrations of the first sweep; "auto" and a prior mark one to learn."""
    gamma_prior = gamma_prior_of(alpha)
    if isinstance(alpha, dict):
        alpha = np.array([alpha[label] for label in layout.grammar.symbols])[layout.lhs]
    cells = np.zeros(len(layout.lhs)) + (alpha if gamma_prior is None else FIRST_VALUE)
    return GrammarConcentrations(cells, gamma_prior is not None, gamma_prior or VAGUE)


# Where a fit begins: weights under which sentences are first inferred


def init_or_default(init: Any, layout: GrammarLayout) -> Any:
    """`init`, or the start that suits the grammar where it is None."""
    if init is not None:
        return init
    if not layout.is_given:
        return "parameter"
    if layout.grammar.probabilities is not None:
        return "grammar"
    # Weights that sum to 1 give a terminal of ten words the chance of one of a single word, and
    # so pieces as long as can be: nothing to learn from.
    has_cycles = len(layout.rules.member) > 0
    return "trees" if layout.longest_terminal > 1 and not has_cycles else "uniform"


def first_weights(init: Any, layout: GrammarLayout, rng: np.random.Generator) -> np.ndarray:
    """Weights of the first E-step, as `init` says."""
    if not isinstance(init, str):
        if isinstance(init, Grammar):
            if init.rules != layout.grammar.rules:
                raise ValueError("init has other rules: start from a model of the same grammar")
            assert init.probabilities is not None, "it is of a fitted model"
            return init.probabilities
        draws = _weights_from_array(init, layout)
    elif init == "grammar":
        if layout.grammar.probabilities is None:
            raise ValueError("init='grammar' needs a grammar with probabilities")
        return layout.grammar.probabilities
    elif init == "parameter":
        draws = rng.standard_exponential(len(layout.lhs))
    else:
        draws = 1.0 + _NOISE * rng.random(len(layout.lhs))
    if isinstance(init, str) and init == "trees":
        if len(layout.rules.member):
            raise ValueError(
                "init='trees' weighs all trees alike, but a cycle of unary rules has no "
                "end of them: start elsewhere"
            )
        return draws
    return layout.rows(draws).mean()


def _weights_from_array(init: Any, layout: GrammarLayout) -> np.ndarray:
    """Weights that were given, one for each rule."""
    weights = as_numbers("init", init)
    has_all = weights.shape == (len(layout.lhs),)
    if not (has_all and (weights >= 0).all() and np.isfinite(weights).all()):
        raise ValueError(
            f"init must hold {len(layout.lhs)} weights, one for each rule, finite and none "
            f"negative; got shape {weights.shape}"
        )
    return weights


# From counts to weights


def predicting_weights(
    layout: GrammarLayout,
    counts: np.ndarray,
    prior: np.ndarray,
    fallback: np.ndarray | None,
    averages: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of rules for prediction, and their logs: posterior means, or exp E[log theta]."""
    rows = layout.rows(counts, prior)
    if averages:
        logs = rows.expected_log()
        return np.exp(logs), logs
    weights = rows.mean(fallback)
    return weights, log_weights(weights)


def log_weights(weights: np.ndarray) -> np.ndarray:
    """Elementwise logs; log 0 is -inf."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def rare_word_counts(
    counts: np.ndarray, layout: GrammarLayout, seen: np.ndarray
) -> np.ndarray | None:
    """Mean count of the words that were `seen` once, by unknown cell; None without any."""
    cells, once = layout.unknown_cells, np.flatnonzero(seen == 1)
    if not (len(cells) and len(once)):
        return None
    text = np.repeat(np.arange(len(layout.terminal_first) - 1), np.diff(layout.terminal_first))
    here = np.isin(text, once) & (layout.terminal_cell >= 0)
    total = np.bincount(
        layout.terminal_symbol[here], counts[layout.terminal_cell[here]], layout.n_lhs
    )
    return total[layout.lhs[cells]] / len(once)


@dataclass(frozen=True)
class GrammarModel(RowModel):
    """Sentences under a grammar, with concentrations and a start: what algorithms learn."""

    problem: GrammarProblem
    alpha: GrammarConcentrations
    init: Any
    handle_unknown: str

    # Concentrations and prior

    def hyper(self) -> GrammarConcentrations:
        """The concentrations of the first sweep."""
        return self.alpha

    def learn_hyper(
        self,
        hyper: GrammarConcentrations,
        state: State,
        step: Callable[..., Any],
        absence: Callable[..., Any] | None,
    ) -> GrammarConcentrations:
        """One step for a concentration that is learned; none in the warm-up.

        ``absence()`` is P(C > 0) of every rule and left-hand side, or None where it is not known
        and nothing is learned; without it the plain form of eq. 29 of Wang and Blunsom (2013, HMM).
        """
        if not hyper.is_learned or state.n_sweeps < hyper.n_warm_up:
            return hyper
        counts, layout = state.counts, self.problem.layout
        totals = layout.totals(counts)
        surely = (np.ones_like(counts), np.ones_like(totals)) if absence is None else absence()
        if surely is None:
            return hyper
        order = np.argsort(layout.lhs, kind="stable")
        widths = np.bincount(layout.lhs, minlength=layout.n_lhs)
        rows = [
            (counts[cells], surely[0][cells], totals[[a]], surely[1][[a]], int(widths[a]))
            for a, cells in enumerate(np.split(order, np.cumsum(widths)[:-1]))
            if layout.grammar.symbols[a] not in layout.grammar.fixed
        ]
        return hyper._replace(cells=np.full(len(counts), step(hyper.cells[0], rows, *hyper.gamma)))

    def absence(self, shares: Any) -> tuple[np.ndarray, ...] | None:
        """P(C > 0) of every rule and left-hand side, which `learn` asks for."""
        problem, layout = self.problem, self.problem.layout
        if shares.tables is not None:
            return inference.presence_by_sentence(shares, problem)
        sentence = np.repeat(problem.sentences, np.diff(shares.starts))
        absent = [
            dirichlet.log_absence(places, sentence, shares.count, n_places)
            for places, n_places in (
                (shares.cell, len(layout.lhs)),
                (layout.lhs[shares.cell], layout.n_lhs),
            )
        ]
        return tuple(-np.expm1(logs) for logs in absent)

    def prior(self, hyper: GrammarConcentrations) -> np.ndarray:
        """One concentration for each rule; those that are fixed have a mass of their own."""
        layout = self.problem.layout
        if layout.grammar.probabilities is None or not layout.grammar.fixed:
            return hyper.cells
        return np.where(layout.fixed, FIXED_MASS * layout.grammar.probabilities, hyper.cells)

    # Where a restart begins

    def seed(self, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """First weights, the same for all parts."""
        layout = self.problem.layout
        weights, known = first_weights(self.init, layout, rng), layout.grammar.probabilities
        return weights if known is None else np.where(layout.fixed, known, weights)

    def start(
        self, prior: np.ndarray, seed: np.ndarray, keep: bool
    ) -> tuple[InferenceResult, np.ndarray]:
        """Counts expected under the first weights."""
        if keep:
            tally = inference.frozen_tally(self.problem.layout, seed)
            shares, log_z = inference.leave_out_sweep(self.problem, tally, None, True)
            return InferenceResult.from_log_z(
                inference.sum_shares(shares, self.problem), log_z, shares
            ), seed
        result = self.infer(seed)
        if isinstance(self.init, str) and self.init == "trees":
            # First weights do not sum to 1, and symbols without count and prior keep what follows.
            seed = self.problem.layout.rows(seed).mean(seed)
        return result, seed

    # EM and VB

    def infer(self, weights: np.ndarray, work: Any = None) -> InferenceResult:
        """Expected counts of all sentences."""
        return InferenceResult.from_log_z(*inference.expectation(weights, self.problem))

    def decode(self, weights: np.ndarray) -> InferenceResult:
        """Counts of the heaviest tree of each sentence."""
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        trees = inference.heaviest_trees(logs, self.problem)
        log_p = inference.log_weights_of_trees(trees, logs)
        return InferenceResult.from_log_z(inference.rule_uses(trees, self.problem.layout), log_p)

    # CVB

    def leave_out(
        self, counts: np.ndarray, prior: np.ndarray, shares: Any, *, frozen: bool
    ) -> InferenceResult:
        """Each sentence from the counts of all others."""
        tally = inference.tally_of(self.problem.layout, counts, prior)
        new, log_z = inference.leave_out_sweep(self.problem, tally, shares, frozen)
        if frozen:
            return InferenceResult.from_log_z(counts, log_z, shares)
        return InferenceResult.from_log_z(inference.sum_shares(new, self.problem), log_z, new)

    # Sampling

    def first_sample(self, prior: np.ndarray, rng: np.random.Generator) -> StructureSample:
        """Trees drawn under the first weights."""
        return self.draw_structures(self.seed(prior, rng), rng)

    def draw_structures(self, weights: np.ndarray, rng: np.random.Generator) -> StructureSample:
        """A tree of each sentence under these weights."""
        layout = self.problem.layout
        trees, log_z, _ = inference.draw_sweep(
            self.problem, inference.frozen_tally(layout, weights), rng
        )
        return StructureSample(
            inference.rule_uses(trees, layout), trees, np.flatnonzero(np.isneginf(log_z))
        )

    def resample(
        self,
        counts: np.ndarray,
        prior: np.ndarray,
        sample: Derivations,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """A Hastings step of each sentence given the trees of all others."""
        layout = self.problem.layout
        tally = inference.tally_of(layout, counts, prior)
        trees, _, proposals = inference.draw_sweep(self.problem, tally, rng, sample, temperature)
        return StructureSample(inference.rule_uses(trees, layout), trees, proposals=proposals)

    def means(self, counts: np.ndarray, prior: np.ndarray, sample: Derivations) -> np.ndarray:
        """Posterior means, those of unknown words included."""
        layout, rare = self.problem.layout, self.unknown_word_counts(counts)
        if rare is not None:
            counts = counts.copy()
            np.add.at(counts, layout.unknown_cells, rare)
        return layout.rows(counts, prior).mean()

    def count_labels(self, label_counts: Any, sample: Derivations) -> Any:
        """How often each tree of each sentence was sampled; rules in pre-order tell trees apart."""
        nodes = [
            (sample.rule[a:b].tobytes(), tuple(field[a:b].copy() for field in sample[1:]))
            for a, b in pairwise(sample.starts.tolist())
        ]
        return count_structures(label_counts, nodes)

    # Going on

    def adapt_state(self, state: State) -> State | None:
        """The state under the concentrations of now; a learned one goes on from its value."""
        alpha = self.alpha
        if alpha.is_learned:
            alpha = alpha._replace(cells=state.hyper.cells)
        counts = state.counts
        if isinstance(state.shares, TreeShares):
            # Counts are summed again: a sweep broken off half-way has changed shares in tables.
            counts = inference.sum_shares(state.shares, self.problem)
        return state._replace(counts=counts, hyper=alpha, prior=self.prior(alpha))

    # What a fit leaves

    def unknown_word_counts(self, counts: np.ndarray) -> np.ndarray | None:
        """Mean count of words seen once, by rule of unknown words; None where none is to add."""
        corpus, layout = self.problem.corpus, self.problem.layout
        if self.handle_unknown != "rare" or corpus.unknown:
            return None
        return rare_word_counts(counts, layout, corpus.uses(layout.n_words))

    def trees(self, state: State, *, averages: bool) -> Derivations:
        """Trees of the sentences: under the last Q(t_i), most often sampled, or the heaviest."""
        layout = self.problem.layout
        if isinstance(state.shares, TreeShares):
            tally = inference.tally_of(layout, state.counts, state.prior)
            return inference.leave_one_out_trees(state.shares, tally, self.problem)
        if isinstance(state.shares, Derivations):
            return inference.joined_trees(most_frequent_structures(sampled_labels(state, self)))
        arguments = (layout, state.counts, state.prior, state.weights)
        return inference.heaviest_trees(predicting_weights(*arguments, averages)[1], self.problem)


@dataclass(frozen=True)
class GibbsGrammarModel(GrammarModel):
    """A grammar whose probabilities are drawn before each sample of trees."""

    def resample(
        self,
        counts: np.ndarray,
        prior: np.ndarray,
        sample: Derivations,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """Probabilities given the trees, then all trees given the probabilities."""
        layout = self.problem.layout
        tally = inference.frozen_tally(layout, dirichlet_draw(counts + prior, layout, rng))
        trees = inference.draw_sweep(self.problem, tally, rng)[0]
        return StructureSample(inference.rule_uses(trees, layout), trees)


def dirichlet_draw(
    cells: np.ndarray, layout: GrammarLayout, rng: np.random.Generator
) -> np.ndarray:
    """Probabilities of rules from each symbol's Dirichlet, also where its cells are tiny.

    log Gamma(a) is drawn as log Gamma(a + 1) + log(U) / a, which does not underflow.
    """
    # Cells of 0 are rules that are fixed at 0.
    with np.errstate(divide="ignore"):
        logs = np.log(rng.standard_gamma(cells + 1.0)) + np.log1p(-rng.random(len(cells))) / cells
    largest = np.full(layout.n_lhs, -np.inf)
    np.maximum.at(largest, layout.lhs, logs)
    draws = np.exp(logs - largest[layout.lhs])
    return draws / np.bincount(layout.lhs, draws, layout.n_lhs)[layout.lhs]
