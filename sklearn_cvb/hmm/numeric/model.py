"""A fitted chain of numbers: what a public model keeps of it, and reading new sequences."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.emissions.emission import Emission, Family, Scores
from sklearn_cvb.hmm.numeric.expectation import chain_of, infer
from sklearn_cvb.hmm.numeric.filtering import filtered
from sklearn_cvb.hmm.numeric.problem import keep_to_known
from sklearn_cvb.hmm.numeric.reading import Series, read_series
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.cvb import CVB
from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.validation import InvalidParameterError, check_table

NAMES = ("gaussian", "bernoulli", "poisson")

# The update of numbers by algorithm, and how to ask for it, or for what is nearest.
_UPDATES: dict[type, tuple[str, str]] = {
    CVB: ("sequence", "block_length=1 leaves out one step at a time"),
    Gibbs: ("parameter", "take update='parameter'"),
}


class Fitted(NamedTuple):
    """What predictions need of the emissions.

    Attributes
    ----------
    family : Family
    point : object
        What is shown, and what samples are drawn from.
    predicting, scoring : Scores
        Log densities for states and for likelihoods.
    names : list or None
        Names of columns, where frames were fitted.
    is_table : bool
        Whether a 2-D array of single numbers was fitted.
    reads : {"point", "expected", "predictive"}
        Densities under the point; expected for states and predictive for likelihoods; predictive
        for both.
    """

    family: Family
    point: Any
    predicting: Scores
    scoring: Scores
    names: list | None
    is_table: bool
    reads: str


def emission_of(value: Any) -> Emission:
    """The emission that the parameter `emission` says."""
    if isinstance(value, Emission):
        return value
    from sklearn_cvb import emissions

    if value in NAMES:
        return getattr(emissions, value.capitalize())()
    hint = ""
    if isinstance(value, type) and issubclass(value, Emission):
        hint = f", a class: call it, {value.__name__}()"
    raise InvalidParameterError(
        f"emission must be 'categorical', {', '.join(map(repr, NAMES))} or an object of "
        f"sklearn_cvb.emissions, got {value!r}{hint}"
    )


def refuse_settings_of_symbols(model: Any) -> None:
    """Raise where a model is set to what only chains of symbols can do."""
    own, nearest = _UPDATES.get(type(model._algorithm()), (None, ""))
    asked = {
        "vocabulary": (model.vocabulary is not None, "leave it out"),
        "beta": (
            isinstance(model.beta, str),
            "emissions have priors of their own, such as Gaussian(mean_precision_prior=1)",
        ),
        "update": (own is not None and model.update not in (None, own), nearest),
        "temperatures": (
            getattr(model, "temperatures", None) is not None,
            "chains are not annealed: leave it out, and take more restarts (n_init)",
        ),
    }
    for name, (is_asked, instead) in asked.items():
        if is_asked:
            raise InvalidParameterError(
                f"{name}={getattr(model, name)!r} is for symbols alone: with numbers {instead}"
            )


def densities(
    reads: str, family: Family, statistics: np.ndarray, point: Any
) -> tuple[Scores, Scores]:
    """Log densities for states, and for likelihoods (see `Fitted.reads`)."""
    if reads == "point":
        scores = family.at(point)
        return scores, scores
    predictive = family.predictive(statistics)
    return family.expected(statistics) if reads == "expected" else predictive, predictive


def read_series_again(X: Any, model: Any, fitted: Fitted) -> Series:
    """New sequences, with the columns that were fitted."""
    series = read_series(X, lambda table: check_table(model, table, reset=False))
    n_columns = series.table.shape[1]
    if n_columns != fitted.family.n_columns:
        hint = ""
        if series.is_table:
            hint = "; rows of a 2-D array are sequences of single numbers: pass [X] if X is one"
        raise ValueError(
            f"X has {n_columns} columns a step, but {type(model).__name__} is expecting "
            f"{fitted.family.n_columns} as in fit{hint}"
        )
    if series.names is not None and fitted.names is not None and series.names != fitted.names:
        raise ValueError(
            f"X has columns {series.names!r}, but was fitted with {fitted.names!r}: columns must "
            "have the same names in the same order"
        )
    return series


def log_weights_of(
    observations: Any, shape: tuple[int, int], scores: Scores, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Log weights of steps (n_steps, K), the largest of each 0, and what was taken off each."""
    logs = np.empty(shape)
    scores.fill(observations, np.array([0, len(logs)]), logs)
    keep_to_known(logs, known)
    largest = logs.max(axis=1)
    # Steps that no state explains stay as they are.
    largest[np.isneginf(largest)] = 0.0
    logs -= largest[:, None]
    return logs, largest


class GivenLogs(NamedTuple):
    """Log weights (n_steps, K) that are there already."""

    logs: np.ndarray

    def log_weights(self) -> np.ndarray:
        """A copy, which may be changed."""
        return self.logs.copy()


def posteriors_of(
    corpus: Corpus, weights: Weights, emission: np.ndarray, n_states: int, smooth: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of every (step, state) entry, and log Z of every sequence.

    Given the whole sequence, or (`smooth` False) what came up to each step. Steps of a sequence
    that no path explains get the shares of their emissions.
    """
    logs, starts, chain = emission.reshape(-1, n_states), corpus.starts, chain_of(weights, n_states)
    if smooth:
        given = chain, GivenLogs(logs), starts, starts
        posterior, _, log_z = infer(*given, by_unit=False, exact=True)
    else:
        # What came so far does not tell that the sequence ends.
        online = chain._replace(end=None)
        posterior, log_z, _ = filtered(online, GivenLogs(logs), starts, every_step=True)
    lost = np.repeat(np.isneginf(log_z), np.diff(starts))
    if lost.any():
        shares = np.exp(logs[lost] - logs[lost].max(axis=1, keepdims=True))
        posterior[lost] = shares / shares.sum(axis=1, keepdims=True)
    return posterior.ravel(), log_z
