"""The values that a fit hands on: what it has read, and what it leaves."""

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
    """What X and y say under the settings: a value, of which nothing is on the estimator yet.

    Attributes
    ----------
    problem : object
        What a model is bound to: sequences and the layout of parameters.
    words : object
        By what later sequences are read: words and their numbers, legal tags.
    attributes : dict
        Fitted attributes that reading alone tells, such as ``vocabulary_``.
    messages : tuple of str
        What the user is warned of; whoever asked for the reading says it, once.
    observation : FamilyObservation or None
        What has read it: it knows what was asked for. None where an earlier fit has read it.
    """

    problem: Any
    words: Any
    attributes: dict[str, Any]
    messages: tuple[str, ...] = ()
    observation: "FamilyObservation | None" = None


class FamilyObservation(ABC):
    """What a family observes, under options: what fits ask of it, whatever the family."""

    @abstractmethod
    def read(self, X: Any, y: Any) -> Reading:
        """X and y, to be fitted to."""

    @abstractmethod
    def model(self, read: Reading) -> Model:
        """What is learned from what was read."""

    @abstractmethod
    def fixed_start(self, read: Reading) -> str:
        """What fixes where all restarts begin; empty where it is random."""

    @abstractmethod
    def left(self, result: "FitResult") -> "FitOutcome":
        """What the best restart leaves."""

    def why_unexplained(self, read: Reading, unexplained: np.ndarray) -> str:
        """What a message can add about sequences that were left out."""
        return ""


class FitSettings(NamedTuple):
    """What is asked of the sweeps of a fit.

    Attributes
    ----------
    max_iter : int
        Sweeps that a restart may have.
    tol : float
        The largest share of the tokens that may move (0: all sweeps are made).
    n_restarts : int
        How many are asked for.
    why_one : str
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
    why_one: str = ""
    goes_on: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class Job(NamedTuple, Generic[ModelT]):
    """What is fitted: an algorithm, a model and what it was read from, and how it is to sweep.

    Attributes
    ----------
    algorithm : Algorithm
    model : Model
    read : Reading
    asked : FitSettings
    before : Fit or None
        The fit to go on from, of the same sequences.
    """

    algorithm: Algorithm[ModelT]
    model: ModelT
    read: Reading
    asked: FitSettings
    before: Fit | None = None


class LearnedFields(NamedTuple):
    """The fields of `Learned`, which says what they are."""

    words: Any
    layout: Any
    prior: Any
    counts: Any
    kept: Any = None
    rare: Any = None
    averages: bool = False
    more: Any = None
    names: frozenset[str] = frozenset()
    seen: Any = None
    resume: tuple[Reading, Any] | None = None
    still: Any = None
    n_free: int | None = None


class Learned(LearnedFields):
    """What a fit leaves: the only private attribute, which all predictions read.

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
    kept : object or None
        Weights that rows without count and prior keep (EM).
    rare : ndarray or None
        What unknown words get beside: mean counts of words seen once.
    averages : bool
        Whether predictions are made under exp E[log parameters] (VB), not under their means.
    more : object or None
        What only one family or algorithm leaves: densities of numbers, samples, names of trees.
    names : frozenset of str
        The fitted attributes that are set with it, and go with it.
    seen : object or None
        How much it has seen: what `partial_fit` goes on from.
    resume : tuple of (Reading, Fit) or None
        What a fit with ``warm_start=True`` goes on from.
    still : object or None
        Which cells a fit without prior leaves at 0, as `init` gives them.
    n_free : int or None
        Number of free parameters, where whoever made the model told it.
    """

    def __getstate__(self) -> None:
        """No more than the fields: what `made_once` keeps is soon made again."""


def made_once(make: Callable[[Learned], MadeT]) -> Callable[[Learned], MadeT]:
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
    """A fit whose sweeps are over: what a family makes `FitOutcome` of."""

    best: Fit  # the restart that is kept
    fits: list[Fit]  # all restarts
    read: Reading
    algorithm: Any
    model: Any  # under the layout of the best restart
    counts: Any  # those that the fit leaves


class FitOutcome(NamedTuple):
    """What a fit leaves, before it is set: all at once, so that nobody sees a half of it.

    Attributes
    ----------
    learned : Learned
    attributes : dict
        All fitted attributes but those of the reading.
    messages : tuple of str
        What the user is warned of after the fit.
    """

    learned: Learned
    attributes: dict[str, Any]
    messages: tuple[str, ...] = ()


def result_of(
    fits: Sequence[Fit], read: Reading, algorithm: Algorithm[ModelT], model: ModelT
) -> FitResult:
    """The result of fits, the best of which is kept."""
    fits = [
        fit if fit.objective is not None else fit._replace(objective=fit.history[-1])
        for fit in fits
    ]
    best = best_fit(fits)
    bound, counts = algorithm.bound(model, best.state), algorithm.final_counts(best.state)
    return FitResult(best, fits, read, algorithm, bound, counts)


def record_of(result: FitResult) -> dict[str, Any]:
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
