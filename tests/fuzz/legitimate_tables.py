"""The same values in another form: other numbers, containers, frames and memory."""

from collections import deque
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
from fuzz.changes import Changes, among, of_each, one_of, pl
from fuzz.wrong_tables import WRONG

LEGITIMATE: Changes = {}


@of_each(LEGITIMATE, "frames")
def _whole_numbers(frame, rng):
    kinds = ["int64", "int32", "Int64", "int16"]
    kind = one_of(rng, kinds)
    return frame.astype({n: kind for n in frame.select_dtypes("number") if frame[n].notna().all()})


@of_each(LEGITIMATE, "frames")
def _small_floats(frame, rng):
    kind = one_of(rng, ["float32", "float16", "Float64", "Float32"])
    return frame.astype(dict.fromkeys(frame.select_dtypes("number"), kind))


@of_each(LEGITIMATE, "frames")
def _nullable_columns(frame, rng):
    return frame.convert_dtypes()


@of_each(LEGITIMATE, "frames")
def _columns_of_arrow(frame, rng):
    return frame.convert_dtypes(dtype_backend="pyarrow")


@of_each(LEGITIMATE, "frames")
def _objects(frame, rng):
    found = frame.astype(object)
    return found.where(found.notna(), None) if rng.random() < 0.5 else found


@of_each(LEGITIMATE, "frames")
def _other_text(frame, rng):
    kind = one_of(rng, ["category", "string", object, "string[pyarrow]"])
    return frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number"), kind))


@of_each(LEGITIMATE, "frames")
def _another_index(frame, rng):
    days = pd.date_range("2026-01-01", periods=len(frame))
    labels = [days, [f"row {t}" for t in range(len(frame))], range(100, 100 + len(frame))]
    return frame.set_axis(one_of(rng, labels), axis=0)


@of_each(LEGITIMATE, "frames")
def _parts_of_a_wide_frame(frame, rng):
    return pd.concat([frame.add_suffix(" before"), frame], axis=1)[list(frame.columns)]


@of_each(LEGITIMATE, "frames")
def _arrays_of_frames(frame, rng):
    return frame.to_numpy()


@of_each(LEGITIMATE, "frames")
def _lists_of_rows(frame, rng):
    rows = frame.to_numpy().tolist()
    return rows if rng.random() < 0.5 else tuple(map(tuple, rows))


@of_each(LEGITIMATE, "frames")
def _polars(frame, rng):
    return frame if pl is None else pl.from_pandas(frame)


@of_each(LEGITIMATE, "frames")
def _polars_categories(frame, rng):
    if pl is None:
        return frame
    found = pl.from_pandas(frame)
    return found.with_columns(pl.col(pl.String).cast(pl.Categorical))


@of_each(LEGITIMATE, "frames")
def _arrow_tables(frame, rng):
    return pa.Table.from_pandas(frame, preserve_index=False)


@among(LEGITIMATE, "frames", "arrays", "series", "words", "codes")
def _another_collection(X, rng):
    objects = np.empty(len(X), dtype=object)
    for i, one in enumerate(X):
        objects[i] = one
    column = pd.Series(list(objects), index=range(3, 3 + len(X)))
    return one_of(rng, [tuple(X), objects, deque(X), column])


@of_each(LEGITIMATE, "frames")
def _an_unused_column(frame, rng):
    values = [
        np.arange(len(frame)),
        ["city"] * len(frame),
        pd.date_range("2026", periods=len(frame)),
    ]
    found = frame.copy()
    found.insert(int(rng.integers(frame.shape[1] + 1)), "extra", one_of(rng, values))
    return found


@of_each(LEGITIMATE, "arrays", "series")
def _other_memory(table, rng):
    fixed = table.copy()
    fixed.flags.writeable = False
    strided = np.repeat(table, 2, axis=0)[::2]
    return one_of(rng, [fixed, strided, np.asfortranarray(table), table[::-1].copy()[::-1]])


@of_each(LEGITIMATE, "arrays", "series")
def _other_numbers(table, rng):
    kinds = ["float32", "float16", ">f8", object, "longdouble"]
    if not np.isnan(table).any():
        kinds += ["int8", "int64", "uint16"]
    return table.astype(one_of(rng, kinds))


@of_each(LEGITIMATE, "arrays", "series")
def _numbers_of_python(table, rng):
    return table.tolist()


@of_each(LEGITIMATE, "arrays", "series")
def _decimals(table, rng):
    return np.vectorize(lambda value: Decimal(str(value)), otypes=[object])(table)


@of_each(LEGITIMATE, "arrays")
def _frames_with_any_names(table, rng):
    return pd.DataFrame(table, columns=list("xyz"))


@of_each(LEGITIMATE, "arrays", "series")
def _masked(table, rng):
    return np.ma.masked_invalid(table)


@among(LEGITIMATE, "arrays", "series")
def _a_cube(X, rng):
    cube = np.stack(X)
    return cube if cube.ndim == 3 else cube[:, :, None]


@of_each(LEGITIMATE, "series")
def _columns_of_frames(series, rng):
    kinds = [pd.Series, lambda one: pd.DataFrame({"a": one}), pa.array, lambda one: one[:, None]]
    if pl is not None:
        kinds += [pl.Series, lambda one: pl.DataFrame({"a": one})]
    return one_of(rng, kinds)(series)


@among(LEGITIMATE, "series")
def _rows_of_a_table(X, rng):
    return np.stack(X)


@among(LEGITIMATE, "rows")
def _other_columns_of_a_table(X, rng):
    kinds = ["float32", "int64", "int8", "Int64", "Float64", object, "double[pyarrow]"]
    return X.astype(one_of(rng, kinds))


@among(LEGITIMATE, "wide")
def _other_text_of_a_table(X, rng):
    kinds = [object, "string", "category", "string[pyarrow]"]
    return X.astype(one_of(rng, kinds))


@among(LEGITIMATE, "rows", "wide")
def _another_index_of_a_table(X, rng):
    return X.set_axis([f"customer {i}" for i in range(len(X))], axis=0)


@of_each(LEGITIMATE, "words", "codes")
def _other_sequences(row, rng):
    objects = np.empty(len(row), dtype=object)
    objects[:] = row
    kinds = [tuple, deque, lambda own: objects, pd.Series, pa.array]
    kinds += [
        lambda own: pd.Series(own, dtype="category"),
        lambda own: pd.Series(own, dtype=object),
    ]
    if pl is not None:
        kinds += [pl.Series]
    return one_of(rng, kinds)(row)


@of_each(LEGITIMATE, "words")
def _other_strings(row, rng):
    if None in row:
        return [one_of(rng, [None, np.nan, pd.NA]) if w is None else w for w in row]
    kinds = [
        np.array,
        lambda own: pd.Series(own, dtype="string"),
        lambda own: list(map(np.str_, own)),
    ]
    return one_of(rng, kinds)(row)


@of_each(LEGITIMATE, "codes")
def _other_integers(row, rng):
    kinds = ["int8", "uint16", "int64", "float64", "float32", "Int64", "Float64"]
    kind = one_of(rng, kinds)
    if kind[0] in "IF":
        return pd.Series(row, dtype=kind)
    found = np.array(row, dtype=kind)
    return list(found) if rng.random() < 0.3 else found


@among(LEGITIMATE, "words", "codes")
def _a_table_of_symbols(X, rng):
    table = np.array(X, dtype=object)
    return pd.DataFrame(table) if rng.random() < 0.5 else table


@among(LEGITIMATE, "words", "codes")
def _a_column_of_lists(X, rng):
    kinds = [pd.Series, lambda own: pd.DataFrame({"words": own}), pa.array]
    kinds += [lambda own: pa.table({"words": own})]
    if pl is not None:
        kinds += [pl.Series, lambda own: pl.DataFrame({"words": own})]
    return one_of(rng, kinds)(X)


@of_each(LEGITIMATE, "pairs")
def _other_pairs(pair, rng):
    kinds = [list, lambda own: tuple(map(tuple, own)), lambda own: tuple(map(np.array, own))]
    return one_of(rng, kinds)(pair)


@among(LEGITIMATE, "pairs")
def _a_frame_of_pairs(X, rng):
    kinds = [lambda own: pd.DataFrame(own, columns=["source", "target"]), tuple]
    return one_of(rng, kinds)(X)


@among(LEGITIMATE, *WRONG)
def _as_it_is(X, rng):
    return X
