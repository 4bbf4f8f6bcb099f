"""Results as a record, and as tables, in markdown or for the documentation."""

import os
import platform
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import ROWS
from benchmarks.published.tables import Table
from benchmarks.timing import spread_of

_BOUNDS = ("must reach", "goal", "reached")
_HEADINGS = ("what", "ours", "peer", "ratio: median (least, most)", *_BOUNDS)
_COLD = ("nothing compiled", "all compiled", *_BOUNDS)
# First fits have tables of their own, by the first part of a row's name.
_FOLDERS = {
    "cold": ("import, first fit and prediction", *_COLD),
    "second": ("fit and prediction after another situation", *_COLD),
}
# So have trees and alignments, which say beside each row what is to be known of it.
_GRAMMARS = ("tree", "dependency", "alignment")
# A note of this many rows is said once.
_SHARED = 4
# Rows that differ in the algorithm alone are one line of a table of their own.
_ALGORITHM = re.compile(r"(EM|VB|CVB), (\d+ states, .*)")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "joblib")


def machine():
    """What the figures were measured on, in words that go into a record."""
    from threadpoolctl import threadpool_info

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "blas": sorted(
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '')})"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ),
        "packages": {name: version(name) for name in _PACKAGES},
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
    }


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    values = dict(line.replace("\t", "").split(": ", 1) for line in lines if ": " in line)
    wide = " with AVX-512" if "avx512f" in values.get("flags", "") else ""
    names = [values.get(key, "") for key in ("model name", "cpu MHz")]
    return f"{names[0]}{wide}, {float(names[1] or 0) / 1000:.1f} GHz"


def record(name, measurement):
    """One row's result: its figures, their spread, and whether it is where it must be."""
    row = ROWS[name]
    ratio = spread_of(measurement["ratios"])
    return {
        "name": name,
        "title": row.title,
        **measurement,
        "ratio": ratio._asdict(),
        "ratio_unit": row.unit,
        "at_least": row.at_least,
        "must": row.must,
        "goal": row.goal,
        "must_reached": _reached(row, ratio.median, row.must),
        "goal_reached": _reached(row, ratio.median, row.goal),
    }


def _reached(row, value, target):
    if target is None:
        return None
    return value >= target if row.at_least else value <= target


def number(value):
    """Three digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cells(result):
    """The texts of one line of the table."""
    unit, ratio = result["ratio_unit"], result["ratio"]
    middle = f"{number(ratio['median'])}{unit} ({number(ratio['least'])}, {number(ratio['most'])})"
    sides = [
        f"{number(spread_of(figures).median)} {result['unit']}" if figures else "–"
        for figures in (result["ours"], result["peer"])
    ]
    bounds = [
        "–" if bound is None else f"{'≥' if result['at_least'] else '≤'} {bound:g}{unit}"
        for bound in (result["must"], result["goal"])
    ]
    if _table_of(result) not in _FOLDERS:
        sides.append(middle)
    return [result["title"], *sides, *bounds, _verdict(result)]


def _table_of(result):
    """The table that a row belongs to."""
    first = re.split("[-/]", result["name"])[0]
    if first in _FOLDERS:
        return first
    return "grammars" if first in _GRAMMARS else "sweeps"


def _verdict(result):
    if result["must_reached"] is None:
        return "–"
    if not result["must_reached"]:
        return "no"
    return "goal" if result["goal_reached"] else "yes"


def by_algorithm(table):
    """The table without the rows that are there for EM, VB and CVB, and these side by side."""
    ratios = {}
    for row in table.rows:
        if found := _ALGORITHM.fullmatch(row[0]):
            ratios.setdefault(found[2], {})[found[1]] = str(row[-1]).split()[0]
    whole = {what: own for what, own in ratios.items() if len(own) > 1}
    found = (_ALGORITHM.fullmatch(row[0]) for row in table.rows)
    is_there = [one is not None and one[2] in whole for one in found]
    rest = [row for row, gone in zip(table.rows, is_there, strict=True) if not gone]
    names = "EM", "VB", "CVB"
    lines = [[what, *(own.get(name, "") for name in names)] for what, own in whole.items()]
    title = "How many times as long a sweep takes (medians)"
    return table._replace(rows=rest), Table(["sweeps of", *names], lines, title)


def markdown(results):
    """All that was found, as a markdown page."""
    lines = []
    for table in tables(results).values():
        if table.rows:
            lines += [_line(table.header), _line(["---"] * len(table.header))]
            lines += [*map(_line, table.rows), ""]
    return "\n".join(
        [
            "# Benchmarks",
            "",
            *(f"- {line}" for line in introduction(results)),
            "",
            *lines,
            *(f"- {line}" for line in notes(results["rows"])),
            *(f"- {line}" for line in results["left_out"]),
            "",
        ]
    )


def notes(rows):
    """What is to be known of rows without a column for it; what many share is said once."""
    rows = [row for row in rows if _table_of(row) != "grammars"]
    said = Counter(row["note"] for row in rows if row["note"])
    shared, n = said.most_common(1)[0] if said else ("", 0)
    left = said if n < _SHARED else said.keys() - {shared}
    lines = [f"{row['title']}: {row['note']}" for row in rows if row["note"] in left]
    return lines + [f"{n} rows that are not named here: {shared}"] * (n >= _SHARED)


def introduction(results):
    """What was measured on what."""
    at = results["machine"]
    return [
        f"{at['processor']}, {at['cores']} cores; {', '.join(at['blas'])}; Python {at['python']}, "
        + ", ".join(f"{name} {number}" for name, number in at["packages"].items()),
        *results["texts"].values(),
        f"one thread; medians over {results['settings']['pairs']} pairs of samples in turn, "
        "processor time unless seconds are said to be on the wall",
    ]


def _line(texts):
    return "| " + " | ".join(texts) + " |"


def tables(results, with_targets=True):
    """Tables of sweeps and of first fits, by name, with targets or without."""
    kept = None if with_targets else -len(_BOUNDS)
    found = {"sweeps": Table(_HEADINGS[:kept], [])}
    found |= {folder: Table(headings[:kept], []) for folder, headings in _FOLDERS.items()}
    found["grammars"] = Table((*_HEADINGS[:kept], "to be known"), [])
    for row in results["rows"]:
        name = _table_of(row)
        found[name].rows.append(cells(row)[:kept] + [row["note"]] * (name == "grammars"))
    return found
