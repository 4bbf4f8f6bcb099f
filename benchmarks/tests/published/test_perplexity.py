"""Figures 6 and 7: perplexities without a dictionary, and both forms of eq. 29."""

import math
from statistics import fmean

import pytest

from benchmarks.published import perplexity
from benchmarks.published.settings import run_parts
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(perplexity.PARTS, quick)


def _last(results, form, name, what="perplexity"):
    return fmean(one[what][-1] for one in results[form]["models"][name])


def test_learned_models_foresee_better_than_word_frequencies_in_the_published_order(results):
    learned = results[perplexity.LEARNED]
    means = {name: _last(results, perplexity.LEARNED, name) for name in learned["models"]}
    assert 1 < means["cvb-sequence"] < means["cvb-token"] < means["vb"] < learned["unigram"]
    assert means["gibbs"] < means["vb"]


def test_counts_put_straight_in_push_beta_up(results):
    for name in ("cvb-token", "cvb-sequence"):
        learned = _last(results, perplexity.LEARNED, name, "beta")
        assert _last(results, perplexity.PLAIN, name, "beta") > 1.5 * learned


def test_both_forms_are_the_same_until_learning_begins(results):
    for name in ("cvb-token", "cvb-sequence"):
        learned, plain = (
            results[form]["models"][name][0] for form in (perplexity.LEARNED, perplexity.PLAIN)
        )
        assert learned["perplexity"][:20] == plain["perplexity"][:20]
        assert learned["beta"][:20] == [0.1] * 20
        assert learned["perplexity"][-1] != plain["perplexity"][-1]


def test_fixed_concentrations_stay(results):
    for curves in results[perplexity.FIXED]["models"].values():
        assert {*curves[0]["alpha"]} == {0.1}
        assert {*curves[0]["beta"]} == {0.03}


def test_a_chain_from_where_cvb_ended_foresees_better_than_twice_its_sweeps_alone(results):
    rows = results["averaged"]["rows"]
    assert fmean(rows["then samples"]["perplexity"]) < fmean(rows["2 x"]["perplexity"])
    averaged = perplexity.tables(results)["averaged"]
    assert [row[0] for row in averaged.rows][1] == "CVB, then 100 sweeps of Gibbs, averaged"


def test_unigram_perplexity_by_hand():
    sentences = perplexity.Split([["a", "a", "b"]], [["a", "c"]], {"a", "b", "c"})
    found = perplexity.unigram_perplexity(sentences)
    by_beta = [
        math.sqrt((3 + 3 * beta) ** 2 / ((2 + beta) * beta)) for beta in perplexity.CONCENTRATIONS
    ]
    assert found == pytest.approx(min(by_beta))


def test_tables_and_pictures(results, tmp_path):
    text = as_text(perplexity.tables(results))
    assert "\neq. 29 as printed," in text
    assert ",unigram," in text
    perplexity.draw(results, tmp_path)
    for name in ("sweeps", "runs", "states"):
        assert (tmp_path / f"perplexity_{name}.png").stat().st_size > 5000


def test_full_runs_are_those_of_the_paper():
    assert (perplexity.PAPER.starts, perplexity.PAPER.sweeps) == (10, 50)
    assert perplexity.PAPER.gibbs_sweeps == 20_000
