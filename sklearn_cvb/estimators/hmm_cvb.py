"""Collapsed variational Bayes for hidden Markov models (Wang and Blunsom 2013, section 4)."""

from collections.abc import Collection
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from sklearn_cvb.estimators.hmm import BaseHMM
from sklearn_cvb.learning.algorithms import CVB
from sklearn_cvb.learning.online import CONSTRAINTS, partial_fit
from sklearn_cvb.reading.validation import Folder, Interval, Seed, StrOptions


class CVBHMM(BaseHMM):
    """Hidden Markov model learned by collapsed variational Bayes.

    Parameters are integrated out, and the states of each sequence are inferred from the expected
    counts of all others: as accurate as sampling at the price of EM.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states.
    emission : str or object of `sklearn_cvb.emissions`, default="categorical"
        What a state emits: symbols ("categorical"), or numbers: "gaussian", "bernoulli", "poisson",
        or an object that says more, such as ``Gaussian(covariance_type="diag")``. With numbers a
        sequence is an array of shape (length, n_columns), or (length,) for a single column, with
        NaN where values are missing; `init` is "kmeans" (the default), "token", arrays or a fitted
        model; `beta`, `handle_unknown` and `vocabulary` are for symbols alone. CVB leaves out
        sequences, or windows of `block_length` steps (100 where one series holds most of them; 1
        for single steps); Gibbs sampling draws by "parameter".
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow.
        ``update="token"`` takes "full" and "independent" alone: tokens that are updated one at a
        time cannot keep to a path.
    supervision : {"none", "y"}, default="none"
        Whether `fit` learns from the states in `y` where they are known: for each sequence its
        states 0 to n_components - 1, -1 or None where unknown. With "none" `y` is ignored: choosing
        among models by what `y` says must not train on it.
    end_state : bool, default=False
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
        Taggers gain or lose a point or two by it, depending on the corpus.
    transition_prior : {"dirichlet", "hdp"}, default="dirichlet"
        "hdp": the rows of transitions share weights of the states, which are learned, and states
        that are not needed get next to none (a truncated hierarchical Dirichlet process);
        `n_components` is then the largest number of states, `alpha` a row's total concentration.
    gamma : float or "auto", default=1.0
        With "hdp": concentration of the weights, 1e-10 to 1e10. More makes more states likely.
        "auto" learns it while fitting.
    sticky : float, default=0.0
        Added to the concentration of staying in each state (Fox et al. 2011).
    alpha : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.1
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None, default=None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
    gamma_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma prior of `gamma` where it is "auto".
    update : {"sequence", "token"}, default="sequence"
        What is left out and inferred from all the rest: a sequence at a time (the paper's
        Algorithm 2) or a token at a time (Algorithm 1).
    block_length : int or None, default=None
        With ``update="sequence"``: leave out windows of this many tokens instead of whole
        sequences, conditioned on the messages at their borders. For corpora of one or few long
        sequences.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop after two changes of the monitor in a row below this (nats per token).
    init : str, list of arrays or fitted model, default=None
        Where to start. "token": each token's posterior from Dirichlet(1) over its allowed states,
        times the weights of a dictionary that has some (None means this with a dictionary or
        labels). "context": each token's posterior from what its neighbours may be (None means this
        with a dictionary that `denoise` cleans, "unambiguous" if there are labels, too; not for
        Gibbs). "parameter": random weights and one E-step (None means this otherwise; for CVB's
        token update, "word"). "word": one posterior for all tokens of a word, from Dirichlet(0.1).
        "unambiguous": transitions counted between neighbouring tokens that have one allowed state
        each (Kupiec 1992). "merged": sweeps of VB in which pairs of states are joined while the
        bound rises; of symbols under ``transition_prior="hdp"`` alone. Arrays: the posteriors of
        each training sequence, shape (length, n_components). A fitted model of this family over the
        same vocabulary and states: its counts (within a search wrap it in
        `sklearn.frozen.FrozenEstimator`). From "context",
        "unambiguous", arrays or a model all restarts would be the same, and only one is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere.
    learning_decay : float in (0.5, 1], default=1.0
        With `partial_fit`: how fast steps get smaller. Where t batches of this size were seen, the
        last one makes up a share (learning_offset + t) ** -learning_decay of the counts, but no
        less than 1 / t, as if all were counted alike: so with 1. The smaller, the sooner are old
        counts forgotten.
    learning_offset : float, default=10.0
        With `partial_fit`: the larger, the longer are all batches counted alike.
    total_samples : int or None, default=None
        With `partial_fit`: of how many sequences there will be all counts are estimates; None for
        as many as were seen so far. Give it where sequences come several times.
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    warm_start : bool, default=False
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior. Random numbers go on, too: two fits of 20 sweeps are one of 40.
    checkpoint : path or None, default=None
        Folder in which the fit is saved while it runs. With ``warm_start=True`` the next `fit` on
        the same sequences, also in another process, goes on from there to `max_iter` sweeps, as if
        nothing had stopped it. One folder for each fit.
    checkpoint_every : int or str, default="60s"
        How often each restart is saved: after so many sweeps (10), or seconds ("60s"; seldomer
        where saving would take a twentieth of the time).
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
    n_columns_ : int
        Number of columns, where observations are numbers.
    means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        Of normal emissions, in the shapes of scikit-learn's mixtures: means (n_components,
        n_columns), the others by `covariance_type`. In a posterior, expected means and precisions.
    rates_, probabilities_ : ndarray of shape (n_components, n_columns)
        Of Poisson and Bernoulli emissions.
    category_probabilities_ : list of ndarray of shape (n_components, n_categories)
        Of `Categorical` emissions, for each column.
    parts_ : list of dict
        What each part of `Columns` leaves, by the names above; of categories
        `category_probabilities_`, an array of shape (n_components, n_categories) for each column.
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
    n_batches_seen_ : int
        Calls of `partial_fit` since the last `fit`.
    converged_ : bool
        Whether it stopped by `tol`.
    alpha_, beta_ : float
        Concentrations of the last sweep.
    state_weights_ : ndarray of shape (n_components,)
        With `transition_prior="hdp"`: the learned weights of the states, which sum to 1.
    gamma_ : float
        With "hdp": concentration of the weights in the last sweep.
    n_effective_components_ : int
        With "hdp": the number of states that hold at least one in a hundred training tokens, by
        `labels_`.
    unexplained_ : ndarray
        Indices of training sequences that no path explains; they are left out of the counts.
    loo_score_ : float
        Mean over tokens of log p(x_i | expected counts of all other sequences), nats. A pseudo
        leave-one-out score: the other sequences' posteriors have seen x_i, so it is optimistic.
        Report it beside a held-out likelihood, not instead of one.

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

    partial_fit = partial_fit

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseHMM._parameter_constraints,
        **CONSTRAINTS,
        "update": [StrOptions({"sequence", "token"})],
        "block_length": [Interval(Integral, 1, None, closed="left"), None],
    }

    _algorithm = CVB

    def __init__(
        self,
        n_components: int = 2,
        *,
        emission: Any = "categorical",
        topology: str | ArrayLike = "full",
        supervision: str = "none",
        end_state: bool = False,
        transition_prior: str = "dirichlet",
        gamma: float | str = 1.0,
        sticky: float = 0.0,
        alpha: float | str = 0.1,
        beta: float | str = 0.1,
        start_alpha: float | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        beta_prior: tuple[float, float] = (1.0, 1.0),
        gamma_prior: tuple[float, float] = (1.0, 1.0),
        update: str = "sequence",
        block_length: int | None = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "smooth",
        learning_decay: float = 1.0,
        learning_offset: float = 10.0,
        total_samples: int | None = None,
        vocabulary: Collection | None = None,
        warm_start: bool = False,
        checkpoint: Folder | None = None,
        checkpoint_every: int | str = "60s",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.emission = emission
        self.topology = topology
        self.supervision = supervision
        self.end_state = end_state
        self.transition_prior = transition_prior
        self.gamma = gamma
        self.sticky = sticky
        self.alpha = alpha
        self.beta = beta
        self.start_alpha = start_alpha
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self.gamma_prior = gamma_prior
        self.update = update
        self.block_length = block_length
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.handle_unknown = handle_unknown
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.total_samples = total_samples
        self.vocabulary = vocabulary
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _why_all_steps = (
        "update='token' infers tokens as if they were independent, which gives paths that "
        "topology rules out a probability: use update='sequence'"
    )
