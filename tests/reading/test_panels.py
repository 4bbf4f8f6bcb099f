"""Panels of sktime and aeon become lists of sequences."""

import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import EMHMM, split_panel

CUBE = np.random.default_rng(0).normal(size=(3, 2, 5))


def test_time_becomes_the_first_axis_and_padding_goes():
    cube = CUBE.copy()
    cube[1, :, 3:] = np.nan
    cube[2, 0, 4] = cube[2, :, 1] = np.nan
    first, second, third = split_panel(cube)
    assert np.array_equal(first, CUBE[0].T)
    assert np.array_equal(second, CUBE[1].T[:3])
    assert np.array_equal(third, cube[2].T, equal_nan=True)
    ragged = split_panel([CUBE[0], CUBE[1][:, :3]])
    assert [one.shape for one in ragged] == [(5, 2), (3, 2)]
    assert len(EMHMM(2, emission="gaussian", random_state=0).fit(split_panel(cube)).labels_) == 3


@pytest.mark.parametrize("levels", [["series"], ["site", "series"]])
def test_a_frame_is_cut_by_all_levels_but_time(levels):
    frames = {"zxy"[i]: pd.DataFrame(one.T, columns=["a", "b"]) for i, one in enumerate(CUBE)}
    panel = pd.concat(frames, names=["series", "time"])
    if len(levels) == 2:
        panel = pd.concat({"north": panel, "south": panel}, names=["site"])
    found = split_panel(panel)
    assert len(found) == 3 * len(levels)
    for one, expected in zip(found, [*frames.values()] * len(levels), strict=True):
        assert np.array_equal(one, expected)
        assert list(one.columns) == ["a", "b"]
        assert one.index.name == "time"


@pytest.mark.parametrize("wrong", [CUBE[0], [CUBE[0][0]], [], pd.DataFrame(CUBE[0]), "ab", None])
def test_what_is_no_panel(wrong):
    with pytest.raises(ValueError, match="a panel is an array of shape"):
        split_panel(wrong)


def test_a_series_without_values_is_named():
    cube = CUBE.copy()
    cube[1] = np.nan
    with pytest.raises(ValueError, match="series 1 of the panel has no value"):
        split_panel(cube)
