"""What the chains of a sampler tell: likelihoods over samples, traces, convergence, export."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.gibbs_sweeps import counts_of_path, slots_of
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, rare_in, with_rare
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.gibbs import Traced
from sklearn_cvb.metrics.convergence import effective_sample_size, r_hat

if TYPE_CHECKING:
    from sklearn_cvb.hmm.base import BaseHMM as _Model
else:
    _Model = object


class Chains(NamedTuple):
    """Traces of all restarts after burn-in, one value a sweep, shape (n_init, n_draws) each.

    Attributes
    ----------
    log_joint : ndarray
        log p(x, z | alpha, beta) (nats).
    alpha, beta : ndarray
        Concentrations.
    n_occupied : ndarray
        Number of states that have a token.
    """

    log_joint: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    n_occupied: np.ndarray


class Convergence(NamedTuple):
    """How well a traced quantity is known.

    Attributes
    ----------
    mean, standard_deviation : float
        Over the draws of all chains.
    r_hat : float
        Rank-normalised split R-hat; above 1.01 the chains disagree.
    effective_sample_size : float
        How many independent draws would know the mean rank as well ("bulk").
    """

    mean: float
    standard_deviation: float
    r_hat: float
    effective_sample_size: float


def chains_of(traces: Sequence[Sequence[Traced]], n_burn_in: int) -> Chains | None:
    """The chains of all restarts, without their burn-in and as long as the shortest (or None)."""
    n_draws = min(len(trace) for trace in traces) - n_burn_in
    if n_draws < 1:
        return None
    rows = [
        [(one.value, *one.notes[:3]) for one in trace[n_burn_in : n_burn_in + n_draws]]
        for trace in traces
    ]
    return Chains(*np.moveaxis(np.array(rows, dtype=float), 2, 0))


def log_joint(counts: HMMCounts, prior: Prior, cells: Cells) -> float:
    """log p(x, z | alpha, beta) of actual counts through Gamma functions (nats)."""
    moved = counts.transition > 0
    begun = np.s_[:] if prior.start.min() > 0.0 else counts.start > 0
    return (
        dirichlet.log_evidence(
            counts.start[begun],
            prior.start[begun],
            counts.start.sum(),
            np.asarray(prior.start_total),
        )
        + dirichlet.log_evidence(
            counts.transition[moved],
            prior.transition[moved],
            counts.transition.sum(axis=1),
            prior.transition_total,
        )
        + dirichlet.log_rising(counts.emission, prior.emission)
        - dirichlet.log_rising(cells.row_totals(counts.emission), prior.emission_total)
    )


class ChainsMixin(_Model):
    """Reading the samples and the traces of a fitted sampler."""

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every sequence, averaged over samples (paper eq. 28).

        With annealing there are no samples of the posterior, and posterior-mean parameters are
        used instead (eq. 27).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray of shape (n_samples,)
            log p(x) in nats per sequence.
        """
        return self._log_likelihoods(X)[0]

    def perplexity(self, X: Any, per: str = "token") -> float:
        """exp of minus the mean log-likelihood averaged over samples (paper eqs. 26 and 28).

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        per : {"token", "sequence"}, default="token"
            What the mean is taken over.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            With annealing: its samples are not of the posterior.
        """
        check_is_fitted(self)
        if self.temperatures is not None:
            raise ValueError(
                "perplexity averages over samples of the posterior (eq. 28): fit with "
                "temperatures=None; score uses averaged parameters with any temperatures"
            )
        return super().perplexity(X, per)

    def _posteriors(self) -> Iterable[tuple[HMMCounts, Prior]]:
        self._check_posterior("credible_intervals")
        return self._observed.samples(self)

    def _samples(self) -> Iterable[tuple[HMMCounts, Prior]] | None:
        check_is_fitted(self)
        return None if self.samples_ is None else self._observed.samples(self)

    def convergence(self) -> dict[str, Convergence]:
        """R-hat and effective sample size of what does not depend on the names of the states.

        The restarts (`n_init`) are the chains. Every chain may name the states its own way, and
        may change names on its way: traces of one state's probabilities then disagree between
        chains that agree in all that matters. The log joint probability, the number of occupied
        states and learned concentrations are the same under any names.

        Returns
        -------
        dict
            Name of each traced quantity (`log_joint`, `n_occupied`; `alpha` and `beta` where they
            are learned): a `Convergence` of mean, standard_deviation, r_hat and
            effective_sample_size. NaN for what never changed, and with fewer than 4 sweeps after
            burn-in.

        Raises
        ------
        ValueError
            With annealing.

        References
        ----------
        Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
        localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis.

        Examples
        --------
        >>> from sklearn_cvb import GibbsHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = GibbsHMM(n_components=2, n_init=4, max_iter=500, random_state=0).fit(X)
        >>> sorted(model.convergence())
        ['log_joint', 'n_occupied']
        """
        return {name: _convergence(draws) for name, draws in self._traced("convergence").items()}

    def to_inference_data(self) -> Any:
        """The traces of all restarts for ArviZ, which must be installed.

        Group ``posterior`` holds `n_occupied`, and `alpha` and `beta` where they are learned;
        ``sample_stats`` holds `lp`, the log joint probability (nats). Restarts are the chains, and
        draws are the sweeps after burn-in. Probabilities of single states are left out, because
        chains name the states each their own way (see `convergence`).

        Returns
        -------
        arviz.InferenceData
            From ArviZ 1.0 on an ``xarray.DataTree`` with the same groups.

        Raises
        ------
        ImportError
            If ArviZ is not installed.
        ValueError
            With annealing.
        """
        groups = self._inference_groups()
        try:
            import arviz
        except ImportError as error:
            raise ImportError(
                "to_inference_data needs ArviZ: install it with `python -m pip install arviz`"
            ) from error
        # From 1.0 on groups come in one dictionary.
        if hasattr(arviz, "InferenceData"):
            return arviz.from_dict(**groups)
        return arviz.from_dict(groups)

    def _inference_groups(self) -> dict[str, dict[str, np.ndarray]]:
        """Names and (n_chains, n_draws) arrays of each group of the export."""
        traced = self._traced("to_inference_data")
        return {"sample_stats": {"lp": traced.pop("log_joint")}, "posterior": traced}

    def _traced(self, name: str) -> dict[str, np.ndarray]:
        """The label-free traces by name; concentrations only where they are learned."""
        self._check_posterior(name)
        chains = self.chains_._asdict()
        for parameter in ("alpha", "beta"):
            if getattr(self, parameter) != "auto":
                del chains[parameter]
        return chains

    def _check_posterior(self, name: str) -> None:
        """Raise unless the samples are of the posterior."""
        check_is_fitted(self)
        if self.temperatures is not None:
            raise ValueError(f"{name} needs samples of the posterior: fit with temperatures=None")
        if self.samples_ is None or self.chains_ is None:
            raise ValueError(
                f"{name} needs samples, and no sample was kept: the fit ended before n_burn_in "
                "sweeps"
            )

    def _sample_counts(self, path: np.ndarray) -> HMMCounts:
        """Counts of one kept sample, the unknown item's as `handle_unknown` says."""
        problem = self._training
        if self.end_state:
            states = np.full(len(problem.corpus.tokens), problem.cells.n_emitting)
            states[problem.is_given] = path
            path = states
        counts = counts_of_path(problem, slots_of(problem.lattice, path))
        rare = rare_in(problem, counts) if self._counts_rare else None
        return with_rare(counts, rare, problem.cells)

    def _sample_prior(self, row: int) -> Prior:
        """Prior of one kept sample: its own where concentrations are learned."""
        if not self._first_concentrations().learned:
            return self._prior
        alpha, beta = self._sample_concentrations[row].tolist()
        concentrations = self._first_concentrations()._replace(
            alpha=alpha, beta=beta, shared=self._sample_shared[row]
        )
        return self._priors(self._cells, concentrations)


def _convergence(draws: np.ndarray) -> Convergence:
    spread = float(draws.std(ddof=1)) if draws.size > 1 else math.nan
    return Convergence(float(draws.mean()), spread, r_hat(draws), effective_sample_size(draws))
