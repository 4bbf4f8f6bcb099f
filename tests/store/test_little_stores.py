"""Stores of few tokens, or of missing ones: the numbers and the errors of lists."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import CVBHMM, EMHMM, CVBHMMTagger, EMHMMTagger, Symbols, VBHMMTagger, write_store


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
@pytest.mark.parametrize("dictionary", [None, {"can": ["V", "M"]}])
def test_a_tag_that_stands_only_at_a_missing_token_is_a_tag(dictionary, kind, tmp_path):
    X, y = [[None], ["can"]], [["N"], ["V"]]
    store = write_store([(X, y)], tmp_path / "store", tagged=True)
    tagger = kind(dictionary, random_state=0, max_iter=3)
    here, there = clone(tagger).fit(X, y), clone(tagger).fit(store, store.tags)
    assert there.classes_.tolist() == here.classes_.tolist()
    assert there.classes_.tolist() == (["N", "V"] if dictionary is None else ["M", "N", "V"])
    assert there.score(store) == pytest.approx(here.score(X), rel=1e-12)
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-12)


def test_a_store_of_missing_tokens_alone_asks_for_a_vocabulary(tmp_path):
    X = [[None, None], [None]]
    store = write_store(X, tmp_path / "store")
    for given in (X, store):
        with pytest.raises(ValueError, match=r"^X holds no observed token: give a vocabulary$"):
            EMHMM(2, emission=Symbols(handle_unknown="error")).fit(given)


@pytest.mark.parametrize(
    "estimator",
    [
        CVBHMM(2, random_state=0),
        CVBHMM(2, alpha="auto", beta="auto", random_state=0),
        CVBHMMTagger({"a": ["N"], "b": ["N", "V"]}, random_state=0),
        CVBHMMTagger({c: ["N"] for c in "acdefgh"} | {"b": ["N", "V", "M"]}, random_state=0),
    ],
)
@pytest.mark.parametrize("sequence", [list("ab"), list("aaaaaabaaaaaacdefgh"), list("b") * 9])
@pytest.mark.filterwarnings("ignore:.*more than half of all tokens")
def test_one_sequence_alone_has_the_history_of_a_list(estimator, sequence, tmp_path):
    store = write_store([[sequence]], tmp_path / "store")
    here, there = (clone(estimator).set_params(max_iter=4).fit(X) for X in ([sequence], store))
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-12, atol=1e-15)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
