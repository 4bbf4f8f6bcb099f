"""Starts on legal paths: sampled steps are given to states along paths that a topology, or a given
table with zeros, allows. Clusters of steps are numbered so that few steps break the rules.

K-means numbers its clusters anyhow. Where most orders of states are ruled out few of its numberings
are a path, and no algorithm that climbs finds out of the others. So steps are given to states by
paths: in turn to the legal path that is nearest to the means, and means to the steps of the path.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers.clusters import as_table, draw_steps, inner_fences, kmeans_clusters
from sklearn_cvb.chain.numbers.e_step import lattice_of_steps
from sklearn_cvb.chain.parameters.user_tables import UserTables
from sklearn_cvb.chain.paths.lattice import Cells, Topology
from sklearn_cvb.emissions.emission import Family, Observations, Scores
from sklearn_cvb.kernels.chain.decoding import viterbi
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice

# Means and paths in turn, at most so often.
_TURNS = 20
# Cuts at random places, and clusterings, that are tried.
_TRIES = 3
# Numberings of clusters that are tried: the best of all, or above this many states of random ones.
_NUMBERINGS, _ALL_NUMBERED, _RANDOM = 2, 7, 5
# What a step costs that is ruled out, as a probability.
_NEXT_TO_NOTHING = 1e-3


class PathRules(NamedTuple):
    """Rules of legal paths: known probabilities, else 1 for what is allowed, 0 for what is not."""

    start: np.ndarray  # (K,)
    transition: np.ndarray  # (K, K)
    end: np.ndarray | None  # (K,), None where ends are no events

    @property
    def forbid(self) -> bool:
        """Whether anything is ruled out."""
        return not all(table is None or table.all() for table in self)

    @property
    def is_ordered(self) -> bool:
        """See `Topology`."""
        return Topology(self.start > 0, self.transition > 0, False).is_ordered

    def one_at_a_time(self) -> "PathRules":
        """Of states in order: from the first one on, none skipped."""
        n = len(self.start)
        steps = np.where(np.eye(n) + np.eye(n, k=1) > 0, self.transition, 0.0)
        return self._replace(start=np.eye(n)[0], transition=steps)

    def paths(
        self, logs: np.ndarray, starts: np.ndarray, lattice: Lattice | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best path of each sequence that is allowed, and its sum of `logs` (n_steps, K).

        Where none is allowed each step has its best state, and the sum is -inf.
        """
        start, moves = (np.where(table > 0, 0.0, -np.inf) for table in self[:2])
        if self.end is not None:
            logs = logs.copy()
            logs[starts[1:] - 1] += np.where(self.end > 0, 0.0, -np.inf)
        path, total = np.empty(len(logs), np.int32), np.empty(len(starts) - 1)
        lattice = lattice_of_steps(*logs.shape) if lattice is None else lattice
        viterbi(ChainWeights(start, moves, logs.ravel()), lattice, starts, path, total)
        return path, total


def rules_of(cells: Cells, tables: UserTables | None = None) -> PathRules | None:
    """The rules of a topology and of a user's tables; None where they rule out no path."""
    n, topology, start, transition, end = cells.n_emitting, cells.chain.topology, None, None, None
    if tables is not None:
        start, transition = tables.start, tables.transition
    is_said = transition is not None or (start is not None and not start[:n].all())
    if topology is not None:
        is_said = not topology.is_tied
    if not is_said or cells.chain.n_tables > 1:
        return None
    start = np.ones(n) if start is None else start[:n]
    transition = np.ones((cells.n_states,) * 2) if transition is None else transition
    if topology is not None:
        start, transition = topology.start[:n] * start, topology.transition * transition
    if cells.chain.has_end:
        end = transition[:n, n]
    if cells.chain.longest:
        # Steps stay in a state for as long as its visit lasts.
        transition = np.where(np.eye(n, dtype=bool), 1.0, transition)
        if transition.all():
            return None
    rules = PathRules(start, transition[:n, :n], end)
    # Sequences that stay in one state have no order: single steps tell which states there are.
    is_constant = np.array_equal(rules.transition > 0, np.eye(n, dtype=bool))
    return None if is_constant and n > 1 else rules


class Sample(NamedTuple):
    """A sample of whole sequences, and functions that score and cluster their steps."""

    starts: np.ndarray
    n_states: int
    known: np.ndarray | None  # states of steps, -1 where not known
    scores_of: Callable[[np.ndarray], Scores]  # what the steps of each state tell, by their states
    nearness: Callable[[Scores], np.ndarray]  # how near each step is to each state, (n_steps, K)
    kmeans_clusters: Callable[[], np.ndarray]  # the cluster of each step, drawn again
    draw_clusters: Callable[[], np.ndarray]  # clusters around steps that are drawn

    def by_cuts(self, cuts: np.ndarray) -> np.ndarray:
        """States in order, from one to the next at these shares of each sequence."""
        lengths = np.diff(self.starts).tolist()
        return np.concatenate([np.searchsorted(cuts, (np.arange(n) + 0.5) / n) for n in lengths])

    def refine(self, states: np.ndarray, rules: PathRules) -> tuple[float, Scores]:
        """Means and the nearest legal path in turn, from an assignment on; how near it is."""
        lattice, before = lattice_of_steps(len(states), self.n_states), -np.inf
        for _ in range(_TURNS):
            scores = self.scores_of(states)
            near = self.nearness(scores)
            if self.known is not None:
                others = np.arange(self.n_states) != self.known[:, None]
                near[others & (self.known >= 0)[:, None]] = -np.inf
            states, found = rules.paths(near, self.starts, lattice)
            # Sequences that are longer, or shorter, than any path are so in each candidate.
            total = float(found[np.isfinite(found)].sum())
            if total <= before + 1e-9 * abs(before):
                break
            before = total
        return total, scores


def legal_scores(
    sample: Sample, rules: PathRules, rng: np.random.Generator, *, is_first: bool
) -> Scores:
    """Scores of the best legal paths, of several tried; of one drawn, if not the first restart.

    A restart that is to differ is not the first.
    """
    begun = (_candidates if is_first else _random)(sample, rules, rng)
    tried = [sample.refine(states, rules) for states in begun]
    best = max(total for total, _ in tried)
    # Of those that end alike the first: its numbers lose fewest steps.
    return next(scores for total, scores in tried if total >= best - 1e-9 * abs(best))


def _candidates(sample: Sample, rules: PathRules, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """First assignments of steps: even segments and cuts where states are ordered, clusters."""
    k = sample.n_states
    if rules.is_ordered:
        yield sample.by_cuts(np.arange(1, k) / k)
        for _ in range(_TRIES):
            yield sample.by_cuts(np.sort(rng.random(k - 1)))
    for _ in range(_TRIES):
        found = sample.kmeans_clusters()
        yield from _numberings(found, sample, rules, rng)
        if sample.known is not None:
            # Clusters that began with known states have their numbers.
            yield found


def _random(sample: Sample, rules: PathRules, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """One assignment: at cuts, or of clusters around steps, that are drawn."""
    if rules.is_ordered:
        yield sample.by_cuts(np.sort(rng.random(sample.n_states - 1)))
    else:
        yield _numberings(sample.draw_clusters(), sample, rules, rng)[0]


def _numberings(
    clusters: np.ndarray, sample: Sample, rules: PathRules, rng: np.random.Generator
) -> list[np.ndarray]:
    """The numberings of clusters that lose fewest steps, begins and ends to the rules."""
    k, starts = sample.n_states, sample.starts
    if rules.is_ordered:
        # By where they are in their sequences.
        lengths = np.diff(starts)
        places = np.arange(len(clusters)) - np.repeat(starts[:-1], lengths)
        places = places / np.repeat(lengths, lengths)
        n_steps = np.maximum(np.bincount(clusters, minlength=k), 1)
        place = np.bincount(clusters, places, minlength=k) / n_steps
        return [place.argsort().argsort()[clusters]]
    # What is outside of a sequence is one more cluster, and one more state.
    counts, cost = np.zeros((k + 1, k + 1)), np.zeros((k + 1, k + 1))
    inside = np.ones(len(clusters), bool)
    inside[starts[:-1]] = False
    right = np.flatnonzero(inside)
    np.add.at(counts, (clusters[right - 1], clusters[right]), 1.0)
    counts[k, :k] = np.bincount(clusters[starts[:-1]], minlength=k)
    counts[:k, k] = np.bincount(clusters[starts[1:] - 1], minlength=k)
    cost[:k, :k], cost[k, :k] = (_cost(table) for table in (rules.transition, rules.start))
    if rules.end is not None:
        cost[:k, k] = _cost(rules.end)
    return [order[clusters] for order in _orders(counts, cost, rng)]


def _cost(table: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(table, _NEXT_TO_NOTHING))


def _orders(counts: np.ndarray, cost: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers of the clusters, (K,), under which their counted neighbours cost little."""
    k = len(counts) - 1
    if k <= _ALL_NUMBERED:
        orders = np.array([(*order, k) for order in permutations(range(k))])
    else:
        from scipy.optimize import quadratic_assignment

        fixed = {"partial_match": np.array([[k, k]]), "P0": "randomized", "rng": rng}
        found = [
            quadratic_assignment(counts, cost, method="faq", options=fixed).col_ind
            for _ in range(_RANDOM)
        ]
        orders = np.unique(found, axis=0)
    total = (counts * cost[orders[:, :, None], orders[:, None, :]]).sum(axis=(1, 2))
    return list(orders[np.argsort(total, kind="stable")[:_NUMBERINGS], :k])


# How near steps are


class Centres(NamedTuple):
    """Means of states, on columns in standard units: steps are near to them in least squares."""

    family: Family
    fences: tuple[np.ndarray, np.ndarray]
    centre: np.ndarray
    scale: np.ndarray
    means: np.ndarray  # (K, D)

    def fill(self, observations: Any, units: np.ndarray, out: np.ndarray) -> None:
        """Minus squared distances of steps, up to what all states share, into a table."""
        out[:] = self.nearness(*self.to_standard(as_table(observations, self.family)))

    def to_standard(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values in standard units, 0 where missing; 1 where they are not."""
        seen = ~np.isnan(values)
        values = np.clip(np.where(seen, values, self.centre), *self.fences) - self.centre
        return values / self.scale, seen.astype(np.float64)

    def nearness(self, values: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Minus squared distances of standard values, up to what all states share."""
        return 2.0 * values @ self.means.T - seen @ (self.means**2).T


def sample_of_values(
    values: np.ndarray,
    starts: np.ndarray,
    known: np.ndarray | None,
    family: Family,
    rng: np.random.Generator,
) -> Sample:
    """A sample whose steps are scored by their distances from means."""
    n_states, seen = family.n_states, ~np.isnan(values)
    centre = np.where(seen, values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    whole = np.where(seen, values, centre)
    deviation = whole.std(axis=0)
    units = np.where(deviation > 0, deviation, 1.0)
    centres = Centres(family, inner_fences(whole, family.has_outliers), centre, units, np.empty(0))
    table, observed = centres.to_standard(values)

    def around(states: np.ndarray) -> Centres:
        of_states = np.eye(n_states)[states].T
        sums, n_seen = of_states @ table, of_states @ observed
        # A state that no path visits begins again at a step.
        means = np.where(n_seen > 0, sums / np.maximum(n_seen, 1), table[rng.integers(len(table))])
        return centres._replace(means=means)

    def clustered() -> np.ndarray:
        known_states = [] if known is None else np.unique(known[known >= 0]).tolist()
        own = [(state, table[known == state]) for state in known_states]
        found: np.ndarray = kmeans_clusters(table, family, rng, own).labels
        return found

    def drawn() -> np.ndarray:
        means = table[draw_steps(len(table), n_states, rng)]
        return centres._replace(means=means).nearness(table, observed).argmax(axis=1)

    def near(scores: Any) -> np.ndarray:
        found: np.ndarray = scores.nearness(table, observed)
        return found

    return Sample(starts, n_states, known, around, near, clustered, drawn)


def sample_of_family(
    observations: Observations,
    starts: np.ndarray,
    known: np.ndarray | None,
    family: Family,
    rng: np.random.Generator,
) -> Sample:
    """A sample whose steps are scored by the family itself, such as by lines."""
    n, n_states = int(starts[-1]), family.n_states
    whole, known_states = np.array([0, n]), np.full(n, -1) if known is None else known

    def around(states: np.ndarray) -> Scores:
        sums = family.statistics(observations, np.eye(n_states)[states], whole)[0]
        found: Scores = family.log_densities(family.most_likely(sums))
        return found

    def near(scores: Scores) -> np.ndarray:
        table = np.empty((n, n_states))
        scores.fill(observations, whole, table)
        return table

    def clustered() -> np.ndarray:
        return near(family.starting_scores(observations, known_states, rng)).argmax(axis=1)

    return Sample(starts, n_states, known, around, near, clustered, clustered)
