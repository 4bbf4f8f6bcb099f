"""Criteria for alpha and beta: what each picks from a small grid."""

import pytest

from benchmarks.published import criteria


def test_a_criterion_picks_its_highest_cell():
    cells = [
        {"accuracy": 0.9, "objective": -3.0, "alpha": 1.0},
        {"accuracy": 0.8, "objective": -5.0, "alpha": 0.1},
        {"accuracy": 0.7, "objective": -4.0, "alpha": 0.3},
    ]
    picked, correlation = criteria.judged(cells, "objective")
    assert picked["alpha"] == 1.0
    assert correlation == pytest.approx(0.5)


def test_small_grid_of_cvb_and_its_table(quick, tmp_path):
    results = {"cvb-sequence": criteria.PARTS["cvb-sequence"](quick)}
    cells = results["cvb-sequence"]["cells"]
    assert len(cells) == 9
    assert all(0.7 < one["accuracy"] < 1 for one in cells)
    assert all(-8 < one["objective"] < -2 and -8 < one["likelihood"] < -2 for one in cells)
    first, *_ = criteria.tables(results)["choices"].rows
    best = max(one["accuracy"] for one in cells)
    assert first[1] == "best of the grid"
    assert first[3] == f"{100 * best:.1f}"
    criteria.draw(results, tmp_path)
    assert (tmp_path / "criteria_grid.png").stat().st_size > 5000
