"""Filtering of one sequence whose observations arrive one after the other."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb.chain.paths.transitions import refuse_varying
from sklearn_cvb.chain.predictions.prediction import predicting_weights
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.learned import Learned

if TYPE_CHECKING:
    from sklearn_cvb.chain.observation import Observation


class Filter:
    """What is known of the state of one sequence, one observation after another.

    Made by ``model.start_filter()``; `update` takes the next observation. The steps are those of
    `filter_proba`, without the sequence being kept: an update takes O(n_components ** 2), and where
    visits have durations O(n_components * longest) more. A filter pickles with what it needs of the
    model, but not with training data, and a later `fit` does not change it. For many sequences take
    a copy (`copy.copy`) for each: they share the weights.

    Attributes
    ----------
    proba : ndarray of shape (n_components,) or None
        p(z_t | x_1..t) after the last observation; None before the first.
    state : int or object
        The most probable state by `proba` (taggers: the tag); None before the first observation.
    log_likelihood : float
        log p(x_t | x_1..t-1) of the last observation, nats: low where it is a surprise, 0 where it
        is missing. With `end_state` also that the sequence has gone on; of VB under exponentials of
        expected logs, whose rows sum to less than 1. -inf if no path explains it: `proba` then
        follows from the emission alone, and the filter goes on from there.
    total_log_likelihood : float
        log p(x_1..t), nats: the sum of these.
    n_observations : int
        How many observations there were, t.
    """

    def __init__(self, observation: "Observation", learned: Learned) -> None:
        refuse_varying(learned.layout.chain.varies_by, "start_filter: use filter_proba")
        self._observation = observation.without_init()
        self._learned = learned._replace(warm_start=None, seen_so_far=None)
        self._chain, self._log_durations = _chain_of(learned)
        # Logs of p(z_t, steps that its visit goes on | x_1..t), (L, K).
        self._visits: np.ndarray | None = None
        self._steps: Any = None
        self.state: Any = None
        self.log_likelihood: float = 0.0
        self.total_log_likelihood: float = 0.0
        self.n_observations: int = 0

    def __repr__(self) -> str:
        return f"Filter({self._observation.options.name}, n_observations={self.n_observations})"

    def __getstate__(self) -> dict[str, Any]:
        # Weights are as large as the counts that they are soon made of again.
        made_again = "_chain", "_log_durations"
        return {name: value for name, value in vars(self).items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._chain, self._log_durations = _chain_of(self._learned)

    def __copy__(self) -> "Filter":
        other = object.__new__(Filter)
        vars(other).update(vars(self))
        return other

    @property
    def proba(self) -> np.ndarray | None:
        """p(z_t | x_1..t) after the last observation; None before the first."""
        return None if self._visits is None else np.exp(logsumexp(self._visits, axis=0))

    def update(self, observation: Any) -> np.ndarray:
        """Take the next observation.

        Parameters
        ----------
        observation : object
            A symbol; of models of numbers a number, or the `n_columns_` numbers or labels of the
            step. A row with names, such as a dict, a Series or a frame of one row, is read by these
            where the model was fitted to frames. None or NaN where it is missing.

        Returns
        -------
        ndarray of shape (n_components,)
            `proba`: p(z_t | x_1..t).

        Raises
        ------
        ValueError
            If a symbol is unknown and ``handle_unknown="error"``, or a step has other columns, or
            names of others.

        Examples
        --------
        >>> from sklearn_cvb import EMHMM
        >>> X = [["dry", "dry", "wet", "wet"], ["wet", "wet", "dry"], ["dry", "dry", "dry"]]
        >>> model = EMHMM(2, random_state=0).fit(X)
        >>> rain = model.start_filter()
        >>> expected = model.filter_proba([["wet"]])[0][0]
        >>> bool((abs(rain.update("wet") - expected) < 1e-12).all())
        True
        >>> rain.update(None).shape, rain.n_observations
        ((2,), 2)
        """
        learned, (_, logs) = self._learned, self._chain
        observed, n = self._observation, learned.layout.n_emitting
        steps = observed.next_input(learned, self._steps, observation)
        read = observed.read_under(learned, steps, self._chain)
        emission = read.log_emissions()[-1]
        if self._visits is None:
            ahead = logs.start[:n] + self._log_durations
        else:
            entered = logsumexp(self._visits[0][:, None] + logs.transition[:n, :n], axis=0)
            ahead = entered + self._log_durations
            ahead[:-1] = np.logaddexp(ahead[:-1], self._visits[1:])
        joint = ahead + emission
        self.log_likelihood = total = float(logsumexp(joint))
        if total == -np.inf:
            joint = emission if np.isfinite(emission).any() else np.zeros(n)
            joint = joint + self._log_durations
            total = float(logsumexp(joint))
        self._visits = joint - total
        self.total_log_likelihood += self.log_likelihood
        self.n_observations += 1
        self._steps = steps
        proba = np.exp(logsumexp(self._visits, axis=0))
        best = np.full(len(read.corpus.tokens), proba.argmax(), np.int32)
        self.state = observed.arrange(learned.words, read.corpus, best)[0][-1]
        return proba


def _chain_of(learned: Learned) -> tuple[tuple[ChainWeights, ChainWeights], np.ndarray]:
    """Weights of predictions and their logs; log probabilities (L, K) of durations.

    Where these have no laws visits are steps: each state follows itself as its row says.
    """
    log_durations = np.zeros((1, learned.layout.n_emitting))
    if learned.layout.chain.longest:
        log_durations = learned.extra.numeric.predicting.log_durations(1)[0].T
    return predicting_weights(learned), log_durations
