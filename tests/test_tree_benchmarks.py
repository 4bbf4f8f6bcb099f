"""The rows about grammars: both sides do the same work. No figure is judged by how fast it is."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _benchmarks_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_quick_rows_and_curves(tmp_path):
    arguments = ["--quick", "--pairs", "2", "--rows", "tree-viterbi,tree-arithmetic,tree-torch"]
    arguments += ["--pictures", "grammar_size", "--output", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in results["rows"]}
    assert {"tree-viterbi", "tree-arithmetic"} <= set(rows)
    assert "rules" in rows["tree-viterbi"]["note"]
    assert len(results["curves"]["grammar_size"]["lines"]["tables"]) == 2
    assert (tmp_path / "performance_grammar_size.png").is_file()
    if "tree-torch" not in rows:
        assert any("torch_struct is not installed" in line for line in results["left_out"])


def test_tables_and_lists_do_the_same():
    from benchmarks.trees import FullGrammar

    ours = FullGrammar(3, 4, 6, 5, n_symbols=7)
    ours()
    by_tables, counts = ours.log_z.copy(), ours.counts.binary.copy()
    ours.by_lists()
    np.testing.assert_allclose(ours.log_z, by_tables, rtol=1e-12)
    np.testing.assert_allclose(ours.counts.binary, 2 * counts, rtol=1e-10)
    # Width 2: 5 spans, 7 x 7 pairs; width 3: 4 spans, 9 + 24 pairs; by hand for two words.
    two = FullGrammar(3, 4, 2, 1, n_symbols=7)
    assert two.n_operations == 2 * (3 * 3 * 49 + 4 * 0)


def test_treebank_grammars_have_so_many_rules():
    from benchmarks.trees import Parser, induced

    trees = ["(S (N we) (V ran))", "(S (N we) (V saw) (N it))", "(S (N it) (V ran) (N us))"]
    grammar, sentences = induced(trees, 7)
    assert sentences == [["we", "ran"], ["we", "saw", "it"]]
    assert len(grammar.productions()) == 7
    parser = Parser(grammar, sentences)
    found = parser()
    assert np.diff(found.starts).tolist() == [4, 6]
    # TOP -> S, S -> N V, N -> we, V -> ran: 1 x 1/2 x 2/3 x 1/2.
    assert parser.log_p[0] == pytest.approx(np.log(1 / 6))
