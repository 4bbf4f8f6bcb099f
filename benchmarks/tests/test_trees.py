"""The rows about grammars: both sides do the same work. No figure is judged by how fast it is."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_quick_rows_and_curves(tmp_path):
    arguments = [
        "--quick",
        "--pairs",
        "2",
        "--rows",
        "tree-viterbi,tree-arithmetic,tree-independent,tree-torch",
    ]
    arguments += ["--pictures", "grammar_states,grammar_length", "--output", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in results["rows"]}
    assert {"tree-viterbi", "tree-arithmetic", "tree-independent"} <= set(rows)
    assert "rules" in rows["tree-viterbi"]["note"]
    assert len(results["curves"]["grammar_states"]["lines"]) == 5
    assert len(results["curves"]["grammar_length"]["lines"]) == 6
    for name in ("grammar_states", "grammar_length"):
        lines = results["curves"][name]["lines"]
        assert all(len(points) == 2 for points in lines.values())
        assert all(0 < value < 1e5 for points in lines.values() for _, value in points)
        assert (tmp_path / f"performance_{name}.png").is_file()
    if "tree-torch" not in rows:
        assert any("torch_struct is not installed" in line for line in results["left_out"])


def test_tables_and_lists_do_the_same():
    from benchmarks.tree_curves import by_forest, one_by_one
    from benchmarks.trees import FullGrammar

    ours = FullGrammar(3, 4, 6, 5, n_symbols=7)
    ours()
    by_tables, counts = ours.log_z.copy(), ours.lists.binary.count.copy()
    ours.by_lists()
    np.testing.assert_allclose(ours.log_z, by_tables, rtol=1e-12)
    np.testing.assert_allclose(ours.lists.binary.count, 2 * counts, rtol=1e-10)
    one_by_one(ours)()
    np.testing.assert_allclose(ours.lists.binary.count, 3 * counts, rtol=1e-10)
    ours.log_z[:] = 0.0
    by_forest(ours)()
    np.testing.assert_allclose(ours.log_z, by_tables, rtol=1e-12)
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


def test_nltk_gets_the_same_grammar():
    from benchmarks.tree_curves import best_tree_by_nltk
    from benchmarks.trees import FullGrammar
    from sklearn_cvb.grammar.inference import set_log_weights
    from sklearn_cvb.grammar.model import log_weights
    from sklearn_cvb.kernels.tree.decoding import best_trees_by_lists

    ours = FullGrammar(2, 3, 5, 1, n_symbols=4)
    tree = best_tree_by_nltk(ours)()
    set_log_weights(ours.lists, log_weights(ours.theta))
    _, log_p = best_trees_by_lists(ours.lists, ours.order)
    assert np.log(tree.prob()) == pytest.approx(log_p[0], abs=1e-9)
