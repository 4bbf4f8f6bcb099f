"""Rows and columns of tables that benchmarks wrote, as ``.. measured::`` shows them."""

import csv
from pathlib import Path

DOC = Path(__file__).resolve().parents[1]


def chosen(table, where="", rows="", columns=""):
    """The header and the rows that are asked for; each row begins with its name."""
    header, *body = table
    if where:
        column, _, text = (part.strip() for part in where.partition("="))
        body = [row for row in body if row[header.index(column)] == text]
    if columns:
        shown, names = _named(columns)
        places = [header.index(name) if name else 0 for name in names]
        header, body = shown, [[row[i] for i in places] for row in body]
    if rows:
        by_name = {row[0]: row[1:] for row in body}
        body = [[label, *by_name[name]] for label, name in zip(*_named(rows), strict=True)]
    return [header, *body]


def read(path):
    """Header and rows of a table below the folder of the documentation."""
    return list(csv.reader((DOC / path).read_text("utf-8").splitlines()))


def _named(text):
    """What is shown, and what the table has for it."""
    parts = [[side.strip() for side in part.split(" = ")] for part in text.split(";")]
    return [part[0] for part in parts], [part[-1] for part in parts]
