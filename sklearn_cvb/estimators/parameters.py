"""Parameters of estimators as annotated fields of classes that are mixed in (`SweepFields`,
`RunFields`): an estimator's constructor and docstring are made of those of all its groups.

A group writes a parameter once: a field has its type, what scikit-learn checks, and its default;
the docstring has its text, and the texts of fitted attributes that go with it. An estimator names
its groups in the order of its signature. What a class restates wins: a field in its body, a default
without a type (``max_iter = 10``), a text in its docstring. What it declares a ClassVar is fixed,
and no parameter.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, Field, field, make_dataclass
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, NamedTuple, dataclass_transform, get_origin

import numpy as np

from sklearn_cvb.learning.algorithms import EM, VB, ViterbiTraining
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.reading.validation import Interval, InvalidParameterError, Seed, StrOptions
from sklearn_cvb.scikit_learn import BaseEstimator
from sklearn_cvb.settings import GammaPrior, Samples, Setting, settings_in

# How groups are joined

_SECTION = re.compile(r"^(\w[\w ]*)\n---+\n", re.M)


class ParameterTexts(NamedTuple):
    """What a class itself says of parameters and fitted attributes."""

    fields: dict[str, Any]  # annotations
    positional: set[str]  # those that need no name where they come first
    parameters: dict[str, str]  # paragraphs of the docstring by the names that they begin with
    attributes: dict[str, str]
    summary: str
    other_sections: str  # sections about something else


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Parameters:
    """Base of groups of parameters, and of estimators, whose constructors and texts it makes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    _stated: ClassVar[ParameterTexts]
    # Those of the constructor that was made; a class that has written its own has none.
    _fields: ClassVar[dict[str, Field[Any]]]
    # Those of all of them, also where a class fixes some for all its instances.
    _every_name: ClassVar[tuple[str, ...]]
    # The kinds of object that words and other plain values of parameters are short for.
    _settings: ClassVar[dict[str, type[Setting]]]
    # Groups whose fitted attributes a class does not have.
    _not_left: ClassVar[tuple[type, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._stated = _texts_of(cls)
        owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if issubclass(cls, BaseEstimator) and (owner is object or "_fields" in vars(owner)):
            _build_estimator(cls)

    @classmethod
    def _constructor(cls, made: Callable[..., None]) -> Callable[..., None]:
        """The constructor, given the one that was made of the parameters."""
        return made


def _texts_of(cls: type) -> ParameterTexts:
    fields = {
        name: annotation
        for name, annotation in inspect.get_annotations(cls).items()
        if not name.startswith("_") and not name.endswith("_")
    }
    positional = set()
    for name, value in [(name, vars(cls).get(name)) for name in fields]:
        if isinstance(value, Field):
            positional |= set() if value.kw_only else {name}
            delattr(cls, name)
            if value.default is not MISSING:
                setattr(cls, name, value.default)
    summary, *sections = _SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    parameters = _paragraphs(texts.pop("Parameters", ""))
    attributes = _paragraphs(texts.pop("Attributes", ""))
    rest = [f"{title}\n{'-' * len(title)}\n{text.strip()}" for title, text in texts.items()]
    return ParameterTexts(
        fields, positional, parameters, attributes, summary.strip(), "\n\n".join(rest)
    )


def _paragraphs(section: str) -> dict[str, str]:
    paragraphs = re.split(r"\n(?=\S)", section.strip()) if section else []
    return {paragraph.partition(" : ")[0]: paragraph for paragraph in paragraphs}


def _merged_texts(bases: list[type[Parameters]], part: str) -> dict[str, Any]:
    """What classes state, the first of them winning, in the order of groups, then of estimators.

    A class that restates what one of its own bases has does not change its place.
    """
    own = {base: getattr(base._stated, part) for base in bases}
    stated: dict[str, Any] = {}
    for found in reversed(own.values()):
        stated |= found
    groups = [base for base in bases if not issubclass(base, BaseEstimator)]
    estimators = [base for base in reversed(bases) if issubclass(base, BaseEstimator)]
    places = (
        name
        for base in (*groups, *estimators)
        for name in own[base]
        if not any(name in own.get(above, ()) for above in base.__mro__[1:])
    )
    return {name: stated[name] for name in dict.fromkeys(places)}


# What signatures end with, in this order: what is set less often than what says what is learned.
_LAST = (
    *("init", "n_init", "max_iter", "tol", "accelerate", "random_state", "n_jobs"),
    *("fixed", "samples", "step_sizes", "supervision", "handle_unknown", "vocabulary"),
    *("rare_threshold", "horizontal_markovisation", "decoding"),
    *("warm_start", "checkpoint", "verbose"),
)


def _in_order_of_signatures(stated: dict[str, Any]) -> dict[str, Any]:
    """Parameters as signatures have them."""
    first = [name for name in stated if name not in _LAST]
    return {name: stated[name] for name in (*first, *_LAST) if name in stated}


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "ClassVar" in annotation
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _build_estimator(cls: type[Parameters]) -> None:
    """Give an estimator its constructor, its constraints and all texts of its docstring."""
    bases = [base for base in cls.__mro__ if issubclass(base, Parameters)][:-1]
    before = getattr(cls, "_parameter_constraints", {})
    fields: list[Any] = []
    constraints = {}
    positional = set().union(*(base._stated.positional for base in bases))
    stated = _in_order_of_signatures(_merged_texts(bases, "fields"))
    for name, annotation in stated.items():
        if not _is_class_variable(annotation):
            checked = get_origin(annotation) is Annotated
            kind = annotation.__origin__ if checked else annotation
            kw_only = bool(fields) or name not in positional
            fields.append((name, kind, field(default=getattr(cls, name, MISSING), kw_only=kw_only)))
            if checked:
                constraints[name] = list(annotation.__metadata__)
            elif name in before:
                constraints[name] = before[name]
    made: Any = make_dataclass(
        cls.__name__,
        fields,
        namespace={"__doc__": cls.__name__, "__qualname__": cls.__qualname__},
        eq=False,
        repr=False,
        match_args=False,
    )
    made.__init__.__module__ = cls.__module__
    cls.__init__ = cls._constructor(made.__init__)
    cls._fields = made.__dataclass_fields__
    cls._every_name = tuple(stated)
    cls._parameter_constraints = constraints
    cls._settings = settings_in(constraints)
    if cls.__doc__:
        cls.__doc__ = "\n\n".join(_docstring_sections(cls, bases))


def _docstring_sections(cls: type[Parameters], bases: list[type[Parameters]]) -> Iterator[str]:
    """What a docstring is made of; a group all of whose parameters are fixed adds nothing."""
    yield cls._stated.summary
    found = _merged_texts(bases, "parameters")
    paragraphs = {names.split(", ")[0]: text.partition("\n") for names, text in found.items()}
    lines = ["Parameters\n----------"]
    for name in cls._fields:
        if name in paragraphs:
            head, _, body = paragraphs[name]
            lines += [head + _default_text(cls._fields[name].default), body]
    yield "\n".join(lines)
    shown = [
        base
        for base in bases
        if base not in cls._not_left
        and (not base._stated.fields or base._stated.fields.keys() & cls._fields.keys())
    ]
    yield "\n".join(("Attributes\n----------", *_merged_texts(shown, "attributes").values()))
    if cls._stated.other_sections:
        yield cls._stated.other_sections


def _default_text(default: Any) -> str:
    """A default as docstrings have it."""
    if default is MISSING:
        return ""
    if isinstance(default, str):
        return f', default="{default}"'
    if isinstance(default, float) and 0 < abs(default) < 1e-3:
        return f", default={np.format_float_scientific(default, trim='-', exp_digits=1)}"
    return f", default={default!r}"


# What fields may be

Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
OptionalCount = Annotated[int | None, Interval(Integral, 1, None, closed="left"), None]
Concentration = Annotated[float, Interval(Real, SMALLEST, LARGEST, closed="both")]
LearnedConcentration = Annotated[
    float | str | GammaPrior,
    Interval(Real, SMALLEST, LARGEST, closed="both"),
    StrOptions({"auto"}),
    GammaPrior,
]
PseudoCount = Annotated[float, Interval(Real, 0, None, closed="left")]
# Concentrations, or an array of what they say cell by cell.
PriorCells = Annotated[
    Any,
    Interval(Real, SMALLEST, LARGEST, closed="both"),
    StrOptions({"auto"}),
    GammaPrior,
    "array-like",
]
OptionalPriorCells = Annotated[PriorCells, None]
PseudoCounts = Annotated[Any, Interval(Real, 0, None, closed="left"), "array-like"]
Flag = Annotated[bool, "boolean"]
Supervision = Annotated[str, StrOptions({"y", "none"})]
UnknownWords = Annotated[str, StrOptions({"error", "smooth", "rare"})]
OptionalVocabulary = Annotated[Collection[Any] | None, "array-like", set, None]


# Groups of several families


class SweepFields(Parameters):
    """How often and how long an algorithm sweeps; in the words of EM.

    Parameters
    ----------
    n_init : int or None
        Number of restarts; the one with the best objective is kept. None is 1,
        or 3 where rows of transitions share weights (`HDP`).
    max_iter : int
        Largest number of sweeps.
    tol : float
        A fit is done when less than this share of its tokens has moved to other states, rules,
        heads or links in the second half of its sweeps (the mean total variation of their
        posteriors, as expected counts tell it), no count of nearly nothing grows, and a disturbed
        copy comes back, or finds nothing better. 0 for `max_iter` sweeps.

    Attributes
    ----------
    objective_ : float
        Log-likelihood plus the sum of pseudo-counts times log parameters (nats), before the last
        update of the counts.
    history_ : ndarray of shape (n_iter_,)
        The objective of every sweep; it stands still for those of a disturbed copy from which the
        fit went on.
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart.
    restart_histories_ : list of ndarray
        `history_` of every restart.
    n_iter_ : int
        Sweeps of the kept restart.
    converged_ : bool
        Whether it is done by `tol`: more sweeps move hardly a label, but of taggers by EM, whose
        `tol` is larger, about one in a hundred.
    """

    n_init: OptionalCount = None
    max_iter: Count = 320
    tol: Annotated[float, Interval(Real, 0, None, closed="left")] = 0.0025

    def _is_accelerated(self) -> bool:
        """Whether sweeps are."""
        return False


class AcceleratedFields(SweepFields):
    """The same of EM and VB, which may be accelerated.

    Parameters
    ----------
    accelerate : bool
        Whether sweeps after the twentieth begin where the last two were heading (SQUAREM), which
        takes a half to a third of the sweeps to the same optimum; those that come out lower are
        thrown away. Sweeps are plain in any case with ``tol=0``, from an `init` of arrays or a
        fitted model, and where `alpha` or `beta` is learned.
    """

    accelerate: Flag = True

    def _is_accelerated(self) -> bool:
        """Whether it is: who asks for a number of sweeps, or gives numbers, gets plain ones."""
        init: Any = getattr(self, "init", None)
        return self.accelerate and self.tol > 0 and (init is None or isinstance(init, str))


class UpdateFields(Parameters):
    """What EM learns from.

    Parameters
    ----------
    update : {"batch", "viterbi"}
        What a sweep counts: everything that is possible, as often as it is expected, or the most
        probable path, tree or alignment of each sequence alone. "viterbi" is Viterbi training, or
        hard EM, which raises the joint probability of the data and these, and ends where the
        likelihood is lower. Sweeps are plain then.
    """

    update: Annotated[str, StrOptions({"batch", "viterbi"})] = "batch"


class BoundedSweepFields(AcceleratedFields):
    """The same of variational Bayes.

    Attributes
    ----------
    objective_ : float
        The lower bound on the log evidence (nats).
    history_ : ndarray of shape (n_iter_,)
        The bound of every sweep; it never decreases, and stands still for those of a disturbed copy
        from which the fit went on.
    """


class LeaveOneOutSweepFields(SweepFields):
    """The same of collapsed variational Bayes.

    Attributes
    ----------
    objective_ : float
        `loo_score_`.
    restart_objectives_ : ndarray of shape (n_init,)
        Objective of every restart; of one where the best start was chosen before (`HDP`).
    history_ : ndarray of shape (n_iter_,)
        Leave-one-out score of every sweep while counts move (nats per token): it may fall.
    """


class SamplerFields(SweepFields):
    """The same of samplers, and what they keep; a chain runs all its sweeps.

    Parameters
    ----------
    samples : Samples or None
        Which samples are kept, and at which temperatures they are drawn.
    max_iter : int
        Number of sweeps.

    Attributes
    ----------
    objective_ : float
        Mean of log p(x, t | alpha) over the last tenth of the sweeps (nats).
    history_ : ndarray of shape (n_iter_,)
        log p(x, t | alpha) of the sample after every sweep (nats).
    converged_ : bool
        Always False: a sampler runs all its sweeps.
    """

    samples: Annotated[Any, Samples, None] = None
    max_iter = 1000
    tol: ClassVar[float] = 0.0  # type: ignore[misc]

    # What None stands for, and whether temperatures may be asked for.
    _usual_samples: ClassVar[Samples] = Samples()
    _can_anneal: ClassVar[bool] = True

    def _checked_samples(self) -> Samples:
        """`samples`, checked."""
        found = Samples.of(self._usual_samples if self.samples is None else self.samples)
        if found.temperatures is not None and not self._can_anneal:
            raise InvalidParameterError(
                f"{type(self).__name__} does not anneal: leave out temperatures of its samples"
            )
        return found


class RunFields(Parameters):
    """How a fit runs: what all models end with.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed of all that is random: the starts, and what is drawn later.
    n_jobs : int or None
        Threads that run restarts; the result does not depend on it.
    warm_start : bool
        Keep the state of the fit and let the next `fit` on the same sequences go on from it, also
        after Ctrl-C, under the prior asked for then; a sampler begins a new chain under another
        prior. Random numbers go on, too: two fits of 20 sweeps are one of 40.
    verbose : int
        1 prints a line per restart, 2 a line per sweep.
    """

    random_state: Annotated[Seed, "random_state"] = None
    n_jobs: Annotated[int | None, Integral, None] = None
    warm_start: Flag = False
    verbose: Annotated[int, "verbose"] = 0


def expectation_maximisation(estimator: Any) -> EM:
    """EM, accelerated if that is asked for; or of the most probable structures alone."""
    return (
        ViterbiTraining(may_fall=_may_fall(estimator))
        if estimator.update == "viterbi"
        else EM(estimator._is_accelerated(), _may_fall(estimator))
    )


def _may_fall(estimator: Any) -> bool:
    """Whether a sweep may lower the objective, by what states emit or transitions depend on."""
    return any(
        getattr(getattr(estimator, name, None), "may_fall", False)
        for name in ("emission", "transitions")
    )


def variational_bayes(estimator: Any) -> VB:
    """VB, accelerated if that is asked for."""
    return VB(estimator._is_accelerated())


def gibbs_sampler(sampler: Any) -> Gibbs:
    """The algorithm that an estimator's parameters ask for."""
    kept = sampler._checked_samples()
    n_burn_in = kept.burn_in
    if n_burn_in is not None and not sampler.warm_start:
        # Where no other fit is to come the last sample is kept in any case.
        n_burn_in = min(n_burn_in, sampler.max_iter - 1)
    return Gibbs(sampler.max_iter, n_burn_in, int(kept.thin), kept.temperatures)
