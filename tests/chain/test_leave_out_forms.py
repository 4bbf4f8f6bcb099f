"""Sequences left out by lists, by blocks of pairs and by sums of pairs: the forms agree."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context

from sklearn_cvb import CVBHMM, CVBHMMTagger, Symbols, Windows
from sklearn_cvb.chain.parameters.rows import HMMCounts, floor_of, tally_of
from sklearn_cvb.chain.symbols import leave_out
from sklearn_cvb.chain.symbols import leave_out_lists as lists
from sklearn_cvb.chain.symbols.leave_out import (
    UnitPass,
    all_entries,
    layout_for,
    make_pass,
    product_pairs,
    resumed,
    shared_by,
    stored_entries,
    sweep,
    total_of,
)
from sklearn_cvb.kernels.chain.leave_out import INFER, TAKE_OUT, UnitResults, UnitSpan
from sklearn_cvb.kernels.chain.listed import N_PARTS, SHARED, SILENT, UNSEEN

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


FORMS = ["lists", "blocks", "sums"]


def choose(form, monkeypatch):
    """Let layouts take one form wherever they can."""
    listed, summed = {"lists": (np.inf, 4), "blocks": (-1, 1e-9), "sums": (-1, 1e9)}[form]
    monkeypatch.setattr(leave_out, "_MOST_PAIRS_A_TOKEN", listed)
    monkeypatch.setattr(leave_out, "_SUMMED", summed)
    monkeypatch.setattr(lists, "_MOST_BYTES_A_TOKEN", np.inf)


def has_form(form, layout):
    """Whether a layout took a form for all units that have pairs."""
    have_pairs = np.diff(layout.sequences.pair) > 0
    return {
        "lists": layout.lists is not None,
        "blocks": layout.lists is None and not layout.sequences.summed.any(),
        "sums": layout.lists is None and layout.sequences.summed[have_pairs].all(),
    }[form]


def fitted(form, X, y, monkeypatch, **settings):
    """What a fit in one form leaves."""
    choose(form, monkeypatch)
    settings = {"alpha": 0.5, "max_iter": 25, "tol": 0, **settings}
    model = CVBHMMTagger(LEGAL, random_state=0, warm_start=True, **settings).fit(X, y)
    assert has_form(form, model._learned.warm_start[1].state.shares.layout)
    table = np.concatenate(model.training_posteriors())
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    start, transition, emission = model.counts_
    concentrations = np.array([model.alpha_, model.beta_])
    return [
        model.history_,
        table,
        np.array(model.loo_score_),
        start,
        transition,
        emission.toarray(),
        concentrations,
    ]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("init", ["token", "parameter"])
@pytest.mark.parametrize("kind", ["plain", "missing", "labels", "both", "open"])
def test_forms_agree(kind, init, monkeypatch):
    rng = np.random.default_rng(7)
    X = open_text(rng) if kind == "open" else text(rng, missing=kind in ("missing", "both"))
    y = labels(X, rng) if kind in ("labels", "both") else None
    ours, *others = (fitted(form, X, y, monkeypatch, init=init) for form in FORMS)
    for theirs in others:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_forms_learn_the_same_concentrations(monkeypatch):
    X = text(np.random.default_rng(5), missing=True)
    settings = {"alpha": "auto", "beta": "auto", "max_iter": 30}
    ours, *others = (fitted(form, X, None, monkeypatch, **settings) for form in FORMS)
    assert (ours[-1] != 0.1).all()
    for theirs in others:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("init", ["token", "parameter"])
# Concentrations this small are refused; the kernels stand them.
@config_context(skip_parameter_validation=True)
def test_forms_agree_on_what_float64_loses(init, monkeypatch):
    """Weights so small that float64 loses a sequence: it is inferred in logs, taken out."""
    rng = np.random.default_rng(7)
    X = [*text(rng), ["once", "x", "a", "y"], ["b", "another"], ["once", *"oxaypxyz"]]
    # Lost after eight tokens of a long run, where it is scaled; d is a settled word.
    X.append(list("auvxyzxyzxyzxad"))
    lost = []
    monkeypatch.setattr(leave_out, "infer_in_logs", counting(leave_out.infer_in_logs, lost))
    results = []
    for form in FORMS:
        lost.clear()
        results.append(fitted(form, X, None, monkeypatch, beta=1e-120, init=init, max_iter=4))
        # The other forms scale at every token.
        assert bool(lost) == (form == "lists")
    ours, *others = results
    for theirs in others:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def left_out(block_length):
    """`update` of sequences, or of windows."""
    return "sequence" if block_length is None else Windows(block_length)


@pytest.mark.long
@pytest.mark.parametrize(("form", "block_length"), [("blocks", 4), ("sums", None)])
def test_a_sequence_in_logs_is_as_it_would_be_without(form, block_length, monkeypatch):
    """Every sequence handed back, as if float64 had lost it."""
    X = text(np.random.default_rng(6), missing=True)
    settings = {"max_iter": 4, "alpha": "auto", "update": left_out(block_length)}
    plain = fitted(form, X, None, monkeypatch, **settings)
    monkeypatch.setattr(leave_out, "pass_over_sequences", losing(leave_out.pass_over_sequences))
    in_logs = fitted(form, X, None, monkeypatch, **settings)
    for one, other in zip(plain, in_logs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def losing(make_pass):
    """A pass that takes every unit out and then says that it is lost."""

    def pass_and_lose(span, *arguments):
        if not span.steps & INFER:
            return make_pass(span, *arguments)
        make_pass(UnitSpan(span.steps & TAKE_OUT, span.first, span.first + 1), *arguments)
        return span.first

    return pass_and_lose


def counting(function, calls):
    """A function that notes its calls."""

    def noting(*arguments):
        calls.append(arguments[1])
        return function(*arguments)

    return noting


def first_units(form, X, y, monkeypatch):
    """Problem, first units in one form, and the prior."""
    choose(form, monkeypatch)
    tagger = CVBHMMTagger(LEGAL, alpha=0.5, random_state=0)
    read = tagger._read(X, y)
    algorithm, model, problem = tagger._algorithm(), tagger._model(read), read.problem
    state = algorithm.start(model, np.random.default_rng(0))
    return problem, state.shares, state.prior


@pytest.mark.parametrize("form", FORMS)
def test_a_score_leaves_everything_as_it_is(form, monkeypatch):
    X = text(np.random.default_rng(2), missing=True)
    problem, units, prior = first_units(form, X, None, monkeypatch)
    before = [units.posterior.copy(), units.pairs.copy(), *(table.copy() for table in units.counts)]
    _, first = sweep(units, units.counts, prior, problem, frozen=True)
    after = [units.posterior, units.pairs, *units.counts]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert sweep(units, units.counts, prior, problem, frozen=True)[1] == first
    assert np.isfinite(first)


@pytest.mark.parametrize("of_others", [0.0, 2.0])
@pytest.mark.parametrize("n_sequences", [1, None])
@pytest.mark.parametrize("settings", [{}, {"update": Windows(3)}, {"update": "token"}], ids=str)
def test_a_sweep_returns_its_own_counts_and_leaves_those_of_all(settings, n_sequences, of_others):
    """Counts of a sweep that was broken off are those of its posteriors, too."""
    X = text(np.random.default_rng(8), missing=True)[::-1]
    tagger = CVBHMMTagger(LEGAL, alpha=0.5, random_state=0, **settings)
    read = tagger._read(X[:n_sequences], None)
    algorithm, model, problem = tagger._algorithm(), tagger._model(read), read.problem
    state = algorithm.start(model, np.random.default_rng(0))
    counts = HMMCounts(*(table + of_others for table in state.counts))
    before = [table.copy() for table in counts]
    found = model.leave_out(counts, state.prior, state.shares, frozen=False)
    np.testing.assert_equal(list(counts), before)
    again = resumed(found.shares._replace(counts=HMMCounts(*map(np.zeros_like, counts))), problem)
    for one, other, first in zip(found.counts, again.counts, state.counts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
        assert one.sum() == pytest.approx(first.sum(), rel=1e-12)
    scored = model.leave_out(found.counts, state.prior, found.shares, frozen=True)
    assert np.isfinite(scored.log_normaliser)
    assert scored.shares is found.shares


@pytest.mark.parametrize("form", FORMS)
def test_all_units_taken_out_leave_the_prior(form, monkeypatch):
    rng = np.random.default_rng(3)
    X = text(rng, missing=True)
    problem, units, prior = first_units(form, X, labels(X, rng), monkeypatch)
    shared = shared_by(tally_of(units.counts, prior, problem.cells), floor_of(prior))
    stored = UnitResults(units.posterior, units.pairs, np.empty(units.layout.n_units))
    make_pass(TAKE_OUT, UnitPass(units.layout, shared, stored))
    emission = shared.emission[:-1].copy()
    if units.layout.settled is not None:
        emission -= units.layout.settled.count
    for one, other in (
        (shared.start, prior.start),
        (shared.transition, prior.transition),
        (shared.out, prior.transition_total),
        (emission, prior.emission),
        (shared.emit, prior.emission_total),
    ):
        np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_rounding_leaves_no_cell_below_its_prior(form, monkeypatch):
    problem, units, prior = first_units(form, text(np.random.default_rng(4)), None, monkeypatch)
    floor = floor_of(prior)
    shared = shared_by(tally_of(units.counts, prior, problem.cells), floor)
    # Posteriors that are larger than all that has been counted.
    stored = UnitResults(100 * units.posterior, 100 * units.pairs, np.empty(units.layout.n_units))
    work = UnitPass(units.layout, shared, stored)
    make_pass(TAKE_OUT, work, (0, problem.corpus.n_sequences))
    assert (shared.steps >= floor.least_step).all()
    assert (shared.emission[:-1] >= floor.least).all()
    assert (shared.emit >= floor.emit).all()
    assert (shared.out >= floor.out).all()
    assert shared.steps.min() == floor.least_step


def test_windows_that_cut_nothing_are_sequences():
    X = text(np.random.default_rng(5))
    longest = max(map(len, X))
    settings = {"alpha": 0.5, "init": "token", "random_state": 0, "max_iter": 5, "tol": 0}
    whole = CVBHMMTagger(LEGAL, **settings).fit(X)
    model = CVBHMMTagger(LEGAL, update=Windows(longest), **settings).fit(X)
    assert model.history_.tolist() == whole.history_.tolist()
    cut = CVBHMMTagger(LEGAL, update=Windows(longest - 1), **settings).fit(X)
    assert cut.history_.tolist() != whole.history_.tolist()


@pytest.mark.parametrize("block_length", [None, 3])
@pytest.mark.parametrize("form", FORMS)
def test_posteriors_come_back_from_where_units_keep_them(form, block_length, monkeypatch):
    choose(form, monkeypatch)
    X = text(np.random.default_rng(1), missing=True)
    problem = CVBHMMTagger(LEGAL)._read(X, None).problem
    layout = layout_for(problem, block_length)
    entries = np.random.default_rng(2).random(int(problem.lattice.count.sum()))
    entries[np.repeat(problem.lattice.count == 1, problem.lattice.count)] = 1.0
    kept = stored_entries(layout, entries)
    assert len(kept) == layout.sequences.entry[-1]
    np.testing.assert_array_equal(all_entries(layout, kept), entries)


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("block_length", [None, 3])
@pytest.mark.parametrize("form", ["blocks", "sums"])
@pytest.mark.parametrize("stretch", [1, 4, 10_000])
def test_pairs_of_independent_tokens(stretch, form, block_length, monkeypatch):
    """Also where a sequence is longer than the stretch that is made at a time."""
    choose(form, monkeypatch)
    monkeypatch.setattr(leave_out, "_STRETCH", stretch)
    rng = np.random.default_rng(1)
    problem = CVBHMMTagger(LEGAL)._read(text(rng, missing=True), None).problem
    lattice, K = problem.lattice, problem.cells.n_states
    layout = layout_for(problem, block_length)
    entries = rng.random(int(lattice.count.sum()))
    entries[np.repeat(lattice.count == 1, lattice.count)] = 1.0
    first = np.cumsum(lattice.count) - lattice.count
    pairs = product_pairs(layout, stored_entries(layout, entries))
    units = layout.sequences
    for i in range(layout.n_units):
        expected, total = [], np.zeros((K, K))
        for t in range(units.begin[i] + 1, units.end[i]):
            left, right = (entries[first[u] : first[u] + lattice.count[u]] for u in (t - 1, t))
            states = [lattice.state[lattice.first[u] :][: lattice.count[u]] for u in (t - 1, t)]
            total[np.ix_(*states)] += np.outer(left, right)
            if len(left) > 1 and len(right) > 1:
                # The posteriors give the last row and column.
                expected += np.outer(left[:-1], right[:-1]).ravel().tolist()
        if units.summed[i]:
            expected = total.ravel()
        np.testing.assert_allclose(pairs[units.pair[i] : units.pair[i + 1]], expected, atol=1e-12)


def test_what_is_settled():
    X = [["a", "b", "x", "c"], ["x", "z", "a", "a"], ["b"]]
    model = CVBHMMTagger(LEGAL, emission=Symbols(handle_unknown="error"))
    problem = model._read(X, [[None] * 4, ["A", None, None, None], [None]]).problem
    assert problem.runs.begin.tolist() == [2, 5]
    assert problem.runs.end.tolist() == [3, 6]
    assert problem.runs.sequence.tolist() == [0, 1, 2, 2]
    assert problem.runs.any_certain
    layout = layout_for(problem)
    settled = layout.settled
    # a: 1 left without sequence 1 (which holds 2), 2 left without sequence 0; b 1, twice; c 0.
    rows = zip(settled.rest.tolist(), settled.times.tolist(), strict=True)
    assert sorted(rows) == [(0, 1), (1, 2), (1, 2), (2, 1)]
    prior = np.full(len(settled.count), 0.5)
    expected = np.log([0.5, 1.5, 1.5, 1.5, 1.5, 2.5]).sum()
    assert total_of(layout, np.zeros(3), prior) == pytest.approx(expected, rel=1e-12)


def listed_slowly(problem, settled, i):
    """The parts of the list of sequence i, token by token."""
    lattice, starts, n_states = problem.lattice, problem.corpus.starts, problem.cells.n_states
    certain, fixed, shared, entry, border, inside, sizes = ([] for _ in range(7))
    last, unseen, silent = [], [], []
    before, n_entries, run = [(n_states, None)], 0, None
    for t in range(starts[i], starts[i + 1]):
        slots = range(lattice.first[t], lattice.first[t] + lattice.count[t])
        token = [(int(lattice.state[slot]), int(lattice.cell[slot])) for slot in slots]
        steps = [row * n_states + to for row, _ in before for to, _ in token]
        from_run, is_unseen = len(before) > 1, token[0][1] < 0
        if len(token) == 1:
            state, cell = token[0]
            certain.append(state)
            silent += [state] if is_unseen else []
            shared += [] if is_unseen or settled[cell] else [cell]
            if from_run:
                border += zip(range(n_entries - len(before), n_entries), steps, strict=True)
            else:
                fixed += steps
        else:
            entry += [(len(settled) if is_unseen else cell, state) for state, cell in token]
            places = range(n_entries, n_entries + len(token))
            if is_unseen:
                unseen += zip(places, [state for state, _ in token], strict=True)
            sizes.append([len(token), 0])
            if from_run:
                inside += steps
            else:
                border += zip(places, steps, strict=True)
                run = sizes[-1]
            run[1] += 1
            n_entries += len(token)
        last = [state for state, _ in token]
        before = token
    parts = certain, fixed, shared, entry, border, inside, sizes, last, unseen, silent
    return [np.array(part, int).ravel().tolist() for part in parts]


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_lists_hold_all_that_a_sequence_shares(labelled, missing, monkeypatch):
    choose("lists", monkeypatch)
    monkeypatch.setattr(lists, "_CHUNK", 5)
    rng = np.random.default_rng(11)
    X = [*open_text(rng, missing), *text(rng, missing=missing)]
    problem = CVBHMMTagger(LEGAL)._read(X, labels(X, rng) if labelled else None).problem
    layout = layout_for(problem)
    items, parts, entry, pair = layout.lists
    assert parts.shape == (len(X), N_PARTS + 1)
    assert parts[-1, -1] == len(items)
    slowly = [listed_slowly(problem, layout.settled.is_settled, i) for i in range(len(X))]
    for row, expected in zip(parts.tolist(), slowly, strict=True):
        assert [items[a:b].tolist() for a, b in pairwise(row)] == expected
    assert any(expected[SHARED] for expected in slowly) == labelled
    assert any(expected[UNSEEN] for expected in slowly) == missing
    assert any(expected[SILENT] for expected in slowly) == (missing and labelled)
    assert entry is not pair


def test_lists_are_kept_where_they_are_small(monkeypatch):
    """By the bytes of lists, posteriors and pairs; tokens of many tags make long lists."""
    monkeypatch.setattr(lists, "_CHUNK", 2)
    monkeypatch.setattr(lists, "_SMALL", 0)
    X = [["a", "x", "b", "c", "y", "a"] * 10] * 10
    layout = layout_for(CVBHMMTagger(LEGAL)._read(X, None).problem)
    assert layout.lists is not None
    many = {"a": "A", **{word: list("ABCDEFGH") for word in "xyz"}}
    problem = CVBHMMTagger(many)._read([["a", "x", "y", "a", "z"]] * 10, None).problem
    layout = layout_for(problem)
    assert layout.lists is None
    assert not layout.sequences.whole
    assert layout.sequences.summed.all()
    # Just as many bytes as lists, whole pairs and posteriors need.
    monkeypatch.setattr(lists, "_MOST_BYTES_A_TOKEN", np.inf)
    whole = layout_for(problem)
    n_stored = whole.sequences.entry[-1] + whole.sequences.pair[-1]
    needed = whole.lists.items.nbytes + whole.lists.parts.nbytes + 8 * n_stored
    for most, is_listed in ((needed / 50, True), ((needed - 1) / 50, False)):
        monkeypatch.setattr(lists, "_MOST_BYTES_A_TOKEN", most)
        assert (layout_for(problem).lists is not None) == is_listed


def test_without_a_dictionary_nothing_is_listed():
    problem = CVBHMM(20)._read([list("abcdef") * 500, list("fedcba") * 300, ["a"]], None).problem
    layout = layout_for(problem)
    assert layout.lists is None
    assert layout.sequences.summed.tolist() == [True, True, False]
    assert layout.sequences.pair.tolist() == [0, 400, 800, 800]
