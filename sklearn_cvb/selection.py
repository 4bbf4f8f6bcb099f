"""Choosing the number of states by criteria: evidence, held-out perplexity, AIC, BIC and ICL; and
walking forward through a series, so that nothing is known before its time.
"""

import math
from collections.abc import Iterable
from numbers import Integral
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from sklearn_cvb.chain.predictions.prediction import log_posterior_of_paths
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.metrics.matching import match_states, relabel
from sklearn_cvb.reading.corpus import samples_of
from sklearn_cvb.reading.validation import Seed, check_counts

__all__ = [
    "ComponentSelection",
    "Criterion",
    "WalkForward",
    "integrated_likelihood",
    "select_components",
    "walk_forward",
]

# Every so many refits a fresh start is tried as well: who only goes on may be caught.
_FRESH = 10

# The attribute that stands for the evidence, and its unit.
_EVIDENCE = {
    "lower_bound_": "lower bound (nats)",
    "loo_score_": "leave-one-out score (nats per {})",
}


class Criterion(NamedTuple):
    """One criterion for every number of states.

    Attributes
    ----------
    name : str
        "evidence", "held-out perplexity", "AIC", "BIC" or "ICL".
    unit : str
        What is measured, with its unit.
    higher : bool
        Whether high values are good.
    values : list of float or None
        None where the algorithm has no such criterion.
    """

    name: str
    unit: str
    higher: bool
    values: list[Any] | None


class ComponentSelection(NamedTuple):
    """What the criteria say about every number of states.

    Attributes
    ----------
    n_components : list of int
    criteria : list of Criterion
        Evidence, held-out perplexity, AIC, BIC, ICL.
    """

    n_components: list[Any]
    criteria: list[Any]

    def __str__(self) -> str:
        """A table with a row for each number of states; stars stand at what is preferred."""
        shown = [criterion for criterion in self.criteria if criterion.values is not None]
        rows = [["states", *(f"{criterion.name} " for criterion in shown)]]
        for i, n in enumerate(self.n_components):
            marks = ["*" if self.best(criterion.name) == n else " " for criterion in shown]
            values = [f"{criterion.values[i]:.4g}" for criterion in shown]
            rows.append([str(n), *map("".join, zip(values, marks, strict=True))])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (zip(row, widths, strict=True) for row in rows)
        return "\n".join("  ".join(cell.rjust(n) for cell, n in line).rstrip() for line in lines)

    def best(self, name: str) -> int:
        """The number of states a criterion prefers; the smallest among equals.

        Parameters
        ----------
        name : {"evidence", "held-out perplexity", "AIC", "BIC", "ICL"}

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If there is no such criterion for this algorithm.
        """
        criterion = {criterion.name: criterion for criterion in self.criteria}.get(name)
        if criterion is None or criterion.values is None:
            known = [found.name for found in self.criteria if found.values is not None]
            raise ValueError(f"no criterion {name!r} for this algorithm: {known}")
        signed = np.asarray(criterion.values) * (1 if criterion.higher else -1)
        ranked = sorted(zip(-signed, self.n_components, strict=True))
        return int(ranked[0][1])


def select_components(
    estimator: Any,
    X: Any,
    n_components: Iterable[int],
    *,
    test_size: float = 0.2,
    random_state: Seed = None,
) -> ComponentSelection:
    """Fit a model with several numbers of states and compare what speaks for each.

    The evidence is what the algorithm itself reports for a fit to all sequences: the lower bound
    of variational Bayes, the leave-one-out score of collapsed variational Bayes; EM and sampling
    report none. Held-out perplexity is that of a share of the sequences, by a fit to the others; a
    single sequence is cut, and its end held out. The criteria are of the fit to all sequences, at
    its parameter estimates: with d free parameters and N observed tokens AIC is -2 log p(X) + 2 d,
    BIC -2 log p(X) + d log N (Schwarz 1978), and ICL is BIC minus twice the log probability of the
    most probable states (Biernacki, Celeux and Govaert 2000).

    Parameters
    ----------
    estimator : EMHMM, VBHMM, CVBHMM or GibbsHMM
        Unfitted or fitted; it is cloned. Its `random_state` decides the starts.
    X : list, object array or Series of sequences, or array of shape (n_samples, length)
        Of symbols or numbers, as `emission` says.
    n_components : list of int
        Numbers of states to try.
    test_size : float or int, default=0.2
        Share or number of sequences held out; of steps where there is one sequence.
    random_state : int, RandomState or None, default=None
        Seed of the split.

    Returns
    -------
    ComponentSelection

    Raises
    ------
    ValueError
        If `n_components` is empty or holds something else than positive integers; if nothing is
        left to fit, or to hold out.

    See Also
    --------
    sklearn_cvb.plotting.plot_components : Draws the result.

    References
    ----------
    Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2).

    Biernacki, Celeux and Govaert (2000), "Assessing a mixture model for clustering with the
    integrated completed likelihood", IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22(7).

    Examples
    --------
    >>> from sklearn_cvb import Symbols, VBHMM
    >>> from sklearn_cvb.selection import select_components
    >>> X = [list("abcabcabc"), list("bcabcabca"), list("cabcab"), list("abcabcab")] * 4
    >>> model = VBHMM(n_init=5, random_state=0, emission=Symbols(handle_unknown="error"))
    >>> selection = select_components(model, X, [1, 2, 3, 4], random_state=0)
    >>> selection.best("evidence"), selection.best("BIC")
    (3, 3)
    """
    numbers = list(n_components) if isinstance(n_components, Iterable) else []
    if not numbers or any(not isinstance(k, Integral) or k < 1 for k in numbers):
        raise ValueError(f"n_components must list positive integers, got {n_components!r}")
    train, test = _split_in_two(X, test_size, random_state)
    models = [clone(estimator).set_params(n_components=k).fit(X) for k in numbers]
    partial = [clone(estimator).set_params(n_components=k).fit(train) for k in numbers]
    name = next((name for name in _EVIDENCE if hasattr(models[0], name)), None)
    evidence = None if name is None else [float(getattr(model, name)) for model in models]
    held_out = [float(np.exp(-model.score(test))) for model in partial]
    per = "token" if hasattr(models[0], "vocabulary_") else "step"
    criteria = [
        Criterion("evidence", _EVIDENCE.get(name or "", "").format(per), True, evidence),
        Criterion("held-out perplexity", f"perplexity per {per}", False, held_out),
        Criterion("AIC", "AIC (nats)", False, [model.aic(X) for model in models]),
        Criterion("BIC", "BIC (nats)", False, [model.bic(X) for model in models]),
        Criterion("ICL", "ICL (nats)", False, [integrated_likelihood(m, X) for m in models]),
    ]
    return ComponentSelection([int(k) for k in numbers], criteria)


def integrated_likelihood(model: Any, X: Any) -> float:
    """Integrated classification likelihood of a fitted model: low is good (Biernacki et al. 2000).

    Parameters
    ----------
    model : fitted hidden Markov model
    X : list, object array or Series of sequences, or array of shape (n_samples, length)

    Returns
    -------
    float
        BIC, minus twice the log probability of the most probable states given X, in nats: it
        prefers states that the data tell apart.
    """
    read = model._read_weighted(learned_of(model), X, means=True)
    return float(model.bic(X) - 2 * log_posterior_of_paths(read))


def _split_in_two(X: Any, test_size: float, random_state: Seed) -> tuple[Any, Any]:
    """What is fitted and what is held out: sequences, or the end of the only one."""
    if (X.shape[0] if hasattr(X, "shape") else len(X)) != 1:
        train, test = train_test_split(X, test_size=test_size, random_state=random_state)
        return train, test
    series = X[0] if isinstance(X, np.ndarray) else samples_of(X)[0]
    n_steps = len(series)
    held_out = test_size if isinstance(test_size, Integral) else math.ceil(test_size * n_steps)
    if not 0 < held_out < n_steps:
        raise ValueError(
            f"X is one sequence of {n_steps} steps, whose end is held out: test_size={test_size!r} "
            "leaves nothing to one side"
        )
    return [series[: n_steps - held_out]], [series[n_steps - held_out :]]


class WalkForward(NamedTuple):
    """What was known of each step at its time.

    Attributes
    ----------
    proba : ndarray of shape (n_steps - first, n_components)
        p(z_t | x up to t), under a model that was fitted to earlier steps.
    log_density : ndarray of shape (n_steps - first,)
        log p(x_t | all before) under the same model (nats); its mean is a score of forecasts one
        step ahead.
    models : list of fitted models
    refit_at : ndarray of shape (n_models,)
        How many steps there were when each model was fitted: the i-th model sees none from
        ``refit_at[i]`` on, and tells of those up to the next refit.
    """

    proba: np.ndarray
    log_density: np.ndarray
    models: list[Any]
    refit_at: np.ndarray


def walk_forward(
    estimator: Any, series: Any, *, first: int, refit_every: int = 1, window: int | None = None
) -> WalkForward:
    """Fit a model again and again as a series grows, and ask it of the steps that it has not seen.

    Regimes without looking ahead: posteriors of a fit to the whole series know how it ends.
    A refit begins where the last one ended (``init=``). Every tenth time a fresh one is tried,
    and taken if its objective is higher. States keep their names: they are matched to those before
    by the steps that both have seen.

    Parameters
    ----------
    estimator : EMHMM, VBHMM or another hidden Markov model
        It is cloned. Its `n_init` counts for the first fit and for fresh starts.
    series : array of shape (n_steps,) or (n_steps, n_columns), DataFrame, or list of symbols
        One sequence.
    first : int
        How many steps the first fit is to.
    refit_every : int, default=1
        Steps from one fit to the next.
    window : int or None, default=None
        Fit to so many last steps; None: to all so far.

    Returns
    -------
    WalkForward

    Raises
    ------
    ValueError
        If `first`, `refit_every` or `window` are not positive, or the series has no more than
        `first` steps.

    See Also
    --------
    sklearn_cvb.metrics.relabel : ``relabel(model, by="means")`` sorts states by what they emit.

    Notes
    -----
    Whatever is made of the whole series beforehand, such as a scaler that was fitted to it, looks
    ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.selection import walk_forward
    >>> rng = np.random.default_rng(0)
    >>> returns = rng.normal(0, np.repeat([1.0, 4.0, 1.0, 4.0], 60))
    >>> model = EMHMM(2, emission="gaussian", random_state=0)
    >>> walked = walk_forward(model, returns, first=100, refit_every=20)
    >>> walked.proba.shape, walked.refit_at.tolist()
    ((140, 2), [100, 120, 140, 160, 180, 200, 220])
    """
    check_counts(first=first, refit_every=refit_every, window=1 if window is None else window)
    n_steps = len(series)
    if n_steps <= first:
        raise ValueError(f"series has {n_steps} steps, of which first={first} leaves none to tell")
    proba, density, models = [], [], list[Any]()
    refit_at = np.arange(first, n_steps, refit_every)
    for number, seen in enumerate(refit_at.tolist()):
        begin, end = max(0, seen - (window or seen)), min(n_steps, seen + refit_every)
        past = [_safe_indexing(series, slice(begin, seen))]
        models.append(_next_fit(estimator, past, models[-1] if models else None, number))
        known = [_safe_indexing(series, slice(begin, end))]
        proba.append(models[-1].filter_proba(known)[0][seen - begin :])
        # Of each prefix: what a step adds is its density given all before.
        prefixes = [_safe_indexing(series, slice(begin, t)) for t in range(seen, end + 1)]
        density.append(np.diff(models[-1].score_samples(prefixes)))
    return WalkForward(np.concatenate(proba), np.concatenate(density), models, refit_at)


def _next_fit(estimator: Any, past: list[Any], before: Any, number: int) -> Any:
    """A fit that goes on from the one before, or a fresh one, if that is better; with its names."""
    if before is None:
        return clone(estimator).fit(past)
    best = clone(estimator).set_params(init=before, n_init=None).fit(past)
    if number % _FRESH == 0:
        best = max(best, clone(estimator).fit(past), key=attrgetter("objective_"))
    topology = learned_of(best).layout.chain.topology
    if hasattr(best, "classes_") or not (topology is None or topology.is_tied):
        # A dictionary, or what may follow them, names its states.
        return best
    names = match_states(before.predict(past), best.predict(past))
    return best if all(a == b for a, b in names.items()) else relabel(best, names)
