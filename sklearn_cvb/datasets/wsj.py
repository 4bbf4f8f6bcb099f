"""All Wall Street Journal sentences at hand: the treebank sample, then CoNLL-2000."""

from typing import Any

from sklearn.utils import Bunch

from sklearn_cvb.datasets.conll2000 import fetch_conll2000
from sklearn_cvb.datasets.treebank import fetch_treebank_tagged
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """Wall Street Journal sentences, tagged.

14,862 sentences (353,188 tokens, 45 tags): the 3,914 of the Penn Treebank sample (tags corrected
by hand), then the 10,948 of CoNLL-2000 (tags by the Brill tagger). For non-commercial use."""


def fetch_wsj(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the Penn Treebank sample followed by CoNLL-2000.

    Prefixes of this list are the raw-text sizes on which published taggers with a dictionary are
    compared; the dictionary is taken from the whole list.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archives (2.5 MB) where they are not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 14,862 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If an archive is missing and may not be downloaded, or its checksum is wrong.

    See Also
    --------
    fetch_treebank_tagged : The first part alone.
    fetch_conll2000 : The second part alone.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_wsj
    >>> X, y = fetch_wsj(return_X_y=True)  # doctest: +SKIP
    >>> len(X), sum(map(len, X))  # doctest: +SKIP
    (14862, 353188)
    """
    places: dict[str, Any] = {
        "data_home": data_home,
        "download_if_missing": download_if_missing,
    }
    first, second = fetch_treebank_tagged(**places), fetch_conll2000(**places)
    data, target = first.data + second.data, first.target + second.target
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, DESCR=DESCRIPTION)
