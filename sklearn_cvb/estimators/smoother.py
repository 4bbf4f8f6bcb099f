"""Smoothing: a classifier of steps, whose probabilities become those of a hidden Markov model."""

import warnings
from dataclasses import field
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, Self

import narwhals.stable.v2 as narwhals
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_cvb.chain.numbers import e_step
from sklearn_cvb.chain.tags.knowledge import read_labels
from sklearn_cvb.estimators.classifier import set_fitted_attributes
from sklearn_cvb.estimators.collections import as_collection
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.estimators.parameters import Concentration
from sklearn_cvb.estimators.saving import VersionedPickle
from sklearn_cvb.faces.translations import HmmlearnNames
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.series import columns_to_fit
from sklearn_cvb.reading.validation import HasMethods, Interval, StrOptions, check_choice, warn
from sklearn_cvb.scikit_learn import fit_context

# Lower probabilities count as this one: a classifier may be sure, and wrong.
_FLOOR = 1e-3
# What cross-validation compares, weight and prior_weight: it takes the first of the best.
_SETTINGS = (("raw", None), *((w, p) for w in (1.0, 0.3, 0.1) for p in (0.0, 1.0)))
# Fewer sequences than this are cut: one that is left out would be much of what is known.
_FEWEST = 5
_POSITIVE = Interval(Real, 0, None, closed="neither")
_FORM = "pass a list of arrays of shape (n_steps, n_features), or of frames"
_ROWS = (
    "each of the {0} rows of X is read as a sequence of one step, and nothing is smoothed: "
    "one recording of {0} steps is passed as [X] and [y], several as lists (see split_by)"
)
_CLASSES = "-1 in y is read as a step without label; if it is a class as 0 and 1, give them as text"
_NO_FOLD = "no fold can be fitted to choose weight by, and nothing is smoothed: give it as a number"


class _Steps(NamedTuple):
    """The steps of all sequences, one after the other."""

    rows: Any  # an array or a frame
    starts: np.ndarray  # (n_sequences + 1,) as of a `Corpus`
    width: int | None = None  # of a 3-D array: the number of steps of each sequence
    of_table: bool = False  # whether X was a table, whose rows are sequences of one step
    labels: Any = None  # of all steps
    known: Any = None  # which of them are labels

    def part(self, wanted: np.ndarray) -> "_Steps":
        """Some of the sequences, given which."""
        lengths = np.diff(self.starts)
        steps, ends = np.flatnonzero(np.repeat(wanted, lengths)), lengths[wanted].cumsum()
        labelled = {"labels": self.labels[steps], "known": self.known[steps]}
        return _Steps(_rows_at(self.rows, steps), np.append(0, ends), **labelled)

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """Values of steps in the form of X."""
        corpus = reading.Corpus(np.empty(0), self.starts, self.width, [])
        return values if self.of_table else reading.arrange(corpus, values, np.nan)


class _ClassifierChain(NamedTuple):
    """A classifier of steps, and how its classes follow each other."""

    classifier: Any
    class_prior: np.ndarray
    start: np.ndarray
    transition: np.ndarray
    setting: tuple[Any, Any] = _SETTINGS[0]  # weight and prior_weight
    filter_setting: tuple[Any, Any] = _SETTINGS[0]  # and where later steps are not known
    of_table: bool = False  # whether it was fitted to one

    def smoothed(self, proba: np.ndarray, starts: np.ndarray, how: str = "marginal") -> np.ndarray:
        """Probabilities of classes at all steps, given the classifier's own.

        Given all steps, or those before ("filter"); or 1 for the classes of the best path
        ("viterbi").
        """
        weight, prior_weight = self.filter_setting if how == "filter" else self.setting
        if weight == "raw":
            return proba
        # Kernels are compiled for this type and order alone.
        logs = np.log(np.maximum(proba, _FLOOR, dtype=float, order="C"))
        logs = weight * (logs - prior_weight * np.log(self.class_prior))
        tables = e_step.ChainTables(self.start[None], self.transition[None], None)
        scores, stretches = e_step.scores_from_logs(logs), e_step.plain_stretches(starts)
        if how == "viterbi":
            path = e_step.best_path(e_step.log_tables(tables), logs, starts, stretches)[0]
            return np.eye(len(self.start))[path]
        if how == "filter":
            return e_step.filter_steps(tables, scores, starts, stretches).message
        return e_step.infer(tables, scores, starts, stretches).posterior


class HMMSmoother(HmmlearnNames, ClassifierMixin, MetaEstimatorMixin, VersionedPickle):
    """Smooth what a classifier says of the steps of sequences.

    Not where steps have no order. What a classifier has wrong for minutes on end stays wrong, and
    smoothing can do harm there: that is why `weight` is chosen by cross-validation.

    The classifier sees one step at a time, and its predictions jump. How classes follow each other
    is counted in the labels, and both are put together in a hidden Markov model whose states are
    the classes: class z emits step x with weight (p(z | x) / p(z)^prior_weight)^weight, where
    p(z | x) is the classifier's probability, at least 0.001, and p(z) the share of the class.

    Parameters
    ----------
    estimator : classifier
        What is fitted to single steps: any classifier, pipeline or search with `predict_proba`.
    weight : {"cv", "raw"} or float
        How much a step counts beside its neighbours: 1 where steps are independent given their
        classes, less where they repeat what their neighbours say. "raw" smooths nothing. "cv"
        compares "raw" and 1, 0.3 and 0.1, each with `prior_weight` 0 and 1, by cross-validation
        over sequences, and takes what has most steps right, as the mean of the folds: given all
        steps, and for `filter_proba` given those so far.
    prior_weight : float
        From 0 to 1: how much of the shares of the classes is taken out of the probabilities. 1 is
        Bayes' rule; 0 is safer where shares differ between sequences, and right where the
        classifier has taken them out itself (``class_weight="balanced"``). It is for a `weight`
        that is a number.
    alpha : float
        Pseudo-count of every start and transition, 1e-10 to 1e10.
    cv : int
        Number of folds: the classifier is fitted once for each, and once to all. Each of up to so
        many sequences is left out by itself; where there are fewer than five they are cut into
        pieces.
    n_jobs : int or None
        Threads that fit folds; the result does not depend on it.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier of steps.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the labelled steps.
    startprob_, transmat_ : ndarray
        Probabilities of the class of a first step, and of the next class (columns) after each class
        (rows), shapes (n_classes,) and (n_classes, n_classes).
    weight_ : "raw" or float
        The weight that is used.
    prior_weight_ : float or None
        None where `weight_` is "raw".
    filter_weight_, filter_prior_weight_ : "raw" or float, float or None
        Those of `filter_proba`.
    cv_results_ : dict or None
        "params", a list of dicts of the settings that were compared; "accuracy", an array of the
        share of labelled steps that each has right, and "filter_accuracy", where later steps are
        not known. None where nothing was compared.

    References
    ----------
    Bourlard and Morgan (1994), "Connectionist speech recognition: a hybrid approach", Kluwer:
    probabilities of classes, divided by their shares, as emissions.

    See Also
    --------
    HMMClassifier : A label for each sequence.
    EMHMMTagger : Labels of steps that are symbols, without a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_cvb import HMMSmoother
    >>> rng = np.random.default_rng(0)
    >>> y = [np.repeat(["rest", "walk", "rest"], 40) for _ in range(6)]
    >>> X = [rng.normal(labels == "walk", 1.0)[:, None] for labels in y]
    >>> model = HMMSmoother(LogisticRegression()).fit(X[:4], y[:4])
    >>> single = HMMSmoother(LogisticRegression(), weight="raw").fit(X[:4], y[:4])
    >>> bool(single.score(X[4:], y[4:]) < 0.8 < 0.95 < model.score(X[4:], y[4:]))
    True
    """

    estimator: Annotated[Any, HasMethods("fit")] = field(kw_only=False)
    weight: Annotated[Any, StrOptions({"cv", "raw"}), _POSITIVE] = "cv"
    prior_weight: Annotated[float, Interval(Real, 0, 1, closed="both")] = 1.0
    alpha: Concentration = 1.0
    cv: Annotated[int, Interval(Integral, 2, None, closed="left")] = 10
    n_jobs: Annotated[int | None, int, np.integer, None] = None

    @without_lengths
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to labelled steps, and count how labels follow each other.

        Parameters
        ----------
        X : list, object array or Series of arrays of shape (n_steps, n_features) or of frames
            A sequence each; or an array of shape (n_sequences, n_steps, n_features). A table is
            read as sequences of one step, with a warning.
        y : list, object array or Series of label sequences
            A label for each step. None, NaN and, where labels are integers and two others occur,
            -1 stand for steps without one. Of a table array-like of shape (n_samples,).

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator has no `predict_proba`.
        ValueError
            If the labels of a sequence are not as many as its steps; of what the estimator refuses.
        """
        steps = _with_labels(_read_steps(X), y)
        check_classification_targets(steps.labels[steps.known])
        chain, results = _learn(self.estimator, steps, self.alpha), None
        both = [(self.weight, self.prior_weight if self.weight != "raw" else None)] * 2
        if self.weight == "cv":
            both, results = ([_SETTINGS[0]] * 2, None) if steps.of_table else self._compare(steps)
        set_fitted_attributes(
            self,
            chain.classifier,
            estimator_=chain.classifier,
            classes_=chain.classifier.classes_,
            class_prior_=chain.class_prior,
            startprob_=chain.start,
            transmat_=chain.transition,
            weight_=both[0][0],
            prior_weight_=both[0][1],
            filter_weight_=both[1][0],
            filter_prior_weight_=both[1][1],
            cv_results_=results,
            _learned=chain._replace(
                setting=both[0], filter_setting=both[1], of_table=steps.of_table
            ),
        )
        return self

    def _compare(self, steps: _Steps) -> tuple[list[Any], dict[str, Any] | None]:
        """The best settings by cross-validation, and accuracies; those are None without folds."""
        steps = steps._replace(starts=_pieces(steps.starts, self.cv))
        numbers = np.arange(len(steps.starts) - 1)
        folds = np.array_split(numbers, min(self.cv, len(numbers)))
        run, share = Parallel(self.n_jobs, prefer="threads"), delayed(_shares_right)
        asked = self.estimator, self.alpha, steps
        found = run(share(*asked, np.isin(numbers, fold)) for fold in folds)
        shares = [one for one in found if one is not None]
        if not shares:
            warn([_NO_FOLD])
            return [_SETTINGS[0]] * 2, None
        named = [dict(zip(("weight", "prior_weight"), one, strict=True)) for one in _SETTINGS]
        each = np.mean(shares, axis=0)
        results = {"params": named, "accuracy": each[0], "filter_accuracy": each[1]}
        # Of equal ones the first, which smooths least.
        return [_SETTINGS[accuracy.argmax()] for accuracy in each], results

    def _smoothed(self, X: Any, how: str = "marginal") -> tuple[_Steps, np.ndarray]:
        """The steps of X, and probabilities of their classes."""
        check_is_fitted(self)
        chain, steps = self._learned, _read_steps(X, is_table_usual=self._learned.of_table)
        validate_data(self, steps.rows, reset=False, skip_check_array=True)
        with warnings.catch_warnings():
            # It has just been said.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            proba = chain.classifier.predict_proba(steps.rows)
        return steps, chain.smoothed(proba, steps.starts, how)

    @without_lengths
    def predict(self, X: Any, decoding: str = "marginal") -> np.ndarray:
        """The class of each step.

        Parameters
        ----------
        X : list, object array or Series of arrays of shape (n_steps, n_features) or of frames
            As in `fit`.
        decoding : {"marginal", "viterbi"}, default="marginal"
            The most probable class of each step, or the most probable path. Without smoothing they
            are the same.

        Returns
        -------
        ndarray
            Shape (n_sequences, n_steps) for a 3-D X, (n_samples,) for a table, else an object array
            of one array per sequence.
        """
        check_choice("decoding", decoding, ("marginal", "viterbi"))
        steps, proba = self._smoothed(X, decoding)
        return steps.arrange(self.classes_[proba.argmax(axis=1)])

    @without_lengths
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of each step, given all steps of its sequence.

        Parameters
        ----------
        X : list, object array or Series of arrays of shape (n_steps, n_features) or of frames
            As in `fit`.

        Returns
        -------
        ndarray
            As `predict`, with one more axis, n_classes, in the order of `classes_`.
        """
        steps, proba = self._smoothed(X)
        return steps.arrange(proba)

    @without_lengths
    def filter_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of each step, given the steps up to it (causal).

        Parameters
        ----------
        X : list, object array or Series of arrays of shape (n_steps, n_features) or of frames
            As in `fit`.

        Returns
        -------
        ndarray
            As `predict_proba`.
        """
        steps, proba = self._smoothed(X, "filter")
        return steps.arrange(proba)

    @without_lengths
    def score(self, X: Any, y: Any) -> float:
        """Share of the labelled steps whose class is predicted.

        Parameters
        ----------
        X : list, object array or Series of arrays of shape (n_steps, n_features) or of frames
            As in `fit`.
        y : list, object array or Series of label sequences
            As in `fit`.

        Returns
        -------
        float
        """
        steps, proba = self._smoothed(X)
        steps = _with_labels(steps, y, self.classes_)
        return float((self.classes_[proba.argmax(axis=1)] == steps.labels)[steps.known].mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = False
        return tags


def _read_steps(X: Any, is_table_usual: bool = False) -> _Steps:
    """All steps of sequences, as one array or frame."""
    X = as_collection(X)
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) < 2:
        X = np.asarray(X)
    n_axes = len(X.shape) if reading.is_table(X) else 0
    if n_axes == 1:
        raise ValueError(f"Expected 2D array, got 1D array instead. Reshape your data: {_FORM}")
    if n_axes == 2:
        if len(X) > 1 and not is_table_usual:
            warn([_ROWS.format(len(X))])
        return _Steps(X, np.arange(len(X) + 1), of_table=True)
    samples = list(X) if n_axes else reading.samples_of(X, _FORM)
    are_frames = any(hasattr(own, "columns") for own in samples)
    if are_frames:
        columns_to_fit(samples, lambda _samples, _names: {})
        samples = [narwhals.from_native(own, eager_only=True) for own in samples]
    else:
        samples = list(map(np.asarray, samples))
        for i, own in enumerate(samples):
            if own.ndim != 2 or own.shape[1] != samples[0].shape[1]:
                raise ValueError(f"X[{i}] has shape {own.shape}, X[0] {samples[0].shape}: {_FORM}")
    lengths = list(map(len, samples))
    if not lengths or 0 in lengths:
        raise ValueError(f"Found array with 0 sample(s): X has sequences of {lengths[:20]} steps")
    rows = narwhals.concat(samples).to_native() if are_frames else np.concatenate(samples)
    return _Steps(rows, np.append(0, np.cumsum(lengths)), lengths[0] if n_axes else None)


def _with_labels(steps: _Steps, y: Any, classes: np.ndarray | None = None) -> _Steps:
    """Steps with their labels; `classes` are those of the fit, if it is over."""
    corpus = reading.Corpus(np.arange(steps.starts[-1]), steps.starts, steps.width, [])
    values = column_or_1d(y, warn=True).tolist() if steps.of_table else read_labels(y, corpus)
    check_consistent_length(steps.rows, values)
    known = np.array([not reading.is_missing(value) for value in values], bool)
    named = [value for value in values if not reading.is_missing(value)]
    given = np.asarray(named)
    if given.ndim != 1 or len({isinstance(label, str) for label in named}) > 1:
        raise ValueError("y must hold a label for each step, all of them text or all numbers")
    labels = np.zeros(len(values), given.dtype)
    labels[known] = given
    if given.dtype.kind == "i" and -1 in given:
        others = np.unique(given[given != -1])
        if -1 not in classes if classes is not None else len(others) > 1:
            known &= labels != -1
        if classes is None and others.tolist() == [0, 1]:
            warn([_CLASSES])
    if not known.any():
        raise ValueError("y holds no label of any step")
    return steps._replace(labels=labels, known=known)


def _rows_at(rows: Any, places: np.ndarray) -> Any:
    """Some rows; all where these are as many."""
    if len(places) == len(rows):
        return rows
    if not hasattr(rows, "columns"):
        return rows[places]
    return narwhals.from_native(rows, eager_only=True)[places].to_native()


def _learn(estimator: Any, steps: _Steps, alpha: float) -> _ClassifierChain:
    """A classifier of the labelled steps, and its classes counted."""
    known, starts = steps.known, steps.starts[:-1]
    labels = steps.labels[known]
    classifier = clone(estimator).fit(_rows_at(steps.rows, np.flatnonzero(known)), labels)
    if not hasattr(classifier, "predict_proba"):
        name = type(estimator).__name__
        cure = f"CalibratedClassifierCV({name}(...)) of sklearn.calibration has"
        raise TypeError(f"{name} has no predict_proba, which is what is smoothed: {cure}")
    n = len(classifier.classes_)
    codes = np.zeros(len(known), np.int64)
    codes[known] = np.searchsorted(classifier.classes_, labels)
    follows = known & np.append(False, known[:-1])
    follows[starts] = False
    right = np.flatnonzero(follows)
    pairs = np.bincount(n * codes[right - 1] + codes[right], minlength=n * n).reshape(n, n) + alpha
    start = np.bincount(codes[starts][known[starts]], minlength=n) + alpha
    tables = start / start.sum(), pairs / pairs.sum(axis=1, keepdims=True)
    prior = np.bincount(codes[known], minlength=n) / len(labels)
    return _ClassifierChain(classifier, prior, *tables)


def _pieces(starts: np.ndarray, n_folds: int) -> np.ndarray:
    """Where pieces of sequences begin: whole ones, unless there are few."""
    lengths = np.diff(starts)
    if len(lengths) >= min(n_folds, _FEWEST):
        return starts
    n = np.minimum(np.ceil(n_folds * lengths / lengths.sum()).astype(int), lengths)
    cuts = [a + m * np.arange(1, k + 1) // k for a, m, k in zip(starts, lengths, n, strict=False)]
    return np.concatenate([[0], *cuts])


def _shares_right(
    estimator: Any, alpha: float, steps: _Steps, tested: np.ndarray
) -> np.ndarray | None:
    """Shares of tested labels that settings have right, given all steps or those so far.

    None where there are none, or the classifier cannot be fitted to the others.
    """
    test = steps.part(tested)
    try:
        chain = _learn(estimator, steps.part(~tested), alpha)
    except ValueError:
        return None
    if len(chain.class_prior) < 2 or not test.known.any():
        return None
    proba, shares = chain.classifier.predict_proba(test.rows), np.empty((2, len(_SETTINGS)))
    for k, setting in enumerate(_SETTINGS):
        asked = chain._replace(setting=setting, filter_setting=setting)
        for row, how in zip(shares, ("marginal", "filter"), strict=True):
            found = asked.smoothed(proba, test.starts, how).argmax(axis=1)
            is_right = chain.classifier.classes_[found] == test.labels
            row[k] = is_right[test.known].mean()
    return shares
