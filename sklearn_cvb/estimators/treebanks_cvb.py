"""Collapsed variational Bayes for treebank grammars with latent annotations."""

from sklearn_cvb.estimators.treebanks import BaseLatentPCFG
from sklearn_cvb.learning.algorithms import CVB
from sklearn_cvb.reading.validation import Folder, Seed, StrOptions


class CVBLatentPCFG(BaseLatentPCFG):
    """Treebank grammar with latent annotations learned by collapsed variational Bayes.

    Learns a parser from trees: every symbol of the treebank is split into subtypes, which are
    hidden. Probabilities are integrated out, and the subtypes in each tree are inferred from the
    expected counts of all others.

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
    alpha : float, default=0.1
        Concentration of the Dirichlet priors, 1e-10 to 1e10: of every annotated rule, so that the
        prior of a symbol outweighs more counts the more subtypes there are.
    update : {"sequence", "token"}, default="sequence"
        "sequence": leave out a tree at a time, all its subtypes together (section 3.2). "token":
        a node at a time, as if the nodes of a tree were independent (section 3.4).
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop after two changes of the monitor in a row below this (nats per token).
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
        Expected counts under the last posteriors.
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
        `loo_score_`.
    history_ : ndarray of shape (n_iter_,)
        Mean log normaliser per token of every sweep (nats): a monitor, not a bound; it may fall.
        With update="token" that of a pass over the trees after the sweep.
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
    loo_score_ : float
        Mean over tokens of log p(tree i | expected counts of all other trees), nats. A pseudo
        leave-one-out score: the other trees' posteriors have seen tree i, so it is optimistic.

    References
    ----------
    Matsuzaki, Miyao and Tsujii (2005), "Probabilistic CFG with latent annotations", ACL.
    Petrov, Barrett, Thibaux and Klein (2006), "Learning accurate, compact, and interpretable tree
    annotation", ACL.
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL, 3.2, 4.3.

    Examples
    --------
    >>> from sklearn_cvb import CVBLatentPCFG
    >>> trees = [
    ...     "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    ...     "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    ... ]
    >>> model = CVBLatentPCFG(rare_threshold=0, random_state=0).fit(trees)
    >>> print(model.predict([["the", "cat", "ran"]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBD ran)))
    """

    _sweeps = CVB
    _in_place_of_leaving_out = "use VBLatentPCFG"

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLatentPCFG._parameter_constraints,
        "update": [StrOptions({"sequence", "token"})],
    }

    def __init__(
        self,
        *,
        n_subtypes: int = 2,
        schedule: str = "fixed",
        round_length: int = 20,
        merge_share: float = 0.5,
        alpha: float = 0.1,
        update: str = "sequence",
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
        self.update = update
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
