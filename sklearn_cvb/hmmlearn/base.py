"""What faces have in common: classes of ours that look and behave like those of hmmlearn.

Parameters, X with `lengths`, the monitor of a fit, predictions.
"""

import logging
import sys
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.chain.predictions.prediction import WeightedSequences
from sklearn_cvb.compilation.announcement import announced_fit
from sklearn_cvb.emissions.emission import StandardUnits, finite_array
from sklearn_cvb.emissions.gaussian import Gaussian
from sklearn_cvb.emissions.gaussian_columns import NormalPrior
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.estimators.hmm import EMHMM
from sklearn_cvb.reading.corpus import names_of_columns, split_by_lengths
from sklearn_cvb.reading.series import FittedColumns
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters, Symbols
from sklearn_cvb.website import SiteLink

_log = logging.getLogger(__name__)
_TYPES = ("spherical", "diag", "full", "tied")
# Smallest variance in any direction, as a share of the columns': what rounding leaves of less may
# be no matrix to score by.
_FLOOR = 1e-12

# Attributes, by what they are here
HERE = {
    "startprob_": "startprob",
    "transmat_": "transmat",
    "emissionprob_": "emissionprob",
    "lambdas_": "rates",
    "means_": "means",
    "_covars_": "covariances",
}


class ConvergenceMonitor:
    """Says after each step of a fit whether it has converged; hmmlearn's, to be subclassed.

    Parameters
    ----------
    tol : float
        A fit has converged when a step gains less than this (nats in all).
    n_iter : int
        Or after this many steps.
    verbose : bool
        Whether each step is printed to the standard error.

    Attributes
    ----------
    history : deque
        Log-likelihood before each step, or the lower bound of a variational model (nats).
    iter : int
        Steps so far.
    """

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol: float = tol
        self.n_iter: int = n_iter
        self.verbose: bool = verbose
        self._reset()

    def _reset(self) -> None:
        """Forget all steps."""
        self.history: deque[float] = deque()
        self.iter: int = 0

    def report(self, log_prob: float) -> None:
        """Take note of a step.

        Parameters
        ----------
        log_prob : float
        """
        delta = log_prob - self.history[-1] if self.history else np.nan
        self.history.append(log_prob)
        self.iter += 1
        if self.verbose:
            line = self._template.format(iter=self.iter, log_prob=log_prob, delta=delta)
            print(line, file=sys.stderr)

    @property
    def converged(self) -> bool:
        """Whether to stop."""
        gains_little = self.iter > 1 and self.history[-1] - self.history[-2] < self.tol
        return self.iter == self.n_iter or gains_little


@dataclass(eq=False, repr=False, kw_only=True)
class Face(SiteLink):
    """algorithm : {"viterbi", "map"}
        What `decode` and `predict` find: the most probable path, or state of each step.
    random_state : int, RandomState or None
        Of the start, and of `sample`.
    n_iter : int
        Largest number of steps.
    tol : float
        A fit ends when a step gains less than this (nats in all).
    verbose : bool
        Whether each step is printed to the standard error.
    params, init_params : str
        What is learned, and what is drawn before a fit, even where it was set: letters of "s"
        (start), "t" (transitions), "e" (symbols), "l" (rates), "m" (means) and "c" (covariances).
    implementation : {"log", "scaling"}
        Ignored.

    """  # The end of each class's list of parameters.

    algorithm: str = "viterbi"
    random_state: Any = None
    n_iter: int = 10
    tol: float = 1e-2
    verbose: bool = False
    params: str = ""
    init_params: str = ""
    implementation: str = "log"

    # Letters of `params` for emissions, and the attributes that all letters stand for; what an
    # emission is here, how to draw it, to begin, and to learn.
    _emits: ClassVar[str]
    _letters: ClassVar[dict[str, tuple[str, ...]]]
    _draw_emissions: ClassVar[Any]
    _draw_start: ClassVar[Any]
    _starting_parameters: ClassVar[Any]
    _learn: ClassVar[Any]
    _emission: ClassVar[Any]
    _has_own_monitor: ClassVar[bool] = False
    # scikit-learn has no part in what is done with lengths: no methods to route them.
    __metadata_request__fit: ClassVar = {"lengths": UNUSED}
    __metadata_request__predict: ClassVar = {"lengths": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"lengths": UNUSED}
    __metadata_request__score: ClassVar = {"lengths": UNUSED}
    _dtype: ClassVar[Any] = np.float64

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Python 3.13 has taken off the indentation.
        head, mark, rest = cleandoc(cls.__doc__ or "").partition("Attributes\n-")
        if mark:
            cls.__doc__ = f"{head.rstrip()}\n{cleandoc(Face.__doc__ or '')}\n\n{mark}{rest}"

    @property
    def monitor_(self) -> Any:
        """How the last fit went; one that is set before a fit says when it ends."""
        if "_monitor" not in vars(self):
            self._monitor = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        return self._monitor

    @monitor_.setter
    def monitor_(self, monitor: Any) -> None:
        self.__dict__.update(_monitor=monitor, _has_own_monitor=True)

    def fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features); of symbols (n_samples, 1)
            All sequences, one after the other.
        lengths : array-like of shape (n_sequences,) or None, default=None
            Length of each; None for a single one.

        Returns
        -------
        self
        """
        self._columns = FittedColumns(names_of_columns(X) if hasattr(X, "columns") else None)
        X = self._checked(X, to_fit=True)
        sequences, drawn = self._split(X, lengths), []
        for letter, names in self._letters.items():
            is_set = all(hasattr(self, name) for name in names)
            if is_set and letter in self.init_params:
                why = "%s will be overwritten, as init_params contains %r"
                _log.warning(why, ", ".join(names), letter)
            if letter in self.init_params or not is_set:
                drawn.append(letter)
        self._draw_start(drawn, X, len(sequences))
        if not self._has_own_monitor:
            self.__dict__.pop("_monitor", None)
        self.monitor_._reset()
        hmm = EMHMM(self.n_components, emission=self._to_fit(), init=self._starting_parameters())
        with announced_fit(hmm, 0):
            self._learn(hmm._model(hmm._read(sequences, None)))
        return self

    def _checked(self, X: Any, to_fit: bool = False) -> np.ndarray:
        """X as an array; before a fit also what must be known of it."""
        if hasattr(X, "columns") and "_columns" in vars(self):
            self._columns.places_in(names_of_columns(X), "X")
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have shape (n_samples, n_features), got {X.shape}")
        if to_fit:
            self.n_features: Any = X.shape[1]
        return X

    def _split(self, X: np.ndarray, lengths: Any) -> list[Any]:
        return split_by_lengths(X, [len(X)] if lengths is None else lengths)

    def _rng(self) -> np.random.RandomState:
        """A new generator of a seed: chains and emissions begin with one each, as in hmmlearn."""
        return check_random_state(self.random_state)

    def _until_converged(self, step: Callable[[], tuple[float, np.ndarray]]) -> None:
        """Take steps, each of which gives a log-likelihood or bound, and what no path explains."""
        unexplained = np.empty(0)
        for _ in range(self.n_iter):
            value, unexplained = step()
            self.monitor_.report(float(value))
            if self.monitor_.converged:
                break
        if len(unexplained):
            _log.warning("no path explains sequences %s: they are left out", unexplained[:5])

    # Predictions: those of a model that is made of the attributes

    def _to_fit(self) -> Any:
        """The emission with its prior."""
        return self._emission()

    def _hmm(self, **tables: Any) -> EMHMM:
        return EMHMM.from_parameters(self._given(), emission=self._emission(), **tables)

    def _given(self) -> HMMParameters:
        check_is_fitted(self, "startprob_")
        given = {name: getattr(self, own) for own, name in HERE.items() if hasattr(self, own)}
        return HMMParameters.by_name(given)

    def _read(self, X: Any, lengths: Any) -> WeightedSequences:
        hmm, sequences = self._hmm(), self._split(self._checked(X), lengths)
        return hmm._read_weighted(learned_of(hmm), sequences)

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all sequences (nats); X and lengths as of `fit`."""
        return float(self._read(X, lengths).log_z().sum())

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """`score`, and the probabilities of the states of each step, (n_samples, n_components)."""
        read = self._read(X, lengths)
        entries, log_z = read.entries()
        return float((log_z + read.log_offset()).sum()), read.table(entries)

    def decode(
        self, X: Any, lengths: Any = None, algorithm: str | None = None
    ) -> tuple[float, np.ndarray]:
        """The most probable path, or ("map") the most probable state of each step.

        Parameters
        ----------
        X, lengths
            As of `fit`.
        algorithm : {"viterbi", "map"} or None, default=None
            None for the parameter of this name.

        Returns
        -------
        log_prob : float
            Log joint probability of paths and X; with "map" the sum of the states' probabilities.
        states : ndarray of shape (n_samples,)
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(f"algorithm must be 'viterbi' or 'map', got {algorithm!r}")
        if algorithm == "map":
            posterior = self.score_samples(X, lengths)[1]
            return float(posterior.max(axis=1).sum()), posterior.argmax(axis=1)
        read = self._read(X, lengths)
        path, log_p = read.best_path()
        return float((log_p + read.log_offset()).sum()), path.astype(np.int64)

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The states of `decode`."""
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The probabilities of `score_samples`."""
        return self.score_samples(X, lengths)[1]

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence of `n_samples` steps, and its states, the first of which may be given."""
        rng = self._rng() if random_state is None else check_random_state(random_state)
        first = {} if currstate is None else {"startprob": np.eye(self.n_components)[currstate]}
        X, states = self._hmm(**first).sample(1, n_samples, rng)
        return np.asarray(X[0]).reshape(n_samples, -1).astype(self._dtype), states[0]

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's information criterion: low is good."""
        return self._hmm().aic(self._split(self._checked(X), lengths))

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Bayesian information criterion: low is good."""
        return self._hmm().bic(self._split(self._checked(X), lengths))

    def get_stationary_distribution(self) -> np.ndarray:
        """The distribution of states that a step leaves as it is, shape (n_components,)."""
        check_is_fitted(self, "transmat_")
        n = self.n_components
        steps = np.vstack([np.transpose(self.transmat_) - np.eye(n), np.ones(n)])
        return np.linalg.lstsq(steps, np.append(np.zeros(n), 1.0), rcond=None)[0]


def normalise(table: np.ndarray) -> np.ndarray:
    """Rows divided by their sums."""
    return table / table.sum(axis=-1, keepdims=True)


# What states emit


class SymbolFace(Face):
    """A face whose states emit symbols."""

    _dtype = np.int64

    def _checked(self, X: Any, to_fit: bool = False) -> np.ndarray:
        X = super()._checked(X)
        if X.dtype.kind not in "iu" or X.shape[1] != 1 or X.min(initial=0) < 0:
            raise ValueError("X must be one column of symbols, integers from 0 on")
        if to_fit and self.n_features is None:
            self.n_features: Any = int(X.max()) + 1
        if X.max(initial=0) >= self._n_symbols():
            raise ValueError(
                f"X holds symbol {X.max()}, but n_features={self._n_symbols()}: fit with "
                f"n_features={X.max() + 1}, or more, where there are symbols that X may lack"
            )
        return X

    def _n_symbols(self) -> int:
        n = self.n_features
        return len(np.transpose(self.emissionprob_)) if n is None else n

    def _emission(self) -> Symbols:
        return Symbols(vocabulary=range(self._n_symbols()), handle_unknown="error")


class NormalFace(Face):
    """A face whose states emit normally distributed numbers."""

    @property
    def covars_(self) -> np.ndarray:
        """Covariance matrices of all states, (n_components, n_features, n_features).

        Set in the shape of `covariance_type`: (n_components,), (n_components, n_features),
        (n_components, n_features, n_features), or (n_features, n_features) if "tied".
        """
        kind, covariances = self._kind(), self._covars_
        if kind in ("full", "tied"):
            return np.broadcast_to(covariances, (self.n_components, *covariances.shape[-2:])).copy()
        covariances = covariances[:, None] if kind == "spherical" else covariances
        return covariances[..., None] * np.eye(np.shape(self.means_)[1])

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        covars = np.array(covars, dtype=float)
        self._covars_ = covars.reshape(-1) if self._kind() == "spherical" else covars

    def _kind(self: Any) -> str:
        if self.covariance_type not in _TYPES:
            raise InvalidParameterError(f"covariance_type must be one of {', '.join(_TYPES)}")
        return self.covariance_type

    def _emission(self) -> Gaussian:
        return Gaussian(self._kind())

    def _clusters(self, X: np.ndarray) -> tuple[Any, np.ndarray]:
        """Clusters, and covariances of all data, a little widened, in the shape of their type."""
        from sklearn.cluster import KMeans

        n, kind, whole = self.n_components, self._kind(), X[~np.isnan(X).any(axis=1)]
        with warnings.catch_warnings():
            # Of fewer different steps than states: some clusters are the same.
            warnings.simplefilter("ignore", ConvergenceWarning)
            clusters = KMeans(n, random_state=self._rng(), n_init=10).fit(whole)
        more = getattr(self, "min_covar", 1e-3)
        widths = np.atleast_2d(np.cov(whole.T)) + more * np.eye(X.shape[1])
        if kind in ("spherical", "diag"):
            # hmmlearn's mean is that of the whole matrix, covariances included.
            widths = np.diag(widths) if kind == "diag" else widths.mean()
        return clusters, widths if kind == "tied" else np.array([widths] * n)

    def _with_prior(self, weight: float, degrees: float, scale: Any, mean: Any) -> Gaussian:
        """The emission with a prior in the units of the data."""
        n = np.shape(self.means_)[1]
        mean = finite_array("means_prior", mean, (n,))
        prior = NormalPrior(mean, weight, degrees, np.asarray(scale, dtype=float), True, _FLOOR)
        return _GaussianWithPrior(self._kind(), prior=prior)


@dataclass(eq=False, repr=False)
class _GaussianWithPrior(Gaussian):
    """Normal emissions whose prior is given in the units of the data."""

    prior: Any = None

    def _prior(self, units: StandardUnits, n_states: int, has_matrices: bool) -> NormalPrior:
        prior, scale = self.prior, units.scale
        widths = np.outer(scale, scale) if has_matrices else scale**2
        scale = finite_array("covars_prior", prior.scale, widths.shape) / widths
        return prior._replace(mean=units.to_standard(prior.mean), scale=scale)
