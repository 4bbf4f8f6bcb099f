"""Collapsed variational Bayes for hidden Markov models (Wang and Blunsom 2013, section 4)."""

import warnings
from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.annotations import Seed
from sklearn_cvb.fitting import Fit
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.batches import largest_share
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
)
from sklearn_cvb.hmm.start import Start
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.lattice import Problem
from sklearn_cvb.topology import Topology
from sklearn_cvb.validation import Interval, InvalidParameterError, Options, StrOptions

# One sequence that holds most of the tokens is scored in windows of this many.
_SCORE_WINDOW = 100


class CVBHMM(BaseHMM):
    """Hidden Markov model learned by collapsed variational Bayes.

    Parameters are integrated out, and the states of each sequence are inferred from the expected
    counts of all others: as accurate as sampling at the price of EM.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.
    end_state : bool, default=False
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
        Taggers gain or lose a point or two by it, depending on the corpus.
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None, default=None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    update : {"sequence", "token"}, default="sequence"
        What is left out and inferred from all the rest: a sequence at a time (the paper's
        Algorithm 2) or a token at a time (Algorithm 1).
    order : {1, 2}, default=1
        With ``update="token"``: the order of the Taylor expansion of each expected log count. 2
        adds the second-order term (the paper's footnote 2), for comparison.
    block_length : int or None, default=None
        With ``update="sequence"``: leave out windows of this many tokens instead of whole
        sequences, conditioned on the messages at their borders. For corpora of one or few long
        sequences.
    batch_size : int, default=1
        With ``update="sequence"``: leave out and infer so many sequences together, each from the
        counts of those outside its batch. 1 is the published algorithm. 8 to 32 halve the time
        where every token may take every state; otherwise nothing is gained. Batches hold sequences
        of similar length.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop after two changes of the monitor in a row below this (nats per token).
    init : {"token", "context", "word", "parameter", "unambiguous"}, arrays, model, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "context": each token's posterior from what its neighbours may be (None means this
        with a dictionary that `denoise` cleans, "unambiguous" if there are labels, too; not for
        Gibbs). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). Arrays: the posteriors of each training sequence, shape (length,
        n_components). A fitted model of this family over the same vocabulary and states: its counts
        (within a search wrap it in `sklearn.frozen.FrozenEstimator`). From "context",
        "unambiguous", arrays or a model all restarts would be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior. Random numbers go on, too: two fits of 20 sweeps are one of 40.
    random_state : int, RandomState or None, default=None
        Seed of all that is random: the starts, and what is drawn later.
    n_jobs : int or None, default=None
        Threads that run restarts; the result does not depend on it.
    verbose : int, default=0
        1 prints a line per restart, 2 a line per sweep.

    Attributes
    ----------
    counts_ : HMMCounts
        Expected counts under the last posteriors.
    startprob_, transmat_, emissionprob_ : ndarray
        Posterior means, shapes (n_components,), (n_components, n_components) and
        (n_components, n_symbols); rows sum to 1; the unknown item is the last symbol.
    endprob_ : ndarray of shape (n_components,)
        Probability that a sequence ends after each state. Only with `end_state`: the rows of
        `transmat_` then sum to 1 minus it.
    end_counts_ : ndarray of shape (n_components,) or None
        Count of the sequences that end in each state, as in `counts_`; None without `end_state`.
    labels_ : ndarray
        States of the training sequences: at each token the one with the largest q(z_t).
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    objective_ : float
        `loo_score_`.
    history_ : ndarray of shape (n_iter_,)
        Mean log normaliser per token of every sweep (nats): a monitor, not a bound; it may fall.
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol`.
    alpha_, beta_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sequences that no path explains; they are left out of the counts.
    loo_score_ : float
        Mean over tokens of log p(x_i | expected counts of all other sequences), nats; with
        `batch_size` above 1 of all other batches. A pseudo leave-one-out score: the other
        sequences' posteriors have seen x_i, so it is optimistic. Report it beside a held-out
        likelihood, not instead of one.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for hidden Markov models",
    AISTATS: figure 3 (token) and eq. 25 (sequence).

    Examples
    --------
    >>> from sklearn_cvb import CVBHMM
    >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"], ["b", "a"]]
    >>> model = CVBHMM(n_components=2, n_init=5, random_state=0).fit(X)
    >>> states = model.predict(X)
    >>> bool((states[0][::2] == states[0][0]).all())
    True
    """

    _patience = 2
    _history_is_total = False

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseHMM._parameter_constraints,
        "update": [StrOptions({"sequence", "token"})],
        "order": [Options(Integral, {1, 2})],
        "block_length": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        topology: str | ArrayLike = "full",
        end_state: bool = False,
        alpha: float | str = 0.1,
        beta: float | str = 0.1,
        start_alpha: float | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        beta_prior: tuple[float, float] = (1.0, 1.0),
        update: str = "sequence",
        order: int = 1,
        block_length: int | None = None,
        batch_size: int = 1,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "smooth",
        vocabulary: Collection | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.topology = topology
        self.end_state = end_state
        self.alpha = alpha
        self.beta = beta
        self.start_alpha = start_alpha
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self.update = update
        self.order = order
        self.block_length = block_length
        self.batch_size = batch_size
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.handle_unknown = handle_unknown
        self.vocabulary = vocabulary
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _left_out(self) -> LeftOut:
        """What is left out at a time."""
        learns = self.batch_size > 1 and "auto" in (self.alpha, self.beta)
        return LeftOut(self.update, self.block_length, self.batch_size, learns)

    @property
    def _default_start(self) -> str:
        return "word" if self.update == "token" else "parameter"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.order == 2 and self.update != "token":
            raise InvalidParameterError(
                f"order=2 needs update='token', got update={self.update!r}: the sequence update is "
                "first-order only"
            )
        if self.batch_size > 1 and (self.update == "token" or self.block_length is not None):
            raise InvalidParameterError(
                f"batch_size={self.batch_size} leaves out whole sequences: it needs "
                f"update='sequence' and block_length=None, got update={self.update!r} and "
                f"block_length={self.block_length!r}"
            )

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
        lengths = np.diff(problem.corpus.starts)
        if self.update == "sequence" and self.block_length is None:
            longest = int(lengths.argmax())
            if 2 * lengths[longest] > lengths.sum():
                warnings.warn(
                    f"sequence {longest} holds more than half of all tokens: with "
                    "update='sequence' its own counts are left out and it is inferred from little "
                    "more than the prior; use update='token', or block_length=100 to leave out "
                    "100 tokens at a time",
                    UserWarning,
                    stacklevel=5,
                )
            elif self.batch_size > 1 and 2 * largest_share(problem, self.batch_size) > 1:
                warnings.warn(
                    f"with batch_size={self.batch_size} a batch holds more than half of all tokens "
                    "and is inferred from little more than the prior; use a smaller batch_size",
                    UserWarning,
                    stacklevel=5,
                )

    def _resumable(self, problem: Problem) -> Fit | None:
        fit = super()._resumable(problem)
        return None if fit is None or fit.state.left_out != self._left_out else fit

    def _with_parameters_of_now(self, state: CVBState, problem: Problem) -> CVBState:
        asked = super()._with_parameters_of_now(state, problem)
        state = resumed(state, problem)
        return under(asked.concentrations, asked.prior, state, problem.cells)

    def _sweep(
        self, state: CVBState, problem: Problem, rng: np.random.Generator
    ) -> tuple[CVBState, float]:
        if state.concentrations.learned:
            concentrations = learned(state, problem)
            prior = self._priors(problem.cells, concentrations)
            state = under(concentrations, prior, state, problem.cells)
        state = state._replace(n_sweeps=state.n_sweeps + 1)
        if self.update == "token":
            return sweep_by_token(state, problem, self.order)
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
