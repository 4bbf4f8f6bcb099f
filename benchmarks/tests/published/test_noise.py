"""Wrong tags in dictionaries: planting them, and what the small experiment finds."""

import json

import numpy as np
import pytest

from benchmarks.published import noise, slips
from benchmarks.published.settings import Settings, run_parts
from benchmarks.published.tables import as_text

WEIGHTS = {f"w{i}": {f"t{i % 7}": 1000 - i} for i in range(250)}
X = [[f"w{i}"] * (250 - i) for i in range(250)]


@pytest.mark.parametrize("rate", [0, 1, 5])
def test_slips_hit_every_hundred_of_the_ranking(rate):
    noisy = slips.with_slips(X, WEIGHTS, rate, 0)
    hit = np.array([len(noisy[f"w{i}"]) == 2 for i in range(250)])
    assert [hit[:100].sum(), hit[100:200].sum(), hit[200:].sum()] == [rate] * 3
    for i in np.flatnonzero(hit):
        (slip,) = noisy[f"w{i}"].keys() - WEIGHTS[f"w{i}"].keys()
        assert noisy[f"w{i}"][slip] == 1
    assert all(len(entry) == 1 for entry in WEIGHTS.values())


def test_pruning_drops_planted_slips_but_not_the_last_tag():
    assert slips.pruned({"a": {"DT": 200, "LS": 1}, "b": {"NN": 1, "VB": 1}}) == {
        "a": {"DT": 200},
        "b": {"NN": 1, "VB": 1},
    }


def test_counts_of_other_text():
    noisy = {"a": {"DT": 9, "NN": 1, "LS": 1}, "new": {"NN": 3, "LS": 1}}
    weights = {"a": {"DT": 9, "NN": 1}, "new": {"NN": 3}}
    found = slips.counted_elsewhere(noisy, weights, {"a": {"DT": 5}})
    assert found == {"a": {"DT": 5, "NN": 0, "LS": 1}, "new": ("NN", "LS")}


@pytest.fixture(scope="module")
def results(data_folder):
    return run_parts(noise.PARTS, Settings(str(data_folder), quick=True))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_and_pruning_help_every_algorithm(results):
    rows = results["dictionaries"]["rows"]
    assert [row["rate"] for row in rows] == [0, 3]
    for row in rows:
        for name in noise.ALGORITHMS:
            found = {key: np.mean(by_name[name]) for key, by_name in row["accuracies"].items()}
            print(row["rate"], name, found)
            assert found["weights"] > found["weights of other text"] > found["plain"] + 0.02
            assert found["weights"] > found["pruned"] > found["plain"] + 0.02
            assert found["30"] > found["plain"] + 0.01
            assert found["weights"] > 0.95


def test_the_defaults_help_without_labels_or_counts(results):
    rows = results["defaults"]["rows"]
    assert [(row["corpus"], row["coarse"]) for row in rows] == [
        (corpus, is_coarse) for corpus in ("wsj", "brown") for is_coarse in (False, True)
    ]
    for row in rows:
        found = {step: np.array(values) for step, values in row["accuracies"].items()}
        print(row["corpus"], row["coarse"], {step: v.mean() for step, v in found.items()})
        as_it_is, default = found["as it is"], found["shares by shape as prior: the default"]
        assert (default > as_it_is - 0.01).all()
        if row["corpus"] == "brown" and not row["coarse"]:
            assert default.mean() > as_it_is.mean() + 0.08


def test_the_prior_adds_to_the_start(results):
    rows = results["strengths"]["rows"]
    assert [row["strength"] for row in rows] == [0, 1, 0, 1]
    for start, prior in zip(rows[::2], rows[1::2], strict=True):
        for name, accuracy in start["accuracies"].items():
            assert prior["accuracies"][name] > accuracy > 0.93


def test_criteria_choose_from_the_grid(results):
    for row in results["concentrations"]["rows"]:
        assert len(row["grid"]) == 4
        for criterion in noise.CRITERIA[row["algorithm"]]:
            found = noise.choice(row["grid"], criterion)
            assert found["chosen"] <= found["best"]
            assert -1 <= found["rank"] <= 1
            assert found["best"] > 0.88


def test_tables_and_pictures(results, tmp_path):
    results = json.loads(json.dumps(results))
    tables = noise.tables(results)
    assert len(tables) == 4
    assert "weights of other text" in as_text(tables)
    noise.draw(results, tmp_path)
    assert (tmp_path / "noise_accuracy.png").stat().st_size > 10_000
