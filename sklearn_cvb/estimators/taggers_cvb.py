"""The tagger learned by collapsed variational Bayes: mostly what its parameters mean."""

from collections.abc import Collection
from typing import Any

from numpy.typing import ArrayLike

from sklearn_cvb.estimators.hmm_cvb import CVBHMM
from sklearn_cvb.estimators.taggers import TaggerMixin
from sklearn_cvb.reading.validation import Folder, Seed


class CVBHMMTagger(TaggerMixin, CVBHMM):
    """Tagger learned by collapsed variational Bayes from raw text, a dictionary and any labels.

    `sklearn_cvb.display.TaggedSentence` shows what it makes of a sentence.

    Parameters
    ----------
    tag_dictionary : dict or None, default=None
        Maps a word to its legal tags, or to a dict that says how often each was seen, such as
        ``{"a": {"DT": 980, "LS": 1}}`` (see `tag_dictionary_from`). Words missing from it may take
        the tags that `unknown_tags` and `handle_unknown` leave them. Looked up by the word itself,
        also outside the vocabulary.
    dictionary_weight : float, default=2.0
        How much a dictionary that says how often tags were seen counts as evidence: as if so many
        times the corpus had been tagged in its proportions (added to `beta` cell by cell). The
        shares of tags that the forms of words give count half as much.
    denoise : {"auto", "none"}, default="auto"
        What to do about slips in a plain dictionary of text. "auto": drop the tags that the forms
        of a word in other case lack (`dropped_tags_`), and weight the rest by how well they go with
        the word's shape (its case, digits and hyphens) among all words of the dictionary.
        Entries that say how often tags were seen are left alone, and so is all where most say it,
        or the words of the text are no strings or all in one case.
    unknown_tags : collection or None, default=None
        Tags of words missing from the dictionary. None for all or, where words are known by their
        form (see `handle_unknown`), for those of open classes, `open_tags_`.
    supervision : {"y", "none"}, default="y"
        Whether `fit` learns from the tags in `y` where they are known. With "none" only `score`
        uses `y`: choosing `alpha` and `beta` by accuracy must not train on the gold tags.
    n_components : int or None, default=None
        Number of tags 0..n_components-1 without dictionary and labels; with them they decide.
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
    alpha : float or "auto", default=1.0
        Concentration of the symmetric Dirichlet prior of each row of transitions, 1e-10 to 1e10.
        "auto" learns it while fitting (one step of eq. 29 a sweep, from sweep 20 on).
    beta : float or "auto", default=0.03
        Concentration of the symmetric Dirichlet prior of each row of emissions, 1e-10 to 1e10.
    start_alpha : float or None, default=None
        Concentration of the start row, 1e-10 to 1e10; None for `alpha`.
    alpha_prior, beta_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of `alpha` and `beta` where they are "auto".
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
    handle_unknown : {"error", "smooth", "rare", "form"}, default="form"
        Words outside the vocabulary: refuse them; give them one cell with prior mass; or give that
        cell the mean expected count of the words seen once as well. With the cell the number of
        symbols is ``len(vocabulary_) + 1`` everywhere. "form" does as "rare", and lets words that
        neither dictionary nor labels tell of, in `fit` and later, take tags in shares that their
        shape and their last letters suggest; these are learned from the rarer words of both, one
        vote a type, and a word known in lower case takes half from there. In `fit` the shares are
        weights, as those of a dictionary, and `beta` is divided in them (``beta="auto"``: only the
        tags of open classes). Tokens that are no strings have no form.
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
        Tags of the training sequences: at each token the one with the largest q(z_t).
    vocabulary_ : ndarray of shape (n_words,)
        The known symbols.
    classes_ : ndarray of shape (n_components,)
        The tags, sorted.
    open_tags_ : ndarray
        The tags of words that neither dictionary nor labels tell of: `unknown_tags`, else with
        ``handle_unknown="form"`` those that at least one in a thousand of the rarer words takes,
        else all. A word known in lower case may take its tags there, too.
    dropped_tags_ : dict
        The tags that `denoise` dropped, by word: look at the frequent ones.
    coverage_ : tuple (tokens, types)
        The shares of the tokens and of the distinct words of the training sequences that have an
        entry in `tag_dictionary`, from 0 to 1.
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
    >>> from sklearn_cvb import CVBHMMTagger
    >>> X = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
    >>> legal = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> legal["swims"] = ["VB"]
    >>> tagger = CVBHMMTagger(legal, random_state=0).fit(X)
    >>> tagger.predict([["the", "duck", "swims"]])[0].tolist()
    ['DT', 'NN', 'VB']
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **CVBHMM._parameter_constraints,
        **TaggerMixin._parameter_constraints,
    }

    def __init__(
        self,
        tag_dictionary: dict | None = None,
        *,
        dictionary_weight: float = 2.0,
        denoise: str = "auto",
        unknown_tags: Collection | None = None,
        supervision: str = "y",
        n_components: int | None = None,
        topology: str | ArrayLike = "full",
        end_state: bool = False,
        alpha: float | str = 1.0,
        beta: float | str = 0.03,
        start_alpha: float | None = None,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        beta_prior: tuple[float, float] = (1.0, 1.0),
        update: str = "sequence",
        block_length: int | None = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: Any = None,
        handle_unknown: str = "form",
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
        super().__init__(
            topology=topology,
            end_state=end_state,
            alpha=alpha,
            beta=beta,
            start_alpha=start_alpha,
            alpha_prior=alpha_prior,
            beta_prior=beta_prior,
            update=update,
            block_length=block_length,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            init=init,
            handle_unknown=handle_unknown,
            learning_decay=learning_decay,
            learning_offset=learning_offset,
            total_samples=total_samples,
            vocabulary=vocabulary,
            warm_start=warm_start,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_components = n_components
        self.tag_dictionary = tag_dictionary
        self.dictionary_weight = dictionary_weight
        self.denoise = denoise
        self.unknown_tags = unknown_tags
        self.supervision = supervision
