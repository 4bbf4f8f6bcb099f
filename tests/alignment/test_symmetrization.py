"""One alignment from two directions, links as text, scores of links, and fits that agree."""

import re

import numpy as np
import pytest

from sklearn_cvb import (
    CVBAlignmentHMM,
    EMAlignmentHMM,
    fit_agreeing,
    read_pharaoh,
    symmetrize,
    to_pharaoh,
)
from sklearn_cvb.estimators.both_directions import product_posteriors
from sklearn_cvb.metrics import alignment_error_rate, alignment_f1, alignment_scores

# Of three source and four target words; forward has 2-3 alone, backward 0-1, 1-2 and 2-0.
FORWARD, BACKWARD = [[0, -1, 1, 2]], [[1, 2, 0]]
FORWARD_LINKS, BACKWARD_LINKS = {(0, 0), (1, 2), (2, 3)}, {(0, 1), (1, 2), (2, 0)}


def test_intersection_and_union():
    for forward, backward in (
        (FORWARD, BACKWARD),
        ([FORWARD_LINKS], [{(b, a) for a, b in BACKWARD_LINKS}]),
    ):
        assert symmetrize(forward, backward, "intersection") == [[(1, 2)]]
        union = sorted(FORWARD_LINKS | BACKWARD_LINKS)
        assert symmetrize(forward, backward, "union") == [union]


def test_grow_diag_final_and():
    """From 1-2 grow 0-1 and 2-3, diagonally; from 0-1 grows 0-0, as target word 0 has no link.

    2-0 is beside nothing, and both of its words have links by now.
    """
    assert symmetrize(FORWARD, BACKWARD) == [[(0, 0), (0, 1), (1, 2), (2, 3)]]
    # Far from all others a link is kept where neither word has one ("final and").
    assert symmetrize([[0, -1, 2]], [[0, -1, -1]]) == [[(0, 0), (2, 2)]]
    assert symmetrize([[0, 0, 2]], [[0, -1, 1]]) == [[(0, 0), (0, 1), (2, 2)]]


def test_product_of_posteriors():
    forward = np.array([[0.9, 0.05, 0.05], [0.5, 0.4, 0.1]])
    backward = np.array([[0.4, 0.5, 0.1], [0.1, 0.8, 0.1]])
    means = np.sqrt(forward[:, :2].T * backward[:, :2])
    for threshold in (0.3, 0.55, 0.9):
        links = [(int(i), int(j)) for i, j in np.argwhere(means > threshold)]
        assert symmetrize([forward], [backward], "product", threshold=threshold) == [links]
    assert symmetrize([forward], [backward], "intersection") == [[(0, 1)]]


def fails(error, message, function, *arguments, **keywords):
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments, **keywords)


def test_bad_directions():
    fails(ValueError, "method must be", symmetrize, FORWARD, BACKWARD, "grow")
    fails(ValueError, "forward holds 1 sentence pairs but backward 2", symmetrize, [[0]], [[0]] * 2)
    fails(TypeError, "forward[0] is no table", symmetrize, FORWARD, BACKWARD, "product")
    tables = [np.ones((2, 3))], [np.ones((3, 3))]
    fails(ValueError, "forward[0] has shape (2, 3)", symmetrize, *tables, "product")
    fails(TypeError, "forward[0] holds 'a'", symmetrize, [["a"]], [[0]])


def test_pharaoh_there_and_back(tmp_path):
    links = [[(0, 0), (1, 2)], [], [(3, 1)]]
    lines = to_pharaoh(links)
    assert lines == ["0-0 1-2", "", "3-1"]
    assert read_pharaoh(lines) == links
    path = tmp_path / "links.txt"
    path.write_text("\n".join(lines) + "\n")
    assert read_pharaoh(path) == read_pharaoh(str(path)) == links
    assert to_pharaoh([np.array([1, -1, 0])]) == ["0-2 1-0"]
    fails(ValueError, "line 2 holds '1:2'", read_pharaoh, ["0-0", "0-1 1:2"])


@pytest.mark.parametrize("mark", ["p", "?"])
def test_possible_links_there_and_back(tmp_path, mark):
    lines = [f"0-0 1{mark}2 0{mark}1", "", f"3{mark}1 2-2\t12{mark}10\n"]
    sure, possible = [[(0, 0)], [], [(2, 2)]], [[(0, 1), (1, 2)], [], [(3, 1), (12, 10)]]
    path = tmp_path / "gold.txt"
    path.write_text("\n".join(lines))
    for given in (lines, path):
        assert read_pharaoh(given) == sure
        assert read_pharaoh(given, possible=True) == possible
    written = to_pharaoh(sure, possible)
    assert written == ["0-0 0p1 1p2", "", "2-2 3p1 12p10"]
    assert read_pharaoh(written, possible=True) == possible
    # A sure link is possible anyway.
    assert to_pharaoh([[(0, 0)]], [[(0, 0), (0, 1)]]) == ["0-0 0p1"]
    found = [[(0, 0), (1, 2)], [], [(2, 2), (0, 0)]]
    assert alignment_error_rate(sure, found, possible) == pytest.approx(1 - (2 + 3) / (2 + 4))
    for wrong in ("1pp2", "p2", "1p", "-1p2", "1-p2", "1??2"):
        fails(ValueError, f"line 1 holds {wrong!r}", read_pharaoh, [wrong])
    fails(
        ValueError, "alignments holds 1 sentence pairs but possible 2", to_pharaoh, [[]], [[]] * 2
    )


def test_scores_by_hand():
    sure, possible = [[(0, 0), (1, 1)], [(0, 1)]], [[(2, 2)], [(0, 0), (1, 1)]]
    found = [[(0, 0), (2, 2), (3, 3)], [(0, 0), (0, 1)]]
    # Five links: two are sure, two possible, one wrong; of three sure ones two are found.
    precision, recall, f1 = alignment_scores(sure, found, possible)
    assert (precision, recall) == (4 / 5, 2 / 3)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    assert alignment_error_rate(sure, found, possible) == pytest.approx(1 - (2 + 4) / (5 + 3))
    assert alignment_error_rate(sure, found) == pytest.approx(1 - alignment_f1(sure, found))
    assert alignment_scores(sure, [[], []]) == (0.0, 0.0, 0.0)
    assert alignment_f1([[(0, 0), (1, 1)]], [[0, 1]]) == 1.0
    fails(ValueError, "y_true holds no link", alignment_f1, [[]], [[]])
    fails(ValueError, "y_true holds 1 sentence pairs but y_pred 2", alignment_f1, [[]], [[], []])
    fails(TypeError, "y_pred[0] holds 0.5", alignment_f1, [[(0, 0)]], [[0.5]])


# Agreement.

TEXT = [("the house", "la casa"), ("a house", "una casa"), ("the book", "el libro")]
X = [(source.split(), target.split()) for source, target in TEXT]
TURNED = [(target, source) for source, target in X]


@pytest.mark.parametrize("kind", [CVBAlignmentHMM, EMAlignmentHMM])
def test_each_round_starts_from_products_of_both_directions(kind):
    settings = {"max_iter": 1, "beta": 0.1, "alpha": 0.1}
    forward, backward = kind(**settings).fit(X), kind(**settings).fit(TURNED)
    for _ in range(2):
        starts = product_posteriors(forward.link_proba_, backward.link_proba_)
        forward = kind(**settings | {"init": starts[0]}).fit(X)
        backward = kind(**settings | {"init": starts[1]}).fit(TURNED)
    estimator = kind(**settings)
    found = fit_agreeing(estimator, X, n_rounds=2)
    for model, expected in zip(found, (forward, backward), strict=True):
        assert all(map(np.array_equal, model.link_proba_, expected.link_proba_))
        assert model.get_params() == estimator.get_params()
    assert found[1].source_vocabulary_.tolist() == found[0].vocabulary_.tolist()


def test_products_keep_what_has_no_source():
    forward, backward = np.array([[0.6, 0.0, 0.4]]), np.array([[0.5, 0.5], [0.2, 0.8]])
    ours, theirs = product_posteriors([forward], [backward])
    np.testing.assert_allclose(ours[0], [[0.3 / 0.7, 0, 0.4 / 0.7]])
    np.testing.assert_allclose(theirs[0], [[0.3 / 0.8, 0.5 / 0.8], [0, 1]])
    nothing = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert np.array_equal(product_posteriors(*[[table] for table in nothing])[0][0], nothing[0])


def test_what_cannot_agree_is_told():
    fails(TypeError, "estimator is 3: give a model of word", fit_agreeing, 3, X)
    fails(ValueError, "n_rounds must be at least 1", fit_agreeing, CVBAlignmentHMM(), X, n_rounds=0)
    fails(ValueError, "X[0][1], the target", fit_agreeing, CVBAlignmentHMM(), [(["a"], [])])
