"""Choosing the number of states: the criteria are what they say, and find a known number."""

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Symbols
from sklearn_cvb.selection import bayesian_information, select_components

# Three states that follow each other, each with its own symbol.
X = [list("abcabcabc"), list("bcabcabca"), list("cabcab"), list("abcabcab")] * 4
NAMES = ["evidence", "held-out perplexity", "BIC"]


def test_vb_finds_the_number_of_states_by_every_criterion():
    model = VBHMM(n_init=5, random_state=0, emission=Symbols(handle_unknown="error"))
    selection = select_components(model, X, [1, 2, 3, 4], random_state=0)
    assert selection.n_components == [1, 2, 3, 4]
    assert [criterion.name for criterion in selection.criteria] == NAMES
    assert selection.best("evidence") == selection.best("BIC") == 3
    bounds = [
        VBHMM(k, n_init=5, random_state=0, emission=Symbols(handle_unknown="error"))
        .fit(X)
        .lower_bound_
        for k in (1, 2, 3, 4)
    ]
    assert selection.criteria[0].values == bounds


def test_cvb_reports_its_leave_one_out_score_and_em_no_evidence():
    selection = select_components(CVBHMM(n_init=3, random_state=0), X, [1, 3], random_state=0)
    assert selection.best("evidence") == 3
    assert "leave-one-out" in selection.criteria[0].unit
    for estimator in (EMHMM(random_state=0), GibbsHMM(random_state=0, max_iter=20)):
        selection = select_components(estimator, X, [1, 2], random_state=0)
        assert selection.criteria[0].values is None
        with pytest.raises(ValueError, match="no criterion 'evidence'"):
            selection.best("evidence")


def test_held_out_perplexity_is_of_the_sequences_left_out():
    from sklearn.model_selection import train_test_split

    model = VBHMM(random_state=0)
    selection = select_components(model, X, [2], test_size=3, random_state=1)
    train, test = train_test_split(X, test_size=3, random_state=1)
    expected = VBHMM(2, random_state=0).fit(train).perplexity(test)
    assert selection.criteria[1].values == [pytest.approx(expected, rel=1e-12)]


def test_bic_counts_free_parameters_and_observed_tokens():
    sequences = [["a", "b", None], ["b", "c"]]
    model = EMHMM(2, emission=Symbols(handle_unknown="error"), random_state=0).fit(sequences)
    free = 1 + 2 + 2 * 2
    expected = -2 * model.score_samples(sequences).sum() + free * np.log(4)
    assert bayesian_information(model, sequences) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("wrong", [[], [0], [1.5], ["two"]])
def test_numbers_of_states_are_checked(wrong):
    with pytest.raises(ValueError, match="positive integers"):
        select_components(VBHMM(), X, wrong)


def test_the_estimator_stays_as_it_was():
    model = VBHMM(7, random_state=0)
    select_components(model, X, [1], random_state=0)
    assert model.n_components == 7
    assert not hasattr(model, "counts_")
