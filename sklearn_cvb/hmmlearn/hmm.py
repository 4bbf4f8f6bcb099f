"""hmmlearn's classes that learn by EM; a face is a class of ours that looks like hmmlearn's."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sklearn_cvb.chain.numbers.e_step import NumberWeights
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.emissions.gaussian import Gaussian
from sklearn_cvb.hmmlearn.base import HERE, Face, NormalFace, SymbolFace, normalise
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters

__all__ = ["CategoricalHMM", "GaussianHMM", "PoissonHMM"]


class EMFace(Face):
    """Steps of EM: from weights to counts, and from these to the next weights."""

    def _starting_parameters(self) -> HMMParameters:
        return self._given()

    def _draw_start(self, letters: list[str], X: np.ndarray, n_sequences: int) -> None:
        n, rng = self.n_components, self._rng()
        if "s" in letters:
            self.startprob_: np.ndarray = rng.dirichlet(np.full(n, 1.0 / n))
        if "t" in letters:
            self.transmat_: np.ndarray = rng.dirichlet(np.full(n, 1.0 / n), size=n)
        self._draw_emissions(letters, X)

    def _with_prior_counts(self, emission: np.ndarray, model: Any, before: Any) -> np.ndarray:
        """Counts or statistics of emissions with what a prior adds."""
        return emission

    def _learn(self: Any, model: Any) -> None:
        prior = model.prior(model.hyper())
        result, weights = model.start(prior, np.random.default_rng(0), keep=False)
        is_new = True

        def step() -> tuple[float, np.ndarray]:
            nonlocal result, weights, is_new
            if not is_new:
                result = model.infer(weights, result.work)
            is_new, counts, chain = False, result.counts, getattr(weights, "chain", weights)
            counts = HMMCounts(
                _mode_counts(counts.start, self.startprob_prior, chain.start),
                _mode_counts(counts.transition, self.transmat_prior, chain.transition),
                self._with_prior_counts(counts.emission, model, weights),
            )
            weights = self._update_learned(
                model.maximise(counts, prior, weights)[0], weights, model
            )
            return result.log_normaliser, result.unexplained

        try:
            self._until_converged(step)
        finally:
            self._set_learned(model, weights)

    def _update_learned(self, after: Any, before: Any, model: Any) -> Any:
        """Weights after a step, but for what `params` leaves out."""
        if all(letter in self.params for letter in self._letters):
            return after
        new_chain, old_chain = (getattr(weights, "chain", weights) for weights in (after, before))
        start = (new_chain if "s" in self.params else old_chain).start
        transition = (new_chain if "t" in self.params else old_chain).transition
        learns = [letter in self.params for letter in self._emits]
        if not any(learns):
            after = before
        elif not all(learns):
            each = zip(learns, after.point, before.point, strict=True)
            point = type(after.point)(*(new if is_new else kept for is_new, new, kept in each))
            after = after._replace(point=point, scores=model.problem.family.log_densities(point))
        if not isinstance(after, NumberWeights):
            return after._replace(start=start, transition=transition)
        return after._replace(chain=new_chain._replace(start=start, transition=transition))

    def _set_learned(self, model: Any, weights: Any) -> None:
        """Set what was learned."""
        if isinstance(weights, NumberWeights):
            ours = model.problem.family.attributes(weights.point)
            shown = {own: ours[f"{name}_"] for own, name in HERE.items() if f"{name}_" in ours}
            weights = weights.chain
        else:
            shown = {"emissionprob_": weights.emission.reshape(-1, self.n_components).T.copy()}
        self.__dict__.update(startprob_=weights.start, transmat_=weights.transition, **shown)


def _mode_counts(counts: np.ndarray, prior: Any, before: np.ndarray) -> np.ndarray:
    """Counts and prior of a Dirichlet posterior's mode; what was ruled out stays so."""
    if np.ndim(prior) == 0 and prior == 1:
        return counts
    return np.where(before == 0, 0.0, np.maximum(counts + np.asarray(prior) - 1.0, 0.0))


@dataclass(eq=False, repr=False)
class CategoricalHMM(SymbolFace, EMFace):
    """Hidden states of symbols 0, 1, ..., by expectation-maximisation, as hmmlearn has it.

    Parameters
    ----------
    n_components : int
        Number of states.
    startprob_prior, transmat_prior, emissionprob_prior : float or array
        Parameters of Dirichlet distributions, whose modes are taken: 1 adds nothing.
    n_features : int or None
        Number of symbols; None for those up to the largest.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_ : ndarray
        Shapes (n_components,), (n_components, n_components) and (n_components, n_features); may be
        set, before a fit and after.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> from sklearn_cvb.hmmlearn import CategoricalHMM
    >>> X = [[0], [1], [0], [0], [1], [2]]
    >>> model = CategoricalHMM(2, random_state=0).fit(X, lengths=[4, 2])
    >>> model.predict(X, lengths=[4, 2]).shape
    (6,)
    """

    n_components: int = 1
    startprob_prior: Any = 1.0
    transmat_prior: Any = 1.0
    emissionprob_prior: Any = field(default=1.0, kw_only=True)
    n_features: int | None = field(default=None, kw_only=True)
    params: str = field(default="ste", kw_only=True)
    init_params: str = field(default="ste", kw_only=True)

    _emits = "e"
    _letters: ClassVar = {"s": ("startprob_",), "t": ("transmat_",), "e": ("emissionprob_",)}

    def _draw_emissions(self: Any, letters: list[str], X: np.ndarray) -> None:
        if "e" in letters:
            self.emissionprob_: np.ndarray = normalise(
                self._rng().rand(self.n_components, self.n_features)
            )

    def _with_prior_counts(self, emission: np.ndarray, model: Any, before: Any) -> np.ndarray:
        if np.ndim(self.emissionprob_prior) == 0 and self.emissionprob_prior == 1:
            return emission
        more = np.asarray(self.emissionprob_prior).T - 1.0
        return np.maximum(emission.reshape(-1, self.n_components) + more, 0.0).reshape(-1)


@dataclass(eq=False, repr=False)
class PoissonHMM(EMFace):
    """Hidden states of counts, by expectation-maximisation, as hmmlearn has it.

    Parameters
    ----------
    n_components : int
        Number of states.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet distributions, whose modes are taken: 1 adds nothing.
    lambdas_prior, lambdas_weight : float or array
        Shape and rate of Gamma distributions of rates, weighed (as hmmlearn does) against the steps
        of all states together.

    Attributes
    ----------
    startprob_, transmat_, lambdas_ : ndarray
        Shapes (n_components,), (n_components, n_components) and (n_components, n_features); may be
        set, before a fit and after.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> from sklearn_cvb.hmmlearn import PoissonHMM
    >>> model = PoissonHMM(2, random_state=0).fit([[1], [0], [2], [9], [8], [11], [1], [0]])
    >>> sorted(model.lambdas_.ravel().round().tolist())
    [1.0, 9.0]
    """

    n_components: int = 1
    startprob_prior: Any = 1.0
    transmat_prior: Any = 1.0
    lambdas_prior: Any = 0.0
    lambdas_weight: Any = 0.0
    params: str = field(default="stl", kw_only=True)
    init_params: str = field(default="stl", kw_only=True)

    _emits = "l"
    _letters: ClassVar = {"s": ("startprob_",), "t": ("transmat_",), "l": ("lambdas_",)}
    _dtype = np.int64

    def _emission(self) -> str:
        return "poisson"

    def _draw_emissions(self: Any, letters: list[str], X: np.ndarray) -> None:
        if "l" in letters:
            # By the moments of the data.
            mean, variance, shape = np.nanmean(X), np.nanvar(X), (self.n_components, X.shape[1])
            self.lambdas_: np.ndarray = np.full(shape, mean or 1.0)
            if variance:
                self.lambdas_ = self._rng().gamma(mean**2 / variance, variance / mean, shape)

    def _with_prior_counts(self, emission: np.ndarray, model: Any, before: Any) -> np.ndarray:
        prior, weight = np.asarray(self.lambdas_prior), np.asarray(self.lambdas_weight)
        if not (prior.any() or weight.any()):
            return emission
        n = self.n_features
        total, steps, rest = np.split(emission, [n, 2 * n])
        all_steps = steps.sum(axis=1, keepdims=True)
        total = prior.T + all_steps * total / np.maximum(steps, 1e-300)
        return np.concatenate([total, weight.T + all_steps + 0.0 * steps, rest])


@dataclass(eq=False, repr=False)
class GaussianHMM(NormalFace, EMFace):
    """Hidden states of normal numbers, by expectation-maximisation, as hmmlearn has it.

    Parameters
    ----------
    n_components : int
        Number of states.
    covariance_type : {"spherical", "diag", "full", "tied"}
        One variance of a state, one of each column, a matrix, or one matrix for all states.
    min_covar : float
        Added to the variances of the data where a fit begins.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet distributions, whose modes are taken: 1 adds nothing.
    means_prior, means_weight : float or array, float
        Expected means, the same for all states, and as if they had been seen so often.
    covars_prior, covars_weight : float or array, float
        Sum of squares of the prior of (co)variances, the same for all states, and its weight.

    Attributes
    ----------
    startprob_, transmat_, means_ : ndarray
        Shapes (n_components,), (n_components, n_components) and (n_components, n_features); may be
        set, before a fit and after, as `covars_`.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> from sklearn_cvb.hmmlearn import GaussianHMM
    >>> X = [[0.1], [0.3], [-0.2], [5.1], [4.8], [0.2], [5.3], [5.0]]
    >>> model = GaussianHMM(2, random_state=0).fit(X, lengths=[5, 3])
    >>> model.covars_.shape
    (2, 1, 1)
    >>> sorted(model.means_.ravel().round().tolist())
    [0.0, 5.0]
    """

    n_components: int = 1
    covariance_type: str = "diag"
    min_covar: float = 1e-3
    startprob_prior: Any = 1.0
    transmat_prior: Any = 1.0
    means_prior: Any = 0
    means_weight: float = 0
    covars_prior: Any = 1e-2
    covars_weight: float = 1
    params: str = field(default="stmc", kw_only=True)
    init_params: str = field(default="stmc", kw_only=True)

    _emits = "mc"
    _letters: ClassVar = {
        "s": ("startprob_",),
        "t": ("transmat_",),
        "m": ("means_",),
        "c": ("_covars_",),
    }

    def _draw_emissions(self: Any, letters: list[str], X: np.ndarray) -> None:
        if {"m", "c"} & {*letters}:
            found, widths = self._clusters(X)
            self.means_: np.ndarray = found.cluster_centers_ if "m" in letters else self.means_
            self._covars_ = widths if "c" in letters else self._covars_

    def _to_fit(self) -> Gaussian:
        # A prior whose mode is what hmmlearn's step gives.
        n, kind = np.shape(self.means_)[1], self._kind()
        n_means = {"spherical": n, "tied": self.n_components}.get(kind, 1)
        scale, weight = self.covars_prior, max(float(self.means_weight), 1e-300)
        if kind in ("full", "tied"):
            degrees = n + 1.0 - n_means + max(self.covars_weight - n, 0.0)
        else:
            degrees = 2.0 - n_means + n_means * max(self.covars_weight - 1.0, 0.0)
        if kind == "spherical":
            scale = np.broadcast_to(scale, n).sum()
        return self._with_prior(weight, degrees, scale, self.means_prior)

    def _with_prior_counts(self, emission: np.ndarray, model: Any, before: Any) -> np.ndarray:
        if "m" in self.params or "c" not in self.params:
            return emission
        if self.means_weight:
            raise InvalidParameterError("means_weight needs params with 'm'")
        return model.problem.family.recentred(emission, before.point.means)
