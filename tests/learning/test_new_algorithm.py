"""A new algorithm for all families in one class, and a new family for all algorithms in another."""

from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import pytest
from enumerated import EnumeratedModel
from scipy.special import logsumexp

import sklearn_cvb
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.learning.algorithms import CVB, EM, VB, Algorithm, first_state
from sklearn_cvb.learning.gibbs import Gibbs, means_over_samples
from sklearn_cvb.learning.model import (
    FixedConcentrations,
    InferenceResult,
    Learnable,
    Model,
    mix_arrays,
)
from sklearn_cvb.learning.requirements import check_requirements
from sklearn_cvb.learning.split_merge import SplitMerge, SplitMergePlan
from sklearn_cvb.streams.stepwise import StepwiseEM, StepwisePace


def learned(algorithm, model, n_sweeps, seed=0):
    """The state after some sweeps, and the history."""
    check_requirements(algorithm, model)
    rng, history = np.random.default_rng(seed), []
    state = algorithm.start(model, rng)
    for _ in range(n_sweeps):
        state, value = algorithm.sweep(state, model, rng)
        history.append(value)
    return state, history


# A new algorithm for all families


class DampedEM(Algorithm):
    """EM whose counts move half of the way: all that a new algorithm has to say."""

    requires = Learnable
    optional = ("average", "leave_out")

    def start(self, model, rng, seed=None):
        return first_state(model, rng, seed, keep=False)._replace(shares=None)

    def sweep(self, state, model, rng):
        weights, cost = model.maximise(state.counts, state.prior, state.weights)
        found = model.infer(weights, state.work)
        after = state._replace(
            counts=mix_arrays(state.counts, 0.5, found.counts, 0.5),
            weights=weights,
            unexplained=found.unexplained,
            n_sweeps=state.n_sweeps + 1,
            work=found.work,
        )
        return after, found.log_normaliser - cost

    def objective(self, state, model, history):
        return history[-1]


FAMILIES = {
    "EMHMM": ("none", {"alpha": 0.5, "beta": 0.5}),
    "EMPCFG": ("given", {"alpha": 0.5}),
    "EMDMV": ("raw", {"alpha": 0.5}),
    "EMAlignmentHMM": ("raw", {"alpha": 0.5, "beta": 0.5}),
    "EMLatentPCFG": ("fixed", {"alpha": 0.1, "init": "random"}),
}


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_algorithm_learns_all_families(name):
    """It rises to where EM gets to, which is a fixed point of both."""
    title, settings = FAMILIES[name]
    situation = SITUATIONS[name][title]
    estimator = getattr(sklearn_cvb, name)(**situation.settings | settings)
    model = estimator._model(estimator._read(situation.X, situation.y))
    state, history = learned(DampedEM(), model, 600)
    _, of_em = learned(EM(), model, 600)
    assert np.diff(history).min() > -1e-9
    assert history[-1] - history[0] > 1e-3
    assert history[-1] == pytest.approx(of_em[-1], abs=1e-6)
    _, next_value = EM().sweep(state, model, np.random.default_rng(0))
    assert next_value == pytest.approx(history[-1], abs=1e-6)


# A new family for all algorithms: hidden Markov models of two states, by enumeration

N_SYMBOLS = 2
# Rows of the start, of two transitions and of two emissions, all of two cells.
N_ROWS = 5
SEQUENCES = [(0, 0, 1), (0, 1), (1, 1, 1), (0, 0, 0)]
ALPHA = 0.6


def uses_of(sequence):
    """How often each path of a sequence uses each cell."""
    paths = list(product(range(2), repeat=len(sequence)))
    uses = np.zeros((len(paths), N_ROWS, 2))
    for path, cells in zip(paths, uses, strict=True):
        cells[0, path[0]] += 1
        for before, after in pairwise(path):
            cells[1 + before, after] += 1
        for state, symbol in zip(path, sequence, strict=True):
            cells[3 + state, symbol] += 1
    return uses.reshape(len(paths), -1)


def normalised(cells):
    return cells / cells.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class EnumeratedHMM(EnumeratedModel):
    """All paths of all sequences; all else is what any enumeration does."""

    alpha: float

    @property
    def n_observed(self):
        return sum(map(len, SEQUENCES))

    def hyper(self):
        return FixedConcentrations()

    def learn_hyper(self, hyper, state, step, absence):
        return hyper

    def prior(self, hyper):
        return np.full(2 * N_ROWS, self.alpha)

    def seed(self, prior, rng):
        return self.mean(rng.gamma(2.0, size=prior.shape))

    def means(self, counts, prior, sample):
        """Which path each sequence has: its average is how often."""
        return tuple(np.eye(len(u))[j] for u, j in zip(self.uses, sample, strict=True))

    def step_through(self, state, order, pace, n_steps):
        counts, total = state.counts, 0.0
        for first in range(0, len(order), pace.batch_size):
            batch = [self.uses[i] for i in order[first : first + pace.batch_size]]
            found = replace(self, uses=tuple(batch)).infer(self.mean(counts + self.alpha))
            eta = (n_steps + 2) ** -pace.power
            counts = mix_arrays(counts, 1 - eta, found.counts, eta * len(order) / len(batch))
            total, n_steps = total + found.log_normaliser, n_steps + 1
        return InferenceResult(counts, total, work=n_steps)


@pytest.fixture
def model():
    uses, rows = tuple(map(uses_of, SEQUENCES)), np.repeat(np.arange(N_ROWS), 2)
    return EnumeratedHMM(None, uses, rows, ALPHA)


def first_weights(model):
    """Where `learned` begins."""
    return model.seed(model.prior(None), np.random.default_rng(0))


def all_evidence(model):
    """log p(sequences, paths) of all paths of all sequences together: an axis for each."""
    counts = 0.0
    for i, uses in enumerate(model.uses):
        shape = [1] * len(model.uses)
        shape[i] = len(uses)
        counts = counts + uses.reshape(*shape, -1)
    return model.log_evidence(counts, model.prior(None), None)


def test_em_of_a_new_family_never_falls(model):
    state, history = learned(EM(), model, 200)
    assert np.diff(history).min() > -1e-12
    again = model.mean(model.infer(state.weights).counts + ALPHA)
    np.testing.assert_allclose(again, state.weights, atol=1e-6)


def test_vb_of_a_new_family_bounds_its_evidence(model):
    _, history = learned(VB(), model, 200)
    exact = logsumexp(all_evidence(model))
    assert np.diff(history).min() > -1e-12
    assert exact - 3.0 < history[-1] < exact


def test_cvb_of_a_new_family_is_what_its_definition_says(model):
    """Path by path and use by use, from all the other sequences' distributions."""
    state, history = learned(CVB(), model, 5)
    weights = first_weights(model).reshape(N_ROWS, 2)
    paths = [list(product(range(2), repeat=len(sequence))) for sequence in SEQUENCES]

    def steps(sequence, path):
        cells = [(0, path[0])]
        cells += [(1 + a, b) for a, b in pairwise(path)]
        return cells + [(3 + k, symbol) for k, symbol in zip(path, sequence, strict=True)]

    def distribution(i, chances):
        joint = [np.prod([chances[s] for s in steps(SEQUENCES[i], path)]) for path in paths[i]]
        return np.array(joint) / sum(joint), np.log(sum(joint))

    def expected(others):
        counts = np.zeros((N_ROWS, 2))
        for i in others:
            for path, chance in zip(paths[i], q[i], strict=True):
                for step in steps(SEQUENCES[i], path):
                    counts[step] += chance
        return counts

    everybody = range(len(SEQUENCES))
    q = [distribution(i, weights)[0] for i in everybody]
    for value in history:
        total = 0.0
        for i in everybody:
            q[i], log_z = distribution(i, normalised(expected({*everybody} - {i}) + ALPHA))
            total += log_z
        assert value == pytest.approx(total / model.n_observed, abs=1e-12)
    np.testing.assert_allclose(state.counts, expected(everybody).ravel(), atol=1e-12)
    score = sum(
        distribution(i, normalised(expected({*everybody} - {i}) + ALPHA))[1] for i in everybody
    )
    objective = CVB().objective(state, model, history)
    assert objective == pytest.approx(score / model.n_observed, abs=1e-12)


@pytest.mark.long
def test_a_chain_of_a_new_family_samples_its_posterior(model):
    state, history = learned(Gibbs(4000, n_burn_in=50), model, 4000)
    logs = all_evidence(model)
    joint = np.exp(logs - logsumexp(logs))
    axes = set(range(joint.ndim))
    for i, shares in enumerate(means_over_samples(state, model)):
        np.testing.assert_allclose(shares, joint.sum(axis=tuple(axes - {i})), atol=0.04)
    assert np.mean(history[50:]) == pytest.approx(np.sum(joint * logs), abs=0.1)


def itself(model):
    """This family's model has what stepwise EM asks for; others have a value that holds them."""
    return model


def test_stepwise_em_of_a_new_family_counts_its_steps(model):
    """With all units in a step each sweep makes one, from whatever order they are in."""
    power, counts = 0.6, model.infer(first_weights(model)).counts
    state, history = learned(StepwiseEM(StepwisePace(len(SEQUENCES), power), itself), model, 6)
    for k in range(6):
        found = model.infer(model.mean(counts + ALPHA))
        eta = (k + 2) ** -power
        counts = (1 - eta) * counts + eta * found.counts
        value = found.log_normaliser + ALPHA * np.log(model.mean(counts + ALPHA)).sum()
        assert history[k] == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(state.counts, counts, atol=1e-12)
    weights = model.mean(counts + ALPHA)
    objective = model.infer(weights).log_normaliser + ALPHA * np.log(weights).sum()
    last = StepwiseEM(StepwisePace(len(SEQUENCES), power), itself).objective(state, model, history)
    assert last == pytest.approx(objective, abs=1e-12)


@pytest.mark.long
def test_stepwise_em_of_a_new_family_gets_to_where_em_gets(model):
    algorithm = StepwiseEM(StepwisePace(1, 0.51), itself)
    state, history = learned(algorithm, model, 1000)
    _, of_em = learned(EM(), model, 600)
    assert state.work.n_steps == 1000 * len(SEQUENCES)
    assert algorithm.objective(state, model, history) == pytest.approx(of_em[-1], abs=1e-4)


def test_stepwise_em_of_a_new_family_goes_on_in_the_orders_that_it_began_with(model):
    """The generator has moved on, or is another, and what is ruled out stays out of the orders."""
    algorithm = StepwiseEM(StepwisePace(1, 0.7), itself)
    half, first = learned(algorithm, model, 4)
    _, whole = learned(algorithm, model, 8)
    half = model.finish(half, goes_on=True)._replace(unexplained=np.array([2]))
    other, orders = np.random.default_rng(9), []

    @dataclass(frozen=True)
    class Watched(EnumeratedHMM):
        def step_through(self, state, order, pace, n_steps):
            orders.append(order.tolist())
            return super().step_through(state, order, pace, n_steps)

    watched, now, rest = (
        Watched(None, model.uses, model.rows, ALPHA),
        half._replace(unexplained=np.array([])),
        [],
    )
    for _ in range(4):
        now, value = algorithm.sweep(now, watched, other)
        rest.append(value)
    assert first + rest == whole
    assert [sorted(order) for order in orders] == [[0, 1, 2, 3]] * 4
    assert len({tuple(order) for order in orders}) > 1
    algorithm.sweep(half, watched, other)
    assert sorted(orders[-1]) == [0, 1, 3]


def test_what_a_family_lacks_is_said(model):
    class Half(Model):
        """It knows nothing."""

    says = (
        "CVB needs n_observed, prior, seed, start, leave_out of a model, which Half does not have"
    )
    with pytest.raises(NotImplementedError, match=says):
        check_requirements(CVB(), Half())
    changing = SplitMerge(EM(), SplitMergePlan(splits=(1,)))
    says = "SplitMerge needs layout, with_layout, split, merge of a model, which EnumeratedHMM does"
    with pytest.raises(NotImplementedError, match=says):
        check_requirements(changing, model)


def test_a_fit_by_what_its_family_lacks_is_refused():
    class SplitAlignment(sklearn_cvb.EMAlignmentHMM):
        def _algorithm(self):
            return SplitMerge(EM(), SplitMergePlan(splits=(1,)))

    X = SITUATIONS["EMAlignmentHMM"]["raw"].X
    says = (
        "SplitMerge needs layout, with_layout, split, merge of a model, which AlignmentModel does"
    )
    with pytest.raises(NotImplementedError, match=says):
        SplitAlignment().fit(X)
