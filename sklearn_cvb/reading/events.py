"""Tables whose rows are events, as logs have them, and not sequences: refused, or asked about."""

from collections.abc import Mapping
from itertools import filterfalse
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_cvb.reading.corpus import TIMES, as_list, is_missing, names_of_columns

# Of fewer rows, columns of mixed symbols may be of one kind each by chance.
_FEW_ROWS = 4
# A handful of columns and this many rows for each look like a log.
_HANDFUL, _ROWS_FOR_EACH = 5, 10
_KINDS = {
    "text": (str, bytes),
    "times": TIMES,
    "numbers": (Number, np.bool_),
}


def cautions_of_events(X: Any, what: str) -> tuple[str, ...]:
    """What is to be said of a table whose rows are to be sequences of `what`: symbols or numbers.

    Raises TypeError where its columns are of several kinds, each of one. A handful of columns of
    symbols that have none in common is asked about.
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    # What is sparse is refused later.
    if len(shape) != 2 or shape[0] < _FEW_ROWS or issparse(X):
        return ()
    columns = columns_of(X)
    kinds = {name: found for name, own in columns.items() if (found := _kinds_of(own))}
    if len(set().union(*kinds.values())) > 1 and all(len(own) == 1 for own in kinds.values()):
        told = ", ".join(f"{name!r} of {min(own)}" for name, own in list(kinds.items())[:5])
        raise TypeError(
            f"X has columns of several kinds ({told}): its rows are events, not sequences of "
            f"{what}. {_cure(X, columns, what)}; if its rows are sequences, leave out "
            "the columns that are none of their steps"
        )
    n_rows, width = shape
    if what == "numbers" or not 1 < width <= _HANDFUL or n_rows < _ROWS_FOR_EACH * width:
        return ()
    values = [set(as_list(one) or ()) for one in columns.values()]
    own = [set(filterfalse(is_missing, one)) for one in values]
    if not all(own) or len(set().union(*own)) < sum(map(len, own)):
        return ()
    # In lists what is missing at the end of a row is a step.
    is_padded = len(own[-1]) < len(values[-1])
    lists = "without what is missing at their ends" if is_padded else "numpy.asarray(X).tolist()"
    return (
        f"each of the {n_rows} rows of X is read as a sequence of {width} symbols, and no symbol "
        f"is in two columns: are they events? {_cure(X, columns, what)}; to say that rows are "
        f"sequences pass lists of what is in them, {lists}",
    )


def refuse_bare_frame(X: Any, names: list[Any] | None) -> None:
    """Raise ValueError where X is itself a frame with all of the columns that sequences have."""
    own = names_of_columns(X) if hasattr(X, "columns") and hasattr(X, "shape") else []
    if names and len(names) > 1 and set(names) <= set(own):
        others = [name for name in own if name not in names]
        by = repr(others[0]) if len(others) == 1 else "..."
        raise ValueError(
            f"X is a frame with the columns of a sequence, {names[:5]!r}: pass [X] if its rows are "
            f"one, else sklearn_cvb.split_by(X, by={by}, columns=...)"
        )


def columns_of(X: Any) -> dict[Any, Any]:
    """The columns of a table by name, or by number where it has no names or one twice."""
    names = names_of_columns(X) if hasattr(X, "columns") else []
    if names and len(set(names)) == len(names):
        # Who has frames has it, and who has none need not wait for it.
        import narwhals.stable.v2 as narwhals

        frame = narwhals.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, narwhals.DataFrame):
            return {name: frame.get_column(name) for name in names}
    return dict(enumerate(np.asarray(X).T))


def _kinds_of(column: Any) -> set[str]:
    """The kinds of the values that are there."""
    dtype = column.dtype
    # Numbers are known without a look at each.
    if dtype.kind in "biuf" if isinstance(dtype, np.dtype) else dtype.is_numeric():
        is_there = isinstance(column, np.ndarray) or column.null_count() < len(column)
        return {"numbers"} if is_there else set()
    values = as_list(column) or []
    return {
        next((kind for kind, types in _KINDS.items() if issubclass(own, types)), own.__name__)
        for own in set(map(type, values))
        if any(type(value) is own and not is_missing(value) for value in values)
    }


def _cure(X: Any, columns: Mapping[Any, Any], what: str) -> str:
    """How sequences of `what` are cut from events: which column tells them apart, which is which.

    Numbers that are measured do not tell them apart, if anything else may.
    """
    kinds = {name: _kinds_of(own) for name, own in columns.items()}
    named = [name for name, own in kinds.items() if own not in ({"times"}, set())]
    n_different = {name: len(set(as_list(columns[name]) or ())) for name in named}
    others = [name for name in named if kinds[name] != {"numbers"}]
    if what == "numbers":
        by = min(others or named, key=n_different.__getitem__)
        taken: Any = [name for name in named if name not in (by, *others)]
    else:
        taken = (others or named)[-1]
        few = (name for name in named if name != taken and 2 * n_different[name] <= len(X))
        by = next(few, taken)
    if taken in ([], by):
        taken = [name for name in named if name != by] or [name for name in columns if name != by]
    times = [name for name, own in kinds.items() if own == {"times"} and taken != [name]]
    time = f", time={times[0]!r}" if len(times) == 1 else ""
    frame = "X" if hasattr(X, "columns") else "pandas.DataFrame(X)"
    one = f", or pass [X] of columns {taken!r} if all rows are one sequence" * (what == "numbers")
    if one and by not in others and 2 * n_different[by] > len(X):
        return f"Pass [X] of columns {named!r}: no column tells sequences apart"
    cut = f"sklearn_cvb.split_by({frame}, by={by!r}, columns={taken!r}{time})"
    return f"Cut them into sequences, as {cut}{one}"
