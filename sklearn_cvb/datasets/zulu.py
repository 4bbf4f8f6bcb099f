"""isiZulu verbs with their morphemes: the stand-in for the Sesotho verbs of Johnson et al. 2007."""

import hashlib

from sklearn.utils import Bunch

from sklearn_cvb.datasets.corpora import WHERE, corpus_folder
from sklearn_cvb.datasets.readers import text_lines
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """isiZulu verbs, segmented.

5,373 verb types with their surface segmentation and morpheme tags, drawn from the NCHLT/SADiLaR-II
corpus (Gaustad and Puttkammer 2022, doi 10.1016/j.dib.2022.107994). CC BY 4.0, CTexT and
SADiLaR."""
_FILE = "zulu_verbs.tsv"
_SHA256 = "71ceaf19f0eea126b286ba727df72d5f3bbdfffd495f16fcd4b4c896161b0f02"


def fetch_zulu_verbs(*, data_home: Folder | None = None) -> Bunch:
    """Load isiZulu verb types, as characters, and their segmentation.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that holds ``zulu_verbs.tsv``. If None: the environment variable
        ``SKLEARN_CVB_DATA``, else ``sklearn_cvb`` inside scikit-learn's data home. The file is
        never downloaded.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (5,373 lists of characters), ``target`` (lists of morphemes), ``tags`` (lists
        of morpheme tags) and ``DESCR``.

    Raises
    ------
    OSError
        If the file is missing, or is another one.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_zulu_verbs
    >>> verbs = fetch_zulu_verbs()  # doctest: +SKIP
    >>> verbs.target[2], "".join(verbs.data[2])  # doctest: +SKIP
    (['u', 'kw', 'akh', 'a'], 'ukwakha')
    """
    path = corpus_folder(data_home) / _FILE
    if not path.is_file():
        raise OSError(f"{_FILE} not found in {path.parent}, and it cannot be downloaded: {WHERE}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
        raise OSError(f"{path} is not the published file: its SHA-256 differs")
    return read_segmented(path, DESCRIPTION)


def read_segmented(path: Folder, description: str = "") -> Bunch:
    """Read segmented words: a tab-separated file with a head line and three columns.

    Parameters
    ----------
    path : path-like
        Compressed if its name ends in .gz, .bz2 or .xz. Columns: the word, its segments joined by
        hyphens, their tags joined by hyphens.
    description : str, default=""
        The text for ``DESCR``.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (lists of characters), ``target`` (lists of segments), ``tags`` (lists of
        tags) and ``DESCR``.

    Raises
    ------
    ValueError
        If a line has other columns, or segments that do not make up the word; or the file is no
        text in UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_cvb.datasets import read_segmented
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "verbs.tsv")
    ...     _ = path.write_text("word\\tsegmentation\\ttags\\nwalked\\twalk-ed\\tRoot-Past\\n")
    ...     verbs = read_segmented(path)
    >>> verbs.target, verbs.tags
    ([['walk', 'ed']], [['Root', 'Past']])
    """
    bunch = Bunch(data=[], target=[], tags=[], DESCR=description)
    for number, line in text_lines(path):
        if number == 1:
            continue
        row = line.rstrip("\n").split("\t")
        if len(row) != 3:
            raise ValueError(f"{path}, line {number}: {len(row)} columns in place of 3")
        word, segments, tags = row[0], row[1].split("-"), row[2].split("-")
        if "".join(segments) != word:
            raise ValueError(f"{path}, line {number}: {row[1]!r} does not make up {word!r}")
        bunch.data.append(list(word))
        bunch.target.append(segments)
        bunch.tags.append(tags)
    return bunch
