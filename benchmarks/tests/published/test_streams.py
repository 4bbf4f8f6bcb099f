"""The experiment on long chains: what the small version finds, its tables and its picture."""

from statistics import fmean

import pytest

from benchmarks.published import streams
from benchmarks.published.settings import run_parts


@pytest.fixture(scope="module")
def results(quick):
    return run_parts(streams.PARTS, quick)


def _nats(results, name, way, key):
    return fmean(results[name]["found"][way][key]["nats"])


@pytest.mark.parametrize("name", streams.TITLES)
def test_steps_are_ahead_of_two_sweeps_after_one_pass(results, name):
    assert _nats(results, name, "CVB, steps", "1") > _nats(results, name, "CVB, sweeps", "2") - 0.01
    for way in ("CVB, steps", "VB, steps"):
        assert _nats(results, name, way, "2") > _nats(results, name, way, "0.25")


def test_chains_are_cut_where_they_are_said_to_be(quick):
    data = streams.chain_of("letters", quick)
    assert (len(data.training), len(data.test)) == (3600, 400)
    assert "".join(data.training[:40]) == "alice was beginning to get very tired of"


def test_a_pass_over_what_is_never_in_memory_gets_better(results):
    (first, *_), *_, (last, _, nats) = results["long"]["found"]
    assert (first, last) == (10_000, 30_000)
    assert nats > results["long"]["found"][0][2]


def test_the_first_call_brings_a_stream_near_the_truth(results):
    for by_model in results["first"]["found"].values():
        for excess in by_model.values():
            assert -0.01 < min(excess) <= max(excess) < 0.08


def test_truth_knows_its_chain_and_calls_get_all_of_it():
    for length, calls in ((None, (None, 100)), (25, (8, 25))):
        training, test, true = streams.small_chain(1_000, length, 0)
        assert (sum(map(len, training)), sum(map(len, test))) == (1_000, 200)
        batches = streams.batches_of(training, *calls)
        assert sum(len(x) for batch in batches for x in batch) == 1_000
        assert true.perplexity(test) < len(true.vocabulary_)
        # Nothing of it is learned.
        again = streams.small_chain(2_000, length, 0)[2]
        assert (again.transmat_ == true.transmat_).all()


def test_tables_and_picture(results, tmp_path):
    tables = streams.tables(results)
    rows = tables["chains"].rows
    assert [row[1] for row in rows[:5]] == ["0.25", "0.5", "1", "1 + a sweep", "2"]
    assert {len(row) for row in rows} == {2 + len(streams.TITLES)}
    assert tables["long"].rows[-1][0] == "30,000"
