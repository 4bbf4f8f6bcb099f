"""``.. measured:: tables/taggers.csv``: rows and columns of a table that a benchmark wrote.

``:where:`` keeps the rows that have some text in a column, ``:rows:`` and ``:columns:`` those that
they name, in their order. Names are divided by semicolons, an empty one is the first column's;
``shown = name`` gives another heading. ``:measured:`tables/taggers.csv; row; column``` is one cell.
"""

import csv
import io

from csv_tables import DOC, chosen, read
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole


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
