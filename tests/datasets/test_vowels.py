"""Japanese Vowels: its sizes, its first numbers, and files that are not its own."""

import numpy as np
import pytest

from sklearn_cvb.datasets import fetch_japanese_vowels
from sklearn_cvb.datasets.vowels import read_series_file


def test_sizes(data_folder):
    vowels = fetch_japanese_vowels(data_home=data_folder)
    assert (len(vowels.X_train), len(vowels.X_test)) == (270, 370)
    assert {x.shape[1] for x in vowels.X_train + vowels.X_test} == {12}
    lengths = [len(x) for x in vowels.X_train + vowels.X_test]
    assert (min(lengths), max(lengths)) == (7, 29)
    speakers, counts = np.unique(vowels.y_train, return_counts=True)
    assert speakers.tolist() == list("123456789")
    assert set(counts) == {30}
    # As the publisher lists the test set.
    _, counts = np.unique(vowels.y_test, return_counts=True)
    assert counts.tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    np.testing.assert_array_equal(
        vowels.X_train[0][:2, :2], [[1.860936, -0.207383], [1.891651, -0.193249]]
    )
    X_train, y_train, _, y_test = fetch_japanese_vowels(data_home=data_folder, return_X_y=True)
    assert np.array_equal(X_train[-1], vowels.X_train[-1])
    assert (y_train[-1], y_test[0]) == ("9", "1")


def test_missing_or_another_file(tmp_path):
    with pytest.raises(OSError, match=r"JapaneseVowels_TRAIN\.ts not found in .*japanese_vowels"):
        fetch_japanese_vowels(data_home=tmp_path)
    (tmp_path / "JapaneseVowels_TRAIN.ts").write_text("@data\n1:2\n", encoding="utf-8")
    with pytest.raises(OSError, match="not the published file"):
        fetch_japanese_vowels(data_home=tmp_path)


def test_series_files(tmp_path):
    path = tmp_path / "few.ts"
    path.write_text("#about\n@data\n1,?:3,4:a\n\n5,6,7:8,NaN,9:b\n", encoding="utf-8")
    X, y = read_series_file(path)
    np.testing.assert_array_equal(X[0], [[1, 3], [np.nan, 4]])
    assert (X[1].shape, y.tolist()) == ((3, 2), ["a", "b"])
    path.write_text("@data\n1,2:3:a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: columns must hold equally many numbers"):
        read_series_file(path)
