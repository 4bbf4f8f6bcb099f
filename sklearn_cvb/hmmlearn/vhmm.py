"""hmmlearn's classes that learn by VB; a face is a class of ours that looks like hmmlearn's."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sklearn_cvb.chain.numbers.e_step import NumberWeights
from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    divergence,
    empty_counts,
    exp_expected_log,
)
from sklearn_cvb.emissions.gaussian import Gaussian
from sklearn_cvb.emissions.gaussian_columns import NormalGamma
from sklearn_cvb.hmmlearn.base import Face, NormalFace, SymbolFace, normalise
from sklearn_cvb.reading.validation import InvalidParameterError

__all__ = ["VariationalCategoricalHMM", "VariationalGaussianHMM"]


def _or_default(value: Any, usual: Any, shape: Any = None) -> np.ndarray:
    """A value, or the usual one for None; a number fills a shape."""
    found = np.asarray(usual if value is None else value, dtype=float)
    return np.full(shape, found) if shape is not None else found


def _prior_and_posterior_names(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}_{which}_" for name in names for which in ("prior", "posterior"))


class _VariationalFace(Face):
    """Steps of VB: from posteriors, which are attributes, to counts, and from these to the next."""

    def _starting_parameters(self) -> None:
        return None

    def _shapes(self) -> dict[str, Any]:
        """Shapes of the tables of prior and posterior, by name."""
        n = self.n_components
        return {"startprob": (n,), "transmat": (n, n)}

    def _draw_start(self, letters: list[str], X: np.ndarray, n_sequences: int) -> None:
        n, rng = self.n_components, self._rng()
        if "s" in letters:
            self.startprob_prior_: np.ndarray = _or_default(self.startprob_prior, 1.0 / n, n)
            self.startprob_posterior_: np.ndarray = rng.dirichlet(np.full(n, 1.0 / n)) * n_sequences
        if "t" in letters:
            self.transmat_prior_: np.ndarray = _or_default(self.transmat_prior, 1.0 / n, (n, n))
            self.transmat_posterior_: np.ndarray = rng.dirichlet(np.full(n, 1.0 / n), size=n) * (
                len(X) / n
            )
        self._draw_emissions(letters, X)
        for name, shape in self._shapes().items():
            for whole in _prior_and_posterior_names(name):
                table = np.asarray(getattr(self, whole), dtype=float)
                if table.shape != shape:
                    raise ValueError(f"{whole} has shape {table.shape}, must have {shape}")
                setattr(self, whole, table)

    def _dirichlets(self, which: str) -> ChainPrior:
        """Their parameters: of the prior, or of the posterior."""
        start, steps = (getattr(self, f"{name}_{which}_") for name in ("startprob", "transmat"))
        # Where numbers are emitted there are no cells of emissions.
        emission, total = np.empty(0), np.ones(self.n_components)
        if hasattr(self, "emissionprob_prior_"):
            table = getattr(self, f"emissionprob_{which}_")
            emission, total = table.T.ravel(), table.sum(axis=1)
        return ChainPrior(start, float(start.sum()), steps, steps.sum(axis=1), emission, total)

    def _learn(self, model: Any) -> None:
        work = None

        def step() -> tuple[float, np.ndarray]:
            nonlocal work
            prior, posterior = map(self._dirichlets, ("prior", "posterior"))
            seen = (getattr(posterior, name) - getattr(prior, name) for name in HMMCounts._fields)
            cost = divergence(HMMCounts(*seen), prior, model.cells)
            weights, of_emissions = self._averaged(posterior, model)
            result = model.infer(weights, work)
            work, counts = result.work, result.counts
            if "s" in self.params:
                self.startprob_posterior_ = prior.start + counts.start
            if "t" in self.params:
                self.transmat_posterior_ = prior.transition + counts.transition
            self._update_emissions(counts.emission, model)
            return result.log_normaliser - cost - of_emissions, result.unexplained

        try:
            self._until_converged(step)
        finally:
            self.startprob_: np.ndarray = normalise(self.startprob_posterior_)
            self.transmat_: np.ndarray = normalise(self.transmat_posterior_)

    # Weights of all, and the divergence of what numbers are emitted by; the next posteriors
    _averaged: ClassVar[Any]
    _update_emissions: ClassVar[Any]


@dataclass(eq=False, repr=False)
class VariationalCategoricalHMM(SymbolFace, _VariationalFace):
    """Hidden states of symbols 0, 1, ..., by variational Bayes, as hmmlearn has it.

    Parameters
    ----------
    n_components : int
        Number of states.
    startprob_prior, transmat_prior, emissionprob_prior : float, array or None
        Parameters of Dirichlet distributions; None for one over the length of a row.
    n_features : int or None
        Number of symbols; None for those up to the largest.

    Attributes
    ----------
    startprob_prior_, transmat_prior_, emissionprob_prior_ : ndarray
        Shapes (n_components,), (n_components, n_components) and (n_components, n_features); may be
        set before a fit, as the next.
    startprob_posterior_, transmat_posterior_, emissionprob_posterior_ : ndarray
        The parameters of the posteriors.
    startprob_, transmat_, emissionprob_ : ndarray
        Means of the posteriors.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> from sklearn_cvb.hmmlearn import VariationalCategoricalHMM
    >>> X = [[0], [1], [0], [0], [1], [2]]
    >>> model = VariationalCategoricalHMM(2, random_state=0).fit(X)
    >>> float(model.emissionprob_posterior_.sum().round(6))
    8.0
    """

    n_components: int = 1
    startprob_prior: Any = None
    transmat_prior: Any = None
    emissionprob_prior: Any = None
    n_features: int | None = None
    n_iter: int = field(default=100, kw_only=True)
    tol: float = field(default=1e-6, kw_only=True)
    params: str = field(default="ste", kw_only=True)
    init_params: str = field(default="ste", kw_only=True)

    _letters: ClassVar = {
        "s": _prior_and_posterior_names("startprob"),
        "t": _prior_and_posterior_names("transmat"),
        "e": _prior_and_posterior_names("emissionprob"),
    }

    def _shapes(self) -> dict[str, Any]:
        return super()._shapes() | {"emissionprob": (self.n_components, self.n_features)}

    def _draw_emissions(self, letters: list[str], X: np.ndarray) -> None:
        if "e" in letters:
            n, width = shape = self._shapes()["emissionprob"]
            self.emissionprob_prior_: np.ndarray = _or_default(
                self.emissionprob_prior, 1.0 / width, shape
            )
            drawn = self._rng().dirichlet(self.emissionprob_prior_[0], size=n)
            self.emissionprob_posterior_: np.ndarray = drawn * (len(X) / n)

    def _averaged(self, posterior: ChainPrior, model: Any) -> Any:
        # Nothing beside the posterior: tiny parameters would lose their digits in a difference.
        return model.average(empty_counts(model.cells), posterior, None)[0], 0.0

    def _update_emissions(self, counts: np.ndarray, model: Any) -> None:
        if "e" in self.params:
            table = counts.reshape(-1, self.n_components).T
            self.emissionprob_posterior_ = self.emissionprob_prior_ + table
        self.emissionprob_: np.ndarray = normalise(self.emissionprob_posterior_)


@dataclass(eq=False, repr=False)
class VariationalGaussianHMM(NormalFace, _VariationalFace):
    """Hidden states of normal numbers, by variational Bayes, as hmmlearn has it.

    Lower bounds have all constants; hmmlearn's leave out log(2 pi) / 2 for each number. For several
    columns that are "diag" or "spherical" hmmlearn expects logarithms of precisions as if they were
    those of whole matrices; here they are those of the columns.

    Parameters
    ----------
    n_components : int
        Number of states.
    covariance_type : {"spherical", "diag", "full", "tied"}
        One variance of a state, one of each column, a matrix, or one matrix for all states.
    startprob_prior, transmat_prior : float, array or None
        Parameters of Dirichlet distributions; None for one over the length of a row.
    means_prior, beta_prior, dof_prior, scale_prior : array or None
        In the shapes of the attributes, the same for all states; None for the means of the data, 1,
        n_features, and 0.001 (on the diagonals of matrices).

    Attributes
    ----------
    startprob_prior_, startprob_posterior_, transmat_prior_, transmat_posterior_ : ndarray
        Parameters of Dirichlet distributions; may be set before a fit, as all of prior and
        posterior.
    means_prior_, means_posterior_ : ndarray of shape (n_components, n_features)
    beta_prior_, beta_posterior_ : ndarray of shape (n_components,)
        As if the means had been seen so often.
    dof_prior_, dof_posterior_ : ndarray of shape (n_components,), of one number if "tied"
        Degrees of freedom of the covariances.
    scale_prior_, scale_posterior_ : ndarray
        Their sums of squares, in the shape of `covariance_type`.
    startprob_, transmat_, means_, covars_ : ndarray
        Means of the posteriors; of covariances the inverse of the mean precisions.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> from sklearn_cvb.hmmlearn import VariationalGaussianHMM
    >>> X = [[0.1], [0.3], [-0.2], [5.1], [4.8], [0.2], [5.3], [5.0]]
    >>> model = VariationalGaussianHMM(2, random_state=0).fit(X)
    >>> model.scale_posterior_.shape
    (2, 1, 1)
    """

    n_components: int = 1
    covariance_type: str = "full"
    startprob_prior: Any = None
    transmat_prior: Any = None
    means_prior: Any = None
    beta_prior: Any = None
    dof_prior: Any = None
    scale_prior: Any = None
    n_iter: int = field(default=100, kw_only=True)
    tol: float = field(default=1e-6, kw_only=True)
    params: str = field(default="stmc", kw_only=True)
    init_params: str = field(default="stmc", kw_only=True)

    _letters: ClassVar = {
        "s": _prior_and_posterior_names("startprob"),
        "t": _prior_and_posterior_names("transmat"),
        "m": _prior_and_posterior_names("means", "beta"),
        "c": _prior_and_posterior_names("dof", "scale"),
    }

    @property
    def means_(self) -> np.ndarray:
        """Means of the posteriors, (n_components, n_features)."""
        return self.means_posterior_

    def _checked(self, X: Any, to_fit: bool = False) -> np.ndarray:
        X = super()._checked(X, to_fit)
        if to_fit and np.isnan(X).any():
            raise ValueError("X holds NaN: VBHMM(emission=Gaussian(...)) takes missing values")
        return X

    def _shapes(self) -> dict[str, Any]:
        n, width, kind = self.n_components, self.n_features, self._kind()
        scale = {"spherical": (n,), "diag": (n, width), "full": (n, width, width)}
        own = {"means": (n, width), "beta": (n,), "dof": () if kind == "tied" else (n,)}
        return super()._shapes() | own | {"scale": scale.get(kind, (width, width))}

    def _draw_emissions(self, letters: list[str], X: np.ndarray) -> None:
        kind, shapes = self._kind(), self._shapes()
        # Made in any case: this many random numbers are drawn.
        found, widths = self._clusters(X)
        held = np.bincount(found.labels_, minlength=self.n_components).astype(float)
        if "m" in letters:
            self.means_prior_: np.ndarray = _or_default(
                self.means_prior, np.tile(X.mean(axis=0), (len(held), 1))
            )
            self.means_posterior_: np.ndarray = found.cluster_centers_
            self.beta_prior_: np.ndarray = _or_default(self.beta_prior, np.ones(len(held)))
            # Of fewer different steps than states some clusters hold none.
            self.beta_posterior_: np.ndarray = np.maximum(held, 1.0)
        if "c" in letters:
            eye = np.eye(X.shape[1]) if kind in ("full", "tied") else np.ones(())
            self.dof_prior_: np.ndarray = _or_default(
                self.dof_prior, np.full(shapes["dof"], float(X.shape[1]))
            )
            self.scale_prior_: np.ndarray = _or_default(
                self.scale_prior, np.broadcast_to(1e-3 * eye, shapes["scale"])
            )
            held = held.sum() if kind == "tied" else held
            self.dof_posterior_: np.ndarray = np.maximum(held, float(X.shape[1]))
            self.scale_posterior_: np.ndarray = widths * _align(self.dof_posterior_, widths)

    def _to_fit(self) -> Gaussian:
        if ("m" in self.params) != ("c" in self.params):
            raise InvalidParameterError("params must hold both 'm' and 'c', or none of them")
        given = []
        for name in ("beta_prior_", "dof_prior_", "scale_prior_", "means_prior_"):
            table = getattr(self, name)
            if self._kind() != "tied" or name in ("beta_prior_", "means_prior_"):
                if (table != table[0]).any():
                    raise InvalidParameterError(f"{name} must be the same for all states")
                table = table[0]
            given.append(table)
        beta, dof, scale, means = given
        n, n_together = self.n_features, self._n_together
        if self._kind() in ("full", "tied") and dof <= n - 1:
            raise InvalidParameterError(f"dof_prior must be above {n - 1} for {n} columns")
        return self._with_prior(float(beta), n_together * float(dof), n_together * scale, means)

    @property
    def _n_together(self) -> int:
        """How many columns share a variance."""
        return self.n_features if self._kind() == "spherical" else 1

    def _averaged(self, posterior: ChainPrior, model: Any) -> Any:
        family, cells, shape = model.problem.family, model.cells, self.means_posterior_.shape
        beta, dof, scale = self.beta_posterior_, self.dof_posterior_, self.scale_posterior_
        means, many = self.means_posterior_, self._n_together
        if family.has_matrices:
            told = [means, beta, np.broadcast_to(dof, len(beta))]
            told.append(np.broadcast_to(scale, (*shape, shape[1])))
        else:
            tables = means, beta, many * dof, many * scale
            told = [np.broadcast_to(_align(table, means), shape) for table in tables]
        found = family.posterior_to_standard(NormalGamma(*told))
        weights = exp_expected_log(empty_counts(cells), posterior, cells)
        return NumberWeights(weights, family.log_densities_under(found)), family.divergence_under(
            found
        )

    def _update_emissions(self, counts: np.ndarray, model: Any) -> None:
        if "m" in self.params:
            family, kind, n_together = model.problem.family, self._kind(), self._n_together
            means, beta, dof, scale = family.posterior_to_data(family.posterior(counts))
            if not family.has_matrices:
                beta, dof, scale = beta[:, 0], dof[:, 0] / n_together, scale / n_together
            scale = scale[:, 0] if kind == "spherical" else scale
            dof, scale = (dof[0], scale[0]) if kind == "tied" else (dof, scale)
            self.means_posterior_, self.beta_posterior_ = means, beta
            self.dof_posterior_, self.scale_posterior_ = np.asarray(dof), scale
        self._covars_ = self.scale_posterior_ / _align(self.dof_posterior_, self.scale_posterior_)


def _align(table: Any, other: np.ndarray) -> np.ndarray:
    """A table with axes of length 1 for the last ones of another."""
    return np.reshape(table, np.shape(table) + (1,) * (np.ndim(other) - np.ndim(table)))
