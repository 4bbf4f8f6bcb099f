"""Choosing the number of states: evidence, held-out perplexity and BIC over a list of numbers."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from sklearn_cvb.estimators.base import learned_of
from sklearn_cvb.reading.corpus import encoded_again
from sklearn_cvb.reading.validation import Seed

__all__ = ["ComponentSelection", "Criterion", "bayesian_information", "select_components"]

# The attribute that stands for the evidence, and its unit.
_EVIDENCE = {
    "lower_bound_": "lower bound (nats)",
    "loo_score_": "leave-one-out score (nats per token)",
}


class Criterion(NamedTuple):
    """One criterion for every number of states.

    Attributes
    ----------
    name : str
        "evidence", "held-out perplexity" or "BIC".
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
        Evidence, held-out perplexity, BIC.
    """

    n_components: list[Any]
    criteria: list[Any]

    def best(self, name: str) -> int:
        """The number of states a criterion prefers; the smallest among equals.

        Parameters
        ----------
        name : {"evidence", "held-out perplexity", "BIC"}

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
    report none. Held-out perplexity is that of a share of the sequences, by a fit to the others.
    BIC is -2 log p(X) + d log N with d free parameters and N observed tokens (Schwarz 1978), at
    the parameter estimates of the fit to all sequences.

    Parameters
    ----------
    estimator : EMHMM, VBHMM, CVBHMM or GibbsHMM
        Unfitted or fitted; it is cloned. Its `random_state` decides the starts.
    X : list, object array or Series of sequences, or array of shape (n_samples, length)
        At least two sequences.
    n_components : list of int
        Numbers of states to try.
    test_size : float or int, default=0.2
        Share or number of sequences held out.
    random_state : int, RandomState or None, default=None
        Seed of the split.

    Returns
    -------
    ComponentSelection

    Raises
    ------
    ValueError
        If `n_components` is empty or holds something else than positive integers.

    See Also
    --------
    sklearn_cvb.plotting.plot_components : Draws the result.

    References
    ----------
    Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2).

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.selection import select_components
    >>> X = [list("abcabcabc"), list("bcabcabca"), list("cabcab"), list("abcabcab")] * 4
    >>> model = VBHMM(n_init=5, random_state=0, handle_unknown="error")
    >>> selection = select_components(model, X, [1, 2, 3, 4], random_state=0)
    >>> selection.best("evidence"), selection.best("BIC")
    (3, 3)
    """
    numbers = list(n_components)
    if not numbers or any(not isinstance(k, Integral) or k < 1 for k in numbers):
        raise ValueError(f"n_components must list positive integers, got {n_components!r}")
    train, test = train_test_split(X, test_size=test_size, random_state=random_state)
    models = [clone(estimator).set_params(n_components=k).fit(X) for k in numbers]
    partial = [clone(estimator).set_params(n_components=k).fit(train) for k in numbers]
    name = next((name for name in _EVIDENCE if hasattr(models[0], name)), None)
    evidence = None if name is None else [float(getattr(model, name)) for model in models]
    held_out = [float(np.exp(-model.score(test))) for model in partial]
    criteria = [
        Criterion("evidence", _EVIDENCE.get(name or "", ""), True, evidence),
        Criterion("held-out perplexity", "perplexity per token", False, held_out),
        Criterion("BIC", "BIC (nats)", False, [bayesian_information(m, X) for m in models]),
    ]
    return ComponentSelection([int(k) for k in numbers], criteria)


def bayesian_information(model: Any, X: Any) -> float:
    """Bayesian information criterion of a fitted model: low is good (Schwarz 1978).

    Parameters
    ----------
    model : fitted hidden Markov model without a tag dictionary
    X : list, object array or Series of sequences, or array of shape (n_samples, length)

    Returns
    -------
    float
        -2 log p(X) + d log N in nats, with d free parameters and N observed tokens.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.selection import bayesian_information
    >>> X = [["a", "b"], ["b", "a"]]
    >>> model = EMHMM(n_components=1, handle_unknown="error").fit(X)
    >>> round(bayesian_information(model, X), 4)
    6.9315
    """
    log_likelihood = model.score_samples(X).sum()
    n_states, n_symbols = model.emissionprob_.shape
    n_next = n_states + (model.end_counts_ is not None)
    free = n_states - 1 + n_states * (n_next - 1) + n_states * (n_symbols - 1)
    n_observed = encoded_again(model, learned_of(model).words.index, X).n_observed
    return float(-2 * log_likelihood + free * np.log(n_observed))
