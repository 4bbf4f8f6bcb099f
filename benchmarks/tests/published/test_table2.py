"""Table 2: a poorer dictionary costs accuracy, and CVB loses least."""

import re
from statistics import fmean

import pytest

from benchmarks.published import table2
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results(quick):
    return {d: table2.PARTS[d](quick) | {"seconds": 1.0} for d in ("1", "3")}


def test_a_poorer_dictionary_leaves_more_tags_and_costs_accuracy(results):
    full, poor = results["1"], results["3"]
    assert poor["text"]["tags_per_token"] > 3 * full["text"]["tags_per_token"]
    for name, fits in full["methods"].items():
        assert fmean(fits["accuracies"]) > fmean(poor["methods"][name]["accuracies"]) + 0.05


def test_cvb_is_ahead_of_vb_and_em_with_a_poor_dictionary(results):
    means = {name: fmean(fits["accuracies"]) for name, fits in results["3"]["methods"].items()}
    for name in ("cvb-token", "cvb-sequence"):
        assert means[name] > max(means["vb"], means["em"]) + 0.02


def test_second_order_and_hard_em_fall_behind_the_first_order_and_em(results, quick):
    single = {name: table2.PARTS[name](quick) for name in ("second-order", "em-viterbi")}
    second, hard = (part["rows"]["3"] for part in single.values())
    first = results["3"]["methods"]
    assert (second["alpha"], second["beta"]) == tuple(
        first["cvb-token"][k] for k in ("alpha", "beta")
    )
    assert max(second["accuracies"]) < min(first["cvb-token"]["accuracies"]) - 0.02
    assert max(hard["accuracies"]) < fmean(first["em"]["accuracies"])
    table = table2.tables(results | single)["accuracies"]
    for title, fits in (("CVB token, order 2", second), ("EM, Viterbi training", hard)):
        column = table.header.index(title)
        assert [row[column] for row in table.rows] == ["", "", table2.accuracy(fits), ""]


def test_margins_are_start_by_start():
    fits = {"vb": {"accuracies": [0.80, 0.82]}, "cvb-token": {"accuracies": [0.85, 0.83]}}
    margins = table2.margins({"methods": fits}, "cvb-token", "vb")
    assert margins == pytest.approx([5.0, 1.0])


def test_table_shows_both_and_picture_is_drawn(results, tmp_path):
    text = as_text(table2.tables(results))
    assert "77.9 (0.4)" not in text
    assert "74.1 (0.3)" in text
    assert re.search(r",13\.0\b", text)
    table2.draw(results, tmp_path)
    assert (tmp_path / "table2_accuracy.png").stat().st_size > 5000
