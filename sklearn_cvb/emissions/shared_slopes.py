"""Families of regressions some of whose slopes are one for all states, by EM alone: such slopes
have no conjugate prior together with precisions of each state.

Given the states' covariances, an M-step is generalised least squares. A state's own intercept and
slopes are left out of what it says of shared slopes G (Frisch and Waugh 1933): with S the sums of
products that remain, the sum over states of S_xx G inv(Sigma) is that of S_xy inv(Sigma). Given
slopes, covariances are those of residuals; both in turn raise the objective of EM, and settle
(Meng and Rubin 1993, "Maximum likelihood estimation via the ECM algorithm", Biometrika 80).
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import MIN_STEPS
from sklearn_cvb.emissions.linear import (
    CONSTANT,
    AutoRegressiveFamily,
    LinearPoint,
    RegressionFamily,
    least_squares,
)
from sklearn_cvb.reading.validation import InvalidParameterError

# Slopes and covariances in turn, of an M-step: at most so often, or until the latter change by no
# more; where they have not settled, the next M-step goes on.
_TURNS, _SETTLED = 5, 1e-12


class ApartFromOwn(NamedTuple):
    """What states say of S shared slopes, V directions of which vary, apart from their own."""

    lines: np.ndarray  # (K, O, S + D), of shared inputs and outputs by the O other inputs
    vectors: np.ndarray  # (S, V), the directions
    squares: np.ndarray  # (K, V, V), of what these leave of shared inputs along them
    across: np.ndarray  # (K, V, D), of that and outputs


class SharedSlopesFamily(RegressionFamily):
    """Slopes of some inputs are one for all states."""

    def __init__(self, switches: np.ndarray, *settings: Any) -> None:
        super().__init__(*settings)
        self.switches = switches
        # All states but one have no slopes of their own for these.
        self.n_parameters -= (self.n_states - 1) * int((~switches).sum()) * self.n_outputs

    def most_likely(self, statistics: np.ndarray, before: LinearPoint | None = None) -> LinearPoint:
        if before is None:
            before = super().most_likely(statistics)
        count, means, scatter = self.joint.scatter(statistics)
        if not (count > MIN_STEPS).any():
            return before
        i, covariances = self.n_inputs, before.covariances
        shares = scatter / np.maximum(count, MIN_STEPS)[:, None, None]
        apart = self._apart(shares, count / count.sum())
        for _ in range(_TURNS):
            slopes = self._slopes(apart, covariances)
            intercepts = self._at_zero(means[:, :i], means[:, i:], slopes)
            point = LinearPoint(intercepts, slopes.copy(), covariances)
            point = point._replace(covariances=self._covariances(statistics, point))
            point = self._where_seen(count, point, before)
            change, covariances = np.abs(point.covariances - covariances), point.covariances
            widths = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
            if (change <= _SETTLED * widths[:, :, None] * widths[:, None, :]).all():
                break
        point.coefficients[:, ~self.switches] = slopes[:, ~self.switches]
        return point

    def _apart(self, shares: np.ndarray, weights: np.ndarray) -> ApartFromOwn:
        """From averages of products around each state's mean, whose weights sum to 1."""
        own, shared = np.flatnonzero(self.switches), np.flatnonzero(~self.switches)
        n_shared = len(shared)
        rest = np.append(shared, np.arange(self.n_inputs, self.n_inputs + self.n_outputs))
        lines = least_squares(shares[:, own[:, None], own], shares[:, own[:, None], rest])
        left = shares[:, shared[:, None], rest] - shares[:, shared[:, None], own] @ lines
        left = weights[:, None, None] * left
        # Along what varies in none of the states there is no slope.
        values, vectors = np.linalg.eigh(left[:, :, :n_shared].sum(axis=0))
        vectors = vectors[:, values > CONSTANT]
        squares = vectors.T @ left[:, :, :n_shared] @ vectors
        return ApartFromOwn(lines, vectors, squares, vectors.T @ left[:, :, n_shared:])

    def _slopes(self, apart: ApartFromOwn, covariances: np.ndarray) -> np.ndarray:
        """The most likely slopes (K, I, D) under these covariances."""
        n, precisions = self.n_outputs, np.linalg.inv(covariances)
        size = apart.vectors.shape[1] * n
        equations = np.einsum("kij,kdf->idjf", apart.squares, precisions).reshape(size, size)
        right = (apart.across @ precisions).sum(axis=0)
        shared = apart.vectors @ np.linalg.solve(equations, right.reshape(-1)).reshape(-1, n)
        found = np.empty((self.n_states, self.n_inputs, n))
        found[:, ~self.switches] = shared
        of_inputs, of_outputs = np.split(apart.lines, [len(shared)], axis=2)
        found[:, self.switches] = of_outputs - of_inputs @ shared
        return found

    def point_from(self, parameters: dict[str, Any]) -> LinearPoint:
        point = super().point_from(parameters)
        shared = point.coefficients[:, ~self.switches]
        if not np.allclose(shared, shared[:1]):
            raise InvalidParameterError(
                "coefficients: slopes that do not switch are the same in all states"
            )
        return point

    def _refuse(self, *_: Any) -> Any:
        raise InvalidParameterError(
            "switching is learned by EM alone, as slopes that states share have no conjugate "
            "prior: take EMHMM, or let all slopes switch"
        )

    expected_log_densities: Any = _refuse
    predictive: Any = _refuse
    draw: Any = _refuse
    log_evidence: Any = _refuse
    marginals: Any = _refuse


class SharedSlopesAutoRegressiveFamily(SharedSlopesFamily, AutoRegressiveFamily):
    """Slopes of some lags are one for all states."""
