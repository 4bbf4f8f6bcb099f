"""The frame of the published experiments: parts, files, tables. No experiment is run here."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import pytest

from benchmarks.published import __main__ as frame
from benchmarks.published.catalogue import EXPERIMENTS, SOURCES, lacking
from benchmarks.published.provenance import digest, digests_of, footer
from benchmarks.published.settings import Settings, run_parts
from benchmarks.published.tables import Table, plus_minus, spread, write_tables


def _draw(results, folder):
    (folder / "tosses_heads.png").write_bytes(b"picture")


def _tosses(**changes):
    found = {
        "run": lambda settings: {"heads": 3 if settings.quick else 30},
        "tables": lambda results: {"all": Table(["heads"], [[results["heads"]]], "Tosses")},
        "draw": _draw,
        "quick": (),
    }
    return SimpleNamespace(**found | changes)


@pytest.fixture
def known(monkeypatch):
    """Experiments by name, in the place of all that there are."""
    modules = {}
    monkeypatch.setattr(frame, "EXPERIMENTS", modules)
    monkeypatch.setattr(frame, "module_of", modules.__getitem__)
    monkeypatch.setattr(frame, "lacking", lambda name, data_home: {})
    monkeypatch.setattr(frame, "digest", lambda name: f"digest of {name}")
    monkeypatch.setattr(frame, "commit", lambda: "0123abcd")
    return modules


def test_every_module_that_can_be_run_is_in_the_catalogue():
    folder = Path(frame.__file__).parent
    with_tables = [
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^def tables\(", path.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted(with_tables) == sorted(EXPERIMENTS) == list(EXPERIMENTS)
    for name, one in EXPERIMENTS.items():
        module = frame.module_of(name)
        assert callable(module.tables)
        assert callable(module.draw)
        assert hasattr(module, "run") or module.PARTS
        assert set(one.quick) <= set(getattr(module, "PARTS", ()))


def test_figures_table_and_picture_are_written_also_into_the_documentation(tmp_path, known):
    known["tosses"] = _tosses()
    results, doc = tmp_path / "results", tmp_path / "doc"
    assert frame.main(["tosses", "--output", str(results), "--doc", str(doc)]) == 0
    figures = json.loads((results / "tosses.json").read_text())
    assert figures["heads"] == 30
    assert not figures["about"]["quick"]
    assert figures["seconds"] >= 0
    for folder in (results, doc / "published" / "tables"):
        assert (folder / "tosses_all.csv").read_text() == "heads\n30\n"
        page = (folder / "tosses.rst").read_text()
        assert page.startswith(".. csv-table:: Tosses\n")
        assert re.search(r"\nMade on \d+ \w+ \d{4} from commit 0123abcd\.\n", page)
        assert page.endswith("\n.. digest: digest of tosses\n")
    assert (doc / "images" / "tosses_heads.png").read_bytes() == b"picture"


def test_tables_are_made_again_from_figures_found_before(tmp_path, known):
    def refuse(settings):
        raise AssertionError("the experiment was run again")

    known["tosses"] = _tosses(run=refuse)
    about = {"date": "2025-01-02T03:04:05+00:00", "commit": "76543210", "digest": "89ab"}
    figures = tmp_path / "old.json"
    figures.write_text(json.dumps({"heads": 7, "about": about | {"quick": False}}))
    assert frame.main(["tosses", "--from", str(figures), "--output", str(tmp_path)]) == 0
    assert (tmp_path / "tosses_all.csv").read_text() == "heads\n7\n"
    page = (tmp_path / "tosses.rst").read_text()
    assert "Made on 2 January 2025 from commit 76543210.\n" in page
    assert digests_of(page) == ["89ab"]


def test_a_small_version_is_not_for_pages(tmp_path, known, capsys):
    known["tosses"] = _tosses()
    to = ["--output", str(tmp_path / "results"), "--doc", str(tmp_path / "doc")]
    with pytest.raises(SystemExit):
        frame.main(["tosses", "--quick", *to])
    assert frame.main(["tosses", "--quick", *to[:2]]) == 0
    with pytest.raises(SystemExit):
        frame.main(["tosses", "--from", str(tmp_path / "results" / "tosses.json"), *to])
    assert "of a small version" in capsys.readouterr().err
    assert not (tmp_path / "doc").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tosses", "--all"],
        ["--all", "--list"],
        ["--all", "--parts", "a"],
        ["--all", "--from", "x"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(known, arguments):
    known["tosses"] = _tosses()
    with pytest.raises(SystemExit, match="2"):
        frame.main(arguments)


def test_one_of_all_that_fails_does_not_end_the_others(tmp_path, known, monkeypatch, capsys):
    def fail(settings):
        raise SystemExit("no coin")

    known |= {"broken": _tosses(run=fail), "poor": _tosses(), "tosses": _tosses()}
    lacking = {"poor": {"coins": "coins.zip not found in here"}}
    monkeypatch.setattr(frame, "lacking", lambda name, data_home: lacking.get(name, {}))
    assert frame.main(["--all", "--quick", "--output", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.glob("*.json")] == ["tosses.json"]
    said = capsys.readouterr().err
    assert said.startswith("coins.zip not found in here\n")
    assert said.endswith("failed: poor: lacks coins\nfailed: broken: SystemExit: no coin\n")
    assert frame.main(["poor", "--output", str(tmp_path)]) == 1


def test_the_list_says_what_each_experiment_needs(capsys):
    assert frame.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert all(set(one.needs) <= set(SOURCES) and one.minutes > 0 for one in EXPERIMENTS.values())
    assert any(
        re.fullmatch(r"table2 +\d+ min  Wang .*, table 2; needs .*treebank", x) for x in lines
    )


@pytest.mark.parametrize("source", sorted(set(SOURCES) - {"statsmodels"}))
def test_what_is_lacking_is_named_with_where_it_was_looked_for(source, tmp_path, monkeypatch):
    def unreachable(*args, **keywords):
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_file", unreachable)
    (name, *_) = [name for name, one in EXPERIMENTS.items() if source in one.needs]
    found = lacking(name, str(tmp_path))
    assert set(found) | {"statsmodels"} == {*EXPERIMENTS[name].needs, "statsmodels"}
    assert re.search(f"{re.escape(str(tmp_path))}.*data_home", found[source])


def test_a_part_run_alone_keeps_what_the_others_found(tmp_path, known):
    parts = {"a": lambda settings: {"heads": 1}, "b": lambda settings: {"heads": 2}}
    known["tosses"] = _tosses(PARTS=parts)
    frame.collect("tosses", Settings(), None, tmp_path)
    parts["b"] = lambda settings: {"heads": 5}
    results = frame.collect("tosses", Settings(), ["b"], tmp_path)
    assert (results["a"]["heads"], results["b"]["heads"]) == (1, 5)
    assert json.loads((tmp_path / "tosses.json").read_text()) == results
    assert run_parts(parts, Settings())["b"]["heads"] == 5


def test_tables_that_need_other_parts_say_which(tmp_path, known):
    parts = {"a": lambda settings: {"heads": 1}, "b": lambda settings: {"heads": 2}}

    def tables(results):
        heads = results["a"]["heads"] + results["b"]["heads"]
        return {"all": Table(["heads"], [[heads]], "Tosses")}

    known["tosses"] = _tosses(PARTS=parts, tables=tables)
    arguments = ["tosses", "--output", str(tmp_path), "--parts"]
    with pytest.raises(SystemExit, match="tosses: tables need the parts b, too"):
        frame.main([*arguments, "a"])
    assert frame.main([*arguments, "b"]) == 0
    assert (tmp_path / "tosses_all.csv").read_text() == "heads\n3\n"
    known["tosses"] = _tosses(PARTS=parts, tables=lambda results: results["c"])
    with pytest.raises(KeyError, match="c"):
        frame.main([*arguments, "b"])


def test_a_small_version_is_some_parts_where_these_are_named(tmp_path, known):
    parts = {"a": lambda settings: {"heads": 1}, "b": lambda settings: {"heads": 2}}
    known["tosses"] = _tosses(PARTS=parts, quick=("b",))
    assert list(frame.collect("tosses", Settings(quick=True), None, tmp_path)) == ["b"]
    assert list(frame.collect("tosses", Settings(quick=True), ["a"], tmp_path)) == ["b", "a"]
    assert list(frame.collect("tosses", Settings(), None, tmp_path)) == ["a", "b"]


def test_figures_of_a_part_are_on_disk_before_the_next_part_runs(tmp_path, known):
    def fail(settings):
        raise RuntimeError("no coin")

    known["tosses"] = _tosses(PARTS={"a": lambda settings: {"heads": 1}, "b": fail})
    with pytest.raises(RuntimeError, match="no coin"):
        frame.collect("tosses", Settings(), None, tmp_path)
    assert json.loads((tmp_path / "tosses.json").read_text())["a"]["heads"] == 1


@pytest.mark.parametrize(
    ("module", "message"),
    [(_tosses(), "has no parts"), (_tosses(PARTS={"a": None}), "has no part c: a")],
)
def test_unknown_parts_are_named(tmp_path, known, module, message):
    known["tosses"] = module
    with pytest.raises(SystemExit, match=message):
        frame.collect("tosses", Settings(), ["c"], tmp_path)


def _of(date, commit, digest):
    return {"about": {"date": date, "commit": commit, "digest": digest, "quick": False}}


def test_a_page_of_parts_says_the_first_and_the_last_run_and_all_digests():
    parts = {"a": _of("2025-02-03", "b", "2"), "b": _of("2025-01-02", "a", "1"), "seconds": 3}
    page = footer(parts)
    assert "Made from 2 January 2025 (commit a) to 3 February 2025 (commit b).\n" in page
    assert digests_of(page) == ["1", "2"]
    parts["a"]["about"]["digest"] = None
    assert digests_of(footer(parts)) == ["1", "unknown"]
    assert digests_of(footer({"heads": 1})) == []


CODE = {
    "tosses": """
from benchmarks.published.coins import toss
from benchmarks.published.tables import Table

def run(settings):
    if settings.quick:
        return {"heads": f"{toss(1)} # no comment"}
    return toss(30)
""",
    "coins": "def toss(n):\n    from benchmarks.published import luck\n    return luck.draw(n)\n",
    "luck": "import numpy\ndraw = abs\n",
}


def _changed(module, old, new):
    assert old in CODE[module]
    return digest("tosses", (CODE | {module: CODE[module].replace(old, new)}).__getitem__)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("tosses", "\n\ndef", "  # heads or tails\n\n\n\ndef"),
        ("tosses", "settings):\n", 'settings):\n    """Toss."""\n    # Many\n'),
        ("tosses", "toss(30)", "toss(\n        30\n    )"),
        ("coins", "    ", "  "),
        ("luck", "import", '"""Luck\n\nitself."""\nimport'),
    ],
)
def test_comments_and_layout_leave_the_digest_as_it_is(module, old, new):
    assert _changed(module, old, new) == digest("tosses", CODE.__getitem__)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("tosses", "30", "31"),
        ("tosses", "# no", "#  no"),
        ("tosses", "toss(1)", "toss(2)"),
        ("tosses", "    return toss", "        return toss"),
        ("coins", "toss(n)", "toss(n, m=1)"),
        ("luck", "abs", "round"),
    ],
)
def test_what_an_experiment_does_and_what_it_imports_change_the_digest(module, old, new):
    assert _changed(module, old, new) != digest("tosses", CODE.__getitem__)


def test_the_digest_is_the_same_in_all_versions_of_python():
    assert digest("tosses", CODE.__getitem__) == "be809e758ac26ba2"


def test_spread_is_that_of_a_sample():
    assert spread([1, 2, 3]) == (2.0, 1.0, 3)
    assert plus_minus([0.5, 0.5], digits=2, scale=100) == "50.00 (0.00)"
    assert plus_minus([1234.5], digits=0) == "1,234"


def test_all_tables_of_the_documentation_are_on_its_pages():
    doc = Path(frame.__file__).resolve().parents[2] / "doc"
    folder = doc / "published"
    included = [
        page.parent / name
        for page in [*folder.glob("*.rst"), *doc.glob("*.rst")]
        for name in re.findall(r"^\.\. include:: (.*)$", page.read_text(encoding="utf-8"), re.M)
    ]
    included = [path for path in included if path.parent == folder / "tables"]
    assert sorted(included) == sorted(folder.glob("tables/*.rst"))
    shown = [
        shown or fetched
        for path in folder.glob("tables/*.rst")
        for shown, fetched in re.findall(
            r":file: (.*)$|<tables/(.*?)>", path.read_text(encoding="utf-8"), re.M
        )
    ]
    assert sorted(shown) == sorted(path.name for path in folder.glob("tables/*.csv"))
    assert {path.stem for path in folder.glob("tables/*.rst")} <= set(EXPERIMENTS)


def test_a_page_shows_as_many_tables_as_are_read_and_links_the_others(tmp_path):
    long = Table(["word"], [["one, two"]] * 150, "Long")
    tables = {"first": long, "second": long, "third": Table(["word"], [["one"]], "Short")}
    write_tables("tosses", tables, tmp_path / "tables")
    page = (tmp_path / "tables" / "tosses.rst").read_text(encoding="utf-8")
    assert re.findall(":file: (.*)", page) == ["tosses_first.csv", "tosses_third.csv"]
    assert ":download:`second <tables/tosses_second.csv>`" in page
    assert len(list((tmp_path / "tables").glob("*.csv"))) == 3
