"""Alice's Adventures in Wonderland, as sentences of letters and blanks."""

import hashlib
import re
import tempfile
from pathlib import Path
from zipfile import ZipFile

from sklearn.utils import Bunch

from sklearn_cvb.datasets import corpora
from sklearn_cvb.reading.validation import Folder

SHA256 = "84157c64cf991c7cd7f3fc39aa8fddefebae13710268f448f6034559db37f884"
_ARCHIVED = "gutenberg/carroll-alice.txt"

DESCRIPTION = """Alice's Adventures in Wonderland by Lewis Carroll (1865), sentence by sentence.

The text of Project Gutenberg (eBook 11) as NLTK distributes it. 1,679 sentences (133,277
characters) over 27 symbols: small letters and the blank. Public domain."""

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
        content = _download(path)
    else:
        raise OSError(
            f"alice.txt not found in {path.parent}: {corpora.WHERE}; or allow the download with "
            "download_if_missing=True"
        )
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise OSError(
            f"{path} is not the published text: its SHA-256 is {found}, expected {SHA256}; "
            "delete it and fetch the text again"
        )
    if not path.is_file():
        path.write_bytes(content)
    text = content.decode("ascii")
    return Bunch(data=character_sentences(text), text=text, DESCR=DESCRIPTION)


def character_sentences(text: str) -> list[list[str]]:
    """Sentences of a book as lists of small letters and blanks, a blank at the end of each.

    Parameters
    ----------
    text : str
        Paragraphs stand between empty lines; those in square brackets and chapter headings are
        left out, as are sentences without a letter.

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> from sklearn_cvb.datasets.alice import character_sentences
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


def _download(path: Path) -> bytes:
    """The book that belongs at this path, out of NLTK's archive."""
    with tempfile.TemporaryDirectory() as place:
        archive = corpora.download("gutenberg.zip", Path(place), path)
        with ZipFile(archive) as books:
            return books.read(_ARCHIVED)
