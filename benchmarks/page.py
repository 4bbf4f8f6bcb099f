"""The documentation page: figures of a run go between its two marks, tables and pictures beside."""

from pathlib import Path

from benchmarks.published.tables import write_tables
from benchmarks.scaling import Curve, draw
from benchmarks.table import by_algorithm, introduction, notes, tables

BEGIN = ".. Figures from here on are written by python -m benchmarks --page"
END = ".. Figures end here"


def update(page, results):
    """Replace figures, tables and pictures of a page, which has the lines `BEGIN` and `END`."""
    page = Path(page)
    before, rest = page.read_text(encoding="utf-8").split(f"{BEGIN}\n")
    _, after = rest.split(END)
    text = f"{before}{BEGIN}\n\n{figures(results)}\n{END}{after}"
    page.write_text(text, encoding="utf-8")
    found = tables(results, with_targets=False)
    found["sweeps"], found["emissions"] = by_algorithm(found["sweeps"])
    write_tables("performance", found, page.parent / "tables")
    folder = page.parent / "images"
    folder.mkdir(exist_ok=True)
    for name, curve in results["curves"].items():
        draw(Curve(**curve), folder / f"performance_{name}.png")


def figures(results):
    """Machine, tables and notes, in reStructuredText: figures, and no targets."""
    day = results["date"].split("T")[0]
    parts = [
        "\n".join(f"- {line}" for line in (f"measured on {day}", *introduction(results))),
        ".. include:: tables/performance.rst",
        "What to know about the rows:",
        "\n".join(f"- {line}." for line in notes(results["rows"])),
        "\n".join(f"- {line}." for line in results["left_out"]),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
