"""Collapsed Hastings sampling for word alignment by a hidden Markov model."""

from typing import Any

from sklearn_cvb.estimators.alignment import BaseAlignmentHMM
from sklearn_cvb.estimators.sampling import CONSTRAINTS, chain_of
from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.validation import Folder, Seed


class GibbsAlignmentHMM(BaseAlignmentHMM):
    """Word alignment by a hidden Markov model learned by a collapsed sampler over whole pairs.

    Probabilities are integrated out. The alignment of each pair is proposed from the posterior
    means given all other pairs, and accepted or rejected (Hastings) so that the samples follow the
    exact posterior.

    Parameters
    ----------
    alpha : float, default=0.5
        Concentration of the Dirichlet prior of jumps, 1e-10 to 1e10.
    beta : float, default=0.001
        Concentration of the Dirichlet priors of translations, a row for each source word and one
        for target words without a source, 1e-10 to 1e10.
    p_null : float or tuple (without, with), default=0.2
        The probability that a target word has no source, 0 to below 1; or, to have it learned, the
        two parameters of its Beta prior, for words without a source and with one (EM:
        pseudo-counts).
    longest_jump : int, default=10
        Jumps so far and farther, forwards or backwards, share a probability, and the positions that
        such a jump can reach are equally likely.
    dictionary : dict or None, default=None
        Translations that are known: source word -> list of target words, or -> target word ->
        weight. A weight (1 in a list) is prior mass beside `beta`, a number of times that the words
        were seen linked.
    n_burn_in : int or None, default=None
        Sweeps before samples are kept; None for half of `max_iter`. A fit that goes on with a chain
        (`warm_start`) keeps to the burn-in of the fit that began it.
    thin : int, default=10
        Keep every `thin`-th sample.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=200
        Number of sweeps.
    tol : float, default=1e-4
        Ignored: a sampler runs all its sweeps.
    init : {"ibm1", "even", "random"}, list of arrays, or model, default="ibm1"
        Where to start: the links that first counts come from. "ibm1": those of IBM model 1, by
        collapsed variational Bayes. "even": all equally likely. "random": those of each target word
        from Dirichlet(1). A table for each pair, of the form that `predict_proba` gives. A fitted
        model: what it predicts for the pairs. Only "random" differs between restarts, but for
        samplers.
    init_sweeps : int, default=5
        Sweeps of IBM model 1 with init="ibm1".
    handle_unknown : {"error", "smooth"}, default="smooth"
        Words that are new in `predict` or `score`, of either side: refuse them, or let one more
        word stand for them, with prior mass.
    supervision : {"y", "none"}, default="y"
        Whether `fit` learns from the links in `y` where they are known. With "none" `y` is ignored:
        choosing `beta` by F1 must not train on the gold links.
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
    counts_ : AlignmentCounts
        Mean counts of the kept samples.
    lexicon_ : Lexicon
        p(target word | source word), to be read: ``lexicon_.translations("house")``.
    jumpprob_ : ndarray of shape (2 * longest_jump + 1,)
        p(jump), from -longest_jump to longest_jump positions; the ends stand for all farther ones.
    p_null_ : float
        The probability that a target word has no source.
    labels_ : ndarray
        The source of each target word of the training pairs, in the form that `predict` gives: the
        most probable one by `link_proba_`.
    link_proba_ : ndarray
        Link posteriors of the training pairs, in the form that `predict_proba` gives, float32: how
        often the kept samples have each link.
    source_vocabulary_, vocabulary_ : ndarray of shape (n_known,)
        The known source words, and the known target words.
    objective_ : float
        Mean of log p(x, a | alpha, beta) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, a | alpha, beta) of the sample after every sweep (nats).
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol` (never).
    alpha_, beta_ : float
        The concentrations.
    unexplained_ : ndarray
        Indices of training pairs without an alignment of any weight; they are left out of the
        counts.
    acceptance_rate_ : float
        Share of proposed alignments that were accepted, over all sweeps.

    References
    ----------
    Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation", COLING.
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT, for the Hastings step.

    Examples
    --------
    >>> from sklearn_cvb import GibbsAlignmentHMM
    >>> pairs = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
    >>> X = [(source.split(), target.split()) for source, target in pairs]
    >>> model = GibbsAlignmentHMM(max_iter=50, thin=1, random_state=0).fit(X)
    >>> model.lexicon_.translations("house", 1)[0][0]
    'casa'
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseAlignmentHMM._parameter_constraints,
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.001,
        p_null: float | tuple[float, float] = 0.2,
        longest_jump: int = 10,
        dictionary: dict | None = None,
        n_burn_in: int | None = None,
        thin: int = 10,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        init: Any = "ibm1",
        init_sweeps: int = 5,
        handle_unknown: str = "smooth",
        supervision: str = "y",
        warm_start: bool = False,
        checkpoint: Folder | None = None,
        checkpoint_every: int | str = "60s",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.p_null = p_null
        self.longest_jump = longest_jump
        self.dictionary = dictionary
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.init_sweeps = init_sweeps
        self.handle_unknown = handle_unknown
        self.supervision = supervision
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _algorithm(self) -> Gibbs:
        return chain_of(self)

    def _fixed_start(self, read: Reading) -> str:
        """Nothing: chains differ wherever they begin."""
        return ""
