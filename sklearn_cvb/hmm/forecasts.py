"""Forecasts of hidden Markov models of numbers: what comes next, with intervals."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.annotations import Seed
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.validation import check_counts

if TYPE_CHECKING:
    from sklearn_cvb.hmm.base import BaseHMM as _Model
else:
    _Model = object


class Forecast(NamedTuple):
    """What comes next after each sequence.

    Attributes
    ----------
    mean : ndarray of shape (n_samples, n_steps, n_columns)
    lower, upper : ndarray of shape (n_samples, n_steps, n_columns)
        Ends of equal-tailed intervals for each step and column.
    proba : ndarray of shape (n_samples, n_steps, n_components)
        Probabilities of the states.
    samples : ndarray of shape (n_samples, n_draws, n_steps, n_columns)
        Drawn continuations, which the intervals are quantiles of.
    """

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    proba: np.ndarray
    samples: np.ndarray


class ForecastsMixin(_Model):
    """What models have that may learn from numbers, and taggers have not."""

    def predict_next(
        self,
        X: Any,
        n_steps: int = 1,
        *,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: Seed = None,
    ) -> Forecast:
        """Forecast the next observations after each sequence, where they are numbers.

        States go on from their probabilities after the last step; with `end_state`, given that no
        sequence ends before the last step asked for. Parameters are the fitted ones: that they are
        uncertain is left out of the intervals.

        Parameters
        ----------
        X : list of arrays of shape (length, n_columns), or as in `fit`
        n_steps : int, default=1
            How many steps ahead.
        level : float, default=0.95
            Probability inside each interval.
        n_draws : int, default=1000
            How many continuations are drawn for the intervals.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Forecast
            `mean`, `lower`, `upper`, `proba` and `samples`.

        Raises
        ------
        ValueError
            If a sequence surely ends before that.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_cvb import EMHMM
        >>> rng = np.random.default_rng(0)
        >>> series = np.tile(np.repeat([0.0, 9.0], 20), 5) + rng.normal(size=200)
        >>> model = EMHMM(2, emission="gaussian", random_state=0).fit([series])
        >>> model.predict_next([series], n_steps=3, random_state=0).mean.shape
        (1, 3, 1)
        """
        if self._observed.has_vocabulary:
            raise AttributeError("predict_next is for numbers: use predict_next_proba for symbols")
        check_counts(n_steps=n_steps, n_draws=n_draws)
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
        corpus, table = self._posterior_table(X, decoding.filtered, means=True)
        first, *moves = moves_ahead(self.transmat_, n_steps)
        ahead = [table[corpus.starts[1:] - 1] @ first]
        goes_on = ahead[0].sum(axis=1, keepdims=True)
        if not goes_on.all():
            raise ValueError(
                f"sequence {int(goes_on.argmin())} cannot go on for {n_steps} steps: by this model "
                "it surely ends before"
            )
        ahead[0] /= goes_on
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        family, point = self._numeric.family, self._numeric.point
        states = _drawn(np.repeat(ahead[0][:, None], n_draws, axis=1), rng)
        paths = [states]
        for transition in moves:
            ahead.append(ahead[-1] @ transition)
            paths.append(_drawn(transition[paths[-1]], rng))
        proba, drawn = np.stack(ahead, axis=1), np.stack(paths, axis=2)
        samples = family.sample(point, drawn.ravel(), rng).reshape(*drawn.shape, -1)
        tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
        lower, upper = np.quantile(samples, tails, axis=1)
        return Forecast(proba @ family.moments(point)[0], lower, upper, proba, samples)


def moves_ahead(transition: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Transitions (K, K) of each step ahead, given that no sequence ends before the last.

    Rows sum to 1 (to 0 where nothing goes on), but for those of the first step: these are in
    proportion to how probable it is to go on from each state.
    """
    goes_on, tables = np.ones(len(transition)), []
    for _ in range(n_steps):
        table = transition * goes_on
        goes_on = table.sum(axis=1)
        tables.append(table / np.where(goes_on > 0, goes_on, 1.0)[:, None])
        # A common factor of no matter, so that long forecasts stay in the range of float64.
        goes_on = goes_on / max(goes_on.max(), 1e-300)
    return [tables[-1] * goes_on[:, None], *tables[-2::-1]]


def _drawn(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities, the last axis."""
    levels = np.cumsum(probabilities, axis=-1)
    drawn = rng.random((*levels.shape[:-1], 1)) * levels[..., -1:]
    return np.minimum((levels <= drawn).sum(axis=-1), levels.shape[-1] - 1)
