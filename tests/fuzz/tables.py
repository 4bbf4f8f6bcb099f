"""Calls of every method that takes data with tables that are wrong, or only look otherwise.

``wrong(i)`` and ``legitimate(i)`` make draw number i from that number alone. What nobody can know
to be wrong is not among them: columns without names that are exchanged, ones and zeros for numbers,
one sequence cut into several, sequences of symbols under models that learn new ones.
"""

import copy
import inspect
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from fuzz.changes import one_of, pl
from fuzz.draws import SEED
from fuzz.legitimate_tables import LEGITIMATE
from fuzz.table_models import MAKERS, Subject, subject
from fuzz.wrong_tables import WRONG
from sklearn.base import clone


class Draw(NamedTuple):
    """One call.

    Attributes
    ----------
    subject : str
    method : str
    change : str
        What was made of its sequences.
    X : object
    rows : list of int or None
        Which of the sequences are asked about, in which order; None for all as they are.
    """

    subject: str
    method: str
    change: str
    X: Any
    rows: list[int] | None = None

    def __str__(self) -> str:
        return f"{self.method} of {self.subject}, {self.change}"


# Methods

# Few draws are as good as many here.
_KEYWORDS = {"random_state": 0, "n_draws": 3, "n_bootstrap": 3, "n_steps": 2}
# `fit` stands for these.
_FITS = ("fit", "fit_predict", "fit_transform")
# Whose answers are those of each sequence alone.
_EACH = (
    *("predict", "predict_proba", "filter_proba", "score_samples", "transform", "parse"),
    *("predict_next_proba", "lower_bound_samples", "decision_function", "predict_log_proba"),
    *("tag_sources",),
)
# Whose answers are of all sequences in whatever order.
_ALL = ("score", "perplexity", "aic", "bic", "icl")


@cache
def methods(name: str) -> list[str]:
    """Every public method of a model that takes sequences, and the update of its filter."""
    model, found = subject(name).model, []
    is_made = name.endswith(("JSON", "of parameters"))
    for method in dir(model):
        if method.startswith("_") or method in _FITS or not hasattr(type(model), method):
            continue
        # What was made of parameters has no training sequences.
        if is_made and method.endswith("_intervals"):
            continue
        function = getattr(model, method, None)
        if callable(function) and "X" in inspect.signature(function).parameters:
            found.append(method)
    return [*found, "update"] if hasattr(model, "start_filter") else found


class Answer(NamedTuple):
    """What a call gives, or the error that it raises, and what it warns of, by category."""

    found: Any
    told: dict[str, type[Warning]]


def answer(name: str, method: str, X: Any) -> Answer:
    """Make a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = asked(name, method, X)
        except (AttributeError, TypeError, ValueError) as error:
            found = error
    return Answer(found, {str(one.message): one.category for one in caught})


@cache
def right_answer(name: str, method: str) -> Answer:
    """What a method answers for the sequences that its model was fitted to."""
    return answer(name, method, subject(name).X)


def _is_of_none(found: Any) -> bool:
    """Whether a model says that it has no such method."""
    return type(found) is AttributeError or "does not go with" in str(found)


def asked(name: str, method: str, X: Any) -> Any:
    """What a method answers."""
    here = subject(name)
    if method == "fit":
        return clone(here.model).fit(X).score_samples(here.X)
    if method == "update":
        online = here.model.start_filter()
        return [online.update(row) for row in _steps(X)]
    model = copy.deepcopy(here.model) if method == "partial_fit" else here.model
    function = getattr(model, method)
    known = inspect.signature(function).parameters
    keywords = {key: value for key, value in _KEYWORDS.items() if key in known}
    if method == "log_likelihoods":
        keywords["draws"] = _draws(name)
    if method == "score" and known["y"].default is inspect.Parameter.empty:
        keywords["y"] = ["u"] * len(X)
    if method == "score_paths":
        keywords["states"] = model.predict(X)
    if method == "predict_next" and name.startswith("regression"):
        keywords["inputs"] = np.zeros((len(X), 2, 2))
    found = function(X, **keywords)
    return found.score_samples(here.X) if method == "partial_fit" else found


@cache
def _draws(name: str) -> Any:
    here = subject(name)
    return here.model.credible_intervals(here.X, n_draws=3, random_state=0).draws


def _steps(X: Any) -> list[Any]:
    """The steps of the first sequence, one after the other."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[0].tolist()
    first = next(iter(X))
    if isinstance(first, pd.DataFrame):
        return [first.iloc[t] for t in range(len(first))]
    if (pl is not None and isinstance(first, pl.DataFrame)) or isinstance(first, pa.Table):
        rows = first.to_pylist() if isinstance(first, pa.Table) else first.to_dicts()
        return [pd.Series(row) for row in rows]
    return list(first)


def _in_other_frames(X: Any, rng: np.random.Generator) -> Any:
    """Frames of polars or Arrow, which have no index and no name twice, where these are frames."""
    if not isinstance(X, list) or not all(isinstance(one, pd.DataFrame) for one in X):
        return X
    plain = pd.RangeIndex(len(X[0]))
    if not all(one.columns.is_unique and one.index.equals(plain) for one in X):
        return X
    X = [one.rename(columns=str) for one in X]
    if pl is not None and rng.random() < 0.6:
        return [pl.from_pandas(one) for one in X]
    return [pa.Table.from_pandas(one, preserve_index=False) for one in X]


# Each step of these is right, as rows are read by name, or may be a symbol that is new.
_RIGHT_STEPS = ("records", "rows of mappings", "numbered columns", "swapped columns", "other codes")
# What a batch may bring to a vocabulary that grows.
_NEW_SYMBOLS = (
    *("other words", "other codes", "dates for symbols", "whole sentences as words"),
    "sequences of lists",
)


def wrong(i: int) -> tuple[Draw, Answer]:
    """A call with a table that cannot be meant, and what it gives."""
    rng = np.random.default_rng([SEED, 49, i])
    names = list(MAKERS)
    while True:
        name = one_of(rng, names)
        method = one_of(rng, methods(name))
        changes = WRONG[subject(name).kind]
        change = one_of(rng, list(changes))
        if _is_right(name, method, change):
            continue
        X = changes[change].of(subject(name).X, rng)
        draw = Draw(name, method, change, _in_other_frames(X, rng) if rng.random() < 0.3 else X)
        given = answer(name, method, draw.X)
        if not _is_of_none(given.found):
            return draw, given


def _is_right(name: str, method: str, change: str) -> bool:
    """Whether a change is none for this model and this method."""
    here = subject(name)
    if method == "update" and (not WRONG[here.kind][change].is_alone or change in _RIGHT_STEPS):
        return True
    if change in ("codes for text", "other labels") and not _has_text(here):
        return True
    if change == "an extra column":
        return here.by_name
    if change == "other labels":
        return name.startswith("pooled")
    if change == "a column of symbols":
        return name.startswith(("dependencies", "grammar"))
    grows = method == "partial_fit" and here.kind in ("words", "codes", "wide")
    return grows and change in _NEW_SYMBOLS


def _has_text(here: Subject) -> bool:
    """Whether some columns of frames hold text."""
    return here.kind == "frames" and any(kind.kind not in "biuf" for kind in here.X[0].dtypes)


# Forms without names, which columns of text are fitted by.
_NO_NAMES = ("arrays of frames", "lists of rows")


def legitimate(i: int) -> Draw:
    """A call with the same values in another form, in another order, or some of them."""
    rng = np.random.default_rng([SEED, 50, i])
    names = list(MAKERS)
    while True:
        name = one_of(rng, names)
        here = subject(name)
        own = [*methods(name), *["fit"] * (here.fits and hasattr(here.model, "score_samples"))]
        method = one_of(rng, own)
        changes = LEGITIMATE[here.kind]
        change = one_of(rng, list(changes))
        # What takes long is drawn less often.
        is_rare = method.endswith("_intervals") or method in ("fit", "log_likelihoods")
        if _is_other(name, method, change) or (is_rare and rng.random() < 0.5):
            continue
        if _is_of_none(right_answer(name, method).found):
            continue
        X, rows = here.X, None
        if method in (*_EACH, *_ALL) and rng.random() < 0.4:
            rows = rng.permutation(len(X))
            rows = rows[: int(rng.integers(1, len(X) + 1))] if method in _EACH else rows
            rows = rows.tolist()
            X = X.iloc[rows] if isinstance(X, pd.DataFrame) else [X[row] for row in rows]
        return Draw(name, method, change, changes[change].of(X, rng), rows)


def _is_other(name: str, method: str, change: str) -> bool:
    """Whether a change makes another call for this model and this method."""
    here = subject(name)
    if method == "update" and not LEGITIMATE[here.kind][change].is_alone:
        return True
    if change == "an unused column":
        return not here.by_name
    if change == "a table of symbols":
        # Of tables these are charts.
        return name.startswith("grammar") and method == "predict"
    return change in _NO_NAMES and method == "fit" and (here.by_name or _has_text(here))
