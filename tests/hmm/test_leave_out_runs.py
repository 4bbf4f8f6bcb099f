"""Sequences left out by their ambiguous runs against the general way, and how pairs are stored."""

import numpy as np
import pytest

from sklearn_cvb import CVBHMMTagger
from sklearn_cvb.hmm.leave_out import sweep_units
from sklearn_cvb.hmm.leave_out_runs import BY_STATE
from sklearn_cvb.hmm.units import (
    count_units,
    counts_of,
    expand_block,
    floor_of,
    full_absence,
    no_absence,
    store_block,
    tally_of,
    unit_work,
)
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.runs import settled_log_weight

# Three words of one tag and three ambiguous ones; and more tags, since a sequence with more pairs
# than there are pairs of tags is not inferred by runs.
LEGAL = {
    **{tag.lower(): tag for tag in "DEFGHIJKL"},
    "a": "A",
    "b": "B",
    "c": "C",
    "x": ["A", "B"],
    "y": ["B", "C"],
    "z": ["A", "B", "C"],
}


def text(rng, n_sequences=12, missing=False):
    """Sequences of certain words, ambiguous words, and runs of more than eight of these."""
    words = list("abcxyz") + [None] * missing
    X = [list(rng.choice(words, size=rng.integers(1, 9))) for _ in range(n_sequences)]
    X.append(list(rng.choice(list("xyz"), size=21)))
    X.append(["a", *rng.choice(list("xyz"), size=11), "c", "z"])
    return X


def labels(X, rng):
    """One label in four: a certain token whose word may be ambiguous elsewhere."""
    tags = {word: [tag] if isinstance(tag, str) else tag for word, tag in LEGAL.items()}
    tags[None] = ["A", "B", "C"]
    return [[rng.choice(tags[w]) if rng.random() < 0.25 else None for w in s] for s in X]


def swept(problem, prior, state, by_runs):
    """One sweep from copies of a state: log Z, posteriors and tables."""
    tables = tally_of(state.counts, prior, problem.cells)
    tables = type(tables)(*(table.copy() for table in tables))
    posterior, pairs = state.posterior.copy(), state.pairs.copy()
    log_z = np.empty(problem.corpus.n_sequences)
    n_states = problem.cells.n_states
    without_settled = sweep_units(
        tables,
        floor_of(prior),
        state.units,
        problem.runs,
        problem.lattice,
        posterior,
        pairs,
        np.ones((1, n_states)),
        # Where the absence of counts is tracked, nothing is done by runs.
        no_absence() if by_runs else full_absence(problem.cells),
        unit_work(state.units, problem),
        np.empty((BY_STATE, n_states)),
        log_z,
    )
    assert without_settled == by_runs
    total = log_z.sum()
    if by_runs:
        total += settled_log_weight(problem.runs, prior.emission)
    return total, posterior, pairs, tables


@pytest.mark.parametrize("kind", ["plain", "missing", "labels", "tiny prior"])
def test_runs_and_whole_sequences_agree(kind):
    rng = np.random.default_rng(7)
    X = text(rng, missing=kind == "missing")
    y = labels(X, rng) if kind == "labels" else None
    # Weights so small that float64 loses a run: then the sequence is inferred in logs.
    beta = 1e-120 if kind == "tiny prior" else 0.1
    if kind == "tiny prior":
        X = [*X, ["once", "x", "a", "y"], ["b", "another"]]
    model = CVBHMMTagger(LEGAL, alpha=0.5, beta=beta, random_state=0)
    problem = model._problem(X, y)
    state = model._start(problem, np.random.default_rng(0))
    prior = state.prior
    by_runs = swept(problem, prior, state, True)
    whole = swept(problem, prior, state, False)
    assert by_runs[0] == pytest.approx(whole[0], rel=1e-10)
    np.testing.assert_allclose(by_runs[1], whole[1], atol=1e-10)
    np.testing.assert_allclose(by_runs[2], whole[2], atol=1e-10)
    for ours, theirs in zip(by_runs[3], whole[3], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    # What is in the tables is what the stored posteriors and pairs add up to.
    counts = count_units(state.units, problem, by_runs[1], by_runs[2])
    for ours, theirs in zip(counts_of(by_runs[3], prior), counts, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_what_is_certain():
    X = [["a", "b", "x", "c"], ["x", "z", "a", "a"], ["b"]]
    model = CVBHMMTagger(LEGAL, handle_unknown="error")
    runs = model._problem(X, [[None] * 4, ["A", None, None, None], [None]]).runs
    assert runs.begin.tolist() == [2, 5]
    assert runs.end.tolist() == [3, 6]
    assert runs.sequence.tolist() == [0, 1, 2, 2]
    assert runs.state.tolist() == [0, 1, 2, 0, 0, 0, 1]
    assert runs.token.tolist() == [0, 3, 6, 7]
    # Pairs of certain neighbours: a b, and a a.
    assert runs.step.tolist() == [0 * 12 + 1, 0 * 12 + 0]
    assert runs.pair.tolist() == [0, 1, 2, 2]
    # The labelled x is certain, but other x are not: its cell is not settled.
    assert runs.open.tolist() == [0, 0, 1, 1]
    assert runs.open_state.tolist() == [0]
    # a: 1 left without sequence 1 (which holds 2), 2 left without sequence 0; b 1, twice; c 0.
    rows = zip(runs.settled_rest.tolist(), runs.settled_times.tolist(), strict=True)
    assert sorted(rows) == [(0, 1), (1, 2), (1, 2), (2, 1)]
    prior = np.full(len(runs.emission), 0.5)
    expected = np.log([0.5, 1.5, 1.5, 1.5, 1.5, 2.5]).sum()
    assert settled_log_weight(runs, prior) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 2), (2, 5), (6, 3)])
def test_blocks_come_back_from_what_is_stored(shape):
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.full(shape[0] * shape[1], 0.3)).reshape(shape)
    stored, block = np.full((shape[0] - 1) * (shape[1] - 1), np.nan), np.empty(joint.size)
    _expand(joint, stored, block)
    np.testing.assert_allclose(block.reshape(shape), joint, atol=1e-15)
    assert block.min() >= 0.0


def _expand(joint, stored, block):
    """Store a joint distribution and expand it again."""
    posterior = np.concatenate([joint.sum(axis=1), joint.sum(axis=0)])
    _round_trip(joint.ravel(), posterior, *joint.shape, stored, block)


@jit
def _round_trip(joint, posterior, n_left, n_right, stored, block):
    store_block(joint, 0, n_left, n_right, stored, 0)
    expand_block(posterior, 0, n_left, n_left, n_right, stored, 0, block)
