"""All families by all algorithms: what is learned from tiny data equals what enumeration learns."""

import dataclasses
from itertools import product
from types import SimpleNamespace

import annotation_enumeration
import numpy as np
import pytest
from dependency_cases import ARC_WEIGHTS
from enumerated import (
    annotated,
    enumerated_alignments,
    enumerated_chain,
    enumerated_dependencies,
    enumerated_grammar,
    enumerated_treebank,
)

import sklearn_cvb
from sklearn_cvb import Symbols, Transitions, Valence
from sklearn_cvb.learning.algorithms import CVB, EM, VB, ViterbiTraining
from sklearn_cvb.learning.dirichlet import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.treebank.model import AnnotatedModel

EVERYWHERE = [[0, 1, 2, 1], [3], [2, 0], [1, 3, 0, 1], [3, 0, 0, 2]]
MISSING = [[0, None, 2, 1], [3], [None, 0], [1, 3], [3, 0, 0, 2]]
DICTIONARY = {0: [0], 1: [1, 2], 2: [0, 2], 3: [2]}
RING = np.eye(3, dtype=bool) | np.roll(np.eye(3, dtype=bool), 1, axis=1)


def chain(X, dictionary=None, mask=None, **more):
    def make(prefix, value):
        known = Symbols(range(4), handle_unknown="error")
        settings = {"alpha": value, "beta": value, "emission": known} | more
        if mask is not None:
            settings["transitions"] = mask
        if dictionary is None:
            estimator = getattr(sklearn_cvb, f"{prefix}HMM")(3, **settings)
        else:
            tags = {symbol: [f"t{k}" for k in states] for symbol, states in dictionary.items()}
            estimator = getattr(sklearn_cvb, f"{prefix}HMMTagger")(tags, **settings)
        steps = None if mask is None else np.vstack([mask, np.ones(3, bool)])
        return enumerated_chain(estimator, X, 3, dictionary, steps), estimator._algorithm()

    return make


def grammar(X, given=None, depth=3, **more):
    def make(prefix, value):
        settings = {"alpha": value, "handle_unknown": "error"} | more
        arguments = () if given is None else (given,)
        estimator = getattr(sklearn_cvb, f"{prefix}PCFG")(*arguments, **settings)
        return enumerated_grammar(estimator, list(map(list, X)), depth), estimator._algorithm()

    return make


def dependencies(**more):
    def make(prefix, value):
        kind = getattr(sklearn_cvb, f"{prefix}DMV")
        estimator = kind(alpha=value, handle_unknown="error", **more)
        tags = [[0, 1, 2, 1], [1, 2], [2, 0, 1], [0, 1], [1, 2, 0, 0], [1]]
        return enumerated_dependencies(estimator, tags), estimator._algorithm()

    return make


TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (NN cat)) (VP (VBD saw) (NP (DT the) (NN cat))))",
    "(SQ (VBD ran) (NP (DT the) (NN dog)))",
    "(S (NP (NN dog) (NN cat) (NN dog)) (VP (VBD ran)))",
]


def treebank(n_subtypes):
    def make(prefix, value):
        kind = getattr(sklearn_cvb, f"{prefix}LatentPCFG")
        estimator = kind(n_subtypes=n_subtypes, alpha=value, init="random", rare_threshold=0)
        return enumerated_treebank(estimator, TREES), estimator._algorithm().inner

    return make


def annotations(name):
    """Trees of rules as numbers, some of which stand above themselves."""
    case = annotation_enumeration.CASES[name]
    n_words = sum(left < 0 for tree in case.trees for _, left, _ in tree)

    def make(prefix, value):
        corpus = SimpleNamespace(n_observed=n_words)
        problem = SimpleNamespace(trees=annotation_enumeration.arrays_of(case), corpus=corpus)
        settings = "random", value, 2, 0.5, "fixed"
        model = AnnotatedModel(problem, case.layout, *settings)
        return annotated(model, case), {"EM": EM, "VB": VB, "CVB": CVB}[prefix]()

    return make


# A word stands twice in the second pair.
PAIRS = [([0, 1, 2], [0, 1]), ([1, 3, 1, 0], [2, 0, 1]), ([2], [1, 1]), ([3, 2], [0, 2, 2, 1])]


def alignments(**more):
    def make(prefix, value):
        kind = getattr(sklearn_cvb, f"{prefix}AlignmentHMM")
        estimator = kind(alpha=value, beta=value, handle_unknown="error", init="even", **more)
        return enumerated_alignments(estimator, PAIRS), estimator._algorithm()

    return make


RECURSIVE = "S -> A S | S A | 'a'\nA -> A A | S A | 'a' | 'b'"
LONG = "S -> P R F | P R\nP -> 'u' | 'k' | 'u' 'k'\nR -> 'k' 'a' | 'a' 'k' 'a' | 'a'\nF -> 'a'"
INSIDE = "S -> S 'c' S | 'a' S 'b' S | X 'b' | 'a' 'b'\nX -> 'a' | 'a' 'b' 'a' | S X X"
UNARY = "S -> A | B | A B\nA -> B | 'a' | A A\nB -> C | 'b' | 'a'\nC -> 'a' | 'a' B"
LETTERS = ["aba", "baa", "abba", "aa"]
ENGINES, LEAVE_OUT = "sklearn_cvb.chain.symbols.engines.", "sklearn_cvb.chain.symbols.leave_out."
LAYOUT = "sklearn_cvb.grammar.layout."
# What makes a family and its data, and what must be patched for another engine.
CASES = {
    "chain: side by side": (chain(EVERYWHERE), {}),
    "chain: sequences": (chain(EVERYWHERE), {ENGINES + "_LARGEST_BATCH": 0}),
    "chain: sums of pairs": (chain(EVERYWHERE), {LEAVE_OUT + "_SUMMED": 1e9}),
    "chain: missing": (chain(MISSING), {}),
    "chain: dictionary": (chain(MISSING, DICTIONARY), {}),
    "chain: dictionary, sequences": (
        chain(MISSING, DICTIONARY),
        {ENGINES + "_SMALLEST_SHARE": 2.0, LEAVE_OUT + "_MOST_PAIRS_A_TOKEN": 0},
    ),
    "chain: end": (chain(EVERYWHERE, transitions=Transitions(end_state=True)), {}),
    "chain: dictionary and end": (
        chain(MISSING, DICTIONARY, transitions=Transitions(end_state=True)),
        {},
    ),
    "chain: topology": (chain(MISSING, mask=RING), {}),
    "chain: start": (chain(EVERYWHERE, transitions=Transitions(start_alpha=0.2)), {}),
    "grammar: two symbols": (grammar(LETTERS, RECURSIVE), {}),
    "grammar: two symbols, lists": (grammar(LETTERS, RECURSIVE), {LAYOUT + "MOST_EDGES": 0}),
    "grammar: long terminals": (grammar(["ukaa", "uka", "ukaka", "uaka", "kaa"], LONG), {}),
    "grammar: long terminals, lists": (
        grammar(["ukaa", "uka", "ukaka", "uaka", "kaa"], LONG),
        {LAYOUT + "MOST_EDGES": 0},
    ),
    "grammar: words inside": (grammar(["abcab", "aabbab", "abab", "ababcab"], INSIDE), {}),
    "grammar: words inside, lists": (
        grammar(["abcab", "aabbab", "abab", "ababcab"], INSIDE),
        {LAYOUT + "MOST_EDGES": 0},
    ),
    "grammar: unary chains": (grammar(["ab", "aab", "aaa", "ba"], UNARY, 4), {}),
    "grammar: unary chains, lists": (
        grammar(["ab", "aab", "aaa", "ba"], UNARY, 4),
        {LAYOUT + "MOST_EDGES": 0},
    ),
    "grammar: tables": (grammar(LETTERS, n_components=3), {LAYOUT + "FEWEST_RULES": 1}),
    "grammar: factors": (grammar(LETTERS, n_components=2, rules="independent"), {}),
    "dependencies": (dependencies(), {}),
    "dependencies: two concentrations": (dependencies(valence=Valence(alpha_stop=0.7)), {}),
    "dependencies: valence": (dependencies(valence=Valence(True)), {}),
    "dependencies: back off to sides": (dependencies(valence=Valence(backoff="direction")), {}),
    "dependencies: valence, back off to sides": (
        dependencies(valence=Valence(True, backoff="direction")),
        {},
    ),
    "dependencies: valence, back off to heads": (
        dependencies(valence=Valence(True, backoff="head", alpha_backoff=0.9)),
        {},
    ),
    "dependencies: arc weights": (dependencies(arc_weights=ARC_WEIGHTS), {}),
    "dependencies: arc weights, valence": (
        dependencies(arc_weights=ARC_WEIGHTS, valence=Valence(True)),
        {},
    ),
    "dependencies: arc weights, back off to sides": (
        dependencies(arc_weights=ARC_WEIGHTS, valence=Valence(backoff="direction")),
        {},
    ),
    "dependencies: arc weights, valence, back off to sides": (
        dependencies(arc_weights=ARC_WEIGHTS, valence=Valence(True, backoff="direction")),
        {},
    ),
    "dependencies: arc weights, valence, back off to heads": (
        dependencies(arc_weights=ARC_WEIGHTS, valence=Valence(True, backoff="head")),
        {},
    ),
    "treebank: one subtype": (treebank(1), {}),
    "treebank: two subtypes": (treebank(2), {}),
    "treebank: a rule above itself": (annotations("repeated"), {}),
    "treebank: ragged": (annotations("ragged"), {}),
    "alignment": (alignments(longest_jump=2, p_null=(1.0, 2.0)), {}),
    "alignment: long jumps": (alignments(longest_jump=6, p_null=(1.0, 2.0)), {}),
    "alignment: given chance of NULL": (alignments(longest_jump=2, p_null=0.3), {}),
}
# What Viterbi training learns: subtypes of observed trees are not decoded.
DECODABLE = [name for name in CASES if not name.startswith("treebank")]
# Where the chance that nothing was counted is that of units, so that CVB's step can be repeated.
LEARNING = [
    (name, prefix)
    for name, (_, patches) in CASES.items()
    for prefix, families in (("VB", ("chain", "gram", "depe")), ("CVB", ("gram", "depe")))
    if name.startswith(families) and not patches
]
# For these alone kernels are compiled that no other test of a run without arguments needs.
COMPILED_FOR = (
    "grammar: two symbols, lists",
    "grammar: long terminals, lists",
    "grammar: words inside, lists",
    "dependencies: arc weights, back off to sides",
    "dependencies: arc weights, valence, back off to sides",
    "dependencies: arc weights, valence, back off to heads",
)


def in_its_run(name, *more):
    """A case as a parameter of a test; those with kernels of their own wait for the rest."""
    return pytest.param(name, *more, marks=pytest.mark.long if name in COMPILED_FOR else ())


@pytest.fixture
def make(request, monkeypatch):
    """Makes a family for an algorithm and a concentration; with the engine of the case."""
    make, patches = CASES[request.param]
    for name, value in patches.items():
        monkeypatch.setattr(name, value)
    return make


ALL = pytest.mark.parametrize("make", list(map(in_its_run, CASES)), indirect=True)


def normalised(model, cells):
    """Rows that sum to 1, with 0 where steps are ruled out."""
    is_used = np.any([uses.any(axis=0) for uses in model.uses], axis=0)
    return model.mean(cells * (is_used | (model.prior(model.hyper()) > 0)))


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def begun(model, algorithm, seed=0):
    """The family's state and the enumeration's, from the same weights."""
    rng = np.random.default_rng(seed)
    weights = normalised(model, rng.gamma(1.0, size=len(model.rows)))
    return model.started(algorithm, weights), algorithm.start(model, rng, weights)


def swept(model, algorithm, n_sweeps):
    """How far the two come apart in some sweeps: counts, and what the history and the end say."""
    state, twin = begun(model, algorithm)
    gaps = [np.abs(model.flat(state.counts) - twin.counts).max()]
    for _ in range(n_sweeps):
        state, value = algorithm.sweep(state, model.real, None)
        twin, expected = algorithm.sweep(twin, model, None)
        assert len(state.unexplained) == 0
        scale = 1.0 + abs(expected)
        gaps += [np.abs(model.flat(state.counts) - twin.counts).max(), (value - expected) / scale]
    objective = algorithm.objective(state, model.real, [value])
    gaps.append(objective - algorithm.objective(twin, model, [expected]))
    return np.abs(gaps).max(), state, twin


@ALL
@pytest.mark.parametrize(
    ("prefix", "value"),
    [
        ("EM", 0.0),
        *product(["EM", "VB", "CVB"], [0.3]),
        *(pytest.param(prefix, 1e-3, marks=pytest.mark.many) for prefix in ("EM", "VB", "CVB")),
    ],
)
def test_sweeps_are_those_of_the_enumeration(make, prefix, value):
    """From the same weights: the counts, values and the objective of each sweep."""
    assert swept(*make(prefix, value), 4)[0] < 1e-9


@pytest.mark.parametrize(
    ("make", "value"),
    [
        in_its_run(name, value)
        for name in DECODABLE
        # Without pseudo-counts trees of so few sentences tie.
        for value in ((0.1, 0.3) if name.startswith("depe") else (0.0, 0.3))
    ],
    indirect=["make"],
)
def test_viterbi_training_is_that_of_the_enumeration(make, value):
    """Its counts are those of the most probable structures, its values their log probabilities."""
    model, _ = make("EM", value)
    assert swept(model, ViterbiTraining(), 4)[0] < 1e-10


@pytest.mark.parametrize(
    ("make", "prefix"), [in_its_run(*case) for case in LEARNING], indirect=["make"]
)
def test_learned_concentrations_are_those_of_the_enumeration(make, prefix):
    model, algorithm = make(prefix, "auto")
    gap, state, twin = swept(model, algorithm, WARM_UP_SWEEPS + 4)
    assert gap < 1e-7
    close(model.flat_prior(state.prior), twin.prior, 1e-7)
    assert np.abs(twin.prior - model.prior(model.hyper())).max() > 1e-3


@ALL
@pytest.mark.parametrize("total", [pytest.param(1.0, marks=pytest.mark.many), 0.7])
def test_expected_counts_are_those_of_the_enumeration(make, total):
    """Also under weights that do not sum to 1, as those of VB."""
    model, _ = make("EM", 0.5)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weights = normalised(model, rng.gamma(0.3, size=len(model.rows)))
        weights *= rng.uniform(total, 1.0, len(weights))
        found, expected = model.real.infer(model.weights_of(weights)), model.infer(weights)
        close(model.flat(found.counts), expected.counts)
        assert found.log_normaliser == pytest.approx(expected.log_normaliser, rel=1e-11)


@ALL
@pytest.mark.parametrize(
    ("smallest", "tolerance", "frozen"),
    [
        (0.1, 1e-9, False),
        (1e-9, 1e-5, True),
        pytest.param(0.1, 1e-9, True, marks=pytest.mark.many),
        pytest.param(1e-9, 1e-5, False, marks=pytest.mark.many),
    ],
)
def test_units_left_out_are_those_of_the_enumeration(make, smallest, tolerance, frozen):
    """Under any prior, and beside any counts of other parts of the data."""
    model, algorithm = make("CVB", 0.5)
    for seed in range(5):
        state, twin = begun(model, algorithm, seed)
        rng = np.random.default_rng(seed)
        drawn = smallest ** rng.uniform(0, 1, len(model.rows)) * (twin.prior > 0)
        prior = model.prior_of(drawn)
        others = model.flat(model.counts_of(rng.gamma(0.1, size=len(drawn)) * (twin.prior > 0)))
        counts, flat_prior = twin.counts + others, model.flat_prior(prior)
        found = model.real.leave_out(model.counts_of(counts), prior, state.shares, frozen=frozen)
        expected = model.leave_out(counts, flat_prior, twin.shares, frozen=frozen)
        assert found.log_normaliser == pytest.approx(expected.log_normaliser, rel=tolerance)
        if not frozen:
            close(model.flat(found.counts), expected.counts, tolerance)


# Trees without subtypes have nothing hidden.
@pytest.mark.many(usual=11)
@pytest.mark.parametrize(
    "make", [name for name in CASES if name != "treebank: one subtype"], indirect=True
)
@pytest.mark.parametrize("mistake", ["nothing left out", "all left out at once", "no prior"])
def test_planted_mistakes_are_seen(make, mistake):
    model, algorithm = make("CVB", 0.3)

    class Wrong(type(model)):
        def leave_out(self, counts, prior, shares, *, frozen):
            if mistake == "no prior":
                return super().leave_out(counts, 1e-3 * prior, shares, frozen=frozen)
            own = 0.0 if mistake == "nothing left out" else 1.0
            found = [
                self.posterior(i, self.mean(counts - own * share + prior))
                for i, share in enumerate(shares)
            ]
            shares, logs = zip(*found, strict=True)
            return InferenceResult(sum(shares), sum(logs), shares=list(shares))

    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    assert not swept(Wrong(**fields), algorithm, 2)[0] < 1e-3


SAMPLED = [
    "chain: dictionary",
    "chain: end",
    "grammar: unary chains",
    "dependencies: valence, back off to heads",
]


@pytest.mark.parametrize("make", SAMPLED, indirect=True)
def test_evidence_of_samples_is_that_of_the_enumeration(make):
    model, algorithm = make("Gibbs", 0.3)
    rng = np.random.default_rng(0)
    state = algorithm.start(model.real, rng)
    for _ in range(5):
        state, value = algorithm.sweep(state, model.real, rng)
        counts, prior = model.flat(state.counts), model.flat_prior(state.prior)
        assert value == pytest.approx(model.log_evidence(counts, prior, None), rel=1e-10)
