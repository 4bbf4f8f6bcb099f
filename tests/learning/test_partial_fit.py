"""`partial_fit` of all estimators that have it: steps, attributes, refusals."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from estimators import known_words
from sklearn.base import clone

import sklearn_cvb
from sklearn_cvb import GammaPrior, StepSizes, Transitions
from sklearn_cvb.learning.algorithms import EM, Algorithm
from sklearn_cvb.learning.model import Learnable
from sklearn_cvb.streams.seen import SeenSoFar, mixing_factors, seen_after, step_size

NAMES = [
    f"{algorithm}{family}"
    for algorithm in ("EM", "VB", "CVB")
    for family in ("HMM", "HMMTagger", "PCFG")
]
STREAMING = [getattr(sklearn_cvb, name) for name in NAMES]
MODELS = [kind for kind in STREAMING if kind.__name__.endswith("HMM")]
LEGAL = {"the": ["D"], "dog": ["N"], "saw": ["N", "V"], "they": ["P"], "duck": ["N", "V"]}
BATCHES = [
    [["the", "dog", "saw"], ["they", "saw", "the", "duck"], ["they", "duck"]],
    [["the", "saw"], ["they", "saw", "dog", "the"], ["the", "duck"]],
    [["they", "duck", "the", "dog"], ["the", "bird", "saw"]],
]
N_TOKENS = [sum(map(len, batch)) for batch in BATCHES]


def make(kind, **settings):
    if kind.__name__.endswith("Tagger"):
        settings.setdefault("tag_dictionary", LEGAL)
    return kind(**{"random_state": 0} | settings)


def streamed(kind, batches=BATCHES, **settings):
    model = make(kind, **settings)
    for batch in batches:
        model.partial_fit(batch)
    return model


def n_counted(model):
    """Tokens that the counts stand for."""
    if not hasattr(model.counts_, "rule"):
        return model.counts_.emission.sum()
    derives = [any(isinstance(item, tuple) for item in rule.right) for rule in model.rules_.rules]
    return model.counts_.rule[derives].sum()


def tables(model):
    return [np.asarray(getattr(part, "data", part)) for part in model.counts_]


def test_who_has_partial_fit():
    having = [
        name for name in sklearn_cvb.__all__ if hasattr(getattr(sklearn_cvb, name), "partial_fit")
    ]
    assert sorted(having) == sorted(NAMES)


def _of_size(*sizes):
    return SimpleNamespace(sizes_without=lambda _: sizes, word_uses=np.zeros(2))


def test_steps():
    assert step_size(300, 300, 0.7, 10.0) == 1.0
    assert step_size(600, 300, 0.7, 0.0) == 2.0**-0.7
    # No batch counts for less than its own tokens.
    assert step_size(600, 300, 0.7, 10.0) == step_size(600, 300, 1.0, 0.0) == 0.5
    nothing = np.zeros(2)
    before = seen_after(None, _of_size(8, 2), nothing, None)
    after = seen_after(before, _of_size(4, 1), nothing, None)
    assert (before.mass, after.mass, after.n_batches) == (8, 12, 2)
    # All alike: what was counted stays.
    step = mixing_factors(before, after, 1.0, 0.0)
    assert (step.running, step.batch) == pytest.approx((1.0, 1.0))
    assert mixing_factors(before, before, 0.7, 1.0) == (1.0, 0.0, 1.0)
    assert seen_after(before, _of_size(4, 1), nothing, 300).mass == 1200
    assert SeenSoFar(8, 2, 8.0, 1, nothing, {})[:4] == before[:4]


@pytest.mark.many(usual=12)
@pytest.mark.parametrize("kind", STREAMING)
@pytest.mark.parametrize("total_samples", [None, 1000])
@pytest.mark.parametrize("decay", [0.6, 1.0])
def test_counts_sum_to_the_tokens_seen_or_expected(kind, total_samples, decay):
    model = make(kind, step_sizes=StepSizes(decay, offset=0.0, total_samples=total_samples))
    seen = n_sequences = 0
    for batch, n_tokens in zip(BATCHES, N_TOKENS, strict=True):
        assert model.partial_fit(batch) is model
        seen, n_sequences = seen + n_tokens, n_sequences + len(batch)
        expected = seen if total_samples is None else seen * total_samples / n_sequences
        assert n_counted(model) == pytest.approx(expected)
        assert len(model.labels_) == len(batch)
        assert len(model.history_) == model.n_iter_ == model.n_batches_seen_
        assert np.isfinite([model.objective_, model.score(batch)]).all()
        assert len(model.predict(batch)) == len(batch)


@pytest.mark.parametrize("kind", STREAMING)
def test_a_copy_goes_on_as_the_model_does(kind):
    model = streamed(kind, BATCHES[:2])
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.partial_fit(BATCHES[2])
    for left, right in zip(tables(model), tables(copy), strict=True):
        assert np.array_equal(left, right)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "counts_")


@pytest.mark.parametrize("kind", STREAMING)
def test_a_fit_afterwards_begins_anew(kind):
    model = streamed(kind, warm_start=True).fit(BATCHES[0])
    fresh = make(kind, warm_start=True).fit(BATCHES[0])
    assert vars(model).keys() == vars(fresh).keys()
    assert (model.n_batches_seen_, len(model.history_)) == (0, len(fresh.history_))
    for left, right in zip(tables(model), tables(fresh), strict=True):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("kind", STREAMING)
def test_batches_may_be_tables_of_one_width(kind):
    table = np.random.default_rng(0).integers(4, size=(6, 3))
    settings = {"tag_dictionary": None} if kind.__name__.endswith("Tagger") else {}
    model = streamed(kind, [table, table[::-1]], **settings)
    assert n_counted(model) == pytest.approx(36)
    assert len(model.labels_) == 6
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(table[:, :2])


@pytest.mark.parametrize("kind", STREAMING)
def test_an_error_leaves_the_model_as_it_was(kind):
    model = streamed(kind, BATCHES[:2], **known_words(kind, handle_unknown="error"))
    before, words = [table.copy() for table in tables(model)], model.vocabulary_.tolist()
    with pytest.raises(ValueError, match="infinity is not a symbol"):
        model.partial_fit([["the", "cat", np.inf]])
    with pytest.raises(TypeError, match=r"string|is text|tokenise|split"):
        model.partial_fit(["the cat"])
    assert model.vocabulary_.tolist() == words
    assert all(map(np.array_equal, before, tables(model)))
    assert model.partial_fit(BATCHES[2]).n_batches_seen_ == 3


@pytest.mark.parametrize("kind", STREAMING)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step_sizes": StepSizes(0.5)}, "decay"),
        ({"step_sizes": StepSizes(1.1)}, "decay"),
        ({"step_sizes": StepSizes(offset=-1.0)}, "offset"),
        ({"step_sizes": StepSizes(total_samples=0)}, "total_samples"),
    ],
)
def test_bad_parameters(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        make(kind, **settings).partial_fit(BATCHES[0])


@pytest.mark.parametrize("kind", STREAMING)
def test_what_fixes_the_layout_may_not_change(kind):
    model = streamed(kind, BATCHES[:1])
    changes = known_words(kind, handle_unknown="error")
    if kind.__name__.endswith("Tagger"):
        changes |= {"tag_dictionary": {"the": ["X"]}, "tag_dictionary__denoise": "none"}
    else:
        changes["n_components"] = 3
    for name, value in changes.items():
        other = pickle.loads(pickle.dumps(model)).set_params(**{name: value})
        with pytest.raises(ValueError, match=rf"{name}\w* has changed since the first call"):
            other.partial_fit(BATCHES[1])
    # The prior may.
    assert model.set_params(alpha=0.5).partial_fit(BATCHES[1]).alpha_ == 0.5


@pytest.mark.parametrize("kind", [kind for kind in STREAMING if not kind.__name__.startswith("EM")])
def test_learned_concentrations_are_refused(kind):
    with pytest.raises(ValueError, match="alpha='auto' learns it: give numbers"):
        make(kind, alpha="auto").partial_fit(BATCHES[0])
    with pytest.raises(ValueError, match=r"alpha=GammaPrior\(shape=2\) learns it: give numbers"):
        make(kind, alpha=GammaPrior(2)).partial_fit(BATCHES[0])


def test_shared_weights_are_refused():
    with pytest.raises(ValueError, match="an HDP as prior of transitions learns it"):
        sklearn_cvb.VBHMM(transitions=Transitions(prior="hdp")).partial_fit(BATCHES[0])


@pytest.mark.parametrize("kind", MODELS)
def test_numbers_and_symbols_do_not_mix(kind):
    numbers = [np.random.default_rng(0).normal(size=20)]
    model = make(kind, emission="gaussian").partial_fit(numbers)
    with pytest.raises(ValueError, match="cannot go on from numbers with emission='categorical'"):
        model.set_params(emission="categorical").partial_fit(BATCHES[0])
    model.fit(BATCHES[0])
    with pytest.raises(ValueError, match="cannot go on from symbols with emission='gaussian'"):
        model.set_params(emission="gaussian").partial_fit(numbers)


@pytest.mark.parametrize("kind", [kind for kind in STREAMING if kind not in MODELS])
def test_batches_that_cannot_be_explained(kind):
    if kind.__name__.endswith("PCFG"):
        model = make(kind, grammar="S -> A B\nA -> 'the'\nB -> 'dog' | 'duck'")
        good, bad = [["the", "dog"]], [["dog", "the"]]
    else:
        legal = {"the": [0], "dog": [1], "duck": [1]}
        model = make(kind, transitions="left-right", tag_dictionary=legal)
        good, bad = [["the", "dog"]], [["dog", "the"]]
    model.partial_fit(good)
    with pytest.warns(UserWarning, match="were left out of the counts"):
        model.partial_fit(good + bad)
    assert model.unexplained_.tolist() == [1]
    assert n_counted(model) == pytest.approx(4)
    with pytest.raises(ValueError, match=r"leave no sequence any path|nothing to learn from"):
        model.partial_fit(bad)
    assert (n_counted(model), model.n_batches_seen_) == (pytest.approx(4), 2)


class _Renamed(EM):
    """EM by another name."""


class _Scaled(Algorithm):
    """No algorithm of batches."""

    requires = Learnable


def test_an_algorithm_of_ones_own_takes_the_steps_of_its_kind():
    class Own(sklearn_cvb.EMHMM):
        _algorithm = _Renamed

    own, usual = Own(2, random_state=0), sklearn_cvb.EMHMM(2, random_state=0)
    for batch in BATCHES:
        own.partial_fit(batch)
        usual.partial_fit(batch)
    assert np.array_equal(own.counts_.emission, usual.counts_.emission)


def test_an_algorithm_without_steps_is_told_by_its_name():
    class Own(sklearn_cvb.EMHMM):
        _algorithm = _Scaled

    with pytest.raises(TypeError, match="of what inherits from `BatchAlgorithm`, which _Scaled"):
        Own(2).partial_fit(BATCHES[0])
