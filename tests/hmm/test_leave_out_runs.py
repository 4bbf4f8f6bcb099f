"""Sequences left out by their ambiguous runs against the general way, and how pairs are stored."""

from itertools import pairwise

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, CVBHMMTagger, run_lists
from sklearn_cvb.hmm.leave_out import sweep_units
from sklearn_cvb.hmm.leave_out_runs import run_buffers
from sklearn_cvb.hmm.tallies import floor_of, tally_of, without_prior
from sklearn_cvb.hmm.units import (
    count_units,
    expand_block,
    flat_steps,
    full_absence,
    no_absence,
    store_block,
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


# Words that occur once.
LEGAL |= {"u": ["A", "B"], "v": ["B", "C"]}
# Words of no dictionary entry, which may take every tag.
OPEN_WORDS = list("opq")


def text(rng, n_sequences=12, missing=False):
    """Sequences of certain words, ambiguous words, and runs of more than eight of these."""
    words = list("abcxyz") + [None] * missing
    X = [list(rng.choice(words, size=rng.integers(1, 9))) for _ in range(n_sequences)]
    X.append(list(rng.choice(list("xyz"), size=21)))
    X.append(["a", *rng.choice(list("xyz"), size=11), "c", "z"])
    return X


def open_text(rng, missing=False):
    """Sequences with words that may take every tag, at most half of each; first, last, in a row."""
    words = list("abcxyzopq") + [None] * missing
    share = np.array([0.1] * 6 + [0.14] * 2 + [0.12] + [0.1] * missing)
    X = []
    while len(X) < 12:
        sequence = list(rng.choice(words, size=rng.integers(4, 30), p=share / share.sum()))
        if 0 < 2 * sum(word in OPEN_WORDS for word in sequence) <= len(sequence):
            X.append(sequence)
    X.append(list("oxpqaoybzozaqpx") + list("xyz") * 4)
    X.append(list("axopqobcxyzoyaxo"))
    X.append(list("xyzoxyzxyzpqxyzxxzo"))
    return X + text(rng, 3, missing)


def labels(X, rng):
    """One label in four: a certain token whose word may be ambiguous elsewhere."""
    tags = {word: [tag] if isinstance(tag, str) else tag for word, tag in LEGAL.items()}
    tags |= {word: ["A", "B", "C"] for word in [None, *OPEN_WORDS]}
    return [[rng.choice(tags[w]) if rng.random() < 0.25 else None for w in s] for s in X]


def swept(problem, prior, state, by_runs):
    """One sweep from copies of a state: log Z, posteriors and tables."""
    tables = tally_of(state.counts, prior, problem.cells)
    tables, steps = flat_steps(type(tables)(*(table.copy() for table in tables)))
    posterior, pairs = state.posterior.copy(), state.pairs.copy()
    log_z = np.empty(problem.corpus.n_sequences)
    n_states = problem.cells.n_states
    without_settled = sweep_units(
        tables,
        floor_of(prior),
        steps,
        state.units,
        problem.runs,
        problem.lists,
        problem.lattice,
        posterior,
        pairs,
        np.ones((1, n_states)),
        # Where the absence of counts is tracked, nothing is done by runs.
        no_absence() if by_runs else full_absence(problem.cells),
        unit_work(state.units, problem),
        run_buffers(problem),
        log_z,
    )
    assert without_settled == by_runs
    total = log_z.sum()
    if by_runs:
        total += settled_log_weight(problem.runs, prior.emission)
    return total, posterior, pairs, tables


def started(model, X, y, monkeypatch, kept):
    """Problem and first state of a model that keeps its lists, or writes each when it needs it."""
    monkeypatch.setattr(run_lists, "_MOST_BYTES_A_TOKEN", np.inf if kept else 0)
    problem = model._problem(X, y)
    state = model._start(problem, np.random.default_rng(0))
    assert state.units.whole.any() == kept
    return problem, state


def agree(problem, state):
    """Assert that a sweep by runs and one by whole sequences agree."""
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
    for ours, theirs in zip(without_prior(by_runs[3], prior), counts, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.parametrize("init", ["token", "parameter"])
@pytest.mark.parametrize("kind", ["plain", "missing", "labels", "tiny prior"])
def test_open_tokens_and_whole_sequences_agree(kind, init):
    rng = np.random.default_rng(2)
    X = open_text(rng, missing=kind == "missing")
    y = labels(X, rng) if kind == "labels" else None
    beta = 1e-120 if kind == "tiny prior" else 0.1
    if kind == "tiny prior":
        X = [*X, ["once", *"oxaypxyz"], ["b", "another", *"opqxyzxzyyyyx"]]
    model = CVBHMMTagger(LEGAL, alpha=0.5, beta=beta, init=init, random_state=0)
    problem = model._problem(X, y)
    state = model._start(problem, np.random.default_rng(0))
    open_tokens = [sum(word in OPEN_WORDS for word in sequence) for sequence in X]
    listed = problem.lists.summed
    # One with something missing has no list.
    assert listed.sum() > (3 if kind == "missing" else 10)
    assert not listed[np.array(open_tokens) == 0].any()
    assert (state.units.summed & state.units.compact)[listed].all()
    agree(problem, state)
    # Also from where sweeps lead, with the counts in the tables that they were left in.
    for _ in range(3):
        state, _ = model._sweep(state, problem, None)
    agree(problem, state)


def test_sums_of_pairs_do_not_change_what_is_learned(monkeypatch):
    """Whether a sequence keeps the sum of its pairs or each of them."""
    rng = np.random.default_rng(4)
    X = open_text(rng, missing=True)
    y = labels(X, rng)
    results = []
    for most in (run_lists._SUMMED, 0):
        monkeypatch.setattr(run_lists, "_SUMMED", most)
        model = CVBHMMTagger(LEGAL, alpha=0.5, random_state=0, max_iter=25, tol=0, warm_start=True)
        model.fit(X, y)
        assert model._resume[0].lists.summed.any() == (most > 0)
        table = np.concatenate(model.training_posteriors())
        start, transition, emission = model.counts_
        results.append([model.history_, table, model.loo_score_, start, transition, emission.data])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", ["plain", "missing", "labels", "tiny prior"])
def test_runs_and_whole_sequences_agree(kind, kept, monkeypatch):
    rng = np.random.default_rng(7)
    X = text(rng, missing=kind == "missing")
    y = labels(X, rng) if kind == "labels" else None
    # Weights so small that float64 loses a run: then the sequence is inferred in logs.
    beta = 1e-120 if kind == "tiny prior" else 0.1
    if kind == "tiny prior":
        X = [*X, ["once", "x", "a", "y"], ["b", "another"]]
        # Lost after eight tokens of a long run, where it is scaled; d is a settled word.
        X.append(list("auvxyzxyzxyzxad"))
    model = CVBHMMTagger(LEGAL, alpha=0.5, beta=beta, random_state=0)
    problem, state = started(model, X, y, monkeypatch, kept)
    # Sequences with something missing have no list.
    observed = [None not in sequence for sequence in X]
    assert state.units.whole.tolist() == [kept and here for here in observed]
    agree(problem, state)


def test_kept_and_unkept_lists_agree(monkeypatch):
    """The posteriors are the same, whatever layout they are stored in."""
    rng = np.random.default_rng(3)
    X = text(rng, missing=True)
    y = labels(X, rng)
    results = []
    for kept in (True, False):
        model = CVBHMMTagger(LEGAL, alpha=0.5, random_state=0, max_iter=25, tol=0, warm_start=True)
        monkeypatch.setattr(run_lists, "_MOST_BYTES_A_TOKEN", np.inf if kept else 0)
        model.fit(X, y)
        assert model._resume[1].state.units.whole.any() == kept
        table = np.concatenate(model.training_posteriors())
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
        start, transition, emission = model.counts_
        emission = emission.toarray()
        results.append([model.history_, table, model.loo_score_, start, transition, emission])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kept", [True, False])
def test_windows_that_cut_nothing_are_sequences(kept, monkeypatch):
    monkeypatch.setattr(run_lists, "_MOST_BYTES_A_TOKEN", np.inf if kept else 0)
    X = text(np.random.default_rng(5))
    longest = max(map(len, X))
    settings = {"alpha": 0.5, "init": "token", "random_state": 0, "max_iter": 5, "tol": 0}
    whole = CVBHMMTagger(LEGAL, **settings).fit(X)
    model = CVBHMMTagger(LEGAL, block_length=longest, **settings).fit(X)
    assert model.history_.tolist() == whole.history_.tolist()
    cut = CVBHMMTagger(LEGAL, block_length=longest - 1, **settings).fit(X)
    assert cut.history_.tolist() != whole.history_.tolist()


def test_what_is_certain():
    X = [["a", "b", "x", "c"], ["x", "z", "a", "a"], ["b"]]
    model = CVBHMMTagger(LEGAL, handle_unknown="error")
    runs = model._problem(X, [[None] * 4, ["A", None, None, None], [None]]).runs
    assert runs.begin.tolist() == [2, 5]
    assert runs.end.tolist() == [3, 6]
    assert runs.sequence.tolist() == [0, 1, 2, 2]
    assert runs.any_certain
    # a: 1 left without sequence 1 (which holds 2), 2 left without sequence 0; b 1, twice; c 0.
    rows = zip(runs.settled_rest.tolist(), runs.settled_times.tolist(), strict=True)
    assert sorted(rows) == [(0, 1), (1, 2), (1, 2), (2, 1)]
    prior = np.full(len(runs.emission), 0.5)
    expected = np.log([0.5, 1.5, 1.5, 1.5, 1.5, 2.5]).sum()
    assert settled_log_weight(runs, prior) == pytest.approx(expected, rel=1e-12)


def listed_slowly(problem, i):
    """The parts of the list of sequence i, token by token."""
    lattice, starts, n_states = problem.lattice, problem.corpus.starts, problem.cells.n_states
    certain, fixed, shared, entry, border, inside, sizes = ([] for _ in range(7))
    place, rows, into, out_of = ([] for _ in range(4))
    before, n_entries, run = [(n_states, None)], 0, None
    n_open = n_states if problem.lists.summed[i] else 0
    for t in range(starts[i], starts[i + 1]):
        slots = range(lattice.first[t], lattice.first[t] + lattice.count[t])
        token = [(int(lattice.state[slot]), int(lattice.cell[slot])) for slot in slots]
        steps = [row * n_states + to for row, _ in before for to, _ in token]
        from_run = len(before) > 1
        if n_open in (len(token), len(before)):
            # What the part of the list for the other tokens would have.
            if len(token) == 1:
                out_of += [n_entries - n_open, token[0][0]]
                certain.append(token[0][0])
                shared += [] if problem.runs.settled[token[0][1]] else [token[0][1]]
            else:
                sizes.append([len(token), 0])
                run = run if from_run else sizes[-1]
                run[1] += 1
                if len(token) == n_open:
                    rows += [n_entries, token[0][1]]
                    into += [] if from_run else [n_entries, steps[0]]
                else:
                    entry += [(cell, state) for state, cell in token]
                    place += range(n_entries, n_entries + len(token))
                n_entries += len(token)
            before = token
            continue
        if len(token) == 1:
            state, cell = token[0]
            certain.append(state)
            shared += [] if problem.runs.settled[cell] else [cell]
            if from_run:
                border += zip(range(n_entries - len(before), n_entries), steps, strict=True)
            else:
                fixed += steps
        else:
            entry += [(cell, state) for state, cell in token]
            place += range(n_entries, n_entries + len(token)) if n_open else []
            sizes.append([len(token), 0])
            if from_run:
                inside += steps
            else:
                border += zip(range(n_entries, n_entries + len(token)), steps, strict=True)
                run = sizes[-1]
            run[1] += 1
            n_entries += len(token)
        before = token
    parts = certain, fixed, shared, entry, border, inside, sizes, place, rows, into, out_of
    return [np.array(part, int).ravel().tolist() for part in parts]


@pytest.mark.parametrize("with_open", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_lists_hold_all_that_a_sequence_shares(labelled, with_open, monkeypatch):
    monkeypatch.setattr(run_lists, "_MOST_BYTES_A_TOKEN", np.inf)
    rng = np.random.default_rng(11)
    X = open_text(rng) if with_open else text(rng)
    problem = CVBHMMTagger(LEGAL)._problem(X, labels(X, rng) if labelled else None)
    items, begin, summed, room = problem.lists
    assert summed.any() == with_open
    for i, at in enumerate(begin):
        expected = listed_slowly(problem, i)
        sizes = items[at : at + run_lists.N_PARTS].tolist()
        assert sizes == [len(part) for part in expected]
        cuts = at + run_lists.N_PARTS + np.cumsum([0, *sizes])
        assert [items[a:b].tolist() for a, b in pairwise(cuts)] == expected
        assert all(size <= most for size, most in zip(sizes, np.diff(room), strict=True))
    assert any(listed_slowly(problem, i)[run_lists.SHARED] for i in range(len(X))) == labelled


def test_lists_are_kept_where_they_are_small():
    """By the bytes of lists, posteriors and pairs; tokens of many tags make long lists."""
    problem = CVBHMMTagger(LEGAL)._problem([["a", "x", "b", "c", "y", "a"] * 10] * 10, None)
    assert (problem.lists.begin >= 0).all()
    many = {"a": "A", **{word: list("ABCDEFGH") for word in "xyz"}}
    problem = CVBHMMTagger(many)._problem([["a", "x", "y", "a", "z"]] * 10, None)
    assert (problem.lists.begin == -1).all()
    assert problem.lists.items.size == 0


def test_sequences_whose_pairs_are_summed_need_no_room():
    """Without a dictionary a list would have K^2 items for each token."""
    problem = CVBHMM(20)._problem([list("abcdef") * 500, list("fedcba") * 300, ["a"]], None)
    items, begin, summed, room = problem.lists
    assert not summed.any()
    assert begin.tolist() == [-1, -1, begin[2]]
    # One token of 20 states: its entries, and as many steps into it as out of it.
    assert room[-1] == 3 + 6 * 20 + 0 + 2 + 0
    assert items.size <= room[-1] + run_lists.N_PARTS


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
    expand_block(posterior, 0, n_left, n_left, n_right, stored, 0, block, 0)
