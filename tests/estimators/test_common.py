"""One contract for all public estimators: scikit-learn's checks and what users build on them."""

import inspect
import pickle
import re
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from estimators import heeded, known_words
from interruption import Recorder, callbacks, watched
from numba.core.registry import CPUDispatcher
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import sklearn_cvb
from sklearn_cvb import Samples, Transitions, metrics
from sklearn_cvb.compilation.cases import AROUND
from sklearn_cvb.emissions import (
    AutoRegressive,
    Categorical,
    Columns,
    Estimator,
    Gamma,
    Gaussian,
    Mixture,
    StudentT,
    VonMises,
)

ALL_CLASSES = [
    value
    for value in (getattr(sklearn_cvb, name) for name in sklearn_cvb.__all__)
    # test_classifier.py and test_mixture.py beside this have that of what is made of others.
    if inspect.isclass(value) and hasattr(value, "fit") and value.__name__ not in AROUND
]
# They learn from trees alone: tests/treebank/test_contract.py has what differs from here.
TREEBANKS = [kind for kind in ALL_CLASSES if kind.__name__.endswith("LatentPCFG")]
# They learn from pairs of sentences: so has tests/alignment/test_contract.py.
ALIGNERS = [kind for kind in ALL_CLASSES if kind.__name__.endswith("AlignmentHMM")]
CLASSES = [kind for kind in ALL_CLASSES if kind not in TREEBANKS + ALIGNERS]
MODELS = [kind for kind in CLASSES if not kind.__name__.endswith("Tagger")]
TAGGERS = [kind for kind in CLASSES if kind.__name__.endswith("Tagger")]
GRAMMARS = [kind for kind in CLASSES if kind.__name__.endswith("PCFG")]
DEPENDENCIES = [kind for kind in CLASSES if kind.__name__.endswith("DMV")]
HMMS = [kind for kind in CLASSES if kind not in GRAMMARS + DEPENDENCIES]
SAMPLERS = [kind for kind in CLASSES if kind.__name__.startswith(("Gibbs", "Hastings"))]

LEGAL = {
    "the": ["DET"],
    "a": ["DET"],
    "dog": ["NOUN"],
    "duck": ["NOUN", "VERB"],
    "saw": ["NOUN", "VERB"],
    "can": ["AUX", "NOUN", "VERB"],
    "they": ["PRON"],
    "swims": ["VERB"],
}
TEXT = [
    ("the dog saw a duck", "DET NOUN VERB DET NOUN"),
    ("they can duck", "PRON AUX VERB"),
    ("the duck swims", "DET NOUN VERB"),
    ("they saw the saw", "PRON VERB DET NOUN"),
    ("a dog can saw", "DET NOUN AUX VERB"),
    ("they duck", "PRON VERB"),
    ("the can saw a dog", "DET NOUN VERB DET NOUN"),
    ("a duck can swims", "DET NOUN AUX VERB"),
]
SENTENCES = [words.split() for words, _ in TEXT]
TAGS = [tags.split() for _, tags in TEXT]
# Numbers, of which the dictionary has none.
OTHER_WORDS = pytest.mark.filterwarnings("ignore:tag_dictionary covers 0.0 %")
TABLE = np.random.default_rng(0).integers(4, size=(12, 5))


def quick(kind, **keywords):
    """An estimator that fits in milliseconds."""
    settings = {"max_iter": 4, "random_state": 0} | keywords
    if kind in SAMPLERS:
        settings["max_iter"] = max(12, settings["max_iter"])
        settings.setdefault("samples", Samples(thin=1))
    if kind in TAGGERS:
        settings.setdefault("tag_dictionary", LEGAL)
    return kind(**heeded(kind, settings))


def starts(kind):
    """The random starts of a class."""
    if kind in DEPENDENCIES:
        return ("uniform", "random")
    return ("uniform", "parameter") if kind in GRAMMARS else ("token", "parameter")


def parameters(model):
    """The learned probabilities."""
    if type(model) in GRAMMARS:
        return [model.rule_probabilities_]
    if type(model) in DEPENDENCIES:
        return [model.rootprob_, model.attachprob_, model.stopprob_]
    return [model.startprob_, model.transmat_, model.emissionprob_]


def same(left, right):
    """Whether two nested results of predictions agree bit for bit, dtypes included."""
    if isinstance(left, np.ndarray) and left.dtype == object:
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=True)
    return left == right


def assert_same_fit(one, other):
    """Two fits agree to the last bit in what they learned and in what they predict."""
    for name in ("history_", "restart_objectives_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for left, right in zip(parameters(one), parameters(other), strict=True):
        assert np.array_equal(left, right)
    assert same(one.labels_, other.labels_)
    assert same(one.predict_proba(SENTENCES), other.predict_proba(SENTENCES))
    assert (one.n_iter_, one.objective_, one.alpha_) == (
        other.n_iter_,
        other.objective_,
        other.alpha_,
    )


def test_all_classes_are_covered():
    algorithms = ("CVB", "EM", "Gibbs", "VB")
    taggers = [f"{algorithm}HMMTagger" for algorithm in algorithms]
    models = [f"{algorithm}HMM" for algorithm in algorithms]
    grammars = [f"{algorithm}PCFG" for algorithm in (*algorithms, "Hastings")]
    dependencies = [f"{algorithm}DMV" for algorithm in algorithms]
    treebanks = [f"{algorithm}LatentPCFG" for algorithm in ("CVB", "EM", "VB")]
    aligners = [f"{algorithm}AlignmentHMM" for algorithm in algorithms]
    expected = sorted(models + taggers + grammars + dependencies + treebanks + aligners)
    assert sorted(kind.__name__ for kind in ALL_CLASSES) == expected


def broken_checks(estimator):
    """A check of scikit-learn 1.7 subtracts a mean from integers, in place: NumPy refuses that."""
    tags = get_tags(estimator).input_tags
    # Symbols are given to it as integers where none can be missing.
    is_hit = sklearn.__version__.startswith("1.7.") and tags.categorical and not tags.allow_nan
    name = "check_positive_only_tag_during_fit"
    return {name: "the check itself is broken for symbols"} if is_hit else {}


# No other check is expected to fail, for any class.
@pytest.mark.many(usual=50)
@pytest.mark.filterwarnings("ignore:n_components=1 is ignored")
@parametrize_with_checks(
    [kind(max_iter=10) for kind in MODELS + TREEBANKS + ALIGNERS] + [kind() for kind in TAGGERS],
    expected_failed_checks=broken_checks,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", ALL_CLASSES)
def test_enough_checks_apply(kind):
    n_checks = len(list(estimator_checks_generator(kind())))
    print(f"{kind.__name__}: {n_checks} checks")
    assert n_checks >= 40


@pytest.mark.many(usual=7)
@OTHER_WORDS
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_refused(kind, infinity):
    table = TABLE.astype(float)
    model = quick(kind).fit(table)
    table[3, 2] = infinity
    with pytest.raises(ValueError, match="infinity"):
        quick(kind).fit(table)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(table)
    with pytest.raises(ValueError, match="infinity is not a symbol"):
        quick(kind).fit(table.tolist())
    with pytest.raises(ValueError, match=r"infinity is not a symbol.*sequence 3, position 2"):
        quick(kind).fit(SENTENCES).predict(table.tolist())


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_clone_has_the_parameters_and_nothing_fitted(kind):
    model = quick(kind).fit(SENTENCES)
    copy = clone(model)
    assert str(copy.get_params()) == str(model.get_params())
    assert vars(copy).keys() == vars(quick(kind)).keys()
    assert_same_fit(model, copy.fit(SENTENCES))


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_pickle_keeps_every_bit(kind):
    model = quick(kind).fit(SENTENCES)
    copy = pickle.loads(pickle.dumps(model))
    assert_same_fit(model, copy)
    assert np.array_equal(model.score_samples(SENTENCES), copy.score_samples(SENTENCES))


@pytest.mark.parametrize("kind", CLASSES)
def test_scores_are_per_sequence_or_per_token(kind):
    model = quick(kind).fit(SENTENCES)
    whole = model.score_samples(SENTENCES)
    lengths = np.array([len(words) for words in SENTENCES])
    assert np.array_equal(model.score_samples(SENTENCES, per="sequence"), whole)
    np.testing.assert_array_equal(model.score_samples(SENTENCES, per="token"), whole / lengths)
    assert model.score(SENTENCES) == pytest.approx(whole.sum() / lengths.sum(), rel=1e-12)
    with pytest.raises(ValueError, match="per must be"):
        model.score_samples(SENTENCES, per="word")


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_warm_started_fit_goes_on_after_pickling(kind):
    model = quick(kind, warm_start=True, tol=0).fit(SENTENCES)
    copy = pickle.loads(pickle.dumps(model)).fit(SENTENCES)
    whole = quick(kind, max_iter=2 * model.n_iter_, tol=0).fit(SENTENCES)
    assert np.array_equal(copy.history_, whole.history_[model.n_iter_ :])
    # A chain's burn-in is half of its first fit.
    if kind not in SAMPLERS:
        for left, right in zip(parameters(copy), parameters(whole), strict=True):
            assert np.array_equal(left, right)


def compiled():
    """For how many sets of types each kernel is compiled."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sklearn_cvb.")]
    kernels = {id(value): value for module in modules for value in vars(module).values()}
    return {
        kernel.__qualname__: len(kernel.signatures)
        for kernel in kernels.values()
        if isinstance(kernel, CPUDispatcher)
    }


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_memory_map_compiles_nothing_and_goes_on(kind, tmp_path):
    """Arrays that may only be read are another type to numba, and no place for a warm start."""
    model = quick(kind, warm_start=True, tol=0).fit(SENTENCES)
    joblib.dump(model, tmp_path / "model")
    copy = joblib.load(tmp_path / "model", mmap_mode="r")
    assert not copy.history_.flags.writeable
    results = []
    for one in (model, copy):
        before = compiled()
        results.append([one.predict(SENTENCES), one.score_samples(SENTENCES)])
        one.fit(SENTENCES)
    assert compiled() == before
    assert same(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert_same_fit(model, copy)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_random_state_alone_decides(kind):
    free = {"init": starts(kind)[0], "n_init": 2}
    first = quick(kind, random_state=3, **free).fit(SENTENCES)
    assert_same_fit(first, quick(kind, random_state=3, **free).fit(SENTENCES))
    generator = np.random.RandomState(3)
    assert_same_fit(first, quick(kind, random_state=generator, **free).fit(SENTENCES))
    other = quick(kind, random_state=4, **free).fit(SENTENCES)
    assert not np.array_equal(first.history_, other.history_)


@pytest.mark.many(usual=5)
@OTHER_WORDS
@pytest.mark.parametrize("kind", CLASSES)
def test_a_second_fit_forgets_the_first(kind):
    model = quick(kind, **known_words(kind, handle_unknown="rare")).fit(
        TABLE, TABLE % 2 if kind in TAGGERS else None
    )
    assert model.n_features_in_ == TABLE.shape[1]
    model.fit(SENTENCES)
    fresh = quick(kind, **known_words(kind, handle_unknown="rare")).fit(SENTENCES)
    assert vars(model).keys() == vars(fresh).keys()
    assert_same_fit(model, fresh)


@pytest.mark.parametrize("kind", CLASSES)
def test_labels_are_what_fit_predict_returns(kind):
    model = quick(kind)
    assert same(model.fit_predict(SENTENCES), model.labels_)
    if kind in GRAMMARS:
        assert [tree.leaves() for tree in model.labels_] == SENTENCES
    else:
        assert [len(row) for row in model.labels_] == [len(row) for row in SENTENCES]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("start", [0, 1])
def test_threads_change_no_bit(kind, start):
    settings = {"n_init": 4, "init": starts(kind)[start]}
    if kind in TAGGERS:
        settings["tag_dictionary"] = {word: LEGAL[word] for word in ("the", "they", "swims")}
    serial = quick(kind, n_jobs=1, **settings).fit(SENTENCES)
    threaded = quick(kind, n_jobs=2, **settings).fit(SENTENCES)
    assert len(serial.restart_objectives_) == 4
    assert len(set(serial.restart_objectives_)) > 1
    assert serial.objective_ == serial.restart_objectives_.max()
    assert_same_fit(serial, threaded)


@pytest.mark.parametrize("kind", HMMS)
def test_transform_and_its_names_in_pandas(kind):
    model = quick(kind).set_output(transform="pandas").fit(SENTENCES)
    frame = model.transform(SENTENCES)
    prefix, n_states = kind.__name__.lower(), model.transmat_.shape[0]
    ends = range(n_states)
    if kind in TAGGERS:
        ends = ["_AUX", "_DET", "_NOUN", "_PRON", "_VERB"]
    names = [f"{prefix}{end}" for end in ends]
    assert list(frame.columns) == names == model.get_feature_names_out().tolist()
    means = [table.mean(axis=0) for table in model.predict_proba(SENTENCES)]
    np.testing.assert_allclose(frame.to_numpy(), means, atol=1e-13)
    assert same(quick(kind).fit_transform(SENTENCES), frame.to_numpy())


def _tokenise(texts):
    return [text.split() for text in texts]


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_pipeline_from_strings(kind):
    texts = [words for words, _ in TEXT]
    pipeline = make_pipeline(FunctionTransformer(_tokenise), quick(kind)).fit(texts)
    alone = quick(kind).fit(SENTENCES)
    assert same(pipeline.predict(texts), alone.predict(SENTENCES))
    if kind in HMMS:
        assert same(pipeline.transform(texts), alone.transform(SENTENCES))
    assert pipeline.score(texts) == alone.score(SENTENCES)
    if kind in TAGGERS:
        assert pipeline.score(texts, TAGS) == alone.score(SENTENCES, TAGS) > 0.6


def _grid(kind, n_jobs=None, scoring=None, **keywords):
    return GridSearchCV(
        quick(kind, **keywords),
        {"alpha": [0.1, 1.0], "beta": [0.05, 0.5]},
        cv=2,
        n_jobs=n_jobs,
        scoring=scoring,
        error_score="raise",
    )


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", TAGGERS)
def test_grid_search_on_ragged_sentences(kind):
    by_default = _grid(kind, supervision="none").fit(SENTENCES, TAGS)
    scorer = metrics.token_accuracy_scorer
    by_scorer = _grid(kind, scoring=scorer, supervision="none").fit(SENTENCES, TAGS)
    scores = by_scorer.cv_results_["mean_test_score"]
    assert np.array_equal(by_default.cv_results_["mean_test_score"], scores)
    assert len(scores) == 4
    assert scores.min() > 0.5
    assert by_scorer.best_estimator_.alpha == by_scorer.best_params_["alpha"]
    best = by_scorer.predict(SENTENCES)
    share = np.mean(np.concatenate(best) == np.concatenate(TAGS))
    assert metrics.token_accuracy(TAGS, best) == by_scorer.score(SENTENCES, TAGS) == share


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", TAGGERS)
def test_grid_search_with_every_scorer_by_hand(kind):
    scorers = {
        "one": (metrics.one_to_one_scorer, metrics.one_to_one_accuracy),
        "many": (metrics.many_to_one_scorer, metrics.many_to_one_accuracy),
        "v": (metrics.v_measure_scorer, metrics.v_measure),
    }
    search = GridSearchCV(
        quick(kind, supervision="none"),
        {"alpha": [1.0]},
        cv=[(range(4), range(4, 8))],
        scoring={name: scorer for name, (scorer, _) in scorers.items()}
        | {"perplexity": metrics.perplexity_scorer},
        refit="one",
    )
    results = search.fit(SENTENCES, TAGS).cv_results_
    model = clone(search.estimator).set_params(alpha=1.0).fit(SENTENCES[:4])
    predicted = model.predict(SENTENCES[4:])
    for name, (_, metric) in scorers.items():
        assert results[f"mean_test_{name}"][0] == metric(TAGS[4:], predicted)
    assert results["mean_test_perplexity"][0] == -model.perplexity(SENTENCES[4:])


@pytest.mark.process
@pytest.mark.parametrize("kind", TAGGERS)
def test_grid_search_in_processes_changes_no_bit(kind):
    serial = _grid(kind).fit(SENTENCES, TAGS)
    parallel = _grid(kind, n_jobs=2).fit(SENTENCES, TAGS)
    for name in ("split0_test_score", "split1_test_score"):
        assert np.array_equal(serial.cv_results_[name], parallel.cv_results_[name])
    assert_same_fit(serial.best_estimator_, parallel.best_estimator_)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", TAGGERS)
def test_cross_validation_splits_by_sentence(kind):
    tagger = quick(kind, supervision="none")
    scores = cross_val_score(tagger, SENTENCES, TAGS, cv=4)
    predicted = cross_val_predict(tagger, SENTENCES, TAGS, cv=4)
    assert predicted.shape == (8,)
    for fold in range(4):
        test = slice(2 * fold, 2 * fold + 2)
        train = SENTENCES[: test.start] + SENTENCES[test.stop :]
        model = clone(tagger).fit(train)
        assert same(predicted[test], model.predict(SENTENCES[test]))
        assert scores[fold] == model.score(SENTENCES[test], TAGS[test])


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", MODELS)
def test_cross_validation_without_labels(kind):
    scores = cross_val_score(quick(kind), SENTENCES, cv=2)
    model = quick(kind).fit(SENTENCES[4:])
    assert scores[0] == model.score(SENTENCES[:4])
    predicted = cross_val_predict(quick(kind), SENTENCES, cv=2)
    assert same(predicted[:4], model.predict(SENTENCES[:4]))


def _log_likelihood(estimator, X, y=None):
    """Mean log-likelihood per token, whatever y is."""
    return estimator.score(X)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", TAGGERS)
def test_supervision_none_never_sees_the_tags(kind):
    tagger = quick(kind, supervision="none")
    blind = clone(tagger).fit(SENTENCES)
    assert_same_fit(clone(tagger).fit(SENTENCES, TAGS), blind)
    assert np.array_equal(blind.classes_, ["AUX", "DET", "NOUN", "PRON", "VERB"])
    searches = [
        _grid(kind, scoring=_log_likelihood, supervision="none").fit(SENTENCES, y)
        for y in (TAGS, None)
    ]
    for name in ("split0_test_score", "split1_test_score", "mean_test_score"):
        assert np.array_equal(*(search.cv_results_[name] for search in searches))
    supervised = clone(tagger).set_params(supervision="y").fit(SENTENCES, TAGS)
    assert [row.tolist() for row in supervised.labels_] == TAGS
    assert not np.array_equal(supervised.transmat_, blind.transmat_)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_callbacks_see_every_sweep(kind):
    recorder = Recorder()
    model = watched(quick(kind, tol=0), recorder).fit(SENTENCES)
    assert len(recorder.scores) == model.n_iter_ == len(model.history_)
    assert recorder.scores[-1] == model.score(SENTENCES)
    shorter = quick(kind, tol=0, max_iter=2).fit(SENTENCES)
    if kind not in SAMPLERS:
        assert recorder.scores[1] == shorter.score(SENTENCES)
    assert_same_fit(model, quick(kind, tol=0).fit(SENTENCES))


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_callback_that_returns_true_stops_the_fit(kind):
    model = watched(quick(kind, tol=0), Recorder(at=3)).fit(SENTENCES)
    assert model.n_iter_ == 3
    assert not model.converged_
    if kind not in SAMPLERS:
        assert_same_fit(model, quick(kind, tol=0, max_iter=3).fit(SENTENCES))


def _own_score(estimator, X, y):
    """What the estimator itself calls its score."""
    return estimator.score(X, y)


@pytest.mark.parametrize("kind", TAGGERS)
def test_the_picture_of_a_tagger_names_its_tags(kind):
    """What it calls features are the columns of `transform`."""
    pytest.importorskip("sklearn.utils._repr_html.features", reason="1.9 began to show them")
    picture = quick(kind).fit(SENTENCES)._repr_html_()
    assert "5 features" in picture
    assert f"{kind.__name__.lower()}_NOUN" in picture
    assert f"{kind.__name__.lower()}0" not in picture


@pytest.mark.many(usual=3)
@pytest.mark.filterwarnings("ignore:no path explains sequences")
@pytest.mark.parametrize("kind", HMMS)
def test_cross_validated_posteriors(kind):
    """Without y, and with y handed to `fit` past the encoding of classes."""
    both = [{}]
    if kind in TAGGERS:
        both.append({"params": {"y": TAGS}})
    for keywords in both:
        found = cross_val_predict(quick(kind), SENTENCES, cv=2, method="predict_proba", **keywords)
        y = keywords.get("params", {}).get("y", [None] * 8)[4:]
        expected = quick(kind).fit(SENTENCES[4:], y if "params" in keywords else None)
        assert same(found[:4], expected.predict_proba(SENTENCES[:4]))


@pytest.mark.parametrize("kind", TAGGERS)
def test_scoring_monitor_takes_our_scorers(kind):
    scoring = {"accuracy": metrics.token_accuracy_scorer, "f1": metrics.v_measure_scorer}
    monitor = callbacks().ScoringMonitor(scoring=scoring)
    model = quick(kind, tol=0, supervision="none").set_callbacks(monitor).fit(SENTENCES, TAGS)
    last = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"][-1]
    for name, scorer in scoring.items():
        assert last[name] == scorer(model, SENTENCES, TAGS)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scoring_monitor_has_one_row_per_sweep(kind, n_jobs, capsys):
    monitor = callbacks().ScoringMonitor(scoring={"score": _own_score})
    model = quick(kind, tol=0, n_init=2, init=starts(kind)[0], n_jobs=n_jobs)
    # For grammars: no bracket is known; for dependency models: no head. Restarts of taggers need a
    # sentence without labels.
    y = [None, *TAGS[1:]]
    if kind not in HMMS:
        y = [None if kind in DEPENDENCIES else []] * len(SENTENCES)
    model.set_callbacks(monitor, callbacks().ProgressBar()).fit(SENTENCES, y)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    assert len(rows) == 2 * model.n_iter_
    assert {row["parent_task_id_path"] for row in rows} == {(0, 0), (0, 1)}
    best = int(np.argmax(model.restart_objectives_))
    last = [row["score"] for row in rows if row["parent_task_id_path"] == (0, best)][-1]
    assert last == model.score(SENTENCES, y if kind in TAGGERS else None)
    assert kind.__name__ in capsys.readouterr().out


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", TAGGERS)
def test_callbacks_nest_in_a_grid_search(kind):
    monitor = callbacks().ScoringMonitor(scoring={"score": _own_score})
    search = _grid(kind, tol=0, supervision="none").set_callbacks(callbacks().ProgressBar())
    search.estimator.set_callbacks(monitor)
    search.fit(SENTENCES, TAGS)
    sweeps = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    n_fits = 4 * 2 + 1
    assert len(sweeps) == n_fits * search.best_estimator_.n_iter_


# Documentation: numpydoc sections of the public classes and methods.


def _sections(docstring):
    """A dict from section title to its lines."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    titles = [
        i
        for i in range(len(lines) - 1)
        if lines[i] and re.fullmatch("-{3,}", lines[i + 1]) and len(lines[i]) == len(lines[i + 1])
    ]
    ends = titles[1:] + [len(lines)]
    return {lines[i]: lines[i + 2 : end] for i, end in zip(titles, ends, strict=True)}


def _names(section):
    """The names that a Parameters, Attributes or Returns section describes."""
    heads = [line.split(" : ")[0] for line in section if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(",")]


def _public_methods(kind):
    return [
        (name, method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("sklearn_cvb")
    ]


@pytest.mark.parametrize("kind", CLASSES)
def test_parameters_are_documented_in_order(kind):
    documented = _names(_sections(kind.__doc__)["Parameters"])
    assert documented == list(inspect.signature(kind).parameters)


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
def test_fitted_attributes_are_documented(kind):
    models = [quick(kind).fit(SENTENCES)]
    if kind in HMMS and kind not in TAGGERS:
        numbers = np.random.default_rng(0).integers(2, size=(6, 8, 2)).astype(float)
        mixed = Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])
        others = [VonMises(), StudentT(), Mixture(Gaussian("diag")), AutoRegressive()]
        for emission in ("gaussian", "poisson", "bernoulli", Categorical(), mixed, *others):
            models.append(quick(kind, emission=emission).fit(numbers))
        lasting = {"emission": "gaussian", "transitions": Transitions(durations="poisson")}
        models.append(quick(kind, **lasting).fit(numbers))
        text = [pd.DataFrame({"speed": table[:, 0], "mode": list("aabbabab")}) for table in numbers]
        models.append(quick(kind, emission=mixed).fit(text))
    if kind is sklearn_cvb.EMHMM:
        models.append(quick(kind, emission=Gamma(shape=None)).fit(numbers + 1.0))
        moved = Transitions(inputs=[0])
        lines = Estimator(LinearRegression(), inputs=[0], outputs=[1])
        models.append(quick(kind, emission=lines).fit(numbers))
        models.append(quick(kind, emission="gaussian", transitions=moved).fit(numbers))
    if kind in (sklearn_cvb.VBHMM, sklearn_cvb.CVBHMM, sklearn_cvb.GibbsHMM):
        models.append(quick(kind, transitions=Transitions(prior="hdp")).fit(SENTENCES))
        pooled = Transitions(contexts=1, prior="pooled")
        models.append(quick(kind, transitions=pooled, emission="gaussian").fit(numbers))
    found = {
        name
        for model in models
        for name in vars(model)
        if name.endswith("_") and not name.startswith("_")
    }
    found |= {
        name
        for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property))
        if name.endswith("_") and not name.startswith("_")
    }
    documented = _names(_sections(kind.__doc__)["Attributes"])
    of_tables = {"n_features_in_", "feature_names_in_"}
    assert set(documented) - of_tables == found - of_tables
    assert len(documented) == len(set(documented))


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_have_examples_and_references(kind):
    sections = _sections(kind.__doc__)
    assert list(sections) == ["Parameters", "Attributes", "References", "Examples"]
    assert any(
        line.startswith(f">>> from sklearn_cvb import {kind.__name__}")
        for line in sections["Examples"]
    )


@pytest.mark.parametrize("kind", CLASSES)
def test_public_methods_are_documented(kind):
    methods = _public_methods(kind)
    assert {"fit", "fit_predict", "predict", "score", "sample"} <= {name for name, _ in methods}
    for name, method in methods:
        sections = _sections(method.__doc__)
        parameters = [p for p in inspect.signature(method).parameters if p != "self"]
        told = [told.lstrip("*") for told in _names(sections.get("Parameters", []))]
        assert told == parameters, name
        assert "Returns" in sections, name
        summary = inspect.cleandoc(method.__doc__).splitlines()[0]
        assert summary.endswith((".", "?")), name
