"""Departures from eq. 29: each switch changes what it is to change, and nothing else."""

import pytest

from benchmarks.published import concentrations
from benchmarks.published.tables import as_text
from sklearn_cvb import CVBHMM, VBHMM, CVBHMMTagger
from sklearn_cvb.datasets import make_hmm_sequences

X = make_hmm_sequences(30, n_components=3, n_symbols=5, random_state=0)[0]


def alpha(kind=CVBHMM, n_sweeps=10):
    model = kind(3, max_iter=n_sweeps, tol=0, random_state=0, **concentrations.LEARNED)
    return model.fit(X).alpha_


@pytest.mark.filterwarnings("ignore")
def test_waits_are_as_long_as_they_are_said_to_be():
    assert alpha() == 0.1
    with concentrations.waiting(9):
        assert alpha(n_sweeps=9) == 0.1
        assert alpha() != 0.1
    assert alpha() == 0.1


@pytest.mark.filterwarnings("ignore")
def test_counts_as_they_are_make_cvb_expect_more_and_leave_vb():
    usual = {kind: alpha(kind, 40) for kind in (CVBHMM, VBHMM)}
    with concentrations.counts_as_they_are():
        assert alpha(CVBHMM, 40) > usual[CVBHMM]
        assert alpha(VBHMM, 40) == usual[VBHMM]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_rows_have_their_forms(quick):
    results = concentrations.run(quick)
    found = results["rows"]
    assert len(found) == 10
    for row in found.values():
        assert all(len(values) == 2 for values in row["values"].values())
    text = as_text(concentrations.tables(results))
    assert text.count("yes") == 6
    assert text.count("no,") >= 4
    assert 50 < concentrations.tagged(60, CVBHMMTagger, {}, 0) < 100
