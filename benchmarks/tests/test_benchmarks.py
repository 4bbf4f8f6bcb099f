"""The benchmarks: rows, ratios, missing peers, files. No figure is judged by how fast it is."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sklearn_cvb import Symbols

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"processor": "", "cores": 2, "blas": [], "python": "3", "packages": {}}
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
ROWS_WITHOUT_PEERS = ["em-arithmetic", "cvb-dictionary", "threads-dictionary", "memory", "import"]


def _run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )


def _measurement(ratios, **changes):
    figures = {"ours": [2.0] * len(ratios), "peer": [9.0], "unit": "ns per token", "note": "so so"}
    return figures | {"ratios": ratios} | changes


def test_quick_run_writes_every_row_and_a_picture(tmp_path):
    rows = ",".join(ROWS_WITHOUT_PEERS)
    done = _run(
        "--quick",
        "--pairs",
        "2",
        "--rows",
        rows,
        "--pictures",
        "vocabulary",
        "--output",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in results["rows"]] == ROWS_WITHOUT_PEERS
    assert results["failures"] == {}
    assert results["texts"]["journal"].startswith("pocket English, 300 sentences")
    for row in results["rows"]:
        ratio = row["ratio"]
        assert 0 < ratio["least"] <= ratio["median"] <= ratio["most"]
        assert min(row["ours"]) > 0
        assert row["title"] in (tmp_path / "table.md").read_text(encoding="utf-8")
        assert row["title"] in (tmp_path / "table_sweeps.csv").read_text(encoding="utf-8")
    lines = results["curves"]["vocabulary"]["lines"]
    assert all(len(points) == 2 and min(map(min, points)) > 0 for points in lines.values())
    picture = tmp_path / "performance_vocabulary.png"
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


@pytest.mark.skipif(find_spec("hmmlearn") is None, reason="hmmlearn is not installed")
def test_quick_row_against_hmmlearn(tmp_path):
    arguments = ["--quick", "--pairs", "2", "--rows", "em-dense,em-dictionary"]
    done = _run(*arguments, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    dense, dictionary = json.loads((tmp_path / "results.json").read_text())["rows"]
    for row in (dense, dictionary):
        pairs = zip(row["ours"], row["peer"], strict=True)
        assert row["ratios"] == [pytest.approx(b / a) for a, b in pairs]
        assert len(row["ratios"]) == 2
    # Said of dictionaries alone.
    assert ["tags per token" in row["note"] for row in (dense, dictionary)] == [False, True]
    assert "hmmlearn has no dictionary" in dictionary["note"]


def test_hmmlearn_learns_the_same_as_em():
    """Its iteration does the work of a sweep: from the same posteriors, the same emissions."""
    pytest.importorskip("hmmlearn")
    import numpy as np

    from benchmarks.peers import hmmlearn_iteration
    from sklearn_cvb import EMHMM

    tokens = np.random.default_rng(0).integers(5, size=60)
    iterate = hmmlearn_iteration(tokens, np.full(6, 10), 3, 5)
    model = iterate.model
    X = list(tokens.reshape(6, 10))
    table = tokens.reshape(-1, 1)
    posteriors = model.predict_proba(table, [10] * 6).reshape(6, 10, 3)
    before = model.score(table, [10] * 6)
    iterate()
    after = model.score(table, [10] * 6)
    assert after > before
    em = EMHMM(3, max_iter=1, init=posteriors, emission=Symbols(handle_unknown="error")).fit(X)
    shares = em._learned.fallback.emission.reshape(5, 3).T
    np.testing.assert_allclose(shares, model.emissionprob_, rtol=1e-6)


def test_ratio_is_the_median_of_the_pairs_ratios(monkeypatch):
    from benchmarks import cases
    from benchmarks.text import Settings
    from benchmarks.timing import Sample, spread_of

    class Ours:
        n_tokens, tags_per_token = 1000, 2.5

    seconds = [(1e-6, 4e-6), (2e-6, 10e-6), (4e-6, 9e-6)]
    pairs = [(Sample(a, 2 * a), Sample(b, 2 * b)) for a, b in seconds]
    monkeypatch.setattr(cases, "interleaved", lambda *arguments: pairs)
    settings = Settings("", 3, True)
    faster = cases.sweeps_against(Ours(), None, settings, True, "as is")
    assert faster.ratios == [pytest.approx(value) for value in (4, 5, 2.25)]
    assert spread_of(faster.ratios).median == pytest.approx(4)
    assert faster.ours == [pytest.approx(value) for value in (1, 2, 4)]
    assert faster.note == "as is; 2.5 tags per token"
    slower = cases.sweeps_against(Ours(), None, settings, False, peer_tokens=500)
    assert slower.ratios == [pytest.approx(value) for value in (1 / 8, 1 / 10, 4 / 18)]


def test_sides_are_warm_and_take_turns():
    from benchmarks.timing import interleaved

    calls = []
    pairs = interleaved(lambda: calls.append("a"), lambda: calls.append("b"), 4, shortest=0.0)
    assert "".join(calls) == "aabb" + "ab" * 4
    assert len(pairs) == 4
    assert all(side.wall >= 0 and side.cpu >= 0 for pair in pairs for side in pair)


def test_pairs_on_a_busy_machine_are_left_out_where_enough_others_remain():
    from benchmarks.threads import undisturbed

    pairs = [(1.0, 2.0), (2.0, 2.0), (1.0, 1.9), (1.0, 1.8)]
    assert undisturbed(pairs, [1.9, 1.1, 2.0, 1.9]) == [pairs[0], pairs[2], pairs[3]]
    assert undisturbed(pairs, [1.9, 1.1, 1.2, 1.9]) == pairs
    assert undisturbed(pairs, [1.9] * 4) is pairs


def test_short_calls_are_repeated():
    from benchmarks.timing import interleaved

    calls = []
    ((left, _),) = interleaved(lambda: calls.append(0), lambda: None, 1, shortest=0.01)
    assert len(calls) > 10
    assert left.wall < 0.01


@pytest.mark.parametrize(
    ("name", "ratios", "must", "goal", "verdict"),
    [
        ("em-dense", [11, 11.9, 40], False, False, "no"),
        ("em-dense", [11, 12, 40], True, False, "yes"),
        ("em-dense", [31, 32, 40], True, True, "goal"),
        ("vb-dense", [1.0, 1.31, 1.4], False, False, "no"),
        ("vb-dense", [1.0, 1.3, 1.4], True, False, "yes"),
        ("vb-dense", [0.9, 1.05, 1.4], True, True, "goal"),
        ("dynamax", [3, 4, 5], None, None, "–"),
    ],
)
def test_targets_are_judged_by_the_median(name, ratios, must, goal, verdict):
    from benchmarks.table import cells, record

    result = record(name, _measurement(ratios))
    assert (result["must_reached"], result["goal_reached"]) == (must, goal)
    assert cells(result)[-1] == verdict
    assert result["ratio"] == {"least": ratios[0], "median": ratios[1], "most": ratios[2]}


def test_tables_show_figures_targets_and_notes():
    from benchmarks.table import machine, markdown, record, tables

    results = {
        "machine": machine(),
        "texts": {"journal": "some text"},
        "settings": {"pairs": 3},
        "rows": [record("em-dense", _measurement([11.0, 12.34, 1400.0]))],
        "left_out": ["one row: left out"],
    }
    page = markdown(results)
    line = "| 2 ns per token | 9 ns per token | 12.3x (11, 1,400x) | ≥ 12x | ≥ 30x | yes |"
    assert line.replace("1,400x", "1,400") in page
    assert "some text" in page
    assert "- EM, K=45, against hmmlearn: so so" in page
    assert "- one row: left out" in page
    sweeps = tables(results)["sweeps"]
    assert [len(row) for row in (sweeps.header, *sweeps.rows)] == [7, 7]
    assert json.loads(json.dumps(results)) == results


def test_notes_that_rows_share_are_said_once_and_algorithms_stand_side_by_side():
    from benchmarks.published.tables import Table
    from benchmarks.table import by_algorithm, notes

    rows = [{"name": "em", "title": f"row {i}", "note": "100,000 steps of 4"} for i in range(4)]
    other = {"name": "import", "title": "import", "note": "byte code cached"}
    tree = other | {"name": "tree-torch"}
    assert notes([*rows, other, other | {"note": ""}, tree]) == [
        "import: byte code cached",
        "4 rows that are not named here: 100,000 steps of 4",
    ]
    assert notes(rows[:3]) == [f"row {i}: 100,000 steps of 4" for i in range(3)]
    assert notes([]) == []
    series = [
        [f"{name}, 8 states, Gamma, one series", "", "", f"{i}x (1, 9)"]
        for i, name in enumerate(("EM", "VB", "CVB"))
    ]
    alone = [["EM, 8 states, Poisson, against hmmlearn", "", "", "7x"], ["Import", "", "", "2x"]]
    left, beside = by_algorithm(Table(["what", "ours", "peer", "ratio"], [*series, *alone]))
    assert left.rows == alone
    assert beside.rows == [["8 states, Gamma, one series", "0x", "1x", "2x"]]


def test_page_takes_the_figures_between_its_marks(tmp_path):
    from benchmarks.page import BEGIN, END, update
    from benchmarks.table import machine, record

    results = {
        "date": "2013-04-29T10:00:00+00:00",
        "machine": machine(),
        "texts": {},
        "settings": {"pairs": 3},
        "rows": [
            record("em-dense", _measurement([11.0])),
            record("vb-dense", _measurement([1.0])),
            record("threads-one-restart", _measurement([1.0])),
            record("tree-arithmetic", _measurement([50.0])),
        ],
        "curves": {"states": {"title": "", "x_label": "", "y_label": "", "lines": {"a": [[1, 2]]}}},
        "left_out": [],
    }
    page = tmp_path / "page.rst"
    page.write_text(f"before\n\n{BEGIN}\n\nold figures\n\n{END}\n\nafter\n", encoding="utf-8")
    for _ in range(2):
        update(page, results)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\n\nafter\n")
    assert "old figures" not in text
    assert text.count(".. include:: tables/performance.rst\n") == 1
    table = (tmp_path / "tables" / "performance_sweeps.csv").read_text(encoding="utf-8")
    assert table.count("\n") == len(results["rows"])
    trees = (tmp_path / "tables" / "performance_grammars.csv").read_text(encoding="utf-8")
    assert trees.splitlines()[1].endswith('"50 % (50, 50)",so so')
    assert text.count("so so") == len(results["rows"]) - 1
    assert [path.name for path in sorted((tmp_path / "tables").iterdir())] == [
        "performance.rst",
        "performance_grammars.csv",
        "performance_sweeps.csv",
    ]
    assert "- measured on 2013-04-29" in text
    assert table.startswith('what,ours,peer,"ratio: median (least, most)"\n')
    assert not any(word in text + table for word in ("must", "goal", "target", "≥", "≤"))
    picture = tmp_path / "images" / "performance_states.png"
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


def test_first_fits_are_rows_of_every_estimator_with_tables_of_their_own():
    from benchmarks.__main__ import command_line
    from benchmarks.cases import ROWS
    from benchmarks.table import markdown, record, tables
    from sklearn_cvb.compilation.cases import EVERY_SITUATION

    assert {name.split("/")[1] for name in ROWS if name.startswith("cold/")} == {
        *EVERY_SITUATION,
        "main",
    }
    taggers = command_line().parse_args(["--rows", "second/EMHMMTagger,second"]).rows
    assert taggers[:2] == ["second/EMHMMTagger/partial", "second/EMHMMTagger/labels"]
    assert len(set(taggers)) == len(taggers) > 30
    assert [ROWS[name][3:5] for name in taggers] == [(3, 1)] * len(taggers)
    bounds = {"CVBHMM/auto": (4.5, 4), "EMHMM/gaussian": (4.5, 4), "EMPCFG/given": (7, 4)}
    bounds |= {"EMPCFG/tables": (7, 4), "GibbsHMMTagger/full": (4.5, 4), "main": (28, 15)}
    bounds |= {"EMAlignmentHMM/raw": (7, 4), "HMMMixture/symbols": (7, 4)}
    assert {name: ROWS[f"cold/{name}"][3:5] for name in bounds} == bounds
    names = ["cold/EMHMM/none", "vb-dense", "second/CVBHMM/auto", "dependency-torch/10"]
    figures = _measurement([9.5], unit="s", note="64 sentences")
    results = {"rows": [record(name, figures) for name in names]}
    titles = {name: [row[0] for row in table.rows] for name, table in tables(results).items()}
    grammars = tables(results, with_targets=False)["grammars"]
    assert [row[-1] for row in (grammars.header, *grammars.rows)] == ["to be known", "64 sentences"]
    assert titles == {
        "sweeps": ["VB, K=45, against EM"],
        "cold": ["EMHMM, none"],
        "second": ["CVBHMM, auto after none"],
        "grammars": ["Inside-outside of dependency trees, 10 tokens, against torch-struct"],
    }
    assert list(titles) == ["sweeps", "cold", "second", "grammars"]
    known = {"machine": MACHINE, "texts": {}, "settings": {"pairs": 3}, "left_out": []}
    line = "| EMHMM, none | 2 s | 9 s | ≤ 4.5 s | ≤ 4 s | no |"
    assert line in markdown(results | known)


def test_first_fit_is_measured_with_nothing_compiled_and_with_all(tmp_path):
    from benchmarks.cases import ROWS
    from benchmarks.text import Settings

    found = ROWS["cold/EMHMM/none"].measure(Settings(str(tmp_path), 1, True))
    assert found.ratios == found.ours
    assert 0.3 < found.peer[0] < found.ours[0] - 1


def test_a_second_situation_finds_what_the_first_has_compiled_and_nothing_else(
    monkeypatch, tmp_path
):
    from benchmarks import cold
    from benchmarks.cases import ROWS
    from benchmarks.text import Settings

    runs = []

    def seconds(situations, folder, settings):
        found = sorted(path.name for path in Path(folder).glob("*"))
        runs.append((situations, found))
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, situations[-1].replace("/", "-")).touch()
        return 2.0 if situations[-1].replace("/", "-") not in found else 0.5

    monkeypatch.setattr(cold, "_seconds", seconds)
    for title in ("missing", "topology"):
        found = ROWS[f"second/EMHMM/{title}"].measure(Settings(str(tmp_path), 1, True))
        assert (found.ours, found.peer, found.ratios) == ([2.0], [0.5], [2.0])
    usual, missing, topology = "EMHMM/none", "EMHMM/missing", "EMHMM/topology"
    assert runs == [
        ([usual], []),
        ([usual, missing], ["EMHMM-none"]),
        ([usual, missing], ["EMHMM-missing", "EMHMM-none"]),
        ([usual, topology], ["EMHMM-none"]),
        ([usual, topology], ["EMHMM-none", "EMHMM-topology"]),
    ]


def test_missing_peers_are_named_and_only_the_required_one_fails(monkeypatch, tmp_path, capsys):
    from benchmarks import __main__ as command

    monkeypatch.setattr(
        command.peers, "versions", lambda: {"hmmlearn": None, "pomegranate": None, "dynamax": None}
    )
    optional = ["--quick", "--rows", "pomegranate,dynamax", "--output", str(tmp_path)]
    assert command.main(optional) == 0
    output = capsys.readouterr().out
    assert "against pomegranate: left out, pomegranate is not installed" in output
    assert "against dynamax: left out, dynamax is not installed" in output
    assert command.main(["--quick", "--rows", "em-dense", "--output", str(tmp_path)]) == 1
    assert "hmmlearn is not installed" in (tmp_path / "table.md").read_text(encoding="utf-8")


def test_versions_say_which_peers_there_are(monkeypatch):
    from benchmarks import peers

    monkeypatch.setattr(peers, "OPTIONAL", ("no_such_library", "numpy"))
    found = peers.versions()
    assert set(found) == {"hmmlearn", "no_such_library", "numpy"}
    assert found["no_such_library"] is None
    assert found["numpy"]


def test_a_failing_row_is_reported_and_the_others_go_on(monkeypatch, tmp_path, capsys):
    from benchmarks import __main__ as command

    def isolated(name, settings):
        if name == "vb-dense":
            raise RuntimeError("ValueError: broken")
        return _measurement([1.0])

    monkeypatch.setattr(command, "isolated", isolated)
    arguments = ["--quick", "--rows", "vb-dense,vb-dictionary", "--output", str(tmp_path)]
    assert command.main(arguments) == 1
    assert "vb-dense: failed, ValueError: broken" in capsys.readouterr().err
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["failures"] == {"vb-dense": "ValueError: broken"}
    assert [row["name"] for row in results["rows"]] == ["vb-dictionary"]


def test_children_have_one_thread_and_say_why_they_fail(monkeypatch):
    from benchmarks.timing import run_python, single_threaded

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert single_threaded()["OMP_NUM_THREADS"] == "1"
    assert "HOME" not in single_threaded(HOME=None)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    shown = "import os; print('chatter'); print(os.environ['NUMBA_NUM_THREADS'])"
    assert run_python(["-c", shown]) == 1
    with pytest.raises(RuntimeError, match="KeyError: 'x'"):
        run_python(["-c", "{}['x']"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "em-dense,nonsense"], "unknown 'nonsense'; known are em-dense"),
        (["--pictures", "nonsense"], "unknown 'nonsense'; known are states"),
        (["--pairs", "0"], "'0' is not a positive integer"),
    ],
)
def test_bad_arguments_exit_with_2_and_a_message(arguments, message, capsys):
    from benchmarks.__main__ import main

    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


def test_sequences_of_the_curves():
    import numpy as np

    from benchmarks.memory import repeated
    from benchmarks.scaling import random_sequences

    X = random_sequences(130, 100)
    assert sum(map(len, X)) == 140
    assert set(np.concatenate(X).tolist()) == set(range(100))
    assert repeated([["a", "b"], ["c"]], 5) == [["a", "b"], ["c"], ["a", "b"]]
    assert repeated([["a", "b"]], 0) == [["a", "b"]]


def test_taggers_of_the_curves_are_fitted_for_two_sweeps():
    from benchmarks.memory import _two_sweeps
    from benchmarks.models import TAGGERS

    legal = {"the": ["D"], "can": ["N", "V"]}
    for algorithm in TAGGERS:
        tagger = _two_sweeps(algorithm, legal).fit([["the", "can"], ["can", "the", "can"]])
        assert len(tagger.history_) == 2, algorithm
