"""Tables that a user gives: probabilities, prior cells and fixed rows of starts, transitions and
emissions, checked and laid out.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import ChainConcentrations, ChainPrior, with_dictionary
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.learning.dirichlet import FIXED_MASS
from sklearn_cvb.reading.corpus import names_of_columns
from sklearn_cvb.reading.series import FittedColumns
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers, check_concentrations
from sklearn_cvb.settings import HMMParameters

# Rows may be off 1 by rounded digits; what is off by more than rounding of sums is divided.
_OFF, _ROUNDING = 1e-6, 1e-12


class UserTables(NamedTuple):
    """Probabilities of a chain that a user gives; None for tables that are not given."""

    start: np.ndarray | None
    transition: np.ndarray | None
    emission: np.ndarray | None


def probabilities(name: str, value: Any, shape: tuple[int, ...], rest: bool = False) -> np.ndarray:
    """Rows of probabilities of this shape, which may leave a `rest`."""
    table = as_numbers(name, value)
    if table.shape != shape:
        raise InvalidParameterError(f"{name} has shape {table.shape}, this model needs {shape}")
    rows = np.atleast_2d(table)
    where = [f"row {k} " if table.ndim > 1 else "" for k in range(len(rows))]
    wrong = ~(rows >= 0.0)
    if wrong.any():
        k, cell = map(int, np.argwhere(wrong)[0])
        raise InvalidParameterError(f"{name}: {where[k]}holds {rows[k, cell]:g}")
    sums = rows.sum(axis=1)
    odd = np.flatnonzero(~((sums < 1.0 + _OFF) if rest else (np.abs(sums - 1.0) < _OFF)))
    if len(odd):
        k = int(odd[0])
        raise InvalidParameterError(f"{name}: {where[k]}sums to {sums[k]:.10g}, not to 1")
    # What sums to 1 stays as it is to the last digit.
    is_off = sums > 1.0 + _ROUNDING if rest else np.abs(sums - 1.0) > _ROUNDING
    return (rows / np.where(is_off, sums, 1.0)[:, None]).reshape(shape)


def chain_tables(init: HMMParameters, cells: Cells, vocabulary: np.ndarray | None) -> UserTables:
    """Start, transitions and, where states emit symbols, emissions, over all cells."""
    n, start, transition, emission = cells.n_emitting, None, None, None
    _refuse_other_order(init)
    if init.startprob is not None:
        start = probabilities("startprob", init.startprob, (n,))
        start = np.append(start, np.zeros(cells.n_states - n))
    if init.transmat is not None:
        transition = probabilities("transmat", init.transmat, (n, n), rest=cells.chain.has_end)
        if cells.chain.has_end:
            ends = np.maximum(1.0 - transition.sum(axis=1, keepdims=True), 0.0)
            transition = np.vstack([np.hstack([transition, ends]), np.full(n + 1, 1 / (n + 1))])
    _check_allowed(start, transition, cells)
    if vocabulary is None:
        if init.emissionprob is not None:
            raise InvalidParameterError("emissionprob is for symbols; this model emits numbers")
    elif init.emitted:
        raise InvalidParameterError(f"{next(iter(init.emitted))}: this model emits symbols")
    elif init.emissionprob is not None:
        emission = _emissions(init, cells, vocabulary)
    return UserTables(start, transition, emission)


def _check_allowed(start: np.ndarray | None, transition: np.ndarray | None, cells: Cells) -> None:
    topology = cells.chain.topology
    if topology is None:
        return
    if topology.is_tied:
        if transition is not None and (start is None or np.abs(transition - start).max() > _OFF):
            raise InvalidParameterError("transmat: with topology='independent' rows are startprob")
        return
    for name, table, allowed in (
        ("startprob", start, topology.start),
        ("transmat", transition, topology.transition),
    ):
        if table is not None and (table[~allowed] > 0.0).any():
            k = int(np.argwhere((table > 0.0) & ~allowed)[0][0])
            stays = ", or stays, which durations tell of" if cells.chain.longest else ""
            raise InvalidParameterError(f"{name}: row {k} has what the topology rules out{stays}")


def _emissions(init: HMMParameters, cells: Cells, vocabulary: np.ndarray) -> np.ndarray:
    """One value for each cell; unknown words have 0 unless a last column is theirs."""
    n_words, known, order = cells.n_words, vocabulary.tolist(), np.arange(cells.n_words)
    if init.symbols is not None:
        words = list(init.symbols)
        if init.vocabulary is None and len(words) == n_words + 1:
            # The column of unknown symbols.
            words = words[:n_words]
        odd = sorted(set(known) ^ set(words), key=str)
        if odd or len(words) != n_words:
            raise InvalidParameterError(
                f"vocabulary of init holds {len(words)} symbols, and must hold each of the "
                f"{n_words} that the model knows once{f', see {odd[:3]}' if odd else ''}"
            )
        places = {word: i for i, word in enumerate(words)}
        order = np.array([places[word] for word in known], dtype=np.intp)
    width = as_numbers("emissionprob", init.emissionprob).shape[-1:]
    has_rest = cells.n_rows > n_words and width == (n_words + 1,)
    shape = cells.n_emitting, n_words + has_rest
    table = probabilities("emissionprob", init.emissionprob, shape)
    rest = table[:, n_words:] if has_rest else np.zeros((len(table), cells.n_rows - n_words))
    return _values_of_cells(np.hstack([table[:, :n_words][:, order], rest]), cells)


def _values_of_cells(table: np.ndarray, cells: Cells) -> np.ndarray:
    """Values of the cells there are, from a table (n_components, n_symbols)."""
    return table[cells.state, np.repeat(np.arange(cells.n_rows), np.diff(cells.indptr))]


# Rows that stay as they are: rows of a prior beside which nothing that is counted weighs anything

_NAMES = {"start": "startprob", "transitions": "transmat", "emissions": "emissionprob"}


def known_parameters(options: ChainOptions) -> HMMParameters:
    """What `fixed` keeps: what `init` says, or the posterior means of the model that it is."""
    known = options.init if isinstance(options.init, HMMParameters) else options.init_means
    if known is None:
        raise InvalidParameterError(
            "fixed needs what is to stay: init=HMMParameters(...), or a fitted model"
        )
    return known


# What a frame that is given has a column for.
_BY_COLUMN = ("means", "covariances", "rates", "probabilities", "locations", "scales", "shapes")


def columns_of_tables(options: ChainOptions, emission: Any) -> FittedColumns:
    """Names of columns, and their labels, as tables of `init` or of fixed rows have them."""
    init = known_parameters(options) if options.fixed else options.init
    tables = init.emissions if isinstance(init, HMMParameters) else None
    if tables is None:
        return FittedColumns()
    names: Any = tables.get("feature_names_in")
    for table in (tables[name] for name in _BY_COLUMN if hasattr(tables.get(name), "columns")):
        columns = names_of_columns(table)
        if all(isinstance(name, str) for name in columns):
            names = columns if names is None else names
            if columns != list(names):
                raise InvalidParameterError(f"tables have columns {columns!r} and {list(names)!r}")
    labels = emission.labels(tables) | dict(tables.get("categories", {}))
    return FittedColumns(None if names is None else list(names), labels)


def _refuse_other_order(init: HMMParameters) -> None:
    """Raise where tables that are frames name the same states in another order."""
    columns: Any = getattr(init.transmat, "columns", None)
    named = [("transmat's columns", columns)]
    tables = {name: getattr(init, name) for name in _NAMES.values()} | init.emitted
    named += [(name, getattr(one, "index", None)) for name, one in tables.items()]
    orders = [(name, own.tolist()) for name, own in named if hasattr(own, "to_numpy")]
    for name, own in orders:
        for other, before in orders:
            if own != before and len(own) == len(before) and set(own) == set(before):
                raise InvalidParameterError(
                    f"{name} names the states {own!r}, and {other} {before!r}: give all tables in "
                    "the same order"
                )


def fixed_rows(options: ChainOptions, n_states: int) -> dict[str, np.ndarray]:
    """Which rows of which tables are fixed; a table of which none is has no entry."""
    rows_of = {}
    for name, value in options.fixed.items():
        rows = np.asarray(value)
        shapes = [()] if name == "start" else [(), (n_states,)]
        if name not in _NAMES or rows.dtype != bool or rows.shape not in shapes:
            raise InvalidParameterError(
                "fixed maps 'start', 'transitions' and 'emissions' to True, the last two also to a "
                f"boolean array of shape {(n_states,)}; got {value!r} for {name!r}"
            )
        if rows.any():
            rows_of[name] = np.broadcast_to(rows, n_states)
    return rows_of


def with_tables(
    first: ChainConcentrations, options: ChainOptions, cells: Cells, vocabulary: np.ndarray | None
) -> ChainConcentrations:
    """Concentrations with a prior for single cells, from arrays as alpha or beta and fixed rows."""
    n, rows = cells.n_states, fixed_rows(options, cells.n_emitting)
    if vocabulary is None:
        # What states emit is the family's (see `sklearn_cvb.emissions.fixed`).
        rows.pop("emissions", None)
    n_rows, emission = cells.chain.n_tables * n, np.full(len(cells.state), np.nan)
    none, emit = np.full((2, n), np.nan)
    out, steps = np.full(n_rows, np.nan), np.full((n_rows, n), np.nan)
    user_prior = ChainPrior(none, np.nan, steps, out, emission, emit)
    are_tables = [*map(_is_table, (options.alpha, options.transitions.start_alpha, options.beta))]
    if any(are_tables[:2]) and first.state_weights is not None and not first.is_pooled:
        raise InvalidParameterError(
            "under an HDP alpha and start_alpha are numbers: totals of rows"
        )
    if are_tables[0]:
        first, user_prior = _with_transition_prior(first, user_prior, options, cells)
    if are_tables[1]:
        user_prior = _with_start_prior(user_prior, options, cells)
    if are_tables[2]:
        user_prior = _with_emission_prior(first, user_prior, options, cells, vocabulary)
    if rows:
        _check_rows(first, options, rows)
        tables = chain_tables(known_parameters(options), cells, vocabulary)
        user_prior = _with_fixed(user_prior, tables, rows, cells)
    return first._replace(user_prior=user_prior) if rows or any(are_tables) else first


def _is_table(concentration: Any) -> bool:
    """Whether a concentration is one for each cell; lists of no one shape are refused later."""
    return isinstance(concentration, list | tuple) or bool(np.ndim(concentration))


def _table(name: str, value: Any, options: ChainOptions, *shapes: tuple[int, ...]) -> np.ndarray:
    """Prior cells of one of these shapes."""
    table = as_numbers(name, value)
    if table.shape not in shapes:
        needs = " or ".join(map(str, shapes))
        raise InvalidParameterError(f"{name} has shape {table.shape}, this model needs {needs}")
    check_concentrations(name, table, or_zero=options.kind.by_em)
    return table


def _with_transition_prior(
    first: ChainConcentrations, user_prior: ChainPrior, options: ChainOptions, cells: Cells
) -> tuple[ChainConcentrations, ChainPrior]:
    """With prior cells of transitions; the start row has the usual concentration."""
    n, shape = cells.n_emitting, (cells.n_emitting, cells.n_states)
    table = _table("alpha", options.alpha, options, shape) + first.sticky * np.eye(*shape)
    if cells.chain.topology is not None:
        table = np.where(cells.chain.topology.transition[:n], table, 0.0)
    user_prior.transition[:n], user_prior.transition_total[:n] = table, table.sum(axis=1)
    return first._replace(alpha=0.0 if options.kind.by_em else first.alpha), user_prior


def _with_start_prior(user_prior: ChainPrior, options: ChainOptions, cells: Cells) -> ChainPrior:
    """With prior cells of the start row, and none for the end."""
    n, start_alpha = cells.n_emitting, options.transitions.start_alpha
    start = np.pad(_table("start_alpha", start_alpha, options, (n,)), (0, cells.n_states - n))
    if cells.chain.topology is not None:
        start = np.where(cells.chain.topology.start, start, 0.0)
    return user_prior._replace(start=start, start_total=float(start.sum()))


def _with_emission_prior(
    first: ChainConcentrations,
    user_prior: ChainPrior,
    options: ChainOptions,
    cells: Cells,
    vocabulary: np.ndarray | None,
) -> ChainPrior:
    """With prior cells of emissions; unknown words have the usual concentration, or their own."""
    if vocabulary is None:
        raise InvalidParameterError("beta is for symbols: emissions of numbers have priors")
    n, n_words = cells.n_emitting, cells.n_words
    names = names_of_columns(options.beta) if hasattr(options.beta, "columns") else []
    known = vocabulary.tolist()
    if set(names) & set(known) and names[:n_words] != known:
        raise InvalidParameterError(f"beta has columns {names!r}, but the symbols are {known!r}")
    shapes = [(n, size) for size in sorted({n_words, cells.n_rows})]
    table = _table("beta", options.beta, options, *shapes)
    usual = 0.0 if options.kind.by_em else first.beta
    table = np.pad(table, ((0, 0), (0, cells.n_rows - table.shape[1])), constant_values=usual)
    plain = _values_of_cells(table, cells)
    emission, total = with_dictionary(plain, cells, first), user_prior.emission_total
    total[:n] = table.sum(axis=1) + cells.row_totals(emission - plain)[:n]
    return user_prior._replace(emission=emission)


def _with_fixed(
    user_prior: ChainPrior, tables: UserTables, rows: dict[str, np.ndarray], cells: Cells
) -> ChainPrior:
    """With rows that are fixed, whose tables must be there."""
    for name, table in zip(_NAMES, tables, strict=True):
        if name in rows and table is None:
            raise InvalidParameterError(f"fixed[{name!r}] needs {_NAMES[name]} in init")
    ends = np.zeros(cells.n_states - cells.n_emitting, bool)
    if tables.start is not None and "start" in rows:
        user_prior = user_prior._replace(start=FIXED_MASS * tables.start, start_total=FIXED_MASS)
    if tables.transition is not None and "transitions" in rows:
        is_fixed = np.append(rows["transitions"], ends)
        user_prior.transition_total[is_fixed] = FIXED_MASS
        user_prior.transition[is_fixed] = FIXED_MASS * tables.transition[is_fixed]
    if tables.emission is not None and "emissions" in rows:
        is_fixed = np.append(rows["emissions"], ends)
        user_prior.emission_total[is_fixed], place = FIXED_MASS, is_fixed[cells.state]
        user_prior.emission[place] = FIXED_MASS * tables.emission[place]
    return user_prior


def _check_rows(
    first: ChainConcentrations, options: ChainOptions, rows: dict[str, np.ndarray]
) -> None:
    """Raise where rows cannot be fixed, or leave nothing to learn a concentration from."""
    every = {name: bool(is_fixed.all()) for name, is_fixed in rows.items()}
    begins = "start" in rows or first.start_alpha is not None
    why = {
        "an HDP as prior of transitions shares out what these rows would keep": (
            first.state_weights is not None
            and not first.is_pooled
            and bool(rows.keys() & {"start", "transitions"})
        ),
        "update='token' takes steps from the mean of several rows: use update='sequence'": (
            "transitions" in rows and options.is_collapsed and options.update == "token"
        ),
        "no row is left to learn alpha from: give it a number": (
            first.learn_alpha and begins and every.get("transitions", False)
        ),
        "no row is left to learn beta from: give it a number": (
            first.learn_beta and every.get("emissions", False)
        ),
    }
    for message, is_so in why.items():
        if is_so:
            raise InvalidParameterError(f"fixed={options.fixed!r}: {message}")
