"""Settings that belong together: objects that stand where a parameter's usual value is a word, such
as `Transitions("left-right", sticky=5)` for "left-right".

``transitions="left-right"`` is short for ``transitions=Transitions("left-right")``. Within an
estimator the fields have scikit-learn's nested names: ``set_params(transitions__sticky=10)``, which
also works where the parameter is a word.
"""

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.logistic import is_plain_logistic
from sklearn_cvb.reading.saved_values import SavesAttributes
from sklearn_cvb.reading.validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn_cvb.reading.word_lists import WORD_LISTS
from sklearn_cvb.website import SiteLink

# Counts over a lower temperature may leave the range of float64.
_LOWEST_TEMPERATURE = 1e-100
# Windows are a tenth of a short sequence, or too little would be left to learn from.
_FEWEST_WINDOWS = 10

_COUNT = Interval(Integral, 1, None, closed="left")
_CONCENTRATION = Interval(Real, SMALLEST, LARGEST, closed="both")
_POSITIVE = Interval(Real, 0, None, closed="neither")

# So much of a value is shown in a message.
_LONGEST_SHOWN = 100

# Shape and rate of the Gamma prior of a concentration that is "auto".
VAGUE = (1.0, 1.0)


def settings_in(constraints: dict[str, list[Any]]) -> dict[str, type["Setting"]]:
    """The kind of object that words and other plain values of parameters are short for."""
    return {
        name: kind
        for name, allowed in constraints.items()
        for kind in allowed
        if isinstance(kind, type) and issubclass(kind, Setting)
    }


class Nested(SiteLink):
    """What has parameters that are such objects, or plain values that are short for one."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn looks at the signature each time, as long as a sweep of a small fit.
        return super()._get_param_names()

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or parameters of one of them: ``transitions__sticky=10``.

        Parameters
        ----------
        **params : dict
            A nested name turns a word into the object that it is short for.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is unknown.
        """
        own = self.get_params(deep=False)
        for name in {name.partition("__")[0] for name in params if "__" in name} & own.keys():
            value = params.get(name, own[name])
            if not hasattr(value, "set_params"):
                params[name] = self._object_of(name, value)
        return super().set_params(**params)

    def _validate_params(self) -> None:
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            # The value may be a whole corpus.
            what, _, value = str(error).partition(" Got ")
            if len(value) <= _LONGEST_SHOWN:
                raise
            raise InvalidParameterError(f"{what} Got {value[:_LONGEST_SHOWN]}...") from None
        for value in self.get_params(deep=False).values():
            if isinstance(value, Setting):
                value._validate_params()

    def _object_of(self, name: str, value: Any) -> Any:
        """The object that a plain value of a parameter is short for, if there is one."""
        kinds = settings_in(self._parameter_constraints)
        return kinds[name].of(value) if name in kinds else value


class Setting(SavesAttributes, Nested):
    """Base of these objects: not frozen, cloned and pickled as scikit-learn's estimators are."""

    # The field that a plain value stands for; empty where words only choose among methods.
    _plain: ClassVar[str] = ""

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The object that the value of a parameter stands for."""
        if isinstance(value, cls):
            return value
        return cls(**{cls._plain: value} if cls._plain and value is not None else {})

    @classmethod
    def of(cls, value: Any) -> Self:
        """The same, checked."""
        found = cls.from_value(value)
        found._validate_params()
        return found


@dataclass(eq=False, repr=False)
class GammaPrior(Setting):
    """Gamma prior of a concentration that is learned while fitting: ``alpha=GammaPrior(2, 1)``.

    ``"auto"`` is short for ``GammaPrior(1, 1)``.

    Parameters
    ----------
    shape : float, default=1.0
        At least 1, so that the density has a mode.
    rate : float, default=1.0
        Above 0.
    """

    shape: float = 1.0
    rate: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shape": [Interval(Real, 1, None, closed="left")],
        "rate": [_POSITIVE],
    }


def gamma_prior_of(concentration: Any) -> tuple[float, float] | None:
    """Shape and rate of a concentration's prior where it is learned; None where it is given."""
    if isinstance(concentration, GammaPrior):
        return float(concentration.shape), float(concentration.rate)
    return VAGUE if isinstance(concentration, str) and concentration == "auto" else None


@dataclass(eq=False, repr=False)
class HDP(Setting):
    """Rows of transitions share weights of the states (a truncated hierarchical Dirichlet process).

    The weights are learned, and states that are not needed get next to none: `n_components` is then
    the largest number of states, and `alpha` a row's total concentration. With the default `init`
    a fit begins with sweeps of VB between which pairs of states are joined while the bound rises
    (after Hughes, Stephenson and Sudderth 2015), unless there are fewer tokens than states times
    symbols, as in texts. CVB begins once, from the best of `n_init` such starts by the bound, and
    states that are empty there stay so: their weights are 0.

    Parameters
    ----------
    gamma : float, "auto" or GammaPrior, default=1.0
        Concentration of the weights, 1e-10 to 1e10. More makes more states likely. "auto" or a
        prior learns it while fitting.

    References
    ----------
    Teh, Jordan, Beal and Blei (2006), "Hierarchical Dirichlet processes".
    """

    gamma: float | str | GammaPrior = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [_CONCENTRATION, StrOptions({"auto"}), GammaPrior]
    }


@dataclass(eq=False, repr=False)
class Durations(Setting):
    """How long visits to a state last: a hidden semi-Markov chain.

    The states of a plain chain last for geometric times, of which the shortest is the most
    probable. Here each visit draws its duration, 1 to `longest` steps, from a distribution of its
    state, and then another state follows: the diagonal of `transmat_` is 0. A sequence begins with
    a visit; its last one may go on beyond its end. A state that no other may follow, such as the
    last one of topology "left-right", is never left: nothing is learned of its durations, and its
    rows of `transmat_` and `durations_` say that it lasts for `longest` steps, again and again. A
    step takes time in proportion to `longest`.

    Parameters
    ----------
    law : {"histogram", "poisson", "negative_binomial"} or emission, default="histogram"
        "histogram": each duration has a probability of its own, with a Dirichlet prior.
        "poisson" and "negative_binomial": the duration minus 1 has that distribution, of one
        parameter a state. ``Categorical(concentration_prior=...)``, ``Poisson(...)`` and
        ``NegativeBinomial(size=...)`` of `sklearn_cvb.emissions` say more; "negative_binomial" has
        size 1, so that durations are geometric. Priors that are not given expect durations from 1
        to `longest` alike.
    longest : int, default=50
        The longest duration there is. Under "poisson" and "negative_binomial" longer ones are ruled
        out and no probability is put elsewhere: likelihoods are those of the data and of no visit
        being longer.

    References
    ----------
    Rabiner (1989), "A tutorial on hidden Markov models and selected applications in speech
    recognition", section IV.D. Guédon (2003), "Estimating hidden semi-Markov chains from discrete
    sequences". Yu (2010), "Hidden semi-Markov models".

    Examples
    --------
    >>> from sklearn_cvb import Durations, EMHMM, Transitions
    >>> X = [[0.1, 0.0, 0.2, 5.1, 5.0, 4.9, 0.1, 0.2, 0.0, 5.2, 5.0, 5.1]]
    >>> lasts = Transitions(durations=Durations("poisson", longest=6))
    >>> model = EMHMM(2, emission="gaussian", transitions=lasts, random_state=0).fit(X)
    >>> model.transmat_.tolist(), model.durations_.shape
    ([[0.0, 1.0], [1.0, 0.0]], (2, 6))

    Phases in their order, of which the last one is never left:

    >>> in_order = Transitions("left-right", durations=Durations("poisson", longest=6))
    >>> X = [[0.1, 0.2, 0.0, 5.1, 4.9, 9.1, 9.0], [0.0, 0.1, 5.0, 5.2, 5.1, 8.9, 9.2]]
    >>> model = EMHMM(3, emission="gaussian", transitions=in_order, random_state=0).fit(X)
    >>> model.predict(X)[0].tolist(), model.transmat_[2].tolist()
    ([0, 0, 0, 1, 1, 2, 2], [0.0, 0.0, 1.0])

    A model of given durations, whose rates are of durations minus 1:

    >>> lights = EMHMM.from_parameters(
    ...     startprob=[1.0, 0.0],
    ...     transmat=[[0.0, 1.0], [1.0, 0.0]],
    ...     emission="poisson",
    ...     emissions={"rates": [2.0, 9.0], "durations": {"rates": [3.0, 6.0]}},
    ...     transitions=Transitions(durations=Durations("poisson", longest=30)),
    ... )
    >>> lights.predict([[1, 2, 3, 1, 8, 11, 9, 7, 8, 10, 2, 1]])[0].tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    """

    law: Any = "histogram"
    longest: int = 50

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "law": [StrOptions({"histogram", "poisson", "negative_binomial"}), HasMethods("bind")],
        "longest": [_COUNT],
    }
    _plain: ClassVar[str] = "law"


@dataclass(eq=False, repr=False)
class Transitions(Setting):
    """Which state may follow which, and the prior of these steps.

    Parameters
    ----------
    topology : {"full", "independent", "constant", "left-right"} or array, default="full"
        Which state (of a tagger: tag) may follow which. "independent": none depends on the one
        before, a mixture for every token. "constant": a sequence stays in one state, a mixture for
        every sequence. "left-right": a sequence starts in state 0 and never goes back. Or a boolean
        table of shape (n_components, n_components) whose rows say what may follow. Token updates
        take "full" and "independent" alone: tokens that move one at a time cannot keep to a path.
    end_state : bool, default=False
        Whether the end of a sequence is an event, as its tokens are: each row of transitions gets
        one more cell, p(end | last state), with the same prior, and likelihoods include the end.
    start_alpha : float, array or None, default=None
        Concentration of the start row (EM: pseudo-count, 0 or more), 1e-10 to 1e10; or an array of
        prior cells, (n_components,), of taggers in the order of `classes_`, but under "hdp"; None
        for `alpha`.
    start : {"free", "stationary"}, default="free"
        "stationary": sequences are cut from chains that have run for long, and begin in the
        stationary distribution of the transitions. It is learned by EM alone, as then the rows have
        no conjugate prior, with topology "full" and without an end state.
    sticky : float, default=0.0
        Added to the concentration of staying in each state (Fox et al. 2011).
    prior : {"dirichlet", "hdp", "pooled"} or HDP, default="dirichlet"
        "hdp" or ``HDP(gamma=...)``: rows share weights of the states, which are learned; of
        symbols and numbers, with topology "full"; not for EM and taggers. "pooled", with
        `contexts`: the tables of all contexts are drawn around one table, which is learned, and
        which contexts that were not in fit have. So subjects share and differ (partial pooling);
        `alpha` is how many transitions a row of the shared table is worth, "auto" or None to learn
        it. Not for EM.
    contexts : int, str or None, default=None
        The column of X, by number or, of frames, by name, that tells the context of each step:
        whole numbers from 0 on, or labels in frames, where it may be anywhere later on. Each
        context has transitions of its own, and the step into position t takes those of the context
        at t; that of the first step of a sequence is not used, and may be missing. States emit the
        other columns, which emissions count without it. There are as many contexts as the training
        data show (largest number plus 1, or labels; under "pooled" one more table, the last, for
        those to come). For `emission` of numbers, symbols among them as `Categorical` columns; with
        topology "full", without end state, "stationary" starts and "hdp".
    durations : {"histogram", "poisson", "negative_binomial"}, Durations or None, default=None
        How long visits to each state last, by laws of their own (see `Durations`): a hidden
        semi-Markov chain. None: as long as states follow themselves. For what `contexts` are for,
        and not with them; of the topologies not with "independent" and "constant", and whether
        those allow a state to follow itself tells nothing.
    inputs : list of int or str, or None, default=None
        The columns of X, by number or, of frames, by name, that transitions depend on: from each
        state a classifier says how probable the next one is. The step into position t takes the row
        at t; that of the first step of a sequence is not used, and may be missing. States emit the
        other columns, which emissions count without these: where states depend on an input, too,
        give it twice. By EM alone, for what `contexts` are for, and not with them; `transmat_` is
        the mean table, `transition_estimators_` has a classifier a state, and `transmat_of` gives
        the tables of other inputs.
    estimator : classifier or None, default=None
        Of scikit-learn, with `predict_proba`, fitted to expected pairs by ``sample_weight``; None
        for ``LogisticRegression()``, whose ``C=np.inf`` is maximum likelihood (Diebold, Lee and
        Weinbach 1994). A plain `LogisticRegression` takes a Newton step in each sweep; of others
        the best sweep is kept (see `emissions.Estimator`).

    Examples
    --------
    >>> from sklearn_cvb import VBHMM, Transitions
    >>> model = VBHMM(2, transitions=Transitions("left-right", sticky=5.0), random_state=0)
    >>> model.fit([["a", "a", "b"], ["a", "b", "b"]]).transmat_[1].round(2).tolist()
    [0.0, 1.0]

    Sequences that hardly start in the second state:

    >>> model = VBHMM(2, transitions=Transitions(start_alpha=[9.0, 0.1]), random_state=0)
    >>> bool(model.fit([["a", "a", "b"], ["b", "b", "a"]]).startprob_[0] > 0.9)
    True
    """

    topology: str | ArrayLike = "full"
    _: KW_ONLY
    end_state: bool = False
    start_alpha: float | ArrayLike | None = None
    start: str = "free"
    sticky: float = 0.0
    prior: str | HDP = "dirichlet"
    contexts: int | str | None = None
    durations: str | Durations | None = None
    inputs: Sequence[int | str] | None = None
    estimator: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "topology": [StrOptions({"full", "independent", "constant", "left-right"}), "array-like"],
        "end_state": ["boolean"],
        "start_alpha": [Interval(Real, 0, LARGEST, closed="both"), "array-like", None],
        "start": [StrOptions({"free", "stationary"})],
        "sticky": [Interval(Real, 0, LARGEST, closed="both")],
        "prior": [StrOptions({"dirichlet", "hdp", "pooled"}), HDP],
        "contexts": [Interval(Integral, 0, None, closed="left"), str, None],
        "durations": [StrOptions({"histogram", "poisson", "negative_binomial"}), Durations, None],
        "inputs": ["array-like", None],
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
    }
    _plain: ClassVar[str] = "topology"

    @property
    def varies_by(self) -> str:
        """The setting by which transitions differ from step to step; empty where they do not."""
        return "contexts" if self.contexts is not None else "inputs" * (self.inputs is not None)

    @property
    def may_fall(self) -> bool:
        """Whether sweeps of EM may lower the objective."""
        return self.estimator is not None and not is_plain_logistic(self.estimator)

    @property
    def classifier(self) -> Any:
        """What says how probable the next state is, given inputs."""
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()

    @property
    def shared(self) -> HDP | None:
        """The prior of rows that share weights; None where they share nothing."""
        if isinstance(self.prior, HDP):
            return HDP.of(self.prior)
        return HDP() if self.prior == "hdp" else None


@dataclass(eq=False, repr=False, kw_only=True)
class HMMParameters(Setting):
    """What is known of a hidden Markov model: where to start, or what is to stay (`fixed`).

    A plain value, which `clone`, searches and classifiers keep. With ``init=HMMParameters(...)``
    the first posteriors are those under these parameters. Parts of `emissions`, starts and
    transitions that are None follow from the steps that are nearest to what is given; where
    `emissionprob` is given starts and transitions that are not are equal. Else emissions of symbols
    are drawn again for each restart, and of numbers found by clusters, on paths that `transmat`
    allows.

    Parameters
    ----------
    startprob : array-like of shape (n_components,) or None, default=None
        Probabilities of the first state, which sum to 1.
    transmat : array-like of shape (n_components, n_components) or None, default=None
        Rows sum to 1; where ends are events, to 1 minus the probability that a sequence ends there.
    emissionprob : array-like of shape (n_components, n_symbols) or None, default=None
        One column more is for unknown symbols; without it they have probability 0.
        A tagger reads the legal cells.
    vocabulary : sequence or None, default=None
        The symbols of the columns, which are then what the model knows; None for the names of the
        columns of `emissionprob` where it is a frame, else for `vocabulary_`.
    emissions : dict or None, default=None
        What states emit where it is numbers, by the names of the fitted attributes without
        underscore, in their shapes and the units of the data: ``{"means": [[0.0], [5.0]]}``; of one
        column a list will do. Where durations have laws also ``"durations"``, of the law
        "histogram" as in `durations_`, of others a dict of parameters such as ``{"rates": [2.0,
        5.0]}``, of durations minus 1. Also ``"feature_names_in"``, of the columns of frames, and
        ``"categories"``, labels of those of text in the order of their probabilities. Tables that
        are frames tell both by the names of their own columns.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM, HMMParameters
    >>> known = HMMParameters(transmat=[[0.9, 0.1], [0.1, 0.9]])
    >>> model = EMHMM(2, init=known, random_state=0).fit([["a", "a", "b", "b", "b", "a"]])
    """

    startprob: ArrayLike | None = None
    transmat: ArrayLike | None = None
    emissionprob: ArrayLike | None = None
    vocabulary: Sequence[Any] | None = None
    emissions: dict[str, Any] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: ["array-like", None] for name in ("startprob", "transmat", "emissionprob")},
        "vocabulary": ["array-like", None],
        "emissions": [dict, None],
    }

    @classmethod
    def by_name(cls, tables: dict[str, Any]) -> Self:
        """Tables of the chain and of symbols by their names; all others are of what is emitted."""
        own = {name: tables[name] for name in tables if name in cls._parameter_constraints}
        emitted = {name: tables[name] for name in tables if name not in own}
        return cls(**own | ({"emissions": emitted} if emitted else {}))

    @property
    def symbols(self) -> list[Any] | None:
        """The symbols of the columns of `emissionprob`, None where neither they nor names say."""
        if self.vocabulary is not None:
            return list(self.vocabulary)
        names = list(getattr(self.emissionprob, "columns", ()))
        return None if names == list(range(len(names))) else names

    @property
    def emitted(self) -> dict[str, Any]:
        """What states emit where it is numbers, without what is known of columns."""
        told = "feature_names_in", "categories"
        return {name: own for name, own in (self.emissions or {}).items() if name not in told}

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to be drawn: what states emit tells all else."""
        return self.emissionprob is not None or bool(self.emitted)


@dataclass(eq=False, repr=False)
class Windows(Setting):
    """CVB leaves out windows of a sequence at a time, given the messages at their borders.

    For corpora of one or few long sequences, where leaving out whole ones leaves nothing.

    Parameters
    ----------
    length : int, default=100
        Steps of a window; 1 leaves out one step at a time.
    """

    length: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"length": [_COUNT]}


def window_for(longest: int, n_tokens: int) -> int | None:
    """The length of windows where one sequence holds most of all tokens; else None."""
    return min(Windows.length, -(-longest // _FEWEST_WINDOWS)) if 2 * longest > n_tokens else None


@dataclass(eq=False, repr=False)
class MiniBatches(Setting):
    """Stepwise EM: weights change after every few sentences (Liang and Klein 2009).

    Parameters
    ----------
    size : int, default=1
        Sentences between two updates.
    """

    size: int = 1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"size": [_COUNT]}


@dataclass(eq=False, repr=False)
class TagDictionary(Setting):
    """A tag dictionary, and how far it is trusted.

    Parameters
    ----------
    entries : dict, path, Series, DataFrame or None, default=None
        Maps a word to its legal tags, or to a dict that says how often each was seen, such as
        ``{"a": {"DT": 980, "LS": 1}}`` (see `tag_dictionary_from`). A file, a Series or a table is
        read as by `sklearn_cvb.datasets.read_dictionary`.
    weight : float, default=2.0
        How much a dictionary that says how often tags were seen counts as evidence: as if this many
        times the corpus had been tagged in its proportions (added to `beta` cell by cell). The
        shares of tags that the forms of words give count half as much.
    denoise : {"auto", "none"}, default="auto"
        What to do about wrong tags in a plain dictionary of text. "auto": drop the tags that the
        forms of a word in other case lack (`dropped_tags_`), and weight the rest by how well they
        go with the word's shape (its case, digits and hyphens) among all words of the dictionary.
        Where `y` has labels nothing is dropped: a word's labels say how often each of its tags was
        seen. Entries that say so themselves stay as they are. Nothing is done if most entries do,
        if words are not strings, or if the text is all in one case. In scripts without capitals
        nothing is dropped.
    unknown_tags : collection or None, default=None
        Tags of words missing from the dictionary. None for all or, where words are known by their
        form (see `Symbols`), for those of open classes, `open_tags_`.

    Examples
    --------
    >>> from sklearn_cvb import CVBHMMTagger, TagDictionary
    >>> legal = {"the": ["DT"], "dog": ["NN"], "duck": ["NN", "VB"]}
    >>> tagger = CVBHMMTagger(TagDictionary(legal, unknown_tags=["NN", "VB"]), random_state=0)
    >>> tagger.fit([["the", "duck", "swims"], ["the", "dog", "swims"]]).open_tags_.tolist()
    ['NN', 'VB']
    """

    entries: Any = None
    _: KW_ONLY
    weight: float = 2.0
    denoise: str = "auto"
    unknown_tags: Collection[Any] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "entries": [*WORD_LISTS, None],
        "weight": [Interval(Real, 0, None, closed="left")],
        "denoise": [StrOptions({"auto", "none"})],
        "unknown_tags": ["array-like", set, None],
    }
    _plain: ClassVar[str] = "entries"


@dataclass(eq=False, repr=False)
class Valence(Setting):
    """What attachments and stops of a dependency model depend on, and their priors.

    Parameters
    ----------
    extended : bool, default=False
        Whether attachments, too, depend on whether the head has a child on that side yet.
    backoff : {"head", "direction"} or None, default=None
        Coarser tables to share what is seen (Headden, Johnson and McClosky 2009): each attachment
        is drawn from its own table or from a coarse one, p(child | head, side) ("head", which needs
        `extended`) or p(child | side) ("direction"). How often from which is learned for each own
        table.
    alpha_backoff : float, default=1.0
        Concentration of the Dirichlet prior of own against coarse table; EM: a pseudo-count.
    alpha_stop : float, "auto", GammaPrior or None, default=None
        Concentration of decisions to stop or to go on; None for one concentration, `alpha`, of both
        these and attachments.
    """

    extended: bool = False
    _: KW_ONLY
    backoff: str | None = None
    alpha_backoff: float = 1.0
    alpha_stop: float | str | GammaPrior | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "extended": ["boolean"],
        "backoff": [StrOptions({"head", "direction"}), None],
        "alpha_backoff": [_CONCENTRATION],
        "alpha_stop": [
            Interval(Real, 0, LARGEST, closed="both"),
            StrOptions({"auto"}),
            GammaPrior,
            None,
        ],
    }

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.backoff == "head" and not self.extended:
            raise InvalidParameterError(
                "backoff='head' needs extended=True: without it attachments depend on head and "
                "side alone, and there is nothing to leave out; or take backoff='direction'"
            )


@dataclass(eq=False, repr=False)
class StepSizes(Setting):
    """How fast old counts are forgotten where one batch, or one window, comes after another.

    Parameters
    ----------
    decay : float in (0.5, 1] or None, default=None
        How fast steps get smaller; the smaller, the sooner are old counts forgotten. In
        `partial_fit`, where t steps of this size were seen, the last one makes up a share
        (offset + t) ** -decay of the counts, but no less than 1 / t, as if all were counted alike:
        so with 1. In stepwise EM step k = 0, 1, ... gives the batch (k + 2) ** -decay. None is what
        suits the data: in `partial_fit` 0.6 for windows of long sequences (EM: 0.7), and for short
        ones 1, which forgets nothing (CVB: 0.8); 1 wherever a dictionary or labels name states
        (:ref:`steps-of-streams`); in stepwise EM 0.7.
    offset : float, default=10.0
        With `partial_fit`: the larger, the longer are all steps counted alike.
    total_samples : int or None, default=None
        With `partial_fit`: how many sequences there will be in all, to whose number counts are
        scaled; None for as many as were seen so far. Give it if sequences come several times.
    """

    decay: float | None = None
    _: KW_ONLY
    offset: float = 10.0
    total_samples: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "decay": [Interval(Real, 0.5, 1.0, closed="right"), None],
        "offset": [Interval(Real, 0.0, None, closed="left")],
        "total_samples": [_COUNT, None],
    }


@dataclass(eq=False, repr=False)
class Checkpoint(Setting):
    """Where a fit is saved while it runs, and how often.

    Parameters
    ----------
    folder : path
        Made if it is missing. One folder for each fit.
    every : int or str, default="60s"
        How often each restart is saved: after this many sweeps (10), or seconds ("60s"; seldomer
        where saving would take a twentieth of the time).
    """

    folder: str | os.PathLike[str]
    every: int | str = "60s"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "folder": [str, os.PathLike],
        "every": [_COUNT, str],
    }
    _plain: ClassVar[str] = "folder"


@dataclass(eq=False, repr=False)
class Samples(Setting):
    """Which samples of a chain are kept, and at which temperatures they are drawn.

    Parameters
    ----------
    burn_in : int or None, default=None
        Sweeps before samples are kept; None for half of `max_iter`, with annealing nine tenths. A
        fit that goes on with a chain (`warm_start`) keeps to the burn-in, the temperatures and the
        last tenth of the fit that began it.
    thin : int, default=10
        Keep every `thin`-th sample.
    temperatures : tuple (first, last) or None, default=None
        Annealing: temperature of the first and of the last sweep, linear in between (Goldwater and
        Griffiths 2007). None is 1 throughout, which samples the posterior.
    """

    burn_in: int | None = None
    _: KW_ONLY
    thin: int = 10
    temperatures: tuple[float, float] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "burn_in": [Interval(Integral, 0, None, closed="left"), None],
        "thin": [_COUNT],
        "temperatures": [tuple, None],
    }

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.temperatures is None:
            return
        numbers: list[Any] = [t for t in self.temperatures if isinstance(t, Real)]
        if not (
            len(self.temperatures) == len(numbers) == 2 and all(0 < t < math.inf for t in numbers)
        ):
            raise InvalidParameterError(
                f"temperatures must be None or two positive numbers, got {self.temperatures!r}"
            )
        if min(numbers) < _LOWEST_TEMPERATURE:
            raise InvalidParameterError(
                f"temperatures must be at least {_LOWEST_TEMPERATURE:g}, got {self.temperatures!r}"
            )


@dataclass(eq=False, repr=False)
class SplitAndMerge(Setting):
    """Subtypes of a treebank grammar are split and merged in rounds (Petrov et al. 2006).

    Begin with one subtype, and in as many rounds as it takes to double it to `n_subtypes` split
    each in two, with 1 % of noise; after 70 % of a round's sweeps undo the splits that gain least.

    Parameters
    ----------
    round_length : int, default=20
        Sweeps of each round; more sweeps may follow.
    merge_share : float, default=0.5
        Part of the splits that each round undoes, from 0 to below 1.
    """

    round_length: int = 20
    merge_share: float = 0.5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "round_length": [Interval(Integral, 2, None, closed="left")],
        "merge_share": [Interval(Real, 0, 1, closed="left")],
    }


@dataclass(eq=False, repr=False)
class IBM1(Setting):
    """Word alignment starts from the links of IBM model 1, by collapsed variational Bayes.

    Parameters
    ----------
    n_sweeps : int, default=5
        Sweeps of model 1.
    """

    n_sweeps: int = 5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_sweeps": [Interval(Integral, 0, None, closed="left")]
    }


@dataclass(eq=False, repr=False)
class Symbols(Setting):
    """States emit symbols: which are known, and what becomes of others.

    Parameters
    ----------
    vocabulary : collection or None, default=None
        The known symbols; None for those seen in `fit`.
    handle_unknown : {"error", "smooth", "rare", "form"} or None, default=None
        Words outside the vocabulary: refuse them ("error"); let one more symbol stand for them,
        with prior mass ("smooth", None for models of states); give that symbol the mean expected
        count of the words seen once as well ("rare"); or also judge the tags of words by their form
        ("form", None for taggers). :ref:`unknown-words` compares the ways. Unless they are refused,
        whatever reads X after a fit warns where fewer than 1 in 20 tokens are known: of three and
        more, or of any with a likely cause (another type or case, blanks, names for codes).
    """

    vocabulary: Collection[Any] | None = None
    _: KW_ONLY
    handle_unknown: str | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "vocabulary": ["array-like", set, None],
        "handle_unknown": [StrOptions({"error", "smooth", "rare", "form"}), None],
    }


@dataclass(eq=False, repr=False)
class ArcWeights(Setting):
    """What is known of a language: numbers that multiply the weights of dependency trees.

    A tree weighs p(tags, tree) times the numbers of its arcs and its root wherever trees are
    inferred, drawn or predicted. The numbers are no parameters, and do not fade as more is learned
    from; scores and `sample` are of the model's probabilities alone.

    Parameters
    ----------
    weights : {"ud", "penn"}, dict or None, default=None
        ``{(head, child): x}``, or ``{(head, child, side): x}`` for children on the "left" or the
        "right" alone; None as head for the root. Heads and children are tags, tuples of tags, names
        of `tag_classes`, or ``...`` for any tag. Above 1 an arc is likelier than the sentences
        alone would have it, below 1 less likely; 1e-10 to 1e10. What several keys say of an arc is
        multiplied; tags that are not there are left out. "ud" is for the tags of Universal
        Dependencies and for its heads, where function words depend on content words; "penn" for
        those of Penn treebanks, where prepositions and auxiliaries are heads. :ref:`arc-weights`
        has what they say.
    tag_classes : dict or None, default=None
        Which tags a tag, or any other name, in `weights` stands for: ``{"VERB": ["VBD", "VBZ"]}``.
        So "ud" and "penn" are used with other tags than their own.

    References
    ----------
    Naseem, Chen, Barzilay and Johnson (2010), "Using universal linguistic knowledge to guide
    grammar induction".

    Examples
    --------
    >>> from sklearn_cvb import ArcWeights, CVBDMV
    >>> X = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"], ["VERB", "DET", "NOUN"]]
    >>> print(CVBDMV(arc_weights="ud").fit(X).predict(X[:1])[0])
    [2 3 0]
    >>> known = ArcWeights({("verb", ...): 5}, tag_classes={"verb": ["VERB", "AUX"]})
    >>> _ = CVBDMV(arc_weights=known)
    """

    weights: str | dict[Any, Any] | None = None
    tag_classes: dict[Any, Any] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [StrOptions({"ud", "penn"}), dict, HasMethods("items"), None],
        "tag_classes": [dict, None],
    }
    _plain: ClassVar[str] = "weights"
