"""Collapsed Hastings sampling for probabilistic context-free grammars (Johnson et al. 2007)."""

from collections.abc import Collection
from typing import Any

from numpy.typing import ArrayLike

from sklearn_cvb.estimators.grammars import BasePCFG
from sklearn_cvb.estimators.sampling import SamplerMixin
from sklearn_cvb.grammar.layout import Layout
from sklearn_cvb.reading.validation import Folder, InvalidParameterError, Seed


class HastingsPCFG(SamplerMixin, BasePCFG):
    """Probabilistic context-free grammar learned by a collapsed Hastings sampler.

    Probabilities are integrated out. The tree of each sentence is proposed from the posterior means
    given all other trees, and accepted or rejected so that the samples follow the exact posterior.

    Parameters
    ----------
    grammar : str, nltk.CFG, nltk.PCFG, Grammar, list of trees or None, default=None
        The rules: text in NLTK's notation, a grammar of NLTK's, a `Grammar`, or a treebank to read
        the rules off. Right-hand sides may have any length and mix symbols with words; unary rules
        may form cycles; several words alone are one terminal. Empty rules are refused. The terminal
        ``<unk>`` stands for all words outside the vocabulary (see `handle_unknown`). None: all
        rules A -> B C and A -> word over `n_components` symbols.
    n_components : int, default=2
        Number of symbols where no grammar is given; the start symbol is one of them.
    rules : {"full", "independent"}, default="full"
        Where no grammar is given: one probability for each rule A -> B C; or p(A -> B C) =
        p(binary | A) p(B | A, left) p(C | A, right). Independent children cost a K-th, so that K =
        `n_components` may be in the hundreds (Liu et al. 2023). Then ``rules_`` has, for each
        symbol A, a left part ``A.left`` and a right part ``A.right``, with rules A -> A.left
        A.right, A.left -> B and A.right -> C in place of all A -> B C; trees do not show them.
    alpha : float, "auto", dict or array-like of shape (n_rules,), default=0.1
        Concentration of the Dirichlet prior of the rules of each symbol, 1e-10 to 1e10. A dict has
        one value per symbol, an array one per rule, in the order of ``rules_.rules``. "auto" learns
        one value while fitting (one step of Wang and Blunsom 2013, HMM, eq. 29, a sweep, from sweep
        20 on).
    alpha_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma prior of `alpha` where it is "auto".
    temperatures : tuple (first, last) or None, default=None
        Annealing: temperature of the first and of the last sweep, linear in between. None samples
        the posterior. Above 1 the grammar must have no cycle of unary rules.
    n_burn_in : int or None, default=None
        Sweeps before samples are kept; None for half of `max_iter`, with annealing nine tenths. A
        fit that goes on with a chain (`warm_start`) keeps to the burn-in, the temperatures and the
        last tenth of the fit that began it.
    thin : int, default=10
        Keep every `thin`-th sample.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=1000
        Number of sweeps.
    tol : float, default=1e-4
        Ignored: a sampler runs all its sweeps.
    init : {"parameter", "uniform", "trees", "grammar"}, array, model or None, default=None
        Where to start: an E-step under these weights, or for samplers trees drawn under them.
        "parameter": each symbol's from Dirichlet(1) (None means this without a grammar). "uniform":
        equal for the rules of each symbol, with 1 % of noise. "trees": equal for all rules, with 1
        % of noise, so that all trees of a sentence are alike; where terminals have several words,
        "uniform" prefers the longest by far. None means "trees" with a grammar that has such
        terminals (and no cycle of unary rules), else "uniform". "grammar": the probabilities of the
        given grammar (None means this where it has some). An array of shape (n_rules,): weights in
        the order of ``rules_.rules``. A fitted model over the same rules: its
        `rule_probabilities_`. From "grammar", an array or a model only one restart is run.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Words outside the vocabulary: refuse them; let the rules A -> ``<unk>`` derive them, which a
        model without grammar has for every symbol; or give these rules the mean expected count of
        the words seen once as well. A given grammar without ``<unk>`` cannot derive them.
    vocabulary : collection or None, default=None
        The known words where no grammar is given; None for those seen in `fit`.
    supervision : {"y", "none"}, default="y"
        Whether `fit` learns from the trees or brackets in `y` where they are known. With "none" `y`
        is ignored: choosing `alpha` by bracket scores must not train on the gold trees.
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
    counts_ : PCFGCounts
        Mean counts of the kept samples.
    rules_ : Grammar
        The rules as given, in the order of all arrays over rules.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Mean over the kept samples of the posterior means given the sample.
    grammar_ : nltk.PCFG
        The rules with these probabilities.
    symbols_ : ndarray of shape (n_symbols,)
        Labels of the nonterminal symbols.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: the trees sampled most
        often in the last tenth of the sweeps.
    vocabulary_ : ndarray of shape (n_words,)
        The known words.
    objective_ : float
        Mean of log p(x, t | alpha) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, t | alpha) of the sample after every sweep (nats).
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it stopped by `tol` (never).
    alpha_ : float or ndarray of shape (n_rules,)
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sentences that the grammar cannot derive; they are left out of the
        counts.
    acceptance_rate_ : float
        Share of proposed trees that were accepted, over all sweeps.

    References
    ----------
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT.

    Examples
    --------
    >>> from sklearn_cvb import HastingsPCFG
    >>> X = [["a", "a", "a"], ["a", "a"], ["a", "a", "a", "a"]]
    >>> model = HastingsPCFG("S -> S S | 'a'", max_iter=200, random_state=0).fit(X)
    >>> bool(0.9 < model.acceptance_rate_ <= 1)
    True
    >>> print(model.predict([["a", "a"]])[0])
    (S (S a) (S a))
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BasePCFG._parameter_constraints,
        **SamplerMixin._parameter_constraints,
        "temperatures": [tuple, None],
    }

    def __init__(
        self,
        grammar: Any = None,
        *,
        n_components: int = 2,
        rules: str = "full",
        alpha: float | str | dict | ArrayLike = 0.1,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        temperatures: tuple[float, float] | None = None,
        n_burn_in: int | None = None,
        thin: int = 10,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "smooth",
        vocabulary: Collection | None = None,
        supervision: str = "y",
        warm_start: bool = False,
        checkpoint: Folder | None = None,
        checkpoint_every: int | str = "60s",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grammar = grammar
        self.n_components = n_components
        self.rules = rules
        self.alpha = alpha
        self.alpha_prior = alpha_prior
        self.temperatures = temperatures
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.handle_unknown = handle_unknown
        self.vocabulary = vocabulary
        self.supervision = supervision
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_layout(self, layout: Layout) -> None:
        super()._check_layout(layout)
        has_cycles = len(layout.rules.member) > 0
        if self.temperatures is not None and max(self.temperatures) > 1 and has_cycles:
            raise InvalidParameterError(
                f"temperatures={self.temperatures!r} above 1 give the chains of a cycle of unary "
                "rules infinite weight: stay at 1 or below, or leave such cycles out"
            )
