"""EM for treebank grammars with latent annotations (Matsuzaki et al. 2005)."""

from numbers import Real

import numpy as np

from sklearn_cvb.estimators.treebanks import BaseLatentPCFG
from sklearn_cvb.learning.algorithms import EM
from sklearn_cvb.reading.validation import Folder, Interval, Seed, check_concentrations


class EMLatentPCFG(BaseLatentPCFG):
    """Treebank grammar with latent annotations learned by expectation-maximisation.

    Learns a parser from trees: every symbol of the treebank is split into subtypes, which are
    hidden.

    Parameters
    ----------
    n_subtypes : int, default=2
        Number of subtypes of each symbol; with schedule="split-merge" the most that it can get.
    schedule : {"fixed", "split-merge"}, default="fixed"
        "fixed": all subtypes from the start. "split-merge" (Petrov et al. 2006): begin with one
        subtype, and in as many rounds as it takes to double it to `n_subtypes` split each in two,
        with 1 % of noise; after 70 % of a round's sweeps undo the splits that gain least.
    round_length : int, default=20
        Sweeps of each of these rounds; more sweeps may follow.
    merge_share : float, default=0.5
        Part of the splits that each round undoes, from 0 to below 1.
    alpha : float, default=0.0
        Pseudo-count of every annotated rule; 0 is maximum likelihood, above 0 maximum a posteriori
        in the softmax basis (adds alpha, not alpha - 1).
    smoothing : float, default=0.0
        Pseudo-count of every annotated rule that is added to the final counts, for prediction and
        scores only: what a prior gains there, without its effect on learning.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop when the objective changes by less than this per token.
    init : {"treebank", "random"}, default="treebank"
        Where to start: an E-step under these weights. "treebank": relative frequencies of the
        treebank's rules, alike for all subtypes but for 1 % of noise. "random": those of each
        annotated left-hand side from Dirichlet(1).
    rare_threshold : int, default=1
        Words seen so often or less are replaced by classes of words: how they begin, which marks
        they hold, how they end. Words that `fit` has not seen are read as the same classes.
    horizontal_markovisation : int or None, default=0
        Nodes with more than two children become binary by helper symbols, which stand for the rest
        of a node's children. How many of the children before the helper remembers; None for all.
    decoding : {"max-rule", "viterbi"}, default="max-rule"
        What `predict` looks for: the tree with the largest product of posteriors of its rules
        (Petrov and Klein 2007), or the one below the heaviest annotated tree.
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
        Threads that run restarts and parse sentences; the result does not depend on it.
    verbose : int, default=0
        1 prints a line per restart, 2 a line per sweep.

    Attributes
    ----------
    counts_ : LatentPCFGCounts
        Expected counts after the last E-step.
    rules_ : list of tuple
        The rules before annotation, as pairs (parent, children).
    rule_probabilities_ : ndarray of shape (n_cells,)
        Posterior means of all annotated rules, in the order of `counts_`.
    n_subtypes_ : dict
        Number of subtypes of each symbol.
    symbols_ : ndarray of shape (n_symbols,)
        Labels of the treebank.
    vocabulary_ : ndarray of shape (n_words,)
        Words that are not replaced by a class.
    objective_ : float
        Log-likelihood of the trees, annotations summed out, and log prior, nats.
    history_ : ndarray of shape (n_iter_,)
        The objective of every sweep, of the weights that it used.
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol`.
    alpha_ : float
        The concentration.
    unexplained_ : ndarray
        Indices of training trees without weight; they are left out of the counts.

    References
    ----------
    Matsuzaki, Miyao and Tsujii (2005), "Probabilistic CFG with latent annotations", ACL.
    Petrov, Barrett, Thibaux and Klein (2006), "Learning accurate, compact, and interpretable tree
    annotation", ACL.

    Examples
    --------
    >>> from sklearn_cvb import EMLatentPCFG
    >>> trees = [
    ...     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    ...     "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    ... ]
    >>> model = EMLatentPCFG(rare_threshold=0, random_state=0).fit(trees)
    >>> print(model.predict([["the", "cat", "ran"]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBD ran)))
    """

    _sweeps = EM

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLatentPCFG._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_subtypes: int = 2,
        schedule: str = "fixed",
        round_length: int = 20,
        merge_share: float = 0.5,
        alpha: float = 0.0,
        smoothing: float = 0.0,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: str = "treebank",
        rare_threshold: int = 1,
        horizontal_markovisation: int | None = 0,
        decoding: str = "max-rule",
        warm_start: bool = False,
        checkpoint: Folder | None = None,
        checkpoint_every: int | str = "60s",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_subtypes = n_subtypes
        self.schedule = schedule
        self.round_length = round_length
        self.merge_share = merge_share
        self.alpha = alpha
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.rare_threshold = rare_threshold
        self.horizontal_markovisation = horizontal_markovisation
        self.decoding = decoding
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("alpha", "smoothing"):
            check_concentrations(name, np.array(getattr(self, name)), or_zero=True)
