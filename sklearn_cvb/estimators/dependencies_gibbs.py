"""Collapsed Hastings sampling for the dependency model with valence."""

from collections.abc import Collection
from typing import Any

from sklearn_cvb.estimators.dependencies import BaseDMV
from sklearn_cvb.estimators.sampling import SamplerMixin
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.validation import Folder, Seed


class GibbsDMV(SamplerMixin, BaseDMV):
    """Dependency model with valence learned by a collapsed sampler over whole trees.

    Probabilities are integrated out. The tree of each sentence is proposed from the posterior means
    given all other trees, and accepted or rejected (Hastings) so that the samples follow the exact
    posterior.

    Parameters
    ----------
    alpha : float or "auto", default=0.1
        Concentration of the Dirichlet priors of attachments: of what each tag takes on either side,
        and of the root, 1e-10 to 1e10. "auto" learns it while fitting (one step of Wang and Blunsom
        2013, HMM, eq. 29, a sweep, from sweep 20 on).
    alpha_stop : float, "auto" or None, default=None
        The same for decisions to stop or to go on; None for one concentration of both.
    alpha_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma prior of what is "auto".
    extended_valence : bool, default=False
        Whether attachments, too, depend on whether the head has a child on that side yet.
    backoff : {"head", "direction"} or None, default=None
        Coarser tables to share what is seen (Headden, Johnson and McClosky 2009): each attachment
        is drawn from its own table or from a coarse one, p(child | head, side) ("head", which needs
        `extended_valence`) or p(child | side) ("direction"). How often from which is learned for
        each own table.
    alpha_backoff : float, default=1.0
        Concentration of the Dirichlet prior of own against coarse table; EM: a pseudo-count.
    rule_weights : dict or None, default=None
        What is known of the language: ``{(head, child): weight}``, None as head for the root; a
        tuple of tags stands for any of them. The weight is prior mass (a number of attachments)
        that the rule's cells, on both sides, share as they do harmonic counts. The harmonic start
        is tilted towards the rules as well. See the page on dependencies.
    temperatures : tuple (first, last) or None, default=None
        Annealing: temperature of the first and of the last sweep, linear in between. None samples
        the posterior.
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
    init : {"harmonic", "uniform", "random"} or model, default="harmonic"
        Where to start: an E-step under these weights, or for samplers trees drawn under them.
        "harmonic": as if each token chose its head alone, the nearer the likelier, in proportion to
        1 / distance (Klein and Manning 2004). "uniform": equal, with 1 % of noise. "random": each
        row from Dirichlet(1). A fitted model: its posterior means; tags that it does not know are
        its unknown one. From "harmonic" or a model only one restart is run, but for samplers.
    handle_unknown : {"error", "smooth", "rare"}, default="smooth"
        Tags outside the vocabulary: refuse them; let one more tag stand for them, with prior mass;
        or give that tag the mean expected counts of the tags seen once as well.
    vocabulary : collection or None, default=None
        The known tags; None for those seen in `fit`.
    supervision : {"y", "none"}, default="y"
        Whether `fit` learns from the heads in `y` where they are known. With "none" `y` is ignored:
        choosing `alpha` by accuracy must not train on the gold heads.
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
    counts_ : DMVCounts
        Mean counts of the kept samples.
    rootprob_ : ndarray of shape (n_types,)
        p(tag of the root). Here and below the unknown tag, if there is one, is the last.
    attachprob_ : ndarray of shape (n_types, 2, n_types)
        p(child | head, side): by head, side of the child (0 left, 1 right), child. With
        `extended_valence` p(child | head, side, valence), of shape (n_types, 2, 2, n_types). With
        `backoff` own and coarse tables together.
    stopprob_ : ndarray of shape (n_types, 2, 2)
        p(stop | head, side, valence): valence 0 without and 1 with a child on that side.
    mixtureprob_, ownprob_, coarseprob_ : ndarray
        With `backoff` alone: how likely own and coarse tables are, by head, side, valence if any,
        and which; and p(child | ...) in either.
    labels_ : ndarray
        Heads of the training sentences, in the form that `predict` gives: the tree
        sampled most often in the last tenth of the sweeps.
    vocabulary_ : ndarray of shape (n_known,)
        The known tags.
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
    alpha_, alpha_stop_ : float
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sentences without a tree; they are left out of the counts.
    acceptance_rate_ : float
        Share of proposed trees that were accepted, over all sweeps.

    References
    ----------
    Klein and Manning (2004), "Corpus-based induction of syntactic structure: models of dependency
    and constituency", ACL.
    Johnson, Griffiths and Goldwater (2007), "Bayesian inference for PCFGs via Markov chain Monte
    Carlo", NAACL-HLT.
    Eisner (1996) for the chart.

    Examples
    --------
    >>> from sklearn_cvb import GibbsDMV
    >>> text = ["DET NOUN VERB", "NOUN VERB", "PRON VERB DET NOUN", "PRON VERB", "PRON VERB NOUN"]
    >>> X = [tags.split() for tags in text]
    >>> model = GibbsDMV(max_iter=200, random_state=0).fit(X)
    >>> bool(0.5 < model.acceptance_rate_ <= 1)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseDMV._parameter_constraints,
        **SamplerMixin._parameter_constraints,
        "temperatures": [tuple, None],
    }

    def __init__(
        self,
        *,
        alpha: float | str = 0.1,
        alpha_stop: float | str | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        extended_valence: bool = False,
        backoff: str | None = None,
        alpha_backoff: float = 1.0,
        rule_weights: dict | None = None,
        temperatures: tuple[float, float] | None = None,
        n_burn_in: int | None = None,
        thin: int = 10,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        init: Any = "harmonic",
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
        self.alpha = alpha
        self.alpha_stop = alpha_stop
        self.alpha_prior = alpha_prior
        self.extended_valence = extended_valence
        self.backoff = backoff
        self.alpha_backoff = alpha_backoff
        self.rule_weights = rule_weights
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

    def _fixed_start(self, read: Reading) -> str:
        """Nothing: chains differ wherever they begin."""
        return ""
