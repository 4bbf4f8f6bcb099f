"""Collapsed variational Bayes for hidden Markov models (Wang and Blunsom 2013, section 4)."""

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.concentrations import Concentrations, learn, presence
from sklearn_cvb.hmm.first_units import first_batches, first_units, product_units
from sklearn_cvb.hmm.leave_out import leave_out_score, update_units
from sklearn_cvb.hmm.leave_out_batches import (
    Batches,
    batches_for,
    count_batches,
    largest_share,
    leave_batch_out_score,
    update_batches,
)
from sklearn_cvb.hmm.parameters import Prior
from sklearn_cvb.hmm.second_order import sweep_second_order
from sklearn_cvb.hmm.token_update import sweep_tokens, track_absence
from sklearn_cvb.hmm.units import (
    Absence,
    Floor,
    Tally,
    Units,
    by_token,
    count_units,
    counts_of,
    floor_of,
    full_absence,
    no_absence,
    tally_of,
)
from sklearn_cvb.kernels.decoding import best_states
from sklearn_cvb.run_lists import lists_for
from sklearn_cvb.validation import Interval, InvalidParameterError, Options, StrOptions

# One sequence that holds most of the tokens is scored in windows of this many.
_SCORE_WINDOW = 100
# Every so many sweeps counts are rebuilt from the posteriors, so that rounding does not build up.
_REBUILT = 20


class CVBState(NamedTuple):
    """What CVB carries between sweeps: posteriors, and the counts they sum to.

    `tally` are the counts, with the prior added unless tokens are left out. Nothing in it is below
    `floor`, the prior alone. `posterior` is in the units' layout and `pairs` holds their pair
    marginals; the token update uses neither `pairs` nor `right`. `batches` is None where one unit
    is left out at a time. `left_out` tells what is: `update`, `block_length` and `batch_size`.
    """

    tally: Tally
    prior: Prior
    floor: Floor
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    units: Units
    posterior: np.ndarray
    pairs: np.ndarray
    right: np.ndarray
    absence: Absence
    batches: Batches | None
    left_out: tuple

    @property
    def counts(self):
        """The expected counts (HMMCounts)."""
        return counts_of(self.tally, _added(self.left_out, self.prior))


def _added(left_out, prior):
    """The prior that the tally of a state holds: none if tokens are left out."""
    return None if left_out[0] == "token" else prior


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
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions. "auto" learns it
        while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions.
    start_alpha : float or None, default=None
        Concentration of the start row; None for `alpha`.
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
    init : {"token", "word", "parameter", "unambiguous"}, arrays, model or None, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). Arrays: the posteriors of each training sequence, shape (length,
        n_components). A fitted model of this family over the same vocabulary and states: its counts
        (within a search wrap it in `sklearn.frozen.FrozenEstimator`). From "unambiguous", arrays or
        a model all restarts would be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior.
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
        n_components=2,
        *,
        topology="full",
        alpha=0.1,
        beta=0.1,
        start_alpha=None,
        alpha_prior=(1.0, 1.0),
        beta_prior=(1.0, 1.0),
        update="sequence",
        order=1,
        block_length=None,
        batch_size=1,
        n_init=1,
        max_iter=100,
        tol=1e-4,
        init=None,
        handle_unknown="smooth",
        vocabulary=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.topology = topology
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
    def _left_out(self):
        """What is left out at a time."""
        return self.update, self.block_length, self.batch_size

    @property
    def _default_start(self):
        return "word" if self.update == "token" else "parameter"

    def _check_parameters(self):
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

    def _check_topology(self, topology):
        if self.update == "token" and topology is not None and not topology.tied:
            raise InvalidParameterError(
                "update='token' infers tokens as if they were independent, which gives paths that "
                "topology rules out a probability: use update='sequence'"
            )

    def _problem(self, X, y):
        problem = super()._problem(X, y)
        if self.update == "token" or self.batch_size > 1:
            return problem
        longest = np.diff(problem.corpus.starts).max()
        is_cut = self.block_length is not None and self.block_length < longest
        return problem._replace(lists=lists_for(problem, kept=not is_cut))

    def _start(self, problem, rng):
        """First posteriors and their counts."""
        self._check_blocks(problem)
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        start = self._starting_point(problem, prior, rng)
        by_token = self.update == "token"
        batches = None if self.batch_size == 1 else batches_for(problem, self.batch_size)
        if batches is not None:
            units, posterior, pairs = first_batches(problem, start, batches)
            counts = count_batches(batches, units, problem, posterior, pairs)
        else:
            if by_token:
                entries = starting.posterior_of(start, problem)
                units, posterior, pairs = product_units(problem, entries, None)
            else:
                units, posterior, pairs = first_units(problem, start, self.block_length)
            counts = count_units(units, problem, posterior, pairs)
        return CVBState(
            tally_of(counts, _added(self._left_out, prior), problem.cells),
            prior,
            floor_of(prior),
            concentrations,
            None,
            np.empty(0, np.intp),
            0,
            units,
            posterior,
            np.empty(0) if by_token else pairs,
            np.ones((len(units.begin) if units.borrowed.any() else 1, problem.cells.n_states)),
            no_absence(),
            batches,
            self._left_out,
        )

    def _check_blocks(self, problem):
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
                    stacklevel=2,
                )
            elif self.batch_size > 1 and 2 * largest_share(problem, self.batch_size) > 1:
                warnings.warn(
                    f"with batch_size={self.batch_size} a batch holds more than half of all tokens "
                    "and is inferred from little more than the prior; use a smaller batch_size",
                    UserWarning,
                    stacklevel=2,
                )

    def _resumable(self, problem):
        state = super()._resumable(problem)
        return None if state is None or state.left_out != self._left_out else state

    def _with_parameters_of_now(self, state, problem):
        asked = super()._with_parameters_of_now(state, problem)
        return self._under(asked.concentrations, state, problem.cells)

    def _under(self, concentrations, state, cells):
        """A state under other concentrations."""
        prior, tally = self._priors(cells, concentrations), state.tally
        # Under the same prior not a digit changes: a fit goes on as if it had never stopped.
        if not all(map(np.array_equal, prior, state.prior)):
            tally = tally_of(state.counts, _added(state.left_out, prior), cells)
        return state._replace(
            tally=tally,
            prior=prior,
            floor=floor_of(prior),
            concentrations=concentrations,
        )

    def _learned(self, state, cells):
        """The state after one step of the concentrations that are learned.

        The step needs to know which counts are absent: a fit that goes on and now learns what was
        fixed before looks for that first.
        """
        if state.absence.start.size:
            counts = state.counts
            concentrations = learn(
                state.concentrations,
                counts,
                cells,
                state.n_sweeps,
                dirichlet.fixed_point,
                lambda: presence(counts, state.absence, cells),
            )
            state = self._under(concentrations, state, cells)
        return state._replace(absence=full_absence(cells))

    def _sweep(self, state, problem, rng):
        if state.concentrations.learned:
            state = self._learned(state, problem.cells)
        else:
            state = state._replace(absence=no_absence())
        state = state._replace(n_sweeps=state.n_sweeps + 1)
        if self.update == "token":
            return _sweep_tokens(state, problem, self.order)
        update = update_units if state.batches is None else update_batches
        tally, value = update(state, problem, state.n_sweeps % _REBUILT == 0)
        return state._replace(tally=tally), value

    def _ranked(self, fit, problem):
        fit = super()._ranked(fit, problem)
        if self.warm_start:
            return fit
        # Nothing needs the pairs any more, the largest part of a state.
        return fit._replace(state=fit.state._replace(pairs=np.empty(0)))

    def _objective(self, fit, problem):
        """The leave-one-out score, in a pass of its own with all counts frozen."""
        state = fit.state
        if state.batches is not None:
            return leave_batch_out_score(state, problem)
        lengths = np.diff(problem.corpus.starts)
        window = self.block_length
        if window is None and self.update == "token" and 2 * lengths.max() > lengths.sum():
            window = _SCORE_WINDOW
        if self.update == "token":
            units, posterior, pairs = product_units(problem, state.posterior, window)
        else:
            units, posterior, pairs = state.units, state.posterior, state.pairs
        return leave_out_score(units, problem, state.counts, state.prior, posterior, pairs)

    def _posterior(self, state, problem):
        """The last q(z_t) of every (token, state) entry."""
        return by_token(state.units, problem.lattice.count, state.posterior)

    def _label_path(self, state, problem):
        """The state with the largest q(z_t)."""
        path = np.empty(len(problem.corpus.tokens), np.int32)
        best_states(problem.lattice, self._posterior(state, problem), 0, len(path), path)
        return path

    def _fitted_by_algorithm(self, best, problem):
        return {"loo_score_": best.objective}


def _sweep_tokens(state, problem, order):
    """Algorithm 1; the value is the mean log normaliser per token."""
    cells, lattice, starts = problem.cells, problem.lattice, problem.corpus.starts
    tables, prior = state.tally, state.floor
    if order == 2:
        total = sweep_second_order(tables, prior, lattice, starts, state.posterior)
    else:
        near, (result, mass) = np.zeros((5, cells.n_states)), np.empty((2, cells.n_states))
        total = sweep_tokens(tables, prior, lattice, starts, state.posterior, near, result, mass)
    if state.absence.start.size:
        track_absence(lattice, starts, state.posterior, state.absence)
    counts = starting.counts_from_marginals(problem, state.posterior)
    return state._replace(tally=tally_of(counts, None, cells)), total / problem.corpus.n_observed
