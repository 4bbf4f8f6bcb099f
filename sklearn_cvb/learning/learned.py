"""What goes into a fit and comes out of it: `Reading` is X and y as read, `FitJob` a fit to be
made, `FitResult` its restarts, and `Learned` all that predictions need. `FamilyObservation` is how
a family of models reads X and y and makes a model of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.model import Fit, Model, ModelT

MadeT = TypeVar("MadeT")


class Reading(NamedTuple):
    """X and y as they were read under the settings: nothing of it is on the estimator yet.

    Attributes
    ----------
    problem : object
        The data of a model: sequences and the layout of parameters.
    words : object
        Known words and their numbers, and legal tags; later sequences are read by them.
    attributes : dict
        Fitted attributes that are known before anything is learned, such as ``vocabulary_``.
    messages : tuple of str
        Warnings of the reading; `fit` gives them once.
    observation : FamilyObservation or None
        The observation that has read X and y; it holds the options of the family. None where an
        earlier fit has read them.
    """

    problem: Any
    words: Any
    attributes: dict[str, Any]
    messages: tuple[str, ...] = ()
    observation: "FamilyObservation | None" = None


class FamilyObservation(ABC):
    """A kind of observations under options: what fits ask of it, whatever the family."""

    @abstractmethod
    def read(self, X: Any, y: Any) -> Reading:
        """X and y, to be fitted to."""

    @abstractmethod
    def model(self, reading: Reading) -> Model:
        """The model of a reading."""

    @abstractmethod
    def fixed_start(self, reading: Reading) -> str:
        """Which setting fixes the start of all restarts; empty where it is random."""

    @abstractmethod
    def outcome(self, result: "FitResult") -> "FitOutcome":
        """`Learned` of the best restart, and fitted attributes."""

    def why_unexplained(self, reading: Reading, unexplained: np.ndarray) -> str:
        """Why nothing explains some sequences, for a warning, where that is known."""
        return ""


class FitSettings(NamedTuple):
    """How a fit sweeps: how many sweeps and restarts, until when, on how many threads.

    Attributes
    ----------
    max_iter : int
        Sweeps that a restart may have.
    tol : float
        The largest share of the tokens that may move (0: all sweeps are made).
    n_restarts : int
        Number of restarts.
    why_single_restart : str
        Why all restarts would be the same; empty where they differ.
    goes_on : bool
        Whether a later fit may go on from this one, and this one from what was saved.
    n_jobs : int or None
    random_state : int, RandomState or None
    verbose : int
    """

    max_iter: int
    tol: float
    n_restarts: int = 1
    why_single_restart: str = ""
    goes_on: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class FitJob(NamedTuple, Generic[ModelT]):
    """A fit to be made: an algorithm, a model, the reading behind it, and how to sweep.

    Attributes
    ----------
    algorithm : Algorithm
    model : Model
    reading : Reading
    settings : FitSettings
    previous_fit : Fit or None
        The fit of the same sequences to go on from (``warm_start``).
    """

    algorithm: Algorithm[ModelT]
    model: ModelT
    reading: Reading
    settings: FitSettings
    previous_fit: Fit | None = None


class LearnedFields(NamedTuple):
    """The fields of `Learned`, which says what they are."""

    words: Any
    layout: Any
    prior: Any
    counts: Any
    fallback: Any = None
    unknown_word_counts: Any = None
    averages: bool = False
    extra: Any = None
    attribute_names: frozenset[str] = frozenset()
    seen_so_far: Any = None
    warm_start: tuple[Reading, Any] | None = None
    zero_cells: Any = None
    n_free_parameters: int | None = None


class Learned(LearnedFields):
    """A learned model: the only private fitted attribute, which all predictions read.

    Whoever reads it once has one fit, also while another thread fits the estimator anew.

    Attributes
    ----------
    words : object
        As in `Reading`.
    layout : object
        Where the cells of counts are.
    prior : object
        Dirichlet parameters of the last sweep, without counts.
    counts : object
        Expected counts as weights are made from them, laid out like the prior.
    fallback : object or None
        Weights of rows that have neither counts nor prior (EM).
    unknown_word_counts : ndarray or None
        Mean counts of the words seen once, which unknown words get beside theirs.
    averages : bool
        Whether predictions are made under exp E[log parameters] (VB), not under their means.
    extra : object or None
        Values of one family or algorithm: densities of numbers, samples, names of trees.
    attribute_names : frozenset of str
        Names of the fitted attributes that are set, and removed, with it.
    seen_so_far : object or None
        How much data it has seen (`SeenSoFar`): `partial_fit` goes on from there.
    warm_start : tuple of (Reading, Fit) or None
        Reading and best restart, from which a fit with ``warm_start=True`` goes on.
    zero_cells : object or None
        Which cells are 0 in `init` and stay so, as there is no prior.
    n_free_parameters : int or None
        Number of free parameters, where the model was made from parameters and it was given.
    """

    def __getstate__(self) -> None:
        """No more than the fields: what `once_per_fit` keeps is soon made again."""


def once_per_fit(make: Callable[[Learned], MadeT]) -> Callable[[Learned], MadeT]:
    """The same function of a fit, whose value the fit keeps: neither may be changed."""
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def kept(learned: Learned) -> MadeT:
        # Two threads may both make it, and make the same.
        if name not in vars(learned):
            vars(learned)[name] = make(learned)
        made: MadeT = vars(learned)[name]
        return made

    return kept


class FitResult(NamedTuple):
    """All restarts of a fit whose sweeps are over: a family makes its `FitOutcome` of them."""

    best: Fit  # the restart that is kept
    fits: list[Fit]  # all restarts
    reading: Reading
    algorithm: Any
    model: Any  # under the layout of the best restart
    counts: Any  # those that the fit leaves


class FitOutcome(NamedTuple):
    """All that a fit sets on the estimator, at once, so that no thread sees a half of it.

    Attributes
    ----------
    learned : Learned
    attributes : dict
        All public fitted attributes but those of the reading.
    messages : tuple of str
        Warnings, given after the fit.
    """

    learned: Learned
    attributes: dict[str, Any]
    messages: tuple[str, ...] = ()


def result_of(
    fits: Sequence[Fit], reading: Reading, algorithm: Algorithm[ModelT], model: ModelT
) -> FitResult:
    """The result of fits, the best of which is kept."""
    fits = [
        fit if fit.objective is not None else fit._replace(objective=fit.history[-1])
        for fit in fits
    ]
    best = best_fit(fits)
    bound, counts = algorithm.model_of(model, best.state), algorithm.final_counts(best.state)
    return FitResult(best, fits, reading, algorithm, bound, counts)


def attributes_of_fit(result: FitResult) -> dict[str, Any]:
    """Fitted attributes that say how a fit went."""
    best, fits = result.best, result.fits
    return {
        "objective_": best.objective,
        "history_": np.array(best.history),
        "restart_objectives_": np.array([fit.objective for fit in fits], dtype=float),
        "restart_histories_": [np.array(fit.history) for fit in fits],
        "n_iter_": len(best.history),
        "converged_": best.converged,
        "unexplained_": best.state.unexplained,
        **result.algorithm.attributes(best, result.model),
    }


def best_fit(fits: list[Fit]) -> Fit:
    """The fit with the highest objective; the first among equals, and one without if none has.

    NaN and infinity are no objectives: such a fit has lost its numbers.
    """
    ranked = [fit for fit in fits if fit.objective is not None and fit.objective < np.inf]
    return max(ranked, key=attrgetter("objective")) if ranked else fits[-1]
