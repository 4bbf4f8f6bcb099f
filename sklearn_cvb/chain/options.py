"""Options of a hidden Markov model: the parameters of an estimator, checked, as one value; defaults
and limits of each kind of estimator; and the fitted model that may be given as `init`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn_cvb.reading.corpus import KnownWords, is_of_order
from sklearn_cvb.reading.word_lists import entries_of
from sklearn_cvb.settings import (
    HDP,
    HMMParameters,
    Samples,
    Symbols,
    TagDictionary,
    Transitions,
    Windows,
    gamma_prior_of,
)


@dataclass(frozen=True)
class EstimatorKind:
    """Defaults and limits that all estimators of a class have."""

    by_em: bool = False  # estimates have no posterior
    usual_unknown: str = "smooth"  # what becomes of unknown words
    why_no_weights: str = ""  # why rows of transitions cannot share weights of states
    why_all_steps: str = ""  # why a topology cannot be kept to a token at a time
    usual_samples: Samples | None = None  # of samplers
    # Of taggers, with a cleaned dictionary: without labels, with some.
    usual_starts: tuple[str, str] | None = None


class StartModel(NamedTuple):
    """A fitted model given as `init`: its counts and vocabulary."""

    counts: Any
    end_counts: Any
    vocabulary: Any
    predict_proba: Any


class ChainOptions(NamedTuple):
    """Parameters of a hidden Markov model as objects, checked.

    Predictions need the first four and the emission, which may name columns.
    """

    name: str  # of the estimator, for messages
    kind: EstimatorKind
    words: KnownWords
    transitions: Any = None  # Transitions
    hdp: HDP | None = None  # the prior of weights that rows of transitions share
    chooses_states: bool = False  # whether their number is to be found, from no given start
    alpha: Any = None
    beta: Any = None
    is_beta_given: bool = False  # whether it is other than a class has it
    alpha_prior: tuple[float, float] | None = None  # shape and rate where alpha is learned
    beta_prior: tuple[float, float] | None = None
    gamma_prior: tuple[float, float] | None = None
    emission: Any = None
    n_components: Any = None
    dictionary: TagDictionary | None = None  # of taggers
    supervision: str = ""
    init: Any = None
    fixed: Any = None
    init_means: HMMParameters | None = None  # of the model that `init` is, where they tell more
    fixed_start: str = ""  # what fixes where all restarts begin; empty where it is random
    update: Any = None  # what is left out, or drawn, at a time; None for what suits
    is_collapsed: bool = False  # CVB, which leaves out what it infers
    samples: Samples | None = None  # of samplers
    n_restarts: int = 1
    n_jobs: int | None = None


def emits_symbols(emission: Any) -> bool:
    """Whether the parameter `emission` says that states emit symbols."""
    is_word = isinstance(emission, str) and emission == "categorical"
    return is_word or isinstance(emission, Symbols)


def options_to_read(
    name: str, kind: EstimatorKind, emission: Any, transitions: Any, init: Any
) -> ChainOptions:
    """Options for predictions: which words are known."""
    vocabulary, handle_unknown = None, None
    if isinstance(emission, Symbols):
        known = Symbols.of(emission)
        vocabulary, handle_unknown = known.vocabulary, known.handle_unknown
    if vocabulary is None and isinstance(init, HMMParameters):
        vocabulary = init.symbols
    if handle_unknown is None:
        handle_unknown = kind.usual_unknown
    words = KnownWords(vocabulary, handle_unknown, True, is_of_order(transitions))
    return ChainOptions(name, kind, words, transitions, emission=emission)


def options_to_fit(name: str, kind: EstimatorKind, given: Mapping[str, Any]) -> ChainOptions:
    """All options, for a fit."""
    init = given.get("init")
    read = options_to_read(name, kind, given["emission"], given["transitions"], init)
    transitions, dictionary, samples = Transitions.of(given["transitions"]), None, None
    hdp, is_sampled = transitions.shared, kind.usual_samples is not None
    if "tag_dictionary" in given:
        dictionary = TagDictionary.of(given["tag_dictionary"])
        read_once = {"entries": entries_of(dictionary.entries)}
        dictionary = TagDictionary(**dictionary.get_params(deep=False) | read_once)
    if is_sampled:
        samples = given["samples"]
        samples = Samples.of(kind.usual_samples if samples is None else samples)
    update = given.get("update")
    return read._replace(
        transitions=transitions,
        hdp=hdp,
        chooses_states=hdp is not None and init is None,
        alpha=given["alpha"],
        beta=given["beta"],
        alpha_prior=gamma_prior_of(given["alpha"]),
        beta_prior=gamma_prior_of(given["beta"]),
        gamma_prior=None if hdp is None else gamma_prior_of(hdp.gamma),
        n_components=given["n_components"],
        dictionary=dictionary,
        supervision=given["supervision"],
        init=init,
        fixed=given.get("fixed") or {},
        fixed_start=_fixed_start(init),
        update=Windows.of(update) if isinstance(update, Windows) else update,
        is_collapsed="update" in given and not (is_sampled or kind.by_em),
        samples=samples,
        n_restarts=given["n_init"] or (3 if hdp else _usual_restarts(given["emission"], init)),
        n_jobs=given["n_jobs"],
    )


def _usual_restarts(emission: Any, init: Any) -> int:
    return 1 if _fixed_start(init) else getattr(emission, "n_restarts", 1)


def _fixed_start(init: Any) -> str:
    if isinstance(init, str):
        is_fixed = init in ("unambiguous", "context")
        return f"init={init!r} is always the same" if is_fixed else ""
    if isinstance(init, HMMParameters) and not init.is_whole:
        return ""
    return "" if init is None else "init says where to start"
