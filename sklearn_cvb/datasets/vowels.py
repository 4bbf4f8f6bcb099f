"""Japanese Vowels: utterances of nine speakers as short series of twelve numbers."""

from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.datasets.corpora import corpus_folder, description_of, find_file
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.scikit_learn import Bunch

_FOLDER = "japanese_vowels"


def fetch_japanese_vowels(*, data_home: Folder | None = None, return_X_y: bool = False) -> Any:
    """Load utterances of nine speakers as sequences of numbers.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the data. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home. ``JapaneseVowels_TRAIN.ts`` and
        ``JapaneseVowels_TEST.ts`` are looked for in its folder ``japanese_vowels``, then in itself.
        They are never downloaded: the archive of time series classification has them.
    return_X_y : bool, default=False
        Return ``(X_train, y_train, X_test, y_test)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``X_train`` and ``X_test`` (lists of 270 and 370 arrays of shape (length, 12)),
        ``y_train`` and ``y_test`` (arrays of the speakers, "1" to "9") and ``DESCR``.

    Raises
    ------
    OSError
        If a file is missing, or is another one.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_japanese_vowels
    >>> vowels = fetch_japanese_vowels()  # doctest: +SKIP
    >>> vowels.X_train[0].shape, vowels.y_train[0]  # doctest: +SKIP
    ((20, 12), '1')
    """
    folder = corpus_folder(data_home)
    names = "JapaneseVowels_TRAIN.ts", "JapaneseVowels_TEST.ts"
    parts = [
        read_series_file(find_file([folder / _FOLDER / name, folder / name], name))
        for name in names
    ]
    (X_train, y_train), (X_test, y_test) = parts
    if return_X_y:
        return X_train, y_train, X_test, y_test
    description = description_of(_FOLDER)
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, DESCR=description)


def read_series_file(path: Folder) -> tuple[list[np.ndarray], np.ndarray]:
    """Series (length, columns) and labels from a file in the form ``.ts`` of aeon and sktime.

    A line holds a series: its columns, parted by colons, are numbers parted by commas (``?`` or
    ``NaN`` where missing), the last is the label. Lines before ``@data`` are not read.

    >>> import pathlib, tempfile
    >>> from sklearn_cvb.datasets.vowels import read_series_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "few.ts")
    ...     _ = path.write_text("@data\\n1,2,3:4,5,6:up\\n")
    ...     X, y = read_series_file(path)
    >>> X[0].tolist(), y.tolist()
    ([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], ['up'])
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    begin = next((i for i, line in enumerate(lines, 1) if line.strip().lower() == "@data"), 0)
    X, y = [], []
    for number, line in enumerate(lines[begin:], begin + 1):
        if not line.strip():
            continue
        *columns, label = line.strip().split(":")
        try:
            numbers = [[float(v.replace("?", "nan")) for v in own.split(",")] for own in columns]
            X.append(np.array(numbers, dtype=np.float64).T)
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: columns must hold equally many numbers, parted by commas"
            ) from None
        y.append(label)
    return X, np.array(y)
