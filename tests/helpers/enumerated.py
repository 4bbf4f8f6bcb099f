"""Any family once more, slowly: all paths, trees or alignments of tiny data, and what each uses.

An `EnumeratedModel` is made from the family's own model, which it asks for nothing but
concentrations and priors. It is a model itself: whatever algorithm learns the one learns the other,
and what both find is compared cell by cell. All that a family adds is how its counts, weights and
priors are laid out as one row of cells. Rules of grammars, tags and words are numbered as users
write them, and what ways there are comes from the enumerations beside this module.
"""

from dataclasses import dataclass
from itertools import pairwise, product

import alignment_enumeration
import numpy as np
from annotation_enumeration import Case
from dependency_enumeration import Tables, log_arc_weight, projective_trees, ways_of_tree
from restatement_pcfg import frequencies, owners
from scipy.special import digamma, gammaln, logsumexp, xlogy

from sklearn_cvb.alignment import parameters as alignment_parameters
from sklearn_cvb.alignment.model import expectation
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.algorithms import ViterbiTraining
from sklearn_cvb.learning.model import InferenceResult, Model, State, StructureSample
from sklearn_cvb.treebank.parameters import rule_lists_of, unscaled_weights


@dataclass(frozen=True)
class EnumeratedModel(Model):
    """Units, each a table of derivations and cells: how often the one uses the other.

    `rows` tells the row of each cell. Cells whose prior is 0 in a row that has some are ruled out.
    """

    real: Model
    uses: tuple
    rows: np.ndarray

    @property
    def n_observed(self):
        return self.real.n_observed

    # How the family lays out its cells

    def flat(self, counts):
        """Counts of the family as cells."""
        return counts

    def counts_of(self, cells):
        return cells

    def weights_of(self, cells):
        return cells

    def prior_of(self, cells):
        return cells

    def flat_prior(self, prior):
        return prior

    def started(self, algorithm, weights):
        """The family's state after inference under these weights."""
        return algorithm.start(self.real, np.random.default_rng(0), self.weights_of(weights))

    # Concentrations are the family's own

    def hyper(self):
        return self.real.hyper()

    def prior(self, hyper):
        return self.flat_prior(self.real.prior(hyper))

    def learn_hyper(self, hyper, state, step, absence):
        state = state._replace(counts=self.counts_of(state.counts))
        return self.real.learn_hyper(hyper, state, step, absence)

    def absence(self, shares):
        """log P(C = 0) of cells and rows: a unit uses one as surely as it is expected to."""
        by_row = [np.bincount(self.rows, share) for share in shares]
        with np.errstate(divide="ignore"):
            return tuple(
                sum(np.log1p(-np.clip(share, 0, 1)) for share in some) for some in (shares, by_row)
            )

    # Algorithms

    def totals(self, cells):
        """The sum of its row for each cell."""
        return np.bincount(self.rows, cells)[self.rows]

    def mean(self, cells, kept=None):
        """Cells over the sums of their rows; a row of zeros keeps its values."""
        below = self.totals(cells)
        kept = np.zeros(len(cells)) if kept is None else kept.copy()
        return np.divide(cells, below, kept, where=below > 0)

    def log_factors(self, i):
        """Log of what multiplies each derivation of a unit, and is no parameter."""
        return 0.0

    def ways(self, i, weights):
        """Log weights of all derivations of a unit, and what each uses."""
        return xlogy(self.uses[i], weights).sum(axis=1) + self.log_factors(i), self.uses[i]

    def posterior(self, i, weights):
        """Expected counts of a unit, and its log normaliser."""
        logs, uses = self.ways(i, weights)
        log_z = logsumexp(logs)
        return np.exp(logs - log_z) @ uses, log_z

    def structures(self, i):
        """Which path, tree or alignment each derivation of a unit belongs to."""
        return np.arange(len(self.uses[i]))

    def decode(self, weights):
        """Expected counts of the derivations of the most probable structure of each unit."""
        counts, best = np.zeros(len(self.rows)), []
        for i in self.units():
            (logs, uses), of = self.ways(i, weights), self.structures(i)
            totals = np.array([logsumexp(logs[of == one]) for one in range(of.max() + 1)])
            own = of == totals.argmax()
            best.append(totals.max())
            counts += np.exp(logs[own] - best[-1]) @ uses[own]
        return InferenceResult.from_log_z(counts, np.array(best))

    def start(self, prior, seed, keep):
        return self.infer(seed), seed

    def maximise(self, counts, prior, before):
        weights = self.mean(counts + prior, before)
        return weights, -np.sum(xlogy(prior, weights))

    def average(self, counts, prior, before):
        cells, there = counts + prior, prior > 0
        with np.errstate(invalid="ignore"):
            logs = np.where(there, digamma(cells) - digamma(self.totals(cells)), -np.inf)
        return np.exp(logs), self.divergence(counts, prior, logs)

    def divergence(self, counts, prior, logs):
        """KL of the posterior from the prior, summed over rows."""
        row, prior_row = (np.bincount(self.rows, part) for part in (counts + prior, prior))
        row, prior_row = row[prior_row > 0], prior_row[prior_row > 0]
        value = np.sum(gammaln(row) - gammaln(prior_row))
        c, p = counts[prior > 0], prior[prior > 0]
        return value + np.sum(gammaln(p) - gammaln(c + p) + c * logs[prior > 0])

    def infer(self, weights, work=None):
        shares, logs = zip(*(self.posterior(i, weights) for i in self.units()), strict=True)
        return InferenceResult.from_log_z(sum(shares), np.array(logs), list(shares))

    def leave_out(self, counts, prior, shares, *, frozen):
        shares, counts, total = list(shares), counts.copy(), 0.0
        for i in self.units():
            others = np.maximum(counts - shares[i], 0.0)
            share, log_z = self.posterior(i, self.mean(others + prior))
            total += log_z
            if not frozen:
                shares[i], counts = share, others + share
        return InferenceResult(sum(shares), total, shares=shares)

    # Sampling

    def first_sample(self, prior, rng):
        sample = [int(rng.integers(len(uses))) for uses in self.uses]
        return StructureSample(self.used(sample), sample)

    def resample(self, counts, prior, sample, rng, temperature):
        sample = list(sample)
        for i, uses in enumerate(self.uses):
            others = counts - uses[sample[i]]
            logs = self.log_evidence(others + uses, prior, None) + self.log_factors(i)
            logs = logs / temperature
            sample[i] = int(rng.choice(len(uses), p=np.exp(logs - logsumexp(logs))))
            counts = others + uses[sample[i]]
        return StructureSample(self.used(sample), sample)

    def log_evidence(self, counts, prior, sample):
        """log p(data, derivations) of counts whose last axis are cells."""
        there = prior > 0
        cells = np.sum(gammaln((counts + prior)[..., there]) - gammaln(prior[there]), axis=-1)
        by_row = np.eye(self.rows.max() + 1)[self.rows]
        prior_row = prior @ by_row
        rows = gammaln((counts + prior) @ by_row)[..., prior_row > 0]
        return cells - np.sum(rows - gammaln(prior_row[prior_row > 0]), axis=-1)

    def used(self, sample):
        return sum(uses[way] for uses, way in zip(self.uses, sample, strict=True))

    def units(self):
        return np.arange(len(self.uses))

    def exact_counts(self, prior):
        """E[counts] with all parameters integrated out, over all combinations of derivations."""
        counts = np.array([self.used(s) for s in product(*(range(len(u)) for u in self.uses))])
        logs = self.log_evidence(counts, prior, None)
        known = [np.broadcast_to(self.log_factors(i), len(u)) for i, u in enumerate(self.uses)]
        logs = logs + np.array([sum(ways) for ways in product(*known)])
        return np.exp(logs - logsumexp(logs)) @ counts


@dataclass(frozen=True)
class KnownRows(EnumeratedModel):
    """Rows whose probabilities replace whatever an M-step, or a mean, would say."""

    known: np.ndarray = None  # NaN where cells are free

    @property
    def free(self):
        return np.isnan(self.known)

    def mean(self, cells, kept=None):
        return np.where(self.free, super().mean(cells, kept), self.known)

    def flat_prior(self, prior):
        return np.where(self.free, super().flat_prior(prior), 0.0)

    def average(self, counts, prior, before):
        weights, cost = super().average(counts, prior, before)
        return np.where(self.free, weights, self.known), cost

    def log_evidence(self, counts, prior, sample):
        of_known = xlogy(counts, np.where(self.free, 1.0, self.known)).sum(axis=-1)
        return of_known + super().log_evidence(counts, prior, sample)


def learned(model, algorithm, weights, n_sweeps):
    """The state after sweeps from given weights, and the history."""
    state, history = algorithm.start(model, None, weights), []
    for _ in range(n_sweeps):
        state, value = algorithm.sweep(state, model, None)
        history.append(value)
    return state, history


def gaps(model, algorithm, n_sweeps=4):
    """How far the fit and the enumeration come apart, sweep by sweep."""
    rng = np.random.default_rng(0)
    weights = model.mean(rng.gamma(1.0, size=len(model.rows)))
    state, twin = model.started(algorithm, weights), algorithm.start(model, rng, weights)
    found = []
    for _ in range(n_sweeps):
        state, value = algorithm.sweep(state, model.real, None)
        twin, expected = algorithm.sweep(twin, model, None)
        assert len(state.unexplained) == 0
        found += [np.abs(model.flat(state.counts) - twin.counts).max(), value - expected]
    objective = algorithm.objective(state, model.real, [value])
    return np.abs([*found, objective - algorithm.objective(twin, model, [expected])]).max()


# Chains of states that emit symbols


class EnumeratedChain(EnumeratedModel):
    """Cells: the start row, rows of transitions (the end the last state), of emissions by word."""

    @property
    def places(self):
        """Where the cells of emissions stand that a dictionary lists."""
        cells = self.real.cells
        n = cells.n_states
        words = np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))
        return n + n * n + words * cells.n_emitting + cells.state

    def flat(self, counts):
        n, result = self.real.cells.n_states, np.zeros(len(self.rows))
        result[: n + n * n] = np.append(counts.start, counts.transition)
        result[self.places] = counts.emission
        return result

    def _tables(self, cells):
        n = self.real.cells.n_states
        return cells[:n], cells[n : n + n * n].reshape(n, n), cells[self.places]

    def counts_of(self, cells):
        return HMMCounts(*self._tables(cells))

    def weights_of(self, cells):
        return ChainWeights(*self._tables(cells))

    def prior_of(self, cells):
        start, transition, emission = self._tables(cells)
        n = self.real.cells.n_states
        totals = np.bincount(self.rows, cells, 2 * n + 1)
        if self.real.cells.chain.has_end:
            # What follows the end is never asked for, but nothing must be divided by 0.
            transition = np.vstack([transition[:-1], np.ones(n)])
            totals[[n, 2 * n]] = n, 1.0
        return ChainPrior(
            start, totals[0], transition, totals[1 : n + 1], emission, totals[n + 1 :]
        )

    def flat_prior(self, prior):
        """Cells that a dictionary rules out share what the others leave of the row."""
        n, result = self.real.cells.n_states, self.flat(prior)
        if self.real.cells.chain.has_end:
            result[n * n : n + n * n] = 0.0
        unlisted = np.setdiff1d(np.arange(n + n * n, len(result)), self.places)
        state = self.rows - n - 1
        rest = prior.emission_total - np.bincount(state[self.places], prior.emission, n)
        n_unlisted = np.bincount(state[unlisted], minlength=n)
        result[unlisted] = (rest / np.maximum(n_unlisted, 1))[state[unlisted]]
        return result


class KnownChain(KnownRows, EnumeratedChain):
    pass


def enumerated_chain(estimator, X, n_states, dictionary=None, mask=None):
    """All paths of sequences of symbols 0, 1, ... (None: missing).

    `dictionary` tells the states of a symbol; `mask` (K + 1, K), start row last, the steps there
    are.
    """
    real = estimator._model(estimator._read(X, None))
    n, n_rows, n_emitting = real.cells.n_states, real.cells.n_rows, real.cells.n_emitting
    states = np.arange(n_emitting)
    rows = [np.zeros(n, int), np.repeat(1 + np.arange(n), n), np.tile(1 + n + states, n_rows)]
    rows, everything = np.concatenate(rows), list(range(n_states))
    uses = []
    for sequence in X:
        legal = [(dictionary or {}).get(symbol, everything) for symbol in sequence]
        table = []
        for path in product(*legal):
            steps = list(pairwise(path))
            if mask is not None and not (mask[-1][path[0]] and all(mask[a][b] for a, b in steps)):
                continue
            if n > n_states:
                steps.append((path[-1], n - 1))
            cells = [path[0], *(n + n * a + b for a, b in steps)]
            cells += [
                n + n * n + symbol * n_emitting + k
                for symbol, k in zip(sequence, path, strict=True)
                if symbol is not None
            ]
            table.append(np.bincount(cells, minlength=len(rows)))
        uses.append(np.array(table, float))
    return EnumeratedChain(real, tuple(uses), rows)


# Grammars


class EnumeratedGrammar(EnumeratedModel):
    """Cells: rules in the grammar's order."""

    def flat_prior(self, prior):
        return prior + np.zeros(len(self.rows))

    def absence(self, shares):
        """P(C > 0)."""
        return tuple(-np.expm1(logs) for logs in super().absence(shares))


class KnownGrammar(KnownRows, EnumeratedGrammar):
    pass


def enumerated_grammar(estimator, X, depth=3):
    """All trees, with at most `depth` unary rules in a row."""
    real = estimator._model(estimator._read(X, None))
    grammar = real.problem.layout.grammar
    found = real, tuple(frequencies(grammar, X, depth)), owners(grammar)
    if not grammar.fixed:
        return EnumeratedGrammar(*found)
    known = np.where(real.problem.layout.fixed, grammar.probabilities, np.nan)
    return KnownGrammar(*found, known)


# Dependency models


@dataclass(frozen=True)
class EnumeratedDependencies(EnumeratedModel):
    """Trees whose arcs are weighted: `logs` has the sum of logs of each derivation.

    `trees` says which tree each derivation belongs to.
    """

    logs: tuple = ()
    trees: tuple = ()

    def structures(self, i):
        return self.trees[i]

    def log_factors(self, i):
        return self.logs[i]


def enumerated_dependencies(estimator, tags):
    """All projective trees of sentences of tags 0, 1, ..., and all components of their arcs."""
    real = estimator._model(estimator._read([[f"t{t}" for t in s] for s in tags], None))
    tables = Tables(*real.layout)
    n_cells, uses, logs, trees = sum(tables.rows()), [], [], []
    for sentence in tags:
        ways = [
            (way, log_arc_weight(sentence, heads, estimator.arc_weights or {}), tree)
            for tree, heads in enumerate(projective_trees(len(sentence)))
            for way in ways_of_tree(sentence, heads, tables)
        ]
        uses.append(np.array([np.bincount(way, minlength=n_cells) for way, *_ in ways], float))
        logs.append(np.array([log for _, log, _ in ways]))
        trees.append(np.array([tree for *_, tree in ways]))
    found = real, tuple(uses), tables.row_of_cell(), tuple(logs), tuple(trees)
    return EnumeratedDependencies(*found)


# Treebank grammars


class EnumeratedTreebank(EnumeratedModel):
    """Cells: annotated rules; all have one prior."""

    def weights_of(self, cells):
        return unscaled_weights(cells, self.real.layout)

    def prior_of(self, cells):
        return float(cells[0])

    def flat_prior(self, prior):
        return np.full(len(self.rows), prior)

    def started(self, algorithm, weights):
        return algorithm.start(self.real, np.random.default_rng(0), weights)


def enumerated_treebank(estimator, trees):
    """All annotations of observed trees."""
    real = estimator._model(estimator._read(trees, None))
    rules, observed = real.layout.rules, real.problem.trees
    table = np.column_stack([observed.rule, observed.left, observed.right])
    # Children are numbered within their tree.
    table[:, 1:] -= np.repeat(observed.starts[:-1], np.diff(observed.starts))[:, None]
    table[:, 1][observed.left < 0] = table[:, 2][observed.right < 0] = -1
    nodes = [table[a:b].tolist() for a, b in pairwise(observed.starts.tolist())]
    case = Case(rules.n_subtypes.tolist(), *rule_lists_of(rules), nodes, observed.root.tolist())
    return annotated(real, case)


def annotated(real, case):
    """All annotations of the trees of a case, which the model has, too."""
    number = {cell: c for c, cell in enumerate(case.annotated_rules())}
    row = {}
    rows = np.array([row.setdefault(case.row(cell), len(row)) for cell in number])
    uses = [
        [[number[cell] for cell in case.used(i, some)] for some in case.annotations(i)]
        for i in range(len(case.trees))
    ]
    tables = [np.array([np.bincount(u, minlength=len(rows)) for u in some], float) for some in uses]
    return EnumeratedTreebank(real, tuple(tables), rows)


# Word alignment


@dataclass(frozen=True)
class EnumeratedAlignment(EnumeratedModel):
    """Cells: the lexicon (NULL's row last), jumps, and whether there is a source.

    Jumps that leave the sentence are drawn again. By pair, `visits` tell how often each alignment
    moves from each context, `leaving` which jumps lead out from there, and `shared` the log of how
    many positions share the jumps of an alignment.
    """

    visits: tuple
    leaving: tuple
    shared: tuple

    def ways(self, i, weights):
        """Sums over how often jumps were drawn again: geometric series."""
        logs, uses = super().ways(i, weights)
        lost = self.leaving[i] @ weights
        again = self.leaving[i] * weights / (1 - lost)[:, None]
        logs = logs - self.shared[i] - self.visits[i] @ np.log1p(-lost)
        return logs, uses + self.visits[i] @ again

    @property
    def places(self):
        layout = self.real.problem.layout
        n_lexical = (layout.n_sources + 1) * layout.n_targets
        return np.append(layout.keys, np.arange(n_lexical, len(self.rows)))

    def flat(self, counts):
        result = np.zeros(len(self.rows))
        result[self.places] = counts
        return result

    def counts_of(self, cells):
        return cells[self.places]

    def weights_of(self, cells):
        n_rows = self.real.problem.layout.n_rows
        return alignment_parameters.AlignmentWeights(cells[self.places], np.zeros(n_rows))

    def prior_of(self, cells):
        first = np.searchsorted(self.rows, np.arange(self.rows.max() + 1))
        rest, p_null = cells[first], self.real.prior(None).p_null
        whole = rest[self.rows]
        whole[self.places] = cells[self.places]
        totals = np.bincount(self.rows, whole)
        return alignment_parameters.AlignmentPrior(whole[self.places], totals, rest, p_null)

    def flat_prior(self, prior):
        result = prior.unlisted[self.rows]
        result[self.places] = prior.cells
        if prior.p_null != alignment_parameters.LEARNED:
            result[-2:] = 0.0
        return result

    def mean(self, cells, kept=None):
        return self._with_given_null(super().mean(cells, kept))

    def average(self, counts, prior, before):
        if prior[-1] == 0:
            counts = np.append(counts[:-2], [0, 0])
        weights, divergence = super().average(counts, prior, before)
        return self._with_given_null(weights), divergence

    def _with_given_null(self, weights):
        p_null = self.real.prior(None).p_null
        if p_null == alignment_parameters.LEARNED:
            return weights
        return np.append(weights[:-2], [1 - p_null, p_null])

    def started(self, algorithm, weights):
        problem, hyper = self.real.problem, self.real.hyper()
        first = self.weights_of(weights)
        counts, _, shares = expectation(first, problem.pairs, problem.layout, True)
        if isinstance(algorithm, ViterbiTraining):
            counts = self.real.decode(first).counts
        return State(counts, self.real.prior(hyper), hyper, None, shares)


def enumerated_alignments(estimator, pairs):
    """All alignments of pairs of source words 0, 1, ... and target words 0, 1, ..."""
    X = [([f"s{row}" for row in rows], [f"t{t}" for t in targets]) for rows, targets in pairs]
    real = estimator._model(estimator._read(X, None))
    layout = real.problem.layout
    farthest, n_targets = layout.longest_jump, layout.n_targets
    n_lexical, n_jumps = (layout.n_sources + 1) * n_targets, 2 * farthest + 1
    rows = np.repeat(
        np.arange(layout.n_sources + 3), [n_targets] * (layout.n_sources + 1) + [n_jumps, 2]
    )
    uses, visits, leaving, shared = [], [], [], []
    for sources, targets in pairs:
        n, table, moved, log_shared = len(sources), [], [], []
        inside = [alignment_enumeration.reachable(c, n, farthest) for c in range(n + 1)]
        for alignment in alignment_enumeration.alignments((sources, targets)):
            cells = [
                (sources[p] if p >= 0 else layout.n_sources) * n_targets + t
                for p, t in zip(alignment, targets, strict=True)
            ]
            cells += [n_lexical + n_jumps + (p < 0) for p in alignment]
            moves = list(alignment_enumeration.moves(alignment))
            jumps = [alignment_enumeration.jump_of(*move, farthest) for move in moves]
            cells += [n_lexical + farthest + jump for jump in jumps]
            table.append(np.bincount(cells, minlength=len(rows)))
            moved.append(np.bincount(np.array([c for c, _ in moves], int), minlength=n + 1))
            sizes = [len(inside[c][jump]) for (c, _), jump in zip(moves, jumps, strict=True)]
            log_shared.append(np.log(sizes).sum())
        lost = np.zeros((n + 1, len(rows)))
        for context, some in enumerate(inside):
            for jump in range(-farthest, farthest + 1):
                lost[context, n_lexical + farthest + jump] = jump not in some
        uses.append(np.array(table, float))
        visits.append(np.array(moved, float))
        leaving.append(lost)
        shared.append(np.array(log_shared))
    by_pair = map(tuple, (visits, leaving, shared))
    return EnumeratedAlignment(real, tuple(uses), rows, *by_pair)
