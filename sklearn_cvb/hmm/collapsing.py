"""Collapsed variational Bayes on symbols: how `sklearn_cvb.hmm.cvb.CVBHMM` sweeps."""

import warnings
from typing import Any

import numpy as np

from sklearn_cvb.hmm.collapsed import (
    CVBState,
    LeftOut,
    as_sequences,
    first_state,
    learned,
    leave_out_score,
    posterior_of,
    resumed,
    score_of_tokens,
    sweep_by_sequence,
    sweep_by_token,
    under,
    units_of,
)
from sklearn_cvb.hmm.growing import added_to
from sklearn_cvb.hmm.parameters import HMMCounts, posterior_mean, tally_of
from sklearn_cvb.hmm.start import Start
from sklearn_cvb.hmm.streaming import StreamingHMM
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.streaming import Running, Swept
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import InvalidParameterError

# One sequence that holds most of the tokens is scored in windows of this many.
_SCORE_WINDOW = 100
HALF_OF_ALL = (
    "sequence {} holds more than half of all tokens: with update='sequence' its own counts are "
    "left out and it is inferred from little more than the prior; use update='token', or "
    "block_length=100 to leave out 100 tokens at a time"
)


class CollapsedHMM(StreamingHMM):
    """Start, sweep and score of collapsed variational Bayes; `update` says what is left out."""

    update: str
    block_length: int | None

    _patience = 2
    _history_is_total = False

    @property
    def _left_out(self) -> LeftOut:
        """What is left out at a time."""
        return LeftOut(self.update, self.block_length)

    @property
    def _default_start(self) -> str:
        return "word" if self.update == "token" else "parameter"

    def _check_topology(self, topology: Topology | None) -> None:
        if self.update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' infers tokens as if they were independent, which gives paths that "
                "topology rules out a probability: use update='sequence'"
            )

    def _start(self, problem: Problem, rng: np.random.Generator) -> CVBState:
        """First posteriors and their counts."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)

        def starting_point() -> Start:
            return self._starting_point(problem, prior, rng)

        return first_state(problem, starting_point, prior, concentrations, self._left_out)

    def _warn_of_data(self, problem: Problem) -> None:
        """Warn where leaving out a sequence leaves little to learn from."""
        if self._is_numeric:
            # There windows are the rule.
            return
        lengths = np.diff(problem.corpus.starts)
        if self.update == "sequence" and self.block_length is None:
            longest = int(lengths.argmax())
            if 2 * lengths[longest] > lengths.sum():
                warnings.warn(HALF_OF_ALL.format(longest), UserWarning, stacklevel=5)

    def _with_parameters_of_now(self, state: CVBState, problem: Problem) -> CVBState | None:
        if state.left_out != self._left_out:
            return None
        asked = super()._with_parameters_of_now(state, problem)
        state = resumed(state, problem)
        return under(asked.concentrations, asked.prior, state, problem.cells)

    def _stripped(self, state: CVBState) -> CVBState:
        """Without the layout, but for the messages that windows leave each other."""
        layout: Any = state.layout
        return state._replace(layout=layout and layout.borders)

    def _completed(self, state: CVBState, problem: Problem) -> CVBState:
        layout = units_of(problem, state.left_out)
        borders: Any = state.layout
        if layout is not None and borders is not None:
            layout = layout._replace(borders=borders)
        return state._replace(layout=layout)

    def _sweep(
        self, state: CVBState, problem: Problem, rng: np.random.Generator
    ) -> tuple[CVBState, float]:
        if state.concentrations.learned:
            concentrations = learned(state, problem)
            prior = self._priors(problem.cells, concentrations)
            state = under(concentrations, prior, state, problem.cells)
        state = state._replace(n_sweeps=state.n_sweeps + 1)
        if self.update == "token":
            return sweep_by_token(state, problem)
        return sweep_by_sequence(state, problem)

    def _ranked(self, fit: Fit, problem: Problem) -> Fit:
        fit = super()._ranked(fit, problem)
        if self.warm_start:
            return fit
        # Nothing needs the pairs any more, the largest part of a state.
        return fit._replace(state=fit.state._replace(pairs=np.empty(0)))

    def _objective(self, fit: Fit, problem: Problem) -> float:
        """The leave-one-out score, in a pass of its own with all counts frozen."""
        state, lengths = fit.state, np.diff(problem.corpus.starts)
        if self.update == "token":
            window = self.block_length
            if window is None and 2 * lengths.max() > lengths.sum():
                window = _SCORE_WINDOW
            # Windows that cut nothing are sequences, and their score compiles sooner.
            if window is None or window >= lengths.max():
                return score_of_tokens(state, problem)
            state = as_sequences(state, problem, window)
        return leave_out_score(state, problem)

    def _posterior(self, state: CVBState, problem: Problem) -> np.ndarray:
        """The last q(z_t) of every (token, state) entry."""
        return posterior_of(state)

    def _label_path(self, state: CVBState, problem: Problem) -> np.ndarray:
        """The state with the largest q(z_t)."""
        path = np.empty(len(problem.corpus.tokens), np.int32)
        best_states(problem.lattice, self._posterior(state, problem), 0, len(path), path)
        return path

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        return {"loo_score_": best.objective}

    def _swept_batch(
        self, problem: Problem, running: Running | None, rng: np.random.Generator
    ) -> Swept:
        """A sweep over the batch, each sequence from the counts so far and the batch's others.

        The counts so far are part of the prior. Posteriors begin as inferred from them alone.
        """
        concentrations = self._first_concentrations()
        if running is None:
            state = self._start(problem, rng)
        else:
            counts = HMMCounts(*running.counts)
            prior = added_to(self._priors(problem.cells, concentrations), counts, problem.cells)
            nothing = HMMCounts(*map(np.zeros_like, counts))
            start = Start(None, posterior_mean(nothing, prior, problem.cells))
            state = first_state(problem, lambda: start, prior, concentrations, self._left_out)
        state, value = self._sweep(state, problem, rng)
        score = self._objective(Fit(state, [value], False), problem)
        return Swept(state, state.counts, lambda scale: (value, score))

    def _with_running_counts(self, state: Any, counts: tuple, problem: Problem) -> Any:
        prior = self._priors(problem.cells, state.concentrations)
        tally = tally_of(HMMCounts(*counts), None if state.layout is None else prior, problem.cells)
        return state._replace(tally=tally, prior=prior, pairs=np.empty(0))
