"""Sentences with trees: phrases and dependencies of published treebanks, and a user's own files."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any
from zipfile import ZipFile

from sklearn_cvb.datasets.columns import Token, sentences_in
from sklearn_cvb.datasets.corpora import description_of, find_corpus, nltk_root
from sklearn_cvb.reading.text_files import open_text
from sklearn_cvb.reading.validation import Folder, check_choice
from sklearn_cvb.scikit_learn import Bunch
from sklearn_cvb.treebank.reading import clean_tree

# Punctuation, brackets and signs of the Penn Treebank: left out where grammars are learned.
PENN_PUNCTUATION = frozenset([",", ".", ":", "``", "''", "-LRB-", "-RRB-", "#", "$", "SYM", "LS"])

# How a language's files are called, and the coarse tag of its punctuation.
_TREEBANKS = {"basque": ("eus", "PUNT"), "spanish": ("esp", "F")}
_SUBSETS = {"all": ("train", "test"), "train": ("train",), "test": ("test",)}


def fetch_treebank_trees(
    *, data_home: Folder | None = None, download_if_missing: bool = True, clean: bool = True
) -> Bunch:
    """Load the trees of the Penn Treebank sample.

    Sentences come in the order of `fetch_treebank_tagged`; with ``clean=True`` their words are the
    same.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (1.7 MB) where it is not found.
    clean : bool, default=True
        Remove empty elements (tag -NONE-) and what is empty without them, and cut labels at ``-``,
        ``=`` and ``|``: NP-SBJ-1 becomes NP.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 3,914 lists of words), ``target`` (their nltk.Tree) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_treebank_trees
    >>> fetch_treebank_trees().target[1].label()  # doctest: +SKIP
    'S'
    """
    from nltk.corpus.reader import BracketParseCorpusReader

    path = find_corpus("treebank", data_home=data_home, download_if_missing=download_if_missing)
    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        trees = list(reader.parsed_sents())
    if clean:
        trees = [clean_tree(tree, "the treebank") for tree in trees]
    data, description = [tree.leaves() for tree in trees], description_of("treebank_trees")
    return Bunch(data=data, target=trees, DESCR=description)


def fetch_dependency_treebank(
    *,
    remove_punctuation: bool = False,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load tags and heads of the Penn Treebank sample.

    Parameters
    ----------
    remove_punctuation : bool, default=False
        Whether to leave out punctuation, brackets and signs, as is done where grammars are learned.
        What depends on one of them depends on its head then.
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (0.5 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (lists of tags), ``words`` (of their words), ``target`` (of their heads),
        ``files`` (the file of each sentence) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_dependency_treebank
    >>> X, y = fetch_dependency_treebank(return_X_y=True)  # doctest: +SKIP
    >>> X[1][:4], y[1][:4]  # doctest: +SKIP
    (['NNP', 'NNP', 'VBZ', 'NN'], [2, 3, 0, 3])
    """
    path = find_corpus(
        "dependency_treebank", data_home=data_home, download_if_missing=download_if_missing
    )
    remove = PENN_PUNCTUATION if remove_punctuation else frozenset()
    with ZipFile(path) as archive:
        files = {
            name.rpartition("/")[2]: archive.read(name).decode("utf-8").splitlines()
            for name in sorted(archive.namelist())
            if name.endswith(".dp")
        }
    sentences = {name: _sentences_of(lines, name, "xpos") for name, lines in files.items()}
    corpus = _bunch_of_files(sentences, remove, "dependency_treebank")
    return (corpus.data, corpus.target) if return_X_y else corpus


def fetch_conll2007(
    *,
    language: str,
    subset: str = "all",
    column: str = "upos",
    remove_punctuation: bool = False,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load tags and heads of the Basque or Spanish treebank of CoNLL 2007.

    Sentences of Basque may have several roots, and trees of both languages may have crossing arcs:
    dependency models refuse such heads in `fit`, and can be scored by them.

    Parameters
    ----------
    language : {"basque", "spanish"}
        The treebank.
    subset : {"all", "train", "test"}, default="all"
        The shared task's sentences to learn from, to test on, or both.
    column : {"upos", "xpos", "form", "lemma"}, default="upos"
        What becomes the token: coarse tags, fine tags, words or lemmas.
    remove_punctuation : bool, default=False
        Whether to leave out punctuation, as is done where grammars are learned: the coarse tags
        PUNT of Basque and F of Spanish. What depends on one of them depends on its head then.
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (1.2 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (lists of tokens), ``words`` (of their words), ``target`` (of their heads),
        ``files`` (the file of each sentence) and ``DESCR``.

    Raises
    ------
    ValueError
        If the language, the subset or the column is another one.
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    See Also
    --------
    fetch_dependency_treebank : English.
    read_dependencies : Files of one's own.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_conll2007
    >>> X, y = fetch_conll2007(language="spanish", return_X_y=True)  # doctest: +SKIP
    >>> X[0][:4], y[0][:4]  # doctest: +SKIP
    (['d', 'n', 's', 'n'], [2, 8, 2, 3])
    """
    for name, value, known in (("language", language, _TREEBANKS), ("subset", subset, _SUBSETS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    path = find_corpus("conll2007", data_home=data_home, download_if_missing=download_if_missing)
    prefix, punctuation = _TREEBANKS[language]
    remove = {punctuation} if remove_punctuation else set()
    with ZipFile(path) as archive:
        names = [f"{prefix}.{part}" for part in _SUBSETS[subset]]
        files = {name: archive.read(f"conll2007/{name}").split(b"\n") for name in names}
    sentences = {
        name: _sentences_of(map(_decode_line, lines), name, column, "upos")
        for name, lines in files.items()
    }
    corpus = _bunch_of_files(sentences, remove, "conll2007")
    return (corpus.data, corpus.target) if return_X_y else corpus


def read_dependencies(
    path: Folder, *, column: str = "upos", remove: Collection[str] = (), encoding: str = "utf-8"
) -> Bunch:
    """Read tags and heads from a file in CoNLL-U or CoNLL-X columns, or in those of NLTK.

    Lines of seven and more columns parted by tabs are CoNLL's, three or four are NLTK's: word, tag,
    head, relation. Comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped.

    Heads are those of the file's annotation. In Universal Dependencies content words are heads, and
    prepositions, auxiliaries and conjunctions depend on them: models learn such heads from column
    "upos" with ``arc_weights="ud"``. In treebanks like Penn's, prepositions and auxiliaries are
    heads: ``arc_weights="penn"`` with Penn tags in "xpos". :ref:`arc-weights` has figures of both.

    Parameters
    ----------
    path : str or path-like
        The file, compressed if its name ends in .gz, .bz2 or .xz.
    column : {"upos", "xpos", "form", "lemma"}, default="upos"
        What becomes the token. CoNLL-X calls the first two CPOSTAG and POSTAG.
    remove : collection of str, default=()
        Tokens to leave out, such as tags of punctuation. What depends on one of them depends on
        its head then.
    encoding : str, default="utf-8"
        Of the file; older treebanks are in "latin-1".

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of tokens, None where the file has ``_`` for one), ``words``
        (of their words) and ``target`` (of their heads: positions from 1, 0 for the root, None
        where the file has none). Sentences of which nothing is left are dropped.

    Raises
    ------
    ValueError
        If a line has other columns, or a head is no token of its sentence; the message names the
        file and the line. If the file has another encoding, or is not compressed as its name says.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn_cvb.datasets import read_dependencies
    >>> rows = ["We PRP 2", "ran VBD 0", "home RB 2", ". . 2"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.dp")
    ...     _ = path.write_text("\\n".join(rows).replace(" ", "\\t"), encoding="utf-8")
    ...     corpus = read_dependencies(path, remove=["."])
    >>> corpus.data, corpus.target
    ([['PRP', 'VBD', 'RB']], [[2, 0, 2]])
    """
    # With or without a mark of the byte order.
    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        with open_text(path, encoding=codec) as stream:
            return _bunch_of(_sentences_of(stream, str(path), column), set(remove))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not in {encoding}: give its encoding, such as 'latin-1'"
        ) from error


def _bunch_of_files(
    sentences: dict[str, Iterator[list[tuple[Any, ...]]]], remove: Collection[str], name: str
) -> Bunch:
    """`_bunch_of` of all files, one after the other, and the file of each sentence."""
    corpus = Bunch(data=[], words=[], target=[], files=[], DESCR=description_of(name))
    for file, rows in sentences.items():
        part = _bunch_of(rows, remove)
        for key in ("data", "words", "target"):
            corpus[key] += part[key]
        corpus.files += [file] * len(part.data)
    return corpus


def _decode_line(line: bytes) -> str:
    """A line in UTF-8; some of Basque are in the encoding of Windows."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252")


def _sentences_of(
    lines: Iterable[str], path: str, column: str, remove_by: str | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows (token, word, head, what says whether it is left out) of each sentence of a file.

    Columns are "upos", "xpos", "form" or "lemma"; `remove_by` is None for that of the token.
    """
    check_choice("column", column, ("upos", "xpos", "form", "lemma"))
    mark = remove_by or column
    for tokens in sentences_in(enumerate(lines, 1), path, ("form", column, "head", mark)):
        places = {token.number: place for place, token in enumerate(tokens, 1)}
        yield [
            (token.value(column), token.cells["form"], _head(token, places), token.cells[mark])
            for token in tokens
        ]


def _head(token: Token, places: dict[int, int]) -> int | None:
    """The place of a token's head in its sentence, from 1; 0 for the root, None for none."""
    head = token.value("head")
    if head is None:
        return None
    if not head.isdecimal():
        raise ValueError(f"{token.place}: the head {head!r} is no number")
    if int(head) and int(head) not in places:
        raise ValueError(
            f"{token.place}: {token.cells['form']!r} has the head {head}, but there are "
            f"{len(places)} tokens, and none of this number"
        )
    return places.get(int(head), 0)


def _bunch_of(sentences: Iterable[list[tuple[Any, ...]]], remove: Collection[str]) -> Bunch:
    """Tokens, words and heads without those to remove, of what `_sentences_of` yields."""
    corpus = Bunch(data=[], words=[], target=[])
    for rows in sentences:
        stays = [i for i, (_, _, _, mark) in enumerate(rows, 1) if mark not in remove]
        if stays:
            corpus.data.append([rows[i - 1][0] for i in stays])
            corpus.words.append([rows[i - 1][1] for i in stays])
            places = {old: new for new, old in enumerate(stays, 1)}
            heads = [head for _, _, head, _ in rows]
            above = []
            for head in (heads[i - 1] for i in stays):
                # The nearest token above that is kept, by its new place; rings end, too.
                for _ in heads:
                    if head is None or head == 0 or head in places:
                        break
                    head = heads[head - 1]
                above.append(None if head is None else places.get(head, 0))
            corpus.target.append(above)
    return corpus
