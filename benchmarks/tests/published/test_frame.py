"""The frame of the published experiments: parts, files, tables. No experiment is run here."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.published import __main__ as frame
from benchmarks.published.settings import Settings, run_parts
from benchmarks.published.tables import Table, plus_minus, spread, write_tables


def _draw(results, folder):
    (folder / "tosses_heads.png").write_bytes(b"picture")


def _tosses(**changes):
    found = {
        "run": lambda settings: {"heads": 3 if settings.quick else 30},
        "tables": lambda results: {"all": Table(["heads"], [[results["heads"]]], "Tosses")},
        "draw": _draw,
    }
    return SimpleNamespace(**found | changes)


def test_every_module_that_can_be_run_is_an_experiment():
    modules = frame.experiments()
    assert "settings" not in modules
    assert "tables" not in modules
    for module in modules.values():
        assert callable(module.tables)
        assert callable(module.draw)


def test_figures_table_and_picture_are_written_also_into_the_documentation(tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "experiments", lambda: {"tosses": _tosses()})
    results, doc = tmp_path / "results", tmp_path / "doc"
    place = ["--output", str(results), "--doc", str(doc)]
    assert frame.main(["tosses", "--quick", *place]) == 0
    figures = json.loads((results / "tosses.json").read_text())
    assert figures["heads"] == 3
    assert figures["about"]["quick"]
    assert figures["seconds"] >= 0
    for folder in (results, doc / "published" / "tables"):
        assert (folder / "tosses_all.csv").read_text() == "heads\n3\n"
        assert (folder / "tosses.rst").read_text().startswith(".. csv-table:: Tosses\n")
    assert (doc / "images" / "tosses_heads.png").read_bytes() == b"picture"


def test_tables_are_made_again_from_figures_found_before(tmp_path, monkeypatch):
    def refuse(settings):
        raise AssertionError("the experiment was run again")

    monkeypatch.setattr(frame, "experiments", lambda: {"tosses": _tosses(run=refuse)})
    figures = tmp_path / "old.json"
    figures.write_text('{"heads": 7}')
    assert frame.main(["tosses", "--from", str(figures), "--output", str(tmp_path)]) == 0
    assert (tmp_path / "tosses_all.csv").read_text() == "heads\n7\n"


def test_a_part_run_alone_keeps_what_the_others_found(tmp_path):
    parts = {"a": lambda settings: {"heads": 1}, "b": lambda settings: {"heads": 2}}
    module = _tosses(PARTS=parts)
    frame.collect("tosses", module, Settings(), None, tmp_path)
    parts["b"] = lambda settings: {"heads": 5}
    results = frame.collect("tosses", module, Settings(), ["b"], tmp_path)
    assert (results["a"]["heads"], results["b"]["heads"]) == (1, 5)
    assert json.loads((tmp_path / "tosses.json").read_text()) == results
    assert run_parts(parts, Settings())["b"]["heads"] == 5


def test_figures_of_a_part_are_on_disk_before_the_next_part_runs(tmp_path):
    def fail(settings):
        raise RuntimeError("no coin")

    module = _tosses(PARTS={"a": lambda settings: {"heads": 1}, "b": fail})
    with pytest.raises(RuntimeError, match="no coin"):
        frame.collect("tosses", module, Settings(), None, tmp_path)
    assert json.loads((tmp_path / "tosses.json").read_text())["a"]["heads"] == 1


@pytest.mark.parametrize(
    ("module", "message"),
    [(_tosses(), "has no parts"), (_tosses(PARTS={"a": None}), "has no part c: a")],
)
def test_unknown_parts_are_named(tmp_path, module, message):
    with pytest.raises(SystemExit, match=message):
        frame.collect("tosses", module, Settings(), ["c"], tmp_path)


def test_spread_is_that_of_a_sample():
    assert spread([1, 2, 3]) == (2.0, 1.0, 3)
    assert plus_minus([0.5, 0.5], digits=2, scale=100) == "50.00 (0.00)"
    assert plus_minus([1234.5], digits=0) == "1,234"


def test_all_tables_of_the_documentation_are_on_its_pages():
    folder = Path(frame.__file__).resolve().parents[2] / "doc" / "published"
    pages = [path.read_text(encoding="utf-8") for path in folder.glob("*.rst")]
    included = re.findall(r"^\.\. include:: tables/(.*)$", "\n".join(pages), re.M)
    assert sorted(included) == sorted(path.name for path in folder.glob("tables/*.rst"))
    shown = [
        shown or fetched
        for path in folder.glob("tables/*.rst")
        for shown, fetched in re.findall(
            r":file: (.*)$|<tables/(.*?)>", path.read_text(encoding="utf-8"), re.M
        )
    ]
    assert sorted(shown) == sorted(path.name for path in folder.glob("tables/*.csv"))
    assert {path.stem for path in folder.glob("tables/*.rst")} <= set(frame.experiments())


def test_a_page_shows_as_many_tables_as_are_read_and_links_the_others(tmp_path):
    long = Table(["word"], [["one, two"]] * 150, "Long")
    tables = {"first": long, "second": long, "third": Table(["word"], [["one"]], "Short")}
    write_tables("tosses", tables, tmp_path / "tables")
    page = (tmp_path / "tables" / "tosses.rst").read_text(encoding="utf-8")
    assert re.findall(":file: (.*)", page) == ["tosses_first.csv", "tosses_third.csv"]
    assert ":download:`second <tables/tosses_second.csv>`" in page
    assert len(list((tmp_path / "tables").glob("*.csv"))) == 3
