"""What acceleration saves: sweeps are counted, and all libraries go the same way up."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import acceleration
from benchmarks.acceleration_seconds import (
    ACCELERATED,
    DEFAULT,
    PLAIN,
    SCALING,
    contestants,
    problems,
    values_of,
)
from benchmarks.acceleration_sweeps import Pair, Sweeps, families, summary, sweeps_of


@pytest.mark.long(usual=True)
def test_plain_sweeps_are_those_of_a_fit_and_accelerated_ones_never_fall():
    family = families()["symbols-80"]
    X = family.draw(0)[:20]
    model = family.models["VB"](3).set_params(accelerate=False, tol=0, max_iter=30)
    expected = model.fit(X).history_
    plain, accelerated = (sweeps_of(family.models["VB"](3), X, on, 30) for on in (False, True))
    np.testing.assert_array_equal(plain.best, np.maximum.accumulate(expected))
    np.testing.assert_array_equal(accelerated.best[:10], plain.best[:10])
    assert not plain.in_vain.any()
    assert accelerated.best[-1] > plain.best[-1]


def test_sweeps_until_a_value_and_medians_over_seeds():
    sweeps = Sweeps(np.array([-9.0, -5.0, -5.0, -4.0]), np.array([False, False, True, False]))
    assert [sweeps.n_until(value) for value in (-9.5, -5.0, -4.0, -3.0)] == [1, 2, 4, None]
    pairs = [Pair(100, 40, 2, 0.0), Pair(60, 20, 0, -0.5), Pair(80, 50, 4, 1.5)]
    found = summary("some", "EM", pairs)
    assert found[2:] == (80, 40, 2, 1, 1, -0.5, 3)


@pytest.mark.many(usual=1)
@pytest.mark.skipif(find_spec("hmmlearn") is None, reason="hmmlearn is not installed")
@pytest.mark.parametrize("name", problems())
def test_all_libraries_have_the_same_likelihoods_sweep_by_sweep(name):
    """What is there of dynamax is held to the same each time that the benchmark runs."""
    problem = problems()[name]()
    short = problem._replace(X=problem.X[:30])
    every = contestants(short)
    assert {ACCELERATED, PLAIN, DEFAULT, SCALING} <= set(every)
    expected = values_of(every[PLAIN], 6)
    assert (np.diff(expected) > 0).all()
    # Each can begin again.
    for name in 2 * (ACCELERATED, PLAIN, DEFAULT, SCALING):
        np.testing.assert_allclose(values_of(every[name], 6), expected, rtol=1e-9)


@pytest.mark.long
def test_tables_picture_and_page(tmp_path, monkeypatch):
    def timed(arguments):
        points = [[1, 0.1, -9.0], [2, 0.2, -5.0]]
        names = (ACCELERATED, PLAIN, DEFAULT)
        return {
            "end": -4.0,
            "sweeps": {ACCELERATED: 40, PLAIN: None, DEFAULT: None},
            "seconds": {ACCELERATED: [0.1, 0.2], PLAIN: [0.3, 0.4], DEFAULT: [3.0, 8.0]},
            "curve": dict.fromkeys(names, points),
        }

    monkeypatch.setattr(acceleration, "run_python", timed)
    for folder in ("tables", "images"):
        (tmp_path / folder).mkdir()
    page = tmp_path / "page.rst"
    page.write_text(f"before\n\n{acceleration.BEGIN}\n\nold\n\n{acceleration.END}\n\nafter\n")
    output = tmp_path / "results"
    chosen = ["--families", "gaussian", "--problems", "symbols-80", "--output", str(output)]
    acceleration.main([*chosen, "--seeds", "2", "--quick", "--page", str(page)])
    acceleration.main(["--families", "--problems", "--output", str(output), "--page", str(page)])
    found = json.loads((output / "acceleration.json").read_text(encoding="utf-8"))
    assert [row[1] for row in found["sweeps"]["gaussian"]] == ["EM", "VB"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\n\nafter\n")
    assert "old" not in text
    assert text.count("Measured on") == 1
    sweeps, seconds = (
        (tmp_path / "tables" / f"acceleration_{what}.csv").read_text(encoding="utf-8")
        for what in ("sweeps", "seconds")
    )
    assert sweeps.count("\n") == 3
    assert '"EM, Gaussian, 1.5 sd apart",' in sweeps
    line = '"symbols, 80 sequences, 3 states",– → 40,150,"> 2.5 (2, 3)","> 35 (30, 40)",'
    assert line in seconds
    assert seconds.endswith("not installed,not installed\n")
    for picture in (output / "acceleration.png", tmp_path / "images" / "acceleration.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
