"""Figures as texts, and texts as tables: comma-separated, for reStructuredText to read."""

import csv
import io
import math
import re
from statistics import fmean, stdev
from typing import NamedTuple

# Of all tables that a page shows.
_MOST_WORDS = 400


class Table(NamedTuple):
    """A table of the documentation; cells are shown by `str` and may hold marks of its pages."""

    header: list
    rows: list
    title: str = ""


class Spread(NamedTuple):
    """Mean and standard deviation (0 of one value) of `n` values."""

    mean: float
    deviation: float
    n: int


def spread(values):
    """Mean and standard deviation of a few values."""
    values = [float(value) for value in values]
    return Spread(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


def plus_minus(values, digits=1, scale=1.0):
    """Mean of a few values, with their standard deviation in brackets if there are several.

    `digits`: digits after the point; the deviation has one more where the mean has one. `scale`:
    factor, 100 for shares in per cent.
    """
    found = spread(values)
    mean = f"{scale * found.mean:z,.{digits}f}"
    if found.n == 1 or math.isnan(found.mean):
        return mean
    return f"{mean} ({scale * found.deviation:.{digits}f})"


def comma_separated(table):
    """Header and rows, a line each."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *table.rows])
    return text.getvalue()


def as_text(tables):
    """Titles and cells of all tables."""
    return "\n".join(f"{table.title}\n{comma_separated(table)}" for table in tables.values())


def write_tables(name, tables, folder, footer=""):
    """Write ``NAME_WHAT.csv`` for each table that has rows, and ``NAME.rst``, which shows them.

    `footer`: what ``NAME.rst`` ends with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for what, table in tables.items():
        if table.rows:
            path = folder / f"{name}_{what}.csv"
            path.write_text(comma_separated(table), encoding="utf-8")
            written.append((table.title, path))
    page = "\n".join(filter(None, [as_page(written), footer]))
    (folder / f"{name}.rst").write_text(page, encoding="utf-8")


def as_page(written):
    """Tables (title, path), in order, as many as a reader reads; the others to be fetched."""
    shown, fetched, n_words = [], [], 0
    for title, path in written:
        n_own = len(re.findall(r"[^\s,]+", path.read_text(encoding="utf-8")))
        if n_words + n_own <= _MOST_WORDS or not shown:
            n_words += n_own
            caption = f".. csv-table:: {title}".rstrip()
            shown.append(f"{caption}\n   :file: {path.name}\n   :header-rows: 1\n")
        else:
            what = path.stem.partition("_")[2].replace("_", " ")
            fetched.append(f":download:`{what} <{path.parent.name}/{path.name}>`")
    if fetched:
        shown.append(f"Further tables, as files: {', '.join(fetched)}.\n")
    return "\n".join(shown)
