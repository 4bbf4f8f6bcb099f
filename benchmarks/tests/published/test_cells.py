"""Tables of the pages are what the experiments find: the cheapest cells of each, found afresh."""

import csv
from pathlib import Path

import pytest

from benchmarks.published.catalogue import EXPERIMENTS
from benchmarks.published.cells import ANYTHING, CELLS
from benchmarks.published.settings import Settings
from benchmarks.published.tables import Table

TABLES = Path(__file__).resolve().parents[3] / "doc" / "published" / "tables"
# Columns of seconds are another each time.
SECONDS = ("second", "ms per")


def page_of(name):
    """What reads a table of an experiment's page."""

    def page(what):
        with (TABLES / f"{name}_{what}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        return Table(header, rows)

    return page


def columns_of(table):
    """Places of the columns by heading and how many of this heading were before."""
    places = {}
    for place, heading in enumerate(map(str, table.header)):
        if not any(word in heading for word in SECONDS):
            places[heading, sum(heading == other for other, _ in places)] = place
    return places


def filled(rows):
    """Rows whose first two cells are those of the row above where they are empty."""
    found = []
    for row in rows:
        row = list(map(str, row))
        for place in range(min(2, len(row) - 1)):
            if found and not row[place]:
                row[place] = found[-1][place]
        found.append(row)
    return found


def is_like(cell, shown):
    """Whether a cell found afresh is the one shown."""
    begin, is_begin, _ = cell.partition(ANYTHING)
    return shown.startswith(begin) if is_begin else cell == shown


def not_shown(found, shown):
    """Rows that no row of a page's table is like, in the columns that were found."""
    columns = columns_of(found)
    assert len(columns) > 1
    pairs = [(place, columns_of(shown)[heading]) for heading, place in columns.items()]
    rows = filled(shown.rows)
    return [
        row
        for row in filled(found.rows)
        if not any(all(is_like(row[i], other[j]) for i, j in pairs) for other in rows)
    ]


def test_each_experiment_has_cells():
    assert list(CELLS) == list(EXPERIMENTS)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_found_afresh_is_that_of_the_page(name, data_folder, monkeypatch):
    shown = page_of(name)
    found = CELLS[name](Settings(str(data_folder)), monkeypatch.setattr, shown)
    assert found
    for what, table in found.items():
        assert table.rows
        assert not_shown(table, shown(what)) == []


SHOWN = Table(
    ["text", "model", "%", "", ""],
    [["Alice", "EM", "1.0", "a", "2 in 3 s"], ["", "VB", "2.0", "", "4 in 5 s"]],
)


@pytest.mark.parametrize(
    ("header", "row", "is_shown"),
    [
        (["text", "model", "%"], ["Alice", "VB", "2.0"], True),
        (["text", "model", "%"], ["Alice", "VB", "2.1"], False),
        (["text", "model", "%"], ["Alice", "CVB", "2.0"], False),
        (["model", "", ""], ["VB", "", "4 in ..."], True),
        (["model", "", ""], ["VB", "", "5 in ..."], False),
        (["model", "%", "seconds"], ["EM", "1.0", "17"], True),
    ],
)
def test_cells_are_compared_by_heading_and_row(header, row, is_shown):
    assert (not_shown(Table(header, [row]), SHOWN) == []) == is_shown
