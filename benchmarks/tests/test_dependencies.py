"""The rows about dependency models: both sides do the same work."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dependency_enumeration import projective_trees

ROOT = Path(__file__).resolve().parents[2]


def test_trees_are_weighed_by_their_arcs_alone():
    """Against all trees, from the potentials that the other side is given."""
    from benchmarks.dependencies import RandomArcs

    ours = RandomArcs(5, 3)
    log_z, arcs = ours.log_z_and_arcs()
    for potentials, found, marginals in zip(ours.log_potentials, log_z, arcs, strict=True):
        total, expected = 0.0, np.zeros((5, 5))
        for heads in projective_trees(5):
            pairs = [(h - 1 if h else c, c) for c, h in enumerate(heads)]
            weight = np.exp(sum(potentials[pair] for pair in pairs))
            total += weight
            for pair in pairs:
                expected[pair] += weight
        assert found == pytest.approx(np.log(total), abs=1e-12)
        np.testing.assert_allclose(marginals, expected / total, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_struct_finds_the_same(dtype):
    pytest.importorskip("torch_struct")
    from benchmarks.dependencies import RandomArcs
    from benchmarks.peers import torch_struct_arcs

    ours = RandomArcs(7, 3)
    tolerance = {"float32": 1e-4, "float64": 1e-10}[dtype]
    found = torch_struct_arcs(ours.log_potentials, dtype)()
    for theirs, expected in zip(found, ours.log_z_and_arcs(), strict=True):
        assert theirs.dtype == dtype
        np.testing.assert_allclose(theirs, expected, atol=tolerance)


def test_quick_rows(tmp_path):
    names = ["dependency-sweep", "dependency-torch/10", "dependency-torch/20"]
    arguments = ["--quick", "--pairs", "2", "--rows", ",".join(names), "--output", str(tmp_path)]
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
    assert "dependency-sweep" in rows
    if names[1] not in rows:
        assert sum("torch_struct is not installed" in line for line in results["left_out"]) == 2
    else:
        assert "decisions to stop" in rows[names[1]]["note"]
        assert rows[names[2]]["ratio"]["median"] > 0
