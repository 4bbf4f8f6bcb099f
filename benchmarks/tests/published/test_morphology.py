"""Morphology: which algorithm finds shared pieces of 600 verbs, and from which start."""

import numpy as np
import pytest

from benchmarks.published import morphology
from benchmarks.published.morphology import ends
from benchmarks.published.settings import run_parts
from benchmarks.published.tables import as_text
from sklearn_cvb.metrics import segmentation_f1


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(morphology.PARTS, quick)


def mean(results, name, what):
    return np.mean(ends(results[name], what))


def test_held_out_verbs_are_derived_by_pieces_of_any_verb(quick):
    given = morphology.corpus(quick)
    assert (len(given.training), len(given.test)) == (540, 60)
    pieces = {
        tuple(verb[b:e])
        for verb in given.training + given.test
        for e in range(len(verb) + 1)
        for b in range(e)
    }
    assert len(given.grammar.rules) == 5 + 5 * len(pieces)
    assert segmentation_f1(given.gold, given.training) < 0.6


def test_cvb_foresees_verbs_best_and_em_not_at_all(results):
    assert mean(results, "cvb", "perplexity") < 0.3 * mean(results, "vb", "perplexity")
    assert mean(results, "cvb", "perplexity") < 0.3 * mean(results, "hastings", "perplexity")
    assert mean(results, "em", "impossible") > 0.3
    assert np.isinf(mean(results, "em", "perplexity"))
    for name in ("vb", "cvb", "hastings", "annealed"):
        assert mean(results, name, "impossible") == 0


def test_segments_by_cvb_then_vb_and_whole_words_by_em(results):
    f1 = {name: mean(results, name, "f1") for name in morphology.METHODS}
    assert f1["cvb"] > 0.4 > f1["vb"] > f1["annealed"] > f1["hastings"]
    assert f1["em"] == 0
    assert mean(results, "em", "pieces") == 1
    # Stepwise EM comes to the same end, and is better on the way.
    first = [one["f1"][0] for one in results["stepwise"]["runs"]]
    assert np.mean(first) > np.mean([one["f1"][0] for one in results["em"]["runs"]]) + 0.02


def test_trees_without_a_repeated_class_are_always_accepted(results):
    for name in ("hastings", "annealed"):
        assert ends(results[name], "acceptance_rate") == [1, 1]


def test_uniform_starts_end_with_whole_verbs(results):
    found = results["starts"]["ends"]
    assert found["uniform"]["vb"]["f1"] == found["uniform"]["hastings"]["f1"] == [0]
    assert found["uniform"]["cvb"]["f1"][0] < 0.1
    assert found["trees"]["cvb"]["f1"][0] > 0.4
    assert found["vb"]["cvb"]["f1"][0] > 0.4


def test_cvb_is_as_good_as_the_sampler_in_a_tenth_of_its_time(results):
    goal = mean(results, "annealed", "perplexity")
    first = results["cvb"]["runs"][0]
    here = int(np.argmax(np.array(first["perplexity"]) <= goal))
    assert first["perplexity"][here] <= goal
    assert first["sweeps"][here] <= 0.1 * results["annealed"]["runs"][0]["sweeps"][-1]


def test_tables_and_picture(results, tmp_path):
    text = as_text(morphology.tables(results))
    assert "\nCVB," in text
    assert ",infinite," in text
    assert "\nall trees alike (default)," in text
    morphology.draw(results, tmp_path)
    assert (tmp_path / "morphology_curves.png").stat().st_size > 5000
