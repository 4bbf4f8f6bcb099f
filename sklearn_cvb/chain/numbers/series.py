"""Reading series of numbers: columns, contexts and categories, and the observations of a family."""

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.user_tables import columns_of_tables
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.emissions import NAMED
from sklearn_cvb.emissions.emission import Emission, Family, OutsideSupport, column_numbers
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.messages import did_you_mean
from sklearn_cvb.reading.corpus import (
    Table,
    is_missing,
    is_table,
    names_of_columns,
    place_text,
    refuse_lengths,
    samples_of,
    sorted_types,
)
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.series import (
    Categories,
    FittedColumns,
    OpenLabels,
    SamplesOfKnownColumns,
    Series,
    as_objects,
    as_series,
    attributes_of_columns,
    by_name,
    cautions_of_columns,
    cautions_of_shape,
    columns_to_fit,
    declared_labels,
    read_series,
    with_asked_columns,
)
from sklearn_cvb.reading.times import cautions_of_times
from sklearn_cvb.reading.validation import InvalidParameterError

# More contexts than this are no contexts, but times or names.
_MOST_CONTEXTS = 10_000
_OTHER_NAMES = " (renumber them, or make them a column of text in frames)"


def emission_of(value: Any) -> Emission:
    """The emission that the parameter `emission` says."""
    if isinstance(value, Emission):
        return value
    if isinstance(value, str) and value in NAMED:
        return NAMED[value]()
    hint = ""
    if isinstance(value, type) and issubclass(value, Emission):
        hint = f", a class: call it, {value.__name__}()"
    raise InvalidParameterError(
        f"emission must be 'categorical', {', '.join(map(repr, NAMED))} or an object of "
        f"sklearn_cvb.emissions, got {value!r}{hint}"
    )


def series_to_fit(
    options: ChainOptions, X: Any, y: Any
) -> tuple[Series, dict[str, Any], tuple[str, ...]]:
    """Training sequences, what scikit-learn knows of their columns, and messages.

    `y` is not used, but who gives lengths there is advised.
    """
    contexts, emission = options.transitions.contexts, emission_of(options.emission)
    series = as_series(X)
    if not isinstance(series, Series):
        series = read_series(X, partial(_categories, options), partial(columns_asked, options))
    attributes = X.attributes if isinstance(X, Table) else {}
    if not series.rows_are_sequences:
        attributes = attributes_of_columns(series.table.shape[1], series.columns)
    if contexts is not None:
        column = column_of_contexts(contexts, series)
        series = check_contexts(split_contexts(series, column))
    if options.transitions.inputs is not None:
        series = split_inputs(series, columns_of_inputs(options.transitions.inputs, series))
    messages = cautions_of_columns(np.isnan(series.table).all(axis=0), series.emitted_names)
    messages += cautions_of_shape(X, series, options.words.is_ordered)
    messages += cautions_of_times(X) if options.words.is_ordered else []
    # What is no order is told when it is bound.
    if isinstance(emission.order, Integral) and emission.order > 0:
        messages += cautions_of_order(
            emission.order, np.diff(series.corpus.starts), series.rows_are_sequences
        )
    n_sequences = len(series.corpus.starts) - 1
    refuse_lengths(y, n_sequences, n_sequences if series.rows_are_sequences else len(series.table))
    return series, attributes, tuple(filter(None, messages))


def cautions_of_order(order: int, lengths: np.ndarray, of_rows: bool = False) -> list[str]:
    """Cautions about series that are too short for an autoregression.

    Raises ValueError if all are so short; they may be the rows of a table.
    """
    n_short, n, n_long = int(np.count_nonzero(lengths <= order)), len(lengths), lengths.max()
    if n_short == n:
        longest = f"rows of X have {n_long} feature(s)" if of_rows else f"the longest has {n_long}"
        raise ValueError(
            f"order={order} learns each step from the {order} before it and needs series of more "
            f"than {order} steps, but {longest}: set a lower order"
        )
    return [
        f"{n_short} of the {n} series have {order} steps or fewer, which tell nothing with "
        f"order={order}: set a lower order, or leave them out"
    ][:n_short]


def columns_asked(options: ChainOptions) -> list[Any] | None:
    """The names of all columns that are read, where settings name each of them."""
    names: list[Any] | None = emission_of(options.emission).named()
    contexts = getattr(options.transitions, "contexts", None)
    inputs = list(getattr(options.transitions, "inputs", None) or ())
    if names is None or any(isinstance(name, int) for name in (contexts, *inputs)):
        return None
    return [*names, *([] if contexts is None else [contexts]), *inputs]


def series_in_fitted_columns(options: ChainOptions, learned: Learned, X: Any) -> Series:
    """New sequences in the columns and the codes of the fit, contexts among them."""
    numeric = learned.extra.numeric
    columns: FittedColumns = numeric.columns
    X = as_series(X)
    if isinstance(X, Series):
        series = columns.in_order(X)
    else:
        series = read_series(X, columns, partial(columns_asked, options))
    n_columns = series.table.shape[1]
    n_fitted = numeric.family.n_columns + (columns.context is not None) + len(columns.inputs)
    if n_columns != n_fitted:
        hint = f", {columns.names!r}" if columns.names else ""
        if series.rows_are_sequences:
            hint += "; rows of a 2-D array are sequences of single numbers: pass [X] if X is one"
        raise ValueError(
            f"X has {n_columns} column{'s' * (n_columns > 1)} per step, but {options.name} is "
            f"expecting {n_fitted} as in fit{hint}"
        )
    return series


def new_series(options: ChainOptions, learned: Learned, X: Any) -> Series:
    """New sequences in the columns of the fit, whose contexts, or inputs, are apart."""
    series = series_in_fitted_columns(options, learned, X)
    column, inputs = learned.extra.numeric.columns[2:]
    if inputs:
        return split_inputs(series, inputs)
    if column is None:
        return series
    return check_contexts(split_contexts(series, column), learned.layout)


def refuse_other_sizes(columns: FittedColumns, moments: Moments) -> None:
    """Raise where names or labels are not as many as there are columns, or categories, to learn."""
    names, categories = columns.names, columns.categories
    n_columns = len(moments.largest)
    if names is not None and len(names) != n_columns:
        raise InvalidParameterError(f"{names!r} names {len(names)} of {n_columns} columns")
    known = list(range(n_columns)) if names is None else names
    for name, labels in categories.items():
        if name not in known:
            raise InvalidParameterError(f"categories names the column {name!r}, not in {known!r}")
        size = int(moments.largest[known.index(name)]) + 1
        if len(labels) != size:
            raise InvalidParameterError(
                f"column {name!r} has {size} categories, but there are {len(labels)} labels"
            )


def column_of_contexts(options: Any, series: Series) -> int:
    """The number of the column that holds contexts, which is given by its number or its name."""
    n_columns, names = series.table.shape[1], series.names or []
    if isinstance(options, str) and options in names:
        return names.index(options)
    if isinstance(options, str) or options >= n_columns or n_columns == 1:
        hint = did_you_mean(options, names) if isinstance(options, str) else ""
        raise InvalidParameterError(
            f"Transitions(contexts={options!r}) must name a column of X beside those that states "
            f"emit{hint}: X has {n_columns} columns{f', {names!r}' if names else ' without names'}"
        )
    return options


def split_contexts(series: Series, column: int) -> Series:
    """Sequences whose contexts are apart from what states emit, not yet looked at."""
    table = np.delete(series.table, column, axis=1)
    tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
    corpus, contexts = series.corpus._replace(tokens=tokens), series.table[:, column]
    rest: dict[str, Any] = {"table": table, "corpus": corpus, "contexts": contexts}
    return series._replace(**rest, context_column=column)


def columns_of_inputs(inputs: Any, series: Series) -> tuple[int, ...]:
    """The numbers of the columns that transitions depend on."""
    given = np.atleast_1d(np.asarray(inputs, object)).tolist()
    found = column_numbers("Transitions(inputs=...)", given, series.names)
    n_columns = series.table.shape[1]
    if not found or len(set(found)) < len(found) or not set(found) < set(range(n_columns)):
        raise InvalidParameterError(
            f"Transitions(inputs={inputs!r}) must name some of the {n_columns} columns of X, each "
            "once, beside those that states emit"
        )
    return tuple(int(column) for column in found)


def split_inputs(series: Series, columns: tuple[int, ...]) -> Series:
    """Sequences whose inputs of transitions are apart: distinct rows, and which each step has."""
    table = np.delete(series.table, columns, axis=1)
    tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
    inputs, starts = series.table[:, columns], series.corpus.starts
    # Nothing leads to a first step.
    first = inputs[starts[:-1]]
    inputs[starts[:-1]] = np.where(np.isnan(first), 0.0, first)
    wrong = np.flatnonzero(np.isnan(inputs).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"X lacks an input of transitions ({place_text(int(wrong[0]), starts)}): fill the gap, "
            "or cut the sequence there"
        )
    rows, contexts = np.unique(inputs, axis=0, return_inverse=True)
    return series._replace(
        table=table,
        corpus=series.corpus._replace(tokens=tokens),
        contexts=contexts.ravel(),
        inputs=rows,
        input_columns=columns,
    )


def check_contexts(series: Series, cells: Cells | None = None) -> Series:
    """Sequences whose contexts are whole numbers from 0 on, of which a fit has left this many.

    None: as many as they tell. That of a first step, which nothing leads to, may be missing.
    """
    assert series.contexts is not None, "they were given"
    contexts, starts = series.contexts.copy(), series.corpus.starts
    first = contexts[starts[:-1]]
    contexts[starts[:-1]] = np.where(np.isnan(first), 0.0, first)
    most = _MOST_CONTEXTS if cells is None or cells.chain.has_new else cells.chain.n_tables
    wrong = np.flatnonzero(~((contexts >= 0) & (contexts < most)) | (contexts % 1 != 0))
    if len(wrong):
        step = int(wrong[0])
        raise ValueError(
            f"X holds {contexts[step]:g} as a context (column {series.context_column}, "
            f"{place_text(step, starts)}): "
            f"contexts are whole numbers from 0 to {most - 1}"
            + (_OTHER_NAMES if most == _MOST_CONTEXTS else ", those that were in fit")
        )
    if cells is not None:
        contexts = np.minimum(contexts, cells.chain.n_tables - 1)
    return series._replace(contexts=contexts.astype(np.int64))


def split_into_steps(given: Any, cells: Cells) -> Any:
    """The sequences whose steps depend on each other: single steps where none do."""
    if cells.chain.topology is None or not cells.chain.topology.is_tied:
        return given
    return given._replace(starts=np.arange(given.starts[-1] + 1), width=None)


def read_observations(series: Series, family: Family) -> Any:
    """What a family reads; a value that it cannot have is named by its sequence and position."""
    try:
        if family.order:
            return family.read_sequences(series.table, series.corpus.starts)
        return family.read(series.table)
    except OutsideSupport as error:
        raise error_with_place(error, error.step, series.corpus.starts) from None


def error_with_place(error: OutsideSupport, step: int, starts: np.ndarray) -> ValueError:
    """The error with the sequence and the position of a step."""
    return ValueError(f"{error.why} ({place_text(step, starts)}, column {error.column})")


def with_common_columns(options: ChainOptions, X: Any) -> Any:
    """Sequences, some of which are to be fitted to at a time, with the columns of all."""
    if is_table(X) or len(getattr(X, "shape", ())) == 3:
        return X
    samples = with_asked_columns(samples_of(X), partial(columns_asked, options))
    return SamplesOfKnownColumns(samples, columns_to_fit(samples, partial(_categories, options)))


def _inputs(transitions: Any) -> list[Any]:
    """The columns that transitions depend on, as they are given."""
    return [] if transitions.inputs is None else list(transitions.inputs)


def _categories(options: ChainOptions, samples: list[Any], names: list[Any] | None) -> Categories:
    """The labels of all columns that are text and may be categories, or are contexts.

    First those that were given, then others in order, also where a column says that it may hold
    them. Contexts may have others later on, where these are pooled.
    """
    emission, transitions = emission_of(options.emission), options.transitions
    told = columns_of_tables(options, emission)
    contexts, kind = transitions.contexts, OpenLabels if transitions.prior == "pooled" else list
    tables, categories = [as_objects(sample, f"X[{i}]") for i, sample in enumerate(samples)], {}
    keys = list(range(tables[0].shape[1])) if names is None else names
    column = keys[contexts] if isinstance(contexts, int) and contexts < len(keys) else contexts
    inputs = [keys[c] if isinstance(c, int) and c < len(keys) else c for c in _inputs(transitions)]
    emitted = [name for name in keys if name != column and name not in inputs]
    known = by_name(told.categories, emitted)
    for name in [*emission.categorical(emitted), *(name for name in keys if name == column)]:
        place_in, first = keys.index(name), known.get(name, [])
        own = [table[:, place_in].tolist() for table in tables if place_in < table.shape[1]]
        labels = {value for each in own for value in each if not is_missing(value)}
        for sample in samples:
            at = names_of_columns(sample)[place_in] if hasattr(sample, "columns") else name
            labels.update(declared_labels(sample, at))
        if any(isinstance(value, str) for value in labels):
            categories[name] = [*first, *sorted_types(labels.difference(first))]
            if name == column:
                categories[name] = kind(categories[name])
    return categories
