"""EM for probabilistic context-free grammars: inside-outside, Wang and Blunsom (2013)."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

from numpy.typing import ArrayLike

from sklearn_cvb.estimators.grammars import BasePCFG
from sklearn_cvb.learning.algorithms import EM
from sklearn_cvb.learning.online import CONSTRAINTS, partial_fit
from sklearn_cvb.learning.stepwise import Pace, Stepwise
from sklearn_cvb.reading.validation import Folder, Interval, Seed, StrOptions


class EMPCFG(BasePCFG):
    """Probabilistic context-free grammar learned by expectation-maximisation (inside-outside).

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
    alpha : float, dict or array-like of shape (n_rules,), default=0.0
        Pseudo-count of every rule; 0 is maximum likelihood, 1e-10 to 1e10 maximum a posteriori in
        the softmax basis (adds alpha, not alpha - 1). A dict has one value per symbol, an array one
        per rule, in the order of ``rules_.rules``.
    update : {"batch", "sequence"}, default="batch"
        When weights change. "batch": after each sweep, from the counts of all sentences.
        "sequence": after every `batch_size` sentences (stepwise or online EM, Liang and Klein
        2009), which come in an order drawn anew for each sweep. Step k = 0, 1, ... keeps 1 - eta of
        the running counts and adds eta times the batch's, scaled up to the corpus, with eta = (k +
        2) ** -step_power; the first running counts are those of a batch E-step. Stops after two
        small changes in a row.
    batch_size : int, default=1
        Sentences between two updates with "sequence".
    step_power : float in (0.5, 1], default=0.7
        How fast steps get smaller with "sequence": the smaller, the sooner are old counts
        forgotten.
    n_init : int, default=1
        Number of restarts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of sweeps.
    tol : float, default=1e-4
        Stop when the objective changes by less than this per token.
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
        Expected counts after the last E-step; with "sequence" the running counts.
    rules_ : Grammar
        The rules as given, in the order of all arrays over rules.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Estimates; they sum to 1 over the rules of a symbol.
    grammar_ : nltk.PCFG
        The rules with these probabilities.
    symbols_ : ndarray of shape (n_symbols,)
        Labels of the nonterminal symbols.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: Viterbi trees under the
        final weights.
    vocabulary_ : ndarray of shape (n_words,)
        The known words.
    objective_ : float
        Log-likelihood plus the sum of pseudo-counts times log probabilities (nats), before the last
        update of the counts; with "sequence" under the final weights.
    history_ : ndarray of shape (n_iter_,)
        The objective of every sweep; with "sequence" from the likelihood of each sentence under
        the weights it met, which may fall.
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
    alpha_ : float or ndarray of shape (n_rules,)
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sentences that the grammar cannot derive; they are left out of the
        counts.

    References
    ----------
    Wang and Blunsom (2013), "Collapsed variational Bayesian inference for PCFGs", CoNLL:
    section 2.2;
    Pereira and Schabes (1992) for known brackets;
    Liang and Klein (2009), "Online EM for unsupervised models", NAACL-HLT, for "sequence".

    Examples
    --------
    >>> from sklearn_cvb import EMPCFG
    >>> X = [["they", "saw", "ducks"], ["they", "saw"], ["ducks", "swim"]]
    >>> text = '''
    ... S -> N V | N V N
    ... N -> 'they' | 'ducks'
    ... V -> 'saw' | 'swim'
    ... '''
    >>> model = EMPCFG(text, random_state=0).fit(X)
    >>> print(model.grammar_)
    Grammar with 6 productions (start state = S)
        S -> N V [0.666667]
        S -> N V N [0.333333]
        N -> 'they' [0.5]
        N -> 'ducks' [0.5]
        V -> 'saw' [0.666667]
        V -> 'swim' [0.333333]
    >>> print(model.predict([["they", "swim"]])[0])
    (S (N they) (V swim))
    """

    _zero_alpha = True

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: constraint
            for name, constraint in BasePCFG._parameter_constraints.items()
            if name != "alpha_prior"
        },
        **CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), dict, "array-like"],
        "update": [StrOptions({"batch", "sequence"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "step_power": [Interval(Real, 0.5, 1.0, closed="right")],
    }

    def __init__(
        self,
        grammar: Any = None,
        *,
        n_components: int = 2,
        rules: str = "full",
        alpha: float | dict | ArrayLike = 0.0,
        update: str = "batch",
        batch_size: int = 1,
        step_power: float = 0.7,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "smooth",
        learning_decay: float = 1.0,
        learning_offset: float = 10.0,
        total_samples: int | None = None,
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
        self.update = update
        self.batch_size = batch_size
        self.step_power = step_power
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.handle_unknown = handle_unknown
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.total_samples = total_samples
        self.vocabulary = vocabulary
        self.supervision = supervision
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    partial_fit = partial_fit

    def _algorithm(self) -> EM:
        if self.update == "batch":
            return EM()
        return Stepwise(Pace(self.batch_size, float(self.step_power)))

    def _algorithm_of_batches(self) -> EM:
        """Plain EM: a batch is inferred at once, whatever `update` says of a fit."""
        return EM()
