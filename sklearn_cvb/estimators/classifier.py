"""Classifying sequences by Bayes' rule: one model for each class, all of which know the symbols of
all training sequences.
"""

import warnings
from dataclasses import field
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.collections import as_collection, sequences_at
from sklearn_cvb.estimators.door import checked_input, known_words
from sklearn_cvb.estimators.fit_parameters import counted_to_fit, routing_of_fit
from sklearn_cvb.estimators.methods import without_lengths
from sklearn_cvb.estimators.saving import VersionedPickle
from sklearn_cvb.estimators.summaries import Summaries
from sklearn_cvb.faces.translations import HmmlearnNames
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import is_table
from sklearn_cvb.reading.series import cautions_of_rows
from sklearn_cvb.reading.times import cautions_of_times
from sklearn_cvb.reading.validation import HasMethods, InvalidParameterError, as_numbers, warn
from sklearn_cvb.scikit_learn import fit_context
from sklearn_cvb.settings import Symbols


class _ClassModels(NamedTuple):
    """What predictions read: classes, their models and priors, and the length of all sequences."""

    classes: np.ndarray
    models: list[Any]
    log_prior: np.ndarray
    width: int | None


class HMMClassifier(Summaries, HmmlearnNames, ClassifierMixin, MetaEstimatorMixin, VersionedPickle):
    """Classifier of sequences: a model for each class, and Bayes' rule.

    Not where the decision alone matters and there are many labelled sequences: the model of each
    class is fitted by itself, and nothing is learned of how classes differ.

    A sequence gets the class under which it is most probable, the priors of the classes included.
    The models are hidden Markov models of symbols or numbers, or any other model with
    `score_samples`.

    Parameters
    ----------
    estimator : estimator
        What is fitted to the sequences of each class, such as ``VBHMM(emission="gaussian")``.
        Models of symbols know the symbols of all classes, if their vocabulary does not say
        otherwise: each gives some probability to those that its own class lacks.
    priors : array-like of shape (n_classes,) or None
        Probabilities of the classes, in the order of `classes_`; None for their shares of the
        training sequences.
    n_jobs : int or None
        Threads that fit classes; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    estimators_ : list of estimators
        The model of each class.
    class_count_ : ndarray of shape (n_classes,)
        Number of training sequences of each class, or the sum of their weights.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class.

    Examples
    --------
    >>> from sklearn_cvb import HMMClassifier, VBHMM
    >>> X = [[0.1, 0.0, 5.1, 5.0], [0.2, 5.2, 5.1], [5.0, 5.1, 0.1], [4.9, 0.0, 0.2, 0.1]]
    >>> y = ["up", "up", "down", "down"]
    >>> model = HMMClassifier(VBHMM(2, emission="gaussian", random_state=0)).fit(X, y)
    >>> model.predict([[0.0, 0.1, 5.1], [5.2, 4.9, 0.1]]).tolist()
    ['up', 'down']
    """

    estimator: Annotated[Any, HasMethods(["fit", "score_samples"])] = field(kw_only=False)
    priors: Annotated[ArrayLike | None, "array-like", None] = None
    n_jobs: Annotated[int | None, int, np.integer, None] = None

    @without_lengths
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a model to the sequences of each class.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            As the models want it.
        y : array-like of shape (n_samples,)
            The label of each sequence.
        **fit_params : dict
            What else `fit` of the models takes, of each sequence: ``sample_weight`` with `EMHMM`
            and `VBHMM`, by which priors of classes count, too.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the models take no such parameter.
        ValueError
            If there is not one label for each sequence, or a single class; if a model cannot learn
            from its class, which the message names.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "one label for each sequence"
            )
        X = as_collection(X)
        try:
            labels = column_or_1d(y, warn=True)
        except ValueError as error:
            raise ValueError(
                f"{error}; y holds one label for each sequence: labels of its steps are for hidden "
                "Markov models with supervision='y'"
            ) from error
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        X, labels, asked = counted_to_fit(self, X, labels, fit_params)
        classes, codes = np.unique(labels, return_inverse=True)
        names = classes.tolist()
        if not len(classes):
            raise ValueError("Found array with 0 sample(s): X holds no sequence")
        if len(classes) == 1:
            where = " where sample_weight is not 0" if "sample_weight" in asked else ""
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but y "
                f"holds only one class{where}: {names[0]!r}"
            )
        counts = np.bincount(codes, asked.get("sample_weight"))
        run, log_prior = Parallel(self.n_jobs, prefer="threads"), self._log_prior(counts)
        model, X = with_vocabulary_of_all(self.estimator, X)

        def fitted(index: int) -> Any:
            own = np.flatnonzero(codes == index)
            more = {name: _safe_indexing(value, own) for name, value in asked.items()}
            try:
                return clone(model).fit(sequences_at(X, own), **more)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error} (among those of class {names[index]!r})") from error

        with warnings.catch_warnings():
            if isinstance(model, BaseHMM):
                # What shape says was said of all sequences, and is not said again of each class.
                warnings.filterwarnings("ignore", "each of the .* (rows|sequences) of X")
            models = run(delayed(fitted)(index) for index in range(len(classes)))
        widths = [getattr(model, "n_columns_", None) for model in models]
        if len(set(widths)) > 1:
            raise ValueError(
                f"sequences have {widths[0]} columns in class {names[0]!r}, but others in another: "
                f"{dict(zip(names, widths, strict=True))}"
            )
        set_fitted_attributes(
            self,
            models[0],
            estimators_=models,
            classes_=classes,
            class_count_=counts,
            class_log_prior_=log_prior,
            _learned=_ClassModels(classes, models, log_prior, _common_length(X)),
        )
        return self

    def _log_prior(self, counts: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return np.log(counts / counts.sum())
        priors = as_numbers("priors", self.priors)
        if priors.shape != counts.shape:
            raise InvalidParameterError(
                f"priors has shape {priors.shape}, but y has {len(counts)} classes"
            )
        # What is not a number is neither.
        if not ((priors >= 0).all() and abs(priors.sum() - 1.0) <= 1e-6):
            raise InvalidParameterError(
                f"priors must be probabilities that sum to 1, got {self.priors!r}"
            )
        with np.errstate(divide="ignore"):
            return np.log(priors)

    def _log_joint(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """log p(x, class), (n_samples, n_classes), and the classes."""
        check_is_fitted(self)
        classes, models, log_prior, width = self._learned
        X = as_collection(X)
        if width is not None and is_table(X) and X.shape[-1] != width:
            raise ValueError(
                f"X has {X.shape[-1]} features, but {type(self).__name__} is expecting "
                f"{width} features as input; sequences of other lengths come in a list"
            )
        columns = [models[0].score_samples(X)]
        with warnings.catch_warnings():
            # All know the same symbols, and the first has said so.
            warnings.filterwarnings("ignore", ".* that the model knows")
            columns += [model.score_samples(X) for model in models[1:]]
        table = np.stack(columns, axis=1) + log_prior
        # What no model explains tells nothing.
        table[np.isneginf(table).all(axis=1)] = log_prior
        return table, classes

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        table, classes = self._log_joint(X)
        return classes[table.argmax(axis=1)]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the sequences whose class is predicted.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the sequences.

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probability of each class given each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Long sequences make most classes very improbable: models take their steps for
            independent given the states.
        """
        table, _ = self._log_joint(X)
        return table - logsumexp(table, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class given each sequence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of each class against all others, given each sequence.

        Unlike probabilities they tell sequences apart of which a model is all but certain, so that
        rankings (``scoring="roc_auc"``) go by them.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            In nats. With two classes the odds of the second alone.
        """
        table, classes = self._log_joint(X)
        others = [np.delete(table, k, axis=1) for k in range(len(classes))]
        odds = table - np.stack([np.logaddexp.reduce(rest, axis=1) for rest in others], axis=1)
        # Scorers take finite numbers alone.
        odds = np.clip(odds, -1e300, 1e300)
        return odds[:, 1] if len(classes) == 2 else odds

    get_metadata_routing = routing_of_fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        # Rows of numbers are sequences: features that only differ in their scale say little.
        tags.classifier_tags.poor_score = True
        return tags


def with_vocabulary_of_all(estimator: Any, X: Any) -> tuple[Any, Any]:
    """A clone that is to learn from some of the sequences, and these, with the symbols of all.

    Where it asks for a vocabulary: each model gives some probability to what its sequences lack.
    So it is with labels of columns of text.
    """
    model = clone(estimator)
    parameters = model.get_params(deep=False)
    emission = parameters.get("emission")
    if isinstance(emission, Symbols) or np.array_equal(emission, "categorical"):
        name = "emission__vocabulary"
    elif "vocabulary" in parameters and emission is None:
        name = "vocabulary"
    else:
        if isinstance(model, BaseHMM):
            # Each model would tell it of its own sequences.
            warn([*cautions_of_rows(X), *cautions_of_times(X)])
            X = model._observation(to_fit=True).with_common_columns(X)
        return model, X
    of_states = name.startswith("emission")
    known = model._options(to_fit=False).words if of_states else known_words(model)
    if known.vocabulary is None:
        given = checked_input(model, X, to_fit=True)
        sequences, _, messages = reading.sequences_to_fit(known, given, None)
        warn(messages)
        types = reading.types_of(sequences.tokens, sequences.starts)
        model.set_params(**{name: types})
    return model, X


def set_fitted_attributes(estimator: Any, like: Any, **attributes: Any) -> None:
    """Set what a fit leaves, and the columns of a model: all at once, for whoever predicts."""
    columns = ("n_features_in_", "feature_names_in_")
    for name in columns:
        estimator.__dict__.pop(name, None)
    own = {name: getattr(like, name) for name in columns if hasattr(like, name)}
    estimator.__dict__.update(own, **attributes)


def _common_length(X: Any) -> int | None:
    """The length of all sequences of a list, None where they differ: arrays must have it then."""
    lengths = {len(sequence) for sequence in X} if isinstance(X, list | tuple) else set()
    return lengths.pop() if len(lengths) == 1 else None
