"""``.. measured:: tables/taggers.csv``: rows and columns of a table that a benchmark wrote.

``:where:`` keeps the rows that have some text in a column, ``:rows:`` and ``:columns:`` those that
they name, in their order. Names are divided by semicolons, an empty one is the first column's;
``shown = name`` gives another heading. ``:measured:`tables/taggers.csv; row; column``` is one cell.
"""

import csv
import io
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole

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


class Measured(SphinxDirective):
    """A table of figures, none of which is typed in."""

    required_arguments = 1
    option_spec = dict.fromkeys(["title", "where", "rows", "columns"], directives.unchanged)

    def run(self):
        """The table."""
        path = self.arguments[0]
        self.env.note_dependency(str(DOC / path))
        asked = {name: text for name, text in self.options.items() if name != "title"}
        try:
            found = chosen(read(path), **asked)
        except (KeyError, ValueError) as error:
            raise self.error(f"{path} has not what is asked for: {error}") from error
        text = io.StringIO()
        csv.writer(text, lineterminator="\n   ").writerows(found)
        title = self.options.get("title", "")
        shown = f".. csv-table:: {title}\n   :header-rows: 1\n\n   {text.getvalue()}"
        return self.parse_text_to_nodes(shown)


class Cell(SphinxRole):
    """A figure in a sentence."""

    def run(self):
        """The text of the cell, as the table has it."""
        path, row, column = (part.strip() for part in self.text.split(";"))
        self.env.note_dependency(str(DOC / path))
        return [nodes.Text(chosen(read(path), rows=row, columns=f"; {column}")[1][1])], []


def setup(app):
    """Add the directive and the role."""
    app.add_directive("measured", Measured)
    app.add_role("measured", Cell())
    return {"parallel_read_safe": True}
