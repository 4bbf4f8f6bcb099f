"""English sentences aligned word by word with four other languages: XL-WA."""

from typing import Any

from sklearn_cvb.datasets.corpora import corpus_folder, description_of, find_file
from sklearn_cvb.datasets.pharaoh import read_pharaoh
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.scikit_learn import Bunch

_LANGUAGES = "da", "es", "hu", "nl"
_SUBSETS = "train", "dev", "test"


def fetch_xl_wa(
    *,
    language: str,
    subset: str = "all",
    lowercase: bool = False,
    data_home: Folder | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load English sentences, their translations, and links between their words.

    Parameters
    ----------
    language : {"da", "es", "hu", "nl"}
        Of the translations: Danish, Spanish, Hungarian or Dutch.
    subset : {"all", "train", "dev", "test"}, default="all"
        Which pairs; "all" has them in this order.
    lowercase : bool, default=False
        Whether words are put in small letters.
    data_home : str or path-like, default=None
        Folder that holds ``xl-wa/<language>/<subset>.tsv``. If None: the environment variable
        ``SKLEARN_CVB_DATA``, else ``sklearn_cvb`` inside scikit-learn's data home. The files are
        never downloaded.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (pairs of lists of words, English first), ``target`` (lists of links (source,
        target), from 0), ``subset`` (of each pair) and ``DESCR``.

    Raises
    ------
    ValueError
        If the language or the subset is another one.
    OSError
        If a file is missing, or is another one.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_xl_wa
    >>> X, y = fetch_xl_wa(language="es", return_X_y=True)  # doctest: +SKIP
    >>> X[0][0][:4], y[0][:4]  # doctest: +SKIP
    (['According', 'to', 'the', 'Spanish'], [(0, 0), (1, 0), (2, 1), (3, 3)])
    """
    for name, value, known in (
        ("language", language, _LANGUAGES),
        ("subset", subset, ("all", *_SUBSETS)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    bunch = Bunch(data=[], target=[], subset=[], DESCR=description_of("xl_wa"))
    for part in _SUBSETS if subset == "all" else (subset,):
        name = f"xl-wa/{language}/{part}.tsv"
        path = find_file([corpus_folder(data_home) / name], name)
        pairs = read_aligned(path, lowercase=lowercase)
        bunch.data += pairs.data
        bunch.target += pairs.target
        bunch.subset += [part] * len(pairs.data)
    return (bunch.data, bunch.target) if return_X_y else bunch


def read_aligned(path: Folder, *, lowercase: bool = False) -> Bunch:
    """Read sentence pairs: a tab-separated file with two or three columns.

    Parameters
    ----------
    path : path-like
        Compressed if its name ends in .gz, .bz2 or .xz. Columns: the source sentence and the target
        sentence, words parted by blanks, and, if there are links, these as ``0-0 2-1``
        (source-target, from 0).
    lowercase : bool, default=False
        Whether words are put in small letters.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (pairs of lists of words) and ``target`` (lists of links (source, target);
        None in lines without them).

    Raises
    ------
    ValueError
        If a line has other columns, an empty sentence or links outside of the sentences; or the
        file is no text in UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_cvb.datasets import read_aligned
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("the house\\tla casa\\t0-0 1-1\\n")
    ...     pairs = read_aligned(path)
    >>> pairs.data, pairs.target
    ([(['the', 'house'], ['la', 'casa'])], [[(0, 0), (1, 1)]])
    """
    bunch = Bunch(data=[], target=[])
    for number, line in text_lines(path):
        columns = line.rstrip("\r\n").split("\t")
        if not 2 <= len(columns) <= 3:
            raise ValueError(f"{path}, line {number}: {len(columns)} columns in place of 2 or 3")
        text = [column.lower() for column in columns[:2]] if lowercase else columns[:2]
        source, target = (sentence.split() for sentence in text)
        if not source or not target:
            raise ValueError(f"{path}, line {number}: a sentence is empty")
        links = None
        if len(columns) == 3:
            try:
                (links,) = read_pharaoh(columns[2:])
            except ValueError as error:
                message = str(error).replace("line 1 holds", f"line {number}:")
                raise ValueError(f"{path}, {message}") from None
            for a, b in links:
                if a >= len(source) or b >= len(target):
                    raise ValueError(
                        f"{path}, line {number}: the link {a}-{b} is outside of sentences of "
                        f"{len(source)} and {len(target)} words"
                    )
        bunch.data.append((source, target))
        bunch.target.append(links)
    return bunch
