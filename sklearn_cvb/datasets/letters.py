"""Characters: Alice's Adventures in Wonderland, and isiZulu verbs with their morphemes."""

import re
import tempfile
from pathlib import Path
from zipfile import ZipFile

from sklearn_cvb.datasets import corpora
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.scikit_learn import Bunch

_ARCHIVED = "gutenberg/carroll-alice.txt"
_HEADING = re.compile(r"\[.*\]|CHAPTER\b.*", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?]")
_DASH = re.compile(r"--+|\s+")
_NEITHER_LETTER_NOR_BLANK = re.compile(r"[^a-z ]")


def fetch_alice(*, data_home: Folder | None = None, download_if_missing: bool = True) -> Bunch:
    """Load Alice's Adventures in Wonderland as sentences of characters.

    Text is prepared as Beal (2003, section 3.5.2) shows it: small letters and blanks only,
    punctuation dropped ("they'll" becomes "theyll"), one blank after every sentence. Sentences end
    at a full stop, an exclamation or question mark, or with the paragraph. Dashes between words
    become blanks; title and chapter headings are left out.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home. ``alice.txt`` is looked for in it.
    download_if_missing : bool, default=True
        Where it is not found, download NLTK's selection of Project Gutenberg (4 MB) and keep this
        book of it.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 1,679 lists of characters), ``text`` (the book) and ``DESCR``.

    Raises
    ------
    OSError
        If the text is missing and may not be downloaded, or its checksum is wrong.

    References
    ----------
    Beal (2003), "Variational algorithms for approximate Bayesian inference", PhD thesis,
    University College London.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_alice
    >>> sentences = fetch_alice().data  # doctest: +SKIP
    >>> "".join(sentences[4])  # doctest: +SKIP
    'i shall be late '
    """
    path = corpora.corpus_folder(data_home) / "alice.txt"
    if path.is_file():
        content = path.read_bytes()
    elif download_if_missing:
        with tempfile.TemporaryDirectory() as place:
            archive = corpora.download("gutenberg.zip", Path(place), path)
            with ZipFile(archive) as books:
                content = books.read(_ARCHIVED)
    else:
        raise corpora.not_found([path], corpora.OR_DOWNLOAD)
    corpora.check_content(path, content, corpora.checksum_of(path.name), "text", "text")
    if not path.is_file():
        path.write_bytes(content)
    text = content.decode("ascii")
    return Bunch(data=character_sentences(text), text=text, DESCR=corpora.description_of("alice"))


def character_sentences(text: str) -> list[list[str]]:
    """Sentences of a book as lists of small letters and blanks, a blank at the end of each.

    Paragraphs stand between empty lines; those in square brackets, chapter headings and sentences
    without a letter are left out.

    >>> from sklearn_cvb.datasets.letters import character_sentences
    >>> ["".join(s) for s in character_sentences("CHAPTER I. X\\n\\n'Well!' she said. They'll!")]
    ['well ', 'she said ', 'theyll ']
    """
    sentences = []
    for paragraph in re.split(r"\n\s*\n", text):
        if _HEADING.match(paragraph.strip()):
            continue
        for sentence in _SENTENCE_END.split(_DASH.sub(" ", paragraph.lower())):
            words = _NEITHER_LETTER_NOR_BLANK.sub("", sentence).split()
            if words:
                sentences.append([*" ".join(words), " "])
    return sentences


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
    path = corpora.corpus_folder(data_home) / "zulu_verbs.tsv"
    found = corpora.find_file([path], path.name)
    return read_segmented(found, corpora.description_of("zulu_verbs"))


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
