"""Dirichlet rows of a chain: priors from concentrations, weights, means and divergences from
counts. A tally holds counts with the prior added, and their row totals; rare counts are those of
words seen once, which stand for unknown ones.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, xlogy

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.kernels.chain.leave_out import ChainTally, CountFloor
from sklearn_cvb.learning.dirichlet import (
    FIRST_VALUE,
    FIXED_MASS,
    WARM_UP_SWEEPS,
    DirichletRows,
    first_concentration,
    log_density,
)
from sklearn_cvb.settings import VAGUE

# A state that holds so large a share of the tokens counts as one that the data ask for.
LEAST_SHARE = 0.01
# gamma starts here where it is learned.
_FIRST_GAMMA = 1.0


class HMMCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a hidden Markov model.

    Attributes
    ----------
    start : ndarray of shape (n_components,)
        Expected number of sequences that start in each state.
    transition : ndarray of shape (n_components, n_components)
        Expected number of transitions from each state (row) to each state. With contexts (see
        `Transitions`) of shape (n_contexts, n_components, n_components).
    emission : ndarray or scipy.sparse.csr_array of shape (n_symbols, n_components)
        Expected number of times each symbol (row; unknown item last where there is one) was
        emitted by each state. Sparse where a tag dictionary rules states out. Of numbers an array
        of shape (n_components, n_statistics): the sums over steps that a state's parameters were
        learned from, such as sums of squares, in the emission's own units; with laws of durations
        their sums over visits come last, and transitions are those between visits. Inside the
        package the same name holds the flat cells of `sklearn_cvb.chain.paths.lattice.Cells`.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class Presence(NamedTuple):
    """P(C > 0) for the cells of all tables, and for the totals of their rows."""

    cells: HMMCounts
    totals: HMMCounts


class ChainPrior(NamedTuple):
    """Dirichlet prior: cells and row totals of the start row, transitions and emissions.

    Totals count every cell of a row, also those a dictionary rules out.
    """

    start: np.ndarray
    start_total: float
    transition: np.ndarray
    transition_total: np.ndarray
    emission: np.ndarray
    emission_total: np.ndarray
    # Those that it was made from, where they are known.
    concentrations: Any = None

    @property
    def fixed_rows(self) -> tuple[np.ndarray, ...]:
        """Whether the start row, and each row of transitions and of emissions, is fixed."""
        totals = self.start_total, self.transition_total, self.emission_total
        return tuple(np.asarray(total) >= FIXED_MASS / 2 for total in totals)

    @property
    def any_fixed(self) -> bool:
        """Whether any row is."""
        totals = self.transition_total.max(), self.emission_total.max(initial=0.0)
        return bool(max(self.start_total, *totals) >= FIXED_MASS / 2)

    def filled_from(self, below: "ChainPrior") -> "ChainPrior":
        """This prior, with the values of one `below` where it is NaN."""
        each: Any = zip(self._fields[:-1], self, below, strict=False)
        tables: Any = {name: np.where(np.isnan(value), other, value) for name, value, other in each}
        tables["start_total"] = float(tables["start_total"])
        return below._replace(**tables)

    def tally(self) -> ChainTally:
        """Its cells and row totals, but for that of the start row."""
        rows = self.transition, self.transition_total, self.emission, self.emission_total
        return ChainTally(self.start, *rows)


class ChainConcentrations(NamedTuple):
    """alpha and beta of a sweep, which of them are learned, and their Gamma priors.

    `start_alpha` None is `alpha`. `state_weights` are the weights of the states under the prior
    "hdp", or a row of them for each state under "pooled", `gamma` their concentration, and `sticky`
    what is added for staying in a state (see `sklearn_cvb.chain.parameters.shared_weights`).
    `dictionary_weight` is how much the counts that a dictionary expects weigh; None without a
    dictionary. `user_prior` has what a user says of single rows and cells (see
    `sklearn_cvb.chain.parameters.user_tables`), NaN where the concentrations say it.
    """

    alpha: float
    beta: float
    learn_alpha: bool
    learn_beta: bool
    alpha_prior: tuple[float, float]
    beta_prior: tuple[float, float]
    start_alpha: float | None
    state_weights: tuple[Any, ...] | None = None
    gamma: float = 1.0
    learn_gamma: bool = False
    gamma_prior: tuple[float, float] = (1.0, 1.0)
    sticky: float = 0.0
    dictionary_weight: float | None = None
    user_prior: ChainPrior | None = None
    n_warm_up: int = WARM_UP_SWEEPS  # sweeps before any of them is learned

    @property
    def is_learned(self) -> bool:
        """Whether any of them is learned."""
        return self.learn_alpha or self.learn_beta or self.state_weights is not None

    @property
    def is_pooled(self) -> bool:
        """Whether the rows of each state share weights of its own."""
        return self.state_weights is not None and isinstance(self.state_weights[0], tuple)

    @property
    def weights(self) -> np.ndarray:
        """Rows of weights: that of all states, or one for each."""
        return np.atleast_2d(np.array(self.state_weights))

    def with_weights(self, weights: np.ndarray) -> "ChainConcentrations":
        """The same with other weights, in rows."""
        rows = tuple(map(tuple, weights.tolist()))
        return self._replace(state_weights=rows if self.is_pooled else rows[0])

    def log_density(self) -> float:
        """Log density of the learned concentrations under their priors (nats)."""
        value = log_density(self.alpha, self.learn_alpha, self.alpha_prior)
        value += log_density(self.beta, self.learn_beta, self.beta_prior)
        if self.state_weights is None:
            return value
        # Of the weights over their logs, and of gamma.
        rows, gamma = self.weights, self.gamma
        each = gamma / rows.shape[1]
        constant = gammaln(gamma) - rows.shape[1] * gammaln(each)
        weights = len(rows) * constant + each * np.log(rows).sum()
        return value + (float(weights) + log_density(gamma, self.learn_gamma, self.gamma_prior))


# Priors


def prior_settings(options: ChainOptions, weight: float | None, waits: bool) -> ChainConcentrations:
    """Concentrations of the first sweep, by the weight of a dictionary, and whether they wait."""
    weights, n, start_alpha = options.hdp, options.n_components, options.transitions.start_alpha
    is_pooled = options.transitions.prior == "pooled"
    usual = FIRST_VALUE if weights is None else 1.0
    first = ChainConcentrations(
        first_concentration(usual if options.alpha is None else options.alpha),
        first_concentration(options.beta),
        options.alpha_prior is not None,
        options.beta_prior is not None,
        options.alpha_prior or VAGUE,
        options.beta_prior or VAGUE,
        None if start_alpha is None else first_concentration(start_alpha),
        sticky=float(options.transitions.sticky),
        dictionary_weight=weight,
        n_warm_up=WARM_UP_SWEEPS if waits else 0,
    )
    if is_pooled:
        # How alike contexts are is for the data to tell, if it is not said.
        learned = first.learn_alpha or options.alpha is None
        return first._replace(
            alpha=n * first.alpha if learned else first.alpha,
            learn_alpha=learned,
            start_alpha=FIRST_VALUE if start_alpha is None else first.start_alpha,
            state_weights=((1.0 / n,) * n,) * n,
            gamma=float(n),
        )
    if weights is None:
        return first
    return first._replace(
        # Equal weights are the plain prior, and so is what is learned at first.
        alpha=n * first.alpha if first.learn_alpha else first.alpha,
        state_weights=(1.0 / n,) * n,
        gamma=float(weights.gamma) if options.gamma_prior is None else _FIRST_GAMMA,
        learn_gamma=options.gamma_prior is not None,
        gamma_prior=options.gamma_prior or VAGUE,
    )


def shared_weights(hyper: ChainConcentrations, n_tokens: np.ndarray | None) -> dict[str, Any]:
    """The weights of the states, where the prior has them, and how many hold many tokens."""
    if hyper.state_weights is None:
        return {}
    if hyper.is_pooled:
        return {"pooled_transmat_": hyper.weights}
    attributes = {"state_weights_": np.array(hyper.state_weights), "gamma_": hyper.gamma}
    if n_tokens is not None:
        many = n_tokens >= LEAST_SHARE * n_tokens.sum()
        attributes["n_effective_components_"] = int(np.count_nonzero(many))
    return attributes


def resume_hyper(first: ChainConcentrations, before: ChainConcentrations) -> ChainConcentrations:
    """Concentrations `first` of the options, where learned ones go on from those `before`."""
    beta = before.beta if first.learn_beta else first.beta
    if np.shape(first.state_weights or ()) != np.shape(before.state_weights or ()):
        # alpha was that of a cell, and is that of a row, or the other way round.
        return first._replace(beta=beta)
    return first._replace(
        alpha=before.alpha if first.learn_alpha else first.alpha,
        beta=beta,
        state_weights=before.state_weights,
        gamma=before.gamma if first.learn_gamma else first.gamma,
    )


def prior_of(cells: Cells, hyper: ChainConcentrations) -> ChainPrior:
    """The prior of a sweep: one concentration for each kind of cell, and what changes that."""
    n, alpha, beta = cells.n_states, hyper.alpha, hyper.beta
    start_alpha = alpha if hyper.start_alpha is None else hyper.start_alpha
    n_rows = cells.chain.n_tables * n
    start, transition = np.full(n, float(start_alpha)), np.full((n_rows, n), float(alpha))
    # No sequence is empty. The row of the end has a prior like all others: nothing counts there.
    start[cells.n_emitting :] = 0.0
    start_total, out = float(cells.n_emitting * start_alpha), np.full(n_rows, float(n * alpha))
    if cells.chain.topology is not None:
        start, transition = cells.chain.topology.masked(start, transition)
        start_total, out = float(start.sum()), transition.sum(axis=1)
    if hyper.is_pooled:
        transition = alpha * np.tile(hyper.weights, (cells.chain.n_tables, 1))
        out = np.full(n_rows, float(alpha))
    elif hyper.state_weights is not None:
        # alpha and start_alpha are totals of a row, and the end, which is no state, has as much as
        # one of K equal weights beside them.
        ends = np.full(n - len(hyper.state_weights), 1.0 / len(hyper.state_weights))
        start, start_total = start_alpha * np.append(hyper.state_weights, 0.0 * ends), start_alpha
        transition = np.tile(alpha * np.append(hyper.state_weights, ends), (n, 1))
        out = np.full(n, alpha * (1.0 + ends.sum()))
    if hyper.state_weights is not None or hyper.sticky:
        stays = np.tile(np.eye(n), (cells.chain.n_tables, 1)) * (transition > 0) * hyper.sticky
        transition, out = transition + stays, out + stays.sum(axis=1)
    emission, emit = np.full(len(cells.state), float(beta)), np.full(n, float(cells.n_rows * beta))
    weighted = with_dictionary(emission, cells, hyper)
    if weighted is not emission:
        emission, emit = weighted, emit + cells.row_totals(weighted - emission)
    prior = ChainPrior(start, start_total, transition, out, emission, emit, hyper)
    return prior if hyper.user_prior is None else hyper.user_prior.filled_from(prior)


def with_dictionary(emission: np.ndarray, cells: Cells, hyper: ChainConcentrations) -> np.ndarray:
    """Prior cells of emissions with what a dictionary and forms expect.

    As if the corpus had been tagged this many times in the proportions that they expect; words
    known by their form alone share out their concentration in these, too.
    """
    if hyper.dictionary_weight is None:
        return emission
    expected_counts, scale = cells.tag_prior
    if scale is not None:
        emission = emission * scale
    if expected_counts is not None:
        emission = emission + hyper.dictionary_weight * np.nan_to_num(expected_counts)
    return emission


def row_totals(counts: HMMCounts, cells: Cells) -> HMMCounts:
    """Totals of the start row, of the transition rows and of the emission rows."""
    return HMMCounts(
        counts.start.sum(keepdims=True),
        counts.transition.sum(axis=1),
        cells.row_totals(counts.emission),
    )


# Weights


def rows_of(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> list[DirichletRows]:
    """The Dirichlet posteriors of the start row, of transitions and of emissions."""
    emission, u, row = counts.emission, prior.emission, cells.state
    if cells.is_full:
        shape, row = (cells.n_rows, cells.n_emitting), slice(cells.n_emitting)
        emission, u = emission.reshape(shape), u.reshape(shape)
    first, out = counts.start.sum(keepdims=True), counts.transition.sum(axis=1)
    emit, every = cells.row_totals(counts.emission), slice(None)
    return [
        DirichletRows(counts.start, prior.start, first, np.array([prior.start_total]), every),
        DirichletRows(
            counts.transition, prior.transition, out, prior.transition_total, np.s_[:, None]
        ),
        DirichletRows(emission, u, emit, prior.emission_total, row),
    ]


def posterior_mean(
    counts: HMMCounts, prior: ChainPrior, cells: Cells, fallback: ChainWeights | None = None
) -> ChainWeights:
    """Posterior means, or maximum likelihood with a prior of 0.

    Rows without count and prior keep the values of `fallback`; None for uniform rows.
    """
    means = []
    for i, rows in enumerate(rows_of(counts, prior, cells)):
        if fallback is None and not (rows.count_totals + rows.prior_totals).all():
            fallback = uniform_weights(cells)
        values = None if fallback is None else fallback[i].reshape(rows.counts.shape)
        means.append(rows.mean(values))
    if cells.chain.is_stationary:
        # Loaded where it is asked for: it has an optimiser.
        from sklearn_cvb.chain.parameters.stationary import most_likely

        starts, moves = counts.start + prior.start, counts.transition + prior.transition
        means[:2] = most_likely(starts, moves)
    return _weights_of(means, cells)


def _weights_of(tables: list[np.ndarray], cells: Cells) -> ChainWeights:
    """Tables as `rows_of` has them, as weights."""
    return tie_rows(ChainWeights(tables[0], tables[1], tables[2].reshape(-1)), cells)


def tie_rows(weights: ChainWeights, cells: Cells) -> ChainWeights:
    """Weights whose transitions all are the start row, where no state depends on another."""
    if cells.chain.topology is None or not cells.chain.topology.is_tied:
        return weights
    return weights._replace(transition=np.tile(weights.start, (cells.n_states, 1)))


def exp_expected_log(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> ChainWeights:
    """Weights exp(E[log theta]) under the Dirichlet posterior (Beal 2003; paper, section 2.1)."""
    rows = rows_of(counts, prior, cells)
    return _weights_of([table.exp_expected_log() for table in rows], cells)


def expected_log(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> ChainWeights:
    """E[log theta] under the Dirichlet posterior."""
    rows = rows_of(counts, prior, cells)
    return _weights_of([table.expected_log() for table in rows], cells)


def weights_under(
    counts: HMMCounts,
    prior: ChainPrior,
    cells: Cells,
    fallback: ChainWeights | None,
    *,
    averages: bool,
) -> tuple[ChainWeights, ChainWeights]:
    """Weights for prediction, and their logs: exp E[log theta] or posterior means."""
    if averages:
        return exp_expected_log(counts, prior, cells), expected_log(counts, prior, cells)
    weights = posterior_mean(counts, prior, cells, fallback)
    return weights, log_weights(weights)


def uniform_weights(cells: Cells) -> ChainWeights:
    """Equal weights for every state and symbol."""
    n = cells.n_states
    weights = ChainWeights(
        np.full(n, 1.0 / n),
        np.full((cells.chain.n_tables * n, n), 1.0 / n),
        np.full(len(cells.state), 1.0 / max(1, cells.n_rows)),
    )
    return kept_to_topology(weights, cells)


def kept_to_topology(weights: ChainWeights, cells: Cells) -> ChainWeights:
    """Weights with zeros where the topology allows nothing, and rows that sum to 1 again."""
    if cells.chain.topology is None and cells.chain.has_end:
        # No sequence is empty.
        start = np.append(weights.start[:-1], 0.0)
        return weights._replace(start=start / start.sum())
    if cells.chain.topology is None or cells.chain.topology.is_tied:
        return weights
    start, transition = cells.chain.topology.masked(weights.start, weights.transition)
    return weights._replace(
        start=start / start.sum(), transition=transition / transition.sum(axis=1, keepdims=True)
    )


def log_weights(weights: ChainWeights) -> ChainWeights:
    """Elementwise logs; log 0 is -inf."""
    with np.errstate(divide="ignore"):
        return ChainWeights(*(np.log(table) for table in weights))


# Log densities and divergences of all rows


def _allowed(cells: Cells) -> list[np.ndarray | slice]:
    """Which cells of start, transitions and emissions a topology allows, and the end."""
    if cells.chain.topology is not None:
        return [cells.chain.topology.start, cells.chain.topology.transition.ravel(), slice(None)]
    return [slice(cells.n_emitting if cells.chain.has_end else None), slice(None), slice(None)]


def _listed_rows(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> list[DirichletRows]:
    """The Dirichlet posteriors of the cells that are allowed, listed one by one."""
    n = cells.n_states
    rows_of_steps = np.repeat(np.arange(cells.chain.n_tables * n, dtype=np.int32), n)
    places = np.zeros(n, np.int32), rows_of_steps, cells.state
    return [
        rows._replace(
            counts=np.ravel(rows.counts)[legal], prior=np.ravel(rows.prior)[legal], row=row[legal]
        )
        for rows, row, legal in zip(
            rows_of(counts, prior, cells), places, _allowed(cells), strict=True
        )
    ]


def divergence(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> float:
    """KL of the posterior from the prior."""
    return sum(rows.divergence() for rows in _listed_rows(counts, prior, cells))


def vb_weights(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> tuple[ChainWeights, float]:
    """exp E[log theta], and KL of the posterior from the prior, which shares its digammas."""
    weights, value = ChainWeights(*(np.zeros(table.shape) for table in counts)), 0.0
    each = zip(_listed_rows(counts, prior, cells), weights, _allowed(cells), strict=True)
    for rows, table, legal in each:
        table.reshape(-1)[legal], divergence = rows.exp_log_and_divergence()
        value += divergence
    return weights, value


def log_prior_density(
    counts: HMMCounts, prior: ChainPrior, weights: ChainWeights, cells: Cells
) -> float:
    """The log prior in the softmax basis: the sum of u log theta over all cells (nats)."""
    # Where numbers are emitted no cell has a total.
    emits = len(cells.state) and prior.emission_total.any()
    if not (prior.start_total or prior.transition_total.any() or emits):
        return 0.0
    if prior.any_fixed:
        free = without_fixed(HMMCounts(prior.start, prior.transition, prior.emission), prior, cells)
        total = prior.emission_total * ~prior.fixed_rows[2]
        prior = prior._replace(**free._asdict(), emission_total=total)
    # Rows that all are the start row have no prior of their own.
    is_tied = cells.chain.topology is not None and cells.chain.topology.is_tied
    # The end has no parameters: nothing follows it, and it emits nothing.
    n, n_rows = cells.n_emitting, cells.chain.n_tables * cells.n_emitting
    value = float(np.sum(xlogy(prior.start, weights.start)))
    if not is_tied:
        value += float(np.sum(xlogy(prior.transition[:n_rows], weights.transition[:n_rows])))
    value += float(np.sum(xlogy(prior.emission, weights.emission)))
    # Cells a dictionary rules out share what the listed ones leave of the row.
    mass = prior.emission_total - cells.row_totals(prior.emission)
    n_ruled_out = cells.n_rows - np.bincount(cells.state, minlength=cells.n_states)
    emit = cells.row_totals(counts.emission) + prior.emission_total
    open_rows = (n_ruled_out > 0) & (emit > 0)
    open_rows[n:] = False
    each = mass[open_rows] / n_ruled_out[open_rows] / emit[open_rows]
    return value + float(np.sum(xlogy(mass[open_rows].clip(0), each.clip(0))))


# Counts


def empty_counts(cells: Cells) -> HMMCounts:
    """Counts of zero."""
    n, n_rows = cells.n_states, cells.chain.n_tables * cells.n_states
    return HMMCounts(np.zeros(n), np.zeros((n_rows, n)), np.zeros(len(cells.state)))


def without_fixed(tables: HMMCounts, prior: ChainPrior, cells: Cells) -> HMMCounts:
    """Tables with zeros in the rows that are fixed."""
    start, out, emit = prior.fixed_rows
    return HMMCounts(
        np.where(start, 0.0, tables.start),
        np.where(out[:, None], 0.0, tables.transition),
        np.where(emit[cells.state], 0.0, tables.emission),
    )


def word_major(cells: Cells, values: np.ndarray) -> np.ndarray | csr_array:
    """Cells as a (n_symbols, n_components) array, sparse where a dictionary rules states out."""
    if cells.is_full:
        return values.reshape(cells.n_rows, cells.n_emitting)
    csr = values, cells.state, cells.indptr.astype(np.int32)
    return csr_array(csr, shape=(cells.n_rows, cells.n_emitting))


def public_counts(counts: HMMCounts, cells: Cells) -> HMMCounts:
    """Counts with emissions in their public form, and without the end."""
    n, emission = cells.n_emitting, word_major(cells, counts.emission)
    return HMMCounts(counts.start[:n], counts.transition[:n, :n], emission)


def flat_cells(emission: np.ndarray | csr_array) -> np.ndarray:
    """The flat cells of a public emission table."""
    return np.ravel(emission) if isinstance(emission, np.ndarray) else emission.data


def with_end(counts: HMMCounts, end: np.ndarray) -> HMMCounts:
    """Counts with a column that says how often a sequence ends in each state."""
    n = len(end)
    transition = np.zeros((n + 1, n + 1))
    transition[:n, :n], transition[:n, n] = counts.transition, end
    return counts._replace(start=np.append(counts.start, 0.0), transition=transition)


def rare_counts(emission: np.ndarray, cells: Cells, uses: np.ndarray) -> np.ndarray | None:
    """Mean count, by state, of the words used once, by `uses`; None without any."""
    once = np.repeat(uses == 1, np.diff(cells.indptr[: cells.n_words + 1]))
    if not once.any():
        return None
    slots = np.flatnonzero(once)
    total = np.bincount(cells.state[slots], weights=emission[slots], minlength=cells.n_emitting)
    return total / np.count_nonzero(uses == 1)


def rare_in(problem: Any, counts: HMMCounts) -> np.ndarray | None:
    """Mean count, by state, of the words seen once in a problem that has no unknown ones."""
    cells, uses = problem.cells, problem.corpus.uses(problem.cells.n_words)
    return None if problem.corpus.unknown else rare_counts(counts.emission, cells, uses)


def with_rare(counts: HMMCounts, rare: np.ndarray | None, cells: Cells) -> HMMCounts:
    """Counts where unknown words have the mean count of words seen once, if there are any."""
    if rare is None:
        return counts
    emission = counts.emission.copy()
    emission[cells.unknown] += rare
    return counts._replace(emission=emission)


def tally_of(counts: HMMCounts, prior: ChainPrior | None, cells: Cells) -> ChainTally:
    """Counts plus prior, with denominators (`prior` None: plain counts)."""
    start, transition, emission = counts
    plain = start, transition, transition.sum(axis=1), emission, cells.row_totals(emission)
    return ChainTally(*plain if prior is None else map(np.add, plain, prior.tally()))


def floor_of(prior: ChainPrior) -> CountFloor:
    """The tables of a prior alone: what no count may fall below."""
    # A row whose every cell is 0 has no count either; nor has the end in the start row.
    least_step = min(prior.transition.min(), prior.start[prior.start > 0].min(initial=np.inf))
    return CountFloor(*prior.tally(), float(prior.emission.min()), float(least_step))
