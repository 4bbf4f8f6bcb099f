"""Tables that cannot be meant: columns that are swapped, missing, new or of another kind."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from fuzz.changes import Changes, among, of_each, one_of

WRONG: Changes = {}


def _column(frame: pd.DataFrame, rng: np.random.Generator, text: bool) -> Any:
    """One of the columns of numbers, or of text."""
    names = [name for name in frame.columns if (frame[name].dtype.kind not in "biuf") == text]
    return one_of(rng, names)


@of_each(WRONG, "frames")
def _swapped_columns(frame, rng):
    # Contexts may be anywhere.
    numbers = [name for name in frame.columns if frame[name].dtype.kind in "biuf"] or frame.columns
    first, second = rng.permutation(numbers)[:2]
    order = {first: second, second: first}
    return frame[[order.get(name, name) for name in frame.columns]]


@among(WRONG, "frames")
def _columns_swapped_in_the_last_sequence(X, rng):
    return [*X[:-1], _swapped_columns(X[-1], rng)]


@of_each(WRONG, "frames")
def _a_missing_column(frame, rng):
    return frame.drop(columns=one_of(rng, frame.columns))


@of_each(WRONG, "frames")
def _an_extra_column(frame, rng):
    found = frame.copy()
    found.insert(int(rng.integers(frame.shape[1] + 1)), "extra", 1.0)
    return found


@of_each(WRONG, "frames")
def _a_renamed_column(frame, rng):
    name = one_of(rng, frame.columns)
    return frame.rename(columns={name: one_of(rng, [name.upper(), "other", f" {name}"])})


@of_each(WRONG, "frames")
def _numbered_columns(frame, rng):
    return frame.set_axis(range(frame.shape[1]), axis=1)


@of_each(WRONG, "frames")
def _a_column_twice(frame, rng):
    name = one_of(rng, frame.columns)
    return pd.concat([frame, frame[[name]]], axis=1)


@of_each(WRONG, "frames")
def _words_for_numbers(frame, rng):
    name = _column(frame, rng, False)
    return frame.assign(**{name: np.where(frame[name] > 10, "high", "low")})


@of_each(WRONG, "frames")
def _digits_for_numbers(frame, rng):
    name = _column(frame, rng, False)
    kind = one_of(rng, ["str", object, "string", "category"])
    return frame.assign(**{name: frame[name].fillna(0).astype(int).astype(str).astype(kind)})


@of_each(WRONG, "frames")
def _dates_for_numbers(frame, rng):
    days = pd.date_range("2026-01-01", periods=len(frame))
    kinds = [days, days - days[0], days.date, days.tz_localize("UTC")]
    name = _column(frame, rng, False)
    return frame.assign(**{name: one_of(rng, kinds)})


@of_each(WRONG, "frames")
def _codes_for_text(frame, rng):
    name = _column(frame, rng, True)
    codes = (frame[name] == "on").astype(int)
    return frame.assign(**{name: codes.astype(one_of(rng, ["int", "float", "bool"]))})


@of_each(WRONG, "frames")
def _other_labels(frame, rng):
    name = _column(frame, rng, True)
    return frame.assign(**{name: frame[name].str.upper()})


@of_each(WRONG, "frames", "arrays")
def _transposed(table, rng):
    return table.T


@among(WRONG, "frames")
def _rows_for_sequences(X, rng):
    return [row for frame in X for row in frame.to_numpy()]


@among(WRONG, "frames", "arrays", "series")
def _one_sequence_bare(X, rng):
    return one_of(rng, X)


@among(WRONG, "frames")
def _all_rows_in_one_frame(X, rng):
    return pd.concat(X, keys=range(len(X)) if rng.random() < 0.5 else None)


@among(WRONG, "frames")
def _groups_with_their_names(X, rng):
    return list(enumerate(X))


@among(WRONG, "frames", "arrays", "series", "words", "codes", "pairs")
def _nested_once_more(X, rng):
    return [X]


@among(WRONG, "frames", "arrays", "words", "codes")
def _a_mapping(X, rng):
    return dict(enumerate(X))


@of_each(WRONG, "frames")
def _mappings(frame, rng):
    return frame.to_dict("list")


@of_each(WRONG, "frames")
def _records(frame, rng):
    return frame.to_records(index=bool(rng.integers(2)))


@of_each(WRONG, "frames")
def _rows_of_mappings(frame, rng):
    return frame.to_dict("records")


# Arrays


@of_each(WRONG, "arrays")
def _fewer_columns(table, rng):
    return table[:, :-1]


@of_each(WRONG, "arrays")
def _more_columns(table, rng):
    return np.column_stack([table, table[:, 0]])


@of_each(WRONG, "arrays")
def _flat_sequences(table, rng):
    return table.ravel()


@among(WRONG, "arrays")
def _rows_as_sequences(X, rng):
    return list(np.concatenate(X))


@among(WRONG, "arrays")
def _one_long_table(X, rng):
    return np.concatenate(X)


@among(WRONG, "arrays")
def _a_cube_of_another_width(X, rng):
    return np.stack(X)[:, :, : int(rng.integers(1, 3))]


@among(WRONG, "arrays")
def _a_cube_the_other_way_round(X, rng):
    return np.stack(X).transpose(0, 2, 1)


@among(WRONG, "arrays", "series")
def _four_dimensions(X, rng):
    return np.stack(X).reshape(len(X), 1, 12, -1)


@of_each(WRONG, "arrays")
def _frames_that_are_wider(table, rng):
    return pd.DataFrame(table).assign(time=range(len(table)))


@of_each(WRONG, "arrays", "series")
def _text_for_numbers(table, rng):
    kind = one_of(rng, ["U", "S", object])
    return np.nan_to_num(table).astype(int).astype("U").astype(kind)


@of_each(WRONG, "arrays", "series")
def _dates(table, rng):
    return np.nan_to_num(table).astype("datetime64[D]" if rng.random() < 0.5 else "timedelta64[s]")


@of_each(WRONG, "arrays", "series")
def _some_text(table, rng):
    found = table.astype(object)
    found.reshape(-1)[int(rng.integers(found.size))] = one_of(
        rng, ["high", "1.5", date(2026, 1, 1)]
    )
    return found


@of_each(WRONG, "arrays", "series")
def _complex_numbers(table, rng):
    return table + 1j


@of_each(WRONG, "arrays")
def _ragged_rows(table, rng):
    return [*table.tolist()[:-1], table[-1, :-1].tolist()]


# A single column


@of_each(WRONG, "series")
def _two_columns(series, rng):
    return np.column_stack([series, series])


@of_each(WRONG, "series")
def _rows_of_one_table(series, rng):
    return series[None]


@among(WRONG, "series")
def _a_column_bare(X, rng):
    long = np.concatenate(X)[:, None]
    return one_of(rng, [long, pd.DataFrame(long, columns=["a"])])


@among(WRONG, "series")
def _numbers_of_one_sequence(X, rng):
    return one_of(rng, [X[0].tolist(), tuple(X[0]), pd.Series(X[0])])


# A table of rows


@among(WRONG, "rows", "wide")
def _swapped_steps(X, rng):
    return _swapped_columns(X, rng)


@among(WRONG, "rows", "wide")
def _a_missing_step(X, rng):
    return _a_missing_column(X, rng)


@among(WRONG, "rows", "wide")
def _an_extra_step(X, rng):
    return X.assign(extra=X[X.columns[0]])


@among(WRONG, "rows", "wide")
def _a_renamed_step(X, rng):
    return _a_renamed_column(X, rng)


@among(WRONG, "rows")
def _words_for_steps(X, rng):
    return _words_for_numbers(X, rng)


@among(WRONG, "rows")
def _digits_for_steps(X, rng):
    return _digits_for_numbers(X, rng)


@among(WRONG, "rows")
def _dates_for_steps(X, rng):
    return _dates_for_numbers(X, rng)


@among(WRONG, "rows", "wide")
def _one_row(X, rng):
    return X.iloc[0]


@among(WRONG, "rows", "wide")
def _the_table_transposed(X, rng):
    return X.T


@among(WRONG, "rows", "wide")
def _an_array_of_another_width(X, rng):
    return X.to_numpy()[:, :-1]


# Symbols


@among(WRONG, "words", "codes")
def _one_sequence_of_symbols(X, rng):
    return one_of(rng, [X[0], tuple(X[0]), np.array(X[0], dtype=object)])


@among(WRONG, "words")
def _sentences_as_text(X, rng):
    return [" ".join(map(str, row)) for row in X]


@of_each(WRONG, "words")
def _whole_sentences_as_words(row, rng):
    return [" ".join(map(str, row))]


@of_each(WRONG, "words")
def _other_words(row, rng):
    changes = [str.upper, str.encode, lambda word: f"{word}.", lambda word: f" {word}", len]
    change = one_of(rng, changes)
    return [None if word is None else change(word) for word in row]


@of_each(WRONG, "codes")
def _other_codes(row, rng):
    changes = [str, lambda code: code + 1000, lambda code: code + 0.5, lambda code: f"c{code}"]
    return list(map(one_of(rng, changes), row))


@of_each(WRONG, "words", "codes")
def _dates_for_symbols(row, rng):
    return list(pd.date_range("2026-01-01", periods=len(row)))


@of_each(WRONG, "words", "codes")
def _sequences_of_lists(row, rng):
    return [[symbol] for symbol in row]


@of_each(WRONG, "words", "codes")
def _columns_of_symbols(row, rng):
    return np.array(row, dtype=object)[:, None]


@of_each(WRONG, "words", "codes")
def _frames_of_symbols(row, rng):
    return pd.DataFrame({"word": row, "time": range(len(row))})


@among(WRONG, "words", "codes")
def _a_column_of_symbols(X, rng):
    return np.array([symbol for row in X for symbol in row], dtype=object)[:, None]


# Pairs


@of_each(WRONG, "pairs")
def _sides_exchanged(pair, rng):
    return pair[::-1]


@of_each(WRONG, "pairs")
def _sides_as_text(pair, rng):
    return tuple(map(" ".join, pair))


@of_each(WRONG, "pairs")
def _triples(pair, rng):
    return (*pair, pair[0])


@of_each(WRONG, "pairs")
def _single_sentences(pair, rng):
    return pair[0]


@of_each(WRONG, "pairs")
def _pairs_of_other_words(pair, rng):
    kind = one_of(rng, [str.upper, str.encode, lambda word: f"{word}."])
    return tuple([kind(word) for word in side] for side in pair)


@of_each(WRONG, "pairs")
def _pairs_of_whole_sentences(pair, rng):
    return tuple([" ".join(side)] for side in pair)


@among(WRONG, "pairs")
def _one_pair(X, rng):
    return X[0]


@among(WRONG, "pairs")
def _two_lists(X, rng):
    return tuple(zip(*X[:3], strict=True))
