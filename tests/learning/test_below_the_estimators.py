"""Families without an estimator: reading, model, algorithm; all counts are those of estimators."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from sklearn_cvb import (
    CVBHMM,
    CVBPCFG,
    EMDMV,
    VBDMV,
    CVBAlignmentHMM,
    CVBLatentPCFG,
    EMLatentPCFG,
    GibbsAlignmentHMM,
    HastingsPCFG,
    Samples,
    Transitions,
    Valence,
)
from sklearn_cvb.alignment.observation import AlignmentObservation, AlignmentOptions
from sklearn_cvb.chain.options import ChainOptions, EstimatorKind
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.dependency.observation import DependencyObservation, DependencyOptions
from sklearn_cvb.dependency.prediction import best_heads
from sklearn_cvb.grammar.layout import GrammarOptions
from sklearn_cvb.grammar.observation import GrammarObservation
from sklearn_cvb.learning.algorithms import CVB, EM, VB
from sklearn_cvb.learning.fingerprints import digest_of
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.learning.learned import result_of
from sklearn_cvb.learning.split_merge import SplitMerge
from sklearn_cvb.learning.sweeps import run
from sklearn_cvb.reading.corpus import KnownWords
from sklearn_cvb.settings import SplitAndMerge
from sklearn_cvb.treebank.observation import TreebankObservation, TreebankOptions

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEED = 3
TAGS = [text.split() for text in ["D N V", "N V", "P V D N", "P V", "P V N", "D N V D N"]]
HEADS = [[2, 3, 0], None, [2, 0, 4, 2], None, None, None]
RULES = "S -> S S | 'a' | 'b' | 'a' 'b'"
WORDS = [list("aabb"), list("ab"), list("abab"), list("aabbab")]
TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBD ran)))",
    "(S (NP (PRP it)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBD ran)))",
]
PAIRS = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
PAIRS = [(source.split(), target.split()) for source, target in PAIRS]

DEPENDENCIES = DependencyObservation, DependencyOptions
GRAMMARS = GrammarObservation, GrammarOptions
TREEBANKS = TreebankObservation, TreebankOptions
ALIGNMENT = AlignmentObservation, AlignmentOptions
ROUNDS = SplitAndMerge(round_length=4)

# An estimator; a family and what is asked of it; its algorithm; X and y.
CASES = {
    "heads by EM": (
        EMDMV(alpha=0.5, init="random"),
        *(DEPENDENCIES, {"alpha": 0.5, "init": "random"}),
        *(EM(), TAGS, HEADS),
    ),
    "back-off by VB": (
        VBDMV(valence=Valence(extended=True, backoff="head"), alpha="auto"),
        *(DEPENDENCIES, {"valence": Valence(extended=True, backoff="head"), "alpha": "auto"}),
        *(VB(), TAGS, None),
    ),
    "a grammar by CVB": (
        CVBPCFG(RULES, init="parameter"),
        *(GRAMMARS, {"grammar": RULES, "init": "parameter"}),
        *(CVB(), WORDS, None),
    ),
    "all rules by sampling": (
        HastingsPCFG(n_components=3, samples=Samples(thin=2), max_iter=20),
        *(GRAMMARS, {"n_components": 3}),
        *(Gibbs(20, thin=2), WORDS, None),
    ),
    "subtypes by EM": (
        EMLatentPCFG(n_subtypes=2),
        *(TREEBANKS, {"n_subtypes": 2, "alpha": 0.0}),
        *(SplitMerge(EM(), TreebankObservation(TreebankOptions()).plan), TREES, None),
    ),
    "split and merged by CVB": (
        CVBLatentPCFG(n_subtypes=4, schedule=ROUNDS),
        *(TREEBANKS, {"n_subtypes": 4, "rounds": ROUNDS}),
        *(SplitMerge(CVB(), TreebankObservation(TreebankOptions("", 4, ROUNDS)).plan), TREES),
        None,
    ),
    "links by CVB": (
        CVBAlignmentHMM(init="random", dictionary={"house": ["casa"]}),
        *(ALIGNMENT, {"init": "random", "dictionary": {"house": ["casa"]}}),
        *(CVB(), PAIRS, [[(0, 0)], None, None]),
    ),
    "links by sampling": (
        GibbsAlignmentHMM(samples=Samples(thin=2), max_iter=20),
        *(ALIGNMENT, {}),
        *(Gibbs(20, thin=2), PAIRS, None),
    ),
}


def first_generator():
    """What an estimator's first restart draws from."""
    return spawn_generators(check_random_state(SEED), 1)[0]


@pytest.mark.parametrize("title", CASES)
def test_counts_are_those_of_estimators(title):
    estimator, (family, options), asked, algorithm, X, y = CASES[title]
    observation = family(options(**asked))
    read = observation.read(X, y)
    model = observation.model(read)
    fit = run(model, algorithm, first_generator(), max_iter=estimator.max_iter)
    left = observation.outcome(result_of([fit], read, algorithm, model))
    estimator.set_params(random_state=SEED).fit(X, y)
    assert digest_of(left.learned.counts) == digest_of(estimator._learned.counts)
    assert np.array_equal(fit.history, estimator.history_)
    shared = left.attributes.keys() & vars(estimator).keys()
    assert shared == left.attributes.keys()
    assert digest_of(left.attributes["counts_"]) == digest_of(estimator.counts_)
    assert len(set(fit.history)) > 1


def test_counts_of_symbols_are_those_of_an_estimator():
    known, asked = KnownWords(None, "smooth", True, True), {"alpha": 0.2, "beta": 0.3}
    options = ChainOptions("mine", EstimatorKind(), known, Transitions(), n_components=3, **asked)
    observation = SymbolObservation(options._replace(fixed={}, is_collapsed=True))
    model = observation.model(observation.read(WORDS, None))
    fit = run(model, CVB(), first_generator(), max_iter=1000)
    estimator = CVBHMM(3, **asked, random_state=SEED).fit(WORDS)
    assert np.array_equal(fit.state.counts.transition, estimator.counts_.transition)
    assert np.array_equal(fit.state.counts.emission, estimator.counts_.emission.ravel())
    assert np.array_equal(fit.history, estimator.history_)


def test_predictions_are_functions_of_what_a_fit_leaves():
    observation, algorithm = DependencyObservation(DependencyOptions()), VB()
    read = observation.read(TAGS)
    model = observation.model(read)
    fit = run(model, algorithm, first_generator())
    learned = observation.outcome(result_of([fit], read, algorithm, model)).learned
    new = [["P", "V"], ["D", "N", "V", "P"]]
    heads = best_heads(learned, observation.encoded(learned, new))
    again = VBDMV().fit(TAGS).predict(new)
    assert heads.tolist() == np.concatenate(again).tolist()


def test_a_reading_knows_what_was_asked_for():
    observation = GrammarObservation(GrammarOptions(grammar=RULES, alpha=0.5))
    read = observation.read(WORDS)
    assert read.observation is observation
    assert (read.observation.model(read).prior(read.observation.model(read).hyper()) == 0.5).all()
